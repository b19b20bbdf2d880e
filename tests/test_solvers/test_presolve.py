"""Presolve changes how an answer is reached, not the answer."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from support.programs import private, public

import maxent
from maxent.constraints.lifting import LiftedProgram, single_point
from maxent.constraints.lifting import LiftedTerms as Terms
from maxent.models.errors import Origin


@pytest.mark.parametrize("impurity", ["gini", "entropy", "gain_ratio"])
@pytest.mark.parametrize(("publish", "classes"), [("counts", "abc"), ("rates", "ab")])
def test_convex_programs_have_the_same_posterior(impurity, publish, classes):
    release, frame = public(impurity, publish, classes)
    quick, whole = (maxent.estimate(release, frame, presolve=presolve) for presolve in (True, False))
    assert quick.reliable
    assert whole.reliable
    assert quick.summary["certificate"] == whole.summary["certificate"] == "global"
    np.testing.assert_allclose(quick.probabilities, whole.probabilities, atol=1e-5)
    assert quick.summary["entropy"] == pytest.approx(whole.summary["entropy"], rel=1e-7)


@pytest.mark.parametrize("impurity", ["gini", "entropy", "gain_ratio"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_elsewhere_the_presolved_entropy_is_not_lower(impurity, seed):
    release, frame = public(impurity, "rates", seed=seed)
    quick, whole = (maxent.estimate(release, frame, presolve=presolve) for presolve in (True, False))
    assert quick.reliable
    assert quick.summary["max_violation"] <= 1e-8
    if whole.reliable:
        assert quick.summary["entropy"] >= whole.summary["entropy"] * (1 - 1e-7)


@pytest.mark.parametrize("impurity", ["gini", "entropy"])
def test_private_splits_are_solved_either_way(impurity):
    release, frame = private(impurity)
    quick, whole = (maxent.estimate(release, frame, presolve=presolve) for presolve in (True, False))
    assert quick.reliable
    assert whole.reliable
    bins = [run.program.entropy(run.outcome.masses) for run in (quick, whole)]
    assert bins[0] >= bins[1] - 1e-7


def test_the_order_of_rows_does_not_matter():
    release, frame = public("gini", "rates")
    shuffled = frame.sample(frac=1.0, random_state=3)
    ours, theirs = maxent.estimate(release, frame), maxent.estimate(release, shuffled)
    np.testing.assert_array_equal(ours.probabilities, theirs.probabilities)


def test_labels_alone_leave_the_uniform_distribution():
    release, frame = public("gini", "labels")
    result = maxent.estimate(release, frame)
    np.testing.assert_allclose(result.probabilities, 1 / 3, rtol=1e-15)
    assert result.summary["solver"]["iterations"] == 0


def test_a_seed_repeats_the_answer_exactly():
    release, frame = public("entropy", "rates")
    runs = [maxent.estimate(release, frame, seed=7, starts=2).probabilities for _ in range(2)]
    np.testing.assert_array_equal(*runs)


def test_interruption_is_not_swallowed():
    release, frame = public("entropy", "rates")

    def interrupt(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        maxent.estimate(release, frame, progress=interrupt)


def on_a_line(const=-0.5):
    """A person of two classes, one with the mass u, in a node with the comparison ``(1 - u^2) / 2 + const >= 0``.

    The aggregates are ``1 + m_0`` and ``3 + m_0`` people, of which only the first is in the comparison.
    """
    row, var, block = np.zeros(4, np.int64), np.array([2, 1, 0, 1]), np.array([0, 0, 1, 1])
    coef, size = np.array([1.0, 1.0, -1.0, -1.0]), np.array([4.0, 4.0, 2.0, 2.0])
    terms = Terms("gini", row, var, coef, size, row - 1, block)
    value = np.array([1.0, 1.0, 3.0])
    return LiftedProgram(
        group=np.zeros(2, np.int64),
        klass=np.arange(2),
        owner=np.zeros(2, np.int64),
        total=np.ones(1),
        mass_weight=np.ones(2),
        lower=np.zeros(4),
        upper=np.array([1.0, 1.0, 2.0, 4.0]),
        matrix=sparse.csr_matrix([[1.0, 1.0, 0.0, 0.0], [-1.0, 0.0, 1.0, 0.0], [-1.0, 0.0, 0.0, 1.0]]),
        row_lower=value,
        row_upper=value,
        terms=(terms,),
        nl_const=np.array([const]),
        nl_size=np.ones(1),
        origins=(None, None, None),
        nl_origins=(Origin("node", "N"),),
    )


def test_a_comparison_that_touches_0_leaves_a_point():
    found = single_point(on_a_line())
    assert found == pytest.approx([1.0, 0.0, 2.0, 4.0], abs=1e-12)


def test_one_that_touches_0_inside_the_line_leaves_a_point():
    program = on_a_line()
    [terms] = program.terms  # now m_0 m_1 - 1 / 4, as 1 - m_0^2 - m_1^2 = 2 m_0 m_1
    inside = replace(terms, var=np.array([0, 1]), coef=-np.ones(2), size=np.ones(2), row=np.zeros(2, np.int64))
    inside = replace(inside, size_var=np.full(2, -1), block=np.zeros(2, np.int64))
    found = single_point(replace(program, terms=(inside,), nl_const=np.array([0.5])))
    assert found == pytest.approx([0.5, 0.5, 1.5, 3.5], abs=1e-7)


@pytest.mark.parametrize("const", [-0.4, -0.49999, -0.50001, -0.6])
def test_one_that_more_points_or_none_satisfy_leaves_none(const):
    assert single_point(on_a_line(const)) is None


def test_one_that_is_0_everywhere_leaves_none():
    program = on_a_line()
    [terms] = program.terms
    level = replace(terms, var=np.array([0, 1, 0, 1]), size=np.ones(4))
    assert single_point(replace(program, terms=(level,), nl_const=np.zeros(1))) is None


def test_without_a_line_there_is_no_point():
    program = on_a_line()
    assert single_point(replace(program, upper=np.array([1.0, 0.0, 2.0, 4.0]))) is None
    assert single_point(replace(program, terms=())) is None
