"""What an answer is worth is computed, never taken from the back end: whatever that says, ``optimal`` is true."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.calls import printed_by
from support.contested import contested
from support.paths import D1
from support.strategies import SURE, cases, populations, thorough

import maxent
from maxent.api import estimate as engine
from maxent.constraints.program.residuals import Evaluator
from maxent.models.files.json_files import as_json_text
from maxent.results.text.estimate import summary_lines
from maxent.solvers.backends.ipopt_ import IpoptBackend
from maxent.solvers.solution import Solution, Stop


def solve(program, start, options):
    return IpoptBackend("own").solve(program, start, options)


def at_the_start(program, start, options, rng):
    return Solution(start, Stop.CONVERGED, 0.0, 1)


def near_the_optimum(size, program, start, options, rng):
    point = solve(program, start, options).point
    return Solution(point + size * rng.standard_normal(program.n), Stop.CONVERGED, 0.0, 1)


def at_another_feasible_point(program, start, options, rng):
    """The optimum of another objective."""
    other = replace(program, mass_weight=program.mass_weight * np.exp(rng.standard_normal(program.n_masses)))
    return replace(solve(other, start, options), stop=Stop.CONVERGED, violation=0.0)


def nowhere(program, start, options, rng):
    return Solution(np.full(program.n, np.nan), Stop.CONVERGED, 0.0, 1)


def in_another_space(program, start, options, rng):
    return Solution(np.ones(program.n + 1), Stop.CONVERGED, 0.0, 1)


def far_out(program, start, options, rng):
    return Solution(1e300 * rng.standard_normal(program.n), Stop.CONVERGED, -1.0, 1)


def without_a_point(program, start, options, rng):
    return Solution(None, Stop.CONVERGED, 0.0, 1)


def without_an_answer(program, start, options, rng):
    return None


def with_an_answer_in_words(program, start, options, rng):
    return Solution("the optimum", "optimal", 0.0, 1)


def by_failing(error, program, start, options, rng):
    raise error("no solution today")


FAULTS = {
    fault.__name__: fault
    for fault in (
        at_the_start,
        at_another_feasible_point,
        nowhere,
        in_another_space,
        far_out,
        without_a_point,
        without_an_answer,
        with_an_answer_in_words,
    )
}
FAULTS |= {f"{size:g}_from_the_optimum": partial(near_the_optimum, size) for size in (1e-9, 1e-6, 1e-2)}
FAULTS |= {
    error.__name__: partial(by_failing, error) for error in (ArithmeticError, RuntimeError, ValueError, KeyError)
}


class Faulty:
    """Says that everything is solved, and honestly solves the parts whose turn is in ``honest``."""

    name = "faulty"

    def __init__(self, fault, seed=0, honest=()):
        self.fault, self.rng, self.honest, self.turn = FAULTS[fault], np.random.default_rng(seed), honest, 0

    def refuses(self, program):
        return None

    def solve(self, program, start, options):
        self.turn += 1
        if self.turn in self.honest:
            return solve(program, start, options)
        return self.fault(program, start, options, self.rng)


def solved_by(backend, release, qi, **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "load_backend", lambda name: backend)
        return maxent.estimate(release, qi, backend=backend.name, **options)


def convex(impurity):
    """A release whose parts are convex: with two classes, rates are counts."""
    return contested(impurity, "rates", seed=3, classes="ab")


def objective(result):
    return result.program.entropy(result.outcome.masses)


@thorough(40)
@given(
    case=cases(populations(rows=(4, 20), public=(1, 3), private=(0, 1), classes=(2, 3))),
    fault=st.sampled_from(sorted(FAULTS)),
    seed=st.integers(0, 3),
    honest=st.sets(st.integers(1, 4), max_size=2),
)
def test_optimal_is_true_whatever_the_back_end_says(case, fault, seed, honest):
    options = {"rounding": case.roundings[0], "confidence": SURE}
    result = solved_by(Faulty(fault, seed, honest), case.release, case.people.qi, **options)
    assume(result.outcome.parts)
    if not result.reliable:
        assert result.certificate == "none"
        assert result.summary["unique"] is False
        return
    assert Evaluator(result.program).max_violation(result.outcome.masses) <= 1e-8
    best = solved_by(Faulty("nowhere", honest=range(1000)), case.release, case.people.qi, **options)
    assert best.reliable
    lost = objective(best) - objective(result)
    assert lost <= result.outcome.duality_gap + 1e-9
    if result.certificate == "global":
        assert lost <= 1e-6
    if result.outcome.convex:
        assert lost <= 1e-4


@pytest.mark.parametrize("impurity", ["gini", "entropy"])
@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_no_fault_is_taken_for_an_optimum(fault, impurity):
    result = solved_by(Faulty(fault), *convex(impurity))
    assert result.outcome.parts == 4
    assert Evaluator(result.program).max_violation(result.outcome.masses) == pytest.approx(
        result.summary["max_violation"], abs=1e-15
    )
    if result.reliable:  # the fault is too small to matter, or the start was the optimum already
        assert fault == "at_the_start" or fault.endswith("_from_the_optimum")
        assert result.outcome.duality_gap <= 1e-4
        return
    assert result.summary["status"] == "not_converged"
    assert result.notes
    if fault == "at_another_feasible_point":
        assert result.outcome.duality_gap > 1e-4
        assert any("per individual" in note for note in result.notes)
    elif fault == "KeyError":
        assert any("faulty: KeyError" in note for note in result.notes)


def test_what_is_no_matter_of_the_program_is_raised():
    class Small(Faulty):
        def solve(self, program, start, options):
            raise MemoryError

    with pytest.raises(MemoryError):
        solved_by(Small("nowhere"), *convex("gini"))


def test_convex_programs_are_proved_optimal_and_unique():
    result = maxent.estimate(*convex("entropy"))
    assert result.outcome.parts == 4
    assert (result.summary["convex"], result.certificate, result.summary["unique"]) == (True, "global", True)
    assert 0 <= result.summary["duality_gap"] <= 1e-6
    assert "gap" not in result.summary
    assert "entropy_upper_bound" not in result.summary
    assert "the global optimum of a convex problem" in "".join(summary_lines(result))


def test_elsewhere_the_gap_is_stated():
    release, frame = contested("gini")
    result = maxent.estimate(release, frame)
    summary = json.loads(as_json_text(result.summary))
    assert (summary["convex"], summary["certificate"], summary["unique"]) == (False, "gap", False)
    assert summary["gap"] == summary["duality_gap"] > 1e-6
    assert summary["entropy_upper_bound"] == pytest.approx(objective(result) + summary["gap"], abs=1e-12)
    without = maxent.estimate(release, frame, knowledge="label,rate")
    assert summary["entropy_upper_bound"] <= objective(without) + 1e-12


def test_closed_forms_are_optimal_by_themselves():
    result = maxent.estimate(D1 / "tree.json", D1 / "qi.csv", knowledge="label,rate")
    assert (result.summary["backend"], result.summary["solver"]["backends"]) == ("closed_form", {})
    assert (result.certificate, result.summary["duality_gap"]) == ("global", 0.0)


def test_every_part_is_counted_for_the_back_end_that_solved_it():
    result = maxent.estimate(*contested("gini"))
    assert sum(result.summary["solver"]["backends"].values()) == result.summary["solver"]["parts"] > 0
    assert set(result.summary["backend"].split("+")) == set(result.summary["solver"]["backends"]) - {"presolve"}


class Exhausted(IpoptBackend):
    """Runs out of iterations at a point that is feasible, but no optimum."""

    name = "exhausted"

    def solve(self, program, start, options):
        tilt = np.exp(np.cos(np.arange(program.n_masses)))
        found = super().solve(replace(program, mass_weight=program.mass_weight * tilt), start, options)
        return replace(found, stop=Stop.ITERATION_LIMIT, by=self.name)


@pytest.fixture
def problem(monkeypatch):
    """A convex problem, and the back end that does not finish it."""
    monkeypatch.setattr(engine, "load_backend", lambda name: Exhausted())
    return contested("gini", classes="ab", seed=3)


def test_the_status_is_honest(problem):
    result = maxent.estimate(*problem)
    summary = result.summary
    assert (summary["status"], summary["certificate"], summary["unique"]) == ("not_converged", "none", False)
    assert any("iteration_limit" in note and "per individual from it" in note for note in result.notes)
    assert summary["solver"]["backends"] == {"exhausted": summary["solver"]["parts"]}


def test_what_is_known_of_it_is_said(problem):
    summary = maxent.estimate(*problem).summary
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "load_backend", lambda name: IpoptBackend())
        best = maxent.estimate(*problem).summary
    assert best["status"] == "optimal"
    assert summary["max_violation"] <= 1e-8
    assert summary["duality_gap"] > 1e-5
    assert summary["entropy_upper_bound"] == pytest.approx(summary["entropy"] + summary["duality_gap"])
    assert summary["entropy"] < best["entropy"] <= summary["entropy_upper_bound"] + 1e-12


def test_the_command_prints_the_answer_and_exits_with_1(problem, tmp_path, capsys):
    release, frame = problem
    release.save(tmp_path / "tree.json")
    frame.to_csv(tmp_path / "qi.csv", index=False)
    printed = printed_by(capsys, ["estimate", str(tmp_path / "tree.json"), str(tmp_path / "qi.csv"), "--json"], 1)
    assert json.loads(printed.out)["status"] == "not_converged"
    assert "not to be relied on" in printed.err
