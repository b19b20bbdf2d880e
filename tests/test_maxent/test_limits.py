"""Limits and verdicts, in Python and on the command line."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from support.calls import printed_by, refused
from support.documents import release_document
from support.paths import ROOT
from support.reported import written

import maxent
from maxent.__main__ import main
from maxent.api.proving import LONGEST
from maxent.constraints.program.program import Unread
from maxent.disclosure.limits import Limits, in_words, judge, judge_rows, worse_certain
from maxent.disclosure.measures import TOLERANCE
from maxent.solvers.certainty import levels
from maxent.solvers.certainty.integer import tighten
from maxent.solvers.control import Clock
from maxent.solvers.worlds import part

D1 = [str(ROOT / "examples/d1" / name) for name in ("tree.json", "qi.csv")]


def judged(limits, *, reliable=True, max_posterior=0.9, certain=3, exposed=0, k=5, surest=None, **possible):
    surest = max_posterior if surest is None else surest  # counts prove it
    found = {"max_posterior": max_posterior, "certain": certain, "exposed": exposed, "k": k, "surest": surest}
    return judge(limits, "r", reliable=reliable, **{"base_rate": 0.5, "base_posterior": 0.5}, **found, **possible)


def status(limits, **found):
    return judged(limits, **found).status


@pytest.mark.parametrize(
    ("within", "beyond"),
    [
        (Limits(max_posterior=0.9), Limits(max_posterior=0.89)),
        (Limits(min_k=5), Limits(min_k=6)),
        (Limits(max_certain=3), Limits(max_certain=2)),
    ],
)
def test_a_limit_may_be_reached_but_not_passed(within, beyond):
    assert (status(within), status(beyond)) == ("pass", "fail")


@pytest.mark.regression(number=3)
def test_a_computed_probability_is_compared_with_its_error():
    limits = Limits(max_posterior=0.9)
    assert status(limits, max_posterior=0.9) == "pass"  # as exact counts are
    assert status(limits, max_posterior=0.9, surest=0.9 + TOLERANCE) == "fail"
    assert status(limits, max_posterior=0.9 - 2 * TOLERANCE, surest=0.9 - TOLERANCE) == "pass"
    # Without a word on its error, a number is taken for a computed one.
    assert judge(limits, "r", reliable=True, max_posterior=0.9, certain=0, exposed=0, k=5).status == "fail"
    [check] = judged(limits, max_posterior=0.9, surest=0.9 + TOLERANCE).checks
    assert in_words(check) == (
        "largest posterior 0.900 by the estimate, at most 0.9: beyond the limit, within the error of computing it"
    )


@pytest.mark.parametrize(
    ("found", "limit", "text"),
    [(0.9504, 0.95, "0.9504"), (0.95, 0.95, "0.950"), (0.9996, 0.9, "1.000"), (0.99994, 0.99995, "0.9999")],
)
@pytest.mark.regression(number=3)
def test_a_number_does_not_look_like_a_limit_that_it_is_not(found, limit, text):
    [check] = judged(Limits(max_posterior=limit), max_posterior=found).checks
    assert check.found_text == text


def test_what_is_not_known_is_no_permission():
    assert status(Limits(min_k=2), k=None) == "cannot_tell"
    assert status(Limits(max_posterior=0.95), reliable=False) == "cannot_tell"
    assert status(Limits(max_posterior=0.95), exposed=None) == "cannot_tell"
    assert status(Limits(max_certain=3), exposed=None) == "cannot_tell"
    assert status(Limits(max_certain=2), exposed=3, reliable=False) == "fail"
    # An answer that did not end proves nothing: beyond a limit it is no failure, unless groups or the truth say so.
    assert status(Limits(max_certain=2, max_posterior=0.95), reliable=False) == "cannot_tell"
    assert status(Limits(max_posterior=0.95), exposed=1, reliable=False) == "fail"
    assert status(Limits(max_posterior=0.95), pure=1, reliable=False) == "fail"
    [check] = judged(Limits(max_certain=2), reliable=False).checks
    assert in_words(check).endswith("at most 2: cannot tell, as the estimate is not to be relied on")
    assert status(Limits(min_k=5), reliable=False) == "pass"  # groups are counted, not estimated


@pytest.mark.regression(number=7)
def test_what_is_published_has_to_keep_a_limit_too():
    assert status(Limits(max_posterior=0.95), possible_posterior=0.95) == "pass"
    assert status(Limits(max_posterior=0.95), possible_posterior=0.96) == "cannot_tell"
    assert status(Limits(max_posterior=0.85), possible_posterior=0.96) == "fail"
    assert status(Limits(max_certain=4), possible_certain=4) == "pass"
    assert status(Limits(max_certain=4), possible_certain=5) == "cannot_tell"
    assert status(Limits(max_certain=4, min_k=6), possible_certain=5) == "fail"
    [check] = judged(Limits(max_certain=4), possible_certain=1500).checks
    assert in_words(check) == (
        "individuals whose class is certain 3 by the estimate, at most 4: cannot tell, "
        "as what is published allows 1,500"
    )
    [member] = judged(Limits(max_member=0.8), member=0.5, possible_member=0.9).checks
    assert in_words(member).endswith(
        "cannot tell, as what is published allows 0.900, leaf by leaf: `maxent bounds --population` may prove less"
    )
    assert check.as_dict() == {
        "limit": "max_certain",
        "stated": 4,
        "found": 3,
        "status": "cannot_tell",
        "origin": "estimate",
        "possible": 1500,
    }


def test_members_that_are_proved_break_a_limit_whatever_the_estimate_is_worth():
    """Also where the estimate says 1, too: what did not end would otherwise leave the limit untold."""
    for member in (None, 0.5, 1.0):
        judged_now = judged(Limits(max_member=0.8), member=member, proved_members=2, reliable=False)
        assert judged_now.status == "fail"
        assert in_words(judged_now.checks[0]).startswith("largest probability of being in the data 1.000 by proof")


@pytest.mark.promise(number=8)
def test_every_line_of_a_verdict_names_what_its_figure_rests_on(capsys):
    limits = Limits(max_posterior=0.95, min_k=3, max_certain=3, max_right_guesses=0.9, max_lift=0.5)
    by_estimate = judged(limits, bayes_vulnerability=0.8, possible_right=0.8)
    by_truth = judged(limits, right_guesses=0.8, pure=3)
    assert [check.how for check in by_estimate.checks] == ["by the estimate", "by count", *["by the estimate"] * 3]
    assert [check.how for check in by_truth.checks] == [
        *("by what is true in their leaf", "by count", "by the estimate"),
        *["by the truth"] * 2,
    ]
    as_many = [worse_certain(*each) for each in ((5, 5), (5, 0, 5), (5, 0, 0, 5), (0, 0, 0, 0))]
    assert as_many == [(5, "groups"), (5, "estimate"), (5, "proof"), (0, "estimate")]
    options = ["--max-posterior", "1", "--min-k", "2", "--max-certain", "9", "--max-right-guesses", "1"]
    lines = call(capsys, *options, "--max-lift", "0.9").out.split("verdict: ")[1].splitlines()[1:]
    assert len(lines) == 5
    assert all(" by " in line.split(", at ")[0] for line in lines)
    assert [check.how for check in judged(limits, max_posterior=None, certain=None, k=None).checks if check.how] == []


@pytest.mark.parametrize(("right", "base"), [(46, 43), (49, 46), (36, 33), (51, 48)])
def test_three_of_sixty_are_within_a_lift_of_five_percent(right, base):
    known = {"reliable": True, "max_posterior": 0.9, "certain": 0, "exposed": 0, "k": 5}
    shares = {"right_guesses": right / 60, "base_rate": base / 60, "base_posterior": base / 60}
    assert judge(Limits(max_lift=0.05), "r", **known, **shares).status == "pass"
    assert judge(Limits(max_lift=0.0499), "r", **known, **shares).status == "fail"


def test_one_leaf_and_one_person_are_told_as_one():
    unread = [{"what": "scores", "leaves": 1, "trees": 1, "judged": "not"}]
    [check] = judged(Limits(max_certain=3), certain=0, unread=unread).checks
    assert check.why == "as more is stated than is read: scores (1 leaf in 1 tree)"
    worst = {"max_posterior": 1.0, "certain": 1, "printed": None, "right_guesses": 0.5}
    bounded = [{**unread[0], "judged": "worst_case"}]
    [check] = judged(Limits(max_certain=0), certain=0, unread=bounded, worst_case=worst).checks
    assert check.why == "if the scores gave all counts away: 1 person certain"
    told = Unread("scores", 1, 1).in_words({"why": ""})
    assert told == "not read: scores of 1 leaf in 1 tree: no limit is known to be kept"
    assert Unread("scores", 2, 3).in_words({"why": ""}).startswith("not read: scores of 3 leaves in 2 trees:")


def test_nothing_is_said_without_limits():
    assert status(Limits()) == "not stated"
    assert judge_rows(Limits(), [row()]).lines() == []


def row(name="r", **found):
    estimated = {"status": "optimal", "max_posterior": 0.9, "surest": 0.9, "certain": 3, "base_rate": 0.5}
    return {"release": name, **estimated, "exposed": 0, "min_population": 5, **found}


def test_what_groups_prove_counts_where_it_is_worse():
    assert status(Limits(max_certain=3), exposed=3) == "pass"
    assert status(Limits(max_certain=3), exposed=4) == "fail"
    assert status(Limits(max_posterior=0.95), exposed=0) == "pass"
    assert status(Limits(max_posterior=0.95), exposed=1) == "fail"
    limits = Limits(max_posterior=0.95, max_certain=3)
    [_, *told] = judge_rows(limits, [row(exposed=7)]).lines()
    assert [line.split(": ", 1)[1] for line in told] == [
        "largest posterior 1.000 by what their leaf or group proves, at most 0.95: beyond the limit",
        "individuals whose class is certain 7 by what their leaf or group proves, at most 3: beyond the limit",
    ]
    [_, *told] = judge_rows(limits, [row(max_posterior=1.0, certain=7, exposed=7)]).lines()
    assert ["proves" in line for line in told] == [False, True]  # one figure of people, and it is proved


@pytest.mark.regression(number=7)
def test_a_label_that_gives_one_person_away_is_no_pass(tmp_path, capsys):
    split = {"id": "r", "attribute": "A", "branches": [{"in": ["a"], "child": "p"}, {"in": ["b"], "child": "q"}]}
    leaves = [{"id": "p", "label": "y", "n": 1}, {"id": "q", "label": "x", "n": 3}]
    document = release_document("T", ["x", "y"], {"A": ["a", "b"]}, [split, *leaves])
    files = written(tmp_path, document, {"A": 0}, [("a",), ("b",), ("b",), ("b",)])
    limits = ["--max-certain", "0", "--max-posterior", "0.9", "--enforce", "--json"]
    for call in (["estimate", *files], ["compare", files[0], "--qi", files[1]]):
        found = json.loads(printed_by(capsys, [*call, *limits], 3).out)
        assert (found["disclosure"] if "disclosure" in found else found["releases"][0])["certain"] == 0
        [release] = found["verdict"]["releases"]
        checks = {check["limit"]: (check["found"], check["status"], check["origin"]) for check in release["checks"]}
        assert checks == {"max_posterior": (1.0, "fail", "groups"), "max_certain": (1, "fail", "groups")}


@pytest.mark.parametrize("command", ["estimate", "compare"])
@pytest.mark.regression(number=7)
def test_a_tree_of_labels_alone_fails_by_the_one_person_whom_it_proves(tmp_path, capsys, command):
    document = json.loads(Path(D1[0]).read_text(encoding="utf-8"))
    for node in document["trees"][0]["nodes"]:
        node.pop("error_rate", None)
        node.pop("n", None)
    (tmp_path / "labels.json").write_text(json.dumps(document), encoding="utf-8")
    files = [str(tmp_path / "labels.json"), *(["--qi"] if command == "compare" else []), D1[1]]
    limits = ["--max-posterior", "0.95", "--max-certain", "5"]
    assert main([command, *files, *limits]) == 0
    assert (
        "verdict: FAIL, beyond the stated limits\n"
        "  labels: largest posterior 1.000 by proof, at most 0.95: beyond the limit\n"
        "  labels: individuals whose class is certain 1 by proof (0 by the estimate), at most 5: cannot tell, "
        "as what is published allows 11\n"
    ) in capsys.readouterr().out
    assert main([command, *files, *limits, "--enforce", "--json"]) == 3
    [release] = json.loads(capsys.readouterr().out)["verdict"]["releases"]
    assert [(check["status"], check["origin"]) for check in release["checks"]] == [
        ("fail", "proof"),
        ("cannot_tell", "proof"),
    ]
    assert main([command, *files, "--max-certain", "5", "--enforce"]) == 4
    assert main([command, *files, "--max-posterior", "1", "--max-certain", "11", "--enforce"]) == 0  # nothing is asked


def test_the_first_of_several_releases_is_only_compared_with():
    before, after = row("before", certain=9), row("after", certain=0)
    limits = Limits(max_certain=3)
    assert judge_rows(limits, [before, after]).status == "pass"
    assert judge_rows(limits, [after, before]).status == "fail"
    assert judge_rows(limits, [before, after, before]).status == "fail"
    assert judge_rows(limits, [before]).status == "fail"
    assert judge_rows(limits, [after], of=2).status == "cannot_tell"  # interrupted before the one that counts


@pytest.mark.parametrize(
    "limits", [{"max_posterior": 1.1}, {"max_posterior": float("nan")}, {"min_k": 0}, {"max_certain": -1}]
)
def test_limits_out_of_range_are_refused(limits):
    refused(next(iter(limits)), Limits, **limits)


def call(capsys, *options, expected=0):
    return printed_by(capsys, ["estimate", *D1, *options], expected)


def test_the_command_line_reports_and_only_enforces_when_asked(capsys):
    strict, loose = ["--max-certain", "4"], ["--max-certain", "7", "--min-k", "2", "--max-posterior", "1"]
    printed = call(capsys, *strict)
    assert printed.err == ""
    assert printed.out.endswith(
        "verdict: FAIL, beyond the stated limits\n"
        "  tree: individuals whose class is certain 5 by what their leaf or group proves, at most 4: beyond the limit\n"
        "  tree: what would pass: the tree cut back from 5 leaves to 4 leaves, without saying what its splits were "
        "chosen by; it predicts 72.7 % of its records right, as before; no subtree within the limits predicts more of "
        "them right\n"
    )
    assert call(capsys, *strict, "--enforce", expected=3).err.startswith("maxent: limits are enforced: beyond")
    assert "verdict: PASS" in call(capsys, *loose, "--enforce").out
    assert "verdict" not in call(capsys).out


def test_the_verdict_in_json(capsys):
    found = json.loads(call(capsys, "--json", "--max-certain", "4", "--min-k", "2", "--enforce", expected=3).out)
    assert found["disclosure"]["certain"] == 5
    verdict = found["verdict"]
    assert (verdict["status"], verdict["limits"]) == ("fail", {"min_k": 2, "max_certain": 4})
    [release] = verdict["releases"]
    assert {check["limit"]: (check["found"], check["status"]) for check in release["checks"]} == {
        "min_k": (2, "pass"),
        "max_certain": (5, "fail"),
    }
    assert "verdict" not in json.loads(call(capsys, "--json").out)


def test_a_comparison_is_judged_by_what_comes_after(capsys):
    compare = ["compare", D1[0], D1[0], "--qi", D1[1], "--max-certain", "4", "--enforce"]
    verdict = json.loads(printed_by(capsys, [*compare, "--json"], 3).out)["verdict"]
    assert [(one["release"], one["decisive"]) for one in verdict["releases"]] == [
        ("d1/tree", False),
        ("d1/tree (2)", True),
    ]


@pytest.mark.parametrize("wrong", [["--enforce"], ["--max-posterior", "2"], ["--report", "out.txt"], ["--min-k", "0"]])
def test_a_wrong_call_is_refused_before_any_work(capsys, wrong, monkeypatch):
    monkeypatch.setattr("maxent.api.posterior.estimate_case", None)
    assert wrong[0].strip("-").replace("-", "_")[:6] in call(capsys, *wrong, expected=2).err.replace("-", "_")


def test_a_limit_on_certainty_is_judged_by_proof_too():
    found = maxent.estimate(*D1)
    [check] = found.verdict(max_certain=5).releases[0].checks
    assert (check.status, check.found, check.origin, check.estimated) == ("fail", 7, "proof", 5)
    assert found.verdict(max_certain=7).status == "pass"


@pytest.mark.promise(number=8)
def test_proofs_that_did_not_end_leave_a_limit_open():
    [judged] = judge_rows(
        Limits(max_certain=3), [{**row("tree", certain=1), "proved_least": 2, "proved_most": 4}]
    ).releases
    [check] = judged.checks
    assert (check.status, check.found, check.origin) == ("cannot_tell", 2, "proof")
    assert check.why == "as proofs that did not end may find up to 4"


def test_who_is_next_to_a_split_is_proved_by_the_nearest_comparisons(monkeypatch):
    dice, n = np.random.default_rng(0), 60
    x = pd.DataFrame(dice.permutation(2 * n).reshape(n, 2).astype(float), columns=["a", "b"])[["b", "a"]]
    y = np.where((x["a"] > n) ^ (dice.random(n) < 0.1), "p", "q")
    model = DecisionTreeClassifier(max_depth=1, min_samples_leaf=10, random_state=0).fit(x, y)
    monkeypatch.setattr(part, "AFFORDABLE", 10 * n * 2)  # ten of about eighty
    asked = []
    whole = levels.LEVELS[-1].tighten

    def counted(program, bounds, questions, clock):
        asked.append(int(questions.any(axis=1).sum()))
        return whole(program, bounds, questions, clock)

    monkeypatch.setattr(levels, "LEVELS", (*levels.LEVELS[:-1], levels.LEVELS[-1]._replace(tighten=counted)))
    found = maxent.estimate(maxent.from_sklearn(model, target="T", X=x), x, x.assign(T=y))
    [check] = found.verdict(max_certain=0).releases[0].checks
    assert (check.status, check.found, check.origin) == ("fail", 3, "proof")
    assert asked == [3]  # whoever changes places in the truth is not asked about


def test_proofs_look_at_all_comparisons_of_large_nodes_where_there_is_time(monkeypatch):
    dice, n = np.random.default_rng(0), 24
    x = pd.DataFrame(dice.integers(0, 6, (n, 2)).astype(float), columns=["a", "b"])
    y = np.where((x["a"] > 2) ^ (dice.random(n) < 0.2), "p", "q")
    model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(x, y)
    release = maxent.from_sklearn(model, target="T", X=x)
    d1 = ROOT / "examples" / "d1"
    linear = maxent.bounds(d1 / "tree.json", d1 / "qi.csv", level="linear")
    monkeypatch.setattr(part, "AFFORDABLE", 0)
    found = []
    for most in (part.COMPLETE, 0):
        monkeypatch.setattr(part, "COMPLETE", most)
        nobody = maxent.bounds(release, x, level="integer")
        everybody = tighten(linear.program, linear.bounds, linear.bounds.open, Clock(600.0))
        found.append((nobody.complete, nobody.bounds.open.sum(), everybody.open.sum()))
    assert found == [(True, 18, 0), (False, 18, 4)]


def test_proofs_for_limits_have_the_time_that_is_left():
    release = maxent.cart(pd.DataFrame({"a": [0, 0, 1, 1], "T": ["p", "q", "p", "p"]}), target="T", qi=["a"])
    table = pd.DataFrame({"a": [0, 0, 1, 1]})
    assert maxent.estimate(release, table, time_limit=600).certainty.seconds > 300
    assert maxent.estimate(release, table).certainty.seconds == LONGEST
