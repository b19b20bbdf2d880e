"""Bounds many boxes at once: each box is discarded, proved, or made smaller."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import TINY, BoolArray, FloatArray, IntArray
from maxent.solvers.bounds.boxes.bounds import Bounds, bounded
from maxent.solvers.bounds.boxes.entropies import flat_enough, shares_left
from maxent.solvers.bounds.boxes.frontier import Boxes
from maxent.solvers.bounds.boxes.reach import Reach, narrowed
from maxent.solvers.bounds.boxes.setting import Setting

# Share of relative entropies that concave Lagrangians leave for a ball.
SHARE = 0.05
# Concave Lagrangians, and flattened ones, that are looked at in a box, at most, as long as they make it smaller: the
# sum of its squared widths is less than this share.
TRIES, AGAIN, SHRUNK = 4, 4, 0.5
# What comparisons may be missed for beside squares, as a share of the answer's multipliers.
PRICE = 1.2
# Largest eigenvalue that squares leave of what comparisons bend: less where ranges are long.
LEFT = np.array([0.93, 0.8, 0.6, 0.35])
# Shares of relative entropies that are left for a ball, the first that is proved.
SHARES = (0.4, 0.15, 0.05)


@dataclass(slots=True, eq=False)
class Looked:
    """Boxes, the multipliers of chords and weights of squares last looked at, and which of them are ``done``.

    In boxes that are done the answer lacks at most ``most`` nats.
    """

    setting: Setting
    boxes: Boxes
    nu: FloatArray
    flat: FloatArray
    done: BoolArray
    most: float


def looked_at(setting: Setting, boxes: Boxes, near: float = np.inf) -> Looked:
    """The boxes after bounding; flattened Lagrangians are for boxes with at most ``near`` nats per person to gain."""
    n, k = len(boxes), len(setting.mu)
    looked = Looked(setting, boxes, np.zeros((n, k)), np.zeros(boxes.low.shape), np.zeros(n, bool), 0.0)
    _by_concave_ones(looked)
    _by_the_answer(looked)
    _by_flattened_ones(looked, near * setting.at.people)
    return looked


def _by_concave_ones(looked: Looked) -> None:
    """By Lagrangians that are concave, as comparisons may be missed at their price."""
    s, todo = looked.setting, np.arange(len(looked.boxes))
    price = (1.0 - SHARE) * s.price
    for _ in range(TRIES):
        boxes = looked.boxes.take(todo)
        found, width = bounded(s, boxes.low, boxes.high, None, price, boxes.near), boxes.width
        lacks = np.maximum(found.most - s.at.entropy, 0.0)
        fine = np.isfinite(lacks)
        done = lacks <= s.enough
        looked.most = max(looked.most, float(lacks[done].max(initial=0.0)))
        some = np.flatnonzero(fine & ~done)
        here = boxes.take(some)
        here.more, here.near, here.centre = np.minimum(here.more, lacks[some]), found.masses[some], found.masses[some]
        here.radius = lacks[some] / SHARE
        _between_multipliers(here, lacks[some], found, some)
        boxes.put(some, narrowed(s, here))
        looked.nu[todo] = found.nu
        looked.boxes.put(todo, boxes)
        looked.done[todo] = done | boxes.empty
        todo = todo[fine & ~looked.done[todo] & _shrunk(boxes, width)]
        if not len(todo):
            break


def _between_multipliers(boxes: Boxes, lacks: FloatArray, found: Bounds, some: IntArray) -> None:
    """Tighten the ends of boxes: a row with multiplier lam is at most the gap divided by lam."""
    low, high = boxes.low, boxes.high
    far = lacks[:, None] / np.maximum(found.above[some], TINY), lacks[:, None] / np.maximum(found.below[some], TINY)
    boxes.low, boxes.high = np.maximum(low, high - far[0]), np.minimum(high, low + far[1])


def _by_the_answer(looked: Looked) -> None:
    """By relative entropies to the answer, in the boxes that it is in."""
    s = looked.setting
    todo = np.flatnonzero(~looked.done & looked.boxes.has(s, s.at.masses))
    if s.at.more > s.enough or not len(todo):
        return
    masses, mu = (np.tile(each, (len(todo), 1)) for each in (s.at.masses, s.mu))
    left = shares_left(Reach.of(s, looked.boxes.take(todo)), masses, mu, None, (0.0,))
    looked.done[todo] = ~np.isnan(left)
    if looked.done[todo].any():
        looked.most = max(looked.most, s.at.more)


def _by_flattened_ones(looked: Looked, most: float) -> None:
    """By Lagrangians that squares make flat enough for relative entropies, in boxes that lack at most so much, nats."""
    s, todo = looked.setting, np.flatnonzero(~looked.done & (looked.boxes.more <= most))
    near, mu = looked.boxes.near.copy(), np.tile(s.mu, (len(looked.boxes), 1))
    level = np.zeros(len(looked.boxes), np.int64)
    for _ in range(AGAIN):
        if not len(todo):
            break
        boxes = looked.boxes.take(todo)
        width, flat = boxes.width, flat_enough(s, boxes, near[todo], mu[todo], LEFT[level[todo]])
        found = bounded(s, boxes.low, boxes.high, flat, PRICE * s.mu, near[todo])
        lacks = np.maximum(found.most - s.at.entropy, 0.0)
        fine, good = np.isfinite(lacks), lacks <= s.enough
        share = _shares(Reach.of(s, boxes), found, flat, fine, good)
        proved = ~np.isnan(share)
        done = proved & good
        looked.most = max(looked.most, float(lacks[done].max(initial=0.0)))
        some = np.flatnonzero(proved & ~good)
        here = boxes.take(some)
        here.more, here.near, here.centre = np.minimum(here.more, lacks[some]), found.masses[some], found.masses[some]
        here.radius = lacks[some] / share[some]
        boxes.put(some, narrowed(s, here))
        looked.boxes.put(todo, boxes)
        looked.done[todo] = done | boxes.empty
        for kept, now in ((looked.nu, found.nu), (looked.flat, flat), (near, found.masses), (mu, found.mu)):
            kept[todo[fine]] = now[fine]
        level[todo] += np.where(proved, -1, 1)
        todo = todo[fine & ~looked.done[todo] & (level[todo] < len(LEFT)) & (~proved | _shrunk(boxes, width))]
        level = np.maximum(level, 0)


def _shares(reach: Reach, found: Bounds, flat: FloatArray, fine: BoolArray, good: BoolArray) -> FloatArray:
    """Share of relative entropy left after the curvature is covered, NaN where it does not suffice."""
    share = np.full(len(fine), np.nan)
    for which, shares in ((good, (0.0,)), (fine & ~good, SHARES)):
        some = np.flatnonzero(which)
        if len(some):
            share[some] = shares_left(reach.take(some), found.masses[some], found.mu[some], flat[some], shares)
    return share


def _shrunk(boxes: Boxes, width: FloatArray) -> BoolArray:
    """Which boxes are much smaller than they were."""
    found: BoolArray = (boxes.width**2).sum(axis=1) < SHRUNK * (width**2).sum(axis=1)
    return found
