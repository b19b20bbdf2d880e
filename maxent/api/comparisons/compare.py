"""Several releases about the same people, side by side: what each discloses, what attacks find, how each predicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from itertools import count as count_from
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from maxent.api.adversary.attack import audit_case
from maxent.api.adversary.estimate import Progress, Solving, estimate_case
from maxent.api.calling import called
from maxent.api.case import Case, Tables
from maxent.api.comparisons.accuracies import Accuracies
from maxent.api.compile import Knowledge
from maxent.api.opening import open_published
from maxent.api.parts.folder import InParts
from maxent.api.parts.linked import check_fits
from maxent.attacks.risk import bits_to_identify
from maxent.constraints.kinds.context import Noise
from maxent.disclosure.individuals import Individuals
from maxent.disclosure.limits import Limits
from maxent.disclosure.mend import Mend
from maxent.models.errors import InvalidInput, Problem
from maxent.models.files.addresses import located
from maxent.models.formats.release_reader import Records
from maxent.models.formats.scikit_learn.models import is_model, no_release
from maxent.models.reading import Reader, Reading, reader_of
from maxent.models.release import Release
from maxent.models.tables.frame import shorten, shorten_list
from maxent.models.text.arguments import check_flags, check_functions
from maxent.results.comparison import Comparison, Scores, comparison_row
from maxent.results.reliability import unwarned, warn_unreliable
from maxent.results.solved import described
from maxent.solvers.solve.dask_cluster import running

if TYPE_CHECKING:
    from maxent.api.parts.by_leaf.compare import Compared
    from maxent.models.release import Impurity
    from maxent.models.tables.frame import Source
    from maxent.models.trees.printed_rates import Rounding
    from maxent.results.estimate import Estimate

Published: TypeAlias = "Release | Records"


@called
def compare(
    releases: Iterable[Published] | Mapping[str, Published],
    qi: Source,
    truth: Source | None = None,
    test: Source | None = None,
    *,
    min_size: int = 1,
    background: int = 1,
    knowledge: str | Iterable[str] | None = None,
    impurity: Impurity | None = None,
    marginal: Source | None = None,
    facts: Source | None = None,
    count: str | None = None,
    backend: str = "auto",
    tolerance: float = 1e-8,
    rounding: Rounding = "auto",
    confidence: float = 0.99,
    noise: Noise = "intervals",
    presolve: bool = True,
    starts: int | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    floor: float = 1e-6,
    top: int = 10,
    interruptible: bool = False,
    progress: Progress | None = None,
    each: Callable[[Estimate, Mapping[str, Any]], None] | None = None,
    target: str | None = None,
    reading: Reading | None = None,
    control: Source | None = None,
    sensitive: str | Iterable[str] | None = None,
    gain: Source | None = None,
    memory: int | str | None = None,
    no_marginal: bool = False,
) -> Comparison:
    """Put several releases about the same people side by side, such as a tree before and after a defense.

    Parameters
    ----------
    releases : iterable or mapping of Release, path, or generalised records
        What `maxent.estimate` takes. The first is what the others are compared with. A mapping gives them names;
        otherwise files go by their names, and releases by what was done to them.
    qi : DataFrame, path or pattern
        The adversary's table, with the public attributes of every release.
    truth : DataFrame or path, optional
        The confidential data: the same people with their classes. With the private attributes that a tree tests, it
        also gives the training accuracy.
    test : DataFrame or path, optional
        Other people, with all attributes that the trees test and the target: they give the test accuracy.
    min_size, background : int
        As for `maxent.audit`.
    time_limit : float, optional
        Seconds that solving each of the releases may take.
    top : int
        How many of the most disclosed quasi-identifiers are named, and the largest divergences averaged.
    interruptible : bool
        Whether Ctrl-C while solving returns the releases compared so far; it raises KeyboardInterrupt before the first.
    progress : callable, optional
        Told ``(what, done, total)``.
    each : callable, optional
        Given the estimate of each release, which is not kept, and its row of the comparison.
    target : str, optional
        Of generalised records, the column of the class; by default that of the first tree, if there is one.
    reading : Reading, optional
        How all releases and tables are read, see `maxent.models.reading.Reading`.
    knowledge, impurity, marginal, facts, count, rounding, confidence, noise, control, sensitive, gain, no_marginal
        As for `maxent.estimate`; the first three and ``control`` are used for trees only.
    backend, tolerance, presolve, starts, seed, jobs, dask, floor
        As for `maxent.estimate`.
    memory : int or str, optional
        Bytes that all processes may take, such as ``"4GB"``: the people of ``qi`` and ``truth``, which are then files,
        are taken in parts, as by `maxent.estimate_in_parts`, and there is no report. ``test`` is read as a whole.

    Returns
    -------
    Comparison
        Frozen; ``.frame`` is a DataFrame, ``.rows`` the same as mappings, ``.summary`` the JSON summary.

    Raises
    ------
    InvalidInput
        For anything wrong with the inputs, naming every problem and its place; also when the releases are not about
        the same target and classes.
    """
    check_functions(progress=progress, each=each)
    check_flags(interruptible=interruptible, no_marginal=no_marginal)
    told = progress or (lambda text, done, total: None)
    how = Solving(backend, tolerance, presolve, starts, seed, time_limit, jobs, dask, floor, top)
    known = Knowledge(knowledge, impurity, rounding, confidence, noise, no_marginal)
    reader = reader_of(reading)
    tables = Tables(qi, truth, facts, marginal, count, reading, control, sensitive, gain)
    where = None if memory is None else InParts.of(None, memory)
    if where is not None:
        tables, test = tables.located(), located(test)
    loaded = _load(releases, tables, target, reader)
    notes: list[str] = []
    trees = [case.release for case in loaded.values() if case.records is None]
    accuracies = Accuracies(trees, tables.truth, test, count, reader)
    mixed: dict[str, Any] = {"gcp": None} if len(trees) < len(loaded) else {}

    def quick(name: str, case: Case, compared: Compared | None = None) -> tuple[Case, dict[str, Any], Scores]:
        with unwarned():
            attacks = audit_case(case, min_size=min_size, background=background, rounding=rounding).summary
        scores = accuracies.scores(case, compared)
        notes.extend(f"{name}: {note}" for note in scores.notes)
        return case, {**mixed, **attacks}, scores

    found: list[tuple[Case, dict[str, Any], Scores] | None] = []
    # What is quick comes first, so that what is wrong with a table is told before hours of solving.
    for i, (name, bare) in enumerate(loaded.items()):
        if where is not None and bare.records is None:
            found.append(None)  # the people are not known yet
            continue
        if where is not None:
            check_fits(bare, ["generalised records"], where.memory)
        told(f"{name}: attacks", i, len(loaded))
        found.append(quick(name, bare if bare.records is not None else tables.case(bare.release)))
    noticed = reader.noticed
    rows: list[dict[str, Any]] = []
    people: list[Individuals] = []
    mended: list[Callable[[Limits], Mend] | None] = []
    judged: list[Callable[[Mapping[str, Any], Limits], Mapping[str, Any]]] = []
    interrupted = False
    with running(None if where is None else dask) as address:
        for i, ((name, bare), known_quickly) in enumerate(zip(loaded.items(), found, strict=True)):
            within, most = _within(told, f"{name} ({i + 1} of {len(found)})"), None
            try:
                if known_quickly is not None:
                    case, attacks, scores = known_quickly
                    with unwarned():
                        result = estimate_case(case, known, how, progress=within)
                else:
                    compared = _in_parts(bare.release, tables, known, replace(how, dask=address), where, within)
                    result, most = compared.result, compared.most_disclosed
                    case, attacks, scores = quick(name, compared.case, compared)
            except KeyboardInterrupt:
                if not interruptible or not rows:
                    raise
                interrupted = True
                break
            bits = (None, None) if case.records is not None else bits_to_identify(case.release, case.people)
            more: dict[str, Any] = {"tested": test is not None, "bits": bits, "most_disclosed": most}
            rows.append(comparison_row(name, case.release, result, attacks, scores, top, **more))
            if each is not None:
                each(result, rows[-1])
            people.append(Individuals.of(result))
            mended.append(result.mended)
            judged.append(partial(result.judged_row, attacks=attacks))
            noticed = noticed.joined(result.noticed)
            notes += [f"{name}: {note}" for note in result.notes[len(result.noticed.notes) :]]
    if doubtful := [f"{row['release']} (status {row['status']})" for row in rows if row["status"] != "optimal"]:
        warn_unreliable(f"not to be relied on: the estimates of {', '.join(doubtful)}")
    again = tuple(partial(estimate_case, replace(each[0]), known, how) for each in found[: len(rows)] if each)
    each_once = tuple(dict.fromkeys(notes))
    return Comparison(tuple(rows), each_once, interrupted, tuple(people), noticed, tuple(mended), again, tuple(judged))


def _in_parts(
    release: Release, tables: Tables, known: Knowledge, how: Solving, where: InParts | None, progress: Progress
) -> Compared:
    from maxent.api.parts.by_leaf.compare import compare_release

    assert where is not None
    return compare_release(release, tables, known, how, where, progress)


# --- The releases ------------------------------------------------------------------------------------------------


def _load(
    releases: Iterable[Published] | Mapping[str, Published], tables: Tables, target: str | None, reader: Reader
) -> dict[str, Case]:
    """Read the releases under names of their own, once they are about the same target and classes.

    Cases of trees are without the adversary's table, which takes longer to read.
    """
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
            opened = open_published(published, reader)
        except InvalidInput as error:
            refused.append(error)
            continue
        if isinstance(opened, Release):
            loaded[name] = Case(opened)
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
