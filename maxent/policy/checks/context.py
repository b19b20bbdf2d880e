"""The input of checks: a reviewed release, and the statements of a policy about it beside limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any, Literal

from maxent.disclosure.ladder import REGISTERED, Rung
from maxent.disclosure.limits import CHECK_WORDS, Limits, Status, in_words, judge_rows
from maxent.models.display import FALSE
from maxent.results.solved import with_proved

if TYPE_CHECKING:
    from maxent.results.review import Review

Figure = float | int | str | None


@dataclass(frozen=True, eq=False)
class Matter:
    """A release that was reviewed, and the parts of a policy that checks need beside their limit.

    ``background`` are members of a leaf whose classes the adversary knows; ``files`` are none where the release is no
    file.
    """

    review: Review
    roles: Mapping[str, str] = field(default_factory=dict)
    background: int = 1
    files: tuple[str, ...] = ()

    @cached_property
    def row(self) -> Mapping[str, Any]:
        """The numbers of the review by the keys of `maxent.disclosure.measures`."""
        return self.review.row

    @property
    def reliable(self) -> bool:
        """Whether the estimate can be relied on."""
        return self.review.reliable

    @property
    def doubt(self) -> str:
        """Why an estimate that keeps a limit may not prove it: unreliable, or of less than is stated; else empty."""
        if not self.reliable:
            return "as the estimate is not to be relied on"
        return unread_doubt(self.row)


def unread_doubt(row: Mapping[str, Any]) -> str:
    """Why what is stated beside the numbers of a row may break a limit that they keep; empty where it does not."""
    unread = row.get("unread") or ()
    false = any(each.get("refuted") for each in unread)
    return f"as some of what is stated is {FALSE}" if false else "as more is stated than is read" if unread else ""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found: ``figure`` is None where it cannot be said, ``said`` a sentence without a stop."""

    status: Status
    figure: Figure
    said: str


@dataclass(frozen=True, slots=True)
class Limit:
    """The kind of limit that a check takes: what fits, in words, whether a value does, and one for an example."""

    expected: str
    fits: Callable[[Any], bool]
    example: Any


Judge = Callable[[Matter, Any], Finding]


@dataclass(frozen=True, slots=True)
class PolicyCheck:
    """A check of the registry.

    ``id``: ``MX101``; the first digit is the family. ``key``: its key in the table ``[limits]`` of a policy. ``title``:
    what is limited. ``judge``: what was found of a `Matter`, against a limit. ``what``, ``why``, ``source``, ``fix``:
    what is measured, why it matters, where the rule is from, and what to do where it fails. ``statbarn``: the class of
    outputs that it belongs to in the ontology of ACRO, empty for none.
    """

    id: str
    key: str
    title: str
    limit: Limit
    judge: Judge
    what: str
    why: str
    source: str
    fix: str
    statbarn: str = ""

    @property
    def statbarn_uri(self) -> str:
        """The URI of its class of outputs, or ``none``."""
        return f"https://www.w3id.org/statbarnsdc#{self.statbarn}" if self.statbarn else "none"


def within(
    name: str,
    low: float | None,
    high: float | None,
    limit: float,
    *,
    bound: Literal["at most", "at least"],
    sure: bool = True,
    why: str = "",
    by: str = "",
) -> Finding:
    """A finding about a number between two others; ``sure`` is whether one that seems to be within proves it."""
    least, most = -inf if low is None else low, inf if high is None else high
    kept, broken = (most <= limit, least > limit) if bound == "at most" else (least >= limit, most < limit)
    status: Status = "fail" if broken else "pass" if kept and sure else "cannot_tell"
    known = least == most
    figure = None if not known else int(least) if float(least).is_integer() else float(least)
    if known:
        found = number(least)
    elif least == -inf and most == inf:
        found = "not known"
    else:
        found = f"from {number(least)} to {number(most)}" if most < inf else f"{number(least)} or more"
    told = CHECK_WORDS[status] + (f", {why}" if why and status == "cannot_tell" else "")
    found += f" {by}" * bool(by)
    return Finding(status, figure, f"{name} {found}, {bound} {number(limit)}: {told}")


def unknown(name: str, why: str) -> Finding:
    """A finding that cannot be told."""
    return Finding("cannot_tell", None, f"{name} not known, as {why}")


def number(value: float) -> str:
    """A number for people."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.4g}"


def by_limit(name: str, *, proved: bool = False) -> Judge:
    """The judge of one of `maxent.disclosure.limits.Limits`; ``proved`` by bounds, where these were computed."""

    def judged(of: Matter, limit: Any) -> Finding:
        row = dict(of.row)
        if not of.reliable and row.get("status") == "optimal":  # the audit, or what private splits tell, is in doubt
            row["status"] = "not relied on"
        if proved and row.get("proved_least"):  # before an estimate that did not end
            row |= {"certain_proved": row["proved_least"], "certain_at_most": of.review.individuals}
        if proved and "certain_proved" not in row:
            return unknown("individuals whose class is proved", "nothing was proved")
        if not proved:
            row = {key: value for key, value in row.items() if key not in ("certain_proved", "certain_at_most")}
            if of.review.estimate is not None and not of.review.weaker:
                row = with_proved(of.review.estimate, of.review.estimate.proved(row, Limits(**{name: limit})))
        [judged] = judge_rows(Limits(**{name: limit}), [row]).releases
        worst = judged.checks[0]
        return Finding(worst.status, worst.found, in_words(worst))

    return judged


def about(rung: Rung, name: str) -> Finding:
    """What a limit on an adversary of the ladder found."""
    found = next((check for check in rung.checks if check.limit == name), None)
    if found is None or rung.figures.missing:
        return Finding("cannot_tell", None, f"not known, as {rung.why}")
    return Finding(found.status, found.found, in_words(found))


def by_register(name: str) -> Judge:
    """The judge of a limit that is always about the adversary with a register."""
    return lambda of, limit: about(of.review.rung(REGISTERED, Limits(**{name: limit})), name)


def is_whole(least: int) -> Callable[[Any], bool]:
    """Whether a value is a whole number of at least so many."""
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**53


def is_number(low: float, high: float) -> Callable[[Any], bool]:
    """Whether a value is a number within an interval."""
    return lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high


PEOPLE = Limit("a number of individuals of at least 0", is_whole(0), 0)
LEAVES = Limit("a number of at least 0", is_whole(0), 0)
GROUP = Limit("a number of individuals of at least 1", is_whole(1), 10)
SHARE = Limit("a share from 0 to 1", is_number(0, 1), 0.1)
YES = Limit("true", lambda value: value is True, True)
