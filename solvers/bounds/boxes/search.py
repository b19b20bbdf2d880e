"""Branch and bound over boxes of sums and of the directions of largest curvature, many boxes at a time.

In a box the convex terms of comparisons are below chords, which leaves concave rows. With these, and with the
comparisons themselves as far as they may be missed for what keeps the Lagrangian concave, the largest entropy is
bounded without more ado. Near an optimum boxes would have to be tiny: there squares between the ends make a Lagrangian
flat enough for relative entropies. Either bound leaves a ball, too, which makes the box smaller. The boxes with the
largest bounds are looked at together, and cut in two where a chord or a square is off by most.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.models.arrays import TINY, FloatArray
from maxent.solvers.bounds.boxes.frontier import Boxes
from maxent.solvers.bounds.boxes.looked import Looked, looked_at
from maxent.solvers.bounds.boxes.reach import narrowed
from maxent.solvers.bounds.boxes.setting import Setting, sized
from maxent.solvers.bounds.divergence.ball import ball
from maxent.solvers.clock import Clock

# Individuals, per individual, with which the masses without comparisons meet their rows.
MET = 1e-7
# Boxes that are looked at together, at most, and at least if there are so many, and ends times masses of them all.
TOGETHER, FEW, NUMBERS = 64, 8, 300_000


@dataclass(frozen=True, slots=True)
class Pass:
    """A search from the whole on: what squares of the steepest directions count for where boxes are cut.

    So many ``boxes`` are looked at, and fewer of them where a box is large: half of them at ``size`` ends times masses.
    Relative entropies are asked where at most ``near`` nats per individual are lacking.
    Then the same number again, up to ``times``, as long as the bound ``falls`` to that share of what it was. As many
    follow, too, where few boxes are open (`OPEN`).
    """

    steep: float
    boxes: int
    size: float
    times: int
    falls: float = 0.8
    near: float = np.inf


# Many proofs need few boxes if these are cut in the steepest directions first; others need chords to be near, and some
# a great many boxes, which take a quarter of the time without relative entropies.
PASSES = (Pass(1.0, 110, 9000.0, 4), Pass(0.0, 300, 1000.0, 10), Pass(0.0, 300, 1000.0, 20, 0.98, 3e-3))
# Few boxes are open where they are at most this share of those that were looked at.
OPEN = 0.25
# How far from its ends a function is cut at least, as a share; what a chord or a square is off half way counts for
# beside what it is off at the optimum; what the answer's multipliers count for beside the chords'; and what a square is
# off half way, of its width and weight.
INSIDE, WIDE, ALL, EIGHTH = 0.3, 0.1, 0.02, 0.125
# The least weight of a square of a steep direction where boxes are cut.
LEAST = 0.1


def lacking_in_boxes(program: LiftedProgram, point: FloatArray, clock: Clock) -> float:
    """Optimality gap of an answer, nats: the largest bound of the boxes at the end.

    Parameters
    ----------
    program : LiftedProgram
        Not convex.
    point : shape (program.n,)
    clock : Clock
    """
    found = sized(program, point)
    if found is None:
        return np.inf
    at, priced = found
    try:
        whole = ball(at.rows, at.rows.linear, at.entropy, MET * at.people, clock)
        if whole is None:
            return np.inf
        setting = Setting.of_answer(at, priced, replace(whole, radius=max(whole.radius, 0.0)))
        least = np.inf
        for how in PASSES:
            least = min(least, _search(setting, how, clock))
            if least <= setting.enough or clock.stop() is not None:
                break
    except np.linalg.LinAlgError:  # an eigenvalue did not come out: nothing is known
        return np.inf
    return least


def _search(setting: Setting, how: Pass, clock: Clock) -> float:
    """The largest bound of the boxes at the end of a pass."""
    numbers = setting.along.size
    together = int(np.clip(NUMBERS // numbers, 1, TOGETHER))
    unit = max(1, int(how.boxes / (1.0 + numbers / how.size)))
    boxes, most, count, limit, before = narrowed(setting, Boxes.first(setting)), 0.0, 0, unit, np.inf
    while len(boxes):
        worst = float(boxes.more.max())
        if count >= limit:
            if (worst > how.falls * before and len(boxes) > OPEN * count) or count >= how.times * unit:
                return max(most, worst)
            limit, before = limit + unit, worst
        if clock.stop() is not None:
            return max(most, worst)
        order = np.argsort(-boxes.more, kind="stable")
        first = min(together, max(limit - count, FEW))
        looked = looked_at(setting, boxes.take(order[:first]), how.near)
        count += len(looked.done)
        if count == len(looked.done):
            before = float(looked.boxes.more.max())
        most = max(most, looked.most)
        boxes = Boxes.joined([boxes.take(order[first:]), *_parts(setting, looked, how.steep)])
        boxes = boxes.take(~boxes.empty)
    return most


def _parts(setting: Setting, looked: Looked, steep: float) -> tuple[Boxes, Boxes]:
    """The boxes that are not done in two, cut where a chord or a square is off by most."""
    curves, left = setting.at.curves, ~looked.done
    boxes, nu, flat = looked.boxes.take(left), looked.nu[left], looked.flat[left]
    least, most = setting.ends(boxes.low, boxes.high)
    a = np.clip(boxes.near @ curves.sums.T + curves.shift, least, most)
    low, high = curves.phi(least), curves.phi(most)
    off = low + (a - least) / np.maximum(most - least, TINY) * (high - low) - curves.phi(a)
    half = 0.5 * (low + high) - curves.phi(0.5 * (least + most))
    worth = ((nu + ALL * setting.mu) @ np.maximum(setting.coef, 0.0)) * (np.maximum(off, 0.0) + WIDE * half)
    v, square = np.clip(boxes.near @ setting.along.T, boxes.low, boxes.high), EIGHTH * boxes.width**2
    score = flat * (0.5 * (boxes.high - v) * (v - boxes.low) + WIDE * square)
    np.add.at(score.T, setting.of, worth.T)
    score[:, setting.n_sums :] += steep * (np.maximum(flat, LEAST) * square)[:, setting.n_sums :]
    row, j = np.arange(len(boxes)), np.argmax(score, axis=1)
    margin = INSIDE * boxes.width[row, j]
    place = np.clip(v[row, j], boxes.low[row, j] + margin, boxes.high[row, j] - margin)
    below, above = boxes.take(row), boxes.take(row)
    below.high[row, j] = place
    above.low[row, j] = place
    return below, above
