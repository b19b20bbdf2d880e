"""Proved bounds for people to read; numbers are formatted here, none is computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from maxent.constraints.program.program import unread_in
from maxent.models.display import ROWS, Display, counted
from maxent.models.tables.cells import value_in_words
from maxent.results.text.estimate import SHOWN_CONTRADICTIONS, SHOWN_ROWS, in_sentence, kinds_line
from maxent.results.text.terminal import print_lines, print_table

if TYPE_CHECKING:
    from maxent.results.proof import Proof

# Status of bounds -> what it means.
STATUS = {
    "proved": "every level was asked all that was open",
    "time_limit": "stopped at the time limit: all bounds hold, those that were not asked may be loose",
    "interrupted": "interrupted: all bounds hold, those that were not asked may be loose",
    "solver_ended": "the solver ended, as it crashed or was killed: all bounds hold, those not asked may be loose",
    "inconsistent": "the statements contradict each other or the table: no bound says anything",
}


def print_bounds(found: Proof) -> None:
    """Print the bounds, or the tightest of them, and what is proved, to standard output."""
    told = {f"note: {note}" for note in found.noticed.notes}
    lines = [line for line in (*bounds_lines(found), *found.lines) if line not in told]
    if not found.listed:
        print_lines(lines)
        return
    shown, rest = tightest_rows(found)
    attributes = found.program.table.attributes
    header = _header(found)
    right = [i >= len(attributes) or attributes[i].type == "numeric" for i in range(len(header))]
    print_table(header, (_cells(found, row) for row in shown), right)
    print_lines([*rest, "", *lines])


def bounds_display(found: Proof) -> Display:
    """Bounds in a console and in a notebook: the tightest, and what is proved."""
    lines = [*bounds_lines(found), *found.lines]
    if not found.listed:
        return Display(f"Bounds on P({found.program.release.target.name} | leaf): {found.status}", lines)
    names = ", ".join(a.name for a in found.program.table.attributes)
    shown, _ = tightest_rows(found, ROWS)
    rest = len(found.order) - len(shown)
    return Display(
        f"Bounds on P({found.program.release.target.name} | {names}): {found.status}",
        lines,
        _header(found),
        [_cells(found, row) for row in shown],
        [f"... the tightest; .frame() has {rest} more quasi-identifiers"] * bool(rest) + lines,
    )


def tightest_rows(found: Proof, most: int = SHOWN_ROWS) -> tuple[list[int], list[str]]:
    """The quasi-identifiers to show (rows of the table), and a line that says what was left out."""
    if len(found.order) <= most:
        return found.order.tolist(), []
    surest = found.low[found.order].max(axis=1)
    order = np.lexsort((-found.program.table.counts[found.order], -surest))
    text = f"... the {most} surest of {len(order)} quasi-identifiers; -o FILE writes all of them"
    return found.order[order[:most]].tolist(), [text]


def bounds_lines(found: Proof) -> list[str]:
    """What is proved, in plain language."""
    program = found.program
    target = in_sentence(program.release.target.name)
    proved, undecided = found.certain_proved, found.individuals_open
    certain = f"the {target} of {proved:,} is proved" if proved else f"nobody's {target} is proved"
    people = counted(found.individuals, "individual")
    lines = [
        f"{people}, {counted(found.distinct, 'distinct quasi-identifier')}; {certain}",
        f"bounds differ for {counted(undecided, 'individual')}" if undecided else "all numbers of people are proved",
        "bounds proved by level: " + ", ".join(f"{number:,} {name}" for name, number in found.levels.items()),
        "constraints: " + kinds_line(found.constraints),
        f"{found.status}: {STATUS[found.status]}",
        *(each.in_words({"why": ""}) for each in unread_in(found.noticed, program)),
    ]
    lines += [f"note: {note}" for note in found.notes]
    contradictions: Sequence[object] = program.contradictions
    if contradictions:
        lines.append("contradictions:")
        lines += [f"  {each}" for each in contradictions[:SHOWN_CONTRADICTIONS]]
        if len(contradictions) > SHOWN_CONTRADICTIONS:
            lines.append(f"  and {len(contradictions) - SHOWN_CONTRADICTIONS} more")
    return lines


def _header(found: Proof) -> list[str]:
    names = [a.name for a in found.program.table.attributes]
    line = ["row"] * (found.program.row_equations is not None)
    return [*names, "count", *(f"P({name})" for name in found.program.release.target.classes), *line]


def _cells(found: Proof, row: int) -> list[str]:
    """A quasi-identifier, its individuals and the bounds of its probabilities as text."""
    table = found.program.table
    values = [level[code] for level, code in zip(table.levels, table.codes[row], strict=True)]
    each = zip(found.low[row].tolist(), found.high[row].tolist(), strict=True)
    spans = [f"{low:.3f}" if f"{low:.3f}" == f"{high:.3f}" else f"{low:.3f} to {high:.3f}" for low, high in each]
    line = [str(row + 1)] * (found.program.row_equations is not None)
    return [*map(value_in_words, values), str(table.counts[row]), *spans, *line]
