"""Newton steps on the optimality conditions of a program, given which inequalities hold with equality."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from maxent.constraints.lifting.elimination import passive_chain
from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.solvers.derivatives import Derivatives

WRONG = 1e-7
"""Multipliers of the wrong sign up to this (nats per individual) are rounding, or of rows that are only just met."""

NEAR, NEAR_DUAL = 1e-5, 1e-12
"""Proximal terms: optima that are not alone and active rows that depend on each other make the equations singular."""

FAR = 0.9
"""The largest share of the way to 0 that one step may go."""

CLOSEST, VANISHING = 1e-12, 1e-6
"""Shares of what a variable could be: how close to 0 it comes, and below which a mass starts there.

Where the entropy of a chosen split is best at 0, Newton's method would run away from that.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Active:
    """Active constraints of a point, and their multipliers.

    ``side`` of every row, linear rows first, and ``bound`` of every variable are -1 at the lower bound (and for
    equations), 1 at the upper one, 0 for neither. ``multipliers``, shape (n_rows,), are nats per unit of the row: the
    gradient of the objective plus multipliers times that of the rows vanishes where no bound is active.
    """

    multipliers: FloatArray
    side: IntArray
    bound: IntArray


class OptimalityConditions:
    """The optimality conditions of a program; ``own`` are its derivatives, ``equations`` says which rows are."""

    def __init__(self, program: LiftedProgram) -> None:
        self.program, self.own = program, Derivatives(program)
        self._lower, self._upper = self.own.bounds()
        self.equations: BoolArray = self._lower == self._upper
        self._fixed: BoolArray = program.upper <= program.lower
        self._largest = np.where(np.isfinite(program.upper), np.maximum(program.upper, 0.0), 1.0)
        self._unit = np.concatenate([np.ones(self.own.n_linear), program.nl_size])

    def inside(self, z: FloatArray) -> FloatArray:
        """The point with every variable that 0 bounds from below above it."""
        positive: FloatArray = np.where(self.program.lower <= 0, np.maximum(z, CLOSEST * self._largest), z)
        return np.where(self._fixed, self.program.lower, positive)

    def vanishing(self, z: FloatArray) -> BoolArray:
        """Masses that go to 0."""
        small: BoolArray = (self.program.lower <= 0) & (z < VANISHING * self._largest)
        small[self.program.n_masses :] = False
        return small & ~self._fixed

    def reach(self, z: FloatArray, step: FloatArray) -> float:
        """The share of a step to take."""
        back = (step < 0) & (z > 0) & (self.program.lower >= 0)
        return float(min(1.0, FAR * (z[back] / -step[back]).min(initial=np.inf)))

    def step(
        self, z: FloatArray, y: FloatArray | None, side: IntArray, bound: IntArray
    ) -> tuple[FloatArray, FloatArray] | None:
        """Newton step of variables and multipliers; without multipliers the least step towards the active rows.

        None where the equations have no solution.
        """
        rows, columns = np.flatnonzero(side), np.flatnonzero(~self._fixed & (bound == 0))
        with np.errstate(all="ignore"):  # what is not finite is found below
            jacobian = self._jacobian(z)[rows][:, columns]
            missing = (self.own.constraints(z) - np.where(side < 0, self._lower, self._upper))[rows]
            chain = passive_chain(jacobian, self._passive(side)[columns])
            kept_rows, kept = _without(len(rows), [r for r, _ in chain]), _without(len(columns), [c for _, c in chain])
            scale = np.sqrt(np.maximum(np.abs(z[columns]), CLOSEST))[kept]
            core = jacobian[kept_rows][:, kept]
            if y is None:
                hessian, slope = sparse.identity(len(kept), format="csr"), np.zeros(len(kept))
            else:
                diagonal, used = sparse.diags(scale), columns[kept]
                hessian = diagonal @ self._hessian(z, y)[used][:, used] @ diagonal + NEAR * sparse.identity(len(kept))
                slope = scale * (self.own.gradient(z)[used] + core.T @ y[rows[kept_rows]])
            found = _solve(hessian, core @ sparse.diags(scale), slope, missing[kept_rows])
        if found is None:
            return None
        of_columns, of_z, of_y = np.zeros(len(columns)), np.zeros(len(z)), np.zeros(len(side))
        of_columns[kept] = scale * found[0]
        for r, c in reversed(chain):
            defined = np.asarray(jacobian[r, c]).reshape(-1)
            of_columns[c] = -(missing[r] + jacobian[r] @ of_columns) / defined
            of_y[rows[r]] = 0.0 if y is None else -y[rows[r]]
        of_z[columns], of_y[rows[kept_rows]] = of_columns, found[1]
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

    def _passive(self, side: IntArray) -> BoolArray:
        """Aggregates that no active nonlinear row looks at, shape (n,)."""
        passive = np.ones(self.program.n, bool)
        passive[: self.program.n_masses] = False
        if self.program.draws is not None:
            passive[self.program.draws > 0] = False
        for terms in self.program.terms:
            active = side[self.own.n_linear + terms.row] != 0
            passive[terms.var[active]] = False
            passive[terms.size_var[active & (terms.size_var >= 0)]] = False
        return passive

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


def _without(n: int, left_out: list[IntArray]) -> IntArray:
    kept = np.ones(n, bool)
    for numbers in left_out:
        kept[numbers] = False
    return np.flatnonzero(kept)


def _solve(
    hessian: sparse.csr_matrix, rows: sparse.csr_matrix, slope: FloatArray, missing: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """Step ``d`` and change of multipliers ``e``: ``hessian d + rows' e = -slope``, ``rows d = -missing``."""
    from scipy.sparse.linalg import splu

    norm = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).reshape(-1))
    per = np.divide(1.0, norm, out=np.ones_like(norm), where=norm > 0)
    unit = sparse.diags(per) @ rows
    matrix = sparse.bmat([[hessian, unit.T], [unit, -NEAR_DUAL * sparse.identity(len(missing))]], format="csc")
    right = -np.concatenate([slope, per * missing])
    if not (np.isfinite(matrix.data).all() and np.isfinite(right).all()):
        return None
    try:
        factors = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.1)  # its pattern is symmetric
    except RuntimeError:  # exactly singular
        return None
    found = factors.solve(right)
    found += factors.solve(right - matrix @ found)
    if not np.isfinite(found).all():
        return None
    return found[: len(slope)], per * found[len(slope) :]
