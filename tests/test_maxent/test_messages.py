"""Errors in one style: field, expected, found; options as the command line spells them, names of Python in Python."""

import inspect
import json
import os
import pickle

import pandas as pd
import pytest
from support.paths import copy_d1

import maxent
from maxent.__main__ import main
from maxent.command_line.messages import PARTS
from maxent.command_line.parsing import spellings
from maxent.commands import main as cli
from maxent.commands.defend import _of_all
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
        ["--enforce: expected a limit: --max-posterior, --min-k, --max-certain, --max-right-guesses or --max-lift"]),
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


@pytest.mark.parametrize("case", CALLS.values(), ids=CALLS)
@pytest.mark.regression(number=18)
def test_a_mistake_in_a_call_is_told_in_the_words_of_the_command_line(folder, capsys, case):
    call, expected = case
    before = sorted(os.listdir(folder))
    assert main(call) == 2
    printed = capsys.readouterr()
    for text in expected:
        assert text in printed.err
    lines = [line for line in printed.err.splitlines() if line.startswith("maxent: ")]
    assert all(" expected " in line and ", found " in line for line in lines[: len(lines) - (len(lines) > 1)])
    assert not leaks(printed.err)
    assert sorted(os.listdir(folder)) == before


def test_of_a_wrong_method_the_options_are_read_as_those_of_all(folder, capsys):
    assert main(["defend", "prune", *DEFEND, "--max-depth", "2", "--beta", "low"]) == 2
    method, beta, number, *_ = capsys.readouterr().err.splitlines()
    assert method.startswith("maxent: METHOD: expected one of none, prune-leaf")
    assert beta == "maxent: --beta: expected a number, found 'low'"
    assert number == "maxent: 2 problems"


def test_of_a_long_line_the_middle_is_left_out(folder, capsys):
    name = "a" + "b" * 5000 + "c.json"
    assert main(["audit", name, "--json"]) == 2
    printed = capsys.readouterr()
    (line,) = printed.err.splitlines()
    assert len(line) < 1100
    assert line.startswith("maxent: abbb")
    assert "bbb ... bbb" in line
    assert line.endswith("bc.json: file: path: expected a file that can be read, found File name too long")
    assert json.loads(printed.out)["error"]["problems"][0]["source"] == name


@pytest.mark.parametrize("case", CALLS.values(), ids=CALLS)
@pytest.mark.regression(number=18)
def test_with_json_the_error_is_json(folder, capsys, case):
    call, expected = case
    call = [*call, "--json"] if call[-1] != "--facts" else ["audit", "--json", *call[1:]]
    assert main(call) == 2
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert set(document) == {"error"}
    assert document["error"]["exit"] == 2
    problems = document["error"]["problems"]
    text = "\n".join(problem["message"] for problem in problems)
    for words in expected:
        assert words in text
    assert not leaks(text)
    for problem in problems:
        assert set(problem) == {"message", *PARTS}
        assert problem["message"].endswith(
            f"{problem['field']}: expected {problem['expected']}, found {problem['found']}"
        )
        assert problem["source"] in ("command line", "gaps.csv", "semicolons.csv")
        assert f"maxent: {problem['message']}\n" in printed.err


def test_the_object_has_all_problems_of_a_file(folder, capsys):
    document = json.loads((folder / "tree.json").read_text(encoding="utf-8"))
    document["trees"][0]["nodes"] += [{"id": f"X{i}", "label": "rich"} for i in range(100)]
    (folder / "tree.json").write_text(json.dumps(document), encoding="utf-8")
    assert main(["estimate", *TREE, "--json"]) == 2
    printed = capsys.readouterr()
    problems = json.loads(printed.out)["error"]["problems"]
    assert len(problems) == 200
    assert {problem["source"] for problem in problems} == {"tree.json"}
    assert problems[0]["where"] == "node X0"
    assert problems[0]["field"] == "label"
    assert len(printed.err.splitlines()) == 51


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
        assert main(["audit", "tree.json", "--json"]) == 2
        printed = capsys.readouterr()
        (problem,) = json.loads(printed.out)["error"]["problems"]
        assert problem == {"message": message, **dict.fromkeys(PARTS)}
        assert printed.err == f"maxent: {message}\n"
    monkeypatch.setattr("maxent.api.audit.audit_release", fail(KeyboardInterrupt()))
    assert main(["audit", "tree.json", "--json"]) == 130
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {
        "error": {"exit": 130, "problems": [{"message": "interrupted", **dict.fromkeys(PARTS)}]}
    }
    assert printed.err == "maxent: interrupted\n"


@pytest.mark.parametrize("command", ["estimate", "compare"])
def test_a_file_that_cannot_be_written_at_the_end_leaves_one_object(folder, capsys, monkeypatch, command):
    def fail(*_, **__):
        raise InvalidInput("report.html", [Problem("file", "path", "a file that can be written", "a full disk")])

    monkeypatch.setattr("maxent.models.files.output.write_text", fail)
    assert main([command, *TREE, "--report", "report.html", "--json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert document["error"]["problems"][0]["found"] == "a full disk"


# --- Names -----------------------------------------------------------------------------------------------------


def names_of(command):
    if command == "defend":
        return spellings(_of_all().params)
    return spellings(cli.made(command).params)


FUNCTIONS = {
    "estimate": (maxent.estimate, {"release", "reading", "progress", "interruptible"}),
    "compare": (maxent.compare, {"releases", "reading", "progress", "interruptible", "each", "qi"}),
    "audit": (maxent.audit, {"release", "reading"}),
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
    names = names_of("defend")
    spell = on_command_line(names)
    assert (
        respell("a category (missing='category'), or k= larger", spell)
        == "a category (--missing category), or --k larger"
    )
    assert respell("class_public=True, x=3, n = 5, k==2", spell) == "--class-public, x=3, n = 5, --k=2"
    assert (
        respell("a category (missing='category'), or k= larger", in_study)
        == 'a category (missing = "category"), or k larger'
    )
    problem = Problem(ARGUMENT, "qi and private", "k= or l=", "k=3")
    found = respelled(problem, spell)
    assert (found.field, found.expected, found.found) == ("--qi and --private", "--k or --l", "k=3")
    elsewhere = Problem("line 3", "k", "a number", "k=3")
    assert respelled(elsewhere, spell) == elsewhere  # a column may be called like an option


@pytest.mark.regression(number=18)
def test_python_has_its_own_names(folder):
    with pytest.raises(maxent.InvalidInput, match=r"\(missing='category'\)"):
        maxent.defend("gaps.csv", target="T", qi=["A"])
    with pytest.raises(maxent.InvalidInput, match="min_samples_leaf: expected none for kadet: use k="):
        maxent.defend("truth.csv", "kadet", target="T", qi=["A"], min_samples_leaf=3)
    with pytest.raises(maxent.InvalidInput, match=r"argument: marginal: expected .* \(marginal=\)"):
        maxent.estimate(*TREE, knowledge="marginal")
    with pytest.raises(UnknownBackend, match="argument: backend: expected one of auto"):
        maxent.estimate(*TREE, backend="nobody")


def test_what_is_no_table_no_method_and_no_back_end_is_refused_in_python(folder):
    for call in (maxent.estimate, maxent.bench):
        with pytest.raises(
            maxent.InvalidInput, match="argument: qi: expected the adversary's table: a pandas DataFrame"
        ):
            call(TREE[0], None)
    with pytest.raises(maxent.InvalidInput, match="argument: qi: expected the adversary's table: a pandas DataFrame"):
        maxent.compare([TREE[0]], None)
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
