"""Limits on disclosure: the verdict on a release, and the cheapest change with which it would pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from math import inf
from textwrap import wrap
from typing import Any, Literal, Protocol

from maxent.disclosure.measures import TOLERANCE, at_most
from maxent.models.arguments import is_number, is_whole, shorten, up_to_largest
from maxent.models.defenses.method import CERTAIN
from maxent.models.display import FALSE, WIDTH, Display, Shown, counted, leaves_in
from maxent.models.errors import ARGUMENT, InvalidInput, Problem
from maxent.models.hints import as_share, close_to
from maxent.models.release import Release

Status = Literal["pass", "fail", "cannot_tell", "not stated"]
# What a number comes from: the estimate, the leaves and groups of a release by themselves, the truth about them, bounds
# over all data consistent with the release, or the base rate alone, which needs no release.
Origin = Literal["estimate", "groups", "truth", "proof", "base"]

# How it is told what a number rests on.
HOW: Mapping[Origin, str] = {
    "estimate": "by the estimate",
    "groups": "by what their leaf or group proves",
    "truth": "by what is true in their leaf",
    "proof": "by proof",
    "base": "by the base rate alone",
}

# The same of limits that are not about single people.
OTHERWISE: Mapping[tuple[str, Origin], str] = {
    ("min_k", "groups"): "by count",
    ("max_right_guesses", "truth"): "by the truth",
    ("max_lift", "truth"): "by the truth",
}

# Who a verdict is about: somebody who has the published files and the table of the people, perhaps in training order.
ADVERSARY, ORDERED = "table", "rows"
# Adversary of the ladder (`maxent.disclosure.ladder`) -> what it has, in short.
WITH: Mapping[str, str] = {
    "predictions": "the predictions",
    "population": "a register of the population",
    ADVERSARY: "the table",
    ORDERED: "the rows in training order",
    "all_but_one": "the class of everybody else",
}

# Status -> what it says of a release.
WORDS: Mapping[str, str] = {
    "pass": "within the stated limits",
    "fail": "beyond the stated limits",
    "cannot_tell": "not known to be within the stated limits",
    "not stated": "no limits were stated",
}

# Status of a verdict -> how it is announced.
STATUS_WORDS: Mapping[str, str] = {"pass": "PASS", "fail": "FAIL", "cannot_tell": "CANNOT TELL"}

# Status of an adversary -> the same of a verdict.
_STATED: Mapping[str, Status] = {
    "pass": "pass",
    "fail": "fail",
    "cannot_tell": "cannot_tell",
    "not_assessed": "not stated",
}

# Status of one check -> what it says.
CHECK_WORDS: Mapping[str, str] = {
    "pass": "within the limit",
    "fail": "beyond the limit",
    "cannot_tell": "cannot tell",
}

# Limit -> what is limited.
NAMES: Mapping[str, str] = {
    "max_posterior": "largest posterior",
    "min_k": "smallest group that is not told apart",
    "max_certain": "individuals whose class is certain",
    "max_right_guesses": "share of right guesses",
    "max_lift": "right guesses above the base rate",
    "max_member": "largest probability of being in the data",
}

# The same where a page begins: plain words, with the term in brackets.
PLAIN: Mapping[str, str] = {**NAMES, "max_posterior": "surest guess about anybody (largest posterior)"}

# Limit -> the id of its check in `maxent.policy.checks`.
IDS: Mapping[str, str] = {
    "max_posterior": "MX201",
    "min_k": "MX107",
    "max_certain": "MX202",
    "max_right_guesses": "MX204",
    "max_lift": "MX205",
    "max_member": "MX209",
}

# What every verdict with limits, and every policy, asks beside them: its name and the id of its check.
NO_DRAWS, NO_DRAWS_ID = "no_draws", "MX406"

# Why a limit that an estimate keeps is not known to be kept where it is made as if all classes were alike frequent.
NO_BASE = "as nothing states the base rate, which an adversary knows (--truth, --marginal or counts do)"
# What is said of a verdict where the call leaves out what everybody may know.
UNINFORMED = "the adversary is taken not to know the base rate"
# Limits that are shares, from 0 to 1; the others are numbers of individuals.
SHARES = ("max_posterior", "max_right_guesses", "max_lift", "max_member")
# The shares that are probabilities of one person.
PROBABILITIES = ("max_posterior", "max_member")


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the decision maker on a release; None is no limit.

    ``max_posterior`` is the largest P(class | quasi-identifier) that may be inferred of anybody, a probability;
    ``min_k`` the least individuals that a group which the release does not tell apart may have (k-anonymity, as
    ``maxent audit`` measures it); ``max_certain`` the most individuals whose class may be certain.
    ``max_right_guesses`` is the largest share of all individuals whose class may be guessed right, and ``max_lift`` by
    how much that share may exceed the base rate, the share of the most frequent class. ``max_member`` is the largest
    P(member) of anybody in a register.
    """

    max_posterior: float | None = None
    min_k: int | None = None
    max_certain: int | None = None
    max_right_guesses: float | None = None
    max_lift: float | None = None
    max_member: float | None = None

    def __post_init__(self) -> None:
        problems = []
        for name in SHARES:
            most, kind = getattr(self, name), "a probability" if name in PROBABILITIES else "a share"
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
    """Limits by name."""
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
class LimitCheck:
    """One limit, what was found (None: it cannot be said) and where, and whether that is within it.

    ``possible`` is what published numbers allow to be found, None where that is no question. ``target`` is the one of
    several sensitive columns that this is found of, empty for what is found of all of them, or the only one.
    ``estimated`` is the number of the estimate beside one that is proved. ``unread`` is what
    follows, in words, from what the release states and no number rests on. ``base`` is what the base rate alone
    achieves; with ``baseless`` nothing states it, and then no limit on what is inferred is known to be kept.
    ``unproved`` says of proofs that may find more than the limit why they did not. ``source`` is the statement beside
    trees that a number comes from.
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
    source: str = ""

    @property
    def how(self) -> str:
        """What the number rests on; empty where there is none."""
        if self.found is None:
            return ""
        other = self.estimated is not None and self.estimated != self.found
        beside = f"({self._text(self.estimated or 0.0)} by the estimate)" * other
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
            if self.limit == "max_member":
                return "as there are no figures of a register of people (--population)"
            return "as nothing states the base rate" if self._estimated_lift else "as the attacks alone do not tell"
        if self.unread and self.status != "fail":
            return self.unread
        if self.found is None or self.status == "pass":
            return ""
        if self.status == "cannot_tell" and self.baseless:
            return NO_BASE
        if self.hopeless and self.base is not None:
            return f"as the base rate alone comes to {self._text(self.base)}: no release can keep it"
        if self.status == "fail" and self.source:
            return f"as {self.source} tells them apart"
        if self.status == "fail":
            near = self.found <= self.stated if self.limit != "min_k" else False
            return "within the error of computing it" if near else ""
        if self.origin == "estimate" and self.limit != "min_k" and self.found > self.stated:
            return "as the estimate is not to be relied on"
        if self.unproved:
            return f"as proofs that {self.unproved} may find up to {self._text(self.possible or 0.0)}"
        if self.possible is None or self.possible <= self.stated:
            return "as the estimate is not to be relied on"
        more = ", leaf by leaf: `maxent bounds --population` may prove less" * (self.limit == "max_member")
        return f"as what is published allows {self._text(self.possible)}{more}"

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
class Reached:
    """How far an adversary comes who has computed draws: of ``people``, whose class follows; None where not known.

    ``first`` is the first of those whose class is proved, as ``worst`` of a ladder has a person.
    """

    people: int = 0
    determined: int | None = None
    proved: int | None = None
    why: str = ""
    first: Mapping[str, Any] | None = None

    @property
    def words(self) -> str:
        """The same for people."""
        told = []
        if self.determined is not None:
            told.append(f"the classes of {self.determined:,} of {self.people:,} people are determined by equations")
        if self.proved is not None:
            told.append(f"{self.proved:,}{'' if told else f' of {self.people:,} people'} proved")
        return ", ".join([*told, *[self.why] * bool(self.why)])

    def as_dict(self) -> dict[str, Any]:
        """The same as plain numbers and strings."""
        return {"people": self.people, "determined": self.determined, "proved": self.proved, "why": self.why}


# Why proofs may find more than they did, and no more is known of one who was not tried to the end.
LATE = "did not end"
UNENDED = "not ended in the time that there was"
NO_PROGRAMS = (
    "without linear programs, by which `maxent bounds --rows` with the class totals (--marginal) may prove more"
)
# An adversary who has not been tried, as no table in training order is known.
UNTRIED = Reached(why="not tried")
NOT_FOLLOWED = Reached(why="not tried, as draws are not followed from what is kept")


@dataclass(frozen=True, slots=True)
class NoDraws:
    """Whether it follows from what is published who was drawn for each tree, which no verdict passes over (MX406).

    ``told`` is what tells it, in words, empty where nothing does. ``unproved`` is where it is not known whether
    anything does, ``unknown`` the reason why nobody knows the order of the rows, which takes the check back. ``rows``
    and ``unordered`` are how far an adversary comes who knows the rows in training order, and one who only has the
    table. ``adversary`` is which of them the numbers beside are about.
    """

    told: str = ""
    unproved: str = ""
    unknown: str = ""
    adversary: str = ADVERSARY
    rows: Reached = UNTRIED
    unordered: Reached = UNTRIED

    @property
    def status(self) -> Status:
        """What is found, whether it counts or not."""
        return "fail" if self.told else "cannot_tell" if self.unproved else "pass"

    @property
    def counts(self) -> bool:
        """Whether it counts for the verdict."""
        return not (self.unknown and self.told)

    @property
    def said(self) -> str:
        """What was found, a sentence without a stop."""
        if not self.told:
            if self.unproved:
                return f"it cannot be told whether the file tells who was drawn for each tree: {self.unproved}"
            return "nothing that is published tells who was drawn for each tree"
        reached = f"rows in order: {self.rows.words}; order unknown: {self.unordered.words}"
        return f"who was drawn follows from the file, by {self.told}; {reached}"

    @property
    def words(self) -> str:
        """The same with its status."""
        if not self.counts:
            return f"{self.said}: taken back, as {UNORDERED}: {self.unknown}"
        way = f" ({WAY_OUT})" if self.told else ""
        return f"{self.said}: {CHECK_WORDS[self.status]}{way}"

    def as_dict(self) -> dict[str, Any]:
        """The key ``draws`` of a release in a JSON verdict."""
        return {"told": self.told, "rows": self.rows.as_dict(), "unordered": self.unordered.as_dict()}

    def check(self, release: str) -> dict[str, Any]:
        """The entry of the key ``checks`` of a JSON verdict."""
        own = {"id": NO_DRAWS_ID, "key": NO_DRAWS, "release": release, "limit": True, "found": self.rows.proved}
        return {**own, "status": self.status, **({} if self.counts else {"off": self.unknown})}


# Who knows the table and not which row of the training data is whose, and what to publish in place of draws.
UNORDERED = "the order of the rows is taken to be unknown"


def unordered(reason: str) -> str:
    """Whom a verdict is about where nobody knows the order of rows."""
    return f"the adversary knows the table, and {UNORDERED}: {reason}"


WAY_OUT = "publish it without them, as `maxent strip` does: then only whoever finds the seed by trying learns the draws"


def published_words(format: str) -> str:
    """What a verdict is about where another format is published than that of the model."""
    return f"judged as published in the format {format}, without what that has no place for"


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on one release; ``decisive`` unless it is only what the others are compared with.

    ``draws`` is what every verdict asks beside its limits. ``beside``, where ``checks`` are about sensitive classes
    alone, are the same of all classes, which decide nothing. ``mend`` is what would pass, where a limit is not kept.
    ``no_marginal`` is whether the adversary is taken not to know the base rate, ``named`` whether limits name others.
    """

    release: str
    decisive: bool
    status: Status
    checks: tuple[LimitCheck, ...]
    beside: tuple[LimitCheck, ...] = ()
    mend: Mend | None = None
    no_marginal: bool = False
    draws: NoDraws = field(default_factory=NoDraws)
    named: bool = False

    @property
    def asked(self) -> bool:
        """Whether any limit is stated, on whichever adversary."""
        return self.named or bool(self.checks)

    def reaching(self, rows: Reached, unordered: Reached) -> Judged:
        """The same with how far adversaries come who compute draws."""
        return replace(self, draws=replace(self.draws, rows=rows, unordered=unordered))

    @property
    def all_checks(self) -> Iterator[dict[str, Any]]:
        """The checks as the key ``checks`` of a JSON verdict has them, that of draws after those of limits."""
        for c in self.checks:
            own = {"id": IDS[c.limit], "key": c.limit, "release": self.release, "limit": c.stated}
            yield {**own, "found": c.found, "status": c.status}
        if self.asked:
            yield self.draws.check(self.release)

    @property
    def name(self) -> str:
        """What it is called in a line of the verdict."""
        return self.release if self.decisive else f"{self.release} (compared with only)"

    @property
    def drawn(self) -> list[str]:
        """Its name, where there is something to be said of draws."""
        return [self.name] * bool(self.asked and self.draws.status != "pass")

    @property
    def told(self) -> Iterator[tuple[str, LimitCheck]]:
        """Every check with the words for what it is about."""
        name = self.name
        alone = ", sensitive classes" if self.beside else ""
        yield from ((f"{name}{alone}", check) for check in self.checks)
        yield from ((f"{name}, all classes (beside)", check) for check in self.beside)


class OnLadder(Protocol):
    """An adversary whom limits name, as `maxent.disclosure.ladder.Rung` has it."""

    @property
    def release(self) -> str: ...
    @property
    def adversary(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def told_checks(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def said(self) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True, repr=False)
class Verdict(Shown):
    """The verdict on all releases: the worst of the decisive ones, and of other adversaries that limits name."""

    limits: Limits
    releases: tuple[Judged, ...]
    rungs: tuple[OnLadder, ...] = ()

    @property
    def status(self) -> Status:
        """``pass``, ``fail``, ``cannot_tell`` or ``not stated`` (there are no limits)."""
        found = [judged.status for judged in self.releases if judged.decisive]
        if self.rungs:  # whoever of them is within limits: a file that tells draws is never passed
            drawn = [j.draws for j in self.releases if j.decisive and j.draws.counts]
            return worst([*found, *(_STATED[rung.status] for rung in self.rungs), *(each.status for each in drawn)])
        return worst(found) if found or not self.limits.stated else "cannot_tell"

    @property
    def announced(self) -> str:
        """``PASS for an adversary with the table, within the stated limits``."""
        return announced(self.status, self.adversaries)

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
        broken = [any(check.status == "fail" for check in judged.checks) for judged in self.releases]
        failed = [judged.decisive and beyond for judged, beyond in zip(self.releases, broken, strict=True)]
        both = zip(self.releases, by, failed, strict=True)
        found = tuple(replace(j, mend=search(self.limits)) if search and beyond else j for j, search, beyond in both)
        return replace(self, releases=found)

    def reached(self, by: Sequence[Callable[[], tuple[Reached, Reached]] | None]) -> Verdict:
        """The verdict with how far adversaries come who compute draws: ``by`` has a call for every release."""
        both = zip(self.releases, by, strict=True)
        found = tuple(
            judged.reaching(*call()) if call and judged.asked and judged.draws.told else judged for judged, call in both
        )
        return replace(self, releases=found)

    @property
    def rows_unknown(self) -> str:
        """Why the adversary does not know the order of the rows; empty where they may."""
        return next((judged.draws.unknown for judged in self.releases if judged.draws.unknown), "")

    @property
    def adversaries(self) -> tuple[str, ...]:
        """Whom the verdict is about: for whom it is what it is, all whom limits name where none of them decides."""
        own = next((j.draws.adversary for j in self.releases if j.draws.adversary != ADVERSARY), ADVERSARY)
        found = [(own, worst([j.status for j in self.releases if j.decisive]))] * self.limits.stated
        found += [(rung.adversary, _STATED[rung.status]) for rung in self.rungs]
        return by_status(self.status, found) or (own,)

    @property
    def adversary(self) -> str:
        """The first of them."""
        return self.adversaries[0]

    @property
    def summary(self) -> dict[str, Any]:
        """The key ``verdict`` of a JSON summary; empty where no limits are stated."""
        return {"verdict": self.as_dict()} if self.limits.stated or self.rungs else {}

    def as_dict(self) -> dict[str, Any]:
        """The verdict as plain numbers, strings, lists and dictionaries."""
        checks = [each for judged in self.releases if judged.decisive for each in judged.all_checks]
        releases = [
            {
                "release": judged.release,
                "decisive": judged.decisive,
                "status": judged.status,
                "checks": [check.as_dict() for check in judged.checks],
                **({"all_classes": [check.as_dict() for check in judged.beside]} if judged.beside else {}),
                **({} if judged.mend is None else {"would_pass": judged.mend.as_dict()}),
                **({"draws": judged.draws.as_dict()} if judged.draws.told else {}),
            }
            for judged in self.releases
        ]
        left_out: dict[str, Any] = {"marginal": False} if self.no_marginal else {}
        left_out |= {"rows": "unknown", "rows_reason": self.rows_unknown} if self.rows_unknown else {}
        for rung in self.rungs:
            checks += [dict(check) for check in rung.told_checks]
        whom = {"adversary": self.adversary, "adversaries": list(self.adversaries)}
        own = {"status": self.status, **whom, "checks": checks}
        return {**own, "limits": self.limits.as_dict(), "releases": releases, **left_out}

    def _display(self) -> Display:
        head, *lines = self.lines() or [f"verdict: {WORDS['not stated']}"]
        rows = [
            (told, NAMES[c.limit], bound_of(c), _found_how(c), _status_why(c))
            for judged in self.releases
            for told, c in judged.told
        ]
        mends = [(judged.release, judged.mend) for judged in self.releases if judged.mend is not None]
        below = [f"{name}: {judged.draws.words}" for judged in self.releases for name in judged.drawn]
        below += [f"{release}: what would pass: {mend.words}" for release, mend in mends]
        header = ("release", "limit", "stated", "found", "status")
        wrapped = [part for line in lines for part in wrap(line.strip(), WIDTH - 4, subsequent_indent="  ")]
        return Display(head, wrapped, header if rows else (), rows, below)

    def lines(self) -> list[str]:
        """The verdict as text, a line per limit; nothing where no limits are stated."""
        if self.status == "not stated":
            return []
        found = [f"verdict: {self.announced}"]
        for judged in self.releases:
            found += [f"  {told}: {in_words(check)}" for told, check in judged.told]
            found += [f"  {name}: {judged.draws.words}" for name in judged.drawn]
            if judged.mend is not None:
                found.append(f"  {judged.release}: what would pass: {judged.mend.words}")
        for rung in self.rungs:
            whose = f"{rung.release}, for " * (len(self.releases) > 1)
            found += [f"  {whose}{WITH[rung.adversary]}: {said}" for said in rung.said]
        found += [f"  {unordered(self.rows_unknown)}"] * bool(self.rows_unknown)
        return [*found, f"  {UNINFORMED}"] if self.no_marginal else found


def by_status(status: Status, found: Sequence[tuple[str, Status]]) -> tuple[str, ...]:
    """The adversaries with a status; all where none has it, as what decides is about nobody in particular."""
    return tuple(dict.fromkeys([name for name, its in found if its == status] or [name for name, _ in found]))


def announced(status: Status, adversaries: Sequence[str]) -> str:
    """A status in words; that something passes, with the adversaries for whom it does."""
    if status == "not stated":
        return WORDS[status].capitalize()
    if status != "pass" or not adversaries:
        return f"{STATUS_WORDS[status]}, {WORDS[status]}"
    first, *others = (WITH[name] for name in adversaries)
    whom = ", and ".join([f"an adversary with {first}", *(f"one with {other}" for other in others)])
    return f"{STATUS_WORDS[status]} for {whom}, {WORDS[status]}"


def in_words(check: LimitCheck) -> str:
    """``largest posterior 0.950 by the estimate, at most 0.9: beyond the limit``."""
    return f"{NAMES[check.limit]} {_found_how(check)}, {bound_of(check)}: {_status_why(check)}"


def _found_how(check: LimitCheck) -> str:
    """What was found, and how it is known."""
    return f"{check.found_text} {check.how}".strip()


def _status_why(check: LimitCheck) -> str:
    """The status, with its reason."""
    return CHECK_WORDS[check.status] + (f", {check.why}" if check.why else "")


def bound_of(check: LimitCheck) -> str:
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


# What would pass: the cheapest change of a release that was found, with which it keeps the limits.


@dataclass(frozen=True, slots=True)
class Mend:
    """A subtree of a release that keeps limits which the release does not, or why none is offered.

    ``reason``: why none is offered; empty where one is. ``release``: the subtree, judged as the release was.
    ``leaves``: of the release, and of the subtree. ``accuracy``: the shares of records with the class that their leaf
    predicts, before and after. ``cut``: ids of the nodes that become leaves. ``unstated``: whether the release states
    what splits were chosen by, and the subtree does not. ``proved``: whether no subtree that keeps the limits is right
    for more records. ``limits``: those of `maxent defend optimal`.
    """

    reason: str = ""
    release: Release | None = None
    leaves: tuple[int, int] = (0, 0)
    accuracy: tuple[float, float] = (0.0, 0.0)
    cut: tuple[str, ...] = ()
    unstated: bool = False
    proved: bool = False
    limits: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The key ``would_pass`` of a release in a JSON verdict."""
        if self.release is None:
            return {"offered": False, "reason": self.reason}
        return {
            "offered": True,
            "method": "optimal",
            "limits": dict(self.limits),
            "leaves": self.leaves[1],
            "leaves_before": self.leaves[0],
            "accuracy": self.accuracy[1],
            "accuracy_before": self.accuracy[0],
            "cut": list(self.cut),
            "criterion_unstated": self.unstated,
            "proved": self.proved,
        }

    @property
    def change(self) -> str:
        """What is changed, in words."""
        if self.release is None:
            return f"no change is offered: {self.reason}"
        (before, after), unstated = self.leaves, "without saying what its splits were chosen by"
        if not self.cut:
            return f"the same tree, {unstated}"
        cut = f"the tree cut back from {counted(before, 'leaf', 'leaves')} to {counted(after, 'leaf', 'leaves')}"
        return f"{cut}, {unstated}" if self.unstated else cut

    @property
    def price(self) -> str:
        """What it does, from which follows what it costs, in words; empty where nothing is offered."""
        if self.release is None:
            return ""
        before, after = (f"{100 * share:.1f} %" for share in self.accuracy)
        found = f"predicts {after} of its records right, {'as' if before == after else before} before"
        return f"{found}; no subtree within the limits predicts more of them right" if self.proved else found

    @property
    def words(self) -> str:
        """What is changed, and what that costs."""
        return f"{self.change}; it {self.price}" if self.price else self.change

    @property
    def how(self) -> str:
        """The call that makes it from the data, empty where nothing is offered."""
        if self.release is None:
            return ""
        target, names = self.release.target.name, [a.name for a in self.release.public]
        options = [f"--{name.replace('_', '-')} {_word(f'{value}')}" for name, value in self.limits.items()]
        call = f"maxent defend optimal DATA --from TREE --target {_word(target)} --qi {_word(','.join(names))}"
        return " ".join([call, *options, "-o best.json"])


def _word(text: str) -> str:
    """A word of a shell."""
    import shlex

    return shlex.quote(text)


# The verdict on a release: its numbers against limits.


def judge(
    limits: Limits,
    release: str,
    *,
    reliable: bool,
    max_posterior: float | None,
    certain: int | None,
    exposed: int | None,
    k: int | None,
    surest: float | None = None,
    possible_posterior: float | None = None,
    possible_certain: int | None = None,
    pure: int | None = None,
    right_guesses: float | None = None,
    bayes_vulnerability: float | None = None,
    possible_right: float | None = None,
    base_rate: float | None = None,
    certain_proved: int | None = None,
    certain_at_most: int | None = None,
    proved_least: int | None = None,
    proved_most: int | None = None,
    member: float | None = None,
    possible_member: float | None = None,
    proved_members: int | None = None,
    unread: Sequence[Mapping[str, Any]] = (),
    worst_case: Mapping[str, Any] | None = None,
    base_posterior: float | None = None,
    base_most: float | None = None,
    individuals: int | None = None,
    no_marginal: bool = False,
    draws: NoDraws | None = None,
    settled: bool | None = None,
    told_apart: Mapping[str, Any] | None = None,
    decisive: bool = True,
) -> Judged:
    """The verdict on one release: the worst of what follows from the estimate, from groups, and from the truth.

    An estimate alone would not do: it knows shares and no whole people, so that it may leave in doubt whose class a
    leaf of one person gives away, and of a label alone it claims one half. So a limit is kept only if it also is as far
    as published numbers allow; with the truth, what is right about real people counts. Figures are those of
    `maxent.disclosure.inference.Disclosure`, `maxent.disclosure.truth` and `maxent.audit`, None where they are not
    known; ``proved_least`` and ``proved_most`` are beside the estimate, ``certain_proved`` in its place; ``told_apart``
    is what `maxent.attacks.beside.smallest_told_apart` finds. What is
    ``unread`` is not passed, except the size of groups, and where the ``worst_case`` keeps the limit, too; what is
    false of the true classes never is.
    """
    checks, drawn = [], draws or NoDraws()
    sure = reliable and exposed is not None
    if limits.max_posterior is not None:
        worse, origin = worse_posterior(max_posterior, exposed, pure, certain_proved or proved_least)
        computed = None if max_posterior is None else float(at_most(max_posterior)) if surest is None else surest
        most = computed if origin == "estimate" else 1.0
        allowed = None if most is None else max(most, possible_posterior or 0.0)
        possible = 1.0 if allowed is not None and proved_most else allowed
        status = _status(most, possible, limits.max_posterior, sure)
        unproved = LATE if allowed is not None and allowed <= limits.max_posterior < (possible or 0.0) else ""
        checks.append(
            LimitCheck("max_posterior", limits.max_posterior, worse, status, origin, possible, unproved=unproved)
        )
    if limits.min_k is not None:
        checks.append(_anonymity(limits.min_k, k, told_apart or {"source": "", "least": k, "weighing": ""}))
    if limits.max_certain is not None and certain_proved is not None:
        many, origin = worse_certain(certain_proved, exposed, pure)
        origin = "proof" if many == certain_proved else origin
        possible = max(many or 0, certain_at_most or 0)
        status = _status(many, possible, limits.max_certain, reliable)
        found = LimitCheck("max_certain", limits.max_certain, many, status, origin, possible, estimated=certain)
        checks.append(replace(found, unproved="were not asked for"))
    elif limits.max_certain is not None:
        many, origin = worse_certain(certain, exposed, pure, proved_least)
        beside = certain if origin == "proof" else None
        allowed = None if many is None else max(many, possible_certain or 0)
        possible = None if allowed is None else max(allowed, proved_most or 0)
        status = _status(many, possible, limits.max_certain, sure)
        unproved = LATE if allowed is not None and allowed <= limits.max_certain < (possible or 0) else ""
        if certain is None and not many:  # that groups prove nobody's class says nothing of an estimate
            many, possible = None, None
        if status == "fail" and proved_most is None:  # proofs, which may find more, were not asked
            possible = None
        found = LimitCheck("max_certain", limits.max_certain, many, status, origin, possible, estimated=beside)
        checks.append(replace(found, unproved=unproved))
    checks += _guesses(limits, reliable, right_guesses, bayes_vulnerability, possible_right, base_rate)
    if limits.max_member is not None:
        most = 1.0 if proved_members else member
        whence: Origin = "proof" if proved_members else "estimate"
        status = _status(most, None if most is None else max(most, possible_member or 1.0), limits.max_member, reliable)
        checks.append(LimitCheck("max_member", limits.max_member, most, status, whence, possible_member))
    if not reliable:  # an answer that did not end proves nothing, whichever side of a limit it is on
        checks = [_without_estimate(c, exposed or 0, pure or 0, certain_proved or proved_least or 0) for c in checks]
    if not no_marginal:
        proved, largest = certain_proved is not None, 1.0 if base_most is None else base_most
        base = _by_frequency(base_posterior, base_rate, individuals or 1, proved=proved)
        bound = _by_frequency(largest, largest, individuals or inf, proved=False)
        checks = [_informed(c, base[c.limit], bound[c.limit]) if c.limit in base else c for c in checks]
    for i, c in enumerate(checks):
        left = unread_beside(unread, drawn, settled=settled and c.limit == "max_certain")
        left = [each for each in left if c.limit != "min_k" or each.get("refuted")]
        if left and c.status == "pass":
            checks[i] = _beside(c, left, worst_case, base_rate)
    status = _overall(checks, drawn)
    return Judged(release, decisive, status, tuple(checks), no_marginal=no_marginal, draws=drawn)


def unread_beside(
    unread: Sequence[Mapping[str, Any]], draws: NoDraws, *, settled: bool | None
) -> Sequence[Mapping[str, Any]]:
    """What is unread beside what proofs took in: ``settled`` is whether they took in what tells of draws."""
    return [each for each in unread if each["what"] != draws.told] if settled else unread


def _anonymity(stated: int, k: int | None, told: Mapping[str, Any]) -> LimitCheck:
    """The check of the smallest group, which sums over people may tell apart further."""
    if k is None or k < stated:
        status: Status = "cannot_tell" if k is None else "fail"
        return LimitCheck("min_k", stated, k, status, "groups", source=told["source"])
    if told["least"] >= stated:
        return LimitCheck("min_k", stated, k, "pass", "groups")
    why = f"as {told['weighing']} weighs people differently: {told['least']:,} of them are alike"
    if not told["weighing"]:
        why = "as the adversary knows the classes, by which fewer of them may be alike"
    return LimitCheck("min_k", stated, k, "cannot_tell", "groups", told["least"], unread=why)


def _overall(checks: Sequence[LimitCheck], draws: NoDraws) -> Status:
    """The status of checks of limits, where there are any, with that of draws."""
    return worst([*(check.status for check in checks), *[draws.status] * (draws.counts and len(checks) > 0)])


def _by_frequency(
    posterior: float | None, rate: float | None, individuals: float, *, proved: bool
) -> dict[str, float | None]:
    """What somebody infers who only knows how frequent classes are, by limits; None where that is not known."""
    sure = posterior is not None and posterior >= (1.0 if proved else CERTAIN)
    return {
        "max_posterior": posterior,
        "max_certain": None if posterior is None else individuals if sure else 0,
        "max_right_guesses": rate,
        "max_lift": None if rate is None else 0.0,
    }


def _informed(check: LimitCheck, base: float | None, most: float | None) -> LimitCheck:
    """A limit by what is found or by the base rate alone, whichever is more; ``most`` is a bound of one not known."""
    if base is None:
        bounded = most is not None and most <= check.stated and check.limit != "max_lift"
        return check if bounded or check.status != "pass" else replace(check, status="cannot_tell", baseless=True)
    check = replace(check, base=base)
    more = check.found is None or base > check.found + TOLERANCE
    alone = replace(check, found=base, origin="base", possible=max(base, check.possible or 0.0))
    if base > check.stated and (more or check.status != "fail"):
        return replace(alone, status="fail")
    return alone if more and check.found is not None else check


def _without_estimate(check: LimitCheck, exposed: int, pure: int, proved: int) -> LimitCheck:
    """A limit that an estimate may exceed, by what groups, the truth or proofs show instead."""
    if check.status == "pass" or check.origin != "estimate":
        return check
    many = max(exposed, pure, proved)
    shown = float(many > 0) if check.limit == "max_posterior" else many if check.limit == "max_certain" else 0
    if shown > check.stated:
        origin: Origin = _GROUPS if exposed == many else _TRUTH if pure == many else "proof"
        return replace(check, found=shown, status="fail", origin=origin)
    return replace(check, status="cannot_tell")


def _beside(
    check: LimitCheck,
    unread: Sequence[Mapping[str, Any]],
    worst_case: Mapping[str, Any] | None,
    base_rate: float | None,
) -> LimitCheck:
    """A limit that numbers keep which do not rest on all that is stated, by the worst case of the rest."""
    if false := [each["what"] for each in unread if each.get("refuted")]:
        return replace(check, status="cannot_tell", unread=f"as this is {FALSE}: {'; '.join(false)}")
    whole = worst_case is None or "why" in worst_case or check.limit == "max_member"
    if whole or worst_case is None or any(each.get("judged") == "not" for each in unread):
        where = [f" ({leaves_in(each['leaves'], each['trees'])})" if each["trees"] else "" for each in unread]
        words = ", ".join(f"{each['what']}{of}" for each, of in zip(unread, where, strict=True))
        why = f"; {worst_case['why']}" if worst_case and "why" in worst_case else ""
        return replace(check, status="cannot_tell", unread=f"as more is stated than is read: {words}{why}")
    most, printed = float(at_most(worst_case["max_posterior"])), worst_case["printed"]
    right, many = worst_case["right_guesses"], worst_case["certain"]
    found, words = {
        "max_posterior": (most, "largest posterior {}"),
        "max_certain": (many, "{} person certain" if many == 1 else "{} people certain"),
        "max_right_guesses": (right, "right guesses {}"),
        "max_lift": (right - (base_rate or 0.0), "right guesses {} above the base rate"),
    }[check.limit]
    kept = found <= check.stated + (TOLERANCE if check.limit == "max_lift" else 0.0)
    if not kept and check.origin == "proof" and not check.found and not check.estimated:  # it proves nothing
        check = replace(check, origin="estimate")
    if kept and check.limit == "max_posterior" and printed is not None and printed > check.stated:
        said = f"as the release itself prints a probability of {replace(check, found=printed).found_text} for somebody"
        return replace(check, status="cannot_tell", unread=said)
    away = " and ".join(dict.fromkeys(each["what"] for each in unread))
    said = f"if the {away} gave all counts away: {words.format(replace(check, found=found).found_text)}"
    return replace(check, status="pass" if kept else "cannot_tell", unread=f"also {said}" if kept else said)


def _guesses(
    limits: Limits,
    reliable: bool,
    right: float | None,
    expected: float | None,
    possible: float | None,
    base: float | None,
) -> list[LimitCheck]:
    """The checks of limits on right guesses: by the truth where there is one, otherwise as the estimate expects."""
    origin: Origin = "truth" if right is not None else "groups" if expected is None else "estimate"
    found = expected if right is None else right
    most = None if found is None else found if right is not None else max(found, possible or 1.0)
    checks = []
    if limits.max_right_guesses is not None:
        status = _status(found, most, limits.max_right_guesses, reliable)
        checks.append(LimitCheck("max_right_guesses", limits.max_right_guesses, found, status, origin, most))
    if limits.max_lift is not None:
        lift = None if found is None or base is None else _difference(found, base, limits.max_lift)
        highest = None if most is None or base is None else _difference(most, base, limits.max_lift)
        if lift is not None and abs(lift) <= TOLERANCE:  # computed of a release that says no more than the base rate
            lift = 0.0
            highest = 0.0 if highest is not None and highest <= TOLERANCE else highest
        status = _status(lift, highest, limits.max_lift, reliable)
        checks.append(LimitCheck("max_lift", limits.max_lift, lift, status, origin, highest))
    return checks


def _difference(found: float, base: float, stated: float) -> float:
    """How much a share exceeds another; what is said to be the limit is it, whatever the last bit of the difference."""
    return stated if abs(found - base - stated) <= ROUNDED else found - base


def worse_certain(
    certain: int | None, exposed: int | None, pure: int | None = None, proved: int | None = None
) -> tuple[int | None, Origin]:
    """Individuals whose class is certain, by the estimate, by groups, in truth, or by proof, whichever are most.

    As many by groups or by proof as by the estimate are said to be proved.
    """
    found: tuple[int | None, Origin] = (certain, "estimate")
    for many, origin in ((exposed, _GROUPS), (pure, _TRUTH), (proved or None, _PROOF)):
        proved_too = bool(many) and many == found[0] and found[1] == "estimate" and origin != _TRUTH
        if many is not None and (found[0] is None or many > found[0] or proved_too):
            found = (many, origin)
    return found


def proved_in(row: Mapping[str, Any]) -> tuple[int | None, int | None, int | None]:
    """What a row has for `worse_certain` and `worse_posterior` beside the estimate."""
    return row.get("exposed"), row.get("pure"), row.get("proved_least")


def worse_posterior(
    max_posterior: float | None, exposed: int | None, pure: int | None = None, proved: int | None = None
) -> tuple[float | None, Origin]:
    """The largest posterior: 1 where somebody's class is proved, or it is so in truth; else of the estimate."""
    if max_posterior is None or max_posterior < 1 - TOLERANCE:
        if exposed:
            return 1.0, _GROUPS
        if pure:
            return 1.0, _TRUTH
        if proved:
            return 1.0, "proof"
    return max_posterior, "estimate"


# By how much a difference of two shares of people may be off.
ROUNDED = 1e-12

_GROUPS: Origin = "groups"
_TRUTH: Origin = "truth"
_PROOF: Origin = "proof"

# Keys of a row of a comparison that are arguments of `judge`.
ROW_KEYS = (
    *("max_posterior", "certain", "exposed", "surest", "possible_posterior", "possible_certain", "pure"),
    *("right_guesses", "bayes_vulnerability", "possible_right", "base_rate", "certain_proved", "certain_at_most"),
    *("proved_least", "proved_most", "worst_case", "settled", "member", "possible_member", "proved_members"),
)


# Keys of a row that are the same of each of several sensitive columns.
SHARED_KEYS = ("release", "status", "min_population", "told_apart", "unread", "individuals", "no_marginal")
# What tells who was drawn, why that is not known, and why nobody knows the order of the rows: those of a `NoDraws`.
DRAWS_KEYS = ("draws", "draws_unproved", "rows_unknown", "adversary")


def draws_of(row: Mapping[str, Any]) -> NoDraws:
    """What a row says of draws."""
    told, unproved, unknown, adversary = (str(row.get(key, "")) for key in DRAWS_KEYS)
    return NoDraws(told, unproved, unknown, adversary or ADVERSARY)


def judge_rows(limits: Limits, rows: Sequence[Mapping[str, Any]], of: int | None = None) -> Verdict:
    """The verdict on the rows of a comparison; the first of several releases is not decisive.

    Each of several sensitive columns has to keep the limits; of sensitive classes these alone, with all classes beside.
    """
    judged = []
    for i, row in enumerate(rows):
        whole = _judge_row(limits, row, decisive=i > 0 or (of or len(rows)) == 1)
        checks = whole.checks
        for each in row.get("targets", ()):
            # What is proved of combinations is no bound on the people who are certain in one column.
            shared = {key: row[key] for key in SHARED_KEYS if key in row}
            alone = _judge_row(limits, {**shared, **each}, decisive=whole.decisive).checks
            both = zip(checks, (replace(check, target=each["target"]) for check in alone), strict=True)
            checks = tuple(max(pair, key=_badness) for pair in both)
        beside: tuple[LimitCheck, ...] = ()
        if "sensitive" in row:  # what is known of other classes harms nobody, and is only shown
            alone, beside = _judge_row(limits, _sensitive_row(row), decisive=whole.decisive).checks, checks
            checks = alone
        judged.append(replace(whole, checks=checks, beside=beside, status=_overall(checks, whole.draws)))
    return Verdict(limits, tuple(judged))


def judge_informed(
    limits: Limits,
    rows: Sequence[Mapping[str, Any]],
    informed: Sequence[Callable[[Mapping[str, Any], Limits], Mapping[str, Any]] | None],
    of: int | None = None,
) -> Verdict:
    """The verdict on rows, each also by the row that ``informed`` makes of it, where that decides.

    A limit that the printed estimate breaks is not kept; the larger of the two figures is named.
    """
    first = judge_rows(limits, rows, of)
    open_ = [any(c.status != "fail" and c.limit != "min_k" for c in judged.checks) for judged in first.releases]
    if not any(more is not None and wanted for more, wanted in zip(informed, open_, strict=True)):
        return first
    known = [
        more(row, limits) if more is not None and wanted else row
        for row, more, wanted in zip(rows, informed, open_, strict=True)
    ]
    second = judge_rows(limits, known, of)
    judged = []
    for one, other in zip(first.releases, second.releases, strict=True):
        both = zip(one.checks, other.checks, strict=True)
        checks = tuple(max(pair, key=_badness) if pair[0].status == "fail" else _larger(*pair) for pair in both)
        judged.append(replace(other, checks=checks, status=_overall(checks, other.draws)))
    return Verdict(limits, tuple(judged))


def _larger(less: LimitCheck, more: LimitCheck) -> LimitCheck:
    """A check by the estimate of who knows more, with the figure of who knows less where that is larger."""
    if less.limit == "min_k" or less.found is None or more.found is None or less.found <= more.found + TOLERANCE:
        return more
    most = max(less.found, more.possible or 0.0)
    return replace(more, found=less.found, origin=less.origin, target=less.target, possible=most)


def _judge_row(limits: Limits, row: Mapping[str, Any], *, decisive: bool) -> Judged:
    """The verdict on the numbers of a row."""
    return judge(
        limits,
        row["release"],
        reliable=row.get("status") == "optimal",
        k=row.get("min_population"),
        told_apart=row.get("told_apart"),
        unread=row.get("unread", ()),
        base_posterior=row.get("base_posterior", row.get("base_rate")),
        base_most=row.get("base_most"),
        individuals=row.get("individuals"),
        no_marginal=bool(row.get("no_marginal")),
        draws=draws_of(row),
        **{key: row.get(key) for key in ROW_KEYS},
        decisive=decisive,
    )


def _sensitive_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of sensitive classes alone, in a row."""
    return {**row, **dict.fromkeys((*ROW_KEYS, "base_posterior")), **row["sensitive"]}


def _badness(check: LimitCheck) -> tuple[int, float]:
    """An order of checks of one limit: the worst is the largest."""
    found = 0.0 if check.found is None or check.limit == "min_k" else check.found
    return ("pass", "cannot_tell", "fail").index(check.status), found


def _status(found: float | None, possible: float | None, stated: float, sure: bool) -> Status:
    """The status that a comparison with a limit proves."""
    if found is None or possible is None:
        return "cannot_tell"
    if found > stated:
        return "fail"
    return "pass" if sure and possible <= stated else "cannot_tell"
