"""MX406: who was drawn for each tree does not follow from what is published; no verdict with limits passes over it."""

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier

import maxent
from maxent.__main__ import main
from maxent.disclosure.limits import NoDraws, Reached

RNG = np.random.default_rng(1)
X = pd.DataFrame({name: RNG.integers(0, 3, 600) for name in "ABC"})
Y = pd.Series(np.where(RNG.random(600) < 0.3 + 0.15 * X["A"], "yes", "no"), name="Y")
LIMITS = {"max_posterior": 0.95, "max_certain": 0, "max_right_guesses": 0.9, "max_lift": 0.4}
LARGE = RandomForestClassifier(10, max_depth=3, min_samples_leaf=50, random_state=0)
# Few people, whose classes are all determined by many trees.
FEW = X[:60], Y[:60]


def reviewed(model: Any, people: Any = X, classes: Any = Y, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", maxent.UnreliableResult)
        return maxent.review(model, people, classes, qi=list(people.columns), **{"target": "Y", **options})


def told(verdict: dict[str, Any]) -> dict[str, Any]:
    """The entry of MX406 in a JSON verdict, which is there once."""
    [found] = [each for each in verdict["checks"] if each["id"] == "MX406"]
    assert found["key"] == "no_draws"
    return dict(found)


@pytest.fixture(autouse=True)
def _in_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """What rests on no verdict takes less time."""
    monkeypatch.setattr("maxent.api.proving.NAMING", 0.3)


@pytest.fixture(scope="module")
def large() -> Any:
    return clone(LARGE).fit(X, Y)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A forest of few people: its file of skops, its release with draws, and their tables."""
    skops = pytest.importorskip("skops.io")
    path = tmp_path_factory.mktemp("few")
    model = RandomForestClassifier(60, random_state=0).fit(*FEW)
    skops.dump(model, path / "forest.skops")
    maxent.convert(path / "forest.skops", target="Y").save(path / "forest.json")
    maxent.convert(model.estimators_[0], target="Y", classes=["no", "yes"], features=list("ABC")).save(
        path / "tree.json"
    )
    FEW[0].to_csv(path / "qi.csv", index=False)
    FEW[0].assign(Y=FEW[1]).to_csv(path / "truth.csv", index=False)
    return path


def test_a_forest_of_large_leaves_fails_by_its_draws_alone_and_passes_without_them(large: Any) -> None:
    found = reviewed(large, **LIMITS)
    [judged] = found.verdict().releases
    assert (judged.status, judged.draws.status) == ("fail", "fail")
    assert {check.status for check in judged.checks} == {"cannot_tell"}
    assert judged.mend is None  # a subtree would keep the limits no better
    for published in ("onnx", "pmml"):
        passed = reviewed(large, published_as=published, **LIMITS)
        assert f"judged as published in the format {published}" in passed._repr_html_()
        assert passed.verdict().status == "pass", "\n".join(passed.verdict().lines())
        assert told(passed.verdict().as_dict())["status"] == "pass"
    assert reviewed(replace(found.release, draws=None), **LIMITS).verdict().status == "pass"
    assert reviewed(found.release, **LIMITS).verdict().status == "fail"


MODELS: dict[str, Any] = {
    "forest": RandomForestClassifier(60, random_state=0),
    "forest, part of the rows": RandomForestClassifier(60, max_samples=0.5, random_state=0),
    "extra trees": ExtraTreesClassifier(60, bootstrap=True, random_state=0),
    "bagging": BaggingClassifier(DecisionTreeClassifier(), 60, random_state=0),
    "bagging without replacement": BaggingClassifier(
        DecisionTreeClassifier(), 60, max_samples=0.5, bootstrap=False, random_state=0
    ),
    "regression": RandomForestRegressor(60, random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_that_tell_who_was_drawn_fail(name: str) -> None:
    people, classes = FEW
    numeric = name == "regression"
    y = np.where(classes == "yes", 1.0, 0.0) if numeric else classes
    how: dict[str, Any] = {"values": [0.0, 1.0]} if numeric else {}
    found = reviewed(clone(MODELS[name]).fit(people, y), people, y, max_certain=60, **how)
    entry = told(found.summary["verdict"])
    assert (entry["status"], found.verdict().status) == ("fail", "fail")
    assert "who was drawn follows from the file" in "\n".join(found.verdict().lines())
    if not numeric:
        assert entry["found"] == 60
        [release] = found.summary["verdict"]["releases"]
        assert release["draws"]["rows"]["determined"] == 60


def test_a_forest_exported_as_pmml_is_reviewed_by_its_own_names(large: Any, tmp_path: Path) -> None:
    release = reviewed(large).release
    maxent.export(release, tmp_path / "forest.pmml")
    found = reviewed(tmp_path / "forest.pmml", **LIMITS)
    assert found.release.draws is None
    assert found.release.resampled == release.resampled
    assert found.verdict().status == "pass"


def test_a_review_of_rows_says_what_equations_tell() -> None:
    people, classes = FEW
    model = clone(MODELS["forest"]).fit(people, classes)
    found = reviewed(model, people, classes, rows=True).summary
    assert found["row_equations"] == found["estimate"]["row_equations"]
    assert found["row_equations"]["proved"] == 60
    assert "row_equations" not in reviewed(model, people, classes).summary


def test_without_limits_nothing_is_asked(large: Any) -> None:
    found = reviewed(large)
    assert found.summary["verdict"]["status"] == "not stated"
    assert found.summary["verdict"]["checks"] == []


def test_both_adversaries_are_named_with_what_each_reaches(folder: Path) -> None:
    found = maxent.estimate(folder / "forest.json", folder / "qi.csv").verdict(max_certain=60)
    [judged] = found.releases
    assert (judged.draws.rows.determined, judged.draws.rows.proved) == (60, 60)
    line = next(line for line in found.lines() if "who was drawn" in line)
    assert "rows in order: the classes of 60 of 60 people are determined by equations, 60 proved" in line
    assert "; order unknown: " in line


def test_a_table_in_another_order_fails_all_the_same_and_says_so(folder: Path, tmp_path: Path) -> None:
    people = FEW[0].iloc[::-1]
    people.to_csv(tmp_path / "qi.csv", index=False)
    for table in (people, tmp_path / "qi.csv"):
        [judged] = maxent.estimate(folder / "forest.json", table).verdict(max_certain=60).releases
        assert (judged.draws.status, judged.draws.rows.proved) == ("fail", None)
        assert "not tried, as the order of the table does not fit the counts" in judged.draws.said


def test_draws_that_are_not_followed_fail_too() -> None:
    model = RandomForestClassifier(5, max_depth=1, class_weight="balanced_subsample", random_state=0).fit(X, Y)
    found = reviewed(model, max_certain=600)
    assert found.release.draws is None
    assert told(found.summary["verdict"])["status"] == "fail"
    assert "not tried, as draws are not followed" in "\n".join(found.verdict().lines())


@pytest.mark.parametrize(
    "call",
    [
        ["estimate", "forest.json", "qi.csv", "--enforce"],
        ["audit", "forest.json", "qi.csv", "--enforce"],
        ["compare", "tree.json", "forest.json", "--qi", "qi.csv", "--enforce"],
        ["review", "forest.json", "truth.csv", "--target", "Y", "--qi", "A,B,C", "--enforce"],
        ["check", "forest.json", "qi.csv"],
        ["estimate", "forest.skops", "qi.csv", "--enforce"],
    ],
    ids=lambda call: " ".join(call[:2]),
)
def test_every_command_that_states_a_verdict_asks(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, call: list[str]
) -> None:
    monkeypatch.chdir(folder)
    assert main([*call, "--min-k", "1", "--json"]) == 3
    found = json.loads(capsys.readouterr().out)["verdict"]
    assert (found["status"], told(found)["status"]) == ("fail", "fail")


def test_bounds_and_comparisons_in_python_ask(folder: Path) -> None:
    bounds = maxent.bounds(folder / "forest.json", folder / "qi.csv", level="closed")
    assert bounds.verdict(max_certain=60).status == "fail"
    found = maxent.compare([folder / "forest.json", folder / "tree.json"], folder / "qi.csv")
    [first, second] = found.verdict(min_k=1).releases
    assert (first.draws.status, second.draws.status) == ("fail", "pass")
    assert found.verdict(min_k=1).status != "fail"  # the first is only compared with


def test_what_is_published_may_be_another_format(folder: Path, capsys: Any) -> None:
    call = ["check", str(folder / "forest.skops"), str(folder / "qi.csv"), "--truth", str(folder / "truth.csv")]
    call += ["--target", "Y", "--min-k", "1"]
    record = folder / "record.json"
    assert main([*call, "--published-as", "onnx", "--record", str(record)]) == 0
    assert json.loads(record.read_text(encoding="utf-8"))["call"]["options"]["published_as"] == "onnx"
    assert maxent.verify(record).status == "pass"
    assert "judged as published in the format onnx" in maxent.model_card(record)
    assert main([*call, "--published-as", "maxent/1"]) == 3  # which has a place for draws
    assert main([*call, "--published-as", "skops"]) == 3
    capsys.readouterr()
    assert main([*call, "--published-as", "onx"]) == 2
    assert "--published-as: expected one of maxent/1, " in (said := capsys.readouterr().err)
    assert "did you mean 'onnx'?" in said


def test_what_else_a_model_keeps_is_dropped_where_a_format_has_no_place_for_it() -> None:
    model = RandomForestClassifier(20, max_depth=1, oob_score=True, random_state=0).fit(X, Y)
    assert "answers to single rows" in reviewed(model).converted.aside
    assert "answers to single rows" not in reviewed(model, published_as="onnx").converted.aside


REASON = "the rows were shuffled before training, and the order was not kept"


def test_a_reason_takes_it_back_where_nobody_knows_the_order(folder: Path, capsys: Any) -> None:
    how: dict[str, Any] = {"qi": list("ABC"), "target": "Y", "max_certain": 60}
    found = maxent.review(folder / "forest.json", folder / "truth.csv", rows_unknown=REASON, **how)
    verdict = found.summary["verdict"]
    assert verdict["status"] == "pass", "\n".join(found.verdict().lines())
    assert (verdict["rows"], verdict["rows_reason"]) == ("unknown", REASON)
    assert (told(verdict)["status"], told(verdict)["off"]) == ("fail", REASON)
    assert f"the order of the rows is taken to be unknown: {REASON}" in "\n".join(found.verdict().lines())
    [check] = found.verdict().releases[0].checks
    assert check.origin == "proof"
    others = maxent.review(folder / "forest.json", folder / "truth.csv", rows_unknown=REASON, **how, max_posterior=1.0)
    assert [c.status for c in others.verdict().releases[0].checks] == ["cannot_tell", "pass"]  # draws tell more of it
    review = ["review", str(folder / "forest.json"), str(folder / "truth.csv"), "--target", "Y", "--qi", "A,B,C"]
    assert main([*review, "--max-certain", "60", "--enforce", "--rows-unknown", REASON]) == 0
    shown = capsys.readouterr().out
    assert "not read: seeds" not in shown
    assert "not used by the estimate: seeds of the draws of each tree: proofs without the order" in " ".join(
        shown.split()
    )
    assert main([*review, "--max-certain", "60", "--rows-unknown", " "]) == 2
    assert "--rows-unknown: expected the reason, a text" in capsys.readouterr().err


def test_a_policy_takes_it_back_with_a_reason_and_a_record_keeps_that(folder: Path, capsys: Any) -> None:
    policy, record = folder / "policy.toml", folder / "shuffled.json"
    policy.write_text(
        f'[limits]\nmin_k = 1\n[adversary]\nrows = "unknown"\nrows_reason = "{REASON}"\n', encoding="utf-8"
    )
    found = maxent.check(folder / "forest.json", folder / "qi.csv", policy)
    assert found.status == "pass", found.lines
    assert f"the order of the rows is taken to be unknown: {REASON}" in "\n".join(found.lines)
    assert found.summary["verdict"]["rows"] == "unknown"
    stated = found.record(record)
    assert [each["id"] for each in stated["overrides"]] == ["MX406"]
    assert "MX406 was switched off" not in (card := maxent.model_card(stated))
    assert REASON in card
    assert maxent.verify(record).status == "pass"
    stated["checks"] = [each for each in stated["checks"] if each["id"] != "MX406"]
    stated["overrides"] = []
    record.write_text(json.dumps(stated), encoding="utf-8")
    assert maxent.verify(record).status == "fail"
    assert maxent.check(folder / "forest.json", folder / "qi.csv", min_k=1).status == "fail"


def test_how_far_an_adversary_comes_in_words() -> None:
    told = NoDraws("seeds", rows=Reached(5, 3, 4), unordered=Reached(why="not tried"))
    assert "3 of 5 people are determined by equations, 4 proved; order unknown: not tried" in told.said
    assert NoDraws(unproved="no sums").status == "cannot_tell"
    assert NoDraws().status == "pass"
    assert not replace(told, unknown=REASON).counts
