"""The result of a comparison: a row per release, with its disclosure, findings of attacks, and accuracy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from maxent.disclosure.limits import Limits, Mend, Verdict, judge_informed, limits_of
from maxent.disclosure.measures import MEASURES, audited
from maxent.models.display import Display, Summarised
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.reading import NOTHING, Noticed
from maxent.results.reliability import unwarned
from maxent.results.solved import Drawing, described, estimate_numbers, sensitive_rows, target_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

    from maxent.disclosure.inference import Individuals
    from maxent.models.release import Release
    from maxent.models.trees.predict import Score
    from maxent.results.estimate import Estimate


# Keys of a row that are no cells of a table.
PARTS = ("most_disclosed", "targets", "control", "sensitive", "wp216", "leakage")


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Summarised):
    """Disclosure of several releases; the others are compared with the first.

    ``rows`` has a mapping per release, in the order given, all with the same keys; what is not known is None.

    - ``release``, its name; ``defense``, what it says was done to it;
    - ``status`` and ``certificate`` of the estimate, which is not to be relied on unless its status is ``optimal``;
    - ``individuals``, and the measures of `maxent.disclosure.measures`, by their keys. Divergences (nats, ``inf`` when
      infinite) and ``train_accuracy`` are there with a truth, ``test_accuracy`` with a test, ``gcp`` with generalised
      records; of those ``leaves`` are groups of rows that are alike, and the bits to re-identify somebody are None, as
      they are where leaves do not state how many records they have or the range of a number is not known;
    - ``control``, with control people, ``wp216``, with a truth, and ``leakage``, with a gain matrix, as ``maxent
      estimate --json`` has them;
    - ``most_disclosed``: the quasi-identifiers that the adversary is surest of and, as far as the truth is there,
      right about; a list of mappings ``qi``, ``count``, ``class``, ``probability`` (and ``divergence``);
    - ``targets``, of several sensitive columns: a list of mappings with the measures of each (``target``) by itself.

    ``notes`` say in words what else must be known; ``interrupted`` whether Ctrl-C ended the comparison early;
    ``people`` has what is known of the individuals for each row, which `plot` draws curves of; ``noticed`` is what was
    while releases and tables were read. ``mended`` has for each row a search for what would pass limits, and ``again``
    makes its estimate once more, which is not kept. ``judged_rows`` make of its row the one that decides verdicts, and
    ``drawings`` are how far somebody comes who computes draws.
    """

    rows: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...] = ()
    interrupted: bool = False
    people: tuple[Individuals, ...] = ()
    noticed: Noticed = NOTHING
    mended: tuple[Callable[[Limits], Mend] | None, ...] = ()
    again: tuple[Callable[[], Estimate], ...] = ()
    judged_rows: tuple[Callable[[Mapping[str, Any], Limits], Mapping[str, Any]], ...] = ()
    drawings: tuple[Drawing | None, ...] = ()

    @property
    def reliable(self) -> bool:
        """Whether every estimate can be relied on."""
        return all(row["status"] == "optimal" for row in self.rows)

    def verdict(self, **limits: Any) -> Verdict:
        """The verdict against limits on all releases but the first, with which the others are compared.

        Parameters and errors are those of `maxent.results.estimate.Estimate.verdict`.
        """
        return self.judged(limits_of(limits))

    def judged(self, limits: Limits, of: int | None = None) -> Verdict:
        """The same; ``of`` is how many releases there were to be, if some were not reached."""
        found = judge_informed(limits, self.rows, self.judged_rows or [None] * len(self.rows), of)
        found = found.reached(self.drawings) if self.drawings else found
        return found.mended(self.mended) if self.mended else found

    def report(self, path: str | PathLike[str], *, title: str = "", purpose: str = "", **limits: Any) -> None:
        """Write a report for whoever decides: one .html file, for any browser.

        The estimates, which are not kept, are made once more.

        Parameters and errors are those of `maxent.results.estimate.Estimate.report`.
        """
        from maxent.results.html_report.build import Gatherer, check_report, save_report

        verdict = self.verdict(**limits)
        check_report(path)
        if len(self.again) != len(self.rows):
            raise invalid("options", ARGUMENT, "report", "none of people who were taken in parts", str(path))
        gatherer = Gatherer(max((len(row["most_disclosed"]) for row in self.rows), default=0))
        with unwarned():
            for again, row in zip(self.again, self.rows, strict=True):
                gatherer(again(), row)
        notes = [*self.noticed.notes, *self.notes]
        call = "maxent.compare(...).report(...)"
        save_report(path, gatherer, verdict, call, notes, interrupted=self.interrupted, title=title, purpose=purpose)

    @property
    def changes(self) -> tuple[Mapping[str, float | None], ...]:
        """For every release each number less that of the first; None where one of them is not known or infinite."""
        first = self.rows[0]
        keys = ("individuals", *MEASURES)
        return tuple({key: _difference(row[key], first[key]) for key in keys if key in row} for row in self.rows)

    @property
    def summary(self) -> dict[str, Any]:
        """The object of ``maxent compare --json``: plain numbers, strings, lists, dictionaries, None for infinity."""
        from maxent.models.files.json_files import strict

        rows = [{**row, "change": change} for row, change in zip(self.rows, self.changes, strict=True)]
        notes = [*self.noticed.notes, *self.notes]
        own = {"reliable": self.reliable, "interrupted": self.interrupted, "notes": notes}
        return {"releases": strict(rows), **own, **self.noticed.summary}

    @property
    def frame(self) -> DataFrame:
        """One row per release, a column for each key but the lists and ``control``; what is not known is missing."""
        import pandas as pd

        return pd.DataFrame(_without_people(self.rows))

    def _display(self) -> Display:
        from maxent.results.text.comparison import comparison_display

        return comparison_display(self)

    def plot(self, kind: str = "bars", *, ax: Axes | None = None) -> Axes:
        """Draw the releases side by side.

        Parameters
        ----------
        kind : {"bars", "tradeoff", "posterior", "divergence"}
            ``bars``: what is disclosed, and accuracies; ``tradeoff``, with a truth: accuracy against the overall
            divergence, with a line for each method of several k; ``posterior`` and ``divergence`` (with a truth): the
            curves of `Estimate.plot`, one for each release.
        ax : matplotlib Axes, optional
            Where to draw; a new figure of pyplot by default, which is not shown.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        MissingExtra
            When matplotlib is not installed.
        """
        from maxent.plotting.comparisons import check_comparison_plot, draw_comparison, size_of
        from maxent.plotting.figures import axes_or_new

        check_comparison_plot(kind, self)
        axes = axes_or_new(ax, size_of(self, kind))
        draw_comparison(axes, self, kind)
        return axes

    def save(self, path: str | PathLike[str], *, csv_literal: bool = False) -> None:
        """Write the rows (.csv, .parquet) or the summary (.json), by suffix, atomically.

        Parameters and errors are those of `maxent.results.estimate.Estimate.save`.
        """
        from maxent.models.files.output import COMPARISON
        from maxent.models.files.result_files import save_rows

        whole = os.fspath(path).lower().endswith(".json")
        document = self.summary if whole else {"releases": _without_people(self.rows)}
        save_rows(document, "releases", path, COMPARISON, csv_literal=csv_literal)


@dataclass(frozen=True, slots=True)
class Scores:
    """Accuracies of a release on the truth and a test, where it predicts, with notes on them."""

    train: Score | None
    test: Score | None
    notes: tuple[str, ...]


def comparison_row(
    name: str,
    release: Release,
    result: Estimate,
    attacks: Mapping[str, Any],
    scores: Scores,
    top: int,
    *,
    tested: bool = False,
    bits: tuple[float | None, float | None] = (None, None),
    most_disclosed: Iterable[Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """All that is said of one release, see `Comparison`; ``bits`` are the fewest and the mean.

    ``most_disclosed`` are there already where people were taken in parts.
    """
    row: dict[str, Any] = {
        "release": name,
        "defense": described(release),
        **estimate_numbers(result),
        **audited(attacks),
        "fewest_bits": bits[0],
        "mean_bits": bits[1],
    }
    if "divergence" in result.disclosure.measures:
        row["train_accuracy"] = None if scores.train is None else scores.train.accuracy
    if tested:
        row["test_accuracy"] = None if scores.test is None else scores.test.accuracy
    row["most_disclosed"] = _most_disclosed(result, top) if most_disclosed is None else list(most_disclosed)
    return row | target_rows(result, attacks) | sensitive_rows(result, attacks)


def exposure_order(result: Estimate) -> npt.NDArray[np.int64]:
    """Quasi-identifiers, rows of the table, those first that an adversary is surest of and, with a truth, right about.

    Nats of doubt and of error are added up; of equal ones that with the most people comes first.
    """
    table, individual = result.program.table, result.disclosure.individual
    surest = result.probabilities.max(axis=1)
    hidden = -np.log(surest) if individual is None else individual - np.log(surest)
    return np.lexsort((table.lines, -table.counts, hidden)).astype(np.int64)


def _most_disclosed(result: Estimate, top: int) -> list[dict[str, Any]]:
    """The first quasi-identifiers of `exposure_order`, with what is inferred of them."""
    table, p, individual = result.program.table, result.probabilities, result.disclosure.individual
    surest = p.max(axis=1)
    order = exposure_order(result)[:top]
    classes = result.program.release.target.classes
    names = [attribute.name for attribute in table.attributes]
    listed = []
    for q in order.tolist():
        *values, count = result.row(q)[: len(names) + 1]
        entry = {
            "qi": dict(zip(names, values, strict=True)),
            "count": count,
            "class": classes[int(p[q].argmax())],
            "probability": float(surest[q]),
        }
        listed.append(entry if individual is None else {**entry, "divergence": float(individual[q])})
    return listed


def _difference(value: float | None, first: float | None) -> float | None:
    """Difference of a number from that of the first release, None where it has no meaning."""
    if value is None or first is None or not (isfinite(value) and isfinite(first)):
        return None
    return value - first


def _without_people(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows as a table has them: a list of people is no cell, nor is what has parts."""
    return [{key: value for key, value in row.items() if key not in PARTS} for row in rows]
