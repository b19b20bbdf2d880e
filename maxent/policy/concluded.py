"""A verdict of which only the outcome counts: that of a check of a policy, or of a search within limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from maxent.disclosure.limits import WORDS, Status
from maxent.models.display import Display, Shown


@dataclass(frozen=True, eq=False, repr=False)
class Concluded(Shown):
    """A verdict: ``status`` as of `maxent.disclosure.limits.Verdict`, and what was checked, for people to read."""

    status: Status
    lines: Sequence[str] = ()
    checks: Sequence[dict[str, Any]] = ()

    @property
    def passed(self) -> bool:
        """Whether every limit is kept for sure."""
        return self.status == "pass"

    def as_dict(self) -> dict[str, Any]:
        """Plain strings, lists and dictionaries."""
        return {"status": self.status, "checks": [dict(each) for each in self.checks]}

    def _display(self) -> Display:
        return Display(f"verdict: {WORDS[self.status]}", self.lines, below=self.lines)
