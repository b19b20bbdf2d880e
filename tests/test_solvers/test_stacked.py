"""Small parts solved together: what each comes to alone, in every start, however many there are."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from support.contested import contested
from support.documents import release_document
from support.programs import private, public, whole

import maxent
from maxent.models.formats.maxent_json.read import parse_release
from maxent.solvers.backend import Options
from maxent.solvers.backends.auto import AutoBackend
from maxent.solvers.backends.newton_ import NewtonBackend
from maxent.solvers.conic import polish as many
from maxent.solvers.control import Clock
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.newton import stacked
from maxent.solvers.newton.block_form import build_form
from maxent.solvers.newton.quadratic_model import Model, Penalty
from maxent.solvers.newton.quadratic_model import NewtonProblem as Problem
from maxent.solvers.newton.stacked import Penalties, Quadratic, Stack, Together, layout, stackable, union_of
from maxent.solvers.solution import Stop
from maxent.solvers.solve import driver, finish, parallel
from maxent.solvers.solve.attempt import attempt_part
from maxent.solvers.solve.parallel import attempt_parts, attempt_stack, stacks

OPTIONS = Options()
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


def test_a_part_comes_to_the_same_with_others_and_without(tasks):
    together = attempt_stack(tasks, NewtonBackend(), OPTIONS)
    for task, found in zip(tasks, together, strict=True):
        [alone] = attempt_stack([task], NewtonBackend(), OPTIONS)
        assert alone.iterations == found.iterations
        assert objective(task, alone.best.point) == pytest.approx(objective(task, found.best.point), abs=1e-12)


def test_gradients_and_products_are_those_of_each_program(tasks):
    programs, rng = [task.part.program for task in tasks], np.random.default_rng(0)
    together = Together(programs, Clock())
    stack = Stack(together.layout.of_items(np.arange(len(programs))), Clock())
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


def test_only_starts_that_converged_settle_a_program():
    lagrangian = np.array([2.0, 1.0, 1.0, 1.0, 1.0, 1.0])  # two programs, three starts
    converged = np.array([True, False, True, False, True, False])
    unused = np.zeros(6, np.int64)
    ends = stacked.Ends(unused, unused, lagrangian, unused, converged)
    over = np.array([True, True, True, True, False, False])
    assert not stacked._twice(ends, over, np.array([0.5, 0.5])).any()
    assert stacked._twice(ends, over, np.array([1.5, 0.5])).tolist() == [False] * 4 + [True, False]


def test_programs_that_do_not_fit_are_not_stacked(tasks):
    program = tasks[0].part.program
    assert stackable(program)
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
