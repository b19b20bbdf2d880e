"""Limits on what a release may disclose, and the verdict on what it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal

from maxent.models.errors import ARGUMENT, InvalidInput, Problem
from maxent.models.tables.frame import shorten
from maxent.models.text.arguments import is_number, is_whole, up_to_largest
from maxent.models.text.display import WIDTH, Display, Shown
from maxent.models.text.hints import as_share, close_to

if TYPE_CHECKING:
    from maxent.disclosure.mend import Mend

Status = Literal["pass", "fail", "cannot_tell", "not stated"]

Origin = Literal["estimate", "groups", "truth", "proof", "base"]
"""What a number comes from: the estimate, the leaves and groups of a release by themselves, the truth about them,
bounds over all data consistent with the release, or the base rate alone, which needs no release."""

HOW: Mapping[Origin, str] = {
    "estimate": "by the estimate",
    "groups": "by what their leaf or group proves",
    "truth": "by what is true in their leaf",
    "proof": "by proof",
    "base": "by the base rate alone",
}
"""How it is told what a number rests on."""

OTHERWISE: Mapping[tuple[str, Origin], str] = {
    ("min_k", "groups"): "by count",
    ("max_right_guesses", "truth"): "by the truth",
    ("max_lift", "truth"): "by the truth",
}
"""The same of limits that are not about single people."""

ADVERSARY = "table"
"""Who a verdict is about: somebody who has the published files and the table of the people."""

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
    "max_right_guesses": "share of right guesses",
    "max_lift": "right guesses above the base rate",
}
"""Limit -> what is limited."""

IDS: Mapping[str, str] = {
    "max_posterior": "MX201",
    "min_k": "MX107",
    "max_certain": "MX202",
    "max_right_guesses": "MX204",
    "max_lift": "MX205",
}
"""Limit -> the id of its check in `maxent.policy.checks`."""

NO_BASE = "as nothing states the base rate, which an adversary knows (--truth, --marginal or counts do)"
"""Why a limit that an estimate keeps is not known to be kept where it is made as if all classes were alike frequent."""

UNINFORMED = "the adversary is taken not to know the base rate"
"""What is said of a verdict where the call leaves out what everybody may know."""

SHARES = ("max_posterior", "max_right_guesses", "max_lift")
"""Limits that are shares, from 0 to 1; the others are numbers of individuals."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the decision maker on a release; None is no limit.

    ``max_posterior`` is the largest P(class | quasi-identifier) that may be inferred of anybody, a probability;
    ``min_k`` the least individuals that a group which the release does not tell apart may have (k-anonymity, as
    ``maxent audit`` measures it); ``max_certain`` the most individuals whose class may be certain.
    ``max_right_guesses`` is the largest share of all individuals whose class may be guessed right, and ``max_lift`` by
    how much that share may exceed the base rate, the share of the most frequent class.

    Raises
    ------
    InvalidInput
        Naming every limit that is out of its range.
    """

    max_posterior: float | None = None
    min_k: int | None = None
    max_certain: int | None = None
    max_right_guesses: float | None = None
    max_lift: float | None = None

    def __post_init__(self) -> None:
        problems = []
        for name in SHARES:
            most, kind = getattr(self, name), "a probability" if name == "max_posterior" else "a share"
            if most is not None and not (is_number(most) and 0 <= most <= 1):
                problems.append(Problem(ARGUMENT, name, f"{kind} from 0 to 1", shorten(most) + as_share(most)))
        for name, least in (("min_k", 1), ("max_certain", 0)):
            value = getattr(self, name)
            if value is not None and not is_whole(value, least):
                expected = up_to_largest(f"a number of individuals of at least {least}", value)
                problems.append(Problem(ARGUMENT, name, expected, shorten(value)))
        if problems:
            raise InvalidInput("limits", problems)
        for name in SHARES:
            if (most := getattr(self, name)) is not None:
                object.__setattr__(self, name, abs(most))  # -0.0 is 0

    @property
    def stated(self) -> bool:
        """Whether there is any limit."""
        return bool(self.as_dict())

    def as_dict(self) -> dict[str, float]:
        """The limits that are stated."""
        return {name: value for name in NAMES if (value := getattr(self, name)) is not None}


def limits_of(stated: Mapping[str, Any]) -> Limits:
    """Limits by name.

    Raises
    ------
    InvalidInput
        For a limit that there is not, or that is out of its range.
    """
    known = [each.name for each in fields(Limits)]
    problems = [
        Problem(ARGUMENT, name, f"a limit ({', '.join(known)})", f"{shorten(value)}{close_to(name, known)}")
        for name, value in stated.items()
        if name not in known
    ]
    if problems:
        raise InvalidInput("limits", problems)
    return Limits(**stated)


@dataclass(frozen=True, slots=True)
class Check:
    """One limit, what was found (None: it cannot be said) and where, and whether that is within it.

    ``possible`` is what published numbers allow to be found, None where that is no question. ``target`` is the one of
    several sensitive columns that this is found of, empty for what is found of all of them, or the only one.
    ``estimated`` is the number of the estimate beside one that is proved. ``unread`` is what
    follows, in words, from what the release states and no number rests on. ``base`` is what the base rate alone
    achieves; with ``baseless`` nothing states it, and then no limit on what is inferred is known to be kept.
    ``unproved`` says of proofs that may find more than the limit why they did not.
    """

    limit: str
    stated: float
    found: float | None
    status: Status
    origin: Origin
    possible: float | None = None
    target: str = ""
    estimated: float | None = None
    unread: str = ""
    base: float | None = None
    baseless: bool = False
    unproved: str = ""

    @property
    def how(self) -> str:
        """What the number rests on; empty where there is none."""
        if self.found is None:
            return ""
        beside = "" if self.estimated is None else f"({self._text(self.estimated)} by the estimate)"
        return f"{OTHERWISE.get((self.limit, self.origin), HOW[self.origin])} {beside}".strip()

    def as_dict(self) -> dict[str, Any]:
        """The check as plain numbers and strings."""
        names = ["limit", "stated", "found", "status", "origin", "possible"]
        names += ["target"] * bool(self.target) + ["estimated"] * (self.estimated is not None)
        names += ["base"] * self.hopeless
        return {name: getattr(self, name) for name in names}

    @property
    def hopeless(self) -> bool:
        """Whether the base rate alone is beyond the limit, so that no release can keep it."""
        return self.base is not None and self.base > self.stated

    @property
    def found_text(self) -> str:
        """A number for people, with enough decimals to differ from a limit that it is not equal to."""
        found = "not known" if self.found is None else self._text(self.found)
        return f"{found} ({self.target})" if self.target else found

    @property
    def stated_text(self) -> str:
        """The limit, for people."""
        return f"{self.stated:g}" if self.limit in SHARES else f"{self.stated:,.0f}"

    @property
    def why(self) -> str:
        """The reason for a status other than the number suggests; empty for none."""
        if self.found is None and self.limit != "min_k":
            return "as nothing states the base rate" if self._estimated_lift else "as the attacks alone do not tell"
        if self.unread and self.status != "fail":
            return self.unread
        if self.found is None or self.status == "pass":
            return ""
        if self.status == "cannot_tell" and self.baseless:
            return NO_BASE
        if self.hopeless and self.base is not None:
            return f"as the base rate alone comes to {self._text(self.base)}: no release can keep it"
        if self.status == "fail":
            near = self.found <= self.stated if self.limit != "min_k" else False
            return "within the error of computing it" if near else ""
        if self.origin == "estimate" and self.limit != "min_k" and self.found > self.stated:
            return "as the estimate is not to be relied on"
        if self.unproved:
            return f"as proofs that {self.unproved} may find up to {self._text(self.possible or 0.0)}"
        if self.possible is None or self.possible <= self.stated:
            return "as the estimate is not to be relied on"
        return f"as what is published allows {self._text(self.possible)}"

    @property
    def _estimated_lift(self) -> bool:
        """Whether there are right guesses, and only the base rate is missing."""
        return self.limit == "max_lift" and self.origin != "groups"

    def _text(self, value: float) -> str:
        """A number of this kind for people."""
        if self.limit not in SHARES:
            return f"{value:,.0f}"
        texts = (f"{value:.{digits}f}" for digits in (3, 4, 5, 6))
        return next((text for text in texts if _told_apart(text, value, self.stated)), f"{value:.3f}")


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on one release; ``decisive`` unless it is only what the others are compared with.

    ``beside``, where ``checks`` are about sensitive classes alone, are the same of all classes, which decide nothing.
    ``mend`` is what would pass, where a limit is not kept. ``no_marginal`` is whether the adversary is taken not to
    know the base rate.
    """

    release: str
    decisive: bool
    status: Status
    checks: tuple[Check, ...]
    beside: tuple[Check, ...] = ()
    mend: Mend | None = None
    no_marginal: bool = False

    @property
    def told(self) -> Iterator[tuple[str, Check]]:
        """Every check with the words for what it is about."""
        name = self.release if self.decisive else f"{self.release} (compared with only)"
        alone = ", sensitive classes" if self.beside else ""
        yield from ((f"{name}{alone}", check) for check in self.checks)
        yield from ((f"{name}, all classes (beside)", check) for check in self.beside)


@dataclass(frozen=True, slots=True, repr=False)
class Verdict(Shown):
    """The verdict on all releases: the worst of the decisive ones."""

    limits: Limits
    releases: tuple[Judged, ...]

    @property
    def status(self) -> Status:
        """``pass``, ``fail``, ``cannot_tell`` or ``not stated`` (there are no limits)."""
        found = [judged.status for judged in self.releases if judged.decisive]
        return worst(found) if found or not self.limits.stated else "cannot_tell"

    @property
    def passed(self) -> bool:
        """Whether every limit is kept for sure."""
        return self.status == "pass"

    @property
    def no_marginal(self) -> bool:
        """Whether the adversary is taken not to know the base rate."""
        return any(judged.no_marginal for judged in self.releases)

    def mended(self, by: Sequence[Callable[[Limits], Mend] | None]) -> Verdict:
        """The verdict with what would pass, of each release that it fails; ``by`` has a search for every release."""
        if self.status != "fail":
            return self
        failed = [judged.decisive and judged.status == "fail" for judged in self.releases]
        both = zip(self.releases, by, failed, strict=True)
        found = tuple(replace(j, mend=search(self.limits)) if search and beyond else j for j, search, beyond in both)
        return replace(self, releases=found)

    @property
    def summary(self) -> dict[str, Any]:
        """The key ``verdict`` of a JSON summary; empty where no limits are stated."""
        return {"verdict": self.as_dict()} if self.limits.stated else {}

    def as_dict(self) -> dict[str, Any]:
        """The verdict as plain numbers, strings, lists and dictionaries."""
        checks = [
            {
                "id": IDS[c.limit],
                "key": c.limit,
                "release": judged.release,
                "limit": c.stated,
                "found": c.found,
                "status": c.status,
            }
            for judged in self.releases
            if judged.decisive
            for c in judged.checks
        ]
        releases = [
            {
                "release": judged.release,
                "decisive": judged.decisive,
                "status": judged.status,
                "checks": [check.as_dict() for check in judged.checks],
                **({"all_classes": [check.as_dict() for check in judged.beside]} if judged.beside else {}),
                **({} if judged.mend is None else {"would_pass": judged.mend.as_dict()}),
            }
            for judged in self.releases
        ]
        left_out = {"marginal": False} if self.no_marginal else {}
        own = {"status": self.status, "adversary": ADVERSARY, "checks": checks}
        return {**own, "limits": self.limits.as_dict(), "releases": releases, **left_out}

    def _display(self) -> Display:
        head, *lines = self.lines() or [f"verdict: {WORDS['not stated']}"]
        rows = [
            (told, NAMES[c.limit], bound_of(c), _found_how(c), _status_why(c))
            for judged in self.releases
            for told, c in judged.told
        ]
        mends = [(judged.release, judged.mend) for judged in self.releases if judged.mend is not None]
        below = [f"{release}: what would pass: {mend.words}" for release, mend in mends]
        header = ("release", "limit", "stated", "found", "status")
        wrapped = [part for line in lines for part in wrap(line.strip(), WIDTH - 4, subsequent_indent="  ")]
        return Display(head, wrapped, header if rows else (), rows, below)

    def lines(self) -> list[str]:
        """The verdict as text, a line per limit; nothing where no limits are stated."""
        if self.status == "not stated":
            return []
        found = [f"verdict: {STATUS_WORDS[self.status]}, {WORDS[self.status]}"]
        for judged in self.releases:
            found += [f"  {told}: {in_words(check)}" for told, check in judged.told]
            if judged.mend is not None:
                found.append(f"  {judged.release}: what would pass: {judged.mend.words}")
        return [*found, f"  {UNINFORMED}"] if self.no_marginal else found


def in_words(check: Check) -> str:
    """``largest posterior 0.950 by the estimate, at most 0.9: beyond the limit``."""
    return f"{NAMES[check.limit]} {_found_how(check)}, {bound_of(check)}: {_status_why(check)}"


def _found_how(check: Check) -> str:
    """What was found, and how it is known."""
    return f"{check.found_text} {check.how}".strip()


def _status_why(check: Check) -> str:
    """The status, with its reason."""
    return CHECK_WORDS[check.status] + (f", {check.why}" if check.why else "")


def bound_of(check: Check) -> str:
    """``at most 0.9``."""
    return f"{'at least' if check.limit == 'min_k' else 'at most'} {check.stated_text}"


def _told_apart(text: str, value: float, stated: float) -> bool:
    """Whether a number as written is on the same side of a limit as it is itself."""
    written = float(text)
    return (written > stated) == (value > stated) and (written < stated) == (value < stated)


def worst(found: Sequence[Status]) -> Status:
    """The status of several checks together."""
    order: tuple[Status, ...] = ("fail", "cannot_tell", "pass")
    for status in order:
        if status in found:
            return status
    return "not stated"
