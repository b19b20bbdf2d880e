"""Parts and points on a Dask cluster: the same answers bit for bit, whatever becomes of its workers."""

import ctypes
import http.server
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from support.calls import printed_by, refused
from support.contested import contested
from support.studies import STUDY, people, write_study

import maxent
from maxent.__main__ import main
from maxent.api import estimate as engine
from maxent.models.errors import InvalidInput, MissingExtra
from maxent.results.html_report.provenance import shown_command
from maxent.solvers import workers
from maxent.solvers.backends.ipopt_ import IpoptBackend
from maxent.solvers.control import Clock
from maxent.solvers.solve import dask_cluster as cluster
from maxent.studies.points import TIMES
from maxent.studies.running import run_all
from maxent.studies.sweep import _circumstances

distributed = pytest.importorskip("distributed")


def test_memory_is_kept_during_a_call_where_the_library_gives_it_back_at_once(monkeypatch):
    done = []
    library = SimpleNamespace(mallopt=lambda *given: done.append(given), malloc_trim=lambda pad: done.append(pad))
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    told = [(-1, 1 << 30), (-3, 1 << 25), "call", (-1, 65536), (-3, 1 << 17), 0]
    for kept, expected in ((None, ["call"]), ("65536", told)):
        workers._library.cache_clear()
        monkeypatch.delenv(workers.KEEPING, raising=False)
        if kept is not None:
            monkeypatch.setenv(workers.KEEPING, kept)
        with workers.memory_kept():
            done.append("call")
        assert done == expected
        done.clear()
    workers._library.cache_clear()


POINTS = (
    STUDY
    + """
[protocol]
test_share = 0.2
seeds = 2
[defaults]
max_depth = 2
[[grid]]
method = "prune-leaf"
k = 5
[[grid]]
method = "kadet"
k = 5000
"""
)


@pytest.fixture(scope="module")
def address():
    """A scheduler and a worker of two threads, in this process."""
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0", protocol="tcp://"
    ) as local:
        yield local.scheduler_address


def test_a_cluster_changes_nothing_of_an_estimate(address):
    release, frame = contested("gini")
    told = []
    alone = maxent.estimate(release, frame, backend="ipopt", starts=2)
    there = maxent.estimate(
        release, frame, backend="ipopt", starts=2, dask=address, progress=lambda *what: told.append(what)
    )
    assert alone.outcome.parts == 4
    np.testing.assert_array_equal(alone.probabilities, there.probabilities)
    for name in ("status", "iterations", "entropy_upper_bound", "backends"):
        assert getattr(alone.outcome, name) == getattr(there.outcome, name)
    assert {done for _, done, _ in told} == set(range(5))


def test_a_cluster_changes_nothing_of_a_study(address, tmp_path, capsys):
    people(tmp_path)
    path = write_study(tmp_path, POINTS)
    here = maxent.sweep(path, tmp_path / "here").frame
    assert main(["sweep", str(path), "-o", str(tmp_path / "there"), "--dask", address]) == 1
    assert capsys.readouterr().out.startswith("6 points, 6 run now: 2 failed, 4 optimal\n")
    there = pd.read_parquet(tmp_path / "there" / "results.parquet")
    pd.testing.assert_frame_equal(there.drop(columns=list(TIMES)), here.drop(columns=list(TIMES)))


class Wanting(IpoptBackend):
    """Finds something missing."""

    def solve(self, program, start, options):
        raise MissingExtra("no licence")


class Slow(IpoptBackend):
    """Waits for the clock, and tells when it has begun."""

    begun = threading.Event()

    def solve(self, program, start, options):
        self.begun.set()
        while options.clock.stop() is None:
            time.sleep(0.01)
        return super().solve(program, start, options)


def test_errors_come_back(monkeypatch, address):
    monkeypatch.setattr(engine, "load_backend", lambda name: Wanting())
    with pytest.raises(MissingExtra, match="no licence"):
        maxent.estimate(*contested("gini"), dask=address)


def test_the_time_limit_holds_there(monkeypatch, address):
    monkeypatch.setattr(engine, "load_backend", lambda name: Slow())
    assert maxent.estimate(*contested("gini"), dask=address, time_limit=0.3).outcome.status == "time_limit"


def test_an_interruption_does_not_wait_for_workers(monkeypatch, address):
    backend, watched = Slow(), []
    Slow.begun.clear()
    monkeypatch.setattr(engine, "load_backend", lambda name: backend)

    class Watched(engine.Clock):
        def __init__(self, limit=None):
            super().__init__(limit)
            watched.append(self)

    monkeypatch.setattr(engine, "Clock", Watched)

    def interrupt():
        Slow.begun.wait(30)
        watched[0].interrupt()

    thread = threading.Thread(target=interrupt)
    thread.start()
    # The limit ends the worker's wait, which goes on meanwhile.
    result = maxent.estimate(*contested("gini"), dask=address, time_limit=3.0)
    thread.join()
    assert result.outcome.status == "interrupted"
    assert result.probabilities.sum(axis=1) == pytest.approx(1)


def advised(resume):
    """Advice on a cluster that there is not."""
    frame = pd.DataFrame({"a": [0, 1] * 10, "t": ["x", "y"] * 10})
    return maxent.advise(frame, target="t", qi=["a"], dask="", resume=resume)


def test_processes_that_do_not_start_are_told_of_in_words(monkeypatch):
    def fails(**options):
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr(distributed, "LocalCluster", fails)
    said = "a script needs if __name__ == '__main__', and a file; or try jobs= (Nanny failed to start.)"
    with pytest.raises(cluster.ClusterLost, match=re.escape(said)), cluster.connected("local:1"):
        pass


@pytest.mark.filterwarnings("error")
def test_a_cluster_is_started_beside_another_one():
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError):  # somebody has it already
            taken.bind(("", 8787))
            taken.listen()
        with cluster._started(0) as address:
            assert address.startswith("tcp://127.0.0.1:")


@pytest.fixture
def silent():
    """The port of somebody who accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_records_and_reports_have_no_passwords():
    given = {"dask": "tcp://me:hunter2@host:8786", "backend": "newton"}
    assert shown_command(["estimate"], given) == "maxent estimate --dask tcp://...@host:8786 --backend newton"
    study = SimpleNamespace(name="s", points=(), data={})
    assert _circumstances(study, 1, given["dask"], 0)["dask"] == "tcp://...@host:8786"


@pytest.mark.parametrize("scheme", ["tcp", "ws"])
def test_whoever_says_nothing_is_no_scheduler(monkeypatch, silent, scheme):
    monkeypatch.setattr(cluster, "CONNECT", 0.5)
    release, frame = contested("gini")
    with pytest.raises(cluster.ClusterLost, match="no Dask scheduler at"):
        maxent.estimate(release, frame, dask=f"{scheme}://127.0.0.1:{silent}")


def test_a_time_limit_is_one_of_connecting_too(silent):
    release, frame = contested("gini")
    with pytest.raises(cluster.ClusterLost, match=r"nothing was said for 0\.[0-9]+ s"):
        maxent.estimate(release, frame, dask=f"tcp://127.0.0.1:{silent}", time_limit=0.5)


def test_a_time_limit_is_one_of_connecting_in_parts_and_of_points_too(silent, tmp_path, capsys):
    release, frame = contested("gini")
    release.save(tmp_path / "tree.json")
    frame.drop(columns="X").to_csv(tmp_path / "qi.csv", index=False)
    address = f"tcp://127.0.0.1:{silent}"
    files = [str(tmp_path / "tree.json"), str(tmp_path / "qi.csv")]
    limited = ["--dask", address, "--time-limit", "0.5", "--memory", "1GB"]
    for command in (["estimate"], ["bounds", "--level", "closed"]):
        assert re.search(r"nothing was said for 0\.[0-9]+ s", printed_by(capsys, [*command, *files, *limited], 2).err)
    with pytest.raises(cluster.ClusterLost, match=r"nothing was said for 0\.[0-9]+ s"):
        list(run_all([SimpleNamespace(data="d")], {"d": b""}, print, print, dask=address, clock=Clock(0.5)))


class Web(http.server.BaseHTTPRequestHandler):
    """A server of pages, which no scheduler is."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def test_a_web_server_is_no_scheduler(monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT", 2.0)
    release, frame = contested("gini")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Web) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(cluster.ClusterLost, match="no Dask scheduler at"):
            maxent.estimate(release, frame, dask=f"ws://127.0.0.1:{server.server_port}")
        server.shutdown()


def test_passwords_of_addresses_are_never_said(monkeypatch, silent):
    monkeypatch.setattr(cluster, "CONNECT", 0.5)
    release, frame = contested("gini")
    for address in (
        f"tcp://me:hunter2@127.0.0.1:{silent}",
        "tcp://me:hunter2@127.0.0.1:1",
        "gopher://me:hunter2@x?t=hunter2",
        "me:hunter2@host",
        "tcp://me:a/hunter2@host",
        "tcp://me:a/hunter2@host:80",
    ):
        with pytest.raises((cluster.ClusterLost, InvalidInput)) as caught:
            maxent.estimate(release, frame, dask=address)
        assert "hunter2" not in str(caught.value)
        assert "me:" not in str(caught.value)


def test_clusters_that_cannot_be_used(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(cluster, "CONNECT", 0.5)
    release, frame = contested("gini")
    with pytest.raises(cluster.ClusterLost, match=r"no Dask scheduler at 'tcp://127\.0\.0\.1:1'"):
        maxent.estimate(release, frame, dask="tcp://127.0.0.1:1")
    for address in ("there", "", "tcp://", "tcp://:::", "tcp://host", "tcp://host:x", "tcp://host:99999", "gopher://x"):
        known = "the address of a Dask scheduler, such as tcp://host:8786, or local:N for N processes here"
        expected = f"dask: expected {known}, found {address!r}"
        refused(re.escape(expected), maxent.estimate, release, frame, dask=address)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as empty,
        pytest.raises(cluster.ClusterLost, match="has no workers"),
    ):
        maxent.estimate(release, frame, dask=empty.scheduler_address)
    people(tmp_path)
    path = write_study(tmp_path, STUDY)
    for call in (lambda: maxent.sweep(path, tmp_path / "no", dask=""), lambda: advised(tmp_path / "no")):
        refused("dask: expected the address", call)
        assert not (tmp_path / "no").exists()
    assert main(["sweep", str(path), "-o", str(tmp_path / "out"), "--dask", "tcp://127.0.0.1:1"]) == 2
    assert "no Dask scheduler at" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match="pip install distributed fsspec"):
        maxent.estimate(release, frame, dask="tcp://127.0.0.1:1")


@pytest.mark.slow
def test_tls_is_as_the_settings_of_dask_say(tmp_path):
    """Certificates of the scheduler are those of ``distributed.comm.tls``; without them nobody is let in."""
    dask = pytest.importorskip("dask")
    pytest.importorskip("cryptography")
    security = distributed.Security.temporary()
    settings = {"distributed.comm.require-encryption": True}
    for key, text in security.get_tls_config_for_role("client").items():
        if key in ("ca_file", "cert", "key"):
            (tmp_path / key).write_text(text)
    settings["distributed.comm.tls.ca-file"] = str(tmp_path / "ca_file")
    for name in ("cert", "key"):
        settings[f"distributed.comm.tls.client.{name}"] = str(tmp_path / name)
    release, frame = contested("gini")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0", protocol="tls://", security=security
    ) as local:
        address = local.scheduler_address
        assert address.startswith("tls://")
        with dask.config.set(settings):
            there = maxent.estimate(release, frame, backend="ipopt", dask=address)
        with pytest.raises(cluster.ClusterLost, match=r"no Dask scheduler at 'tls://.*TLS"):
            maxent.estimate(release, frame, backend="ipopt", dask=address)
    np.testing.assert_array_equal(there.probabilities, maxent.estimate(release, frame, backend="ipopt").probabilities)


def thread_name(package):
    return threading.current_thread().name


def test_workers_of_another_version(monkeypatch, address):
    monkeypatch.setattr(cluster, "version", thread_name)
    with pytest.raises(cluster.ClusterLost, match=r"workers need maxent MainThread: tcp://.* has \w+"):
        maxent.estimate(*contested("gini"), dask=address)


# --- Real processes --------------------------------------------------------------------------------------------


@pytest.fixture
def processes(tmp_path):
    """A scheduler, and two workers, each in a process of its own."""
    file = tmp_path / "scheduler.json"
    calls = [["dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]]
    calls += [["dask_worker", "--scheduler-file", str(file), "--nthreads", "1", "--no-nanny", "--no-dashboard"]] * 2
    log = open(tmp_path / "log", "w", encoding="utf-8")  # noqa: SIM115 (closed below)
    started = []
    try:
        for command, *arguments in calls:
            call = [sys.executable, "-m", f"distributed.cli.{command}", *arguments]
            started.append(subprocess.Popen(call, stdout=log, stderr=log, cwd=tmp_path))
            for _ in range(600):
                if file.exists():
                    break
                time.sleep(0.1)
        with distributed.Client(scheduler_file=str(file), set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
            yield client
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()
        log.close()


@pytest.mark.slow
def test_a_worker_that_is_killed_changes_nothing(processes, tmp_path):
    people(tmp_path)
    path = write_study(tmp_path, POINTS.replace("seeds = 2", "seeds = 20"))
    parts = tmp_path / "there" / "parts"
    killed = []

    def kill():
        while len(list(parts.glob("*.parquet"))) < 3:
            time.sleep(0.02)
        pids = processes.run(os.getpid)
        os.kill(pids[next(worker for worker, keys in processes.processing().items() if keys)], signal.SIGKILL)
        killed.append(len(list(parts.glob("*.parquet"))))

    thread = threading.Thread(target=kill)
    thread.start()
    there = maxent.sweep(path, tmp_path / "there", dask=processes.scheduler.address)
    thread.join()
    assert 3 <= killed[0] < 60
    assert len(processes.scheduler_info()["workers"]) == 1
    here = maxent.sweep(path, tmp_path / "here")
    pd.testing.assert_frame_equal(there.frame.drop(columns=list(TIMES)), here.frame.drop(columns=list(TIMES)))
    assert {row["status"] for row in there.rows} == {"optimal", "failed"}


@pytest.mark.slow
def test_without_its_scheduler_a_study_ends_in_a_line_and_can_go_on(processes, tmp_path, capfd):
    people(tmp_path)
    path = write_study(tmp_path, POINTS.replace("seeds = 2", "seeds = 20"))
    parts = tmp_path / "there" / "parts"

    def kill():
        while len(list(parts.glob("*.parquet"))) < 3:
            time.sleep(0.02)
        processes.shutdown()

    thread = threading.Thread(target=kill)
    thread.start()
    with pytest.raises(cluster.SchedulerLost, match="has gone"):
        maxent.sweep(path, tmp_path / "there", dask=processes.scheduler.address)
    thread.join()
    assert 3 <= len(list(parts.glob("*.parquet"))) < 60
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.slow
def test_an_estimate_in_other_processes(processes):
    release, frame = contested("entropy")
    alone = maxent.estimate(release, frame, starts=2)
    there = maxent.estimate(release, frame, starts=2, dask=processes.scheduler.address)
    np.testing.assert_array_equal(alone.probabilities, there.probabilities)
