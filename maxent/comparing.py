"""Several releases about the same people, side by side: what each discloses, what attacks find, how each predicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from itertools import count as count_from
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from maxent.auditing import audit
from maxent.comparison import Comparison, Scores, comparison_row, described
from maxent.engine import Progress, estimate
from maxent.models.errors import InvalidInput, Problem
from maxent.models.frames import shorten, shorten_list
from maxent.models.predict import tested_attributes
from maxent.models.reader import load_release
from maxent.models.release import Release
from maxent.scoring import read_cases, score

if TYPE_CHECKING:
    from maxent.constraints.rounding import Rounding
    from maxent.models.frames import Source
    from maxent.models.release import Impurity

Published: TypeAlias = Release | str | PathLike[str]


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
) -> Comparison:
    """Put several releases about the same people side by side, such as a tree before and after a defense.

    Parameters
    ----------
    releases : iterable or mapping of Release or path
        The first is what the others are compared with. A mapping gives them names; otherwise files go by their names,
        and releases by what was done to them.
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
    knowledge, impurity, marginal, facts, count, rounding, confidence
        As for `maxent.estimate`.
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
    published = _load(releases)
    notes: list[str] = []
    found = []
    # What is quick comes first, so that what is wrong with a table is told before hours of solving.
    for i, (name, release) in enumerate(published.items()):
        told(f"{name}: attacks", i, len(published))
        attacks = audit(
            release, qi, min_size=min_size, background=background, facts=facts, count=count, rounding=rounding
        )
        scores = _scores(release, truth, test, count)
        notes += [f"{name}: {note}" for note in scores.notes]
        found.append((attacks, scores))
    rows: list[dict[str, Any]] = []
    interrupted = False
    for i, (name, release) in enumerate(published.items()):
        try:
            result = estimate(
                release,
                qi,
                truth,
                knowledge=knowledge,
                impurity=impurity,
                marginal=marginal,
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
            )
        except KeyboardInterrupt:
            if not interruptible or not rows:
                raise
            interrupted = True
            break
        rows.append(comparison_row(name, release, result, *found[i], top))
        notes += [f"{name}: {note}" for note in result.notes]
    return Comparison(tuple(rows), tuple(dict.fromkeys(notes)), interrupted)


# --- The releases ------------------------------------------------------------------------------------------------


def _load(releases: Iterable[Published] | Mapping[str, Published]) -> dict[str, Release]:
    """Read the releases under names of their own, once they are about the same target and classes."""
    if isinstance(releases, (str, PathLike, Release)):
        raise InvalidInput("call", [Problem("argument", "releases", "a list of releases", shorten(releases))])
    given = list(releases.values() if isinstance(releases, Mapping) else releases)
    names = _numbered(map(str, releases) if isinstance(releases, Mapping) else _names(given))
    if not given:
        raise InvalidInput("call", [Problem("argument", "releases", "at least one release", "none")])
    loaded: dict[str, Release] = {}
    refused: list[InvalidInput] = []
    for name, release in zip(names, given, strict=True):
        try:
            loaded[name] = release if isinstance(release, Release) else load_release(release)
        except InvalidInput as error:
            refused.append(error)
    if len(refused) == 1:
        raise refused[0]
    problems = [
        Problem(f"{error.source}, {p.where}", p.field, p.expected, p.found) for error in refused for p in error.problems
    ]
    problems = problems or list(_mismatches(loaded))
    if problems:
        raise InvalidInput("releases", problems)
    return loaded


def _names(given: Sequence[Published]) -> list[str]:
    """A name for each release: that of its file, with the folder where those of several files are alike."""
    names = [
        described(release) or "release" if isinstance(release, Release) else Path(release).stem for release in given
    ]
    often = Counter(names)
    for i, release in enumerate(given):
        if not isinstance(release, Release) and often[names[i]] > 1:
            names[i] = "/".join(Path(release).with_suffix("").parts[-2:])
    return names


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


def _scores(release: Release, truth: Source | None, test: Source | None, count: str | None) -> Scores:
    """How well a release predicts, and what else must be known of that."""
    train, tested, notes = None, None, []
    attributes = tested_attributes(release)
    if truth is not None:
        private = {attribute.name for attribute in attributes if attribute.role == "private"}
        cases = read_cases(truth, "truth", release.target, attributes, count=count, optional=private)
        missing = [attribute.name for attribute in attributes if attribute not in cases.attributes]
        if missing:
            notes.append(f"no training accuracy: the truth has no column {shorten_list(missing)}, which a tree tests")
        else:
            train = score(release, cases)
            notes += train.notes
    if test is not None:
        tested = score(release, read_cases(test, "test", release.target, attributes, count=count))
        notes += [f"test: {note}" for note in tested.notes]
    return Scores(train, tested, tuple(notes))


def _within(told: Progress, name: str) -> Progress:
    """Progress of one release among several."""
    return lambda text, done, total: told(f"{name}: {text}", done, total)
