"""Scores and probabilities of a boosted model before each round, with bounds on the rounding error.

Tools keep scores, or at least the derivatives of the loss, in single precision, of 24 bits. A sum of scores is off by
at most half a unit in the last place for each tree that was added. What is computed from it is off by that, and by a
few units more: the bounds are of the worst case, and not of what is likely.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from maxent.constraints.cells import Cells
from maxent.models.arrays import FloatArray
from maxent.models.release import Boosting, Release

# Relative error of one rounding to single precision.
SINGLE = 2.0**-24
# Error of a probability, and of a derivative, that was computed in a few steps.
FEW = 4 * SINGLE
# Error of a score from which on nothing is concluded from it.
LOST = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class Before:
    """The cells before the round of a tree: of the class of the tree.

    Attributes
    ----------
    tree, klass : int
    share : shape (n_cells,)
        The probability p of the class.
    off : shape (n_cells,)
        By how much the p of the tool may differ, infinite where that is not known.
    """

    tree: int
    klass: int
    share: FloatArray
    off: FloatArray

    @property
    def spread(self) -> FloatArray:
        """``p (1 - p)``, shape (n_cells,); the tool's differs by no more than its p does."""
        return self.share * (1 - self.share)


def before_each_tree(release: Release, boosting: Boosting, cells: Cells) -> Iterator[Before]:
    """The probabilities before each tree, in their order; trees of one round have a different class each.

    Every tree has a class (`Tree.of_class`), of which its leaves state values.
    """
    classes = release.target.classes
    of = [classes.index(tree.of_class or "") for tree in release.trees]
    scores, error = start(boosting, of[0], classes, len(cells))
    shares, off = _shares(scores, error, boosting)
    seen: set[int] = set()
    for t, klass in enumerate(of):
        if klass in seen:
            shares, off = _shares(scores, error, boosting)
            seen.clear()
        seen.add(klass)
        yield Before(t, klass, shares[:, klass], off[:, klass])
        with np.errstate(over="ignore", invalid="ignore"):
            scores[:, klass] += values(release, t)[cells.leaf[:, t]]
        error[:, klass] += SINGLE * np.abs(scores[:, klass])
        error[cells.leaf[:, t] >= len(release.trees[t].nodes), klass] = (
            np.inf
        )  # a leaf that was removed added something


def start(boosting: Boosting, of: int, classes: tuple[str, ...], n: int) -> tuple[FloatArray, FloatArray]:
    """The scores before the first tree, shape (n, n_classes), and by how much they may be off."""
    base = boosting.base
    if isinstance(base, Mapping):
        one = np.array([base.get(c, 0.0) for c in classes])
    elif boosting.link == "logit":
        one = np.zeros(len(classes))
        one[of] = base
    else:
        one = np.full(len(classes), base)
    scores = np.tile(one, (n, 1))
    return scores, FEW * np.abs(scores)


def values(release: Release, t: int) -> FloatArray:
    """Terms of the score at each node of a tree, 0 at inner nodes; shape (n_nodes + removed leaves,).

    A tree that counts for nothing when the model predicts, as after the best iteration, did while others were grown.
    """
    tree = release.trees[t]
    weight = tree.weight or release.trees[0].weight or 1.0
    removed = sum(branch.child is None for node in tree.nodes for branch in node.branches)
    found = np.zeros(len(tree.nodes) + removed)
    for place, node in enumerate(tree.nodes):
        if isinstance(node.value, (int, float)):
            found[place] = weight * node.value
    return found


def _shares(scores: FloatArray, error: FloatArray, boosting: Boosting) -> tuple[FloatArray, FloatArray]:
    """Probabilities of scores, shape (n, n_classes), and by how much those of the tool may differ."""
    with np.errstate(over="ignore", invalid="ignore"):  # scores of a file may be beyond all numbers
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares = odds / odds.sum(axis=1, keepdims=True)
        worst = error.max(axis=1, keepdims=True)
        reach = worst if boosting.link == "logit" else 2 * worst  # of two scores one is 0 for certain
        off = 1.02 * shares * (1 - shares) * reach + (scores.shape[1] + 4) * SINGLE * shares + FEW
    return shares, np.where(np.isfinite(shares) & (worst < LOST), off, np.inf)
