"""Linear statements that leave no interior: find the inequalities that can only hold with equality.

Labels and counts together may admit a single value of some mass. An interior-point method needs a point where every
inequality is strict, so such rows and bounds are turned into equations first. One linear program finds them all
(Freund, Roundy & Todd, "Identifying the set of always-active constraints in a system of linear inequalities by a
single linear program", MIT Sloan working paper 1674-85, 1985).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.constraints.presolve.independent_rows import independent_rows
from maxent.models.arrays import FloatArray

SOLVED, INFEASIBLE, TROUBLE = 0, 2, 4
"""Statuses of SciPy's linear programs. Trouble includes "infeasible or unbounded", and nothing here is unbounded."""


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
    from scipy.optimize import linprog

    n = program.n
    equal = program.row_lower == program.row_upper
    below = ~equal & np.isfinite(program.row_upper)
    above = ~equal & np.isfinite(program.row_lower)
    high = np.isfinite(program.upper)
    eye = sparse.identity(n, format="csr")
    left = sparse.vstack([program.matrix[below], -program.matrix[above], -eye, eye[high]], format="csr")
    right = np.concatenate([program.row_upper[below], -program.row_lower[above], -program.lower, program.upper[high]])
    n_slack = len(right)
    found = linprog(
        np.concatenate([np.zeros(n + 1), -np.ones(n_slack)]),
        A_ub=sparse.hstack([left, -right[:, None], sparse.identity(n_slack)], format="csr"),
        b_ub=np.zeros(n_slack),
        A_eq=sparse.hstack(
            [program.matrix[equal], -program.row_lower[equal][:, None], sparse.csr_matrix((int(equal.sum()), n_slack))],
            format="csr",
        ),
        b_eq=np.zeros(int(equal.sum())),
        bounds=[(None, None)] * n + [(1.0, None)] + [(0.0, 1.0)] * n_slack,
        method="highs",
        options={"time_limit": seconds},
    )
    if found.status == INFEASIBLE or (found.status == TROUBLE and "infeasible" in found.message.lower()):
        return Restricted(program, np.zeros(n), single=False, changed=False, possible=False)
    if found.status != SOLVED:
        return None
    point = found.x[:n] / found.x[n]
    tight = found.x[n + 1 :] < 0.5
    low, up = np.cumsum([below.sum(), above.sum()])
    row_tight = np.zeros(len(equal), bool)
    row_tight[np.flatnonzero(below)[tight[:low]]] = True
    row_tight[np.flatnonzero(above)[tight[low:up]]] = True
    fixed = tight[up : up + n].copy()
    fixed[high] |= tight[up + n :]
    point = np.clip(point, program.lower, program.upper)
    value = program.matrix @ point
    lower = np.where(row_tight, value, program.row_lower)
    upper = np.where(row_tight, value, program.row_upper)
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
    changed = bool(row_tight.any() or fixed.any() or len(keep) < len(equal))
    return Restricted(restricted, point, bool(fixed.all()), changed)
