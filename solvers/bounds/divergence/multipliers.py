"""Multipliers at a point, and the largest first-order gain from there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import FloatArray
from maxent.solvers.bounds.divergence.nonnegative import nonnegative
from maxent.solvers.dual.linear_entropy import LinearEntropy

# Distance from a bound, individuals, within which a row may hold with equality.
TOUCHED = 1e-4
# Nats that an individual by which an equation is missed is taken to cost, per nat of the largest multiplier.
STEEP = 10.0


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The linear rows over free masses: ``equal m = value``, totals among them, and ``unequal m >= least``."""

    equal: FloatArray
    value: FloatArray
    unequal: FloatArray
    least: FloatArray
    linear: LinearEntropy

    @classmethod
    def of_linear(cls, linear: LinearEntropy) -> Rows:
        """The rows of a relaxation, dense."""
        n, matrix, same = len(linear.owner), linear.matrix.toarray(), linear.lower == linear.upper
        totals = np.zeros((len(linear.total), n))
        totals[linear.owner, np.arange(n)] = 1.0
        low, high = ~same & np.isfinite(linear.lower), ~same & np.isfinite(linear.upper)
        return cls(
            np.vstack([totals, matrix[same]]),
            np.concatenate([linear.total, linear.lower[same]]),
            np.vstack([matrix[low], -matrix[high]]),
            np.concatenate([linear.lower[low], -linear.upper[high]]),
            linear,
        )

    def across(self, masses: FloatArray) -> FloatArray:
        """Directions that keep the equations, orthonormal in the metric ``sum d^2 / m``, shape (n, n_directions)."""
        from scipy.linalg import null_space

        root = np.sqrt(masses)
        found: FloatArray = root[:, None] * null_space(self.equal * root)
        return found


def balanced(
    rows: Rows, masses: FloatArray, across: FloatArray, slopes: FloatArray, left: FloatArray
) -> tuple[FloatArray, float]:
    """Multipliers of further rows, and how much more ``entropy + multipliers'left`` can be by its tangent, nats.

    ``slopes``, shape (n_rows, n), are the gradients of the rows ``left >= 0`` at the masses, and ``across`` those of
    `Rows.across` there. The tangent is that over all masses that meet the linear rows.
    """
    gradient = -(np.log(masses / rows.linear.weight) + 1.0)
    room = rows.unequal @ masses - rows.least
    touched = np.flatnonzero(room <= TOUCHED)
    every = np.vstack([slopes, rows.unequal[touched]])
    found = np.zeros(len(every))
    if len(every) and across.shape[1]:
        found = nonnegative(across.T @ every.T, -across.T @ gradient)
    of_rows, of_unequal = np.split(found, [len(slopes)])
    slope, root = gradient + found @ every, np.sqrt(masses)
    y = np.linalg.lstsq((rows.equal * root).T, slope * root, rcond=1e-12)[0]
    rest, off = slope - y @ rows.equal, np.abs(rows.equal @ masses - rows.value).sum()
    gained = rows.linear.total @ rows.linear.largest(rest) - rest @ masses
    missed = STEEP * (1.0 + np.abs(y).max(initial=0.0)) * off
    return of_rows, float(gained + of_rows @ left + of_unequal @ room[touched] + missed)
