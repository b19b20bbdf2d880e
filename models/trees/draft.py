"""A grown tree before it is published, and how its nodes state their counts, rounded or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from maxent.models.arguments import Publish as Publish
from maxent.models.release import Branch, Node

if TYPE_CHECKING:
    from maxent.models.arrays import IntArray


@dataclass(slots=True)
class Draft:
    """A grown node before it has an id; a list of them is a tree in depth-first order, ``children`` are positions."""

    counts: IntArray
    label: int
    attribute: str | None = None
    branches: tuple[Branch, ...] = ()
    children: list[int] = field(default_factory=list)


def depth_first(drafts: Sequence[Draft]) -> list[Draft]:
    """Nodes below the first one, in depth-first order; ``children`` are changed to match."""
    order: list[int] = []
    stack = [0]
    while stack:
        order.append(stack.pop())
        stack.extend(reversed(drafts[order[-1]].children))
    number = {at: i for i, at in enumerate(order)}
    for at in order:
        drafts[at].children = [number[child] for child in drafts[at].children]
    return [drafts[at] for at in order]


def freeze(
    drafts: Sequence[Draft], classes: Sequence[str], publish: Publish = "counts", *, inner_counts: bool = False
) -> tuple[Node, ...]:
    """Nodes of a release from a grown tree: N1, N2... and L1, L2... in the order of ``drafts``, the root first."""
    ids: list[str] = []
    leaves = 0
    for draft in drafts:
        leaves += draft.attribute is None
        ids.append(f"L{leaves}" if draft.attribute is None else f"N{len(ids) + 1 - leaves}")

    def node(draft: Draft, node_id: str) -> Node:
        n = int(draft.counts.sum())
        by_class = dict(zip(classes, draft.counts.tolist(), strict=True))
        if draft.attribute is not None:
            branches = tuple(replace(b, child=ids[c]) for b, c in zip(draft.branches, draft.children, strict=True))
            if not inner_counts:
                return Node(node_id, draft.attribute, branches)
            return Node(node_id, draft.attribute, branches, n=n, counts=by_class)
        label = classes[draft.label]
        if publish == "labels":
            return Node(node_id, label=label)
        if publish == "counts":
            return Node(node_id, label=label, n=n, counts=by_class)
        return Node(node_id, label=label, error_rate=(n - by_class[label]) / n if n else None, n=n)

    return tuple(node(draft, node_id) for draft, node_id in zip(drafts, ids, strict=True))
