"""CSV files: the encoding and the bytes are checked, then rows are parsed in batches by one parser."""

from __future__ import annotations

import codecs
import csv
import io
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Literal, cast

import numpy as np

from maxent.models.arrays import IntArray
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.reading import USUAL, Decimal, Note, Reader, Reading
from maxent.models.tables.frame import (
    DELIMITERS,
    LISTED,
    LOOKED_AT,
    STATED,
    arrow_places,
    plain_numbers,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from _typeshed import WriteableBuffer


# The encoding of CSV text: what its first bytes or the reader say, else UTF-8, else what its letters show.

Opener = Callable[[], BinaryIO]

UTF_8 = "utf-8"
# What most programs of Western Europe write that write no UTF-8; Latin-1 has the same letters in the same places
WESTERN = "cp1252"

# Byte-order marks
_MARKS = {
    b"\xef\xbb\xbf": UTF_8,
    b"\xff\xfe\0\0": "utf-32-le",  # before UTF-16, whose mark it begins with
    b"\0\0\xfe\xff": "utf-32-be",
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
}

# Encodings that are recognised besides
_OTHERS = (
    *("cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "iso8859_2", "koi8_r", "mac_roman"),
    *("cp850", "cp932", "euc_jp", "gb18030", "big5", "cp949"),
)

_BLOCK = 1 << 16  # bytes that are decoded, and bytes of different words that are looked at
_ENOUGH = 3  # different words, at least, that tell another encoding than `WESTERN`
_SCANNED = 1 << 24  # bytes in which these words are looked for, from the first byte that is not ASCII

# Marks between words, none of which is a part of a letter in any encoding of `_OTHERS`
_BETWEEN = (b"\n", b"\r", b"\t", b" ", b'"', b",", b";")

_WORD = re.compile(b"[^" + b"".join(_BETWEEN) + b"]+")

# Letters of languages of Western Europe, South and North: those of other regions, read as Western, mix the two.
# Icelandic has letters of neither, where Turkish has its own.
_REGIONS = tuple(map(frozenset, ("äöüßàâæçèéêëîïôœùûÿáíñóúãõìò", "äöüßåæøéšžáíóôú")))

_QUOTES = "\u201c\u201d\u201e\u201a\u2018\u2019\xab\xbb\u2039\u203a\xbf\xa1\u2026\u2013\u2014\u20ac\xa3"
# Marks that stand around words, and in them, of those that are not ASCII
_WITHIN = "\u2019\u2018\xb4\xb7\u2013\u2014\xa0\xad\xaa\xba\xb0\xb2\xb3\xb9\u2122\xae\xa9"

_LETTERS = 8  # letters that one note names


@dataclass(frozen=True, slots=True)
class Encoding:
    """An encoding, by Python's name for it, and how it is known; ``note`` is what is to be told of it, if anything."""

    name: str = UTF_8
    known: Literal["usual", "mark", "asked", "recognised"] = "usual"
    note: Note | None = None

    @property
    def expected(self) -> str:
        """Expected form of bytes."""
        advice = ", as its byte-order mark says" if self.known == "mark" else " (csv_encoding= names another encoding)"
        return f"CSV text in {self.name.upper() if self.name.startswith('utf') else self.name}{advice}"


def stated(first: bytes, asked: str | None) -> Encoding:
    """The encoding that the first bytes of a file, its byte-order mark, or else the reader states, or else UTF-8."""
    name = next((encoding for mark, encoding in _MARKS.items() if first.startswith(mark)), None)
    if name is None:
        return Encoding() if asked is None else Encoding(asked, "asked")
    said = f"text is in {name.upper()}, as its byte-order mark says"
    if asked is not None and not name.startswith(asked.removesuffix("-sig")):
        return Encoding(name, "mark", (f"{said}, and not in {asked}", ""))
    return Encoding(name, "mark", None if name == UTF_8 or asked is not None else (said, ""))


def recognised(source: str, opener: Opener, wrong: InvalidInput) -> Encoding:
    """The encoding of text that is no UTF-8: `WESTERN` where all words can be, else what charset-normalizer finds.

    It is refused where another one is as likely, or there are fewer than `_ENOUGH` words.
    """
    sample = b"\n".join(_words(opener))
    western = [WESTERN] if _are_words(sample, WESTERN) else []
    usual = bool(western) and _of_one_region(sample)
    likely = western if usual else [*western, *_likely(sample)]
    if len(likely) != 1 or not (usual or sample.count(b"\n") >= _ENOUGH - 1):
        what = f"; it may be {' or '.join(likely[:_LETTERS])}" if likely else ""
        place = wrong.problems[0]
        expected = f"CSV text in UTF-8, or in an encoding that can be told (name it: csv_encoding='{WESTERN}', say)"
        raise invalid(source, place.where, place.field, expected, f"{place.found}{what}") from wrong
    letters = (letter for letter in sample.decode(likely[0]) if not letter.isascii() and letter.isalpha())
    shown = ", ".join(islice(dict.fromkeys(letters), _LETTERS)) or "none"
    said = f"text is no UTF-8 and is read as {likely[0]}, in which its letters beyond ASCII are {shown}"
    return Encoding(likely[0], "recognised", (said, "csv_encoding= names another encoding"))


def _words(opener: Opener) -> Iterator[bytes]:
    """Different words with bytes that are not ASCII, up to `_BLOCK` bytes of them."""
    found: dict[bytes, None] = {}
    left, scanned, rest = _BLOCK, 0, b""
    with opener() as file:
        while scanned < _SCANNED and left > 0 and (block := file.read(_BLOCK)):
            block = rest + block
            cut = max(block.rfind(mark) for mark in _BETWEEN) + 1
            block, rest = block[:cut], block[cut:]
            if block.isascii() and not scanned:
                continue
            scanned += len(block)
            for word in (match[0] for match in _WORD.finditer(block)):
                if not word.isascii() and word not in found and left > 0:
                    found[word] = None
                    left -= len(word)
    if left > 0:
        found |= dict.fromkeys(word for word in _WORD.findall(rest) if not word.isascii())
    return iter(found)


def _likely(sample: bytes) -> list[str]:
    """The most likely encoding of some words as charset-normalizer has it, and those that are about as likely."""
    from charset_normalizer import from_bytes

    found = [match for match in from_bytes(sample, cp_isolation=list(_OTHERS)) if _are_words(sample, match.encoding)]
    found = [match for match in found if match.encoding in _OTHERS]
    return [
        match.encoding
        for match in found
        if match.chaos <= found[0].chaos + 0.03 and match.coherence >= found[0].coherence - 0.1
    ]


def _of_one_region(sample: bytes) -> bool:
    """Whether the letters of Western text are those of one of `_REGIONS`."""
    letters = {letter for letter in sample.decode(WESTERN).lower() if not letter.isascii() and letter.isalpha()}
    return any(letters - set("ªº") <= region for region in _REGIONS)


def _are_words(sample: bytes, encoding: str) -> bool:
    """Whether all words of a text can be words in an encoding."""
    try:
        return all(map(_is_word, sample.decode(encoding).split("\n")))
    except UnicodeDecodeError:
        return False


def _is_word(word: str) -> bool:
    """Whether letters stand together as they do in words: of one script, no upper case within lower, and no signs."""
    for part in re.split(r"[\x00-@\[-`{-\x7f]+", word):
        if part.isascii():
            continue
        scripts = {_script(letter) for letter in part if letter.isalpha()}
        # Words of other scripts, read as Western text, are accented letters throughout.
        if len(scripts) > 1 or (scripts == {"LATIN"} and re.search(r"[^\x00-\x7f]{4}", part)):
            return False
        if any(a.islower() and b.isupper() and not b.isascii() for a, b in pairwise(part)):
            return False
        inner = part.strip(_QUOTES)
        signs = (c for c in inner if not c.isascii() and not c.isalpha() and c not in _WITHIN)
        # Letters of other scripts have marks of their own; those of Latin script are one with theirs.
        if (
            any(scripts <= {"LATIN"} or unicodedata.category(sign)[0] != "M" for sign in signs)
            or part[0] in "\xb2\xb3\xb9"
            or part[-1] in "\xbf\xa1"
        ):
            return False
    return True


def _script(letter: str) -> str:
    """The script of a letter; those of East Asia, which stand together, are one."""
    name = "LATIN" if letter.isascii() else unicodedata.name(letter, "").partition(" ")[0].partition("-")[0]
    return "CJK" if name in ("HIRAGANA", "KATAKANA", "HANGUL") else name


def decoded(source: str, data: bytes, reader: Reader) -> str:
    """Text that is there as a whole, in the encoding that a CSV file has; notes which, as it does."""
    opener = partial(io.BytesIO, data)
    encoding = stated(data[:4], reader.reading.csv_encoding)
    with in_utf8(source, opener, encoding)() as file:
        text = file.read()
    try:
        found = text.decode()
    except UnicodeDecodeError as error:
        place, byte = (
            f"line {_encoding_ends(text[: error.start].decode()) + 1}",
            f"byte 0x{text[error.start]:02x}",
        )
        wrong = invalid(source, place, "encoding", encoding.expected, byte)
        if encoding.known != "usual":
            raise wrong from error
        encoding = recognised(source, opener, wrong)
        with in_utf8(source, opener, encoding)() as file:
            found = file.read().decode()
    if encoding.note is not None:
        reader.note(source, *encoding.note)
    return found.lstrip("\ufeff")


# --- Decoding --------------------------------------------------------------------------------------------------


def in_utf8(source: str, opener: Opener, encoding: Encoding) -> Opener:
    """Open text as UTF-8 whose encoding is another one; bytes that are none of it end reading with `InvalidInput`."""
    if encoding.name == UTF_8:
        return opener
    return lambda: cast("BinaryIO", io.BufferedReader(_InUtf8(source, opener, encoding)))


class _InUtf8(io.RawIOBase):
    """The bytes of a text in UTF-8, decoded block by block, which can be sought from the first."""

    def __init__(self, source: str, opener: Opener, encoding: Encoding) -> None:
        self._source, self._encoding = source, encoding
        self._file = opener()
        self._begin()

    def _begin(self) -> None:
        self._decoder = codecs.getincrementaldecoder(self._encoding.name)()
        self._blocks = self._encoded()
        self._ready, self._at = b"", 0

    def _encoded(self) -> Iterator[bytes]:
        r"""Yield the text in blocks, none of which ends in a ``\r``, but for the last."""
        ends, held = 0, ""
        for block, last in _with_last(iter(partial(self._file.read, _BLOCK), b"")):
            try:
                text = held + self._decoder.decode(block, final=last)
            except UnicodeDecodeError as error:
                before = held + error.object[: error.start].decode(self._encoding.name, "replace")
                raise self._refused(error, ends + _encoding_ends(before) + 1) from error
            held = "\r" if text.endswith("\r") and not last else ""
            text = text[: len(text) - len(held)]
            ends += _encoding_ends(text)
            yield text.encode()

    def _refused(self, error: UnicodeDecodeError, line: int) -> InvalidInput:
        found = f"byte 0x{error.object[error.start]:02x}" if error.start < len(error.object) else "another end"
        return invalid(self._source, f"line {line}", "encoding", self._encoding.expected, f"{found}, which is none")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence != io.SEEK_SET:
            raise io.UnsupportedOperation("text in another encoding is sought from its beginning")
        if offset < self._at:
            self._file.seek(0)
            self._begin()
        while self._at < offset and self.read(min(offset - self._at, _BLOCK)):
            pass
        return self._at

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer).cast("B")
        while not self._ready and (block := next(self._blocks, None)) is not None:
            self._ready = block
        count = min(len(view), len(self._ready))
        view[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        self._at += count
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def _with_last(blocks: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Yield blocks, and behind them an empty one, each with whether it is this last."""
    yield from ((block, False) for block in blocks)
    yield b"", True


def _encoding_ends(text: str) -> int:
    r"""Count the ends of lines: ``\n``, ``\r\n``, and ``\r`` alone."""
    return text.count("\n") + text.count("\r") - text.count("\r\n")


_LONGEST_LINE = 1 << 20
_CHUNK = 8 * _LONGEST_LINE  # bytes that are checked at once: no line of as many has as few characters as it may have
_MOST_COLUMNS = 2**17  # columns of a table: each takes far more memory than a byte, even without a name
_FOREIGN = {
    b"PK\x03\x04": "a zip archive or Excel workbook (name it .xlsx)",
    b"\xd0\xcf\x11\xe0": "an Excel workbook of old (save it as .xlsx)",
    b"\x1f\x8b": "a gzip archive (name it .csv.gz)",
    b"PAR1": "a Parquet file (name it .parquet)",
    **dict.fromkeys((b"$FL2", b"$FL3"), "a file of SPSS (export it as CSV there)"),
    b"<stata_dta>": "a file of Stata (export it as CSV there)",
    b"%PDF": "a PDF document",
}
# What may stand before the header: blank lines, and byte-order marks, of which Arrow skips one by itself
_BEFORE = re.compile(b"(?:\xef\xbb\xbf|[\r\n]++)*+")


def _below_header(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows of a batch but the first, whose names are no values of the columns unless another row has them."""
    import pyarrow as pa

    columns = []
    for column in batch.columns:  # the first row has the first code
        codes, values = plain_numbers(column.indices)[1:], column.dictionary
        if (codes > 0).all():
            codes, values = codes - 1, values.slice(1)
        columns.append(pa.DictionaryArray.from_arrays(arrow_places(codes), values))
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A CSV file that is known to be text; only its header has been parsed.

    * ``source``: its name.
    * ``open``: opens its bytes in UTF-8, from the first.
    * ``start``, ``blank``: bytes, and lines, before the header: blank ones, and one that says what separates cells.
    * ``ends``: ends of lines between the header and the last line that is not blank.
    * ``paired``: whether the number of quotes is even.
    * ``header``: the names of the columns; they may repeat.
    * ``delimiter``: what separates cells.
    * ``decimal`` (point, comma): what stands before decimals; None for as the columns show.
    * ``notes``: how it is read where that was recognised, and is not the usual way.
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
        """The type of every column: text, each different one once."""
        import pyarrow as pa

        return dict.fromkeys(self.header, pa.dictionary(pa.int32(), pa.string()))

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
                        column_types=dict.fromkeys(parsed, pa.dictionary(pa.int32(), pa.string())),
                        null_values=[],
                        strings_can_be_null=False,
                    ),
                ) as batches:
                    heads = 1
                    for batch in batches:
                        yield (_below_header(batch) if heads and batch.num_rows else batch).select(chosen)
                        heads -= min(heads, batch.num_rows)
        except pa.ArrowException as error:
            # The scan names the line; what it lets pass is a row too long for the parser.
            self._scan(np.zeros(0, dtype=np.int64))
            expected = f"rows of at most {_LONGEST_LINE} bytes"
            raise invalid(self.source, "file", "rows", expected, "a longer one") from error

    def lines(self, rows: int, wanted: IntArray) -> tuple[IntArray, list[Problem]]:
        """Return the lines that ``wanted`` rows, ascending, start on, and the rows that `batches` left out."""
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

    Delimiter and encoding are what ``reading`` names, else what the file states, else what is recognised.
    """
    with opener() as file:
        first = file.read(16)
    _refuse_foreign(source, first)
    encoding = stated(first[:4], reading.csv_encoding)
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


def recognised_mark(widths: Callable[[str], Sequence[int]]) -> str:
    """The delimiter of a table: the comma, unless it leaves the header whole and another one is clear."""
    if [*widths(",")[:1]] != [1]:
        return ","
    found = [mark for mark in (";", "\t", "|") if len(cells := set(widths(mark))) == 1 and cells != {1}]
    return found[0] if len(found) == 1 else ","


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
