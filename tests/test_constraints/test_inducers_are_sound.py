"""The truth satisfies everything that is compiled from a release of one of the inducers."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from support.documents import release_document
from support.soundness import check
from support.strategies import NUMBERS, Case, People, populations, thorough, true_masses

from maxent.api.estimate import compile_release
from maxent.constraints.compiler import compile_program
from maxent.constraints.program.residuals import Evaluator
from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.read import parse_release, validate_release
from maxent.models.formats.scikit_learn.tree import from_sklearn
from maxent.models.induction.growth import Growth
from maxent.models.induction.inducers import c45, induce
from maxent.models.release import Attribute, Induction, Release
from maxent.models.tables.qi_table import read_qi
from maxent.models.tables.training import read_training

# Numbers that single precision confuses, or hardly tells apart.
CLOSE = (1.0, 1.0 + 2**-23, 1.0 + 2**-22, 1.0 + 3 * 2**-24, 16777219.0, 16777220.0)

PUBLISHED = {
    "publish": st.sampled_from(("labels", "rates", "counts")),
    "inner_counts": st.booleans(),
    "declared": st.booleans(),
}
SIZES = {
    "max_depth": st.sampled_from((None, None, 1, 2, 4)),
    "min_samples_leaf": st.integers(1, 5),
    "min_samples_split": st.integers(1, 6),
}


@st.composite
def crowds(draw: Any, *, numeric: bool = True) -> People:
    """People, often a few dozen; numbers may be close to one another."""
    rows = draw(st.sampled_from(((2, 40), (20, 60))))
    people = draw(populations(rows=rows, public=(1, 3), classes=(2, 4), numeric=numeric))
    if numeric and draw(st.booleans()):
        number = dict(zip(NUMBERS, CLOSE, strict=True))
        columns = {
            a.name: people.columns[a.name] if a.values else np.array([number[v] for v in people.columns[a.name]])
            for a in people.attributes
        }
        people = replace(people, columns=columns)
    return people


def grown(people: People, growth: Growth, declared: bool, **published: Any) -> Release:
    """A release, of domains that are declared or of what occurs."""
    domains = {a.name: a.values for a in people.attributes if a.values and declared}
    training = read_training(
        people.frame,
        target="Y",
        qi=[a.name for a in people.attributes if a.role == "public"],
        private=[a.name for a in people.attributes if a.role == "private"],
        domains={**domains, "Y": people.classes},
        order=growth.order,
    )
    release = induce(training, growth, **published)
    validate_release(release)
    return release


ID3 = st.builds(Growth, st.just("id3"), st.sampled_from(("entropy", "gini", "gain_ratio")), **SIZES)
CART = st.builds(
    Growth,
    st.just("cart"),
    st.sampled_from(("gini", "entropy")),
    encoding=st.sampled_from(("ordinal", "appearance", "onehot")),
    seed=st.integers(0, 9),
    max_leaf_nodes=st.sampled_from((None, None, 2, 3, 5)),
    min_impurity_decrease=st.sampled_from((0.0, 0.0, 0.02, 0.1)),
    ccp_alpha=st.sampled_from((0.0, 0.0, 0.01, 0.05)),
    **SIZES,
)
C45 = st.builds(
    Growth,
    st.just("c45"),
    selection=st.sampled_from(("gain_ratio", "gain_ratio", "quinlan")),
    confidence=st.sampled_from((None, 0.5, 0.25, 0.1)),
    **SIZES,
)


@pytest.mark.parametrize(("numeric", "growth"), [(False, ID3), (True, CART), (True, C45)], ids=["id3", "cart", "c45"])
@thorough(90)
@given(data=st.data())
def test_the_truth_satisfies_everything_compiled(numeric: bool, growth: Any, data: Any) -> None:
    people = data.draw(crowds(numeric=numeric))
    published = data.draw(st.fixed_dictionaries(PUBLISHED))
    check(Case(people, grown(people, data.draw(growth), **published)))


def test_not_all_that_quinlan_compares_may_be_compiled() -> None:
    """The attribute rare has the larger gain ratio, but gains less than average: it did not compete."""
    data = pd.DataFrame({"big": list("aaaabbbb"), "rare": list("pqqqqqqq"), "t": list("11000000")})
    release = c45(data, target="t", qi=["big", "rare"], selection="quinlan", min_samples_leaf=1, confidence=None)
    assert release.trees[0].root.attribute == "big"
    table = read_qi(data, release)
    assert not compile_program(release, table).internal
    claimed = replace(release, trees=(replace(release.trees[0], induction=Induction("c45", "gain_ratio", "mixed")),))
    program = compile_program(claimed, table)
    people = People(
        release.attributes,
        {a.name: np.array([a.values.index(v) for v in data[a.name]]) for a in release.attributes if a.values},
        data["t"].astype(int).to_numpy(),
        release.target.classes,
    )
    assert Evaluator(program).max_violation(true_masses(Case(people, claimed), program)) > 1e-3


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
    return Case(People(tuple(in_order[a.name] for a in people.attributes), columns, y, classes), release)


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


FITTED_SIZES = st.one_of(st.integers(1, 6), st.sampled_from((0.01, 0.02, 0.05, 0.1, 0.2)))


@st.composite
def parameters(draw: Any) -> dict[str, Any]:
    """Any parameters of a tree, most of them at their defaults."""
    choices: dict[str, Any] = {
        "criterion": st.sampled_from(("gini", "entropy", "log_loss")),
        "max_depth": st.integers(1, 4),
        "min_samples_leaf": FITTED_SIZES,
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


SEX = {"name": "Sex", "type": "categorical", "values": ["f", "m"]}
CITY = {"name": "City", "type": "categorical", "values": ["a", "b", "c"]}
AGE = {"name": "Age", "type": "numeric"}
QI = pd.DataFrame(
    {
        "Sex": ["f", "f", "f", "m", "m", "m"],
        "City": ["a", "b", "b", "a", "a", "b"],
        "Age": [20.0, 30.0, 30.0, 40.0, 50.0, 50.00000001],
    }
)
ON_SEX = [
    {"id": "N", "attribute": "Sex", "branches": [{"in": ["f"], "child": "F"}, {"in": ["m"], "child": "M"}]},
    {"id": "F"},
    {"id": "M"},
]


def compared(induction, nodes=ON_SEX, qi=QI, **options):
    document = release_document(
        "Ill", ["y", "n"], [SEX, CITY, AGE], {"induction": {"impurity": "gini", **induction}, "nodes": nodes}
    )
    program = compile_release(parse_release(document, "test"), qi, **options)
    return {(c.origin.node, c.candidate, c.form): c.codes.tolist() for c in program.internal}


def test_multiway_candidates_are_the_other_categorical_attributes():
    assert compared({"candidates": "unused"}) == {("N", "City", "values"): [0]}


def test_nothing_is_known_of_the_algorithm_unless_stated():
    assert compared({"candidates": "none"}) == {}
    assert compared({"candidates": "unused", "impurity": None}) == {}
    assert compared({"candidates": "unused"}, knowledge="label,rate,counts") == {}


def test_an_attribute_with_one_value_present_is_no_candidate():
    assert compared({"candidates": "unused"}, qi=QI.assign(City="a")) == {}


def test_attributes_used_on_the_path_are_no_candidates():
    nodes = [
        {"id": "N", "attribute": "City", "branches": [{"in": ["a"], "child": "M"}, {"in": ["b", "c"], "child": "L"}]},
        {"id": "M", "attribute": "Sex", "branches": [{"in": ["f"], "child": "F"}, {"in": ["m"], "child": "G"}]},
        {"id": "F"},
        {"id": "G"},
        {"id": "L"},
    ]
    assert compared({"candidates": "unused"}, nodes) == {("N", "Sex", "values"): [0]}


def test_thresholds_are_the_cuts_between_values_that_are_present():
    found = compared({"candidates": "thresholds"})
    # City c is absent; ages 50 and 50.00000001 are one value in single precision; Sex's only cut is the chosen one.
    assert found == {("N", "City", "cuts"): [0], ("N", "Age", "cuts"): [0, 1, 2]}


@pytest.mark.parametrize(("least", "cuts"), [(2, [1, 2]), (3, [1])])
def test_cuts_leave_the_smallest_leaf_on_both_sides(least, cuts):
    assert compared({"candidates": "thresholds", "min_samples_leaf": least})["N", "Age", "cuts"] == cuts


def test_the_smallest_leaf_and_k_rule_out_multiway_candidates():
    assert compared({"candidates": "unused", "min_samples_leaf": 3}) == {("N", "City", "values"): [0]}
    assert compared({"candidates": "unused", "min_samples_leaf": 4}) == {}
    assert compared({"candidates": "unused", "k": 4}) == {}


def test_onehot_candidates_are_single_values_against_the_rest():
    qi = QI.assign(City=["a", "b", "c", "a", "b", "c"])
    assert compared({"candidates": "thresholds", "encoding": "onehot"}, qi=qi)["N", "City", "each"] == [0, 1, 2]


ON_AGE = [
    {"id": "N", "attribute": "Age", "branches": [{"le": 35.0, "child": "M"}, {"gt": 35.0, "child": "L"}]},
    {"id": "M", "attribute": "Sex", "branches": [{"in": ["f"], "child": "F"}, {"in": ["m"], "child": "G"}]},
    {"id": "F"},
    {"id": "G"},
    {"id": "L", "attribute": "Age", "branches": [{"le": 40.0, "child": "P"}, {"gt": 40.0, "child": "Q"}]},
    {"id": "P"},
    {"id": "Q"},
]
MEN_TOO = pd.concat([QI, pd.DataFrame({"Sex": ["m"], "City": ["a"], "Age": [20.0]})])


def test_mixed_candidates_are_values_of_unused_attributes_and_all_cuts_of_numbers():
    found = compared({"candidates": "mixed", "impurity": "gain_ratio"}, ON_AGE, MEN_TOO)
    assert found == {
        ("N", "Sex", "values"): [0],
        ("N", "City", "values"): [0],
        ("N", "Age", "cuts"): [0, 2],  # the chosen cut is between 1 (30) and 2 (40)
        ("M", "City", "values"): [0],
        ("M", "Age", "cuts"): [0],
        ("L", "City", "values"): [0],
    }


def test_mixed_candidates_leave_the_smallest_leaf_on_every_side():
    found = compared({"candidates": "mixed", "min_samples_leaf": 2}, ON_AGE, MEN_TOO)
    # In L one of three lives in b.
    assert found == {
        ("N", "Sex", "values"): [0],
        ("N", "City", "values"): [0],
        ("N", "Age", "cuts"): [0, 2],
        ("M", "Age", "cuts"): [0],
        ("M", "City", "values"): [0],
    }
    assert ("N", "Age", "cuts") not in compared({"candidates": "mixed", "min_samples_leaf": 3}, ON_AGE, MEN_TOO)


def test_numbers_are_compared_exactly_where_the_algorithm_is_known_to():
    for algorithm, cuts in ((None, [0, 1, 2]), ("cart", [0, 1, 2]), ("c45", [0, 1, 2, 3])):
        found = compared({"candidates": "mixed", "algorithm": algorithm} if algorithm else {"candidates": "mixed"})
        assert found["N", "Age", "cuts"] == cuts
    assert compared({"candidates": "thresholds", "algorithm": "c45"})["N", "Age", "cuts"] == [0, 1, 2]


def test_a_number_that_such_an_algorithm_would_not_divide_in_three_is_compared_with_nothing():
    age = [{"le": 25.0, "child": "F"}, {"gt": 25.0, "le": 45.0, "child": "M"}, {"gt": 45.0, "child": "L"}]
    nodes = [{"id": "N", "attribute": "Age", "branches": age}, {"id": "F"}, {"id": "M"}, {"id": "L"}]
    assert compared({"candidates": "mixed"}, nodes) == {}


@pytest.mark.parametrize("low", [0.5, 0.999, 1.0, 1.5, 2.0, 1000.0])
def test_no_cut_is_compared_that_scikit_learn_does_not_see(low):
    """Numbers one step of single precision apart, and two: what a tree can cut is at least what is compared."""
    step = float(np.spacing(np.float32(low)))
    for gap in (step, 2 * step, 3 * step):
        ages = np.repeat([float(np.float32(low)), float(np.float32(low) + np.float32(gap))], 3)
        tree = DecisionTreeClassifier().fit(ages[:, None], [0, 0, 0, 1, 1, 1]).tree_
        found = compared({"candidates": "thresholds"}, qi=QI.assign(Age=ages, Sex=["f", "m"] * 3))
        assert tree.node_count == 3 or ("N", "Age", "cuts") not in found


def test_the_impurity_can_be_overridden_and_says_when_it_is_of_no_use():
    document = release_document("Ill", ["y", "n"], [SEX, CITY, AGE], ON_SEX)
    program = compile_release(parse_release(document, "test"), QI, impurity="entropy")
    assert not program.internal
    assert any("candidates" in note for note in program.notes)
