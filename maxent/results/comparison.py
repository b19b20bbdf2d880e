"""The result of a comparison: a row per release, with its disclosure, findings of attacks, and accuracy."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from maxent.disclosure.inference import Individuals
from maxent.disclosure.limits import Limits, Mend, Verdict, judge_informed, limits_of
from maxent.disclosure.measures import MEASURES
from maxent.models.display import Display, Picture, Summarised, counted
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.files.json_files import strict
from maxent.models.files.output import COMPARISON
from maxent.models.reading import NOTHING, Noticed
from maxent.models.release import Release
from maxent.models.tables.cells import value_in_words
from maxent.results.reliability import unwarned
from maxent.results.solved import Drawing, assessed_numbers, described
from maxent.results.text.estimate import evidence_lines
from maxent.results.text.terminal import aligned, print_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

    from maxent.models.trees.predict import Score
    from maxent.results.estimate import Estimate


# Keys of the measures that are told of each of several sensitive columns.
_ALONE = ("divergence", "certain", "max_posterior", "bayes_vulnerability", "base_rate", "uniform")
# Releases side by side however narrow the terminal is.
_NARROWEST = 2
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
        from maxent.results.html_report.build import Gatherer, save_report
        from maxent.results.html_report.view import check_report

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
        """A line per release in a console, a row per release in a notebook."""
        shown = sorted((m for m in MEASURES.values() if m.brief and _known(self, m.key)), key=lambda m: m.brief)
        header = ["release", "status", *(m.title for m in shown)]
        rows = [
            [str(row["release"]), row["status"], *("-" if row[m.key] is None else m.text(row[m.key]) for m in shown)]
            for row in self.rows
        ]
        more = [*_blind_lines(self), *_target_lines(self), *_evidence_lines(self)]
        more += [f"note: {note}" for note in (*self.noticed.notes, *self.notes)]
        title = f"Comparison of {counted(len(rows), 'release')}"
        certain = [(str(row["release"]), float(row["certain"])) for row in self.rows if row.get("certain") is not None]
        drawn = Picture("individuals whose class is certain", certain) if certain else None
        return Display(title, aligned(header, rows, left=2) + more, header, rows, more, picture=drawn)

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
    """All that is said of one release, see `Comparison`; ``bits`` are the fewest and the mean."""
    row: dict[str, Any] = {
        "release": name,
        "defense": described(release),
        **assessed_numbers(result, attacks),
        "fewest_bits": bits[0],
        "mean_bits": bits[1],
    }
    if "divergence" in result.disclosure.measures:
        row["train_accuracy"] = None if scores.train is None else scores.train.accuracy
    if tested:
        row["test_accuracy"] = None if scores.test is None else scores.test.accuracy
    row["most_disclosed"] = _most_disclosed(result, top) if most_disclosed is None else list(most_disclosed)
    return row


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


# The same as text: a line per measure, a column per release.


def print_comparison(comparison: Comparison) -> None:
    """Print the measures of every release with the change against the first, and who is known best."""
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for block in _blocks(comparison, columns):
        print_lines([*block, ""])
    people: dict[str, list[str]] = {}
    for row in comparison.rows:
        people.setdefault(_person(row["most_disclosed"][0]), []).append(row["release"])
    print_lines(f"most disclosed by {', '.join(names)}: {person}" for person, names in people.items())
    print_lines(_target_lines(comparison))
    print_lines(_evidence_lines(comparison))
    print_lines(f"note: {note}" for note in comparison.notes)


def _blocks(comparison: Comparison, columns: int | None) -> list[list[str]]:
    """The table, in as many parts as it takes to fit into some columns; each has the first release."""
    rest = list(range(1, len(comparison.rows)))
    size = len(rest)
    while True:
        parts = [rest[i : i + size] for i in range(0, len(rest), size)] if rest else [[]]
        blocks = [_table(comparison, [0, *part]) for part in parts]
        if size < _NARROWEST or columns is None or max(len(line) for block in blocks for line in block) <= columns:
            return blocks
        size -= 1


def _blind_lines(comparison: Comparison) -> Iterator[str]:
    """What guesses without a release achieve, once where releases do not differ in that."""
    told: dict[str, list[str]] = {}
    for row in comparison.rows:
        known = [(MEASURES[key], row.get(key)) for key in ("base_rate", "uniform")]
        parts = [f"{measure.title} {measure.text(value)}" for measure, value in known if value is not None]
        told.setdefault(", ".join(parts), []).append(str(row["release"]))
    for text, names in told.items():
        yield f"right guesses without a release: {text}" + (f" ({', '.join(names)})" if len(told) > 1 else "")


def _target_lines(comparison: Comparison) -> Iterator[str]:
    """What is inferred of each of several sensitive columns."""
    for row in comparison.rows:
        for each in row.get("targets", ()):
            told = (f"{MEASURES[key].title} {MEASURES[key].text(each[key])}" for key in _ALONE if key in each)
            yield f"{row['release']}, {each['target']} by itself: {'; '.join(told)}"


def _evidence_lines(comparison: Comparison) -> Iterator[str]:
    """What the disclosure by each release is compared with."""
    for row in comparison.rows:
        yield from (f"{row['release']}: {line}" for line in evidence_lines(row))


def _known(comparison: Comparison, key: str) -> bool:
    """Whether some release has a value."""
    return any(row.get(key) is not None for row in comparison.rows)


def _cells(comparison: Comparison, shown: Sequence[int], key: str, form: Callable[[Any], str]) -> Iterator[str]:
    """The values of a measure, each but the first with its change."""
    for i in shown:
        value = comparison.rows[i][key]
        yield "-" if value is None else form(value)
        if i:
            yield _change(comparison.changes[i].get(key), form)


def _change(change: float | None, form: Callable[[Any], str]) -> str:
    """A signed difference; nothing where there is none."""
    if change is None or not change:
        return ""
    text = form(abs(change))
    if not any(digit in text for digit in "123456789"):
        return ""
    return ("+" if change > 0 else "-") + text


def _person(entry: Mapping[str, Any]) -> str:
    """A quasi-identifier and what is known of it."""
    values = (f"{name}={value_in_words(value)}" for name, value in entry["qi"].items())
    people = "1 individual" if entry["count"] == 1 else f"{entry['count']:,} individuals"
    text = f"{', '.join(values)} ({people}): P({entry['class']}) = {entry['probability']:.3f}"
    return text + (f", divergence {entry['divergence']:.4f}" if "divergence" in entry else "")


def _table(comparison: Comparison, shown: Sequence[int]) -> list[str]:
    """Lines for some of the releases."""
    header = [""]
    for i in shown:
        header += [comparison.rows[i]["release"], *(["change"] if i else [])]
    lines: list[list[str]] = [[""] * len(header)]
    for key in ("defense", "status", "certificate"):
        if key != "defense" or any(row[key] for row in comparison.rows):
            lines.append([key, *_cells(comparison, shown, key, str)])
    group = ""
    for measure in MEASURES.values():
        if measure.line == "never" or measure.key not in comparison.rows[0]:
            continue
        if measure.line == "always" or any(row[measure.key] for row in comparison.rows):
            if measure.group != group:
                lines.append([""] * len(header))
            group = measure.group
            lines.append([measure.title, *_cells(comparison, shown, measure.key, measure.text)])
    return aligned(header, lines, left=1)
