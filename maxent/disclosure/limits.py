"""Limits on what a release may disclose, and the verdict on what it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from maxent.disclosure.checked_arrays import TOLERANCE, at_most
from maxent.models.errors import ARGUMENT, InvalidInput, Problem
from maxent.models.tables.frame import shorten
from maxent.models.text.arguments import is_number, is_whole, up_to_largest

Status = Literal["pass", "fail", "cannot_tell", "not stated"]

Origin = Literal["estimate", "groups"]
"""What a number comes from: the estimate, or what the leaves and groups of a release prove by themselves."""

PROVED = "by what their leaf or group proves"
"""How a number that comes from groups, and is worse than that of the estimate, is told."""

WORDS: Mapping[str, str] = {
    "pass": "within the stated limits",
    "fail": "beyond the stated limits",
    "cannot_tell": "not known to be within the stated limits",
    "not stated": "no limits were stated",
}
"""Status -> what it says of a release."""

STATUS_WORDS: Mapping[str, str] = {"pass": "PASS", "fail": "FAIL", "cannot_tell": "CANNOT TELL"}
"""Status of a verdict -> how it is announced."""

CHECK_WORDS: Mapping[str, str] = {
    "pass": "within the limit",
    "fail": "beyond the limit",
    "cannot_tell": "cannot tell",
}
"""Status of one check -> what it says."""

NAMES: Mapping[str, str] = {
    "max_posterior": "largest posterior",
    "min_k": "smallest group that is not told apart",
    "max_certain": "individuals whose class is certain",
}
"""Limit -> what is limited."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the decision maker on a release; None is no limit.

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
        problems = []
        most = self.max_posterior
        if most is not None and not (is_number(most) and 0 <= most <= 1):
            problems.append(Problem(ARGUMENT, "max_posterior", "a probability from 0 to 1", shorten(most)))
        for name, least in (("min_k", 1), ("max_certain", 0)):
            value = getattr(self, name)
            if value is not None and not is_whole(value, least):
                expected = up_to_largest(f"a number of individuals of at least {least}", value)
                problems.append(Problem(ARGUMENT, name, expected, shorten(value)))
        if problems:
            raise InvalidInput("limits", problems)
        if most is not None:
            object.__setattr__(self, "max_posterior", abs(most))  # -0.0 is 0

    @property
    def stated(self) -> bool:
        """Whether there is any limit."""
        return bool(self.as_dict())

    def as_dict(self) -> dict[str, float]:
        """The limits that are stated."""
        return {name: value for name in NAMES if (value := getattr(self, name)) is not None}


@dataclass(frozen=True, slots=True)
class Check:
    """One limit, what was found (None: it cannot be said) and where, and whether that is within it.

    ``possible`` is what published numbers allow to be found, None where that is no question.
    """

    limit: str
    stated: float
    found: float | None
    status: Status
    origin: Origin
    possible: float | None = None

    @property
    def proved(self) -> bool:
        """Whether groups prove a worse number than the estimate has."""
        return self.origin == "groups" and self.limit != "min_k"

    def as_dict(self) -> dict[str, Any]:
        """The check as plain numbers and strings."""
        return {name: getattr(self, name) for name in ("limit", "stated", "found", "status", "origin", "possible")}

    @property
    def found_text(self) -> str:
        """A number for people, with enough decimals to differ from a limit that it is not equal to."""
        return "not known" if self.found is None else self._text(self.found)

    @property
    def stated_text(self) -> str:
        """The limit, for people."""
        return f"{self.stated:g}" if self.limit == "max_posterior" else f"{self.stated:,.0f}"

    @property
    def why(self) -> str:
        """The reason for a status other than the number suggests; empty for none."""
        if self.found is None or self.status == "pass":
            return ""
        if self.status == "fail":
            near = self.found <= self.stated if self.limit != "min_k" else False
            return "within the error of computing it" if near else ""
        if self.possible is None or self.possible <= self.stated:
            return "as the estimate is not to be relied on"
        return f"as what is published allows {self._text(self.possible)}"

    def _text(self, value: float) -> str:
        """A number of this kind for people."""
        if self.limit != "max_posterior":
            return f"{value:,.0f}"
        texts = (f"{value:.{digits}f}" for digits in (3, 4, 5, 6))
        return next((text for text in texts if _told_apart(text, value, self.stated)), f"{value:.3f}")


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
        """``pass``, ``fail``, ``cannot_tell`` or ``not stated`` (there are no limits)."""
        found = [judged.status for judged in self.releases if judged.decisive]
        return _worst(found) if found or not self.limits.stated else "cannot_tell"

    @property
    def passed(self) -> bool:
        """Whether every limit is kept for sure."""
        return self.status == "pass"

    @property
    def summary(self) -> dict[str, Any]:
        """The key ``verdict`` of a JSON summary; empty where no limits are stated."""
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
        found = [f"verdict: {STATUS_WORDS[self.status]}, {WORDS[self.status]}"]
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
    surest: float | None = None,
    possible_posterior: float | None = None,
    possible_certain: int | None = None,
    decisive: bool = True,
) -> Judged:
    """The verdict on one release: the worse of what follows from the estimate and from groups.

    An estimate alone would not do: a leaf of one person with a label, for instance, gives their class away, while the
    maximum-entropy estimate, which knows shares and no whole people, may leave it in doubt. Nor does an estimate that
    rests on no numbers: of a leaf with a label alone it claims one half, whatever is in it. So a limit is kept only if
    it also is as far as published numbers allow.

    Parameters
    ----------
    limits : Limits
    release : str
        Its name.
    reliable : bool
        Whether the estimate can be relied on. If not, numbers that seem to be within a limit prove nothing.
    max_posterior, certain : float, int
        As in `maxent.disclosure.summary.Disclosure`.
    exposed : int or None
        Individuals whose leaf or group has a single class, as `maxent.audit` finds them; None where it cannot be said.
    k : int or None
        Individuals in the smallest group, None where it cannot be said.
    surest, possible_posterior, possible_certain : float, float, int; optional
        As in `maxent.disclosure.summary.Disclosure`; by default what was found, with the error of computing a
        probability.
    decisive : bool
        Whether the release counts for the verdict.
    """
    checks = []
    sure = reliable and exposed is not None
    if limits.max_posterior is not None:
        worse, origin = worse_posterior(max_posterior, exposed)
        most = 1.0 if origin == "groups" else float(at_most(max_posterior)) if surest is None else surest
        possible = max(most, possible_posterior or 0.0)
        status = _status(most, possible, limits.max_posterior, sure)
        checks.append(Check("max_posterior", limits.max_posterior, worse, status, origin, possible))
    if limits.min_k is not None:
        kept: Status = "cannot_tell" if k is None else "pass" if k >= limits.min_k else "fail"
        checks.append(Check("min_k", limits.min_k, k, kept, "groups"))
    if limits.max_certain is not None:
        many, origin = worse_certain(certain, exposed)
        possible = max(many, possible_certain or 0)
        status = _status(many, possible, limits.max_certain, sure)
        checks.append(Check("max_certain", limits.max_certain, many, status, origin, possible))
    return Judged(release, decisive, _worst([check.status for check in checks]), tuple(checks))


def worse_certain(certain: int, exposed: int | None) -> tuple[int, Origin]:
    """Individuals whose class is certain, by the estimate or by what groups prove, whichever are more."""
    return (exposed, "groups") if exposed is not None and exposed > certain else (certain, "estimate")


def worse_posterior(max_posterior: float, exposed: int | None) -> tuple[float, Origin]:
    """The largest posterior: 1 where groups prove somebody's class, else that of the estimate."""
    return (1.0, "groups") if exposed and max_posterior < 1 - TOLERANCE else (max_posterior, "estimate")


def judge_rows(limits: Limits, rows: Sequence[Mapping[str, Any]], of: int | None = None) -> Verdict:
    """The verdict on the rows of a comparison; the first of several releases is not decisive.

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
            **{key: row.get(key) for key in ("surest", "possible_posterior", "possible_certain")},
            decisive=i > 0 or (of or len(rows)) == 1,
        )
        for i, row in enumerate(rows)
    )
    return Verdict(limits, tuple(judged))


def in_words(check: Check) -> str:
    """``largest posterior 0.950, at most 0.9: beyond the limit``."""
    found = check.found_text + (f" {PROVED}" if check.proved else "")
    bound = "at least" if check.limit == "min_k" else "at most"
    told = CHECK_WORDS[check.status] + (f", {check.why}" if check.why else "")
    return f"{NAMES[check.limit]} {found}, {bound} {check.stated_text}: {told}"


def _told_apart(text: str, value: float, stated: float) -> bool:
    """Whether a number as written is on the same side of a limit as it is itself."""
    written = float(text)
    return (written > stated) == (value > stated) and (written < stated) == (value < stated)


def _status(found: float, possible: float, stated: float, sure: bool) -> Status:
    """The status that a comparison with a limit proves."""
    if found > stated:
        return "fail"
    return "pass" if sure and possible <= stated else "cannot_tell"


def _worst(found: Sequence[Status]) -> Status:
    """The status of several checks together."""
    order: tuple[Status, ...] = ("fail", "cannot_tell", "pass")
    for status in order:
        if status in found:
            return status
    return "not stated"
