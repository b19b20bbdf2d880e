"""What is not read is judged as if it gave away the classes of all who end in the same leaves of all trees."""

import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import maxent
from maxent.__main__ import main
from maxent.constraints.program.program import Regions
from maxent.disclosure import worst_case
from maxent.models.release import Attribute, Boosting, Branch, Node, Release, Target, Tree

RNG = np.random.default_rng(1)
X = pd.DataFrame({name: RNG.integers(0, 3, 600) for name in "ABC"})
Y = pd.Series(np.where(RNG.random(600) < 0.3 + 0.15 * X["A"], "yes", "no"), name="Y")
WEIGHTS = RNG.integers(1, 3, 600).astype(float)
# Twice as many people, of whom those of one weight are still of several classes in each cell
TWICE = pd.concat([X, X], ignore_index=True), pd.concat([Y, Y[::-1]], ignore_index=True), np.append(WEIGHTS, WEIGHTS)
LIMITS = {"max_posterior": 0.95, "max_certain": 0, "max_right_guesses": 0.9, "max_lift": 0.4}


def scored(*leaves: dict[str, float]) -> Release:
    """A tree that splits A into one leaf each, which state shares."""
    below = [Node(f"L{i}", value=value) for i, value in enumerate(leaves)]
    if len(below) == 1:
        return Release(TARGET, (A,), (Tree((below[0],)),), predicts="score", boosting=Boosting("share"))
    branches = (Branch("L0", le=0.5), Branch("L1", gt=0.5))
    tree = Tree((Node("N", "A", branches), *below))
    return Release(TARGET, (A,), (tree,), predicts="score", boosting=Boosting("share"))


def summed(*sizes: float) -> Release:
    """A tree of scores that splits A into leaves, which state the sums of second derivatives of so many records."""
    below = [Node(f"L{i}", value=0.1, hessian=size / 4) for i, size in enumerate(sizes)]
    ends = [None, *(i + 0.5 for i in range(len(sizes) - 1)), None]
    branches = tuple(Branch(f"L{i}", gt=ends[i], le=ends[i + 1]) for i in range(len(sizes)))
    tree = Tree((Node("N", "A", branches), *below), of_class="yes")
    return Release(TARGET, (A,), (tree,), predicts="score", boosting=Boosting("logit"))


TARGET, A = Target("Y", ("no", "yes")), Attribute("A", "numeric")


def reviewed(model: Any, X: Any, y: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", maxent.UnreliableResult)
        return maxent.review(model, X, y, qi=list(X.columns), target="Y", **options)


@pytest.mark.promise(number=2)
def test_people_of_other_weights_are_told_apart_by_them(tmp_path: Any, capsys: Any) -> None:
    people, classes = pd.DataFrame({"A": [0.0] * 4}), ["no", "yes", "no", "yes"]
    release = scored({"no": 0.25, "yes": 0.75})
    weights = [1.0, 3.0, 1.0, 3.0]
    known = reviewed(release, people, classes, sample_weight=weights, max_certain=0).verdict()
    assert known.status == "cannot_tell"
    assert "if the scores gave all counts away: 4 people certain" in "\n".join(known.lines())
    mixed = reviewed(release, people, classes, sample_weight=[1.0, 1.0, 3.0, 3.0], max_certain=0)
    assert mixed.summary["worst_case"]["certain"] == 0
    assert mixed.verdict().status == "pass"
    table = people.assign(weight=weights)
    named = maxent.review(release, table, classes, qi=["A"], sample_weight="weight")
    assert named.summary["worst_case"]["certain"] == 4
    release.save(tmp_path / "tree.json")
    table.assign(Y=classes).to_csv(tmp_path / "data.csv", index=False)
    call = ["review", str(tmp_path / "tree.json"), str(tmp_path / "data.csv"), "--target", "Y", "--qi", "A", "--json"]
    assert main([*call, "--sample-weight", "weight"]) == 0
    assert json.loads(capsys.readouterr().out)["worst_case"]["certain"] == 4
    assert main([*call, "--sample-weight", "other"]) == 2
    capsys.readouterr()
    with pytest.raises(maxent.InvalidInput, match="4 weights, one for each row"):
        reviewed(release, people, classes, sample_weight=[1.0, 2.0])
    with pytest.raises(maxent.InvalidInput, match="a weight of at least 0 for each row"):
        reviewed(release, people, classes, sample_weight=[1.0, 2.0, -1.0, 1.0])


@pytest.mark.promise(number=2)
def test_the_probability_that_a_release_prints_is_judged() -> None:
    people, classes = pd.DataFrame({"A": [0.0] * 20}), ["yes"] * 18 + ["no"] * 2
    release = scored({"no": 0.03, "yes": 0.97})  # of weights that are alike within no class
    found = reviewed(release, people, classes, sample_weight=np.ones(20), max_posterior=0.95)
    assert found.summary["worst_case"]["max_posterior"] == 0.9
    verdict = found.verdict()
    assert verdict.status == "cannot_tell"
    assert "as the release itself prints a probability of 0.970 for somebody" in "\n".join(verdict.lines())
    assert found.verdict(max_posterior=0.98).status == "pass"


def test_what_else_is_known_is_known_in_the_worst_case() -> None:
    people = pd.DataFrame({"A": [0.0, 0.0, 0.25, 0.25]})
    truth = people.assign(Y=["yes", "yes", "no", "no"])
    facts = pd.DataFrame({"A": [0.0], "Y": ["yes"], "count": [2]})
    release = scored({"no": 0.5, "yes": 0.5}, {"no": 0.5, "yes": 0.5})
    # Weights of classes explain the only leaf; too few for these to be told from weights of people.
    assert "why" in maxent.estimate(release, people, truth).summary["worst_case"]
    labels = np.tile(["yes", "no"], 60)
    table = pd.DataFrame({"A": np.repeat([0.0, 0.25, 1.0, 1.25, 2.0, 2.25], 20)})
    release = summed(40, 40, 40)
    truth = table.assign(Y=labels)
    assert maxent.estimate(release, table, truth).summary["worst_case"]["certain"] == 0
    facts = pd.DataFrame({"A": [0.0], "Y": ["yes"], "count": [10]})
    leaf = maxent.estimate(release, table, truth, facts=facts).summary["worst_case"]
    assert leaf["max_posterior"] == pytest.approx(0.5)
    facts = pd.DataFrame({"A": [0.0], "Y": ["yes"], "count": [15]})
    truth = table.assign(Y=["yes"] * 15 + ["no"] * 5 + ["yes"] * 5 + ["no"] * 15 + ["yes", "no"] * 40)
    knowing = maxent.estimate(release, table, truth, facts=facts).summary["worst_case"]
    assert knowing["max_posterior"] == pytest.approx(0.75, abs=1e-5)


def test_sums_of_second_derivatives_show_whether_people_weighed_alike() -> None:
    table = pd.DataFrame({"A": np.repeat([0.0, 1.0, 2.0], 10)})
    truth = table.assign(Y=["yes", "no"] * 15)
    told = {sizes: maxent.estimate(summed(*sizes), table, truth).summary for sizes in ((10, 10, 10), (10, 15, 10))}
    assert told[10, 10, 10]["worst_case"]["certain"] == 0
    assert "does not show whether people had the same weight" in told[10, 15, 10]["worst_case"]["why"]
    few = table[table["A"] < 2], truth[truth["A"] < 2]
    assert "why" in maxent.estimate(summed(10, 10), *few).summary["worst_case"]  # two leaves may agree by chance
    why = reviewed(summed(10, 15, 10), table, truth["Y"], max_certain=0)
    assert why.verdict().status == "cannot_tell"
    assert reviewed(summed(10, 15, 10), table, truth["Y"], sample_weight=np.ones(30), max_certain=0).verdict().passed


def others(weights: Any) -> dict[str, Any]:
    """Models of other tools, with large cells, of which not everything is read."""
    lightgbm, xgboost, catboost = (pytest.importorskip(name) for name in ("lightgbm", "xgboost", "catboost"))
    quiet = {"n_estimators": 2, "random_state": 0, "n_jobs": 1}
    made = {
        "LightGBM, bagging": lightgbm.LGBMClassifier(
            subsample=0.8, subsample_freq=1, num_leaves=6, verbose=-1, **quiet
        ),
        "LightGBM, dart": lightgbm.LGBMClassifier(boosting_type="dart", num_leaves=6, verbose=-1, **quiet),
        "XGBoost, limited steps": xgboost.XGBClassifier(max_delta_step=0.3, max_depth=2, **quiet),
        "CatBoost, ordered": catboost.CatBoostClassifier(
            iterations=2, depth=2, boosting_type="Ordered", random_seed=0, thread_count=1, allow_writing_files=False
        ),
    }
    for name, model in made.items():
        model.fit(X, (Y == "yes").astype(int), sample_weight=weights, **{"verbose": False} if "Cat" in name else {})
    return made


@pytest.mark.filterwarnings("ignore")  # of the tools
@pytest.mark.parametrize("kind", ["none", "whole", "of two", "any"])
def test_files_of_boosted_models_show_whether_people_weighed_alike(kind: str) -> None:
    rng = np.random.default_rng(2)
    weights = {
        "none": None,
        "whole": WEIGHTS,
        "of two": np.where(WEIGHTS > 1, 1.5, 0.5),
        "any": rng.uniform(0.5, 2, 600),
    }
    for name, model in others(weights[kind]).items():
        found = reviewed(model, X, (Y == "yes").astype(int), **LIMITS)
        drawn = name in ("LightGBM, bagging", "CatBoost, ordered")
        assert ("draws" in found.converted.aside) == (drawn or ("XGB" in name and kind != "none")), name
        unread = found.converted.aside or kind != "none"
        assert found.verdict().status == ("fail" if drawn else "cannot_tell" if unread else "pass"), name
        assert {c.status for c in found.verdict().releases[0].checks} == {"cannot_tell" if unread else "pass"}, name
        assert ("why" in found.summary["worst_case"]) == (kind != "none"), name
        stated = reviewed(model, X, (Y == "yes").astype(int), sample_weight=np.ones(600), max_certain=0)
        assert "why" not in stated.summary["worst_case"], name


def test_private_attributes_are_not_taken_to_be_known() -> None:
    model = GradientBoostingClassifier(n_estimators=2, subsample=0.8, random_state=np.random.RandomState(0)).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", maxent.UnreliableResult)
        public = maxent.review(model, X, Y, qi=["A", "B", "C"], target="Y").summary["worst_case"]
        alone = maxent.review(model, X, Y, qi=["A"], target="Y").summary["worst_case"]
    shares = Y.eq("yes").groupby(X["A"]).mean()
    assert alone["max_posterior"] == pytest.approx(max(shares.max(), 1 - shares.min()))
    assert alone["max_posterior"] < public["max_posterior"]


WITHIN = {
    "a tree": (DecisionTreeClassifier(max_depth=3, min_samples_leaf=50, random_state=0), None),
    "a forest": (RandomForestClassifier(10, max_depth=3, min_samples_leaf=50, bootstrap=False, random_state=0), None),
    "a tree with weights": (DecisionTreeClassifier(max_depth=3, min_samples_leaf=50, random_state=0), TWICE[2]),
    "a forest with weights": (RandomForestClassifier(3, max_depth=1, bootstrap=False, random_state=0), TWICE[2]),
    "a forest with class weights": (
        RandomForestClassifier(
            3, max_depth=2, min_samples_leaf=50, bootstrap=False, class_weight="balanced", random_state=0
        ),
        None,
    ),
    "a monotonic tree": (
        DecisionTreeClassifier(max_depth=3, min_samples_leaf=50, monotonic_cst=[1, 0, 0], random_state=0),
        None,
    ),
    "boosting": (GradientBoostingClassifier(n_estimators=1, max_depth=2, min_samples_leaf=50), None),
    "boosting with weights": (GradientBoostingClassifier(n_estimators=1, max_depth=2, min_samples_leaf=50), TWICE[2]),
}


@pytest.mark.parametrize("name", WITHIN)
def test_large_and_mixed_cells_are_passed(name: str) -> None:
    model, weights = WITHIN[name]
    people, classes = (X, Y) if weights is None else TWICE[:2]
    model.fit(people, classes, sample_weight=weights)
    if model.get_params().get("class_weight") is not None and hasattr(model, "_sample_weight"):
        del model._sample_weight  # a weight for each row, which tells its class
    found = reviewed(model, people, classes, sample_weight=weights, **LIMITS)
    assert found.verdict().status == "pass", "\n".join(found.verdict().lines())
    unread = {each["judged"] for each in found.summary["unread"]}
    assert unread == (set() if name == "a tree" else {"worst_case"})


def test_sensitive_classes_have_a_worst_case_of_their_own() -> None:
    model, (X, Y, weights) = WITHIN["a tree with weights"][0], TWICE
    found = reviewed(model.fit(X, Y, sample_weight=weights), X, Y, sample_weight=weights, sensitive=["yes"])
    whole, alone = found.row["worst_case"], found.row["sensitive"]["worst_case"]
    assert alone["max_posterior"] <= whole["max_posterior"]
    assert 0 <= alone["right_guesses"] <= 1


@pytest.mark.promise(number=1)
def test_every_command_says_what_is_not_read(tmp_path: Any, capsys: Any) -> None:
    model, (X, Y, weights) = WITHIN["a tree with weights"][0], TWICE
    found = reviewed(model.fit(X, Y, sample_weight=weights), X, Y, sample_weight=weights)
    assert found.summary["verdict"]["status"] == "not stated"
    assert found.summary["verdict"]["checks"] == []
    release, qi, truth = (str(tmp_path / name) for name in ("tree.json", "qi.csv", "truth.csv"))
    found.release.save(release)
    X.to_csv(qi, index=False)
    X.assign(Y=Y).to_csv(truth, index=False)
    leaves = sum(node.is_leaf for node in found.release.trees[0].nodes)
    choices = "choices of splits"
    entries = [{"what": what, "trees": 1, "leaves": leaves, "judged": "not"} for what in ("scores", choices)]

    assert main(["explain", release, qi, "--json"]) == 0
    explained = json.loads(capsys.readouterr().out)
    assert explained["unread"] == entries
    assert explained["leaves"] == [
        {
            "tree": 1,
            "leaves": leaves,
            "states": {"n": leaves, "scores": leaves},
            "compiled": {},
            "unread": {"scores": leaves, choices: leaves},
        }
    ]
    assert main(["explain", release, qi]) == 0
    text = capsys.readouterr().out
    assert (
        f"tree 1: {leaves} leaves; stated: n {leaves}, scores {leaves}; compiled, in rows: nothing; not read: scores"
        in text
    )
    assert f"not read: scores of {leaves} leaves in 1 tree: no limit is known to be kept" in text

    assert main(["check", release, qi, "--truth", truth, "--max-certain", "0", "--json"]) == 4
    checked = json.loads(capsys.readouterr().out)
    assert checked["unread"] == entries
    assert checked["worst_case"]["why"].startswith("people had weights")
    [check] = [each for each in checked["verdict"]["checks"] if each["key"] == "max_certain"]
    assert check["id"] == "MX202"
    assert main(["check", release, qi, "--truth", truth, "--max-certain", "0"]) == 4
    assert "not read: scores of" in capsys.readouterr().out
    assert main(["review", release, truth, "--target", "Y", "--qi", "A,B,C"]) == 0
    assert "not read: scores of" in capsys.readouterr().out
    page = tmp_path / "report.html"
    found.report(page)
    assert "as if they gave away how many people of each class" in page.read_text(encoding="utf-8")


def test_divergence_and_control_people_pass_nothing_beside_what_is_not_read() -> None:
    model = GradientBoostingClassifier(n_estimators=2, subsample=0.8, random_state=np.random.RandomState(0))
    release = reviewed(model.fit(X, Y), X, Y).release
    found = maxent.check(release, X, truth=X.assign(Y=Y), policy=None, max_t_closeness=1.0, min_l_diversity=1.0)
    assert [row.status for row in found.rows] == ["cannot_tell", "cannot_tell", "pass", "pass"]


def shares_by_leaf(labels: Any, weights: Any, leaf: Any) -> list[float]:
    """The weighted share of ``yes`` in two leaves."""
    return [float(weights[leaf == i] @ labels[leaf == i] / weights[leaf == i].sum()) for i in (0, 1)]


@pytest.mark.parametrize("seed", range(12))
def test_nobody_is_proved_by_shares_whom_the_worst_case_leaves_open(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 9
    values = np.append([0, 2, 4], rng.integers(0, 3, n - 3) * 2).astype(float)
    weights = rng.choice([1.0, 2.0, 3.5], n)
    labels = rng.integers(0, 2, n)
    leaves = [(values > cut).astype(int) for cut in (1, 3)]
    stated = [shares_by_leaf(labels, weights, leaf) for leaf in leaves]
    trees = []
    for cut, shares in zip((1.0, 3.0), stated, strict=True):
        root = Node("N", "A", (Branch("L0", le=cut), Branch("L1", gt=cut)))
        below = (Node(f"L{i}", value={"no": 1 - share, "yes": share}) for i, share in enumerate(shares))
        trees.append(Tree((root, *below)))
    release = Release(TARGET, (A,), tuple(trees), predicts="score", boosting=Boosting("share"))
    people, classes = pd.DataFrame({"A": values}), np.array(["no", "yes"])[labels]
    found = reviewed(release, people, classes, sample_weight=weights).summary
    every = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    said = [[shares_by_leaf(each, weights, leaf) for leaf in leaves] for each in every]
    agree = every[[np.allclose(shares, stated) for shares in said]]
    proved = int((agree.min(axis=0) == agree.max(axis=0)).sum())  # whose row is known, which is more than the table
    groups = [(values == value) & (weights == weight) for value, weight in {*zip(values, weights, strict=True)}]
    assert found["worst_case"]["certain"] == sum(int(g.sum()) for g in groups if np.ptp(labels[g]) == 0)
    assert proved <= found["worst_case"]["certain"]


def test_regions_of_whole_groups_are_those_that_have_all_or_none_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    for number in range(200):
        _, group = np.unique(rng.integers(0, 5, 8), return_inverse=True)
        size = np.bincount(group)
        cells = [np.flatnonzero(rng.random(8) < 0.6), np.flatnonzero(np.isin(group, rng.integers(0, 5, 2)))]
        some = [cells[i] for i in rng.integers(0, 2, 4)]
        monkeypatch.setattr(worst_case, "AT_A_TIME", 1 + number % 30)
        regions = Regions(np.cumsum([0, *map(len, some)]), np.concatenate(some), (None,) * 4)
        expected = [all((group[r] == g).sum() == size[g] for g in group[r].tolist()) for r in some]
        assert worst_case._whole(regions, group, size).tolist() == expected
