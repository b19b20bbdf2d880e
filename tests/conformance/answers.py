"""Estimates with a back end, and small random problems to compare back ends on."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.brute_force import refusal

import maxent
from maxent.models.induction.inducers import id3
from maxent.models.release import Release


def estimate(release: Any, qi: Any, backend: str, **options: Any) -> maxent.Estimate:
    """`maxent.estimate`, or a skipped test where the back end refuses the program."""
    found = maxent.estimate(release, qi, backend=backend, **options)
    reason = refusal(found)
    if reason is not None:
        assert len(reason) > len(f"{backend} refuses: "), "a refusal without a reason"
        pytest.skip(reason)
    return found


def random_problem(seed: int) -> tuple[Release, pd.DataFrame]:
    """A tree grown from some dozen people, of two or three classes, and who they are."""
    rng = np.random.default_rng(seed)
    n, names = int(rng.integers(20, 60)), list("ABCD")
    frame = pd.DataFrame({name: rng.integers(0, rng.integers(2, 4), n).astype(str) for name in names})
    score = frame[names].astype(int).to_numpy() @ rng.integers(0, 3, len(names))
    noise = (rng.random(n) < 0.3) * rng.integers(0, 3, n)
    frame["X"] = np.array(list("xyz")[: 2 + seed % 2])[(score + noise) % (2 + seed % 2)]
    release = id3(
        frame,
        target="X",
        qi=names,
        impurity=("gini", "entropy", "gain_ratio")[seed // 2 % 3],
        publish=("rates", "rates", "counts")[seed // 6 % 3],
        min_samples_split=int(rng.integers(3, 9)),
    )
    return release, frame[names]
