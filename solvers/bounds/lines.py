r"""Lines above entropy and index of coincidence: how much of both the shares of a set can have.

For shares s over classes, ``f(s) = sum_x (steep s_x^2 - s_x ln s_x + tilt_x s_x)`` has at most one class above
``1 / (2 steep)`` at a maximum, as else a change between two such classes raises it. All others maximise a concave
function, so that the maxima lie on the curves where one class takes what the others leave along a price nu:
``ln s_x - 2 steep s_x + nu`` is for each of these what it is at nu = 0. There is one curve for each class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import FloatArray

SMALLEST = 1e-5
"""Least share of a class, in relation to the mean, where a line touches."""

FARTHEST, POINTS, NEWTON = 40.0, 160, 6
"""Of a curve: the largest price, the prices looked at, closer together near 0; and Newton steps to its shares."""

BELOW, TRIES, CLOSE = 0.98, 10, 1e-9
"""The steepest line, as a share of one where the touching point is a maximum; how often it is halved; what f may exceed
its value there by, nats per individual."""


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """``sum_x times_x (steep s_x^2 - s_x ln s_x + tilt_x s_x) <= most`` for all shares, nats per individual."""

    steep: float
    tilt: FloatArray
    most: float


def touching(share: FloatArray, times: FloatArray) -> Line:
    """The steepest line that touches at shares of classes, each of which stands for ``times`` classes.

    Parameters
    ----------
    share, times : shape (n_classes,)
        ``share @ times`` is 1, nearly.
    """
    share = np.maximum(share, SMALLEST / times.sum())
    share = share / (share @ times)
    low, high = 0.0, BELOW / (2.0 * float(share.max()))
    found = _line(share, times, high)
    if found[1] <= CLOSE:
        return found[0]
    best = _line(share, times, low)[0]
    for _ in range(TRIES):
        middle = (low + high) / 2.0
        line, above = _line(share, times, middle)
        low, high = (middle, high) if above <= CLOSE else (low, middle)
        best = line if above <= CLOSE else best
    return best


def _line(share: FloatArray, times: FloatArray, steep: float) -> tuple[Line, float]:
    """The line with a slope, and how much higher it is than where it should touch."""
    price = FARTHEST * np.linspace(0.0, 1.0, POINTS) ** 2
    level = (np.log(share) - 2.0 * steep * share)[:, None]
    tilt = level
    u = np.log(share)[:, None] - price
    for _ in range(NEWTON):
        s = np.exp(u)
        u = u - (u - 2.0 * steep * s - level + price) / (1.0 - 2.0 * steep * s)
    s = np.exp(u)
    value = s * (steep * s - u + tilt)
    rest = np.maximum(1.0 - times @ s + s, s)
    curve = times @ value - value + rest * (steep * rest - np.log(rest) + tilt)
    at = float(times @ value[:, 0])
    bend = np.abs(np.diff(curve, 2, axis=1))
    between = np.maximum(bend[:, :-1], bend[:, 1:]) / 8.0
    highest = np.maximum(curve[:, 1:-2], curve[:, 2:-1]) + between
    # Where no class is large f is concave, and the touching point its maximum.
    large = 2.0 * steep * rest[:, 2:-1] > 1.0
    above = float(highest[large].max(initial=-np.inf)) - at
    return Line(steep, tilt[:, 0], at + max(above, 0.0)), above
