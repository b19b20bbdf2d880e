"""Choices of error-risk pruning (Yang et al. 2019)."""

from __future__ import annotations

from typing import Literal

Rule = Literal["twig", "literal"]  # which branches compete to be pruned, see `maxent.models.defenses.error_risk.prune`
