"""The experiment of Zhu and Du (2010), section 5: all of Adult, education as the sensitive attribute, 16 classes."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from test_real.instances import ADULT, EDUCATION_QI, table

import maxent
from maxent.api.estimate import compile_release
from maxent.constraints.program.residuals import Evaluator
from maxent.disclosure.measures import conditional_entropy
from maxent.models.induction.inducers import id3
from maxent.models.release import Impurity, Release
from maxent.models.tables.truth_and_facts import read_truth

INDIVIDUALS, DISTINCT, CLASSES = 30_162, 4_480, 16


def people() -> pd.DataFrame:
    return table("adult.csv")[[*EDUCATION_QI, ADULT["TARGET"]]]


@cache
def release(impurity: Impurity, publish: str) -> Release:
    return id3(
        people(),
        target=ADULT["TARGET"],
        qi=EDUCATION_QI,
        impurity=impurity,
        publish=publish,  # type: ignore[arg-type]
        min_samples_split=8,
    )


@pytest.mark.parametrize(("impurity", "entropy"), [("gini", 1.380818), ("entropy", 1.383042)])
def test_with_counts_the_maximum_is_certified(impurity: Impurity, entropy: float) -> None:
    result = maxent.estimate(release(impurity, "counts"), people()[EDUCATION_QI])
    summary = result.summary
    assert (summary["individuals"], summary["distinct_qi"], summary["classes"]) == (INDIVIDUALS, DISTINCT, CLASSES)
    assert summary["constraints"]["internal"] > 1_500
    assert summary["status"] == "optimal"
    assert summary["certificate"] == "global"
    assert summary["entropy"] == pytest.approx(entropy, abs=1e-6)
    assert Evaluator(result.program).max_violation(result.outcome.masses) <= 1e-8
    np.testing.assert_allclose(result.probabilities.sum(axis=1), 1.0, rtol=0, atol=1e-9)


@pytest.mark.parametrize("impurity", ["gini", "entropy"])
def test_with_rates_alone_the_divergence_is_the_entropy_gap(impurity: Impurity) -> None:
    # The truth satisfies these linear equations, for which the divergence to it is H* - H(truth) exactly.
    result = maxent.estimate(release(impurity, "rates"), people()[EDUCATION_QI], people(), knowledge="label,rate")
    truth = read_truth(people(), result.program.release, result.program.table)
    own = conditional_entropy(truth / truth.sum(axis=1, keepdims=True), result.program.table.counts)
    assert result.summary["status"] == "optimal"
    assert result.summary["constraints"]["internal"] == 0
    assert result.summary["divergence"]["overall"] == pytest.approx(result.disclosure.entropy - own, abs=1e-9)


@pytest.mark.parametrize("impurity", ["gini", "entropy", "gain_ratio"])
@pytest.mark.parametrize("publish", ["rates", "counts"])
def test_the_truth_satisfies_every_compiled_constraint(impurity: Impurity, publish: str) -> None:
    published = release(impurity, publish)
    program = compile_release(published, people()[EDUCATION_QI])
    assert not program.contradictions
    assert len(program.cells) == len(program.table) == DISTINCT
    truth = read_truth(people(), published, program.table).astype(np.float64)[program.cells.owner]
    evaluator = Evaluator(program)
    assert evaluator.max_violation(truth) <= 1e-12
    assert evaluator.internal.n_rows > 1_500
    assert evaluator.max_violation(np.roll(truth, 1, axis=1)) > 0.01


@pytest.mark.parametrize(
    ("impurity", "least", "rows", "gap"),
    [("gini", 2.0161, 1_800, 0.005), pytest.param("entropy", 2.0284, 1_800, 0.0005, marks=pytest.mark.slow)],
)
def test_with_rates_and_every_comparison(impurity: Impurity, least: float, rows: int, gap: float) -> None:
    """The program that interior-point methods find hard, to the accuracy and the entropy that were measured for it."""
    result = maxent.estimate(release(impurity, "rates"), people()[EDUCATION_QI], people(), backend="newton")
    evaluator = Evaluator(result.program)
    assert evaluator.internal.n_rows > rows
    assert result.summary["status"] == "optimal"
    assert result.summary["certificate"] == "gap"
    assert evaluator.max_violation(result.outcome.masses) <= 1e-8
    assert least <= result.disclosure.entropy <= result.outcome.entropy_upper_bound
    assert result.outcome.duality_gap <= gap
    assert result.probabilities.min() >= 0
    assert np.isfinite(result.summary["divergence"]["max"])


@pytest.mark.slow
def test_newton_and_ipopt_come_to_the_same_entropy() -> None:
    newton, ipopt = (
        maxent.estimate(release("gini", "rates"), people()[EDUCATION_QI], backend=name) for name in ("newton", "ipopt")
    )
    assert newton.summary["status"] == ipopt.summary["status"] == "optimal"
    assert newton.summary["entropy"] >= ipopt.summary["entropy"] - 1e-6
    assert newton.summary["entropy"] == pytest.approx(ipopt.summary["entropy"], rel=2e-4)
