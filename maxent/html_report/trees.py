"""Trees as a report shows them: every place with what it tells, who is behind it and which constraints come from it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from maxent.api.adversary.explain import place_of, says
from maxent.attacks.generalised import Reach, condition_in_words, everything, narrowed
from maxent.constraints.program import Internal, Linear, Program
from maxent.disclosure.nodes import disclosed_by_node, people_by_place, sums_by_place
from maxent.html_report.tree_layout import LINE, clip
from maxent.html_report.view import NodeView, Said, TreeView
from maxent.html_report.words import plural, rounded, shown
from maxent.models.arrays import IntArray
from maxent.models.release import Node
from maxent.models.trees.places import Places
from maxent.results.solved import Solved

PEOPLE = 3
"""Quasi-identifiers that are named of each node: the most exposed."""

SHORTEST = 6
"""Characters of the name of an attribute that are left of a long condition on a card."""

CONSTRAINTS = 12
"""Constraints that are written out for each node."""

DRAWN = 40_000
"""Nodes that one report draws; trees beyond are only counted."""


def drawn_trees(result: Solved, budget: int = DRAWN) -> int:
    """Number of trees of a release that fit into a number of nodes, at least 1."""
    sizes = np.cumsum([len(tree.nodes) for tree in result.program.release.trees])
    return max(int(np.searchsorted(sizes, budget, side="right")), min(1, len(sizes)))


def tree_views(result: Solved, exposure: IntArray, known: Callable[[int], int], trees: int) -> tuple[TreeView, ...]:
    """The first trees of a release.

    Parameters
    ----------
    result : Solved
    exposure : shape (n_qi,)
        Rows of the table, the most exposed first.
    known : callable
        Row of the table -> its number in `ReleaseView.people`.
    trees : int
        How many.
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
