"""Standard output and error that are closed, full, or read by nobody: no traceback, and files whole or not at all."""

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from support.paths import D1
from support.studies import STUDY, people, write_study

pytestmark = pytest.mark.skipif(os.name != "posix", reason="streams are closed as POSIX has it")

ESTIMATE = ["estimate", str(D1 / "tree.json"), str(D1 / "qi.csv")]
FULL = Path("/dev/full")
full = pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full, a file that cannot be written")


def shell(line, *arguments, cwd=None):
    """Run maxent by a line of the shell, where ``"$@"`` stands for it: its own exit status, and what arrives."""
    command = ["bash", "-c", f"set -o pipefail; {line}", "bash", sys.executable, "-m", "maxent", *map(str, arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=180, cwd=cwd)
    assert "Traceback" not in ran.stdout + ran.stderr
    assert "Exception ignored" not in ran.stderr
    return ran


COMMANDS = {
    "help": ["--help"],
    "help of a command": ["estimate", "--help"],
    "estimate": ESTIMATE,
    "json": [*ESTIMATE, "--json"],
}


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.regression(number=15)
def test_a_closed_standard_output_is_told_before_any_work(arguments):
    ran = shell('"$@" >&-', *arguments)
    told = "maxent: cannot write: standard output is closed (for none, send it to /dev/null)\n"
    assert (ran.returncode, ran.stderr) == (2, told)


def test_a_closed_standard_output_leaves_no_file(tmp_path):
    assert shell('"$@" >&-', *ESTIMATE, "-o", tmp_path / "out.csv").returncode == 2
    assert os.listdir(tmp_path) == []


def test_a_closed_standard_error_loses_messages_only(tmp_path):
    ran = shell('"$@" 2>&-', *ESTIMATE, "-o", tmp_path / "out.csv")
    assert ran.returncode == 0
    assert "the salary of 5 is certain" in ran.stdout
    assert len(pd.read_csv(tmp_path / "out.csv")) == 7
    ran = shell('"$@" 2>&-', "estimate", "none.json", "none.csv")
    assert (ran.returncode, ran.stdout) == (2, "")


@pytest.mark.slow
def test_all_streams_closed(tmp_path):
    ran = shell('"$@" <&- >&- 2>&-', *ESTIMATE, "-o", tmp_path / "out.csv")
    assert (ran.returncode, os.listdir(tmp_path)) == (2, [])
    ran = shell('"$@" <&-', *ESTIMATE, "-o", tmp_path / "out.csv")
    assert (ran.returncode, os.listdir(tmp_path)) == (0, ["out.csv"])


@pytest.mark.slow
def test_no_file_becomes_a_standard_stream(tmp_path):
    """What is opened next would have the number of a stream that is closed, and get what is printed there."""
    code = "import os, sys; from maxent.__main__ import main; main(sys.argv[1:]); os.write(2, b'noise')"
    command = [
        "bash",
        "-c",
        '"$@" <&- 2>&-',
        "bash",
        sys.executable,
        "-c",
        code,
        *ESTIMATE,
        "-o",
        str(tmp_path / "o.json"),
    ]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert ran.returncode == 0
    assert json.loads((tmp_path / "o.json").read_text())["individuals"] == 11


@full
@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_a_full_standard_output(arguments):
    ran = shell('"$@" >/dev/full', *arguments)
    assert (ran.returncode, ran.stderr) == (2, "maxent: cannot write: No space left on device\n")


@full
def test_files_are_whole_where_standard_output_is_full(tmp_path):
    outputs = ["-o", tmp_path / "out.csv", "--report", tmp_path / "out.html"]
    assert shell('"$@" >/dev/full', *ESTIMATE, *outputs).returncode == 2
    assert sorted(os.listdir(tmp_path)) == ["out.csv", "out.html"]
    assert len(pd.read_csv(tmp_path / "out.csv")) == 7
    assert (tmp_path / "out.html").read_text(encoding="utf-8").rstrip().endswith("</html>")


@pytest.mark.slow
@full
def test_a_full_standard_error_loses_messages_only():
    ran = shell('"$@" 2>/dev/full', *ESTIMATE)
    assert ran.returncode == 0
    assert "the salary of 5 is certain" in ran.stdout
    assert shell('"$@" 2>/dev/full', "estimate", "none.json", "none.csv").returncode == 2
    assert shell('"$@" 2>/dev/full', "estimate", "--jsno").returncode == 2
    assert shell('"$@" >/dev/full 2>/dev/full', *ESTIMATE).returncode == 2


@pytest.mark.parametrize("arguments", [["--help"], ["explain", *ESTIMATE[1:]], [*ESTIMATE, "--json"]], ids=str)
def test_a_reader_that_goes(arguments):
    """As of all programs in a pipe: 128 and the number of SIGPIPE."""
    ran = shell('"$@" | true', *arguments)
    assert (ran.returncode, ran.stdout, ran.stderr) == (141, "", "")


def test_files_are_whole_where_the_reader_goes(tmp_path):
    outputs = ["-o", tmp_path / "out.csv", "--report", tmp_path / "out.html"]
    assert shell('"$@" | true', *ESTIMATE, *outputs).returncode == 141
    assert sorted(os.listdir(tmp_path)) == ["out.csv", "out.html"]
    assert len(pd.read_csv(tmp_path / "out.csv")) == 7


def test_readers_of_messages_that_go():
    assert shell('"$@" 2>&1 >/dev/null | true', "estimate", "none.json", "none.csv").returncode == 2


# --- Disks that are full ---------------------------------------------------------------------------------------


def limited(size):
    """Let files have so many bytes at most: what a full disk does to those who write them."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".json", ".parquet"])
@pytest.mark.parametrize("old", [None, "old"])
def test_a_file_that_does_not_fit_leaves_the_old_one(tmp_path, suffix, old):
    path = tmp_path / f"out{suffix}"
    if old:
        path.write_text(old)
    command = [sys.executable, "-m", "maxent", *ESTIMATE, "-o", str(path), "--force"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=180, preexec_fn=limited(100))
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert f"out{suffix}: file: path: expected a file that can be written, found" in ran.stderr
    assert "File too large" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert [name.read_text() for name in tmp_path.iterdir()] == ([old] if old else [])


def test_a_release_that_does_not_fit_leaves_the_old_one(tmp_path):
    shutil.copy(D1 / "truth.csv", tmp_path)
    (tmp_path / "tree.json").write_text("old")
    call = ["defend", "none", "truth.csv", "--target", "Salary", "--qi", "Education", "-o", "tree.json", "--force"]
    command = [sys.executable, "-m", "maxent", *call]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=180, preexec_fn=limited(100))
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "File too large" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert sorted(os.listdir(tmp_path)) == ["tree.json", "truth.csv"]
    assert (tmp_path / "tree.json").read_text() == "old"


@pytest.mark.slow
def test_a_sweep_that_does_not_fit_keeps_the_rows_that_did(tmp_path):
    people(tmp_path)
    study = write_study(tmp_path, STUDY + "max_depth = [1, 2]\n")
    command = [sys.executable, "-m", "maxent", "sweep", str(study), "-o", str(tmp_path / "out")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=180, preexec_fn=limited(2000))
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr
    assert not list((tmp_path / "out").rglob("*.tmp"))
    assert not list((tmp_path / "out" / "parts").iterdir())
    again = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert (again.returncode, again.stderr) == (0, "")


TABLE_REFUSED = """
import sys
from maxent.__main__ import command

class Held:
    def __del__(self):
        print("taken down")

held = Held()
sys.argv = ["maxent", "defend", "none", "gaps.csv", "--target", "T", "--qi", "A", "-o", "out.json"]
command()
"""


def test_the_command_does_not_take_python_down_around_the_threads_that_read_tables(tmp_path):
    (tmp_path / "gaps.csv").write_text("A,T\n,no\ny,no\n", encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-c", TABLE_REFUSED], capture_output=True, text=True, timeout=180, cwd=tmp_path
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "expected no missing values" in ran.stderr
