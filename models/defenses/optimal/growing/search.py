"""Optimal trees of small depth: every split at the top, with bounds on what each side can still be worth.

A tree of depth d is a split with a tree of depth d - 1 on either side; of depth two all are compared at once. A side is
not looked into where what it can be worth at most, with what the other is, is no more than a tree that is known.
Trees that are deeper than `PROVED` take their splits one by one from optimal trees that look so many splits ahead.

References
----------
Aglin, Nijssen and Schaus, "Learning optimal decision trees using caching branch-and-bound search", AAAI 2020 (DL8.5).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.defenses.optimal.growing.depth_two import LEAF, Two, Worth, best_two
from maxent.models.defenses.optimal.growing.splits import Records

PROVED = 4  # splits above the deepest leaf, at most, of trees that are proved to be optimal
AHEAD = 3  # splits that others look ahead
Progress = Callable[[int, int], None]  # called with how many of the first splits are done, and how many there are


@dataclass(frozen=True, slots=True)
class Grown:
    """A tree: its worth, and its split with a tree on either side; -1 and none for a leaf."""

    worth: float
    split: int = LEAF
    sides: tuple[Grown, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """Looks for optimal trees.

    ``worth``: of leaves, see `maxent.models.defenses.optimal.growing.depth_two.Worth`. ``most``: the same without
    limits: what the people of a record are worth at most. ``least``: people that every leaf needs, at least 1.
    """

    worth: Worth
    most: Worth
    least: int
    known: dict[tuple[bytes, int], tuple[Grown | None, float]] = field(default_factory=dict)

    def tree(self, records: Records, depth: int, progress: Progress | None = None) -> Grown | None:
        """The best tree of this depth at most, None where none keeps the limits.

        Beyond `PROVED` it is one whose splits look ahead.
        """
        if depth <= PROVED:
            return self._best(records, depth, -np.inf, progress)
        ahead = self._best(records, AHEAD, -np.inf)
        if ahead is None or ahead.split == LEAF:
            return ahead
        sides = [
            max(filter(None, (self.tree(side, depth - 1), known)), key=lambda tree: tree.worth)
            for side, known in zip(records.sides(ahead.split), ahead.sides, strict=True)
        ]
        return Grown(sides[0].worth + sides[1].worth, ahead.split, tuple(sides))

    def _best(self, records: Records, depth: int, least: float, progress: Progress | None = None) -> Grown | None:
        """The best tree that is worth more than ``least``, None where there is none."""
        key = (records.codes.tobytes(), depth)
        found, searched = self.known.get(key, (None, np.inf))
        if found is None and least < searched:
            narrow = records.narrowed(self.least)
            if depth < 3:
                found = self._shallow(narrow, depth, least)
            elif depth == 3:
                found = self._three(narrow, least)
            else:
                found = self._more(narrow, depth, least, progress)
            self.known[key] = found, least
        return found if found is not None and found.worth > least else None

    def _shallow(self, records: Records, depth: int, least: float) -> Grown | None:
        """The best tree of depth 0, 1 or 2."""
        total = records.total
        none = np.zeros((len(total), 0, 0))
        pairs = records.pairs() if depth else none
        two = best_two(pairs, total, self.worth, splits_below=depth > 1)
        return self._grown(two, pairs, total, records.splits) if two.worth > least else None

    def _three(self, records: Records, least: float) -> Grown | None:
        """The best tree of depth 3: of every split, both sides from the people that pairs of splits hold there."""
        total, pairs, splits = records.total, records.pairs(), records.splits
        top = best_two(pairs, total, self.worth)
        best = self._grown(top, pairs, total, splits) if top.worth > least else None
        reached = max(least, top.worth)
        for attribute, block in enumerate(records.blocks):
            triples = records.triples(attribute) if len(block.splits) else None
            for split, at in zip(block.splits.tolist(), block.at.tolist(), strict=True):
                assert triples is not None
                first = triples[:, at]
                side = first[:, (splits == split).argmax(), (splits == split).argmax()]
                here = best_two(first, side, self.worth)
                rest = pairs - first
                there = best_two(rest, total - side, self.worth)
                if here.worth + there.worth > reached:
                    reached = here.worth + there.worth
                    sides = self._grown(here, first, side, splits), self._grown(there, rest, total - side, splits)
                    best = Grown(reached, split, sides)
        return best

    def _more(self, records: Records, depth: int, least: float, progress: Progress | None) -> Grown | None:
        """The best tree of depth 4 or more."""
        best = self._best(records, depth - 1, least)
        reached = least if best is None else best.worth
        order = self._order(records)
        for done, split in enumerate(order):
            if progress is not None:
                progress(done, len(order))
            sides = records.sides(split)
            small = int(len(sides[0]) > len(sides[1]))
            most = self._most(sides[1 - small])
            here = self._best(sides[small], depth - 1, reached - most)
            there = None if here is None else self._best(sides[1 - small], depth - 1, reached - here.worth)
            if here is not None and there is not None:
                reached = here.worth + there.worth
                best = Grown(reached, split, (there, here) if small else (here, there))
        return best

    def _order(self, records: Records) -> list[int]:
        """Splits, the purest sides first."""
        total, first = records.total, np.einsum("xff->xf", records.pairs())
        purity = sum((side**2).sum(axis=0) / side.sum(axis=0) for side in (first, total[:, None] - first))
        return [int(split) for split in records.splits[np.argsort(-np.asarray(purity), kind="stable")]]

    def _most(self, records: Records) -> float:
        """What no tree of these records is worth more than: every different record a leaf."""
        return float(self.most(records.counts.T).sum())

    def _grown(self, two: Two, pairs: FloatArray, total: FloatArray, splits: IntArray) -> Grown:
        """A tree of depth two with the worth of its parts."""
        if two.split == LEAF:
            return Grown(two.worth)
        first = pairs[:, two.split, two.split]
        both = pairs[:, two.split]
        sides = []
        for here, within, inner in (
            (first, both, two.below[0]),
            (total - first, np.einsum("xff->xf", pairs) - both, two.below[1]),
        ):
            if inner == LEAF:
                sides.append(Grown(self._leaf(here)))
                continue
            leaves = tuple(Grown(self._leaf(part)) for part in (within[:, inner], here - within[:, inner]))
            sides.append(Grown(leaves[0].worth + leaves[1].worth, int(splits[inner]), leaves))
        return Grown(two.worth, int(splits[two.split]), tuple(sides))

    def _leaf(self, counts: FloatArray) -> float:
        return float(self.worth(counts[:, None])[0])
