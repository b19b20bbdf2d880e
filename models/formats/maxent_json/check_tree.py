"""Checks that nodes are a tree: one parent each, and branches that divide exactly the values that can reach them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import islice

from maxent.models.errors import InvalidInput, Problem
from maxent.models.files.json_files import uncollected
from maxent.models.formats.maxent_json.check_counts import Publication, check_roots, check_statements, check_sums
from maxent.models.formats.maxent_json.parse import parse
from maxent.models.formats.maxent_json.parse_answers import answer_problems
from maxent.models.formats.maxent_json.parse_moments import moment_problems
from maxent.models.release_content import Attribute, Branch, Content, Node
from maxent.models.text.arguments import name, show

# What can reach a node: values of a categorical attribute, or the interval low < value <= high of a numeric one and
# whether missing values can.
_Interval = tuple[float, float]
_Numbers = tuple[float, float, bool]
_Values = dict[str, None]  # a set that keeps the order of the document, for its messages
_Reach = _Values | _Numbers
_NOTHING: _Numbers = (math.inf, -math.inf, False)


@uncollected()
def checked_release(document: object, source: str) -> Content:
    """The release that a decoded document describes.

    Parameters
    ----------
    document : object
        Decoded JSON.
    source : str
        What problems call the document.

    Raises
    ------
    InvalidInput
        With every problem of the document.
    """
    problems: list[Problem] = []
    draft = parse(document, problems)
    if draft is None:
        raise InvalidInput(source, problems)
    release = draft.release
    publication = Publication.of(release)
    roots = []
    for tree, places in zip(release.trees, draft.places, strict=True):
        for node, place in zip(tree.nodes, places, strict=True):
            check_statements(problems, place, node, publication)
        if tree.nodes:
            layout = check_structure(problems, tree.nodes, places)
            check_branches(problems, tree.nodes, places, layout, release.attributes)
            tally = check_sums(problems, tree.nodes, places, layout.children, layout.order, publication)
            whole = all(branch.child is not None for node in tree.nodes for branch in node.branches)
            roots.append((places[0], tally, whole))
    check_roots(problems, roots, publication)
    problems += answer_problems(release, draft.places)
    problems += moment_problems(release, draft.places)
    if problems:
        raise InvalidInput(source, problems)
    return release


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


def check_branches(
    problems: list[Problem],
    nodes: Sequence[Node],
    places: Sequence[str],
    layout: Layout,
    attributes: Sequence[Attribute],
) -> None:
    """Note branches that overlap, and values that can reach a node but that none of its branches covers.

    One walk from the root keeps what can still reach the node, per attribute; a step changes it at a single
    attribute and is undone on the way back, so that memory stays linear in the document.
    """
    reach: dict[str, _Reach] = {
        a.name: (-math.inf, math.inf, a.missing) if a.values is None else dict.fromkeys(a.values) for a in attributes
    }
    # Either enter node i with a new reach of one attribute, or (None) restore that attribute. The last entry
    # tells whether any record can get there at all: where none can, there is nothing to cover.
    stack: list[tuple[int | None, str, _Reach | None, bool]] = [(0, "", None, True)]
    while stack:
        i, title, new, alive = stack.pop()
        if new is not None:
            reach[title] = new
        if i is None or not nodes[i].branches:
            continue
        node = nodes[i]
        title = node.attribute or ""
        old = reach.get(title)
        if old is None:  # an attribute that could not be read
            steps: list[_Reach | None] = [None] * len(node.branches)
        elif isinstance(old, tuple):
            steps = list(_numeric(problems, places[i], node, old if alive else _NOTHING))
        else:
            steps = list(_categorical(problems, places[i], node, old if alive else {}))
        below = [
            (j, title, step, alive and not _is_empty(step))
            for j, step in zip(layout.children[i], steps, strict=True)
            if j is not None and nodes[j].branches
        ]
        if below:
            stack.append((None, title, old, alive))
            stack += below


def _is_empty(reach: _Reach | None) -> bool:
    """Whether nothing is left that can reach a node."""
    if isinstance(reach, tuple):
        return not reach[0] < reach[1] and not reach[2]
    return reach is not None and not reach


def _categorical(problems: list[Problem], place: str, node: Node, reach: _Values) -> list[_Values]:
    """Check the branches of a categorical split; what reaches each child."""
    branch_of: dict[str, int] = {}
    for number, branch in enumerate(node.branches, 1):
        for value in branch.values or ():
            if branch_of.setdefault(value, number) != number:
                found = f"{show(value)}, also in branch {branch_of[value]}"
                expected = "values that no other branch names (no overlap)"
                problems.append(Problem(f"{place}, branch {number}", "in", expected, found))
    steps = [reach if b.values is None else {v: None for v in b.values if v in reach} for b in node.branches]
    read = all(branch.values is not None for branch in node.branches)
    if read and sum(value in reach for value in branch_of) < len(reach):
        missing = [show(value) for value in islice((v for v in reach if v not in branch_of), 4)]
        found = "no branch for " + ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
        expected = f"branches that cover every value of {name(node.attribute or '')} that can reach the node"
        problems.append(Problem(place, "branches", expected, found))
    return steps


def _numeric(problems: list[Problem], place: str, node: Node, reach: _Numbers) -> list[_Numbers]:
    """Check the branches of a numeric split; what reaches each child."""
    if len(node.branches) == 2:
        one, other = node.branches
        if one.le is not None and one.gt is None and other.le is None and other.gt == one.le:
            _check_missing(problems, place, node, reach[2])
            return [
                (reach[0], min(one.le, reach[1]), reach[2] and bool(one.missing)),
                (max(one.le, reach[0]), reach[1], reach[2] and bool(other.missing)),
            ]
    _check_missing(problems, place, node, reach[2])
    sound = [(_interval(branch), b) for b, branch in enumerate(node.branches) if not _untested(branch)]
    in_order = sorted(sound)
    widest, first = in_order[0] if in_order else ((0.0, 0.0), 0)
    for interval, second in in_order[1:]:
        if interval[0] < widest[1]:
            found = f"{_words(interval)}, while branch {first + 1} has {_words(widest)}"
            expected = "an interval that no other branch meets (no overlap)"
            problems.append(Problem(f"{place}, branch {second + 1}", "le, gt", expected, found))
        if interval[1] > widest[1]:
            widest, first = interval, second
    if len(sound) == len(node.branches):
        gaps, start = [], reach[0]
        for low, high in [*(interval for interval, _ in in_order), (reach[1], math.inf)]:
            if start < min(low, reach[1]):
                gaps.append((start, min(low, reach[1])))
            start = max(start, high)
        if gaps:
            expected = f"branches that cover every value of {name(node.attribute or '')} that can reach the node"
            found = "no branch for " + " or ".join(map(_words, gaps[:3])) + (" or ..." if len(gaps) > 3 else "")
            problems.append(Problem(place, "branches", expected, found))
    steps = [(*_interval(branch), bool(branch.missing)) for branch in node.branches]
    return [(max(low, reach[0]), min(high, reach[1]), reach[2] and missing) for low, high, missing in steps]


def _check_missing(problems: list[Problem], place: str, node: Node, reached: bool) -> None:
    """Note missing values that several branches take, or that can reach the node and that none takes."""
    taking = [b for b, branch in enumerate(node.branches, 1) if branch.missing]
    if len(taking) > 1:
        found = f"true, as for branch {taking[0]}"
        problems.append(Problem(f"{place}, branch {taking[1]}", "missing", "true for one branch only", found))
    elif reached and not taking:
        expected = (
            f"a branch with missing: true, as {name(node.attribute or '')} has missing values that can reach the node"
        )
        problems.append(Problem(place, "branches", expected, "none"))


def _untested(branch: Branch) -> bool:
    """Whether the test of a numeric branch could not be read."""
    return branch.le is None and branch.gt is None and branch.missing is None


def _interval(branch: Branch) -> _Interval:
    """The numbers low < value <= high of a numeric branch, none of one that only takes missing values."""
    if branch.missing and branch.le is None and branch.gt is None:
        return math.inf, math.inf
    return (-math.inf if branch.gt is None else branch.gt, math.inf if branch.le is None else branch.le)


def _words(interval: _Interval) -> str:
    """An interval as a document would state it."""
    low, high = interval
    bounds = [f"gt {low!r}"] * (low > -math.inf) + [f"le {high!r}"] * (high < math.inf)
    return " and ".join(bounds) or "every value"
