"""Fast reader of sound `maxent/1` documents: msgspec decodes into arrays, a million nodes in a second.

What is not as it should be, in the least, is left to `maxent.models.formats.maxent_json.parse`, which says what it is.
msgspec checks types, unknown keys and numbers that are too large. It lets repeated keys pass: the last one counts. So
keys are counted: a document has a colon for each key, and those in its strings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Annotated, Any

import msgspec
import numpy as np

from maxent.models.arguments import LARGEST_COUNT
from maxent.models.arrays import BoolArray, FloatArray, IntArray, ranges, run_ends
from maxent.models.columns import NOTHING, Columns, Statements
from maxent.models.errors import InvalidInput, Problem
from maxent.models.files.json_files import json_object, uncollected
from maxent.models.formats.maxent_json.check_tree import Publication, allowed_off, disagreements
from maxent.models.formats.maxent_json.parse import (
    Fields,
    Names,
    answer_problems,
    draw_problems,
    parse_head,
    parse_tree_head,
)
from maxent.models.nodes import Nodes
from maxent.models.release import Content, Tree

# Nodes as they are written in a document, and the arrays of them.

_NAN = float("nan")

_Id = Annotated[str, msgspec.Meta(min_length=1)]
_Whole = Annotated[int, msgspec.Meta(ge=0, le=LARGEST_COUNT)]
_Rate = Annotated[float, msgspec.Meta(ge=0, le=1)]


# A key that is not there has a default that no sound document states; one that states it has more colons than keys.
class _WrittenBranch(msgspec.Struct, gc=False, frozen=True, forbid_unknown_fields=True):
    """A branch as it is written."""

    child: str | None
    values: tuple[str, ...] = msgspec.field(default=(), name="in")
    le: float = _NAN
    gt: float = _NAN
    missing: bool = NOTHING  # type: ignore[assignment]


class WrittenNode(msgspec.Struct, gc=False, frozen=True, forbid_unknown_fields=True):
    """A node as it is written."""

    id: _Id
    attribute: str = ""
    branches: tuple[_WrittenBranch, ...] = ()
    label: str = ""
    error_rate: _Rate = _NAN
    n: _Whole = NOTHING
    distinct: _Whole = NOTHING
    counts: dict[str, _Whole] | None = None
    value: float = _NAN
    part_of: str = ""


class Doubtful(LookupError):
    """Something may be wrong with a document; nowhere shown."""


@dataclass(frozen=True, slots=True)
class Codes:
    """Numbers of names: ``colons_of_*`` are the colons in each, with a 0 at the end for `NOTHING`."""

    attributes: Mapping[str, int]
    classes: Mapping[str, int]
    values: tuple[Mapping[str, int] | None, ...]
    colons_of_attributes: IntArray
    colons_of_classes: IntArray
    colons_of_values: tuple[IntArray, ...]

    @classmethod
    def of(cls, content: Content) -> Codes:
        """The numbers that the head of a document gives."""

        def numbered(names: Iterable[str]) -> dict[str, int]:
            return {name: i for i, name in enumerate(names)}

        def colons(names: Iterable[str]) -> IntArray:
            return np.array([*(name.count(":") for name in names), 0], np.int64)

        titles = [attribute.name for attribute in content.attributes]
        domains = [attribute.values for attribute in content.attributes]
        return cls(
            numbered(titles) | {"": NOTHING},
            numbered(content.target.classes) | {"": NOTHING},
            tuple(None if domain is None else numbered(domain) for domain in domains),
            colons(titles),
            colons(content.target.classes),
            tuple(colons(domain or ()) for domain in domains),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Nodes as columns, as those of `Columns` and `Statements`; ``n_*`` in place of where runs end."""

    tree_ends: IntArray
    ids: list[str]
    children: list[str | None]
    attribute: IntArray
    n_branches: IntArray
    le: FloatArray
    gt: FloatArray
    missing: IntArray
    n_values: IntArray
    values: IntArray
    value: FloatArray
    label: IntArray
    rate: FloatArray
    n: IntArray
    distinct: IntArray
    counted: BoolArray
    n_counts: IntArray
    count_class: IntArray
    count: IntArray
    parts: list[str]
    keys: int
    colons: int


def _codes(names: Iterable[str], codes: Mapping[str, int], size: int) -> IntArray:
    """The numbers of names, `NOTHING` for empty ones; LookupError for one that has none."""
    return np.fromiter(map(codes.__getitem__, names), np.int64, size)


def _wholes(values: Sequence[int], size: int) -> IntArray:
    """Whole numbers, most often `NOTHING` everywhere: none at all stand for so many of it."""
    if values.count(NOTHING) == len(values):
        return np.broadcast_to(np.int64(NOTHING), (size,))
    return np.fromiter(values, np.int64, size)


def _reals(values: Sequence[float], size: int) -> FloatArray:
    """Numbers, often NaN everywhere, as `_wholes`: the default of what is written, one and the same object."""
    if values.count(_NAN) == len(values):
        return np.broadcast_to(np.nan, (size,))
    return np.fromiter(values, np.float64, size)


def _lengths(lists: Sequence[Sequence[object] | Mapping[str, int]]) -> IntArray:
    return np.fromiter(map(len, lists), np.int64, len(lists))


def _counts(held: Sequence[dict[str, int]], codes: Codes) -> tuple[IntArray, IntArray, IntArray]:
    """How many counts nodes state that state some, shape (n_held,), and their classes and values, node by node."""
    lengths = _lengths(held)
    size = int(lengths.sum())
    classes = _codes(chain.from_iterable(held), codes.classes, size)
    return lengths, classes, np.fromiter(chain.from_iterable(map(dict.values, held)), np.int64, size)


def batch_of(nodes: Sequence[WrittenNode], tree_ends: list[int], codes: Codes) -> Batch:
    """Nodes as columns."""
    size = len(nodes)
    attribute = _codes([node.attribute for node in nodes], codes.attributes, size)
    labels = [node.label for node in nodes]
    label = _codes(labels, codes.classes, size) if any(labels) else np.full(size, NOTHING)
    n = _wholes([node.n for node in nodes], size)
    rate = _reals([node.error_rate for node in nodes], size)
    distinct = _wholes([node.distinct for node in nodes], size)
    value = _reals([node.value for node in nodes], size)
    parts = [node.part_of for node in nodes]
    below = [node.branches for node in nodes]
    branches = list(chain.from_iterable(below))
    n_branches = _lengths(below)
    counts = [node.counts for node in nodes]
    held = [each for each in counts if each is not None]
    counted = np.array([each is not None for each in counts], bool)
    n_counts = np.zeros(size, np.int64)
    n_counts[counted], count_class, count = _counts(held, codes)
    stated = len(count)
    le = _reals([branch.le for branch in branches], len(branches))
    gt = _reals([branch.gt for branch in branches], len(branches))
    missing = _wholes([branch.missing for branch in branches], len(branches))
    lists = [branch.values for branch in branches]
    n_values = _lengths(lists)
    tested = np.repeat(attribute, n_branches)
    values, colons = _values(lists, n_values, tested, codes)
    if (count_class == NOTHING).any():
        raise Doubtful
    inner, rated, labelled, scored = attribute != NOTHING, ~np.isnan(rate), label != NOTHING, ~np.isnan(value)
    lowest, highest, told = ~np.isnan(gt), ~np.isnan(le), missing != NOTHING
    keys = (size, 2 * inner.sum(), labelled.sum(), rated.sum(), (n != NOTHING).sum(), counted.sum(), stated)
    more = (scored.sum(), (distinct != NOTHING).sum(), sum(map(bool, parts)))
    keys_below = (len(branches), (n_values > 0).sum(), lowest.sum(), highest.sum(), told.sum())
    colons += int(codes.colons_of_attributes[attribute].sum() + codes.colons_of_classes[label].sum())
    colons += int(codes.colons_of_classes[count_class].sum())
    colons += sum(part.count(":") for part in parts)
    some = count > 0
    return Batch(
        np.array(tree_ends, np.int64),
        [node.id for node in nodes],
        [branch.child for branch in branches],
        attribute,
        n_branches,
        le,
        gt,
        missing,
        n_values,
        values,
        value,
        label,
        rate,
        n,
        distinct,
        counted,
        np.bincount(np.repeat(np.arange(size), n_counts)[some], minlength=size),
        count_class[some],
        count[some],
        parts,
        sum(map(int, (*keys, *more, *keys_below))),
        colons,
    )


def _values(lists: Sequence[Sequence[str]], n_values: IntArray, tested: IntArray, codes: Codes) -> tuple[IntArray, int]:
    """The numbers of the values of branches that test these attributes, and the colons in them."""
    ends, colons = run_ends(n_values), 0
    found = np.zeros(ends[-1], np.int64)
    if not len(found):
        return found, 0
    for j in np.unique(tested).tolist():
        at = np.flatnonzero(tested == j)
        domain, size = codes.values[j], int(n_values[at].sum())
        if domain is not None:
            here = _codes(chain.from_iterable(lists[b] for b in at.tolist()), domain, size)
            found[ranges(ends[at], ends[at + 1])] = here
            colons += int(codes.colons_of_values[j][here].sum())
    return found, colons


def joined(batches: Sequence[Batch]) -> Batch:
    """All batches as one."""
    if not batches:
        raise Doubtful
    found: dict[str, Any] = {}
    before = run_ends(np.array([len(batch.ids) for batch in batches]))
    ends = [np.zeros(1, np.int64), *(batch.tree_ends + start for batch, start in zip(batches, before, strict=False))]
    for key in Batch.__slots__:
        parts = [getattr(batch, key) for batch in batches]
        if isinstance(parts[0], list):
            found[key] = list(chain.from_iterable(parts))
        else:
            found[key] = sum(parts) if isinstance(parts[0], int) else np.concatenate(parts)
    return Batch(**found | {"tree_ends": np.concatenate(ends)})


def _positions(ids: list[str], children: list[str | None]) -> IntArray:
    """The position of each child among ids that are all different, `NOTHING` for None; LookupError where there is none.

    By the order of hashes: a dictionary of millions of texts, in no order, takes four times as long.
    """
    hashes = np.fromiter(map(hash, ids), np.int64, len(ids))
    in_order = children == ids[1:]  # level by level, as many tools write them
    order = np.arange(len(ids)) if in_order else np.argsort(hashes)
    hashes = np.sort(hashes) if in_order else hashes[order]
    if (hashes[1:] == hashes[:-1]).any():
        raise Doubtful
    if in_order:
        return order[1:]
    found = np.full(len(children), NOTHING)
    led = np.flatnonzero([child is not None for child in children])
    kids = [child for child in children if child is not None]
    sought = np.fromiter(map(hash, kids), np.int64, len(kids))
    turn = np.argsort(sought)
    at = np.minimum(np.searchsorted(hashes, sought[turn]), len(ids) - 1)
    found[led[turn]] = order[at]
    if list(map(ids.__getitem__, found[led].tolist())) != kids:
        raise Doubtful
    return found


def linked(content: Content, names: Names, read: Batch) -> Columns:
    """All nodes as columns, with children by their positions."""
    branch_ends = run_ends(read.n_branches)
    below = branch_ends[read.tree_ends].tolist()
    child = np.empty(len(read.children), np.int64)
    ids: list[str] = []
    shared: dict[str, str] = {}
    several = len(below) > 2
    for tree, (begin, end) in enumerate(pairwise(read.tree_ends.tolist())):
        own = read.ids[begin:end]
        first, last = below[tree], below[tree + 1]
        at = _positions(own, read.children[first:last])
        child[first:last] = np.where(at == NOTHING, NOTHING, at + begin)
        # Trees of a forest name their nodes alike, as a rule.
        ids += map(shared.setdefault, own, own) if several else own
    said = Statements(
        read.label,
        read.rate,
        read.n,
        read.distinct,
        read.counted,
        run_ends(read.n_counts),
        read.count_class,
        read.count,
    )
    return Columns(
        content.attributes,
        names.no_records,
        ids,
        read.attribute,
        branch_ends,
        child,
        read.le,
        read.gt,
        read.missing,
        run_ends(read.n_values),
        read.values,
        read.value,
        said,
        parts=[part or None for part in read.parts] if any(read.parts) else (),
    )


# Whether the numbers of nodes held as arrays agree: within a node, with its children's, between trees.
#
# Vectorised over the nodes of all trees, six times as fast as `maxent.models.formats.maxent_json.check_tree`: what is
# not sure to be sound is left to that, which words what is wrong, of nodes of which parts could not be read and of
# trees of any depth (a level takes 0.1 ms here).

MOST_CELLS = 200_000_000  # nodes times classes that are looked at in all
TOGETHER = 8  # classes that are looked at together, at least

# Nodes times classes that are looked at together where nodes are few: a long chain is walked once for many classes
CELLS_TOGETHER = 1_000_000

_SURE = 1e-9


def sound_numbers(nodes: Columns, tree_ends: IntArray, levels: Sequence[IntArray], publication: Publication) -> bool:
    """Whether the numbers of the nodes of all trees are sure to agree."""
    said = nodes.statements
    records = float(said.count.sum(dtype=np.float64)) + float(np.maximum(said.n, 0).sum(dtype=np.float64))
    if records > LARGEST_COUNT or len(nodes) * len(publication.classes) > MOST_CELLS:
        return False
    if publication.rounded is not None:
        return _sound_rounded(nodes, levels, publication)
    if not _agree_within(said, publication):
        return False
    together = max(TOGETHER, CELLS_TOGETHER // max(len(nodes), 1))
    classes = range(len(publication.classes))
    blocks = (classes[first : first + together] for first in classes[::together])
    return all(_agree_above(nodes, tree_ends, levels, publication, block) for block in blocks)


def _sound_rounded(nodes: Columns, levels: Sequence[IntArray], publication: Publication) -> bool:
    """Whether nodes state labels and rounded numbers alone, which agree."""
    said = nodes.statements
    told = (said.distinct != NOTHING) | ~np.isnan(said.rate) | ~np.isnan(nodes.value)
    if told.any() or said.shares or any(each is not None for each in (nodes.scores, nodes.hessian, nodes.mean)):
        return False
    return next(disagreements(said, publication, nodes.branch_ends, nodes.child, levels), None) is None


def sound_parts(nodes: Columns, tree_ends: IntArray, labels: str) -> bool:
    """Whether parts of a leaf of the tool have one label, and state nothing else."""
    if not nodes.parts:
        return True
    said, part = nodes.statements, np.array([each is not None for each in nodes.parts], bool)
    more = (nodes.attribute != NOTHING) | ~np.isnan(said.rate) | ~np.isnan(nodes.value) | said.counted
    if (part & (more | (said.n != NOTHING) | (said.distinct != NOTHING))).any():
        return False
    inner = nodes.attribute != NOTHING
    inner[tree_ends[:-1]] = False
    if (inner & (said.counted | (said.n != NOTHING) | (said.distinct != NOTHING))).any():
        return False
    tree = np.repeat(np.arange(len(tree_ends) - 1), np.diff(tree_ends)).tolist()
    stated = zip(tree, nodes.parts, said.label.tolist(), strict=True)
    told = {(t, part, label) for t, part, label in stated if part is not None}
    alike = len(told) == len({each[:2] for each in told})
    return alike and (labels == "decided" or all(label == NOTHING for _, _, label in told))


def sound_answers(release: Content, nodes: Columns) -> bool:
    """Whether the trees are sure to predict together as a release says that they do."""
    if release.predicts != "score":
        return next(answer_problems(release, ()), None) is None
    if release.boosting is None or (release.boosting.link == "logit" and len(release.target.classes) != 2):
        return False
    if release.boosting.link == "logit" and len({tree.of_class for tree in release.trees}) > 1:
        return False
    # Leaves state one number each, if any: it is of the class of their tree.
    named = all(tree.of_class is not None for tree in release.trees)
    leaves = nodes.attribute == NOTHING
    return named and not np.isnan(nodes.value[leaves]).any()


def _agree_within(said: Statements, publication: Publication) -> bool:
    """Whether the statements about each node agree with each other."""
    hidden = publication.suppressed
    if hidden and not publication.sampled and (said.count < publication.suppressed_below).any():
        return False
    total, both = said.total, said.counted & (said.n != NOTHING)
    if (both & ((total > said.n) | ((total < said.n) & (not hidden)))).any():
        return False
    if not _sound_distinct(said, total, publication):
        return False
    owner = said.owner
    most = np.zeros(len(said), np.int64)
    np.maximum.at(most, owner, said.count)
    of_label = said.count_class == said.label[owner]
    hits = np.zeros(len(said), np.int64)
    hits[owner[of_label]] = said.count[of_label]
    less = said.counted & (said.label != NOTHING) & (hits < most)
    if not publication.decided and (less & ~((hits == 0) & hidden)).any():
        return False
    rate = said.rate
    highest = 1.0 if publication.decided else 1 - 1 / len(publication.classes)
    beyond = np.maximum(rate - highest, 0.0) > _SURE
    if beyond.any() and (rate[beyond] > highest + _allowed(rate[beyond])).any():
        return False
    if not publication.same_records:
        return True
    rows = np.flatnonzero(~np.isnan(rate) & (total > 0))
    off = np.abs((1 - hits[rows] / total[rows]) - rate[rows])
    rows, off = rows[off > _SURE], off[off > _SURE]
    return not (off > _allowed(rate[rows])).any()


def _sound_distinct(said: Statements, total: IntArray, publication: Publication) -> bool:
    """Whether the draws of each node can be of so many different records: one at least of each class."""
    told = said.distinct != NOTHING
    if publication.resampled is None or not told.any():
        return not told.any()
    most = np.where(said.counted, total, said.n)
    least = np.maximum(np.where(said.counted, np.diff(said.count_ends), 0), np.minimum(most, 1))
    off = (said.distinct < least) | ((most != NOTHING) & (said.distinct > most))
    return not (told & off).any()


def _allowed(rates: np.ndarray[tuple[int], np.dtype[np.float64]]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """By how much each rate may be off."""
    distinct, which = np.unique(rates, return_inverse=True)
    return np.array(allowed_off(distinct.tolist()), np.float64)[which]


@dataclass(frozen=True, slots=True, eq=False)
class _Tallies:
    """Records at or below every node, and a last row of nothing, as `check_counts.Tally` has those of one."""

    counts: IntArray
    has_counts: BoolArray
    counts_exact: BoolArray
    n: IntArray
    has_n: BoolArray
    n_exact: BoolArray


def _own(nodes: Columns, publication: Publication, block: range) -> _Tallies:
    """Statements of nodes themselves, of a block of classes."""
    said, exact = nodes.statements, not publication.suppressed
    counts = np.zeros((len(nodes) + 1, len(block)), np.int64)
    here = (said.count_class >= block.start) & (said.count_class < block.stop)
    counts[said.owner[here], said.count_class[here] - block.start] = said.count[here]
    n = np.where(said.counted & exact, said.total, said.n)
    has_counts, has_n = np.append(said.counted, False), np.append(n != NOTHING, False)
    n = np.append(np.maximum(n, 0), 0)
    return _Tallies(counts, has_counts, has_counts & exact, n, has_n, has_n & exact)


def _agree_above(
    nodes: Columns, tree_ends: IntArray, levels: Sequence[IntArray], publication: Publication, block: range
) -> bool:
    """Whether inner nodes agree with their children, and roots with each other, in a block of classes."""
    tally = _own(nodes, publication, block)
    for level in reversed(levels):
        inner = level[nodes.branch_ends[level + 1] > nodes.branch_ends[level]]
        if len(inner) and not _tallied(nodes, inner, tally):
            return False
    if publication.resampled is None and (publication.sampled or publication.suppressed):
        return True
    removed = np.concatenate([[0], np.cumsum(nodes.child == NOTHING)])
    whole = np.diff(removed[nodes.branch_ends[tree_ends]]) == 0
    roots = tree_ends[:-1][whole]
    if publication.resampled is not None:
        return not (tally.n[roots[tally.n_exact[roots]]] != publication.resampled).any()
    counted, sized = tally.counts[roots[tally.counts_exact[roots]]], tally.n[roots[tally.n_exact[roots]]]
    return bool((counted == counted[:1]).all() and (sized == sized[:1]).all())


def _tallied(nodes: Columns, inner: IntArray, tally: _Tallies) -> bool:
    """Tally nodes whose children are tallied, in place; whether they agree."""
    start, end = nodes.branch_ends[inner], nodes.branch_ends[inner + 1]
    child = nodes.child[ranges(start, end)]  # the last row is that of removed leaves
    run = np.cumsum(end - start) - (end - start)
    counts = np.add.reduceat(tally.counts[child], run, axis=0)
    n = np.add.reduceat(tally.n[child], run)
    has_counts = np.logical_or.reduceat(tally.has_counts[child], run)
    has_n = np.logical_or.reduceat(tally.has_n[child], run)
    counts_exact = np.logical_and.reduceat(tally.counts_exact[child], run)
    n_exact = np.logical_and.reduceat(tally.n_exact[child], run)
    own_counts, own_n = tally.has_counts[inner], tally.has_n[inner]
    both, exact = own_counts & has_counts, tally.counts_exact[inner] & counts_exact
    mine = tally.counts[inner]
    wrong = (counts > mine) | ((counts != mine) & exact[:, None])
    if (wrong & both[:, None]).any():
        return False
    both, exact = own_n & has_n, tally.n_exact[inner] & n_exact
    if (both & ((n > tally.n[inner]) | ((n != tally.n[inner]) & exact))).any():
        return False
    open_ = inner[~own_counts]
    tally.counts[open_], tally.has_counts[open_] = counts[~own_counts], has_counts[~own_counts]
    tally.counts_exact[open_] = counts_exact[~own_counts]
    open_ = inner[~own_n]
    tally.n[open_], tally.has_n[open_], tally.n_exact[open_] = n[~own_n], has_n[~own_n], n_exact[~own_n]
    return True


# Whether nodes held as arrays are trees, and whether their branches divide exactly the values that can reach them.
#
# Vectorised over the nodes of all trees. What is not sure to be sound is left to
# `maxent.models.formats.maxent_json.check_tree`, which has the rules and words what is wrong.

DEEPEST = 5_000  # levels of trees that are looked at level by level
SPLITS_MOST_CELLS = 200_000_000  # nodes times values that are looked at in all
BLOCK = 4_000_000  # nodes times values that are looked at together


def levels_of(nodes: Columns, starts: IntArray) -> tuple[IntArray, ...]:
    """The nodes of each depth, the roots first; none when nodes are no trees, or trees that are very deep."""
    parents = np.ones(len(nodes), np.int64)
    parents[starts] = 0
    kids = nodes.child[nodes.child != NOTHING]
    if (np.bincount(kids, minlength=len(nodes)) != parents).any():
        return ()
    levels: list[IntArray] = []
    level, reached = starts, 0
    while len(level) and len(levels) < DEEPEST:
        levels.append(level)
        reached += len(level)
        below = nodes.child[ranges(nodes.branch_ends[level], nodes.branch_ends[level + 1])]
        level = below[below != NOTHING]
    return tuple(levels) if reached == len(nodes) else ()


@dataclass(frozen=True, slots=True, eq=False)
class _AboveNodes:
    """The node of each branch (``owner``), and the branch that leads to each node, `NOTHING` for roots."""

    nodes: Columns
    owner: IntArray
    leads: IntArray

    def branches(self, place: IntArray, attribute: int) -> Iterator[tuple[IntArray, IntArray]]:
        """The branches of an attribute on the ways from some nodes up to their roots, step by step."""
        rows, up = np.arange(len(place)), self.leads[place]
        while len(rows := rows[up != NOTHING]):
            up = up[up != NOTHING]
            node = self.owner[up]
            same = self.nodes.attribute[node] == attribute
            if same.any():
                yield rows[same], up[same]
            up = self.leads[node]


def sound_splits(nodes: Columns) -> bool:
    """Whether the branches of every inner node are sure not to overlap, and to cover what can reach it."""
    owner = np.repeat(np.arange(len(nodes)), np.diff(nodes.branch_ends))
    leads = np.full(len(nodes), NOTHING)
    led = np.flatnonzero(nodes.child != NOTHING)
    leads[nodes.child[led]] = led
    above = _AboveNodes(nodes, owner, leads)
    for j in np.unique(nodes.attribute).tolist():
        if j != NOTHING:
            place = np.flatnonzero(nodes.attribute == j)
            domain = nodes.attributes[j].values
            sound = _numeric(above, j, place) if domain is None else _categorical(above, j, place, len(domain))
            if not sound:
                return False
    return True


def _numeric(above: _AboveNodes, attribute: int, place: IntArray) -> bool:
    """Whether the nodes that test a numeric attribute divide its numbers."""
    nodes = above.nodes
    if not _missing(above, attribute, place):
        return False
    start, end = nodes.branch_ends[place], nodes.branch_ends[place + 1]
    # As nearly all of them: two branches, at most a number and above it.
    first, last = start, end - 1
    halves = (end - start == 2) & (nodes.le[first] == nodes.gt[last]) & np.isnan(nodes.gt[first])
    halves &= np.isnan(nodes.le[last])
    place, start, end = place[~halves], start[~halves], end[~halves]
    if not len(place):
        return True
    at = ranges(start, end)
    low = np.where(np.isnan(nodes.gt[at]), -np.inf, nodes.gt[at])
    high = np.where(np.isnan(nodes.le[at]), np.inf, nodes.le[at])
    low[(nodes.missing[at] == 1) & np.isneginf(low) & np.isposinf(high)] = np.inf  # only missing values: no numbers
    row = np.repeat(np.arange(len(place)), end - start)
    order = np.lexsort((high, low, row))
    row, low, high = row[order], low[order], high[order]
    head = np.append(True, row[1:] != row[:-1])
    tail = np.append(head[1:], True)
    before = np.where(head, -np.inf, np.append(-np.inf, high[:-1]))
    if (low < before).any():
        return False
    gap = before < low
    gap[tail] |= high[tail] < np.inf
    open_ = np.unique(row[gap])
    least, most = _reached(above, attribute, place[open_])
    of = np.full(len(place), -1)
    of[open_] = np.arange(len(open_))
    seen = of[row] >= 0
    row, low, high, before, tail = of[row[seen]], low[seen], high[seen], before[seen], tail[seen]
    missed = np.maximum(least[row], before) < np.minimum(low, most[row])
    missed |= tail & (np.maximum(least[row], high) < most[row])
    return not missed.any()


def _missing(above: _AboveNodes, attribute: int, place: IntArray) -> bool:
    """Whether missing values of a numeric attribute, if it has some, take one branch of each node that they reach."""
    nodes = above.nodes
    if not nodes.attributes[attribute].missing:
        return True
    taken = np.concatenate([[0], np.cumsum(nodes.missing == 1)])
    taking = taken[nodes.branch_ends[place + 1]] - taken[nodes.branch_ends[place]]
    open_ = place[taking == 0]
    reached = np.ones(len(open_), bool)
    for rows, branch in above.branches(open_, attribute):
        reached[rows] &= nodes.missing[branch] == 1
    return not ((taking > 1).any() or reached.any())


def _reached(above: _AboveNodes, attribute: int, place: IntArray) -> tuple[FloatArray, FloatArray]:
    """The interval of a numeric attribute that can reach each of some nodes."""
    least, most = np.full(len(place), -np.inf), np.full(len(place), np.inf)
    for rows, branch in above.branches(place, attribute):
        least[rows] = np.fmax(least[rows], above.nodes.gt[branch])
        most[rows] = np.fmin(most[rows], above.nodes.le[branch])
    return least, most


def _categorical(above: _AboveNodes, attribute: int, place: IntArray, size: int) -> bool:
    """Whether the nodes that test a categorical attribute, of so many values, divide those that can reach them."""
    if len(place) * size > SPLITS_MOST_CELLS:
        return False
    step = max(BLOCK // size, 1)
    return all(_divided(above, attribute, place[i : i + step], size) for i in range(0, len(place), step))


def _divided(above: _AboveNodes, attribute: int, place: IntArray, size: int) -> bool:
    """As `_categorical`, of a block of nodes."""
    nodes = above.nodes
    start, end = nodes.value_ends[nodes.branch_ends[place]], nodes.value_ends[nodes.branch_ends[place + 1]]
    cell = np.repeat(np.arange(len(place)) * size, end - start) + nodes.values[ranges(start, end)]
    times = np.bincount(cell, minlength=len(place) * size).reshape(-1, size)
    if times.max() > 1:
        return False
    missing: BoolArray = times == 0
    open_ = np.flatnonzero(missing.any(axis=1))
    missing = missing[open_]  # of these, what can reach the node must be none
    for rows, branch in above.branches(place[open_], attribute):
        first, last = nodes.value_ends[branch], nodes.value_ends[branch + 1]
        taken = np.zeros((len(rows), size), bool)
        taken[np.repeat(np.arange(len(rows)), last - first), nodes.values[ranges(first, last)]] = True
        missing[rows] &= taken
        if not missing.any():
            return True
    return not missing.any()


# Whether a release that is held as arrays is sure to be sound, without an object for each node.


def is_sound(release: Content, head: Mapping[str, object], heads: Sequence[dict[str, object]]) -> bool:
    """Whether every rule of the format is surely kept."""
    trees = [tree.nodes.columns for tree in release.trees if isinstance(tree.nodes, Nodes)]
    if len(trees) < len(release.trees) or not all(_is_plain(nodes, release) for nodes in trees):
        return False
    problems: list[Problem] = []
    parsed = parse_head(head, problems)
    if parsed is None or problems:
        return False
    _, content, names = parsed
    problems += draw_problems(content, len(release.trees))
    different = {repr(each): each for each in heads}.values()
    for each in different:
        parse_tree_head(Fields(problems, "", each, ("induction", "weight", "class")), "", names)
    if problems:
        return False
    nodes, ends = _joined(trees)
    return are_sound(nodes, ends, Publication.of(content)) and sound_answers(
        replace(content, trees=release.trees), nodes
    )


def are_sound(nodes: Columns, tree_ends: IntArray, publication: Publication) -> bool:
    """Whether nodes of all trees, which end at ``tree_ends``, surely keep every rule by themselves and together."""
    if not _is_each_sound(nodes):
        return False
    levels = levels_of(nodes, tree_ends[:-1])
    return bool(levels) and sound_splits(nodes) and sound_numbers(nodes, tree_ends, levels, publication)


def _is_plain(nodes: Columns, release: Content) -> bool:
    """Whether nodes state nothing that is seldom, of the attributes and classes of their release."""
    seldom = (nodes.scores, nodes.hessian, nodes.mean, nodes.variance)
    if any(each is not None for each in seldom) or nodes.statements.shares or nodes.parts:
        return False
    mine = [(attribute.name, attribute.type, attribute.values, attribute.missing) for attribute in nodes.attributes]
    if mine != [(a.name, a.type, a.values, a.missing) for a in release.attributes]:
        return False
    return tuple(nodes.classes) == release.target.classes and all(nodes.ids)


def _is_each_sound(nodes: Columns) -> bool:
    """Whether nothing is wrong with any node by itself, whatever the others are."""
    said = nodes.statements
    inner, n_values = nodes.attribute != NOTHING, np.diff(nodes.value_ends)
    labelled, rated, scored = said.label != NOTHING, ~np.isnan(said.rate), ~np.isnan(nodes.value)
    wrong = ((np.diff(nodes.branch_ends) > 0) != inner) | (inner & (labelled | rated | scored)) | (rated & ~labelled)
    wrong |= (said.n < NOTHING) | (said.n > LARGEST_COUNT) | (said.distinct < NOTHING) | np.isinf(nodes.value)
    wrong |= rated & ~((said.rate >= 0) & (said.rate <= 1))
    tested = np.repeat(nodes.attribute, np.diff(nodes.branch_ends))
    categorical = np.array([attribute.values is not None for attribute in nodes.attributes], bool)[tested]
    gaps = np.array([attribute.missing for attribute in nodes.attributes], bool)[tested]
    bounded, told = ~np.isnan(nodes.gt) | ~np.isnan(nodes.le), nodes.missing != NOTHING
    untested = np.where(categorical, bounded | told | (n_values == 0), ~(bounded | told) | (n_values > 0))
    untested |= (nodes.gt >= nodes.le) | np.isinf(nodes.gt) | np.isinf(nodes.le)
    untested |= ((nodes.missing == 1) & ~gaps) | ((nodes.missing == 0) & bounded)
    counts = (said.count <= 0) | (said.count > LARGEST_COUNT)
    return not (wrong.any() or untested.any() or counts.any())


def _joined(trees: Sequence[Columns]) -> tuple[Columns, IntArray]:
    """All nodes as if of one tree, and where those of each end."""
    ends = run_ends(np.array([len(nodes) for nodes in trees], np.int64))
    if len(trees) == 1:
        return trees[0], ends
    child = [np.where(n.child == NOTHING, NOTHING, n.child + start) for n, start in zip(trees, ends, strict=False)]
    said = [nodes.statements for nodes in trees]
    return Columns(
        trees[0].attributes,
        trees[0].classes,
        list(chain.from_iterable(nodes.ids for nodes in trees)),
        np.concatenate([nodes.attribute for nodes in trees]),
        run_ends(np.concatenate([np.diff(nodes.branch_ends) for nodes in trees])),
        np.concatenate(child),
        np.concatenate([nodes.le for nodes in trees]),
        np.concatenate([nodes.gt for nodes in trees]),
        np.concatenate([nodes.missing for nodes in trees]),
        run_ends(np.concatenate([np.diff(nodes.value_ends) for nodes in trees])),
        np.concatenate([nodes.values for nodes in trees]),
        np.concatenate([nodes.value for nodes in trees]),
        Statements(
            np.concatenate([each.label for each in said]),
            np.concatenate([each.rate for each in said]),
            np.concatenate([each.n for each in said]),
            np.concatenate([each.distinct for each in said]),
            np.concatenate([each.counted for each in said]),
            run_ends(np.concatenate([np.diff(each.count_ends) for each in said])),
            np.concatenate([each.count_class for each in said]),
            np.concatenate([each.count for each in said]),
        ),
    ), ends


BATCH = 2**11  # nodes that are objects at the same time: few enough for the caches of a processor
PIECE = 2**18  # bytes of about as many nodes
LARGE = 2**24  # bytes of the nodes of a tree from which on they are decoded in pieces
_MARK = b"\xef\xbb\xbf"


class _Tree(msgspec.Struct, gc=False, frozen=True, forbid_unknown_fields=True):
    """A tree as it is written."""

    nodes: msgspec.Raw
    induction: msgspec.Raw = msgspec.Raw()
    weight: msgspec.Raw = msgspec.Raw()
    of_class: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="class")

    @property
    def head(self) -> _Head:
        """The text of each key but nodes."""
        return _stated({"induction": self.induction, "weight": self.weight, "class": self.of_class})


_Head = tuple[tuple[str, bytes], ...]  # keys, and the text of what stands there


def _stated(found: Mapping[str, msgspec.Raw]) -> _Head:
    """The keys that are there."""
    return tuple((key, bytes(text)) for key, text in found.items() if memoryview(text).nbytes)


class _Document(msgspec.Struct, gc=False, frozen=True, forbid_unknown_fields=True):
    """A document as it is written."""

    format: msgspec.Raw
    target: msgspec.Raw
    attributes: msgspec.Raw
    trees: tuple[_Tree, ...]
    release: msgspec.Raw = msgspec.Raw()
    predicts: msgspec.Raw = msgspec.Raw()
    boosting: msgspec.Raw = msgspec.Raw()
    labels: msgspec.Raw = msgspec.Raw()

    @property
    def head(self) -> _Head:
        """The text of each key but trees."""
        return _stated({key: getattr(self, key) for key in self.__struct_fields__ if key != "trees"})


_DOCUMENT = msgspec.json.Decoder(_Document)
_NODES = msgspec.json.Decoder(list[WrittenNode])

# Where a node begins, as most are written; elsewhere only counts do, those of a class of this name
_START = re.compile(rb'\{"id":')


@uncollected()
def read_typed(data: bytes) -> Content | None:
    """The release that a sound document describes, with its nodes as arrays; None when something may be wrong.

    Whatever it reads, `maxent.models.formats.maxent_json.check_tree.checked_release` reads as an equal release.
    """
    try:
        return _release(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, InvalidInput, LookupError):
        return None


def _release(data: bytes) -> Content:
    """The release of a sound document, else one of the errors that `read_typed` catches."""
    document = _DOCUMENT.decode(memoryview(data)[len(_MARK) :] if data.startswith(_MARK) else data)
    stated = document.head
    problems: list[Problem] = []
    parsed = parse_head(_decoded(stated), problems)
    if parsed is None or problems:
        raise Doubtful
    _, content, names = parsed
    heads = [tree.head for tree in document.trees]
    if any(draw_problems(content, len(heads))):
        raise Doubtful
    head_of = {head: _tree(head, names) for head in set(heads)}
    codes = Codes.of(content)
    read = joined([batch_of(nodes, tree_ends, codes) for nodes, tree_ends in _batches(document.trees, codes)])
    nodes = linked(content, names, read)
    if not are_sound(nodes, read.tree_ends, Publication.of(content)):
        raise Doubtful
    keys = len(stated) + 1 + sum(len(head) + 1 for head in heads) + read.keys
    colons = sum(text.count(b":") for head in (stated, *heads) for _, text in head)
    if data.count(b":") != keys + colons:
        # Each id but those of roots is written twice, at its node and at the branch that leads there.
        roots = [nodes.ids[start] for start in read.tree_ends[:-1].tolist()]
        colons += read.colons + 2 * _colons(nodes.ids) - _colons(roots)
        escaped = b"\\u003a" in data or b"\\u003A" in data
        if escaped or data.count(b":") != keys + colons:
            raise Doubtful
    bounds = pairwise(read.tree_ends.tolist())
    trees = tuple(
        replace(head_of[head], nodes=Nodes(nodes.between(begin, end)))
        for (begin, end), head in zip(bounds, heads, strict=True)
    )
    release = replace(content, trees=trees)
    if not (sound_answers(release, nodes) and sound_parts(nodes, read.tree_ends, content.labels)):
        raise Doubtful
    return release


def _decoded(head: _Head) -> dict[str, object]:
    """Keys with what stands there, decoded by the careful reader."""
    return json_object(b"{%s}" % b",".join(b'"%s":%s' % (key.encode(), text) for key, text in head), "")


def _colons(texts: Iterable[str]) -> int:
    """The colons in texts."""
    return sum(text.count(":") for text in texts)


def _tree(head: _Head, names: Names) -> Tree:
    """A tree but for its nodes."""
    problems: list[Problem] = []
    found = parse_tree_head(Fields(problems, "", _decoded(head), ("induction", "weight", "class")), "", names)
    if problems:
        raise Doubtful
    return found


def _batches(trees: Sequence[_Tree], codes: Codes) -> Iterator[tuple[list[WrittenNode], list[int]]]:
    """The nodes of all trees, in their order, and where trees end among them: not many nodes at a time."""
    if not trees:
        raise Doubtful
    nodes: list[WrittenNode] = []
    ends: list[int] = []
    for tree in trees:
        text = memoryview(tree.nodes)
        at_once = text.nbytes < LARGE or "id" in codes.classes
        for part in [_NODES.decode(text)] if at_once else _parts(text):
            if len(nodes) >= BATCH:
                yield nodes, ends
                nodes, ends = [], []
            if not part:
                raise Doubtful
            nodes += part
        ends.append(len(nodes))
    yield nodes, ends


def _parts(text: memoryview) -> Iterator[Sequence[WrittenNode]]:
    """The nodes of a tree, which are a list with commas between them, not many at a time."""
    begin, end = 0, 0
    while end < len(text):
        found = _START.search(text, begin + PIECE)
        end = found.start() if found else len(text)
        part, comma = bytes(text[begin:end]), b""
        if found:
            part, comma = part.rstrip(b" \t\r\n,"), part[len(part.rstrip(b" \t\r\n,")) :].strip()
            if comma != b",":
                raise Doubtful
        yield _NODES.decode(b"".join((b"[" * (begin > 0), part, b"]" * (end < len(text)))))
        begin = end
