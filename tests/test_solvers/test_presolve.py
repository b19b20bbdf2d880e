"""Presolve changes how an answer is reached, not the answer."""

import numpy as np
import pytest
from programs import private, public

import maxent


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
