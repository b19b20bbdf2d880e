"""CSV text: its bytes are checked first, then it is parsed batch by batch, by one parser whatever its size."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Literal

import numpy as np

from maxent.models.arrays import IntArray
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.reading import USUAL, Decimal, Note, Reading
from maxent.models.tables.frame import LISTED
from maxent.models.tables.sources.csv_dialect import DELIMITERS, LOOKED_AT, STATED, recognised_mark
from maxent.models.tables.sources.csv_encoding import Encoding, Opener, in_utf8, recognised, stated

if TYPE_CHECKING:
    import pyarrow as pa

_LONGEST_LINE = 1 << 20
_CHUNK = 8 * _LONGEST_LINE  # bytes that are checked at once: no line of as many has as few characters as it may have
_MOST_COLUMNS = 2**17  # columns of a table: each takes far more memory than a byte, even without a name
_FOREIGN = {
    b"PK\x03\x04": "a zip archive or Excel workbook (name it .xlsx)",
    b"\xd0\xcf\x11\xe0": "an Excel workbook of old (save it as .xlsx)",
    b"\x1f\x8b": "a gzip archive (name it .csv.gz)",
    b"PAR1": "a Parquet file (name it .parquet)",
}
# What may stand before the header: blank lines, and byte-order marks, of which Arrow skips one by itself
_BEFORE = re.compile(b"(?:\xef\xbb\xbf|[\r\n]++)*+")


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A CSV file that is known to be text; only its header has been parsed.

    Attributes
    ----------
    source : str
        Its name.
    open : callable
        Opens its bytes in UTF-8, from the first.
    start, blank : int
        Bytes, and lines, before the header: blank ones, and one that says what separates cells.
    ends : int
        Ends of lines between the header and the last line that is not blank.
    paired : bool
        Whether the number of quotes is even.
    header : tuple of str
        The names of the columns; they may repeat.
    delimiter : str
        What separates cells.
    decimal : {"point", "comma"}, optional
        What stands before decimals; None for as the columns show.
    notes : tuple of Note
        How it is read where that was recognised, and is not the usual way.
    """

    source: str
    open: Callable[[], BinaryIO]
    start: int
    blank: int
    ends: int
    paired: bool
    header: tuple[str, ...] = ()
    delimiter: str = ","
    decimal: Decimal | None = "point"
    notes: tuple[Note, ...] = ()
    unit: ClassVar[Literal["line"]] = "line"
    text: ClassVar[bool] = True
    times: ClassVar[frozenset[str]] = frozenset()
    rows: ClassVar[int] = 0

    def place(self, number: int) -> str:
        """The place of a row in words."""
        return f"line {number}"

    @property
    def types(self) -> Mapping[str, pa.DataType]:
        """The type of every column: text."""
        import pyarrow as pa

        return dict.fromkeys(self.header, pa.string())

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows that have as many cells as the header: the first column of each name, in this order."""
        import pyarrow as pa
        from pyarrow import csv as reader

        # Names of our own: those of the file may repeat. One column is parsed in any case, to count the rows.
        chosen = [str(self.header.index(name)) for name in names]
        parsed = chosen or ["0"]
        width = len(self.header)
        try:
            with self.open() as file:
                file.seek(self.start)
                with reader.open_csv(
                    file,
                    read_options=reader.ReadOptions(
                        column_names=[str(index) for index in range(width)],
                        block_size=max(_LONGEST_LINE, 32 * width),
                    ),
                    parse_options=reader.ParseOptions(
                        delimiter=self.delimiter, newlines_in_values=True, invalid_row_handler=_skip
                    ),
                    convert_options=reader.ConvertOptions(
                        include_columns=parsed,
                        column_types=dict.fromkeys(parsed, pa.string()),
                        null_values=[],
                        strings_can_be_null=False,
                    ),
                ) as batches:
                    heads = 1
                    for batch in batches:
                        yield batch.slice(heads).select(chosen)
                        heads -= min(heads, batch.num_rows)
        except pa.ArrowException as error:
            # The scan names the line; what it lets pass is a row too long for the parser.
            self._scan(np.zeros(0, dtype=np.int64))
            expected = f"rows of at most {_LONGEST_LINE} bytes"
            raise invalid(self.source, "file", "rows", expected, "a longer one") from error

    def lines(self, rows: int, wanted: IntArray) -> tuple[IntArray, list[Problem]]:
        """Return the lines that some of the rows start on, and the rows that `batches` left out.

        ``rows``: how many rows there were in the batches. ``wanted`` of shape (n_wanted,): some of them, from 0,
        ascending.
        """
        if self.paired and self.ends == rows:
            return wanted + self.blank + 2, []
        lines, problems, scanned = self._scan(wanted)
        if scanned != rows:
            raise invalid(
                self.source, "file", "quotes", "cells quoted as a whole, quotes inside doubled", "other quoting"
            )
        return lines, problems

    def _scan(self, wanted: IntArray) -> tuple[IntArray, list[Problem], int]:
        """Go through all rows, slowly: the lines of those wanted, the ragged ones, and how many are not ragged."""
        width, records = len(self.header), _records(self)
        next(records)
        lines: list[int] = []
        ragged: list[tuple[int, int]] = []
        left_out = rows = 0
        upcoming = iter(wanted.tolist())
        target = next(upcoming, -1)
        for line, record in records:
            if len(record) != width:
                left_out += 1
                ragged += [(line, len(record))] * (left_out <= LISTED)
                continue
            if rows == target:
                lines.append(line)
                target = next(upcoming, -1)
            rows += 1
        expected = f"{width}, as in the header"
        problems = [Problem(f"line {line}", "cells", expected, str(cells)) for line, cells in ragged]
        if left_out > LISTED:
            problems.append(Problem(f"and {left_out - LISTED} more lines", "cells", expected, "other numbers"))
        return np.array(lines, dtype=np.int64), problems, rows


def open_csv(source: str, opener: Opener, reading: Reading = USUAL) -> CsvFile:
    """Check every byte of a CSV file, in bounded memory, and parse its header.

    What separates cells is what ``reading`` names, else what a line before the header names, else what is recognised.
    The encoding is that of a byte-order mark, else what ``reading`` names, else UTF-8, else what is recognised.
    """
    with opener() as file:
        first = file.read(4)
    _refuse_foreign(source, first)
    encoding = stated(first, reading.csv_encoding)
    try:
        text, mark = _checked(source, opener, encoding)
    except NoUtf8 as error:
        if encoding.known != "usual":
            raise
        encoding = recognised(source, opener, error)
        text, mark = _checked(source, opener, encoding)
    notes = [] if encoding.note is None else [encoding.note]
    said = DELIMITERS.get(reading.csv_delimiter or "", mark)
    mark = said or recognised_mark(partial(_widths, text))
    if mark != "," and reading.csv_delimiter is None:
        notes.append((f"cells are separated by {mark!r}", "csv_delimiter= names another mark"))
    decimal = reading.csv_decimal or ("point" if mark == "," else None)
    text = replace(text, delimiter=mark, decimal=decimal, notes=tuple(notes))
    header = tuple(next(_records(text))[1])
    if len(header) > _MOST_COLUMNS:
        raise invalid(source, "file", "header", f"at most {_MOST_COLUMNS:,} columns", f"{len(header):,}")
    return replace(text, header=header)


def _checked(source: str, stored: Opener, encoding: Encoding) -> tuple[CsvFile, str | None]:
    """Check the bytes of a CSV file; without its header, with what a line before it says that separates cells."""
    opener = in_utf8(source, stored, encoding)
    offset = blank = ends = passed = quotes = 0
    started = written = False
    mark: str | None = None
    with opener() as file:
        for piece in _pieces(file):
            text = piece
            _refuse_bytes(source, piece, passed, encoding.expected)
            if not started:
                text = _BEFORE.sub(b"", piece, count=1)
                if mark is None and (line := STATED.match(text)):
                    mark = line[1].decode()
                    text = _BEFORE.sub(b"", text[line.end() :], count=1)
                started = bool(text)
                offset += len(piece) - len(text)
                blank += _ends(piece[: len(piece) - len(text)])
            here = _ends(piece)
            if kept := len(piece.rstrip(b"\r\n")):
                ends = passed + here - _ends(piece[kept:]) - blank
            passed += here
            written = written or bool(text.strip())
            quotes += text.count(b'"') if b'"' in text else 0
    if not written:
        raise invalid(source, "file", "header", "a line with the names of the columns", "an empty file")
    return CsvFile(source, opener, offset, blank, ends, quotes % 2 == 0), mark


def _widths(text: CsvFile, delimiter: str) -> list[int]:
    """The numbers of cells of the header and of the first rows; none where they cannot be told."""
    try:
        return [len(record) for _, record in islice(_records(replace(text, delimiter=delimiter)), LOOKED_AT)]
    except InvalidInput:
        return []


def _skip(row: object) -> Literal["skip"]:
    """Leave a ragged row out; that it is missing shows in the number of rows."""
    return "skip"


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    """Yield the bytes of a file in pieces of whole lines, except for lines that are too long."""
    rest = b""
    while block := file.read(_CHUNK):
        block = rest + block
        cut = block.rfind(b"\n") + 1 or block.rfind(b"\r", 0, -1) + 1 or len(block)
        yield block[:cut]
        rest = block[cut:]
    if rest:
        yield rest


def _ends(text: bytes) -> int:
    r"""Count the ends of lines: ``\n``, ``\r\n``, and ``\r`` alone."""
    count = text.count(b"\n")
    return count + text.count(b"\r") - text.count(b"\r\n") if b"\r" in text else count


def _refuse_foreign(source: str, data: bytes) -> None:
    """Refuse files of other formats."""
    for magic, what in _FOREIGN.items():
        if data.startswith(magic):
            raise invalid(source, "file", "format", "CSV text", what)


class NoUtf8(InvalidInput):
    """Bytes that are no UTF-8."""


def _refuse_bytes(source: str, piece: bytes, passed: int, expected: str) -> None:
    """Refuse bytes that are no text, and lines without an end; ``passed`` lines ended before this piece."""
    if (at := piece.find(b"\0")) >= 0:
        found = "a NUL byte (is it a binary file, or UTF-16 without a byte-order mark?)"
        raise invalid(source, f"line {passed + _ends(piece[:at]) + 1}", "encoding", expected, found)
    if len(piece) >= _CHUNK and not _ends(piece):
        raise _too_long(source, passed + 1)
    if not piece.isascii():
        try:
            piece.decode()
        except UnicodeDecodeError as error:
            before = piece[: error.start]
            line = passed + _ends(before) + 1
            column = error.start - max(before.rfind(b"\n"), before.rfind(b"\r"))
            found = f"byte 0x{piece[error.start]:02x} at position {column}"
            raise NoUtf8(source, [Problem(f"line {line}", "encoding", expected, found)]) from error


def _too_long(source: str, line: int) -> InvalidInput:
    """Return the error for a line that is too long."""
    expected = f"at most {_LONGEST_LINE} characters (are the ends of the lines lost?)"
    return invalid(source, f"line {line}", "line", expected, "a longer one")


def _records(text: CsvFile) -> Iterator[tuple[int, list[str]]]:
    """Yield every row that is not blank, the header first, with the line it starts on: exact, and slow."""
    # The text holds no NUL, so that the end mark is read as a row of its own unless an open quote swallows it.
    reader = csv.reader(chain(_lines(text), ["\0"]), delimiter=text.delimiter)
    line = text.blank + 1
    try:
        for record in reader:
            if record == ["\0"]:
                return
            if record and record[-1].endswith("\0"):
                raise invalid(text.source, f"line {line}", "cell", "quotes in pairs", "a quote that is never closed")
            if record:
                yield line, record
            line = text.blank + reader.line_num + 1
    except csv.Error as error:
        expected = f"cells of at most {csv.field_size_limit()} characters"
        raise invalid(text.source, f"line {line}", "cell", expected, f"{error} (is a quote not closed?)") from error


def _lines(text: CsvFile) -> Iterator[str]:
    """Yield the lines of the file from the header on; the last has an end whether or not the file gives it one."""
    with text.open() as file:
        file.seek(text.start)
        stream: Any = io.TextIOWrapper(file, "utf-8", newline="")
        for number, line in enumerate(iter(lambda: stream.readline(_LONGEST_LINE + 1), ""), text.blank + 1):
            if len(line) > _LONGEST_LINE:
                raise _too_long(text.source, number)
            yield line if line.endswith(("\n", "\r")) else line + "\n"
