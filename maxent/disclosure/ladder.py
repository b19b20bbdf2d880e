"""The ladder: five adversaries, always the same, what each infers, and the verdict on each that limits name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Literal, get_args

import numpy as np

from maxent.disclosure.limits import (
    ADVERSARY,
    IDS,
    NAMES,
    LimitCheck,
    Limits,
    draws_of,
    in_words,
    judge_rows,
    limits_of,
    unread_beside,
    worst,
)
from maxent.models.arguments import Adversary, shorten
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.display import counted
from maxent.models.errors import ARGUMENT, InvalidInput, Problem, invalid
from maxent.models.hints import close_to

ADVERSARIES: tuple[Adversary, ...] = get_args(Adversary)
Status = Literal["pass", "fail", "cannot_tell", "not_assessed"]

# Adversary -> those whose knowledge it contains, as far as the people of the table are concerned.
CONTAINS: Mapping[str, tuple[str, ...]] = {
    "predictions": (),
    "population": (),
    "table": ("predictions", "population"),
    "rows": ("predictions", "population", "table"),
    "all_but_one": ("predictions", "population", "table"),
}

# Adversary -> what it is taken to know.
ASSUMED: Mapping[str, str] = {
    "predictions": "what identifies each person, such as age and address, and the model's answer for any input",
    "population": "the file, and a register in which the people of the data are somewhere",
    "table": "the file, and what identifies exactly these people",
    "rows": "the file, and what identifies these people, in the order of the data",
    "all_but_one": "the file, the class of all but one, and what identifies that one; not how many have each class",
}

# Why a rung has figures and no verdict.
UNNAMED = "no limit names this adversary"
# What the rung *all but one* notes where counts leave one class of each, and that this says little of a release.
EXACT, EXACTLY = "exact counts", ", as of any release with exact counts"
# Why "at least" so many are proved.
FURTHER = ' ("at least", as proofs were sought no further than limits need: there may be more)'
BEYOND = ' ("at least", as more is stated than was evaluated: other classes may be ruled out, too)'
# Limits that may name an adversary: a group that is not told apart is one for everybody who has the file.
KEYS = ("max_posterior", "max_certain", "max_right_guesses", "max_lift")
# The only adversary who does not know who is in the data, and the limit that is always about that one.
REGISTERED, MEMBER = "population", "max_member"


@dataclass(frozen=True, slots=True)
class Figures:
    """What one adversary infers.

    ``certain`` are people of whose class the estimate is certain, ``certain_proved`` those of whom it is proved at
    least, None also where that is nobody and proofs were not asked, or did not settle it; ``right_guesses``,
    ``base_rate``: shares of all people. ``worst`` is the person about whom most is inferred. None: not known.
    ``missing`` is why nothing was assessed, ``note`` what has to be known of the figures, ``row`` the numbers that
    limits are judged by, as a row of a comparison has them. ``alike`` are people as badly off as ``worst``, with these.
    """

    certain: int | None = None
    certain_proved: int | None = None
    right_guesses: float | None = None
    base_rate: float | None = None
    worst: Mapping[str, Any] | None = None
    missing: str = ""
    note: str = ""
    row: Mapping[str, Any] = field(default_factory=dict)
    alike: int = 0

    @property
    def others(self) -> int:
        """How many people are as badly off as ``worst``, beside the people whom that names."""
        worst = self.worst or {}
        proved = 0 if "sensitive" in self.row else self.certain_proved or 0  # which are of all classes
        many = max(self.alike, proved if worst.get("proved") else 0)
        return max(many - int(worst.get("people", 1)), 0)

    @property
    def proved_words(self) -> str:
        """``27``; ``at least 27`` where more might be proved, as proofs are sought as far as a limit needs them."""
        proved = self.certain_proved or 0
        all_of = proved >= min([*_sure_ends(self.row), self.row.get("individuals", inf)])
        return f"{proved:,}" if all_of or not proved else f"at least {proved:,}"

    @property
    def unproved(self) -> str:
        """Why proofs do not tell whether somebody is certain; empty where they do, or where nothing is known."""
        if self.certain is None or self.certain_proved is not None:
            return ""
        most = min(_ends(self.row), default=None)
        if most is None:
            return "proofs were not asked"
        if most:
            return f"proofs left {counted(most, 'person', 'people')} open"
        return "more is stated than is read" if self.row.get("unread") else "proofs did not settle it"

    @property
    def in_truth(self) -> int:
        """People in leaves of one class in truth, whom limits count, where they are more than are certain; else 0.

        Where everybody is of one class limits count everybody, by how frequent classes are.
        """
        row = self.row.get("sensitive", self.row)
        alike = not row.get("no_marginal") and (row.get("base_posterior", row.get("base_rate")) or 0) >= 1
        pure: int = (row.get("individuals") if alike else row.get("pure")) or 0
        return pure if pure > max(self.certain or 0, self.certain_proved or 0) else 0

    @property
    def sensitive_words(self) -> str:
        """``; 0 of a sensitive class``, where limits are about some classes and others are certain; else empty."""
        alone = self.row.get("sensitive")
        if alone is None or not max(self.certain or 0, self.certain_proved or 0):
            return ""
        return f"; {max(alone.get('certain') or 0, proved_of(alone) or 0):,} of a sensitive class"

    def raised(self, by: Figures, name: str, *, proofs: bool = True) -> Figures:
        """The same for an adversary whose knowledge contains another's: who proves and guesses as much, or more.

        Without ``proofs`` what the other proves rests on more than this one knows.
        """
        if self.missing:
            return self
        row, least, notes = dict(self.row), by.right_guesses or 0.0, [self.note]
        proved, certain, worst, alike = self.certain_proved, self.certain, self.worst, self.alike
        if proofs and (by.certain_proved or 0) > (proved or 0):
            proved, worst, alike = by.certain_proved or 0, by.worst, by.alike
            certain = max(certain or 0, proved)
            row |= {"certain": certain, "certain_proved": proved, "exposed": proved} if row else {}
            least = max(least, proved / (row.get("individuals") or inf))
            notes.append(f"what is proved for {name.replace('_', ' ')} is proved here, too")
        for key in AS_WELL:
            if row.get(key) is not None and by.row.get(key) is not None:
                row[key] = max(row[key], by.row[key])
        if row and by.row.get("pure"):
            row["pure"] = max(row.get("pure") or 0, by.row["pure"])
        if "sensitive" in row and "sensitive" in by.row:
            alone, others = row["sensitive"], by.row["sensitive"]
            keys = (*AS_WELL, "pure", *("certain", "exposed", "proved_least") * proofs)
            here = (key for key in keys if others.get(key) is not None)
            row["sensitive"] = {**alone, **{key: max(alone.get(key) or 0, others[key]) for key in here}}
        right = self.right_guesses
        if right is not None and least > right:
            right, guesses = least, ("right_guesses", "bayes_vulnerability")
            row |= {key: max(row[key], least) for key in guesses if row.get(key) is not None}
            notes += [f"guesses as good as those of {name.replace('_', ' ')} are made here, too"] * (len(notes) == 1)
        base = self.base_rate
        if right is None and proved and proved == row.get("individuals"):  # whoever knows all guesses all right
            right, base = 1.0, by.base_rate
        told = "; ".join(filter(None, notes))
        changed: dict[str, Any] = {"right_guesses": right, "worst": worst, "alike": alike, "row": row, "note": told}
        changed["base_rate"] = base
        return replace(self, certain=certain, certain_proved=proved, **changed)


def _ends(row: Mapping[str, Any]) -> list[int]:
    """The most people who are certain, by the proofs that were asked."""
    return [end for key in ("certain_at_most", "proved_most") if (end := row.get(key)) is not None]


def _sure_ends(row: Mapping[str, Any]) -> list[int]:
    """The same whatever is not read tells: as many as if that gave all counts away; none where it was not judged."""
    left, worst = unread_beside(row.get("unread", ()), draws_of(row), settled=row.get("settled")), row.get("worst_case")
    if not left:
        return _ends(row)
    if worst is None or "why" in worst or any(each.get("judged") == "not" for each in left):
        return []
    return [max(end, worst["certain"]) for end in _ends(row)]


# Numbers of limits that are no smaller for whoever knows more.
AS_WELL = ("max_posterior", "possible_posterior", "right_guesses", "possible_right")

# Decimals of probabilities beyond which people are taken to be as sure as each other: what solvers differ by.
ALIKE = 6


def worst_first(surest: FloatArray, proved: BoolArray, lines: IntArray) -> IntArray:
    """Whoever is worst off first: whose class is proved, then the surest, of equals the lowest row number."""
    return np.asarray(np.lexsort((lines, -np.round(surest, ALIKE), ~proved)), np.int64)


def as_badly_off(q: int, surest: FloatArray, proved: BoolArray, counts: IntArray) -> int:
    """How many people are as badly off as those of a quasi-identifier, with these."""
    alike = proved if proved[q] else ~proved & (np.round(surest, ALIKE) == np.round(surest[q], ALIKE))
    return int(counts[alike].sum())


def proved_of(row: Mapping[str, Any]) -> int | None:
    """Of how many people a row proves the class; None where of nobody, and proofs did not settle that there is none."""
    proved: int = max(row.get(key) or 0 for key in ("exposed", "proved_least", "certain_proved"))
    return proved if proved or 0 in _sure_ends(row) else None


@dataclass(frozen=True, slots=True, repr=False)
class Rung:
    """An adversary of the ladder: what it infers, and ``status``, the verdict on limits that name it, with ``why``.

    ``release`` is what a verdict calls the release, or one of several columns, where the rung is part of it.
    """

    adversary: str
    figures: Figures
    status: Status
    why: str
    checks: tuple[LimitCheck, ...] = ()
    release: str = ""

    def __repr__(self) -> str:
        return f"<Rung {self.line}>"

    @property
    def told_checks(self) -> list[dict[str, Any]]:
        """The checks of its limits, as the key ``checks`` of a JSON verdict has them."""
        return [
            {"id": IDS[c.limit], "key": c.limit, "release": self.release, "adversary": self.adversary}
            | {"limit": c.stated, "found": c.found, "status": c.status}
            for c in self.checks
        ]

    @property
    def said(self) -> list[str]:
        """The same in words."""
        return [f"cannot tell: {self.why}"] if self.figures.missing else [in_words(check) for check in self.checks]

    def as_dict(self) -> dict[str, Any]:
        """An entry of the key ``ladder`` of a JSON summary."""
        found = self.figures
        return {
            "adversary": self.adversary,
            "assumed": ASSUMED[self.adversary],
            "contains": list(CONTAINS[self.adversary]),
            "certain": found.certain,
            "certain_proved": found.certain_proved,
            **({"certain_in_truth": found.in_truth} if found.in_truth else {}),
            "right_guesses": found.right_guesses,
            "base_rate": found.base_rate,
            "worst": None if found.worst is None else {**found.worst, "others": found.others},
            "status": self.status,
            "why": self.why,
        }

    @property
    def certain_words(self) -> str:
        """``4 by the estimate, at least 2 proved``; ``2 proved`` where both are as many, ``nobody`` where that is 0.

        "At least" is left out where it is proved that there are no more. ``nobody by the estimate; proofs were not
        asked`` where nothing is proved; ``; 3 in truth`` where limits count more people, by the truth.
        """
        more = self.figures.in_truth
        told = self._certain_words + self.figures.sensitive_words
        return told + (f"; {more:,} in truth, in leaves of one class" if more else "")

    @property
    def _certain_words(self) -> str:
        found = self.figures
        if found.certain is not None and found.certain == found.certain_proved:
            return f"{found.proved_words} proved" if found.certain else "nobody"
        if found.unproved:
            return f"{f'{found.certain:,}' if found.certain else 'nobody'} by the estimate; {found.unproved}"
        told = [f"{found.certain:,} by the estimate"] if found.certain is not None else []
        told += [f"{found.proved_words} proved"] if found.certain_proved is not None else []
        return ", ".join(told) or "not known"

    @property
    def right_words(self) -> str:
        """``85.3 %, base rate 75.1 %``."""
        found = self.figures
        told = [f"{100 * found.right_guesses:.1f} %"] if found.right_guesses is not None else []
        told += [f"base rate {100 * found.base_rate:.1f} %"] if told and found.base_rate is not None else []
        return ", ".join(told) or "not known"

    @property
    def plain(self) -> str:
        """The same in a sentence for whoever decides."""
        found = self.figures
        told = f"knows the class of {found.proved_words} for certain, by proof"
        further = BEYOND if self.adversary == "all_but_one" else FURTHER
        told += further * found.proved_words.startswith("at least")
        if found.unproved:
            whose = f"the class of {found.certain:,}" if found.certain else "nobody's class"
            told = f"knows {whose} for certain by the estimate; {found.unproved}"
        elif found.certain is not None and (proved := found.certain_proved or 0) < found.certain:
            told = f"knows the class of {found.certain:,} for certain by the estimate, of {found.proved_words} by proof"
        elif found.certain is not None and proved > found.certain:
            told += f"; the estimate alone finds {found.certain:,}"
        elif found.certain == 0:
            told = "knows nobody's class for certain"
        told += EXACTLY * (self.adversary == "all_but_one" and EXACT in found.note)
        told += found.sensitive_words
        if found.in_truth:
            told += f"; {found.in_truth:,} are in truth in leaves of one class, and limits count them as certain"
        if found.right_guesses is None:
            return f"{told}; how many guesses are right is not known"
        blind = "" if found.base_rate is None else f" (without the file {100 * found.base_rate:.1f} %)"
        return f"{told}; guesses are right for {100 * found.right_guesses:.1f} % of the people{blind}"

    @property
    def worst_words(self) -> str:
        """``ill with 0.950: age 30``, or ``ill, proved: age 30``; a row by its number, a member as one."""
        found = self.figures.worst
        if found is None:
            return "not known"
        values = {name: f"{value:.15g}" if isinstance(value, float) else value for name, value in found["qi"].items()}
        who = ", ".join(f"{name} {value}" for name, value in values.items())
        who = f"row {found['row']}: {who}" if "row" in found else who
        if "class" not in found:
            return f"{', '.join(found['classes'])} are possible: {who}"
        inside = "in the data and " if "member" in found else ""
        how = ", proved" if found.get("proved") else f" with {found['probability']:.3f}"
        return f"{inside}{found['class']}{how}: {who}"

    @property
    def line(self) -> str:
        """All of it for a console."""
        name = self.adversary.replace("_", " ")
        if self.figures.missing:
            return f"{name}: {STATUS[self.status]}, {self.why}"
        told = f"{name}: certain {self.certain_words}; right guesses {self.right_words}; "
        if self.status == "not_assessed":
            return f"{told}no limit" + (f"; {self.figures.note}" if self.figures.note else "")
        return told + STATUS[self.status] + (f", {self.why}" if self.why else "")


# Status of a rung -> how it is announced.
STATUS: Mapping[str, str] = {
    "pass": "PASS",
    "fail": "FAIL",
    "cannot_tell": "CANNOT TELL",
    "not_assessed": "not assessed",
}


def rung_of(
    adversary: str,
    figures: Figures,
    limits: Limits | None,
    kept: Callable[[Limits], Sequence[LimitCheck]] | None = None,
) -> Rung:
    """A rung, judged by limits where these name it."""
    if limits is None or not limits.stated:
        told = figures.missing or "; ".join(filter(None, (UNNAMED, figures.note)))
        return Rung(adversary, figures, "not_assessed", told)
    if figures.missing:
        open_ = (LimitCheck(key, limit, None, "cannot_tell", "estimate") for key, limit in limits.as_dict().items())
        return Rung(adversary, figures, "cannot_tell", figures.missing, tuple(open_))
    [judged] = judge_rows(limits, [figures.row]).releases
    checks = judged.checks
    if kept is not None and any(check.status == "cannot_tell" for check in checks):
        both = zip(checks, kept(limits), strict=True)
        checks = tuple(_carried(one, more) for one, more in both)
    status = worst([check.status for check in checks])
    told = "; ".join(filter(None, (*why_open(checks, status), figures.note)))
    return Rung(adversary, figures, _STATUSES[status], told, checks)


def why_open(checks: Sequence[LimitCheck], status: str) -> list[str]:
    """``largest posterior, as what is published allows 0.95``: why a verdict is not told; nothing of others."""
    whys: dict[str, list[str]] = {}
    for check in checks:
        if status == check.status == "cannot_tell" and check.why:
            whys.setdefault(check.why, []).append(NAMES[check.limit])
    return [f"{', '.join(names)}, {why}" for why, names in whys.items()]


_STATUSES: Mapping[str, Status] = {"pass": "pass", "fail": "fail", "cannot_tell": "cannot_tell"}


def _carried(check: LimitCheck, more: LimitCheck) -> LimitCheck:
    """A check that is within its limit as far as is known, by the proof that somebody who knows more is within it."""
    within = check.found is not None and check.found <= check.stated
    return (
        replace(check, status="pass") if check.status == "cannot_tell" and within and more.status == "pass" else check
    )


def untold(rung: Rung, why: str) -> Rung:
    """A rung that does not pass, for a reason: what its figures keep cannot be told."""
    if rung.status != "pass":
        return rung
    told = [replace(c, status="cannot_tell", unread=why) if c.status == "pass" else c for c in rung.checks]
    return replace(rung, status="cannot_tell", why=why, checks=tuple(told))


def named_limits(stated: Mapping[str, Any]) -> dict[str, Limits]:
    """Limits by adversary, of the tables ``[limits.rows]`` and the like of a policy, in the order of the ladder."""
    found: dict[str, Limits] = {}
    for name in ADVERSARIES:
        if name != ADVERSARY and stated.get(name):
            found[name] = limits_of(stated[name])
    return found


def keys_of(adversary: str) -> tuple[str, ...]:
    """Limits that may name an adversary."""
    return (*KEYS, *[MEMBER] * (adversary == REGISTERED))


def about(adversary: str, limits: Mapping[str, Any]) -> dict[str, Any]:
    """The limits of a call as a policy has them: those on another adversary by its name, whatever the call names."""
    own = {name: limit for name, limit in limits.items() if name != MEMBER}
    found = own if adversary == ADVERSARY or not own else {adversary: own}
    if MEMBER in limits:
        found[REGISTERED] = {**found.get(REGISTERED, {}), MEMBER: limits[MEMBER]}
    return found


def stated_by(adversary: str, limits: Mapping[str, Any]) -> dict[str, Any]:
    """The limits of the call that `about` makes so."""
    own = limits.get(adversary, limits)
    flat = {name: limit for name, limit in own.items() if name not in ADVERSARIES}
    return {**limits.get(REGISTERED, {}), **flat}


def told_apart(adversary: str, limits: Mapping[str, Any]) -> tuple[Limits, dict[str, Limits]]:
    """The limits of a call on the adversary with the table, and those on others by their names."""
    found = about(adversary, limits)
    return limits_of({name: limit for name, limit in found.items() if name not in ADVERSARIES}), named_limits(found)


def check_adversary(value: object, limits: Mapping[str, Any], limited: Collection[str] = ()) -> None:
    """Refuse what is no adversary, limits that name none, and an adversary without any, with an InvalidInput.

    ``limited`` are those that a policy has limits on.
    """
    if not isinstance(value, str) or value not in ADVERSARIES:
        expected = f"one of {', '.join(ADVERSARIES)}"
        raise invalid(
            "options", ARGUMENT, "adversary", expected, f"{shorten(value)}{close_to(str(value), ADVERSARIES)}"
        )
    if value == ADVERSARY:
        return
    stated = {name: limit for name, limit in limits.items() if limit is not None}
    problems = [
        Problem(ARGUMENT, name, f"a limit that can name an adversary ({', '.join(keys_of(value))})", shorten(limit))
        for name, limit in stated.items()
        if name not in (*KEYS, MEMBER)
    ]
    if problems:
        raise InvalidInput("limits", problems)
    if value not in limited and not stated.keys() & set(keys_of(value)):
        expected = "the name of an adversary with a limit on it, such as max_certain=0"
        raise invalid("options", ARGUMENT, "adversary", expected, f"{value} without any")


def restricted(kinds: Collection[str] | None) -> str:
    """What adversaries were taken to know of what is published, where that was said; else empty."""
    if kinds is None:
        return ""
    return f"adversaries know only {', '.join(kinds)} of what is published (--knowledge)"


def ladder_lines(ladder: Sequence[Rung], kinds: Collection[str] | None = None) -> Iterator[str]:
    """The ladder for a console."""
    yield "; ".join(filter(None, ("who could attack (docs/ladder.md)", restricted(kinds)))) + ":"
    yield from (f"  {rung.line}" for rung in ladder)
