"""Advice: the ranked candidates, the best release within the limits, and what each limit costs."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from maxent.disclosure.limits import NAMES, Limits, Status
from maxent.models.defenses.registry import methods
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.parameters import parameters_of
from maxent.models.reading import NOTHING, Noticed
from maxent.models.release import Release
from maxent.models.text.display import Display, Shown
from maxent.policy.concluded import Concluded

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

Row = Mapping[str, Any]

NEAREST = 3
"""Candidates that came nearest are named where none keeps the limits."""


@dataclass(frozen=True, eq=False, repr=False)
class Advice(Shown):
    """The most accurate release within limits, of all candidates that were tried.

    Attributes
    ----------
    rows : sequence of mapping
        A row per candidate, the best first, see docs/advise.md; also a DataFrame as ``table`` (or ``frame``).
    best : Release or None
        What may be published; None where no candidate keeps the limits.
    frontier : sequence of mapping
        For each limit the candidates that keep all others, of which none is better in both accuracy and what is
        limited: ``limit``, ``stated`` and ``points``.
    limits : Limits
    individuals, folds, seed : int
    qi : tuple of str
    target : str
    model : str
        The model that all candidates start from, empty where trees were grown.
    notes : tuple of str
        What the best release guarantees, in words.
    cost : str
        The file of costs that candidates are compared by, empty where accuracy counts.
    test_accuracy, test_cost : float or None
        Accuracy of the best release on people who took no part in anything, where they were given, and what its
        decisions cost about them per person.
    untried : sequence of mapping
        What methods can publish that is no candidate, and why: ``candidate`` and ``why``.
    cut : str
        Why not every candidate ran to its end; empty where they did.
    interrupted : bool
    noticed : Noticed
    """

    rows: Sequence[Row]
    best: Release | None
    frontier: Sequence[Row]
    limits: Limits
    individuals: int
    folds: int
    seed: int
    target: str
    qi: tuple[str, ...]
    private: tuple[str, ...] = ()
    model: str = ""
    notes: tuple[str, ...] = ()
    cost: str = ""
    test_accuracy: float | None = None
    test_cost: float | None = None
    untried: Sequence[Row] = ()
    cut: str = ""
    interrupted: bool = False
    noticed: Noticed = field(default=NOTHING)

    @property
    def winner(self) -> Row | None:
        """The row of the best candidate."""
        return next((row for row in self.rows if row["outcome"] == "best"), None)

    @property
    def nearest(self) -> tuple[Row, ...]:
        """Where none keeps the limits: the candidates that came nearest."""
        found = [row for row in self.rows if row["outcome"] in ("limit", "cannot_tell")]
        return () if self.winner is not None else tuple(found[:NEAREST])

    @property
    def reliable(self) -> bool:
        """Whether all candidates ran to their end, or the best was at least tested on all folds."""
        winner = self.winner
        return not self.cut or (not self.interrupted and winner is not None and winner["folds"] == self.folds)

    @property
    def outcomes(self) -> Mapping[str, int]:
        """Outcome -> number of candidates, in the order of the table."""
        return dict(Counter(row["outcome"] for row in self.rows))

    @property
    def table(self) -> DataFrame:
        """A row per candidate, the best first; a copy."""
        import pandas as pd

        flat = [{name: value for name, value in row.items() if name not in ("options", "checks")} for row in self.rows]
        return pd.DataFrame(flat)

    @property
    def frame(self) -> DataFrame:
        """`table`, as other results call it."""
        return self.table

    @property
    def command(self) -> str:
        """The call of maxent, without its name, that makes the same release; empty without one."""
        winner = self.winner
        if winner is None:
            return ""
        options = {**winner["options"], "private": ",".join(self.private), "from": self.model}
        takes = parameters_of(methods()[winner["method"]])
        if not self.model and "seed" in takes:
            options["seed"] = self.seed
        if "cost" in takes:
            options["cost"] = self.cost
        words = ["defend", winner["method"], "DATA", "--target", self.target, "--qi", ",".join(self.qi)]
        for name, value in options.items():
            if value is not False and value != "":
                words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
        return shlex.join([*words, "-o", "FILE"])

    @property
    def summary(self) -> dict[str, Any]:
        """The object of ``maxent advise --json``: plain numbers, strings, lists, dictionaries; a copy."""
        winner = self.winner
        best = None
        if winner is not None:
            tested = {"test_accuracy": self.test_accuracy, "test_cost": self.test_cost}
            best = {**winner, **tested, "defend": self.command, "notes": list(self.notes)}
        own = {
            "target": self.target,
            "qi": list(self.qi),
            "individuals": self.individuals,
            "folds": self.folds,
            "seed": self.seed,
            "model": self.model or None,
            "cost": self.cost or None,
            "limits": self.limits.as_dict(),
            "outcomes": dict(self.outcomes),
            "best": best,
            "nearest": [row["candidate"] for row in self.nearest],
            "candidates": list(self.rows),
            "untried": list(self.untried),
            "frontier": list(self.frontier),
            "reliable": self.reliable,
            "interrupted": self.interrupted,
            "cut": self.cut or None,
        }
        return deepcopy(own) | self.noticed.summary

    def to_dict(self) -> dict[str, Any]:
        """`summary`, as other libraries call it."""
        return self.summary

    def verdict(self, **limits: Any) -> Concluded:
        """Whether there is a release within the limits: without one ``fail``, or not known if the search was cut.

        Raises
        ------
        InvalidInput
            For limits: the search was for those of the call.
        """
        if limits:
            raise invalid("limits", ARGUMENT, next(iter(limits)), "none: those of the call count", "one")
        if not self.limits.stated:
            return Concluded("not stated")
        status: Status = "pass" if self.best is not None and self.reliable else "cannot_tell"
        if self.best is None and not self.cut and not self.interrupted:
            status = "fail"
        return Concluded(status, self._display().lines)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the best release, a maxent/1 JSON file.

        Raises
        ------
        InvalidInput
            When no candidate keeps the limits, or the file cannot be written.
        """
        if self.best is None:
            raise invalid("output", ARGUMENT, "path", "a release within the limits", "none")
        self.best.save(path)

    def save_table(self, path: str | PathLike[str], *, csv_literal: bool = False) -> None:
        """Write the ranked table (.csv, .parquet), or with everything else (.json), atomically."""
        from maxent.models.files.kinds import CANDIDATES
        from maxent.models.files.result_files import save_frame

        save_frame(path, self.table, lambda rows: self.summary, CANDIDATES, csv_literal=csv_literal)

    def report(self, path: str | PathLike[str], *, title: str = "", purpose: str = "") -> None:
        """Write a report for whoever decides: one .html file, for any browser, with the frontier as a picture.

        Raises
        ------
        InvalidInput
            For another suffix, or a place that cannot be written.
        """
        from maxent.advice.report import page
        from maxent.models.files.output import check_outputs, write_text
        from maxent.models.files.result_files import REPORT

        check_outputs({"report": (fspath(path), REPORT)})
        write_text(path, page(self, title, purpose))

    def plot(self, limit: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw accuracy, or cost, against what a limit is about, and the frontier; needs the extra ``plot``.

        Parameters
        ----------
        limit : str, optional
            One of the stated limits, the first by default.
        ax : matplotlib Axes, optional
            Axes to draw on.

        Raises
        ------
        InvalidInput
            For a limit that was not stated.
        MissingExtra
            Without matplotlib.
        """
        from maxent.plotting.frontier import draw_frontier

        return draw_frontier(ax, self.shown_frontier(limit), self.rows, NAMES)

    def shown_frontier(self, limit: str | None = None) -> Row:
        """The frontier of a limit, of the first by default."""
        found = {each["limit"]: each for each in self.frontier}
        if not found or (limit is not None and limit not in found):
            expected = f"one of {', '.join(found)}" if found else "an advice with limits"
            raise invalid("plot", ARGUMENT, "limit", expected, repr(limit))
        return found[limit or next(iter(found))]

    def _display(self) -> Display:
        from maxent.advice.text import advice_display

        return advice_display(self)
