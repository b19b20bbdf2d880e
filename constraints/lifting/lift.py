"""Builds the `LiftedProgram` of a part: fixes known masses, drops repeated rows, defines aggregates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from maxent.constraints.lifting.aggregates import Aggregates
from maxent.constraints.lifting.elimination import Elimination
from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.constraints.lifting.likely_sums import likely_sums
from maxent.constraints.lifting.split_rows import lift_comparisons
from maxent.constraints.presolve.bounds import FIXED, possible, tighten
from maxent.constraints.presolve.merge import Merged, Part, Totals
from maxent.constraints.presolve.part_rows import linear_rows
from maxent.constraints.presolve.part_view import PartView, add_up, part_rows
from maxent.constraints.program import Program
from maxent.constraints.residuals import InternalRows
from maxent.models.arrays import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class LiftedPart:
    """A part's program with the way back to the masses of its groups."""

    program: LiftedProgram
    known: FloatArray  # (n_groups, n_classes): values of the fixed masses, 0 elsewhere
    elimination: Elimination  # of the aggregates

    def masses(self, z: FloatArray) -> FloatArray:
        """Masses of the part's groups, shape (n_groups, n_classes), from a point of the program."""
        out = self.known.copy()
        out[self.program.group, self.program.klass] = z[: self.program.n_masses]
        return out

    def point(self, masses: FloatArray) -> FloatArray:
        """The point of the program with the given masses of groups, shape (n,)."""
        n = self.program.n_masses
        at = self.program.group, self.program.klass
        free = np.clip(masses[at], self.program.lower[:n], self.program.upper[:n])
        return self.elimination.point(free)


def lift(
    program: Program,
    merged: Merged,
    part: Part,
    rows: InternalRows,
    totals: tuple[Totals, ...],
    *,
    trusting: bool = True,
    check: Callable[[], None] = lambda: None,
) -> LiftedPart:
    """The program of one part, and the way back.

    Masses that the statements fix (pure leaves, absent classes) become constants, bounds on a single mass become
    bounds of its variable, and of the class rows that repeat the quasi-identifiers' totals one is left out. All of this
    trusts the statements; with ``trusting`` False, or where bounds already show that they contradict each other, every
    statement stays a row that can give way. ``check`` is called again and again meanwhile, and may raise.
    """
    check()
    view = PartView(program, merged, part)
    statements = part_rows(view)
    if trusting:
        tighten(view, statements)
        trusting = possible(view, statements)
    if not trusting:
        view = PartView(program, merged, part)
    check()
    fixed = view.upper - view.lower <= FIXED * view.weight[:, None]
    known = np.where(fixed, 0.5 * (view.lower + view.upper), 0.0)
    group, klass = np.nonzero(~fixed)
    index = np.full(fixed.shape, -1, np.int64)
    index[group, klass] = np.arange(len(group))
    linear = linear_rows(view, statements, fixed, known, index, trusting=trusting, check=check)
    aggregates = Aggregates(view, known, index)
    comparisons = lift_comparisons(view, rows, totals if trusting else None, aggregates, check)
    draws = likely_sums(view, aggregates)
    elimination = aggregates.finish()
    definitions, constants = elimination.definitions[len(group) :], elimination.shift[len(group) :]
    lifted = LiftedProgram(
        group=group,
        klass=klass,
        owner=view.owner[group],
        total=view.owner_weight - add_up(view.owner, known.sum(axis=1), len(view.owner_weight)),
        mass_weight=view.weight[group],
        lower=np.concatenate([view.lower[group, klass], np.zeros(len(constants))]),
        upper=elimination.point(view.upper[group, klass]),
        matrix=_with_definitions(linear.matrix, definitions),
        row_lower=np.concatenate([linear.lower, constants]),
        row_upper=np.concatenate([linear.upper, constants]),
        terms=comparisons.terms,
        nl_const=comparisons.const,
        nl_size=comparisons.size,
        origins=(*linear.origins, *(None for _ in constants)),
        nl_origins=comparisons.origins,
        draws=None if draws is None else add_up(*draws, len(elimination.shift)),
    )
    return LiftedPart(lifted, known, elimination)


def _with_definitions(matrix: sparse.csr_matrix, definitions: sparse.csr_matrix) -> sparse.csr_matrix:
    """The rows over masses, then the rows ``aggregate - its terms = constant``."""
    n_aggregates, n = definitions.shape
    last = definitions.indptr[1:]  # an aggregate is numbered after all its terms
    data = np.concatenate([matrix.data, np.insert(-definitions.data, last, 1.0)])
    indices = np.concatenate([matrix.indices, np.insert(definitions.indices, last, np.arange(n - n_aggregates, n))])
    ends = len(matrix.data) + last + np.arange(1, n_aggregates + 1)
    result = sparse.csr_matrix(
        (data, indices, np.concatenate([matrix.indptr, ends])), shape=(len(ends) + matrix.shape[0], n)
    )
    result.sort_indices()
    return result
