"""Checks that the branches of each node divide exactly the values that can reach it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice

from maxent.models.errors import Problem
from maxent.models.release_content import Attribute, Branch, Node
from maxent.models.text.arguments import name, show

# What can reach a node: values of a categorical attribute, or the interval low < value <= high of a numeric one and
# whether missing values can.
_Interval = tuple[float, float]
_Numbers = tuple[float, float, bool]
_Values = dict[str, None]  # a set that keeps the order of the document, for its messages
_Reach = _Values | _Numbers
_NOTHING: _Numbers = (math.inf, -math.inf, False)


def check_branches(
    problems: list[Problem],
    nodes: Sequence[Node],
    places: Sequence[str],
    children: Sequence[Sequence[int | None]],
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
            for j, step in zip(children[i], steps, strict=True)
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
