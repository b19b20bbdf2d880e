r"""Linear upper bounds of entropy and index of coincidence over the possible shares of a set.

For shares s over classes, ``f(s) = sum_x (steep s_x^2 - s_x ln s_x + tilt_x s_x)`` has at most one class above
``1 / (2 steep)`` at a maximum, as else a change between two such classes raises it. All others maximise a concave
function, so that the maxima lie on the curves where one class takes what the others leave along a price nu:
``ln s_x - 2 steep s_x + nu`` is for each of these what it is at nu = 0. There is one curve for each class. That of the
largest tilt is as high as any: to swap its class's share with a larger one raises f by the difference in tilt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import TINY, FloatArray

# Least share of a class, in relation to the mean, where a line touches.
SMALLEST = 1e-5
# Of a curve: the largest price, the prices looked at, closer together near 0; and Newton steps to its shares.
FARTHEST, POINTS, NEWTON = 40.0, 80, 2
# What these steps begin with: Taylor coefficients of 1 / w in t, where ``w - ln w = 1 + t^2 / 2`` and w < 1.
SERIES = (1.0, 1.0, 2 / 3, 13 / 36, 23 / 135, 313 / 4320)
# The steepest line, as a share of one where the touching point is a maximum; how many others are tried; what f may
# exceed its value there by, nats per individual.
BELOW, TRIES, CLOSE = 0.98, 6, 1e-9
# The slope that is tried, as a share of where the last two say that the line would touch elsewhere; how far it is from
# the ends of the range at least, as a share of that.
STEEP, AWAY = 0.99, 0.05
# Lines that are found together: as many as a processor's cache holds.
TOGETHER = 16


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
    found: list[Line | None] = [
        _at_equal(len(share), float(n.sum())) if share.min() == share.max() else None
        for share, n in zip(shares, times, strict=True)
    ]
    others = [k for k, line in enumerate(found) if line is None]
    for first in range(0, len(others), TOGETHER):
        some = others[first : first + TOGETHER]
        for k, line in zip(some, _together([shares[k] for k in some], [times[k] for k in some]), strict=True):
            found[k] = line
    return [line for line in found if line is not None]


def _at_equal(n: int, q: float) -> Line | None:
    """The steepest line at equal shares of q classes: it touches where one has ``1 - 1/q``, too (docs/theory.md)."""
    if q <= 2.0:
        return None
    steep = (q - 1.0) * np.log(q - 1.0) / (q - 2.0)
    tilt = -np.log(q) - 2.0 * steep / q
    return Line(float(steep), np.full(n, tilt), float(-steep / q))


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
    """The tilts and highest values of lines with slopes, and how much higher these are than where they should touch."""
    # ``share`` and ``times``, shape (n_lines, n_classes), of which those without ``times`` are none.
    price = FARTHEST * np.linspace(0.0, 1.0, POINTS) ** 2
    tilt = np.log(share) - 2.0 * steep[:, None] * share
    # With w = 2 steep s: ln w - w is 1 + below less than its maximum, -1.
    double = np.log(2.0 * steep)[:, None, None]
    below = np.maximum(price - (tilt + 1.0)[:, :, None] - double, 0.0)
    root = np.sqrt(2.0 * below)
    w = np.full_like(root, SERIES[-1])  # in place: these arrays are most of the work
    for coefficient in SERIES[-2::-1]:
        w *= root
        w += coefficient
    below += 1.0
    u = np.subtract(np.divide(1.0, w, out=w), below, out=root)
    step = np.empty_like(u)
    for _ in range(NEWTON):
        np.exp(u, out=w)
        np.add(np.subtract(u, w, out=step), below, out=step)
        u -= np.divide(step, np.subtract(1.0, w, out=w), out=step)
    u -= double
    s = np.exp(u, out=w)
    value = np.multiply(s, steep[:, None, None], out=below)
    value -= u
    value += tilt[:, :, None]
    value *= s
    weight, line = times[:, None, :], np.arange(len(share))
    whole = (weight @ value)[:, 0]
    large = np.where(times > 0, tilt, -np.inf).argmax(axis=1)
    rest = (weight @ s)[:, 0] - s[line, large]
    above = _highest(1.0 - rest, whole - value[line, large], price, steep[:, None], tilt[line, large, None])
    above -= whole[:, 0]
    return tilt, whole[:, 0] + np.maximum(above, 0.0), above


def _highest(
    large: FloatArray, others: FloatArray, price: FloatArray, steep: FloatArray, tilt: FloatArray
) -> FloatArray:
    """The highest that f can be where a class has more than ``1 / (2 steep)``, at least what it comes near to."""
    # ``large`` are shares of the class at each price, and ``others`` what all others then have, concave in it with the
    # slopes ``1 - price``. Between two prices they are below both tangents, and the class, convex there, below its
    # chord.
    low, high = np.maximum(large[:, :-1], 0.5 / steep), large[:, 1:]
    first, second = 1.0 - price[:-1], 1.0 - price[1:]
    from_low = others[:, :-1] + first * (low - large[:, :-1])
    meet = low + (others[:, 1:] + second * (low - high) - from_low) / (first - second)
    meet = np.clip(meet, low, high)
    at_low, at_high = (a * (steep * a - np.log(a) + tilt) for a in (low, high))
    chord = (at_high - at_low) / np.maximum(high - low, TINY)
    between = np.maximum(chord + first, 0.0) * (meet - low)
    found: FloatArray = np.maximum(at_low + from_low + between, at_high + others[:, 1:])
    most: FloatArray = np.where(high > 0.5 / steep, found, -np.inf).max(axis=1)
    return most
