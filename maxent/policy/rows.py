"""Rows of a checked release: each check with what was found; and what was asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from maxent.disclosure.limits import STATUS_WORDS, Status
from maxent.policy.checks.matter import Check, Finding


@dataclass(frozen=True, slots=True)
class Row:
    """A check of a policy, its limit, what was found, and the reason why it is off, empty where it counts."""

    check: Check
    limit: Any
    finding: Finding
    off: str = ""

    @property
    def status(self) -> Status:
        """What was found, whether it counts or not."""
        return self.finding.status

    def as_dict(self) -> dict[str, Any]:
        """The check as plain numbers and strings."""
        return {
            "id": self.check.id,
            "key": self.check.key,
            "title": self.check.title,
            "limit": self.limit,
            "found": self.finding.figure,
            "status": self.status,
            "said": self.finding.said,
            "off": self.off or None,
        }

    @property
    def line(self) -> str:
        """The check for people to read."""
        told = f"off ({self.off})" if self.off else STATUS_WORDS[self.status]
        said = self.finding.said.removeprefix(f"{self.check.title} ")
        said = said if said[:1].isdigit() else self.finding.said  # a number, else a sentence that needs its beginning
        return f"{self.check.title} ({self.check.id}) {told}: {said}"


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked of a check: paths by their role, options that change numbers, a title and a purpose."""

    paths: Mapping[str, Any]
    options: Mapping[str, Any]
    title: str = ""
    purpose: str = ""
