"""Confidence intervals of differences between two groups of people."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

import numpy as np

from maxent.models.arrays import FloatArray

Interval = tuple[float, float]


def wilson(right: float, people: int, confidence: float) -> Interval:
    """Wilson's score interval of a share: ``right`` of so many people.

    Source: Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", JASA 22, 1927.
    """
    z, share = NormalDist().inv_cdf((1 + confidence) / 2), right / people
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
    """The interval of the difference of two means, the first less the second, by the normal distribution.

    ``values`` are numbers of people, shape (n,) for each group, and ``weights`` how many people have each.
    Source: Welch, "The Generalization of 'Student's' Problem when Several Different Population Variances are
    Involved", Biometrika 34, 1947, for so many people that Student's distribution is the normal one.
    """
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    means, variance = [], 0.0
    for value, weight in zip(values, weights, strict=True):
        people = float(weight.sum())
        means.append(float(np.average(value, weights=weight)))
        variance += float(np.average((value - means[-1]) ** 2, weights=weight)) / max(people - 1, 1)
    difference, margin = means[0] - means[1], z * sqrt(variance)
    return difference - margin, difference + margin
