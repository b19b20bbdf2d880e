"""An answer with multipliers of its split comparisons, on masses with finite relative entropy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.models.arrays import FloatArray
from maxent.solvers.bounds.divergence.curvature import Curved, curved
from maxent.solvers.bounds.divergence.multipliers import TOUCHED, Rows, balanced
from maxent.solvers.dual.relaxation import relaxed_once

# Free masses up to which a proof is tried.
FEW = 250
# Share of its owner's total that a mass of an answer has at least: elsewhere relative entropies are not finite.
SMALLEST = 1e-9
# What rounding adds at most, nats per individual.
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """Free ``masses`` of an answer, the sums ``a`` there, and the multipliers ``mu`` of the comparisons.

    ``more`` is what the Lagrangian's tangent gains from there, ``entropy`` that of the free masses, nats; ``across``
    are directions that keep the equations.
    """

    rows: Rows
    curves: Curved
    masses: FloatArray
    across: FloatArray
    a: FloatArray
    mu: FloatArray
    entropy: float
    more: float

    @property
    def people(self) -> float:
        """Individuals whose class is open."""
        return float(self.rows.linear.total.sum())


def answer(program: LiftedProgram, point: FloatArray) -> Answer | None:
    """A point with its multipliers, None where it has none, or is too large."""
    sized = any((terms.size_var >= 0).any() for terms in program.terms)
    open_ = program.lower[: program.n_masses] < program.upper[: program.n_masses]
    if program.draws is not None or sized or np.count_nonzero(open_) > FEW:
        return None
    relaxed = relaxed_once(program)
    linear, elimination = relaxed.linear, relaxed.elimination
    masses = point[elimination.free]
    least = SMALLEST * linear.total[linear.owner]
    if not len(masses) or np.isnan(elimination.shift).any() or (masses <= least).any():
        return None
    rows, curves = Rows.of_linear(linear), curved(program, elimination)
    a, across = curves.a(masses), rows.across(masses)
    if (a <= 0).any() or not across.shape[1]:
        return None
    left, slopes = curves.rows(a)
    bound = np.flatnonzero(left <= TOUCHED)
    found, more = balanced(rows, masses, across, slopes[bound], left[bound])
    mu = np.zeros(len(left))
    mu[bound] = found
    more = max(more, 0.0) + ROUNDING * float(linear.total.sum())
    entropy = -float(masses @ np.log(masses / linear.weight))
    return Answer(rows, curves, masses, across, a, mu, entropy, more)
