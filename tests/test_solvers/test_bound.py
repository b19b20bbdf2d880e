"""The bound on the entropy of a program: never too small, and no larger than the optimum of a convex program."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from support.programs import private, public, whole
from support.strategies import SURE, cases, populations, thorough, true_masses

from maxent.api.estimate import compile_release
from maxent.constraints.lifting import lift, restrict, tangents
from maxent.constraints.presolve.merge import Part, known_totals, needed, unmerged
from maxent.constraints.program.impurity_numpy import PHI
from maxent.constraints.program.residuals import Evaluator
from maxent.solvers.backend import Options
from maxent.solvers.backends.ipopt_ import IpoptBackend
from maxent.solvers.backends.newton_ import NewtonBackend
from maxent.solvers.control import Clock
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.dual import bound
from maxent.solvers.dual.bound import entropy_bound, gap, relaxed_optimum
from maxent.solvers.dual.newton import minimise
from maxent.solvers.dual.relaxation import relax
from maxent.solvers.solution import Stop

# Releases whose internal constraints are convex and exclude the answer without them.
CONVEX = {
    "gini counts": lambda: public("gini", "counts", seed=28),
    "gini counts, larger": lambda: public("gini", "counts", seed=30),
    "entropy counts": lambda: public("entropy", "counts", seed=30),
    "gain ratio counts": lambda: public("gain_ratio", "counts", seed=1),
    "gini, two classes": lambda: public("gini", "rates", "ab", seed=29),
    "entropy, two classes": lambda: public("entropy", "rates", "ab", seed=29),
}


def program_of(case):
    return whole(*CONVEX[case]())[1].program


def open_sizes(impurity):
    """A bound on the phi of one branch of unknown size, and the masses without it: every size is a variable."""
    program = whole(*private(impurity))[1].program
    (terms,) = program.terms
    mine = (terms.row == 0) & (terms.size_var == terms.size_var.max())
    parts = {n: getattr(terms, n)[mine] for n in ("row", "var", "size", "size_var", "block")}
    program = replace(
        program,
        terms=(replace(terms, coef=-np.abs(terms.coef[mine]), **parts),),
        nl_const=np.full(1, 1e3),
        nl_size=program.nl_size[:1],
        nl_origins=program.nl_origins[:1],
    )
    free = solved(program)
    value = Derivatives(program).constraints(free)[-1]
    return replace(program, nl_const=np.array([-value - 0.2 * abs(value)])), free


def middle(program):
    """Positive masses with the right totals, and 0 for the aggregates."""
    count = np.bincount(program.owner, minlength=len(program.total))
    return np.concatenate([(program.total / np.maximum(count, 1))[program.owner], np.zeros(program.n_aggregates)])


def solved(program):
    found = IpoptBackend("own").solve(program, np.clip(middle(program), program.lower, program.upper), Options())
    assert found.stop is Stop.CONVERGED
    assert found.violation <= 1e-9
    return found.point


def entropy(program, point):
    return -Derivatives(program).objective(point)


def test_multipliers_spare_the_bound_from_finding_its_own(monkeypatch):
    linear = replace(program_of("gini counts"), terms=(), nl_const=np.empty(0), nl_size=np.empty(0), nl_origins=())
    found = NewtonBackend().solve(linear, middle(linear), Options())
    monkeypatch.setattr(bound, "minimise", None)
    assert entropy_bound(linear, found.point, Clock(), found.multipliers) == pytest.approx(
        entropy(linear, found.point), abs=1e-9
    )
    worse = 1.1 * found.multipliers  # which any others are
    assert entropy_bound(linear, found.point, Clock(), worse) > entropy(linear, found.point)


def test_multipliers_that_bound_nothing_are_left_aside():
    linear = replace(program_of("gini counts"), terms=(), nl_const=np.empty(0), nl_size=np.empty(0), nl_origins=())
    found = relaxed_optimum(linear, middle(linear), Clock())
    for nonsense in (np.empty(0), np.full_like(found.multipliers, np.nan)):
        assert entropy_bound(linear, found.point, Clock(), nonsense) == pytest.approx(found.bound, abs=1e-9)


def without_convex_rows(program):
    relaxed = relax(program)
    return minimise(relaxed.linear).bound + relaxed.constant


@pytest.mark.parametrize("case", CONVEX)
def test_at_the_optimum_of_a_convex_program_the_gap_closes(case):
    program = program_of(case)
    people = program.total.sum()
    assert program.convex
    point = solved(program)
    assert -1e-8 * people <= gap(program, point, Clock()) <= 1e-7 * people
    assert without_convex_rows(program) > entropy(program, point) + 1e-5 * people


@pytest.mark.parametrize("case", CONVEX)
def test_from_any_point_the_bound_is_valid_and_comes_near(case):
    program = program_of(case)
    people = program.total.sum()
    point = solved(program)
    best = entropy(program, point)
    rng = np.random.default_rng(0)
    for other in (
        middle(program),
        point * np.exp(0.1 * rng.standard_normal(program.n)),
        point * np.exp(3 * rng.standard_normal(program.n)),
        100 * rng.standard_normal(program.n),
        np.zeros(program.n),
        np.full(program.n, np.nan),
        np.full(program.n, np.inf),
    ):
        assert -1e-8 * people <= entropy_bound(program, other, Clock()) - best <= 1e-6 * people


@pytest.mark.parametrize("case", CONVEX)
def test_the_optimum_of_the_relaxation_is_that_of_a_convex_program(case):
    program = program_of(case)
    found = relaxed_optimum(program, middle(program), Clock())
    assert Derivatives(program).violation(found.point) <= 1e-8
    assert found.bound == pytest.approx(entropy(program, found.point), abs=1e-7 * program.total.sum())
    np.testing.assert_allclose(found.point, solved(program), atol=5e-6)


def test_a_point_that_is_not_optimal_has_a_gap():
    program = program_of("gini counts")
    point = solved(program)
    inside = replace(program, nl_const=program.nl_const - 0.005)  # what satisfies this satisfies the program with slack
    worse = solved(inside)
    lacking = entropy(program, point) - entropy(program, worse)
    assert lacking > 1e-4
    assert gap(program, worse, Clock()) == pytest.approx(lacking, abs=1e-6 * program.total.sum())


@pytest.mark.parametrize("impurity", ["gini", "entropy"])
def test_sizes_that_are_variables_are_linearised_too(impurity):
    program, free = open_sizes(impurity)
    assert program.convex
    assert (program.terms[0].size_var >= 0).all()
    point, people = solved(program), program.total.sum()
    assert entropy(program, point) < entropy(program, free) - 1e-4
    assert -1e-8 * people <= gap(program, point, Clock()) <= 1e-7 * people
    for other in (free, np.zeros(program.n), np.ones(program.n)):
        assert -1e-8 * people <= entropy_bound(program, other, Clock()) - entropy(program, point) <= 1e-6 * people


@pytest.mark.parametrize("impurity", ["gini", "entropy", "gain_ratio"])
def test_rows_that_are_not_convex_are_left_out(impurity):
    program = whole(*public(impurity))[1].program
    assert not program.convex_rows.any()
    bound = entropy_bound(program, middle(program), Clock())
    assert bound == pytest.approx(without_convex_rows(program), abs=1e-9)
    assert bound >= entropy(program, solved(program)) - 1e-9


def test_fixed_masses_are_constants():
    program = program_of("gini counts")
    point = solved(program)
    fixed = np.zeros(program.n, bool)
    fixed[: program.n_masses : 3] = True
    held = replace(program, lower=np.where(fixed, point, program.lower), upper=np.where(fixed, point, program.upper))
    people = program.total.sum()
    assert relax(held).constant > 0
    assert -1e-8 * people <= gap(held, point, Clock()) <= 1e-7 * people
    everything = replace(program, lower=point, upper=point)
    assert entropy_bound(everything, point, Clock()) == pytest.approx(entropy(program, point), rel=1e-12)


def test_nothing_to_solve_has_no_entropy():
    program = whole(*public("gini", "counts"))[1].program
    none = replace(program, lower=np.zeros(program.n), upper=np.zeros(program.n), total=0 * program.total)
    assert entropy_bound(none, np.zeros(program.n), Clock()) == pytest.approx(0.0, abs=1e-12)


def test_a_clock_that_has_run_out_leaves_a_valid_bound():
    program = program_of("entropy counts")
    best = entropy(program, solved(program))
    assert best <= entropy_bound(program, middle(program), Clock(0.0)) < np.inf


@thorough(30)
@given(case=cases(populations(rows=(2, 30), public=(1, 3), private=(0, 1), classes=(2, 4)), trees=(1, 2)))
def test_the_truth_never_has_more_entropy_than_the_bound(case):
    compiled = compile_release(case.release, case.people.qi, rounding=case.roundings[0], confidence=SURE)
    evaluator, merged, totals = Evaluator(compiled), unmerged(compiled), known_totals(compiled)
    rows = np.arange(evaluator.internal.n_rows)
    part = Part(np.arange(len(merged.owner)), needed(compiled, totals, evaluator.linear), rows)
    lifted = lift(compiled, merged, part, evaluator.internal, totals)
    program, truth = lifted.program, lifted.point(merged.pool(true_masses(case, compiled)))
    people = max(1.0, program.total.sum())
    assert Derivatives(program).violation(truth) <= 1e-9
    bound = entropy_bound(program, truth, Clock())
    assert bound >= entropy(program, truth) - 1e-9
    if program.n:
        restricted = restrict(program)
        assert restricted is not None
        again = entropy_bound(restricted.program, restricted.point, Clock())
        assert again >= entropy(program, truth) - 1e-9
        assert again >= bound - 1e-6 * people or not program.convex
        assert entropy_bound(program, restricted.point, Clock()) == pytest.approx(bound, abs=1e-6 * people)


@pytest.mark.parametrize("phi", ["gini", "entropy"])
def test_tangents_touch_and_never_lie_above(phi):
    a, w, other, size = np.random.default_rng(0).uniform(0.01, 3.0, (4, 50))
    sized = np.arange(50) % 2 == 0
    by_a, by_w, const = tangents(phi, a, w, sized)
    np.testing.assert_allclose(by_a * a + by_w * w + const, PHI[phi].value(a, w), atol=1e-12)
    there = np.where(sized, size, w)
    assert (by_a * other + by_w * there + const <= PHI[phi].value(other, there) + 1e-12).all()
