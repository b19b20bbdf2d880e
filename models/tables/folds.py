"""Folds of cross-validation."""

from __future__ import annotations

import numpy as np

from maxent.models.arrays import IntArray


def stratified(y: IntArray, folds: int, seed: int) -> IntArray:
    """The fold of each record, shape (n,): at random, sizes and numbers of each class as equal as they can be.

    Records are shuffled, put in the order of their classes, and dealt in turn.
    """
    shuffled = np.random.default_rng(seed).permutation(len(y))
    dealt = shuffled[np.argsort(y[shuffled], kind="stable")]
    fold = np.empty(len(y), np.int64)
    fold[dealt] = np.arange(len(y)) % folds
    return fold
