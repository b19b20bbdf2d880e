"""The default back end against dense solves of programs written from the definitions (see support/brute_force.py)."""

import pytest
from hypothesis import given
from support.brute_force import compare, releases
from support.strategies import Case, thorough

pytestmark = pytest.mark.usefixtures("one_thread")


@thorough(30)
@given(case=releases(False, (2, 2), ("rate", "counts", "all", "mixture")))
def test_two_classes_and_public_splits(case: Case) -> None:
    compare(case, starts=2)


@thorough(25)
@given(case=releases(False, (3, 3), ("rate", "label", "counts", "mixture")))
def test_three_classes_and_public_splits(case: Case) -> None:
    compare(case, starts=4)


@thorough(20)
@given(case=releases(True, (2, 3), ("rate", "rate and n", "counts", "mixture")))
def test_private_splits(case: Case) -> None:
    compare(case, starts=4)
