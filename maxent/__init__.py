"""maxent: what a published decision tree discloses about the people behind it.

The names below are loaded when first used, so that ``import maxent`` (and ``maxent --help``) stays instant.

Whatever is wrong with an argument or a file is an `InvalidInput`, of every function and method here: it names every
problem and its place, and nothing is left half written.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxent.advice.advise import advise as advise
    from maxent.advice.result import Advice as Advice
    from maxent.api.attack import audit_records as audit_records
    from maxent.api.audit import audit as audit
    from maxent.api.audit import audit_release as audit_release
    from maxent.api.bench import bench as bench
    from maxent.api.bounds import bounds as bounds
    from maxent.api.check import check as check
    from maxent.api.compare import compare as compare
    from maxent.api.convert import convert as convert
    from maxent.api.defend import defend as defend
    from maxent.api.export import export as export
    from maxent.api.posterior import estimate as estimate
    from maxent.api.predict import Predicted as Predicted
    from maxent.api.predict import predict as predict
    from maxent.api.reconstruct import reconstruct as reconstruct
    from maxent.api.review import review as review
    from maxent.api.strip import strip as strip
    from maxent.api.successive import compare_releases as compare_releases
    from maxent.api.verify import verify as verify
    from maxent.models.errors import InvalidInput as InvalidInput
    from maxent.models.errors import MaxentError as MaxentError
    from maxent.models.errors import UnreliableResult as UnreliableResult
    from maxent.models.formats.registry import load_release as load_release
    from maxent.models.formats.scikit_learn.tree import from_sklearn as from_sklearn
    from maxent.models.formats.stripping import Stripped as Stripped
    from maxent.models.formats.writers.classifier import ReleaseClassifier as ReleaseClassifier
    from maxent.models.induction.inducers import c45 as c45
    from maxent.models.induction.inducers import cart as cart
    from maxent.models.induction.inducers import id3 as id3
    from maxent.models.reading import Reading as Reading
    from maxent.models.release import Release as Release
    from maxent.policy.checked import Checked as Checked
    from maxent.policy.model_card import model_card as model_card
    from maxent.policy.verified import Verified as Verified
    from maxent.results.audit import Audit as Audit
    from maxent.results.bench import BenchResult as BenchResult
    from maxent.results.bounds import ProvedBounds as ProvedBounds
    from maxent.results.comparison import Comparison as Comparison
    from maxent.results.defended import Defended as Defended
    from maxent.results.difference import ReleaseDifference as ReleaseDifference
    from maxent.results.estimate import Estimate as Estimate
    from maxent.results.reconstruction import Reconstruction as Reconstruction
    from maxent.results.review import Review as Review
    from maxent.results.review import SeveralReviews as SeveralReviews
    from maxent.studies.sweep import Sweep as Sweep
    from maxent.studies.sweep import sweep as sweep

_HOME = {
    "Advice": "maxent.advice.result",
    "advise": "maxent.advice.advise",
    "Audit": "maxent.results.audit",
    "audit": "maxent.api.audit",
    "audit_records": "maxent.api.attack",
    "audit_release": "maxent.api.audit",
    "BenchResult": "maxent.results.bench",
    "bench": "maxent.api.bench",
    "bounds": "maxent.api.bounds",
    "ProvedBounds": "maxent.results.bounds",
    "Checked": "maxent.policy.checked",
    "check": "maxent.api.check",
    "Comparison": "maxent.results.comparison",
    "compare": "maxent.api.compare",
    "compare_releases": "maxent.api.successive",
    "ReleaseDifference": "maxent.results.difference",
    "convert": "maxent.api.convert",
    "Defended": "maxent.results.defended",
    "defend": "maxent.api.defend",
    "Estimate": "maxent.results.estimate",
    "estimate": "maxent.api.posterior",
    "export": "maxent.api.export",
    "InvalidInput": "maxent.models.errors",
    "MaxentError": "maxent.models.errors",
    "from_sklearn": "maxent.models.formats.scikit_learn.tree",
    "c45": "maxent.models.induction.inducers",
    "cart": "maxent.models.induction.inducers",
    "id3": "maxent.models.induction.inducers",
    "load_release": "maxent.models.formats.registry",
    "model_card": "maxent.policy.model_card",
    "Predicted": "maxent.api.predict",
    "predict": "maxent.api.predict",
    "Reading": "maxent.models.reading",
    "Reconstruction": "maxent.results.reconstruction",
    "reconstruct": "maxent.api.reconstruct",
    "Review": "maxent.results.review",
    "SeveralReviews": "maxent.results.review",
    "review": "maxent.api.review",
    "Release": "maxent.models.release",
    "ReleaseClassifier": "maxent.models.formats.writers.classifier",
    "strip": "maxent.api.strip",
    "Stripped": "maxent.models.formats.stripping",
    "Sweep": "maxent.studies.sweep",
    "sweep": "maxent.studies.sweep",
    "Verified": "maxent.policy.verified",
    "verify": "maxent.api.verify",
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
