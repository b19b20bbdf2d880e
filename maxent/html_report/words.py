"""Names, numbers and explanations as a report writes them."""

from __future__ import annotations

from collections.abc import Mapping
from math import isinf

from maxent.disclosure.checked_arrays import TOLERANCE
from maxent.models.text.printable import printable

LONGEST = 160
"""Characters of a name or value that are shown; what is cut off ends in an ellipsis."""

WORTH: Mapping[str, str] = {
    "global": "Proved: no other distribution that agrees with the release claims less, so the numbers are those of the "
    "maximum-entropy estimate.",
    "gap": "The best answer that was found, with a proved bound on how far it can be from the optimum.",
    "local": "The best answer that was found; nothing is proved of how far it is from the optimum.",
    "none": "Not to be relied on: the numbers of this estimate prove nothing.",
}
"""Certificate of an estimate -> what it is worth."""


def shown(text: object) -> str:
    """A name or value for display: no control characters, and no longer than `LONGEST`."""
    words = printable(text)
    return words if len(words) <= LONGEST else words[: LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"


def number(value: float) -> str:
    """A value of a numeric attribute: all its digits, no more."""
    return f"{value:.15g}"


def rounded(value: float) -> str:
    """The end of an interval, with at most six digits or the three decimals that it is written with."""
    text = repr(value).removesuffix(".0")
    if "e" in text or len(text.partition(".")[2]) <= 3:
        return text
    if abs(value) < 1:
        return f"{value:.6g}"
    decimals = max(6 - len(text.lstrip("-").partition(".")[0]), 1)
    return f"{value:.{decimals}f}".rstrip("0").rstrip(".")


def percent(share: float) -> str:
    """A share as a percentage that is 0 or 100 only where the share is, but for the error of computing it."""
    if share < TOLERANCE or share > 1 - TOLERANCE:
        return f"{share:.0%}".replace("%", " %")
    return f"{min(max(100 * share, 0.1), 99.9):.1f} %"


def nats(value: float) -> str:
    """An entropy or a divergence."""
    return "infinite" if isinf(value) else f"{value:.4f} nats"


def plural(count: int, noun: str, nouns: str = "") -> str:
    """A number with its noun: ``1 person``, ``2,000 people``."""
    return f"1 {noun}" if count == 1 else f"{count:,} {nouns or noun + 's'}"


def people(count: int) -> str:
    """A number of people."""
    return plural(count, "person", "people")
