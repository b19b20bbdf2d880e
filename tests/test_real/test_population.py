"""A register of people of Adult, some of whom a tree is grown on: bounds hold of them, and who is in them is found."""

from typing import Any

import numpy as np
import pytest
from support.search import cases
from test_real.instances import ADULT, EDUCATION_QI, table

import maxent
from maxent.models.induction.inducers import id3

PEOPLE = 600
PUBLISHED = (("counts", "gini"), ("rates", "entropy"), ("counts", "entropy"), ("labels", "gini"))


def test_the_people_of_the_data_lie_within_the_bounds() -> None:
    for number in cases(0, 3):
        drawn(number)


@pytest.mark.slow
@pytest.mark.search
def test_the_people_of_forty_samples_lie_within_the_bounds() -> None:
    for number in cases(3, 37, hunted=197):
        drawn(number)


def test_so_do_thousands_of_people() -> None:
    for number in cases(200, 4):
        drawn(number, 4000, "closed")


@pytest.mark.slow
@pytest.mark.search
def test_so_do_thousands_of_people_in_forty_samples() -> None:
    for number in cases(204, 36, hunted=196):
        drawn(number, 4000, "closed")
    for number in cases(400, 2, hunted=4):
        drawn(number, 30_000, "closed")


def drawn(number: int, people: int = PEOPLE, level: str = "linear") -> None:
    """Draw a register, half of whom are members, grow a tree, and hold the truth to what is proved."""
    dice = np.random.default_rng(number)
    everybody = table("adult.csv")[[*EDUCATION_QI, ADULT["TARGET"]]]
    register = everybody.iloc[dice.choice(len(everybody), people, replace=False)].reset_index(drop=True)
    members = people // 2
    inside = dice.permutation(people) < members
    known = np.all([register[name].isin(set(register[name][inside])) for name in EDUCATION_QI], axis=0)
    register, inside = register[known].reset_index(drop=True), inside[known]  # others have values of nobody in the data
    publish, impurity = PUBLISHED[number % len(PUBLISHED)]
    qi = EDUCATION_QI
    release = id3(
        register[inside],
        target=ADULT["TARGET"],
        qi=qi,
        impurity=impurity,  # type: ignore[arg-type]
        publish=publish,  # type: ignore[arg-type]
        min_samples_split=int(dice.integers(2, 40)),
    )
    found: Any = maxent.bounds(release, population=register[qi], people=members, level=level)
    assert found.reliable
    register_of, classes = found.program.table, found.program.release.target.classes
    at = {values: i for i, values in enumerate(register_of.frame()[qi].itertuples(index=False, name=None))}
    truth = np.zeros((len(register_of), len(classes)), np.int64)
    for values, klass, member in zip(
        register[qi].itertuples(index=False, name=None), register[ADULT["TARGET"]], inside, strict=True
    ):
        truth[at[values], classes.index(klass) if member else -1] += 1
    assert (found.bounds.low <= truth).all(), number
    assert (truth <= found.bounds.high).all(), number
    assert int(truth[:, :-1].sum()) == members
