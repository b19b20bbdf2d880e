"""A whole table of the people behind a release, where some or all of their attributes are unknown."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.api.case import open_published
from maxent.constraints.compiler import check_options
from maxent.constraints.patterns import MOST, Atoms, Bits, atoms_of, individuals, stated_counts, unused
from maxent.models.arguments import is_number, is_whole, shorten
from maxent.models.errors import ARGUMENT, InvalidInput, Problem, invalid
from maxent.models.parameters import Noise
from maxent.models.reading import Reading, reader_of
from maxent.models.release import Release
from maxent.models.tables.truth_and_facts import KnownColumns, read_known
from maxent.results.reconstruction import Reconstruction, recount
from maxent.results.reliability import warn_unreliable
from maxent.solvers.control import Clock
from maxent.solvers.worlds.plausible import rebuild_uncertain
from maxent.solvers.worlds.seeded import SeededTable, rebuild_seeded
from maxent.solvers.worlds.tables import Rebuilt, Run, elsewhere, rebuild

if TYPE_CHECKING:
    from maxent.models.arrays import BoolArray, IntArray
    from maxent.models.formats.release_reader import Records
    from maxent.models.tables.frame import Source


def reconstruct(
    release: Release | Records,
    qi: Source | None = None,
    *,
    people: int | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    most_patterns: int = MOST,
    noise: Noise | None = None,
    rows: bool = False,
    reading: Reading | None = None,
) -> Reconstruction:
    """The likeliest whole table of people that agrees with a release, and which of its cells are proved.

    Parameters
    ----------
    release : Release, path, or a model that `maxent.convert` reads
        Trees whose nodes state counts, or numbers of people.
    qi : DataFrame or path, optional
        What is known: a row for each person, with any of the public attributes. Everything else is rebuilt.
    people : int, optional
        Number of individuals; default: what the release states, or the rows of ``qi``.
    time_limit : float, optional
        Seconds that everything after the inputs are read may take; default: a minute.
    seed : int
        Of random choices: where a near table is looked for.
    most_patterns : int
        Kinds of people of a class that are looked at; beyond that a sample of the likelier ones is.
    noise : {"intervals", "likelihood"}, optional
        What counts with noise are taken for; default: their likelihood. Intervals hold with a probability of 0.99.
    rows : bool
        Whether ``qi`` lists people in the order of training: where the release tells who was drawn for each tree, it is
        then known of each row. Without ``qi`` rows are rebuilt in that order.
    reading : Reading, optional
        How files are read.

    Returns
    -------
    Reconstruction
        Frozen; ``.table`` and ``.proved`` are DataFrames, ``.status`` says what is known of the table.

    Warns
    -----
    UnreliableResult
        When the table does not agree with everything that is stated.

    Raises
    ------
    MissingExtra
        Where OR-Tools is not installed.

    Notes
    -----
    Likeliest: attributes and class depend on each other as a tree does, by what the counts lead to expect; see
    docs/reconstruct.md. The problem is that of Ferry et al. (2024), "Trained Random Forests Completely Reveal your
    Dataset".
    """
    _check(people, time_limit, seed, most_patterns)
    begin, reader = time.perf_counter(), reader_of(reading)
    opened = open_published(release, reader)
    if not isinstance(opened, Release):
        raise invalid("release", "release", "release", "trees with counts", "generalised records")
    known = None if qi is None else read_known(qi, opened, reader)
    read = time.perf_counter() - begin
    check_options(frozenset(), None, "auto", CONFIDENCE, noise)
    how = Rebuilding(people, time_limit, seed, most_patterns, noise, rows)
    result = replace(reconstruct_release(opened, known, how, read=read), noticed=reader.noticed)
    if not result.reliable:
        missed, stated = len(result.missed), result.statements
        warn_unreliable(f"the table does not agree with {missed:,} of {stated:,} statements ({result.status})")
    return result


@dataclass(frozen=True, slots=True)
class Rebuilding:
    """How a table is rebuilt, see `reconstruct`."""

    people: int | None = None
    time_limit: float | None = None
    seed: int = 0
    most_patterns: int = MOST
    noise: Noise | None = None
    rows: bool = False


# The probability with which all intervals of noise hold together.
CONFIDENCE = 0.99


def reconstruct_release(
    release: Release, known: KnownColumns | None, how: Rebuilding, *, read: float = 0.0, run: Run = elsewhere
) -> Reconstruction:
    """The table of a release that was read, with what is known of people; errors are those of `reconstruct`.

    ``read`` are the seconds that reading took, ``run`` is how parts are solved.
    """
    begin, clock = time.perf_counter(), Clock(how.time_limit)
    seeded = release.draws is not None and (known is None or how.rows)
    trees, atoms = stated_counts(release, how.noise, CONFIDENCE, seeded=seeded), atoms_of(release)
    if known is not None and how.people not in (None, len(known)):
        raise invalid("options", ARGUMENT, "people", f"the rows of qi: {len(known):,}", f"{how.people:,}")
    total = _drawn_from(release, known, how) if seeded else None
    if total is None:
        total = individuals(trees, how.people) if known is None else len(known)
    start, owner = _owners(atoms, known, total)
    given: Any = {"seed": how.seed, "clock": clock, "most": how.most_patterns, "run": run}
    intervals = release.noise is not None and how.noise == "intervals"
    notes, times = list(unused(release)), None
    if seeded and release.draws is not None:
        times = release.draws.matrix()
        found = rebuild_seeded(atoms, trees, times, start, owner, **given)
        value, klass, shared = found.value, found.patterns.klass[found.pattern], found.proved
        notes.append("it is known who was drawn for each tree: rows are in the order of training")
        rebuilt: Rebuilt | SeededTable = found
    else:
        weight = np.bincount(owner, minlength=len(start))
        if release.sampled and not intervals:
            of_people, _ = rebuild_uncertain(release, atoms, trees, start, weight, **given)
        else:
            of_people = rebuild(atoms, trees, start, weight, **given)
        pattern = _rows(of_people, owner, known is not None)
        value, klass = of_people.value[pattern], of_people.patterns.klass[pattern]
        shared = of_people.proved[pattern]
        if known is not None:
            shared &= ~_told_apart(known, owner)[:, None] | _of_everybody(of_people)[owner]
        rebuilt = of_people
    if known is not None:
        shared[:, list(known.attributes)] = True
    if intervals:
        notes.append(f"intervals of counts hold together with a probability of {CONFIDENCE:g}")
    statements, missed = recount(release, atoms, trees, value, klass, times)
    return Reconstruction(
        release,
        atoms,
        value,
        klass,
        shared,
        rebuilt.status,
        rebuilt.settled,
        missed,
        statements,
        len(rebuilt.patterns),
        not rebuilt.patterns.complete,
        {"read": read, "rebuild": time.perf_counter() - begin},
        known,
        tuple(notes),
    )


def _drawn_from(release: Release, known: KnownColumns | None, how: Rebuilding) -> int:
    """The rows that draws are from, as the release tells."""
    assert release.draws is not None
    n = release.draws.n
    told = how.people if known is None else len(known)
    if told not in (None, n):
        what = "people" if known is None else "rows of qi"
        raise invalid("options", ARGUMENT, what, f"the rows that draws are from: {n:,}", f"{told:,}")
    return n


def _check(people: object, time_limit: object, seed: object, most_patterns: object) -> None:
    """Refuse arguments that no release makes right."""
    problems = []
    if people is not None and not is_whole(people, 1):
        problems.append(Problem(ARGUMENT, "people", "a number of individuals, at least 1", shorten(people)))
    if time_limit is not None and not (is_number(time_limit) and 0 < time_limit < inf):  # type: ignore[operator]
        problems.append(Problem(ARGUMENT, "time_limit", "a positive number of seconds", shorten(time_limit)))
    if not is_whole(seed, 0):
        problems.append(Problem(ARGUMENT, "seed", "a whole number, at least 0", shorten(seed)))
    if not is_whole(most_patterns, 1):
        problems.append(Problem(ARGUMENT, "most_patterns", "a whole number, at least 1", shorten(most_patterns)))
    if problems:
        raise InvalidInput("options", problems)


def _owners(atoms: Atoms, known: KnownColumns | None, people: int) -> tuple[Bits, IntArray]:
    """Boxes of values that are possible, one for all who are known by the same; and that of each person."""
    if known is None:
        return atoms.everything()[None], np.zeros(people, np.int64)
    coded = [atoms.code(j, levels) for j, levels in zip(known.attributes, known.levels, strict=True)]
    of_person = np.column_stack([code[codes] for code, codes in zip(coded, known.codes.T, strict=True)])
    distinct, owner = np.unique(of_person, axis=0, return_inverse=True)
    rest = atoms.everything(set(range(len(atoms.of))) - set(known.attributes))
    boxes = [atoms.box((j, [a]) for j, a in zip(known.attributes, row, strict=True)) for row in distinct.tolist()]
    return np.array(boxes) | rest, owner.ravel().astype(np.int64)


def _told_apart(known: KnownColumns, owner: IntArray) -> BoolArray:
    """Whether the table tells some people of a row's owner apart whom the release does not, shape (n_people,)."""
    by = np.argsort(owner, kind="stable")
    first = by[np.searchsorted(owner[by], owner)]
    differs = known.alike != known.alike[first]
    return np.asarray((np.bincount(owner, differs) > 0)[owner])


def _of_everybody(rebuilt: Rebuilt) -> BoolArray:
    """Whether all people of an owner have one value, in all tables: so it holds however rows are given to them.

    Shape (n_owners, n_attributes + 1). Nothing where a part has no table: who is in it is then unknown.
    """
    patterns = rebuilt.patterns
    values = np.column_stack([rebuilt.value, patterns.klass])
    n_owners = int(patterns.owner.max(initial=-1)) + 1
    held = rebuilt.people > 0
    least = np.full((n_owners, values.shape[1]), np.iinfo(np.int64).max)
    most, proved = np.full(least.shape, -1), np.full(least.shape, rebuilt.status in {"likeliest", "consistent"})
    np.minimum.at(least, patterns.owner[held], values[held])
    np.maximum.at(most, patterns.owner[held], values[held])
    np.logical_and.at(proved, patterns.owner[held], rebuilt.proved[held])
    return np.asarray(proved & (least == most))


def _rows(rebuilt: Rebuilt, owner: IntArray, ordered: bool) -> IntArray:
    """The pattern of each row: that of somebody of its owner, or, in any order, by class and values."""
    patterns = rebuilt.patterns
    by = np.lexsort((*rebuilt.value.T[::-1], patterns.klass, patterns.owner))
    found = np.repeat(by, rebuilt.people[by])
    if not ordered:
        return found
    pattern = np.empty(len(owner), np.int64)
    pattern[np.argsort(owner, kind="stable")] = found
    return pattern
