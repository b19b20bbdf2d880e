"""Points that are run one after another, or beside each other, and the clock that ends them."""

import os
import signal
import sys
import threading
from dataclasses import dataclass
from typing import Any

import pytest

from maxent.solvers.control import Clock
from maxent.studies import running
from maxent.studies.running import run_all

HOURS = 1e6
COPIES = pytest.param("copy", marks=pytest.mark.skipif(sys.platform != "linux", reason="copies are those of Linux"))


@dataclass(frozen=True)
class Point:
    does: str
    data: str = "table"


def work(point: Point, packed: Any) -> dict[str, Any]:
    """A row, or none: a point that never ends, or that ends its process."""
    if point.does == "go on":
        threading.Event().wait()
    if point.does == "die":
        os.kill(os.getpid(), signal.SIGTERM if os.name == "nt" else signal.SIGKILL)
    return {"did": point.does, "process": os.getpid()}


def failed(point: Point, error: Exception) -> dict[str, Any]:
    return {"did": f"{point.does}: {error}", "process": None}


@pytest.fixture
def how(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The number of processes, of each of the ways to run points."""
    monkeypatch.setattr(running, "can_fork", lambda: request.param == "copy")
    return 2 if request.param == "processes" else 1


@pytest.mark.parametrize("how", [COPIES, "another", "processes"], indirect=True)
def test_what_is_running_when_time_is_over_is_ended(how: int) -> None:
    clock, rows = Clock(HOURS), []
    for row in run_all([Point("end"), Point("go on"), Point("end")], {"table": b""}, work, failed, how, clock=clock):
        rows.append(row)
        if len(rows) == how:  # all but the one that goes on, where two run beside each other
            clock.interrupt()
    assert [row["did"] for row in rows] == ["end"] * how
    assert all(row["process"] != os.getpid() for row in rows)


@pytest.mark.parametrize("how", [COPIES, "another"], indirect=True)
def test_what_ends_its_process_is_a_row_and_the_rest_goes_on(how: int) -> None:
    points = [Point("end"), Point("die"), Point("end")]
    rows = list(run_all(points, {"table": b""}, work, failed, how, clock=Clock(HOURS)))
    assert [row["did"] for row in rows if row["process"]] == ["end", "end"]
    assert "ended from outside" in rows[1]["did"]


def test_without_a_limit_it_is_this_process() -> None:
    [row] = run_all([Point("end")], {"table": b""}, work, failed)
    assert row["process"] == os.getpid()
