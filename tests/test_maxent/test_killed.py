"""What a process leaves behind that is ended from outside: no temporary folder, and no records in one."""

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.paths import D1
from support.studies import STUDY, people, write_study

from maxent.models.files.output import PREFIX, remove_dead, scratch

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and locks are those of POSIX")

MARK = "Zyxwvut"  # A value of confidential records


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder for temporary files, of this process and those that it starts."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    yield folder
    monkeypatch.setattr("tempfile.tempdir", None)


def waited_for(condition, process=None, seconds=300):
    """What a condition gives as soon as that is something."""
    end = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < end:
        assert process is None or process.poll() is None, "it ended too early"
        time.sleep(0.01)
    assert found, "nothing came"
    return found


def folders(temporary):
    return [path for path in temporary.iterdir() if path.name.startswith("maxent")]


def with_records(folder):
    """Files below a folder in which there are records."""
    found = []
    for path in folder.rglob("*"):
        try:
            if path.is_file() and MARK.encode() in path.read_bytes():
                found.append(path)
        except FileNotFoundError:
            pass
    return found


def study(tmp_path, seeds):
    table = people(tmp_path)
    table["job"] = table["job"].replace("cook", MARK)
    table.to_csv(tmp_path / "people.csv", index=False)
    return write_study(tmp_path, STUDY + f"max_depth = 2\n[protocol]\ntest_share = 0.3\nseeds = {seeds}\n")


@pytest.fixture
def sweeping(tmp_path, temporary):
    """A sweep in two processes, which has just written its records to a temporary folder."""
    command = [sys.executable, "-m", "maxent", "sweep", study(tmp_path, 400), "-o", tmp_path / "out", "--jobs", "2"]
    with subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        waited_for(lambda: with_records(temporary), process)
        waited_for(lambda: [*(tmp_path / "out" / "parts").glob("*.parquet")], process)
        yield process
        process.kill()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.regression(number=12)
def test_a_sweep_that_is_asked_to_end_leaves_no_records(temporary, sweeping, number):
    sweeping.send_signal(number)
    out, err = sweeping.communicate(timeout=300)
    assert (sweeping.returncode, out) == (-number, b"")
    assert b"Traceback" not in err  # what the processes shared may be told to be cleaned up
    assert folders(temporary) == []


@pytest.mark.slow
@pytest.mark.regression(number=12)
def test_a_sweep_that_was_killed_leaves_them_to_the_next_run_of_anything(temporary, sweeping):
    sweeping.kill()
    sweeping.wait()
    assert with_records(temporary)
    ran = subprocess.run([sys.executable, "-m", "maxent", "backends"], capture_output=True, timeout=300)
    assert ran.returncode == 0
    assert folders(temporary) == []


@pytest.mark.slow
def test_a_sweep_that_is_running_keeps_its_folder(temporary, sweeping, tmp_path):
    before = with_records(temporary)
    remove_dead()
    command = [sys.executable, "-m", "maxent", "sweep", str(study(tmp_path, 1)), "-o", str(tmp_path / "other")]
    assert subprocess.run(command, capture_output=True, timeout=300).returncode == 0
    assert sweeping.poll() is None
    assert with_records(temporary) == before


@pytest.mark.slow
def test_a_sweep_in_one_process_has_no_records_in_files(temporary, tmp_path):
    command = [sys.executable, "-m", "maxent", "sweep", str(study(tmp_path, 3)), "-o", str(tmp_path / "out")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            assert folders(temporary) == []
            time.sleep(0.01)
    assert process.returncode == 0


@pytest.mark.parametrize(
    "number", [*(pytest.param(n, marks=pytest.mark.slow) for n in (signal.SIGTERM, signal.SIGHUP)), signal.SIGKILL]
)
def test_a_bench_never_has_records_in_files(temporary, tmp_path, number):
    """Its processes get them through a pipe."""
    code = f"""
import pandas as pd, maxent
qi = pd.read_csv({str(D1 / "qi.csv")!r})
qi["note"] = {MARK!r}
maxent.bench({str(D1 / "tree.json")!r}, qi, backends="newton", repeat=100_000)
"""
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        waited_for(lambda: [*temporary.rglob("started")], process)
        assert with_records(temporary) == []
        process.send_signal(number)
        assert process.wait(300) == -number
    if number != signal.SIGKILL:
        assert folders(temporary) == []
    with scratch() as folder:
        assert folders(temporary) == [folder]
    assert folders(temporary) == []


WAITING = """
import sys, time
from maxent.models.files.output import scratch
with scratch() as folder:
    (folder / "file").write_text("text")
    print(folder, flush=True)
    {body}
print("went on", flush=True)
"""


def waiting(body="time.sleep(600)", **how):
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING.format(body=body)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **how,
    )
    assert Path(process.stdout.readline().strip()).is_dir()
    return process


def test_a_folder_is_for_its_user_alone(temporary):
    with scratch() as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert folder.parent == temporary
    assert not folder.exists()


def test_folders_within_folders_go_together(temporary):
    process = waiting("\n    with scratch() as inner:\n        (inner / 'ready').touch()\n        time.sleep(600)")
    waited_for(lambda: [folder for folder in folders(temporary) if (folder / "ready").exists()])
    process.terminate()
    assert process.communicate(timeout=300) == ("", "")
    assert process.returncode == -signal.SIGTERM
    assert folders(temporary) == []


def test_signals_that_are_ignored_stay_ignored(temporary):
    process = waiting("time.sleep(1)", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    process.send_signal(signal.SIGHUP)
    assert process.communicate(timeout=300) == ("went on\n", "")
    assert process.returncode == 0


def test_handlers_of_others_are_left_alone_and_ours_are_gone_at_the_end(temporary):
    heard = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    try:
        with scratch():
            os.kill(os.getpid(), signal.SIGTERM)
            assert signal.getsignal(signal.SIGHUP) is not signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [signal.SIGTERM]
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL


def test_impatience_does_not_disturb_what_is_being_closed(temporary):
    process = waiting("\n    try:\n        time.sleep(600)\n    finally:\n        time.sleep(1)")
    for _ in range(3):
        process.terminate()
        time.sleep(0.2)
    assert process.communicate(timeout=300) == ("", "")
    assert process.returncode == -signal.SIGTERM
    assert folders(temporary) == []


def test_only_folders_of_our_own_making_are_removed(temporary):
    (temporary / "elsewhere").mkdir()
    (temporary / "maxent-scratch-notes").mkdir(0o700)
    (temporary / f"{PREFIX}file0000").write_text("text")
    (temporary / f"{PREFIX}link0000").symlink_to(temporary / "elsewhere")
    (temporary / f"{PREFIX}open0000").mkdir(0o755)
    before = sorted(temporary.iterdir())
    (temporary / f"{PREFIX}dead0000").mkdir(0o700)
    remove_dead()
    assert sorted(temporary.iterdir()) == before


@pytest.mark.slow
def test_many_processes_start_and_end_together(temporary):
    """A folder that is not locked yet may be taken for a leftover: then another one is made."""
    code = """
import time
from maxent.models.files.output import scratch
end = time.time() + 3
while time.time() < end:
    with scratch() as folder:
        (folder / "file").write_text("text")
        assert (folder / "file").read_text() == "text"
"""
    processes = [subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) for _ in range(4)]
    assert [(process.communicate(timeout=300)[1], process.returncode) for process in processes] == [(b"", 0)] * 4
    assert folders(temporary) == []
