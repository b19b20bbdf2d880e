"""A release without its private splits: less than it says, of which an estimate takes much less time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from maxent.models.files.json_files import uncollected
from maxent.models.release import Induction, Node, Release, Tree


@dataclass(frozen=True, slots=True)
class _Below:
    """Records of the leaves below a node; None where some do not state them."""

    n: int | None
    counts: tuple[int, ...] | None
    distinct: int | None


@uncollected()
def without_private_splits(release: Release) -> Release:
    """The statements of a release that remain true where private splits are left out.

    A node that tests a private attribute becomes a leaf that states the sums of the leaves below it. All statements
    follow from those of the release, so that its estimate has at least as much entropy. A person reaches one leaf of
    each tree, where private splits let them be in many.

    Notes
    -----
    Suppressed counts have no sums; scores, and comparisons of splits, are left out.
    """
    private = {attribute.name for attribute in release.private}
    classes = release.target.classes
    summed = release.suppressed_below <= 1
    trees = tuple(
        Tree(tuple(_kept(tree.nodes, private, classes, summed)), Induction(tree.induction.algorithm), tree.weight)
        for tree in release.trees
    )
    predicts = None if release.predicts == "score" else release.predicts
    return replace(release, trees=trees, attributes=release.public, predicts=predicts, boosting=None)


def _kept(nodes: Sequence[Node], private: set[str], classes: tuple[str, ...], summed: bool) -> list[Node]:
    """The nodes that only public splits lead to."""
    node_of = {node.id: node for node in nodes}
    order, stack = [], [nodes[0].id]
    while stack:  # parents before children
        order.append(node_of[stack.pop()])
        stack += [branch.child for branch in order[-1].branches if branch.child is not None]
    below: dict[str | None, _Below] = {}
    for node in reversed(order):
        below[node.id] = _records(node, below, classes)
    found, open_ = [], [nodes[0].id]
    while open_:
        node = node_of[open_.pop()]
        if node.attribute in private:
            here = below[node.id] if summed else _Below(None, None, None)
            counts = None if here.counts is None else dict(zip(classes, here.counts, strict=True))
            found.append(Node(node.id, n=here.n, counts=counts, distinct=here.distinct))
            continue
        found.append(replace(node, value=None, hessian=None) if node.value is not None else node)
        open_ += [branch.child for branch in reversed(node.branches) if branch.child is not None]
    return found


def _records(node: Node, below: Mapping[str | None, _Below], classes: tuple[str, ...]) -> _Below:
    """The records at a node: what it states itself as a leaf, else the sums of its children."""
    if node.is_leaf:
        counts = None if node.counts is None else tuple(node.counts[c] for c in classes)
        return _Below(sum(counts) if counts is not None else node.n, counts, node.distinct)
    parts = [below.get(branch.child, _Below(None, None, None)) for branch in node.branches]
    sizes = [part.n for part in parts if part.n is not None]
    counted = [part.counts for part in parts if part.counts is not None]
    different = [part.distinct for part in parts if part.distinct is not None]
    whole = len(parts)
    return _Below(
        sum(sizes) if len(sizes) == whole else None,
        tuple(map(sum, zip(*counted, strict=True))) if len(counted) == whole else None,
        sum(different) if len(different) == whole else None,
    )
