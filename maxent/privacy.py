"""Differential privacy of private random decision trees: epsilon and delta (Waseda et al. 2025)."""

from maxent.models.defenses.random_trees.accounting import (
    composed,
    gamma,
    kanon_delta,
    largest_beta,
    n_m,
    smallest_epsilon,
    smallest_k,
    smallest_valid_epsilon,
)
from maxent.models.defenses.random_trees.composition import forest_delta, forest_epsilon, optimally_composed

__all__ = [
    "composed",
    "forest_delta",
    "forest_epsilon",
    "gamma",
    "kanon_delta",
    "largest_beta",
    "n_m",
    "optimally_composed",
    "smallest_epsilon",
    "smallest_k",
    "smallest_valid_epsilon",
]
