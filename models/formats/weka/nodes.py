"""Nodes of a release from those that Weka printed: branches, what leaves state, and parts of records without values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from maxent.models.formats.assemble import rest
from maxent.models.formats.missing.fractions import Part
from maxent.models.formats.training_columns import TrainingColumns
from maxent.models.formats.weka.tree_text import Leaf, Split
from maxent.models.release import Branch, Node
from maxent.models.trees.thresholds import less_than

_NOBODY = "null"
PRINTED = 0.005
"""By how much a number may be off that was printed with two decimals."""


def nodes_of(tree: Sequence[Leaf | Split], classes: Sequence[str], *, states: bool, two: bool) -> Iterator[Node]:
    """The nodes of a release; with ``states`` their numbers are of all records, ``two`` is whether classes are two."""
    for number, node in enumerate(tree):
        if isinstance(node, Split):
            yield Node(str(number), node.name, tuple(_branches(node)))
        else:
            yield replace(_stated(node, classes, two=two) if states else Node("", label=node.label), id=str(number))


def parts_of(
    tree: Sequence[Leaf | Split],
    classes: Sequence[str],
    training: TrainingColumns | None,
    *,
    states: bool,
    two: bool,
    off: float = PRINTED,
) -> list[Part]:
    """The nodes with the numbers of records in them, each at most ``off`` away, as `fractional_tree` takes them."""
    sizes = [0.0] * len(tree)
    for at in reversed(range(len(tree))):
        node = tree[at]
        grown = node.numbers[:1] if isinstance(node, Leaf) else ()  # records that were held out part none
        sizes[at] = sum(n for n, _ in grown) if isinstance(node, Leaf) else sum(sizes[i] for i in node.children)
    domains: dict[str, dict[str, None]] = {}
    for node in tree:
        if isinstance(node, Split) and "=" in node.signs:
            attribute = None if training is None else training.named(node.name)
            values = domains.setdefault(node.name, dict.fromkeys((attribute and attribute.values) or ()))
            values.update(dict.fromkeys(value for at in range(len(node.signs)) for value in node.values_of(at)))
    found = []
    for at, node in enumerate(tree):
        if isinstance(node, Leaf):
            stated = _stated(node, classes, two=two) if states else Node("", label=node.label)
            found.append(Part(str(at), None, (), (), stated, _shares(node, classes, two=two, off=off), sizes[at]))
            continue
        named = {value for i, sign in enumerate(node.signs) if sign == "=" for value in node.values_of(i)}
        left = tuple(value for value in domains.get(node.name, ()) if value not in named)
        branches = [
            replace(branch, child=None, values=left) if sign == "!=" else replace(branch, child=None)
            for branch, sign in zip(_branches(node), node.signs, strict=True)
        ]
        absent = left if set(node.signs) == {"="} else ()
        below = tuple(zip(branches, node.children, strict=True))
        found.append(Part(str(at), node.name, below, absent, Node(""), (), sizes[at]))
    return found


def are_whole(tree: Sequence[Leaf | Split]) -> bool:
    """Whether all numbers of records are whole."""
    leaves = [node for node in tree if isinstance(node, Leaf)]
    return all(number.is_integer() for leaf in leaves for pair in leaf.numbers for number in pair)


def _stated(node: Leaf, classes: Sequence[str], *, two: bool) -> Node:
    """What the text proves of a leaf; Id3 has no label where no record is."""
    if node.label == _NOBODY and not node.numbers:
        return Node("", n=0, counts=dict.fromkeys(classes, 0))
    if not node.numbers or not all(number.is_integer() for pair in node.numbers for number in pair):
        return Node("", label=node.label)
    n, errors = (int(sum(column)) for column in zip(*node.numbers, strict=True))
    if errors and not two:
        return Node("", label=node.label, error_rate=errors / n, n=n)
    return Node("", label=node.label, n=n, counts={c: n - errors if c == node.label else errors for c in classes})


def _shares(node: Leaf, classes: Sequence[str], *, two: bool, off: float) -> tuple[tuple[float, float], ...]:
    """The least and largest number of records of each class: who errors are is printed of two classes only."""
    n, errors = (sum(column) for column in zip(*node.numbers, strict=True)) if node.numbers else (0.0, 0.0)
    if not n:
        return ()
    off *= len(node.numbers)
    right = (max(n - errors - 2 * off, 0.0), n - errors + 2 * off)
    wrong = (max(errors - off, 0.0) if two else 0.0, errors + off)
    return tuple(right if c == node.label else wrong for c in classes)


def _branches(node: Split) -> Iterator[Branch]:
    """The branches of a node: strict tests of numbers at the largest double that passes them."""
    for at, (sign, value, child) in enumerate(zip(node.signs, node.values, map(str, node.children), strict=True)):
        if sign == "<=":
            yield Branch(child, le=float(value))
        elif sign == ">":
            yield Branch(child, gt=float(value))
        elif sign == "<":
            yield Branch(child, le=less_than(float(value)))
        elif sign == ">=":
            yield Branch(child, gt=less_than(float(value)))
        else:
            yield Branch(child, values=node.values_of(at)) if sign == "=" else rest(child)
