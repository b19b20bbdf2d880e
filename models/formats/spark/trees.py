"""Trees of Spark as elements of PMML: its order of children, its numbers of records, its tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TypeAlias

from maxent.models.errors import invalid
from maxent.models.formats.pmml.xml_document import Element
from maxent.models.formats.spark.folder import Rows, column

_MOST = 1 << 26  # the largest number of a feature, and of categories


# The statements of a node: attributes of its element, and elements within it
Stated: TypeAlias = "tuple[tuple[str, ...], tuple[Element, ...]]"


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A test: of a number, at most a threshold to the left; or of codes of categories, 0 of them where nothing says."""

    feature: int
    threshold: float | None = None
    left: tuple[float, ...] = ()
    categories: int = 0

    def predicate(self, source: str) -> Element:
        """The predicate of the left child."""
        name = f"feature {self.feature}"
        if self.threshold is not None:
            pairs: tuple[str, ...] = ("field", name, "operator", "lessOrEqual", "value", repr(self.threshold))
            return Element(source, "SimplePredicate", 0, pairs)
        # Spark keeps the smaller of the two sets, and sends codes that are in neither with the other one.
        few = not self.categories or len(self.left) <= self.categories // 2
        left = set(self.left)
        codes = self.left if few else tuple(float(i) for i in range(self.categories) if i not in left)
        array = Element(source, "Array", 0, text=" ".join(map(repr, codes)))
        pairs = ("field", name, "booleanOperator", "isIn" if few else "isNotIn")
        return Element(source, "SimpleSetPredicate", 0, pairs, (array,))


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A node: its children, its test, and its statements as attributes and elements of PMML."""

    below: tuple[int, int] | None
    split: Split | None
    pairs: tuple[str, ...]
    stated: tuple[Element, ...] = ()


def tree(source: str, nodes: Mapping[int, Node], root: int, kind: str) -> Element:
    """A tree of nodes by their numbers, as a TreeModel."""
    order, stack, seen = [], [root], set()
    while stack:
        number = stack.pop()
        if number in seen or number not in nodes:
            raise invalid(source, f"node {number}", "children", "nodes that are each below one other", "others")
        seen.add(number)
        order.append(number)
        stack += reversed(nodes[number].below or ())
    made: dict[int, Element] = {}
    left = {node.below[0]: node.split for node in nodes.values() if node.below is not None}
    for number in reversed(order):
        node = nodes[number]
        split = left.get(number) if number != root else None
        test = Element(source, "True", 0) if split is None else split.predicate(source)
        below = tuple(made.pop(child) for child in node.below or ())
        pairs = ("id", str(number), *node.pairs)
        made[number] = Element(source, "Node", 0, pairs, (test, *node.stated, *below))
    return Element(source, "TreeModel", 0, ("functionName", kind), (made[root],))


def splits_in(nodes: Sequence[Node]) -> list[Split]:
    """The tests of nodes."""
    return [node.split for node in nodes if node.split is not None]


def nodes_of(
    rows: Rows, source: str, state: Callable[[int], tuple[tuple[str, ...], tuple[Element, ...]]]
) -> list[Node]:
    """The nodes of a table of them, one for each row; ``state`` makes the statements of a row."""
    ids = column(rows, "id", (int,), source)
    lefts, rights = column(rows, "leftChild", (int,), source), column(rows, "rightChild", (int,), source)
    features, sizes = column(rows, "featureIndex", (int,), source), column(rows, "numCategories", (int,), source)
    values = column(rows, "leftCategoriesOrThreshold", (list,), source)
    found = []
    for at, (low, high) in enumerate(zip(lefts, rights, strict=True)):
        if low < 0 and high < 0:
            found.append(Node(None, None, *state(at)))
            continue
        numbers = [float(value) for value in values[at] if isinstance(value, (int, float))]
        feature, size = features[at], sizes[at]
        right = len(numbers) == len(values[at]) and all(map(isfinite, numbers)) and 0 <= feature < _MOST
        if size < 0:
            right = right and len(numbers) == 1
            split = Split(feature, threshold=numbers[0] if numbers else 0.0)
        else:
            right = right and size <= len(ids) * 64 + 10_000 and all(0 <= code < size for code in numbers)
            split = Split(feature, left=tuple(numbers), categories=size)
        if not right:
            raise invalid(source, f"node {ids[at]}", "split", "a threshold, or codes of categories", "others")
        found.append(Node((low, high), split, *state(at)))
    return found
