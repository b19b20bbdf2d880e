"""Disclosure measures: plain functions of NumPy arrays, for posteriors and counts from anywhere.

The names below are those of `maxent.disclosure.measures`; they are loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxent.disclosure.measures import AlphaK as AlphaK
    from maxent.disclosure.measures import Disclosure as Disclosure
    from maxent.disclosure.measures import DivergenceSummary as DivergenceSummary
    from maxent.disclosure.measures import Gain as Gain
    from maxent.disclosure.measures import Possible as Possible
    from maxent.disclosure.measures import alpha_k as alpha_k
    from maxent.disclosure.measures import bayes_vulnerability as bayes_vulnerability
    from maxent.disclosure.measures import certain as certain
    from maxent.disclosure.measures import conditional_entropy as conditional_entropy
    from maxent.disclosure.measures import divergence_summary as divergence_summary
    from maxent.disclosure.measures import entropy_l_diversity as entropy_l_diversity
    from maxent.disclosure.measures import gain_over_prior as gain_over_prior
    from maxent.disclosure.measures import individual_divergence as individual_divergence
    from maxent.disclosure.measures import max_posterior as max_posterior
    from maxent.disclosure.measures import measure as measure
    from maxent.disclosure.measures import overall_divergence as overall_divergence
    from maxent.disclosure.measures import t_closeness as t_closeness
    from maxent.disclosure.measures import top_divergences as top_divergences
    from maxent.disclosure.measures import top_k_average as top_k_average

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


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("maxent.disclosure.measures"), name)
