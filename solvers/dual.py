r"""Maximum entropy under linear statements, from its dual: a Newton method, and a bound that needs no trust in it.

The problem: masses ``m >= 0`` (individuals), those of owner ``o`` adding up to ``t_o``, and linear rows;

    maximise  H(m) = -sum_i m_i ln(m_i / w_i)    subject to    l <= C m <= u.

One multiplier per row, of either sign: ``y_r > 0`` prices the lower side, ``y_r < 0`` the upper one. For feasible ``m``

    H(m) <= H(m) + sum_r [y_r]_+ ((C m)_r - l_r) + sum_r [y_r]_- (u_r - (C m)_r)
          = H(m) + (C'y)'m - [y]_+'l + [y]_-'u,        [y]_+ = max(y, 0),  [y]_- = max(-y, 0),

and the right side is largest, over the masses of each owner apart, at a softmax (Gibbs' inequality):

    m_i(y) = t_o w_i exp (C'y)_i / sum_{j in o} w_j exp (C'y)_j,
    D(y)   = sum_o t_o (ln sum_{i in o} w_i exp (C'y)_i - ln t_o) - [y]_+'l + [y]_-'u.

So ``D(y)`` bounds the maximum from above whatever ``y`` is (weak duality); a sign that asks for a side that a row does
not have makes it infinite. ``D`` is convex, and its infimum is the maximum itself, as the rows are linear (Rockafellar,
"Convex Analysis", 1970, section 28). Except for the kink at ``y_r = 0`` of rows with ``l_r < u_r`` it is smooth:

    gradient  C m(y) - s,   s_r = l_r where y_r > 0,  u_r where y_r < 0,
    Hessian   C J C',       J = diag(m) - sum_o m_o m_o' / t_o.

Newton's method with the two-metric projection (Bertsekas, "Projected Newton methods for optimization problems with
simple constraints", SIAM J. Control Optim. 20, 1982) keeps every ``y_r`` on its side of the kink during a step. Where
statements force a mass to 0 the multiplier is infinite: steps of about 1 then each divide the mass by e.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

from maxent.solvers.clock import Clock
from maxent.solvers.conjugate import solve_by_conjugate_gradients

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

DENSE_PRODUCT, FILLED = 200_000, 20
"""Rows are multiplied as dense matrices up to so many entries, or when one in so many entries is not 0."""

DENSE_FACTOR = 1500
"""Rows in a step up to which the Hessian is factored as a dense matrix."""

OVERLAPPING_FACTOR = 3500
"""The same where sparse factors would be full; beyond, the system is solved nearly, by conjugate gradients."""

RIDGES = (1e-12, 1e-10, 1e-8, 1e-6, 1e-4)
"""Added to the Hessian's diagonal, as shares of ``sum_i C_ri^2 m_i``, the first that lets it be factored.

Rows may repeat each other, or the owners' totals, and rounding may make them contradict each other by a little.
"""

SPARSE_RIDGE = 1e-11
"""The same where the Hessian is sparse: that factorisation does not tell."""

VANISHED = 1e-16
"""Rows whose masses are less than this share of another row's count as having that share."""

NOTHING = 1e-100
"""Stands for the masses, individuals, of a row where all of a step are 0."""

LONGEST = 25.0
"""Largest change of a log-odds in one step: a softmax that far from here has nothing to do with the Hessian here."""

ARMIJO = 1e-4
"""Share of the decrease that the gradient promises which a step has to achieve."""

HALVINGS = 60
"""Shorter steps to try before giving up."""

NEAR = 1e-3
"""Multipliers closer than this to 0, and on their way there, do not take part in Newton's system."""


@dataclass(frozen=True, eq=False)
class LinearEntropy:
    """Maximise ``-sum m ln(m / weight)``, each owner's masses adding up to ``total``, ``lower <= matrix m <= upper``.

    Parameters
    ----------
    owner : shape (n,)
        Whose each mass is, from 0 to n_owners - 1.
    total : shape (n_owners,)
        Individuals of each owner, not negative; owners need not have masses.
    weight : shape (n,)
        What each mass is compared with, positive, individuals.
    matrix : shape (n_rows, n)
    lower, upper : shape (n_rows,)
        Equal for equations, infinite for a side that a row does not have; individuals.
    """

    owner: IntArray
    total: FloatArray
    weight: FloatArray
    matrix: sparse.csr_matrix
    lower: FloatArray
    upper: FloatArray

    def value(self, y: FloatArray) -> float:
        """``D(y)``, nats: an upper bound of the maximum for every y of shape (n_rows,), up to ``rounding(y)``."""
        return self._at(y)[0]

    def masses(self, y: FloatArray) -> FloatArray:
        """``m(y)``, shape (n,), individuals: masses with the owners' totals; the maximum where D is smallest."""
        return self._at(y)[1]

    def rounding(self, y: FloatArray) -> float:
        """How far ``value(y)`` can be off because of floating-point arithmetic, nats."""
        size = self._largest(abs(self.matrix).T @ np.abs(y) + np.abs(np.log(self.weight)))
        terms = self._total @ (size + np.abs(np.log(self._positive_total)))
        return float(4 * np.finfo(float).eps * (terms + np.abs(self._sides(y)).sum()))

    @cached_property
    def least(self) -> float:
        """The smallest entropy that the totals allow, nats; a bound below it proves that rows contradict each other."""
        smallest = np.exp(-self._largest(-np.log(self.weight)))
        return float(-(self._total * np.log(self._positive_total / smallest)).sum())

    def centred(self, values: FloatArray, masses: FloatArray) -> FloatArray:
        """Values of shape (n,) less their mean over the owner, weighted by the masses: ``J v = m centred(v)``."""
        sums = np.bincount(self.owner, masses * values, len(self.total))
        mean: FloatArray = sums / self._positive_total
        return values - mean[self.owner]

    def restored(self, masses: FloatArray) -> FloatArray:
        """Masses scaled to the owners' totals, shape (n,)."""
        sums = np.bincount(self.owner, masses, len(self.total))
        factor: FloatArray = self._total / np.where(sums > 0, sums, 1.0)
        return masses * factor[self.owner]

    def pooled(self, matrix: sparse.csr_matrix, masses: FloatArray) -> FloatArray:
        """What the owners' totals take off the diagonal of the Hessian of some rows, shape (n_rows,)."""
        held = sparse.csr_matrix(matrix @ sparse.diags_array(masses) @ self._membership)
        return np.asarray(held.multiply(held) @ (1 / self._positive_total))

    @cached_property
    def overlapping(self) -> bool:
        """Whether it has many rows, all of them plain sums: the Hessian of those of several trees is nearly full."""
        return len(self.lower) > DENSE_FACTOR and bool((self.matrix.data == 1).all())

    def bend(self, masses: FloatArray, change: FloatArray) -> float:
        """``D(y + change) - D(y)`` less its linear part, nats, at ``masses = m(y)``, while no multiplier changes sign.

        It is ``sum_o t_o ln mean_o exp c`` with c the change of ``C'y`` less its mean: positive, and free of the
        cancellation that makes differences of D useless near its minimum.
        """
        centred = self.centred(self.matrix.T @ change, masses)
        shift = np.maximum(self._largest(centred), 1.0) - 1.0  # of exponents that could overflow
        sums = np.bincount(self.owner, masses * np.expm1(centred - shift[self.owner]), len(self.total))
        mean = np.maximum(sums / self._positive_total, np.finfo(float).eps - 1.0)
        return float(self._total @ (shift + np.log1p(mean)))

    def hessian(self, masses: FloatArray, rows: IntArray) -> FloatArray | sparse.csc_matrix:
        """``C J C'`` at some masses for some rows, dense or sparse as suits its size; shape (len(rows), len(rows))."""
        chosen = self.matrix[rows]
        if len(rows) * len(self.owner) <= max(DENSE_PRODUCT, FILLED * chosen.nnz):
            # Centred before they are multiplied: as a difference of products, what is left of a mass near its owner's
            # total would be rounding.
            picked = chosen.toarray()
            sums = (self._membership.T @ (picked * masses).T).T
            root = (picked - (sums / self._positive_total)[:, self.owner]) * np.sqrt(masses)
            dense: FloatArray = root @ root.T
            return dense
        weighted = chosen @ sparse.diags_array(masses)
        pooled = weighted @ self._membership
        product = weighted @ chosen.T - pooled @ sparse.diags_array(1 / self._positive_total) @ pooled.T
        dense_up_to = OVERLAPPING_FACTOR if self.overlapping else DENSE_FACTOR
        return product.toarray() if len(rows) <= dense_up_to else sparse.csc_matrix(product)

    def _at(self, y: FloatArray) -> tuple[float, FloatArray]:
        """``D(y)`` and ``m(y)``."""
        exponent = self.matrix.T @ y + np.log(self.weight)
        largest = self._largest(exponent)
        share = np.exp(exponent - largest[self.owner])
        sums = np.bincount(self.owner, share, len(self.total))
        sums[sums == 0] = 1.0  # owners without masses
        entropy = float(self._total @ (largest + np.log(sums) - np.log(self._positive_total)))
        masses = share * (self._total / sums)[self.owner]
        return entropy - float(self._sides(y).sum()), masses

    def _sides(self, y: FloatArray) -> FloatArray:
        """What each row subtracts from the dual function: ``y_r`` times the side that its sign stands for."""
        side = np.where(y > 0, self.lower, self.upper)
        return np.multiply(y, side, out=np.zeros(len(y)), where=y != 0)

    def _largest(self, values: FloatArray) -> FloatArray:
        """The largest value of each owner, shape (n_owners,); 0 for owners without masses."""
        out = np.zeros(len(self.total))
        if len(values):
            out[self._owners] = np.maximum.reduceat(values[self._order], self._begin)
        return out

    @cached_property
    def empty(self) -> BoolArray:
        """Rows without a coefficient, which say nothing about any mass, shape (n_rows,)."""
        row = np.repeat(np.arange(len(self.lower)), np.diff(self.matrix.indptr))
        sums: BoolArray = np.bincount(row, np.abs(self.matrix.data), len(self.lower)) == 0
        return sums

    @cached_property
    def squared(self) -> sparse.csr_matrix:
        """The matrix with its coefficients squared."""
        return sparse.csr_matrix(self.matrix.multiply(self.matrix))

    @cached_property
    def _order(self) -> IntArray:
        return np.argsort(self.owner, kind="stable")

    @cached_property
    def _begin(self) -> IntArray:
        """Where each owner's masses begin in ``_order``."""
        return np.flatnonzero(np.diff(self.owner[self._order], prepend=-1))

    @cached_property
    def _owners(self) -> IntArray:
        """The owners that have masses, increasing."""
        return self.owner[self._order][self._begin]

    @cached_property
    def _total(self) -> FloatArray:
        """The totals, with 0 for owners without masses."""
        return np.where(np.bincount(self.owner, minlength=len(self.total)) > 0, self.total, 0.0)

    @cached_property
    def _positive_total(self) -> FloatArray:
        """The totals, with 1 for 0: such owners contribute 0 whatever stands in their place."""
        return np.where(self._total > 0, self._total, 1.0)

    @cached_property
    def _membership(self) -> sparse.csr_matrix:
        """1 where a mass (row) is of an owner (column)."""
        n = len(self.owner)
        return sparse.csr_matrix((np.ones(n), (np.arange(n), self.owner)), shape=(n, len(self.total)))


@dataclass(frozen=True, slots=True, eq=False)
class DualPoint:
    """Where the minimisation of ``D`` ended.

    ``bound`` (nats) is ``D`` at ``multipliers``, valid wherever it ended; ``masses`` are those that go with them.
    ``residual`` is how far the masses are from meeting the rows (individuals), or the multiplier of an inequality that
    they meet with slack, if that is less; it is 0 at the optimum.
    """

    multipliers: FloatArray
    masses: FloatArray
    bound: float
    residual: float
    iterations: int


def minimise(
    problem: LinearEntropy,
    start: FloatArray | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 200,
    clock: Clock | None = None,
) -> DualPoint:
    """The smallest upper bound that multipliers give, and with it the maximum-entropy masses.

    Parameters
    ----------
    problem : LinearEntropy
    start : shape (n_rows,), optional
        Multipliers to start from, by default 0; signs that a row does not allow are taken as 0.
    tolerance : float
        The ``residual`` to reach.
    max_iterations : int
        Newton steps.
    clock : Clock, optional
        Asked before each of them whether to stop.

    Returns
    -------
    DualPoint
        The best point found; it also ends where rounding allows no further progress, and where rows contradict each
        other as soon as the bound proves it.
    """
    n_rows = len(problem.lower)
    now = _Place.at(problem, _allowed(problem, np.zeros(n_rows) if start is None else start))
    iterations = 0
    while now.residual > tolerance and now.value >= problem.least - 1.0 and iterations < max_iterations:
        further = None if clock is not None and clock.stop() else _search(problem, now, _direction(problem, now))
        if further is None:
            break
        now, iterations = further, iterations + 1
    return DualPoint(now.y, now.masses, now.value, now.residual, iterations)


def multipliers_at(problem: LinearEntropy, masses: FloatArray, tight: BoolArray) -> FloatArray:
    """Multipliers under which some masses are stationary, as nearly as the ``tight`` rows' multipliers can make them.

    The least-squares solution, weighted by the masses, of ``ln(m_i / w_i) = (C'y)_i + a constant of the owner``; where
    it has a sign that a row does not allow, 0. At the maximum it is the minimum of ``D``, near it a good start.

    Parameters
    ----------
    masses : shape (n,), positive
    tight : shape (n_rows,)

    Returns
    -------
    FloatArray
        Shape (n_rows,), 0 for rows that are not tight.
    """
    y = np.zeros(len(problem.lower))
    rows = np.flatnonzero(tight)
    if len(rows):
        wanted = masses * problem.centred(np.log(masses / problem.weight), masses)
        y[rows] = _newton(problem, masses, rows, (problem.matrix @ wanted)[rows])
    return _allowed(problem, y)


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """Multipliers with what a step from there needs.

    ``gradient`` is that towards the ``side`` (-1, 1) of the kink on which a row moves; 0 for rows that stay at 0. The
    side is 0 for equations, which have no kink.
    """

    y: FloatArray
    value: float
    masses: FloatArray
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
        return cls(y, value, masses, gradient, side, float(left.max(initial=0.0)))


def _allowed(problem: LinearEntropy, y: FloatArray) -> FloatArray:
    """Multipliers with 0 for those that price a side that is not there, or a row that says nothing."""
    missing = np.where(y > 0, np.isinf(problem.lower), np.isinf(problem.upper))
    return np.where(missing | problem.empty, 0.0, y)


def _direction(problem: LinearEntropy, now: _Place) -> FloatArray:
    """Newton's direction in the rows that move freely, straight to the kink for those about to reach it.

    Rows at their kink that the direction would take across it stay there, and the others' direction is found anew.
    """
    binding = (now.side * now.gradient > 0) & (np.abs(now.y) <= min(NEAR, now.residual))
    direction = np.where(binding, -now.y, 0.0)
    moving = ((now.gradient != 0) | (now.y != 0)) & ~binding
    while moving.any():
        rows = np.flatnonzero(moving)
        step = -_newton(problem, now.masses, rows, now.gradient[rows])
        across = (now.y[rows] == 0) & (now.side[rows] * step < 0)
        if not across.any():
            direction[rows] = step
            break
        moving[rows[across]] = False
    return direction


def _search(problem: LinearEntropy, now: _Place, direction: FloatArray) -> _Place | None:
    """Backtrack along the direction, projected to the sides of the kinks; None when nothing improves."""
    odds = np.abs(problem.matrix.T @ direction).max(initial=0.0)
    length = min(1.0, LONGEST / max(float(odds), LONGEST))
    for _ in range(HALVINGS):
        y = now.y + length * direction
        y = np.where(now.side * y < 0, 0.0, y)
        promised = float(now.gradient @ (y - now.y))
        if promised < 0 and problem.bend(now.masses, y - now.y) <= (ARMIJO - 1) * promised:
            return _Place.at(problem, y)
        length *= 0.5
    return None


def _newton(problem: LinearEntropy, masses: FloatArray, rows: IntArray, right: FloatArray) -> FloatArray:
    """Solve Newton's system of some rows, which may repeat each other."""
    size = (problem.squared @ masses)[rows]
    size = np.maximum(size, max(VANISHED * size.max(), NOTHING))
    if problem.overlapping and len(rows) > OVERLAPPING_FACTOR:
        return solve_by_conjugate_gradients(problem, masses, rows, size, right)
    return _solve(problem.hessian(masses, rows), size, right)


def _solve(hessian: FloatArray | sparse.csc_matrix, size: FloatArray, right: FloatArray) -> FloatArray:
    """Solve with a positive semidefinite matrix, regularised until it is definite, in proportion to ``size``."""
    scale = 1 / np.sqrt(size)
    if sparse.issparse(hessian):
        from scipy.sparse.linalg import splu

        scaling = sparse.diags_array(scale)
        system = sparse.csc_matrix(scaling @ hessian @ scaling + SPARSE_RIDGE * sparse.identity(len(right)))
        settings = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
        solution: FloatArray = scale * splu(system, **settings).solve(scale * right)
        return solution
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    scaled = hessian * scale[:, None] * scale
    for ridge in RIDGES:
        try:
            factor = cho_factor(scaled + ridge * np.identity(len(right)), lower=True, check_finite=False)
        except LinAlgError:
            continue
        dense: FloatArray = scale * cho_solve(factor, scale * right, check_finite=False)
        return dense
    return scale**2 * right
