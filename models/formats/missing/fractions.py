"""Trees of C5.0 and J48, which send a record without a value down all branches, in parts as large as these are.

The class of such a record is the likeliest of all leaves that it reaches, each weighted by its part. What leaves count
is then of parts of records, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from maxent.models.formats.missing.unrolled import Question, unrolled
from maxent.models.release import Branch, Node, Tree

_BETTER = "build the tree on rows without missing values, or a smaller one"

Reached = tuple[tuple[int, float], ...]  # the nodes that a record reaches, each with its part


@dataclass(frozen=True, slots=True)
class Part:
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
    source: str, parts: Sequence[Part], classes: Sequence[str], may_lack: frozenset[str], *, weighted: bool
) -> tuple[Tree, bool]:
    """The tree, and whether some of its leaves have no class, as several are as likely.

    ``parts``: the first is the root. ``may_lack``: attributes of which records may lack the value. ``weighted``:
    whether the numbers of records are of weights, and nothing is to be stated.
    """
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


def _is_largest(part: Part, classes: Sequence[str]) -> bool:
    """Whether the label of a node may be its most frequent class: not so where costs decide."""
    most = max(low for low, _ in part.shares)
    return part.stated.label is None or part.shares[classes.index(part.stated.label)][1] >= most


def _likeliest(parts: Sequence[Part], above: dict[int, int], reached: Reached, classes: Sequence[str]) -> str | None:
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
