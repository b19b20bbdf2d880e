"""``maxent sweep``: a study file, point by point."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxent.commands import options as opt
from maxent.commands.jobs import DONE, UNRELIABLE, Job, progress, tell

if TYPE_CHECKING:
    from maxent.sweeping import Sweep

SHOWN = 10
"""Failed points that are named."""


def sweep_command(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="The study, a TOML file: see docs/sweep.md.")],
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FOLDER",
            help="Where to write each row as it comes, and results.parquet; points that it has are not run again.",
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Where to look for data first; then beside STUDY, then in MAXENT_DATA."),
    ] = None,
    jobs: Annotated[int, typer.Option(metavar="N", help="Processes that run points; -1: one for each core.")] = 1,
    dask: opt.Dask = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the points and how many there are.")] = False,
    as_json: opt.Json = False,
) -> Job:
    """Run a grid of data sets, defenses and adversaries: one row of results for each point.

    Exit status 1 when a point failed, a result is not to be relied on, or Ctrl-C ended it early: the same call goes on.
    """
    if dry_run:
        return partial(_show, study, data, as_json)
    if output is None:
        raise typer.BadParameter("say where to write results: -o FOLDER (or --dry-run)")
    return partial(_run, study, output, {"data": data, "jobs": jobs, "dask": dask}, as_json)


def _show(path: str, data: str | None, as_json: bool) -> int:
    from maxent.report import as_json_text, printable
    from maxent.studies import load_study
    from maxent.study_rows import parameters

    study = load_study(path, data)
    points = [parameters(point) for point in study.points]
    if as_json:
        print(as_json_text({"study": study.name, "points": len(points), "grid": points}))
        return DONE
    for point in points:
        print(printable(" ".join(f"{name}={value}" for name, value in point.items() if value is not None)))
    print(f"{len(points)} points")
    return DONE


def _run(study: str, output: str, options: dict[str, Any], as_json: bool) -> int:
    from maxent.report import as_json_text
    from maxent.sweeping import sweep

    with progress() as told:
        result = sweep(study, output, progress=told, interruptible=True, **options)
    if as_json:
        print(as_json_text(result.summary))
    else:
        _print(result)
    if result.interrupted:
        tell(f"interrupted: {len(result.rows)} of {result.points} points are done, the same call goes on")
    return DONE if result.reliable and not result.interrupted else UNRELIABLE


def _print(result: Sweep) -> None:
    """How many points there are, how they ended, and why some failed."""
    from maxent.report import printable

    summary = result.summary
    ended = ", ".join(f"{number} {status}" for status, number in summary["status"].items())
    print(f"{result.points} points, {result.new} run now: {ended or 'none done'}")
    for row in result.failed[:SHOWN]:
        of = " ".join(
            f"{name}={row[name]}" for name in ("data", "seed", "fold", "method", "k") if row[name] is not None
        )
        print(printable(f"failed: {of}: {row['error']}"))
    if len(result.failed) > SHOWN:
        print(f"and {len(result.failed) - SHOWN} more")
    print(printable(summary["results"]))
