"""The CVXPY back end: agreement with Ipopt, the convex-concave procedure, and what it says when it fails."""

import logging
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from support.documents import release_document
from support.programs import private, public, whole
from support.small import assert_same_masses, best_of_ipopt, entropy, part, release_and_people, start
from support.strategies import Style, cases, populations, thorough

import maxent
from maxent.constraints.lifting import LiftedProgram
from maxent.models.errors import MissingExtra, UnknownBackend, UnreliableResult
from maxent.models.formats.maxent_json.read import parse_release
from maxent.results.reliability import warn_unreliable
from maxent.solvers import workers
from maxent.solvers.backend import Backend, Options
from maxent.solvers.backends.cvxpy_ import LARGEST_NOT_CONVEX, CvxpyBackend
from maxent.solvers.backends.ipopt_ import IpoptBackend
from maxent.solvers.backends.registry import load_backend
from maxent.solvers.backends.scipy_ import MOST, ScipyBackend, reduce
from maxent.solvers.conic.model import NO_SLACK, ConicModel, convex_concave, cvxpy_module, no_word_of_missing_solvers
from maxent.solvers.control import Clock
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.solution import Stop

OPTIONS = Options()


# By how much splits were better than others; 0.05 elsewhere.
HARDER = {("counts", "gini"): 0.02, ("counts", "entropy"): 0.04}


def lifted(kind, impurity, by=None):
    """A program of a kind, and its part, with splits so much better that the constraint on one of them binds."""
    made = private(impurity) if kind == "private" else public(impurity, kind, seed=2 if kind == "counts" else 0)
    program, part = whole(*made)
    by = HARDER.get((kind, impurity), 0.05) if by is None else by
    return program, replace(part, program=replace(part.program, nl_const=part.program.nl_const - by))


def starts(program, part, n):
    """Points whose masses are random splits of each cell's individuals."""
    rng = np.random.default_rng(5)
    for _ in range(n):
        shares = rng.dirichlet(np.full(program.n_classes, 20.0), len(program.weight))
        yield part.point(shares * program.weight[:, None])


def simple(**changes):
    """Two quasi-identifiers of 4 and 6 individuals with two classes, and no other statement unless changed."""
    program = LiftedProgram(
        group=np.array([0, 0, 1, 1]),
        klass=np.array([0, 1, 0, 1]),
        owner=np.array([0, 0, 1, 1]),
        total=np.array([4.0, 6.0]),
        mass_weight=np.array([4.0, 4.0, 6.0, 6.0]),
        lower=np.zeros(4),
        upper=np.array([4.0, 4.0, 6.0, 6.0]),
        matrix=sparse.csr_matrix([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]),
        row_lower=np.array([4.0, 6.0]),
        row_upper=np.array([4.0, 6.0]),
        terms=(),
        nl_const=np.zeros(0),
        nl_size=np.zeros(0),
        origins=(None, None),
        nl_origins=(),
    )
    return replace(program, **changes)


# --- Agreement -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("impurity", ["gini", "entropy"])
def test_convex_programs_have_the_same_probabilities_as_with_ipopt(impurity):
    program, part = lifted("counts", impurity)
    (start,) = starts(program, part, 1)
    ours, theirs = (backend.solve(part.program, start, OPTIONS) for backend in (CvxpyBackend(), IpoptBackend("own")))
    assert ours.stop is theirs.stop is Stop.CONVERGED
    assert ours.violation <= OPTIONS.tolerance
    assert np.abs((ours.point - theirs.point)[: part.program.n_masses] / part.program.mass_weight).max() <= 1e-6
    nonlinear = Derivatives(part.program).constraints(ours.point)[len(part.program.row_lower) :]
    assert (nonlinear + part.program.nl_const).min() == pytest.approx(0.0, abs=1e-10)


@pytest.mark.parametrize("impurity", ["gini", "entropy"])
@pytest.mark.parametrize("kind", ["rates", "private"])
def test_elsewhere_the_best_of_a_few_starts_is_that_of_ipopt(kind, impurity):
    program, part = lifted(kind, impurity)
    assert not part.program.convex
    value, best = Derivatives(part.program), {}
    for backend in (CvxpyBackend(), IpoptBackend("own")):
        found = [backend.solve(part.program, start, OPTIONS) for start in starts(program, part, 3)]
        solved = [s for s in found if s.stop is Stop.CONVERGED and s.violation <= OPTIONS.tolerance]
        assert solved
        best[backend.name] = min(value.objective(s.point) for s in solved)
    assert best["cvxpy"] == pytest.approx(best["ipopt:own"], abs=1e-6 * program.weight.sum())


@thorough(6)
@given(cases(populations(rows=(2, 25)), style=st.just(Style("counts"))))
def test_random_releases_have_the_same_answer_as_with_ipopt(case):
    ours, theirs = (
        maxent.estimate(case.release, case.people.qi, backend=backend, rounding="exact", presolve=False, starts=2)
        for backend in ("cvxpy", "ipopt")
    )
    assume(ours.summary["convex"] or ours.reliable)
    assert ours.summary["max_violation"] <= 1e-8
    if ours.summary["convex"]:
        assert ours.reliable
        # Ipopt can stop short of the optimum; by how much tells how far off its probabilities may be.
        found = [answer.program.entropy(answer.outcome.masses) for answer in (ours, theirs)]
        short = len(case.people) * (found[0] - found[1])
        assert short >= -1e-8
        np.testing.assert_allclose(ours.probabilities, theirs.probabilities, atol=1e-6 + np.sqrt(2 * max(short, 0.0)))


def test_a_label_that_is_only_just_met_does_not_move_the_answer():
    document = release_document(
        "X",
        ["c", "d"],
        [
            {"name": "A", "type": "categorical", "values": ["u", "v"]},
            {"name": "P", "type": "categorical", "values": ["1", "2", "3"], "role": "private"},
        ],
        [
            {"id": "N", "attribute": "P", "branches": [{"in": [v], "child": v} for v in "123"]},
            {"id": "1", "label": "c"},
            {"id": "2", "label": "c", "error_rate": 0},
            {"id": "3", "label": "c", "error_rate": 0.5},
        ],
    )
    release, qi = parse_release(document, "test"), pd.DataFrame({"A": ["u"] * 6})
    result = maxent.estimate(release, qi, backend="cvxpy", rounding="exact", presolve=False)
    assert result.probabilities[0] == pytest.approx([3 / 5, 2 / 5], abs=1e-7)


def test_a_first_order_solver_comes_to_the_same_answer():
    program, part = lifted("counts", "gini")
    (start,) = starts(program, part, 1)
    ours, theirs = (CvxpyBackend(solver).solve(part.program, start, OPTIONS) for solver in ("scs", None))
    assert ours.violation <= 1e-6
    np.testing.assert_allclose(ours.point, theirs.point, atol=1e-3)


# --- The convex-concave procedure --------------------------------------------------------------------------------


@pytest.mark.parametrize("impurity", ["gini", "entropy"])
def test_once_feasible_every_step_is_feasible_and_better(impurity):
    program, part = lifted("private", impurity)
    own = Derivatives(part.program)
    (start,) = starts(program, part, 1)
    found = []
    steps = convex_concave(ConicModel(part.program), start, False, lambda model: model.solve("CLARABEL", {}))
    for _, answer in zip(range(6), steps, strict=False):
        assert answer.point is not None
        if answer.slack <= NO_SLACK:
            assert own.violation(answer.point) <= 1e-6
            found.append(own.objective(answer.point))
    assert len(found) > 3
    assert (np.diff(found) <= 1e-6).all()
    assert found[0] - found[-1] > 0.1


def test_a_feasible_start_is_not_left_for_a_better_objective():
    program, part = lifted("private", "gini")
    (start,) = starts(program, part, 1)
    own = Derivatives(part.program)
    first = CvxpyBackend().solve(part.program, start, replace(OPTIONS, max_iterations=2)).point
    assert own.violation(first) <= OPTIONS.tolerance
    again = next(convex_concave(ConicModel(part.program), first, True, lambda model: model.solve("CLARABEL", {})))
    assert again.slack <= NO_SLACK
    assert own.violation(again.point) <= 1e-6
    assert own.objective(again.point) < own.objective(first)


# --- Failures ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["counts", "rates"])
def test_statements_that_cannot_be_met_are_reported(kind):
    program, part = lifted(kind, "gini", by=10.0)
    (start,) = starts(program, part, 1)
    solution = CvxpyBackend().solve(part.program, start, OPTIONS)
    assert solution.stop is Stop.INFEASIBLE
    assert solution.violation > 0.1


def test_linear_statements_that_cannot_be_met_are_reported():
    impossible = simple(lower=np.array([3.0, 3.0, 0.0, 0.0]))
    solution = CvxpyBackend().solve(impossible, np.full(4, 2.0), OPTIONS)
    assert (solution.point, solution.stop) == (None, Stop.INFEASIBLE)


@pytest.mark.parametrize("kind", ["counts", "rates"])
def test_a_clock_that_has_run_out_returns_the_point_so_far(kind):
    program, part = lifted(kind, "gini")
    (start,) = starts(program, part, 1)
    clock = Clock(0.0)
    solution = CvxpyBackend().solve(part.program, start, replace(OPTIONS, clock=clock))
    assert solution.stop is Stop.TIME_LIMIT
    assert solution.violation == Derivatives(part.program).violation(solution.point)


def test_an_interruption_ends_the_procedure_after_its_step():
    class Interrupted(Clock):
        asked = 0

        def stop(self):
            self.asked += 1
            return Stop.INTERRUPTED if self.asked > 3 else None

    program, part = lifted("private", "gini")
    (start,) = starts(program, part, 1)
    clock = Interrupted()
    solution = CvxpyBackend().solve(part.program, start, replace(OPTIONS, clock=clock))
    assert solution.stop is Stop.INTERRUPTED
    assert solution.point is not None
    assert clock.asked <= 6  # no further step: only whether there is time to move the point onto the constraints


def test_what_is_large_is_solved_the_same_in_a_process(monkeypatch):
    program, part = lifted("private", "gini")
    (start,) = starts(program, part, 1)
    options = replace(OPTIONS, clock=Clock(600.0))
    here = CvxpyBackend().solve(part.program, start, options)
    monkeypatch.setattr(workers, "LARGE", 0)
    there = CvxpyBackend().solve(part.program, start, options)
    assert (there.stop, there.iterations) == (here.stop, here.iterations)
    np.testing.assert_allclose(there.point, here.point, atol=1e-6)


@pytest.mark.parametrize("told", [True, False])
def test_a_process_that_has_to_be_ended_leaves_its_last_point(monkeypatch, told):
    program, part = lifted("private", "gini")
    (start,) = starts(program, part, 1)
    clock = Clock(600.0)
    found = CvxpyBackend().solve(part.program, start, replace(OPTIONS, clock=clock)).point

    def ended(function, arguments, clock, heard, *, keep):
        if told:
            heard(found)
        clock.interrupt()

    monkeypatch.setattr(workers, "LARGE", 0)
    monkeypatch.setattr(workers, "apart", ended)
    solution = CvxpyBackend().solve(part.program, start, replace(OPTIONS, clock=clock))
    assert solution.stop is Stop.INTERRUPTED
    assert np.array_equal(solution.point, found) if told else solution.point is None


def test_only_warnings_of_the_solver_are_ignored():
    """A solve that is late goes on in a thread of its own, while the result is reported, and warned of."""
    _, part = lifted("counts", "gini")
    model = ConicModel(part.program)

    class Problem:
        def solve(self, **settings):
            warnings.warn_explicit("inaccurate", UserWarning, "problem.py", 1, "cvxpy.problems.problem")
            warn_unreliable("stopped at the time limit")
            raise cvxpy_module().error.SolverError

    model._problem = Problem()
    with pytest.warns(UnreliableResult, match="time limit") as heard:
        assert model.solve("CLARABEL", {}).stop is Stop.NUMERICAL
    assert len(heard) == 1


@pytest.mark.parametrize("kind", ["counts", "rates"])
def test_the_iteration_limit_is_kept(kind):
    program, part = lifted(kind, "entropy")
    (start,) = starts(program, part, 1)
    solution = CvxpyBackend().solve(part.program, start, replace(OPTIONS, max_iterations=2))
    assert solution.stop in (Stop.ITERATION_LIMIT, Stop.NUMERICAL)
    assert solution.iterations <= 4


def test_programs_that_are_too_large_are_refused_in_words():
    program, part = lifted("rates", "gini")
    backend = CvxpyBackend()
    assert backend.refuses(part.program) is None
    large = replace(part.program, lower=np.concatenate([part.program.lower, np.ones(LARGEST_NOT_CONVEX)]))
    assert f"at most {LARGEST_NOT_CONVEX:,}" in backend.refuses(large)
    assert program.n_classes == 3


# --- Solvers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("solver", "why"), [("nonesuch", "is not installed"), ("highs", "no exponential cones")])
def test_solvers_that_will_not_do_are_named_with_those_that_will(solver, why):
    with pytest.raises(MissingExtra, match=f"{solver}.*{why}; installed: clarabel, scs"):
        CvxpyBackend(solver)


def test_the_name_is_what_the_user_typed():
    assert isinstance(CvxpyBackend(), Backend)
    assert CvxpyBackend().name == "cvxpy"
    assert CvxpyBackend("SCS").name == "cvxpy:SCS"
    assert "SCS" in CvxpyBackend("scs").version()


# --- Small things ----------------------------------------------------------------------------------------------------


def test_without_statements_classes_are_uniform():
    solution = CvxpyBackend().solve(simple(), np.array([1.0, 3.0, 5.0, 1.0]), OPTIONS)
    np.testing.assert_allclose(solution.point, [2.0, 2.0, 3.0, 3.0], atol=1e-9)


def test_masses_that_are_fixed_stay_what_they_are():
    fixed = simple(lower=np.array([1.0, 0.0, 0.0, 0.0]), upper=np.array([1.0, 4.0, 0.0, 6.0]))
    solution = CvxpyBackend().solve(fixed, np.full(4, 2.0), OPTIONS)
    assert solution.stop is Stop.CONVERGED
    np.testing.assert_allclose(solution.point, [1.0, 3.0, 0.0, 6.0], atol=1e-12)


def test_nothing_is_left_to_solve_when_every_mass_is_fixed():
    values = np.array([1.0, 3.0, 2.0, 4.0])
    solution = CvxpyBackend().solve(simple(lower=values, upper=values), np.full(4, 2.0), OPTIONS)
    assert (solution.stop, solution.violation) == (Stop.CONVERGED, 0.0)
    np.testing.assert_array_equal(solution.point, values)


@pytest.mark.parametrize(("low", "high", "first"), [(-np.inf, 1.0, 1.0), (3.0, np.inf, 3.0), (3.5, 3.5, 3.5)])
def test_rows_may_be_bounded_on_one_side_only(low, high, first):
    program = simple()
    half_open = replace(
        program,
        matrix=sparse.vstack([program.matrix, sparse.csr_matrix([[1.0, 0.0, 0.0, 0.0]])], format="csr"),
        row_lower=np.array([4.0, 6.0, low]),
        row_upper=np.array([4.0, 6.0, high]),
        origins=(None, None, None),
    )
    solution = CvxpyBackend().solve(half_open, np.full(4, 2.0), OPTIONS)
    assert solution.stop is Stop.CONVERGED
    np.testing.assert_allclose(solution.point, [first, 4.0 - first, 3.0, 3.0], atol=1e-9)


def test_masses_that_statements_force_to_zero_go_there():
    program = simple()
    forced = replace(
        program,
        matrix=sparse.vstack([program.matrix, sparse.csr_matrix([[1.0, 0.0, 1.0, 0.0]])], format="csr"),
        row_lower=np.array([4.0, 6.0, -np.inf]),
        row_upper=np.array([4.0, 6.0, 0.0]),
        origins=(None, None, None),
    )
    solution = CvxpyBackend().solve(forced, np.full(4, 2.0), OPTIONS)
    assert solution.violation <= OPTIONS.tolerance
    np.testing.assert_allclose(solution.point, [0.0, 4.0, 0.0, 6.0], atol=1e-8)


def test_cvxpy_has_no_word_for_solvers_that_it_cannot_load():
    heard, log = [], logging.getLogger("__cvxpy__")
    handler = logging.Handler()
    handler.emit = lambda record: heard.append(record.getMessage())
    log.addHandler(handler)
    with no_word_of_missing_solvers():
        log.error("Encountered unexpected exception importing solver %s", "GLOP")
        log.error("something else")
    log.error("Encountered unexpected exception importing solver %s", "PDLP")
    log.removeHandler(handler)
    assert heard == ["something else", "Encountered unexpected exception importing solver PDLP"]


METHODS = ("scipy", "scipy:slsqp")
impurities = st.sampled_from(("gini", "entropy", "gain_ratio"))
seeds = st.integers(0, 10_000)


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=6, deadline=None, derandomize=True)
@given(impurity=impurities, seed=seeds, publish=st.sampled_from(("rates", "counts")))
def test_convex_programs_have_ipopt_s_answer(name, impurity, seed, publish):
    problem = part(impurity, seed, publish=publish, classes="ab")
    assert problem.program.convex
    if not problem.program.n:
        return
    found = load_backend(name).solve(problem.program, start(problem), OPTIONS)
    assert found.stop is Stop.CONVERGED, found.message
    assert found.violation <= 1e-8
    assert found.violation == Derivatives(problem.program).violation(found.point)
    assert_same_masses(problem, found.point, best_of_ipopt(problem, 1))


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(("impurity", "seed"), [("gini", 1), ("entropy", 1), ("gain_ratio", 13)])
def test_other_programs_have_an_answer_as_good_from_several_starts(name, impurity, seed):
    problem = part(impurity, seed)
    assert not problem.program.convex
    rng, backend = np.random.default_rng(1), load_backend(name)
    found = [backend.solve(problem.program, start(problem, rng), OPTIONS) for _ in range(4)]
    assert all(f.stop is Stop.CONVERGED and f.violation <= 1e-8 for f in found)
    assert max(entropy(problem, f.point) for f in found) >= entropy(problem, best_of_ipopt(problem)) - 1e-6


@pytest.mark.parametrize("case", [public("gini", "counts"), private("entropy", "counts")], ids=["public", "private"])
def test_a_larger_program_and_branches_of_unknown_size(case):
    _, problem = whole(*case)
    found = load_backend("scipy:slsqp").solve(problem.program, start(problem), OPTIONS)
    assert (found.stop, found.violation <= 1e-8) == (Stop.CONVERGED, True)
    assert_same_masses(problem, found.point, best_of_ipopt(problem))


@settings(max_examples=20, deadline=None, derandomize=True)
@given(impurity=impurities, seed=seeds, publish=st.sampled_from(("rates", "counts")))
def test_what_is_left_out_was_implied(impurity, seed, publish):
    """Every point with the remaining inequalities meets all bounds and linear rows."""
    problem = part(impurity, seed, publish=publish)
    if not problem.program.n:
        return
    program, rng = problem.program, np.random.default_rng(seed)
    reduced = reduce(program)
    assert (reduced.lower < 0).all()
    assert (reduced.upper > 0).all()
    linear = replace(program, terms=(), nl_const=np.empty(0), nl_size=np.empty(0), nl_origins=())
    for _ in range(5):
        away = rng.standard_normal(reduced.basis.shape[1])
        along = reduced.matrix @ away
        with np.errstate(divide="ignore"):
            room = np.where(along > 0, reduced.upper / along, reduced.lower / along)
        y = away * room[along != 0].min(initial=1e3)
        assert Derivatives(linear).violation(reduced.point(y)) <= 1e-9


@pytest.mark.parametrize("backend", METHODS)
def test_the_whole_estimate(backend):
    release, people = release_and_people("entropy", 3)
    found, reference = (maxent.estimate(release, people, backend=name, starts=3) for name in (backend, "ipopt"))
    assert found.reliable
    assert found.summary["backend"] == backend
    assert found.summary["entropy"] >= reference.summary["entropy"] - 1e-6


def test_contradicting_linear_statements():
    program = part("gini", 1).program
    impossible = replace(program, upper=0.4 * program.upper)
    found = ScipyBackend().solve(impossible, 0.4 * start(part("gini", 1)), OPTIONS)
    assert (found.point, found.stop) == (None, Stop.INFEASIBLE)


def test_statements_that_leave_one_point():
    problem = part("gini", 1)
    point = best_of_ipopt(problem)
    pinned = replace(problem.program, lower=point, upper=point)
    found = ScipyBackend().solve(pinned, start(problem), OPTIONS)
    assert found.stop is Stop.CONVERGED
    np.testing.assert_allclose(found.point, point, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", METHODS)
def test_it_stops_when_told(name):
    problem = part("gini", 1)
    begin, backend = start(problem), load_backend(name)
    over = replace(OPTIONS, clock=Clock(0.0))
    interrupted = replace(OPTIONS, clock=Clock())
    interrupted.clock.interrupt()
    for options, stop in ((over, Stop.TIME_LIMIT), (interrupted, Stop.INTERRUPTED)):
        found = backend.solve(problem.program, begin, options)
        assert found.stop is stop
        assert found.iterations <= 2
        assert found.point.shape == (problem.program.n,)


@pytest.mark.parametrize("name", METHODS)
def test_it_stops_on_the_way(name):
    """The clock runs out in the middle: the point is that of the last iteration."""
    problem = part("gini", 1)
    found = load_backend(name).solve(problem.program, start(problem), replace(OPTIONS, clock=_Count(3)))
    assert (found.stop, found.iterations) == (Stop.TIME_LIMIT, 3)
    assert np.isfinite(found.point).all()


class _Count(Clock):
    """A clock that ends when it was asked a number of times."""

    def __init__(self, times):
        super().__init__()
        self.times = times

    def stop(self):
        self.times -= 1
        return Stop.TIME_LIMIT if self.times <= 0 else None


def test_an_iteration_limit_is_told():
    problem = part("gini", 1)
    for name in METHODS:
        found = load_backend(name).solve(problem.program, start(problem), replace(OPTIONS, max_iterations=2))
        assert found.stop is Stop.ITERATION_LIMIT


def test_large_programs_are_refused():
    program = part("gini", 1).program
    backend = ScipyBackend()
    assert backend.refuses(program) is None
    wide = replace(program, lower=np.zeros(MOST + 1), upper=np.ones(MOST + 1))
    assert f"{MOST + 1} variables" in backend.refuses(wide)


def test_an_unknown_method():
    with pytest.raises(UnknownBackend, match=r"one of trust-constr, slsqp, found 'slsq'; did you mean 'slsqp'\?"):
        load_backend("scipy:slsq")
