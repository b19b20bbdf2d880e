"""Whether rounded numbers of a tree can be those of records: each by itself, and nodes with their children."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray, ranges, run_ends
from maxent.models.columns import NOTHING, Statements
from maxent.models.errors import Problem
from maxent.models.formats.maxent_json.check_counts import Publication
from maxent.models.nodes import statements_of
from maxent.models.release_content import Node
from maxent.models.rounding.rounded import Rounded
from maxent.models.sparse_counts import check_size
from maxent.models.text.arguments import name, show

Disagreement = tuple[int, str, str, str]  # a node, its field, what was expected there, and what was found


def note_disagreements(
    problems: list[Problem],
    nodes: Sequence[Node],
    places: Sequence[str],
    children: Sequence[Sequence[int | None]],
    order: Sequence[int],
    publication: Publication,
) -> None:
    """Note the disagreements of one tree; arguments as of `check_sums` of the module `check_counts`."""
    depth = {i: 0 for i in order}
    for i in order:
        depth |= {j: depth[i] + 1 for j in children[i] if j is not None}
    of = np.array([depth[i] for i in order], np.int64)
    levels = [np.array(order, np.int64)[of == d] for d in range(int(of.max()) + 1)]
    below = np.array([NOTHING if j is None else j for some in children for j in some], np.int64)
    ends = run_ends(np.array([len(some) for some in children], np.int64))
    said = statements_of(nodes, publication.classes)
    for i, *rest in disagreements(said, publication, ends, below, levels):
        problems.append(Problem(places[i], *rest))


def disagreements(
    said: Statements,
    publication: Publication,
    branch_ends: IntArray,
    child: IntArray,
    levels: Sequence[IntArray],
) -> Iterator[Disagreement]:
    """Numbers that are no multiples of the base, and those that no records can have that are rounded like this.

    ``said``: of the nodes. ``publication``: of numbers that are rounded. ``branch_ends``, ``child``: links as
    `maxent.models.columns.Columns` has them. ``levels``: the nodes of each depth, the roots first.
    """
    rounded, classes = publication.rounded, publication.classes
    if rounded is None:
        return
    wrong = list(_multiples(said, rounded, classes))
    if wrong:
        yield from wrong
        return
    check_size("nodes", len(said), len(classes) + 1)
    published = np.full((len(said), len(classes) + 1), NOTHING)  # of all classes together in the last column
    published[said.counted, :-1] = said.table(len(classes))[said.counted]
    published[:, -1] = said.n
    low, high = np.zeros((len(said) + 1, len(classes) + 1)), np.full((len(said) + 1, len(classes) + 1), np.inf)
    there = published != NOTHING
    low[:-1][there], high[:-1][there] = rounded.behind(published[there])
    label = np.full_like(said.label, NOTHING) if publication.decided else said.label
    yield from _within(label, classes, published, low, high)
    for level in reversed(levels):
        inner = level[branch_ends[level + 1] > branch_ends[level]]
        if not len(inner):
            continue
        start, end = branch_ends[inner], branch_ends[inner + 1]
        below = child[ranges(start, end)]  # the last row is that of removed leaves
        run = np.cumsum(end - start) - (end - start)
        least, most = (np.add.reduceat(side[below], run, axis=0) for side in (low, high))
        off = (low[inner] > most) | (high[inner] < least)
        for at, x in np.argwhere(off).tolist():
            node = int(inner[at])
            expected = f"what the sum of its children is rounded to, {_span(least[at, x], most[at, x])}"
            yield node, *_stated(published[node], x, expected, classes)
        low[inner] = np.where(off, low[inner], np.maximum(low[inner], least))
        high[inner] = np.where(off, high[inner], np.minimum(high[inner], most))
        _narrow(low, high, inner)


def _multiples(said: Statements, rounded: Rounded, classes: Sequence[str]) -> Iterator[Disagreement]:
    """Numbers that are no multiples of the base."""
    expected = f"a multiple of {rounded.base} (release.rounded)"
    for i in np.flatnonzero((said.n != NOTHING) & (said.n % rounded.base != 0)).tolist():
        yield i, "n", expected, str(said.n[i])
    off, owner = np.flatnonzero(said.count % rounded.base), said.owner
    for j in off.tolist():
        yield int(owner[j]), f"counts of {name(classes[said.count_class[j]])}", expected, str(said.count[j])


def _within(
    labels: IntArray, classes: Sequence[str], published: IntArray, low: FloatArray, high: FloatArray
) -> Iterator[Disagreement]:
    """Numbers of all classes that those of each contradict, and labels that cannot be of a most frequent class."""
    rows = np.arange(len(labels))
    sums = low[rows, :-1].sum(axis=1), high[rows, :-1].sum(axis=1)
    for i in np.flatnonzero(_narrow(low, high, rows)).tolist():
        expected = f"what the sum of counts is rounded to, {_span(sums[0][i], sums[1][i])}"
        yield i, *_stated(published[i], len(classes), expected, classes)
    for i in np.flatnonzero((labels != NOTHING) & (published[:, 0] != NOTHING)).tolist():
        label, best = int(labels[i]), int(published[i, :-1].argmax())
        if high[i, label] < low[i, best]:
            expected = f"a class that can be most frequent ({show(classes[best])}: {published[i, best]}, rounded)"
            yield i, "label", expected, f"{show(classes[label])}, which has {published[i, label]}"


def _stated(published: IntArray, column: int, expected: str, classes: Sequence[str]) -> tuple[str, str, str]:
    """A problem with the number of a class, or with that of all."""
    if column < len(classes):
        return f"counts of {name(classes[column])}", expected, str(published[column])
    if published[-1] != NOTHING:
        return "n", expected, str(published[-1])
    return "counts", expected, f"{published[:-1].sum()} in all"


def _narrow(low: FloatArray, high: FloatArray, rows: IntArray) -> BoolArray:
    """Narrow the records of all classes by those of each, in place; in which rows they contradict each other."""
    least, most = low[rows, :-1].sum(axis=1), high[rows, :-1].sum(axis=1)
    wrong: BoolArray = (least > high[rows, -1]) | (most < low[rows, -1])
    low[rows, -1] = np.where(wrong, low[rows, -1], np.maximum(low[rows, -1], least))
    high[rows, -1] = np.where(wrong, high[rows, -1], np.minimum(high[rows, -1], most))
    return wrong


def _span(least: float, most: float) -> str:
    """A range of records in words."""
    return f"{least:.0f} or more" if np.isinf(most) else f"{least:.0f} to {most:.0f}"
