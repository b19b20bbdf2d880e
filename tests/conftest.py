"""Shared by all tests: importable helpers, a repeatable Hypothesis, a browser, and time limits of slow tests."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest
from hypothesis import Phase, settings

sys.path.insert(0, str(Path(__file__).parent))  # --import-mode=importlib leaves it out
sys.path.append(str(Path(__file__).parents[1] / "examples"))  # so that the package `papers` is found

from mends import MENDS
from slow_turns import circle, in_turn, turns_since

# What runs in the background, or under nohup, ignores these, and so would all programs that tests start.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

NO_TIME = "no time left in this run; its turn comes with another commit"

settings.register_profile("repeatable", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("explore", deadline=None, print_blob=True)  # pytest --hypothesis-profile=explore
settings.register_profile("unshrunk", deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])
settings.load_profile("repeatable")

CHROMIUM = os.environ.get("MAXENT_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"))), None
)
CHROMIUM_OPTIONS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
CHROMIUM_OPTIONS += ["--disable-component-update", "--disable-sync"]


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium: named by MAXENT_CHROMIUM, or found on the path."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e '.[dev]'")
    if CHROMIUM is None:
        pytest.skip("needs Chromium: apt install chromium, or set MAXENT_CHROMIUM")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_OPTIONS)
        yield browser
        browser.close()


def pytest_addoption(parser):
    parser.addoption(
        "--mend", type=int, choices=MENDS, help="run the tests of one defect in tests/mends.py, slow ones too"
    )
    parser.addoption("--turn", type=int, help="begin with other tests: see tests/slow_turns.py; the number of commits")
    parser.addoption("--stop-at", type=float, help="begin no test after, and end the running ones: seconds since 1970")
    parser.addoption(
        "--longest", type=float, default=0.0, help="seconds a test may take; then it fails, unless patient"
    )


def pytest_configure(config):
    number = config.getoption("--mend")
    if number is not None:
        config.args = [str(Path(__file__).parent / name) for name in MENDS[number].tests]
        config.option.markexpr = ""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    turn = config.getoption("--turn")
    if turn is not None:
        items[:] = [items[i] for i in in_turn([item.nodeid for item in items], turn)]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    stop = item.config.getoption("--stop-at")
    if stop is not None and time.time() >= stop:
        pytest.skip(NO_TIME)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    stop, longest = item.config.getoption("--stop-at"), item.config.getoption("--longest")
    if item.get_closest_marker("patient"):
        longest = 0.0
    left = float("inf") if stop is None else max(stop - time.time(), 0.01)
    if not longest and stop is None:
        return (yield)

    def over(*_):
        if longest and longest <= left:
            pytest.fail(f"took more than {longest:g} s: does it hang?")
        pytest.skip(NO_TIME)

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, min(left, longest or left))
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def pytest_terminal_summary(terminalreporter, config):
    """Say which tests had no time, and for how many commits they have had none."""
    turn, reports = config.getoption("--turn"), terminalreporter.stats
    skipped = [r.nodeid for r in reports.get("skipped", []) if NO_TIME in str(r.longrepr)]
    if turn is None or not skipped:
        return
    ids = sorted({r.nodeid for kind in reports.values() for r in kind if hasattr(r, "when")})
    around = [ids[i] for i in circle(ids)]
    n, done = len(around), len(around) - len(skipped)
    places = {nodeid: place for place, nodeid in enumerate(around)}
    terminalreporter.section(f"{done} of {n} had time; the others, and how many commits ago each last ran")
    for ago, nodeid in sorted(((turns_since(places[i], done, n, turn), i) for i in skipped), reverse=True):
        terminalreporter.write_line(f"{ago:5d}  {nodeid}")
