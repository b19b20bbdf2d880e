"""Layout of a union: the groups, rows and blocks of each program, and selections of programs.

An *item* is a program from one start. A form for items has their groups, rows and blocks, one item's after another's,
so that programs with several starts occur several times, and those that are done no longer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from maxent.models.arrays import IntArray, ranges, run_ends
from maxent.solvers.newton.block_form import Blocks, Form, Rows


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """A form with the ends, shape (n_items + 1,), of each item's groups, owners, blocks and rows."""

    form: Form
    groups: IntArray
    owners: IntArray
    blocks: IntArray
    rows: IntArray  # internal constraints
    equal: IntArray
    least: IntArray

    def __len__(self) -> int:
        return len(self.groups) - 1

    def of_items(self, items: IntArray) -> Layout:
        """The form of some items, in their order, each as often as it is named."""
        form, blocks = self.form, self.form.blocks
        group, owner, block, row, equal, least = (
            _Chosen(ends, items) for ends in (self.groups, self.owners, self.blocks, self.rows, self.equal, self.least)
        )
        n_classes = form.free.shape[1]
        incidence = _picked(blocks.incidence, block, group)
        factor = _picked(blocks.factor, row, block)
        nothing = sparse.csr_matrix((len(block.at), len(group.at) * n_classes))
        chosen = replace(
            form,
            free=form.free[group.at],
            owner=form.owner[group.at] + np.repeat(owner.shift, group.length),
            start=form.start[owner.at] + np.repeat(group.shift, owner.length),
            total=form.total[owner.at],
            equal=_rows(form.equal, equal, group, n_classes),
            least=_rows(form.least, least, group, n_classes),
            blocks=Blocks(
                incidence=incidence,
                transposed=incidence.T.tocsr(),
                const=blocks.const[block.at],
                seen=blocks.seen[block.at],
                size=blocks.size[block.at],
                size_rows=nothing,
                size_transposed=nothing.T.tocsr(),
                phis=tuple((name, slice(0, len(block.at))) for name, _ in blocks.phis),
                factor=factor,
                factor_transposed=factor.T.tocsr(),
                constant=blocks.constant[row.at],
                people=blocks.people[row.at],
            ),
        )
        return Layout(chosen, *(each.ends for each in (group, owner, block, row, equal, least)))


def layout(form: Form, part_of_owner: IntArray, part_of_row: IntArray, n_parts: int) -> Layout:
    """The layout of the form of a union, whose blocks and rows are sorted by their program.

    ``part_of_owner`` and ``part_of_row`` are the programs of the form's quasi-identifiers and of its internal rows.
    """
    of_group = part_of_owner[form.owner]
    blocks, n_classes = form.blocks, form.free.shape[1]
    transposed = blocks.factor_transposed
    of_block = part_of_row[transposed.indices[transposed.indptr[:-1]]]  # each is in a row
    order = np.argsort(of_block, kind="stable")
    sorted_blocks = replace(
        blocks,
        incidence=blocks.incidence[order],
        const=blocks.const[order],
        seen=blocks.seen[order],
        size=blocks.size[order],
        factor=blocks.factor[:, order].tocsr(),
    )
    of_equal, equal = _sorted(form.equal, of_group, n_classes)
    of_least, least = _sorted(form.least, of_group, n_classes)
    return Layout(
        replace(form, equal=equal, least=least, blocks=sorted_blocks),
        *(
            np.searchsorted(part, np.arange(n_parts + 1))
            for part in (of_group, part_of_owner, of_block[order], part_of_row, of_equal, of_least)
        ),
    )


def _sorted(rows: Rows, of_group: IntArray, n_classes: int) -> tuple[IntArray, Rows]:
    """Rows in the order of their programs, and these."""
    matrix = rows.matrix
    part = of_group[matrix.indices[matrix.indptr[:-1]] // n_classes]  # none is without entries
    order = np.argsort(part, kind="stable")
    return part[order], Rows(matrix[order], rows.value[order], rows.size[order])


class _Chosen:
    """Entries ``at`` of some items, their new ``ends``, and the ``shift`` of each item."""

    def __init__(self, ends: IntArray, items: IntArray) -> None:
        begin, end = ends[items], ends[items + 1]
        self.length = end - begin
        self.at = ranges(begin, end)
        self.ends = run_ends(self.length)
        self.shift = self.ends[:-1] - begin


def _picked(matrix: sparse.csr_matrix, row: _Chosen, column: _Chosen, width: int = 1) -> sparse.csr_matrix:
    """A matrix whose items' entries are in their own rows and columns, ``width`` columns for each number."""
    lengths = np.diff(matrix.indptr)[row.at]
    entries = ranges(matrix.indptr[row.at].astype(np.int64), matrix.indptr[row.at + 1].astype(np.int64))
    shift = np.repeat(np.repeat(column.shift * width, row.length), lengths)
    shape = (len(row.at), len(column.at) * width)
    return sparse.csr_matrix((matrix.data[entries], matrix.indices[entries] + shift, run_ends(lengths)), shape=shape)


def _rows(rows: Rows, chosen: _Chosen, group: _Chosen, n_classes: int) -> Rows:
    return Rows(_picked(rows.matrix, chosen, group, n_classes), rows.value[chosen.at], rows.size[chosen.at])
