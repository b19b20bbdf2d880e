"""Releases that are true of some people: the answer exists, is found, and claims no more than the truth does."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from support.strategies import SURE, Case, cases, populations, thorough, true_masses

import maxent
from maxent.constraints.program.program import Program
from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree

small = populations(rows=(2, 20), public=(1, 3), private=(0, 1), classes=(2, 3))


def solved(case: Case, **options: object) -> maxent.Estimate:
    return maxent.estimate(case.release, case.people.qi, rounding=case.roundings[0], confidence=SURE, **options)  # type: ignore[arg-type]


def joint(found: maxent.Estimate) -> float:
    """What is maximised: the entropy over classes and leaves."""
    return found.program.entropy(found.outcome.masses)


def true_entropy(case: Case, program: Program) -> float:
    return program.entropy(true_masses(case, program))


@pytest.mark.slow
@thorough(100)
@given(case=cases(small))
def test_every_statement_is_met_with_at_least_the_entropy_of_the_truth(case: Case) -> None:
    found = solved(case)
    assert found.summary["status"] == "optimal", found.notes
    assert found.summary["max_violation"] <= 1e-8
    assert found.contradictions == ()
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1.0, rtol=1e-12)
    assert joint(found) <= found.outcome.entropy_upper_bound + 1e-8
    if found.summary["convex"]:
        assert joint(found) >= true_entropy(case, found.program) - 1e-8


@thorough(50)
@given(case=cases(small))
def test_knowing_less_never_claims_more(case: Case) -> None:
    everything, labels = solved(case), solved(case, knowledge=("label",))
    assume(everything.summary["convex"])
    assert joint(labels) >= joint(everything) - 1e-8


@pytest.mark.slow
@thorough(50)
@given(case=cases(small, trees=(1, 2)))
def test_the_whole_program_in_one_piece_has_the_same_answer(case: Case) -> None:
    quick = solved(case)
    assume(quick.summary["convex"])
    whole = solved(case, presolve=False)
    assert quick.reliable
    assume(whole.reliable)  # without presolve nothing is promised
    gap = abs(joint(quick) - joint(whole))
    assert joint(whole) == pytest.approx(joint(quick), abs=1e-6)
    # The entropy is strongly concave: points that differ by this much of it are at most so far from each other.
    far = 1e-6 + np.sqrt(2 * gap * len(case.people))
    np.testing.assert_allclose(whole.probabilities, quick.probabilities, atol=far, rtol=0)


def test_a_rate_beside_suppressed_counts_counts() -> None:
    """The counts of 2 and 4 are published as 0: only the rate tells."""
    leaf = Node("L", label="a", error_rate=1 / 3, n=6, counts={"c": 0, "a": 0})
    attributes = (Attribute("A", "categorical", ("x", "y")),)
    release = Release(Target("Y", ("c", "a")), attributes, (Tree((leaf,)),), suppressed_below=5)
    found = maxent.estimate(release, pd.DataFrame({"A": ["x"] * 4 + ["y"] * 2}))
    assert found.reliable
    np.testing.assert_allclose(found.probabilities, [[1 / 3, 2 / 3]] * 2, rtol=1e-12)


def test_a_label_that_only_just_holds_costs_no_accuracy() -> None:
    """A rate of one half leaves the label of two classes no room, and the answer stays the uniform one."""
    branches = (Branch("L", values=("x",)), Branch("M", values=("y",)), Branch("O", values=("z",)))
    nodes = (
        Node("N", "P", branches),
        Node("L", label="c", error_rate=0.5),
        Node("M", label="a", error_rate=0.5),
        Node("O", label="c"),
    )
    attributes = (Attribute("A", "categorical", ("x", "y")), Attribute("P", "categorical", ("x", "y", "z"), "private"))
    release = Release(Target("Y", ("c", "a")), attributes, (Tree(nodes),))
    found = maxent.estimate(release, pd.DataFrame({"A": ["x"] * 5 + ["y"] * 3}), rounding="exact")
    assert found.reliable
    np.testing.assert_allclose(found.probabilities, 0.5, rtol=0, atol=2e-6)


@pytest.mark.parametrize("order", [1, -1])
def test_two_trees_may_label_a_tie_differently(order: int) -> None:
    trees = (Tree((Node("L", label="a", error_rate=0.6, n=10),)), Tree((Node("M", label="b", n=10),)))
    release = Release(Target("Y", ("a", "b", "c")), (Attribute("A", "categorical", ("x",)),), trees[::order])
    found = maxent.estimate(release, pd.DataFrame({"A": ["x"] * 10}))
    assert found.reliable
    np.testing.assert_allclose(found.probabilities, [[0.4, 0.4, 0.2]], rtol=1e-9)


@pytest.mark.parametrize(("people", "least"), [(1, 1.0), (2, 0.5), (3, 2 / 3)])
@pytest.mark.promise(number=8)
def test_a_label_beside_suppressed_counts_counts(people: int, least: float) -> None:
    """Counts of 0 that stand for 0 to 2, and a label: no class is more frequent, so of 3 people 2 have it."""
    leaf = Node("L", label="HIV", counts={"no": 0, "HIV": 0})
    attributes = (Attribute("A", values=("u", "v")),)
    release = Release(Target("X", ("no", "HIV")), attributes, (Tree((leaf,)),), suppressed_below=3)
    assert maxent.bounds(release, pd.DataFrame({"A": ["u"] * people})).low[0, 1] == pytest.approx(least)
