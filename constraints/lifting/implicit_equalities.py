"""Finds inequalities that always hold with equality, so that the linear statements have no interior.

Labels and counts together may admit a single value of some mass. An interior-point method needs a point where every
inequality is strict, so such rows and bounds are turned into equations first. One linear program finds them all
(Freund, Roundy & Todd, "Identifying the set of always-active constraints in a system of linear inequalities by a
single linear program", MIT Sloan working paper 1674-85, 1985).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.constraints.presolve.independent_rows import independent_rows
from maxent.models.arrays import BoolArray, FloatArray, IntArray

# Statuses of SciPy's linear programs. Trouble includes "infeasible or unbounded", and nothing here is unbounded.
SOLVED, INFEASIBLE, TROUBLE = 0, 2, 4


@dataclass(frozen=True, slots=True, eq=False)
class Restricted:
    """A program whose implicit equalities are explicit, and a point that satisfies its linear rows, shape (n,).

    ``single`` is whether that is the only such point, ``changed`` whether there were any implicit equalities.
    ``possible`` is whether there is a point at all: else the linear rows contradict each other, and this is the program
    as it was.
    """

    program: LiftedProgram
    point: FloatArray
    single: bool
    changed: bool
    possible: bool = True


def restrict(program: LiftedProgram, seconds: float | None = None) -> Restricted | None:
    """Make implicit equalities explicit; None when nothing is known after so many seconds.

    Maximises the number of inequalities with slack: ``A m = b t``, ``G m + s <= h t``, ``0 <= s <= 1``, ``t >= 1``; an
    inequality whose s is 0 at the optimum holds with equality at every feasible point ``m / t``.
    """
    equal = program.row_lower == program.row_upper
    below = np.flatnonzero(~equal & np.isfinite(program.row_upper))
    above = np.flatnonzero(~equal & np.isfinite(program.row_lower))
    high = np.flatnonzero(np.isfinite(program.upper))
    n, found = program.n, _with_most_slack(program, np.flatnonzero(equal), below, above, high, seconds)
    if found.status == INFEASIBLE or (found.status == TROUBLE and "infeasible" in found.message.lower()):
        return Restricted(program, np.zeros(n), single=False, changed=False, possible=False)
    if found.status != SOLVED:
        return None
    point = np.clip(found.x[:n] / found.x[n], program.lower, program.upper)
    of_below, of_above, of_lower, of_high = np.split(found.x[n + 1 :] < 0.5, np.cumsum([len(below), len(above), n]))
    tight, fixed = np.zeros(len(equal), bool), of_lower.copy()
    tight[below[of_below]] = tight[above[of_above]] = fixed[high[of_high]] = True
    return _explicit(program, point, tight, fixed)


def _with_most_slack(
    program: LiftedProgram, equal: IntArray, below: IntArray, above: IntArray, high: IntArray, seconds: float | None
) -> Any:
    """SciPy's answer to the linear program: m, t, and s."""
    # ``equal`` are the equations. The slack s is that of the rows ``below`` their upper side, of those ``above`` their
    # lower side, of all lower bounds and of the variables with a ``high`` one.
    from scipy.optimize import linprog

    n, eye = program.n, sparse.identity(program.n, format="csr")
    left = sparse.vstack([program.matrix[below], -program.matrix[above], -eye, eye[high]], format="csr")
    right = np.concatenate([program.row_upper[below], -program.row_lower[above], -program.lower, program.upper[high]])
    n_slack = len(right)
    value = program.row_lower[equal][:, None]
    return linprog(
        np.concatenate([np.zeros(n + 1), -np.ones(n_slack)]),
        A_ub=sparse.hstack([left, -right[:, None], sparse.identity(n_slack)], format="csr"),
        b_ub=np.zeros(n_slack),
        A_eq=sparse.hstack([program.matrix[equal], -value, sparse.csr_matrix((len(equal), n_slack))], format="csr"),
        b_eq=np.zeros(len(equal)),
        bounds=[(None, None)] * n + [(1.0, None)] + [(0.0, 1.0)] * n_slack,
        method="highs",
        options={"time_limit": seconds},
    )


def _explicit(program: LiftedProgram, point: FloatArray, tight: BoolArray, fixed: BoolArray) -> Restricted:
    """The program with the ``tight`` rows as equations and the ``fixed`` variables as constants, as at a point."""
    value = program.matrix @ point
    lower = np.where(tight, value, program.row_lower)
    upper = np.where(tight, value, program.row_upper)
    free = sparse.csr_matrix(program.matrix @ sparse.diags((~fixed).astype(np.float64)))
    free.eliminate_zeros()
    moved = program.matrix @ np.where(fixed, point, 0.0)
    keep = independent_rows(free, lower - moved, upper - moved)
    keep = keep[np.diff(free.indptr)[keep] > 0]
    restricted = replace(
        program,
        lower=np.where(fixed, point, program.lower),
        upper=np.where(fixed, point, program.upper),
        matrix=program.matrix[keep],
        row_lower=lower[keep],
        row_upper=upper[keep],
        origins=tuple(program.origins[i] for i in keep),
    )
    changed = bool(tight.any() or fixed.any() or len(keep) < len(tight))
    return Restricted(restricted, point, bool(fixed.all()), changed)
