"""Limits on what a release may disclose, and the verdict on what it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from maxent.models.errors import InvalidInput, Problem

SLACK = 1e-6
"""Probabilities are computed: one that is larger than its limit by no more than this is within it."""

Status = Literal["pass", "fail", "unknown", "not stated"]

Origin = Literal["estimate", "groups"]
"""What a number comes from: the estimate, or what the leaves and groups of a release prove by themselves."""

PROVED = "by what their leaf or group proves"
"""How a number that comes from groups, and is worse than that of the estimate, is told."""

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
    """One limit, what was found (None: it cannot be said) and where, and whether that is within it."""

    limit: str
    stated: float
    found: float | None
    status: Status
    origin: Origin

    @property
    def proved(self) -> bool:
        """Whether groups prove a worse number than the estimate has."""
        return self.origin == "groups" and self.limit != "min_k"

    def as_dict(self) -> dict[str, Any]:
        """The check as plain numbers and strings."""
        return {name: getattr(self, name) for name in ("limit", "stated", "found", "status", "origin")}


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
                "checks": [check.as_dict() for check in judged.checks],
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
    exposed: int | None,
    k: int | None,
    decisive: bool = True,
) -> Judged:
    """Hold what was found in one release against the limits: the worse of what the estimate says and groups prove.

    An estimate alone would not do: a leaf of one person with a label, for instance, gives their class away, while the
    maximum-entropy estimate, which knows shares and no whole people, may leave it in doubt.

    Parameters
    ----------
    limits : Limits
    release : str
        Its name.
    reliable : bool
        Whether the estimate can be relied on. If not, numbers that seem to be within a limit prove nothing.
    max_posterior, certain : float, int
        As in `maxent.disclosure.Disclosure`.
    exposed : int or None
        Individuals whose leaf or group has a single class, as `maxent.audit` finds them; None where it cannot be said.
    k : int or None
        Individuals in the smallest group, None where it cannot be said.
    decisive : bool
        Whether the release counts for the verdict.
    """
    checks = []
    sure = reliable and exposed is not None
    if limits.max_posterior is not None:
        worse, origin = worse_posterior(max_posterior, exposed)
        status = _status(worse <= limits.max_posterior + SLACK, sure)
        checks.append(Check("max_posterior", limits.max_posterior, worse, status, origin))
    if limits.min_k is not None:
        status = "unknown" if k is None else _status(k >= limits.min_k, sure=True)
        checks.append(Check("min_k", limits.min_k, k, status, "groups"))
    if limits.max_certain is not None:
        most, origin = worse_certain(certain, exposed)
        status = _status(most <= limits.max_certain, sure)
        checks.append(Check("max_certain", limits.max_certain, most, status, origin))
    return Judged(release, decisive, _worst([check.status for check in checks]), tuple(checks))


def worse_certain(certain: int, exposed: int | None) -> tuple[int, Origin]:
    """Individuals whose class is certain, by the estimate or by what groups prove, whichever are more."""
    return (exposed, "groups") if exposed is not None and exposed > certain else (certain, "estimate")


def worse_posterior(max_posterior: float, exposed: int | None) -> tuple[float, Origin]:
    """The largest posterior: 1 where groups prove somebody's class, else that of the estimate."""
    return (1.0, "groups") if exposed and max_posterior < 1 - SLACK else (max_posterior, "estimate")


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
            exposed=row.get("exposed"),
            k=row.get("min_population"),
            decisive=i > 0 or (of or len(rows)) == 1,
        )
        for i, row in enumerate(rows)
    )
    return Verdict(limits, tuple(judged))


def in_words(check: Check) -> str:
    """``largest posterior 0.950, at most 0.9: beyond the limit``."""
    form = "{:.3f}".format if check.limit == "max_posterior" else "{:,.0f}".format
    found = "not known" if check.found is None else form(check.found)
    found += f" {PROVED}" if check.proved else ""
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
