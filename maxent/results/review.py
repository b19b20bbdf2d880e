"""The result of a review: release, attacks, estimate, verdict and report, for one or several sensitive columns."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import inf
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, cast

from maxent.constraints.program.program import Unread
from maxent.disclosure.inference import Inference
from maxent.disclosure.ladder import (
    ADVERSARIES,
    CONTAINS,
    UNNAMED,
    Figures,
    Rung,
    check_adversary,
    ladder_lines,
    proved_of,
    rung_of,
    told_apart,
    untold,
    why_open,
)
from maxent.disclosure.limits import (
    ADVERSARY,
    NO_DRAWS_ID,
    ORDERED,
    UNORDERED,
    LimitCheck,
    Limits,
    NoDraws,
    Verdict,
    draws_of,
    judge_informed,
    judge_rows,
    proved_in,
    published_words,
    worse_certain,
    worse_posterior,
    worst,
)
from maxent.disclosure.limits import WORDS as LIMIT_WORDS
from maxent.disclosure.measures import MEASURES
from maxent.models.display import FALSE, Display, Summarised, counted
from maxent.models.draws import kept_apart, tells_draws
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.files.output import REVIEW, check_outputs, write_text
from maxent.models.formats.release_reader import Converted
from maxent.models.nodes import parts_in_words
from maxent.models.reading import Noticed
from maxent.models.release import Release
from maxent.results.estimate import Estimate, inferred_numbers
from maxent.results.exchange import Exchanged, Handover, handed_over, report_names
from maxent.results.reliability import NOT_ABOUT_THEM, not_reliable
from maxent.results.solved import (
    Drawing,
    assessed_numbers,
    described,
    draws_told,
    unread_lines,
    unread_of,
    with_proved,
    worst_off,
)
from maxent.results.text.estimate import people_by_probability, target_line, worth
from maxent.results.text.terminal import print_lines

if TYPE_CHECKING:
    from maxent.results.audit import Audit
    from maxent.results.html_report.dossier import Account
    from maxent.results.html_report.view import InputFile

# What is said of a review whose estimate knows less than the release.
WITHOUT_PRIVATE = (
    "the estimate leaves out what splits on private attributes tell, as there was no time for it: the entropy is an "
    "upper bound, and an adversary may infer more"
)

WITHOUT_ORDER = "proofs without the order of rows take them in, and no other limit is known to be kept"
NOT_ENDED = "the estimate has not ended yet"
# Why there is no estimate.
INTERRUPTED = "interrupted before there was any estimate"
# The same of a review that has an estimate.
CUT = "interrupted before all was proved"
# Keys of a row that more time may change, beside the verdict and the gap.
REFINED = ("status", "certificate", "certain", "proved_least", "proved_most")
# Statuses of an estimate that did not end in its time.
LATE = ("time_limit", "interrupted")


@dataclass(frozen=True, slots=True)
class Asked:
    """The call that a review answers, for its report: words of a command line, or of Python, options and files."""

    call: str | Sequence[str]
    options: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[InputFile, ...] = ()


class Climbing(Protocol):
    """The figures of adversaries other than the one of the verdict."""

    def __call__(self, adversary: str, *, named: bool = False) -> Figures:
        """Those of one; ``named``: whether a limit names it."""
        ...

    @property
    def base_rate(self) -> float | None:
        """The share of the most frequent class in truth, beside which all rungs stand; None without the truth."""
        ...

    @property
    def informed(self) -> bool:
        """Whether who has the table knows how many people have each class, which is not published."""
        ...


class Registered(Protocol):
    """What an adversary with a register infers."""

    @property
    def membership(self) -> dict[str, Any]:
        """The key ``membership`` of a summary."""
        ...

    @property
    def words(self) -> str:
        """The same for people."""
        ...


class Recording(Protocol):
    """What makes the record of a review."""

    @property
    def of_files(self) -> bool:
        """Whether all that was reviewed is in files."""
        ...

    def __call__(
        self, review: Any, path: str | PathLike[str] | None, title: str = "", purpose: str = "", written: Any = None
    ) -> dict[str, Any]:
        """The record of a review, written to a file unless ``path`` is None."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class Review(Exchanged, Summarised):
    """A model that was reviewed before its publication.

    Attributes
    ----------
    converted : Converted
        The model as a release, with what was lost on the way; ``release`` is that release.
    name : str
        What the model is called.
    individuals : int
        People of the table.
    audit : Audit
        The structural attacks on single leaves; without the people where there was no time to place them.
    estimate : Estimate or None
        What an adversary infers of each person; None where there was no time for any answer.
    unsolved : str
        Why there is no estimate, or none but the first; empty where nothing was left undone.
    limits : Limits
        Those of the call.
    asked : Asked
    weaker : bool
        Whether the estimate leaves out what private splits tell, as there was no time for it.
    beside : str
        What is inferred of this and other sensitive columns together, in words; empty where there are no others.
    early : mapping
        What was proved and found in truth before the estimate, as keys of ``row``: what limits are judged by where the
        estimate did not end.
    rows_unknown : str
        Why nobody knows the order of the rows of the training data; empty where somebody may.
    drawing : callable or None
        How far somebody comes who computes who was drawn for each tree.
    named : mapping of str to Limits
        Limits on other adversaries than the first, by their names.
    climb : callable or None
        The figures of these adversaries.
    first : mapping
        Numbers of the first answer, before it was refined; empty before there is one.
    files : tuple of str
        The files or folders of what is published, the model first; none where any of it is no file.
    register : Registered, optional
        What an adversary with a register infers, where there is one.
    knowledge : sequence of str, optional
        The kinds of statements that adversaries know; None: all that are published.
    recording : callable, optional
        What makes its record; None where nothing can.
    """

    converted: Converted
    name: str
    individuals: int
    audit: Audit
    estimate: Estimate | None
    unsolved: str
    limits: Limits
    asked: Asked
    noticed: Noticed
    weaker: bool = False
    beside: str = ""
    early: Mapping[str, Any] = field(default_factory=dict)
    rows_unknown: str = ""
    drawing: Drawing | None = None
    named: Mapping[str, Limits] = field(default_factory=dict)
    climb: Climbing | None = None
    files: tuple[str, ...] = ()
    register: Registered | None = None
    knowledge: Sequence[str] | None = None
    recording: Recording | None = None
    first: Mapping[str, Any] = field(default_factory=dict)

    def _handover(self) -> Handover:
        return handed_over(self, self.verdict().as_dict(), [self], "review")

    @property
    def release(self) -> Release:
        """The model as a release: `maxent.Release.save` writes it."""
        return self.converted.release

    @property
    def reliable(self) -> bool:
        """Whether the estimate and the audit can be relied on."""
        return self.estimate is not None and not self.trouble

    @property
    def trouble(self) -> str:
        """Why the review is not to be relied on; empty where it is."""
        if self.estimate is None:
            return self.unsolved
        if not self.estimate.reliable:
            return not_reliable(self.estimate.outcome.status)
        if self.weaker:
            return WITHOUT_PRIVATE
        return "" if self.audit.reliable else NOT_ABOUT_THEM

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the work."""
        return self.stopped == "interrupted"

    @property
    def stopped(self) -> str:
        """What ended the work early: ``interrupted`` (Ctrl-C, SIGTERM) or ``time_limit``; empty for nothing."""
        status = "time_limit" if self.estimate is None else self.estimate.outcome.status
        if self.unsolved in (INTERRUPTED, CUT) or status == "interrupted":
            return "interrupted"
        return "time_limit" if self.weaker or status == "time_limit" else ""

    @property
    def unfinished(self) -> bool:
        """Whether nothing but a want of time makes it not to be relied on: what it proves without an estimate holds."""
        if self.reliable or not self.audit.reliable:
            return False
        return self.estimate is None or self.estimate.outcome.status in ("optimal", *LATE)

    @property
    def solved(self) -> bool:
        """Whether there is an estimate."""
        return self.estimate is not None

    def verdict(self, adversary: str | None = None, **limits: Any) -> Verdict:
        """The verdict against limits, those of the call unless some are given.

        Parameters
        ----------
        adversary : str, optional
            The adversary of `ladder` whom the limits given are about; by default the one who has the table.
        **limits
            Fields of `maxent.disclosure.limits.Limits`: ``max_posterior`` (a probability), ``min_k``, ``max_certain``
            (individuals), ``max_right_guesses``, ``max_lift`` (shares of individuals).
        """
        stated, named = self.limits, self.named
        if adversary is not None or limits:
            check_adversary(adversary or ADVERSARY, limits)
            whom = ADVERSARY if adversary in (None, self._first) else str(adversary)
            stated, named = told_apart(whom, limits)
        rungs = tuple(replace(self.rung(name, its), release=self.name) for name, its in named.items())
        own = self.judged(stated, mend=not rungs)
        releases = tuple(replace(judged, named=bool(rungs)) for judged in own.releases)
        return replace(own, releases=releases, rungs=rungs).reached([self.drawing])

    def judged(self, stated: Limits, *, mend: bool = True) -> Verdict:
        """The verdict on the first adversary."""
        searched = mend and self.estimate is not None and not self.unfinished  # it would take as long again
        mended = self.estimate.mended if searched and self.estimate is not None else None
        known = None if self.estimate is None or self.weaker else self.estimate.proved
        row = self.row if self.estimate is None else with_proved(self.estimate, self.row)
        if known is not None and stated.max_certain is not None:  # the ladder counts whom proofs find beyond a limit
            row = {**row, "proved_least": proved_of(known(row, stated)) or 0}
        return judge_informed(stated, [row], [known]).reached([self.drawing]).mended([mended])

    def _figures(self, verdict: str, row: Mapping[str, Any]) -> dict[str, Any]:
        """What may be refined: the verdict, numbers of the estimate, and whether it leaves something out."""
        gap = inf if self.estimate is None else self.estimate.outcome.duality_gap
        numbers = {key: row.get(key) for key in REFINED}
        return {"verdict": verdict, "weaker": self.weaker, "gap": gap if gap < inf else None, **numbers}

    def so_far(self) -> Review:
        """The same with its numbers as the first answer.

        Without proofs nothing is known to pass: a limit that is not broken cannot be told of.
        """
        so_far = judge_rows(self.limits, [{**self.row, "status": "time_limit"}])
        return replace(self, first=self._figures(so_far.status, self.row))

    @property
    def refined(self) -> list[dict[str, Any]]:
        """What came out otherwise than in the first answer: ``what``, ``first`` and ``now`` of each number."""
        if not self.first:
            return []
        now = self._figures(self.verdict().status, self.proved_row)
        changed = [key for key, old in self.first.items() if old is not None and now[key] != old]
        return [{"what": key, "first": self.first[key], "now": now[key]} for key in changed]

    def rung(self, adversary: str, limits: Limits | None = None) -> Rung:
        """An adversary of the ladder, judged by limits that name it."""
        first = self._first
        if adversary == first:
            return self._own_rung
        stated = limits is not None and limits.stated
        if first == ORDERED and adversary != "population":  # a register has no order
            return rung_of(adversary, Figures(missing="this review is about rows in training order"), limits)
        if self.climb is None:
            return rung_of(adversary, Figures(missing="nobody was asked"), limits)
        if adversary == ORDERED and "draws_unproved" not in self.row and not draws_of(self.row).told:
            same, why = self._own_rung.figures, self.climb(adversary).missing  # the order tells nothing
            found = rung_of(adversary, replace(same, note=why), limits, self._within)
            if self.rows_unknown:
                return untold(found, f"the limit is on somebody who knows the order of the rows, and {UNORDERED}")
            return found if self.release.resampled is None else untold(found, why)
        kept = self._within if adversary == "predictions" else None
        figures = self.climb(adversary, named=stated)
        if first in CONTAINS[adversary]:
            proofs = adversary != "all_but_one" or not self.climb.informed
            figures = figures.raised(self._own_rung.figures, first, proofs=proofs)
        return self._with_draws(rung_of(adversary, figures, limits, kept))

    def _with_draws(self, rung: Rung) -> Rung:
        """The same failed, or not told, where draws are: whoever has the file and the table is never passed by it.

        Nor is anybody where something stated is false of the true classes.
        That nobody knows the order of the rows takes nothing back of who does.
        """
        if rung.status == "pass" and (false := [each.what for each in self._compiled if each.refuted]):
            rung = untold(rung, f"as this is {FALSE}: {'; '.join(false)}")
        draws, taken_back = self.draws, rung.adversary != ORDERED and not self.draws.counts
        if ADVERSARY not in CONTAINS[rung.adversary] or rung.status == "not_assessed" or taken_back:
            return rung
        status = worst([cast(Any, rung.status), draws.status])
        told = f"{NO_DRAWS_ID}: {draws.said}"
        return rung if status == rung.status else replace(rung, status=cast(Any, status), why=told)

    def _within(self, limits: Limits) -> Sequence[LimitCheck]:
        """The checks of limits on the first adversary, who knows as much, or more."""
        return self.judged(limits, mend=False).releases[0].checks

    @property
    def _first(self) -> str:
        """Whom the estimate is about."""
        return draws_of(self.row).adversary

    @cached_property
    def _own_rung(self) -> Rung:
        """The adversary of the estimate: what it infers, and the verdict."""
        row, estimate = self.row, self.estimate
        above = [limits for name, limits in self.named.items() if self._first in CONTAINS[name]]
        proving = next((limits for limits in (self.limits, *above) if limits.stated), None)
        if proving is not None and estimate is not None and not self.weaker:
            row = estimate.proved(row, proving)
        if estimate is not None:
            row = with_proved(estimate, row)
        right = row.get("right_guesses", row.get("bayes_vulnerability"))
        worst, alike = (None, 0) if estimate is None else worst_off(estimate)
        base = None if self.climb is None else self.climb.base_rate
        base = row.get("base_rate") if base is None else base
        row = {"individuals": self.individuals, **row}  # which an estimate has
        figures = Figures(row.get("certain"), proved_of(row), right, base, worst, row=row, alike=alike)
        if not self.limits.stated:
            return Rung(self._first, figures, "not_assessed", UNNAMED)
        verdict = self.judged(self.limits)
        [judged], status = verdict.releases, verdict.status
        told = [self.trouble] if self.trouble else why_open(judged.checks, status)
        if judged.draws.status != "pass" and judged.draws.counts:
            told = [f"{NO_DRAWS_ID}: {judged.draws.said}", *told * (status == "cannot_tell")]
        return Rung(self._first, figures, cast(Any, status), "; ".join(told))

    @cached_property
    def ladder(self) -> tuple[Rung, ...]:
        """What five adversaries infer, always the same: `maxent.disclosure.ladder`."""
        return tuple(self.rung(name, self.named.get(name)) for name in ADVERSARIES)

    @property
    def draws(self) -> NoDraws:
        """Whether it follows from what is published who was drawn for each tree, and how far somebody comes by that."""
        found = draws_of(self.row)
        if self.drawing is None or not found.told:
            return found
        rows, unordered = self.drawing()
        return replace(found, rows=rows, unordered=unordered)

    @cached_property
    def row(self) -> Mapping[str, Any]:
        """The numbers of the review, by the keys of `maxent.disclosure.measures`, as a row of a comparison has them."""
        found = assessed_numbers(self.estimate, self.audit.summary)
        if self.unfinished:
            found = {**self.early, **found}
            if "sensitive" in self.early:
                found["sensitive"] = {**self.early["sensitive"], **found["sensitive"]}
        if self.weaker:  # what it seems to keep proves nothing
            found["status"] = "time_limit"
        if self._kept:
            size = {"trees": len(self.release.trees), "leaves": sum(tree.n_leaves for tree in self.release.trees)}
            judged = "not" if self.estimate is None or self.estimate.worst is None or self.estimate.worst.why else ""
            read = [each.as_dict(judged or "worst_case") for each in self._compiled]
            found["unread"] = [*read, *({"what": each.what, **size, "judged": "not"} for each in self._kept)]
        return {
            "release": self.name,
            "defense": described(self.release),
            **found,
            **self.draws_told,
        }

    @property
    def proved_row(self) -> Mapping[str, Any]:
        """The same with what is proved, as far as limits ask for it."""
        return self._own_rung.figures.row

    @property
    def draws_told(self) -> dict[str, str]:
        """What tells who was drawn for each tree, as keys of a row."""
        ordered = self.estimate is not None and self.estimate.program.row_equations is not None
        return draws_told(self.release, [self.converted.aside], self.rows_unknown, ordered=ordered)

    @property
    def _compiled(self) -> tuple[Unread, ...]:
        """What leaves state and the estimate does not use."""
        return () if self.estimate is None else self.estimate.program.unread

    @property
    def _kept(self) -> list[Unread]:
        """What the model keeps beside its trees, and tells of draws, unless the rows are in training order."""
        ordered = self.estimate is not None and self.estimate.program.by_rows
        return [*map(Unread, kept_apart(None if ordered else self.release.draws, [self.converted.aside]))]

    @property
    def unread(self) -> dict[str, Any]:
        """The keys ``unread`` and ``worst_case`` of what is not read, of the release and of what the model keeps."""
        return unread_of(self.estimate) | {"unread": list(self.row.get("unread", ()))}

    @property
    def unread_lines(self) -> list[str]:
        """The same, for people to read."""
        found = unread_lines(self.estimate, [*self._compiled, *self._kept])
        told = tells_draws(self.release.draws, "")
        unused, apart = f"not used by the estimate: {told}", f"not read: {told}"
        if told and self.rows_unknown:
            return [f"{unused}: {WITHOUT_ORDER}" if each.startswith(apart) else each for each in found]
        return [each.replace(apart, unused, 1) if told else each for each in found]

    @property
    def summary(self) -> dict[str, Any]:
        """The object of ``maxent review --json``: plain numbers, strings, lists, dictionaries; a copy.

        ``model`` is that of ``maxent convert``, ``audit`` that of `maxent.audit`, ``estimate`` that of
        `maxent.estimate`, None without one; ``verdict``; ``unread``, and its ``worst_case``; ``row_equations`` of rows
        in training order; ``unsolved`` without an estimate, ``weaker`` where it leaves out private splits;
        ``refined`` what came out otherwise than in the first answer.
        """
        own: dict[str, Any] = {
            "model": {"name": self.name, **self.converted.summary},
            "reliable": self.reliable,
            "audit": self.audit.summary,
            "estimate": None if self.estimate is None else self.estimate.summary,
            "verdict": self.verdict().as_dict(),
            "ladder": [rung.as_dict() for rung in self.ladder],
            **self.unread,
        }
        if own["estimate"] is not None and "row_equations" in own["estimate"]:
            own["row_equations"] = dict(own["estimate"]["row_equations"])
        if self.register is not None:
            own["membership"] = self.register.membership
        if self.unsolved:
            own["unsolved"] = self.unsolved
        if self.weaker:
            own["weaker"] = WITHOUT_PRIVATE
        if refined := self.refined:
            own["refined"] = refined
        return own

    def report(self, path: str | PathLike[str], *, title: str = "", purpose: str = "") -> None:
        """Write a report for whoever decides: one .html file, for any browser.

        Parameters
        ----------
        path : path
        title, purpose : str
            The title, and what the model is for.
        """
        from maxent.models.files.result_files import REPORT

        check_outputs({"report": (os.fspath(path), REPORT)})
        write_text(path, self._html(title, purpose))

    def record(
        self,
        path: str | PathLike[str] | None = None,
        *,
        title: str = "",
        purpose: str = "",
        written: Mapping[str, str | PathLike[str] | None] | None = None,
    ) -> dict[str, Any]:
        """The record of the review, as ``maxent review --record`` writes it, which `maxent.verify` computes again.

        Parameters
        ----------
        path : path, optional
            Where to write it: a .json file. Paths in it are from its folder. A file that says the same already,
            but for its date and the decision, is left as it is, and returned.
        title, purpose : str
            The title, and what the model is for.
        written : mapping, optional
            Files of the same review that are hashed, too: ``report``, ``dossier``, ``dossier_public``.
        """
        if self.recording is None:
            raise invalid("record", ARGUMENT, "model", "a review of files: a record has their hashes", "another one")
        return self.recording(self, path, title, purpose, written)

    def _accounts(self) -> Sequence[Account]:
        from maxent.results.html_report.dossier import Account

        verdict = self.verdict()
        recording = self.recording if self.recording is not None and self.recording.of_files else None
        record = None if recording is None else partial(recording, self)
        checks = verdict.as_dict()["checks"]
        mend = verdict.releases[0].mend
        return [Account(self, verdict.announced, verdict.status, checks, self.ladder, record=record, mend=mend)]

    def _html(self, title: str, purpose: str) -> str:
        from maxent.results.html_report.build import Gatherer
        from maxent.results.html_report.provenance import provenance

        if self.estimate is None:
            expected = "a review with an estimate: give it more time (time_limit=), or review fewer trees"
            raise invalid("report", "review", "estimate", expected, self.unsolved)
        gatherer = Gatherer(int(self.asked.options.get("top") or 10))
        gatherer(self.estimate, self.proved_row)
        verdict = self.verdict()
        by_name = isinstance(self.asked.call, str)
        options = {**self.asked.options, **verdict.limits.as_dict()}
        source = provenance([] if by_name else self.asked.call, options, self.asked.inputs, gatherer.backends)
        if isinstance(self.asked.call, str):
            source = replace(source, command=self.asked.call)
        lost = tuple(f"lost in reading the model: {sentence}" for sentence in self.converted.lost)
        notes = (*lost, *[WITHOUT_PRIVATE] * self.weaker, *[self.beside] * bool(self.beside))
        interrupted = self.estimate.outcome.status == "interrupted"
        texts = {"title": title, "purpose": purpose}
        return gatherer.report(verdict, source, notes, interrupted=interrupted, ladder=self.ladder, **texts)

    def save(self, path: str | PathLike[str], *, csv_literal: bool = False) -> None:
        """Write the summary with the posterior (.json), or the posterior alone (.csv, .parquet), atomically.

        Parameters and errors are those of `maxent.results.estimate.Estimate.save`; a table needs an estimate.
        """
        _save(path, self.summary, self.estimate, ("", self.unsolved), csv_literal)

    def _display(self) -> Display:
        """A row for each number, and the verdict below."""
        model = _model(self)
        more = [*parts_in_words(self.release.trees), *self.unread_lines, *_lost(self, LONGEST_LIST)]
        below = [model, *more, _worth(self)]
        verdict = _verdict(self) or [f"verdict: {LIMIT_WORDS['not stated']}"]
        drawn = None if self.estimate is None else people_by_probability(self.estimate)
        lines, rows = _lines(self, 1), list(_rows(self))
        return Display(_title(self), lines, ("measure", "value"), rows, below, verdict, drawn)


# Reviews of a model of several sensitive columns: each by itself, and what is inferred of all together.


@dataclass(frozen=True, eq=False, repr=False)
class SeveralReviews(Exchanged, Summarised):
    """A model of several sensitive columns that was reviewed before its publication.

    Attributes
    ----------
    reviews : mapping of str to Review
        That of each sensitive column, by its name.
    joint : Inference or None
        What is inferred of all columns together: ``.posterior``, ``.probabilities`` and ``.disclosure``, whose classes
        are the combinations of theirs. A limit that each column keeps is kept by these, too: no combination is more
        likely than a class that it has. None where private attributes decide on leaves, and of many combinations.
    left_out : str
        Why there is no ``joint``; empty where there is one.
    """

    reviews: Mapping[str, Review]
    joint: Inference | None
    left_out: str = ""

    def _handover(self) -> Handover:
        return handed_over(self, self.verdict().as_dict(), list(self.reviews.values()), "review")

    def _accounts(self) -> Sequence[Account]:
        found = [account for review in self.reviews.values() for account in review._accounts()]
        told = []
        for name, account in zip(self.reviews, found, strict=True):
            others = " and ".join(other for other in self.reviews if other != name)
            together = account.review.beside or f"what is inferred of all columns together, as {self.left_out}"
            told.append(replace(account, beside=f"of {others} there is a dossier by itself; {together}"))
        return told

    def record(
        self,
        path: str | PathLike[str] | None = None,
        *,
        title: str = "",
        purpose: str = "",
        written: Mapping[str, str | PathLike[str] | None] | None = None,
    ) -> dict[str, dict[str, Any]]:
        """The record of each column, by its name: ``record.json`` becomes ``record-1.json`` and so on.

        Parameters are those of `Review.record`.
        """
        count = len(self.reviews)
        files: Sequence[str | None] = [None] * count if path is None else report_names(path, count)
        beside = {role: report_names(file, count) for role, file in (written or {}).items() if file is not None}
        found = {}
        for i, (name, review) in enumerate(self.reviews.items()):
            own = {role: names[i] for role, names in beside.items()}
            found[name] = review.record(files[i], title=title, purpose=purpose, written=own)
        return found

    @property
    def reliable(self) -> bool:
        """Whether every review can be relied on."""
        return all(review.reliable for review in self.reviews.values())

    @property
    def trouble(self) -> str:
        """Why the reviews are not to be relied on; empty where they are."""
        found = {name: review.trouble for name, review in self.reviews.items()}
        return "; ".join(f"{name}: {trouble}" for name, trouble in found.items() if trouble)

    @property
    def noticed(self) -> Noticed:
        """What was noticed while the model and the table were read."""
        first, *others = (review.noticed for review in self.reviews.values())
        for other in others:
            first = first.joined(other)
        return first

    @property
    def solved(self) -> bool:
        """Whether there is an estimate of each column."""
        return all(review.estimate is not None for review in self.reviews.values())

    def verdict(self, adversary: str | None = None, **limits: Any) -> Verdict:
        """The verdict on each column; parameters and errors are those of `Review.verdict`."""
        found = [review.verdict(adversary, **limits) for review in self.reviews.values()]
        rungs = tuple(rung for verdict in found for rung in verdict.rungs)
        return Verdict(found[0].limits, tuple(judged for verdict in found for judged in verdict.releases), rungs)

    @property
    def summary(self) -> dict[str, Any]:
        """The object of ``maxent review --json``: plain numbers, strings, lists, dictionaries; a copy.

        ``targets`` has the summary of each review; ``joint`` is None where ``left_out`` says why.
        """
        own: dict[str, Any] = {
            "reliable": self.reliable,
            "targets": {name: review.summary for name, review in self.reviews.items()},
            "joint": None if self.joint is None else inferred_numbers(self.joint),
        }
        return own | ({"left_out": self.left_out} if self.left_out else {}) | self.verdict().summary

    def report(self, path: str | PathLike[str], *, title: str = "", purpose: str = "") -> tuple[str, ...]:
        """Write a report on each column: ``report.html`` becomes ``report-1.html``, ``report-2.html`` and so on.

        Returns
        -------
        tuple of str
            The names of the files.
        """
        files = report_names(path, len(self.reviews))
        for file, review in zip(files, self.reviews.values(), strict=True):
            review.report(file, title=title, purpose=purpose)
        return files

    def save(self, path: str | PathLike[str], *, csv_literal: bool = False) -> None:
        """Write the summary with all posteriors (.json), or the joint posterior alone (.csv, .parquet), atomically.

        Parameters and errors are those of `maxent.results.estimate.Estimate.save`; a table needs a ``joint``.
        """
        _save(path, self.summary, self.joint, ("joint ", self.left_out), csv_literal)

    def _display(self) -> Display:
        return several_display(self)


def _save(
    path: str | PathLike[str],
    summary: dict[str, Any],
    inferred: Inference | None,
    without: tuple[str, str],
    csv_literal: bool,
) -> None:
    """Write a summary with a posterior; ``without`` is which posterior there is not, and why."""
    from maxent.models.files.result_files import save_document, save_frame

    if inferred is not None:
        frame = inferred.posterior
        save_frame(path, frame, lambda rows: {**summary, "posterior": rows}, REVIEW, csv_literal=csv_literal)
    elif os.fspath(path).lower().endswith(".json"):
        save_document(path, {**summary, "posterior": None}, REVIEW)
    else:
        which, why = without
        raise invalid("output", ARGUMENT, "path", f"a .json file, as there is no {which}posterior", why)


# The same as text; nothing is computed here.

# Keys of the measures in the table; a measure without a value has no row.
SHOWN = (
    *("certain", "max_posterior", "bayes_vulnerability", "right_guesses", "base_rate", "uniform", "divergence"),
    *("homogeneous_individuals", "exposed", "min_population"),
)

# Sentences on what was lost that a console shows.
LONGEST_LIST = 3


def print_review(review: Review) -> None:
    """Print what was reviewed, what it discloses, and the verdict, to standard output."""
    lines = [*_lines(review, len(review.converted.lost)), *ladder_lines(review.ladder, review.knowledge)]
    print_lines([_title(review), *(f"  {line}" for line in lines)])


def print_several(several: SeveralReviews) -> None:
    """Print the reviews of several sensitive columns, and what is inferred of all together, to standard output."""
    shown = several_display(several, every=True)
    print_lines([shown.title, *(f"  {line}" for line in shown.lines)])


def several_display(several: SeveralReviews, *, every: bool = False) -> Display:
    """Reviews of several sensitive columns, in a console and in a notebook; ``every`` sentence on what was lost."""
    reviews = list(several.reviews.values())
    names = " and ".join(several.reviews)
    verdict = several.verdict()
    lines = verdict.lines() or [f"verdict: {LIMIT_WORDS['not stated']}"]
    told = "" if several.joint is None else target_line(several.joint, "together")
    lines.append(told or f"{names} together: left out, as {several.left_out}")
    for name, review in several.reviews.items():
        lines.append(f"{name} by itself:")
        lines += [f"  {line}" for line in _measured(review, len(review.converted.lost) if every else 1)]
        lines += [f"  {line}" for line in ladder_lines(review.ladder, review.knowledge)] * every
    numbers = {name: dict(_rows(review)) for name, review in several.reviews.items()}
    titles = dict.fromkeys(title for found in numbers.values() for title in found)
    rows = [[title, *(found.get(title, "-") for found in numbers.values())] for title in titles]
    first = verdict.lines() or lines[:1]
    title = f"Review about {names}: each by itself, {reviews[0].individuals:,} people"
    return Display(title, lines, ("measure", *several.reviews), rows, lines[len(first) :], first)


def _title(review: Review) -> str:
    release = review.release
    trees = counted(len(release.published), "tree") if release.published else "statements"
    return f"Review of {review.name} about {release.target.name}: {trees}, {review.individuals:,} people"


def _lines(review: Review, most: int) -> list[str]:
    """The review in plain language; the verdict comes first, so that no cut takes it away."""
    return [*(_verdict(review) or [f"verdict: {LIMIT_WORDS['not stated']}"]), *_measured(review, most)]


def _measured(review: Review, most: int) -> list[str]:
    """The numbers of a review, and what they are worth."""
    numbers = [f"{title} {value}" for title, value in _rows(review)]
    half = (len(numbers) + 1) // 2
    return [
        *("; ".join(part) for part in (numbers[:half], numbers[half:]) if part),
        *([] if review.estimate is None else map(target_line, review.estimate.targets.values())),
        _worth(review),
        _model(review),
        *parts_in_words(review.release.trees),
        *([] if review.register is None else [review.register.words]),
        *review.unread_lines,
        *_lost(review, most),
    ]


def _rows(review: Review) -> Iterator[tuple[str, str]]:
    """Names and values of the numbers that are known, with what is proved."""
    row = review.proved_row
    worse = {
        "certain": worse_certain(row.get("certain"), *proved_in(row))[0],
        "max_posterior": worse_posterior(row.get("max_posterior"), *proved_in(row))[0],
    }
    for key in SHOWN:
        value = worse.get(key, row.get(key))
        of_leaves = key == "homogeneous_individuals"
        if value is not None and (review.release.published or not of_leaves):
            title = "people in leaves of one class" if of_leaves else MEASURES[key].title
            yield title, MEASURES[key].text(value)


def _model(review: Review) -> str:
    """The model, and what of it leaves state."""
    stated = [name for name, there in review.converted.states.items() if there]
    leaves = counted(sum(tree.n_leaves for tree in review.release.published), "leaf", "leaves")
    published = review.asked.options.get("published_as")
    as_other = f"; {published_words(published)}" if published else ""
    what = f"{leaves}, " if review.release.published else ""
    return f"{what}{review.converted.tool}; stated: {', '.join(stated) or 'splits only'}{as_other}"


def _lost(review: Review, most: int) -> list[str]:
    return review.converted.losses[:most]


def _worth(review: Review) -> str:
    """How far the estimate can be relied on."""
    if review.estimate is None:
        return f"no estimate: {review.unsolved}"
    told = f"estimate: {worth(review.estimate)}"
    return f"{told}; without what private splits tell: an adversary may infer more" if review.weaker else told


def _verdict(review: Review) -> list[str]:
    verdict = review.verdict()
    if verdict.status == "not stated":
        return []
    head, *checks = verdict.lines()
    return [head, *(check.strip().removeprefix(f"{review.name}: ") for check in checks)]
