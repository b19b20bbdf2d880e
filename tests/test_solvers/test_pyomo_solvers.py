"""pyomo:NAME: executables that speak AMPL's formats, Python packages, and what is missing or does not do."""

import logging
import os
import stat
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.core.expr.calculus.derivatives import Modes, differentiate
from pyomo.core.expr.visitor import identify_variables
from pyomo.repn.plugins.nl_writer import NLWriter
from scipy import sparse
from support.programs import private, public, whole
from support.small import assert_same_masses, best_of_ipopt, entropy, part, release_and_people, start

import maxent
from maxent.models.errors import MissingExtra, UnknownBackend
from maxent.solvers.backend import Options
from maxent.solvers.backends import ipopt_, pyomo_
from maxent.solvers.backends.ipopt_ import PyomoDerivatives
from maxent.solvers.backends.ipopt_run import run
from maxent.solvers.backends.pyomo_ import PyomoBackend
from maxent.solvers.backends.pyomo_model import build_model
from maxent.solvers.backends.registry import load_backend
from maxent.solvers.control import Clock
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.solution import Stop

OPTIONS = Options()

IPOPT = """
# Ipopt as an executable for AMPL: reads the .nl file, writes the .sol file beside it. The one in CasADi's wheels.
import sys
from pathlib import Path

if sys.argv[1] == "-v":
    print("Ipopt 3.14.11 (of CasADi)")
    sys.exit()
import casadi

settings = dict(item.split("=", 1) for item in sys.argv[3:])
options = {"print_level": 0, "sb": "yes", "max_iter": int(settings["max_iter"])}
options |= {name: float(settings[name]) for name in ("bound_relax_factor", "max_cpu_time") if name in settings}
nl = casadi.NlpBuilder()
nl.import_nl(sys.argv[1])
x, g = casadi.vertcat(*nl.x), casadi.vertcat(*nl.g)
solver = casadi.nlpsol("s", "ipopt", {"x": x, "f": nl.f, "g": g}, {"ipopt": options, "print_time": False})
found = solver(x0=nl.x_init, lbx=nl.x_lb, ubx=nl.x_ub, lbg=nl.g_lb, ubg=nl.g_ub)
status = solver.stats()["return_status"]
code = {"Solve_Succeeded": 0, "Infeasible_Problem_Detected": 200, "Maximum_Iterations_Exceeded": 400,
        "Maximum_CpuTime_Exceeded": 401}.get(status, 500)
rows, columns = g.shape[0], x.shape[0]
lines = [f"Ipopt: {status}", "", "Options", "3", "1", "1", "0", rows, rows, columns, columns]
lines += [*casadi.vertsplit(found["lam_g"]), *casadi.vertsplit(found["x"])] if rows else casadi.vertsplit(found["x"])
lines += [f"objno 0 {code}"]
Path(sys.argv[1]).with_suffix(".sol").write_text("\\n".join(map(str, lines)) + "\\n")
"""

SILENT = """
import sys

print("silent 1.0") if sys.argv[1] == "-v" else sys.exit(3)
"""

SLOW = """
import sys, time

print("slow 1.0") if sys.argv[1] == "-v" else time.sleep(60)
"""


def executable(folder, name, code):
    path = folder / name
    path.write_text(f"#!{sys.executable} -E\n{code}", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def executables(tmp_path, monkeypatch):
    """A folder on PATH with `ipopt`, and with executables that give no answer."""
    if os.name != "posix":
        pytest.skip("executables are scripts here, which needs Linux or macOS")
    for name, code in (("ipopt", IPOPT), ("silent", SILENT), ("slow", SLOW)):
        executable(tmp_path, name, code)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    _look_again()
    yield
    _look_again()


def _look_again():
    """Pyomo remembers which executables it found."""
    from pyomo.common import Executable

    Executable.rehash()


def scip():
    pytest.importorskip("pyscipopt", reason="PySCIPOpt is not installed")
    return load_backend("pyomo:scip_direct")


@pytest.mark.parametrize(("impurity", "publish", "seed"), [("gini", "counts", 25), ("entropy", "rates", 35)])
def test_an_executable_solves_convex_programs(impurity, publish, seed, executables):
    problem = part(impurity, seed, publish=publish, classes="ab")
    assert problem.program.convex
    backend = load_backend("pyomo:ipopt")
    assert backend.refuses(problem.program) is None
    found = backend.solve(problem.program, start(problem), OPTIONS)
    assert (found.stop, found.by) == (Stop.CONVERGED, "pyomo:ipopt")
    assert "Solve_Succeeded" in found.message
    assert found.violation <= 1e-8
    assert_same_masses(problem, found.point, best_of_ipopt(problem, 1))


def test_an_executable_solves_a_release(executables):
    release, people = release_and_people("entropy", 3)
    found, reference = (maxent.estimate(release, people, backend=name, starts=2) for name in ("pyomo:ipopt", "ipopt"))
    assert found.reliable
    assert found.summary["backend"] == "pyomo:ipopt"
    assert found.summary["entropy"] == pytest.approx(reference.summary["entropy"], abs=1e-6)
    assert PyomoBackend.available()[0] == "ipopt"


def test_its_limits_are_ours(executables):
    problem = part("gini", 1)
    short = replace(OPTIONS, max_iterations=2)
    found = load_backend("pyomo:ipopt").solve(problem.program, start(problem), short)
    assert found.stop is Stop.ITERATION_LIMIT
    assert "Maximum_Iterations_Exceeded" in found.message


def test_an_executable_that_fails_has_no_answer(executables):
    problem = part("gini", 1)
    found = load_backend("pyomo:silent").solve(problem.program, start(problem), OPTIONS)
    assert (found.point, found.stop) == (None, Stop.NUMERICAL)
    assert "silent" in found.message


def test_an_executable_without_a_time_limit_is_killed(executables):
    problem = part("gini", 1)
    backend = load_backend("pyomo:slow")
    found = backend.solve_here(problem.program, start(problem), replace(OPTIONS, clock=Clock(0.5)), print)
    assert (found.point, found.stop) == (None, Stop.TIME_LIMIT)
    assert "killed" in found.message


@pytest.mark.slow
def test_an_executable_that_nobody_waits_for_is_ended(executables, tmp_path):
    """With the process that has started it: left to itself it would go on."""
    problem, clock, begun = part("gini", 1), Clock(60.0), tmp_path / "begun"
    executable(tmp_path, "slow", SLOW.replace("time.sleep", f"open({str(begun)!r}, 'x') and time.sleep"))

    def interrupt():
        while clock.stop() is None and not begun.exists():
            time.sleep(0.01)
        clock.interrupt()

    waiting = threading.Thread(target=interrupt)
    waiting.start()
    found = load_backend("pyomo:slow").solve(problem.program, start(problem), replace(OPTIONS, clock=clock))
    waiting.join()
    assert (found.point, found.stop) == (None, Stop.INTERRUPTED)
    assert subprocess.run(["pgrep", "-f", str(tmp_path / "slow")], capture_output=True, check=False).stdout == b""


def test_nothing_is_run_when_it_is_over(executables):
    problem = part("gini", 1)
    found = load_backend("pyomo:silent").solve(problem.program, start(problem), replace(OPTIONS, clock=Clock(0.0)))
    assert (found.point, found.stop) == (None, Stop.TIME_LIMIT)


@pytest.mark.parametrize(("impurity", "seed"), [("gini", 36), ("entropy", 3)])
def test_a_python_package_finds_the_global_optimum(impurity, seed):
    problem = part(impurity, seed)
    assert not problem.program.convex
    backend = scip()
    assert backend.finds_global
    found = backend.solve(problem.program, start(problem), OPTIONS)
    assert (found.stop, found.violation <= 1e-8) == (Stop.CONVERGED, True)
    assert entropy(problem, found.point) >= entropy(problem, best_of_ipopt(problem)) - 1e-6


def test_what_a_python_package_writes_is_read_meanwhile(monkeypatch):
    """It waits where a pipe is full, for ever if it keeps Python's lock."""
    backend, logs = scip(), []
    from pyomo.contrib.solver.solvers.scip.scip_direct import ScipDirect

    solve, loud = ScipDirect.solve, {"display/verblevel": 5, "display/lpinfo": True}

    def heard(self, model, **options):
        options["solver_options"] = options.get("solver_options", {}) | loud
        results = solve(self, model, **options)
        logs.append(results.solver_log)
        return results

    monkeypatch.setattr(ScipDirect, "solve", heard)
    problem = part("gini", 36)
    assert backend.solve_here(problem.program, start(problem), OPTIONS, print).stop is Stop.CONVERGED
    assert len(logs[0]) > 2**17  # twice what a pipe holds


def test_a_python_package_and_branches_of_unknown_size():
    _, problem = whole(*private("entropy", "counts"))
    found = scip().solve(problem.program, start(problem), OPTIONS)
    assert (found.stop, found.violation <= 1e-8) == (Stop.CONVERGED, True)
    assert_same_masses(problem, found.point, best_of_ipopt(problem))


@pytest.mark.parametrize("name", ["pyomo:ipopt", "pyomo:scip_direct"])
def test_masses_may_be_fixed_at_0(name, executables):
    if name == "pyomo:scip_direct":
        scip()
    problem = part("entropy", 35, classes="ab")
    upper = problem.program.upper.copy()
    upper[8] = 0.0
    program, begin = replace(problem.program, upper=upper), np.minimum(start(problem), upper)
    found, other = (load_backend(each).solve(program, begin, OPTIONS) for each in (name, "scipy"))
    assert (found.stop, other.stop) == (Stop.CONVERGED, Stop.CONVERGED)
    assert_same_masses(problem, found.point, other.point)


def test_both_forms_of_the_model_are_the_same_program():
    import pyomo.environ as pyo

    rng = np.random.default_rng(0)
    for case in (public("entropy"), private("entropy"), private("gini")):
        program = whole(*case)[1].program
        high = np.where(np.isfinite(program.upper), program.upper, program.lower + 5)
        z = program.lower + (high - program.lower) * rng.uniform(0.1, 0.9, program.n)
        plain, expanded = (build_model(program, z, expanded=expanded) for expanded in (False, True))
        assert pyo.value(expanded.negative_entropy) == pytest.approx(pyo.value(plain.negative_entropy), rel=1e-12)
        for r in plain.internal:
            value = pyo.value(plain.internal[r].body)
            assert pyo.value(expanded.internal[r].body) == pytest.approx(value, rel=1e-9, abs=1e-12)


def test_what_pyomo_does_not_find(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    _look_again()
    with pytest.raises(MissingExtra, match=r"'pyomo:ipopt': expected the executable 'ipopt' on PATH"):
        load_backend("pyomo:ipopt")
    with pytest.raises(MissingExtra, match=r"'pyomo:ipop': expected the name of a solver.*; did you mean 'ipopt'\?"):
        load_backend("pyomo:ipop")
    with pytest.raises(MissingExtra, match="found ''"):
        load_backend("pyomo:")
    _look_again()


@pytest.mark.parametrize("name", ["highs", "appsi_highs", "gurobi", "cplex_direct"])
def test_interfaces_without_logarithms_do_not_do(name):
    with pytest.raises(UnknownBackend, match=rf"'pyomo:{name}': .* linear and quadratic programs only"):
        load_backend(f"pyomo:{name}")


def test_cyipopt_is_the_back_end_ipopt():
    with pytest.raises(UnknownBackend, match="the back end 'ipopt'"):
        load_backend("pyomo:cyipopt")


def test_a_solver_has_to_be_named(executables):
    with pytest.raises(UnknownBackend, match=r"expected pyomo:NAME, with a NAME that is here: ipopt"):
        load_backend("pyomo")


def test_threads_that_keep_pyomo_quiet_at_the_same_time_give_its_logger_back():
    logger = logging.getLogger("pyomo")
    before = (logger.propagate, logger.level, list(logger.handlers))
    one, other = pyomo_._quiet(), pyomo_._quiet()
    one.__enter__()
    other.__enter__()
    quiet = (logger.propagate, logger.level, list(logger.handlers))
    assert quiet != before
    one.__exit__(None, None, None)  # the first to come is the first to go
    assert (logger.propagate, logger.level, list(logger.handlers)) == quiet
    other.__exit__(None, None, None)
    assert (logger.propagate, logger.level, list(logger.handlers)) == before


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
