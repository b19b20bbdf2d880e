"""Every constraint of a program for people to read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from maxent.models.text.display import counted
from maxent.text.estimate import SHOWN_CONTRADICTIONS, kinds_line
from maxent.text.terminal import print_styled

if TYPE_CHECKING:
    from maxent.constraints.program import Program


def print_explanation(program: Program, found: Mapping[str, Any]) -> None:
    """Print what `maxent.api.adversary.explain.explain` found to standard output, grouped by origin."""
    print_styled(_lines(program, found))


def _leaf_lines(leaves: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What leaves state and what of it is compiled, a line for trees that are alike."""

    def told(row: Mapping[str, Any]) -> str:
        states, compiled, unread = (
            ", ".join(f"{what} {many:,}" for what, many in row[key].items()) for key in ("states", "compiled", "unread")
        )
        text = f"{counted(row['leaves'], 'leaf', 'leaves')}; stated: {states or 'nothing'}"
        text += f"; compiled, in rows: {compiled or 'nothing'}"
        return text + (f"; not read: {unread}" if unread else "")

    for text, group in groupby(leaves, told):
        first, *rest = (row["tree"] for row in group)
        yield f"tree{'s' * bool(rest)} {first}{f' to {rest[-1]}' if rest else ''}: {text}"


def _lines(program: Program, found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Lines, each with its style."""
    split = {(t, node.id): node.attribute for t, tree in enumerate(program.release.trees, 1) for node in tree.nodes}
    for (number, node, origin), group in groupby(found["list"], lambda row: (row["tree"], row["node"], row["origin"])):
        rows = list(group)
        attribute = split.get((number, node))
        people = f"{rows[0]['individuals']} individual" + ("" if rows[0]["individuals"] == 1 else "s")
        yield f"{origin}: {people}" + (f", split by {attribute}" if attribute else ""), "bold"
        for row in rows:
            rows_of = f" ({row['rows']} rows)" if row["rows"] > 1 else ""
            yield f"  {row['kind']:<9} {row['says']}{rows_of}", ""
    yield "", ""
    for line in _leaf_lines(found["leaves"]):
        yield line, ""
    for unread in program.unread:
        yield unread.in_words({"why": ""}), ""
    yield "constraints: " + kinds_line(found["constraints"]), ""
    for note in found["notes"]:
        yield f"note: {note}", ""
    for contradiction in program.contradictions[:SHOWN_CONTRADICTIONS]:
        yield f"contradiction: {contradiction}", ""
    if (more := len(program.contradictions) - SHOWN_CONTRADICTIONS) > 0:
        yield f"and {more} more contradictions", ""
