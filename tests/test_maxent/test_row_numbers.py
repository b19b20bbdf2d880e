"""Rows in training order of a numeric target: leaves of regressions state means, which are sums of rows' numbers."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import BaggingRegressor, ExtraTreesRegressor, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor
from support.search import cases

import maxent
from maxent.__main__ import main
from maxent.constraints.rows import row_system, scale_of
from maxent.models.columns import NOTHING
from maxent.models.tables.classes import class_of_numbers
from maxent.models.tables.qi_table import read_qi
from maxent.solvers.certainty import closed
from maxent.solvers.certainty import rows as of_rows
from maxent.solvers.certainty.rows import _narrowed, prove

pytestmark = pytest.mark.filterwarnings("ignore::maxent.models.errors.UnreliableResult")


def forest(seed, n=None, k=None, **more):
    """A random regression with draws, its table and the numbers of its rows."""
    rng = np.random.default_rng(seed)
    n, k = n or int(rng.integers(30, 120)), k or int(rng.integers(3, 7))
    width = int(rng.integers(1, 4))
    X = rng.integers(0, 4, (n, width)) + np.where(rng.random(width) < 0.3, rng.normal(size=(n, width)), 0.0)
    kind = int(rng.integers(3))
    numbers = (
        [np.arange(k) * 1.0, np.unique(np.round(rng.exponential(20, k) + np.arange(k), 1)), np.exp(rng.normal(size=k))]
    )[kind]
    y = rng.choice(numbers, n)
    y[: len(numbers)] = numbers
    trees = {"n_estimators": int(rng.integers(1, 25)), "random_state": seed, **more}
    grown = {"max_depth": [None, 1, 2, 3, 4][int(rng.integers(5))], "min_samples_leaf": int(rng.integers(1, 6))}
    grown["criterion"] = str(rng.choice(["squared_error", "poisson"])) if (y >= 0).all() else None
    grown["criterion"] = grown["criterion"] or "squared_error"
    drawn = n if rng.random() < 0.6 else int(n * rng.uniform(0.4, 1.0))
    kind = int(rng.integers(4))
    if kind > 1:
        part = {"bootstrap": kind == 2, "max_samples": drawn if kind == 2 else 1 + drawn // 2}
        model = BaggingRegressor(DecisionTreeRegressor(**grown), **part, **trees)
    else:
        kinds = RandomForestRegressor, ExtraTreesRegressor
        model = kinds[kind](bootstrap=True, max_samples=drawn, **grown, **trees)
    columns = [f"x{j}" for j in range(width)]
    stands = (
        {"values": np.unique(y)} if rng.random() < 0.6 or len(y) < 12 else {"bins": _bins(y, rng, grown["criterion"])}
    )
    release = maxent.from_sklearn(model.fit(X, y), target="y", features=columns, **stands)
    return release, pd.DataFrame(X, columns=columns), y


def _bins(y, rng, criterion):
    """Edges of bins; where neither end is known, only variances tell how large numbers can be."""
    cuts = np.sort(rng.uniform(y.min(), y.max(), int(rng.integers(1, 4))))
    ends = [[y.min() - 1, y.max() + 1], [-np.inf, np.inf], [y.min(), np.inf]][int(rng.integers(3))]
    ends = [y.min(), np.inf] if criterion == "poisson" else ends
    return [ends[0], *cuts, ends[1]]


def system_of(release, table):
    return row_system([release], read_qi(table, release, rows=True))


def numbers_in_units(release, y):
    """X of the truth, shape (2, n_rows), and by how much rounding may move it."""
    scale = scale_of(release.target.numbers, len(y))
    x = np.stack([(y - scale.origin) ** power / scale.unit[power - 1] for power in (1, 2)])
    return (np.rint(x), 1e-6) if scale.whole else (x, 1e-6 + max(scale.off))


def check_sound(release, y, found):
    assert found.consistent
    truth = class_of_numbers(y, release.target.numbers)
    assert (truth != NOTHING).all()
    assert (found.high[np.arange(len(y)), truth] == 1).all()
    assert (found.classes[found.proved] == truth[found.proved]).all()


@pytest.mark.search
@pytest.mark.parametrize("seed", cases(0, 40, hunted=300))
def test_no_row_is_proved_wrong(seed):
    release, table, y = forest(seed)
    system = system_of(release, table)
    sums = system.sums
    assert system.equations == (sums.power == 0).sum() > 0
    assert not system.contradictions
    x, off = numbers_in_units(release, y)
    value = np.where(sums.power == 0, sums.matrix @ x[0], sums.matrix @ x[1])
    off = off * np.asarray(sums.matrix.sum(axis=1)).ravel()
    assert (value >= sums.low - off).all()
    assert (value <= sums.high + off).all()
    before = prove(system, "closed")
    found = prove(system, "linear", programs=len(y) < 50)
    check_sound(release, y, before)
    check_sound(release, y, found)
    assert found.proved[before.proved].all()
    assert found.determined <= found.proved.sum()
    means = sums.matrix[sums.power == 0].toarray().astype(float)
    assert found.rank is None or found.rank == np.linalg.matrix_rank(means)


def worlds(system):
    """Which classes rows have in some labelling that satisfies all sums, shape (n_rows, n_classes)."""
    sums, n, k = system.sums, system.n_rows, system.n_classes
    every = np.array(list(itertools.product(range(k), repeat=n)), np.int8)
    holds = np.ones(len(every), bool)
    for row, power, low, high in zip(sums.matrix.toarray(), sums.power, sums.low, sums.high, strict=True):
        value = sums.least[power][every] @ row
        holds &= (value >= low) & (value <= high)
    return np.stack([(every[holds] == x).any(axis=0) for x in range(k)], axis=1)


@pytest.mark.search
@pytest.mark.parametrize("seed", cases(0, 12, hunted=100))
def test_bounds_of_few_rows_are_those_of_all_labellings(seed):
    release, table, y = forest(seed, n=8 + seed % 3, k=3, n_estimators=1 + seed % 4)
    system = system_of(release, table)
    possible = worlds(system)
    assert possible[np.arange(len(y)), class_of_numbers(y, release.target.numbers)].all()
    for level in ("closed", "linear"):
        assert (prove(system, level).high.astype(bool) >= possible).all()
    found = maxent.bounds(release, table, rows=True, level="integer")
    assert found.status == "proved"
    assert np.array_equal(found.bounds.high >= 1, possible)
    assert np.array_equal(found.bounds.low >= 1, possible & (possible.sum(axis=1) == 1)[:, None])


@pytest.mark.search
@pytest.mark.parametrize("seed", cases(0, 30, hunted=300))
def test_combinations_never_exclude_the_truth(seed):
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(1, 60)), int(rng.integers(1, 40))
    dense = rng.integers(0, 5, (m, n)) * (rng.random((m, n)) < rng.uniform(0.05, 0.9))
    size = 10.0 ** int(rng.integers(1, 10))
    x = np.rint(rng.uniform(0, size, n))
    wide = np.rint(rng.uniform(0, size * float(rng.choice([0, 1e-6, 1e-2])), m))
    least, most = np.zeros(n), np.where(rng.random(n) < 0.1, np.inf, size)
    asked, whole = rng.random(n) < 0.8, bool(rng.random() < 0.5)
    low, high = _narrowed(sparse.csr_matrix(dense), dense @ x - wide, dense @ x + wide, least, most, asked, whole=whole)
    assert (low <= x[asked]).all(), (low - x[asked]).max()
    assert (high >= x[asked]).all(), (x[asked] - high).max()
    if (
        np.linalg.matrix_rank(dense) == n
        and np.isfinite(most).all()
        and not wide.any()
        and size < 1e6
        and np.linalg.cond(dense) < 100
    ):
        assert (high - low <= 2).all()


def of_three(seed, n=60, **more):
    """A default forest about three values, and the same values in bins."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 3, (n, 2)).astype(float), rng.integers(0, 3, n)
    model = RandomForestRegressor(random_state=seed, **more).fit(X, y)
    table = pd.DataFrame(X, columns=["a", "b"])
    stands = {"values": [0, 1, 2]}, {"bins": [0, 0.5, 1.5, 2]}
    return [maxent.from_sklearn(model, target="y", features=["a", "b"], **stand) for stand in stands], table, y


def grown_out(n):
    """A forest whose leaves are mostly of one row each, over numbers that nobody shares."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 3)), rng.uniform(size=n)
    model = RandomForestRegressor(4, random_state=0).fit(X, y)
    bins = np.linspace(0, 1, 5).tolist()
    release = maxent.from_sklearn(model, target="y", features=list("abc"), bins=bins)
    return release, pd.DataFrame(X, columns=list("abc")), y


def test_the_work_on_a_forest_that_is_grown_out_follows_its_sums(monkeypatch):
    """Who is open is not asked for each piece, and a sum of one row is looked at in the first and the last round."""
    asked, summed = [0], [0]
    is_open, sums_of = of_rows._State.open.fget, of_rows._sums_of

    def counted(state):
        asked[0] += 1
        return is_open(state)

    def counting(ends, begin):
        summed[0] += len(begin)
        return sums_of(ends, begin)

    monkeypatch.setattr(of_rows._State, "open", property(counted))
    monkeypatch.setattr(of_rows, "_sums_of", counting)
    release, table, y = grown_out(1_000)
    system = system_of(release, table)
    found = prove(system, "linear", programs=False)
    check_sound(release, y, found)
    assert found.proved.mean() > 0.9
    assert asked[0] < 100
    assert summed[0] < 30 * len(system.sums)


@pytest.mark.parametrize("number", [0, 1])
def test_means_tell_everybody_of_a_default_forest(number):
    releases, table, y = of_three(4)
    found = maxent.bounds(releases[number], table, rows=True, level="linear")
    told = found.summary["row_equations"]
    assert (told["rank"], told["determined"], told["proved"]) == (60, 60, 60)
    assert told["equations"] > 800
    frame = found.frame()
    assert frame[frame.low == 1]["class"].tolist() == [releases[number].target.classes[x] for x in y]
    assert maxent.audit(releases[number], table, rows=True)["row_equations"] == told
    estimate = maxent.estimate(releases[number], table, rows=True)
    assert estimate.summary["row_equations"] == told
    assert estimate.summary["constraints"]["drawn"] == told["equations"]
    assert (estimate.probabilities.argmax(axis=1) == y).all()
    [judged] = estimate.verdict(max_certain=0).releases
    assert judged.checks[0].status == "fail"
    assert "seeds of the draws of each tree" not in [each["what"] for each in estimate.summary["unread"]]
    verdicts = [
        each.verdict(max_certain=0).as_dict() for each in (estimate, found, maxent.estimate(releases[0], table))
    ]
    assert [each["adversary"] for each in verdicts] == ["rows", "rows", "table"]
    assert estimate.summary["distinct_qi"] == found.summary["distinct_qi"] == len(table.drop_duplicates())


@pytest.mark.parametrize("number", [0, 1])
def test_an_estimate_of_few_trees_agrees_with_the_means(number):
    releases, table, y = of_three(5, n=40, n_estimators=3, min_samples_leaf=3)
    release = releases[number]
    found, proved = maxent.estimate(release, table, rows=True), maxent.bounds(release, table, rows=True, level="linear")
    assert found.outcome.status == "optimal"
    assert (found.probabilities >= proved.low - 1e-6).all()
    assert (found.probabilities <= proved.high + 1e-6).all()
    assert proved.bounds.high[np.arange(40), y].all()
    sums = system_of(release, table).sums
    for ends, sign in ((sums.least, 1), (sums.most, -1)):
        side = sums.high if sign > 0 else -sums.low
        value = np.where(sums.power == 0, *(sums.matrix @ (found.probabilities @ ends[power]) for power in (0, 1)))
        assert (sign * value <= side + 1e-4 * np.abs(ends).max()).all()


def test_a_review_fails_a_regression_that_tells_its_draws():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(50, 2)), rng.integers(0, 5, 50)
    model = RandomForestRegressor(10, random_state=0).fit(X, y)
    for rows in (False, True):
        found = maxent.review(model, X, y, target="y", values=range(5), qi=["x0", "x1"], max_certain=0, rows=rows)
        [judged] = found.verdict().releases
        assert judged.status == "fail"
        assert judged.draws.rows.proved == 50
        assert judged.draws.rows.why == ""


def test_a_review_proves_what_single_leaves_tell_once(monkeypatch):
    asked, tighten = [], closed.tighten

    def counting(*given):
        asked.append(given)
        return tighten(*given)

    monkeypatch.setattr(closed, "tighten", counting)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), rng.integers(0, 5, 50)
    model = RandomForestRegressor(5, random_state=0).fit(X, y)
    found = maxent.review(model, X, y, target="y", values=range(5), qi=["x0", "x1"], max_certain=0)
    assert "FAIL" in str(found)
    assert len(asked) == 1


def test_numbers_that_do_not_fit_the_draws_are_named():
    releases, table, _ = of_three(6)
    release = releases[0]
    other = replace(release, draws=replace(release.draws, seeds=(1, *release.draws.seeds[1:])))
    found = maxent.bounds(other, table, rows=True)
    assert found.status == "inconsistent"
    assert "the draws do not fit the counts" in found.summary["contradictions"][0]["says"]
    nodes = list(release.trees[2].nodes)
    at = next(i for i, node in enumerate(nodes) if node.is_leaf and node.distinct > 1)
    nodes[at] = replace(nodes[at], mean=nodes[at].mean + 1 / nodes[at].n)
    trees = (*release.trees[:2], replace(release.trees[2], nodes=tuple(nodes)), *release.trees[3:])
    assert maxent.bounds(replace(release, trees=trees), table, rows=True).status == "inconsistent"


def test_means_that_were_rounded_prove_what_their_digits_tell():
    releases, table, y = of_three(7, n_estimators=20)
    for digits in (3, 2, 1):
        trees = [
            replace(
                tree,
                nodes=tuple(
                    replace(node, mean=None if node.mean is None else round(node.mean, digits), variance=None)
                    for node in tree.nodes
                ),
            )
            for tree in releases[0].trees
        ]
        rounded = replace(releases[0], trees=tuple(trees))
        found = prove(system_of(rounded, table), "linear", programs=False)
        check_sound(rounded, y, found)
        assert found.proved.all() or digits < 3


ROUNDINGS = {
    "means": lambda node, rounded: replace(node, mean=rounded(node.mean), variance=None),
    "means, not variances": lambda node, rounded: replace(node, mean=rounded(node.mean)),
    "variances, not means": lambda node, rounded: replace(node, variance=rounded(node.variance)),
    "both": lambda node, rounded: replace(node, mean=rounded(node.mean), variance=rounded(node.variance)),
    "leaves alone": lambda node, rounded: replace(
        node, mean=rounded(node.mean) if node.is_leaf else None, variance=node.variance if node.is_leaf else None
    ),
    "leaves under their roots": lambda node, rounded: (
        replace(node, mean=rounded(node.mean), variance=rounded(node.variance)) if node.is_leaf else node
    ),
    "means of leaves under their roots": lambda node, rounded: (
        replace(node, mean=rounded(node.mean)) if node.is_leaf else node
    ),
}


def rounded_by_hand(release, what, rounded):
    """A release with seeds whose numbers somebody rounded."""
    trees = (
        replace(tree, nodes=tuple(ROUNDINGS[what](node, rounded) for node in tree.nodes)) for tree in release.trees
    )
    return replace(release, trees=tuple(trees))


@pytest.mark.search
@pytest.mark.parametrize("seed", cases(0, 40, hunted=300))
def test_no_row_is_proved_wrong_after_numbers_were_rounded_by_hand(seed):
    release, table, y = forest(seed)
    rng = np.random.default_rng(seed)
    decimals = int(rng.integers(0, 4)) - int(rng.integers(2)) * int(np.floor(np.log10(np.ptp(y))))
    single = rng.random() < 0.2

    def rounded(number):
        return None if number is None else float(np.float32(number)) if single else float(round(number, decimals))

    what = list(ROUNDINGS)[seed % len(ROUNDINGS)]
    check_sound(release, y, prove(system_of(rounded_by_hand(release, what, rounded), table), "linear", programs=False))


@pytest.mark.parametrize("what", ["both", "leaves alone", "leaves under their roots"])
def test_means_of_large_leaves_that_became_whole_prove_nothing_wrong(what):
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    y = np.concatenate([np.arange(50) % 5 == 0, np.arange(50) % 5 > 0]) * 1.0
    model = RandomForestRegressor(30, max_depth=1, random_state=0).fit(X, y)
    release = maxent.from_sklearn(model, target="y", features=["a"], values=[0, 1])
    table = pd.DataFrame(X, columns=["a"])
    whole = rounded_by_hand(release, what, lambda number: None if number is None else float(round(number)))
    found = prove(system_of(whole, table), "linear", programs=False)
    check_sound(whole, y, found)
    assert found.proved.sum() < 100
    assert prove(system_of(release, table), "linear").proved.sum() > found.proved.sum()


def test_of_private_attributes_the_nodes_above_them_state_sums():
    rng = np.random.default_rng(1)
    X, y = np.column_stack([rng.integers(0, 3, (80, 2)), rng.normal(size=80)]), rng.integers(0, 3, 80)
    model = RandomForestRegressor(12, random_state=0, max_depth=3).fit(X, y)
    found = maxent.review(model, X, y, target="y", values=range(3), qi=["x0", "x1"], max_certain=0, rows=True)
    assert found.estimate.summary["row_equations"]["equations"] >= 12
    assert found.estimate.summary["row_equations"]["rank"] >= 6
    assert found.estimate.probabilities[np.arange(80), y].min() > 0


def test_nothing_is_read_of_numbers_without_ends_whose_variances_are_not_stated():
    rng = np.random.default_rng(4)
    X, y = rng.integers(0, 3, (60, 2)).astype(float), rng.integers(0, 3, 60)
    model = RandomForestRegressor(10, criterion="poisson", random_state=0).fit(X, y)
    release = maxent.from_sklearn(model, target="y", features=["a", "b"], bins=[-np.inf, 0.5, np.inf])
    found = maxent.estimate(release, pd.DataFrame(X, columns=["a", "b"]), rows=True)
    assert found.summary["row_equations"]["equations"] == 0
    assert "seeds of the draws of each tree" in [each["what"] for each in found.summary["unread"]]
    [judged] = found.verdict(max_certain=0).releases
    assert judged.draws.rows.why == "not tried: no node states counts of classes, or means of numbers that have ends"
    assert judged.checks[0].status == "cannot_tell"


def test_the_command_proves_rows_of_a_regression(tmp_path, capsys):
    releases, table, y = of_three(8)
    releases[1].save(tmp_path / "forest.json")
    table.to_csv(tmp_path / "people.csv", index=False)
    files = [str(tmp_path / "forest.json"), str(tmp_path / "people.csv"), "--rows"]
    assert main(["bounds", *files, "--json", "-o", str(tmp_path / "rows.csv")]) == 0
    assert json.loads(capsys.readouterr().out)["row_equations"]["proved"] == 60
    rows = pd.read_csv(tmp_path / "rows.csv")
    assert rows[rows.low == 1]["class"].tolist() == [releases[1].target.classes[x] for x in y]
    for command in ("audit", "estimate"):
        assert main([command, *files]) == 0
        assert "60 of 60 are proved" in capsys.readouterr().out
