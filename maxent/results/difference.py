"""The result of `maxent.compare_releases`: the disclosure about each person by the difference, also as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.constraints.kinds.registry import kinds_of
from maxent.models.arrays import BoolArray, IntArray
from maxent.models.defenses.method import CERTAIN
from maxent.models.display import ROWS, Display, counted
from maxent.models.files.output import DIFFERENCE
from maxent.models.tables.cells import named_frame, own_names, value_in_words
from maxent.results.proof import STATUS, Proof
from maxent.results.solved import Saved
from maxent.results.text.estimate import SHOWN_ROWS, contradiction_lines, in_sentence
from maxent.results.text.terminal import print_lines, print_table

if TYPE_CHECKING:
    from pandas import DataFrame

    from maxent.models.successive.people import People
    from maxent.results.estimate import Estimate


# How somebody is in two releases: in the second only, in the first only, in both.
CHANGES = ("joined", "left", "stayed")


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseDifference(Saved):
    """What two successive releases tell together of those who joined, left or stayed, and what each of them alone.

    ``people``: who is in which release. ``who``: the column that names people; None where groups of people who are
    alike are told apart only. ``estimate``: of both releases together. ``proof``: what is proved by both releases
    together. ``alone``, shape (n_distinct,): whether one of the releases alone proves the class of the people of each
    row of the table.
    """

    kept_as = DIFFERENCE
    people: People
    who: str | None
    estimate: Estimate
    proof: Proof
    alone: BoolArray

    @property
    def reliable(self) -> bool:
        """Whether the results can be relied on: some data are consistent with both releases, and it was solved."""
        return self.proof.reliable and self.estimate.reliable

    @cached_property
    def change(self) -> IntArray:
        """The change of each row of the table, an index into `CHANGES`, shape (n_distinct,)."""
        joined, table = self.people.joined, self.people.table
        group = np.zeros(len(table), np.int64) if joined.membership is None else table.codes[:, -1]
        return np.array([CHANGES.index(_change(*row)) for row in joined.members])[group]

    @property
    def by_difference(self) -> BoolArray:
        """Rows of the table whose people's class is proved by both releases, and by none alone, (n_distinct,)."""
        return np.asarray(self.proof.certain & ~self.alone)

    @cached_property
    def _summary(self) -> dict[str, Any]:
        program, counts = self.proof.program, self.people.table.counts
        likely = self.estimate.probabilities.max(axis=1) >= CERTAIN
        changes = {
            name: {
                "individuals": int(counts[self.change == i].sum()),
                "certain_proved": int(counts[(self.change == i) & self.proof.certain].sum()),
                "by_difference": int(counts[(self.change == i) & self.by_difference].sum()),
                "certain_estimated": int(counts[(self.change == i) & likely].sum()),
            }
            for i, name in enumerate(CHANGES)
        }
        summary = {
            "individuals": program.individuals,
            **changes,
            "constraints": kinds_of(program),
            "estimate": self.estimate.outcome.status,
            **self.proof.as_dict(),
            "notes": list(self.notes),
        }
        if contradictions := self.estimate.contradictions:
            summary["contradictions"] = [str(each) for each in contradictions]
        return summary

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes in words on how the releases and the tables were read, and on problems of solving."""
        return self.estimate.notes

    @cached_property
    def order(self) -> IntArray:
        """People in the order of results: those who joined, who left, who stayed; indices of keys, or of rows."""
        row = np.arange(len(self.people.table)) if self.who is None else self.rows
        at = np.arange(len(row)) if self.who is not None else self.people.table.lines
        return np.lexsort((at, self.change[row])).astype(np.int64)

    @property
    def rows(self) -> IntArray:
        """The row of the table of each person, or each row where nobody has a key."""
        return np.arange(len(self.people.table)) if self.people.row is None or self.who is None else self.people.row

    def frame(self) -> DataFrame:
        """One row per person, or per group of people who are alike where no column names them.

        Columns: the column that names them; the public attributes; ``status``, one of `CHANGES`; ``count`` of a group;
        ``proved``, the class that is proved, else None; ``proved_alone``, whether a release alone proves it; and for
        each class ``P(<class>)`` as estimated, ``low(<class>)`` and ``high(<class>)``. Names that an attribute has
        already get the prefix ``maxent_``.
        """
        proof, table, rows = self.proof, self.people.table, self.rows[self.order]
        classes = np.array(proof.program.release.target.classes, object)
        attributes = [a for a in table.attributes if a is not self.people.joined.membership]
        theirs: list[tuple[str, Any]] = []
        if self.who is not None and self.people.keys is not None:
            theirs.append((self.who, self.people.keys[self.order]))
        theirs += [(a.name, table.levels[j][table.codes[rows, j]]) for j, a in enumerate(attributes)]
        certain = proof.certain
        proved = np.where(certain, classes[proof.bounds.low.argmax(axis=1)], None)
        ours: list[tuple[str, Any]] = [("status", np.array(CHANGES, object)[self.change[rows]])]
        if self.who is None:
            ours.append(("count", table.counts[rows]))
        ours += [("proved", proved[rows]), ("proved_alone", self.alone[rows])]
        for x, name in enumerate(classes.tolist()):
            ours.append((f"P({name})", self.estimate.probabilities[rows, x]))
            ours += [(f"low({name})", proof.low[rows, x]), (f"high({name})", proof.high[rows, x])]
        names = [name for name, _ in theirs]
        names += own_names([name for name, _ in ours], names)
        return named_frame((values for _, values in [*theirs, *ours]), names)

    @property
    def own(self) -> Sequence[str]:
        """Names of the releases."""
        return self.people.joined.names

    def _display(self) -> Display:
        header, rows, rest = _rows(self, ROWS)
        lines = successive_lines(self)
        title = f"Difference of {self.own[0]} and {self.own[1]}: {self.proof.status}"
        return Display(title, lines, header, rows, [*rest, *lines])

    def _saved(self) -> DataFrame:
        return self.frame()


def _change(first: bool, second: bool) -> str:
    """How somebody is in two releases."""
    return "stayed" if first and second else "joined" if second else "left"


# The difference of two successive releases for people to read; numbers are formatted here, none is computed.


def print_successive(found: ReleaseDifference) -> None:
    """Print who joined and left, what is known of them, and of whom else the difference tells something."""
    header, rows, rest = _rows(found, SHOWN_ROWS)
    if rows:
        print_table(header, rows, [name == "count" for name in header])
        print_lines([*rest, ""])
    print_lines(successive_lines(found))


def successive_lines(found: ReleaseDifference) -> list[str]:
    """What the releases tell together, in plain language."""
    summary = found.summary
    target = in_sentence(found.proof.program.release.target.name)
    lines = []
    for change in CHANGES:
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
    return lines + contradiction_lines(summary.get("contradictions", []))


def _rows(found: ReleaseDifference, most: int) -> tuple[list[str], list[Sequence[str]], list[str]]:
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
        change = CHANGES[int(found.change[row])]
        proved = classes[int(proof.bounds.low[row].argmax())] if proof.certain[row] else ""
        proved += " (by one release alone)" if proved and found.alone[row] else ""
        each = zip(proof.low[row].tolist(), proof.high[row].tolist(), found.estimate.probabilities[row], strict=True)
        spans = [f"{low:.3f}" if low == high else f"{low:.3f} to {high:.3f} ({p:.3f})" for low, high, p in each]
        cells.append([*key, *values, change, *([] if named else [str(table.counts[row])]), proved, *spans])
    left_out = len(shown) - len(cells)
    return header, cells, [f"... and {left_out:,} more rows; -o FILE writes all of them"] * bool(left_out)
