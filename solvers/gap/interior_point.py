"""Primal-dual interior-point method for the relaxations of `maxent.solvers.gap`, with its Newton systems.

Minimise ``sum m ln(m / weight) + cost'x`` under ``equal x = value``, bounds, and rows ``sum of terms + rows x + const
>= 0``. The terms may bend the wrong way, as long as the Lagrangian is convex at all multipliers that are feasible in
the dual for the columns of `Problem.cost` and for `Problem.bent`. They begin as such, and stay so. So each Newton
system is that of a convex function, and where the iterates lead is the global optimum.

``bent`` has symmetric matrices A of the first rows: ``F = 1 - sum lam A``, with multipliers lam, is positive definite.
Its own multiplier Z, which adds ``<A, Z>`` to these rows, follows F by the direction of Helmberg, Rendl, Vanderbei and
Wolkowicz ("An interior-point method for semidefinite programming", SIAM Journal on Optimization 6, 1996).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from maxent.constraints.program.impurity_numpy import PHI
from maxent.models.arrays import INVERTIBLE, BoolArray, FloatArray, IntArray, ranges
from maxent.solvers.control import Clock
from maxent.solvers.newton.block_form import fast

# Newton systems of an interior-point method: symmetric, indefinite, with one sparsity pattern.
#
# Unknowns that meet each other nowhere are eliminated first, by their own pivots; what is left is a third of the
# system.

SPARSELY: dict[str, Any] = {
    "diag_pivot_thresh": 1e-12,
    "relax": 1,
    "panel_size": 5,
    "options": {"SymmetricMode": True},
}
# How systems are factored: with pivots from the diagonal, or, small ones where that is not accurate, with others.
STABLY: dict[str, Any] = {"permc_spec": "COLAMD", "diag_pivot_thresh": 0.1}
# Rows of a system that would take too long to factor stably.
LARGE = 4000
# Steps of iterative refinement, and the share of the right side up to which a system counts as solved.
REFINEMENTS, REFINED = 4, 1e-8
Solve = Callable[[FloatArray], FloatArray | None]


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """Where the entries of systems of ``size`` rows are: entry k of their values is added at ``row[k], column[k]``.

    The rows ``alone`` have no entries in each other's columns, and positive ones on the diagonal. Many of the ``last``
    ones meet each other: factors are sparse where these come last.
    """

    size: int
    row: IntArray
    column: IntArray
    alone: IntArray
    last: IntArray

    def product(self, values: FloatArray, x: FloatArray) -> FloatArray:
        """A matrix of the pattern times a vector."""
        return np.bincount(self.row, values * x[self.column], self.size).astype(np.float64, copy=False)


@dataclass(frozen=True, slots=True, eq=False)
class _Places:
    """Where values go once rows ``alone`` are eliminated: into compressed columns of the others, in their ``order``.

    Those of the others are ``inside``, at ``inside_at`` of the entries. From these the products of the values ``one``
    and ``other``, of the same row alone, ``of``, are taken, over its ``pivot``, at ``product_at``. What others have in
    the columns of rows alone is ``beside``.
    """

    order: IntArray
    alone: IntArray
    indptr: IntArray
    indices: IntArray
    entries: IntArray  # of the compressed columns, in the order in which places count them
    inside: IntArray
    inside_at: IntArray
    one: IntArray
    other: IntArray
    of: IntArray
    product_at: IntArray
    pivot: IntArray
    pivot_of: IntArray
    beside: IntArray
    beside_row: IntArray
    beside_of: IntArray

    @classmethod
    def of_pattern(cls, pattern: Pattern) -> _Places:
        """The places, in the order in which the pattern has the rows."""
        rest = np.setdiff1d(np.arange(pattern.size), pattern.alone)
        n = len(rest)
        number = np.full(pattern.size, -1)
        number[rest] = np.arange(n)
        place = np.full(pattern.size, -1)
        place[pattern.alone] = np.arange(len(pattern.alone))
        row, of = number[pattern.row], place[pattern.column]
        inside = np.flatnonzero((row >= 0) & (of < 0))
        pivot = np.flatnonzero((row < 0) & (of >= 0))
        beside = np.flatnonzero((row >= 0) & (of >= 0))
        beside = beside[np.argsort(of[beside], kind="stable")]
        begin = np.searchsorted(of[beside], np.arange(len(pattern.alone) + 1))
        first, behind = begin[of[beside]], begin[of[beside] + 1]
        one, other = np.repeat(beside, behind - first), beside[ranges(first, behind)]
        at = np.concatenate([number[pattern.column[inside]] * n + row[inside], row[other] * n + row[one]])
        key, at = np.unique(at, return_inverse=True)
        columns, indices = np.divmod(key, max(n, 1))
        return cls(
            order=rest,
            alone=pattern.alone,
            indptr=np.searchsorted(columns, np.arange(n + 1)).astype(np.int32),
            indices=indices.astype(np.int32),
            entries=np.arange(len(key)),
            inside=inside,
            inside_at=at[: len(inside)],
            one=one,
            other=other,
            of=of[one],
            product_at=at[len(inside) :],
            pivot=pivot,
            pivot_of=of[pivot],
            beside=beside,
            beside_row=row[beside],
            beside_of=of[beside],
        )

    def ordered(self, order: IntArray) -> _Places:
        """The places with the rows that are left in another order."""
        n = len(order)
        moved = sparse.csc_matrix((self.entries, self.indices, self.indptr), shape=(n, n))[order][:, order].tocsc()
        moved.sort_indices()
        number = np.empty(n, np.int64)
        number[order] = np.arange(n)
        return replace(
            self,
            order=self.order[order],
            indptr=moved.indptr,
            indices=moved.indices,
            entries=moved.data,
            beside_row=number[self.beside_row],
        )

    def condensed(self, values: FloatArray) -> _Condensed:
        """The system without the rows alone."""
        n, n_alone = len(self.order), len(self.alone)
        pivots = np.bincount(self.pivot_of, values[self.pivot], n_alone).astype(np.float64, copy=False)
        products = values[self.one] * values[self.other] / pivots[self.of]
        data = np.bincount(self.inside_at, values[self.inside], len(self.entries))
        data -= np.bincount(self.product_at, products, len(self.entries))
        left = sparse.csc_matrix((data[self.entries], self.indices, self.indptr), shape=(n, n))
        return _Condensed(self, left, pivots, values[self.beside])


@dataclass(frozen=True, slots=True, eq=False)
class _Condensed:
    """A system without rows alone: the ``left`` ones, their ``beside`` in the columns of these, and the pivots."""

    places: _Places
    left: sparse.csc_matrix
    pivots: FloatArray
    beside: FloatArray

    def solved(self, right: FloatArray, solve: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Solution of the whole system from that of the reduced system."""
        places = self.places
        row, of = places.beside_row, places.beside_of
        alone = right[places.alone]
        moved = np.bincount(row, self.beside * (alone / self.pivots)[of], len(places.order))
        found = solve(right[places.order] - moved)
        out = np.empty(len(right))
        out[places.order] = found
        out[places.alone] = (alone - np.bincount(of, self.beside * found[row], len(alone))) / self.pivots
        return out


@dataclass(slots=True, eq=False)
class Systems:
    """State of solving systems of one pattern: the order of rows and columns that keeps the factors sparse."""

    pattern: Pattern
    _places: _Places | None = None

    def factored(self, values: FloatArray) -> Solve:
        """A function from right sides to the solutions of a system, None where it has none that is accurate."""
        solves = [self._sparsely(values)]

        def solved(right: FloatArray) -> FloatArray | None:
            found = self._refined(solves[0], values, right)
            if found is None and self.pattern.size <= LARGE:
                if len(solves) == 1:
                    solves.append(self._stably(values))
                found = self._refined(solves[1], values, right)
            return found

        return solved

    def _sparsely(self, values: FloatArray) -> Solve:
        from scipy.sparse.linalg import splu

        if self._places is None:
            self._places = _ordered(self.pattern, values)
        condensed = self._places.condensed(values)
        try:
            factor = splu(condensed.left, permc_spec="NATURAL", **SPARSELY)
        except RuntimeError:  # a pivot is exactly 0
            return lambda right: None
        return lambda right: condensed.solved(right, factor.solve)

    def _stably(self, values: FloatArray) -> Solve:
        from scipy.sparse.linalg import splu

        n = self.pattern.size
        try:
            factor = splu(sparse.csc_matrix((values, (self.pattern.row, self.pattern.column)), shape=(n, n)), **STABLY)
        except RuntimeError:
            return lambda right: None
        return factor.solve  # type: ignore[no-any-return]

    def _refined(self, straight: Solve, values: FloatArray, right: FloatArray) -> FloatArray | None:
        """A solution, refined until it is accurate."""
        found = straight(right)
        for _ in range(REFINEMENTS):
            if found is None:
                return None
            off = right - self.pattern.product(values, found)
            if not np.isfinite(off).all():
                return None
            if np.abs(off).max(initial=0.0) <= REFINED * np.abs(right).max(initial=0.0):
                return found
            more = straight(off)
            found = None if more is None else found + more
        return None


def _ordered(pattern: Pattern, values: FloatArray) -> _Places:
    """The places, in an order that keeps the factors sparse: it is found once, by factors that keep no entry."""
    from scipy.sparse.linalg import spilu

    places = _Places.of_pattern(pattern)
    last = np.flatnonzero(np.isin(places.order, pattern.last))
    others = np.setdiff1d(np.arange(len(places.order)), last)
    left = places.condensed(values).left[others][:, others]
    try:
        order = np.argsort(spilu(left, drop_tol=1.0, fill_factor=1.0, permc_spec="MMD_AT_PLUS_A", **SPARSELY).perm_c)
    except RuntimeError:
        order = np.arange(len(others))
    return places.ordered(np.concatenate([others[order], last]))


# Share of the way to a bound that a step may go, and again where such steps lead nowhere: prices that leave a
# Lagrangian nearly flat make long ones useless. The third is of the way to where a matrix is singular.
BOLD, CAREFUL, WITHIN = 0.999, 0.9, 0.9
# What steps are multiplied by until they are short enough, and how short they become.
SHORTER, LEAST = 0.9, 1e-6
# What complementarity is aimed at, as a share of its mean: the third power of what a step towards 0 leaves of it,
# between the first and the third; at least the second where equations are off by more than the fourth times that mean.
LEAST_CENTRED, BEHIND, MOST_CENTRED, TOWARDS = 0.02, 0.5, 0.9, 1e5
# What multipliers may prove more than the best ones, as a share of what the objective is then below ``-enough``.
PROVED = 0.02
# The least mean of products of slacks and multipliers that is aimed at, as a share of what the tolerance needs.
LEAST_PRODUCT = 0.1
# Bold Newton steps at most, and careful ones.
STEPS, MORE = 25, 60
# Added to the Hessian's diagonal, and taken from that of the equations, which may repeat each other: the latter as a
# share of what the equation's variables add up to.
RIDGE, DUAL_RIDGE = 1e-10, 1e-11


@dataclass(frozen=True, slots=True, eq=False)
class BarrierProof:
    """What multipliers prove: the negative of the objective is at most ``most``, nats."""

    most: float
    above: float


@dataclass(frozen=True, slots=True, eq=False)
class Iterate:
    """A point with its multipliers: of the equations (any sign), of rows and bounds (not negative).

    ``error``, nats, is about what the Lagrangian is off the optimum: 0 there, where all products of slacks and
    multipliers vanish, and ``gradient + equal'y - slopes'rows - below + above``. ``close`` is whether that will do, or
    what its multipliers prove, where that was looked at.
    """

    x: FloatArray
    y: FloatArray
    rows: FloatArray
    below: FloatArray
    above: FloatArray
    error: float
    steps: int
    close: bool = False
    proof: BarrierProof | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """A point, multipliers and slacks on the way; of a step, their changes. ``room`` is F, ``moment`` Z."""

    x: FloatArray
    y: FloatArray
    slack: FloatArray
    lam: FloatArray
    below: FloatArray
    above: FloatArray
    room: FloatArray
    moment: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class _Bounds:
    """Which variables have bounds, and these, 0 for those without."""

    has_low: BoolArray
    has_high: BoolArray
    low: FloatArray
    high: FloatArray
    inside: float

    def rooms(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """How far variables are from their bounds, 1 for those without."""
        return np.where(self.has_low, x - self.low, 1.0), np.where(self.has_high, self.high - x, 1.0)

    def complementary(self, at: _State) -> FloatArray:
        """Products of slacks and multipliers, all 0 at the optimum."""
        room_low, room_high = self.rooms(at.x)
        pairs = [at.slack * at.lam, (room_low * at.below)[self.has_low], (room_high * at.above)[self.has_high]]
        return np.concatenate([*pairs, np.einsum("ij,ij->i", at.room, at.moment)])

    def moved(self, at: _State, step: _State) -> _State:
        """The state after as much of a step as its bounds let go."""
        room_low, room_high = self.rooms(at.x)
        has_low, has_high, inside = self.has_low, self.has_high, self.inside
        primal = min(
            _longest(room_low[has_low], step.x[has_low], inside),
            _longest(room_high[has_high], -step.x[has_high], inside),
            _longest(at.slack, step.slack, inside),
            _furthest(at.moment, step.moment),
        )
        dual = min(
            _longest(at.lam, step.lam, inside),
            _longest(at.below[has_low], step.below[has_low], inside),
            _longest(at.above[has_high], step.above[has_high], inside),
            _furthest(at.room, step.room),
        )
        return _State(
            x=at.x + primal * step.x,
            y=at.y + dual * step.y,
            slack=at.slack + primal * step.slack,
            lam=at.lam + dual * step.lam,
            below=at.below + dual * step.below,
            above=at.above + dual * step.above,
            room=at.room + dual * step.room,
            moment=at.moment + primal * step.moment,
        )


def _begun(problem: GapProblem, start: FloatArray, bounds: _Bounds) -> _State:
    # What rows bend by alone makes their multipliers smaller here, where that is known.
    least, largest = (0.1, 1.0) if problem.bent.vectors.size else (1.0, 0.05)
    slack = np.maximum(problem.left(start), least)
    lam = np.minimum(0.1 / slack, largest)
    priced = problem.cost > 0
    paid = problem.paid(lam)[priced] / problem.cost[priced]
    bent = 1.0 - float(np.linalg.eigvalsh(problem.bend_left(lam)).min(initial=1.0))
    lam *= 0.5 / max(0.5, float(paid.max(initial=0.0)), bent)
    return _State(
        x=start,
        y=np.zeros(len(problem.value)),
        slack=slack,
        lam=lam,
        below=np.where(priced, problem.cost - problem.paid(lam), np.where(bounds.has_low, 0.1, 0.0)),
        above=np.where(bounds.has_high, 0.1, 0.0),
        room=problem.bend_left(lam),
        moment=np.eye(problem.bent.vectors.shape[1]),
    )


def solve(
    problem: GapProblem,
    start: FloatArray,
    tolerance: float,
    clock: Clock,
    share: float = 0.0,
    enough: float = -np.inf,
    inside: float = BOLD,
    prove: Callable[[Iterate, float], BarrierProof] | None = None,
) -> Iterate:
    """Newton steps from a start strictly within the bounds, until the error is below a tolerance, nats.

    An error that is a ``share`` of what the objective is below ``-enough`` will do, too, where that is finite, and
    multipliers that ``prove`` nearly what the best ones would. They often do when the point is not yet the optimum.

    Each is made in two halves (Mehrotra, "On the implementation of a primal-dual interior point method", SIAM Journal
    on Optimization 2, 1992), and goes a share of the way to the next bound, ``inside``. It ends early, with the best
    iterate, where rounding allows no further progress and when the clock says so.
    """
    has_low, has_high = np.isfinite(problem.lower), np.isfinite(problem.upper)
    low, high = np.where(has_low, problem.lower, 0.0), np.where(has_high, problem.upper, 0.0)
    bounds = _Bounds(has_low, has_high, low, high, inside)
    most = STEPS if inside == BOLD else MORE
    at = _begun(problem, start, bounds)
    best, steps = Iterate(at.x, at.y, at.lam, at.below, at.above, np.inf, 0), 0
    systems = Systems(_pattern(problem))
    while True:
        newton = _Newton(problem, at, bounds, systems)
        products = bounds.complementary(at)
        mean, least = float(products.mean()), LEAST_PRODUCT * tolerance / len(products)
        error = newton.error()
        if not np.isfinite(error):
            return best
        if error < best.error:
            best = Iterate(at.x, at.y, at.lam, at.below, at.above, error, steps)
        lacks = -problem.objective(at.x) - enough if np.isfinite(enough) else 0.0
        allowed, near = max(tolerance, share * lacks), max(tolerance, PROVED * lacks)
        if error <= allowed or steps == most or clock.stop() is not None:
            return replace(best, close=error <= allowed)
        apart = newton.apart()
        if prove is not None and apart <= near:
            now = Iterate(at.x, at.y, at.lam, at.below, at.above, error, steps)
            proof = prove(now, near)
            if proof.above + apart <= near:
                return replace(now, close=True, proof=proof)
        straight = newton.step(0.0, None)
        if straight is None:
            return best
        left = float(bounds.complementary(bounds.moved(at, straight)).mean()) / mean
        off = max(_largest(at.x * newton.pull), _largest(newton.miss_rows), _largest(newton.miss_equal))
        behind = off > TOWARDS * max(mean, least)
        aim = min(max(left**3, BEHIND if behind else LEAST_CENTRED), MOST_CENTRED)
        step = newton.step(max(aim * mean, least), None if behind else straight)
        if step is None:
            return best
        at, steps = bounds.moved(at, step), steps + 1


def _pattern(problem: GapProblem) -> Pattern:
    """The pattern of the Newton systems: over variables, then equations, then rows."""
    n, n_equal, n_bent = len(problem.weight), len(problem.value), len(problem.bent)
    size = n + n_equal + len(problem.const)
    equal_row = n + np.repeat(np.arange(n_equal), np.diff(problem.equal.indptr))
    equal_column = problem.equal.indices.astype(np.int64)
    slope_row, slope_column = problem.slope_places
    slope_row = slope_row + n + n_equal
    bent = n + n_equal + np.arange(n_bent)
    whole = np.arange(size)
    row = [whole, equal_row, equal_column, slope_row, slope_column, np.repeat(bent, n_bent)]
    column = [whole, equal_column, equal_row, slope_column, slope_row, np.tile(bent, n_bent)]
    alone = problem.weight > 0  # masses, but for those that rows bend by
    for terms in problem.curves:
        alone[terms.var] = False
    last = np.arange(n + n_equal, size)
    return Pattern(size, np.concatenate(row), np.concatenate(column), np.flatnonzero(alone), last)


class _Newton:
    """The Newton system at a state: factored once, for two right sides, where a step is asked for."""

    def __init__(self, problem: GapProblem, at: _State, bounds: _Bounds, systems: Systems) -> None:
        self.problem, self.at, self.bounds, self.bent, self._systems = problem, at, bounds, problem.bent, systems
        self._value = value = problem.slope_values(at.x)
        row, column = problem.slope_places
        self.room_low, self.room_high = bounds.rooms(at.x)
        slopes = np.bincount(column, value * at.lam[row], len(at.x))
        self.pull = problem.gradient(at.x) + problem.pulled(at.y) - slopes - at.below + at.above
        self.miss_equal = problem.missed(at.x)
        self.miss_rows = problem.left(at.x) - at.slack
        self.miss_rows[: len(self.bent)] += self.bent.products(at.moment)

    @cached_property
    def inverse(self) -> FloatArray:
        """The inverse of F."""
        return np.linalg.inv(self.at.room).astype(np.float64)

    @cached_property
    def _solved(self) -> Solve:
        problem, at, value = self.problem, self.at, self._value
        diagonal = problem.bend(at.x, at.lam) + at.below / self.room_low + at.above / self.room_high + RIDGE
        by_lam = self.bent.between(at.moment, self.inverse)
        equal = problem.equal.data
        ridge = DUAL_RIDGE * (problem.squared @ np.abs(at.x))
        values = [diagonal, -ridge, -at.slack / at.lam, equal, equal, -value, -value, -by_lam.ravel()]
        return self._systems.factored(np.concatenate(values))

    def error(self) -> float:
        """Estimated distance of the Lagrangian from its optimum, nats."""
        at, problem = self.at, self.problem
        off = problem.lowered(at.x, self.pull + np.where(self._natural, at.below, 0.0)) + self._products()
        return off + float(at.lam.max(initial=0.0)) * float(np.abs(self.miss_rows).sum())

    def apart(self) -> float:
        """Estimated excess of the dual bound over the best one, nats."""
        return self._products() + float(self.at.lam @ np.abs(self.miss_rows))

    @cached_property
    def _natural(self) -> BoolArray:
        """The masses that are at least 0 without a multiplier, too."""
        found: BoolArray = self.bounds.has_low & (self.problem.weight > 0) & (self.bounds.low == 0)
        return found

    def _products(self) -> float:
        """All products of slacks and multipliers, but those of `_natural`."""
        at, bounds = self.at, self.bounds
        found = float((self.room_low * at.below)[bounds.has_low & ~self._natural].sum())
        found += float((self.room_high * at.above)[bounds.has_high].sum() + at.slack @ at.lam)
        return found + float(np.abs(np.einsum("ij,ij->i", at.room, at.moment)).sum())

    def step(self, target: float, straight: _State | None) -> _State | None:
        """The step towards products of slacks and multipliers that are a target; None where it is not accurate."""
        at, has_low, has_high = self.at, self.bounds.has_low, self.bounds.has_high
        to_slack, to_low, to_high = (np.full(len(values), target) for values in (at.slack, at.x, at.x))
        followed = np.zeros(at.room.shape)
        if straight is not None:
            to_slack = to_slack - straight.slack * straight.lam
            to_low = to_low - straight.x * straight.below
            to_high = to_high + straight.x * straight.above
            followed = straight.moment @ straight.room @ self.inverse
        add_slack = to_slack / at.lam - at.slack
        add_low = np.where(has_low, to_low / self.room_low - at.below, 0.0)
        add_high = np.where(has_high, to_high / self.room_high - at.above, 0.0)
        add_moment = target * self.inverse - at.moment - (followed + followed.T) / 2
        more = self.miss_rows - add_slack
        more[: len(self.bent)] += self.bent.products(add_moment)
        found = self._solved(np.concatenate([add_low - add_high - self.pull, -self.miss_equal, more]))
        if found is None:
            return None
        dx, dy, dl = np.split(found, [len(at.x), len(at.x) + len(at.y)])
        room = -self.bent.total(dl[: len(self.bent)])
        followed = at.moment @ room @ self.inverse
        return _State(
            x=dx,
            y=dy,
            slack=add_slack - at.slack / at.lam * dl,
            lam=dl,
            below=add_low - at.below / self.room_low * dx,
            above=add_high + at.above / self.room_high * dx,
            room=room,
            moment=add_moment - (followed + followed.T) / 2,
        )


def _largest(values: FloatArray) -> float:
    return float(np.abs(values).max(initial=0.0))


def _longest(values: FloatArray, change: FloatArray, inside: float) -> float:
    """The longest step, at most 1, that leaves positive values positive: a share of the way to where one is 0."""
    relative = np.maximum(-change / values, 0.0).max(initial=0.0)
    return float(min(1.0, inside / max(relative, INVERTIBLE)))


def _furthest(matrix: FloatArray, change: FloatArray) -> float:
    """A step, at most 1 and not much shorter than the longest, that leaves a positive definite matrix so."""
    step = 1.0
    while step > LEAST:
        try:
            np.linalg.cholesky(matrix + step / WITHIN * change)
        except np.linalg.LinAlgError:
            step *= SHORTER
        else:
            break
    return step


# Input of `maxent.solvers.gap.interior_point`: entropy, rows of curves, and their allowed curvature.


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """Terms ``coef * phi(x[var] - shift, size)`` of rows, all of one phi; arrays of one length."""

    phi: str
    row: IntArray
    var: IntArray
    coef: FloatArray
    size: FloatArray
    shift: FloatArray

    def a(self, x: FloatArray) -> FloatArray:
        """The first argument of phi, kept off 0."""
        return np.maximum(x[self.var] - self.shift, INVERTIBLE)


@dataclass(frozen=True, eq=False)
class Bent:
    """Matrices ``sum_c weight[r, c] v_c v_c'`` of rows r, from ``vectors`` v, shape (n_vectors, a)."""

    vectors: FloatArray
    weight: sparse.csr_matrix

    def __len__(self) -> int:
        return int(self.weight.shape[0])

    @cached_property
    def _weights(self) -> tuple[Any, Any]:
        """The weights and their transpose, in the format with the fastest products."""
        return fast(self.weight), fast(self.weight.T.tocsr())

    def total(self, multipliers: FloatArray) -> FloatArray:
        """The sum of the matrices times multipliers, shape (a, a)."""
        found: FloatArray = (self.vectors.T * (self._weights[1] @ multipliers)) @ self.vectors
        return found

    def products(self, matrix: FloatArray) -> FloatArray:
        """The inner products of the matrices with another one, shape (n_rows,)."""
        found: FloatArray = self._weights[0] @ ((self.vectors @ matrix) * self.vectors).sum(axis=1)
        return found

    def between(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """``trace(A_r left A_s right)`` of any two of the matrices A, shape (n_rows, n_rows)."""
        one, other = (self.vectors @ matrix @ self.vectors.T for matrix in (left, right))
        weight = self._weights[0]
        found: FloatArray = weight @ (weight @ (one * other)).T
        return found


@dataclass(frozen=True, eq=False)
class GapProblem:
    """See the text of `maxent.solvers.gap.interior_point`.

    ``weight``, shape (n,), is 0 for what is no mass, which come last; ``lower`` and ``upper`` may be infinite.
    ``curves`` count rows as ``rows``, shape (n_rows, n), does. ``bent`` has matrices of the first rows. The masses of
    each ``owner``, shape (n_masses,), add up to its ``total``.
    """

    weight: FloatArray
    cost: FloatArray
    lower: FloatArray
    upper: FloatArray
    equal: sparse.csr_matrix
    value: FloatArray
    rows: sparse.csr_matrix
    const: FloatArray
    curves: tuple[Curves, ...]
    bent: Bent
    owner: IntArray
    total: FloatArray

    def objective(self, x: FloatArray) -> float:
        """The objective, which is minimised, nats."""
        masses = self.weight > 0
        m = np.maximum(x[masses], INVERTIBLE)
        return float((m * np.log(m / self.weight[masses])).sum() + self.cost @ x)

    def left(self, x: FloatArray) -> FloatArray:
        """The rows' left sides."""
        out: FloatArray = self._rows[0] @ x + self.const
        for terms in self.curves:
            a = terms.a(x)
            out += np.bincount(terms.row, terms.coef * PHI[terms.phi].value(a, terms.size), len(out))
        return out

    def missed(self, x: FloatArray) -> FloatArray:
        """By how much the equations are missed."""
        found: FloatArray = self._equal[0] @ x - self.value
        return found

    def pulled(self, y: FloatArray) -> FloatArray:
        """Gradient of the equations times their multipliers, shape (n,)."""
        found: FloatArray = self._equal[1] @ y
        return found

    def paid(self, multipliers: FloatArray) -> FloatArray:
        """Gradient of the rows times their multipliers, shape (n,)."""
        found: FloatArray = self._rows[1] @ multipliers
        return found

    @cached_property
    def squared(self) -> Any:
        """The squares of the equations' coefficients."""
        return fast(self.equal.power(2))

    @cached_property
    def _equal(self) -> tuple[Any, Any]:
        return fast(self.equal), fast(self.equal.T.tocsr())

    @cached_property
    def _rows(self) -> tuple[Any, Any]:
        return fast(self.rows), fast(self.rows.T.tocsr())

    @cached_property
    def slope_places(self) -> tuple[IntArray, IntArray]:
        """Rows and columns of what `slope_values` are; some places come twice."""
        rows = self.rows.tocoo()
        parts = [(rows.row, rows.col), *((terms.row, terms.var) for terms in self.curves)]
        row, column = (np.concatenate(some).astype(np.int64) for some in zip(*parts, strict=True))
        return row, column

    def slope_values(self, x: FloatArray) -> FloatArray:
        """The entries of the rows' gradients, to be added up."""
        parts = [self.rows.data]
        for terms in self.curves:
            parts.append(terms.coef * PHI[terms.phi].d_a(terms.a(x), terms.size))
        return np.concatenate(parts)

    def slopes(self, x: FloatArray) -> sparse.csr_matrix:
        """The rows' gradients."""
        return sparse.csr_matrix((self.slope_values(x), self.slope_places), shape=self.rows.shape)

    def gradient(self, x: FloatArray) -> FloatArray:
        """The objective's gradient."""
        masses = self.weight > 0
        out = self.cost.copy()
        out[masses] += np.log(np.maximum(x[masses], INVERTIBLE) / self.weight[masses]) + 1.0
        return out

    def lowered(self, x: FloatArray, gradient: FloatArray) -> float:
        """Frank-Wolfe gap: the most by which a convex function can be lower than at x."""
        by_mass, rest = np.split(gradient, [len(self.owner)])
        m, others = np.split(x, [len(self.owner)])
        least = np.full(len(self.total), np.inf)
        np.minimum.at(least, self.owner, by_mass)
        some = np.isfinite(least)
        return float(m @ by_mass - self.total[some] @ least[some] + np.abs(others * rest).sum())

    def bend_left(self, multipliers: FloatArray) -> FloatArray:
        """``1 - sum lam A``: what is left for rows to bend at some multipliers of them, shape (a, a)."""
        found: FloatArray = np.eye(self.bent.vectors.shape[1]) - self.bent.total(multipliers[: len(self.bent)])
        return found

    def bend(self, x: FloatArray, multipliers: FloatArray) -> FloatArray:
        """The diagonal of the Lagrangian's Hessian."""
        out = np.where(self.weight > 0, 1.0 / np.maximum(x, INVERTIBLE), 0.0)
        for terms in self.curves:
            a = terms.a(x)
            by_aa = multipliers[terms.row] * terms.coef * PHI[terms.phi].d_aa(a, terms.size)
            out -= np.bincount(terms.var, by_aa, len(out))
        return out
