"""Searches: tests of random cases, fixed ones by default, and new ones in every round of ``make hunt``."""

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

HUNT = "MAXENT_HUNT"  # The environment variable with the number of a round

ROUND = 1_000_000  # Numbers of cases in a round. Seeds of NumPy end at 2**32, so that rounds end at `ROUNDS`.

ROUNDS = 4_000


def cases(first: int, n: int, *, hunted: int | None = None) -> range:
    """The numbers of ``n`` cases from ``first`` on; in a round of a hunt, of ``hunted`` that belong to it alone.

    Give a test that takes them the mark ``search``: `tests/hunt.py` runs those.
    """
    if HUNT not in os.environ:
        return range(first, first + n)
    number = int(os.environ[HUNT])
    if not 0 <= number < ROUNDS:
        raise ValueError(f"{HUNT}: expected a number from 0 to {ROUNDS - 1}, found {number}")
    begin = ROUND * (number + 1) + first
    return range(begin, begin + (n if hunted is None else hunted))


def some(values: Sequence[T], every: int) -> Sequence[T]:
    """One in ``every`` of some values; in a hunt, all of them."""
    return values if HUNT in os.environ else values[::every]
