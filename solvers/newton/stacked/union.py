"""Disjoint union of several programs as one program."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from maxent.constraints.lifting.lifted_program import LiftedProgram, Terms
from maxent.models.arrays import FloatArray, IntArray, run_ends


def union_of(programs: Sequence[LiftedProgram]) -> LiftedProgram:
    """The programs side by side, all with terms of one and the same phi, whose sizes are constants.

    The masses of all come before the aggregates, the statements of all before the definitions.
    """
    masses = run_ends(np.array([program.n_masses for program in programs]))
    aggregates = masses[-1] + run_ends(np.array([program.n_aggregates for program in programs]))
    groups = run_ends(np.array([program.group.max(initial=-1) + 1 for program in programs]))
    owners = run_ends(np.array([len(program.total) for program in programs]))
    rows = run_ends(np.array([len(program.nl_const) for program in programs]))
    blocks = run_ends(np.array([program.terms[0].block.max() + 1 for program in programs]))
    column = [
        _places(program, begin, after) for program, begin, after in zip(programs, masses, aggregates, strict=False)
    ]
    stated = [len(program.row_lower) - program.n_aggregates for program in programs]
    first = [terms for program in programs for terms in program.terms]

    def of_variables(values: Sequence[FloatArray]) -> FloatArray:
        heads = [value[: program.n_masses] for program, value in zip(programs, values, strict=True)]
        tails = [value[program.n_masses :] for program, value in zip(programs, values, strict=True)]
        return np.concatenate(heads + tails)

    def of_rows(values: Sequence[FloatArray]) -> FloatArray:
        heads = [value[:end] for value, end in zip(values, stated, strict=True)]
        tails = [value[end:] for value, end in zip(values, stated, strict=True)]
        return np.concatenate(heads + tails)

    return LiftedProgram(
        group=_moved([program.group for program in programs], groups),
        klass=np.concatenate([program.klass for program in programs]),
        owner=_moved([program.owner for program in programs], owners),
        total=np.concatenate([program.total for program in programs]),
        mass_weight=np.concatenate([program.mass_weight for program in programs]),
        lower=of_variables([program.lower for program in programs]),
        upper=of_variables([program.upper for program in programs]),
        matrix=_side_by_side([program.matrix for program in programs], stated, column, int(aggregates[-1])),
        row_lower=of_rows([program.row_lower for program in programs]),
        row_upper=of_rows([program.row_upper for program in programs]),
        terms=(
            Terms(
                phi=first[0].phi,
                row=_moved([terms.row for terms in first], rows),
                var=np.concatenate([place[terms.var] for place, terms in zip(column, first, strict=True)]),
                coef=np.concatenate([terms.coef for terms in first]),
                size=np.concatenate([terms.size for terms in first]),
                size_var=np.concatenate([terms.size_var for terms in first]),
                block=_moved([terms.block for terms in first], blocks),
            ),
        ),
        nl_const=np.concatenate([program.nl_const for program in programs]),
        nl_size=np.concatenate([program.nl_size for program in programs]),
        origins=(
            *(origin for program, end in zip(programs, stated, strict=True) for origin in program.origins[:end]),
            *(origin for program, end in zip(programs, stated, strict=True) for origin in program.origins[end:]),
        ),
        nl_origins=tuple(origin for program in programs for origin in program.nl_origins),
    )


def _places(program: LiftedProgram, masses: int, aggregates: int) -> IntArray:
    """The numbers of a program's variables in the union."""
    return np.concatenate([masses + np.arange(program.n_masses), aggregates + np.arange(program.n_aggregates)])


def _moved(values: Sequence[IntArray], begin: IntArray) -> IntArray:
    return np.concatenate([value + move for value, move in zip(values, begin, strict=False)])


def _side_by_side(
    matrices: Sequence[sparse.csr_matrix], stated: Sequence[int], column: Sequence[IntArray], n: int
) -> sparse.csr_matrix:
    """The rows of all matrices up to ``stated``, then the others, with their columns in new places."""
    data, indices, lengths = [], [], []
    for upper in (True, False):
        for matrix, end, place in zip(matrices, stated, column, strict=True):
            split = matrix.indptr[end]
            some = slice(None, split) if upper else slice(split, None)
            data.append(matrix.data[some])
            indices.append(place[matrix.indices[some]])
            length = np.diff(matrix.indptr)
            lengths.append(length[:end] if upper else length[end:])
    ends = run_ends(np.concatenate(lengths))
    return sparse.csr_matrix((np.concatenate(data), np.concatenate(indices), ends), shape=(len(ends) - 1, n))
