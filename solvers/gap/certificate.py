"""Certificates of a gap: a bound that follows from multipliers, and programs with exchangeable classes merged."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from maxent.constraints.lifting import Elimination, LiftedProgram
from maxent.models.arrays import FloatArray, IntArray
from maxent.solvers.control import Clock
from maxent.solvers.dual.newton import minimise
from maxent.solvers.gap.interior_point import BarrierProof, GapProblem, Iterate

if TYPE_CHECKING:
    from maxent.solvers.gap.lagrangian import Priced

# Upper bound of the entropy from multipliers: the tangent of a concave Lagrangian.
#
# For feasible masses m, with multipliers that price every row on the side where it holds,
#
#     H(m) <= L(m) <= L(m0) + L'(m0) (m - m0) <= L(m0) + sum_o t_o max_{i in o} L'_i(m0) - L'(m0) m0
#
# for any masses m0 that meet the equations, as L is concave and the masses of owner o add up to t_o. The last two terms
# are the gap of Frank and Wolfe ("An algorithm for quadratic programming", Naval Research Logistics Quarterly 3, 1956):
# 0 where m0 is the maximum of L, and never negative. So what an iteration that ended early proves is known, too.

# Individuals, per individual, with which equations are met where the Lagrangian's tangent touches it.
MET = 1e-12
# Newton steps towards such masses, at most.
CLOSER = 30
# Masses at which tangents are looked at: those found, and from there on where the Lagrangian is larger; by how much
# that brings one nearer at most.
TOUCHED, FURTHER = 2, 3.0
# Nats that an individual by which an equation is missed is taken to cost, per nat of the largest multiplier.
STEEP = 10.0
# Share of its owner's total that a mass has at least there.
SMALLEST = 1e-14
# By how much the largest eigenvalue of what rows bend may be larger than it came out.
ROUNDING = 1e-12
# Rounding that is allowed for, as a share of the numbers that a bound is the sum of.
ALLOWED = 1e-13


def proved(priced: Priced, clock: Clock, found: Iterate, near: float = 0.0) -> BarrierProof:
    """An upper bound of the entropy of the program, nats, by multipliers ``near`` those of the Lagrangian's maximum.

    Where no masses meet the equations it is what an unfinished search for them makes it, perhaps infinite.
    """
    problem, linear = priced.problem, priced.relaxed.linear
    weight = np.maximum(found.x[problem.weight > 0], SMALLEST * linear.total[linear.owner])
    lam, best = _affordable(problem, found.rows), BarrierProof(np.inf, np.inf)
    for _ in range(TOUCHED):
        proof, weight = _by_tangent(priced, found, lam, weight, clock)
        best = proof if proof.most < best.most else best
        if best.above <= near or 0.0 < FURTHER * near < best.above:
            break
    return best


def _by_tangent(
    priced: Priced, found: Iterate, lam: FloatArray, weight: FloatArray, clock: Clock
) -> tuple[BarrierProof, FloatArray]:
    """Bound by the tangent at the feasible masses that are nearest to the weights in relative entropy."""
    # And other weights, with which the Lagrangian is larger: its maximum, but for how its rows bend.
    problem, linear, n = priced.problem, priced.relaxed.linear, len(priced.at)
    masses = problem.weight > 0
    towards = replace(linear, weight=weight)
    m = minimise(towards, tolerance=MET * float(linear.total.sum()), max_iterations=CLOSER, clock=clock).masses
    x = np.zeros(len(problem.weight))  # without slacks
    x[:n] = priced.relaxed.elimination.point(m)[priced.at]
    y = np.where(priced.stated, found.y, 0.0)
    # That masses are at least 0 is in the last two terms.
    below = np.where(masses & (problem.lower > 0), found.below, 0.0)
    above = np.where(masses, found.above, 0.0)
    off = problem.missed(x)
    low, high = np.where(masses, x - problem.lower, 0.0), np.where(above > 0, problem.upper - x, 0.0)
    said = np.concatenate([lam * problem.left(x), -y * off, below * low, above * high])
    slope = problem.slopes(x).T @ lam - problem.gradient(x) - problem.pulled(y) + below - above
    whole = np.zeros(priced.program.n)
    whole[priced.at] = slope[:n]
    by_mass = priced.relaxed.elimination.spread(whole)
    steepest = linear.largest(by_mass)
    largest = linear.total * steepest
    parts = np.concatenate([said, largest, -by_mass * m, [-problem.objective(x), priced.relaxed.constant]])
    missed = STEEP * (1.0 + float(lam.max(initial=0.0))) * float(np.abs(off).sum())
    most = float(parts.sum() + missed + ALLOWED * np.abs(parts).sum())
    further = m * np.exp(by_mass - steepest[linear.owner])
    proof = BarrierProof(most, float(largest.sum() - by_mass @ m))
    return proof, np.maximum(further, SMALLEST * linear.total[linear.owner])


def _affordable(problem: GapProblem, rows: FloatArray) -> FloatArray:
    """Multipliers of the rows that no price is too low for, made smaller where one is."""
    lam, paid = np.maximum(rows, 0.0), problem.cost > 0
    asked = problem.paid(lam)[paid] / problem.cost[paid]
    bent = 1.0 - float(np.linalg.eigvalsh(problem.bend_left(lam)).min(initial=1.0))
    return lam / max(1.0, float(asked.max(initial=0.0)), bent + ROUNDING)


# Merges exchangeable classes into one: enough for a concave bound.
#
# Where swapping two classes maps a program onto itself, a concave Lagrangian that is as symmetric has its maximum where
# both have the same masses. With M the sum of k such masses m, each M / k,
#
#     -sum m ln(m / w) = -M ln(M / (k w)),    sum phi(A / k, W) = phi(A, k W)    for both phi,
#
# so that a program with M in place of the k masses has that maximum, too.


def equations_alone(program: LiftedProgram) -> LiftedProgram:
    """The program without statements that are inequalities, which tell classes apart that nothing else does."""
    kept = np.flatnonzero(program.row_lower == program.row_upper)
    return replace(
        program,
        matrix=program.matrix[kept],
        row_lower=program.row_lower[kept],
        row_upper=program.row_upper[kept],
        origins=tuple(program.origins[i] for i in kept.tolist()),
    )


def alike_as_one(
    program: LiftedProgram, elimination: Elimination
) -> tuple[LiftedProgram, FloatArray, sparse.csr_matrix]:
    """The program with one class for all that are treated alike, of how many each is, and its sums of variables."""
    klass = _classes(program, elimination)
    first, times = _representatives(program, elimination, klass)
    if (first == np.arange(len(first))).all():
        return program, times, sparse.identity(program.n, format="csr")
    keep = np.flatnonzero((klass < 0) | (first[klass] == klass))
    factor = np.where(klass >= 0, times[klass], 1.0)
    number = np.full(program.n, -1, np.int64)
    number[keep] = np.arange(len(keep))
    row = number.copy()  # that of the variable that stands for each
    for x in np.flatnonzero(first != np.arange(len(first))).tolist():
        row[klass == x] = number[klass == first[x]]
    sums = sparse.csr_matrix((np.ones(program.n), (row, np.arange(program.n))), shape=(len(keep), program.n))
    masses = keep[keep < program.n_masses]
    terms = []
    for some in program.terms:
        at = np.flatnonzero(number[some.var] >= 0)
        parts = {name: getattr(some, name)[at] for name in ("row", "coef", "size_var", "block")}
        var = some.var[at]
        terms.append(replace(some, var=number[var], size=some.size[at] * factor[var], **parts))
    # A definition is about one class, and counts all that are alike; totals are about all classes, statements about
    # classes that are like no other.
    first_of_row = program.matrix.indices[np.minimum(program.matrix.indptr[:-1], program.matrix.nnz - 1)]
    defines = np.diff(program.matrix[:, program.n_masses :].indptr) > 0
    row_factor = np.where(defines, factor[first_of_row], 1.0)
    one = replace(
        program,
        group=program.group[masses],
        klass=program.klass[masses],
        owner=program.owner[masses],
        mass_weight=(program.mass_weight * factor[: program.n_masses])[masses],
        lower=(program.lower * factor)[keep],
        upper=(program.upper * factor)[keep],
        matrix=sparse.csr_matrix(program.matrix[:, keep]),
        row_lower=program.row_lower * row_factor,
        row_upper=program.row_upper * row_factor,
        terms=tuple(terms),
    )
    return one, times, sums


def _classes(program: LiftedProgram, elimination: Elimination) -> IntArray:
    """The class of each variable: that of its free masses, -1 where it has none."""
    klass = np.full(program.n, -1, np.int64)
    klass[: program.n_masses] = program.klass
    sums = elimination.sums((program.klass[elimination.free] + 1).astype(np.float64))
    number = elimination.sums(np.ones(len(elimination.free)))
    rest = np.arange(program.n) >= program.n_masses
    found = np.divide(sums, number, out=np.zeros(program.n), where=number > 0)
    klass[rest] = np.where(number[rest] > 0, np.rint(found[rest]) - 1, -1).astype(np.int64)
    return klass


def _representatives(program: LiftedProgram, elimination: Elimination, klass: IntArray) -> tuple[IntArray, FloatArray]:
    """The first class that is treated as each class is, and of how many it is one."""
    n_classes = int(klass.max(initial=-1)) + 1
    stated = np.array([origin is not None for origin in program.origins], bool)
    named = np.unique(klass[program.matrix[stated].indices]) if stated.any() else np.empty(0, np.int64)
    number: dict[tuple[bytes, ...], int] = {}
    first = np.arange(n_classes)
    for x in range(n_classes):
        if x not in named:
            first[x] = number.setdefault(_signature(program, elimination, klass, x), x)
    times = np.bincount(first, minlength=n_classes).astype(np.float64)
    return first, np.maximum(times, 1.0)[first]


def _signature(program: LiftedProgram, elimination: Elimination, klass: IntArray, x: int) -> tuple[bytes, ...]:
    """Everything about a class but its name: equal for classes that can be swapped."""
    mine = np.flatnonzero(klass == x)
    place = np.full(program.n, -1, np.int64)
    place[mine] = np.arange(len(mine))
    masses = mine[mine < program.n_masses]
    rows = elimination.definitions[mine]
    arrays = [
        program.group[masses],
        program.owner[masses],
        program.mass_weight[masses],
        program.lower[masses],
        program.upper[masses],
        elimination.shift[mine],
        rows.indptr,
        place[rows.indices],
        rows.data,
    ]
    for some in program.terms:
        at = np.flatnonzero(klass[some.var] == x)
        arrays += [some.row[at], place[some.var[at]], some.coef[at], some.size[at], some.block[at]]
    return tuple(np.ascontiguousarray(array).tobytes() for array in arrays)
