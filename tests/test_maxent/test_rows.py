"""Rows in training order: who has which class, where it is told who was drawn for each tree."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier
from support.search import cases

import maxent
from maxent.__main__ import main
from maxent.api.estimate import compile_release
from maxent.constraints.rows import row_system
from maxent.models.draws import Draws
from maxent.models.errors import InvalidInput, UnreliableResult
from maxent.models.release import Tree
from maxent.models.tables.qi_table import read_qi
from maxent.solvers.certainty.rows import _components, _eliminated, prove

pytestmark = pytest.mark.filterwarnings("ignore::maxent.models.errors.UnreliableResult")


def forest(seed, n=None, **more):
    """A random model with draws, its table and the codes of the classes of its rows."""
    rng = np.random.default_rng(seed)
    n = n or int(rng.integers(30, 150))
    k, width = int(rng.integers(2, 4)), int(rng.integers(1, 4))
    X = rng.integers(0, 4, (n, width)) + np.where(rng.random(width) < 0.3, rng.normal(size=(n, width)), 0.0)
    y = rng.integers(0, k, n)
    y[:k] = np.arange(k)
    trees = {"n_estimators": int(rng.integers(1, 25)), "random_state": seed, **more}
    grown = {"max_depth": [None, 1, 2, 3, 4][int(rng.integers(5))], "min_samples_leaf": int(rng.integers(1, 6))}
    drawn = n if rng.random() < 0.6 else int(n * rng.uniform(0.4, 1.0))
    kind = int(rng.integers(4))
    if kind > 1:
        part = {"bootstrap": kind == 2, "max_samples": drawn if kind == 2 else 1 + drawn // 2}
        model = BaggingClassifier(DecisionTreeClassifier(**grown), **part, **trees)
    else:
        kinds = RandomForestClassifier, ExtraTreesClassifier
        model = kinds[kind](bootstrap=True, max_samples=drawn, **grown, **trees)
    columns = [f"x{j}" for j in range(width)]
    release = maxent.from_sklearn(model.fit(X, y), target="y", features=columns, classes=[f"c{x}" for x in range(k)])
    return release, pd.DataFrame(X, columns=columns), y


def system_of(release, table):
    return row_system([release], read_qi(table, release, rows=True))


def check_sound(release, table, y, found):
    """Nobody is proved wrong."""
    rows = np.arange(len(y))
    assert found.consistent
    assert (found.high[rows, y] == 1).all()
    assert (found.classes[found.proved] == y[found.proved]).all()


@pytest.mark.search
@pytest.mark.parametrize("seed", cases(0, 40, hunted=300))
def test_no_row_is_proved_wrong(seed):
    release, table, y = forest(seed)
    system = system_of(release, table)
    assert system.equations > 0
    assert not system.contradictions
    truth = np.eye(system.n_classes, dtype=np.int64)[y]
    value = system.matrix @ truth
    assert ((system.low <= value) & (value <= system.high)).all()
    before = prove(system, "closed")
    found = prove(system, "linear", programs=len(y) < 60)
    check_sound(release, table, y, before)
    check_sound(release, table, y, found)
    assert found.proved[before.proved].all()
    assert found.rank is None or found.rank == np.linalg.matrix_rank(system.matrix.toarray().astype(float))
    assert found.determined <= found.proved.sum()


def worlds(system):
    """Which classes rows have in some labelling that satisfies everything, shape (n_rows, n_classes)."""
    n, k = system.n_rows, system.n_classes
    every = np.array(list(itertools.product(range(k), repeat=n)), np.int8)
    matrix = system.matrix.toarray().T
    holds = np.ones(len(every), bool)
    for x in range(k):
        value = (every == x).astype(np.int64) @ matrix
        holds &= ((value >= system.low[:, x]) & (value <= system.high[:, x])).all(axis=1)
    return np.stack([(every[holds] == x).any(axis=0) for x in range(k)], axis=1)


@pytest.mark.search
@pytest.mark.parametrize("seed", cases(0, 12, hunted=100))
def test_bounds_of_few_rows_are_those_of_all_labellings(seed):
    release, table, y = forest(seed, n=9 + seed % 4, n_estimators=1 + seed % 4)
    if release.target.classes[2:]:
        release, table, y = forest(seed, n=8, n_estimators=1 + seed % 4)
    system = system_of(release, table)
    possible = worlds(system)
    assert possible[np.arange(len(y)), y].all()
    for level in ("closed", "linear"):
        assert (prove(system, level).high.astype(bool) >= possible).all()
    found = maxent.bounds(release, table, rows=True, level="integer")
    assert found.status == "proved"
    assert np.array_equal(found.bounds.high >= 1, possible)
    assert np.array_equal(found.bounds.low >= 1, possible & (possible.sum(axis=1) == 1)[:, None])


def default_forest(seed, n=500):
    """A forest with every default about three binary attributes: nobody is in a small group."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, 3)).astype(float)
    y = (rng.random(n) < 0.2 + 0.2 * X.sum(axis=1)).astype(int)
    model = RandomForestClassifier(random_state=seed).fit(X, y)
    release = maxent.from_sklearn(model, target="y", features=["a", "b", "c"])
    return release, pd.DataFrame(X, columns=["a", "b", "c"]), y


def test_equations_alone_tell_everybody_of_a_default_forest():
    release, table, y = default_forest(7)
    found = maxent.bounds(release, table, rows=True, level="linear")
    told = {"equations": 800, "rank": 500, "determined": 500, "proved": 500}
    assert found.summary["row_equations"] == told
    frame = found.frame()
    assert frame.row.tolist() == np.repeat(np.arange(1, 501), 2).tolist()
    sure = frame[frame.low == 1]
    assert sure["class"].astype(int).tolist() == y.tolist()
    assert (frame.low == frame.high).all()
    checks = {each["key"]: each["status"] for each in found.verdict(max_certain=500).as_dict()["checks"]}
    assert checks == {"max_certain": "cannot_tell", "no_draws": "fail"}
    assert [each["what"] for each in found.summary["unread"]] == ["choices of splits"]
    audit = maxent.audit(release, table, rows=True)
    assert audit["row_equations"] == told
    assert "row_equations" not in maxent.audit(release, table)
    assert audit["spans"]["count"] == 8  # attacks still know nothing of the order


def test_an_estimate_of_rows_is_certain_of_those_that_are_proved():
    release, table, y = default_forest(1, n=120)
    few = replace(release, trees=release.trees[:6], draws=replace(release.draws, seeds=release.draws.seeds[:6]))
    truth = table.assign(y=y.astype(str))
    found = maxent.estimate(few, table, truth, rows=True)
    proved = maxent.bounds(few, table, rows=True, level="linear")
    low, high = proved.low, proved.high
    assert found.outcome.status == "optimal"
    assert 0 < proved.certain_proved < 120
    assert (found.probabilities >= low - 1e-6).all()
    assert (found.probabilities <= high + 1e-6).all()
    assert found.summary["row_equations"]["proved"] == proved.certain_proved
    assert found.summary["constraints"] == proved.summary["constraints"]
    system = system_of(few, table)
    assert np.abs(system.matrix @ found.probabilities - system.low).max() < 1e-4
    with pytest.raises(InvalidInput, match="in their order"):
        maxent.estimate(few, table, truth[::-1], rows=True)


def test_other_releases_and_facts_join_the_equations():
    release, table, y = default_forest(2, n=60)
    few = replace(release, trees=release.trees[:3], draws=replace(release.draws, seeds=release.draws.seeds[:3]))
    alone = maxent.bounds(few, table, rows=True, level="linear")
    tree = DecisionTreeClassifier(random_state=0).fit(table.to_numpy(), y)
    exact = maxent.from_sklearn(tree, target="y", features=["a", "b", "c"])
    marginal = pd.DataFrame({"y": ["0", "1"], "count": np.bincount(y)})
    joined = maxent.bounds([few, exact], table, rows=True, level="linear", marginal=marginal)
    for found in (alone, joined):
        assert found.bounds.high[np.arange(60), y].all()
    assert (joined.bounds.high <= alone.bounds.high).all()
    assert joined.bounds.open.sum() < alone.bounds.open.sum()


def test_private_attributes_leave_equations_of_nodes_above_them():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(0, 3, 120), rng.integers(0, 2, 120), rng.normal(size=120)])
    y = rng.integers(0, 2, 120).astype(str)
    model = RandomForestClassifier(8, random_state=0, max_depth=3).fit(X, y)
    without = maxent.review(model, X, y, qi=["x0", "x1"], target="y", max_certain=0)
    found = maxent.review(model, X, y, qi=["x0", "x1"], target="y", max_certain=0, rows=True)
    assert without.estimate.disclosure.certain == 0 < found.estimate.disclosure.certain
    statuses = [review.verdict().releases[0].checks[0].status for review in (without, found)]
    assert statuses == ["cannot_tell", "fail"]
    assert 0 < found.estimate.summary["row_equations"]["proved"] < 120
    assert found.estimate.summary["row_equations"]["rank"] == 24


def edited(release, rng):
    """A release with another seed of one tree, or with one draw of one leaf of another class."""
    t = int(rng.integers(len(release.trees)))
    if rng.random() < 0.5:
        seeds = list(release.draws.seeds)
        seeds[t] = (seeds[t] + int(rng.integers(1, 1000))) % 2**31
        return replace(release, draws=replace(release.draws, seeds=tuple(seeds)))
    nodes = list(release.trees[t].nodes)
    leaves = [i for i, node in enumerate(nodes) if node.is_leaf and sum(node.counts.values()) > 0]
    at = int(rng.choice(leaves))
    counts = dict(nodes[at].counts)
    source = rng.choice([label for label in counts if counts[label]])
    counts[source] -= 1
    if rng.random() < 0.8:
        counts[rng.choice([label for label in counts if label != source])] += 1
    nodes[at] = replace(nodes[at], counts=counts)
    trees = list(release.trees)
    trees[t] = Tree(tuple(nodes))
    return replace(release, trees=tuple(trees))


@pytest.mark.search
@pytest.mark.parametrize("seed", cases(0, 10, hunted=100))
def test_no_edit_of_a_default_forest_passes_unnoticed(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(100, 200))
    X, y = rng.normal(size=(n, 3)), rng.integers(0, 2, n)
    model = RandomForestClassifier(int(rng.integers(10, 40)), random_state=seed).fit(X, y)
    release = maxent.from_sklearn(model, target="y", features=["a", "b", "c"])
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    assert prove(system_of(release, table), "linear", programs=False).consistent
    for _ in range(10):
        system = system_of(edited(release, rng), table)
        found = prove(system, "linear", programs=False)
        if (
            found.consistent and found.proved.all()
        ):  # a labelling that satisfies everything cannot be told from the truth
            labels = np.eye(2, dtype=np.int64)[found.classes]
            assert np.array_equal(system.matrix @ labels, system.low)
            assert (found.classes != y).sum() == 1
            assert (system.matrix[:, found.classes != y] != 0).sum() == 1  # one leaf alone says who that is
            continue
        assert not found.consistent


def test_an_edit_that_leaves_a_labelling_is_no_contradiction():
    X, y = np.repeat([[0.0], [1.0]], 20, axis=0), np.tile([0, 1], 20)
    model = RandomForestClassifier(3, max_depth=1, random_state=0).fit(X, y)
    release = maxent.from_sklearn(model, target="y", features=["a"])
    nodes = list(release.trees[0].nodes)
    at = next(i for i, node in enumerate(nodes) if node.is_leaf)
    counts = {label: number + (1 if label == "0" else -1) for label, number in nodes[at].counts.items()}
    nodes[at] = replace(nodes[at], counts=counts)
    other = replace(release, trees=(Tree(tuple(nodes)), *release.trees[1:]))
    assert maxent.bounds(other, pd.DataFrame(X, columns=["a"]), rows=True).status == "proved"


def test_draws_that_do_not_fit_are_named_with_their_leaf():
    release, table, _ = default_forest(3, n=100)
    with pytest.warns(UnreliableResult):
        found = maxent.bounds(release, table[::-1], rows=True)
    assert found.status == "inconsistent"
    assert "the draws do not fit the counts" in found.summary["contradictions"][0]["says"]
    assert found.summary["contradictions"][0]["origin"].startswith("tree 1, ")
    assert found.summary["row_equations"]["proved"] == 0
    audit = maxent.audit(release, table[::-1], rows=True)
    assert not audit["reliable"]


@pytest.mark.search
@pytest.mark.parametrize("seed", cases(0, 6, hunted=60))
def test_draws_are_held_to_the_counts_without_an_order(seed):
    release, table, _ = forest(seed)
    assert not compile_release(release, table).contradictions
    rng = np.random.default_rng(seed)
    assert compile_release(release, table[: len(table) // 2]).contradictions
    for _ in range(5):
        seeds = rng.integers(0, 2**31, len(release.trees)).tolist()
        changed = replace(release, draws=replace(release.draws, seeds=tuple(seeds)))
        found = compile_release(changed, table).contradictions
        named = any("the draws do not fit the counts" in each.says for each in found)
        draws = [row[row > 0] for row in changed.draws.matrix()]
        told = [sum(node.distinct or 0 for node in tree.nodes if node.is_leaf) for tree in release.trees]
        assert named or all(len(row) == many for row, many in zip(draws, told, strict=True))


def test_an_estimate_names_an_edited_seed_without_the_order_of_rows():
    release, table, _ = default_forest(3, n=100)
    edited = replace(release, draws=replace(release.draws, seeds=(1, *release.draws.seeds[1:])))
    with pytest.warns(UnreliableResult):
        found = maxent.estimate(edited, table)
    assert not found.reliable
    assert found.summary["contradictions"][0]["says"].startswith("the draws do not fit the counts: different rows of")
    assert maxent.estimate(release, table).reliable


def test_tables_that_are_not_the_rows_are_refused():
    release, table, _ = default_forest(4, n=100)
    with pytest.raises(InvalidInput, match=r"expected 100 rows in training order.*found 99"):
        maxent.bounds(release, table[1:], rows=True)
    for call in (maxent.bounds, maxent.estimate, maxent.audit):
        with pytest.raises(InvalidInput, match="tell who was drawn for each tree"):
            call(replace(release, draws=None), table, rows=True)
    with pytest.raises(InvalidInput, match="qi"):
        maxent.audit(release, rows=True)
    with pytest.raises(InvalidInput, match="order is not known"):
        maxent.bounds(release, table, rows=True, worlds=True)


def test_counts_of_draws_are_read_as_seeds_are():
    release, table, y = default_forest(5, n=80)
    stated = Draws(80, 80, counts=tuple(map(tuple, release.draws.matrix().tolist())))
    one, other = (system_of(each, table) for each in (release, replace(release, draws=stated)))
    assert (one.matrix != other.matrix).nnz == 0
    check_sound(release, table, y, prove(other, "linear"))


@pytest.mark.parametrize("kind", [RandomForestRegressor, BaggingRegressor])
def test_means_of_two_numbers_are_counts(kind):
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 3, (60, 2)).astype(float), rng.integers(0, 2, 60)
    model = kind(n_estimators=40, random_state=0).fit(X, 7.3 * y - 2)
    table = pd.DataFrame(X, columns=["a", "b"])
    release = maxent.from_sklearn(model, target="y", features=["a", "b"], values=[-2, 5.3])
    sums = system_of(release, table).sums
    assert (sums.low == sums.high).all()
    assert (sums.matrix @ y == sums.low).all()
    found = prove(system_of(release, table), "linear")
    check_sound(release, table, y, found)
    assert found.proved.all()
    binned = maxent.from_sklearn(model, target="y", features=["a", "b"], bins=[-3, 0, 6])
    check_sound(binned, table, y, prove(system_of(binned, table), "linear"))
    edited = replace(release, draws=replace(release.draws, seeds=(1, *release.draws.seeds[1:])))
    assert "the draws do not fit the counts" in system_of(edited, table).contradictions[0].says


def test_numbers_that_are_missing_go_their_way():
    rng = np.random.default_rng(6)
    X, y = rng.integers(0, 5, (90, 2)).astype(float), rng.integers(0, 2, 90)
    X[rng.random((90, 2)) < 0.2] = np.nan
    model = RandomForestClassifier(20, random_state=0, max_depth=4).fit(X, y)
    release = maxent.from_sklearn(model, target="y", features=["a", "b"])
    table = pd.DataFrame(X, columns=["a", "b"])
    check_sound(release, table, y, prove(system_of(release, table), "linear"))


@pytest.mark.search
@pytest.mark.parametrize("seed", cases(0, 20, hunted=200))
def test_elimination_finds_rank_and_solution(seed):
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(1, 160)), int(rng.integers(1, 160))
    dense = rng.integers(0, 5, (m, n)) * (rng.random((m, n)) < rng.uniform(0.02, 0.9))
    dense[:, rng.random(n) < 0.2] = dense[:, :1]
    x = rng.integers(0, 2, (n, 1))
    found = _eliminated(sparse.csr_matrix(dense), dense @ x)
    rank = np.linalg.matrix_rank(dense.astype(float))
    assert not found.wrong
    assert found.rank == rank
    assert ((dense @ found.values - dense @ x) % 4_194_301 == 0).all()
    null = np.linalg.svd(dense.astype(float))[2][rank:]
    follows = np.ones(n, bool) if not len(null) else np.abs(null).max(axis=0) < 1e-8
    assert np.array_equal(found.follows, follows)
    assert (found.values[follows] == x[follows]).all()
    assert sum(len(rows) for _, rows in _components(sparse.csr_matrix(dense))) == int(dense.any(axis=0).sum())


def test_the_command_writes_a_line_for_each_row_and_class(tmp_path, capsys):
    release, table, y = default_forest(8, n=60)
    release.save(tmp_path / "forest.json")
    table.to_csv(tmp_path / "people.csv", index=False)
    files = [str(tmp_path / "forest.json"), str(tmp_path / "people.csv"), "--rows"]
    assert main(["bounds", *files, "--json", "-o", str(tmp_path / "rows.csv")]) == 0
    assert json.loads(capsys.readouterr().out)["row_equations"]["proved"] == 60
    rows = pd.read_csv(tmp_path / "rows.csv")
    assert rows.row.tolist() == np.repeat(np.arange(1, 61), 2).tolist()
    assert rows[rows.low == 1]["class"].tolist() == y.tolist()
    assert main(["bounds", *files]) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    shown = [int(line.split()[-1]) for line in lines[:20]]
    assert header.split() == ["a", "b", "c", "count", "P(0)", "P(1)", "row"]
    for line, row in zip(lines, shown, strict=False):
        assert line.split()[4 + y[row - 1]] == "1.000"
    assert main(["audit", *files]) == 0
    assert "60 of 60 are proved" in capsys.readouterr().out
    table[1:].to_csv(tmp_path / "people.csv", index=False)
    assert main(["estimate", *files]) == 2
    assert "expected 60 rows in training order" in capsys.readouterr().err
    assert main(["bounds", *files, "--memory", "1GB"]) == 2
