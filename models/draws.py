"""Draws: how often each record was drawn for each tree, where a model's file tells it.

A fitted forest of scikit-learn keeps for each tree the integer from which its bootstrap was drawn. From it and the
number of records follows how often each row of the training table was drawn. Each count of a leaf is then an exact
equation about single rows: the sum over the leaf's rows of draws times [class] is the count.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maxent.models.errors import invalid

if TYPE_CHECKING:
    from maxent.models.arrays import IntArray


@dataclass(frozen=True, slots=True)
class Draws:
    """Who was drawn for each tree: seeds of a known generator, or the counts themselves.

    ``n``, ``drawn``: rows of the training table, and how many were drawn for each tree. ``replace``: whether a row
    could be drawn more than once. ``generator``, ``version``: what made the draws: a name of `GENERATORS`, and the
    version of the tool; empty where ``counts`` state them. ``seeds``: one for each tree; empty where ``counts`` state
    the draws. ``counts``: for each tree how often each row was drawn; empty where ``seeds`` tell it. ``features``:
    columns there are, how many of them each tree was given, and whether one could be drawn more than once, where
    columns were drawn before rows; None where each tree was given all.
    """

    n: int
    drawn: int
    replace: bool = True
    generator: str = ""
    version: str = ""
    seeds: tuple[int, ...] = ()
    counts: tuple[tuple[int, ...], ...] = ()
    features: tuple[int, int, bool] | None = None

    @property
    def trees(self) -> int:
        """Number of trees that draws are told of."""
        return len(self.seeds) or len(self.counts)

    def matrix(self) -> IntArray:
        """How often each row was drawn for each tree, shape (trees, n)."""
        if self.trees * self.n > MOST_DRAWS:
            expected = f"at most {MOST_DRAWS:,} draws of rows by tree"
            raise invalid("memory", "draws", "n", expected, f"{self.trees:,} trees times {self.n:,} rows")
        if self.counts:
            return np.asarray(self.counts, np.int64)
        draw = GENERATORS[self.generator]
        return np.stack([np.bincount(draw(self, seed), minlength=self.n) for seed in self.seeds])


MOST_ROWS, MOST_SEED = 2**31 - 1, 2**32 - 1  # the largest population of a generator, and the largest seed
MOST_DRAWS = 2**28  # numbers of `Draws.matrix`, each of 8 bytes


def _forest(draws: Draws, seed: int) -> IntArray:
    # sklearn.ensemble._forest._generate_sample_indices
    return _picked(np.random.RandomState(seed), draws.replace, draws.n, draws.drawn)


def _bagging(draws: Draws, seed: int) -> IntArray:
    # sklearn.ensemble._bagging._generate_bagging_indices
    state = np.random.RandomState(seed)
    if draws.features is not None:
        of, given, again = draws.features
        _picked(state, again, of, given)
    return _picked(state, draws.replace, draws.n, draws.drawn)


def _picked(state: np.random.RandomState, replace: bool, n: int, drawn: int) -> IntArray:
    """Numbers below ``n``, as scikit-learn draws them."""
    if replace:
        return state.randint(0, n, drawn, dtype=np.int64)
    from sklearn.utils.random import sample_without_replacement

    return np.asarray(sample_without_replacement(n, drawn, random_state=state), np.int64)


# Generator -> the rows that were drawn from one seed, shape (drawn,).
GENERATORS = {"scikit-learn-forest": _forest, "scikit-learn-bagging": _bagging}


# What models keep beside their trees that tells draws, where they are not followed; words of `Converted.aside`.

# Draws of rows that follow from a seed
DRAWN = "draws of rows, which follow from a seed that is stated, or the usual one (`maxent convert` writes none)"
# Draws of scikit-learn whose seeds are kept, but not followed
SEEDS = "seeds, from which follows who was drawn for each tree (ONNX, PMML and `maxent convert` write none)"
STATE = "seeds or a state of random numbers, from which follows who was drawn for training"
# A line for each training row: of which trees answered it, whose draws left it out
ANSWERS = (
    "answers to single rows by the trees that were grown without them (oob_decision_function_, oob_prediction_, "
    "oob_score_)"
)
# What is followed: what a release states of draws
_FOLLOWED = {kind: f"{kind} of the draws of each tree" for kind in ("seeds", "counts")}
_TOLD = frozenset({DRAWN, SEEDS, STATE, ANSWERS, *_FOLLOWED.values()})


def tells_draws(draws: Draws | None, aside: str) -> str:
    """What tells who was drawn for each tree, in words: ``draws`` that are followed, or what is kept ``aside``."""
    followed = [] if draws is None else [_FOLLOWED["seeds" if draws.seeds else "counts"]]
    return "; ".join(dict.fromkeys([*followed, *(each for each in aside.split("; ") if each in _TOLD)]))


def kept_apart(draws: Draws | None, aside: Iterable[str]) -> list[str]:
    """What tells who was drawn, and what else models keep beside a release, in words: nothing of either is read."""
    told = tells_draws(draws, "; ".join(aside))
    words = dict.fromkeys(each for text in aside for each in text.split("; ") if each not in told.split("; "))
    return [text for text in (told, "; ".join(words)) if text]
