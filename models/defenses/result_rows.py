"""Trees that are grown from the data: what is told of one that was defended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from maxent.models.defenses.kadet.parameters import Kadet
from maxent.models.defenses.registry import Grown, Method
from maxent.models.release import Release
from maxent.models.trees.accuracy import Score
from maxent.models.trees.draft import Publish
from maxent.models.trees.predict import tested_attributes


def grown_row(k: int | None, grown: Grown, release: Release, train: Score, test: Score | None) -> dict[str, Any]:
    """What became of the tree, from a release whose leaves state their counts: a row of `Defended`."""
    counts = [[n for n in (leaf.counts or {}).values() if n] for tree in release.trees for leaf in tree.leaves]
    pure = [classes[0] for classes in counts if len(classes) == 1]
    return {
        "k": k,
        "guarantee": _guarantee(grown, k),
        "leaves_before": sum(len(tree.leaves) for tree in grown.release.trees),
        "leaves": len(counts),
        "removed_leaves": sum(b.child is None for tree in release.trees for node in tree.nodes for b in node.branches),
        "removed_records": len(grown.training) - sum(map(sum, counts)),
        "pure_leaves": len(pure),
        "pure_records": sum(pure),
        "train_accuracy": train.accuracy,
        "test_accuracy": None if test is None else test.accuracy,
    }


def grown_notes(
    method: Method,
    ks: Sequence[int | None],
    releases: Sequence[Release],
    rows: Sequence[Mapping[str, Any]],
    publish: Publish,
    asked: Kadet,
) -> Iterator[str]:
    """What is guaranteed, and what is not, in words."""
    if method.promise is not None:
        yield "guaranteed: " + method.promise.format(k=ks[0] if len(ks) == 1 else "k") + _kept(asked)
    private = dict.fromkeys(a.name for release in releases for a in tested_attributes(release) if a.role == "private")
    if private and method.has_k and not method.anonymous:
        yield (
            f"this is not k-anonymity: the tree tests {', '.join(private)}, which an adversary does not know, and the "
            "people whom they cannot tell apart can be fewer than k (maxent audit TREE QI counts them)"
        )
    if publish != "labels" and any(row["pure_leaves"] for row in rows):
        yield "classes are not hidden: everybody in a pure leaf has the class that it states"


def _guarantee(grown: Grown, k: int | None) -> dict[str, int | float | str] | None:
    """What the release is guaranteed to keep, None for nothing."""
    if k is None:
        return None
    asked = grown.asked
    kept: dict[str, int | float | str] = {"k": k}
    kept |= {} if asked.l is None else {"l": asked.l, "diversity": asked.diversity}
    kept |= {} if asked.alpha is None else {"alpha": asked.alpha}
    return kept | ({"class": "public"} if asked.class_public else {})


def _kept(asked: Kadet) -> str:
    """What is guaranteed of the classes besides k, in words."""
    words = ", who have the same class, which the adversary knows" if asked.class_public else ""
    if asked.l is not None:
        least = f"{asked.l:g} different classes" if asked.diversity == "distinct" else f"an entropy of log {asked.l:g}"
        words += f"; the classes of such a group have at least {least}"
    return words + ("" if asked.alpha is None else f"; no class has more than a share of {asked.alpha:g} of it")
