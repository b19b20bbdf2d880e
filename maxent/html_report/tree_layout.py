"""Trees as drawings: which nodes are open at first, where they go, and in which colour."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from maxent.disclosure.nodes import NodeDisclosure
from maxent.html_report.view import NodeView, TreeView
from maxent.html_report.words import people, percent

COLUMN, ROW = 274, 54
CARD_WIDTH, CARD_HEIGHT = 226, 42
MARGIN = 10

STEPS = 5
"""Shades of disclosure, from as little as a blind guess to certainty."""

OPEN_ROWS = 14
"""Rows that a tree has at first; nodes that would need more are closed, the root only if it would need `WIDEST`."""

WIDEST = 60
"""Branches of a root that is open at first, at most."""

LINE, SMALL_LINE = 26, 34
"""Characters that fit into the first and the second line of a card."""


@dataclass(frozen=True, slots=True)
class Card:
    """A node in a drawing: its top left corner in pixels, its lines, its shade (None: nobody is there)."""

    x: float
    y: float
    title: str
    text: str
    full: str
    shade: int | None
    hidden: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """A tree with some nodes open: size in pixels, cards, and the paths that link them."""

    width: int
    height: int
    cards: tuple[Card, ...]
    links: tuple[str, ...]


def shade(disclosed: NodeDisclosure, baseline: float) -> int | None:
    """The shade of a node: how far right guesses are between a blind guess and certainty; None where nobody is."""
    if disclosed.vulnerability is None:
        return None
    if baseline >= 1:
        return STEPS - 1
    part = (disclosed.vulnerability - baseline) / (1 - baseline)
    return min(max(int(part * STEPS), 0), STEPS - 1)


def legend(baseline: float) -> tuple[str, ...]:
    """The lowest share of right guesses of each shade."""
    return tuple(percent(baseline + (1 - baseline) * i / STEPS) for i in range(STEPS))


def opened(tree: TreeView, rows: int = OPEN_ROWS) -> frozenset[int]:
    """Nodes whose children are shown at first: level by level, as long as there are rows for them."""
    found = set()
    used, waiting = 1, deque([0])
    while waiting:
        place = waiting.popleft()
        children = tree.nodes[place].children
        if children and used + len(children) - 1 <= (rows if place else max(rows, WIDEST)):
            found.add(place)
            used += len(children) - 1
            waiting.extend(children)
    return frozenset(found)


def draw(tree: TreeView, baseline: float, rows: int = OPEN_ROWS) -> Drawing:
    """A tree from left to right, open as far as `opened` says."""
    is_open, hidden = opened(tree, rows), _below(tree)
    depth, order, stack = {0: 0}, [], [0]
    while stack:  # depth first, in the order of the branches
        place = stack.pop()
        order.append(place)
        if place in is_open:
            children = tree.nodes[place].children
            depth.update(dict.fromkeys(children, depth[place] + 1))
            stack.extend(reversed(children))
    row: dict[int, float] = {}
    shown = [place for place in order if place not in is_open]
    row.update({place: float(i) for i, place in enumerate(shown)})
    for place in reversed(order):
        if place in is_open:
            children = tree.nodes[place].children
            row[place] = (row[children[0]] + row[children[-1]]) / 2
    cards = tuple(
        _card(tree.nodes[place], depth[place], row[place], 0 if place in is_open else hidden[place], baseline)
        for place in order
    )
    links = tuple(
        _link(depth[place], row[place], row[child])
        for place in order
        if place in is_open
        for child in tree.nodes[place].children
    )
    width = MARGIN * 2 + COLUMN * max(depth.values()) + CARD_WIDTH + (COLUMN - CARD_WIDTH)
    return Drawing(width, MARGIN * 2 + ROW * len(shown), cards, links)


def _below(tree: TreeView) -> list[int]:
    """Number of places below each place."""
    below = [0] * len(tree.nodes)
    order, stack = [], [0]
    while stack:
        place = stack.pop()
        order.append(place)
        stack.extend(tree.nodes[place].children)
    for place in reversed(order[1:]):
        below[tree.nodes[place].parent] += below[place] + 1
    return below


def _card(node: NodeView, depth: int, row: float, hidden: int, baseline: float) -> Card:
    """A node with its two lines."""
    found = node.disclosed
    text = people(found.individuals)
    if found.vulnerability is not None:
        text += f" · {percent(found.vulnerability)}"
    if found.certain:
        text += f" · {found.certain:,} certain"
    return Card(
        x=MARGIN + COLUMN * depth,
        y=MARGIN + ROW * row + (ROW - CARD_HEIGHT) / 2,
        title=node.title,
        text=clip(text, SMALL_LINE),
        full=f"{node.condition}: {node.kind}{'' if node.kind == 'removed leaf' else ' ' + node.name}, {text}",
        shade=shade(found, baseline),
        hidden=hidden,
    )


def clip(text: str, length: int = LINE) -> str:
    """A text that fits into a card."""
    return text if len(text) <= length else text[: length - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _link(depth: int, above: float, below: float) -> str:
    """The path from a card to one in the next column."""
    x1 = MARGIN + COLUMN * depth + CARD_WIDTH
    x2 = MARGIN + COLUMN * (depth + 1)
    y1, y2 = (MARGIN + ROW * (row + 0.5) for row in (above, below))
    middle = (x1 + x2) / 2
    return f"M{x1:g} {y1:g}C{middle:g} {y1:g} {middle:g} {y2:g} {x2:g} {y2:g}"
