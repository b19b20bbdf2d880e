"""The content of a report as frozen values, with the names, numbers and explanations that it shows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import isinf
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from maxent.disclosure.inference import NodeDisclosure
from maxent.disclosure.limits import WITH, Judged, Verdict, draws_of, proved_in, worse_certain
from maxent.disclosure.measures import TOLERANCE, Better
from maxent.models.errors import printable
from maxent.models.files.output import check_outputs, write_text
from maxent.models.files.result_files import REPORT

if TYPE_CHECKING:
    from maxent.disclosure.ladder import Rung


@dataclass(frozen=True, slots=True)
class Number:
    """One number of a release.

    ``value`` may be ``inf``; ``text`` is how it is written, and ``share`` its bar, from 0 to 1, None for none. ``unit``
    and ``better`` are those of its measure; ``says`` explains the number in plain language.
    """

    key: str
    title: str
    value: float
    text: str
    share: float | None
    unit: str
    better: Better
    says: str


@dataclass(frozen=True, slots=True)
class Person:
    """A quasi-identifier, its (attribute, value) pairs, and what is inferred of it; a divergence needs the truth."""

    values: tuple[tuple[str, str], ...]
    count: int
    label: str
    probability: float
    divergence: float | None
    proved: tuple[float, float] | None = None

    @property
    def certain(self) -> bool:
        """Whether the class is proved."""
        return self.proved is not None and self.proved[0] >= 1


@dataclass(frozen=True, slots=True)
class Said:
    """One constraint of a node: its kind and its words."""

    kind: str
    says: str


@dataclass(frozen=True, slots=True)
class NodeView:
    """A place of a tree.

    ``condition`` is what the way to it says of the ``attribute`` that the node above splits by (empty for the root),
    and ``title`` the last branch alone, on a card. ``stated`` is what the release says of it, ``distribution`` the
    classes of its people as the adversary estimates them (empty where nobody is), ``people`` the quasi-identifiers most
    exposed there, as indices of `ReleaseView.people`, of ``quasi_identifiers`` in all;
    ``constraints`` come from it, and ``more`` are not listed.
    """

    name: str
    kind: Literal["leaf", "node", "removed leaf"]
    parent: int
    children: tuple[int, ...]
    attribute: str
    condition: str
    title: str
    stated: tuple[str, ...]
    disclosed: NodeDisclosure
    distribution: tuple[float, ...]
    quasi_identifiers: int
    people: tuple[int, ...]
    constraints: tuple[Said, ...]
    more: int


@dataclass(frozen=True, slots=True)
class TreeView:
    """A tree as the list of its places, the root first."""

    name: str
    nodes: tuple[NodeView, ...]


@dataclass(frozen=True, slots=True)
class ReleaseView:
    """The content of a report on one release.

    ``baseline`` is the share of right guesses without the release, the base rate where that is known; ``blind`` says
    that in words, and of a uniform guess; ``trees`` are
    those that are drawn, ``undrawn`` the number of the others. ``row`` is that of a `Comparison`. ``risks`` are those
    of WP216, where the truth is known; ``sensitive`` are classes, and the measures of these alone; ``stakes``
    are about a gain matrix. ``records`` says whether generalised records are published, ``uncertain`` whether somebody
    may be in one of several leaves (or rows), and so is counted in each of them.
    """

    name: str
    defense: str
    target: str
    classes: tuple[str, ...]
    attributes: tuple[str, ...]
    individuals: int
    quasi_identifiers: int
    baseline: float
    row: Mapping[str, object]
    measures: tuple[Number, ...]
    risks: tuple[Number, ...]
    sensitive: tuple[str, tuple[Number, ...]]
    stakes: tuple[Number, ...]
    blind: str
    exposed: tuple[Person, ...]
    people: tuple[Person, ...]
    trees: tuple[TreeView, ...]
    undrawn: int
    records: bool
    uncertain: bool
    constraints: tuple[tuple[str, int, str], ...]
    reliable: bool
    worth: str
    solver: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    contradictions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Glance:
    """The first page about a release: figures, the price of protection, and what is assumed, a sentence each."""

    release: str
    figures: tuple[Number, ...]
    price: tuple[str, ...]
    assumed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that was read: what for, its name, bytes and SHA-256."""

    role: str
    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Provenance:
    """Provenance of a report; ``created`` is a time in UTC, ``command`` how to make it again."""

    created: str
    command: str
    versions: tuple[tuple[str, str], ...]
    options: tuple[tuple[str, str], ...]
    inputs: tuple[InputFile, ...]


@dataclass(frozen=True, slots=True)
class ReportView:
    """A whole report: one release, or several that are compared with the first."""

    title: str
    purpose: str
    verdict: Verdict
    releases: tuple[ReleaseView, ...]
    interrupted: bool
    notes: tuple[str, ...]
    provenance: Provenance
    ladder: tuple[Rung, ...] = ()

    @property
    def compared(self) -> bool:
        """Whether there is more than one release."""
        return len(self.releases) > 1

    @property
    def found(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Status -> names of the releases with it, of those that the verdict concerns; exceeded limits first."""
        names: dict[str, list[str]] = {"fail": [], "cannot_tell": [], "pass": []}
        for judged in self.verdict.releases:
            if judged.decisive and judged.status in names:
                names[judged.status].append(judged.release)
        return tuple((status, tuple(found)) for status, found in names.items() if found)

    @property
    def decision(self) -> str:
        """The meaning of the verdict for the publisher."""
        status, decisive = self.verdict.status, [judged for judged in self.verdict.releases if judged.decisive]
        if status == "pass":
            return f"{self.verdict.announced.partition(',')[0]}: every number that was asked for is within its limit."
        if status == "not stated":
            return ""
        if len(decisive) > 1:
            some = any(judged.status == "pass" for judged in decisive)
            return f"{'Not every' if some else 'No'} release may be published as it is."
        if status == "fail":
            return "As it is, this release discloses more than it may."
        return (
            "Something could not be computed, cannot be relied on, or is not bounded by the numbers that are "
            "published; this is no permission to publish."
        )

    @property
    def within(self) -> str:
        """Why people who can be guessed are within limits all the same; empty where nothing has to be said."""
        limits, status = self.verdict.limits, self.verdict.status
        return within_words(self.releases[-1].row, status, limits.max_posterior, unproved_of(self.ladder))

    @property
    def decisive(self) -> tuple[tuple[ReleaseView, Judged], ...]:
        """The releases that the verdict is about, each with its own."""
        both = zip(self.releases, self.verdict.releases, strict=True)
        return tuple((release, judged) for release, judged in both if judged.decisive)


# Names, numbers and explanations as a report writes them.

# Characters of a name or value that are shown; what is cut off ends in an ellipsis.
LONGEST = 160

# Certificate of an estimate -> what it is worth.
WORTH: Mapping[str, str] = {
    "global": "Proved: no other distribution that agrees with the release claims less, so the numbers are those of the "
    "maximum-entropy estimate.",
    "gap": "The best answer that was found, with a proved bound on how far it can be from the optimum.",
    "local": "The best answer that was found; nothing is proved of how far it is from the optimum.",
    "none": "Not to be relied on: the numbers of this estimate prove nothing.",
}


def shown(text: object, longest: int = LONGEST) -> str:
    """A name or value for display: no control characters, and no longer than that."""
    words = printable(text)
    return words if len(words) <= longest else words[: longest - 1] + "\N{HORIZONTAL ELLIPSIS}"


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


def distance(value: float) -> str:
    """A divergence from the truth."""
    return "infinite" if isinf(value) else f"{value:.4f}"


def plural(count: int, noun: str, nouns: str = "") -> str:
    """A number with its noun: ``1 person``, ``2,000 people``."""
    return f"1 {noun}" if count == 1 else f"{count:,} {nouns or noun + 's'}"


def people(count: int) -> str:
    """A number of people."""
    return plural(count, "person", "people")


def unproved_of(ladder: Sequence[Rung]) -> str:
    """Why proofs do not tell whether somebody is certain for whom the estimate is about; empty where they do."""
    own = (rung.figures for rung in ladder if rung.adversary in ("table", "rows") and not rung.figures.missing)
    return next((figures.unproved for figures in own), "")


def within_words(row: Mapping[str, Any], status: str, limit: float | None, unproved: str = "") -> str:
    """Why people who can be guessed are within limits all the same, a sentence; empty where nothing has to be said."""
    surest, (certain, _) = row.get("max_posterior"), worse_certain(row.get("certain"), *proved_in(row))
    if status != "pass" or not isinstance(surest, float) or certain:
        return ""
    allowed = "no limit is stated on the largest probability" if limit is None else f"the limit is {percent(limit)}"
    nobody = (
        f"and by the estimate no class is certain; {unproved}"
        if unproved
        else "and no class is certain to this adversary"
    )
    right, first = row.get("right_guesses"), "The surest guess about anybody"
    told = ""
    if right is not None and right > surest + TOLERANCE:  # whoever asks the model guesses what it answers
        first, told = f"By the estimate {first[:1].lower()}{first[1:]}", f"; in truth {percent(right)} of guesses are"
    return (
        f"{first}, by an adversary with {WITH[draws_of(row).adversary]}, is right with "
        f"{percent(surest)}{told}. That is within the limits: {allowed}, "
        f"{nobody}. A guess, however good, is an inference; a limit says how good it may be."
    )


# A short report of a result that has no estimate to draw.

BRIEF = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="generator" content="maxent"><title>{title}</title>
<style>body{{font-family:sans-serif;max-width:60em;margin:2em auto}}pre{{white-space:pre-wrap}}</style>
</head><body><h1>{title}</h1>
<p>{purpose}</p>
<pre>{lines}</pre></body></html>
"""


def save_brief(path: str | PathLike[str], title: str, lines: Sequence[str], purpose: str = "") -> None:
    """Write a short report, of a result that has no estimate to draw: a title and lines, one .html file."""
    check_report(path)
    shown = "\n".join(escape(printable(line)) for line in lines)
    write_text(path, BRIEF.format(title=escape(printable(title)), purpose=escape(printable(purpose)), lines=shown))


def check_report(path: str | PathLike[str]) -> None:
    """Refuse a place where no report can be written, with an InvalidInput."""
    check_outputs({"report": (os.fspath(path), REPORT)})
