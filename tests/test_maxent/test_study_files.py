"""Study files: what they may say, and the records that they name."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from support.paths import ROOT
from support.studies import PEOPLE, STUDY, people, write_study

import maxent
from maxent.__main__ import main
from maxent.api.defend import defend
from maxent.disclosure.registry import MEASURES
from maxent.models.errors import InvalidInput
from maxent.models.files.toml import line_numbers
from maxent.studies.data import Protocol, split
from maxent.studies.points import columns
from maxent.studies.study_file import OPTIONS, RELEASE, load_study


def problems(path):
    with pytest.raises(maxent.InvalidInput) as refused:
        load_study(path)
    return [str(problem) for problem in refused.value.problems]


def test_all_problems_are_told_at_once_with_their_lines(tmp_path, capsys):
    people(tmp_path)
    study = """
[study]
colour = "red"
[data.people]
file = "people.csv"
target = "secret"
qi = ["job", "shoe"]
[data.others]
file = "nobody.csv"
missing = "guess"
[protocol]
test_share = 0.2
folds = 1
seeds = [1, 1]
[defaults]
knowledge = "labels"
[[grid]]
method = ["none", "prune-leaf"]
k = [2, "many"]
[[grid]]
method = "prune-leaf"
k = 0
beta = 0.5
metod = "none"
backend = "ipop"
max_depth = []
data = ["people", "all"]
"""
    path = write_study(tmp_path, study)
    found = problems(path)
    for expected in (
        "line 3, [study]: colour: expected one of description, name, found an unknown key",
        "line 9, [data.others]: file: expected a file or folder that exists, found no 'nobody.csv' in",
        "line 10, [data.others]: missing: expected one of refuse, category, found 'guess'",
        "line 8, [data.others]: target: expected the column of the class, found nothing",
        "line 13, [protocol]: folds: expected a whole number of at least 2, found 1",
        "line 14, [protocol]: seeds: expected how many seeds, or a list of different ones, each at least 0, found [1",
        "line 16, [defaults]: knowledge: expected any of label, rate, counts, marginal, internal, found 'labels'",
        "line 19, grid 1: k: expected a whole number, or a list of such values, or 'default', found 'many'",
        "line 22, grid 2: k: expected a whole number of records, at least 1, found 0",
        "line 23, grid 2: beta: expected none for the method prune-leaf: it is an option of rdt, found 0.5",
        "line 24, grid 2: metod: expected an option of the grid, found an unknown key; did you mean 'method'?",
        "line 25, grid 2: backend: expected one of auto, cvxpy, ipopt, newton, pyomo, scip, scipy, textbook, found 'ip",
        "line 26, grid 2: max_depth: expected at least one value, found none",
        "line 27, grid 2: data: expected names of data sets, of people, others, found 'all'",
        "people.csv: header: shoe: expected a column of this name, found none",
    ):
        assert sum(expected in problem for problem in found) == 1, expected
    assert len(found) == 15
    assert main(["sweep", str(path), "-o", str(tmp_path / "results")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.endswith("maxent: 15 problems\n")
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(("text", "message"), [
    ("", "data: expected tables with names, such as [data.people], found nothing"),
    ("[data]\n[[grid]]\n", "line 1: data: expected tables with names, such as [data.people], found {}"),
    ("data = 3\ngrid = []\n", "file: content: expected a study, with tables [data.NAME] and [[grid]], found neither"),
    ("x = [", "content: expected a TOML document "),
    ("x = " + "[" * 10_000, "file: content: expected a TOML document, found "),
    ("x = " + "9" * 5_000, "file: content: expected a TOML document, found "),
    (STUDY + "k = 2\n", "grid 1: k: expected none for the method none: it is an option of prune-leaf,"),
    (STUDY + "hierarchies = true\n", "grid 1: hierarchies: expected none for the method none"),
    (STUDY + "max_depth = 9007199254740993\n", "max_depth: expected a whole number, or a list of such"),
    (STUDY + "estimate = false\nstarts = 3\n", "starts: expected none where estimate = false, found 3"),
    (STUDY + "min_size = 0\n", "min_size: expected a whole number of at least 1, found 0"),
    (STUDY + "confidence = 2.0\n", "confidence: expected a probability between 0 and 1, found 2.0"),
    (STUDY + "confidence = nan\n", "confidence: expected a number, or a list of such values, or 'default', found nan"),
    (STUDY + "max_depth = [" + "1," * 400 + "]\nmin_samples_leaf = [" + "1," * 400 + "]\n",
        "grid 1: grid: expected at most 100000 combinations, found more"),
    (STUDY + '[[grid]]\nmethod = "kadet"\nhierarchies = true\n',
        "grid 2: hierarchies: expected a data set with hierarchies, found none in [data.people]"),
    (STUDY.replace("qi =", "colour ="), "[data.people]: colour: expected one of categorical,"),
    (STUDY.replace('"job", "sex"', '"job", "secret"'), "target: expected a column that is not among qi and private"),
    (STUDY.replace("missing =", "fold ="), "fold: expected one of categorical,"),
    (STUDY + "[protocol]\nfolds = 99\n", "[data.people]: file: expected at least 99 records, one for each fold"),
])  # fmt: skip
def test_what_a_study_cannot_say(tmp_path, text, message):
    people(tmp_path)
    path = write_study(tmp_path, text)
    assert any(message in problem for problem in problems(path)), problems(path)


def test_no_study(tmp_path, capsys):
    assert main(["sweep", str(tmp_path / "none.toml"), "-o", str(tmp_path / "out")]) == 2
    assert "a study file that can be read, found no such file or directory" in capsys.readouterr().err
    (tmp_path / "latin.toml").write_bytes(b"name = '\xe9'")
    assert "found bytes that are not UTF-8" in problems(tmp_path / "latin.toml")[0]
    people(tmp_path)
    path = write_study(tmp_path, STUDY)
    (tmp_path / "taken").write_text("", encoding="utf-8")
    for output in (tmp_path / "taken", tmp_path / "taken" / "below"):
        assert main(["sweep", str(path), "-o", str(output)]) == 2
    assert capsys.readouterr().err.count("expected a folder") == 2
    assert main(["sweep", str(path)]) == 2
    with pytest.raises(maxent.InvalidInput, match="jobs: expected a whole number other than 0, found 0"):
        maxent.sweep(path, tmp_path / "out", jobs=0)


def test_the_grid_is_a_product_and_each_point_comes_once(tmp_path, capsys):
    people(tmp_path)
    path = write_study(
        tmp_path,
        STUDY
        + """
[protocol]
folds = 3
seeds = [4, 7]
[defaults]
max_depth = 2
knowledge = ["default", "label"]
[[grid]]
method = ["prune-leaf", "prune-parent"]
k = [2, 3, 2]
max_depth = ["default", 1]
[[grid]]
method = "prune-leaf"
k = 2
max_depth = 1
inducer = "cart"
impurity = "gini"
""",
    )
    study = load_study(path)
    assert len(study.points) == 2 * 3 * 2 * (1 + 2 * 2 * 2)
    assert len({point.id for point in study.points}) == len(study.points)
    assert {(point.seed, point.fold) for point in study.points} == {(s, f) for s in (4, 7) for f in range(3)}
    assert dict(study.points[0].options) == {"method": "none", "inducer": "cart", "impurity": "gini", "max_depth": 2}
    assert dict(study.points[1].options)["knowledge"] == "label"
    assert main(["sweep", str(path), "--dry-run"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1] == "108 points"
    assert len(printed) == 109
    assert "seed=4 fold=0 method=none inducer=cart impurity=gini max_depth=2 knowledge=label" in printed[1]
    assert main(["sweep", str(path), "--dry-run", "--json"]) == 0
    assert [point["point"] for point in json.loads(capsys.readouterr().out)["grid"]] == [p.id for p in study.points]


def test_what_changes_a_point_changes_its_name(tmp_path):
    table = people(tmp_path)
    names = []

    def add(text=STUDY):
        names.append(load_study(write_study(tmp_path, text)).points[0].id)

    add()
    add(STUDY + "max_depth = 3\n")
    add(STUDY.replace('"job", "sex"', '"sex", "job"'))
    add(STUDY + "[protocol]\ntest_share = 0.2\n")
    add(STUDY + "[protocol]\nseeds = [5]\n")
    table.iloc[::-1].to_csv(tmp_path / "people.csv", index=False)
    add()
    assert len(set(names)) == len(names)
    os.rename(tmp_path / "people.csv", tmp_path / "folk.csv")
    add(STUDY.replace("people.csv", "folk.csv") + '[study]\nname = "other"\n')  # the same content elsewhere
    assert names[-1] == names[-2]


def test_every_option_of_defend_is_one_of_the_grid():
    import inspect

    given = set(inspect.signature(defend).parameters)
    of_data = {"data", "target", "qi", "private", "categorical", "missing", "test", "seed", "model", "reading"}
    of_data |= {"max_posterior", "sensitive"}  # the first is also what is measured; the other names classes
    of_data |= {"cost", "audits", "time_limit", "progress"}  # a table of classes, how long to go on, whom to tell
    assert given - RELEASE.keys() == of_data
    assert RELEASE.keys() <= given
    estimating = set(inspect.signature(maxent.estimate).parameters)
    assert {name for name in OPTIONS.keys() - RELEASE.keys() if name not in estimating} == {
        "estimate",
        "min_size",
        "background",
    }


def test_where_lines_are():
    text = 'a.b = 1\n[c."d e"]\n"x=y" = 2\n# n = 3\nz = 3\n[[g]]\nk = [\n  ["q"],\n]\n[[g]]\nk = 1\n'
    found = line_numbers(text)
    assert found["a", "b"] == found["a",] == 1
    assert found["c", "d e"] == 2
    assert found["c", "d e", "z"] == 5
    assert (found["g", "1"], found["g", "1", "k"], found["g", "2"]) == (6, 7, 10)


def test_columns_are_numbers_as_they_are_to_defend(tmp_path):
    """Numbers with leading zeros, categories that are numbers, and empty cells mean what they mean elsewhere."""
    table = pd.DataFrame({"zip": ["010", "10", "x"] * 20, "age": ["1", "2", "3.5"] * 20, "y": ["1", "0", "01"] * 20})
    table.to_csv(tmp_path / "people.csv", index=False)
    path = write_study(tmp_path, '[data.a]\nfile = "people.csv"\ntarget = "y"\n[[grid]]\nmethod = "none"\n')
    study = load_study(path)
    records = study.data["a"].records
    assert records["zip"].tolist() == table["zip"].tolist()
    assert records["age"].tolist() == [1.0, 2.0, 3.5] * 20
    assert records["y"].tolist() == table["y"].tolist()
    assert study.data["a"].columns["qi"] == ["zip", "age"]
    ours = defend(records, **study.data["a"].columns, seed=0)
    theirs = defend(tmp_path / "people.csv", **study.data["a"].columns, seed=0)
    assert ours.release == theirs.release


def test_numbers_with_fractions_are_no_classes(tmp_path):
    pd.DataFrame({"x": list("ab" * 10), "y": [0.5, 1.5] * 10}).to_csv(tmp_path / "people.csv", index=False)
    path = write_study(tmp_path, '[data.a]\nfile = "people.csv"\ntarget = "y"\n[[grid]]\nmethod = "none"\n')
    result = maxent.sweep(path, tmp_path / "out")
    assert "expected classes, not numbers with fractions" in result.rows[0]["error"]
    assert not result.reliable


def test_protocols_cut_as_scikit_learn_does(tmp_path):
    from sklearn.model_selection import train_test_split

    table = people(tmp_path)
    study = load_study(write_study(tmp_path, STUDY))
    import pickle

    packed = pickle.dumps(study.data["people"])
    train, test = split(packed, Protocol(test_share=0.25), 3, None)
    expected, aside = train_test_split(np.arange(PEOPLE), test_size=0.25, random_state=3)
    assert train["job"].tolist() == table["job"][expected].tolist()
    assert test["job"].tolist() == table["job"][aside].tolist()
    folds = [split(packed, Protocol(folds=4), 1, fold) for fold in range(4)]
    assert sorted(len(aside) for _, aside in folds) == [22, 22, 23, 23]
    assert all(len(one) + len(other) == len(table) for one, other in folds)
    whole, none = split(packed, Protocol(), 1, None)
    assert len(whole) == len(table)
    assert none is None


def test_test_records_of_a_file_or_a_column(tmp_path):
    table = people(tmp_path)
    table["fold"] = np.where(np.arange(len(table)) % 3 == 0, "test", "train")
    table.to_csv(tmp_path / "folded.csv", index=False)
    table[table["fold"] == "train"].to_csv(tmp_path / "people.csv", index=False)
    table[table["fold"] == "test"].to_csv(tmp_path / "aside.csv", index=False)
    text = STUDY.replace("[[grid]]", 'test = "aside.csv"\n[[grid]]') + "[protocol]\ntest_share = 0.5\nseeds = 2\n"
    by_file = load_study(write_study(tmp_path, text))
    text = STUDY.replace("people.csv", "folded.csv").replace("[[grid]]", 'test = {fold = "test"}\n[[grid]]')
    by_column = load_study(write_study(tmp_path, text))
    for study in (by_file, by_column):
        material = study.data["people"]
        assert material.test is not None
        for found, name in ((material.records, "train"), (material.test, "test")):
            assert found["age"].tolist() == table[table["fold"] == name]["age"].tolist()
    assert [point.seed for point in by_file.points] == [0, 1]
    rows = [maxent.sweep(study, tmp_path / str(i)).rows[0] for i, study in enumerate((by_file, by_column))]
    assert rows[0]["test_records"] == rows[1]["test_records"] == (table["fold"] == "test").sum()
    assert rows[0]["test_accuracy"] == rows[1]["test_accuracy"] > 0
    wrong = write_study(tmp_path, text.replace('fold = "test"', 'fold = "best"'))
    assert "best: expected some records, not all, found 0 of 90" in problems(wrong)[0]


def test_files_are_looked_for_in_three_places(tmp_path, monkeypatch):
    for name in ("beside", "given", "set"):
        (tmp_path / name).mkdir()
    people(tmp_path / "set")
    path = write_study(tmp_path / "beside", STUDY)
    monkeypatch.delenv("MAXENT_DATA", raising=False)
    assert f"found no 'people.csv' in {tmp_path / 'beside'} (the environment variable MAXENT_DATA" in problems(path)[0]
    monkeypatch.setenv("MAXENT_DATA", str(tmp_path / "set"))
    assert load_study(path).files["people"].file == tmp_path / "set" / "people.csv"
    people(tmp_path / "beside")
    assert load_study(path).files["people"].file == tmp_path / "beside" / "people.csv"
    people(tmp_path / "given")
    assert load_study(path, tmp_path / "given").files["people"].file == tmp_path / "given" / "people.csv"


def test_the_page_names_every_column():
    page = (ROOT / "docs" / "sweep.md").read_text(encoding="utf-8")
    table = page.split("<!-- columns -->")[1]
    named = [name for row in table.splitlines() if row.startswith("| `") for name in row.split("|")[1].split("`")[1::2]]
    assert named == [name for name in columns() if name not in MEASURES]
    assert "(results.md#measures)" in table


@pytest.mark.slow
@pytest.mark.parametrize("file", sorted((ROOT / "examples" / "studies").glob("*.toml")), ids=lambda path: path.stem)
def test_the_studies_of_the_examples_can_run(tmp_path, file):
    if file.stem == "diabetes":
        out = tmp_path / "diabetes"
        subprocess.run([sys.executable, str(ROOT / "examples/diabetes.py"), str(out)], check=True, timeout=120)
        assert len(load_study(file, tmp_path).points) > 10
    elif os.environ.get("MAXENT_DATA"):
        assert len(load_study(file).points) > 10
    else:
        with pytest.raises(InvalidInput) as refused:
            load_study(file)
        assert {(problem.field, "MAXENT_DATA" in problem.found) for problem in refused.value.problems} == {
            ("file", True)
        }
