"""Sizes: the number of records in a node, stated by the node or implied by the k of leaf pruning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from maxent.constraints.kinds.context import Context, Kind
from maxent.constraints.program.program import Contradiction, Linear
from maxent.models.columns import NOTHING, total_count
from maxent.models.defenses.registry import stated
from maxent.models.errors import Origin
from maxent.models.nodes import statements_of
from maxent.models.release import Node, Release
from maxent.models.trees.places import Places


@dataclass(frozen=True, slots=True)
class SizeBound:
    """Bound on the records of a leaf, or a removed leaf, of the only tree; ``says`` is the bound in words."""

    place: int
    origin: Origin
    low: float
    high: float
    says: str


def pruned_sizes(release: Release, places: Places) -> Iterator[SizeBound]:
    """Bounds on the records of leaves (Wakabayashi et al. 2024, section 4); ``places`` are those of the only tree.

    Method 1 removed the leaves of fewer than k records and no others; method 2 left none, unless the root is the only
    leaf. The k of a sample is not one of the individuals, and nothing follows, nor from the trees of a forest.
    """
    if release.sampled or len(release.trees) > 1:
        return
    tree, facts = release.trees[0], stated(release)
    least = facts.leaves_at_least
    if least is None:
        return
    for place, node in enumerate(tree.nodes):
        if node.is_leaf and (release.rounded is not None or (node.n is None and node.counts is None)):
            says = f"at least k = {least} records, as the leaf was not pruned"
            yield SizeBound(place, Origin("leaf", node.id), float(least), np.inf, says)
    if facts.removed_below is None:
        return
    for node, below in zip(tree.nodes, places.children, strict=False):
        for number, child in enumerate(below, 1):
            if child >= len(tree.nodes):
                says = f"fewer than k = {facts.removed_below} records, as the leaf was removed"
                yield SizeBound(
                    child,
                    Origin("removed leaf of", f"{node.id}, branch {number}"),
                    0.0,
                    facts.removed_below - 1.0,
                    says,
                )


def sizes(context: Context) -> Iterator[Linear]:
    """Statements on sizes of places whose individuals depend on private attributes; other sizes are only checked."""
    yield from _members(context)
    if context.sampled or not context.knowledge & {"rate", "counts"}:
        return
    ones = np.ones((1, context.n_classes))
    for t, place, node in context.nodes():
        if node.n is None or context.size(t, place) is not None or (context.suppressed and node.n == 0):
            continue
        low, high = context.release.behind(np.array([node.n]), sizes=True)
        says = f"n {node.n}" if low == high else f"n {low[0]} to {high[0]}"
        n = (low.astype(float), high.astype(float))
        yield Linear("n", context.origin(t, node), context.region(t, place), ones, *n, says)
    for bound in pruned_sizes(context.release, context.cells.trees[0].places):
        if context.size(0, bound.place) is None:
            region, lower, upper = context.region(0, bound.place), np.array([bound.low]), np.array([bound.high])
            yield Linear("n", bound.origin, region, ones, lower, upper, bound.says)


def _members(context: Context) -> Iterator[Linear]:
    """How many people of a register are in the data; where they are apart, who is in which class there.

    The number is left out where those of all leaves add up to it, so that leaves are independent.
    """
    if context.members is None:
        return
    n, of = context.members.number, context.table.individuals
    origin, each = Origin("members"), np.eye(context.n_classes)
    trees = range(len(context.release.trees))
    told = any(_told(context, t, by_class=False) == n for t in trees)
    if not told:
        says = f"{n:,} of {of:,} people are in the data"
        yield Linear(
            "n", origin, context.region(0, 0), 1.0 - each[-1:], np.full(1, float(n)), np.full(1, float(n)), says
        )
    if not context.members.apart:
        return
    held, last = context.cells.trees[0], len(context.release.trees[0].nodes) - 1
    if not (len(trees) == 1 and _told(context, 0, by_class=True) == n):
        says = "nobody here is out of the data"
        for place, below in enumerate(held.places.children):  # by leaves, which one statement would link
            if not below and place != last and held.stop[place] > held.start[place]:
                yield Linear("n", origin, context.region(0, place), each[-1:], np.zeros(1), np.zeros(1), says)
    leaf = np.full(len(context.table), -1)
    inside = held.at(1)
    leaf[context.cells.owner[inside]] = context.cells.leaf[inside, 0]
    outside = held.at(last)
    of_leaf = leaf[context.cells.owner[outside]]
    order = np.argsort(of_leaf, kind="stable")
    for cells in np.split(outside[order], np.flatnonzero(np.diff(of_leaf[order])) + 1):
        region = context.regions.add(("outside", int(cells[0])), np.sort(cells))
        zero = np.zeros(context.n_classes - 1)
        yield Linear("n", origin, region, each[:-1], zero, zero, "nobody out of the data has a class")


def _told(context: Context, t: int, *, by_class: bool) -> int | None:
    """People in all leaves of a tree that somebody can reach, where each states its number, or ``by_class`` counts."""
    release, known = context.release, context.knowledge
    if release.sampled or release.blurred or release.resampled is not None or release.noise is not None:
        return None
    found, held, nodes = 0, context.cells.trees[t], release.trees[t].nodes
    for place, below in enumerate(held.places.children):
        if below or held.stop[place] == held.start[place]:
            continue
        if context.members is not None and context.members.apart and place == len(nodes) - 1:
            continue
        node = nodes[place] if place < len(nodes) else None
        if node is not None and node.counts is not None and "counts" in known:
            found += total_count(node.counts)
        elif node is not None and node.n is not None and not by_class and known & {"rate", "counts"}:
            found += node.n
        else:
            return None
    return found


def table_contradictions(context: Context) -> Iterator[Contradiction]:
    """Numbers of records that the adversary's table contradicts: the release was not made from these individuals."""
    release = context.release
    for t, tree in enumerate(release.trees):
        stated = statements_of(tree.nodes, release.target.classes)
        unsized, people = stated.n == NOTHING, context.sizes[t][: len(tree.nodes)]
        said = np.where(unsized & stated.counted, stated.total, stated.n)
        at_least = np.full(len(said), context.sampled) | (unsized & stated.counted & context.suppressed)
        if release.resampled is not None:
            said = np.where(stated.distinct == NOTHING, np.clip(said, 0, 1), stated.distinct)
            at_least[:] = True
        known = ~np.isnan(people) & (said != NOTHING) & ~(context.suppressed & (said == 0))
        if not context.rounded:
            known &= (said > people) | ((said < people) & ~at_least)
        for place in np.flatnonzero(known).tolist():
            node, here, number = tree.nodes[place], float(people[place]), int(said[place])
            least, most = (number, number) if not context.rounded else _rounded_size(context, node)
            off = max(least - here, 0.0 if at_least[place] else here - most, 0.0)
            if off:
                told = f"{number:,}" if least == most else f"{least:,} to {most:,}"
                yield Contradiction(
                    context.origin(t, node), f"{told} records, but {here:,.0f} individuals of the table reach it", off
                )
    for bound in pruned_sizes(context.release, context.cells.trees[0].places):
        size = context.size(0, bound.place)
        if size is not None and not bound.low <= size <= bound.high:
            off = max(bound.low - size, size - bound.high)
            yield Contradiction(bound.origin, f"{bound.says}, but {size:,.0f} individuals of the table reach it", off)


def _rounded_size(context: Context, node: Node) -> tuple[int, int]:
    """Fewest and most records that a rounded ``n``, or else rounded counts together, stand for."""
    numbers = [node.n] if node.n is not None else list((node.counts or {}).values())
    low, high = context.release.behind(np.array(numbers, np.int64), sizes=node.n is not None)
    return int(low.sum()), int(high.sum())


KIND = Kind(
    "n",
    "sizes: so many people are in a node",
    r"\sum_x m_{\Lambda,x} = n_\Lambda"
    r" \quad \text{or, after leaf pruning, at least } k \text{ (less in a removed leaf)}",
    sizes,
    about_classes=False,
)
