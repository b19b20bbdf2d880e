"""Defenses as scikit-learn estimators, which publish what they learn, and as functions from release to release."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxent.models.defenses.erp import ERPTreeClassifier
    from maxent.models.defenses.kadet import KADETClassifier
    from maxent.models.defenses.plain import LeafPrunedTree, ParentPrunedTree, PlainTree
    from maxent.models.defenses.rdt import KAnonRandomTreesClassifier

__all__ = [
    "ERPTreeClassifier",
    "KADETClassifier",
    "KAnonRandomTreesClassifier",
    "LeafPrunedTree",
    "ParentPrunedTree",
    "PlainTree",
]

_MODULES = {
    "ERPTreeClassifier": "erp",
    "KADETClassifier": "kadet",
    "KAnonRandomTreesClassifier": "rdt",
    "LeafPrunedTree": "plain",
    "ParentPrunedTree": "plain",
    "PlainTree": "plain",
}


def __getattr__(name: str) -> Any:
    """Import an estimator when it is asked for: the functions do without scikit-learn."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
