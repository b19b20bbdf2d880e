"""Entropy and the likelihood of draws together: one answer of all back ends, and a bound that proves it."""

from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from support.calls import refused
from support.search import cases

import maxent
from maxent.constraints.compiler import compile_program
from maxent.constraints.presolve.merge import merge
from maxent.constraints.program.program import Program
from maxent.constraints.program.residuals import Evaluator
from maxent.models.errors import InvalidInput
from maxent.models.formats.scikit_learn.tree import from_sklearn
from maxent.models.tables.qi_table import read_qi
from maxent.solvers.backend import Options
from maxent.solvers.backends.registry import load_backend
from maxent.solvers.control import Clock
from maxent.solvers.dual import by_class as columns_module
from maxent.solvers.dual import relaxation
from maxent.solvers.dual.by_class import NOBODY, by_class
from maxent.solvers.dual.linear_entropy import EntropyByClass
from maxent.solvers.dual.relaxation import LikelyEntropy
from maxent.solvers.solve import driver
from maxent.solvers.solve.driver import Outcome, solve_program


def grown(seed: int, n: int = 60, **settings: Any) -> tuple[Any, pd.DataFrame, np.ndarray[Any, Any]]:
    """A random forest with bootstrap, the table, and whose class is which."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 4, (n, 3)).astype(float), columns=["a", "b", "c"])
    y = np.minimum((X["a"] + rng.integers(0, 3, n)) // 2, 1 + seed % 2).astype(int).to_numpy()
    model = RandomForestClassifier(**{"n_estimators": 3, "max_depth": 3, **settings}, random_state=seed).fit(X, y)
    return from_sklearn(model, target="t"), X, y


def program_of(seed: int, **settings: Any) -> Program:
    release, X, _ = grown(seed, **settings)
    return compile_program(release, read_qi(X, release), noise="likelihood")


def solved(program: Program, name: str) -> Outcome:
    return solve_program(program, load_backend(name), Options())


@pytest.mark.parametrize("seed", range(3))
def test_back_ends_agree_and_the_bound_proves_it(seed: int) -> None:
    program = program_of(seed)
    found = {name: solved(program, name) for name in ("newton", "cvxpy", "ipopt", "ipopt:own")}
    for outcome in found.values():
        assert outcome.status == "optimal"
        assert outcome.duality_gap <= 1e-9
        assert outcome.violation <= 1e-8
        assert np.abs(outcome.masses - found["newton"].masses).max() <= 1e-6


@pytest.mark.slow
@pytest.mark.search
@pytest.mark.parametrize("seed", cases(100, 10))
def test_back_ends_agree_on_forests_of_many_shapes(seed: int) -> None:
    shape = {
        "n": 20 + seed % 140,
        "n_estimators": 1 + seed % 5,
        "max_depth": 1 + seed % 4,
        "max_samples": (None, 0.5)[seed % 2],
    }
    program = program_of(seed, **shape)
    newton, cvxpy = solved(program, "newton"), solved(program, "cvxpy")
    assert newton.status == cvxpy.status == "optimal"
    assert np.abs(newton.masses - cvxpy.masses).max() <= 1e-5
    assert abs(program.objective(newton.masses) - program.objective(cvxpy.masses)) <= 1e-9


def test_rows_that_leave_masses_next_to_nothing_get_the_prices_that_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Lagrangian's multipliers approach them too slowly for a gap of 1e-9 in a problem that counts as large."""
    monkeypatch.setattr(relaxation, "SMALL", 0)
    monkeypatch.setattr(relaxation, "CLOSE", (0.0, 1e-9))
    outcome = solved(program_of(1, n=300, n_estimators=20, max_depth=6), "newton")
    assert outcome.duality_gap <= 1e-9
    assert outcome.violation <= 1e-8


@pytest.mark.parametrize("seed", range(3))
def test_classes_as_columns_come_to_the_answer_of_rows(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program = program_of(seed, n=200, n_estimators=10, max_depth=5)
    rows = solved(program, "newton")
    monkeypatch.setattr(columns_module, "MANY", 0)
    columns = solved(program, "auto")
    assert columns.status == "optimal"
    assert columns.violation <= 1e-8
    best = program.objective(rows.point.cells(program))
    assert abs(program.objective(columns.point.cells(program)) - best) <= 1e-8
    assert columns.entropy_upper_bound >= best - 1e-9


def test_the_best_so_far_is_the_answer_where_a_step_outlasts_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    program, clock = program_of(0, n=200, n_estimators=10, max_depth=5), Clock()
    monkeypatch.setattr(columns_module, "MANY", 0)
    best = program.objective(solved(program, "auto").masses)

    class Left(Exception):
        pass

    def long(*call: Any) -> None:
        clock.interrupt()
        raise Left

    def left_behind(clock: Clock, work: Any, *late: float) -> Any:
        with suppress(Left):
            return work()

    monkeypatch.setattr(relaxation, "_priced", long)
    monkeypatch.setattr(driver, "in_time", left_behind)
    outcome = solve_program(program, load_backend("auto"), Options(clock=clock))
    assert outcome.status == "interrupted"
    assert outcome.iterations > 0
    assert program.objective(outcome.masses) == pytest.approx(best, abs=0.05)
    assert outcome.entropy_upper_bound >= best - 1e-9


def many_classes(seed: int, trees: int = 20, depth: int = 5) -> LikelyEntropy:
    """Nine classes; twenty trees bind hundreds of sums at once."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 6, (400, 3)).astype(float), columns=["a", "b", "c"])
    y = (X["a"] + rng.integers(0, 4, 400)).astype(int).to_numpy()
    model = RandomForestClassifier(trees, max_depth=depth, min_samples_leaf=3, random_state=seed).fit(X, y)
    release = from_sklearn(model, target="t")
    program = compile_program(release, read_qi(X, release), noise="likelihood")
    problem = by_class(program, merge(program, Evaluator(program).internal, np.empty(0, np.int64)))
    assert problem is not None
    return problem


@pytest.mark.parametrize("seed", range(4))
def test_many_rows_that_bind_are_met_and_the_bound_proves_it(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps are those of large problems."""
    monkeypatch.setattr(relaxation, "SMALL", 0)
    problem = many_classes(seed)
    found = relaxation.most_likely(problem, Clock())
    assert relaxation._missed(problem, found.masses) <= 1e-8
    assert -1e-9 <= (found.bound - problem.objective(found.masses)) / 400 <= 1e-6
    low, high = problem.ends
    moved_low, moved_high = relaxation._inside(problem, 0.25).ends  # where too many bind, answers end within
    wide = ~np.isfinite(low) | (high - low > 0.5)
    assert np.array_equal(moved_low, np.where(wide, low + 0.25, low))
    assert np.array_equal(moved_high, np.where(wide, high - 0.25, high))


@pytest.mark.parametrize("mends", [True, False])
def test_where_too_many_rows_bind_answers_end_within_what_is_proved(
    mends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where what is missed cannot be mended, prices are found exactly after all."""
    monkeypatch.setattr(relaxation, "SMALL", 0)
    problem, nearest, exact, moved = many_classes(0, 5, 4), relaxation._nearest, relaxation._priced, []
    best = relaxation.most_likely(problem, Clock())
    monkeypatch.setattr(relaxation, "OVERLAPPING_FACTOR", 0)
    priced = []

    def mended(problem: LikelyEntropy, masses: Any, price: Any, clock: Clock, within: Any = None) -> Any:
        if within is None:
            return nearest(problem, masses, price, clock)
        moved.append(within)
        return nearest(problem, masses, price, clock, within) if mends else 0.1 * masses

    monkeypatch.setattr(relaxation, "_nearest", mended)
    monkeypatch.setattr(relaxation, "_priced", lambda *call: priced.append(1) or exact(*call))
    found = relaxation.most_likely(problem, Clock())
    low, high = problem.ends
    within_low, within_high = moved[0]
    assert (within_low >= low).all()
    assert (within_high <= high).all()
    assert ((within_low > low) | (within_high < high)).any()
    assert bool(priced) != mends
    assert relaxation._missed(problem, found.masses) <= relaxation.MET_BY_CLASS
    allowed = relaxation.FAIR if mends else 1e-6
    assert -1e-9 <= (found.bound - problem.objective(found.masses)) / 400 <= allowed
    assert problem.objective(found.masses) >= problem.objective(best.masses) - 400 * allowed


def test_the_first_multipliers_are_met_no_more_nearly_than_rows_where_many_are_missed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(relaxation, "SMALL", 0)
    problem, maximum, steps = many_classes(0, 5, 4), relaxation._maximum, []

    def only(now: Any, masses: Any, missed: float, clock: Clock) -> Any:
        found = maximum(now, masses, missed, clock)
        steps.append(found[1])
        clock.interrupt()
        return found

    monkeypatch.setattr(relaxation, "_maximum", only)
    for factor in (10_000, 0):
        monkeypatch.setattr(relaxation, "OVERLAPPING_FACTOR", factor)
        relaxation.most_likely(problem, Clock())
    exactly, nearly = steps
    assert 0 < nearly < exactly


@pytest.mark.parametrize("classes", [2, 5])
def test_rows_with_large_penalties_cost_few_products(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, products, look = np.random.default_rng(0), [], relaxation.Conjugate.look
    matrix, none = sparse.csr_matrix((rng.random((40, 60)) < 0.3).astype(float)), np.zeros((40, classes))
    linear = EntropyByClass(np.arange(60), np.full(60, 3.0), np.full((60, classes), 3.0), matrix, none, none)
    problem = LikelyEntropy(linear, none, none, none, none, none)
    monkeypatch.setattr(relaxation, "ACCURACY", ((1e-8, 1e-8),) * 2)
    monkeypatch.setattr(relaxation.Conjugate, "look", lambda system: products.append(1) or look(system))
    masses = linear.softmax(rng.normal(size=linear.weight.shape))
    sums = matrix @ masses
    penalties = np.where(rng.random(sums.shape) < 0.3, 10 ** rng.uniform(4, 6, sums.shape), 0.0)
    stiff = relaxation._stiff(penalties)
    assert np.array_equal(stiff, penalties > 0)
    curvature, right = (1 + penalties) / sums, linear.centred(rng.normal(size=masses.shape), masses)
    relaxation._newton(problem, masses, curvature, np.zeros_like(stiff), right, Clock())
    many = len(products)
    found = relaxation._newton(problem, masses, curvature, stiff, right, Clock())
    moved = problem.transposed @ (curvature * (matrix @ (masses * found)))
    assert found + linear.centred(moved, masses) == pytest.approx(right, abs=1e-5)
    assert len(products) - many < many / 3


def test_masses_that_miss_few_rows_are_moved_halfway_to_the_ends_within(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relaxation, "SMALL", 0)
    problem = many_classes(0, 5, 4)
    masses = relaxation.most_likely(problem, Clock()).masses
    rng = np.random.default_rng(0)
    off = problem.linear.restored(masses * np.exp(1e-5 * rng.normal(size=masses.shape)))
    assert relaxation.MET_BY_CLASS < relaxation._missed(problem, off) <= relaxation.MENDED
    nothing, within = np.zeros_like(problem.draws), relaxation._inside(problem, 1e-4)
    met = relaxation._nearest(problem, off, nothing, Clock(), within.ends)
    assert relaxation._missed(problem, met) <= relaxation.MET_BY_CLASS
    sums, (low, high), ends = problem.linear.matrix @ off, problem.ends, within.ends
    missed = (np.maximum(low - sums, sums - high) > relaxation.MET_BY_CLASS) & (ends[0] > low) & (ends[1] < high)
    assert missed.any()
    now = (problem.linear.matrix @ met)[missed]
    inside = np.minimum(now - low[missed], high[missed] - now)
    assert inside == pytest.approx(5e-5, abs=1e-8)
    assert np.abs(met - off).sum() <= 1.0  # of 400 people


def test_columns_bound_the_objective_at_any_multipliers() -> None:
    """Of masses that are impossible, too: those are compared with next to nobody."""
    program = program_of(2, n=40, n_estimators=8, max_depth=None)
    merged = merge(program, Evaluator(program).internal, np.empty(0, np.int64))
    problem = by_class(program, merged)
    assert problem is not None
    weight, rng = problem.linear.weight, np.random.default_rng(0)
    assert (weight <= NOBODY).any()
    best = solved(program, "newton")
    masses = merged.pool(best.point.cells(program))[np.argsort(merged.owner, kind="stable")]
    assert masses[weight <= NOBODY].max() <= 1e-6
    kept = np.where(weight <= NOBODY, 0.0, masses)
    for _ in range(50):
        y = problem.allowed(problem.draws / np.maximum(problem.linear.matrix @ masses, 1e-3))
        y = problem.allowed(y + rng.normal(size=y.shape))
        assert problem.value(y) + problem.rounding(y) >= problem.objective(kept) - 1e-6


def test_no_other_classes_are_more_entropic_and_likely() -> None:
    program = program_of(5)
    outcome = solved(program, "newton")
    best, rng = program.objective(outcome.masses), np.random.default_rng(0)
    for _ in range(50):
        other = outcome.masses * np.exp(0.1 * rng.normal(size=outcome.masses.shape))
        other *= (outcome.masses.sum(axis=1) / other.sum(axis=1))[:, None]
        assert program.objective(other) <= outcome.entropy_upper_bound + 1e-9
    assert best == pytest.approx(outcome.entropy_upper_bound, abs=1e-9)


def test_the_likelihood_alone_decides_where_there_are_very_many_draws() -> None:
    """Of a single leaf the classes are nearly as drawn: with n draws of n people, a little nearer to equal shares."""
    release, X, _ = grown(0, n_estimators=1, max_depth=1, max_samples=60)
    program = compile_program(release, read_qi(X, release), noise="likelihood")
    outcome = solved(program, "newton")
    for place, draws, size in zip(
        program.likelihood.place, program.likelihood.draws, program.likelihood.size, strict=True
    ):
        seen = (program.sums.totals(0, outcome.masses)[place] / size)[draws > 0]
        slope = -np.log(seen) + draws[draws > 0] / (size * seen)  # equal for all classes at the optimum
        assert np.ptp(slope) <= 1e-6
        assert size > 0


@pytest.mark.slow
def test_it_is_closer_to_the_truth_than_intervals() -> None:
    """Mean divergence of the true classes' shares, over forests of people whose classes depend on what is split."""
    nearer = []
    for seed in (2, 4, 6):
        release, X, y = grown(seed, n=200, n_estimators=10, max_depth=4)
        truth = X.assign(t=y.astype(str))
        each = [
            maxent.estimate(release, X, truth, noise=noise, backend="newton").summary["divergence"]["overall"]
            for noise in ("intervals", "likelihood")
        ]
        nearer.append(each[1] < each[0])
    assert all(nearer)


def test_it_is_refused_where_there_are_no_draws() -> None:
    release, X, _ = grown(1, bootstrap=False)
    with pytest.raises(InvalidInput, match="noise: expected intervals, since the release has no counts of a bootstrap"):
        maxent.estimate(release, X, noise="likelihood")
    refused("noise: expected one of intervals, likelihood", maxent.estimate, release, X, noise="none")


def test_the_summary_says_how_likely_the_draws_are() -> None:
    release, X, _ = grown(3)
    found = maxent.estimate(release, X, noise="likelihood", backend="newton").summary
    assert found["log_likelihood"] < 0
    assert found["certificate"] == "global"
    assert any("likelihood" in note for note in found["notes"])
    assert "log_likelihood" not in maxent.estimate(release, X, noise="intervals", backend="newton").summary
