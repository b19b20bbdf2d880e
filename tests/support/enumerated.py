"""Every world of a small release, listed from the textbook formulation in tests/support/brute_force.py alone."""

import itertools
from dataclasses import dataclass
from math import comb, lgamma
from typing import Any

import numpy as np
import numpy.typing as npt

from support.brute_force import Dense

MOST = 60_000  # Tables of people that are looked at, at most


@dataclass(frozen=True, eq=False)
class Worlds:
    """Worlds of a release: masses, shape (n_worlds, n_unknowns); people by class (n_worlds, n_owners, n_classes).

    ``ways`` are the logarithms of the numbers of ways to give everybody a class and a leaf, shape (n_worlds,).
    """

    masses: npt.NDArray[np.int64]
    people: npt.NDArray[np.int64]
    ways: npt.NDArray[np.float64]

    def posterior(self) -> npt.NDArray[np.float64]:
        """P(class | quasi-identifier) where all worlds are equally likely, shape (n_owners, n_classes)."""
        share = np.exp(self.ways - self.ways.max())
        mean = np.tensordot(share / share.sum(), self.people.astype(float), axes=1)
        return mean / mean.sum(axis=1, keepdims=True)


def compositions(total: int, slots: int) -> Any:
    """All ways to write a total as an ordered sum of so many whole numbers, 0 included."""
    for bars in itertools.combinations(range(total + slots - 1), slots - 1):
        ends = (-1, *bars, total + slots - 1)
        yield [b - a - 1 for a, b in itertools.pairwise(ends)]


def enumerated(problem: Dense) -> Worlds | None:
    """All worlds, None where there are too many tables to look at."""
    n_owners = int(problem.owner.max()) + 1
    slots = [np.flatnonzero(problem.owner == q) for q in range(n_owners)]
    weight = [round(float(problem.w[own[0]])) for own in slots]
    number = 1
    for own, w in zip(slots, weight, strict=True):
        number *= comb(w + len(own) - 1, len(own) - 1)
    if number > MOST:
        return None
    masses = np.zeros((1, len(problem.w)), np.int64)
    for own, w in zip(slots, weight, strict=True):
        options = np.array(list(compositions(w, len(own))), np.int64)
        masses = np.repeat(masses, len(options), axis=0)
        masses[:, own] = np.tile(options, (len(masses) // len(options), 1))
    right = np.abs(masses @ problem.A.T - problem.b).max(axis=1, initial=0.0) <= 1e-7
    right &= (masses @ problem.G.T).min(axis=1, initial=0.0) >= -1e-7
    masses = masses[right]
    if problem.splits:
        won = [problem.advantage(m.astype(float))[0].min() >= -1e-9 for m in masses]
        masses = masses[np.array(won, bool)]
    people = np.zeros((len(masses), n_owners, problem.n_classes), np.int64)
    for i, (q, x) in enumerate(zip(problem.owner.tolist(), problem.klass.tolist(), strict=True)):
        people[:, q, x] += masses[:, i]
    logs = np.array([lgamma(a + 1) for a in range(max(weight) + 1)])
    return Worlds(masses, people, -logs[masses].sum(axis=1))
