"""Arguments and options that several commands have, each said once."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxent.command_line import panels
from maxent.models.errors import ARGUMENT, invalid

if TYPE_CHECKING:
    from maxent.models.reading import Reading


class ImpurityName(StrEnum):
    """Choices of ``--impurity``."""

    gini = "gini"
    entropy = "entropy"
    gain_ratio = "gain_ratio"


class RoundingMode(StrEnum):
    """Choices of ``--rounding``."""

    auto = "auto"
    digits = "digits"
    exact = "exact"


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


def completed_backend(incomplete: str) -> list[str]:
    """Back ends that a shell offers; of several with commas between, for the last."""
    from maxent.solvers.registry import backend_names

    before, comma, _ = incomplete.rpartition(",")
    return [before + comma + name for name in backend_names()]


def completed_format(incomplete: str) -> list[str]:
    """Formats of releases that a shell offers."""
    from maxent.models.formats.registry import reader_names

    return list(reader_names())


TARGET = "Column of the class; default for published records: the one that QI lacks."

Tree = Annotated[str, typer.Argument(metavar="TREE", help="The release: a maxent/1 JSON file.")]
Published = Annotated[
    str,
    typer.Argument(metavar="TREE", help="The release: a maxent/1 JSON file, or generalised records, .csv or .parquet."),
]
Target = Annotated[
    str | None,
    panels.read(metavar="COLUMN", help=TARGET),
]
QI = Annotated[
    str,
    typer.Argument(
        metavar="QI", help="The adversary's table of quasi-identifiers, .csv or .parquet; - is standard input."
    ),
]
Knowledge = Annotated[
    str | None,
    panels.known(
        metavar="KINDS",
        help="Knowledge of the adversary: some of label, rate, counts, internal and marginal, separated by commas; "
        "default: all that is stated.",
    ),
]
Impurity = Annotated[
    ImpurityName | None, panels.known(help="What splits are chosen by; default: what the release says.")
]
Facts = Annotated[
    str | None,
    panels.known(
        metavar="FILE", help="Background knowledge: columns of quasi-identifiers (empty: any), the target, and count."
    ),
]
Marginal = Annotated[
    str | None,
    panels.known(metavar="FILE", help="Frequency of each class: a column of the target, and count or probability."),
]
Count = Annotated[str | None, panels.read(metavar="COLUMN", help="Column of QI with the number of people in a row.")]
Rounding = Annotated[
    RoundingMode,
    panels.known(
        help="Printed error rates: rounded to decimals (digits), exact, or detected from the printed digits (auto)."
    ),
]
Confidence = Annotated[
    float, panels.known(metavar="P", help="Probability that all intervals of sampled counts hold together.")
]
Truth = Annotated[
    str | None,
    panels.measured(
        metavar="FILE", help="The confidential data: adds divergences of the estimate from it, and training accuracies."
    ),
]
Backend = Annotated[
    str,
    panels.solved(
        metavar="NAME",
        help="Solver; auto chooses by the problem.",
        autocompletion=completed_backend,
    ),
]
Tolerance = Annotated[
    float, panels.solved(metavar="X", help="Largest violation of a constraint in a solution, as a probability.")
]
NoPresolve = Annotated[bool, panels.solved("--no-presolve", help="Give the solver the whole program in one piece.")]
Starts = Annotated[
    int | None,
    panels.solved(metavar="N", help="Starting points for parts that are not convex; the best result is kept."),
]
Seed = Annotated[int, panels.solved(metavar="N", help="Makes what is random repeatable: starting points.")]
TimeLimit = Annotated[
    float | None,
    panels.solved(
        metavar="SECONDS",
        help="Time for compiling and solving, for each release and back end; then the best answer so far counts.",
    ),
]
Jobs = Annotated[int, panels.run(metavar="N", help="Number of parallel processes; -1: one for each core.")]
Dask = Annotated[
    str | None,
    panels.run(metavar="ADDRESS", help="Dask cluster that does the work, such as tcp://scheduler:8786."),
]
Floor = Annotated[
    float,
    panels.solved(metavar="P", help="Lower bound on probabilities that entropies would push to 0 (newton only)."),
]
Test = Annotated[
    str | None,
    panels.measured(metavar="FILE", help="Other records with their classes: adds the test accuracy."),
]
Top = Annotated[
    int, panels.measured(metavar="N", help="Number of quasi-identifiers in the list of the most disclosed.")
]
MinSize = Annotated[int, panels.measured(metavar="N", help="Fewest records of a homogeneous leaf.")]
Background = Annotated[
    int, panels.known(metavar="B", help="Number of members of a leaf whose classes the adversary knows.")
]
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
Json = Annotated[bool, panels.output("--json", help="Print one JSON object and nothing else.")]
Output = Annotated[
    str | None,
    panels.output("-o", "--output", metavar="FILE", help="Write the result, by suffix: .csv, .parquet or .json."),
]

CsvLiteral = Annotated[
    bool,
    panels.output(
        "--csv-literal",
        help="Write text to .csv as it is; default: an apostrophe before what a spreadsheet would run (=, +, -, @).",
    ),
]

OutputOrPlot = Annotated[
    str | None,
    panels.output(
        "-o",
        "--output",
        metavar="FILE",
        help="Write the result, by suffix: .csv, .parquet or .json; or a plot of it: .svg, .png or .pdf.",
    ),
]

Report = Annotated[
    str | None,
    panels.output(metavar="FILE", help="Write a report for whoever decides: one .html file, for any browser."),
]
MaxPosterior = Annotated[
    float | None, panels.limit(metavar="P", help="Limit: largest inferred probability of anybody's class.")
]
MinK = Annotated[
    int | None, panels.limit(metavar="K", help="Limit: fewest people in a group with the same published information.")
]
MaxCertain = Annotated[int | None, panels.limit(metavar="N", help="Limit: most people whose class is certain.")]
Enforce = Annotated[
    bool, panels.limit("--enforce", help="Exit status 1 unless all limits are kept; by default they are only reported.")
]


def problem(
    knowledge: str | None,
    impurity: ImpurityName | None,
    facts: str | None,
    marginal: str | None,
    count: str | None,
    rounding: RoundingMode,
    confidence: float,
) -> dict[str, Any]:
    """The arguments of `maxent.api.estimate.compile_release`, which all commands that read a problem have."""
    return {
        "knowledge": knowledge,
        "impurity": None if impurity is None else impurity.value,
        "facts": facts,
        "marginal": marginal,
        "count": count,
        "rounding": rounding.value,
        "confidence": confidence,
    }


def columns(parameter: str, lists: Iterable[str]) -> list[str]:
    """Names from the lists of them that a parameter has; a name with a comma in it is quoted, as in CSV.

    Raises
    ------
    InvalidInput
        When there is a line break in a name that is not quoted, or a name of an absurd length.
    """
    try:
        return [name for row in csv.reader(lists, skipinitialspace=True) for name in row if name]
    except csv.Error:
        expected = "names with commas between; in quotes where they have a comma, a quote or a line break"
        raise invalid("options", ARGUMENT, parameter, expected, "text that cannot be read as such a list") from None


def reading(
    text: TextMode | None,
    na: list[str] | None,
    max_memory: str | None,
    csv_delimiter: DelimiterName | None,
    csv_decimal: DecimalMark | None,
    csv_encoding: str | None,
    sheet: str | None,
    format: str | None = None,
) -> Reading | None:
    """Options of reading files, None for the defaults."""
    from maxent.models.reading import reading_of

    return reading_of(
        {
            "text": text and text.value,
            "na": na and columns("na", na),
            "max_memory": max_memory,
            "csv_delimiter": csv_delimiter and csv_delimiter.value,
            "csv_decimal": csv_decimal and csv_decimal.value,
            "csv_encoding": csv_encoding,
            "sheet": sheet,
            "format": format,
        }
    )


def inputs(options: dict[str, Any]) -> list[str | None]:
    """The files among the arguments of `maxent.estimate` that go with the table."""
    return [path for _, path in named_inputs(options)]


def named_inputs(options: dict[str, Any]) -> list[tuple[str, str | None]]:
    """The same, each with what it is."""
    return [(name, options.get(name)) for name in ("truth", "facts", "marginal")]
