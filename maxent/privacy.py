"""What differential privacy guarantees for private random decision trees (Waseda et al. 2025)."""

from maxent.models.accounting import (
    composed,
    gamma,
    kanon_delta,
    largest_beta,
    smallest_epsilon,
    smallest_k,
    smallest_valid_epsilon,
)

__all__ = [
    "composed",
    "gamma",
    "kanon_delta",
    "largest_beta",
    "smallest_epsilon",
    "smallest_k",
    "smallest_valid_epsilon",
]
