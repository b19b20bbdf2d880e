"""Bootstrap counts: bounds on true counts and means, certain or with a confidence, and the likelihood of the draws.

Each tree counts n draws from all N records. Whoever was drawn is there: of d draws of a class, among D in a node of
which u are of different records, ``d - (D - u)`` at least are of different records of the class, and one in any case.

How many records of a class there are, m of the W in a node, is in an interval. Who is in the node is public, so that W
is known, and given D the number of draws of the class is Binomial(D, m / W), exactly, whatever the other nodes have.
Where private attributes decide who is there, W is not known, and the draws are Binomial(n, m / N). The intervals are
those of Clopper and Pearson (1934) for whole m. Where all draws of a tree are of different records, as without
replacement, they are hypergeometric: each is a record of its class, and so many there are at least. The error
probability is divided among all groups that a node could hold, since the tree was grown on these draws, and chose its
nodes by them.

A majority of the draws need not be one of the records, nor was a split the best one for them: labels, rates and
comparisons of splits prove nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise, repeat
from typing import TYPE_CHECKING

import numpy as np

from maxent.constraints.kinds.context import Context, Kind
from maxent.constraints.kinds.moments import COMPUTED
from maxent.constraints.kinds.sampling import ROUNDING
from maxent.constraints.program.cells import TreeCells
from maxent.constraints.program.program import Contradiction, Likelihood, Linear, PrintedNumber, printed_moments
from maxent.models.arrays import BoolArray, FloatArray, IntArray, run_ends
from maxent.models.columns import NOTHING, check_size
from maxent.models.draws import MOST_DRAWS
from maxent.models.errors import Origin
from maxent.models.nodes import Nodes, links_of, statements_of
from maxent.models.release import Attribute, Branch, Release, Tree
from maxent.models.trees.places import EVERYWHERE, Places, interval_of, number_places

if TYPE_CHECKING:
    from maxent.models.tables.qi_table import QITable

# Divides an error probability among all groups of people that a node of a tree could hold.
#
# A tree that is grown on the records that it counts chooses its nodes by what was drawn: among thousands of sets of
# people it prefers the purest draws. An interval is then only worth something if the intervals of *all* sets that a
# node could have held are right together. So every set has a share of the error probability, fixed before anything is
# drawn, and the shares add up to 1 at most (the union bound with weights, or Occam's bound: Blumer, Ehrenfeucht,
# Haussler and Warmuth, "Occam's razor", 1987; Langford, "Tutorial on practical prediction theory for classification",
# 2005).
#
# A set is what a node's path leaves of each attribute. Its share: how many of the p attributes are restricted,
# ``1 / (p + 1)``, which ones, ``1 / binomial(p, c)``, and for each of these how. Of an attribute with L levels in order
# there are ``2 (L - 1)`` one-sided and ``binomial(L - 1, 2)`` two-sided restrictions; of categories also single values
# and all but one, ``2 L``, and any set, ``2^L - 2``. Kinds of restrictions have equal shares, and so have those of a
# kind.

# What is left of an attribute: a set of categories, as bits; or the levels ``low <= level < high`` of a number, and
# whether records without one.
_Left = int | tuple[float, float, bool]


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """An attribute with its levels: those of the table, or, where it is private, what they can be at most."""

    attribute: Attribute
    levels: FloatArray | None  # numbers of the table, increasing; None for categories and what is private
    n_levels: int

    @property
    def all(self) -> _Left:
        if self.attribute.values is not None:
            return (1 << self.n_levels) - 1
        low, high = EVERYWHERE if self.levels is None else (0, self.n_levels)
        return low, high, self.attribute.missing

    def narrowed(self, left: _Left, branch: Branch) -> _Left:
        """The box that a branch leaves."""
        if isinstance(left, int):
            number = {value: i for i, value in enumerate(self.attribute.values or ())}
            return left & sum(1 << number[value] for value in branch.values or ())
        low, high = interval_of(branch)
        if self.levels is not None:
            low, high = np.searchsorted(self.levels, (low, high), side="right").tolist()
        return max(left[0], low), min(left[1], high), left[2] and bool(branch.missing)

    def cost(self, left: _Left) -> float:
        """Minus the logarithm of the share of a restriction among all of this attribute."""
        n = self.n_levels
        if isinstance(left, int):
            if n <= 2:
                return math.log(2)  # one value or the other
            run = left >> ((left & -left).bit_length() - 1)
            ends = (left & 1) + (left >> (n - 1))
            options = [n * math.log(2)]
            if not run & (run + 1):
                options.append(_log_cuts(n, 2 - ends))
            if left.bit_count() in {1, n - 1}:
                options.append(math.log(2 * n))
            return math.log(4) + min(options)
        first, last = EVERYWHERE if self.levels is None else (0, n)
        cuts = (left[0] > first) + (left[1] < last)
        if not self.attribute.missing:
            return _log_cost(n, cuts)
        # With or without those who have no number; all numbers or none, or some of them.
        return math.log(4) + (0.0 if not cuts or not left[0] < left[1] else _log_cost(n, cuts))


def _log_cuts(n_levels: int, cuts: int) -> float:
    """Logarithm of the number of restrictions with one or two cuts of levels in order."""
    return math.log(max(2 * (n_levels - 1) if cuts < 2 else math.comb(n_levels - 1, 2), 1))


def _log_cost(n_levels: int, cuts: int) -> float:
    """The cost of one or two cuts of levels in order."""
    return math.log(2) if n_levels <= 2 else math.log(2) + _log_cuts(n_levels, cuts)


def log_shares(
    release: Release, table: QITable, trees: tuple[TreeCells, ...], only: Sequence[int] | None = None
) -> Iterator[FloatArray]:
    """Logarithms of the shares of all places of each tree, shape (n_places,); of a tree they add up to at most 1.

    ``only``: places whose shares are wanted; others may be missing (minus infinity).
    """
    held = ((each.places, (each.stop > each.start) & _on_the_way(each.places, only)) for each in trees)
    return _log_shares(release, _columns(release, table), held)


def _log_shares(
    release: Release, of: Iterable[_Column], trees: Iterable[tuple[Places, BoolArray]]
) -> Iterator[FloatArray]:
    """The same, of the columns ``of`` a release, and with the places of each tree that somebody can be in."""
    columns = {column.attribute.name: column for column in of}
    p, cost = len(columns), cache(lambda name, left: columns[name].cost(left))
    begin = [-math.log(p + 1) - math.log(math.comb(p, c)) for c in range(p + 1)]
    for tree, (places, inside) in zip(release.trees, trees, strict=True):
        shares, ends = np.full(len(places), -np.inf), run_ends(places.n_branches)
        narrowed = cache(lambda name, left, place, i, t=tree: columns[name].narrowed(left, t.nodes[place].branches[i]))
        stack: list[tuple[int, Mapping[str, _Left]]] = [(0, {})]
        while stack:
            place, path = stack.pop()
            if not inside[place]:
                continue
            shares[place] = begin[len(path)] - sum(cost(name, left) for name, left in path.items())
            below = places.below[ends[place] : ends[place + 1]].tolist()
            name = tree.nodes[place].attribute or "" if below else ""
            for i, child in enumerate(below):
                left = narrowed(name, path.get(name, columns[name].all), place, i)
                stack.append((child, {**path, name: left} if left != columns[name].all else path))
        yield shares


def _on_the_way(places: Places, to: Sequence[int] | None) -> BoolArray:
    """Whether a place is one of some, of all by default, or above one of them, shape (n_places,)."""
    found = np.full(len(places), to is None)
    for place in to or ():
        while place >= 0 and not found[place]:
            found[place] = True
            place = int(places.parent[place])
    return found


def _columns(release: Release, table: QITable) -> Iterator[_Column]:
    column = {attribute.name: j for j, attribute in enumerate(table.attributes)}
    for attribute in release.attributes:
        if attribute.values is not None:
            yield _Column(attribute, None, len(attribute.values))
        elif attribute.name in column:
            levels = np.asarray(table.levels[column[attribute.name]], np.float64)
            levels = levels[~np.isnan(levels)]
            yield _Column(attribute, levels, len(levels))
        else:  # each individual may have another number
            yield _Column(attribute, None, table.individuals)


# Draws of a place that neither states them nor has them follow from the places below.
UNKNOWN = -1


def resampled(context: Context) -> Iterator[Linear]:
    """The mass of each class in a node lies in the interval from its draws; see the module's text."""
    release, n_classes = context.release, context.n_classes
    if release.resampled is None or not any(counted(tree, release) for tree in release.trees):
        return  # of numbers, nodes state means: see below
    check_size("draws of nodes by class", sum(len(tree.nodes) for tree in release.trees), n_classes)
    each = np.eye(n_classes)
    intervals = context.noise == "intervals"
    shares: Iterable[FloatArray | None] = repeat(None)
    if intervals:
        shares = log_shares(release, context.table, context.cells.trees)
    for t, (tree, share) in enumerate(zip(release.trees, shares, strict=False)):
        held = context.cells.trees[t]
        draws, distinct = draws_of(tree, held.places, release.target.classes)
        places = np.flatnonzero((held.stop > held.start) & (draws[:, 0] != UNKNOWN))
        places = places[places < len(tree.nodes)]
        if context.noise == "likelihood":  # what is certain of an inner node follows from those below it
            places = np.intersect1d(places, np.fromiter(finest(held.places, draws[:, 0] != UNKNOWN), np.int64))
        size, drawn, different = context.sizes[t][places], draws[places], distinct[places]
        alone = n_classes == 2 and not np.isnan(size).any()  # the other class is the rest: one interval is both
        low, high = np.zeros_like(drawn), np.broadcast_to(context.individuals, drawn.shape)
        if share is not None:
            side = np.log(context.counting.alpha / (2 * len(release.trees) * (1 if alone else n_classes)))
            of = release.resampled, context.individuals
            low, high = _mass_bounds(
                drawn, size, side + share[places], *of, again=(drawn.sum(axis=1) > different).any()
            )
        whole = np.where(np.isnan(size), context.individuals, size)[:, None]
        least, others = certain(drawn, different)
        implied = least.sum(axis=1, keepdims=True) - least
        low, high = np.maximum(low, least), np.minimum(high, whole - others)
        if context.noise == "likelihood":
            high = np.where(others > implied, high, whole)  # else it follows from the other classes
        told = (low > 0) | (high < whole)
        if alone and intervals:
            told[:, 1] = False
        for i in np.flatnonzero(told.any(axis=1)).tolist():
            place, rows = int(places[i]), np.flatnonzero(told[i])
            lower, upper = low[i, rows].astype(np.float64), high[i, rows].astype(np.float64)
            says = "drawn " + ", ".join(
                f"{release.target.classes[x]} {drawn[i, x]} of {drawn[i].sum()}: {low[i, x]:.0f} to {high[i, x]:.0f}"
                for x in rows.tolist()
            )
            coef = each if len(rows) == n_classes else each[rows]
            origin = context.origin(t, tree.nodes[place])
            yield Linear("resampled", origin, context.region(t, place), coef, lower, upper, says)


def counted(tree: Tree, release: Release) -> bool:
    """Whether some node of a tree states counts."""
    return bool(statements_of(tree.nodes, release.target.classes).counted.any())


def draws_of(tree: Tree, places: Places, classes: tuple[str, ...]) -> tuple[IntArray, IntArray]:
    """Draws of each class, shape (n_places, n_classes), and different records among them, (n_places,), else `UNKNOWN`.

    What a node does not state follows from all that are below it.
    """
    stated = statements_of(tree.nodes, classes)
    draws, distinct = np.full((len(places), len(classes)), UNKNOWN), np.full(len(places), UNKNOWN)
    known = np.flatnonzero(stated.counted)
    draws[known] = stated.table(len(classes))[known].astype(np.int64)
    distinct[: len(stated)] = np.where(stated.distinct == NOTHING, UNKNOWN, stated.distinct)
    for level, below in reversed(list(pairwise(places.levels))):
        inner = level[places.n_branches[level] > 0]
        first = run_ends(places.n_branches[inner])[:-1]
        for values, told in ((draws, draws[:, 0] != UNKNOWN), (distinct, distinct != UNKNOWN)):
            follow = np.logical_and.reduceat(told[below], first) & ~told[inner]
            values[inner[follow]] = np.add.reduceat(values[below], first)[follow]
    return draws, distinct


# What is said where the counts of a leaf cannot be those of the rows that were drawn.
MISFIT = "the draws do not fit the counts"
# Misfits of a tree that are named.
NAMED = 3


def misfits(context: Context) -> Iterator[Contradiction]:
    """Numbers of draws that the release cannot have, whichever row is whose, where it is told who was drawn."""
    told, people = context.release.draws, context.individuals
    if told is None or context.rounded or context.suppressed or told.trees != len(context.release.trees):
        return
    if told.n != people:
        says = f"{MISFIT}: they are of {told.n:,} rows, the table has {people:,} people"
        yield Contradiction(Origin("draws"), says, float(abs(told.n - people)))
    if told.n != people or told.trees * told.n > MOST_DRAWS:
        return
    for t, (tree, row) in enumerate(zip(context.release.trees, told.matrix(), strict=True)):
        draws, distinct = draws_of(tree, context.cells.trees[t].places, context.release.target.classes)
        sizes = np.where(draws[:, 0] == UNKNOWN, UNKNOWN, draws.sum(axis=1))
        stated = statements_of(tree.nodes, context.release.target.classes).n
        sizes[: len(stated)] = np.where(sizes[: len(stated)] == UNKNOWN, stated, sizes[: len(stated)])
        # So many different rows have so many draws at least and at most: those of the rows that have fewest, and most.
        often = np.sort(row[row > 0])
        fewest, most = run_ends(often), run_ends(often[::-1])
        whole = ("draws", told.drawn, int(sizes[0])), ("different rows", len(often), int(distinct[0]))
        for what, found, said in whole:
            if said not in (UNKNOWN, found):
                says = f"{MISFIT}: {what} of the tree {found:,}, stated {said:,}"
                yield Contradiction(context.origin(t, tree.nodes[0]), says, float(abs(found - said)))
        both = np.flatnonzero((sizes != UNKNOWN) & (distinct != UNKNOWN) & (distinct <= len(often)))
        both = both[both < len(tree.nodes)]
        off = np.maximum(fewest[distinct[both]] - sizes[both], sizes[both] - most[distinct[both]])
        for i in np.flatnonzero(off > 0)[:NAMED].tolist():
            says = f"{MISFIT}: no {distinct[both[i]]:,} rows have {sizes[both[i]]:,} draws in this tree"
            yield Contradiction(context.origin(t, tree.nodes[int(both[i])]), says, float(off[i]))


def finest(places: Places, known: BoolArray) -> Iterator[int]:
    """The lowest places with known draws that hold, each apart, what those above them hold."""
    stack, told = [0], known.tolist()
    while stack:
        place = stack.pop()
        below = places.children[place]
        if below and (not told[place] or all(told[child] for child in below)):
            stack.extend(below)
        elif told[place]:
            yield place


def certain(drawn: IntArray, distinct: IntArray) -> tuple[IntArray, IntArray]:
    """Least records of each class in some places, and of all others together, from draws and different records."""
    there = (drawn > 0).astype(np.int64)
    own, others = there, there.sum(axis=1, keepdims=True) - there
    known = (distinct != UNKNOWN)[:, None]
    repeats = drawn.sum(axis=1, keepdims=True) - distinct[:, None]
    own = np.where(known, np.maximum(own, drawn - repeats), own)
    return own, np.where(known, np.maximum(others, distinct[:, None] - drawn), others)


def _mass_bounds(
    drawn: IntArray, size: FloatArray, side: FloatArray, draws: int, individuals: int, *, again: bool
) -> tuple[IntArray, IntArray]:
    """Smallest and largest number of records of each class in some places, shapes (n_places, n_classes)."""
    # Parameters ---------- drawn : shape (n_places, n_classes) size : shape (n_places,), individuals, NaN where private
    # attributes decide who is there side : shape (n_places,), the logarithm of the probability that an interval may
    # miss on one side draws, individuals : draws of the whole tree, and records that they are from
    among = np.broadcast_to(np.where(np.isnan(size), draws, drawn.sum(axis=1))[:, None], drawn.shape).ravel()
    whole = np.broadcast_to(np.where(np.isnan(size), individuals, size)[:, None], drawn.shape).ravel()
    miss = np.exp(np.broadcast_to(side[:, None], drawn.shape)).ravel()
    whole, among, d = whole.astype(np.int64), among.astype(np.int64), drawn.ravel()
    low, rest = (least_records(each, among, whole, miss, again=again) for each in (d, among - d))
    return low.reshape(drawn.shape), (whole - rest).reshape(drawn.shape)


def bounds_of_unknown(release: Release, individuals: int, miss: float) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """The draws of places, and the fewest and most records of each class behind them, shapes (n_known,), ... of a tree.

    Nothing is known of the individuals. All intervals hold together with a probability of ``1 - miss``.
    """
    columns = [_Column(a, None, individuals if a.values is None else len(a.values)) for a in release.attributes]
    each_place = [number_places(tree) for tree in release.trees]
    shares = _log_shares(release, columns, ((places, np.ones(len(places), bool)) for places in each_place))
    side = math.log(miss / (2 * len(release.trees) * len(release.target.classes)))
    for tree, places, share in zip(release.trees, each_place, shares, strict=True):
        draws, distinct = draws_of(tree, places, release.target.classes)
        known = np.flatnonzero(draws[: len(tree.nodes), 0] != UNKNOWN)
        drawn, again = draws[known], bool((draws[known].sum(axis=1) > distinct[known]).any())
        of = side + share[known], int(release.resampled or 0), individuals
        yield (known, *_mass_bounds(drawn, np.full(len(known), np.nan), *of, again=again))


def least_records(
    drawn: IntArray, among: IntArray, whole: IntArray, miss: FloatArray, *, again: bool = True
) -> IntArray:
    """The smallest m with ``P(Binomial(among, m / whole) >= drawn) > miss``, shape (n,), at most ``whole``.

    Where none was drawn ``again``, the draws are hypergeometric in place of binomial.
    """
    from scipy.special import bdtrc
    from scipy.stats import hypergeom

    low, up = np.zeros(len(drawn), np.int64), whole.copy()
    low[drawn > 0] = np.minimum(1, whole)[drawn > 0]
    up[drawn <= 0] = 0
    while (open_ := low < up).any():
        middle = (low + up) // 2
        with np.errstate(divide="ignore", invalid="ignore"):
            if again:
                tail = bdtrc(drawn - 1.0, among, middle / whole) * (1 + ROUNDING)
            else:
                tail = hypergeom.sf(drawn - 1, whole, middle, np.minimum(among, whole)) * (1 + ROUNDING)
        enough = tail > miss
        up = np.where(open_ & enough, middle, up)
        low = np.where(open_ & ~enough, middle + 1, low)
    return up


RESAMPLED = Kind(
    "resampled",
    "draws of a bootstrap: so many of a node's people have this class, as far as draws with replacement prove it",
    r"\ell_{\Lambda,x} \le m_{\Lambda,x} \le u_{\Lambda,x}"
    r" \quad \text{where } d_{\Lambda,x} \text{ of } d_\Lambda \text{ draws were of class } x",
    resampled,
    "counts",
)


# Bounds on the means of the records, from the leaf means of a regression tree grown on a bootstrap.
#
# A node states the mean M and the variance V of its d draws, which are of u different records. Nobody who was drawn is
# further from M than ``sqrt((d - 1) V)`` (Samuelson 1968), which leaves numbers from L to H; so u records at least are
# of these classes. Some record is not below M, and some is not above. The draws sum to d M; without the d - u repeated
# ones, and with records that were not drawn, the sum of all records is between ``d M - (d - u) H`` plus the least, and
# ``d M - (d - u) L`` plus the most that the others can add.
#
# All that is certain. Where the table says who is in the node, its draws are independent and alike, from its records.
# So their mean is within an interval of the records' mean, at the joint confidence: that of Hoeffding, "Probability
# inequalities for sums of bounded random variables", 1963, theorem 1 (relative entropy). The error probability is
# divided as above, among all sets that nodes could have held.

# Of fewer draws, in units of minus the logarithm of the error probability, an interval says next to nothing.
ENOUGH = 5.0
_Row = tuple[FloatArray, float, float]
_Rows = tuple[FloatArray, FloatArray, FloatArray]
# What numbers of rows are multiplied with, so that they are far apart: any odd number.
_APART = np.uint64(0x9E3779B97F4A7C15)
# Nodes with means from which on statements that others repeat about the same people are left out.
REPEATED = 100_000


def drawn_moments(context: Context) -> Iterator[Linear]:
    """The people of a node have numbers that can have given the mean, and the variance, of its draws."""
    numbers, release = context.release.target.numbers, context.release
    if numbers is None or release.resampled is None:
        return
    low, high = np.array(numbers, np.float64).T
    finite = np.concatenate([low, high])[np.isfinite(np.concatenate([low, high]))]
    stated = context.moments()
    shapes, ends = printed_moments(*stated), (low, high)
    side, farthest = _log_side(context), float(np.abs(finite).max(initial=1.0))
    once = _Once(context) if sum(int((~np.isnan(mean)).sum()) for mean in stated[0]) > REPEATED else None
    number, told = dict[bytes, int](), list[_Rows | None]()
    for t, (tree, mean, variance) in enumerate(zip(release.trees, *stated, strict=True)):
        said, leaf = statements_of(tree.nodes, release.target.classes), links_of(tree.nodes)[0] == 0
        at = np.flatnonzero(~np.isnan(mean))
        mean, n = mean[at], said.n[at]
        wide, proved = _certain(mean, n, said.distinct[at], variance[at], ends, farthest, shapes)
        more: dict[int, list[_Row]] = {}
        if side is not None and (n > -side * ENOUGH).any():
            large = np.flatnonzero((n > -side * ENOUGH) & ~np.isnan(context.sizes[t][at])).tolist()
            (share,) = log_shares(
                replace(release, trees=(tree,)), context.table, (context.cells.trees[t],), at[large].tolist()
            )
            for i in large:
                both = _interval(float(mean[i]), float(wide[i]), int(n[i]), side + float(share[at[i]]), low, high)
                more[i] = [row for row in both if not _follows(*row)]
        keys = [each.tobytes() for each in proved]
        fresh = {key: i for i, key in enumerate(keys) if key not in number}
        number.update(zip(fresh, range(len(told), len(told) + len(fresh)), strict=True))
        told += _rows_of(proved[np.array([*fresh.values()], np.int64)])
        which = [number[key] for key in keys]
        alone = [i for i, k in enumerate(which) if told[k] is not None and i not in more]
        if once is not None:
            alone = once.first(t, at, alone, which)
        for i in sorted((*alone, *more)):
            rows, place = told[which[i]], int(at[i])
            if more.get(i):
                coef, lower, upper = (np.array(part, np.float64) for part in zip(*more[i], strict=True))
                if rows is not None:
                    coef, lower, upper = map(np.concatenate, zip(rows, (coef, lower, upper), strict=True))
                rows = coef, lower, upper
            if rows is None:
                continue
            identity = tree.nodes.columns.ids[place] if isinstance(tree.nodes, Nodes) else tree.nodes[place].id
            origin = Origin("leaf" if leaf[place] else "node", identity, t if len(release.trees) > 1 else None)
            yield Linear("drawn", origin, context.region(t, place), *rows, f"mean {mean[i]:.10g} of draws")


class _Once:
    """Statements that others repeat about the same cells: those of a leaf of one person come in most trees."""

    def __init__(self, context: Context) -> None:
        self._context, self._seen = context, set[int]()
        # Of two sets of cells that differ these sums differ, but for chance; then a statement is lost, which is sound.
        self._mark = np.random.default_rng(1).integers(2**63, size=len(context.cells), dtype=np.uint64)

    def first(self, tree: int, places: IntArray, some: Sequence[int], told: Sequence[int]) -> list[int]:
        """Those of ``some`` statements that are new: none before has the same row, ``told``, about these cells."""
        held = self._context.cells.trees[tree]
        up_to = np.concatenate([np.zeros(1, np.uint64), np.cumsum(self._mark[held.order])])
        number = np.array(told, np.uint64) * _APART
        keys: list[int] = (up_to[held.stop[places]] - up_to[held.start[places]] + number).tolist()
        found = []
        for i in some:
            if keys[i] not in self._seen:
                self._seen.add(keys[i])
                found.append(i)
        self._context.regions.repeated += len(some) - len(found)
        return found


def _rows_of(proved: FloatArray) -> list[_Rows | None]:
    """Coefficients, lower and upper ends of the rows of each statement that are there, None without any."""
    there = ~np.isnan(proved[:, :, 0])
    rows, ends = proved[there], run_ends(there.sum(axis=1)).tolist()
    parts = [np.ascontiguousarray(each) for each in (rows[:, :-2], rows[:, -2], rows[:, -1])]
    coef, lower, upper = parts
    return [(coef[i:j], lower[i:j], upper[i:j]) if j > i else None for i, j in pairwise(ends)]


def _log_side(context: Context) -> float | None:
    """Logarithm of the probability that means of a tree may miss on one side; None where nothing is left to chance."""
    release = context.release
    if context.noise != "intervals" or any(counted(tree, release) for tree in release.trees):
        return None  # counts of draws have the whole error probability
    low, high = zip(*(release.target.numbers or ()), strict=True)
    if not -math.inf < min(low) < max(high) < math.inf:
        return None
    return math.log(context.counting.alpha / (2 * len(release.trees)))


def _certain(
    mean: FloatArray,
    n: IntArray,
    distinct: IntArray,
    variance: FloatArray,
    ends: tuple[FloatArray, FloatArray],
    farthest: float,
    shapes: tuple[PrintedNumber, PrintedNumber],
) -> tuple[FloatArray, FloatArray]:
    """How far each mean may be off, shape (n_nodes,), and statements proved by the draws of each node.

    Shape (n_nodes, 5, n_classes + 2): coefficients, lower and upper end of a row, NaN of none; see the module's text.
    """
    low, high = ends
    least, most = float(low.min()), float(high.max())
    scale = np.maximum(farthest, np.abs(mean))
    wide = COMPUTED * scale + shapes[0].off_each(mean)
    around = np.where(np.isnan(variance), 0.0, variance)
    off = COMPUTED * scale**2 + wide**2 + shapes[1].off_each(around)
    spread = np.where(
        (n == 1) | ((n != NOTHING) & ~np.isnan(variance)), np.sqrt(np.maximum(n - 1, 0) * (around + off)), math.inf
    )
    under, over = np.maximum(least, mean - wide - spread), np.minimum(most, mean + wide + spread)
    there = np.where(distinct > 0, distinct, 1).astype(np.float64)
    among = (high[:, None] >= under) & (low[:, None] <= over)
    rows = np.full((len(low) + 2, 5, len(mean)), np.nan)  # one class at a time NumPy is many times as fast
    rows[:-2, 0], rows[-2, 0], rows[-1, 0] = among, there, math.inf
    more = np.flatnonzero(among.sum(axis=0) != 1)  # else all follows from the first
    rows[:-2, 1, more] = high[:, None] >= (mean - wide)[more]
    rows[:-2, 2, more] = low[:, None] <= (mean + wide)[more]
    rows[-2, 1:3, more], rows[-1, 1:3, more] = 1.0, math.inf
    if -math.inf < least < most < math.inf:
        unit = most - least
        more = more[(n[more] != NOTHING) & (distinct[more] != NOTHING)]
        total, off, again = (n * mean)[more], (n * wide)[more], (n - distinct)[more]
        rows[:-2, 3, more], rows[-2, 3, more] = ((low - most) / unit)[:, None], -math.inf
        rows[-1, 3, more] = (total + off - again * under[more] - there[more] * most) / unit
        rows[:-2, 4, more], rows[-1, 4, more] = ((high - least) / unit)[:, None], math.inf
        rows[-2, 4, more] = (total - off - again * over[more] - there[more] * least) / unit
    coef, lower, upper = rows[:-2], rows[-2], rows[-1]
    follows = (coef == coef[0]).all(axis=0)
    follows |= (((lower <= 0) & (coef.min(axis=0) >= 0)) | (lower == -math.inf)) & (
        ((coef.max(axis=0) <= 0) & (upper >= 0)) | (upper == math.inf)
    )
    rows[:, follows] = np.nan
    return wide, np.ascontiguousarray(rows.T)


def _interval(mean: float, wide: float, draws: int, log_miss: float, low: FloatArray, high: FloatArray) -> list[_Row]:
    """The mean of the records, as far as that of draws proves it with an error probability on each side."""
    least, most = float(low.min()), float(high.max())
    unit = most - least
    above = furthest(min((mean + wide - least) / unit, 1.0), draws, log_miss)
    below = furthest(min((most - mean + wide) / unit, 1.0), draws, log_miss)
    return [((low - least) / unit - above, -math.inf, 0.0), ((high - most) / unit + below, 0.0, math.inf)]


def furthest(mean: float, draws: int, log_miss: float) -> float:
    """The largest expectation of variables from 0 to 1 whose mean of so many is as low as this with that probability.

    ``exp(-draws KL(mean || p)) <= miss`` beyond it; the end of the bisection that is sure not to be too low.
    """
    low, up = max(mean, 0.0), 1.0
    for _ in range(60):
        middle = (low + up) / 2
        if draws * _divergence(mean, middle) < -log_miss:
            low = middle
        else:
            up = middle
    return up


def _divergence(mean: float, p: float) -> float:
    """Relative entropy of two coins, nats."""
    if not 0 < p < 1:
        return 0.0 if p == mean else math.inf
    first = mean * math.log(mean / p) if mean > 0 else 0.0
    second = (1 - mean) * math.log((1 - mean) / (1 - p)) if mean < 1 else 0.0
    return first + second


def _follows(coef: FloatArray, least: float, most: float) -> bool:
    """Whether a row says nothing of classes, or holds for whatever masses there are."""
    if (coef == coef[0]).all():
        return True
    return bool((least <= 0 <= coef.min() or least == -math.inf) and (coef.max() <= 0 <= most or most == math.inf))


DRAWN_MOMENTS = Kind(
    "drawn",
    "means of draws: a node's people have numbers that can have given the mean of draws of them",
    r"\sum_{x:\, b_x \ge L,\, a_x \le H} m_{\Lambda,x} \ge u_\Lambda, \quad"
    r" \sum_x m_{\Lambda,x}\, (a_x - \mu_{\max}) \le 0 \le \sum_x m_{\Lambda,x}\, (b_x - \mu_{\min})",
    drawn_moments,
    "rate",
)


# Likelihood of bootstrap counts: the probability of the counts of the trees, given the classes of the people.
#
# Of the D draws of a tree in a leaf with W people, d_x are of class x with the probability of a multinomial
# distribution, whose logarithm is ``sum_x d_x ln(m_x / W)`` and a constant; trees draw apart from each other, so that
# logarithms add up. Where private attributes decide who is in a leaf it is ``sum d_x ln(m_x / N)`` over all leaves.


def likelihood_of(context: Context) -> Likelihood | None:
    """The likelihood of the finest draws that each tree states; None without any."""
    release = context.release
    if release.resampled is None or "counts" not in context.knowledge:
        return None
    found = []
    for t, tree in enumerate(release.trees):
        held = context.cells.trees[t]
        draws, _ = draws_of(tree, held.places, release.target.classes)
        for place in finest(held.places, draws[:, 0] != UNKNOWN):
            if held.stop[place] > held.start[place] and draws[place].any():
                size = context.size(t, place)
                found.append((t, place, draws[place], context.individuals if size is None else size))
    if not found:
        return None
    tree_of, place_of, counts, size_of = zip(*found, strict=True)
    return Likelihood(
        np.array(tree_of, np.int64),
        np.array(place_of, np.int64),
        np.array(counts, np.float64),
        np.array(size_of, float),
    )
