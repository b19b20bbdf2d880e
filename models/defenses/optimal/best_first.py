"""Best-first search for subtrees within limits, of one tree or of the trees of a forest.

All subtrees are divided by what the leaves of one of them are: those in which the first of these leaves is something
else, those in which it is that leaf and the second is something else, and so on (Lawler 1972; Murty 1968). The best of
each part is known by the same search, so the next best of all is the best of these.

References
----------
Lawler, "A procedure for computing the K best solutions to discrete optimization problems and its application to the
shortest path problem", Management Science 18 (1972).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.defenses.optimal.best import leaves_of
from maxent.models.defenses.optimal.frontier import within_limits
from maxent.models.defenses.optimal.places import Candidates
from maxent.models.defenses.optimal.prices import FoundSubtree
from maxent.models.defenses.optimal.subtree import Searched, searchable, searched, unreachable
from maxent.models.errors import InvalidInput
from maxent.models.release import Release, Rounded, Tree
from maxent.models.tables.hierarchies import HierarchySource
from maxent.models.tables.training import Training
from maxent.models.trees.draft import Publish
from maxent.models.trees.predict import places_of, terms_of
from maxent.models.trees.restate import restate

if TYPE_CHECKING:
    from maxent.models.defenses.optimal.limits import Criterion, SubtreeLimits


@dataclass(slots=True, eq=False)
class BestFirst:
    """The subtrees of a tree within limits, best first."""

    release: Release
    limits: SubtreeLimits
    training: Training | None = None
    criterion: Criterion = "unstated"
    remove: bool = False
    publish: Publish = "counts"
    hierarchies: Mapping[str, HierarchySource] | None = None
    rounded: Rounded | None = None
    _parts: list[tuple[float, int, Candidates, FoundSubtree]] = field(default_factory=list, init=False)
    _number: count[int] = field(default_factory=count, init=False)
    _whole: Candidates = field(init=False)
    _last: tuple[Candidates, FoundSubtree] = field(init=False)

    def __post_init__(self) -> None:
        names = ("remove", "publish", "hierarchies", "rounded")
        asked: dict[str, Any] = {name: getattr(self, name) for name in names}
        self._whole, self.limits = searchable(self.release, self.limits, self.training, **asked)
        self._add(self._whole)
        if not self._parts:
            raise InvalidInput("options", [unreachable(self._whole, self.limits, self.training)])

    def next(self) -> Searched | None:
        """The best subtree of those that are not cut off, None where there is none."""
        if not self._parts:
            return None
        _, _, part, found = heappop(self._parts)
        self._last = part, found
        return self._searched(found)

    def bounded(self, found: Searched, most: float | None) -> Searched:
        """The same tree with the most that any others can reach, None without any."""
        return replace(found, most=self.better(found.reached, most))

    @property
    def open(self) -> float | None:
        """What those can reach at most that are not cut off, None where there are none."""
        return self._whole.share(-self._parts[0][0]) if self._parts else None

    def better(self, one: float, other: float | None) -> float:
        """The better of what is reached, by the objective."""
        best = max if self.limits.objective == "accuracy" else min
        return one if other is None else best(one, other)

    def cut(self, leaves: Collection[str] | None = None, stop: Callable[[], object] = lambda: None) -> bool:
        """Cut off the subtrees that have these leaves of the one that came last, by id; without ids that one alone.

        Removed leaves count as had; returns whether all that is left was searched before ``stop`` said to end.
        """
        part, found = self._last
        places = leaves_of(part.places, found.splits)
        if leaves is not None:
            places = places[
                np.array([found.gone[p] or part.places.tree.nodes[p].id in leaves for p in places.tolist()])
            ]
        for i, place in enumerate(places.tolist()):
            if stop():
                return False
            self._add(_other(_held(part, found, places[:i]), found, place))
        return True

    def without(self, leaves: Collection[str]) -> Searched | None:
        """The best subtree that has none of these leaves and none below them, nor any that was named before."""
        places, allowed = self._whole.places, self._whole.allowed.copy()
        out = np.array([node.id in leaves for node in places.tree.nodes] + [False] * (len(places) - places.n_nodes))
        for level in places.levels[1:]:
            out[level] |= out[places.parent[level]]
        self._whole = replace(self._whole, allowed=allowed & ~out)
        found = within_limits(self._whole)
        return None if found is None else self._searched(found)

    def _add(self, part: Candidates) -> None:
        found = within_limits(part)
        if found is not None:
            heappush(self._parts, (-found.most, next(self._number), part, found))

    def _searched(self, found: FoundSubtree) -> Searched:
        most = max([found.most, *(-parts[0] for parts in self._parts[:1])])
        return searched(self.release, self.limits, self._whole, replace(found, most=most), self.criterion)


def _held(part: Candidates, found: FoundSubtree, places: IntArray) -> Candidates:
    """The part of the trees in which these places are the leaves that they are in the one found."""
    allowed, removable, divisible = part.allowed.copy(), part.removable.copy(), part.divisible.copy()
    for place in places.tolist():
        divisible[place] = False
        (allowed if found.gone[place] else removable)[place] = False
        above = int(part.places.parent[place])
        while above >= 0:
            allowed[above] = removable[above] = False
            above = int(part.places.parent[above])
    return replace(part, allowed=allowed, removable=removable, divisible=divisible)


def _other(part: Candidates, found: FoundSubtree, place: int) -> Candidates:
    """The part of the trees in which this place is not the leaf that it is in the one found."""
    name = "removable" if found.gone[place] else "allowed"
    mask = getattr(part, name).copy()
    mask[place] = False
    return replace(part, **{name: mask})


# The trees of a forest as they may be published, each at several depths, and what they predict together.


@dataclass(frozen=True, slots=True, eq=False)
class SearchedTree:
    """A tree of a forest, cut back to a depth, and what it adds to predictions: ``own``, ``instead``, see `Terms`."""

    number: int
    depth: int
    release: Release
    own: FloatArray
    instead: FloatArray

    @property
    def tree(self) -> Tree:
        """The tree."""
        return self.release.trees[0]


def members(
    forest: Release,
    limits: SubtreeLimits,
    training: Training,
    *,
    criterion: Criterion = "unstated",
    remove: bool = False,
    publish: Publish = "counts",
) -> list[SearchedTree]:
    """The purest subtree of each tree within limits at each depth, the deepest first; of some trees there is none.

    The purest says most to the others: the most accurate has no leaves of the same class beside each other.
    """
    found: list[SearchedTree] = []
    for number, tree in enumerate(forest.trees):
        alone = replace(forest, trees=(tree,), predicts=None)
        purest = replace(limits, objective="impurity")
        whole, _ = searchable(alone, purest, training, remove=remove, publish=publish)
        known: set[tuple[bytes, bytes]] = set()
        for depth in range(len(whole.places.levels) - 1, -1, -1):
            divisible = whole.divisible.copy()
            divisible[np.concatenate(whole.places.levels[depth:])] = False
            part = replace(whole, divisible=divisible)
            chosen = within_limits(part)
            if chosen is None:
                break
            shape = chosen.splits.tobytes(), chosen.gone.tobytes()
            if shape not in known:
                known.add(shape)
                release = searched(alone, limits, part, chosen, criterion).release
                found.append(SearchedTree(number, depth, release, *_added(restate(release, publish), training)))
    return found


def right(chosen: Sequence[SearchedTree], training: Training) -> int:
    """Records for which these trees together predict the right class."""
    total = np.sum([member.own for member in chosen], axis=0)
    instead = np.sum([member.instead for member in chosen], axis=0)
    total = np.where(total.any(axis=1, keepdims=True), total, instead)
    return int((total.argmax(axis=1) == training.y).sum())


def together(chosen: Sequence[SearchedTree]) -> Release:
    """The release of several trees."""
    return replace(chosen[0].release, trees=tuple(member.tree for member in chosen))


def tried(
    options: Sequence[SearchedTree], chosen: Sequence[SearchedTree], training: Training
) -> list[tuple[int, int, SearchedTree]]:
    """What each further tree makes of the records that are right, the best first; of equals the smallest."""
    taken = {member.number for member in chosen}
    ranked = [
        (right([*chosen, option], training), len(option.tree.leaves), option)
        for option in options
        if option.number not in taken
    ]
    return sorted(ranked, key=lambda each: (-each[0], each[1], each[2].number))


def _added(release: Release, training: Training) -> tuple[FloatArray, FloatArray]:
    """What a tree adds to the predictions of the records."""
    (terms,) = terms_of(release)
    (place,) = places_of(release, training.attributes, training.columns, len(training))
    return terms.own[place], terms.instead[place]
