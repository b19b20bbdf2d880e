"""Disclosure measures: plain functions of NumPy arrays, for posteriors and counts from anywhere; and limits."""

from maxent.disclosure.inference import Disclosure, Possible, measure
from maxent.disclosure.measures import (
    AlphaK,
    DivergenceSummary,
    Gain,
    alpha_k,
    bayes_vulnerability,
    certain,
    conditional_entropy,
    divergence_summary,
    entropy_l_diversity,
    gain_over_prior,
    individual_divergence,
    max_posterior,
    overall_divergence,
    t_closeness,
    top_divergences,
    top_k_average,
)

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
