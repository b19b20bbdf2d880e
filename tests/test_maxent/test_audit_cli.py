"""``maxent audit``: its forms of output, its files, and what it refuses."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.attacked import DISEASE, LOAN_TREE, LOANS, pair, people

import maxent
from maxent.__main__ import main
from maxent.models.release import Node, Release, Target, Tree


@pytest.fixture
def loans(tmp_path):
    """The files of the loan tree: release and table."""
    tree, qi = str(tmp_path / "tree.json"), str(tmp_path / "qi.csv")
    LOAN_TREE.save(tree)
    LOANS.to_csv(qi, index=False)
    return tree, qi


@pytest.fixture
def disease(tmp_path):
    """The file of a release from which a leaf was removed, and not the number above it."""
    path = tmp_path / "disease.json"
    document = json.loads(saved(DISEASE, path))
    nodes = {node["id"]: node for node in document["trees"][0]["nodes"]}
    nodes["N3"]["branches"][0]["child"] = None
    nodes["N3"]["counts"] = {"yes": 2, "no": 2}
    document["trees"][0]["nodes"] = [node for node in nodes.values() if node["id"] != "L3"]
    path.write_text(json.dumps(document))
    return str(path)


def saved(release: Release, path) -> str:
    release.save(path)
    return path.read_text()


def printed(capsys, *arguments: str, status: int = 0) -> str:
    assert main(["audit", *arguments]) == status
    shown = capsys.readouterr()
    assert re.fullmatch(r"(maxent: replaced: .*\n)?", shown.err)
    return shown.out


def refused(capsys, *arguments: str) -> str:
    assert main(["audit", *arguments]) == 2
    shown = capsys.readouterr()
    assert not shown.out
    return shown.err


def test_the_json_is_the_summary(capsys, loans):
    tree, qi = loans
    assert json.loads(printed(capsys, tree, "--json")) == maxent.audit(tree)
    found = json.loads(printed(capsys, tree, qi, "--json", "--min-size", "2", "--background", "0"))
    assert found == maxent.audit(tree, qi, min_size=2, background=0)
    assert found["leaves"] == 3
    assert found["individuals"] == 6
    assert found["uniqueness"] == {"leaves": 1}
    assert found["homogeneity"].items() >= {"leaves": 1, "individuals": 3}.items()
    assert found["background"].items() >= {"known": 0, "leaves": 2, "individuals": 4}.items()
    assert found["spans"] == {"count": 2, "min_population": 3, "k_anonymous": 3, "exposed": 0, "unlinked": 0}
    assert "spans" not in maxent.audit(tree)


def test_the_text_says_it_in_words(capsys, loans, disease):
    assert printed(capsys, *loans).splitlines() == [
        "3 leaves; 6 individuals",
        "uniqueness: 1 leaf holds a single individual",
        "homogeneity: 2 leaves hold one class only: the loan risk of 4 individuals (66.7 %) is disclosed, "
        "to those who know who is in them",
        "background knowledge: who knows the loan risk of one member learns that of all others in 1 more leaf: "
        "1 individual (16.7 %)",
        "linking: the table falls into 2 groups of people whom the release cannot tell apart, the smallest of "
        "3 individuals: it is 3-anonymous; nobody's loan risk follows from the group",
        "individuals by the first attack they are open to: nobody",
        "worst leaves:",
        "  l_No: 3 individuals, all bad: Sports Car = No",
        "  l_M: 1 individual, good: Sports Car = Yes, Marital Status = Married",
    ]
    lines = printed(capsys, disease).splitlines()
    assert lines[0] == "3 leaves, 1 leaf removed; 9 individuals"
    assert "uniqueness: no leaf holds a single individual" in lines
    assert "  the leaf removed below N3, branch 1 (age <= 14.5): 1 individual, all yes" in lines


def test_the_table_of_a_release_is_written_in_every_format(tmp_path, capsys, disease):
    files = {suffix: str(tmp_path / f"table.{suffix}") for suffix in ("csv", "parquet", "json")}
    for file in files.values():
        printed(capsys, disease, "--as-table", file)
    rows = [
        ["L1", "<= 169.5", "<= 59.5", "*", 3, 2, 1, None],
        ["L2", "<= 169.5", "> 59.5", "*", 2, 0, 2, None],
        ["L4", "> 169.5", "*", "> 14.5", 3, 1, 2, None],
        [None, "> 169.5", "*", "<= 14.5", None, None, None, None],
    ]
    columns = ["leaf", "height", "weight", "age", "n", "count(yes)", "count(no)", "label"]
    for frame in (pd.read_csv(files["csv"]), pd.read_parquet(files["parquet"])):
        assert frame.columns.tolist() == columns
        assert frame.astype(object).where(frame.notna(), None).to_numpy().tolist() == rows
    with open(files["json"]) as file:
        assert json.load(file)["rows"] == [dict(zip(columns, row, strict=True)) for row in rows]
    lines = (tmp_path / "table.csv").read_text().splitlines()
    assert lines[1] == "L1,<= 169.5,<= 59.5,*,3,2,1,"  # whole numbers, although some are not known


def test_a_row_per_individual_or_per_leaf_is_written(tmp_path, capsys, loans, disease):
    output = str(tmp_path / "rows.csv")
    printed(capsys, *loans, "-o", output)
    frame = pd.read_csv(output, keep_default_na=False)
    assert frame.columns.tolist() == [
        "Marital Status",
        "count",
        "leaf",
        "leaf_n",
        "span",
        "population",
        "attack",
        "disclosed",
    ]
    assert frame["leaf"].tolist() == ["l_U|l_No", "l_M|l_No"]
    printed(capsys, disease, "-o", output)
    frame = pd.read_csv(output, keep_default_na=False)
    assert frame["attack"].tolist() == ["background", "homogeneity", "background", "differencing"]
    assert frame["recovered"].tolist() == [False, False, False, True]
    output = str(tmp_path / "rows.json")
    found = json.loads(printed(capsys, *loans, "-o", output, "--json"))
    with open(output) as file:
        written = json.load(file)
    assert written.items() >= found.items()
    assert [row["leaf_n"] for row in written["rows"]] == [None, None]


def test_facts_and_counts_go_with_the_table(tmp_path, capsys):
    release = pair(Node("L", counts={"a": 3, "b": 2}), Node("M", counts={"a": 1, "b": 1}))
    tree, qi, facts = (str(tmp_path / name) for name in ("tree.json", "qi.csv", "facts.csv"))
    release.save(tree)
    people(x=5, y=2).value_counts().reset_index(name="people").to_csv(qi, index=False)
    pd.DataFrame({"A": ["x", "x"], "Y": ["b", "b"]}).to_csv(facts, index=False)
    found = json.loads(printed(capsys, tree, qi, "--count", "people", "--facts", facts, "--json"))
    assert found["facts"] == {"known": 2, "leaves": 1, "individuals": 3}
    assert found["exposed"]["facts"] == 5
    text = printed(capsys, tree, qi, "--count", "people", "--facts", facts)
    assert "without the 2 individuals known, 1 more leaf holds one class only: the Y of 3 individuals" in text
    assert "facts" in refused(capsys, tree, "--facts", facts)


def test_names_like_our_own_columns_stay_apart(tmp_path, capsys):
    root = Node(
        "root", "leaf", (maxent.models.release.Branch("A|B", ("x|y",)), maxent.models.release.Branch("C", ("n", "z")))
    )
    leaves = Node("A|B", counts={"count": 2, "n": 0}), Node("C", counts={"count": 1, "n": 1})
    attributes = (
        maxent.models.release.Attribute("leaf", values=("x|y", "n", "z")),
        maxent.models.release.Attribute("n", values=("0", "1")),
    )
    release = Release(Target("count(n)", ("count", "n")), attributes, (Tree((root, *leaves)),))
    tree, qi = str(tmp_path / "tree.json"), str(tmp_path / "qi.csv")
    release.save(tree)
    pd.DataFrame({"leaf": ["x|y", "x|y", "n", "z"], "n": ["0", "0", "1", "1"]}).to_csv(qi, index=False)
    table, rows = str(tmp_path / "table.json"), str(tmp_path / "rows.parquet")
    printed(capsys, tree, qi, "--as-table", table, "-o", rows)
    with open(table) as file:
        (first, second) = json.load(file)["rows"]
    assert (first["maxent_leaf"], first["leaf"], second["leaf"]) == ("A|B", '["x|y"]', "n|z")
    assert pd.read_parquet(rows)["maxent_leaf"].tolist() == ["A|B", "C", "C"]


def test_what_is_wrong_is_refused_with_its_place(tmp_path, capsys, loans):
    tree, qi = loans
    assert "--min-size: expected a whole number of at least 1" in refused(capsys, tree, "--min-size", "0")
    assert "background" in refused(capsys, tree, "--background", "-1")
    assert "--min-size: expected a whole number, found 'many'" in refused(capsys, tree, "--min-size", "many")
    assert "no such file" in refused(capsys, str(tmp_path / "none.json"))
    (tmp_path / "others.csv").write_text("Name\nLisa\n", encoding="utf-8")
    assert "Marital Status" in refused(capsys, tree, str(tmp_path / "others.csv"))
    assert "count" in refused(capsys, tree, "--count", "people")
    assert "--as-table" in refused(capsys, tree, "--as-table", str(tmp_path / "table.xlsx"))
    assert "which is an input too" in refused(capsys, tree, qi, "-o", qi)
    assert not list(tmp_path.glob("*.xlsx"))


def test_nothing_moves_the_cursor(tmp_path, capsys):
    release = pair(
        Node("L\x1b[2J", counts={"a\x07": 2, "b": 0}), Node("M", counts={"a\x07": 1, "b": 1}), classes=("a\x07", "b")
    )
    path = str(tmp_path / "tree.json")
    release.save(path)
    text = printed(capsys, path)
    assert "L\\x1b[2J" in text
    assert text.replace("\n", "").isprintable()


def test_a_tree_of_one_leaf_is_audited(tmp_path, capsys):
    release = Release(Target("Y", ("a", "b")), (), (Tree((Node("only", counts={"a": 3, "b": 0}),)),))
    path = str(tmp_path / "tree.json")
    release.save(path)
    assert "  only: 3 individuals, all a: everybody" in printed(capsys, path).splitlines()
    found = maxent.audit_release(path)
    assert found.table.to_numpy().tolist() == [["only", 3, 3, 0, None]]
    assert found.leaves["node"].isna().all()
    assert np.array_equal(found.leaves["n"], [3])


def test_a_table_of_other_people_is_not_to_be_relied_on(capsys, tmp_path, loans):
    tree, qi = loans
    (tmp_path / "fewer.csv").write_text("\n".join(Path(qi).read_text().splitlines()[:3]) + "\n")
    assert main(["audit", str(tree), str(tmp_path / "fewer.csv"), "--json"]) == 1
    captured = capsys.readouterr()
    assert "not about the same people" in captured.err
    found = json.loads(captured.out)
    assert not found["reliable"]
    assert found["notes"][-1].endswith("not to be relied on")
