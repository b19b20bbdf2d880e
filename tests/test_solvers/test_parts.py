"""One part: where solves start, how often, which answer is kept, and what a back end's word is worth."""

from dataclasses import replace

import numpy as np
import pytest
from support.programs import private, public, whole

from maxent.constraints.presolve.merge import known_totals, needed, unmerged
from maxent.constraints.presolve.parts import solve_leafwise
from maxent.constraints.program.residuals import Evaluator
from maxent.solvers.backend import Options
from maxent.solvers.backends.auto import AutoBackend
from maxent.solvers.backends.ipopt_ import IpoptBackend
from maxent.solvers.backends.newton_ import NewtonBackend
from maxent.solvers.control import Clock
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.newton import block_form
from maxent.solvers.newton.block_form import build_form
from maxent.solvers.solution import Solution, Stop
from maxent.solvers.solve import attempt
from maxent.solvers.solve import attempt as solve_attempt
from maxent.solvers.solve.attempt import PartSolver as Solver
from maxent.solvers.solve.attempt import Task, attempt_part

OPTIONS = Options()


def task_of(release, frame):
    """The whole program of a release as one part, and the closed form to start from."""
    program, part = whole(release, frame)
    keep = needed(program, known_totals(program), Evaluator(program).linear)
    cold, _ = solve_leafwise(program, unmerged(program), keep)
    return Task(part, cold)


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
        there = honestly(program, start, options).point
        point = (1 - share) * start + share * there
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
    change = np.log(begun[0][at] / task.first[at])[task.first[at] > 0]
    assert 0.01 < np.abs(change).max() < 3


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
        mine = terms.var[(terms.row == row) & (terms.coef > 0)]
        held = [masses_in(open_task, variable) for variable in mine]
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
    answer = honestly(open_task.part.program, open_task.part.point(open_task.first * 1.0), OPTIONS)
    recorder = Recorder(answer)
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
