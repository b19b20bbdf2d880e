"""Arguments and options that several commands have, each said once."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from maxent.command_line import panels
from maxent.models.files.kinds import REPORT, Kind


class LevelName(StrEnum):
    """Choices of ``--level``."""

    closed = "closed"
    linear = "linear"
    convex = "convex"
    integer = "integer"
    auto = "auto"


Tree = Annotated[str, typer.Argument(metavar="TREE", help="The release: a maxent/1 JSON file.")]
Published = Annotated[
    str,
    typer.Argument(metavar="TREE", help="The release: a maxent/1 JSON file, or generalised records, .csv or .parquet."),
]
QI = Annotated[
    str,
    typer.Argument(
        metavar="QI", help="The adversary's table of quasi-identifiers, .csv or .parquet; - is standard input."
    ),
]
NoMarginal = Annotated[
    bool,
    panels.limit(
        "--no-marginal",
        help="Judge by an adversary who does not know the base rate; default: it is known where anything states it.",
    ),
]
TimeLimit = Annotated[
    float | None,
    panels.solved(
        metavar="SECONDS",
        help="Time for compiling and solving, for each release and back end; then the best answer so far counts.",
    ),
]
Jobs = Annotated[
    int, panels.run(metavar="N", help="Number of parallel processes; -1: one for each core, -2: one less.")
]
Dask = Annotated[
    str | None,
    panels.run(
        metavar="ADDRESS",
        help="Dask cluster that does the work, such as tcp://scheduler:8786; local:N starts one of N processes.",
    ),
]
Test = Annotated[
    str | None,
    panels.measured(metavar="FILE", help="Other records with their classes: adds the test accuracy."),
]
Level = Annotated[
    LevelName | None,
    panels.solved(help="Last level of proof, each tighter than the one before it; default: all of them (auto)."),
]
OUTPUT = ("-o", "--output")
Json = Annotated[bool, panels.output("--json", help="Print one JSON object and nothing else.")]


def result(*kinds: Kind) -> Any:
    """The option ``-o`` of a command that writes tables."""
    words = "Write the result, by suffix: .csv, .parquet or .json."
    return panels.written(*kinds, names=OUTPUT, help=words)


def result_or_plot(*kinds: Kind) -> Any:
    """The option ``-o`` of a command that also draws."""
    words = "Write the result, by suffix: .csv, .parquet or .json; or a plot of it: .svg, .png or .pdf."
    return panels.written(*kinds, names=OUTPUT, help=words)


CsvLiteral = Annotated[
    bool,
    panels.output(
        "--csv-literal",
        help="Write text to .csv as it is; default: an apostrophe before what a spreadsheet would run (=, +, -, @).",
    ),
]

Report = Annotated[
    str | None,
    panels.written(REPORT, help="Write a report for whoever decides: one .html file, for any browser."),
]
Title = Annotated[
    str | None,
    panels.output(metavar="TEXT", help="Title of the report or record; default: one that names the releases."),
]
Purpose = Annotated[
    str | None,
    panels.output(metavar="TEXT", help="Purpose of the release, for the first page of the report, or the record."),
]
MaxPosterior = Annotated[
    float | None, panels.limit(metavar="P", help="Limit: largest inferred probability of anybody's class.")
]
MinK = Annotated[
    int | None, panels.limit(metavar="K", help="Limit: fewest people in a group with the same published information.")
]
MaxCertain = Annotated[int | None, panels.limit(metavar="N", help="Limit: most people whose class is certain.")]
MaxRightGuesses = Annotated[
    float | None, panels.limit(metavar="P", help="Limit: largest share of people whose class is guessed right.")
]
MaxLift = Annotated[
    float | None,
    panels.limit(metavar="S", help="Limit: most that right guesses may exceed the base rate by, a share of people."),
]
Enforce = Annotated[
    bool,
    panels.limit(
        "--enforce",
        help="Exit status 3 where a limit is not kept, 4 where that cannot be told; by default limits are only "
        "reported.",
    ),
]


def inputs(options: dict[str, Any]) -> list[str | None]:
    """The files among the arguments of `maxent.estimate` that go with the table."""
    return [path for _, path in named_inputs(options)]


def named_inputs(options: dict[str, Any]) -> list[tuple[str, str | None]]:
    """The same, each with what it is."""
    return [(name, options.get(name)) for name in ("truth", "facts", "marginal", "control", "gain")]
