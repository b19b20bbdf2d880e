"""Sweeps that go on: no work is done twice, and nothing is lost when one is stopped."""

import json
import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pyarrow.parquet as pq
import pytest
from support.studies import STUDY, die_at_k_4, people, same, write_study

import maxent
from maxent.__main__ import main
from maxent.models.errors import InvalidInput
from maxent.studies.results_folder import Folder
from maxent.studies.sweep import sweep


def test_a_changed_study_adds_points_and_keeps_the_others(tmp_path):
    people(tmp_path)
    first = sweep(write_study(tmp_path, STUDY + "max_depth = [1, 2]\n"), tmp_path / "out")
    second = sweep(write_study(tmp_path, STUDY + "max_depth = [2, 3]\n"), tmp_path / "out")
    assert (first.new, second.new, second.points) == (2, 1, 2)
    assert second.rows[0] == first.rows[1]  # times included: it was not run again
    assert len(os.listdir(tmp_path / "out" / "parts")) == 3
    assert second.frame["max_depth"].tolist() == [2, 3]
    assert (tmp_path / "out" / "study.toml").read_text(encoding="utf-8").endswith("max_depth = [2, 3]\n")
    runs = json.loads((tmp_path / "out" / "provenance.json").read_text(encoding="utf-8"))["runs"]
    assert [(run["to_run"], run["run"], run["versions"]["maxent"]) for run in runs] == [
        (2, 2, maxent.__version__),
        (1, 1, maxent.__version__),
    ]


def test_broken_parts_are_made_again(tmp_path):
    people(tmp_path)
    path = write_study(tmp_path, STUDY + "max_depth = [1, 2, 3]\n")
    first = sweep(path, tmp_path / "out")
    parts = Folder(tmp_path / "out")
    parts.part(first.rows[0]["point"]).write_bytes(b"PAR1")
    parts.part(first.rows[1]["point"]).write_bytes(parts.part(first.rows[2]["point"]).read_bytes())
    (parts.parts / ".maxent-0.tmp").write_bytes(b"")
    again = sweep(path, tmp_path / "out")
    assert again.new == 2
    pd.testing.assert_frame_equal(same(again.frame), same(first.frame))
    assert len(os.listdir(parts.parts)) == 3


def test_one_run_at_a_time(tmp_path, capsys):
    people(tmp_path)
    path = write_study(tmp_path, STUDY)
    with Folder(tmp_path / "out").opened():
        assert main(["sweep", str(path), "-o", str(tmp_path / "out")]) == 2
        assert f"out is in use by another run: process {os.getpid()} on " in capsys.readouterr().err
    assert main(["sweep", str(path), "-o", str(tmp_path / "out")]) == 0  # what it left behind is no lock


@pytest.mark.parametrize("link", [os.symlink, os.link])
@pytest.mark.regression(number=12)
def test_a_lock_that_is_a_link_is_refused(tmp_path, link):
    (tmp_path / "other").write_text("kept", encoding="utf-8")
    (tmp_path / "out").mkdir()
    link(tmp_path / "other", tmp_path / "out" / ".lock")
    with pytest.raises(InvalidInput, match=r"\.lock.*expected a file of its own, found a link"):
        Folder(tmp_path / "out").opened().__enter__()
    assert (tmp_path / "other").read_text(encoding="utf-8") == "kept"


@pytest.mark.slow
def test_killed_in_the_middle_it_goes_on(tmp_path):
    people(tmp_path)
    path = write_study(tmp_path, STUDY + "estimate = false\nmax_depth = 2\n[protocol]\ntest_share = 0.3\nseeds = 40\n")
    command = [sys.executable, "-m", "maxent", "sweep", str(path), "-o", str(tmp_path / "out")]
    parts = tmp_path / "out" / "parts"
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        while process.poll() is None and len(list(parts.glob("*.parquet"))) < 3:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    done = {file.name: file.read_bytes() for file in parts.glob("*.parquet")}
    assert 3 <= len(done) < 40
    assert not (tmp_path / "out" / "results.parquet").exists()
    result = sweep(path, tmp_path / "out")
    assert result.new == 40 - len(done)
    assert result.reliable
    assert all((parts / name).read_bytes() == content for name, content in done.items())
    assert not list(parts.glob(".*"))
    pd.testing.assert_frame_equal(same(result.frame), same(sweep(path, tmp_path / "fresh").frame))


def test_ctrl_c_keeps_what_is_done(tmp_path, monkeypatch, capsys):
    from maxent.studies import sweep as sweeping

    people(tmp_path)
    path = write_study(tmp_path, STUDY + "max_depth = [1, 2, 3]\n")
    original, calls = sweeping.run_point, []

    def run_point(*call):
        calls.append(call)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(*call)

    monkeypatch.setattr(sweeping, "run_point", run_point)
    assert main(["sweep", str(path), "-o", str(tmp_path / "out")]) == 1
    printed = capsys.readouterr()
    assert printed.out.startswith("3 points, 1 run now: 1 optimal\n")
    assert "interrupted: 1 of 3 points are done, the same call goes on" in printed.err
    assert len(pq.ParquetFile(tmp_path / "out" / "results.parquet").read()) == 1
    assert main(["sweep", str(path), "-o", str(tmp_path / "out")]) == 0
    calls.clear()
    with pytest.raises(KeyboardInterrupt):
        sweep(write_study(tmp_path, STUDY + "max_depth = [4, 5]\n"), tmp_path / "out")


@pytest.mark.slow
def test_a_process_that_dies_costs_its_point_alone(tmp_path, monkeypatch):
    from maxent.studies import sweep as sweeping

    people(tmp_path)
    path = write_study(tmp_path, STUDY + '[[grid]]\nmethod = "prune-parent"\nk = [2, 3, 4, 5, 6]\n')
    monkeypatch.setattr(sweeping, "_work", die_at_k_4)
    result = sweep(path, tmp_path / "out", jobs=2)
    assert [(row["k"], row["error"][:40]) for row in result.failed] == [(4, "the process that ran it was ended from o")]
    monkeypatch.undo()
    pd.testing.assert_frame_equal(
        same(sweep(path, tmp_path / "out").frame), same(sweep(path, tmp_path / "fresh").frame)
    )


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_its_processes_end_with_it(tmp_path, number):
    people(tmp_path)
    text = STUDY + "estimate = false\n[protocol]\ntest_share = 0.3\nseeds = 2000\n"
    path = write_study(tmp_path, text)
    command = [sys.executable, "-m", "maxent", "sweep", str(path), "-o", str(tmp_path / "out"), "--jobs", "2"]
    parts = tmp_path / "out" / "parts"
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
        while process.poll() is None and len(list(parts.glob("*.parquet"))) < 5:
            time.sleep(0.02)
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # as a terminal does
        else:
            process.send_signal(number)
        said = process.communicate(timeout=60)[1]  # all who have its end of the pipe are gone
    done = len(list(parts.glob("*.parquet")))
    assert 5 <= done < 2000
    if number == signal.SIGINT:
        assert process.returncode == 1
        assert f"interrupted: {done} of 2000 points are done" in said.decode()
        assert b"Traceback" not in said
        assert len(pq.ParquetFile(tmp_path / "out" / "results.parquet").read()) == done
