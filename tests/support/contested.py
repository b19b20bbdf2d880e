"""Releases whose splits were won narrowly: the closed form violates internal constraints, so that parts are solved."""

import numpy as np
import pandas as pd

from maxent.models.induction.inducers import id3


def contested(impurity, publish="rates", seed=0, classes="abcd", n=400, sizes=(6, 3, 3, 3)):
    """(release, table with the classes); with the defaults there are several independent parts, not convex."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"A{i}": rng.integers(0, size, n).astype(str) for i, size in enumerate(sizes)})
    told = frame["A0"].astype(int) % len(classes)
    frame["X"] = np.array(list(classes))[np.where(rng.random(n) < 0.5, told, rng.integers(0, len(classes), n))]
    qi = [name for name in frame if name != "X"]
    release = id3(frame, target="X", qi=qi, impurity=impurity, min_samples_split=12, publish=publish)
    return release, frame
