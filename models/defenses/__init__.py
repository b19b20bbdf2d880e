"""Defenses: methods by name, scikit-learn estimators, functions from release to release, and privacy accounting."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxent.models.defenses.estimators import (
        ERPTreeClassifier,
        KADETClassifier,
        KAnonRandomTreesClassifier,
        LeafPrunedTree,
        OptimalSubtree,
        ParentPrunedTree,
        PlainTree,
    )

__all__ = [
    "ERPTreeClassifier",
    "KADETClassifier",
    "KAnonRandomTreesClassifier",
    "LeafPrunedTree",
    "OptimalSubtree",
    "ParentPrunedTree",
    "PlainTree",
]

_MODULES = {
    "ERPTreeClassifier": "estimators",
    "KADETClassifier": "estimators",
    "KAnonRandomTreesClassifier": "estimators",
    "LeafPrunedTree": "estimators",
    "OptimalSubtree": "estimators",
    "ParentPrunedTree": "estimators",
    "PlainTree": "estimators",
}


def __getattr__(name: str) -> Any:
    """Import an estimator when it is asked for: the functions do without scikit-learn."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
