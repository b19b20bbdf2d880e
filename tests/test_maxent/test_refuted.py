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
from maxent.models.errors import InvalidInput
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


@pytest.mark.parametrize(
    ("kind", "right", "wrong"), [("auc", "0.89", "0.56"), ("mean", "4.67", "4.33"), ("sd", "1.53", "1.00")]
)
def test_the_figure_of_the_true_classes_is_named(kind: str, right: str, wrong: str, tmp_path: Path) -> None:
    people = pd.DataFrame({"x": [1, 2, 3, 4, 5, 6], "y": list("nnynyy")})  # 8 of 9 pairs; 3, 5, 6
    for value, said in ((right, ""), (wrong, {"auc": "0.888889", "mean": "4.66667", "sd": "1.52753"}[kind])):
        of = {"score": "x"} if kind == "auc" else {"of": "x"}
        told = {"kind": kind, **of, "class": "y", "equals": value, "source": "S"}
        (tmp_path / "s.json").write_text(json.dumps(_document(told)), encoding="utf-8")
        found = maxent.review(tmp_path / "s.json", people, qi=["x"], target="y", max_certain=6)
        ends = [each["what"].rpartition("; the true classes give ")[2] for each in found.summary["unread"]]
        assert ends == [said] * bool(said)


def test_members_of_a_register_are_held_to_the_truth(tmp_path: Path) -> None:
    """Of 11 people, who are in the data, and another."""
    register = pd.concat([pd.read_csv(PEOPLE), pd.read_csv(PEOPLE).head(1)])
    for statement, said in ((MEN, []), (TYPO, [SAID])):
        beside = table(tmp_path, statement)
        found = maxent.estimate([changed(tmp_path), beside], population=register, truth=TRUTH)
        assert [each["what"] for each in found.summary["unread"]] == said
        assert found.verdict(max_certain=12).status == ("cannot_tell" if said else "pass")
        limits: dict[str, Any] = {"population": register, "adversary": "population", "max_certain": 12}
        reviewed = maxent.review([changed(tmp_path), beside], TRUTH, qi=QI, target="Salary", **limits)
        checks = {check["status"] for check in reviewed.summary["verdict"]["checks"] if check["key"] == "max_certain"}
        assert checks == {"cannot_tell" if said else "pass"}


def test_of_statements_that_contradict_each_other_the_false_one_is_the_first(tmp_path: Path) -> None:
    tree = changed(tmp_path, "L3", n=2, counts={"<=50K": 2, ">50K": 0})
    with pytest.raises(InvalidInput) as refused:
        maxent.review([tree, table(tmp_path, {**MEN, "equals": 5})], TRUTH, qi=QI, target="Salary")
    first, *others = refused.value.problems
    assert first.found == ">50K 5 among Gender Male, where the true classes give >50K 2 of 5 people"
    assert others
    assert not any("the true classes" in each.found for each in others)


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


# Statements that no whole people satisfy, where shares of people would.


def odd(folder: Path) -> tuple[str, str, str]:
    """Three statements of which any two can be true, people, and these with their classes."""
    told = [
        {"kind": "count", "where": {"x": list(pair)}, "class": "y", "equals": 1, "source": name}
        for name, pair in zip("ABC", (("u", "v"), ("v", "w"), ("u", "w")), strict=True)
    ]
    (folder / "odd.json").write_text(json.dumps(_document(*told)), encoding="utf-8")
    people = pd.DataFrame({"x": list("uvwz"), "y": list("ynny")})
    people.to_csv(folder / "truth.csv", index=False)
    people[["x"]].to_csv(folder / "qi.csv", index=False)
    return str(folder / "odd.json"), str(folder / "qi.csv"), str(folder / "truth.csv")


@pytest.mark.parametrize(
    "call",
    [
        "review {odd} {truth} --target y --qi x --max-certain 0",
        "check {odd} {qi} --max-certain 0",
        "check {odd} {qi} --truth {truth} --max-certain 0",
        "compare {odd} {odd} --qi {qi}",
        "compare --diff {odd} {odd} {qi} {qi}",
        "estimate {odd} {qi} --max-certain 0",
        "audit {odd} {qi}",
        "bounds {odd} {qi}",
    ],
)
def test_statements_that_only_whole_people_contradict_are_named(call: str, tmp_path: Path, capsys: Any) -> None:
    paths = dict(zip(("odd", "qi", "truth"), odd(tmp_path), strict=True))
    said = printed_by(capsys, call.format(**paths).split(), 2).err
    for name in "ABC":
        assert f", {name}: statement: expected what can be true of whole people together with odd.json" in said


def test_explain_names_a_deviation_that_nobody_has_where_all_numbers_are_settled(tmp_path: Path, capsys: Any) -> None:
    people = pd.DataFrame({"x": [10.5, 20.0, 15.5, 30.0, 12.0, 22.5, 18.0, 41.0, 25.0, 33.5]})
    people.to_csv(tmp_path / "qi.csv", index=False)
    told = {"kind": "sd", "of": "x", "class": "y", "equals": "7.1", "n": 5, "mean": 21.9, "mean_digits": 1}
    (tmp_path / "sd.json").write_text(json.dumps(_document(told)), encoding="utf-8")
    said = printed_by(capsys, ["explain", str(tmp_path / "sd.json"), str(tmp_path / "qi.csv")]).out
    assert "contradiction: sd.json, statement 1: statement: expected what whole people of the table can have" in said


def test_the_reason_why_groups_of_statements_are_not_judged_is_the_one_that_holds(tmp_path: Path) -> None:
    checked = maxent.check(table(tmp_path, TYPO), PEOPLE, truth=TRUTH, min_stated_cell=1, max_stated_zeros=0)
    said = {row.check.id: row.finding.said for row in checked.rows}
    assert said["MX112"].endswith(f"cannot tell, as some of what is stated is {FALSE}")
    assert "more is stated" not in said["MX111"]
