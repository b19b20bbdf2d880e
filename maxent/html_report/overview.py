"""A whole tree at a glance: every leaf a column below its splits, in the shade of what it discloses."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

from maxent.html_report.tree_layout import shade
from maxent.html_report.view import TreeView

MOST = 400
"""Columns of a drawing: of a tree with more leaves, those parts are merged that the fewest people are in."""

STRIP = 0.4
"""Share of the height in which there are leaves alone."""


@dataclass(frozen=True, slots=True)
class Overview:
    """A tree as an icicle, in columns and levels.

    ``columns`` are the places at the bottom, from left to right, of which ``merged`` are no leaves but parts of the
    tree: the shades of their leaves are stacked, each as high as it has people. ``inner`` is the outline of the splits,
    ``shaded`` the outlines of the shades by their class of style.
    """

    width: int
    height: float
    columns: tuple[int, ...]
    merged: int
    leaves: int
    inner: str
    shaded: tuple[tuple[str, str], ...]


def overview(tree: TreeView, baseline: float, most: int = MOST) -> Overview:
    """The whole of a tree, with at most so many columns unless the root alone has more branches."""
    nodes = tree.nodes
    is_open = _opened(tree, most)
    depth, first = {0: 0}, {0: 0}
    columns: list[int] = []
    order: list[int] = []
    stack = [0]
    while stack:
        place = stack.pop()
        first[place] = len(columns)
        order.append(place)
        if place in is_open:
            children = nodes[place].children
            depth.update(dict.fromkeys(children, depth[place] + 1))
            stack.extend(reversed(children))
        else:
            columns.append(place)
    levels = max(depth.values()) + 1
    height = levels / (1 - STRIP)
    end = {place: first[place] + 1 for place in columns}
    for place in reversed(order):
        if place in is_open:
            end[place] = end[nodes[place].children[-1]]
    inner = "".join(_box(first[p], depth[p], end[p] - first[p], 1) for p in order if p in is_open)
    shaded: dict[str, list[str]] = {}
    people = _people_by_shade(tree, baseline, set(columns))
    for place in columns:
        top, total = float(depth[place]), sum(people[place].values())
        for name, number in sorted(people[place].items()):
            high = (height - depth[place]) * number / total
            shaded.setdefault(name, []).append(_box(first[place], top, 1, high))
            top += high
    return Overview(
        width=len(columns),
        height=height,
        columns=tuple(columns),
        merged=sum(bool(nodes[place].children) for place in columns),
        leaves=sum(not node.children for node in nodes),
        inner=inner,
        shaded=tuple((name, "".join(boxes)) for name, boxes in sorted(shaded.items())),
    )


def _people_by_shade(tree: TreeView, baseline: float, columns: set[int]) -> dict[int, dict[str, int]]:
    """The people of the leaves below each column by the shade of their leaf; one of none where nobody is."""
    nodes = tree.nodes
    column, found = {place: place for place in columns}, {place: dict[str, int]() for place in columns}
    stack = [*columns]
    while stack:
        place = stack.pop()
        node, mine = nodes[place], found[column[place]]
        column |= dict.fromkeys(node.children, column[place])
        stack += node.children
        if not node.children and node.disclosed.individuals:
            name = f"s{shade(node.disclosed, baseline)}"
            mine[name] = mine.get(name, 0) + node.disclosed.individuals
    return {place: mine or {"nobody": 1} for place, mine in found.items()}


def _opened(tree: TreeView, most: int) -> set[int]:
    """The places whose branches are drawn: where the most people are first, as long as there are columns."""
    found: set[int] = set()
    used, waiting = 1, [(0, 0)]
    while waiting:
        _, place = heappop(waiting)
        children = tree.nodes[place].children
        if children and (place == 0 or used + len(children) - 1 <= most):
            found.add(place)
            used += len(children) - 1
            for child in children:
                heappush(waiting, (-tree.nodes[child].disclosed.individuals, child))
    return found


def _box(x: int, y: float, width: int, height: float) -> str:
    return f"M{x} {y:g}h{width}v{height:g}h-{width}z"
