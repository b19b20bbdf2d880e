"""Numbers of people stated by the nodes of a release: by class and in total, and the labels of majorities."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from maxent.models.arrays import IntArray
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.release import Node, Release
from maxent.models.sparse_counts import positive_counts, total_count
from maxent.models.trees.places import Places, number_places
from maxent.models.trees.printed_rates import RateReader, release_rates

# The most people where nothing is stated. The most that a table can be made of.
MANY, ROWS = 1 << 40, 5_000_000


@dataclass(frozen=True, slots=True, eq=False)
class TreeCounts:
    """Statements of a tree about its places (nodes, then removed leaves).

    Attributes
    ----------
    places : Places
    low, high : shape (n_places, n_classes), individuals of each class; `MANY` where nothing is stated
    least, most : shape (n_places,), individuals of all classes together
    label : shape (n_places,), the class that no other one is more frequent than, -1 where that is not stated
    """

    places: Places
    low: IntArray
    high: IntArray
    least: IntArray
    most: IntArray
    label: IntArray

    @property
    def exact(self) -> bool:
        """Whether every leaf states exactly how many people of each class it has."""
        leaves = self.places.leaves
        return bool((self.low[leaves] == self.high[leaves]).all())

    @property
    def total(self) -> int:
        """The fewest individuals that the leaves state."""
        return int(self.least[self.places.leaves].sum())

    @property
    def unlimited(self) -> TreeCounts:
        """The same tree, with any number of people everywhere."""
        return replace(
            self,
            low=np.zeros_like(self.low),
            high=np.full_like(self.high, MANY),
            least=np.zeros_like(self.least),
            most=np.full_like(self.most, MANY),
        )


def stated_counts(release: Release) -> tuple[TreeCounts, ...]:
    """Statements of all trees of a release."""
    if release.sampled:
        what = "a bootstrap, of which each tree has draws of its own" if release.resampled else "a sample"
        raise invalid(
            "release", "release", "counts", "counts of all people: a table cannot be rebuilt from a sample", what
        )
    reader = release_rates(release, None, "auto")
    found = tuple(_stated(release, number_places(tree), reader) for tree in release.trees)
    if not any((tree.most < MANY).any() for tree in found):
        expected = "counts, or sizes n, of nodes: labels and rates alone do not say how many people there are"
        raise invalid("release", "trees", "counts", expected, "none")
    return found


def unused(release: Release) -> tuple[str, ...]:
    """Sentences about statements of a release that rebuilt tables do not use."""
    nodes = [node for tree in release.trees for node in tree.nodes]
    found = []
    if any(tree.induction.impurity is not None and tree.induction.candidates != "none" for tree in release.trees):
        found.append("choices of splits are not used")
    if any((node.error_rate is not None or node.rates is not None) and _size(node) is None for node in nodes):
        found.append("rates of nodes that state neither counts nor n are not used")
    if any(each is not None for node in nodes for each in (node.value, node.hessian, node.mean, node.variance)):
        found.append("scores and means of leaves are not used")
    return tuple(found)


def _size(node: Node) -> int | None:
    """The records that a node states."""
    return node.n if node.counts is None else total_count(node.counts)


def _stated(release: Release, places: Places, reader: RateReader) -> TreeCounts:
    """Statements of one tree."""
    n, classes = len(places), release.target.classes
    low, high = np.zeros((n, len(classes)), np.int64), np.full((n, len(classes)), MANY)
    least, most, labels = np.zeros(n, np.int64), np.full(n, MANY), np.full(n, -1)
    number = {name: x for x, name in enumerate(classes)}
    for place, node in enumerate(places.tree.nodes):
        if node.counts is not None:
            published = np.zeros(len(classes), np.int64)
            for name, count in positive_counts(node.counts).items():
                published[number[name]] = count
            low[place], high[place] = release.behind(published)
            least[place], most[place] = low[place].sum(), high[place].sum()
        suppressed = release.suppressed_below > 1
        if node.n is not None and not suppressed:
            (few,), (many,) = release.behind(np.array([node.n]))
            least[place], most[place] = max(few, least[place]), min(many, most[place])
            if node.counts is None:
                low[place], high[place] = _by_rates(node, int(many), classes, reader)
        open_ = node.counts is None or release.rounded is not None or suppressed
        if open_ and node.label is not None and release.labels == "majority":
            # Beside classes that are shown, a label whose own count is suppressed was decided by something else.
            hidden = suppressed and node.counts is not None and not node.counts[node.label]
            if not (hidden and any((node.counts or {}).values())):
                labels[place] = number[node.label]
    return TreeCounts(places, low, high, least, most, labels)


def _by_rates(node: Node, n: int, classes: tuple[str, ...], reader: RateReader) -> tuple[IntArray, IntArray]:
    """Fewest and most people of each class in a node of ``n``, by its error rate and its rates; shape (n_classes,)."""
    low, high = np.zeros(len(classes), np.int64), np.full(len(classes), n)
    if node.error_rate is not None and node.label is not None:
        first, last = (math.floor(number) for number in reader.hits(node.error_rate, n))
        of_label = classes.index(node.label)
        low[of_label], high[of_label] = first, last
        others = np.arange(len(classes)) != of_label
        high[others] = n - first
        if len(classes) == 2:
            low[others] = n - last
    if node.rates is not None and reader.of_classes is not None:
        ends = [reader.of_classes.records(node.rates.get(name, 0.0), n) for name in classes]
        low = np.maximum(low, [math.floor(end) for end, _ in ends])
        high = np.minimum(high, [math.ceil(end) for _, end in ends])
    return low, high


def individuals(trees: tuple[TreeCounts, ...], told: int | None) -> int:
    """Individuals in the data: as told, or as some tree states."""
    low, high = 0, MANY
    for tree in trees:
        leaves = tree.places.leaves
        low = max(low, int(tree.least[0]), int(tree.least[leaves].sum()))
        unstated = bool((tree.most[leaves] == MANY).any())
        high = min(high, int(tree.most[0]), MANY if unstated else int(tree.most[leaves].sum()))
    if told is not None and not low <= told <= high:
        states = f"{low:,}" if low == high else f"{low:,} or more" if high == MANY else f"{low:,} to {high:,}"
        raise invalid("options", ARGUMENT, "people", f"what the release states: {states}", f"{told:,}")
    if told is None and low != high:
        expected = "the number of individuals, as the release does not say it: some of its nodes state nothing exact"
        raise invalid("options", ARGUMENT, "people", expected, "none")
    found = low if told is None else told
    if not 1 <= found <= ROWS:
        raise invalid(
            "release", "trees", "counts", f"1 to {ROWS:,} people, as a table has a row for each", f"{found:,}"
        )
    return found
