"""Copies of this process that make calls together with it."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor
from functools import partial
from pathlib import Path

import pytest

from maxent.solvers.solve.dask_cluster import _sharing
from maxent.solvers.solve.parallel import forked
from maxent.solvers.workers import can_fork, nothing


@pytest.mark.slow
def test_nothing_is_skipped_here_in_a_process_of_its_own():
    """Other tests may have left threads to this one, which then makes no copies."""
    if sys.platform != "linux":
        pytest.skip("copies of a process are made on Linux")
    names = [str(Path(__file__).with_name(name)) for name in ("test_copies.py", "test_jobs.py")]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-k", "cop", *names]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
    assert "SKIPPED" not in done.stdout


@pytest.fixture(autouse=True)
def alone(request):
    if "share" in request.fixturenames and not can_fork():
        pytest.skip("not Linux, or a thread of another test is alive")
    yield
    assert not multiprocessing.active_children()


@pytest.fixture
def share():
    """Calls of a function that two copies and this process make together."""

    def made(function, arguments, first=nothing):
        calls = {i: partial(function, *each) for i, each in arguments.items()}
        return list(forked(calls, 3, meanwhile=first, own=True))

    return made


def where(number, seconds=0.0):
    time.sleep(seconds)
    return number, os.getpid()


def test_copies_and_this_process_share_calls(share):
    told = []
    found = dict(share(where, {i: (i, 0.002) for i in range(16)}, lambda: told.append("first")))
    assert {i: number for i, (number, _) in found.items()} == {i: i for i in range(16)}
    assert told == ["first"]
    assert os.getpid() in {process for _, process in found.values()}
    assert len({process for _, process in found.values()}) > 1
    assert dict(share(pow, {7: (2, 3), 9: (3, 2)})) == {7: 8, 9: 9}


def test_copies_have_more_to_do_while_this_process_does_something_else(share):
    others = [pid for _, (_, pid) in share(where, {i: (i,) for i in range(6)}, lambda: time.sleep(0.1))]
    assert os.getpid() not in others


def test_large_results_wait_for_nobody(share):
    text = "x" * 500_000
    assert {found for _, found in share(str.upper, {i: (text,) for i in range(12)})} == {text.upper()}


def test_errors_of_calls_are_raised(share):
    with pytest.raises(ZeroDivisionError):
        share(divmod, {i: (1, 0) for i in range(5)}, lambda: time.sleep(0.02))


def test_a_copy_that_is_killed_is_lost(share):
    def kill():
        os.kill(multiprocessing.active_children()[0].pid, signal.SIGKILL)

    with pytest.raises(BrokenExecutor):
        share(where, {i: (i, 0.01) for i in range(12)}, kill)
    with pytest.raises(BrokenExecutor):
        # Long texts do not go through a pipe at once: it is in the middle of one.
        share(str.upper, {i: ("x" * 500_000,) for i in range(12)}, lambda: (time.sleep(0.1), kill()))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes are started anew elsewhere")
def test_processes_of_a_new_cluster_are_copies_of_one_that_has_loaded_libraries():
    utils = pytest.importorskip("distributed.utils")
    with _sharing():
        assert utils.get_mp_context().get_start_method() == "forkserver"
