"""Trees of a report: the content of each place, and the layout and colours of the drawing."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maxent.attacks.generalised import Reach, condition_in_words, everything, narrowed
from maxent.constraints.program.program import Internal, Linear, Program
from maxent.disclosure.inference import NodeDisclosure, disclosed_by_node, people_by_place, sums_by_place
from maxent.models.arrays import IntArray
from maxent.models.release import Node
from maxent.models.trees.places import Places
from maxent.results.explanation import place_of, says
from maxent.results.html_report.view import NodeView, Said, TreeView, people, percent, plural, rounded, shown

if TYPE_CHECKING:
    from maxent.results.solved import Solved

# Trees as drawings: which nodes are open at first, where they go, and in which colour.

COLUMN, ROW = 274, 54
CARD_WIDTH, CARD_HEIGHT = 226, 42
MARGIN = 10
# Shades of disclosure, from as little as a blind guess to certainty.
STEPS = 5
# Rows that a tree has at first; nodes that would need more are closed, the root only if it would need `WIDEST`.
OPEN_ROWS = 14
# Branches of a root that is open at first, at most.
WIDEST = 60
# Characters that fit into the first and the second line of a card.
LINE, SMALL_LINE = 26, 34


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


# Quasi-identifiers that are named of each node: the most exposed.
PEOPLE = 3
# Characters of the name of an attribute that are left of a long condition on a card.
SHORTEST = 6
# Constraints that are written out for each node.
CONSTRAINTS = 12
# Nodes that one report draws; trees beyond are only counted.
DRAWN = 40_000


def drawn_trees(result: Solved, budget: int = DRAWN) -> int:
    """Number of trees of a release that fit into a number of nodes, at least 1."""
    sizes = np.cumsum([len(tree.nodes) for tree in result.program.release.trees])
    return max(int(np.searchsorted(sizes, budget, side="right")), min(1, len(sizes)))


def tree_views(result: Solved, exposure: IntArray, known: Callable[[int], int], trees: int) -> tuple[TreeView, ...]:
    """The first trees of a release.

    ``exposure``, shape (n_qi,): rows of the table, the most exposed first. ``known``: Row of the table -> its number in
    `ReleaseView.people`. ``trees``: how many.
    """
    rank = np.empty(len(exposure), np.int64)
    rank[exposure] = np.arange(len(exposure))
    constraints = _by_place(result.program)
    return tuple(_tree_view(result, t, rank, known, constraints) for t in range(trees))


def _by_place(program: Program) -> dict[tuple[int, int], list[Linear | Internal]]:
    """The constraints that come from each place of the trees."""
    found: dict[tuple[int, int], list[Linear | Internal]] = defaultdict(list)
    constraints: tuple[Linear | Internal, ...] = (*program.linear, *program.internal)
    for constraint in constraints:
        place = place_of(program, constraint)
        if place is not None:
            found[place].append(constraint)
    return found


def _tree_view(
    result: Solved,
    tree: int,
    rank: IntArray,
    known: Callable[[int], int],
    constraints: dict[tuple[int, int], list[Linear | Internal]],
) -> TreeView:
    """One tree."""
    program = result.program
    places = program.cells.trees[tree].places
    people = people_by_place(program, tree)
    counts = program.table.counts.astype(np.float64)
    masses = np.column_stack([sums_by_place(people, counts * p) for p in result.probabilities.T])
    disclosed = disclosed_by_node(result, tree)
    steps = _steps(program, places)
    nodes = []
    for place, found in enumerate(disclosed):
        node = places.node(place)
        rows, told = people.at(place), constraints.get((tree, place), [])
        nodes.append(
            NodeView(
                name="removed leaf" if node is None else shown(node.id),
                kind="removed leaf" if node is None else "leaf" if node.is_leaf else "node",
                parent=int(places.parent[place]),
                children=places.children[place],
                attribute=steps[place].attribute,
                condition=steps[place].condition,
                title=steps[place].title,
                stated=_stated(node, rounded=result.program.release.rounded is not None),
                disclosed=found,
                distribution=tuple((masses[place] / found.individuals).tolist()) if found.individuals else (),
                quasi_identifiers=len(rows),
                people=tuple(map(known, _first(rows, rank))),
                constraints=tuple(_said(program, told[:CONSTRAINTS])),
                more=max(len(told) - CONSTRAINTS, 0),
            )
        )
    several = len(program.release.trees) > 1
    name = f"Tree {tree + 1}" if several else "The tree"
    return TreeView(name if program.scaling is None else "The published rows, alike ones together", tuple(nodes))


def _first(rows: IntArray, rank: IntArray) -> list[int]:
    """The most exposed of some rows of the table."""
    if len(rows) > PEOPLE:
        rows = rows[np.argpartition(rank[rows], PEOPLE)[:PEOPLE]]
    return [int(row) for row in rows[np.argsort(rank[rows])]]


def _said(program: Program, constraints: Sequence[Linear | Internal]) -> Iterable[Said]:
    """Constraints in words."""
    for constraint in constraints:
        kind = constraint.kind if isinstance(constraint, Linear) else "internal"
        yield Said(kind, shown(says(program, constraint)))


@dataclass(frozen=True, slots=True)
class _Step:
    """The way to a place from the one above: the attribute, all that the way says of it, and the title of a card."""

    attribute: str = ""
    condition: str = "everybody"
    title: str = "everybody"


def _steps(program: Program, places: Places) -> list[_Step]:
    """The step to each place. One walk keeps the values of the place it is at, as that of `generalised` does."""
    attributes = {attribute.name: attribute for attribute in program.release.attributes}
    found = [_Step()] * len(places)
    reach = {name: everything(attribute) for name, attribute in attributes.items()}
    # Either enter a place, or (None) restore what is known of an attribute.
    stack: list[tuple[int | None, str, Reach]] = [(0, "", ())]
    while stack:
        place, name, values = stack.pop()
        if name:
            reach[name] = values
        node = None if place is None else places.node(place)
        if place is None or node is None or node.is_leaf:
            continue
        attribute = attributes[node.attribute or ""]
        stack.append((None, attribute.name, reach[attribute.name]))
        for child, branch in zip(places.children[place], node.branches, strict=True):
            there = narrowed(reach[attribute.name], branch)
            own = condition_in_words(attribute, narrowed(everything(attribute), branch), rounded)
            found[child] = _Step(
                shown(attribute.name), shown(condition_in_words(attribute, there, rounded)), _title(attribute.name, own)
            )
            stack.append((child, attribute.name, there))
    return found


def _title(name: str, condition: str) -> str:
    """A condition that fits on a card; what is cut off first is the name of the attribute, which its siblings share."""
    before, _, rest = (shown(part) for part in condition.partition(name))
    return clip(before + clip(shown(name), max(LINE - len(before) - len(rest), SHORTEST)) + rest, LINE)


def _stated(node: Node | None, *, rounded: bool) -> tuple[str, ...]:
    """The published statements about a node."""
    if node is None:
        return ("nothing: the leaf was removed before publication",)
    found, how = [], " (rounded)" if rounded else ""
    if node.attribute is not None:
        found.append(f"a split by {shown(node.attribute)} into {len(node.branches)} branches")
    if node.label is not None:
        found.append(f"most frequent class: {shown(node.label)}")
    if node.error_rate is not None:
        found.append(f"error rate: {node.error_rate:.6g}")
    if node.rates is not None:
        found.append("shares: " + ", ".join(f"{shown(c)} {share:.6g}" for c, share in node.rates.items()))
    if node.n is not None:
        found.append(plural(node.n, "record") + how)
    if node.counts is not None:
        found += [f"{shown(name)}: {plural(count, 'record')}{how}" for name, count in node.counts.items()]
    return tuple(found) or ("nothing",)
