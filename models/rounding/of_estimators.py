"""Rounding in estimators, which have the parameters of `maxent.models.rounding.parameters.Rounding`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from maxent.models.errors import Problem
from maxent.models.parameters import picked, problems_of
from maxent.models.release import Release
from maxent.models.rounding.parameters import Rounding
from maxent.models.rounding.round_counts import round_counts
from maxent.models.trees.restate import restate


def rounding_problems(estimator: Any) -> Iterator[Problem]:
    """Mistakes in the parameters of rounding."""
    asked: Rounding = picked(Rounding, estimator)
    found = problems_of(asked)
    yield from found or asked.conflicts_with(estimator.publish)


def stated(release: Release, estimator: Any) -> Release:
    """A release with what an estimator publishes of it; of rounding by chance its ``random_state`` is the seed."""
    said = restate(release, estimator.publish)
    rounded = picked(Rounding, estimator).rounded
    if rounded is None:
        return said
    seed = estimator.random_state
    return round_counts(said, rounded, seed.randint(2**31 - 1) if isinstance(seed, np.random.RandomState) else seed)
