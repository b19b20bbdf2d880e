"""What the cells of a frame mean: values of a domain, finite numbers, numbers of individuals."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from maxent.models.errors import Problem
from maxent.models.reading import USUAL, Reader, Reading
from maxent.models.tables.frame import (
    LISTED,
    BoolArray,
    Column,
    FloatArray,
    Frame,
    IntArray,
    listed,
    shorten,
    shorten_list,
)
from maxent.models.text.hints import HINTED, closest
from maxent.models.text.spelling import NUMBER, cleaned, folded, spelled_alike, told_apart

MISSING = "(missing)"
"""The value of a domain that stands for cells without one."""

ONLY_SPELLING = (
    "values that differ by more than blanks or Unicode form (text='strip' reads them as one, text='exact' as different)"
)
"""What is expected of values that differ only in how they are spelled."""

DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[T ].*)?|[0-9]{1,4}([./])[0-9]{1,2}\1[0-9]{2,4}")
GROUPED = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?")

_NAMED = 3
"""Columns or values that one note names."""


# --- What cells hold -------------------------------------------------------------------------------------------


def understood(frame: Frame, reader: Reader, declared: Mapping[str, Collection[str]] | None = None) -> Frame:
    """Read the cells of a frame, each different one once.

    Parameters
    ----------
    frame : Frame
        As it is stored.
    reader : Reader
        Says which cells are missing, and what becomes of text.
    declared : mapping of column to values, optional
        Values that a release or a domain names: none of them means that a value is missing, however it is spelled.

    Returns
    -------
    Frame
        All missing cells have the code -1.
    """
    known = declared or {}
    columns = {name: _understood(frame, name, reader, frozenset(known.get(name, ()))) for name in frame.columns}
    return replace(frame, columns=columns, reader=reader)


def _understood(frame: Frame, name: str, reader: Reader, declared: frozenset[str]) -> Column:
    column, reading = frame.columns[name], reader.reading
    numeric = column.numeric if frame.unit == "row" else None  # the lines of a text say nothing of types
    rows = _rows_of(frame, name)
    blanks = {"": int(rows[-1])}
    if column.values.dtype.kind in "iuf" and not reading.absent_numbers:
        return replace(column, numeric=numeric, blanks=blanks)
    stored, (texts, lacking) = column.texts(), meaning(column, reading, declared)
    for text in sorted(declared.intersection(texts) - {""}):
        number = int(rows[:-1][np.array(texts, object) == text].sum()) if reading.absent(text) else 0
        if number:
            found = f"column {shorten(name)}: {shorten(text)} ({_some(frame, number)}) is a value, as it is declared"
            reader.note(frame.source, found)
    if reading.text == "strip":
        _note_united(frame, name, reader, stored, texts)
    for at in np.flatnonzero(lacking).tolist():
        blanks[stored[at]] = blanks.get(stored[at], 0) + int(rows[at])
    values = column.values
    if values.dtype.kind not in "iuf":
        values = np.array(texts, dtype=object)
    codes = np.append(np.where(lacking, -1, np.cumsum(~lacking) - 1), -1)[column.codes]
    return Column(codes, values[~lacking], column.dated, numeric, blanks)


def meaning(column: Column, reading: Reading, declared: frozenset[str] = frozenset()) -> tuple[list[str], BoolArray]:
    """Return each value of a column as text, as it is read, and whether it stands for a missing one."""
    form, absent, similar = reading.form, reading.absent, frozenset(map(cleaned, declared))
    texts = [text if text in declared else form(text) for text in column.texts()]
    return texts, np.array([absent(text) and cleaned(text) not in similar for text in texts], dtype=bool)


def _rows_of(frame: Frame, name: str) -> IntArray:
    """Rows of the source with each value of a column, and, last, without one, shape (n_values + 1,)."""
    column = frame.columns[name]
    found = np.bincount(column.codes + 1, weights=frame.repeats, minlength=len(column.values) + 1)
    return np.roll(found.astype(np.int64), -1)


def _some(frame: Frame, number: int) -> str:
    """A number of rows in words."""
    return f"{number} {frame.unit}{'' if number == 1 else 's'}"


def codes_of(domain: Iterable[str]) -> tuple[dict[str, int], int]:
    """The index of each value of a domain, and that of cells without a value.

    That is the index of `MISSING`, or of an empty value, or -1 where the domain has neither.
    """
    codes = {value: i for i, value in enumerate(domain)}
    return codes, codes.get(MISSING, codes.get("", -1))


def missing_rows(frame: Frame, name: str) -> int:
    """Rows of a column without a value."""
    return sum(frame.columns[name].blanks.values())


def missing_cells(frame: Frame, name: str) -> str:
    """What is written in the cells without a value, in words: nothing where they are all empty."""
    blanks = {text: number for text, number in frame.columns[name].blanks.items() if number}
    if not any(blanks):
        return ""
    shown = sorted(blanks.items(), key=lambda item: (-item[1], item[0]))
    words = [f"{shorten(text) if text else 'nothing'} on {_some(frame, number)}" for text, number in shown[:_NAMED]]
    return f" ({', '.join([*words, 'and others'] if len(shown) > _NAMED else words)})"


def note_missing(frame: Frame, name: str, value: str) -> None:
    """Note and count the cells without a value, which are read as one of a domain."""
    if number := missing_rows(frame, name):
        frame.reader.count_missing(frame.source, name, number)
        words = f"has no value on {_some(frame, number)}{missing_cells(frame, name)}"
        frame.reader.note(frame.source, f"column {shorten(name)} {words}: that is read as {shorten(value)}")


# --- Spellings -------------------------------------------------------------------------------------------------


def spelling_problems(frame: Frame, name: str) -> list[Problem]:
    """List the values of a column that differ only by blanks or Unicode form; note what else may surprise.

    That are values that differ only by case, and those that others write for missing ones.

    Where text is ``exact`` there is nothing to say.
    """
    if frame.reader.reading.text == "exact":
        return []
    column, texts = frame.columns[name], frame.columns[name].texts()
    rows = dict(zip(texts, _rows_of(frame, name).tolist(), strict=False))
    used = [text for text in texts if rows[text]]
    usual = USUAL.absent
    for text in used:
        if text and (text == "?" or usual(text)):
            found = f"column {shorten(name)}: {shorten(text)} ({_some(frame, rows[text])}) is read as a value"
            frame.reader.note(frame.source, f"{found} (where it is written for missing ones, name it in na)")

    def shown(group: Sequence[str]) -> str:
        return " and ".join(f"{told_apart(text)} ({_some(frame, rows[text])})" for text in group[:_NAMED])

    def problem(group: Sequence[str]) -> Problem:
        second = np.array([text == group[1] for text in texts] + [False])
        return Problem(frame.place(int(second[column.codes].argmax())), name, ONLY_SPELLING, shown(group))

    for group in spelled_alike({cleaned(text): text for text in used}.values(), folded)[:_NAMED]:
        frame.reader.note(
            frame.source,
            f"column {shorten(name)}: {shown(group)} differ only by case, and are read as different values",
        )
    groups = spelled_alike(used, cleaned)
    return listed(map(problem, groups), len(groups), "values")


def unknown_spellings(frame: Frame, name: str, domain: Sequence[str]) -> list[Problem]:
    """List the values outside of a domain that are in it but for blanks or Unicode form; note those but for case.

    Where text is ``exact`` there is nothing to say.
    """
    if frame.reader.reading.text == "exact":
        return []
    column, texts = frame.columns[name], frame.columns[name].texts()
    rows, known = _rows_of(frame, name).tolist(), set(domain)
    outside = [at for at, text in enumerate(texts) if rows[at] and text not in known]
    same, similar = ({form(value): value for value in domain} for form in (cleaned, folded))
    wrong = [at for at in outside if cleaned(texts[at]) in same]

    def shown(at: int, value: str) -> str:
        return f"{told_apart(texts[at])} ({_some(frame, rows[at])}) for {told_apart(value)}"

    for at in [at for at in outside if at not in set(wrong) and folded(texts[at]) in similar][:_NAMED]:
        found = shown(at, similar[folded(texts[at])])
        frame.reader.note(frame.source, f"column {shorten(name)}: {found} is an unknown value: they differ by case")
    problems = (
        Problem(
            frame.place(int((column.codes == at).argmax())), name, ONLY_SPELLING, shown(at, same[cleaned(texts[at])])
        )
        for at in wrong
    )
    return listed(problems, len(wrong), "values")


def _note_united(frame: Frame, name: str, reader: Reader, stored: Sequence[str], texts: Sequence[str]) -> None:
    """Note the values that are one because of their form, unless they are numbers."""
    spellings: dict[str, dict[str, None]] = {}
    for before, after in zip(stored, texts, strict=True):
        spellings.setdefault(after, {})[before] = None
    united = [list(group) for text, group in spellings.items() if len(group) > 1 and not NUMBER.fullmatch(text)]
    if united:
        for group in united[:_NAMED]:
            found = " and ".join(map(told_apart, group[:_NAMED]))
            reader.note(frame.source, f"column {shorten(name)}: {found} are read as one value")
        if len(united) > _NAMED:
            found = f"{len(united) - _NAMED} more values have several spellings, which are read as one"
            reader.note(frame.source, f"column {shorten(name)}: {found}")


# --- What they mean --------------------------------------------------------------------------------------------


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
        Cells outside the domain are appended; so are missing ones, unless the domain has an empty value or `MISSING`,
        when the column is not ``optional``.
    key : str
        Where a release declares the domain.

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
    lookup = np.array([index.get(text, -1) for text in texts] + [absent], dtype=np.int64)
    if (lookup[column.codes] < 0).any():
        advice = f"fill them with, say, 'unknown' and add it to the `{key}` of {name!r} in the release"
        missing = None if optional else f"a value (missing ones need a name of their own: {advice})"
        hints = HINTED - len(problems)
        problems += refused(frame, name, lookup < 0, texts, f"one of {shorten_list(domain)}", missing, domain, hints)
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
    same = next((other for other in domain if cleaned(other) == cleaned(value)), None)
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
