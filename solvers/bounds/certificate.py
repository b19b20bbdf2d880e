"""Upper bound of the entropy from multipliers: the tangent of a concave Lagrangian.

For feasible masses m, with multipliers that price every row on the side where it holds,

    H(m) <= L(m) <= L(m0) + L'(m0) (m - m0) <= L(m0) + sum_o t_o max_{i in o} L'_i(m0) - L'(m0) m0

for any masses m0 that meet the equations, as L is concave and the masses of owner o add up to t_o. The last two terms
are the gap of Frank and Wolfe ("An algorithm for quadratic programming", Naval Research Logistics Quarterly 3, 1956):
0 where m0 is the maximum of L, and never negative. So what an iteration that ended early proves is known, too.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from maxent.models.arrays import FloatArray
from maxent.solvers.bounds.interior_point import Iterate, Proof
from maxent.solvers.bounds.priced import Priced
from maxent.solvers.bounds.problem import Problem
from maxent.solvers.clock import Clock
from maxent.solvers.dual.newton import minimise

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


def proved(priced: Priced, clock: Clock, found: Iterate, near: float = 0.0) -> Proof:
    """An upper bound of the entropy of the program, nats, by multipliers.

    One that is ``near`` the Lagrangian's maximum will do; it is not improved where it would hardly come so near.
    Where no masses meet the equations it is what an unfinished search for them makes it, perhaps infinite.
    """
    problem, linear = priced.problem, priced.relaxed.linear
    weight = np.maximum(found.x[problem.weight > 0], SMALLEST * linear.total[linear.owner])
    lam, best = _affordable(problem, found.rows), Proof(np.inf, np.inf)
    for _ in range(TOUCHED):
        proof, weight = _by_tangent(priced, found, lam, weight, clock)
        best = proof if proof.most < best.most else best
        if best.above <= near or 0.0 < FURTHER * near < best.above:
            break
    return best


def _by_tangent(
    priced: Priced, found: Iterate, lam: FloatArray, weight: FloatArray, clock: Clock
) -> tuple[Proof, FloatArray]:
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
    proof = Proof(most, float(largest.sum() - by_mass @ m))
    return proof, np.maximum(further, SMALLEST * linear.total[linear.owner])


def _affordable(problem: Problem, rows: FloatArray) -> FloatArray:
    """Multipliers of the rows that no price is too low for, made smaller where one is."""
    lam, paid = np.maximum(rows, 0.0), problem.cost > 0
    asked = problem.paid(lam)[paid] / problem.cost[paid]
    bent = 1.0 - float(np.linalg.eigvalsh(problem.bend_left(lam)).min(initial=1.0))
    return lam / max(1.0, float(asked.max(initial=0.0)), bent + ROUNDING)
