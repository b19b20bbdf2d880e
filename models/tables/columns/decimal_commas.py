"""Numbers of CSV files whose decimals follow a comma: which columns have them, and the same numbers with a point."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np

from maxent.models.reading import Reader, Reading
from maxent.models.tables.columns.cell_values import GROUPED
from maxent.models.tables.columns.missing_values import meaning
from maxent.models.tables.frame import Column, Frame, shorten_list
from maxent.models.text.spelling import NUMBER


def with_decimal_points(frame: Frame, reader: Reader, declared: Mapping[str, Collection[str]] | None = None) -> Frame:
    """A frame with a point before the decimals of numbers, as it is stored otherwise; notes which columns changed.

    Parameters are those of `maxent.models.tables.columns.missing_values.understood`; declared values stay as they are.
    """
    known = {name: frozenset((declared or {}).get(name, ())) for name in frame.columns}
    commas = [name for name in frame.columns if _has_decimal_commas(frame, name, reader.reading, known[name])]
    if commas and frame.decimal is None:
        found = f"decimals follow a comma in column{'s' * (len(commas) > 1)} {shorten_list(commas)}"
        reader.note(frame.source, found, "csv_decimal= names another mark")
    changed = {name: _with_points(frame.columns[name], known[name]) for name in commas}
    return replace(frame, columns={**frame.columns, **changed}, decimal="point")


def _has_decimal_commas(frame: Frame, name: str, reading: Reading, declared: frozenset[str]) -> bool:
    """Whether a column has numbers whose decimals follow a comma.

    Unless that was said of the file, all of its values are numbers, none has a point, not all of them could be numbers
    with commas for thousands, and no declared value has a comma in it.
    """
    column = frame.columns[name]
    if frame.decimal == "point" or column.values.dtype.kind in "iuf":
        return False
    if frame.decimal == "comma":
        return True
    if any(NUMBER.fullmatch(with_point) for with_point in with_points(declared) if with_point not in declared):
        return False
    texts, lacking = meaning(column, reading, declared)
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
