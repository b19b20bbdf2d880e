"""Counts that the models of boosting tools prove are those of their people.

Those of scikit-learn are always: `test_boosting_is_sound`. Options that break the formula prove nothing that is false.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.boosted import satisfied, scored

import maxent
from maxent.constraints.kinds.boosted_leaves import leaf_counts
from maxent.constraints.program.cells import build_cells
from maxent.constraints.scored_rows import is_scored
from maxent.models.release import Release
from maxent.models.tables.qi_table import read_qi
from maxent.models.tables.truth_and_facts import read_truth

MODELS = 20


def people(random: np.random.Generator, n_classes: int) -> tuple[pd.DataFrame, Any]:
    """A few hundred people with numbers, some of them missing, and their classes."""
    n, width = int(random.integers(60, 600)), int(random.integers(1, 4))
    frame = pd.DataFrame({f"f{j}": (3 * random.normal(size=n)).round(int(random.integers(0, 2))) for j in range(width)})
    drawn = frame.to_numpy() @ random.normal(size=(width, n_classes)) / 3 + random.gumbel(size=(n, n_classes))
    y = drawn.argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)
    if random.random() < 0.3:
        frame.iloc[random.random(n) < 0.1, 0] = np.nan
    return frame, y


def holds(release: Release, frame: pd.DataFrame, y: Any) -> int:
    """How many counts are proved; all of them have to be true."""
    qi = read_qi(frame, release)
    cells = build_cells(release, qi)
    truth = read_truth(frame.assign(**{release.target.name: y.astype(str)}), release, qi)
    found = leaf_counts(release, cells, qi.counts)
    if found.counts and is_scored(release):  # the values are those of these people: so they are without the table
        assert scored(release, frame, y)[1] == []
    for t, place, klass, low, high in zip(
        *(a.tolist() for a in (found.tree, found.place, found.klass, found.low, found.high)), strict=True
    ):
        assert low <= truth[cells.owner[cells.trees[t].at(place)], klass].sum() <= high
    return found.counts


@pytest.mark.slow
@pytest.mark.parametrize("broken", [{}, {"subsample": 0.7}, {"reg_alpha": 0.5}, {"max_delta_step": 0.3}])
def test_models_of_xgboost(tmp_path: Path, broken: dict[str, Any]) -> None:
    import xgboost

    proved = 0
    for seed in range(MODELS):
        random = np.random.default_rng(seed)
        frame, y = people(random, n_classes := int(random.choice([2, 3])))
        rate, l2 = float(random.choice([0.3, 0.1, 1.0])), float(random.choice([1.0, 0.0, 5.0]))
        how = {"n_estimators": 8, "max_depth": int(random.integers(2, 5)), "learning_rate": rate, "reg_lambda": l2}
        model = xgboost.XGBClassifier(**how, **broken, n_jobs=1).fit(frame, y)
        model.get_booster().save_model(tmp_path / "model.json")
        told = {"rate": str(rate), "lambda": str(l2), "alpha": "0.5"} if "reg_alpha" in broken else {}
        release = maxent.convert(tmp_path / "model.json", parameters=told)
        assert release.boosting is not None
        assert broken or (release.boosting.rate, release.boosting.l2) in {(rate, l2), (None, None)}
        found = holds(release, frame, y)
        proved += found > n_classes
    assert proved == 0 if "subsample" in broken else proved > MODELS // 2 or "max_delta_step" in broken


@pytest.mark.slow
@pytest.mark.parametrize("broken", [{}, {"subsample": 0.7, "subsample_freq": 1}, {"boosting_type": "dart"}])
def test_models_of_lightgbm(tmp_path: Path, broken: dict[str, Any]) -> None:
    import lightgbm

    for seed in range(MODELS):
        random = np.random.default_rng(seed)
        frame, y = people(random, int(random.choice([2, 3])))
        if random.random() < 0.4:
            frame["f9"] = pd.Categorical(random.choice(list("abcdefgh"), len(frame)))
        how = {
            "n_estimators": 8,
            "num_leaves": int(random.integers(3, 20)),
            "min_child_samples": 5,
            "min_data_per_group": 5,
        }
        model = lightgbm.LGBMClassifier(**how, **broken, reg_lambda=float(random.choice([0, 1])), n_jobs=1, verbose=-1)
        model.fit(frame, y).booster_.save_model(tmp_path / "model.txt")
        found = holds(maxent.convert(tmp_path / "model.txt"), frame, y)
        assert (found == 0) if broken else (found > 0)


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["xgboost", "lightgbm"])
def test_models_of_weighted_classes(tmp_path: Path, tool: str) -> None:
    """Weighted sums, and counts, that the truth satisfies; none where records have weights of their own, too."""
    module = pytest.importorskip(tool)
    for seed in range(2 * MODELS):
        random = np.random.default_rng(seed)
        frame, y = people(random, 2)
        weight, l2 = (
            float(random.choice([0.2, 3.0, (y == 0).sum() / (y == 1).sum()])),
            float(random.choice([0.0, 1.0, 5.0])),
        )
        how = {"n_estimators": 8, "reg_lambda": l2, "learning_rate": 0.1, "n_jobs": 1}
        own = None if seed % 4 else random.integers(1, 4, len(y))
        told: dict[str, str] = {}
        if tool == "xgboost":
            model = module.XGBClassifier(**how, max_depth=3, scale_pos_weight=weight).fit(frame, y, sample_weight=own)
            model.get_booster().save_model(path := tmp_path / "model.json")
            told = {"rate": "0.1", "lambda": str(l2)}
        else:
            of_classes = {"is_unbalance": True} if seed % 2 else {"scale_pos_weight": weight}
            model = module.LGBMClassifier(**how, **of_classes, num_leaves=6, min_child_samples=5, verbose=-1)
            model.fit(frame, y, sample_weight=own).booster_.save_model(path := tmp_path / "model.txt")
        counts, held, sums = satisfied(maxent.convert(path, parameters=told), frame, y)
        assert held
        assert (counts + sums == 0) if own is not None else counts > 0


@pytest.mark.parametrize("of_class", ["balanced", {0: 2.5}, {0: 0.5, 1: 3.0}, {0: 2.5, 1: 0.5, 2: 1.1}], ids=str)
@pytest.mark.promise(number=3)
def test_weights_of_classes_that_were_those_of_records_are_read(tmp_path: Path, of_class: Any) -> None:
    """Those of `LGBMClassifier`, which its file does not have; nothing where records have weights of their own, too."""
    import lightgbm

    n = max(len(of_class), 2) if isinstance(of_class, dict) else 2
    told = of_class if isinstance(of_class, str) else ",".join(str(of_class.get(x, 1)) for x in range(n))
    for seed in range(6):
        random = np.random.default_rng(seed)
        frame, y = people(random, n)
        own = None if seed % 3 else random.integers(1, 4, len(y))
        how = {"n_estimators": 4, "num_leaves": 6, "boost_from_average": seed % 2 > 0, "n_jobs": 1, "verbose": -1}
        model = lightgbm.LGBMClassifier(class_weight=of_class, reg_lambda=float(seed % 2), **how)
        model.fit(frame, y, sample_weight=own).booster_.save_model(path := tmp_path / "model.txt")
        counts, held, sums = satisfied(maxent.convert(path, parameters={"class_weight": told}), frame, y)
        assert held
        assert (counts + sums == 0) if own is not None else ((counts > 0 or n > 2) and sums > 0)
        assert satisfied(maxent.convert(path), frame, y) == (0, True, 0)
        if n > 2:  # others than those of the training
            others = maxent.convert(path, parameters={"class_weight": "5,0.5,1.1"})
            assert satisfied(others, frame, y) == (0, True, 0)
        if seed < 2:
            live = maxent.review(model, frame, y, qi=list(frame), target="Y")
            assert ("scores" in [each["what"] for each in live.summary["unread"]]) == (own is not None)
    with pytest.raises(maxent.InvalidInput, match=f"a weight above 0 of each class, {n} in all"):
        maxent.convert(path, parameters={"class_weight": "1"})


@pytest.mark.slow
@pytest.mark.parametrize("broken", [{}, {"boosting_type": "Ordered"}, {"leaf_estimation_iterations": 4}])
def test_models_of_catboost(tmp_path: Path, broken: dict[str, Any]) -> None:
    import catboost

    for seed in range(MODELS):
        random = np.random.default_rng(seed)
        frame, y = people(random, 2)
        how = {"leaf_estimation_method": "Newton", "leaf_estimation_iterations": 1, "depth": int(random.integers(1, 4))}
        options = {"iterations": 8, "allow_writing_files": False, "thread_count": 1, "verbose": 0, **how, **broken}
        catboost.CatBoostClassifier(**options).fit(frame, y).save_model(tmp_path / "model.json", format="json")
        found = holds(maxent.convert(tmp_path / "model.json"), frame, y)
        assert (found == 0) if broken else (found > 0)
