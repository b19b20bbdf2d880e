"""Newton's method on the dual of the linear entropy problem, with preconditioned conjugate gradients.

Where Newton's matrix is dense, each step goes to the minimum of the quadratic model with the kinks of ``y_r = 0`` in
it (Lee, Sun & Saunders, "Proximal Newton-type methods for minimizing composite functions", SIAM J. Optim. 24, 2014).
All rows on a wrong side of their kinks are exchanged at once (Judice & Pires, "A block principal pivoting algorithm for
large-scale strictly monotone linear complementarity problems", Comput. Oper. Res. 21, 1994); where that does not end,
active sets descend, and rows of narrow intervals cross their kinks together. Else the two-metric projection
(Bertsekas, "Projected Newton methods for optimization problems with simple constraints", SIAM J. Control Optim. 20,
1982) keeps every ``y_r`` on its side of the kink during a step. Where statements force a mass to 0 the multiplier is
infinite: steps of about 1 then each divide the mass by e.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from maxent.constraints.program.program import components
from maxent.models.arrays import INVERTIBLE, BoolArray, FloatArray, IntArray
from maxent.solvers.control import Clock
from maxent.solvers.derivatives import cholesky, cholesky_in_place
from maxent.solvers.dual.linear_entropy import OVERLAPPING_FACTOR, LinearEntropy

# Added to the Hessian's diagonal, as shares of ``sum_i C_ri^2 m_i``, the first that lets it be factored. Rows may
# repeat each other, or the owners' totals, and rounding may make them contradict each other by a little.
RIDGES = (1e-12, 1e-10, 1e-8, 1e-6, 1e-4)
# The same where the Hessian is sparse: that factorisation does not tell.
SPARSE_RIDGE = 1e-11
# Rows whose masses are less than this share of another row's count as having that share.
VANISHED = 1e-16
# Largest change of a log-odds in one step: a softmax that far from here has nothing to do with the Hessian here.
LONGEST = 25.0
# Share of the decrease that the gradient promises which a step has to achieve.
ARMIJO = 1e-4
# Shorter steps to try before giving up.
HALVINGS = 60
# How the softness changes after steps shorter than `SHORT` and after whole ones, and between which limits.
SOFTER, HARDER, SOFTEST, HARDEST, SHORT = 100.0, 0.1, 0.1, 1e-13, 0.25
# Rows up to which a system that may be solved nearly is factored all the same: products of sparse rows and a dense
# factor take less time than conjugate gradients.
DIRECT = 2_500
# Multipliers closer than this to 0, and on their way there, do not take part in Newton's system.
NEAR = 1e-3
# Of the model with kinks: factorisations of 1,000 rows that it takes at most, the fewest whatever the size, and by how
# much of a sum a row at its kink lies outside its interval before it moves.
FACTORS, FEWEST, OUTSIDE = 400, 10, 1e-12
# Exchanges of sides, at most, and how many do not leave fewer rows on a wrong side before half of these are exchanged.
EXCHANGES, PATIENCE = 60, 5


@dataclass(frozen=True, slots=True, eq=False)
class DualPoint:
    """The end of a minimisation of ``D``.

    ``bound`` (nats) is ``D`` at ``multipliers``, valid wherever it ended; ``masses`` are those that go with them.
    ``residual`` is how far the masses are from meeting the rows (individuals), or the multiplier of an inequality that
    they meet with slack, if that is less; it is 0 at the optimum. ``step`` is the last change of the multipliers.
    """

    multipliers: FloatArray
    masses: FloatArray
    bound: float
    residual: float
    iterations: int
    step: FloatArray


def minimise(
    problem: LinearEntropy,
    start: FloatArray | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 200,
    clock: Clock | None = None,
    softness: float | None = None,
    *,
    longer: bool = False,
) -> DualPoint:
    """The smallest upper bound that multipliers give, and with it the maximum-entropy masses.

    ``start``, shape (n_rows,): Multipliers to start from, by default 0; signs that a row does not allow are taken as 0.
    ``tolerance``: the ``residual`` to reach. ``max_iterations``: Newton steps. ``clock``: asked before each of them,
    and within, whether to stop. ``softness``: for rows that overlap: Newton's systems are solved by conjugate
    gradients, with masses mixed to this share with their owner's mean, from which less and less is taken the longer the
    steps become. Where a mass is nearly 0 and has to rise, the Hessian there knows nothing of where. ``longer``:
    whether steps may be longer than Newton's: the masses that have to vanish do so faster. Result: the best point
    found; it also ends where rounding allows no further progress, and where rows contradict each other as soon as the
    bound proves it.
    """
    n_rows, clock = len(problem.lower), clock or Clock()
    now = _Place.at(problem, _allowed(problem, np.zeros(n_rows) if start is None else start))
    iterations, step = 0, _Step(np.zeros(n_rows))
    while now.residual > tolerance and now.value >= problem.least - 1.0 and iterations < max_iterations:
        step = _direction(problem, now, clock, softness, step.side)
        length = 0.0 if clock.stop() is not None else _search(problem, now, step, longer=longer)
        if not length:
            break
        now, iterations = _Place.at(problem, step.to(now, length)), iterations + 1
        if softness is not None and length < SHORT:
            softness = min(SOFTER * softness, SOFTEST)
        elif softness is not None and length >= 1:
            softness = max(HARDER * softness, HARDEST)
    return DualPoint(now.y, now.masses, now.value, now.residual, iterations, step.change)


def multipliers_at(
    problem: LinearEntropy, masses: FloatArray, tight: BoolArray, clock: Clock | None = None
) -> FloatArray:
    """Multipliers under which some masses are stationary, as nearly as the ``tight`` rows' can make them, else 0.

    It is the solution of ``ln(m_i / w_i) = (C'y)_i + a constant of the owner`` with the least squares, weighted by the
    masses.
    """
    y = np.zeros(len(problem.lower))
    rows = np.flatnonzero(tight)
    if len(rows):
        wanted = masses * problem.centred(np.log(masses / problem.weight), masses)
        y[rows] = _newton(problem, masses, rows, (problem.matrix @ wanted)[rows], clock or Clock())
    return _allowed(problem, y)


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """Multipliers with the data for a step.

    ``activity`` is ``C m``, ``gradient`` that towards the ``side`` (-1, 1) of the kink on which a row moves; 0 for rows
    that stay at 0. The side is 0 for equations, which have no kink.
    """

    y: FloatArray
    value: float
    masses: FloatArray
    activity: FloatArray
    gradient: FloatArray
    side: FloatArray
    residual: float

    @classmethod
    def at(cls, problem: LinearEntropy, y: FloatArray) -> _Place:
        value, masses = problem._at(y)
        activity = problem.matrix @ masses
        inside = np.clip(activity, problem.lower, problem.upper)
        gradient = activity - np.where(y > 0, problem.lower, np.where(y < 0, problem.upper, inside))
        gradient[problem.empty] = 0.0
        equation = problem.lower == problem.upper
        side = np.where(equation, 0.0, np.where(y != 0, np.sign(y), -np.sign(gradient)))
        towards_kink = side * gradient > 0
        left = np.where(towards_kink, np.minimum(np.abs(gradient), np.abs(y)), np.abs(gradient))
        return cls(y, value, masses, activity, gradient, side, float(left.max(initial=0.0)))


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """A change of the multipliers, which stop at their kinks where the step is ``projected``.

    ``side`` is that of the kink on which each row is at the end of the whole step, where that is known.
    """

    change: FloatArray
    side: FloatArray | None = None
    projected: bool = False

    def to(self, now: _Place, length: float) -> FloatArray:
        """The multipliers after a share of the step."""
        y = now.y + length * self.change
        return np.where(now.side * y < 0, 0.0, y) if self.projected else y


def _allowed(problem: LinearEntropy, y: FloatArray) -> FloatArray:
    """Multipliers with 0 for those that price a side that is not there, or a row that says nothing."""
    missing = np.where(y > 0, np.isinf(problem.lower), np.isinf(problem.upper))
    return np.where(missing | problem.empty, 0.0, y)


def _direction(
    problem: LinearEntropy, now: _Place, clock: Clock, softness: float | None, side: FloatArray | None
) -> _Step:
    """Newton's direction in the rows that move freely; ``side`` is that of the step before."""
    masses = now.masses if softness is None else problem.softened(now.masses, softness)
    nearly, rows = softness is not None, np.flatnonzero((now.gradient != 0) | (now.y != 0))
    if not nearly and (matrix := _system(problem, masses, rows, nearly=False)) is not None:
        change, ends = np.zeros((2, len(now.y)))
        model = _KinkedModel.of(problem, now, rows, matrix)
        change[rows], ends[rows] = model.minimum(clock, None if side is None else side[rows])
        return _Step(change, ends)
    return _Step(_towards_kinks(problem, now, masses, clock, nearly=nearly), projected=True)


def _towards_kinks(
    problem: LinearEntropy, now: _Place, masses: FloatArray, clock: Clock, *, nearly: bool
) -> FloatArray:
    """Newton's direction, straight to the kink for rows about to reach it."""
    # Rows at their kink that the direction would take across it stay there, and the others' direction is found anew.
    binding = (now.side * now.gradient > 0) & (np.abs(now.y) <= min(NEAR, now.residual))
    direction = np.where(binding, -now.y, 0.0)
    moving = ((now.gradient != 0) | (now.y != 0)) & ~binding
    first = np.flatnonzero(moving)
    known = _system(problem, masses, first, nearly=nearly)
    while moving.any() and clock.stop() is None:
        rows = np.flatnonzero(moving)
        if known is not None and len(rows) < len(first):
            held = moving[first]
            first, known = rows, known[np.ix_(held, held)]
        step = -_newton(problem, masses, rows, now.gradient[rows], clock, nearly=nearly, known=known)
        across = (now.y[rows] == 0) & (now.side[rows] * step < 0)
        if not across.any():
            direction[rows] = step
            break
        moving[rows[across]] = False
    return direction


@dataclass(frozen=True, slots=True, eq=False)
class _KinkedModel:
    """``D`` near a point, of some rows: a quadratic function and the kinks of ``-[y]_+'lower + [y]_-'upper``.

    ``matrix`` and all numbers are in units in which its diagonal is 1; ``y`` times ``scale`` are multipliers. ``side``
    is the side of its kink on which each row moves first, 0 for equations.
    """

    matrix: FloatArray
    scale: FloatArray
    y: FloatArray
    activity: FloatArray
    lower: FloatArray
    upper: FloatArray
    side: FloatArray

    @classmethod
    def of(cls, problem: LinearEntropy, now: _Place, rows: IntArray, hessian: FloatArray) -> _KinkedModel:
        scale = 1 / np.sqrt(_sizes(problem, now.masses, rows))
        matrix = hessian * scale[:, None] * scale
        matrix[np.diag_indices_from(matrix)] += RIDGES[0]
        activity, lower, upper = (of[rows] * scale for of in (now.activity, problem.lower, problem.upper))
        return cls(matrix, scale, now.y[rows] / scale, activity, lower, upper, now.side[rows])

    def at(self, y: FloatArray) -> tuple[float, FloatArray]:
        """The change of the model from its point to multipliers, and the gradient there without kinks."""
        change = y - self.y
        bent = self.matrix @ change
        rise = _rise(self.activity, self.lower, self.upper, self.y, y)
        return rise + 0.5 * float(change @ bent), self.activity + bent

    def minimum(self, clock: Clock, side: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """The change of the multipliers to the minimum, or to a lower point if that would take too long; and the sides.

        ``side`` are those that it may have, 0 for equations.
        """
        found = self._exchanged(self.side if side is None else side, clock)
        y, side = self._descended(clock) if found is None else found
        return (y - self.y) * self.scale, side

    def _exchanged(self, side: FloatArray, clock: Clock) -> tuple[FloatArray, FloatArray] | None:
        """The minimum, and the sides there, by exchanging the sides of rows that are on a wrong one, if that ends."""
        y, least, patience = self.y, len(self.y) + 1, PATIENCE
        for _ in range(EXCHANGES):
            free = (side != 0) | (self.side == 0)
            y, rows = np.where(free, y, 0.0), np.flatnonzero(free)
            solve = cholesky(self.matrix[np.ix_(rows, rows)], (0.0, *RIDGES[1:]))
            if solve is None or clock.stop() is not None:
                return None
            y[rows] -= solve(self._left(side, self.at(y)[1])[rows])
            gradient = self.at(y)[1]
            right = (y > gradient - self.lower) * 1.0 - (y < gradient - self.upper)
            wrong = np.where(side == 0, np.abs(self._outside(side, gradient)), np.abs(y))
            moves = (right != side) & (wrong > OUTSIDE * np.maximum(1.0, np.abs(gradient)))
            rows = np.flatnonzero(moves & (self.side != 0))
            if not len(rows):
                y = np.where(side * y < 0, 0.0, y)
                return (y, side) if self.at(y)[0] < 0 else None
            patience = PATIENCE if len(rows) < least else patience - 1
            least = min(least, len(rows))
            if patience < 0:  # all together would come back again and again
                rows = rows[np.argsort(-wrong[rows], kind="stable")[: (len(rows) + 1) // 2]]
            side = side.copy()
            side[rows] = right[rows]
        return None

    def _descended(self, clock: Clock) -> tuple[FloatArray, FloatArray]:
        """The minimum, or a lower point, by active sets that descend, and the sides there."""
        y, side, gradient, value = self.y, self.side, self.activity, 0.0
        equation, leaving, alone = self.side == 0, np.zeros(len(y), bool), False
        for _ in range(max(FEWEST, int(FACTORS * min(1.0, (1000 / max(1, len(y))) ** 3)))):
            step, side = self._newton(y, side, gradient)
            if clock.stop() is not None or (alone and not side[leaving].any()):
                break
            if leaving.any() and not side[leaving].any():  # together they would not: one at a time does
                outside = self._outside(side, gradient)
                leaving, alone = np.arange(len(y)) == np.argmax(np.abs(outside)), True
                side = np.where(leaving, np.sign(outside), side)
                continue
            before, (y, value, gradient, crossed) = value, self._moved(y, step, side, gradient)
            side, leaving, alone = np.where(equation, 0.0, np.sign(y)), np.zeros(len(y), bool), False
            if not crossed:
                outside = self._outside(side, gradient)
                leaving = np.abs(outside) > OUTSIDE * np.maximum(1.0, np.abs(gradient))
                if not leaving.any() or value >= before:
                    break
                side = np.where(leaving, np.sign(outside), side)
        return y, side

    def _left(self, side: FloatArray, gradient: FloatArray) -> FloatArray:
        """The gradient on some sides of the kinks."""
        return gradient - np.where(side < 0, self.upper, self.lower)

    def _outside(self, side: FloatArray, gradient: FloatArray) -> FloatArray:
        """By how much the sums of rows at their kinks are below their intervals, or, negative, above."""
        below, above = np.maximum(self.lower - gradient, 0.0), np.minimum(self.upper - gradient, 0.0)
        return np.where((side == 0) & (self.side != 0), below + above, 0.0)

    def _newton(self, y: FloatArray, side: FloatArray, gradient: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Newton's step on some sides, and the sides less those of rows at their kinks that it would take across."""
        left, free = self._left(side, gradient), (side != 0) | (self.side == 0)
        while True:
            rows, step = np.flatnonzero(free), np.zeros(len(y))
            if len(rows):
                solve = cholesky(self.matrix[np.ix_(rows, rows)], (0.0, *RIDGES[1:]))
                step[rows] = -left[rows] if solve is None else -solve(left[rows])
            across = (side != 0) & (y == 0) & (side * step < 0)
            if not across.any():
                return step, side
            free, side = free & ~across, np.where(across, 0.0, side)

    def _moved(
        self, y: FloatArray, step: FloatArray, side: FloatArray, gradient: FloatArray
    ) -> tuple[FloatArray, float, FloatArray, bool]:
        """The multipliers after a step, the model and its gradient there, and whether kinks are on the way.

        Then the lower is taken of the minimum along the step, and of where the rows that would cross stay at 0.
        """
        across = y * (y + step) < 0
        across &= side != 0
        if not across.any():
            return y + step, *self.at(y + step), False
        rows = np.flatnonzero(across)
        rows = rows[np.argsort(-y[rows] / step[rows])]
        length, bend = -y[rows] / step[rows], float(step @ self.matrix @ step)
        jumps = np.cumsum((self.upper[rows] - self.lower[rows]) * np.abs(step[rows]))
        moving = step != 0
        slopes = float(self._left(side, gradient)[moving] @ step[moving]) + np.append(0.0, jumps)
        k = int(np.argmax(np.append(slopes[1:] + bend * length >= 0, True)))
        at_kink = k < len(rows) and slopes[k] + bend * length[k] < 0
        along = y + (length[k] if at_kink else -slopes[k] / bend) * step
        if at_kink:
            along[rows[k]] = 0.0
        stopped = np.where(across, 0.0, y + step)
        return *min(((stopped, *self.at(stopped)), (along, *self.at(along))), key=lambda found: found[1]), True


def _rise(activity: FloatArray, lower: FloatArray, upper: FloatArray, y: FloatArray, new: FloatArray) -> float:
    """``activity'(new - y)`` and the change of the kinks' terms: row by row, so that little cancels."""
    across = y * new < 0
    here, there = np.where(y != 0, y, new), np.where(new != 0, new, y)
    near, far = np.where(across, -y, new - y), np.where(across, new, 0.0)
    found = 0.0
    for change, of in ((near, here), (far, there)):
        rows = np.flatnonzero(change)
        found += float((activity[rows] - np.where(of[rows] > 0, lower[rows], upper[rows])) @ change[rows])
    return found


def _search(problem: LinearEntropy, now: _Place, step: _Step, *, longer: bool) -> float:
    """Backtrack along a step; 0 when nothing improves."""
    # With ``longer``, the length is doubled as long as that improves further.

    def decrease(length: float) -> tuple[float, float]:
        y = step.to(now, length)
        promised = -_rise(now.activity, problem.lower, problem.upper, now.y, y)
        return promised - problem.bend(now.masses, y - now.y), promised

    odds = np.abs(problem.matrix.T @ step.change).max(initial=0.0)
    length = min(1.0, LONGEST / max(float(odds), LONGEST))
    for _ in range(HALVINGS):
        achieved, promised = decrease(length)
        if promised > 0 and achieved >= ARMIJO * promised:
            break
        length *= 0.5
    else:
        return 0.0
    while longer and length < LONGEST and (further := decrease(2 * length)[0]) > achieved:
        length, achieved = 2 * length, further
    return length


def _system(problem: LinearEntropy, masses: FloatArray, rows: IntArray, *, nearly: bool) -> FloatArray | None:
    """The matrix of Newton's system of some rows, where it is dense: parts of it are the systems of fewer rows."""
    if nearly:
        return np.asarray(problem.gram(masses, rows).toarray()) if len(rows) <= DIRECT else None
    if len(rows) > OVERLAPPING_FACTOR and (problem.overlapping or problem.tangled):
        return None
    found = problem.hessian(masses, rows)
    return None if sparse.issparse(found) else found


def _newton(
    problem: LinearEntropy,
    masses: FloatArray,
    rows: IntArray,
    right: FloatArray,
    clock: Clock,
    *,
    nearly: bool = False,
    known: FloatArray | None = None,
) -> FloatArray:
    """Solve Newton's system of some rows, which may repeat each other; ``known`` is its matrix, where it is dense."""
    if nearly and len(rows) <= DIRECT:
        scale = 1 / np.sqrt(_sizes(problem, masses, rows))
        product = problem.gram(masses, rows).toarray() if known is None else known.copy()
        product *= scale[:, None]
        product *= scale
        solve = cholesky_in_place(product, RIDGES)
        return scale**2 * right if solve is None else scale * solve(scale * right)
    if known is None and (nearly or (len(rows) > OVERLAPPING_FACTOR and (problem.overlapping or problem.tangled))):
        return solve_by_conjugate_gradients(problem, masses, rows, right, clock)
    system = problem.hessian(masses, rows) if known is None else known
    return solve_definite(system, _sizes(problem, masses, rows), right)


def _sizes(problem: LinearEntropy, masses: FloatArray, rows: IntArray) -> FloatArray:
    """``sum_i C_ri^2 m_i`` of some rows, with which their systems are scaled."""
    size = (problem.squared @ masses)[rows]
    scaled: FloatArray = np.maximum(size, max(VANISHED * size.max(), INVERTIBLE))
    return scaled


def solve_definite(hessian: FloatArray | sparse.csc_matrix, size: FloatArray, right: FloatArray) -> FloatArray:
    """Solve with a positive semidefinite matrix, regularised until it is definite, in proportion to ``size``."""
    scale = 1 / np.sqrt(size)
    if sparse.issparse(hessian):
        from scipy.sparse.linalg import splu

        scaling = sparse.diags_array(scale)
        system = sparse.csc_matrix(scaling @ hessian @ scaling + SPARSE_RIDGE * sparse.identity(len(right)))
        settings = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
        solution: FloatArray = scale * splu(system, **settings).solve(scale * right)
        return solution
    solve = cholesky(hessian * scale[:, None] * scale, RIDGES)
    return scale**2 * right if solve is None else scale * solve(scale * right)


# Conjugate gradients (Nocedal & Wright, "Numerical Optimization", 2006, section 5.1): for all who take them.
#
# The loop stands twice: here, and in `maxent.solvers.newton.stacked` for many small systems side by side, where
# each number is an array over these and those that have ended stand still.

# Products with the matrix, at most.
STEPS = 300
# Share of the right side, in the norm of the preconditioner, that may be left.
ACCURACY = 1e-2


class Conjugate:
    """Directions that are conjugate for ``apply``, beginning with the preconditioned ``right`` side.

    ``direction`` is the current one, ``size`` the inner product of what is ``left`` of the right side with itself,
    preconditioned; `look` multiplies, and `go` passes to the next direction.
    """

    def __init__(
        self,
        apply: Callable[[FloatArray], FloatArray],
        right: FloatArray,
        precondition: Callable[[FloatArray], FloatArray] = lambda left: left,
        dot: Callable[[FloatArray, FloatArray], float] = lambda a, b: float(a @ b),
    ) -> None:
        self._apply, self._precondition, self._dot = apply, precondition, dot
        self.left = right
        self.direction = precondition(right)
        self.size = dot(right, self.direction)

    def look(self) -> float:
        """The curvature along the direction; sets ``product``, the result of ``apply``."""
        self.product = self._apply(self.direction)
        self.curvature = self._dot(self.direction, self.product)
        return self.curvature

    def go(self) -> float:
        """Take the step along the direction; returns the share of it that the next direction keeps."""
        self.left = self.left - (self.size / self.curvature) * self.product
        fitted = self._precondition(self.left)
        before, self.size = self.size, self._dot(self.left, fitted)
        kept = self.size / before
        self.direction = fitted + kept * self.direction
        return kept


def cg(system: Conjugate, accuracy: float, most: int, late: Callable[[], bool]) -> FloatArray:
    """Solve a system nearly: at most ``most`` products, until ``accuracy`` times the right side is left or it is late.

    Sizes are those of the preconditioner's norm. Where a direction has no curvature, the solution so far is returned.
    """
    found, wanted = np.zeros_like(system.left), accuracy**2 * system.size
    for _ in range(most):
        if system.size <= wanted or late() or system.look() <= 0:
            break
        found = found + (system.size / system.curvature) * system.direction
        system.go()
    return found


def solve_by_conjugate_gradients(
    problem: LinearEntropy, masses: FloatArray, rows: IntArray, right: FloatArray, clock: Clock
) -> FloatArray:
    """Solve ``C J C' y = right`` for some rows, nearly, or as far as there is time.

    The `RIDGE` of the preconditioning blocks is added, lest rounding grows along what rows repeat.
    """
    matrix = problem.matrix[rows]
    transposed = sparse.csr_matrix(matrix.T)
    variance = problem.variance(masses)
    ridge = RIDGE * (problem.squared[rows] @ variance)
    precondition = DiagonalBlocks.of(matrix).factored(variance)

    def product(direction: FloatArray) -> FloatArray:
        spread = problem.centred(transposed @ direction, masses)
        applied: FloatArray = matrix @ (masses * spread) + ridge * direction
        return applied

    found: FloatArray = cg(Conjugate(product, right, precondition), ACCURACY, STEPS, lambda: clock.stop() is not None)
    return found


# Block-diagonal preconditioner of the Hessian, for conjugate gradients with overlapping statements.
#
# Rows that share masses, directly or by way of others, are one block: with counts of several trees, the rows of one
# class. The Hessian ``C J C'`` couples blocks by the owners' totals alone, ``J = diag(m) - sum_o m_o m_o' / t_o``. Left
# out, J becomes its diagonal ``diag(m (1 - m / t))``, which is never less than half of it (a Laplacian), and the blocks
# ``B_b = C_b diag(m (1 - m / t)) C_b'`` are factored one by one.
#
# A block is a matrix of its rows. Where it has fewer masses than rows it is singular, and what is factored has the size
# of the masses: with ``D = diag(m (1 - m / t))`` and a small r, by the Woodbury identity,
#
#     (C_b D C_b' + r)^-1 = (1 - C_b (r D^-1 + C_b' C_b)^-1 C_b') / r.

# Added to the diagonal of the Hessian, as a share of it: rows may repeat each other.
RIDGE = 1e-12
# Times that, the first with which a block can be factored.
FIRMER = (1.0, 1e2, 1e4, 1e6)
# The same for a matrix that has its ridge already.
UNCHANGED = (0.0, *FIRMER)
# Share of its block's largest diagonal entry that a row has at least.
BLOCK_FACTORS_VANISHED = 1e-12
# Rows up to which a block is factored by rows however few masses it has.
SMALL = 2_000
# Rows, or masses if these are fewer, from which on a block is replaced by its diagonal: 1.2 GB.
LARGEST = 12_000
# Masses whose columns are dense at a time.
CHUNK = 4_096
# Share of entries that are not 0 from which on dense products are quicker.
FILLED = 0.07
Solve = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class DiagonalBlocks:
    """The blocks of a matrix: for each, its rows, the masses in them, and what it is of these."""

    parts: tuple[tuple[IntArray, IntArray, sparse.csr_matrix], ...]

    @classmethod
    def of(cls, matrix: sparse.csr_matrix) -> DiagonalBlocks:
        """Divide a matrix of shape (n_rows, n) whose rows all have a coefficient."""
        n_rows, n = matrix.shape
        of_entry = np.repeat(np.arange(n_rows), np.diff(matrix.indptr))
        of_row = components(n_rows + n, of_entry, n_rows + matrix.indices.astype(np.int64))[:n_rows]
        order = np.argsort(of_row, kind="stable")
        parts = []
        for rows in np.split(order, np.flatnonzero(np.diff(of_row[order])) + 1):
            mine = matrix[rows]
            masses = np.unique(mine.indices)
            parts.append((rows, masses, sparse.csr_matrix(mine[:, masses])))
        return cls(tuple(parts))

    def factored(self, variance: FloatArray) -> Solve:
        """An approximate solver with all blocks, for ``variance = m (1 - m / t)`` of every mass, individuals."""
        solvers = [(rows, _factored(block, variance[masses])) for rows, masses, block in self.parts]

        def solve(right: FloatArray) -> FloatArray:
            out = np.empty_like(right)
            for rows, part in solvers:
                out[rows] = part(right[rows])
            return out

        return solve


def _factored(block: sparse.csr_matrix, variance: FloatArray) -> Solve:
    from scipy.linalg import cho_solve

    n_rows, n_masses = block.shape
    size = block.multiply(block) @ variance
    size = np.maximum(size, max(BLOCK_FACTORS_VANISHED * size.max(), INVERTIBLE))
    if min(n_rows, n_masses) > LARGEST or n_rows == 1:
        return lambda right: right / size
    if n_masses < n_rows and n_rows > SMALL:
        return _by_masses(block, variance, RIDGE * float(size.max()))
    scale = 1 / np.sqrt(size)
    rooted = sparse.diags_array(scale) @ block @ sparse.diags_array(np.sqrt(variance))
    factor = _cholesky(_gram(sparse.csr_matrix(rooted)), FIRMER)
    return lambda right: scale * cho_solve(factor, scale * right, check_finite=False)


def _by_masses(block: sparse.csr_matrix, variance: FloatArray, ridge: float) -> Solve:
    """Solve with ``C D C' + ridge`` by a factor of the masses' size."""
    from scipy.linalg import cho_solve

    transposed = sparse.csr_matrix(block.T)
    root = np.sqrt(np.maximum(variance, INVERTIBLE))
    scale = root / np.sqrt(ridge + root**2 * np.asarray(transposed.multiply(transposed).sum(axis=1)).ravel())
    factor = _cholesky(_gram(sparse.csr_matrix(sparse.diags_array(scale) @ transposed)), UNCHANGED)

    def solve(right: FloatArray) -> FloatArray:
        inner = scale * cho_solve(factor, scale * (transposed @ right), check_finite=False)
        result: FloatArray = (right - block @ inner) / ridge
        return result

    return solve


def _gram(rows: sparse.csr_matrix) -> FloatArray:
    """``rows rows'``, dense."""
    n_rows, n = rows.shape
    if rows.nnz < FILLED * n_rows * n:
        return np.asarray((rows @ rows.T).toarray())
    columns, out = sparse.csc_matrix(rows), np.zeros((n_rows, n_rows))
    for begin in range(0, n, CHUNK):
        dense = columns[:, begin : begin + CHUNK].toarray()
        out += dense @ dense.T
    return out


def _cholesky(product: FloatArray, ridges: tuple[float, ...]) -> tuple[FloatArray, bool]:
    """The factor of a matrix that may be singular, and whose diagonal is 1, with the first of some ridges."""
    from scipy.linalg import cho_factor

    for ridge in ridges:
        product[np.diag_indices_from(product)] = 1.0 + ridge * RIDGE
        try:
            factor: tuple[FloatArray, bool] = cho_factor(product, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            continue
        return factor
    return np.identity(len(product)), True
