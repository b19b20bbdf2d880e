"""The race by folds: who leads, and who is stopped because the leader is better beyond chance."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

CHANCE = 0.001
"""A candidate is stopped where, were it as good as the leader, chance would favour the leader so much less often."""

Gains = Mapping[int, npt.NDArray[Any]]
"""Fold -> what each of its people gains: who is predicted right, bool; or minus what the decision costs, float64."""


@dataclass(frozen=True, slots=True)
class Behind:
    """How far a candidate is behind the leader on the folds of both.

    ``share`` is the difference of the share of people who are predicted right, or of what decisions cost per person,
    and ``deviation`` its standard deviation over the folds (None of one fold). ``only_leader`` people are right with
    the leader alone, or cost less with it, ``only_other`` with the candidate. ``chance`` is the probability that the
    leader is so far ahead, if both were as good: of the sign test, or of costs of the t test of the same people.
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


def behind(leader: Gains, other: Gains) -> Behind | None:
    """How far a candidate is behind; None without a fold of both."""
    shared = sorted(leader.keys() & other.keys())
    if not shared:
        return None
    more = [np.subtract(leader[fold], other[fold], dtype=np.float64) for fold in shared]
    every = np.concatenate(more)
    ours, theirs = int((every > 0).sum()), int((every < 0).sum())
    chance = _sign_test(ours, theirs) if leader[shared[0]].dtype == bool else _paired_test(every)
    return Behind(float(every.mean()), deviation([float(each.mean()) for each in more]), ours, theirs, chance)


def _sign_test(ours: int, theirs: int) -> float:
    """The probability of as many people with the leader, if each were as likely to be with the other."""
    from scipy.special import bdtrc

    return float(bdtrc(ours - 1, ours + theirs, 0.5)) if ours else 1.0


def _paired_test(more: npt.NDArray[np.float64]) -> float:
    """The probability of as large a mean, if it were 0 but for chance."""
    from scipy.special import stdtr

    mean, spread = float(more.mean()), float(more.std(ddof=1)) if len(more) > 1 else 0.0
    if not spread:
        return 1.0 if mean <= 0 or len(more) < 2 else 0.0
    return float(stdtr(len(more) - 1, -mean / spread * np.sqrt(len(more))))


def mean_gain(gains: Gains, folds: Iterable[int] | None = None) -> float:
    """What people of the folds gain on average: of who is right the share."""
    chosen = list(gains) if folds is None else list(folds)
    return float(sum(gains[fold].sum() for fold in chosen) / sum(len(gains[fold]) for fold in chosen))


def deviation(values: Collection[float]) -> float | None:
    """The standard deviation over folds; None of fewer than two."""
    return float(np.std(list(values), ddof=1)) if len(values) > 1 else None


def leader_of(found: Mapping[int, Gains], among: Iterable[int]) -> int | None:
    """Who leads: of those with the most folds the one whose people gain most, of equals the first."""
    tested = [each for each in among if found.get(each)]
    return max(tested, key=lambda each: (len(found[each]), mean_gain(found[each]), -each), default=None)
