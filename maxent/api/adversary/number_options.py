"""Options of estimates that are numbers: what each may be."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from maxent.models.errors import ARGUMENT, InvalidInput, Problem
from maxent.models.tables.frame import shorten
from maxent.models.text.arguments import LARGEST_COUNT, is_number, is_whole, up_to_largest


def check_numbers(options: object) -> None:
    """Refuse fields of `Solving` that are out of their range, with an InvalidInput that names every one."""
    problems = []
    for name, (expected, fits) in _NUMBERS.items():
        value = getattr(options, name)
        if value is None and name in ("starts", "time_limit", "jobs"):
            continue
        kind = is_whole(value, -LARGEST_COUNT) if expected.startswith("a whole") else is_number(value)
        if not (kind and fits(value)):
            problems.append(Problem(ARGUMENT, name, up_to_largest(expected, value), shorten(value)))
    if problems:
        raise InvalidInput("options", problems)


_NUMBERS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "tolerance": ("a number between 0 and 1", lambda x: 0 < x < 1),
    "starts": ("a whole number of at least 1", lambda x: x >= 1),
    "seed": ("a whole number of at least 0", lambda x: x >= 0),
    "top": ("a whole number of at least 1", lambda x: x >= 1),
    "time_limit": ("a positive number of seconds", lambda x: 0 < x < inf),
    "jobs": ("a whole number other than 0", lambda x: x != 0),
    "floor": ("a probability from 0 to 0.01", lambda x: 0 <= x <= 0.01),
}
"""Options that are numbers: what is expected, and whether a number is that."""
