"""The page of reproductions is what the study files and the pages say, and everything that is printed is in it once."""

import ast
import json
import os
import re
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest
from papers import pages, reproduce, study_files, verdicts
from papers.peers import compare, environments, maxent_
from papers.peers.page import tables
from papers.reproduction_page import MARK, PAGE, compose
from papers.tables import fill
from support.calls import refusal
from support.paths import ROOT

MODULES = study_files.PAPERS
# Every table, figure and number of the text that the papers print about examples or experiments.
PRINTED = {
    "friedman-2006": "table1 figure1 adult text_figures figure3 figure4 figure5 figure6",
    "wakabayashi-2024": "table4_figure3_tree_leaves table5_uniqueness_leaves table6_homogeneity table7_method1 "
    "table7_method2",
    "waseda-2025": "table5_Nt_delta table6_accuracy table6_text_claims table7 tableA1_plain_sklearn_tree "
    "original_tree_accuracy_text",
    "yang-2019": "worked_example table1 ncp_examples table2",
    "zhu-2010": "D1 D2 figure5 figure7 adult_experiment figure3 figure4 figure6 figure8 figure9",
}


def test_everything_that_is_printed_is_in_one_place() -> None:
    for paper in study_files.load_papers():
        names = Counter(name for item in paper.published for name in item.names)
        assert names == Counter(PRINTED[paper.name].split()), paper.name
    assert sorted(PRINTED) == [paper.name for paper in study_files.load_papers()]


def test_the_page_is_what_the_studies_say() -> None:
    assert compose(study_files.load_papers(), ROOT) == (ROOT / PAGE).read_text(encoding="utf-8")


def test_every_figure_of_a_program_is_on_its_page_and_on_this_one() -> None:
    shown = pages.figures((ROOT / PAGE).read_text(encoding="utf-8"))
    for paper in study_files.load_papers():
        for program in paper.programs:
            assert MODULES.joinpath(*program.name.split(".")).with_suffix(".py").is_file()
            there = pages.figures((ROOT / program.page).read_text(encoding="utf-8"))
            assert all((ROOT / file).is_file() for file in program.files)
            for figure in program.figures:
                assert figure in there
                assert figure in shown


def test_what_is_asserted_by_a_test_is() -> None:
    for paper in study_files.load_papers():
        for item in paper.published:
            assert item.verdict in ("", "exact", "not reproducible")
            if item.test:
                file, _, function = item.test.partition("::")
                module = ast.parse((ROOT / file).read_text(encoding="utf-8"))
                assert function in {node.name for node in module.body if isinstance(node, ast.FunctionDef)}


def test_every_number_of_a_protocol_is_read() -> None:
    folders = {name: MODULES / name.replace("-", "_") for name in study_files.paper_names()}
    have = [name for name, at in folders.items() if "[protocol]" in (at / "paper.toml").read_text(encoding="utf-8")]
    assert have
    for name in have:
        code = [ast.walk(ast.parse(path.read_text(encoding="utf-8"))) for path in folders[name].glob("*.py")]
        slices = [node.slice for nodes in code for node in nodes if isinstance(node, ast.Subscript)]
        assert set(study_files.protocol(name)) <= {node.value for node in slices if isinstance(node, ast.Constant)}


def test_every_program_runs_once_and_the_defenses_are_swept() -> None:
    planned = list(reproduce.steps(study_files.load_papers(), reproduce.SWEEPS, (), ROOT))
    names = [step.name for step in planned]
    assert len({*names}) == len(names)
    *_, sweep, page = planned
    assert sweep.command[1:4] == ("-m", "maxent", "sweep")
    assert Path(sweep.command[4]).is_file()
    assert page.command[1:3] == ("-m", "papers.defenses")
    assert {"adult.csv", "nursery.csv", "mushroom.csv"} <= {*sweep.data}


def test_every_figure_of_the_documentation_is_drawn_by_one_command() -> None:
    papers = study_files.load_papers()
    programs = [*reproduce.OWN, *(program for paper in papers for program in paper.programs)]
    drawn = {file for program in programs for file in program.files if file.endswith(".svg")}
    drawn |= {f"docs/figures/{name}.svg" for name in reproduce.SWEEPS}
    there = [*ROOT.glob("docs/figures/*.svg"), *MODULES.glob("*/figures/*.svg")]
    assert drawn == {path.relative_to(ROOT).as_posix() for path in there if not path.name.startswith("plots_")}
    *_, script = reproduce.steps(papers, (), reproduce.SCRIPTS, ROOT)
    assert Path(script.command[1]).is_file()
    assert script.command[2] == str(ROOT / "docs" / "figures")
    assert script.data == ()


def test_pages_that_are_not_what_their_programs_make_are_named(monkeypatch, capsys, tmp_path) -> None:
    """The last of two programs makes another page; the first one stays as it is."""
    papers = study_files.load_papers()[:1]
    [program] = papers[0].programs
    for name in program.files:
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text("as it was", encoding="utf-8")
    text = "as it was"

    def made(planned):
        for step in planned:
            folder = Path(step.command[3])
            (folder / "figures").mkdir()
            for name in program.files:
                (folder / Path(name).relative_to(program.folder)).write_text(text, encoding="utf-8")
        return []

    monkeypatch.setattr(reproduce, "run", made)
    monkeypatch.setattr(reproduce, "missing", lambda *_: "")
    call = ["--check", "--only", papers[0].name, "--root", str(tmp_path)]
    assert reproduce.main(call) == 0
    text = "another one"
    assert reproduce.main(call) == 1
    assert f"{program.page} is not what its program makes" in capsys.readouterr().err
    assert (tmp_path / program.page).read_text(encoding="utf-8") == "as it was"


# --- A study of its own ----------------------------------------------------------------------------------------

STUDY = """
[paper]
short = "Nobody (2000)"
reference = "Nobody, *Nothing*."

[[program]]
name = "tiny.study"
page = "examples/papers/tiny/README.md"
figures = ["tiny.svg"]
data = ["tiny.csv"]

[[published]]
names = ["table1"]
title = "Table 1"
tables = ["one", "two"]

[[published]]
names = ["figure1"]
title = "Figure 1"
verdict = "not reproducible"
why = "without numbers"
"""
TINY = """# Tiny

## Table 1: `k`, once more

See [above](#tiny).

<!-- table: one -->
```
k    U  ours  diff   sd  ACC  ours  diff   sd  verdict
# 5  0   1.0  +1.0  0.1  0.5   0.5     0  0.1  U off; ACC exact
# 6  0   0.0     0  0.1  0.5   0.4  -0.1  0.1  ACC near; U cut off
# 6*  0   0.0     0  0.1  0.5   0.4  -0.1  0.1  exact
```
<!-- end -->

### The text

<!-- table: two -->
| says | verdict |
| --- | ---: |
| a \\| b | does not hold: no |
| c | holds |
| d |  |
<!-- end -->

## Other

![a figure](figures/tiny.svg)
"""


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of papers, with a program that fills in nothing and says where it was called."""
    for name, text in {
        "examples/papers/tiny/paper.toml": STUDY,
        "examples/papers/tiny/README.md": TINY,
        PAGE: f"# Words\n{MARK}old\n",
        "examples/papers/tiny/study.py": "import pathlib, sys; pathlib.Path(sys.argv[1], 'called').touch()",
        "data/tiny.csv": "",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    folder = tmp_path / "examples" / "papers"
    monkeypatch.setattr(reproduce, "load_papers", lambda: study_files.load_papers(folder=folder))
    monkeypatch.setattr(reproduce, "paper_names", lambda: study_files.paper_names(folder))
    monkeypatch.setattr(reproduce, "MODULES", tmp_path / "examples")
    monkeypatch.setattr(reproduce, "OWN", ())
    monkeypatch.setattr(reproduce, "SWEEPS", ())
    monkeypatch.setattr(reproduce, "SCRIPTS", ())
    monkeypatch.setenv("MAXENT_DATA", str(tmp_path / "data"))
    return tmp_path


def call(folder: Path, *more: str) -> int:
    return int(reproduce.main(["--root", str(folder), *more]))


def test_a_study_is_run_and_summed_up(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(tiny, "--only", "tiny") == 0
    assert (tiny / "examples" / "papers" / "tiny" / "called").exists()
    assert "[1/1] tiny.study ..." in capsys.readouterr().err
    text = (tiny / PAGE).read_text(encoding="utf-8")
    assert text.startswith(f"# Words\n{MARK}\n|  | cells | exact | within noise | off |\n")
    assert "\n| Nobody (2000) | 6 | 3 | 1 | 2 |\n\n### Nobody (2000): verdicts\n" in text
    assert (
        "| [Table 1](tiny/README.md#table-1-k-once-more) | 6 | 3 exact, 1 within noise, 2 off | U +1.0, ACC -0.1 |\n"
        "| Figure 1 |  | not reproducible |  |\n\n- Figure 1: without numbers.\n"
    ) in text
    assert "### Table 1: `k`, once more\n\nSee [above](tiny/README.md#tiny).\n" in text
    assert "\n#### The text\n\n| says | verdict |" in text
    assert "\n# 5  0 " in text  # code has no headings
    assert "table: one" not in text
    assert text.endswith("### Other figures\n\n![a figure](tiny/figures/tiny.svg)\n")


def test_the_page_alone(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MAXENT_DATA")
    assert call(tiny, "--page") == 0
    assert not (tiny / "examples" / "papers" / "tiny" / "called").exists()
    assert "Nobody (2000)" in (tiny / PAGE).read_text(encoding="utf-8")


def test_missing_data_are_named_before_anything_runs(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tiny / "data" / "tiny.csv").unlink()
    assert call(tiny) == 2
    assert "tiny.csv, for tiny.study" in capsys.readouterr().err
    monkeypatch.delenv("MAXENT_DATA")
    assert call(tiny) == 2
    assert "set the environment variable MAXENT_DATA to the folder that holds tiny.csv" in capsys.readouterr().err
    assert not (tiny / "examples" / "papers" / "tiny" / "called").exists()


def test_a_program_that_fails_is_named(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tiny / "examples" / "papers" / "tiny" / "study.py").write_text("raise SystemExit(3)", encoding="utf-8")
    assert call(tiny) == 1
    assert "failed: tiny.study" in capsys.readouterr().err
    assert "Nobody (2000)" in (tiny / PAGE).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("<!-- table: two -->", "<!-- table: 2 -->", "tiny/README.md: there is no table two"),
        ("### The text", "## The text", "tiny/README.md: the tables one, two are not in one section"),
        ("| holds |", "| perhaps |", "tiny/README.md: no verdict on the row: 'perhaps'"),
        ("U off; ACC exact", "U off", "tiny/README.md: no verdict on U, ACC: 'U off'"),
        ("| says | verdict |", "| says | so |", "tiny/README.md: the table two has no verdicts"),
    ],
)
def test_a_page_that_cannot_be_summed_up_is_named(
    tiny: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, said: str
) -> None:
    (tiny / "examples" / "papers" / "tiny" / "README.md").write_text(TINY.replace(old, new), encoding="utf-8")
    assert call(tiny, "--page") == 1
    assert said in capsys.readouterr().err
    assert (tiny / PAGE).read_text(encoding="utf-8") == f"# Words\n{MARK}old\n"


def test_a_study_file_that_is_wrong_is_told_line_by_line(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = STUDY.replace("short", "shrt").replace('tables = ["one", "two"]', "").replace("why = ", "test = 1\nwhy = ")
    study = tiny / "examples" / "papers" / "tiny" / "paper.toml"
    study.write_text(wrong.replace('page = "examples/papers/tiny/README.md"', "page = 7"), encoding="utf-8")
    refused = refusal(study_files.load_paper, study)
    assert {problem.field for problem in refused.problems} == {"short", "shrt", "tables", "test", "page"}
    assert call(tiny, "--page") == 2
    assert "shrt" in capsys.readouterr().err


# --- Verdicts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("printed", "mean", "error", "said"),
    [
        ("0.937", 0.93704, 0, "exact"),
        ("7863.9", 7863.900000000001, 0, "exact"),
        ("4.66e-7", 4.6571e-7, 0, "exact"),
        ("7863", 7863.9, 0, "cut off"),
        ("0.855", 0.85448, 0, "twice"),
        ("0.855", 0.8530, 0.0021, "near"),
        ("0.855", 0.8530, 0.0019, "off"),
        ("24", 23.5, 0, "exact"),
    ],
)
def test_verdicts(printed: str, mean: float, error: float, said: str) -> None:
    assert verdicts.of(printed, mean, error) == said


def test_a_number_between_ties_and_a_mean_of_runs() -> None:
    assert verdicts.of("7.0", 7.4, ties=(6.9, 7.4)) == "tied"
    assert verdicts.of("6.0", 7.4, ties=(6.9, 7.4)) == "off"
    assert verdicts.of_runs("2.5", [1.0, 2.0, 3.0]) == "near"
    assert verdicts.of_runs("2.7", [1.0, 2.0, 3.0]) == "off"


def test_the_words_of_a_verdict_are_read_back() -> None:
    assert verdicts.read("U, H_u cut off; ACC off", ["U", "H_u", "ACC"]) == [
        ("U", "cut off"),
        ("H_u", "cut off"),
        ("ACC", "off"),
    ]
    assert verdicts.read("does not hold: of trees; of others") == [("", "does not hold")]
    assert {group for group, words in verdicts.GROUPS.items() if {*words} & {*verdicts.VERDICTS}} == {*verdicts.GROUPS}


def test_sections_have_the_anchors_of_the_site() -> None:
    toc = import_module("markdown.extensions.toc")
    for path in [*ROOT.glob("docs/*.md"), *MODULES.rglob("*.md")]:
        for section in pages.sections(path.read_text(encoding="utf-8")):
            assert section.anchor == toc.slugify(re.sub(r"`", "", section.title), "-")


@pytest.mark.parametrize("paper", sorted(PRINTED))
def test_every_table_of_a_page_has_its_place(paper):
    text = (MODULES / paper.replace("-", "_") / "README.md").read_text(encoding="utf-8")
    names = re.findall(r"<!-- table: ([^>]+) -->", text)
    assert names
    assert fill(text, {name: f"{name}\n" for name in names}).count("<!-- end -->") == len(names)


PEERS_PAGE = ROOT / "examples" / "papers" / "peers" / "README.md"
TIMES = {"installed": {"version": "2.0", "packages": 3, "bytes": 2_500_000, "largest": {"torch": 9e5}, "seconds": 1.0}}
TIMES |= {"bare": {"cpu": 0.02, "wall": 0.03, "mb": 10.0}, "import": {"cpu": 1.5, "wall": 2.0, "mb": 90.0}}
TIMES |= {"run": {"cpu": 4.0, "wall": 5.0, "mb": 120.0}}
OWN = {
    "leaves": [1, 9, 30],
    "unique": 1,
    "homogeneous_leaves": 1,
    "homogeneous": 9,
    "background_leaves": 2,
    "background": 10,
    "k": 1,
    "exposed": 9,
    "below": 10,
    "status": "optimal",
    "certificate": "global",
    "individuals": 40,
    "certain": 9,
    "max_posterior": 1.0,
    "bayes_vulnerability": 0.75,
    "entropy": 0.4,
    "divergence": 0.3,
    "divergence_max": 2.0,
    **{f"{name}_{kind}": 0.5 for name in ("audit", "estimate") for kind in ("cpu", "wall")},
}
SACRO = {
    "leaves": [1, 9, 30],
    "threshold": 10,
    "k": 1,
    "below": 10,
    "class_disclosure": 9,
    "small_groups": 12,
    "metrics": {
        **{f"{name}_risk": name == "dof" for name in ("k_anonymity", "class_disclosure", "smallgroup", "dof")},
        **{"unnecessary_risk": True, "gen_error_risk": False},
        **{"generalisation_gap": 0.01, "train_acc": 0.9, "test_acc": 0.89},
    },
    "attack_cpu": 0.2,
    "attack_wall": 0.25,
}


@pytest.fixture
def results():
    return {
        "maxent": {**TIMES, "found": OWN},
        "SACRO-ML": {**TIMES, "found": SACRO},
        "ART": {"refused": "does not install: no matching distribution"},
    }


def cells(table):
    """Rows of a Markdown table by their first cell."""
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("|")]
    return {line[0]: line[1:] for line in lines}


def test_tables_say_what_was_found_and_what_does_not_install(results):
    made = tables(results)
    cost, same = cells(made["cost"]), cells(made["same"])
    assert (cost[""], cost["site-packages, MB"]) == (["maxent", "SACRO-ML", "ART"], ["2", "2", "-"])
    assert cost["attack, CPU s"] == ["audit 0.50, estimate 0.50", "0.20", "-"]
    assert cost["why not"] == ["", "", "does not install: no matching distribution"]
    assert "| 9 of 40 |" in made["maxent"]
    assert cells(made["sacroml"])["degrees of freedom risk"] == ["yes"]
    assert set(cells(made["art"])["the most frequent value"]) == {"-"}
    assert same["records in leaves of fewer than ten"][0].endswith(": 10")
    assert "maxent, SACRO-ML: the same sizes of leaves." in made["same"]


def test_another_tree_is_not_passed_over(results):
    results["SACRO-ML"]["found"] = {**SACRO, "leaves": [1, 8, 31]}
    assert "DIFFERENT" in tables(results)["same"]


def test_the_page_has_a_place_for_every_table(results):
    page = PEERS_PAGE.read_text(encoding="utf-8")
    filled = fill(page, tables(results))
    assert "| 9 of 40 |" in filled
    outside = re.compile(r"<!-- table: .*?<!-- end -->", re.DOTALL)
    assert outside.sub("", filled) == outside.sub("", page)


def test_sizes_are_those_of_files(tmp_path):
    for name, size in {"big/deep/a": 500, "big/b": 7, "small/c": 20, "pip/d": 900, "alone.py": 30}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(bytes(size))
    sizes = environments.bytes_of(tmp_path)
    assert sizes == {"big": 507, "small": 20, "pip": 900, "alone.py": 30}
    assert environments.largest(sizes, ["pip"], 2) == {"big": 507, "alone.py": 30}


def test_cuda_is_refused():
    def report(*names):
        return {"install": [{"metadata": {"name": name}} for name in names]}

    environments.refuse_cuda(report("torch", "numpy"))
    with pytest.raises(environments.NotInstalled, match="CUDA libraries: nvidia-cublas, nvidia-nccl-cu12"):
        environments.refuse_cuda(report("torch", "nvidia-nccl-cu12", "nvidia-cublas"))


def test_a_tool_that_pip_refuses_or_that_does_not_run_says_why(monkeypatch, tmp_path):
    failed = subprocess.CompletedProcess([], 1, "", "WARNING: x\nERROR: first\nERROR: No matching distribution found\n")
    with monkeypatch.context() as patched:
        patched.setattr(subprocess, "run", lambda *_, **__: failed)
        patched.setattr(environments, "bytes_of", lambda _: {})
        patched.setattr(environments, "site_packages", lambda _: tmp_path)
        said = compare.run(environments.PEERS[2], tmp_path / "env", tmp_path)
    assert said == {"refused": "does not install: ERROR: No matching distribution found"}
    with pytest.raises(RuntimeError, match=r"^ModuleNotFoundError: No module named 'nothing_of_that_name'$"):
        compare.measured([sys.executable, "-c", "import nothing_of_that_name"])
    assert compare.measured([sys.executable, "-c", "pass"])["mb"] > 1


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("MAXENT_DATA"), reason="MAXENT_DATA does not name the folder of adult.csv")
def test_our_own_answers_are_those_of_the_page(tmp_path):
    compare.write_instance(tmp_path)
    maxent_.main(str(tmp_path), str(tmp_path / "found.json"))
    own = {**TIMES, "found": json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))}
    made = tables({"maxent": own, "SACRO-ML": {"refused": ""}, "ART": {"refused": ""}})["maxent"]
    assert f"<!-- table: maxent -->\n{made}<!-- end -->" in PEERS_PAGE.read_text(encoding="utf-8")
