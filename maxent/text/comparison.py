"""Several releases side by side, as text: a line per measure, a column per release."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from maxent.models.reading import Noticed
from maxent.models.text.display import Display, counted
from maxent.text.bench import aligned
from maxent.text.terminal import print_lines

_DECIMALS, _PROBABILITY, _WHOLE = "{:.4f}".format, "{:.3f}".format, "{:,d}".format
_GROUPS: Sequence[Mapping[str, tuple[str, Callable[[Any], str]]]] = (
    {
        "defense": ("defense", str),
        "status": ("status", str),
        "certificate": ("certificate", str),
    },
    {
        "divergence": ("divergence overall, nats", _DECIMALS),
        "divergence_max": ("largest divergence", _DECIMALS),
        "divergence_top": ("mean of the largest", _DECIMALS),
        "divergence_min": ("smallest divergence", _DECIMALS),
        "infinite": ("infinite divergences", _WHOLE),
        "entropy": ("entropy left, nats", _DECIMALS),
        "bayes_vulnerability": ("Bayes vulnerability", _PROBABILITY),
        "max_posterior": ("largest posterior", _PROBABILITY),
        "certain": ("certain individuals", _WHOLE),
    },
    {
        "unique_leaves": ("unique leaves", _WHOLE),
        "homogeneous_leaves": ("homogeneous leaves", _WHOLE),
        "homogeneous_individuals": ("individuals in them", _WHOLE),
        "background_leaves": ("leaves settled by background", _WHOLE),
        "background_individuals": ("individuals in them", _WHOLE),
        "spans": ("spans", _WHOLE),
        "min_population": ("smallest span's individuals", _WHOLE),
        "exposed": ("exposed individuals", _WHOLE),
        "removed_leaves": ("removed leaves", _WHOLE),
        "recovered_leaves": ("recovered leaves", _WHOLE),
        "fewest_bits": ("fewest bits to re-identify", _DECIMALS),
        "mean_bits": ("mean bits", _DECIMALS),
    },
    {
        "leaves": ("leaves", _WHOLE),
        "gcp": ("global certainty penalty", _DECIMALS),
        "train_accuracy": ("train accuracy", _DECIMALS),
        "test_accuracy": ("test accuracy", _DECIMALS),
    },
)
"""Keys of the rows -> what a line is called, and how its values are written; a blank line parts the groups."""

_IF_ANY = ("defense", "infinite", "removed_leaves", "recovered_leaves", "fewest_bits", "mean_bits")
"""Lines that are left out when no release has anything to say there."""

_BRIEF = (
    "status",
    "divergence",
    "certain",
    "max_posterior",
    "bayes_vulnerability",
    "exposed",
    "leaves",
    "test_accuracy",
)
"""Lines that are columns where a comparison is shown in brief."""

_NARROWEST = 2
"""Releases side by side however narrow the terminal is."""


class Comparison(Protocol):
    """What `maxent.Comparison` has that is told of it."""

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
    print_lines(f"note: {note}" for note in comparison.notes)


def comparison_display(comparison: Comparison) -> Display:
    """A comparison in a console, a line per release, and in a notebook, a row per release."""
    forms = {key: (title, form) for group in _GROUPS for key, (title, form) in group.items() if key in _BRIEF}
    keys = [key for key in _BRIEF if any(row.get(key) is not None for row in comparison.rows)]
    header = ["release", *(forms[key][0] for key in keys)]
    rows = [
        [str(row["release"]), *("-" if row[key] is None else forms[key][1](row[key]) for key in keys)]
        for row in comparison.rows
    ]
    more = [f"note: {note}" for note in (*comparison.noticed.notes, *comparison.notes)]
    title = f"Comparison of {counted(len(rows), 'release')}"
    return Display(title, aligned(header, rows, left=2) + more, header, rows, more)


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


def _table(comparison: Comparison, shown: Sequence[int]) -> list[str]:
    """Lines for some of the releases."""
    header = [""]
    for i in shown:
        header += [comparison.rows[i]["release"], *(["change"] if i else [])]
    lines: list[list[str]] = []
    for group in _GROUPS:
        lines.append([""] * len(header))
        for key, (title, form) in group.items():
            if key in comparison.rows[0] and (key not in _IF_ANY or any(row[key] for row in comparison.rows)):
                lines.append([title, *_cells(comparison, shown, key, form)])
    return aligned(header, lines, left=1)


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
    values = (f"{name}={value if isinstance(value, str) else f'{value:.15g}'}" for name, value in entry["qi"].items())
    people = "1 individual" if entry["count"] == 1 else f"{entry['count']:,} individuals"
    text = f"{', '.join(values)} ({people}): P({entry['class']}) = {entry['probability']:.3f}"
    return text + (f", divergence {entry['divergence']:.4f}" if "divergence" in entry else "")
