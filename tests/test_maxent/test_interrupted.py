"""Stopped by a time limit or by Ctrl-C: the best answer so far is given, and said not to be relied on."""

import gc
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from support.calls import printed_by
from support.contested import contested
from support.paths import D1
from support.programs import private, public, whole

import maxent
from maxent.__main__ import main
from maxent.api import case, ladder, remediation
from maxent.api import compile as compile_module
from maxent.api import compile as compiling
from maxent.api import estimate as engine
from maxent.api import population as registers
from maxent.api.out_of_core import estimate as parted
from maxent.constraints import compiler
from maxent.constraints.kinds import split_choice
from maxent.constraints.presolve import merge, parts
from maxent.constraints.program.residuals import Evaluator
from maxent.models.errors import NoAnswerInTime
from maxent.results import bounds
from maxent.results import estimate as results
from maxent.results import population as populations
from maxent.results import review as reviews
from maxent.solvers import control as clock_module
from maxent.solvers import workers as apart_module
from maxent.solvers.backends.ipopt_ import IpoptBackend
from maxent.solvers.control import FINISHING, SOON, WORK, Clock, OutOfTime
from maxent.solvers.dual import bound
from maxent.solvers.solution import Solution, Stop
from maxent.solvers.solve import attempt, driver
from maxent.solvers.solve import attempt as solve_attempt
from maxent.solvers.solve import driver as solve_driver

PATIENT = 60.0  # Seconds that work goes on for that nobody waits for; far more than a busy machine takes for the rest

FILES = [str(D1 / "tree.json"), str(D1 / "qi.csv")]


class Countdown(Clock):
    """Interrupted the so-manieth time that somebody asks."""

    def __init__(self, asked):
        super().__init__()
        self.asked = asked

    def stop(self):
        self.asked -= 1
        return Stop.INTERRUPTED if self.asked < 0 else None


def stopped_after(monkeypatch, asked, **options):
    release, frame = contested("gini")
    monkeypatch.setattr(engine, "Clock", lambda limit: Countdown(asked))
    return maxent.estimate(release, frame, backend="ipopt", starts=2, **options)


# --- The time limit --------------------------------------------------------------------------------------------


def test_without_time_the_answer_is_the_one_without_internal_constraints(capsys, tmp_path):
    output = tmp_path / "out.json"
    printed = printed_by(capsys, ["estimate", *FILES, "--time-limit", "1e-9", "--json", "-o", str(output)], 1)
    summary = json.loads(printed.out)
    assert (summary["status"], summary["certificate"], summary["unique"]) == ("time_limit", "none", False)
    assert "contradictions" not in summary  # what the answer does not satisfy yet can still be satisfied
    assert summary["max_violation"] > 1e-3
    assert "duality_gap" not in summary
    assert "stopped at the time limit" in printed.err
    posterior = pd.DataFrame(json.loads(output.read_text(encoding="utf-8"))["posterior"])
    expected = maxent.estimate(*FILES, knowledge="label,rate").posterior
    pd.testing.assert_frame_equal(posterior[expected.columns], expected)


def test_the_text_says_what_happened(capsys):
    printed = printed_by(capsys, ["estimate", *FILES, "--time-limit", "1e-9"], 1)
    assert "stopped at the time limit, not to be relied on" in printed.out
    assert "the best so far (status time_limit)" in printed.err


def test_what_needs_no_solver_needs_no_time():
    result = maxent.estimate(*FILES, knowledge="label,rate", time_limit=1e-9)
    assert (result.summary["status"], result.certificate) == ("optimal", "global")


def test_enough_time_changes_nothing():
    limited, free = (maxent.estimate(*FILES, time_limit=limit) for limit in (1e6, None))
    assert limited.summary["status"] == "optimal"
    np.testing.assert_array_equal(limited.probabilities, free.probabilities)


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf"])
def test_other_limits_are_refused(capsys, seconds):
    assert main(["estimate", *FILES, "--time-limit", seconds]) == 2
    assert "--time-limit: expected a positive number of seconds" in capsys.readouterr().err


# --- The best answer so far ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("presolve", [True, False])
def test_whenever_it_is_stopped_there_is_an_answer(monkeypatch, presolve):
    without = maxent.estimate(*contested("gini"), knowledge="label,rate")
    seen = []
    for asked in (0, 1, 30, 350, 400, 450, 500, 600, 100_000):
        result = stopped_after(monkeypatch, asked, presolve=presolve)
        seen.append(result.summary["status"])
        np.testing.assert_allclose(result.probabilities.sum(axis=1), 1.0, rtol=1e-9)
        evaluator = Evaluator(result.program)
        found = evaluator.max_violation(result.outcome.masses)
        assert result.summary["max_violation"] == pytest.approx(found, abs=1e-15)  # summed over people who are alike
        assert evaluator.linear.violation(result.outcome.masses).max() <= 1e-8
        assert result.reliable == (result.summary["status"] == "optimal")
        if "duality_gap" in result.summary:
            assert result.summary["max_violation"] <= 1e-8
        if asked == 0:
            np.testing.assert_allclose(result.probabilities, without.probabilities, rtol=0, atol=1e-15)
    assert seen == sorted(seen)  # interrupted, then optimal
    assert seen[0] == "interrupted"
    assert seen[-1] == "optimal" or not presolve  # without presolve nothing is promised


def test_parts_that_were_reached_are_solved(monkeypatch):
    missed = [
        (evaluator.violation(result.outcome.masses) > 1e-8).sum()
        for asked in (0, 400, 600, 800)
        for result in [stopped_after(monkeypatch, asked)]
        for evaluator in [Evaluator(result.program).internal]
    ]
    assert missed == sorted(missed, reverse=True)
    assert missed[0] > missed[-1]


def test_ipopt_keeps_the_best_feasible_point():
    programs = []

    class Recorder(IpoptBackend):
        def solve(self, program, start, options):
            programs.append((program, start, options))
            return super().solve(program, start, options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "load_backend", lambda name: Recorder())
        maxent.estimate(*contested("gini"), starts=1)
    program, start, options = max(programs, key=lambda found: found[0].n)
    least = np.inf
    for asked in range(0, 40, 2):
        solution = IpoptBackend("own").solve(program, start, replace(options, clock=Countdown(asked)))
        if solution.stop is Stop.CONVERGED:
            break
        assert solution.stop is Stop.INTERRUPTED
        assert solution.iterations <= asked + 1
        if solution.violation <= options.tolerance:
            mass = solution.point[: program.n_masses]
            value = float((mass * np.log(mass / program.mass_weight)).sum())
            assert value <= least
            least = value
    assert solution.stop is Stop.CONVERGED
    assert asked > 0


# --- Ctrl-C ----------------------------------------------------------------------------------------------------


class Interrupted(IpoptBackend):
    """Somebody presses Ctrl-C while the first part is solved."""

    def __init__(self, times=1):
        self.times = times

    def solve(self, program, start, options):
        for number in range(self.times):
            os.kill(os.getpid(), signal.SIGINT)
            while options.clock.stop() is None:  # a second one before the first was handled would count as one
                time.sleep(0.01)
            if number:
                time.sleep(PATIENT)
        self.times = 0
        return super().solve(program, start, options)


REGISTER = ["estimate", FILES[0], "--population", FILES[1]]
BOTH = pytest.mark.parametrize("call", [["estimate", *FILES], [*REGISTER, "--backend", "ipopt"]])


@BOTH
def test_ctrl_c_ends_the_command_with_the_best_so_far(call, monkeypatch, capsys):
    monkeypatch.setattr(engine, "load_backend", lambda name: Interrupted())
    before = signal.getsignal(signal.SIGINT)
    assert main([*call, "--json"]) == 1
    assert signal.getsignal(signal.SIGINT) is before
    printed = capsys.readouterr()
    assert json.loads(printed.out)["status"] == "interrupted"
    assert "interrupted; the result is the best so far" in printed.err


@BOTH
def test_a_second_ctrl_c_ends_it_at_once(call, monkeypatch, capsys):
    monkeypatch.setattr(clock_module, "GRACE", PATIENT)  # a busy machine does not take the answer before
    monkeypatch.setattr(clock_module, "_LEFT_BEHIND", [])  # nor does the end of the tests wait for it
    monkeypatch.setattr(engine, "load_backend", lambda name: Interrupted(times=2))
    printed = printed_by(capsys, call, 130)
    assert (printed.out, printed.err) == ("", "maxent: interrupted\n")


def test_before_solving_there_is_nothing_to_give(monkeypatch, capsys):
    def interrupt(*_, **__):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)

    monkeypatch.setattr(engine, "read_case", interrupt)
    assert printed_by(capsys, ["estimate", *FILES], 130).out == ""


def pressed(monkeypatch, module, name, then, times=None):
    """Somebody presses Ctrl-C when a function is called, the first ``times``, which then does something else."""
    own, left = getattr(module, name), iter(range(times or sys.maxsize))

    def function(*given, **named):
        if next(left, None) is not None:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)
        return then(own, *given, **named)

    monkeypatch.setattr(module, name, function)


def as_ever(own, *given, **named):
    return own(*given, **named)


def test_ctrl_c_while_a_register_is_taken_in_parts_leaves_no_file(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(parted, "population_estimate", lambda *_, **__: os.kill(os.getpid(), signal.SIGINT))
    call = ["estimate", FILES[0], "--population", FILES[1], "--knowledge", "label,rate", "-o", f"{tmp_path}/out/"]
    printed = printed_by(capsys, call, 130)
    assert (printed.out, printed.err) == ("", "maxent: interrupted\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("call", "module", "name"),
    [
        (["estimate", *FILES], engine, "measured"),
        (["estimate", *FILES], results.Estimate, "save"),
        (REGISTER, registers, "membership_of"),
        (REGISTER, populations.PopulationEstimate, "save"),
    ],
)
def test_an_answer_that_is_there_is_not_lost_to_ctrl_c(call, module, name, monkeypatch, capsys, tmp_path):
    printed_by(capsys, [*call, "-o", str(tmp_path / "expected.csv")])
    pressed(monkeypatch, module, name, as_ever)
    before = signal.getsignal(signal.SIGINT)
    assert main([*call, "--json", "-o", str(tmp_path / "found.csv")]) == 0
    assert signal.getsignal(signal.SIGINT) is before
    assert json.loads(capsys.readouterr().out)["status"] == "optimal"
    assert (tmp_path / "found.csv").read_bytes() == (tmp_path / "expected.csv").read_bytes()


def test_nor_are_bounds(monkeypatch, capsys, tmp_path):
    pressed(monkeypatch, bounds.ProvedBounds, "save", as_ever)
    assert main(["bounds", *FILES, "--level", "closed", "--json", "-o", str(tmp_path / "found.csv")]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "proved"
    assert len(pd.read_csv(tmp_path / "found.csv"))


@pytest.mark.parametrize(
    ("module", "name"), [(engine, "_by_target"), (reviews.Review, "save"), (ladder.Climb, "_estimate")]
)
def test_nor_is_a_review(module, name, monkeypatch, capsys, tmp_path):
    pressed(monkeypatch, module, name, as_ever, times=1)
    if module is ladder.Climb:  # what is compiled next is given up
        monkeypatch.setattr(compile_module, "in_time", lambda clock, work, late: None if clock.stop() else work())
    call = ["review", FILES[0], str(D1 / "truth.csv"), "--target", "Salary", "--qi", "Education,Country,Gender"]
    call += ["--adversary", "predictions", "--max-certain", "0", "--record", str(tmp_path / "record.json")]
    assert main([*call, "--json", "-o", str(tmp_path / "found.csv")]) == 0
    assert json.loads(capsys.readouterr().out)["estimate"]["status"] == "optimal"
    assert len(pd.read_csv(tmp_path / "found.csv"))
    assert json.loads((tmp_path / "record.json").read_text())["verdict"]["stopped"] == "interrupted"


def test_a_second_ctrl_c_ends_writing(monkeypatch, capsys, tmp_path):
    def again(own, *given, **named):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(PATIENT)

    pressed(monkeypatch, results.Estimate, "save", again)
    assert main(["estimate", *FILES, "-o", str(tmp_path / "found.csv")]) == 130
    assert capsys.readouterr().err == "maxent: interrupted\n"
    assert not list(tmp_path.iterdir())


def test_nor_is_it_lost_while_a_subtree_is_searched(monkeypatch, capsys):
    waited = threading.Event()
    monkeypatch.setattr(clock_module, "_LEFT_BEHIND", [])
    pressed(monkeypatch, remediation, "mended", lambda own, *given: waited.wait(PATIENT))
    assert main(["estimate", *FILES, "--json", "--max-certain", "0"]) == 0
    waited.set()
    verdict = json.loads(capsys.readouterr().out)["verdict"]
    assert verdict["status"] == "fail"
    assert "the search for a subtree was interrupted" in json.dumps(verdict)


def test_ctrl_c_while_splits_are_compared_leaves_the_others_out(monkeypatch, capsys):
    pressed(monkeypatch, engine, "compile_in_time", lambda own, *given: own(*given))
    before = signal.getsignal(signal.SIGINT)
    assert main(["estimate", *FILES, "--json"]) == 1
    assert signal.getsignal(signal.SIGINT) is before
    assert json.loads(capsys.readouterr().out)["status"] == "interrupted"


def test_ctrl_c_before_people_are_placed_gives_no_answer(monkeypatch, capsys):
    def late(own, *given):
        raise OutOfTime(Stop.INTERRUPTED)

    pressed(monkeypatch, compile_module, "compile_case", late)
    printed = printed_by(capsys, ["estimate", *FILES], 130)
    assert (printed.out, printed.err) == ("", "maxent: interrupted\n")


def test_in_python_ctrl_c_is_an_exception(monkeypatch):
    monkeypatch.setattr(engine, "load_backend", lambda name: Interrupted())
    with pytest.raises(KeyboardInterrupt):
        maxent.estimate(*FILES)
    monkeypatch.setattr(engine, "load_backend", lambda name: Interrupted())
    assert maxent.estimate(*FILES, interruptible=True).summary["status"] == "interrupted"


ENDLESS = """
import sys, time
from pathlib import Path
from maxent.api import estimate as engine
from maxent.api import remediation
from maxent.__main__ import main
from maxent.solvers.solution import Solution
from maxent.solvers.solve import parallel
from maxent.solvers.backends.ipopt_ import IpoptBackend

started, heard, hears = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "hears"

class Endless(IpoptBackend):
    def solve(self, program, start, options):
        from maxent.solvers import control
        from maxent.solvers.solve import parallel

        if not hears:
            control.GRACE = parallel.LAST = 600.0  # here, and in processes of its own
            control.AT_THE_END = 0.5  # it would be waited for, who never ends
        started.touch()
        while options.clock.stop() is None:
            time.sleep(0.01)
        heard.touch()
        while not hears:
            time.sleep(0.01)
        return Solution(start, options.clock.stop(), 0.0, 0)

engine.load_backend = lambda name: Endless()
parallel.LAST = parallel.LAST if hears else 600.0
sys.exit(main(sys.argv[4:]))
"""


@pytest.fixture
def running(tmp_path):
    """Start the command with a solver that never ends, as the leader of a group of processes like a terminal's."""
    release, frame = contested("gini")
    release.save(tmp_path / "tree.json")
    frame.to_csv(tmp_path / "qi.csv", index=False)
    processes = []

    def start(*options, hears=True):
        sign = tmp_path / "started"
        call = [sys.executable, "-c", ENDLESS, sign, tmp_path / "heard", "hears" if hears else "does not", "estimate"]
        call += [tmp_path / "tree.json", tmp_path / "qi.csv", *options]
        pipe = subprocess.PIPE
        process = subprocess.Popen(call, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
        processes.append(process)
        while not sign.exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        return process

    yield start
    for process in processes:
        if members(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def members(group):
    """Processes of a group that are still running, by /proc."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                state, _, its_group = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(its_group) == group and state != "Z":
                found.append(int(folder.name))
    return found


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see processes")


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_in_a_terminal_leaves_no_process_behind(running, jobs):
    process = running("--jobs", jobs, "--json")
    os.killpg(process.pid, signal.SIGINT)
    printed, said = process.communicate(timeout=120)
    assert process.returncode == 1, said
    assert json.loads(printed)["status"] == "interrupted"
    reason = "interrupted; the result is the best so far (status interrupted)"
    assert said == f"maxent: not to be relied on: {reason}\n"
    assert gone(process.pid)


@needs_proc
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_neither_does_a_second_one(running, jobs, tmp_path):
    process = running("--jobs", jobs, hears=False)
    os.killpg(process.pid, signal.SIGINT)
    while not (tmp_path / "heard").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    printed, said = process.communicate(timeout=120)
    assert (process.returncode, printed) == (130, ""), said
    assert said.splitlines()[-1] == "maxent: interrupted"
    assert gone(process.pid)


def gone(group):
    """Whether a group of processes ends, soon."""
    for _ in range(1000):
        if not members(group):
            return True
        time.sleep(0.01)
    return False


# --- The clock -------------------------------------------------------------------------------------------------


def test_a_copy_of_a_shared_clock_hears_of_an_interruption():
    clock = Clock(1e6)
    with clock.shared():
        copy = pickle.loads(pickle.dumps(clock))
        assert copy.stop() is None
        assert copy.left() == pytest.approx(clock.left(), abs=10)
        clock.interrupt()
        assert copy.stop() is clock.stop() is Stop.INTERRUPTED
    assert clock.stop() is Stop.INTERRUPTED
    with clock.shared():
        assert pickle.loads(pickle.dumps(clock)).stop() is Stop.INTERRUPTED


def test_a_back_end_that_stops_early_by_itself_is_not_optimal(monkeypatch):
    class Impatient(IpoptBackend):
        def solve(self, program, start, options):
            return Solution(start, Stop.TIME_LIMIT, 0.0, 1)

    monkeypatch.setattr(engine, "load_backend", lambda name: Impatient())
    assert maxent.estimate(*FILES).summary["status"] == "time_limit"


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
    made, before = Stage(), {*threading.enumerate()}
    monkeypatch.setattr(engine, "Clock", lambda limit: made.clock)
    yield made
    made.told.set()
    for thread in {*threading.enumerate()} - before:  # others go on for a minute after tests before this one
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
    assert given_up(stage, *contested("gini", publish="counts"), status="optimal").certificate in ("gap", "local")


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
    assert given_up(stage, *private("gini")).probabilities == pytest.approx(1.0 / 3.0)


# --- Where there is no answer yet -----------------------------------------------------------------------------------


class LimitedCountdown(Clock):
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
        clocks.append(LimitedCountdown(looks))
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
        assert left == [pytest.approx(HOURS - max(0.0, solve_driver.MEASURING * evaluating - FINISHING), abs=60.0)]
    else:
        with pytest.raises(NoAnswerInTime, match="too many to evaluate"):
            maxent.estimate(*two_trees(), time_limit=HOURS)


def test_a_limit_that_is_too_short_is_refused_in_the_words_of_the_command_line(monkeypatch, capsys, tmp_path):
    release, frame = two_trees()
    release.save(tmp_path / "trees.json")
    frame.to_csv(tmp_path / "qi.csv", index=False)
    monkeypatch.setattr(engine, "Clock", lambda limit: LimitedCountdown(20))
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
