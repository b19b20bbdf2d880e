"""The values of boosted models whose classes have weights: weighted sums that the truth satisfies, and counts."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier
from support.boosted import RULES, Rule, boosted, models, proved, satisfied
from support.strategies import Case, People, thorough, true_masses

import maxent
from maxent.constraints.compiler import compile_program
from maxent.constraints.kinds.boosted_leaves import LeafSum, number_of_class
from maxent.constraints.program.cells import build_cells
from maxent.constraints.program.program import CHOICES, Linear
from maxent.constraints.program.residuals import Evaluator
from maxent.constraints.symmetry import Exchangeable
from maxent.disclosure.limits import Limits
from maxent.models.errors import InvalidInput, Origin
from maxent.models.formats.maxent_json.read import parse_release, validate_release
from maxent.models.formats.maxent_json.write import release_to_document
from maxent.models.release import Attribute, Boosting, Branch, Node, Release, Target, Tree
from maxent.models.tables.qi_table import read_qi
from maxent.models.tables.truth_and_facts import read_truth
from maxent.results.formulas import latex_document

WEIGHTS = st.sampled_from(((1.0, 3.0), (0.1, 1.0), (2.0, 2.0, 2.0), (7.3, 0.4, 1.0), (1.0, 25.0), (0.5, 1.0, 0.5)))


@thorough(15)
@given(case=WEIGHTS.flatmap(lambda w: models(private=1, rules=RULES.map(lambda rule: replace(rule, of_class=w)))))
def test_the_truth_satisfies_what_values_under_class_weights_say(case: Case) -> None:
    validate_release(case.release)
    assert parse_release(release_to_document(case.release), "release") == case.release
    table = read_qi(case.people.qi, case.release)
    program = compile_program(case.release, table)
    assert Evaluator(program).max_violation(true_masses(case, program)) <= 1e-9
    assert program.contradictions == ()
    grown = any(len(tree.nodes) > 1 for tree in case.release.trees)
    assert grown <= bool(len(proved(case)) or proved(case).sums) or "rounding" in proved(case).lost[0]


COLOURS = Attribute("Colour", "categorical", ("red", "blue"))
SIZE = Attribute("Size", "categorical", ("big", "small"))


def crowd() -> People:
    """Three red ones in eight and five blue ones in nine are of class b; every second one is big."""
    colours = np.repeat([0, 1], [8, 9])
    y = np.array([1] * 3 + [0] * 5 + [1] * 5 + [0] * 4)
    return People((COLOURS, SIZE), {"Colour": colours, "Size": np.arange(17) % 2}, y, ("a", "b"))


def stump(attribute: Attribute) -> Tree:
    branches = tuple(Branch(f"L{i}", values=(value,)) for i, value in enumerate(attribute.values or ()))
    return Tree((Node("N", attribute.name, branches), Node("L0"), Node("L1")))


def test_weighted_sums_by_hand() -> None:
    # Before any tree p = 1/2: of the red ones G = (5 - 3 * 3) / 2 and H = (5 + 3 * 3) / 4, of the blue ones
    # (4 - 15) / 2 and 19 / 4.
    rule = Rule(rate=0.5, l2=1.0, number=np.float64, of_class=(1.0, 3.0))
    release = boosted(crowd(), [stump(COLOURS), stump(SIZE)], rule)
    red, blue = 0.5 * 2 / (3.5 + 1), 0.5 * 5.5 / (4.75 + 1)
    assert [node.value for node in release.trees[0].leaves] == pytest.approx([red, blue])
    case = Case(crowd(), release)
    found = proved(case)
    assert (found.tree.tolist(), found.low.tolist()[:2], found.high.tolist()[:2]) == ([0, 0, 1, 1], [3.0, 5.0], [3, 5])
    assert [(said.tree, said.place, said.of) for said in found.sums] == [
        (1, 1, "value"),
        (1, 1, "hessian"),
        (1, 2, "value"),
        (1, 2, "hessian"),
    ]
    # Before the second tree p is that of the colour; the statement of the value is of those of class b alone.
    p = 1 / (1 + np.exp(-np.array([red, blue])))
    u = release.trees[1].leaves[0].value
    assert isinstance(u, float)
    coef = 3 - 2 * (p + u / 0.5 * p * (1 - p))
    table = read_qi(case.people.qi, release)
    cells = build_cells(release, table)
    is_blue = table.codes[cells.owner[cells.trees[1].at(1)], 0] == list(table.levels[0]).index("blue")
    assert found.sums[0].weights[:, 1] == pytest.approx(coef[is_blue.astype(int)] / coef.max())
    assert found.sums[0].high - found.sums[0].low < 1e-4
    assert found.notes == ("scores of leaves prove 4 counts of a class in a leaf, and 4 weighted sums",)
    answer = maxent.estimate(release, case.people.qi)
    assert answer.summary["status"] == "optimal"
    assert answer.summary["constraints"]["linear"] == 4
    weight = answer.posterior["count"] * answer.posterior["P(b)"]
    assert weight.groupby(answer.posterior["Colour"]).sum().to_dict() == pytest.approx({"red": 3, "blue": 5})


def test_weights_that_all_classes_share_scale_the_penalty() -> None:
    release = boosted(crowd(), [stump(COLOURS)], Rule(l2=2.0, of_class=(5.0, 5.0)))
    found = proved(Case(crowd(), release))
    assert (found.low.tolist(), found.high.tolist(), found.sums) == ([3.0, 5.0], [3.0, 5.0], ())
    assert proved(Case(crowd(), replace(release, boosting=Boosting("logit", 0.3, 2.0)))).lost


def test_people_who_are_not_those_of_the_training_prove_nothing() -> None:
    release = boosted(crowd(), [stump(COLOURS)], Rule(of_class=(1.0, 3.0), hessians=False))
    fewer = crowd().qi.iloc[1:]
    found = maxent.estimate(release, fewer)
    assert found.summary["constraints"]["boosting"] == found.summary["constraints"]["linear"] == 0
    assert any("is not that of 7 people whose classes have these weights" in note for note in found.notes), found.notes
    nodes = tuple(replace(node, n=9) if node.id == "L0" else node for node in release.trees[0].nodes)
    sized = replace(release, trees=(replace(release.trees[0], nodes=nodes),))
    assert "9 records, but 8 individuals" in proved(Case(crowd(), sized)).lost[0]


@pytest.mark.parametrize("value", [1e308, -1e200])
def test_numbers_beyond_all_numbers_prove_nothing(value: float) -> None:
    release = boosted(crowd(), [stump(COLOURS), stump(SIZE)], Rule(of_class=(1.0, 3.0), hessians=False))
    huge = tuple(replace(node, value=value) if node.is_leaf else node for node in release.trees[0].nodes)
    found = proved(Case(crowd(), replace(release, trees=(replace(release.trees[0], nodes=huge), release.trees[1]))))
    assert (len(found), found.sums) == (0, ())
    assert found.lost


def test_a_weighted_sum_bounds_the_number_of_people() -> None:
    random = np.random.default_rng(0)
    for _ in range(20):
        people = random.integers(1, 4, 4).astype(float)
        weight = random.uniform(0.2, 1, 4)
        truth = np.array([random.integers(0, n + 1) for n in people])
        total = float(weight @ truth)
        wide = float(random.choice([1e-6, 0.3]))
        said = LeafSum(0, 0, "value", np.array([0.0, 1.0]), np.stack([weight, weight]).T, total - wide, total + wide)
        found = number_of_class(said, 1, people)
        solved = [
            linprog(
                sign * np.ones(4),
                A_ub=np.array([weight, -weight]),
                b_ub=[total + wide, wide - total],
                bounds=[(0, n) for n in people],
            ).fun
            * sign
            for sign in (1, -1)
        ]
        assert found == pytest.approx(tuple(solved), abs=1e-6)
        assert number_of_class(replace(said, low=99.0, high=99.5), 1, people) is None


def test_classes_with_other_coefficients_are_not_exchangeable() -> None:
    release = boosted(crowd(), [stump(COLOURS)], Rule())
    program = compile_program(release, read_qi(crowd().qi, release))
    same = np.ones((len(program.cells), 2))
    both = Linear("toy", Origin("toy"), 0, np.ones((1, 2)), np.zeros(1), np.full(1, 5.0), "", same)
    inside = len(program.regions[0])
    for weights, blocks in ((same[:inside], [0, 0]), (same[:inside] * [1.0, 2.0], [0, 1])):
        some = replace(program, linear=(replace(both, weights=weights),))
        assert Exchangeable(some).blocks(np.arange(1)).tolist() == blocks


def test_weighted_sums_have_a_formula() -> None:
    release = boosted(crowd(), [stump(COLOURS), stump(SIZE)], Rule(of_class=(1.0, 3.0)))
    text = latex_document(compile_program(release, read_qi(crowd().qi, release)))
    assert r"\sum_{c \in \text{L0}} \bigl(a_{c,\text{b}}\,m_{c,\text{b}}\bigr) \le " in text
    assert r"\quad \text{with} \quad a_{c,\text{b}} \in [0." in text


@pytest.mark.parametrize(
    ("weights", "field", "message"),
    [(3, "weights", "an object"), ({"c": 1}, "weights", "classes of the target"), ({"a": 0}, "a", "above 0")],
)
def test_weights_that_cannot_be_are_refused(weights: Any, field: str, message: str) -> None:
    document = release_to_document(boosted(crowd(), [stump(COLOURS)], Rule()))
    document["boosting"] |= {"weights": weights}
    with pytest.raises(InvalidInput) as caught:
        parse_release(document, "release")
    assert any(field in p.field and message in p.expected for p in caught.value.problems), caught.value.problems


@pytest.mark.parametrize("weights", ["balanced", {0: 1.0, 1: 4.5}, {1: 0.3}])
@pytest.mark.promise(number=3)
def test_class_weights_of_scikit_learn_are_found(weights: Any) -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"x": random.integers(0, 9, 120), "z": random.normal(size=120).round(1)})
    y = (frame["x"] + 3 * frame["z"] + random.normal(size=120) * 3 > 6).astype(int)
    model = HistGradientBoostingClassifier(
        max_iter=3, min_samples_leaf=5, l2_regularization=0.5, class_weight=weights, early_stopping=False
    )
    release = maxent.from_sklearn(model.fit(frame, y), target="Y", X=frame)
    assert release.boosting is not None
    expected = [120 / (2 * n) for n in np.bincount(y)] if weights == "balanced" else [1.0, weights[1]]
    assert release.boosting.weights == pytest.approx(dict(zip("01", expected, strict=True)))
    counts, held, sums = satisfied(release, frame, y)
    assert counts >= len(release.trees[0].leaves)
    assert held
    assert sums > 0
    again = HistGradientBoostingClassifier(max_iter=1, l2_regularization=0.5, class_weight=weights)
    weighed = maxent.from_sklearn(again.fit(frame, y, sample_weight=np.full(120, 2.0)), target="Y", X=frame).boosting
    assert weighed is not None
    assert (weighed.rate, weighed.weights) == (None, {})


@thorough(5)
@given(case=WEIGHTS.flatmap(lambda w: models(rules=RULES.map(lambda rule: replace(rule, of_class=w)))))
def test_proved_bounds_hold_the_truth(case: Case) -> None:
    program = compile_program(case.release, read_qi(case.people.qi, case.release))
    masses = true_masses(case, program)
    truth = np.zeros((len(program.table), program.n_classes))
    np.add.at(truth, program.cells.owner, masses)
    share = truth / program.table.counts[:, None]
    for level in ("closed", "linear"):
        found = maxent.bounds(case.release, case.people.qi, level=level)
        assert found.summary["status"] != "inconsistent"
        assert (found.low <= share + 1e-9).all()
        assert (found.high >= share - 1e-9).all()


def of_people(seed: int, kind: str) -> tuple[pd.DataFrame, np.ndarray[Any, Any], np.ndarray[Any, Any], Any]:
    """People of few attributes, their classes and weights, and a tree or forest that was fitted with these."""
    random = np.random.default_rng(seed)
    n, n_classes = int(random.integers(12, 60)), int(random.integers(2, 4))
    X = pd.DataFrame({name: random.integers(0, 3, n).astype(float) for name in "AB"})
    y = random.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    cell = (3 * X["A"] + X["B"]).to_numpy(np.int64)
    choices = {"cells": [0.3, 1.0, 2.2], "people": [1.0, 2.0, 5.0]}.get(kind)
    weights = random.uniform(0.5, 2, n) if choices is None else random.choice(choices, 9 if kind == "cells" else n)
    weights = weights[cell] if kind == "cells" else weights
    how: dict[str, Any] = {"max_depth": int(random.integers(1, 4)), "random_state": seed}
    if n_classes == 2 and seed % 3 == 0:
        how["monotonic_cst"] = [1, 0]
    made = DecisionTreeClassifier(**how) if seed % 2 else ExtraTreesClassifier(2, bootstrap=False, **how)
    return X, y.astype(str), weights, made.fit(X, y.astype(str), sample_weight=weights)


def review_of(seed: int, kind: str) -> Any:
    X, y, weights, model = of_people(seed, kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", maxent.UnreliableResult)
        return maxent.review(model, X, y, qi=["A", "B"], target="Y", sample_weight=weights, max_certain=0)


@pytest.mark.parametrize("kind", ["cells", "people", "numbers"])
@pytest.mark.promise(number=3)
def test_the_truth_satisfies_what_shares_under_known_weights_say(kind: str) -> None:
    read = stated = plain = 0
    for seed in range(12):
        X, y, _, model = of_people(seed, kind)
        found = review_of(seed, kind)
        program = found.estimate.program
        truth = read_truth(X.assign(Y=y), found.release, program.table)[program.cells.owner].astype(float)
        assert Evaluator(program).linear.violation(truth).max(initial=0.0) <= 1e-9
        sums = sum(each.weights is not None for each in program.linear)
        stated += sums > 0
        if model.get_params().get("monotonic_cst") is None:
            plain, read = plain + 1, read + all(each.what == CHOICES for each in program.unread)
    assert plain > 8
    assert read == plain if kind == "cells" else read < 4  # of leaves of one class, or cells of one person
    assert stated == plain if kind == "cells" else stated < 12


def weighed_leaf(people: pd.DataFrame, yes: list[int], weights: list[float], **options: Any) -> Any:
    share = float(np.dot(yes, weights) / np.sum(weights))
    leaf = Node("L", n=len(yes), value={"no": 1 - share, "yes": share})
    attribute = Attribute("A", "numeric")
    release = Release(
        Target("Y", ("no", "yes")), (attribute,), (Tree((leaf,)),), predicts="score", boosting=Boosting("share")
    )
    labels = np.array(["no", "yes"])[yes]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", maxent.UnreliableResult)
        return maxent.review(release, people, labels, qi=["A"], sample_weight=weights, max_certain=0, **options)


def test_who_is_alone_with_a_class_under_known_weights_is_proved() -> None:
    # Two people weigh 10, three weigh 1: of 23 those of class yes have 20, which only the two can.
    people = pd.DataFrame({"A": [0.0, 0.0, 1.0, 1.0, 1.0]})
    found = weighed_leaf(people, [1, 1, 0, 0, 0], [10.0, 10, 1, 1, 1], no_marginal=True)
    assert found.summary["unread"] == []
    assert found.row["certain"] == 0
    assert found.verdict().status == "fail"
    proof = found.estimate.certainty(dict(found.row), Limits(max_certain=0))
    assert proof["proved_least"] == proof["proved_most"] == 5
    assert weighed_leaf(people, [1, 1, 0, 0, 0], [10.0, 10, 1, 1, 1]).verdict().status == "fail"
    mixed = weighed_leaf(people, [1, 0, 1, 0, 0], [10.0, 10, 1, 1, 1])
    assert (mixed.summary["unread"], mixed.verdict().status) == ([], "pass")
    # As weights of one cell differ, its people are told apart by them, and nothing is stated.
    partly = weighed_leaf(people, [1, 0, 1, 0, 0], [10.0, 9, 1, 1, 1])
    assert [each["judged"] for each in partly.summary["unread"]] == ["worst_case"]
    assert partly.verdict().status == "cannot_tell"


@pytest.mark.parametrize("seed", range(12))
def test_whole_people_of_known_weights_are_proved_as_brute_force_proves_them(seed: int) -> None:
    random = np.random.default_rng(seed)
    cells = np.sort(random.integers(0, 4, 9))
    weight = random.choice([1.0, 2.0, 3.0, 0.7], 4)[cells]
    yes = random.integers(0, 2, 9)
    found = weighed_leaf(pd.DataFrame({"A": cells.astype(float)}), yes.tolist(), weight.tolist())
    every = (np.arange(2**9)[:, None] >> np.arange(9)) & 1
    agree = every[np.abs(every @ weight - yes @ weight) < 1e-9]
    proof = found.estimate.certainty(dict(found.row), Limits(max_certain=0))
    base = agree[agree.sum(axis=1) == yes.sum()]  # an adversary who knows the base rate
    told = [np.unique(base[:, cells == c].sum(axis=1)) for c in cells]
    proved = [len(each) == 1 and each[0] in (0, (cells == c).sum()) for each, c in zip(told, cells, strict=True)]
    assert proof["proved_most"] == sum(proved)
