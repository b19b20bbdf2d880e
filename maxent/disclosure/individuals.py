"""Curves over individuals: the number with a class of at least a probability, and means of the most disclosed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maxent.models.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from maxent.disclosure.inference import Inference


POINTS = 400
"""Points of a curve, whatever the number of individuals."""


@dataclass(frozen=True, slots=True, eq=False)
class Individuals:
    """An adversary's inference about the people of each distinct quasi-identifier, arrays of shape (n_qi,).

    ``counts`` individuals; ``largest`` is the largest P(x|q); ``divergence`` (nats, ``inf`` when the posterior rules
    out what is true) is None without a truth; ``certain`` of the individuals have a class of probability 0.999 or more.
    ``classes`` is how many there are, so that ``largest`` is at least 1 / classes.
    """

    counts: IntArray
    largest: FloatArray
    divergence: FloatArray | None
    certain: int
    classes: int

    @classmethod
    def of(cls, result: Inference) -> Individuals:
        """The individuals of an inference."""
        found, program = result.disclosure, result.program
        largest = result.probabilities.max(axis=1)
        return cls(program.table.counts, largest, found.individual, found.certain, program.n_classes)

    def __len__(self) -> int:
        return int(self.counts.sum())

    def known_with(self) -> tuple[FloatArray, IntArray]:
        """Probabilities in ascending order, and how many individuals have a class of at least that probability."""
        values, place = np.unique(self.largest, return_inverse=True)
        people = np.bincount(place, self.counts)[::-1].cumsum()[::-1].astype(np.int64)
        shown = np.unique(np.linspace(0, len(values) - 1, POINTS).round().astype(np.int64))
        return values[shown], people[shown]

    def mean_of_top(self) -> tuple[IntArray, FloatArray]:
        """Numbers K of individuals, from 1 to all, and the mean divergence (nats) of the K most disclosed.

        Most disclosed are those with the smallest divergence, so the curve rises; it ends at the overall divergence.
        After Zhu and Du (2010), Fig. 8, which averages over the top K in the same way.

        Raises
        ------
        ValueError
            Without a truth.
        """
        if self.divergence is None:
            raise ValueError("divergences need a truth")
        order = np.argsort(self.divergence, kind="stable")
        ends = np.append(0, self.counts[order].cumsum())
        sums = np.append(0.0, (self.counts[order] * self.divergence[order]).cumsum())
        k = np.unique(np.geomspace(1, ends[-1], POINTS).round().astype(np.int64))
        finite = int(np.isfinite(sums).sum())
        mean = np.interp(k, ends[:finite], sums[:finite]) / k
        return k, np.where(k <= ends[finite - 1], mean, np.inf)
