"""`maxent compare`: its rows against the parts they are made of, the paper's example, what is printed and refused."""

import json
import math
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pandas as pd
import pytest
from support.calls import printed_by, refused

import maxent
from maxent.__main__ import main
from maxent.api import case
from maxent.api.estimate import estimate_case
from maxent.disclosure.measures import MEASURES
from maxent.models.defenses.pruning import prune_leaf, prune_parent
from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree
from maxent.models.tables import truth_and_facts
from maxent.models.trees.predict import read_cases

PAIRS = [(160, 50, 20, "yes"), (160, 50, 20, "yes"), (160, 50, 20, "no"), (160, 70, 20, "no"), (160, 70, 20, "no")]
PAIRS += [(180, 70, 10, "yes"), (180, 70, 20, "yes"), (180, 70, 20, "no"), (180, 70, 20, "no")]
PEOPLE = pd.DataFrame(PAIRS, columns=["height", "weight", "age", "ill"])


def figure_3():
    """The tree of Wakabayashi et al. (2024), Figure 3 and Table 4, with its counts of (yes, no)."""

    def leaf(name, yes, no):
        return Node(name, n=yes + no, counts={"yes": yes, "no": no}, label="yes" if yes >= no else "no")

    def split(name, attribute, cut, low, high):
        return Node(name, attribute, (Branch(low, le=cut - 0.5), Branch(high, gt=cut - 0.5)))

    nodes = [split("N1", "height", 170, "N2", "N3"), split("N2", "weight", 60, "L1", "L2")]
    nodes += [
        leaf("L1", 2, 1),
        leaf("L2", 0, 2),
        split("N3", "age", 15, "L3", "L4"),
        leaf("L3", 1, 0),
        leaf("L4", 1, 2),
    ]
    attributes = tuple(Attribute(name, "numeric") for name in ("height", "weight", "age"))
    return Release(Target("ill", ("yes", "no")), attributes, (Tree(tuple(nodes)),))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The figure's tree before and after both methods, and the people behind it."""
    monkeypatch.chdir(tmp_path)
    figure_3().save("plain.json")
    prune_leaf(figure_3(), 2).save("leaf.json")
    prune_parent(figure_3(), 2).save("parent.json")
    PEOPLE.to_csv("truth.csv", index=False)
    PEOPLE.drop(columns="ill").to_csv("qi.csv", index=False)
    pd.DataFrame({"height": [160, 180, 180], "weight": 50, "age": [9, 9, 99], "ill": ["yes", "no", "sick"]}).to_csv(
        "test.csv", index=False
    )
    return tmp_path


FILES = ["plain.json", "leaf.json", "parent.json"]
CALL = ["compare", *FILES, "--qi", "qi.csv"]


def summary(capsys, *arguments, status=0):
    assert main([*arguments, "--json"]) == status
    return json.loads(capsys.readouterr().out, parse_constant=lambda text: pytest.fail(f"{text} in JSON"))


def test_the_example_of_the_paper(folder, capsys):
    """Table 4: one unique leaf, two homogeneous ones with three people, all four settled by one known record."""
    found = summary(capsys, *CALL, "--truth", "truth.csv", "--test", "test.csv")
    plain, leaf, parent = found["releases"]
    expected = {
        "release": ["plain", "leaf", "parent"],
        "defense": [None, "prune-leaf k=2", "prune-parent k=2"],
        "unique_leaves": [1, 0, 0],
        "homogeneous_leaves": [2, 1, 1],
        "homogeneous_individuals": [3, 2, 2],
        "background_leaves": [4, 3, 2],
        "spans": [4, 4, 3],
        "min_population": [1, 1, 2],
        "removed_leaves": [0, 1, 0],
        "recovered_leaves": [0, 0, 0],
        "leaves": [4, 3, 3],
        "certain": [3, 2, 2],
        "train_accuracy": [7 / 9, 6 / 9, 6 / 9],
        "test_accuracy": [1 / 3, 2 / 3, 1 / 3],
    }
    for key, values in expected.items():
        assert [plain[key], leaf[key], parent[key]] == pytest.approx(values) if key.endswith("acy") else values
    counts = {"plain": [(3, 2, 1), (2, 0, 2), (1, 1, 0), (3, 1, 2)], "parent": [(3, 2, 1), (2, 0, 2), (4, 2, 2)]}
    for row in (plain, parent):
        entropy = sum(-c * math.log(c / n) for n, *by_class in counts[row["release"]] for c in by_class if c) / 9
        assert row["entropy"] == pytest.approx(entropy, abs=1e-6)
    assert found["reliable"]
    assert not found["interrupted"]
    assert "plain: test: 1 of 3 records have a class that the release does not know" in found["notes"]


def test_the_rows_are_what_the_parts_say(folder):
    compared = maxent.compare(FILES, "qi.csv", "truth.csv", min_size=2, background=0, top=3)
    for file, row in zip(FILES, compared.rows, strict=True):
        estimated = maxent.estimate(file, "qi.csv", "truth.csv", top=3).summary
        found = maxent.audit(file, "qi.csv", min_size=2, background=0)
        assert (row["status"], row["certificate"]) == (estimated["status"], estimated["certificate"])
        assert [row[key] for key in ("individuals", "entropy")] == [
            estimated[key] for key in ("individuals", "entropy")
        ]
        for key in ("certain", "max_posterior", "bayes_vulnerability"):
            assert row[key] == estimated["disclosure"][key]
        divergence = estimated["divergence"]
        assert (row["divergence"], row["divergence_max"]) == (divergence["overall"], divergence["max"])
        assert row["divergence_top"] == divergence["top_k_average"]
        assert row["divergence_min"] == min(maxent.estimate(file, "qi.csv", "truth.csv").posterior["divergence"])
        assert row["homogeneous_leaves"] == found["homogeneity"]["leaves"]
        assert row["background_leaves"] == found["background"]["leaves"]
        assert row["exposed"] == found["spans"]["exposed"]


def test_changes_are_those_from_the_first(folder, capsys):
    found = summary(capsys, *CALL, "--truth", "truth.csv")
    for row in found["releases"]:
        assert row["change"].keys() == {"individuals", *MEASURES} & row.keys()
        for key, change in row["change"].items():
            assert change == pytest.approx(row[key] - found["releases"][0][key])
    assert set(found["releases"][0]["change"].values()) == {0}


def test_the_most_disclosed_come_first(folder):
    with_truth = maxent.compare(["plain.json"], "qi.csv", "truth.csv", top=2).rows[0]["most_disclosed"]
    assert [(entry["qi"], entry["count"], entry["class"]) for entry in with_truth] == [
        ({"height": 160, "weight": 70, "age": 20}, 2, "no"),
        ({"height": 180, "weight": 70, "age": 10}, 1, "yes"),
    ]
    assert [entry["divergence"] for entry in with_truth] == pytest.approx([0, 0])
    alone = maxent.compare(["plain.json"], "qi.csv", top=2).rows[0]
    assert [entry["qi"] for entry in alone["most_disclosed"]] == [entry["qi"] for entry in with_truth]
    assert not {"divergence", "divergence_min", "infinite", "train_accuracy", "test_accuracy"} & alone.keys()


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".json"])
def test_the_rows_in_a_file(folder, capsys, suffix):
    found = summary(capsys, *CALL, "--truth", "truth.csv", "-o", f"out{suffix}")
    if suffix == ".json":
        assert json.loads((folder / "out.json").read_text()) == {"format": "maxent-comparison/1", **found}
        return
    table = pd.read_csv("out.csv") if suffix == ".csv" else pd.read_parquet("out.parquet")
    expected = maxent.compare(FILES, "qi.csv", "truth.csv").frame
    assert table.columns.tolist() == expected.columns.tolist()
    for key in table.columns:
        values = [None if pd.isna(value) else value for value in table[key]]
        assert values == [None if pd.isna(value) else value for value in expected[key]]


def test_the_text_has_a_line_for_each_measure(folder, capsys):
    printed = printed_by(capsys, [*CALL, "--truth", "truth.csv", "--test", "test.csv"])
    lines = {line[:28].strip(): line[28:].split() for line in printed.out.splitlines() if line[:1].isalpha()}
    assert printed.out.splitlines()[0].split() == ["plain", "leaf", "change", "parent", "change"]
    assert lines["unique leaves"] == ["1", "0", "-1", "0", "-1"]
    assert (lines["leaves"], lines["status"]) == (["4", "3", "-1", "3", "-1"], ["optimal"] * 3)
    assert lines["certain individuals"] == ["3", "2", "-1", "2", "-1"]
    assert lines["removed leaves"] == ["0", "1", "+1", "0"]
    assert lines["test accuracy"] == ["0.3333", "0.6667", "+0.3333", "0.3333"]
    assert "infinite divergences" not in lines
    (most,) = (line for line in printed.out.splitlines() if line.startswith("most disclosed"))
    assert most == (
        "most disclosed by plain, leaf, parent: height=160, weight=70, age=20 (2 individuals): P(no) = 1.000, "
        "divergence 0.0000"
    )
    assert printed.err == ""


def test_a_narrow_terminal_gets_the_table_in_parts(folder, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    lines = printed_by(capsys, ["compare", *FILES, *FILES[1:], "--qi", "qi.csv"]).out.splitlines()
    assert max(len(line) for line in lines if not line.startswith(("most disclosed", "note"))) <= 100
    headers = [line.split() for line in lines if line.endswith("change")]
    assert len(headers) == 2
    assert all(header[0] == "plain" for header in headers)
    assert [name for header in headers for name in header if name not in ("plain", "change")] == [
        "leaf",
        "parent",
        "leaf",
        "(2)",
        "parent",
        "(2)",
    ]


def test_names_tell_releases_apart(folder):
    os.mkdir("a")
    figure_3().save("a/plain.json")
    files = ["plain.json", "a/plain.json", "plain.json", folder / "leaf.json"]
    names = [row["release"] for row in maxent.compare(files, "qi.csv").rows]
    assert names == ["plain", "a/plain", "plain (2)", "leaf"]
    alike = {"leaf": "leaf.json", "leaf (2)": "plain.json"}
    assert [row["release"] for row in maxent.compare(alike, "qi.csv").rows] == list(alike)
    figure_3().save("leaf (2).json")
    numbered = maxent.compare(["leaf.json", "leaf.json", "leaf (2).json"], "qi.csv")
    assert [(row["release"], row["leaves"]) for row in numbered.rows] == [
        ("leaf", 3),
        ("leaf (2)", 3),
        ("leaf (2) (2)", 4),
    ]
    named = maxent.compare({"before": figure_3(), "after": "leaf.json"}, "qi.csv")
    assert [row["release"] for row in named.rows] == ["before", "after"]
    releases = [figure_3(), prune_leaf(figure_3(), 2), figure_3()]
    assert [row["release"] for row in maxent.compare(releases, "qi.csv").rows] == [
        "release",
        "prune-leaf k=2",
        "release (2)",
    ]


def test_classes_may_have_another_order_and_attributes_may_differ(folder):
    release = figure_3()
    turned = replace(release, target=Target("ill", ("no", "yes")))
    stump = replace(
        release,
        attributes=release.attributes[:1],
        trees=(Tree((replace(release.trees[0].nodes[0], branches=(Branch("L1", le=169.5), Branch("L2", gt=169.5))),
                     Node("L1", n=5, counts={"yes": 2, "no": 3}), Node("L2", n=4, counts={"yes": 2, "no": 2}))),),
    )  # fmt: skip
    rows = maxent.compare([release, turned, stump], "qi.csv", "truth.csv").rows
    assert rows[0]["divergence"] == pytest.approx(rows[1]["divergence"], abs=1e-9)
    assert rows[0]["train_accuracy"] == rows[1]["train_accuracy"]
    assert [row["individuals"] for row in rows] == [9, 9, 9]
    assert rows[2]["train_accuracy"] == 5 / 9


def test_other_targets_and_classes_cannot_be_compared(folder, capsys):
    release = figure_3()
    replace(release, target=Target("sick", ("yes", "no"))).save("sick.json")
    replace(release, target=Target("ill", ("yes", "no", "dead"))).save("dead.json")
    error = printed_by(capsys, ["compare", "plain.json", "sick.json", "dead.json", "--qi", "qi.csv"], 2).err
    assert "sick: target: expected 'ill', as in plain, found 'sick'" in error
    assert "dead: classes: expected 'yes', 'no' in any order, as in plain, found 'yes', 'no', 'dead'" in error


def test_a_truth_without_private_attributes_gives_no_training_accuracy(folder):
    release = figure_3()
    private = replace(release, attributes=(*release.attributes[:2], replace(release.attributes[2], role="private")))
    compared = maxent.compare([private], "qi.csv", PEOPLE.drop(columns="age"))
    assert compared.rows[0]["train_accuracy"] is None
    assert any("no training accuracy: the truth has no column 'age'" in note for note in compared.notes)
    assert maxent.compare([private], "qi.csv", PEOPLE).rows[0]["train_accuracy"] == 7 / 9


def test_an_infinite_divergence_is_never_hidden(folder, capsys):
    """Somebody else's counts rule out what is true."""
    PEOPLE.replace({"ill": {"yes": "no", "no": "yes"}}).to_csv("other.csv", index=False)
    found = summary(capsys, "compare", "parent.json", "plain.json", "--qi", "qi.csv", "--truth", "other.csv")
    row = found["releases"][1]
    assert (row["divergence"], row["divergence_max"], row["infinite"]) == (None, None, 2)
    assert (row["change"]["divergence"], row["change"]["infinite"]) == (None, 1)
    assert main(["compare", "parent.json", "--qi", "qi.csv", "--truth", "other.csv", "-o", "out.csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert ["divergence", "overall", "inf"] in [line.split() for line in lines]
    assert ["infinite", "divergences", "1"] in [line.split() for line in lines]
    assert math.isinf(pd.read_csv("out.csv")["divergence"][0])


def test_an_unreliable_estimate_is_printed_and_said(folder, capsys):
    release = figure_3()
    wrong = replace(release.trees[0].nodes[2], n=4, counts={"yes": 3, "no": 1})
    nodes = (*release.trees[0].nodes[:2], wrong, *release.trees[0].nodes[3:])
    replace(release, trees=(Tree(nodes),)).save("wrong.json")
    printed = printed_by(capsys, ["compare", "plain.json", "wrong.json", "--qi", "qi.csv"], 1)
    assert "inconsistent" in printed.out
    assert printed.err.startswith("maxent: wrong: not to be relied on: the statements contradict")
    assert printed.err.count("\n") == 1
    found = summary(capsys, "compare", "plain.json", "wrong.json", "--qi", "qi.csv", status=1)
    assert [row["status"] for row in found["releases"]] == ["optimal", "inconsistent"]
    assert not found["reliable"]


def test_tables_are_read_once_and_people_placed_once_in_each_release(folder, monkeypatch):
    calls = Counter()

    def counted(name, place=case):
        whole = getattr(place, name)

        def call(*arguments, **options):
            calls[name] += 1
            return whole(*arguments, **options)

        return call

    for name in ("read_qi", "build_cells", "open_published"):
        monkeypatch.setattr(case, name, counted(name))
    for name in ("read_truth", "read_facts"):
        monkeypatch.setattr(truth_and_facts, name, counted(name, truth_and_facts))
    monkeypatch.setattr("maxent.api.compare.open_published", case.open_published)
    monkeypatch.setattr(case, "read_cases", read_cases, raising=False)
    monkeypatch.setattr("maxent.api.compare.read_cases", counted("read_cases"))
    monkeypatch.setattr("maxent.constraints.compiler.build_cells", None)
    facts = pd.DataFrame({"height": [160], "ill": ["yes"]})
    compared = maxent.compare(FILES[:2], "qi.csv", "truth.csv", "truth.csv", facts=facts)
    assert [row["status"] for row in compared.rows] == ["optimal", "optimal"]
    assert calls == {
        "read_qi": 1,
        "read_truth": 1,
        "read_facts": 1,
        "build_cells": 2,
        "open_published": 2,
        "read_cases": 2,
    }
    calls.clear()
    assert main(["estimate", FILES[0], "qi.csv", "--truth", "truth.csv", "--min-k", "1"]) == 0  # with attacks
    assert calls == {"read_qi": 1, "read_truth": 1, "build_cells": 1, "open_published": 1}


def test_an_interrupt_leaves_the_releases_compared_so_far(folder, capsys, monkeypatch):
    estimate, calls = estimate_case, []

    def interrupted(*arguments, **options):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return estimate(*arguments, **options)

    monkeypatch.setattr("maxent.api.audit.estimate_case", interrupted)
    found = summary(capsys, *CALL, status=1)
    assert [row["release"] for row in found["releases"]] == ["plain"]
    assert found["interrupted"]
    calls[:] = [None]
    assert printed_by(capsys, CALL, 130) == ("", "maxent: interrupted\n")
    calls.clear()
    with pytest.raises(KeyboardInterrupt):
        maxent.compare(FILES, "qi.csv")


def test_progress_names_the_release(folder):
    told = []
    maxent.compare(FILES, "qi.csv", progress=lambda text, done, total: told.append(text))
    assert told[:3] == ["plain: attacks", "leaf: attacks", "parent: attacks"]
    assert any(text.startswith("parent (3 of 3): ") for text in told)


def test_what_the_adversary_knows_is_passed_on(folder):
    plain = maxent.compare(["plain.json"], "qi.csv").rows[0]
    labels = maxent.compare(["plain.json"], "qi.csv", knowledge="label").rows[0]
    assert labels["entropy"] > plain["entropy"]
    (folder / "facts.csv").write_text("height,weight,ill,count\n160,70,no,2\n")
    facts = maxent.compare(["plain.json"], "qi.csv", knowledge="label", facts="facts.csv").rows[0]
    assert facts["entropy"] < labels["entropy"]


def test_a_count_column_makes_a_row_stand_for_several_people(folder):
    counted = PEOPLE.groupby(list(PEOPLE.columns)).size().rename("people").reset_index()
    rows = [
        maxent.compare(FILES, PEOPLE, PEOPLE, PEOPLE).rows,
        maxent.compare(FILES, counted, counted, counted, count="people").rows,
    ]
    assert rows[0] == rows[1]


def test_more_pruning_never_lowers_the_overall_divergence_of_counts():
    rng_people = pd.concat([PEOPLE, PEOPLE.assign(height=PEOPLE["height"] + 5, ill=PEOPLE["ill"].iloc[::-1].values)])
    rng_people = pd.concat([rng_people, rng_people.assign(age=rng_people["age"] - 7, ill="yes")], ignore_index=True)
    columns = {"target": "ill", "qi": ["height", "weight", "age"]}
    for method in ("prune-leaf", "prune-parent"):
        defended = maxent.defend(rng_people, method, **columns, k=[1, 2, 3, 5, 8])
        compared = maxent.compare(defended.releases, rng_people, rng_people, knowledge="counts")
        divergences = [row["divergence"] for row in compared.rows]
        assert compared.reliable
        assert all(after >= before - 1e-7 for before, after in pairwise(divergences))
        assert divergences[-1] > divergences[0]
        leaves = [row["homogeneous_leaves"] for row in compared.rows]
        assert leaves == sorted(leaves, reverse=True)


REFUSED = {
    "no qi": (FILES, ["TREE... QI: expected", "the adversary's table"]),
    "no releases": (["--qi", "qi.csv"], ["TREE"]),
    "all that is wrong": (
        ["gone.json", "bad.json", "--qi", "qi.csv"],
        ["gone.json, file: path: expected a file that can be read", "bad.json, document: format: expected"],
    ),
    "one file": (["bad.json", "--qi", "qi.csv"], ["bad.json: document: format: expected"]),
    "table": ([*FILES, "--qi", "gone.csv"], ["gone.csv: file: path: expected"]),
    "table without columns": ([*FILES, "--qi", "few.csv"], ["few.csv: header: weight: expected", "header: age"]),
    "truth": ([*FILES, "--qi", "qi.csv", "--truth", "few.csv"], ["few.csv: header: weight", "header: ill: expected"]),
    "other people": ([*FILES, "--qi", "qi.csv", "--truth", "others.csv"], ["others.csv: line 2: quasi-identifier"]),
    "test": ([*FILES, "--qi", "qi.csv", "--test", "few.csv"], ["few.csv: header: weight", "header: ill: expected"]),
    "test with gaps": ([*FILES, "--qi", "qi.csv", "--test", "gaps.csv"], ["gaps.csv: line 3: weight: expected"]),
    "over an input": ([*FILES, "--qi", "qi.csv", "-o", "./qi.csv"], ["-o: expected a file of its own"]),
    "over a release": ([*FILES, "--qi", "qi.csv", "-o", "leaf.json"], ["-o: expected a file of its own"]),
    "suffix": ([*FILES, "--qi", "qi.csv", "-o", "out.txt"], ["-o: expected a file name that ends in"]),
    "min size": ([*FILES, "--qi", "qi.csv", "--min-size", "0"], ["0"]),
    "background": ([*FILES, "--qi", "qi.csv", "--background", "-1"], ["-1"]),
    "backend": ([*FILES, "--qi", "qi.csv", "--backend", "ipop"], ["ipop", "ipopt"]),
    "knowledge": ([*FILES, "--qi", "qi.csv", "--knowledge", "x"], ["knowledge: expected any of label"]),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_is_refused(folder, capsys, case):
    call, fragments = case
    (folder / "bad.json").write_text('{"format": "maxent/2"}')
    (folder / "few.csv").write_text("height\n160\n")
    (folder / "others.csv").write_text("height,weight,age,ill\n1,2,3,yes\n")
    (folder / "gaps.csv").write_text("height,weight,age,ill\n160,50,20,yes\n160,,20,no\n")
    before = {name: (folder / name).read_bytes() for name in os.listdir()}
    printed = printed_by(capsys, ["compare", *call], 2)
    assert printed.out == ""
    assert "Traceback" not in printed.err
    for fragment in fragments:
        assert fragment in printed.err
    assert {name: (folder / name).read_bytes() for name in os.listdir()} == before


def test_one_release_is_no_list_of_them():
    refused("releases: expected a list of releases", maxent.compare, "plain.json", "qi.csv")
    refused("releases: expected at least one release", maxent.compare, [], "qi.csv")


def test_json_is_all_that_a_process_prints(folder):
    ran = subprocess.run([sys.executable, "-m", "maxent", *CALL, "--json"], capture_output=True, timeout=120)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert [row["release"] for row in json.loads(ran.stdout)["releases"]] == ["plain", "leaf", "parent"]
