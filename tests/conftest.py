"""Shared by all tests: importable helpers, a repeatable Hypothesis, and a browser."""

import multiprocessing
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path

import pytest
from hypothesis import Phase, settings

sys.path.insert(0, str(Path(__file__).parent))  # --import-mode=importlib leaves it out
sys.path.append(str(Path(__file__).parents[1] / "examples"))  # so that the package `papers` is found

# What runs in the background, or under nohup, ignores these, and so would all programs that tests start.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

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


@pytest.fixture(scope="module")
def other() -> Iterator[Executor]:
    """A process without highspy, in which CP-SAT can be: one for all tests, as starting it takes a second."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as found:
        yield found


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Linear algebra of one thread, as around every solve: threads that wait for one another are slow on busy cores."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def address():
    """A scheduler and a worker of two threads, in this process."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0", protocol="tcp://"
    ) as local:
        yield local.scheduler_address


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--first-cases", action="store_true", help="of each test that has several cases, run the first")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave all cases of a test but the first to another run."""
    if config.getoption("first_cases"):
        first = {item.nodeid.partition("[")[0]: item for item in reversed(items)}
        config.hook.pytest_deselected(
            items=[item for item in items if first[item.nodeid.partition("[")[0]] is not item]
        )
        items[:] = [item for item in items if first[item.nodeid.partition("[")[0]] is item]
