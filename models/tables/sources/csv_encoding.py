"""The encoding of CSV text: what its first bytes or the reader say, else UTF-8, else what its letters show."""

from __future__ import annotations

import codecs
import io
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise
from typing import TYPE_CHECKING, BinaryIO, Literal, cast

from maxent.models.errors import InvalidInput, invalid
from maxent.models.reading import Note, Reader

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

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
    """The encoding of text that is no UTF-8.

    It is `WESTERN` when all words with letters beyond ASCII can be words so, of the languages of the South or the
    North. Otherwise it is the one that charset-normalizer finds, unless it finds another one as likely, the letters
    could be Western, too, or there are fewer than `_ENOUGH` words.

    ``source``: the file, as messages call it. ``opener``: opens its bytes, from the first. ``wrong``: says which byte
    is none of UTF-8.
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
        place, byte = f"line {_ends(text[: error.start].decode()) + 1}", f"byte 0x{text[error.start]:02x}"
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
                raise self._refused(error, ends + _ends(before) + 1) from error
            held = "\r" if text.endswith("\r") and not last else ""
            text = text[: len(text) - len(held)]
            ends += _ends(text)
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


def _ends(text: str) -> int:
    r"""Count the ends of lines: ``\n``, ``\r\n``, and ``\r`` alone."""
    return text.count("\n") + text.count("\r") - text.count("\r\n")
