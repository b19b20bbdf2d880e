"""``maxent compare``: several releases about the same people; with ``--diff``, two successive releases."""

from __future__ import annotations

from dataclasses import fields
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

import typer

from maxent.api.decision_options import Comparing, Differing
from maxent.api.options import Who
from maxent.command_line import options as opt
from maxent.command_line import panels
from maxent.command_line.options import TREES_AND_QI, is_table, reads_files, split_files, stated
from maxent.command_line.progress import DONE, UNRELIABLE, Job, progress, tell, tell_noticed
from maxent.command_line.verdict import AskedVerdict, ReportFile
from maxent.models.arguments import parameters_of
from maxent.models.errors import ARGUMENT, check_unused, invalid
from maxent.models.files.output import COMPARISON, DIFFERENCE, check_outputs
from maxent.results.reliability import REASONS
from maxent.results.text.terminal import print_json, print_lines

# ``maxent compare --diff``: what two successive releases tell of those who joined, left or stayed.

# Options of a comparison that say nothing where they have these values.
DEFAULTS = {"min_size": 1, "background": 1, "top": 10}


def difference(
    files: list[str],
    named: list[str],
    options: dict[str, Any],
    apart: dict[str, Any],
    as_json: bool,
    output: str | None,
    csv_literal: bool,
) -> int:
    """Compare two successive releases, and print and write what their difference tells.

    ``files``: the releases, and after them their tables, but those that are ``named``. ``named``: Tables that are given
    with ``--qi``, the first ones. ``options``: Parameters of `maxent.compare_releases`. ``apart``: Options of a
    comparison side by side, which are refused. ``as_json``, ``output``, ``csv_literal``: as for all commands.
    """
    from maxent.models.files.result_files import POSTERIOR

    asked = apart.pop("limits")
    given = {name: value for name, value in apart.items() if value != DEFAULTS.get(name)}
    stated = {each.name: getattr(asked, each.name) for each in fields(asked) if getattr(asked, each.name) is not False}
    check_unused("releases side by side, without diff=", **given, **stated)
    trees, tables = _split_releases(files, named)
    check_outputs({"-o": (output, POSTERIOR)}, [*trees, *tables, options["facts"], options["marginal"]])
    if len(trees) != 2:
        expected = "two releases and their tables: maxent compare --diff old.json new.json old.csv new.csv"
        raise invalid("command line", ARGUMENT, TREES_AND_QI, expected, _counted(trees, tables))
    from maxent.api.successive import compare_releases
    from maxent.results.difference import print_successive

    level = options.pop("level")
    with progress() as told:
        found = compare_releases(
            trees, tables, level="auto" if level is None else level.value, progress=told, interruptible=True, **options
        )
    tell_noticed(found.estimate.noticed)
    if output is not None:
        found.save(output, csv_literal=csv_literal)
    if as_json:
        print_json(found.summary)
    else:
        print_successive(found)
    if found.reliable:
        return DONE
    tell(f"not to be relied on: bounds {found.proof.status}, estimate {found.estimate.outcome.status}")
    return UNRELIABLE


def _split_releases(files: list[str], named: list[str]) -> tuple[list[str], list[str]]:
    """The releases and the tables, those first that ``--qi`` names."""
    if not named:
        return split_files(files)
    return [file for file in files if not is_table(file)], [*named, *filter(is_table, files)]


def _counted(trees: list[str], tables: list[str]) -> str:
    """Numbers of releases and tables in words."""
    from maxent.models.display import counted

    return f"{counted(len(trees), 'release')} and {counted(len(tables), 'table')}"


# Calls that its help ends with.
EXAMPLES = (
    "maxent compare before.json after.json qi.csv --truth truth.csv",
    "maxent compare before.json after.json qi.csv --max-certain 0 --min-k 5 --report report.html",
)


class ComparisonPlot(StrEnum):
    """Choices of ``compare --plot``."""

    bars = "bars"
    tradeoff = "tradeoff"
    posterior = "posterior"
    divergence = "divergence"


@reads_files(linked=stated(Who), options=stated(Comparing), asked=AskedVerdict)
def command(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="TREE... QI",
            help="The releases, the original first: maxent/1 JSON files, or records in .csv or .parquet; and last "
            "the adversary's table of quasi-identifiers, .csv or .parquet, with --diff one for each release.",
        ),
    ],
    # As it was called before QI was an argument, as it is in all other commands.
    table: Annotated[list[str] | None, panels.known("--qi", metavar="FILE", hidden=True)] = None,
    diff: Annotated[
        bool,
        panels.measured(
            "--diff", help="Difference of two releases instead: the classes of those who joined, left or stayed."
        ),
    ] = False,
    linked: Any = None,
    options: Any = None,
    level: opt.Level = None,
    reading: Any = None,
    as_json: opt.Json = False,
    output: Annotated[str | None, opt.result_or_plot(COMPARISON, DIFFERENCE)] = None,
    csv_literal: opt.CsvLiteral = False,
    plot: Annotated[
        ComparisonPlot | None,
        panels.output(help="Plot that -o draws; default: bars. tradeoff and divergence need --truth."),
    ] = None,
    asked: Any = None,
) -> Job:
    """Compare several releases about the same people: disclosure, attacks and accuracy.

    Exit status 1 when an estimate is not reliable, or Ctrl-C ended it early: the rest is still printed. Limits apply
    to all releases but the first, which the others are compared with. With --diff there are two successive releases,
    each with a table of its people.
    """
    if diff:
        common = [name for name in parameters_of(Differing) if name in options]
        apart = {name: value for name, value in options.items() if name not in common}
        solved = {**{name: options[name] for name in common}, "reading": reading, **linked, "level": level}
        asked_for = {"limits": asked, **apart, "plot": plot}
        return partial(difference, files, table or [], solved, asked_for, as_json, output, csv_literal)
    options |= {"reading": reading, "no_marginal": asked.no_marginal}
    check = {**linked, "level": level}
    return partial(_run, files, table or [], check, options, as_json, output, plot and plot.value, asked, csv_literal)


def _split(files: list[str], table: list[str]) -> tuple[list[str], str]:
    """The releases, and the adversary's table, which is the last file unless it was named otherwise."""
    if len(table) > 1:
        raise invalid("command line", ARGUMENT, "--qi", "one table without --diff", f"{len(table)} tables")
    if table:
        return files, table[0]
    *trees, last = files
    expected = "the releases, and after them the adversary's table, .csv or .parquet"
    if not trees:
        raise invalid("command line", ARGUMENT, "TREE... QI", expected, f"only {last!r}")
    if last.lower().endswith(".json"):
        raise invalid("command line", ARGUMENT, "TREE... QI", expected, f"{last!r} at the end")
    return trees, last


def _run(
    files: list[str],
    table: list[str],
    only_of_differences: dict[str, Any],
    options: dict[str, Any],
    as_json: bool,
    output: str | None,
    plot: str | None,
    asked: AskedVerdict,
    csv_literal: bool,
) -> int:

    check_unused("differences of two releases (diff=True)", **only_of_differences)
    trees, qi = _split(files, table)
    from maxent.models.files.result_files import PLOTS, POSTERIOR, REPORT
    from maxent.plotting.comparisons import KINDS, check_comparison_kind, save_comparison_plot
    from maxent.plotting.figures import chosen_plot

    outputs = {"-o": (output, (*POSTERIOR, *PLOTS)), "--report": (asked.report, REPORT)}
    check_outputs(outputs, [*trees, qi, *opt.inputs(options)])
    limits = asked.limits()
    asked.check_texts()
    kind = chosen_plot(plot, output, KINDS[0])
    if kind is not None:
        check_comparison_kind(kind, truth=options["truth"] is not None)
    if options["memory"] is not None:
        curves = kind if kind == "divergence" else None
        check_unused("people who are not in parts, without memory=", report=asked.report, plot=curves)
    from maxent.api.compare import compare
    from maxent.results.comparison import print_comparison

    report = ReportFile(asked, Comparing, "compare", trees, [qi], options)
    with progress() as told:
        result = compare(trees, qi, progress=told, interruptible=True, each=report.each, **options)
    tell_noticed(result.noticed)
    verdict = result.judged(limits, of=len(trees))
    if output is not None and kind is None:
        result.save(output, csv_literal=csv_literal)
    report.write(verdict, [*result.noticed.notes, *result.notes], interrupted=result.interrupted)
    try:
        if output is not None and kind is not None:
            save_comparison_plot(result, output, kind)
    finally:  # what a plot lacks, an accuracy, may be known only now: the numbers are there all the same
        if not as_json:
            print_comparison(result)
            print_lines(verdict.lines())
    if as_json:  # last: where a file cannot be written, the object on standard output says that
        print_json({**result.summary, **verdict.summary})
    for row in result.rows:
        if row["status"] != "optimal":
            tell(f"{row['release']}: not to be relied on: {REASONS[row['status']]}")
    if result.interrupted:
        tell("interrupted: not every release was compared")
    status = asked.status(verdict)
    return status if result.reliable and not result.interrupted else UNRELIABLE
