"""The base rate: how often somebody is right who names the most frequent class of everybody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from maxent.models.arrays import FloatArray, IntArray

Source = Literal["marginal", "release", "truth"]

Way = Literal["estimate", "predicted", "base"]
"""How classes are guessed: by the estimate, as the release predicts, or the most frequent one of everybody."""

HOW_GUESSED: Mapping[Way, str] = {
    "estimate": "by the estimate",
    "predicted": "as the release predicts",
    "base": "of the most frequent class",
}
"""How each is told of guesses."""

NARROW = 0.01
"""Share of all people: where statements leave a class no more room than this, they state how frequent it is."""

STATED: dict[Source, str] = {"marginal": "by the marginal", "release": "by the release", "truth": "by the truth"}
"""Source of a base rate -> how it is told."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """Shares of right guesses of somebody who has no release.

    ``base_rate`` is the share of the most frequent class, ``code``; both, and the ``source``, are None where nothing
    states them. ``uniform`` is that of a guess among all classes, 1 / n_classes. ``shares`` are those of all classes,
    None where some are not known. ``most`` is the largest share that statements allow any class, where no base rate is
    known; None where they allow everything.
    """

    base_rate: float | None
    code: int | None
    source: Source | None
    uniform: float
    shares: tuple[float, ...] | None = None
    most: float | None = None

    @property
    def best(self) -> float:
        """The better of the two that is known: the base rate, where anything states it."""
        return self.uniform if self.base_rate is None else self.base_rate

    @property
    def how(self) -> str:
        """What states the base rate, in words; empty where nothing does."""
        return "" if self.source is None else STATED[self.source]

    def as_dict(self, classes: tuple[str, ...], right: float) -> dict[str, Any]:
        """The key ``baseline`` of a JSON summary, with the ``gain`` of a share of right guesses over either guess."""
        named = None if self.code is None else classes[self.code]
        known = {"base_rate": self.base_rate, "uniform": self.uniform}
        gain = {
            name: None if before is None else {"additive": right - before, "multiplicative": right / before}
            for name, before in known.items()
        }
        return {**known, "class": named, "source": self.source, "right_guesses": right, "gain": gain}


def baseline_of(
    n_classes: int,
    people: int,
    *,
    marginal: FloatArray | None = None,
    low: FloatArray | None = None,
    high: FloatArray | None = None,
    truth: IntArray | None = None,
) -> Baseline:
    """The baseline of a release, from the first of its sources that states it.

    Parameters
    ----------
    n_classes, people : int
        Classes, and individuals of the table.
    marginal : float64, shape (n_classes,), optional
        Individuals of each class that the adversary knows.
    low, high : float64, shape (n_classes,), optional
        The fewest and the most individuals of each class that the statements of the release allow.
    truth : int64, shape (n_qi, n_classes), optional
        Individuals of each quasi-identifier and class.
    """
    uniform, most = 1 / n_classes, None
    if marginal is not None:
        return _most_frequent(marginal, "marginal", uniform)
    if low is not None and high is not None:
        middle, largest = (low + high) / 2, float(high.max() / people)
        most = largest if largest < 1 else None
        code = int(middle.argmax())
        others = np.delete(high, code)
        narrow = high - low <= NARROW * people
        if narrow.all() or (narrow[code] and (others <= middle[code]).all()):
            known = tuple((middle / people).tolist()) if narrow.all() else None
            return Baseline(float(middle[code] / people), code, "release", uniform, known)
    if truth is not None:
        return _most_frequent(truth.sum(axis=0), "truth", uniform)
    return Baseline(None, None, None, uniform, most=most)


def base_of(shares: Sequence[float], codes: Sequence[int]) -> dict[str, float]:
    """What the shares of all classes tell about some: keys ``base_posterior`` and ``base_rate`` of a row."""
    most, of_these = int(np.argmax(shares)), [shares[code] for code in codes]
    return {"base_posterior": max(of_these), "base_rate": shares[most] / sum(of_these) if most in codes else 0.0}


def base_numbers(found: Baseline, people: int) -> dict[str, Any]:
    """A baseline in a row that limits judge; nothing where no base rate is known."""
    return {} if found.base_rate is None else {"base_rate": found.base_rate, "individuals": people}


def _most_frequent(people: FloatArray | IntArray, source: Source, uniform: float) -> Baseline:
    """The baseline of known numbers of individuals of each class, shape (n_classes,)."""
    shares = tuple((people / people.sum()).tolist())
    code = int(people.argmax())
    return Baseline(shares[code], code, source, uniform, shares)
