"""Quasi-identifiers that are alike: in the same leaf, with as many people each. One of them stands for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import IntArray
from maxent.models.tables.parts.groups import Group, read_group


@dataclass(frozen=True, slots=True, eq=False)
class Alike:
    """Kinds of quasi-identifiers: the ``leaf``, ``people`` of each, and ``times``, how many there are; shape (n,).

    Sorted by leaf and people. ``words``, shape (n_words, n), are those of the smallest of them.
    """

    leaf: IntArray
    people: IntArray
    times: IntArray
    words: IntArray

    def rows(self, leaf: IntArray, people: IntArray) -> IntArray:
        """The rows of quasi-identifiers, given the leaf and the people of each."""
        sizes = np.unique(self.people)
        wide = len(sizes)
        return np.searchsorted(
            self.leaf * wide + np.searchsorted(sizes, self.people), leaf * wide + np.searchsorted(sizes, people)
        )


def alike_of(group: Group, runs: tuple[str, ...]) -> Alike | None:
    """The kinds of quasi-identifiers of a group, None without people."""
    rows = read_group(runs, group)
    if rows is None or not len(rows):
        return None
    return _merged(rows.leaf.astype(np.int64), rows.count, np.ones(len(rows), np.int64), rows.words)


def joined(parts: Sequence[Alike]) -> Alike:
    """Those of all groups; large leaves are in several of them."""
    leaf, people, times = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("leaf", "people", "times")
    )
    return _merged(leaf, people, times, np.concatenate([part.words for part in parts], axis=1))


def _merged(leaf: IntArray, people: IntArray, times: IntArray, words: IntArray) -> Alike:
    order = np.lexsort((*words[::-1], people, leaf))
    leaf, people = leaf[order], people[order]
    new = np.ones(len(order), bool)
    new[1:] = (leaf[1:] != leaf[:-1]) | (people[1:] != people[:-1])
    start = np.flatnonzero(new)
    return Alike(leaf[start], people[start], np.add.reduceat(times[order], start), words[:, order[start]])
