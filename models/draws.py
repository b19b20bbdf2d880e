"""Draws: how often each record was drawn for each tree, where a model's file tells it.

A fitted forest of scikit-learn keeps for each tree the integer from which its bootstrap was drawn. From it and the
number of records follows how often each row of the training table was drawn. Each count of a leaf is then an exact
equation about single rows: the sum over the leaf's rows of draws times [class] is the count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from maxent.models.arrays import IntArray


@dataclass(frozen=True, slots=True)
class Draws:
    """Who was drawn for each tree: seeds of a known generator, or the counts themselves.

    Attributes
    ----------
    n, drawn : int
        Rows of the training table, and how many were drawn for each tree.
    replace : bool
        Whether a row could be drawn more than once.
    generator, version : str
        What made the draws: a name of `GENERATORS`, and the version of the tool; empty where ``counts`` state them.
    seeds : tuple of int
        One for each tree; empty where ``counts`` state the draws.
    counts : tuple of tuples of int
        For each tree how often each row was drawn; empty where ``seeds`` tell it.
    """

    n: int
    drawn: int
    replace: bool = True
    generator: str = ""
    version: str = ""
    seeds: tuple[int, ...] = ()
    counts: tuple[tuple[int, ...], ...] = ()

    @property
    def trees(self) -> int:
        """Number of trees that draws are told of."""
        return len(self.seeds) or len(self.counts)

    def matrix(self) -> IntArray:
        """How often each row was drawn for each tree, shape (trees, n)."""
        if self.counts:
            return np.asarray(self.counts, np.int64)
        return np.stack([GENERATORS[self.generator](self, seed) for seed in self.seeds])


def _forest(draws: Draws, seed: int) -> IntArray:
    # sklearn.ensemble._forest._generate_sample_indices, since 0.22.
    picked = np.random.RandomState(seed).randint(0, draws.n, draws.drawn, dtype=np.int32)
    return np.bincount(picked, minlength=draws.n)


# Generator -> how often each row was drawn from one seed, shape (n,).
GENERATORS = {"scikit-learn-forest": _forest}


# What models keep beside their trees that tells draws, where they are not followed; words of `Converted.aside`.

# Draws of rows that follow from a seed
DRAWN = "draws of rows, which follow from a seed that is stated, or the usual one (`maxent convert` writes none)"
# Draws of scikit-learn whose seeds are kept, but not followed
SEEDS = "seeds, from which follows who was drawn for each tree (ONNX, PMML and `maxent convert` write none)"
STATE = "seeds or a state of random numbers, from which follows who was drawn for training"
# A line for each training row: of which trees answered it, whose draws left it out
ANSWERS = "answers to single rows by the trees that were grown without them (oob_decision_function_)"
# What is followed: what a release states of draws
_FOLLOWED = {kind: f"{kind} of the draws of each tree" for kind in ("seeds", "counts")}
_TOLD = frozenset({DRAWN, SEEDS, STATE, ANSWERS, *_FOLLOWED.values()})


def tells_draws(draws: Draws | None, aside: str) -> str:
    """What tells who was drawn for each tree, in words; empty where nothing does.

    ``draws``: `maxent.models.release.Content.draws`, which are followed. ``aside``: what a model keeps beside its
    release, such as `Converted.aside`, of which some may tell draws that are not followed.
    """
    followed = [] if draws is None else [_FOLLOWED["seeds" if draws.seeds else "counts"]]
    return "; ".join(dict.fromkeys([*followed, *(each for each in aside.split("; ") if each in _TOLD)]))
