"""Random trees with noise in place of suppression, and ours, at the same epsilon.

*Noise*: no sampling, and Laplace noise on every count of every leaf (Jagannathan et al. 2012). *Ours*: the smallest k
whose trees have a delta of at most 1e-6 together, against an adversary who does not know the samples.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from maxent.models.defenses.accounting import forest_delta
from maxent.models.defenses.random_trees import leaf_keys, space_of
from papers.waseda_2025.elsewhere import DEPTHS, EPSILONS
from papers.waseda_2025.protocol import Split, load, numbers

RATES = (0.1, 0.2, 0.4)
TREES = 10
DELTA = 1e-6


@dataclass(frozen=True)
class Best:
    """The accuracies of the depth that has the best mean, a number for each seed; ``k`` of ours."""

    depth: int
    found: tuple[float, ...]
    k: int | None = None


def noisy(split: Split, trees: int, depth: int, epsilons: Collection[float], seed: int) -> Iterator[float]:
    """The accuracy of random trees whose counts all have Laplace noise, for each epsilon.

    Every leaf there could be has noise, also where nobody is; it is drawn for those that test records come to.
    """
    people, rng = split.train, np.random.default_rng(seed)
    space = space_of(people.attributes, split.ranges)
    train, test = numbers(split.train), numbers(split.test)
    n_classes = len(people.target.classes)
    total = np.zeros((len(epsilons), len(test), n_classes))
    for root in rng.integers(0, 2**64, trees, np.uint64):
        keys = np.concatenate([leaf_keys(space, root, depth, x) for x in (train, test)])
        leaf = np.unique(keys, return_inverse=True)[1]
        cells = leaf[: len(train)] * n_classes + people.y
        counts = np.bincount(cells, minlength=(leaf.max() + 1) * n_classes).reshape(-1, n_classes)
        for i, epsilon in enumerate(epsilons):
            noise = rng.laplace(0.0, trees / epsilon, counts.shape)
            total[i] += np.maximum(counts + noise, 0.0)[leaf[len(train) :]]
    for scores in total:
        yield float((scores.argmax(axis=1) == split.test.y).mean())


@cache
def private(epsilon: float, beta: float, trees: int) -> int:
    """The smallest k with a delta of at most `DELTA`."""
    low, high = 0, 1
    while forest_delta(trees, high, beta, epsilon) > DELTA:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if forest_delta(trees, middle, beta, epsilon) <= DELTA else (middle, high)
    return high


def best(found: Mapping[int, list[float]], k: int | None = None) -> Best:
    """The best of several depths."""
    depth = max(found, key=lambda d: float(np.mean(found[d])))
    return Best(depth, tuple(found[depth]), k)


def compared(name: str, seeds: int) -> dict[tuple[str, float], Best]:
    """(``noise``, or ``beta`` and a rate; epsilon) -> the best depth."""
    people, found = load(name), dict[tuple[str, float], dict[int, list[float]]]()
    for seed in range(seeds):
        split = Split.of(people, seed)
        for depth in DEPTHS[name]:
            for epsilon, accuracy in zip(EPSILONS, noisy(split, TREES, depth, EPSILONS, seed), strict=True):
                found.setdefault(("noise", epsilon), {}).setdefault(depth, []).append(accuracy)
            for rate in RATES:
                forest = split.forest(TREES, depth, rate, seed)
                for epsilon in EPSILONS:
                    ((_, _, accuracy), *_) = forest.accuracies(private(epsilon, rate, TREES), [TREES])
                    found.setdefault((f"beta {rate}", epsilon), {}).setdefault(depth, []).append(accuracy)
    ks = {(f"beta {rate}", epsilon): private(epsilon, rate, TREES) for rate in RATES for epsilon in EPSILONS}
    return {what: best(depths, ks.get(what)) for what, depths in found.items()}
