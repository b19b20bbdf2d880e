"""What files of boosting tools say of the training, and the counts that follow: those of the people of the training.

The files in ``boosted_files`` are of XGBoost 3.2 (3 rounds, rate 0.2, lambda 2) and LightGBM 4.7 (2 rounds, rate 0.1,
lambda 0.5, ``cat_l2`` 10) and CatBoost 1.2 (3 trees, rate 0.2, penalty 3; without most of its parameters), of the
people of `people`. Those of weighted classes have 5 rounds, ``scale_pos_weight`` 3 and ``is_unbalance``.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.boosted import satisfied
from support.models import read_model

from maxent.constraints.kinds.boosted_leaves import LeafCounts, leaf_counts
from maxent.constraints.program.cells import build_cells
from maxent.models.formats.boosting.xgboost_files import Weights, training_of
from maxent.models.formats.release_reader import Converted
from maxent.models.release import Boosting, Release
from maxent.models.tables.qi_table import read_qi
from maxent.models.tables.truth_and_facts import read_truth

FILES = Path(__file__).parent / "boosted_files"


def people(n: int = 180) -> tuple[pd.DataFrame, Any]:
    """People by arithmetic, and 0 to 2 reasons each."""
    i = np.arange(n)
    age, hours = (i * 37 % 53).astype(float), (i * i % 29).astype(float)
    work = np.array(list("abcdefg"))[(i * 11 + i // 7) % 7]
    reasons = (age > 25).astype(int) + (hours > 12) + np.isin(work, ["b", "e"]) + (i % 5 == 0)
    return pd.DataFrame({"age": age, "hours": hours, "work": work}), np.minimum(reasons, 2)


def read(path: Path, **said: str) -> Converted:
    return read_model(path, target="Y", parameters=said)


def rule(found: Converted) -> Boosting:
    assert found.release.boosting is not None
    return found.release.boosting


def proved(release: Release) -> tuple[LeafCounts, list[int]]:
    """Counts of the people, and the true ones."""
    table, reasons = people()
    y = reasons if len(release.target.classes) == 3 else (reasons >= 2).astype(int)
    qi = read_qi(table[[a.name for a in release.attributes]], release)
    cells = build_cells(release, qi)
    truth = read_truth(table.assign(Y=y.astype(str)), release, qi)
    found = leaf_counts(release, cells, qi.counts)
    rows = zip(found.tree.tolist(), found.place.tolist(), found.klass.tolist(), strict=True)
    return found, [int(truth[cells.owner[cells.trees[t].at(place)], x].sum()) for t, place, x in rows]


@pytest.mark.parametrize("name", ["xgboost-binary.json", "xgboost-classes.json"])
def test_files_of_xgboost_prove_their_rate_and_their_counts(name: str) -> None:
    found = read(FILES / name)
    assert (rule(found).rate, rule(found).l2) == (0.2, 2.0)
    counts, truth = proved(found.release)
    assert counts.low.tolist() == counts.high.tolist() == truth
    assert len(counts) == sum(len(tree.leaves) for tree in found.release.trees)


@pytest.mark.parametrize(
    ("objective", "changes", "reason"),
    [
        ({"reg_loss_param": {"scale_pos_weight": "0"}}, {}, "scale_pos_weight"),
        ({}, {"num_parallel_tree": "2"}, "num_parallel_tree"),
    ],
)
def test_files_of_xgboost_that_say_why_not(tmp_path: Path, objective: Any, changes: Any, reason: str) -> None:
    document = json.loads((FILES / "xgboost-binary.json").read_text(encoding="utf-8"))
    document["learner"]["objective"] |= objective
    document["learner"]["gradient_booster"]["model"]["gbtree_model_param"] |= changes
    (tmp_path / "model.json").write_text(json.dumps(document), encoding="utf-8")
    found = read(tmp_path / "model.json", rate="0.2", **{"lambda": "2"})
    assert (rule(found).rate, rule(found).l2) == (None, None)
    assert any(reason in sentence for sentence in found.lost)
    assert proved(found.release)[0].lost == (
        "scores of leaves state no counts: the release does not state the learning rate and the L2 penalty that they "
        "were computed with",
    )


@pytest.mark.parametrize("name", ["xgboost-weighted.json", "lightgbm-weighted.txt"])
def test_files_of_weighted_classes_state_sums_that_hold(name: str) -> None:
    found = read(FILES / name)
    table, reasons = people()
    share = float((reasons >= 2).mean())
    # scale_pos_weight 3; is_unbalance gives the rarer class what the other has of it.
    expected = {"1": 3.0} if name.startswith("xgboost") else {"1": (1 - share) / share}
    assert rule(found).weights == pytest.approx(expected)
    counts, held, sums = satisfied(found.release, table[["age", "hours"]], reasons >= 2)
    assert counts >= len(found.release.trees[0].leaves)
    assert held
    assert sums > 0


def test_weights_prove_a_rate_and_a_penalty_or_none() -> None:
    random = np.random.default_rng(0)

    def grown(rate: float, l2: float, l1: float = 0.0, n: int = 40) -> Weights:
        """Roots with two leaves, as one tree: only what is above and below matters."""
        h, g = random.uniform(5, 50, (n, 2)), random.normal(0, 20, (n, 2))
        pull = np.sign(g) * np.maximum(np.abs(g) - l1, 0)
        above = g.sum(axis=1)
        root = -np.sign(above) * np.maximum(np.abs(above) - l1, 0) / (h.sum(axis=1) + l2)
        weight = np.concatenate([root, (-rate * pull / (h + l2)).ravel()]).astype(np.float32).astype(float)
        left = np.concatenate([n + 2 * np.arange(n), np.full(2 * n, -1)])
        return Weights(left, np.where(left < 0, -1, left + 1), weight, np.concatenate([h.sum(axis=1), h.ravel()]))

    for rate, l2 in ((0.3, 1.0), (0.05, 0.0), (0.0125, 3.5), (1.0, 120.0)):
        assert training_of([grown(rate, l2)], None, None) == (rate, l2)
        assert training_of([grown(rate, l2)], rate, None) == (rate, l2)
        assert training_of([grown(rate, l2)], 2 * rate, None) is None
    assert training_of([grown(0.3, 1.0, l1=5.0)], None, None) is None
    assert training_of([grown(0.3, 1.0), grown(0.2, 1.0)], None, None) is None
    assert training_of([grown(0.3, 1.0, n=2)], None, None) is None
    assert training_of([grown(0.3, 1.0), None], None, None) is None
    level = grown(0.3, 1.0)
    assert training_of([Weights(level.left, level.right, 0 * level.weight, level.hessian)], None, None) is None


@pytest.mark.parametrize("name", ["lightgbm-binary.txt", "lightgbm-classes.txt"])
def test_files_of_lightgbm_state_their_rule_and_their_counts(name: str) -> None:
    found = read(FILES / name)
    stated = rule(found)
    assert (stated.rate, stated.l2) == (0.1, 0.5)
    _, reasons = people()
    if name == "lightgbm-binary.txt":
        share = float((reasons >= 2).mean())
        assert stated.base == pytest.approx(np.log(share / (1 - share)), abs=1e-6)
    else:
        assert (stated.hessian, stated.penalties) == (1.5, {"work": 10.5})
        assert isinstance(stated.base, dict)
        assert list(stated.base.values()) == pytest.approx(np.log(np.bincount(reasons) / len(reasons)), abs=1e-6)
    counts, truth = proved(found.release)
    assert counts.low.tolist() == counts.high.tolist() == truth
    assert len(counts) == sum(len(tree.leaves) for tree in found.release.trees)
    assert not any("scores" in sentence for sentence in found.lost[1:])


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("[max_delta_step: 0]", "[max_delta_step: 0.5]", "a limit of steps"),
        ("[path_smooth: 0]", "[path_smooth: 1]", "smoothing"),
        ("[use_quantized_grad: 0]", "[use_quantized_grad: 1]", "rounded"),
        ("[is_unbalance: 0]", "[is_unbalance: 1]", "weights of classes"),
        ("[scale_pos_weight: 1]", "[scale_pos_weight: 2]", "weights of classes"),
        ("[scale_pos_weight: 1]", "[scale_pos_weight: 2.34567]", "weights of classes"),
        ("[scale_pos_weight: 1]", "[scale_pos_weight: -2]", "classes have weights"),
        ("[monotone_constraints: ]", "[monotone_constraints: 0,1,0]", "monotone"),
        ("[boosting: gbdt]", "[boosting: dart]", "dart"),
        ("[device_type: cpu]", "[device_type: gpu]", "single precision"),
        ("[data_sample_strategy: bagging]", "[data_sample_strategy: goss]", "a sample of the rows"),
        ("[learning_rate: 0.1]", "[learning_rate: 0.2]", "does not state the learning rate"),
        ("[lambda_l2: 0.5]", "[lambda_l2: much]", "does not state the learning rate"),
        ("[lambda_l1: 0]", "[lambda_l1: 1]", "before the first tree"),
        ("[boost_from_average: 1]", "[boost_from_average: 0]", "before the first tree"),
        ("[cat_l2: 10]", "", "cat_l2"),
    ],
)
def test_files_of_lightgbm_that_say_why_not(tmp_path: Path, old: str, new: str, reason: str) -> None:
    name = "classes" if "cat_l2" in old else "binary"  # with a split of categories
    text = (FILES / f"lightgbm-{name}.txt").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "model.txt").write_text(text.replace(old, new), encoding="utf-8")
    found = read(tmp_path / "model.txt")
    assert (rule(found).rate, rule(found).l2) == (None, None)
    assert any("what scores say of counts" in sentence and reason in sentence for sentence in found.lost), found.lost
    assert not len(proved(found.release)[0])


def test_files_of_catboost_state_their_rule_and_their_counts() -> None:
    found = read(FILES / "catboost-binary.json")
    assert (rule(found).rate, rule(found).l2) == (pytest.approx(0.2), 3.0)
    counts, truth = proved(found.release)
    assert counts.low.tolist() == counts.high.tolist() == truth
    assert len(counts) == sum(len(tree.leaves) for tree in found.release.trees) - 1  # one that nobody reaches
    assert not any("scores say" in sentence for sentence in found.lost)


@pytest.mark.parametrize(
    ("group", "changes", "reason"),
    [
        ("boosting_options", {"boosting_type": "Ordered"}, "ordered boosting"),
        ("boosting_options", {"model_shrink_rate": 0.1}, "model_shrink_rate"),
        ("boosting_options", {"langevin": True}, "noise"),
        ("boosting_options", {"learning_rate": 0}, "learning rate"),
        ("tree_learner_options", {"leaf_estimation_method": "Gradient"}, "no Newton steps"),
        ("tree_learner_options", {"leaf_estimation_iterations": 10}, "several steps"),
        ("tree_learner_options", {"monotone_constraints": {"0": 1}}, "monotone"),
        ("data_processing_options", {"class_weights": [1, 3]}, "weights"),
        ("loss_function", {"type": "CrossEntropy"}, "the loss is CrossEntropy"),
    ],
)
def test_files_of_catboost_that_say_why_not(tmp_path: Path, group: str, changes: Any, reason: str) -> None:
    document = json.loads((FILES / "catboost-binary.json").read_text(encoding="utf-8"))
    document["model_info"]["params"][group] |= changes
    (tmp_path / "model.json").write_text(json.dumps(document), encoding="utf-8")
    found = read(tmp_path / "model.json")
    assert rule(found).rate is None
    assert any("scores say" in sentence and reason in sentence for sentence in found.lost), found.lost
    assert not len(proved(found.release)[0])


def test_weights_show_in_the_first_tree_of_catboost(tmp_path: Path) -> None:
    document = json.loads((FILES / "catboost-binary.json").read_text(encoding="utf-8"))
    document["oblivious_trees"][0]["leaf_weights"][0] += 1
    (tmp_path / "model.json").write_text(json.dumps(document), encoding="utf-8")
    counts, _ = proved(read(tmp_path / "model.json").release)
    assert not len(counts)
    assert "tree 1, leaf L0: a sum of second derivatives" in counts.lost[0]


def test_a_wrong_rate_or_penalty_shows(tmp_path: Path) -> None:
    for said in ({"rate": "0.1"}, {"lambda": "1"}, {"rate": "0.3", "lambda": "1"}):
        found, _ = proved(read(FILES / "xgboost-classes.json", **said).release)
        assert not len(found), said
        assert "tree 1, leaf" in found.lost[0]
