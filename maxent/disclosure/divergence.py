"""Divergence of the truth from a posterior, in nats: a small one means that much is disclosed.

Arrays as in `maxent.disclosure.measures`; ``truth`` are individuals per class, shape (n_qi, n_classes). Errors as in
`maxent.disclosure.checked_arrays`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isinf

import numpy as np
import numpy.typing as npt

from maxent.disclosure.checked_arrays import (
    checked_counts,
    checked_divergences,
    checked_posterior,
    checked_truth,
    mean,
)
from maxent.models.arrays import FloatArray

IMPOSSIBLE = 1e-12
"""A class of at most this probability is ruled out: floating-point numbers that should be 0 may be as large."""


@dataclass(frozen=True, slots=True)
class DivergenceSummary:
    """Individual divergences in a few numbers (nats); None stands for infinity.

    ``top`` are row indices of the largest divergences, infinite ones first; ``infinite`` is the number of rows whose
    divergence is infinite.
    """

    overall: float | None
    max: float | None
    top: tuple[int, ...]
    top_k_average: float | None
    infinite: int


def individual_divergence(truth: npt.ArrayLike, posterior: npt.ArrayLike) -> FloatArray:
    """KL(P(.|q) || P*(.|q)) = sum over x of P(x|q) ln(P(x|q) / P*(x|q)), in nats, for every q.

    P is the truth's distribution and P* the adversary's posterior: a *small* divergence means much is disclosed.

    Parameters
    ----------
    truth : array_like, shape (n_qi, n_classes)
        Individuals per class, at least one per row.
    posterior : array_like, shape (n_qi, n_classes)
        P*(x|q).

    Returns
    -------
    ndarray, shape (n_qi,)
        Nats, 0 or more; ``inf`` where the posterior rules out a class that some individual has (`IMPOSSIBLE`).

    Raises
    ------
    ValueError
        For shapes that disagree, or a row of the truth without individuals (its distribution is undefined).

    References
    ----------
    Zhu and Du, "Understanding Privacy Risk of Publishing Decision Trees", DBSec 2010, section 5.
    """
    estimate = checked_posterior(posterior)
    people = checked_truth(truth, estimate)
    p = people / people.sum(axis=1, keepdims=True)
    ruled_out = ((p > 0) & (estimate <= IMPOSSIBLE)).any(axis=1)
    # Logarithms are subtracted, not the probabilities divided: p / 1e-310 would overflow.
    logs = np.log(p, out=np.zeros_like(p), where=p > 0)
    logs -= np.log(estimate, out=np.zeros_like(p), where=(p > 0) & (estimate > 0))
    divergence: FloatArray = np.maximum(np.einsum("qx,qx->q", p, logs), 0.0)  # round-off can leave -1e-17
    divergence[ruled_out] = np.inf
    return divergence


def overall_divergence(truth: npt.ArrayLike, posterior: npt.ArrayLike) -> float:
    """D_overall = sum over q of P(q) D_individual(q), in nats; ``inf`` when any of them is.

    P(q) is the share of the truth's individuals. Source and errors as in `individual_divergence`.
    """
    return mean(individual_divergence(truth, posterior), checked_truth(truth, checked_posterior(posterior)).sum(axis=1))


def top_divergences(divergence: npt.ArrayLike, k: int) -> npt.NDArray[np.intp]:
    """Row indices of the ``k`` largest divergences, largest first, ties by index; all rows when there are fewer.

    Raises
    ------
    ValueError
        When ``k`` is below 1 or a divergence is not a number.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    return np.argsort(-checked_divergences(divergence), kind="stable")[:k]


def top_k_average(divergence: npt.ArrayLike, k: int) -> float:
    """Mean of the ``k`` largest divergences, in nats; ``inf`` when any of them is. Errors as in `top_divergences`.

    Source: Zhu and Du (2010), section 5, who average the largest individual values as the worst case.
    """
    return float(checked_divergences(divergence)[top_divergences(divergence, k)].mean())


def divergence_summary(divergence: npt.ArrayLike, counts: npt.ArrayLike, k: int = 10) -> DivergenceSummary:
    """Overall, largest, and the rows of the ``k`` largest individual divergences.

    The individuals are the weights of the overall divergence. A single infinite value makes it None (infinite): what
    the adversary got wrong for sure is never left out. Errors as in `top_divergences`.
    """
    d = checked_divergences(divergence)
    return DivergenceSummary(
        overall=_none_if_infinite(mean(d, checked_counts(counts, d))),
        max=_none_if_infinite(float(d.max())),
        top=tuple(top_divergences(d, k).tolist()),
        top_k_average=_none_if_infinite(top_k_average(d, k)),
        infinite=int(np.isinf(d).sum()),
    )


def _none_if_infinite(value: float) -> float | None:
    """JSON has no infinity."""
    return None if isinf(value) else value
