"""Split comparisons: the chosen split of each inner node is at least as good as every other candidate.

Candidates are exactly those the inducer compared. One too many would be a constraint that the truth can violate, so
wherever the release does not say enough, a candidate is left out: that is sound, only weaker.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from maxent.constraints.kinds.context import Context, Kind
from maxent.constraints.program.cells import Cells
from maxent.constraints.program.program import Internal
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.defenses.registry import stated
from maxent.models.induction.split_scores import Intervals, breaching_cuts, too_small, union
from maxent.models.release import Attribute, Node, Tree
from maxent.models.trees.places import Places, branch_of_code

if TYPE_CHECKING:
    from maxent.models.tables.qi_table import QITable

# No cut is taken for granted between numbers that are closer, when compared in single precision. scikit-learn sees
# none where the larger is at most 1e-7 above the smaller, a sum that it rounds to single precision.
FEATURE_GAP = 2.0**-23


def internal(context: Context) -> Iterator[Internal]:
    """Every comparison that a chosen split won, for all trees; the context's impurity overrides the release's."""
    if context.sampled:
        return  # the tree was chosen on all records or on a sample: the counts of the sample decide nothing
    for t, tree in enumerate(context.release.trees):
        measure = context.impurity or tree.induction.impurity
        if measure is None or tree.induction.candidates == "none":
            continue
        yield from _of_tree(context, t, tree, measure)


@dataclass(frozen=True, slots=True, eq=False)
class _Present:
    """The values of an attribute in each inner node: a block per value present, sorted by node, then by code."""

    start: IntArray  # (n_nodes + 1,) first block of each node
    node: IntArray  # (n_blocks,)
    code: IntArray  # (n_blocks,)
    size: FloatArray  # (n_blocks,) individuals

    def first(self) -> BoolArray:
        """Mask of the first block of each node, shape (n_blocks,)."""
        first = np.zeros(len(self.code), bool)
        first[self.start[:-1]] = True
        return first

    def sums(self) -> tuple[FloatArray, FloatArray]:
        """Individuals of each block together with those before it in its node, and of its whole node."""
        up_to = np.concatenate([[0.0], np.cumsum(self.size)])  # whole numbers: exact
        before, after = up_to[self.start[:-1]], up_to[self.start[1:]]
        return up_to[1:] - before[self.node], (after - before)[self.node]


def _of_tree(context: Context, t: int, tree: Tree, measure: str) -> Iterator[Internal]:
    """The comparisons of the splits of a tree, by node depth-first, then by column."""
    candidates, least = tree.induction.candidates, max(tree.induction.min_samples_leaf, tree.induction.k)
    by_spans = context.members is None and tree.induction.k > 1 and stated(context.release).spans_decide
    places = _deciding(context, t, tree, measure, tree.induction.min_samples_leaf if by_spans else least)
    if not places:
        return
    spans = None
    if by_spans and not context.single:
        spans = FinalSpans(context.cells, context.table, t, tree.induction.k)
    used = _used_on_path(tree, context.cells.trees[t].places) if candidates in {"unused", "mixed"} else {}
    weight = context.cells.at_first(t, context.table.counts).astype(np.float64)
    nodes = {place: tree.nodes[place] for place in places}
    origins = {place: context.origin(t, node) for place, node in nodes.items()}
    found: list[tuple[int, int, str, IntArray]] = []
    for column, attribute in enumerate(context.table.attributes):
        if context.enough():
            break  # what is not compared is not known: sound, only weaker
        if not _competes(tree, attribute):
            continue
        multiway = attribute.type == "categorical" and candidates in {"unused", "mixed"}
        held, present = _present(context, t, column, weight, least)
        form, options = _multiway(present, least) if multiway else _binary(context, tree, column, present, least)
        bounds = np.searchsorted(present.node[options], np.arange(len(held) + 1))
        for i, place in enumerate(held.tolist()):
            if place not in places or (multiway and attribute.name in used[place]):
                continue
            codes = present.code[options[bounds[i] : bounds[i + 1]]]
            values = present.code[present.start[i] : present.start[i + 1]]
            codes = _others(context, nodes[place], column, form, codes, values)
            if spans is not None and len(codes) and np.isnan(context.sizes[t][place]):
                codes = spans.kept(place, column, form, codes)
            if len(codes):
                found.append((place, column, form, codes))
    for place, column, form, codes in sorted(found, key=lambda f: (places[f[0]], f[1])):
        yield Internal(
            origins[place],
            measure,
            t,
            place,
            nodes[place].attribute or "",
            context.table.attributes[column].name,
            column,
            form,  # type: ignore[arg-type]
            codes,
        )


def _others(context: Context, node: Node, column: int, form: str, options: IntArray, present: IntArray) -> IntArray:
    """Options of a node to split by an attribute, other than its own split; there is one for the form ``values``."""
    if form == "values":
        return np.zeros(min(len(options), 1), np.int64)
    if len(options) and node.attribute == context.table.attributes[column].name:
        return options[~_is_chosen(context, node, column, form, options, present)]
    return options


def _competes(tree: Tree, attribute: Attribute) -> bool:
    """Whether splits on an attribute are known to have been compared with those chosen."""
    # How missing numbers were divided while splits were compared differs from tool to tool.
    if attribute.missing:
        return False
    if attribute.type == "numeric" and tree.induction.candidates == "unused":
        return False
    return tree.induction.compared is None or attribute.name in tree.induction.compared


def _present(context: Context, t: int, column: int, weight: FloatArray, least: int) -> tuple[IntArray, _Present]:
    """Places of a tree that hold people, and the values of a column in each."""
    # ``weight`` are the individuals at the cells of the tree. A value in a place of unknown size has ``least``.
    sums = context.sums.by_value(t, column)
    unknown = np.isnan(context.sizes[t][sums.places])[sums.node]
    size = np.where(unknown, least, context.sums.counted(t, column, weight))
    return sums.places, _Present(sums.start, sums.node, sums.value, size)


def _deciding(context: Context, t: int, tree: Tree, measure: str, least: int) -> dict[int, int]:
    """The inner nodes whose chosen split tells something, numbered depth-first."""
    held = context.cells.trees[t]
    gappy = {attribute.name for attribute in context.release.attributes if attribute.missing}
    places: dict[int, int] = {}
    for number, place in enumerate(held.places.top_down):
        if place >= len(tree.nodes) or (node := tree.nodes[place]).is_leaf:
            continue
        if node.attribute in gappy:
            continue  # missing numbers may have been left out where it was compared
        if sum(held.stop[child] > held.start[child] for child in held.places.children[place]) < 2:
            continue  # the chosen split divides nobody in the table: it compares with nothing
        if _is_cut(context, tree, node) and len(node.branches) != 2:
            continue  # not a split that such an algorithm makes: what it was compared with is unknown
        if context.size(t, place) is None and (least > 1 or measure == "gain_ratio"):
            continue  # how a candidate would have divided the records is not a constant of the table
        private = any(a.name == node.attribute for a in context.release.private)
        if measure == "gain_ratio" and not context.single and private:
            continue  # the split information of the chosen split is not known
        places[place] = number
    return places


def _is_cut(context: Context, tree: Tree, node: Node) -> bool:
    """Whether the algorithm splits the attribute of a node in two."""
    numeric = any(a.name == node.attribute and a.type == "numeric" for a in context.release.attributes)
    return tree.induction.candidates == "thresholds" or (tree.induction.candidates == "mixed" and numeric)


def _used_on_path(tree: Tree, places: Places) -> dict[int, frozenset[str]]:
    """Attributes tested on the way to each inner node, its own included."""
    used: dict[int, frozenset[str]] = {}
    above: dict[int, frozenset[str]] = {0: frozenset()}
    for place in places.top_down:
        path = above.pop(place, frozenset())
        if place < len(tree.nodes) and not (node := tree.nodes[place]).is_leaf:
            here = path | {node.attribute or ""}
            used[place] = path if len(here) == len(path) else here
            above.update((child, used[place]) for child in places.children[place])
    return used


def _multiway(present: _Present, least: int) -> tuple[str, IntArray]:
    """One branch per value: a competitor when at least two values are present, each with ``least`` records."""
    # The option, one, is the first block of a node.
    smallest = np.minimum.reduceat(present.size, present.start[:-1])
    competes = (np.diff(present.start) >= 2) & (smallest >= least)
    return "values", present.start[:-1][competes]


def _binary(context: Context, tree: Tree, column: int, present: _Present, least: int) -> tuple[str, IntArray]:
    """Cuts (or single values) of an attribute that leave ``least`` records on both sides: blocks, increasing."""
    table, attribute = context.table, context.table.attributes[column]
    first, n_present = present.first(), np.diff(present.start)[present.node]
    left, total = present.sums()
    if attribute.type == "categorical" and tree.induction.encoding == "onehot":
        form, left = "each", present.size
        option = (n_present > 2) | (first & (n_present == 2))
    else:
        form = "cuts"
        option = np.append(~first[1:], False)  # not above the last value
        if attribute.type == "numeric" and not tree.induction.exact:
            seen = table.levels[column].astype(np.float32).astype(np.float64)[present.code]
            option &= np.append(np.diff(seen), 0.0) > FEATURE_GAP
    return form, np.flatnonzero(option & (left >= least) & (total - left >= least))


def _is_chosen(context: Context, node: Node, column: int, form: str, options: IntArray, present: IntArray) -> BoolArray:
    """Mask of the options that divide the values present in a node as its own split does."""
    attribute, levels = context.table.attributes[column], context.table.levels[column]
    branch = branch_of_code(attribute, node.branches, levels, present)
    same = np.zeros(len(options), bool)
    for side in (present[branch == i] for i in range(len(node.branches))):
        if form == "each":
            if len(side) == 1:
                same |= options == side[0]
            if len(side) == len(present) - 1:
                same |= ~np.isin(options, side)
        elif len(side) and side[0] == present[0] and np.array_equal(side, present[: len(side)]):
            same |= options == side[-1]
    return same


KIND = Kind(
    "internal",
    "choices of splits: the split that was chosen is no worse than each one it competed with",
    r"E(\Lambda, T) \le E(\Lambda, U) \quad \text{for the chosen split } T \text{ and every candidate } U",
    internal,
    "internal",
)


# Candidate splits that left every span with at least k people, found from the finished tree and the table.
#
# Splits of kADET (Friedman, Schuster and Wolff 2006) make spans finer and never coarser. So a candidate that divides
# the spans of the finished tree into parts of at least k people breached at no time: it was in the queue when its node
# was split, and lost.


class FinalSpans:
    """The people of a table by their spans in a tree (Definition 5), and what leaves fewer than k in a part of one."""

    def __init__(self, cells: Cells, table: QITable, tree: int, k: int) -> None:
        self._owner, self._held, self._table = cells.owner, cells.trees[tree], table
        self._breach = too_small(k)
        self._of = _span_of_owner(cells.owner, cells.leaf[:, tree])
        by_span = np.argsort(self._of, kind="stable")
        self._people = np.split(by_span, np.cumsum(np.bincount(self._of))[:-1])
        self._divided = cache(self._divide)

    def kept(self, place: int, column: int, form: str, options: IntArray) -> IntArray:
        """Options of a node to split by a public attribute that keep k-anonymity; one for the form ``values``."""
        spans = np.unique(self._of[self._owner[self._held.at(place)]]).tolist()
        divided = [self._divided(span, column) for span in spans]
        if form == "values":
            return options[:0] if any(breaches for breaches, _ in divided) else options
        start, stop = union([bad for _, bad in divided])
        outside = np.searchsorted(start, options, side="right") == np.searchsorted(stop, options, side="right")
        return np.asarray(options[outside])

    def _divide(self, span: int, column: int) -> tuple[bool, Intervals]:
        """Whether a span breaches when divided into all values of an attribute, and the cuts after which it does."""
        people = self._people[span]
        codes, place = np.unique(self._table.codes[people, column], return_inverse=True)
        size = np.bincount(place, weights=self._table.counts[people]).astype(np.int64)[:, None]
        return bool(self._breach(size).any()), breaching_cuts(codes, size, self._breach)


def _span_of_owner(owner: IntArray, leaf: IntArray) -> IntArray:
    """The number of the set of leaves of each owner, from the owner and the leaf of all cells; shape (n_owners,)."""
    pairs = np.unique(np.column_stack([owner, leaf]), axis=0)
    numbers: dict[bytes, int] = {}
    sets = np.split(pairs[:, 1], np.flatnonzero(np.diff(pairs[:, 0])) + 1)
    return np.array([numbers.setdefault(leaves.tobytes(), len(numbers)) for leaves in sets], np.int64)
