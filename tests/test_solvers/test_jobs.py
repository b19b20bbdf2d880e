"""Independent parts in several processes: the same answer bit for bit, and errors that say what happened."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.process_executor import ShutdownExecutorError
from support.calls import refusal
from support.contested import contested
from support.paths import D1

import maxent
from maxent.api import estimate as engine
from maxent.models.errors import MaxentError
from maxent.solvers import control, workers
from maxent.solvers.backends.ipopt_ import IpoptBackend
from maxent.solvers.solve import driver, parallel
from maxent.solvers.solve.parallel import forked
from maxent.solvers.workers import can_fork, deaf, kill, processes_for


@pytest.mark.slow
@pytest.mark.parametrize("copied", [True, False])
@pytest.mark.parametrize("impurity", ["gini", "entropy"])
def test_the_number_of_jobs_changes_nothing(impurity, copied, monkeypatch):
    if copied and not can_fork():
        pytest.skip("not Linux, or a thread of another test is alive")
    monkeypatch.setattr(parallel, "can_fork", lambda: copied)
    release, frame = contested(impurity)
    told = []
    alone, together = (
        maxent.estimate(release, frame, backend="ipopt", jobs=jobs, starts=2, progress=lambda *what: told.append(what))
        for jobs in (1, 2)
    )
    assert (alone.outcome.parts, alone.outcome.duality_gap) == (4, together.outcome.duality_gap)
    np.testing.assert_array_equal(alone.probabilities, together.probabilities)
    for name in ("status", "iterations", "entropy_upper_bound", "backends"):
        assert getattr(alone.outcome, name) == getattr(together.outcome, name)
    assert told[: len(told) // 2] == told[len(told) // 2 :]
    assert {(done, of) for _, done, of in told} >= {(i, alone.outcome.parts) for i in range(alone.outcome.parts + 1)}


def test_the_pace_of_the_first_parts_tells_how_long_all_will_take(monkeypatch):
    release, frame = contested("gini")
    monkeypatch.setattr(parallel, "WARM", -1.0)
    monkeypatch.setattr(control, "LONG", 0.0)
    heard = []
    with control.hearing(heard.append):
        maxent.estimate(release, frame, backend="ipopt", starts=1, time_limit=300)  # which solves parts one by one
    assert len(heard) == 1
    assert "4 parts, the largest of" in heard[0]


class Failing(IpoptBackend):
    """Has a bug."""

    def solve(self, program, start, options):
        raise ArithmeticError("divided by nothing")


class Dying(IpoptBackend):
    """Does not survive its first part."""

    def solve(self, program, start, options):
        os._exit(9)


class Wanting(IpoptBackend):
    """Finds something missing."""

    def solve(self, program, start, options):
        raise MaxentError("no licence")


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_in_a_process_is_a_failure_of_its_part(monkeypatch, jobs):
    monkeypatch.setattr(engine, "load_backend", lambda name: Failing())
    result = maxent.estimate(*contested("gini"), jobs=jobs)
    assert result.summary["status"] == "not_converged"
    assert sum("(ipopt: ArithmeticError: divided by nothing)" in note for note in result.notes) == result.outcome.parts


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_is_missing_is_said(monkeypatch, jobs):
    monkeypatch.setattr(engine, "load_backend", lambda name: Wanting())
    with pytest.raises(MaxentError, match="no licence"):
        maxent.estimate(*contested("gini"), jobs=jobs)


def test_a_process_that_dies_is_no_crash(monkeypatch):
    monkeypatch.setattr(engine, "load_backend", lambda name: Dying())
    with pytest.raises(MaxentError, match="ended from outside"):
        maxent.estimate(*contested("gini"), jobs=2)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"jobs": 0}, "jobs: expected a whole number other than 0, found 0"),
        ({"jobs": 1.5}, "jobs: expected a whole number other than 0, found 1.5"),
        ({"jobs": True}, "jobs: expected a whole number other than 0, found True"),
        ({"floor": 0.5}, "floor: expected a probability from 0 to 0.01, found 0.5"),
        ({"floor": "low"}, "floor: expected a probability from 0 to 0.01, found 'low'"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(option, message):
    assert message in str(refusal(maxent.estimate, D1 / "tree.json", D1 / "qi.csv", **option))


def test_the_floor_reaches_the_back_end(monkeypatch):
    seen = set()

    class Recorder(IpoptBackend):
        def solve(self, program, start, options):
            seen.add(options.floor)
            return super().solve(program, start, options)

    monkeypatch.setattr(engine, "load_backend", lambda name: Recorder())
    maxent.estimate(D1 / "tree.json", D1 / "qi.csv", floor=1e-3)
    assert seen == {1e-3}


@pytest.mark.slow
def test_all_cores():
    release, frame = contested("gini")
    result = maxent.estimate(release, frame, backend="ipopt", jobs=-1, starts=1)
    alone = maxent.estimate(release, frame, backend="ipopt", starts=1)
    np.testing.assert_array_equal(result.probabilities, alone.probabilities)


def test_a_single_part_needs_no_other_process():
    code = (
        "import sys, maxent; maxent.estimate(sys.argv[1], sys.argv[2], backend='ipopt', jobs=2); "
        "assert 'joblib' not in sys.modules"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, D1 / "tree.json", D1 / "qi.csv"], capture_output=True, timeout=120
    )
    assert (ran.returncode, ran.stderr) == (0, b"")


COPIES = """
import sys
from support.contested import contested
import maxent
from maxent.solvers import workers
serving = workers._serving
def told(*given):
    before = set(sys.modules)
    serving(*given)
    print(*(name for name in sorted(set(sys.modules) - before) if name.startswith(("scipy.sparse", "maxent"))))
    sys.stdout.flush()
workers._serving = told
maxent.estimate(*contested("gini"), jobs=2)
print("done")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="workers are copies by fork, which only Linux has")
def test_copies_load_no_library_that_one_process_can_load_for_all():
    ran = subprocess.run(
        [sys.executable, "-c", COPIES], capture_output=True, text=True, timeout=120, cwd=Path(__file__).parents[1]
    )
    assert (ran.stdout.split(), ran.stderr) == (["done"], "")
    assert ran.stdout.count("\n") > 1


@pytest.fixture
def alone():
    """Skip where this process cannot be copied."""
    if not can_fork():
        pytest.skip("not Linux, or a thread of another test is alive")


@pytest.mark.usefixtures("alone")
def test_copies_of_this_process_make_calls_that_no_other_could():
    here = {"it": 1}  # and functions that do not pickle
    found = dict(forked({i: lambda i=i: (i + here["it"], os.getpid()) for i in range(5)}, 2))
    assert {i: value for i, (value, _) in found.items()} == {i: i + 1 for i in range(5)}
    assert os.getpid() not in {pid for _, pid in found.values()}
    assert multiprocessing.active_children() == []
    with pytest.raises(ZeroDivisionError):
        list(forked({0: lambda: 1 / 0, 1: lambda: 2}, 2))
    assert multiprocessing.active_children() == []


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("impurity", ["gini", "entropy"])
def test_large_parts_are_begun_before_small_ones_are_set_up(impurity, monkeypatch):
    monkeypatch.setattr(parallel, "FEW", 10)
    lifted, begun = [], []
    plain, copied = driver.lift, parallel.forked
    monkeypatch.setattr(driver, "lift", lambda *given, **named: lifted.append(1) or plain(*given, **named))

    def watched(calls, jobs, give_up, meanwhile, more, own):
        begun.append((len(lifted), len(calls), more is not None, own))
        return copied(calls, jobs, give_up, meanwhile, more, own=own)

    monkeypatch.setattr(parallel, "forked", watched)
    together = maxent.estimate(*contested(impurity), jobs=2, starts=1)
    assert together.outcome.parts == 4
    assert begun[0] == (2, 2, True, False)
    assert begun[-1][2:] == (False, True)  # proofs are made here, too
    alone = maxent.estimate(*contested(impurity), jobs=1, starts=1)
    np.testing.assert_array_equal(together.probabilities, alone.probabilities)
    assert together.outcome.duality_gap == alone.outcome.duality_gap


@pytest.mark.usefixtures("alone")
def test_a_part_that_is_refused_while_others_are_solved_leaves_no_answer(monkeypatch):
    monkeypatch.setattr(parallel, "FEW", 10)
    monkeypatch.setattr(parallel, "refusal", lambda task, backend: "too small" if task.part.program.n < 60 else None)
    result = maxent.estimate(*contested("gini"), jobs=2, starts=1)
    assert result.summary["status"] == "not_converged"
    assert any("too small" in note for note in result.notes)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_copies_make_calls_that_are_found_while_others_are_made(jobs):
    here = os.getpid()
    further = {i: lambda i=i: (i, os.getpid()) for i in range(2, 6)}  # which the first copies cannot know
    found = dict(forked({i: lambda i=i: (i, os.getpid()) for i in range(2)}, jobs, more=lambda: further))
    assert {i: value for i, (value, _) in found.items()} == {i: i for i in range(6)}
    first, others = ({found[i][1] for i in some} for some in ((0, 1), further))
    assert not first & others
    assert here not in first | others
    assert dict(forked({0: lambda: 1}, jobs, more=dict)) == {0: 1}
    with pytest.raises(ZeroDivisionError):
        list(forked({0: lambda: 1}, jobs, more=lambda: 1 / 0))
    assert multiprocessing.active_children() == []


@pytest.mark.usefixtures("alone")
def test_copies_that_are_late_are_ended():
    over = iter([False, True])
    begin = time.monotonic()
    assert dict(forked({i: lambda: time.sleep(600) for i in range(2)}, 2, lambda: next(over))) == {}
    assert time.monotonic() - begin < 300
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize(
    ("threads", "system", "copied"), [(1, "linux", True), (2, "linux", False), (1, "darwin", False)]
)
def test_only_a_process_with_one_thread_is_copied(monkeypatch, threads, system, copied):
    monkeypatch.setattr(threading, "active_count", lambda: threads)
    monkeypatch.setattr(sys, "platform", system)
    assert can_fork() == copied


def test_by_default_copies_are_made_where_they_pay(monkeypatch):
    asked = []

    def here(calls, jobs, give_up, meanwhile, more, own):
        asked.append(jobs)
        meanwhile()
        yield from ((i, call()) for i, call in calls.items())
        yield from ((i, call()) for i, call in (more() if more else {}).items())

    monkeypatch.setattr(parallel, "forked", here)
    monkeypatch.setattr(parallel, "cores", lambda: 99)
    monkeypatch.setattr(parallel, "can_fork", lambda: True)
    once = maxent.estimate(*contested("entropy"), starts=1)
    assert asked == []  # too small
    monkeypatch.setattr(parallel, "WORTH", 100)
    again = maxent.estimate(*contested("entropy"), starts=1)
    assert asked
    assert set(asked) <= set(range(2, parallel.MOST + 1))
    np.testing.assert_array_equal(once.probabilities, again.probabilities)
    asked.clear()
    monkeypatch.setattr(parallel, "can_fork", lambda: False)
    maxent.estimate(*contested("entropy"), starts=1)
    maxent.estimate(*contested("entropy"), starts=1, jobs=1)
    assert asked == []


def test_a_number_of_processes_below_0_counts_from_all_cores(monkeypatch):
    monkeypatch.setattr(workers, "cores", lambda: 4)
    assert [processes_for(jobs) for jobs in (3, -1, -2, -9)] == [3, 4, 3, 1]


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="threads hold back signals on POSIX only")
@pytest.mark.parametrize("others", [0, 1])
def test_no_signal_is_handled_while_a_process_starts(others):
    """The system gives one that this thread holds back to another one, and Python handles it here all the same."""
    heard, over = [], threading.Event()
    for thread in [threading.Thread(target=over.wait) for _ in range(others)]:
        thread.start()
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        with deaf():
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(10):
                time.sleep(0.01)
            assert heard == []
        assert heard == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)
        over.set()


@pytest.mark.filterwarnings("error")
def test_processes_are_killed_while_a_call_waits_to_be_handed_to_them(tmp_path):
    """The thread of joblib's that hands them out would fail at it, and what it holds would not be given back."""
    executor = ProcessPoolExecutor(max_workers=1)
    begun = tmp_path / "begun"
    executor.submit(lambda: (begun.touch(), time.sleep(600)))
    calls = [executor.submit(time.sleep, 600) for _ in range(3)]  # three fill the queue that the process takes from
    while not begun.exists():
        time.sleep(0.01)
    kill(executor)
    assert all(isinstance(call.exception(timeout=60), ShutdownExecutorError) for call in calls)
