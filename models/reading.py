"""Options of reading tables and releases, notes on the result, look-alike text, and sizes such as ``500MB``."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, get_args
from unicodedata import normalize

from maxent.models.errors import ARGUMENT, InvalidInput, Problem

if TYPE_CHECKING:
    from maxent.models.arrays import BoolArray

# Text that looks the same: spellings that differ only by blanks, invisible characters or Unicode form, or by case.

# The code points with the property Default_Ignorable_Code_Point, which leave no mark, and control characters.
_INVISIBLE = re.compile(
    "[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
_SOUND = re.compile("(?! )[ -~]*(?<! )")
# How people write numbers; float() accepts more: 1_000, nan, other digits
NUMBER = re.compile(r"[ \t\r\n]*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[ \t\r\n]*")

_LEADING_ZEROS = re.compile(r"\s*[+-]?0[0-9]")
_NEGATIVE_ZERO = re.compile(r"-(?:0+(?:\.0*)?|\.0+)")


def cleaned(text: str) -> str:
    """Return a text in the one form that all texts which look like it share: NFKC, without invisible characters.

    Blanks of any kind and number become a single space, none at the ends, and a zero has no sign.
    """
    if _SOUND.fullmatch(text) and "  " not in text:
        return unsigned(text)
    # Leaving a character out may bring two together that have a form of their own.
    normal = normalize("NFKC", _INVISIBLE.sub("", text)).replace("\u2800", " ")
    return unsigned(" ".join(_INVISIBLE.sub("", normal).split()))


def unsigned(text: str) -> str:
    """Return a text without the sign of a zero: ``-0.0`` is ``0.0``."""
    return text[1:] if text.startswith("-") and _NEGATIVE_ZERO.fullmatch(text) else text


def has_leading_zeros(text: str) -> bool:
    """Whether a text is digits after a zero, as in a code that is no number: ``01102``."""
    return _LEADING_ZEROS.match(text) is not None


def folded(text: str) -> str:
    """Return the form that texts share which look alike but for case."""
    return cleaned(cleaned(text).casefold())


def spelled_alike(texts: Iterable[str], form: Callable[[str], str]) -> list[tuple[str, ...]]:
    """Return the different texts that have the same form, in groups of two or more, each in the order given."""
    groups: dict[str, list[str]] = {}
    for text in dict.fromkeys(texts):
        groups.setdefault(form(text), []).append(text)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def alike(texts: Collection[str]) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Texts that differ by blanks or Unicode form alone, and those of others that differ by case, in groups."""
    return spelled_alike(texts, cleaned), spelled_alike({cleaned(text): text for text in texts}.values(), folded)


def told_apart(text: str) -> str:
    """Return the `repr` of a text in which characters that look alike can be told apart."""
    return repr(text) if text.isascii() else ascii(text)


# Numbers of bytes as people write them: ``500MB``, ``2 GB``, ``1.5GiB``.

_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)\s*", re.IGNORECASE)
_LARGEST = 2**53  # the largest number of bytes: more than any machine has, and less than what other programs count with
_UNITS = {"": 1, "b": 1}
_UNITS |= {f"{prefix}b": 1000**i for i, prefix in enumerate("kmgt", 1)}
_UNITS |= {f"{prefix}ib": 1024**i for i, prefix in enumerate("kmgt", 1)}


def parse_size(text: object) -> int | None:
    """Return a number of bytes, given as one or as text with a unit; None for what is neither, or no usable number."""
    if isinstance(text, str):
        match = _SIZE.fullmatch(text)
        unit = _UNITS.get(match[2].lower()) if match else None
        size = float(match[1]) * unit if match and unit else 0.0
        text = round(size) if size <= _LARGEST else None
    return text if isinstance(text, int) and not isinstance(text, bool) and 0 < text <= _LARGEST else None


def size_text(size: float) -> str:
    """Return a number of bytes in the largest unit that leaves at least 1: ``2 GB``, ``1.5 MB``, ``17 bytes``."""
    for power, unit in ((4, "TB"), (3, "GB"), (2, "MB"), (1, "kB")):
        if size >= 1000**power:
            return f"{size / 1000**power:.3g} {unit}"
    return f"{size:.0f} bytes"


Text = Literal["refuse", "strip", "exact"]
Delimiter = Literal["comma", "semicolon", "tab", "pipe"]
Decimal = Literal["point", "comma"]

# As pandas.read_csv has it, in all versions since 2.0.
_PANDAS = (
    "",
    "#N/A",
    "#N/A N/A",
    "#NA",
    "-1.#IND",
    "-1.#QNAN",
    "-NaN",
    "-nan",
    "1.#IND",
    "1.#QNAN",
    "<NA>",
    "N/A",
    "NA",
    "NULL",
    "NaN",
    "None",
    "n/a",
    "nan",
    "null",
)
_SPREADSHEETS = ("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!")

# Spellings that mean that a value is missing: what R, pandas and spreadsheets write in its place
NA = (*_PANDAS, "NaT", *_SPREADSHEETS)

# Python's codecs that are no encodings of plain text
_NO_CHARSETS = {"idna", "punycode", "raw_unicode_escape", "unicode_escape", "undefined"}

MAX_MEMORY = 2_000_000_000  # bytes that the cells of a table may take, unless another limit is given


def _is_one_of(value: object, words: object) -> bool:
    """Whether a value, which may be of any type, is one of the words of a `Literal`."""
    return isinstance(value, str) and value in get_args(words)


def _are_texts(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str) and all(isinstance(each, str) for each in value)


@dataclass(frozen=True, slots=True)
class Reading:
    """Options of reading releases and the cells of tables.

    Attributes
    ----------
    text : {"refuse", "strip", "exact"}
        What is done with values that differ only by blanks or by Unicode form: they are refused; all text is
        `cleaned`, so that they are one; or they are kept apart.
    na : tuple of str
        Spellings of a missing value, besides an empty cell. A value that a release, or a domain, declares is no missing
        one, however it is spelled.
    max_memory : int
        Bytes that the cells of one table may take in memory; also given as text, such as ``"500MB"``.
    csv_delimiter : {"comma", "semicolon", "tab", "pipe"}, optional
        What separates the cells of CSV files; None for as they show.
    csv_decimal : {"point", "comma"}, optional
        What stands before the decimals of numbers in CSV files; None for as their columns show.
    csv_encoding : str, optional
        The encoding of CSV files without a byte-order mark, such as ``"cp1252"``, by any name that Python has for it;
        None for UTF-8, and for what is recognised in text that is no UTF-8.
    sheet : str, optional
        The sheet of Excel workbooks that is read; None for the first.
    format : str, optional
        The format of releases that are read from files, a name of `maxent.models.formats.registry.reader_names`; None
        for as they show.
    """

    text: Text = "refuse"
    na: tuple[str, ...] = NA
    max_memory: int = MAX_MEMORY
    csv_delimiter: Delimiter | None = None
    csv_decimal: Decimal | None = None
    csv_encoding: str | None = None
    sheet: str | None = None
    format: str | None = None

    def __post_init__(self) -> None:
        problems = []
        if not _is_one_of(self.text, Text):
            problems.append(Problem(ARGUMENT, "text", f"one of {', '.join(get_args(Text))}", repr(self.text)))
        if not _are_texts(self.na):
            problems.append(Problem(ARGUMENT, "na", "a list of spellings, such as ['NA', '?']", repr(self.na)))
        else:
            object.__setattr__(self, "na", tuple(self.na))
        if (size := parse_size(self.max_memory)) is None:
            problems.append(Problem(ARGUMENT, "max_memory", "a size, such as 500MB or 4GB", repr(self.max_memory)))
        else:
            object.__setattr__(self, "max_memory", size)
        for name, kind in (("csv_delimiter", Delimiter), ("csv_decimal", Decimal)):
            if (value := getattr(self, name)) is not None and not _is_one_of(value, kind):
                problems.append(Problem(ARGUMENT, name, f"one of {', '.join(get_args(kind))}", repr(value)))
        if self.sheet is not None and not isinstance(self.sheet, str):
            problems.append(Problem(ARGUMENT, "sheet", "the name of a sheet", repr(self.sheet)))
        if self.csv_encoding is not None:
            if (encoding := encoding_named(self.csv_encoding)) is None:
                expected = "an encoding of text, such as cp1252 or utf-16"
                problems.append(Problem(ARGUMENT, "csv_encoding", expected, repr(self.csv_encoding)))
            object.__setattr__(self, "csv_encoding", encoding)
        if problems:
            raise InvalidInput("options", problems)

    @property
    def form(self) -> Callable[[str], str]:
        """Form of a text as it is read."""
        if self.text == "strip":
            return cleaned
        return str if self.text == "exact" else unsigned

    @property
    def absent_numbers(self) -> frozenset[float]:
        """The numbers that stand for a missing value."""
        return frozenset(float(text) for text in self.na if NUMBER.fullmatch(text))

    @property
    def absent(self) -> Callable[[str], bool]:
        """Whether a text stands for a missing value.

        Blanks around it do not matter, unless all text is ``exact``; a number does in all of its spellings, but for
        those with leading zeros.
        """
        form = self.form if self.text == "exact" else cleaned
        spellings, numbers = frozenset(map(form, {"", *self.na})), self.absent_numbers

        firsts = {spelling[:1] for spelling in spellings}

        def is_absent(text: str) -> bool:
            if not numbers and text.isascii() and "!" <= text[:1] <= "~" and text[0] not in firsts:
                return False
            if form(text) in spellings:
                return True
            if not numbers or has_leading_zeros(text) or not NUMBER.fullmatch(text):
                return False
            return float(text) in numbers

        return is_absent

    def meaning(self, stored: Sequence[str], declared: frozenset[str] = frozenset()) -> tuple[list[str], BoolArray]:
        """Each of the texts of a column as it is read, and whether it stands for a missing value."""
        import numpy as np

        form, absent, similar = self.form, self.absent, frozenset(map(cleaned, declared))
        texts = [text if text in declared else form(text) for text in stored]
        return texts, np.array([absent(text) and cleaned(text) not in similar for text in texts], dtype=bool)

    def stated(self) -> dict[str, Any]:
        """The fields that are not left to their defaults."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in given.items() if value != getattr(USUAL, name)}


USUAL = Reading()  # how everything is read unless something else is asked for


# A sentence, and advice that goes with it, or nothing; advice names parameters as errors do, ``missing=``
Note = tuple[str, str]

_spelled: ContextVar[Callable[[str], str]] = ContextVar("_spelled", default=str)


@contextmanager
def advice_spelled(spelled: Callable[[str], str]) -> Iterator[None]:
    """Spell the parameters in advice as whoever is told calls them, not as Python does."""
    token = _spelled.set(spelled)
    try:
        yield
    finally:
        _spelled.reset(token)


def spelled(advice: str) -> str:
    """Advice with its parameters spelled as `advice_spelled` has it, by default as Python does."""
    return _spelled.get()(advice)


@dataclass(frozen=True)
class ReadingBeside(Reading):
    """How tables are read beside a model that is there, with what the model keeps beside its release, in words."""

    aside: str = ""


@dataclass(frozen=True, slots=True)
class Noticed:
    """Notes and advice of reading, each once, rows that were read as a value, and what models keep ``aside``."""

    told: tuple[Note, ...] = ()
    missing: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    aside: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes as sentences, advice in brackets."""
        return tuple(f"{text} ({spelled(advice)})" if advice else text for text, advice in self.told)

    def joined(self, other: Noticed) -> Noticed:
        """Notes of both."""
        told = tuple(dict.fromkeys((*self.told, *other.told)))
        both = {source: dict(columns) for source, columns in self.missing.items()}
        for source, columns in other.missing.items():
            both.setdefault(source, {}).update(columns)
        return Noticed(told, both, tuple(dict.fromkeys((*self.aside, *other.aside))))

    @property
    def summary(self) -> dict[str, Any]:
        """The keys of a JSON summary that say so: ``missing``, if there is anything to say."""
        missing = {source: dict(columns) for source, columns in self.missing.items()}
        return {"missing": missing} if missing else {}


NOTHING = Noticed()  # nothing was noticed


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """Reads everything that belongs together in one way, and remembers what it noticed."""

    reading: Reading = USUAL
    _told: dict[Note, None] = field(default_factory=dict)
    _missing: dict[str, dict[str, int]] = field(default_factory=dict)
    _aside: dict[str, None] = field(default_factory=dict)

    @property
    def noticed(self) -> Noticed:
        """Notes so far."""
        missing = {source: dict(columns) for source, columns in self._missing.items()}
        beside = self.reading.aside if isinstance(self.reading, ReadingBeside) and self.reading.aside else ""
        return Noticed(tuple(self._told), missing, (*self._aside, *([beside] if beside else [])))

    def note(self, source: str, text: str, advice: str = "") -> None:
        """Remember a sentence about a source, and advice, once."""
        self._told[f"{source}: {text}", advice] = None

    def reading_as(self, reading: Reading) -> Reader:
        """A reader that reads in another way, and remembers in the same place."""
        return Reader(reading, self._told, self._missing, self._aside)

    def of_one(self) -> Reader:
        """A reader of one of several models: what its file keeps aside is of that one alone."""
        return Reader(self.reading, self._told, self._missing)

    def keep_aside(self, what: str) -> None:
        """Remember what a model's own file keeps beside its release, if anything: it is judged as not read."""
        if what:
            self._aside[what] = None

    def count_missing(self, source: str, column: str, rows: int) -> None:
        """Remember how many rows of a column without a value were read as a value of their own."""
        self._missing.setdefault(source, {})[column] = rows


def encoding_named(name: object) -> str | None:
    """Python's own name of an encoding of text, None for anything else."""
    try:
        found = codecs.lookup(name).name if isinstance(name, str) else "undefined"
        "".encode(found)
    except (LookupError, ValueError):  # ValueError: a null character, or the codec that always fails
        return None
    return None if found.replace("-", "_") in _NO_CHARSETS else found


def reader_of(reading: Reading | None) -> Reader:
    """A new reader that reads as asked, or as usual."""
    if problems := list(reading_problems(reading)):
        raise InvalidInput("options", problems)
    return Reader(USUAL if reading is None else reading)


def reading_problems(reading: object) -> Iterator[Problem]:
    """The problems of an argument that says how to read."""
    if reading is not None and not isinstance(reading, Reading):
        yield Problem(ARGUMENT, "reading", "a maxent.Reading", f"a {type(reading).__name__}")


def reading_of(options: Mapping[str, Any]) -> Reading | None:
    """The reading that options ask for, None without any; an option of None is not given."""
    given = {name: value for name, value in options.items() if value is not None}
    return Reading(**given) if given else None


# Settings of glibc by their numbers: bytes of an array from which the system gives it pages of its own, of free memory
# that is kept for the next ones, and of what is asked for ahead; and pools of memory, else one for each thread.
SETTINGS = {-3: 1 << 25, -1: 1 << 28, -2: 1 << 24, -8: 1}


def keep_memory() -> None:
    """Let arrays take the memory that others gave back, as the system clears every page that it hands out."""
    import ctypes

    with suppress(AttributeError, OSError, TypeError):
        setting = ctypes.CDLL(None).mallopt
        for option, value in SETTINGS.items():
            setting(option, value)
