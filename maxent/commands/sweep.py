"""``maxent sweep``: a study file, point by point."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxent.api.decision_options import WorkersOfParts
from maxent.command_line import options as opt
from maxent.command_line import panels
from maxent.command_line.options import stated, takes
from maxent.command_line.progress import DONE, UNRELIABLE, Job, progress, tell, tell_noticed
from maxent.models.errors import ARGUMENT, invalid
from maxent.results.text.terminal import print_json, print_lines

if TYPE_CHECKING:
    from maxent.studies.sweep import Sweep

# Reasons for failing that are printed.
SHOWN = 10


# Calls that its help ends with.
EXAMPLES = (
    "maxent sweep study.toml --dry-run",
    "maxent sweep study.toml -o results --jobs 2",
)


@takes(options=stated(WorkersOfParts, without=("memory",)))
def command(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="The study, a TOML file: see docs/sweep.md.")],
    output: Annotated[
        str | None,
        panels.written(
            names=opt.OUTPUT,
            metavar="FOLDER",
            help="Write the result: each row as it comes, and results.parquet; points that it has are not run again.",
        ),
    ] = None,
    data: Annotated[
        str | None,
        panels.read(metavar="FOLDER", help="First folder to search for data; then that of STUDY, then MAXENT_DATA."),
    ] = None,
    options: Any = None,
    dry_run: Annotated[
        bool, panels.run("--dry-run", help="Print the points and their number, and find points that will fail.")
    ] = False,
    as_json: opt.Json = False,
) -> Job:
    """Run a grid of data sets, defenses and adversaries: one row of results for each point.

    Exit status 1 when a point failed, a result is not reliable, or Ctrl-C ended it early: the same call continues.
    """
    if dry_run:
        return partial(_show, study, data, output, options, as_json)
    return partial(_run, study, output, {"data": data, **options}, as_json)


def _show(path: str, data: str | None, output: str | None, options: dict[str, Any], as_json: bool) -> int:
    """Print the points; refuse the study, and say why, when some of them will fail."""
    from maxent.models.display import counted
    from maxent.studies.points import parameters
    from maxent.studies.study_file import load_study
    from maxent.studies.sweep import rehearse

    study = load_study(path, data)
    points = [parameters(point) for point in study.points]
    if not as_json:
        lines = (" ".join(f"{name}={value}" for name, value in point.items() if value is not None) for point in points)
        print_lines([*lines, counted(len(points), "point")])
    with progress() as told:
        rehearse(study, output, progress=told, **options)
    if as_json:
        print_json({"study": study.name, "points": len(points), "grid": points})
    return DONE


def _run(study: str, output: str | None, options: dict[str, Any], as_json: bool) -> int:
    from maxent.studies.sweep import sweep

    if output is None:
        raise invalid("options", ARGUMENT, "output", "a folder for the results, or dry_run=", "nothing")
    with progress() as told:
        result = sweep(study, output, progress=told, interruptible=True, **options)
    tell_noticed(result.noticed)
    if as_json:
        print_json(result.summary)
    else:
        _print(result)
    if result.interrupted:
        tell(f"interrupted: {len(result.rows)} of {result.points} points are done, the same call goes on")
    return DONE if result.reliable and not result.interrupted else UNRELIABLE


def _print(result: Sweep) -> None:
    """Number of points, their ends, and the reasons of failures."""
    from maxent.models.display import counted

    summary = result.summary
    ended = ", ".join(f"{number} {status}" for status, number in summary["status"].items())
    lines = [f"{counted(result.points, 'point')}, {result.new} run now: {ended or 'none done'}"]
    for failure in result.failures[:SHOWN]:
        told = ("data", "seed", "fold", "method", "k")
        first = " ".join(f"{name}={failure.first[name]}" for name in told if failure.first[name] is not None)
        number = len(failure.points)
        points = "1 point," if number == 1 else f"{number} points like"
        lines.append(f"failed: {points} {first}: {failure.error}")
    if len(result.failures) > SHOWN:
        lines.append(f"and for {len(result.failures) - SHOWN} reasons more")
    print_lines([*lines, summary["results"]])
