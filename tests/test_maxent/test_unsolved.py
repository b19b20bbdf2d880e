"""A part that the solver does not finish: the answer is given, and said not to be relied on."""

import json
from pathlib import Path

import pytest

import maxent
from maxent import engine
from maxent.__main__ import main
from maxent.solvers.solution import Solution, Stop

D1 = Path(__file__).parents[2] / "examples" / "d1"
FILES = [str(D1 / "tree.json"), str(D1 / "qi.csv")]


class Exhausted:
    """A back end that runs out of iterations where it started."""

    name = "exhausted"

    def refuses(self, program):
        return None

    def solve(self, program, start, options):
        return Solution(start, Stop.ITERATION_LIMIT, 0.0, 7)


@pytest.fixture
def unfinished(monkeypatch):
    monkeypatch.setattr(engine, "load_backend", lambda name: Exhausted())


def test_the_status_is_honest(unfinished):
    result = maxent.estimate(*FILES)
    assert result.summary["status"] == "not_converged"
    assert result.summary["certificate"] == "none"
    assert result.summary["unique"] is False
    assert any("iteration_limit" in note for note in result.notes)


def test_the_command_prints_the_answer_and_exits_with_1(unfinished, capsys):
    assert main(["estimate", *FILES, "--json"]) == 1
    printed = capsys.readouterr()
    assert json.loads(printed.out)["status"] == "not_converged"
    assert "not to be relied on" in printed.err
