"""Cells and columns of a table: missing values, spellings, decimal commas, types, and names of columns."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from maxent.models.arguments import shorten, shorten_list
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.errors import Problem
from maxent.models.hints import HINTED, closest
from maxent.models.reading import (
    NUMBER,
    USUAL,
    Note,
    Reader,
    Reading,
    alike,
    cleaned,
    folded,
    has_leading_zeros,
    told_apart,
)
from maxent.models.tables.frame import LISTED, Column, Frame, listed

if TYPE_CHECKING:
    from pandas import DataFrame

    from maxent.models.release import Attribute

# Values of a column that look alike: refused, noted or read as one, as the reader is asked to.

# What is expected of values that differ only in how they are spelled
ONLY_SPELLING = (
    "values that differ by more than blanks or Unicode form (text='strip' reads them as one, text='exact' as different)"
)

_SPELLINGS_NAMED = 3  # values that one note names


def spelling_problems(frame: Frame, name: str) -> list[Problem]:
    """List values that differ only by blanks or Unicode form; note those by case, and others' missing ones."""
    if frame.reader.reading.text == "exact":
        return []
    column, texts = frame.columns[name], frame.columns[name].texts()
    rows = dict(zip(texts, frame.rows_with(name).tolist(), strict=False))
    used = [text for text in texts if rows[text]]
    usual = USUAL.absent
    for text in used:
        if text and (text == "?" or usual(text)):
            found = f"column {shorten(name)}: {shorten(text)} ({frame.in_words(rows[text])}) is read as a value"
            frame.reader.note(frame.source, found, "where it is written for missing ones, name it in na=")

    def shown(group: Sequence[str]) -> str:
        return " and ".join(f"{told_apart(text)} ({frame.in_words(rows[text])})" for text in group[:_SPELLINGS_NAMED])

    def problem(group: Sequence[str]) -> Problem:
        second = np.array([text == group[1] for text in texts] + [False])
        return Problem(frame.place(int(second[column.codes].argmax())), name, ONLY_SPELLING, shown(group))

    groups, similar = alike(used)
    for group in similar[:_SPELLINGS_NAMED]:
        frame.reader.note(
            frame.source,
            f"column {shorten(name)}: {shown(group)} differ only by case, and are read as different values",
        )
    return listed(map(problem, groups), len(groups), "values")


def unknown_spellings(frame: Frame, name: str, domain: Sequence[str]) -> list[Problem]:
    """List the values outside of a domain that are in it but for blanks or Unicode form; note those but for case."""
    if frame.reader.reading.text == "exact":
        return []
    column, texts = frame.columns[name], frame.columns[name].texts()
    rows, known = frame.rows_with(name).tolist(), set(domain)
    outside = [at for at, text in enumerate(texts) if rows[at] and text not in known]
    same, similar = ({form(value): value for value in domain} for form in (cleaned, folded))
    wrong = [at for at in outside if cleaned(texts[at]) in same]

    def shown(at: int, value: str) -> str:
        return f"{told_apart(texts[at])} ({frame.in_words(rows[at])}) for {told_apart(value)}"

    for at in [at for at in outside if at not in set(wrong) and folded(texts[at]) in similar][:_SPELLINGS_NAMED]:
        found = shown(at, similar[folded(texts[at])])
        frame.reader.note(frame.source, f"column {shorten(name)}: {found} is an unknown value: they differ by case")
    problems = (
        Problem(
            frame.place(int((column.codes == at).argmax())), name, ONLY_SPELLING, shown(at, same[cleaned(texts[at])])
        )
        for at in wrong
    )
    return listed(problems, len(wrong), "values")


def note_united(frame: Frame, name: str, reader: Reader, stored: Sequence[str], texts: Sequence[str]) -> None:
    """Note the values that are one because of their form, unless they are numbers."""
    spellings: dict[str, dict[str, None]] = {}
    for before, after in zip(stored, texts, strict=True):
        spellings.setdefault(after, {})[before] = None
    united = [list(group) for text, group in spellings.items() if len(group) > 1 and not NUMBER.fullmatch(text)]
    if united:
        for group in united[:_SPELLINGS_NAMED]:
            found = " and ".join(map(told_apart, group[:_SPELLINGS_NAMED]))
            reader.note(frame.source, f"column {shorten(name)}: {found} are read as one value")
        if len(united) > _SPELLINGS_NAMED:
            found = f"{len(united) - _SPELLINGS_NAMED} more values have several spellings, which are read as one"
            reader.note(frame.source, f"column {shorten(name)}: {found}")


MISSING = "(missing)"  # the value of a domain that stands for cells without one
OTHER = "(other)"  # the value of a domain that stands for all values that it does not name
_NAMED = 3  # spellings that one note names


def understood(frame: Frame, reader: Reader, declared: Mapping[str, Collection[str]] | None = None) -> Frame:
    """Read the cells of a frame, each different one once; ``declared`` values never mean that one is missing."""
    known = declared or {}
    if frame.decimal != "point":
        frame = _with_decimal_points(frame, reader, known)
    reading, columns = reader.reading, {}
    for name, column in frame.columns.items():
        rows, declared_here = frame.rows_with(name), frozenset(known.get(name, ()))
        numeric = None if frame.text else column.numeric
        blanks = {"": int(rows[-1])}
        if column.values.dtype.kind in "iuf" and not reading.absent_numbers:
            columns[name] = replace(column, numeric=numeric, blanks=blanks)
            continue
        stored = column.texts()
        texts, lacking = reading.meaning(stored, declared_here)
        for text in sorted(declared_here.intersection(texts) - {""}):
            number = int(rows[:-1][np.array(texts, object) == text].sum()) if reading.absent(text) else 0
            if number:
                words = f"{shorten(text)} ({frame.in_words(number)}) is a value, as it is declared"
                reader.note(frame.source, f"column {shorten(name)}: {words}")
        if reading.text == "strip":
            note_united(frame, name, reader, stored, texts)
        for at in np.flatnonzero(lacking).tolist():
            blanks[stored[at]] = blanks.get(stored[at], 0) + int(rows[at])
        values = column.values
        if values.dtype.kind not in "iuf":
            values = np.array(texts, dtype=object)
        codes = column.codes
        if lacking.any():
            codes = np.append(np.where(lacking, -1, np.cumsum(~lacking) - 1), -1)[codes]
        columns[name] = Column(codes, values[~lacking], column.dated, numeric, blanks)
    return replace(frame, columns=columns, reader=reader)


def codes_of(domain: Iterable[str]) -> tuple[dict[str, int], int]:
    """The index of each value of a domain, and that of cells without a value."""
    codes = {value: i for i, value in enumerate(domain)}
    return codes, codes.get(MISSING, codes.get("", -1))


def value_in_words(value: str | float) -> str:
    """A value of a column for people to read; NaN is a missing number."""
    return value if isinstance(value, str) else MISSING if isnan(value) else f"{value:.15g}"


def missing_rows(frame: Frame, name: str) -> int:
    """Rows of a column without a value."""
    return sum(frame.columns[name].blanks.values())


def missing_cells(frame: Frame, name: str) -> str:
    """Spellings in the cells without a value, in words: empty where all cells are."""
    blanks = {text: number for text, number in frame.columns[name].blanks.items() if number}
    if not any(blanks):
        return ""
    shown = sorted(blanks.items(), key=lambda item: (-item[1], item[0]))
    words = [f"{shorten(text) if text else 'nothing'} on {frame.in_words(number)}" for text, number in shown[:_NAMED]]
    return f" ({', '.join([*words, 'and others'] if len(shown) > _NAMED else words)})"


def note_other(frame: Frame, name: str, domain: Collection[str]) -> None:
    """Note the values that a domain does not name, where it has `OTHER` for them."""
    column, known = frame.columns[name], frozenset(domain)
    rows = frame.rows_with(name).tolist()
    strange = [(text, n) for text, n in zip(column.texts(), rows, strict=False) if n and text not in known]
    if OTHER in known and strange:
        values = "1 value" if len(strange) == 1 else f"{len(strange)} values"
        words = f"has {values} that the release does not name, such as {shorten(strange[0][0])}"
        number = sum(n for _, n in strange)
        frame.reader.note(frame.source, f"column {shorten(name)} {words} ({frame.in_words(number)}): read as {OTHER!r}")


def note_missing(frame: Frame, name: str, value: str) -> None:
    """Note and count the cells without a value, which are read as one of a domain."""
    if number := missing_rows(frame, name):
        frame.reader.count_missing(frame.source, name, number)
        words = f"has no value on {frame.in_words(number)}{missing_cells(frame, name)}"
        frame.reader.note(frame.source, f"column {shorten(name)} {words}: that is read as {shorten(value)}")


# Meaning of the cells of a column: values of a domain, finite numbers, numbers of individuals.

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
    texts: list[str] | None = None,
) -> IntArray:
    """Read a column as indices into a domain, compared as text, -1 where there is none.

    Problems are cells outside the domain, unless it has `OTHER`, and missing ones, unless it has a value for them or
    the column is ``optional``. ``texts``: its `Column.texts`, where these are known already.
    """
    column = frame.columns[name]
    texts = column.texts() if texts is None else texts
    index, absent = codes_of(domain)
    if optional:
        index, absent = {text: code for text, code in index.items() if text}, -1
    elif absent >= 0:
        note_missing(frame, name, domain[absent])
    other = index.get(OTHER, -1) if key == "values" else -1
    if other >= 0:
        problems += unknown_spellings(frame, name, domain)
        note_other(frame, name, domain)
    lookup = np.array([*codes_in(column, index, other, texts), absent], dtype=np.int64)
    found = lookup[column.codes]
    if (found < 0).any():
        advice = f"fill them with, say, 'unknown' and add it to the `{key}` of {name!r} in the release"
        missing = None if optional else f"a value (missing ones need a name of their own: {advice})"
        hints = HINTED - len(problems)
        problems += refused(
            frame, name, lookup < 0, texts, expected or f"one of {shorten_list(domain)}", missing, domain, hints
        )
    return found


def codes_in(
    column: Column, index: Mapping[str, int], other: int = -1, texts: Sequence[str] | None = None
) -> list[int]:
    """The code of each value of a column, ``other`` where it has none.

    In a column of numbers 1 and 1.0 are one value: many tools change its type as soon as it lacks a value.
    """
    found = [index.get(text, -1) for text in (column.texts() if texts is None else texts)]
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
    """Read the values of a column, not of each row, as numbers in [low, high], NaN for those that are refused."""
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
    """Report missing cells, then every bad value where it occurs first; ``missing`` is None when cells may be."""
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


# Numbers of CSV files whose decimals follow a comma: which columns have them, and the same numbers with a point.


def _with_decimal_points(frame: Frame, reader: Reader, declared: Mapping[str, Collection[str]]) -> Frame:
    """A frame with a point before the decimals of numbers, as it is stored otherwise; notes which columns changed."""
    known = {name: frozenset(declared.get(name, ())) for name in frame.columns}
    commas = [name for name in frame.columns if _has_decimal_commas(frame, name, reader.reading, known[name])]
    if commas and frame.decimal is None:
        found = f"decimals follow a comma in column{'s' * (len(commas) > 1)} {shorten_list(commas)}"
        reader.note(frame.source, found, "csv_decimal= names another mark")
    changed = {name: _with_points(frame.columns[name], known[name]) for name in commas}
    return replace(frame, columns={**frame.columns, **changed}, decimal="point")


def _has_decimal_commas(frame: Frame, name: str, reading: Reading, declared: frozenset[str]) -> bool:
    """Whether a column has numbers whose decimals follow a comma: all are, none with a point, not all as thousands."""
    column = frame.columns[name]
    if column.values.dtype.kind in "iuf":
        return False
    if frame.decimal == "comma":
        return True
    if any(NUMBER.fullmatch(with_point) for with_point in with_points(declared) if with_point not in declared):
        return False
    texts, lacking = reading.meaning(column.texts(), declared)
    used = np.bincount(column.codes + 1, minlength=len(texts) + 1)[1:] > 0
    held = [text.strip() for text, keep in zip(texts, used & ~lacking, strict=True) if keep]
    marked = [text for text in held if "," in text]
    return (
        bool(marked)
        and not all(map(GROUPED.fullmatch, marked))
        and all("." not in text and NUMBER.fullmatch(text.replace(",", ".")) for text in held)
    )


def _with_points(column: Column, declared: frozenset[str]) -> Column:
    """A column of text with a point in its numbers where they have a comma; declared values stay as they are."""
    texts = column.texts()
    changed = [text if text in declared else new for text, new in zip(texts, with_points(texts), strict=True)]
    return replace(column, values=np.array(changed, dtype=object))


def with_points(texts: Iterable[str]) -> list[str]:
    """Texts with a decimal point in place of a comma, where that makes a number."""
    pointed = ((text, text.replace(",", ".")) for text in texts)
    return [new if new != text and "." not in text and NUMBER.fullmatch(new) else text for text, new in pointed]


# Whether a column holds numbers or names, and what may surprise about that.

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
    """Whether a column holds numbers: as its type says, else when its values are, without leading zeros."""
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


# Names of columns that are ours, beside columns that are called as an attribute is: no two are alike.

PREFIX = "maxent_"


def named_frame(columns: Iterable[Any], names: Iterable[str]) -> DataFrame:
    """Columns side by side, under names of which several may be equal."""
    import pandas as pd

    frame = pd.DataFrame(dict(enumerate(columns)))
    frame.columns = pd.Index(list(names))
    return frame


def own_names(ours: Sequence[str], theirs: Collection[str]) -> list[str]:
    """Names for columns of ours: the name of an attribute gets a prefix, as often as it takes."""
    taken = frozenset(theirs)

    def free(name: str) -> str:
        return name if name not in taken else free(PREFIX + name)

    return [free(name) for name in ours]


def encoded_columns(
    frame: Frame, attributes: Iterable[Attribute], keep: IntArray | slice, problems: list[Problem]
) -> tuple[npt.NDArray[Any], tuple[npt.NDArray[Any], ...]]:
    """`encode_column` of those of some attributes that are there: codes, shape (n_kept, n_columns), and levels."""
    there = [attribute for attribute in attributes if attribute.name in frame.columns]
    named = [attribute.name for attribute in there if attribute.values is not None]
    texts = dict(zip(named, map(Column.texts, map(frame.columns.__getitem__, named)), strict=True))
    columns, levels = [], []
    for attribute in there:
        column, level = encode_column(frame, attribute, keep, problems, texts.get(attribute.name))
        # In the smallest integers that hold it, one more and -1: of many people codes take most of the memory.
        columns.append(column.astype(np.min_scalar_type(-1 - len(level))))
        levels.append(level)
    codes = np.empty((len(there), len(frame.lines[keep])), np.result_type(np.int8, *columns))
    for j, column in enumerate(columns):  # which are looked at one by one
        codes[j] = column
    return codes.T, tuple(levels)


def encode_column(
    frame: Frame,
    attribute: Attribute,
    keep: IntArray | slice,
    problems: list[Problem],
    texts: list[str] | None = None,
) -> tuple[IntArray, npt.NDArray[Any]]:
    """Return the codes of the kept rows and the levels they index; problems are those of all rows."""
    if attribute.values is not None:
        codes = categorical(frame, attribute.name, attribute.values, problems, texts=texts)
        return codes[keep], np.array(attribute.values, dtype=object)
    column = frame.columns[attribute.name]
    numbers = finite(frame, attribute.name, problems, optional=attribute.missing)
    kept = column.codes[keep]
    # One more than the values, for the code -1 of missing ones.
    uses = np.bincount(kept + 1, minlength=len(numbers) + 1) > 0
    levels = np.unique(numbers[uses[1:] & ~np.isnan(numbers)])
    absent = len(levels) if attribute.missing else -1  # else it has been reported and must only not fail here
    if attribute.missing and uses[0]:
        frame.reader.count_missing(frame.source, attribute.name, missing_rows(frame, attribute.name))
        levels = np.append(levels, np.nan)
    return np.append(np.searchsorted(levels, numbers), absent)[kept], levels
