"""Random trees: drawn without the data, counted from samples, published from k on."""

import json
import pickle
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.anonymity import training_of
from support.calls import refusal, refused
from support.strategies import Draw, People, leaves_of, populations, thorough

from maxent import privacy
from maxent.models.defenses import KAnonRandomTreesClassifier
from maxent.models.defenses import random_trees as random_counts
from maxent.models.defenses.accounting import Guarantee, guarantee
from maxent.models.defenses.parameters import RandomTrees
from maxent.models.defenses.random_trees import draw, draw_batches, random_trees, vote_shares
from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.read import validate_release
from maxent.models.formats.registry import load_release
from maxent.models.release import Attribute, Node, Release, Target, Tree
from maxent.models.tables.domains import Domains, read_domains
from maxent.models.tables.training import Training, read_training
from maxent.models.trees.places import assign
from maxent.models.trees.predict import predict_columns, predict_proba, read_columns

RANGES = {f"{letter}{i}": (-2.0, 4.0) for letter in "AP" for i in range(4)}

Question = tuple[Any, ...]


@st.composite
def asks(draw: Draw, **fixed: Any) -> RandomTrees:
    strategies: dict[str, Any] = {
        "trees": st.integers(1, 4),
        "depth": st.sampled_from((None, 0, 1, 2, 3, 6)),
        "beta": st.sampled_from((0.2, 0.7, 1.0)),
        "k": st.integers(0, 5),
        "seed": st.integers(0, 2**40),
    }
    return RandomTrees(**draw(st.fixed_dictionaries(strategies | {n: st.just(v) for n, v in fixed.items()})))


def domains_of(training: Training) -> Domains:
    """All domains as they are, and the same range for all numbers."""
    values = {a.name: a.values for a in training.attributes if a.values is not None}
    ranges = {a.name: RANGES[a.name] for a in training.attributes if a.values is None}
    return Domains({**values, training.target.name: training.target.classes}, ranges)


def drawn(people: People, asked: RandomTrees) -> Release:
    training = training_of(people)
    return random_trees(training, asked, domains_of(training))


def question(node: Node) -> Question:
    """What a node asks, whatever is below it."""
    return (node.attribute, *sorted(b.le for b in node.branches if b.le is not None))


def steps(tree: Tree) -> dict[tuple[Any, ...], Question]:
    """What is asked at the end of every path of values, or of sides, that leads to an inner node."""
    nodes = {node.id: node for node in tree.nodes}
    found: dict[tuple[Any, ...], Question] = {}
    stack: list[tuple[tuple[Any, ...], Node]] = [((), tree.root)]
    while stack:
        path, node = stack.pop()
        if node.is_leaf:
            continue
        found[path] = question(node)
        for branch in node.branches:
            for value in branch.values or (("<=", ">")[branch.le is None],):
                if branch.child is not None:
                    stack.append(((*path, value), nodes[branch.child]))
    return found


def counted(people: People, tree: Tree, rows: Any = slice(None)) -> dict[int, Any]:
    """The records of each class at each place of a tree where some of them end."""
    columns = [people.columns[a.name][rows] for a in people.attributes]
    places, y = assign(tree, people.attributes, columns), people.y[rows]
    return {p: np.bincount(y[places == p], minlength=len(people.classes)) for p in np.unique(places).tolist()}


@thorough(150)
@given(people=populations(rows=(1, 60)), asked=asks())
def test_only_counts_from_k_on_are_published(people: People, asked: RandomTrees) -> None:
    release = drawn(people, asked)
    validate_release(release)
    assert len(release.trees) == asked.trees
    assert (release.sampling_rate, release.suppressed_below) == (asked.beta, asked.k)
    for tree in release.trees:
        for node in tree.nodes:
            assert (node.label, node.n, node.error_rate) == (None, None, None)
            assert (node.counts is not None) == node.is_leaf
            assert all(c == 0 or c >= asked.k for c in (node.counts or {}).values())


@thorough(150)
@given(people=populations(rows=(1, 60)), asked=asks(beta=1.0))
def test_without_sampling_every_count_is_the_true_one_or_below_k(people: People, asked: RandomTrees) -> None:
    for tree in drawn(people, asked).trees:
        found = counted(people, tree)
        for place, node in enumerate(tree.nodes):
            if node.is_leaf:
                true = found.get(place, np.zeros(len(people.classes), np.int64))
                assert list((node.counts or {}).values()) == np.where(true < asked.k, 0, true).tolist()
        assert all(place >= len(tree.nodes) or tree.nodes[place].is_leaf for place in found)


@thorough(100)
@given(people=populations(rows=(1, 60)), asked=asks())
def test_k_suppresses_and_changes_nothing_else(people: People, asked: RandomTrees) -> None:
    """Neither structures nor samples: the release is that of k = 0 without its small counts."""
    whole, release = drawn(people, replace(asked, k=0)), drawn(people, asked)
    for full, tree in zip(whole.trees, release.trees, strict=True):
        assert steps(tree).items() <= steps(full).items()
        reference = {
            p: list((full.nodes[p].counts or {}).values()) for p in counted(people, full) if p < len(full.nodes)
        }
        kept = [c for counts in reference.values() for c in counts if c >= max(asked.k, 1)]
        shown = [c for leaf in tree.leaves for c in (leaf.counts or {}).values() if c]
        assert sorted(kept) == sorted(shown)


@thorough(80)
@given(people=populations(rows=(1, 40)), others=st.data(), asked=asks(k=0))
def test_the_structure_is_the_same_for_all_data(people: People, others: st.DataObject, asked: RandomTrees) -> None:
    n = others.draw(st.integers(1, 40))
    rows = others.draw(st.lists(st.integers(0, len(people) - 1), min_size=n, max_size=n))
    shuffled = {name: np.roll(column[rows], i) for i, (name, column) in enumerate(people.columns.items())}
    strangers = replace(people, columns=shuffled, y=people.y[rows])
    for one, other in zip(drawn(people, asked).trees, drawn(strangers, asked).trees, strict=True):
        here, there = steps(one), steps(other)
        assert all(here[path] == there[path] for path in here.keys() & there.keys())
        assert here.get(()) == there.get(())


@thorough(100)
@given(people=populations(rows=(1, 60)), asked=asks(k=0, beta=1.0))
def test_paths_are_as_long_as_there_is_something_to_ask(people: People, asked: RandomTrees) -> None:
    release = drawn(people, asked)
    depth = max(len(people.attributes) // 2, 1) if asked.depth is None else asked.depth
    categorical = {a.name for a in people.attributes if a.values is not None}
    for tree in release.trees:
        found = steps(tree)
        for path, (name, *cuts) in found.items():
            above = [found[path[:i]] for i in range(len(path))]
            assert len(path) < depth
            assert name not in {test[0] for test in above} & categorical
            low, high = RANGES[name]
            for (other, *at), side in zip(above, path, strict=True):
                if other == name:
                    low, high = (low, at[0]) if side == "<=" else (at[0], high)
            assert all(low <= cut <= high for cut in cuts)
        nodes = {node.id: node for node in tree.nodes}
        ends = [nodes[b.child] for node in tree.nodes for b in node.branches if b.child is not None]
        for path in found:
            if len(path) + 1 < depth and any(a.values is None for a in people.attributes):
                # A numeric attribute can always be cut again: leaves with anybody are at the full depth.
                assert all(not any((leaf.counts or {}).values()) for leaf in children(tree, path) if leaf.is_leaf)
        assert all(b.child is not None for node in tree.nodes for b in node.branches)
        assert len(ends) == len(tree.nodes) - 1


def children(tree: Tree, path: tuple[Any, ...]) -> list[Node]:
    nodes, node = {node.id: node for node in tree.nodes}, tree.root
    for step in path:
        (node,) = (
            nodes[b.child or ""]
            for b in node.branches
            if (step in b.values if b.values is not None else step == ("<=", ">")[b.le is None])
        )
    return [nodes[b.child or ""] for b in node.branches]


def crowd(n: int = 20_000, seed: int = 0) -> Training:
    """Records with two categorical and two numeric attributes."""
    rng = np.random.default_rng(seed)
    attributes = (
        Attribute("a", "categorical", ("x", "y", "z")),
        Attribute("b", "numeric"),
        Attribute("c", "categorical", ("u", "v")),
        Attribute("d", "numeric", None, "private"),
    )
    columns = (rng.integers(0, 3, n), rng.uniform(-1, 1, n), rng.integers(0, 2, n), rng.integers(0, 9, n).astype(float))
    y = ((columns[0] == 1) ^ (columns[1] > 0.2) ^ (rng.random(n) < 0.1)).astype(np.int64)
    return Training(Target("Y", ("no", "yes")), attributes, columns, y)


STATED = Domains({"a": ("x", "y", "z"), "c": ("u", "v"), "Y": ("no", "yes")}, {"b": (-1.0, 1.0), "d": (0.0, 8.0)})


@pytest.mark.slow
def test_what_a_node_asks_is_uniform() -> None:
    trees = random_trees(crowd(300), RandomTrees(1600, 2, 1.0, 0, seed=7), STATED).trees
    roots = [question(tree.root) for tree in trees]
    asked = np.array([sum(test[0] == name for test in roots) for name in "abcd"])
    assert (abs(asked - 400) < 5 * np.sqrt(400 * 0.75)).all()
    cuts = np.array([test[1] for test in roots if test[0] == "b"])
    assert np.abs(np.sort(cuts) - np.linspace(-1, 1, len(cuts))).max() < 2 * 1.95 / np.sqrt(len(cuts))
    below = [steps(tree).get((">",)) for tree in trees if tree.root.attribute == "b"]
    again = [b[1] - r[1] for b, r in zip(below, [t for t in roots if t[0] == "b"], strict=True) if b and b[0] == "b"]
    assert min(again) > 0
    names = [b[0] for b in below if b]
    assert all(abs(names.count(name) - len(names) / 4) < 5 * np.sqrt(len(names) * 3 / 16) for name in "abcd")
    below = [steps(tree).get(("x",)) for tree in trees if tree.root.attribute == "a"]
    assert {b[0] for b in below if b} == {"b", "c", "d"}


def sampled(release: Release) -> list[int]:
    """The records in each tree."""
    return [sum(sum((leaf.counts or {}).values()) for leaf in tree.leaves) for tree in release.trees]


@pytest.mark.parametrize("seed", [None, 3])
def test_every_tree_has_a_sample_of_its_own(seed: int | None) -> None:
    training, n = crowd(), 20_000
    for beta in (0.03, 0.5):
        sizes = np.array(sampled(random_trees(training, RandomTrees(20, 3, beta, 0, seed=seed), STATED)))
        assert (abs(sizes - n * beta) < 5 * np.sqrt(n * beta * (1 - beta))).all()
        assert len(set(sizes.tolist())) > 10


def test_samples_are_nested_and_forests_begin_alike() -> None:
    training, asked = crowd(3000), RandomTrees(3, 3, 0.3, 0, seed=5)
    small, large = (random_trees(training, replace(asked, beta=beta), STATED) for beta in (0.3, 0.6))
    for one, other in zip(small.trees, large.trees, strict=True):
        places = [assign(tree, training.attributes, training.columns) for tree in (one, other)]
        for row in range(0, 3000, 50):
            a, b = (tree.nodes[at[row]].counts or {} for tree, at in zip((one, other), places, strict=True))
            assert all(a.get(c, 0) <= b.get(c, 0) for c in ("no", "yes"))
    assert random_trees(training, replace(asked, trees=5), STATED).trees[:3] == small.trees
    assert random_trees(training, replace(asked, seed=6), STATED).trees[0] != small.trees[0]


def test_without_a_seed_samples_come_from_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    training, asked = crowd(500), RandomTrees(2, 2, 0.5, 0)
    one, other = (random_trees(training, asked, STATED) for _ in range(2))
    assert one.trees != other.trees
    assert one.defense is not None
    assert one.defense.parameters["samples"] == "secret"
    below, above = int(0.5 * 2**64) - 1, int(0.5 * 2**64)
    for word, expected in ((below, 500), (above, 0)):
        monkeypatch.setattr(random_counts.os, "urandom", lambda n, w=word: w.to_bytes(8, "little") * (n // 8))
        assert sampled(random_trees(training, asked, STATED)) == [expected] * 2


def test_batches_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    training, asked = crowd(2000), RandomTrees(3, 3, 0.4, 6, seed=1)
    whole = random_trees(training, asked, STATED)
    monkeypatch.setattr(random_counts, "_CHUNK", 300)
    batches = (training.take(slice(begin, begin + 700)) for begin in range(0, 2000, 700))
    assert draw_batches(batches, training.target, training.attributes, asked, STATED.ranges).release() == whole


def test_where_nothing_is_published_the_root_is() -> None:
    training = crowd(100)
    release = random_trees(training, RandomTrees(4, 3, 0.5, 101, seed=0), STATED)
    validate_release(release)
    for tree in release.trees:
        assert len(tree.nodes) == 1
        assert {branch.child for branch in tree.root.branches} == {None}
    columns = (training.attributes, training.columns, len(training))
    assert set(predict_columns(release, *columns).tolist()) == {0}
    assert set(vote_shares(release, *columns)[:, 0].tolist()) == {1.0}
    flat = random_trees(training, RandomTrees(1, 0, 1.0, 101, seed=0), STATED)
    assert flat.trees[0].nodes == (Node("L1", counts={"no": 0, "yes": 0}),)


def test_leaves_of_nobody_are_one_where_zeros_are_exact() -> None:
    attribute = Attribute("A", "categorical", ("a", "b", "c", "d", "e"))
    training = Training(Target("Y", ("n", "p")), (attribute,), (np.array([1, 1, 3]),), np.array([0, 1, 1]))
    exact = random_trees(training, RandomTrees(1, 1, 1.0, 0, seed=0)).trees[0]
    assert {b.values: b.child for b in exact.root.branches} == {("a", "c", "e"): "L3", ("b",): "L1", ("d",): "L2"}
    shown = random_trees(training.take(np.array([0, 0, 1, 2])), RandomTrees(1, 1, 1.0, 2, seed=0)).trees[0]
    assert [b.values for b in shown.root.branches] == [("a",), ("b",), ("c",), ("d",), ("e",)]
    assert [list((leaf.counts or {}).values()) for leaf in shown.leaves] == [[2, 0]] + [[0, 0]] * 4


def test_one_draw_makes_the_releases_of_every_k() -> None:
    asked = RandomTrees(3, 3, 0.4, 6)
    whole = draw(crowd(2000), asked, STATED)
    one, other = whole.release(), whole.release(30)
    assert whole.release(6) == one
    assert other.suppressed_below == 30
    assert other.defense is not None
    assert other.defense.parameters["k"] == 30
    for few, many in zip(other.trees, one.trees, strict=True):
        shown = [[c for leaf in tree.leaves for c in (leaf.counts or {}).values() if c] for tree in (few, many)]
        assert sorted(shown[0]) == sorted(c for c in shown[1] if c >= 30)
        assert steps(few).items() <= steps(many).items()


# --- Predictions -----------------------------------------------------------------------------------------------


@thorough(60)
@given(people=populations(rows=(2, 60), classes=(2, 3)), asked=asks())
def test_predictions_are_ratios_of_sums_and_votes(people: People, asked: RandomTrees) -> None:
    release = drawn(people, asked)
    found = predict_proba(release, people.frame)
    columns = [people.columns[a.name] for a in people.attributes]
    votes = vote_shares(release, people.attributes, columns, len(people))
    np.testing.assert_allclose(votes.sum(axis=1), 1.0)
    sums, alone = np.zeros((2, *found.shape))
    for tree in release.trees:
        stated = {node.id: list(node.counts.values()) for node in tree.nodes if node.counts is not None}
        for row, leaf in enumerate(leaves_of(replace(release, trees=(tree,)), people.frame)[:, 0]):
            counts = stated[tree.nodes[leaf].id] if leaf < len(tree.nodes) else [0]
            if any(counts):
                sums[row] += counts
                alone[row, np.argmax(counts)] += 1
    told = sums.any(axis=1)
    np.testing.assert_allclose(found[told], sums[told] / sums[told].sum(axis=1, keepdims=True))
    np.testing.assert_allclose(votes[told], alone[told] / alone[told].sum(axis=1, keepdims=True))
    assert votes[~told].argmax(axis=1).tolist() == found[~told].argmax(axis=1).tolist()


# --- What is guaranteed ----------------------------------------------------------------------------------------


def test_the_guarantee_is_that_of_the_paper_and_a_tighter_one(tmp_path: Any) -> None:
    asked = RandomTrees(10, 2, 0.01, 10, 2.0, seed=0)
    known = guarantee(asked)
    assert known is not None
    assert known.delta == pytest.approx(1.08e-9, rel=5e-3)  # Waseda et al. 2025, Tables 5 and 7
    assert known.tight_delta == privacy.forest_delta(10, 10, 0.01, 2.0) < known.delta / 1e6
    release = random_trees(crowd(50), asked, STATED)
    assert release.defense is not None
    assert release.defense.method == "rdt"
    assert release.defense.parameters == {
        "trees": 10,
        "depth": 2,
        "beta": 0.01,
        "k": 10,
        "domains": "stated",
        "samples": "seeded",
        "epsilon": 2.0,
        "delta": known.delta,
        "tight_delta": known.tight_delta,
    }
    release.save(tmp_path / "forest.json")
    assert load_release(tmp_path / "forest.json") == release


def test_without_an_epsilon_it_is_that_of_a_usual_delta() -> None:
    known = guarantee(RandomTrees(10, None, 0.1, 20))
    assert known is not None
    assert known.delta is not None
    assert 5e-7 < known.delta <= 1e-6
    assert known.epsilon == pytest.approx(3.573, abs=1e-3)
    assert guarantee(RandomTrees(10, None, 0.4, 5)) is None  # five of a kind are published with probability 0.1
    assert guarantee(RandomTrees(10, None, 1.0, 5)) is None
    below = guarantee(RandomTrees(10, None, 0.4, 20, 2.0))
    assert below == Guarantee(0.4, 2.0, None, privacy.forest_delta(10, 20, 0.4, 2.0))
    large = guarantee(RandomTrees(10, None, 0.4, 10**5, 6.0))
    assert large is not None
    assert large.delta is not None
    assert large.tight_delta <= large.delta
    nothing_suppressed = guarantee(RandomTrees(1, None, 0.1, 0, 1.0))
    assert nothing_suppressed is not None
    assert nothing_suppressed.tight_delta == pytest.approx(0.1, rel=1e-6)


def test_domains_of_the_data_cost_the_guarantee() -> None:
    asked = RandomTrees(2, 2, 0.1, 20, seed=0)
    for domains in (None, replace(STATED, values={}), replace(STATED, ranges={"b": (-1.0, 1.0)})):
        release = random_trees(crowd(50), asked, domains)
        assert release.defense is not None
        assert release.defense.parameters["domains"] == "data"
        assert "epsilon" not in release.defense.parameters


def test_numbers_of_numpy_are_written_as_numbers(tmp_path: Any) -> None:
    asked = RandomTrees(np.int64(2), np.int32(2), np.float32(0.5), np.int64(3), np.float64(2.0), np.uint8(1))  # type: ignore[arg-type]
    release = random_trees(crowd(50), asked, STATED)
    release.save(tmp_path / "forest.json")
    assert load_release(tmp_path / "forest.json") == release


def test_all_that_is_wrong_is_named() -> None:
    wrong = RandomTrees(0, -1, 0.0, 1.5, -2.0, "x")  # type: ignore[arg-type]
    caught = refusal(random_trees, crowd(10), wrong, Domains({}, {"b": (-0.5, 0.5), "c": (0.0, 1.0), "e": (0.0, 1.0)}))
    fields = [problem.field for problem in caught.problems]
    assert fields == ["trees", "depth", "beta", "k", "epsilon", "seed", "'b'", "'c'", "'e'"]
    refused("beta", random_trees, crowd(10), RandomTrees(beta=float("nan")), STATED)


def test_an_attribute_of_one_value_is_never_asked() -> None:
    attributes = (
        Attribute("one", "categorical", ("only",)),
        Attribute("flat", "numeric"),
        Attribute("two", "categorical", ("p", "q")),
    )
    columns = (np.zeros(30, np.int64), np.full(30, 2.5), np.arange(30) % 2)
    training = Training(Target("Y", ("n", "p")), attributes, columns, np.arange(30) % 2)
    for tree in random_trees(training, RandomTrees(20, 3, 1.0, 0, seed=0)).trees:
        assert [node.attribute for node in tree.nodes] == ["two", None, None]
    lonely = replace(training, attributes=attributes[:2], columns=columns[:2])
    release = random_trees(lonely, RandomTrees(2, 3, 1.0, 0, seed=0))
    assert release.trees[0].nodes == (Node("L1", counts={"n": 15, "p": 15}),)


@pytest.mark.filterwarnings("ignore:domains of:UserWarning")
@parametrize_with_checks(
    [KAnonRandomTreesClassifier(), KAnonRandomTreesClassifier(n_trees=3, depth=4, beta=1.0, k=2, vote="trees")]
)
def test_scikit_learn_is_content(estimator: Any, check: Any) -> None:
    check(estimator)


DOMAINS: dict[str, Any] = {
    "town": ["Ulm", "Bonn", "Kiel", "Rom"],
    "age": (18, 80),
    "member": [True, False],
    "risk": ["high", "low", "none"],
}


def people(n: int = 3000, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"town": rng.choice(["Ulm", "Bonn", "Kiel"], n), "age": rng.integers(18, 81, n), "member": rng.random(n) < 0.5}
    )
    likely = 0.1 + 0.8 * (frame["member"] ^ (frame["age"] > 50))
    return frame, pd.Series(np.where(rng.random(n) < likely, "high", "low"), name="risk")


def model(**parameters: Any) -> KAnonRandomTreesClassifier:
    return KAnonRandomTreesClassifier(**{"depth": 3, "domains": DOMAINS, "random_state": 0, **parameters})


def test_what_is_published_is_what_the_function_makes(tmp_path: Path) -> None:
    X, y = people()
    fitted = model(private=["member"], epsilon=2.0).fit(X, y)
    training = read_training(
        X.assign(risk=y),
        target="risk",
        qi=["town", "age"],
        private=["member"],
        domains={"town": DOMAINS["town"], "member": ["True", "False"], "risk": ["high", "low", "none"]},
    )
    asked = RandomTrees(10, 3, 0.1, 20, 2.0, 0)
    assert fitted.release_ == random_trees(training, asked, read_domains(DOMAINS, "risk"))
    assert fitted.guarantee_ == guarantee(asked)
    assert fitted.release_.attributes == (
        Attribute("town", "categorical", ("Ulm", "Bonn", "Kiel", "Rom")),
        Attribute("age", "numeric"),
        Attribute("member", "categorical", ("True", "False"), "private"),
    )
    file = tmp_path / "domains.json"
    file.write_text(json.dumps(DOMAINS))
    assert model(domains=file, private=["member"], epsilon=2.0).fit(X, y).release_ == fitted.release_


def test_it_learns_and_votes() -> None:
    X, y = people()
    for vote in ("sums", "trees"):
        fitted = model(vote=vote, n_trees=31, beta=0.4).fit(X, y)
        assert fitted.score(X, y) > 0.75
        found = fitted.predict_proba(X)
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        np.testing.assert_array_equal(fitted.classes_[found.argmax(axis=1)], fitted.predict(X))
        if vote == "trees":
            np.testing.assert_array_equal(found, vote_shares(fitted.release_, *read_columns(fitted.release_, X)))
        else:
            np.testing.assert_array_equal(found, predict_proba(fitted.release_, X))
    with pytest.raises(NotFittedError):
        model(vote="trees").predict(X)


def test_classes_that_are_only_stated_are_among_the_classes() -> None:
    X, y = people(500)
    fitted = model(beta=1.0, k=1).fit(X, y)
    assert fitted.classes_.tolist() == ["high", "low", "none"]
    assert fitted.release_.target.classes == ("high", "low", "none")
    assert fitted.predict_proba(X)[:, 2].max() == 0
    numbers = model(beta=1.0, domains={**DOMAINS, "risk": [9, 10, 11]}).fit(X, y.map({"high": 10, "low": 9}))
    assert numbers.classes_.tolist() == [9, 10, 11]
    assert numbers.release_.target.classes == ("9", "10", "11")
    assert set(numbers.predict(X).tolist()) <= {9, 10}
    for classes in (["low", "none"], [1, 2]):
        with pytest.raises(InvalidInput, match="y: expected classes among"):
            model(domains={**DOMAINS, "risk": classes}).fit(X, y)
    with pytest.raises(InvalidInput, match="of the kind of those in y"):
        model(domains={**DOMAINS, "risk": ["0", "1", "x"]}).fit(X, (y == "low").astype(int))


def test_domains_from_the_data_are_warned_of() -> None:
    X, y = people(300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model().fit(X, y).guarantee_ is not None
    partly = {name: domain for name, domain in DOMAINS.items() if name not in ("age", "risk")}
    with pytest.warns(UserWarning, match=r"domains of 'age', 'risk' are taken from the data"):
        fitted = model(domains=partly).fit(X, y)
    assert fitted.guarantee_ is None
    with pytest.warns(UserWarning, match=r"'town', 'age', 'member', 'risk'"):
        model(domains=None).fit(X, y)


def test_a_seed_decides_everything_and_nothing_else_does() -> None:
    X, y = people(500)
    again = pickle.loads(pickle.dumps(model().fit(X, y)))
    assert clone(again).fit(X, y).release_ == again.release_
    assert model(random_state=1).fit(X, y).release_ != again.release_
    one, other = (model(random_state=np.random.RandomState(5)).fit(X, y).release_ for _ in range(2))
    assert one == other
    one, other = (model(random_state=None).fit(X, y).release_ for _ in range(2))
    assert one != other
    assert one.defense is not None
    assert one.defense.parameters["samples"] == "secret"


def test_what_is_wrong_is_named_as_it_is_called_here() -> None:
    X, y = people(50)
    wrong: dict[str, Any] = {
        "n_trees": 0,
        "depth": -1,
        "beta": 2,
        "k": "5",
        "vote": "all",
        "epsilon": 0,
        "random_state": -1,
        "private": "age",
    }
    with pytest.raises(InvalidInput) as caught:
        KAnonRandomTreesClassifier(**wrong).fit(X, y)
    assert sorted(problem.field for problem in caught.value.problems) == sorted(wrong)
    for domains, message in (
        ({"age": (18, 40)}, "'age': expected numbers from 18 to 40"),
        ({"town": ["Ulm", "Bonn"]}, "every value that occurs"),
        ({"city": ["Ulm"]}, "only columns of target=, qi= and private="),
        ({"city": (0, 1)}, "no such column"),
        ({"town": (0, 1)}, "values, as strings"),
        ({"age": [18, 19, 20]}, "a list of values"),
    ):
        with pytest.raises(InvalidInput, match=message):
            model(domains=domains).fit(X, y)
