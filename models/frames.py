"""CSV, Parquet and DataFrames as one thing: named columns of coded values, with the line of every row."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from maxent.models.errors import Problem, invalid

if TYPE_CHECKING:
    from pandas import DataFrame, Series

Source: TypeAlias = "DataFrame | str | PathLike[str]"
IntArray: TypeAlias = npt.NDArray[np.int64]
FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

LISTED = 10
"""Problems of one kind that are spelled out before the rest is only counted."""

_LONGEST_LINE = 1 << 20
_FOREIGN = {
    b"PK\x03\x04": "a zip archive or Excel workbook",
    b"\xd0\xcf\x11\xe0": "an Excel workbook",
    b"\x1f\x8b": "a gzip archive",
    b"PAR1": "a Parquet file (name it .parquet)",
    b"\xff\xfe": "UTF-16 text (save it as UTF-8)",
    b"\xfe\xff": "UTF-16 text (save it as UTF-8)",
}


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One column, factorised: row i holds ``values[codes[i]]``, or nothing where the code is -1.

    ``values`` are numbers where the source has a number type, else an object array; two of them may read alike
    (1 and "1"), and some may occur in no row.
    """

    codes: IntArray
    values: npt.NDArray[Any]

    def texts(self) -> list[str]:
        """Return the values as text: strings as they are, True and 1 as ``True`` and ``1``, floats by `repr`."""
        if self.values.dtype == np.float32 or self.values.dtype == np.float16:
            return [str(value) for value in self.values]
        return [_text(value) for value in self.values.tolist()]


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """The wanted columns of a source that were found in it.

    ``lines`` has the line of the file each row starts on (the header being line 1), or the number of the row,
    from 1, when ``unit`` says so; ``problems`` are the ragged rows, which the columns leave out, and wanted
    columns that occur twice.
    """

    source: str
    unit: Literal["line", "row"]
    header: tuple[str, ...]
    columns: Mapping[str, Column]
    lines: IntArray
    problems: tuple[Problem, ...] = ()

    @property
    def heading(self) -> str:
        """Where the names of the columns are."""
        return "header" if self.unit == "line" else "columns"

    def place(self, row: int) -> str:
        """Name the place of a row: ``line 7``."""
        return f"{self.unit} {self.lines[row]}"


def shorten(value: object, width: int = 60) -> str:
    """Return the `repr` of a value, cut to about ``width`` characters."""
    # Cut before repr too: a cell may be megabytes long.
    text = repr(value[: width + 1] if isinstance(value, str) else value)
    return text if len(text) <= width else f"{text[: width - 3]}..."


def shorten_list(values: Iterable[object], width: int = 60) -> str:
    """Join the `repr` of values with commas, dropping those beyond about ``width`` characters."""
    text = ", ".join(shorten(value) for value, _ in zip(values, range(width), strict=False))
    return text if len(text) <= width else f"{text[: width - 3]}..."


def read_frame(source: Source, name: str, wanted: Iterable[str]) -> Frame:
    """Read the wanted columns of a DataFrame, a CSV file, or a Parquet file (suffix .parquet or .pq).

    Parameters
    ----------
    source : DataFrame or path
        CSV is UTF-8, with commas and a header line; blank lines are skipped.
    name : str
        What to call a DataFrame in messages; a file goes by its name.
    wanted : iterable of str
        Columns to read; those that are not there are missing from `Frame.columns`.

    Raises
    ------
    InvalidInput
        When the source cannot be read as a table at all.
    """
    names = tuple(dict.fromkeys(wanted))
    if not isinstance(source, (str, PathLike)):
        return _from_pandas(source, name, names)
    path = Path(source)
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reasons: dict[type[Exception], str] = {
            FileNotFoundError: "no such file",
            IsADirectoryError: "a directory",
            PermissionError: "a file you may not read",
        }
        found = reasons.get(type(error), str(error))
        raise invalid(str(path), "file", "path", "a CSV or Parquet file that can be read", found) from error
    if path.suffix.lower() in {".parquet", ".pq"}:
        return _from_parquet(data, str(path), names)
    return _from_csv(data, str(path), names)


def missing_columns(frame: Frame, names: Iterable[str]) -> list[Problem]:
    """List the names that are no columns of the source, each with the column that was probably meant."""
    expected = "a column of this name"
    return [
        Problem(frame.heading, name, expected, f"none{_suggestion(name, frame.header)}")
        for name in names
        if name not in frame.columns
    ]


def _suggestion(name: str, header: Sequence[str]) -> str:
    """Say which column may have been meant, or which there are."""
    separators = [mark for mark in (";", "\t", "|") if len(header) == 1 and mark in header[0]]
    if separators:
        return f" in {shorten(header[0])} (cells are separated by commas, not by {separators[0]!r})"
    alike = [other for other in header if other.strip().lower() == name.strip().lower()]
    close = alike or get_close_matches(name, header[:1000], n=1)
    if close and close[0].strip() == name.strip():
        return f", but {shorten(close[0])} (spaces count)"
    return f"; did you mean {shorten(close[0])}?" if close else f" among {shorten_list(header)}"


def listed(problems: list[Problem], what: str) -> list[Problem]:
    """Cut a list of problems of one kind, saying how many ``what`` more there are."""
    if len(problems) <= LISTED:
        return problems
    rest = problems[LISTED]
    more = Problem(f"and {len(problems) - LISTED} more {what}", rest.field, rest.expected, "the like")
    return [*problems[:LISTED], more]


def _text(value: object) -> str:
    """Return one value as the text it stands for."""
    if isinstance(value, str):
        return str(value)
    # repr of a NumPy float names its type.
    return repr(float(value)) if isinstance(value, float) else str(value)


# --- CSV -------------------------------------------------------------------------------------------------------


def _from_csv(data: bytes, source: str, wanted: Sequence[str]) -> Frame:
    """Read a CSV file; line numbers are computed one by one only where rows and lines are not the same."""
    data, blank = _checked(data, source)
    header = _header(data, source, blank)
    indices, first = _wanted_indices(header, wanted)
    columns, ragged = _parse(data, len(header), sorted(first.values()), source, blank)
    named = {name: columns[index] for name, index in first.items()}
    rows = len(next(iter(columns.values())).codes)
    problems = [Problem("header", name, "one column of this name", f"{len(indices[name])} of them") for name in indices]
    exact = (
        not ragged
        and data.count(b"\n") == rows + 1
        and data.count(b"\r") == data.count(b"\r\n")
        and data.count(b'"') % 2 == 0
    )
    if exact:
        lines = np.arange(rows, dtype=np.int64) + blank + 2
    else:
        lines, uneven = _scan(data, len(header), source, blank)
        problems += uneven
        if len(lines) != rows:
            raise invalid(source, "file", "quotes", "cells quoted as a whole, quotes inside doubled", "other quoting")
    return Frame(source, "line", header, named, lines, tuple(problems))


def _checked(data: bytes, source: str) -> tuple[bytes, int]:
    r"""Refuse what is no UTF-8 text; return it without blank lines around it (and how many led), ended by ``\n``."""
    for magic, what in _FOREIGN.items():
        if data.startswith(magic):
            raise invalid(source, "file", "format", "CSV text in UTF-8", what)
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    if (at := data.find(b"\0")) >= 0:
        line = data.count(b"\n", 0, at) + 1
        raise invalid(source, f"line {line}", "encoding", "CSV text in UTF-8", "a NUL byte (is it a binary file?)")
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            column = error.start - data.rfind(b"\n", 0, error.start)
            found = f"byte 0x{data[error.start]:02x} at position {column} (save the file as UTF-8)"
            raise invalid(source, f"line {line}", "encoding", "CSV text in UTF-8", found) from error
    body = data.lstrip(b"\r\n")
    if not body.strip():
        raise invalid(source, "file", "header", "a line with the names of the columns", "an empty file")
    blank = data.count(b"\n", 0, len(data) - len(body))
    return body.rstrip(b"\r\n") + b"\n", blank


def _header(data: bytes, source: str, blank: int) -> tuple[str, ...]:
    """Return the names of the columns."""
    return tuple(next(_records(data, source, blank))[1])


def _wanted_indices(header: Sequence[str], wanted: Sequence[str]) -> tuple[dict[str, list[int]], dict[str, int]]:
    """Return where the wanted columns occur more than once, and where each occurs first."""
    where: dict[str, list[int]] = {}
    for index, name in enumerate(header):
        where.setdefault(name, []).append(index)
    repeated = {name: where[name] for name in wanted if len(where.get(name, ())) > 1}
    return repeated, {name: where[name][0] for name in wanted if name in where}


def _parse(data: bytes, width: int, indices: list[int], source: str, blank: int) -> tuple[dict[int, Column], bool]:
    """Parse and factorise the columns at the indices (the first one if there are none); say if rows were ragged."""
    import pyarrow as pa
    from pyarrow import csv as reader

    ragged = False

    def skip(row: object) -> Literal["skip"]:
        nonlocal ragged
        ragged = True
        return "skip"

    chosen = [str(index) for index in indices] or ["0"]
    coded = pa.dictionary(pa.int32(), pa.string())
    try:
        table = reader.read_csv(
            pa.BufferReader(data),
            # Names of our own: those of the file may repeat.
            read_options=reader.ReadOptions(
                column_names=[str(index) for index in range(width)],
                skip_rows_after_names=1,
                block_size=max(_LONGEST_LINE, 32 * width),
            ),
            parse_options=reader.ParseOptions(newlines_in_values=b'"' in data, invalid_row_handler=skip),
            convert_options=reader.ConvertOptions(
                include_columns=chosen,
                column_types=dict.fromkeys(chosen, coded),
                null_values=[],
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowException as error:
        # The scan names the line; what it lets pass is a row too long for the parser.
        _scan(data, width, source, blank)
        found = shorten(str(error).splitlines()[0])
        raise invalid(source, "file", "rows", f"rows of at most {_LONGEST_LINE} bytes", found) from error
    return {int(name): _from_arrow(table[name]) for name in chosen}, ragged


def _records(data: bytes, source: str, blank: int) -> Iterator[tuple[int, list[str]]]:
    """Yield every row that is not blank with the line it starts on: exact, and slow."""
    # Data hold no NUL, so that the end mark is read as a row of its own unless an open quote swallows it.
    reader = csv.reader(chain(_lines(data, source, blank), ["\0"]))
    line = blank + 1
    try:
        for record in reader:
            if record == ["\0"]:
                return
            if record and record[-1].endswith("\0"):
                found = f"a quote that is never closed, in {shorten(record[-1][:-1])}"
                raise invalid(source, f"line {line}", "cell", "quotes in pairs", found)
            if record:
                yield line, record
            line = blank + reader.line_num + 1
    except csv.Error as error:
        expected = f"cells of at most {csv.field_size_limit()} characters"
        raise invalid(source, f"line {line}", "cell", expected, f"{error} (is a quote not closed?)") from error


def _lines(data: bytes, source: str, blank: int) -> Iterator[str]:
    """Yield the lines of the file."""
    stream = io.TextIOWrapper(io.BytesIO(data), "utf-8", newline="")
    for number, line in enumerate(iter(lambda: stream.readline(_LONGEST_LINE + 1), ""), blank + 1):
        if len(line) > _LONGEST_LINE:
            expected = f"at most {_LONGEST_LINE} characters (are the ends of the lines lost?)"
            raise invalid(source, f"line {number}", "line", expected, "a longer one")
        yield line


def _scan(data: bytes, width: int, source: str, blank: int) -> tuple[IntArray, list[Problem]]:
    """Return the line of every row that has ``width`` cells, and the rows that have not."""
    records = _records(data, source, blank)
    next(records)
    lines: list[int] = []
    ragged: list[tuple[int, int]] = []
    for line, record in records:
        if len(record) == width:
            lines.append(line)
        else:
            ragged.append((line, len(record)))
    expected = f"{width}, as in the header"
    problems = [Problem(f"line {line}", "cells", expected, str(cells)) for line, cells in ragged[:LISTED]]
    if len(ragged) > LISTED:
        problems.append(Problem(f"and {len(ragged) - LISTED} more lines", "cells", expected, "other numbers"))
    return np.array(lines, dtype=np.int64), problems


# --- Parquet and pandas ----------------------------------------------------------------------------------------


def _from_parquet(data: bytes, source: str, wanted: Sequence[str]) -> Frame:
    """Read the wanted columns of a Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(pa.BufferReader(data))
        header = tuple(file.schema_arrow.names)
        indices, first = _wanted_indices(header, wanted)
        table = file.read(columns=list(first))
        rows = file.metadata.num_rows
        columns = {name: _from_arrow(table.column(table.schema.names.index(name))) for name in first}
    except pa.ArrowNotImplementedError as error:
        expected = "columns of text, numbers or other plain values"
        raise invalid(source, "file", "format", expected, shorten(str(error).splitlines()[0])) from error
    except (pa.ArrowException, OSError) as error:
        found = shorten(str(error).splitlines()[0])
        raise invalid(source, "file", "format", "a Parquet file", found) from error
    return _by_row(source, header, columns, rows, indices)


def _from_pandas(source: object, name: str, wanted: Sequence[str]) -> Frame:
    """Factorise the wanted columns of a DataFrame; labels of columns are compared as text."""
    import pandas as pd

    if not isinstance(source, pd.DataFrame):
        raise invalid(name, "argument", name, "a pandas DataFrame or the path of a file", shorten(source))
    header = tuple(str(label) for label in source.columns)
    indices, first = _wanted_indices(header, wanted)
    columns = {column: _from_series(source.iloc[:, index]) for column, index in first.items()}
    return _by_row(name, header, columns, len(source), indices)


def _by_row(
    source: str, header: tuple[str, ...], columns: dict[str, Column], rows: int, repeated: dict[str, list[int]]
) -> Frame:
    """Return a frame whose places are the numbers of its rows."""
    problems = [
        Problem("columns", name, "one column of this name", f"{len(at)} of them") for name, at in repeated.items()
    ]
    return Frame(source, "row", header, columns, np.arange(1, rows + 1, dtype=np.int64), tuple(problems))


def _from_arrow(array: Any) -> Column:
    """Return an Arrow chunked array as a column; nulls and NaN are missing."""
    import pyarrow as pa

    coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    coded = coded.unify_dictionaries().combine_chunks()
    if isinstance(coded, pa.ChunkedArray):
        # combine_chunks keeps a list of chunks where there is none to combine.
        coded = coded.chunk(0) if coded.num_chunks else pa.array([], type=coded.type)
    # DLPack, as to_numpy would import pandas: slower than reading most tables.
    indices = coded.indices if coded.null_count == 0 else coded.indices.fill_null(-1)
    codes = np.from_dlpack(indices).astype(np.int64)
    kind = coded.dictionary.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        values = coded.dictionary.to_numpy(zero_copy_only=False)
        absent = np.isnan(values)
    else:
        values = np.empty(len(coded.dictionary), dtype=object)
        values[:] = coded.dictionary.to_pylist()
        absent = np.array([value is None for value in values], dtype=bool)
    if absent.any():
        codes = np.where((codes >= 0) & absent[codes], -1, codes)
    return Column(codes, values)


def _from_series(series: Series[Any]) -> Column:
    """Return a column of a DataFrame, factorised."""
    import pandas as pd

    if isinstance(series.dtype, pd.CategoricalDtype):
        return Column(series.cat.codes.to_numpy().astype(np.int64), _plain(series.cat.categories))
    if series.dtype == object and pd.api.types.infer_dtype(series, skipna=True) not in {"string", "empty"}:
        # 1, 1.0 and True are equal for pandas, but do not read alike; lists cannot be hashed.
        texts = [None if absent else _text(value) for value, absent in zip(series, series.isna(), strict=True)]
        series = pd.Series(texts, dtype=object)
    codes, values = pd.factorize(series)
    return Column(codes.astype(np.int64), _plain(values))


def _plain(values: Any) -> npt.NDArray[Any]:
    """Return an index or extension array as a NumPy array of numbers or objects."""
    array = np.asarray(values)
    return array if array.dtype.kind in "iuf" else np.asarray(values, dtype=object)
