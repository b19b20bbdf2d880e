"""What the cells of a frame mean: values of a domain, finite numbers, numbers of individuals."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Literal

import numpy as np

from maxent.models.errors import Problem
from maxent.models.frames import LISTED, BoolArray, Column, FloatArray, Frame, IntArray, shorten, shorten_list

MISSING = "(missing)"
"""The value of a domain that stands for cells without one."""

_NUMBER = re.compile(r"[ \t\r\n]*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[ \t\r\n]*")


def codes_of(domain: Iterable[str]) -> dict[str, int]:
    """The index of each value of a domain; an empty text is `MISSING` where the domain has that and no empty value."""
    codes = {value: i for i, value in enumerate(domain)}
    return {"": codes[MISSING], **codes} if MISSING in codes else codes


def categorical(
    frame: Frame,
    name: str,
    domain: Sequence[str],
    problems: list[Problem],
    *,
    key: Literal["values", "classes"] = "values",
    optional: bool = False,
) -> IntArray:
    """Read a column as values of a domain, compared as text.

    Parameters
    ----------
    problems : list of Problem
        Cells outside the domain are appended; so are missing ones (and empty cells), unless the domain has an
        empty value or `MISSING`, when the column is not ``optional``.
    key : str
        Where a release declares the domain.

    Returns
    -------
    int64, shape (n_rows,)
        Index into the domain, -1 where there is none.
    """
    column = frame.columns[name]
    texts = column.texts()
    index = codes_of(domain)
    absent = -1 if optional else index.get(MISSING, -1)
    lookup = np.array(
        [-1 if optional and not text else index.get(text, -1) for text in texts] + [absent], dtype=np.int64
    )
    if (lookup[column.codes] < 0).any():
        advice = f"fill them with, say, 'unknown' and add it to the `{key}` of {name!r} in the release"
        missing = None if optional else f"a value (missing ones need a name of their own: {advice})"
        problems += refused(frame, name, lookup < 0, texts, f"one of {shorten_list(domain)}", missing, domain)
    return lookup[column.codes]


def finite(
    frame: Frame,
    name: str,
    problems: list[Problem],
    *,
    expected: str = "a finite number",
    low: float = -np.inf,
    high: float = np.inf,
    whole: bool = False,
    optional: bool = False,
) -> FloatArray:
    """Read the values of a column as finite numbers in [low, high], ``whole`` ones if asked for.

    Returns
    -------
    float64, shape (n_values,)
        One number for each of `Column.values` (not for each row), NaN for those that are refused.
    """
    column = frame.columns[name]
    result = numbers(column, low=low, high=high, whole=whole)
    bad = np.append(np.isnan(result), True)
    if bad[column.codes].any():
        advice = "impute missing ones or drop their rows, since no tree can route them"
        missing = None if optional else f"{expected} ({advice})"
        problems += refused(frame, name, bad, column.texts(), expected, missing)
    return result


def numbers(column: Column, *, low: float = -np.inf, high: float = np.inf, whole: bool = False) -> FloatArray:
    """Return the values of a column as finite numbers in [low, high], float64, NaN for those that are none."""
    if column.values.dtype.kind in "iuf":
        result = column.values.astype(np.float64)
    else:
        texts = column.texts()
        result = np.full(len(texts), np.nan)
        # float() accepts more than people write: 1_000, nan, other digits.
        legal = np.array([_NUMBER.fullmatch(text) is not None for text in texts], dtype=bool)
        result[legal] = np.array(texts, dtype=object)[legal].astype(np.float64)
    good = np.isfinite(result) & (result >= low) & (result <= high)
    if whole:
        good &= result == np.floor(result)
    # The sum turns -0.0 into 0.0.
    return np.where(good, result, np.nan) + 0.0


def whole(frame: Frame, name: str, least: int, problems: list[Problem]) -> IntArray:
    """Read a column as numbers of individuals, shape (n_rows,), -1 for cells that are refused.

    Each is at least ``least``, and their sum is below 2**53, up to which float64 holds whole numbers exactly.
    """
    column = frame.columns[name]
    expected = f"a whole number of individuals, at least {least}"
    found = finite(frame, name, problems, expected=expected, low=least, high=2.0**53, whole=True)
    counts = np.append(np.where(np.isnan(found), -1, found), -1).astype(np.int64)[column.codes]
    if (total := (counts * frame.repeats.astype(np.float64)).sum()) >= 2**53:
        problems.append(Problem("rows", name, "a sum of individuals below 2**53", f"a sum of about {total:.4g}"))
    return counts


def refused(
    frame: Frame,
    name: str,
    bad: BoolArray,
    texts: list[str],
    expected: str,
    missing: str | None,
    domain: Sequence[str] = (),
) -> list[Problem]:
    """Report missing cells, then every bad value where it occurs first; ``missing`` is None when cells may be.

    ``bad`` has an entry per value, and a last one for cells without any.
    """
    codes, repeats = frame.columns[name].codes, frame.repeats
    empty = np.array([text == "" for text in texts] + [True], dtype=bool)
    absent = np.flatnonzero(empty[codes] & bad[codes])
    problems = []
    if missing is not None and len(absent):
        others = repeats[absent].sum() - 1
        more = f" (and on {others} more {frame.unit}s)" if others else ""
        problems.append(Problem(frame.place(absent[0]), name, missing, f"a missing value{more}"))
    rows = np.flatnonzero(bad[codes] & ~empty[codes])
    values, first, inverse = np.unique(codes[rows], return_index=True, return_inverse=True)
    occurrences = np.zeros(len(values), dtype=np.int64)
    np.add.at(occurrences, inverse, repeats[rows])
    order = np.argsort(first)
    for at in order[:LISTED]:
        value = texts[values[at]]
        more = f" (on {occurrences[at]} {frame.unit}s)" if occurrences[at] > 1 else ""
        found = f"{shorten(value)}{_hint(value, domain)}{more}"
        problems.append(Problem(frame.place(rows[first[at]]), name, expected, found))
    if len(order) > LISTED:
        rest = order[LISTED:]
        place = f"and {occurrences[rest].sum()} more {frame.unit}s"
        found = f"{len(rest)} other values, such as {shorten(texts[values[rest[0]]])}"
        problems.append(Problem(place, name, expected, found))
    return problems


def _hint(value: str, domain: Sequence[str]) -> str:
    """Say what may have been meant by a value that is refused."""
    if not domain:
        return " (decimals follow a point)" if _NUMBER.fullmatch(value.replace(",", ".")) and "," in value else ""
    if value.strip() in domain:
        return f" (spaces count: {shorten(value.strip())} would do; are cells separated by ', '?)"
    if value.endswith(".0") and value[:-2] in domain:
        return f" (a column of floats: store it as whole numbers or text to get {shorten(value[:-2])})"
    alike = [other for other in domain if other.lower() == value.lower()]
    close = alike or get_close_matches(value[:100], domain[:1000], n=1)
    return f" (did you mean {shorten(close[0])}?)" if close else ""
