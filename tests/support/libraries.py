"""Random models of every library of trees: few people, random data, options as people use them.

What the file of a model tells of somebody is judged by the truth, without what is compiled of it.
"""

import json
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import maxent
from maxent.constraints.program.cells import build_cells
from maxent.models.errors import InvalidInput
from maxent.models.tables.qi_table import read_qi
from maxent.models.tables.truth_and_facts import read_truth

Draw = np.random.Generator


@dataclass(frozen=True)
class Fitted:
    """A model of people, and whether its trees were grown from everybody, with a weight above 0."""

    name: str
    X: pd.DataFrame
    y: pd.Series
    model: Any
    told: Mapping[str, Any]
    whole: bool


@dataclass(frozen=True)
class Judged:
    """What a review says of a model, and in which way its file tells the class of somebody, if it does."""

    status: str
    told: str
    unread: bool = field(default=False)


def drawn(seed: int) -> Fitted:
    """The random model of a number, not fitted yet; libraries take turns."""
    random = np.random.default_rng(seed)
    n, width = int(random.integers(20, 61)), int(random.integers(2, 4))
    X = pd.DataFrame({f"f{j}": random.integers(0, int(random.integers(2, 9)), n).astype(float) for j in range(width)})
    n_classes = 2 if random.random() < 0.7 else 3
    scores = (X - X.mean()).to_numpy() @ random.normal(size=(width, n_classes)) + 2 * random.gumbel(size=(n, n_classes))
    y = scores.argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)
    made, fit, whole = KINDS[seed % len(KINDS)](random, y, width)
    if "sample_weight" not in fit and random.random() < 0.15:
        fit["sample_weight"] = random.choice([1.0, 2.0, 3.0] if random.random() < 0.5 else [0.3, 1.0, 2.2], n)
    told = {k: v for k, v in made.get_params().items() if v is not None}
    return Fitted(f"{type(made).__name__} {told} {[*fit]}", X, pd.Series(y, name="Y"), made, fit, whole)


def model(seed: int) -> Fitted:
    """The random model of a number."""
    found = drawn(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found.model.fit(found.X, found.y, **found.told)
    return found


def judged(found: Fitted) -> Judged:
    """What a review with ``max_certain=0`` says of a model; half of those with weights have these given."""
    weights = found.told.get("sample_weight") if len(found.y) % 2 else None
    how: dict[str, Any] = {"qi": list(found.X), "target": "Y", "max_certain": 0, "sample_weight": weights}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            review = maxent.review(found.model, found.X, found.y, **how)
        except InvalidInput as error:
            return Judged(f"refused: {error}", "")
        status = review.verdict().status
        assert review.estimate is not None
        unread = bool(review.estimate.summary["unread"])
    table = read_qi(found.X, review.release)
    cells = build_cells(review.release, table)
    assert len(cells) == len(table)
    truth = read_truth(found.X.assign(Y=found.y.astype(str)), review.release, table)[cells.owner]
    leaf = cells.leaf
    if review.converted.aside:
        return Judged(status, review.converted.aside, unread)
    pure = [t for t in range(leaf.shape[1]) if found.whole and _pure(leaf[:, t : t + 1], truth)]
    if pure:
        return Judged(status, f"tree {pure[0]} has a leaf of one class alone", unread)
    if unread and _pure(leaf, truth):
        return Judged(status, "people in the same leaves of all trees have one class, and not all is read", unread)
    return Judged(status, "", unread)


def _pure(leaf: npt.NDArray[np.int64], truth: npt.NDArray[Any]) -> bool:
    """Whether people in the same leaves have one class alone; shapes (n_cells, n_trees) and (n_cells, n_classes)."""
    _, group = np.unique(leaf, axis=0, return_inverse=True)
    there = np.zeros((group.max() + 1, truth.shape[1]))
    np.add.at(there, group.ravel(), truth)
    return bool(((there > 0).sum(axis=1) == 1).any())


def _some(random: Draw, choices: Mapping[str, Sequence[Any]], share: float = 0.3) -> dict[str, Any]:
    """Some of the options, each with one of its values."""
    return {k: v[int(random.integers(len(v)))] for k, v in choices.items() if random.random() < share}


Made = tuple[Any, dict[str, Any], bool]
LEAVES = {
    "min_samples_leaf": (1, 3, 5, 0.1),
    "max_leaf_nodes": (3, 5, 8),
    "max_depth": (1, 2, 3),
    "ccp_alpha": (0.01, 0.03),
    "min_impurity_decrease": (0.01, 0.02),
    "class_weight": ("balanced", {0: 2.5}),
    "max_features": (1, "sqrt"),
    "criterion": ("entropy",),
}


def _tree(random: Draw, y: Any, width: int) -> Made:
    how = _some(random, LEAVES)
    kind = DecisionTreeClassifier if random.random() < 0.7 else ExtraTreeClassifier
    if y.max() == 1 and random.random() < 0.25:
        how["monotonic_cst"] = [1] + [0] * (width - 1)
    return kind(**how, random_state=0), {}, True


def _forest(random: Draw, y: Any, width: int) -> Made:
    how = _some(random, LEAVES)
    if random.random() < 0.6:
        kind, how["bootstrap"] = ExtraTreesClassifier, bool(random.random() < 0.2)
    else:
        kind, how["bootstrap"] = RandomForestClassifier, bool(random.random() < 0.5)
    if how["bootstrap"] and random.random() < 0.4:
        how["max_samples"] = float(random.choice([0.5, 0.8]))
    return kind(int(random.integers(2, 6)), **how, random_state=0), {}, not how["bootstrap"]


def _bag(random: Draw, y: Any, width: int) -> Made:
    tree = DecisionTreeClassifier(**_some(random, LEAVES))
    how: dict[str, Any] = {"bootstrap": bool(random.random() < 0.5)}
    how |= _some(random, {"max_samples": (10, 15), "bootstrap_features": (True,), "max_features": (1,)})
    whole = not how["bootstrap"] and "max_samples" not in how
    return BaggingClassifier(tree, int(random.integers(2, 5)), **how, random_state=0), {"sample_weight": None}, whole


def _adaboost(random: Draw, y: Any, width: int) -> Made:
    tree = DecisionTreeClassifier(max_depth=int(random.integers(1, 4)))
    return AdaBoostClassifier(tree, n_estimators=int(random.integers(1, 5)), random_state=0), {}, True


def _gradient(random: Draw, y: Any, width: int) -> Made:
    names = ("min_samples_leaf", "max_leaf_nodes", "ccp_alpha", "min_impurity_decrease", "max_features")
    how = _some(random, {k: v for k, v in LEAVES.items() if k in names})
    how |= _some(random, {"subsample": (0.5, 0.8), "init": ("zero",), "learning_rate": (0.05, 1.0)})
    if y.max() == 1:
        how |= _some(random, {"loss": ("exponential",)})
    if random.random() < 0.15:
        how["n_iter_no_change"] = 1
    whole = "subsample" not in how and "n_iter_no_change" not in how
    depth, trees = int(random.integers(1, 4)), int(random.integers(1, 5))
    return GradientBoostingClassifier(n_estimators=trees, max_depth=depth, **how, random_state=0), {}, whole


def _histograms(random: Draw, y: Any, width: int) -> Made:
    how = _some(
        random,
        {
            "min_samples_leaf": (1, 2, 5, 10), "max_leaf_nodes": (3, 6), "max_depth": (1, 2, 3),
            "l2_regularization": (0.5, 2.0), "learning_rate": (0.05, 1.0), "class_weight": ("balanced", {0: 2.5}),
            "max_features": (0.5,), "max_bins": (3,),
        },
        0.4,
    )  # fmt: skip
    if y.max() == 1 and random.random() < 0.25:
        how["monotonic_cst"] = {"f0": int(random.choice([-1, 1]))}
    trees = int(random.integers(1, 4))
    return HistGradientBoostingClassifier(max_iter=trees, early_stopping=False, random_state=0, **how), {}, True


def _xgboost(random: Draw, y: Any, width: int) -> Made:
    from xgboost import XGBClassifier

    how = _some(
        random,
        {
            "max_depth": (1, 2, 4), "learning_rate": (0.1, 1.0), "reg_lambda": (0.0, 3.0), "reg_alpha": (0.5,),
            "subsample": (0.6, 0.9), "booster": ("dart",), "num_parallel_tree": (2,), "min_child_weight": (0.0, 3.0),
            "max_delta_step": (0.3,), "colsample_bytree": (0.5,), "tree_method": ("exact", "approx"),
            "grow_policy": ("lossguide",), "base_score": (0.5,),
        },
    )  # fmt: skip
    if y.max() == 1:
        how |= _some(random, {"scale_pos_weight": (3.0,)}, 0.2)
        if random.random() < 0.2:
            how["monotone_constraints"] = {"f0": 1}
    if how.get("booster") == "dart":
        how["rate_drop"] = 0.5
    trees = int(random.integers(1, 4))
    return XGBClassifier(n_estimators=trees, n_jobs=1, random_state=0, **how), {}, "subsample" not in how


def _lightgbm(random: Draw, y: Any, width: int) -> Made:
    from lightgbm import LGBMClassifier

    how: dict[str, Any] = {"min_child_samples": int(random.choice([1, 2, 5, 20])), "min_child_weight": 0.0}
    how |= _some(
        random,
        {
            "num_leaves": (3, 6), "learning_rate": (0.05, 1.0), "reg_lambda": (1.0,), "reg_alpha": (0.5,),
            "class_weight": ("balanced", {0: 2.5}), "boosting_type": ("dart", "rf"), "extra_trees": (True,),
            "data_sample_strategy": ("goss",), "max_depth": (1, 2), "path_smooth": (1.0,), "colsample_bytree": (0.5,),
        },
        0.25,
    )  # fmt: skip
    bagged = how.get("boosting_type") == "rf" or random.random() < 0.2
    if bagged:
        how |= {"subsample": 0.7, "subsample_freq": 1}
        how.pop("data_sample_strategy", None)
    if y.max() == 1 and "class_weight" not in how:
        how |= _some(random, {"is_unbalance": (True,)}, 0.2)
    if y.max() == 1 and random.random() < 0.2:
        how["monotone_constraints"] = [1] + [0] * (width - 1)
    trees = int(random.integers(1, 4))
    whole = not bagged and "data_sample_strategy" not in how
    return LGBMClassifier(n_estimators=trees, verbose=-1, n_jobs=1, random_state=0, **how), {}, whole


def _catboost(random: Draw, y: Any, width: int) -> Made:
    from catboost import CatBoostClassifier

    how = _some(
        random,
        {
            "l2_leaf_reg": (0.0, 1.0, 9.0), "learning_rate": (0.1, 1.0), "auto_class_weights": ("Balanced",),
            "bootstrap_type": ("No", "Bernoulli", "MVS"), "boosting_type": ("Ordered",), "random_strength": (0.0,),
            "leaf_estimation_method": ("Newton", "Gradient"), "leaf_estimation_iterations": (1,),
            "grow_policy": ("Depthwise", "Lossguide"), "boost_from_average": (False,),
        },
        0.35,
    )  # fmt: skip
    if how.get("grow_policy"):
        how.pop("boosting_type", None)
    depth, trees = int(random.integers(1, 4)), int(random.integers(1, 4))
    how |= {"thread_count": 1, "verbose": False, "allow_writing_files": False, "random_seed": 0}
    # Its leaves are of everybody, whatever the rows that a split was chosen by.
    return CatBoostClassifier(iterations=trees, depth=depth, **how), {}, True


# The kinds of models, which take turns.
KINDS: tuple[Callable[[Draw, Any, int], Made], ...] = (
    _tree, _forest, _bag, _adaboost, _gradient, _histograms, _xgboost, _lightgbm, _catboost, _forest
)  # fmt: skip


# Who is certain by what a model is, whatever is read of it: few people, and all their labellings.


def small(seed: int) -> Fitted:
    """A random model of few people, without weights of theirs: often shallow, and of one round."""
    random = np.random.default_rng(seed)
    n, width = int(random.integers(7, 11)), int(random.integers(1, 3))
    X = pd.DataFrame({f"f{j}": random.integers(0, int(random.integers(2, 4)), n).astype(float) for j in range(width)})
    y = random.integers(0, 2, n)
    y[:2] = 0, 1
    made, _, whole = KINDS[seed % len(KINDS)](random, y, width)
    if type(made).__name__ == "GradientBoostingClassifier":
        made.set_params(n_iter_no_change=None)
    if made.get_params().get("max_samples") is not None:
        made.set_params(max_samples=1.0)
    for name in {"max_depth", "depth", "n_estimators", "iterations", "max_iter"} & {*made.get_params()}:
        if random.random() < 0.6:
            made.set_params(**{name: 1})
    return Fitted(f"{type(made).__name__} {made.get_params()}", X, pd.Series(y, name="Y"), made, {}, whole)


def refitted(found: Fitted) -> Judged:
    """What a review says, of half of them beside an id; if it passes, of whom labellings of one file leave no doubt.

    People who are alike in all columns of the model can change places: their order decides on last digits alone.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        people = found.X.assign(id=np.arange(len(found.y))) if len(found.y) % 2 else found.X
        try:
            found.model.fit(found.X, found.y)
            review = maxent.review(found.model, people, found.y, qi=list(people), target="Y", max_certain=0)
        except (InvalidInput, ValueError) as error:
            return Judged(f"refused: {error}", "")
        status = review.verdict().status
        if status != "pass":
            return Judged(status, "")
        cell = np.unique(found.X.to_numpy(), axis=0, return_inverse=True)[1].ravel()
        told, worlds = stated(found.model), []
        for ones in combinations(range(len(found.y)), int(found.y.sum())):
            y = np.isin(np.arange(len(found.y)), ones).astype(int)
            with suppress(ValueError):  # AdaBoost refuses classes that no tree tells apart
                if stated(clone(found.model).fit(found.X, y)) == told:
                    worlds.append(np.bincount(cell, y) / np.bincount(cell))
    assert worlds, "a model is fitted again from the same people"
    certain = (np.array(worlds) == worlds[0]).all(axis=0) & np.isin(worlds[0], (0.0, 1.0))
    return Judged(status, f"{int(certain[cell].sum())} people have one class in each world" if certain.any() else "")


def stated(model: Any) -> str:
    """What the trees of a model are and state, but for the last digits."""
    if hasattr(model, "_predictors"):  # histograms
        kept = ["value", "feature_idx", "num_threshold", "left", "right", "count"]
        return _rounded(str([[each.nodes[kept].tolist() for each in some] for some in model._predictors]))
    if hasattr(model, "booster_"):
        return _rounded(model.booster_.model_to_string())
    if hasattr(model, "get_booster"):
        return _rounded("".join(model.get_booster().get_dump(with_stats=True)))
    if hasattr(model, "save_model"):  # CatBoost, whose file has the time, too
        with TemporaryDirectory() as folder:
            model.save_model(str(path := Path(folder) / "model.json"), format="json")
            held = json.loads(path.read_text())
            return _rounded(str([held.get(name) for name in ("oblivious_trees", "trees", "scale_and_bias")]))
    trees = [model.tree_] if hasattr(model, "tree_") else [each.tree_ for each in np.ravel(model.estimators_).tolist()]
    names = ("children_left", "feature", "threshold", "n_node_samples", "value", "impurity")
    return _rounded(str([[np.asarray(getattr(tree, name)).tolist() for name in names] for tree in trees]))


def _rounded(text: str) -> str:
    """A text with numbers of six digits."""
    return re.sub(r"-?[0-9]+\.[0-9]+(e[-+]?[0-9]+)?", lambda found: f"{float(found[0]):.6g}", text)
