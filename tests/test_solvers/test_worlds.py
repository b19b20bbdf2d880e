"""Bounds for whole people against every world there is."""

import os
import signal
from concurrent.futures import Executor
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from support.brute_force import _recipe, dense, releases
from support.enumerated import enumerated
from support.libraries import stated
from support.paths import EXAMPLES
from support.programs import public
from support.strategies import SURE, Case, Style, cases, owners_of, populations, thorough, true_facts, true_masses

import maxent
from maxent.api.estimate import compile_release
from maxent.constraints.compiler import compile_program
from maxent.constraints.program.program import Program
from maxent.models import packages
from maxent.models.errors import MissingExtra
from maxent.models.release import Attribute, Branch, Induction, Node, Release, Target, Tree
from maxent.models.tables.qi_table import read_qi
from maxent.results.bounds import bounds_lines
from maxent.solvers.certainty import integer
from maxent.solvers.certainty.exchange import perhaps_certain
from maxent.solvers.certainty.integer import WholeBounds, likely, whole_bounds
from maxent.solvers.certainty.levels import level_names, prove
from maxent.solvers.control import Clock
from maxent.solvers.worlds import settle
from maxent.solvers.worlds.part import scaled
from maxent.solvers.worlds.settle import Patience, here


def there(program: Program, low: Any, high: Any) -> WholeBounds:
    """Bounds of every pair from linear ones, in the same process."""
    return whole_bounds(program, low, high, low < high, Patience.of(Clock(60.0)), here)


def bounds(other: Executor, program: Program) -> WholeBounds:
    """Bounds of every pair."""
    linear = prove(program, "linear", Clock()).bounds
    return other.submit(there, program, linear.low, linear.high).result()


def check(other: Executor, case: Case) -> None:
    """Bounds are those of all worlds, and each is attained by a world that was found; the truth is inside."""
    problem = dense(case)
    worlds = enumerated(problem)
    assume(worlds is not None)
    table = read_qi(case.people.qi, case.release)
    program = compile_program(case.release, table, rounding="exact")
    found = bounds(other, program)
    low, high = found.low, found.high
    assert not found.late.any()
    assert found.left_out == 0
    rows = owners_of(program, problem.q)
    assert low[rows].tolist() == worlds.people.min(axis=0).tolist()
    assert high[rows].tolist() == worlds.people.max(axis=0).tolist()
    wider = prove(program, "linear", Clock(60.0)).bounds
    assert (wider.low <= low).all()
    assert (wider.high >= high).all()
    truth = np.zeros(low.shape)
    np.add.at(truth, program.cells.owner, true_masses(case, program))
    assert (low <= truth).all()
    assert (truth <= high).all()


CASES = st.one_of(
    releases(False, (2, 2), ("rate", "counts", "all", "mixture")),
    releases(False, (3, 3), ("rate", "label", "counts", "mixture")),
    releases(True, (2, 3), ("rate", "rate and n", "counts", "mixture")),
)


@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(case=CASES)
def test_bounds_are_those_of_all_worlds(other: Executor, case: Case) -> None:
    check(other, case)


@pytest.mark.slow
@thorough(1000)
@given(case=CASES)
def test_bounds_are_those_of_all_worlds_hundreds_of_times(other: Executor, case: Case) -> None:
    check(other, case)


def test_a_world_in_which_no_split_tells_anything_is_possible() -> None:
    """Half of each value may be of class c, the other half of a: OR-Tools once took that for contradictory."""
    values = Attribute("A", values=("z", "x", "y"))
    root = Node("N", "A", (Branch("Y", values=("y",)), Branch("M", values=("z", "x"))))
    inner = Node("M", "A", (Branch("Z", values=("z",)), Branch("X", values=("x",))))
    leaves = (Node(name, label=label) for name, label in (("Y", "c"), ("Z", "c"), ("X", "a")))
    grown = Induction("binary", "entropy", "thresholds", encoding="onehot")
    release = Release(Target("T", ("c", "a", "d")), (values,), (Tree((root, inner, *leaves), grown),))
    found = maxent.bounds(release, pd.DataFrame({"A": list("zzxxxxyy")}), level="integer")
    assert found.status == "proved"
    assert found.high[2].tolist() == [1.0, 0.5, 0.5]


def compiled(example: str, **options: Any) -> Program:
    """The program of an example."""
    folder = EXAMPLES / example
    return maxent.bounds(folder / "tree.json", folder / "qi.csv", level="closed", **options).program


@pytest.mark.parametrize("example", ["d1", "d2"])
@pytest.mark.parametrize("impurity", ["gini", "entropy", "gain_ratio"])
def test_everybody_in_the_examples_is_determined_by_the_choice_of_splits(
    other: Executor, example: str, impurity: Any
) -> None:
    program = compiled(example, impurity=impurity)
    assert prove(program, "linear", Clock()).bounds.open.sum() == 4
    found = bounds(other, program)
    truth = pd.read_csv(EXAMPLES / example / "truth.csv")
    names = [a.name for a in program.table.attributes]
    each = truth.groupby(names)["Salary"].value_counts().to_dict()
    keys = program.table.frame()[names].itertuples(index=False, name=None)
    people = [[each.get((*key, c), 0) for c in program.release.target.classes] for key in keys]
    assert found.low.tolist() == found.high.tolist() == people


@pytest.mark.slow
def test_the_level_is_named_where_it_proves() -> None:
    found = maxent.bounds(EXAMPLES / "d2" / "tree.json", EXAMPLES / "d2" / "qi.csv")
    assert found.status == "proved"
    assert (found.low == found.high).all()
    open_before = prove(found.program, "linear", Clock()).bounds.open
    assert (np.array(level_names())[found.proved_by[open_before]] == "integer").all()


@pytest.mark.parametrize("example", ["d1", "d2"])
def test_without_choices_of_splits_the_examples_are_as_in_closed_form(other: Executor, example: str) -> None:
    program = compiled(example, knowledge=("label", "rate"))
    closed, whole = prove(program, "closed", Clock()).bounds, bounds(other, program)
    assert closed.low.tolist() == whole.low.tolist()
    assert closed.high.tolist() == whole.high.tolist()


def test_people_are_whole(other: Executor) -> None:
    """Three leaves that overlap in pairs leave half a person to each, or nobody."""
    program = odd_cycle()
    assert not prove(program, "linear", Clock()).bounds.contradicted
    assert bounds(other, program).contradicted


def odd_cycle() -> Program:
    """Three people, of whom any two have one with the class b between them: 1.5 together."""
    people = pd.DataFrame({"A": ["x", "y", "z"]})
    attribute = Attribute("A", values=("x", "y", "z"))
    trees = []
    for t, alone in enumerate("xyz"):
        root = Node(f"N{t}", "A", (Branch(f"L{t}", (alone,)), Branch(f"R{t}", tuple(v for v in "xyz" if v != alone))))
        trees.append(Tree((root, Node(f"L{t}"), Node(f"R{t}", counts={"a": 1, "b": 1}))))
    release = Release(Target("Y", ("a", "b")), (attribute,), tuple(trees))
    return compile_program(release, read_qi(people, release))


def test_a_tie_with_an_earlier_attribute_is_possible_unless_the_first_is_taken(other: Executor) -> None:
    """Two attributes that divide four people alike: A before B, and B was chosen."""
    release, people = tied()
    program = compile_program(release, read_qi(people, release))
    loose, strict = bounds(other, program), bounds(other, replace(program, ties="first"))
    rows = {tuple(r): i for i, r in enumerate(program.table.frame()[["A", "B"]].to_numpy().tolist())}
    assert loose.low[:, 0].tolist() == [0, 0, 0, 0]
    assert not loose.contradicted
    assert not strict.contradicted
    # Of those with B = u either all have the class a or all have b, once B was better than A.
    assert strict.low[:, 0].tolist() == [0, 0, 0, 0]
    for part, state in strict.states:
        owner = program.cells.owner[strict.whole.merged.cell[part.groups]].tolist()
        alike = [owner.index(rows[a, "u"]) for a in "xy"]
        assert all(world[alike[0], 0] == world[alike[1], 0] for world in state.worlds)


def tied() -> tuple[Release, pd.DataFrame]:
    """Four people, whom two attributes divide alike."""
    people = pd.DataFrame({"A": ["x", "x", "y", "y"], "B": ["u", "v", "u", "v"]})
    attributes = Attribute("A", values=("x", "y")), Attribute("B", values=("u", "v"))
    root = Node("N", "B", (Branch("L", ("u",)), Branch("R", ("v",))), counts={"a": 2, "b": 2})
    tree = Tree((root, Node("L"), Node("R")), Induction("id3", "gini", "unused"))
    return Release(Target("Y", ("a", "b")), attributes, (tree,)), people


def test_without_or_tools_the_way_to_get_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "find_spec", lambda module: None if module == "ortools" else True)
    files = EXAMPLES / "d1" / "tree.json", EXAMPLES / "d1" / "qi.csv"
    assert maxent.bounds(*files).level == level_names()[-2] == "convex"
    with pytest.raises(MissingExtra, match="OR-Tools: pip install ortools"):
        maxent.bounds(*files, level="integer")


@settings(max_examples=30)
@given(st.lists(st.fractions(-1, 1, max_denominator=9), min_size=1, max_size=3), st.integers(1, 10_000))
def test_rows_are_never_tighter_than_stated(shares: list[Any], people: int) -> None:
    coef = tuple(float(share) for share in shares)
    found = scaled(coef, float(people))
    assert found is not None
    whole, by, rounding = found
    for share, c, w in zip(shares, coef, whole, strict=True):
        assert w == share * by  # fractions are found again
        assert abs(c * by - w) <= rounding + 1e-9


def test_what_looks_certain_is_the_estimate_and_orders_questions(other):
    frame = pd.read_csv(EXAMPLES / "d1" / "qi.csv")
    release = maxent.load_release(EXAMPLES / "d1" / "tree.json")
    program = compile_program(release, read_qi(frame, release))
    found = likely(program, Clock())
    known = maxent.estimate(release, frame, knowledge="label,rate").probabilities
    np.testing.assert_allclose(found, known, atol=1e-7)
    linear = prove(program, "linear", Clock()).bounds
    asked = program, linear.low, linear.high, linear.low < linear.high, Patience.of(Clock(60.0)), here
    plain, guessed = (other.submit(_guessing, *asked, shares).result() for shares in (None, known))
    assert (plain.low == guessed.low).all()
    assert (plain.high == guessed.high).all()


def _guessing(program, low, high, questions, patience, run, shares):
    """Bounds with a guess, of parts that are taken to be large."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(integer, "SMALL", 0)
        patch.setattr(settle, "SMALL", 0)
        return whole_bounds(program, low, high, questions, patience, run, lambda: shares)


def killed(*arguments: Any) -> None:
    """In the place of CP-SAT, in its process."""
    os.kill(os.getpid(), signal.SIGSEGV)


def test_a_solver_that_ends_leaves_what_was_proved_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """A native crash is the answer of the level: bounds of the others hold, and nothing is said to be proved."""
    monkeypatch.setattr("maxent.solvers.worlds.settle._there", killed)
    found = maxent.bounds(*tied(), level="integer", witness=True)
    linear = maxent.bounds(*tied(), level="linear")
    assert found.status == "solver_ended"
    assert "the solver ended" in "\n".join(bounds_lines(found))
    assert found.summary["pairs_not_asked"] == linear.bounds.open.sum() > 0
    assert (found.bounds.low >= linear.bounds.low).all()
    assert (found.bounds.high <= linear.bounds.high).all()
    assert found.unwitnessed is not None
    assert "the solver ended (SIGSEGV)" in found.unwitnessed


IntArray = npt.NDArray[np.int64]

FEW = cases(
    populations(rows=(2, 8), public=(1, 3), private=(0, 0), classes=(2, 3)),
    kinds=("greedy", "greedy", "anyhow"),
    trees=(1, 2),
    style=st.builds(Style, leaf=st.sampled_from(("rate", "label", "counts", "mixture"))),
    recipe=_recipe,
)


def truth_of(program: Program, case: Case) -> IntArray:
    """People of each quasi-identifier and class."""
    people = np.zeros((len(program.table), program.n_classes))
    np.add.at(people, program.cells.owner, true_masses(case, program))
    return people.astype(np.int64)


def left(program: Program, truth: IntArray, *views: Any) -> Any:
    """Who may be certain."""
    found = perhaps_certain(program, truth, [np.arange(program.n_classes), *views], Clock())
    assert found is not None
    return found if views else found[0]


@thorough(200)
@given(FEW)
@pytest.mark.promise(number=8)
def test_nobody_is_cleared_whose_class_is_the_same_in_every_world(case: Case) -> None:
    problem = dense(case)
    worlds = enumerated(problem)
    assume(worlds is not None)
    assert worlds is not None
    program = compile_release(case.release, case.people.qi, rounding="exact")
    there = owners_of(program, problem.q)
    certain = ((worlds.people > 0).sum(axis=2) == 1).all(axis=0) & ((worlds.people > 0).any(axis=0).sum(axis=1) == 1)
    truth = truth_of(program, case)
    assert left(program, truth)[there][certain].all()
    if program.n_classes == 3:  # two classes that are one value
        view = np.array([0, 0, 1])
        alike = np.stack([worlds.people[:, :, :2].sum(axis=2), worlds.people[:, :, 2]], axis=2) > 0
        assert left(program, truth, view)[1][there][alike.any(axis=0).sum(axis=1) == 1].all()


@thorough(100)
@given(FEW, st.data())
def test_nobody_is_cleared_whose_class_is_proved_of_linear_statements_and_facts(case: Case, data: Any) -> None:
    facts = data.draw(true_facts(case.people))
    options = {"rounding": case.roundings[0], "confidence": SURE, "facts": facts}
    program = compile_release(case.release, case.people.qi, **options)
    proved = prove(program, "linear", Clock()).bounds
    certain = (proved.low >= program.table.counts[:, None]).any(axis=1)
    assert left(program, truth_of(program, case))[certain].all()


def test_people_of_a_leaf_with_two_classes_are_cleared_though_splits_were_compared() -> None:
    release, frame = public("gini", publish="counts")
    program = compile_release(release, frame[["A", "B", "C"]])
    truth = np.zeros((len(program.table), 3), np.int64)
    rows = list(program.table.frame()[["A", "B", "C"]].itertuples(index=False, name=None))
    for row, y in zip(frame[["A", "B", "C"]].itertuples(index=False, name=None), frame["X"], strict=True):
        truth[rows.index(row), "abc".index(y)] += 1
    assert program.internal
    masses = np.zeros((len(program.cells), 3))
    masses[:] = truth[program.cells.owner]
    leaves = program.cells.trees[0].places.leaves
    pure = [p for p in leaves.tolist() if (masses[program.cells.trees[0].at(p)].sum(axis=0) > 0).sum() == 1]
    expected = np.zeros(len(truth), bool)
    for place in pure:
        expected[program.cells.owner[program.cells.trees[0].at(place)]] = True
    assert not expected.all()
    assert left(program, truth).tolist() == expected.tolist()


def test_of_a_truth_that_misses_a_statement_nothing_is_concluded() -> None:
    release, frame = public("gini", publish="counts")
    program = compile_release(release, frame[["A", "B", "C"]])
    truth = np.zeros((len(program.table), 3), np.int64)
    truth[:, 0] = program.table.counts
    assert perhaps_certain(program, truth, [np.arange(3)], Clock()) is None


@pytest.mark.parametrize("seed", range(6))
def test_whoever_is_cleared_beside_choices_has_two_classes_in_models_of_one_file(seed: int) -> None:
    """Forests that draw attributes, grown again of all labellings of eight people whom an id tells apart."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.integers(0, 4, 8), "b": rng.integers(0, 3, 8)}).astype(float)
    y = np.arange(8) % 2
    kind = (RandomForestClassifier, ExtraTreesClassifier)[seed % 2]
    model = kind(2, max_depth=2, max_features=1, bootstrap=False, random_state=seed).fit(X, y)
    people = X.assign(id=np.arange(8.0))
    program = maxent.review(model, people, y, qi=["a", "b", "id"], target="Y").estimate.program
    there = program.table.frame()["id"].astype(float).astype(int).to_numpy()
    found = perhaps_certain(program, np.eye(2, dtype=np.int64)[y[there]], [np.arange(2)], Clock(), choices=True)
    assert found is not None
    labels = [np.isin(np.arange(8), ones).astype(int) for ones in combinations(range(8), 4)]
    told = stated(model)
    alike = np.array([each for each in labels if stated(clone(model).fit(X, each)) == told])
    assert not ((alike == alike[0]).all(axis=0)[there] & ~found[0]).any()


def test_some_are_cleared_beside_choices() -> None:
    X = pd.DataFrame({"a": np.repeat([0.0, 1.0, 2.0, 3.0], 6), "b": np.tile([0.0, 1.0, 2.0], 8)})
    y = np.array([0, 0, 0, 0, 0, 1] * 2 + [1, 1, 1, 1, 1, 0] * 2)
    model = RandomForestClassifier(1, max_depth=1, max_features=1, bootstrap=False, random_state=0).fit(X, y)
    people = X.assign(id=np.arange(24.0))
    found = maxent.review(model, people, y, qi=["a", "b", "id"], target="Y", max_certain=0)
    assert found.estimate.program.release.trees[0].induction.among == ("a", "b")
    assert found.summary["worst_case"]["max_posterior"] == 1.0
    assert found.summary["worst_case"]["certain"] == 0
    assert found.verdict().status == "pass"
