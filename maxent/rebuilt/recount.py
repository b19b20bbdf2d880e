"""A table put into the trees again: how many people it has where the release states a number, and what it misses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from maxent.constraints.patterns.atoms import Atoms
from maxent.constraints.patterns.stated import MANY, TreeCounts
from maxent.models.arrays import IntArray
from maxent.models.errors import Origin
from maxent.models.release import Release
from maxent.models.trees.routing import assign


@dataclass(frozen=True, slots=True)
class Missed:
    """A number of people that a table does not have; ``klass`` None: of all classes together."""

    origin: Origin
    klass: str | None
    low: int
    high: int
    found: int

    def __str__(self) -> str:
        most = "" if self.low == self.high else " or more" if self.high >= MANY else f" to {self.high:,}"
        of = "people" if self.klass is None else f"people of {self.klass}"
        return f"{self.origin}: states {self.low:,}{most} {of}, the table has {self.found:,}"


def recount(
    release: Release, atoms: Atoms, trees: tuple[TreeCounts, ...], value: IntArray, klass: IntArray
) -> tuple[int, tuple[Missed, ...]]:
    """How many numbers of people a release states, and those that a table does not have.

    Parameters
    ----------
    value : shape (n_people, n_attributes), atoms
    klass : shape (n_people,), codes of the classes
    """
    columns = [_one_of_each(atoms, j)[value[:, j]] for j in range(len(atoms.of))]
    stated, missed = 0, []
    for t, (tree, counts) in enumerate(zip(release.trees, trees, strict=True)):
        found = _people(counts, assign(tree, release.attributes, columns), klass)
        total, labels = found.sum(axis=1), np.flatnonzero(counts.label >= 0)
        told = (counts.low == counts.high) | (counts.low > 0) | (counts.high < counts.most[:, None])
        sized = (counts.most < MANY) & (counts.low < counts.high).any(axis=1)  # else the classes say it
        stated += int(told.sum() + sized.sum()) + len(labels)
        wrong = told & ((found < counts.low) | (found > counts.high))
        for place, x in np.argwhere(wrong).tolist():
            origin, low, high = _origin(release, t, place), int(counts.low[place, x]), int(counts.high[place, x])
            missed.append(Missed(origin, release.target.classes[x], low, high, int(found[place, x])))
        for place in np.flatnonzero(sized & ((total < counts.least) | (total > counts.most))).tolist():
            low, high = int(counts.least[place]), int(counts.most[place])
            missed.append(Missed(_origin(release, t, place), None, low, high, int(total[place])))
        of_label = found[labels, counts.label[labels]]
        for place, has in zip(labels.tolist(), of_label.tolist(), strict=True):
            most = int(found[place].max())
            if has < most:
                label = release.target.classes[int(counts.label[place])]
                missed.append(Missed(_origin(release, t, place), label, most, int(total[place]), has))
    return stated, tuple(missed)


def _people(counts: TreeCounts, leaf: IntArray, klass: IntArray) -> IntArray:
    """People of each class in each place, shape (n_places, n_classes)."""
    places, n_classes = counts.places, counts.low.shape[1]
    by_rank = np.zeros((int(places.last[0]) + 1, n_classes), np.int64)
    np.add.at(by_rank, (places.first[leaf] + 1, klass), 1)
    up_to = by_rank.cumsum(axis=0)
    return np.asarray(up_to[places.last] - up_to[places.first], np.int64)


def _one_of_each(atoms: Atoms, j: int) -> npt.NDArray[Any]:
    """A value of every atom of an attribute: a code of a category, or a number."""
    attribute = atoms.attributes[j]
    if attribute.values is not None:
        code = {value: i for i, value in enumerate(attribute.values)}
        return np.array([code[atom.values[0]] for atom in atoms.of[j]], np.int64)
    numbers = []
    for atom in atoms.of[j]:
        low, high = (np.nan, np.nan) if atom.interval is None else atom.interval
        numbers.append(high if high != np.inf else 0.0 if low == -np.inf else np.nextafter(low, np.inf))
    return np.array(numbers)


def _origin(release: Release, tree: int, place: int) -> Origin:
    node = release.trees[tree].nodes[place]
    return Origin("leaf" if node.is_leaf else "node", node.id, tree if len(release.trees) > 1 else None)
