"""The attacks on trees of real data: the published numbers, and those counted on the records."""

from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from test_real.instances import INCOME_QI, NURSERY_QI, data_folder, table

import maxent
from maxent.api.audit import audit_release
from maxent.models.defenses.pruning import prune_leaf
from maxent.models.induction.inducers import cart

NUMERIC = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]


def test_nursery_at_depth_5_has_the_homogeneous_leaves_that_were_published():
    """Waseda et al. (2025), Table A1: 5217.0 individuals in 4.9 leaves on average over ten splits and trees."""
    nursery = table("nursery.csv")
    found = []
    for seed in range(10):
        train, _ = train_test_split(nursery, test_size=0.2, random_state=seed)
        release = cart(train, target="assessment", qi=NURSERY_QI, max_depth=5, seed=seed)
        found.append(maxent.audit(release)["homogeneity"])
    assert np.mean([row["individuals"] for row in found]) == 5217.0
    assert np.mean([row["leaves"] for row in found]) == 4.9


def test_adult_is_attacked_as_its_records_are():
    people = table("adult.csv")
    names = [name for name in people.columns if name in INCOME_QI or name in NUMERIC]
    release = cart(people, target="class", qi=names, max_depth=9, seed=0, inner_counts=True)
    found = audit_release(release, people)
    leaf = pd.Series(found.individuals["leaf"].to_numpy(), index=pd.MultiIndex.from_frame(found.individuals[names]))
    of_record = leaf.reindex(pd.MultiIndex.from_frame(people[names])).to_numpy()
    counts = pd.crosstab(of_record, people["class"].to_numpy())
    n, most = counts.sum(axis=1), counts.max(axis=1)
    assert found.summary["leaves"] == len(counts)
    assert found.summary["uniqueness"]["leaves"] == (n == 1).sum() > 0
    assert found.summary["homogeneity"]["leaves"] == (n == most).sum() > 0
    assert found.summary["homogeneity"]["individuals"] == n[n == most].sum() == found.summary["spans"]["exposed"]
    assert found.summary["background"]["leaves"] == (n - most <= 1).sum()
    assert found.summary["spans"]["count"] == len(counts)
    assert found.summary["spans"]["min_population"] == n.min()
    pruned = prune_leaf(release, 6)
    assert maxent.audit(pruned)["recovered"] == []
    assert maxent.audit(pruned)["homogeneity"]["leaves"] == ((n == most) & (n > 5)).sum() > 0
    with_counts = replace(pruned, trees=(_with_counts_of(pruned.trees[0], release.trees[0]),))
    shown = maxent.audit(with_counts)
    assert shown["differencing"]["removed"] == (n <= 5).sum() > 0
    alone = [row for row in shown["recovered"] if row["counts"] is not None]
    together = [leaf for group in shown["groups"] for leaf in group["leaves"]]
    assert len(alone) + len(together) == (n <= 5).sum()
    given_away = sum(row["n"] for row in alone) + sum(group["n"] for group in shown["groups"])
    assert given_away == n[n <= 5].sum()


def _with_counts_of(tree, original):
    """The tree with the numbers that inner nodes had before."""
    before = {node.id: node for node in original.nodes}
    nodes = tuple(node if node.is_leaf else replace(node, counts=before[node.id].counts) for node in tree.nodes)
    return replace(tree, nodes=nodes)


def test_leaves_that_surrogates_part_are_attacked_as_those_of_rpart():
    model = data_folder() / "models" / "rpart_nasty_surrogates"
    release = maxent.convert(model, train=model / "train.csv", target="class")
    own = pd.read_csv(model / "leaves.csv", index_col="leaf").sum(axis=1)
    found = audit_release(release, model / "train.csv")
    assert found.summary["leaves"] == len(own) < len(release.trees[0].leaves)
    assert found.summary["spans"]["min_population"] == own.min() > 10
    assert found.summary["uniqueness"] == {"leaves": 0}
    leaves = found.leaves
    sizes = leaves.groupby(leaves["part_of"].fillna(leaves["leaf"]))["n"].unique()
    assert {int(leaf): n.tolist() for leaf, n in sizes.items()} == {leaf: [n] for leaf, n in own.items()}
    assert any("20 leaves are parts" in line for line in found.lines)
