"""Several sensitive columns in parts: the numbers of calls in one piece, of all columns and of each by itself."""

from dataclasses import replace
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from support.parted import same

import maxent
from maxent.api.out_of_core import opened
from maxent.api.out_of_core.folder import links_of
from maxent.models.tables import out_of_core
from maxent.results.reliability import unwarned


def people_and_release(seed):
    """Random people, and a release about two columns: counts, labels or rates, of all or a sample, one tree or two."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 90))
    values = {name: rng.integers(0, size, n) for name, size in (("age", 9), ("job", 3), ("pay", 2), ("ill", 3))}
    people = pd.DataFrame({name: codes if name == "age" else codes.astype(str) for name, codes in values.items()})
    options = {"target": ["pay", "ill"], "qi": ["age", "job"]}
    trees = [
        maxent.defend(people, publish=str(rng.choice(["counts", "labels", "rates"])), **options, **more).release
        for more in ({}, {"max_depth": 2})
    ]
    release = trees[int(rng.integers(2))]
    if rng.random() < 0.3:
        release = replace(release, trees=tuple(each.trees[0] for each in trees), predicts="vote")
    return people, replace(release, sampling_rate=0.5) if rng.random() < 0.3 else release


def check(seed, folder, knowledge):
    """Whether estimates and bounds in parts have the numbers of those in one piece."""
    people, release = people_and_release(seed)
    qi = folder / f"{seed}.parquet"
    people[["age", "job"]].to_parquet(qi, row_group_size=5)
    with (
        unwarned(),
        mock.patch.object(out_of_core, "SMALLEST", 7),
        mock.patch.object(opened, "rows_at_a_time", return_value=4),
        mock.patch.object(opened, "rows_at_a_time", return_value=4),
    ):
        whole = maxent.estimate(release, qi, knowledge=knowledge)
        parts = maxent.estimate(release, str(qi), folder=folder / f"{seed}-out", knowledge=knowledge)
        assert parts.parts is not None
        same(parts.summary, whole.summary)
        same(parts.numbers, whole.numbers)
        assert [*parts.summary["targets"]] == ["pay", "ill"]
        names = ["age", "job"]
        ours, theirs = (each.posterior.sort_values(names).reset_index(drop=True) for each in (parts, whole))
        pd.testing.assert_frame_equal(ours, theirs, rtol=1e-9, check_dtype=False)
        proved = maxent.bounds(release, str(qi), level="closed", memory="1GB")
        known = maxent.bounds(release, qi, level="closed")
        assert proved.parts is not None
        same(*({**each.summary, "constraints": None} for each in (proved, known)))


def test_true_classes_alone_link_people():
    release = people_and_release(3)[1]
    assert list(links_of(release)) == []
    assert list(links_of(release, truth=True)) == ["the true classes of several sensitive columns"]


@pytest.mark.slow
@pytest.mark.parametrize("knowledge", ["label,rate,counts", None])
def test_the_numbers_of_many_are_those_of_one_piece(tmp_path, knowledge):
    for seed in range(25):
        check(seed, tmp_path, knowledge)


@pytest.mark.slow
def test_comparisons_have_each_column(tmp_path):
    people, release = people_and_release(3)
    people.to_csv(tmp_path / "truth.csv", index=False)
    people[["age", "job"]].to_csv(tmp_path / "qi.csv", index=False)
    with unwarned():
        for truth in (None, str(tmp_path / "truth.csv")):  # with their classes people are taken together
            whole, parts = (
                maxent.compare([release], str(tmp_path / "qi.csv"), truth, memory=memory).summary
                for memory in (None, "1GB")
            )
            for each in (whole, parts):
                each["releases"][0].pop("most_disclosed")  # of some who are as disclosed either may be named
            same(parts, whole)
