r"""Convex bound of a program that is not convex, where the entropy is more curved than the comparisons.

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

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from maxent.constraints.impurity_numpy import PHI
from maxent.constraints.lifting.elimination import Elimination, eliminate
from maxent.constraints.lifting.lifted_program import LiftedProgram, Terms
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.solvers.bounds.interior_point import Problem

ROOM = 0.1
"""Share of the room between its bounds that a mass keeps to each of them at the start."""


@dataclass(frozen=True, slots=True, eq=False)
class Priced:
    """The convex program, its start, and what its rows and columns are in the program that it bounds.

    The first ``len(at)`` columns are the variables ``at``, the others slacks. ``stated`` are the equations that are
    neither totals nor definitions. Of the rows, the first are the comparisons, ``node`` that of each; ``tau`` is what
    its multiplier counts in the node's sum, which is at most ``cap``, shape (n_nodes,), nats.
    """

    problem: Problem
    start: FloatArray
    program: LiftedProgram
    elimination: Elimination
    at: IntArray
    stated: BoolArray
    node: IntArray
    tau: FloatArray
    cap: FloatArray


def priced(program: LiftedProgram) -> Priced | None:
    """The convex program; None where sizes of branches are open, or aggregates are left without a definition."""
    if any((terms.size_var >= 0).any() for terms in program.terms):
        return None
    fixed = program.lower >= program.upper
    elimination, _ = eliminate(program, fixed)
    if np.isnan(elimination.shift).any():
        return None
    at = np.flatnonzero(~fixed)
    number = np.cumsum(~fixed) - 1
    known = np.where(fixed, program.lower, 0.0)
    node, cap = _nodes(program)
    n_rows, n_slack = len(node), len(cap)
    terms, const = _terms(program, fixed, number)
    tau = np.zeros(n_rows)
    for some in terms:
        np.maximum.at(tau, some.row, some.coef)
    chosen = program.matrix[:, at]
    moved = program.matrix @ known
    low, high = program.row_lower - moved, program.row_upper - moved
    said = np.diff(chosen.indptr) > 0
    same = said & (low == high)
    stated = np.array([origin is not None for origin in program.origins], bool)
    above, below = said & ~same & np.isfinite(low), said & ~same & np.isfinite(high)
    slack = sparse.csr_matrix((tau, (np.arange(n_rows), node)), shape=(n_rows, n_slack))
    linear = sparse.vstack([chosen[above], -chosen[below]])
    rows = sparse.bmat([[sparse.csr_matrix((n_rows, len(at))), slack], [linear, None]], format="csr")
    masses = at < program.n_masses
    owner = program.owner[at[masses]]
    free_total = program.total - np.bincount(program.owner, known[: program.n_masses], len(program.total))
    whole = free_total[owner]
    upper = np.where(program.upper[at[masses]] < whole * (1 - 1e-12), program.upper[at[masses]], np.inf)
    nothing = np.full(int((~masses).sum()), np.inf)
    start = whole / np.maximum(np.bincount(owner, minlength=len(program.total)), 1)[owner]
    least, most = program.lower[at[masses]], np.minimum(program.upper[at[masses]], whole)
    start = np.clip(start, least + ROOM * (most - least), most - ROOM * (most - least))
    problem = Problem(
        weight=np.concatenate([program.mass_weight[at[masses]], np.zeros(len(nothing) + n_slack)]),
        cost=np.concatenate([np.zeros(len(at)), cap]),
        lower=np.concatenate([least, -nothing, np.zeros(n_slack)]),
        upper=np.concatenate([upper, nothing, np.full(n_slack, np.inf)]),
        equal=sparse.csr_matrix(sparse.hstack([chosen[same], sparse.csr_matrix((int(same.sum()), n_slack))])),
        value=low[same],
        rows=rows,
        const=np.concatenate([const, -low[above], high[below]]),
        terms=terms,
    )
    point = np.concatenate([elimination.point(start)[at], np.ones(n_slack)])
    return Priced(problem, point, program, elimination, at, stated[same], node, tau, cap)


def _nodes(program: LiftedProgram) -> tuple[IntArray, FloatArray]:
    """The node of each comparison, and the price of each node's slack, nats."""
    number = {origin: i for i, origin in enumerate(dict.fromkeys(program.nl_origins))}
    trees = len({origin.tree for origin in number})
    return np.array([number[origin] for origin in program.nl_origins], np.int64), np.full(len(number), 1.0 / trees)


def _terms(program: LiftedProgram, fixed: BoolArray, number: IntArray) -> tuple[tuple[Terms, ...], FloatArray]:
    """The comparisons in individuals over the variables that are not fixed, and their constants."""
    const = program.nl_const * program.nl_size
    found = []
    for terms in program.terms:
        coef = terms.coef * program.nl_size[terms.row]
        still = fixed[terms.var]
        value = program.lower[terms.var[still]]
        some = value > 0
        known = np.zeros(len(value))
        known[some] = coef[still][some] * PHI[terms.phi].value(value[some], terms.size[still][some])
        const = const + np.bincount(terms.row[still], known, len(const))
        free = ~still
        found.append(
            replace(
                terms,
                row=terms.row[free],
                var=number[terms.var[free]],
                coef=coef[free],
                size=terms.size[free],
                size_var=terms.size_var[free],
                block=terms.block[free],
            )
        )
    return tuple(found), const
