"""Evaluation of every constraint at once agrees with a direct one, constraint by constraint."""

import importlib.resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.linalg import null_space
from scipy.optimize import minimize
from scipy.sparse.csgraph import connected_components
from scipy.stats import beta, binom
from support.calls import printed_by
from support.documents import release_document
from support.generalised import assignments
from support.paths import D1
from support.strategies import Case, badness, cases, populations, thorough, true_facts

import maxent
from maxent.api.estimate import compile_release
from maxent.constraints.compiler import compile_program
from maxent.constraints.kinds import registry
from maxent.constraints.kinds.context import Context, Kind
from maxent.constraints.kinds.sampling import Counting, true_count_bounds
from maxent.constraints.presolve import parts
from maxent.constraints.presolve.merge import alike
from maxent.constraints.presolve.parts import MOST, independent_rows, water_fill
from maxent.constraints.program import impurity
from maxent.constraints.program import residuals as evaluate
from maxent.constraints.program.cells import CellSums, build_cells, place_sizes
from maxent.constraints.program.impurity_numpy import PHI
from maxent.constraints.program.program import FEW_LINKS, Internal, Linear, Program, components
from maxent.constraints.program.residuals import Evaluator
from maxent.constraints.records import assign_rows
from maxent.disclosure.inference import NO_GROUP, _groups
from maxent.models.errors import Origin
from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.formats.registry import load_release
from maxent.models.tables.qi_table import read_qi
from maxent.models.tables.truth_and_facts import read_facts


def inside(program: Program, tree: int, place: int) -> Any:
    """Which cells are below a place, found by walking down to its leaves."""
    children = program.cells.trees[tree].places.children
    leaves, stack = [], [place]
    while stack:
        at = stack.pop()
        stack.extend(children[at])
        if not children[at]:
            leaves.append(at)
    return np.isin(program.cells.leaf[:, tree], leaves)


def slack(program: Program, constraint: Internal, masses: Any) -> list[float]:
    """How much worse the candidate's splits are than the chosen one, straight from the definition of the impurity."""
    cells = inside(program, constraint.tree, constraint.place)
    branches = program.cells.trees[constraint.tree].places.children[constraint.place]
    chosen = [masses[inside(program, constraint.tree, child)].sum(axis=0) for child in branches]
    code = program.table.codes[program.cells.owner, constraint.column]
    if constraint.form == "values":
        parts = [[cells & (code == v) for v in np.unique(code[cells])]]
    elif constraint.form == "cuts":
        parts = [[cells & (code <= c), cells & (code > c)] for c in constraint.codes]
    else:
        parts = [[cells & (code == c), cells & (code != c)] for c in constraint.codes]
    ours = badness([table for table in chosen if table.sum()], constraint.measure)
    tables = [[masses[part].sum(axis=0) for part in split] for split in parts]
    return [badness(split, constraint.measure) - ours for split in tables]


def agrees(program: Program, masses: Any) -> None:
    evaluator = Evaluator(program)
    expected = [s for constraint in program.internal for s in slack(program, constraint, masses)]
    found = evaluator.internal.slack(masses)
    assert found == pytest.approx(np.array(expected), abs=1e-10)
    assert evaluator.internal.violation(masses) == pytest.approx(np.maximum(-found, 0.0))
    numbers = [i for i, constraint in enumerate(program.internal) for _ in range(constraint.rows)]
    assert evaluator.internal.constraint_of(np.arange(evaluator.internal.n_rows)).tolist() == numbers
    values, missed = [], []
    for constraint in program.linear:
        cells = program.regions[constraint.region]
        people = program.table.counts[np.unique(program.cells.owner[cells])].sum()
        value = constraint.coef @ masses[cells].sum(axis=0)
        values += value.tolist()
        miss = np.maximum(np.maximum(constraint.lower - value, value - constraint.upper), 0.0)
        missed += (miss / max(people, 1.0)).tolist()
    assert evaluator.linear.values(masses) == pytest.approx(np.array(values), abs=1e-10)
    assert evaluator.linear.violation(masses) == pytest.approx(np.array(missed), abs=1e-10)
    worst = max(np.abs([masses[program.cells.owner == q].sum() / n - 1 for q, n in enumerate(program.table.counts)]))
    assert evaluator.qi_violation(masses) == pytest.approx(worst, abs=1e-12)
    assert evaluator.max_violation(masses) == pytest.approx(
        max(worst, max(missed, default=0.0), max((-s for s in expected), default=0.0)), abs=1e-10
    )


@thorough(120)
@given(
    case=cases(populations(rows=(2, 30)), trees=(1, 2)),
    measure=st.sampled_from((None, "gini", "entropy", "gain_ratio")),
    seed=st.integers(0, 2**32 - 1),
    chunk=st.sampled_from((1, 3, 1 << 16)),
    data=st.data(),
)
def test_everything_at_once_is_one_by_one(case: Case, measure: Any, seed: int, chunk: int, data: st.DataObject) -> None:
    table = read_qi(case.people.qi, case.release)
    frame = data.draw(true_facts(case.people), "facts")
    facts = () if frame is None else read_facts(frame, case.release, table)
    program = compile_program(case.release, table, impurity=measure, facts=facts)
    rng = np.random.default_rng(seed)
    masses = rng.exponential(size=(len(program.cells), program.n_classes))
    masses[:, 1:] *= rng.random(masses[:, 1:].shape) < 0.7  # some classes absent, no cell empty
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluate, "CHUNK", chunk)
        agrees(program, masses)


@pytest.mark.parametrize("impurity", ["gini", "entropy", "gain_ratio"])
def test_a_chain_of_a_hundred_splits(impurity: Any) -> None:
    """Every node holds one value less than the one above: sums rise through a hundred levels."""
    nodes: list[dict[str, Any]] = []
    for i in range(100):
        branches = [{"le": i, "child": f"L{i}"}, {"gt": i, "child": f"N{i + 1}" if i < 99 else "L100"}]
        nodes.append({"id": f"N{i}", "attribute": "A", "branches": branches})
    nodes += [{"id": f"L{i}", "label": "y"} for i in range(101)]
    document = release_document(
        "X",
        ["y", "n"],
        {"A": None, "B": ["0", "1", "2"]},
        {"induction": {"impurity": impurity, "candidates": "thresholds"}, "nodes": nodes},
    )
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"A": np.repeat(np.arange(101.0), 2), "B": rng.integers(0, 3, 202).astype(str)})
    program = compile_release(parse_release(document, "test"), people)
    assert {c.form for c in program.internal} == {"cuts"}
    agrees(program, rng.random((len(program.cells), 2)))


@thorough(100)
@given(case=cases(trees=(1, 3)))
def test_sums_by_place_and_value_are_those_of_their_cells(case: Case) -> None:
    table = read_qi(case.people.qi, case.release)
    cells = build_cells(case.release, table)
    sums = CellSums(cells, table.codes, tuple(map(len, table.levels)))
    values = np.random.default_rng(0).integers(1, 1000, (len(cells), 3)).astype(float)
    for t, held in enumerate(cells.trees):
        totals = sums.totals(t, values)
        for place in range(len(held.start)):
            assert totals[place].tolist() == values[held.at(place)].sum(axis=0).tolist()
        inner = [i for i, below in enumerate(held.places.children) if below and len(held.at(i))]
        for column in range(table.codes.shape[1] if inner else 0):
            found = sums.by_value(t, column)
            assert sorted(found.places.tolist()) == inner
            sides = found(values)
            for i, place in enumerate(found.places):
                mine = slice(found.start[i], found.start[i + 1])
                here = held.at(int(place))
                code = table.codes[cells.owner[here], column]
                assert found.value[mine].tolist() == np.unique(code).tolist()
                assert (found.node[mine] == i).all()
                assert sides[mine].tolist() == [values[here[code == v]].sum(axis=0).tolist() for v in np.unique(code)]


@thorough(100)
@given(case=cases(trees=(1, 3)))
def test_the_size_of_a_place_is_known_when_it_holds_all_cells_of_its_people_or_none(case: Case) -> None:
    table = read_qi(case.people.qi, case.release)
    cells = build_cells(case.release, table)
    everywhere = np.bincount(cells.owner)
    for held, sizes in zip(cells.trees, place_sizes(cells, table.counts), strict=True):
        for place, size in enumerate(sizes.tolist()):
            inside = np.bincount(cells.owner[held.at(place)], minlength=len(table))
            complete = ((inside == 0) | (inside == everywhere)).all()
            assert size == table.counts[inside > 0].sum() if complete else np.isnan(size)


@pytest.mark.parametrize("seed", range(20))
def test_components_are_those_of_scipy_in_the_same_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    one, other = rng.integers(0, n, (2, int(rng.integers(0, 2 * n))))
    graph = sparse.csr_matrix((np.ones(len(one)), (one, other)), shape=(n, n))
    assert components(n, one, other).tolist() == connected_components(graph, directed=False)[1].tolist()


@pytest.mark.parametrize("n", [10_000, FEW_LINKS + 2])  # walked here, and by SciPy
def test_a_long_chain_in_any_order_is_one_component(n: int) -> None:
    order = np.random.default_rng(0).permutation(n)
    assert not components(n, order[:-1], order[1:]).any()


def test_no_nodes_have_no_components() -> None:
    nothing = np.zeros(0, np.int64)
    assert components(0, nothing, nothing).shape == (0,)


INF = np.inf


@pytest.mark.parametrize(
    ("rows", "lower", "upper", "kept"),
    [
        ([[1, 0], [0, 1], [1, 1]], [1, 2, 3], [1, 2, 3], 2),  # the third is the sum of the others
        ([[1, 0], [0, 1], [1, 1]], [1, 2, 4], [1, 2, 4], 3),  # and contradicts them
        ([[1, -1], [1, -1]], [0, 0], [0, INF], 1),  # a label beside a rate of one half
        ([[1, -1], [1, -1]], [0, 1], [0, INF], 2),  # a label that cannot be
        ([[1, 1], [1, -1]], [4, 0], [4, INF], 2),  # an inequality with slack
        ([[1, 1], [1, 1]], [0, 0], [4, 4], 2),  # no equation, nothing implied
        ([[0, 0], [1, 1]], [0, 1], [0, 1], 1),  # an empty row
        ([[0, 0], [1, 1]], [1, 1], [1, 1], 2),  # an empty row that is wrong
    ],
)
def test_rows_that_say_something(rows: list[list[int]], lower: list[float], upper: list[float], kept: int) -> None:
    found = independent_rows(sparse.csr_matrix(np.array(rows, float)), np.array(lower, float), np.array(upper, float))
    assert len(found) == kept
    assert (np.diff(found) > 0).all()


def test_weights_about_very_many_are_not_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = sparse.csr_matrix(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 2.0]]))
    lower, upper = np.array([1.0, 1.0, 2.0]), np.array([1.0, 1.0, 4.0])
    assert independent_rows(matrix, lower, upper).tolist() == [0, 1]
    monkeypatch.setattr(parts, "MANY", 1)
    assert independent_rows(matrix, lower, upper).tolist() == [0, 1, 2]


def test_many_rows_are_left_alone() -> None:
    matrix = sparse.csr_matrix(np.ones((MOST + 1, 2)))
    assert len(independent_rows(matrix, np.ones(MOST + 1), np.ones(MOST + 1))) == MOST + 1


def test_equations_with_variables_of_their_own_do_not_count_as_many() -> None:
    totals = sparse.kron(sparse.identity(MOST), np.ones((1, 2)))  # two classes for each of many quasi-identifiers
    first = sparse.csr_matrix(np.tile([1.0, 0.0], MOST))  # the first class's total, said twice
    matrix = sparse.csr_matrix(sparse.vstack([totals, first, first]))
    value = matrix @ np.ones(matrix.shape[1])
    kept = independent_rows(matrix, value, value)
    assert len(kept) == MOST + 1
    assert kept[:MOST].tolist() == list(range(MOST))
    lower = np.append(value[:-1], value[-1] - 1)  # the second time less exactly
    assert len(independent_rows(matrix, lower, value)) == MOST + 1


def test_the_matrix_stays_as_it_is() -> None:
    matrix = sparse.csr_matrix(np.array([[1.0, 1e-12, 0], [0, 1, 1], [1, 1, 1]]))
    before = matrix.copy()
    independent_rows(matrix, np.array([1.0, 1, 2]), np.array([1.0, 1, 2]))
    np.testing.assert_array_equal(matrix.toarray(), before.toarray())


@thorough(200)
@given(
    rows=st.lists(st.lists(st.sampled_from((-1, 0, 0, 1)), min_size=6, max_size=6), min_size=1, max_size=9),
    point=st.lists(st.integers(0, 3), min_size=6, max_size=6),
    equations=st.lists(st.booleans(), min_size=9, max_size=9),
)
def test_the_feasible_set_stays_the_same(rows: list[list[int]], point: list[int], equations: list[bool]) -> None:
    matrix, inside = np.array(rows, float), np.array(point, float)
    value, equal = matrix @ inside, np.array(equations[: len(rows)])
    lower, upper = value.copy(), np.where(equal, value, np.inf)
    kept = independent_rows(sparse.csr_matrix(matrix), lower, upper)
    kept_equations = matrix[[r for r in kept if equal[r]]].reshape(-1, 6)
    assert np.linalg.matrix_rank(kept_equations) == len(kept_equations) == np.linalg.matrix_rank(matrix[equal])
    # Along the directions that the kept equations leave open, every dropped row is constant, and no other one is.
    directions = null_space(kept_equations) if len(kept_equations) else np.eye(6)
    varies = np.abs(matrix @ directions).max(axis=1, initial=0.0) > 1e-9
    assert not varies[np.setdiff1d(np.arange(len(rows)), kept)].any()
    assert varies[[r for r in kept if not equal[r]]].all() or not equal.any()


def fill(weight, lower, upper, label=-1):
    return water_fill(np.array([weight]), np.array([lower]), np.array([upper]), np.array([label]))[0]


def test_nothing_known_is_uniform():
    np.testing.assert_allclose(fill(6.0, [0.0, 0.0, 0.0], [6.0, 6.0, 6.0]), [2.0, 2.0, 2.0])


def test_a_rate_leaves_the_rest_to_the_other_classes_equally():
    np.testing.assert_allclose(fill(9.0, [6.0, 0.0, 0.0, 0.0], [6.0, 9.0, 9.0, 9.0], 0), [6.0, 1.0, 1.0, 1.0])


def test_counts_are_themselves():
    counts = [3.0, 0.0, 2.0]
    np.testing.assert_array_equal(fill(5.0, counts, counts), counts)


def test_a_label_below_the_level_of_the_others_holds_them_down():
    # 10 individuals, at most 3 of the label: no other class may exceed 3.
    masses = fill(10.0, [0.0, 0.0, 0.0, 0.0], [3.0, 10.0, 10.0, 10.0], 0)
    assert masses.max() == pytest.approx(masses[0])
    assert masses.sum() == pytest.approx(10.0)


def test_bounds_that_cannot_meet_the_total_are_scaled_to_it():
    masses = fill(4.0, [4.0, 2.0], [4.0, 2.0])
    assert masses.sum() == pytest.approx(4.0)
    assert masses[0] / masses[1] == pytest.approx(2.0)


@st.composite
def boxes(draw):
    n = draw(st.integers(2, 4))
    inside = np.array(draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)), float)
    inside[draw(st.integers(0, n - 1))] += 1
    down = np.array(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)), float)
    up = np.array(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)), float)
    label = int(inside.argmax()) if draw(st.booleans()) else -1
    return inside.sum(), np.maximum(inside - down, 0), inside + up, label


@given(boxes())
def test_it_is_the_entropy_maximum(box):
    weight, lower, upper, label = box
    n = len(lower)
    masses = fill(weight, lower, upper, label)
    assert masses.sum() == pytest.approx(weight, rel=1e-12)
    assert (masses >= lower - 1e-9).all()
    assert (masses <= upper + 1e-9).all()
    constraints = [{"type": "eq", "fun": lambda m: m.sum() - weight}]
    if label >= 0:
        assert masses[label] >= masses.max() - 1e-9
        constraints.append({"type": "ineq", "fun": lambda m: m[label] - m})

    def negative_entropy(m):
        return float((m * np.log(np.maximum(m, 1e-12))).sum())

    start = np.clip(np.full(n, weight / n), lower, upper)
    found = minimize(negative_entropy, start, bounds=list(zip(lower, upper, strict=True)), constraints=constraints)
    if found.success:
        assert negative_entropy(masses) <= negative_entropy(found.x) + 1e-6


CITY = {"name": "City", "type": "categorical", "values": ["a", "b"]}
CAR = {"name": "Car", "type": "categorical", "values": ["yes", "no"], "role": "private"}
PAY = {"name": "Pay", "type": "numeric", "role": "private"}


def release(*trees, attributes=(CITY, CAR, PAY)):
    return parse_release(release_document("Ill", ["y", "n"], attributes, *(nodes for nodes in trees)), "test")


def split(id_, attribute, *branches):
    return {"id": id_, "attribute": attribute, "branches": [{**how, "child": child} for how, child in branches]}


def cells_of(document):
    table = read_qi(pd.DataFrame({"City": ["a", "a", "b"]}), document)
    return build_cells(document, table), table


BY_CAR = (split("N", "Car", ({"in": ["yes"]}, "Y"), ({"in": ["no"]}, "Z")), {"id": "Y"}, {"id": "Z"})


def test_a_public_split_gives_one_cell_each():
    nodes = (split("N", "City", ({"in": ["a"]}, "A"), ({"in": ["b"]}, "B")), {"id": "A"}, {"id": "B"})
    cells, table = cells_of(release(nodes))
    assert len(cells) == len(table) == 2
    assert cells.leaf[:, 0].tolist() == [1, 2]


def test_a_private_split_reaches_every_leaf():
    cells, _ = cells_of(release(BY_CAR))
    assert sorted(zip(cells.owner.tolist(), cells.leaf[:, 0].tolist(), strict=True)) == [(0, 1), (0, 2), (1, 1), (1, 2)]


def test_two_trees_that_test_the_same_private_attribute_agree_on_its_value():
    swapped = (split("N", "Car", ({"in": ["no"]}, "Z"), ({"in": ["yes"]}, "Y")), {"id": "Y"}, {"id": "Z"})
    cells, _ = cells_of(release(BY_CAR, swapped))
    assert {tuple(leaf) for leaf in cells.leaf.tolist()} == {(1, 1), (2, 2)}


def test_impossible_private_values_reach_no_leaf():
    nodes = (
        split("N", "Pay", ({"le": 5}, "M"), ({"gt": 5}, "C")),
        split("M", "Pay", ({"le": 9}, "A"), ({"gt": 9}, "B")),
        {"id": "A"},
        {"id": "B"},
        {"id": "C"},
    )
    cells, _ = cells_of(release(nodes))
    assert set(cells.leaf[:, 0].tolist()) == {2, 4}


def test_quasi_identifiers_are_alike_whose_cells_are():
    held = [(5, 3), (4,), (3, 5), (3, 300), (4,), (3,), (1, 2, 3)]
    owner = np.repeat(np.arange(len(held)), [len(cells) for cells in held])
    asked = []
    found = alike(owner, np.concatenate(held), len(held), lambda: asked.append(1))
    assert found.tolist() == [2, 1, 2, 3, 1, 0, 4]  # by the number of cells, then by their signatures
    assert len(asked) == 3


def test_removed_leaves_are_places_of_their_own():
    cells, _ = cells_of(release((split("N", "City", ({"in": ["a"]}, "A"), ({"in": ["b"]}, None)), {"id": "A"})))
    assert cells.leaf[:, 0].tolist() == [1, 2]


def test_the_cells_of_a_node_are_those_of_its_branches():
    nodes = (
        split("N", "City", ({"in": ["a"]}, "M"), ({"in": ["b"]}, "B")),
        split("M", "Car", ({"in": ["yes"]}, "Y"), ({"in": ["no"]}, "Z")),
        {"id": "Y"},
        {"id": "Z"},
        {"id": "B"},
    )
    cells, _ = cells_of(release(nodes))
    held = cells.trees[0]
    for place, children in enumerate(held.places.children):
        if children:
            below = np.concatenate([held.at(child) for child in children])
            np.testing.assert_array_equal(held.at(place), below)
    assert len(held.at(0)) == len(cells) == 3


@st.composite
def problems(draw):
    """A few individuals, rows, and who is covered by which, with a complete assignment or without."""
    n = draw(st.integers(1, 6))
    who = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    which = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    pairs = draw(st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=9))
    if draw(st.booleans()):
        pairs |= set(zip(who, which, strict=True))
    else:
        which = which[draw(st.integers(0, 1)) :]
    people, rows = (np.bincount(codes, minlength=4) for codes in (who, which))
    left = np.flatnonzero(people), np.flatnonzero(rows)
    number = [{int(code): i for i, code in enumerate(codes)} for codes in left]
    pairs = sorted((number[0][q], number[1][b]) for q, b in pairs if q in number[0] and b in number[1])
    owner, group = np.array(pairs, np.int64).reshape(-1, 2).T
    return owner, group, people[left[0]], rows[left[1]]


@thorough(100)
@given(problem=problems())
def test_pairs_are_possible_that_some_assignment_uses(problem):
    owner, group, people, rows = problem
    found = assign_rows(*problem)
    who = np.repeat(np.arange(len(people)), people)
    complete = list(assignments(people, owner, group, rows))
    assert bool(complete) == (not found.shortages)
    if complete:
        used = {pair for order in complete for pair in zip(who.tolist(), order.tolist(), strict=True)}
        possible = {(int(q), int(b)) for q, b in zip(owner[found.possible], group[found.possible], strict=True)}
        assert possible == used
        assert found.sizes.tolist() == rows.tolist()


@thorough(100)
@given(problem=problems())
def test_shortages_are_what_they_say(problem):
    owner, group, people, rows = problem
    found = assign_rows(*problem)
    for short in found.shortages:
        assert short.excess == people[short.people].sum() - rows[short.groups].sum() != 0
        beyond = np.isin(owner, short.people) & ~np.isin(group, short.groups)
        without = np.isin(group, short.groups) & ~np.isin(owner, short.people)
        assert not (beyond if short.excess > 0 else without).any()
    excess = [short.excess for short in found.shortages]
    assert sum(excess) == (people.sum() - rows.sum() if excess else 0)
    covered = np.isin(np.arange(len(people)), owner)
    assert found.sizes.sum() == people[covered].sum()


def bounds(published, *, rate, suppressed_below=0, alpha=0.05, most=10_000):
    counting = Counting(rate, suppressed_below, alpha)
    low, high = true_count_bounds(np.array([published]), np.array([most]), counting)
    return int(low[0]), int(high[0])


def test_without_sampling_a_count_is_exact_and_a_suppressed_one_below_the_threshold():
    assert bounds(7, rate=1.0, suppressed_below=5) == (7, 7)
    assert bounds(0, rate=1.0, suppressed_below=5) == (0, 4)
    assert bounds(0, rate=1.0, suppressed_below=5, most=2) == (0, 2)
    assert bounds(0, rate=1.0) == (0, 0)


@pytest.mark.parametrize("published", [1, 3, 10, 40])
@pytest.mark.parametrize("rate", [0.1, 0.4, 0.9])
def test_the_bounds_are_those_of_clopper_and_pearson(published, rate):
    alpha = 0.02
    low, high = bounds(published, rate=rate, alpha=alpha)
    # n is inside iff neither tail of Binomial(n, rate) at the draw is below alpha / 2.
    assert binom.sf(published - 1, low, rate) > alpha / 2
    assert low == published or binom.sf(published - 1, low - 1, rate) <= alpha / 2
    assert binom.cdf(published, high, rate) > alpha / 2
    assert binom.cdf(published, high + 1, rate) <= alpha / 2
    # The classical interval for the rate given n contains the true rate exactly for these n.
    assert beta.ppf(alpha / 2, published, high - published + 1) <= rate
    assert rate <= beta.ppf(1 - alpha / 2, published + 1, low - published) or low == published


@pytest.mark.parametrize("n", [0, 1, 4, 7, 12, 30])
@pytest.mark.parametrize("suppressed_below", [0, 3, 6])
@pytest.mark.parametrize("rate", [0.2, 0.5, 0.8])
def test_the_true_count_is_missed_with_at_most_the_stated_probability(n, suppressed_below, rate):
    alpha, missed = 0.1, 0.0
    for draw in range(n + 1):
        published = draw if draw >= suppressed_below else 0
        low, high = bounds(published, rate=rate, suppressed_below=suppressed_below, alpha=alpha)
        missed += binom.pmf(draw, n, rate) * (not low <= n <= high)
    assert missed <= alpha


@pytest.mark.parametrize("rate", [0.05, 0.4, 1.0])
@pytest.mark.parametrize("alpha", [0.3, 1e-3, 1e-9])
def test_many_counts_at_once_have_the_bounds_that_each_has_alone(rate, alpha):
    rng = np.random.default_rng(0)
    most = rng.integers(0, 300, 60)
    published = np.minimum(rng.integers(0, 80, 60), most)
    published[published < 4] = 0
    low, high = true_count_bounds(published, most, Counting(rate, 4, alpha))
    alone = [
        bounds(c, rate=rate, suppressed_below=4, alpha=alpha, most=m) for c, m in zip(published, most, strict=True)
    ]
    assert list(zip(low, high, strict=True)) == alone
    assert ((published <= low) & (low <= high) & (high <= most)).all()


def test_the_intervals_of_a_smaller_level_contain_the_others():
    published = np.arange(0, 60)
    most = np.full(60, 5_000)
    low, high = true_count_bounds(published, most, Counting(0.1, 5, 1e-2))
    wider_low, wider_high = true_count_bounds(published, most, Counting(0.1, 5, 1e-7))
    assert (wider_low <= low).all()
    assert (wider_high >= high).all()
    assert (wider_high > high).any()


def at_least_one(context: Context):
    """Somebody has the first class."""
    first = np.eye(context.n_classes)[:1]
    low, high = np.ones(1), np.full(1, np.inf)
    yield Linear("toy", Origin("toy"), context.region(0, 0), first, low, high, "somebody has the first class")


TOY = Kind("toy", "toys: somebody has the first class", r"\sum_c m_{c,1} \ge 1", at_least_one)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.KINDS, TOY.name, TOY)


@pytest.mark.usefixtures("toy")
def test_a_new_kind_is_one_generator_and_one_entry(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree, qi = str(D1 / "tree.json"), str(D1 / "qi.csv")
    assert maxent.estimate(tree, qi).summary["constraints"]["toy"] == 1
    assert "1 toy" in printed_by(capsys, ["estimate", tree, qi, "--report", str(tmp_path / "report.html")]).out
    assert "somebody has the first class" in (tmp_path / "report.html").read_text(encoding="utf-8")
    text = printed_by(capsys, ["explain", tree, qi, "--latex"]).out
    assert r"\paragraph{toy}" in text
    assert TOY.latex in text


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("about_classes", [True, False])
def test_people_of_whom_a_kind_states_something_are_a_group(
    monkeypatch: pytest.MonkeyPatch, about_classes: bool
) -> None:
    monkeypatch.setitem(registry.KINDS, TOY.name, TOY._replace(about_classes=about_classes))
    table = read_qi(D1 / "qi.csv", release := load_release(D1 / "tree.json"))
    program = compile_program(release, table, knowledge=["internal"])
    [groups] = _groups(program, np.full((len(program.cells), 2), 0.5))
    assert set(groups.of) == {0 if about_classes else NO_GROUP}


def test_every_kind_has_words_a_formula_and_its_own_name() -> None:
    for name, kind in registry.KINDS.items():
        assert kind.name == name
        assert ": " in kind.words
        assert kind.latex


def test_the_documentation_has_every_kind() -> None:
    page = (D1.parents[1] / "docs" / "method.md").read_text(encoding="utf-8")
    assert [kind for kind in registry.KINDS if f"\n| `{kind}` | " not in page] == []
    *first, last = (f"`{kind}`" for kind in registry.knowledge())
    assert f"`--knowledge` takes {', '.join(first)} and {last}," in page


def test_the_generated_module_is_what_the_statements_give():
    shipped = (
        importlib.resources.files("maxent.constraints.program")
        .joinpath("impurity_numpy.py")
        .read_text(encoding="utf-8")
    )
    assert shipped == impurity.numpy_source()


@pytest.mark.parametrize("name", sorted(PHI))
def test_numpy_values_and_derivatives_equal_sympys(name):
    a, w = impurity.symbols()
    phi = impurity.statement(name)
    derivatives = {"value": phi, "d_a": phi.diff(a), "d_w": phi.diff(w), "d_aa": phi.diff(a, 2)}
    derivatives |= {"d_aw": phi.diff(a, w), "d_ww": phi.diff(w, 2)}
    points = np.random.default_rng(0).uniform(0.1, 9.0, (20, 2))
    for field, expression in derivatives.items():
        exact = [float(expression.evalf(30, subs={a: x, w: y})) for x, y in points]
        np.testing.assert_allclose(getattr(PHI[name], field)(*points.T), exact, rtol=1e-13, err_msg=field)


@pytest.mark.parametrize(
    ("name", "of_branch"), [("gini", lambda p: 1 - (p**2).sum()), ("entropy", lambda p: -(p * np.log(p)).sum())]
)
def test_a_branch_weighs_its_size_times_its_impurity(name, of_branch):
    masses = np.array([3.0, 1.0, 6.0])
    size = masses.sum()
    constant = size if name == "gini" else 0.0
    phi = PHI[name].value(masses, np.full(3, size)).sum()
    assert constant - phi == pytest.approx(size * of_branch(masses / size), rel=1e-14)


def test_latex_comes_from_the_statement():
    assert r"\log" in impurity.impurity_latex("entropy")
    assert r"^{2}" in impurity.impurity_latex("gini")
    assert sympy.simplify(impurity.statement("gain_ratio") - impurity.statement("entropy")) == 0
