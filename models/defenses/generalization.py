"""Generalisation of the records behind a tree, uniform or in tiers (Yang et al. 2019 [1]_).

*Uniform* generalisation publishes for every record the smallest box around its group, such as the records of a leaf of
a pruned tree: k-anonymity when groups have at least k records.

*Tiered* generalisation starts from the leaves before the tree is pruned. One of fewer than k records borrows what it
lacks from its neighbours, and is published as the smallest box around its records and those it has borrowed. A record
that was lent is published as the smallest box around its own leaf and the boxes of all leaves that borrowed it. Since
the search for neighbours ends at the lowest node with k records, and no pruning that leaves groups of k records ends
below, it makes no difference how the tree is pruned.

What that guarantees is (k, k)-anonymity, not k-anonymity: every record is covered by at least k published rows, and
every published row covers at least k records; but fewer than k rows may be alike. Either is counted on every table
before it is returned.

References
----------
.. [1] Yang, Wang, Hu and Li, "A Decision Tree Approach for Assessing and Mitigating Background and Identity Disclosure
   Risks", ICIS 2019 Proceedings, 17.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from maxent.models.arguments import unknown_choice
from maxent.models.arrays import FloatArray, IntArray
from maxent.models.defenses.parameters import Distance
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.release import Attribute, Release
from maxent.models.tables.frame import listed
from maxent.models.tables.generalized_records import GeneralizedTable, check_covering, hulls, stacked, united
from maxent.models.tables.training import Training
from maxent.models.trees.places import Places, assign, number_places
from maxent.models.trees.restate import node_place


def uniform(training: Training, groups: IntArray, k: int) -> GeneralizedTable:
    """Publish for every record the smallest box around its group, such as a place in a pruned tree."""
    _, group, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    if sizes.min() < k:
        raise invalid(
            "generalize", "groups", "n", f"at least k = {k} records in each", f"{sizes.min()} in the smallest"
        )
    everyone = np.arange(len(training))
    boxes = hulls(training, everyone, group, len(sizes))
    table = GeneralizedTable(training.target, training.attributes, boxes, group, training.y)
    check_covering(table, training, everyone, group, k)
    return table


def tiered(training: Training, release: Release, k: int, *, distance: Distance = "gower") -> GeneralizedTable:
    """Publish records in tiers.

    A leaf of fewer than k records searches the other records below its parent, if those are too few below its
    grandparent, and so on, and borrows those that are closest to its centre (of equally close ones the first in the
    order of the records).

    Parameters
    ----------
    training : Training
        The records.
    release : Release
        The tree before it is pruned, with all of its leaves; of several the first.
    k : int
        At most the number of records.
    distance : {"gower", "ranks"}
        How far a record is from a leaf: the mean difference over the attributes (Gower), or the Euclidean distance with
        numbers replaced by their ranks. The difference in a numeric attribute is that to the mean of the leaf, as a
        share of the attribute's range or of its number of ranks; in a categorical one it is the share of the leaf that
        has another value.
    """
    if problems := unknown_choice("distance", distance, get_args(Distance)):
        raise InvalidInput("generalize", problems)
    if len(training) < k:
        raise invalid("generalize", "training", "records", f"at least k = {k}", str(len(training)))
    places = number_places(release.trees[0])
    leaf = _leaf_of_each(training, release, places)
    lent, borrower = _loans(training, places, leaf, k, distance)
    used, subset = np.unique(leaf, return_inverse=True)
    everyone = np.arange(len(training))
    own = hulls(training, everyone, subset, len(used))
    borrower = np.searchsorted(used, borrower)
    members, group = np.append(everyone, lent), np.append(subset, borrower)
    widened = hulls(training, members, group, len(used))
    # The box of a lent record is around its own leaf and the widened boxes, stacked below, of its borrowers.
    shared = np.unique(lent)
    owner, part = np.append(shared, lent), np.append(subset[shared], borrower + len(used))
    order = np.argsort(owner, kind="stable")
    combined = united(stacked(own, widened), part[order], np.searchsorted(owner[order], shared))
    box = subset.copy()
    box[shared] = len(used) + np.arange(len(shared))
    table = GeneralizedTable(training.target, training.attributes, stacked(widened, combined), box, training.y)
    check_covering(table, training, members, group, k)
    return table


def _leaf_of_each(training: Training, release: Release, places: Places) -> IntArray:
    """The leaf that each record reaches, shape (n,)."""
    nodes = release.trees[0].nodes
    leaf = assign(release.trees[0], training.attributes, training.columns)
    ends = np.array([place < len(nodes) and not below for place, below in enumerate(places.children)])
    problems = []
    for row in np.flatnonzero(~ends[leaf]).tolist():
        found = "one removed"
        if leaf[row] < len(nodes):
            found = f"{node_place(release, 0, nodes[leaf[row]])}, no branch of which it takes"
        problems.append(Problem(f"record {row + 1}", "leaf", "a leaf of the tree", found))
    if problems:
        raise InvalidInput("generalize", listed(problems, len(problems), "records"))
    return leaf


def _loans(training: Training, places: Places, leaf: IntArray, k: int, distance: Distance) -> tuple[IntArray, IntArray]:
    """Lent records and the leaves that borrow them, shapes (n_loans,)."""
    rank = places.first[leaf]
    order = np.argsort(rank, kind="stable")
    start = np.searchsorted(rank[order], places.first)
    stop = np.searchsorted(rank[order], places.last)
    size = stop - start
    used = np.unique(leaf)
    coordinates = _coordinates(training, distance)
    lent, borrower = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for place in used[size[used] < k].tolist():
        tier = place
        while size[tier] < k:
            tier = int(places.parent[tier])
        members = order[start[place] : stop[place]]
        others = np.sort(np.append(order[start[tier] : start[place]], order[stop[place] : stop[tier]]))
        far = _distances(training.attributes, coordinates, members, others, 1 if distance == "gower" else 2)
        lent.append(others[np.argsort(far, kind="stable")[: k - len(members)]])
        borrower.append(np.full(len(lent[-1]), place))
    return np.concatenate(lent), np.concatenate(borrower)


def _coordinates(training: Training, distance: Distance) -> list[npt.NDArray[Any]]:
    """The columns with numbers as shares of their range, or of the number of their ranks; codes stay."""
    columns: list[npt.NDArray[Any]] = []
    for attribute, column in zip(training.attributes, training.columns, strict=True):
        numbers = column
        if attribute.values is None:
            if distance == "ranks":
                numbers = np.unique(column, return_inverse=True)[1].astype(np.float64)
            numbers = (numbers - numbers.min()) / max(float(np.ptp(numbers)), np.finfo(float).tiny)
        columns.append(numbers)
    return columns


def _distances(
    attributes: Sequence[Attribute],
    coordinates: Sequence[npt.NDArray[Any]],
    members: IntArray,
    others: IntArray,
    power: int,
) -> FloatArray:
    """Distances of others from the centre of some members, up to a growing function, shape (n_others,)."""
    total = np.zeros(len(others))
    for attribute, column in zip(attributes, coordinates, strict=True):
        if attribute.values is None:
            difference = np.abs(column[others] - column[members].mean())
        else:
            shares = np.bincount(column[members], minlength=len(attribute.values)) / len(members)
            difference = 1 - shares[column[others]]
        total += difference**power
    return total
