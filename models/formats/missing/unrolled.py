"""Trees in which a missing value has no branch of its own: other columns decide then, or all branches in parts.

A release has one place for each record, so that the ways of records without a value become branches of their own, below
which the tree goes on. What a leaf states is of the records that the tool counts there: it stands where none of them
lacks a value above the leaf. Elsewhere a leaf of the tool has several places, each a part of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from maxent.models.errors import invalid
from maxent.models.formats.packing import packed
from maxent.models.release import Branch, Node, Tree
from maxent.models.tables.columns.missing_values import MISSING
from maxent.models.trees.routing import interval_of

_LEAST, _TIMES = 2000, 10  # nodes that an unrolled tree may have: so many, and so many times those of the tool's tree
_WORK = 20_000_000  # values that may be looked at on all ways together
State = TypeVar("State")
# What is known of a value on the way from the root: one of some names, in an interval, or (None) missing
_Known = frozenset[str] | tuple[float, float] | None

_Task = tuple[State, tuple[int, int] | None, Mapping[str, _Known], bool, bool]


@dataclass(frozen=True, slots=True)
class Question(Generic[State]):
    """A test: its branches, and what each leads to; and what a record without a value leads to.

    ``lacking`` is whether some record that the tool counts below had no value. ``id`` is the tool's. Values of
    ``aside`` no record had there; they go other ways, as missing ones do.
    """

    id: str
    attribute: str
    branches: tuple[tuple[Branch, State], ...]
    missing: State
    lacking: bool
    aside: tuple[tuple[Branch, State], ...] = ()


def unrolled(
    source: str,
    start: State,
    step: Callable[[State], Question[State] | Node],
    may_lack: frozenset[str],
    size: int,
    better: str,
    origins: dict[str, str] | None = None,
) -> Tree:
    """The tree of a start and of the steps from it.

    ``source``: what problems call the file. ``step``: the question of a state, or the leaf that it is. ``may_lack``:
    attributes of which records may lack the value. ``size``: nodes of the tool's tree. ``better``: the way to a better
    export. ``origins``: takes the ids of leaves, and those that the tool has for them.
    """
    nodes: list[Node] = []
    drawn: dict[int, list[Branch]] = {}
    entire: set[str] = set()
    numbered = work = 0
    learns = bool(may_lack) or origins is not None
    most = _LEAST + _TIMES * size
    # What is to come: a state, the node that waits for its id and the branch, what is known, whether the way is the
    # tool's own, and whether all records are counted there.
    stack: list[tuple[State, tuple[int, int] | None, Mapping[str, _Known], bool, bool]] = [
        (start, None, {}, True, True)
    ]
    while stack:
        state, above, known, own, whole = stack.pop()
        found = step(state)
        while not own and isinstance(found, Question) and (only := _only(found, known)) is not None:
            found = step(only[0])
        work += len(known)
        if len(nodes) >= most or work > _WORK:
            expected = f"a tree of at most {most} nodes where records may lack values ({better})"
            raise invalid(source, "document", "missing values", expected, "more ways")
        if own:
            name = found.id
        else:
            numbered += 1
            name = f"m{numbered}"
        if above is not None:
            at, number = above
            drawn[at][number] = replace(drawn[at][number], child=name)
        if isinstance(found, Node):
            if origins is not None:
                origins[name] = found.id
            if whole and own:
                entire.add(found.id)
            nodes.append(replace(found, id=name) if whole and own else Node(name, label=found.label))
            continue
        lacks = found.attribute in may_lack and (own or found.attribute not in known)
        branches, below = _branches(found, known if not own else {}, lacks=lacks)
        parted = all(what for _, what, _ in below)  # else one branch takes those that lack the value, too
        drawn[len(nodes)] = branches
        nodes.append(Node(name, found.attribute))
        for i in reversed(range(len(branches))):
            next_state, what, goes_on = below[i]
            learned = {**known, found.attribute: what[0]} if what and learns else known
            counted = whole and not (found.lacking and parted)
            stack.append((next_state, (len(nodes) - 1, i), learned, own and goes_on, counted))
    # Of a leaf that has all of its records, the other places have none.
    several = {name for name, n in Counter((origins or {}).values()).items() if n > 1} - entire
    parts = {name: leaf for name, leaf in (origins or {}).items() if leaf in several}
    whole_nodes = (
        replace(node, branches=tuple(drawn.pop(at, ())), part_of=parts.get(node.id)) for at, node in enumerate(nodes)
    )
    return Tree(packed(source, whole_nodes))


def _only(question: Question[State], known: Mapping[str, _Known]) -> tuple[State] | None:
    """The state of the one answer that what is known leaves, None where there are several."""
    if question.attribute not in known:
        return None
    what = known[question.attribute]
    if what is None:
        return (question.missing,)
    left = [state for branch, state in (*question.branches, *question.aside) if _meets(branch, what)]
    return (left[0],) if len(left) == 1 else None


def _meets(branch: Branch, what: _Known) -> bool:
    """Whether a branch takes some value of those that are known to be possible."""
    if isinstance(what, frozenset):
        return not what.isdisjoint(branch.values or ())
    low, high = interval_of(branch)
    return what is not None and max(low, what[0]) < min(high, what[1])


def _branches(
    question: Question[State], known: Mapping[str, _Known], *, lacks: bool
) -> tuple[list[Branch], list[tuple[State, tuple[_Known, ...], bool]]]:
    """The branches of a test, and for each its state, what is known in it if anything, and whether it is the tool's."""
    branches: list[Branch] = []
    below: list[tuple[State, tuple[_Known, ...], bool]] = []
    what = (known[question.attribute],) if question.attribute in known else ()
    waits = lacks
    new = [(branch, state) for branch, state in question.aside if not what or _meets(branch, what[0])]
    for branch, state in question.branches:
        joined = tuple(value for other, way in new if way == state for value in other.values or ())
        if what and not _meets(branch, what[0]) and not joined:
            continue
        new = [(other, way) for other, way in new if way != state]
        branch = replace(branch, values=(*branch.values, *joined)) if branch.values is not None else branch
        taken = waits and state == question.missing
        waits = waits and not taken
        learned: _Known = _interval(branch, *what) if branch.values is None else frozenset(branch.values)
        if taken and branch.values is None:
            branch = replace(branch, missing=True)
        elif taken:
            branch = replace(branch, values=(*(branch.values or ()), MISSING))
        branches.append(branch)
        below.append((state, () if taken else (learned,), True))
    for branch, state in new:
        branches.append(branch)
        below.append((state, (frozenset(branch.values or ()),), False))
    if waits:
        numeric = question.branches[0][0].values is None
        branches.append(Branch(None, missing=True) if numeric else Branch(None, values=(MISSING,)))
        below.append((question.missing, (None,), False))
    return branches, below


def _interval(branch: Branch, what: _Known = None) -> tuple[float, float]:
    """The numbers that a branch takes of those that are known to be possible."""
    low, high = interval_of(branch)
    return (max(low, what[0]), min(high, what[1])) if isinstance(what, tuple) else (low, high)
