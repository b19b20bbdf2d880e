"""A release without its private splits: less than it says, of which an estimate takes much less time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from maxent.models.arrays import IntArray, ranges, run_ends
from maxent.models.columns import NOTHING, Columns, Statements
from maxent.models.files.json_files import uncollected
from maxent.models.formats.packing import packed
from maxent.models.nodes import Nodes
from maxent.models.release import Induction, Release, Tree
from maxent.models.trees.places import Places, number_places


@uncollected()
def without_private_splits(release: Release) -> Release:
    """The statements of a release that remain true where private splits are left out.

    A node that tests a private attribute becomes a leaf that states the sums of the leaves below it. All statements
    follow from those of the release, so that its estimate has at least as much entropy. A person reaches one leaf of
    each tree, where private splits let them be in many.

    Notes
    -----
    Suppressed and rounded counts have no sums; scores, and comparisons of splits, are left out.
    """
    classes = release.target.classes
    arrays = [packed("release", tree.nodes, release.attributes, classes).columns for tree in release.trees]
    trees = tuple(
        Tree(_kept(nodes, release), Induction(tree.induction.algorithm), tree.weight)
        for tree, nodes in zip(release.trees, arrays, strict=True)
    )
    predicts = None if release.predicts == "score" else release.predicts
    return replace(release, trees=trees, attributes=release.public, predicts=predicts, boosting=None)


def _kept(nodes: Columns, release: Release) -> Nodes:
    """The nodes that only public splits lead to; those among them with a private split are leaves."""
    places = number_places(Tree(Nodes(nodes)))
    index = {attribute.name: j for j, attribute in enumerate(release.public)}
    public = np.array([*(index.get(attribute.name, NOTHING) for attribute in nodes.attributes), NOTHING], np.int64)
    attribute = np.full(len(places), NOTHING)
    attribute[: len(nodes)] = public[nodes.attribute]
    is_cut = np.zeros(len(places), bool)
    is_cut[: len(nodes)] = (nodes.attribute != NOTHING) & (attribute[: len(nodes)] == NOTHING)
    cut = np.full(len(places), NOTHING)  # the first private split on the way to a place
    for level in places.levels:
        above = np.where(level == 0, NOTHING, cut[places.parent[level]])
        cut[level] = np.where(above != NOTHING, above, np.where(is_cut[level], level, NOTHING))
    rows = np.flatnonzero((cut == NOTHING) | (cut == np.arange(len(places))))
    rows = rows[rows < len(nodes)]
    start, end = nodes.branch_ends[rows], nodes.branch_ends[rows + 1]
    end = np.where(attribute[rows] == NOTHING, start, end)
    below = ranges(start, end)
    low, high = nodes.value_ends[below], nodes.value_ends[below + 1]
    position = np.full(len(places) + 1, NOTHING)
    position[rows] = np.arange(len(rows))
    mean, variance = (
        None if x is None else np.where(is_cut[rows], np.nan, x[rows]) for x in (nodes.mean, nodes.variance)
    )
    return Nodes(
        Columns(
            release.public,
            nodes.classes,
            [nodes.ids[i] for i in rows.tolist()],
            attribute[rows],
            run_ends(end - start),
            position[nodes.child[below]],
            nodes.le[below],
            nodes.gt[below],
            nodes.missing[below],
            run_ends(high - low),
            nodes.values[ranges(low, high)],
            np.full(len(rows), np.nan),
            _summed(nodes.statements, places, cut, rows, known=not release.blurred),
            mean=mean,
            variance=variance,
            parts=[nodes.parts[i] for i in rows.tolist()] if nodes.parts else (),
        )
    )


def _summed(said: Statements, places: Places, cut: IntArray, rows: IntArray, *, known: bool) -> Statements:
    """What the nodes of some rows state; private splits sums of leaves, if ``known`` and all state them."""
    size = len(said)
    private = cut[rows] == rows
    leaves = np.flatnonzero((places.n_branches == 0) & (cut != NOTHING))
    here = leaves[leaves < size]
    n = np.full(len(places), NOTHING)
    n[:size] = np.where(said.counted, said.total, said.n)
    distinct = np.full(len(places), NOTHING)
    distinct[:size] = said.distinct
    counted = np.zeros(len(places), bool)
    counted[:size] = said.counted

    def together(numbers: IntArray, own: IntArray) -> IntArray:
        """Sums below private splits, and what the others state themselves."""
        sums, unknown = np.zeros(len(places), np.int64), np.zeros(len(places), bool)
        np.add.at(sums, cut[leaves], numbers[leaves])
        unknown[cut[leaves[numbers[leaves] == NOTHING]]] = True
        sums[unknown | (not known)] = NOTHING
        return np.where(private, sums[rows], own[rows])

    whole = together(np.where(counted, 0, NOTHING), np.where(said.counted, 0, NOTHING)) != NOTHING
    position, to = np.full(len(places), NOTHING), np.full(len(places), NOTHING)
    position[rows] = np.arange(len(rows))
    to[rows[~private]] = position[rows[~private]]
    to[here] = position[cut[here]]
    owner = to[said.owner]
    owner = np.where((owner != NOTHING) & whole[owner], owner, NOTHING)
    at, which, count = owner[owner != NOTHING], said.count_class[owner != NOTHING], said.count[owner != NOTHING]
    order = np.lexsort((which, at))
    at, which, count = at[order], which[order], count[order]
    first = np.flatnonzero(np.concatenate([[True], (at[1:] != at[:-1]) | (which[1:] != which[:-1])])[: len(at)])
    return Statements(
        np.where(private, NOTHING, said.label[rows]),
        np.where(private, np.nan, said.rate[rows]),
        together(n, said.n),
        together(distinct, said.distinct),
        whole,
        run_ends(np.bincount(at[first], minlength=len(rows))),
        which[first],
        np.add.reduceat(count, first) if len(first) else count,
        [None if gone else said.shares[i] for i, gone in zip(rows.tolist(), private.tolist(), strict=True)]
        if said.shares
        else (),
    )
