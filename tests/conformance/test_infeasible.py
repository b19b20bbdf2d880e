"""Statements that contradict each other: every back end's report names them."""

import json

import pandas as pd
import pytest
from conformance.answers import estimate
from support.paths import D1

from maxent.models.formats.maxent_json.read import parse_release


def changed(**nodes):
    """The first example with some of its nodes' statements changed."""
    document = json.loads((D1 / "tree.json").read_text(encoding="utf-8"))
    for node in document["trees"][0]["nodes"]:
        node.update(nodes.get(node["id"], {}))
    return parse_release(document, "changed")


def named(found):
    return {c.origin.node or c.origin.place for c in found.contradictions}


def test_counts_of_a_node_against_the_rates_below(backend):
    release = changed(N1={"counts": {"<=50K": 7, ">50K": 4}})  # the rates below make it 5 and 6
    found = estimate(release, D1 / "qi.csv", backend)
    assert found.summary["status"] == "inconsistent"
    assert found.summary["certificate"] == "none"
    assert "N1" in named(found) or {"L1", "L2"} & named(found)
    assert sum(c.amount for c in found.contradictions) <= 2 + 1e-6
    assert found.probabilities.sum(axis=1) == pytest.approx(1.0)


def test_facts_against_the_tree(backend):
    """One of three people is known to have a class that nobody in their leaf, L4, has."""
    facts = pd.DataFrame({"Education": ["Doctorate"], "Gender": ["Female"], "Salary": ["<=50K"], "count": [1]})
    found = estimate(D1 / "tree.json", D1 / "qi.csv", backend, facts=facts)
    assert found.summary["status"] == "inconsistent"
    assert found.summary["certificate"] == "none"
    assert any("L4" in text or "facts" in text for text in (c["origin"] for c in found.summary["contradictions"]))
    assert sum(c.amount for c in found.contradictions if c.unit == "individuals") == pytest.approx(1.0, abs=1e-4)
