"""Checks 3xx: disclosure about the people of a release beyond general knowledge about others."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from maxent.policy.checks.context import SHARE, Finding, Matter, PolicyCheck, unknown, within

if TYPE_CHECKING:
    from maxent.disclosure.baseline import Interval

NO_CONTROL = "there are no control people (--truth and --control)"
BESIDE = "statements divide members further, and not control people"
WP216 = "Article 29 Working Party, Opinion 05/2014 (WP216), section 2.2.1; Giomi et al., Anonymeter (2023)"
_GUESSES = "by guesses of the estimate"
FIX = "As for the checks 2xx. More control people make the interval narrower."


def _beyond(name: str, interval: Interval | None, by: str, of: Matter, limit: float) -> Finding:
    """A finding about a difference: beyond the limit, or within it, only if the whole interval is."""
    if interval is None:
        missing = NO_CONTROL if of.review.estimate is None or of.review.estimate.control is None else BESIDE
        return unknown(name, of.review.unsolved or missing)
    low, high = interval
    why = of.doubt or "as the limit is inside the interval"
    return within(name, low, high, limit, bound="at most", sure=not of.doubt, why=why, by=by)


def _control(of: Matter, limit: float) -> Finding:
    estimate = of.review.estimate
    found = None if estimate is None else estimate.control
    name = "hit rate of members above that of control people"
    return _beyond(name, None if found is None else found.interval, _GUESSES, of, limit)


def _risk(key: str, name: str, of: Matter, limit: float) -> Finding:
    estimate = of.review.estimate
    found = None if estimate is None or estimate.wp216 is None else estimate.wp216.named[key].interval
    by = _GUESSES if key == "inference" else "by count"
    return _beyond(f"{name} of members above that of control people", found, by, of, limit)


_TWO = (
    " The limit is on the difference, an interval of it: the check passes if all of it is within, fails if all of it "
    "is beyond, and cannot be told otherwise."
)

_OF_TREES = "Nor with statements beside trees, by which control people are not grouped."

# The checks of this family.
CHECKS = (
    PolicyCheck(
        "MX301", "max_beyond_control", "hit rate of members above that of control people", SHARE, _control,
        "How much more often the same guesses are right about the people of the release than about people like them "
        f"who were not in the data. Needs --truth and --control.{_TWO}",
        "What is not beyond other people the release teaches about everybody: it is what models are for.",
        "Jayaraman and Evans (2022); docs/evidence.md.",
        FIX,
    ),
    PolicyCheck(
        "MX302", "max_singling_out", "singling out, above control people", SHARE,
        partial(_risk, "singling_out", "singling out"),
        f"The share of people who are alone in their group. Needs --truth and --control.{_TWO} {_OF_TREES}",
        "Who is alone can be pointed at, whatever else is known of them.",
        WP216,
        FIX,
    ),
    PolicyCheck(
        "MX303", "max_linkability", "linkability, above control people", SHARE,
        partial(_risk, "linkability", "linkability"),
        "The expected share of people who are linked with their own record. Needs --truth and --control."
        f"{_TWO} {_OF_TREES}",
        "Records that can be linked add up.",
        WP216,
        FIX,
    ),
    PolicyCheck(
        "MX304", "max_inference", "inference, above control people", SHARE,
        partial(_risk, "inference", "right guesses"),
        f"The share of people whose class is guessed right. Needs --truth and --control.{_TWO}",
        "It is the third risk that anonymisation has to rule out.",
        WP216,
        FIX,
    ),
)  # fmt: skip
