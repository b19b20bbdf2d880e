"""All back ends say the same of the same problem: one by one against dense solves, and against each other."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from conformance.answers import estimate, random_problem
from conformance.test_degenerate import tree
from hypothesis import given
from scipy.optimize import brentq
from support.brute_force import compare, refusal, releases
from support.paths import D1, EXAMPLES
from support.search import cases
from support.strategies import thorough

import maxent
from maxent.constraints.kinds import registry
from maxent.constraints.kinds.context import Context, Kind
from maxent.constraints.program.program import Linear
from maxent.models.errors import Origin
from maxent.models.formats.maxent_json.read import parse_release
from maxent.solvers.backends.registry import load_backend, usable_backends

SAME = 1e-6  # Largest difference of probabilities (convex programs) and of entropies, nats per individual (others)


@pytest.mark.parametrize("private", [False, True], ids=["public", "private"])
def test_against_brute_force(backend, private):
    @thorough(3)
    @given(case=releases(private, (2, 3), ("rate", "counts", "mixture")))
    def check(case):
        compare(case, starts=3, backend=backend)

    check()


def agree(seeds, limit=None):
    """Every back end's answers to some random problems; those that refuse one are left out there.

    Branch and bound takes minutes to hours for a few of them: it may stop at a limit of so many seconds, and has to say
    so.
    """
    solved = 0
    for seed in seeds:
        release, qi = random_problem(seed)
        limits = {name: limit if _branches(name) else None for name in usable_backends()}
        found = {name: _quietly(release, qi, name, most) for name, most in limits.items()}
        found = {name: answer for name, answer in found.items() if refusal(answer) is None}
        assert {"auto", "ipopt", "newton"} <= set(found)
        stopped = {name for name, answer in found.items() if answer.summary["status"] == "time_limit"}
        assert stopped <= {name for name, most in limits.items() if most}
        found = {name: answer for name, answer in found.items() if name not in stopped}
        best = max(found.values(), key=lambda answer: answer.summary["entropy"])
        for name, answer in found.items():
            where = f"{name} on problem {seed}: {answer.notes}"
            assert answer.summary["max_violation"] <= 1e-8, where
            assert answer.summary["status"] == "optimal", where
            if best.summary["convex"]:
                assert np.abs(answer.probabilities - best.probabilities).max() <= SAME, where
            elif answer.summary["certificate"] == "global" or name in ("auto", "ipopt", "newton"):
                assert answer.summary["entropy"] >= best.summary["entropy"] - SAME, where
        solved += len(found)
    return solved


def _branches(name):
    """Whether a back end is branch and bound."""
    return getattr(load_backend(name), "finds_global", False)


def _quietly(release, qi, backend, limit):
    """An answer, be it none to rely on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", maxent.UnreliableResult)
        return maxent.estimate(release, qi, backend=backend, time_limit=limit)


def test_random_problems():
    assert agree(range(5)) > 5 * 3


@pytest.mark.slow
@pytest.mark.search
def test_many_random_problems():
    assert agree(cases(5, 16, hunted=10), limit=5) > 10 * 3


PLACES = [(a, b) for a in "01" for b in "01"]
# Of the cells, in the order of `PLACES`: no statement of the tree tells those with the same A apart.
WEIGHTS = np.array([1.0, -0.5, 1.0, 0.25])
PEOPLE = (30, 50, 20, 40)


def weighted(total: float, wide: float) -> Kind:
    """The weighted sum of the people of class b, of all quasi-identifiers, is ``total``."""

    def statement(context: Context):
        table = context.table
        rows = [PLACES.index(tuple(table.levels[j][code] for j, code in enumerate(row))) for row in table.codes]
        weights = WEIGHTS[np.array(rows)[context.cells.owner]]
        region = context.region(0, 0)
        inside = weights[context.regions.cells[region]]
        low, high = np.array([total - wide]), np.array([total + wide])
        yield Linear(
            "toy", Origin("toy"), region, np.array([[0.0, 1.0]]), low, high, "a sum", np.stack([inside, inside]).T
        )

    return Kind("toy", "toys: a weighted sum", "1", statement)


@pytest.mark.parametrize("wide", [0.0, 1e-4])
def test_a_weighted_sum_tilts_each_quasi_identifier_by_its_weight(backend, monkeypatch, wide):
    monkeypatch.setitem(registry.KINDS, "toy", weighted(30.0, wide))
    qi = pd.DataFrame([place for place, n in zip(PLACES, PEOPLE, strict=True) for _ in range(n)], columns=["A", "B"])
    found = estimate(tree([{}, {}], classes="ab"), qi, backend)
    share = brentq(lambda t: (WEIGHTS * PEOPLE / (1 + np.exp(-t * WEIGHTS))).sum() - 30.0 + wide, -9, 9)
    expected = dict(zip(PLACES, 1 / (1 + np.exp(-share * WEIGHTS)), strict=True))
    posterior = found.posterior.set_index(["A", "B"])["P(b)"]
    assert (found.summary["status"], found.summary["constraints"]["toy"]) == ("optimal", 1)
    assert {key: posterior[key] for key in expected} == pytest.approx(expected, abs=2e-6)


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
    assert (found.summary["status"], found.summary["certificate"]) == ("inconsistent", "none")
    assert "N1" in named(found) or {"L1", "L2"} & named(found)
    assert sum(c.amount for c in found.contradictions) <= 2 + 1e-6
    assert found.probabilities.sum(axis=1) == pytest.approx(1.0)


def test_facts_against_the_tree(backend):
    """One of three people is known to have a class that nobody in their leaf, L4, has."""
    facts = pd.DataFrame({"Education": ["Doctorate"], "Gender": ["Female"], "Salary": ["<=50K"], "count": [1]})
    found = estimate(D1 / "tree.json", D1 / "qi.csv", backend, facts=facts)
    assert (found.summary["status"], found.summary["certificate"]) == ("inconsistent", "none")
    assert any("L4" in text or "facts" in text for text in (c["origin"] for c in found.summary["contradictions"]))
    assert sum(c.amount for c in found.contradictions if c.unit == "individuals") == pytest.approx(1.0, abs=1e-4)


EXAMPLES_D1, D2 = EXAMPLES / "d1", EXAMPLES / "d2"

D1_ANSWERS = [
    # Zhu & Du (2010), example 1: knowledge, options, P(<=50K | first quasi-identifier), overall divergence
    ("label", {}, 0.5, 0.441094),
    ("label,rate", {}, None, 0.126027),
    (None, {"impurity": "gini"}, 0.646447, 0.079321),
    (None, {"impurity": "entropy"}, 0.653009, 0.077484),
]


@pytest.mark.parametrize(("knowledge", "options", "probability", "divergence"), D1_ANSWERS)
def test_eleven_people(backend, knowledge, options, probability, divergence):
    found = estimate(
        EXAMPLES_D1 / "tree.json",
        EXAMPLES_D1 / "qi.csv",
        backend,
        truth=EXAMPLES_D1 / "truth.csv",
        knowledge=knowledge,
        **options,
    )
    assert (found.summary["status"], found.summary["certificate"]) == ("optimal", "global")
    assert found.summary["divergence"]["overall"] == pytest.approx(divergence, abs=2e-6)
    if probability is not None:
        assert np.abs(found.probabilities - probability).min() < 1e-5
    if knowledge == "label,rate":
        assert found.summary["entropy"] == pytest.approx(0.378080, abs=1e-6)
        assert found.summary["divergence"]["overall"] == pytest.approx(2 / 11 * np.log(2), abs=1e-6)


def test_two_trees(backend):
    found = estimate(D2 / "tree.json", D2 / "qi.csv", backend, truth=D2 / "truth.csv")
    assert found.summary["status"] == "optimal"
    assert found.summary["divergence"]["overall"] == pytest.approx(0.231049, abs=1e-6)
    assert np.abs(found.probabilities - 0.5).min() < 1e-6
