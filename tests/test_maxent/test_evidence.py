"""Limits with the truth: right guesses, the base rate, and leaves that are pure in truth."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.calls import printed_by
from support.documents import release_document
from support.paths import D1

import maxent
from maxent.__main__ import main
from maxent.disclosure.baseline import baseline_of
from maxent.disclosure.inference import Inference
from maxent.plotting.figures import draw_estimate
from maxent.policy.checks.registry import BY_KEY

QI, TRUTH = str(D1 / "qi.csv"), str(D1 / "truth.csv")


@pytest.fixture
def labels(tmp_path: Path) -> str:
    """D1's tree with labels alone."""
    document = json.loads((D1 / "tree.json").read_text(encoding="utf-8"))
    for node in document["trees"][0]["nodes"]:
        node.pop("error_rate", None)
        node.pop("n", None)
    (tmp_path / "labels.json").write_text(json.dumps(document), encoding="utf-8")
    return str(tmp_path / "labels.json")


def run(capsys: Any, *call: str) -> tuple[int, dict[str, Any]]:
    return main([*call, "--json"]), json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("limit", "without", "with_truth"),
    [
        (["--max-certain", "4"], 4, 3),
        (["--max-posterior", "0.95"], 3, 3),  # one person is proved
        (["--max-right-guesses", "0.7"], 4, 3),
        (["--max-lift", "0.1"], 4, 3),
        (["--max-right-guesses", "0.9"], 4, 0),  # what is right is known, whatever is stated
        (["--max-lift", "0.3"], 4, 0),
    ],
)
def test_labels_alone_fail_by_the_truth_and_mostly_cannot_be_told_without(
    capsys: Any, labels: str, limit: list[str], without: int, with_truth: int
) -> None:
    assert run(capsys, "estimate", labels, QI, *limit, "--enforce")[0] == without
    for call in (["estimate", labels, QI], ["compare", labels, QI]):
        assert run(capsys, *call, "--truth", TRUTH, *limit, "--enforce")[0] == with_truth
    [check, draws] = run(capsys, "estimate", labels, QI, "--truth", TRUTH, *limit)[1]["verdict"]["checks"]
    assert (draws["id"], draws["key"], draws["status"]) == ("MX406", "no_draws", "pass")
    assert set(check) == {"id", "key", "release", "limit", "found", "status"}
    assert BY_KEY[check["key"]].id == check["id"]
    assert (check["key"], check["limit"]) == (limit[0][2:].replace("-", "_"), float(limit[1]))


def test_right_guesses_are_those_of_the_better_way(capsys: Any, labels: str) -> None:
    found = run(capsys, "estimate", labels, QI, "--truth", TRUTH)[1]
    [row] = maxent.compare([labels], QI, TRUTH).rows
    assert found["truth"]["by_estimate"] == pytest.approx(0.5)  # every class is as likely: a guess by chance
    assert found["truth"]["as_predicted"] == found["truth"]["right_guesses"] == row["right_guesses"]
    assert row["right_guesses"] == pytest.approx(row["train_accuracy"])
    assert found["truth"]["pure"] == row["pure"] == 5  # as error rates of 0 say in the whole tree
    right, known = found["truth"]["right_guesses"], found["baseline"]
    assert (known["base_rate"], known["class"], known["source"], known["uniform"]) == (6 / 11, ">50K", "truth", 0.5)
    assert known["right_guesses"] == right
    assert known["gain"]["base_rate"] == {"additive": right - 6 / 11, "multiplicative": right / (6 / 11)}
    assert known["gain"]["uniform"] == {"additive": right - 0.5, "multiplicative": 2 * right}


def test_guesses_are_told_beside_the_base_rate(capsys: Any, labels: str, tmp_path: Path) -> None:
    report = str(tmp_path / "report.html")
    assert main(["estimate", labels, QI, "--report", report]) == 0
    assert "(uniform guess 50.0 %; nothing states the base rate)" in capsys.readouterr().out
    assert "a uniform guess among 2 classes is right 50.0 % of the time" in Path(report).read_text(encoding="utf-8")
    assert main(["estimate", labels, QI, "--truth", TRUTH, "--report", report]) == 0
    said, written = capsys.readouterr().out, Path(report).read_text(encoding="utf-8")
    assert "(base rate 54.5 % by the truth, uniform guess 50.0 %)" in said
    assert (
        "guesses as the release predicts are right for 72.7 % of them, +18.2 points from the base rate, +22.7" in said
    )
    assert "A blind guess, always the most frequent Salary, is right 54.5 % of the time" in written
    assert "72.7 % as predicted" in written
    assert '"baseline":0.5454' in written  # what the shades of the trees begin with


def test_the_base_rate_is_of_the_first_that_states_it(labels: str, tmp_path: Path) -> None:
    (tmp_path / "marginal.csv").write_text("Salary,count\n<=50K,6\n>50K,5\n", encoding="utf-8")
    known = maxent.estimate(labels, QI, TRUTH, marginal=tmp_path / "marginal.csv").summary["baseline"]
    assert (known["base_rate"], known["source"]) == (6 / 11, "marginal")
    stated = maxent.estimate(D1 / "tree.json", QI).summary["baseline"]
    assert (stated["base_rate"], stated["source"]) == (pytest.approx(6 / 11), "release")
    assert maxent.estimate(labels, QI).summary["baseline"]["source"] is None


def test_a_base_rate_needs_narrow_bounds() -> None:
    low, high = np.array([50.0, 40.0, 0.0]), np.array([50.5, 49.0, 10.0])
    assert baseline_of(3, 100, low=low, high=high).base_rate == pytest.approx(0.5025)  # no other is more frequent
    assert baseline_of(3, 100, low=low - np.array([5, 0, 0]), high=high).base_rate is None
    assert baseline_of(3, 100, low=low, high=high + np.array([0, 5, 0])).base_rate is None


def people() -> pd.DataFrame:
    """Of those with a, whose b is hidden, x and y are alike; the leaves of b are pure."""
    rows = [("1", "p", "x"), ("1", "q", "y"), ("2", "p", "x"), ("2", "q", "x")] * 3
    return pd.DataFrame(rows, columns=["a", "b", "T"])


def test_leaves_of_private_attributes_are_pure_only_whatever_these_are(tmp_path: Path) -> None:
    document = release_document(
        "T",
        ["x", "y"],
        [
            {"name": "a", "type": "categorical", "values": ["1", "2"]},
            {"name": "b", "type": "categorical", "values": ["p", "q"], "role": "private"},
        ],
        [
            {"id": "r", "attribute": "a", "branches": [{"in": ["1"], "child": "s"}, {"in": ["2"], "child": "t"}]},
            {"id": "s", "attribute": "b", "branches": [{"in": ["p"], "child": "u"}, {"in": ["q"], "child": "v"}]},
            {"id": "t", "label": "x"},
            {"id": "u", "label": "x"},
            {"id": "v", "label": "y"},
        ],
    )
    frame, path = people(), tmp_path / "tree.json"
    for more, pure in (({}, 6), ({"release": {"sampling_rate": 0.5}}, 0)):  # of a = 2 alone
        path.write_text(json.dumps(document | more), encoding="utf-8")
        assert maxent.estimate(path, frame[["a"]], frame).summary["truth"]["pure"] == pure


def test_an_audit_takes_limits(capsys: Any, labels: str) -> None:
    tree = str(D1 / "tree.json")
    for limit, status in (
        (["--min-k", "2"], 0),
        (["--min-k", "3"], 3),
        (["--max-certain", "4"], 3),
        (["--max-certain", "5"], 4),  # an estimate may find more
        (["--max-lift", "0.9"], 4),
    ):
        code, found = run(capsys, "audit", tree, QI, *limit, "--enforce")
        assert code == status
        assert found["verdict"]["status"] == {0: "pass", 3: "fail", 4: "cannot_tell"}[status]
    assert "verdict" not in run(capsys, "audit", tree, QI)[1]
    assert main(["audit", labels, QI, "--max-lift", "0.5"]) == 0
    assert (
        "right guesses above the base rate not known, at most 0.5: cannot tell, as the attacks alone do not tell"
        in (capsys.readouterr().out)
    )


def test_what_says_no_more_than_the_base_rate_has_no_lift(capsys: Any, tmp_path: Path) -> None:
    tree = json.loads((D1 / "tree.json").read_text(encoding="utf-8"))
    root = {"id": "N1", "counts": {"<=50K": 5, ">50K": 6}}
    (tmp_path / "root.json").write_text(json.dumps(tree | {"trees": [{"nodes": [root]}]}), encoding="utf-8")
    for truth in ([], ["--truth", TRUTH]):
        assert run(capsys, "estimate", str(tmp_path / "root.json"), QI, *truth, "--max-lift", "0", "--enforce")[0] == 0


def test_leaves_of_one_of_several_columns_are_drawn_beside_their_base_rate() -> None:
    """Such an inference is no estimate, and has what its measures say."""
    from matplotlib.figure import Figure

    found = maxent.estimate(D1 / "tree.json", QI)
    axes = Figure().add_subplot()
    draw_estimate(axes, Inference(found.program, found.probabilities, found.disclosure))
    legend = axes.get_legend()
    assert legend is not None
    assert {"base rate 0.545", "uniform guess 0.5"} <= {text.get_text() for text in legend.get_texts()}


def test_right_guesses_stand_beside_the_base_rate_and_a_uniform_guess(tmp_path: Path, capsys: Any) -> None:
    tree = str(D1 / "tree.json")
    blind = "base rate 54.5 %, uniform guess 50.0 %"
    report = tmp_path / "report.html"
    printed_by(capsys, ["estimate", tree, QI, "--truth", TRUTH, "--sensitive", ">50K", "--report", str(report)])
    text = report.read_text(encoding="utf-8")
    assert f'Right guesses by the estimate<br><span class="muted">{blind}</span>' in text
    assert f"<li>without the release: {blind}</li>" in text
    assert f'"blind":"{blind}"' in text  # of the explorer
    assert f"most likely salary ({blind})" in text.replace("Salary", "salary")
    status, told = run(capsys, "compare", tree, tree, QI, "--truth", TRUTH)
    assert status == 0
    assert [(row["base_rate"], row["uniform"]) for row in told["releases"]] == [(6 / 11, 0.5)] * 2
    found = maxent.compare([tree, tree], QI, TRUTH)
    assert "right guesses without a release: base rate 0.5455, uniform guess 0.5000" in repr(found)
    reviewed = maxent.review(tree, pd.read_csv(TRUTH), qi=["Education", "Country", "Gender"], target="Salary")
    assert "<td>base rate</td><td>0.5455</td></tr><tr><td>uniform guess</td><td>0.5000</td>" in reviewed._repr_html_()
    figure = pytest.importorskip("matplotlib.figure", reason="needs matplotlib: pip install -e '.[plot]'")
    legend = found.plot("bars", ax=figure.Figure().add_subplot()).get_legend()
    assert legend is not None
    assert {"base rate 0.545", "uniform guess 0.5"} <= {text.get_text() for text in legend.get_texts()}


def test_of_classes_alike_each_is_guessed_as_often_on_all_rungs(tmp_path: Path) -> None:
    table = {"age": ["low"] * 4 + ["high"] * 4, "state": ["ill"] + ["well"] * 3 + ["ill"] * 3 + ["well"]}
    split = {"id": "N", "attribute": "age"}
    split["branches"] = [{"in": [value], "child": value} for value in ("low", "high")]
    trees = []
    for of_high in ("ill", "well"):  # whoever is high has a vote for each class
        leaves = [{"id": "low", "label": "well"}, {"id": "high", "label": of_high}]
        trees.append({"nodes": [split, *leaves]})
    document = {
        "format": "maxent/1",
        "target": {"name": "state", "classes": ["well", "ill"]},
        "attributes": [{"name": "age", "type": "categorical", "values": ["low", "high"]}],
        **{"labels": "decided", "predicts": "vote", "trees": trees},
    }
    (tmp_path / "tree.json").write_text(json.dumps(document), encoding="utf-8")
    people = pd.DataFrame(table)
    told = maxent.estimate(tmp_path / "tree.json", people[["age"]], people)
    assert told.summary["truth"]["as_predicted"] == (3 + 2) / 8  # by the first of two classes: (3 + 1) / 8
    ladder = {rung.adversary: rung.figures for rung in maxent.review(tmp_path / "tree.json", people, qi=["age"]).ladder}
    assert ladder["predictions"].right_guesses == ladder["table"].right_guesses == (3 + 2) / 8
    assert told.summary["truth"]["right_guesses"] == (3 + 2) / 8
    named = maxent.estimate(tmp_path / "tree.json", people[["age"]], people, sensitive="ill").summary
    assert named["sensitive"]["right_guesses"] == (3 / 2) / 4
