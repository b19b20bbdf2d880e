"""Work that does not look at the clock is left behind or ended, and its caller goes on."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.programs import private, public, whole

from maxent.constraints.lifting import restrict
from maxent.models.files.output import scratch
from maxent.solvers import control as clock_module
from maxent.solvers import workers as apart_module
from maxent.solvers.backend import Options
from maxent.solvers.backends import ipopt_run
from maxent.solvers.backends.auto import AutoBackend, for_ipopt
from maxent.solvers.backends.ipopt_ import PyomoDerivatives, _polished
from maxent.solvers.backends.ipopt_run import run
from maxent.solvers.control import GRACE, Clock, OutOfTime, in_time
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.newton import quadratic_model
from maxent.solvers.solution import Stop
from maxent.solvers.workers import Crashed, WorkerLost, apart

PATIENT = 30.0  # Seconds that work goes on for that nobody waits for; far more than a busy machine takes for the rest


def sleeping(clock, tell):
    tell("asleep")
    time.sleep(PATIENT)


def adding(a, b, clock, tell):
    tell(a)
    return a + b


def failing(clock, tell):
    raise ArithmeticError("divided by nothing")


def with_a_solver(clock, tell):
    with scratch() as folder, subprocess.Popen(["sleep", str(10 * PATIENT)]) as solver:
        tell((solver.pid, folder))


def dying(number, clock, tell):
    tell("before")
    os.kill(os.getpid(), number)
    time.sleep(PATIENT)


def process_and_thread(clock, tell):
    return os.getpid(), threading.current_thread() is threading.main_thread()


def listening(clock, tell):
    while clock.stop() is None:
        time.sleep(0.01)
    return clock.stop()


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    """What is left behind here sleeps for long, and is not to be waited for at the end of the tests."""
    monkeypatch.setattr(clock_module, "_LEFT_BEHIND", [])


@pytest.fixture(autouse=True)
def no_process():
    """Processes that tests of other files have kept are not counted as those of tests here."""
    apart_module.end_all()


# --- Left behind -----------------------------------------------------------------------------------------------


def test_work_that_ends_in_time_answers():
    assert in_time(Clock(60.0), lambda: 3) == 3
    assert in_time(Clock(), threading.current_thread) is threading.current_thread()  # nothing could end it: no thread
    with pytest.raises(ArithmeticError, match="nothing"):
        in_time(Clock(60.0), lambda: failing(None, None))


def test_work_that_does_not_look_at_the_clock_is_left_behind():
    begin = time.monotonic()
    assert in_time(Clock(0.1), lambda: time.sleep(PATIENT)) is None
    assert time.monotonic() - begin < 0.5 * PATIENT


ENDING = """
import atexit, threading, time
from maxent.solvers.control import end_process

class Held:
    def __del__(self):
        print("taken down")

held = Held()
atexit.register(print, "registered")
threading.Thread(target=lambda: (time.sleep(0.1), print("finished"))).start()
print("output")
end_process(3)
"""


def test_a_process_ends_in_order_and_is_not_taken_down_around_threads():
    ran = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout.split(), ran.stderr) == (3, ["output", "finished", "registered"], "")


LEAVING = """
import time
from maxent.solvers.control import Clock, in_time

def work():
    time.sleep(1.0)
    print("ended")

print(in_time(Clock(0.01), work, late=0.0))
"""


def test_python_is_not_taken_down_around_work_that_soon_ends():
    ran = subprocess.run([sys.executable, "-c", LEAVING], capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout.split(), ran.stderr) == (0, ["None", "ended"], "")


def test_work_that_looks_has_a_moment_to_answer():
    clock = Clock(0.05)

    def work():
        while clock.stop() is None:
            time.sleep(0.01)
        return "the best so far"

    assert in_time(clock, work) == "the best so far"
    assert GRACE < 2.0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.regression(number=14)
def test_a_signal_asks_to_stop_and_is_heard_while_work_goes_on(number):
    clock, before = Clock(), signal.getsignal(number)
    threading.Timer(0.2, os.kill, (os.getpid(), number)).start()
    begin = time.monotonic()
    with clock.listening():
        assert in_time(clock, lambda: time.sleep(PATIENT)) is None
    assert clock.stop() is Stop.INTERRUPTED
    assert time.monotonic() - begin < 0.5 * PATIENT
    assert signal.getsignal(number) is before


def test_a_check_raises_when_it_is_time():
    Clock(60.0).check()
    with pytest.raises(OutOfTime) as stopped:
        Clock(0.0).check()
    assert stopped.value.why is Stop.TIME_LIMIT


# --- Ended -----------------------------------------------------------------------------------------------------


def test_a_call_in_another_process_answers_and_tells():
    heard = []
    assert apart(adding, (1, 2), Clock(60.0), heard.append) == 3
    assert heard == [1]
    with pytest.raises(ArithmeticError, match="nothing"):
        apart(failing, (), Clock(60.0), heard.append)
    assert not apart_module._ALL


@pytest.mark.parametrize(
    ("number", "why", "text"),
    [
        (signal.SIGSEGV, Crashed, r"the solver ended \(SIGSEGV\): a library crashed"),
        pytest.param(signal.SIGKILL, WorkerLost, "ended from outside", marks=pytest.mark.slow),
    ],
)
def test_a_crash_there_is_an_error_here(number, why, text):
    heard = []
    with pytest.raises(WorkerLost, match=text) as failed:
        apart(dying, (number,), Clock(), heard.append)
    assert (type(failed.value), heard) == (why, ["before"])
    assert not apart_module._ALL


def test_a_process_is_kept_for_the_next_call_from_here(monkeypatch, tmp_path):
    def called(function=process_and_thread):
        return apart(function, (), Clock(), print, keep=True)

    threads = threading.active_count()
    try:
        first, main = called()
        assert main  # some libraries count threads, and know but so many
        with pytest.raises(ArithmeticError, match="nothing"):
            called(failing)
        assert called() == (first, True)
        assert apart_module.seconds_spent() > 0
        assert threading.active_count() == threads  # this process can be copied meanwhile
        with monkeypatch.context() as copied:  # a copy leaves it alone
            copied.setattr(os, "getpid", lambda: first)
            apart_module.end_all()
        assert running(first)
        monkeypatch.chdir(tmp_path)
        assert called()[0] != first
        assert not running(first)
        assert sum(map(len, apart_module._IDLE.values())) == len(apart_module._ALL) == 1
    finally:
        apart_module.end_all()
    assert apart_module.seconds_spent() == 0


def test_a_process_that_does_not_look_at_the_clock_is_ended():
    begin, heard, clock = time.monotonic(), [], Clock()
    assert apart(sleeping, (), clock, lambda what: (heard.append(what), clock.interrupt())) is None
    assert heard == ["asleep"]
    assert time.monotonic() - begin < PATIENT
    assert not apart_module._ALL


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see processes")
def test_so_are_the_solvers_that_it_has_started_and_its_folders():
    heard, clock = [], Clock()
    assert apart(with_a_solver, (), clock, lambda what: (heard.append(what), clock.interrupt())) is None
    [(solver, folder)] = heard
    end = time.monotonic() + PATIENT
    while running(solver):
        assert time.monotonic() < end
        time.sleep(0.01)
    assert not folder.exists()


WAITING = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from maxent.solvers.workers import apart
from maxent.solvers.control import Clock
from test_solvers.test_clock import with_a_solver

apart(with_a_solver, (), Clock(), lambda told: print(told[0], flush=True))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see processes")
def test_they_are_ended_too_when_nobody_is_left_to_do_it():
    with subprocess.Popen([sys.executable, "-c", WAITING], stdout=subprocess.PIPE, text=True) as process:
        solver = int(process.stdout.readline())
        process.kill()
    end = time.monotonic() + PATIENT
    while running(solver):
        assert time.monotonic() < end
        time.sleep(0.01)


def running(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_process_hears_of_an_interruption():
    clock = Clock()
    threading.Timer(1.0, clock.interrupt).start()
    assert apart(listening, (), clock, lambda what: None) in (Stop.INTERRUPTED, None)


def test_a_copy_of_a_copy_hears_of_an_interruption():
    clock = Clock()
    with clock.shared():
        copy = pickle.loads(pickle.dumps(clock))
        with copy.shared():
            again = pickle.loads(pickle.dumps(copy))
        clock.interrupt()
        assert copy.stop() is again.stop() is Stop.INTERRUPTED


@pytest.mark.parametrize("source", [Derivatives, PyomoDerivatives])
def test_ipopt_does_the_same_in_a_process(monkeypatch, source):
    _, part = whole(*public("gini"))
    program, own, callbacks = part.program, Derivatives(part.program), source(part.program)
    start = np.clip(0.5 * program.upper, program.lower, program.upper)
    options = Options(clock=Clock(600.0))
    here = run(callbacks, own, program.lower, program.upper, start, options)
    monkeypatch.setattr(ipopt_run, "LARGE", 0)
    there = run(callbacks, own, program.lower, program.upper, start, options)
    assert (there.status, there.stopped) == (here.status, here.stopped) == (0, None)
    np.testing.assert_allclose(there.point, here.point, atol=1e-6)
    late = run(callbacks, own, program.lower, program.upper, start, replace(options, clock=Clock(0.0)))
    assert late.stopped is Stop.TIME_LIMIT
    assert late.point.shape == start.shape


# --- What is found out before ----------------------------------------------------------------------------------


def test_a_linear_program_without_time_says_nothing():
    _, part = whole(*public("gini"))
    assert restrict(part.program).possible
    assert restrict(part.program, 0.0) is None or restrict(part.program, 0.0).possible


@pytest.mark.regression(number=14)
def test_many_constraints_are_projected_onto_without_decomposing_their_matrix():
    rng = np.random.default_rng(0)
    rows, masses, wanted = rng.standard_normal((6, 40)), rng.random(40), rng.random(6)
    rows = np.vstack([rows, rows[0]])  # dependent
    wanted = np.append(wanted, wanted[0])
    for solve in (quadratic_model._decomposed, quadratic_model._iterated):
        np.testing.assert_allclose(rows @ (masses * (solve(rows, masses, wanted, Clock()) @ rows)), wanted, atol=1e-5)
    assert not quadratic_model._iterated(rows, masses, wanted, Clock(-10.0)).any()


# --- Which back end suits a program ----------------------------------------------------------------------------


@pytest.mark.regression(number=24)
def test_equations_overlap_where_a_private_attribute_is_tested():
    assert for_ipopt(whole(*private("gini"))[1].program)
    assert not for_ipopt(whole(*public("gini"))[1].program)


@pytest.mark.parametrize(("make", "by"), [(private, "ipopt:own"), (public, "newton")])
@pytest.mark.regression(number=24)
def test_auto_chooses_by_what_the_program_is(make, by):
    _, part = whole(*make("gini"))
    program = part.program
    masses = np.random.default_rng(0).random(part.known.shape) + 0.5
    found = AutoBackend().solve(program, part.point(masses), Options())
    assert not program.convex
    assert found.by == by


@pytest.mark.parametrize("publish", ["rates", "counts"])
def test_where_ipopt_gives_up_at_the_optimum_that_is_proved(publish):
    _, part = whole(*public("gini", publish))
    program, own = part.program, Derivatives(part.program)
    options = Options()
    found = run(own, own, program.lower, program.upper, part.point(np.ones(part.known.shape)), options)
    exact = _polished(own, found.point, found.multipliers, options)
    assert own.violation(exact) <= options.tolerance
    assert own.objective(exact) == pytest.approx(own.objective(found.point), abs=1e-6)
    nowhere = np.clip(found.point + 1.0, program.lower, program.upper)
    assert _polished(own, nowhere, found.multipliers, options) is None


def test_a_clock_that_is_made_while_another_listens_hears_what_that_hears() -> None:
    before = Clock(60)
    outer = Clock()
    with outer.listening():
        inner = Clock(60)
        assert inner.runs
        assert inner.stop() is None
        outer.interrupt()
        assert inner.stop() is Stop.INTERRUPTED
        assert before.stop() is None
    assert Clock(60).stop() is None
