"""What the true classes refute is named, and no limit is known to be kept; what holds by chance is not refuted."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from support.calls import printed_by
from support.paths import D1
from test_maxent.test_statements_beside import MEN, QI, table

import maxent
from maxent.models.display import FALSE
from maxent.solvers.certainty import exchange

TRUTH, PEOPLE = str(D1 / "truth.csv"), str(D1 / "qi.csv")
ASKED = ["--target", "Salary", "--qi", ",".join(QI)]
TYPO = {**MEN, "equals": 1}
SAID = "table1.json, Table 1, row 1 states >50K 1 among Gender Male; the true classes give >50K 2 of 5 people"


def changed(folder: Path, node: str = "L1", **stated: Any) -> str:
    """The tree of D1 without choices of splits, with another statement of a node."""
    tree = json.loads((D1 / "tree.json").read_text(encoding="utf-8"))
    del tree["trees"][0]["induction"]
    nodes = {each["id"]: each for each in tree["trees"][0]["nodes"]}
    nodes[node] |= stated
    path = folder / "changed.json"
    path.write_text(json.dumps(tree), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    "limit", [{"max_certain": 11}, {"max_posterior": 1.0}, {"max_right_guesses": 1.0}, {"min_k": 1}]
)
@pytest.mark.parametrize("with_tree", [False, True])
@pytest.mark.promise(number=1)
def test_no_limit_is_known_to_be_kept_beside_a_false_statement(with_tree: bool, limit: Any, tmp_path: Path) -> None:
    trees = [changed(tmp_path)] * with_tree
    right = maxent.review([*trees, table(tmp_path)], TRUTH, qi=QI, target="Salary", **limit)
    assert right.verdict().status == "pass"
    found = maxent.review([*trees, table(tmp_path, TYPO)], TRUTH, qi=QI, target="Salary", **limit)
    assert found.verdict().status == "cannot_tell"
    assert f"cannot tell, as this is {FALSE}: {SAID}" in "\n".join(found.verdict().lines())
    assert [each["what"] for each in found.summary["unread"]] == [SAID]
    assert all(rung.status != "pass" for rung in found.ladder)


@pytest.mark.parametrize(
    ("node", "stated", "said"),
    [
        (
            "L1",
            {"counts": {"<=50K": 0, ">50K": 2}, "error_rate": 0.0},
            "states error rate 0 of label >50K; the true classes give >50K 1 of 2 people",
        ),
        ("L3", {"label": ">50K", "error_rate": 0.5}, "the true classes give <=50K 2, >50K 0"),
        ("L4", {"label": "<=50K", "error_rate": 0.33}, "the true classes give "),
    ],
)
@pytest.mark.promise(number=1)
def test_counts_labels_and_rates_of_a_tree_are_held_to_the_truth(
    node: str, stated: dict[str, Any], said: str, tmp_path: Path
) -> None:
    found = maxent.review(changed(tmp_path, node, **stated), TRUTH, qi=QI, target="Salary", max_certain=11)
    assert found.verdict().status == "cannot_tell"
    first = found.summary["unread"][0]
    assert (first["refuted"], first["judged"]) == (True, "not")
    assert f"leaf {node} states" in first["what"]
    assert said in first["what"]
    assert maxent.review(changed(tmp_path), TRUTH, qi=QI, target="Salary", max_certain=11).summary["unread"] == []


def test_people_of_a_region_are_counted_where_its_statement_is_false(tmp_path: Path, monkeypatch: Any) -> None:
    counted: list[int] = []
    plain = exchange._people_in
    monkeypatch.setattr(exchange, "_people_in", lambda *given: counted.append(1) or plain(*given))
    stated = {"label": "<=50K", "error_rate": 0.33}
    assert maxent.estimate(changed(tmp_path), PEOPLE, truth=TRUTH).summary["unread"] == []
    assert not counted
    found = maxent.estimate(changed(tmp_path, "L4", **stated), PEOPLE, truth=TRUTH).summary["unread"]
    assert len(counted) == len(found) == 2


def test_choices_of_splits_are_held_to_the_truth(tmp_path: Path) -> None:
    people = pd.DataFrame({"a": list("xxxxyyyy"), "b": list("uvuvuvuv"), "y": list("nnyynnyy")})
    branches = [{"in": ["u"], "child": "L1"}, {"in": ["v"], "child": "L2"}]
    nodes = [{"id": "N1", "attribute": "b", "branches": branches}, {"id": "L1", "n": 4}, {"id": "L2", "n": 4}]
    names = [{"name": name, "type": "categorical", "values": sorted(set(people[name]))} for name in "ab"]
    tree = {"induction": {"algorithm": "id3", "impurity": "entropy", "candidates": "unused"}, "nodes": nodes}
    target = {"name": "y", "classes": ["n", "y"]}
    told = {"format": "maxent/1", "target": target, "attributes": names, "trees": [tree]}
    (tmp_path / "tree.json").write_text(json.dumps(told), encoding="utf-8")
    assert not maxent.review(tmp_path / "tree.json", people, qi=["a", "b"], target="y").summary["unread"]
    people["y"] = list("nnnnyyyy")  # of which the other column tells everything
    found = maxent.review(tmp_path / "tree.json", people, qi=["a", "b"], target="y", max_certain=8)
    assert [each["what"] for each in found.summary["unread"]] == [
        "node N1 states b chosen over a; the true classes give a better one"
    ]
    assert found.verdict().status == "cannot_tell"


def test_a_check_its_record_and_its_dossiers_say_it(tmp_path: Path) -> None:
    said = table(tmp_path, TYPO)
    checked = maxent.check(said, PEOPLE, truth=TRUTH, max_certain=11)
    assert checked.status == "cannot_tell"
    rows = {row.check.id: row for row in checked.rows}
    assert rows["MX501"].finding.said == f"{FALSE}: {SAID}: cannot tell"
    assert f"{FALSE}: {SAID}: no limit is known to be kept" in checked.lines
    record = tmp_path / "record.json"
    assert checked.record(record)["verdict"]["unread"] == [f"{FALSE}: {SAID}: no limit is known to be kept"]
    assert maxent.verify(record).exit_status == 0
    checked.dossier(tmp_path / "dossier.html")
    checked.dossier(tmp_path / "public.html", public=True)
    whole, public = ((tmp_path / f"{name}.html").read_text(encoding="utf-8") for name in ("dossier", "public"))
    first = whole[: whole.index("</section>")] if "</section>" in whole else whole
    shown = SAID.replace(">", "&gt;")
    assert shown in first
    assert "the true classes give" not in public
    assert FALSE in public


def test_estimate_and_compare_name_it_without_limits(tmp_path: Path, capsys: Any) -> None:
    said = table(tmp_path, TYPO)
    line = f"{FALSE}: {SAID}: no limit is known to be kept"
    assert line in printed_by(capsys, ["estimate", said, PEOPLE, "--truth", TRUTH]).out.splitlines()
    assert line not in printed_by(capsys, ["estimate", said, PEOPLE]).out
    assert f"note: table1: {line}" in printed_by(capsys, ["compare", said, "--qi", PEOPLE, "--truth", TRUTH]).out
    folder = ["-o", str(tmp_path / "out") + "/"]
    wrong = changed(tmp_path, "L3", label=">50K", error_rate=0.5)
    assert f"{FALSE}: leaf L3 states" in printed_by(capsys, ["estimate", wrong, PEOPLE, "--truth", TRUTH, *folder]).out


def test_an_auc_and_a_standard_deviation_are_held_to_the_truth(tmp_path: Path) -> None:
    people = pd.DataFrame({"x": [1, 2, 3, 4, 5, 6], "y": list("nnynyy")})
    yes = people.x[people.y == "y"]
    pairs = [(a > b) for a in yes for b in people.x[people.y == "n"]]
    for value, refuted in ((round(float(np.mean(pairs)), 2), False), (0.56, True)):
        auc = {"kind": "auc", "score": "x", "class": "y", "equals": value, "source": "AUC"}
        (tmp_path / "auc.json").write_text(json.dumps(_document(auc)), encoding="utf-8")
        found = maxent.review(tmp_path / "auc.json", people, qi=["x"], target="y", max_certain=6)
        assert [each["refuted"] for each in found.summary["unread"]] == [True] * refuted


def _document(*said: dict[str, Any]) -> dict[str, Any]:
    target = {"name": "y", "classes": ["n", "y"]}
    return {"format": "maxent-statements/1", "target": target, "statements": list(said)}


@pytest.mark.parametrize("seed", range(8))
def test_what_a_fitted_tree_states_is_not_refuted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.integers(0, 4, 120) for name in "abc"})
    y = pd.Series(rng.choice(["n", "y", "z"], 120, p=[0.5, 0.3, 0.2]), name="y")
    model = DecisionTreeClassifier(max_depth=4, criterion=["gini", "entropy"][seed % 2], random_state=seed).fit(
        frame, y
    )
    found = maxent.review(model, frame, y, qi=["a", "b", "c"][: 2 + seed % 2], target="y")
    assert not any(each.get("refuted") for each in found.summary["unread"])


@pytest.mark.parametrize("stated", [{"sampling_rate": 0.5}, {"noise": {"mechanism": "geometric", "scale": 1}}])
def test_what_holds_by_chance_is_not_refuted(stated: dict[str, Any], tmp_path: Path) -> None:
    tree = json.loads((D1 / "tree.json").read_text(encoding="utf-8"))
    for node in tree["trees"][0]["nodes"]:
        if "label" in node:
            node |= {"counts": {"<=50K": 9, ">50K": 0}}
            for key in ("label", "error_rate", "n"):
                del node[key]
    (tmp_path / "tree.json").write_text(json.dumps(tree | {"release": stated}), encoding="utf-8")
    found = maxent.estimate(tmp_path / "tree.json", PEOPLE, truth=TRUTH)
    assert not any(each.get("refuted") for each in found.summary["unread"])
