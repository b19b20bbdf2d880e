import math
import subprocess
import sys
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier
from support.calls import refusal, refused
from support.paths import EXAMPLES

from maxent.models.formats.maxent_json.read import validate_release
from maxent.models.formats.registry import load_release
from maxent.models.induction.growth import Growth
from maxent.models.induction.inducers import cart, id3, induce
from maxent.models.tables.training import read_training

IMPURITIES = ["gini", "entropy", "gain_ratio"]
ABSENT = "z"


def members(release, data):
    """Node id -> mask of the records that reach it; a record that no branch or two branches take is an error."""
    nodes = {node.id: node for node in release.trees[0].nodes}
    masks = {release.trees[0].root.id: np.ones(len(data), bool)}
    for node in release.trees[0].nodes:  # parents come before their children
        if not node.is_leaf:
            parts = [masks[node.id] & data[node.attribute].astype(str).isin(b.values).to_numpy() for b in node.branches]
            assert np.array_equal(np.sum(parts, axis=0), masks[node.id])
            masks |= {branch.child: part for branch, part in zip(node.branches, parts, strict=True)}
    assert masks.keys() == nodes.keys()
    return masks


def paths(release):
    """Node id -> attributes used above it, in order."""
    above = {release.trees[0].root.id: ()}
    for node in release.trees[0].nodes:
        above |= {branch.child: (*above[node.id], node.attribute) for branch in node.branches}
    return above


def impurity(classes, kind):
    shares = [count / len(classes) for count in Counter(classes).values()]
    return 1 - sum(s * s for s in shares) if kind == "gini" else -sum(s * math.log(s) for s in shares)


def score(rows, attribute, kind):
    """By the definition: minus the expected impurity, or the gain ratio (None with one value)."""
    parts = [list(part) for _, part in rows.groupby(attribute)["t"]]
    expected = sum(len(part) / len(rows) * impurity(part, kind) for part in parts)
    if kind != "gain_ratio":
        return -expected
    if len(parts) < 2:
        return None
    return (impurity(list(rows["t"]), kind) - expected) / impurity(list(rows[attribute]), kind)


def gain(rows, attribute):
    return impurity(list(rows["t"]), "entropy") + score(rows, attribute, "entropy")


@st.composite
def tables(draw):
    attributes = ["a", "b", "c", "d"][: draw(st.integers(1, 4))]
    values = [st.sampled_from(draw(st.sampled_from(["x", "xy", "xyw"]))) for _ in attributes]
    rows = draw(st.lists(st.tuples(*values, st.sampled_from("012")), min_size=1, max_size=30))
    return pd.DataFrame(rows, columns=[*attributes, "t"])


@settings(deadline=None, max_examples=150)
@given(
    data=tables(),
    kind=st.sampled_from(IMPURITIES),
    min_split=st.integers(2, 6),
    least=st.sampled_from([1, 1, 2, 4]),
    max_depth=st.none() | st.integers(0, 3),
)
def test_every_split_beats_its_competitors_and_every_leaf_has_a_reason(data, kind, min_split, least, max_depth):
    attributes = [name for name in data.columns if name != "t"]
    domains = {name: ["w", "x", "y", ABSENT] for name in attributes}
    release = id3(
        data,
        target="t",
        qi=attributes,
        impurity=kind,
        min_samples_split=min_split,
        min_samples_leaf=least,
        max_depth=max_depth,
        inner_counts=True,
        domains=domains,
    )
    validate_release(release)
    classes = release.target.classes
    masks, above = members(release, data), paths(release)
    for node in release.trees[0].nodes:
        rows = data[masks[node.id]]
        counted = rows["t"].value_counts().reindex(classes, fill_value=0).to_dict()
        assert node.counts == counted
        assert node.n == len(rows)
        unused = [name for name in attributes if name not in above[node.id]]
        unused = [name for name in unused if rows[name].value_counts().min() >= least]
        if node.is_leaf:
            if len(rows):
                assert node.label == max(classes, key=lambda c: counted[c])
            gains = [gain(rows, name) for name in unused]
            stopped = len(rows) < min_split or len(above[node.id]) == max_depth
            assert stopped or max(gains, default=0) <= 1e-9
        else:
            assert node.attribute in unused
            assert len(rows) >= min_split
            assert gain(rows, node.attribute) > 1e-13
            assert max_depth is None or len(above[node.id]) < max_depth
            chosen = score(rows, node.attribute, kind)
            for rank, name in enumerate(unused):
                other = score(rows, name, kind)
                earlier = rank < unused.index(node.attribute)
                assert other is None or chosen > other - 1e-9
                assert not earlier or other is None or chosen > other + 1e-13
            assert sorted(v for branch in node.branches for v in branch.values) == sorted(domains[node.attribute])


def test_absent_values_share_one_empty_leaf_with_the_label_of_its_parent():
    data = pd.DataFrame({"a": ["x", "x", "x", "y", "y"], "t": ["1", "1", "1", "0", "0"]})
    domains = {"a": ["z", "y", "x", "v"]}
    for publish in ("labels", "rates", "counts"):
        release = id3(data, target="t", qi=["a"], publish=publish, domains=domains)
        validate_release(release)
        root, *leaves = release.trees[0].nodes
        assert [(b.values, b.child) for b in root.branches] == [(("y",), "L1"), (("x",), "L2"), (("z", "v"), "L3")]
        empty = leaves[-1]
        assert (empty.id, empty.label, empty.error_rate) == ("L3", "1", None)
        assert empty.n == (None if publish == "labels" else 0)
        assert empty.counts == ({"0": 0, "1": 0} if publish == "counts" else None)
    release = id3(data, target="t", qi=["a"])
    assert len(release.trees[0].leaves) == 2


@pytest.mark.parametrize(
    ("publish", "label", "rate", "n", "counts"),
    [("labels", "1", None, None, None), ("rates", "1", 1 / 3, 3, None), ("counts", "1", None, 3, {"0": 1, "1": 2})],
)
def test_what_leaves_state(publish, label, rate, n, counts):
    release = id3(pd.DataFrame({"a": ["x", "x", "x", "y"], "t": [1, 1, 0, 0]}), target="t", qi=["a"], publish=publish)
    root, leaf, _ = release.trees[0].nodes
    assert (leaf.label, leaf.error_rate, leaf.n, leaf.counts) == (label, rate, n, counts)
    assert (root.id, root.n, root.counts) == ("N1", None, None)


@pytest.mark.parametrize("kind", IMPURITIES)
def test_a_split_that_gains_nothing_is_not_made(kind):
    independent = pd.DataFrame({"a": list("xxyy") * 5, "b": ["z"] * 20, "t": list("0101") * 5})
    (leaf,) = id3(independent, target="t", qi=["a", "b"], impurity=kind).trees[0].nodes
    assert (leaf.id, leaf.counts) == ("L1", {"0": 10, "1": 10})


def test_ids_and_nodes_are_in_depth_first_order():
    data = pd.DataFrame({"a": list("xxyyw"), "b": list("pqpqp"), "t": list("01100")})
    nodes = id3(data, target="t", qi=["a", "b"], impurity="gini").trees[0].nodes
    # a gains by its value w only; below x and y, b decides.
    assert [node.id for node in nodes] == ["N1", "L1", "N2", "L2", "L3", "N3", "L4", "L5"]
    assert nodes[0].attribute == "a"


def test_ties_go_to_the_first_attribute_and_label():
    data = pd.DataFrame({"b": list("xxyy"), "a": list("ppqq"), "t": list("0011")})
    assert id3(data, target="t", qi=["a", "b"]).trees[0].root.attribute == "a"
    assert id3(data, target="t", qi=["b"], private=["a"]).trees[0].root.attribute == "b"
    tied = pd.DataFrame({"a": list("xx"), "t": list("01")})
    assert id3(tied, target="t", qi=["a"]).trees[0].root.label == "0"
    assert id3(tied, target="t", qi=["a"], domains={"t": ["1", "0"]}).trees[0].root.label == "1"


def test_values_are_published_as_strings_and_roles_kept():
    data = pd.DataFrame(
        {
            "flag": [True, False, True, False],
            "size": pd.Categorical([10, 9, 10, 9]),
            "mixed": pd.Series([1, "1", 2, 2], dtype=object),
            "t": [1, 0, 1, 0],
        }
    )
    release = id3(data, target="t", qi=["flag", "mixed"], private=["size"])
    assert [(a.name, a.values, a.role) for a in release.attributes] == [
        ("flag", ("False", "True"), "public"),
        ("mixed", ("1", "2"), "public"),
        ("size", ("10", "9"), "private"),
    ]
    assert release.target.classes == ("0", "1")
    induction = release.trees[0].induction
    assert (induction.algorithm, induction.impurity, induction.candidates) == ("id3", "entropy", "unused")


def test_gain_ratio_prefers_fewer_values():
    data = pd.DataFrame({"key": list("abcdefgh"), "half": list("xxxxyyyy"), "t": list("00011111")})
    roots = {kind: id3(data, target="t", qi=["key", "half"], impurity=kind).trees[0].root for kind in IMPURITIES}
    assert {kind: root.attribute for kind, root in roots.items()} == {
        "gini": "key",
        "entropy": "key",
        "gain_ratio": "half",
    }


BAD = pd.DataFrame(
    {"a": ["x", "y", None], "age": [1, 2, 3], "w": [0.5, 1.5, 2.5], "t": ["0", "1", "1"], "b": ["x", "y", "y"]}
)


@pytest.mark.parametrize(
    ("call", "messages"),
    [
        ({"qi": ["nope", "b", "a"]}, ["columns: nope", "column 'a'", "1 missing, the first in row 3"]),
        ({"qi": ["age", "b"], "private": ["w"]}, ["column 'age'", "column 'w'", "categorical=", "c45 or cart"]),
        ({"qi": ["b"], "target": "w"}, ["column 'w'", "not numbers with fractions", "0.5"]),
        ({"qi": ["b"], "impurity": "mse"}, ["impurity: expected None or one of gini, entropy, gain_ratio", "'mse'"]),
        ({"qi": ["b"], "publish": "all", "min_samples_split": 0, "max_depth": -1}, ["publish", "min_samples", "max_d"]),
        ({"qi": ["b"], "data": pd.concat([BAD, BAD["b"]], axis=1)}, ["one column of this name"]),
    ],
)
def test_refusals_name_every_problem(call, messages):
    error = refusal(id3, **({"data": BAD, "target": "t"} | call))
    for message in messages:
        assert message in str(error)


def shape(tree):
    """What a tree splits by, and each leaf's records and rate; not its ids, the order of values or tied labels."""
    by_id = {node.id: node for node in tree.nodes}

    def below(node):
        if node.is_leaf:
            return node.n, node.error_rate
        return node.attribute, {frozenset(branch.values): below(by_id[branch.child]) for branch in node.branches}

    return below(tree.root)


@pytest.mark.parametrize("kind", ["gini", "entropy"])
@pytest.mark.parametrize("example", ["d1", "d2"])
def test_the_papers_trees_come_out_of_the_papers_tables(example, kind):
    published = load_release(EXAMPLES / example / "tree.json")
    truth = pd.read_csv(EXAMPLES / example / "truth.csv")
    qi = pd.read_csv(EXAMPLES / example / "qi.csv")
    assert truth[qi.columns].equals(qi)
    assert [a.name for a in published.public] == list(qi.columns)
    grown = id3(truth, target="Salary", qi=list(qi.columns), impurity=kind, min_samples_split=3, publish="rates")
    assert shape(grown.trees[0]) == shape(published.trees[0])


@pytest.mark.slow
def test_adult_example_says_what_it_needs(tmp_path, monkeypatch):
    monkeypatch.delenv("MAXENT_DATA", raising=False)
    call = [sys.executable, str(EXAMPLES / "adult.py"), str(tmp_path / "out")]
    unset = subprocess.run(call, capture_output=True, text=True)
    assert (unset.returncode, unset.stdout) == (2, "")
    assert "MAXENT_DATA" in unset.stderr
    assert "Traceback" not in unset.stderr
    monkeypatch.setenv("MAXENT_DATA", str(tmp_path))
    absent = subprocess.run(call, capture_output=True, text=True)
    assert absent.returncode == 2
    assert "no file" in absent.stderr
    assert not (tmp_path / "out").exists()


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
        assert {v for branch in release.trees[0].nodes[0].branches for v in branch.values} == set("wvxyz")
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
    assert message in str(refusal(cart, **({"data": people(), "target": "ill", "qi": ["age"]} | call)))


def test_records_have_to_be_in_the_order_that_the_encoding_means():
    training = read_training(people(), target="ill", qi=["size"])
    refused("order='appearance'", induce, training, Growth("cart", encoding="appearance"))
    refused("at least one record", induce, training.take(np.array([], int)), Growth("cart"))


def test_a_class_for_most_people_is_no_warning_of_scikit_learns():
    names = [f"p{i}" for i in range(60)]
    release = cart(pd.DataFrame({"age": range(60), "name": names}), target="name", qi=["age"], max_depth=1)
    assert set(release.target.classes) == set(names)
