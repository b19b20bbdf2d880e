"""Result of an audit: the findings, with a summary, tables and files as views."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.attacks.findings import Findings
from maxent.attacks.summary import summarise
from maxent.attacks.tables import anonymised_table, leaf_table, people_table
from maxent.disclosure.judging import judge_rows
from maxent.disclosure.limits import Limits, Verdict, limits_of
from maxent.disclosure.mend import Mend
from maxent.disclosure.registry import audited
from maxent.evidence.baseline import Baseline, base_numbers, base_of, baseline_of
from maxent.models.text.display import Display, Shown, counted

if TYPE_CHECKING:
    from pandas import DataFrame


def _copied(value: Any) -> Any:
    """A copy of plain dictionaries and lists; less work than `copy.deepcopy` when leaves are many."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


class Audited(dict[str, Any]):
    """The summary of an audit, a mapping, with the views of the audit that it is of."""

    def __init__(self, attacks: Any) -> None:
        super().__init__(attacks.summary)
        self.attacks = attacks

    def verdict(self, **limits: Any) -> Verdict:
        """The verdict against limits, see `Audit.verdict`."""
        found: Verdict = self.attacks.verdict(**limits)
        return found

    def report(self, path: str | PathLike[str], *, title: str = "", purpose: str = "", **limits: Any) -> None:
        """Write a short report, see `Audit.report`."""
        self.attacks.report(path, title=title, purpose=purpose, **limits)

    def to_dict(self) -> dict[str, Any]:
        """The summary as a plain dictionary; a copy."""
        return {key: _copied(value) for key, value in self.items()}

    def _repr_html_(self) -> str:
        found: str = self.attacks._repr_html_()
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """As the plain dictionary that it is."""
        return dict, (self.to_dict(),)


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Shown, Findings):
    """Structural attacks on a release.

    `summary` is the JSON summary; `leaves`, `individuals` and `table` are DataFrames. The findings behind them are
    the fields of `maxent.attacks.findings.Findings`. Of several sensitive columns they are about combinations of
    classes, and ``targets`` has the attacks on each column by its name. ``beside`` has what the findings are compared
    with, and those of some classes alone, by the keys of the summary; ``mended`` searches for what would pass limits.
    """

    targets: Mapping[str, Audit] = field(default_factory=dict)
    beside: Mapping[str, Any] = field(default_factory=dict)
    mended: Callable[[Limits], Mend] | None = None

    @property
    def summary(self) -> dict[str, Any]:
        """The JSON summary: plain numbers, strings, lists, dictionaries; a copy."""
        found: dict[str, Any] = _copied(self._summary)
        return found

    @cached_property
    def _summary(self) -> dict[str, Any]:
        alone = {name: found.summary for name, found in self.targets.items()}
        return summarise(self) | dict(self.beside) | ({"targets": alone} if alone else {})

    def verdict(self, **limits: Any) -> Verdict:
        """The verdict against limits, as far as attacks alone can tell: whether ``min_k`` is kept, and what is not.

        Nobody knows less than the base rate, where counts state it.

        Parameters and errors are those of `maxent.results.estimate.Estimate.verdict`.
        """
        return self.judged(limits_of(limits))

    def judged(self, limits: Limits, name: str = "release") -> Verdict:
        """The same, of a release by its name."""
        row: dict[str, Any] = {"release": name, **self._numbers}
        if self.targets:
            row["targets"] = [{"target": column, **found._numbers} for column, found in self.targets.items()]
        if "sensitive" in self.beside:
            alone, shares, classes = self.beside["sensitive"], self.baseline.shares, self.release.target.classes
            known = {} if shares is None else base_of(shares, [classes.index(each) for each in alone["classes"]])
            row["sensitive"] = {"exposed": alone.get("exposed"), **known}
        return judge_rows(limits, [row]).mended([self.mended])

    @property
    def _numbers(self) -> dict[str, Any]:
        """What limits are about, in a row."""
        return {**audited(self._summary), **base_numbers(self.baseline, self._people)}

    @cached_property
    def baseline(self) -> Baseline:
        """What somebody who has no release guesses right, as far as counts state how frequent classes are."""
        stated = [] if self.release.sampled or self.contradictions else [tree.classes for tree in self.trees]
        known = [bounds for bounds in stated if bounds is not None]
        n_classes = len(self.release.target.classes)
        if not (known and self._people):
            return baseline_of(n_classes, 1)
        low, high = np.max([low for low, _ in known], axis=0), np.min([high for _, high in known], axis=0)
        if self.people is None and low.sum() < high.sum():  # then it is not known how many people there are
            return baseline_of(n_classes, 1)
        return baseline_of(n_classes, self._people, low=low, high=np.minimum(high, self._people))

    @property
    def _people(self) -> int:
        """Individuals, of the table or else of the leaves."""
        return max(tree.records for tree in self.trees) if self.people is None else self.people.individuals

    def to_dict(self) -> dict[str, Any]:
        """`summary`, as other libraries call it."""
        return self.summary

    def report(self, path: str | PathLike[str], *, title: str = "", purpose: str = "", **limits: Any) -> None:
        """Write a short report for whoever decides: one .html file, for any browser.

        Parameters and errors are those of `maxent.results.estimate.Estimate.report`.
        """
        from maxent.html_report.build import save_brief

        verdict = self.verdict(**limits)
        save_brief(path, title or "Audit", [*verdict.lines(), *self.lines], purpose)

    @property
    def leaves(self) -> DataFrame:
        """One row per leaf, published or removed: what is known of its records, the attack it is open to.

        Columns: ``tree`` (from 1, when there are several), ``leaf`` (its id, None when removed), ``part_of`` (where
        some are parts of a leaf of the tool; the rest is then about all of its parts together), ``node`` and
        ``branch`` (from 1) that lead to it, ``n``, ``count(<class>)`` for each class, ``label``, ``recovered`` (whether
        inner nodes tell more than the leaf does), ``attack`` (of `ATTACKS`, empty for none) and ``disclosed``, the
        class it shows.
        """
        return leaf_table(self)

    @property
    def individuals(self) -> DataFrame | None:
        """One row per distinct quasi-identifier, in the order in which they were read; None without a table.

        Columns: the public attributes, ``count``; ``leaf`` and ``leaf_n``, its records (with several trees ``leaf 1``,
        ``leaf_n 1``, ...); ``span``, ``population`` (individuals of the span); ``attack`` (of `ATTACKS`, empty for
        none) and ``disclosed``, the class it shows.
        """
        return people_table(self)

    @property
    def table(self) -> DataFrame:
        """The release as an anonymised table: one row per equivalence class, which is a leaf.

        Columns: ``tree`` (when there are several), ``leaf``, ``part_of`` as in `leaves`, each attribute generalised
        (``Masters|Doctorate``, ``(37.5, 52]``, ``> 52``, ``*`` for anything), ``n``, ``count(<class>)`` for each class,
        ``label``; empty where the leaf says nothing.
        """
        return anonymised_table(self)

    @property
    def lines(self) -> tuple[str, ...]:
        """The summary in plain language."""
        from maxent.text.audit import audit_lines

        lines = [*audit_lines(self._summary, self.release.target.name, len(self.trees), self.private)]
        for name, found in self.targets.items():
            known = [line for line in lines if line.startswith("note: ")]
            lines += [f"{name} by itself:", *(f"  {line}" for line in found.lines[1:] if line not in known)]
        return tuple(lines)

    def _display(self) -> Display:
        from maxent.text.audit import audit_display

        return audit_display(f"Audit of {counted(len(self.trees), 'tree')}", self._summary, self.lines)

    def save(self, path: str | PathLike[str], *, csv_literal: bool = False) -> None:
        """Write `individuals`, or `leaves` without a table, by suffix (.csv, .parquet, .json with the summary).

        Parameters and errors are those of `maxent.results.estimate.Estimate.save`.
        """
        from maxent.models.files.kinds import AUDIT
        from maxent.models.files.result_files import save_frame

        found = self.leaves if self.individuals is None else self.individuals
        save_frame(path, found, lambda rows: {**self.summary, "rows": rows}, AUDIT, csv_literal=csv_literal)

    def save_table(self, path: str | PathLike[str], *, csv_literal: bool = False) -> None:
        """Write `table` by suffix (.csv, .parquet, .json); the rest is as in `save`."""
        from maxent.models.files.kinds import GROUPS
        from maxent.models.files.result_files import save_frame

        save_frame(path, self.table, lambda rows: {"rows": rows}, GROUPS, csv_literal=csv_literal)
