"""The difference of two successive releases for people to read; numbers are formatted here, none is computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from maxent.models.tables.columns.missing_values import value_in_words
from maxent.models.text.display import ROWS, Display, counted
from maxent.text.bounds import STATUS
from maxent.text.estimate import SHOWN_CONTRADICTIONS, SHOWN_ROWS, in_sentence
from maxent.text.terminal import print_lines, print_table

if TYPE_CHECKING:
    from maxent.successive.findings import Findings

STAYED = "stayed"


def print_successive(found: Findings) -> None:
    """Print who joined and left, what is known of them, and of whom else the difference tells something."""
    header, rows, rest = _rows(found, SHOWN_ROWS)
    if rows:
        print_table(header, rows, [name == "count" for name in header])
        print_lines([*rest, ""])
    print_lines(successive_lines(found))


def successive_display(found: Findings) -> Display:
    """The difference in a console and in a notebook."""
    header, rows, rest = _rows(found, ROWS)
    lines = successive_lines(found)
    title = f"Difference of {found.own[0]} and {found.own[1]}: {found.proof.status}"
    return Display(title, lines, header, rows, [*rest, *lines])


def successive_lines(found: Findings) -> list[str]:
    """What the releases tell together, in plain language."""
    summary = found.summary
    target = in_sentence(found.proof.program.release.target.name)
    lines = []
    for change in ("joined", "left", STAYED):
        told = summary[change]
        if not told["individuals"]:
            lines.append(f"nobody {change}")
            continue
        certain = told["certain_proved"]
        proved = f"the {target} of {certain:,} is proved" if certain else f"nobody's {target} is proved"
        only = f", of {told['by_difference']:,} only by both releases together" if told["by_difference"] else ""
        likely = f"; {told['certain_estimated']:,} estimated above 0.999" if told["certain_estimated"] else ""
        lines.append(f"{counted(told['individuals'], 'individual')} {change}: {proved}{only}{likely}")
    lines.append(f"{found.proof.status}: {STATUS[found.proof.status]}")
    lines += [f"note: {note}" for note in found.notes]
    contradictions = summary.get("contradictions", [])
    if contradictions:
        lines.append("contradictions:")
        lines += [f"  {each}" for each in contradictions[:SHOWN_CONTRADICTIONS]]
        if len(contradictions) > SHOWN_CONTRADICTIONS:
            lines.append(f"  and {len(contradictions) - SHOWN_CONTRADICTIONS} more")
    return lines


def _rows(found: Findings, most: int) -> tuple[list[str], list[Sequence[str]], list[str]]:
    """Header and rows of those who joined or left, or of whom the difference proves something; and what is left out."""
    table, proof = found.people.table, found.proof
    attributes = [a for a in table.attributes if a is not found.people.joined.membership]
    classes = proof.program.release.target.classes
    named = found.who is not None
    header = [*([str(found.who)] if named else []), *(a.name for a in attributes), "status"]
    header += [*([] if named else ["count"]), "proved", *(f"P({name})" for name in classes)]
    told = found.change != 2
    told |= found.by_difference
    shown = [i for i in found.order.tolist() if told[found.rows[i]]]
    cells: list[Sequence[str]] = []
    for i in shown[:most]:
        row = int(found.rows[i])
        key = [str(found.people.keys[i])] if named and found.people.keys is not None else []
        values = [value_in_words(table.levels[j][table.codes[row, j]]) for j in range(len(attributes))]
        change = ("joined", "left", STAYED)[int(found.change[row])]
        proved = classes[int(proof.bounds.low[row].argmax())] if proof.certain[row] else ""
        proved += " (by one release alone)" if proved and found.alone[row] else ""
        each = zip(proof.low[row].tolist(), proof.high[row].tolist(), found.estimate.probabilities[row], strict=True)
        spans = [f"{low:.3f}" if low == high else f"{low:.3f} to {high:.3f} ({p:.3f})" for low, high, p in each]
        cells.append([*key, *values, change, *([] if named else [str(table.counts[row])]), proved, *spans])
    left_out = len(shown) - len(cells)
    return header, cells, [f"... and {left_out:,} more rows; -o FILE writes all of them"] * bool(left_out)
