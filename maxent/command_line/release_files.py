"""Files of a call that takes releases, and after them the adversary's table or a table for each release."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from maxent.command_line import panels
from maxent.models.files.output import TABLE_SUFFIXES

if TYPE_CHECKING:
    from maxent.models.errors import Problem

TREES_AND_QI, PERHAPS_QI = "TREE... QI", "TREE... [QI]"

_RELEASES = (
    "The release: a maxent/1 JSON file, or generalised records, .csv or .parquet; or several releases about "
    "overlapping people (docs/successive.md)."
)

Files = Annotated[
    list[str],
    typer.Argument(
        metavar=TREES_AND_QI,
        help=f"{_RELEASES} Last the adversary's table of quasi-identifiers, .csv or .parquet, - is standard input; or "
        "a table for each release.",
    ),
]
FilesPerhapsOfPeople = Annotated[
    list[str],
    typer.Argument(
        metavar=PERHAPS_QI,
        help=f"{_RELEASES} Last, if there is one, the adversary's table of quasi-identifiers, .csv or .parquet; or a "
        "table for each release.",
    ),
]
Who = Annotated[
    str | None,
    panels.read(
        metavar="COLUMN",
        help="Column that names each person, by which the tables of several releases are linked; default: each table "
        "is within the next larger one.",
    ),
]


def split_files(files: Sequence[str], *, needed: bool = True) -> tuple[list[str], list[str]]:
    """The releases, and the tables: the last file, or as many as there are releases.

    ``needed``: whether there has to be a table.
    """
    from maxent.models.display import counted
    from maxent.models.errors import ARGUMENT, invalid

    if len(files) == 1 and not needed:
        return list(files), []
    if len(files) <= 2:
        tables = 0 if not needed and files[-1].lower().endswith(".json") else 1
    else:
        at_end = next((i for i, file in enumerate(reversed(files)) if not is_table(file)), len(files))
        tables = 1 if at_end == len(files) else at_end
    releases = len(files) - tables
    last = needed and len(files) > 1 and files[-1].lower().endswith(".json")
    if releases < 1 or last or tables not in ((1, releases) if needed else (0, 1, releases)):
        expected = "the releases, and after them the adversary's table, .csv or .parquet, or a table for each"
        found = f"{counted(releases, 'release')} and {counted(tables, 'table')} ({', '.join(files[releases:])})"
        found = f"{files[-1]!r} at the end" if last else f"only {files[0]!r}" if releases < 1 else found
        raise invalid("command line", ARGUMENT, TREES_AND_QI if needed else PERHAPS_QI, expected, found)
    return list(files[:releases]), list(files[releases:])


def swapped(args: Sequence[str], names: str, files: Sequence[str]) -> Problem | None:
    """The problem of a refused call that has its tables before what they belong to; None where it has not.

    ``args``: the whole call. ``names``: the names of its arguments, such as ``TREE... QI``. ``files``: the values of
    these.
    """
    from shlex import join

    from maxent.models.errors import ARGUMENT, Problem

    first = next((i for i, file in enumerate(files) if not is_table(file)), 0)
    is_named = args[0] == "compare" and "--qi" in args  # so that all others are releases, tables of records, too
    if not first or any(is_table(file) for file in files[first:]) or is_named or any("://" in file for file in files):
        return None
    right = join(["maxent", args[0], *files[first:], *files[:first]])
    return Problem(ARGUMENT, names, f"them in this order: {right}", "them swapped, the table first")


def is_table(file: str) -> bool:
    """Whether a file is a table by its name."""
    return file == "-" or file.lower().endswith(TABLE_SUFFIXES)


def named(releases: Sequence[str]) -> str:
    """A name for releases that are taken together."""
    return " + ".join(Path(release).stem for release in releases)
