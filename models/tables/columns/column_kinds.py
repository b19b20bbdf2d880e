"""Whether a column holds numbers or names, and what may surprise about that."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from maxent.models.reading import Note
from maxent.models.tables.columns.cell_values import DATE, GROUPED, numbers
from maxent.models.tables.frame import Column, Frame, shorten
from maxent.models.text.spelling import NUMBER, has_leading_zeros

_PERCENTAGE = re.compile(rf"{NUMBER.pattern}%\s*")

_DECIMAL_COMMA = re.compile(r"(?=[^,]*,)" + NUMBER.pattern.replace(r"\.", ","))

# Texts that are numbers to people, what they are called, and what makes numbers of them
_KINDS = (
    (DATE, "dates", "for ranges of them, write them as numbers, such as the year"),
    (_PERCENTAGE, "percentages", "for ranges of them, write them without the sign"),
    (GROUPED, "numbers with commas for thousands", "for ranges of them, write them without"),
    (_DECIMAL_COMMA, "numbers whose decimals follow a comma", "for ranges of them, write them with a point"),
)


def holds_numbers(column: Column) -> bool:
    """Whether a column holds numbers: as its type says, and without types when its values are, without leading zeros.

    A column without any value holds none.
    """
    used = _used(column)
    if column.numeric is not None or not used.any():
        return bool(column.numeric and used.any())
    texts = [text for text, is_used in zip(column.texts(), used, strict=True) if is_used]
    return bool(np.isfinite(numbers(column)[used]).all()) and not any(map(has_leading_zeros, texts))


def kind_notes(frame: Frame, name: str) -> Iterator[Note]:
    """Say so where the values of a column of names look like numbers, all or most of them."""
    column = frame.columns[name]
    if column.values.dtype.kind not in "OUT":
        return
    used = np.flatnonzero(_used(column))
    texts = np.array([*column.texts(), None], object)[used]
    words = np.isnan(numbers(column)[used])

    def first(chosen: np.typing.NDArray[np.bool_]) -> tuple[str, str]:
        row = int(np.isin(column.codes, used[chosen]).argmax())
        return frame.place(row), shorten(column.texts()[column.codes[row]])

    for pattern, what, advice in _KINDS:
        found = np.array([pattern.fullmatch(text.strip()) is not None for text in texts], bool)
        if found.any() and 2 * found.sum() >= words.sum() and 2 * (found | ~words).sum() >= len(texts):
            place, cell = first(found)
            yield f"column {shorten(name)} is read as categories: its values are {what}, {cell} in {place}", advice
            return
    zeros = np.array([has_leading_zeros(text) for text in texts], bool) & ~words
    if not words.any() and zeros.any():
        place, cell = first(zeros)
        yield (
            f"column {shorten(name)} is read as categories: {place} has {cell}, and a number has no leading zeros",
            "for ranges of them, write them without",
        )
    elif 0 < 2 * words.sum() < len(texts):
        place, cell = first(words)
        yield (
            f"column {shorten(name)} is read as categories: {place} has {cell}, which is no number",
            "where that is written for missing ones, name it in na=",
        )


def _used(column: Column) -> np.typing.NDArray[np.bool_]:
    """Mask of the values that some row has, shape (n_values,)."""
    return np.bincount(column.codes + 1, minlength=len(column.values) + 1)[1:] > 0
