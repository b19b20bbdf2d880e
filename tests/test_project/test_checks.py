"""What a change has to pass is always the same, and a search with new seeds says how to repeat what it finds."""

import os
import shlex
import shutil
import signal
import subprocess
import sys

import pytest
from hunt import files, prey_of
from support.paths import TESTS
from support.search import HUNT, ROUND, ROUNDS, cases
from support.strategies import EXAMPLES, FEW, thorough

ROOT = TESTS.parent

SUITE = """
import pytest
from support.search import cases

@pytest.mark.search
@pytest.mark.parametrize("number", cases(0, 2, hunted=3))
def test_numbers(number):
    assert number < {limit}
"""


@pytest.mark.regression(number=22)
def test_all_slow_tests_run_always():
    run, recipe = ((ROOT / name).read_text(encoding="utf-8") for name in (".ci/run", "Makefile"))
    for said in ('make test PYTHON="$oldest"', 'make test PYTHON="$newest" VENV=.venv-newest', "make slow"):
        assert said in run
    assert "rev-list" not in run
    [line] = [line for line in recipe.splitlines() if "-m slow" in line]
    assert not {"-x", "--maxfail", "-k", "--deselect", "--ignore"} & {*line.split()}


def test_the_demo_judges_as_the_page_whose_picture_the_readme_shows():
    page, recipe = ((ROOT / name).read_text(encoding="utf-8") for name in ("docs/report.md", "Makefile"))
    called = [
        line.replace("$(DEMO)/", "") for line in [*page.splitlines(), *recipe.splitlines()] if "--min-k 10" in line
    ]
    asked = {line.partition("--max-certain")[2] for line in called}
    assert (len(called), len(asked)) == (2, 1)


def test_cases_are_fixed_and_those_of_rounds_differ(monkeypatch):
    monkeypatch.delenv(HUNT, raising=False)
    assert cases(5, 3) == range(5, 8)
    assert cases(5, 3, hunted=10) == range(5, 8)
    found = set()
    for number in (0, 1, ROUNDS - 1):
        monkeypatch.setenv(HUNT, str(number))
        found |= {*cases(5, 3, hunted=10)}
        assert cases(5, 3, hunted=10)[-1] < 2**32
    assert len(found) == 30
    assert min(found) >= ROUND
    monkeypatch.setenv(HUNT, str(ROUNDS))
    with pytest.raises(ValueError, match="from 0 to"):
        cases(5, 3)


def test_a_round_has_everything_once_in_an_order_of_its_own():
    one, other = prey_of(1), prey_of(2)
    assert sorted(each.name for each in one) == sorted(each.name for each in other)
    assert [each.name for each in one] != [each.name for each in other]
    assert one == prey_of(1)
    assert {each.name for each in one} >= {*files(), "tables", "models"}
    assert prey_of(1, ["tables"])[0].command[1:] == ("tables", f"{2 * ROUND}:{2 * ROUND + 500}")


@pytest.fixture
def folder(tmp_path):
    """Tests of a project that has a search, and the hunt."""
    (tmp_path / "fuzz").mkdir()
    (tmp_path / "support").mkdir()
    for name in ("hunt.py", "support/search.py"):
        shutil.copy(TESTS / name, tmp_path / name)
    (tmp_path / "fuzz" / "fuzzers.py").write_text("FUZZERS = {}", encoding="utf-8")
    (tmp_path / "conftest.py").write_text(
        "import sys\nfrom pathlib import Path\nfrom hypothesis import settings\n"
        "sys.path.insert(0, str(Path(__file__).parent))\nsettings.register_profile('explore')\n"
        "def pytest_configure(config):\n    config.addinivalue_line('markers', 'search')\n",
        encoding="utf-8",
    )
    return tmp_path


def hunt(folder, *options):
    return [sys.executable, str(folder / "hunt.py"), "--workers", "1", *options]


@pytest.mark.slow
@pytest.mark.regression(number=22)
def test_a_hunt_finds_what_fails_and_says_with_which_seed(folder):
    """The case that fails belongs to the round 3, the second of two."""
    (folder / "test_some.py").write_text(SUITE.format(limit=4 * ROUND), encoding="utf-8")
    running = subprocess.Popen(hunt(folder, "--time", "600", "--seed", "2"), stdout=subprocess.PIPE, text=True)
    printed = []
    for line in running.stdout:
        printed.append(line)
        if "== found with seed" in line:
            break
    running.send_signal(signal.SIGINT)
    rest = running.communicate()[0]
    assert running.returncode == 1
    assert printed[0] == "hunting for 600 s from seed 2 on, with 1 processes\n"
    again = printed[-1].rstrip().partition(": ")[2]
    assert "found with seed 3" in printed[-1]
    assert f"  seed 3: {again}" in rest.splitlines()
    again = shlex.split(again)
    environment = dict(part.split("=", 1) for part in again[: again.index("python")])
    command = [sys.executable, *again[again.index("python") + 1 :]]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 1
    assert f"{4 * ROUND}" in done.stdout


def test_a_hunt_ends_when_its_time_is_over(folder):
    """Whatever it is running, be it endless."""
    (folder / "fuzz" / "fuzzers.py").write_text("FUZZERS = {'endless': None}", encoding="utf-8")
    (folder / "fuzz" / "__main__.py").write_text("while True: pass", encoding="utf-8")
    done = subprocess.run(hunt(folder, "--time", "1", "endless"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "0 searches ended, 0 found something" in done.stdout


def test_a_wrong_call_is_refused(folder):
    for options, said in ((["nothing"], "no fuzzer"), (["--seed", "-1"], "from 0 to")):
        done = subprocess.run(hunt(folder, *options), capture_output=True, text=True)
        assert done.returncode == 2
        assert said in done.stderr


@pytest.mark.parametrize(
    ("asked", "n", "run"), [("0", 150, 30), ("0", 30, FEW), ("0", 4, 4), ("1", 150, 150), ("3", 4, 12)]
)
def test_how_many_examples_are_run(monkeypatch, asked, n, run):
    monkeypatch.setenv(EXAMPLES, asked)
    assert thorough(n).max_examples == run
