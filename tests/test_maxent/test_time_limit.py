"""The time limit is kept by every stage: one that does not look at the clock is left behind, whatever it does."""

import gc
import json
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from support.contested import contested
from support.programs import private, public, whole

import maxent
from maxent.__main__ import main
from maxent.api import case
from maxent.api import compile as compiling
from maxent.api import estimate as engine
from maxent.constraints import compiler
from maxent.constraints.kinds import split_choice
from maxent.constraints.presolve import merge, parts
from maxent.models.errors import NoAnswerInTime
from maxent.solvers import workers as apart_module
from maxent.solvers.backends.ipopt_ import IpoptBackend
from maxent.solvers.control import FINISHING, SOON, WORK, Clock
from maxent.solvers.dual import bound
from maxent.solvers.solution import Solution, Stop
from maxent.solvers.solve import attempt, driver
from maxent.solvers.solve import attempt as solve_attempt
from maxent.solvers.solve import driver as solve_driver

HOURS = 600.0  # Seconds that a stage would take, which nobody waits for


@dataclass
class Stage:
    """A stage that does not look at the clock: time is up when it begins, and it ends when it is told to."""

    clock: Clock = field(default_factory=lambda: Clock(HOURS))
    begun: threading.Event = field(default_factory=threading.Event)
    told: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    def __call__(self, *arguments, **options):
        self.begun.set()
        self.clock._deadline = time.monotonic()
        self.told.wait(HOURS)
        self.ended.set()


@pytest.fixture
def stage(monkeypatch):
    made = Stage()
    monkeypatch.setattr(engine, "Clock", lambda limit: made.clock)
    yield made
    made.told.set()
    for thread in threading.enumerate():
        if thread.name == WORK:
            thread.join()


class Stuck(IpoptBackend):
    def __init__(self, stage):
        self.stage = stage

    def solve(self, program, start, options):
        return self.stage()


class Hopeless(IpoptBackend):
    """Finds nothing, so that it is looked into what is wrong with the statements."""

    def solve(self, program, start, options):
        return Solution(None, Stop.NUMERICAL, np.inf, 0)


def contradicting():
    """The whole table is of one class, and the labels of leaves are of three."""
    release, frame = private("gini")
    return release, frame, pd.DataFrame({"X": ["a", "b", "c"], "count": [60, 0, 0]})


def given_up(stage, release, frame, marginal=None, status="time_limit"):
    """The estimate while a stage goes on for hours: it comes back before the stage does."""
    found = maxent.estimate(release, frame, marginal=marginal)
    assert stage.begun.is_set()
    assert not stage.ended.is_set()
    assert found.summary["status"] == status
    assert found.probabilities.sum(axis=1) == pytest.approx(1.0)
    return found


@pytest.mark.regression(number=14)
def test_a_back_end_is_left_behind(monkeypatch, stage):
    monkeypatch.setattr(engine, "load_backend", lambda name: Stuck(stage))
    given_up(stage, *contested("gini"))


def test_so_is_what_proves_the_optimum(monkeypatch, stage):
    monkeypatch.setattr(bound, "gap", stage)
    found = given_up(stage, *contested("gini", publish="counts"), status="optimal")
    assert found.certificate in ("gap", "local")


@pytest.mark.regression(number=14)
def test_so_is_the_search_for_contradictions(monkeypatch, stage):
    monkeypatch.setattr(attempt, "restrict", stage)
    given_up(stage, *private("gini"))


@pytest.mark.regression(number=14)
def test_so_is_their_reconciliation(monkeypatch, stage):
    monkeypatch.setattr(solve_attempt, "_relax_linear", stage)
    given_up(stage, *contradicting())


def test_so_is_that_of_internal_constraints(monkeypatch, stage):
    monkeypatch.setattr(engine, "load_backend", lambda name: Hopeless())
    monkeypatch.setattr(solve_attempt, "_relax_internal", stage)
    given_up(stage, *contested("gini"))


def test_what_is_large_has_a_process_that_is_ended(monkeypatch):
    """Of the same stages as above; what they do there is tested with the process itself."""
    ended = []

    def apart(function, arguments, clock, heard):
        ended.append(function.__name__)
        clock.interrupt()

    monkeypatch.setattr(apart_module, "LARGE", 0)
    for module in (attempt, solve_attempt):
        monkeypatch.setattr(module, "apart", apart)
    clock = Clock(600.0)
    program = whole(*public("gini"))[1].program
    assert attempt._restrict(program, clock) is None
    assert solve_attempt.relax_linear(program, clock) is None
    assert ended == ["_restrict_there", "_relax_linear_there"]
    assert attempt._restrict_there(program, Clock(600.0), print).possible
    assert solve_attempt._relax_linear_there(program, Clock(600.0), print).n == program.n


def test_comparing_splits_ends_with_what_was_compared(monkeypatch, stage):
    release, frame = contested("gini")
    whole = maxent.estimate(release, frame)
    compared = []

    def competes(*arguments):
        compared.append(arguments)
        if len(compared) == 2:
            stage.clock._deadline = time.monotonic() - 1.001 * SOON
        return _competes(*arguments)

    _competes = split_choice._competes
    monkeypatch.setattr(split_choice, "_competes", competes)
    found = maxent.estimate(release, frame, time_limit=HOURS)
    assert 0 < len(found.program.internal) < len(whole.program.internal)
    assert found.summary["status"] == "time_limit"
    assert any("ended the comparison of splits" in note for note in found.notes)


def overdue(stage, work):
    """Work that looks at the clock, or is followed by a look at it: time is long up when it is done."""

    def done(*arguments, **options):
        found = work(*arguments, **options)
        stage.begun.set()
        stage.clock._deadline = time.monotonic() - HOURS
        return found

    return done


@pytest.mark.parametrize(
    ("module", "last", "never"),
    [
        (merge, "tell_apart", "by_first"),
        (merge, "alike", "by_first"),
        (solve_driver, "merge", "water_fill"),
        (solve_driver, "solve_leafwise", "compared"),
        (merge, "spans_of", "components"),
        (parts, "settled", "independent_rows"),
    ],
)
def test_presolve_ends_and_everybody_is_answered_alike(monkeypatch, stage, module, last, never):
    """Before a part is known, or could be written down, nothing better than the uniform answer is."""
    monkeypatch.setattr(module, last, overdue(stage, getattr(module, last)))
    monkeypatch.setattr(parts if never == "water_fill" else module, never, None)
    found = given_up(stage, *private("gini"))
    assert (found.certificate, found.backend) == ("none", "auto")
    assert found.probabilities == pytest.approx(1.0 / 3.0)


@pytest.mark.parametrize("name", ["known_totals", "merge", "parts", "lift"])
def test_presolve_that_does_not_look_is_left_behind(monkeypatch, stage, name):
    monkeypatch.setattr(driver if name == "lift" else solve_driver, name, stage)
    found = given_up(stage, *private("gini"))
    assert found.probabilities == pytest.approx(1.0 / 3.0)


# --- Where there is no answer yet -----------------------------------------------------------------------------------


class Countdown(Clock):
    """Time is up, and long so, from the so-manieth look on."""

    def __init__(self, looks):
        super().__init__()
        self.limit, self.looks = 2.0, looks

    def stop(self):
        self.looks -= 1
        return None if self.looks >= 0 else Stop.TIME_LIMIT

    def late(self):
        return HOURS if self.looks < 0 else 0.0


def two_trees():
    """The tree of `private` twice, so that a cell is a combination of leaves."""
    release, frame = private("gini")
    return replace(release, trees=release.trees * 2), frame[["B", "C"]]


@pytest.mark.regression(number=14)
def test_before_an_answer_the_first_look_that_finds_time_up_ends_it(monkeypatch):
    release, frame = two_trees()
    clocks, said = [], []
    for looks in range(1000):
        clocks.append(Countdown(looks))
        monkeypatch.setattr(engine, "Clock", lambda limit: clocks[-1])
        try:
            maxent.estimate(release, frame)
        except NoAnswerInTime as error:
            [problem] = error.problems
            assert (problem.field, problem.found) == ("time_limit", "2")
            said.append(problem.expected.split("time was up, ")[1].rstrip(")"))
            assert clocks[-1].looks >= -2  # asked once more, for the reason
        else:
            break
    assert list(dict.fromkeys(said)) == [
        "nobody was placed yet",
        "people were placed in 0 of 2 trees, which made 9 cells",
        "people were placed in 1 of 2 trees, which made 27 cells",
        "people were placed in all trees, which made 27 cells, not in order yet",
        "people were placed, which made 27 cells, and nothing was stated about these yet",
        *(f"people were placed, which made 27 cells, and {n} statements were compiled" for n in (0, 6, 12, 16)),
        "16 statements about 27 cells were compiled, and too many to evaluate",
    ]


@pytest.mark.parametrize(
    ("module", "name"),
    [(case, "build_cells"), (compiler, "place_sizes"), (compiler, "release_rates"), (solve_driver, "Evaluator")],
)
@pytest.mark.regression(number=14)
def test_what_does_not_look_then_is_left_behind(monkeypatch, stage, module, name):
    monkeypatch.setattr(module, name, stage)
    with pytest.raises(NoAnswerInTime, match="time_limit: expected more seconds than it takes"):
        maxent.estimate(*two_trees(), time_limit=HOURS)
    assert stage.begun.is_set()
    assert not stage.ended.is_set()


def test_nothing_searches_for_cycles_while_a_program_is_compiled(monkeypatch):
    """Among millions of nodes that takes seconds, in which no thread looks at the clock."""
    searched = []
    compile_case = compiling.compile_case

    def compiled(*arguments):
        searched.append(gc.isenabled())
        return compile_case(*arguments)

    monkeypatch.setattr(compiling, "compile_case", compiled)
    maxent.estimate(*two_trees(), time_limit=HOURS)
    assert searched == [False]
    assert gc.isenabled()


def test_so_is_finding_rows_that_cover_people(monkeypatch, stage):
    records = pd.DataFrame({"A": ["0-1", "0-1", "2"], "X": ["a", "b", "a"]})
    monkeypatch.setattr("maxent.constraints.records.cover", stage)
    with pytest.raises(NoAnswerInTime, match="nobody was placed yet"):
        maxent.estimate(records, pd.DataFrame({"A": [0.0, 1.0, 2.0]}), target="X", time_limit=HOURS)
    assert not stage.ended.is_set()


@pytest.mark.parametrize(("evaluating", "enough"), [(0.01, True), (100.0, True), (300.0, False)])
@pytest.mark.regression(number=14)
def test_time_is_kept_back_for_measuring(monkeypatch, stage, evaluating, enough):
    """Solving ends earlier by what measuring takes longer than is allowed for, judged by an evaluation before."""
    times = iter([0.0, evaluating])
    monkeypatch.setattr(
        solve_driver, "time", SimpleNamespace(monotonic=lambda: next(times), thread_time=time.thread_time)
    )
    left = []
    monkeypatch.setattr(solve_driver, "known_totals", lambda program: left.append(stage.clock.left()) or stage())
    if enough:
        assert maxent.estimate(*two_trees(), time_limit=HOURS).summary["status"] == "time_limit"
        kept = max(0.0, solve_driver.MEASURING * evaluating - FINISHING)
        assert left == [pytest.approx(HOURS - kept, abs=60.0)]
    else:
        with pytest.raises(NoAnswerInTime, match="too many to evaluate"):
            maxent.estimate(*two_trees(), time_limit=HOURS)


def test_a_limit_that_is_too_short_is_refused_in_the_words_of_the_command_line(monkeypatch, capsys, tmp_path):
    release, frame = two_trees()
    release.save(tmp_path / "trees.json")
    frame.to_csv(tmp_path / "qi.csv", index=False)
    monkeypatch.setattr(engine, "Clock", lambda limit: Countdown(20))
    assert main(["estimate", str(tmp_path / "trees.json"), str(tmp_path / "qi.csv"), "--time-limit", "2"]) == 2
    told = capsys.readouterr().err
    assert "--time-limit: expected more seconds than it takes to have any answer (when time was up, people were" in told


LEFT = """
import atexit
import sys

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from maxent.__main__ import command
from maxent.__main__ import main
from maxent.api import case
from maxent.api import estimate as engine
from maxent.solvers.backends.ipopt_ import IpoptBackend

class Stuck(IpoptBackend):
    def solve(self, program, start, options):
        rng = np.random.default_rng(0)
        matrix = sparse.random(400, 1500, 0.01, random_state=0, format="csr")
        while True:
            linprog(rng.standard_normal(1500), A_eq=matrix, b_eq=matrix @ rng.random(1500), bounds=(0, 5))

engine.load_backend = lambda name: Stuck()
atexit.register(print, "at exit")
command()
"""


@pytest.mark.slow
def test_the_process_ends_in_order_while_work_is_left_behind(tmp_path):
    """Python would take itself down around the thread, and abort where that is in a library."""
    release, frame = contested("gini")
    release.save(tmp_path / "tree.json")
    frame.to_csv(tmp_path / "qi.csv", index=False)
    files = [tmp_path / "tree.json", tmp_path / "qi.csv"]
    call = [sys.executable, "-c", LEFT, "estimate", *map(str, files), "--time-limit", "2", "--json"]
    ran = subprocess.run(call, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 1, ran.stderr
    printed, last = ran.stdout.rsplit("}", 1)
    assert json.loads(printed + "}")["status"] == "time_limit"
    assert last.strip() == "at exit"
