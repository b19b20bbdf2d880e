"""The trees of a forest as they may be published, each at several depths, and what they predict together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from maxent.models.arrays import FloatArray
from maxent.models.defenses.optimal.frontier import within_limits
from maxent.models.defenses.optimal.limits import Criterion, Limits
from maxent.models.defenses.optimal.subtree import searchable, searched
from maxent.models.release import Release, Tree
from maxent.models.tables.training import Training
from maxent.models.trees.answers import terms_of
from maxent.models.trees.draft import Publish
from maxent.models.trees.predict import places_of
from maxent.models.trees.restate import restate


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A tree of a forest, cut back: its number, its depth at most, and the release of it alone.

    ``own`` and ``instead``, shape (n, n_classes), are what it adds to the predictions of the records, see
    `maxent.models.trees.answers.Terms`.
    """

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
    limits: Limits,
    training: Training,
    *,
    criterion: Criterion = "unstated",
    remove: bool = False,
    publish: Publish = "counts",
) -> list[Member]:
    """The purest subtree of each tree within limits, at each depth where it is another one; the deepest first.

    The purest says most to the others: the most accurate has no leaves that are of the same class as those beside them.

    Parameters are those of `maxent.models.defenses.optimal.subtree.optimal_subtree`, of several trees. Trees of which
    no subtree keeps the limits are left out.
    """
    found: list[Member] = []
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
                found.append(Member(number, depth, release, *_added(restate(release, publish), training)))
    return found


def right(chosen: Sequence[Member], training: Training) -> int:
    """Records for which these trees together predict the right class."""
    total = np.sum([member.own for member in chosen], axis=0)
    instead = np.sum([member.instead for member in chosen], axis=0)
    total = np.where(total.any(axis=1, keepdims=True), total, instead)
    return int((total.argmax(axis=1) == training.y).sum())


def together(chosen: Sequence[Member]) -> Release:
    """The release of several trees."""
    return replace(chosen[0].release, trees=tuple(member.tree for member in chosen))


def tried(options: Sequence[Member], chosen: Sequence[Member], training: Training) -> list[tuple[int, int, Member]]:
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
