"""Convex upper bound of a nonconvex program by its Lagrangian: prices, branch sets, and bounds of entropy.

A comparison of a node's chosen split T with a candidate U reads, for each measure and in individuals,

    c = tau I_T - upsilon I_U >= 0,    I_A = sum_v sum_x phi(A_vx, W_v) - sum_x phi(A_x, W),

the gains of the two. Gains are convex in the masses. Let ``M = sum_k tau_k mu_k`` be the multipliers of the comparisons
of one node. The entropy H is concave, and the Lagrangian ``H + sum_k mu_k c_k`` still is where no node has M > 1:

Let Q(b) be the second derivative of ``sum_x phi(A_bx, W_b)`` for a set b of quasi-identifiers, along some direction of
the masses. For the entropy it is ``sum_x d_bx^2 / A_bx``, with d_b what the direction adds up to in b. By the
inequality of Cauchy and Schwarz Q(b) is at most the sum of Q over any parts of b, down to single masses, where the sum
is minus the second derivative of H. So I_U is convex and counts in favour, and with the nodes of a tree

    sum_nodes M I_T'' = sum_nodes M (sum_children Q(child) - Q(node))
                     <= sum_nodes   (sum_children Q(child) - Q(node)) <= sum_leaves Q(leaf) <= -H''.

For Gini ``Q(b) = 2 sum_x d_bx^2 / W_b``, which in a leaf is at most ``sum_x d_bx^2 / A_bx``: with p = A / W, in
``diag(1/p) - 2`` at most one entry is negative, that of a p_1 > 1/2, and over directions with sum 0 it is positive
semidefinite if ``sum_x p_x / (1 - 2 p_x) <= 0``; the sum is largest with two classes, where it is 0. Several trees
share the entropy, each with an equal part.

So a program in which each node may miss its comparisons by a slack, at the price of 1 nat per unit of M, has a
Lagrangian that is concave wherever its multipliers are feasible: they cannot exceed the price. Its optimum is global,
and no smaller than that of the program without slacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from maxent.constraints.lifting import Elimination, LiftedProgram
from maxent.constraints.program.impurity_numpy import PHI
from maxent.models.arrays import TINY, BoolArray, FloatArray, IntArray
from maxent.solvers.backend import FEW
from maxent.solvers.control import Clock
from maxent.solvers.dual.linear_entropy import LinearEntropy
from maxent.solvers.dual.newton import minimise
from maxent.solvers.dual.relaxation import Relaxation, relax, relaxed_once
from maxent.solvers.gap.interior_point import Bent, Curves, GapProblem

# Linear upper bounds of entropy and index of coincidence over the possible shares of a set.
#
# For shares s over classes, ``f(s) = sum_x (steep s_x^2 - s_x ln s_x + tilt_x s_x)`` has at most one class above ``1 /
# (2 steep)`` at a maximum, as else a change between two such classes raises it. All others maximise a concave function,
# so that the maxima lie on the curves where one class takes what the others leave along a price nu: ``ln s_x - 2 steep
# s_x + nu`` is for each of these what it is at nu = 0. There is one curve for each class. That of the largest tilt is
# as high as any: to swap its class's share with a larger one raises f by the difference in tilt.

# Least share of a class, in relation to the mean, where a line touches.
SMALLEST = 1e-5
# Of a curve: the largest price, the prices looked at, closer together near 0; and Newton steps to its shares.
FARTHEST, POINTS, NEWTON = 40.0, 80, 2
# What these steps begin with: Taylor coefficients of 1 / w in t, where ``w - ln w = 1 + t^2 / 2`` and w < 1.
SERIES = (1.0, 1.0, 2 / 3, 13 / 36, 23 / 135, 313 / 4320)
# The steepest line, as a share of one where the touching point is a maximum; how many others are tried; what f may
# exceed its value there by, nats per individual.
BELOW, TRIES, CLOSE = 0.98, 6, 1e-9
# The slope that is tried, as a share of where the last two say that the line would touch elsewhere; how far it is from
# the ends of the range at least, as a share of that.
STEEP, AWAY = 0.99, 0.05
# Lines that are found together: as many as a processor's cache holds.
TOGETHER = 16


@dataclass(frozen=True, slots=True, eq=False)
class TangentLine:
    """``sum_x times_x (steep s_x^2 - s_x ln s_x + tilt_x s_x) <= most`` for all shares, nats per individual."""

    steep: float
    tilt: FloatArray
    most: float


def touching(shares: Sequence[FloatArray], times: Sequence[FloatArray]) -> list[TangentLine]:
    """The steepest lines that touch at shares of classes, each of which stands for ``times`` classes."""
    found: list[TangentLine | None] = [
        _at_equal(len(share), float(n.sum())) if share.min() == share.max() else None
        for share, n in zip(shares, times, strict=True)
    ]
    others = [k for k, line in enumerate(found) if line is None]
    for first in range(0, len(others), TOGETHER):
        some = others[first : first + TOGETHER]
        for k, line in zip(some, _together([shares[k] for k in some], [times[k] for k in some]), strict=True):
            found[k] = line
    return [line for line in found if line is not None]


def _at_equal(n: int, q: float) -> TangentLine | None:
    """The steepest line at equal shares of q classes: it touches where one has ``1 - 1/q``, too (docs/theory.md)."""
    if q <= 2.0:
        return None
    steep = (q - 1.0) * np.log(q - 1.0) / (q - 2.0)
    tilt = -np.log(q) - 2.0 * steep / q
    return TangentLine(float(steep), np.full(n, tilt), float(-steep / q))


def _together(shares: Sequence[FloatArray], times: Sequence[FloatArray]) -> list[TangentLine]:
    count = np.array([len(share) for share in shares])
    there = np.arange(int(count.max())) < count[:, None]
    share, time = np.full(there.shape, SMALLEST), np.zeros(there.shape)
    share[there], time[there] = np.concatenate(shares), np.concatenate(times)
    share = np.maximum(share, SMALLEST / time.sum(axis=1, keepdims=True))
    share = share / (share * time).sum(axis=1, keepdims=True)
    share[~there] = SMALLEST
    low, high = np.zeros(len(count)), BELOW / (2.0 * share.max(axis=1))
    tilt, most, above = _tangent_lines(share, time, high)
    further, above_further = np.full(len(count), np.inf), np.full(len(count), np.inf)
    tried = np.flatnonzero(above > CLOSE)
    low[above <= CLOSE] = high[above <= CLOSE]
    tilt[tried], most[tried] = np.log(share[tried]), 0.0  # the line without a slope
    for _ in range(TRIES):
        if not len(tried):
            break
        # Above the steepest line f is too high by what is nearly linear in the slope.
        middle, some = (low[tried] + high[tried]) / 2.0, np.isfinite(further[tried])
        at = tried[some]
        root = high[at] - above[at] * (further[at] - high[at]) / (above_further[at] - above[at])
        middle[some] = np.clip(STEEP * root, low[at] + AWAY * (high - low)[at], high[at] - AWAY * (high - low)[at])
        at_tilt, at_most, by = _tangent_lines(share[tried], time[tried], middle)
        below = by <= CLOSE
        better, worse = tried[below], tried[~below]
        low[better], tilt[better], most[better] = middle[below], at_tilt[below], at_most[below]
        further[worse], above_further[worse] = high[worse], above[worse]
        high[worse], above[worse] = middle[~below], by[~below]
        tried = tried[(high - low)[tried] > (1.0 - STEEP) * high[tried]]
    return [TangentLine(float(c), t[:n], float(m)) for c, t, m, n in zip(low, tilt, most, count.tolist(), strict=True)]


def _tangent_lines(
    share: FloatArray, times: FloatArray, steep: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The tilts and highest values of lines with slopes, and how much higher these are than where they should touch."""
    # ``share`` and ``times``, shape (n_lines, n_classes), of which those without ``times`` are none.
    price = FARTHEST * np.linspace(0.0, 1.0, POINTS) ** 2
    tilt = np.log(share) - 2.0 * steep[:, None] * share
    # With w = 2 steep s: ln w - w is 1 + below less than its maximum, -1.
    double = np.log(2.0 * steep)[:, None, None]
    below = np.maximum(price - (tilt + 1.0)[:, :, None] - double, 0.0)
    root = np.sqrt(2.0 * below)
    w = np.full_like(root, SERIES[-1])  # in place: these arrays are most of the work
    for coefficient in SERIES[-2::-1]:
        w *= root
        w += coefficient
    below += 1.0
    u = np.subtract(np.divide(1.0, w, out=w), below, out=root)
    step = np.empty_like(u)
    for _ in range(NEWTON):
        np.exp(u, out=w)
        np.add(np.subtract(u, w, out=step), below, out=step)
        u -= np.divide(step, np.subtract(1.0, w, out=w), out=step)
    u -= double
    s = np.exp(u, out=w)
    value = np.multiply(s, steep[:, None, None], out=below)
    value -= u
    value += tilt[:, :, None]
    value *= s
    weight, line = times[:, None, :], np.arange(len(share))
    whole = (weight @ value)[:, 0]
    large = np.where(times > 0, tilt, -np.inf).argmax(axis=1)
    rest = (weight @ s)[:, 0] - s[line, large]
    above = _highest(1.0 - rest, whole - value[line, large], price, steep[:, None], tilt[line, large, None])
    above -= whole[:, 0]
    return tilt, whole[:, 0] + np.maximum(above, 0.0), above


def _highest(
    large: FloatArray, others: FloatArray, price: FloatArray, steep: FloatArray, tilt: FloatArray
) -> FloatArray:
    """The highest that f can be where a class has more than ``1 / (2 steep)``, at least what it comes near to."""
    # ``large`` are shares of the class at each price, and ``others`` what all others then have, concave in it with the
    # slopes ``1 - price``. Between two prices they are below both tangents, and the class, convex there, below its
    # chord.
    low, high = np.maximum(large[:, :-1], 0.5 / steep), large[:, 1:]
    first, second = 1.0 - price[:-1], 1.0 - price[1:]
    from_low = others[:, :-1] + first * (low - large[:, :-1])
    meet = low + (others[:, 1:] + second * (low - high) - from_low) / (first - second)
    meet = np.clip(meet, low, high)
    at_low, at_high = (a * (steep * a - np.log(a) + tilt) for a in (low, high))
    chord = (at_high - at_low) / np.maximum(high - low, TINY)
    between = np.maximum(chord + first, 0.0) * (meet - low)
    found: FloatArray = np.maximum(at_low + from_low + between, at_high + others[:, 1:])
    most: FloatArray = np.where(high > 0.5 / steep, found, -np.inf).max(axis=1)
    return most


# Branches of the chosen splits of a tree as sets of groups, with known masses.


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """The terms of comparisons of one sign, one for each class of a branch."""

    row: IntArray
    block: IntArray
    var: IntArray
    klass: IntArray
    size: FloatArray
    weight: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Sets:
    """Branches of chosen splits as sets of groups: ``inside``, shape (n_sets, n_groups), of ``size`` individuals.

    ``number`` are the sets of the terms of the chosen splits, ``chosen``, and ``other`` those of the others.
    ``variable`` (n_sets, n_classes) are the masses of a set per class, -1 where statements fix them. ``within[a, b]``
    is whether b is in a or a itself, ``atom`` the groups that are in a set and in no smaller one.
    """

    inside: BoolArray
    size: FloatArray
    variable: IntArray
    within: BoolArray
    atom: BoolArray
    number: IntArray
    chosen: Sides
    other: Sides


@dataclass(frozen=True, slots=True, eq=False)
class KnownMasses:
    """Stated numbers of one class in one set of groups: amounts, sets and classes, without overlap."""

    amount: FloatArray
    where: BoolArray
    klass: IntArray
    number: IntArray

    @property
    def covered(self) -> BoolArray:
        """The masses that statements are about, shape (n_groups, n_classes)."""
        found: BoolArray = self.number >= 0
        return found

    def covered_in(self, inside: BoolArray) -> BoolArray:
        """The masses that statements about groups in a set cover, shape (n_sets, n_groups, n_classes)."""
        found = np.zeros((len(inside), *self.number.shape), bool)
        for place, x, sets in zip(self.where, self.klass.tolist(), contained(self.where, inside).T > 0, strict=True):
            found[np.ix_(sets, place, [x])] = True
        return found


def sides(program: LiftedProgram, elimination: Elimination, times: FloatArray, sign: float) -> Sides:
    """The terms of one sign; ``times``, shape (n_classes,), is how many classes each stands for."""
    some = [np.flatnonzero(sign * terms.coef > 0) for terms in program.terms]
    row, var, size, coef, block = (
        np.concatenate([getattr(terms, name)[at] for terms, at in zip(program.terms, some, strict=True)])
        for name in ("row", "var", "size", "coef", "block")
    )
    one, _ = elimination.over_free(sparse.identity(program.n, format="csr")[var])
    klass = program.klass[elimination.free][one.indices[np.minimum(one.indptr[:-1], one.nnz - 1)]]
    klass = np.where(np.diff(one.indptr) > 0, klass, -1)
    return Sides(row, block, var, klass, size / times[klass], sign * coef * program.nl_size[row])


def branch_sets(program: LiftedProgram, elimination: Elimination, times: FloatArray) -> Sets | None:
    """The branches of the chosen splits, None unless any two are apart or one in the other."""
    n_groups, n_classes = int(program.group.max()) + 1, int(program.klass.max()) + 1
    chosen, other = (sides(program, elimination, times, sign) for sign in (1.0, -1.0))
    if not len(chosen.block):
        return None
    _, number = np.unique(chosen.block, return_inverse=True)
    n_sets = int(number.max()) + 1
    pick = sparse.csr_matrix((np.ones(len(number)), (number, chosen.var)), shape=(n_sets, program.n))
    sums, _ = elimination.over_free(pick)
    inside = np.zeros((n_sets, n_groups), bool)
    entries = sums.tocoo()
    inside[entries.row, program.group[elimination.free][entries.col]] = True
    some = chosen.klass >= 0
    variable = np.full((n_sets, n_classes), -1, np.int64)
    variable[number[some], chosen.klass[some]] = chosen.var[some]
    size = np.zeros(n_sets)
    size[number[some]] = chosen.size[some]
    common = inside.astype(np.float64) @ inside.T
    count = inside.sum(axis=1)
    if not ((common == 0) | (common == np.minimum(count[:, None], count))).all():
        return None
    # Of sets with the same groups the smaller one is inside: the other one has people with nothing open, too.
    contains = common == count
    alike = contains & contains.T
    rank = np.argsort(np.argsort(size, kind="stable"), kind="stable")
    within = contains & (~alike | (rank[:, None] >= rank))
    strictly = within & ~np.eye(n_sets, dtype=bool)
    atom = inside & ~((strictly.astype(np.float64) @ inside) > 0)
    return Sets(inside, size, variable, within, atom, number, chosen, other)


def known(program: LiftedProgram, elimination: Elimination) -> KnownMasses:
    """Stated numbers of one class in one set of groups."""
    n_groups, n_classes = int(program.group.max()) + 1, int(program.klass.max()) + 1
    stated = np.array([origin is not None for origin in program.origins], bool)
    equations = np.flatnonzero(stated & (program.row_lower == program.row_upper))
    matrix, moved = elimination.over_free(program.matrix[equations])
    number = np.full((n_groups, n_classes), -1)
    group, of = program.group[elimination.free], program.klass[elimination.free]
    amounts: list[float] = []
    places: list[BoolArray] = []
    classes: list[int] = []
    for i in np.argsort(np.diff(matrix.indptr), kind="stable").tolist():
        columns = matrix.indices[matrix.indptr[i] : matrix.indptr[i + 1]]
        if not len(columns) or (matrix.data[matrix.indptr[i] : matrix.indptr[i + 1]] != 1.0).any():
            continue
        x = int(of[columns[0]])
        if (of[columns] != x).any() or (number[group[columns], x] >= 0).any():
            continue
        number[group[columns], x] = len(amounts)
        place = np.zeros(n_groups, bool)
        place[group[columns]] = True
        amounts.append(float(program.row_lower[equations[i]] - moved[i]))
        places.append(place)
        classes.append(x)
    where = np.array(places, bool).reshape(-1, n_groups)
    return KnownMasses(np.array(amounts, np.float64), where, np.array(classes, np.int64), number)


def totals(program: LiftedProgram, elimination: Elimination, n_groups: int) -> FloatArray:
    """Individuals of each group whose class is open, shape (n_groups,)."""
    held = np.ones(program.n_masses, bool)
    held[elimination.free] = False
    known = np.bincount(program.owner[held], program.lower[: program.n_masses][held], len(program.total))
    total = np.zeros(n_groups)
    total[program.group[elimination.free]] = (program.total - known)[program.owner[elimination.free]]
    return total


def contained(where: BoolArray, inside: BoolArray) -> FloatArray:
    """Which sets of groups are in which others, 0/1, shape (n_others, n_sets)."""
    outside = (~inside).astype(np.float64) @ where.T
    found: FloatArray = (outside == 0).astype(np.float64)
    return found


# Prices (multipliers) of missed comparisons for which the Lagrangian stays concave.
#
# There is one price for each node. For Gini there is more. The masses of a branch b
# that rates leave open add up to E_b, S_bx in class x. Let the sets a be what branches are made of, disjoint, and d_a
# what the open masses of one class change by, d_b the sum of those in b. As ``2 / E sum_x d_x^2 <= sum_x d_x^2 / S_x``,
# the Lagrangian with multipliers mu of comparisons is concave if, as a quadratic form of the d_a,
#
#     sum_a d_a^2 / E_a >= sum_k mu_k (sum of d_b^2 / W_b over the chosen branches b - (sum of all d_a)^2 / W),
#
# where the last term is what the other split gives back at least, by the inequality of Cauchy and Schwarz. A linear
# bound, as above, at shares S_bx / E_b, times E_b,
#
#     sum_x (-S_x ln(S_x / E) + beta / W S_x^2 + tilt_x S_x) <= E most,    beta = steep W / E,
#
# with the multiplier omega_b takes the share omega_b of its entropy from each set a in b: ``d_a^2 omega_b / E_a`` less
# on the left side, and ``beta_b omega_b d_b^2 / W_b`` more.

# Open individuals of a set, per individual, that count as some.
ALIVE = 1e-9
# How far apart the shares of a set are where a line more is worth it, nats per individual of the program.
APART = 5e-5


@dataclass(frozen=True, slots=True, eq=False)
class Lined:
    """A line and the set that it is of: its open classes, their variables, and how much of these is known."""

    set: int
    klass: IntArray
    var: IntArray
    shift: FloatArray
    line: TangentLine


@dataclass(frozen=True, slots=True, eq=False)
class Prices:
    """Slacks with their prices, and rows that come with them; ``slack`` has the comparisons' rows first, then these."""

    slack: sparse.csr_matrix
    cost: FloatArray
    curves: tuple[Curves, ...]
    linear: sparse.csr_matrix
    const: FloatArray
    bent: Bent


def prices(
    program: LiftedProgram,
    elimination: Elimination,
    times: FloatArray,
    near: tuple[FloatArray, ...],
) -> Prices:
    """The best prices that are known, by lines at equal shares and ``near``; ``times`` counts alike classes."""
    node, trees = _nodes(program)
    found = _by_leaf(program, elimination, times, near) if trees == 1 else None
    return _by_node(program, node, trees) if found is None else found


def affordable(program: LiftedProgram, multipliers: FloatArray) -> FloatArray:
    """Multipliers of comparisons with which the Lagrangian is concave, shape (n_rows,): those of a node made smaller.

    All that counts is what nodes may miss their comparisons for.
    """
    node, trees = _nodes(program)
    asked = trees * np.bincount(node, _times(program) * multipliers)
    found: FloatArray = multipliers / np.maximum(asked, 1.0)[node]
    return found


def _nodes(program: LiftedProgram) -> tuple[IntArray, int]:
    """The node of each comparison, numbered, and how many trees there are."""
    number = {origin: i for i, origin in enumerate(dict.fromkeys(program.nl_origins))}
    node = np.array([number[origin] for origin in program.nl_origins], np.int64)
    return node, len({origin.tree for origin in number})


def _times(program: LiftedProgram) -> FloatArray:
    """How often each comparison has the gain of the chosen split."""
    tau = np.zeros(len(program.nl_const))
    for terms in program.terms:
        np.maximum.at(tau, terms.row, terms.coef * program.nl_size[terms.row])
    return tau


def _by_node(program: LiftedProgram, node: IntArray, trees: int) -> Prices:
    """One slack for each node; a comparison's counts as often as it has the gain of the chosen split."""
    tau = _times(program)
    n_nodes = int(node.max(initial=-1)) + 1
    slack = sparse.csr_matrix((tau, (np.arange(len(node)), node)), shape=(len(node), n_nodes))
    nothing = Bent(np.empty((0, 0)), sparse.csr_matrix((0, 0)))
    cost = np.full(n_nodes, 1.0 / trees)
    return Prices(slack, cost, (), sparse.csr_matrix((0, program.n)), np.empty(0), nothing)


def _by_leaf(
    program: LiftedProgram,
    elimination: Elimination,
    times: FloatArray,
    near: tuple[FloatArray, ...],
) -> Prices | None:
    """Curvature of the sets of the branches, for a single tree with Gini."""
    owners, groups = len(np.unique(program.owner)), len(np.unique(program.group))
    if owners != groups or any(terms.phi != "gini" for terms in program.terms):
        return None
    sets = branch_sets(program, elimination, times)
    if sets is None:
        return None
    said, total = known(program, elimination), totals(program, elimination, sets.inside.shape[1])
    atom_open = sets.atom @ total - contained(said.where, sets.atom) @ said.amount
    alive = np.flatnonzero(atom_open > ALIVE * np.maximum(sets.size, ALIVE))
    if not len(alive):
        return None
    part = contained(said.where, sets.inside) * said.amount
    open_ = sets.inside @ total - part.sum(axis=1)
    found = tuple(_price_lines(program, elimination, sets, said, part, open_, times, near, APART * float(total.sum())))
    n_rows, n_lines = len(program.nl_const), len(found)
    of = np.array([one.set for one in found], np.int64)
    whole, size = open_[of], sets.size[of]
    beta = np.array([one.line.steep for one in found]) * size / whole
    line = np.repeat(np.arange(n_lines), [len(one.var) for one in found])
    x, var = (_joined([getattr(one, name) for one in found], np.int64) for name in ("klass", "var"))
    shift, tilt = (_joined(values, np.float64) for values in ([f.shift for f in found], [f.line.tilt for f in found]))
    curves = (
        Curves("entropy", line, var, np.ones(len(line)), whole[line] * times[x], shift),
        Curves("gini", line, var, -beta[line], size[line] * times[x], shift),
    )
    linear = sparse.csr_matrix((-tilt, (line, var)), shape=(n_lines, program.n))
    most = whole * np.array([one.line.most for one in found]) + np.bincount(line, tilt * shift, n_lines)
    around = sets.within[:, alive].astype(np.float64)
    gains, together = _gains(program, elimination, sets, said, alive)
    by_set = np.concatenate([gains, np.zeros((n_lines, len(around)))])
    by_set[n_rows + np.arange(n_lines), of] = -beta / size
    own = np.concatenate([np.zeros((n_rows, len(alive))), around[of]])
    several = around.sum(axis=1) > 1  # the others change by what a single atom does
    alone = own + by_set[:, ~several] @ (around[~several] * atom_open[alive])
    weight = np.concatenate([by_set[:, several], -np.eye(n_rows + n_lines, n_rows), alone], axis=1)
    unit = np.sqrt(atom_open[alive])
    vectors = np.concatenate([around[several] * unit, together * unit, np.eye(len(alive))])
    bent = Bent(vectors, sparse.csr_matrix(weight))
    # The shares of the entropy of a set that lines replace are at most 1.
    return Prices(sparse.csr_matrix(own), np.ones(len(alive)), curves, linear, most, bent)


def _joined(arrays: list[Any], kind: type) -> Any:
    return np.concatenate([np.empty(0, kind), *arrays])


def _price_lines(
    program: LiftedProgram,
    elimination: Elimination,
    sets: Sets,
    said: KnownMasses,
    part: FloatArray,
    open_: FloatArray,
    times: FloatArray,
    near: tuple[FloatArray, ...],
    apart: float,
) -> list[Lined]:
    """Lines of sets with more than two open classes: at equal shares, and at those of a point."""
    free = np.zeros(said.number.shape, bool)
    free[program.group[elimination.free], program.klass[elimination.free]] = True
    varies: BoolArray = np.any(sets.inside[:, :, None] & free & ~said.covered_in(sets.inside), axis=1)
    several = (varies @ times[: varies.shape[1]] > 2) & ~(varies & (sets.variable < 0)).any(axis=1) & (open_ > 0)
    fixed = elimination.point(np.zeros(len(elimination.free)))
    by_class = part @ np.eye(varies.shape[1])[said.klass]
    where: list[tuple[int, IntArray, IntArray, FloatArray]] = []
    shares: list[FloatArray] = []
    number: list[FloatArray] = []
    for b in np.flatnonzero(several).tolist():
        x = np.flatnonzero(varies[b])
        var = sets.variable[b, x]
        shift = fixed[var] + by_class[b, x]
        taken = [np.full(len(x), 1.0 / times[x].sum())]
        for point in near:
            share = (point[var] - shift) / open_[b] / times[x]
            if all(open_[b] * _apart(share, other, times[x]) > apart for other in taken):
                taken.append(share)
        where += [(b, x, var, shift)] * len(taken)
        shares += taken
        number += [times[x]] * len(taken)
    lines = touching(shares, number)
    return [Lined(*place, line) for place, line in zip(where, lines, strict=True)]


def _apart(share: FloatArray, other: FloatArray, times: FloatArray) -> float:
    """Distance of shares, nats: second order of the entropy of their mean minus their mean entropy."""
    return float(times @ ((share - other) ** 2 / np.maximum(share + other, TINY)))


def _gains(
    program: LiftedProgram, elimination: Elimination, sets: Sets, said: KnownMasses, alive: IntArray
) -> tuple[FloatArray, FloatArray]:
    """How comparisons bend by the changes d of the open masses of the sets ``alive``: gains d'd - (together d)^2."""
    # Shapes (n_rows, n_sets) and (n_rows, n_alive). The other split bends them back by no less than its branches
    # together do, which change by what the chosen one's do: where each open mass is in as many of its branches as all
    # others of that set.
    n_rows, n_alive, n_known = len(program.nl_const), len(alive), len(said.amount)
    gains, together = np.zeros((n_rows, len(sets.size))), np.zeros((n_rows, n_alive))
    gains[sets.chosen.row, sets.number] = sets.chosen.weight / sets.chosen.size
    group, klass = program.group[elimination.free], program.klass[elimination.free]
    set_of = np.full(sets.inside.shape[1], n_alive)
    a, inside = np.nonzero(sets.atom)
    place = np.full(len(sets.atom), n_alive + 1)
    place[alive] = np.arange(n_alive)
    set_of[inside] = place[a]
    # Masses that a statement is about change by nothing together, and those of a set that is not alive by nothing.
    of = np.where(said.number[group, klass] >= 0, n_alive + 2 + said.number[group, klass], set_of[group])
    n_places = n_alive + 2 + n_known
    row, var = sets.other.row, sets.other.var
    pick = sparse.csr_matrix((np.ones(len(var)), (row, var)), shape=(n_rows, program.n))
    cover, _ = elimination.over_free(pick)
    branch, first = np.unique(np.column_stack([row, sets.other.block]), axis=0, return_index=True)
    whole = np.bincount(branch[:, 0], sets.other.size[first] / sets.other.weight[first], n_rows)
    for k in np.unique(row).tolist():
        number = np.asarray(cover[[k]].todense()).ravel()
        least, most = np.full(n_places, np.inf), np.full(n_places, -np.inf)
        np.minimum.at(least, of, number)
        np.maximum.at(most, of, number)
        differ: BoolArray = np.less(least, most)
        differ[n_alive + 1] = False
        if not differ.any() and most[n_alive] <= 0:
            together[k] = np.maximum(most[:n_alive], 0.0) / np.sqrt(whole[k])
    return gains, together


# Share of the room between its bounds that a mass keeps to each of them at the start.
ROOM = 1e-6
# Individuals, per individual, with which the start meets the equations: with 1e-6 some small optima are not proved.
MET = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class Priced:
    """The convex program, its start, and the variables ``at`` and rows of the original; the rest are slacks."""

    problem: GapProblem
    start: FloatArray
    program: LiftedProgram
    relaxed: Relaxation
    at: IntArray
    stated: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class Touched:
    """Points near which lines touch, shape (n,), and masses to start from."""

    relaxed: Relaxation
    points: tuple[FloatArray, ...]
    start: FloatArray


def between(
    program: LiftedProgram,
    answer: FloatArray | None,
    shares: tuple[float, ...],
    clock: Clock,
    without: FloatArray | None = None,
) -> Touched | None:
    """Points at shares of the way from an answer to the optimum ``without`` comparisons, or that optimum alone.

    None where sizes of branches are open, or aggregates are left without a definition.
    """
    if any((terms.size_var >= 0).any() for terms in program.terms):
        return None
    relaxed = relaxed_once(program) if program.n <= FEW else relax(program)
    elimination = relaxed.elimination
    if np.isnan(elimination.shift).any():
        return None
    met = MET * float(relaxed.linear.total.sum())
    free = None if without is None else without[: program.n_masses][elimination.free]
    if free is None or _missed(relaxed.linear, free) > met:
        free = minimise(relaxed.linear, tolerance=met, clock=clock).masses
    if answer is None:
        return Touched(relaxed, (elimination.point(free),), free)
    held = np.maximum(answer[: program.n_masses][elimination.free], 0.0)
    points = tuple(elimination.point((1.0 - share) * held + share * free) for share in shares)
    return Touched(relaxed, points, (held + free) / 2.0)


def _missed(linear: LinearEntropy, masses: FloatArray) -> float:
    """By how much masses miss the statements and the totals of their owners at most, individuals."""
    value = linear.matrix @ masses
    whole = np.bincount(linear.owner, masses, len(linear.total))
    misses = np.concatenate([linear.lower - value, value - linear.upper, np.abs(whole - linear.total), -masses])
    return float(misses.max(initial=0.0))


def priced(program: LiftedProgram, times: FloatArray, touched: Touched) -> Priced:
    """The convex program."""
    fixed = program.lower >= program.upper
    relaxed = touched.relaxed
    elimination = relaxed.elimination
    at = np.flatnonzero(~fixed)
    number = np.cumsum(~fixed) - 1
    known = np.where(fixed, program.lower, 0.0)
    start = touched.start
    price = prices(program, elimination, times, touched.points)
    curves, const = _comparisons(program, fixed, number)
    lines, moved_lines = _lines(price, program, fixed, number, len(const))
    n_slack = len(price.cost)
    chosen = program.matrix[:, at]
    moved = program.matrix @ known
    low, high = program.row_lower - moved, program.row_upper - moved
    said = np.diff(chosen.indptr) > 0
    same = said & (low == high)
    stated = np.array([origin is not None for origin in program.origins], bool)
    above, below = said & ~same & np.isfinite(low), said & ~same & np.isfinite(high)
    rows = _rows(price, chosen, above, below, fixed, number, len(const))
    masses = at < program.n_masses
    owner = program.owner[at[masses]]
    free_total = program.total - np.bincount(program.owner, known[: program.n_masses], len(program.total))
    whole = free_total[owner]
    upper = np.where(program.upper[at[masses]] < whole * (1 - 1e-12), program.upper[at[masses]], np.inf)
    nothing = np.full(int((~masses).sum()), np.inf)
    equal = chosen[same]
    wide = (int(same.sum()), len(at) + n_slack)
    least, most = program.lower[at[masses]], np.minimum(program.upper[at[masses]], whole)
    start = np.clip(start, least + ROOM * (most - least), most - ROOM * (most - least))
    problem = GapProblem(
        weight=np.concatenate([program.mass_weight[at[masses]], np.zeros(len(nothing) + n_slack)]),
        cost=np.concatenate([np.zeros(len(at)), price.cost]),
        lower=np.concatenate([least, -nothing, np.zeros(n_slack)]),
        upper=np.concatenate([upper, nothing, np.full(n_slack, np.inf)]),
        equal=sparse.csr_matrix((equal.data, equal.indices, equal.indptr), shape=wide),
        value=low[same],
        rows=rows,
        const=np.concatenate([const, price.const + moved_lines + price.linear @ known, -low[above], high[below]]),
        curves=curves + lines,
        bent=price.bent,
        owner=owner,
        total=free_total,
    )
    point = np.concatenate([elimination.point(start)[at], np.ones(n_slack)])
    return Priced(problem, point, program, relaxed, at, stated[same])


def _rows(
    price: Prices,
    chosen: sparse.csr_matrix,
    above: BoolArray,
    below: BoolArray,
    fixed: BoolArray,
    number: IntArray,
    n_before: int,
) -> sparse.csr_matrix:
    """The linear part of all rows: comparisons, of which it is slacks alone, lines, and inequalities."""
    lines, slack = price.linear.tocoo(), price.slack.tocoo()
    free = ~fixed[lines.col]
    n_first, n_free = int(price.slack.shape[0]), int(chosen.shape[1])
    row = [n_before + lines.row[free], slack.row]
    column = [number[lines.col[free]], n_free + slack.col]
    value = [lines.data[free], slack.data]
    n_rows = n_first
    for some, sign in ((above, 1.0), (below, -1.0)):
        if some.any():
            entries = chosen[some].tocoo()
            row.append(n_rows + entries.row)
            column.append(entries.col)
            value.append(sign * entries.data)
            n_rows += int(some.sum())
    places = np.concatenate(row), np.concatenate(column)
    return sparse.csr_matrix((np.concatenate(value), places), shape=(n_rows, n_free + int(price.slack.shape[1])))


def _comparisons(program: LiftedProgram, fixed: BoolArray, number: IntArray) -> tuple[tuple[Curves, ...], FloatArray]:
    """The comparisons in individuals over the variables that are not fixed, and their constants."""
    found, const = [], program.nl_const * program.nl_size
    for terms in program.terms:
        coef = terms.coef * program.nl_size[terms.row]
        curves = Curves(terms.phi, terms.row, terms.var, coef, terms.size, np.zeros(len(coef)))
        free, moved = _free(curves, program, fixed, number, len(const))
        found.append(free)
        const = const + moved
    return tuple(found), const


def _lines(
    price: Prices, program: LiftedProgram, fixed: BoolArray, number: IntArray, n_before: int
) -> tuple[tuple[Curves, ...], FloatArray]:
    """The rows that come with prices, numbered after the comparisons, and their constants."""
    n_lines = len(price.const)
    free = [_free(curves, program, fixed, number, n_lines) for curves in price.curves]
    lines = tuple(replace(curves, row=curves.row + n_before) for curves, _ in free)
    return lines, sum((moved for _, moved in free), np.zeros(n_lines))


def _free(
    curves: Curves, program: LiftedProgram, fixed: BoolArray, number: IntArray, n_rows: int
) -> tuple[Curves, FloatArray]:
    """The curves of variables that are not fixed, and what the others add to each row."""
    still = fixed[curves.var]
    a = program.lower[curves.var[still]] - curves.shift[still]
    value = np.zeros(len(a))
    some = a > 0
    value[some] = PHI[curves.phi].value(a[some], curves.size[still][some])
    moved: FloatArray = np.bincount(curves.row[still], curves.coef[still] * value, n_rows).astype(np.float64)
    parts = {name: getattr(curves, name)[~still] for name in ("row", "coef", "size", "shift")}
    return Curves(curves.phi, var=number[curves.var[~still]], **parts), moved
