"""Simulated papers: a tree, means, a cross table, a regression, a confusion matrix and an AUC of one study."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

import maxent
from maxent.constraints.program.residuals import LinearRows
from maxent.models.statements.read import parse_statements
from tests.support.search import cases

AGES = {"column": "age", "edges": [20, 35, 60]}


def study(seed: int, classes: int = 2) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 120))
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, n).astype(float),
            "bmi": np.round(rng.normal(25, 4, n), 1),
            "sex": rng.integers(0, 2, n).astype(float),
            "score": np.round(rng.uniform(0.02, 0.98, n), 2),
        }
    )
    odds = np.column_stack([np.zeros(n), *((frame.age - 40) / 8 + 2 * frame.score - k for k in range(1, classes))])
    chance = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    y = np.array([rng.choice(classes, p=each) for each in chance])
    y[:classes] = range(classes)
    return frame.assign(y=[str(each) for each in y], guess=[str(each) for each in rng.integers(0, 2, n)])


def paper(frame: pd.DataFrame) -> list[Any]:
    """What the study publishes."""
    columns, yes = ["age", "bmi", "sex"], frame.y == "1"
    tree = maxent.from_sklearn(DecisionTreeClassifier(max_depth=3).fit(frame[columns], frame.y), target="y")
    model = LogisticRegression(tol=1e-10, max_iter=10_000).fit(frame[columns], frame.y)
    coefficients = {"intercept": model.intercept_[0], **dict(zip(columns, model.coef_[0], strict=True))}
    terms = [
        {**({"intercept": True} if name == "intercept" else {"column": name}), "value": f"{value:.3f}"}
        for name, value in coefficients.items()
    ]
    cells = [
        {"at": [value, "*"], "class": "1", "count": n if (n := int((yes & (frame.sex == value)).sum())) > 2 else None}
        for value in (0.0, 1.0)
    ]
    matrix = {g: {c: int(((frame.guess == g) & (frame.y == c)).sum()) for c in "01"} for g in "01"}
    said: list[dict[str, Any]] = [
        {"kind": "mean", "of": "age", "class": "1", "equals": f"{frame.age[yes].mean():.2f}"},
        {"kind": "mean", "of": "bmi", "class": "0", "equals": f"{frame.bmi[~yes].mean():.1f}"},
        {
            "kind": "table",
            "by": ["sex", {"column": "age", "edges": [20, 35, 60]}],
            "cells": cells,
            "suppressed_below": 3,
        },
        {"kind": "glm", "family": "logistic", "of": "1", "terms": terms, "l2": 1, "mean_tolerance": 1e-6},
        {"kind": "confusion", "prediction": "guess", "matrix": matrix},
        {"kind": "auc", "score": "score", "class": "1", "equals": f"{roc_auc_score(yes, frame.score):.3f}"},
    ]
    target = {"name": "y", "classes": ["0", "1"]}
    document = {"format": "maxent-statements/1", "target": target, "statements": said}
    return [tree, parse_statements(document, "paper.json").release]


@pytest.mark.search
@pytest.mark.parametrize("seed", cases(0, 3, hunted=60))
def test_the_people_of_a_paper_satisfy_all_that_it_prints(seed: int) -> None:
    frame = study(seed)
    table = frame.drop(columns="y")
    found = maxent.estimate(paper(frame), table, bounds="linear")
    program = found.program
    assert found.reliable
    assert not program.contradictions
    names = [a.name for a in program.table.attributes]
    places = {tuple(map(str, row)): i for i, row in enumerate(program.table.frame()[names].itertuples(index=False))}
    masses = np.zeros((len(program.table), 2))
    for row, label in zip(frame[names].itertuples(index=False), frame.y, strict=True):
        masses[places[tuple(map(str, row))], int(label)] += 1
    assert LinearRows(program).violation(masses[program.cells.owner]).max(initial=0.0) <= 1e-9
    bounds = found.proof.bounds
    assert (bounds.low - 1e-6 <= masses).all()
    assert (masses <= bounds.high + 1e-6).all()


@pytest.mark.parametrize("penalty", [np.inf, 0.05])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_lone_estimate_of_a_regression_is_its_unpenalised_fit(classes: int, penalty: float) -> None:
    frame = study(classes, classes)
    columns = ["age", "bmi", "sex"]
    x = (frame[columns] - frame[columns].mean()) / frame[columns].std()
    how: dict[str, Any] = {"solver": "newton-cg", "tol": 1e-13, "max_iter": 100_000}
    model = LogisticRegression(C=penalty, **how).fit(x, frame.y)
    predicted = model.predict_proba(x)
    shrunk = model.coef_ if classes > 2 else np.vstack([-model.coef_, model.coef_])
    said = []
    for k in range(1, classes):  # what the fit says, with width 0: sums of its predictions, and of the penalty
        said.append(
            {"kind": "linear", "weight": 1, "class": str(k), "equals": float(predicted[:, k].sum()), "within": 0}
        )
        for j, name in enumerate(columns):
            total = float(predicted[:, k] @ x[name]) + (0 if np.isinf(penalty) else shrunk[k, j] / penalty)
            said.append({"kind": "linear", "weight": name, "class": str(k), "equals": total, "within": 0})
    target = {"name": "y", "classes": [str(k) for k in range(classes)]}
    release = parse_statements({"format": "maxent-statements/1", "target": target, "statements": said}, "s").release
    found = maxent.estimate(release, x).posterior
    expected = model if np.isinf(penalty) else LogisticRegression(C=np.inf, **how).fit(x, frame.y)
    told = found[[f"P({k})" for k in range(classes)]].to_numpy()
    assert np.abs(told - expected.predict_proba(found[columns].astype(float))).max() <= 1e-6
    if not np.isinf(penalty):
        assert np.abs(told - model.predict_proba(found[columns].astype(float))).max() > 0.01


ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_page_says_how_much_the_tutorials_tree_tells_with_what_stands_beside_it(tmp_path: Path) -> None:
    tree = json.loads((ROOT / "examples" / "d1" / "tree.json").read_text(encoding="utf-8"))
    labels = json.loads(json.dumps(tree))
    for node in labels["trees"][0]["nodes"]:
        node.pop("error_rate", None)
        node.pop("n", None)
    (tmp_path / "chosen.json").write_text(json.dumps(labels), encoding="utf-8")
    labels["trees"][0]["induction"] = {}
    (tmp_path / "labels.json").write_text(json.dumps(labels), encoding="utf-8")
    qi = ROOT / "examples" / "d1" / "qi.csv"
    table, regression = (ROOT / "examples" / "statements" / f"{name}.json" for name in ("table1", "regression"))
    page = (ROOT / "docs" / "statements.md").read_text(encoding="utf-8")

    def told(*releases: Path) -> tuple[int, str]:
        settled = maxent.bounds(list(releases), qi, level="integer").summary["certain_proved"]
        return settled, f"{maxent.estimate(list(releases), qi).summary['entropy']:.3f}"

    whole = ROOT / "examples" / "d1" / "tree.json"
    shown = re.search(r"```json\n(.*?)```", page, re.DOTALL)
    assert shown is not None
    (tmp_path / "shown.json").write_text(shown[1], encoding="utf-8")
    (tmp_path / "tree.json").write_text(json.dumps(tree), encoding="utf-8")
    assert maxent.bounds(tmp_path / "shown.json", qi).certain_proved == 2  # the men of Canada
    rows = [
        ("labels of the tree", told(tmp_path / "labels.json")),
        ("... and Table 1", told(tmp_path / "labels.json", table)),
        ("... and the regression", told(tmp_path / "labels.json", regression)),
        ("the tree with error rates", told(whole)),
        ("... and Table 1, or the regression", told(whole, table)),
    ]
    for name, (settled, entropy) in rows:
        assert f"| {name} | {settled} | {entropy} |" in page, (name, settled, entropy)
    assert told(whole, regression) == rows[-1][1]
    chosen = [told(tmp_path / "chosen.json", *beside) for beside in ((), (table,), (regression,))]
    (first, second, third), nats = (each[0] for each in chosen), ", ".join(each[1] for each in chosen)
    assert f"{first}, {second} and {third} classes are settled ({nats} nats)" in page, chosen
    (tables, coefficients, both) = (told(table), told(regression), told(table, regression))
    settled, entropies = (", ".join(str(each[i]) for each in (tables, coefficients, both)) for i in (0, 1))
    assert f"| Table 1 alone, the regression alone, both | {settled} | {entropies} |" in page
    words = maxent.audit(regression, qi)["statements"]["words"]
    assert all(f"> {each.replace('regression.json, ', '')}\n" in page for each in words), words
    assert [each.rpartition(" ")[2] for each in words] == ["6", "2", "3", "2"]
