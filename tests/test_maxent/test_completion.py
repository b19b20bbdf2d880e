"""Completion in shells: commands, options, methods, back ends, and files; as bash itself does it."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from maxent.commands.main import COMMANDS

BASH = shutil.which("bash")
SCRIPTS = str(Path(sys.executable).parent)
ENVIRONMENT = {**os.environ, "PATH": SCRIPTS + os.pathsep + os.environ["PATH"], "TERM": "dumb"}

needs_bash = pytest.mark.skipif(BASH is None, reason="needs bash")


def bash(script, home, **more):
    environment = {**ENVIRONMENT, "HOME": str(home), **more}
    return subprocess.run(
        [BASH, "--norc", "--noprofile", "-c", script], capture_output=True, text=True, timeout=120, env=environment
    )


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """What ``maxent --show-completion`` prints in bash."""
    if BASH is None:
        pytest.skip("needs bash")
    shown = bash("maxent --show-completion; exit $?", tmp_path_factory.mktemp("home"))
    assert shown.returncode == 0, shown.stderr
    path = tmp_path_factory.mktemp("completion") / "maxent.sh"
    path.write_text(shown.stdout, encoding="utf-8")
    return path


def completed(script, home, *words):
    """What bash is given for the last of some words."""
    quoted = " ".join(f"'{word}'" for word in words)
    call = f"""
        source '{script}'
        COMP_WORDS=({quoted}) COMP_CWORD={len(words) - 1}
        $(complete -p maxent | sed 's/.*-F \\([^ ]*\\) .*/\\1/') maxent '{words[-1]}' '{words[-2]}'
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    ran = bash(call, home)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()


@pytest.mark.slow
def test_bash_completes_names(script, tmp_path):
    assert completed(script, tmp_path, "maxent", "est") == ["estimate"]
    assert set(completed(script, tmp_path, "maxent", "")) == set(COMMANDS)
    assert completed(script, tmp_path, "maxent", "defend", "prune-") == ["prune-leaf", "prune-parent"]
    assert completed(script, tmp_path, "maxent", "defend", "kadet", "--di") == ["--diversity"]
    assert completed(script, tmp_path, "maxent", "estimate", "--knowledge", "label,ra") == ["label,rate"]
    assert completed(script, tmp_path, "maxent", "defend", "kadet", "a.csv", "--inducer", "c") == ["c45"]
    assert completed(script, tmp_path, "maxent", "defend", "none", "--di") == []
    limits = {"--max-posterior", "--max-certain", "--max-right-guesses", "--max-lift", "--max-memory"}
    assert set(completed(script, tmp_path, "maxent", "estimate", "--max")) == limits
    assert completed(script, tmp_path, "maxent", "estimate", "a.json", "b.csv", "--rounding", "d") == ["digits"]
    assert completed(script, tmp_path, "maxent", "compare", "--q") == []  # accepted, but not offered


def test_bash_completes_back_ends(script, tmp_path):
    found = completed(script, tmp_path, "maxent", "estimate", "a.json", "b.csv", "--backend", "")
    assert {"auto", "ipopt", "newton"} <= set(found)
    assert completed(script, tmp_path, "maxent", "estimate", "--backend", "new") == ["newton"]
    assert completed(script, tmp_path, "maxent", "bench", "--backends", "ipopt,new") == ["ipopt,newton"]


def test_a_file_is_left_to_the_shell(script, tmp_path):
    """No word of ours, so that bash (``-o default``) offers files."""
    assert "complete -o default" in script.read_text(encoding="utf-8")
    for words in (["estimate", "tr"], ["audit", "tree.json", "q"], ["estimate", "--truth", "t"], ["sweep", "-o", "r"]):
        assert completed(script, tmp_path, "maxent", *words) == []


@needs_bash
def test_the_tabulator_key_in_an_interactive_bash(script, tmp_path):
    (tmp_path / "the-tree.json").write_text("{}", encoding="utf-8")
    reader, writer = pty.openpty()
    environment = {**ENVIRONMENT, "HOME": str(tmp_path), "PS1": "ready> ", "INPUTRC": "/dev/null"}
    shell = subprocess.Popen(
        [BASH, "--norc", "--noprofile", "-i"],
        stdin=writer,
        stdout=writer,
        stderr=writer,
        cwd=tmp_path,
        env=environment,
        start_new_session=True,
        close_fds=True,
    )
    os.close(writer)
    seen = ""

    def until(text, timeout=60):
        nonlocal seen
        end = time.monotonic() + timeout
        while text not in seen and time.monotonic() < end:
            if select.select([reader], [], [], 0.2)[0]:
                seen += os.read(reader, 65536).decode("utf-8", "replace")
        assert text in seen, seen

    try:
        until("ready> ")
        os.write(reader, f"source '{script}'; echo sour''ced\n".encode())
        until("sourced")
        os.write(reader, b"maxent aud\t")
        until("maxent audit ")
        os.write(reader, b"the-\t")
        until("maxent audit the-tree.json ")
    finally:
        os.close(reader)
        shell.kill()
        shell.wait()


@needs_bash
@pytest.mark.regression(number=19)
def test_it_is_installed_for_bash(tmp_path):
    (tmp_path / ".bashrc").write_text("alias ll='ls -l'\n", encoding="utf-8")
    installed = bash("maxent --install-completion; exit $?", tmp_path)
    assert installed.returncode == 0, installed.stderr
    rc = (tmp_path / ".bashrc").read_text(encoding="utf-8")
    assert rc.startswith("alias ll='ls -l'\n")
    ran = bash(f"source {tmp_path}/.bashrc; complete -p maxent", tmp_path)
    assert "-F _maxent_completion maxent" in ran.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_are_scripts_for_shells(tmp_path, shell):
    """Typer takes the name of a shell only where it does not look which one is running."""
    environment = {**ENVIRONMENT, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    ran = subprocess.run(
        ["maxent", "--show-completion", shell], capture_output=True, text=True, timeout=120, env=environment
    )
    assert ran.returncode == 0, ran.stderr
    assert f"_MAXENT_COMPLETE=complete_{shell}" in ran.stdout
    asked = {"_MAXENT_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": "maxent est"}
    asked |= {"COMP_WORDS": "maxent est", "COMP_CWORD": "1", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    ran = subprocess.run(["maxent"], capture_output=True, text=True, timeout=120, env={**ENVIRONMENT, **asked})
    assert ran.returncode == 0
    assert "estimate" in ran.stdout
    assert "Usage" not in ran.stdout


def test_another_shell_is_told(capsys, monkeypatch):
    from maxent.commands import main

    monkeypatch.setattr(main, "app", lambda *_, **__: 1)
    assert main.run(["--install-completion"]) == 2
    assert (
        capsys.readouterr().err
        == "maxent: completion is for bash, zsh, fish and PowerShell: call it from one of them\n"
    )
