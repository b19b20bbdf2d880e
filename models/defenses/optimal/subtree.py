"""The best subtree of each tree of a release, from release to release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray
from maxent.models.defenses.optimal.best import best, leaves_of
from maxent.models.defenses.optimal.costs import with_costs
from maxent.models.defenses.optimal.frontier import within_limits
from maxent.models.defenses.optimal.merging import contracted, opened
from maxent.models.defenses.optimal.places import Candidates, candidates, priced, truth_entropy
from maxent.models.defenses.optimal.prices import FoundSubtree, cheapest, with_removed
from maxent.models.defenses.pruning import new_leaf
from maxent.models.errors import ARGUMENT, InvalidInput, Problem, invalid
from maxent.models.release import Defense, Induction, Node, Release, Rounded, Tree
from maxent.models.tables.hierarchies import HierarchySource
from maxent.models.tables.training import Training
from maxent.models.trees.draft import Publish
from maxent.models.trees.places import Places

if TYPE_CHECKING:
    from maxent.models.defenses.optimal.limits import Criterion, SubtreeLimits

NAME = "optimal"


@dataclass(frozen=True, slots=True, eq=False)
class Searched:
    """The best subtree found; ``most`` is what no subtree within limits has more of, as `Searched.reached` is counted.

    Both are shares of right labels, or impurities or costs per record, with what leaves cost.
    """

    release: Release
    reached: float
    most: float
    branches: int = 0
    branches_before: int = 0

    @property
    def proved(self) -> bool:
        """Whether no subtree within limits is better."""
        return self.reached == self.most


def optimal_subtree(
    release: Release,
    limits: SubtreeLimits,
    training: Training | None = None,
    *,
    criterion: Criterion = "unstated",
    remove: bool = False,
    publish: Publish = "counts",
    hierarchies: Mapping[str, HierarchySource] | None = None,
    rounded: Rounded | None = None,
) -> Searched:
    """The best subtree within limits of a tree whose leaves state counts.

    A subtree has the root and, of every inner node that it keeps, all branches. Limits are on what somebody infers who
    knows in which leaf everybody is, and the counts of it; where the ``criterion`` is stated, or private attributes are
    tested, an adversary infers more. Of a removed leaf nothing is stated: every class is as likely, and the leaves
    below the nearest node above with any predict together. Along ``hierarchies`` branches may be merged, see
    `maxent.models.defenses.optimal.merging.opened`; of counts to be ``rounded`` the most that these allow is inferred.
    Of equally good subtrees it is the one nearest to `maxent.models.defenses.pruning.prune_parent`'s, then with the
    fewest merged branches, then with the fewest leaves. With limits on sums, or removed leaves, where too many compete,
    it is the best found, with a bound.
    """
    asked: Mapping[str, Any] = {"remove": remove, "publish": publish, "hierarchies": hierarchies, "rounded": rounded}
    found, limits = searchable(release, limits, training, **asked)
    chosen = within_limits(found)
    if chosen is None:
        raise InvalidInput("options", [unreachable(found, limits, training)])
    return searched(release, limits, found, chosen, criterion)


def searchable(
    release: Release,
    limits: SubtreeLimits,
    training: Training | None = None,
    *,
    remove: bool,
    publish: Publish,
    hierarchies: Mapping[str, HierarchySource] | None = None,
    rounded: Rounded | None = None,
) -> tuple[Candidates, SubtreeLimits]:
    """What the search is among, and the limits with their costs; parameters are those of `optimal_subtree`."""
    if len(release.trees) != 1:
        raise InvalidInput("release", [Problem("release", "trees", "one tree", f"{len(release.trees)} trees")])
    limits = with_costs(limits, release.target)
    merged: Mapping[str, int] = {}
    if hierarchies and training is None:
        raise invalid("options", ARGUMENT, "hierarchies", "records, of which branches are merged", "none")
    if hierarchies and training is not None:
        release, merged = opened(release, hierarchies, training, 1 if remove else limits.k)
    found = candidates(release, 0, limits, training, publish, merged, rounded, remove)
    return priced(with_removed(found, limits) if remove else found, limits.complexity), limits


def searched(
    release: Release, limits: SubtreeLimits, found: Candidates, chosen: FoundSubtree, criterion: Criterion
) -> Searched:
    """The release of a tree that was found, with what is known of others."""
    kept = {**limits.as_dict(), "objective": limits.objective}
    published = replace(
        release,
        trees=(_subtree(release, found, chosen, criterion),),
        defense=Defense(NAME, {**_before(release), **kept}),
    )
    reached = found.share(chosen.worth)
    most = reached if chosen.most < found.better(chosen.worth) else found.share(chosen.most)
    before = {node.id: len(node.branches) for node in release.trees[0].nodes}
    inner = [node for node in published.trees[0].nodes if not node.is_leaf]
    now = sum(len(node.branches) - (node.id not in before) for node in inner)  # a group was a branch itself
    return Searched(published, reached, most, now, sum(before.get(node.id, 0) for node in inner))


def _subtree(release: Release, found: Candidates, chosen: FoundSubtree, criterion: Criterion) -> Tree:
    """The tree that splits where it was chosen to."""
    tree, places, classes = found.places.tree, found.places, release.target.classes
    leaves = leaves_of(places, chosen.splits)
    leaves = leaves[~chosen.gone[leaves]]
    kinds = ("label", "error_rate", "n", "counts")
    stated = {name for leaf in tree.leaves for name in kinds if getattr(leaf, name) is not None}
    nodes: dict[int, Node] = {
        place: tree.nodes[place]
        if tree.nodes[place].is_leaf
        else new_leaf(tree.nodes[place].id, tuple(found.counts[place].tolist()), classes, stated)
        for place in leaves.tolist()
    }
    above = np.zeros(len(places), bool)
    above[0] = True
    for level in places.levels[1:]:
        above[level] = (above & chosen.splits)[places.parent[level]]
    hollow = chosen.gone.copy()  # above a removed leaf, of which a node's own counts would tell
    for level in reversed(places.levels[1:]):
        hollow[places.parent[level][hollow[level]]] = True
    for place in np.flatnonzero(above & chosen.splits).tolist():
        node = tree.nodes[place]
        nodes[place] = node if not hollow[place] else _hollow(places, place, chosen.gone)
    induction = tree.induction if criterion == "stated" else Induction(tree.induction.algorithm)
    groups = {tree.nodes[place].id for place in np.flatnonzero(found.merged).tolist()}
    in_order = tuple(nodes[place] for place in sorted(nodes))
    return replace(tree, nodes=contracted(in_order, groups) if groups else in_order, induction=induction)


def _hollow(places: Places, place: int, gone: BoolArray) -> Node:
    """A node above removed leaves, without its own counts."""
    node = places.tree.nodes[place]
    branches = tuple(
        replace(branch, child=None) if gone[child] else branch
        for branch, child in zip(node.branches, places.children[place], strict=True)
    )
    return Node(node.id, node.attribute, branches)


def _before(release: Release) -> Mapping[str, int | float | str]:
    """The parameters of an earlier defense, as ``method.parameter``."""
    before = release.defense
    if before is None or before.method == NAME:
        return {}
    return {name if "." in name else f"{before.method}.{name}": value for name, value in before.parameters.items()}


def unreachable(found: Candidates, limits: SubtreeLimits, training: Training | None) -> Problem:
    """Why no subtree keeps the limits."""
    if best(found, np.zeros(len(found.names))).value[0].max() == -np.inf:
        whole = found.counts[0]
        told = f"the whole table as one leaf has {whole.sum():,} records, of which {whole.max():,} are of one class"
        return Problem("limits", "leaves", "limits that at least the tree without a split keeps", told)
    least: FloatArray = np.array([cheapest(found, i) for i in range(len(found.names))])
    base = float(found.counts[0].max() / max(found.counts[0].sum(), 1))
    for name, cost, most in zip(found.names, least.tolist(), found.kept.tolist(), strict=True):
        if cost > most and name == "max_right_guesses" and limits.max_right_guesses != limits.right_guesses(base):
            n = int(found.counts[0].sum())
            return Problem("limits", "max_lift", f"at least {cost / n - base:.6g}", f"{limits.max_lift:g}")
        if cost > most:
            return Problem(
                "limits", name, f"at {_end(name)} {_reached(name, cost, found, training)}", _given(limits, name)
            )
    return Problem("limits", " and ".join(found.names), "limits that one subtree keeps together", "none does")


def _end(name: str) -> str:
    return "most" if name == "min_divergence" else "least"


def _reached(name: str, cost: float, found: Candidates, training: Training | None) -> str:
    """The least that a subtree has of what is limited, as the parameter states it."""
    n = int(found.counts[0].sum())
    if name == "min_divergence" and training is not None:
        return f"{max(0.0, (-cost - truth_entropy(training)) / n):.6g}, as the tree without a split has"
    return f"{cost:,.0f}" if name == "max_certain" else f"{cost / n:.6g}"


def _given(limits: SubtreeLimits, name: str) -> str:
    return f"{getattr(limits, name):g}"
