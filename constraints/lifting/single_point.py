"""Split comparisons that only one point of a line satisfies: they are 0 there and negative elsewhere.

Where linear rows leave one direction, a comparison with the largest value 0 leaves one point of it. Its gradient
vanishes there, so that solvers with a tolerance end anywhere within the square root of it. So the point is found first.
"""

from __future__ import annotations

import numpy as np

from maxent.constraints.impurity_numpy import PHI
from maxent.constraints.lifting.elimination import eliminate
from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.models.arrays import INVERTIBLE, FloatArray

# Free masses up to which a program is looked at.
FEW = 12
# Points of a line at which comparisons are looked at, and how often again between the neighbours of the best one.
POINTS, REFINED = 1001, 5
# What a comparison that touches 0 may come out above it, as a share of its terms.
ROUNDING = 1e-13
# How far from the point, as a share of the line, a comparison is below minus the second, impurity units.
APART, NEGATIVE = 1e-2, 1e-9
# Singular values below this share of the largest one are none.
RANK = 1e-9


def single_point(program: LiftedProgram) -> FloatArray | None:
    """The only point that a comparison admits, shape (n,), where linear rows leave a line; else None.

    Other rows and comparisons may break it.
    """
    fixed = program.lower >= program.upper
    n_free = int((~fixed[: program.n_masses]).sum())
    sized = any((terms.size_var >= 0).any() for terms in program.terms)
    if not program.terms or not 1 < n_free <= FEW or program.draws is not None or sized:
        return None
    line = _line(program)
    if line is None:
        return None
    start, way = line
    share = np.linspace(0.0, 1.0, POINTS)
    values, size = _comparisons(program, start, way, share)
    best = values.argmax(axis=0)
    highest = values[best, np.arange(values.shape[1])]
    away = np.abs(share[:, None] - share[best]) > APART
    elsewhere = np.where(away, values, -np.inf).max(axis=0)
    touching = np.flatnonzero((elsewhere < -NEGATIVE) & (highest > -NEGATIVE) & (highest <= ROUNDING * size))
    for k in touching.tolist():
        at, most = _refined(program, start, way, share, int(best[k]), k)
        if most <= ROUNDING * size[k]:
            return start + at * way
    return None


def _refined(
    program: LiftedProgram, start: FloatArray, way: FloatArray, share: FloatArray, best: int, k: int
) -> tuple[float, float]:
    """Where a comparison is largest, between the neighbours of the best of some points, and how large."""
    for _ in range(REFINED):
        share = np.linspace(share[max(best - 1, 0)], share[min(best + 1, len(share) - 1)], POINTS)
        value = _comparisons(program, start, way, share)[0][:, k]
        # Of points that rounding makes alike the one in their middle, or the line's end.
        alike = np.flatnonzero(value >= value.max() - np.finfo(float).eps)
        at_end = [i for i in (alike[0], alike[-1]) if share[i] in (0.0, 1.0)]
        best = int(at_end[0] if at_end else alike[len(alike) // 2])
    return float(share[best]), float(value[best])


def _line(program: LiftedProgram) -> tuple[FloatArray, FloatArray] | None:
    """One end of the line of points that meet the linear rows, and the way to the other; None where it is none."""
    elimination, _ = eliminate(program, program.lower >= program.upper)
    if np.isnan(elimination.shift).any():
        return None
    matrix, moved = elimination.over_free(program.matrix)
    dense, low, high = matrix.toarray(), program.row_lower - moved, program.row_upper - moved
    equal = program.row_lower == program.row_upper
    _, size, across = np.linalg.svd(dense[equal])
    rank = int((size > RANK * size.max(initial=1.0)).sum())
    if rank != dense.shape[1] - 1:
        return None
    way, some = across[-1], elimination.free
    at = np.linalg.lstsq(dense[equal], low[equal], rcond=RANK)[0]
    rows = np.vstack([dense[~equal], np.eye(len(way))])
    least = np.concatenate([low[~equal], program.lower[some]]) - rows @ at
    most = np.concatenate([high[~equal], program.upper[some]]) - rows @ at
    slope = rows @ way
    along = np.abs(slope) > RANK
    ends = np.sort(np.array([least[along] / slope[along], most[along] / slope[along]]), axis=0)
    first, last = float(ends[0].max(initial=-np.inf)), float(ends[1].min(initial=np.inf))
    if not first < last or not np.isfinite(last - first):
        return None
    from_there = elimination.point(np.maximum(at + first * way, program.lower[some]))
    return from_there, elimination.point(np.maximum(at + last * way, program.lower[some])) - from_there


def _comparisons(
    program: LiftedProgram, start: FloatArray, way: FloatArray, share: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Values of the nonlinear rows at shares of the way, shape (n_shares, n_rows), and how large their terms are."""
    values = np.tile(program.nl_const, (len(share), 1))
    size = np.abs(program.nl_const)
    for terms in program.terms:
        a = np.maximum(start[terms.var] + share[:, None] * way[terms.var], INVERTIBLE)
        each = terms.coef * PHI[terms.phi].value(a, terms.size)
        np.add.at(values.T, terms.row, each.T)
        size = size + np.bincount(terms.row, np.abs(each).max(axis=0), len(size))
    return values, size
