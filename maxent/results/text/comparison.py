"""Text of a comparison of releases (a line per measure, a column per release)."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from maxent.disclosure.measures import MEASURES
from maxent.models.display import Display, Picture, counted
from maxent.models.tables.cells import value_in_words
from maxent.results.text.estimate import evidence_lines
from maxent.results.text.terminal import aligned, print_lines

if TYPE_CHECKING:
    from maxent.models.reading import Noticed

# Keys of the measures that are told of each of several sensitive columns.
_ALONE = ("divergence", "certain", "max_posterior", "bayes_vulnerability", "base_rate", "uniform")
# Releases side by side however narrow the terminal is.
_NARROWEST = 2


class Comparison(Protocol):
    """The printed parts of `maxent.Comparison`."""

    @property
    def rows(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def changes(self) -> Sequence[Mapping[str, float | None]]: ...
    @property
    def notes(self) -> Sequence[str]: ...
    @property
    def noticed(self) -> Noticed: ...


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


def comparison_display(comparison: Comparison) -> Display:
    """A comparison in a console, a line per release, and in a notebook, a row per release."""
    shown = sorted((m for m in MEASURES.values() if m.brief and _known(comparison, m.key)), key=lambda m: m.brief)
    header = ["release", "status", *(m.title for m in shown)]
    rows = [
        [str(row["release"]), row["status"], *("-" if row[m.key] is None else m.text(row[m.key]) for m in shown)]
        for row in comparison.rows
    ]
    more = [*_blind_lines(comparison), *_target_lines(comparison), *_evidence_lines(comparison)]
    more += [f"note: {note}" for note in (*comparison.noticed.notes, *comparison.notes)]
    title = f"Comparison of {counted(len(rows), 'release')}"
    certain = [
        (str(row["release"]), float(row["certain"])) for row in comparison.rows if row.get("certain") is not None
    ]
    drawn = Picture("individuals whose class is certain", certain) if certain else None
    return Display(title, aligned(header, rows, left=2) + more, header, rows, more, picture=drawn)


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


# The result of a defense, as text.


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
