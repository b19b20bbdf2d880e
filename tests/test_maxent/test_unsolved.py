"""A part that the solver does not finish: the answer is given, and said not to be relied on."""

import json
from dataclasses import replace

import numpy as np
import pytest
from support.contested import contested

import maxent
from maxent.__main__ import main
from maxent.api import estimate as engine
from maxent.solvers.backends.ipopt_ import IpoptBackend
from maxent.solvers.solution import Stop


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
    assert any("iteration_limit" in note and "nats per individual from it" in note for note in result.notes)
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
    assert main(["estimate", str(tmp_path / "tree.json"), str(tmp_path / "qi.csv"), "--json"]) == 1
    printed = capsys.readouterr()
    assert json.loads(printed.out)["status"] == "not_converged"
    assert "not to be relied on" in printed.err
