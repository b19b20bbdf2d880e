"""Error-risk pruning on the command line: trees, records in place of a tree, and ``maxent audit --risk``."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.calls import printed_by
from support.yang import RANGES, figure_1, records

import maxent
from maxent.models.defenses.error_risk import prune_erp
from maxent.models.defenses.generalization import tiered
from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree
from maxent.models.tables.training import read_training
from maxent.models.trees.reidentification import measure_risk, ranges_of

QI = ["Job", "Age", "Size"]
CALL = ["--target", "Ill", "--qi", "Job,Age,Size"]


def people(n=150, seed=4):
    """Records of a categorical and two numeric attributes."""
    rng = np.random.default_rng(seed)
    job, age, size = rng.integers(0, 5, n), rng.integers(20, 70, n), rng.integers(0, 9, n) / 2
    ill = job + age / 12 + size + rng.normal(0, 1, n) > 8
    names = np.array(["cook", "a|b", "clerk", "nurse", "cab\\driver"], object)
    return pd.DataFrame({"Job": names[job], "Age": age, "Size": size, "Ill": np.where(ill, "yes", "no")})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with records, the tree of the worked example and its records."""
    monkeypatch.chdir(tmp_path)
    people().to_csv("data.csv", index=False)
    figure_1().save("figure.json")
    records().drop(columns="leaf").to_csv("figure.csv", index=False)
    return tmp_path


def printed(capsys, *arguments):
    shown = printed_by(capsys, [*arguments])
    assert shown.err == ""
    return shown.out


def refused(capsys, *arguments):
    before = sorted(os.listdir())
    shown = printed_by(capsys, [*arguments], 2)
    assert shown.out == ""
    assert sorted(os.listdir()) == before
    return shown.err


# --- Trees -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [None, "twig", "literal"])
def test_the_release_is_the_pruned_tree(folder, capsys, rule):
    options = [] if rule is None else ["--rule", rule]
    found = json.loads(
        printed(capsys, "defend", "erp", "data.csv", *CALL, "--k", "8", *options, "-o", "t.json", "--json")
    )
    data = read_training("data.csv", target="Ill", qi=QI)
    plain = maxent.defend("data.csv", target="Ill", qi=QI).release
    expected = prune_erp(plain, 8, ranges=ranges_of(data.attributes, data.columns), rule=rule or "twig")
    release = maxent.load_release("t.json")
    assert release == expected
    assert dict(release.defense.parameters) == {"k": 8, "rule": rule or "twig"}
    assert (found["guarantee"], found["removed_records"]) == ({"k": 8}, 0)
    assert found["leaves"] == len(release.trees[0].leaves) < found["leaves_before"]
    assert found["notes"][0] == "guaranteed: every leaf has no records or at least 8"


def test_private_numbers_have_ranges_too(folder):
    defended = maxent.defend("data.csv", "erp", target="Ill", qi=["Job"], private=["Age", "Size"], k=4)
    assert {node.attribute for node in defended.release.trees[0].nodes} & {"Age", "Size"}
    assert any("this is not k-anonymity: the tree tests" in note for note in defended.notes)


# --- Records ---------------------------------------------------------------------------------------------------


def holds(cell, value):
    """Whether a published cell covers a value: a set of names, or a range of numbers that are not negative."""
    if isinstance(value, str):
        names = cell.replace("\\\\", "\0").replace("\\|", "\1").split("|")
        return value in [name.replace("\0", "\\").replace("\1", "|") for name in names]
    low, _, high = cell.partition("-")
    return float(low) <= value <= float(high or low)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("distance", ["gower", "ranks"])
def test_k_rows_cover_each_record_and_k_records_are_covered_by_each_row(folder, capsys, suffix, distance):
    output = f"rows.{suffix}"
    options = ["--k", "3", "--k", "12", "--publish", "records", "--distance", distance]
    found = json.loads(printed(capsys, "defend", "erp", "data.csv", *CALL, *options, "-o", output, "--json"))
    assert [row["file"] for row in found["releases"]] == [f"rows-k3.{suffix}", f"rows-k12.{suffix}"]
    data = people()
    for row in found["releases"]:
        rows = pd.read_csv(row["file"], dtype=str) if suffix == "csv" else pd.read_parquet(row["file"])
        assert rows.columns.tolist() == [*QI, "Ill"]
        assert sorted(rows["Ill"]) == sorted(data["Ill"])
        covers = np.ones((len(rows), len(data)), bool)
        for name in QI:
            cells, values = rows[name].unique(), data[name].unique()
            held = pd.DataFrame([[holds(cell, value) for value in values.tolist()] for cell in cells], cells, values)
            covers &= held.loc[rows[name], data[name]].to_numpy()
        assert covers.sum(axis=0).min() >= row["k"]
        assert covers.sum(axis=1).min() >= row["k"]
        assert row["k_anonymous"] == rows.groupby(QI).size().min()
        assert row["guarantee"] == {"kk": row["k"]}
        assert not {"leaves", "train_accuracy"} & row.keys()
    assert 0 < found["releases"][0]["gcp"] < found["releases"][1]["gcp"] < 1
    assert found["releases"][0]["k_anonymous"] < 3  # what the words of the guarantee warn of


def test_the_records_are_those_of_the_library(folder, capsys):
    printed(capsys, "defend", "erp", "data.csv", *CALL, "--k", "6", "--publish", "records", "-o", "rows.parquet")
    plain = maxent.defend("data.csv", target="Ill", qi=QI).release
    table = tiered(read_training("data.csv", target="Ill", qi=QI), plain, 6)
    assert pd.read_parquet("rows.parquet").to_numpy().tolist() == table.frame().to_numpy().tolist()
    defended = maxent.defend("data.csv", "erp", target="Ill", qi=QI, k=6, publish="records")
    assert defended.releases == ()
    assert defended.rows[0]["gcp"] == defended.tables[0].gcp() == table.gcp()
    with pytest.raises(maxent.InvalidInput, match=r"ends in \.csv or \.parquet"):
        defended.save("rows.json")


def test_the_text_says_that_it_is_no_k_anonymity(folder, capsys):
    lines = printed(
        capsys, "defend", "erp", "data.csv", *CALL, "--k", "6", "--publish", "records", "-o", "r.csv"
    ).splitlines()
    row = maxent.defend("data.csv", "erp", target="Ill", qi=QI, k=6, publish="records").rows[0]
    assert lines[0] == f"erp: 150 records, a tree of {row['leaves_before']} leaves"
    assert lines[2].split() == ["release", "k", "GCP", "fewest", "alike"]
    assert lines[3].split() == ["r.csv", "6", f"{row['gcp']:.4f}", str(row["k_anonymous"])]
    assert lines[5] == (
        "guaranteed: (6,6)-anonymity, which is not k-anonymity: at least 6 published rows cover each record, and each "
        "row covers at least 6 records, but fewer than 6 rows may be alike"
    )
    assert lines[6].startswith("classes are not hidden")


REFUSED = {
    "rule of others": (["prune-leaf", "--rule", "twig"], ["rule: expected none for the method prune-leaf"]),
    "rule of kadet": (["kadet", "--rule", "literal"], ["rule: expected none for the method kadet"]),
    "rule of records": (["erp", "--rule", "twig", "--publish", "records", "-o", "r.csv"],
        ["rule: expected none for rec"]),
    "records of others": (["none", "--publish", "records", "-o", "r.csv"],
        ["--publish: expected one of labels, rates, counts, found 'records'"]),
    "test of records": (["erp", "--publish", "records", "--test", "data.csv", "-o", "r.csv"], ["test: expected none"]),
    "options of kadet": (["erp", "--l", "2", "--class-public"],
        ["--l: expected none", "--class-public: expected none"]),
    "records as a tree": (["erp", "--publish", "records", "-o", "r.json"], [".csv or .parquet"]),
    "a tree as records": (["erp", "-o", "r.csv"], ["ends in .json"]),
    "few records": (["erp", "--k", "151"], ["at least k = 151 records"]),
    "few records in tiers": (["erp", "--k", "151", "--publish", "records", "-o", "r.csv"], ["at least k = 151"]),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_is_refused(folder, capsys, case):
    (method, *options), fragments = case
    output = [] if "-o" in options else ["-o", "t.json"]
    error = refused(capsys, "defend", method, "data.csv", *CALL, *options, *output)
    for fragment in fragments:
        assert fragment in error


def test_python_refuses_what_the_command_line_cannot_say():
    for wrong, fragment in (
        ({"rule": "branch"}, "rule: expected None or one of twig, literal"),
        ({"distance": 1}, "of gower"),
    ):
        with pytest.raises(maxent.InvalidInput, match=fragment):
            maxent.defend(people(), "erp", target="Ill", qi=QI, **wrong)


# --- Risk ------------------------------------------------------------------------------------------------------


def test_the_worked_example(folder, capsys):
    found = json.loads(printed(capsys, "audit", "figure.json", "figure.csv", "--risk", "--json"))
    assert found == maxent.audit("figure.json", "figure.csv", risk=True)
    rows = {row["node"]: row for row in found["risk"]}
    assert list(rows) == [node.id for node in figure_1().trees[0].nodes]
    assert rows["2"]["R"] == pytest.approx(3.322, abs=5e-4)
    assert rows["6"]["R"] == pytest.approx(4.322, abs=5e-4)
    assert rows["6"]["R_branch"] == pytest.approx(3.432, abs=5e-4)
    omega = {"1": 0.135, "2": 0.161, "3": 0.246, "6": 0.445}
    assert {node: row["omega"] for node, row in rows.items() if row["omega"] is not None} == pytest.approx(
        omega, abs=5e-4
    )
    assert rows["6"].items() >= {"tree": 1, "n": 5, "E": 2.0, "E_branch": 0.0}.items()
    measured = measure_risk(figure_1(), RANGES)
    assert [row["BIG"] + row["ICR"] for row in rows.values()] == pytest.approx(measured.total.tolist())
    assert "risk" not in maxent.audit("figure.json", "figure.csv")


def test_the_text_lists_the_nodes_that_are_the_easiest_to_re_identify(folder, capsys):
    lines = printed(capsys, "audit", "figure.json", "figure.csv", "--risk").splitlines()
    start = lines.index(
        "re-identification risk, bits (the fewer, the easier), and omega, bits per error that pruning makes:"
    )
    table = [line.split() for line in lines[start + 1 : start + 11]]
    assert table[0] == ["node", "n", "BIG", "ICR", "R", "R_branch", "omega"]
    assert [row[0] for row in table[1:]] == ["4", "2", "8", "5", "1", "7", "3", "6", "9"]
    assert table[2] == ["2", "5", "1.000", "2.322", "3.322", "3.000", "0.161"]
    assert lines[start + 11] == "worst leaves:"


def test_of_many_nodes_the_number(folder, capsys):
    maxent.defend("data.csv", target="Ill", qi=QI).save("plain.json")
    lines = printed(capsys, "audit", "plain.json", "data.csv", "--risk").splitlines()
    nodes = len(maxent.load_release("plain.json").trees[0].nodes)
    assert f"  and {nodes - 10} more (--json lists them)" in lines


def test_pruning_raises_the_least_information(folder, capsys):
    kept = {}
    for k in (1, 10):
        maxent.defend("data.csv", "erp", target="Ill", qi=QI, k=k).save(f"k{k}.json")
        kept[k] = json.loads(printed(capsys, "audit", f"k{k}.json", "data.csv", "--risk", "--json"))["risk"][0]
    assert kept[1]["R_branch"] < kept[10]["R_branch"]


def small(role="public", **leaf):
    """A stump on a number."""
    root = Node("N", "A", (Branch("L", le=1.0), Branch("M", gt=1.0)))
    attributes = (Attribute("A", "numeric", role=role), Attribute("B", values=("x", "y")))
    trees = (Tree((root, Node("L", **leaf), Node("M", counts={"a": 3, "b": 0}))),)
    return Release(Target("Y", ("a", "b")), attributes, trees)


def test_nobody_takes_infinitely_much_and_errors_may_be_unknown():
    table = pd.DataFrame({"A": [2, 3, 5], "B": ["x", "y", "y"]})
    leaf = maxent.audit(small(label="b", n=0), table, risk=True)["risk"][1]
    assert (leaf["node"], leaf["n"], leaf["ICR"], leaf["R"], leaf["E"]) == ("L", 0, np.inf, np.inf, 0)
    root = maxent.audit(small(label="b", n=2), table, risk=True)["risk"][0]
    assert (root["n"], root["E"], root["E_branch"], root["omega"]) == (5, None, None, None)


def test_a_branch_whose_pruning_makes_no_error_comes_first(capsys, tmp_path):
    small(counts={"a": 2, "b": 0}).save(tmp_path / "tree.json")
    qi = tmp_path / "qi.csv"
    pd.DataFrame({"A": [0, 1, 2, 3, 4], "B": list("xxyyy")}).to_csv(qi, index=False)
    call = ["audit", str(tmp_path / "tree.json"), str(qi), "--risk"]
    assert "  N     5  0.000  2.322  2.322     2.000    inf" in printed(capsys, *call).splitlines()
    root = json.loads(printed(capsys, *call, "--json"))["risk"][0]
    assert (root["omega"], root["E"], root["E_branch"]) == (None, 0, 0)


def test_trees_are_told_apart(capsys, tmp_path):
    trees = figure_1().trees
    release = Release(
        figure_1().target, figure_1().attributes, (*trees, Tree((Node("only", counts={"Yes": 7, "No": 7}),)))
    )
    rows = maxent.audit(release, records(), risk=True)["risk"]
    assert [row["tree"] for row in rows] == [1] * 9 + [2]
    assert rows[-1]["R"] == pytest.approx(np.log2(14))
    release.save(tmp_path / "two.json")
    records().to_csv(tmp_path / "qi.csv", index=False)
    assert "  tree 2, only" in printed(capsys, "audit", str(tmp_path / "two.json"), str(tmp_path / "qi.csv"), "--risk")


def test_risk_is_refused_where_it_is_not_known(folder, capsys):
    error = refused(capsys, "audit", "figure.json", "--risk")
    assert "attribute 'Age': range: expected the adversary's table (QI)" in error
    small(role="private", label="b", n=2).save("private.json")
    pd.DataFrame({"A": [1, 2], "B": ["x", "y"]}).to_csv("qi.csv", index=False)
    assert "attribute 'A': role: expected public" in refused(capsys, "audit", "private.json", "qi.csv", "--risk")
    small(label="b").save("unstated.json")
    assert "n: expected n or counts" in refused(capsys, "audit", "unstated.json", "qi.csv", "--risk")


def test_a_tree_without_numbers_needs_no_table(capsys, tmp_path):
    attribute = Attribute("B", values=("x", "y", "z"))
    root = Node("N", "B", (Branch("L", values=("x",)), Branch("M", values=("y", "z"))))
    leaves = (Node("L", counts={"a": 4, "b": 0}), Node("M", counts={"a": 1, "b": 7}))
    Release(Target("Y", ("a", "b")), (attribute,), (Tree((root, *leaves)),)).save(tmp_path / "tree.json")
    rows = json.loads(printed(capsys, "audit", str(tmp_path / "tree.json"), "--risk", "--json"))["risk"]
    assert [row["R"] for row in rows] == pytest.approx([np.log2(12), np.log2(3) + 2, np.log2(1.5) + 3])


# --- Comparing ---------------------------------------------------------------------------------------------------


def test_compare_says_how_much_identifying_somebody_takes(folder, capsys):
    """Pruning raises the fewest bits (lemma 3): of the worked example from node 4's to node 2's."""
    pruned = prune_erp(figure_1(), 3, ranges=RANGES)
    pruned.save("pruned.json")
    labels = [node if not node.is_leaf else Node(node.id, label=node.label) for node in figure_1().trees[0].nodes]
    Release(figure_1().target, figure_1().attributes, (Tree(tuple(labels)),)).save("labels.json")
    qi = records().drop(columns=["leaf", "Bought"])
    rows = maxent.compare(["figure.json", "pruned.json"], qi).rows
    for row, release in zip(rows, (figure_1(), pruned), strict=True):
        leaves = measure_risk(release, RANGES).frame()[[node.is_leaf for node in release.trees[0].nodes]]
        assert row["fewest_bits"] == leaves["R"].min()
        assert row["mean_bits"] == pytest.approx((leaves["R"] * leaves["n"]).sum() / 14)
    assert [row["fewest_bits"] for row in rows] == pytest.approx([3.0, 3.322], abs=5e-4)
    qi.to_csv("qi.csv", index=False)
    text = printed(capsys, "compare", "figure.json", "pruned.json", "--qi", "qi.csv")
    assert any(
        " ".join(line.split()) == "fewest bits to re-identify 3.0000 3.3219 +0.3219" for line in text.splitlines()
    )
    assert "bits" not in printed(capsys, "compare", "labels.json", "--qi", "qi.csv")
    assert maxent.compare(["labels.json"], qi).rows[0]["fewest_bits"] is None


def test_records_are_compared_without_the_bits_of_nodes(folder):
    training = read_training("figure.csv", target="Bought", qi=["Age", "Gender", "Marital Status"])
    table = tiered(training, figure_1(), 3)
    rows = maxent.compare({"tree": figure_1(), "records": table}, "figure.csv").rows
    assert [row["fewest_bits"] is None for row in rows] == [False, True]


def test_the_worked_example_is_among_the_examples():
    folder = Path(__file__).parents[2] / "examples" / "yang"
    assert maxent.load_release(folder / "tree.json") == figure_1()
    pd.testing.assert_frame_equal(pd.read_csv(folder / "records.csv"), records().drop(columns="leaf"))


# --- Alike in groups ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [[], ["--rule", "literal"]])
def test_uniform_records_are_alike_in_the_leaves_of_the_pruned_tree(folder, capsys, rule):
    options = ["--k", "8", *rule, "--publish", "records", "--generalization", "uniform"]
    found = json.loads(printed(capsys, "defend", "erp", "data.csv", *CALL, *options, "-o", "rows.csv", "--json"))
    pruned = maxent.defend("data.csv", "erp", target="Ill", qi=QI, k=8, rule=rule[1] if rule else None).release
    sizes = pd.read_csv("rows.csv", dtype=str).groupby(QI).size()
    assert sorted(sizes) == sorted(leaf.n for leaf in pruned.trees[0].leaves if leaf.n)
    assert found["guarantee"] == {"k": 8}
    assert found["k_anonymous"] == sizes.min() >= 8
    assert found["notes"][0] == "guaranteed: 8-anonymity: at least 8 rows are alike but for their classes"
    assert maxent.defend("data.csv", "erp", target="Ill", qi=QI, k=8, publish="records").rows[0]["gcp"] < found["gcp"]


def test_options_of_one_generalisation_are_refused_for_the_other(folder, capsys):
    records = ["--publish", "records", "-o", "rows.csv"]
    uniform = [*records, "--generalization", "uniform", "--distance", "gower"]
    assert "distance: expected none: it needs --publish records, and --generalization tiered" in refused(
        capsys, "defend", "erp", "data.csv", *CALL, *uniform
    )
    tiers = [*records, "--generalization", "tiered", "--rule", "twig"]
    assert "rule: expected none for records in tiers" in refused(capsys, "defend", "erp", "data.csv", *CALL, *tiers)
    tree = ["-o", "t.json", "--generalization", "uniform"]
    assert "generalization: expected none: it needs --publish records" in refused(
        capsys, "defend", "erp", "data.csv", *CALL, *tree
    )
