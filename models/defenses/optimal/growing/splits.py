"""The binary splits that an optimal tree may consist of, and how many records of each class pairs of them hold.

Every attribute is a block of values: the categories of one, and of numbers the ranges between cuts. A split sets one
category apart from the others, or numbers up to a cut from those above it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.release import Attribute, Branch
from maxent.models.tables.training import Training

CUTS = 32  # cuts of a numeric attribute, at most: between quantiles where there are more values


@dataclass(frozen=True, slots=True)
class Split:
    """A split of an attribute, by its number, into two branches."""

    attribute: int
    branches: tuple[Branch, Branch]


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """An attribute as values from 0 on, and the splits of it: after which value, or of which value from the others.

    ``splits`` are numbers of splits, and ``at`` the value of each, both increasing.
    """

    size: int
    cuts: bool
    splits: IntArray
    at: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Different records, as the splits of some blocks tell them apart.

    ``codes`` has shape (n, n_attributes), ``counts``, people of each class, (n, n_classes).
    """

    blocks: tuple[Block, ...]
    codes: IntArray
    counts: FloatArray

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def total(self) -> FloatArray:
        """People of each class, shape (n_classes,)."""
        return np.asarray(self.counts.sum(axis=0))

    @property
    def splits(self) -> IntArray:
        """The splits of all blocks, in the order of `held`."""
        return np.concatenate([np.empty(0, np.int64), *(block.splits for block in self.blocks)])

    def sides(self, split: int) -> tuple[Records, Records]:
        """The records that go the first way of a split, and the others."""
        (a,) = (a for a, block in enumerate(self.blocks) if split in block.splits)
        block = self.blocks[a]
        at = int(block.at[np.searchsorted(block.splits, split)])
        first = self.codes[:, a] <= at if block.cuts else self.codes[:, a] == at
        return (
            Records(self.blocks, self.codes[first], self.counts[first]),
            Records(self.blocks, self.codes[~first], self.counts[~first]),
        )

    def narrowed(self, least: int) -> Records:
        """The same records where only those splits are told apart that leave so many people on both sides."""
        people = self.counts.sum(axis=1)
        blocks, columns = [], []
        for block, codes in zip(self.blocks, self.codes.T, strict=True):
            held = np.bincount(codes, people, minlength=block.size)
            first = (np.cumsum(held) if block.cuts else held)[block.at]
            kept = (first >= least) & (people.sum() - first >= least)
            if block.cuts:  # a cut that leaves the same on both sides as the one before is none
                kept &= np.concatenate([[True], first[1:] > first[:-1]])[: len(kept)]
                new = np.searchsorted(block.at[kept], np.arange(block.size))
                at = np.arange(int(kept.sum()))
            else:
                new = np.full(block.size, int(kept.sum()))
                new[block.at[kept]] = at = np.arange(int(kept.sum()))
            blocks.append(Block(int(kept.sum()) + 1, block.cuts, block.splits[kept], at))
            columns.append(new[codes])
        return _merged(tuple(blocks), np.column_stack(columns) if columns else self.codes, self.counts)

    def pairs(self) -> FloatArray:
        """People of each class that go the first way of both of two splits, (n_classes, n_splits, n_splits)."""
        return self._paired(np.zeros(len(self), np.int64), 1)[:, 0]

    def triples(self, attribute: int) -> FloatArray:
        """The same for every value of an attribute, (n_classes, size, n_splits, n_splits): of cuts, up to it."""
        block = self.blocks[attribute]
        found = self._paired(self.codes[:, attribute], block.size)
        return np.cumsum(found, axis=1, out=found) if block.cuts else found

    def _paired(self, group: IntArray, groups: int) -> FloatArray:
        """People at pairs of splits by group, (n_classes, groups, n_splits, n_splits)."""
        sizes = [block.size for block in self.blocks]
        start = np.cumsum(sizes) - sizes
        n = sum(sizes)
        value = self.codes + start
        first, second = np.triu_indices(len(sizes))
        places = (value[:, first] * n + value[:, second] + (group * n**2)[:, None]).ravel()
        found = np.empty((self.counts.shape[1], groups, n, n), np.float32)  # whole numbers, exact up to 2**24
        for x, people in enumerate(self.counts.T):
            weights = np.repeat(people, len(first))
            found[x] = np.bincount(places, weights, minlength=groups * n**2).reshape(groups, n, n)
        for i, (s, block) in enumerate(zip(start.tolist(), self.blocks, strict=True)):
            here = slice(s, s + block.size)
            for other, t in zip(self.blocks[:i], start.tolist(), strict=False):
                found[..., here, t : t + other.size] = np.swapaxes(found[..., t : t + other.size, here], 2, 3)
        for s, block in zip(start.tolist(), self.blocks, strict=True):
            if block.cuts:
                here = slice(s, s + block.size)
                np.cumsum(found[..., here, :], axis=2, out=found[..., here, :])
                np.cumsum(found[..., here], axis=3, out=found[..., here])
        at = np.concatenate([s + block.at for s, block in zip(start, self.blocks, strict=True)])
        return np.asarray(found[..., at[:, None], at])


def records_of(training: Training) -> tuple[Records, tuple[Split, ...]]:
    """The records of training data, and all splits that tell some of them apart."""
    blocks: list[Block] = []
    columns: list[IntArray] = []
    splits: list[Split] = []
    for a, (attribute, column) in enumerate(zip(training.attributes, training.columns, strict=True)):
        if attribute.values is None:
            cuts = _cuts(column)
            own = [Split(a, (Branch(None, le=cut), Branch(None, gt=cut))) for cut in cuts.tolist()]
            at, size = np.arange(len(own)), len(own) + 1
            columns.append(np.searchsorted(cuts, column))
        else:
            present = np.unique(column)
            at = present if len(present) > 2 else present[:-1]
            own = [_apart(a, attribute, j) for j in at.tolist()]
            size = len(attribute.values)
            columns.append(np.asarray(column, np.int64))
        blocks.append(Block(size, attribute.values is None, np.arange(len(own)) + len(splits), at))
        splits += own
    counts = np.zeros((len(training), len(training.target.classes)))
    counts[np.arange(len(training)), training.y] = 1
    return _merged(tuple(blocks), np.column_stack(columns), counts), tuple(splits)


def _apart(number: int, attribute: Attribute, value: int) -> Split:
    """One category against all others."""
    values = attribute.values or ()
    return Split(number, (Branch(None, (values[value],)), Branch(None, tuple(v for v in values if v != values[value]))))


def _merged(blocks: tuple[Block, ...], codes: IntArray, counts: FloatArray) -> Records:
    """Records with the same codes as one."""
    key = np.zeros(len(codes), np.int64)
    for block, column in zip(blocks, codes.T, strict=True):
        if key.max(initial=0) > 2**62 // block.size:
            key = np.unique(key, return_inverse=True)[1]
        key = key * block.size + column
    _, first, row = np.unique(key, return_index=True, return_inverse=True)
    summed = np.stack([np.bincount(row, people, minlength=len(first)) for people in counts.T], axis=1).astype(
        np.float64
    )
    return Records(blocks, codes[first], summed)


def _cuts(column: npt.NDArray[np.float64]) -> FloatArray:
    """Cuts between the values of a column: all, or between quantiles."""
    values = np.unique(column)
    below = values[:-1]
    if len(below) > CUTS:
        spread = np.quantile(column, np.linspace(0, 1, CUTS + 2)[1:-1], method="lower")
        below = np.unique(spread[spread < values[-1]])
    above = values[np.searchsorted(values, below, side="right")]
    middle = below + (above - below) / 2
    return np.where(middle < above, middle, below)
