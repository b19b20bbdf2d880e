"""CP-SAT model of a part: one integer for each group and class.

Functions of class totals are tables of whole numbers, ``S f(a)`` rounded in favour of the comparison: every world that
is consistent stays feasible, and what rounding can let in is smaller than what inducers compute exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from maxent.models.arrays import FloatArray, IntArray
from maxent.solvers.worlds.comparisons import TIED, Branch, Comparison, gini_scale, tells_ties
from maxent.solvers.worlds.cp_sat import cp_sat
from maxent.solvers.worlds.part import WholePart

# Largest sum of the terms of a comparison after scaling; every number is then exact to a whole one in a double.
PRECISE = 2.0**46
# Entries of a table; a comparison that needs a longer one is left out, which proves less but nothing wrong.
LONGEST = 20_000


class WorldModel:
    """The worlds of a part. ``masses[g][x]`` are the unknowns; ``left_out`` comparisons are not in the model.

    ``low`` and ``high``, shape (n_owners, n_classes), are proved bounds on each pooled quasi-identifier's people.
    """

    def __init__(self, part: WholePart, low: IntArray, high: IntArray) -> None:
        self.part = part
        self._sum = cp_sat().LinearExpr.sum
        self.model = cp_sat().CpModel()
        self.left_out = 0
        self._sums: dict[tuple[bytes, int], Any] = {}
        self._functions: dict[tuple[Any, ...], Any] = {}
        alone = np.bincount(part.owner)[part.owner] == 1
        least = np.where(alone[:, None], low[part.owner], 0)
        self.masses = [
            [self.model.new_int_var(a, b, f"m{g}_{x}") for x, (a, b) in enumerate(zip(*ends, strict=True))]
            for g, ends in enumerate(zip(least.tolist(), high[part.owner].tolist(), strict=True))
        ]
        self.flat = [m for row in self.masses for m in row]
        order = np.argsort(part.owner, kind="stable")
        self.held = [held.tolist() for held in np.split(order, np.cumsum(np.bincount(part.owner))[:-1])]
        self._state(low, high)

    def people(self, owner: int, x: int) -> Any:
        """The people of a class in a pooled quasi-identifier."""
        return self._sum([self.masses[g][x] for g in self.held[owner]])

    def _state(self, low: IntArray, high: IntArray) -> None:
        part, model = self.part, self.model
        for o, w in enumerate(part.weight.tolist()):
            model.add(self._sum([m for g in self.held[o] for m in self.masses[g]]) == w)
            if len(self.held[o]) > 1:
                for x, (least, most) in enumerate(zip(low[o].tolist(), high[o].tolist(), strict=True)):
                    model.add_linear_constraint(self.people(o, x), least, most)
        matrix = part.rows.matrix
        for r, (low, high) in enumerate(zip(part.rows.lower.tolist(), part.rows.upper.tolist(), strict=True)):
            entries = slice(matrix.indptr[r], matrix.indptr[r + 1])
            unknown, coef = matrix.indices[entries].tolist(), matrix.data[entries].tolist()
            expression = cp_sat().LinearExpr.weighted_sum([self.flat[i] for i in unknown], coef)
            model.add_linear_constraint(expression, low, high) if low <= high else model.add_bool_or([])
        for comparison in part.comparisons:
            self._compare(comparison)

    def total(self, branch: Branch, x: int) -> Any:
        """The unknown class total of a branch."""
        key = branch.groups.tobytes(), x
        if key not in self._sums:
            self._sums[key] = self.model.new_int_var(0, branch.most, f"t{len(self._sums)}")
            self.model.add(self._sums[key] == self._sum([self.masses[g][x] for g in branch.groups.tolist()]))
        return self._sums[key]

    def size(self, branch: Branch) -> Any:
        """The people of a branch: a number, or an unknown."""
        if branch.size is not None:
            return branch.size
        key = branch.groups.tobytes(), -1
        if key not in self._sums:
            self._sums[key] = self.model.new_int_var(0, branch.most, f"w{len(self._sums)}")
            totals = [self.total(branch, x) for x in range(self.part.n_classes)]
            self.model.add(self._sums[key] == sum(totals))
        return self._sums[key]

    def _compare(self, comparison: Comparison) -> None:
        scale = gini_scale(comparison)
        if scale is not None:
            self._exact(comparison, scale)
        elif max(branch.most for branch in comparison.branches) >= LONGEST or (
            comparison.measure == "gini" and not self._short(comparison)
        ):
            self.left_out += 1
        else:
            self._rounded(comparison)

    @staticmethod
    def _short(comparison: Comparison) -> bool:
        """Whether tables of class total and size are short enough where sizes are unknown."""
        unknown = [b.most for b in (*comparison.chosen, *comparison.candidate) if b.size is None]
        return all((most + 1) ** 2 <= LONGEST for most in unknown)

    def _exact(self, comparison: Comparison, scale: int) -> None:
        """Gini with known sizes: squares with whole coefficients."""
        terms = []
        for sign, sides in ((1, comparison.chosen), (-1, comparison.candidate)):
            for branch in sides:
                size = branch.size or 1
                terms += [sign * (scale // size) * self._square(branch, x) for x in range(self.part.n_classes)]
        # In units of 1 / scale individuals: whole numbers, of which inducers cannot tell very small ones from 0.
        least = 1 if comparison.strict and tells_ties(comparison) else -math.floor(TIED * scale * comparison.node.most)
        self.model.add(sum(terms) >= least)

    def _square(self, branch: Branch, x: int) -> Any:
        key = "square", branch.groups.tobytes(), x
        if key not in self._functions:
            total = self.total(branch, x)
            square = self.model.new_int_var(0, branch.most**2, f"f{len(self._functions)}")
            self.model.add_multiplication_equality(square, [total, total])
            self._functions[key] = square
        return self._functions[key]

    def _rounded(self, comparison: Comparison) -> None:
        """Sums of tables, each rounded up with its sign."""
        terms, ratio = _factors(comparison)
        if not ratio:
            return
        largest = sum(abs(factor) * _size_of(function, branch) for branch, factor, function in terms)
        n_terms = (self.part.n_classes + 1) * len(terms)
        scale = 2.0 ** math.floor(math.log2(PRECISE / max(largest, 1.0)))
        found: list[Any] = []
        for branch, factor, function in terms:
            found += self._tables(branch, factor * scale, function)
        tied = TIED * ratio * comparison.node.most * scale + n_terms
        self.model.add(sum(found) >= -math.ceil(tied))

    def _tables(self, branch: Branch, factor: float, function: str) -> list[Any]:
        """``factor`` times the function of a branch, as unknowns and numbers that are at least as large."""
        classes = range(self.part.n_classes)
        name = branch.groups.tobytes()
        if function == "gini":
            if branch.size is not None:
                values = np.arange(branch.most + 1.0) ** 2 / max(branch.size, 1)
                return [self._table(self.total(branch, x), factor, values, (name, x, "g")) for x in classes]
            wide = branch.most + 1
            size, a = np.divmod(np.arange(wide * wide), wide)
            values = a.astype(np.float64) ** 2 / np.maximum(size, 1)
            index = [self.size(branch) * wide + self.total(branch, x) for x in classes]
            return [self._table(i, factor, values, (name, x, "w")) for x, i in enumerate(index)]
        values = a_ln_a(branch.most)
        terms = [self._table(self.total(branch, x), factor, values, (name, x, "e")) for x in classes]
        if branch.size is not None:
            return [*terms, _up(-factor * values[branch.size : branch.size + 1])[0]]
        return [*terms, self._table(self.size(branch), -factor, values, (name, -1, "e"))]

    def _table(self, index: Any, factor: float, values: FloatArray, key: tuple[Any, ...]) -> Any:
        key = (*key, factor)
        if key not in self._functions:
            table = _up(factor * values)
            value = self.model.new_int_var(min(table), max(table), f"f{len(self._functions)}")
            self.model.add_element(index, table, value)
            self._functions[key] = value
        return self._functions[key]


def a_ln_a(most: int) -> FloatArray:
    """``a ln a`` for 0 to ``most``."""
    a = np.arange(most + 1.0)
    return np.asarray(a * np.log(np.maximum(a, 1.0)), np.float64)


def _up(values: FloatArray) -> list[int]:
    """Whole numbers that are at least the values, which are computed to a few units in the last place."""
    result: list[int] = np.ceil(values + np.abs(values) * 2.0**-50).astype(np.int64).tolist()
    return result


def _size_of(function: str, branch: Branch) -> float:
    most = float(max(branch.most, 1))
    return most if function == "gini" else 2 * most * math.log(max(most, 2.0))


def _factors(comparison: Comparison) -> tuple[list[tuple[Branch, float, str]], float]:
    """What is summed: branch, factor and function; and how large an impurity of 1 for each person is, 0 for nothing."""
    function = "gini" if comparison.measure == "gini" else "entropy"
    if comparison.measure != "gain_ratio":
        chosen = [(branch, 1.0, function) for branch in comparison.chosen]
        return [*chosen, *((branch, -1.0, function) for branch in comparison.candidate)], 1.0
    sizes = [
        [branch.size for branch in sides] for sides in (comparison.chosen, comparison.candidate, [comparison.node])
    ]
    if any(size is None for side in sizes for size in side):
        return [], 0.0
    split = [sum(size * math.log(size) for size in side if size) for side in sizes]
    one, other = split[2] - split[0], split[2] - split[1]
    if min(one, other) <= 0:
        return [], 0.0
    # (T - N) / one - (U - N) / other >= 0, times one.
    ratio = one / other
    chosen = [(branch, 1.0, function) for branch in comparison.chosen]
    candidate = [(branch, -ratio, function) for branch in comparison.candidate]
    return [*chosen, *candidate, (comparison.node, ratio - 1.0, function)], max(one / comparison.node.most, 1.0)


def masses_of(model: WorldModel, value: Callable[[Any], int]) -> IntArray:
    """The masses that a solver has found, shape (n_groups, n_classes)."""
    return np.array([[value(m) for m in row] for row in model.masses], np.int64)
