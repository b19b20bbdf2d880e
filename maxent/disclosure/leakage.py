"""Leakage: capacity and gain of an adversary, in bits."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import log2
from typing import TYPE_CHECKING, Any

from maxent.models.tables.truth_and_facts import read_stakes

if TYPE_CHECKING:
    from maxent.models.arrays import FloatArray, IntArray
    from maxent.models.reading import Reader
    from maxent.models.release import Target
    from maxent.models.tables.frame import Source


@dataclass(frozen=True, slots=True)
class Leakage:
    """The gain that an adversary expects without and with a release, in units of the gain matrix.

    ``prior`` is the gain of the guess that is best by the shares of the classes (the base rate, for a matrix that
    counts right guesses), ``uniform`` that of a guess among all alike. ``additive`` is posterior - prior;
    ``multiplicative`` is posterior / prior, None for a prior of 0. ``realised`` is the mean gain of the same guesses
    about real people, None without the truth.
    """

    prior: float
    posterior: float
    realised: float | None
    uniform: float

    @property
    def additive(self) -> float:
        """The gain that the release adds."""
        return self.posterior - self.prior

    @property
    def multiplicative(self) -> float | None:
        """The factor that the release makes the gain larger by."""
        return self.posterior / self.prior if self.prior else None

    def as_dict(self) -> dict[str, Any]:
        """The key ``leakage`` of a JSON summary."""
        return {**asdict(self), "additive": self.additive, "multiplicative": self.multiplicative}


def prior_vulnerability(gain: FloatArray, prior: FloatArray) -> float:
    """V_g(pi) = max over w of sum over x of pi_x g[w, x]; shapes (n_guesses, n_secrets) and (n_secrets,)."""
    return float((gain @ prior).max())


def posterior_vulnerability(gain: FloatArray, prior: FloatArray, channel: FloatArray) -> float:
    """V_g[pi, C] = sum over y of max over w of sum over x of pi_x C[x, y] g[w, x].

    Shapes (n_guesses, n_secrets), (n_secrets,) and (n_secrets, n_observations).
    """
    return float((gain @ (prior[:, None] * channel)).max(axis=0).sum())


def min_capacity(channel: FloatArray) -> float:
    """log2 of the sum over y of max over x of C[x, y]: the largest min-entropy leakage over all priors, bits."""
    return log2(float(channel.max(axis=0).sum()))


def channel_of(posterior: FloatArray, counts: IntArray | FloatArray) -> tuple[FloatArray, FloatArray]:
    """The prior and the channel of a posterior: the classes are secrets, the quasi-identifiers observations.

    The prior is pi_x = sum over q of P(q) P(x|q), and C[x, q] = P(q) P(x|q) / pi_x: P(x|q) is then what Bayes' rule
    makes of an observation. Classes of probability 0 have no row.

    ``posterior``, shape (n_qi, n_classes). ``counts``, shape (n_qi,), individuals. Result: shapes (n_classes,) and
    (n_classes with a probability, n_qi).
    """
    joint = posterior * (counts / counts.sum())[:, None]
    prior = joint.sum(axis=0)
    there = prior > 0
    return prior, (joint[:, there] / prior[there]).T


def leakage(gain: FloatArray, posterior: FloatArray, counts: IntArray, truth: IntArray | None = None) -> Leakage:
    """The leakage of a posterior, shapes (n_guesses, n_classes), (n_qi, n_classes), (n_qi,) and (n_qi, n_classes)."""
    share = counts / counts.sum()
    expected = posterior @ gain.T
    realised = None
    if truth is not None:
        guess = gain[expected.argmax(axis=1)]
        realised = float((truth * guess).sum() / truth.sum())
    prior = share @ posterior
    best = float(share @ expected.max(axis=1))
    return Leakage(prior_vulnerability(gain, prior), best, realised, float((gain @ prior).mean()))


def read_gain(source: Source, target: Target, reader: Reader | None = None) -> FloatArray:
    """Read a gain matrix, a row for each guess, see `maxent.models.tables.truth_and_facts.read_stakes`."""
    return read_stakes(source, "gain", target, reader, decision="guess", unit="gain")
