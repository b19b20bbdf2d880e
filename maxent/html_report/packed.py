"""The trees of a report as compact JSON, from which its script draws what is asked for."""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import isinf
from typing import Any

from maxent.disclosure.checked_arrays import TOLERANCE
from maxent.html_report import tree_layout as drawing
from maxent.html_report.view import NodeView, Person, ReleaseView, TreeView

KINDS = ("leaf", "node", "removed leaf")

DIGITS = 4
"""Decimals of probabilities and nats; what is certain becomes 1, what is impossible 0, and nothing else does."""


class Pool:
    """Texts, each once."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        """The number of a text."""
        return self.texts.setdefault(text, len(self.texts))

    def all(self, texts: Iterable[str]) -> list[int]:
        """The numbers of some texts."""
        return [self(text) for text in texts]


def packed(releases: Iterable[ReleaseView]) -> str:
    """The trees of all releases as JSON text that may stand in a script element: no character of it ends one."""
    size = {
        "column": drawing.COLUMN,
        "row": drawing.ROW,
        "width": drawing.CARD_WIDTH,
        "height": drawing.CARD_HEIGHT,
        "line": drawing.SMALL_LINE,
    }
    document = {
        "size": {**size, "margin": drawing.MARGIN, "steps": drawing.STEPS},
        "releases": [_release(release) for release in releases if release.trees],
    }
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)  # ASCII: U+2028 and the like are escaped
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _release(release: ReleaseView) -> dict[str, Any]:
    """One release: its texts, the people who are named, and its trees."""
    pool = Pool()
    trees = [_tree(tree, pool) for tree in release.trees]
    people = [_person(person, pool) for person in release.people]
    return {
        "name": release.name,
        "target": release.target,
        "classes": list(release.classes),
        "attributes": list(release.attributes),
        "baseline": release.baseline,
        "blind": release.blind,
        "undrawn": release.undrawn,
        "uncertain": release.uncertain,
        "people": people,
        "trees": trees,
        "texts": list(pool.texts),
    }


def _tree(tree: TreeView, pool: Pool) -> dict[str, Any]:
    """One tree, a list for each property of its places."""
    nodes = tree.nodes
    found: dict[str, Any] = {
        "name": tree.name,
        "open": sorted(drawing.opened(tree)),
        "kind": [KINDS.index(node.kind) for node in nodes],
        "id": pool.all(node.name for node in nodes),
        "children": [list(node.children) for node in nodes],
        "attribute": pool.all(node.attribute for node in nodes),
        "condition": pool.all(node.condition for node in nodes),
        "title": pool.all(node.title for node in nodes),
        "people": [node.disclosed.individuals for node in nodes],
        "certain": [node.disclosed.certain for node in nodes],
        "surest": [rounded(node.disclosed.max_posterior) for node in nodes],
        "right": [rounded(node.disclosed.vulnerability) for node in nodes],
        "entropy": [rounded(node.disclosed.entropy) for node in nodes],
        "stated": [pool.all(node.stated) for node in nodes],
        "classes": [[rounded(share) for share in node.distribution] for node in nodes],
        "quasi": [node.quasi_identifiers for node in nodes],
        "who": [list(node.people) for node in nodes],
        "why": [_constraints(node, pool) for node in nodes],
        "more": [node.more for node in nodes],
    }
    if any(node.disclosed.divergence is not None for node in nodes):
        found["divergence"] = [rounded(node.disclosed.divergence) for node in nodes]
    return found


def _constraints(node: NodeView, pool: Pool) -> list[int]:
    """Kind and words of each constraint, one after the other."""
    return [number for said in node.constraints for number in (pool(said.kind), pool(said.says))]


def _person(person: Person, pool: Pool) -> list[Any]:
    """Values, individuals, class, its probability, and the divergence if there is one."""
    values = pool.all(value for _, value in person.values)
    return [values, person.count, pool(person.label), rounded(person.probability), rounded(person.divergence)]


def rounded(value: float | None) -> float | str | None:
    """A probability or nats in few characters; infinity, which JSON has not, as ``inf``."""
    if value is None:
        return None
    if isinf(value):
        return "inf"
    unit = 10.0**-DIGITS
    if TOLERANCE <= value < unit or 1 - unit < value <= 1 - TOLERANCE:
        return unit if value < unit else 1 - unit
    short = float(round(value, DIGITS))
    return int(short) if short.is_integer() else short
