"""Measures of disclosure: pure functions, posterior -> numbers.

Arrays have one row per distinct quasi-identifier q: ``posterior`` is the adversary's estimate P(x|q), shape
(n_qi, n_classes); ``counts`` are the individuals behind each row, shape (n_qi,), all positive, P(q) = counts / sum.
Entropies are in nats, 0 ln 0 = 0. Errors as in `maxent.disclosure.checked_arrays`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
import numpy.typing as npt

from maxent.disclosure.checked_arrays import (
    at_most,
    by_rows,
    checked_counts,
    checked_posterior,
    checked_prior,
    mean,
)
from maxent.models.arrays import FloatArray
from maxent.models.defenses.certainty import CERTAIN as CERTAIN

SAME_POSTERIOR = 1e-9


@dataclass(frozen=True, slots=True)
class AlphaK:
    """The (alpha, k)-anonymity of a posterior: a largest probability, and a number of individuals."""

    alpha: float
    k: int


@dataclass(frozen=True, slots=True)
class Gain:
    """The adversary's gain over the prior; vulnerabilities are probabilities, entropies are nats.

    ``multiplicative`` is after / before (min-entropy leakage is its logarithm) and ``additive`` is after - before.
    ``entropy_reduction`` is H(prior) - H(X|Q); it is negative only for a prior that contradicts the posterior.
    """

    vulnerability_before: float
    vulnerability_after: float
    multiplicative: float
    additive: float
    entropy_before: float
    entropy_after: float
    entropy_reduction: float


def conditional_entropy(posterior: npt.ArrayLike, counts: npt.ArrayLike) -> float:
    """H(X|Q) = - sum over q, x of P(q) P(x|q) ln P(x|q), in nats: 0 (all is known) to ln n_classes.

    Source: Cover and Thomas, *Elements of Information Theory*, 2nd ed., eq. 2.10.
    """
    return mean(_row_entropy(checked_posterior(posterior)), checked_counts(counts, posterior))


def max_posterior(posterior: npt.ArrayLike) -> float:
    """The largest P(x|q): how sure the adversary is of the individual they are surest of."""
    return float(checked_posterior(posterior).max())


def bayes_vulnerability(posterior: npt.ArrayLike, counts: npt.ArrayLike) -> float:
    """V = sum over q of P(q) max_x P(x|q): the share of right guesses of an adversary who guesses everybody's class.

    From 1 / n_classes to 1. Source: Smith, "On the Foundations of Quantitative Information Flow", FoSSaCS 2009.
    """
    return mean(checked_posterior(posterior).max(axis=1), checked_counts(counts, posterior))


def certain(posterior: npt.ArrayLike, counts: npt.ArrayLike, threshold: float = CERTAIN) -> int:
    """Individuals whose posterior puts at least ``threshold`` (a probability) on one class, to within `TOLERANCE`."""
    return int(checked_counts(counts, posterior)[at_most(checked_posterior(posterior).max(axis=1)) >= threshold].sum())


def entropy_l_diversity(posterior: npt.ArrayLike, counts: npt.ArrayLike) -> float:
    """The largest l for which the posterior is entropy l-diverse: min over q of exp(H(X|q)), from 1 to n_classes.

    Read it as the number of equally likely classes that would leave the adversary as unsure about the individual
    they are surest of. Source: Machanavajjhala et al., "l-Diversity: Privacy Beyond k-Anonymity", ACM TKDD 1(1),
    2007, definition 4.1, with the adversary's posterior in place of a class's frequencies.
    """
    checked_counts(counts, posterior)
    return float(np.exp(_row_entropy(checked_posterior(posterior)).min()))


def alpha_k(posterior: npt.ArrayLike, counts: npt.ArrayLike) -> AlphaK:
    """The strongest (alpha, k)-anonymity that holds in the adversary's eyes.

    An equivalence class is a set of individuals whom the posterior does not tell apart: quasi-identifiers with the
    same row (within 1e-9) pooled. ``alpha`` is the largest probability of a class value in any of them, ``k`` the
    number of individuals in the smallest.

    Source: Wong et al., "(alpha, k)-Anonymity: An Enhanced k-Anonymity Model for Privacy Preserving Data Publishing",
    KDD 2006.
    """
    p, n = checked_posterior(posterior), checked_counts(counts, posterior)
    order, start = _equal_rows(p)
    return AlphaK(alpha=float(p.max()), k=int(np.add.reduceat(n[order], start).min()))


def t_closeness(posterior: npt.ArrayLike, counts: npt.ArrayLike, ordered: bool = False) -> float:
    """The smallest t for which the posterior is t-close: the largest distance of a P(.|q) from sum_q P(q) P(.|q).

    The distance is the earth mover's, from 0 (every q looks like the population) to 1. With equal ground distances it
    is the total variation 1/2 sum_x |p_x - r_x|; with ``ordered``, for classes given in their natural order, it is
    1/(n_classes - 1) sum_i |sum_{x <= i} (p_x - r_x)|.

    Source: Li, Li and Venkatasubramanian, "t-Closeness: Privacy Beyond k-Anonymity and l-Diversity", ICDE 2007,
    section 5.
    """
    p, n = checked_posterior(posterior), checked_counts(counts, posterior)
    population = n @ p / n.sum()

    def distance(rows: FloatArray) -> FloatArray:
        if ordered:
            return np.asarray(np.abs(np.cumsum(rows - population, axis=1)).sum(axis=1) / max(p.shape[1] - 1, 1))
        return np.asarray(np.abs(rows - population).sum(axis=1) / 2)

    return float(by_rows(distance, p).max())


def gain_over_prior(posterior: npt.ArrayLike, counts: npt.ArrayLike, prior: npt.ArrayLike | None = None) -> Gain:
    """The adversary's gain of knowledge about X from the release.

    ``prior`` is P(x) before the release, shape (n_classes,); it is uniform when nothing but the domain is known. A
    prior that is no distribution over the classes raises `ValueError`.

    Sources: Smith, "On the Foundations of Quantitative Information Flow", FoSSaCS 2009 (vulnerability, multiplicative
    leakage); Braun, Chatzikokolakis and Palamidessi, "Quantitative Notions of Leakage for One-try Attacks",
    MFPS 2009 (additive leakage).
    """
    p = checked_posterior(posterior)
    before = checked_prior(prior, p.shape[1])
    vulnerability_before, vulnerability_after = float(before.max()), bayes_vulnerability(p, counts)
    # The uniform entropy is taken as ln n itself: n times -1/n ln(1/n) is off by round-off.
    entropy_before = log(p.shape[1]) if prior is None else float(_row_entropy(before[None, :])[0])
    entropy_after = conditional_entropy(p, counts)
    return Gain(
        vulnerability_before=vulnerability_before,
        vulnerability_after=vulnerability_after,
        multiplicative=vulnerability_after / vulnerability_before,
        additive=vulnerability_after - vulnerability_before,
        entropy_before=entropy_before,
        entropy_after=entropy_after,
        entropy_reduction=entropy_before - entropy_after,
    )


def _row_entropy(p: FloatArray) -> FloatArray:
    """H(X|q) of every row, in nats."""

    def entropy(rows: FloatArray) -> FloatArray:
        logs = np.log(rows, out=np.zeros_like(rows), where=rows > 0)
        return np.asarray(0.0 - np.einsum("qx,qx->q", rows, logs))  # a plain minus would turn 0 into -0.0

    return by_rows(entropy, p)


def _equal_rows(p: FloatArray) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows in an order in which those that are equal within `SAME_POSTERIOR` are neighbours, and where groups start.

    Rounding would part two equal values that lie on both sides of a rounding boundary. Instead the rows of a group are
    sorted by one column after another and cut wherever neighbours are further apart than the tolerance.
    """
    order = np.arange(len(p))
    begins = np.zeros(len(p), bool)
    begins[0] = True
    for column in p.T:
        if begins.all():
            break  # every row stands alone already
        values = np.ascontiguousarray(column)[order]
        start = np.flatnonzero(begins)
        spread = np.maximum.reduceat(values, start) - np.minimum.reduceat(values, start)
        wide = np.flatnonzero(np.repeat(spread > SAME_POSTERIOR, np.diff(start, append=len(p))))
        if not len(wide):
            continue
        sort = np.lexsort((values[wide], np.cumsum(begins)[wide]))
        order[wide], values = order[wide][sort], values[wide][sort]
        begins[wide[1:]] |= np.diff(values) > SAME_POSTERIOR
    return order, np.flatnonzero(begins)
