"""Equations about single rows. The table lists the people in training order, one row for each person.

Where it is known how often each row was drawn for each tree (`maxent.models.draws`), every leaf's counts are exact:
``sum_i draws[t, i] [i in leaf] [row i has class c] = count``. So are means of a numeric target, and variances, but for
rounding: ``sum_i draws[t, i] [i in leaf] number_i = draws of the leaf * mean``. What else is certain of groups of rows
is joined to them. The unknowns are the classes of the rows, and their numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from maxent.constraints.compiler import compile_program
from maxent.constraints.kinds.bootstrap import MISFIT, UNKNOWN, draws_of
from maxent.constraints.kinds.moments import COMPUTED
from maxent.constraints.kinds.registry import knowledge as choices_of_knowledge
from maxent.constraints.program.cells import CellSums, PeopleRouter, build_cells
from maxent.constraints.program.program import Contradiction, Linear, Program, Regions, printed_moments
from maxent.models.arrays import BoolArray, FloatArray, IntArray, run_ends
from maxent.models.columns import NOTHING
from maxent.models.errors import Check, Origin, invalid, unchecked
from maxent.models.nodes import links_of, moments_of, statements_of
from maxent.models.release import Node, Numbers, Release, Tree
from maxent.models.trees.places import Places, number_places

if TYPE_CHECKING:
    from maxent.models.tables.qi_table import QITable
    from maxent.models.tables.truth_and_facts import Fact

# Misfits that are named.
NAMED = 10
# People by which a stated bound may miss a whole number.
WHOLE = 1e-6
# Of a numeric target's range, in units, where its numbers are no multiples of a larger unit; sums of numbers stay below
# the second, so that they are exact in double precision.
FINE, MOST_SUM = 2**32, 2**48
# Relative error of one operation in double precision.
DOUBLE = 2.0**-53
# The same in single precision, and the largest number that it holds.
SINGLE, LARGEST_SINGLE = 2.0**-24, 3.4e38


@dataclass(frozen=True, slots=True, eq=False)
class RowSums:
    """``low[r] <= sum_i matrix[r, i] X[k, i] <= high[r]``, where k is ``power[r]``, for every r.

    ``X[k, i]`` is the number of row i, above some origin, to the power k + 1, in units: from ``least[k, c]`` to
    ``most[k, c]`` if the row has class c, shapes (2, n_classes). All of these are whole numbers, or infinite. Where
    each class is one number (``whole``), X is whole, too. ``matrix``, shape (n_sums, n_rows): draws. ``place``, shape
    (n_sums, 3): Release, tree and place of each. ``middle``, ``far``, shape (n_sums,): of a sum of first powers whose
    variance is stated, ``sum_i matrix[r, i] (X[0, i] - middle[r])**2 <= far[r]``; else ``far`` is infinite.
    """

    matrix: sparse.csr_matrix
    power: IntArray
    low: FloatArray
    high: FloatArray
    least: FloatArray
    most: FloatArray
    place: IntArray
    whole: bool
    middle: FloatArray
    far: FloatArray

    def __len__(self) -> int:
        return len(self.power)


@dataclass(frozen=True, slots=True, eq=False)
class WeighedRows:
    """``low <= sum_i weights[i, class of rows[i]] <= high``, but for rounding ``off``; weights are any numbers."""

    rows: IntArray
    weights: FloatArray
    low: float
    high: float
    off: float
    origin: Origin
    says: str


@dataclass(frozen=True, slots=True, eq=False)
class RowSystem:
    """``low[r, c] <= sum_i matrix[r, i] [row i has class c] <= high[r, c]``, whole numbers, for every r and class c.

    ``matrix``, shape (n_statements, n_rows): Coefficients, at least 0. ``low``, ``high``, shape (n_statements,
    n_classes). ``table``: the rows, each one person. ``place``, shape (n_equations, 3): Release, tree and place of each
    equation of draws; these are the first statements, and exact. ``origins``: where the other statements are from.
    ``contradictions``: leaves whose records or draws are not those of the rows that reach them. ``sums``: of the
    numbers of a numeric target; as statements they come after all others. ``weighed``: what releases without draws
    state of rows and classes that weigh any numbers, such as means and scores.
    """

    matrix: sparse.csr_matrix
    low: IntArray
    high: IntArray
    table: QITable
    releases: tuple[Release, ...]
    place: IntArray
    origins: tuple[Origin, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    sums: RowSums | None = None
    weighed: tuple[WeighedRows, ...] = ()

    @property
    def equations(self) -> int:
        """Equations of draws, each about every class, or about the mean of the classes' numbers."""
        return len(self.place) + (0 if self.sums is None else int((self.sums.power == 0).sum()))

    @property
    def n_rows(self) -> int:
        return len(self.table)

    @property
    def n_classes(self) -> int:
        return int(self.low.shape[1])

    def origin(self, statement: int) -> Origin:
        """Where a statement is from."""
        after, own = statement - self.matrix.shape[0], self.place
        if self.sums is not None and after >= 0:
            statement, own = after, self.sums.place
        if statement >= len(own):
            return self.origins[statement - len(own)]
        release, tree, place = own[statement].tolist()
        return _origin(self.releases, release, tree, place)

    def misfit(self, statement: int) -> Contradiction:
        """The contradiction of a statement that no classes of the rows satisfy."""
        of_draws = statement < len(self.place) or statement >= self.matrix.shape[0]
        says = f"{MISFIT}: no classes of its rows do" if of_draws else "no classes of its rows do"
        return Contradiction(self.origin(statement), says, 1.0)


def row_system(
    releases: Sequence[Release],
    table: QITable,
    *,
    knowledge: Iterable[str] | None = None,
    marginal: FloatArray | None = None,
    facts: tuple[Fact, ...] = (),
    check: Check = unchecked,
) -> RowSystem:
    """The equations of releases about the rows of a table, which are the people in training order, each one person."""
    known = frozenset(choices_of_knowledge() if knowledge is None else knowledge)
    n_classes = len(releases[0].target.classes)
    blocks: list[_Block] = []
    sums: list[_Sum] = []
    misfits: list[Contradiction] = []
    drawn = max((release.draws.drawn for release in releases if release.draws is not None), default=0)
    scale = scale_of(releases[0].target.numbers, max(drawn, len(table)))
    for r, release in enumerate(releases):
        if release.draws is not None and known & {"counts", "rate"}:
            found, numbers, wrong = _of_draws(releases, r, table, known, scale, check)
            blocks += found
            sums += numbers
            misfits += wrong
    place = np.concatenate([np.empty((0, 3), np.int64), *(block.place for block in blocks)])
    origins: list[Origin] = []
    weighed: list[WeighedRows] = []
    for block in _of_others(releases, table, known, marginal, facts, n_classes, check):
        if isinstance(block, WeighedRows):
            weighed.append(block)
            continue
        blocks.append(block)
        origins += block.origins
    nothing = sparse.csr_matrix((0, len(table)), dtype=np.int64)
    none = np.empty((0, n_classes), np.int64)
    matrix = sparse.csr_matrix(sparse.vstack([nothing, *(block.matrix for block in blocks)], format="csr"))
    low = np.concatenate([none, *(block.low for block in blocks)])
    high = np.concatenate([none, *(block.high for block in blocks)])
    return RowSystem(
        matrix.astype(np.int64),
        low,
        high,
        table,
        tuple(releases),
        place.astype(np.int64),
        tuple(origins),
        tuple(misfits[:NAMED]),
        _joined(sums, scale) if scale is not None and sums else None,
        tuple(weighed),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Some statements, as `RowSystem` has them."""

    matrix: sparse.csr_matrix
    low: IntArray
    high: IntArray
    place: IntArray
    origins: tuple[Origin, ...] = ()


def _origin(releases: Sequence[Release], release: int, tree: int, place: int) -> Origin:
    first = sum(len(each.trees) for each in releases[:release])
    node = releases[release].trees[tree].nodes[place]
    many = sum(len(each.trees) for each in releases) > 1
    return Origin("leaf" if node.is_leaf else "node", node.id, first + tree if many else None)


def _of_draws(
    releases: Sequence[Release], r: int, table: QITable, known: frozenset[str], scale: Scale | None, check: Check
) -> tuple[list[_Block], list[_Sum], list[Contradiction]]:
    """The equations of a release of which it is known who was drawn, and leaves that are not of this table."""
    release = releases[r]
    told, classes = release.draws, release.target.classes
    assert told is not None
    if told.n != len(table):
        expected = f"{told.n:,} rows in training order, from which each tree's people were drawn"
        raise invalid(table.source, "rows", "individuals", expected, f"{len(table):,}")
    if told.trees != len(release.trees):
        raise invalid("release", "draws", "trees", f"draws of {len(release.trees):,} trees", f"{told.trees:,}")
    drawn, router = told.matrix(), PeopleRouter(release, table, check)
    blocks: list[_Block] = []
    sums: list[_Sum] = []
    misfits: list[Contradiction] = []
    numeric = scale is not None and not release.blurred and "rate" in known
    printed = _printed(release) if numeric else (0.0, 0.0)
    for t, tree in enumerate(release.trees):
        check(f"equations of {t} of {told.trees} trees were made")
        places = number_places(tree)
        place = reached(router, tree, places)
        counts, distinct = draws_of(tree, places, classes)
        if "counts" not in known:
            counts[:] = UNKNOWN
        totals = np.where(counts[:, 0] == UNKNOWN, UNKNOWN, counts.sum(axis=1))
        stated = totals != UNKNOWN
        if numeric and scale is not None:
            ended = np.bincount(place[place >= 0], drawn[t, place >= 0], len(places)).astype(np.float64)
            sizes = statements_of(tree.nodes, classes).n
            moments = _moments(tree, places, sizes, ended, scale, printed, told.drawn)
            totals = np.where(stated | np.isnan(moments[:, 0]), totals, moments[:, 0]).astype(np.int64)
            stated |= ~np.isnan(moments[:, 1])
        rows = np.flatnonzero((drawn[t] > 0) & (place >= 0))
        rows = rows[stated[place[rows]]]
        if not len(rows):
            continue
        held_at = np.bincount(place[rows], minlength=len(places)) > 0
        here, number = np.flatnonzero(held_at), (np.cumsum(held_at) - 1)[place[rows]]
        many = drawn[t, rows]
        matrix = sparse.csr_matrix((many, (number, rows)), shape=(len(here), len(table)), dtype=np.int64)
        if not release.blurred:
            many_here, records = np.bincount(number, many), np.bincount(number)
            said_here, others = totals[here], distinct[here]
            for says, found, said, of in (
                ("draws", many_here.astype(np.int64), said_here, (said_here != UNKNOWN) & (said_here != many_here)),
                ("records", records, others, (others != UNKNOWN) & (others != records)),
            ):
                for i in np.flatnonzero(of)[:NAMED].tolist():
                    words = f"{MISFIT}: {says} of its rows {found[i]:,}, stated {said[i]:,}"
                    origin = _origin(releases, r, t, int(here[i]))
                    misfits.append(Contradiction(origin, words, float(abs(found[i] - said[i]))))
            ended_at = np.unique(place)
            held = totals[np.unique(place[drawn[t] > 0])]  # also where no equation follows
            left = told.drawn - int(held.sum())
            if left and (ended_at >= 0).all() and (totals[ended_at] != UNKNOWN).all() and not len(misfits):
                words = f"{MISFIT}: of {told.drawn:,} draws {told.drawn - left:,} are in leaves that rows reach"
                misfits.append(Contradiction(_origin(releases, r, t, 0), words, float(abs(left))))
        where = np.column_stack([np.full(len(here), r), np.full(len(here), t), here])
        of_classes = counts[here, 0] != UNKNOWN
        if of_classes.any():
            low, high = release.behind(counts[here[of_classes]])
            blocks.append(_Block(matrix[of_classes], low.astype(np.int64), high.astype(np.int64), where[of_classes]))
        if numeric:
            sums += _sums(matrix, moments[here], where)
    return blocks, sums, misfits


# Sums of numbers: the means and variances of leaves, times their draws.


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """Whole numbers for a numeric target: ``(number - origin) ** (k + 1) / unit[k]``, for k of 0 and 1.

    ``least``, ``most``, shape (2, n_classes): the ends of each class, rounded; infinite where there is none. ``off``,
    shape (2,): by how much rounding moved an end, at most. ``whole``: whether each class is one number. ``size``: the
    largest finite number without its sign. ``ends``: the least and the largest number that a class stands for.
    """

    origin: float
    unit: tuple[float, float]
    least: FloatArray
    most: FloatArray
    off: tuple[float, float]
    whole: bool
    size: float
    ends: tuple[float, float]


def scale_of(numbers: Sequence[Numbers] | None, drawn: int) -> Scale | None:
    """Whole numbers for the classes of a target, in units in which ``drawn`` of them have a sum that is exact.

    None for a target that is not numeric, or has no finite number; single numbers are multiples of one unit.
    """
    if numbers is None:
        return None
    exact = [[Fraction(repr(float(end))) if np.isfinite(end) else None for end in pair] for pair in numbers]
    finite = [end for pair in exact for end in pair if end is not None]
    origin = min(finite, default=None)
    if origin is None:
        return None
    low, high = np.array(numbers, np.float64).T
    whole = bool((low == high).all())
    span = max(finite) - origin or max(abs(origin), Fraction(1))
    fine = max(1, min(FINE, MOST_SUM // drawn))
    common = math.lcm(*(end.denominator for end in finite))
    grain = Fraction(math.gcd(*(int((end - origin) * common) for end in finite)), common)
    units, ends, off = [], [], []
    for power in (1, 2):
        unit = grain**power if whole and (span / grain) ** power <= fine else span**power / fine
        pairs = [_powers(low, high, origin, power) for low, high in exact]
        rounded = [[None if end is None else round(end / unit) for end in pair] for pair in pairs]
        moved = [
            abs(whole - end / unit)
            for pair, other in zip(rounded, pairs, strict=True)
            for whole, end in zip(pair, other, strict=True)
            if whole is not None and end is not None
        ]
        units.append(float(unit))
        ends.append([(-np.inf if a is None else a, np.inf if b is None else b) for a, b in rounded])
        off.append(float(max(moved, default=0)))
    least, most = np.moveaxis(np.array(ends, np.float64), 2, 0)
    size = max(abs(float(end)) for end in finite)
    reach = (float(low.min()), float(high.max()))
    return Scale(float(origin), (units[0], units[1]), least, most, (off[0], off[1]), whole, size, reach)


_End = Fraction | None


def _powers(low: _End, high: _End, origin: Fraction, power: int) -> tuple[_End, _End]:
    """The least and the largest power of a number between two ends, above the origin."""
    if power == 1:
        return (None if low is None else low - origin), (None if high is None else high - origin)
    squares = [None if end is None else (end - origin) ** 2 for end in (low, high)]
    around = (low is None or low <= origin) and (high is None or high >= origin)
    most = None if None in squares else max(each for each in squares if each is not None)
    return (Fraction(0) if around else min(each for each in squares if each is not None)), most


def _printed(release: Release) -> tuple[float, float]:
    """Largest distance of means and of variances from their printed forms; 0 where enough digits show no rounding.

    Nodes above leaves show it too, if these add up to the root; single precision may have rounded, and all 0 tells
    nothing.
    """
    added = all(_adds_up(tree, release.target.classes) for tree in release.trees)
    held = [moments_of(tree.nodes) for tree in release.trees]
    shown = [added | (links_of(tree.nodes)[0] == 0) for tree in release.trees]
    means, variances = (
        [each[some] for each, some in zip(kind, shown, strict=True)] for kind in zip(*held, strict=True)
    )
    shapes, found = printed_moments(means, variances), list[float]()
    for shape, columns in zip(shapes, zip(*held, strict=True), strict=True):
        numbers = np.unique(np.concatenate(columns))
        numbers = numbers[~np.isnan(numbers)]
        if not numbers.any() or not shape.any:
            found.append(np.inf)
            continue
        off = 0.0 if shape.whole else max(map(shape.off, numbers.tolist()))
        largest = float(np.abs(numbers).max())
        single = largest <= LARGEST_SINGLE and bool((numbers.astype(np.float32) == numbers).all())
        found.append(max(off, SINGLE * largest if single else 0.0))
    return found[0], found[1]


def _adds_up(tree: Tree, classes: Sequence[str]) -> bool:
    """Whether the leaves of a tree have the mean and the variance that its root states, but for double precision."""
    leaf = links_of(tree.nodes)[0] == 0
    w, (mean, variance) = statements_of(tree.nodes, classes).n, moments_of(tree.nodes)
    if leaf[0]:
        return True
    if (w[leaf] == NOTHING).any() or w[0] != w[leaf].sum():
        return False
    size = max(float(np.abs(mean[leaf]).max()), abs(float(mean[0])))
    added = bool(abs(w[leaf] @ mean[leaf] / w[0] - mean[0]) <= 10 * COMPUTED * size)
    if not added or np.isnan(variance).all():
        return added
    around = w[leaf] @ (variance[leaf] + (mean[leaf] - mean[0]) ** 2) / w[0]
    return bool(abs(around - variance[0]) <= 10 * COMPUTED * variance[0] + len(leaf) * w[0] * DOUBLE * size**2)


def _moments(
    tree: Tree,
    places: Places,
    sizes: IntArray,
    ended: FloatArray,
    scale: Scale,
    printed: tuple[float, float],
    drawn: int,
) -> FloatArray:
    """Draws of each place, sums of the numbers of its draws and of their squares, each with its width, in units.

    After these its mean, and what squares of distances from it add up to at most; shape (n_places, 7), NaN where they
    are not stated. ``sizes``, shape (n_nodes,): stated draws. ``ended``, shape (n_places,): draws of the rows that end
    at each place, which stand in for those that are not stated. ``printed``: see `_printed`. ``drawn``: draws of the
    tree. What a node does not state follows from all that are below it.

    A mean was computed as a sum of ``w`` numbers in double precision: off by ``w 2**-53`` of the largest at most
    (Higham 2002, section 4.2), and 1e-10 of it is taken to be possible in any case (`COMPUTED`). The variance of a
    child is that of sums from which others were taken away, in as many steps as the tree has draws at most: each sum is
    off by ``2 (drawn + 4) drawn 2**-53`` of the largest number at most, one of squares by as much of its square.
    """
    n = len(tree.nodes)
    found = np.full((len(places), 7), np.nan)
    mean, variance = moments_of(tree.nodes)
    w = np.where(sizes == NOTHING, ended[:n], sizes).astype(np.float64)
    told = ~np.isnan(mean) & ((sizes != NOTHING) | (w > 0))
    found[:n, 0] = np.where(told, w, np.nan)
    size = np.maximum(scale.size, np.abs(mean))
    if np.isinf(scale.ends).any():  # numbers beyond the ends, as far as what is stated lets them be
        spread = np.where(np.isnan(variance), np.inf, np.abs(mean) + np.sqrt(w * (variance + printed[1])))
        for end in scale.ends:
            spread = np.minimum(spread, abs(end) + w * np.abs(mean - end) if np.isfinite(end) else np.inf)
        size = np.maximum(size, 1.001 * spread)
    first = COMPUTED * np.maximum(size, 1.0) + (w + 4) * DOUBLE * size + printed[0]
    second = COMPUTED * np.maximum(size, 1.0) ** 2 + 10 * (drawn + 4.0) ** 2 / np.maximum(w, 1) * DOUBLE * size**2
    second += printed[1]
    above, unit = mean - scale.origin, scale.unit[0]
    astray = np.sqrt(w) * (first / unit + scale.off[0] + 64 * DOUBLE * (size + abs(scale.origin)) / unit)
    found[:n, 5] = above / unit
    found[:n, 6] = (np.sqrt(w * (variance + second)) / unit + astray) ** 2 * (1 + 1e-12)
    second += (2 * np.abs(above) + first) * first
    for k, (value, wide) in enumerate(((above, first), (variance + above**2, second))):
        unit = scale.unit[k]
        total = w * value / unit
        # What is computed here is off by some operations, too.
        lost = (64 + len(places)) * DOUBLE * w * (size + abs(scale.origin)) ** (k + 1) / unit
        width = w * (wide / unit + scale.off[k]) + lost
        found[:n, 1 + 2 * k] = np.where(told & (np.abs(total) + width < 4.0 * MOST_SUM), total, np.nan)
        found[:n, 2 + 2 * k] = width
    for level, below in reversed(list(pairwise(places.levels))):
        inner = level[places.n_branches[level] > 0]
        begin = run_ends(places.n_branches[inner])[:-1]
        follow = np.isnan(found[inner, 1]) & ~np.logical_or.reduceat(np.isnan(found[below, 1]), begin)
        found[inner[follow], :5] = np.add.reduceat(found[below, :5], begin)[follow]
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Sum:
    """Sums of one power, as `RowSums` has them; ``total`` and ``width`` before they are rounded."""

    matrix: sparse.csr_matrix
    power: int
    total: FloatArray
    width: FloatArray
    place: IntArray
    middle: FloatArray
    far: FloatArray


def _sums(matrix: sparse.csr_matrix, moments: FloatArray, place: IntArray) -> Iterator[_Sum]:
    for power in (0, 1):
        total, width = moments[:, 1 + 2 * power], moments[:, 2 + 2 * power]
        of = ~np.isnan(total)
        if of.any():
            far = np.where(np.isnan(moments[of, 6]) | (power > 0), np.inf, moments[of, 6])
            yield _Sum(matrix[of], power, total[of], width[of], place[of], np.nan_to_num(moments[of, 5]), far)


def _joined(sums: Sequence[_Sum], scale: Scale) -> RowSums:
    """All sums together, with their ends rounded: inward where X is whole, else outward."""
    names = ("total", "width", "middle", "far")
    total, width, middle, far = (np.concatenate([getattr(each, name) for each in sums]) for name in names)
    inward, outward = (np.ceil, np.floor) if scale.whole else (np.floor, np.ceil)
    return RowSums(
        sparse.csr_matrix(sparse.vstack([each.matrix for each in sums], format="csr")).astype(np.int64),
        np.repeat([each.power for each in sums], [len(each.total) for each in sums]),
        inward(total - width),
        outward(total + width),
        scale.least,
        scale.most,
        np.concatenate([each.place for each in sums]),
        scale.whole,
        middle,
        far,
    )


# The way of all rows through a tree at the same time.


def reached(router: PeopleRouter, tree: Tree, places: Places) -> IntArray:
    """The place of a tree where each row ends, or first meets a private attribute; -1 for a leaf that was removed."""
    place, table = router.ends(tree, places), router.table
    for row in np.flatnonzero(places.n_branches[place]).tolist():
        name = tree.nodes[int(place[row])].attribute or ""
        if name in router.column:
            expected = "a value that some branch of every node it reaches takes"
            raise invalid(table.source, f"{table.unit} {table.lines[row]}", name, expected, "one that reaches no leaf")
    return np.where(place < len(tree.nodes), place, NOTHING)


# Everything else that is certain of groups of rows.


def _of_others(
    releases: Sequence[Release],
    table: QITable,
    known: frozenset[str],
    marginal: FloatArray | None,
    facts: tuple[Fact, ...],
    n_classes: int,
    check: Check,
) -> Iterator[_Block | WeighedRows]:
    """Statements of releases without draws, numbers of each class in all rows, and facts."""
    everybody, most = sparse.csr_matrix(np.ones((1, len(table)), np.int64)), len(table)
    nowhere = np.empty((0, 3), np.int64)
    if marginal is not None and "marginal" in known and np.abs(marginal - np.rint(marginal)).max() < WHOLE:
        exact = np.rint(marginal).astype(np.int64)[None, :]
        yield _Block(everybody, exact, exact, nowhere, (Origin("frequencies of classes"),))
    for fact in facts:
        row = sparse.csr_matrix(
            (np.ones(len(fact.rows), np.int64), (np.zeros(len(fact.rows), np.int64), fact.rows)), shape=(1, most)
        )
        low, high = np.zeros((1, n_classes), np.int64), np.full((1, n_classes), len(fact.rows))
        low[0, fact.class_index] = sum(
            each.count
            for each in facts
            if each.class_index == fact.class_index and np.array_equal(each.rows, fact.rows)
        )
        yield _Block(row, low, high, nowhere, (Origin(f"{fact.source}, line {fact.line}"),))
    for release in releases:
        if release.draws is not None or release.sampling_rate < 1 or not known - {"internal", "marginal"}:
            continue
        drawn = release.resampled is not None
        if drawn and release.target.numbers is not None:
            continue
        program = compile_program(
            release,
            table,
            knowledge=known - {"internal", "marginal"},
            noise="likelihood" if drawn else "intervals",
            check=check,
        )
        for said in program.linear:
            yield from filter(None, (_stated(program, said, n_classes),))
            yield from _weighed(program, said)


def _stated(program: Program, said: Linear, n_classes: int) -> _Block | None:
    """A statement about single classes of a group of rows; None where it says nothing of the kind."""
    if said.weights is not None:
        return None
    cells = program.regions[said.region]
    rows = np.unique(program.cells.owner[cells])
    if len(rows) < len(cells) or not program.single:
        held = np.bincount(program.cells.owner, minlength=len(program.table))
        if (np.bincount(program.cells.owner[cells], minlength=len(program.table))[rows] < held[rows]).any():
            return None  # private attributes decide who is here
    people = len(rows)
    low, high = np.zeros(n_classes), np.full(n_classes, float(people))
    for coef, lower, upper in zip(said.coef, said.lower, said.upper, strict=True):
        if n_classes == 2:  # the other class is the rest
            factor, rest = float(coef[0] - coef[1]), float(coef[1]) * people
            of, lower, upper = (0, lower - rest, upper - rest) if factor else (0, lower, upper)
        elif np.count_nonzero(coef) == 1:
            of = int(np.flatnonzero(coef)[0])
            factor = float(coef[of])
        else:
            continue
        if not factor:
            continue
        ends = sorted((lower / factor, upper / factor))
        low[of], high[of] = max(low[of], ends[0]), min(high[of], ends[1])
    least, most = np.ceil(low - WHOLE).astype(np.int64), np.floor(high + WHOLE).astype(np.int64)
    if (least <= 0).all() and (most >= people).all():
        return None
    matrix = sparse.csr_matrix(
        (np.ones(people, np.int64), (np.zeros(people, np.int64), rows)), shape=(1, len(program.table))
    )
    return _Block(matrix, least[None, :], most[None, :], np.empty((0, 3), np.int64), (said.origin,))


def _weighed(program: Program, said: Linear) -> Iterator[WeighedRows]:
    """A statement in which rows weigh any numbers; none where these are not rows, or classes weigh 0 or 1."""
    cells = program.regions[said.region]
    rows = program.cells.owner[cells]
    if not program.single or len(np.unique(rows)) < len(rows):
        return
    for coef, low, high in zip(said.coef, said.lower, said.upper, strict=True):
        weights = np.broadcast_to(coef if said.weights is None else coef * said.weights, (len(rows), len(coef)))
        if said.weights is None and np.count_nonzero(coef) == 1:
            continue  # a number of people of a class
        off = ROUNDED * float(np.abs(weights).max(axis=1).sum())
        yield WeighedRows(rows, weights, float(low), float(high), off, said.origin, said.says)


# Share of its size by which a weighed sum may miss a side and still reach it: it was computed.
ROUNDED = 1e-9


# Programs of rows: the same statements for everything that works on programs.


def row_program(
    system: RowSystem,
    low: IntArray,
    high: IntArray,
    base: Program | None = None,
    numbers: tuple[FloatArray, FloatArray] | None = None,
) -> Program:
    """A program of rows, each a quasi-identifier, with what is known of each, added to ``base`` or of a single leaf."""
    table, n_classes = system.table, system.n_classes
    if base is None:
        release = Release(system.releases[0].target, table.attributes, (Tree((Node("all rows"),)),))
        cells = build_cells(release, table)
        sums = CellSums(cells, table.codes, tuple(map(len, table.levels)))
        regions = Regions(np.zeros(1, np.int64), np.empty(0, np.int64), ())
        base = Program(release, table, cells, sums, regions, (), (), contradictions=system.contradictions)
    order = np.argsort(base.cells.owner, kind="stable")
    first = np.searchsorted(base.cells.owner[order], np.arange(len(table) + 1))
    parts: list[IntArray] = []
    linear: list[Linear] = []
    each = np.eye(n_classes)

    def cells_of(rows: IntArray) -> tuple[IntArray, IntArray]:
        """The cells of some rows, and of each which of the rows it is of."""
        sizes = first[rows + 1] - first[rows]
        which = np.repeat(np.arange(len(rows)), sizes)
        return order[first[rows][which] + np.arange(len(which)) - np.repeat(np.cumsum(sizes) - sizes, sizes)], which

    def state(origin: Origin, says: str, rows: IntArray, coef: IntArray, least: IntArray, most: IntArray) -> None:
        cells, which = cells_of(rows)
        weights = None if (coef == 1).all() else np.repeat(coef[which, None], n_classes, axis=1).astype(np.float64)
        told = np.asarray(least > 0) | (most < coef.sum())
        told = least > 0 if (told & (least >= coef.sum())).any() else told  # all have this class, and no other
        if told.any():
            region = len(base.regions) + len(parts)
            parts.append(cells)
            sides = least[told].astype(np.float64), most[told].astype(np.float64)
            linear.append(Linear("resampled", origin, region, each[told], *sides, says, weights))

    sure = low.any(axis=1) | ((high > 0).sum(axis=1) == 1)
    found = np.where(sure, high.argmax(axis=1), -1)
    for x in range(n_classes):
        rows = np.flatnonzero(found == x)
        if len(rows):
            exact = np.where(np.arange(n_classes) == x, len(rows), 0)
            state(Origin("rows that are proved"), "proved", rows, np.ones(len(rows), np.int64), exact, exact)
        banned = np.flatnonzero(~sure & (high[:, x] == 0))
        if len(banned):
            most = np.where(np.arange(n_classes) == x, 0, len(banned))
            state(Origin("rows that are proved"), "excluded", banned, np.ones(len(banned), np.int64), 0 * most, most)
    fixed = system.matrix @ (low.astype(np.int64))
    matrix = system.matrix
    for r in range(matrix.shape[0]):
        at = slice(matrix.indptr[r], matrix.indptr[r + 1])
        rows, coef = matrix.indices[at].astype(np.int64), matrix.data[at]
        free = ~sure[rows]
        if free.any():
            least = np.maximum(system.low[r] - fixed[r], 0)
            most = np.minimum(system.high[r] - fixed[r], coef[free].sum())
            state(system.origin(r), "draws of rows", rows[free], coef[free], least, most)
    for origin, rows, coef, of_class, side in _number_statements(system, high, sure, numbers):
        of_rows, which = cells_of(rows)
        weights = None if (coef == 1).all() else np.repeat(coef[which, None], n_classes, axis=1).astype(np.float64)
        region = len(base.regions) + len(parts)
        parts.append(of_rows)
        linear.append(Linear("drawn", origin, region, of_class[None, :], *side, "draws of rows", weights))
    lengths = [len(part) for part in parts]
    regions = Regions(
        np.concatenate([base.regions.indptr, base.regions.indptr[-1] + np.cumsum(lengths, dtype=np.int64)]),
        np.concatenate([base.regions.indices, *parts]) if parts else base.regions.indices,
        (*base.regions.places, *([None] * len(parts))),
    )
    return replace(base, regions=regions, linear=(*base.linear, *linear))


_Side = tuple["FloatArray", "FloatArray"]


def _number_statements(
    system: RowSystem, high: IntArray, sure: BoolArray, numbers: tuple[FloatArray, FloatArray] | None
) -> Iterator[tuple[Origin, IntArray, IntArray, FloatArray, _Side]]:
    """What sums of numbers state of the classes of rows that are not ``sure``: one sum, or, of ranges, two."""
    sums = system.sums
    if sums is None:
        return
    least, most = numbers_of(sums, high > 0)
    if numbers is not None:
        least, most = np.maximum(least, numbers[0]), np.minimum(most, numbers[1])
    matrix, never = sums.matrix, np.array([np.inf])
    finite = [np.where(np.isfinite(ends), np.abs(ends), 0.0).max(axis=1) for ends in (sums.least, sums.most)]
    size = np.maximum(*finite)  # of each power: sums are stated in it, as solvers take numbers of people
    for r, power in enumerate(sums.power.tolist()):
        at = slice(matrix.indptr[r], matrix.indptr[r + 1])
        rows, coef = matrix.indices[at].astype(np.int64), matrix.data[at]
        free = ~sure[rows]
        if not free.any():
            continue
        known, weight = rows[~free], coef[~free]
        below = (sums.high[r] - weight @ least[power, known]) / size[power]
        above = (sums.low[r] - weight @ most[power, known]) / size[power]
        about = system.origin(system.matrix.shape[0] + r), rows[free], coef[free]
        if sums.whole:
            yield (*about, sums.least[power] / size[power], (np.array([above]), np.array([below])))
            continue
        # What no row is free to have may be infinite, and counts for nothing.
        there = (high[rows[free]] > 0).any(axis=0)
        for ends, side in (
            (sums.least[power], (-never, np.array([below]))),
            (sums.most[power], (np.array([above]), never)),
        ):
            ends = np.where(there, ends, 0.0) / size[power]
            if np.isfinite(ends).all() and np.isfinite(np.concatenate(side)).any():
                yield (*about, ends, side)


def numbers_of(sums: RowSums, allowed: BoolArray) -> tuple[FloatArray, FloatArray]:
    """The least and the greatest X of rows that may have some classes, shapes (2, n_rows)."""
    least, most = np.full((2, len(allowed)), np.inf), np.full((2, len(allowed)), -np.inf)
    for x, may in enumerate(allowed.T):
        np.minimum(least, np.where(may, sums.least[:, x, None], np.inf), out=least)
        np.maximum(most, np.where(may, sums.most[:, x, None], -np.inf), out=most)
    return least, most
