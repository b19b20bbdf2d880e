"""How files are written: all or nothing, for whom, and what is left of a process that was killed."""

import os
import signal
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from support.calls import refused

from maxent.models.errors import InvalidInput
from maxent.models.files.output import remove_leftovers, write_atomically, write_text

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions and locks are those of POSIX")

LEFTOVER = ".maxent-0123456789abcdef.tmp"


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.fixture
def umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_a_new_file_is_for_its_owner_alone(tmp_path, umask):
    write_text(tmp_path / "a", "confidential")
    assert mode(tmp_path / "a") == 0o600


def test_what_is_to_be_published_is_as_open_as_the_umask_says(tmp_path, umask):
    write_text(tmp_path / "a", "public", public=True)
    assert mode(tmp_path / "a") == 0o644
    os.umask(0o027)
    write_text(tmp_path / "b", "public", public=True)
    assert mode(tmp_path / "b") == 0o640


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("bits", [0o600, 0o640, 0o664, 0o444])
@pytest.mark.regression(number=12)
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path, umask, public, bits):
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(bits)
    (tmp_path / "link").symlink_to(path)
    write_text(tmp_path / "link", "new", public=public)
    assert (mode(path), path.read_text(), (tmp_path / "link").is_symlink()) == (bits, "new", True)


def test_it_is_never_more_open_on_the_way(tmp_path, umask):
    (tmp_path / "old").write_text("old")
    (tmp_path / "old").chmod(0o600)
    seen = []

    def write(temporary):
        seen.append(mode(temporary))
        Path(temporary).write_text("new")

    write_atomically(tmp_path / "new", write)
    write_atomically(tmp_path / "old", write, public=True)
    assert seen == [0o600, 0o600]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_a_file_that_is_replaced_keeps_its_owner_and_group(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    os.chown(path, 1234, 2345)
    write_text(path, "new")
    found = path.stat()
    assert (found.st_uid, found.st_gid) == (1234, 2345)


def test_a_group_that_cannot_be_kept_is_not_replaced_by_another(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(0o664)
    other = os.stat_result((0o100664, 0, 0, 1, os.getuid(), os.getgid() + 1, 0, 0, 0, 0))
    real = os.stat

    def found(of, **how):
        return other if os.fspath(of) == str(path) else real(of, **how)

    def denied(*_, **__):
        raise PermissionError

    monkeypatch.setattr(os, "chown", denied)
    monkeypatch.setattr(os, "stat", found)
    write_text(path, "new")
    monkeypatch.undo()
    assert mode(path) == 0o604


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), RuntimeError("no table"), KeyboardInterrupt()]
)
def test_a_writer_that_fails_leaves_everything_as_it_was(tmp_path, error):
    path = tmp_path / "a"
    path.write_text("old")

    def write(temporary):
        Path(temporary).write_text("half")
        raise error

    with pytest.raises(InvalidInput if isinstance(error, OSError) else type(error)):
        write_atomically(path, write)
    assert (os.listdir(tmp_path), path.read_text()) == (["a"], "old")


@pytest.mark.parametrize(("name", "told"), [("", "a directory"), ("gone/a", "no such file"), ("a\0b", "null")])
def test_a_place_that_cannot_be_written(tmp_path, name, told):
    refused(told, write_text, f"{tmp_path}/{name}", "text")
    assert os.listdir(tmp_path) == []


# --- What a process leaves that is killed ------------------------------------------------------------------------

WRITER = """
import sys, time
from maxent.models.files.output import write_atomically
def write(temporary):
    with open(temporary, "w") as file:
        file.write("half")
    print("writing", flush=True)
    time.sleep(600)
write_atomically(sys.argv[1], write)
"""


@pytest.fixture
def writer(tmp_path):
    """A process that is in the middle of writing a file."""
    command = [sys.executable, "-c", textwrap.dedent(WRITER), str(tmp_path / "a")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "writing\n"
        yield process
        process.kill()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.regression(number=12)
def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path, writer, number):
    assert len(os.listdir(tmp_path)) == 1
    writer.send_signal(number)
    assert writer.wait() == -number
    assert len(os.listdir(tmp_path)) == 1
    write_text(tmp_path / "b", "text")
    assert os.listdir(tmp_path) == ["b"]


def test_what_a_living_process_writes_is_left_alone(tmp_path, writer):
    write_text(tmp_path / "b", "text")
    remove_leftovers(tmp_path)
    left = {*os.listdir(tmp_path)} - {"b"}
    assert len(left) == 1
    assert (tmp_path / left.pop()).read_text() == "half"


def test_only_files_of_our_own_making_are_removed(tmp_path):
    for name in [".maxent-notes.tmp", "maxent-0123456789abcdef.tmp", ".maxent-0123456789abcdef.tmp.bak", "x.tmp"]:
        (tmp_path / name).write_text("mine")
    (tmp_path / "elsewhere").write_text("mine")
    os.symlink("elsewhere", tmp_path / ".maxent-1111111111111111.tmp")
    os.link(tmp_path / "elsewhere", tmp_path / ".maxent-2222222222222222.tmp")
    os.mkfifo(tmp_path / ".maxent-3333333333333333.tmp")
    (tmp_path / ".maxent-4444444444444444.tmp").mkdir()
    before = sorted(os.listdir(tmp_path))
    (tmp_path / LEFTOVER).write_text("half")
    remove_leftovers(tmp_path)
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_what_others_left_is_theirs(tmp_path):
    (tmp_path / LEFTOVER).write_text("half")
    os.chown(tmp_path / LEFTOVER, 1234, -1)
    remove_leftovers(tmp_path)
    assert os.listdir(tmp_path) == [LEFTOVER]


def test_a_folder_with_very_many_files_is_looked_through_once(tmp_path):
    write_text(tmp_path / "a", "text")
    (tmp_path / LEFTOVER).write_text("half")
    write_text(tmp_path / "a", "text")
    assert (tmp_path / LEFTOVER).exists()


@pytest.mark.slow
def test_writers_and_cleaners_at_the_same_time(tmp_path):
    """A file that is not locked yet may be taken for a leftover: then it is made again."""
    command = "import sys, time\nfrom maxent.models.files.output import {0}\nend = time.time() + 3\n"
    clean = command.format("remove_leftovers") + "while time.time() < end: remove_leftovers(sys.argv[1])"
    write = command.format("write_text") + (
        "number = 0\nwhile time.time() < end:\n"
        "    number += 1\n    write_text(sys.argv[1] + '/' + sys.argv[2], str(number))\nprint(number)"
    )
    calls = [[clean, "x"], [clean, "x"], [write, "a"], [write, "b"]]
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name], stdout=subprocess.PIPE, text=True)
        for code, name in calls
    ]
    told = [process.communicate(timeout=60)[0].strip() for process in started]
    assert [process.returncode for process in started] == [0, 0, 0, 0]
    assert [(tmp_path / name).read_text() for name in "ab"] == told[2:]
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]
