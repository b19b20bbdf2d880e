"""The README is short, and the page of options has what the help of each command has."""

import importlib.util
import re
from pathlib import Path

import pytest

from maxent.__main__ import main
from maxent.commands.main import COMMANDS
from maxent.models.arguments import parameters_of
from maxent.models.defenses.registry import load_method, method_names

TOP = Path(__file__).parents[2]
LONGEST = 150  # Lines of the README


@pytest.fixture(scope="module")
def page():
    """The page docs/options.md as the site has it."""
    pytest.importorskip("latex2mathml", reason="needs latex2mathml: pip install -e '.[docs]'")
    spec = importlib.util.spec_from_file_location("hooks", TOP / "docs" / "hooks.py")
    assert spec is not None
    assert spec.loader is not None
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    return hooks.on_page_markdown((TOP / "docs" / "options.md").read_text(encoding="utf-8"))


def sections(page):
    """The parts of the page about commands, by the heading of each."""
    return dict(re.findall(r"^## maxent (.*)\n((?:(?!## ).*\n?)*)", page, re.MULTILINE))


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_has_every_option_and_argument_of_the_help(page, capsys, command):
    for name, text in sections(page).items():
        if name.split()[0] == command:
            assert main([*name.split(), "--help-all"]) == 0
            shown = set(re.findall(r"^  (?:-[oh], )?(--[a-z-]+)", capsys.readouterr().out, re.MULTILINE))
            assert {"--help", *([] if command == "serve" else ["--json"])} <= shown  # a page has no result
            assert set(re.findall(r"^\| `(?:-[oh], )?(--[a-z-]+)", text, re.MULTILINE)) == shown
            assert f"    maxent {name} " in text
    assert any(name.split()[0] == command for name in sections(page))


def test_every_row_of_the_page_has_two_cells(page):
    markdown = pytest.importorskip("markdown", reason="needs mkdocs: pip install -e '.[docs]'")
    html = markdown.markdown(page, extensions=["tables"])
    rows = re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL)
    assert len(rows) == len(re.findall(r"^\| (?!---)", page, re.MULTILINE))
    assert {len(re.findall(r"<t[hd]", row)) for row in rows} == {2}
    assert "<code>--text &lt;refuse|strip|exact&gt;</code>" in html


def test_the_readme_is_short_and_names_every_command():
    readme = (TOP / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= LONGEST
    assert {command for command in COMMANDS if f"`maxent {command}" not in readme} == set()
    for link in re.findall(r"\]\((?!http)([^)#]+)", readme):
        assert (TOP / link).is_file(), link


@pytest.mark.parametrize("name", method_names())
def test_the_types_of_all_parameters_are_known_at_run_time(name):
    """A name that only type checkers import would be anything, and a choice among words any text."""
    parameters = parameters_of(load_method(name))
    assert [key for key, each in parameters.items() if each.kind is object and not each.about.files] == []
