"""Entropy and likelihood of draws where all statements are about one class each: classes are columns.

A place states its classes one by one, and the same people are in it for all of them. So who is where is one matrix,
of places and cells, however many classes there are: masses, multipliers and sums have a column for each. Written out
with a row for each place and class, the statements of a hundred trees about sixteen classes are eight million numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from maxent.constraints.presolve.parts import FIXED
from maxent.models.arrays import BoolArray, FloatArray, IntArray, ranges, run_ends
from maxent.solvers.dual.linear_entropy import EntropyByClass
from maxent.solvers.dual.relaxation import FAR, LikelyEntropy

if TYPE_CHECKING:
    from maxent.constraints.presolve.merge import Merged
    from maxent.constraints.program.program import Program

# Masses from which on a problem is solved with the classes as columns.
MANY = 5_000
# Individuals that a mass which has to be 0 is compared with: a bound with it is valid, and the mass next to nothing.
NOBODY = 1e-280
# How often bounds of masses are made narrower by those of others, at most.
PASSES = 20
# Cells whose rows are looked at together.
AT_A_TIME = 512


def by_class(program: Program, merged: Merged) -> LikelyEntropy | None:
    """The problem of a program with draws, over its groups in the order of their owners; None for other statements."""
    likely, n_classes, regions = program.likelihood, program.n_classes, program.regions
    if likely is None or likely.noise is not None or program.internal:
        return None
    table = program.rows
    if (table.alone < 0).any():
        return None
    places = {place: r for r, place in enumerate(regions.places) if place is not None}
    wanted, indices, lengths = [], [regions.indices], [np.diff(regions.indptr)]
    for place in zip(likely.tree.tolist(), likely.place.tolist(), strict=True):
        if place not in places:
            places[place] = len(regions) + len(indices) - 1
            indices.append(program.cells.trees[place[0]].at(place[1]))
            lengths.append(np.array([len(indices[-1])]))
        wanted.append(places[place])
    ends, order = run_ends(np.concatenate(lengths)), np.argsort(merged.owner, kind="stable")
    found = np.concatenate(indices)
    matrix = sparse.csr_matrix((np.ones(len(found)), found, ends), shape=(len(ends) - 1, len(program.cells)))
    matrix = sparse.csr_matrix(matrix[:, merged.cell[order]])
    region = program.region_of[table.of]
    low, high = (np.full((matrix.shape[0], n_classes), side) for side in (0.0, np.inf))
    np.maximum.at(low, (region, table.alone), table.lower)
    np.minimum.at(high, (region, table.alone), table.upper)
    draws = np.zeros_like(low)
    draws[wanted] = likely.draws
    owners, owner = np.unique(merged.owner[order], return_inverse=True)
    weight = merged.weight[owners][owner]
    possible = _possible(owner, weight, matrix, low, high)
    whole = np.asarray(matrix @ weight)[:, None]
    impossible = np.asarray(matrix @ possible.astype(np.float64)) == 0  # such rows say no more
    high = np.where(impossible | (high >= whole), np.inf, high)
    low, drawn = np.where(impossible, 0.0, low), draws > 0
    linear = EntropyByClass(
        owner.astype(np.int64),
        merged.weight[owners],
        np.where(possible, weight[:, None], NOBODY),
        matrix,
        np.where(drawn, 0.0, np.where(low > 0, low, -np.inf)),
        np.where(drawn, 0.0, high),
    )
    shares = draws / np.maximum(draws.sum(axis=1, keepdims=True), 1.0)
    high = np.where(np.isinf(high), FAR * whole, np.maximum(high, low))
    return LikelyEntropy(linear, draws, np.zeros_like(low), low, high, shares)


def _possible(
    owner: IntArray, weight: FloatArray, matrix: sparse.csr_matrix, low: FloatArray, high: FloatArray
) -> BoolArray:
    """Mask of the masses that can be positive, as far as totals and single sums say, shape (n, n_classes)."""
    transposed = sparse.csr_matrix(matrix.T)
    number = int(owner[-1]) + 1
    total = np.zeros(number)
    total[owner] = weight
    least = np.zeros((len(owner), low.shape[1]))
    most = np.repeat(weight[:, None], low.shape[1], axis=1)
    for _ in range(PASSES):
        before = least.sum(), most.sum()
        spare = total - np.bincount(owner, least.sum(axis=1), number)
        most = np.minimum(most, least + np.maximum(spare, 0.0)[owner, None])
        spare = total - np.bincount(owner, most.sum(axis=1), number)
        least = np.clip(least, most + np.minimum(spare, 0.0)[owner, None], most)
        most = np.minimum(most, least + _extreme(np.minimum, transposed, np.maximum(high - matrix @ least, 0.0)))
        least = np.clip(least, most + _extreme(np.maximum, transposed, np.minimum(low - matrix @ most, 0.0)), most)
        if before == (least.sum(), most.sum()):
            break
    found: BoolArray = most > FIXED * weight[:, None]
    return found


def _extreme(choose: np.ufunc, transposed: sparse.csr_matrix, values: FloatArray) -> FloatArray:
    """The smallest or the largest value of the rows that each cell is in, shape (n, n_classes)."""
    found = np.empty((transposed.shape[0], values.shape[1]))
    filled = np.flatnonzero(np.diff(transposed.indptr))
    found[:] = np.inf if choose is np.minimum else -np.inf
    for some in np.array_split(filled, 1 + len(filled) // AT_A_TIME):
        start, stop = transposed.indptr[some], transposed.indptr[some + 1]
        inside = values[transposed.indices[ranges(start, stop)]]
        found[some] = choose.reduceat(inside, run_ends((stop - start).astype(np.int64))[:-1], axis=0)
    return found
