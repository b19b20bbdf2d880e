"""Splits a program into independent integer problems: people of each class in each group.

Quasi-identifiers that no statement tells apart are pooled first (`maxent.constraints.presolve.merge`): a pooled whole
number can be handed out to the members in any way, so nothing is lost. A member q of a pooled quasi-identifier with W
people, M of them of a class, has between ``max(0, M - (W - w_q))`` and ``min(w_q, M)`` of that class.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from maxent.constraints.presolve.merge import Merged, Part, known_totals, merge, needed, parts
from maxent.constraints.presolve.part_view import PartView, part_rows
from maxent.constraints.program import Program
from maxent.constraints.residuals import InternalRows, LinearRows
from maxent.models.arrays import BoolArray, IntArray
from maxent.solvers.worlds.comparisons import Comparison, comparisons_of
from maxent.solvers.worlds.rows import WholeRows, whole_rows

# Cells times classes that comparisons look at, the smallest nodes first; the rest is left out.
AFFORDABLE = 300_000


@dataclass(frozen=True, slots=True, eq=False)
class WholePart:
    """A part of a program over whole numbers; unknowns are the masses of its groups, shape (n_groups, n_classes).

    Attributes
    ----------
    groups : shape (n_groups,), numbers in the `Merged`
    owner : shape (n_groups,), the part's pooled quasi-identifiers
    owners : shape (n_owners,), their numbers in the `Merged`; ``weight`` are the individuals of each
    copies : shape (n_groups,), cells of the group that one member has
    """

    groups: IntArray
    owner: IntArray
    owners: IntArray
    weight: IntArray
    copies: IntArray
    n_classes: int
    rows: WholeRows
    comparisons: tuple[Comparison, ...]

    @property
    def integral(self) -> bool:
        """Whether linear bounds are those of whole people: nothing is stated but class totals of the whole part.

        That is a problem of transportation, whose vertices are whole (Dantzig 1951).
        """
        matrix, n_groups = self.rows.matrix, len(self.owner)
        if self.comparisons or len(self.owners) < n_groups or (np.diff(matrix.indptr) != n_groups).any():
            return False
        klass = (matrix.indices % self.n_classes).reshape(-1, n_groups)
        return bool((klass == klass[:, :1]).all() and (matrix.data == 1).all())

    def totals(self, masses: IntArray) -> IntArray:
        """Individuals of each class in each pooled quasi-identifier, shape (n_owners, n_classes)."""
        total = np.zeros((len(self.owners), self.n_classes), np.int64)
        np.add.at(total, self.owner, masses)
        return total

    def holds(self, masses: IntArray) -> bool:
        """Whether some masses are a world: whole, complete, and consistent with every statement of the part."""
        complete = (masses >= 0).all() and np.array_equal(self.totals(masses).sum(axis=1), self.weight)
        return bool(complete and self.rows.hold(masses) and all(self.won(c, masses) for c in self.comparisons))

    def won(self, comparison: Comparison, masses: IntArray) -> bool:
        """Whether the chosen split has won a comparison."""
        return comparison.holds([masses[b.groups].sum(axis=0).astype(np.float64) for b in comparison.branches])


@dataclass(frozen=True, slots=True, eq=False)
class WholeProgram:
    """All parts; ``like`` is the pooled quasi-identifier of each of the table's, shape (n_quasi_identifiers,).

    ``left_out`` comparisons are in no part, as they look at too many people: what is proved without them holds with
    them.
    """

    program: Program
    rows: InternalRows
    merged: Merged
    like: IntArray
    pieces: tuple[Part, ...]
    left_out: int

    def part(self, number: int) -> WholePart:
        """A part with its statements over whole numbers."""
        program, merged, piece = self.program, self.merged, self.pieces[number]
        view = PartView(program, merged, piece)
        statements = part_rows(view)
        ends = statements.inside.indptr.tolist()
        people = [view.people(statements.inside.indices[start:stop]) for start, stop in pairwise(ends)]
        members = np.bincount(self.like, minlength=len(merged.weight))
        cells = np.bincount(merged.group, minlength=len(merged.owner))[piece.groups]
        return WholePart(
            piece.groups,
            view.owner,
            np.unique(merged.owner[piece.groups]),
            np.rint(view.owner_weight).astype(np.int64),
            cells // members[merged.owner[piece.groups]],
            program.n_classes,
            whole_rows(statements, np.array(people), np.rint(view.weight).astype(np.int64), program.n_classes),
            tuple(comparisons_of(program, view, self.rows)),
        )

    def asked(self, questions: BoolArray) -> IntArray:
        """The parts with a quasi-identifier that ``questions``, shape (n_quasi_identifiers,), marks."""
        wanted = np.zeros(len(self.merged.weight), bool)
        wanted[self.like[questions]] = True
        found = [i for i, piece in enumerate(self.pieces) if wanted[self.merged.owner[piece.groups]].any()]
        return np.array(found, np.int64)


def whole_program(program: Program) -> WholeProgram:
    """The parts of a program over whole numbers."""
    rows = InternalRows(program)
    active = affordable(program, rows)
    merged = merge(program, rows, active)
    stated = needed(program, known_totals(program), LinearRows(program))
    like = np.empty(len(program.table), np.int64)
    like[program.cells.owner] = merged.owner[merged.group]
    pieces = parts(program, merged, stated, rows, active, np.ones(len(merged.owner), bool))
    return WholeProgram(program, rows, merged, like, tuple(pieces), rows.n_rows - len(active))


def affordable(program: Program, rows: InternalRows) -> IntArray:
    """Rows of the comparisons that are looked at: those of the smallest nodes, as far as they are cheap together."""
    constraint = rows.constraint_of(np.arange(rows.n_rows))
    held = [program.cells.trees[c.tree] for c in program.internal]
    cells = np.array(
        [h.stop[c.place] - h.start[c.place] for h, c in zip(held, program.internal, strict=True)], np.int64
    )
    cost = cells[constraint] * program.n_classes
    order = np.argsort(cost, kind="stable")
    return np.sort(order[np.cumsum(cost[order]) <= AFFORDABLE])
