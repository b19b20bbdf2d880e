"""Derivatives of a Pyomo model for cyipopt, by symbolic differentiation.

Pyomo's interface to cyipopt needs the ASL library, which no wheel ships. So Pyomo's symbolic differentiation states
every first and second derivative, and Python's compiler makes functions of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.models.arrays import FloatArray, IntArray
from maxent.solvers.backends.pyomo_model import build_model

# Stands for 0, which has no logarithm; second derivatives divide by its fourth power, which must not underflow.
LEAST = 1e-60


def _sums(index: IntArray, values: FloatArray, size: int) -> FloatArray:
    """Sums of values by index, shape (size,)."""
    return np.asarray(np.bincount(index, values, size), np.float64)


class PyomoDerivatives:
    """Objective, constraints, Jacobian and Hessian of the Lagrangian; rows and columns are those of the program.

    Structures are of (row, column) pairs; the values of equal pairs add up. As in
    `maxent.solvers.derivatives.Derivatives`, a row's constant belongs to its bounds. ``check`` is called for every row,
    and may raise when time is up. Pickles, without the model.
    """

    def __init__(self, program: LiftedProgram, check: Callable[[], None] = lambda: None) -> None:
        model = build_model(program)
        rows = [*model.linear.values(), *model.internal.values()]
        variables = [*model.mass.values(), *model.aggregate.values()]
        self._differentiate(variables, [model.negative_entropy.expr, *(row.body for row in rows)], check)

    @classmethod
    def of_model(
        cls, variables: Sequence[Any], expressions: Sequence[Any], check: Callable[[], None]
    ) -> PyomoDerivatives:
        """Derivatives of any model: the expressions are the objective to be made small, then the body of each row."""
        made = cls.__new__(cls)
        made._differentiate(variables, expressions, check)
        return made

    def _differentiate(self, variables: Sequence[Any], expressions: Sequence[Any], check: Callable[[], None]) -> None:
        """State every first and second derivative of the objective and the rows."""
        column = {id(variable): at for at, variable in enumerate(variables)}
        values, slopes, curvatures = (_Entries(column) for _ in range(3))
        for owner, body in enumerate(expressions):
            check()
            for term in _terms(body):
                values.add(term, owner)
                for by, slope in _derivatives(term):
                    slopes.add(slope, owner, by)
                    for beside, curvature in _derivatives(slope):
                        if column[id(by)] >= column[id(beside)]:
                            curvatures.add(curvature, owner, by, beside)
        self._n, self._n_rows = len(variables), len(expressions) - 1
        self._value, (self._value_of,) = values.compiled(1)
        self._slope, (self._slope_of, self._slope_by) = slopes.compiled(2)
        self._curvature, (self._curvature_of, *self._curvature_by) = curvatures.compiled(3)

    def objective(self, z: FloatArray) -> float:
        return float(self._value(z)[self._value_of == 0].sum())

    def gradient(self, z: FloatArray) -> FloatArray:
        mine = self._slope_of == 0
        return _sums(self._slope_by[mine], self._slope(z)[mine], self._n)

    def constraints(self, z: FloatArray) -> FloatArray:
        return _sums(self._value_of, self._value(z), 1 + self._n_rows)[1:]

    def jacobianstructure(self) -> tuple[IntArray, IntArray]:
        mine = self._slope_of > 0
        return self._slope_of[mine] - 1, self._slope_by[mine]

    def jacobian(self, z: FloatArray) -> FloatArray:
        found: FloatArray = self._slope(z)[self._slope_of > 0]
        return found

    def hessianstructure(self) -> tuple[IntArray, IntArray]:
        row, column = self._curvature_by
        return row, column

    def hessian(self, z: FloatArray, multipliers: FloatArray, objective_factor: float) -> FloatArray:
        factors = np.concatenate([[objective_factor], multipliers])
        found: FloatArray = factors[self._curvature_of] * self._curvature(z)
        return found


class _Entries:
    """Expressions, each with its owner (0: the objective, r + 1: row r) and the variables it is a derivative by."""

    def __init__(self, column: dict[int, int]) -> None:
        self._column = column
        self._texts: list[str] = []
        self._places: list[tuple[int, ...]] = []

    def add(self, expression: Any, owner: int, *by: Any) -> None:
        from pyomo.core.expr import expression_to_string

        named = expression_to_string(expression, labeler=lambda variable: f"z[{self._column[id(variable)]}]")
        self._texts.append(named)
        self._places.append((owner, *(self._column[id(variable)] for variable in by)))

    def compiled(self, n_places: int) -> tuple[_Values, IntArray]:
        """A function of all variables with the values of all expressions, and their places, a row for each kind."""
        return _Values(", ".join(self._texts)), np.array(self._places, np.int64).reshape(-1, n_places).T


class _Values:
    """The values of expressions in ``z[0]``, ``z[1]``, ..., as a function of all variables; pickles as its text."""

    def __init__(self, text: str) -> None:
        self._text = text
        # Arithmetic and our own names is all there is in the text.
        self._evaluate = eval(f"lambda z: [{text}]", {"log": math.log})

    def __call__(self, z: FloatArray) -> FloatArray:
        return np.array(self._evaluate(np.maximum(z, LEAST).tolist()), np.float64)

    def __reduce__(self) -> tuple[type[_Values], tuple[str]]:
        return _Values, (self._text,)


def _terms(body: Any) -> Iterator[Any]:
    """The terms of a sum that depend on variables."""
    from pyomo.core.expr.numeric_expr import SumExpression

    for term in body.args if isinstance(body, SumExpression) else (body,):
        if _varies(term):
            yield term


def _derivatives(expression: Any) -> Iterator[tuple[Any, Any]]:
    """The variables of an expression, each with the derivative by it, where that is not 0."""
    from pyomo.core.expr.calculus.derivatives import Modes, differentiate
    from pyomo.core.expr.numeric_expr import MonomialTermExpression
    from pyomo.core.expr.visitor import identify_variables

    if isinstance(expression, MonomialTermExpression):  # most terms: not worth a walk
        coefficient, variable = expression.args
        yield variable, coefficient
    elif _varies(expression):
        variables = list(identify_variables(expression))
        found = differentiate(expression, wrt_list=variables, mode=Modes.reverse_symbolic)
        yield from zip(variables, found, strict=True)


def _varies(expression: Any) -> bool:
    """Whether an expression is more than a number."""
    from pyomo.core.expr.numvalue import is_potentially_variable

    return bool(is_potentially_variable(expression))
