"""Errors in one style: field, expected, found; options as the command line spells them, names of Python in Python."""

import inspect
import json
import os
import pickle
import shutil
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from support.calls import printed_by, refusal, refused
from support.paths import D1, EXAMPLES, copy_d1

import maxent
from maxent.__main__ import main
from maxent.command_line.messages import PARTS
from maxent.command_line.parsing import spellings
from maxent.commands import main as cli
from maxent.commands.defend import _of_all
from maxent.disclosure.limits import Limits
from maxent.models.errors import ARGUMENT, InvalidInput, Problem
from maxent.results.text.terminal import in_study, on_command_line, respell, respelled
from maxent.solvers.backends.registry import MissingExtra, UnknownBackend

COLUMNS = ["--target", "Salary", "--qi", "Education,Country,Gender"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    copy_d1(tmp_path)
    (tmp_path / "gaps.csv").write_text("A,B,T\nx,,no\n,2,yes\ny,3,no\n", encoding="utf-8")
    (tmp_path / "semicolons.csv").write_text("Education;Country;Gender\nMasters;USA;Male\nx\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


TREE, DEFEND = ["tree.json", "qi.csv"], ["truth.csv", *COLUMNS, "-o", "out.json"]
CALLS = {
    "whole number": (["defend", "none", *DEFEND, "--k", "abc"], ["--k: expected a whole number, found 'abc'"]),
    "number": (["estimate", *TREE, "--tolerance", "low"], ["--tolerance: expected a number, found 'low'"]),
    "choice": (["defend", "prune", *DEFEND],
        ["METHOD: expected one of none, prune-leaf, prune-parent, optimal, kadet, erp, rdt, found 'prune'; did you"]),
    "option": (["audit", "tree.json", "--risks"],
        ["--risks: expected an option of 'maxent audit', found none", "'--risk'"]),
    "short option": (["audit", "tree.json", "-x"],
        ["-x: expected an option of 'maxent audit', found none of this name"]),
    "no value": (["audit", "tree.json", "--facts"], ["--facts: expected a value, found nothing"]),
    "value of a flag": (["audit", "tree.json", "--risk=1"], ["--risk: expected no value, found one"]),
    "too many": (["predict", "tree.json", "qi.csv", "x", "y"],
        ["expected no more arguments of 'maxent predict', found 'x', 'y'"]),
    "neither one table nor one for each": (["audit", "tree.json", "qi.csv", "truth.csv"],
        ["TREE... [QI]: expected the releases, and after them", "found 1 release and 2 tables"]),
    "no table": (["estimate", "tree.json", "tree.json"], ["TREE... QI: expected the", "'tree.json' at the end"]),
    "all at once": (["defend", "nne", "--k", "a", "--k", "2", "--k", "b", "--l", "c", "--rule", "d"],
        ["METHOD: expected one of", "DATA: expected a value, found nothing",
        "--target: expected a value, found nothing", "--qi: expected a value, found nothing",
        "-o: expected a value, found nothing", "--k: expected a whole number, found 'a'",
        "--k: expected a whole number, found 'b'", "--l: expected a number, found 'c'",
        "--rule: expected one of twig, literal, found 'd'"]),
    "command": (["audt"], ["COMMAND: expected one of estimate, bounds,", "found 'audt'; did you mean 'audit'?"]),
    "missing values": (["defend", "none", "gaps.csv", "--target", "T", "--qi", "A", "-o", "out.json"],
        ["gaps.csv: column 'A': values: expected no missing values:", "(--missing category)"]),
    "missing numbers": (["defend", "none", "gaps.csv", "--target", "T", "--qi", "B", "-o", "out.json", "--missing",
        "category"],
        ["gaps.csv: column 'B': values: expected no missing values: impute or drop them, found 1 missing"]),
    "missing classes": (["defend", "none", "gaps.csv", "--target", "A", "--qi", "B", "-o", "out.json", "--missing",
        "category"],
        ["gaps.csv: column 'A': values: expected no missing values: give them a name, impute or drop them, found 1"]),
    "of kadet": (["defend", "kadet", *DEFEND, "--min-samples-leaf", "3"],
        ["--min-samples-leaf: expected none for kadet: use --k, found 3"]),
    "several": (["defend", "none", *DEFEND, "--max-depth", "-1", "--min-samples-split", "0"],
        ["--max-depth: expected", "--min-samples-split: expected"]),
    "columns": (["defend", "none", "truth.csv", "--target", "Salary", "--qi", "Salary", "-o", "out.json"],
        ["--target: expected a column that is not among --qi and --private, found 'Salary'"]),
    "marginal": (["estimate", *TREE, "--knowledge", "marginal"], ["--marginal: expected a file", "(--marginal)"]),
    "count": (["estimate", *TREE, "--count", "Gender"],
        ["--count: expected a column that is neither an attribute nor the target, found 'Gender'"]),
    "back end": (["estimate", *TREE, "--backend", "ipop"],
        ["--backend: expected one of auto,", "found 'ipop'; did you"]),
    "back ends": (["bench", *TREE, "--backends", "ipop"],
        ["--backends: expected one of auto,", "found 'ipop'; did you"]),
    "numbers": (["estimate", *TREE, "--time-limit", "0", "--starts", "0", "--top", "0", "--jobs", "0"],
        ["--time-limit: expected", "--starts: expected", "--top: expected", "--jobs: expected"]),
    "attack": (["audit", "tree.json", "--min-size", "0"], ["--min-size: expected a whole number of at least 1"]),
    "needs a table": (["audit", "tree.json", "--count", "n"], ["--count: expected the adversary's table (QI)"]),
    "records need a table": (["audit", "qi.csv"], ["QI: expected the adversary's table"]),
    "only of records": (["audit", "tree.json", "--target", "x"],
        ["--target: expected none: it applies only to records"]),
    "limits": (["estimate", *TREE, "--max-posterior", "2", "--min-k", "0"],
        ["--max-posterior: expected a probability", "--min-k: expected"]),
    "nothing to enforce": (["estimate", *TREE, "--enforce"],
        ["--enforce: expected a limit: --max-posterior, --min-k, --max-certain, --max-right-guesses, --max-lift or "
         "--max-member"]),
    "separators": (["audit", "tree.json", "semicolons.csv"],
        ["a column of this name (is the mark between cells a semicolon? Then give --csv-delimiter semicolon)"]),
    "size": (["audit", *TREE, "--max-memory", "lots"], ["--max-memory: expected a size, such as 500MB", "'lots'"]),
    "a size of many digits": (["audit", *TREE, "--max-memory", "9" * 99], ["--max-memory: expected a size, such as"]),
    "a line break in a list": (["defend", "none", "truth.csv", "--target", "Salary", "--qi", "Education\rCountry", "-o",
        "out.json"], ["--qi: expected names with commas between; in quotes where they have",
        "found text that cannot be read"]),
    "a list of one endless name": (["audit", *TREE, "--na", "x" * 140_000], ["--na: expected names with commas"]),
    "a whole number in other digits": (["defend", "none", *DEFEND, "--max-depth", "\u0661\u0660"],
        ["--max-depth: expected a whole number in digits, such as 10, found '\u0661\u0660'"]),
    "a number in other digits": (["estimate", *TREE, "--confidence", "\u0660.\u0665"],
        ["--confidence: expected a number in digits, such as 10, found '\u0660.\u0665'"]),
    "records in place of a tree": (["defend", "erp", *DEFEND, "--distance", "ranks", "--generalization", "uniform"],
        ["--distance: expected none: it needs --publish records, and --generalization tiered, the default",
        "--generalization: expected none: it needs --publish records, found 'uniform'"]),
    "plot": (["estimate", *TREE, "--plot", "leaves"], ["--plot: expected -o with a file name that ends in .svg"]),
    "truth of a plot": (["estimate", *TREE, "--plot", "divergence", "-o", "a.svg"], ["--truth: expected"]),
    "two forms": (["explain", *TREE, "--json", "--latex"], ["--latex: expected none with --json: both print"]),
    "nowhere": (["sweep", "study.toml"], ["-o: expected a folder for the results, or --dry-run, found nothing"]),
    "where a file is": (["sweep", "study.toml", "-o", "qi.csv"], ["-o: expected a folder"]),
}  # fmt: skip


def leaks(text):
    """Words of a library, or of Python, in a message."""
    words = (
        "Input should",
        "Invalid value",
        "No such",
        "valid integer",
        "unable to parse",
        "requires an argument",
        "pydantic",
    )
    return [
        word
        for word in (*words, "options: ", "option: ", "argument: ", "None", "min_", "max_", "_limit")
        if word in text
    ]


def test_of_a_wrong_method_the_options_are_read_as_those_of_all(folder, capsys):
    assert main(["defend", "prune", *DEFEND, "--max-depth", "2", "--beta", "low"]) == 2
    method, beta, number, *_ = capsys.readouterr().err.splitlines()
    assert method.startswith("maxent: METHOD: expected one of none, prune-leaf")
    assert beta == "maxent: --beta: expected a number, found 'low'"
    assert number == "maxent: 2 problems"


def test_of_a_long_line_the_middle_is_left_out(folder, capsys):
    name = "a" + "b" * 5000 + "c.json"
    printed = printed_by(capsys, ["audit", name, "--json"], 2)
    (line,) = printed.err.splitlines()
    assert len(line) < 1100
    assert line.startswith("maxent: abbb")
    assert "bbb ... bbb" in line
    assert line.endswith("bc.json: file: path: expected a file that can be read, found File name too long")
    assert json.loads(printed.out)["error"]["problems"][0]["source"] == name


@pytest.mark.parametrize("case", CALLS.values(), ids=CALLS)
@pytest.mark.regression(number=18)
def test_a_mistake_in_a_call_is_told_in_the_words_of_the_command_line_and_as_json(folder, capsys, case):
    call, expected = case
    call = [*call, "--json"] if call[-1] != "--facts" else ["audit", "--json", *call[1:]]
    before = sorted(os.listdir(folder))
    printed = printed_by(capsys, call, 2)
    document = json.loads(printed.out)
    assert set(document) == {"error"}
    assert document["error"]["exit"] == 2
    problems = document["error"]["problems"]
    text = "\n".join(problem["message"] for problem in problems)
    for words in expected:
        assert words in text
    assert not leaks(text + printed.err)
    for problem in problems:
        assert set(problem) == {"message", *PARTS}
        assert problem["message"].endswith(
            f"{problem['field']}: expected {problem['expected']}, found {problem['found']}"
        )
        assert problem["source"] in ("command line", "gaps.csv", "semicolons.csv")
        assert f"maxent: {problem['message']}\n" in printed.err
    assert sorted(os.listdir(folder)) == before


def test_the_object_has_all_problems_of_a_file(folder, capsys):
    document = json.loads((folder / "tree.json").read_text(encoding="utf-8"))
    document["trees"][0]["nodes"] += [{"id": f"X{i}", "label": "rich"} for i in range(100)]
    (folder / "tree.json").write_text(json.dumps(document), encoding="utf-8")
    printed = printed_by(capsys, ["estimate", *TREE, "--json"], 2)
    problems = json.loads(printed.out)["error"]["problems"]
    assert len(problems) == 200
    assert {problem["source"] for problem in problems} == {"tree.json"}
    assert (problems[0]["where"], problems[0]["field"]) == ("node X0", "label")
    lines = printed.err.splitlines()
    assert len(lines) == 51
    assert lines[-1] == "maxent: and 150 more problems, 200 in all"


def test_an_error_without_parts_is_json_too(folder, capsys, monkeypatch):
    def fail(error):
        def call(*_, **__):
            raise error

        return call

    for error, message in (
        (MissingExtra("a back end needs this: pip install that"), "a back end needs this: pip install that"),
        (MemoryError(), "the problem does not fit into memory"),
    ):
        monkeypatch.setattr("maxent.api.audit.audit_release", fail(error))
        printed = printed_by(capsys, ["audit", "tree.json", "--json"], 2)
        (problem,) = json.loads(printed.out)["error"]["problems"]
        assert problem == {"message": message, **dict.fromkeys(PARTS)}
        assert printed.err == f"maxent: {message}\n"
    monkeypatch.setattr("maxent.api.audit.audit_release", fail(KeyboardInterrupt()))
    printed = printed_by(capsys, ["audit", "tree.json", "--json"], 130)
    assert json.loads(printed.out) == {
        "error": {"exit": 130, "problems": [{"message": "interrupted", **dict.fromkeys(PARTS)}]}
    }
    assert printed.err == "maxent: interrupted\n"


@pytest.mark.parametrize("command", ["estimate", "compare"])
def test_a_file_that_cannot_be_written_at_the_end_leaves_one_object(folder, capsys, monkeypatch, command):
    def fail(*_, **__):
        raise InvalidInput("report.html", [Problem("file", "path", "a file that can be written", "a full disk")])

    monkeypatch.setattr("maxent.command_line.verdict.write_text", fail)
    document = json.loads(printed_by(capsys, [command, *TREE, "--report", "report.html", "--json"], 2).out)
    assert document["error"]["problems"][0]["found"] == "a full disk"


# --- Names -----------------------------------------------------------------------------------------------------


def names_of(command):
    if command == "defend":
        return spellings(_of_all().params)
    return spellings(cli.made(command).params)


FUNCTIONS = {
    "estimate": (maxent.estimate, {"release", "reading", "progress", "interruptible", "folder"}),
    "compare": (maxent.compare, {"releases", "reading", "progress", "interruptible", "each", "qi"}),
    "audit": (maxent.audit, {"release", "reading", "progress", "folder"}),
    "defend": (maxent.defend, {"reading", "method", "progress"}),
    "advise": (maxent.advise, {"y", "reading", "progress", "interruptible", "limits"}),
    "bench": (maxent.bench, {"release", "reading", "progress"}),
    "sweep": (maxent.sweep, {"progress", "interruptible"}),
}


@pytest.mark.parametrize("command", FUNCTIONS)
def test_every_parameter_of_python_has_a_spelling(command):
    """So that what a function says about its parameters is told as the command spells them."""
    function, others = FUNCTIONS[command]
    names = names_of(command)
    assert set(inspect.signature(function).parameters) - set(names) == others
    if "presolve" in names:
        assert names["presolve"] == "--no-presolve"
    assert names["output" if command != "audit" else "as_table"] in ("-o", "--as-table")


def test_mentions_are_spelled_where_they_are_shown():
    spell = on_command_line(names_of("defend"))
    assert (
        respell("a category (missing='category'), or k= larger", spell)
        == "a category (--missing category), or --k larger"
    )
    told = "or parameters={'objective': 'binary:logistic'}, x={'a': 3}"
    convert = on_command_line(names_of("convert"))
    assert respell(told, convert) == "or --param objective=binary:logistic, x={'a': 3}"
    assert respell("class_public=True, x=3, n = 5, k==2", spell) == "--class-public, x=3, n = 5, --k=2"
    assert (
        respell("a category (missing='category'), or k= larger", in_study)
        == 'a category (missing = "category"), or k larger'
    )
    found = respelled(Problem(ARGUMENT, "qi and private", "k= or l=", "k=3"), spell)
    assert (found.field, found.expected, found.found) == ("--qi and --private", "--k or --l", "k=3")
    elsewhere = Problem("line 3", "k", "a number", "k=3")
    assert respelled(elsewhere, spell) == elsewhere  # a column may be called like an option


def test_what_only_convert_is_told_of_a_model_is_spelled_with_its_name(tmp_path, capsys):
    """Other commands read a model whose columns have no names, too, and have no option for these."""
    skops, tree = pytest.importorskip("skops.io"), pytest.importorskip("sklearn.tree")
    skops.dump(tree.DecisionTreeClassifier().fit([[0], [1]], ["no", "yes"]), tmp_path / "tree.skops")
    model, people = str(tmp_path / "tree.skops"), str(tmp_path / "people.csv")
    pd.DataFrame({"A": [0, 1], "T": ["no", "yes"]}).to_csv(people, index=False)
    told = "%(name)s: expected the names of the columns, which %(name)s gives"
    assert told % {"name": "maxent convert --features"} in printed_by(capsys, ["estimate", model, people], 2).err
    assert told % {"name": "--features"} in printed_by(capsys, ["convert", model, "-o", "tree.json"], 2).err


@pytest.mark.regression(number=18)
def test_python_has_its_own_names(folder):
    refused(r"\(missing='category'\)", maxent.defend, "gaps.csv", target="T", qi=["A"])
    with pytest.raises(maxent.InvalidInput, match="min_samples_leaf: expected none for kadet: use k="):
        maxent.defend("truth.csv", "kadet", target="T", qi=["A"], min_samples_leaf=3)
    refused(r"argument: marginal: expected .* \(marginal=\)", maxent.estimate, *TREE, knowledge="marginal")
    with pytest.raises(UnknownBackend, match="argument: backend: expected one of auto"):
        maxent.estimate(*TREE, backend="nobody")


def test_what_is_no_table_no_method_and_no_back_end_is_refused_in_python(folder):
    for call in (maxent.estimate, maxent.bench):
        with pytest.raises(
            maxent.InvalidInput, match="argument: qi: expected the adversary's table: a pandas DataFrame"
        ):
            call(TREE[0], None)
    refused("argument: qi: expected the adversary's table: a pandas DataFrame", maxent.compare, [TREE[0]], None)
    with pytest.raises(maxent.InvalidInput, match=r"argument: method: expected one of none, .*, found .* A .*"):
        maxent.defend("none", pd.DataFrame({"A": ["x", "y"], "T": ["no", "yes"]}), target="T", qi=["A"])
    with pytest.raises(UnknownBackend, match=r"argument: backend: expected one of auto, .*, found None"):
        maxent.estimate(*TREE, backend=None)


def test_notes_on_rates_name_the_option_as_whoever_is_told_does(folder, capsys):
    assert main(["audit", str(write_rates(folder))]) == 0
    assert "read as intervals (--rounding exact takes them literally)" in capsys.readouterr().out
    [note] = maxent.audit("rates.json")["notes"]
    assert "read as intervals (rounding='exact' takes them literally)" in note


def write_rates(folder):
    """A release whose rate looks rounded: 0.12 of 200 records is 23 to 25 of them."""
    leaf = {"id": "L", "label": "x", "error_rate": 0.12, "n": 200}
    attribute = {"name": "A", "type": "categorical", "values": ["a"]}
    document = {"format": "maxent/1", "target": {"name": "S", "classes": ["x", "y"]}, "attributes": [attribute]}
    path = folder / "rates.json"
    path.write_text(json.dumps({**document, "trees": [{"nodes": [leaf]}]}), encoding="utf-8")
    return path


def test_an_error_comes_back_from_another_process():
    for error in (
        InvalidInput("a.csv", [Problem("line 1", "x", "a", "b"), Problem("line 2", "x", "a", "c")]),
        UnknownBackend("one of a, b", "'c'"),
    ):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert (str(again), again.source, again.problems) == (str(error), error.source, error.problems)


RULES = "|--- age <= 40.50\n|   |--- class: b\n|--- age >  40.50\n|   |--- class: a\n"
GROW = "--target Salary --qi Education,Country,Gender"

SWAPPED = "expected them in this order: maxent"
MISTAKES = {
    # swapped
    "estimate qi.csv tree.json": f"TREE... [QI]: {SWAPPED} estimate tree.json qi.csv, found them swapped",
    "bounds qi.csv tree.json": f"{SWAPPED} bounds tree.json qi.csv, found them swapped",
    "audit qi.csv tree.json": f"{SWAPPED} audit tree.json qi.csv, found them swapped",
    "explain qi.csv tree.json": f"{SWAPPED} explain tree.json qi.csv, found them swapped",
    "predict qi.csv tree.json": f"{SWAPPED} predict tree.json qi.csv, found them swapped",
    "compare qi.csv tree.json tree.json": f"{SWAPPED} compare tree.json tree.json qi.csv, found them swapped",
    "check --policy satre qi.csv tree.json": f"{SWAPPED} check tree.json qi.csv, found them swapped",
    "review truth.csv tree.json --target Salary --qi Gender": f"{SWAPPED} review tree.json truth.csv, found",
    "estimate qi.csv rules.txt": f"{SWAPPED} estimate rules.txt qi.csv, found them swapped",
    # missing
    "check tree.json --policy satre": "QI: expected a value, found nothing",
    "check tree.json qi.csv": "policy",
    "estimate tree.json qi.csv --truth": "--truth: expected a value, found nothing",
    "review tree.json truth.csv --target Salary": "--qi: expected a value, found nothing",
    "check rules.txt people.csv --policy satre --target secret": "by --truth, found none",
    # misspelled
    "estimate tree.json qi.csv --trth truth.csv": "--trth: expected an option of 'maxent estimate', found none",
    "check tree.json qi.csv --policy satr": "satr",
    "defend none truth.csv --target Salry --qi Gender -o out.json": "Salry: expected a column of this name",
    "defend none truth.csv --target Salary --qi Gendr -o out.json": "Gendr: expected a column of this name",
    # wrong file
    "estimate tree.json q.csv": "q.csv",
    "verify tree.json": "file: format: expected 'maxent-record/1', of a record of a check, found 'maxent/1'",
    "card tree.json": "format: expected 'maxent-record/1'",
    "verify qi.csv": "content: expected a JSON object",
    "sweep tree.json -o results": "tree.json",
    "estimate tree.json qi.csv -o out.docx": "out.docx",
    "estimate tree.json qi.csv --report out.pdf": "out.pdf",
    # wrong column
    "estimate tree.json people.csv": "people.csv: header: ",
    "estimate tree.json qi.csv --truth qi.csv": "Salary: expected a column of this name",
    # wrong unit
    "estimate tree.json qi.csv --time-limit 2min": "--time-limit: expected a number, found '2min'",
    "estimate tree.json qi.csv --memory 2": "--memory: expected",
    "compare tree.json tree.json qi.csv --min-k 1.5": "--min-k: expected a whole number, found '1.5'",
    "compare tree.json tree.json qi.csv --max-right-guesses 75": "--max-right-guesses: expected",
    f"defend none truth.csv {GROW} --max-depth 2.5 -o out.json": "--max-depth: expected a whole number",
    f"defend prune-leaf truth.csv {GROW} --k 10% -o out.json": "--k: expected a whole number, found '10%'",
    f"advise truth.csv {GROW} --folds 0.2": "--folds: expected a whole number, found '0.2'",
    "estimate tree.json qi.csv --max-posterior 90": "expected a probability from 0 to 1, found 90.0; did you mean 0.9?",
    "estimate tree.json qi.csv --max-posterior 90%": "expected a number, found '90%'; did you mean 0.9?",
    "estimate tree.json qi.csv --max-posterior 0,9": "expected a number, found '0,9'; did you mean 0.9?",
    "compare tree.json tree.json qi.csv --max-lift 20": "expected a share from 0 to 1, found 20.0; did you mean 0.2?",
    "estimate tree.json qi.csv --confidence 95": "between 0 and 1, found 95.0; did you mean 0.95?",
    "audit tree.json qi.csv --confidence 99.5": "between 0 and 1, found 99.5; did you mean 0.995?",
    f"advise truth.csv {GROW} --max-posterior 80": "found 80.0; did you mean 0.8?",
    "check tree.json qi.csv --policy percent.toml": "line 2, [limits]: max_right_guesses: expected a share from 0 to 1",
    "estimate tree.json qi.csv --max-certain 0.05": "--max-certain: expected a whole number, found '0.05'",
    "estimate tree.json qi.csv --time-limit 00:05:00": "--time-limit: expected a number, found '00:05:00'",
    "estimate tree.json qi.csv --memory 2gigs": "--memory: expected a size, such as 500MB or 4GB, found '2gigs'",
    # misspelled values and columns
    "estimate tree.json qi.csv --knowledge counts,lable": "found 'lable'; did you mean 'label'?",
    "estimate tree.json qi.csv --impurity ginny": "found 'ginny'; did you mean 'gini'?",
    "bounds tree.json qi.csv --level intger": "found 'intger'; did you mean 'integer'?",
    "estimate tree.json qi.csv --sensitive high": "--sensitive: expected classes of 'Salary' ('<=50K', '>50K')",
    "estimate tree.json qi.csv --count Weight": "Weight: expected a column of this name, found none among 'Education'",
    "review tree.json truth.csv --target salary --qi Gender": "expected that of the release, 'Salary', found 'salary'",
    "check tree.json qi.csv --policy key.toml": "min_leef: expected the key of a check (maxent check --list)",
    "estimate tree.json qi.csv --csv-delimiter ,": "--csv-delimiter: expected one of comma, semicolon, tab, pipe",
    # wrong kinds of file
    "advise tree.json --target Salary --qi Gender": "tree.json: file: format: expected a table: CSV, Parquet or Excel",
    "defend none tree.json --target Salary --qi Gender -o out.json": "found a JSON document",
    "estimate tree.json qi.csv --truth tree.json": "tree.json: file: format: expected a table: CSV, Parquet or Excel",
    "convert qi.csv -o out.json": "qi.csv: file: format: expected a model, found a table",
    "reconstruct qi.csv": "expected trees with counts, found generalised records",
    "estimate some.json qi.csv": "some.json: document: format: expected 'maxent/1', found nothing",
    "estimate tree.json book.xlsx": "book.xlsx: file: format: expected an Excel workbook (.xlsx)",
    "check tree.json qi.csv --policy tree.json": "tree.json: line 1, column 1: content: expected a TOML document",
    "verify some.json": "some.json: file: format: expected 'maxent-record/1', of a record of a check, found nothing",
}


@pytest.fixture(scope="module")
def usual_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("mistakes")
    copy_d1(made)
    (made / "rules.txt").write_text(RULES, encoding="utf-8")
    (made / "people.csv").write_text("age,sex\n30,1\n50,0\n", encoding="utf-8")
    (made / "some.json").write_text('{"a": 1}', encoding="utf-8")
    (made / "percent.toml").write_text("[limits]\nmax_right_guesses = 60\n", encoding="utf-8")
    (made / "key.toml").write_text("[limits]\nmin_leef = 3\n", encoding="utf-8")
    shutil.copy(EXAMPLES / "d1" / "truth.csv", made / "book.xlsx")
    people = pd.DataFrame({"age": [240, 360, 480, 600] * 5, "ill": ["no", "no", "yes", "yes"] * 5})
    tree = DecisionTreeClassifier(max_depth=1, random_state=0).fit(people[["age"]], people["ill"])
    maxent.convert(tree, target="ill").save(made / "months.json")
    (people[["age"]] // 12).to_csv(made / "years.csv", index=False)
    return made


@pytest.mark.parametrize("call", MISTAKES)
def test_a_usual_mistake_is_told(
    call: str, usual_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(usual_folder)
    before = sorted(os.listdir(usual_folder))
    status = main(call.split())
    printed = capsys.readouterr()
    assert (status, printed.out) == (2, "")
    assert MISTAKES[call] in printed.err
    assert "Traceback" not in printed.err
    assert sum(line.startswith("maxent: ") for line in printed.err.splitlines()) <= 4
    assert sorted(os.listdir(usual_folder)) == before  # nothing is half written


def test_tables_in_their_place_are_not_told_to_be_swapped(usual_folder, monkeypatch, capsys):
    monkeypatch.chdir(usual_folder)
    for call in ("estimate tree.json people.csv", "estimate people.csv qi.csv", "compare qi.csv tree.json --qi qi.csv"):
        assert "swapped" not in printed_by(capsys, call.split(), 2).err


def test_a_table_in_another_unit_contradicts_the_release(usual_folder, monkeypatch, capsys):
    """Ages in years where the release has months: everybody is on one side of each split."""
    monkeypatch.chdir(usual_folder)
    assert main(["estimate", "months.json", "years.csv"]) == 1
    assert "the statements contradict each other or the table" in capsys.readouterr().err


@pytest.mark.parametrize(
    "address", ["https://me:hunter2@h/a.csv", "http://h/a.csv?sig=hunter2", "ftp://me:hunter2@h/x"]
)
@pytest.mark.parametrize("call", ["{} qi.csv", "tree.json qi.csv -o {}", "tree.json qi.csv --policy {}"])
def test_a_password_in_an_address_that_is_not_opened_is_not_said(call, address, usual_folder, monkeypatch, capsys):
    monkeypatch.chdir(usual_folder)
    assert main(["check" if "--policy" in call else "estimate", *call.format(address).split()]) == 2
    assert "hunter2" not in capsys.readouterr().err


# Nothing that an argument could be; and what has no truth value, compares by its values, and has no hash.
WRONG = [object(), np.arange(3)]


def calls():
    """Public functions, each with arguments that it takes."""
    people = pd.read_csv(D1 / "truth.csv")
    files = {"release": D1 / "tree.json", "qi": D1 / "qi.csv"}
    training = {"data": people, "target": "Salary", "qi": ["Education", "Country", "Gender"]}
    ranges = pd.DataFrame({"Education": ["Masters|Doctorate"] * 11, "Salary": people["Salary"]})
    return {
        "estimate": files | {"knowledge": "label"},
        "audit_release": files,
        "audit_records": {"records": ranges, "qi": people[["Education"]]},
        "check": files | {"policy": "satre"},
        "verify": {"record": "record.json"},
        "compare": {"releases": [files["release"]], "qi": files["qi"], "knowledge": "label"},
        "defend": training | {"method": "prune-parent", "k": 2},
        "cart": training,
        "sweep": {"study": "none.toml", "output": "out"},
        "Reading": {},
    }


@pytest.mark.parametrize("name", calls())
def test_what_an_argument_cannot_be_is_refused_by_its_name(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function, given = getattr(maxent, name), calls()[name]
    refused = 0
    for argument, parameter in inspect.signature(function).parameters.items():
        for wrong in WRONG if parameter.kind is not parameter.VAR_KEYWORD else []:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    function(**{**given, argument: wrong})
                except maxent.InvalidInput:
                    refused += 1
    assert refused > len(given)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: maxent.sweep(3, "o"), "study: expected the path of a study file, found 3"),
        (lambda: maxent.sweep("study.toml", 3), "output: expected a folder, which may be new, found 3"),
        (lambda: maxent.sweep("study.toml", "o", data=3), "data: expected a folder, found 3"),
        (lambda: maxent.Reading(na=3), "na: expected a list of spellings, such as ['NA', '?'], found 3"),
        (lambda: maxent.bench("a.json", "b.csv", backends=3), "backends: expected names of back ends, such as"),
        (lambda: maxent.compare(3, "qi.csv"), "releases: expected a list of releases, found 3"),
        (lambda: maxent.estimate("a.json", "b.csv", progress=3), "progress: expected a function, which is called"),
        (lambda: maxent.estimate("a.json", "b.csv", presolve="no"), "presolve: expected True or False, found 'no'"),
        (lambda: maxent.reconstruct("a.json", sed=1), "sed: expected one of release, qi, reading, people"),
    ],
)
def test_what_is_expected_and_found_is_said(call, said):
    assert said in str(refusal(call))


def test_columns_may_be_named_by_an_index_or_an_array():
    people = pd.read_csv(D1 / "truth.csv")
    named = maxent.cart(people, target="Salary", qi=list(people.columns[:3]))
    assert named == maxent.cart(people, target="Salary", qi=people.columns[:3])
    assert named == maxent.cart(people, target="Salary", qi=people.columns[:3].to_numpy())


FILES = [str(D1 / "tree.json"), str(D1 / "qi.csv")]
HUGE = 10**400


@pytest.mark.parametrize("option", ["--max-certain", "--min-k", "--starts", "--seed", "--jobs", "--top"])
@pytest.mark.parametrize("text", [str(HUGE), "9" * 5000, "1e400", "nan"])
@pytest.mark.regression(number=15)
def test_options(capsys, option, text):
    printed = printed_by(capsys, ["estimate", *FILES, f"{option}={text}"], 2)
    assert printed.out == ""
    assert f"{option}: expected " in printed.err


@pytest.mark.parametrize("text", ["1e400", "inf", "nan", "-1e400"])
def test_probabilities(capsys, text):
    assert main(["estimate", *FILES, f"--max-posterior={text}"]) == 2
    assert "--max-posterior: expected a probability from 0 to 1, found" in capsys.readouterr().err


@pytest.mark.parametrize("number", [HUGE, 10**5000], ids=["400 digits", "5000 digits"])
@pytest.mark.parametrize("name", ["min_k", "max_certain", "max_posterior"])
def test_limits_in_python(name, number):
    refused(f"{name}.*a number of about", Limits, **{name: number})


def test_a_limit_of_minus_zero_is_zero():
    assert str(Limits(max_posterior=-0.0).max_posterior) == "0.0"
