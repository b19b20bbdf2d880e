"""Options of how files are read, stated once for all commands that read files."""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import StrEnum
from typing import Annotated, Any

from maxent.command_line import panels
from maxent.command_line.option_groups import takes
from maxent.command_line.parsing import split_names
from maxent.command_line.progress import Job


class TextMode(StrEnum):
    """Choices of ``--text``."""

    refuse = "refuse"
    stripped = "strip"
    exact = "exact"


class DelimiterName(StrEnum):
    """Choices of ``--csv-delimiter``."""

    comma = "comma"
    semicolon = "semicolon"
    tab = "tab"
    pipe = "pipe"


class DecimalMark(StrEnum):
    """Choices of ``--csv-decimal``."""

    point = "point"
    comma = "comma"


def completed_format(incomplete: str) -> list[str]:
    """Formats of releases that a shell offers."""
    from maxent.models.formats.registry import reader_names

    return list(reader_names())


Text = Annotated[
    TextMode | None,
    panels.read(
        help="Values that differ only by blanks or Unicode form: refuse them (the default), strip all text so "
        "that they are equal, or keep text exact.",
    ),
]
NA = Annotated[
    list[str] | None,
    panels.read(
        "--na",
        metavar="A,B,...",
        help="Spellings of missing values, besides an empty cell; default: NA, NaN, null, None, N/A, #N/A and "
        "others (docs/tables.md).",
    ),
]
MaxMemory = Annotated[
    str | None,
    panels.read(
        "--max-memory",
        metavar="SIZE",
        help="Memory for a table while it is read, such as 500MB; default: 2GB.",
    ),
]
CsvDelimiter = Annotated[
    DelimiterName | None,
    panels.read("--csv-delimiter", help="Delimiter of CSV files; default: detected."),
]
CsvDecimal = Annotated[
    DecimalMark | None,
    panels.read("--csv-decimal", help="Decimal mark of numbers in CSV files; default: detected for each column."),
]
CsvEncoding = Annotated[
    str | None,
    panels.read(
        "--csv-encoding",
        metavar="NAME",
        help="Encoding of CSV files, such as cp1252; default: UTF-8, or detected.",
    ),
]
Sheet = Annotated[
    str | None, panels.read("--sheet", metavar="NAME", help="The sheet of Excel workbooks; default: the first.")
]
Format = Annotated[
    str | None,
    panels.read(
        "--from",
        metavar="FORMAT",
        help="Format of the release (docs/formats.md); default: detected.",
        autocompletion=completed_format,
    ),
]


def reading(
    text: Text = None,
    na: NA = None,
    max_memory: MaxMemory = None,
    csv_delimiter: CsvDelimiter = None,
    csv_decimal: CsvDecimal = None,
    csv_encoding: CsvEncoding = None,
    sheet: Sheet = None,
    format: Format = None,
) -> Any:
    """The `maxent.models.reading.Reading` of these options, None for the defaults."""
    from maxent.models.reading import reading_of

    return reading_of(
        {
            "text": text and text.value,
            "na": na and split_names("na", na),
            "max_memory": max_memory,
            "csv_delimiter": csv_delimiter and csv_delimiter.value,
            "csv_decimal": csv_decimal and csv_decimal.value,
            "csv_encoding": csv_encoding,
            "sheet": sheet,
            "format": format,
        }
    )


def reads_files(
    *, releases: bool = True, without: Collection[str] = (), **groups: Callable[..., Any]
) -> Callable[[Callable[..., Job]], Callable[..., Job]]:
    """Give a command the options of `reading` in the place of its parameter ``reading``, and those of other groups.

    ``releases`` is whether it reads releases from files, whose format ``--from`` names. Options ``without`` are left
    out.
    """
    return takes(without=(*without, *(() if releases else ("format",))), reading=reading, **groups)
