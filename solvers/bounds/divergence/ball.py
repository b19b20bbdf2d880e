r"""Range of linear functions over masses within a given relative entropy.

With ``sum_x P_ox m0_ox = 0`` for each owner o, ``V = sum P^2 m0``, b the largest entry of P, and any share s < 3 / b,

    P'(m - m0) <= (D + sum_o t_o ln sum_x (m0_ox / t_o) exp(s P_ox)) / s <= D / s + s V / (2 - 2 s b / 3),

where D is the relative entropy of m to m0 (Donsker and Varadhan; Bernstein). The best s gives ``sqrt(2 V D) + b D / 3``
(Boucheron, Lugosi and Massart, "Concentration Inequalities", 2013, section 2.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maxent.models.arrays import TINY, FloatArray
from maxent.solvers.bounds.divergence.multipliers import Rows
from maxent.solvers.clock import Clock
from maxent.solvers.dual.linear_entropy import LinearEntropy
from maxent.solvers.dual.newton import minimise

# Added to the equations' products, which may be singular, as a share of their mean.
RIDGE = 1e-12
# How far a bound is below an entropy that nothing has, nats per individual.
CLEARLY = 1e-6
# Newton steps towards a centre, at most.
STEPS = 30


@dataclass(frozen=True, eq=False)
class Ball:
    """Masses that meet linear rows, with a relative entropy to the ``centre`` of at most a ``radius``, nats."""

    rows: Rows
    centre: FloatArray
    radius: float

    def furthest(self, functions: FloatArray, start: FloatArray) -> FloatArray:
        """Largest increase of linear functions, shape (n_functions, n), over the ball."""
        reduced, corrected = self._reduced
        p = functions @ reduced
        varies = np.sqrt(2.0 * self.radius * ((p * p) @ self.centre))
        moved = functions @ (self.centre - start + corrected)
        found: FloatArray = moved + varies + np.maximum(p.max(axis=1), 0.0) * self.radius / 3.0
        return found

    @cached_property
    def _reduced(self) -> tuple[FloatArray, FloatArray]:
        """Projection that removes equations and owners' means, shape (n, n), and the miss of the centre."""
        owner, equal, n = self.rows.linear.owner, self.rows.equal, len(self.centre)
        weighed = equal * self.centre
        products = weighed @ equal.T
        products += RIDGE * np.trace(products) / len(products) * np.eye(len(products))
        by_equal = np.linalg.solve(products, np.column_stack([equal, self.rows.value - equal @ self.centre]))
        reduced = np.eye(n) - weighed.T @ by_equal[:, :-1]
        of = np.zeros((n, len(self.rows.linear.total)))
        of[np.arange(n), owner] = 1.0
        mean = (reduced * self.centre) @ of / np.maximum(self.centre @ of, TINY)
        return reduced - mean[:, owner], weighed.T @ by_equal[:, -1]


def ball(rows: Rows, linear: LinearEntropy, entropy: float, tolerance: float, clock: Clock) -> Ball | None:
    """All masses that meet linear rows and have at least some entropy, nats; None without a centre.

    ``rows`` are those equations by which functions are reduced. By the multipliers y of the rows that come with the
    centre, and their bound D(y), ``H(m) <= H(m) + y'(C m - l) = D(y) - D(m | centre)``.
    """
    found = minimise(linear, tolerance=tolerance, max_iterations=STEPS, clock=clock)
    # Where there are no such masses a bound says so, whether there is a centre or not.
    none = found.bound < entropy - CLEARLY * float(linear.total.sum())
    if not np.isfinite(found.bound) or ((found.masses <= 0).any() and not none):
        return None
    return Ball(rows, found.masses, found.bound - entropy)
