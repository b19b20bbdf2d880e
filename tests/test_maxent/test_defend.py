"""`maxent defend`: what it writes, prints, guarantees and refuses."""

import json
import os
import subprocess
import sys
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import maxent
from maxent.__main__ import main
from maxent.models.defenses.pruning import PrunedLeaves
from maxent.models.defenses.registry import methods
from maxent.models.induction.inducers import Inducer
from maxent.results.defended import file_names

CALL = ["--target", "Y", "--qi", "A,B,N"]
COLUMNS = {"target": "Y", "qi": ["A", "B", "N"]}
KEYS = {"leaves", "leaves_before", "train_accuracy", "test_accuracy", "guarantee"}


def people(n=120, seed=0):
    """Records of two categorical attributes, a numeric and a private one, with a column that nobody names."""
    rng = np.random.default_rng(seed)
    a, b, n_, p = rng.integers(0, 4, n), rng.integers(0, 3, n), rng.integers(0, 20, n), rng.integers(0, 2, n)
    score = a + b + n_ / 5 + 2 * p + rng.integers(0, 3, n)
    return pd.DataFrame(
        {
            "A": np.array(list("wxyz"), object)[a],
            "B": np.array(["low", "mid", "high"], object)[b],
            "N": n_ / 2,
            "P": np.array(["no", "yes"], object)[p],
            "Y": np.array(["bad", "good"], object)[(score > 6).astype(int)],
            "ignored": np.where(rng.random(n) < 0.2, "", "text"),
        }
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with records to train on and others to test with."""
    monkeypatch.chdir(tmp_path)
    people().to_csv("data.csv", index=False)
    people(50, 1).to_csv("test.csv", index=False)
    return tmp_path


def summary(capsys, *arguments):
    assert main(["defend", *arguments, "--json"]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    notes = [line.removeprefix("maxent: note: ") for line in printed.err.splitlines()]
    assert notes == found["notes"][: len(notes)]
    return found


def sizes(release):
    return [leaf.n for tree in release.trees for leaf in tree.leaves]


@pytest.mark.parametrize("method", [name for name in methods() if name != "rdt"])
def test_the_summary_has_every_key_of_the_contract(folder, capsys, method):
    found = summary(capsys, method, "data.csv", *CALL, "--test", "test.csv", "-o", "tree.json")
    assert found.keys() >= KEYS
    assert found["guarantee"] == (None if method == "none" else {"k": 5})
    assert 0 < found["train_accuracy"] <= 1
    assert 0 < found["test_accuracy"] <= 1
    assert found["leaves"] <= found["leaves_before"]
    assert found["releases"] == [
        {**{key: found[key] for key in found["releases"][0] if key in found}, "file": "tree.json"}
    ]
    release = maxent.load_release("tree.json")
    assert len(release.trees[0].leaves) == found["leaves"]
    assert sorted(os.listdir()) == ["data.csv", "test.csv", "tree.json"]


def test_what_is_written_is_what_python_returns(folder, capsys):
    summary(capsys, "prune-parent", "data.csv", *CALL, "--k", "7", "-o", "tree.json")
    defended = maxent.defend(pd.read_csv("data.csv"), "prune-parent", **COLUMNS, k=7)
    assert defended.release == maxent.load_release("tree.json")
    assert (defended.release.defense.method, dict(defended.release.defense.parameters)) == ("prune-parent", {"k": 7})
    assert maxent.defend("data.csv", **COLUMNS).release.defense is None


@pytest.mark.parametrize("inducer", get_args(Inducer))
@pytest.mark.parametrize("method", [name for name, kind in methods().items() if issubclass(kind, PrunedLeaves)])
def test_no_published_leaf_is_small_and_no_inner_node_tells_of_it(inducer, method):
    data, ks = people().drop(columns="N"), [2, 4, 9, 30]
    columns = {"target": "Y", "qi": ["A", "B"], "private": ["P"]}
    plain = maxent.defend(data, **columns, inducer=inducer)
    defended = maxent.defend(data, method, **columns, k=ks, inducer=inducer)
    assert [row["k"] for row in defended.rows] == ks
    for k, release, row in zip(ks, defended.releases, defended.rows, strict=True):
        assert all(n >= k or (n == 0 and method == "erp") for n in sizes(release))
        assert row["leaves_before"] == len(plain.release.trees[0].leaves)
        assert row["leaves"] == len(sizes(release))
        assert row["removed_records"] == len(data) - sum(sizes(release))
        assert all(node.n is None and node.counts is None for node in release.trees[0].nodes if not node.is_leaf)
    if method in ("prune-parent", "erp"):
        assert all(row["removed_records"] == row["removed_leaves"] == 0 for row in defended.rows)
    else:
        assert any(row["removed_leaves"] for row in defended.rows)


def test_the_plain_tree_predicts_as_scikit_learn_does():
    train, test = people(), people(80, 3)
    codes = {name: sorted(train[name].unique()) for name in ("A", "B")}

    def features(frame):
        return np.column_stack([*(frame[name].map(codes[name].index) for name in "AB"), frame["N"]])

    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(features(train), train["Y"])
    row = maxent.defend(train, **COLUMNS, max_depth=4, test=test).rows[0]
    assert row["leaves"] == row["leaves_before"] == model.get_n_leaves()
    assert row["train_accuracy"] == model.score(features(train), train["Y"])
    assert row["test_accuracy"] == model.score(features(test), test["Y"])


def test_several_k_at_once(folder, capsys):
    found = summary(capsys, "prune-leaf", "data.csv", *CALL, "--k", "5", "--k", "10", "--k", "5", "-o", "tree.json")
    assert not KEYS & found.keys()
    assert [(row["k"], row["guarantee"], row["file"]) for row in found["releases"]] == [
        (5, {"k": 5}, "tree-k5.json"),
        (10, {"k": 10}, "tree-k10.json"),
    ]
    assert all(row.keys() >= KEYS for row in found["releases"])
    for row in found["releases"]:
        assert len(maxent.load_release(row["file"]).trees[0].leaves) == row["leaves"]
    assert sorted(os.listdir()) == ["data.csv", "test.csv", "tree-k10.json", "tree-k5.json"]


def test_names_of_files():
    assert file_names("a/tree.json", [5]) == ("a/tree.json",)
    assert file_names("a/tree.json", [None]) == ("a/tree.json",)
    assert file_names("a/tree.v1.json", [5, 10]) == ("a/tree.v1-k5.json", "a/tree.v1-k10.json")
    assert file_names("a/{k}/tree-{k}.json", [5]) == ("a/5/tree-5.json",)


PUBLISHED = {"labels": {"label"}, "rates": {"label", "error_rate", "n"}, "counts": {"label", "n", "counts"}}


@pytest.mark.parametrize("publish", PUBLISHED)
def test_leaves_state_what_was_asked_for(publish):
    release = maxent.defend(people(), "prune-parent", **COLUMNS, publish=publish).release
    for node in release.trees[0].nodes:
        stated = {name for name in PUBLISHED["rates"] | PUBLISHED["counts"] if getattr(node, name) is not None}
        assert stated == (PUBLISHED[publish] if node.is_leaf else set())


def test_what_is_published_does_not_change_how_it_predicts():
    rows = [maxent.defend(people(), "prune-parent", **COLUMNS, publish=publish).rows[0] for publish in PUBLISHED]
    assert len({row["train_accuracy"] for row in rows}) == 1


def test_records_unlike_those_of_the_training_are_counted_and_told(folder, capsys):
    strange = pd.DataFrame({"A": list("wwq"), "B": "low", "N": [0, 0, 0], "Y": ["bad", "worse", "bad"]})
    strange.to_csv("strange.csv", index=False)
    found = summary(capsys, "none", "data.csv", *CALL, "--max-depth", "0", "--test", "strange.csv", "-o", "root.json")
    common = people()["Y"].mode()[0]
    assert found["test_accuracy"] == pytest.approx(2 / 3 if common == "bad" else 0)
    assert found["notes"] == ["test: 1 of 3 records have a class that the release does not know"]
    found = summary(capsys, "none", "data.csv", *CALL, "--test", "strange.csv", "-o", "tree.json")
    assert "test: 1 of 3 records have a value that the release does not know" in found["notes"]


def test_columns_that_are_named_nowhere_are_ignored(folder):
    data = people()
    plain = maxent.defend(data, **COLUMNS).release
    assert [a.name for a in plain.attributes] == ["A", "B", "N"]
    assert maxent.defend(data.assign(Z=np.nan), **COLUMNS).release == plain


def test_a_private_attribute_is_said_to_be_no_k_anonymity(folder, capsys):
    found = summary(capsys, "prune-parent", "data.csv", *CALL, "--private", "P", "-o", "private.json")
    assert [a.role for a in maxent.load_release("private.json").attributes] == ["public", "public", "public", "private"]
    (note,) = (note for note in found["notes"] if "k-anonymity" in note)
    assert "tests P, which an adversary does not know" in note
    assert "k-anonymity" not in " ".join(summary(capsys, "prune-parent", "data.csv", *CALL, "-o", "tree.json")["notes"])


def test_names_of_columns_may_have_commas(folder, capsys):
    people().rename(columns={"A": "A, first", "B": "B"}).to_csv("data.csv", index=False)
    call = ["--target", "Y", "--qi", 'B, "A, first"', "--qi", "N", "--categorical", "N"]
    summary(capsys, "none", "data.csv", *call, "-o", "tree.json")
    attributes = maxent.load_release("tree.json").attributes
    assert [(a.name, a.type) for a in attributes] == [
        ("B", "categorical"),
        ("A, first", "categorical"),
        ("N", "categorical"),
    ]


def test_parquet(folder, capsys):
    people().to_parquet("data.parquet")
    summary(capsys, "none", "data.csv", *CALL, "-o", "a.json")
    summary(capsys, "none", "data.parquet", *CALL, "-o", "b.json")
    assert (folder / "a.json").read_text() == (folder / "b.json").read_text()


def test_the_text_says_what_is_guaranteed_and_what_is_not(folder, capsys):
    call = ["defend", "prune-leaf", "data.csv", *CALL, "--k", "5", "--k", "10", "--test", "test.csv", "-o", "tree.json"]
    assert main(call) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = maxent.defend("data.csv", "prune-leaf", **COLUMNS, k=[5, 10], test="test.csv").rows
    assert lines[0] == f"prune-leaf: 120 records, a tree of {rows[0]['leaves_before']} leaves"
    assert lines[2].split()[:3] == ["release", "k", "leaves"]
    for line, row in zip(lines[3:5], rows, strict=True):
        cells = line.split()
        assert cells[:4] == [f"tree-k{row['k']}.json", str(row["k"]), str(row["leaves"]), str(row["removed_leaves"])]
        assert cells[-2:] == [f"{row['train_accuracy']:.4f}", f"{row['test_accuracy']:.4f}"]
    assert lines[6].startswith("guaranteed: no published leaf has fewer than k records")
    assert lines[7] == "classes are not hidden: everybody in a pure leaf has the class that it states"


REFUSED = {
    "k of none": (["none", *CALL, "--k", "3"], ["k: expected none for the method none"]),
    "k": (
        ["prune-leaf", *CALL, "--k", "0", "--k", "-1"],
        ["k: expected a whole number of records", "found 0", "found -1"],
    ),
    "more than records": (["prune-leaf", *CALL, "--k", "121"], ["at least k = 121 records"]),
    "columns": (
        ["none", "--target", "Z", "--qi", "A,C", "--private", "D"],
        ["header: Z: expected a column", "header: C: expected", "header: D: expected"],
    ),
    "target among qi": (["none", "--target", "A", "--qi", "A,B"], ["target: expected a column that is not among"]),
    "column twice": (["none", "--target", "Y", "--qi", "A,B,A"], ["expected each column once"]),
    "growth": (
        ["none", *CALL, "--max-depth", "-1", "--min-samples-leaf", "0", "--min-samples-split", "0", "--seed", "-1"],
        ["--max-depth: expected", "--min-samples-leaf: expected", "--min-samples-split: expected", "--seed: expected"],
    ),
    "impurity": (["none", *CALL, "--impurity", "gain_ratio"], ["impurity: expected one of gini, entropy for cart"]),
    "numbers": (["none", *CALL, "--inducer", "id3"], ["'N': type: expected categories"]),
    "missing values": (["none", "--target", "Y", "--qi", "A,ignored"], ["'ignored': values: expected no missing"]),
    "no data": (["none", *CALL, "gone.csv"], ["gone.csv: file: path: expected"]),
    "no test": (["none", *CALL, "--test", "gone.csv"], ["gone.csv: file: path: expected"]),
    "test without columns": (["none", *CALL, "--test", "bad.csv"], ["bad.csv: header: B: expected", "header: Y"]),
    "suffix": (["none", *CALL, "-o", "tree.xml"], ["-o: expected a file name that ends in .json"]),
    "folder": (["none", *CALL, "-o", "no/tree.json"], ["-o: expected a file that can be written"]),
    "over the data": (["none", *CALL, "--test", "data.json", "-o", "data.json"], ["expected a file of its own"]),
    "method": (["prune", *CALL], ["prune", "prune-leaf", "prune-parent"]),
    "inducer": (["none", *CALL, "--inducer", "c50"], ["c50", "cart", "id3", "c45"]),
    "no target": (["none", "--qi", "A"], ["--target"]),
    "no qi": (["none", "--target", "Y"], ["--qi"]),
    "empty qi": (["none", "--target", "Y", "--qi", ","], ["qi: expected at least one column"]),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_is_refused(folder, capsys, case):
    (method, *call), fragments = case
    (folder / "bad.csv").write_text("A,N\nw,1\n")
    (folder / "data.json").write_text("{}")
    data = [] if "gone.csv" in call and "--test" not in call else ["data.csv"]
    before = {name: (folder / name).read_bytes() for name in os.listdir()}
    assert main(["defend", method, *data, *call, *(() if "-o" in call else ("-o", "tree.json"))]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Traceback" not in printed.err
    for fragment in fragments:
        assert fragment in printed.err
    assert {name: (folder / name).read_bytes() for name in os.listdir()} == before


def test_python_refuses_what_the_command_line_cannot_say():
    for wrong, fragment in (
        ({"k": []}, "k: expected at least one"),
        ({"k": 2.5}, "found 2.5"),
        ({"k": True}, "found True"),
        ({"publish": "everything"}, "publish: expected one of labels"),
        ({"encoding": "hashed"}, "encoding: expected one of ordinal"),
        (
            {"domains": {}},
            "domains: expected none for the method prune-leaf: it is an option of rdt, found one, which is",
        ),
    ):
        with pytest.raises(maxent.InvalidInput, match=fragment):
            maxent.defend(people(), "prune-leaf", **COLUMNS, **wrong)
    with pytest.raises(maxent.InvalidInput, match="method: expected one of none, prune-leaf"):
        maxent.defend(people(), "burn", **COLUMNS)


def test_a_failing_write_leaves_the_old_file_and_no_other(folder, capsys, monkeypatch):
    (folder / "tree.json").write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    assert main(["defend", "none", "data.csv", *CALL, "-o", "tree.json", "--force"]) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert sorted(os.listdir()) == ["data.csv", "test.csv", "tree.json"]
    assert (folder / "tree.json").read_text() == "old"


def test_in_a_process_of_its_own(folder):
    call = [sys.executable, "-m", "maxent", "defend", "prune-parent", "data.csv", *CALL, "-o", "tree.json"]
    ran = subprocess.run(call, capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "guaranteed: no leaf has fewer than 5 records" in ran.stdout


def test_a_k_anonymous_tree_passes_its_own_audit(folder, capsys):
    options = ["--private", "P", "--k", "8", "--k", "20", "--test", "test.csv"]
    found = summary(capsys, "kadet", "data.csv", *CALL, *options, "-o", "anonymous-{k}.json")
    assert [row["guarantee"] for row in found["releases"]] == [{"k": 8}, {"k": 20}]
    for k in (8, 20):
        spans = maxent.audit(f"anonymous-{k}.json", "data.csv")["spans"]
        assert spans["k_anonymous"] >= k
    assert not any("not k-anonymity" in note for note in found["notes"])
    assert any("20-anonymity" in note or "k-anonymity" in note for note in found["notes"])


def test_diversity_and_hierarchies(folder, capsys):
    (folder / "levels").mkdir()
    (folder / "levels" / "A.csv").write_text("w;early;*\nx;early;*\ny;late;*\nz;late;*\n")
    options = ["--target", "Y", "--qi", "A", "--l", "1.3", "--alpha", "0.95", "--hierarchies", "levels", "--k", "40"]
    found = summary(capsys, "kadet", "data.csv", *options, "-o", "tree.json")
    assert found["guarantee"] == {"k": 40, "l": 1.3, "diversity": "entropy", "alpha": 0.95}
    assert "an entropy of log 1.3; no class has more than a share of 0.95" in found["notes"][0]
    release = maxent.load_release("tree.json")
    groups = {branch.values for node in release.trees[0].nodes if node.attribute == "A" for branch in node.branches}
    assert groups == {("w", "x"), ("y", "z")}
    for leaf in release.trees[0].leaves:
        shares = np.array([count for count in leaf.counts.values() if count]) / leaf.n
        assert shares.max() <= 0.95
        assert np.exp(-(shares * np.log(shares)).sum()) >= 1.3 - 1e-12


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["prune-leaf", "--l", "2", "--class-public"], ["--l: expected none", "--class-public: expected none"]),
        (["kadet", "--inducer", "cart"], ["--inducer: expected one of id3, c45, found 'cart'"]),
        (["kadet", "--min-samples-leaf", "3"], ["use --k"]),
        (["kadet", "--l", "1", "--alpha", "2"], ["a number above 1", "below 1"]),
        (["kadet", "--k", "500"], ["at most 120"]),
        (["kadet", "--hierarchies", "nowhere"], ["no folder"]),
    ],
)
def test_options_of_k_anonymous_trees_are_checked(folder, capsys, options, named):
    assert main(["defend", options[0], "data.csv", *CALL, *options[1:], "-o", "tree.json"]) == 2
    printed = capsys.readouterr().err
    assert all(text in printed for text in named)
    assert not os.path.exists("tree.json")


def test_missing_values_are_a_category_when_asked(folder, capsys):
    data = people()
    data.loc[data.index % 7 == 0, "A"] = None
    data.to_csv("holes.csv", index=False)
    assert main(["defend", "none", "holes.csv", *CALL, "-o", "tree.json"]) == 2
    assert "missing" in capsys.readouterr().err
    found = summary(
        capsys, "none", "holes.csv", *CALL, "--missing", "category", "--test", "holes.csv", "-o", "tree.json"
    )
    assert found["missing"] == {"holes.csv": {"A": 18}}
    assert "holes.csv: column 'A' has no value on 18 lines: that is read as '(missing)'" in found["notes"]
    release = maxent.load_release("tree.json")
    assert release.attributes[0].values == ("(missing)", "w", "x", "y", "z")
    filled = data.assign(A=data["A"].fillna("(missing)"))
    assert maxent.defend(filled, **COLUMNS).release == release
    assert maxent.defend(data, **COLUMNS, missing="category").release == release
    holes = maxent.audit(release, "holes.csv")
    assert holes.pop("missing") == {"holes.csv": {"A": 18}}
    assert [note.partition(" has no value on 18 lines")[0] for note in holes["notes"]] == ["holes.csv: column 'A'"]
    assert {**holes, "notes": []} == maxent.audit(release, filled)


def test_with_the_class_in_the_table_the_smallest_group_is_of_one_class(folder, capsys):
    rows = [("a", "x", "+")] * 5 + [("a", "x", "-")] * 2 + [("b", "y", "+")] * 2 + [("b", "y", "-")] * 6
    pd.DataFrame(rows, columns=["A", "B", "Y"]).to_csv("small.csv", index=False)
    call = ["small.csv", "--target", "Y", "--qi", "A,B", "--k", "2", "--class-public", "-o", "tree.json"]
    assert summary(capsys, "kadet", *call)["guarantee"] == {"k": 2, "class": "public"}
    assert maxent.audit("tree.json", "small.csv")["spans"]["k_anonymous"] == 2
