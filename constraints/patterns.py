"""Patterns of people: the possible combinations of leaves over all trees, and the stated counts as rows over them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from maxent.constraints.kinds.bootstrap import UNKNOWN, bounds_of_unknown, certain, draws_of, finest
from maxent.constraints.scored_rows import LeafNumbers, first_numbers, is_scored, scored_rows
from maxent.models.arguments import Noise
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.columns import positive_counts, total_count
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.release import Attribute, Branch, Node, Release, Tree
from maxent.models.trees.places import Interval, Places, interval_of, number_places
from maxent.models.trees.printed_rates import RateReader, release_rates

# Atoms: for each attribute, the sets of values that all branches of the release treat alike.
#
# A person's values are then one atom of each attribute. A *box* is a set of atoms of each, a bit for every atom, so
# that narrowing boxes to a branch is a single operation on the bits of all of them.

# Boxes, shape (n, n_words): of each the bits of its atoms.
Bits = npt.NDArray[np.uint64]
WORD = 64
# Cells of an attribute that nothing tests, and of numeric ones without a number.
ANYTHING, MISSING = "*", "(missing)"


@dataclass(frozen=True, slots=True)
class Atom:
    """Values that no branch tells apart: ``values`` of a categorical attribute, else numbers ``low < x <= high``."""

    values: tuple[str, ...] = ()
    interval: Interval | None = None

    def words(self) -> str:
        """The atom as the cell of a table: a value, a set ``A|B``, or an interval ``(0.5, 1.5]``."""
        if self.values:
            one = len(self.values) == 1
            return self.values[0] if one else "|".join(v.replace("\\", "\\\\").replace("|", "\\|") for v in self.values)
        if self.interval is None:
            return MISSING
        low, high = self.interval
        return f"({low:.17g}, {high:.17g}{')' if high == np.inf else ']'}"


@dataclass(frozen=True, eq=False)
class Atoms:
    """The atoms of all attributes of a release.

    ``start``, shape (n_attributes + 1,), the first bit of each attribute. ``tested``, shape (n_attributes,), whether
    any tree tests it.
    """

    attributes: tuple[Attribute, ...]
    of: tuple[tuple[Atom, ...], ...]
    start: IntArray
    tested: BoolArray

    @property
    def n_words(self) -> int:
        """Words of a box."""
        return int(-(-self.start[-1] // WORD))

    def box(self, atoms: Iterable[tuple[int, Iterable[int]]]) -> Bits:
        """A box of the given atoms of some attributes, and no atoms of the others, shape (n_words,)."""
        bits = np.zeros(self.n_words, np.uint64)
        for attribute, held in atoms:
            for atom in held:
                word, bit = divmod(int(self.start[attribute]) + atom, WORD)
                bits[word] |= np.uint64(1 << bit)
        return bits

    def everything(self, attributes: Iterable[int] | None = None) -> Bits:
        """The box of all atoms of some attributes, by default of all."""
        chosen = range(len(self.of)) if attributes is None else attributes
        return self.box((j, range(len(self.of[j]))) for j in chosen)

    def held(self, boxes: Bits, attribute: int) -> BoolArray:
        """Which atoms of an attribute boxes hold, shape (n, n_atoms)."""
        word, bit = np.divmod(np.arange(self.start[attribute], self.start[attribute + 1]), WORD)
        return ((boxes[:, word] >> bit.astype(np.uint64)) & np.uint64(1)).astype(bool)

    def taking(self, attribute: int, branch: Branch) -> list[int]:
        """The atoms of an attribute that take a branch."""
        return [a for a, atom in enumerate(self.of[attribute]) if _takes(atom, branch)]

    def code(self, attribute: int, levels: npt.NDArray[Any]) -> IntArray:
        """The atom of each of some values, categories or numbers (NaN: none), shape (n_levels,)."""
        atoms = self.of[attribute]
        if self.attributes[attribute].values is not None:
            number = {value: a for a, atom in enumerate(atoms) for value in atom.values}
            return np.array([number[value] for value in levels], np.int64)
        highest = [atom.interval[1] for atom in atoms if atom.interval is not None]
        found = np.searchsorted(np.array(highest), levels.astype(np.float64), side="left")
        return np.where(np.isnan(levels.astype(np.float64)), len(highest), found).astype(np.int64)


def _takes(atom: Atom, branch: Branch) -> bool:
    """Whether the values of an atom take a branch: all of them do, or none."""
    if branch.values is not None:
        return atom.values[0] in branch.values
    if atom.interval is None:
        return bool(branch.missing)
    low, high = interval_of(branch)
    return low <= atom.interval[0] and atom.interval[1] <= high


def atoms_of(release: Release) -> Atoms:
    """The atoms of a release."""
    branches: dict[str, list[tuple[Branch, ...]]] = {attribute.name: [] for attribute in release.attributes}
    for tree in release.trees:
        for node in tree.nodes:
            if node.attribute is not None:
                branches[node.attribute].append(node.branches)
    found = tuple(tuple(_atoms(attribute, branches[attribute.name])) for attribute in release.attributes)
    start = np.concatenate([[0], np.cumsum([len(atoms) for atoms in found])]).astype(np.int64)
    tested = np.array([bool(branches[attribute.name]) for attribute in release.attributes], bool)
    return Atoms(release.attributes, found, start, tested)


def _atoms(attribute: Attribute, splits: Sequence[tuple[Branch, ...]]) -> Iterator[Atom]:
    """The atoms of an attribute that is split so."""
    if attribute.values is not None:
        alike: dict[tuple[int, ...], list[str]] = {}
        taken = [{value: i for i, b in enumerate(branches) for value in b.values or ()} for branches in set(splits)]
        for value in attribute.values:
            alike.setdefault(tuple(number.get(value, -1) for number in taken), []).append(value)
        yield from (Atom(tuple(values)) for values in alike.values())
        return
    ends = {end for branches in splits for branch in branches for end in (branch.gt, branch.le) if end is not None}
    yield from (Atom(interval=interval) for interval in pairwise([-np.inf, *sorted(ends), np.inf]))
    if attribute.missing:
        yield Atom()


# Numbers of people stated by the nodes of a release: by class and in total, and the labels of majorities.

# The most people where nothing is stated. The most that a table can be made of.
MANY, ROWS = 1 << 40, 5_000_000
# No bound on a sum of coefficients.
FAR = 1 << 61


@dataclass(frozen=True, slots=True, eq=False)
class TreeCounts:
    """Statements of a tree about its places (nodes, then removed leaves).

    ``low``, ``high``, shape (n_places, n_classes), individuals of each class; `MANY` where nothing is stated.
    ``least``, ``most``, shape (n_places,), individuals of all classes together. ``label``, shape (n_places,), the class
    that no other one is more frequent than, -1 where that is not stated.
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
    def sized(self) -> BoolArray:
        """Places of which more is stated in total than class by class, shape (n_places,)."""
        open_ = (self.low < self.high).any(axis=1)
        return np.asarray(open_ & ((self.most < MANY) | (self.least > self.low.sum(axis=1))))

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


def stated_counts(
    release: Release, noise: Noise | None = None, confidence: float = 0.99, *, seeded: bool = False
) -> tuple[TreeCounts, ...]:
    """Statements of all trees of a release, which hold with this confidence where ``noise`` has intervals."""
    if release.sampling_rate < 1:
        raise invalid(
            "release", "release", "counts", "counts of all people: a table cannot be rebuilt from a sample", "a sample"
        )
    if release.sampled:
        found = tuple(_uncertain(release, tree, noise, confidence, seeded) for tree in release.trees)
        counted = any(node.noisy or node.counts for tree in release.trees for node in tree.nodes)
        if not counted:
            raise invalid("release", "trees", "counts", "counts of nodes", "none")
        return found
    reader = release_rates(release, None, "auto")
    found = tuple(_stated(release, number_places(tree), reader) for tree in release.trees)
    for said in first_numbers(release) if is_scored(release) else ():
        _narrow(found[said.tree], said)
    if not is_scored(release) and not any((tree.most < MANY).any() for tree in found):
        expected = "counts, or sizes n, of nodes: labels and rates alone do not say how many people there are"
        raise invalid("release", "trees", "counts", expected, "none")
    return found


def within_draws(
    release: Release, trees: tuple[TreeCounts, ...], individuals: int, confidence: float
) -> tuple[TreeCounts, ...]:
    """Statements about the people behind draws with the intervals that these leave, which hold with this confidence."""
    found = []
    for counts, (at, low, high) in zip(trees, bounds_of_unknown(release, individuals, 1 - confidence), strict=True):
        least, most = counts.low.copy(), counts.high.copy()
        least[at], most[at] = np.maximum(least[at], low), np.minimum(most[at], high)
        found.append(replace(counts, low=least, high=most, least=np.maximum(counts.least, least.sum(axis=1))))
    return tuple(found)


def _narrow(counts: TreeCounts, said: LeafNumbers) -> None:
    """Take in what a leaf of the first round of a boosted model says; the arrays are changed."""
    at, k = said.place, said.klass
    counts.least[at], counts.most[at] = max(counts.least[at], said.least), min(counts.most[at], said.most)
    counts.low[at, k], counts.high[at, k] = max(counts.low[at, k], said.low), min(counts.high[at, k], said.high)
    if counts.low.shape[1] == 2:
        counts.low[at, 1 - k] = max(counts.low[at, 1 - k], said.least - said.high)
        counts.high[at, 1 - k] = min(counts.high[at, 1 - k], said.most - said.low)


def _uncertain(release: Release, tree: Tree, noise: Noise | None, confidence: float, seeded: bool) -> TreeCounts:
    """What is certain of people, or draws, or, where intervals are asked for, as good as certain beside noise."""
    places, classes = number_places(tree), release.target.classes
    none = np.zeros((len(places), len(classes)), np.int64)
    found = TreeCounts(places, none, none + MANY, none[:, 0], none[:, 0] + MANY, np.full(len(places), -1, np.int64))
    if release.noise is not None:
        if noise != "intervals":
            return found
        many = sum(len(node.noisy or ()) for each in release.trees for node in each.nodes)
        far = release.noise.within((1 - confidence) / max(many, 1))
        published = noisy_numbers(tree, len(places), classes)
        told = ~np.isnan(published)
        low, high = none.copy(), none + MANY
        low[told] = np.maximum(np.ceil(published[told] - far), 0)
        high[told] = np.maximum(np.floor(published[told] + far), 0)
        return replace(found, low=low, high=high, least=low.sum(axis=1), most=np.minimum(high.sum(axis=1), MANY))
    drawn, distinct = draws_of(tree, places, classes)
    known = np.fromiter(finest(places, drawn[:, 0] != UNKNOWN), np.int64)
    low, least = none.copy(), none[:, 0].copy()
    if seeded:
        high = none + MANY
        low[known] = high[known] = drawn[known]
        return replace(found, low=low, high=high)
    low[known] = certain(drawn[known], distinct[known])[0]
    least[known] = np.maximum(low[known].sum(axis=1), distinct[known])
    return replace(found, low=low, least=least)


def noisy_numbers(tree: Tree, n_places: int, classes: tuple[str, ...]) -> FloatArray:
    """Counts with noise of the places of a tree, NaN where there is none; shape (n_places, n_classes)."""
    found = np.full((n_places, len(classes)), np.nan)
    for place, node in enumerate(tree.nodes):
        for x, name in enumerate(classes) if node.noisy else ():
            found[place, x] = (node.noisy or {}).get(name, np.nan)
    return found


def most_stated(release: Release, counts: TreeCounts) -> int:
    """How many noisy counts of a tree one person is in at most."""
    places = counts.places
    told = ~np.isnan(noisy_numbers(places.tree, len(places), release.target.classes))
    many = told.astype(np.int64)
    for level in places.levels[1:]:
        many[level] += many[places.parent[level]]
    return int(many.max(initial=0))


@dataclass(frozen=True, slots=True, eq=False)
class Uncertain:
    """Numbers that are no equations: a row of ``matrix``, shape (n_rows, n_patterns), has the people that each is of.

    ``published``: with noise; NaN of draws. ``drawn``, ``distinct``: draws, and different people among them, 0 where
    these are not counted by class. Shapes (n_rows,).
    """

    matrix: sparse.csr_matrix
    published: FloatArray
    drawn: FloatArray
    distinct: FloatArray


def uncertain_numbers(release: Release, patterns: Patterns, trees: tuple[TreeCounts, ...]) -> Uncertain:
    """Counts with noise, or the finest draws, of all trees."""
    row, column, numbers, begin = [], [], [], 0
    n_classes = len(release.target.classes)
    for t, (tree, counts) in enumerate(zip(release.trees, trees, strict=True)):
        places, n_places = counts.places, len(counts.places)
        drawn: FloatArray = np.zeros((n_places, n_classes))
        distinct = drawn
        published = noisy_numbers(tree, n_places, release.target.classes)
        told = ~np.isnan(published)
        if release.noise is None:
            of_place, different = draws_of(tree, places, release.target.classes)
            told[np.fromiter(finest(places, of_place[:, 0] != UNKNOWN), np.int64)] = True
            drawn = np.where(told, of_place, 0).astype(np.float64)
            alone = (drawn > 0).sum(axis=1) == 1
            by_class = np.where(alone & (different != UNKNOWN), different, 0)
            distinct = np.where(drawn > 0, by_class[:, None], 0).astype(np.float64)
        number = np.full((n_places, n_classes), -1)
        number[told] = begin + np.arange(int(told.sum()))
        numbers.append((published[told], drawn[told], distinct[told]))
        begin += int(told.sum())
        at = patterns.leaf[:, t].astype(np.int64)
        while (at >= 0).any():
            of = np.where(at >= 0, number[at, patterns.klass], -1)
            row.append(of[of >= 0])
            column.append(np.flatnonzero(of >= 0))
            at = np.where(at >= 0, places.parent[at], -1)
    rows, columns = np.concatenate(row), np.concatenate(column)
    matrix = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(begin, len(patterns)))
    return Uncertain(matrix, *(np.concatenate(each).astype(np.float64) for each in zip(*numbers, strict=True)))


def unused(release: Release) -> tuple[str, ...]:
    """Sentences about statements of a release that rebuilt tables do not use."""
    nodes = [node for tree in release.trees for node in tree.nodes]
    found = []
    if release.sampled and any(node.label is not None for node in nodes):
        found.append("labels and rates of draws, or beside noise, say nothing certain and are not used")
    if any(tree.induction.impurity is not None and tree.induction.candidates != "none" for tree in release.trees):
        found.append("choices of splits are not used")
    if any((node.error_rate is not None or node.rates is not None) and _size(node) is None for node in nodes):
        found.append("rates of nodes that state neither counts nor n are not used")
    if is_scored(release):
        found.append("values of leaves are taken for those of all people, each once, as the formula of the tool has it")
    elif any(each is not None for node in nodes for each in (node.value, node.hessian, node.mean, node.variance)):
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
            (few,), (many,) = release.behind(np.array([node.n]), sizes=True)
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


# Possible patterns of people: every possible combination of leaves over all trees.
#
# A pattern belongs to a class and to an *owner*, people about whom the same is known. Boxes of values go down one tree
# after the other; whatever comes to a leaf that states nobody of the class is dropped at once. So there are far fewer
# patterns than combinations of values: where trees were grown in full, only those on which all trees agree.

# Patterns of a class beyond which a sample of the likelier ones is gone on with; the same where there is no time.
MOST, HASTY = 150_000, 2_000


@dataclass(frozen=True, slots=True, eq=False)
class Patterns:
    """All patterns: pattern i is of class ``klass[i]`` and owner ``owner[i]``, with its leaf (a place) in each tree.

    ``owner``, ``klass``, shape (n,). ``leaf``, shape (n, n_trees). ``box``, shape (n, n_words), the atoms that lead
    there. ``complete``: whether these are all that are possible.
    """

    owner: IntArray
    klass: IntArray
    leaf: IntArray
    box: Bits
    complete: bool

    def __len__(self) -> int:
        return len(self.owner)


@dataclass(frozen=True, slots=True, eq=False)
class LeafGroups:
    """Boxes on their way through the trees: people of any class who are in the same leaves of the first ones."""

    owner: IntArray
    box: Bits
    leaf: IntArray

    def __len__(self) -> int:
        return len(self.owner)

    def of(self, held: BoolArray | IntArray) -> LeafGroups:
        """Some of them."""
        return LeafGroups(self.owner[held], self.box[held], self.leaf[held])

    @staticmethod
    def first(start: Bits) -> LeafGroups:
        """Before the first tree; ``start``, shape (n_owners, n_words)."""
        return LeafGroups(np.arange(len(start)), start, np.empty((len(start), 0), np.int32))

    def down(self, atoms: Atoms, tree: TreeCounts) -> LeafGroups:
        """Those behind one more tree."""
        row, leaf, box = _Route(atoms, tree).down(self.box, None)
        return LeafGroups(self.owner[row], box, np.column_stack([self.leaf[row], leaf]))

    def patterns(self, trees: tuple[TreeCounts, ...]) -> tuple[Patterns, IntArray]:
        """The patterns of each class that may have people, behind ``trees``, and the group of each pattern."""
        n_classes = trees[0].low.shape[1]
        group, klass = np.divmod(np.arange(len(self) * n_classes), n_classes)
        keep = np.ones(len(group), bool)
        for t, tree in enumerate(trees):
            keep &= _possible(tree)[self.leaf[group, t], klass]
        group, klass = group[keep], klass[keep]
        return Patterns(self.owner[group], klass, self.leaf[group], self.box[group], True), group


def patterns_of(
    atoms: Atoms,
    trees: tuple[TreeCounts, ...],
    start: Bits,
    rng: np.random.Generator,
    *,
    most: int = MOST,
    late: Callable[[], bool] = lambda: False,
) -> Patterns:
    """Every pattern that people can have, from the box of values that is possible for each owner.

    Of more than ``most`` of a class those gone on with are drawn; ``late``: there is no time for more than `HASTY`.
    """
    routes = [_Route(atoms, tree) for tree in trees]
    found, complete = [], True
    for klass in range(trees[0].low.shape[1]):
        box, steps = start, []
        for t, route in enumerate(routes):
            row, leaf, box = route.down(box, klass)
            steps.append((row, leaf))
            allowed = max(min(most, HASTY), len(start)) if late() else max(most, len(start))
            if len(row) > allowed:
                complete = False
                keep = _likelier(atoms, trees[: t + 1], _behind(steps, box), klass, allowed, rng)
                steps[-1], box = (row[keep], leaf[keep]), box[keep]
        found.append(_behind(steps, box))
    patterns = Patterns(
        np.concatenate([rows.owner for rows in found]),
        np.repeat(np.arange(len(found)), [len(rows.owner) for rows in found]),
        np.concatenate([rows.leaf for rows in found]),
        np.concatenate([rows.box for rows in found]),
        complete,
    )
    return _with_everybody(patterns, atoms, trees, start)


def _behind(steps: list[tuple[IntArray, IntArray]], box: Bits) -> LeafGroups:
    """Boxes with their leaves; ``steps``: for each tree, the box that each came from, and the leaf that it is in."""
    leaf: Any = np.empty((len(box), len(steps)), np.int32)
    at: IntArray = np.arange(len(box))
    for t, (row, of) in reversed(list(enumerate(steps))):
        leaf[:, t], at = of[at], row[at]
    return LeafGroups(at, box, leaf)


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
        box, steps = first, []
        for route in routes:
            row, leaf, box = route.down(box, klass)
            steps.append((row, leaf))
        rows = _behind(steps, box)
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

    def down(self, boxes: Bits, klass: int | None) -> tuple[IntArray, IntArray, Bits]:
        """The part of every box in each leaf that may have people of a class, None: of any: which box, leaf, part."""
        chosen = self.possible.any(axis=1) if klass is None else self.possible[:, klass]
        possible: BoolArray = np.asarray(chosen, bool)
        children = self.places.children
        ended: list[tuple[int, IntArray, Bits]] = []
        stack = [(0, np.arange(len(boxes)), boxes)] if possible[0] else []
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
        leaf: Any = np.repeat(np.array([p for p, _, _ in ended], np.int32), [len(r) for _, r, _ in ended])
        return row, leaf, np.concatenate([boxes[:0], *(box for _, _, box in ended)])


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
    atoms: Atoms, trees: tuple[TreeCounts, ...], rows: LeafGroups, klass: int, most: int, rng: np.random.Generator
) -> IntArray:
    """A sample of rows, without replacement, each drawn by how many people each tree by itself leads to expect."""
    size = log_share(atoms, rows.box)
    expected = np.zeros(len(size))
    for t, counts in enumerate(trees):
        leaf = rows.leaf[:, t]
        held = np.bincount(leaf, np.exp(size), len(counts.places))
        people = np.minimum(counts.high[:, klass], counts.most).clip(1)
        expected += np.log(people[leaf]) - np.log(held[leaf])
    keys = size + expected / len(trees) + rng.gumbel(size=len(size))
    return np.asarray(np.sort(np.argpartition(-keys, most)[:most]), np.int64)


def log_share(atoms: Atoms, box: Bits) -> FloatArray:
    """The logarithm of the share of all combinations of atoms that each box holds, shape (n,)."""
    total = np.zeros(len(box))
    for j, of in enumerate(atoms.of):
        if len(of) > 1:
            total += np.log(atoms.held(box, j).sum(axis=1) / len(of))
    return total


@dataclass(frozen=True, slots=True, eq=False)
class System:
    """``low <= matrix @ people <= high``; ``people``, shape (n_patterns,), are whole numbers.

    ``matrix``, shape (n_rows, n_patterns), has ones, in rows about labels a -1 for people of another class, and whole
    coefficients in those about values of boosted leaves. No two rows are the same.
    """

    matrix: sparse.csr_matrix
    low: IntArray
    high: IntArray

    def missed(self, people: IntArray) -> IntArray:
        """By how many people each row is missed, shape (n_rows,)."""
        value = self.matrix @ people
        return np.asarray(np.maximum(np.maximum(self.low - value, value - self.high), 0), np.int64)


def system_of(
    patterns: Patterns, trees: tuple[TreeCounts, ...], weight: IntArray, scored: Release | None = None
) -> System:
    """The rows about some patterns; ``weight``, shape (n_owners,), are the individuals of each owner."""
    book = _PatternRows(len(patterns))
    if len(weight) > 1 or not any(tree.exact and tree.total == weight[0] for tree in trees):
        order = np.argsort(patterns.owner, kind="stable")
        ends = np.searchsorted(patterns.owner[order], np.arange(len(weight) + 1))
        for owner, people in enumerate(weight.tolist()):
            book.add(np.sort(order[ends[owner] : ends[owner + 1]]), people, people)
    for t, counts in enumerate(trees):
        _of_tree(book, patterns, t, counts)
    for row in scored_rows(scored, patterns.leaf, patterns.klass, int(weight.sum())) if scored is not None else ():
        book.add(row.held, -FAR, row.high, row.least)
        book.add(row.held, row.low, FAR, row.most)
    return book.system()


def _of_tree(book: _PatternRows, patterns: Patterns, t: int, counts: TreeCounts) -> None:
    """The rows of a tree. Those of inner nodes are left out where its leaves imply them."""
    places, n_classes = counts.places, counts.low.shape[1]
    rank, n_ranks = places.first[patterns.leaf[:, t]], int(places.last[0])
    key = patterns.klass * n_ranks + rank
    order = np.argsort(key, kind="stable")
    key = key[order]
    implied = _implied(counts)
    for x in range(n_classes):
        first = np.searchsorted(key, x * n_ranks + places.first)
        last = np.searchsorted(key, x * n_ranks + places.last)
        for place in np.flatnonzero(~implied[:, x] & ((counts.low[:, x] > 0) | (counts.high[:, x] < MANY))).tolist():
            low, high = int(counts.low[place, x]), int(counts.high[place, x])
            book.add(np.sort(order[first[place] : last[place]]), low, high)
    by_rank = np.argsort(rank, kind="stable")
    first, last = np.searchsorted(rank[by_rank], (places.first, places.last))
    for place in np.flatnonzero((counts.label >= 0) & (last > first)).tolist():
        held = np.sort(by_rank[first[place] : last[place]])
        klass, label = patterns.klass[held], int(counts.label[place])
        for x in range(n_classes):
            if x != label:
                own = (klass == x) | (klass == label)
                book.add(held[own], 0, MANY, np.where(klass[own] == label, 1, -1))
    sized = ~implied.all(axis=1) & counts.sized
    for place in np.flatnonzero(sized).tolist():
        held = np.sort(by_rank[first[place] : last[place]])
        book.add(held, int(counts.least[place]), int(counts.most[place]))


def _implied(counts: TreeCounts) -> BoolArray:
    """Whether exact counts of the leaves imply the statements of each inner place and class."""
    places = counts.places
    exact = counts.low == counts.high
    inner = np.zeros(exact.shape, bool)
    for place in reversed(places.top_down):
        below = list(places.children[place])
        if below:
            inner[place] = exact[place] = exact[below].all(axis=0)
    return inner


class _PatternRows:
    """Collects rows. Rows that differ only in their bounds become one row."""

    def __init__(self, n_patterns: int) -> None:
        self.n_patterns = n_patterns
        self.number: dict[tuple[bytes, bytes], int] = {}
        self.held: list[IntArray] = []
        self.sign: list[IntArray] = []
        self.low: list[int] = []
        self.high: list[int] = []

    def add(self, held: IntArray, low: int, high: int, sign: IntArray | None = None) -> None:
        if not len(held) and low <= 0 <= high:
            return
        number = self.number.setdefault((held.tobytes(), b"" if sign is None else sign.tobytes()), len(self.held))
        if number == len(self.held):
            self.held.append(held)
            self.sign.append(np.ones(len(held), np.int64) if sign is None else sign)
            self.low.append(low)
            self.high.append(high)
        else:
            self.low[number], self.high[number] = max(self.low[number], low), min(self.high[number], high)

    def system(self) -> System:
        ends = np.concatenate([[0], np.cumsum([len(held) for held in self.held])]).astype(np.int64)
        indices, data = (np.concatenate([np.empty(0, np.int64), *each]) for each in (self.held, self.sign))
        matrix = sparse.csr_matrix((data, indices, ends), shape=(len(self.held), self.n_patterns))
        return System(matrix, np.array(self.low, np.int64), np.array(self.high, np.int64))
