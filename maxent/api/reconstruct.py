"""A whole table of the people behind a release, where some or all of their attributes are unknown."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from maxent.api.calling import takes
from maxent.api.case import open_published
from maxent.api.decision_options import Reconstructing
from maxent.api.options import of
from maxent.constraints.compiler import check_noise, check_options
from maxent.constraints.patterns import (
    MOST,
    Atoms,
    Bits,
    atoms_of,
    individuals,
    most_stated,
    stated_counts,
    unused,
    within_draws,
)
from maxent.constraints.scored_rows import is_scored
from maxent.disclosure.nearness import agreement, null_model
from maxent.models.arguments import Noise, is_number, is_whole, shorten
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.errors import ARGUMENT, InvalidInput, Problem, invalid
from maxent.models.reading import Reader, reader_of
from maxent.models.release import Attribute, Release
from maxent.models.tables.frame import Source
from maxent.models.tables.truth_and_facts import KnownColumns, read_known
from maxent.results.reconstruction import Reconstruction, recount, stated_people
from maxent.results.reliability import warn_unreliable
from maxent.solvers.control import Clock
from maxent.solvers.worlds.plausible import last_row, rebuild_uncertain
from maxent.solvers.worlds.scored import Boosted, rebuild_scored
from maxent.solvers.worlds.seeded import SeededTable, rebuild_seeded
from maxent.solvers.worlds.tables import Rebuilt, Run, elsewhere, rebuild


@takes(Reconstructing)
def reconstruct(call: Reconstructing) -> Reconstruction:
    """The likeliest whole table of people that agrees with a release, and which of its cells are proved.

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
    how, qi, truth, control = of(Rebuilding, call), call.qi, call.truth, call.control
    _check(how.people, how.time_limit, how.seed, MOST)
    if call.prior not in ("uniform", "others"):
        raise invalid("options", ARGUMENT, "prior", "uniform or others", shorten(call.prior))
    if control is not None and truth is None:
        raise invalid("options", ARGUMENT, "control", "people beside those of truth", "no truth")
    begin, reader = time.perf_counter(), reader_of(call.reading)
    opened = open_published(call.release, reader)
    if not isinstance(opened, Release):
        raise invalid("release", "release", "release", "trees with counts", "generalised records")
    known = None if qi is None else read_known(qi, opened, reader)
    named = {"others": call.others, "truth": truth, "control": control}
    if call.others is not None and qi is not None:
        raise invalid("options", ARGUMENT, "others", "no qi beside it: of the last row nothing is known", "both")
    check_options(frozenset(), None, "auto", CONFIDENCE, how.noise)
    check_noise(how.noise, opened)
    tables = {name: whole_table(source, opened, reader) for name, source in named.items() if source is not None}
    read = time.perf_counter() - begin
    if "others" in tables:
        result = reconstruct_last(opened, tables["others"], how, call.prior, read=read)
    else:
        result = reconstruct_release(opened, known, how, read=read)
    if "truth" in tables:
        result = replace(result, null=_null(result, tables["truth"], tables.get("control"), how.seed))
    result = replace(result, noticed=reader.noticed)
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
    """The table of a release that was read, with what is known of people; errors are those of `reconstruct`."""
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
    intervals = release.sampled and how.noise == "intervals" and not seeded
    if intervals and release.noise is None:
        trees = within_draws(release, trees, total, CONFIDENCE)
    notes, times, likely = list(unused(release)), None, None
    if seeded and release.draws is not None:
        times = release.draws.matrix()
        found = rebuild_seeded(atoms, trees, times, start, owner, **given)
        value, klass, shared = found.value, found.patterns.klass[found.pattern], found.proved
        notes.append("it is known who was drawn for each tree: rows are in the order of training")
        rebuilt: Rebuilt | SeededTable = found
        likely = _chances(found, atoms)
    else:
        weight, samples = np.bincount(owner, minlength=len(start)), None
        if release.sampled and not intervals:
            of_people, samples = rebuild_uncertain(release, atoms, trees, start, weight, **given)
        elif is_scored(release):
            of_people = rebuild_scored(Boosted(release, atoms, trees, start, weight), **given)
        else:
            of_people = rebuild(atoms, trees, start, weight, **given)
        pattern = _rows(of_people, owner, known is not None)
        value, klass = of_people.value[pattern], of_people.patterns.klass[pattern]
        shared = of_people.proved[pattern]
        if samples is not None:
            likely = _agreed(of_people, pattern, samples, owner)
        if known is not None:
            shared &= ~_told_apart(known, owner)[:, None] | _of_everybody(of_people)[owner]
        rebuilt = of_people
    if known is not None:
        shared[:, list(known.attributes)] = True
    if intervals:
        notes.append(f"intervals of counts hold together with a probability of {CONFIDENCE:g}")
    statements, missed = recount(release, atoms, trees, value, klass, times)
    # A table that was found behind the first trees may agree with all.
    status = "consistent" if rebuilt.status == "partial" and not missed else rebuilt.status
    return Reconstruction(
        release,
        atoms,
        value,
        klass,
        shared,
        status,
        rebuilt.settled,
        missed,
        statements,
        len(rebuilt.patterns),
        not rebuilt.patterns.complete,
        {"read": read, "rebuild": time.perf_counter() - begin},
        known,
        tuple(notes),
        likely=likely,
    )


def _cells(rebuilt: Rebuilt, pattern: IntArray) -> IntArray:
    """Values and class of the people of some patterns, shape (n, n_attributes + 1)."""
    return np.column_stack([rebuilt.value[pattern], rebuilt.patterns.klass[pattern]])


def _agreed(rebuilt: Rebuilt, pattern: IntArray, samples: IntArray, owner: IntArray) -> FloatArray:
    """The share of plausible tables that have each cell."""
    by, tables = np.argsort(owner, kind="stable"), []
    for sample in samples:
        rows = np.empty((len(owner), len(rebuilt.value[0]) + 1), np.int64)
        rows[by] = _cells(rebuilt, sample)
        tables.append(rows)
    return agreement(_cells(rebuilt, pattern), tables, owner)


def _chances(found: SeededTable, atoms: Atoms) -> FloatArray:
    """The probability of each cell of rows of which it is known who was drawn."""
    codes = [atoms.held(found.patterns.box, j) for j in range(len(atoms.of))]
    chances = np.empty((len(found.value), len(atoms.of) + 1))
    for i, pattern in enumerate(found.pattern.tolist()):
        span = slice(*found.likely.indptr[i : i + 2])
        at, chance = found.likely.indices[span], found.likely.data[span]
        for j, held in enumerate(codes):
            inside = held[at]
            chances[i, j] = chance @ (inside[:, found.value[i, j]] / inside.sum(axis=1))
        chances[i, -1] = chance @ (found.patterns.klass[at] == found.patterns.klass[pattern])
    return chances


def whole_table(source: Source, release: Release, reader: Reader) -> KnownColumns:
    """People with all public attributes and their classes, which come last."""
    target = Attribute(release.target.name, "categorical", release.target.classes)
    asked = replace(release, attributes=(*release.attributes, target))
    found = read_known(source, asked, reader)
    told = {asked.attributes[j].name for j in found.attributes}
    missing = [a.name for a in asked.public if a.name not in told]
    if missing:
        raise invalid(found.source, "header", "columns", f"a column {missing[0]}", "none")
    return found


def _codes(table: KnownColumns, atoms: Atoms, classes: tuple[str, ...]) -> IntArray:
    """Atoms and classes of people, shape (n_people, n_attributes + 1), the class last; 0 of private attributes."""
    found = np.zeros((len(table), len(atoms.of) + 1), np.int64)
    for at, j in enumerate(table.attributes):
        if j < len(atoms.of):
            code = atoms.code(j, table.levels[at])
        else:
            code = np.array([classes.index(str(level)) for level in table.levels[at]], np.int64)
        found[:, j] = code[table.codes[:, at]]
    return found


def _null(result: Reconstruction, truth: KnownColumns, control: KnownColumns | None, seed: int) -> dict[str, Any]:
    """How near a table is to the people of the data, and to others."""
    classes, n = result.release.target.classes, len(result.value)
    for what, table in (("truth", truth), ("control", control)):
        if table is not None and (len(table) != n if what == "truth" else len(table) < n):
            expected = f"{'' if what == 'truth' else 'at least '}{n:,} people"
            raise invalid(table.source, "rows", what, expected, f"{len(table):,}")
    compared = ~result.is_known
    compared[:-1] &= [a.role == "public" for a in result.release.attributes]
    own = np.column_stack([result.value, result.klass])
    group = np.zeros(n, np.int64)
    if result.known is not None:
        codes = _codes(truth, result.atoms, classes)[:, result.is_known]
        if not np.array_equal(codes, own[:, result.is_known]):
            raise invalid(truth.source, "rows", "truth", "the people of qi, in its order", "others")
        group = np.unique(codes, axis=0, return_inverse=True)[1].ravel()
    tables = [None if t is None else _codes(t, result.atoms, classes)[:, compared] for t in (truth, control)]
    assert tables[0] is not None
    return null_model(own[:, compared], tables[0], tables[1], group, seed)


def reconstruct_last(
    release: Release, others: KnownColumns, how: Rebuilding, prior: str, *, read: float = 0.0
) -> Reconstruction:
    """The row that is not among ``others``, by its posterior; errors are those of `reconstruct`."""
    begin = time.perf_counter()
    if release.noise is None:
        raise invalid("options", ARGUMENT, "others", "a release with noise in its counts (release.noise)", "none")
    if how.noise == "intervals":
        raise invalid("options", ARGUMENT, "noise", "likelihood beside others, as it makes the posterior", how.noise)
    if how.people not in (None, len(others) + 1):
        expected = f"one more than the rows of others: {len(others) + 1:,}"
        raise invalid("options", ARGUMENT, "people", expected, f"{how.people:,}")
    trees, atoms = stated_counts(release), atoms_of(release)
    codes = _codes(others, atoms, release.target.classes)
    beside = (codes[:, :-1], codes[:, -1])
    sums = stated_people(release, atoms, trees, *beside)
    found = last_row(release, atoms, trees, sums, beside if prior == "others" else None, seed=how.seed)
    deep = sum(most_stated(release, tree) for tree in trees)
    told = {
        "epsilon": None if release.noise.mechanism == "gaussian" else deep / release.noise.scale,
        "log_ratio": found.log_ratio,
        "probability": float(found.chance.mean()),
    }
    shared = np.zeros((1, len(found.chance)), bool)
    value, klass = found.value[None], np.array([found.klass])
    counted = len(found.patterns), not found.patterns.complete
    seconds = {"read": read, "rebuild": time.perf_counter() - begin}
    plain = release, atoms, value, klass, shared, "consistent", True, (), 0, *counted, seconds
    return Reconstruction(*plain, notes=unused(release), likely=found.chance[None], others=told)  # type: ignore[arg-type]


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
    """Whether all people of an owner have one value, in all tables: so it holds however rows are given to them."""
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
