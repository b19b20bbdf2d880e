"""Excel workbooks (.xlsx): a sheet is read row by row as text, as CSV is."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from datetime import datetime, time
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, BinaryIO, ClassVar, Literal
from xml.etree.ElementTree import iterparse

import numpy as np

from maxent.models.arguments import shorten, shorten_list
from maxent.models.arrays import IntArray
from maxent.models.errors import MaxentError, Problem, invalid
from maxent.models.packages import need
from maxent.models.reading import Decimal, Reader
from maxent.models.tables.frame import LISTED, too_large

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 1 << 20  # rows that a sheet can have
_BATCH = 1 << 14  # rows that are read at once
_CELLS = 1 << 20  # cells that are read at once
_HELD = 5  # bytes that are held for a byte of XML that is no sheet: shared texts above all
_WHOLE = 2.0**53  # up to which numbers without decimals are written without a point
_PLACE = 8  # bytes of a cell as it is read
_LOOKED_AT = 100  # rows whose formats are looked at
_FORMULA = re.compile(rb"<(?:\w+:)?f[ >/]")

Cells = tuple[Any, ...]


@dataclass(slots=True)
class ExcelFile:
    """A sheet of a workbook, whose header is the first row that is not blank."""

    source: str
    open: Callable[[], BinaryIO]
    sheet: str
    reader: Reader
    header: tuple[str, ...] = ()
    unit: ClassVar[Literal["row"]] = "row"
    text: ClassVar[bool] = True
    times: ClassVar[frozenset[str]] = frozenset()
    rows: ClassVar[int] = 0
    decimal: ClassVar[Decimal | None] = "point"
    _lines: list[int] = field(default_factory=list)
    _ragged: list[Problem] = field(default_factory=list)

    @property
    def types(self) -> Mapping[str, pa.DataType]:
        """The type of every column: text."""
        import pyarrow as pa

        return dict.fromkeys(self.header, pa.string())

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows that have no more cells than the header: the first column of each name, in this order."""
        import pyarrow as pa

        self._lines.clear()
        self._ragged.clear()
        chosen = [self.header.index(name) for name in names]
        schema = pa.schema([(str(i), pa.string()) for i in range(len(names))])
        rows, first = self._rows(), True
        while batch := _some(rows):
            if first:
                self._note_percentages(names, chosen, batch[:_LOOKED_AT])
                first = False
            columns = [pa.array([_text(row, at) for row in batch], pa.string()) for at in chosen]
            yield pa.record_batch(columns, schema=schema) if columns else _empty(len(batch))

    def place(self, number: int) -> str:
        """The place of a row in words."""
        return f"row {number} of sheet {shorten(self.sheet)}"

    def lines(self, rows: int, wanted: IntArray) -> tuple[IntArray, list[Problem]]:
        """Return the rows of the sheet of some of the ``rows`` that `batches` yielded, from 0, and the ragged ones."""
        return np.array(self._lines, dtype=np.int64)[wanted], list(self._ragged)

    def _rows(self) -> Iterator[Cells]:
        """Yield the rows below the header that are neither blank nor ragged; their numbers are kept."""
        width, left_out = len(self.header), 0
        for number, cells in islice(_filled(self), 1, None):
            if len(cells) > width:
                left_out += 1
                expected = f"at most {width}, as in the header"
                if left_out <= LISTED:
                    self._ragged.append(Problem(self.place(number), "cells", expected, str(len(cells))))
                continue
            self._lines.append(number)
            yield cells
        if left_out > LISTED:
            self._ragged.append(Problem(f"and {left_out - LISTED} more rows", "cells", f"{width}", "more"))

    def _note_percentages(self, names: Sequence[str], chosen: Sequence[int], rows: Sequence[Cells]) -> None:
        for name, at in zip(names, chosen, strict=True):
            if any(len(row) > at and row[at].data_type == "n" and "%" in str(row[at].number_format) for row in rows):
                found = f"column {shorten(name)}: percentages are read as the numbers that they are, 12% as 0.12"
                self.reader.note(self.source, found)


def open_excel(source: str, opener: Callable[[], BinaryIO], reader: Reader) -> ExcelFile:
    """Choose a sheet of a workbook, and read its header; several sheets are noted."""
    most, wanted = reader.reading.max_memory, reader.reading.sheet
    with _workbook_refused(source), opener() as file, zipfile.ZipFile(file) as archive:
        sizes = [(entry.filename.startswith("xl/worksheets/"), entry.file_size) for entry in archive.infolist()]
    size = max(sum(size for _, size in sizes), sum(_HELD * size for is_sheet, size in sizes if not is_sheet))
    if size > most:
        raise too_large(source, most, "an archive of more")
    need("openpyxl", "an Excel workbook needs openpyxl")
    with _opened(source, opener) as book:
        sheets = {sheet.title: sheet for sheet in book.worksheets}
        if not sheets or (wanted is not None and wanted not in sheets):
            known = f"one of {shorten_list(sheets)}" if sheets else "a sheet with cells"
            raise invalid(source, "workbook", "sheet", f"{known} (sheet=)", "none" if wanted is None else repr(wanted))
        name = next(iter(sheets)) if wanted is None else wanted
        part = sheets[name]._worksheet_path
    with _workbook_refused(source):
        _refuse_missing_results(source, opener, part)
    if wanted is None and len(sheets) > 1:
        reader.note(source, f"sheet {shorten(name)} is read, the first of {len(sheets)}", "sheet= names another one")
    table = ExcelFile(source, opener, name, reader)
    with closing(_filled(table)) as rows:
        _, first = next(rows, (0, ()))
    if not first:
        raise invalid(source, "file", "header", "a row with the names of the columns", "an empty sheet")
    return replace(table, header=tuple(_text(first, at) or "" for at in range(len(first))))


def _filled(table: ExcelFile) -> Generator[tuple[int, Cells], None, None]:
    """Yield the rows of a sheet that are not blank with their numbers, without empty cells at their ends."""
    source, most = table.source, table.reader.reading.max_memory
    number = read = 0
    with _opened(source, table.open) as book:
        rows = book[table.sheet].rows
        while batch := _read(source, rows):
            for cells in batch:
                number += 1
                read += _PLACE * len(cells)
                if number > _ROWS or read > most:
                    raise too_large(source, most, "more cells, or more rows than a sheet can have")
                end = len(cells)
                while end and cells[end - 1].value in (None, ""):
                    end -= 1
                if end:
                    yield number, cells[:end]


def _read(source: str, rows: Iterator[Cells]) -> list[Cells]:
    """The next rows as openpyxl has them."""
    with _workbook_refused(source):
        return _some(rows)


def _some(rows: Iterator[Cells]) -> list[Cells]:
    """The next rows, fewer if they are wide: one cell of a file may be the last one of 16,384."""
    found: list[Cells] = []
    left = _CELLS
    while len(found) < _BATCH and left > 0 and (row := next(rows, None)) is not None:
        found.append(row)
        left -= len(row)
    return found


@contextmanager
def _opened(source: str, opener: Callable[[], BinaryIO]) -> Iterator[Any]:
    """A workbook that is read from the file as it is needed; the sizes that its parts state are not believed."""
    from openpyxl import load_workbook

    with opener() as file:
        with _workbook_refused(source):
            book = load_workbook(file, read_only=True, data_only=True)
            for sheet in book.worksheets:
                sheet.reset_dimensions()
        try:
            yield book
        finally:
            book.close()


@contextmanager
def _workbook_refused(source: str) -> Iterator[None]:
    """Turn whatever goes wrong within openpyxl into a refusal of the file; what it warns of or prints is left out."""
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    except (MaxentError, MemoryError, OSError):
        raise
    except Exception as error:
        found = "a damaged one, one with a password, or another file"
        raise invalid(source, "file", "format", "an Excel workbook (.xlsx)", found) from error


def _refuse_missing_results(source: str, opener: Callable[[], BinaryIO], part: str) -> None:
    """Refuse formulas whose results the program that wrote them did not keep: nothing here computes them."""
    with opener() as file, zipfile.ZipFile(file) as archive:
        with archive.open(part) as sheet:
            if not _has_formulas(sheet):
                return
        with archive.open(part) as sheet:
            for _, element in iterparse(sheet):
                kind = element.tag.rpartition("}")[2]
                parts = {child.tag.rpartition("}")[2]: child.text for child in element} if kind == "c" else {}
                if "f" in parts and not parts.get("v") and element.get("t") != "str":  # a result may be empty text
                    place, expected = f"cell {element.get('r')}", "a formula with its result (save the file in Excel)"
                    raise invalid(source, place, "formula", expected, "none, as of programs that do not compute")
                if kind in ("c", "row"):
                    element.clear()


def _has_formulas(sheet: IO[bytes]) -> bool:
    """Whether a sheet has any."""
    before = b""
    while block := sheet.read(1 << 16):
        if _FORMULA.search(before + block):
            return True
        before = block[-32:]
    return False


def _text(cells: Cells, at: int) -> str | None:
    """A cell as text, None for nothing: numbers as CSV would have them, dates and times as Python has."""
    value = cells[at].value if at < len(cells) else None
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE:
        return str(int(value))
    if isinstance(value, datetime):
        return str(value.date() if value.time() == time() else value)
    return str(value)


def _empty(rows: int) -> pa.RecordBatch:
    """Rows without columns."""
    import pyarrow as pa

    return pa.record_batch([pa.nulls(rows)], names=[""]).select([])
