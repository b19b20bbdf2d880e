"""Whole tables of which it is known who was drawn for each tree: an unknown pattern for each row, and exact equations.

The draws of a leaf and class are the sum of the known numbers of draws of the rows that are there. Patterns that no
table has are left out first: a row that was drawn m times is in no leaf with fewer draws of its class; nor where the
rows that must be there leave no room, nor elsewhere if the others cannot make up what its leaf states. Then each row
is moved in turn, to a pattern with which few draws are missed and that is likely beside the others, while moves to
worse tables become rare (simulated annealing). The likelier patterns are then put together by CP-SAT, and where these
are all that are left, what all tables share is proved.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from maxent.constraints.patterns import MOST, Atoms, Bits, Patterns, System, TreeCounts, patterns_of
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.packages import need
from maxent.solvers.control import Clock
from maxent.solvers.worlds.plausible import learner
from maxent.solvers.worlds.tables import (
    FOR_PATTERNS,
    WHOLE,
    Found,
    Run,
    Status,
    TablePart,
    codes_of,
    described,
    elsewhere,
)

# Rounds in which rows are moved, after how many of them it is learned how values go together, and what is kept of what
# was seen in each.
ROUNDS, LEARNED, FADES = 400, 10, 0.95
# Draws that are missed for a nat, at the beginning and at the end.
HEATS = (3.0, 0.15)
# Patterns of all rows together that CP-SAT is given, and from how few of a row on it may be more.
PATTERNS, FEW = 30_000, 8
# Shares of the time until patterns are left out no longer, and until distributions are there.
FOR_FEWER, FOR_BELIEFS = 0.5, 0.6


@dataclass(frozen=True, slots=True, eq=False)
class SeededTable:
    """A table row by row.

    ``patterns`` have the ``pattern`` of each row, shape (n_rows,); ``value``, shape (n_rows, n_attributes), its atoms.
    ``proved``, shape (n_rows, n_attributes + 1), cells that all tables share, the class last. ``likely``, shape
    (n_rows, n_patterns), the distribution of each row, sparse.
    """

    patterns: Patterns
    pattern: IntArray
    value: IntArray
    proved: BoolArray
    status: Status
    settled: bool
    likely: sparse.csr_matrix


@dataclass(frozen=True, slots=True, eq=False)
class _RowSums:
    """Stated sums of draws: ``row[p, t]`` is the sum of tree t that pattern p counts for, the last of none."""

    row: IntArray
    drawn: IntArray
    times: IntArray


def rebuild_seeded(
    atoms: Atoms,
    trees: tuple[TreeCounts, ...],
    times: IntArray,
    start: Bits,
    owner: IntArray,
    *,
    seed: int,
    clock: Clock,
    most: int = MOST,
    run: Run = elsewhere,
) -> SeededTable:
    """A table of rows of which it is known how often each was drawn for each tree, shape (n_trees, n_rows).

    ``trees`` state exactly the draws of places and classes, or nothing; the rest is as for
    `maxent.solvers.worlds.tables.rebuild`.
    """
    need("ortools", "whole tables need OR-Tools")
    rng, left = np.random.default_rng(seed), clock.left()
    begin, seconds = time.monotonic(), WHOLE if left is None else left

    def late(share: float) -> bool:
        return time.monotonic() >= begin + share * seconds or clock.stop() is not None

    open_ = tuple(tree.unlimited for tree in trees)
    patterns = patterns_of(atoms, open_, start, rng, most=most, late=lambda: late(FOR_PATTERNS))
    sums = _sums(patterns, trees, times)
    possible = _possible(patterns, sums, owner, lambda: late(FOR_FEWER))
    learn = learner(atoms, patterns, trees[0].low.shape[1])
    contradicted = any(not len(mine) for mine in possible)
    if contradicted:
        possible = [
            mine if len(mine) else np.flatnonzero(patterns.owner == owner[i]) for i, mine in enumerate(possible)
        ]
    now = time.monotonic()
    span = max(FOR_BELIEFS * seconds - (now - begin), 0.01)

    def spent() -> float:
        return 2.0 if clock.stop() is not None else (time.monotonic() - now) / span

    beliefs, best = _believed(sums, possible, learn, len(patterns), rng, spent)
    pattern = np.array([mine[b] for mine, b in zip(possible, best, strict=True)], np.int64)
    likely = _matrix(possible, beliefs, len(patterns))
    chosen, whole = _likelier(possible, beliefs)
    part, of_part = _part(atoms, patterns, sums, chosen, pattern)
    found = Found(None, part.base)
    if not contradicted and len(part.patterns) == len(owner):  # one pattern of each row is left
        reached = part.system.matrix @ part.hint
        holds = bool(((part.system.low <= reached) & (reached <= part.system.high)).all())
        found = Found(part.hint if holds else None, part.base, holds, holds, holds)
    elif not contradicted:

        def hear(message: tuple[int, Found]) -> None:
            nonlocal found
            found = message[1]

        run([part], seed, begin + seconds, clock, hear)
    agreed = found.people is not None
    if found.people is not None:
        row, at = of_part
        pattern[row[found.people > 0]] = at[found.people > 0]
    value = learn.values(np.asarray(likely.sum(axis=0)).ravel() + 1e-9, len(atoms.of))[pattern]
    exact = patterns.complete and not contradicted
    impossible = patterns.complete and (contradicted or (whole and not found.possible))
    proved = np.zeros((len(owner), len(atoms.of) + 1), bool)
    if exact and agreed:
        codes = codes_of(atoms, patterns)
        for i, mine in enumerate(possible):
            of = codes[:-1][:, mine]
            proved[i] = (of[:, :1] == of).all(axis=1) & (of[:, 0] >= 0)
        if whole and found.settled:
            row, at = of_part
            shared = described(found.group, part.codes)[:-1]
            held = found.people > 0  # type: ignore[operator]
            proved[row[held]] = shared[:, held].T
    settled = exact and agreed and (found.settled and whole)
    status: Status = "inconsistent" if impossible else "consistent" if agreed else "partial"
    return SeededTable(patterns, pattern, value, proved, status, bool(settled), likely)


def _sums(patterns: Patterns, trees: tuple[TreeCounts, ...], times: IntArray) -> _RowSums:
    """The sums that are stated, of the lowest place of each pattern that states one."""
    row = np.empty(patterns.leaf.shape, np.int64)
    drawn, begin = [], 0
    for t, tree in enumerate(trees):
        told = tree.low == tree.high
        number = np.full(told.shape, -1)
        number[told] = begin + np.arange(int(told.sum()))
        drawn.append(tree.low[told])
        begin += int(told.sum())
        at, of = patterns.leaf[:, t].astype(np.int64), np.full(len(patterns), -1)
        while ((at >= 0) & (of < 0)).any():
            of = np.where((of < 0) & (at >= 0), number[at, patterns.klass], of)
            at = np.where(at >= 0, tree.places.parent[at], -1)
        row[:, t] = of
    return _RowSums(np.where(row < 0, begin, row), np.concatenate([*drawn, [0]]).astype(np.int64), times)


def _possible(patterns: Patterns, sums: _RowSums, owner: IntArray, late: Callable[[], bool]) -> list[IntArray]:
    """The patterns of each row that are left when those are gone that no table has."""
    n_rows, n_sums = len(owner), len(sums.drawn)
    by = np.argsort(patterns.owner, kind="stable")
    ends = np.searchsorted(patterns.owner[by], np.arange(int(owner.max()) + 2))
    room = np.append(sums.drawn[:-1], np.iinfo(np.int64).max)[sums.row.T]
    found = []
    for i in range(n_rows):
        mine = by[ends[owner[i]] : ends[owner[i] + 1]]
        for t in np.argsort(-sums.times[:, i], kind="stable").tolist():  # few patterns are left after few trees
            if not sums.times[t, i] or not len(mine):
                break
            mine = mine[room[t, mine] >= sums.times[t, i]]
        found.append(mine)
    changed = True
    while changed and not late() and all(len(mine) for mine in found):
        changed = False
        can, must = np.zeros((n_rows, n_sums), bool), np.zeros((n_rows, n_sums), bool)
        often = np.zeros((n_rows, n_sums), np.int64)
        for i, mine in enumerate(found):
            inside = np.flatnonzero(sums.times[:, i])
            at = sums.row[np.ix_(mine, inside)]
            number = np.bincount(at.ravel(), minlength=n_sums)
            can[i], must[i] = number > 0, number == len(mine)
            for t in inside.tolist():
                often[i, np.unique(sums.row[mine, t])] = sums.times[t, i]
        least, most = (often * must).sum(axis=0), (often * can).sum(axis=0)
        for i, mine in enumerate(found):
            inside = np.flatnonzero(sums.times[:, i])
            over = can[i] & ~must[i] & (least + often[i] > sums.drawn)
            under = can[i] & ~must[i] & (most - often[i] < sums.drawn)
            over[-1] = under[-1] = False
            if not (over.any() or under.any()):
                continue
            at = sums.row[np.ix_(mine, inside)]
            keep = ~over[at].any(axis=1) & (under[at].sum(axis=1) == under.sum())
            if not keep.all():
                found[i], changed = mine[keep], True
    return found


def _believed(
    sums: _RowSums,
    possible: list[IntArray],
    learn: Callable[[FloatArray], FloatArray],
    n_patterns: int,
    rng: np.random.Generator,
    spent: Callable[[], float],
) -> tuple[list[FloatArray], list[int]]:
    """The distribution of each row over its patterns, and the place of the pattern that it has in the nearest table."""
    n_rows = len(possible)
    inside = [np.flatnonzero(sums.times[:, i]) for i in range(n_rows)]
    at = [sums.row[np.ix_(mine, trees)] for mine, trees in zip(possible, inside, strict=True)]
    often = [sums.times[trees, i] for i, trees in enumerate(inside)]
    beliefs = [np.zeros(len(mine)) for mine in possible]
    open_ = np.flatnonzero([len(mine) > 1 for mine in possible])
    place = [int(rng.integers(len(mine))) for mine in possible]
    left = sums.drawn.copy()  # what is stated and not there
    for i in range(n_rows):
        left[at[i][place[i]]] -= often[i]
    left[-1] = 0
    prior, seen = learn(np.zeros(n_patterns)), np.zeros(n_patterns)
    best, fewest = list(place), int(np.abs(left).sum())
    for number in range(ROUNDS):
        far = max(number / (ROUNDS - 1), spent())
        if far > 1 or not fewest or not len(open_):
            break
        heat = HEATS[0] ** (1 - far) * HEATS[1] ** far
        for i in rng.permutation(open_).tolist():
            left[at[i][place[i]]] += often[i]
            left[-1] = 0
            more = np.abs(left) - np.abs(left - _spread(at[i], often[i], len(left)))
            more[-1] = 0
            score = more[at[i]].sum(axis=1) / heat + prior[possible[i]]
            chance = _softmax(score)
            beliefs[i] = FADES * beliefs[i] + chance
            up_to = np.cumsum(chance)
            place[i] = min(int(np.searchsorted(up_to, rng.random() * up_to[-1])), len(up_to) - 1)
            left[at[i][place[i]]] -= often[i]
            left[-1] = 0
        missed = int(np.abs(left).sum())
        if missed < fewest:
            best, fewest = list(place), missed
        seen *= FADES
        for i, mine in enumerate(possible):
            seen[mine[place[i]]] += 1
        if number % LEARNED == 0:
            prior = learn(seen * (n_rows / max(seen.sum(), 1.0)))
    for i, belief in enumerate(beliefs):
        belief /= max(belief.sum(), 1e-300)
        belief[best[i]] += 1.0
        belief /= belief.sum()
    return beliefs, best


def _spread(at: IntArray, often: IntArray, n_sums: int) -> IntArray:
    """How often a row was drawn for the tree of each sum that it can count for, shape (n_sums,)."""
    found = np.zeros(n_sums, np.int64)
    found[at] = often
    return found


def _softmax(score: FloatArray) -> FloatArray:
    found = np.exp(score - score.max())
    return np.asarray(found / found.sum(), np.float64)


def _matrix(possible: list[IntArray], beliefs: list[FloatArray], n_patterns: int) -> sparse.csr_matrix:
    """The distributions of all rows as one matrix."""
    ends = np.concatenate([[0], np.cumsum([len(mine) for mine in possible])])
    data = np.concatenate(beliefs), np.concatenate(possible), ends
    return sparse.csr_matrix(data, shape=(len(possible), n_patterns))


def _likelier(possible: list[IntArray], beliefs: list[FloatArray]) -> tuple[list[IntArray], bool]:
    """The likelier patterns of each row, and whether these are all."""
    sizes = np.array([len(mine) for mine in possible])
    if sizes.sum() <= PATTERNS:
        return possible, True
    each = max(PATTERNS // len(possible), FEW)
    return [
        mine if len(mine) <= each else np.sort(mine[np.argpartition(-b, each)[:each]])
        for mine, b in zip(possible, beliefs, strict=True)
    ], False


def _part(
    atoms: Atoms, patterns: Patterns, sums: _RowSums, chosen: list[IntArray], pattern: IntArray
) -> tuple[TablePart, tuple[IntArray, IntArray]]:
    """The equations over the chosen patterns of each row, and of each unknown the row and the pattern."""
    row = np.repeat(np.arange(len(chosen)), [len(mine) for mine in chosen])
    at, n_rows = np.concatenate(chosen), len(chosen)
    numbers = np.arange(len(row))
    equation, unknown, often = [row], [numbers], [np.ones(len(row), np.int64)]
    for t in range(sums.row.shape[1]):
        times, of = sums.times[t, row], sums.row[at, t]
        used = np.flatnonzero((times > 0) & (of < len(sums.drawn) - 1))
        equation.append(n_rows + of[used])
        unknown.append(used)
        often.append(times[used])
    shape = (n_rows + len(sums.drawn) - 1, len(row))
    entries = np.concatenate(equation), np.concatenate(unknown)
    matrix = sparse.csr_matrix((np.concatenate(often), entries), shape=shape, dtype=np.int64)
    sides = np.concatenate([np.ones(n_rows, np.int64), sums.drawn[:-1]])
    said = np.flatnonzero((np.diff(matrix.indptr) > 0) | (sides > 0))
    system = System(matrix[said], sides[said], sides[said])
    codes = codes_of(
        atoms, replace(patterns, **{k: getattr(patterns, k)[at] for k in ("owner", "klass", "leaf", "box")})
    )
    hint = (pattern[row] == at).astype(np.int64)
    return TablePart(numbers, system, np.zeros(len(row)), hint, row, codes), (row, at)
