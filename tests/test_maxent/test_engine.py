"""The Python interface: wrong options are refused like wrong files, and results cannot be changed."""

import pytest
from support.paths import D1

import maxent


def estimate(**options):
    return maxent.estimate(D1 / "tree.json", D1 / "qi.csv", **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"impurity": "ginni"}, "impurity: expected one of gini, entropy, gain_ratio, found 'ginni'"),
        ({"knowledge": "labels"}, "knowledge: expected any of label, rate, counts, marginal, internal, found 'labels'"),
        ({"knowledge": 3}, "knowledge: expected a string or strings"),
        ({"rounding": "up"}, "rounding: expected one of auto, digits, exact, found 'up'"),
        ({"confidence": 1.0}, "confidence: expected a probability between 0 and 1, found 1.0"),
        ({"tolerance": "x"}, "tolerance: expected a number between 0 and 1, found 'x'"),
        ({"starts": 0}, "starts: expected a whole number of at least 1, found 0"),
        ({"seed": -1}, "seed: expected a whole number of at least 0, found -1"),
        ({"top": 0}, "top: expected a whole number of at least 1, found 0"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(maxent.InvalidInput) as refused:
        estimate(**options)
    assert message in str(refused.value)


def test_views_are_copies():
    result = estimate(knowledge="label,rate")
    table = result.posterior
    table.iloc[0, 3] = 99
    result.summary["disclosure"]["certain"] = -1
    assert result.posterior.iloc[0, 3] == 1
    assert result.summary["disclosure"]["certain"] == 5
    with pytest.raises(AttributeError):
        result.backend = "other"


def test_names_are_loaded_when_used():
    assert "estimate" in dir(maxent)
    with pytest.raises(AttributeError, match="no attribute 'estimates'"):
        maxent.estimates  # noqa: B018
