"""Everything that a posterior discloses, in one value: all measures, and with a truth the divergences."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from maxent.disclosure.checked_arrays import TOLERANCE, Floats, at_most, checked_counts, checked_posterior
from maxent.disclosure.divergence import DivergenceSummary, divergence_summary, individual_divergence
from maxent.disclosure.measures import (
    CERTAIN,
    AlphaK,
    Gain,
    alpha_k,
    bayes_vulnerability,
    conditional_entropy,
    entropy_l_diversity,
    gain_over_prior,
    max_posterior,
    t_closeness,
)


@dataclass(frozen=True, slots=True)
class Possible:
    """What would be disclosed were groups as uneven as published numbers allow: `maxent.disclosure.group_shares`."""

    certain: int
    max_posterior: float


@dataclass(frozen=True, slots=True)
class Disclosure:
    """Everything `measure` computes; ``divergence`` and ``individual`` (nats, shape (n_qi,)) only with the truth.

    ``surest`` is ``max_posterior`` with the error of computing it, the number that a limit is compared with, and
    ``is_certain``, shape (n_qi,), says whose class is certain.
    """

    certain: int
    max_posterior: float
    surest: float
    possible: Possible
    tolerance: float
    bayes_vulnerability: float
    entropy: float
    entropy_l_diversity: float
    alpha_k: AlphaK
    t_closeness: float
    gain: Gain
    is_certain: npt.NDArray[np.bool_] = field(compare=False, repr=False)
    divergence: DivergenceSummary | None = None
    individual: Floats | None = field(default=None, compare=False, repr=False)

    def as_dict(self) -> dict[str, Any]:
        """The ``disclosure`` part of a summary: keys -> Python numbers, ready for JSON."""
        return {
            "certain": self.certain,
            "max_posterior": self.max_posterior,
            "tolerance": self.tolerance,
            "possible": asdict(self.possible),
            "bayes_vulnerability": self.bayes_vulnerability,
            "entropy_l_diversity": self.entropy_l_diversity,
            "alpha_k": asdict(self.alpha_k),
            "t_closeness": self.t_closeness,
            "gain": asdict(self.gain),
        }


def measure(
    posterior: npt.ArrayLike,
    counts: npt.ArrayLike,
    truth: npt.ArrayLike | None = None,
    top: int = 10,
    prior: npt.ArrayLike | None = None,
    *,
    surest: npt.ArrayLike | None = None,
    possible: npt.ArrayLike | None = None,
    tolerance: float = TOLERANCE,
) -> Disclosure:
    """Every measure together.

    Parameters
    ----------
    posterior : array_like, shape (n_qi, n_classes)
        P(x|q).
    counts : array_like, shape (n_qi,)
        Individuals.
    truth : array_like, shape (n_qi, n_classes), optional
        Individuals per class; the divergences need it.
    top : int
        How many of the largest divergences to name and average, at least 1.
    prior : array_like, shape (n_classes,), optional
        P(x) as the adversary knew it before the release; uniform by default.
    surest, possible : array_like, shape (n_qi,), optional
        The largest P(x|q) at most, by the estimate and as far as published numbers allow
        (`maxent.disclosure.group_shares`); by default as computed, with the error of computing it.
    tolerance : float
        That error, a probability.
    """
    p, n = checked_posterior(posterior), checked_counts(counts, posterior)
    individual = None if truth is None else individual_divergence(truth, p)
    sure = at_most(p.max(axis=1), tolerance) if surest is None else np.asarray(surest, np.float64)
    allowed = sure if possible is None else np.asarray(possible, np.float64)
    return Disclosure(
        certain=int(n[sure >= CERTAIN].sum()),
        max_posterior=max_posterior(p),
        surest=float(sure.max()),
        possible=Possible(int(n[allowed >= CERTAIN].sum()), float(allowed.max())),
        tolerance=tolerance,
        bayes_vulnerability=bayes_vulnerability(p, n),
        entropy=conditional_entropy(p, n),
        entropy_l_diversity=entropy_l_diversity(p, n),
        alpha_k=alpha_k(p, n),
        t_closeness=t_closeness(p, n),
        gain=gain_over_prior(p, n, prior),
        divergence=None if individual is None else divergence_summary(individual, n, top),
        individual=individual,
        is_certain=sure >= CERTAIN,
    )
