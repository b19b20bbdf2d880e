"""Statements that contradict each other, or the table: reconciled, named, and never silently."""

import copy
import json

import numpy as np
import pandas as pd
import pytest
from support.documents import release_document
from support.paths import D1
from support.programs import whole

import maxent
from maxent.models.formats.maxent_json.read import parse_release
from maxent.solvers.backend import Options
from maxent.solvers.backends.auto import AutoBackend
from maxent.solvers.backends.ipopt_ import IpoptBackend
from maxent.solvers.solution import Stop
from maxent.solvers.solve import attempt


@pytest.fixture
def document():
    return json.loads((D1 / "tree.json").read_text(encoding="utf-8"))


@pytest.fixture
def qi():
    return pd.read_csv(D1 / "qi.csv")


def node(document, id_):
    return next(n for n in document["trees"][0]["nodes"] if n["id"] == id_)


def named(result):
    return {c.origin.node or c.origin.place for c in result.contradictions}


def test_a_table_of_other_people(document, qi):
    for n in document["trees"][0]["nodes"]:
        n.pop("n", None)
    node(document, "L1")["n"] = 5
    result = maxent.estimate(parse_release(document, "d1"), qi)
    assert result.summary["status"] == "inconsistent"
    assert result.summary["contradictions"] == [
        {
            "origin": "leaf L1",
            "says": "5 records, but 2 individuals of the table reach it",
            "amount": 3.0,
            "unit": "individuals",
        }
    ]


def test_facts_against_a_pure_leaf_name_the_line(document, qi):
    facts = pd.DataFrame({"Education": ["Masters"], "Country": ["Canada"], "Gender": ["Male"], "Salary": [">50K"]})
    result = maxent.estimate(parse_release(document, "d1"), qi, facts=facts)
    assert result.summary["status"] == "inconsistent"
    assert any("facts" in origin or origin == "L3" for origin in named(result))


def test_facts_against_the_choice_of_a_split_name_the_node(document, qi):
    # Were q1 the one above 50K, Gender would have been the better split at N2.
    facts = pd.DataFrame({"Education": ["Masters"], "Country": ["USA"], "Gender": ["Female"], "Salary": [">50K"]})
    result = maxent.estimate(parse_release(document, "d1"), qi, facts=facts)
    assert result.summary["status"] == "inconsistent"
    assert "N2" in named(result)


def test_facts_that_agree_are_used(document, qi):
    facts = pd.DataFrame({"Education": ["Masters"], "Country": ["USA"], "Gender": ["Female"], "Salary": ["<=50K"]})
    result = maxent.estimate(parse_release(document, "d1"), qi, facts=facts)
    assert result.reliable
    row = result.posterior.query("Education == 'Masters' and Country == 'USA' and Gender == 'Male'")
    assert row["P(>50K)"].item() == pytest.approx(1.0, abs=1e-6)


def test_a_wrong_marginal(document, qi):
    marginal = pd.DataFrame({"Salary": ["<=50K", ">50K"], "count": [8, 3]})
    result = maxent.estimate(parse_release(document, "d1"), qi, marginal=marginal)
    assert result.summary["status"] == "inconsistent"
    assert result.summary["contradictions"]


def test_a_marginal_that_agrees_is_used_and_counted(document, qi):
    marginal = pd.DataFrame({"Salary": ["<=50K", ">50K"], "count": [5, 6]})
    result = maxent.estimate(parse_release(document, "d1"), qi, knowledge="label,marginal", marginal=marginal)
    assert result.reliable
    assert result.summary["constraints"]["marginal"] == 2
    mean = (result.probabilities * result.program.table.counts[:, None]).sum(axis=0)
    assert mean == pytest.approx([5, 6], abs=1e-6)


def test_rates_rounded_to_three_digits_are_no_contradiction():
    document = release_document(
        "X",
        ["a", "b"],
        {"A": ["u", "v"]},
        [
            {"id": "N", "attribute": "A", "branches": [{"in": ["u"], "child": "L"}, {"in": ["v"], "child": "M"}]},
            {"id": "L", "label": "a", "error_rate": 0.333},
            {"id": "M", "label": "b", "error_rate": 0.143},
        ],
    )
    qi = pd.DataFrame({"A": ["u"] * 3 + ["v"] * 7})
    result = maxent.estimate(parse_release(document, "rounded"), qi)
    assert result.reliable
    assert result.posterior["P(a)"].tolist() == pytest.approx([2 / 3, 1 / 7], abs=1e-12)
    assert "3 digits" in result.notes[0]
    exact = maxent.estimate(parse_release(copy.deepcopy(document), "exact"), qi, rounding="exact")
    assert exact.posterior["P(a)"].tolist() == pytest.approx([0.667, 0.143], abs=1e-12)


def stump(attribute, values):
    """A tree of two leaves of 100 people, of whom 90 have the first class here, and 10 there."""
    leaves = [
        {"id": f"{attribute}{v}", "counts": {"a": n, "b": 100 - n}} for v, n in zip(values, (90, 10), strict=True)
    ]
    branches = [{"in": [v], "child": f"{attribute}{v}"} for v in values]
    return {"nodes": [{"id": attribute, "attribute": attribute, "branches": branches}, *leaves]}


def test_trees_against_each_other_are_proved_to_be_before_other_back_ends_look(monkeypatch):
    """Where both branches of 90 meet are at most 50 of them: 40 of each are left for a branch of 10, 30 too many."""
    attributes = {"A": ["u", "v"], "B": ["x", "y"]}
    forest = release_document(
        "X", ["a", "b"], {a: v for (a, v) in attributes.items()}, *(stump(a, v) for (a, v) in attributes.items())
    )
    people = pd.DataFrame([{"A": a, "B": b} for a in "uv" for b in "xy"] * 50)
    monkeypatch.setattr(IpoptBackend, "solve", None)
    release = parse_release(forest, "forest")
    program = whole(release, people)[1].program
    found = AutoBackend().solve(program, np.full(program.n, 25.0), Options())
    assert (found.stop, found.contradiction) == (Stop.INFEASIBLE, True)
    monkeypatch.setattr(attempt, "FEW", 0)  # as where programs are large
    result = maxent.estimate(release, people)
    assert result.summary["status"] == "inconsistent"
    assert sum(found["amount"] for found in result.summary["contradictions"]) == pytest.approx(60)
