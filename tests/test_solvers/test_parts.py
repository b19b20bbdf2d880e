"""One part: where solves start, how often, which answer is kept, and what a back end's word is worth."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from support.contested import contested
from support.documents import release_document
from support.programs import private, public, whole
from test_solvers.test_dual import counted

import maxent
from maxent.api.estimate import compile_release
from maxent.constraints.presolve import parts
from maxent.constraints.presolve.merge import known_totals, needed, unmerged
from maxent.constraints.presolve.parts import solve_leafwise
from maxent.constraints.program.residuals import Evaluator
from maxent.models.arrays import FloatArray
from maxent.models.formats.maxent_json.read import parse_release
from maxent.solvers.backend import Options
from maxent.solvers.backends.auto import AutoBackend
from maxent.solvers.backends.ipopt_ import IpoptBackend
from maxent.solvers.backends.newton_ import NewtonBackend
from maxent.solvers.conic import polish as many
from maxent.solvers.control import Clock
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.dual import overlapping
from maxent.solvers.dual.linear_entropy import LinearEntropy
from maxent.solvers.dual.newton import DualPoint, minimise
from maxent.solvers.dual.overlapping import minimise_binding, minimise_overlapping
from maxent.solvers.newton import block_form, stacked
from maxent.solvers.newton.block_form import build_form
from maxent.solvers.newton.quadratic_model import Model, Penalty
from maxent.solvers.newton.quadratic_model import NewtonProblem as Problem
from maxent.solvers.newton.stacked import Penalties, Quadratic, Stack, Together, layout, stackable, union_of
from maxent.solvers.solution import Solution, Stop
from maxent.solvers.solve import attempt, driver, finish, parallel
from maxent.solvers.solve import attempt as solve_attempt
from maxent.solvers.solve.attempt import PartSolver as Solver
from maxent.solvers.solve.attempt import Task, attempt_part
from maxent.solvers.solve.parallel import attempt_parts, attempt_stack, stacks

OPTIONS = Options()


def task_of(release, frame):
    """The whole program of a release as one part, and the closed form to start from."""
    program, part = whole(release, frame)
    keep = needed(program, known_totals(program), Evaluator(program).linear)
    cold, _ = solve_leafwise(program, unmerged(program), keep)
    return Task(part, cold)


def test_bounds_of_a_few_groups_at_a_time_are_in_memory(monkeypatch):
    """Of 30,000 people, about a hundred of whom something is stated, the masses and little else."""
    n, known, names = 30_000, 100, [f"c{x}" for x in range(30)]
    values = [str(i) for i in range(known)]
    leaves = [
        {"id": f"L{i}", **({"label": "c0", "error_rate": 0.5} if i % 3 else {"counts": {names[i % 30]: 1}})}
        for i in range(known)
    ]
    branches = [{"in": [value], "child": f"L{value}"} for value in values] + [{"in": ["else"], "child": "M"}]
    nodes = [{"id": "N", "attribute": "A", "branches": branches}, *leaves, {"id": "M"}]
    document = release_document("X", names, {"A": [*values, "else"], "B": None}, nodes)
    table = pd.DataFrame({"A": [*values, *["else"] * (n - known)], "B": np.arange(n)})
    table["count"] = [1 + (i < known and i % 3 > 0) for i in range(n)]
    program = compile_release(parse_release(document, "test"), table, count="count")
    keep = needed(program, known_totals(program), Evaluator(program).linear)
    at_once, solved = solve_leafwise(program, unmerged(program), keep)
    monkeypatch.setattr(parts, "AT_ONCE", 500)
    tracemalloc.start()
    found, alike = solve_leafwise(program, unmerged(program), keep)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert solved.all()
    assert np.array_equal(alike, solved)
    assert np.array_equal(found, at_once)
    assert most < 2 * found.nbytes


@pytest.fixture(scope="module")
def open_task():
    """A part that is not convex."""
    return task_of(*public("gini", "rates"))


class Recorder:
    """Keeps where it was started, and answers with what it is told, in turn."""

    name = "recorder"

    def __init__(self, *answers):
        self.answers, self.begun = answers, []

    def refuses(self, program):
        return None

    def solve(self, program, start, options):
        self.begun.append(start)
        answer = self.answers[min(len(self.begun), len(self.answers)) - 1]
        return answer(program, start, options) if callable(answer) else answer


NOTHING = Solution(None, Stop.NUMERICAL, np.inf, 1, "lost")


def honestly(program, start, options):
    return IpoptBackend("own").solve(program, start, options)


def short_of(share):
    """Answers of a back end whose clock ran out this share of the way from the start to an optimum."""

    def solve(program, start, options):
        point = (1 - share) * start + share * honestly(program, start, options).point
        return Solution(point, Stop.TIME_LIMIT, Derivatives(program).violation(point), 1)

    return solve


@pytest.mark.parametrize(("share", "kept"), [(0.9, True), (0.0, False)])
def test_out_of_time_the_nearest_answer_is_kept_if_it_is_nearer_than_the_start(share, kept):
    task = task_of(*public("gini", "rates"))
    task = replace(task, first=solve_attempt.start(3, task.part, task.first, np.random.default_rng(0)))
    began = Derivatives(task.part.program).violation(task.part.point(task.first))
    found = attempt_part(task, Recorder(short_of(share)), replace(OPTIONS, starts=1))
    assert found.stopped is Stop.TIME_LIMIT
    assert (found.best is not None) == kept
    if kept:
        assert OPTIONS.tolerance < found.best.violation < began


# --- Where solves start ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda: public("gini"), lambda: public("entropy"), lambda: private("gini")])
@pytest.mark.parametrize("number", range(5))
def test_starts_are_near_and_keep_every_total(make, number):
    task = task_of(*make())
    program = task.part.program
    begun = [solve_attempt.start(number, task.part, task.first, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(begun[0], begun[1])
    assert not np.array_equal(begun[0], begun[2])
    free = np.zeros(task.first.shape, bool)
    free[program.group, program.klass] = True
    assert (begun[0][~free] == 0).all()
    assert (begun[0][free] > 0).all() or (task.first[free] == 0).any()
    np.testing.assert_allclose(begun[0].sum(axis=1), np.where(free, task.first, 0.0).sum(axis=1), rtol=1e-12)
    at = program.group, program.klass
    assert 0.01 < np.abs(np.log(begun[0][at] / task.first[at])[task.first[at] > 0]).max() < 3


def test_a_large_part_starts_near_an_optimum_with_fewer_comparisons_and_a_small_one_does_not(open_task, monkeypatch):
    last = solve_attempt.start(3, open_task.part, open_task.first, np.random.default_rng(0))
    task, begun = replace(open_task, last=last), []
    for few in (0, open_task.part.program.n):
        monkeypatch.setattr(solve_attempt, "FEW", few)
        recorder = Recorder(NOTHING)
        attempt_part(task, recorder, OPTIONS)
        begun.append(recorder.begun[0])
    large, small = (point[: open_task.part.program.n_masses] for point in begun)
    masses = task.part.point(last)[: len(large)]
    assert np.abs(np.log(large / masses)).max() < 0.1
    assert np.abs(np.log(small / masses)).max() > 0.1


def masses_in(task, variable):
    """The masses that an aggregate is the sum of."""
    n, definitions = task.part.program.n_masses, task.part.elimination.definitions.toarray()
    inside = np.zeros(len(definitions))
    inside[variable] = 1.0
    for row in range(len(definitions) - 1, n - 1, -1):
        inside += inside[row] * definitions[row]
    return np.flatnonzero(inside[:n])


def chosen(task):
    """The variables on the side of the chosen splits."""
    return np.unique(np.concatenate([terms.var[terms.coef > 0] for terms in task.part.program.terms]))


def test_a_tilt_moves_the_masses_of_a_branch_alike(open_task):
    change = solve_attempt.tilts(open_task.part, 5.0, np.random.default_rng(0))
    inside = np.zeros((len(change), len(chosen(open_task))), bool)
    for i, variable in enumerate(chosen(open_task)):
        inside[masses_in(open_task, variable), i] = True
    kinds, of = np.unique(inside, axis=0, return_inverse=True)
    assert 1 < len(kinds) < len(change)
    middle = np.array([change[of.reshape(-1) == kind].mean() for kind in range(len(kinds))])
    assert np.abs(change - middle[of.reshape(-1)]).max() < 0.2
    assert np.std(middle) > 1


def test_a_split_gives_each_class_one_branch(open_task):
    program = open_task.part.program
    change = solve_attempt.splits(open_task.part, 5.0, np.random.default_rng(0))
    [terms] = program.terms
    for row in range(len(program.nl_const)):
        held = [masses_in(open_task, variable) for variable in terms.var[(terms.row == row) & (terms.coef > 0)]]
        klass = np.array([program.klass[masses[0]] for masses in held])
        grown = np.array([change[masses].mean() > 4 for masses in held])
        for x in np.unique(klass):
            assert grown[klass == x].any()
    assert 0.1 < np.mean(change > 4) < 0.9


# --- How often, and which answer is kept -----------------------------------------------------------------------


@pytest.mark.parametrize("make", [NewtonBackend, AutoBackend])
def test_what_a_back_end_makes_of_a_program_is_kept_for_further_starts(make, monkeypatch, open_task):
    made = []
    monkeypatch.setattr(block_form, "build_form", lambda program: made.append(program) or build_form(program))
    block_form._last.cache_clear()
    assert attempt_part(open_task, make(), replace(OPTIONS, starts=3)).best.by == "newton"
    assert made == [open_task.part.program]


@pytest.mark.parametrize(("starts", "begun"), [(None, 2), (4, 4)])
def test_starts_end_when_the_best_answer_comes_twice_unless_their_number_is_given(
    monkeypatch, open_task, starts, begun
):
    monkeypatch.setattr(attempt, "gap_of", lambda *arguments: 1.0)
    recorder = Recorder(honestly(open_task.part.program, open_task.part.point(open_task.first * 1.0), OPTIONS))
    attempt_part(open_task, recorder, replace(OPTIONS, starts=starts))
    assert len(recorder.begun) == begun


@pytest.mark.parametrize(("starts", "begun"), [(None, 1), (4, 4)])
def test_starts_end_when_the_first_answer_is_proved_unless_their_number_is_given(open_task, starts, begun):
    recorder = Recorder(honestly)
    found = attempt_part(open_task, recorder, replace(OPTIONS, starts=starts))
    assert len(recorder.begun) == begun
    assert np.isinf(found.gap) if starts else abs(found.gap) <= 1e-7 * open_task.individuals
    one = attempt_part(open_task, Recorder(honestly), replace(OPTIONS, starts=1))
    np.testing.assert_allclose(found.best.point, one.best.point, atol=1e-9)


def test_the_bound_beside_the_first_start_is_that_of_the_answer(monkeypatch, open_task):
    asked = []
    monkeypatch.setattr(attempt, "gap_of", lambda program, point, *others: asked.append(point) or 1.0)
    found = attempt_part(open_task, Recorder(honestly), OPTIONS)
    assert found.gap == pytest.approx(1.0, abs=1e-6)
    assert len(asked) == 1
    np.testing.assert_allclose(asked[0], found.best.point, atol=1e-6)


def test_the_best_of_several_starts_is_kept(open_task):
    solved = [attempt_part(open_task, IpoptBackend("own"), replace(OPTIONS, starts=n)) for n in (1, 2, 4)]
    values = [Derivatives(open_task.part.program).objective(attempt.best.point) for attempt in solved]
    assert np.diff(values).max() <= 1e-9  # the same optimum comes out exactly, but for rounding
    recorder = Recorder(honestly)
    attempt_part(open_task, recorder, replace(OPTIONS, starts=3))
    assert len(recorder.begun) == 3


def test_of_equal_answers_the_first_is_kept(open_task):
    recorder = Recorder(honestly, lambda program, start, options: replace(recorder.first, message="second"))
    recorder.first = honestly(open_task.part.program, open_task.part.point(open_task.first * 1.0), OPTIONS)
    recorder.answers = (recorder.first, recorder.answers[1])
    assert attempt_part(open_task, recorder, replace(OPTIONS, starts=2)).best.message == recorder.first.message


def test_where_none_was_solved_there_are_retries_from_elsewhere(open_task):
    recorder = Recorder(NOTHING, NOTHING, honestly)
    attempt = attempt_part(open_task, recorder, replace(OPTIONS, starts=1))
    assert attempt.solved
    assert len(recorder.begun) == 3
    assert np.abs(recorder.begun[1] - recorder.begun[2]).max() > 1e-3
    recorder = Recorder(NOTHING)
    attempt = attempt_part(open_task, recorder, replace(OPTIONS, starts=1))
    assert not attempt.solved
    assert attempt.message == "lost"
    assert len(recorder.begun) == 4  # two, and two from where the internal rows need the least slack


def test_a_convex_part_is_started_once_and_from_the_closed_form():
    task = task_of(*public("gini", "counts"))
    recorder = Recorder(honestly)
    attempt = attempt_part(task, recorder, replace(OPTIONS, starts=7))
    assert len(recorder.begun) == 1
    np.testing.assert_array_equal(recorder.begun[0], task.part.point(task.first))
    assert 0 <= attempt.gap <= 1e-6 * task.individuals


def test_no_time_means_no_start(open_task):
    recorder = Recorder(honestly)
    attempt = attempt_part(open_task, recorder, replace(OPTIONS, clock=Clock(0.0)))
    assert recorder.begun == []
    assert (attempt.best, attempt.stopped) == (None, Stop.TIME_LIMIT)


# --- What a back end's word is worth ---------------------------------------------------------------------------


def test_the_violation_is_that_of_the_masses(open_task):
    part, program = open_task.part, open_task.part.program
    point = honestly(
        program, part.point(solve_attempt.start(0, part, open_task.first, np.random.default_rng(0))), OPTIONS
    ).point
    broken = point.copy()
    broken[program.n_masses :] += 1.0  # aggregates that are not the sums of their masses
    repaired = Solver(Recorder(Solution(broken, Stop.CONVERGED, 7.0, 1)), part, program).solve(point, OPTIONS)
    assert repaired.stop is Stop.CONVERGED
    assert repaired.violation == Derivatives(program).violation(repaired.point) <= 1e-8
    broken[0] += 1.0
    missed = Solver(Recorder(Solution(broken, Stop.CONVERGED, 0.0, 1)), part, program).solve(point, OPTIONS)
    assert missed.stop is Stop.NUMERICAL
    assert missed.violation > 0.1


def test_an_answer_that_the_bound_proves_is_solved_whatever_the_back_end_says():
    task = task_of(*public("gini", "counts"))
    doubtful = lambda program, start, options: replace(honestly(program, start, options), stop=Stop.ITERATION_LIMIT)  # noqa: E731
    assert attempt_part(task, Recorder(doubtful), OPTIONS).solved


def test_a_convex_part_far_from_its_optimum_is_solved_again():
    task = task_of(*public("gini", "counts"))
    program = task.part.program
    other = replace(program, mass_weight=program.mass_weight * np.exp(np.sin(np.arange(program.n_masses))))
    far = replace(honestly(other, task.part.point(task.first), OPTIONS), stop=Stop.CONVERGED)
    recorder = Recorder(far, honestly)
    attempt = attempt_part(task, recorder, OPTIONS)
    assert len(recorder.begun) == 2
    assert attempt.solved
    assert attempt.gap <= 1e-6 * task.individuals
    assert not attempt_part(task, Recorder(far), OPTIONS).solved


TARGET = {"name": "X", "classes": ["c", "d"]}
A = {"name": "A", "type": "categorical", "values": ["u", "v"]}
P = {"name": "P", "type": "categorical", "values": ["1", "2", "3"], "role": "private"}


def estimate(nodes, qi, **options):
    document = {"format": "maxent/1", "target": TARGET, "attributes": [A, P], "trees": [{"nodes": nodes}]}
    return maxent.estimate(parse_release(document, "test"), qi, **options)


@pytest.mark.parametrize("presolve", [True, False])
def test_a_label_that_the_uniform_distribution_just_meets(presolve):
    nodes = [
        {"id": "N", "attribute": "P", "branches": [{"in": [v], "child": v} for v in "123"]},
        {"id": "1", "label": "c"},
        {"id": "2", "label": "c", "error_rate": 0},
        {"id": "3", "label": "c", "error_rate": 0.5},
    ]
    result = estimate(nodes, pd.DataFrame({"A": ["u"] * 6}), rounding="exact", presolve=presolve)
    # Five bins are free: c and d of leaves 1 and 3, and c of leaf 2; with equal masses every statement holds.
    assert result.summary["certificate"] == "global"
    assert result.probabilities[0] == pytest.approx([3 / 5, 2 / 5], abs=1e-7)


@pytest.mark.parametrize("presolve", [True, False])
def test_a_marginal_that_labels_just_meet(presolve):
    nodes = [
        {"id": "N", "attribute": "A", "branches": [{"in": ["u"], "child": "L"}, {"in": ["v"], "child": "M"}]},
        {"id": "L", "label": "c"},
        {"id": "M", "label": "d"},
    ]
    marginal = pd.DataFrame({"X": ["c", "d"], "count": [2, 2]})
    qi = pd.DataFrame({"A": ["u", "u", "v", "v"]})
    result = estimate(nodes, qi, knowledge="label,marginal", marginal=marginal, presolve=presolve)
    assert result.probabilities == pytest.approx(0.5, abs=1e-7)


@pytest.mark.parametrize("seed", range(2))
def test_few_rows_give_the_answer_of_all(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, truth = counted(seed, trees=12, owners=400, blur=4)
    sizes: list[int] = []

    def counting(some: LinearEntropy, *rest: object) -> DualPoint:
        sizes.append(len(some.lower))
        return minimise(some, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(overlapping, "minimise", counting)
    kept: list[FloatArray] = []
    found = minimise_binding(problem, 1e-9, Clock(), lambda y, masses: kept.append(y))
    assert found.residual <= 1e-9
    assert max(sizes) < len(problem.lower) / 3
    assert found.bound - problem.entropy(found.masses) == pytest.approx(0, abs=1e-6)
    assert found.bound >= problem.entropy(truth)
    np.testing.assert_allclose(found.masses, minimise(problem, tolerance=1e-9, max_iterations=500).masses, atol=1e-5)
    assert (np.diff([problem.value(y) for y in kept]) <= 1e-9).all()


def test_rows_that_contradict_each_other_are_left_to_the_proof() -> None:
    problem, _ = counted(0, trees=3, blur=1)
    lower = np.where(np.arange(len(problem.lower)) == 0, 1e3, problem.lower)
    broken = LinearEntropy(
        problem.owner, problem.total, problem.weight, problem.matrix, lower, lower.clip(problem.upper)
    )
    assert minimise_overlapping(broken, 1e-9, Clock()).bound < problem.least


def test_a_clock_that_has_run_out_leaves_the_fitted_answer() -> None:
    problem, _ = counted(1, trees=4, owners=200, blur=1)
    kept: list[FloatArray] = []
    found = minimise_overlapping(problem, 1e-9, Clock(0.0), lambda y, masses: kept.append(masses))
    assert np.isfinite(found.bound)
    assert len(kept) == 1
    assert found.residual < 1e3


IMPURITIES = ["gini", "entropy"]


@pytest.fixture(scope="module", params=IMPURITIES)
def tasks(request):
    """Small parts that are not convex."""
    kept = []

    def keep(tasks, backend, options, done, rest):
        kept.extend(tasks := [*tasks, *(rest() if rest else ())])
        return attempt_parts(tasks, backend, options, done)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "attempt_parts", keep)
        patch.setattr(driver, "bounded_parts", lambda answers, options, meanwhile: answers)  # takes long
        maxent.estimate(*contested(request.param))
    return [task for task in kept if task.part.program.terms]


def objective(task, point):
    return Derivatives(task.part.program).objective(point) / task.individuals


def test_parts_that_are_solved_together_are_solved_as_well_as_alone(tasks):
    assert stacks(tasks, AutoBackend(), OPTIONS) == [list(range(len(tasks)))]
    assert len(tasks) > 2
    for task, found in zip(tasks, attempt_stack(tasks, NewtonBackend(), OPTIONS), strict=True):
        alone = attempt_part(task, NewtonBackend(), OPTIONS)
        assert found.solved
        assert found.best.violation <= OPTIONS.tolerance
        assert objective(task, found.best.point) <= objective(task, alone.best.point) + 1e-9


def test_many_unknowns_are_shared_out(tasks, monkeypatch):
    sizes = [task.part.program.n for task in tasks]
    monkeypatch.setattr(parallel, "SHARED", sum(sizes) // 2 + 1)
    found = stacks(tasks, AutoBackend(), OPTIONS)
    assert found == [list(range(0, len(tasks), 2)), list(range(1, len(tasks), 2))]
    monkeypatch.setattr(parallel, "SHARED", 1)
    assert stacks(tasks, AutoBackend(), OPTIONS) == [[i] for i in range(len(tasks))]


def test_a_part_comes_to_the_same_with_others_and_without(tasks):
    for task, found in zip(tasks, attempt_stack(tasks, NewtonBackend(), OPTIONS), strict=True):
        [alone] = attempt_stack([task], NewtonBackend(), OPTIONS)
        assert alone.iterations == found.iterations
        assert objective(task, alone.best.point) == pytest.approx(objective(task, found.best.point), abs=1e-12)


def test_gradients_and_products_are_those_of_each_program(tasks):
    programs, rng = [task.part.program for task in tasks], np.random.default_rng(0)
    stack = Stack(Together(programs, Clock()).layout.of_items(np.arange(len(programs))), Clock())
    theta = np.where(stack.form.free, rng.standard_normal(stack.form.free.shape), -np.inf)
    points = stack.at(theta)
    n, n_rows = stack.n_rows, len(stack.people)
    penalty = Penalties(rng.random(n_rows), 1.0 + rng.random(n_rows))
    model = Quadratic(stack, points, penalty)
    model.prepare()
    direction = model.centre(rng.standard_normal(theta.shape))
    product, inverse = model.hessian(direction, points.m * direction), model.precondition(direction)
    value, ends = stack.value(points, penalty), stack.layout
    for i, program in enumerate(programs):
        problem = Problem(build_form(program), Clock())
        groups = slice(ends.groups[i], ends.groups[i + 1])
        rows = np.r_[ends.rows[i] : ends.rows[i + 1], n + ends.least[i] : n + ends.least[i + 1]]
        state, own = problem.at(theta[groups]), Penalty(penalty.mu[rows], penalty.rho[rows])
        alone = Model(problem, state, own)
        alone.prepare()
        close = {"rtol": 1e-9, "atol": 1e-9}
        np.testing.assert_allclose(points.c[rows], state.c, **close)
        np.testing.assert_allclose(value[i], own.value(state), **close)
        np.testing.assert_allclose(model.gradient[groups], alone.gradient, **close)
        np.testing.assert_allclose(product[groups], alone.hessian(direction[groups]), **close)
        np.testing.assert_allclose(inverse[groups], alone.precondition(direction[groups]), **close)


def test_the_union_has_the_rows_of_its_programs(tasks):
    programs = [task.part.program for task in tasks]
    union = union_of(programs)
    masses = [task.part.point(task.first)[: task.part.program.n_masses] for task in tasks]
    aggregates = [task.part.point(task.first)[task.part.program.n_masses :] for task in tasks]
    own = Derivatives(union)
    z = np.concatenate([*masses, *aggregates])
    assert own.objective(z) == pytest.approx(
        sum(
            Derivatives(program).objective(task.part.point(task.first))
            for program, task in zip(programs, tasks, strict=True)
        )
    )
    worst = max(Derivatives(task.part.program).violation(task.part.point(task.first)) for task in tasks)
    assert own.violation(z) == pytest.approx(worst)
    form = build_form(union)
    forms = [build_form(program) for program in programs]
    assert len(form.owner) == sum(len(each.owner) for each in forms)
    parts = np.repeat(np.arange(len(programs)), [len(program.total) for program in programs])
    rows = np.repeat(np.arange(len(programs)), [len(program.nl_const) for program in programs])
    placed = layout(form, parts[np.unique(union.owner[form.variable])], rows, len(programs))
    twice = placed.of_items(np.array([1, 1, 0]))
    assert np.diff(twice.groups).tolist() == [len(forms[1].owner)] * 2 + [len(forms[0].owner)]
    assert twice.form.blocks.factor.sum() == pytest.approx(
        2 * forms[1].blocks.factor.sum() + forms[0].blocks.factor.sum()
    )


def test_points_are_made_exact_together_as_alone(tasks, monkeypatch):
    programs = [task.part.program for task in tasks]
    together = attempt_stack(tasks, NewtonBackend(), OPTIONS)
    step = many._PolishRun.step
    # Each alone, as where the systems of all fail.
    monkeypatch.setattr(many._PolishRun, "step", lambda self: len(self.programs) == 1 and step(self))
    for task, found, alone in zip(tasks, together, attempt_stack(tasks, NewtonBackend(), OPTIONS), strict=True):
        assert objective(task, found.best.point) == pytest.approx(objective(task, alone.best.point), abs=1e-10)
    assert many.polish_many([], [], [], 1e-8, Clock()) == []
    assert len(programs) == len(together)


def test_a_failure_of_the_stack_leaves_parts_to_be_solved_alone(tasks, monkeypatch):
    def fails(*given):
        raise np.linalg.LinAlgError("singular")

    monkeypatch.setattr(NewtonBackend, "stack", fails)
    assert attempt_stack(tasks, NewtonBackend(), OPTIONS) == [None] * len(tasks)
    once = replace(OPTIONS, starts=1)
    assert all(found.solved for found in attempt_parts(tasks[:1], NewtonBackend(), once, lambda done: None))


def test_parts_whose_starts_lead_nowhere_are_solved_alone(tasks, monkeypatch):
    plain = NewtonBackend.stack

    def lost(self, *given):
        first, *others = plain(self, *given)
        return [replace(first, stop=Stop.NUMERICAL), *others]

    monkeypatch.setattr(NewtonBackend, "stack", lost)
    told = []
    found = attempt_parts(tasks, NewtonBackend(), replace(OPTIONS, starts=1), told.append)
    assert told == list(range(1, len(tasks) + 1))
    assert all(attempt.solved for attempt in found)


def test_a_stack_ends_when_the_clock_says_so(tasks):
    options = replace(OPTIONS, clock=Clock(0.0))
    for found in attempt_stack(tasks, NewtonBackend(), options):
        assert found.stopped is Stop.TIME_LIMIT
        assert not found.solved


def test_a_stack_takes_as_many_starts_as_are_asked_for(tasks, monkeypatch):
    asked = []
    plain = NewtonBackend.stack

    def stack(self, programs, starts, near, options):
        asked.append((len(starts), near.max()))
        return plain(self, programs, starts, near, options)

    monkeypatch.setattr(NewtonBackend, "stack", stack)
    found = [attempt_stack(tasks, NewtonBackend(), options) for options in (OPTIONS, replace(OPTIONS, starts=2))]
    assert [number for number, _ in asked] == [parallel.MANY_STARTS, 2]
    assert asked[1][1] < 0
    assert all(attempt.solved for each in found for attempt in each)


def test_later_starts_begin_when_the_first_ones_are_done_and_disagree(tasks, monkeypatch):
    begun, plain = [], stacked._Run.begin

    def begin(run, items):
        begun.append(set(items.tolist()))
        assert run.over[: 2 * len(tasks)].all() == (len(begun) > 1)
        plain(run, items)

    monkeypatch.setattr(stacked._Run, "begin", begin)
    together = attempt_stack(tasks, NewtonBackend(), OPTIONS)
    first, later = begun
    assert first == set(range(2 * len(tasks)))
    assert len(later) < 3 * len(tasks)  # some agree
    monkeypatch.setattr(stacked._Run, "begin", plain)
    monkeypatch.setattr(stacked, "AGREEING", parallel.MANY_STARTS)
    for task, one, other in zip(tasks, together, attempt_stack(tasks, NewtonBackend(), OPTIONS), strict=True):
        assert objective(task, one.best.point) == pytest.approx(objective(task, other.best.point), abs=1e-7)


def test_only_starts_that_converged_settle_a_program():
    lagrangian = np.array([2.0, 1.0, 1.0, 1.0, 1.0, 1.0])  # two programs, three starts
    converged = np.array([True, False, True, False, True, False])
    unused = np.zeros(6, np.int64)
    ends = stacked.Ends(unused, unused, lagrangian, unused, converged)
    over = np.array([True, True, True, True, False, False])
    assert not stacked._twice(ends, over, np.array([0.5, 0.5])).any()
    assert stacked._twice(ends, over, np.array([1.5, 0.5])).tolist() == [False] * 4 + [True, False]


def test_programs_that_do_not_fit_are_not_stacked(tasks):
    assert stackable(tasks[0].part.program)
    assert stacks(tasks, AutoBackend(), replace(OPTIONS, max_iterations=5)) == []
    assert not stackable(whole(*private("gini"))[1].program)
    assert not stackable(whole(*public("gini", "counts"))[1].program)


def test_the_number_of_jobs_changes_nothing():
    alone, together = (maxent.estimate(*contested("entropy"), jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(alone.probabilities, together.probabilities)
    assert alone.outcome.iterations == together.outcome.iterations


def few_wrong(impurity, sizes, wrong):
    """A tree of two levels over leaves of some sizes, in which so many are not of the label; and its people."""

    def split(name, attribute, *children):
        branches = [{"in": [value], "child": child} for value, child in zip("01", children, strict=True)]
        return {"id": name, "attribute": attribute, "branches": branches}

    leaves = [
        {"id": f"L{i}", "label": "w", "error_rate": few / n, "n": n}
        for i, (n, few) in enumerate(zip(sizes, wrong, strict=True))
    ]
    nodes = [split("N", "A", "M0", "M1"), split("M0", "B", "L0", "L1"), split("M1", "B", "L2", "L3"), *leaves]
    document = release_document(
        "X",
        ["w", "x", "y"],
        {name: ["0", "1"] for name in "AB"},
        {"induction": {"algorithm": "id3", "impurity": impurity, "candidates": "unused"}, "nodes": nodes},
    )
    people = pd.DataFrame({"A": list("0011"), "B": list("0101")}).loc[np.repeat(np.arange(4), sizes)]
    return parse_release(document, "test"), people


@pytest.mark.parametrize(
    ("impurity", "sizes", "wrong"),
    [("gain_ratio", (32, 37, 33, 25), (1, 0, 1, 0)), ("entropy", (21, 29, 20, 19), (0, 1, 0, 1))],
)
def test_no_answer_stays_where_masses_are_nearly_0(impurity, sizes, wrong):
    problem = few_wrong(impurity, sizes, wrong)
    best = maxent.estimate(*problem, backend="ipopt")
    assert best.certificate == "global"
    for options in ({}, {"seed": 1}, {"starts": 1}, {"backend": "newton"}):
        found = maxent.estimate(*problem, **options)
        assert found.certificate == "global"
        np.testing.assert_allclose(found.probabilities, best.probabilities, atol=1e-6)


def test_what_cannot_be_made_exact_is_solved_alone(tasks, monkeypatch):
    monkeypatch.setattr(finish, "all_finished", lambda programs, found, options: found)
    assert attempt_stack(tasks, NewtonBackend(), OPTIONS) == [None] * len(tasks)
