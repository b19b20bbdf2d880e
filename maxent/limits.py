"""Limits on what a release may disclose, and the verdict on what it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from maxent.models.errors import InvalidInput, Problem

SLACK = 1e-6
"""Probabilities are computed: one that is larger than its limit by no more than this is within it."""

Status = Literal["pass", "fail", "unknown", "not stated"]

WORDS: Mapping[str, str] = {
    "pass": "within the stated limits",
    "fail": "beyond the stated limits",
    "unknown": "not known to be within the stated limits",
    "not stated": "no limits were stated",
}
"""Status -> what it says of a release."""

NAMES: Mapping[str, str] = {
    "max_posterior": "largest posterior",
    "min_k": "smallest group that is not told apart",
    "max_certain": "individuals whose class is certain",
}
"""Limit -> what is limited."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the decision maker asks of a release; None asks nothing.

    ``max_posterior`` is the largest P(class | quasi-identifier) that may be inferred of anybody, a probability;
    ``min_k`` the least individuals that a group which the release does not tell apart may have (k-anonymity, as
    ``maxent audit`` measures it); ``max_certain`` the most individuals whose class may be certain.

    Raises
    ------
    InvalidInput
        Naming every limit that is out of its range.
    """

    max_posterior: float | None = None
    min_k: int | None = None
    max_certain: int | None = None

    def __post_init__(self) -> None:
        ranges = (
            ("max_posterior", "a probability from 0 to 1", 0, 1),
            ("min_k", "a number of individuals of at least 1", 1, float("inf")),
            ("max_certain", "a number of individuals of at least 0", 0, float("inf")),
        )
        problems = [
            Problem("limit", name, expected, repr(value))
            for name, expected, low, high in ranges
            if (value := getattr(self, name)) is not None and not low <= value <= high
        ]
        if problems:
            raise InvalidInput("limits", problems)

    @property
    def stated(self) -> bool:
        """Whether there is any limit."""
        return bool(self.as_dict())

    def as_dict(self) -> dict[str, float]:
        """The limits that are stated."""
        return {name: value for name in NAMES if (value := getattr(self, name)) is not None}


@dataclass(frozen=True, slots=True)
class Check:
    """One limit, what was found (None: it cannot be said), and whether that is within it."""

    limit: str
    stated: float
    found: float | None
    status: Status


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on one release; ``decisive`` unless it is only what the others are compared with."""

    release: str
    decisive: bool
    status: Status
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on all releases: the worst of the decisive ones."""

    limits: Limits
    releases: tuple[Judged, ...]

    @property
    def status(self) -> Status:
        """``pass``, ``fail``, ``unknown`` (something could not be said) or ``not stated`` (there are no limits)."""
        found = [judged.status for judged in self.releases if judged.decisive]
        return _worst(found) if found or not self.limits.stated else "unknown"

    @property
    def passed(self) -> bool:
        """Whether every limit is kept for sure."""
        return self.status == "pass"

    @property
    def summary(self) -> dict[str, Any]:
        """What a verdict adds to a JSON summary, under the key ``verdict``; nothing where no limits are stated."""
        return {"verdict": self.as_dict()} if self.limits.stated else {}

    def as_dict(self) -> dict[str, Any]:
        """The verdict as plain numbers, strings, lists and dictionaries."""
        releases = [
            {
                "release": judged.release,
                "decisive": judged.decisive,
                "status": judged.status,
                "checks": [
                    {"limit": check.limit, "stated": check.stated, "found": check.found, "status": check.status}
                    for check in judged.checks
                ],
            }
            for judged in self.releases
        ]
        return {"status": self.status, "limits": self.limits.as_dict(), "releases": releases}

    def lines(self) -> list[str]:
        """The verdict as text, a line per limit; nothing where no limits are stated."""
        if self.status == "not stated":
            return []
        found = [f"verdict: {self.status.upper()}, {WORDS[self.status]}"]
        for judged in self.releases:
            told = judged.release if judged.decisive else f"{judged.release} (compared with only)"
            found += [f"  {told}: {in_words(check)}" for check in judged.checks]
        return found


def judge(
    limits: Limits,
    release: str,
    *,
    reliable: bool,
    max_posterior: float,
    certain: int,
    k: int | None,
    decisive: bool = True,
) -> Judged:
    """Hold what was found in one release against the limits.

    Parameters
    ----------
    limits : Limits
    release : str
        Its name.
    reliable : bool
        Whether the estimate can be relied on. If not, numbers that seem to be within a limit prove nothing.
    max_posterior, certain : float, int
        As in `maxent.disclosure.Disclosure`.
    k : int or None
        Individuals in the smallest group, None where it cannot be said.
    decisive : bool
        Whether the release counts for the verdict.
    """
    checks = []
    if limits.max_posterior is not None:
        within = max_posterior <= limits.max_posterior + SLACK
        checks.append(Check("max_posterior", limits.max_posterior, max_posterior, _status(within, reliable)))
    if limits.min_k is not None:
        status: Status = "unknown" if k is None else _status(k >= limits.min_k, sure=True)
        checks.append(Check("min_k", limits.min_k, k, status))
    if limits.max_certain is not None:
        checks.append(
            Check("max_certain", limits.max_certain, certain, _status(certain <= limits.max_certain, reliable))
        )
    return Judged(release, decisive, _worst([check.status for check in checks]), tuple(checks))


def judge_rows(limits: Limits, rows: Sequence[Mapping[str, Any]], of: int | None = None) -> Verdict:
    """The verdict on the rows of a `maxent.comparison.Comparison`; the first of several releases is not decisive.

    ``of`` is how many releases there were to be, if some were not reached.
    """
    judged = (
        judge(
            limits,
            row["release"],
            reliable=row["status"] == "optimal",
            max_posterior=row["max_posterior"],
            certain=row["certain"],
            k=row.get("min_population"),
            decisive=i > 0 or (of or len(rows)) == 1,
        )
        for i, row in enumerate(rows)
    )
    return Verdict(limits, tuple(judged))


def in_words(check: Check) -> str:
    """``largest posterior 1.000, at most 0.9: beyond the limit``."""
    form = "{:.3f}".format if check.limit == "max_posterior" else "{:,.0f}".format
    found = "not known" if check.found is None else form(check.found)
    bound = "at least" if check.limit == "min_k" else "at most"
    told = {"pass": "within the limit", "fail": "beyond the limit", "unknown": "cannot be said"}[check.status]
    return f"{NAMES[check.limit]} {found}, {bound} {check.stated:g}: {told}"


def _status(within: bool, sure: bool) -> Status:
    """What a comparison with a limit proves."""
    if not within:
        return "fail"
    return "pass" if sure else "unknown"


def _worst(found: Sequence[Status]) -> Status:
    """The status of several checks together."""
    order: tuple[Status, ...] = ("fail", "unknown", "pass")
    for status in order:
        if status in found:
            return status
    return "not stated"
