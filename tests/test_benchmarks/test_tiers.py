"""How Table 2 of Yang et al. (2019) is measured (papers/yang_2019/tiers.py), against tables worked out by hand."""

import numpy as np
import pandas as pd
import pytest
from papers.yang_2019 import tiers

from maxent.models.defenses.generalization import uniform
from maxent.models.release import Attribute
from maxent.models.tables.training import read_training


def test_names_are_alike_when_boxes_are():
    ranges, others = np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([[2.0, 3.0], [0.0, 3.0]])
    ((attribute, train, test),) = tiers.names(Attribute("a", "numeric"), ranges, [0, 1, 1], others, [0, 1])
    assert train[1] == train[2] == test[0]
    assert len({train[0], train[1], test[1]}) == 3
    assert len(attribute.values) == 3


def test_ends_are_numbers_and_members_of_sets():
    (low, high) = tiers.ends(Attribute("a", "numeric"), np.array([[0.0, 1.0]]), [0, 0], np.array([[2.0, 3.0]]), [0])
    assert [low[1].tolist(), high[1].tolist()] == [[0, 0], [1, 1]]
    assert [low[2].tolist(), high[2].tolist()] == [[2], [3]]
    sets = np.array([[True, False]])
    first, second = tiers.ends(Attribute("a", values=("x", "y")), sets, [0], ~sets, [0])
    assert [*first[1], *second[1], *first[2], *second[2]] == [1, 0, 0, 1]


def test_sets_grow_to_the_groups_of_a_hierarchy():
    """Two races are all races; two work classes of the government are all of these, of one and self-employed any."""
    people = pd.DataFrame(
        {
            "race": ["White", "Black", "White", "White"],
            "workclass": ["Federal-gov", "State-gov", "Local-gov", "Private"],
            "class": list("abab"),
        }
    )
    training = read_training(people, target="class", qi=["race", "workclass"])
    alone = uniform(training, np.arange(4), 1)
    assert tiers.hierarchical_gcp(alone) == alone.gcp() == 0
    table = uniform(training, np.array([0, 0, 1, 1]), 2)
    assert table.gcp() == pytest.approx((1 + 0 + 0.5 + 0.5) / 4)
    assert tiers.hierarchical_gcp(table) == pytest.approx((1 + 0 + 0.75 + 1) / 4)


def test_a_cut_that_tells_nothing_is_not_made():
    frame = pd.DataFrame({"x": [0, 1, 2, 3], "c": list("aaaa")})
    training = read_training(frame, target="c", qi=["x"])
    leaves = [len(tiers.PARTITIONS[name](training, 1).trees[0].leaves) for name in ("gain", "positive gain", "median")]
    assert leaves == [4, 1, 4]
