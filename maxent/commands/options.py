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


TARGET = "The column of the class; of published records the default is the one that QI lacks."

Tree = Annotated[str, typer.Argument(metavar="TREE", help="What is published: a maxent/1 JSON file.")]
Published = Annotated[
    str,
    typer.Argument(
        metavar="TREE", help="What is published: a maxent/1 JSON file, or generalised records, .csv or .parquet."
    ),
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
        help="What the adversary uses: some of label, rate, counts, internal and marginal, with commas between; "
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
    panels.known(metavar="FILE", help="How often each class occurs: a column of the target, and count or probability."),
]
Count = Annotated[
    str | None, panels.read(metavar="COLUMN", help="The column with the number of people a row of QI stands for.")
]
Rounding = Annotated[
    RoundingMode,
    panels.known(
        help="Printed error rates are rounded to decimals (digits), literal (exact), or as digits prove (auto)."
    ),
]
Confidence = Annotated[
    float, panels.known(metavar="P", help="Probability that all intervals of sampled counts hold together.")
]
Truth = Annotated[
    str | None,
    panels.measured(
        metavar="FILE", help="The confidential data: adds how far an estimate is from it, and training accuracies."
    ),
]
Backend = Annotated[
    str,
    panels.solved(
        metavar="NAME",
        help="The solver; auto is the best one installed for the problem.",
        autocompletion=completed_backend,
    ),
]
Tolerance = Annotated[
    float, panels.solved(metavar="X", help="Largest violation of a constraint, as a probability, that is solved.")
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
        help="How long compiling and solving may take, for each release and back end; then the best so far counts.",
    ),
]
Jobs = Annotated[int, panels.run(metavar="N", help="Processes that work at the same time; -1: one for each core.")]
Dask = Annotated[
    str | None,
    panels.run(metavar="ADDRESS", help="A Dask cluster whose workers do the work: tcp://scheduler:8786."),
]
Floor = Annotated[
    float,
    panels.solved(metavar="P", help="Smallest probability that newton leaves where entropies would push it to 0."),
]
Test = Annotated[
    str | None,
    panels.measured(
        metavar="FILE", help="Other records with their classes: adds the accuracy on people not trained on."
    ),
]
Top = Annotated[int, panels.measured(metavar="N", help="How many of the most disclosed quasi-identifiers are named.")]
MinSize = Annotated[int, panels.measured(metavar="N", help="Records of the smallest leaf that counts as homogeneous.")]
Background = Annotated[
    int, panels.known(metavar="B", help="How many members of a leaf the adversary knows the classes of.")
]
Text = Annotated[
    TextMode | None,
    panels.read(
        help="Values that differ only by blanks or Unicode form: refuse them, strip all text so that they are one, or "
        "take all text exactly as it is; default: refuse.",
    ),
]
NA = Annotated[
    list[str] | None,
    panels.read(
        "--na",
        metavar="A,B,...",
        help="What a missing value is written as, besides an empty cell; default: NA, NaN, null, None, N/A, #N/A and "
        "the like (docs/tables.md).",
    ),
]
MaxMemory = Annotated[
    str | None,
    panels.read(
        "--max-memory",
        metavar="SIZE",
        help="What a table may take of the memory while it is read, such as 500MB; default: 2GB.",
    ),
]
CsvDelimiter = Annotated[
    DelimiterName | None,
    panels.read("--csv-delimiter", help="What separates the cells of CSV files; default: what they show themselves."),
]
CsvDecimal = Annotated[
    DecimalMark | None,
    panels.read(
        "--csv-decimal", help="What stands before the decimals of numbers in CSV files; default: what columns show."
    ),
]
CsvEncoding = Annotated[
    str | None,
    panels.read(
        "--csv-encoding",
        metavar="NAME",
        help="The encoding of CSV files, such as cp1252; default: UTF-8, or what their letters show.",
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
        help="The format of what is published (docs/formats.md); default: what the file shows.",
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
    panels.output(metavar="FILE", help="Write a report for whoever decides: one .html file that opens anywhere."),
]
MaxPosterior = Annotated[
    float | None, panels.limit(metavar="P", help="Limit: the largest probability that may be inferred of anybody.")
]
MinK = Annotated[
    int | None, panels.limit(metavar="K", help="Limit: the fewest individuals in a group that is not told apart.")
]
MaxCertain = Annotated[
    int | None, panels.limit(metavar="N", help="Limit: the most individuals whose class may be certain.")
]
Enforce = Annotated[
    bool, panels.limit("--enforce", help="Exit status 1 unless all limits are kept; else they are only reported.")
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
    """How files are read, None for as usual."""
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
