"""Comparison of several releases about the same people: disclosure, attacks, and accuracy of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from itertools import count as count_from
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from maxent.api import decision_options, options
from maxent.api.audit import Assessment, assess
from maxent.api.calling import takes
from maxent.api.case import Case, Tables, open_published
from maxent.api.compile import Knowledge
from maxent.api.estimate import Progress, Solving, estimate_case
from maxent.api.out_of_core.estimate import estimate_tables
from maxent.api.out_of_core.folder import InParts, check_fits
from maxent.attacks.linking import bits_to_identify
from maxent.disclosure.inference import Individuals
from maxent.disclosure.limits import Limits
from maxent.models.arguments import shorten, shorten_list
from maxent.models.arrays import IntArray
from maxent.models.errors import InvalidInput, Problem
from maxent.models.files.input_files import located
from maxent.models.formats.release_reader import Records
from maxent.models.formats.scikit_learn.models import is_model, no_release
from maxent.models.reading import Noticed, Reader, reader_of
from maxent.models.release import Release
from maxent.models.tables.frame import Source
from maxent.models.tables.qi_table import QITable
from maxent.models.trees.predict import Cases, Score, read_cases, score, states_answers, tested_attributes
from maxent.results.comparison import Comparison, Scores, comparison_row
from maxent.results.estimate import Estimate
from maxent.results.parts import Parts
from maxent.results.reliability import unwarned, warn_unreliable
from maxent.results.solved import described
from maxent.solvers.solve.dask_cluster import running

# Accuracies of releases that are compared: on the truth, and on other people.

# Notes on statements without a tree, and on generalised records, in a comparison.
NO_ANSWERS = "no accuracy: nothing published says what the model answers"
ALIKE = (
    "generalised records: a leaf is a group of identical rows, an individual one row; attacks need to know which rows "
    "can be a person's"
)


@dataclass(frozen=True, slots=True, eq=False)
class Accuracies:
    """Accuracies of releases; the truth and the test are read once for all over the same attributes and classes."""

    releases: Sequence[Release]
    truth: Source | None
    test: Source | None
    count: str | None
    reader: Reader
    read: list[tuple[str, Release, Cases]] = field(default_factory=list)

    def scores(self, case: Case, parted: Parts | None) -> Scores:
        """Accuracies of a release, and notes on them; that on the truth may be known of people in parts."""
        if case.records is not None:
            return Scores(None, None, (ALIKE,))
        if not states_answers(case.release):
            return Scores(None, None, (NO_ANSWERS,) if self.truth is not None or self.test is not None else ())
        release, train, tested, notes = case.release, None, None, []
        if parted is not None and parted.table is not None:
            train = None if parted.truth is None else _score(release, parted.table, parted.truth)
        elif self.truth is not None:
            cases = self._cases("truth", self.truth, release)
            missing = [each.name for each in tested_attributes(release) if each not in cases.attributes]
            if missing:
                notes += [f"no training accuracy: the truth has no column {shorten_list(missing)}, which a tree tests"]
            else:
                train = score(release, cases)
                notes += train.notes
        if self.test is not None:
            tested = score(release, self._cases("test", self.test, release))
            notes += [f"test: {note}" for note in tested.notes]
        return Scores(train, tested, tuple(notes))

    def _cases(self, name: str, source: Source, release: Release) -> Cases:
        """The records of a table, with the attributes that any release alike tests."""
        for known_name, known, cases in self.read:
            if known_name == name and _over_the_same(known, release):
                return cases
        alike = [tested_attributes(other) for other in self.releases if _over_the_same(other, release)]
        tested = [attribute for attribute in release.attributes if any(attribute in each for each in alike)]
        private = {attribute.name for attribute in tested if attribute.role == "private"} if name == "truth" else ()
        cases = read_cases(source, name, release.target, tested, count=self.count, optional=private, reader=self.reader)
        self.read.append((name, release, cases))
        return cases


def _score(release: Release, table: QITable, truth: IntArray) -> Score:
    """The accuracy of a release whose leaves have so many people of each class, shape (n_leaves, n_classes)."""
    leaf, klass = np.nonzero(truth)
    columns = tuple(
        code[leaf] if attribute.values is not None else level[code[leaf]]
        for attribute, level, code in zip(table.attributes, table.levels, table.codes.T, strict=True)
    )
    return score(release, Cases(table.attributes, columns, klass, truth[leaf, klass]))


def _over_the_same(one: Release, other: Release) -> bool:
    return (one.target, one.attributes) == (other.target, other.attributes)


Published: TypeAlias = "Release | Records"


@takes(decision_options.Comparing)
def compare(call: decision_options.Comparing) -> Comparison:
    """Put several releases about the same people side by side, such as a tree before and after a defense.

    Returns
    -------
    Comparison
        Frozen; ``.frame`` is a DataFrame, ``.rows`` the same as mappings, ``.summary`` the JSON summary.
    """
    told = call.progress or (lambda text, done, total: None)
    how, known, tables = options.of(Solving, call), options.of(Knowledge, call), options.of(Tables, call)
    reader, test = reader_of(call.reading), call.test
    where = None if call.memory is None else InParts.of(None, call.memory)
    if where is not None:
        tables, test = tables.located(), located(test)
    loaded = _load(call.releases, tables, call.target, reader)
    notes: list[str] = []
    trees = [case.release for case in loaded.values() if case.records is None]
    accuracies = Accuracies(trees, tables.truth, test, call.count, reader)
    mixed: dict[str, Any] = {"gcp": None} if len(trees) < len(loaded) else {}

    def quick(i: int, name: str, case: Case, parted: Parts | None = None) -> tuple[Assessment, dict[str, Any], Scores]:
        within = _within(told, f"{name} ({i + 1} of {len(loaded)})")
        assessed = assess(case, known, how, min_size=call.min_size, background=call.background, progress=within)
        with unwarned():
            attacks = {**mixed, **assessed.audit.summary}
        scores = accuracies.scores(case, parted)
        notes.extend(f"{name}: {note}" for note in scores.notes)
        return assessed, attacks, scores

    found: list[tuple[Assessment, dict[str, Any], Scores] | None] = []
    # What is quick comes first, so that what is wrong with a table is told before hours of solving.
    for i, (name, bare) in enumerate(loaded.items()):
        if where is not None and bare.records is None:
            found.append(None)  # the people are not known yet
            continue
        if where is not None:
            check_fits(bare, ["generalised records"], where.memory)
        told(f"{name}: attacks", i, len(loaded))
        found.append(quick(i, name, bare if bare.records is not None else tables.case(bare.release)))
    noticed = reader.noticed
    rows: list[dict[str, Any]] = []
    results: list[Estimate] = []
    judged: list[Callable[[Mapping[str, Any], Limits], Mapping[str, Any]]] = []
    interrupted = False
    with running(None if where is None else call.dask) as address:
        for i, ((name, bare), known_quickly) in enumerate(zip(loaded.items(), found, strict=True)):
            most = None
            try:
                if known_quickly is not None:
                    assessed, attacks, scores = known_quickly
                    with unwarned():
                        result = assessed.estimate
                else:
                    assert where is not None
                    within = _within(told, f"{name} ({i + 1} of {len(found)})")
                    work = replace(how, dask=address)
                    with unwarned():
                        given = bare.release, tables, known, work, where
                        result = estimate_tables(*given, progress=within, surest=True)
                    if (parted := result.parts) is None:
                        case = tables.case(bare.release)
                    else:
                        most, case = parted.most_disclosed, Case(bare.release, parted.table, noticed=result.noticed)
                    assessed, attacks, scores = quick(i, name, case, parted)
            except KeyboardInterrupt:
                if not call.interruptible or not rows:
                    raise
                interrupted = True
                break
            if bare.noticed.aside:
                result = _noticing(result, bare.noticed)
            case = assessed.case
            bits = (None, None) if case.records is not None else bits_to_identify(case.release, case.people)
            more: dict[str, Any] = {"tested": test is not None, "bits": bits, "most_disclosed": most}
            rows.append(comparison_row(name, case.release, result, attacks, scores, call.top, **more))
            if call.each is not None:
                call.each(result, rows[-1])
            results.append(result)
            judged.append(partial(result.judged_row, attacks=attacks))
            noticed = noticed.joined(result.noticed)
            notes += [f"{name}: {note}" for note in result.notes[len(result.noticed.notes) :]]
            notes += [f"{name}: {each.in_words({})}" for each in result.program.unread if each.refuted]
    if doubtful := [f"{row['release']} (status {row['status']})" for row in rows if row["status"] != "optimal"]:
        warn_unreliable(f"not to be relied on: the estimates of {', '.join(doubtful)}")
    return Comparison(
        tuple(rows),
        tuple(dict.fromkeys(notes)),
        interrupted,
        tuple(map(Individuals.of, results)),
        noticed,
        mended=tuple(each.mended for each in results),
        again=tuple(partial(estimate_case, replace(each[0].case), known, how) for each in found[: len(rows)] if each),
        judged_rows=tuple(judged),
        drawings=tuple(each.drawing for each in results),
    )


def _noticing(result: Any, noticed: Noticed) -> Any:
    """An estimate with what was noticed of its file, as the one that its verdict rests on has it, too."""
    informed = result.informed
    of_verdict = None if informed is None else lambda: _noticing(informed(), noticed)
    return replace(result, noticed=result.noticed.joined(noticed), informed=of_verdict)


# --- The releases ------------------------------------------------------------------------------------------------


def _load(
    releases: Iterable[Published] | Mapping[str, Published], tables: Tables, target: str | None, reader: Reader
) -> dict[str, Case]:
    """Read the releases under names of their own, once they are about the same target and classes."""
    if is_model(releases):
        raise no_release(releases)
    if isinstance(releases, (str, PathLike, Release)) or not isinstance(releases, Iterable):
        raise InvalidInput("call", [Problem("argument", "releases", "a list of releases", shorten(releases))])
    given = list(releases.values() if isinstance(releases, Mapping) else releases)
    names = _numbered(map(str, releases) if isinstance(releases, Mapping) else _names(given))
    if not given:
        raise InvalidInput("call", [Problem("argument", "releases", "at least one release", "none")])
    refused: list[InvalidInput] = []
    loaded: dict[str, Case] = {}
    records: dict[str, Records] = {}
    for name, published in zip(names, given, strict=True):
        try:
            own = reader.of_one()
            opened = open_published(published, own)
        except InvalidInput as error:
            refused.append(error)
            continue
        if isinstance(opened, Release):
            loaded[name] = Case(opened, noticed=Noticed(aside=own.noticed.aside))
        else:
            records[name] = opened
    known = next((case.release.target.name for case in loaded.values()), None) if target is None else target
    for name, opened in records.items():
        try:
            loaded[name] = tables.case(opened, known)
        except InvalidInput as error:
            refused.append(error)
    if len(refused) == 1:
        raise refused[0]
    problems = [
        Problem(f"{error.source}, {p.where}", p.field, p.expected, p.found) for error in refused for p in error.problems
    ]
    if not problems:
        loaded = {name: loaded[name] for name in names}
        problems = list(_mismatches({name: case.release for name, case in loaded.items()}))
    if problems:
        raise InvalidInput("releases", problems)
    return loaded


def _names(given: Sequence[Published]) -> list[str]:
    """A name for each release: that of its file, with the folder where those of several files are alike."""
    names = [_name(release) for release in given]
    often = Counter(names)
    for i, release in enumerate(given):
        if isinstance(release, (str, PathLike)) and often[names[i]] > 1:
            names[i] = "/".join(Path(release).with_suffix("").parts[-2:])
    return names


def _name(release: Published) -> str:
    """The name of a release, before names are made unique."""
    if isinstance(release, Release):
        return described(release) or "release"
    return Path(release).stem if isinstance(release, (str, PathLike)) else "records"


def _numbered(names: Iterable[str]) -> list[str]:
    """Names that are all different: the second of equal ones becomes ``name (2)``."""
    found: dict[str, None] = {}
    for name in names:
        candidates = chain([name], (f"{name} ({number})" for number in count_from(2)))
        found[next(candidate for candidate in candidates if candidate not in found)] = None
    return list(found)


def _mismatches(releases: Mapping[str, Release]) -> Iterator[Problem]:
    """Reasons against a comparison: a target or classes other than those of the first release."""
    first_name, first = next(iter(releases.items()))
    for name, release in releases.items():
        if release.target.name != first.target.name:
            expected = f"{shorten(first.target.name)}, as in {first_name}"
            yield Problem(name, "target", expected, shorten(release.target.name))
        elif set(release.target.classes) != set(first.target.classes):
            expected = f"{shorten_list(first.target.classes)} in any order, as in {first_name}"
            yield Problem(name, "classes", expected, shorten_list(release.target.classes))


def _within(told: Progress, name: str) -> Progress:
    """Progress of one release among several."""
    return lambda text, done, total: told(f"{name}: {text}", done, total)
