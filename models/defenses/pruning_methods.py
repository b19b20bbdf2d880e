"""The methods ``none``, ``prune-leaf`` and ``prune-parent`` (Wakabayashi et al. 2024)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from maxent.models.defenses.grown_tree import InducedTree
from maxent.models.defenses.method import DEPTHS, Stated
from maxent.models.parameters import parameter, whole

if TYPE_CHECKING:
    from maxent.models.release import Release
    from maxent.models.tables.training import Training

COLUMNS = "truth.csv --target Salary --qi Education,Country,Gender"


@dataclass(frozen=True)
class Plain(InducedTree):
    """The tree as it is grown."""

    summary = "The tree as it is grown, without a defense."
    examples = (
        f"maxent defend none {COLUMNS} -o before.json",
        f"maxent defend none {COLUMNS} --max-depth 2 --publish labels -o labels.json",
    )

    def defended(self, training: Training, grown: Release) -> Release:
        return grown


@dataclass(frozen=True)
class PrunedLeaves(InducedTree):
    """The tree without its small leaves."""

    k: int = parameter(5, "Fewest records: in a published leaf.", whole(1, "records"))

    depths: ClassVar[Sequence[int]] = (
        3,
        5,
    )  # estimates of deeper trees without some leaves, which are no concave problems, take long
    summary = "The tree without its leaves of fewer than k records."
    examples = (
        f"maxent defend prune-leaf {COLUMNS} --k 2 -o after.json",
        f"maxent defend prune-leaf {COLUMNS} --k 2 --k 3 --inducer id3 -o after-{{k}}.json",
    )
    promise = "no published leaf has fewer than {k} records, and nothing is stated about the leaves that were removed"

    @classmethod
    def states(cls, release: Release) -> Stated:
        from maxent.models.defenses.leaf_pruning import PRUNE_LEAF, stated_k

        k = stated_k(release, PRUNE_LEAF)
        return Stated(leaves_at_least=k, removed_below=k)

    def defended(self, training: Training, grown: Release) -> Release:
        from maxent.models.defenses.leaf_pruning import prune_leaf

        return prune_leaf(grown, self.k)


@dataclass(frozen=True)
class PrunedParents(PrunedLeaves):
    """The tree with a leaf in place of every node above a small leaf."""

    depths = DEPTHS
    summary = "The tree with a leaf for every node above a leaf of fewer than k records, until there is none."
    examples = (
        f"maxent defend prune-parent {COLUMNS} --k 2 -o after.json",
        f"maxent defend prune-parent {COLUMNS} --k 2 --k 3 --test truth.csv -o after-{{k}}.json",
    )
    promise = "no leaf has fewer than {k} records"

    @classmethod
    def states(cls, release: Release) -> Stated:
        from maxent.models.defenses.leaf_pruning import PRUNE_PARENT, stated_k

        grown = all(len(tree.nodes) > 1 for tree in release.trees)  # a root stays, however few it has
        return Stated(leaves_at_least=stated_k(release, PRUNE_PARENT) if grown else None)

    def defended(self, training: Training, grown: Release) -> Release:
        from maxent.models.defenses.leaf_pruning import prune_parent

        return prune_parent(grown, self.k)
