"""Starting points of a part: random changes of an answer.

The closed form is no start for a part that is not convex: it is symmetric in the classes, and can be a saddle. All
starts keep the total of every group; other linear statements they miss by a little.
"""

from __future__ import annotations

import numpy as np

from maxent.constraints.lifting.lift import LiftedPart
from maxent.models.arrays import FloatArray, IntArray

# Standard deviations (of a split: the size) of the changes to the masses' logarithms.
NOISE, WIDER, TILT, SPLIT = 0.1, 0.3, 0.3, 0.5


def start(number: int, part: LiftedPart, masses: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Start ``number`` (0, 1, ...) of a part, near ``masses`` of its groups; both of shape (n_groups, n_classes).

    In turn: a little noise, more of it, a tilt of the classes in each branch of the chosen splits, and classes of their
    own for each of these branches. Each looks for optima of another kind.
    """
    departures = (
        lambda: noise(part, NOISE, rng),
        lambda: noise(part, WIDER, rng),
        lambda: tilts(part, TILT, rng),
        lambda: splits(part, SPLIT, rng),
    )
    return depart(part, masses, departures[number % len(departures)]())


def depart(part: LiftedPart, masses: FloatArray, change: FloatArray) -> FloatArray:
    """Add ``change``, shape (n_masses,), to the logarithms of the free masses, keeping every group's total."""
    free = np.zeros(masses.shape, bool)
    at = part.program.group, part.program.klass
    free[at] = True
    changed = np.zeros(masses.shape)
    changed[at] = masses[at] * np.exp(change)
    total, wanted = changed.sum(axis=1, keepdims=True), np.where(free, masses, 0.0).sum(axis=1, keepdims=True)
    scaled: FloatArray = changed * np.divide(wanted, total, out=np.ones_like(total), where=total > 0)
    return scaled


def noise(part: LiftedPart, size: float, rng: np.random.Generator) -> FloatArray:
    """Every free mass on its own, shape (n_masses,)."""
    return size * rng.standard_normal(part.program.n_masses)


def tilts(part: LiftedPart, size: float, rng: np.random.Generator) -> FloatArray:
    """The groups of each branch of a chosen split change alike, each class by its own amount, shape (n_masses,)."""
    chosen, _, _ = _chosen(part)
    change = np.zeros(part.program.n)
    change[chosen] = size * rng.standard_normal(len(chosen))
    return part.elimination.spread(change) + noise(part, 0.2 * NOISE, rng)


def splits(part: LiftedPart, size: float, rng: np.random.Generator) -> FloatArray:
    """Each class grows in one branch, at random, of every chosen split, shape (n_masses,)."""
    chosen, row, which = _chosen(part)
    by_draw = np.argsort(rng.random(len(chosen))[which], kind="stable")
    klass = _classes(part)[chosen[which]]
    _, first = np.unique(np.column_stack([row, klass])[by_draw], axis=0, return_index=True)
    change = np.zeros(part.program.n)
    change[chosen[which[by_draw[first]]]] = size
    return part.elimination.spread(change) + noise(part, 0.2 * NOISE, rng)


def _chosen(part: LiftedPart) -> tuple[IntArray, IntArray, IntArray]:
    """The variables on the chosen splits' side, once each; and for each of their terms its row and which it is."""
    rows = [terms.row[terms.coef > 0] for terms in part.program.terms]
    variables = [terms.var[terms.coef > 0] for terms in part.program.terms]
    chosen, which = np.unique(np.concatenate([*variables, np.empty(0, np.int64)]), return_inverse=True)
    return chosen, np.concatenate([*rows, np.empty(0, np.int64)]), which.reshape(-1)


def _classes(part: LiftedPart) -> IntArray:
    """The class of each variable, shape (n,); aggregates over all classes get a number between."""
    klass = part.program.klass.astype(np.float64)
    number = part.elimination.sums(np.ones(len(klass)))
    mean: IntArray = np.rint(part.elimination.sums(klass) / np.maximum(number, 1.0)).astype(np.int64)
    return mean
