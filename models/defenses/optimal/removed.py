"""Removed leaves in the search: what is inferred of their people, and what is predicted for them.

Nothing is stated of a removed leaf. Somebody who knows who is in it can only hold every class for equally likely. Its
people are predicted the class that the leaves below the nearest node above with any answer together, as
`maxent.models.trees.predict.predict_proba` does it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray
from maxent.models.defenses.optimal.best import leaves_of
from maxent.models.defenses.optimal.limits import Limits
from maxent.models.defenses.optimal.places import ROUNDING, Candidates


def with_removed(found: Candidates, limits: Limits) -> Candidates:
    """The same candidates where every place but the root may be a removed leaf."""
    n, classes = found.counts.shape
    shares = [share for share in (limits.max_posterior, limits.alpha) if share is not None]
    unknown = 1 / classes <= min([1.0, *shares]) + ROUNDING and (limits.l or 1) <= classes + ROUNDING and classes > 1
    removable = np.full(n, unknown)
    removable[0] = False
    people = found.counts.sum(axis=1)
    costs = {
        "max_certain": np.zeros(n),
        "max_right_guesses": found.counts.max(axis=1),
        "min_divergence": -people * np.log(classes),
    }
    counted = replace(
        found,
        removable=removable,
        removed_costs=np.array([costs[name] for name in found.names], np.float64).reshape(len(found.names), n).T,
    )
    if found.objective == "impurity":
        return replace(counted, removed_worth=np.asarray(people[:, None] / classes, np.float64))
    held = found.weights if found.objective == "accuracy" else -found.weights @ limits.cost.T
    worth = (
        found.counts * found.record - found.trifle if found.objective == "accuracy" else -found.counts @ limits.cost.T
    )
    return replace(counted, answer=held.argmax(axis=1), held=held, removed_worth=np.asarray(worth, np.float64))


def without_removed(found: Candidates) -> Candidates:
    """The same candidates where no leaf may be removed."""
    n = len(found.places)
    return replace(
        found,
        answer=np.zeros(n, np.int64),
        held=np.zeros((n, 0)),
        removable=np.zeros(n, bool),
        removed_worth=np.zeros((n, 1)),
    )


def answered(found: Candidates, splits: BoolArray, gone: BoolArray) -> tuple[float, FloatArray]:
    """The worth and the costs of a tree, each removed leaf with the answer that is given for it."""
    places, leaves = found.places, leaves_of(found.places, splits)
    kept, out = leaves[~gone[leaves]], leaves[gone[leaves]]
    worth, costs = float(found.worth[kept].sum()), found.costs[kept].sum(axis=0)
    if not len(out):
        return worth, costs
    held = np.zeros((len(places), found.held.shape[1]))
    held[kept] = found.held[kept]
    for level in reversed(places.levels[1:]):
        np.add.at(held, places.parent[level], held[level])
    answer = found.answer_of(held)[places.parent[out]]
    return worth + float(found.removed_worth[out, answer].sum()), costs + found.removed_costs[out].sum(axis=0)


def all_kept(found: Candidates) -> tuple[BoolArray, BoolArray] | None:
    """The whole tree without the leaves that break a limit, where they may be removed; as `best.tree_of`."""
    places = found.places
    ends = places.n_branches == 0
    gone = ends & ~found.allowed
    for level in reversed(places.levels[:-1]):
        inner = level[places.n_branches[level] > 0]
        for place in inner.tolist():
            gone[place] = all(gone[child] for child in places.children[place])
    if gone[0] or not found.removable[np.flatnonzero(gone)].all():
        return None
    splits = ~ends & ~gone
    if not found.divisible[splits].all():
        return None
    for level in places.levels[1:]:
        above = places.parent[level]
        splits[level] &= splits[above]
        gone[level] &= splits[above]
    return splits, gone
