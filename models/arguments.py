"""Checks of arguments, options and documents: types, display in messages, and suggestions for unknown names."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from itertools import islice
from os import PathLike
from typing import cast

import numpy as np

from maxent.models.errors import ARGUMENT, InvalidInput, Problem, Unreadable

LONGEST = 60  # characters of a value in a message
LARGEST_COUNT = 2**53  # the largest number up to which floats count exactly
ABSENT = object()  # stands for a value that is not there


def show(value: object) -> str:
    """Any decoded value as a message shows it: JSON spelling, at most about 60 characters, never recursive."""
    if value is ABSENT:
        return "nothing"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Unreadable):
        return _cut(value.text)
    if isinstance(value, str):
        return repr(str(value)) if len(value) <= LONGEST else repr(value[: LONGEST - 3]) + "..."
    if isinstance(value, int):
        return shown_whole(value)
    if isinstance(value, float):
        return float.__repr__(value)
    if isinstance(value, list):
        return "an empty list" if not value else f"a list of {len(value)}"
    if isinstance(value, dict):
        return "an empty object" if not value else f"an object ({listing(map(str, value))})"
    return f"a value of type {type(value).__name__}"


def shown_whole(value: int) -> str:
    """An integer as a message shows it: of one with very many digits, how many; Python refuses to write some."""
    digits = round(value.bit_length() * 0.30103)
    return str(int(value)) if digits <= LONGEST else f"a number of about {digits} digits"


def name(text: str) -> str:
    """A name inside a place: as it is when short and printable, otherwise as `show` has it."""
    return text if text.isprintable() and 0 < len(text) <= LONGEST else show(text)


def listing(names: Iterable[str]) -> str:
    """The first few names, separated by commas."""
    shown = [name(text) for text in islice(names, 9)]
    return _cut(", ".join(shown[:8]) + (", ..." if len(shown) > 8 else ""))


def _cut(text: str) -> str:
    """A text of at most about 60 characters."""
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def listing_of(values: list[object]) -> str:
    """The first few of a list of values of any type."""
    return ", ".join(show(value) for value in values[:3]) + (", ..." if len(values) > 3 else "")


def is_one_of(value: object, words: Collection[str]) -> bool:
    """Whether a value is one of some words; it may be of any type, also an array, which would compare by its values."""
    return isinstance(value, str) and value in words


def is_flag(value: object) -> bool:
    """Whether a value stands for yes or no: true or false of Python or NumPy, 1 or 0."""
    return isinstance(value, (bool, np.bool_)) or (is_whole(value, 0) and cast("int", value) <= 1)


def check_flags(**flags: object) -> None:
    """Refuse arguments that are neither yes nor no."""
    problems = [
        Problem(ARGUMENT, name, "True or False", _cut(repr(value)))
        for name, value in flags.items()
        if not is_flag(value)
    ]
    if problems:
        raise InvalidInput("options", problems)


def check_functions(**functions: object) -> None:
    """Refuse arguments that are neither None nor a function to call."""
    problems = [
        Problem(ARGUMENT, name, "a function, which is called meanwhile, or None", _cut(repr(value)))
        for name, value in functions.items()
        if value is not None and not callable(value)
    ]
    if problems:
        raise InvalidInput("options", problems)


def is_path(value: object) -> bool:
    """Whether a value names a file or a folder: text, or what stands for it, such as `pathlib.Path`."""
    return isinstance(value, str) or (isinstance(value, PathLike) and isinstance(value.__fspath__(), str))


def is_whole(value: object, low: int) -> bool:
    """Whether a value is an integer of Python or NumPy (true and false are not) from ``low`` to `LARGEST_COUNT`."""
    return _is_integer(value) and low <= cast("int", value) <= LARGEST_COUNT


def _is_integer(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def up_to_largest(expected: str, value: object) -> str:
    """Words for a number that `is_whole` takes, with the largest where a value is beyond it."""
    return f"{expected}, at most 2**53" if _is_integer(value) and cast("int", value) > LARGEST_COUNT else expected


def are_whole(values: Collection[object], low: int) -> bool:
    """Whether `is_whole` holds for every value, at the speed that millions of counts need."""
    if set(map(type, values)) <= {int}:
        numbers = cast("Collection[int]", values)
        return low <= min(numbers, default=low) and max(numbers, default=low) <= LARGEST_COUNT
    return all(is_whole(value, low) for value in values)


def whole_number(low: int) -> str:
    """Words for a number that `is_whole` takes."""
    return f"a whole number from {low} to 2**53"


def is_number(value: object) -> bool:
    """Whether a value is a number of Python or NumPy; true and false are not, nor integers that no float can hold."""
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        return False
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


# Suggestions for an unknown name, in bounded time however much is wrong.


def shorten(value: object, width: int = 60) -> str:
    """Return the `repr` of a value, cut to about ``width`` characters."""
    if isinstance(value, int) and not isinstance(value, bool):
        return shown_whole(value)
    try:
        # Cut before repr too: a cell may be megabytes long.
        text = repr(value[: width + 1] if isinstance(value, str) else value)
    except ValueError:  # integers of thousands of digits somewhere in it
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= width else f"{text[: width - 3]}..."


def shorten_list(values: Iterable[object], width: int = 60) -> str:
    """Join the `repr` of values with commas, dropping those beyond about ``width`` characters."""
    text = ", ".join(shorten(value) for value, _ in zip(values, range(width), strict=False))
    return text if len(text) <= width else f"{text[: width - 3]}..."
