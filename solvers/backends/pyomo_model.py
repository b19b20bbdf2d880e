"""Builds the Pyomo model of a `LiftedProgram`: it can be read, exported, and solved by `ipopt`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.constraints.program.impurity_numpy import PHI

if TYPE_CHECKING:
    from maxent.constraints.lifting import LiftedProgram
    from maxent.models.arrays import BoolArray, FloatArray


def build_model(program: LiftedProgram, start: FloatArray | None = None, *, expanded: bool = False) -> Any:
    """The program as a `pyomo.environ.ConcreteModel`, with the objective ``negative_entropy`` (nats times individuals).

    ``expanded`` writes ``a ln(a/w)`` as ``a ln a - a ln w``, whose first term branch and bound knows to be convex.
    """
    import pyomo.environ as pyo
    from pyomo.core.expr.numeric_expr import LinearExpression

    n = program.n_masses
    model = pyo.ConcreteModel(name="maxent")

    def bound(i: int) -> tuple[float | None, float | None]:
        return float(program.lower[i]), float(program.upper[i]) if np.isfinite(program.upper[i]) else None

    model.mass = pyo.Var(range(n), bounds=lambda _, i: bound(i))
    model.aggregate = pyo.Var(range(program.n_aggregates), bounds=lambda _, i: bound(n + i))
    z = [*model.mass.values(), *model.aggregate.values()]
    if start is not None:
        for variable, value in zip(z, start.tolist(), strict=True):
            variable.set_value(value, skip_validation=True)
    phis: dict[str, Callable[..., Any]] = {name: phi.value for name, phi in PHI.items()}
    if expanded:
        phis["entropy"] = lambda a, w, log: a * log(a) - log(w) * a
    # What is fixed at 0 adds nothing, and would have no logarithm.
    there = (program.lower != 0) | (program.upper != 0)
    weighted = ((m, w) for m, w, is_there in zip(z, program.mass_weight.tolist(), there, strict=False) if is_there)
    terms = [phis["entropy"](m, w, log=pyo.log) for m, w in weighted]
    if program.draws is not None:
        terms += [-d * pyo.log(z[i]) for i, d in enumerate(program.draws.tolist()) if d]
    model.negative_entropy = pyo.Objective(expr=pyo.quicksum(terms))
    matrix = program.matrix.tocsr()

    def linear(_: Any, r: int) -> Any:
        at = slice(matrix.indptr[r], matrix.indptr[r + 1])
        body = LinearExpression(
            linear_coefs=matrix.data[at].tolist(), linear_vars=[z[j] for j in matrix.indices[at].tolist()]
        )
        low, high = float(program.row_lower[r]), float(program.row_upper[r])
        if low == high:
            return body == low
        if np.isinf(high):
            return body >= low
        return body <= high if np.isinf(low) else (low, body, high)

    model.linear = pyo.Constraint(range(matrix.shape[0]), rule=linear)
    sums = _nonlinear_sums(program, z, there, phis)
    model.internal = pyo.Constraint(
        range(len(sums)), rule=lambda _, r: pyo.quicksum(sums[r]) + float(program.nl_const[r]) >= 0
    )
    return model


def _nonlinear_sums(
    program: LiftedProgram, z: Sequence[Any], there: BoolArray, phis: Mapping[str, Callable[..., Any]]
) -> list[list[Any]]:
    """The terms of each nonlinear row, as Pyomo expressions; ``there`` is which variables can be positive."""
    import pyomo.environ as pyo

    sums: list[list[Any]] = [[] for _ in program.nl_const]
    for terms in program.terms:
        phi = phis[terms.phi]
        columns = (terms.row, terms.var, terms.coef, terms.size, terms.size_var)
        for row, var, coef, size, size_var in zip(*(c.tolist() for c in columns), strict=True):
            if there[var]:
                sums[row].append(coef * phi(z[var], size if size_var < 0 else z[size_var], log=pyo.log))
    return sums
