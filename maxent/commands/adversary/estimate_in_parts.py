"""``maxent estimate`` with ``--memory`` or ``-o FOLDER/``: leaf by leaf, posteriors in files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from maxent.command_line.options import inputs
from maxent.command_line.part_options import where as in_parts
from maxent.command_line.progress import UNRELIABLE, progress, tell, tell_noticed
from maxent.command_line.release_files import named, split_files
from maxent.command_line.verdict import Asked
from maxent.results.reliability import not_reliable

if TYPE_CHECKING:
    from maxent.api.adversary.estimate import Solving
    from maxent.api.compile import Knowledge
    from maxent.disclosure.limits import Limits
    from maxent.results.estimate import Estimate


def run(
    files: Sequence[str],
    options: dict[str, Any],
    as_json: bool,
    output: str | None,
    memory: str | None,
    asked: Asked,
    refused: Mapping[str, Any],
) -> int:
    """Estimate in parts; options that are ``refused`` have to be left out."""
    from maxent.api.case import Tables, taken
    from maxent.api.parts.estimate import estimate_tables
    from maxent.solvers.clock import hearing

    trees, people = split_files(files)
    _check_refused(refused)
    where = in_parts(output, memory, [*files, *inputs(options)])
    limits = cache(asked.limits)

    def settings() -> tuple[Knowledge, Solving]:
        limits()  # refused before hours of work, but not before others can begin
        return _settings(options)

    tables, jobs, dask = taken(Tables, {**options, "qi": people}), options["jobs"], options["dask"]
    with progress() as told, hearing(tell):
        result = estimate_tables(
            trees,
            tables,
            settings,
            jobs,
            dask,
            where,
            target=options["target"],
            progress=told,
            limit=options["time_limit"],
        )
    return _told(result, trees, as_json, limits(), asked)


def _settings(options: dict[str, Any]) -> tuple[Knowledge, Solving]:
    """The parameters of estimates, checked."""
    from maxent.api.adversary.estimate import Solving
    from maxent.api.case import taken
    from maxent.api.compile import Knowledge

    known = taken(Knowledge, options)
    known.check()
    return known, taken(Solving, options)


def _told(result: Estimate, trees: Any, as_json: bool, limits: Limits, asked: Asked) -> int:
    """Print an estimate and its verdict; the exit status."""
    from maxent.api.parts.result import EstimateInParts
    from maxent.disclosure.judging import judge_informed
    from maxent.results.solved import described, estimate_numbers
    from maxent.text.estimate import print_estimate
    from maxent.text.terminal import print_json, print_lines

    tell_noticed(result.noticed)
    release = result.program.release
    row = result.numbers if limits.stated else {"defense": described(release), **estimate_numbers(result)}
    verdict = judge_informed(limits, [{**row, "release": named(trees)}], [result.judged_row]).mended([result.mended])
    if as_json:
        print_json({**result.summary, **verdict.summary})
    else:
        if isinstance(result, EstimateInParts):
            print_lines(result.lines())
        else:
            print_estimate(result)
        print_lines(verdict.lines())
    status = asked.status(verdict)
    if result.reliable:
        return status
    tell(not_reliable(result.outcome.status))
    return UNRELIABLE


def _check_refused(refused: Mapping[str, Any]) -> None:
    """Refuse options that an estimate in parts has not."""
    from maxent.models.errors import ARGUMENT, InvalidInput, Problem

    problems = [
        Problem(ARGUMENT, name, "none with memory= or -o FOLDER/, where people are in parts", str(value))
        for name, value in refused.items()
        if value
    ]
    if problems:
        raise InvalidInput("options", problems)
