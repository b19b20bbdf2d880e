"""`maxent defend`: what it writes, prints, guarantees and refuses."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from support.calls import printed_by, refused
from support.limited import ends, held, trees

import maxent
from maxent.__main__ import main
from maxent.api import defend_audited as api_defend
from maxent.api.defend import defend
from maxent.api.defend_audited import Broken, audit_of, best_audited
from maxent.api.posterior import estimate
from maxent.models.defenses.methods import PrunedLeaves
from maxent.models.defenses.optimal.best_first import BestFirst
from maxent.models.defenses.optimal.limits import SubtreeLimits as Limits
from maxent.models.defenses.optimal.method import BestSubtree
from maxent.models.defenses.random_trees import predict_votes
from maxent.models.defenses.registry import methods
from maxent.models.errors import InvalidInput, NoAnswerInTime
from maxent.models.formats.registry import load_release
from maxent.models.induction.growth import Growth, Inducer
from maxent.models.induction.inducers import induce
from maxent.models.release import Release
from maxent.models.tables.training import Training, read_training
from maxent.models.trees.predict import cases_of, predict, read_columns, score
from maxent.results.defended import file_names
from maxent.solvers.control import Clock

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
    printed = printed_by(capsys, ["defend", *arguments, "--json"])
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
    assert len(maxent.load_release("tree.json").trees[0].leaves) == found["leaves"]
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
    for node in maxent.defend(people(), "prune-parent", **COLUMNS, publish=publish).release.trees[0].nodes:
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
    lines = printed_by(capsys, call).out.splitlines()
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
    "column twice": (["none", "--target", "Y", "--qi", "A,B,A"], ["expected each column once"]),
    "growth": (
        ["none", *CALL, "--max-depth", "-1", "--min-samples-leaf", "0", "--min-samples-split", "0", "--seed", "-1"],
        ["--max-depth: expected", "--min-samples-leaf: expected", "--min-samples-split: expected", "--seed: expected"],
    ),
    "impurity": (["none", *CALL, "--impurity", "gain_ratio"], ["impurity: expected one of gini, entropy for cart"]),
    "numbers": (["none", *CALL, "--inducer", "id3"], ["'N': type: expected categories"]),
    "test without columns": (["none", *CALL, "--test", "bad.csv"], ["bad.csv: header: B: expected", "header: Y"]),
    "folder": (["none", *CALL, "-o", "no/tree.json"], ["-o: expected a file that can be written"]),
    "inducer": (["none", *CALL, "--inducer", "c50"], ["c50", "cart", "id3", "c45"]),
    "empty qi": (["none", "--target", "Y", "--qi", ","], ["qi: expected at least one column"]),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_is_refused(folder, capsys, case):
    (method, *call), fragments = case
    (folder / "bad.csv").write_text("A,N\nw,1\n")
    before = {name: (folder / name).read_bytes() for name in os.listdir()}
    call = ["defend", method, "data.csv", *call, *(() if "-o" in call else ("-o", "tree.json"))]
    printed = printed_by(capsys, call, 2)
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
        refused(fragment, maxent.defend, people(), "prune-leaf", **COLUMNS, **wrong)
    refused("method: expected one of none, prune-leaf", maxent.defend, people(), "burn", **COLUMNS)


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
        assert maxent.audit(f"anonymous-{k}.json", "data.csv")["spans"]["k_anonymous"] >= k
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
        (["kadet", "--l", "1", "--alpha", "2"], ["a number above 1", "below 1"]),
        (["kadet", "--k", "500"], ["at most 120"]),
        (["kadet", "--hierarchies", "nowhere"], ["no folder"]),
    ],
)
def test_options_of_k_anonymous_trees_are_checked(folder, capsys, options, named):
    printed = printed_by(capsys, ["defend", options[0], "data.csv", *CALL, *options[1:], "-o", "tree.json"], 2).err
    assert all(text in printed for text in named)
    assert not os.path.exists("tree.json")


def test_missing_values_are_a_category_when_asked(folder, capsys):
    data = people()
    data.loc[data.index % 7 == 0, "A"] = None
    data.to_csv("holes.csv", index=False)
    assert "missing" in printed_by(capsys, ["defend", "none", "holes.csv", *CALL, "-o", "tree.json"], 2).err
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


QI = ["x", "z", "v", "w"]


def forest_people(seed: int, n: int = 150) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(random.integers(0, 4, (n, 4)), columns=QI)
    return frame.assign(y=np.where(frame.sum(axis=1) + random.integers(0, 4, n) > 7, "yes", "no"))


def forest(frame: pd.DataFrame, trees: int = 4, depth: int = 3) -> RandomForestClassifier:
    return RandomForestClassifier(trees, max_depth=depth, max_features=1, random_state=0).fit(frame[QI], frame["y"])


@pytest.mark.parametrize("more", [{}, {"remove": True, "publish": "rates"}])
def test_together_they_stay_within_the_limits(more: Any) -> None:
    frame = forest_people(0)
    limits = {"max_posterior": 0.93, "max_certain": 0}
    found = defend(frame, "optimal", target="y", qi=QI, model=forest(frame, 3), k=5, **limits, **more)
    (row,) = found.rows
    assert (row["trees_before"], len(found.release.trees)) == (3, row["trees"])
    result = estimate(found.release, frame[QI], frame)
    assert result.verdict(**limits, min_k=5).passed
    assert result.summary["max_violation"] <= 1e-6
    assert (predict(found.release, frame[QI]) == frame["y"]).mean() == row["train_accuracy"]
    assert row["reached"] == row["train_accuracy"] > (frame["y"] == "yes").mean()
    assert row["reached"] < row["best_possible"]
    assert f"not proved: {row['trees']} of 3 trees were chosen one after the other" in str(found.notes)
    assert "of choices of trees" in str(found.notes)


def test_without_much_of_a_limit_trees_are_added_while_they_help() -> None:
    frame = forest_people(1)
    model = forest(frame, 4)
    found = defend(frame, "optimal", target="y", qi=QI, model=model, k=1)
    alone = defend(frame, "optimal", target="y", qi=QI, model=model, k=1, audits=1)
    assert len(found.release.trees) > len(alone.release.trees) == 1
    assert found.rows[0]["reached"] > alone.rows[0]["reached"]
    strict = defend(frame, "optimal", target="y", qi=QI, model=model, k=30)
    assert len(strict.release.trees) <= len(found.release.trees)
    assert strict.rows[0]["reached"] <= found.rows[0]["reached"]


def test_what_cannot_be_kept_is_told() -> None:
    frame = forest_people(2)
    model, asked = forest(frame, 2), {"target": "y", "qi": QI, "k": 5}
    with pytest.raises(InvalidInput, match="a tree of the forest that passes, found none does"):
        defend(frame, "optimal", model=model, max_posterior=0.4, **asked)
    with pytest.raises(NoAnswerInTime, match="of 0 that were audited none is known to keep the limits"):
        defend(frame, "optimal", model=model, time_limit=1e-9, **asked)
    with pytest.raises(InvalidInput, match="hierarchies: expected none for several trees"):
        defend(frame, "optimal", model=model, hierarchies={"x": [("0", "*")]}, **asked)
    with pytest.raises(InvalidInput, match="accuracy, for several trees, found impurity"):
        defend(frame, "optimal", model=model, objective="impurity", **asked)


RDT_CALL = ["data.csv", "--target", "Y", "--qi", "A,N"]
DOMAINS = {"A": ["v", "w", "x", "y"], "N": [0, 10], "Y": ["bad", "good", "none"]}


def rdt_people(n=600, seed=0):
    rng = np.random.default_rng(seed)
    a, number = rng.integers(0, 3, n), rng.integers(0, 21, n) / 2
    good = rng.random(n) < 0.1 + 0.8 * ((a == 1) ^ (number > 6))
    return pd.DataFrame(
        {"A": np.array(list("wxy"), object)[a], "N": number, "Y": np.array(["bad", "good"], object)[good.astype(int)]}
    )


@pytest.fixture
def rdt_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rdt_people().to_csv("data.csv", index=False)
    rdt_people(100, 1).to_csv("test.csv", index=False)
    (tmp_path / "domains.json").write_text(json.dumps(DOMAINS))
    return tmp_path


def rdt_summary(capsys, *arguments):
    printed = printed_by(capsys, ["defend", "rdt", *RDT_CALL, *arguments, "--json"])
    assert printed.err == ""
    return json.loads(printed.out)


def right_votes(release, test):
    voted = predict_votes(release, *read_columns(release, test))
    return (np.array(release.target.classes, object)[voted] == test["Y"]).mean()


def test_releases_of_several_k_are_of_the_same_trees_and_samples(rdt_folder, capsys):
    options = ["--trees", "4", "--depth", "2", "--beta", "0.4", "--epsilon", "8", "--domains", "domains.json"]
    options += ["--vote", "trees"]
    found = rdt_summary(capsys, *options, "--k", "3", "--k", "30", "--test", "test.csv", "-o", "forest-{k}.json")
    releases = {k: maxent.load_release(f"forest-{k}.json") for k in (3, 30)}
    for k, row in zip((3, 30), found["releases"], strict=True):
        assert row["k"] == k
        known = maxent.privacy.kanon_delta(k, 0.4, 2.0)
        assert row["guarantee"] == {
            "beta": 0.4,
            "epsilon": 8.0,
            "delta": maxent.privacy.composed(4, 2.0, known)[1],
            "tight_delta": maxent.privacy.forest_delta(4, k, 0.4, 8.0),
        }
        assert row["guarantee"].items() <= releases[k].defense.parameters.items()
        assert {"trees": 4, "depth": 2, "k": k, "samples": "secret"}.items() <= releases[k].defense.parameters.items()
        assert row["test_accuracy"] == right_votes(releases[k], rdt_people(100, 1))
        assert row["leaves"] <= row["leaves_before"]
    shown = {
        k: sorted(c for tree in release.trees for leaf in tree.leaves for c in leaf.counts.values() if c)
        for k, release in releases.items()
    }
    assert shown[30] == [count for count in shown[3] if count >= 30]
    assert sum(note.startswith("guaranteed: k = ") for note in found["notes"]) == 2


def test_a_seed_makes_it_repeatable_and_costs_the_guarantee(rdt_folder, capsys):
    first = rdt_summary(capsys, "--domains", "domains.json", "--seed", "3", "-o", "one.json")
    assert first.keys() >= {"leaves", "leaves_before", "train_accuracy", "test_accuracy", "guarantee"}
    assert first["releases"][0]["k"] == 20
    rdt_summary(capsys, "--domains", "domains.json", "--seed", "3", "-o", "two.json")
    assert (rdt_folder / "one.json").read_bytes() == (rdt_folder / "two.json").read_bytes()
    assert any("a seed was given" in note for note in first["notes"])
    rdt_summary(capsys, "--domains", "domains.json", "-o", "three.json")
    secret = rdt_summary(capsys, "--domains", "domains.json", "-o", "four.json")
    assert (rdt_folder / "three.json").read_bytes() != (rdt_folder / "four.json").read_bytes()
    assert not any("seed" in note for note in secret["notes"])


@pytest.mark.parametrize(
    ("options", "note"),
    [
        ([], "nothing, as the domains of A, N, Y are those of the data"),
        (["--domains", "domains.json", "--k", "3", "--beta", "0.5"], "published with a probability of up to 1 "),
        (["--domains", "domains.json", "--beta", "1"], "nothing, as every record is in the samples"),
    ],
)
def test_when_nothing_is_guaranteed_it_says_why(rdt_folder, capsys, options, note):
    found = rdt_summary(capsys, *options, "-o", "forest.json")
    assert found["guarantee"] is None
    assert any(note in said for said in found["notes"])
    assert "epsilon" not in maxent.load_release("forest.json").defense.parameters


def test_what_is_printed(rdt_folder, capsys):
    assert main(["defend", "rdt", *RDT_CALL, "--domains", "domains.json", "--epsilon", "2", "-o", "forest.json"]) == 0
    printed = capsys.readouterr().out
    assert "rdt: 600 records, 10 trees of " in printed
    assert "guaranteed: differential privacy under sampling, beta 0.1, epsilon 2 nats, delta 5.2" in printed
    assert "and 0.00042 by adding up" in printed
    assert main(["estimate", "forest.json", "data.csv"]) == 0
    below = ["--beta", "0.4", "--epsilon", "2", "--k", "40", "-o", "forest.json"]
    assert main(["defend", "rdt", *RDT_CALL, "--domains", "domains.json", *below]) == 0
    assert "what each tree guarantees adds up from an epsilon of 5.108 on only" in capsys.readouterr().out


def test_a_vote_predicts_otherwise_and_publishes_the_same(rdt_folder, capsys):
    options = ["--domains", "domains.json", "--seed", "5", "--beta", "0.3", "--trees", "4", "--test", "test.csv"]
    found = {vote: rdt_summary(capsys, *options, "--vote", vote, "-o", f"{vote}.json") for vote in ("sums", "trees")}
    assert (rdt_folder / "sums.json").read_bytes() == (rdt_folder / "trees.json").read_bytes()
    release, test = maxent.load_release("trees.json"), rdt_people(100, 1)
    assert found["trees"]["test_accuracy"] == right_votes(release, test) != found["sums"]["test_accuracy"]
    with pytest.raises(maxent.InvalidInput, match="vote: expected one of sums, trees"):
        maxent.defend(rdt_people(), "rdt", target="Y", qi=["A", "N"], vote="all")


def test_without_a_threshold_all_counts_are_published(rdt_folder, capsys):
    options = ["--beta", "1", "--trees", "2", "--depth", "1", "--domains", "domains.json"]
    found = rdt_summary(capsys, *options, "--k", "0", "-o", "forest.json")
    release = maxent.load_release("forest.json")
    assert found["k"] == 0 == release.suppressed_below
    for tree in release.trees:
        assert sum(sum(leaf.counts.values()) for leaf in tree.leaves) == 600


RDT_REFUSED = {
    "all at once": (
        ["rdt", "--trees", "0", "--depth", "-1", "--beta", "2", "--epsilon", "0", "--seed", "-1", "--k", "-1"],
        [f"{name}: expected" for name in ("trees", "depth", "beta", "epsilon", "seed", "k")],
    ),
    "growth": (
        ["rdt", "--inducer", "cart", "--impurity", "gini", "--max-depth", "2", "--encoding", "onehot"],
        [
            f"{name}: expected none for the method rdt: it is an option of none"
            for name in ("inducer", "impurity", "max-depth", "encoding")
        ],
    ),
    "leaves": (
        ["rdt", "--min-samples-leaf", "2", "--min-samples-split", "4"],
        ["--min-samples-leaf: expected none", "--min-samples-split: expected none"],
    ),
    "rates": (["rdt", "--publish", "rates"], ["--publish: expected one of counts, found 'rates'"]),
    "kadet": (["rdt", "--l", "2"], ["it is an option of optimal, kadet"]),
    "others": (
        [
            *("none", "--trees", "2", "--depth", "2", "--beta", "0.1", "--epsilon", "1", "--vote", "sums"),
            *("--domains", "domains.json"),
        ],
        [
            f"{name}: expected none for the method none: it is"
            for name in ("trees", "depth", "beta", "epsilon", "vote", "domains")
        ],
    ),
    "odd domains": (["rdt", "--domains", "odd.json"], ["odd.json: domains: 'A': expected a list of values"]),
    "too few values": (["rdt", "--domains", "few.json"], ["every value that occurs"]),
    "too small a range": (["rdt", "--domains", "small.json"], ["'N': expected numbers from 0 to 5, found 0 to 10"]),
}


@pytest.mark.parametrize("case", RDT_REFUSED.values(), ids=RDT_REFUSED)
def test_what_is_refused_of_rdt(rdt_folder, capsys, case):
    (method, *options), fragments = case
    for name, change in (("odd", {"A": "wxy"}), ("few", {"A": ["w"]}), ("small", {"N": [0, 5]})):
        (rdt_folder / f"{name}.json").write_text(json.dumps({**DOMAINS, **change}))
    assert main(["defend", method, *RDT_CALL, *options, "-o", "forest.json"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    for fragment in fragments:
        assert fragment in printed.err
    assert not (rdt_folder / "forest.json").exists()


def test_python_takes_domains_as_they_are():
    found = maxent.defend(
        rdt_people(), "rdt", target="Y", qi=["A", "N"], domains={**DOMAINS, "N": (0, 10)}, epsilon=1.0
    )
    assert found.rows[0]["guarantee"]["epsilon"] == 1.0
    assert found.release.attributes[0].values == ("v", "w", "x", "y")
    assert found.release.target.classes == ("bad", "good", "none")


D1 = Path(__file__).parents[2] / "examples/d1"


def audited_people(seed: int, n: int = 100) -> pd.DataFrame:
    """A private attribute decides with a public one."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": random.integers(0, 6, n).astype(float), "b": random.integers(0, 3, n).astype(str)})
    frame["secret"] = random.integers(0, 2, n).astype(str)
    likely = np.where(frame["secret"] == "1", frame["a"] > 2, frame["a"] > 4) * 0.7 + 0.15
    return frame.assign(y=np.where(random.random(n) < likely, "yes", "no"))


def grown(frame: pd.DataFrame, depth: int = 3) -> tuple[Release, Training]:
    training = read_training(frame, target="y", qi=["a", "b"], private=["secret"])
    return induce(training, Growth(max_depth=depth), publish="counts"), training


def solid(tree: Any) -> bool:
    """Whether something is published below every split."""
    return not isinstance(tree, list) or (bool(ends(tree)[0]) and all(map(solid, tree)))


def all_of(release: Release, limits: Limits, training: Training, **asked: Any) -> list[Release]:
    """Every subtree that keeps the limits on leaves, best first, one after the other."""
    search, found = BestFirst(release, limits, training, **asked), []
    while (each := search.next()) is not None:
        found.append((each.reached, each.release))
        search.cut()
    assert [share for share, _ in found] == sorted((share for share, _ in found), reverse=True)
    return [each for _, each in found]


@pytest.mark.parametrize("remove", [False, True])
def test_all_subtrees_come_once_and_best_first(remove: bool) -> None:
    release, training = grown(audited_people(0), 2)
    nodes = {node.id: node for node in release.trees[0].nodes}

    def shape(name: str) -> Any:
        node = nodes[name]
        return (
            np.array(list((node.counts or {}).values()))
            if node.is_leaf
            else [shape(b.child or "") for b in node.branches]
        )

    found = all_of(release, Limits(k=5), training, remove=remove)
    whole = shape(release.trees[0].root.id)
    every = [ends(tree) for tree in trees(whole) if solid(tree) and (remove or not ends(tree)[1])]
    kept = [one for one, _ in every if all(sum(leaf) >= 5 for leaf in one)]
    assert len(found) == len(kept) > 3
    assert len({str(each.trees[0].nodes) for each in found}) == len(found)
    assert held(whole).sum() == len(training)


def test_the_best_of_all_that_pass() -> None:
    """All leaves have 8 people, and yet private attributes leave fewer that are not told apart."""
    frame = audited_people(4)
    release, training = grown(frame, 4)
    limits = Limits(k=8, max_posterior=0.95, objective="impurity")
    audit = audit_of(training, limits)
    passed = best_audited(BestFirst(release, limits, training), audit, BestSubtree(), 100)
    found, audits, cut = passed.found, passed.audits, passed.cut_off
    assert found.proved
    assert audits == cut + 1 > 1
    search = BestFirst(release, limits, training)
    while (each := search.next()) is not None and audit(each.release) is not None:
        search.cut()  # one by one, whatever is to blame
    assert each is not None
    assert found.reached == pytest.approx(each.reached, abs=2e-6)
    assert estimate(found.release, frame[["a", "b"]], frame).verdict(max_posterior=0.95, min_k=8).passed
    passed = best_audited(BestFirst(release, limits, training), audit, BestSubtree(), 1)
    few, more = passed.found, passed.audits
    assert passed.unfinished is None
    assert audit(few.release) is None
    assert few.most - 1e-9 <= found.reached <= few.reached
    assert more >= 2


@pytest.mark.parametrize("seed", [1, 2])
def test_leaves_that_are_to_blame_are_cut_off_together(seed: int) -> None:
    """An audit that breaks on pairs of leaves: the best of all without such pairs, and a bound where it ends early."""
    random = np.random.default_rng(seed)
    release, training = grown(audited_people(seed), 3)
    names = [node.id for node in release.trees[0].nodes]
    pairs = [frozenset(map(str, random.choice(names, 2, replace=False))) for _ in range(len(names) * 4)]
    limits, asked = Limits(k=4), {"remove": bool(seed % 2)}

    def audit(published: Release) -> Broken | None:
        leaves = {leaf.id for leaf in published.trees[0].leaves}
        broken = next((pair for pair in pairs if pair <= leaves), None)
        return None if broken is None else Broken("pairs", broken, broken)

    every = all_of(release, limits, training, **asked) if not seed % 2 else []
    found = best_audited(BestFirst(release, limits, training, **asked), audit, BestSubtree(), 10_000).found
    assert found.proved
    assert audit(found.release) is None
    assert found.reached == next((share(e, training) for e in every if audit(e) is None), found.reached)
    early = best_audited(BestFirst(release, limits, training, **asked), audit, BestSubtree(), 3).found
    assert audit(early.release) is None
    assert early.reached <= found.reached <= early.most


def share(release: Release, training: Training) -> float:
    return score(release, cases_of(training)).accuracy


def test_audited_releases_from_the_command() -> None:
    frame = audited_people(4)
    asked: Any = {"target": "y", "qi": ["a", "b"], "private": ["secret"], "k": 8, "max_depth": 4}
    asked |= {"max_posterior": 0.95, "objective": "impurity"}
    found = defend(frame, "optimal", audited=True, **asked)
    assert "audited: an adversary who knows all that is stated stays within the limits (k = 8)" in str(found.notes)
    assert found.rows[0]["audits"] == found.rows[0]["cut_off"] + 1
    assert estimate(found.release, frame[["a", "b"]], frame).verdict(max_posterior=0.95, min_k=8).passed
    assert "that keeps the limits (k = 8) and passes the audit has a smaller Gini impurity" in str(found.notes)
    assert "this is not k-anonymity" not in str(found.notes)
    assert "--audited cuts such subtrees off" in str(defend(frame, "optimal", **asked).notes)
    # Labels of leaves bound nothing; the label of everybody tells no more than the base rate, which is known.
    only = defend(frame, "optimal", audited=True, publish="labels", audits=1, **asked).release
    assert len(only.trees[0].leaves) == 1
    assert estimate(only, frame[["a", "b"]], frame).verdict(max_posterior=0.95).passed
    refused("audited", defend, frame, "optimal", audited=True, grow=True, **asked)


def test_what_is_stated_is_chosen() -> None:
    """Counts of three classes are too little uncertainty for a limit on D_overall that rounded ones keep."""
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"a": list("pqr") * 40, "b": random.integers(0, 3, 120)}).astype(str)
    weights = {"p": (0.7, 0.25, 0.05), "q": (0.2, 0.75, 0.05), "r": (0.3, 0.05, 0.65)}
    frame["y"] = [str(random.choice(list("uvw"), p=weights[a])) for a in frame["a"]]
    asked: Any = {"target": "y", "qi": ["a", "b"], "k": 5, "max_depth": 2, "choose": True}
    most = defend(frame, "optimal", **asked).rows[0]
    assert (most["publish"], most["criterion"]) == ("counts", "stated")
    diverges = defend(frame, "optimal", **{**asked, "choose": False, "min_divergence": 0.0}).release
    least = estimate(diverges, frame[["a", "b"]], frame).summary["divergence"]["overall"]
    found = defend(frame, "optimal", min_divergence=least + 0.02, **asked)
    (row,) = found.rows
    assert (row["publish"], row["round_counts"]) == ("counts", 10)
    assert row["reached"] == most["reached"]
    assert "chosen: leaves state counts rounded to multiples of 10, and the release" in str(found.notes)
    assert found.release.defense is not None
    assert found.release.defense.parameters["min_divergence"] == least + 0.02
    result = estimate(found.release, frame[["a", "b"]], frame)
    assert result.summary["divergence"]["overall"] is None or result.summary["divergence"]["overall"] >= least + 0.02
    posterior = defend(frame, "optimal", max_posterior=0.9, **asked).rows[0]
    assert posterior["publish"] == "counts"  # labels alone cannot be told to be within it
    refused("choose: expected none where publish or criterion", defend, frame, "optimal", publish="labels", **asked)


def test_what_is_not_audited_in_time_is_not_kept() -> None:
    """Audits of more than so many leaves do not end: what passes is smaller, and what others can reach is said."""
    release, training = grown(audited_people(4), 4)
    limits = Limits(k=8)
    best = BestFirst(release, limits, training).next()
    assert best is not None

    def audit(published: Release) -> Broken | None:
        return None if len(published.trees[0].leaves) <= 3 else api_defend._unfinished(published)

    passed = best_audited(BestFirst(release, limits, training), audit, BestSubtree(), 20, clock=Clock(3600.0))
    assert len(passed.found.release.trees[0].leaves) <= 3
    assert passed.found.most == best.reached > passed.found.reached
    assert (passed.cut_off, passed.unfinished) == (0, passed.audits - 1)
    search = BestFirst(release, limits, training)
    assert search.next() is not None
    assert not search.cut(stop=lambda: True)
    assert search.next() is None
    with pytest.raises(NoAnswerInTime, match="of 0 that were audited none is known to keep the limits"):
        best_audited(BestFirst(release, limits, training), audit, BestSubtree(), 20, clock=Clock(1e-9))
    with pytest.raises(NoAnswerInTime):
        best_audited(
            BestFirst(release, limits, training), api_defend._unfinished, BestSubtree(), 20, clock=Clock(3600.0)
        )


def test_an_estimate_that_did_not_end_proves_nothing(monkeypatch: Any) -> None:
    release, training = grown(audited_people(4), 2)
    stopped = SimpleNamespace(
        numbers={},
        outcome=SimpleNamespace(status="time_limit"),
        reliable=False,
        disclosure=SimpleNamespace(divergence=None),
        proved=lambda row, limits: row,
    )
    monkeypatch.setattr(api_defend, "estimate_case", lambda case, known, solving: stopped)
    told: dict[str, Any] = {"release": "r", "status": "time_limit", "exposed": 0, "certain": 0, "min_population": 9}
    for found, limits, unfinished in (
        ({"max_posterior": 0.5}, Limits(k=5, max_posterior=0.9), True),
        ({"max_posterior": 0.95}, Limits(k=5, max_posterior=0.9), True),
        ({"max_posterior": 0.5}, Limits(k=5, min_divergence=0.0), True),
        ({"max_posterior": 0.5}, Limits(k=5), None),
        ({"max_posterior": 0.5}, Limits(k=10), False),
    ):
        stopped.numbers = {**told, **found}
        monkeypatch.setattr(api_defend, "_broken", lambda *_: Broken("groups", frozenset(["L1"]), frozenset(["L1"])))
        broken = audit_of(training, limits, Clock(3600.0))(release)
        assert (None if broken is None else broken.unfinished) == unfinished
        assert broken is None or broken.enough is None
    levels = api_defend._unfinished(release).leaves
    assert release.trees[0].root.id not in levels
    assert levels


def test_an_audit_passes_nothing_that_proofs_break(monkeypatch: Any) -> None:
    """By comparisons of splits 7 people are proved, the estimate is sure of 5."""
    release = load_release(D1 / "tree.json")
    domains = {attribute.name: attribute.values or () for attribute in release.public}
    training = read_training(D1 / "truth.csv", target="Salary", qi=[*domains], domains=domains)
    broken = audit_of(training, Limits(k=1, max_certain=5))(release)
    assert broken is not None
    assert (broken.told, broken.unknown) == ("max_certain 7 where 5 is stated", False)
    assert audit_of(training, Limits(k=1, max_certain=7))(release) is None
    monkeypatch.setattr("maxent.api.proving.Certainty._by_proof", lambda self: None)  # without an end
    broken = audit_of(training, Limits(k=1, max_certain=5))(release)
    assert broken is not None
    assert broken.unknown


def test_time_limits_of_audits() -> None:
    frame = audited_people(4)
    asked: Any = {"target": "y", "qi": ["a", "b"], "k": 8, "max_depth": 2, "max_posterior": 0.95}
    assert "unfinished" not in defend(frame, "optimal", audited=True, time_limit=3600, **asked).rows[0]
    for how in ("audited", "choose"):
        with pytest.raises(NoAnswerInTime, match="time_limit: expected more seconds than it takes"):
            defend(frame, "optimal", time_limit=1e-9, **{how: True}, **asked)
    refused("time_limit: expected none without audits", defend, frame, "optimal", time_limit=5, **asked)
    refused("audits: expected none without audits", defend, frame, "optimal", audits=5, **asked)
    with pytest.raises(InvalidInput, match="time_limit: expected None or a number above 0"):
        defend(frame, "optimal", time_limit=0, audited=True, **asked)


def test_what_could_not_be_audited_in_time_bounds_what_is_chosen(monkeypatch: Any) -> None:
    frame = audited_people(4)

    def audit_of(*_: Any) -> Any:
        return lambda release: api_defend._unfinished(release) if release.trees[0].induction.impurity else None

    monkeypatch.setattr(api_defend, "audit_of", audit_of)
    found = defend(frame, "optimal", target="y", qi=["a", "b"], k=8, max_depth=2, choose=True, time_limit=3600)
    (row,) = found.rows
    assert (row["criterion"], row["unfinished"]) == ("unstated", 1)
    assert row["reached"] == row["best_possible"]  # no other statement has a better tree
    assert "out of time: 1 audit did not end; what was not audited to the end is not taken to be kept" in str(
        found.notes
    )
