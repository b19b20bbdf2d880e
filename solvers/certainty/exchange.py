"""Upper bound on the number of certain people: found by exchanges in the true table, without a solver.

Two people in the same leaves of all trees change places with their classes. No count of any leaf changes; everything
else that is compiled, comparisons of splits above all, is evaluated again. If it holds, the exchanged data agree with
all that is published and known, as the truth does, and so no proof finds either class. Many pairs are tried at once;
where something breaks, each half of them by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from maxent.constraints.program.residuals import Evaluator
from maxent.solvers.worlds.part import TIED

if TYPE_CHECKING:
    from maxent.constraints.program.program import Program
    from maxent.models.arrays import BoolArray, IntArray
    from maxent.solvers.control import Clock

# Probability by which a linear statement may be missed: the error of computing it.
MET = 1e-9
# Rounds of other partners in which nobody was cleared, after which no more are tried.
TRIES = 4
# Two quasi-identifiers, and the classes of the people of each who change places.
Pair = tuple[int, int, int, int]


def perhaps_certain(
    program: Program, truth: IntArray, views: Sequence[IntArray], clock: Clock
) -> tuple[BoolArray, ...] | None:
    """Quasi-identifiers whose people may be proved to have one value, for each view of the classes.

    All others have different values, in the truth or between two data that agree with everything.

    Parameters
    ----------
    program : Program
    truth : shape (n_qi, n_classes)
        Individuals of each class.
    views : sequence of shape (n_classes,)
        The value that each class stands for.
    clock : Clock
        Ends the search: whoever was not cleared by then may be certain.

    Returns
    -------
    tuple of shape (n_qi,), or None
        None where the truth itself misses a statement, as draws may.
    """
    seen = _Seen(truth, views)
    if not program.single:  # leaves of people are not known; mixed groups are, where statements are not of chance
        return None if program.release.sampled or program.scaling is not None else tuple(seen.alike)
    worlds = _Worlds(program, truth, seen, clock)
    if not worlds.hold(truth):
        return None
    box = np.empty(len(truth), np.int64)
    box[program.cells.owner] = np.unique(program.cells.leaf, axis=0, return_inverse=True)[1].ravel()
    if _only_boxes(program, box):
        for alike, view in zip(seen.alike, views, strict=True):
            values = _by_value(truth, view) > 0
            there = np.zeros((int(box.max()) + 1, values.shape[1]), bool)
            np.logical_or.at(there, box, values)
            alike &= (there.sum(axis=1) == 1)[box]
        return tuple(seen.alike)
    rng, idle = np.random.default_rng(0), 0
    while idle < TRIES and clock.stop() is None:
        before = seen.left
        pairs = list(_pairs(truth, box, seen.any, rng))
        if not pairs:
            break
        worlds.exchange(pairs)
        idle = 0 if seen.left < before else idle + 1
    return tuple(seen.alike)


def _only_boxes(program: Program, box: IntArray) -> bool:
    """Whether nothing is stated but of people in the same leaves together, so that any of them may change places."""
    if program.internal or any(said.weights is not None for said in program.linear):
        return False
    size = np.bincount(box)
    for region, place in enumerate(program.regions.places):
        if place is None:
            here = np.bincount(box[program.cells.owner[program.regions[region]]], minlength=len(size))
            if ((here > 0) & (here < size)).any():
                return False
    return True


def _by_value(world: IntArray, view: IntArray) -> IntArray:
    """Individuals of each value, shape (n_qi, n_values)."""
    found = np.zeros((len(world), int(view.max()) + 1), np.int64)
    for code, value in enumerate(view.tolist()):
        found[:, value] += world[:, code]
    return found


class _Seen:
    """Who has had one and the same value in all worlds so far, ``alike`` for each view, shape (n_qi,)."""

    def __init__(self, truth: IntArray, views: Sequence[IntArray]) -> None:
        self.views = views
        self.values = [_by_value(truth, view).argmax(axis=1) for view in views]
        self.alike = [(_by_value(truth, view) > 0).sum(axis=1) == 1 for view in views]

    @property
    def any(self) -> BoolArray:
        """Quasi-identifiers that are not cleared in every view."""
        return np.asarray(np.logical_or.reduce(self.alike))

    @property
    def left(self) -> int:
        """How many are not cleared, over all views."""
        return int(sum(alike.sum() for alike in self.alike))

    def add(self, world: IntArray) -> None:
        """Take in a world that agrees with everything."""
        for view, value, alike in zip(self.views, self.values, self.alike, strict=True):
            people = _by_value(world, view)
            alike &= people[np.arange(len(people)), value] == people.sum(axis=1)


class _Worlds:
    """Labellings of the people of a program, whose quasi-identifiers have a cell each."""

    def __init__(self, program: Program, truth: IntArray, seen: _Seen, clock: Clock) -> None:
        self._evaluator, self._owner = Evaluator(program), program.cells.owner
        self._least = TIED if program.ties == "first" else -TIED
        self._truth, self._seen, self._clock = truth, seen, clock

    def hold(self, world: IntArray) -> bool:
        """Whether a labelling agrees with everything that is compiled."""
        masses = world[self._owner].astype(np.float64)
        if float(self._evaluator.linear.violation(masses).max(initial=0.0)) > MET:
            return False
        return float(self._evaluator.internal.slack(masses).min(initial=np.inf)) >= self._least

    def exchange(self, pairs: list[Pair]) -> None:
        """Let pairs change places, all together where that is possible, else each half by itself."""
        if self._clock.stop() is not None:
            return
        world = self._truth.copy()
        one, other, its, others = np.array(pairs).T
        for who, loses, gains in ((one, its, others), (other, others, its)):
            np.add.at(world, (who, loses), -1)
            np.add.at(world, (who, gains), 1)
        if self.hold(world):
            self._seen.add(world)
        elif len(pairs) > 1:
            self.exchange(pairs[: len(pairs) // 2])
            self.exchange(pairs[len(pairs) // 2 :])


def _pairs(truth: IntArray, box: IntArray, left: BoolArray, rng: np.random.Generator) -> Iterable[Pair]:
    """Partners of other classes in the same box for those who are left, as many as there are, each person once."""
    who, klass = np.nonzero(truth)
    order = rng.permutation(len(who))
    order = order[np.lexsort((left[who[order]], box[who[order]]))]  # those who are left come last in their box
    who, klass = who[order], klass[order]
    for start, stop in _runs(box[who]):
        stacks: dict[int, list[int]] = {}
        for entry in range(start, stop):
            stacks.setdefault(int(klass[entry]), []).append(entry)
        if len(stacks) < 2:
            continue
        waiting = {entry for entry in range(start, stop) if left[who[entry]]}
        while waiting:
            classes = sorted((x for x in stacks if stacks[x]), key=lambda x: (stacks[x][-1] in waiting, len(stacks[x])))
            if len(classes) < 2 or not waiting & {stacks[classes[-1]][-1]}:
                break
            first, second = stacks[classes[-1]].pop(), stacks[classes[-2]].pop()
            waiting -= {first, second}
            if who[first] != who[second]:
                yield int(who[first]), int(who[second]), int(klass[first]), int(klass[second])


def _runs(values: IntArray) -> Iterable[tuple[int, int]]:
    """Begin and end of each run of equal values."""
    ends = np.flatnonzero(np.diff(values)) + 1
    return zip([0, *ends.tolist()], [*ends.tolist(), len(values)], strict=True)
