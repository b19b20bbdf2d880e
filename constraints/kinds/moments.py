"""Means and variances of a numeric target: linear statements over the classes of the people in a node.

A class stands for the numbers from ``a_x`` to ``b_x``. With the mean M of a node ``sum m_x (a_x - M) <= 0 <= sum m_x
(b_x - M)``; with the variance V, and the least and the largest square of a distance from M in a class, the same of
``(v - M)^2 - V`` (the moments of order one and two). Where each class is one number both are equalities.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from maxent.constraints.kinds.context import Context, Kind
from maxent.constraints.program.program import Linear, printed_moments
from maxent.models.arrays import FloatArray

# Relative error of a mean, and of a sum of squares, as programs compute them in double precision.
COMPUTED = 1e-10
# What is known this well, in units of the target's range, is stated as an equality.
EXACTLY = 1e-8


def moments(context: Context) -> Iterator[Linear]:
    """The people of a node have its mean and its variance, within the rounding of the printed numbers."""
    numbers = context.release.target.numbers
    if numbers is None or context.sampled or context.suppressed or context.release.resampled is not None:
        return  # of a sample, or of draws, these are not the population's
    low, high = np.array(numbers, np.float64).T
    finite = np.concatenate([low, high])[np.isfinite(np.concatenate([low, high]))]
    means, variances = printed_moments(*context.moments())
    for t, place, node in context.nodes():
        if node.mean is None:
            continue
        scale = max(1.0, *np.abs(finite), abs(node.mean))
        wide = COMPUTED * scale + means.off(node.mean)
        unit = float(np.ptp(finite)) or 1.0
        rows = [_rows(low - node.mean, high - node.mean, wide, unit)]
        says = f"mean {node.mean:.10g}"
        if node.variance is not None:
            off = COMPUTED * scale**2 + variances.off(node.variance) + wide**2
            nearest = np.maximum(np.maximum(low - node.mean, node.mean - high), 0.0)
            farthest = np.maximum(np.abs(low - node.mean), np.abs(high - node.mean))
            rows.append(_rows(nearest**2 - node.variance, farthest**2 - node.variance, off, unit**2))
            says += f", variance {node.variance:.10g}"
        coef, least, most = (np.concatenate(part) for part in zip(*rows, strict=True))
        if len(coef):
            yield Linear("moments", context.origin(t, node), context.region(t, place), coef, least, most, says)


def _rows(least: FloatArray, most: FloatArray, off: float, unit: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rows for a mean of 0 of what is from ``least`` to ``most`` for each class, known up to ``off``."""
    if off <= EXACTLY * unit and (least == most).all():
        return least[None] / unit, np.zeros(1), np.zeros(1)
    rows = [((least - off) / unit, -np.inf, 0.0)] if np.isfinite(least).all() else []
    rows += [((most + off) / unit, 0.0, np.inf)] if np.isfinite(most).all() else []
    coef = np.array([row for row, _, _ in rows]).reshape(-1, len(least))
    return coef, np.array([low for _, low, _ in rows]), np.array([high for _, _, high in rows])


KIND = Kind(
    "moments",
    "means and variances: those of a numeric target in a node, within rounding",
    r"\sum_x m_{\Lambda,x}\, (a_x - \mu_\Lambda) \le 0 \le \sum_x m_{\Lambda,x}\, (b_x - \mu_\Lambda)"
    r" \quad \text{for numbers from } a_x \text{ to } b_x \text{; the same for } (v - \mu_\Lambda)^2 -"
    r" \sigma^2_\Lambda",
    moments,
    "rate",
)
