"""Nodes as they are written in `maxent/1` documents, gathered into columns of arrays, and whether each is sound.

Both decoders, `maxent.models.formats.maxent_json.typed` and the one that words what is wrong, give these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise
from typing import Any

import numpy as np

from maxent.models.arguments import LARGEST_COUNT
from maxent.models.arrays import BoolArray, FloatArray, IntArray, ranges, run_ends
from maxent.models.columns import NOTHING, Columns, Statements, check_size
from maxent.models.release import AddedNoise, Content
from maxent.models.trees.printed_rates import decimals

NAN = float("nan")
SINGLE = 1e-6  # by how much shares that were computed in single precision may miss a sum of 1
BATCH = 2**11  # nodes that are objects at the same time: few enough for the caches of a processor

UNLINKED = -2  # in place of the child of each branch of a tree whose links are not sure to be sound


class Doubtful(LookupError):
    """Something may be wrong with a document; nowhere shown."""


@dataclass(frozen=True, slots=True)
class Codes:
    """Numbers of names. The attribute of nodes whose own could not be read comes last, `None`."""

    content: Content
    attributes: Mapping[str | None, int]
    classes: Mapping[str, int]
    values: tuple[Mapping[str, int] | None, ...]
    no_records: dict[str, int]  # 0 for each class
    noisy: bool

    @classmethod
    def of(cls, content: Content) -> Codes:
        """The numbers that the head of a document gives."""

        def numbered(names: Iterable[str]) -> dict[str, int]:
            return {name: i for i, name in enumerate(names)}

        titles = [attribute.name for attribute in content.attributes]
        domains = [attribute.values for attribute in content.attributes]
        attributes: dict[str | None, int] = {title: i for i, title in enumerate((*titles, None))}
        return cls(
            content,
            attributes | {"": NOTHING},
            numbered(content.target.classes) | {"": NOTHING},
            (*(None if domain is None else numbered(domain) for domain in domains), None),
            dict.fromkeys(content.target.classes, 0),
            content.noise is not None,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Some nodes as columns, with what their branches call their children in place of links; ``tree_ends`` among them.

    ``keys``: how many keys they have in a document.
    """

    nodes: Columns
    children: list[str | None]
    tree_ends: IntArray
    keys: int


def _codes(names: Iterable[str | None], codes: Mapping[Any, int], size: int) -> IntArray:
    """The numbers of names, `NOTHING` for empty ones; LookupError for one that has none."""
    return np.fromiter(map(codes.__getitem__, names), np.int64, size)


def _wholes(values: Sequence[int], size: int) -> IntArray:
    """Whole numbers, most often `NOTHING` everywhere: none at all stand for so many of it."""
    if values.count(NOTHING) == len(values):
        return np.broadcast_to(np.int64(NOTHING), (size,))
    return np.fromiter(values, np.int64, size)


def _reals(values: Sequence[float], size: int) -> FloatArray:
    """Numbers, often NaN everywhere, as `_wholes`: the default of what is written, one and the same object."""
    if values.count(NAN) == len(values):
        return np.broadcast_to(np.nan, (size,))
    return np.fromiter(values, np.float64, size)


def _seldom(values: Sequence[float]) -> FloatArray | None:
    """Numbers, None where there are none."""
    return None if values.count(NAN) == len(values) else np.fromiter(values, np.float64, len(values))


def _lengths(lists: Sequence[Sequence[object] | Mapping[str, int]]) -> IntArray:
    return np.fromiter(map(len, lists), np.int64, len(lists))


def batch_of(nodes: Sequence[Any], tree_ends: list[int], codes: Codes) -> Batch:
    """Nodes as columns, of `WrittenNode` or what is like it."""
    size = len(nodes)
    attribute = _codes([node.attribute for node in nodes], codes.attributes, size)
    labels = [node.label for node in nodes]
    label = _codes(labels, codes.classes, size) if any(labels) else np.full(size, NOTHING)
    n = _wholes([node.n for node in nodes], size)
    rate = _reals([node.error_rate for node in nodes], size)
    distinct = _wholes([node.distinct for node in nodes], size)
    values, counts = [node.value for node in nodes], [node.counts for node in nodes]
    rare: dict[str, Any] = {}
    named: list[Mapping[str, float]] = []
    if size and hasattr(nodes[0], "rates"):
        rare, named = _rarely_stated(nodes, values, codes)
        values = [NAN if isinstance(each, dict) else each for each in values]
        counts = [None] * size if codes.noisy else counts
    value = _reals(values, size)
    below = [node.branches for node in nodes]
    branches = list(chain.from_iterable(below))
    n_branches = _lengths(below)
    held = [each for each in counts if each is not None]
    counted = np.array([each is not None for each in counts], bool)
    n_counts, lengths = np.zeros(size, np.int64), _lengths(held)
    n_counts[counted] = lengths
    stated = int(lengths.sum())
    count_class = _codes(chain.from_iterable(held), codes.classes, stated)
    count = np.fromiter(chain.from_iterable(map(dict.values, held)), np.int64, stated)
    le = _reals([branch.le for branch in branches], len(branches))
    gt = _reals([branch.gt for branch in branches], len(branches))
    missing = _wholes([branch.missing for branch in branches], len(branches))
    lists = [branch.values for branch in branches]
    n_values = _lengths(lists)
    taken, value_ends = _values(lists, n_values, np.repeat(attribute, n_branches), codes)
    if (count_class == NOTHING).any() or not all(each.keys() <= codes.no_records.keys() for each in named):
        raise Doubtful
    keys = [size, 2 * int((attribute != NOTHING).sum()), stated, len(branches), sum(map(bool, labels))]
    numbers = (rate, value, le, gt, *(rare[key] for key in _SELDOM if rare.get(key) is not None))
    keys += [int((each == each).sum()) for each in numbers]
    keys += [int((each != NOTHING).sum()) for each in (n, distinct, missing)]
    keys += [int(counted.sum()), int((n_values > 0).sum()), len(named), sum(map(len, named))]
    keys.append(sum(part is not None for part in rare.get("parts", ())))
    some = count > 0
    n_counts = np.bincount(np.repeat(np.arange(size), n_counts)[some], minlength=size)
    shares = rare.pop("shares", ())
    ids, children = [node.id for node in nodes], [branch.child for branch in branches]
    branch_ends, count_ends = run_ends(n_branches), run_ends(n_counts)
    said = Statements(label, rate, n, distinct, counted, count_ends, count_class[some], count[some], shares)
    columns = Columns(
        codes.content.attributes,
        codes.no_records,
        ids,
        attribute,
        branch_ends,
        np.broadcast_to(np.int64(UNLINKED), (len(branches),)),
        le,
        gt,
        missing,
        value_ends,
        taken,
        value,
        said,
        **rare,
    )
    return Batch(columns, children, np.array(tree_ends, np.int64), sum(keys))


_SELDOM = ("hessian", "mean", "variance")


def _rarely_stated(
    nodes: Sequence[Any], values: Sequence[object], codes: Codes
) -> tuple[dict[str, Any], list[Mapping[str, float]]]:
    """Columns of `Batch` for what few documents state, and the objects among it that have classes as their keys."""
    scores = [each for each in values if isinstance(each, dict)]
    noisy = [node.counts for node in nodes] if codes.noisy else []
    shares, parts = [node.rates for node in nodes], [node.part_of or None for node in nodes]
    found: dict[str, Any] = {key: _seldom([getattr(node, key) for node in nodes]) for key in _SELDOM}
    found["scores"] = _scores(values, codes) if scores else None
    lists = {
        "shares": shares,
        "noisy": [each and {c: each[c] for c in codes.classes if c in each} for each in noisy],
        "parts": parts,
    }
    found |= {key: [] if held.count(None) == len(held) else held for key, held in lists.items()}
    return found, scores + [each for each in (*shares, *noisy) if each is not None]


def _scores(values: Sequence[object], codes: Codes) -> FloatArray:
    """What nodes add to the scores of several classes, NaN of others; shape (n_nodes, n_classes)."""
    size = len(codes.classes) - 1
    check_size("nodes", len(values), size)
    found = np.full((len(values), size), np.nan)
    for row, each in zip(found, values, strict=True):
        if isinstance(each, dict):
            if not each:
                raise Doubtful
            row[[codes.classes[label] for label in each]] = list(each.values())
    return found


def _values(
    lists: Sequence[Sequence[str]], n_values: IntArray, tested: IntArray, codes: Codes
) -> tuple[IntArray, IntArray]:
    """The numbers of the values of branches that test these attributes, and where those of each end."""
    order = np.argsort(tested, kind="stable")  # the branches attribute by attribute
    ends, last = run_ends(n_values), run_ends(n_values[order])
    found = np.zeros(ends[-1], np.int64)
    if not len(found):
        return found, ends
    places = ranges(ends[order], ends[order + 1])
    attributes, first = np.unique(tested[order], return_index=True)
    for j, (begin, end) in zip(attributes.tolist(), pairwise([*first.tolist(), len(order)]), strict=True):
        domain, own = codes.values[j], slice(last[begin], last[end])
        if domain is not None:
            named = chain.from_iterable([lists[b] for b in order[begin:end].tolist()])
            found[places[own]] = _codes(named, domain, int(own.stop - own.start))
    return found, ends


def joined(batches: Sequence[Batch]) -> Batch:
    """All batches as one."""
    if not batches:
        raise Doubtful
    before = accumulate([len(batch.nodes.ids) for batch in batches], initial=0)
    ends = [np.zeros(1, np.int64)]
    ends += [batch.tree_ends + start for batch, start in zip(batches, before, strict=False)]
    return Batch(
        all_nodes([batch.nodes for batch in batches]),
        list(chain.from_iterable(batch.children for batch in batches)),
        np.concatenate(ends),
        sum(batch.keys for batch in batches),
    )


def all_nodes(trees: Sequence[Columns]) -> Columns:
    """The nodes of several columns, of the same attributes and classes, one after the other."""
    if len(trees) == 1:
        return trees[0]
    sizes, said = [len(nodes.ids) for nodes in trees], [nodes.statements for nodes in trees]

    def joint(key: str, of: Sequence[object] = trees) -> Any:
        parts = [getattr(each, key) for each in of]
        if key.endswith("_ends"):
            return run_ends(np.concatenate([np.diff(part) for part in parts]))
        if key in _LISTED:
            lists = [part or [None] * size for part, size in zip(parts, sizes, strict=True)] if any(parts) else []
            return list(chain.from_iterable(lists))
        shape = next((part.shape[1:] for part in parts if part is not None), None)
        if shape is None:
            return None
        pairs = zip(parts, sizes, strict=True)
        return np.concatenate([np.full((size, *shape), np.nan) if part is None else part for part, size in pairs])

    starts = run_ends(np.array(sizes))
    child = [np.where(n.child < 0, n.child, n.child + start) for n, start in zip(trees, starts, strict=False)]
    own = {key: joint(key) for key in Columns.__slots__ if key not in _APART}
    statements = Statements(**{key: joint(key, said) for key in Statements.__slots__})
    ids = list(chain.from_iterable(nodes.ids for nodes in trees))
    first = trees[0]
    return Columns(first.attributes, first.classes, ids, child=np.concatenate(child), statements=statements, **own)


_LISTED = ("shares", "parts", "noisy")  # lists of what each node has, empty where none has any
_APART = ("attributes", "classes", "ids", "child", "statements")


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


def linked(read: Batch) -> Columns:
    """Nodes with children by their positions, `UNLINKED` in a tree where names are not of one node."""
    below = read.nodes.branch_ends[read.tree_ends].tolist()
    child = np.full(len(read.children), UNLINKED)
    ids: list[str] = []
    shared: dict[str, str] = {}
    several = len(below) > 2
    for tree, (begin, end) in enumerate(pairwise(read.tree_ends.tolist())):
        own = list(read.nodes.ids[begin:end])
        first, last = below[tree], below[tree + 1]
        # Trees of a forest name their nodes alike, as a rule.
        ids += map(shared.setdefault, own, own) if several else own
        try:
            at = _positions(own, read.children[first:last])
        except LookupError:
            continue
        child[first:last] = np.where(at == NOTHING, NOTHING, at + begin)
    return replace(read.nodes, ids=ids, child=child)


# Whether nodes are as they should be, whatever the others are.


def are_each_sound(nodes: Columns, noise: AddedNoise | None) -> bool:
    """Whether nothing is wrong with any node by itself, whatever the others are."""
    said = nodes.statements
    inner, n_values = nodes.attribute != NOTHING, np.diff(nodes.value_ends)
    labelled, rated = said.label != NOTHING, ~np.isnan(said.rate)
    of_leaves = labelled | rated | ~np.isnan(nodes.value) | stated(nodes.hessian, len(nodes.ids)) | several(nodes)
    if len(nodes.parts):
        of_leaves |= np.array([part is not None for part in nodes.parts], bool)
    wrong = ((np.diff(nodes.branch_ends) > 0) != inner) | (inner & of_leaves) | (rated & ~labelled)
    wrong |= (said.n < NOTHING) | (said.n > LARGEST_COUNT) | (said.distinct < NOTHING) | np.isinf(nodes.value)
    wrong |= said.distinct > LARGEST_COUNT
    wrong |= rated & ~((said.rate >= 0) & (said.rate <= 1))
    for numbers, low, high in ((nodes.hessian, 0, _MOST), (nodes.mean, -1e300, 1e300), (nodes.variance, 0, 1e300)):
        if numbers is not None:
            wrong |= (numbers < low) | (numbers > high)
    tested = np.repeat(nodes.attribute, np.diff(nodes.branch_ends))
    categorical = np.array([attribute.values is not None for attribute in nodes.attributes], bool)[tested]
    gaps = np.array([attribute.missing for attribute in nodes.attributes], bool)[tested]
    bounded, told = ~np.isnan(nodes.gt) | ~np.isnan(nodes.le), nodes.missing != NOTHING
    untested = np.where(categorical, bounded | told | (n_values == 0), ~(bounded | told) | (n_values > 0))
    untested |= (nodes.gt >= nodes.le) | np.isinf(nodes.gt) | np.isinf(nodes.le)
    untested |= ((nodes.missing == 1) & ~gaps) | ((nodes.missing == 0) & bounded)
    counts = (said.count <= 0) | (said.count > LARGEST_COUNT)
    if _is_repeated(nodes.values, n_values):
        return False
    if wrong.any() or untested.any() or counts.any() or (nodes.scores is not None and np.isinf(nodes.scores).any()):
        return False
    return _are_shares(said.shares, nodes.classes) and _are_numbers(nodes.noisy, nodes.classes, noise)


def _is_repeated(values: IntArray, n_values: IntArray) -> bool:
    """Whether a branch takes a value twice."""
    owner = np.repeat(np.arange(len(n_values)), n_values)
    some = n_values[owner] > 1
    named = owner[some] * (int(values.max(initial=0)) + 1) + values[some]
    return len(np.unique(named)) < len(named)


_MOST = 1.7976931348623157e308


def stated(numbers: FloatArray | None, size: int) -> BoolArray:
    """Which nodes state a number, shape (n_nodes,)."""
    return np.zeros(size, bool) if numbers is None else ~np.isnan(numbers)


def several(nodes: Columns) -> BoolArray:
    """Which nodes state scores of classes by name, shape (n_nodes,)."""
    return np.zeros(len(nodes.ids), bool) if nodes.scores is None else np.asarray(~np.isnan(nodes.scores).all(axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """The shares of classes of the nodes that state some, one after the other.

    ``rows``: these nodes, increasing. ``ends``: where those of each end. ``classes``, ``share``: index of a class, and
    its share. ``off``, shape (n_rows,): by how much their sum may be off, as `rounding_of`.
    """

    rows: IntArray
    ends: IntArray
    classes: IntArray
    share: FloatArray
    off: FloatArray

    @classmethod
    def of(cls, held: Sequence[Mapping[str, float] | None], classes: Iterable[str]) -> Shares:
        """Shares by node; LookupError for a class that there is not."""
        index = {label: x for x, label in enumerate(classes)}
        rows = np.array([i for i, each in enumerate(held) if each is not None], np.int64)
        some = [each for each in held if each is not None]
        ends = run_ends(np.fromiter(map(len, some), np.int64, len(some)))
        named = np.fromiter((index[label] for each in some for label in each), np.int64, int(ends[-1]))
        share = np.fromiter(chain.from_iterable(each.values() for each in some), np.float64, int(ends[-1]))
        distinct, which = np.unique(share, return_inverse=True)
        digits = np.array([max(1, decimals(each)) for each in distinct.tolist()], np.int64)[which]
        most = np.maximum.reduceat(digits, ends[:-1]) if len(rows) and (np.diff(ends) > 0).all() else np.diff(ends)
        return cls(rows, ends, named, share, np.diff(ends) * 10.0**-most + SINGLE)


def rounding_of(shares: Iterable[float]) -> float:
    """By how much a sum of shares may be off as each was rounded, or cut off, to the digits of the longest."""
    found = list(shares)
    return len(found) * 10.0 ** -max(1, *map(decimals, found)) + SINGLE


def _are_shares(held: Sequence[Mapping[str, float] | None], classes: Mapping[str, int]) -> bool:
    """Whether rates are shares of classes that sum to 1, within the rounding of their digits."""
    if not held:
        return True
    if any(each is not None and (not each or not each.keys() <= classes.keys()) for each in held):
        return False
    found = Shares.of(held, classes)
    if not ((found.share >= 0) & (found.share <= 1)).all():
        return False
    return not len(found.rows) or bool((np.abs(np.add.reduceat(found.share, found.ends[:-1]) - 1) <= found.off).all())


def _are_numbers(
    held: Sequence[Mapping[str, float] | None], classes: Mapping[str, int], noise: AddedNoise | None
) -> bool:
    """Whether counts with noise are numbers of classes, whole ones if the noise is, that floats count exactly."""
    some = [each for each in held if each is not None]
    if some and (noise is None or not all(each.keys() <= classes.keys() for each in some)):
        return False
    found = np.fromiter(chain.from_iterable(each.values() for each in some), np.float64)
    whole = noise is not None and noise.whole
    return bool((np.abs(found) < LARGEST_COUNT).all()) and not (whole and (found != np.round(found)).any())
