"""Advice: candidates of all defenses, audited and raced; the best within the limits, and why the others lost."""

import json
import os
import re
import runpy
import shlex
import shutil
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from support.calls import printed_by, refused
from support.paths import ROOT

import maxent
from maxent.__main__ import main
from maxent.advice import ranking, search
from maxent.advice.ranking import Standing, judged
from maxent.advice.result import Advice
from maxent.advice.trials import numbers_of
from maxent.command_line.progress import seldom
from maxent.commands import advise as command
from maxent.disclosure.limits import Limits
from maxent.models.defenses.method import Wanted
from maxent.models.defenses.registry import asked_for, methods
from maxent.models.errors import InvalidInput, UnreliableResult
from maxent.models.tables.training import read_training, stratified
from maxent.models.trees.predict import predict_proba
from maxent.solvers.control import Clock

QI = ["age", "sex", "bmi", "bp"]
CALL = ["--target", "progression", "--qi", ",".join(QI), "--folds", "2"]
QUICK = ["none", "prune-parent"]
HOW: Any = {"target": "progression", "qi": QI, "folds": 2, "min_k": 20, "max_certain": 35}


@pytest.fixture(scope="module")
def patients(tmp_path_factory: Any) -> Path:
    """The patients of the README, shipped with scikit-learn."""
    folder = tmp_path_factory.mktemp("patients")
    runpy.run_path(str(ROOT / "examples" / "diabetes.py"))["publish"](folder)
    return folder / "truth.csv"


@pytest.fixture(scope="module")
def kept(patients: Path) -> Path:
    """Where trials are kept that several tests need."""
    return patients.parent / "kept"


@pytest.fixture(scope="module")
def advised(patients: Path, kept: Path) -> Advice:
    return maxent.advise(patients, **HOW, methods=QUICK, resume=kept)


def test_the_best_keeps_the_limits_and_is_the_most_accurate(advised, patients):
    assert advised.best is not None
    people = pd.read_csv(patients)
    assert maxent.audit(advised.best, people)["spans"]["min_population"] >= 20
    assert maxent.estimate(advised.best, people, truth=people).summary["disclosure"]["certain"] <= 35
    within = [row for row in advised.rows if row["outcome"] in ("best", "beaten")]
    assert len(within) > 1
    assert max(within, key=lambda row: row["accuracy"]) is advised.winner
    assert [row["rank"] for row in advised.rows] == list(range(1, len(advised.rows) + 1))
    assert advised.rows[0] is advised.winner
    assert [row["behind"] for row in within] == sorted(row["behind"] for row in within)
    for row in within:
        assert row["folds"] == 2
        assert advised.winner["accuracy"] - row["accuracy"] == pytest.approx(row["behind"])
        assert row["level"] == pytest.approx(row["accuracy"])


def test_every_other_candidate_has_its_reason(advised):
    why = {row["candidate"]: (row["outcome"], row["why"]) for row in advised.rows}
    outcome, text = why["none max_depth=5"]
    assert outcome == "limit"
    assert "individuals whose class is certain" in text
    assert "at most 35: beyond the limit" in text
    assert why["prune-parent max_depth=8 k=40"] == ("same", "publishes what prune-parent max_depth=3 k=40 does")
    assert all(text for _, text in why.values())
    twice_broken = next(row for row in advised.rows if sum(check["status"] != "pass" for check in row["checks"]) > 1)
    assert twice_broken["folds"] == 0
    assert "; " in twice_broken["why"]


@pytest.mark.parametrize(("least", "outcome"), [(0, "cannot_tell"), (1, "limit")])
def test_nothing_is_best_that_proofs_do_not_settle(advised, patients, kept, monkeypatch, least, outcome):
    """How splits were chosen is stated, and by that more may be proved than the estimate is sure of."""
    proved, numbers = [], {"proved_least": least, "proved_most": 9}

    def told(self: Any, row: Any, proof: Any = None) -> Any:
        proved.append(row["release"])
        return {**row, **numbers}

    monkeypatch.setattr("maxent.api.proving.Certainty._by_proof", lambda self: None)
    monkeypatch.setattr("maxent.api.proving.Certainty._told", told)
    found = maxent.advise(patients, **{**HOW, "max_certain": 0}, methods=QUICK, resume=kept)
    assert found.best is None
    assert dict.fromkeys(proved) == dict.fromkeys(["prune-parent max_depth=3 k=20", "prune-parent max_depth=3 k=40"])
    assert {row["outcome"] for row in found.rows if row["candidate"] in proved} == {outcome}


def test_what_is_not_read_of_a_candidate_is_not_passed():
    frame = pd.DataFrame({"a": [0.0, 1.0] * 30, "y": ["no", "yes", "no"] * 20})
    model = DecisionTreeClassifier(max_depth=1).fit(frame[["a"]], frame["y"], sample_weight=np.arange(1.0, 61.0))
    release = maxent.review(model, frame[["a"]], frame["y"], qi=["a"], target="y").release
    found = numbers_of(release, read_training(frame, target="y", qi=["a"]), (), 0)
    one = Standing(0, SimpleNamespace(name="scores"))
    judged(one, {"found": found}, Limits(max_posterior=0.9))
    assert found["unread"]
    assert one.status == "cannot_tell"
    assert "as more is stated than is read" in one.checks[0].why


def test_accuracy_is_that_of_people_whom_the_tree_was_not_made_from(advised, patients):
    frame = pd.read_csv(patients)
    row = next(row for row in advised.rows if row["candidate"] == "prune-parent max_depth=3 k=20")
    fold, right = stratified(np.unique(frame["progression"], return_inverse=True)[1], 2, 0), 0.0
    for each in range(2):
        made = maxent.defend(
            frame[fold != each], "prune-parent", target="progression", qi=QI, max_depth=3, k=20, seed=0,
            test=frame[fold == each],
        )  # fmt: skip
        right += made.rows[0]["test_accuracy"] * (fold == each).sum()
    assert row["accuracy"] == pytest.approx(right / len(frame))


def test_the_frontier_has_nothing_that_another_beats(advised):
    assert [each["limit"] for each in advised.frontier] == ["min_k", "max_certain"]
    for each in advised.frontier:
        points = each["points"]
        sign = -1 if each["limit"] == "min_k" else 1
        assert [sign * p["found"] for p in points] == sorted({sign * p["found"] for p in points})
        assert [p["accuracy"] for p in points] == sorted({p["accuracy"] for p in points})
    best = max((p for p in advised.frontier[1]["points"] if p["within"]), key=lambda p: p["accuracy"])
    assert best["accuracy"] == pytest.approx(advised.winner["accuracy"])


def test_what_is_not_tried_is_told_with_its_reason(patients, advised):
    assert advised.untried == ()  # neither of its methods leaves anything out
    with pytest.warns(UnreliableResult):
        found = maxent.advise(patients, **HOW, methods=["erp", "optimal"], time_limit=1e-9)
    assert [each["candidate"] for each in found.summary["untried"]] == ["erp publish=records", "optimal of a forest"]
    assert "not tried: erp publish=records: generalised records make no predictions" in found._repr_html_()


def test_a_call_writes_the_best_the_table_and_the_report(advised, patients, kept, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    files = ["-o", "best.json", "--table", "ranked.csv", "--report", "report.html"]
    limits = ["--min-k", "20", "--max-certain", "35", "--resume", str(kept)]
    call = ["advise", str(patients), *CALL, "--methods", ",".join(QUICK), *limits]
    found = json.loads(printed_by(capsys, [*call, *files, "--test", str(patients), "--json"]).out)
    assert found["best"]["candidate"] == advised.winner["candidate"]
    assert found["best"]["candidate"] == found["candidates"][0]["candidate"]
    assert found["frontier"][0]["limit"] == "min_k"
    assert found["best"]["test_accuracy"] == pytest.approx(found["best"]["train_accuracy"])
    assert list(pd.read_csv("ranked.csv")["candidate"]) == [row["candidate"] for row in found["candidates"]]
    page = Path("report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 2
    assert "<script" not in page
    assert "What the limit on the individuals whose class is certain costs" in page
    # The call that makes the same release does.
    again = shlex.split(found["best"]["defend"])
    again = [{"DATA": str(patients), "FILE": "again.json"}.get(word, word) for word in again]
    assert main(again) == 0
    assert Path("again.json").read_bytes() == Path("best.json").read_bytes()


def test_nothing_within_the_limits(advised, patients, kept, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    how = ["--methods", "none", "--max-posterior", "0.4", "--resume", str(kept), "-o", "best.json"]
    printed = printed_by(capsys, ["advise", str(patients), *CALL, *how], 3)
    assert "no candidate is known to keep the limits" in printed.out
    assert "nearest: none max_depth=3: largest posterior" in printed.out
    assert "nothing is written to best.json" in printed.err
    assert not Path("best.json").exists()
    found = maxent.advise(patients, **{**HOW, "max_posterior": 0.1}, methods=["none"], resume=kept)
    assert found.best is None
    assert len(found.summary["nearest"]) == 3
    refused("a release within the limits", found.save, "best.json")


def test_what_is_done_is_not_done_again(patients, tmp_path):
    done = 0

    def told(text: str, trials: int, total: int) -> None:
        nonlocal done
        done += trials > 0
        if done == 5:
            raise KeyboardInterrupt

    how: Any = {**HOW, "min_k": 1, "max_certain": None, "methods": ["none"], "resume": tmp_path / "kept"}
    with pytest.warns(UnreliableResult, match="it was interrupted"):
        part = maxent.advise(patients, **how, interruptible=True, progress=told)
    assert part.interrupted
    assert not part.reliable
    files = tmp_path / "kept" / "parts"
    before = {file.name: file.stat().st_mtime_ns for file in files.iterdir()}
    assert len(before) == 5
    rest = maxent.advise(patients, **how)
    assert not rest.cut
    assert len({*files.iterdir()}) > 5
    assert all((files / name).stat().st_mtime_ns == time for name, time in before.items())
    assert rest.rows == maxent.advise(patients, **{**how, "resume": None}).rows


def test_time_that_is_over(patients):
    with pytest.warns(UnreliableResult, match="seconds were over"):
        found = maxent.advise(patients, **HOW, methods=["none"], time_limit=1e-9)
    assert found.best is None
    assert {row["outcome"] for row in found.rows} == {"not reached"}
    assert found.cut == "1e-09 seconds were over"


@pytest.mark.parametrize("steps", [2, 5])
def test_ctrl_c_leaves_the_best_so_far_in_all_files(patients, tmp_path, monkeypatch, capsys, steps):
    """Between audits, when nothing was tested on a fold, and within the race."""
    done, said = 0, []

    def told(text: str, trials: int, total: int) -> None:
        nonlocal done
        said.append(text)
        done += trials > 0
        if done == steps:
            raise KeyboardInterrupt

    monkeypatch.setattr(command, "seldom", lambda: told)
    monkeypatch.chdir(tmp_path)
    files = ["-o", "best.json", "--table", "ranked.csv", "--report", "report.html"]
    assert main(["advise", str(patients), *CALL, "--methods", "none", "--min-k", "1", *files]) == 1
    assert done == steps
    assert "not all was tried: it was interrupted" in capsys.readouterr().err
    assert json.loads(Path("best.json").read_text(encoding="utf-8"))["format"] == "maxent/1"
    table = pd.read_csv("ranked.csv")
    assert table["outcome"][0] == "best"
    assert table["candidate"][0].startswith("none")
    assert "it was interrupted" in Path("report.html").read_text(encoding="utf-8")
    assert any(re.match("auditing candidates: none", text) for text in said)


def test_time_that_ends_between_audits_leaves_the_best_so_far(patients, monkeypatch):
    """A clock that goes on by a second whenever it is looked at."""

    ticks = count()
    monkeypatch.setattr(search, "time", SimpleNamespace(monotonic=lambda: float(next(ticks))))
    monkeypatch.setattr(search, "Clock", lambda left: Clock())  # which no trial is ended by
    with pytest.warns(UnreliableResult, match="5 seconds were over"):
        found = maxent.advise(patients, **{**HOW, "min_k": 1, "max_certain": None}, methods=["none"], time_limit=5)
    assert found.best is not None
    assert found.winner is not None
    assert found.cut == "5 seconds were over"


def test_a_trial_that_does_not_end_is_ended_with_the_time(patients, monkeypatch):
    """Time is over when the first trial is done, while the second one goes on for ever."""
    clock, seen = Clock(1e6), []

    def rows(trials, pickled, work, failed, jobs, dask, given):
        assert given is clock
        for trial in trials:
            if seen and given.stop() is not None:
                return  # as what runs points does
            seen.append(trial.candidate.name)
            yield work(trial, pickled[trial.data])
            given.interrupt()

    monkeypatch.setattr(search, "Clock", lambda left: clock)
    monkeypatch.setattr(search, "run_all", rows)
    with pytest.warns(UnreliableResult, match="300 seconds were over"):
        found = maxent.advise(patients, **{**HOW, "min_k": 1, "max_certain": None}, methods=["none"])
    assert len(seen) == 1
    assert found.winner["candidate"] == seen[0]
    assert "on no fold yet: 300 seconds were over" in found.winner["why"]
    assert {row["outcome"] for row in found.rows[1:]} == {"not reached"}


def test_progress_off_a_terminal_is_a_line_now_and_then(capsys):
    """By a clock of the test."""
    times = iter([0.0, 5.0, 25.0, 25.0, 30.0])
    told = seldom(lambda: next(times), every=20.0)
    for done in range(3):
        told("auditing candidates", done, 9)
    assert capsys.readouterr().err == "maxent: auditing candidates (1 of 9 done)\n"


def test_a_method_that_refuses_the_records_is_a_row(monkeypatch):
    def refusing(*_: Any) -> Any:
        raise InvalidInput("data", [])

    frame = pd.DataFrame({"a": ["x", "y"] * 8, "c": ["p", "n", "n", "p"] * 4})
    monkeypatch.setattr(methods()["none"], "publish_from", refusing)
    found = maxent.advise(
        frame, target="c", qi=["a"], methods=["none", "prune-parent"], folds=2, min_k=2, time_limit=None
    )
    assert found.best is not None
    assert {row["outcome"] for row in found.rows if row["method"] == "none"} == {"failed"}


@pytest.fixture(scope="module")
def tree(patients: Path) -> Path:
    """A tree of the patients that is there."""
    maxent.defend(patients, "none", target="progression", qi=QI, max_depth=4).save(patients.parent / "tree.json")
    return patients.parent / "tree.json"


def test_candidates_start_from_a_model(patients, tree, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    limits = ["--min-k", "10", "--methods", "none,prune-parent", "--from", str(tree), "-o", "best.json"]
    assert main(["advise", str(patients), *CALL, *limits, "--table", "ranked.json", "--report", "report.html"]) == 0
    printed = capsys.readouterr().out
    assert f"2 methods that start from {tree}, 2 folds" in printed
    assert "people whom its counts and its pruning did not see" in printed
    assert "the splits of the model may have been chosen by these people" in printed
    assert "neither counts nor pruning were made from" in Path("report.html").read_text(encoding="utf-8")
    found = json.loads(Path("ranked.json").read_text(encoding="utf-8"))
    assert found["model"] == str(tree)
    assert {row["candidate"] for row in found["candidates"]} >= {"none", "prune-parent k=10", "prune-parent k=20"}
    again = shlex.split(found["best"]["defend"])
    assert main([{"DATA": str(patients), "FILE": "again.json"}.get(word, word) for word in again]) == 0
    assert Path("again.json").read_bytes() == Path("best.json").read_bytes()
    # Counts and pruning of a fold are those of the other people.
    frame, right = pd.read_csv(patients), 0.0
    fold = stratified(np.unique(frame["progression"], return_inverse=True)[1], 2, 0)
    for each in range(2):
        made = maxent.defend(
            frame[fold != each], "prune-parent", target="progression", qi=QI, k=10, model=tree, test=frame[fold == each]
        )
        right += made.rows[0]["test_accuracy"] * (fold == each).sum()
    row = next(row for row in found["candidates"] if row["candidate"] == "prune-parent k=10")
    assert row["accuracy"] == pytest.approx(right / len(frame))


@pytest.mark.slow
def test_trees_of_a_forest_are_candidates(patients):
    frame = pd.read_csv(patients)
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(frame[QI], frame["progression"])
    found = maxent.advise(frame, **{**HOW, "min_k": 5}, model=forest)
    assert found.winner is not None
    assert found.winner["method"] == "optimal"
    assert "not proved: 1 of 3 trees" in str(found.notes) or "not proved: 2 of 3 trees" in str(found.notes)
    assert not [row for row in found.rows if row["outcome"] == "failed"]
    assert "--from MODEL" in found.command


@pytest.mark.slow
def test_the_best_subtree_is_audited_where_attributes_are_private(patients):
    found = maxent.advise(
        patients, target="progression", qi=["age", "sex"], private=["bmi"], folds=2, methods=["optimal"], min_k=150
    )
    best = {row["candidate"]: row for row in found.rows}["optimal max_depth=3 k=150 audited=True"]
    assert best["min_population"] >= 150


@pytest.mark.slow
def test_limits_about_sensitive_classes(patients):
    classes = sorted(set(pd.read_csv(patients)["progression"]))
    how: Any = {"target": "progression", "qi": QI, "methods": ["optimal"], "folds": 2, "max_posterior": 0.5}
    best = [row for row in maxent.advise(patients, **how, sensitive=classes[0]).rows if row["outcome"] == "best"]
    assert best
    for row in best:
        assert row["options"]["sensitive"] == classes[0]
        assert row["checks"][0]["found"] <= 0.5 < row["max_posterior"]


@pytest.mark.parametrize(("wrong", "said"), [
    ({"folds": 1}, "folds: expected a whole number of at least 2"),
    ({"folds": 500}, "folds: expected at most 442, the number of records"),
    ({"methods": ["prune-parents"]}, "methods: expected names of methods, of none, prune-leaf"),
    ({"methods": []}, "methods: expected names of methods"),
    ({"time_limit": 0}, "time_limit: expected a number of seconds above 0"),
    ({"max_k": 3}, "max_k: expected a limit"),
    ({"methods": ["kadet"], "model": "tree.json"}, "optimal, erp, which take a model to start from, found 'kadet'"),
    ({"target": ["progression", "age"], "qi": QI[1:], "model": "tree.json"}, "one column, for a tree to start from"),
    ({"cost": [[1, 2]]}, "cost: expected numbers of at least 0, a row for each decision and 3 columns"),
    ({"sensitive": "nobody"}, "sensitive: expected classes of"),
    ({"sample_weight": [1]}, "sample_weight: expected none: trees are grown from people who weigh alike"),
    ({"population": "people.csv"}, "population: expected none: candidates are compared by what an adversary with the"),
    ({"statements": ["count.json"]}, "statements: expected none: candidates are judged by themselves"),
])  # fmt: skip
def test_what_is_wrong_is_told(patients, wrong, said):
    with pytest.raises(InvalidInput, match=re.escape(said)):
        maxent.advise(patients, **{"target": "progression", "qi": QI, "methods": ["none"], **wrong})


@pytest.mark.parametrize("call", [maxent.advise, maxent.defend])
def test_statements_are_no_tree_to_start_from(patients, tmp_path, call):
    told = {"kind": "count", "class": "high", "equals": 5}
    target = {"name": "progression", "classes": ["high", "low", "medium"]}
    document = {"format": "maxent-statements/1", "target": target, "statements": [told]}
    (tmp_path / "count.json").write_text(json.dumps(document), encoding="utf-8")
    how: Any = {"methods": ["none"]} if call is maxent.advise else {"method": "none"}
    with pytest.raises(InvalidInput, match="model: expected trees alone: what is published beside them"):
        call(patients, target="progression", qi=QI, model=tmp_path / "count.json", **how)


@pytest.mark.parametrize(("option", "said"), [
    ("--sample-weight", "none of this name: trees are grown from people who weigh alike"),
    ("--population", "none of this name: candidates are compared by what an adversary with the table"),
    ("--no-marginal", "none of this name: candidates are compared"),
    ("--popuation", "none of this name"),
])  # fmt: skip
def test_what_it_does_not_take_is_refused_by_name(patients, capsys, option, said):
    call = ["advise", str(patients), "--target", "progression", "--qi", "age", option, "x.csv"]
    assert main(call) == 2
    assert f"{option}: expected an option of 'maxent advise', found {said}" in capsys.readouterr().err


def test_it_shows_itself_in_a_notebook(advised):
    page = advised._repr_html_()
    assert "advise: 442 people, " in page
    assert advised.winner["candidate"] in page
    assert advised.table.shape[0] == len(advised.rows)
    assert list(advised.frame.columns) == list(advised.table.columns)
    assert advised.plot("max_certain").get_xlabel() == "individuals whose class is certain"
    refused("one of min_k, max_certain", advised.plot, "max_lift")


def test_folds_have_as_many_of_each_class_as_they_can():
    y = np.repeat([0, 1, 2], [50, 13, 2])
    fold = stratified(y, 5, 1)
    table = np.zeros((5, 3), int)
    np.add.at(table, (fold, y), 1)
    assert (np.ptp(table, axis=0) <= 1).all()
    assert np.ptp(table.sum(axis=1)) == 0
    assert (stratified(y, 5, 2) != fold).any()


def test_the_leader_stops_only_whom_it_beats_beyond_chance():
    leader = {0: np.array([True] * 30 + [False] * 5)}
    assert not ranking.behind(leader, {0: leader[0].copy()}).beaten
    worse = leader[0].copy()
    worse[:9] = False  # 9 of 9: 1 in 512
    assert ranking.behind(leader, {0: worse}).chance == pytest.approx(2.0**-9)
    assert not ranking.behind(leader, {0: worse}).beaten
    worse[9] = False
    assert ranking.behind(leader, {0: worse}).beaten
    assert ranking.behind(leader, {1: worse}) is None
    assert ranking.behind({0: worse}, leader).share == pytest.approx(-10 / 35)


def test_costs_are_compared_person_by_person():
    leader = {0: -np.array([0.0, 0.0, 1.0, 0.0] * 50)}
    worse = {0: -np.array([0.0, 3.0, 1.0, 0.0] * 50)}
    found = ranking.behind(leader, worse)
    assert (found.share, found.only_leader, found.only_other) == (0.75, 50, 0)
    assert found.beaten
    assert not ranking.behind(worse, leader).beaten
    assert ranking.behind(leader, leader).chance == 1.0
    dearer = {0: leader[0] - 1.0}
    assert ranking.behind(leader, dearer).chance == 0.0
    assert ranking.behind({0: leader[0][:1]}, {0: dearer[0][:1]}).chance == 1.0
    assert ranking.leader_of({0: worse, 1: leader}, [0, 1]) == 1


# Class -> what it costs to watch somebody of it, and to treat them.
COSTS = {"low": (0, 3), "medium": (2, 1), "high": (9, 0)}


@pytest.fixture(scope="module")
def costs(patients: Path) -> Path:
    """The costs as a table."""
    file = patients.parent / "costs.csv"
    file.write_text("decision,low,medium,high\nwatch,0,2,9\ntreat,3,1,0\n", encoding="utf-8")
    return file


def test_what_decisions_cost_in_place_of_accuracy(patients, costs, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    how = [*CALL, "--methods", "prune-parent", "--min-k", "100", "--cost", str(costs), "--test", str(patients)]
    assert main(["advise", str(patients), *how, "--table", "ranked.json", "--report", "report.html"]) == 0
    printed = capsys.readouterr().out
    assert f"2 folds, by the costs of {costs}" in printed
    assert "best: prune-parent max_depth=3 k=100, decisions cost" in printed
    page = Path("report.html").read_text(encoding="utf-8")
    assert "The least costly release of progression within limits" in page
    assert "Cost against smallest group" in page
    found = json.loads(Path("ranked.json").read_text(encoding="utf-8"))
    best = found["best"]
    assert best["test_cost"] == pytest.approx(best["train_cost"])
    assert "--cost" not in best["defend"]  # prune-parent does not know any
    assert found["frontier"][0]["points"][-1]["cost"] == best["cost"]
    frame, total = pd.read_csv(patients), 0.0
    fold = stratified(np.unique(frame["progression"], return_inverse=True)[1], 2, 0)
    for each in range(2):
        asked = {"target": "progression", "qi": QI, "max_depth": 3, "k": 100, "seed": 0}
        release = maxent.defend(frame[fold != each], "prune-parent", **asked).release
        matrix = np.array([COSTS[name] for name in release.target.classes])
        decided = (predict_proba(release, frame[fold == each]) @ matrix).argmin(axis=1)
        total += sum(COSTS[name][w] for name, w in zip(frame["progression"][fold == each], decided, strict=True))
    assert best["cost"] == pytest.approx(total / len(frame))


@pytest.mark.slow
def test_the_least_cost_of_several_methods(patients, costs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    how: Any = {
        **HOW,
        "min_k": 50,
        "max_certain": None,
        "methods": ["prune-parent", "optimal", "rdt"],
        "resume": "kept",
    }
    found = maxent.advise(patients, **how, cost=costs)
    within = [row for row in found.rows if row["outcome"] in ("best", "beaten")]
    assert found.winner["cost"] == min(row["cost"] for row in within)
    assert [row["cost"] for row in within] == sorted(row["cost"] for row in within)
    assert min(within, key=lambda row: row["train_cost"])["method"] == "optimal"  # it knows the costs
    assert [row for row in found.rows if row["method"] == "rdt" and row["cost"] is not None]
    points = [point["cost"] for point in found.frontier[0]["points"]]
    assert points == sorted(points, reverse=True)
    assert found.winner["method"] == "optimal"
    again = [{"DATA": str(patients), "FILE": "again.json"}.get(word, word) for word in shlex.split(found.command)]
    assert main(again) == 0
    found.save("best.json")
    assert Path("again.json").read_bytes() == Path("best.json").read_bytes()
    before = len([*Path("kept/parts").iterdir()])
    wrong = maxent.advise(patients, **how, cost=1 - np.eye(3))  # trials of other costs are other trials
    assert len([*Path("kept/parts").iterdir()]) > before
    for row in wrong.rows:
        assert row["cost"] is None or row["cost"] == pytest.approx(1 - row["accuracy"])


def test_the_grids_ask_for_what_there_is():
    everything = Wanted(5000, True, 7, 0.9, 3, 0.8, "ill", True)
    for wanted in (Wanted(20), Wanted(5000, True, min_k=7), everything, Wanted(900, start=1, private=True)):
        for name, method in methods().items():
            found = [asked_for(name, options)[0] for options in method.grid(wanted)]
            assert found, name
            assert len(set(map(repr, found))) == len(found), name
            assert any(getattr(each, "audited", False) for each in found) == (name == "optimal" and wanted.private)


def test_a_folder_of_other_versions_is_refused(advised, patients, kept, tmp_path):
    shutil.copytree(kept, tmp_path / "kept")
    kept = tmp_path / "kept"
    for file in kept.joinpath("parts").iterdir():
        row = json.loads(file.read_text(encoding="utf-8"))
        if "same" in row:
            file.write_text(json.dumps({**row, "same": row["same"][::-1]}), encoding="utf-8")
    refused("audits of the same versions of maxent", maxent.advise, patients, **HOW, methods=QUICK, resume=kept)


@pytest.mark.slow
def test_processes_find_what_one_does(patients):
    how: Any = {**HOW, "methods": ["prune-parent", "rdt"]}
    here = maxent.advise(patients, **how).rows
    assert maxent.advise(patients, **how, jobs=2).rows == here
    assert maxent.advise(patients, **how, dask="local:2").rows == here


@pytest.mark.slow
def test_adult_within_limits(tmp_path):
    """The best of all defenses on Adult; what it costs in time is on docs/advise.md."""
    folder = os.environ.get("MAXENT_DATA")
    if not folder:
        pytest.skip("needs adult.csv in the folder MAXENT_DATA")
    frame = pd.read_csv(Path(folder) / "adult.csv")
    frame = frame[(frame["fold"] == "train") & ~frame.eq("?").any(axis=1)]
    qi = ["age", "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex"]
    qi.append("native-country")
    found = maxent.advise(
        frame, target="class", qi=qi, methods=["prune-parent", "optimal"], jobs=2,
        min_k=10, max_posterior=0.95, max_certain=0,
    )  # fmt: skip
    assert found.winner["method"] == "optimal"
    assert found.winner["accuracy"] > 0.82
    assert found.winner["max_posterior"] <= 0.95
    assert all(row["outcome"] in ("limit", "same", "cannot_tell") for row in found.rows if row["method"] != "optimal")
