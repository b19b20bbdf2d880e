"""Result files: tables (.csv, .parquet) or documents (.json), with cells that no spreadsheet runs as a formula."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from maxent.models.files.json_files import as_json_text
from maxent.models.files.output import KEY, FileKind, check_outputs, write_atomically, write_text

if TYPE_CHECKING:
    from pandas import DataFrame


# Text in CSV files that a spreadsheet would run as a formula: how it is written so that none does, and read back.
#
# A spreadsheet takes a cell for a formula that begins with ``=``, ``+``, ``-`` or ``@`` (also in full width), or with a
# tab or an end of line, behind which it looks for one. Numbers are none. Such a text gets an apostrophe before it,
# which makes it text (OWASP, "CSV Injection"). Where semicolons or tabs part the cells, a text with one of these begins
# another cell: behind them, and behind ends of lines, it is the same. A text that has apostrophes there already gets
# one more, so that taking one away gives every text back.

_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![^;\t\r\n])"
_FORMULA = rf"(?!{_NUMBER})[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]"
_BEFORE = r"(?<![^;\t\r\n])"
_UNGUARDED = re.compile(rf"{_BEFORE}(?='*{_FORMULA})")
_GUARDED = re.compile(rf"{_BEFORE}'(?='*{_FORMULA})")


def guarded(text: str) -> str:
    """A text as no spreadsheet runs it."""
    return _UNGUARDED.sub("'", text)


def unguarded(text: str) -> str:
    """The text that `guarded` wrote so."""
    return _GUARDED.sub("", text)


def is_formula(text: str) -> bool:
    """Whether a spreadsheet may run a text."""
    return re.search(rf"{_BEFORE}{_FORMULA}", text) is not None


POSTERIOR = (".csv", ".parquet", ".json")  # suffixes of the files that a result can be written to
PLOTS = (".svg", ".png", ".pdf")  # suffixes of the files that a plot can be written to
REPORT = (".html",)  # suffixes of the files that a report can be written to


def save_rows(
    document: Mapping[str, Any], key: str, path: str | os.PathLike[str], kind: FileKind, *, csv_literal: bool = False
) -> None:
    """Write a document as JSON, or its list of rows under ``key`` as a table; the rest is as in `save_frame`."""
    check_outputs({"output": (os.fspath(path), POSTERIOR)})
    import pandas as pd

    if os.fspath(path).lower().endswith(".json"):
        save_document(path, document, kind)
        return
    cells = [{name: _cell(value) for name, value in row.items()} for row in document[key]]
    # As objects: a column of whole numbers with gaps would turn into floats.
    frame = pd.DataFrame(cells, dtype=object)
    save_frame(path, frame, lambda rows: {**document, key: rows}, kind, csv_literal=csv_literal)


def save_document(
    path: str | os.PathLike[str], document: Mapping[str, Any], kind: FileKind, *, public: bool = False
) -> None:
    """Write a document as JSON, whose ``format`` is its kind, atomically."""
    write_text(path, as_json_text({"format": kind.name, **document}) + "\n", public=public)


def _cell(value: object) -> object:
    """A value of a row as one cell: lists as JSON."""
    return json.dumps(value) if isinstance(value, list) else value


def save_frame(
    path: str | os.PathLike[str],
    frame: DataFrame,
    document: Callable[[list[dict[str, Any]]], Mapping[str, Any]],
    kind: FileKind,
    *,
    csv_literal: bool = False,
    public: bool = False,
) -> None:
    """Write a table (.csv, .parquet), or the document made of its rows (.json), marked with its ``kind``."""
    check_outputs({"output": (os.fspath(path), POSTERIOR)})
    suffix = os.fspath(path).lower().rpartition(".")[2]
    if suffix == "csv":
        table = frame if csv_literal else guarded_frame(frame)
        write_atomically(path, lambda name: table.to_csv(name, index=False, lineterminator="\n"), public=public)
    elif suffix == "parquet":
        write_atomically(path, lambda name: _write_parquet(frame, name, kind), public=public)
    else:
        rows = [dict(zip(frame.columns, row, strict=True)) for row in frame.itertuples(index=False, name=None)]
        save_document(path, document(rows), kind, public=public)


def _write_parquet(frame: DataFrame, path: str, kind: FileKind) -> None:
    """What pandas would write, with the kind among the metadata."""
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.Table.from_pandas(frame, preserve_index=False)
    parquet.write_table(table.replace_schema_metadata({**(table.schema.metadata or {}), KEY: kind.name}), path)


def guarded_frame(frame: DataFrame) -> DataFrame:
    """A table whose texts, names of columns included, no spreadsheet runs as formulas."""
    import pandas as pd

    columns = {}
    for j in range(frame.shape[1]):
        column = frame.iloc[:, j]
        if not pd.api.types.is_numeric_dtype(column.dtype):
            changed = {text: guarded(text) for text in column.unique() if isinstance(text, str)}
            if any(text != safe for text, safe in changed.items()):
                column = column.map(lambda cell, changed=changed: changed.get(cell, cell))
        columns[j] = column
    return pd.DataFrame(columns, index=frame.index).set_axis([guarded(str(name)) for name in frame.columns], axis=1)
