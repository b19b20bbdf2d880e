"""Differential privacy of private random decision trees: epsilon and delta (Waseda et al. 2025)."""

from maxent.models.defenses.accounting import (
    composed,
    forest_delta,
    forest_epsilon,
    gamma,
    kanon_delta,
    largest_beta,
    n_m,
    smallest_epsilon,
    smallest_k,
    smallest_valid_epsilon,
)

__all__ = [
    "composed",
    "forest_delta",
    "forest_epsilon",
    "gamma",
    "kanon_delta",
    "largest_beta",
    "n_m",
    "smallest_epsilon",
    "smallest_k",
    "smallest_valid_epsilon",
]
