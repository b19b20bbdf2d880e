"""The answer of `maxent.bounds`: what is proved of each quasi-identifier."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.disclosure.judging import judge_rows
from maxent.disclosure.limits import Verdict, limits_of
from maxent.models.tables.columns.column_names import own_names
from maxent.models.text.display import Display, Shown
from maxent.results.proof import Proof
from maxent.results.solved import unread_entries
from maxent.results.worlds import Worlds
from maxent.solvers.certainty.levels import level_names
from maxent.solvers.worlds.witness import Witness
from maxent.text.bounds import bounds_display

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False, repr=False)
class ProvedBounds(Shown, Proof):
    """Smallest and largest P(class | quasi-identifier) over all data consistent with a release, proved.

    ``program``, ``bounds``, ``status``, ``level``, ``seconds``, ``noticed``, `low`, `high`, `certain`,
    `certain_proved`, `individuals_open`, `proved_by`, `levels`, `order` and `notes` are those of
    `maxent.results.proof.Proof`.

    Attributes
    ----------
    worlds : Worlds, optional
        The posterior that weighs each world equally, beside the estimate; None unless asked for.
    witness : Witness, optional
        Masses of two worlds that are consistent with everything; None unless asked for, and where none was found.
    unwitnessed : str, optional
        Why there is no witness that was asked for.
    """

    worlds: Worlds | None = None
    witness: Witness | None = None
    unwitnessed: str | None = None

    @property
    def summary(self) -> dict[str, Any]:
        """The JSON summary: plain numbers, strings, lists, dictionaries; a copy."""
        return deepcopy(self._summary)

    @cached_property
    def _summary(self) -> dict[str, Any]:
        summary: dict[str, Any] = {
            "individuals": self.individuals,
            "distinct_qi": self.distinct,
            "classes": self.program.n_classes,
            "constraints": self.constraints,
            "certain_proved": self.certain_proved,
            **self.as_dict(),
            "ties": self.program.ties,
        }
        if self.worlds is not None:
            summary["worlds"] = self.worlds.summary
        if self.witness is not None or self.unwitnessed is not None:
            summary["witness"] = self.witness is not None
        if self.notes:
            summary["notes"] = list(self.notes)
        summary |= self.noticed.summary
        if self.program.contradictions:
            summary["contradictions"] = [
                {"origin": str(c.origin), "says": c.says, "amount": c.amount, "unit": c.unit}
                for c in self.program.contradictions
            ]
        return summary

    def verdict(self, **limits: Any) -> Verdict:
        """The verdict against limits, as far as proofs alone can tell: ``max_certain``; of others it cannot be told.

        Parameters and errors are those of `maxent.results.estimate.Estimate.verdict`.
        """
        row: dict[str, Any] = {"release": "release", "status": "optimal" if self.reliable else self.status}
        row |= {"certain_proved": self.certain_proved, "certain_at_most": self.certain_at_most}
        row["unread"] = unread_entries(self.program)
        row["no_marginal"] = True  # proofs are of what is stated, and no estimate
        [judged] = judge_rows(limits_of(limits), [row]).releases
        return Verdict(limits_of(limits), (replace(judged, no_marginal=False),))

    def to_dict(self) -> dict[str, Any]:
        """`summary`, as other libraries call it."""
        return self.summary

    def report(self, path: str | PathLike[str], *, title: str = "", purpose: str = "", **limits: Any) -> None:
        """Write a short report for whoever decides: one .html file, for any browser.

        Parameters and errors are those of `maxent.results.estimate.Estimate.report`.
        """
        from maxent.html_report.build import save_brief

        verdict = self.verdict(**limits)
        save_brief(
            path, title or "Proved bounds", [*verdict.lines(), *str(self._display().text()).split("\n")], purpose
        )

    def frame(self) -> DataFrame:
        """One row per distinct quasi-identifier and class, in the order in which they were read.

        Columns: the public attributes, ``count``, ``class``, ``low`` and ``high`` (P(class | quasi-identifier)), and
        ``proved_by``, the level that proved them. With `worlds` also ``worlds`` and ``estimate``: the probabilities
        with each world equally likely, nothing where that is not known, and as estimated. Names that an attribute has
        already get the prefix ``maxent_``.
        """
        import pandas as pd

        program, order = self.program, self.order
        n_classes, names = program.n_classes, np.array(level_names(), object)
        people = program.table.frame()
        rows = people.iloc[np.repeat(order, n_classes)].reset_index(drop=True)
        ours = [
            np.tile(np.array(program.release.target.classes, object), len(order)),
            self.low[order].ravel(),
            self.high[order].ravel(),
            names[self.proved_by[order].ravel()],
        ]
        names_of_ours = ["count", "class", "low", "high", "proved_by"]
        if self.worlds is not None:
            known = np.where(self.worlds.known[:, None], self.worlds.weighed.posterior, np.nan)
            ours += [known[order].ravel(), self.worlds.estimate[order].ravel()]
            names_of_ours += ["worlds", "estimate"]
        columns = [rows.iloc[:, i] for i in range(rows.shape[1])] + [pd.Series(values) for values in ours]
        attributes = [a.name for a in program.table.attributes]
        table = pd.concat(columns, axis=1)
        added = own_names(names_of_ours, attributes)
        table.columns = pd.Index([*attributes, *added])
        return table

    @property
    def lines(self) -> list[str]:
        """What is said of worlds and witnesses, for people to read."""
        missing = [] if self.unwitnessed is None else [self.unwitnessed]
        return [*(() if self.worlds is None else self.worlds.lines()), *missing]

    def _display(self) -> Display:
        return bounds_display(self)

    def save(self, path: str | PathLike[str], *, csv_literal: bool = False) -> None:
        """Write `frame` (.csv, .parquet) or the summary with it as ``rows`` (.json), by suffix, atomically.

        Parameters and errors are those of `maxent.results.estimate.Estimate.save`.
        """
        from maxent.models.files.kinds import BOUNDS
        from maxent.models.files.result_files import save_frame

        save_frame(path, self.frame(), lambda rows: {**self.summary, "rows": rows}, BOUNDS, csv_literal=csv_literal)
