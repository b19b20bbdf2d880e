"""The Pyomo form and the program's own derivatives are the same program, and so is what others make of the model."""

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.core.expr.calculus.derivatives import Modes, differentiate
from pyomo.core.expr.visitor import identify_variables
from pyomo.repn.plugins.nl_writer import NLWriter
from scipy import sparse
from support.programs import private, public, whole

from maxent.solvers.backend import Options
from maxent.solvers.backends import ipopt_
from maxent.solvers.backends.ipopt_ import PyomoDerivatives
from maxent.solvers.backends.ipopt_run import run
from maxent.solvers.backends.pyomo_model import build_model
from maxent.solvers.backends.registry import load_backend
from maxent.solvers.control import Clock
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.solution import Stop

CASES = {
    "gini": lambda: public("gini"),
    "entropy": lambda: public("entropy"),
    "gain ratio": lambda: public("gain_ratio"),
    "counts": lambda: public("gini", "counts"),
    "private gini": lambda: private("gini"),
    "private entropy": lambda: private("entropy"),
}


def dense(values, structure, shape):
    return sparse.coo_matrix((values, structure), shape=shape).toarray()


def interior(program, rng):
    high = np.where(np.isfinite(program.upper), program.upper, program.lower + 5.0)
    return program.lower + (high - program.lower) * rng.uniform(0.1, 0.9, program.n)


@pytest.mark.parametrize("case", CASES)
def test_both_forms_agree_at_random_points(case):
    _, part = whole(*CASES[case]())
    program = part.program
    assert len(program.nl_const) > 0
    assert ("private" in case) == any((terms.size_var >= 0).any() for terms in program.terms)
    rng = np.random.default_rng(1)
    own, pyomo = Derivatives(program), PyomoDerivatives(program)
    n_rows = own.n_rows
    for _ in range(3):
        z, multipliers = interior(program, rng), rng.standard_normal(n_rows)
        assert pyomo.objective(z) == pytest.approx(own.objective(z), rel=1e-12)
        np.testing.assert_allclose(pyomo.gradient(z), own.gradient(z), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(pyomo.constraints(z), own.constraints(z), rtol=1e-10, atol=1e-11)
        shape = (n_rows, program.n)
        np.testing.assert_allclose(
            dense(pyomo.jacobian(z), pyomo.jacobianstructure(), shape),
            dense(own.jacobian(z), own.jacobianstructure(), shape),
            rtol=1e-9,
            atol=1e-12,
        )
        square = (program.n, program.n)
        np.testing.assert_allclose(
            dense(pyomo.hessian(z, multipliers, 0.7), pyomo.hessianstructure(), square),
            dense(own.hessian(z, multipliers, 0.7), own.hessianstructure(), square),
            rtol=1e-9,
            atol=1e-12,
        )


@pytest.mark.parametrize("case", CASES)
@pytest.mark.regression(number=21)
def test_the_model_is_evaluated_as_pyomo_does_and_differentiated_as_sympy_does(case):
    _, part = whole(*CASES[case]())
    program = part.program
    z = interior(program, np.random.default_rng(3))
    model, pyomo = build_model(program, z), PyomoDerivatives(program)
    rows = [*model.linear.values(), *model.internal.values()]
    constant = np.concatenate([np.zeros(len(model.linear)), program.nl_const])
    assert pyomo.objective(z) == pytest.approx(pyo.value(model.negative_entropy), rel=1e-12)
    np.testing.assert_allclose(pyomo.constraints(z), [pyo.value(row.body) for row in rows] - constant, atol=1e-12)
    column = {id(variable): i for i, variable in enumerate((*model.mass.values(), *model.aggregate.values()))}
    jacobian = dense(pyomo.jacobian(z), pyomo.jacobianstructure(), (len(rows), program.n))
    for r in (0, len(rows) - 1):
        variables = list(identify_variables(rows[r].body))
        slopes = differentiate(rows[r].body, wrt_list=variables, mode=Modes.sympy)
        expected = np.zeros(program.n)
        expected[[column[id(v)] for v in variables]] = [pyo.value(slope) for slope in slopes]
        np.testing.assert_allclose(jacobian[r], expected, rtol=1e-10, atol=1e-13)
    last = next(term for term in reversed(model.internal[0].body.args) if not isinstance(term, float))
    variables = list(identify_variables(last))
    only_last = np.zeros(len(rows))
    only_last[len(model.linear)] = 1.0
    hessian = dense(pyomo.hessian(z, only_last, 0.0), pyomo.hessianstructure(), (program.n, program.n))
    slopes = differentiate(model.internal[0].body, wrt_list=variables, mode=Modes.sympy)
    for v, slope in zip(variables, slopes, strict=True):
        at = column[id(v)]
        [expected] = differentiate(slope, wrt_list=[v], mode=Modes.sympy)
        assert hessian[at, at] == pytest.approx(pyo.value(expected), rel=1e-9)


@pytest.mark.parametrize(("name", "source"), [("ipopt", PyomoDerivatives), ("ipopt:own", Derivatives)])
def test_the_name_alone_says_whose_derivatives_ipopt_gets(name, source, monkeypatch):
    release, frame = public("gini", classes="abcdefgh")
    _, part = whole(release, frame)
    sources = []

    def recorded(callbacks, *arguments, **settings):
        sources.append(type(callbacks))
        return run(callbacks, *arguments, **settings)

    monkeypatch.setattr(ipopt_, "run", recorded)
    found = load_backend(name).solve(part.program, part.point(np.ones(part.known.shape)), Options(max_iterations=3))
    assert part.program.n > 200
    assert set(sources) == {source}
    assert found.by == name


def test_a_pyomo_model_that_takes_too_long_is_given_up():
    _, part = whole(*public("gini"))
    start = part.point(np.ones(part.known.shape))
    found = load_backend("ipopt").solve(part.program, start, Options(clock=Clock(0.0)))
    assert (found.point, found.stop) == (None, Stop.TIME_LIMIT)


@pytest.mark.parametrize("case", CASES)
def test_the_model_has_values_where_variables_are_0(case):
    _, part = whole(*CASES[case]())
    pyomo, z = PyomoDerivatives(part.program), np.zeros(part.program.n)
    np.testing.assert_allclose(pyomo.constraints(z), 0.0, atol=1e-50)
    assert pyomo.objective(z) == pytest.approx(0.0, abs=1e-50)
    slopes = pyomo.jacobian(z), pyomo.gradient(z)
    curvatures = pyomo.hessian(z, np.ones(len(pyomo.constraints(z))), 1.0)
    assert all(np.isfinite(values).all() for values in (*slopes, curvatures))


@pytest.mark.parametrize("case", CASES)
def test_casadi_reads_and_differentiates_the_nl_file_alike(case, tmp_path):
    casadi = pytest.importorskip("casadi", reason="CasADi is not installed")
    _, part = whole(*CASES[case]())
    program = part.program
    model, path = build_model(program), tmp_path / "program.nl"
    with path.open("w", encoding="utf-8") as stream:
        info = NLWriter().write(model, stream, linear_presolve=False, symbolic_solver_labels=False)
    file = casadi.NlpBuilder()
    file.import_nl(str(path))
    number = {id(v): i for i, v in enumerate([*model.mass.values(), *model.aggregate.values()])}
    row = {id(c): i for i, c in enumerate([*model.linear.values(), *model.internal.values()])}
    columns, rows = [number[id(v)] for v in info.variables], [row[id(c)] for c in info.constraints]
    x, g = casadi.vertcat(*file.x), casadi.vertcat(*file.g)
    multiplier = casadi.MX.sym("multiplier", len(rows))
    lagrangian = 0.7 * file.f + casadi.dot(multiplier, g)
    theirs = casadi.Function(
        "all",
        [x, multiplier],
        [file.f, casadi.gradient(file.f, x), g, casadi.jacobian(g, x), casadi.hessian(lagrangian, x)[0]],
    )
    rng = np.random.default_rng(4)
    z, multipliers, ours = interior(program, rng), rng.standard_normal(len(rows)), PyomoDerivatives(program)
    f, df, values, jacobian, hessian = (np.array(found) for found in theirs(z[columns], multipliers[rows]))
    assert ours.objective(z) == pytest.approx(f.item(), rel=1e-12)
    np.testing.assert_allclose(ours.gradient(z)[columns], df.ravel(), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ours.constraints(z)[rows], values.ravel(), rtol=1e-10, atol=1e-11)
    mine = dense(ours.jacobian(z), ours.jacobianstructure(), (len(rows), program.n))
    np.testing.assert_allclose(mine[np.ix_(rows, columns)], jacobian, rtol=1e-9, atol=1e-12)
    lower = dense(ours.hessian(z, multipliers, 0.7), ours.hessianstructure(), (program.n, program.n))
    both = lower + np.tril(lower, -1).T
    np.testing.assert_allclose(both[np.ix_(columns, columns)], hessian, rtol=1e-9, atol=1e-12)


def test_structures_wait_until_they_are_asked_for():
    program = whole(*CASES["gini"]())[1].program
    own = Derivatives(program)
    own.objective(interior(program, np.random.default_rng(0)))
    assert not {"_jacobian", "_hessian"} & vars(own).keys()
    jacobian, rows = own.jacobianstructure(), np.diff(program.matrix.indptr)
    np.testing.assert_array_equal(jacobian[0][: program.matrix.nnz], np.repeat(np.arange(len(rows)), rows))
    np.testing.assert_array_equal(jacobian[1][: program.matrix.nnz], program.matrix.indices)


@pytest.mark.parametrize("case", ["gini", "entropy", "private entropy"])
def test_own_derivatives_equal_finite_differences(case):
    _, part = whole(*CASES[case]())
    own = Derivatives(part.program)
    rng = np.random.default_rng(2)
    z, step = interior(part.program, rng), 1e-6
    jacobian = dense(own.jacobian(z), own.jacobianstructure(), (own.n_rows, part.program.n))
    for j in rng.choice(part.program.n, 12, replace=False):
        ahead, behind = z.copy(), z.copy()
        ahead[j] += step
        behind[j] -= step
        slope = (own.constraints(ahead) - own.constraints(behind)) / (2 * step)
        np.testing.assert_allclose(jacobian[:, j], slope, atol=1e-7)
        rise = (own.objective(ahead) - own.objective(behind)) / (2 * step)
        assert own.gradient(z)[j] == pytest.approx(rise, rel=1e-6, abs=1e-7)
