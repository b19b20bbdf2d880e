"""Statements of the leaves of PMML: counts told apart from shares, and from weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from maxent.models.formats.pmml.route import Route, Routed
from maxent.models.formats.pmml.xml_document import Element
from maxent.models.release import Node, Tree
from maxent.models.text.arguments import LARGEST_COUNT

_NEAR = 1e-6

Kind = Literal["counts", "shares", "weights", "none"]


@dataclass(frozen=True, slots=True, eq=False)
class Stated:
    """Statements of an element: its class, how many records it says it has, and a number, or a share, of each class."""

    label: str | None
    n: float | None
    numbers: tuple[float, ...] | None

    @property
    def shares(self) -> tuple[float, ...] | None:
        """The share of each class, None where there are none."""
        total = sum(self.numbers or ())
        return None if self.numbers is None or total <= 0 else tuple(number / total for number in self.numbers)


def classes_named(routes: Sequence[Route]) -> tuple[str, ...]:
    """The classes that leaves name, in the order of the document."""
    found: dict[str, None] = {}
    for element in (node.element for route in routes for node in route.nodes if node.element is not None):
        found.update({each.need("value"): None for each in element.all("ScoreDistribution")})
    for node in (node for route in routes for node in route.nodes):
        if node.score is not None and node.score.get("score") is not None:
            found[node.score.need("score")] = None
    return tuple(found)


def stated(element: Element, classes: Sequence[str]) -> Stated:
    """Statements of an element about classes."""
    label = element.get("score")
    if label is not None and label not in classes:
        element.refuse("score", f"one of the {len(classes)} classes of the target")
    n = element.number("recordCount") if element.get("recordCount") is not None else None
    if n is not None and not 0 <= n <= LARGEST_COUNT:
        element.refuse("recordCount", "a number of records")
    counts, shares = dict.fromkeys(classes, 0.0), dict.fromkeys(classes, 0.0)
    has_shares, found = True, False
    seen: set[str] = set()
    for each in element.all("ScoreDistribution"):
        name = each.need("value")
        if name not in counts or name in seen:
            each.refuse("value", f"one of the {len(classes)} classes of the target, each once")
        seen.add(name)
        counts[name] = each.number("recordCount", 0.0 if each.get("probability") is not None else None)
        share = each.get("probability")
        has_shares = has_shares and share is not None
        shares[name] = each.number("probability") if share is not None else 0.0
        if not 0 <= counts[name] <= LARGEST_COUNT or not 0 <= shares[name] <= 1:
            each.refuse("recordCount", "a number of records")
        found = True
    if not found:
        return Stated(label, n, None)
    by_count = sum(counts.values()) > 0 or not has_shares
    return Stated(label, n, tuple((counts if by_count else shares).values()))


def kind_of(leaves: Sequence[Stated]) -> Kind:
    """What the numbers of leaves are: records of each class, shares of the classes, or sums of weights."""
    given = [leaf.numbers for leaf in leaves if leaf.numbers is not None]
    if not given or len(given) < len(leaves):
        return "none"
    if all(abs(sum(numbers) - 1) < _NEAR for numbers in given):
        return "shares"
    return "counts" if all(number == int(number) for numbers in given for number in numbers) else "weights"


def counted(leaf: Stated) -> Stated:
    """Shares with a number of records as counts, where they are such; else as they are."""
    if leaf.numbers is None or abs(sum(leaf.numbers) - 1) > _NEAR:
        return leaf
    if leaf.n is None or leaf.n <= 1 or leaf.n != int(leaf.n) or leaf.shares is None:
        return leaf
    numbers = tuple(share * leaf.n for share in leaf.shares)
    whole = tuple(float(round(number)) for number in numbers)
    near = all(abs(a - b) < _NEAR * max(1.0, a) for a, b in zip(numbers, whole, strict=True))
    return replace(leaf, numbers=whole) if near and sum(whole) == leaf.n else leaf


def is_whole(number: float | None) -> bool:
    """Whether there is a number, and it is whole."""
    return number is not None and number == int(number)


class Writer:
    """Makes the nodes of a release of routed ones; `how` says what the numbers of leaves are taken for.

    ``counts``, ``rates``; ``scores`` of every class; ``values`` of one; or ``labels`` alone.
    """

    def __init__(self, classes: Sequence[str], names: Sequence[str]) -> None:
        self._classes, self._names = tuple(classes), tuple(names)
        self._title = dict(zip(classes, names, strict=True))

    def tree(
        self, route: Route, how: Literal["counts", "rates", "scores", "values", "labels"], *, sizes: bool, draws: bool
    ) -> Tree:
        """A tree; ``sizes`` is whether numbers of records are stated, ``draws`` whether they are of draws."""
        return Tree(tuple(self._node(route, node, how, sizes, draws) for node in route.nodes))

    def _node(self, route: Route, node: Routed, how: str, sizes: bool, draws: bool) -> Node:
        alone = node.element is not None and route.ways.get(id(node.element), 1) == 1
        if how == "values":
            value = None if node.attribute is not None else self._value(node)
            n = self._n(node.element) if alone and sizes else None
            return Node(node.id, node.attribute, node.branches, value=value, n=n)
        said = None if node.element is None else stated(node.element, self._classes)
        label = None
        if node.attribute is None:
            given = None if node.score is None else node.score.get("score")
            label = None if given is None else self._title[given]
            if how == "scores":
                shares = None if said is None else said.shares
                if shares is None:
                    shares = (0.0,) * len(self._classes)
                return Node(node.id, value=dict(zip(self._names, shares, strict=True)))
        if how == "scores":
            return Node(node.id, node.attribute, node.branches)
        if said is None or not alone:
            return Node(node.id, node.attribute, node.branches, label=label)
        counts = rates = distinct = None
        n = int(said.n) if sizes and said.n is not None and is_whole(said.n) else None
        if how == "counts":
            full = counted(said)
            if full.numbers is not None:
                whole = [round(number) for number in full.numbers]
                counts = dict(zip(self._names, whole, strict=True))
                distinct = n if draws and n is not None and n < sum(whole) else None
                n = sum(whole)
            elif draws:
                # What the file gives of an inner node may be draws, or different records.
                n = None
        elif how == "rates" and node.attribute is None and said.shares is not None:
            rates = dict(zip(self._names, said.shares, strict=True))
        return Node(node.id, node.attribute, node.branches, label, None, n, counts, rates, distinct)

    @staticmethod
    def _value(node: Routed) -> float:
        return 0.0 if node.score is None else node.score.number("score")

    @staticmethod
    def _n(element: Element | None) -> int | None:
        n = None if element is None or element.get("recordCount") is None else element.number("recordCount")
        return int(n) if n is not None and is_whole(n) and n >= 0 else None


def totals(nodes: Sequence[Node]) -> Mapping[str, int]:
    """The counts of all leaves of a tree together."""
    found: dict[str, int] = {}
    for node in nodes:
        if node.is_leaf and node.counts is not None:
            for name, count in node.counts.items():
                found[name] = found.get(name, 0) + count
    return found
