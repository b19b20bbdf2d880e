"""A constraint that is only just met, with no slack and no multiplier, must not keep the answer away from it."""

import pandas as pd
import pytest

import maxent
from maxent.models.formats.maxent_json.read import parse_release

TARGET = {"name": "X", "classes": ["c", "d"]}
A = {"name": "A", "type": "categorical", "values": ["u", "v"]}
P = {"name": "P", "type": "categorical", "values": ["1", "2", "3"], "role": "private"}


def estimate(nodes, qi, **options):
    document = {"format": "maxent/1", "target": TARGET, "attributes": [A, P], "trees": [{"nodes": nodes}]}
    return maxent.estimate(parse_release(document, "test"), qi, **options)


@pytest.mark.parametrize("presolve", [True, False])
def test_a_label_that_the_uniform_distribution_just_meets(presolve):
    nodes = [
        {"id": "N", "attribute": "P", "branches": [{"in": [v], "child": v} for v in "123"]},
        {"id": "1", "label": "c"},
        {"id": "2", "label": "c", "error_rate": 0},
        {"id": "3", "label": "c", "error_rate": 0.5},
    ]
    result = estimate(nodes, pd.DataFrame({"A": ["u"] * 6}), rounding="exact", presolve=presolve)
    # Five bins are free: c and d of leaves 1 and 3, and c of leaf 2; with equal masses every statement holds.
    assert result.summary["certificate"] == "global"
    assert result.probabilities[0] == pytest.approx([3 / 5, 2 / 5], abs=1e-7)


@pytest.mark.parametrize("presolve", [True, False])
def test_a_marginal_that_labels_just_meet(presolve):
    nodes = [
        {"id": "N", "attribute": "A", "branches": [{"in": ["u"], "child": "L"}, {"in": ["v"], "child": "M"}]},
        {"id": "L", "label": "c"},
        {"id": "M", "label": "d"},
    ]
    marginal = pd.DataFrame({"X": ["c", "d"], "count": [2, 2]})
    qi = pd.DataFrame({"A": ["u", "u", "v", "v"]})
    result = estimate(nodes, qi, knowledge="label,marginal", marginal=marginal, presolve=presolve)
    assert result.probabilities == pytest.approx(0.5, abs=1e-7)
