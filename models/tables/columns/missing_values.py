"""Cells as they are read: text in its form, and which of them have no value."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from math import isnan

import numpy as np

from maxent.models.arrays import BoolArray
from maxent.models.reading import Reader, Reading
from maxent.models.tables.columns.spellings import note_united
from maxent.models.tables.frame import Column, Frame, shorten
from maxent.models.text.spelling import cleaned

MISSING = "(missing)"  # the value of a domain that stands for cells without one
OTHER = "(other)"  # the value of a domain that stands for all values that it does not name
_NAMED = 3  # spellings that one note names


def understood(frame: Frame, reader: Reader, declared: Mapping[str, Collection[str]] | None = None) -> Frame:
    """Read the cells of a frame, each different one once.

    ``frame``: as it is stored. ``reader``: says which cells are missing, and what becomes of text. ``declared``: values
    that a release or a domain names: none of them means that a value is missing, however it is spelled. The result: all
    missing cells have the code -1.
    """
    known = declared or {}
    columns = {name: _understood(frame, name, reader, frozenset(known.get(name, ()))) for name in frame.columns}
    return replace(frame, columns=columns, reader=reader)


def _understood(frame: Frame, name: str, reader: Reader, declared: frozenset[str]) -> Column:
    column, reading = frame.columns[name], reader.reading
    numeric = None if frame.text else column.numeric
    rows = frame.rows_with(name)
    blanks = {"": int(rows[-1])}
    if column.values.dtype.kind in "iuf" and not reading.absent_numbers:
        return replace(column, numeric=numeric, blanks=blanks)
    stored, (texts, lacking) = column.texts(), meaning(column, reading, declared)
    for text in sorted(declared.intersection(texts) - {""}):
        number = int(rows[:-1][np.array(texts, object) == text].sum()) if reading.absent(text) else 0
        if number:
            found = f"column {shorten(name)}: {shorten(text)} ({frame.in_words(number)}) is a value, as it is declared"
            reader.note(frame.source, found)
    if reading.text == "strip":
        note_united(frame, name, reader, stored, texts)
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


def codes_of(domain: Iterable[str]) -> tuple[dict[str, int], int]:
    """The index of each value of a domain, and that of cells without a value.

    That is the index of `MISSING`, or of an empty value, or -1 where the domain has neither.
    """
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
