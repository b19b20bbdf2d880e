"""Worlds counted and sampled against every world there is, and witnesses against the statements."""

import math
from concurrent.futures import Executor
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.brute_force import dense, releases
from support.enumerated import enumerated
from support.strategies import Case, owners_of, thorough

from maxent.constraints.compiler import compile_program
from maxent.constraints.program.program import Program
from maxent.constraints.program.residuals import Evaluator
from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree
from maxent.models.tables.qi_table import read_qi
from maxent.solvers.certainty.levels import prove
from maxent.solvers.certainty.weighing import WeighedWorlds as Weighed
from maxent.solvers.certainty.weighing import agreement, weigh
from maxent.solvers.certainty.witness import NoWitness, Witness, witness
from maxent.solvers.control import Clock
from maxent.solvers.worlds.settle import Patience, two_here


def patience() -> Patience:
    return Patience.of(Clock(100.0))


def weighed_there(program: Program, low: Any, high: Any, options: dict[str, Any]) -> Weighed:
    return weigh(program, low, high, patience(), run=two_here, **options)


def witnessed_there(program: Program, low: Any, high: Any) -> Witness:
    return witness(program, low, high, patience(), two_here)


def check(other: Executor, case: Case, **options: Any) -> tuple[Weighed, Any, Any]:
    """What was weighed, the posterior of all worlds in the same order, and their number's logarithm."""
    problem = dense(case)
    worlds = enumerated(problem)
    assume(worlds is not None)
    program = compile_program(case.release, read_qi(case.people.qi, case.release), rounding="exact")
    linear = prove(program, "closed", Clock()).bounds
    found = other.submit(weighed_there, program, linear.low, linear.high, options).result()
    expected = np.empty(found.posterior.shape)
    expected[owners_of(program, problem.q)] = worlds.posterior()
    orders = sum(math.lgamma(w + 1) for w in program.table.counts.tolist())
    return found, expected, orders + np.log(np.exp(worlds.ways - worlds.ways.max()).sum()) + worlds.ways.max()


CASES = st.one_of(
    releases(False, (2, 2), ("rate", "counts", "all", "mixture")),
    releases(False, (3, 3), ("rate", "label", "counts", "mixture")),
    releases(True, (2, 3), ("rate", "rate and n", "counts", "mixture")),
)


def check_counted(other: Executor, case: Case) -> None:
    """Whether worlds are counted, and weighed, as brute force does."""
    found, expected, logarithm = check(other, case)
    assert found.counted.all()
    np.testing.assert_allclose(found.posterior, expected, atol=1e-12)
    assert found.log_number == pytest.approx(logarithm, abs=1e-9)


@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@given(case=CASES)
def test_worlds_are_counted(other: Executor, case: Case) -> None:
    check_counted(other, case)


@pytest.mark.slow
@thorough(300)
@given(case=CASES)
def test_worlds_are_counted_many_times(other: Executor, case: Case) -> None:
    check_counted(other, case)


@pytest.mark.slow
@thorough(6)
@given(case=CASES)
def test_what_chains_agree_on_is_what_counting_tells(other: Executor, case: Case) -> None:
    found, expected, _ = check(other, case, most=0, draws=400)
    agreed = (found.r_hat < 1.02) & (found.effective > 200)
    sure = np.where(agreed, 5 * 0.5 / np.sqrt(np.maximum(found.effective, 1.0)) + 0.01, np.inf)
    assert (np.abs(found.posterior - expected)[agreed] <= sure[agreed]).all()


def leaves() -> Program:
    """Two trees over six values that overlap: swaps within a leaf of both, and swaps of swaps between leaves."""
    values = tuple("abcdef")
    people = pd.DataFrame({"A": [v for v in values for _ in range(3)]})
    trees = []
    for t, (left, n) in enumerate(((values[:3], 4), (values[1:5], 5))):
        right = tuple(v for v in values if v not in left)
        root = Node(f"N{t}", "A", (Branch(f"L{t}", left), Branch(f"R{t}", right)))
        total = 8
        nodes = [
            Node(f"L{t}", counts={"x": n, "y": 3 * len(left) - n}),
            Node(f"R{t}", counts={"x": total - n, "y": 3 * len(right) - total + n}),
        ]
        trees.append(Tree((root, *nodes)))
    release = Release(Target("Y", ("x", "y")), (Attribute("A", values=values),), tuple(trees))
    return compile_program(release, read_qi(people, release))


def test_chains_find_what_counting_does(other: Executor) -> None:
    program = leaves()
    bounds = prove(program, "closed", Clock()).bounds
    exact = weigh(program, bounds.low, bounds.high, patience())
    found = other.submit(weighed_there, program, bounds.low, bounds.high, {"most": 0, "draws": 300}).result()
    assert exact.counted.all()
    assert not found.counted.any()
    assert found.log_number is None
    assert (found.r_hat < 1.05).all()
    assert (found.effective > 100).all()
    np.testing.assert_allclose(found.posterior, exact.posterior, atol=0.05)


def test_worlds_of_a_leaf_are_counted_whatever_its_size() -> None:
    people = pd.DataFrame({"A": ["x"] * 6_000 + ["y"] * 30, "B": (["u", "v", "v"] * 2_010)})
    root = Node("N", "A", (Branch("L", ("x",)), Branch("R", ("y",))))
    nodes = (root, Node("L", counts={"a": 1_000, "b": 5_000}), Node("R", counts={"a": 7, "b": 23}))
    attributes = Attribute("A", values=("x", "y")), Attribute("B", values=("u", "v"))
    release = Release(Target("Y", ("a", "b")), attributes, (Tree(nodes),))
    program = compile_program(release, read_qi(people, release))
    bounds = prove(program, "closed", Clock()).bounds
    found = weigh(program, bounds.low, bounds.high, patience())
    assert found.counted.all()
    assert found.log_number == pytest.approx(math.log(math.comb(6_000, 1_000)) + math.log(math.comb(30, 7)))
    at_x = program.table.frame()["A"].to_numpy() == "x"
    np.testing.assert_allclose(found.posterior[:, 0], np.where(at_x, 1 / 6, 7 / 30), atol=1e-12)


def test_agreement_of_independent_and_of_different_chains() -> None:
    same = np.random.default_rng(0).standard_normal((4, 500, 2))
    apart = same + np.arange(4)[:, None, None]
    r_hat, effective = agreement(np.concatenate([same, apart, np.ones((4, 500, 1))], axis=2))
    assert (r_hat[:2] < 1.01).all()
    assert (effective[:2] > 1500).all()
    assert (r_hat[2:4] > 1.3).all()
    assert (effective[2:4] < 100).all()
    assert r_hat[4] == 1


def test_witnesses_satisfy_every_statement_and_differ(other: Executor) -> None:
    program = leaves()
    bounds = prove(program, "closed", Clock()).bounds
    found = other.submit(witnessed_there, program, bounds.low, bounds.high).result()
    for masses in (found.one, found.other):
        assert Evaluator(program).max_violation(masses.astype(float)) <= 1e-9
        assert masses.sum(axis=1).tolist() == program.weight.tolist()
    assert (found.one != found.other).any(axis=1).sum() >= 4


def test_without_a_world_there_is_no_witness(other: Executor) -> None:
    program = leaves()
    contradiction = np.array([[0.0, 0.0]] * 6), np.array([[1.0, 1.0]] * 6)
    with pytest.raises(NoWitness, match="there is none"):
        other.submit(witnessed_there, program, *contradiction).result()
