"""Slow tests have turns: every one is reached within a few commits, hangs end, and what had no time is named."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from slow_turns import begin, in_turn, turns_since

TESTS = Path(__file__).parents[1]
IDS = [f"test_{file}.py::test_{i}" for file in "abcdefghij" for i in range(15)]


@pytest.mark.parametrize("share", [0.05, 0.1, 0.3])
@pytest.mark.parametrize("first", [0, 137, 100_000])
def test_runs_of_a_share_of_the_tests_reach_all_within_a_few_turns(share, first):
    done = int(share * len(IDS))
    reached = set()
    for turn in range(first, first + int(1.75 / share) + 1):
        reached.update(in_turn(IDS, turn)[:done])
    assert reached == set(range(len(IDS)))


def test_a_turn_is_the_same_for_every_process_and_has_every_test_once():
    assert sorted(in_turn(IDS, 7)) == list(range(len(IDS)))
    assert [IDS[i] for i in in_turn(IDS, 7)] == [IDS[::-1][i] for i in in_turn(IDS[::-1], 7)]
    assert in_turn(IDS, 7) != in_turn(IDS, 8)
    assert in_turn([], 3) == []


def test_how_long_a_test_has_waited():
    n, done = len(IDS), 15
    for place in range(n):
        ago = turns_since(place, done, n, 40)
        turns = [40 - j for j in range(1, ago + 1)]
        assert [(place - begin(turn, n)) % n < done for turn in turns] == [False] * (ago - 1) + [True]
    assert turns_since(3, 0, n, 40) == 1000


SUITE = """
import time

import pytest

def test_passes():
    pass

def test_hangs():
    time.sleep(60 if {hangs} else 0)

def test_sleeps_a():
    time.sleep(60)

def test_sleeps_b():
    time.sleep(30)

def test_sleeps_c():
    time.sleep(30)

@pytest.mark.patient
def test_patient():
    time.sleep({patient})
"""


LATER = """

def pytest_configure(config):
    config.option.stop_at = time.time() + {seconds}
"""


def run(folder, *, hangs, seconds, longest, patient=0):
    """Run the suite; ``seconds`` count from when pytest has begun, which takes some on a busy machine."""
    for name in ("conftest.py", "mends.py", "slow_turns.py"):
        shutil.copy(TESTS / name, folder / name)
    with (folder / "conftest.py").open("a", encoding="utf-8") as file:
        file.write(LATER.format(seconds=seconds))
    (folder / "test_some.py").write_text(SUITE.format(hangs=hangs, patient=patient), encoding="utf-8")
    options = ["--turn", "0", "--longest", str(longest), "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.mark.slow
def test_a_run_ends_when_it_is_time_and_names_those_that_had_none(tmp_path):
    done = run(tmp_path, hangs=False, seconds=10, longest=100)
    assert done.returncode == 0, done.stdout
    assert "3 passed, 3 skipped" in done.stdout
    assert "3 of 6 had time; the others, and how many commits ago each last ran" in done.stdout
    listed = done.stdout[done.stdout.index("3 of 6 had time") :]
    assert all(f"test_some.py::test_sleeps_{name}" in listed for name in "abc")


@pytest.mark.slow
def test_a_test_that_hangs_fails_and_a_patient_one_does_not(tmp_path):
    done = run(tmp_path, hangs=True, seconds=600, longest=2, patient=4)
    assert done.returncode == 1, done.stdout
    assert "took more than 2 s: does it hang?" in done.stdout
    assert "4 failed, 2 passed" in done.stdout
