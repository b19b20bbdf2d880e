"""The values of a boosted model prove counts of classes: all of them, and none that is not true."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from support.boosted import RULES, Rule, boosted, models, proved, scored
from support.calls import refusal, refused
from support.soundness import check
from support.strategies import Case, People, thorough, true_masses

import maxent
from maxent.constraints.compiler import compile_program
from maxent.constraints.kinds.boosted_leaves import leaf_counts
from maxent.constraints.program.cells import build_cells
from maxent.models.errors import UnreliableResult
from maxent.models.formats.maxent_json.read import parse_release, validate_release
from maxent.models.formats.maxent_json.write import release_to_document
from maxent.models.release import Attribute, Boosting, Branch, Node, Release, Tree
from maxent.models.tables.qi_table import read_qi
from maxent.models.tables.truth_and_facts import read_truth


@thorough(60)
@given(case=models(private=2))
def test_the_truth_satisfies_everything_compiled_from_scores(case: Case) -> None:
    validate_release(case.release)
    assert parse_release(release_to_document(case.release), "release") == case.release
    check(case)


@thorough(12)
@given(case=models(removed=True))
def test_removed_leaves_hide_the_scores_of_those_in_them(case: Case) -> None:
    check(case)


@thorough(15)
@given(case=models(rules=RULES.map(lambda rule: replace(rule, l1=0.0))))
def test_every_count_is_proved_where_all_attributes_are_public(case: Case) -> None:
    found = proved(case)
    grown = [tree for tree in case.release.trees if len(tree.nodes) > 1]
    program = compile_program(case.release, read_qi(case.people.qi, case.release))
    reached = sum(
        len(program.cells.trees[t].at(place)) > 0
        for t, tree in enumerate(case.release.trees)
        if len(tree.nodes) > 1
        for place, node in enumerate(tree.nodes)
        if node.is_leaf
    )
    assert found.counts == len(found) == reached, found.lost
    assert bool(grown) or found.lost
    truth = true_masses(case, program)
    for row in program.linear:
        if row.kind == "boosting":
            klass = int(row.coef[0].argmax())
            assert truth[program.regions[row.region], klass].sum() == row.lower[0] == row.upper[0]


@thorough(12)
@given(case=models(), weights=st.sampled_from(((2.0, 1.0), (0.5, 1.0, 3.0), (1.0, 1.0, 0.0))))
def test_values_of_weighted_people_prove_nothing_that_is_not_true(case: Case, weights: Any) -> None:
    trees = list(case.release.trees)
    of = case.release.boosting
    assert of is not None
    rule = Rule(of.rate or 0.3, of.l2 or 0.0, factor=of.hessian, weights=weights)
    check(Case(case.people, boosted(case.people, trees, rule)))


@thorough(30)
@given(case=models(private=1, removed=True), of_class=st.sampled_from(((), (1.0, 2.5), (0.5, 3.0, 1.0))))
def test_rows_over_unknown_people_hold_for_those_of_the_model(case: Case, of_class: Any) -> None:
    of = case.release.boosting
    assert of is not None
    how = Rule(of.rate or 0.3, of.l2 or 0.0, of.l1, of.hessian, tuple(of.penalties.items()), of_class=of_class)
    release = boosted(case.people, list(case.release.trees), how) if of_class else case.release
    assert scored(release, case.people.frame, case.people.y)[1] == []


COLOURS = Attribute("Colour", "categorical", ("red", "blue"))
HAIR = Attribute("Hair", "categorical", ("dark", "fair"), "private")


def crowd(red: int = 6, blue: int = 5) -> People:
    """Of the red ones two are of class b, of the blue ones four; dark hair is every other's."""
    colours = np.repeat([0, 1], [red, blue])
    hair = np.arange(red + blue) % 2
    y = np.array([1, 1, *[0] * (red - 2), *[1] * 4, *[0] * (blue - 4)])
    return People((COLOURS, HAIR), {"Colour": colours, "Hair": hair}, y, ("a", "b"))


def stump(attribute: str = "Colour", values: tuple[str, str] = ("red", "blue")) -> Tree:
    branches = tuple(Branch(f"L{i}", values=(value,)) for i, value in enumerate(values))
    return Tree((Node("N", attribute, branches), Node("L0"), Node("L1")))


def test_counts_by_hand() -> None:
    # Six red ones of whom two are of class b, before any tree p = 1/2: G = 3 - 2 = 1, H = 6/4.
    release = boosted(crowd(), [stump()], Rule(rate=0.5, l2=1.0, number=np.float64))
    assert release.trees[0].nodes[1].value == pytest.approx(-0.5 * 1 / (1.5 + 1))
    found = maxent.estimate(release, crowd().qi)
    assert (found.summary["constraints"]["boosting"], found.summary["status"]) == (2, "optimal")
    assert found.posterior.set_index("Colour")["P(b)"].to_dict() == pytest.approx({"red": 2 / 6, "blue": 4 / 5})
    assert "scores of leaves prove 2 counts of a class in a leaf" in found.notes
    audited = maxent.audit(boosted(crowd(blue=4), [stump()], Rule()), crowd(blue=4).qi)
    assert audited["homogeneity"] == {"min_size": 1, "leaves": 1, "individuals": 4}


def test_without_the_table_or_the_rate_scores_state_nothing() -> None:
    release = boosted(crowd(), [stump()], Rule())
    assert any("only of the people of a table" in note for note in maxent.audit(release)["notes"])
    silent = replace(release, boosting=Boosting("logit", 0.3))
    for notes in (maxent.estimate(silent, crowd().qi).notes, maxent.audit(silent, crowd().qi)["notes"]):
        assert any("does not state the L2 penalty" in note for note in notes), notes
    without = maxent.estimate(release, crowd().qi, knowledge=["label"])
    assert without.summary["constraints"]["boosting"] == 0
    assert not without.notes


def test_leaves_that_contradict_the_table_prove_nothing() -> None:
    release = boosted(crowd(), [stump(), stump()], Rule())
    for people, reason in ((crowd(red=7), "sum of second derivatives"), (crowd(red=5), "sum of second derivatives")):
        found = maxent.estimate(release, people.qi)
        assert found.summary["constraints"]["boosting"] == 0
        assert any("tree 1, leaf L0" in note and reason in note for note in found.notes), found.notes
    # Without these sums the numbers show it: there are no 2.3 people.
    bare = boosted(crowd(), [stump(), stump()], Rule(hessians=False))
    notes = maxent.estimate(bare, crowd(red=7).qi).notes
    assert any("its value stands for 2." in note for note in notes), notes
    first = replace(bare.trees[0], nodes=tuple(replace(n, n=9) if n.id == "L0" else n for n in bare.trees[0].nodes))
    with pytest.warns(UnreliableResult):
        other = maxent.estimate(replace(bare, trees=(first, bare.trees[1])), crowd().qi)
    assert any("9 records, but 6 individuals" in note for note in other.notes)


def test_a_tree_that_does_not_predict_was_trained_all_the_same() -> None:
    release = boosted(crowd(), [stump(), stump(), stump()], Rule())
    stopped = replace(release, trees=(*release.trees[:2], replace(release.trees[2], weight=0.0)))
    assert maxent.estimate(stopped, crowd().qi).summary["constraints"]["boosting"] == 6


def test_a_penalty_of_l1_leaves_an_interval_where_the_value_is_0() -> None:
    case = Case(crowd(), boosted(crowd(), [stump()], Rule(l1=1.5)))
    found = proved(case)
    assert case.release.trees[0].nodes[1].value == 0.0
    assert (found.low.tolist(), found.high.tolist()) == ([2.0, 1.0], [4.0, 4.0])
    assert found.notes == ("scores of leaves prove 0 counts of a class in a leaf, and 2 intervals",)


def test_private_attributes_leave_what_holds_whoever_has_them() -> None:
    dark = stump("Hair", ("dark", "fair"))
    case = Case(crowd(), boosted(crowd(), [stump(), dark, stump()], Rule()))
    found = proved(case)
    assert (found.tree.tolist(), (found.slope == 0).tolist()) == (
        [0, 0, 1, 1, 1, 1, 2, 2],
        [True] * 2 + [False] * 4 + [True] * 2,
    )
    assert (found.high - found.low)[:2].tolist() == [0, 0]
    assert ((found.high - found.low)[-2:] <= 1).all()  # p differs with the hair, which is not known
    check(case)
    assert maxent.estimate(case.release, case.people.qi).summary["status"] == "optimal"


def test_many_people_have_intervals_and_millions_nothing_that_is_false() -> None:
    wide = []
    for times in (1, 10**5, 10**7):
        table = pd.DataFrame({"Colour": ["red", "red", "blue", "blue"], "Y": ["b", "a", "b", "a"], "n": [2, 4, 4, 1]})
        table["n"] *= times
        values = []
        for own, n in ((2, 6), (4, 5)):
            curve = np.float32(n * times / 4)
            values.append(float(np.float32(0.3) * np.float32((own - n / 2) * times / (curve + 1))))
        nodes = (stump().nodes[0], *(Node(f"L{i}", value=v) for i, v in enumerate(values)))
        release = Release(
            boosted(crowd(), [stump()], Rule()).target,
            (COLOURS,),
            (Tree(nodes, of_class="b"),),
            predicts="score",
            boosting=Boosting("logit", 0.3, 1.0),
        )
        qi = read_qi(table[["Colour", "n"]], release, count="n")
        found = leaf_counts(release, build_cells(release, qi), qi.counts)
        assert (found.low <= np.array([2, 4]) * times).all()
        assert (found.high >= np.array([2, 4]) * times).all()
        wide.append(float((found.high - found.low).max()))
    assert wide[0] == 0 <= wide[1] < wide[2]


@pytest.mark.parametrize("value", [1e308, -1e308, 1e200])
def test_numbers_beyond_all_numbers_prove_nothing(value: float) -> None:
    release = boosted(crowd(), [stump(), stump(), stump()], Rule(hessians=False))
    huge = tuple(replace(node, value=value) if node.is_leaf else node for node in release.trees[1].nodes)
    for boosting in (release.boosting, Boosting("logit", 1e-300, 1e308)):
        trees = (replace(release.trees[1], nodes=huge),) * 3
        found = maxent.estimate(replace(release, trees=trees, boosting=boosting), crowd().qi)
        assert found.summary["constraints"]["boosting"] == 0
        assert any("scores of leaves state no counts" in note for note in found.notes), found.notes


@pytest.mark.parametrize(
    ("entry", "field", "message"),
    [
        ({"alpha": -1}, "alpha", "at least 0"),
        ({"hessian": 0}, "hessian", "above 0"),
        ({"penalties": {"Size": 1}}, "penalties", "Colour"),
        ({"penalties": {"Colour": -1}}, "Colour", "at least 0"),
        ({"penalties": 3}, "penalties", "an object"),
    ],
)
def test_rules_that_cannot_be_are_refused(entry: dict[str, Any], field: str, message: str) -> None:
    document = release_to_document(boosted(crowd(), [stump()], Rule()))
    document["boosting"] |= entry
    caught = refusal(parse_release, document, "release")
    assert any(field in p.field and message in p.expected for p in caught.problems), caught.problems
    document = release_to_document(boosted(crowd(), [stump()], Rule()))
    document["trees"][0]["nodes"][1]["hessian"] = -1
    refused("hessian", parse_release, document, "release")


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", ["gradient", "histogram"])
def test_counts_of_scikit_learn_are_those_of_its_people(kind: str, n_classes: int) -> None:
    random = np.random.default_rng(n_classes)
    frame = pd.DataFrame({"x": random.integers(0, 9, 150), "z": random.normal(size=150).round(1)})
    y = np.minimum((frame["x"] + 3 * frame["z"] + random.normal(size=150) * 3 > 4) + (frame["x"] > 6), n_classes - 1)
    model: Any = (
        GradientBoostingClassifier(n_estimators=4, random_state=0)
        if kind == "gradient"
        else HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=5, l2_regularization=0.5)
    )
    release = maxent.from_sklearn(model.fit(frame, y), target="Y", X=frame)
    qi = read_qi(frame, release)
    cells = build_cells(release, qi)
    truth = read_truth(frame.assign(Y=y.astype(str)), release, qi)
    found = leaf_counts(release, cells, qi.counts)
    assert len(found) == sum(len(tree.leaves) for tree in release.trees), found.lost
    rows = zip(found.tree.tolist(), found.place.tolist(), found.klass.tolist(), strict=True)
    counts = [int(truth[cells.owner[cells.trees[t].at(place)], x].sum()) for t, place, x in rows]
    assert found.low.tolist() == found.high.tolist() == counts


def test_a_quotient_of_almost_nothing_proves_nothing() -> None:
    # With scores of 60 both derivatives of those of class a vanish: tools write 0, whoever is there.
    release = boosted(crowd(), [stump(), stump()], Rule(base=60.0, l2=0.0, hessians=False, number=np.float64))
    zero = tuple(replace(node, value=0.0) if node.is_leaf else node for node in release.trees[0].nodes)
    assert not len(proved(Case(crowd(), replace(release, trees=(replace(release.trees[0], nodes=zero),)))))
