"""The way of records through a tree: its nodes, what comes to each, and where it ends."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from maxent.models.formats.pmml.xml_document import Element
from maxent.models.release import Branch


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers above one and up to another, and whether missing ones are among them."""

    low: float
    high: float
    missing: bool


Reach: TypeAlias = "tuple[int, ...] | Numbers"  # what can come to a node: categories by their indices, or numbers


@dataclass(frozen=True, slots=True, eq=False)
class End:
    """Where a record ends: at a node, at none (the model gives no prediction), or at the last one that had a score."""

    kind: Literal["node", "none", "last"]
    node: Element | None = None


NONE, LAST = End("none"), End("last")


@dataclass(slots=True, eq=False)
class Routed:
    """A node of the release: its test, the element whose statements it has, and the element whose score it gives."""

    id: str
    attribute: str | None = None
    branches: tuple[Branch, ...] = ()
    element: Element | None = None
    score: Element | None = None


@dataclass(slots=True, eq=False)
class Route:
    """The nodes of a tree.

    ``ways`` are how many lead to each element, by its `id`; ``follows_missing`` says of each column whether a missing
    value of it ever has a prediction.
    """

    nodes: list[Routed] = field(default_factory=list)
    ways: dict[int, int] = field(default_factory=dict)
    follows_missing: dict[str, bool] = field(default_factory=lambda: defaultdict(bool))
