"""The code that the documentation shows: it runs, and prints what the page says.

Blocks ```` ```python ```` of a page share their names, in a folder where ``examples`` is that of the project. In
```` ```console ```` blocks the lines after ``$`` are commands, and the lines below each what it prints, where ``...``
stands for anything and white space counts as one blank. ```` ```sh ```` is for what is not run, as it installs.
"""

import contextlib
import io
import re
import runpy
import shlex
import sys
from pathlib import Path

import pytest

from maxent.__main__ import main

TOP = Path(__file__).parents[2]
RUN = re.compile(r"^```(console|python)$", re.MULTILINE)
PAGES = [TOP / "README.md", *sorted(p for p in (TOP / "docs").rglob("*.md") if RUN.search(p.read_text("utf-8")))]
LONG = ("docs/advise.md", "docs/howto/bench.md", "docs/sweep.md")
BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SECONDS = re.compile(r"\b\d+(\.\d+)? s\b")


def printed_by(command: str) -> str:
    """What a command prints; a status other than the one after ``# exit status`` is an error."""
    command, _, status = command.partition("# exit status")
    name, *arguments = shlex.split(command)
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        if name == "maxent":
            assert main(arguments) == int(status or 0), out.getvalue()
        elif name == "python":
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(sys, "argv", arguments)
                runpy.run_path(arguments[0], run_name="__main__")
        else:
            raise AssertionError(f"a command that is not tested: {command}")
    lines = out.getvalue().splitlines(keepends=True)  # pages write some files twice
    return "".join(line for line in lines if not line.startswith("maxent: replaced: "))


def console(block: str) -> None:
    """Run the commands of a block, and compare what they print with what it says."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, said = part.replace("\\\n", " ").partition("\n")
        shown = printed_by(command)
        if said.strip():
            assert re.fullmatch(pattern(said), blanks(shown), re.DOTALL), f"{command}\n{shown}"


def pattern(said: str) -> str:
    """What is said as a regular expression, in which ``...`` is any text."""
    words = [r".*" if word == "..." else re.escape(word) for word in blanks(said).split()]
    return re.sub(r"(\.\*)? ?(\.\*)", ".*", " ".join(words)).replace(".* ", ".*")


def blanks(text: str) -> str:
    """A text whose words have one blank between them; how many seconds something took does not matter."""
    return " ".join(SECONDS.sub("0 s", text).split())


def _page(path):
    """A page by its name; those whose examples take seconds are for the slow tests."""
    name = path.relative_to(TOP).as_posix()
    return pytest.param(path, id=name, marks=[pytest.mark.slow] * (name in LONG))


@pytest.mark.parametrize("page", [_page(path) for path in PAGES])
def test_a_page_does_what_it_shows(page, tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(TOP / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    names: dict[str, object] = {"__name__": "__main__"}
    for language, block in BLOCK.findall(page.read_text("utf-8")):
        if language == "python":
            exec(compile(block, page.name, "exec"), names)
        elif language == "console":
            console(block)


def test_there_are_pages_with_commands():
    assert {"index.md", "tutorial.md"} < {page.name for page in PAGES}


def test_other_output_is_noticed(monkeypatch):
    monkeypatch.chdir(TOP)
    command = "$ maxent audit examples/d1/tree.json\n"
    console(command + "5 leaves; 11 individuals\n...\n")
    with pytest.raises(AssertionError, match="5 leaves"):
        console(command + "6 leaves; 11 individuals\n...\n")
    with pytest.raises(AssertionError, match="not tested"):
        console("$ rm -rf /nowhere\n")
