r"""Convex upper bound of a nonconvex program, where the entropy is more curved than the comparisons.

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
from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.solvers.backend import FEW
from maxent.solvers.bounds.interior_point import Iterate
from maxent.solvers.bounds.prices import Lined, Prices, prices
from maxent.solvers.bounds.problem import Curves, Problem
from maxent.solvers.clock import Clock
from maxent.solvers.dual.linear_entropy import LinearEntropy
from maxent.solvers.dual.newton import minimise
from maxent.solvers.dual.relaxation import Relaxation, relax, relaxed_once

# Share of the room between its bounds that a mass keeps to each of them at the start.
ROOM = 1e-6
# Individuals, per individual, with which the start meets the equations: with 1e-6 some small optima are not proved.
MET = 1e-10
# Share of the entropy of a set that a line replaces where it is kept.
COUNTS = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Priced:
    """The convex program, its start, and the rows and columns of the original program.

    The first ``len(at)`` columns are the variables ``at``, the others slacks. ``stated`` are the equations that are
    neither totals nor definitions.
    """

    problem: Problem
    start: FloatArray
    program: LiftedProgram
    relaxed: Relaxation
    at: IntArray
    stated: BoolArray
    lines: tuple[Lined, ...]

    def touched(self, found: Iterate) -> Touched:
        """Where lines of a better relaxation touch, and those lines of this one that count at its optimum."""
        point = self.program.lower.copy()
        point[self.at] = found.x[: len(self.at)]
        first = len(self.program.nl_const)
        share = found.rows[first : first + len(self.lines)]
        kept = tuple(line for line, of in zip(self.lines, share, strict=True) if of > COUNTS)
        return Touched(self.relaxed, (point,), kept, point[: self.program.n_masses][self.relaxed.elimination.free])


@dataclass(frozen=True, slots=True, eq=False)
class Touched:
    """Points near which lines touch, shape (n,), lines that are kept beside these, and masses to start from.

    ``relaxed`` is the program without comparisons.
    """

    relaxed: Relaxation
    points: tuple[FloatArray, ...]
    kept: tuple[Lined, ...] | None
    start: FloatArray


def between(
    program: LiftedProgram,
    answer: FloatArray | None,
    shares: tuple[float, ...],
    clock: Clock,
    without: FloatArray | None = None,
) -> Touched | None:
    """Points at shares of the way from an answer to the optimum ``without`` comparisons, or that optimum alone.

    It is looked for unless it is given as a point that meets the statements: wherever lines touch, the bound holds.
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
        return Touched(relaxed, (elimination.point(free),), None, free)
    held = np.maximum(answer[: program.n_masses][elimination.free], 0.0)
    points = tuple(elimination.point((1.0 - share) * held + share * free) for share in shares)
    return Touched(relaxed, points, None, (held + free) / 2.0)


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
    price = prices(program, elimination, times, touched.points, touched.kept)
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
    problem = Problem(
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
    return Priced(problem, point, program, relaxed, at, stated[same], price.lines)


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
