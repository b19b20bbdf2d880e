"""Bounds on the records of each class in places of a tree: a smallest and a largest number."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from maxent.constraints.kinds.moments import COMPUTED
from maxent.constraints.printed_numbers import printed_moments
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.columns import NOTHING, Statements
from maxent.models.release import Release
from maxent.models.sparse_counts import check_size
from maxent.models.trees.printed_rates import RateReader

NO_LABEL = -1

ROUNDS = 50
"""How often bounds are narrowed by one another. Fewer do, as a rule; none more would be wrong, only less narrow."""


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """Smallest and largest number of records in some places: of each class and, in the last column, of all.

    ``low`` and ``high`` have shape (n_places, n_classes + 1) and hold whole numbers; ``high`` is infinite where nothing
    is known. ``label`` (n_places,) is a class that no other one exceeds, `NO_LABEL` where none is known. Where
    everything is known ``low`` and ``high`` may be the same array.
    """

    low: FloatArray
    high: FloatArray
    label: IntArray

    def __len__(self) -> int:
        return len(self.low)

    @property
    def known(self) -> BoolArray:
        """Places with known counts of every class, shape (n_places,)."""
        return np.ones(len(self), bool) if self.low is self.high else np.all(self.low == self.high, axis=1)

    @property
    def sized(self) -> BoolArray:
        """Places with a known number of records, shape (n_places,)."""
        return np.equal(self.low[:, -1], self.high[:, -1])

    @property
    def contradicted(self) -> BoolArray:
        """Places without a possible number of records, shape (n_places,)."""
        return np.zeros(len(self), bool) if self.low is self.high else np.any(self.low > self.high, axis=1)

    @property
    def possible(self) -> BoolArray:
        """The classes that some record may have, shape (n_places, n_classes)."""
        return self.high[:, :-1] > 0

    def take(self, places: IntArray) -> Bounds:
        """The bounds of some of the places."""
        low = self.low[places]
        return Bounds(low, low if self.low is self.high else self.high[places], self.label[places])


def within_moments(bounds: Bounds, release: Release, number: int, leaves: IntArray) -> Bounds:
    """Bounds of leaves without the classes whose numbers are too far from the mean for the variance that is stated.

    Of n records with the variance V nobody is further than ``sqrt(n V)`` from the mean. A leaf of one record, or of
    records that are all alike, shows their class.
    """
    numbers = release.target.numbers
    if numbers is None or release.sampled or release.blurred or bounds.low is bounds.high:
        return bounds
    means, variances = printed_moments(node for tree in release.trees for node in tree.nodes)
    low, high = np.array(numbers, np.float64).T
    size = float(np.abs(np.concatenate([low, high])[np.isfinite(np.concatenate([low, high]))]).max(initial=1.0))
    for i, place in enumerate(leaves.tolist()):
        node, n = release.trees[number].nodes[place], float(bounds.high[i, -1])
        if node.mean is None or not (n == 1 or node.variance is not None) or not np.isfinite(n):
            continue
        scale = max(size, abs(node.mean))
        wide = COMPUTED * scale + means.off(node.mean)
        spread = 0.0
        if n > 1 and node.variance is not None:
            off = COMPUTED * scale**2 + wide**2 + variances.off(node.variance)
            spread = float(np.sqrt(n * (node.variance + off)))
        far = (high < node.mean - wide - spread) | (low > node.mean + wide + spread)
        bounds.high[i, :-1][far] = 0
    tighten(bounds)
    return bounds


def stated_bounds(release: Release, said: Statements, rates: RateReader, sizes: FloatArray | None = None) -> Bounds:
    """Bounds from the statements of each node alone.

    A published 0 that may have been suppressed stands for fewer records than the limit, and a rounded number for all
    that are rounded to it. The label is a most frequent class, unless it was decided otherwise. Error rates that may be
    rounded are intervals.

    Parameters
    ----------
    release : Release
        Says which classes there are, and whether counts were suppressed or rounded.
    said : Statements
        Of the nodes.
    rates : RateReader
        How error rates were printed.
    sizes : shape (n_nodes,), optional
        Individuals that the adversary's table shows to be there, NaN where it does not; they count where the node
        states no ``n``, or one that may be another.
    """
    classes, hidden = release.target.classes, release.suppressed_below > 1
    check_size("nodes", len(said), len(classes))
    counted, label = said.counted, np.where(said.label == NOTHING, NO_LABEL, said.label)
    published = said.table(len(classes)).astype(np.int64)
    low = np.zeros((len(said), len(classes) + 1))
    low[counted, :-1], counts_high = release.behind(published[counted])
    low[:, -1] = low[:, :-1].sum(axis=1)
    unranked = np.full_like(label, NO_LABEL)  # under costs, weights or priors other classes need not be rarer
    if counted.all() and not release.blurred:
        return Bounds(low, low, unranked if release.labels == "decided" else label)
    high = np.full_like(low, np.inf)
    high[counted, :-1] = counts_high
    told = said.n != NOTHING
    low[told, -1], high[told, -1] = release.behind(said.n[told])
    if hidden:
        # The count of a label may have been suppressed; then it was a most frequent class only of what is not shown.
        at = np.flatnonzero(counted & (label != NO_LABEL))
        label[at[published[at, label[at]] == 0]] = NO_LABEL
    if sizes is not None:
        least, most = np.maximum(low[:, -1], low[:, :-1].sum(axis=1)), np.minimum(high[:, -1], high[:, :-1].sum(axis=1))
        fits = (low[:, -1] < high[:, -1]) & (sizes >= least) & (sizes <= most)
        low[fits, -1] = high[fits, -1] = sizes[fits]
    bounds = Bounds(low, high, label)
    _read_rates(bounds, said, rates, classes)
    if release.labels == "decided":
        bounds = replace(bounds, label=unranked)
    tighten(bounds)
    return bounds


def narrowed(bounds: Bounds, places: IntArray, classes: IntArray, low: FloatArray, high: FloatArray) -> Bounds:
    """Bounds with further ones of single classes, shapes (n,), which others then follow from."""
    least, most = bounds.low.copy(), bounds.high.copy()
    np.maximum.at(least, (places, classes), low)
    np.minimum.at(most, (places, classes), high)
    found = Bounds(least, most, bounds.label)
    tighten(found)
    return found


def _read_rates(bounds: Bounds, said: Statements, rates: RateReader, classes: tuple[str, ...]) -> None:
    """Narrow the bounds, in place, by the rates of nodes whose counts are not all known."""
    low, high = bounds.low, bounds.high
    if rates.of_classes is not None:
        _read_class_rates(bounds, said, rates.of_classes, classes)
    open_ = np.flatnonzero(~bounds.known & (bounds.label != NO_LABEL) & ~np.isnan(said.rate)).tolist()
    for i in open_:
        rate, x = float(said.rate[i]), bounds.label[i]
        if low[i, -1] == high[i, -1]:
            least, most = rates.hits(rate, low[i, -1])
            low[i, x], high[i, x] = max(low[i, x], np.floor(least)), min(high[i, x], np.ceil(most))
        elif rates.share(rate)[0] == 1.0:
            high[i, :-1][np.arange(low.shape[1] - 1) != x] = 0.0


def _read_class_rates(bounds: Bounds, said: Statements, rates: RateReader, classes: tuple[str, ...]) -> None:
    """Narrow the bounds, in place, by the share of each class that nodes state."""
    low, high = bounds.low, bounds.high
    for i in np.flatnonzero(~bounds.known).tolist() if said.shares else ():
        stated = said.shares[i]
        if stated is None:
            continue
        for x, share in enumerate(stated.get(c, 0.0) for c in classes):
            if low[i, -1] == high[i, -1]:
                least, most = rates.records(share, low[i, -1])
                low[i, x], high[i, x] = max(low[i, x], np.floor(least)), min(high[i, x], np.ceil(most))
            elif rates.shares(share)[1] == 0.0:
                high[i, x] = 0.0


def tighten(bounds: Bounds) -> None:
    """Narrow the bounds by one another, in place: the classes of a place add up to its records."""
    low, high = bounds.low, bounds.high
    rows = np.arange(len(low)) if 2 * bounds.known.sum() < len(low) else np.flatnonzero(~bounds.known)
    for _ in range(ROUNDS):
        before = low[rows], high[rows]
        after = _tightened(*before, bounds.label[rows])
        low[rows], high[rows] = after
        changed = (after[0] != before[0]).any(axis=1) | (after[1] != before[1]).any(axis=1)
        # Contradictions would only narrow themselves further and further.
        rows = rows[changed & (after[0] <= after[1]).all(axis=1)]
        if not len(rows):
            break


def _tightened(low: FloatArray, high: FloatArray, label: IntArray) -> tuple[FloatArray, FloatArray]:
    """One round of `tighten`; new arrays."""
    low, high = low.copy(), high.copy()
    each, all_low = low[:, :-1], low[:, :-1].sum(axis=1)
    low[:, -1] = np.maximum(low[:, -1], all_low)
    high[:, -1] = np.minimum(high[:, -1], high[:, :-1].sum(axis=1))
    high[:, :-1] = np.minimum(high[:, :-1], high[:, -1:] - (all_low[:, None] - each))
    low[:, :-1] = np.maximum(each, low[:, -1:] - sum_of_others(high[:, :-1]))
    at = np.flatnonzero(label != NO_LABEL)
    if len(at):
        x = label[at]
        most = high[at, x].copy()
        high[at, :-1] = np.minimum(high[at, :-1], np.minimum(most, np.floor(high[at, -1] / 2))[:, None])
        high[at, x] = most
        rivals = np.maximum((high[at, :-1] > 0).sum(axis=1), 1)
        least = np.maximum(low[at, :-1].max(axis=1), np.ceil(low[at, -1] / rivals))
        low[at, x] = np.maximum(low[at, x], least)
    return low, high


def sum_of_others(high: FloatArray) -> FloatArray:
    """For each entry the sum of the others in its row; entries may be infinite."""
    endless = np.isinf(high)
    finite = np.where(endless, 0.0, high)
    others: FloatArray = finite.sum(axis=1, keepdims=True) - finite
    others[endless.sum(axis=1, keepdims=True) > endless] = np.inf
    return others
