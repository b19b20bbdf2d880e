"""Optimal trees of small depth, grown from records within limits on their leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.defenses.method import CERTAIN
from maxent.models.defenses.optimal.costs import least_cost, weights_stated, with_costs
from maxent.models.defenses.optimal.places import ROUNDING, sensitive_classes
from maxent.models.defenses.optimal.subtree import NAME, Searched
from maxent.models.errors import InvalidInput, Problem
from maxent.models.release import Attribute, Branch, Defense, Induction, Release, Tree
from maxent.models.tables.training import Training
from maxent.models.trees.draft import Draft, Publish, depth_first, freeze

if TYPE_CHECKING:
    from maxent.models.defenses.optimal.limits import SubtreeLimits

# The binary splits that an optimal tree may consist of, and how many records of each class pairs of them hold.
#
# Every attribute is a block of values: the categories of one, and of numbers the ranges between cuts. A split sets one
# category apart from the others, or numbers up to a cut from those above it.

CUTS = 32  # cuts of a numeric attribute, at most: between quantiles where there are more values


@dataclass(frozen=True, slots=True)
class CandidateSplit:
    """A split of an attribute, by its number, into two branches."""

    attribute: int
    branches: tuple[Branch, Branch]


@dataclass(frozen=True, slots=True, eq=False)
class SplitBlock:
    """An attribute as values from 0 on, and the splits of it: after which value, or of which value from the others."""

    size: int
    cuts: bool
    splits: IntArray
    at: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class GrowingRecords:
    """Different records, as the splits of some blocks tell them apart."""

    blocks: tuple[SplitBlock, ...]
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

    def sides(self, split: int) -> tuple[GrowingRecords, GrowingRecords]:
        """The records that go the first way of a split, and the others."""
        (a,) = (a for a, block in enumerate(self.blocks) if split in block.splits)
        block = self.blocks[a]
        at = int(block.at[np.searchsorted(block.splits, split)])
        first = self.codes[:, a] <= at if block.cuts else self.codes[:, a] == at
        return (
            GrowingRecords(self.blocks, self.codes[first], self.counts[first]),
            GrowingRecords(self.blocks, self.codes[~first], self.counts[~first]),
        )

    def narrowed(self, least: int) -> GrowingRecords:
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
            blocks.append(SplitBlock(int(kept.sum()) + 1, block.cuts, block.splits[kept], at))
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


def records_of(training: Training) -> tuple[GrowingRecords, tuple[CandidateSplit, ...]]:
    """The records of training data, and all splits that tell some of them apart."""
    blocks: list[SplitBlock] = []
    columns: list[IntArray] = []
    splits: list[CandidateSplit] = []
    for a, (attribute, column) in enumerate(zip(training.attributes, training.columns, strict=True)):
        if attribute.values is None:
            cuts = _cuts(column)
            own = [CandidateSplit(a, (Branch(None, le=cut), Branch(None, gt=cut))) for cut in cuts.tolist()]
            at, size = np.arange(len(own)), len(own) + 1
            columns.append(np.searchsorted(cuts, column))
        else:
            present = np.unique(column)
            at = present if len(present) > 2 else present[:-1]
            own = [_apart(a, attribute, j) for j in at.tolist()]
            size = len(attribute.values)
            columns.append(np.asarray(column, np.int64))
        blocks.append(SplitBlock(size, attribute.values is None, np.arange(len(own)) + len(splits), at))
        splits += own
    counts = np.zeros((len(training), len(training.target.classes)))
    counts[np.arange(len(training)), training.y] = 1
    return _merged(tuple(blocks), np.column_stack(columns), counts), tuple(splits)


def _apart(number: int, attribute: Attribute, value: int) -> CandidateSplit:
    """One category against all others."""
    values = attribute.values or ()
    return CandidateSplit(
        number, (Branch(None, (values[value],)), Branch(None, tuple(v for v in values if v != values[value])))
    )


def _merged(blocks: tuple[SplitBlock, ...], codes: IntArray, counts: FloatArray) -> GrowingRecords:
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
    return GrowingRecords(blocks, codes[first], summed)


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


# The best tree of two splits below each other, from the people that pairs of splits hold: all at once.
#
# Demirović et al. (MurTree, JMLR 2022) count pairs of splits once for all trees of depth two; van der Linden et al.
# (STreeD, NeurIPS 2023) show which objectives allow it: those that are summed over leaves, as here.

# From people of each class, shape (n_classes, ...), to what they are worth as a leaf, -inf where it may not be
Worth = Callable[[FloatArray], FloatArray]

LEAF = -1


@dataclass(frozen=True, slots=True)
class Two:
    """A tree of depth two at most: its worth, the number of its split, and those of both branches; -1 for a leaf."""

    worth: float
    split: int = LEAF
    below: tuple[int, int] = (LEAF, LEAF)


def best_two(held: FloatArray, total: FloatArray, worth: Worth, *, splits_below: bool = True) -> Two:
    """The best tree of depth two at most; ``held`` are people who go the first way of both of two splits."""
    alone = Two(float(worth(total[:, None])[0]))
    n = held.shape[1]
    if not n:
        return alone
    first = np.einsum("xff->xf", held)
    other = total[:, None] - first
    ways = []
    for here, both in ((first, held), (other, first[:, None, :] - held)):
        if not splits_below:
            ways.append((worth(here), np.full(n, LEAF)))
            continue
        split = worth(both) + worth(here[:, :, None] - both)
        inner = split.argmax(axis=1)
        value, leaf = split[np.arange(n), inner], worth(here)
        ways.append((np.maximum(value, leaf), np.where(leaf >= value, LEAF, inner)))
    (value, inner), (value_other, inner_other) = ways
    top = int(np.argmax(value + value_other))
    reached = float(value[top] + value_other[top])
    if reached <= alone.worth:
        return alone
    return Two(reached, top, (int(inner[top]), int(inner_other[top])))


# Optimal trees of small depth: every split at the top, with bounds on what each side can still be worth.
#
# A tree of depth d is a split with a tree of depth d - 1 on either side; of depth two all are compared at once. A side
# is not looked into where what it can be worth at most, with what the other is, is no more than a tree that is known.
# Trees that are deeper than `PROVED` take their splits one by one from optimal trees that look so many splits ahead.
#
# References
# ----------
# Aglin, Nijssen and Schaus, "Learning optimal decision trees using caching branch-and-bound search", AAAI 2020 (DL8.5).

PROVED = 4  # splits above the deepest leaf, at most, of trees that are proved to be optimal
AHEAD = 3  # splits that others look ahead
Progress = Callable[[int, int], None]  # called with how many of the first splits are done, and how many there are


@dataclass(frozen=True, slots=True)
class GrownSubtree:
    """A tree: its worth, and its split with a tree on either side; -1 and none for a leaf."""

    worth: float
    split: int = LEAF
    sides: tuple[GrownSubtree, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """Looks for optimal trees; ``most`` is `worth` without limits, ``least`` the people that every leaf needs."""

    worth: Worth
    most: Worth
    least: int
    known: dict[tuple[bytes, int], tuple[GrownSubtree | None, float]] = field(default_factory=dict)

    def tree(self, records: GrowingRecords, depth: int, progress: Progress | None = None) -> GrownSubtree | None:
        """The best tree of this depth at most, None where none keeps the limits."""
        if depth <= PROVED:
            return self._best(records, depth, -np.inf, progress)
        ahead = self._best(records, AHEAD, -np.inf)
        if ahead is None or ahead.split == LEAF:
            return ahead
        sides = [
            max(filter(None, (self.tree(side, depth - 1), known)), key=lambda tree: tree.worth)
            for side, known in zip(records.sides(ahead.split), ahead.sides, strict=True)
        ]
        return GrownSubtree(sides[0].worth + sides[1].worth, ahead.split, tuple(sides))

    def _best(
        self, records: GrowingRecords, depth: int, least: float, progress: Progress | None = None
    ) -> GrownSubtree | None:
        """The best tree that is worth more than ``least``, None where there is none."""
        key = (records.codes.tobytes(), depth)
        found, searched = self.known.get(key, (None, np.inf))
        if found is None and least < searched:
            narrow = records.narrowed(self.least)
            if depth < 3:
                found = self._shallow(narrow, depth, least)
            elif depth == 3:
                found = self._three(narrow, least)
            else:
                found = self._more(narrow, depth, least, progress)
            self.known[key] = found, least
        return found if found is not None and found.worth > least else None

    def _shallow(self, records: GrowingRecords, depth: int, least: float) -> GrownSubtree | None:
        """The best tree of depth 0, 1 or 2."""
        total = records.total
        none = np.zeros((len(total), 0, 0))
        pairs = records.pairs() if depth else none
        two = best_two(pairs, total, self.worth, splits_below=depth > 1)
        return self._grown(two, pairs, total, records.splits) if two.worth > least else None

    def _three(self, records: GrowingRecords, least: float) -> GrownSubtree | None:
        """The best tree of depth 3: of every split, both sides from the people that pairs of splits hold there."""
        total, pairs, splits = records.total, records.pairs(), records.splits
        top = best_two(pairs, total, self.worth)
        best = self._grown(top, pairs, total, splits) if top.worth > least else None
        reached = max(least, top.worth)
        for attribute, block in enumerate(records.blocks):
            triples = records.triples(attribute) if len(block.splits) else None
            for split, at in zip(block.splits.tolist(), block.at.tolist(), strict=True):
                assert triples is not None
                first = triples[:, at]
                side = first[:, (splits == split).argmax(), (splits == split).argmax()]
                here = best_two(first, side, self.worth)
                rest = pairs - first
                there = best_two(rest, total - side, self.worth)
                if here.worth + there.worth > reached:
                    reached = here.worth + there.worth
                    sides = self._grown(here, first, side, splits), self._grown(there, rest, total - side, splits)
                    best = GrownSubtree(reached, split, sides)
        return best

    def _more(
        self, records: GrowingRecords, depth: int, least: float, progress: Progress | None
    ) -> GrownSubtree | None:
        """The best tree of depth 4 or more."""
        best = self._best(records, depth - 1, least)
        reached = least if best is None else best.worth
        order = self._order(records)
        for done, split in enumerate(order):
            if progress is not None:
                progress(done, len(order))
            sides = records.sides(split)
            small = int(len(sides[0]) > len(sides[1]))
            most = self._most(sides[1 - small])
            here = self._best(sides[small], depth - 1, reached - most)
            there = None if here is None else self._best(sides[1 - small], depth - 1, reached - here.worth)
            if here is not None and there is not None:
                reached = here.worth + there.worth
                best = GrownSubtree(reached, split, (there, here) if small else (here, there))
        return best

    def _order(self, records: GrowingRecords) -> list[int]:
        """Splits, the purest sides first."""
        total, first = records.total, np.einsum("xff->xf", records.pairs())
        purity = sum((side**2).sum(axis=0) / side.sum(axis=0) for side in (first, total[:, None] - first))
        return [int(split) for split in records.splits[np.argsort(-np.asarray(purity), kind="stable")]]

    def _most(self, records: GrowingRecords) -> float:
        """What no tree of these records is worth more than: every different record a leaf."""
        return float(self.most(records.counts.T).sum())

    def _grown(self, two: Two, pairs: FloatArray, total: FloatArray, splits: IntArray) -> GrownSubtree:
        """A tree of depth two with the worth of its parts."""
        if two.split == LEAF:
            return GrownSubtree(two.worth)
        first = pairs[:, two.split, two.split]
        both = pairs[:, two.split]
        sides = []
        for here, within, inner in (
            (first, both, two.below[0]),
            (total - first, np.einsum("xff->xf", pairs) - both, two.below[1]),
        ):
            if inner == LEAF:
                sides.append(GrownSubtree(self._leaf(here)))
                continue
            leaves = tuple(GrownSubtree(self._leaf(part)) for part in (within[:, inner], here - within[:, inner]))
            sides.append(GrownSubtree(leaves[0].worth + leaves[1].worth, int(splits[inner]), leaves))
        return GrownSubtree(two.worth, int(splits[two.split]), tuple(sides))

    def _leaf(self, counts: FloatArray) -> float:
        return float(self.worth(counts[:, None])[0])


DEPTH = 4  # splits above the deepest leaf unless asked for


def optimal_tree(
    training: Training,
    limits: SubtreeLimits,
    max_depth: int | None = None,
    progress: Progress | None = None,
    publish: Publish = "counts",
) -> Searched:
    """Grow the tree of binary splits that is best within limits on its leaves, of a depth of `DEPTH` unless asked for.

    Up to `PROVED` it is proved to be the best; deeper ones take their splits from optimal trees that look ahead, and
    ``most`` is then 1, or 0 of impurities and costs.
    """
    depth = DEPTH if max_depth is None else max_depth
    classes = training.target.classes
    limits = with_costs(limits, training.target)
    records, splits = records_of(training)
    sensitive = sensitive_classes(training.target, limits)
    worth, most = leaf_worth(
        limits, sensitive, exact=len(training) < 2**24, publish=publish, price=limits.complexity * len(training)
    )
    found = Search(worth, most, limits.k).tree(records, depth, progress)
    if found is None:
        whole = np.bincount(training.y, minlength=len(classes))
        told = f"the whole table as one leaf has {len(training):,} records, of which {whole.max():,} are of one class"
        expected = f"limits that a tree of depth {depth} keeps"
        raise InvalidInput("options", [Problem("limits", "leaves", expected, told)])
    drafts = _drafts(training, found, splits)
    nodes = freeze(drafts, classes)
    kept = {**limits.as_dict(), "objective": limits.objective, "max_depth": depth}
    release = Release(
        training.target, training.attributes, (Tree(nodes, Induction(NAME)),), defense=Defense(NAME, kept)
    )
    share = found.worth / len(training)
    reached = {"accuracy": share, "impurity": 1 - share, "cost": -share}[limits.objective]
    unknown = 1.0 if limits.objective == "accuracy" else 0.0
    return Searched(release, reached, reached if depth <= PROVED else unknown)


def leaf_worth(
    limits: SubtreeLimits, sensitive: IntArray, *, exact: bool = True, publish: Publish = "counts", price: float = 0.0
) -> tuple[Worth, Worth]:
    """What leaves are worth with limits, less the ``price`` of each in records, and what people are worth at most."""
    kind = np.float32 if exact and limits.objective == "accuracy" and not price else np.float64
    never = kind(-np.inf)
    share = min(each for each in (limits.max_posterior, limits.alpha, 1.0) if each is not None)

    def free(counts: FloatArray) -> FloatArray:
        if limits.objective == "accuracy":
            return np.asarray(reduce(np.maximum, counts))
        if limits.objective == "cost":
            by_class = np.moveaxis(counts.astype(np.float64), 0, -1)
            return -least_cost(by_class, weights_stated(by_class, by_class.argmax(axis=-1), publish), limits.cost)
        n = reduce(np.add, counts)
        return np.asarray(reduce(np.add, (each.astype(np.float64) ** 2 for each in counts)) / np.maximum(n, 1))

    def worth(counts: FloatArray) -> FloatArray:
        n = reduce(np.add, counts)
        kept = n >= limits.k
        if share < 1:
            kept &= reduce(np.maximum, counts[sensitive]) <= np.float64(share + ROUNDING) * n
        if limits.max_certain == 0:
            kept &= reduce(np.maximum, counts) < np.float64(CERTAIN) * n
        if limits.l is not None and limits.diversity == "distinct":
            kept &= reduce(np.add, (each > 0 for each in counts), 0) >= limits.l
        elif limits.l is not None:
            logs = (
                each * np.log(np.where(each > 0, each / np.maximum(n, 1), 1.0)) for each in counts.astype(np.float64)
            )
            kept &= -reduce(np.add, logs) >= (np.log(limits.l) - ROUNDING) * n
        return np.where(kept, free(counts) - np.float64(price) if price else free(counts), never)

    def most(counts: FloatArray) -> FloatArray:
        if limits.objective != "cost":
            return free(counts)
        by_class = np.moveaxis(counts, 0, -1)
        return -least_cost(by_class, by_class, limits.cost)  # as if all counts of every different record were stated

    return worth, most


def _drafts(training: Training, found: GrownSubtree, splits: tuple[CandidateSplit, ...]) -> list[Draft]:
    """The tree with its records, nodes before those below them."""
    drafts: list[Draft] = []
    stack: list[tuple[GrownSubtree, IntArray, int]] = [(found, np.arange(len(training)), -1)]
    while stack:
        tree, rows, above = stack.pop()
        counts = np.bincount(training.y[rows], minlength=len(training.target.classes))
        if above >= 0:
            drafts[above].children.append(len(drafts))
        drafts.append(Draft(counts, int(counts.argmax())))
        if tree.split == LEAF:
            continue
        split = splits[tree.split]
        drafts[-1].attribute, drafts[-1].branches = training.attributes[split.attribute].name, split.branches
        first = _goes_first(training, split, rows)
        at = len(drafts) - 1
        stack += [(tree.sides[1], rows[~first], at), (tree.sides[0], rows[first], at)]
    return depth_first(drafts)


def _goes_first(training: Training, split: CandidateSplit, rows: IntArray) -> BoolArray:
    """Which of the records take the first branch, shape (n_rows,)."""
    column, branch = training.columns[split.attribute][rows], split.branches[0]
    if branch.le is not None:
        return np.asarray(column <= branch.le)
    values = training.attributes[split.attribute].values or ()
    (value,) = branch.values or ("",)
    return np.asarray(column == values.index(value))
