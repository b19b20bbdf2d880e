"""The registry of measures: what is entered there is in texts, JSON, tables, sweeps, plots, the report and the docs."""

import csv
import json
import re
from dataclasses import replace

import pandas as pd
import pytest
from matplotlib.figure import Figure
from support.paths import D1, ROOT

import maxent
from maxent.__main__ import main
from maxent.disclosure.registry import MEASURES, Measure

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
    assert main(["estimate", *FILES]) == 0
    assert f"second largest posterior {value:.3f}" in capsys.readouterr().out
    assert main(["estimate", *FILES, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["disclosure"]["second"] == pytest.approx(value)


def test_a_new_measure_is_in_every_form_of_a_comparison(value, capsys, tmp_path):
    call = ["compare", FILES[0], FILES[0], "--qi", FILES[1]]
    assert main([*call, "-o", str(tmp_path / "rows.csv")]) == 0
    [line] = (line for line in capsys.readouterr().out.splitlines() if line.startswith("second largest posterior"))
    assert line.split()[-2:] == [f"{value:.3f}"] * 2
    with open(tmp_path / "rows.csv", encoding="utf-8", newline="") as file:
        assert [float(row["second"]) for row in csv.DictReader(file)] == pytest.approx([value, value])
    assert main([*call, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["releases"]
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
    assert "Surest guess about anybody else" in text
    assert "How sure the second guess about a Salary is." in text
    assert f"{value:.3f}" in text


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
