"""A rebuilt table for people to read; numbers are formatted here, none is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maxent.constraints.patterns.atoms import ANYTHING
from maxent.models.tables.columns.missing_values import value_in_words
from maxent.models.text.display import ROWS, Display, counted
from maxent.text.estimate import SHOWN_ROWS
from maxent.text.terminal import print_lines, print_table

if TYPE_CHECKING:
    from maxent.rebuilt.table import RebuiltTable

STATUS = {
    "likeliest": "the table agrees with all numbers and labels that are stated, and no other one that does is likelier",
    "consistent": "the table agrees with all numbers and labels that are stated; others may be likelier",
    "partial": "no table that agrees with all numbers and labels was found in time: this one is the nearest that was",
    "inconsistent": "no table of people agrees with all numbers and labels that are stated: this one is near",
}
"""Status -> what it means."""

SHOWN_MISSED = 10
"""Statements that are missed and spelled out."""

OPEN = "?"
"""Stands behind a value that is not proved."""


def print_reconstruction(found: RebuiltTable) -> None:
    """Print the first rows, and what is proved of them, to standard output."""
    print_table(found.columns, _rows(found, SHOWN_ROWS), [False] * len(found.columns))
    rest = len(found.value) - SHOWN_ROWS
    more = [f"... {counted(rest, 'more row')}; -o FILE writes all of them"] if rest > 0 else []
    print_lines([*more, "", *reconstruction_lines(found)])


def reconstruction_display(found: RebuiltTable) -> Display:
    """A table in a console and in a notebook: its first rows, and what is proved."""
    lines = reconstruction_lines(found)
    return Display(f"Table of {found.columns[-1]}: {found.status}", lines, found.columns, _rows(found, ROWS), lines)


def reconstruction_lines(found: RebuiltTable) -> list[str]:
    """What is proved, in plain language."""
    facts = found.summary
    individuals = counted(facts["individuals"], "individual")
    settled = "" if found.settled or not found.reliable else "; there was no time to look for more"
    lines = [
        f"{individuals}; known of them: {', '.join(facts['known']) or 'nothing'}",
        f"proved: {facts['cells_proved']:,} of {counted(facts['cells'], 'unknown cell')}, and all of "
        f"{counted(facts['rows_proved'], 'row')} ({OPEN}: not proved){settled}",
        f"{found.status}: {STATUS[found.status]}",
    ]
    if found.sampled:
        lines.append(f"note: people could be of too many kinds; {found.patterns:,} of the likelier were looked at")
    lines += [f"note: {note}" for note in found.notes]
    if found.missed:
        lines.append(f"missed: {len(found.missed):,} of {counted(found.statements, 'statement')}")
        lines += [f"  {each}" for each in found.missed[:SHOWN_MISSED]]
        if len(found.missed) > SHOWN_MISSED:
            lines.append(f"  and {len(found.missed) - SHOWN_MISSED:,} more")
    return lines


def _rows(found: RebuiltTable, most: int) -> list[list[str]]:
    """The first rows as text."""
    rows = found.table.head(most).itertuples(index=False, name=None)
    return [
        [_cell(cell, sure) for cell, sure in zip(row, proved, strict=True)]
        for row, proved in zip(rows, found.shared[:most].tolist(), strict=True)
    ]


def _cell(cell: str | float, proved: bool) -> str:
    """A cell as text."""
    return value_in_words(cell) + ("" if proved or cell == ANYTHING else OPEN)
