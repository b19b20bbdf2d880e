"""Usual mistakes on the command line, each with its message: exit status 2, a few lines, and no traceback."""

import os
import shutil
from pathlib import Path

import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from support.paths import EXAMPLES, copy_d1

import maxent
from maxent.__main__ import main

RULES = "|--- age <= 40.50\n|   |--- class: b\n|--- age >  40.50\n|   |--- class: a\n"
GROW = "--target Salary --qi Education,Country,Gender"

SWAPPED = "expected them in this order: maxent"
MISTAKES = {
    # swapped
    "estimate qi.csv tree.json": f"TREE... QI: {SWAPPED} estimate tree.json qi.csv, found them swapped",
    "bounds qi.csv tree.json": f"{SWAPPED} bounds tree.json qi.csv, found them swapped",
    "audit qi.csv tree.json": f"{SWAPPED} audit tree.json qi.csv, found them swapped",
    "explain qi.csv tree.json": f"{SWAPPED} explain tree.json qi.csv, found them swapped",
    "predict qi.csv tree.json": f"{SWAPPED} predict tree.json qi.csv, found them swapped",
    "compare qi.csv tree.json tree.json": f"{SWAPPED} compare tree.json tree.json qi.csv, found them swapped",
    "check --policy satre qi.csv tree.json": f"{SWAPPED} check tree.json qi.csv, found them swapped",
    "review truth.csv tree.json --target Salary --qi Gender": f"{SWAPPED} review tree.json truth.csv, found",
    "estimate qi.csv rules.txt": f"{SWAPPED} estimate rules.txt qi.csv, found them swapped",
    # missing
    "estimate tree.json": "expected the releases, and after them the adversary's table",
    "estimate": "TREE... QI: expected a value, found nothing",
    "check tree.json --policy satre": "QI: expected a value, found nothing",
    "check tree.json qi.csv": "policy",
    f"defend none truth.csv {GROW}": "-o: expected a value, found nothing",
    "defend none truth.csv --qi Gender -o out.json": "--target: expected a value, found nothing",
    "estimate tree.json qi.csv --truth": "--truth: expected a value, found nothing",
    "review tree.json truth.csv --target Salary": "--qi: expected a value, found nothing",
    "check rules.txt people.csv --policy satre --target secret": "by --truth, found none",
    # misspelled
    "estimat tree.json qi.csv": "found 'estimat'; did you mean 'estimate'?",
    "estimate tree.json qi.csv --trth truth.csv": "--trth: expected an option of 'maxent estimate', found none",
    "estimate tree.json qi.csv --backend ipot": "'ipot'",
    f"defend prune-leef truth.csv {GROW} -o out.json": "METHOD: expected one of none, prune-leaf",
    "check tree.json qi.csv --policy satr": "satr",
    "defend none truth.csv --target Salry --qi Gender -o out.json": "Salry: expected a column of this name",
    "defend none truth.csv --target Salary --qi Gendr -o out.json": "Gendr: expected a column of this name",
    # wrong file
    "estimate tre.json qi.csv": "tre.json",
    "estimate tree.json q.csv": "q.csv",
    "estimate tree.json .": "expected",
    "verify tree.json": "file: format: expected 'maxent-record/1', of a record of a check, found 'maxent/1'",
    "card tree.json": "format: expected 'maxent-record/1'",
    "verify qi.csv": "content: expected a JSON object",
    "sweep tree.json -o results": "tree.json",
    "estimate tree.json qi.csv -o out.docx": "out.docx",
    "estimate tree.json qi.csv --report out.pdf": "out.pdf",
    # wrong column
    "estimate tree.json people.csv": "people.csv: header: ",
    "estimate tree.json qi.csv --truth qi.csv": "Salary: expected a column of this name",
    "defend none truth.csv --target Gender --qi Gender -o out.json": "Gender",
    # wrong unit
    "estimate tree.json qi.csv --time-limit 2min": "--time-limit: expected a number, found '2min'",
    "estimate tree.json qi.csv --time-limit -1": "--time-limit: expected",
    "estimate tree.json qi.csv --memory 2": "--memory: expected",
    "compare tree.json tree.json qi.csv --min-k 1.5": "--min-k: expected a whole number, found '1.5'",
    "compare tree.json tree.json qi.csv --max-right-guesses 75": "--max-right-guesses: expected",
    f"defend none truth.csv {GROW} --max-depth 2.5 -o out.json": "--max-depth: expected a whole number",
    f"defend prune-leaf truth.csv {GROW} --k ten -o out.json": "--k: expected a whole number, found 'ten'",
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
    "estimate tree.json qi.csv --min-k 0": "--min-k: expected a number of individuals of at least 1, found 0",
    "estimate tree.json qi.csv --time-limit 00:05:00": "--time-limit: expected a number, found '00:05:00'",
    "estimate tree.json qi.csv --time-limit 0": "--time-limit: expected a positive number of seconds, found 0.0",
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
    "estimate tree.json tree.json": "expected the releases, and after them the adversary's table, .csv or .parquet",
    "convert qi.csv -o out.json": "qi.csv: file: format: expected a model, found a table",
    "reconstruct qi.csv": "expected trees with counts, found generalised records",
    "estimate some.json qi.csv": "some.json: document: format: expected 'maxent/1', found nothing",
    "estimate tree.json book.xlsx": "book.xlsx: file: format: expected an Excel workbook (.xlsx)",
    "check tree.json qi.csv --policy tree.json": "tree.json: line 1, column 1: content: expected a TOML document",
    "verify some.json": "some.json: file: format: expected 'maxent-record/1', of a record of a check, found nothing",
    "estimate tree.json qi.csv -o tree.json": "-o: expected a file of its own, found 'tree.json', which is an input",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
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
    call: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    before = sorted(os.listdir(folder))
    status = main(call.split())
    printed = capsys.readouterr()
    assert (status, printed.out) == (2, "")
    assert MISTAKES[call] in printed.err
    assert "Traceback" not in printed.err
    assert sum(line.startswith("maxent: ") for line in printed.err.splitlines()) <= 4
    assert sorted(os.listdir(folder)) == before  # nothing is half written


def test_tables_in_their_place_are_not_told_to_be_swapped(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    for call in ("estimate tree.json people.csv", "estimate people.csv qi.csv", "compare qi.csv tree.json --qi qi.csv"):
        assert main(call.split()) == 2
        assert "swapped" not in capsys.readouterr().err


def test_a_table_in_another_unit_contradicts_the_release(folder, monkeypatch, capsys):
    """Ages in years where the release has months: everybody is on one side of each split."""
    monkeypatch.chdir(folder)
    assert main(["estimate", "months.json", "years.csv"]) == 1
    assert "the statements contradict each other or the table" in capsys.readouterr().err


@pytest.mark.parametrize(
    "address", ["https://me:hunter2@h/a.csv", "http://h/a.csv?sig=hunter2", "ftp://me:hunter2@h/x"]
)
@pytest.mark.parametrize("call", ["{} qi.csv", "tree.json qi.csv -o {}", "tree.json qi.csv --policy {}"])
def test_a_password_in_an_address_that_is_not_opened_is_not_said(call, address, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert main(["check" if "--policy" in call else "estimate", *call.format(address).split()]) == 2
    assert "hunter2" not in capsys.readouterr().err
