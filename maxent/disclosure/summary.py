"""Everything that a posterior discloses, in one value: all measures, and with a truth the divergences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from maxent.disclosure.checked_arrays import (
    TOLERANCE,
    Believed,
    at_most,
    checked_counts,
    checked_posterior,
    checked_prior,
)
from maxent.disclosure.divergence import DivergenceSummary, divergence_summary, individual_divergence
from maxent.disclosure.measures import AlphaK, Gain, conditional_entropy, gain_over_prior
from maxent.disclosure.registry import MEASURES, Number, estimated
from maxent.evidence.baseline import Baseline
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.defenses.certainty import CERTAIN

if TYPE_CHECKING:
    from maxent.evidence.two_groups import Control


@dataclass(frozen=True, slots=True)
class Possible:
    """Disclosure for groups as uneven as published numbers allow: `maxent.disclosure.group_shares`."""

    certain: int
    max_posterior: float
    right_guesses: float


@dataclass(frozen=True, slots=True)
class Disclosure:
    """Everything `measure` computes; ``divergence`` and ``individual`` (nats, shape (n_qi,)) only with the truth.

    ``measures`` has every measure of an estimate by its key in `maxent.disclosure.registry`. ``surest`` is
    ``max_posterior`` with the error of computing it, the number that a limit is compared with, and ``is_certain``,
    shape (n_qi,), says whose class is certain.
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
    measures: Mapping[str, Number] = field(compare=False, repr=False)
    is_certain: npt.NDArray[np.bool_] = field(compare=False, repr=False)
    divergence: DivergenceSummary | None = None
    individual: FloatArray | None = field(default=None, compare=False, repr=False)

    def as_dict(self) -> dict[str, Any]:
        """The ``disclosure`` part of a summary: keys -> Python numbers, ready for JSON."""
        own = {
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
        return own | {key: self.measures[key] for key, m in MEASURES.items() if m.json is None and key in self.measures}

    def of_optimum(self, posterior: FloatArray, counts: IntArray) -> Disclosure:
        """The same with the entropy of one optimum, where the posterior is the mean of several.

        ``posterior`` and ``counts`` are those of `measure`; of the optimum, shapes (n_qi, n_classes) and (n_qi,).
        """
        entropy = conditional_entropy(posterior, counts)
        return replace(self, entropy=entropy, measures={**self.measures, "entropy": entropy})


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
    right: FloatArray | None = None,
    pure: BoolArray | None = None,
    baseline: Baseline | None = None,
    control: Control | None = None,
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
    right, pure : shape (n_qi,), optional
        People who are guessed right, and whether they are in a leaf of one class: `maxent.evidence.truth`.
    baseline : Baseline, optional
        What guesses without the release achieve.
    control : Control, optional
        Members against people who were not in the data.
    """
    p, n = checked_posterior(posterior), checked_counts(counts, posterior)
    individual = None if truth is None else individual_divergence(truth, p)
    sure = at_most(p.max(axis=1), tolerance) if surest is None else np.asarray(surest, np.float64)
    allowed = sure if possible is None else np.asarray(possible, np.float64)
    before = checked_prior(prior, p.shape[1])
    found = estimated(Believed(p, n, sure, allowed, before, individual, top, right, pure, baseline, control))
    named: dict[str, Any] = {f.name: found[f.name] for f in fields(Disclosure) if f.name in found}
    named["alpha_k"] = AlphaK(found["max_posterior"], int(found["alpha_k"]))
    named["divergence"] = None if individual is None else divergence_summary(individual, n, top)
    return Disclosure(
        **named,
        possible=Possible(int(found["possible_certain"]), found["possible_posterior"], found["possible_right"]),
        tolerance=tolerance,
        gain=gain_over_prior(p, n, prior),
        individual=individual,
        measures=found,
        is_certain=sure >= CERTAIN,
    )
