"""Nodes as they are written in a document, and the arrays of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from operator import attrgetter
from typing import Annotated, Any, cast

import msgspec
import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray, ranges, run_ends
from maxent.models.columns import NOTHING, Columns, Statements
from maxent.models.formats.maxent_json.fields import Names
from maxent.models.release_content import Content
from maxent.models.text.arguments import LARGEST_COUNT

FEW = 8  # classes up to which counts are quicker read into a field for each than into a dictionary
_ESCAPED = frozenset('"\\')  # no field may have them in its name, nor what is not printable

_NAN = float("nan")

_Id = Annotated[str, msgspec.Meta(min_length=1)]
_Whole = Annotated[int, msgspec.Meta(ge=0, le=LARGEST_COUNT)]
_Rate = Annotated[float, msgspec.Meta(ge=0, le=1)]


# A key that is not there has a default that no sound document states; one that states it has more colons than keys.
class _PlainBranch(msgspec.Struct, gc=False, frozen=True, forbid_unknown_fields=True):
    """A branch as most are written."""

    child: str | None
    values: tuple[str, ...] = msgspec.field(default=(), name="in")
    le: float = _NAN
    gt: float = _NAN


class _WrittenBranch(_PlainBranch, gc=False, frozen=True, forbid_unknown_fields=True):
    """A branch as it is written."""

    missing: bool = NOTHING  # type: ignore[assignment]


class PlainNode(msgspec.Struct, gc=False, frozen=True, forbid_unknown_fields=True):
    """A node as it is written in a release of counts."""

    id: _Id
    attribute: str = ""
    branches: tuple[_PlainBranch, ...] = ()
    n: _Whole = NOTHING
    counts: dict[str, _Whole] | None = None


def plain_node(classes: Sequence[str]) -> type[PlainNode]:
    """`PlainNode`, with counts that have a field for each class where these are few."""
    if len(classes) > FEW or not all(name.isprintable() and not _ESCAPED & set(name) for name in classes):
        return PlainNode
    keys = {f"count{x}": name for x, name in enumerate(classes)}
    options: dict[str, Any] = {"gc": False, "frozen": True, "forbid_unknown_fields": True}
    fields = [(key, _Whole, NOTHING) for key in keys]
    counts = msgspec.defstruct("Counts", fields, rename=keys, **options)
    found = msgspec.defstruct("PlainNode", [("counts", counts | None, None)], bases=(PlainNode,), **options)
    return cast("type[PlainNode]", found)


class WrittenNode(PlainNode, gc=False, frozen=True, forbid_unknown_fields=True):
    """A node as it is written."""

    branches: tuple[_WrittenBranch, ...] = ()
    label: str = ""
    error_rate: _Rate = _NAN
    distinct: _Whole = NOTHING
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
    """Nodes as columns, as those of `Columns` and `Statements`; ``n_*`` in place of where runs end.

    ``keys`` is how many keys were written, ``colons`` how many colons in strings, but for those in ids.
    """

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


def _counts(held: Sequence[Any], codes: Codes) -> tuple[IntArray, IntArray, IntArray]:
    """How many counts nodes state that state some, shape (n_held,), and their classes and values, node by node."""
    if held and not isinstance(held[0], dict):
        columns = [np.fromiter(map(attrgetter(key), held), np.int64, len(held)) for key in held[0].__struct_fields__]
        table = np.stack(columns, axis=1)
        stated = table != NOTHING
        return stated.sum(axis=1), np.nonzero(stated)[1], table[stated]
    lengths = _lengths(held)
    size = int(lengths.sum())
    classes = _codes(chain.from_iterable(held), codes.classes, size)
    return lengths, classes, np.fromiter(chain.from_iterable(map(dict.values, held)), np.int64, size)


def batch_of(nodes: Sequence[PlainNode] | Sequence[WrittenNode], tree_ends: list[int], codes: Codes) -> Batch:
    """Nodes as columns."""
    size = len(nodes)
    attribute = _codes([node.attribute for node in nodes], codes.attributes, size)
    full: Sequence[WrittenNode] = cast("Sequence[WrittenNode]", nodes) if isinstance(nodes[0], WrittenNode) else ()
    labels = [node.label for node in full]
    label = _codes(labels, codes.classes, size) if any(labels) else np.full(size, NOTHING)
    n = _wholes([node.n for node in nodes], size)
    rate = _reals([node.error_rate for node in full], size)
    distinct = _wholes([node.distinct for node in full], size)
    value = _reals([node.value for node in full], size)
    parts = [node.part_of for node in full]
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
    takes = [branch.missing for branch in cast("list[_WrittenBranch]", branches)] if full else []
    missing = _wholes(takes, len(branches))
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
