"""Pipelines undone: the release predicts as the pipeline does, and its people satisfy what is compiled from it."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier
from support.calls import refused
from support.strategies import thorough

from maxent.api.convert import convert
from maxent.api.predict import predict
from maxent.constraints.compiler import compile_program
from maxent.constraints.program.residuals import Evaluator
from maxent.models.errors import InvalidInput
from maxent.models.formats.scikit_learn.pipelines import release_of
from maxent.models.release import Release
from maxent.models.tables.frame import from_pandas
from maxent.models.tables.qi_table import read_qi
from maxent.models.trees import predict as predicting

SCALERS = (
    "passthrough",
    StandardScaler(),
    MinMaxScaler((-3, 0.5)),
    MaxAbsScaler(),
    RobustScaler(),
    PowerTransformer(),
    QuantileTransformer(n_quantiles=7),
    Binarizer(threshold=2.0),
    KBinsDiscretizer(3, encode="ordinal", strategy="uniform"),
    KBinsDiscretizer(4, encode="onehot", strategy="uniform"),
    make_pipeline(StandardScaler(), MinMaxScaler()),
    FeatureUnion([("a", MinMaxScaler()), ("b", KBinsDiscretizer(3, encode="onehot-dense", strategy="uniform"))]),
)
FILLED = (
    SimpleImputer(),
    SimpleImputer(strategy="median", add_indicator=True),
    make_pipeline(SimpleImputer(strategy="constant", fill_value=-7.5), StandardScaler()),
)
ENCODERS = (
    OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2),
    OneHotEncoder(handle_unknown="ignore"),
    OneHotEncoder(drop="first"),
    OneHotEncoder(drop="if_binary", sparse_output=False),
    OneHotEncoder(min_frequency=4, handle_unknown="infrequent_if_exist"),
    OneHotEncoder(max_categories=3, drop="first", handle_unknown="infrequent_if_exist"),
    OrdinalEncoder(min_frequency=3, encoded_missing_value=-2),
    make_pipeline(SimpleImputer(strategy="most_frequent", add_indicator=False), OneHotEncoder(handle_unknown="ignore")),
    make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), OrdinalEncoder()),
)


@st.composite
def tables(draw: Any) -> tuple[pd.DataFrame, np.ndarray]:
    """People with strings, categories, booleans, whole and other numbers, and gaps; and their classes."""
    n = draw(st.integers(12, 50))
    dice = np.random.default_rng(draw(st.integers(0, 10_000)))
    gaps = dice.random((2, n)) < draw(st.sampled_from((0.0, 0.2)))
    frame = pd.DataFrame(
        {
            "age": dice.integers(0, 6, n),
            "pay": np.round(dice.normal(3, 2, n), 2),
            "hours": np.where(gaps[0], np.nan, dice.integers(1, 5, n) / 8),
            "work": dice.choice(["a", "b", "c", "NA", "e f"], n, p=[0.5, 0.2, 0.1, 0.1, 0.1]),
            "home": np.where(gaps[1], None, dice.choice(["x", "y", "z"], n).astype(object)),
            "kind": pd.Categorical(dice.choice(["u", "v", "w"], n), ["w", "u", "v"]),
            "code": dice.choice([3, 10, 200], n),
            "member": dice.random(n) < 0.5,
        }
    )
    y = dice.integers(0, draw(st.integers(2, 3)), n)
    y[:2] = [0, 1]
    return frame, np.array(["no", "yes", "perhaps"], object)[y]


@st.composite
def pipelines(draw: Any) -> Any:
    """A pipeline that has not been fitted yet."""
    parts = [
        ("scaled", draw(st.sampled_from(SCALERS)), ["age", "pay"]),
        ("filled", draw(st.sampled_from(FILLED)), ["hours"]),
        ("encoded", draw(st.sampled_from(ENCODERS)), draw(st.sampled_from((["work", "kind"], ["work", "home"])))),
        (
            "codes",
            draw(
                st.sampled_from(
                    (OneHotEncoder(handle_unknown="ignore"), OneHotEncoder(drop="first"), "drop", "passthrough")
                )
            ),
            ["code"],
        ),
    ]
    before = ColumnTransformer(draw(st.permutations(parts)), remainder=draw(st.sampled_from(("drop", "drop"))))
    chosen = [draw(st.sampled_from(([], [("kept", VarianceThreshold())], [("best", SelectKBest(k=3))])))]
    model = draw(
        st.sampled_from(
            (
                DecisionTreeClassifier(max_depth=4, random_state=0),
                DecisionTreeClassifier(min_samples_leaf=3, criterion="entropy", random_state=0),
                RandomForestClassifier(4, random_state=0),
                ExtraTreesClassifier(3, max_depth=4, random_state=0),
            )
        )
    )
    steps = [("before", before), *chosen[0], ("model", model)]
    return Pipeline([("inner", Pipeline(steps[:-1])), steps[-1]]) if draw(st.booleans()) else Pipeline(steps)


def fitted(pipeline: Any, frame: pd.DataFrame, y: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pipeline.fit(frame, y)


def same_predictions(release: Release, pipeline: Any, frame: pd.DataFrame) -> None:
    """The shares that a release and its pipeline predict are the same for every row."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = pipeline.predict_proba(frame)
    found = predict(release, frame).frame[[f"P({c})" for c in release.target.classes]]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def strangers(release: Release, frame: pd.DataFrame) -> pd.DataFrame:
    """People with values that nobody in the table has, wherever the release says what becomes of them."""
    dice = np.random.default_rng(len(frame))
    new = frame.sample(40, replace=True, random_state=0).reset_index(drop=True)
    for attribute in release.attributes:
        if attribute.type == "numeric" and attribute.name != "code":  # which an encoder may refuse
            new[attribute.name] = np.round(dice.normal(3, 4, len(new)), 3)
        elif "(other)" in (attribute.values or ()):
            stranger = 77 if attribute.name == "code" else "nobody's"
            new[attribute.name] = new[attribute.name].astype(object).where(dice.random(len(new)) < 0.5, stranger)
    return new


def satisfied(release: Release, frame: pd.DataFrame, y: Any) -> None:
    """The classes of the people satisfy all that the release says to who holds its public attributes."""
    program = compile_program(release, read_qi(frame, release), confidence=1 - 1e-9)
    source = from_pandas(frame, "frame", [a.name for a in release.attributes])
    attributes = predicting.tested_attributes(release)
    columns = [predicting.read_column(source, a, []) for a in attributes]
    reached = np.array(predicting.places_of(release, attributes, columns, len(frame))).T
    owner, held = np.zeros(len(frame), np.int64), np.zeros(len(program.table), np.int64)
    for attribute, levels, codes in zip(
        program.table.attributes, program.table.levels, program.table.codes.T, strict=True
    ):
        mine = predicting.read_column(source, attribute, [])
        if attribute.values is None:
            mine = np.where(np.isnan(mine), len(levels) - 1, np.searchsorted(levels, mine))
        owner, held = owner * len(levels) + mine, held * len(levels) + codes
    place = {key: i for i, key in enumerate(held.tolist())}
    cells = {
        (int(o), *map(int, leaf)): i
        for i, (o, leaf) in enumerate(zip(program.cells.owner, program.cells.leaf, strict=True))
    }
    masses = np.zeros((len(program.cells), program.n_classes))
    for key, leaf, label in zip(owner.tolist(), reached.tolist(), y, strict=True):
        masses[cells[place[key], *leaf], release.target.classes.index(label)] += 1
    assert Evaluator(program).max_violation(masses) <= 1e-9
    assert program.contradictions == ()


@given(tables(), pipelines(), st.booleans())
@thorough(30)
@pytest.mark.slow
def test_a_release_of_a_pipeline_predicts_as_the_pipeline_and_is_true(people: Any, pipeline: Any, some: bool) -> None:
    frame, y = people
    model = fitted(pipeline, frame, y)
    qi = ["age", "work", "hours", "member"] if some else None
    release = release_of(model, frame, target="Y", qi=qi)
    same_predictions(release, model, frame)
    same_predictions(release, model, strangers(release, frame))
    satisfied(release, frame, y)


def small() -> tuple[pd.DataFrame, Any]:
    frame = pd.DataFrame({"age": [21, 34, 45, 52, 63, 70], "job": ["a", "a", "b", "c", "c", "d"]})
    return frame, ["no", "no", "yes", "yes", "no", "yes"]


def tree_of(*steps: Any, **told: Any) -> Release:
    frame, y = small()
    model = make_pipeline(*steps, DecisionTreeClassifier(random_state=0, **told)).fit(frame[["age"]], y)
    return convert(model, target="Y", train=frame)


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler((-1, 0)), RobustScaler(), "passthrough"])
def test_a_threshold_of_scaled_numbers_is_one_of_the_numbers_themselves(scaler: Any) -> None:
    release = tree_of(scaler, max_depth=1)
    assert [a.name for a in release.attributes] == ["age"]
    left, right = release.trees[0].root.branches
    assert left.le == right.gt == pytest.approx(39.5, abs=1e-5)


def chosen(table: Any, y: Any) -> Any:
    """Scores of columns, the second of which is best."""
    return np.arange(table.shape[1]) == 1


def test_bins_are_thresholds_where_they_can_be_and_named_numbers_else() -> None:
    ordinal = tree_of(KBinsDiscretizer(3, encode="ordinal", strategy="uniform"), max_depth=1)
    assert ordinal.attributes[0].type == "numeric"
    frame, y = small()
    middle = make_pipeline(KBinsDiscretizer(3, encode="onehot", strategy="uniform"), SelectKBest(chosen, k=1))
    y = ["no", "no", "yes", "yes", "no", "no"]
    release = convert(make_pipeline(middle, DecisionTreeClassifier()).fit(frame[["age"]], y), target="Y", train=frame)
    assert release.trees[0].root.branches[1].values == ("45", "52")


def test_splits_of_rare_values_name_all_of_them_and_those_that_are_not_known() -> None:
    frame, _ = small()
    encoder = OneHotEncoder(min_frequency=2, handle_unknown="infrequent_if_exist")
    model = make_pipeline(encoder, DecisionTreeClassifier(max_depth=1)).fit(
        frame[["job"]], ["n", "n", "y", "n", "n", "y"]
    )
    release = convert(model, target="Y", train=frame, qi=["age"])
    assert [(a.name, a.role) for a in release.attributes] == [("age", "public"), ("job", "private")]
    assert release.trees[0].root.branches[1].values == ("b", "d", "(other)")


def test_all_splits_of_a_column_competed_only_where_its_numbers_stay_apart() -> None:
    assert tree_of(StandardScaler()).trees[0].induction.impurity == "gini"
    assert tree_of(StandardScaler()).trees[0].induction.compared is None
    binned = tree_of(KBinsDiscretizer(2, encode="ordinal", strategy="uniform")).trees[0].induction
    assert (binned.impurity, binned.candidates) == (None, "none")


REFUSED: dict[str, tuple[Any, str]] = {
    "code": (FunctionTransformer(np.log),
        "step functiontransformer: FunctionTransformer: expected no function: it is code"),
    "mixed": (PCA(1), "step pca: PCA: expected values of several columns make one of its columns"),
    "neighbours": (KNNImputer(), "KNNImputer: expected a gap is filled by what the other columns have"),
    "classes": (TargetEncoder(cv=2), "TargetEncoder: expected values are encoded by the classes"),
    "nested": (ColumnTransformer([("x", FunctionTransformer(np.sqrt), ["age"])]),
        "step columntransformer, x: Function"),
    "unknown": (SplineTransformer(),
        "SplineTransformer: expected a step of scikit-learn that makes each of its columns"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_undone_is_refused_with_the_reason(name: str) -> None:
    step, why = REFUSED[name]
    refused(why, tree_of, step)


def test_a_function_that_changes_nothing_is_no_code() -> None:
    assert tree_of(FunctionTransformer(), max_depth=1).trees[0].root.attribute == "age"


def test_the_table_has_to_be_that_of_the_model() -> None:
    frame, y = small()
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier()).fit(frame[["age"]], y)
    refused("train: expected the DataFrame that fit was given", convert, model)
    refused("age: expected a column of this name, as fit had it", convert, model, train=frame[["job"]])
    refused("the rows that fit was given: rows 6 at node 0", convert, model, train=frame[:5])
    refused("qi: expected columns of the table", convert, model, train=frame, qi=["wage"])
    refused("target: expected a name that no attribute has, found 'age'", convert, model, train=frame, target="age")


@pytest.mark.parametrize("step", [StandardScaler(), ColumnTransformer([("x", OneHotEncoder(), ["job"])])])
def test_a_pipeline_without_fit_is_refused(step: Any) -> None:
    frame, _ = small()
    with pytest.raises(InvalidInput, match="expected a fitted step: call fit first, found not fitted"):
        convert(make_pipeline(step, DecisionTreeClassifier()), train=frame)


@pytest.mark.parametrize("categorical", [None, [0]])
def test_boosting_by_histograms_behind_an_encoder(categorical: Any) -> None:
    dice = np.random.default_rng(0)
    frame = pd.DataFrame({"job": dice.choice(list("abcd"), 200), "age": dice.integers(20, 60, 200).astype(float)})
    frame.loc[::7, "age"] = np.nan
    y = np.where(frame["job"].isin(["a", "c"]) ^ (frame["age"] > 40), "yes", "no")
    encoder = ColumnTransformer([("x", OrdinalEncoder(), ["job"])], remainder="passthrough")
    boosting = HistGradientBoostingClassifier(max_iter=3, categorical_features=categorical)
    model = make_pipeline(encoder, boosting).fit(frame, y)
    same_predictions(convert(model, target="Y", train=frame), model, frame)
