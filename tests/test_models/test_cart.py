"""The inducer `cart` is scikit-learn's tree on an encoding done by hand, said in the user's attributes and values."""

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.read import validate_release
from maxent.models.induction.inducers import Growth, cart, induce
from maxent.models.tables.training import read_training

SIZES = ["small", "medium", "large"]


def people(seed=0, n=300):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(
        {
            "size": rng.choice(SIZES, n),
            "age": rng.integers(18, 90, n),
            "sex": rng.choice(["m", "f"], n),
            "dose": rng.normal(0, 1, n),
        }
    )
    signal = (data["age"] > 50) * 1 + (data["size"] == "medium") + (data["dose"] > 0.3) + rng.random(n)
    return data.assign(ill=np.floor(signal).astype(int).clip(0, 2).astype(str))


def by_hand(data, encoding):
    """What scikit-learn is given, with its own encoders."""
    parts = []
    for name in ("size", "age", "sex", "dose"):
        column = data[[name]]
        if data[name].dtype.kind in "if":
            parts.append(column.to_numpy(float))
        elif encoding == "onehot":
            parts.append(OneHotEncoder(sparse_output=False).fit_transform(column))
        elif encoding == "appearance":
            parts.append(pd.factorize(data[name])[0][:, None])
        else:
            parts.append(OrdinalEncoder().fit_transform(column))
    return np.hstack(parts)


def leaf_of(release, data):
    """The node that each row reaches; a row that no branch or two branches take is an error."""
    nodes = {node.id: node for node in release.trees[0].nodes}
    found, stack = [None] * len(data), [(release.trees[0].root, np.arange(len(data)))]
    while stack:
        node, rows = stack.pop()
        for row in rows if node.is_leaf else ():
            assert found[row] is None
            found[row] = node
        for branch in node.branches:
            values = data[node.attribute].iloc[rows]
            if branch.values is None:
                low, high = (-np.inf if branch.gt is None else branch.gt), (np.inf if branch.le is None else branch.le)
                taken = (values > low) & (values <= high)
            else:
                taken = values.isin(branch.values)
            stack.append((nodes[branch.child], rows[taken.to_numpy()]))
    assert None not in found
    return found


@pytest.mark.parametrize(
    "settings",
    [
        {"max_depth": 5},
        {"criterion": "entropy", "min_samples_leaf": 4, "min_samples_split": 12},
        {"max_leaf_nodes": 9},
        {"ccp_alpha": 0.01},
        {"min_impurity_decrease": 0.004, "criterion": "entropy"},
    ],
    ids=lambda settings: ",".join(settings),
)
@pytest.mark.parametrize("encoding", ["ordinal", "appearance", "onehot"])
def test_the_tree_is_the_one_that_scikit_learn_grows_by_hand(encoding, settings):
    for seed in range(4):
        data = people(seed)
        model = DecisionTreeClassifier(random_state=seed, **settings).fit(by_hand(data, encoding), data["ill"])
        given = {"impurity" if name == "criterion" else name: value for name, value in settings.items()}
        release = cart(
            data, target="ill", qi=["size", "age"], private=["sex", "dose"], encoding=encoding, seed=seed, **given
        )
        validate_release(release)
        tree = release.trees[0]
        assert len(tree.nodes) == model.tree_.node_count
        leaves = leaf_of(release, data)
        assert [leaf.label for leaf in leaves] == model.predict(by_hand(data, encoding)).tolist()
        held = pd.Series(data["ill"].to_numpy()).groupby([leaf.id for leaf in leaves]).value_counts()
        stated = {(leaf.id, c): n for leaf in tree.leaves for c, n in leaf.counts.items() if n}
        assert held.to_dict() == stated
        assert tree.induction.algorithm == "cart"
        assert tree.induction.impurity == settings.get("criterion", "gini")
        assert tree.induction.min_samples_leaf == settings.get("min_samples_leaf", 1)
        assert (tree.induction.candidates, tree.induction.encoding) == (
            "thresholds",
            "onehot" if encoding == "onehot" else "ordinal",
        )


def test_the_release_speaks_the_users_attributes_and_values():
    data = pd.DataFrame({"size": SIZES * 4, "flag": [True, False] * 6, "ill": ["n", "y", "n"] * 4})
    branches = {
        encoding: [
            branch.values
            for branch in cart(data, target="ill", qi=["size", "flag"], encoding=encoding, seed=0)
            .trees[0]
            .root.branches
        ]
        for encoding in ("ordinal", "appearance", "onehot")
    }
    # Sorted, medium is between the others' codes no more: large, medium, small.
    assert branches["ordinal"] in ([("large",), ("medium", "small")], [("large", "medium"), ("small",)])
    assert branches["appearance"] in ([("small",), ("medium", "large")], [("small", "medium"), ("large",)])
    assert branches["onehot"] == [("large", "small"), ("medium",)]
    given = cart(data, target="ill", qi=["size"], domains={"size": ["medium", "small", "large"]}).trees[0]
    assert [branch.values for branch in given.root.branches] == [("medium",), ("small", "large")]
    assert len(given.leaves) == 2


def test_values_and_classes_that_no_record_has():
    data = pd.DataFrame({"a": list("xxyyww"), "t": list("pprrpp")})
    domains = {"a": list("wvxyz"), "t": list("rqp")}
    for encoding in ("ordinal", "onehot"):
        release = cart(data, target="t", qi=["a"], encoding=encoding, domains=domains, seed=1)
        validate_release(release)
        nodes = release.trees[0].nodes
        assert {v for branch in nodes[0].branches for v in branch.values} == set("wvxyz")
        assert sum(np.array(list(leaf.counts.values())) for leaf in release.trees[0].leaves).tolist() == [2, 0, 4]
        assert {leaf.label for leaf in leaf_of(release, data)} == {"r", "p"}


def test_a_depth_of_zero_is_one_leaf():
    (leaf,) = cart(people(), target="ill", qi=["age"], max_depth=0).trees[0].nodes
    assert leaf.n == 300


@pytest.mark.parametrize("base", [2.0**24, 2.0**53 / 2**20, 1.0])
def test_numbers_that_single_precision_rounds_stay_on_the_side_they_went_to(base):
    step = np.spacing(np.float32(base)) / 4
    for seed in range(20):
        rng = np.random.default_rng(seed)
        data = pd.DataFrame({"x": base + step * rng.integers(0, 24, 40), "t": rng.choice(["a", "b"], 40)})
        release = cart(data, target="t", qi=["x"], seed=seed)
        validate_release(release)
        leaves = leaf_of(release, data)
        held = pd.Series(data["t"].to_numpy()).groupby([leaf.id for leaf in leaves]).value_counts().to_dict()
        assert held == {(leaf.id, c): n for leaf in release.trees[0].leaves for c, n in leaf.counts.items() if n}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"impurity": "gain_ratio"}, "impurity: expected one of gini, entropy for cart, found 'gain_ratio'"),
        ({"encoding": "binary"}, "encoding: expected one of ordinal, appearance, onehot, found 'binary'"),
        ({"seed": -1}, "seed: expected None or a whole number, at least 0 and below 2"),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes: expected None or a whole number, at least 2, found 1"),
        ({"ccp_alpha": -1, "min_impurity_decrease": np.nan}, "min_impurity_decrease: expected a number, at least 0"),
        ({"data": people().assign(age=1e39)}, "column 'age': values: expected numbers up to 3.403e"),
    ],
)
def test_what_scikit_learn_would_not_do_is_refused(call, message):
    with pytest.raises(InvalidInput) as refusal:
        cart(**({"data": people(), "target": "ill", "qi": ["age"]} | call))
    assert message in str(refusal.value)


def test_records_have_to_be_in_the_order_that_the_encoding_means():
    training = read_training(people(), target="ill", qi=["size"])
    with pytest.raises(InvalidInput, match="order='appearance'"):
        induce(training, Growth("cart", encoding="appearance"))
    with pytest.raises(InvalidInput, match="at least one record"):
        induce(training.take(np.array([], int)), Growth("cart"))


def test_a_class_for_most_people_is_no_warning_of_scikit_learns():
    names = [f"p{i}" for i in range(60)]
    release = cart(pd.DataFrame({"age": range(60), "name": names}), target="name", qi=["age"], max_depth=1)
    assert set(release.target.classes) == set(names)
