"""Disclosure measures: plain functions of NumPy arrays, for posteriors and counts from anywhere."""

from maxent.disclosure.divergence import (
    DivergenceSummary,
    divergence_summary,
    individual_divergence,
    overall_divergence,
    top_divergences,
    top_k_average,
)
from maxent.disclosure.measures import (
    AlphaK,
    Gain,
    alpha_k,
    bayes_vulnerability,
    certain,
    conditional_entropy,
    entropy_l_diversity,
    gain_over_prior,
    max_posterior,
    t_closeness,
)
from maxent.disclosure.summary import Disclosure, Possible, measure

__all__ = [
    "AlphaK",
    "Disclosure",
    "DivergenceSummary",
    "Gain",
    "Possible",
    "alpha_k",
    "bayes_vulnerability",
    "certain",
    "conditional_entropy",
    "divergence_summary",
    "entropy_l_diversity",
    "gain_over_prior",
    "individual_divergence",
    "max_posterior",
    "measure",
    "overall_divergence",
    "t_closeness",
    "top_divergences",
    "top_k_average",
]
