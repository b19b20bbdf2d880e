"""Make an approximate answer exact: Newton's method on the optimality conditions, once it is known what is active.

Conic and first-order solvers stop at a relative accuracy that is too coarse for statements about thousands of
individuals. What they do tell is which inequalities hold with equality; given these, the conditions are equations
(Nocedal & Wright, "Numerical Optimization", 2006, chapter 18), and a few steps solve them to machine precision.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from maxent.constraints.lifted import LiftedProgram
from maxent.solvers.derivatives import Derivatives

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

ROUNDS = 12
"""How often the guess of what is active may be corrected."""

STEPS = 20
"""Newton steps for one such guess."""

STILL = 1e-9
"""Steps shorter than this (individuals, and as a share of larger variables) have all but settled."""

WRONG = 1e-7
"""Multipliers of the wrong sign up to this (nats per individual) are rounding, or of rows that are only just met."""

NEAR, NEAR_DUAL = 1e-5, 1e-12
"""Proximal terms: optima that are not alone and active rows that depend on each other make the equations singular."""

FAR = 0.9
"""The largest share of the way to 0 that one step may go."""

TINY, VANISHING = 1e-12, 1e-6
"""Shares of what a variable could be: how close to 0 it comes, and below which a mass starts there.

Where the entropy of a chosen split is best at 0, Newton's method would run away from that.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Active:
    """What holds with equality at a point, and the multipliers there.

    ``side`` of every row, linear rows first, and ``bound`` of every variable are -1 at the lower bound (and for
    equations), 1 at the upper one, 0 for neither. ``multipliers``, shape (n_rows,), are nats per unit of the row: the
    gradient of the objective plus multipliers times that of the rows vanishes where no bound is active.
    """

    multipliers: FloatArray
    side: IntArray
    bound: IntArray


def polish(program: LiftedProgram, point: FloatArray, active: Active, tolerance: float) -> FloatArray | None:
    """The point near an approximate answer that meets the optimality conditions, None when none is found.

    Rows and bounds found violated join what is active, those whose multiplier has the wrong sign leave it. Every row of
    the answer, shape (n,), is met within ``tolerance`` (individuals, impurity units).
    """
    system = _System(program)
    z, y = point, active.multipliers
    side, bound = active.side.copy(), np.where(system.vanishing(point), -1, active.bound)
    for _ in range(ROUNDS):
        settled = _settle(system, z, y, side, bound)
        if settled is None:
            return None
        z, y = settled
        if not system.correct(z, y, side, bound, tolerance):
            return z if system.own.violation(z) <= tolerance else None
    return None


def restore(program: LiftedProgram, point: FloatArray, tolerance: float) -> FloatArray:
    """The point moved towards the constraints, each variable by little in relation to its size."""
    system = _System(program)
    z = np.clip(point, program.lower, program.upper)
    best, least = z, system.own.violation(z)
    side, bound = np.where(system.equations, -1, 0), np.zeros(program.n, np.int64)
    for _ in range(ROUNDS):
        if least <= 0.01 * tolerance:
            break
        z = system.inside(z)
        system.add_violated(z, side, bound, 0.0)
        step = system.step(z, None, side, bound)
        if step is None:
            break
        z = np.clip(z + system.reach(z, step[0]) * step[0], program.lower, program.upper)
        violation = system.own.violation(z)
        if violation < least:
            best, least = z, violation
    return best


def _settle(
    system: _System, z: FloatArray, y: FloatArray, side: IntArray, bound: IntArray
) -> tuple[FloatArray, FloatArray] | None:
    """The point and multipliers that meet the conditions with what is active, None when the steps do not settle."""
    program = system.program
    z = np.where(bound < 0, system.inside(program.lower), np.where(bound > 0, program.upper, system.inside(z)))
    y = np.where(side == 0, 0.0, y)
    settled = False
    for _ in range(STEPS):
        step = system.step(z, y, side, bound)
        if step is None:
            return None
        reach = system.reach(z, step[0])
        z, y = z + reach * step[0], y + reach * step[1]
        if settled:
            return z, y
        settled = bool((np.abs(step[0]) <= STILL * (1.0 + np.abs(z))).all())
    return None


class _System:
    """The optimality conditions of a program, linearised."""

    def __init__(self, program: LiftedProgram) -> None:
        self.program, self.own = program, Derivatives(program)
        self._lower, self._upper = self.own.bounds()
        self.equations: BoolArray = self._lower == self._upper
        self._fixed: BoolArray = program.upper <= program.lower
        self._largest = np.where(np.isfinite(program.upper), np.maximum(program.upper, 0.0), 1.0)
        self._unit = np.concatenate([np.ones(self.own.n_linear), program.nl_size])

    def inside(self, z: FloatArray) -> FloatArray:
        """The point with every variable that 0 bounds from below above it."""
        positive: FloatArray = np.where(self.program.lower <= 0, np.maximum(z, TINY * self._largest), z)
        return np.where(self._fixed, self.program.lower, positive)

    def vanishing(self, z: FloatArray) -> BoolArray:
        """Masses that go to 0."""
        small: BoolArray = (self.program.lower <= 0) & (z < VANISHING * self._largest)
        small[self.program.n_masses :] = False
        return small & ~self._fixed

    def reach(self, z: FloatArray, step: FloatArray) -> float:
        """How much of a step to take."""
        back = (step < 0) & (z > 0) & (self.program.lower >= 0)
        return float(min(1.0, FAR * (z[back] / -step[back]).min(initial=np.inf)))

    def step(
        self, z: FloatArray, y: FloatArray | None, side: IntArray, bound: IntArray
    ) -> tuple[FloatArray, FloatArray] | None:
        """Newton step of variables and multipliers, the least step towards the rows without multipliers.

        None where the equations have no solution.
        """
        from scipy.sparse.linalg import splu

        rows, columns = np.flatnonzero(side), np.flatnonzero(~self._fixed & (bound == 0))
        with np.errstate(all="ignore"):
            jacobian = self._jacobian(z)[rows][:, columns]
            scale = np.sqrt(np.maximum(np.abs(z[columns]), TINY))
            wide = sparse.csr_matrix(jacobian @ sparse.diags(scale))
            norm = np.sqrt(np.asarray(wide.multiply(wide).sum(axis=1)).reshape(-1))
            per = np.divide(1.0, norm, out=np.ones_like(norm), where=norm > 0)
            wide = sparse.csr_matrix(sparse.diags(per) @ wide)
            value = self.own.constraints(z)[rows]
            missing = value - np.where(side[rows] < 0, self._lower[rows], self._upper[rows])
            if y is None:
                hessian, slope = sparse.identity(len(columns), format="csr"), np.zeros(len(columns))
            else:
                diagonal = sparse.diags(scale)
                hessian = diagonal @ self._hessian(z, y)[columns][:, columns] @ diagonal
                hessian += NEAR * sparse.identity(len(columns))
                slope = scale * (self.own.gradient(z)[columns] + jacobian.T @ y[rows])
            matrix = sparse.bmat([[hessian, wide.T], [wide, -NEAR_DUAL * sparse.identity(len(rows))]], format="csc")
            right = -np.concatenate([slope, per * missing])
            if not (np.isfinite(matrix.data).all() and np.isfinite(right).all()):
                return None
            try:
                factors = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.1)  # symmetric, in its pattern
            except RuntimeError:  # exactly singular
                return None
            found = factors.solve(right)
            found += factors.solve(right - matrix @ found)
        if not np.isfinite(found).all():
            return None
        of_z, of_y = np.zeros(len(z)), np.zeros(len(side))
        of_z[columns], of_y[rows] = scale * found[: len(columns)], per * found[len(columns) :]
        return of_z, of_y

    def correct(self, z: FloatArray, y: FloatArray, side: IntArray, bound: IntArray, tolerance: float) -> bool:
        """Change what is active where the answer contradicts it; whether there was any need to."""
        if self.add_violated(z, side, bound, 0.1 * tolerance):
            return True
        sign = np.where(self.equations, 0.0, side * y / self._unit)
        pull = -bound * (self.own.gradient(z) + self._jacobian(z).T @ y)
        rows, bounds = sign < -WRONG, pull < -WRONG
        side[rows], bound[bounds] = 0, 0
        return bool(rows.any() or bounds.any())

    def add_violated(self, z: FloatArray, side: IntArray, bound: IntArray, tolerance: float) -> bool:
        """Make violated rows and bounds active; whether there were any."""
        value = self.own.constraints(z)
        changed = False
        for what, at, below, above in (
            (side, value, self._lower, self._upper),
            (bound, z, self.program.lower, self.program.upper),
        ):
            low, high = (what == 0) & (at < below - tolerance), (what == 0) & (at > above + tolerance)
            what[low], what[high] = -1, 1
            changed |= bool(low.any() or high.any())
        return changed

    def _jacobian(self, z: FloatArray) -> sparse.csr_matrix:
        shape = self.own.n_rows, self.program.n
        return sparse.csr_matrix((self.own.jacobian(z), self.own.jacobianstructure()), shape=shape)

    def _hessian(self, z: FloatArray, y: FloatArray) -> sparse.csr_matrix:
        rows, columns = self.own.hessianstructure()
        values = self.own.hessian(z, y, 1.0)
        n, beside = len(z), rows != columns
        return sparse.csr_matrix(
            (
                np.concatenate([values, values[beside]]),
                (np.concatenate([rows, columns[beside]]), np.concatenate([columns, rows[beside]])),
            ),
            shape=(n, n),
        )
