"""maxent: what a published decision tree discloses about the people behind it.

The names below are loaded when first used, so that ``import maxent`` (and ``maxent --help``) stays instant.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxent.attacks.audited import Audit as Audit
    from maxent.auditing import audit as audit
    from maxent.auditing import audit_release as audit_release
    from maxent.auditing_records import audit_records as audit_records
    from maxent.benching import BenchResult as BenchResult
    from maxent.benching import bench as bench
    from maxent.comparing import compare as compare
    from maxent.comparison import Comparison as Comparison
    from maxent.defended import Defended as Defended
    from maxent.defending import defend as defend
    from maxent.engine import estimate as estimate
    from maxent.models.errors import InvalidInput as InvalidInput
    from maxent.models.errors import MaxentError as MaxentError
    from maxent.models.from_sklearn import from_sklearn as from_sklearn
    from maxent.models.inducers import c45 as c45
    from maxent.models.inducers import cart as cart
    from maxent.models.inducers import id3 as id3
    from maxent.models.reader import load_release as load_release
    from maxent.models.release import Release as Release
    from maxent.result import Estimate as Estimate
    from maxent.sweeping import Sweep as Sweep
    from maxent.sweeping import sweep as sweep

_HOME = {
    "Audit": "maxent.attacks.audited",
    "audit": "maxent.auditing",
    "audit_records": "maxent.auditing_records",
    "audit_release": "maxent.auditing",
    "BenchResult": "maxent.benching",
    "bench": "maxent.benching",
    "Comparison": "maxent.comparison",
    "compare": "maxent.comparing",
    "Defended": "maxent.defended",
    "defend": "maxent.defending",
    "Estimate": "maxent.result",
    "estimate": "maxent.engine",
    "InvalidInput": "maxent.models.errors",
    "MaxentError": "maxent.models.errors",
    "from_sklearn": "maxent.models.from_sklearn",
    "c45": "maxent.models.inducers",
    "cart": "maxent.models.inducers",
    "id3": "maxent.models.inducers",
    "load_release": "maxent.models.reader",
    "Release": "maxent.models.release",
    "Sweep": "maxent.sweeping",
    "sweep": "maxent.sweeping",
}

_MODULES = ("disclosure", "privacy")
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
