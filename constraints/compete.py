"""The internal constraints: which splits competed with the chosen one at each inner node.

Candidates are exactly those the inducer compared. One too many would be a constraint that the truth can violate, so
wherever the release does not say enough, a candidate is left out: that is sound, only weaker.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from maxent.constraints.emit import Context
from maxent.constraints.program import Internal
from maxent.models.release import Node, Tree

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

FEATURE_GAP = 1e-7
"""scikit-learn, which compares single-precision values, sees no cut between values closer than this."""


def internal(context: Context, impurity: str | None) -> Iterator[Internal]:
    """Every comparison that a chosen split won, for all trees; ``impurity`` overrides what the release says."""
    if context.sampled:
        return  # the tree was chosen on all records or on a sample: the counts of the sample decide nothing
    for t, tree in enumerate(context.release.trees):
        measure = impurity or tree.induction.impurity
        if measure is None or tree.induction.candidates == "none":
            continue
        private = {a.name for a in context.release.private}
        if tree.induction.k > 1 and any(node.attribute in private for node in tree.nodes):
            continue  # whether a candidate would have breached depends on spans over several nodes
        yield from _of_tree(context, t, tree, measure)


def _of_tree(context: Context, t: int, tree: Tree, measure: str) -> Iterator[Internal]:
    held = context.cells.trees[t]
    least = max(tree.induction.min_samples_leaf, tree.induction.k)
    used = _used_on_path(tree, held.layout.children, held.layout.top_down)
    for place in held.layout.top_down:
        if place >= len(tree.nodes) or tree.nodes[place].is_leaf:
            continue
        node = tree.nodes[place]
        cells = held.at(place)
        branches = [child for child in held.layout.children[place] if held.stop[child] > held.start[child]]
        if len(branches) < 2:
            continue  # the chosen split divides nobody in the table: it compares with nothing
        if tree.induction.candidates == "thresholds" and len(node.branches) != 2:
            continue  # not a split that such an algorithm makes: what it was compared with is unknown
        known_size = context.size(t, place) is not None
        if not known_size and (least > 1 or measure == "gain_ratio"):
            continue  # how a candidate would have divided the records is not a constant of the table
        owner = context.cells.owner[cells]
        if not known_size or len(context.cells) > len(context.table):
            owner = np.unique(owner)  # presence and sizes are those of quasi-identifiers, not of their cells
            if measure == "gain_ratio" and _splits_privately(context, node):
                continue  # the split information of the chosen split is not known
        weight = context.table.counts[owner].astype(np.float64)
        for column, attribute in enumerate(context.table.attributes):
            if tree.induction.candidates == "unused":
                if attribute.type == "numeric" or attribute.name in used[place]:
                    continue
                form, codes = _multiway(context.table.codes[owner, column], weight, least)
            else:
                form, codes = _binary(context, tree, node, t, place, column, owner, weight, least)
            if len(codes):
                yield Internal(
                    context.origin(t, node),
                    measure,
                    t,
                    place,
                    node.attribute or "",
                    attribute.name,
                    column,
                    form,  # type: ignore[arg-type]
                    codes,
                )


def _splits_privately(context: Context, node: Node) -> bool:
    return any(a.name == node.attribute for a in context.release.private)


def _used_on_path(
    tree: Tree, children: tuple[tuple[int, ...], ...], top_down: tuple[int, ...]
) -> dict[int, frozenset[str]]:
    """Attributes tested on the way to each inner node, its own included."""
    used: dict[int, frozenset[str]] = {}
    above: dict[int, frozenset[str]] = {0: frozenset()}
    for place in top_down:
        path = above.pop(place, frozenset())
        if place < len(tree.nodes) and not tree.nodes[place].is_leaf:
            here = path | {tree.nodes[place].attribute or ""}
            used[place] = path if len(here) == len(path) else here
            above.update((child, used[place]) for child in children[place])
    return used


def _multiway(codes: IntArray, weight: FloatArray, least: int) -> tuple[str, IntArray]:
    """One branch per value: a competitor when at least two values are present, each with ``least`` records."""
    size = np.bincount(codes, weight)
    present = size[size > 0]
    competes = len(present) >= 2 and present.min() >= least
    return "values", np.zeros(int(competes), np.int64)


def _binary(
    context: Context,
    tree: Tree,
    node: Node,
    t: int,
    place: int,
    column: int,
    owner: IntArray,
    weight: FloatArray,
    least: int,
) -> tuple[str, IntArray]:
    """Cuts (or single values) of an attribute that leave ``least`` records on both sides, but for the chosen one."""
    table, attribute = context.table, context.table.attributes[column]
    codes = table.codes[owner, column]
    size = np.bincount(codes, weight)
    present = np.flatnonzero(size)
    if len(present) < 2:
        return "cuts", present[:0]
    total = weight.sum()
    if attribute.type == "categorical" and tree.induction.encoding == "onehot":
        form, options = "each", (present[:1] if len(present) == 2 else present)
        left = size[options]
    else:
        form, options = "cuts", present[:-1]
        left = np.cumsum(size[present])[:-1]
        if attribute.type == "numeric":
            seen = table.levels[column][present].astype(np.float32).astype(np.float64)
            far = np.diff(seen) > FEATURE_GAP
            options, left = options[far], left[far]
    fits = (left >= least) & (total - left >= least)
    options = options[fits]
    if node.attribute == attribute.name and len(options):
        options = options[~_is_chosen(context, t, place, column, form, options, present)]
    return form, options


def _is_chosen(
    context: Context, t: int, place: int, column: int, form: str, options: IntArray, present: IntArray
) -> npt.NDArray[np.bool_]:
    """Which options divide the node's values as the chosen split does."""
    held = context.cells.trees[t]
    sides = [
        np.unique(context.table.codes[context.cells.owner[held.at(child)], column])
        for child in held.layout.children[place]
    ]
    same = np.zeros(len(options), bool)
    for side in sides:
        if form == "each":
            if len(side) == 1:
                same |= options == side[0]
            if len(side) == len(present) - 1:
                same |= ~np.isin(options, side)
        elif len(side) and side[0] == present[0] and np.array_equal(side, present[: len(side)]):
            same |= options == side[-1]
    return same
