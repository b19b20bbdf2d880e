"""Several releases about the same people, side by side: what each discloses, what attacks find, how each predicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from itertools import count as count_from
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from maxent.api.audit import audit
from maxent.api.estimate import Progress, estimate
from maxent.attacks.risk import bits_to_identify
from maxent.constraints.records import records_release
from maxent.disclosure.individuals import Individuals
from maxent.models.errors import InvalidInput, Problem
from maxent.models.formats.maxent_json.read import opened_release
from maxent.models.formats.published_records import Published as Records
from maxent.models.formats.published_records import is_records, read_published
from maxent.models.formats.scikit_learn.models import is_model, no_release
from maxent.models.reading import Reader, Reading, reader_of
from maxent.models.release import Release
from maxent.models.tables.frame import shorten, shorten_list
from maxent.models.trees.accuracy import read_cases, score
from maxent.models.trees.predict import tested_attributes
from maxent.results.comparison import Comparison, Scores, comparison_row, described
from maxent.results.reliability import unwarned, warn_unreliable

if TYPE_CHECKING:
    from maxent.models.release import Impurity
    from maxent.models.tables.frame import Source
    from maxent.models.trees.printed_rates import Rounding
    from maxent.results.estimate import Estimate

Published: TypeAlias = "Release | Records"

ALIKE = (
    "records in groups of rows that are alike, which are called leaves; the individuals in them are rows, and only who "
    "knows which rows can be a person's can use what they say"
)
"""What a reader of a comparison should know of generalised records."""


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
    presolve: bool = True,
    starts: int | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    jobs: int = 1,
    floor: float = 1e-6,
    top: int = 10,
    interruptible: bool = False,
    progress: Progress | None = None,
    each: Callable[[Estimate, Mapping[str, Any]], None] | None = None,
    target: str | None = None,
    reading: Reading | None = None,
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
    knowledge, impurity, marginal, facts, count, rounding, confidence
        As for `maxent.estimate`; the first three are used for trees only.
    backend, tolerance, presolve, starts, seed, jobs, floor
        As for `maxent.estimate`.

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
    told = progress or (lambda text, done, total: None)
    reader = reader_of(reading)
    published = _load(releases, qi, count, target, reader)
    notes: list[str] = []
    found = []
    # What is quick comes first, so that what is wrong with a table is told before hours of solving.
    for i, (name, (release, given)) in enumerate(published.items()):
        told(f"{name}: attacks", i, len(published))
        with unwarned():
            attacks = audit(
                given,
                qi,
                min_size=min_size,
                background=background,
                facts=None if is_records(given) else facts,
                count=count,
                rounding=rounding,
                target=release.target.name if is_records(given) else None,
                reading=reading,
            )
        scores = Scores(None, None, (ALIKE,)) if is_records(given) else _scores(release, truth, test, count, reader)
        notes += [f"{name}: {note}" for note in scores.notes]
        found.append((attacks, scores))
    if any("gcp" in attacks for attacks, _ in found):
        found = [({"gcp": None, **attacks}, scores) for attacks, scores in found]
    noticed = reader.noticed
    rows: list[dict[str, Any]] = []
    people: list[Individuals] = []
    interrupted = False
    for i, (name, (release, given)) in enumerate(published.items()):
        try:
            with unwarned():
                result = estimate(
                    given,
                    qi,
                    truth,
                    knowledge=None if is_records(given) else knowledge,
                    impurity=None if is_records(given) else impurity,
                    marginal=None if is_records(given) else marginal,
                    facts=facts,
                    count=count,
                    backend=backend,
                    tolerance=tolerance,
                    rounding=rounding,
                    confidence=confidence,
                    presolve=presolve,
                    starts=starts,
                    seed=seed,
                    time_limit=time_limit,
                    jobs=jobs,
                    floor=floor,
                    top=top,
                    progress=_within(told, f"{name} ({i + 1} of {len(published)})"),
                    target=release.target.name if is_records(given) else None,
                    reading=reading,
                )
        except KeyboardInterrupt:
            if not interruptible or not rows:
                raise
            interrupted = True
            break
        bits = (None, None) if is_records(given) else bits_to_identify(release, result.program.table)
        rows.append(comparison_row(name, release, result, *found[i], top, tested=test is not None, bits=bits))
        if each is not None:
            each(result, rows[-1])
        people.append(Individuals.of(result))
        noticed = noticed.joined(result.noticed)
        notes += [f"{name}: {note}" for note in result.notes[len(result.noticed.notes) :]]
    if doubtful := [f"{row['release']} (status {row['status']})" for row in rows if row["status"] != "optimal"]:
        warn_unreliable(f"not to be relied on: the estimates of {', '.join(doubtful)}")
    return Comparison(tuple(rows), tuple(dict.fromkeys(notes)), interrupted, tuple(people), noticed)


# --- The releases ------------------------------------------------------------------------------------------------


def _load(
    releases: Iterable[Published] | Mapping[str, Published],
    qi: Source,
    count: str | None,
    target: str | None,
    reader: Reader,
) -> dict[str, tuple[Release, Published]]:
    """Read the releases under names of their own, once they are about the same target and classes.

    Each comes with what is to be audited and estimated: the same, or of records these.
    """
    if is_model(releases):
        raise no_release(releases)
    if isinstance(releases, (str, PathLike, Release)):
        raise InvalidInput("call", [Problem("argument", "releases", "a list of releases", shorten(releases))])
    given = list(releases.values() if isinstance(releases, Mapping) else releases)
    names = _numbered(map(str, releases) if isinstance(releases, Mapping) else _names(given))
    if not given:
        raise InvalidInput("call", [Problem("argument", "releases", "at least one release", "none")])
    loaded: dict[str, Release] = {}
    whole: dict[str, Published] = {}
    refused: list[InvalidInput] = []
    # Trees first: their target is that of the records.
    for name, release in sorted(zip(names, given, strict=True), key=lambda pair: is_records(pair[1])):
        try:
            if is_records(release):
                known = target or next((other.target.name for other in loaded.values()), None)
                loaded[name] = records_release(read_published(release, qi, target=known, count=count, reader=reader)[0])
                whole[name] = release
            else:
                loaded[name] = opened_release(cast("Release | str | PathLike[str]", release), reader)
                whole[name] = loaded[name]
        except InvalidInput as error:
            refused.append(error)
    if len(refused) == 1:
        raise refused[0]
    problems = [
        Problem(f"{error.source}, {p.where}", p.field, p.expected, p.found) for error in refused for p in error.problems
    ]
    if not problems:
        loaded = {name: loaded[name] for name in names}
        problems = list(_mismatches(loaded))
    if problems:
        raise InvalidInput("releases", problems)
    return {name: (loaded[name], whole[name]) for name in names}


def _names(given: Sequence[Published]) -> list[str]:
    """A name for each release: that of its file, with the folder where those of several files are alike."""
    names = [_name(release) for release in given]
    often = Counter(names)
    for i, release in enumerate(given):
        if isinstance(release, (str, PathLike)) and often[names[i]] > 1:
            names[i] = "/".join(Path(release).with_suffix("").parts[-2:])
    return names


def _name(release: Published) -> str:
    """What a release is called without the others."""
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
    """What makes releases incomparable: another target, or other classes, than the first has."""
    first_name, first = next(iter(releases.items()))
    for name, release in releases.items():
        if release.target.name != first.target.name:
            expected = f"{shorten(first.target.name)}, as in {first_name}"
            yield Problem(name, "target", expected, shorten(release.target.name))
        elif set(release.target.classes) != set(first.target.classes):
            expected = f"{shorten_list(first.target.classes)} in any order, as in {first_name}"
            yield Problem(name, "classes", expected, shorten_list(release.target.classes))


def _scores(release: Release, truth: Source | None, test: Source | None, count: str | None, reader: Reader) -> Scores:
    """How well a release predicts, and what else must be known of that."""
    train, tested, notes = None, None, []
    attributes = tested_attributes(release)
    if truth is not None:
        private = {attribute.name for attribute in attributes if attribute.role == "private"}
        cases = read_cases(truth, "truth", release.target, attributes, count=count, optional=private, reader=reader)
        missing = [attribute.name for attribute in attributes if attribute not in cases.attributes]
        if missing:
            notes.append(f"no training accuracy: the truth has no column {shorten_list(missing)}, which a tree tests")
        else:
            train = score(release, cases)
            notes += train.notes
    if test is not None:
        tested = score(release, read_cases(test, "test", release.target, attributes, count=count, reader=reader))
        notes += [f"test: {note}" for note in tested.notes]
    return Scores(train, tested, tuple(notes))


def _within(told: Progress, name: str) -> Progress:
    """Progress of one release among several."""
    return lambda text, done, total: told(f"{name}: {text}", done, total)
