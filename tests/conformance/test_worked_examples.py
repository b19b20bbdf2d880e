"""The papers' worked examples, to their exact numbers, by every back end."""

import numpy as np
import pytest
from conformance.answers import estimate
from support.paths import EXAMPLES

D1, D2 = EXAMPLES / "d1", EXAMPLES / "d2"

D1_ANSWERS = [
    # Zhu & Du (2010), example 1: knowledge, options, P(<=50K | first quasi-identifier), overall divergence
    ("label", {}, 0.5, 0.441094),
    ("label,rate", {}, None, 0.126027),
    (None, {"impurity": "gini"}, 0.646447, 0.079321),
    (None, {"impurity": "entropy"}, 0.653009, 0.077484),
]


@pytest.mark.parametrize(("knowledge", "options", "probability", "divergence"), D1_ANSWERS)
def test_eleven_people(backend, knowledge, options, probability, divergence):
    found = estimate(D1 / "tree.json", D1 / "qi.csv", backend, truth=D1 / "truth.csv", knowledge=knowledge, **options)
    assert found.summary["status"] == "optimal"
    assert found.summary["certificate"] == "global"
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
