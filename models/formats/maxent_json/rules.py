"""Rules of whole releases: nodes form a tree, branches divide the values, numbers agree, rounding is possible.

They are about nodes held as arrays, all trees together. What is wrong is worded where it is found, from these arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise
from math import inf
from typing import NamedTuple

import numpy as np

from maxent.models.arguments import LARGEST_COUNT, listing, name, show
from maxent.models.arrays import BoolArray, FloatArray, IntArray, ranges, run_ends
from maxent.models.columns import NOTHING, Columns, Statements, check_size
from maxent.models.errors import InvalidInput, Problem
from maxent.models.formats.maxent_json.batch import (
    BATCH,
    UNLINKED,
    Batch,
    Codes,
    Shares,
    all_nodes,
    are_each_sound,
    batch_of,
    joined,
    linked,
    several,
    stated,
)
from maxent.models.formats.maxent_json.parse import (
    UNREAD,
    Fields,
    draw_problems,
    parse_head,
    parse_tree,
    parse_tree_head,
    rule_problems,
)
from maxent.models.nodes import Nodes
from maxent.models.release import Attribute, Branch, Content, Node, Rounded, behind
from maxent.models.trees.printed_rates import decimals

MOST_PROBLEMS = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A release as far as it could be read.

    ``content``: its trees are without nodes. ``nodes``: those of all trees, as if of one. ``tree_ends``: where those
    of each tree end, 0 before the first. ``children``: what each branch calls its child, None for a removed leaf; empty
    where `Columns.child` has the position of each.
    """

    content: Content
    nodes: Columns
    tree_ends: IntArray
    children: Sequence[str | None] = ()

    def place(self, i: int) -> str:
        """A node as messages call it."""
        tree = self.tree_of(i)
        begin = int(self.tree_ends[tree])
        prefix = f"tree {tree + 1}, node" if len(self.tree_ends) > 2 else "node"
        text = self.nodes.ids[i]
        return f"{prefix} {name(text)}" if text else f"{prefix} number {i - begin + 1}"

    @property
    def release(self) -> Content:
        """The release with its nodes, which keep every rule."""
        bounds = pairwise(self.tree_ends.tolist())
        trees = zip(self.content.trees, bounds, strict=True)
        nodes = self.nodes
        return replace(
            self.content, trees=tuple([replace(tree, nodes=Nodes(nodes.between(*each))) for tree, each in trees])
        )

    def tree_of(self, i: int) -> int:
        """The tree of a node."""
        return int(np.searchsorted(self.tree_ends, i, side="right")) - 1

    def names(self, first: int, last: int) -> Sequence[str | None]:
        """What some branches call their children."""
        if len(self.children):
            return self.children[first:last]
        return [None if j == NOTHING else self.nodes.ids[j] for j in self.nodes.child[first:last].tolist()]

    def node(self, i: int) -> Node:
        """A node as an object."""
        return next(self.nodes.nodes(np.array([i])))

    def problem(self, i: int, key: str, expected: str, found: str, branch: int | None = None) -> _Found:
        """A problem of a node, or of one of its branches."""
        where = self.place(i) if branch is None else f"{self.place(i)}, branch {branch + 1}"
        return i, Problem(where, key, expected, found)


_Found = tuple[int, Problem]  # a node, and what is wrong with it


def problems_of(draft: Draft, *, doubtful: bool = False) -> Iterator[Problem]:
    """What is wrong with a release; ``doubtful`` where something about its nodes could not be read."""
    publication = Publication.of(draft.content)
    links = links_of(draft)
    nodes = replace(draft.nodes, child=links.child)
    counts = _Counts.of(nodes.statements, nodes.statements.owner)
    draft = replace(draft, nodes=nodes)
    roots: list[_Root] = []
    of_nodes = [
        _statement_problems(draft, counts, publication),
        iter(links.problems),
        _branch_problems(draft, links, sure=not doubtful and not links.problems),
        _sum_problems(draft, links, counts, publication, roots),
        _part_problems(draft),
    ]
    ranked = [(draft.tree_of(i), rank, each) for rank, found in enumerate(of_nodes) for i, each in _most(found)]
    yield from (each for _, _, each in sorted(ranked, key=lambda found: found[:2]))
    yield from _root_problems(draft, roots, publication)
    yield from draw_problems(draft.content, len(draft.content.trees))
    yield from rule_problems(draft.content, several=nodes.scores is not None and bool(several(nodes).any()))
    if draft.content.predicts == "score" and draft.content.target.classes:
        yield from (each for _, each in _score_problems(draft))
    yield from (each for _, each in _moment_problems(draft))


def _most(found: Iterator[_Found]) -> Iterator[_Found]:
    """As many problems as are told."""
    return islice(found, MOST_PROBLEMS)


# Whether the numbers of a release agree: within a node, between a node and its children, between trees.
#
# A node states a lower bound on its records, exactly or not: a removed leaf, a leaf that states nothing and a
# suppressed count leave records unseen. What is seen below a node must not exceed what the node states, and must
# equal it when nothing below is unseen.


@dataclass(frozen=True, slots=True)
class Publication:
    """Context of the statements of nodes: the classes, the way records were counted, the meaning of labels.

    What the document states wrongly is `UNREAD`: then numbers may be whatever it could explain.
    """

    classes: tuple[str, ...]
    sampled: bool
    suppressed_below: int
    resampled: int | None = None
    decided: bool = False
    rounded: Rounded | None = None
    noisy: bool = False

    @classmethod
    def of(cls, release: Content) -> Publication:
        """Context of the statements of a release."""
        return cls(
            release.target.classes,
            release.sampled,
            release.suppressed_below,
            release.resampled,
            release.labels == "decided",
            release.rounded,
            release.noise is not None,
        )

    @property
    def suppressed(self) -> bool:
        """Whether a published 0 may stand for records (below 1 there are none)."""
        return self.suppressed_below > 1 or self.suppressed_below == UNREAD

    @property
    def same_records(self) -> bool:
        """Whether the counts of a node, its n and its rates are of the same records, all of them."""
        return not self.suppressed and (not self.sampled or self.resampled is not None)


# Statements of nodes that would say more of the records than their rounded numbers
_UNROUNDED = ("error_rate", "rates", "distinct", "value", "hessian", "mean", "variance")
_OF_RECORDS = ("error_rate", "n", "counts", "rates", "distinct", "value", "hessian", "mean", "variance")


def _stating(nodes: Columns) -> dict[str, BoolArray]:
    """Which nodes state what, each of shape (n_nodes,)."""
    said, size = nodes.statements, len(nodes.ids)
    return {
        "error_rate": ~np.isnan(said.rate),
        "n": said.n != NOTHING,
        "counts": said.counted | _there(nodes.noisy, size),
        "rates": _there(said.shares, size),
        "distinct": said.distinct != NOTHING,
        "value": ~np.isnan(nodes.value) | several(nodes),
        "hessian": stated(nodes.hessian, size),
        "mean": stated(nodes.mean, size),
        "variance": stated(nodes.variance, size),
    }


def _there(held: Sequence[object], size: int) -> BoolArray:
    """Where a list that may be empty has something."""
    return np.array([each is not None for each in held], bool) if held else np.zeros(size, bool)


@dataclass(frozen=True, slots=True, eq=False)
class _Counts:
    """The counts of each node in all, of its label, and of a most frequent class, shapes (n_nodes,).

    ``total`` is exact, as `_summed`; 0 where no counts are stated, and in ``of_label`` where no label is.
    """

    said: Statements
    total: FloatArray
    of_label: IntArray
    most: IntArray

    @classmethod
    def of(cls, said: Statements, owner: IntArray) -> _Counts:
        """What counts are in all; ``owner`` is the node of each."""
        of_label, most = np.zeros((2, len(said.label)), np.int64)
        labelled = said.count_class == said.label[owner]
        of_label[owner[labelled]] = said.count[labelled]
        np.maximum.at(most, owner, said.count)
        return cls(said, _summed(owner, said.count, len(said.label)), of_label, most)


def _statement_problems(draft: Draft, counts: _Counts, publication: Publication) -> Iterator[_Found]:
    """Where the statements about one node contradict each other; not where rounded numbers do."""
    if publication.rounded is not None or publication.noisy:
        key, told = ("noise", ("n", *_UNROUNDED)) if publication.noisy else ("rounded", _UNROUNDED)
        alone = "labels and counts" if publication.noisy else "labels, n and counts"
        there = _stating(draft.nodes)
        for i in np.flatnonzero(np.any([there[each] for each in told], axis=0)).tolist():
            for each in told:
                if there[each][i]:
                    expected = f"no such key beside release.{key}: only {alone} are stated"
                    yield draft.problem(i, each, expected, show(getattr(draft.node(i), each)))
        return
    rules = (_count_problems, _size_problems, _distinct_problems, _label_problems, _rate_problems, _share_problems)
    found = chain.from_iterable(rule(draft, counts, publication) for rule in rules)
    yield from sorted(_most(found), key=lambda each: each[0])


def _count_problems(draft: Draft, counts: _Counts, publication: Publication) -> Iterator[_Found]:
    """Counts that are suppressed elsewhere; not of a sample: it may have been drawn from more."""
    said = counts.said
    if publication.suppressed and not publication.sampled:
        expected = f"0 or at least {publication.suppressed_below} (release.suppressed_below)"
        few = np.flatnonzero(said.count < publication.suppressed_below)
        for k, i in zip(few.tolist(), said.owner[few].tolist(), strict=True):
            key = f"counts of {name(publication.classes[said.count_class[k]])}"
            yield draft.problem(i, key, expected, str(said.count[k]))


def _size_problems(draft: Draft, counts: _Counts, publication: Publication) -> Iterator[_Found]:
    """Records that are not the sum of counts."""
    said, total = counts.said, counts.total
    off = (total > said.n) | ((total < said.n) & (not publication.suppressed))
    for i in np.flatnonzero(said.counted & (said.n != NOTHING) & off).tolist():
        expected = f"{'at least ' if publication.suppressed else ''}the sum of counts, {int(total[i])}"
        yield draft.problem(i, "n", expected, str(said.n[i]))


def _distinct_problems(draft: Draft, counts: _Counts, publication: Publication) -> Iterator[_Found]:
    """Numbers of different records that draws cannot be of: one at least of each class."""
    said = counts.said
    told = said.distinct != NOTHING
    if publication.resampled is None:
        expected = "no such key, unless release.resampled says that records were drawn"
        for i in np.flatnonzero(told).tolist():
            yield draft.problem(i, "distinct", expected, str(said.distinct[i]))
        return
    most = np.where(said.counted, counts.total, said.n)
    least = np.maximum(np.where(said.counted, np.diff(said.count_ends), 0), np.minimum(most, 1))
    off = (said.distinct < least) | ((most != NOTHING) & (said.distinct > most))
    for i in np.flatnonzero(told & off).tolist():
        expected = f"at least {int(least[i])}" if most[i] == NOTHING else f"{int(least[i])} to {int(most[i])}"
        expected += " different records, one at least of each class"
        yield draft.problem(i, "distinct", expected, str(said.distinct[i]))


def _label_problems(draft: Draft, counts: _Counts, publication: Publication) -> Iterator[_Found]:
    """Labels that are no most frequent class; a suppressed count may hide that one is."""
    if publication.decided:
        return
    said, hits, most = counts.said, counts.of_label, counts.most
    less = said.counted & (said.label != NOTHING) & (hits < most) & ~((hits == 0) & publication.suppressed)
    for i in np.flatnonzero(less).tolist():
        here = slice(said.count_ends[i], said.count_ends[i + 1])
        at = np.sort(said.count_class[here][said.count[here] == most[i]])
        best = listing(publication.classes[c] for c in at.tolist())
        found = f"{show(publication.classes[said.label[i]])}, which has {hits[i]}"
        yield draft.problem(i, "label", f"a most frequent class of counts ({best}: {most[i]})", found)


_SURE = 1e-9


def _rate_problems(draft: Draft, counts: _Counts, publication: Publication) -> Iterator[_Found]:
    """Error rates that a label or counts cannot have, within the rounding of their digits."""
    said, total = counts.said, counts.total
    rated = np.flatnonzero(~np.isnan(said.rate) & (said.label != NOTHING))
    rate, classes = said.rate[rated], publication.classes
    highest = 1.0 if publication.decided or not classes else 1 - 1 / len(classes)
    high = rate - highest > _SURE
    high[high] = rate[high] > highest + _allowed(rate[high])
    for i in rated[high].tolist():
        expected = f"at most {highest:.4g}, since the label is a most frequent of {len(classes)} classes"
        yield draft.problem(i, "error_rate", expected, show(float(said.rate[i])))
    if not publication.same_records:
        return
    rows = rated[~high & (total[rated] > 0)]
    share = (1 - counts.of_label[rows] / total[rows]).astype(float)
    off = np.abs(share - said.rate[rows])
    far = off > _SURE
    far[far] = off[far] > _allowed(said.rate[rows[far]])
    for i, own in zip(rows[far].tolist(), share[far].tolist(), strict=True):
        expected = f"the share of counts that are not {show(classes[said.label[i]])}, {own:.6g}"
        yield draft.problem(i, "error_rate", expected, show(float(said.rate[i])))


def _share_problems(draft: Draft, counts: _Counts, publication: Publication) -> Iterator[_Found]:
    """Shares of classes that other statements about a node cannot have, within the rounding of their digits."""
    said, total = counts.said, counts.total
    if not said.shares:
        return
    held, classes = Shares.of(said.shares, publication.classes), publication.classes
    unit, size = 2 * held.off / np.diff(held.ends), max(1, 2**20 // len(classes))
    exact = publication.same_records
    for first in range(0, len(held.rows), size):
        rows, units = held.rows[first : first + size], unit[first : first + size]
        share = np.zeros((len(rows), len(classes)))
        at = slice(held.ends[first], held.ends[first + len(rows)])
        share[np.repeat(np.arange(len(rows)), np.diff(held.ends)[first : first + size]), held.classes[at]] = held.share[
            at
        ]
        label, rate, most = said.label[rows], said.rate[rows], share.max(axis=1)
        labelled, hit = label != NOTHING, share[np.arange(len(rows)), label]
        less = labelled & (hit < most - units) & (not publication.decided)
        missed = labelled & ~less & (np.abs(1 - hit - rate) > units)
        off = np.zeros_like(share, bool)
        counted = np.flatnonzero(total[rows] > 0) if exact else np.zeros(0, np.int64)
        own = said.take(rows[counted]).table(len(classes)) / total[rows[counted], None]
        off[counted] = np.abs((own - share[counted]).astype(float)) > units[counted, None]
        none = (said.n[rows] == 0) & exact
        for x in np.flatnonzero(none | less | missed | off.any(axis=1)).tolist():
            i = int(rows[x])
            if none[x]:
                yield draft.problem(i, "rates", "no rates of a node without records", "n 0")
            if less[x]:
                stating = said.shares[i] or {}
                best = listing(c for c, each in stating.items() if each == most[x])
                expected = f"a most frequent class of rates ({best}: {most[x]:.6g})"
                yield draft.problem(i, "label", expected, f"{show(classes[label[x]])}, which has {hit[x]:.6g}")
            elif missed[x] and abs(1 - hit[x] - rate[x]) > units[x] + _rounding(rate[x]):
                expected = f"1 less the rate of {show(classes[label[x]])}, {1 - hit[x]:.6g}"
                yield draft.problem(i, "error_rate", expected, show(float(rate[x])))
            for c in np.flatnonzero(off[x]).tolist():
                stating_counts = said.take(rows[x : x + 1]).table(len(classes))[0, c]
                expected = f"the share of counts, {stating_counts / total[i]:.6g}"
                yield draft.problem(i, f"rates of {name(classes[c])}", expected, show(float(share[x, c])))


def _rounding(value: float) -> float:
    """Half a unit of the last digit that a published number was printed with."""
    return 0.5 * 10.0 ** -max(decimals(value), 1)


def _allowed(rates: FloatArray) -> FloatArray:
    """By how much each error rate may be off: the rounding of its digits, and a little."""
    distinct, which = np.unique(rates, return_inverse=True)
    return np.array([_rounding(rate) + _SURE for rate in distinct.tolist()], np.float64)[which]


def _summed(key: IntArray, count: IntArray, size: int) -> FloatArray:
    """Sums of whole numbers by a key, shape (size,), as floats or, where these would round, as Python's own."""
    if float(count.sum(dtype=np.float64)) < LARGEST_COUNT:
        return np.asarray(np.bincount(key, count.astype(np.float64), size), np.float64)
    found = np.zeros(size, object)
    np.add.at(found, key, count.astype(object))
    return found


# Links between nodes.


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Which nodes lead where: ``child`` of each branch and ``parent`` of each node, `NOTHING` for nothing usable.

    ``removed``, shape (n_branches,): whether branches lead to leaves that were removed. ``reached``, shape (n_nodes,):
    whether the root of its tree leads to a node. ``problems``: links that are no tree.
    """

    child: IntArray
    parent: IntArray
    removed: BoolArray
    reached: BoolArray
    problems: tuple[_Found, ...] = ()

    @classmethod
    def of(cls, draft: Draft, child: IntArray, removed: BoolArray, problems: Iterable[_Found] = ()) -> Links:
        """The links of branches that lead to different nodes, none to a root."""
        nodes, tree_ends = draft.nodes, draft.tree_ends
        parent = np.full(len(nodes.ids), NOTHING)
        led = np.flatnonzero(child >= 0)
        parent[child[led]] = np.repeat(np.arange(len(nodes.ids)), np.diff(nodes.branch_ends))[led]
        roots = np.zeros(len(nodes.ids), bool)
        roots[tree_ends[:-1][np.diff(tree_ends) > 0]] = True
        return cls(child, parent, removed, roots[_nearest(parent, roots)], tuple(problems))

    def nearest(self, stop: BoolArray) -> IntArray:
        """The nearest node at or above each that is one of some, or has no parent."""
        return _nearest(self.parent, stop)


def _nearest(parent: IntArray, stop: BoolArray) -> IntArray:
    """As `Links.nearest`: each step goes twice as far up."""
    up = np.where(stop | (parent == NOTHING), np.arange(len(parent)), parent)
    for _ in range(len(parent).bit_length()):
        further = up[up]
        if np.array_equal(further, up):
            break
        up = further
    return up


def links_of(draft: Draft) -> Links:
    """The links of all trees; problems are dangling and shared children, cycles, and nodes without a parent."""
    nodes, ends = draft.nodes, draft.tree_ends
    parents = np.ones(len(nodes.ids), np.int64)
    parents[ends[:-1][np.diff(ends) > 0]] = 0
    kids = nodes.child[nodes.child >= 0]
    off = np.bincount(kids, minlength=len(nodes.ids)) != parents
    found = Links.of(draft, nodes.child, nodes.child == NOTHING)
    wrong = np.concatenate([np.flatnonzero(off | ~found.reached), _owner(nodes)[nodes.child < NOTHING]])
    if not len(wrong):
        return found
    child, removed, problems = nodes.child.copy(), found.removed.copy(), []
    for tree in np.unique(np.searchsorted(ends, wrong, side="right") - 1).tolist():
        begin, end = ends[[tree, tree + 1]].tolist()
        first, last = nodes.branch_ends[[begin, end]].tolist()
        found_here, below = _tree_links(draft, begin, end)
        problems += found_here
        child[first:last] = [NOTHING if j is None else begin + j for some in below for j in some]
        removed[first:last] = [called is None for called in draft.names(first, last)]
    return Links.of(draft, child, removed, problems)


def _owner(nodes: Columns) -> IntArray:
    """The node of each branch, shape (n_branches,)."""
    return np.repeat(np.arange(len(nodes.ids)), np.diff(nodes.branch_ends))


def _tree_links(draft: Draft, begin: int, end: int) -> tuple[list[_Found], list[tuple[int | None, ...]]]:
    """What is wrong with the links of a tree, and the children of its nodes by branch, None for nothing usable."""
    problems: list[_Found] = []
    ids, nodes = draft.nodes.ids[begin:end], draft.nodes
    branch_ends = nodes.branch_ends[begin : end + 1].tolist()
    position: dict[str, int] = {}  # the first of several nodes with the same id is the one that counts
    for i, identity in enumerate(ids):
        if (first := position.setdefault(identity, i)) != i and identity:
            found = f"{show(identity)} for nodes number {first + 1} and {i + 1}"
            problems.append(draft.problem(begin + i, "id", "an id that no other node of the tree has", found))
    owner: list[tuple[int, int] | None] = [None] * len(ids)
    children: list[tuple[int | None, ...]] = []
    extra: list[tuple[int, int, int]] = []
    for i, (first, last) in enumerate(pairwise(branch_ends)):
        below: list[int | None] = []
        for b, child in enumerate(draft.names(first, last)):
            j = position.get(child) if child else None
            if child is not None and j is None:
                expected = "the id of a node of this tree, or null for a removed leaf"
                problems.append(draft.problem(begin + i, "child", expected, show(child), b))
            elif j is not None and (j == 0 or owner[j] is not None):
                extra.append((i, b, j))
                j = None
            elif j is not None:
                owner[j] = (i, b)
            below.append(j)
        children.append(tuple(below))
    order = _preorder(children)
    spans = _spans(children, order)
    for i, b, j in extra:
        problems.append(_extra(draft, begin, (i, b, j), owner[j], spans))
    if len(order) < len(ids):
        problems += _unreached(draft, begin, owner, position, set(order))
    return problems, children


def _preorder(children: Sequence[tuple[int | None, ...]]) -> tuple[int, ...]:
    """The nodes below the root, parents first; without recursion, since trees may be very deep."""
    order: list[int] = []
    stack = [0]
    while stack:
        i = stack.pop()
        order.append(i)
        if children[i]:
            stack.extend([j for j in reversed(children[i]) if j is not None])
    return tuple(order)


def _spans(children: Sequence[tuple[int | None, ...]], order: Sequence[int]) -> dict[int, tuple[int, int]]:
    """For each reached node the range of preorder numbers of its subtree."""
    start = {i: number for number, i in enumerate(order)}
    size: dict[int, int] = {}
    for i in reversed(order):
        size[i] = 1 + sum(size[j] for j in children[i] if j is not None)
    return {i: (start[i], start[i] + size[i]) for i in order}


def _extra(
    draft: Draft,
    begin: int,
    link: tuple[int, int, int],
    first: tuple[int, int] | None,
    spans: Mapping[int, tuple[int, int]],
) -> _Found:
    """A branch that leads to the root, or to a node that already has a parent."""
    i, b, j = link
    (low, high), (number, _) = spans.get(j, (0, 0)), spans.get(i, (-1, -1))
    called = show(draft.nodes.ids[begin + j])
    if low <= number < high:
        expected = "a node that is not above this branch"
        found = f"{called}, {'the root, ' if j == 0 else ''}which closes a cycle"
    elif first is None:
        expected, found = "a node other than the root", f"{called}, the root"
    else:
        expected = "a node that is the child of no other branch"
        found = f"{called}, already the child of {draft.place(begin + first[0])}, branch {first[1] + 1}"
    return draft.problem(begin + i, "child", expected, found, b)


def _unreached(
    draft: Draft,
    begin: int,
    owner: Sequence[tuple[int, int] | None],
    position: Mapping[str, int],
    reached: Set[int],
) -> Iterator[_Found]:
    """Nodes without a parent, and cycles apart from the root; what hangs below those follows from them."""
    walk_of: dict[int, int] = {}
    for start in range(len(owner)):
        i = start
        while i not in reached and i not in walk_of:
            walk_of[i] = start
            parent, called = owner[i], draft.nodes.ids[begin + i]
            if parent is None:
                # Without a usable id of its own a node cannot be anyone's child: that is noted already.
                if called and position[called] == i:
                    expected = "a node that some branch leads to, as for every node but the first (the root)"
                    yield draft.problem(begin + i, "id", expected, f"no branch with child {show(called)}")
                break
            i = parent[0]
            if walk_of.get(i) == start:
                expected = "a parent that the root leads to"
                found = f"a cycle of nodes apart from the root, through {show(draft.nodes.ids[begin + i])}"
                yield draft.problem(begin + i, "branches", expected, found)


# Whether nodes agree with what is stated below them, and roots with each other.


@dataclass(frozen=True, slots=True, eq=False)
class Below:
    """What is stated below some nodes: by the nearest nodes below that state it, wherever these are.

    ``rows``: the nodes that are told something by others, increasing. ``told``, ``by``: such nodes, by their positions
    in ``rows``, and who tells them. ``unseen``, shape (n_nodes,): whether records below a node are stated nowhere.
    """

    rows: IntArray
    told: IntArray
    by: IntArray
    unseen: BoolArray

    @classmethod
    def of(cls, draft: Draft, links: Links, stating: BoolArray) -> Below:
        """What nodes that state something tell the nearest above that state it, too, or have no parent."""
        nodes, size = draft.nodes, len(draft.nodes.ids)
        top = links.nearest(stating)
        by = np.flatnonzero(stating & links.reached & (links.parent != NOTHING))
        above, asked = top[links.parent[by]], np.zeros(size, bool)
        asked[above] = True
        unseen = np.zeros(size, bool)
        unseen[top[~stating & links.reached & (np.diff(nodes.branch_ends) == 0)]] = True
        cut = np.searchsorted(nodes.branch_ends, np.flatnonzero(nodes.child == NOTHING), side="right") - 1
        unseen[top[cut]] = True
        return cls(np.flatnonzero(asked), (np.cumsum(asked) - 1)[above], by, unseen)


class Tally(NamedTuple):
    """Records seen at or below a node, ``counts`` those above 0; None: nothing is known. Exact: no others are there."""

    counts: Mapping[str, int] | None = None
    counts_exact: bool = False
    n: int | None = None
    n_exact: bool = False


_Root = tuple[int, Tally, bool]  # a root, what is known of its records, whether no leaf was removed


def _sum_problems(
    draft: Draft, links: Links, told: _Counts, publication: Publication, roots: list[_Root]
) -> Iterator[_Found]:
    """Inner nodes whose children's records do not sum to theirs; ``roots`` are told."""
    if publication.rounded is not None:
        if UNREAD not in (publication.rounded.base, publication.suppressed_below):
            yield from _rounded_problems(draft, links, publication)
        return
    said, classes, exact = told.said, publication.classes, not publication.suppressed
    below, n_classes = Below.of(draft, links, said.counted), len(classes)
    theirs, mine, cells = _counts_below(said, below, n_classes)

    def by_cell(of_row: BoolArray) -> BoolArray:
        return np.repeat(of_row, n_classes) if cells is None else of_row[cells // n_classes]

    full = exact & ~below.unseen[below.rows]
    wrong = (theirs != mine) & by_cell(full) if full.any() else np.zeros(len(theirs), bool)
    wrong = np.flatnonzero((wrong | (theirs > mine)) & by_cell(said.counted[below.rows]))
    row, c = np.divmod(wrong if cells is None else cells[wrong], max(n_classes, 1))
    noted, first = np.unique(row, return_index=True)
    for r, here in zip(noted.tolist(), np.split(np.arange(len(row)), first[1:]), strict=bool(len(noted))):
        i = int(below.rows[r])
        for x in here[:3].tolist():
            expected = _sum_of_children(int(theirs[wrong[x]]), bool(full[r]))
            yield draft.problem(i, f"counts of {name(classes[c[x]])}", expected, str(int(mine[wrong[x]])))
        if len(here) > 3:
            found = f"{len(here) - 3} more classes that do not"
            yield draft.problem(i, "counts", "counts that agree with the children's", found)
    size = np.where(said.counted & exact, told.total, said.n)
    sized = below if np.array_equal(size != NOTHING, said.counted) else Below.of(draft, links, size != NOTHING)
    sums = _summed(sized.told, size[sized.by], len(sized.rows))
    n, whole = size[sized.rows], exact & ~sized.unseen[sized.rows]
    less = (n != NOTHING) & ((sums > n) | ((sums != n) & whole)) & ~np.isin(sized.rows, below.rows[noted])
    for r in np.flatnonzero(less).tolist():
        yield draft.problem(int(sized.rows[r]), "n", _sum_of_children(int(sums[r]), bool(whole[r])), str(int(n[r])))
    for begin, end in pairwise(draft.tree_ends.tolist()):
        if begin == end:
            continue
        counts: dict[str, int] | None = None
        if said.counted[begin]:
            own = slice(said.count_ends[begin], said.count_ends[begin + 1])
            counts = dict(zip((classes[x] for x in said.count_class[own]), said.count[own].tolist(), strict=True))
        elif (r := int(np.searchsorted(below.rows, begin))) < len(below.rows) and below.rows[r] == begin:
            span = np.array([r, r + 1]) * n_classes
            at = range(*(span if cells is None else np.searchsorted(cells, span)).tolist())
            named = range(n_classes) if cells is None else (cells[at.start : at.stop] - span[0]).tolist()
            counts = {classes[k]: int(theirs[x]) for k, x in zip(named, at, strict=True) if theirs[x]}
        records = None if size[begin] == NOTHING else int(size[begin])
        r = int(np.searchsorted(sized.rows, begin))
        if records is None and r < len(sized.rows) and sized.rows[r] == begin:
            records = int(sums[r])
        seen = counts is not None and exact and bool(said.counted[begin] or not below.unseen[begin])
        complete = records is not None and exact and bool(size[begin] != NOTHING or not sized.unseen[begin])
        first, last = draft.nodes.branch_ends[[begin, end]].tolist()
        tally = Tally(counts, seen, records, complete)
        roots.append((begin, tally, not links.removed[first:last].any()))


def _counts_below(said: Statements, below: Below, n_classes: int) -> tuple[FloatArray, FloatArray, IntArray | None]:
    """Sums of what is told, and what those who are told state themselves, by cells ``row * n_classes + class``.

    The cells come last: None for all, or, where most are empty, the ones that something is stated of.
    """
    n_told, n_stated = (np.diff(said.count_ends)[nodes].sum() for nodes in (below.by, below.rows))
    size, cells = len(below.rows) * n_classes, None
    if size > 4 * (n_told + n_stated) + 1_000:
        keys = (_cells(said, nodes, rows, n_classes)[0] for nodes, rows in _tellers(below))
        cells = np.unique(np.concatenate([*keys]))
        size = len(cells)
    exact = float(said.count.sum(dtype=np.float64)) < LARGEST_COUNT
    sums = []
    for tellers, rows in _tellers(below):
        found = np.zeros(size, float if exact else object)
        for first in range(0, len(tellers), TOGETHER):
            some = slice(first, first + TOGETHER)
            key, count = _cells(said, tellers[some], rows[some], n_classes)
            np.add.at(found, key if cells is None else np.searchsorted(cells, key), count)
        sums.append(found)
    return sums[0], sums[1], cells


TOGETHER = 2**16  # nodes whose counts are added at the same time


def _tellers(below: Below) -> tuple[tuple[IntArray, IntArray], tuple[IntArray, IntArray]]:
    """Nodes that tell others, and nodes that are told, with the rows that they are about."""
    return (below.by, below.told), (below.rows, np.arange(len(below.rows)))


def _cells(said: Statements, nodes: IntArray, rows: IntArray, n_classes: int) -> tuple[IntArray, IntArray]:
    """The cells that counts of some nodes are about, and the counts."""
    start, end = said.count_ends[nodes], said.count_ends[nodes + 1]
    at = ranges(start, end)
    return np.repeat(rows, end - start) * n_classes + said.count_class[at], said.count[at]


def _sum_of_children(total: int, exact: bool) -> str:
    """Bounds of a number of the parent from its children."""
    return f"the sum of its children, {total}" if exact else f"at least what its children state, {total}"


def _root_problems(draft: Draft, roots: Sequence[_Root], publication: Publication) -> Iterator[Problem]:
    """Trees that were grown on different records, unless each had a sample of its own."""
    if publication.resampled not in (None, UNREAD):
        for root, tally, whole in roots:
            if whole and tally.n_exact and tally.n != publication.resampled:
                expected = f"as many draws as release.resampled says, {publication.resampled}"
                yield Problem(draft.place(root), "n", expected, str(tally.n))
    if publication.sampled or publication.suppressed:
        return
    counted = [(root, tally) for root, tally, whole in roots if whole and tally.counts_exact]
    sized = [(root, tally) for root, tally, whole in roots if whole and tally.n_exact]
    differing = set()
    for root, tally in counted[1:]:
        if tally.counts != counted[0][1].counts:
            differing.add(root)
            expected = f"the counts of {draft.place(counted[0][0])}, {_pairs(publication, counted[0][1])}"
            yield Problem(draft.place(root), "counts", expected, _pairs(publication, tally))
    for root, tally in sized[1:]:
        if tally.n != sized[0][1].n and root not in differing:
            expected = f"as many records as {draft.place(sized[0][0])}, {sized[0][1].n}"
            yield Problem(draft.place(root), "n", expected, str(tally.n))


def _pairs(publication: Publication, tally: Tally) -> str:
    """Counts with their classes, the first few."""
    counts = tally.counts or {}
    return listing(f"{label}: {counts.get(label, 0)}" for label in publication.classes)


# Whether rounded numbers of a tree can be those of records: each by itself, and nodes with their children.

Disagreement = tuple[int, str, str, str]  # a node, its field, what was expected there, and what was found


def _rounded_problems(draft: Draft, links: Links, publication: Publication) -> Iterator[_Found]:
    """Rounded numbers that disagree, tree by tree."""
    for begin, end in pairwise(draft.tree_ends.tolist()):
        if begin < end:
            tree = draft.nodes.between(begin, end)
            for i, key, expected, found in disagreements(tree, publication):
                yield draft.problem(begin + i, key, expected, found)


def _levels(nodes: Columns) -> list[IntArray]:
    """The nodes of each depth that the root leads to, the root first."""
    levels, level = [], np.zeros(1, np.int64)
    while len(level):
        levels.append(level)
        below = nodes.child[ranges(nodes.branch_ends[level], nodes.branch_ends[level + 1])]
        level = below[below != NOTHING]
    return levels


def disagreements(nodes: Columns, publication: Publication) -> Iterator[Disagreement]:
    """Numbers that are no multiples of the base, and those that no records can have that are rounded like this."""
    rounded, classes = publication.rounded, publication.classes
    said, branch_ends, child = nodes.statements, nodes.branch_ends, nodes.child
    assert rounded is not None
    wrong = [*_multiples(said, rounded, classes), *_too_few(said, rounded, publication)]
    if wrong:
        yield from wrong
        return
    check_size("nodes", len(said.label), len(classes) + 1)
    published = np.full((len(said.label), len(classes) + 1), NOTHING)  # of all classes together in the last column
    published[said.counted, :-1] = said.table(len(classes))[said.counted]
    published[:, -1] = said.n
    low, high = (
        np.zeros((len(said.label) + 1, len(classes) + 1)),
        np.full((len(said.label) + 1, len(classes) + 1), np.inf),
    )
    there = published != NOTHING
    for columns, sizes in ((slice(0, -1), False), (slice(-1, None), True)):
        told, limit = there[:, columns], publication.suppressed_below
        sides = behind(published[:, columns][told], limit, rounded, sizes=sizes)
        low[:-1, columns][told], high[:-1, columns][told] = sides
    label = np.full_like(said.label, NOTHING) if publication.decided else said.label.copy()
    if publication.suppressed:  # a suppressed label is one of most of what is not shown
        named = np.flatnonzero(said.counted & (label != NOTHING))
        label[named[published[named, label[named]] == 0]] = NOTHING
    yield from _within(label, classes, published, low, high)
    for level in reversed(_levels(nodes)):
        inner = level[branch_ends[level + 1] > branch_ends[level]]
        if not len(inner):
            continue
        start, end = branch_ends[inner], branch_ends[inner + 1]
        below = child[ranges(start, end)]  # the last row is that of removed leaves
        run = np.cumsum(end - start) - (end - start)
        least, most = (np.add.reduceat(side[below], run, axis=0) for side in (low, high))
        off = (low[inner] > most) | (high[inner] < least)
        for at, x in np.argwhere(off).tolist():
            node = int(inner[at])
            expected = f"what the sum of its children is rounded to, {_span(least[at, x], most[at, x])}"
            yield node, *_stated(published[node], x, expected, classes)
        low[inner] = np.where(off, low[inner], np.maximum(low[inner], least))
        high[inner] = np.where(off, high[inner], np.minimum(high[inner], most))
        _narrow(low, high, inner)


def _multiples(said: Statements, rounded: Rounded, classes: Sequence[str]) -> Iterator[Disagreement]:
    """Numbers that are no multiples of the base."""
    expected = f"a multiple of {rounded.base} (release.rounded)"
    for i in np.flatnonzero((said.n != NOTHING) & (said.n % rounded.base != 0)).tolist():
        yield i, "n", expected, str(said.n[i])
    off, owner = np.flatnonzero(said.count % rounded.base), said.owner
    for j in off.tolist():
        yield int(owner[j]), f"counts of {name(classes[said.count_class[j]])}", expected, str(said.count[j])


def _too_few(said: Statements, rounded: Rounded, publication: Publication) -> Iterator[Disagreement]:
    """Rounded counts that are too small: no number of records that was not suppressed is rounded to them."""
    if not publication.suppressed:
        return
    few = np.flatnonzero((said.count > 0) & (said.count + rounded.above < publication.suppressed_below))
    expected = f"0, or what at least {publication.suppressed_below} records are rounded to (release.suppressed_below)"
    for j in few.tolist():
        klass = name(publication.classes[said.count_class[j]])
        yield int(said.owner[j]), f"counts of {klass}", expected, str(said.count[j])


def _within(
    labels: IntArray, classes: Sequence[str], published: IntArray, low: FloatArray, high: FloatArray
) -> Iterator[Disagreement]:
    """Numbers of all classes that those of each contradict, and labels that cannot be of a most frequent class."""
    rows = np.arange(len(labels))
    sums = low[rows, :-1].sum(axis=1), high[rows, :-1].sum(axis=1)
    for i in np.flatnonzero(_narrow(low, high, rows)).tolist():
        expected = f"what the sum of counts is rounded to, {_span(sums[0][i], sums[1][i])}"
        yield i, *_stated(published[i], len(classes), expected, classes)
    for i in np.flatnonzero((labels != NOTHING) & (published[:, 0] != NOTHING)).tolist():
        label, best = int(labels[i]), int(published[i, :-1].argmax())
        if high[i, label] < low[i, best]:
            expected = f"a class that can be most frequent ({show(classes[best])}: {published[i, best]}, rounded)"
            yield i, "label", expected, f"{show(classes[label])}, which has {published[i, label]}"


def _stated(published: IntArray, column: int, expected: str, classes: Sequence[str]) -> tuple[str, str, str]:
    """A problem with the number of a class, or with that of all."""
    if column < len(classes):
        return f"counts of {name(classes[column])}", expected, str(published[column])
    if published[-1] != NOTHING:
        return "n", expected, str(published[-1])
    return "counts", expected, f"{published[:-1].sum()} in all"


def _narrow(low: FloatArray, high: FloatArray, rows: IntArray) -> BoolArray:
    """Narrow the records of all classes by those of each, in place; in which rows they contradict each other."""
    least, most = low[rows, :-1].sum(axis=1), high[rows, :-1].sum(axis=1)
    wrong: BoolArray = (least > high[rows, -1]) | (most < low[rows, -1])
    low[rows, -1] = np.where(wrong, low[rows, -1], np.maximum(low[rows, -1], least))
    high[rows, -1] = np.where(wrong, high[rows, -1], np.minimum(high[rows, -1], most))
    return wrong


def _span(least: float, most: float) -> str:
    """A range of records in words."""
    return f"{least:.0f} or more" if np.isinf(most) else f"{least:.0f} to {most:.0f}"


# Whether the branches of each node divide exactly the values that can reach it: the arrays tell for nearly all trees,
# and a walk says of the others what is wrong, if anything is.

# What can reach a node: values of a categorical attribute, or the interval low < value <= high of a numeric one and
# whether missing values can.
_Interval = tuple[float, float]
_Numbers = tuple[float, float, bool]
_Values = dict[str, None]  # a set that keeps the order of the document, for its messages
_Reach = _Values | _Numbers
_NOTHING: _Numbers = (inf, -inf, False)


def _branch_problems(draft: Draft, links: Links, *, sure: bool) -> Iterator[_Found]:
    """Branches that overlap, and values that can reach a node but that none of its branches covers.

    ``sure``: whether all tests and links could be read.
    """
    if sure and sound_splits(draft.nodes):
        return
    for begin, end in pairwise(draft.tree_ends.tolist()):
        tree = draft.nodes.between(begin, end)
        if begin < end and not (sure and sound_splits(tree)):
            problems: _Wrong = []
            _walk(problems, tuple(tree.nodes(np.arange(len(tree)))), tree, draft.content.attributes)
            for i, key, expected, found, branch in problems:
                yield draft.problem(begin + i, key, expected, found, branch)


_Wrong = list[tuple[int, str, str, str, int | None]]  # a node, its field, what was expected and found, and the branch


def _walk(problems: _Wrong, nodes: Sequence[Node], tree: Columns, attributes: Sequence[Attribute]) -> None:
    """Note what is wrong with the branches of a tree.

    One walk keeps what can still reach the node, undone on the way back, so that memory stays linear in the document.
    """
    ends, child = tree.branch_ends.tolist(), tree.child.tolist()
    reach: dict[str, _Reach] = {
        a.name: (-inf, inf, a.missing) if a.values is None else dict.fromkeys(a.values) for a in attributes
    }
    # Either enter node i with a new reach of one attribute, or (None) restore that attribute. The last entry
    # tells whether any record can get there at all: where none can, there is nothing to cover.
    stack: list[tuple[int | None, str, _Reach | None, bool]] = [(0, "", None, True)]
    while stack:
        i, title, new, alive = stack.pop()
        if new is not None:
            reach[title] = new
        if i is None or not nodes[i].branches:
            continue
        node = nodes[i]
        title = node.attribute or ""
        old = reach.get(title)
        if old is None:  # an attribute that could not be read
            steps: list[_Reach | None] = [None] * len(node.branches)
        elif isinstance(old, tuple):
            steps = list(_numeric(problems, i, node, old if alive else _NOTHING))
        else:
            steps = list(_categorical(problems, i, node, old if alive else {}))
        below = [
            (j, title, step, alive and not _is_empty(step))
            for j, step in zip(child[ends[i] : ends[i + 1]], steps, strict=True)
            if j != NOTHING and nodes[j].branches
        ]
        if below:
            stack.append((None, title, old, alive))
            stack += below


def _is_empty(reach: _Reach | None) -> bool:
    """Whether nothing is left that can reach a node."""
    if isinstance(reach, tuple):
        return not reach[0] < reach[1] and not reach[2]
    return reach is not None and not reach


def _categorical(problems: _Wrong, i: int, node: Node, reach: _Values) -> list[_Values]:
    """Check the branches of a categorical split; what reaches each child."""
    branch_of: dict[str, int] = {}
    for number, branch in enumerate(node.branches, 1):
        for value in branch.values or ():
            if branch_of.setdefault(value, number) != number:
                found = f"{show(value)}, also in branch {branch_of[value]}"
                expected = "values that no other branch names (no overlap)"
                problems.append((i, "in", expected, found, number - 1))
    steps = [reach if b.values is None else {v: None for v in b.values if v in reach} for b in node.branches]
    read = all(branch.values is not None for branch in node.branches)
    if read and sum(value in reach for value in branch_of) < len(reach):
        missing = [show(value) for value in islice((v for v in reach if v not in branch_of), 4)]
        found = "no branch for " + ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
        expected = f"branches that cover every value of {name(node.attribute or '')} that can reach the node"
        problems.append((i, "branches", expected, found, None))
    return steps


def _numeric(problems: _Wrong, i: int, node: Node, reach: _Numbers) -> list[_Numbers]:
    """Check the branches of a numeric split; what reaches each child."""
    if len(node.branches) == 2:
        one, other = node.branches
        if one.le is not None and one.gt is None and other.le is None and other.gt == one.le:
            _check_missing(problems, i, node, reach[2])
            return [
                (reach[0], min(one.le, reach[1]), reach[2] and bool(one.missing)),
                (max(one.le, reach[0]), reach[1], reach[2] and bool(other.missing)),
            ]
    _check_missing(problems, i, node, reach[2])
    sound = [(_interval(branch), b) for b, branch in enumerate(node.branches) if not _untested(branch)]
    in_order = sorted(sound)
    widest, first = in_order[0] if in_order else ((0.0, 0.0), 0)
    for interval, second in in_order[1:]:
        if interval[0] < widest[1]:
            found = f"{_words(interval)}, while branch {first + 1} has {_words(widest)}"
            expected = "an interval that no other branch meets (no overlap)"
            problems.append((i, "le, gt", expected, found, second))
        if interval[1] > widest[1]:
            widest, first = interval, second
    if len(sound) == len(node.branches):
        gaps, start = [], reach[0]
        for low, high in [*(interval for interval, _ in in_order), (reach[1], inf)]:
            if start < min(low, reach[1]):
                gaps.append((start, min(low, reach[1])))
            start = max(start, high)
        if gaps:
            expected = f"branches that cover every value of {name(node.attribute or '')} that can reach the node"
            found = "no branch for " + " or ".join(map(_words, gaps[:3])) + (" or ..." if len(gaps) > 3 else "")
            problems.append((i, "branches", expected, found, None))
    steps = [(*_interval(branch), bool(branch.missing)) for branch in node.branches]
    return [(max(low, reach[0]), min(high, reach[1]), reach[2] and missing) for low, high, missing in steps]


def _check_missing(problems: _Wrong, i: int, node: Node, reached: bool) -> None:
    """Note missing values that several branches take, or that can reach the node and that none takes."""
    taking = [b for b, branch in enumerate(node.branches, 1) if branch.missing]
    if len(taking) > 1:
        found = f"true, as for branch {taking[0]}"
        problems.append((i, "missing", "true for one branch only", found, taking[1] - 1))
    elif reached and not taking:
        expected = (
            f"a branch with missing: true, as {name(node.attribute or '')} has missing values that can reach the node"
        )
        problems.append((i, "branches", expected, "none", None))


def _untested(branch: Branch) -> bool:
    """Whether the test of a numeric branch could not be read."""
    return branch.le is None and branch.gt is None and branch.missing is None


def _interval(branch: Branch) -> _Interval:
    """The numbers low < value <= high of a numeric branch, none of one that only takes missing values."""
    if branch.missing and branch.le is None and branch.gt is None:
        return inf, inf
    return (-inf if branch.gt is None else branch.gt, inf if branch.le is None else branch.le)


def _words(interval: _Interval) -> str:
    """An interval as a document would state it."""
    low, high = interval
    bounds = [f"gt {low!r}"] * (low > -inf) + [f"le {high!r}"] * (high < inf)
    return " and ".join(bounds) or "every value"


DEEPEST = 5_000  # levels of trees that are looked at level by level
SPLITS_MOST_CELLS = 200_000_000  # nodes times values that are looked at in all
BLOCK = 4_000_000  # nodes times values that are looked at together


class Deep(LookupError):
    """A tree is too deep to be looked at level by level; nowhere shown."""


@dataclass(frozen=True, slots=True, eq=False)
class _AboveNodes:
    """The node of each branch (``owner``), and the branch that leads to each node, `NOTHING` for roots."""

    nodes: Columns
    owner: IntArray
    leads: IntArray

    def branches(self, place: IntArray, attribute: int) -> Iterator[tuple[IntArray, IntArray]]:
        """The branches of an attribute on the ways from some nodes up to their roots, step by step."""
        rows, up = np.arange(len(place)), self.leads[place]
        for _ in range(DEEPEST):
            if not len(rows := rows[up != NOTHING]):
                return
            up = up[up != NOTHING]
            node = self.owner[up]
            same = self.nodes.attribute[node] == attribute
            if same.any():
                yield rows[same], up[same]
            up = self.leads[node]
        raise Deep


def sound_splits(nodes: Columns) -> bool:
    """Whether the branches of every inner node are sure not to overlap, and to cover what can reach it."""
    leads = np.full(len(nodes.ids), NOTHING)
    led = np.flatnonzero(nodes.child != NOTHING)
    leads[nodes.child[led]] = led
    above = _AboveNodes(nodes, _owner(nodes), leads)
    try:
        return all(_is_sound_split(above, j) for j in np.unique(nodes.attribute).tolist() if j != NOTHING)
    except Deep:
        return False


def _is_sound_split(above: _AboveNodes, j: int) -> bool:
    """As `sound_splits`, of the nodes that test an attribute."""
    place, domain = np.flatnonzero(above.nodes.attribute == j), above.nodes.attributes[j].values
    return _halved(above, j, place) if domain is None else _valued(above, j, place, len(domain))


def _halved(above: _AboveNodes, attribute: int, place: IntArray) -> bool:
    """Whether the nodes that test a numeric attribute divide its numbers."""
    nodes = above.nodes
    if not _take_missing(above, attribute, place):
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


def _take_missing(above: _AboveNodes, attribute: int, place: IntArray) -> bool:
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


def _valued(above: _AboveNodes, attribute: int, place: IntArray, size: int) -> bool:
    """Whether the nodes that test a categorical attribute, of so many values, divide those that can reach them."""
    if len(place) * size > SPLITS_MOST_CELLS:
        return False
    step = max(BLOCK // size, 1)
    return all(_divided(above, attribute, place[i : i + step], size) for i in range(0, len(place), step))


def _divided(above: _AboveNodes, attribute: int, place: IntArray, size: int) -> bool:
    """As `_valued`, of a block of nodes."""
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


# Whether parts of leaves, scores and moments are where they may be.


def _part_problems(draft: Draft) -> Iterator[_Found]:
    """Parts of a leaf of the tool that state more than its label, which is no most frequent class of a part."""
    nodes, labels, classes = draft.nodes, draft.content.labels, (*draft.content.target.classes, None)
    if not nodes.parts:
        return
    part, there = _there(nodes.parts, len(nodes.ids)), _stating(nodes)
    told = np.any([there[key] for key in _OF_RECORDS], axis=0)
    for begin, end in pairwise(draft.tree_ends.tolist()):
        if not part[begin:end].any():
            continue
        inner = nodes.attribute[begin:end] != NOTHING
        inner[0] = False
        for i in (begin + np.flatnonzero(told[begin:end] & (part[begin:end] | inner))).tolist():
            where = "beside part_of" if part[i] else "on an inner node but the root, beside leaves with part_of"
            for key in _OF_RECORDS:
                if there[key][i]:
                    shown = show(getattr(draft.node(i), key))
                    yield draft.problem(i, key, f"no such key {where}: it would tell parts apart", shown)
        first: dict[str | None, str | None] = {}
        for i in (begin + np.flatnonzero(part[begin:end])).tolist():
            whole, label = nodes.parts[i], classes[nodes.statements.label[i]]
            if label is not None and labels != "decided":
                expected = "the key labels of the document to be 'decided' beside part_of"
                yield draft.problem(i, "label", expected, show(labels))
            if first.setdefault(whole, label) != label:
                expected = f"that of the other parts of {name(whole or '')}, {show(first[whole])}"
                yield draft.problem(i, "label", expected, show(label))


def _score_problems(draft: Draft) -> Iterator[_Found]:
    """Leaves of a tree of scores without one, or whose score is of no class, or of that of the tree and others."""
    nodes, trees = draft.nodes, draft.content.trees
    one, more = ~np.isnan(nodes.value), several(nodes)
    named = np.repeat(np.array([tree.of_class is not None for tree in trees], bool), np.diff(draft.tree_ends))
    for i in np.flatnonzero((nodes.attribute == NOTHING) & ~np.where(named, one, more)).tolist():
        of_class = trees[draft.tree_of(i)].of_class
        if not (one[i] or more[i]):
            yield draft.problem(i, "value", "a score, since the release predicts by scores", "nothing")
        elif of_class:
            known = f"one number, as the scores of its tree are of {show(of_class)}"
            yield draft.problem(i, "value", known, "several")
        else:
            yield draft.problem(
                i, "value", "a number for each class, or one number and the class of its tree", "one number"
            )


_ROUNDED = 1e-6  # by how much, relative to the numbers, a mean that was printed may lie outside of them


def _moment_problems(draft: Draft) -> Iterator[_Found]:
    """Means and variances without a numeric target, a variance without a mean, and a mean that no class can have."""
    nodes, numbers = draft.nodes, draft.content.target.numbers
    if nodes.mean is None and nodes.variance is None:
        return
    has_mean, has_variance = stated(nodes.mean, len(nodes.ids)), stated(nodes.variance, len(nodes.ids))
    if nodes.mean is None or numbers is None:
        expected = "none, since the target has no numbers" if numbers is None else "a mean beside the variance"
        for i in np.flatnonzero(has_mean | has_variance).tolist():
            mean = draft.node(i).mean
            yield draft.problem(i, "mean", expected, show(mean) if numbers is None else "nothing")
        return
    low, high = min(low for low, _ in numbers), max(high for _, high in numbers)
    finite = max((abs(end) for end in (low, high) if np.isfinite(end)), default=0.0)
    slack = _ROUNDED * np.maximum(finite, np.abs(nodes.mean))
    far = has_mean & ~((low - slack <= nodes.mean) & (nodes.mean <= high + slack))
    for i in np.flatnonzero(far | (has_variance & ~has_mean)).tolist():
        if has_mean[i]:
            yield draft.problem(i, "mean", f"a number from {low:g} to {high:g}", show(float(nodes.mean[i])))
        else:
            yield draft.problem(i, "mean", "a mean beside the variance", "nothing")


# Releases that keep every rule.


class _Noted(list[Problem]):
    """Problems of a document, refused when there are `MOST_PROBLEMS`: each takes far more memory than two brackets."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self._source = source

    def append(self, problem: Problem) -> None:
        super().append(problem)
        if len(self) >= MOST_PROBLEMS:
            raise InvalidInput(self._source, self)


def checked_release(document: object, source: str, trees: Sequence[object] | None = None) -> Content:
    """The release that a decoded document describes; ``trees`` in place of its own, each read when it is its turn."""
    problems: list[Problem] = _Noted(source)
    draft = read_draft(document, problems, trees)
    if draft is not None:
        for problem in problems_of(draft, doubtful=bool(problems)):
            problems.append(problem)
    if problems or draft is None:
        raise InvalidInput(source, problems)
    return draft.release


def read_draft(document: object, problems: list[Problem], trees: Sequence[object] | None = None) -> Draft | None:
    """A decoded document as far as it can be read; None when nothing further can be said about it."""
    head = parse_head(document, problems)
    if head is None:
        return None
    fields, content, names = head
    raws = fields.items("trees", "trees") if trees is None else trees
    codes, heads = Codes.of(content), []
    batches: list[Batch] = []
    for number, raw in enumerate(raws, 1):
        tree, nodes = parse_tree(problems, f"tree {number}" if len(raws) > 1 else "", raw, names)
        heads.append(tree)
        size = BATCH
        while size == BATCH:
            size = len(some := list(islice(nodes, BATCH)))
            batches.append(batch_of(some, [size] if size < BATCH else [], codes))
    read = joined(batches or [batch_of((), [], codes)])
    draft = draft_of(replace(content, trees=tuple(heads)), read)
    if not problems:
        return draft
    unread = Attribute("", "numeric")  # of nodes whose own could not be read
    return replace(draft, nodes=replace(draft.nodes, attributes=(*content.attributes, unread)))


def draft_of(content: Content, read: Batch) -> Draft:
    """A release whose trees are without their nodes, and these."""
    nodes = linked(read)
    return Draft(content, nodes, read.tree_ends, read.children if (nodes.child == UNLINKED).any() else ())


def check_in_memory(
    release: Content, head: Mapping[str, object], heads: Sequence[dict[str, object]], source: str
) -> bool:
    """Refuse a release of arrays that break a rule; whether its nodes are arrays, each as a document could have it.

    ``head`` and ``heads`` are the document and its trees without nodes.
    """
    trees = [tree.nodes.columns for tree in release.trees if isinstance(tree.nodes, Nodes)]
    if len(trees) < len(release.trees) or not all(_is_plain(nodes, release) for nodes in trees):
        return False
    problems: list[Problem] = []
    parsed = parse_head(head, problems)
    if parsed is None or problems:
        return False
    _, content, names = parsed
    different = {repr(each): each for each in heads}
    read = {key: parse_tree_head(Fields(problems, "", each, HEAD), "", names) for key, each in different.items()}
    nodes, ends = all_nodes(trees), run_ends(np.array([len(nodes.ids) for nodes in trees], np.int64))
    if problems or not are_each_sound(nodes, content.noise):
        return False
    draft = Draft(replace(content, trees=tuple(read[repr(each)] for each in heads)), nodes, ends)
    problems += islice(problems_of(draft), MOST_PROBLEMS)
    if problems:
        raise InvalidInput(source, problems)
    return True


HEAD = ("induction", "weight", "class")  # keys of a tree besides its nodes


def _is_plain(nodes: Columns, release: Content) -> bool:
    """Whether nodes have the attributes and classes of their release, and different names."""
    mine = [(attribute.name, attribute.type, attribute.values, attribute.missing) for attribute in nodes.attributes]
    if mine != [(a.name, a.type, a.values, a.missing) for a in release.attributes]:
        return False
    return tuple(nodes.classes) == release.target.classes and all(nodes.ids) and len(set(nodes.ids)) == len(nodes.ids)
