"""The code that the documentation shows: it runs, and prints what the page says.

Blocks ```` ```python ```` of a page share their names, in a folder where ``examples`` is that of the project. In
```` ```console ```` blocks the lines after ``$`` are commands, and the lines below each what it prints, where ``...``
stands for anything and white space counts as one blank. ```` ```sh ```` is for what is not run, as it installs.
"""

import contextlib
import io
import os
import re
import runpy
import shlex
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from papers import frontiers
from papers.drawing import compact, panels
from sklearn.ensemble import HistGradientBoostingClassifier
from support.paths import ROOT

from maxent.__main__ import main
from maxent.models.defenses.registry import methods, summaries
from maxent.studies.study_file import FILES, RELEASE

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


PATHS_PAGES = [*TOP.glob("*.md"), *(TOP / "docs").rglob("*.md"), *(TOP / "examples").rglob("*.md")]
TEXTS = ("", ".html", ".js", ".md", ".py", ".toml", ".txt", ".yaml", ".yml")
NAMED = re.compile(
    r"(?<![\w/.-])(?:\.ci|benchmarks|constraints|docs|examples|maxent|models|solvers|tests)/[\w./-]+\.(?:py|toml|md|json|csv|js)\b"
)


def test_files_that_pages_name_are_there():
    absent = {
        f"{page.relative_to(TOP)}: {name}"
        for page in PATHS_PAGES
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
    pages = [*PATHS_PAGES, *(TOP / ".github").rglob("*.yml"), TOP / ".pre-commit-hooks.yaml"]
    assert {f"{each.name}: {one[0]}" for each in pages for one in named.finditer(each.read_text("utf-8"))} == set()


@pytest.mark.regression(number=23)
def test_pages_install_from_a_copy_of_the_repository():
    text = {page.relative_to(TOP).as_posix(): page.read_text(encoding="utf-8") for page in PATHS_PAGES}
    assert "pip install .  " in text["README.md"]
    for name in ("README.md", "docs/index.md", "docs/tutorial.md"):
        before = text[name].split("\npip install .")[0].rpartition("```sh")[2]
        assert "venv .venv" in before, name
        assert ".venv/bin/activate" in before, name
    assert "pip install '.[plot]'" in text["README.md"]


def test_the_table_of_methods_has_them_all():
    page = (ROOT / "docs" / "attacks.md").read_text(encoding="utf-8")
    table = page.split("| METHOD | does | guarantees |")[1].split("\n\n")[0]
    missing = [
        f"| `{name}` | {summaries()[name]} | {kind.promise} |"
        for name, kind in methods().items()
        if f"| `{name}` |" not in table
    ]
    assert missing == []


def test_a_study_has_the_options_of_methods():
    page = (ROOT / "docs" / "sweep.md").read_text(encoding="utf-8")
    values = ", ".join(f"`{name}`" for name in RELEASE if name not in FILES)
    files = ", ".join(f"`{name}`" for name in FILES)
    assert f"| {values} | `maxent defend` |" in page, values
    assert f"| {files} | `maxent defend`: `true` for those of the data set |" in page, files


STUDY: dict[str, Any] = runpy.run_path(str(ROOT / "examples" / "boosting.py"))


def test_a_row_is_about_what_a_model_discloses() -> None:
    random = np.random.default_rng(0)
    people = pd.DataFrame({name: random.choice(list("abc"), 90) for name in STUDY["WORDS"]})
    people["age"] = random.integers(17, 90, 90)
    people["class"] = np.where((people["age"] > 50) ^ (people["sex"] == "a"), ">50K", "<=50K")
    cells = STUDY["row"]("two trees", HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=4), people, people)
    found = dict(zip(STUDY["HEAD"], cells, strict=True))
    assert found["leaves"] == found["counts"]
    assert 0 < float(found["D_overall"]) <= float(found["H nats"]) < np.log(2)
    assert 0.5 < float(found["accuracy"]) <= 1


def test_the_page_has_the_table_of_the_program() -> None:
    table = STUDY["TABLE"].search((ROOT / "docs" / "boosting.md").read_text(encoding="utf-8"))
    assert table is not None
    head, _, *rows = table[0].splitlines()
    assert head == "| " + " | ".join(STUDY["HEAD"]) + " |"
    assert [row.split(" | ")[0].removeprefix("| ") for row in rows] == [
        name for name, _ in STUDY["models"](STUDY["ROUNDS"])
    ]


PAGE = Path(__file__).parents[2] / "docs" / "frontiers.md"


def rows_of(name: str) -> dict[str, list[str]]:
    """The rows of a table of the page, by their first cell."""
    found = re.search(rf"<!-- table: {name} -->\n(.*?)<!-- end -->", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    cells = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in found[1].splitlines()]
    return {first: rest for first, *rest in cells}


def test_the_page_has_every_defense_and_limit() -> None:
    for name in frontiers.DATA:
        rows = rows_of(f"{name}-accuracy")
        assert rows["defense"] == frontiers.header("")[1:]
        assert [*rows][2:] == ["no defense", *frontiers.defenses_of(name)]


def test_the_best_subtree_is_nowhere_worse_on_the_people_of_its_tree() -> None:
    text = PAGE.read_text(encoding="utf-8")
    least = re.search(r"The least of all folds, data sets and limits: ([-+][\d.]+) points", text)
    assert least is not None
    assert float(least[1]) >= 0


def test_the_cautious_search_is_nowhere_worse_on_other_people() -> None:
    told = "optimal, --remove, cautious over prune-leaf"
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if told in line]
    assert len(lines) == len(frontiers.DATA)
    cells = [cell.split("±")[0].strip() for line in lines for cell in line.split("|")[3:-1]]
    assert all(float(cell) >= 0 for cell in cells if cell not in ("alone", "none"))
    assert not any(cell.startswith("-") for cell in cells)


def test_what_is_measured_of_a_few_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = np.random.default_rng(1)
    frame = pd.DataFrame({name: dice.choice(list("abc"), 240) for name in ("one", "two")})
    sure = (frame["one"] == "a") & (dice.random(240) < 0.9)
    frame["assessment"] = np.where(sure ^ (dice.random(240) < 0.2), "p", "n")
    frame.to_csv(tmp_path / "nursery.csv", index=False)
    defenses = ("optimal", "prune-parent")
    for name, value in {"LADDER": (5, 100), "FOLDS": 2, "KS": (5,), "POSTERIORS": (0.9,)}.items():
        monkeypatch.setattr(frontiers, name, value)
    monkeypatch.setattr(frontiers, "BETTER", (("prune-parent", "optimal"),))
    found = frontiers.measured("nursery", tmp_path, defenses)
    for limit in frontiers.limits():
        assert {*found[limit]} == {*defenses}
        for entry in found[limit].values():
            assert len(entry["test"]) in (0, frontiers.FOLDS)
    assert frontiers.worst({"nursery": found}) >= 0
    assert "| optimal | " in frontiers.accuracies(found)
    assert "Nursery" in frontiers.bests({"nursery": found})


@pytest.mark.slow
def test_a_part_of_the_page_is_computed_again() -> None:
    folder = os.environ.get("MAXENT_DATA")
    if not folder:
        pytest.skip("needs contraceptive.csv in the folder MAXENT_DATA")
    defenses = ("optimal", "optimal, --remove, cautious", "prune-parent", "kadet, C4.5")
    found: dict[str, Any] = frontiers.measured("contraceptive", Path(folder), defenses)
    page, again = rows_of("contraceptive-accuracy"), frontiers.accuracies(found)
    for each in ("no defense", *defenses):
        line = next(line for line in again.splitlines() if line.startswith(f"| {each} |"))
        assert [cell.strip() for cell in line.strip("|\n").split("|")][1:] == page[each]


@pytest.mark.slow
def test_the_trees_by_hand_are_those_of_the_page() -> None:
    folder = os.environ.get("MAXENT_DATA")
    if not folder:
        pytest.skip("needs adult.csv in the folder MAXENT_DATA")
    again = frontiers.by_hand(Path(folder))
    assert again in PAGE.read_text(encoding="utf-8")
    assert "82.876 | 0 |" in again
    assert "60.407 | 0 |" in again


FIGURES = sorted([*TOP.glob("docs/figures/*"), *TOP.glob("examples/papers/*/figures/*")])
LARGEST = 40_000  # Bytes of a figure: a page of text with markup


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.name)
def test_a_figure_is_small_and_on_a_page(path):
    assert path.stat().st_size < LARGEST
    if path.suffix == ".svg":
        assert ET.parse(path).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    else:
        assert path.read_bytes().startswith(b"\x89PNG\r\n")
    assert any(f"figures/{path.name})" in page.read_text(encoding="utf-8") for page in path.parents[1].rglob("*.md"))


def test_what_is_drawn_is_small_and_keeps_its_text(tmp_path):
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install -e '.[plot]'")
    with panels(tmp_path / "two.svg", 2) as both:
        for axes in both:
            axes.plot(range(100), [0.12345 * x for x in range(100)], marker="o", label="floor 0.12345")
            axes.legend()
    text = (tmp_path / "two.svg").read_text(encoding="utf-8")
    assert len(text) < 25_000
    assert text.count("floor 0.12345</text>") == 2
    assert len(re.findall(r"<use [^>]*/>", text)) >= 200
    names = re.findall(r' id="([^"]*)"', text)
    assert sorted({*re.findall(r"#(\w+)[\")]", text)} - {"fff"}) == sorted(names)
    assert {*re.findall(r' class="(\w+)"', text)} == {*re.findall(r"^\.(\w+) \{", text, re.MULTILINE)}


def test_elements_coordinates_and_styles_stay():
    svg = (
        "<svg>\n <defs>\n  <style>*{a: b}</style>\n </defs>\n"
        ' <g id="axes">\n  <g id="line">\n   <path id="m1" d="M 1.23456 2 \nL -0.5 66.777777 \n" style="fill: none"/>\n'
        '   <use xlink:href="#m1" x="1.9999" style="fill: none"/>\n  </g>\n </g>\n'
        ' <text style="b: c">0.12345</text>\n</svg>\n'
    )
    assert compact(svg) == (
        "<svg>\n<defs>\n<style>*{a: b}\n.s0 {fill: none}\n.s1 {b: c}\n</style>\n</defs><g><g>\n"
        '<path id="m1" d="M 1.23 2 L -0.5 66.78 " class="s0"/>\n<use xlink:href="#m1" x="2.00" class="s0"/></g></g>\n'
        '<text class="s1">0.12345</text>\n</svg>\n'
    )
