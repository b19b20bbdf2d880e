"""Estimates of pruned trees whose comparisons can be met only with the right classes ahead in removed leaves."""

import pytest
from papers.wakabayashi_2024.protocol import ADULT, DEPTH, PRUNE
from test_real.instances import data_folder

import maxent


@pytest.mark.slow
@pytest.mark.parametrize("k", [31, 41, 51])
def test_a_point_that_meets_the_comparisons_is_found_without_more_starts(k: int) -> None:
    data_folder()
    people = ADULT.frame.iloc[ADULT.split(9)[0]].reset_index(drop=True)
    release = PRUNE["prune-leaf"](ADULT.grow(DEPTH, 9), k)
    found = maxent.estimate(release, people.drop(columns="class"), people, jobs=1).summary
    assert found["status"] == "optimal"
    assert found["max_violation"] <= 1e-9
