"""Registers of people: what is compiled holds of the truth, and bounds and estimates are those of enumeration."""

import itertools
import json
import tempfile
import warnings
from dataclasses import dataclass, replace
from math import lgamma
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pyarrow import parquet as pq
from sklearn.ensemble import RandomForestClassifier
from support.calls import printed_by, refused
from support.documents import release_document
from support.enumerated import compositions
from support.parted import by_values, few_rows, public, same
from support.paths import D1
from support.strategies import (
    NUMBERS,
    SURE,
    Case,
    Style,
    cases,
    impurity,
    leaves_of,
    masses_of,
    owners_of,
    populations,
    thorough,
)

import maxent
from maxent.api import population, review
from maxent.constraints.membership import compile_population
from maxent.constraints.program.residuals import Evaluator
from maxent.disclosure.membership import membership_of
from maxent.models.errors import NoAnswerInTime
from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.induction.inducers import id3
from maxent.models.release import Attribute, Branch, Induction, Node, Release, Target, Tree
from maxent.models.tables.qi_table import read_qi
from maxent.results.bounds import _header as header
from maxent.results.population import PopulationBounds, PopulationEstimate
from maxent.solvers.solve import driver

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
MOST = 40_000  # Worlds that are looked at, at most


@st.composite
def others(draw: Any, case: Case, most: int) -> Any:
    """People who are not in the data: like those who are, or of any values."""
    rows = []
    for _ in range(draw(st.integers(0, most))):
        like = case.people.qi.iloc[draw(st.integers(0, len(case.people) - 1))]
        rows.append(
            {
                a.name: draw(st.sampled_from((like[a.name], *(NUMBERS if a.values is None else a.values))))
                for a in case.people.attributes
                if a.role == "public"
            }
        )
    return pd.DataFrame(rows, columns=case.people.qi.columns).astype(dict(case.people.qi.dtypes))


def true_masses(case: Case, program: Any, out: Any) -> FloatArray:
    """People of each class, and of none, in each cell of a compiled program."""
    cells = program.cells
    apart = len(program.release.trees[0].nodes) > len(case.release.trees[0].nodes)
    nodes = np.array([len(tree.nodes) for tree in case.release.trees])
    places = leaves_of(case.release, case.people.frame)
    places = places + 1 + (places >= nodes) if apart else places
    masses = masses_of(program, case.people.frame, places, case.people.y)
    for owner in owners_of(program, out):
        own = np.flatnonzero(cells.owner == owner)
        left = [i for i in own.tolist() if not apart or (cells.leaf[i] == nodes + 1).all()]
        assert len(left) == 1
        masses[left[0], -1] += 1.0
    return masses


@thorough(200)
@given(
    case=cases(trees=(1, 2)),
    knowledge=st.sampled_from((None, None, ("label", "rate"), ("internal", "counts", "marginal"))),
    data=st.data(),
)
def test_the_truth_satisfies_everything_compiled_of_a_register(case: Case, knowledge: Any, data: Any) -> None:
    out = data.draw(others(case, 12), "others")
    table = read_qi(pd.concat([case.people.qi, out]), case.release)
    marginal = case.people.counts(np.arange(len(case.people))).astype(float)
    for rounding in case.roundings:
        program = compile_population(
            case.release,
            table,
            len(case.people),
            rounding=rounding,
            confidence=SURE,
            knowledge=knowledge,
            marginal=marginal,
        )
        truth = true_masses(case, program, out)
        evaluator = Evaluator(program)
        linear = evaluator.linear.violation(truth)
        assert linear.max(initial=0.0) <= 1e-9, str(program.linear[evaluator.linear.constraint[linear.argmax()]])
        assert evaluator.internal.violation(truth).max(initial=0.0) <= 1e-9
        assert evaluator.max_violation(truth) <= 1e-9
        assert program.contradictions == ()


# --- Enumeration -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Worlds:
    """Everything that can be: people by quasi-identifier and outcome, the last of which is out, and their weights."""

    people: IntArray  # (n_worlds, n_qi, n_classes + 1)
    ways: FloatArray  # (n_worlds,), logarithms


def worlds(case: Case, table: Any, members: int, *, splits: bool) -> Worlds | None:
    """All worlds that agree with a release of public splits, from its text alone; None where there are too many."""
    release, k = case.release, len(case.release.target.classes) + 1
    options = [np.array(list(compositions(int(w), k))) for w in table.counts]
    number = int(np.prod([len(each) for each in options], dtype=float))
    if number > MOST:
        return None
    people = np.zeros((1, 0, k), np.int64)
    for each in options:
        people = np.concatenate(
            [np.repeat(people, len(each), axis=0), np.tile(each, (len(people), 1))[:, None]], axis=1
        )
        left = members - people[:, :, :-1].sum(axis=(1, 2))
        people = people[left >= 0]
    people = people[people[:, :, :-1].sum(axis=(1, 2)) == members]
    shown = table.frame()
    places = leaves_of(release, shown)
    good = np.ones(len(people), bool)
    for t, tree in enumerate(release.trees):
        for i, node in enumerate(tree.nodes):
            under = below(tree, i)
            inside = people[:, np.isin(places[:, t], under), :-1].sum(axis=1)
            good &= agrees(release, node, inside)
            if splits and not node.is_leaf:
                good &= best(case, tree, i, people, places[:, t], shown)
    people = people[good]
    logs = np.array([lgamma(a + 1) for a in range(int(table.counts.max()) + 1)])
    return Worlds(people, -logs[people].sum(axis=(1, 2)))


def below(tree: Tree, place: int) -> list[int]:
    """Places of the leaves below a node; the removed ones are numbered after the nodes."""
    at = {node.id: i for i, node in enumerate(tree.nodes)}
    gone = itertools.count(len(tree.nodes))
    ends = [(i, j) for i, node in enumerate(tree.nodes) for j, b in enumerate(node.branches) if b.child is None]
    removed = {end: next(gone) for end in ends}
    found, stack = [], [place]
    while stack:
        i = stack.pop()
        if i >= len(tree.nodes) or tree.nodes[i].is_leaf:
            found.append(i)
            continue
        stack += [at[b.child] if b.child is not None else removed[i, j] for j, b in enumerate(tree.nodes[i].branches)]
    return found


def agrees(release: Release, node: Any, inside: IntArray) -> Any:
    """Whether the members in a node, shape (n_worlds, n_classes), are those that it states."""
    classes, size = release.target.classes, inside.sum(axis=1)
    good = np.ones(len(inside), bool)
    if node.n is not None:
        good &= size == node.n
    if node.counts is not None:
        good &= (inside == [node.counts.get(c, 0) for c in classes]).all(axis=1)
    if node.label is not None:
        good &= inside[:, classes.index(node.label)] == inside.max(axis=1)
    if node.error_rate is not None:
        share = 1 - node.error_rate
        good &= np.abs(inside[:, classes.index(node.label)] - share * size) <= 1e-9
    return good


def best(case: Case, tree: Tree, place: int, people: IntArray, leaf: IntArray, shown: Any) -> Any:
    """Whether a split is no worse than each one that an inducer without a minimum size would have compared."""
    made, node = tree.induction, tree.nodes[place]
    if made.candidates == "none" or max(made.min_samples_leaf, made.k) > 1 or made.impurity == "gain_ratio":
        return True
    at = {each.id: i for i, each in enumerate(tree.nodes)}
    here = np.isin(leaf, below(tree, place))
    own = [np.isin(leaf, below(tree, at[b.child])) for b in node.branches if b.child is not None]
    if len(own) < len(node.branches):
        return True
    found = np.ones(len(people), bool)
    for w, world in enumerate(people[:, :, :-1]):

        def cost(parts: Any, world: IntArray = world) -> float:
            tables = [world[part].sum(axis=0).astype(float) for part in parts]
            return sum(t.sum() * impurity(t, str(made.impurity)) for t in tables if t.sum())

        chosen = cost(own)
        for parts in rivals(case, tree, place, shown, here):
            found[w] &= chosen <= cost(parts) + 1e-9
    return found


def rivals(case: Case, tree: Tree, place: int, shown: Any, here: Any) -> Any:
    """The parts into which every other split would have divided the people of a node."""
    made, above = tree.induction, used(tree, place)
    for attribute in case.people.attributes:
        values = shown[attribute.name].to_numpy()
        if attribute.values is None:
            cuts = sorted(set(values[here]))
            if made.candidates == "unused":
                continue
            yield from ([here & (values <= v), here & (values > v)] for v in cuts[:-1])
        elif made.candidates != "thresholds":
            if attribute.name not in above:
                yield [here & (values == v) for v in attribute.values]
        elif made.encoding == "onehot":
            yield from ([here & (values == v), here & (values != v)] for v in attribute.values)
        else:
            code = np.array([attribute.values.index(v) for v in values])
            yield from ([here & (code <= v), here & (code > v)] for v in range(len(attribute.values)))


def used(tree: Tree, place: int) -> set[Any]:
    """Attributes that are tested above a node, and its own."""
    found, parent = {tree.nodes[place].attribute}, place
    above = {b.child: i for i, node in enumerate(tree.nodes) for b in node.branches if b.child is not None}
    while tree.nodes[parent].id in above:
        parent = above[tree.nodes[parent].id]
        found.add(tree.nodes[parent].attribute)
    return found


few = populations(rows=(2, 8), public=(1, 2), private=(0, 0), classes=(2, 3))
said = st.builds(
    Style, leaf=st.sampled_from(("label", "rate", "counts", "all")), inner=st.sampled_from(("nothing", "all"))
)


def registered(case: Case, data: Any, splits: bool) -> tuple[Any, Any, Worlds]:
    """A register of at most 12 people, the table of it, and all worlds."""
    out = data.draw(others(case, 12 - len(case.people)), "others")
    register = pd.concat([case.people.qi, out])
    table = read_qi(register, case.release)
    found = worlds(case, table, len(case.people), splits=splits)
    assume(found is not None)
    assert found is not None
    assert len(found.people)
    return register, table, found


@thorough(15)
@given(case=cases(few, kinds=("greedy", "greedy", "anyhow"), style=said, trees=(1, 2)), data=st.data())
def test_bounds_and_who_is_proved_are_those_of_all_memberships(case: Case, data: Any) -> None:
    register, table, found = registered(case, data, splits=True)
    proved = maxent.bounds(case.release, population=register, people=len(case.people), rounding="exact")
    assert isinstance(proved, PopulationBounds)
    assert proved.status == "proved"
    np.testing.assert_array_equal(proved.bounds.low, found.people.min(axis=0))
    np.testing.assert_array_equal(proved.bounds.high, found.people.max(axis=0))
    out, counts = found.people[:, :, -1], table.counts
    told = proved.summary["membership"]
    assert told["proved_members"] == counts[(out == 0).all(axis=0)].sum()
    assert told["proved_non_members"] == counts[(out == counts).all(axis=0)].sum()
    assert told["people"] == len(register)
    assert told["members"] == len(case.people)
    of_one_class = (found.people[:, :, :-1] == counts[:, None]).all(axis=0).any(axis=1)
    assert proved.summary["certain_proved"] == counts[of_one_class].sum()


counted = st.builds(Style, leaf=st.just("counts"), inner=st.sampled_from(("nothing", "all")))


@thorough(12)
@given(case=cases(few, kinds=("anyhow",), style=counted), data=st.data())
def test_the_estimate_of_a_tree_with_counts_is_the_mean_of_all_memberships(case: Case, data: Any) -> None:
    register, table, found = registered(case, data, splits=False)
    result: Any = maxent.estimate(case.release, population=register, people=len(case.people))
    assert isinstance(result, PopulationEstimate)
    assert (result.outcome.status, result.certificate) == ("optimal", "global")
    weight = np.exp(found.ways - found.ways.max())
    mean = np.tensordot(weight / weight.sum(), found.people.astype(float), axes=1) / table.counts[:, None]
    np.testing.assert_allclose(result.membership.joint, mean[:, :-1], atol=1e-6)
    np.testing.assert_allclose(result.membership.member, 1 - mean[:, -1], atol=1e-6)


@thorough(12)
@given(case=cases(few, kinds=("anyhow",), style=counted), data=st.data())
def test_the_rung_of_a_register_is_that_of_all_memberships(case: Case, data: Any) -> None:
    others_and_people, table, found = registered(case, data, splits=False)
    names, classes, qi = list(case.people.qi), case.release.target.classes, case.people.qi
    target = case.release.target.name
    people = qi.assign(**{target: [classes[y] for y in case.people.y]})
    result = maxent.review(case.release, people, qi=names, target=target, population=others_and_people)
    rung: Any = result.rung("population").as_dict()
    assert (rung["status"], rung["why"].split(";")[0]) == ("not_assessed", "no limit names this adversary")
    inside, counts = found.people[:, :, :-1], table.counts
    assert rung["certain_proved"] == counts[(inside == counts[:, None]).all(axis=0).any(axis=1)].sum()
    weight = np.exp(found.ways - found.ways.max())
    joint = np.tensordot(weight / weight.sum(), inside.astype(float), axes=1) / counts[:, None]
    assert rung["certain"] == counts[joint.max(axis=1) > 1 - 1e-6].sum()
    assert rung["worst"]["probability"] == pytest.approx(joint.max(), abs=1e-6)
    assert rung["base_rate"] == pytest.approx(np.bincount(case.people.y).max() / len(people))
    row = {tuple(values): i for i, values in enumerate(table.frame()[names].itertuples(index=False, name=None))}
    mine = joint[[row[values] for values in qi.itertuples(index=False, name=None)]]
    likeliest = mine >= mine.max(axis=1, keepdims=True) - 1e-6  # of classes alike any one is guessed
    hit = likeliest[np.arange(len(people)), case.people.y]
    least = (hit & (likeliest.sum(axis=1) == 1)).mean()
    assert least - 1e-9 <= rung["right_guesses"] <= hit.mean() + 1e-9
    worst = row[tuple(rung["worst"]["qi"][name] for name in names)]
    assert joint[worst].max() == pytest.approx(joint.max(), abs=1e-6)
    assert rung["worst"]["member"] == pytest.approx(joint[worst].sum(), abs=1e-6)


@thorough(12)
@given(case=cases(few, kinds=("anyhow",), style=said, trees=(1, 2)), data=st.data())
def test_other_estimates_are_the_optimum_of_a_generic_solver(case: Case, data: Any) -> None:
    cvxpy = pytest.importorskip("cvxpy")
    out = data.draw(others(case, 12 - len(case.people)), "others")
    register = pd.concat([case.people.qi, out])
    given: dict[str, Any] = {"population": register, "people": len(case.people), "rounding": "exact"}
    result: Any = maxent.estimate(case.release, **given)
    table, release, k = result.program.table, case.release, len(case.release.target.classes)
    mass = cvxpy.Variable((len(table), k + 1), nonneg=True)
    limits = [cvxpy.sum(mass, axis=1) == table.counts, cvxpy.sum(mass[:, :-1]) == len(case.people)]
    places = leaves_of(release, table.frame())
    for t, tree in enumerate(release.trees):
        for i, node in enumerate(tree.nodes):
            inside = np.isin(places[:, t], below(tree, i)).astype(float)
            total = inside @ mass[:, :-1]
            if node.n is not None:
                limits.append(cvxpy.sum(total) == node.n)
            if node.counts is not None:
                limits.append(total == np.array([node.counts.get(c, 0) for c in release.target.classes]))
            if node.label is not None:
                limits.append(total[release.target.classes.index(node.label)] >= total)
            if node.error_rate is not None:
                hits = total[release.target.classes.index(node.label)]
                limits.append(hits == (1 - node.error_rate) * cvxpy.sum(total))
    proved = maxent.bounds(case.release, **given).bounds  # of whole people
    limits += [mass >= proved.low, mass <= proved.high]
    entropy = cvxpy.sum(cvxpy.entr(mass)) + cvxpy.sum(cvxpy.multiply(np.log(table.counts)[:, None], mass))
    problem = cvxpy.Problem(cvxpy.Maximize(entropy), limits)
    problem.solve(solver="CLARABEL")
    assert problem.status == "optimal"
    assert result.certificate == "global"
    assert result.summary["entropy"] * len(register) == pytest.approx(problem.value, abs=1e-4)
    np.testing.assert_allclose(result.membership.joint, mass.value[:, :-1] / table.counts[:, None], atol=2e-3)


@pytest.mark.parametrize("seed", [0, 2, 4])
def test_a_price_of_members_gives_the_optimum_of_the_whole_register(seed: int, monkeypatch: Any) -> None:
    dice = np.random.default_rng(seed)
    sizes = {"a": 4, "b": 3, "c": 2, "d": 2}
    everybody = pd.DataFrame({name: dice.integers(0, size, 300).astype(str) for name, size in sizes.items()})
    a, b, c, d = (everybody[name].astype(int) for name in sizes)
    people = everybody.assign(y=((2 * a + b * c + d + dice.integers(0, 3, 300)) % 4).astype(str))[:150]
    grown = id3(people, target="y", qi=[*sizes], impurity="gini", publish="rates", min_samples_split=12)
    nodes = tuple(replace(node, n=None) for node in grown.trees[0].nodes)
    release = replace(grown, trees=(replace(grown.trees[0], nodes=nodes),))
    found: list[Any] = []
    balanced = driver.balanced
    monkeypatch.setattr(driver, "balanced", lambda *given: found.append(balanced(*given)) or found[-1])
    given: dict[str, Any] = {"population": everybody, "people": 150}
    whole: Any = maxent.estimate(release, backend="scipy", **given)
    assert not found
    for backend in ("auto", "newton"):
        result: Any = maxent.estimate(release, backend=backend, **given)
        assert found.pop()[1]
        assert result.outcome.status == "optimal"
        assert result.outcome.violation <= 1e-8
        assert result.summary["entropy"] == pytest.approx(whole.summary["entropy"], abs=1e-6)


# --- Calls -----------------------------------------------------------------------------------------------------

ROOT = {"id": "root", "attribute": "Sex", "branches": [{"in": ["f"], "child": "L1"}, {"in": ["m"], "child": "L2"}]}


def published(f: Any, m: Any, **more: Any) -> Release:
    """A tree of two leaves with what they state."""
    document = {
        "format": "maxent/1",
        "target": {"name": "Ill", "classes": ["no", "yes"]},
        "attributes": [{"name": "Sex", "type": "categorical", "values": ["f", "m"]}],
        "trees": [{"nodes": [ROOT, {"id": "L1", **f}, {"id": "L2", **m}], **more}],
    }
    return parse_release(document, "tree.json")


COUNTS = {"counts": {"no": 2, "yes": 1}}, {"counts": {"no": 0, "yes": 2}}


def register(f: int, m: int) -> pd.DataFrame:
    return pd.DataFrame({"Sex": ["f"] * f + ["m"] * m})


def test_a_leaf_with_as_many_records_as_people_proves_members() -> None:
    release = published(*COUNTS)
    found: Any = maxent.estimate(release, population=register(4, 2))
    membership = {"people": 6, "members": 5, "proved_members": 2, "proved_non_members": 0, "largest": 1.0}
    assert found.summary["membership"] == membership
    shown = found.posterior
    assert list(shown) == ["Sex", "count", "P(member)", "P(no)", "P(yes)"]
    assert shown["P(member)"].tolist() == pytest.approx([0.75, 1.0])
    assert shown["P(yes)"].tolist() == pytest.approx([1 / 3, 1.0])
    assert found.numbers["certain"] == 2
    assert found.membership.right_guesses == pytest.approx((4 * 0.5 + 2) / 5)
    assert found.base == {"base_rate": 0.6}
    bounds: Any = maxent.bounds(release, population=register(4, 2))
    assert bounds.summary["certain_proved"] == 2
    assert bounds.frame()["class"].tolist() == ["no", "yes", "(not a member)"] * 2
    assert header(bounds) == ["Sex", "count", "P(no)", "P(yes)", "P(not a member)"]


def test_an_answer_that_misses_statements_contradicts_no_proof() -> None:
    result: Any = maxent.estimate(published(*COUNTS), population=register(4, 2))
    bounds: Any = maxent.bounds(published(*COUNTS), population=register(4, 2))
    wrong = np.array([[4.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    found, _ = membership_of(result.program, wrong, 5, bounds.bounds)
    assert (found.joint * found.counts[:, None] <= bounds.bounds.high[:, :-1]).all()
    assert (found.joint * found.counts[:, None] >= bounds.bounds.low[:, :-1]).all()
    assert found.joint.tolist() == [[0.5, 0.25], [0.0, 1.0]]
    assert found.right_guesses <= 1.0
    assert found.measures["certain"] >= found.proved.certain


@pytest.mark.parametrize(
    ("leaves", "people", "values", "member", "no"),
    [
        # One member, whose class is the label: shares of people could be of both classes.
        ([(["a", "c"], {"label": "yes", "n": 1}), (["b"], {"label": "no", "n": 2})], "acbbb", 3, (0.5, 0.5, 2 / 3), 0),
        # Two people cannot have an error rate of 0.4.
        ([(["a", "c"], {"label": "yes", "error_rate": 0.4}), (["b"], {"label": "no"})], "acbbb", 3, (0, 0, 1), np.nan),
    ],
)
def test_an_estimate_of_shares_of_people_is_moved_to_what_whole_people_prove(
    tmp_path: Path, leaves: Any, people: str, values: int, member: Any, no: float
) -> None:
    branches = [{"in": names, "child": f"L{i}"} for i, (names, _) in enumerate(leaves)]
    nodes = [{"id": "root", "attribute": "x", "branches": branches}]
    nodes += [{"id": f"L{i}", **stated} for i, (_, stated) in enumerate(leaves)]
    document = release_document("ill", ["no", "yes"], {"x": [*"abc"]}, nodes)
    given: Any = parse_release(document, "tree"), pd.DataFrame({"x": [*people]})
    found: Any = maxent.estimate(given[0], population=given[1], people=values)
    proved: Any = maxent.bounds(given[0], population=given[1], people=values)
    table = found.posterior  # of a, c and b
    np.testing.assert_allclose(table["P(member)"], member, atol=1e-6)
    np.testing.assert_allclose(table["P(no)"].iloc[0], no, atol=1e-6)
    count = found.membership.counts[:, None]
    assert (found.membership.joint * count <= proved.bounds.high[:, :-1] + 1e-9).all()
    assert (found.membership.joint * count >= proved.bounds.low[:, :-1] - 1e-9).all()
    assert [note for note in found.notes if "are moved to what is proved" in note]
    folder: Any = tmp_path / "parts"  # where all of a leaf are taken together
    given[1].to_csv(tmp_path / "register.csv", index=False)
    parts: Any = maxent.estimate(given[0], population=tmp_path / "register.csv", people=values, folder=folder)
    same(parts.numbers, found.numbers)
    # What is allowed is no more than what is proved.
    assert found.numbers["possible_posterior"] <= (proved.bounds.high[:, :-1] / count).max() + 1e-9
    assert found.numbers["possible_member"] <= 1.0 - (proved.bounds.low[:, -1:] / count).min() + 1e-9


def test_what_is_proved_of_whole_people_is_a_constraint_of_the_estimate() -> None:
    """Three members are of four people in a leaf labelled x, or of two of class y: of the four at most one is y.

    Shares of people could have more. With y = 1, (3 - x) / x = (2 - k) / k of the x + k = 2 others: x = 6 / 5.
    """
    nodes = [
        {"id": "root", "attribute": "a", "branches": [{"in": [name], "child": name} for name in "abc"]},
        {"id": "a", "label": "x"},
        {"id": "b", "label": "y", "error_rate": 0.0},
        {"id": "c", "counts": {"x": 1, "y": 1}},
    ]
    release = parse_release(release_document("t", ["x", "y"], {"a": [*"abc"]}, nodes), "tree")
    found: Any = maxent.estimate(release, population=pd.DataFrame({"a": [*"aaaabbcc"]}), people=5)
    assert found.certificate == "global"
    people = found.membership.joint * found.membership.counts[:, None]
    joint = dict(zip(found.program.table.frame()["a"], people.tolist(), strict=True))
    np.testing.assert_allclose([joint["a"], joint["b"], joint["c"]], [[1.2, 1.0], [0.0, 0.8], [1.0, 1.0]], atol=1e-5)
    assert found.membership.moved == 6


def test_people_of_a_register_whom_no_leaf_has_are_proved_to_be_out() -> None:
    release = published(COUNTS[0], {"counts": {"no": 0, "yes": 0}})
    found: Any = maxent.bounds(release, population=register(4, 2))
    assert found.summary["membership"]["proved_non_members"] == 2
    estimate: Any = maxent.estimate(release, population=register(4, 2))
    assert np.isnan(estimate.membership.of_members[1]).all()
    assert estimate.posterior["P(member)"].tolist() == pytest.approx([0.75, 0.0])


def test_the_number_of_members_is_stated_or_given() -> None:
    release = published({"label": "no"}, {"label": "yes"})
    refused("people", maxent.estimate, release, population=register(4, 2))
    assert maxent.bounds(release, population=register(4, 2), people=3).summary["membership"]["members"] == 3
    refused("at least the 5 people", maxent.estimate, published(*COUNTS), population=register(2, 2))
    refused("register", maxent.estimate, published(*COUNTS), register(3, 2), population=register(4, 2))
    refused("population", maxent.estimate, published(*COUNTS), register(3, 2), people=5)


def test_a_number_of_members_that_counts_contradict_is_refused() -> None:
    said = "people: expected the number of people that the release states, 5, or none, found 4"
    for command in (maxent.bounds, maxent.estimate):
        refused(said, command, published(*COUNTS), population=register(4, 2), people=4)
    stated = published({"label": "no", "n": 3}, {"label": "yes", "n": 2})
    assert maxent.bounds(stated, population=register(4, 2), people=5).summary["membership"]["members"] == 5


def test_comparisons_that_depend_on_who_is_a_member_are_unread() -> None:
    for made, unread in (({}, []), ({"min_samples_leaf": 2}, ["choices of splits"])):
        induction = {"algorithm": "cart", "impurity": "gini", "candidates": "thresholds", **made}
        found = maxent.bounds(published(*COUNTS, induction=induction), population=register(4, 2))
        assert [each["what"] for each in found.summary["unread"]] == unread


PEOPLE = pd.DataFrame({"Sex": ["f"] * 3 + ["m"] * 2, "Ill": ["no", "no", "yes", "yes", "yes"]})


def test_a_review_has_the_figures_of_who_has_a_register_beside_the_table() -> None:
    release = published(*COUNTS)
    given: dict[str, Any] = {"qi": ["Sex"], "target": "Ill", "population": register(4, 3)}
    found = maxent.review(release, PEOPLE, **given, max_member=0.8)
    membership = {"people": 7, "members": 5, "proved_members": 0, "proved_non_members": 0, "largest": 0.75}
    assert {key: found.summary["membership"][key] for key in membership} == pytest.approx(membership)
    assert found.verdict().status == "pass"
    assert found.verdict(max_member=0.7).status == "fail"
    figures: Any = found.register
    assert (figures.certain, figures.certain_proved, figures.in_truth) == (0, 0, True)
    assert figures.right_guesses == pytest.approx(0.8)  # of three women two, and both men
    assert figures.base_rate == pytest.approx(0.6)
    assert figures.worst == {
        "qi": {"Sex": "m"},
        "class": "yes",
        "probability": pytest.approx(2 / 3),
        "member": pytest.approx(2 / 3),
    }
    assert "with a register of 7 people, 5 of them in the data" in str(found)
    [rung] = [each for each in found.summary["ladder"] if each["adversary"] == "population"]
    shown = {name: rung[name] for name in ("certain", "certain_proved", "right_guesses", "base_rate", "worst")}
    assert shown == {name: getattr(figures, name) for name in shown} | {"worst": {**figures.worst, "others": 2}}
    named = maxent.check(
        release, PEOPLE[["Sex"]], {"limits": {"population": {"max_member": 0.7}}}, population=register(4, 3)
    )
    assert named.status == "fail"
    assert maxent.review(release, PEOPLE, qi=["Sex"], target="Ill", max_member=0.8).verdict().status == "cannot_tell"
    refused(
        "a register that holds all people", maxent.review, release, PEOPLE, **{**given, "population": register(4, 1)}
    )


def test_a_limit_on_membership_is_about_who_has_the_register_whomever_the_others_are_about(tmp_path: Path) -> None:
    published(*COUNTS).save(tmp_path / "tree.json")
    PEOPLE.to_csv(tmp_path / "data.csv", index=False)
    register(4, 3).to_csv(tmp_path / "register.csv", index=False)
    files = tmp_path / "tree.json", tmp_path / "data.csv"
    given: dict[str, Any] = {"population": tmp_path / "register.csv"}
    of_review = {"qi": ["Sex"], "target": "Ill", **given}
    for more, whom in (({}, []), ({"max_certain": 5}, [None]), ({"max_certain": 5, "adversary": "rows"}, ["rows"])):
        found = maxent.review(*files, **of_review, **more, max_member=0.7)
        record = found.record(tmp_path / "review.json")
        assert not maxent.verify(tmp_path / "review.json").differences
        told = [each.get("adversary") for each in found.verdict().as_dict()["checks"] if each["key"] != "no_draws"]
        assert told == [each.get("adversary") for each in record["checks"] if each["key"] != "no_draws"]
        assert sorted(map(str, told)) == sorted(map(str, [*whom, "population"]))
        assert (found.verdict().status, found.rung("population", found.named["population"]).status) == ("fail", "fail")
        off = {} if more.get("adversary") else {"off": {"MX209": "nobody has one"}}
        policy = {"limits": {key: more[key] for key in more if key != "adversary"} | {"max_member": 0.7}, **off}
        checked: Any = maxent.check(*files, policy, truth=files[1], **given)
        [row] = [row.as_dict() for row in checked.rows if row.check.id == "MX209"]
        assert (row["adversary"], row["status"], row["off"]) == (
            "population",
            *(("cannot_tell", "nobody has one") if off else ("fail", None)),
        )
    said: Any = maxent.estimate(files[0], **given)
    assert said.verdict(max_member=0.8).announced == (
        "PASS for an adversary with a register of the population, within the stated limits"
    )


def test_no_limit_on_membership_is_passed_over_what_is_not_read() -> None:
    made = {"algorithm": "cart", "impurity": "gini", "candidates": "thresholds", "min_samples_leaf": 2}
    given: dict[str, Any] = {"qi": ["Sex"], "target": "Ill", "population": register(4, 3)}
    found = maxent.review(published(*COUNTS, induction=made), PEOPLE, **given)
    assert found.verdict(max_member=0.8).status == "cannot_tell"
    estimate: Any = maxent.estimate(published(*COUNTS, induction=made), population=register(4, 3))
    assert estimate.verdict(max_member=0.8, max_certain=0).status == "cannot_tell"
    assert estimate.verdict(max_member=0.7).status == "fail"


def test_numbers_of_people_that_are_not_stated_let_anybody_be_a_member() -> None:
    found: Any = maxent.estimate(published({"label": "no"}, {"label": "yes"}), population=register(4, 3), people=4)
    assert found.numbers["possible_member"] == 1.0
    assert found.numbers["possible_certain"] == 4  # of 7 in the register
    assert found.verdict(max_member=0.8).status == "cannot_tell"
    assert found.verdict(max_member=0.5).status == "fail"


def test_a_tree_that_says_nothing_more_lets_no_limit_on_membership_pass() -> None:
    """One of the two members may be in either leaf, or both in one: a second tree of one leaf tells nothing of that."""
    release = published({"label": "no"}, {"label": "yes"})
    root = replace(release.trees[0].root, n=2, counts={"no": 1, "yes": 1})
    first = replace(release.trees[0], nodes=(root, *release.trees[0].nodes[1:]))
    stump = replace(first, nodes=(first.nodes[1],))
    for trees in ((first,), (first, stump)):
        given: dict[str, Any] = {"population": register(2, 2)}
        found: Any = maxent.estimate(replace(release, trees=trees), **given)
        bounds: Any = maxent.bounds(replace(release, trees=trees), **given)
        assert bounds.bounds.low[:, -1].tolist() == [0, 0]
        assert found.numbers["member"] == pytest.approx(0.5)
        assert found.numbers["possible_member"] == 1.0
        assert found.verdict(max_member=0.7).status == "cannot_tell"


THIRD: dict[str, Any] = {"label": "no", "error_rate": 1 / 3}
THIRDS: dict[str, Any] = {"rates": {"no": 2 / 3, "yes": 1 / 3}}


@pytest.mark.parametrize(
    ("leaves", "people", "proved", "status"),
    [
        (({"label": "no"}, {"label": "yes"}), 8, 8, "proved"),  # all of the register
        (({"label": "no", "n": 4}, {"label": "yes", "n": 3}), 7, 4, "proved"),
        ((THIRD, THIRD), 5, 0, "inconsistent"),  # no five people are threes
    ],
)
def test_estimates_and_bounds_of_a_register_prove_the_same(leaves: Any, people: int, proved: int, status: str) -> None:
    given: dict[str, Any] = {"population": register(4, 4), "people": people}
    for level in ("auto", "closed") if proved else ("auto",):
        bounds: Any = maxent.bounds(published(*leaves), **given, level=level)
        assert (bounds.status, bounds.summary["membership"]["proved_members"]) == (status, proved)
    found: Any = maxent.estimate(published(*leaves), **given)
    assert found.summary["membership"]["proved_members"] == proved
    if status == "proved":
        assert (found.outcome.status, found.verdict(max_member=0.9).status) == ("optimal", "fail")
    else:
        assert (found.outcome.status, found.certificate, found.verdict(max_member=1).status) == (
            *("inconsistent", "none"),
            "cannot_tell",
        )
        assert "whole people cannot satisfy all that is stated" in " ".join(found.notes)


@pytest.mark.parametrize("leaves", [(THIRDS, THIRDS), (THIRD, THIRD), ({**THIRD, "n": 3}, {**THIRD, "n": 3})])
def test_shares_of_members_say_how_frequent_classes_are_among_members(leaves: Any) -> None:
    found: Any = maxent.estimate(published(*leaves), population=register(4, 4), people=6)
    assert found.base == {"base_rate": pytest.approx(2 / 3)}


def test_shares_of_members_leave_open_how_many_members_a_leaf_has() -> None:
    """Six women may have three members, so that three of four men are members without the illness."""
    release = published(THIRDS, {"label": "no"})
    root = replace(release.trees[0].root, counts={"no": 5, "yes": 2})
    release = replace(release, trees=(replace(release.trees[0], nodes=(root, *release.trees[0].nodes[1:])),))
    found: Any = maxent.estimate(release, population=register(6, 4))
    assert found.numbers["possible_posterior"] >= 0.75
    assert found.verdict(max_posterior=0.7).status == "cannot_tell"


def test_commands_take_a_register(tmp_path: Path, capsys: Any) -> None:
    published(*COUNTS).save(tmp_path / "tree.json")
    register(4, 2).to_csv(tmp_path / "register.csv", index=False)
    PEOPLE.to_csv(tmp_path / "data.csv", index=False)
    tree, people, data = (str(tmp_path / name) for name in ("tree.json", "register.csv", "data.csv"))
    shown = printed_by(capsys, ["estimate", tree, "--population", people, "--max-member", "0.9", "--enforce"], 3).out
    assert "6 people in the register, 5 of them in the data; proved members 2" in shown
    printed_by(capsys, ["estimate", tree, "--population", people, "-o", str(tmp_path / "members.csv")])
    assert pd.read_csv(tmp_path / "members.csv")["P(member)"].tolist() == pytest.approx([0.75, 1.0])
    printed_by(capsys, ["estimate", tree, "--population", people, "-o", f"{tmp_path}/estimate/"])
    printed_by(capsys, ["bounds", tree, "--population", people, "--level", "closed", "-o", f"{tmp_path}/bounds/"])
    [file] = (tmp_path / "bounds").iterdir()
    assert pd.read_parquet(file)["low"].sum() == pytest.approx(2.0)
    told = json.loads(printed_by(capsys, ["bounds", tree, "--population", people, "--json"]).out)
    assert told["membership"]["proved_members"] == 2
    page, text = tmp_path / "report.html", ["--title", "Who <b> is in", "--purpose", "a register of the town"]
    limited = ["--max-member", "0.9", "--report", str(page), *text]
    printed_by(capsys, ["estimate", tree, "--population", people, *limited])
    held = page.read_text(encoding="utf-8")
    for said in (
        "<h1>Who &lt;b&gt; is in</h1>",
        text[-1],
        "verdict: FAIL",
        "proved members 2",
        "m        2      1.000  0.000   1.000",
    ):
        assert said in held
    maxent.estimate(tree, population=people).report(tmp_path / "python.html", max_member=0.9)
    again = (tmp_path / "python.html").read_text(encoding="utf-8")
    assert held[held.index("6 people") :] == again[again.index("6 people") :]
    beside = ["--truth", data, "--population", people]
    policy = tmp_path / "policy.toml"
    policy.write_text("[limits]\nmax_member = 0.9\n", encoding="utf-8")
    record = str(tmp_path / "record.json")
    printed_by(capsys, ["check", tree, data, *beside, "--policy", str(policy), "--record", record], 3)
    assert "the record is still true" in printed_by(capsys, ["verify", record]).out
    assert "population" in printed_by(capsys, ["estimate", tree, data, "--population", people], 2).err


def test_limits_that_name_a_register_are_judged_by_its_figures(tmp_path: Path) -> None:
    release, qi = published(*COUNTS), PEOPLE[["Sex"]]
    given: dict[str, Any] = {"qi": ["Sex"], "target": "Ill"}
    for people, certain, limit, status in ((2, 2, 1, "fail"), (2, 2, 2, "pass"), (3, 0, 0, "pass")):
        found = maxent.review(
            release, PEOPLE, **given, population=register(4, people), max_certain=limit, adversary="population"
        )
        assert (found.verdict().status, found.verdict().adversary) == (status, "population")
        [rung] = [each for each in found.summary["ladder"] if each["adversary"] == "population"]
        assert (rung["status"], rung["certain"], rung["certain_proved"]) == (status, certain, certain)
        policy = {"limits": {"population": {"max_certain": limit}}}
        checked: Any = maxent.check(release, qi, policy, truth=PEOPLE, population=register(4, people))
        assert checked.status == status
        assert next(each for each in checked.summary["ladder"] if each["adversary"] == "population") == rung
        for number, each in enumerate((found, checked)):
            page = tmp_path / f"{limit}-{people}-{number}.html"
            each.dossier(page)
            assert json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))["ladder"][1] == rung
            report = tmp_path / f"report-{page.name}"
            each.report(report)
            told = page.read_text(encoding="utf-8")
            assert f"in the data and yes{', proved:' if certain else ' with'}" in told
            assert told.count(f"; only P(member) was compared, with {people - 1} other pe") == 2
            whom = "register of the population knows that this person is in" if certain else "the table knows Ill"
            assert f"an adversary with {'a ' * bool(certain)}{whom}" in told
            assert all(rung["why"] in file.read_text(encoding="utf-8") for file in (page, report))
    without = maxent.review(release, PEOPLE, **given, max_certain=5, adversary="population")
    [rung] = [each for each in without.summary["ladder"] if each["adversary"] == "population"]
    assert (rung["status"], rung["certain"]) == ("cannot_tell", None)
    assert "--population" in rung["why"]
    plain: Any = maxent.review(release, PEOPLE, **given).rung("population")
    assert (plain.status, plain.why) == ("not_assessed", rung["why"])


def test_what_is_proved_of_a_register_holds_where_the_estimate_does_not_end(monkeypatch: Any) -> None:
    given: dict[str, Any] = {"qi": ["Sex"], "target": "Ill", "population": register(4, 2), "adversary": "population"}
    whole = population.population_estimate

    def late(*args: Any, **options: Any) -> PopulationEstimate:
        found = whole(*args, **options)
        return replace(found, outcome=replace(found.outcome, status="time_limit"))

    monkeypatch.setattr(population, "population_estimate", late)
    for limits, status in (
        ({"max_certain": 1}, "fail"),
        ({"max_certain": 5}, "cannot_tell"),
        ({"max_member": 0.9}, "fail"),
    ):
        found: Any = maxent.review(published(*COUNTS), PEOPLE, **given, **limits)
        rung = found.rung("population", found.named["population"])
        assert (rung.status, rung.figures.certain, rung.figures.certain_proved) == (status, None, 2)
        assert "stopped at the time limit" in rung.why

    def never(*args: Any, **options: Any) -> Any:
        raise NoAnswerInTime(1.0, "nothing was read")

    monkeypatch.setattr(review, "population_figures", never)
    found = maxent.review(published(*COUNTS), PEOPLE, **given, max_certain=5)
    assert found.reliable
    assert (found.verdict().status, found.register) == ("cannot_tell", None)
    assert "nothing was read" in found.rung("population", found.named["population"]).why


def test_who_has_a_register_knows_no_order_of_rows() -> None:
    dice = np.random.default_rng(0)
    X = pd.DataFrame({name: dice.integers(0, 2, 20) for name in "AB"})
    y = pd.Series(np.where(dice.random(20) < 0.5, "a", "b"), name="y")
    model = RandomForestClassifier(2, max_depth=1, random_state=0).fit(X, y)
    given: dict[str, Any] = {"qi": ["A", "B"], "population": pd.concat([X, X.iloc[:5]])}
    of_table, of_rows = (maxent.review(model, X, y, **given, rows=rows).rung("population") for rows in (False, True))
    assert of_rows.figures.certain is not None
    assert of_rows.as_dict() == of_table.as_dict()


def test_members_and_control_people_of_the_register_are_compared(tmp_path: Path) -> None:
    control = pd.DataFrame({"Sex": ["f", "m", "m"], "Ill": ["no", "no", "yes"]})
    given: dict[str, Any] = {"qi": ["Sex"], "target": "Ill", "control": control, "population": register(4, 4)}
    found = maxent.review(published(*COUNTS), PEOPLE, **given)
    told = found.summary["membership"]["control"]
    assert told["members"] == pytest.approx((3 * 0.75 + 2 * 0.5) / 5)
    assert told["controls"] == pytest.approx((0.75 + 2 * 0.5) / 3)
    assert told["interval"][0] < told["difference"] == pytest.approx(told["members"] - told["controls"])
    assert (told["n_members"], told["n_controls"]) == (5, 3)
    assert found.register is not None
    assert "3 control people" in found.register.words
    found.dossier(tmp_path / "d.html")
    page = (tmp_path / "d.html").read_text(encoding="utf-8")
    for words in (
        "mean P(member) of 5 members 0.650, of 3 control people 0.583",
        "members 80.0 % in truth (base rate 60",
    ):
        assert words in page
    given["control"] = None
    rest = maxent.review(published(*COUNTS), PEOPLE, **given)
    told = rest.summary["membership"]
    assert told["control"]["controls"] == pytest.approx((0.75 + 2 * 0.5) / 3)
    assert (told["control"]["n_controls"], told["control"]["of"]) == (3, "register")
    assert (told["right_guesses"], told["in_truth"]) == (pytest.approx(0.8), True)
    assert rest.register is not None
    assert "of the 3 others of the register 0.583" in rest.register.words
    policy = {"limits": {"max_member": 0.9}}
    checked: Any = maxent.check(published(*COUNTS), PEOPLE[["Sex"]], policy, truth=PEOPLE, population=register(4, 4))
    assert checked.summary["membership"] == told
    assert rest.register.words in checked.lines
    for more, of in ((None, rest), (control, found)):
        alone: Any = maxent.estimate(published(*COUNTS), population=register(4, 4), truth=PEOPLE, control=more)
        assert alone.summary["membership"] == of.summary["membership"]
        assert "in truth right for 80.0 % of the members" in alone.lines()
    given = {"population": register(4, 4), "truth": PEOPLE.iloc[:4]}
    refused("the 5 people of the register who are in the data", maxent.estimate, published(*COUNTS), **given)
    given = {"population": register(2, 4), "truth": PEOPLE}
    refused("a register that holds all people of the data", maxent.estimate, published(*COUNTS), **given)


def test_draws_are_of_the_data_and_not_of_the_register(tmp_path: Path) -> None:
    """Seeds of a forest tell of its training people; a register of others does not contradict them."""
    dice = np.random.default_rng(3)
    register = pd.DataFrame({"a": dice.integers(0, 3, 15), "b": dice.integers(0, 3, 15)})
    people = register.iloc[:10].reset_index(drop=True)
    classes = np.where(dice.random(10) < 0.5, "yes", "no")
    model = RandomForestClassifier(7, random_state=0).fit(people, classes)
    release = maxent.from_sklearn(model, target="s")
    assert release.draws is not None
    found = maxent.bounds(release, population=register, people=10)
    assert found.reliable
    with pytest.raises(maxent.InvalidInput, match=r"people: expected the number of people of the table, 10, or none"):
        maxent.review(release, people.assign(s=classes), target="s", qi=["a", "b"], population=register, people=3)


def test_people_of_a_register_with_values_that_a_release_does_not_know_are_named(tmp_path: Path) -> None:
    release = published(*COUNTS)
    strange = pd.concat([register(4, 2), pd.DataFrame({"Sex": ["x"]})])
    strange.to_csv(tmp_path / "register.csv", index=False)
    said = r"line 8: Sex: expected one of 'f', 'm' \(whoever .* leave these rows out\), found 'x'"
    for more in ({}, {"folder": tmp_path / "out"}):
        with pytest.raises(maxent.InvalidInput, match=said):
            maxent.estimate(release, population=tmp_path / "register.csv", **more)
    refused("leave these rows out", maxent.review, release, PEOPLE, qi=["Sex"], target="Ill", population=strange)
    [tree], attribute = release.trees, release.attributes[0]
    wide = replace(release, attributes=(replace(attribute, values=("f", "m", "x")),))
    assert tree.nodes[0].branches  # no branch takes x
    refused("leave these rows out", maxent.bounds, wide, population=strange)


# --- In parts --------------------------------------------------------------------------------------------------


@thorough(12)
@given(data=st.data())
def test_a_register_in_parts_has_the_numbers_of_one_in_one_piece(data: Any) -> None:
    case = public(data.draw, trees=(1, 2))
    everybody = replace_people(case, data.draw(others(case, 30), "others"))
    marginal = [None, {c: int((case.people.y == i).sum()) for i, c in enumerate(case.release.target.classes)}]
    options: dict[str, Any] = {"people": len(case.people)}
    options["knowledge"] = data.draw(st.sampled_from(["label,rate,counts", None]))
    with tempfile.TemporaryDirectory() as temporary, warnings.catch_warnings():
        warnings.simplefilter("ignore", maxent.UnreliableResult)
        folder = Path(temporary)
        rows = data.draw(st.integers(1, 30))
        pq.write_table(pa.Table.from_pandas(everybody, preserve_index=False), folder / "r.parquet", row_group_size=rows)
        if data.draw(st.booleans()) and options["knowledge"] is None:
            pd.DataFrame(list(marginal[1].items()), columns=["Y", "count"]).to_csv(folder / "m.csv", index=False)
            options["marginal"] = folder / "m.csv"
        given: Any = {"population": folder / "r.parquet", **options}
        whole: Any = maxent.estimate(case.release, **given)
        bounds: Any = maxent.bounds(case.release, level="closed", **given)
        with few_rows(data.draw):
            parts: Any = maxent.estimate(case.release, folder=folder / "estimate", **given)
            proved: Any = maxent.bounds(case.release, level="closed", folder=folder / "bounds", **given)
        compared = any(tree.induction.candidates != "none" for tree in case.release.trees)
        assert (parts.parts is None) == (compared and options["knowledge"] is None)
        if parts.parts is not None:
            # What people of a leaf have together is settled sooner than what each has: proofs may leave less of it.
            told, expected = (
                {**of, "membership": {key: each or 0 for key, each in of["membership"].items()}}
                for of in (parts.summary, whole.summary)
            )
            moved = [(of.membership.moved, of.base) for of in (parts, whole)]
            if told["membership"] == expected["membership"] and moved[0] == moved[1]:  # by what is proved of a leaf
                open_ends = {"proved_most": 0, "possible_member": 0.0}
                same(told, expected)
                same({**parts.numbers, **open_ends}, {**whole.numbers, **open_ends})
                shown, full = by_values(parts.posterior, case), by_values(whole.posterior, case)
                pd.testing.assert_frame_equal(shown, full, rtol=1e-9, atol=1e-9)
            assert told["membership"]["members"] == expected["membership"]["members"]
            assert told["status"] == expected["status"]
        assert proved.parts is not None
        assert proved.status == bounds.status
        if bounds.reliable:
            told, expected = proved.summary["membership"], bounds.summary["membership"]
            assert {**told, "largest": 0} == {**expected, "largest": 0}
            assert told["largest"] == pytest.approx(expected["largest"])
            assert proved.summary["certain_proved"] == bounds.summary["certain_proved"]
            names = [*case.people.qi, "class"]
            shown, full = (each.frame().sort_values(names).reset_index(drop=True) for each in (proved, bounds))
            pd.testing.assert_frame_equal(shown, full, rtol=1e-9, check_dtype=False)


def replace_people(case: Case, out: pd.DataFrame) -> pd.DataFrame:
    """The people of a case, and others, in another order."""
    everybody = pd.concat([case.people.qi, out])
    return everybody.sample(frac=1.0, random_state=len(everybody)).reset_index(drop=True)


def test_what_a_register_in_parts_cannot_have_is_refused(tmp_path: Path) -> None:
    register(4, 2).to_csv(tmp_path / "register.csv", index=False)
    given: dict[str, Any] = {"population": tmp_path / "register.csv", "folder": tmp_path / "out"}
    who = "the people of the register who are in the data"
    refused(who, maxent.estimate, published(*COUNTS), truth=PEOPLE, memory="1kB", **given)
    refused("truth=, the people in the data", maxent.estimate, published(*COUNTS), control=PEOPLE, **given)
    compared = {"algorithm": "cart", "impurity": "gini", "candidates": "thresholds"}
    said = "choices of splits about members of the register"
    refused(said, maxent.estimate, published(*COUNTS, induction=compared), memory="1kB", **given)
    found: Any = maxent.estimate(published(*COUNTS), **given)
    with pytest.raises(maxent.InvalidInput, match="members are in the folder"):
        found.save(tmp_path / "again.csv")
    assert [*map(str, found._display().lines)][-1].startswith("members are in 1 file of")
    assert not (tmp_path / "again.csv").exists()


# --- Proofs that were not asked -----------------------------------------------------------------------------------


def test_what_further_levels_may_prove_of_a_register_is_not_passed() -> None:
    """37 people, of whom 5 are in the data: with a comparison of splits, three of four who are alike are members."""
    nodes = (Node("N", "x", (Branch("L", le=0.5), Branch("R", gt=0.5))),)
    leaves = (Node("L", counts={"p": 2, "q": 1}), Node("R", counts={"p": 1, "q": 1}))
    chosen = Tree(nodes + leaves, Induction("cart", impurity="entropy", candidates="thresholds"))
    columns = tuple(Attribute(name, "numeric") for name in "xy")
    release = Release(Target("t", ("p", "q")), columns, (chosen,))
    people = pd.DataFrame({"x": [1.0, 1, 0, 0, 0], "y": 0.0, "t": [*"qppqp"]})
    register = pd.DataFrame({"x": [1.0] * 33 + [0] * 4, "y": [0.0] * 36 + [1]})
    given: dict[str, Any] = {"population": register, "qi": ["x", "y"], "target": "t"}
    assert maxent.bounds(release, population=register).summary["membership"]["proved_members"] == 3
    asked = maxent.review(release, people, **given, max_member=0.99)
    assert asked.verdict().status == "fail"
    assert asked.register.membership["proved_members"] == 3
    for found in (maxent.review(release, people, **given), maxent.estimate(release, population=register)):
        for limits in ({"max_member": 0.99}, {"max_certain": 0}, {"max_posterior": 0.99}):
            adversary = {"adversary": "population"} if isinstance(found, maxent.Review) else {}
            assert found.verdict(**limits, **adversary).status == "cannot_tell"
        of = found.summary["membership"]
        words = found.register.words if isinstance(found, maxent.Review) else found.lines()[0]
        assert (of["proved_members"], of["proved_non_members"]) == (None, None)
        assert "proved members not settled, proved not to be not settled" in words
    bare = replace(release, trees=(Tree(chosen.nodes),))
    assert maxent.estimate(bare, population=register).verdict(max_member=0.99).status == "pass"


@pytest.mark.parametrize("call", [maxent.estimate, maxent.bounds])
@pytest.mark.parametrize("change", [{"Country": "Mars"}, {"Education": None}])
def test_what_is_wrong_with_a_frame_of_a_register_names_it(call: Any, change: dict[str, Any]) -> None:
    register = pd.concat([pd.read_csv(D1 / "qi.csv")] * 2).assign(**change)
    with pytest.raises(maxent.InvalidInput, match=rf"^population: row 1: {next(iter(change))}: "):
        call(D1 / "tree.json", population=register)
