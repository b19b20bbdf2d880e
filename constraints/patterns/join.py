"""Possible patterns of people: every possible combination of leaves over all trees.

A pattern belongs to a class and to an *owner*, people about whom the same is known. Boxes of values go down one tree
after the other; whatever comes to a leaf that states nobody of the class is dropped at once. So there are far fewer
patterns than combinations of values: where trees were grown in full, only those on which all trees agree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from maxent.constraints.patterns.atoms import Atoms, Bits
from maxent.constraints.patterns.stated import TreeCounts
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.errors import invalid

# Patterns of a class beyond which a sample of the likelier ones is gone on with; the same where there is no time.
MOST, HASTY = 150_000, 2_000


@dataclass(frozen=True, slots=True, eq=False)
class Patterns:
    """All patterns: pattern i is of class ``klass[i]`` and owner ``owner[i]``, with its leaf (a place) in each tree.

    Attributes
    ----------
    owner, klass : shape (n,)
    leaf : int32, shape (n, n_trees)
    box : shape (n, n_words), the atoms that lead there
    complete : bool
        Whether these are all that are possible.
    """

    owner: IntArray
    klass: IntArray
    leaf: IntArray
    box: Bits
    complete: bool

    def __len__(self) -> int:
        return len(self.owner)


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Boxes on their way through the trees."""

    owner: IntArray
    box: Bits
    leaf: IntArray


def patterns_of(
    atoms: Atoms,
    trees: tuple[TreeCounts, ...],
    start: Bits,
    rng: np.random.Generator,
    *,
    most: int = MOST,
    late: Callable[[], bool] = lambda: False,
) -> Patterns:
    """Every pattern that people can have.

    Parameters
    ----------
    start : shape (n_owners, n_words)
        The box of values that is possible for each owner.
    rng : random generator
        Draws the patterns that are gone on with where there are more than ``most`` of a class.
    late : callable
        Whether there is no time for more than `HASTY`.
    """
    routes = [_Route(atoms, tree) for tree in trees]
    found, complete = [], True
    for klass in range(trees[0].low.shape[1]):
        rows = _Rows(np.arange(len(start)), start, np.empty((len(start), 0), np.int32))
        for t, route in enumerate(routes):
            rows = route.down(rows, klass)
            allowed = max(min(most, HASTY), len(start)) if late() else max(most, len(start))
            if len(rows.owner) > allowed:
                complete = False
                rows = _likelier(atoms, trees[: t + 1], rows, klass, allowed, rng)
        found.append(rows)
    patterns = Patterns(
        np.concatenate([rows.owner for rows in found]),
        np.repeat(np.arange(len(found)), [len(rows.owner) for rows in found]),
        np.concatenate([rows.leaf for rows in found]),
        np.concatenate([rows.box for rows in found]),
        complete,
    )
    return _with_everybody(patterns, atoms, trees, start)


def _with_everybody(patterns: Patterns, atoms: Atoms, trees: tuple[TreeCounts, ...], start: Bits) -> Patterns:
    """Adds a pattern of first values for owners without any possible pattern; no table agrees with it."""
    lost = np.flatnonzero(np.bincount(patterns.owner, minlength=len(start)) == 0)
    if not len(lost):
        return patterns
    first = np.zeros_like(start[lost])
    for j in range(len(atoms.of)):
        atom = atoms.held(start[lost], j).argmax(axis=1)
        first |= np.stack([atoms.box([(j, [a])]) for a in range(len(atoms.of[j]))])[atom]
    routes = [_Route(atoms, tree.unlimited) for tree in trees]
    for klass in range(trees[0].low.shape[1]):
        rows = _Rows(np.arange(len(lost)), first, np.empty((len(lost), 0), np.int32))
        for route in routes:
            rows = route.down(rows, klass)
        if len(rows.owner) < len(lost):
            expected = "values that some branch of every node they reach takes"
            raise invalid("release", "trees", "branches", expected, f"none for {len(lost) - len(rows.owner):,} people")
        patterns = Patterns(
            np.concatenate([patterns.owner, lost[rows.owner]]),
            np.concatenate([patterns.klass, np.full(len(lost), klass)]),
            np.concatenate([patterns.leaf, rows.leaf]),
            np.concatenate([patterns.box, rows.box]),
            patterns.complete,
        )
    return patterns


class _Route:
    """The way of boxes down a tree."""

    def __init__(self, atoms: Atoms, counts: TreeCounts) -> None:
        self.places = counts.places
        self.possible = _possible(counts)
        column = {attribute.name: j for j, attribute in enumerate(atoms.attributes)}
        rest = [atoms.everything(set(range(len(atoms.of))) - {j}) for j in range(len(atoms.of))]
        self.branch: dict[int, tuple[Bits, Bits]] = {}  # what a place takes: own atoms, and the same with all others
        for place, below in enumerate(self.places.children):
            node = self.places.node(place)
            if node is None or node.attribute is None:
                continue
            j = column[node.attribute]
            for child, branch in zip(below, node.branches, strict=True):
                own = atoms.box([(j, atoms.taking(j, branch))])
                self.branch[child] = own, own | rest[j]

    def down(self, rows: _Rows, klass: int) -> _Rows:
        """The part of every row in each leaf that may have people of a class."""
        possible, children = self.possible[:, klass], self.places.children
        ended: list[tuple[int, IntArray, Bits]] = []
        stack = [(0, np.arange(len(rows.owner)), rows.box)] if possible[0] else []
        while stack:
            place, row, box = stack.pop()
            if not children[place]:
                ended.append((place, row, box))
            for child in children[place]:
                if not possible[child]:
                    continue
                own, whole = self.branch[child]
                keep = (box & own).any(axis=1)
                if keep.any():
                    stack.append((child, row[keep], box[keep] & whole))
        row = np.concatenate([np.empty(0, np.int64), *(row for _, row, _ in ended)])
        leaf = np.repeat(np.array([p for p, _, _ in ended], np.int32), [len(r) for _, r, _ in ended])
        box = np.concatenate([rows.box[:0], *(box for _, _, box in ended)])
        return _Rows(rows.owner[row], box, np.column_stack([rows.leaf[row], leaf]))


def _possible(counts: TreeCounts) -> BoolArray:
    """Whether people of each class may be in each place, and in some leaf below it, shape (n_places, n_classes)."""
    possible = (counts.high > 0) & (counts.most > 0)[:, None]
    for place in reversed(counts.places.top_down):
        below = list(counts.places.children[place])
        if below:
            possible[place] &= possible[below].any(axis=0)
    for level in counts.places.levels[1:]:
        possible[level] &= possible[counts.places.parent[level]]
    return possible


def _likelier(
    atoms: Atoms, trees: tuple[TreeCounts, ...], rows: _Rows, klass: int, most: int, rng: np.random.Generator
) -> _Rows:
    """A sample of rows, without replacement, each drawn by how many people each tree by itself leads to expect."""
    size = log_share(atoms, rows.box)
    expected = np.zeros(len(size))
    for t, counts in enumerate(trees):
        leaf = rows.leaf[:, t]
        held = np.bincount(leaf, np.exp(size), len(counts.places))
        people = np.minimum(counts.high[:, klass], counts.most).clip(1)
        expected += np.log(people[leaf]) - np.log(held[leaf])
    keys = size + expected / len(trees) + rng.gumbel(size=len(size))
    keep = np.sort(np.argpartition(-keys, most)[:most])
    return _Rows(rows.owner[keep], rows.box[keep], rows.leaf[keep])


def log_share(atoms: Atoms, box: Bits) -> FloatArray:
    """The logarithm of the share of all combinations of atoms that each box holds, shape (n,)."""
    total = np.zeros(len(box))
    for j, of in enumerate(atoms.of):
        if len(of) > 1:
            total += np.log(atoms.held(box, j).sum(axis=1) / len(of))
    return total
