"""Facts that a release's defense states to an adversary who knows the method; nobody else asks for its name."""

from __future__ import annotations

from dataclasses import dataclass

from maxent.models.release import Release

KADET = "kadet"


@dataclass(frozen=True, slots=True)
class Stated:
    """Facts that follow from the method and the parameters that a release names.

    Attributes
    ----------
    leaves_at_least : int or None
        Records that every published leaf has at the least (Wakabayashi et al. 2024, section 4).
    removed_below : int or None
        Every removed leaf had fewer records than this.
    left_out_suppressed : bool
        Whether a part of a tree is missing exactly where all its counts were suppressed.
    spans_decide : bool
        Whether candidate splits were dropped for the spans of the final tree, and for nothing else (Friedman et al.
        2006). Pruning afterwards would make that unknown: splits that are gone made spans finer.
    """

    leaves_at_least: int | None = None
    removed_below: int | None = None
    left_out_suppressed: bool = False
    spans_decide: bool = False


def stated(release: Release) -> Stated:
    """The facts that the defense of a release states; none without a defense, or of a method that states none."""
    defense = release.defense
    if defense is None:
        return Stated()
    from maxent.models.defenses.leaf_pruning import PRUNE_LEAF, PRUNE_PARENT, stated_k
    from maxent.models.defenses.random_trees.trees import METHOD as RDT

    if (k := stated_k(release, PRUNE_LEAF)) is not None:
        return Stated(leaves_at_least=k, removed_below=k)
    if (k := stated_k(release, PRUNE_PARENT)) is not None:
        grown = all(len(tree.nodes) > 1 for tree in release.trees)  # a root stays, however few it has
        return Stated(leaves_at_least=k if grown else None)
    if defense.method == RDT:
        return Stated(left_out_suppressed=not release.private)
    if defense.method == KADET:
        by_spans = all(tree.induction.algorithm == KADET for tree in release.trees)
        return Stated(spans_decide=by_spans and defense.parameters.get("pruning") == "none")
    return Stated()
