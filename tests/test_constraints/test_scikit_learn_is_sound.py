"""Trees as scikit-learn grows them with all that `fit` can be told: what was not compared is not compiled."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from support.soundness import check
from support.strategies import Case, People, populations, thorough, true_masses

from maxent.constraints.compiler import compile_program
from maxent.constraints.program.residuals import Evaluator
from maxent.models.errors import InvalidInput
from maxent.models.formats.scikit_learn.tree import from_sklearn
from maxent.models.release import Attribute, Release
from maxent.models.tables.qi_table import read_qi


def inputs(people: People) -> pd.DataFrame:
    """What scikit-learn is given: numbers, and codes in the order of each domain."""
    return pd.DataFrame({name: column.astype(float) for name, column in people.columns.items()})


def repeated(people: People, times: Any, release: Release) -> Case:
    """The people that a tree was made of: each as often as its weight, with the classes that the model knows."""
    rows = np.repeat(np.arange(len(people)), np.asarray(times, np.int64))
    classes = release.target.classes
    known = {name: i for i, name in enumerate(classes)}
    y = np.array([known[people.classes[c]] for c in people.y[rows]], np.int64)
    columns = {name: column[rows] for name, column in people.columns.items()}
    in_order = {a.name: a for a in release.attributes}
    attributes = tuple(in_order[a.name] for a in people.attributes)
    return Case(People(attributes, columns, y, classes), release)


def published(model: Any, people: People, **told: Any) -> Release:
    """The release of a tree that was fitted on the people, whose classes a forest numbers."""
    names = [people.classes[c] for c in np.unique(people.y)]
    return from_sklearn(
        model,
        target="Y",
        classes=names,
        features=list(people.columns),
        categories={a.name: a.values for a in people.attributes if a.values is not None},
        private=[a.name for a in people.attributes if a.role == "private"],
        **told,
    )


SIZES = st.one_of(st.integers(1, 6), st.sampled_from((0.01, 0.02, 0.05, 0.1, 0.2)))


@st.composite
def parameters(draw: Any) -> dict[str, Any]:
    """Any parameters of a tree, most of them at their defaults."""
    choices: dict[str, Any] = {
        "criterion": st.sampled_from(("gini", "entropy", "log_loss")),
        "max_depth": st.integers(1, 4),
        "min_samples_leaf": SIZES,
        "min_samples_split": st.one_of(st.integers(2, 9), st.sampled_from((0.05, 0.3))),
        "min_weight_fraction_leaf": st.sampled_from((0.0, 0.03, 0.1, 0.25)),
        "max_leaf_nodes": st.integers(2, 6),
        "min_impurity_decrease": st.sampled_from((0.0, 0.01, 0.1)),
        "ccp_alpha": st.sampled_from((0.0, 0.01, 0.05)),
        "max_features": st.sampled_from((None, 1, 0.5, "sqrt")),
        "splitter": st.sampled_from(("best", "random")),
    }
    names = draw(st.lists(st.sampled_from(sorted(choices)), unique=True, max_size=4))
    return {name: draw(choices[name]) for name in names} | {"random_state": draw(st.integers(0, 5))}


PEOPLE = populations(rows=(4, 60), public=(1, 4), private=(0, 1), classes=(2, 3))


@thorough(100)
@given(people=PEOPLE, options=parameters(), data=st.data())
@pytest.mark.regression(number=4)
def test_weights_and_rows_of_weight_0(people: People, options: Any, data: st.DataObject) -> None:
    """Weights as bootstraps and callers make them; rows of weight 0 count in fractions, and for nothing else."""
    n = len(people)
    weight = np.array(data.draw(st.lists(st.sampled_from((0, 0, 1, 1, 1, 2, 4)), min_size=n, max_size=n), "weight"))
    assume(weight.any())
    frame = inputs(people)
    model = DecisionTreeClassifier(**options).fit(frame, people.y, sample_weight=weight)
    told = {"sample_weight": weight} | ({"X": frame} if data.draw(st.booleans(), "X") else {})
    check(repeated(people, weight, published(model, people, **told)))


@thorough(60)
@given(people=PEOPLE, options=parameters(), data=st.data())
def test_weights_of_0_and_1_that_nobody_tells(people: People, options: Any, data: st.DataObject) -> None:
    """The tree does not show them: it is like one of fewer rows, but a fraction was of all of them."""
    weight = np.array(data.draw(st.lists(st.sampled_from((0, 1)), min_size=len(people), max_size=len(people))))
    assume(weight.any())
    model = DecisionTreeClassifier(**options).fit(inputs(people), people.y, sample_weight=weight)
    check(repeated(people, weight, published(model, people)))


@pytest.mark.slow
@thorough(80)
@given(people=PEOPLE, options=parameters(), told=st.booleans(), data=st.data())
@pytest.mark.regression(number=4)
def test_missing_values_in_features_that_the_tree_does_not_test(
    people: People, options: Any, told: bool, data: st.DataObject
) -> None:
    """Whatever they were replaced by in the adversary's table."""
    frame = inputs(people)
    for name in data.draw(st.lists(st.sampled_from(list(people.columns)), min_size=1, max_size=2, unique=True)):
        gone = data.draw(st.lists(st.booleans(), min_size=len(people), max_size=len(people)), name)
        frame.loc[gone, name] = np.nan
    model = DecisionTreeClassifier(**options).fit(frame, people.y)
    tested = {frame.columns[f] for f in model.tree_.feature if f >= 0}
    assume(not frame[sorted(tested)].isna().any(axis=None))
    release = published(model, people, **({"X": frame} if told else {}))
    check(repeated(people, np.ones(len(people)), release))


def crowd(seed: int, n: int = 150) -> People:
    """People with four numbers and a class that depends on two of them."""
    rng = np.random.default_rng(seed)
    columns = {f"x{i}": rng.integers(0, 8, n).astype(float) for i in range(4)}
    y = ((columns["x0"] > 4) + (columns["x1"] > 4) + (rng.random(n) < 0.35)).astype(int) % 2
    return People(tuple(Attribute(name, "numeric") for name in columns), columns, y, ("a", "b"))


TREE = DecisionTreeClassifier(min_samples_leaf=0.02)
ENSEMBLES = {
    "bootstrap": RandomForestClassifier(1, max_features=None, min_samples_leaf=0.01),
    "small bootstrap": RandomForestClassifier(1, max_features=None, min_samples_leaf=0.02, max_samples=0.3),
    "least weight": RandomForestClassifier(1, max_features=None, min_weight_fraction_leaf=0.05),
    "both": RandomForestClassifier(1, max_features=None, min_weight_fraction_leaf=0.02, min_samples_leaf=4),
    "no bootstrap": ExtraTreesClassifier(1, max_features=None),
    "bagging": BaggingClassifier(TREE, 1, max_samples=0.3),
    "pasting": BaggingClassifier(TREE, 1, max_samples=0.3, bootstrap=False),
    "some features": BaggingClassifier(TREE, 1, max_features=2),
}


def assert_states_nothing_of_records(release: Release) -> None:
    """Shares under weights that nobody told are what the tree answers, and no statement."""
    assert release.predicts == "score"
    assert release.boosting is not None
    assert release.boosting.link == "share"
    stated = [(n.label, n.error_rate, n.n, n.counts, n.rates) for tree in release.trees for n in tree.nodes]
    assert {*stated} == {(None,) * 5}
    assert {tree.induction.impurity for tree in release.trees} == {None}


@pytest.mark.parametrize("told", [True, False], ids=["told", "untold"])
@pytest.mark.parametrize("kind", ENSEMBLES)
@pytest.mark.regression(number=4)
def test_trees_of_ensembles_satisfy_what_is_compiled_of_them(kind: str, told: bool) -> None:
    compared = 0
    for seed in range(20):
        people = crowd(seed)
        frame = inputs(people)
        model = ENSEMBLES[kind].set_params(random_state=seed).fit(frame.to_numpy(), people.y)
        tree, drawn = model.estimators_[0], getattr(model, "estimators_samples_", None)
        weight = np.ones(len(people)) if kind == "no bootstrap" else np.bincount(drawn[0], minlength=len(people))
        if isinstance(model, BaggingClassifier):
            names = [f"x{i}" for i in model.estimators_features_[0]]
            attributes = tuple(a for a in people.attributes if a.name in names)
            people = replace(people, attributes=attributes, columns={name: people.columns[name] for name in names})
        if not told and not np.isin(weight, (0, 1)).all():
            assert_states_nothing_of_records(published(tree, people))
            continue
        release = published(tree, people, **({"sample_weight": weight, "X": inputs(people)} if told else {}))
        case = repeated(people, weight, release)
        check(case)
        compared += len(compile_program(release, read_qi(case.people.qi, release)).internal)
    if told and kind != "no bootstrap":
        assert compared > 20, "each of these trees says which splits competed"


@pytest.mark.regression(number=4)
def test_fractional_weights_state_nothing_and_are_refused_as_counts() -> None:
    """Also where the sums of all nodes happen to be whole numbers."""
    refused = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        people = crowd(seed, 12)
        weight = rng.choice([0.5, 1.0, 1.5, 2.0], 12)
        model = DecisionTreeClassifier(max_leaf_nodes=2, random_state=0)
        model.fit(inputs(people), people.y, sample_weight=weight)
        tree = model.tree_
        sums = tree.value[:, 0, :] * tree.weighted_n_node_samples[:, None]
        if np.array_equal(tree.weighted_n_node_samples, tree.n_node_samples):
            continue  # like a tree without weights, down to the last number
        whole = np.allclose(sums, np.rint(sums))
        refused += whole
        assert_states_nothing_of_records(published(model, people))
        with pytest.raises(InvalidInput, match="a whole number, at least 0" if whole else "sample weights"):
            published(model, people, sample_weight=weight)
    assert refused > 10, "sums that are whole are among them"


WEIGHT = st.sampled_from((0.0, 0.3, 1.0, 1.0, 2.0, 7.7))
ALIKE: dict[str, Any] = {
    "tree": DecisionTreeClassifier,
    "forest": lambda **how: RandomForestClassifier(3, **how, bootstrap=False),
    "extra forest": lambda **how: ExtraTreesClassifier(3, **how),
    "bootstrap": lambda **how: RandomForestClassifier(3, **how),
    "bag": lambda **how: BaggingClassifier(DecisionTreeClassifier(**how), 3, max_samples=3, bootstrap=False),
    "whole bag": lambda **how: BaggingClassifier(DecisionTreeClassifier(**how), 3, bootstrap=False),
}


@thorough(150)
@given(people=PEOPLE, options=parameters(), kind=st.sampled_from(sorted(ALIKE)), data=st.data())
def test_the_truth_satisfies_what_shares_say(people: People, options: Any, kind: str, data: st.DataObject) -> None:
    """A class without any share has nobody in a leaf, whatever the weights; rows without weight are noticed."""
    n, there = len(people), np.unique(people.y)
    weight = np.array(data.draw(st.lists(WEIGHT, min_size=n, max_size=n), "weight"))
    assume(len(there) > 1)
    assume(set(there.tolist()) == set(people.y[weight > 0].tolist()))
    first = int(there[0])
    options.pop("splitter", None)
    options["class_weight"] = data.draw(st.sampled_from((None, "balanced", {first: 3.5}, {first: 0.0})), "class_weight")
    if len(there) == 2 and data.draw(st.booleans(), "monotonic"):
        signs = st.lists(st.sampled_from((-1, 0, 1)), min_size=len(people.columns), max_size=len(people.columns))
        options["monotonic_cst"] = data.draw(signs)
    frame = inputs(people)
    drawn = None if "bag" in kind or data.draw(st.booleans(), "alike") else weight  # bags draw rows by their weights
    model = ALIKE[kind](**options).fit(frame, people.y, sample_weight=drawn)
    release = published(model, people, **({"X": frame} if data.draw(st.booleans(), "X") else {}))
    case = repeated(people, np.ones(n), release)
    program = compile_program(release, read_qi(case.people.qi, release))
    alike = drawn is None and options["class_weight"] != {first: 0.0} and kind != "bootstrap"  # then counts hold, too
    said = tuple(each for each in program.linear if alike or each.kind == "boosting")
    only = replace(program, linear=said, internal=(), likelihood=None)
    assert Evaluator(only).max_violation(true_masses(case, program)) <= 1e-9
