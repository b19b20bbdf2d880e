"""ydf model folders: columns, tests, and the class distribution or score of every node.

A folder has a header, one more of the kind of model, the data specification and the nodes, each a message of protocol
buffers; of a test come the node where it does not hold, all that is below, and then the node where it does.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from maxent.models.arguments import LARGEST_COUNT
from maxent.models.arrays import FloatArray
from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import bytes_of, uncollected
from maxent.models.files.protobuf import Message, message_of, records_of
from maxent.models.formats.assemble import assemble, cut, rest
from maxent.models.formats.proof import TrainingColumns, counts_in_leaves, read_training
from maxent.models.formats.release_reader import UNPROVEN, Converted, Wanted, model_reader
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Boosting, Branch, Link, Node, Predicts, Release, Tree
from maxent.models.tables.cells import MISSING, OTHER
from maxent.models.trees.places import single_less_than

# Columns of a model of ydf, as its data specification has them: names, dictionaries of categories, borders.

_NUMERICAL, _CATEGORICAL, _BOOLEAN, _DISCRETIZED = 1, 4, 7, 9
_MOST_VALUES = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class YdfColumn:
    """A column: its attribute, None of a type that no test of one column has; ``values`` are categories by number."""

    name: str
    attribute: Attribute | None
    values: tuple[str, ...] = ()
    borders: FloatArray | None = None


def columns_of(specification: Message, training: TrainingColumns | None) -> list[YdfColumn]:
    """The columns of the table that a model was trained with, the label among them."""
    return [_column(raw, training) for raw in specification.messages(1, "column")]


def _column(raw: Message, training: TrainingColumns | None) -> YdfColumn:
    name, kind = raw.text(2), raw.whole(1)
    if not name:
        raw.refuse("name", "a name")
    if kind == _NUMERICAL:
        return YdfColumn(name, Attribute(name, "numeric", missing=True))
    if kind == _DISCRETIZED:
        borders = raw.message(8).packed(1, "<f4")
        return YdfColumn(name, Attribute(name, "numeric", missing=True), (), borders)
    if kind == _BOOLEAN:
        flags = _booleans(name, training)
        return YdfColumn(name, Attribute(name, "categorical", (*flags, MISSING)), flags)
    if kind != _CATEGORICAL:
        return YdfColumn(name, None)
    values = _values(raw.message(6), name)
    if not values:
        return YdfColumn(name, None)
    return YdfColumn(name, Attribute(name, "categorical", (*values[1:], OTHER, MISSING)), values)


def _values(categorical: Message, name: str) -> tuple[str, ...]:
    """The categories by number, the first of which stands for all that are in no dictionary; none without names."""
    if categorical.whole(5):
        return ()
    n = categorical.whole(2)
    found: dict[int, str] = {}
    for item in categorical.messages(7, f"column {name[:40]}, item"):
        number = item.message(2).whole(1)
        value = OTHER if number == 0 else item.text(1)
        if not 0 <= number < n or number in found or not value:
            item.refuse("items", f"a name for each number below {n}")
        found[number] = value
    found.setdefault(0, OTHER)
    if n > _MOST_VALUES or len(found) != n or len({*found.values()}) < n or MISSING in found.values():
        categorical.refuse("items", f"{n} different names of categories", f"{len(found)}")
    return tuple(found[number] for number in range(n))


def _booleans(name: str, training: TrainingColumns | None) -> tuple[str, str]:
    """How a table writes false and true."""
    orders: Sequence[tuple[str, ...]] = () if training is None else training.orders(name)
    there = {value.casefold(): value for value in (orders[0] if orders else ())}
    if there and {*there} <= {"0", "1"}:
        return "0", "1"
    return there.get("false", "False"), there.get("true", "True")


# Tests of nodes of ydf, as branches: the first takes what does not pass, the second what does.

_NA, _HIGHER, _TRUE, _VECTOR, _BITMAP, _CONDITIONS_DISCRETIZED = 1, 2, 3, 4, 5, 6


def branches_of(test: Message, columns: Sequence[YdfColumn], below: tuple[str, str]) -> tuple[str, tuple[Branch, ...]]:
    """The attribute that a test is of, and its branches."""
    number, condition = test.whole(2), test.message(3)
    column = columns[number] if 0 <= number < len(columns) else None
    if column is None or column.attribute is None:
        test.refuse("attribute", "a column of numbers, of true and false, or of categories with names", f"{number}")
    attribute, missing = column.attribute, bool(test.whole(1))
    if condition.has(_NA):
        if attribute.values is None:
            return attribute.name, (Branch(below[0], missing=False), Branch(below[1], missing=True))
        return attribute.name, (rest(below[0]), Branch(below[1], values=(MISSING,)))
    if attribute.values is None:
        return attribute.name, _numeric(condition, column, below, missing)
    chosen = _chosen(condition, column)
    values = [column.values[code] for code in chosen] + ([MISSING] if missing else [])
    if not values or len(values) > len(attribute.values):
        test.refuse("condition", "some of the categories of the column")
    return attribute.name, (rest(below[0]), Branch(below[1], values=tuple(values)))


def _numeric(condition: Message, column: YdfColumn, below: tuple[str, str], missing: bool) -> tuple[Branch, ...]:
    """Numbers of single precision that are at least the threshold pass."""
    if condition.has(_HIGHER):
        threshold = condition.message(_HIGHER).number(1)
    elif condition.has(_CONDITIONS_DISCRETIZED) and column.borders is not None:
        bin_ = condition.message(_CONDITIONS_DISCRETIZED).whole(1)
        if not 1 <= bin_ <= len(column.borders):
            condition.refuse("threshold", f"a bin from 1 to {len(column.borders)}", f"{bin_}")
        threshold = float(column.borders[bin_ - 1])
    else:
        condition.refuse("condition", "one threshold of one column (train without oblique splits)")
    most = single_less_than(threshold)
    if not isfinite(most):
        condition.refuse("threshold", "a number that some value is below")
    return cut(below, most, not missing)


def _chosen(condition: Message, column: YdfColumn) -> list[int]:
    """The numbers of the categories that pass."""
    n = len(column.values)
    if condition.has(_TRUE) and _is_boolean(column):
        return [1]
    if condition.has(_VECTOR):
        found = sorted({*condition.message(_VECTOR).wholes(1)})
    elif condition.has(_BITMAP):
        bits = np.unpackbits(np.frombuffer(condition.message(_BITMAP).data(1), np.uint8), bitorder="little")
        found = np.flatnonzero(bits).tolist()
    else:
        condition.refuse("condition", "a set of categories")
    if not all(0 <= code < n for code in found):
        condition.refuse("elements", f"categories by numbers below {n}")
    return found


def _is_boolean(column: YdfColumn) -> bool:
    """Whether the values of a column are false and true."""
    attribute: Attribute | None = column.attribute
    return attribute is not None and attribute.values == (*column.values, MISSING)


_SPECIFICATION = "data_spec.pb"
_CLASSIFICATION = 1
# What the scores of a loss become: binomial, multinomial, focal
_LINKS: dict[int, Link] = {1: "logit", 3: "softmax", 6: "logit"}

# How nodes are written, and what their files say of it: the kind of compression
_BLOBS = {"BLOB_SEQUENCE": 0, "BLOB_SEQUENCE_GZIP": 1}

_MOST_SHARDS = 10_000
_MOST_LARGER = 10  # how many times larger than the file what is compressed in it may be
_LOST = ("which splits competed",)
_UNCOUNTED = "counts and sizes: of all records, of a bootstrap or of a part, as a table (train=, target=) shows"


@dataclass(frozen=True, slots=True)
class _Kind:
    """What holds of all trees: how they predict, and what leaves state."""

    predicts: Predicts
    link: Link | None
    base: tuple[float, ...]
    per_iteration: int
    n_trees: int


@model_reader(
    "ydf",
    "a model folder of ydf (of TensorFlow Decision Forests, its assets)",
    lambda head: _prefix(head.entries) is not None,
)
@uncollected()
def _convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    folder = Path(path)
    source = shown_path(path)
    prefix = _prefix(sorted(os.listdir(folder)) if folder.is_dir() else [])
    if prefix is None:
        raise invalid(source, "file", "format", "a model folder of ydf (of TensorFlow, its assets)", "another file")

    def message(name: str) -> Message:
        file = os.fspath(folder / f"{prefix}{name}")
        return message_of(bytes_of(file), source, name)

    header = message("header.pb")
    if header.whole(2) != _CLASSIFICATION:
        header.refuse("task", "classification")
    training = read_training(wanted, reader)
    columns = columns_of(message(_SPECIFICATION), training)
    label = header.whole(3)
    if not 0 <= label < len(columns) or len(columns[label].values) < 3:
        header.refuse("label_col_idx", "a column with the names of at least two classes")
    classes = _classes(columns[label].values[1:], wanted)
    special, kind = _kind(header.text(1), message, len(classes))
    nodes = _records(folder, prefix, special, source)
    trees = [_tree(nodes, t, columns, classes, kind, source) for t in range(kind.n_trees)]
    if next(nodes, None) is not None:
        raise invalid(source, "nodes", "content", f"the nodes of {kind.n_trees} trees", "more")
    known = {c.attribute.name: c.attribute for i, c in enumerate(columns) if c.attribute is not None and i != label}
    tested = {node.attribute for tree in trees for node in tree.nodes}
    known = {name: attribute for name, attribute in known.items() if name in tested}

    def release(of: Sequence[Tree], **how: Any) -> Release:
        return assemble(
            source,
            of,
            classes,
            wanted,
            training,
            target=columns[label].name,
            known=known,
            predicts=kind.predicts,
            **how,
        )

    if kind.link is not None:
        base = kind.base[0] if kind.link == "logit" else dict(zip(classes, kind.base, strict=True))
        scored = (*_LOST, "counts, sizes and labels of leaves: boosted trees have scores")
        return Converted(release(trees, boosting=Boosting(kind.link, base=base)), "ydf", scored, aside=UNPROVEN)
    if header.has(4):
        weighted = (*_LOST, "counts and sizes: sums are of weights of the records")
        return Converted(release(list(map(_rated, trees))), "ydf", weighted, aside=UNPROVEN)
    found, lost = _stated(trees, release, training)
    return Converted(found, "ydf", (*_LOST, *lost), aside=UNPROVEN if lost else "")


def _prefix(entries: Sequence[str]) -> str | None:
    """What the names of the files begin with, None where there are none of a model."""
    found = [name.removesuffix(_SPECIFICATION) for name in entries if name.endswith(_SPECIFICATION)]
    return found[0] if len(found) == 1 and f"{found[0]}header.pb" in entries else None


def _classes(names: tuple[str, ...], wanted: Wanted) -> tuple[str, ...]:
    """The classes in the order of the model, by frequency; those of the caller may be the same in another."""
    if wanted.classes is None or {*wanted.classes} == {*names}:
        return names
    return wanted.named_classes(names)


def _kind(name: str, message: Callable[[str], Message], n_classes: int) -> tuple[Message, _Kind]:
    """The header of the kind of model, and what it says."""
    if name == "RANDOM_FOREST":
        of = message("random_forest_header.pb")
        predicts: Predicts = "vote" if of.whole(3, 1) else "mean"
        return of, _Kind(predicts, None, (), 1, _number(of))
    if name != "GRADIENT_BOOSTED_TREES":
        raise invalid("model", "header.pb", "name", "RANDOM_FOREST or GRADIENT_BOOSTED_TREES", repr(name[:40]))
    of = message("gradient_boosted_trees_header.pb")
    link = _LINKS.get(of.whole(3))
    if link is None or of.whole(9):
        of.refuse("loss", "binomial, multinomial or focal, whose scores become probabilities")
    base, per = tuple(of.packed(4, "<f4").tolist()), of.whole(5, 1)
    several = 1 if link == "logit" else n_classes
    if len(base) != several or per != several or (link == "logit" and n_classes != 2) or _number(of) % per:
        of.refuse("initial_predictions", f"{several} scores, and as many trees for each iteration")
    return of, _Kind("score", link, base, per, _number(of))


def _number(of: Message) -> int:
    """The number of trees."""
    if not 1 <= of.whole(2) <= 2**24:
        of.refuse("num_trees", "at least one tree")
    return of.whole(2)


def _records(folder: Path, prefix: str, of: Message, source: str) -> Iterator[bytes]:
    """The nodes in all files."""
    shards, form = of.whole(1), of.text(7)
    if form not in _BLOBS or not 1 <= shards <= _MOST_SHARDS:
        expected = f"nodes as {' or '.join(_BLOBS)}: load the model with ydf and save it again"
        of.refuse("node_format", expected, repr(form[:40]))
    for shard in range(shards):
        name = f"nodes-{shard:05d}-of-{shards:05d}"
        data = bytes_of(os.fspath(folder / f"{prefix}{name}"))
        if len(data) < 8 or data[:2] != b"BS" or data[4] not in (0, 1):
            raise invalid(source, name, "content", "a sequence of blobs", "something else")
        content = data[8:]
        if data[4]:
            most = _MOST_LARGER * len(data) + 2**16
            unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
            try:
                content = unpacker.decompress(content, most)
            except zlib.error:
                raise invalid(source, name, "content", "what gzip compressed", "something else") from None
            if not unpacker.eof:
                raise invalid(
                    source, name, "content", f"at most {_MOST_LARGER} times the file, whole", "more, or a part"
                )
        yield from records_of(content, source, name)


def _tree(
    records: Iterator[bytes], t: int, columns: Sequence[YdfColumn], classes: tuple[str, ...], kind: _Kind, source: str
) -> Tree:
    """The next tree; nodes are numbered in their order."""
    found: list[bytes] = []
    below: dict[int, list[int]] = {}
    waiting: list[int] = []  # nodes whose second branch has not come yet
    inner = True
    while inner or waiting:
        i = len(found)
        where = f"tree {t}, node {i}"
        record = next(records, None)
        if record is None:
            raise invalid(source, where, "content", "a node", "the end of the file")
        if i:
            below[i - 1 if inner else waiting.pop()].append(i)
        node = message_of(record, source, where)
        found.append(record)
        inner = node.has(3) and bool(node.message(3).message(3).fields)
        if inner:
            below[i] = []
            waiting.append(i)
    names = [*map(str, range(len(found)))]  # an id is one object, wherever it stands
    nodes = []
    for i, record in enumerate(found):
        node = message_of(record, source, f"tree {t}, node {i}")  # decoded, all of them would take much more memory
        if i in below:
            negative, positive = below[i]
            branches = branches_of(node.message(3), columns, (names[negative], names[positive]))
            nodes.append(Node(names[i], *branches))
        else:
            nodes.append(_leaf(node, names[i], classes, kind))
    of = classes[1] if kind.link == "logit" else classes[t % kind.per_iteration] if kind.link is not None else None
    return Tree(tuple(nodes), of_class=of)


def _leaf(node: Message, name: str, classes: tuple[str, ...], kind: _Kind) -> Node:
    """A leaf: its score, or the sums of weights of the classes, and the one that it votes for."""
    if kind.link is not None:
        if not node.has(2):
            node.refuse("regressor", "a score of every leaf")
        return Node(name, value=node.message(2).number(1))
    classifier = node.message(1)
    sums = classifier.message(2).packed(1, "<f8").tolist()
    top = classifier.whole(1)
    if len(sums) != len(classes) + 1 or min(sums) < 0 or sums[0] or not sum(sums) or not 1 <= top <= len(classes):
        node.refuse("distribution", "a sum for each class, none of what is in no dictionary")
    label = classes[top - 1] if kind.predicts == "vote" else None
    if not all(x.is_integer() for x in sums) or sum(sums) > LARGEST_COUNT:
        return Node(name, label=label, rates={c: x / sum(sums) for c, x in zip(classes, sums[1:], strict=True)})
    counts = {c: int(x) for c, x in zip(classes, sums[1:], strict=True)}
    return Node(name, label=label, n=int(sum(sums)), counts=counts)


def _stated(
    trees: Sequence[Tree], release: Callable[..., Release], training: TrainingColumns | None
) -> tuple[Release, tuple[str, ...]]:
    """The release of trees that count, and what is lost: counts, where a table does not show what they are of."""
    whole = all(node.counts is not None for tree in trees for node in tree.leaves)
    if whole and training is not None and training.classes:
        found = release(trees)
        totals = {sum(leaf.n or 0 for leaf in tree.leaves) for tree in trees}
        if _are_of(found, training):
            return found, ()
        if totals == {len(training.frame.lines)}:
            return release(trees, resampled=totals.pop()), ("how many different records were drawn",)
    return release([_rated(tree) for tree in trees]), (_UNCOUNTED,)


def _are_of(release: Release, training: TrainingColumns) -> bool:
    """Whether the rows of a table reach all leaves in the numbers that these state."""
    return all(
        node.counts is None or list(node.counts.values()) == here
        for tree, counts in zip(release.trees, counts_in_leaves(release, training), strict=True)
        for node, here in zip(tree.nodes, counts.tolist(), strict=True)
        if node.is_leaf
    )


def _rated(tree: Tree) -> Tree:
    """A tree with shares in the place of counts."""
    return replace(tree, nodes=tuple(map(_as_rates, tree.nodes)))


def _as_rates(node: Node) -> Node:
    if node.counts is None:
        return node
    total = sum(node.counts.values())
    return replace(node, n=None, counts=None, rates={name: count / total for name, count in node.counts.items()})
