"""Our own solver: its form of a program, its derivatives, its directions, and its answers against Ipopt's."""

from dataclasses import replace
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
import sympy
from conformance.answers import random_problem
from scipy import sparse
from scipy.optimize import lsq_linear
from support.programs import private, public, whole
from support.symmetric import grown

import maxent
from maxent.constraints.lifting import LiftedPart
from maxent.solvers.backend import Options
from maxent.solvers.backends.ipopt_ import IpoptBackend
from maxent.solvers.backends.newton_ import NewtonBackend
from maxent.solvers.conic import kkt
from maxent.solvers.conic.descent import descend
from maxent.solvers.conic.kkt import Active, fitted
from maxent.solvers.conic.model import ConicModel
from maxent.solvers.conic.polish import polish, restore
from maxent.solvers.control import Clock
from maxent.solvers.derivatives import Derivatives, exponentials
from maxent.solvers.dual import newton
from maxent.solvers.dual.linear_entropy import LinearEntropy
from maxent.solvers.dual.newton import DiagonalBlocks as Blocks
from maxent.solvers.dual.newton import solve_by_conjugate_gradients
from maxent.solvers.newton import quadratic_model
from maxent.solvers.newton.augmented_lagrangian import FINE, SIDE, Path, _sides, explaining, solve
from maxent.solvers.newton.block_form import build_form
from maxent.solvers.newton.quadratic_model import Model, Penalty, State, project
from maxent.solvers.newton.quadratic_model import NewtonProblem as Problem
from maxent.solvers.solution import Stop
from maxent.solvers.solve import driver, finish

pytestmark = pytest.mark.usefixtures("one_thread")

FloatArray = npt.NDArray[np.float64]

CASES = {
    "gini": lambda: public("gini", seed=3),
    "entropy": lambda: public("entropy", seed=3),
    "gain ratio": lambda: public("gain_ratio", seed=3),
    "counts": lambda: public("entropy", "counts", seed=3),
    "labels": lambda: public("gini", "labels", seed=3),
    "private gini": lambda: private("gini"),
    "private entropy": lambda: private("entropy"),
    "private counts": lambda: private("entropy", "counts"),
}
every = pytest.mark.parametrize("name", CASES)


@cache
def lifted(name: str) -> LiftedPart:
    return whole(*CASES[name]())[1]


@cache
def problem(name: str) -> Problem:
    return Problem(build_form(lifted(name).program), Clock())


def somewhere(held: Problem, seed: int = 0, spread: float = 0.5) -> State:
    """A point that meets totals and equations."""
    theta = spread * np.random.default_rng(seed).standard_normal(held.form.free.shape)
    return held.at(np.where(held.form.free, theta, -np.inf))


def direction(held: Problem, state: State, seed: int = 1) -> FloatArray:
    """A centred direction of unit length."""
    manifold = held.manifold
    d = np.random.default_rng(seed).standard_normal(state.m.shape)
    d = manifold.centring(state.m)(d)
    return d / np.sqrt((state.m * d * d).sum())


@every
def test_the_form_says_what_the_lifted_program_says(name: str) -> None:
    program, held = lifted(name).program, problem(name)
    plain = Derivatives(program)
    for seed in range(3):
        state = somewhere(held, seed)
        z = held.form.point(state.m)
        values = plain.constraints(z)
        internal = values[plain.n_linear :] + program.nl_const
        n = len(internal)
        assert state.c[:n] / program.nl_size == pytest.approx(internal, abs=1e-12)
        # Totals, definitions and equations hold; what is left of the linear rows are the inequalities.
        missed = np.maximum(program.row_lower - values[: plain.n_linear], values[: plain.n_linear] - program.row_upper)
        worst = max(missed.max(initial=0.0), (program.lower - z).max(), (z - program.upper).max())
        assert worst == pytest.approx(np.maximum(-state.c[n:], 0.0).max(initial=0.0), abs=1e-9)


@every
def test_a_point_becomes_scores_and_comes_back(name: str) -> None:
    held = problem(name)
    z = held.form.point(somewhere(held).m)
    assert held.form.point(held.at(held.form.scores(z)).m) == pytest.approx(z, abs=1e-8)


@every
def test_directions_keep_totals_and_equations(name: str) -> None:
    held = problem(name)
    state = somewhere(held)
    centre = held.manifold.centring(state.m)
    b = np.random.default_rng(2).standard_normal((2, *state.m.shape))
    centred = centre(b)
    change = state.m * centred
    owners = np.zeros((2, len(held.form.total)))
    np.add.at(owners, (slice(None), held.form.owner), change.sum(axis=2))
    assert np.abs(owners).max() < 1e-9
    assert np.abs(held.form.equal.matrix @ change.reshape(2, -1).T).max(initial=0.0) < 1e-9
    assert centre(centred) == pytest.approx(centred, abs=1e-8)
    assert centre(b[0]) == pytest.approx(centred[0], abs=1e-12)


def some_penalty(held: Problem, state: State) -> Penalty:
    """Multipliers under which some constraints pull and others do not, none of them at its kink."""
    people = held.people
    penalty = Penalty(np.random.default_rng(3).uniform(0.0, 1.0, len(people)), 20.0 / people)
    assert np.abs(penalty.mu - penalty.rho * state.c).min(initial=1.0) > 1e-6
    return penalty


@every
def test_the_gradient_is_the_slope_of_the_augmented_lagrangian(name: str) -> None:
    held = problem(name)
    state = somewhere(held)
    penalty = some_penalty(held, state)
    model = Model(held, state, penalty)
    for seed in range(4):
        d, h = direction(held, state, seed), 1e-4
        up, down = penalty.value(held.step(state, h * d)), penalty.value(held.step(state, -h * d))
        assert (up - down) / (2 * h) == pytest.approx(model.dot(model.gradient, d), rel=1e-5, abs=1e-6)


@every
def test_curvature_is_the_change_of_gradients(name: str) -> None:
    held = problem(name)
    comparisons, state = held.comparisons, somewhere(held)
    a = np.random.default_rng(4).uniform(0.5, 1.5, len(comparisons))
    change = state.m * direction(held, state)
    h = 1e-5 * state.m[held.form.free].min() / np.abs(change).max()
    up, down = (comparisons.at(state.m + s * h * change) for s in (1, -1))
    slope = (comparisons.weighted(a, comparisons.slopes(up)) - comparisons.weighted(a, comparisons.slopes(down))) / (
        2 * h
    )
    product = comparisons.curvature(a, state.sums)(change)
    assert product[held.form.free] == pytest.approx(slope[held.form.free], rel=1e-4, abs=1e-4)


@every
def test_gradients_one_by_one_add_up(name: str) -> None:
    held = problem(name)
    comparisons, state = held.comparisons, somewhere(held)
    a = np.random.default_rng(5).uniform(size=len(comparisons))
    slopes = comparisons.slopes(state.sums)
    rows = comparisons.gradients(np.arange(len(comparisons)), slopes)
    assert np.tensordot(a, rows, 1) == pytest.approx(comparisons.weighted(a, slopes), abs=1e-10)
    some = np.arange(len(comparisons))[::-2]
    assert comparisons.gradients(some, slopes) == pytest.approx(rows[some], abs=0)


@pytest.mark.parametrize(
    "name", ["gini", "entropy", "private gini", pytest.param("private entropy", marks=pytest.mark.slow)]
)
def test_derivatives_are_those_of_the_statements_in_sympy(name: str) -> None:
    """Write one constraint of the lifted program down in symbols, and differentiate it there."""
    program, held = lifted(name).program, problem(name)
    state = somewhere(held)
    symbols = sympy.symbols(f"m:{program.n_masses}", positive=True)
    # Aggregates, from the definition rows: each from masses and aggregates before it.
    z = list(symbols)
    first = program.matrix.shape[0] - program.n_aggregates
    for i in range(program.n_aggregates):
        row = program.matrix[first + i].tocoo()
        rest = sum(-value * z[column] for column, value in zip(row.col, row.data, strict=True) if column < len(z))
        z.append(rest + program.row_lower[first + i])
    a, w = sympy.symbols("a w", positive=True)
    phi = {"gini": a**2 / w, "entropy": a * sympy.log(a / w)}
    k = 0
    statement = sympy.Float(program.nl_const[k])
    for terms in program.terms:
        for i in np.flatnonzero(terms.row == k):
            size = z[terms.size_var[i]] if terms.size_var[i] >= 0 else terms.size[i]
            statement += terms.coef[i] * phi[terms.phi].subs({a: z[terms.var[i]], w: size})
    at = dict(zip(symbols, held.form.point(state.m)[: program.n_masses], strict=True))
    few = range(program.n_masses) if name in ("gini", "entropy") else range(0, program.n_masses, 17)
    wanted = np.array([float(sympy.diff(statement, symbols[i]).subs(at)) for i in few])
    slopes = held.comparisons.slopes(state.sums)
    found = np.zeros(program.n_masses)
    gradient = held.comparisons.gradients(np.array([k]), slopes)[0] / program.nl_size[k]
    found[held.form.variable] = gradient.ravel()[held.form.at]
    if name.startswith("private"):
        assert found[list(few)] == pytest.approx(wanted, rel=1e-9)
        return
    # Where equations fix a sum, the two may differ by a multiple of their gradients, which no direction sees.
    d = direction(held, state)
    moved = np.zeros(program.n_masses)
    moved[held.form.variable] = (state.m * d).ravel()[held.form.at]
    assert found @ moved == pytest.approx(wanted @ moved, rel=1e-9, abs=1e-12)


@every
def test_it_finds_what_ipopt_finds(name: str) -> None:
    program, held = lifted(name).program, problem(name)
    plain = Derivatives(program)
    newton, ipopt = -np.inf, -np.inf
    for seed in range(3):
        start = held.form.point(somewhere(held, seed, 0.1).m)
        mine = NewtonBackend().solve(program, start, Options())
        theirs = IpoptBackend("own").solve(program, start, Options())
        assert mine.stop is theirs.stop is Stop.CONVERGED
        assert mine.point is not None
        assert theirs.point is not None
        assert plain.violation(mine.point) <= 1e-8
        newton, ipopt = max(newton, -plain.objective(mine.point)), max(ipopt, -plain.objective(theirs.point))
        if program.convex:
            assert mine.point == pytest.approx(theirs.point, abs=1e-6)
    assert newton == pytest.approx(ipopt, rel=1e-7)


@every
def test_projection_meets_the_constraints_nearby(name: str) -> None:
    part, held = lifted(name), problem(name)
    found = solve(held, somewhere(held, 0, 0.1).masses.log_p, FINE, np.random.default_rng(0), convex=False)
    moved = held.step(found.state, 1e-4 * direction(held, found.state))
    near = project(held, moved, found.pull, 0.0)
    assert held.violation(near).max(initial=0.0) <= 1e-12
    assert Derivatives(part.program).violation(held.form.point(near.m)) <= 1e-8
    assert near.m == pytest.approx(moved.m, abs=0.02)


@every
def test_from_an_optimum_few_steps_lead_back(name: str) -> None:
    held, rng = problem(name), np.random.default_rng(0)
    found = solve(held, somewhere(held, 0, 0.1).masses.log_p, FINE, rng, convex=False)
    multipliers = explaining(held, found.state)
    assert (multipliers >= 0).all()
    theirs = Model(held, found.state, Penalty(multipliers, np.full(len(held.people), 1e-12)))
    assert theirs.norm <= 1e-3  # they explain the gradient, and nothing is left of it
    moved = held.step(found.state, 1e-3 * direction(held, found.state)).masses.log_p
    again = solve(held, moved, FINE, rng, convex=False, near=True)
    assert again.converged
    assert again.steps < found.steps or found.steps <= 5  # where no comparison holds it
    assert again.state.objective == pytest.approx(found.state.objective, abs=1e-6 * held.individuals)


def test_probabilities_stay_above_the_floor() -> None:
    program, held = lifted("entropy").program, problem("entropy")
    theta = np.where(held.form.free, -30.0 * (np.arange(held.form.free.shape[1]) == 1), -np.inf)
    raised = project(held, held.at(theta), np.zeros(len(held.people)), 1e-3)
    assert raised.masses.log_p.min() >= np.log(1e-3) - 0.1
    assert held.at(theta).masses.log_p.min() < np.log(1e-9)
    assert Derivatives(program).violation(held.form.point(raised.m)) <= 1e-8


def test_equations_that_share_quasi_identifiers_are_met_together() -> None:
    """With private splits a quasi-identifier has cells in several leaves, whose rates then share it."""
    held = problem("private counts")
    assert held.manifold.separate is None
    assert problem("gini").manifold.separate is not None
    state = somewhere(held, 7, 2.0)
    assert held.form.equal.matrix @ state.m.ravel() == pytest.approx(held.form.equal.value, abs=1e-8)


def test_one_exponential_gives_what_a_softmax_for_every_multiplier_gives() -> None:
    held = problem("gini")
    separate = held.manifold.separate
    assert separate is not None
    assert separate.one_mass
    theta = np.where(held.form.free, 3.0 * np.random.default_rng(8).standard_normal(held.form.free.shape), -np.inf)
    once, each = held.manifold.masses(theta), held.manifold._each(theta, separate)
    assert (once.m, once.log_p) == (pytest.approx(each.m, abs=1e-8), pytest.approx(each.log_p, abs=1e-8))
    assert held.form.equal.matrix @ once.m.ravel() == pytest.approx(held.form.equal.value, abs=1e-8)


def test_only_what_equations_need_is_set_up() -> None:
    held = Problem(build_form(lifted("gini").program), Clock())
    state = somewhere(held)
    held.manifold.centring(state.m)(state.m)
    assert not {"equal", "equal_transposed"} & vars(held.manifold).keys()
    assert "squared" not in vars(held.manifold.separate)


@pytest.mark.parametrize("far", [800.0, -800.0])
def test_equations_are_met_from_scores_far_from_them(far: float) -> None:
    """Probabilities beside an equation's mass, or its own, are too small there for their exponentials."""
    held = problem("gini")
    theta = np.where(held.form.free, 0.0, -np.inf)
    theta.ravel()[held.form.equal.matrix.indices] += far
    m = held.manifold.masses(theta).m
    assert held.form.equal.matrix @ m.ravel() == pytest.approx(held.form.equal.value, abs=1e-8)


@every
def test_only_gradients_that_may_not_vanish_are_made_of_large_parts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    held = problem(name)
    state = somewhere(held)
    slopes, d = held.comparisons.slopes(state.sums), direction(held, state)
    rows = np.random.default_rng(5).permutation(len(state.c))[: max(len(state.c) // 2, 1)]
    rows.sort()
    dense, pulls = held.centred(state, slopes, rows), explaining(held, state)
    wanted = Model(held, state, some_penalty(held, state))
    wanted.prepare()
    monkeypatch.setattr(quadratic_model, "SPARSE", 0)
    few, model = held.centred(state, slopes, rows), Model(held, state, some_penalty(held, state))
    model.prepare()
    assert isinstance(dense, np.ndarray)
    assert sparse.issparse(few) == held.manifold.local == ("private" not in name)
    assert (few.toarray() if sparse.issparse(few) else few) == pytest.approx(dense, abs=1e-12)
    for product in ("hessian", "precondition"):
        assert getattr(model, product)(d) == pytest.approx(getattr(wanted, product)(d), abs=1e-9)
    assert explaining(held, state) == pytest.approx(pulls, abs=1e-9)


@every
def test_a_shorter_step_is_on_the_path_that_is_known(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    held = problem(name)
    state = somewhere(held)
    model = Model(held, state, some_penalty(held, state))
    products: list[FloatArray] = []
    hessian = model.hessian
    monkeypatch.setattr(model, "hessian", lambda d: (products.append(d), hessian(d))[1])
    path = Path(model)
    steps = [path.step(radius) for radius in (1e3, 1.0, 0.1)]
    known = len(products)
    for step, radius in zip(steps, (1e3, 1.0, 0.1), strict=True):
        alone = Path(model).step(radius)
        assert (step.length, step.at_boundary) == (alone.length, alone.at_boundary)
        assert step.d == pytest.approx(alone.d, abs=1e-12)
        assert step.predicted == pytest.approx(alone.predicted, rel=1e-12)
    first = len(products)
    Path(model).step(1e3)
    assert known == len(products) - first


@pytest.mark.parametrize("name", ["gini", "labels", "private entropy"])
def test_it_stops_when_the_time_is_up(name: str) -> None:
    program, held = lifted(name).program, problem(name)
    start = held.form.point(somewhere(held, 0, 0.1).m)
    answer = NewtonBackend().solve(program, start, Options(clock=Clock(0.0)))
    assert answer.stop is Stop.TIME_LIMIT
    assert answer.point is not None
    assert answer.point.shape == (program.n,)


@every
def test_a_jolt_raises_each_class_in_one_branch_of_every_chosen_split(name: str) -> None:
    held = problem(name)
    blocks = held.comparisons.blocks
    change = _sides(held.comparisons, np.random.default_rng(0))
    assert change.shape == held.form.free.shape
    for k in range(len(held.comparisons)):
        chosen = np.flatnonzero(blocks.factor[k].toarray().ravel() > 0)
        inside = blocks.incidence[chosen].toarray().astype(bool)
        for x in np.flatnonzero(blocks.seen[chosen].any(axis=0)):
            mine = [change[groups, x] for groups, seen in zip(inside, blocks.seen[chosen, x], strict=True) if seen]
            assert any((raised >= SIDE).all() for raised in mine)


TOLERANCE = 1e-8


@pytest.fixture(scope="module", params=["gini", "entropy"])
def solved(request):
    """A convex program whose comparisons bind, a conic solver's answer to two digits or three, and Ipopt's."""
    program, part = whole(*public(request.param, "counts", seed=2))
    harder = replace(part.program, nl_const=part.program.nl_const - {"gini": 0.02, "entropy": 0.04}[request.param])
    rough = ConicModel(harder).solve("CLARABEL", dict.fromkeys(("tol_feas", "tol_gap_abs", "tol_gap_rel"), 1e-4))
    start = part.point(np.repeat(program.weight[:, None] / program.n_classes, program.n_classes, axis=1))
    return harder, rough, IpoptBackend("own").solve(harder, start, Options()).point


def test_a_rough_answer_becomes_exact(solved):
    program, rough, optimum = solved
    exact = polish(program, rough.point, rough.active, TOLERANCE, Clock())
    assert np.abs(rough.point - optimum).max() > 1e-4
    np.testing.assert_allclose(exact, optimum, atol=1e-6)
    assert Derivatives(program).violation(exact) <= 1e-12


def test_a_small_system_is_solved_densely_and_a_large_one_sparsely_to_the_same_point(solved, monkeypatch):
    program, rough, _ = solved
    systems = []
    for name in ("_dense_system", "_sparse_system"):
        solve = getattr(kkt, name)
        monkeypatch.setattr(kkt, name, lambda *given, name=name, solve=solve: (systems.append(name), solve(*given))[1])
    small = polish(program, rough.point, rough.active, TOLERANCE, Clock())
    assert set(systems) == {"_dense_system"}
    monkeypatch.setattr(kkt, "DENSE", 0)
    np.testing.assert_allclose(polish(program, rough.point, rough.active, TOLERANCE, Clock()), small, atol=1e-9)
    assert set(systems) == {"_dense_system", "_sparse_system"}


def test_a_point_without_vanishing_probabilities_is_not_raised():
    program = whole(*public("entropy", "counts", seed=2))[1].program
    n = program.n_masses
    point = program.lower.copy()
    point[:n] = np.maximum(point[:n], 1e-3 * program.total[program.owner])
    assert not finish._low(program, point, Options())
    low = np.flatnonzero(program.lower[:n] < program.upper[:n])[0]
    point[low] = 0.0
    assert finish._low(program, point, Options())
    assert finish._raised(program, point, Options())[low] > 0


def test_wrong_guesses_of_what_is_active_are_corrected_or_given_up(solved):
    program, rough, optimum = solved
    unequal = np.flatnonzero(np.not_equal(*Derivatives(program).bounds()))
    assert (rough.active.side[unequal] != 0).any()
    none = rough.active.side.copy()
    none[unequal] = 0
    np.testing.assert_allclose(
        polish(program, rough.point, replace(rough.active, side=none), TOLERANCE, Clock()), optimum, atol=1e-6
    )
    corrected = 0
    for row in unequal[rough.active.side[unequal] == 0]:
        side = rough.active.side.copy()
        side[row] = -1
        exact = polish(program, rough.point, replace(rough.active, side=side), TOLERANCE, Clock())
        if exact is not None:
            np.testing.assert_allclose(exact, optimum, atol=1e-6)
            corrected += 1
    assert corrected


def test_a_point_off_the_constraints_is_moved_there(solved):
    program, _, optimum = solved
    own = Derivatives(program)
    off = optimum * np.exp(0.05 * np.random.default_rng(1).standard_normal(program.n))
    assert own.violation(off) > 0.1
    moved = restore(program, off, TOLERANCE, Clock())
    assert own.violation(moved) <= TOLERANCE
    assert np.abs(moved - off).max() <= 2 * np.abs(optimum - off).max()


def test_contradictions_have_no_polished_answer(solved):
    program, rough, _ = solved
    impossible = replace(program, nl_const=program.nl_const - 10.0)
    active = Active(rough.active.multipliers, np.full_like(rough.active.side, -1), rough.active.bound)
    assert polish(impossible, rough.point, active, TOLERANCE, Clock()) is None


def test_multipliers_of_rows_that_depend_on_each_other_have_their_signs():
    """Three masses sum to 3, and none is above 1: those of least norm would let two bounds go."""
    rows, sign = np.vstack([np.ones(3), -np.eye(3)]), np.array([0, -1, -1, -1])
    gradient = np.array([0.3, 0.1, -0.2])
    y = fitted(sparse.csr_matrix(rows), gradient, sign)
    assert (y[1:] <= 0).all()
    np.testing.assert_allclose(gradient + rows.T @ y, 0.0, atol=1e-12)


def test_multipliers_fit_as_well_as_any_of_their_signs():
    rng = np.random.default_rng(0)
    for n_rows, n in [*rng.integers(1, 9, (50, 2)).tolist(), (230, 300), (230, 70)]:  # many rows, and more than can be
        rows = rng.standard_normal((n_rows, n)) @ np.diag(rng.random(n) < 0.8)
        gradient, sign = rng.standard_normal(n), rng.integers(-1, 2, n_rows)
        y = fitted(sparse.csr_matrix(rows), gradient, sign)
        assert (sign * y >= 0).all()
        bounds = np.where(sign > 0, 0, -np.inf), np.where(sign < 0, 0, np.inf)
        best = lsq_linear(rows.T, -gradient, bounds, method="bvls", tol=1e-12)
        assert np.linalg.norm(gradient + rows.T @ y) <= np.sqrt(2 * best.cost) + 1e-6


@pytest.fixture
def in_a_valley(monkeypatch):
    """A program, points that a solver ended in, and what was made of them: classes are exchangeable but for one."""
    kept = []
    plain = finish._as_good

    def keep(program, exact, near, options):
        kept.append((program, exact, near, plain(program, exact, near, options)))
        return kept[-1][-1]

    monkeypatch.setattr(finish, "_as_good", keep)
    monkeypatch.setattr(driver, "bounded_parts", lambda answers, options, meanwhile: answers)  # takes long
    for seed in (0, 3):
        maxent.estimate(*grown(205), seed=seed)
    return kept


def test_the_optimum_of_a_shallow_valley_is_found(in_a_valley):
    """The entropy changes by 1e-8 nats along it."""
    values = []
    for program, exact, near, lowest in in_a_valley:
        assert exact is None
        assert np.abs(lowest - near).max() > 1e-3
        own = Derivatives(program)
        assert own.violation(lowest) <= 1e-12
        assert own.objective(lowest) < own.objective(near) - 1e-10 * program.total.sum()
        values.append(own.objective(lowest))
        again = descend(program, lowest, lambda point, program=program: finish._active(program, point), 1e-8, Clock())
        np.testing.assert_allclose(again, lowest, atol=1e-8)
        assert descend(program, near, lambda point: None, 1e-8, Clock(0.0)) is None
    np.testing.assert_allclose(values, values[0], rtol=0, atol=1e-12)


def test_masses_that_cannot_reach_the_floor_stay_below_it():
    """Statements that leave no room miss the tolerance at the floor: the answer is exact, at a lower one."""
    pytest.importorskip("cyipopt")
    release, people = random_problem(749)
    first, second = (maxent.estimate(release, people, seed=seed) for seed in (0, 3))
    p = first.probabilities
    assert first.summary["status"] == "optimal"
    assert 1e-12 < p[p > 0].min() < 1e-7
    np.testing.assert_allclose(second.probabilities, p, rtol=0, atol=1e-11)


def random_rows(n_rows: int, n: int, seed: int = 0) -> sparse.csr_matrix:
    """Rows of 0 and 1, each with a coefficient."""
    rng = np.random.default_rng(seed)
    rows = (rng.random((n_rows, n)) < 0.3).astype(float)
    rows[np.arange(n_rows), rng.integers(0, n, n_rows)] = 1.0
    return sparse.csr_matrix(rows)


def test_blocks_are_the_rows_that_share_masses() -> None:
    first, second = random_rows(4, 12), random_rows(3, 9, seed=1)
    mixed = sparse.csr_matrix(sparse.block_diag([first, second]))
    order = np.random.default_rng(2).permutation(7)
    found = [{*order[rows].tolist()} for rows, _, _ in Blocks.of(sparse.csr_matrix(mixed[order])).parts]
    assert sorted(map(sorted, found)) == [[0, 1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize("small", [0, 2_000])
@pytest.mark.parametrize(("n_rows", "n"), [(6, 30), (30, 6)])
def test_it_solves_with_the_blocks(monkeypatch: pytest.MonkeyPatch, n_rows: int, n: int, small: int) -> None:
    monkeypatch.setattr(newton, "SMALL", small)  # 0: by masses, where these are fewer
    monkeypatch.setattr(newton, "RIDGE", 1e-9)
    matrix = random_rows(n_rows, n)
    variance = np.random.default_rng(1).uniform(0.1, 5.0, n)
    dense = (matrix @ sparse.diags_array(variance) @ matrix.T).toarray()
    right = dense @ np.random.default_rng(2).normal(size=n_rows)  # in its range, as gradients are
    np.testing.assert_allclose(dense @ Blocks.of(matrix).factored(variance)(right), right, rtol=1e-5, atol=1e-5)


def test_rows_without_variance_do_no_harm() -> None:
    np.testing.assert_array_equal(Blocks.of(random_rows(8, 20)).factored(np.zeros(20))(np.zeros(8)), 0.0)


def test_conjugate_gradients_solve_the_coupled_system_though_rows_repeat_each_other() -> None:
    rng = np.random.default_rng(3)
    owner, klass = np.divmod(np.arange(60), 3)
    leaf = rng.integers(0, 5, 20)
    rows = sparse.csr_matrix((np.ones(60), (leaf[owner] * 3 + klass, np.arange(60))))
    matrix = sparse.csr_matrix(sparse.vstack([rows, rows]))
    total = rng.uniform(1.0, 4.0, 20)
    shares = rng.dirichlet(np.ones(3), 20).ravel()
    masses = total[owner] * shares
    problem = LinearEntropy(owner, total, total[owner], matrix, np.zeros(matrix.shape[0]), np.zeros(matrix.shape[0]))
    every = np.arange(matrix.shape[0])
    dense = np.asarray(problem.hessian(masses, every))
    right = dense @ rng.normal(size=len(every))
    found = solve_by_conjugate_gradients(problem, masses, every, right, Clock())
    assert np.abs(dense @ found - right).max() <= 1e-2 * np.abs(right).max()


def test_softened_masses_keep_their_owners_totals() -> None:
    owner, total = np.array([0, 0, 1, 1, 1]), np.array([4.0, 9.0])
    problem = LinearEntropy(owner, total, total[owner], random_rows(2, 5), np.zeros(2), np.zeros(2))
    masses = np.array([4.0, 0.0, 9.0, 0.0, 0.0])
    soft = problem.softened(masses, 0.1)
    assert (soft > 0).all()
    np.testing.assert_allclose(np.bincount(owner, soft), total)
    np.testing.assert_array_equal(problem.softened(masses, 0.0), masses)


def test_shares_are_those_of_the_definition_and_nothing_overflows() -> None:
    group = np.array([0, 1, 0, 1, 1])
    scores = np.array([1000.0, -2000.0, 1001.0, -np.inf, -2000.5])
    found = exponentials(
        scores,
        lambda values: np.array([values[group == i].max() for i in (0, 1)]),
        lambda values: np.bincount(group, values),
        lambda values: values[group],
    )
    p = found.share / found.sums[group]
    np.testing.assert_allclose(np.bincount(group, p), 1.0, rtol=1e-15)
    np.testing.assert_allclose(p[[0, 1]], [1 / (1 + np.e), 1 / (1 + np.exp(-0.5))], rtol=1e-14)
    assert p[3] == 0.0
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(np.log(p), found.shifted - np.log(found.sums)[group], rtol=1e-12)
    assert found.largest.tolist() == [1001.0, -2000.0]
