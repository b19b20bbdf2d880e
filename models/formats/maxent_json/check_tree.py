"""Checks of a whole release, and that nodes are a tree: one parent each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from maxent.models.errors import InvalidInput, Problem
from maxent.models.files.json_files import uncollected
from maxent.models.formats.maxent_json.check_branches import check_branches
from maxent.models.formats.maxent_json.check_counts import (
    Publication,
    Tally,
    check_roots,
    check_statements,
    check_sums,
)
from maxent.models.formats.maxent_json.parse import parse, parse_head, parse_tree
from maxent.models.formats.maxent_json.parse_answers import (
    answer_problems,
    has_several,
    part_problems,
    rule_problems,
    score_problems,
)
from maxent.models.formats.maxent_json.parse_target import moment_problems
from maxent.models.formats.maxent_json.published.parse_release import UNREAD
from maxent.models.formats.maxent_json.published.rounded_numbers import note_disagreements
from maxent.models.release_content import Attribute, Content, Node, Tree
from maxent.models.text.arguments import show

_Root = tuple[str, Tally, bool]

MOST_PROBLEMS = 10_000


class _Noted(list[Problem]):
    """Problems of a document, refused when there are `MOST_PROBLEMS`: each takes far more memory than two brackets."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self._source = source

    def append(self, problem: Problem) -> None:
        super().append(problem)
        if len(self) >= MOST_PROBLEMS:
            raise InvalidInput(self._source, self)


@uncollected()
def checked_release(document: object, source: str) -> Content:
    """The release that a decoded document describes.

    ``document``: decoded JSON. ``source``: what problems call the document.
    """
    problems: list[Problem] = _Noted(source)
    draft = parse(document, problems)
    if draft is None:
        raise InvalidInput(source, problems)
    release = draft.release
    publication = Publication.of(release)
    roots: list[_Root] = []
    for tree, places in zip(release.trees, draft.places, strict=True):
        roots += _check_nodes(problems, tree, places, release.attributes, publication)
        problems += part_problems(tree, places, release.labels)
    check_roots(problems, roots, publication)
    problems += answer_problems(release, draft.places)
    problems += moment_problems(release, draft.places)
    if problems:
        raise InvalidInput(source, problems)
    return release


@uncollected()
def check_by_tree(head: object, trees: Sequence[Tree], entry: Callable[[Tree], object], source: str) -> None:
    """Check what `checked_release` does, one tree after the other, so that of no other there is a copy in memory.

    ``head``: the document without its trees. ``entry``: what a document has in the place of a tree. ``source``: what
    problems call the document.
    """
    problems: list[Problem] = []
    parsed = parse_head(head, problems)
    if parsed is None:
        raise InvalidInput(source, problems)
    _, content, names = parsed
    publication = Publication.of(content)
    roots: list[_Root] = []
    heads, several = [], False
    for number, each in enumerate(trees, 1):
        tree, places = parse_tree(problems, f"tree {number}, " if len(trees) > 1 else "", entry(each), names)
        roots += _check_nodes(problems, tree, places, content.attributes, publication)
        problems += part_problems(tree, places, content.labels)
        several = several or has_several(tree)
        if content.predicts == "score":
            problems += score_problems(tree, places)
        problems += moment_problems(replace(content, trees=(tree,)), [places])
        heads.append(replace(tree, nodes=()))
    check_roots(problems, roots, publication)
    problems += rule_problems(replace(content, trees=tuple(heads)), several=several)
    if problems:
        raise InvalidInput(source, problems)


def _check_nodes(
    problems: list[Problem],
    tree: Tree,
    places: Sequence[str],
    attributes: Sequence[Attribute],
    publication: Publication,
) -> list[_Root]:
    """Note what is wrong with the nodes of a tree; its root, as `check_roots` has it, none of a tree without nodes."""
    for node, place in zip(tree.nodes, places, strict=True):
        check_statements(problems, place, node, publication)
    if not tree.nodes:
        return []
    layout = check_structure(problems, tree.nodes, places)
    check_branches(problems, tree.nodes, places, layout.children, attributes)
    if publication.rounded is not None:
        if publication.rounded.base == UNREAD:
            return []
        note_disagreements(problems, tree.nodes, places, layout.children, layout.order, publication)
        return []
    tally = check_sums(problems, tree.nodes, places, layout.children, layout.order, publication)
    whole = all(branch.child is not None for node in tree.nodes for branch in node.branches)
    return [(places[0], tally, whole)]


@dataclass(frozen=True, slots=True)
class Layout:
    """Links of the nodes of one tree, by their positions in its list of nodes.

    ``children[i]`` has an entry per branch of node ``i``, None where nothing usable hangs. ``order`` is every
    node that the root reaches, parents before children.
    """

    children: tuple[tuple[int | None, ...], ...]
    order: tuple[int, ...]


def check_structure(problems: list[Problem], nodes: Sequence[Node], places: Sequence[str]) -> Layout:
    """Note dangling and shared children, cycles and nodes that nothing leads to."""
    # The first of several nodes with the same id is the one that counts.
    position = {node.id: i for i, node in zip(range(len(nodes) - 1, -1, -1), reversed(nodes), strict=True)}
    owner: list[tuple[int, int] | None] = [None] * len(nodes)
    children: list[tuple[int | None, ...]] = []
    extra: list[tuple[int, int, int]] = []
    for i, node in enumerate(nodes):
        if not node.branches:
            children.append(())
            continue
        below: list[int | None] = []
        for b, branch in enumerate(node.branches):
            j = position.get(branch.child) if branch.child else None
            if branch.child is not None and j is None:
                expected = "the id of a node of this tree, or null for a removed leaf"
                problems.append(Problem(_at(places, i, b), "child", expected, show(branch.child)))
            elif j is not None and (j == 0 or owner[j] is not None):
                extra.append((i, b, j))
                j = None
            elif j is not None:
                owner[j] = (i, b)
            below.append(j)
        children.append(tuple(below))
    order = _preorder(children)
    if extra:
        _note_extra(problems, nodes, places, extra, owner, _spans(children, order))
    if len(order) < len(nodes):
        _note_unreached(problems, nodes, places, owner, position, set(order))
    return Layout(tuple(children), order)


def _at(places: Sequence[str], i: int, b: int) -> str:
    """The place of branch ``b`` of node ``i``."""
    return f"{places[i]}, branch {b + 1}"


def _preorder(children: Sequence[tuple[int | None, ...]]) -> tuple[int, ...]:
    """The nodes below the root, parents first; without recursion, since trees may be very deep."""
    order: list[int] = []
    stack = [0]
    while stack:
        i = stack.pop()
        order.append(i)
        if children[i]:
            stack.extend([j for j in reversed(children[i]) if j is not None])
    return tuple(order)


def _spans(children: Sequence[tuple[int | None, ...]], order: Sequence[int]) -> dict[int, tuple[int, int]]:
    """For each reached node the range of preorder numbers of its subtree."""
    start = {i: number for number, i in enumerate(order)}
    size: dict[int, int] = {}
    for i in reversed(order):
        size[i] = 1 + sum(size[j] for j in children[i] if j is not None)
    return {i: (start[i], start[i] + size[i]) for i in order}


def _note_extra(
    problems: list[Problem],
    nodes: Sequence[Node],
    places: Sequence[str],
    extra: Sequence[tuple[int, int, int]],
    owner: Sequence[tuple[int, int] | None],
    spans: Mapping[int, tuple[int, int]],
) -> None:
    """Note branches that lead to the root or to a node that already has a parent."""
    for i, b, j in extra:
        (low, high), (number, _) = spans.get(j, (0, 0)), spans.get(i, (-1, -1))
        first = owner[j]
        if low <= number < high:
            expected = "a node that is not above this branch"
            found = f"{show(nodes[j].id)}, {'the root, ' if j == 0 else ''}which closes a cycle"
        elif first is None:
            expected, found = "a node other than the root", f"{show(nodes[j].id)}, the root"
        else:
            expected = "a node that is the child of no other branch"
            found = f"{show(nodes[j].id)}, already the child of {_at(places, *first)}"
        problems.append(Problem(_at(places, i, b), "child", expected, found))


def _note_unreached(
    problems: list[Problem],
    nodes: Sequence[Node],
    places: Sequence[str],
    owner: Sequence[tuple[int, int] | None],
    position: Mapping[str, int],
    reached: Set[int],
) -> None:
    """Note nodes without a parent, and cycles apart from the root; what hangs below those follows from them."""
    walk_of: dict[int, int] = {}
    for start in range(len(nodes)):
        i = start
        while i not in reached and i not in walk_of:
            walk_of[i] = start
            parent = owner[i]
            if parent is None:
                # Without a usable id of its own a node cannot be anyone's child: that is noted already.
                if nodes[i].id and position[nodes[i].id] == i:
                    expected = "a node that some branch leads to, as for every node but the first (the root)"
                    problems.append(Problem(places[i], "id", expected, f"no branch with child {show(nodes[i].id)}"))
                break
            i = parent[0]
            if walk_of.get(i) == start:
                expected = "a parent that the root leads to"
                found = f"a cycle of nodes apart from the root, through {show(nodes[i].id)}"
                problems.append(Problem(places[i], "branches", expected, found))
