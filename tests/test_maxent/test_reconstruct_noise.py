"""``maxent reconstruct`` with noise: the last row, plausible tables, and how near they are to people of the data."""

import json
import math
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from support.calls import printed_by, refused
from support.search import cases

import maxent
from maxent.constraints.patterns import stated_counts, within_draws
from maxent.disclosure.nearness import agreement, matched, matching, null_model
from maxent.models.release import AddedNoise, Attribute, Branch, Mechanism, Node, Release, Target, Tree
from maxent.models.trees.places import assign

CLASSES = ("no", "yes")
VALUES = {"a": ("x", "y"), "b": ("u", "v", "w"), "c": ("0", "1")}
MECHANISMS: tuple[Mechanism, ...] = ("laplace", "geometric", "gaussian", "truncated-laplace")


def people_of(seed: int, n: int) -> pd.DataFrame:
    """People whose columns depend on the class."""
    rng = np.random.default_rng(seed)
    klass = rng.integers(0, 2, n)
    found = {name: [values[min(k, rng.integers(len(values)))] for k in klass] for name, values in VALUES.items()}
    return pd.DataFrame({**found, "t": [CLASSES[k] for k in klass]})


def drawn(rng: np.random.Generator, mechanism: Mechanism, scale: float) -> Any:
    """Two numbers of noise."""
    if mechanism == "gaussian":
        return rng.normal(0, scale, 2)
    if mechanism == "geometric":
        return np.subtract(*rng.geometric(1 - math.exp(-1 / scale), (2, 2))).astype(float)
    return rng.laplace(0, scale, 2) if mechanism == "laplace" else np.trunc(rng.laplace(0, scale, 2))


def noisy(people: pd.DataFrame, seed: int, mechanism: Mechanism, scale: float, trees: int = 4) -> Release:
    """Trees of random splits, with noisy counts of their leaves."""
    rng = np.random.default_rng(seed)

    def grow(nodes: list[Node], name: str, rows: pd.DataFrame, left: list[str]) -> None:
        at = len(nodes)
        nodes.append(Node(name))
        if len(left) == 1:
            z = drawn(rng, mechanism, scale)
            told = {c: float((rows["t"] == c).sum() + z[x]) for x, c in enumerate(CLASSES)}
            nodes[at] = Node(name, noisy=told)
            return
        column = str(rng.choice(left))
        branches = tuple(Branch(name + v, (v,)) for v in VALUES[column])
        nodes[at] = Node(name, column, branches)
        for branch, value in zip(branches, VALUES[column], strict=True):
            grow(nodes, branch.child or "", rows[rows[column] == value], [c for c in left if c != column])

    made = []
    for _ in range(trees):
        nodes: list[Node] = []
        grow(nodes, "N", people, list(VALUES))
        made.append(Tree(tuple(nodes)))
    attributes = tuple(Attribute(name, "categorical", values) for name, values in VALUES.items())
    return Release(Target("t", CLASSES), attributes, tuple(made), noise=AddedNoise(mechanism, scale))


def published(release: Release, people: pd.DataFrame) -> list[tuple[float, int]]:
    """Each published count, and that of these people."""
    found = []
    for tree in release.trees:
        node = {n.id: n for n in tree.nodes}
        leaf = []
        for row in people.to_dict("records"):
            at = tree.nodes[0]
            while at.attribute:
                at = node[at.id + row[at.attribute]]
            leaf.append((at.id, row["t"]))
        found += [(told, leaf.count((n.id, c))) for n in tree.nodes for c, told in (n.noisy or {}).items()]
    return found


@pytest.mark.search
@pytest.mark.parametrize("seed", cases(100, 8))
def test_the_posterior_of_the_last_row_is_that_of_all_rows_one_by_one(seed: int) -> None:
    people = people_of(seed, 12)
    release = noisy(people, seed, MECHANISMS[seed % 4], 1.0 + seed % 3)
    found = maxent.reconstruct(release, others=people.iloc[:-1])
    logs = {}
    for row in product(*VALUES.values(), CLASSES):
        whole = pd.concat([people.iloc[:-1], pd.DataFrame([row], columns=people.columns)])
        off = np.array([told - there for told, there in published(release, whole)])
        logs[row] = float(release.noise.log(off).sum())  # type: ignore[union-attr]
    chance = {row: math.exp(log - max(logs.values())) for row, log in logs.items()}
    total = sum(chance.values())
    for j, name in enumerate(people.columns):
        value = found.table.iloc[0, j]
        share = sum(p for row, p in chance.items() if row[j] == value) / total
        assert found.probabilities.iloc[0, j] == pytest.approx(share, abs=1e-9), name
        assert all(
            share >= sum(p for row, p in chance.items() if row[j] == other) / total - 1e-9
            for other in (*VALUES.get(name, CLASSES),)
        )
    assert found.others is not None
    assert found.others["log_ratio"] == pytest.approx(max(logs.values()) - min(logs.values()))
    if release.noise is not None and release.noise.mechanism in ("laplace", "geometric"):
        assert found.others["log_ratio"] <= 2 * found.others["epsilon"] + 1e-9
    assert not found.shared.any()


def test_a_prior_like_the_others_decides_where_noise_tells_nothing() -> None:
    people = pd.DataFrame([("x", "u", "0", "no")] * 40, columns=[*VALUES, "t"])
    release = noisy(people, 0, "laplace", 1e6)
    told = maxent.reconstruct(release, others=people.iloc[:-1], prior="others")
    assert told.table.iloc[0].tolist() == ["x", "u", "0", "no"]
    assert told.probabilities.to_numpy().min() > 0.9
    alike = maxent.reconstruct(release, others=people.iloc[:-1])
    assert alike.probabilities.iloc[0].tolist() == pytest.approx([1 / 2, 1 / 3, 1 / 2, 1 / 2], abs=1e-3)


def sure_and_right(seed: int) -> list[bool]:
    """Of a noisy forest, whether each cell that is given 0.9 to 1 is right, after the best matching."""
    n, mechanism = 20 + seed % 21, MECHANISMS[seed % 4]
    people = people_of(seed, n)
    release = noisy(people, seed, mechanism, (0.3, 0.6, 1.5, 4.0)[seed // 4 % 4], trees=2 + seed % 6)
    found = maxent.reconstruct(release, people=n, time_limit=60, seed=seed)
    own = found.table.to_numpy()
    codes = [np.unique(np.r_[own[:, j], people.to_numpy()[:, j]], return_inverse=True)[1] for j in range(4)]
    mine, theirs = (np.column_stack([c[part] for c in codes]) for part in (slice(n), slice(n, None)))
    same = mine == theirs[matching(mine, theirs, np.zeros(n, np.int64))]
    return list(same[found.probabilities.to_numpy() >= 0.9])


def test_cells_of_which_plausible_tables_are_sure_are_right() -> None:
    """Calibration, of a fixed sample: of cells given 0.9 to 1 nine in ten are right."""
    right = [each for seed in range(8) for each in sure_and_right(seed)]
    assert len(right) > 200
    assert 0.88 <= np.mean(right) <= 1.0


@pytest.mark.slow
@pytest.mark.search
def test_cells_of_which_plausible_tables_are_sure_are_right_in_60_forests() -> None:
    right = [each for seed in cases(100, 60) for each in sure_and_right(seed)]
    assert len(right) > 1_500
    assert 0.88 <= np.mean(right) <= 1.0


def test_matching_is_within_groups_and_shares_are_of_tables() -> None:
    table, people = np.array([[0, 0], [1, 1], [2, 2]]), np.array([[1, 1], [0, 0], [2, 3]])
    assert matched(table, people, np.zeros(3, np.int64)).tolist() == [0, 0, 0.5]
    assert matched(table, people, np.array([0, 1, 1])).tolist() == [1, 1, 0.5]
    assert agreement(table, [people, table], np.zeros(3, np.int64)).tolist() == [[1, 1], [1, 1], [1, 0.5]]


def test_a_table_of_the_people_is_nearer_to_them_and_one_of_others_is_not() -> None:
    rng = np.random.default_rng(0)
    truth, control = rng.integers(0, 2, (60, 12)), rng.integers(0, 2, (300, 12))
    none = np.zeros(60, np.int64)
    own = null_model(truth, truth, control, none, 0)
    assert own["error"] == 0
    assert own["interval"][0] > 0.1
    assert own["difference"] == pytest.approx(own["error_control"])
    other = null_model(rng.integers(0, 2, (60, 12)), truth, control, none, 0)
    assert other["interval"][0] < 0 < other["interval"][1]
    assert abs(other["error"] - other["error_marginals"]) < 0.05
    assert null_model(truth, truth, None, none, 0)["difference"] is None


def test_the_command_writes_probabilities_and_says_how_near(tmp_path: Path, capsys: Any) -> None:
    people = people_of(5, 20)
    noisy(people, 5, "truncated-laplace", 1.0).save(tmp_path / "tree.json")
    people.to_csv(tmp_path / "truth.csv", index=False)
    people_of(6, 60).to_csv(tmp_path / "control.csv", index=False)
    call = ["reconstruct", str(tmp_path / "tree.json"), "--people", "20", "--time-limit", "10", "--json"]
    call += ["--truth", str(tmp_path / "truth.csv"), "--control", str(tmp_path / "control.csv")]
    said = json.loads(printed_by(capsys, [*call, "--probabilities", str(tmp_path / "p.csv")]).out)
    assert set(said["null"]) == {"error", "error_marginals", "error_control", "difference", "interval"}
    assert said["cells_proved"] == 0
    shares = pd.read_csv(tmp_path / "p.csv")
    assert shares.shape == (20, 4)
    assert ((shares >= 0) & (shares <= 1)).all().all()
    text = printed_by(capsys, [each for each in call if each != "--json"]).out
    assert "nearer to the people of the data by" in text
    others = ["--others", str(tmp_path / "truth.csv"), "--prior", "others"]
    assert "epsilon" in printed_by(capsys, [*call[:2], *others]).out


def test_what_does_not_go_together_is_refused() -> None:
    people = people_of(1, 10)
    release = noisy(people, 1, "laplace", 1.0)
    refused("no truth", maxent.reconstruct, release, people=10, control=people)
    refused("prior", maxent.reconstruct, release, others=people, prior="none")
    refused("no qi beside it", maxent.reconstruct, release, people[["a"]], others=people)
    refused("a column t", maxent.reconstruct, release, others=people[["a", "b", "c"]])
    refused("10 people", maxent.reconstruct, release, people=10, truth=people.iloc[:9], time_limit=2)
    refused("the number of individuals", maxent.reconstruct, release)


def bootstrapped(seed: int, trees: int = 12) -> tuple[Release, pd.DataFrame]:
    """A forest of a few people, of whom nobody knows how often they were drawn, and these people."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 9))
    rows = pd.DataFrame(rng.integers(0, 2, (n, 2)).astype(str), columns=["a", "b"])
    y = np.where(rng.random(n) < 0.8, rows["a"], rng.integers(0, 2, n).astype(str))
    y[:2] = "0", "1"
    model = RandomForestClassifier(trees, random_state=seed).fit(rows.astype(float), y)
    release = maxent.from_sklearn(model, target="t", categories={"a": ["0", "1"], "b": ["0", "1"]})
    return replace(release, draws=None), rows.assign(t=y)


def held(release: Release, people: pd.DataFrame, confidence: float) -> bool:
    """Whether intervals of the people behind draws, of whom nothing is known, hold these people."""
    columns = [people[a.name].astype(int).to_numpy() for a in release.attributes]
    klass = people["t"].astype(int).to_numpy()
    for tree, said in zip(
        release.trees, within_draws(release, stated_counts(release), len(people), confidence), strict=True
    ):
        inside = assign(tree, release.attributes, columns)
        for place in said.places.leaves:
            counts = np.bincount(klass[inside == place], minlength=2)
            if ((counts < said.low[place]) | (counts > said.high[place])).any():
                return False
    return True


def test_intervals_of_draws_hold_as_often_as_is_said() -> None:
    assert np.mean([held(*bootstrapped(seed), 0.5) for seed in range(60)]) >= 0.5


@pytest.mark.search
@pytest.mark.parametrize("seed", cases(200, 6))
def test_what_intervals_of_draws_prove_is_true_while_they_hold(seed: int) -> None:
    release, people = bootstrapped(seed)
    found = maxent.reconstruct(release, people=len(people), noise="intervals", time_limit=5)
    assert any("hold together with a probability of 0.99" in note for note in found.notes)
    if not held(release, people, 0.99):
        return
    assert found.status in ("consistent", "likeliest")
    for name in found.table:  # what is proved of so many people is true of as many
        told = found.table[name].astype(str)[found.proved[name].to_numpy()]
        for value in set(told) - {"*"}:
            assert (told == value).sum() <= people[name].isin(value.split("|")).sum()


def test_a_likelihood_needs_draws_or_noise() -> None:
    tree = Tree((Node("L", counts={"no": 2, "yes": 1}),))
    refused(
        "noise: expected intervals", maxent.reconstruct, Release(Target("t", CLASSES), (), (tree,)), noise="likelihood"
    )


def test_one_row_has_neither_intervals_nor_other_numbers_of_people() -> None:
    people = people_of(3, 12)
    given: dict[str, Any] = {"others": people.iloc[1:]}
    release = noisy(people, 3, "laplace", 1.0)
    refused("noise: expected likelihood beside others", maxent.reconstruct, release, noise="intervals", **given)
    refused("people: expected one more than the rows of others: 12", maxent.reconstruct, release, people=11, **given)
    assert len(maxent.reconstruct(release, people=12, noise="likelihood", **given).table) == 1
