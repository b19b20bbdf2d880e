"""What pages say of the project holds: files that they name are there, and it is installed as they tell."""

import re
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
PAGES = [*TOP.glob("*.md"), *(TOP / "docs").rglob("*.md"), *(TOP / "examples").rglob("*.md")]
TEXTS = ("", ".html", ".js", ".md", ".py", ".toml", ".txt", ".yaml", ".yml")
NAMED = re.compile(
    r"(?<![\w/.-])(?:\.ci|benchmarks|constraints|docs|examples|maxent|models|solvers|tests)/[\w./-]+\.(?:py|toml|md|json|csv|js)\b"
)


def test_files_that_pages_name_are_there():
    absent = {
        f"{page.relative_to(TOP)}: {name}"
        for page in PAGES
        for name in NAMED.findall(page.read_text(encoding="utf-8"))
        if not (TOP / name).is_file()
    }
    assert absent == set()


def test_nothing_installs_the_name_of_the_project():
    """That name is free on the index, and anyone may take it: texts name the repository, or other packages."""
    by_name = re.compile(r"\binstall[\"',]*\s(\s*-\S+)*\s*[\"']*maxent\b(?!\s*@|/)|maxent\[|default: maxent\s*$", re.M)
    folders = (".ci", ".github", "benchmarks", "constraints", "docs", "examples", "maxent", "models", "solvers")
    files = [*TOP.glob("*.*"), TOP / "Makefile", *(each for name in folders for each in (TOP / name).rglob("*"))]
    texts = [each for each in files if each.is_file() and each.suffix in TEXTS]
    assert len(texts) > 500
    found = {
        f"{each.relative_to(TOP)}: {one[0]}" for each in texts for one in by_name.finditer(each.read_text("utf-8"))
    }
    assert found == set()
    for bad in ("pip install maxent", "pip install -U 'maxent[plot]'", "'maxent[x]'", "default: maxent\n"):
        assert by_name.search(bad), bad


def test_pages_name_no_release_before_there_is_one():
    if any(
        line.startswith("## [")
        for line in (TOP / "CHANGELOG.md").read_text("utf-8").splitlines()
        if "Unreleased" not in line
    ):
        pytest.skip("there is a release")
    named = re.compile(r"\brev: v?\d|@v\d+\.\d|maxent[ =]=?=?\s?v?0\.\d")
    pages = [*PAGES, *(TOP / ".github").rglob("*.yml"), TOP / ".pre-commit-hooks.yaml"]
    assert {f"{each.name}: {one[0]}" for each in pages for one in named.finditer(each.read_text("utf-8"))} == set()


@pytest.mark.regression(number=23)
def test_pages_install_from_a_copy_of_the_repository():
    text = {page.relative_to(TOP).as_posix(): page.read_text(encoding="utf-8") for page in PAGES}
    assert "pip install .  " in text["README.md"]
    for name in ("README.md", "docs/index.md", "docs/tutorial.md"):
        before = text[name].split("\npip install .")[0].rpartition("```sh")[2]
        assert "venv .venv" in before, name
        assert ".venv/bin/activate" in before, name
    assert "pip install '.[plot]'" in text["README.md"]
