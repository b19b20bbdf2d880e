"""The data sets of Yang et al. (2019), generalised: Table 2, and what its GCP column can be held to."""

import numpy as np
import pandas as pd
import pytest
from papers.yang_2019 import mondrian
from test_real.instances import CONTRACEPTIVE_QI, data_folder, table

from maxent.models.defenses.error_risk import prune_erp
from maxent.models.defenses.generalization import tiered, uniform
from maxent.models.induction.growth import Growth
from maxent.models.induction.inducers import induce
from maxent.models.tables.generalized_records import covering
from maxent.models.tables.training import read_training
from maxent.models.trees.places import assign
from maxent.models.trees.reidentification import ranges_of

KS = (10, 20, 30)
CATEGORICAL = ["isMuslim", "isNotWorking", "husband_occupation", "isNotExposedToMedia"]


def contraceptive():
    """All records: ages, educations, children and the standard of living count as numbers."""
    people = table("contraceptive.csv")
    return read_training(people, target="contraceptive_method_used", qi=CONTRACEPTIVE_QI, categorical=CATEGORICAL)


def adult():
    """The records without missing values."""
    people = pd.read_csv(data_folder() / "adult.csv").drop(columns="fold")
    people = people[~(people == "?").any(axis=1)]
    assert len(people) == 45_222
    return read_training(people, target="class", qi=[name for name in people if name != "class"])


def folds(training, n=10):
    """The training records of each fold of a cross-validation."""
    block = np.random.default_rng(0).permutation(len(training)) % n
    return [training.take(block != fold) for fold in range(n)]


def by_leaves(training, release, k):
    """The records in uniform groups, the leaves of a release."""
    return uniform(training, assign(release.trees[0], training.attributes, training.columns), k)


def pruned(training, grown, k):
    return by_leaves(training, prune_erp(grown, k, ranges=ranges_of(training.attributes, training.columns)), k)


@pytest.mark.parametrize(
    ("load", "groups_10"), [(contraceptive, (20, 60)), pytest.param(adult, (200, 450), marks=pytest.mark.slow)]
)
def test_tiers_lose_less_than_pruned_groups_for_every_k(load, groups_10):
    training = load()
    grown = induce(training, Growth("cart", seed=0))
    fine = [tiered(training, grown, k).gcp() for k in KS]
    coarse = [pruned(training, grown, k) for k in KS]
    assert all(tiers < groups.gcp() for tiers, groups in zip(fine, coarse, strict=True))
    assert fine == sorted(fine)
    assert groups_10[0] <= len(np.unique(coarse[0].box)) <= groups_10[1]


@pytest.mark.parametrize(("k", "printed"), [(10, 0.4174), (20, 0.5136), (30, 0.5771)])
def test_mondrian_is_as_good_as_printed(k, printed):
    """By information gain, without hierarchies; the printed figures are means over other folds."""
    parts = folds(contraceptive())
    found = [by_leaves(part, mondrian.partition(part, k, mondrian.information_gain_cut), k).gcp() for part in parts]
    assert np.mean(found) == pytest.approx(printed, abs=0.03)


@pytest.mark.parametrize(
    ("k", "printed"),
    [(10, 0.4071), pytest.param(20, 0.5127, marks=pytest.mark.slow), pytest.param(30, 0.5602, marks=pytest.mark.slow)],
)
def test_tiers_are_near_the_printed_ones(k, printed):
    """Of a tree with two records in every leaf, as C4.5 has; which tree the paper's tiers are of it does not say."""
    parts = folds(contraceptive())
    found = [tiered(part, induce(part, Growth("cart", min_samples_leaf=2, seed=0)), k).gcp() for part in parts]
    assert np.mean(found) == pytest.approx(printed, abs=0.06)


def test_contraceptive_is_covered():
    """Among all records, not only those that lent to each other."""
    training = contraceptive()
    released = tiered(training, induce(training, Growth("cart", seed=0)), 10)
    everyone = np.arange(len(training))
    rows, records = covering(released, training, everyone, np.zeros_like(everyone))
    assert rows.min() >= 10
    assert records.min() >= 10
    rows = released.frame(in_order=True).drop(columns=training.target.name)
    assert rows.groupby(list(rows)).size().min() < 10
