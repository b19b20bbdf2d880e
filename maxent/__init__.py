"""maxent: what a published decision tree discloses about the people behind it.

The names below are loaded when first used, so that ``import maxent`` (and ``maxent --help``) stays instant.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxent.advice.result import Advice as Advice
    from maxent.api.adversary.audit import audit as audit
    from maxent.api.adversary.audit import audit_release as audit_release
    from maxent.api.adversary.audit_records import audit_records as audit_records
    from maxent.api.adversary.bounds import bounds as bounds
    from maxent.api.adversary.estimate import estimate as estimate
    from maxent.api.adversary.reconstruct import reconstruct as reconstruct
    from maxent.api.comparisons.bench import bench as bench
    from maxent.api.comparisons.compare import compare as compare
    from maxent.api.comparisons.successive import compare_releases as compare_releases
    from maxent.api.decisions.advise import advise as advise
    from maxent.api.decisions.check import check as check
    from maxent.api.decisions.review import review as review
    from maxent.api.decisions.verify import verify as verify
    from maxent.api.parts.by_leaf.audit import audit_in_parts as audit_in_parts
    from maxent.api.parts.by_leaf.audit_result import AuditInParts as AuditInParts
    from maxent.api.parts.by_leaf.bounds import bounds_in_parts as bounds_in_parts
    from maxent.api.parts.by_leaf.bounds_result import BoundsInParts as BoundsInParts
    from maxent.api.parts.estimate import estimate_in_parts as estimate_in_parts
    from maxent.api.parts.result import EstimateInParts as EstimateInParts
    from maxent.api.releases.convert import convert as convert
    from maxent.api.releases.defend import defend as defend
    from maxent.api.releases.export import export as export
    from maxent.api.releases.predict import Predicted as Predicted
    from maxent.api.releases.predict import predict as predict
    from maxent.attacks.audit import Audit as Audit
    from maxent.gates.model_card import model_card as model_card
    from maxent.models.errors import InvalidInput as InvalidInput
    from maxent.models.errors import MaxentError as MaxentError
    from maxent.models.errors import UnreliableResult as UnreliableResult
    from maxent.models.formats.registry import load_release as load_release
    from maxent.models.formats.scikit_learn.tree import from_sklearn as from_sklearn
    from maxent.models.induction.inducers import c45 as c45
    from maxent.models.induction.inducers import cart as cart
    from maxent.models.induction.inducers import id3 as id3
    from maxent.models.reading import Reading as Reading
    from maxent.models.release import Release as Release
    from maxent.models.writers.classifier import ReleaseClassifier as ReleaseClassifier
    from maxent.policy.checked import Checked as Checked
    from maxent.policy.verified import Verified as Verified
    from maxent.rebuilt.reconstruction import Reconstruction as Reconstruction
    from maxent.results.bench import BenchResult as BenchResult
    from maxent.results.bounds import ProvedBounds as ProvedBounds
    from maxent.results.comparison import Comparison as Comparison
    from maxent.results.defended import Defended as Defended
    from maxent.results.estimate import Estimate as Estimate
    from maxent.results.review import Review as Review
    from maxent.results.several import SeveralReviews as SeveralReviews
    from maxent.studies.sweep import Sweep as Sweep
    from maxent.studies.sweep import sweep as sweep
    from maxent.successive.difference import ReleaseDifference as ReleaseDifference

_HOME = {
    "Advice": "maxent.advice.result",
    "advise": "maxent.api.decisions.advise",
    "Audit": "maxent.attacks.audit",
    "audit": "maxent.api.adversary.audit",
    "audit_in_parts": "maxent.api.parts.by_leaf.audit",
    "AuditInParts": "maxent.api.parts.by_leaf.audit_result",
    "audit_records": "maxent.api.adversary.audit_records",
    "audit_release": "maxent.api.adversary.audit",
    "BenchResult": "maxent.results.bench",
    "bench": "maxent.api.comparisons.bench",
    "bounds": "maxent.api.adversary.bounds",
    "bounds_in_parts": "maxent.api.parts.by_leaf.bounds",
    "BoundsInParts": "maxent.api.parts.by_leaf.bounds_result",
    "ProvedBounds": "maxent.results.bounds",
    "Checked": "maxent.policy.checked",
    "check": "maxent.api.decisions.check",
    "Comparison": "maxent.results.comparison",
    "compare": "maxent.api.comparisons.compare",
    "compare_releases": "maxent.api.comparisons.successive",
    "ReleaseDifference": "maxent.successive.difference",
    "convert": "maxent.api.releases.convert",
    "Defended": "maxent.results.defended",
    "defend": "maxent.api.releases.defend",
    "Estimate": "maxent.results.estimate",
    "estimate": "maxent.api.adversary.estimate",
    "estimate_in_parts": "maxent.api.parts.estimate",
    "EstimateInParts": "maxent.api.parts.result",
    "export": "maxent.api.releases.export",
    "InvalidInput": "maxent.models.errors",
    "MaxentError": "maxent.models.errors",
    "from_sklearn": "maxent.models.formats.scikit_learn.tree",
    "c45": "maxent.models.induction.inducers",
    "cart": "maxent.models.induction.inducers",
    "id3": "maxent.models.induction.inducers",
    "load_release": "maxent.models.formats.registry",
    "model_card": "maxent.gates.model_card",
    "Predicted": "maxent.api.releases.predict",
    "predict": "maxent.api.releases.predict",
    "Reading": "maxent.models.reading",
    "Reconstruction": "maxent.rebuilt.reconstruction",
    "reconstruct": "maxent.api.adversary.reconstruct",
    "Review": "maxent.results.review",
    "SeveralReviews": "maxent.results.several",
    "review": "maxent.api.decisions.review",
    "Release": "maxent.models.release",
    "ReleaseClassifier": "maxent.models.writers.classifier",
    "Sweep": "maxent.studies.sweep",
    "sweep": "maxent.studies.sweep",
    "Verified": "maxent.policy.verified",
    "verify": "maxent.api.decisions.verify",
    "UnreliableResult": "maxent.models.errors",
}

_MODULES = ("datasets", "disclosure", "mlflow", "privacy")
"""Modules that ``import maxent`` gives, too."""

__all__ = sorted(_HOME)
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _MODULES:
        return import_module(f"maxent.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_HOME, *_MODULES]
