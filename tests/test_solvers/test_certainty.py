"""Proved bounds: the truth and the estimate lie inside, each level inside the one before it."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog
from support.programs import public as grown
from support.strategies import SURE, Case, Style, cases, populations, thorough, true_facts, true_masses

import maxent
from maxent.api.estimate import compile_release
from maxent.constraints.lifting import lift
from maxent.constraints.presolve.merge import Part, known_totals, merge
from maxent.constraints.program.program import Linear, Program, Regions
from maxent.constraints.program.residuals import InternalRows
from maxent.models.errors import Origin
from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree
from maxent.solvers import control
from maxent.solvers.certainty import linear as certainty_linear
from maxent.solvers.certainty.bounds import whole
from maxent.solvers.certainty.convex import ConvexComparisons
from maxent.solvers.certainty.levels import level_names, prove
from maxent.solvers.certainty.linear import Feasible, WarmProgram
from maxent.solvers.control import Clock

FloatArray = npt.NDArray[np.float64]
small = populations(rows=(2, 16), public=(1, 3), private=(0, 1), classes=(2, 3))
public = populations(rows=(2, 16), public=(1, 3), private=(0, 0), classes=(2, 4))
CONTINUOUS = tuple(name for name in level_names() if name != "integer")
NEAR = 1e-5  # Individuals: estimates miss statements by as much

SOME = 4  # Pairs that are compared in an example


def compiled(case: Case, **options: Any) -> Program:
    return compile_release(case.release, case.people.qi, rounding=case.roundings[0], confidence=SURE, **options)


def of_owners(program: Program, masses: FloatArray) -> FloatArray:
    """Individuals of each quasi-identifier and class."""
    total = np.zeros((len(program.table), program.n_classes))
    np.add.at(total, program.cells.owner, masses)
    return total


def by_linear_programs(program: Program, most: int = 1000) -> tuple[FloatArray, FloatArray]:
    """The bounds of everything linear, from two linear programs for each of some pairs; NaN for all others."""
    shape = len(program.cells), program.n_classes
    rows, lower, upper = [], [], []
    for constraint in program.linear:
        for coef, low, high in zip(constraint.coef, constraint.lower, constraint.upper, strict=True):
            row = np.zeros(shape)
            row[program.regions[constraint.region]] = coef
            rows.append(row.ravel())
            lower.append(low)
            upper.append(high)
    owners = np.arange(len(program.table))[:, None] == program.cells.owner
    a, low, high = np.array(rows).reshape(-1, np.prod(shape)), np.array(lower), np.array(upper)
    above, below = np.isfinite(high), np.isfinite(low)
    told: dict[str, Any] = {
        "A_ub": np.concatenate([a[above], -a[below]]),
        "b_ub": np.concatenate([high[above], -low[below]]) + 1e-9,
        "A_eq": np.repeat(owners, shape[1], axis=1).astype(float),
        "b_eq": program.table.counts,
    }
    found = np.full((2, len(program.table), program.n_classes), np.nan)
    for q, x in np.random.default_rng(0).permutation(list(np.ndindex(found.shape[1:])))[:most].tolist():
        aim = np.zeros(shape)
        aim[program.cells.owner == q, x] = 1.0
        for side, sign in enumerate((1.0, -1.0)):
            answer = linprog(sign * aim.ravel(), **told)
            assert answer.status == 0
            found[side, q, x] = sign * answer.fun
    return found[0], found[1]


@thorough(12)
@given(case=cases(small, trees=(1, 3)), data=st.data())
def test_the_truth_lies_inside_at_every_level(case: Case, data: st.DataObject) -> None:
    program = compiled(case, facts=data.draw(true_facts(case.people), "facts"))
    truth = of_owners(program, true_masses(case, program))
    before = np.zeros(truth.shape), np.repeat(program.table.counts[:, None], program.n_classes, axis=1)
    for level in CONTINUOUS:
        proved = prove(program, level, Clock())
        assert proved.status == "proved"
        low, high = proved.bounds.low, proved.bounds.high
        assert (low <= truth).all(), level
        assert (truth <= high).all(), level
        assert (low >= before[0]).all()
        assert (high <= before[1]).all()
        before = low, high


@thorough(6)
@given(case=cases(small, kinds=("anyhow",), trees=(1, 3)))
def test_linear_bounds_are_those_of_linear_programs(case: Case) -> None:
    program = compiled(case)
    closed, found = (prove(program, level, Clock()).bounds for level in ("closed", "linear"))
    low, high = by_linear_programs(program, SOME)
    asked = np.isfinite(low)
    assert (closed.low <= low + NEAR)[asked].all()
    assert (closed.high >= high - NEAR)[asked].all()
    np.testing.assert_allclose(found.low[asked], low[asked], atol=NEAR)
    np.testing.assert_allclose(found.high[asked], high[asked], atol=NEAR)


plain = st.builds(Style, leaf=st.sampled_from(("label", "rate", "counts", "all")), digits=st.sampled_from((None, 1, 2)))


@thorough(6)
@given(case=cases(public, kinds=("anyhow",), style=plain))
def test_closed_forms_are_exact_for_one_tree_with_public_splits(case: Case) -> None:
    program = compiled(case)
    found = prove(program, "closed", Clock()).bounds
    low, high = by_linear_programs(program, SOME)
    asked = np.isfinite(low)
    np.testing.assert_allclose(found.low[asked], low[asked], atol=NEAR)
    np.testing.assert_allclose(found.high[asked], high[asked], atol=NEAR)


@thorough(6)
@given(case=cases(small, trees=(1, 2)))
def test_the_estimate_lies_inside_the_bounds(case: Case) -> None:
    options: dict[str, Any] = {"rounding": case.roundings[0], "confidence": SURE}
    found = maxent.estimate(case.release, case.people.qi, single_optimum=True, **options)
    if not found.reliable:
        return
    program, counts = found.program, found.program.table.counts[:, None]
    for level in CONTINUOUS:
        bounds = prove(program, level, Clock()).bounds
        people = found.probabilities * counts
        assert (people >= bounds.low - NEAR * counts).all(), level
        assert (people <= bounds.high + NEAR * counts).all(), level


@thorough(6)
@given(case=cases(small, trees=(1, 2)), data=st.data())
def test_one_more_statement_never_widens_a_bound(case: Case, data: st.DataObject) -> None:
    less = compiled(case, knowledge=("label", "rate"))
    more = compiled(case, facts=data.draw(true_facts(case.people), "facts"))
    for level in CONTINUOUS:
        wide, tight = (prove(program, level, Clock()).bounds for program in (less, more))
        assert (tight.low >= wide.low - NEAR).all(), level
        assert (tight.high <= wide.high + NEAR).all(), level


def leaves(*counts: dict[str, int], sizes: tuple[int, ...]) -> tuple[Release, pd.DataFrame]:
    """A tree with a leaf for each of some values of A; of the people of value i there are ``sizes[i]`` of each B."""
    values = tuple(f"a{i}" for i in range(len(counts)))
    nodes = [Node(f"L{i}", counts=each) for i, each in enumerate(counts)]
    root = Node("N", "A", tuple(Branch(f"L{i}", (value,)) for i, value in enumerate(values)))
    attributes = (Attribute("A", values=values), Attribute("B", values=("x", "y")))
    people = pd.DataFrame([(a, b) for a, n in zip(values, sizes, strict=True) for b in "xy" for _ in range(n)])
    return Release(Target("Y", ("p", "q")), attributes, (Tree((root, *nodes)),)), people.set_axis(["A", "B"], axis=1)


def test_frechet_bounds_of_a_leaf() -> None:
    """Of 3 + 3 people 5 are p: at least 2 and at most 3 of each three; all of another leaf are q."""
    release, people = leaves({"p": 5, "q": 1}, {"p": 0, "q": 4}, sizes=(3, 2))
    bounds = prove(compile_release(release, people), "closed", Clock()).bounds
    assert bounds.low.tolist() == [[2, 0], [2, 0], [0, 2], [0, 2]]
    assert bounds.high.tolist() == [[3, 1], [3, 1], [0, 2], [0, 2]]


def test_labels_alone_leave_half_a_leaf() -> None:
    nodes = (Node("N", "A", (Branch("L", ("a0",)), Branch("R", ("a1",)))), Node("L", label="p"), Node("R", label="q"))
    release = Release(Target("Y", ("p", "q", "r")), (Attribute("A", values=("a0", "a1")),), (Tree(nodes),))
    people = pd.DataFrame({"A": ["a0"] * 6 + ["a1"] * 3})
    bounds = prove(compile_release(release, people), "closed", Clock()).bounds
    assert bounds.low.tolist() == [[2, 0, 0], [0, 1, 0]]
    np.testing.assert_allclose(bounds.high, [[6, 3, 3], [1.5, 3, 1.5]], rtol=1e-12)


def test_statements_that_contradict_each_other_prove_nothing() -> None:
    release, people = leaves({"p": 5, "q": 1}, {"p": 0, "q": 4}, sizes=(3, 2))
    facts = pd.DataFrame({"A": ["a1"], "B": ["x"], "Y": ["p"], "count": [1]})
    proved = prove(compile_release(release, people, facts=facts), "closed", Clock())
    assert proved.status == "inconsistent"
    assert proved.bounds.low.max() == 0


def test_what_misses_a_whole_number_by_rounding_is_one() -> None:
    assert whole(np.array([2.9999999, 3.0000001, 2.5, -np.inf])).tolist() == [3.0, 3.0, 2.5, -np.inf]


@pytest.mark.parametrize("example", ["d1", "d2"])
def test_the_examples_without_choices_of_splits_are_as_in_closed_form(example: str) -> None:
    path = f"examples/{example}"
    program = compile_release(f"{path}/tree.json", f"{path}/qi.csv", knowledge="label,rate")
    bounds = prove(program, "closed", Clock()).bounds
    low, high = by_linear_programs(program)
    np.testing.assert_allclose(bounds.low, low, atol=NEAR)
    np.testing.assert_allclose(bounds.high, high, atol=NEAR)


def test_prices_of_any_kind_prove_bounds() -> None:
    """Weak duality: whatever the prices, no feasible point exceeds what they say."""
    rng = np.random.default_rng(0)
    point = rng.integers(0, 4, 12).astype(float)
    matrix = sparse.csr_matrix(rng.integers(-1, 2, (8, 12)).astype(float))
    value, aims = matrix @ point, sparse.csr_matrix(rng.integers(-2, 3, (5, 12)).astype(float))
    upper = np.where(rng.random(8) < 0.5, value + 1, np.inf)
    feasible = Feasible(matrix, value - 1, upper, np.zeros(12), np.full(12, 3.0))
    for scale in (0.0, 0.1, 1.0, 1e6):
        priced = feasible.priced(scale * rng.normal(size=8))
        assert not priced.contradiction
        assert (priced.of(aims) >= aims @ point).all()
    apart = Feasible(sparse.csr_matrix(np.ones((1, 2))), np.full(1, 3.0), np.full(1, 4.0), np.zeros(2), np.ones(2))
    assert apart.priced(np.array([-1.0])).contradiction


def overlapping() -> Program:
    """Of each two of three values of A, with 2 people each, 2 are p: so 1 of each is, which no leaf tells by itself."""
    trees = []
    for other, pair in (("a", ("b", "c")), ("b", ("a", "c")), ("c", ("a", "b"))):
        nodes = (Node("N", "A", (Branch("L", pair), Branch(None, (other,)))), Node("L", counts={"p": 2, "q": 2}))
        trees.append(Tree(nodes))
    release = Release(Target("Y", ("p", "q")), (Attribute("A", values=("a", "b", "c")),), tuple(trees))
    return compile_release(release, pd.DataFrame({"A": ["a", "a", "b", "b", "c", "c"]}))


def test_linear_programs_tell_what_no_single_leaf_does() -> None:
    closed, linear = (prove(overlapping(), level, Clock()).bounds for level in ("closed", "linear"))
    assert closed.low.tolist() == [[0, 0]] * 3
    assert closed.high.tolist() == [[2, 2]] * 3
    assert linear.low.tolist() == linear.high.tolist() == [[1, 1]] * 3
    assert linear.low_by.tolist() == linear.high_by.tolist() == [[1, 1]] * 3


def test_convex_comparisons_narrow_what_no_leaf_tells() -> None:
    """The published tree of Zhu & Du (2010), Example 1: the splits chosen rule out much for the first two people."""
    program = compile_release("examples/d1/tree.json", "examples/d1/qi.csv")
    linear, convex = (prove(program, level, Clock()).bounds for level in ("linear", "convex"))
    tighter = np.flatnonzero((convex.low > linear.low).any(axis=1))
    assert len(tighter) == 2
    assert linear.low[tighter].tolist() == [[0, 0], [0, 0]]
    np.testing.assert_allclose(np.sort(convex.low[tighter], axis=1), [[0, 0.6530], [0, 0.6530]], atol=1e-4)
    assert set(convex.low_by[convex.low > linear.low].tolist()) == {2}


@pytest.mark.parametrize("measure", ["gini", "entropy"])
def test_tangents_leave_every_point_that_meets_a_comparison(measure: str) -> None:
    release, frame = grown(measure, publish="counts", seed=1)
    program = compile_release(release, frame)
    rows, totals = InternalRows(program), known_totals(program)
    active = np.arange(rows.n_rows)
    merged = merge(program, rows, active)
    everyone = Part(np.arange(len(merged.owner)), np.arange(len(program.linear)), active)
    lifted = lift(program, merged, everyone, rows, totals)
    comparisons = ConvexComparisons(lifted.program)
    truth = np.zeros((len(program.cells), program.n_classes))
    owner = {
        tuple(level[c] for level, c in zip(program.table.levels, codes, strict=True)): q
        for q, codes in enumerate(program.table.codes)
    }
    cell = np.argsort(program.cells.owner)
    for *values, label in frame[["A", "B", "C", "X"]].itertuples(index=False):
        truth[cell[owner[tuple(values)]], program.release.target.classes.index(label)] += 1
    inside = lifted.point(merged.pool(truth))
    rng, number = np.random.default_rng(0), 0
    for _ in range(20):
        outside = np.clip(inside + rng.normal(size=len(inside)), lifted.program.lower, lifted.program.upper)
        matrix, lower = comparisons.cuts(outside)
        number += len(lower)
        assert (matrix @ inside >= lower).all()
        assert (matrix @ outside < lower).all()
    assert number
    assert not comparisons.cuts(inside)[0].shape[0]


@pytest.mark.parametrize("level", level_names())
def test_statements_that_weigh_people_are_taken_with_their_weights(level: str) -> None:
    """Of three people, whose weights are 1, 1 and -1, the class b has a weight of 2: so it is that of the first two."""
    people = pd.DataFrame({"A": ["x"], "B": ["x"]}).loc[[0, 0, 0]].assign(B=["x", "y", "z"])
    attributes = (Attribute("A", values=("x", "y")), Attribute("B", values=("x", "y", "z")))
    nodes = (Node("N", "A", (Branch("L", ("x",)), Branch("R", ("y",)))), Node("L"), Node("R"))
    program = compile_release(Release(Target("Y", ("a", "b")), attributes, (Tree(nodes),)), people)
    weights = np.where(program.table.codes[program.cells.owner, 1] == 2, -1.0, 1.0)[:, None].repeat(2, axis=1)
    two, here = np.full(1, 2.0), np.arange(len(program.cells))
    said = Linear("toy", Origin("toy"), 0, np.array([[0.0, 1.0]]), two, two, "a sum", weights)
    regions = Regions(np.array([0, len(here)]), here, (None,))
    found = prove(replace(program, linear=(said,), regions=regions), level, Clock()).bounds
    truth = np.where(program.table.codes[:, 1:] == 2, [[1.0, 0.0]], [[0.0, 1.0]])
    assert (found.low <= truth).all()
    assert (found.high >= truth).all()
    if level != "closed":
        np.testing.assert_allclose(found.low, truth, atol=NEAR)
        np.testing.assert_allclose(found.high, truth, atol=NEAR)


def test_what_there_is_no_time_for_keeps_the_looser_bound() -> None:
    program = overlapping()
    closed, late = prove(program, "closed", Clock()), prove(program, "linear", Clock(1e-9))
    assert late.status == "time_limit"
    assert late.bounds.unasked.any()
    assert (late.bounds.high >= closed.bounds.high).all()
    assert (late.bounds.low <= closed.bounds.low).all()


def test_prices_prove_that_leaves_contradict_each_other() -> None:
    """Two trees that each count 3 people of 4 as p, another that counts 1 of the same."""
    attributes = (Attribute("A", values=("x", "y")), Attribute("B", values=("x", "y")))
    people = pd.DataFrame([(a, b) for a in "xy" for b in "xy"], columns=["A", "B"])
    trees = []
    for name, counts in (("A", (1, 1)), ("B", (2, 1))):
        leaves = tuple(Node(f"L{v}", counts={"p": n, "q": 2 - n}) for v, n in zip("xy", counts, strict=True))
        trees.append(Tree((Node("N", name, tuple(Branch(f"L{v}", (v,)) for v in "xy")), *leaves)))
    program = compile_release(Release(Target("Y", ("p", "q")), attributes, tuple(trees)), people)
    assert prove(program, "linear", Clock()).status == "inconsistent"


def test_a_search_that_takes_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "LONG", 0.0)
    monkeypatch.setattr(certainty_linear, "WORTHWHILE", 2.0)
    heard: list[str] = []
    with control.hearing(heard.append):
        prove(overlapping(), "linear", Clock())
    assert len(heard) == 1
    assert "may need a linear program each" in heard[0]


@pytest.mark.parametrize(("by", "there"), [(1e-12, True), (0.5, False)])
def test_sides_that_cross_by_rounding_alone_leave_a_point(by: float, there: bool) -> None:
    """HiGHS refuses the whole program for such a row, and would say nothing of the others."""
    matrix = sparse.csr_matrix(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    sides = Feasible(matrix, np.array([2.0 + by, 0.0]), np.array([2.0, 1.0]), np.zeros(3), np.full(3, 5.0))
    vertex = WarmProgram(sides, Clock()).largest(np.array([1.0, 1.0, 1.0]))
    assert vertex is not None
    assert vertex.point is not None
    assert vertex.point.sum() == pytest.approx(3.0 + by)
    assert sides.crossed is not there


def test_a_program_without_a_point_is_told_from_one_with(capfd: pytest.CaptureFixture[str]) -> None:
    matrix = sparse.csr_matrix(np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    sides = np.array([5.0, 2.0, 1.0])
    apart = Feasible(matrix, sides, sides, np.zeros(3), np.full(3, 5.0))
    vertex = WarmProgram(apart, Clock()).largest(np.array([1.0, 0.5, 0.0]))
    assert vertex is not None
    assert vertex.point is None
    assert any(apart.priced(sign * vertex.prices).contradiction for sign in (1.0, -1.0))
    assert capfd.readouterr() == ("", "")
