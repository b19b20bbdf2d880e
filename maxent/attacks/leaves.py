"""Attacks on single leaves: uniqueness, homogeneity and background knowledge.

Wakabayashi et al. (2024), section 3: the leaves of a tree are the equivalence classes of an anonymised table, and the
attacks on such tables work on them. Leaves of which only bounds are known count where these prove the attack.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from maxent.attacks.bounds import NO_LABEL, Bounds
from maxent.models.arrays import BoolArray, FloatArray, IntArray

NO_CLASS = -1


@dataclass(frozen=True, slots=True, eq=False)
class Attacked:
    """The leaves, by their places in what was attacked, that an attack works on.

    ``leaves`` (n_leaves,) is where it does; ``disclosed`` (n_leaves,) the class it shows, `NO_CLASS` where none; and
    ``individuals`` (n_leaves,) how many records are shown to be of it, 0 where it does not work.
    """

    leaves: BoolArray
    disclosed: IntArray
    individuals: IntArray

    @property
    def n_leaves(self) -> int:
        return int(self.leaves.sum())

    @property
    def n_individuals(self) -> int:
        return int(self.individuals.sum())


def only_class(bounds: Bounds) -> IntArray:
    """The one class that records of a leaf can have, `NO_CLASS` where there are several or none; shape (n_leaves,)."""
    possible = bounds.possible
    alone = np.flatnonzero(np.count_nonzero(possible, axis=1) == 1)
    found = np.full(len(possible), NO_CLASS)
    found[alone] = possible[alone].argmax(axis=1)
    return found


def uniqueness(bounds: Bounds) -> Attacked:
    """Leaves with a single record: whoever is known to be in one is singled out."""
    alone = bounds.sized & (bounds.low[:, -1] == 1)
    return _attacked(alone, only_class(bounds), bounds.low[:, -1])


def homogeneity(bounds: Bounds, min_size: int = 1) -> Attacked:
    """Leaves whose records, at least ``min_size`` (and one), are all of one class."""
    only = only_class(bounds)
    return _attacked((only != NO_CLASS) & (bounds.low[:, -1] >= max(min_size, 1)), only, bounds.low[:, -1])


def background_knowledge(bounds: Bounds, known: int = 1) -> Attacked:
    """Leaves where the classes of at most ``known`` members settle those of all others.

    They are those with at most so many records that are not of the most frequent class; whoever knows them knows that
    the others, those of the most frequent class, are all alike.
    """
    low, high = bounds.low, bounds.high
    each = np.arange(len(low))
    largest = low[:, :-1].argmax(axis=1)
    most = low[each, largest]
    others = high[:, :-1].copy()
    others[each, largest] = 0.0
    rest = np.minimum(others.sum(axis=1), high[:, -1] - most)
    return _attacked((most > 0) & (rest <= known), largest, most)


def after_facts(bounds: Bounds, known: FloatArray, min_size: int = 1) -> Attacked:
    """Leaves that become homogeneous without known records, with the remaining records.

    Parameters
    ----------
    bounds : Bounds
        Of leaves.
    known : shape (n_leaves, n_classes)
        Records of each class in each leaf that the adversary knows already.
    min_size : int
        The fewest records of a leaf that counts.
    """
    total = np.column_stack([known, known.sum(axis=1)])
    rest = Bounds(np.maximum(bounds.low - total, 0), np.maximum(bounds.high - total, 0), _no_labels(len(bounds)))
    found = homogeneity(rest)
    new = found.leaves & ~homogeneity(bounds).leaves & (bounds.low[:, -1] >= min_size)
    return _attacked(new, found.disclosed, found.individuals)


def _no_labels(n: int) -> IntArray:
    return np.full(n, NO_LABEL, np.int64)


def _attacked(leaves: BoolArray, disclosed: IntArray, individuals: npt.NDArray[np.number]) -> Attacked:
    """Leaves with what is disclosed there, and nothing elsewhere."""
    return Attacked(
        leaves,
        np.where(leaves, disclosed, NO_CLASS).astype(np.int64),
        np.where(leaves, individuals, 0).astype(np.int64),
    )
