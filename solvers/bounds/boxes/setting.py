"""Data shared by all boxes of one answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.models.arrays import FloatArray, IntArray
from maxent.solvers.bounds.divergence.answer import Answer, answer
from maxent.solvers.bounds.divergence.ball import Ball
from maxent.solvers.bounds.divergence.ordered import ordered
from maxent.solvers.bounds.prices import affordable
from maxent.solvers.dual.relaxation import relaxed_once

# Distinct quasi-identifiers and classes up to which boxes are looked at.
OWNERS, CLASSES = 60, 4
# What a box may have above the answer, nats per individual.
EXCEEDS = 5e-7
# Least eigenvalue of what comparisons bend, of relative entropies, whose direction has ends; and how many have.
STEEP, DIRECTIONS = 0.3, 6
# Added to the equations' products, which may be singular, as a share of their mean.
RIDGE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """An answer, and the linear functions ``along``, shape (n_functions, n), whose ends make boxes.

    The first ``n_sums`` are the sums, each once, ``of`` being the number of each term's; the others are directions in
    which comparisons bend most. ``coef``, ``const`` and ``mu`` belong to the comparisons that have multipliers, and
    ``price``, shape (n_rows,), is what these may be missed for so that the Lagrangian is concave. ``by_owner`` sorts
    masses by owner: where owners begin, and their totals, are ``begin`` and ``total``. ``whole`` is the ball of all
    that may have more entropy.
    """

    at: Answer
    whole: Ball
    along: FloatArray
    n_sums: int
    of: IntArray
    coef: FloatArray
    const: FloatArray
    mu: FloatArray
    price: FloatArray
    by_owner: IntArray
    begin: IntArray
    total: FloatArray

    @classmethod
    def of_answer(cls, at: Answer, priced: FloatArray, whole: Ball) -> Setting:
        """Of an answer; at the multipliers ``priced``, shape (n_rows,), the Lagrangian is concave."""
        curves, linear = at.curves, at.rows.linear
        sums, of = np.unique(curves.sums, axis=0, return_inverse=True)
        by_z = curves.sums @ at.across
        bent = (at.mu @ curves.coef) * curves.bent(at.a, np.zeros(len(at.a)))
        size, turned = np.linalg.eigh(2.0 * (by_z.T * bent) @ by_z)
        steep = np.flatnonzero(size > STEEP)[::-1][:DIRECTIONS]
        along = np.vstack([sums, ((at.across @ turned[:, steep]) / at.masses[:, None]).T])
        order = np.argsort(linear.owner, kind="stable")
        begin = np.flatnonzero(np.diff(linear.owner[order], prepend=-1))
        total, use = linear.total[linear.owner[order][begin]], np.flatnonzero(at.mu > 0)
        rows = curves.coef[use], curves.const[use], at.mu[use], priced[use]
        return cls(at, whole, along, len(sums), of.ravel(), *rows, order, begin, total)

    @property
    def enough(self) -> float:
        """Largest allowed excess of a box over the answer, nats."""
        return EXCEEDS * self.at.people

    def ends(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The least and the most that the terms' sums are between ends, shape (n_boxes, n_terms)."""
        shift = self.at.curves.shift
        return np.maximum(low[:, self.of] + shift, 0.0), np.maximum(high[:, self.of] + shift, 0.0)

    def of_owners(self, values: FloatArray) -> FloatArray:
        """The largest value of each owner, shape (n_boxes, n_owners)."""
        found: FloatArray = np.maximum.reduceat(values[:, self.by_owner], self.begin, axis=1)
        return found

    def of_masses(self, by_owner: FloatArray) -> FloatArray:
        """Totals of the owners, repeated for each of their masses, shape (n_boxes, n)."""
        found = np.empty((len(by_owner), len(self.by_owner)))
        found[:, self.by_owner] = np.repeat(by_owner, np.diff(np.append(self.begin, len(self.by_owner))), axis=1)
        return found

    def by_equations(self, m: FloatArray, right: FloatArray) -> FloatArray:
        """Solutions by the equations' products at masses m; ``right`` has the shape (n_boxes, n_equations, n_sides)."""
        equal = self.at.rows.equal
        products = (equal * m[:, None]) @ equal.T
        ridge = RIDGE / len(equal) * np.trace(products, axis1=1, axis2=2)
        found: FloatArray = np.linalg.solve(products + ridge[:, None, None] * np.eye(len(equal)), right)
        return found


def sized(program: LiftedProgram, point: FloatArray) -> tuple[Answer, FloatArray] | None:
    """An answer with its classes in order, and multipliers at which the Lagrangian is concave, where it is small.

    None where it has no multipliers or is too large.
    """
    few = len(np.unique(program.owner)) <= OWNERS and len(np.unique(program.klass)) <= CLASSES
    at = answer(program, point) if few else None
    if at is None or not at.mu.any():
        return None
    return ordered(at, program.klass[relaxed_once(program).elimination.free]), affordable(program, at.mu)
