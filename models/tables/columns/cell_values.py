"""Meaning of the cells of a column: values of a domain, finite numbers, numbers of individuals."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.errors import Problem
from maxent.models.tables.columns.missing_values import OTHER, codes_of, missing_cells, note_missing, note_other
from maxent.models.tables.columns.spellings import unknown_spellings
from maxent.models.tables.frame import LISTED, Column, Frame, shorten, shorten_list
from maxent.models.text.hints import HINTED, closest
from maxent.models.text.spelling import NUMBER, cleaned, told_apart

DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[T ].*)?|[0-9]{1,4}([./])[0-9]{1,2}\1[0-9]{2,4}")
_EXACT = 2**53  # below it every whole number is a double
GROUPED = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?")


def categorical(
    frame: Frame,
    name: str,
    domain: Sequence[str],
    problems: list[Problem],
    *,
    key: Literal["values", "classes"] = "values",
    optional: bool = False,
    expected: str | None = None,
) -> IntArray:
    """Read a column as values of a domain, compared as text.

    ``problems``: cells outside the domain are appended, unless it has `OTHER`; so are missing ones, unless the domain
    has an empty value or `MISSING`, when the column is not ``optional``. ``key``: where a release declares the domain.
    ``expected``: what a value has to be, as problems say it; by default one of the domain.

    Returns
    -------
    int64, shape (n_rows,)
        Index into the domain, -1 where there is none.
    """
    column = frame.columns[name]
    texts = column.texts()
    index, absent = codes_of(domain)
    if optional:
        index, absent = {text: code for text, code in index.items() if text}, -1
    elif absent >= 0:
        note_missing(frame, name, domain[absent])
    other = index.get(OTHER, -1) if key == "values" else -1
    if other >= 0:
        problems += unknown_spellings(frame, name, domain)
        note_other(frame, name, domain)
    lookup = np.array([*codes_in(column, index, other), absent], dtype=np.int64)
    if (lookup[column.codes] < 0).any():
        advice = f"fill them with, say, 'unknown' and add it to the `{key}` of {name!r} in the release"
        missing = None if optional else f"a value (missing ones need a name of their own: {advice})"
        hints = HINTED - len(problems)
        problems += refused(
            frame, name, lookup < 0, texts, expected or f"one of {shorten_list(domain)}", missing, domain, hints
        )
    return lookup[column.codes]


def codes_in(column: Column, index: Mapping[str, int], other: int = -1) -> list[int]:
    """The code of each of the values of a column, ``other`` where it has none.

    A whole number is found by either of its spellings, 1 and 1.0, where the type of the column is one of numbers: a
    column of whole numbers gets another type in many tools as soon as it lacks a value.
    """
    found = [index.get(text, -1) for text in column.texts()]
    if column.values.dtype.kind in "iuf":
        for i in [i for i, code in enumerate(found) if code < 0]:
            number = float(column.values[i])
            if number.is_integer() and abs(number) < _EXACT:
                found[i] = next((index[text] for text in (str(int(number)), repr(number)) if text in index), -1)
    return [other if code < 0 else code for code in found]


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
    advice: str = "impute missing ones or drop their rows, since no tree can route them",
) -> FloatArray:
    """Read the values of a column as finite numbers in [low, high], ``whole`` ones if asked for.

    ``advice`` is what to do about cells without a value, unless these are ``optional``.

    Returns
    -------
    float64, shape (n_values,)
        One number for each of `Column.values` (not for each row), NaN for those that are refused.
    """
    column = frame.columns[name]
    result = numbers(column, low=low, high=high, whole=whole)
    bad = np.append(np.isnan(result), True)
    if bad[column.codes].any():
        missing = None if optional else f"{expected} ({advice})"
        problems += refused(frame, name, bad, column.texts(), expected, missing)
    return result


def numbers(column: Column, *, low: float = -np.inf, high: float = np.inf, whole: bool = False) -> FloatArray:
    """Return the values of a column as float64: finite numbers in [low, high], NaN in place of all others."""
    if column.values.dtype.kind in "iuf":
        result = column.values.astype(np.float64)
    else:
        texts = column.texts()
        result = np.full(len(texts), np.nan)
        # float() accepts more than people write: 1_000, nan, other digits.
        legal = np.array([NUMBER.fullmatch(text) is not None for text in texts], dtype=bool)
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
    hints: int = LISTED,
) -> list[Problem]:
    """Report missing cells, then every bad value where it occurs first; ``missing`` is None when cells may be.

    ``bad`` has an entry per value, and a last one for cells without any. The first ``hints`` values come with one.
    """
    codes, repeats = frame.columns[name].codes, frame.repeats
    absent = np.flatnonzero((codes < 0) & bad[codes])
    problems = []
    if missing is not None and len(absent):
        others = repeats[absent].sum() - 1
        more = f" (and on {others} more {frame.unit}s)" if others else ""
        found = f"a missing value{more}{missing_cells(frame, name)}"
        problems.append(Problem(frame.place(absent[0]), name, missing, found))
    rows = np.flatnonzero(bad[codes] & (codes >= 0))
    values, first, inverse = np.unique(codes[rows], return_index=True, return_inverse=True)
    occurrences = np.zeros(len(values), dtype=np.int64)
    np.add.at(occurrences, inverse, repeats[rows])
    order = np.argsort(first)
    for number, at in enumerate(order[:LISTED]):
        value = texts[values[at]]
        more = f" (on {occurrences[at]} {frame.unit}s)" if occurrences[at] > 1 else ""
        hint = _hint(value, domain) if number < hints else ""
        advice = " (text='strip' reads all spellings of it)" if hint.endswith("would do)") else ""
        found = f"{shorten(value)}{hint}{more}"
        problems.append(Problem(frame.place(rows[first[at]]), name, expected + advice, found))
    if len(order) > LISTED:
        rest = order[LISTED:]
        place = f"and {occurrences[rest].sum()} more {frame.unit}s"
        found = f"{len(rest)} other values, such as {shorten(texts[values[rest[0]]])}"
        problems.append(Problem(place, name, expected, found))
    return problems


def _hint(value: str, domain: Sequence[str]) -> str:
    """Say what may have been meant by a value that is refused."""
    if not domain:
        return _number_hint(value.strip())
    meant = cleaned(value)  # once: a cell may be megabytes long
    same = next((other for other in domain if cleaned(other) == meant), None)
    if same is not None:
        what = "spaces count" if value.isascii() and same.isascii() else "blanks and Unicode forms count"
        return f" ({what}: {told_apart(same)} would do)"
    if value.endswith(".0") and value[:-2] in domain:
        return f" (a column of floats: store it as whole numbers or text to get {shorten(value[:-2])})"
    close = closest(value, domain)
    return "" if close is None else f" (did you mean {shorten(close)}?)"


def _number_hint(value: str) -> str:
    """Say how a number can be written that is refused."""
    if value.endswith("%") and NUMBER.fullmatch(value[:-1]):
        return f" (write it without the sign: {value[:-1].strip()})"
    if DATE.fullmatch(value):
        return " (a date: write it as a number, such as the year)"
    if GROUPED.fullmatch(value):
        return f" (write it without commas: {value.replace(',', '')}; decimals follow a point)"
    return " (decimals follow a point)" if "," in value and NUMBER.fullmatch(value.replace(",", ".")) else ""
