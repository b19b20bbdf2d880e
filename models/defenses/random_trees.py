"""The algorithm of ``rdt``: random trees with sampled, thresholded counts, and their votes (Waseda et al. 2025)."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import count, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from maxent.models.arguments import plain, problems_of
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.defenses.accounting import guarantee
from maxent.models.defenses.parameters import RandomTrees
from maxent.models.errors import InvalidInput
from maxent.models.release import Attribute, Branch, Defense, Induction, Node, Release, Target, Tree
from maxent.models.tables.domains import Domains, Ranges
from maxent.models.tables.training import Training
from maxent.models.trees.places import assign, number_places
from maxent.models.trees.predict import predict_columns
from maxent.models.trees.reidentification import ranges_of

# Paths of records in trees that are drawn without any data.
#
# What a node tests is a function of its key, and the keys of its children are functions of its own. So every record
# finds its leaf by itself, however large the rest of the tree is (nine levels over the domains of a census have more
# leaves than there are people), and the same key gives the same tree whatever the records are.

Words = npt.NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """The domains of attributes: how many values, 0 for a numeric one, which goes from low to high; shape (n,)."""

    sizes: IntArray
    low: FloatArray
    high: FloatArray


def space_of(attributes: Sequence[Attribute], ranges: Ranges) -> Space:
    """The domains of attributes; ``ranges`` has every numeric one."""
    bounds = np.array([ranges[a.name] if a.values is None else (0.0, 0.0) for a in attributes], np.float64)
    low, high = bounds.reshape(-1, 2).T
    return Space(np.array([len(a.values or ()) for a in attributes], np.int64), low, high)


@dataclass(frozen=True, slots=True, eq=False)
class PathStep:
    """One level of the paths of some records, all of shape (n,).

    ``attribute`` is -1 where the record has ended; ``branch`` is a code, or 0 at most and 1 above the ``cut``, -1 for
    none; ``node`` is the key of the next node.
    """

    attribute: IntArray
    cut: FloatArray
    branch: IntArray
    last: BoolArray
    node: Words

    def take(self, rows: IntArray) -> PathStep:
        """Some of the records."""
        return PathStep(self.attribute[rows], self.cut[rows], self.branch[rows], self.last[rows], self.node[rows])


def paths(space: Space, root: np.uint64, depth: int, x: FloatArray) -> Iterator[PathStep]:
    """Send records down a tree, a level at a time (Fan et al.

    2003; Waseda et al. 2025, Algorithm 1). A node tests one of the attributes that are left on its path, at random:
    categorical ones with a branch for every value, numeric ones at a threshold that is uniform on what is left. A
    node's key seeds a stream: the attribute, the threshold, the keys of its children.
    """
    rows = np.arange(len(x))
    node = np.full(len(x), root)
    low, high = np.tile(space.low, (len(x), 1)), np.tile(space.high, (len(x), 1))
    untested = np.tile((space.sizes > 1) | (space.low < space.high), (len(x), 1))
    for level in range(depth):
        left = untested.sum(axis=1)
        goes_on = left > 0
        chosen = (_uniform(_word(node, 0)) * left).astype(np.int64)
        attribute = (np.cumsum(untested, axis=1, dtype=np.int32) <= chosen[:, None]).sum(axis=1)
        attribute[~goes_on] = 0
        numeric, value = space.sizes[attribute] == 0, x[rows, attribute]
        share, least, most = _uniform(_word(node, 1)), low[rows, attribute], high[rows, attribute]
        cut = np.clip(least * (1 - share) + most * share, least, most)
        branch = np.where(numeric, value > cut, value).astype(np.int64)
        node = np.where(goes_on, _word(node, branch + 2), node)
        low[rows, attribute] = np.where(branch == 0, least, cut)
        high[rows, attribute] = np.where(branch == 0, cut, most)
        untested[rows, attribute] = numeric & (low[rows, attribute] < high[rows, attribute])
        last = goes_on if level + 1 == depth else (left == 1) & ~numeric
        yield PathStep(np.where(goes_on, attribute, -1), cut, np.where(goes_on, branch, -1), last, node)


def leaf_keys(space: Space, root: np.uint64, depth: int, x: FloatArray) -> Words:
    """The keys of the leaves that records come to, shape (n,); the parameters are those of `paths`."""
    leaf = np.full(len(x), root)
    for step in paths(space, root, depth, x):
        leaf = step.node
    return leaf


def _word(keys: Words, number: npt.ArrayLike) -> Words:
    """Numbers of the streams that keys are the seeds of: SplitMix64 (Steele, Lea and Flood 2014), shape (n,)."""
    z = keys + _STEP * (np.atleast_1d(number).astype(np.uint64) + np.uint64(1))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


def _uniform(words: Words) -> FloatArray:
    """Numbers in [0, 1)."""
    return np.asarray((words >> np.uint64(11)) * 2.0**-53)


# Counts of the samples of random trees, leaf by leaf, before any is suppressed.

Source = Callable[[int], Words]  # so many random numbers of 64 bits
_CHUNK = 2**16  # records that walk together


@dataclass(frozen=True, slots=True, eq=False)
class LeavesOfPaths:
    """The leaves that a sample reaches: their keys, shape (n,), and their records per class, shape (n, n_classes)."""

    key: Words
    counts: IntArray
    some: FloatArray

    def add(self, key: Words, y: IntArray, x: FloatArray) -> LeavesOfPaths:
        """Count more records, with the keys of their leaves and their classes."""
        found, first, at = np.unique(np.concatenate([self.key, key]), return_index=True, return_inverse=True)
        old, n_classes = self.counts.shape
        counts = np.bincount(at[old:] * n_classes + y, minlength=len(found) * n_classes).reshape(-1, n_classes)
        counts[at[:old]] += self.counts
        return LeavesOfPaths(found, counts, np.concatenate([self.some, x])[first])

    def suppressed(self, k: int) -> LeavesOfPaths:
        """The leaves that have a count of at least k, and counts of 0 for those below."""
        counts = np.where(self.counts >= k, self.counts, 0)
        shown = counts.any(axis=1)
        return LeavesOfPaths(self.key[shown], counts[shown], self.some[shown])


def randomness(seed: int | None, tree: int) -> tuple[np.uint64, Source]:
    """The key of a tree's root, and where the random numbers of its sample come from, independent of each other."""

    def stream(use: int) -> np.random.PCG64:
        return np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(tree, use)))

    return np.uint64(stream(0).random_raw()), _system_words if seed is None else stream(1).random_raw


def count_leaves(
    batches: Iterable[Training],
    random: Sequence[tuple[np.uint64, Source]],
    beta: float,
    space: Space,
    depth: int,
    n_classes: int,
) -> tuple[LeavesOfPaths, ...]:
    """Count a sample of all records in each of the trees that have this `randomness`."""
    n_attributes = len(space.sizes)
    nobody = LeavesOfPaths(np.empty(0, np.uint64), np.empty((0, n_classes), np.int64), np.empty((0, n_attributes)))
    leaves = [nobody] * len(random)
    for x, y in _chunks(batches):
        for t, (root, source) in enumerate(random):
            rows = _sample(len(y), beta, source)
            here = x[rows]
            leaves[t] = leaves[t].add(leaf_keys(space, root, depth, here), y[rows], here)
    return tuple(leaves)


def _chunks(batches: Iterable[Training]) -> Iterator[tuple[FloatArray, IntArray]]:
    """The records as numbers, shape (n, n_attributes), and their classes, shape (n,), a few at a time."""
    for batch in batches:
        for begin in range(0, len(batch), _CHUNK):
            chunk = slice(begin, begin + _CHUNK)
            y = batch.y[chunk]
            yield np.column_stack([np.empty((len(y), 0)), *(column[chunk] for column in batch.columns)]), y


def _sample(n: int, beta: float, source: Source) -> IntArray:
    """The indices of a Bernoulli sample of n records."""
    return np.arange(n) if beta >= 1 else np.flatnonzero(source(n) < np.uint64(int(beta * 2.0**64)))


def _system_words(n: int) -> Words:
    """Random numbers from the operating system."""
    return np.frombuffer(os.urandom(8 * n), np.uint64)


# Trees filled with sampled, thresholded counts (Algorithm 3 of the paper).
#
# Their structure does not depend on the data (Fan et al. 2003). Each tree counts a Bernoulli sample of its own, and
# every count of a leaf and a class that is below k is set to 0, which makes what is published differentially private
# under sampling, see `maxent.models.defenses.accounting`.

METHOD = "rdt"


@dataclass(frozen=True, slots=True, eq=False)
class DrawnTree:
    """Random trees with all counts of their samples, which are confidential until `release` suppresses some."""

    target: Target
    attributes: tuple[Attribute, ...]
    space: Space
    depth: int
    asked: RandomTrees
    stated: bool
    roots: tuple[np.uint64, ...]
    leaves: tuple[LeavesOfPaths, ...]

    @property
    def reached(self) -> int:
        """Leaves of all trees that somebody in their samples is in."""
        return sum(len(leaves.key) for leaves in self.leaves)

    def release(self, k: int | None = None) -> Release:
        """The published release, see `random_trees`; of the same samples, also with another k than was asked for."""
        asked = self.asked if k is None else replace(self.asked, k=k)
        exact = asked.beta >= 1 and asked.k <= 1
        trees = tuple(
            Tree(tuple(_nodes(self, root, leaves.suppressed(asked.k), exact)), Induction(METHOD))
            for root, leaves in zip(self.roots, self.leaves, strict=True)
        )
        known = guarantee(asked) if self.stated else None
        parameters = {
            "trees": asked.trees,
            "depth": self.depth,
            "beta": asked.beta,
            "k": asked.k,
            "domains": "stated" if self.stated else "data",
            "samples": "secret" if asked.seed is None else "seeded",
            **({} if known is None else {name: value for name, value in asdict(known).items() if value is not None}),
        }
        return Release(self.target, self.attributes, trees, asked.beta, asked.k, Defense(METHOD, parameters))


def random_trees(training: Training, asked: RandomTrees, domains: Domains | None = None) -> Release:
    """Draw random trees, fill them from samples of the records, and suppress small counts.

    Leaves state counts and nothing else, as a label or a number of records would tell of what was suppressed; the
    defense has the parameters and, where domains are stated, what is guaranteed as long as nobody knows the seed. Parts
    of a tree in which every count is 0 are left out, which follows from what is published; they are no leaves with
    counts of 0, as fewer than k people are in each leaf of them, not in all together.
    """
    return draw(training, asked, domains).release()


def draw(training: Training, asked: RandomTrees, domains: Domains | None = None) -> DrawnTree:
    """`random_trees` before any count is suppressed; parameters and errors as there."""
    domains = domains or Domains()
    problems = [*problems_of(asked), *domains.problems(training)]
    if problems:
        raise InvalidInput("random trees", problems)
    ranges = {**ranges_of(training.attributes, training.columns), **domains.ranges}
    stated = not domains.unstated(training)
    return draw_batches([training], training.target, training.attributes, asked, ranges, stated=stated)


def draw_batches(
    batches: Iterable[Training],
    target: Target,
    attributes: Sequence[Attribute],
    asked: RandomTrees,
    ranges: Ranges,
    *,
    stated: bool = True,
) -> DrawnTree:
    """`draw` for records that come in batches, all with these domains; nothing is checked."""
    asked = RandomTrees(**{name: plain(value) for name, value in asdict(asked).items()})
    space = space_of(attributes, ranges)
    depth = max(len(attributes) // 2, 1) if asked.depth is None else asked.depth
    random = [randomness(asked.seed, t) for t in range(asked.trees)]
    leaves = count_leaves(batches, random, asked.beta, space, depth, len(target.classes))
    roots = tuple(root for root, _ in random)
    return DrawnTree(target, tuple(attributes), space, depth, asked, stated, roots, leaves)


def _nodes(forest: DrawnTree, root: np.uint64, shown: LeavesOfPaths, exact: bool) -> Iterator[Node]:
    """The nodes of a tree, the root first; ``shown`` are its leaves with counts above 0.

    Leaves without anybody share one below each node. Others with counts of 0 must not: those of several leaves together
    need not be small, and who chooses leaves because their samples are empty makes them look emptier than they are.
    """
    n = len(shown.key)
    some = shown.some if n else np.zeros((1, len(forest.attributes)))  # the root tests the same whoever comes
    steps = list(paths(forest.space, root, forest.depth, some))
    order = np.lexsort([step.branch for step in reversed(steps)]) if steps else np.arange(len(some))
    steps, counts = [step.take(order) for step in steps], shown.counts[order[:n]]
    queue: deque[tuple[str, bool, int, int, int]] = deque()
    leaf_ids, inner_ids = (map(f"{letter}{{}}".format, count(1)) for letter in "LN")

    def place(level: int, begin: int, end: int) -> str:
        """The id of the node above the leaves from ``begin`` to ``end``."""
        inner = begin < end and level < len(steps) and bool(steps[level].attribute[begin] >= 0)
        queue.append((next(inner_ids if inner else leaf_ids), inner, level, begin, end))
        return queue[-1][0]

    place(0, 0, len(some))
    while queue:
        name, inner, level, begin, end = queue.popleft()
        if not inner:
            yield Node(
                name, counts=dict(zip(forest.target.classes, counts[begin:end].sum(axis=0).tolist(), strict=True))
            )
            continue
        step, end = steps[level], min(end, n)
        attribute = forest.attributes[step.attribute[begin]]
        taken = step.branch[begin:end]
        starts = (begin + np.flatnonzero(np.diff(taken, prepend=-1))).tolist()
        below: dict[int, str | None] = {
            int(step.branch[at]): place(level + 1, at, to) for at, to in pairwise([*starts, end])
        }
        empty = [branch for branch in range(len(attribute.values or "01")) if branch not in below]
        if exact and empty:
            below |= dict.fromkeys(empty, place(level + 1, end, end))
        elif step.last[begin]:
            below |= {branch: place(level + 1, end, end) for branch in empty}
        yield Node(name, attribute.name, _branches(attribute, float(step.cut[begin]), below))


def _branches(attribute: Attribute, cut: float, below: Mapping[int, str | None]) -> tuple[Branch, ...]:
    """The branches of a node, with the child that is below each; those that are not there have none."""
    if attribute.values is None:
        return Branch(below.get(0), le=cut), Branch(below.get(1), gt=cut)
    values: dict[str | None, list[str]] = {}
    for code, value in enumerate(attribute.values):
        values.setdefault(below.get(code), []).append(value)
    return tuple(Branch(child, tuple(of)) for child, of in values.items())


# Predictions of a forest by a vote of its trees, in place of the sum of their counts.


def vote_shares(
    release: Release, attributes: Sequence[Attribute], columns: Sequence[npt.NDArray[Any]], n: int
) -> FloatArray:
    """The share of the trees that vote for each class, for each record, shape (n, n_classes).

    A tree votes where the leaf has counts above 0; without any vote it is `maxent.models.trees.predict.predict_columns`
    that does.
    """
    n_classes = len(release.target.classes)
    votes = np.zeros((n, n_classes), np.int64)
    for tree in release.trees:
        counts = np.zeros((len(number_places(tree).children), n_classes), np.int64)
        for place, node in enumerate(tree.nodes):
            if node.counts is not None:
                counts[place] = [node.counts[c] for c in release.target.classes]
        here = np.zeros(n, np.int64) if tree.root.is_leaf else assign(tree, attributes, columns)
        told = np.flatnonzero(counts.max(axis=1)[here])
        votes[told, counts.argmax(axis=1)[here[told]]] += 1
    silent = np.flatnonzero(~votes.any(axis=1))
    votes[silent, predict_columns(release, attributes, columns, n)[silent]] = 1
    return np.asarray(votes / votes.sum(axis=1, keepdims=True))


def predict_votes(
    release: Release, attributes: Sequence[Attribute], columns: Sequence[npt.NDArray[Any]], n: int
) -> IntArray:
    """The class that has the most votes (the first of them), as an index, shape (n,); arguments of `vote_shares`."""
    return np.asarray(vote_shares(release, attributes, columns, n).argmax(axis=1))
