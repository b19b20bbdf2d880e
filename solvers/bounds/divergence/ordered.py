"""Chooses one of several symmetric answers: masses of exchangeable classes in increasing order.

Where a permutation of classes leaves all rows and comparisons what they are, it takes feasible points to feasible
points of the same entropy. Of these only those have to be looked at in which some sum, one for each class, grows from
class to class: every feasible point can be permuted so that it does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy import sparse

from maxent.models.arrays import FloatArray, IntArray
from maxent.solvers.bounds.divergence.answer import Answer

# To so many decimals rows are the same.
DECIMALS = 9


def ordered(at: Answer, klass: IntArray) -> Answer:
    """An answer with rows that put classes in order, those of masses, shape (n,), that nothing tells apart.

    The answer itself meets the rows.
    """
    rows = [row for alike in _alike(at, klass) for row in _increasing(at, klass, alike)]
    if not rows:
        return at
    linear, more, none = at.rows.linear, np.array(rows), np.zeros(len(rows))
    matrix = sparse.csr_matrix(sparse.vstack([linear.matrix, sparse.csr_matrix(more)]))
    upper = np.concatenate([linear.upper, none + np.inf])
    linear = replace(linear, matrix=matrix, lower=np.concatenate([linear.lower, none]), upper=upper)
    unequal, least = np.vstack([at.rows.unequal, more]), np.concatenate([at.rows.least, none])
    return replace(at, rows=replace(at.rows, unequal=unequal, least=least, linear=linear))


def _alike(at: Answer, klass: IntArray) -> Iterator[dict[int, IntArray]]:
    """Sets of several classes any two of which can be exchanged, with what exchanges each with the first, (n,)."""
    left = np.unique(klass).tolist()
    while left:
        first, found = left.pop(0), dict[int, IntArray]()
        for other in tuple(left):
            moved = _exchanged(at, klass, first, other)
            if moved is not None:
                found[other] = moved
                left.remove(other)
        if found:
            yield {first: np.arange(len(klass)), **found}


def _increasing(at: Answer, klass: IntArray, alike: dict[int, IntArray]) -> Iterator[FloatArray]:
    """Rows ``>= 0`` that let a sum grow from class to class: the one that is most different in the answer."""
    first = next(iter(alike))
    sums = at.curves.sums
    own = [row for row in sums if row.any() and (klass[row != 0] == first).all()]
    if not own:
        return
    families = [np.array([row[moved] for moved in alike.values()]) for row in own]
    apart = [np.ptp(family @ at.masses) for family in families]
    family = families[int(np.argmax(apart))]
    family = family[np.argsort(family @ at.masses, kind="stable")]
    yield from np.diff(family, axis=0)


def _exchanged(at: Answer, klass: IntArray, one: int, other: int) -> IntArray | None:
    """The masses in the order in which two classes are exchanged, shape (n,), None where that changes a row."""
    rows, curves, owner = at.rows, at.curves, at.rows.linear.owner.tolist()
    number = {pair: i for i, pair in enumerate(zip(owner, klass.tolist(), strict=True))}
    swap = {one: other, other: one}
    found = [number.get((o, swap.get(k, k)), -1) for o, k in number]
    if len(number) < len(klass) or min(found) < 0:
        return None
    moved, weight = np.array(found), rows.linear.weight
    told = np.column_stack([curves.shift, curves.size, curves.entropy, curves.coef.T])
    for matrix, beside in ((rows.equal, rows.value), (rows.unequal, rows.least), (curves.sums, told)):
        if not _same(np.column_stack([matrix, beside]), np.column_stack([matrix[:, moved], beside])):
            return None
    return moved if np.array_equal(weight[moved], weight) else None


def _same(rows: FloatArray, others: FloatArray) -> bool:
    """Whether rows are others in some order."""
    one, other = (np.round(each, DECIMALS) + 0.0 for each in (rows, others))
    return bool(np.array_equal(one[np.lexsort(one.T)], other[np.lexsort(other.T)]))
