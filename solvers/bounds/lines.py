r"""Lines above entropy and index of coincidence: how much of both the shares of a set can have.

For shares s over classes, ``f(s) = sum_x (steep s_x^2 - s_x ln s_x + tilt_x s_x)`` has at most one class above
``1 / (2 steep)`` at a maximum, as else a change between two such classes raises it. All others maximise a concave
function, so that the maxima lie on the curves where one class takes what the others leave along a price nu:
``ln s_x - 2 steep s_x + nu`` is for each of these what it is at nu = 0. There is one curve for each class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import FloatArray

SMALLEST = 1e-5
"""Least share of a class, in relation to the mean, where a line touches."""

FARTHEST, POINTS, NEWTON = 40.0, 160, 4
"""Of a curve: the largest price, the prices looked at, closer together near 0; and Newton steps to its shares."""

BELOW, TRIES, CLOSE = 0.98, 6, 1e-9
"""The steepest line, as a share of one where the touching point is a maximum; how many others are tried; what f may
exceed its value there by, nats per individual."""

STEEP, AWAY = 0.99, 0.05
"""The slope that is tried, as a share of where the last two say that the line would touch elsewhere; how far it is from
the ends of the range at least, as a share of that."""

TOGETHER = 16
"""Lines that are found together: as many as a processor's cache holds."""


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """``sum_x times_x (steep s_x^2 - s_x ln s_x + tilt_x s_x) <= most`` for all shares, nats per individual."""

    steep: float
    tilt: FloatArray
    most: float


def touching(shares: Sequence[FloatArray], times: Sequence[FloatArray]) -> list[Line]:
    """The steepest lines that touch at shares of classes, each of which stands for ``times`` classes.

    Parameters
    ----------
    shares, times : of each line, shape (n_classes,)
        ``share @ times`` is 1, nearly.
    """
    found: list[Line] = []
    for first in range(0, len(shares), TOGETHER):
        some = slice(first, first + TOGETHER)
        found += _together(shares[some], times[some])
    return found


def _together(shares: Sequence[FloatArray], times: Sequence[FloatArray]) -> list[Line]:
    count = np.array([len(share) for share in shares])
    there = np.arange(int(count.max())) < count[:, None]
    share, time = np.full(there.shape, SMALLEST), np.zeros(there.shape)
    share[there], time[there] = np.concatenate(shares), np.concatenate(times)
    share = np.maximum(share, SMALLEST / time.sum(axis=1, keepdims=True))
    share = share / (share * time).sum(axis=1, keepdims=True)
    share[~there] = SMALLEST
    low, high = np.zeros(len(count)), BELOW / (2.0 * share.max(axis=1))
    tilt, most, above = _lines(share, time, high)
    further, above_further = np.full(len(count), np.inf), np.full(len(count), np.inf)
    tried = np.flatnonzero(above > CLOSE)
    low[above <= CLOSE] = high[above <= CLOSE]
    tilt[tried], most[tried] = np.log(share[tried]), 0.0  # the line without a slope
    for _ in range(TRIES):
        if not len(tried):
            break
        # Above the steepest line f is too high by what is nearly linear in the slope.
        middle, some = (low[tried] + high[tried]) / 2.0, np.isfinite(further[tried])
        at = tried[some]
        root = high[at] - above[at] * (further[at] - high[at]) / (above_further[at] - above[at])
        middle[some] = np.clip(STEEP * root, low[at] + AWAY * (high - low)[at], high[at] - AWAY * (high - low)[at])
        at_tilt, at_most, by = _lines(share[tried], time[tried], middle)
        below = by <= CLOSE
        better, worse = tried[below], tried[~below]
        low[better], tilt[better], most[better] = middle[below], at_tilt[below], at_most[below]
        further[worse], above_further[worse] = high[worse], above[worse]
        high[worse], above[worse] = middle[~below], by[~below]
        tried = tried[(high - low)[tried] > (1.0 - STEEP) * high[tried]]
    return [Line(float(c), t[:n], float(m)) for c, t, m, n in zip(low, tilt, most, count.tolist(), strict=True)]


def _lines(share: FloatArray, times: FloatArray, steep: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The tilts and highest values of lines with slopes, and how much higher these are than where they should touch.

    ``share`` and ``times``, shape (n_lines, n_classes), of which those without ``times`` are none.
    """
    price = FARTHEST * np.linspace(0.0, 1.0, POINTS) ** 2
    double, half = 2.0 * steep[:, None, None], (0.5 * 2.0) * steep[:, None, None]
    tilt = (np.log(share) - 2.0 * steep[:, None] * share)[:, :, None]
    goal = tilt - price
    u = np.log(share)[:, :, None] - price
    s, step = np.empty_like(u), np.empty_like(u)  # in place: these arrays are most of the work
    for _ in range(NEWTON):
        np.multiply(np.exp(u, out=s), double, out=s)
        np.subtract(np.subtract(u, s, out=step), goal, out=step)
        u -= np.divide(step, np.subtract(1.0, s, out=s), out=step)
    np.exp(u, out=s)
    value = np.multiply(s, half, out=goal)
    value -= u
    value += tilt
    value *= s
    weight = times[:, None, :]
    rest = np.subtract(s, weight @ s, out=u)
    rest += 1.0
    np.maximum(rest, s, out=rest)
    curve = np.multiply(rest, half, out=step)
    curve -= np.log(rest, out=s)
    curve += tilt
    curve *= rest
    curve -= value
    curve += weight @ value
    at = (times * value[:, :, 0]).sum(axis=1)
    bend = np.diff(curve, 2, axis=2)
    np.abs(bend, out=bend)
    highest = np.maximum(bend[:, :, :-1], bend[:, :, 1:])
    highest /= 8.0
    highest += np.maximum(curve[:, :, 1:-2], curve[:, :, 2:-1])
    # Where no class is large f is concave, and the touching point its maximum.
    large = (double * rest[:, :, 2:-1] > 1.0) & (times[:, :, None] > 0)
    above = highest.max(axis=(1, 2), initial=-np.inf, where=large) - at
    return tilt[:, :, 0], at + np.maximum(above, 0.0), above
