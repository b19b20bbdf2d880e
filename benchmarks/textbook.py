"""The textbook model: Zhu and Du (2010), equations 1 to 4, written down in Pyomo word for word.

The unknowns are the probabilities P(x|q) themselves. Every share P(x|node) is a sum over all quasi-identifiers of the
node, written out wherever it occurs, so the internal constraints and their second derivatives are dense. The project
solves the same problem in another form; this one is what it is compared with.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from maxent.constraints.program.program import Internal, Program
from maxent.models.arrays import BoolArray, FloatArray, IntArray

RELAXED = 5e-9
"""How far an inequality may be missed, half of what counts as solved: many hold with equality at every feasible point,
and Ipopt needs an interior. (Its own relaxation would also apply to the variables, and logarithms fail below 0.)"""


def build_model(program: Program, start: FloatArray, zero: BoolArray) -> Any:
    """A `pyomo.environ.ConcreteModel` over P(x|q), shape of ``start``: (n_quasi_identifiers, n_classes).

    For releases with public splits, where every quasi-identifier is one cell; Gini and entropy only. Where ``zero``, of
    the same shape, the statements leave no other value: these are no variables, because Ipopt needs an interior. For
    its tolerances the objective is in nats, not nats per individual; and of a node's counts one is left out, which
    follows from the others.
    """
    import pyomo.environ as pyo

    n_q, n_classes = start.shape
    weight = program.weight
    known = zero | ((~zero).sum(axis=1) == 1)[:, None]
    model = pyo.ConcreteModel(name="textbook")
    model.p = pyo.Var(
        [(q, x) for q, x in np.argwhere(~known).tolist()],
        bounds=(0, 1),
        initialize=lambda _, q, x: float(start[q, x]),
    )
    p = [[(float(~zero[q, x]) if known[q, x] else model.p[q, x]) for x in range(n_classes)] for q in range(n_q)]

    def share(members: IntArray, x: int) -> Any:
        """P(x|Lambda), equation 1."""
        inside = weight[members].sum()
        return pyo.quicksum(p[q][x] * float(weight[q] / inside) for q in members.tolist())

    def p_log_p(value: Any) -> Any:
        return value * pyo.log(value) if pyo.is_potentially_variable(value) or value > 0 else 0.0

    def expected_impurity(measure: str, branches: list[IntArray]) -> Any:
        """E(Lambda, A), equations 2 to 4."""
        whole = sum(weight[members].sum() for members in branches)
        total = 0.0
        for members in branches:
            shares = [share(members, x) for x in range(n_classes)]
            here = 1 - sum(s**2 for s in shares) if measure == "gini" else -sum(p_log_p(s) for s in shares)
            total += float(weight[members].sum() / whole) * here
        return total

    model.negative_entropy = pyo.Objective(
        expr=pyo.quicksum(float(weight[q]) * p_log_p(variable) for (q, _), variable in model.p.items())
    )
    model.rows = pyo.ConstraintList()
    for q in np.flatnonzero(~known.all(axis=1)).tolist():
        model.rows.add(pyo.quicksum(p[q]) == 1)
    for constraint in program.linear:
        members = program.regions[constraint.region]
        inside = float(weight[members].sum())
        left_out = int(constraint.upper.argmax()) if constraint.kind == "counts" else -1
        for i, (coef, lower, upper) in enumerate(zip(constraint.coef, constraint.lower, constraint.upper, strict=True)):
            if i == left_out:
                continue
            body = sum(float(c) * share(members, x) for x, c in enumerate(coef) if c)
            if not pyo.is_potentially_variable(body):
                continue
            if lower == upper:
                model.rows.add(body == float(lower) / inside)
                continue
            if np.isfinite(lower):
                model.rows.add(body >= float(lower) / inside)
            if np.isfinite(upper):
                model.rows.add(body <= float(upper) / inside)
    for comparison in program.internal:
        chosen, candidates = _splits(program, comparison)
        for candidate in candidates:
            slack = expected_impurity(comparison.measure, candidate) - expected_impurity(comparison.measure, chosen)
            if pyo.is_potentially_variable(slack):
                model.rows.add(slack >= 0)
    return model


def excluded(program: Program) -> BoolArray:
    """Classes that the statements about a node rule out there, shape (n_quasi_identifiers, n_classes)."""
    out = np.zeros((len(program.table), program.n_classes), bool)
    for constraint in program.linear:
        members = program.regions[constraint.region]
        inside = float(program.weight[members].sum())
        for coef, lower, upper in zip(constraint.coef, constraint.lower, constraint.upper, strict=True):
            if coef.max() == coef.sum() == 1:
                x = int(coef.argmax())
                if upper <= 0:
                    out[members, x] = True
                if lower >= inside:
                    out[np.ix_(members, np.flatnonzero(coef == 0))] = True
    return out


def _splits(program: Program, comparison: Internal) -> tuple[list[IntArray], list[list[IntArray]]]:
    """The branches of the chosen split, and those of every candidate that it is compared with."""
    held = program.cells.trees[comparison.tree]
    chosen = [
        held.at(child) for child in held.places.children[comparison.place] if held.stop[child] > held.start[child]
    ]
    here = held.at(comparison.place)
    codes = program.table.codes[program.cells.owner[here], comparison.column]
    if comparison.form == "values":
        return chosen, [[here[codes == value] for value in np.unique(codes)]]
    sides = [codes <= code if comparison.form == "cuts" else codes == code for code in comparison.codes]
    return chosen, [[here[side], here[~side]] for side in sides]


class Textbook:
    """The model as cyipopt's callback object, through an NL file and CasADi (of the extra ``dev``)."""

    def __init__(self, program: Program, start: FloatArray) -> None:
        import casadi
        from pyomo.repn.plugins.nl_writer import NLWriter

        self._zero = excluded(program)
        model = build_model(program, start, self._zero)
        with tempfile.TemporaryDirectory(prefix="maxent-") as folder:
            path = Path(folder) / "textbook.nl"
            with path.open("w", encoding="utf-8") as stream:
                info = NLWriter().write(model, stream, linear_presolve=False, symbolic_solver_labels=False)
            nl = casadi.NlpBuilder()
            nl.import_nl(str(path))
        index = {id(variable): at for at, variable in model.p.items()}
        q, x = zip(*(index[id(variable)] for variable in info.variables), strict=True)
        self._at = np.array(q), np.array(x)
        self._row_bounds = np.array(nl.g_lb, np.float64), np.array(nl.g_ub, np.float64)
        z, f, g = casadi.vertcat(*nl.x), nl.f, casadi.vertcat(*nl.g)
        multipliers, factor = casadi.MX.sym("multipliers", len(nl.g)), casadi.MX.sym("factor")
        jacobian = casadi.jacobian(g, z)
        hessian = casadi.tril(casadi.hessian(factor * f + casadi.dot(multipliers, g), z)[0])
        self._f, self._df = casadi.Function("f", [z], [f]), casadi.Function("df", [z], [casadi.gradient(f, z)])
        self._g, self._jg = casadi.Function("g", [z], [g]), casadi.Function("jg", [z], [jacobian])
        self._h = casadi.Function("h", [z, multipliers, factor], [hessian])
        self._jacobian = tuple(np.array(i, np.int64) for i in jacobian.sparsity().get_triplet())
        self._hessian = tuple(np.array(i, np.int64) for i in hessian.sparsity().get_triplet())

        self.iterations = 0

    def solve(self, start: FloatArray) -> tuple[FloatArray, int]:
        """P(x|q), shape (n_quasi_identifiers, n_classes), and Ipopt's status. Its settings are those of the project."""
        import cyipopt

        n, (lower, upper) = len(self._at[0]), self._row_bounds
        lower = np.where(lower < upper, lower - RELAXED, lower)
        solver = cyipopt.Problem(n=n, m=len(lower), problem_obj=self, lb=np.zeros(n), ub=np.ones(n), cl=lower, cu=upper)
        settings = {
            "sb": "yes",
            "print_level": 0,
            "mu_strategy": "adaptive",
            "bound_relax_factor": 0.0,
            "max_iter": 1500,
        }
        settings |= {"tol": 1e-8, "constr_viol_tol": 1e-9, "acceptable_tol": 1e-6, "acceptable_constr_viol_tol": 1e-9}
        for key, value in settings.items():
            solver.add_option(key, value)
        z, info = solver.solve(start[self._at])
        p = np.where(self._zero, 0.0, 1.0)
        p[self._at] = z
        return p, int(info["status"])

    def intermediate(self, *progress: Any) -> bool:
        """Called by Ipopt after every iteration."""
        self.iterations = int(progress[1])
        return True

    def objective(self, z: FloatArray) -> float:
        return float(self._f(z))

    def gradient(self, z: FloatArray) -> FloatArray:
        return np.array(self._df(z)).ravel()

    def constraints(self, z: FloatArray) -> FloatArray:
        return np.array(self._g(z)).ravel()

    def jacobianstructure(self) -> tuple[IntArray, ...]:
        return self._jacobian

    def jacobian(self, z: FloatArray) -> FloatArray:
        return np.array(self._jg(z).nonzeros())

    def hessianstructure(self) -> tuple[IntArray, ...]:
        return self._hessian

    def hessian(self, z: FloatArray, multipliers: FloatArray, objective_factor: float) -> FloatArray:
        return np.array(self._h(z, multipliers, objective_factor).nonzeros())
