"""Turns of slow tests: the first ones change with the commit, so that a limited run reaches all within a few.

Tests are put in a circle, and a run begins somewhere on it. Beginnings of successive turns are a golden ratio of the
circle apart, so that k of them leave gaps of at most about 1.7/k of it: runs that finish a tenth of the tests reach
every test within 17 turns, whatever the tests are, and without anything remembered from run to run.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

RATIO = (5**0.5 - 1) / 2


def begin(turn: int, n: int) -> int:
    """The place on a circle of ``n`` tests where a turn begins."""
    return int(n * (turn * RATIO % 1.0))


def circle(ids: Sequence[str]) -> list[int]:
    """Indices of tests around the circle: files in an order without meaning, tests of one file together."""
    return sorted(range(len(ids)), key=lambda i: (sha256(ids[i].partition("::")[0].encode()).digest(), ids[i]))


def in_turn(ids: Sequence[str], turn: int) -> list[int]:
    """Indices of tests in the order of a turn."""
    around = circle(ids)
    first = begin(turn, len(ids))
    return around[first:] + around[:first]


def turns_since(place: int, done: int, n: int, turn: int) -> int:
    """Turns since a run of ``done`` tests last reached a place on the circle; ``turn`` itself has not.

    Returns
    -------
    int
        At most 1000, which stands for more.
    """
    ago = range(1, 1000)
    return next((j for j in ago if (place - begin(turn - j, n)) % n < done), 1000)
