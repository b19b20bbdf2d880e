"""Paths of records in trees that are drawn without any data.

What a node tests is a function of its key, and the keys of its children are functions of its own. So every record finds
its leaf by itself, however large the rest of the tree is (nine levels over the domains of a census have more leaves
than there are people), and the same key gives the same tree whatever the records are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.release import Attribute
from maxent.models.tables.domains import Ranges

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
class Step:
    """One level of the paths of some records, all of shape (n,).

    ``attribute`` is what the node of each record tests, -1 where the record has come to a leaf before; ``cut`` is the
    threshold of a numeric one. ``branch`` is the code of the value, or 0 for at most and 1 for above the cut, -1 for
    none. ``last`` says that all branches lead to leaves. ``node`` is the key of the node that the record's branch leads
    to.
    """

    attribute: IntArray
    cut: FloatArray
    branch: IntArray
    last: BoolArray
    node: Words

    def take(self, rows: IntArray) -> Step:
        """Some of the records."""
        return Step(self.attribute[rows], self.cut[rows], self.branch[rows], self.last[rows], self.node[rows])


def paths(space: Space, root: np.uint64, depth: int, x: FloatArray) -> Iterator[Step]:
    """Send records down a tree, a level at a time (Fan et al. 2003; Waseda et al. 2025, Algorithm 1).

    Every node tests an attribute that is chosen at random among those that are left on its path: categorical ones that
    were not tested, with a branch for every value, and numeric ones, with a threshold that is uniform on what is left
    of their range. Of the stream of random numbers that a node's key is the seed of, the first chooses the attribute,
    the second the threshold, and the others are the keys of its children.

    ``root``: the key of the root. ``depth``: splits on every path, unless nothing is left to test. ``x`` of shape (n,
    n_attributes): the records: codes of values, and numbers.
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
        yield Step(np.where(goes_on, attribute, -1), cut, np.where(goes_on, branch, -1), last, node)


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
