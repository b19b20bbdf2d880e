"""The registry of checks: the one place where they are listed."""

from __future__ import annotations

from collections.abc import Mapping

from maxent.policy.checks import evidence, groups, inference, model_files, reliability
from maxent.policy.checks.context import PolicyCheck

# First digit of an id -> what its checks are about, and these.
FAMILIES: Mapping[str, tuple[str, tuple[PolicyCheck, ...]]] = {
    "1": ("Leaves and groups", groups.CHECKS),
    "2": ("Inference", inference.CHECKS),
    "3": ("Evidence", evidence.CHECKS),
    "4": ("The model's file", model_files.CHECKS),
    "5": ("Reliability", reliability.CHECKS),
}

# Id -> check, in order.
CHECKS: Mapping[str, PolicyCheck] = {check.id: check for _, checks in FAMILIES.values() for check in checks}

# Key of a limit -> check.
BY_KEY: Mapping[str, PolicyCheck] = {check.key: check for check in CHECKS.values()}
