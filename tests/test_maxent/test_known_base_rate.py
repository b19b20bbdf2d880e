"""Nobody knows less than the base rate: verdicts are about an adversary who knows how many people have each class."""

import json
from dataclasses import replace
from math import log
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from support.documents import release_document

import maxent
from maxent.api import estimate as module
from maxent.disclosure.limits import Limits, in_words, judge, judge_informed
from maxent.results.text.estimate import worth

ATTRIBUTES = [{"name": "a", "type": "categorical", "values": ["x", "y"]}]


def silent():
    """A tree whose leaves say nothing of classes."""
    split = {"id": "r", "attribute": "a", "branches": [{"in": ["x"], "child": "p"}, {"in": ["y"], "child": "q"}]}
    return release_document("ill", ["no", "yes"], ATTRIBUTES, [split, {"id": "p"}, {"id": "q"}])


def people():
    """37 people, 28 of them in class ``no``: a base rate of 0.757."""
    return pd.DataFrame({"a": ["x", "y"] * 18 + ["x"], "ill": ["no"] * 28 + ["yes"] * 9})


BASE = 28 / 37


@pytest.fixture
def files(tmp_path: Path):
    document = silent()
    for node, n in zip(document["trees"][0]["nodes"][1:], (19, 18), strict=True):
        node["n"] = n
    (tmp_path / "tree.json").write_text(json.dumps(document), encoding="utf-8")
    people().to_csv(tmp_path / "truth.csv", index=False)
    people()[["a"]].to_csv(tmp_path / "qi.csv", index=False)
    return {name: str(tmp_path / name) for name in ("tree.json", "qi.csv", "truth.csv")}


@pytest.mark.promise(number=4)
def test_an_estimate_of_who_knows_less_passes_no_limit_that_the_base_rate_breaks(files):
    found = maxent.estimate(files["tree.json"], files["qi.csv"], files["truth.csv"])
    assert found.disclosure.max_posterior == pytest.approx(0.5)  # as it is printed
    before = found.posterior
    [check] = found.verdict(max_posterior=0.6).releases[0].checks
    assert (check.status, check.found) == ("fail", pytest.approx(BASE))
    assert in_words(check).endswith("as the base rate alone comes to 0.757: no release can keep it")
    assert found.verdict(max_posterior=0.8).releases[0].checks[0].found == pytest.approx(BASE)
    pd.testing.assert_frame_equal(found.posterior, before)
    assert found.summary["entropy"] == pytest.approx(log(2))


def test_the_second_estimate_is_made_only_for_limits_that_need_it(files, monkeypatch):
    calls = []
    solve = module.solve_in_time
    monkeypatch.setattr(module, "solve_in_time", lambda *args, **more: calls.append(1) or solve(*args, **more))
    found = maxent.estimate(files["tree.json"], files["qi.csv"], files["truth.csv"])
    assert found.verdict(min_k=2).status == "pass"
    assert found.verdict(max_posterior=0.4).status == "fail"  # beyond it already
    assert len(calls) == 1
    assert found.verdict(max_posterior=0.8, max_certain=0).releases[0].checks[1].status != "fail"
    assert found.verdict(max_posterior=0.9).limits.max_posterior == 0.9
    assert len(calls) == 2


def test_counts_of_a_release_give_the_base_rate_already(tmp_path):
    document = silent()
    counts = ({"no": 14, "yes": 5}, {"no": 14, "yes": 4})
    for node, each in zip(document["trees"][0]["nodes"][1:], counts, strict=True):
        node["counts"] = each
    (tmp_path / "tree.json").write_text(json.dumps(document), encoding="utf-8")
    found = maxent.estimate(tmp_path / "tree.json", people()[["a"]], people())
    assert found.informed is None
    assert found.verdict(max_posterior=0.8).passed


@pytest.mark.promise(number=4)
def test_where_nothing_states_the_base_rate_it_cannot_be_told(files):
    found = maxent.estimate(files["tree.json"], files["qi.csv"])
    limits = {"max_posterior": 0.99, "max_certain": 36, "max_right_guesses": 0.99, "max_lift": 0.9}
    checks = {check.limit: check for check in found.verdict(**limits, min_k=2).releases[0].checks}
    assert {name: check.status for name, check in checks.items()} == {
        **dict.fromkeys(limits, "cannot_tell"),
        "min_k": "pass",
    }
    known = judge(
        Limits(max_posterior=0.9), "r", reliable=True, max_posterior=0.5, certain=0, exposed=0, k=5, surest=0.5
    )
    assert known.status == "cannot_tell"
    assert "nothing states the base rate" in in_words(known.checks[0])
    assert found.verdict(max_posterior=1.0, max_certain=37, max_right_guesses=1.0).passed  # nothing is asked


@pytest.mark.promise(number=4)
def test_the_base_rate_may_be_left_out_and_the_verdict_says_so(files):
    found = maxent.estimate(files["tree.json"], files["qi.csv"], files["truth.csv"], no_marginal=True)
    assert found.informed is None
    [check] = found.verdict(max_posterior=0.6).releases[0].checks
    assert check.found == pytest.approx(0.5)
    verdict = found.verdict(max_posterior=0.4)
    assert verdict.lines()[-1].strip() == "the adversary is taken not to know the base rate"
    assert verdict.as_dict()["marginal"] is False


def frame():
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"a": rng.integers(0, 4, 300), "b": rng.integers(0, 3, 300)})
    return table, pd.Series(np.where(rng.random(300) < 0.75, "no", "yes"), name="ill")


def weighted():
    X, y = frame()
    weights = np.random.default_rng(4).uniform(0.2, 3.0, len(X))
    return DecisionTreeClassifier(max_depth=3, min_samples_leaf=40).fit(X, y, sample_weight=weights), X, y


@pytest.mark.promise(number=4)
def test_a_review_knows_the_base_rate():
    model, X, y = weighted()
    base = y.value_counts(normalize=True).max()
    found = maxent.review(model, X, y, qi=["a", "b"], max_posterior=0.6, max_right_guesses=0.99)
    posterior, right = found.verdict().releases[0].checks
    assert posterior.status == "fail"
    assert posterior.hopeless
    assert right.found >= base - 1e-12
    assert found.estimate.summary["disclosure"]["max_posterior"] >= base - 1e-8
    left_out = maxent.review(model, X, y, qi=["a", "b"], no_marginal=True, max_posterior=0.6)
    assert left_out.estimate.summary["disclosure"]["max_posterior"] < base
    assert left_out.verdict().as_dict()["marginal"] is False
    said = maxent.review(model, X, y, qi=["a", "b"], knowledge="label", max_posterior=0.6)
    assert said.estimate.summary["constraints"]["marginal"] == 0
    assert said.verdict().status == "fail"  # by the base rate alone, which breaks the limit whatever is known


def test_a_policy_may_leave_the_base_rate_out(tmp_path, files):
    limits = "[limits]\nmax_posterior = 0.6\n"
    policy = tmp_path / "policy.toml"
    policy.write_text(limits, encoding="utf-8")
    tables = (files["tree.json"], files["qi.csv"])
    assert maxent.check(*tables, policy, truth=files["truth.csv"]).rows[0].finding.figure == pytest.approx(BASE)
    policy.write_text(f"{limits}[adversary]\nmarginal = false\n", encoding="utf-8")
    assert maxent.check(*tables, policy, truth=files["truth.csv"]).rows[0].finding.figure == pytest.approx(0.5)
    left_out = maxent.check(*tables, truth=files["truth.csv"], no_marginal=True, max_posterior=0.6)
    assert left_out.rows[0].finding.figure == pytest.approx(0.5)
    record = tmp_path / "record.json"
    left_out.record(record)
    assert json.loads(record.read_text(encoding="utf-8"))["call"]["options"]["no_marginal"] is True
    assert maxent.verify(record).changes == ()
    assert "  the adversary is taken not to know the base rate" in left_out.lines


def test_a_comparison_is_judged_with_the_base_rate_and_prints_what_it_did(files):
    found = maxent.compare([files["tree.json"]], files["qi.csv"], files["truth.csv"])
    assert found.rows[0]["max_posterior"] == pytest.approx(0.5)
    [check] = found.verdict(max_posterior=0.6).releases[0].checks
    assert (check.status, check.found) == ("fail", pytest.approx(BASE))


def test_sensitive_classes_have_a_base_rate_of_their_own(files):
    found = maxent.estimate(files["tree.json"], files["qi.csv"], files["truth.csv"], sensitive="yes")
    judged = found.verdict(max_posterior=0.2).releases[0]
    assert (judged.status, judged.checks[0].base) == ("fail", pytest.approx(9 / 37))
    assert judged.beside[0].base == pytest.approx(BASE)
    lenient = maxent.review(*weighted(), qi=["a", "b"], sensitive="yes", max_posterior=0.6).verdict().releases[0]
    assert not lenient.checks[0].hopeless
    assert lenient.beside[0].hopeless


@pytest.mark.parametrize("publish", ["counts", "rates", "labels"])
def test_an_audit_knows_the_base_rate_where_an_estimate_does(publish):
    frame = pd.DataFrame({"a": ["x", "y"] * 60, "b": list("uuvvw") * 24, "ill": ["no"] * 90 + ["yes"] * 30})
    release = maxent.defend(frame, target="ill", qi=["a", "b"], method="none", publish=publish).release
    given = frame[["a", "b"]]
    audited, estimated = maxent.audit_release(release, given), maxent.estimate(release, given)
    assert audited.baseline == estimated.baseline
    [check] = audited.verdict(max_posterior=0.6).releases[0].checks
    told = ("fail", 0.75, "base") if publish != "labels" else ("cannot_tell", None, "estimate")
    assert (check.status, check.found, check.origin) == told
    assert check.hopeless == (publish != "labels")


def test_an_audit_without_a_table_knows_the_base_rate_of_whole_counts_alone(tmp_path):
    def audited(*ill, **beside):
        document = {**silent(), **beside}
        for node, yes in zip(document["trees"][0]["nodes"][1:], ill, strict=True):
            node["counts"] = {"no": 14, "yes": yes}
        (tmp_path / "tree.json").write_text(json.dumps(document), encoding="utf-8")
        return maxent.audit_release(str(tmp_path / "tree.json"))

    assert audited(3, 6).baseline.base_rate == pytest.approx(BASE)
    [check] = audited(3, 6).verdict(max_right_guesses=0.7).releases[0].checks
    assert (check.status, check.origin) == ("fail", "base")
    assert audited(0, 6, release={"suppressed_below": 5}).baseline.base_rate is None
    assert audited(3, 6, release={"sampling_rate": 0.5}).baseline.base_rate is None


def test_an_audit_of_sensitive_classes_of_columns_and_of_records_has_a_floor():
    frame = pd.DataFrame({"a": ["x", "y"] * 30, "pay": ["low"] * 45 + ["high"] * 15, "ill": ["no", "yes", "no"] * 20})
    one = maxent.defend(frame, target="pay", qi=["a"], method="none").release
    [judged] = maxent.audit_release(one, frame[["a"]], sensitive="high").verdict(max_posterior=0.2).releases
    assert (judged.checks[0].found, judged.checks[0].base, judged.beside[0].base) == (0.25, 0.25, 0.75)
    both = maxent.defend(frame, target=["pay", "ill"], qi=["a"], method="none").release
    [check] = maxent.audit_release(both, frame[["a"]]).verdict(max_posterior=0.7).releases[0].checks
    assert (check.status, check.found, check.target) == ("fail", 0.75, "pay")
    rows = frame[["a", "pay"]].assign(a="*")
    [check] = maxent.audit_release(rows, frame[["a"]]).verdict(max_posterior=0.7).releases[0].checks
    assert (check.status, check.found, check.origin) == ("fail", 0.75, "base")


def test_everybody_is_certain_where_the_base_rate_is():
    found = {"reliable": True, "max_posterior": 0.5, "certain": 0, "exposed": 0, "k": 5, "individuals": 5000}
    [check] = judge(Limits(max_certain=0), "r", **found, base_rate=0.9994, base_posterior=0.9994).checks
    assert (check.found, check.status, check.origin) == (5000, "fail", "base")
    [check] = judge(Limits(max_certain=0), "r", **found, base_rate=0.99, base_posterior=0.99).checks
    assert (check.found, check.status) == (0, "pass")


@pytest.mark.promise(number=7)
def test_right_guesses_and_the_largest_posterior_are_one_number_on_a_page():
    model, X, y = weighted()
    found = maxent.review(model, X, y, qi=["a", "b"], max_right_guesses=0.999, max_posterior=0.999)
    summary, row = found.estimate.summary, found.row
    posterior, right = found.verdict().releases[0].checks
    assert right.found == row["right_guesses"] == summary["truth"]["right_guesses"]
    assert summary["wp216"]["inference"]["members"] == pytest.approx(right.found)
    assert summary["baseline"]["right_guesses"] == right.found
    assert posterior.found == row["max_posterior"] == summary["disclosure"]["max_posterior"]
    controlled = maxent.review(model, X, y, qi=["a", "b"], control=X.assign(ill=y).head(50))
    assert controlled.estimate.summary["control"]["members"] == pytest.approx(right.found)


@pytest.mark.promise(number=7)
def test_a_bound_of_the_entropy_is_never_more_than_the_maximum(files):
    found = maxent.estimate(files["tree.json"], files["qi.csv"])
    loose = replace(found, outcome=replace(found.outcome, entropy_upper_bound=3.5129, duality_gap=2.8))
    assert loose.certificate == "gap"
    assert loose.summary["entropy_upper_bound"] == pytest.approx(log(2))
    assert "at most 100.00 % doubt" in worth(loose)
    early = replace(found, outcome=replace(found.outcome, entropy_upper_bound=-82.87, status="time_limit"))
    assert worth(early).endswith("; the optimum leaves at most 0.00 % doubt")


def test_a_bound_of_entropy_and_likelihood_is_told_as_none_of_the_entropy():
    x = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0] * 5})
    model = RandomForestClassifier(2, max_depth=1, random_state=0).fit(x, ["yes", "no", "yes", "yes"] * 5)
    found = maxent.estimate(maxent.from_sklearn(model, target="ill"), x, noise="likelihood")
    early = replace(found, outcome=replace(found.outcome, entropy_upper_bound=-82.87, status="time_limit"))
    assert "doubt" not in worth(early)
    assert early.most_entropy == log(2)


FIGURES = ("max_posterior", "surest", "possible_posterior")


def test_the_larger_figure_of_two_estimates_is_named():
    row = {"release": "r", "status": "optimal", "individuals": 20, "base_rate": 0.55, "exposed": 0}
    less, more = (row | dict.fromkeys(FIGURES, found) for found in (0.716, 0.707))
    for first, second in ((less, more), (more, less)):
        judged = judge_informed(Limits(max_posterior=0.75), [first], [lambda row, limits, known=second: known])
        [check] = judged.releases[0].checks
        assert (check.found, check.status) == (0.716, "pass")
        judged = judge_informed(Limits(max_posterior=0.71), [first], [lambda row, limits, known=second: known])
        assert judged.status == "fail"


def test_an_estimate_judges_draws_as_a_check_does(tmp_path):
    dice = np.random.default_rng(1)
    x = pd.DataFrame(dice.integers(0, 3, (120, 2)), columns=["a", "b"]).astype(float)
    y = np.where((x.sum(axis=1) > 2) ^ (dice.random(120) < 0.25), "yes", "no")
    model = RandomForestClassifier(3, max_depth=2, random_state=0).fit(x, y)
    maxent.from_sklearn(model, target="ill", X=x).save(tmp_path / "release.json")
    truth = x.assign(ill=y)
    limits = {"max_posterior": 0.95, "max_certain": 0}
    found = maxent.estimate(tmp_path / "release.json", x, truth, noise="intervals")
    checked = maxent.check(tmp_path / "release.json", x, truth=truth, **limits)
    estimated = {check.limit: (check.status, check.found) for check in found.verdict(**limits).releases[0].checks}
    assert found.disclosure.max_posterior <= estimated["max_posterior"][1]
    for row in checked.rows:
        if row.check.key in estimated:
            assert estimated[row.check.key] == (row.status, pytest.approx(row.finding.figure))
