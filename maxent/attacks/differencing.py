"""Differencing: class counts of leaves, removed or not, that follow from the numbers of inner nodes.

The records of a node are those of its children together. So a node that states its counts gives away a removed leaf:
the node minus the leaf's siblings. The same holds for bounds on counts, down and up the tree, and for the number of
records; and two trees of the same people have the same records at their roots.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from maxent.attacks.bounds import NO_LABEL, ROUNDS, Bounds, stated_bounds, tighten
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.columns import NOTHING, Statements
from maxent.models.defenses.stated import stated
from maxent.models.release import Release
from maxent.models.trees.places import Places
from maxent.models.trees.printed_rates import RateReader


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Leaves whose records are known together, though not one by one: ``node`` is above all of them.

    ``counts`` has shape (n_classes,).
    """

    node: int
    leaves: IntArray
    counts: FloatArray

    @property
    def only_class(self) -> int | None:
        """The class of all their records, None when they have several, or there are none."""
        present = np.flatnonzero(self.counts)
        return int(present[0]) if len(present) == 1 else None


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """Bounds on counts from all nodes of one tree together.

    Attributes
    ----------
    bounds : Bounds
        Of every place of the tree.
    recovered : shape (n_recovered,)
        The leaves, removed or published, of which more is known than they (and the adversary's table) state: the
        records of every class, the number of records, or that all are of one class.
    groups : tuple of Group
        Leaves that are known only together: with a removed one among them, or all of one class.
    contradicted : bool
        Whether the numbers do not add up, so that nothing could be learned: inner nodes may have been counted after
        leaves were removed, or the table may be of other people.
    """

    bounds: Bounds
    recovered: IntArray
    groups: tuple[Group, ...]
    contradicted: bool


def difference(
    release: Release,
    places: Sequence[Places],
    said: Sequence[Statements],
    rates: Sequence[RateReader],
    sizes: Sequence[FloatArray] | None,
) -> tuple[Difference | None, ...]:
    """Bounds on the leaves of each tree from the numbers of its inner nodes; None where there are none.

    Parameters
    ----------
    release : Release
    places : sequence of Places, one per tree
    said : sequence of Statements, one per tree
    rates : sequence of RateReader, one per tree
        How error rates were printed.
    sizes : sequence of arrays, shape (n_places,), one per tree; optional
        Individuals that the adversary's table shows to be in each place, NaN where it does not.
    """
    linked = sizes is not None or (len(places) > 1 and not release.sampled)
    closed = not release.blurred and not any(map(_has_open_leaf, places, said))
    if closed or not (linked or any(map(_has_inner_numbers, places, said))):
        return (None,) * len(places)
    own = [_every_place(release, p, s, r, None) for p, s, r in zip(places, said, rates, strict=True)]
    told = _combined(release, places, own)
    if sizes is None:
        shown, known = own, told
    else:
        each = zip(places, said, rates, sizes, strict=True)
        shown = [_every_place(release, p, s, r, size) for p, s, r, size in each]
        for p, bounds, size in zip(places, shown, sizes, strict=True):
            _add_sizes(p, bounds, size)
        known = _combined(release, places, [_intersection(a, b) for a, b in zip(told, shown, strict=True)])
    return tuple(_difference(p, a, b, c, d) for p, a, b, c, d in zip(places, own, told, shown, known, strict=True))


def _has_open_leaf(places: Places, said: Statements) -> bool:
    """Whether there is a leaf that does not state its counts."""
    return len(places) > places.n_nodes or not said.counted[places.published].all()


def _has_inner_numbers(places: Places, said: Statements) -> bool:
    """Whether an inner node states any."""
    inner = places.n_branches[: places.n_nodes] > 0
    return bool((inner & (said.counted | (said.n != NOTHING))).any())


def _every_place(
    release: Release, places: Places, said: Statements, rates: RateReader, sizes: FloatArray | None
) -> Bounds:
    """Bounds that every place of a tree states; for removed leaves at most their size."""
    stated = stated_bounds(release, said, rates, None if sizes is None else sizes[: places.n_nodes])
    removed = len(places) - places.n_nodes
    nothing = np.zeros((removed, len(release.target.classes) + 1))
    return Bounds(
        np.concatenate([stated.low, nothing]),
        np.concatenate([stated.high, np.full_like(nothing, _largest_removed(release))]),
        np.concatenate([stated.label, np.full(removed, NO_LABEL)]),
    )


def _largest_removed(release: Release) -> float:
    """The most records that a removed leaf can have had, which the method that removed it may tell."""
    below = stated(release).removed_below
    return np.inf if below is None else below - 1.0


def _add_sizes(places: Places, bounds: Bounds, sizes: FloatArray) -> None:
    """Let removed leaves, in place, have as many records as the adversary's table shows."""
    removed = np.arange(places.n_nodes, len(places))
    removed = removed[~np.isnan(sizes[removed])]
    bounds.low[removed, -1] = bounds.high[removed, -1] = sizes[removed]
    tighten(bounds)


def _intersection(one: Bounds, other: Bounds) -> Bounds:
    """The intersection of two bounds of the same places."""
    return Bounds(np.maximum(one.low, other.low), np.minimum(one.high, other.high), one.label)


def _combined(release: Release, places: Sequence[Places], bounds: Sequence[Bounds]) -> list[Bounds]:
    """The bounds of all places of all trees, narrowed by one another."""
    found = [propagated(p, b) for p, b in zip(places, bounds, strict=True)]
    if len(found) == 1 or release.sampled:  # each tree has a sample of its own
        return found
    low = np.max([b.low[0] for b in found], axis=0)
    high = np.min([b.high[0] for b in found], axis=0)
    if (low > high).any():
        return found
    for t, (p, b) in enumerate(zip(places, found, strict=True)):
        if (b.low[0] < low).any() or (b.high[0] > high).any():
            b.low[0], b.high[0] = low, high
            found[t] = propagated(p, b)
    return found


def propagated(places: Places, bounds: Bounds) -> Bounds:
    """Bounds of all places of a tree, narrowed by one another: a node has the records of its children together.

    Parameters
    ----------
    places : Places
    bounds : Bounds
        What each place of the tree is known to hold by itself.
    """
    order = np.concatenate(places.levels)
    found = Bounds(bounds.low[order], bounds.high[order], bounds.label[order])
    families = list(_families(places, order))
    for _ in range(ROUNDS):
        before = found.low.copy(), found.high.copy()
        for family in reversed(families):
            family.bound_parents(found)
        for family in families:
            family.bound_children(found)
        tighten(found)
        same = np.array_equal(before[0], found.low) and np.array_equal(before[1], found.high)
        if same or found.contradicted.any():
            break
    low, high = np.empty_like(found.low), np.empty_like(found.high)
    low[order], high[order] = found.low, found.high
    return Bounds(low, high, bounds.label)


@dataclass(frozen=True, slots=True, eq=False)
class _Family:
    """The inner nodes of one level and their children, as rows of the bounds.

    Those of parent ``parents[f]`` are the rows from ``children.start + start[f]`` on; ``of`` is the f of each child.
    """

    parents: IntArray
    children: slice
    start: IntArray
    of: IntArray

    def bound_parents(self, bounds: Bounds) -> None:
        """Narrow the bounds of the parents by the sums of their children's."""
        low, high = bounds.low, bounds.high
        least, most = (np.add.reduceat(side[self.children], self.start, axis=0) for side in (low, high))
        low[self.parents] = np.maximum(low[self.parents], least)
        high[self.parents] = np.minimum(high[self.parents], most)

    def bound_children(self, bounds: Bounds) -> None:
        """Narrow the bounds of each child by its parent's, minus its siblings'."""
        low, high = bounds.low[self.children], bounds.high[self.children]
        above = self.parents[self.of]
        endless = np.isinf(high)
        finite = np.where(endless, 0.0, high)
        siblings_low = np.add.reduceat(low, self.start, axis=0)[self.of] - low
        siblings_high = np.add.reduceat(finite, self.start, axis=0)[self.of] - finite
        siblings_high[np.add.reduceat(endless, self.start, axis=0, dtype=np.int64)[self.of] > endless] = np.inf
        bounds.low[self.children] = np.maximum(low, bounds.low[above] - siblings_high)
        bounds.high[self.children] = np.minimum(high, bounds.high[above] - siblings_low)


def _families(places: Places, order: IntArray) -> Iterator[_Family]:
    """Each level of inner nodes with their children, from the root down."""
    begin = 0
    for level in places.levels[:-1]:
        end = begin + len(level)
        inner = np.flatnonzero(places.n_branches[level])
        width = places.n_branches[level[inner]]
        of = np.repeat(np.arange(len(inner)), width)
        yield _Family(begin + inner, slice(end, end + len(of)), np.cumsum(width) - width, of)
        begin = end


def _difference(places: Places, own: Bounds, told: Bounds, shown: Bounds, known: Bounds) -> Difference:
    """Compare what places state of themselves with what all of them tell.

    ``own`` and ``told`` are without the sizes that the adversary's table shows, ``shown`` and ``known`` with them.
    """
    if known.contradicted.any():
        return Difference(shown, np.zeros(0, np.int64), (), True)
    gained = known.known & ~shown.known
    gained |= (told.sized & ~own.sized) | (known.sized & ~shown.sized)
    gained |= _of_one_class(known) & ~_of_one_class(shown)
    leaves = places.leaves
    return Difference(known, leaves[gained[leaves]], tuple(_groups(places, known)), False)


def _of_one_class(bounds: Bounds) -> BoolArray:
    """Places with records, all of one class."""
    alike: BoolArray = (bounds.possible.sum(axis=1) == 1) & (bounds.low[:, -1] > 0)
    return alike


def _groups(places: Places, bounds: Bounds) -> Iterator[Group]:
    """The leaves that are only known together: unknown ones with the same nearest known node above."""
    known = bounds.known
    anchor = np.full(len(places), -1)
    for level in places.levels[1:]:
        above = places.parent[level]
        anchor[level] = np.where(known[above], above, anchor[above])
    leaves = places.leaves
    members = leaves[~known[leaves] & (anchor[leaves] >= 0)]
    members = members[np.argsort(anchor[members], kind="stable")]
    nodes, first = np.unique(anchor[members], return_index=True)
    if not len(nodes):
        return
    rest = bounds.low[:, :-1].copy()
    apart = np.flatnonzero(known & (anchor >= 0))
    np.subtract.at(rest, anchor[apart], bounds.low[apart, :-1])
    for node, group in zip(nodes.tolist(), np.split(members, first[1:]), strict=True):
        found = Group(node, group, rest[node])
        if group[-1] >= places.n_nodes or found.only_class is not None:
            yield found
