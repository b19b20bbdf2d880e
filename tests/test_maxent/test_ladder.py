"""The ladder of adversaries: each one's figures against all data of few people, and the verdicts of limits on it."""

import itertools
import json
import re
import threading
from dataclasses import replace
from hashlib import sha256
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from types import SimpleNamespace as Some
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from support.brute_force import dense
from support.calls import refused
from support.documents import release_document
from support.search import cases
from support.small import release_and_people
from support.strategies import leaves_of

import maxent
from maxent.__main__ import main
from maxent.api import proving
from maxent.command_line.parsing import joined_names, split_names
from maxent.disclosure.ladder import ADVERSARIES, CONTAINS, Figures, Rung, proved_of
from maxent.disclosure.limits import Judged, Limits, Verdict
from maxent.models.errors import InvalidInput
from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree
from maxent.policy.policy import read_policy
from maxent.results.html_report.dossier import FEWER, _remedy, _unknown, _untested
from maxent.results.html_report.view import percent, within_words
from maxent.solvers.certainty import unordered

D1 = Path(__file__).parents[2] / "examples" / "d1"
QI = ["Education", "Country", "Gender"]


def review_of(release: Any, frame: pd.DataFrame, target: str, **options: Any) -> Any:
    return maxent.review(release, frame, qi=[c for c in frame.columns if c != target], target=target, **options)


def rung(found: Any, adversary: str) -> Any:
    return next(each for each in found.ladder if each.adversary == adversary)


def certain_in(worlds: list[tuple[int, ...]], alike: Any) -> int:
    """People of quasi-identifiers whose people all have one and the same class in all worlds."""
    many = 0
    for q in np.unique(alike):
        here = np.flatnonzero(alike == q)
        if len({world[i] for world in worlds for i in here}) == 1:
            many += len(here)
    return many


def alike_in(frame: pd.DataFrame) -> Any:
    return frame.groupby(list(frame.columns), sort=False).ngroup().to_numpy()


@pytest.mark.search
@pytest.mark.parametrize("publish", ["labels", "rates", "counts"])
@pytest.mark.parametrize("seed", cases(0, 5, hunted=200))
def test_predictions_prove_what_holds_in_all_data_that_give_these_answers(seed: int, publish: str) -> None:
    release, frame = release_and_people("entropy", seed, publish=publish, classes="ab", n=9)
    found = rung(review_of(release, frame, "X"), "predictions")
    [tree] = release.trees
    at = leaves_of(release, frame)[:, 0]
    leaves = [tree.nodes[i] for i in at.tolist()]
    y = (frame["X"] == "b").to_numpy().astype(int)
    answers: list[Any] = [round(float(y[at == i].mean()), 12) for i in at.tolist()]
    if publish == "labels":
        answers = [leaf.label for leaf in leaves]
    elif publish == "rates":
        answers = [(leaf.label, leaf.error_rate) for leaf in leaves]
    number = np.unique(np.array([repr(each) for each in answers]), return_inverse=True)[1].ravel()

    def agrees(world: tuple[int, ...]) -> bool:
        ours = np.array(world)
        if ours.sum() != y.sum():  # the base rate is known to whom verdicts are about
            return False
        for g in np.unique(number):
            here, first = ours[number == g], leaves[int(np.flatnonzero(number == g)[0])]
            if publish == "labels":
                share = here.mean() if first.label == "b" else 1 - here.mean()
                if share < 0.5:
                    return False
            elif abs(here.mean() - y[number == g].mean()) > 1e-9:
                return False
        return True

    worlds = [world for world in itertools.product((0, 1), repeat=9) if agrees(world)]
    assert tuple(y) in worlds
    people = frame.drop(columns="X")
    assert (found.figures.certain_proved or 0) == certain_in(worlds, alike_in(people))
    if publish != "labels":
        shares = np.array([y[number == g].mean() for g in number])
        assert found.figures.worst["probability"] == pytest.approx(np.maximum(shares, 1 - shares).max(), abs=1e-6)
    assert found.figures.right_guesses >= max(y.mean(), 1 - y.mean()) - 1e-9


@pytest.mark.search
@pytest.mark.parametrize("publish", ["labels", "rates", "counts"])
@pytest.mark.parametrize("impurity", ["entropy", "gini", "gain_ratio"])
@pytest.mark.parametrize("seed", cases(0, 4, hunted=100))
def test_one_person_can_have_the_classes_that_agree_with_all_that_is_stated(
    seed: int, impurity: str, publish: str
) -> None:
    release, frame = release_and_people(impurity, seed, publish=publish, classes="abc", n=12)
    found = rung(review_of(release, frame, "X"), "all_but_one").figures
    program = dense(SimpleNamespace(release=release, people=SimpleNamespace(qi=frame.drop(columns="X"))))
    classes = release.target.classes
    number = {tuple(row): i for i, row in enumerate(program.q.drop(columns="w").itertuples(index=False, name=None))}
    who = [number[tuple(row)] for row in frame.drop(columns="X").itertuples(index=False, name=None)]
    y = [classes.index(c) for c in frame["X"]]

    def agrees(world: list[int]) -> bool:
        m = np.zeros(len(program.w))
        for q, x in zip(who, world, strict=True):
            m[(program.owner == q) & (program.klass == x)] += 1
        exact = np.abs(program.A @ m - program.b).max() < 1e-9
        return bool(exact and (program.G @ m > -1e-9).all() and (program.advantage(m)[0] > -1e-9).all())

    assert agrees(y)
    left = [[x for x in range(len(classes)) if agrees([*y[:i], x, *y[i + 1 :]])] for i in range(len(y))]
    assert found.certain_proved == sum(len(each) == 1 for each in left)
    if publish == "counts":
        assert found.certain_proved == len(frame)


@pytest.mark.parametrize("seed", range(3))
def test_rows_in_order_are_proved_as_in_all_data_with_the_counts_of_the_draws(seed: int) -> None:
    dice = np.random.default_rng(seed)
    X = pd.DataFrame({name: dice.integers(0, 2, 9) for name in "AB"})
    y = pd.Series(np.where(dice.random(9) < 0.5, "a", "b"), name="y")
    y.iloc[:2] = ["a", "b"]
    model = RandomForestClassifier(3, max_depth=1, random_state=seed).fit(X, y)
    found = maxent.review(model, X, y, qi=["A", "B"], max_certain=0, adversary="rows")
    figures = rung(found, "rows").figures
    release = found.release
    drawn = [np.random.RandomState(tree.random_state).randint(0, 9, 9) for tree in model.estimators_]
    times = [np.bincount(rows, minlength=9) for rows in drawn]
    at = leaves_of(release, X)
    truth = (y == "b").to_numpy().astype(int)

    def counts(world: Any) -> list[Any]:
        ours = np.array(world)
        return [
            np.bincount(2 * at[:, t] + ours, times[t], 2 * len(tree.nodes)).tolist()
            for t, tree in enumerate(release.trees)
        ]

    stated = counts(truth)
    worlds = [
        world for world in itertools.product((0, 1), repeat=9) if counts(world) == stated and sum(world) == truth.sum()
    ]
    assert figures.certain_proved == sum(len({world[i] for world in worlds}) == 1 for i in range(9))
    assert found.verdict().adversary == "rows"
    assert found.verdict().status == "fail"
    for reason in (None, "shuffled"):  # which does not make who knows the order somebody else
        allowed = maxent.review(model, X, y, qi=["A", "B"], max_certain=9, adversary="rows", rows_unknown=reason)
        assert (rung(allowed, "rows").status, rung(allowed, "rows").why[:6]) == ("fail", "MX406:")
        assert allowed.verdict().status == "fail"
    allowed = maxent.review(model, X, y, qi=["A", "B"], max_certain=9, adversary="all_but_one", rows_unknown="shuffled")
    assert rung(allowed, "all_but_one").status == "cannot_tell"


def test_a_limit_on_the_rows_of_a_stripped_forest_is_not_told_as_a_seed_can_be_found_again() -> None:
    X = pd.DataFrame({"A": [0, 1] * 6})
    y = pd.Series(["no", "yes"] * 6, name="y")
    model = RandomForestClassifier(2, max_depth=1, random_state=0).fit(X, y)
    seed = "whoever finds the seed by trying"
    stripped = maxent.strip(model)
    assert seed in rung(maxent.review(stripped, X, y, qi=["A"]), "rows").why
    given: dict[str, Any] = {"qi": ["A"], "max_certain": 12}
    assert maxent.review(stripped, X, y, **given).verdict().status == "pass"
    found = maxent.review(stripped, X, y, **given, adversary="rows")
    assert (found.verdict().status, rung(found, "rows").status) == ("cannot_tell", "cannot_tell")
    assert seed in rung(found, "rows").why
    assert seed in "".join(found.verdict().lines())
    assert maxent.review(stripped, X, y, qi=["A"], max_certain=0, adversary="rows").verdict().status == "fail"
    policy = {"limits": {"max_certain": 12, "rows": {"max_certain": 12}}}
    truth = X.assign(y=y)
    assert maxent.check(found.release, truth, policy, truth=truth).status == "cannot_tell"
    whole = RandomForestClassifier(2, max_depth=1, bootstrap=False, random_state=0).fit(X, y)
    assert maxent.review(whole, X, y, **given, adversary="rows").verdict().status == "pass"
    with pytest.raises(InvalidInput, match=r"rows_unknown: expected none with adversary='rows', .* found 'shuffled'"):
        maxent.review(whole, X, y, **given, adversary="rows", rows_unknown="shuffled")
    unknown = maxent.review(whole, X, y, **given, rows_unknown="shuffled")
    policy["adversary"] = {"rows": "unknown", "rows_reason": "shuffled"}
    checked = maxent.check(unknown.release, truth, policy, truth=truth)
    assert (unknown.verdict("rows", max_certain=12).status, checked.status) == ("cannot_tell", "cannot_tell")
    why = rung(checked, "rows").why
    assert (
        why
        == "the limit is on somebody who knows the order of the rows, and the order of the rows is taken to be unknown"
    )
    assert unknown.verdict("rows", max_certain=0).status == "fail"


def test_the_ladder_has_the_same_five_rungs_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [str(D1 / "tree.json"), str(D1 / "truth.csv"), "--target", "Salary", "--qi", ",".join(QI)]
    report = tmp_path / "report.html"
    assert main(["review", *words, "--max-certain", "11", "--json", "--report", str(report)]) == 0
    ladder = json.loads(capsys.readouterr().out)["ladder"]
    assert [each["adversary"] for each in ladder] == list(ADVERSARIES)
    assert [tuple(each["contains"]) for each in ladder] == list(CONTAINS.values())
    assert [each["status"] for each in ladder] == ["not_assessed", "not_assessed", "pass", *["not_assessed"] * 2]
    assert ladder[3]["certain_proved"] == ladder[2]["certain_proved"]
    assert "tells nothing about the order of rows" in ladder[3]["why"]
    assert (ladder[4]["certain_proved"], ladder[4]["right_guesses"]) == (11, 1.0)
    assert "Who could attack" in report.read_text(encoding="utf-8")
    check = ["check", str(D1 / "tree.json"), str(D1 / "qi.csv"), "--truth", str(D1 / "truth.csv")]
    main([*check, "--max-certain", "11", "--json"])
    again = json.loads(capsys.readouterr().out)["ladder"]
    keys = ("adversary", "certain", "right_guesses", "base_rate", "status")
    assert [[each[key] for key in keys] for each in again] == [[each[key] for key in keys] for each in ladder]
    main(["review", *words, "--max-certain", "11"])
    printed = capsys.readouterr().out
    assert "verdict: PASS for an adversary with the table, within the stated limits" in printed
    assert all(f"    {name.replace('_', ' ')}: " in printed for name in ADVERSARIES)


def test_limits_of_a_policy_name_an_adversary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text("[limits]\nmax_certain = 11\n\n[limits.predictions]\nmax_certain = 11\n", encoding="utf-8")
    words = [
        "check",
        str(D1 / "tree.json"),
        str(D1 / "qi.csv"),
        "--truth",
        str(D1 / "truth.csv"),
        "--policy",
        str(policy),
    ]
    record = tmp_path / "record.json"
    assert main([*words, "--record", str(record)]) == 0
    assert "PASS for an adversary with the table, and one with the predictions" in capsys.readouterr().out
    assert main(["verify", str(record)]) == 0
    told = json.loads(record.read_text(encoding="utf-8"))
    assert told["criteria"]["thresholds"]["predictions"] == {"max_certain": 11}
    capsys.readouterr()
    policy.write_text("[limits]\nmax_certain = 11\n\n[limits.all_but_one]\nmax_certain = 0\n", encoding="utf-8")
    assert main([*words, "--json"]) == 3
    verdict = json.loads(capsys.readouterr().out)["verdict"]
    assert (verdict["adversary"], verdict["adversaries"]) == ("all_but_one", ["all_but_one"])
    checks = verdict["checks"]
    assert [each["status"] for each in checks if each["id"] == "MX202"] == ["pass", "fail"]
    assert checks[-1]["adversary"] == "all_but_one"
    policy.write_text("[limits.population]\nmax_certain = 0\n", encoding="utf-8")
    assert main([*words, "--json"]) == 4
    assert "no register" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[limits]\nmax_lift = 0.2\n[limits.table]\nmax_lift = 0.3\n", "max_lift: expected one of them"),
        ("[limits.table]\nmin_k = 3\n", "min_k"),
        ("[limits.rows]\nmin_k = 3\n", "min_k"),
        ("[limits.rows]\nmax_certain = -1\n", "a number of individuals of at least 0"),
        ("[limits.row]\nmax_certain = 1\n", r"row: .*an adversary \(predictions, population, table, .*mean 'rows'"),
        ("[limits.rows]\nmax_member = 0.5\n", "max_member"),
        ("[limits]\nmax_member = 0.5\n[limits.population]\nmax_member = 0.4\n", "max_member: expected one of them"),
    ],
)
def test_what_is_wrong_with_limits_that_name_an_adversary(text: str, said: str, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=said):
        maxent.check(D1 / "tree.json", D1 / "qi.csv", policy)


def test_people_alike_of_several_classes_are_counted_by_their_class() -> None:
    people = pd.DataFrame({"C": ["a"] * 5 + ["b"] * 3, "y": ["no", "no", "no", "yes", "yes", "no", "no", "yes"]})
    tree = maxent.defend(people, "none", target="y", qi=["C"]).release
    worst = rung(maxent.review(tree, people, qi=["C"], target="y"), "all_but_one").as_dict()["worst"]
    alike = (people["C"] == worst["qi"]["C"]) & (people["y"] == worst["class"])
    assert (worst["people"], worst["others"]) == (alike.sum(), 8 - alike.sum())


def test_an_answer_of_rounded_counts_makes_nobody_certain(tmp_path: Path) -> None:
    people = pd.DataFrame({"C": ["a"] * 16 + ["b"] * 32, "y": ["no"] * 14 + ["yes"] * 2 + ["no"] * 11 + ["yes"] * 21})
    maxent.defend(people, "none", target="y", qi=["C"]).release.save(tmp_path / "tree.json")
    tree = json.loads((tmp_path / "tree.json").read_text(encoding="utf-8"))
    for node in tree["trees"][0]["nodes"]:
        node.pop("n", None)
    for node in tree["trees"][0]["nodes"][1:]:
        node["counts"] = {name: 5 * round(count / 5) for name, count in node["counts"].items()}
    tree["release"] = {"rounded": {"base": 5, "method": "nearest"}}
    (tmp_path / "tree.json").write_text(json.dumps(tree), encoding="utf-8")
    words = {"qi": ["C"], "target": "y", "max_certain": 0, "adversary": "predictions"}
    found = maxent.review(tmp_path / "tree.json", people, **words)
    assert (rung(found, "predictions").figures.certain, rung(found, "predictions").status) == (0, "pass")


def test_a_limit_on_somebody_who_was_not_assessed_is_a_check_that_cannot_be_told() -> None:
    truth = pd.read_csv(D1 / "truth.csv")
    found = maxent.review(D1 / "tree.json", truth, qi=QI, target="Salary", max_certain=11, max_member=0.5).verdict()
    own = {"id": "MX209", "key": "max_member", "limit": 0.5, "found": None, "status": "cannot_tell"}
    assert found.as_dict()["checks"][-1].items() >= own.items()
    assert "a register of the population: cannot tell: no register" in "".join(found.lines())


def test_leaves_of_one_class_in_truth_count_for_whoever_knows_everybody_else() -> None:
    people = pd.DataFrame({"C": ["a"] * 5 + ["b"] * 3, "y": ["no"] * 5 + ["yes"] * 3})
    tree = maxent.defend(people, "none", target="y", qi=["C"], publish="labels").release
    found = maxent.review(tree, people, qi=["C"], target="y", max_certain=7, adversary="all_but_one")
    assert (rung(found, "all_but_one").status, rung(found, "all_but_one").figures.in_truth) == ("fail", 8)
    alone = maxent.review(tree, people, qi=["C"], target="y", max_certain=2, adversary="all_but_one", sensitive="yes")
    assert rung(alone, "all_but_one").status == "fail"


def test_a_rung_says_how_many_are_certain_of_a_sensitive_class() -> None:
    people = pd.DataFrame({"C": ["a"] * 5 + ["b"] * 3, "y": ["no"] * 5 + ["yes"] * 3})
    tree = maxent.defend(people, "none", target="y", qi=["C"]).release
    told = rung(maxent.review(tree, people, qi=["C"], target="y", max_certain=5, sensitive="yes"), "table")
    assert (told.certain_words, told.status) == ("8 proved; 3 of a sensitive class", "pass")
    assert told.plain.startswith("knows the class of 8 for certain, by proof; 3 of a sensitive class;")


def test_limits_on_the_adversary_with_the_table_may_name_it() -> None:
    named, plain = read_policy({"limits": {"table": {"max_certain": 3}}}), read_policy({"limits": {"max_certain": 3}})
    assert named.content == plain.content
    assert named.with_limits({"rows": {"max_certain": 2}}).thresholds["max_certain"] == 3


def test_a_policy_that_extends_another_says_what_it_changes_for_an_adversary() -> None:
    base = read_policy({"limits": {"max_certain": 3, "rows": {"max_certain": 2, "max_posterior": 0.9}}})
    found = base.with_limits({"rows": {"max_certain": 4}})
    assert found.named["rows"].as_dict() == {"max_posterior": 0.9, "max_certain": 4}
    assert found.limits["max_certain"] == 3
    assert "1 limit relaxed: rows.max_certain 4 (was 2)" in found.name


def test_python_names_an_adversary_too() -> None:
    truth = pd.read_csv(D1 / "truth.csv")
    found = maxent.review(D1 / "tree.json", truth, qi=QI, target="Salary", max_certain=5, adversary="predictions")
    assert (found.verdict().status, found.verdict().adversary) == ("pass", "predictions")
    assert found.verdict(max_certain=5).status == "fail"
    assert found.verdict(adversary="all_but_one", max_certain=10).status == "fail"
    assert found.summary["ladder"][0]["status"] == "pass"
    without = r"adversary: expected .* limit on it, such as max_certain=0, found rows without any"
    refused(without, found.verdict, "rows")
    refused(without, found.verdict, "rows", max_member=0.5)
    refused(without, maxent.review, D1 / "tree.json", truth, qi=QI, target="Salary", adversary="rows")
    refused(without, maxent.check, D1 / "tree.json", truth, {"limits": {"max_certain": 5}}, adversary="rows")
    of_rows = {"limits": {"rows": {"max_certain": 5}}}
    assert maxent.check(D1 / "tree.json", truth, of_rows, truth=truth, adversary="rows").status == "fail"
    with pytest.raises(InvalidInput, match="adversary: expected one of predictions"):
        maxent.review(D1 / "tree.json", truth, qi=QI, target="Salary", adversary="row")
    with pytest.raises(InvalidInput, match="min_k: expected a limit that can name an adversary"):
        maxent.review(D1 / "tree.json", truth, qi=QI, target="Salary", adversary="rows", min_k=3)


def test_a_verdict_names_whom_it_fails_for() -> None:
    rungs = [Rung(name, Figures(), status, "") for name, status in (("predictions", "fail"), ("all_but_one", "fail"))]

    def verdict(status: Any, *above: Rung) -> dict[str, Any]:
        found = Verdict(Limits(max_certain=3), (Judged("tree", True, status, ()),), above).as_dict()
        return {name: found[name] for name in ("adversary", "adversaries")}

    both = ["predictions", "all_but_one"]
    assert verdict("pass", *rungs) == {"adversary": "predictions", "adversaries": both}
    assert verdict("fail", *rungs)["adversaries"] == ["table", *both]
    assert verdict("pass", Rung("rows", Figures(), "cannot_tell", ""))["adversaries"] == ["rows"]
    assert verdict("pass", Rung("rows", Figures(), "pass", ""))["adversaries"] == ["table", "rows"]


def test_a_limit_that_names_the_rows_judges_a_review_of_rows(tmp_path: Path) -> None:
    dice = np.random.default_rng(0)
    people = pd.DataFrame({name: dice.integers(0, 2, 12) for name in "AB"})
    people["y"] = np.where(dice.random(12) < 0.5, "a", "b")
    model = RandomForestClassifier(3, max_depth=1, random_state=0).fit(people[["A", "B"]], people["y"])
    maxent.from_sklearn(model, target="y").save(tmp_path / "forest.json")
    people.to_csv(tmp_path / "data.csv", index=False)
    files = tmp_path / "forest.json", tmp_path / "data.csv"
    given: dict[str, Any] = {"qi": ["A", "B"], "target": "y", "rows": True, "max_posterior": 0.01}
    found, unnamed = (maxent.review(*files, **given, **more) for more in ({"adversary": "rows"}, {}))
    assert found.verdict().as_dict() == unnamed.verdict().as_dict()
    assert (found.verdict().status, found.verdict().adversary, rung(found, "rows").status) == ("fail", "rows", "fail")
    assert found.verdict("rows", max_posterior=0.01).as_dict() == unnamed.verdict(max_posterior=0.01).as_dict()
    found.record(tmp_path / "record.json")
    assert not maxent.verify(tmp_path / "record.json").differences


def test_a_file_that_tells_draws_never_passes_for_anybody() -> None:
    dice = np.random.default_rng(0)
    X = pd.DataFrame({name: dice.integers(0, 2, 60) for name in "AB"})
    y = pd.Series(np.where(dice.random(60) < 0.5, "a", "b"), name="y")
    model = RandomForestClassifier(3, max_depth=1, random_state=0).fit(X, y)
    found = maxent.review(model, X, y, qi=["A", "B"], max_certain=60)
    assert rung(found, "table").status == "fail"
    assert "MX406" in rung(found, "table").why
    assert rung(found, "rows").figures.row["individuals"] == 60
    other = found.verdict(adversary="predictions", max_certain=60)
    assert other.status == "fail"
    assert {c["id"]: c["status"] for c in other.as_dict()["checks"]} == {"MX202": "pass", "MX406": "fail"}
    assert any("who was drawn follows from the file" in line for line in other.lines())
    assert "who was drawn follows from the file" in repr(other)


@pytest.mark.parametrize("seeds", [True, False])
def test_limits_on_other_adversaries_ask_for_draws_in_every_output(seeds: bool, tmp_path: Path) -> None:
    dice = np.random.default_rng(0)
    people = pd.DataFrame({name: dice.integers(0, 2, 12) for name in "AB"})
    people["y"] = np.where(dice.random(12) < 0.5, "a", "b")
    forest = RandomForestClassifier(2, max_depth=1, random_state=0)
    model = (forest if seeds else DecisionTreeClassifier(max_depth=1)).fit(people[["A", "B"]], people["y"])
    maxent.from_sklearn(model, target="y").save(tmp_path / "model.json")
    people.to_csv(tmp_path / "data.csv", index=False)
    files, status = (tmp_path / "model.json", tmp_path / "data.csv"), "fail" if seeds else "pass"
    found = maxent.review(*files, qi=["A", "B"], target="y", adversary="predictions", max_certain=12)
    told = {"MX202": "pass", "MX406": status}
    assert {c["id"]: c["status"] for c in found.summary["verdict"]["checks"]} == told
    assert {c["id"]: c["status"] for c in found.record(tmp_path / "record.json")["checks"]} == told
    assert not maxent.verify(tmp_path / "record.json").differences
    found.dossier(tmp_path / "dossier.html")
    found.report(tmp_path / "report.html")
    found.sacro(tmp_path / "sacro")
    assert "MX406" in (tmp_path / "dossier.html").read_text(encoding="utf-8")
    assert ("MX406</span>" in (tmp_path / "report.html").read_text(encoding="utf-8")) == seeds
    told_there = json.loads((tmp_path / "sacro" / "results.json").read_text(encoding="utf-8"))["results"]
    [said] = [part for part in told_there["output_0"]["summary"].split("; ") if part.startswith("MX406")]
    assert said.endswith(f": {status}")


def test_answers_of_several_trees_are_taken_as_they_are_and_prove_nothing() -> None:
    dice = np.random.default_rng(0)
    X = pd.DataFrame({name: dice.integers(0, 4, 80) for name in "AB"})
    y = pd.Series(np.where(dice.random(80) < 0.5, "a", "b"), name="y")
    model = RandomForestClassifier(5, random_state=0).fit(X, y)
    found = rung(maxent.review(model, X, y, qi=["A", "B"]), "predictions").figures
    assert (found.certain_proved, found.unproved) == (None, "proofs left 80 people open")
    answers = model.predict_proba(X)
    assert found.certain == int((answers.max(axis=1) >= 0.999).sum())
    assert found.worst["probability"] == pytest.approx(answers.max())
    assert found.right_guesses == pytest.approx((model.predict(X) == y).mean(), abs=0.02)


@pytest.mark.parametrize("seed", range(3))
def test_an_answer_for_every_input_that_somebody_may_have_is_a_proof(seed: int) -> None:
    dice = np.random.default_rng(seed)
    X = pd.DataFrame({name: dice.integers(0, 3, 30) for name in "AB"})
    y = pd.Series(np.where((X["A"] > 1) | (dice.random(30) < 0.3), "a", "b"), name="y")
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    found = rung(maxent.review(model, X, y, qi=["A"]), "predictions").figures
    asked = pd.DataFrame(itertools.product(range(-1, 5), repeat=2), columns=["A", "B"])
    answers = model.predict_proba(asked).max(axis=1) == 1
    best = model.predict(asked)
    sure = {a for a in range(3) if answers[asked["A"] == a].all() and len(set(best[asked["A"] == a])) == 1}
    assert (found.certain_proved or 0) == int(X["A"].isin(sure).sum())


def test_what_is_proved_of_the_table_stays_where_a_limit_names_who_knows_more() -> None:
    dice = np.random.default_rng(1)
    X = pd.DataFrame({name: dice.integers(0, 4, 20) for name in "AB"})
    y = pd.Series(np.where(dice.random(20) < 0.5, "a", "b"), name="y")
    model = RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, y)
    of_table, of_rows = (
        maxent.review(model, X, y, qi=["A", "B"], max_certain=0, adversary=name) for name in ("table", "rows")
    )
    proved = [rung(found, "table").figures.certain_proved for found in (of_table, of_rows)]
    assert proved[0] == proved[1] > 0
    draws = [found.verdict().releases[0].draws.as_dict() for found in (of_table, of_rows)]
    assert draws[0] == draws[1]
    assert draws[1]["rows"]["proved"] is not None


def labelled(min_size: int = 3) -> tuple[Any, pd.DataFrame, pd.Series]:
    dice = np.random.default_rng(1)
    X = pd.DataFrame({"A": dice.integers(0, 9, 60), "B": dice.integers(0, 4, 60)})
    y = pd.Series(np.where(dice.random(60) < 0.2 + 0.4 * (X["A"] > 4), "yes", "no"), name="y")
    return DecisionTreeClassifier(min_samples_leaf=min_size, random_state=0).fit(X, y), X, y


def test_every_rung_obeys_what_the_adversary_is_said_to_know() -> None:
    model, X, y = labelled()
    given: dict[str, Any] = {"qi": ["A", "B"], "max_certain": 0}
    whole, less = (maxent.review(model, X, y, **given, knowledge=k) for k in (None, "label"))
    [tree] = whole.release.trees
    total: Any = {n.id: n.counts for n in tree.leaves}
    bare = [
        replace(n, counts=None, n=sum(total[n.id].values()), label=max(total[n.id], key=total[n.id].__getitem__))
        if n.id in total
        else n
        for n in tree.nodes
    ]
    alone = replace(whole.release, trees=(replace(tree, nodes=tuple(bare)),))
    of_labels = maxent.review(alone, X.assign(y=y), qi=["A", "B"], target="y", max_certain=0, knowledge="label")
    assert rung(whole, "predictions").figures.certain_proved > 0
    for name in ("predictions", "table", "all_but_one"):
        ours, theirs = (rung(found, name).figures for found in (less, of_labels))
        assert (ours.certain, ours.certain_proved or 0) == (theirs.certain, theirs.certain_proved or 0), name
    assert less.audit.summary["exposed"] == of_labels.audit.summary["exposed"]


def test_guesses_without_probabilities_make_nobody_certain_and_stand_beside_one_base_rate() -> None:
    _, X, _ = labelled()
    y = pd.Series(X["A"] + np.random.default_rng(2).normal(0, 3, len(X)).round(1), name="y")
    for model in (DecisionTreeRegressor(min_samples_leaf=5, random_state=0), RandomForestRegressor(3, random_state=0)):
        found = maxent.review(model.fit(X, y), X, y, qi=["A", "B"], bins=[-40, 3, 6, 80])
        figures = rung(found, "predictions").figures
        cut = np.digitize(y, [3, 6])
        right = (np.digitize(model.predict(X), [3, 6]) == cut).mean()
        assert (figures.certain, figures.certain_proved, figures.worst) == (0, None, None)
        assert figures.right_guesses == pytest.approx(right, abs=0.05)
        told = {each.figures.base_rate for each in found.ladder if each.figures.right_guesses is not None}
        assert len(told) == 1
        assert told.pop() == pytest.approx(np.bincount(cut).max() / len(y))


def test_only_counts_are_called_exact_counts() -> None:
    model, X, y = labelled()
    of_counts = rung(maxent.review(model, X, y, qi=["A", "B"]), "all_but_one")
    assert "exact counts: with everybody else's class one class is left of each" in of_counts.why
    boosted = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(X, y)
    of_scores = rung(maxent.review(boosted, X, y, qi=["A", "B"]), "all_but_one")
    assert of_scores.figures.certain_proved == len(X)
    assert "exact counts" not in of_scores.why
    labels = Release(
        Target("Y", ("no", "yes")), (Attribute("A", values=("x", "y")),), (split({"label": "yes"}, {"label": "no"}),)
    )
    people = pd.DataFrame({"A": ["x", "y"], "Y": ["yes", "no"]})
    of_labels = rung(maxent.review(labels, people, target="Y", qi=["A"]), "all_but_one")
    assert of_labels.why.endswith("; with everybody else's class one class is left of each")


def test_who_knows_all_but_one_is_told_no_base_rate(tmp_path: Path) -> None:
    """Two of three labels leave both classes open to whoever does not know how many have each."""
    nodes = split({"counts": {"no": 0, "yes": 3}}, {"label": "no", "n": 3})
    release = Release(Target("Y", ("no", "yes")), (Attribute("A", values=("x", "y")),), (nodes,))
    people = pd.DataFrame({"A": ["x"] * 3 + ["y"] * 3, "Y": ["yes"] * 3 + ["no"] * 3})
    found = maxent.review(release, people, qi=["A"], target="Y", max_certain=2)
    assert [rung(found, name).figures.certain_proved for name in ("table", "all_but_one")] == [6, 3]
    sizes = tmp_path / "sizes.csv"
    people.groupby("Y").size().rename("count").reset_index().to_csv(sizes, index=False)
    policy = {"limits": {"max_certain": 2, "all_but_one": {"max_certain": 3}}, "adversary": {"marginal": str(sizes)}}
    checked = maxent.check(release, people[["A"]], policy, truth=people)
    assert [rung(checked, name).figures.certain_proved for name in ("table", "all_but_one")] == [6, 3]
    assert rung(checked, "all_but_one").status == "fail"  # for leaves of one class in truth, as for the table


def dossier_words(tmp_path: Path, name: str = "dossier.html") -> list[str]:
    asked = [str(D1 / "tree.json"), str(D1 / "truth.csv"), "--target", "Salary", "--qi", ",".join(QI)]
    return ["review", *asked, "--max-certain", "7", "--dossier", str(tmp_path / name)]


def test_a_dossier_says_what_authorities_ask_in_their_order(tmp_path: Path, capsys: Any) -> None:
    public = tmp_path / "public.html"
    texts = ["--author", "A. <b>Writer", "--organisation", "Clinic", "--purpose", "a test"]
    words = [*dossier_words(tmp_path), "--dossier-public", str(public), *texts]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    page = (tmp_path / "dossier.html").read_text(encoding="utf-8")
    assert "<h1>Disclosure review: Salary</h1>" in page
    asked = [
        "PASS for an adversary with the table",
        "What was not tested, and is not covered",
        "1. What is published",
        "2. Who could",
    ]
    asked += ["3. Who is worst off", "4. What was measured against control", "5. What was not tested", "6. Decision"]
    places = [page.index(each) for each in [*asked, "7. Versions and checksums"]]
    assert places == sorted(places)
    assert "Confidential: describes people" in page
    first = page.partition('id="published"')[0]  # what is printed on the first page, by officers' questions
    answers = ("truth.csv, 11 people; maxent ", "<h3>Who could attack</h3>", "an adversary with the table knows")
    assert [first.count(each) for each in (*answers, "no register of the population was given")] == [1, 1, 1, 2]
    call = page.partition("To make it again:")[2].partition("</code>")[0]
    assert call.split()[-6:] == ["--target", "Salary", "--qi", ",".join(QI), "--max-certain", "7"]  # and no default
    assert "A. &lt;b&gt;Writer" in page
    assert "cut the tree back to node" in page
    assert '<th scope="row">Individuals whose class is certain' in first
    assert "knows the class of" in first
    assert first.count("No limit was set for “predictions”, “rows”, “all but one”: figures, and no verdict.") == 1
    assert "Salary (&lt;=50K, &gt;50K); a person is known by Education, Country and Gender" in first
    told = json.loads((tmp_path / "dossier.json").read_text(encoding="utf-8"))
    assert told["ladder"] == found["ladder"]
    assert {each["role"] for each in told["inputs"]} == {"release", "table"}
    text = public.read_text(encoding="utf-8")
    assert "Confidential" not in text.partition("</style>")[2]
    assert not any(value in text for value in ("Masters", "Canada", "Doctorate", "Female", "50K"))
    words[words.index("7")] = "0"
    assert main(words) == 0
    failed = (tmp_path / "dossier.html").read_text(encoding="utf-8").partition('id="published"')[0]
    assert "It fails for an adversary with the table. What would pass: " in failed
    assert not (tmp_path / "public.json").exists()


def test_a_public_dossier_names_no_class_of_its_call_and_nothing_unread(tmp_path: Path) -> None:
    found = maxent.review(D1 / "tree.json", D1 / "truth.csv", target="Salary", qi=QI, sensitive=[">50K"])
    found.dossier(tmp_path / "d.html", public=True)
    page = unescape((tmp_path / "d.html").read_text(encoding="utf-8"))
    assert "50K" not in page
    assert "To make it again" not in page
    words = ["review", D1 / "tree.json", D1 / "truth.csv", "--target", "Salary", "--qi", ",".join(QI)]
    main([*map(str, words), "--dossier-public", str(tmp_path / "p.html"), "--dossier", str(tmp_path / "whole.html")])
    whole, public = ((tmp_path / name).read_text(encoding="utf-8") for name in ("whole.html", "p.html"))
    model, table = (sha256((D1 / name).read_bytes()).hexdigest() for name in ("tree.json", "truth.csv"))
    assert all(text in whole for text in (model, table, "truth.csv"))
    assert model in public
    assert table not in public  # whoever has all but the classes would find these by trying
    unread, lost = ["not read: a rate of 50K"], SimpleNamespace(lost=("Masters",))
    more: dict[str, Any] = {"knowledge": None, "row": {"control": {}}, "estimate": None}
    more |= {"register": None, "trouble": "", "release": SimpleNamespace(resampled=None)}
    review: Any = SimpleNamespace(unread_lines=unread, converted=lost, **more)
    together = f"both together: {'so much ' * 40}in all"  # of several columns
    assert f"B{together[1:]}." in _untested(review, [], together)
    whole, public = (list(_untested(review, [], public=public)) for public in (False, True))
    assert whole[:2] == ["Not read: a rate of 50K.", "Lost in reading the model: Masters."]
    assert public == ["Not read, or lost in reading, as the whole dossier names: 2 things.", *whole[2:]]


def test_a_dossier_takes_the_place_of_no_model(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "tree.json").write_text("{}", encoding="utf-8")
    assert main(dossier_words(tmp_path, "tree.html")) == 2
    assert "a file there that is no dossier" in capsys.readouterr().err
    assert (tmp_path / "tree.json").read_text(encoding="utf-8") == "{}"
    assert not (tmp_path / "tree.html").exists()


def test_a_check_has_a_dossier_by_its_policy(tmp_path: Path) -> None:
    found = maxent.check(D1 / "tree.json", D1 / "qi.csv", "satre", truth=D1 / "truth.csv", title="For the board")
    found.dossier(tmp_path / "d.html")
    page = (tmp_path / "d.html").read_text(encoding="utf-8")
    assert "<h1>For the board</h1>" in page
    assert all(row.check.id in page for row in found.rows)
    told = json.loads((tmp_path / "d.json").read_text(encoding="utf-8"))
    assert told["verdict"]["status"] == found.status
    words = ["check", D1 / "tree.json", D1 / "qi.csv", "--policy", "satre", "--truth", D1 / "truth.csv"]
    main([*map(str, words), "--max-certain", "9", "--dossier", str(tmp_path / "again.html")])
    again = (tmp_path / "again.html").read_text(encoding="utf-8").partition("To make it again:")[2]
    assert "--policy satre" in again
    assert f"--truth {D1 / 'truth.csv'}" in again
    assert "--max-certain 9" in again
    assert "--adversary" not in again


def test_a_dossier_says_how_many_it_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maxent.results.html_report.dossier.WORST", 2)
    found = maxent.review(D1 / "tree.json", D1 / "truth.csv", target="Salary", qi=QI)
    found.dossier(tmp_path / "d.html")
    assert "4 of 5 people whose class is certain are listed." in (tmp_path / "d.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("option", ["--author", "--organisation", "--title", "--purpose"])
def test_texts_that_would_stand_nowhere_are_refused(option: str, capsys: Any) -> None:
    words = [str(D1 / "tree.json"), str(D1 / "truth.csv"), "--target", "Salary"]
    for call in (["review", *words, "--qi", ",".join(QI)], ["check", *words, "--policy", "satre"]):
        assert main([*call, option, "text"]) == 2
        assert f"{option}: expected none: it applies only to" in capsys.readouterr().err


def test_the_first_box_says_why_a_good_guess_is_within_limits() -> None:
    told = within_words({"max_posterior": 0.85, "certain": 0}, "pass", 0.9)
    assert told.startswith(
        "The surest guess about anybody, by an adversary with the table, is right with 85.0 %. That is"
    )
    told = within_words({"max_posterior": 0.85, "certain": 0, "adversary": "rows"}, "pass", 0.9)
    assert "by an adversary with the rows in training order" in told
    assert within_words({"max_posterior": 0.85, "certain": 0}, "fail", 0.9) == ""


def test_who_knows_more_proves_no_less():
    row = {"certain": 4, "certain_proved": 3, "exposed": 3, "individuals": 10}
    figures = Figures(4, 3, 0.5, 0.4, note="said", row=row)
    assert figures.raised(Figures(certain_proved=3), "table") == figures
    raised = figures.raised(Figures(certain_proved=6, worst={"qi": {}}), "table")
    assert (raised.certain, raised.certain_proved, raised.row["certain_proved"], raised.right_guesses) == (6, 6, 6, 0.6)
    assert raised.note == "said; what is proved for table is proved here, too"
    assert raised.worst == {"qi": {}}
    everybody = Figures(None, 10, row={"individuals": 10}).raised(Figures(10, 10, 1.0, 0.4), "table")
    assert (everybody.right_guesses, everybody.base_rate) == (1.0, 0.4)  # proofs alone, of all
    missing = Figures(missing="not asked")
    assert missing.raised(Figures(certain_proved=6), "table") is missing


def test_dossiers_name_those_of_other_columns_and_do_not_call_unread_what_tells_draws(tmp_path: Path) -> None:
    model, X, y = drawn_trees(RandomForestClassifier(2, max_depth=1, random_state=0))
    maxent.review(model, X, y, qi=["A", "B"], max_certain=0).dossier(tmp_path / "d.html")
    page = (tmp_path / "d.html").read_text(encoding="utf-8")
    assert "Not read: seeds" not in page
    assert "Not used by the estimate: seeds of the draws of each tree" in page
    both = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, pd.DataFrame({"y": y, "z": X["A"]}).astype(str))
    found = maxent.review(both, X, pd.DataFrame({"y": y, "z": X["A"].astype(str)}), qi=["A", "B"], target=["y", "z"])
    found.dossier(tmp_path / "two.html")
    assert "(two-1.html, two-2.html)" in (tmp_path / "two-1.html").read_text(encoding="utf-8")


def test_a_list_of_names_is_printed_as_it_is_read() -> None:
    names = ["Age, years", 'so "called"', "plain"]
    assert split_names("qi", [joined_names(names)]) == names
    assert joined_names(["a", "b"]) == "a,b"


def test_what_would_take_an_inference_away_is_no_cut_of_one_of_many_trees(tmp_path: Path) -> None:
    truth = pd.read_csv(D1 / "truth.csv")
    one: Any = maxent.load_release(D1 / "tree.json")
    two = replace(one, trees=(one.trees[0], Tree(one.trees[0].nodes)))
    qi = ["Education", "Country", "Gender"]
    maxent.review(two, truth, target="Salary", qi=qi, max_certain=0).dossier(tmp_path / "two.html")
    page = (tmp_path / "two.html").read_text(encoding="utf-8")
    assert "a change of one tree is not enough, as 2 trees together tell people apart" in page
    assert "It fails for an adversary with the table. No change is offered: the search is for one tree" in page
    assert "cut the tree back" not in page


def test_a_tree_is_cut_back_to_where_somebody_is_less_sure() -> None:
    """Two leaves of one class below a node of that class: a cut there takes nothing away."""

    nodes = [Some(parent=-1, name="root", distribution=(0.5, 0.5)), Some(parent=0, name="A", distribution=(1.0, 0.0))]
    nodes += [Some(parent=1, name=f"L{i}", distribution=(1.0, 0.0)) for i in range(2)]
    tree: Any = Some(nodes=nodes)
    assert _remedy(tree, 2, 1.0) == "cut the tree back to node root: the surest guess there is right with 50.0 %"
    assert _remedy(tree, 1, 1.0).startswith("cut the tree back to node root")
    assert _remedy(tree, 0, 0.5) == ""


def test_a_dossier_of_statements_beside_a_tree_names_them_and_promises_nothing_of_the_tree_alone(
    tmp_path: Path,
) -> None:
    """What the tables tell of somebody they tell after a cut, too."""
    beside = [D1.parent / "statements" / name for name in ("regression.json", "table1.json")]
    for order in ([D1 / "tree.json", *beside], [*beside, D1 / "tree.json"]):
        found = maxent.review(order, D1 / "truth.csv", target="Salary", qi=QI, max_certain=0)
        found.dossier(tmp_path / "d.html")
        page = (tmp_path / "d.html").read_text(encoding="utf-8")
        assert "; beside it 1 regression, 1 table (regression.json, table1.json)" in page
        assert "cut the tree back to node N4, and review it again: what is published beside the tree" in page
        assert "the surest guess there is right with" not in page
        assert "coarser or fewer statements, reviewed again" in page


LONG = """
name = "long"
extends = "satre"
[limits]
max_posterior = 0.9
min_k = 3
max_right_guesses = 0.9
max_lift = 0.9
nk_dominance = { n = 2, k = 0.9 }
[limits.predictions]
max_certain = 0
[limits.population]
max_certain = 0
[limits.rows]
max_certain = 0
[limits.all_but_one]
max_certain = 0
"""


def test_the_first_page_answers_officers_however_long_the_policy_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("maxent.results.html_report.dossier.UNTESTED", 2)
    model, people = proved_people(tmp_path)
    (tmp_path / "long.toml").write_text(LONG, encoding="utf-8")
    X = pd.read_csv(people)[["a", "b"]]
    found = maxent.check(model, X, tmp_path / "long.toml", truth=people)
    assert len(found.rows) > 14
    for public in (False, True):
        found.dossier(tmp_path / "d.html", public=public)
        page = unescape((tmp_path / "d.html").read_text(encoding="utf-8"))
        told = json.loads((tmp_path / "d.json").read_text(encoding="utf-8"))
        first, _, rest = page.partition('id="published"')
        answers = ["Who could attack", *["Who is worst off"] * (not public), "What was not tested, and is not covered"]
        assert [first.count(f"<h3>{answer}</h3>") for answer in answers] == [1] * len(answers)
        rows = first.partition("What was asked for")[2].partition("</table>")[0].split("<tr>")[1:]
        statuses = [row.rpartition(": ")[2].partition("<")[0] for row in rows[:-1]]
        assert len(rows) < 10
        assert statuses[:4] == ["fail"] * 4
        assert "pass" not in statuses
        assert re.search(r"The others</th><td>[^<]*\d+ passed: section 2<", rows[-1])
        assert ("as of any release with exact counts" in first) != public
        sentences = first.rpartition("<ul>")[2].split("<li>")[1:]
        more, section = len(told["dossier"]["not_tested"]) - 2, 4 if public else 5
        assert len(sentences) == 3
        assert sentences[2].startswith(f"And {more} more: section {section}.<")
        cells = rest.partition('id="ladder"')[2].partition("</section>")[0].partition("What was asked for")[2]
        assert cells.count("<tr>") == len(found.rows)
        assert ("zeros apart, there is none: within the limit" in cells) != public
        assert "not known, limit 10: pass" not in cells
        assert "limit n = 2, k = 0.9: " in cells
        assert "<td>0: pass" not in cells


def test_a_dossier_of_a_call_in_python_says_how_to_make_it_again(tmp_path: Path) -> None:
    """With the limits, the register and the control people; what is no text or number by the name of its option."""
    X = pd.DataFrame({"A": [0, 1] * 6, "B": [0, 0, 1] * 4})
    y = pd.Series(["no", "yes", "yes"] * 4, name="y")
    control, others = X.assign(y=y), pd.concat([X, X])
    given: dict[str, Any] = {"qi": ["A"], "max_certain": 0, "max_member": 0.9, "adversary": "predictions"}
    model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    found = maxent.review(model, X, y, **given, control=control, population=others, sensitive=["yes", "no"])
    found.dossier(tmp_path / "d.html")
    page = unescape((tmp_path / "d.html").read_text(encoding="utf-8"))
    [call] = re.findall(r"maxent\.review\(.*\)", page)
    assert "max_certain=0, max_member=0.9" in call
    assert all(text in call for text in ("control=control", "population=population", "adversary='predictions'"))
    assert "alone, each by itself: that somebody has one of them is not judged" in page
    again = {"model": model, "X": X, "y": y, "control": control, "population": others, "DecisionTreeClassifier": model}
    assert eval(call, {"maxent": maxent, **again}).verdict().as_dict() == found.verdict().as_dict()


def test_a_register_beside_numbers_is_not_assessed_and_says_why() -> None:
    X = pd.DataFrame({"A": [0, 1] * 6})
    y = pd.Series(np.arange(12.0), name="y")
    model = DecisionTreeRegressor(max_depth=1, random_state=0).fit(X, y)
    found = maxent.review(model, X, y, qi=["A"], bins=[0, 6, 12], population=pd.concat([X, X]), max_certain=12)
    assert rung(found, "population").why == "a register is not assessed with a target of numbers"
    answers = rung(found, "predictions")
    assert "which make nobody certain and rule nothing out" in answers.line
    open_ = replace(answers, adversary="all_but_one", figures=Figures(4, 4, row={"certain_at_most": 9}))
    assert '("at least", as more is stated than was evaluated' in open_.plain


OFF = """
name = "Ours"
version = "3"
source = "the board"
extends = "satre"
[limits]
exports = "allowed"
min_leaf = 1
[off]
MX104 = "pure leaves are wanted"
MX202 = "the owner agrees"
"""


@pytest.mark.parametrize("limits", ["", "[limits.rows]\nmax_certain = 9\n"])  # fewer checks, and more, than have room
def test_whoever_signs_reads_what_a_policy_relaxes_and_why_checks_are_off(tmp_path: Path, limits: str) -> None:
    model, people = proved_people(tmp_path)
    X = pd.read_csv(people)[["a", "b"]]
    (tmp_path / "off.toml").write_text(OFF + limits, encoding="utf-8")
    found = maxent.check(model, X, tmp_path / "off.toml", truth=people)
    [certain] = (row for row in found.rows if row.check.id == "MX202" and row.off)
    assert certain.status == "fail"
    for public in (False, True):
        found.dossier(tmp_path / "d.html", public=public)
        page = unescape((tmp_path / "d.html").read_text(encoding="utf-8"))
        first, _, rest = page.partition('id="published"')
        assert f"<strong>Policy:</strong> {found.policy.name}; version 3; source: the board<" in first
        assert "min_leaf 1 (was 10)" in found.policy.name
        said = "limit 0: off" if public else "2, limit 0: off: the owner agrees"
        assert f"MX202</span></th><td>{said}<" in first
        assert "limit 0: fail" not in rest
    found.sacro(tmp_path / "folder")
    stated = json.loads((tmp_path / "folder" / "config.json").read_text(encoding="utf-8"))
    assert stated["min_leaf"] == 1
    assert "max_certain" not in stated


def test_many_checks_that_cannot_be_told_are_named_once() -> None:
    checks = [{"id": f"MX5{i:02}", "status": "cannot_tell", "key": "x", "said": "why"} for i in range(5)]
    given: Any = SimpleNamespace(review=SimpleNamespace(row={}), ladder=(), checks=checks, why="")
    assert list(_unknown(given, public=False))[2:] == ["It cannot be told of MX502: why.", "Nor of MX503, MX504."]


def test_a_person_worst_off_is_written_as_in_the_tables_beside() -> None:
    figures = Figures(worst={"qi": {"age": 54.0, "dose": 0.1, "sex": "f"}, "class": "no", "probability": 0.5})
    assert Rung("table", figures, "fail", "").worst_words == "no with 0.500: age 54, dose 0.1, sex f"


def proved_people(folder: Path) -> tuple[Path, Path]:
    """A tree whose choice of splits proves the class of two of 24 people, of whom no estimate is certain."""
    a, b, ill = "732913676803543301549282", "000011100001010101101010", "yynynnnyyyynnnnynnnyynnn"
    people = pd.DataFrame({"a": list(map(int, a)), "b": list(map(int, b)), "ill": list(ill)})
    people.replace({"ill": {"y": "yes", "n": "no"}}).to_csv(folder / "people.csv", index=False)
    nodes = [
        {"id": "N1", "attribute": "a", "branches": [{"le": 6.5, "child": "N2"}, {"gt": 6.5, "child": "L3"}]},
        {"id": "N2", "attribute": "b", "branches": [{"le": 0.5, "child": "L1"}, {"gt": 0.5, "child": "L2"}]},
        {"id": "L1", "label": "no", "n": 10, "counts": {"no": 6, "yes": 4}},
        {"id": "L2", "label": "no", "n": 8, "counts": {"no": 7, "yes": 1}},
        {"id": "L3", "label": "yes", "n": 6, "counts": {"no": 1, "yes": 5}},
    ]
    grown = {"algorithm": "cart", "impurity": "gini", "candidates": "thresholds", "min_samples_leaf": 4}
    release = {
        "format": "maxent/1",
        "target": {"name": "ill", "classes": ["no", "yes"]},
        "attributes": [{"name": name, "type": "numeric"} for name in "ab"],
        "trees": [{"induction": grown, "nodes": nodes}],
    }
    (folder / "model.json").write_text(json.dumps(release), encoding="utf-8")
    return folder / "model.json", folder / "people.csv"


def test_whose_class_is_proved_comes_first_and_verify_finds_the_same(tmp_path: Path) -> None:
    model, people = proved_people(tmp_path)
    found = maxent.review(model, people, target="ill", qi=["a", "b"], max_certain=0)
    figures = rung(found, "table").figures
    assert (figures.certain, figures.certain_proved) == (0, 2)
    proved = {"qi": {"a": 7.0, "b": 0.0}, "people": 2, "class": "yes", "probability": 1.0, "proved": True}
    assert figures.worst == proved
    found.dossier(tmp_path / "d.html")
    told = json.loads((tmp_path / "d.json").read_text(encoding="utf-8"))["dossier"]["worst"]
    assert told[0] == {**proved, "remedy": "what is proved follows from several nodes: a smaller tree, reviewed again"}
    assert told[1]["probability"] == pytest.approx(0.875, abs=1e-8)
    page = (tmp_path / "d.html").read_text(encoding="utf-8")
    assert "knows the class of 2 for certain, by proof; the estimate alone finds 0" in page
    assert "an adversary with the table knows ill “yes” for certain, by proof." in page
    assert page.count("<td>“yes”, proved</td>") == 1
    assert "what is proved follows from several nodes: a smaller tree, reviewed again" in page
    assert rung(found, "table").worst_words == "yes, proved: a 7, b 0"
    assert maxent.verify(tmp_path / "d.json").status == "pass"


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"max_certain": 0}, "the table knows ill “yes” for certain, by proof. Nobody else is as badly off."),
        (
            {"max_posterior": 0.5, "adversary": "predictions"},
            "the predictions infers ill “no” with probability 0.875. 6 other people are equally badly off.",
        ),
        (
            {"max_certain": 0, "adversary": "all_but_one"},
            "the class of everybody else knows ill “yes” for certain, by proof. 22 other people are equally badly off. "
            "What would take it away: labels or rounded counts,",
        ),
    ],
)
def test_whoever_is_worst_off_is_of_the_adversary_that_a_limit_fails_for(
    limits: dict[str, Any], said: str, tmp_path: Path
) -> None:
    model, people = proved_people(tmp_path)
    found = maxent.review(model, people, target="ill", qi=["a", "b"], **limits)
    found.dossier(tmp_path / "d.html")
    first, rest = (tmp_path / "d.html").read_text(encoding="utf-8").split('id="published"')
    assert f"an adversary with {said}" in first.partition("<h3>Who is worst off</h3>")[2]
    assert f"an adversary with {said}" in rest.partition("3. Who is worst off")[2].partition("<table")[0]


@pytest.mark.parametrize(
    ("knowledge", "worst"),
    [
        (["label"], "infers Salary “<=50K” with probability 0.500."),
        (None, "knows Salary “<=50K” for certain, by proof."),  # which no guess is as bad as
    ],
)
def test_whoever_is_worst_off_is_of_whom_a_verdict_is_about_or_of_the_table(
    knowledge: list[str] | None, worst: str, tmp_path: Path
) -> None:
    """A limit on a register that cannot be told: who has the table is surer of somebody's class, or has proved it."""
    people = pd.read_csv(D1 / "truth.csv")
    pd.concat([people[QI]] * 3).to_csv(tmp_path / "register.csv", index=False)
    more: dict[str, Any] = {"population": tmp_path / "register.csv", "adversary": "population", "max_posterior": 0.9}
    more["knowledge"] = knowledge  # labels alone leave it open how people are divided
    found = maxent.review(D1 / "tree.json", D1 / "truth.csv", target="Salary", qi=QI, **more)
    register, why = rung(found, "population"), "largest posterior, as what is published allows 1.000"
    assert (found.verdict().status, register.figures.worst.get("proved")) == ("cannot_tell", None)
    assert register.as_dict()["why"].startswith(why)
    found.report(tmp_path / "r.html")
    for name, public in (("d.html", False), ("public.html", True)):
        found.dossier(tmp_path / name, public=public)
        first = unescape((tmp_path / name).read_text(encoding="utf-8")).partition('id="published"')[0]
        off = first.partition("<h3>Who is worst off</h3>")[2].partition("<h3>")[0]
        assert public or f"an adversary with the table {worst}" in off
        also = off.partition("</p>")[2]  # beside the table the register that was given
        assert public or "an adversary with a register of the population infers that this person is in the data" in also
        assert FEWER not in off  # as there are no statements
        told = why.replace("1.000", "…") if public else why  # figures rest on the people's classes
        assert f"It cannot be told for an adversary with a register of the population: {told};" in first
        assert f"Whether limits are kept for “population”: {told};" in first.partition("What was not tested")[2]
    assert why in unescape((tmp_path / "r.html").read_text(encoding="utf-8"))


def test_a_register_of_a_tree_whose_choices_are_unread_does_not_call_anybody_safe(tmp_path: Path) -> None:
    model, people = proved_people(tmp_path)
    X = pd.read_csv(people)[["a", "b"]]
    more = {"population": pd.concat([X, X]), "adversary": "population", "max_certain": 0}
    found = maxent.review(model, people, target="ill", qi=["a", "b"], **more)
    register = rung(found, "population")
    assert (register.figures.certain, register.as_dict()["certain_proved"]) == (0, None)
    assert register.certain_words == "nobody by the estimate; more is stated than is read"
    found.dossier(tmp_path / "d.html")
    first = unescape((tmp_path / "d.html").read_text(encoding="utf-8")).partition('id="published"')[0]
    assert "For a register, not read: choices of splits of " in first.partition("not tested")[2]


def test_a_verdict_that_cannot_be_told_says_why_on_the_first_page(tmp_path: Path) -> None:
    release, people = stripped_forest()
    found = maxent.review(release, people, qi=["A", "B"], target="y", max_certain=12)
    assert found.verdict().status == "cannot_tell"
    why = "individuals whose class is certain, if the choices of splits gave all counts away: "
    found.dossier(tmp_path / "d.html", public=True)
    found.report(tmp_path / "r.html")
    page, report = (unescape((tmp_path / name).read_text(encoding="utf-8")) for name in ("d.html", "r.html"))
    first = page.partition('id="published"')[0]
    assert f"It cannot be told for an adversary with the table: {why}" in first
    assert f"Whether limits are kept for “table”: {why}" in first
    assert why in report
    assert rung(found, "table").as_dict()["why"].startswith(why)
    checked = maxent.check(release, people[["A", "B"]], truth=people, policy={"limits": {"max_certain": 12}})
    assert rung(checked, "table").as_dict()["why"] == rung(found, "table").as_dict()["why"]
    checked.dossier(tmp_path / "c.html", public=True)
    assert f"with the table: {why}" in unescape((tmp_path / "c.html").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({}, "what they prove is compiled, and their likelihood, as if leaves had not been chosen by what was drawn,"),
        (
            {"noise": "intervals", "confidence": 0.95},
            "each true count is in an interval; all intervals, those of all nodes that the trees could have had, hold "
            "together with a probability of at least 0.95.",
        ),
    ],
)
def test_a_dossier_of_draws_says_how_sure_counts_are(how: dict[str, Any], said: str, tmp_path: Path) -> None:
    release, people = stripped_forest(3)
    found = maxent.review(release, people, qi=["A", "B"], target="y", **how)
    for public in (False, True):
        found.dossier(tmp_path / "d.html", public=public)
        first, rest = unescape((tmp_path / "d.html").read_text(encoding="utf-8")).split('id="published"')
        counts = f"Counts are of 20 draws with replacement for each tree: {said}"
        assert [counts in text for text in (first, rest)] == [bool(how), True]
        for text in (first, rest):
            assert "that the random draws of people begin with, the seed, can be found by trying" in text
    told = json.loads((tmp_path / "d.json").read_text(encoding="utf-8"))["dossier"]["not_tested"]
    assert any(said in line for line in told)


@pytest.mark.parametrize("sensitive", ["<=50K", ">50K"])
def test_whoever_is_worst_off_has_a_sensitive_class(sensitive: str, tmp_path: Path) -> None:
    told: dict[str, Any] = {"target": "Salary", "qi": QI, "max_certain": 0, "sensitive": [sensitive]}
    found = maxent.review(D1 / "tree.json", D1 / "truth.csv", **told)
    for name in ("predictions", "table", "rows"):
        worst = rung(found, name).as_dict()["worst"]
        assert (worst["class"], worst["proved"]) == (sensitive, True)
        assert worst["people"] + worst["others"] == found.verdict().releases[0].checks[0].found
    found.dossier(tmp_path / "d.html")
    listed = json.loads((tmp_path / "d.json").read_text(encoding="utf-8"))["dossier"]["worst"]
    assert {each["class"] for each in listed} == {sensitive}
    page = unescape((tmp_path / "d.html").read_text(encoding="utf-8"))
    assert f"knows Salary “{sensitive}” for certain, by proof" in page
    assert f"; limits are about {sensitive} alone" in page.partition('id="published"')[0]


@pytest.mark.parametrize("adversary", ["predictions", "population", "all_but_one"])
@pytest.mark.parametrize("trees", [1, 5])
def test_limits_on_sensitive_classes_are_about_these_for_every_adversary(adversary: str, trees: int) -> None:
    """Of all people fewer are guessed right than of those of one class, which limits are about."""
    dice = np.random.default_rng(0)
    X = pd.DataFrame({"age": dice.integers(20, 60, 30), "sex": dice.integers(0, 2, 30)})
    more = pd.DataFrame({"age": dice.integers(20, 60, 30), "sex": dice.integers(0, 2, 30)})
    sick = np.where(X.age + dice.normal(0, 12, 30) > 45, "ill", np.where(dice.random(30) < 0.3, "mild", "well"))
    model: Any = DecisionTreeClassifier(max_depth=3, random_state=0)
    if trees > 1:
        model = RandomForestClassifier(trees, max_depth=3, bootstrap=False, max_features=1, random_state=0)
    model.fit(X, sick)
    told: dict[str, Any] = {"qi": ["age", "sex"], "adversary": adversary, "max_right_guesses": 0.5, "max_certain": 0}
    told["knowledge"] = ["label"] if adversary == "all_but_one" else ["label", "rate", "counts"]
    told["population"] = pd.concat([X, more]) if adversary == "population" else None
    for name in model.classes_:
        found = maxent.review(model, X, pd.Series(sick, name="y"), sensitive=[name], **told)
        judged = rung(found, adversary)
        certain, right = (check.found for check in judged.checks)
        own, most = sick == name, max(model.classes_, key=lambda each: (sick == each).sum())
        assert judged.figures.row["sensitive"]["individuals"] == own.sum()
        if adversary == "predictions" or (
            adversary == "population" and trees == 1
        ):  # who names the most frequent class is right about all of it
            shares = model.predict_proba(X)  # of classes alike each is guessed as often
            alike = shares > shares.max(axis=1, keepdims=True) - 1e-6
            guessed = (alike / alike.sum(axis=1, keepdims=True))[own, list(model.classes_).index(name)].mean()
            assert right == pytest.approx(1.0 if name == most else guessed)
        worst = judged.as_dict()["worst"]
        assert worst.get("class", name) == name
        if "classes" in worst:
            assert name in worst["classes"]
        assert certain > 0 or not worst.get("proved")
        if "member" in worst and not worst.get("proved"):
            assert worst["probability"] == pytest.approx(judged.figures.row["sensitive"]["max_posterior"])
        assert judged.figures.row["sensitive"]["certain"] <= judged.figures.row["certain"]


def test_whoever_is_worst_off_by_draws_is_of_the_rows(tmp_path: Path) -> None:
    """A file that tells draws fails for what the order of rows proves, though the table proves less."""
    dice = np.random.default_rng(3)
    X = pd.DataFrame({name: dice.integers(0, 9, 60) for name in "AB"})
    y = pd.Series(np.where(dice.random(60) < 0.5, "a", "b"), name="y")
    model = RandomForestClassifier(20, min_samples_leaf=6, random_state=0).fit(X, y)
    found = maxent.review(model, X, y, qi=["A", "B"], max_posterior=1.0)
    table, rows = (rung(found, name).figures for name in ("table", "rows"))
    assert (found.verdict().status, table.certain_proved or 0) == ("fail", 0)
    first = int(rows.worst["row"]) - 1
    assert rows.worst["qi"] == X.iloc[first].astype(float).to_dict()
    assert (rows.worst["class"], rows.worst["proved"]) == (y[first], True)
    found.dossier(tmp_path / "d.html")
    page = unescape((tmp_path / "d.html").read_text(encoding="utf-8")).partition('id="published"')[0]
    assert "The file tells from which people each tree was grown" in page
    assert "strip takes that out of the file; it can then only be found by trying seeds: the numbers with which" in page
    assert "the seed, can be found" not in page
    off = page.partition("<h3>Who is worst off</h3>")[2]
    assert f"an adversary with the rows in training order knows y “{y[first]}” for certain, by proof" in off
    assert "(maxent strip), reviewed again" in off
    whole = unescape((tmp_path / "d.html").read_text(encoding="utf-8"))
    assert "inferences, by an adversary with the table, whoever is worst off for others</caption>" in whole
    maxent.review(model, X, y, qi=["A", "B"], rows=True).dossier(tmp_path / "r.html")
    ordered = unescape((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert "inferences, by an adversary with the rows in training order</caption>" in ordered


def test_what_draws_tell_without_the_order_ends_in_time_before_anything_is_proved(monkeypatch: Any) -> None:
    """Nothing looks at the clock while it is laid out who may sit where."""
    dice = np.random.default_rng(3)
    X = pd.DataFrame({name: dice.integers(0, 9, 60) for name in "AB"})
    y = pd.Series(np.where(dice.random(60) < 0.5, "a", "b"), name="y")
    model = RandomForestClassifier(3, min_samples_leaf=6, random_state=0).fit(X, y)
    late = threading.Event()
    monkeypatch.setattr(proving, "NAMING", 0.1)
    monkeypatch.setattr(unordered, "seating", lambda program: late.wait(60))  # unless it is given up
    try:
        found = maxent.review(model, X, y, qi=["A", "B"], max_certain=60)
        assert found.verdict().releases[0].draws.unordered.why == "not ended in the time that there was"
    finally:
        late.set()


def test_one_figure_stands_for_one_thing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, people = proved_people(tmp_path)
    call = ["review", str(model), str(people), "--target", "ill", "--qi", "a,b", "--max-certain", "0"]
    assert main([*call, "--report", str(tmp_path / "report.html")]) == 0
    shown = capsys.readouterr().out
    assert "individuals whose class is certain 2 by proof (0 by the estimate), at most 0" in shown
    assert "  certain individuals 2; largest posterior 1.000;" in shown
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "2 of 24 (8.3 %)" in page
    assert "Here, by proof; the estimate has 0.875" in page
    assert main(["estimate", str(model), str(people), "--bounds"]) == 0
    shown = capsys.readouterr().out
    assert "; the ill of 2 is certain" in shown
    assert "largest posterior 1.000;" in shown


def test_who_is_proved_by_their_leaf_alone_is_said_to_be_proved(tmp_path: Path) -> None:
    """Whether or not a limit asks for proofs: a leaf of one class is one."""
    found = maxent.review(D1 / "tree.json", D1 / "truth.csv", qi=QI, target="Salary")
    found.dossier(tmp_path / "d.html")
    page = (tmp_path / "d.html").read_text(encoding="utf-8")
    assert "for certain, by proof" in page
    assert "with 1.000" not in page
    assert page.count("@page people:first") == 1
    for name in ("predictions", "table", "rows", "all_but_one"):
        assert rung(found, name).figures.worst["proved"]
    assert " --noise" not in page


def test_a_pass_with_somebody_proved_does_not_say_that_no_class_is_certain(tmp_path: Path) -> None:
    model, people = proved_people(tmp_path)
    found = maxent.review(model, people, target="ill", qi=["a", "b"], max_certain=2)
    assert found.verdict().status == "pass"
    found.dossier(tmp_path / "d.html")
    page = (tmp_path / "d.html").read_text(encoding="utf-8")
    assert "and no class is certain" not in page


@pytest.mark.parametrize("limits", [{}, {"max_right_guesses": 1.0}, {"adversary": "predictions", "max_certain": 0}])
def test_nobody_is_said_to_be_certain_of_whom_no_proof_was_asked(limits: dict[str, Any], tmp_path: Path) -> None:
    model, people = proved_people(tmp_path)
    found = maxent.review(model, people, target="ill", qi=["a", "b"], **limits)
    told = {each["adversary"]: each["certain_proved"] for each in found.summary["ladder"]}
    assert [told[name] for name in ("table", "rows", "all_but_one")] == [None, None, 24]
    said = "nobody by the estimate; proofs were not asked"
    assert rung(found, "table").line.startswith(f"table: certain {said}; right guesses")
    found.report(tmp_path / "r.html")
    found.dossier(tmp_path / "d.html")
    report, page = (unescape((tmp_path / name).read_text(encoding="utf-8")) for name in ("r.html", "d.html"))
    assert f"<td>{said}</td>" in report
    first = page.partition('id="published"')[0]
    assert first.count("knows nobody's class for certain by the estimate; proofs were not asked; ") == 2
    assert "Whether somebody's class is certain by proof, for “table”, “rows”: proofs were not asked." in first
    for text in (report, page):
        assert "and no class is certain" not in text
        assert ("and by the estimate no class is certain; proofs were not asked" in text) == bool(limits)


def test_proofs_that_were_asked_and_leave_something_open_settle_nothing() -> None:
    assert proved_of({"certain": 0, "exposed": 0}) is None
    assert proved_of({"exposed": 3}) == 3
    assert proved_of({"proved_least": 0, "proved_most": 0}) == proved_of({"certain_at_most": 0}) == 0
    assert proved_of({"proved_most": 0, "unread": ({"what": "means"},)}) is None
    row = {"proved_least": 0, "proved_most": 4, "individuals": 90}
    late = Rung("table", Figures(5, proved_of(row), row=row), "fail", "")
    assert late.certain_words == "5 by the estimate; proofs left 4 people open"
    assert late.plain.startswith("knows the class of 5 for certain by the estimate; proofs left 4 people open;")
    assert Figures(0, row={"proved_most": 0, "unread": ({},)}).unproved == "more is stated than is read"
    assert Figures(0, row={"proved_most": 0}).unproved == "proofs did not settle it"


def test_a_limit_that_the_estimate_breaks_has_the_figure_that_is_proved(tmp_path: Path) -> None:
    """As the ladder of the same page."""
    dice = np.random.default_rng(1)
    X = pd.DataFrame({name: dice.integers(0, 4, 20) for name in "AB"})
    y = pd.Series(np.where(dice.random(20) < 0.5, "a", "b"), name="y")
    model = RandomForestClassifier(3, random_state=0).fit(X, y)
    found = maxent.review(model, X, y, qi=["A", "B"], max_certain=0)
    figures, checked = rung(found, "table").figures, found.verdict().releases[0].checks[0]
    assert checked.found == figures.certain_proved > figures.certain
    found.dossier(tmp_path / "d.html")
    first = unescape((tmp_path / "d.html").read_text(encoding="utf-8")).partition('id="published"')[0]
    assert f"<td>{checked.found}, limit 0: fail</td>" in first
    assert f"the class of at least {checked.found} for certain, by proof" in first


def stripped_forest(trees: int = 8) -> tuple[Release, pd.DataFrame]:
    """A forest that does not tell who was drawn, whose leaves together prove classes, and the 20 people."""
    dice = np.random.default_rng(1)
    X = pd.DataFrame({name: dice.integers(0, 4, 20) for name in "AB"})
    y = pd.Series(np.where(dice.random(20) < 0.5, "a", "b"), name="y")
    model = RandomForestClassifier(trees, random_state=0).fit(X, y)
    return replace(maxent.from_sklearn(model, target="y"), draws=None), X.assign(y=y)


@pytest.mark.parametrize("limit", [0, 3])
def test_a_limit_on_certainty_counts_whom_the_ladder_counts(limit: int) -> None:
    """The estimate alone may find fewer people than the leaves of all trees prove."""
    release, people = stripped_forest()
    found = maxent.review(release, people, qi=["A", "B"], target="y", max_certain=limit)
    figures, [checked] = rung(found, "table").figures, found.verdict().releases[0].checks
    assert figures.certain_proved >= figures.certain
    assert (checked.found, checked.origin) == (figures.certain_proved, "proof")
    qi = people[["A", "B"]]
    [row] = [r for r in maxent.check(release, qi, truth=people, max_certain=limit).rows if r.check.id == "MX202"]
    assert row.finding.figure == figures.certain_proved
    alone = maxent.estimate(release, qi)
    assert alone.numbers["proved_least"] == alone.program.table.counts[alone.proved_codes >= 0].sum() > 0


@pytest.mark.parametrize("limits", [{}, {"max_certain": 0}])
def test_whoever_is_proved_by_leaves_of_many_trees_counts_as_proved(limits: dict[str, Any], tmp_path: Path) -> None:
    release, people = stripped_forest()
    found = maxent.review(release, people, qi=["A", "B"], target="y", **limits)
    figures, told = rung(found, "table").figures, found.estimate.proved_codes >= 0
    assert found.row["exposed"] == 0
    assert figures.certain_proved == found.estimate.program.table.counts[told].sum() > 0
    assert figures.worst["proved"]
    found.dossier(tmp_path / "d.html")
    page = unescape((tmp_path / "d.html").read_text(encoding="utf-8"))
    assert "for “table”" not in page.partition("by proof, ")[2].partition("proofs were not asked")[0]
    assert figures.worst == json.loads((tmp_path / "d.json").read_text(encoding="utf-8"))["dossier"]["worst"][0]


def test_of_people_alike_the_first_row_is_worst_off_everywhere(tmp_path: Path) -> None:
    """Two leaves alike, of which the second has more people of one kind."""
    people = pd.DataFrame({"A": [0, 1, 2, 2, 2, 0, 1], "X": list("aaaaabb")})
    nodes = [
        {"id": "R", "attribute": "A", "branches": [{"le": 1.5, "child": "L"}, {"gt": 1.5, "child": "M"}]},
        {"id": "L", "counts": {"a": 2, "b": 2}},
        {"id": "M", "counts": {"a": 3, "b": 0}},
    ]
    given = {"format": "maxent/1", "target": {"name": "X", "classes": ["a", "b"]}}
    given |= {"attributes": [{"name": name, "type": "numeric"} for name in "AB"], "trees": [{"nodes": nodes}]}
    (tmp_path / "t.json").write_text(json.dumps(given), encoding="utf-8")
    people["B"] = [0, 0, 1, 0, 0, 0, 0]  # the first row of M stands alone, two others are alike
    found = maxent.review(tmp_path / "t.json", people, qi=["A", "B"], target="X")
    found.dossier(tmp_path / "d.html")
    worst = json.loads((tmp_path / "d.json").read_text(encoding="utf-8"))["dossier"]["worst"]
    assert worst[0]["qi"] == {"A": 2.0, "B": 1.0}
    assert worst[0].pop("remedy").startswith("cut the tree back to node R: ")
    for name in ("predictions", "table", "rows"):
        assert rung(found, name).figures.worst == worst[0]


def test_the_rung_of_the_table_counts_whom_the_verdict_counts() -> None:
    release, frame = release_and_people("entropy", 0, publish="labels", classes="ab", n=7)
    found = review_of(release, frame, "X", max_certain=0, knowledge="label")
    [check] = found.verdict().releases[0].checks
    table = rung(found, "table")
    assert (check.found, check.origin) == (3, "truth")
    assert (table.figures.certain, table.figures.certain_proved, table.as_dict()["certain_in_truth"]) == (0, 1, 3)
    assert table.certain_words == "0 by the estimate, at least 1 proved; 3 in truth, in leaves of one class"
    assert "; 3 are in truth in leaves of one class, and limits count them as certain; " in table.plain


def test_a_dossier_and_the_ladder_say_what_knowledge_was_left_out(tmp_path: Path, capsys: Any) -> None:
    words = [*dossier_words(tmp_path), "--knowledge", "label"]
    assert main(words) == 0
    said = "adversaries know only label of what is published (--knowledge)"
    assert f"who could attack (docs/ladder.md); {said}:" in capsys.readouterr().out
    page = (tmp_path / "dossier.html").read_text(encoding="utf-8")
    first, rest = page.split('id="published"')
    assert f"All five {said}." in first
    assert f"{said[:1].upper()}{said[1:]}; whoever reads all of it may infer more." in first
    assert f"All five {said}." in rest.partition('id="ladder"')[2].partition("<table")[0]


@pytest.mark.parametrize("kind", ["label", "rate", "counts"])
@pytest.mark.parametrize("boosted", [False, True])
def test_an_answer_tells_nobody_what_they_are_taken_not_to_know(kind: str, boosted: bool) -> None:
    dice = np.random.default_rng(0)
    X = pd.DataFrame({name: dice.integers(0, 4, 30) for name in "AB"})
    y = pd.Series(np.where(dice.random(30) < 0.5, "a", "b"), name="y")
    model = RandomForestClassifier(5, bootstrap=False, random_state=0)
    model = GradientBoostingClassifier(n_estimators=100, learning_rate=0.5, random_state=0) if boosted else model
    given: dict[str, Any] = {"qi": ["A", "B"], "published_as": "onnx", "knowledge": [kind], "max_certain": 30}
    found = maxent.review(model.fit(X, y), X, y, **given)
    answers = rung(found, "predictions").figures
    assert (answers.certain > 0) == (kind == "counts" or (kind == "rate" and not boosted))  # counts tell a rate
    assert answers.worst is not None or answers.row["max_posterior"] == 0.5
    unread = boosted and kind != "counts"  # values of leaves, which are neither labels nor rates
    assert found.verdict().status == ("cannot_tell" if unread else "pass")
    told = [each["what"] for each in found.summary["unread"]]
    assert told == [f"all that the trees state (nothing is read of --knowledge {kind})"] * unread
    if unread:
        surest, right = found.row["max_posterior"], found.row["right_guesses"]
        said = within_words(found.row, "pass", None)
        assert right > surest
        assert f"is right with {percent(surest)}; in truth {percent(right)} of guesses are. That is" in said


def test_proofs_that_stop_where_a_limit_is_settled_prove_at_least_so_many() -> None:
    def words(row: dict[str, Any], certain: int = 0) -> str:
        figures = Figures(certain, 27, row={"individuals": 90, **row})
        return Rung("table", figures, "fail", "").certain_words

    assert words({}) == "0 by the estimate, at least 27 proved"
    assert words({"proved_most": 30}) == "0 by the estimate, at least 27 proved"
    assert words({"proved_most": 27}) == words({"certain_at_most": 27}) == "0 by the estimate, 27 proved"
    assert words({"proved_most": 27, "unread": ({"what": "means"},)}) == "0 by the estimate, at least 27 proved"
    assert words({"individuals": 27, "unread": ({"what": "means"},)}) == "0 by the estimate, 27 proved"
    more = Rung("table", Figures(30, 27, row={"individuals": 90}), "fail", "")
    assert more.plain.startswith("knows the class of 30 for certain by the estimate, of at least 27 by proof;")
    assert words({}, 27) == "at least 27 proved"
    assert Rung("table", Figures(0, 0), "pass", "").certain_words == "nobody"
    none = Rung("table", Figures(0, 0, row={"individuals": 90}), "pass", "")
    assert none.plain.startswith("knows nobody's class for certain;")


def test_without_an_estimate_all_are_proved_and_not_at_least_all() -> None:
    found = maxent.review(D1 / "tree.json", D1 / "truth.csv", qi=QI, target="Salary", max_certain=0)
    late = replace(found, estimate=None, unsolved="there was no time", early={"proved_least": 11})
    assert rung(late, "table").certain_words == "11 proved"


@pytest.mark.parametrize("adversary", ["predictions", "table", "all_but_one"])
def test_whoever_knows_more_guesses_as_well(adversary: str) -> None:
    """Labels alone leave both classes to somebody who knows all others, who can guess by the labels nevertheless."""
    nodes = [Node("N", "A", (Branch("L", ("x",)), Branch("R", ("y",)))), Node("L", label="yes"), Node("R", label="no")]
    release = Release(Target("Y", ("no", "yes")), (Attribute("A", values=("x", "y")),), (Tree(tuple(nodes)),))
    people = pd.DataFrame({"A": ["x"] * 15 + ["y"] * 25, "Y": ["yes"] * 10 + ["no"] * 20 + ["yes"] * 10})
    found = maxent.check(release, people[["A"]], truth=people, adversary=adversary, max_right_guesses=0.6)
    assert found.verdict().status == "fail"


def split(left: dict[str, Any], right: dict[str, Any]) -> Tree:
    branches = Branch("L", ("x",)), Branch("R", ("y",))
    return Tree((Node("N", "A", branches), Node("L", **left), Node("R", **right)))


COUNTED: dict[str, Any] = {"counts": {"no": 2, "yes": 1}}


@pytest.mark.parametrize(
    "trees",
    [
        [split(COUNTED, {"label": "yes"})],
        [split({"label": "no", "error_rate": 1 / 3}, {"label": "yes"})],
        [split(COUNTED, {"label": "yes"}), split({"label": "no"}, {"label": "yes"})],
    ],
)
def test_a_label_beside_counts_makes_nobody_certain_by_predictions(trees: list[Tree]) -> None:
    release = Release(Target("Y", ("no", "yes")), (Attribute("A", values=("x", "y")),), tuple(trees))
    people = pd.DataFrame({"A": ["x"] * 3 + ["y"] * 3, "Y": ["no", "no", "yes", "yes", "yes", "no"]})
    found = review_of(release, people, "Y", max_certain=0, adversary="predictions")
    figures = rung(found, "predictions").figures
    assert (figures.certain, figures.certain_proved or 0, found.verdict().status) == (0, 0, "pass")
    assert figures.right_guesses == pytest.approx(4 / 6)
    assert figures.row["max_posterior"] < 0.7


@pytest.mark.parametrize("adversary", ["predictions", "table", "rows", "all_but_one"])
def test_where_everybody_is_of_one_class_a_rung_counts_whom_limits_count(adversary: str) -> None:
    release = Release(
        Target("Y", ("no", "yes")), (Attribute("A", values=("x", "y")),), (split({"label": "no"}, {"label": "no"}),)
    )
    people = pd.DataFrame({"A": ["x"] * 4 + ["y"] * 3, "Y": ["no"] * 7})
    found = review_of(release, people, "Y", max_certain=0, adversary=adversary, knowledge="label")
    assert found.verdict().status == "fail"
    assert rung(found, adversary).as_dict()["certain_in_truth"] == 7
    allowed = review_of(release, people, "Y", max_certain=7, adversary=adversary, no_marginal=True)
    assert rung(allowed, adversary).status != "fail"
    without = review_of(release, people, "Y", max_certain=0, adversary=adversary, no_marginal=True)
    verdict = without.verdict()
    [checked] = verdict.rungs[0].checks if verdict.rungs else verdict.releases[0].checks
    assert (checked.found, checked.origin, checked.base) == (7, "truth", None)  # not by a base rate that nobody knows


def drawn_trees(model: Any, people: int = 60) -> tuple[Any, pd.DataFrame, pd.Series]:
    """A model of people, whose choices of splits give away nobody's class in the worst case."""
    dice = np.random.default_rng(0)
    X = pd.DataFrame({name: dice.integers(0, 2, people) for name in "AB"})
    y = pd.Series(np.where(dice.random(people) < 0.4, "p", "q"), name="y")
    return model.fit(X, y), X, y


def test_a_limit_and_its_rung_have_one_figure_where_the_order_is_unknown() -> None:
    """Seeds are unread, and proofs without the order of rows took them in; choices of splits have their worst case."""
    model, X, y = drawn_trees(RandomForestClassifier(2, max_depth=1, random_state=0))
    found = maxent.review(model, X, y, qi=["A", "B"], max_certain=0, rows_unknown="shuffled")
    [checked] = found.verdict().releases[0].checks
    assert (found.verdict().status, checked.found, checked.origin) == ("pass", 0, "proof")
    assert rung(found, "table").line.startswith("table: certain nobody; right guesses")
    assert rung(found, "table").figures.certain_proved == 0
    open_ = {"unread": [{"what": "means", "judged": "not"}], "worst_case": {"certain": 0}, "certain_at_most": 0}
    assert proved_of(open_) is None
    judged = {**open_, "unread": [{"what": "splits", "judged": "worst_case"}]}
    assert proved_of(judged) == 0
    assert proved_of({**judged, "worst_case": {"certain": 2}}) is None
    assert proved_of({**judged, "worst_case": {"certain": 0, "why": "late"}}) is None


def test_draws_fail_a_check_that_names_the_rows_whatever_is_known_of_their_order(tmp_path: Path) -> None:
    """The check, its rung and the review say one thing; without a limit on the rows that of draws is taken back."""
    model, X, y = drawn_trees(RandomForestClassifier(2, max_depth=1, random_state=0), people=12)
    unknown = {"rows": "unknown", "rows_reason": "shuffled"}
    limits: dict[str, Any] = {"max_certain": 12}
    reviewed = maxent.review(model, X, y, qi=["A", "B"], **limits, rows_unknown="shuffled", adversary="rows")
    assert reviewed.verdict().status == "fail"
    release, qi, truth = (tmp_path / name for name in ("forest.json", "qi.csv", "truth.csv"))
    reviewed.release.save(release)
    X.to_csv(qi, index=False)
    X.assign(y=y).to_csv(truth, index=False)
    for named, status in (({}, "pass"), ({"rows": {"max_certain": 12}}, "fail")):
        found = maxent.check(release, qi, {"limits": limits | named, "adversary": unknown}, truth=truth)
        drawn = [(row.adversary, row.status, bool(row.off)) for row in found.rows if row.check.id == "MX406"]
        assert drawn == [("table", "fail", True), *[("rows", "fail", False)] * bool(named)]
        assert (found.status, rung(found, "table").status) == (status, "pass"), found.lines
        assert rung(found, "rows").status == (status if named else "not_assessed")
    assert found.summary["verdict"]["adversary"] == "rows"


def test_nobody_is_proved_where_choices_of_splits_may_tell_of_somebody() -> None:
    model, X, y = drawn_trees(RandomForestClassifier(2, max_depth=1, random_state=0))
    X = X.assign(B=X["A"] + np.arange(60) % 7)
    found = maxent.review(model.fit(X, y), X, y, qi=["A", "B"], max_certain=0, rows_unknown="shuffled")
    [checked] = found.verdict().releases[0].checks
    assert (checked.status, checked.found, checked.origin) == ("cannot_tell", 0, "estimate")
    assert rung(found, "table").figures.certain_proved is None


def test_an_unknown_order_tells_nothing_of_a_tree_of_everybody() -> None:
    model, X, y = drawn_trees(DecisionTreeClassifier(max_leaf_nodes=3, random_state=0))
    told = [
        rung(maxent.review(model, X, y, qi=["A", "B"], rows_unknown=unknown), "rows").why
        for unknown in (None, "shuffled")
    ]
    assert told[0] == told[1]
    assert "the file tells nothing about the order of rows: who knows it infers what the table tells" in told[1]


def test_what_may_be_published_has_no_figures_that_rest_on_classes(tmp_path: Path) -> None:
    """Nine of eleven labels are right, and six people are of one class: that settles what labels alone leave open."""
    rows = [("a", "x")] * 4 + [("a", "y")] + [("b", "x")] + [("b", "y")] * 5
    people = pd.DataFrame(rows, columns=["A", "T"]).assign(B=[str(i) for i in range(11)])
    leaves = [{"id": "L1", "label": "x", "n": 5}, {"id": "L2", "label": "y", "n": 6}]
    attributes = [{"name": "A", "type": "categorical", "values": ["a", "b"]}]
    attributes.append({"name": "B", "type": "categorical", "values": sorted(people["B"])})
    branches = [{"in": ["a"], "child": "L1"}, {"in": ["b"], "child": "L2"}]
    document = release_document(
        "T", ["x", "y"], attributes, [{"id": "N", "attribute": "A", "branches": branches}, *leaves]
    )
    (tmp_path / "lab.json").write_text(json.dumps(document), encoding="utf-8")
    limits = {"max_certain": 0, "max_right_guesses": 0.95, "max_lift": 0.6, "adversary": "all_but_one"}
    found = maxent.review(tmp_path / "lab.json", people, target="T", qi=["A", "B"], **limits)
    assert rung(found, "all_but_one").figures.right_guesses == pytest.approx(9 / 11)
    found.dossier(tmp_path / "p.html", public=True)
    found.sacro(tmp_path / "sacro")
    found.crate(tmp_path / "crate")
    page = unescape((tmp_path / "p.html").read_text(encoding="utf-8")).partition("<body")[2]
    folders = [tmp_path / "sacro" / "results.json", tmp_path / "crate" / "ro-crate-metadata.json"]
    for text in (page, *(each.read_text(encoding="utf-8") for each in folders)):
        assert not re.search(r"81\.8|0\.818|54\.5|0\.545|0\.272", text)
    assert "Share of right guesses <" in page
