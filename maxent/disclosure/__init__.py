"""Disclosure measures: plain functions of NumPy arrays, for posteriors and counts from anywhere.

The names below are loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxent.disclosure.divergence import DivergenceSummary as DivergenceSummary
    from maxent.disclosure.divergence import divergence_summary as divergence_summary
    from maxent.disclosure.divergence import individual_divergence as individual_divergence
    from maxent.disclosure.divergence import overall_divergence as overall_divergence
    from maxent.disclosure.divergence import top_divergences as top_divergences
    from maxent.disclosure.divergence import top_k_average as top_k_average
    from maxent.disclosure.measures import AlphaK as AlphaK
    from maxent.disclosure.measures import Gain as Gain
    from maxent.disclosure.measures import alpha_k as alpha_k
    from maxent.disclosure.measures import bayes_vulnerability as bayes_vulnerability
    from maxent.disclosure.measures import certain as certain
    from maxent.disclosure.measures import conditional_entropy as conditional_entropy
    from maxent.disclosure.measures import entropy_l_diversity as entropy_l_diversity
    from maxent.disclosure.measures import gain_over_prior as gain_over_prior
    from maxent.disclosure.measures import max_posterior as max_posterior
    from maxent.disclosure.measures import t_closeness as t_closeness
    from maxent.disclosure.summary import Disclosure as Disclosure
    from maxent.disclosure.summary import Possible as Possible
    from maxent.disclosure.summary import measure as measure

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
    if name in __all__:
        for module in ("measures", "divergence", "summary"):
            found = getattr(import_module(f"maxent.disclosure.{module}"), name, None)
            if found is not None:
                return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
