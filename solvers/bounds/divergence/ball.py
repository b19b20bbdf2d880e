r"""Masses within a relative entropy of others: how far linear functions of them go.

With ``sum_x P_ox m0_ox = 0`` for each owner o, ``V = sum P^2 m0``, b the largest entry of P, and any share s < 3 / b,

    P'(m - m0) <= (D + sum_o t_o ln sum_x (m0_ox / t_o) exp(s P_ox)) / s <= D / s + s V / (2 - 2 s b / 3),

where D is the relative entropy of m to m0 (Donsker and Varadhan; Bernstein). The best s gives ``sqrt(2 V D) + b D / 3``
(Boucheron, Lugosi and Massart, "Concentration Inequalities", 2013, section 2.4).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import TINY, FloatArray
from maxent.solvers.bounds.divergence.multipliers import Rows

RIDGE = 1e-12
"""Added to the equations' products, which may be singular, as a share of their mean."""


@dataclass(frozen=True, slots=True, eq=False)
class Ball:
    """Masses that meet linear rows, with a relative entropy to the ``centre`` of at most a ``radius``, nats."""

    rows: Rows
    centre: FloatArray
    radius: float

    def furthest(self, functions: FloatArray, start: FloatArray) -> FloatArray:
        """The most that linear functions, shape (n_functions, n), can be above what they are at some masses."""
        owner, total, equal = self.rows.linear.owner, self.rows.linear.total, self.rows.equal
        weighed = equal * self.centre
        products = weighed @ equal.T
        products += RIDGE * np.trace(products) / len(products) * np.eye(len(products))
        p = functions - np.linalg.solve(products, weighed @ functions.T).T @ equal
        n = len(owner)
        of = np.zeros((n, len(total)))
        of[np.arange(n), owner] = 1.0
        p = p - ((p * self.centre) @ of / np.maximum((self.centre @ of), TINY))[:, owner]
        varies = np.sqrt(2.0 * self.radius * ((p * p) @ self.centre))
        found: FloatArray = (
            functions @ (self.centre - start) + varies + np.maximum(p.max(axis=1), 0.0) * self.radius / 3.0
        )
        return found
