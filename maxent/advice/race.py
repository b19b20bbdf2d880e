"""The race by folds: who leads, and who is stopped because the leader is better beyond chance."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import BoolArray

CHANCE = 0.001
"""A candidate is stopped where, were it as good as the leader, chance would favour the leader so much less often."""

Hits = Mapping[int, BoolArray]
"""Fold -> who of its people was predicted right."""


@dataclass(frozen=True, slots=True)
class Behind:
    """How far a candidate is behind the leader on the folds of both.

    ``share`` is the difference of the share of people who are predicted right, and ``deviation`` its standard deviation
    over the folds (None of one fold). ``only_leader`` people are right with the leader alone, ``only_other`` with the
    candidate alone; ``chance`` is the probability of as many of these with the leader, if each were as likely to be
    with the other (the sign test).
    """

    share: float
    deviation: float | None
    only_leader: int
    only_other: int
    chance: float

    @property
    def beaten(self) -> bool:
        """Whether the leader is better beyond chance."""
        return self.chance < CHANCE


def behind(leader: Hits, other: Hits) -> Behind | None:
    """How far a candidate is behind; None without a fold of both."""
    from scipy.special import bdtrc

    shared = sorted(leader.keys() & other.keys())
    if not shared:
        return None
    ours = sum(int((leader[fold] & ~other[fold]).sum()) for fold in shared)
    theirs = sum(int((other[fold] & ~leader[fold]).sum()) for fold in shared)
    apart = [float(leader[fold].mean() - other[fold].mean()) for fold in shared]
    chance = float(bdtrc(ours - 1, ours + theirs, 0.5)) if ours else 1.0
    return Behind((ours - theirs) / sum(len(leader[fold]) for fold in shared), deviation(apart), ours, theirs, chance)


def accuracy(hits: Hits, folds: Iterable[int] | None = None) -> float:
    """The share of people of the folds who are predicted right."""
    chosen = list(hits) if folds is None else list(folds)
    return sum(int(hits[fold].sum()) for fold in chosen) / sum(len(hits[fold]) for fold in chosen)


def deviation(values: Collection[float]) -> float | None:
    """The standard deviation over folds; None of fewer than two."""
    return float(np.std(list(values), ddof=1)) if len(values) > 1 else None


def leader_of(found: Mapping[int, Hits], among: Iterable[int]) -> int | None:
    """Who leads: of those with the most folds the one with the most people right, of equals the first."""
    tested = [each for each in among if found.get(each)]
    return max(tested, key=lambda each: (len(found[each]), accuracy(found[each]), -each), default=None)
