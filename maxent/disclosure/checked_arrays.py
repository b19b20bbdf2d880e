"""The arrays that measures are functions of, checked: posteriors, counts, truths, priors and divergences.

Each function raises `ValueError` for a shape that disagrees and for values that are negative or not a number, because
a measure of such an array would read as a small risk.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from maxent.evidence.baseline import Baseline
from maxent.models.arrays import BoolArray, FloatArray

if TYPE_CHECKING:
    from maxent.evidence.two_groups import Control

TOLERANCE = 1e-6
"""By how much computed probabilities may be off, unless more was allowed when they were computed.

Where they are compared with a limit, they are taken to be larger by so much.
"""

BLOCK = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Believed:
    """A posterior with all that measures are functions of, checked.

    ``posterior`` is P(x|q), shape (n_qi, n_classes), and ``counts`` the individuals, shape (n_qi,); ``surest`` and
    ``possible``, of the same shape, are the largest P(x|q) at most, by the estimate and as far as published numbers
    allow. ``prior`` is P(x) before the release; ``divergence`` (nats, shape (n_qi,)) is None
    without a truth, and ``top`` says how many of the largest are averaged. With a truth, ``right`` are the people of
    each quasi-identifier who are guessed right, and ``pure`` says who is in a leaf of one class, shapes (n_qi,).
    ``baseline`` is what guesses without the release achieve, ``control`` what guesses of other people do.
    """

    posterior: FloatArray
    counts: FloatArray
    surest: FloatArray
    possible: FloatArray
    prior: FloatArray
    divergence: FloatArray | None
    top: int
    right: FloatArray | None = None
    pure: BoolArray | None = None
    baseline: Baseline | None = None
    control: Control | None = None


def at_most(probability: npt.ArrayLike, tolerance: float = TOLERANCE) -> FloatArray:
    """Probabilities with the error of computing them: what limits are compared with."""
    return np.minimum(np.asarray(probability, np.float64) + tolerance, 1.0)


def checked_posterior(posterior: npt.ArrayLike) -> FloatArray:
    """The posterior as floats, once it is a table of probabilities."""
    p = np.asarray(posterior, dtype=np.float64)
    if p.ndim != 2 or p.size == 0:
        raise ValueError(f"posterior must have the shape (n_qi, n_classes) and not be empty, not {p.shape}")
    if not (p.min() >= 0 and p.max() < np.inf):  # a value that is not a number is neither
        raise ValueError("posterior holds values that are negative or not finite")
    return p


def checked_counts(counts: npt.ArrayLike, rows: npt.ArrayLike) -> FloatArray:
    """The counts as floats, once there is a positive one for every row of ``rows``."""
    n, expected = np.asarray(counts, dtype=np.float64), np.shape(rows)[:1]
    if n.shape != expected:
        raise ValueError(f"counts must have the shape {expected}, not {n.shape}")
    if not (np.isfinite(n).all() and n.min() > 0):
        raise ValueError("counts must be positive: a quasi-identifier stands for at least one individual")
    return n


def checked_truth(truth: npt.ArrayLike, posterior: FloatArray) -> FloatArray:
    """The truth as floats, once it has the posterior's shape and somebody in every row."""
    people = np.asarray(truth, dtype=np.float64)
    if people.shape != posterior.shape:
        raise ValueError(f"truth must have the posterior's shape {posterior.shape}, not {people.shape}")
    if not (np.isfinite(people).all() and people.min() >= 0):
        raise ValueError("truth holds numbers of individuals that are negative or not finite")
    if not people.any(axis=1).all():
        raise ValueError(f"truth has no individual in row {int(np.argmin(people.any(axis=1)))}")
    return people


def checked_prior(prior: npt.ArrayLike | None, n_classes: int) -> FloatArray:
    """The prior as floats, uniform by default, once it is a distribution over the classes."""
    p = np.full(n_classes, 1 / n_classes) if prior is None else np.asarray(prior, dtype=np.float64)
    if p.shape != (n_classes,):
        raise ValueError(f"prior must have the shape {(n_classes,)}, not {p.shape}")
    if not (np.isfinite(p).all() and p.min() >= 0 and abs(p.sum() - 1) <= 1e-6):
        raise ValueError("prior must hold probabilities that sum to 1")
    return p


def checked_divergences(divergence: npt.ArrayLike) -> FloatArray:
    """The divergences as floats, once they are numbers or ``inf``."""
    d = np.asarray(divergence, dtype=np.float64)
    if d.ndim != 1 or d.size == 0 or np.isnan(d).any() or d.min() < 0:
        raise ValueError("divergence must hold one number of nats, 0 or more, per quasi-identifier")
    return d


def mean(values: FloatArray, counts: FloatArray) -> float:
    """Sum over q of P(q) values(q)."""
    return float(counts @ values / counts.sum())


def by_rows(measured: Callable[[FloatArray], FloatArray], p: FloatArray) -> FloatArray:
    """A number for every row, a block of rows at a time, so that intermediate results stay small."""
    out = np.empty(len(p))
    for begin in range(0, len(p), BLOCK):
        out[begin : begin + BLOCK] = measured(p[begin : begin + BLOCK])
    return out
