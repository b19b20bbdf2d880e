"""Arguments and options that several commands share, each stated once."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from maxent.api.options import ReadingOptions
from maxent.command_line import panels
from maxent.command_line.parsing import split_names
from maxent.command_line.progress import Job
from maxent.models.arguments import Parameter, parameters_of
from maxent.models.errors import ARGUMENT, InvalidInput, Problem, invalid
from maxent.models.files.output import AUDIT, BOUNDS, ESTIMATE, TABLE_SUFFIXES, FileKind, check_apart
from maxent.models.reading import reading_of


class LevelName(StrEnum):
    """Choices of ``--level``."""

    closed = "closed"
    linear = "linear"
    convex = "convex"
    integer = "integer"
    auto = "auto"


Tree = Annotated[str, typer.Argument(metavar="TREE", help="The release: a maxent/1 JSON file.")]
QI = Annotated[
    str,
    typer.Argument(
        metavar="QI", help="The adversary's table of quasi-identifiers, .csv or .parquet; - is standard input."
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


def result(*kinds: FileKind) -> Any:
    """The option ``-o`` of a command that writes tables."""
    words = "Write the result, by suffix: .csv, .parquet or .json."
    return panels.written(*kinds, names=OUTPUT, help=words)


def result_or_plot(*kinds: FileKind) -> Any:
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


def inputs(options: dict[str, Any]) -> list[str | None]:
    """The files among the arguments of `maxent.estimate` that go with the table."""
    return [path for _, path in named_inputs(options)]


def named_inputs(options: dict[str, Any]) -> list[tuple[str, str | None]]:
    """The same, each with what it is."""
    names = ("truth", "facts", "marginal", "control", "gain", "population", "test")
    return [(name, options.get(name)) for name in names]


# Options that several commands have, stated once by a dataclass or as the parameters of a function.

PANELS = {
    "known": panels.KNOWN,
    "read": panels.READ,
    "grown": panels.GROWN,
    "defended": panels.DEFENDED,
    "measured": panels.MEASURED,
    "solved": panels.SOLVED,
    "run": panels.RUN,
    "limits": panels.LIMITS,
    "output": panels.OUTPUT,
}


def completed_backend(incomplete: str) -> list[str]:
    """Back ends that a shell offers."""
    from maxent.solvers.backends.registry import backend_names

    return completed(incomplete, backend_names())


def completed_knowledge(incomplete: str) -> list[str]:
    """Kinds of knowledge that a shell offers."""
    from maxent.constraints.kinds.registry import knowledge

    return completed(incomplete, knowledge())


def completed_check(incomplete: str) -> list[str]:
    """Checks that a shell offers."""
    from maxent.policy.checks.registry import CHECKS

    return list(CHECKS)


def completed_policy(incomplete: str) -> list[str]:
    """Policies that a shell offers."""
    from maxent.policy.policy import presets

    return list(presets())


def completed_format(incomplete: str) -> list[str]:
    """Formats of releases that a shell offers."""
    from maxent.models.formats.registry import reader_names

    return list(reader_names())


def completed(incomplete: str, names: Iterable[str]) -> list[str]:
    """Names for the end of a list with commas between."""
    before, comma, _ = incomplete.rpartition(",")
    return [before + comma + name for name in names]


# Parameter -> what a shell offers for it.
COMPLETED = {
    "explain": completed_check,
    "backend": completed_backend,
    "backends": completed_backend,
    "knowledge": completed_knowledge,
    "format": completed_format,
}


@dataclass(frozen=True)
class OptionSet:
    """Options of a dataclass, without some, with other ``defaults``; a command gets what is ``made`` of them."""

    kind: type
    without: Collection[str]
    made: Callable[[dict[str, Any]], Any]
    defaults: Mapping[str, Any]


def stated(
    kind: type, *, without: Collection[str] = (), made: Callable[[dict[str, Any]], Any] = dict, **defaults: Any
) -> OptionSet:
    """A group of options for `takes`."""
    return OptionSet(kind, without, made, defaults)


def beyond_defaults(kind: type, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options without those of a dataclass that have their default value."""
    own = parameters_of(kind)
    return {name: value for name, value in options.items() if name not in own or value != own[name].default}


def _argument(each: Parameter, value: Any) -> Any:
    """The value of an option as a function takes it."""
    if each.kind is list:
        return split_names(each.name, value) if value else None
    if each.kind is bool and each.about.option.startswith("--no-"):
        return not value
    return value.value if isinstance(value, StrEnum) else value


def option(each: Parameter, default: Any, *, hidden: bool = False, repeated: bool = False) -> inspect.Parameter:
    """A parameter as one of a command; one that is ``repeated`` may be given several times."""
    about = each.about
    hint: Any = {list: list[str], dict: list[str], object: str}.get(each.kind, each.kind)
    metavar = about.metavar or {int: "N", float: "X"}.get(each.kind) or (about.files.upper() or None)
    if each.choices:
        make: Any = StrEnum
        hint = make(each.name, {choice: choice for choice in each.choices})
        default = None if default is None else hint(default)
    if each.kind is bool and about.option.startswith("--no-"):
        default = not default
    if repeated:
        hint, default = list[hint], [default]
    told = typer.Option(
        *([about.option] if about.option else ["--" + each.name.replace("_", "-")]),
        *(["--" + about.alias.replace("_", "-")] if about.alias else []),
        metavar=metavar,
        help=f"{about.help[:-1]}; may be repeated: a release for each." if repeated else about.help,
        rich_help_panel=PANELS[about.group],
        hidden=hidden,
        autocompletion=COMPLETED.get(each.name),
    )
    if about.kinds:
        told.kinds = about.kinds
    return inspect.Parameter(
        each.name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=None if hidden else default,
        annotation=Annotated[hint if hint is bool else Optional[hint], told],  # noqa: UP045 (made when it runs)
    )


def takes(**groups: OptionSet | type) -> Callable[[Callable[..., Job]], Callable[..., Job]]:
    """Give a command the options of groups, each in the place of the command's parameter of its name.

    A dataclass stands for all its options, and is made of them.
    """
    known = {
        name: each if isinstance(each, OptionSet) else stated(each, made=_of(each)) for name, each in groups.items()
    }
    told = {name: parameters_of(group.kind).values() for name, group in known.items()}
    own = {
        name: [each for each in told[name] if each.about.group != "call" and each.name not in group.without]
        for name, group in known.items()
    }
    options = {
        name: [option(each, group.defaults.get(each.name, each.default)) for each in own[name]]
        for name, group in known.items()
    }

    def decorated(command: Callable[..., Job]) -> Callable[..., Job]:
        @wraps(command)
        def called(*arguments: Any, **values: Any) -> Job:
            for name, group in known.items():
                given = {each.name: values.pop(each.name, each.default) for each in options[name]}
                values[name] = group.made({each.name: _argument(each, given[each.name]) for each in own[name]})
            return command(*arguments, **values)

        written = inspect.signature(command, eval_str=True).parameters.values()
        merged = [each for one in written for each in options.get(one.name, [one])]
        called.__signature__ = inspect.Signature(merged)  # type: ignore[attr-defined]
        called.__annotations__ = {each.name: each.annotation for each in merged}
        return called

    return decorated


def _of(kind: type) -> Callable[[dict[str, Any]], Any]:
    return lambda given: kind(**given)


def reads_files(
    *, releases: bool = True, **groups: OptionSet | type
) -> Callable[[Callable[..., Job]], Callable[..., Job]]:
    """Give a command the options of reading in the place of its parameter ``reading``, and those of other groups."""
    return takes(reading=stated(ReadingOptions, without=() if releases else ("format",), made=reading_of), **groups)


# Options of calls in parts, about more people than memory holds.

OutputInParts = Annotated[
    str | None,
    panels.written(
        ESTIMATE,
        names=OUTPUT,
        help="Write the result, by suffix: .csv, .parquet or .json; or a plot of it: .svg, .png or .pdf; or, to a new "
        "FOLDER/, Parquet files of posteriors as they come (docs/scale.md).",
    ),
]
OutputOfPeople = Annotated[
    str | None,
    panels.written(
        AUDIT,
        names=OUTPUT,
        help="Write the result: a row per quasi-identifier, without QI per leaf, by suffix: .csv, .parquet or .json; "
        "or, to a new FOLDER/, Parquet files as they come (docs/scale.md).",
    ),
]
OutputOfBounds = Annotated[
    str | None,
    panels.written(
        BOUNDS,
        names=OUTPUT,
        help="Write the result, by suffix: .csv, .parquet or .json; or, with --level closed, to a new FOLDER/, Parquet "
        "files as they come (docs/scale.md).",
    ),
]


def is_folder(output: str | None) -> bool:
    """Whether an output is a folder, by how it is written, or as there is one."""
    return output is not None and (output.endswith(("/", os.sep)) or os.path.isdir(output))


def in_parts(output: str | None, memory: str | None, jobs: int | None = 1, dask: str | None = None) -> bool:
    """Whether people are taken in parts, as the folder of an output, memory or workers ask for."""
    return memory is not None or dask is not None or jobs != 1 or is_folder(output)


def folder_of(output: str | None, inputs: Iterable[str | None]) -> str | None:
    """The folder of a call in parts, which is none of its inputs; an output that is none is refused."""
    if output is not None and not is_folder(output):
        expected = "a FOLDER/ for Parquet files, as people are taken in parts (memory=, jobs=, dask=)"
        raise invalid("options", ARGUMENT, "-o", expected, output)
    if output is not None:
        check_apart({"-o": output}, inputs)
    return output


# Files of a call that takes releases, and after them the adversary's table or a table for each release.

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


def split_files(files: Sequence[str], *, needed: bool = True) -> tuple[list[str], list[str]]:
    """The releases, and the tables: the last file, or as many as there are releases."""
    if len(files) == 1 and not needed:
        return list(files), []
    if len(files) <= 2:
        tables = 0 if not needed and files[-1].lower().endswith((".json", ".toml")) else 1
    else:
        at_end = next((i for i, file in enumerate(reversed(files)) if not is_table(file)), len(files))
        tables = 1 if at_end == len(files) else at_end
    releases = len(files) - tables
    last = needed and len(files) > 1 and files[-1].lower().endswith(".json")
    if releases < 1 or last or tables not in ((1, releases) if needed else (0, 1, releases)):
        from maxent.models.display import counted

        expected = "the releases, and after them the adversary's table, .csv or .parquet, or a table for each"
        found = f"{counted(releases, 'release')} and {counted(tables, 'table')} ({', '.join(files[releases:])})"
        found = f"{files[-1]!r} at the end" if last else f"only {files[0]!r}" if releases < 1 else found
        raise invalid("command line", ARGUMENT, TREES_AND_QI if needed else PERHAPS_QI, expected, found)
    return list(files[:releases]), list(files[releases:])


def split_last(files: Sequence[str], names: str) -> tuple[list[str], str]:
    """The releases, and the table, which is the last file; ``names``: of the arguments, such as ``MODEL... DATA``."""
    *first, last = names.split()
    if len(files) < 2:
        lacking = [first[0].removesuffix("..."), last][len(files) :]
        raise InvalidInput("options", [Problem(ARGUMENT, name, "a value", "nothing") for name in lacking])
    return list(files[:-1]), files[-1]


def swapped(args: Sequence[str], names: str, files: Sequence[str]) -> Problem | None:
    """The problem of a refused call that has its tables before what they belong to; None where it has not."""
    from shlex import join

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
