"""Result of a check: every check of a policy with what was found, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Any

from maxent.disclosure.ladder import UNNAMED, Rung, ladder_lines
from maxent.disclosure.limits import (
    ADVERSARY,
    UNINFORMED,
    Status,
    Verdict,
    announced,
    by_status,
    published_words,
    unordered,
    worst,
)
from maxent.models.arguments import shorten_list
from maxent.models.display import Display, Summarised
from maxent.models.files.output import CHECKS
from maxent.models.files.result_files import save_frame
from maxent.policy.checks.registry import BY_KEY
from maxent.policy.concluded import Concluded
from maxent.policy.policy import ALWAYS
from maxent.policy.record import RecordedReview, Written, save_record
from maxent.results.exchange import Exchanged, Handover, handed_over
from maxent.results.html_report.dossier import Account
from maxent.results.html_report.view import save_brief
from maxent.results.text.estimate import people_by_probability

# Beginnings of ids of checks that are about the people of a release.
PEOPLE = ("MX1", "MX2", "MX3")
# One among them that is about settings of the training alone.
NOT_PEOPLE = ("MX120",)
# What is said of a policy without such checks.
NOBODY = "nothing is judged that is about the people: no check 1xx, 2xx or 3xx but MX120 counts"
# Keys of the summary of an estimate that are in that of a check, too.
_BESIDE = ("control", "wp216", "baseline")


@dataclass(frozen=True, eq=False, repr=False)
class Checked(Exchanged, Summarised, RecordedReview):
    """A release that was checked against a policy.

    Attributes
    ----------
    policy : Policy
    rows : tuple of Row
        The checks of the policy, in the order of the registry.
    review : Review
        Attacks and estimate.
    asked : Asked
    inputs : tuple of Hashed
        The files that were read.
    """

    def _handover(self) -> Handover:
        return handed_over(self, self.summary["verdict"], [self.review], "check")

    @property
    def status(self) -> Status:
        """``pass``, ``fail`` or ``cannot_tell``: the worst of the checks that count, no pass if none is on people."""
        found = worst([row.status for row in self.rows if not row.off])
        return found if found == "fail" or self._about_people else "cannot_tell"

    @property
    def mend(self) -> None:
        """Nothing: policies limit more than what is searched."""

    @property
    def _about_people(self) -> bool:
        """Whether any check that counts is about the people, not about the file and the numbers alone."""
        return any(
            row.check.id.startswith(PEOPLE) and row.check.id not in NOT_PEOPLE for row in self.rows if not row.off
        )

    @property
    def adversaries(self) -> tuple[str, ...]:
        """Whom limits name: the one with the table, unless all limits that count are about others."""
        return tuple(dict.fromkeys(name for name, _ in self._told)) or (ADVERSARY,)

    @property
    def _told(self) -> list[tuple[str, Status]]:
        """Whom each check that counts is about, and its status. What every policy asks of the table does not count."""
        always = {(BY_KEY[key].id, ADVERSARY) for key in ALWAYS}
        told = ((row.check.id, row.adversary, row.status) for row in self.rows if not row.off)
        return [(whom, status) for id_, whom, status in told if (id_, whom) not in always]

    @cached_property
    def ladder(self) -> tuple[Rung, ...]:
        """What five adversaries infer, always the same; the one with the table by all checks of the policy."""
        named = self.adversaries

        def own(rung: Rung) -> Rung:
            mine = [row for row in self.rows if not row.off and row.adversary == ADVERSARY]
            found: Any = worst([row.status for row in mine if row.check.id not in NOT_PEOPLE])
            if ADVERSARY not in named or not (self._about_people or found == "fail"):
                return replace(rung, status="not_assessed", why=UNNAMED)
            # What a check of the policy names, no limit of a review need.
            why = rung.why if rung.why != UNNAMED else ""
            open_ = [row.finding.said for row in mine if found == row.status == "cannot_tell"]
            return replace(rung, status=found, why=why or "; ".join(open_))

        return tuple(own(rung) if rung.adversary == ADVERSARY else rung for rung in self.review.ladder)

    @property
    def _no_marginal(self) -> bool:
        """Whether the adversary is taken not to know the base rate."""
        return bool(self.review.row.get("no_marginal"))

    @property
    def summary(self) -> dict[str, Any]:
        """The object of ``maxent check --json``: plain numbers, strings, lists, dictionaries; a copy."""
        whom = by_status(self.status, self._told) or (ADVERSARY,)
        verdict = {"status": self.status, "adversary": whom[0], "adversaries": list(whom)}
        own: dict[str, Any] = {
            "release": self.review.name,
            "policy": {"name": self.policy.name, "sha256": self.policy.sha256, "left_out": list(self.policy.left_out)},
            "reliable": self.reliable,
            "exit": self.exit_status,
            "verdict": {**verdict, "checks": [row.as_dict() for row in self.rows]},
            "ladder": [rung.as_dict() for rung in self.ladder],
            **self.review.unread,
        }
        if self.review.register is not None:
            own["membership"] = self.review.register.membership
        if self._no_marginal:
            own["verdict"]["marginal"] = False
        if reason := self.policy.rows_unknown:
            own["verdict"] |= {"rows": "unknown", "rows_reason": reason}
        if self.policy.never_passes:
            own["policy"]["never_passes"] = self.policy.never_passes
        if not self.reliable:
            own["trouble"] = self.review.trouble
        beside = {} if self.review.estimate is None else self.review.estimate.summary
        return deepcopy(own | {key: beside[key] for key in _BESIDE if key in beside})

    @property
    def lines(self) -> Sequence[str]:
        """The verdict and every check, for people to read."""
        found = [f"verdict: {announced(self.status, self.adversaries)}"]
        found += [f"  by {self.policy.name}"] * bool(self.policy.name)
        found += [f"  {self.policy.never_passes}"] * bool(self.policy.never_passes)
        found += [f"  {NOBODY}"] * (not self._about_people)
        found += [f"  {row.line}" for row in self.rows]
        if self._no_marginal:
            found.append(f"  {UNINFORMED}")
        if reason := self.policy.rows_unknown:
            found.append(f"  {unordered(reason)}")
        if sensitive := self.asked.options.get("sensitive") or self.policy.sensitive:
            found.append(f"  judged of these classes alone: {shorten_list(sensitive)}")
        if published := self.asked.options.get("published_as"):
            found.append(f"  {published_words(published)}")
        if not self.reliable:
            found.append(self.review.trouble)
        found += [] if self.review.register is None else [self.review.register.words]
        found += self.review.unread_lines
        found += ladder_lines(self.ladder, self.review.knowledge)
        return [*found, *(f"note: {sentence}" for sentence in self.policy.left_out)]

    def verdict(self, **limits: Any) -> Concluded | Verdict:
        """The verdict against the policy, or against limits if some are given.

        Parameters and errors are those of `maxent.results.estimate.Estimate.verdict`.
        """
        if limits:
            return self.review.verdict(**limits)
        return Concluded(self.status, self.lines, [row.as_dict() for row in self.rows])

    def report(self, path: str | PathLike[str], *, title: str = "", purpose: str = "") -> None:
        """Write a short report for whoever decides, with a line for each check: one .html file."""
        save_brief(path, title or self.asked.title or self.title, self.lines, purpose or self.asked.purpose)

    def _accounts(self) -> Sequence[Account]:
        checks, said = [row.as_dict() for row in self.rows], announced(self.status, self.adversaries)
        record = self.record if self.of_files else None
        texts = self.asked.title, self.asked.purpose
        why = NOBODY if self.status == "cannot_tell" and not self._about_people else ""
        own = self.policy.described
        return [Account(self.review, said, self.status, checks, self.ladder, texts, record, why=why, policy=own)]

    @property
    def title(self) -> str:
        """What was checked against what."""
        return f"{self.review.name}, checked against {self.policy.name or 'a policy'}"

    @property
    def of_files(self) -> bool:
        """Whether all that was checked is in files, so that there can be a record."""
        return not self.asked.unhashed(self.inputs)

    def record(self, path: str | PathLike[str] | None = None, *, written: Written | None = None) -> dict[str, Any]:
        """The record of the check, as ``maxent check --record`` writes it.

        Parameters
        ----------
        path : path, optional
            Where to write it: a .json file. Paths in it are from its folder. A file that says the same already,
            but for its date and the decision, is left as it is, and returned.
        written : mapping, optional
            Files of the same check that are hashed, too: ``report``, ``dossier``, ``dossier_public``.
        """
        return save_record(self, path, written)

    def save(self, path: str | PathLike[str], *, csv_literal: bool = False) -> None:
        """Write the summary (.json), or a row for each check (.csv, .parquet), atomically.

        Parameters and errors are those of `maxent.results.estimate.Estimate.save`.
        """

        def document(rows: list[dict[str, Any]]) -> dict[str, Any]:
            return self.summary

        save_frame(path, self.frame(), document, CHECKS, csv_literal=csv_literal)

    def frame(self) -> Any:
        """A DataFrame with a row for each check: id, key, limit, found, status, said, off."""
        import pandas as pd

        names = ("id", "key", "limit", "found", "status", "said", "off")
        cells = [{name: row.as_dict()[name] for name in names} for row in self.rows]
        texts = [{k: None if v is None else str(v) for k, v in row.items()} for row in cells]
        return pd.DataFrame(texts, columns=list(names), dtype=object)

    def _display(self) -> Display:
        rows = [[row.check.title, row.check.id, f"off: {row.off}" if row.off else row.status] for row in self.rows]
        drawn = None if self.review.estimate is None else people_by_probability(self.review.estimate)
        first = [self.lines[0]]
        return Display(self.title, self.lines, ("check", "number", "status"), rows, first=first, picture=drawn)
