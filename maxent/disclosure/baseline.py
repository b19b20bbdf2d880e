"""Baselines: the base rate, control people, and confidence intervals of differences between two groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from maxent.models.arrays import FloatArray, IntArray

Source = Literal["marginal", "release", "truth"]
# How classes are guessed: by the estimate, as the release predicts, or the most frequent one of everybody.
Way = Literal["estimate", "predicted", "base"]

# How each is told of guesses.
HOW_GUESSED: Mapping[Way, str] = {
    "estimate": "by the estimate",
    "predicted": "as the release predicts",
    "base": "of the most frequent class",
}

# Share of all people: where statements leave a class no more room than this, they state how frequent it is.
NARROW = 0.01

# Source of a base rate -> how it is told.
STATED: dict[Source, str] = {"marginal": "by the marginal", "release": "by the release", "truth": "by the truth"}


@dataclass(frozen=True, slots=True)
class Baseline:
    """Shares of right guesses without a release, None where nothing states them; ``uniform`` is 1 / n_classes.

    ``most`` is the largest share that statements allow any class, where no base rate is known; None where they allow
    everything.
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

    ``low`` and ``high``, shape (n_classes,), are the fewest and the most individuals that its statements allow.
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


# Confidence intervals of differences between two groups of people.

Interval = tuple[float, float]


def _normal_quantile(confidence: float) -> float:
    """Half the width of the middle part of the normal distribution that holds so much of it."""
    from statistics import NormalDist

    return NormalDist().inv_cdf((1 + confidence) / 2)


def wilson(right: float, people: int, confidence: float) -> Interval:
    """Wilson's score interval of a share: ``right`` of so many people.

    Source: Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", JASA 22, 1927.
    """
    z, share = _normal_quantile(confidence), right / people
    centre = share + z * z / (2 * people)
    margin = z * sqrt(share * (1 - share) / people + z * z / (4 * people * people))
    scale = 1 + z * z / people
    return max((centre - margin) / scale, 0.0), min((centre + margin) / scale, 1.0)


def newcombe(right: tuple[float, float], people: tuple[int, int], confidence: float) -> Interval:
    """The interval of the difference of two shares, the first less the second, of independent groups of people.

    Source: Newcombe, "Interval Estimation for the Difference between Independent Proportions", Statistics in
    Medicine 17, 1998, method 10.
    """
    shares = right[0] / people[0], right[1] / people[1]
    (low, high), (other_low, other_high) = (wilson(r, n, confidence) for r, n in zip(right, people, strict=True))
    difference = shares[0] - shares[1]
    return (
        difference - sqrt((shares[0] - low) ** 2 + (other_high - shares[1]) ** 2),
        difference + sqrt((high - shares[0]) ** 2 + (shares[1] - other_low) ** 2),
    )


def welch(values: tuple[FloatArray, FloatArray], weights: tuple[FloatArray, FloatArray], confidence: float) -> Interval:
    """The interval of the difference of two means of weighted numbers, by the normal distribution.

    Source: Welch, "The Generalization of 'Student's' Problem when Several Different Population Variances are Involved",
    Biometrika 34, 1947.
    """
    z = _normal_quantile(confidence)
    means, variance = [], 0.0
    for value, weight in zip(values, weights, strict=True):
        people = float(weight.sum())
        means.append(float(np.average(value, weights=weight)))
        variance += float(np.average((value - means[-1]) ** 2, weights=weight)) / max(people - 1, 1)
    difference, margin = means[0] - means[1], z * sqrt(variance)
    return difference - margin, difference + margin


# Numbers of members and of control people, side by side.


@dataclass(frozen=True, slots=True)
class TwoGroups:
    """A number of members and of control people."""

    members: float
    controls: float

    @property
    def difference(self) -> float:
        """The number of members less that of control people."""
        return self.members - self.controls

    def as_dict(self, interval: Interval | None = None) -> dict[str, Any]:
        """Both and their difference as plain numbers, None for infinite ones."""
        found: dict[str, Any] = {
            name: value if isfinite(value) else None
            for name, value in (("members", self.members), ("controls", self.controls))
        }
        found["difference"] = self.difference if isfinite(self.difference) else None
        return found if interval is None else {**found, "interval": list(interval)}


@dataclass(frozen=True, slots=True)
class ControlShares:
    """One adversary against members and against control people.

    ``hits``: shares of people whose class is guessed right, in the way that is right about most members:
    `maxent.disclosure.truth.InTruth.way`. ``interval``: of the difference of these. ``vulnerability``: expected shares
    of right guesses (Bayes vulnerability), with ``vulnerability_interval``. ``divergence``: Overall divergences of the
    truth from the posterior, nats. ``people``: members and control people; ``known`` of these have a quasi-identifier
    of the adversary's table. ``confidence``: of each interval.
    """

    hits: TwoGroups
    interval: Interval
    vulnerability: TwoGroups
    vulnerability_interval: Interval
    divergence: TwoGroups
    people: tuple[int, int]
    known: int
    confidence: float

    @property
    def beyond(self) -> bool:
        """Whether members are guessed right more often for sure."""
        return self.interval[0] > 0

    def as_dict(self) -> dict[str, Any]:
        """The key ``control`` of a JSON summary."""
        return {
            **self.hits.as_dict(self.interval),
            "confidence": self.confidence,
            "individuals": {"members": self.people[0], "controls": self.people[1], "known_controls": self.known},
            "bayes_vulnerability": self.vulnerability.as_dict(self.vulnerability_interval),
            "divergence": self.divergence.as_dict(),
        }
