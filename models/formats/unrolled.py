"""Trees in which a missing value has no branch: surrogate columns, or all branches in parts (C5.0, J48).

A release has one place for each record, so that the ways of records without a value become branches of their own, below
which the tree goes on. What a leaf states is of the records that the tool counts there: it stands where none of them
lacks a value above the leaf. Elsewhere a leaf of the tool has several places, each a part of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from maxent.models.errors import invalid
from maxent.models.formats.assemble import packed
from maxent.models.release import Branch, Node, Tree
from maxent.models.tables.cells import MISSING
from maxent.models.trees.places import interval_of

_LEAST, _TIMES = 2000, 10  # nodes that an unrolled tree may have: so many, and so many times those of the tool's tree
_WORK = 20_000_000  # values that may be looked at on all ways together
State = TypeVar("State")
# What is known of a value on the way from the root: one of some names, in an interval, or (None) missing
_Known = frozenset[str] | tuple[float, float] | None

_Task = tuple[State, tuple[int, int] | None, Mapping[str, _Known], bool, bool]


@dataclass(frozen=True, slots=True)
class Question(Generic[State]):
    """A test, what each branch leads to, and a record without a value, which some ``lacking`` records have.

    Values of ``aside`` no record had there; they go other ways, as missing ones do.
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
    """The tree of a start and of the steps from it; ``origins`` takes the tool's ids of leaves."""
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


# Trees of C5.0 and J48, which send a record without a value down all branches, in parts as large as these are.
#
# The class of such a record is the likeliest of all leaves that it reaches, each weighted by its part. What leaves
# count is then of parts of records, too.

_BETTER = "build the tree on rows without missing values, or a smaller one"

Reached = tuple[tuple[int, float], ...]  # the nodes that a record reaches, each with its part


@dataclass(frozen=True, slots=True)
class UnrolledPart:
    """A node of such a tree.

    ``attribute``: none for a leaf. ``branches``: each with the position of its child. ``absent``: values that no branch
    takes: records with these end at the node. ``stated``: what a leaf states, if all its records are whole. ``shares``:
    the least and largest number of records of each class; none where there are no records. ``size``: records, in the
    measure by which a record without a value is parted.
    """

    id: str
    attribute: str | None
    branches: tuple[tuple[Branch, int], ...]
    absent: tuple[str, ...]
    stated: Node
    shares: tuple[tuple[float, float], ...]
    size: float


def fractional_tree(
    source: str, parts: Sequence[UnrolledPart], classes: Sequence[str], may_lack: frozenset[str], *, weighted: bool
) -> tuple[Tree, bool]:
    """The tree, and whether some of its leaves have no class, as several are as likely."""
    undecided = False
    above = {child: at for at, part in enumerate(parts) for _, child in part.branches}
    plain = all(_is_largest(part, classes) for part in parts if part.shares)
    sizes = [part.size for part in parts]

    def ended(reached: Reached) -> Node:
        nonlocal undecided
        if len(reached) == 1:
            part = parts[reached[0][0]]
            if part.attribute is not None:
                return Node(f"{part.id}r", label=part.stated.label)
            if weighted:
                return Node(part.id, label=part.stated.label)
            return replace(part.stated, id=part.id)
        label = _likeliest(parts, above, reached, classes) if plain else None
        undecided = undecided or label is None
        return Node("", label=label)

    def step(reached: Reached) -> Question[Reached] | Node:
        at = next((i for i, (k, _) in enumerate(reached) if k >= 0 and parts[k].attribute is not None), None)
        if at is None:
            return ended(tuple((k if k >= 0 else -1 - k, share) for k, share in reached))
        k, share = reached[at]
        part = parts[k]
        before, after = reached[:at], reached[at + 1 :]
        branches = [(branch, (*before, (child, share), *after)) for branch, child in part.branches]
        if part.absent:
            branches.append((Branch(None, values=part.absent), (*before, (-1 - k, share), *after)))
        total = sum(sizes[child] for _, child in part.branches)
        below = [(child, share * sizes[child] / total) for _, child in part.branches if total and sizes[child]]
        missing = (*before, *(below or [(-1 - k, share)]), *after)
        assert part.attribute is not None
        return Question(part.id, part.attribute, tuple(branches), missing, part.attribute in may_lack)

    start: Reached = ((0, 1.0),)
    return unrolled(source, start, step, may_lack, len(parts), _BETTER), undecided


def _is_largest(part: UnrolledPart, classes: Sequence[str]) -> bool:
    """Whether the label of a node may be its most frequent class: not so where costs decide."""
    most = max(low for low, _ in part.shares)
    return part.stated.label is None or part.shares[classes.index(part.stated.label)][1] >= most


def _likeliest(
    parts: Sequence[UnrolledPart], above: dict[int, int], reached: Reached, classes: Sequence[str]
) -> str | None:
    """The likeliest class of a record that reaches several nodes in parts, None where several are as likely."""
    least, most = [0.0] * len(classes), [0.0] * len(classes)
    for at, share in reached:
        while not any(high for _, high in parts[at].shares) and at in above:
            at = above[at]
        ranges = parts[at].shares
        total = sum(low + high for low, high in ranges) / 2
        for i, (a, b) in enumerate(ranges if total else ()):
            least[i] += share * a / total
            most[i] += share * b / total
    best = max(range(len(classes)), key=least.__getitem__)
    return classes[best] if all(least[best] > most[i] for i in range(len(classes)) if i != best) else None
