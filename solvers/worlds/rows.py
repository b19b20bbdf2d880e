"""Linear statements over integers: integer coefficients and bounds, never tighter than stated.

A row ``lower <= sum c_j m_j <= upper`` is multiplied by a whole number D, and each ``c_j D`` is rounded to ``a_j``.
What rounding can change, ``sum |a_j - c_j D| m_j``, is at most the largest difference times the people of the row, and
the bounds are moved outward by it. Shares such as 1/3 are read as the fractions that they are, and lose nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from scipy import sparse

from maxent.constraints.presolve.part_view import PartRows
from maxent.models.arrays import FloatArray, IntArray, ranges

# By how much of its people a row may be missed: the truth satisfies what is compiled to this, see the residuals.
MISSED = 1e-9
# Fractions up to this denominator are recognised; a row's common one is at most its square.
DENOMINATOR = 10_000
# Of a row's left side, so that sums of a few such stay far from the end of 64 bits.
LARGEST = 2.0**45


@dataclass(frozen=True, slots=True, eq=False)
class WholeRows:
    """``lower <= matrix @ m <= upper``, integers; unknowns are ``group * n_classes + class``.

    ``matrix`` has shape (n_rows, n_groups * n_classes); the bounds lie within what the row can reach. ``left_out`` are
    rows whose numbers are too large.
    """

    matrix: sparse.csr_matrix
    lower: IntArray
    upper: IntArray
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.lower)

    def hold(self, masses: IntArray) -> bool:
        """Whether some masses, shape (n_groups, n_classes), satisfy every row."""
        value = self.matrix @ masses.ravel()
        return bool(((self.lower <= value) & (value <= self.upper)).all())


@cache
def scaled(coef: tuple[float, ...], people: float) -> tuple[tuple[int, ...], int, float] | None:
    """Integers, what the coefficients were multiplied by, and the largest rounding; None where they are too large."""
    largest = max(1.0, *map(abs, coef))
    near = [Fraction(c).limit_denominator(DENOMINATOR) for c in coef]
    if all(abs(float(f) - c) <= 1e-13 * largest for f, c in zip(near, coef, strict=True)):
        by = math.lcm(*(f.denominator for f in near))
        if by <= DENOMINATOR**2 and largest * by * people < LARGEST:
            return _rounded(coef, by)
    power = math.floor(math.log2(LARGEST / (largest * max(people, 1.0))))
    return None if power < 0 else _rounded(coef, 2**power)


def _rounded(coef: tuple[float, ...], by: int) -> tuple[tuple[int, ...], int, float]:
    exact = [Fraction(c) * by for c in coef]
    whole = tuple(round(e) for e in exact)
    return whole, by, max(float(abs(e - w)) for e, w in zip(exact, whole, strict=True))


def whole_rows(stated: PartRows, people: FloatArray, weight: IntArray, n_classes: int) -> WholeRows:
    """The linear statements of a part over whole numbers.

    Parameters
    ----------
    stated : the rows of the part
    people : shape (n_regions,), individuals who can be in each region
    weight : shape (n_groups,), individuals of each group's quasi-identifiers: the largest mass of the group
    """
    table, inside = stated.table, stated.inside
    row: list[IntArray] = []
    unknown: list[IntArray] = []
    value: list[IntArray] = []
    bounds: list[tuple[float, float]] = []
    left_out = 0
    for r, region in enumerate(stated.region.tolist()):
        entries = slice(int(table.ends[r]), int(table.ends[r + 1]))
        klass, each = table.klass[entries], table.coef[entries]
        over = stated.over[entries]  # of each coefficient the groups, and the factors that these have
        size = inside.indptr[over + 1] - inside.indptr[over]
        at = ranges(inside.indptr[over], inside.indptr[over + 1])
        coef, which = np.unique(np.repeat(each, size) * inside.data[at], return_inverse=True)
        found = scaled(tuple(coef.tolist()), float(people[region])) if len(coef) else None
        if found is None:
            left_out += 1
            continue
        whole, by, rounding = found
        row.append(np.full(len(at), len(bounds)))
        unknown.append(inside.indices[at].astype(np.int64) * n_classes + np.repeat(klass, size))
        value.append(np.array(whole, np.int64)[which.ravel()])
        missed = max(float(people[region]), 1.0) * (rounding + MISSED * by)
        bounds.append((float(table.lower[r]) * by - missed, float(table.upper[r]) * by + missed))
    nothing = np.empty(0, np.int64)
    matrix = sparse.csr_matrix(
        (np.concatenate([nothing, *value]), (np.concatenate([nothing, *row]), np.concatenate([nothing, *unknown]))),
        shape=(len(bounds), len(weight) * n_classes),
        dtype=np.int64,
    )
    most = np.repeat(weight, n_classes)
    least_reached, most_reached = matrix.minimum(0) @ most, matrix.maximum(0) @ most
    low, high = np.array(bounds, np.float64).reshape(-1, 2).T
    lower = np.ceil(np.clip(low, least_reached, most_reached + 1.0)).astype(np.int64)
    upper = np.floor(np.clip(high, least_reached - 1.0, most_reached)).astype(np.int64)
    return WholeRows(matrix, lower, upper, left_out)
