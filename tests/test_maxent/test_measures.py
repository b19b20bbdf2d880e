"""The registry of measures: what is entered there is in texts, JSON, tables, sweeps, plots, the report and the docs."""

import csv
import json
import re
from dataclasses import replace
from itertools import combinations
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from support.calls import printed_by, refused
from support.paths import D1, ROOT

import maxent
from maxent import InvalidInput
from maxent.__main__ import main
from maxent.attacks.wp216 import Wp216Risk as Risk
from maxent.attacks.wp216 import _expected
from maxent.disclosure.measures import (
    MEASURES,
    Measure,
    channel_of,
    gain_over_prior,
    leakage,
    min_capacity,
    posterior_vulnerability,
    prior_vulnerability,
)

FILES = [str(D1 / "tree.json"), str(D1 / "qi.csv")]
TRUTH = ["--truth", str(D1 / "truth.csv")]

SECOND = Measure(
    *("second", "second largest posterior", "probability", "high", "the largest probability of a second class"),
    lambda of: float(sorted(of.posterior.max(axis=1))[1]),
    bar=1,
    report=1,
    says="Surest guess about anybody else: How sure the second guess about a {target} is.",
)
STUDY = """
[data.d1]
file = "truth.csv"
target = "Salary"
[[grid]]
method = "none"
"""


@pytest.fixture
def value(monkeypatch: pytest.MonkeyPatch) -> float:
    """The value of a measure of D1 that is one function and one entry."""
    monkeypatch.setitem(MEASURES, SECOND.key, SECOND)
    return sorted(maxent.estimate(*FILES).probabilities.max(axis=1))[1]


def test_a_new_measure_is_in_the_text_and_the_json_of_an_estimate(value, capsys):
    assert f"second largest posterior {value:.3f}" in printed_by(capsys, ["estimate", *FILES]).out
    assert main(["estimate", *FILES, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["disclosure"]["second"] == pytest.approx(value)


def test_a_new_measure_is_in_every_form_of_a_comparison(value, capsys, tmp_path):
    call = ["compare", FILES[0], FILES[0], "--qi", FILES[1]]
    assert main([*call, "-o", str(tmp_path / "rows.csv")]) == 0
    [line] = (line for line in capsys.readouterr().out.splitlines() if line.startswith("second largest posterior"))
    assert line.split()[-2:] == [f"{value:.3f}"] * 2
    with open(tmp_path / "rows.csv", encoding="utf-8", newline="") as file:
        assert [float(row["second"]) for row in csv.DictReader(file)] == pytest.approx([value, value])
    rows = json.loads(printed_by(capsys, [*call, "--json"]).out)["releases"]
    assert [(row["second"], row["change"]["second"]) for row in rows] == [(pytest.approx(value), 0.0)] * 2


def test_a_new_measure_is_a_group_of_bars(value):
    axes = Figure().add_subplot()
    maxent.compare([FILES[0]], FILES[1]).plot("bars", ax=axes)
    names = [label.get_text() for label in axes.get_yticklabels()]
    [bars] = axes.containers
    assert bars[names.index("second largest posterior")].get_width() == pytest.approx(value)


@pytest.mark.parametrize("command", ["estimate", "compare"])
def test_a_new_measure_is_in_the_report(value, tmp_path, command):
    files = FILES if command == "estimate" else [FILES[0], FILES[0], "--qi", FILES[1]]
    assert main([command, *files, "--report", str(tmp_path / "report.html")]) == 0
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    for said in ("Surest guess about anybody else", "How sure the second guess about a Salary is.", f"{value:.3f}"):
        assert said in text


def test_a_new_measure_is_a_column_of_a_sweep(value, tmp_path):
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    found = maxent.sweep(tmp_path / "study.toml", tmp_path / "out", data=D1)
    [row] = found.rows
    assert 0 <= row["second"] == found.frame["second"][0] <= 1


# --- The entries -------------------------------------------------------------------------------------------------


def test_an_estimate_has_its_measures_where_the_registry_says():
    """On a truth that the estimate rules out, so that none of them is left out."""
    people = pd.read_csv(D1 / "truth.csv").replace({"Salary": {"<=50K": ">50K", ">50K": "<=50K"}})
    for truth in (people, D1 / "truth.csv"):
        result = maxent.estimate(*FILES, truth, control=truth)
        assert result.disclosure.measures.keys() == {key for key, m in MEASURES.items() if m.value is not None}
        for key, found in result.disclosure.measures.items():
            place = MEASURES[key].json if MEASURES[key].json is not None else f"disclosure.{key}"
            if place and not (key == "infinite" and not found):
                told = result.summary
                for step in place.split("."):
                    told = told[step]
                assert told == (None if found == float("inf") else found), key
            assert type(found) is MEASURES[key].kind


def test_every_attack_has_its_measures_where_the_registry_says():
    [row] = maxent.compare([FILES[0]], FILES[1]).rows
    attacks = maxent.audit(*FILES)
    places = {key: m.json.rpartition(".") for key, m in MEASURES.items() if m.value is None and m.json and key != "gcp"}
    found = {key: (attacks[part] if part else attacks)[last] for key, (part, _, last) in places.items()}
    assert found
    assert found == {key: row[key] for key in found}


@pytest.mark.parametrize("key", ["entropy_l_diversity", "alpha_k", "t_closeness"])
def test_measures_of_anonymity_are_shown_everywhere(key):
    measure = MEASURES[key]
    assert measure.line == "always"
    assert measure.swept
    assert measure.bar
    assert measure.report
    assert not measure.sentence


def test_entries_are_whole():
    for key, measure in MEASURES.items():
        assert key == measure.key
        assert bool(measure.report) == bool(measure.says)
        assert ": " in measure.says or not measure.says
    for place in ("brief", "bar", "report"):
        used = [getattr(measure, place) for measure in MEASURES.values() if getattr(measure, place)]
        assert sorted(used) == list(range(1, len(used) + 1))


def test_shares_are_of_what_there_could_be():
    assert MEASURES["certain"].share(3, 12) == 0.25
    assert MEASURES["max_posterior"].share(0.3, 12) == 0.3
    assert MEASURES["entropy"].share(0.3, 12) is None
    assert replace(SECOND, unit="group").text(12345) == "12,345"


def documented(measure: Measure) -> str:
    """The row of a measure in the documentation."""
    place = f"disclosure.{measure.key}" if measure.json is None else measure.json
    where = f"estimate: `{place}`" if measure.value is not None else f"audit: `{place}`"
    where = "" if not place or (measure.value is None and measure.json is None) else where
    better = {"low": "less", "high": "more", "none": ""}[measure.better]
    return f"| `{measure.key}` | {measure.title} | {measure.unit} | {better} | {where} | {measure.meaning} |"


def test_the_page_has_the_registry():
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    rows = re.search(r"<!-- measures -->\n\n.*\n\| --.*\n((?:\|.*\n)+)\n<!-- /measures -->", page)
    assert rows
    assert rows[1].splitlines() == [documented(measure) for measure in MEASURES.values()]


def test_formulas_are_of_measures():
    page = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
    table = page.split("## What is disclosed")[1].split("## ")[0]
    named = re.findall(r"^\| ([^|]*) \| .*\$", table, re.MULTILINE)
    titles = {measure.title for measure in MEASURES.values()}
    assert {"t-closeness", "k of (alpha, k)-anonymity", "entropy l-diversity"} <= {*named} <= titles


QI = ["a", "b"]


def people(rng: np.random.Generator, n: int) -> pd.DataFrame:
    table = pd.DataFrame(rng.integers(0, 4, (n, 2)), columns=QI).astype(str)
    return table.assign(T=np.where(rng.random(n) < 0.5, "x", "y"))


def test_a_larger_table_is_reduced_to_all_of_its_parts() -> None:
    sizes = np.array([1, 3, 2])
    groups = np.repeat([0, 1, 2], sizes)
    for size in range(1, 7):
        parts = [np.bincount(groups[list(rows)], minlength=3) for rows in combinations(range(6), size)]
        alone = np.mean([(part == 1).sum() / size for part in parts])
        linked = np.mean([(part > 0).sum() / size for part in parts])
        assert _expected(sizes, 6, size) == pytest.approx((alone, linked))


def test_the_risks_are_those_of_the_groups_of_the_release() -> None:
    rng = np.random.default_rng(1)
    members, controls = people(rng, 40), people(rng, 25)
    release = maxent.defend(members, target="T", qi=QI, method="none", max_depth=8).release
    alone = maxent.estimate(release, members[QI], members).summary["wp216"]
    spans = maxent.audit(release, members[QI])["spans"]
    assert alone["linkability"]["members"] == spans["count"] / 40
    assert alone["singling_out"]["controls"] is alone["inference"]["interval"] is None
    found = maxent.estimate(release, members[QI], members, control=controls).summary
    for key, risk in found["wp216"].items():
        low, high = risk["interval"]
        assert low <= risk["difference"] <= high
        assert risk["difference"] == pytest.approx(risk["members"] - risk["controls"])
        assert risk["confidence"] == 0.99
        if key != "inference":
            assert 0 <= risk["members"] <= alone[key]["members"] + 0.5
    assert found["wp216"]["inference"]["members"] == found["control"]["members"] == alone["inference"]["members"]
    assert found["wp216"]["inference"]["interval"] == found["control"]["interval"]
    assert 0 < found["wp216"]["linkability"]["controls"] <= len(controls.groupby(QI)) / 25 + 1e-12


def test_the_risk_of_anonymeter_is_relative() -> None:
    assert Risk(0.9, 0.8).beyond == pytest.approx(0.5)
    assert Risk(1.0, 1.0).beyond == 0.0
    assert Risk(0.9).beyond is None


def test_the_risks_are_in_text_and_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    d1 = Path(__file__).parents[2] / "examples" / "d1"
    files = [str(d1 / name) for name in ("tree.json", "qi.csv")]
    truth = str(d1 / "truth.csv")
    call = ["estimate", *files, "--truth", truth, "--control", truth, "--report", str(tmp_path / "r.html")]
    said = " ".join(printed_by(capsys, call).out.split())
    assert "(WP216): singling out 0.0 %, of others 0.0 %" in said
    assert "linkability 45.5 %, of others 45.5 %" in said  # 5 leaves, 11 people
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "The three risks of the Article 29 Working Party (Opinion 05/2014 on anonymisation, WP216)" in text
    assert "Singling out" in text


def by_libqif(gain: Any, prior: Any, channel: Any) -> tuple[float, float, float]:
    """Formulas of libqif, a term at a time: g_vuln::prior, g_vuln::posterior, and log2 of bayes_vuln::mult_capacity."""
    before = max(sum(prior[x] * row[x] for x in range(len(prior))) for row in gain)
    after = capacity = 0.0
    for y in range(len(channel[0])):
        after += max(sum(prior[x] * channel[x][y] * row[x] for x in range(len(prior))) for row in gain)
        capacity += max(channel[x][y] for x in range(len(prior)))
    return before, after, log2(capacity)


def test_a_thousand_random_channels_have_the_figures_of_libqif() -> None:
    rng = np.random.default_rng(20)
    for _ in range(1000):
        secrets, seen, wishes = rng.integers(1, 6, 3).tolist()
        prior, channel = rng.dirichlet(np.ones(secrets)), rng.dirichlet(np.ones(seen), secrets)
        gain = rng.random((wishes, secrets))
        found = prior_vulnerability(gain, prior), posterior_vulnerability(gain, prior, channel), min_capacity(channel)
        assert found == pytest.approx(by_libqif(gain.tolist(), prior.tolist(), channel.tolist()), abs=1e-12)
        # A posterior is such a channel seen from behind, and bounded by its capacity.
        joint = prior[:, None] * channel
        counts = np.round(1e6 * joint.sum(axis=0)) + 1
        posterior = (joint / joint.sum(axis=0)).T
        leak = leakage(gain, posterior, counts)
        pi, behind = channel_of(posterior, counts)
        assert (leak.prior, leak.posterior) == pytest.approx(by_libqif(gain, pi, behind)[:2])
        assert leak.posterior <= leak.prior * 2 ** min_capacity(behind) + 1e-9  # the miracle theorem


def test_capacities_of_channels_that_tell_all_and_nothing() -> None:
    assert min_capacity(np.eye(4)) == 2
    assert min_capacity(np.full((4, 3), 1 / 3)) == 0
    prior, channel = channel_of(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), np.array([3, 1]))
    assert prior.tolist() == [0.75, 0.25, 0.0]
    assert channel.tolist() == [[1.0, 0.0], [0.0, 1.0]]  # a class that nobody can have is no secret


@pytest.mark.parametrize("counts", [[1, 2, 3, 4, 5], [1, 1, 2, 1, 3, 1, 2], [2, 3, 1, 1, 4, 1, 1, 1, 3]])
@pytest.mark.parametrize("classes", [2, 3, 5, 7])
def test_nothing_disclosed_is_no_negative_zero(counts: list[int], classes: int) -> None:
    posterior, people = np.full((len(counts), classes), 1 / classes), np.array(counts)
    gain = gain_over_prior(posterior, people)
    for found in (min_capacity(channel_of(posterior, people)[1]), gain.additive, gain.entropy_reduction):
        assert f"{found:.4f}" == "0.0000"
    assert leakage(np.eye(classes), posterior, people).additive == 0


def test_a_gain_matrix_of_guessing_is_bayes_vulnerability(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "gain.csv"
    path.write_text("guess,>50K,<=50K\nlow,0,1\nhigh,1,0\n", encoding="utf-8")
    found = json.loads(printed_by(capsys, ["estimate", *FILES, *TRUTH, "--gain", str(path), "--json"]).out)
    assert found["leakage"]["posterior"] == pytest.approx(found["disclosure"]["bayes_vulnerability"])
    assert found["leakage"]["prior"] == pytest.approx(found["baseline"]["base_rate"])
    assert found["leakage"]["realised"] == pytest.approx(found["truth"]["right_guesses"])
    assert found["leakage"]["multiplicative"] == found["leakage"]["posterior"] / found["leakage"]["prior"]
    assert 0 < found["min_capacity"] <= 1
    assert main(["estimate", *FILES, "--gain", str(path)]) == 0
    assert (
        "gain of the best guesses 0.7551, 0.5455 by the base rate, 1.384 times as much, 0.5000 of a uniform guess"
        in capsys.readouterr().out
    )
    report = tmp_path / "report.html"
    assert main(["compare", FILES[0], *FILES, "--gain", str(path), "--report", str(report)]) == 0
    assert capsys.readouterr().out.count("gain of the best guesses 0.7551, 0.5455 by the base rate") == 2
    rows = json.loads(printed_by(capsys, ["compare", FILES[0], *FILES, "--gain", str(path), "--json"]).out)["releases"]
    assert [row["leakage"]["uniform"] for row in rows] == [pytest.approx(0.5)] * 2
    page = report.read_text(encoding="utf-8")
    assert "By the gain matrix</h3>" in page
    assert "Without the release: 0.5455 by the base rate, 0.5000 of a uniform guess." in page
    for text, said in (("guess,>50K\nlow,0\n", "'<=50K'"), ("<=50K,>50K\n1,-1\n", "a gain of at least 0")):
        path.write_text(text, encoding="utf-8")
        assert main(["estimate", *FILES, "--gain", str(path)]) == 2
        assert said in capsys.readouterr().err.replace("<=50K: ", "'<=50K': ")


def stakes_people() -> pd.DataFrame:
    """Of a leaf of five, all are well; of one of four, three are ill; of one of two, both are dead."""
    rows = [("a", "well")] * 5 + [("b", "ill")] * 3 + [("b", "well")] + [("c", "dead")] * 2
    return pd.DataFrame(rows, columns=["q", "T"])


def test_limits_are_about_sensitive_classes_alone(tmp_path: Path, capsys: Any) -> None:
    frame = stakes_people()
    release = maxent.defend(frame, target="T", qi=["q"], method="none", max_depth=3).release
    ill = maxent.estimate(release, frame[["q"]], frame, sensitive="ill")
    assert ill.sensitive is not None
    found = ill.sensitive.measures
    assert (found["certain"], found["pure"], found["individuals"]) == (0, 0, 3)
    assert (found["max_posterior"], found["right_guesses"]) == (pytest.approx(0.75), 1.0)
    assert found["base_rate"] == 0.0  # most people are well: who always says so finds nobody
    assert found["bayes_vulnerability"] == pytest.approx(1.0)
    assert found["divergence"] == pytest.approx(0, abs=1e-6)
    both = maxent.estimate(release, frame[["q"]], sensitive=["ill", "dead"]).sensitive
    assert both is not None
    assert (both.measures["certain"], both.measures["right_guesses"]) == (2, None)
    release.save(tmp_path / "tree.json")
    frame.to_csv(tmp_path / "truth.csv", index=False)
    frame[["q"]].to_csv(tmp_path / "qi.csv", index=False)
    files = [str(tmp_path / name) for name in ("tree.json", "qi.csv")]
    truth, limit = ["--truth", str(tmp_path / "truth.csv")], ["--max-certain", "0", "--enforce"]
    for call in (["compare", *files], ["estimate", *files, *truth]):
        assert main([*call, *limit]) == 3
        assert main([*call, *limit, "--sensitive", "ill"]) == 0
        assert main([*call, *limit, "--sensitive", "ill,dead"]) == 3
        assert "all classes (beside): individuals whose class is certain 7" in capsys.readouterr().out
    review = ["review", files[0], truth[1], "--target", "T", "--qi", "q", *limit, "--sensitive"]
    assert (main([*review, "ill"]), main([*review, "dead"])) == (0, 3)
    audit = ["audit", *files, *limit, "--sensitive"]
    assert (main([*audit, "ill"]), main([*audit, "dead"])) == (4, 3)
    capsys.readouterr()
    report = str(tmp_path / "report.html")
    assert main(["estimate", *files, *truth, "--sensitive", "ill", "--json", "--report", report]) == 0
    assert json.loads(capsys.readouterr().out)["sensitive"]["classes"] == ["ill"]
    assert main(["estimate", *files, *truth, "--sensitive", "ill", "--max-certain", "0", "--report", report]) == 0
    text = Path(report).read_text(encoding="utf-8")
    for said in ("<h3>ill alone</h3>", "Stated limits and what was found, about ill alone", "all classes: 7"):
        assert said in text


def test_a_class_that_is_none_is_refused() -> None:
    with pytest.raises(
        InvalidInput, match=r"expected classes of 'Salary' \('<=50K', '>50K'\), found '>50k'; did you mean"
    ):
        maxent.estimate(*FILES, sensitive=">50k")
    refused("sensitive: expected classes", maxent.estimate, *FILES, sensitive=[])
