"""Linking the adversary's table with a release: the possible leaves of each person, and the classes in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from maxent.attacks.leaves import NO_CLASS
from maxent.constraints.cells import Cells
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.nodes import parts_of
from maxent.models.tables.qi_table import row_keys
from maxent.models.tables.truth_and_facts import Fact

UNCERTAIN = -1
NO_SPAN = -1


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """The quasi-identifiers of a table, linked with the leaves of a release.

    Attributes
    ----------
    cells : Cells
        Which leaves each quasi-identifier can be in; of parts of a leaf of the tool the one that stands for it.
    counts : shape (n_qi,), individuals
    place : shape (n_qi, n_trees)
        The leaf of each tree that a quasi-identifier is in, `UNCERTAIN` where private attributes decide.
    span : shape (n_qi,)
        The span of each (Friedman et al. 2006, Definition 5): those of the same span can be in the same leaves, over
        all trees, and nothing in the release tells them apart. Numbered in the order of the quasi-identifiers;
        `NO_SPAN` for those who can only be in removed leaves, to whom nothing can be linked.
    population : shape (n_spans,)
        Individuals of each span (Definition 6).
    """

    cells: Cells
    counts: IntArray
    place: IntArray
    span: IntArray
    population: IntArray

    def classes(self, possible: Sequence[BoolArray]) -> IntArray:
        """The one class that the people of each quasi-identifier can have, `NO_CLASS` where there are several.

        ``possible`` says, for every tree, which classes records of each place can have, (n_places, n_classes). Whoever
        is in several trees has a class that is possible in all of them.
        """
        here = possible[0][self.cells.leaf[:, 0]]
        for t in range(1, len(possible)):
            here = here & possible[t][self.cells.leaf[:, t]]
        order = np.argsort(self.cells.owner, kind="stable")
        start = np.searchsorted(self.cells.owner[order], np.arange(len(self.counts)))
        found = np.logical_or.reduceat(here[order], start, axis=0)
        return np.where(found.sum(axis=1) == 1, found.argmax(axis=1), NO_CLASS)


def link(cells: Cells, counts: IntArray, n_nodes: Sequence[int]) -> Links:
    """Group the quasi-identifiers of a table by the leaves they can be in.

    Parameters
    ----------
    cells : Cells
    counts : shape (n_qi,), individuals of each quasi-identifier
    n_nodes : sequence of int, one per tree
        The places below are those of nodes, the others of removed leaves.
    """
    n = len(counts)
    if any(parts_of(held.places.tree.nodes) for held in cells.trees):
        whole = [held.places.whole[cells.leaf[:, t]] for t, held in enumerate(cells.trees)]
        cells = replace(cells, leaf=np.column_stack(whole))
    order = np.lexsort((*cells.leaf.T[::-1], cells.owner))
    owner, leaf = cells.owner[order], cells.leaf[order]
    start = np.searchsorted(owner, np.arange(n))
    place = leaf[start]
    for t in range(leaf.shape[1]):
        low, high = np.minimum.reduceat(leaf[:, t], start), np.maximum.reduceat(leaf[:, t], start)
        place[low != high, t] = UNCERTAIN
    # Nothing is published of removed leaves: one is as good as any other.
    leaf = np.minimum(leaf, n_nodes)
    where = row_keys(leaf, (leaf.max(axis=0) + 1).tolist())
    published = np.flatnonzero((leaf < n_nodes).any(axis=1))
    published = published[np.lexsort((where[published], owner[published]))]
    pairs = np.column_stack([owner[published], where[published]])
    pairs = pairs[np.append(True, (pairs[1:] != pairs[:-1]).any(axis=1))[: len(pairs)]]
    span = _same_sets(np.searchsorted(pairs[:, 0], np.arange(n + 1)), np.ascontiguousarray(pairs[:, 1]))
    linked = span != NO_SPAN
    return Links(cells, counts, place, span, np.bincount(span[linked], counts[linked]).astype(np.int64))


def _same_sets(ends: IntArray, members: IntArray) -> IntArray:
    """Number sets, ``members[ends[i]:ends[i + 1]]`` in increasing order, in order of appearance; `NO_SPAN` if empty."""
    number: dict[bytes, int] = {b"": NO_SPAN}
    bounds = pairwise(ends.tolist())
    sets = (members[begin:end].tobytes() for begin, end in bounds)
    return np.array([number.setdefault(key, len(number) - 1) for key in sets], np.int64)


def known_records(facts: Sequence[Fact], links: Links, tree: int, possible: BoolArray) -> FloatArray:
    """Fewest records of each class in each leaf of a tree, from facts; shape (n_places, n_classes).

    A fact counts where all whom it can be about are in the same leaf, of those in which its class is possible. Facts
    that can be about the same person are not added up.

    Parameters
    ----------
    facts : sequence of Fact
    links : Links
    tree : int
    possible : shape (n_places, n_classes)
        The classes that records of each place of the tree can have.
    """
    leaf = links.cells.leaf[:, tree]
    groups: dict[tuple[int, int], dict[bytes, tuple[IntArray, int]]] = {}
    for fact in facts:
        reached = np.unique(leaf[np.isin(links.cells.owner, fact.rows)])
        reached = reached[possible[reached, fact.class_index]]
        if len(reached) == 1:
            same = groups.setdefault((int(reached[0]), fact.class_index), {})
            key = fact.rows.tobytes()
            same[key] = fact.rows, fact.count + (same[key][1] if key in same else 0)
    known = np.zeros(possible.shape)
    for at, same in groups.items():
        known[at] = _at_least(list(same.values()))
    return known


def _at_least(facts: list[tuple[IntArray, int]]) -> int:
    """Lower bound on the different people of some facts: a sum over facts without common people."""
    total, taken = 0, np.zeros(0, np.int64)
    for rows, count in sorted(facts, key=lambda fact: (len(fact[0]), -fact[1])):
        if not np.isin(rows, taken).any():
            total, taken = total + count, np.concatenate([taken, rows])
    return max(total, *(count for _, count in facts))
