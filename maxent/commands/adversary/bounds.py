"""``maxent bounds``: what is proved of each person."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from maxent.command_line import options as opt
from maxent.command_line import panels
from maxent.command_line import part_options as parts
from maxent.command_line.progress import DONE, UNRELIABLE, Job, finishing, progress, tell, tell_noticed
from maxent.command_line.reading_options import reads_files
from maxent.command_line.release_files import Files, Who, split_files
from maxent.models.files.kinds import WITNESSES
from maxent.results.reliability import not_reliable

if TYPE_CHECKING:
    from maxent.api.parts.folder import InParts
    from maxent.results.bounds import ProvedBounds

EXAMPLES = (
    "maxent bounds tree.json qi.csv",
    "maxent bounds tree.json qi.csv --time-limit 60 --worlds --witness people.csv -o bounds.csv",
)
"""Calls that its help ends with."""


class TiesName(StrEnum):
    """Choices of ``--ties``."""

    any = "any"
    first = "first"


Ties = Annotated[
    TiesName,
    panels.solved(help="Inducer's choice among equally good attributes: any of them, or the first (whole numbers)."),
]


Worlds = Annotated[
    bool, panels.solved("--worlds", help="Weigh each consistent world equally, too: is the estimate fragile?")
]
Witness = Annotated[
    str | None,
    panels.written(WITNESSES, names=("--witness",), help="Write two tables of people that agree with everything."),
]


@reads_files(problem=opt.problem, work=parts.work)
def command(
    qi: Files,
    level: opt.Level = None,
    ties: Ties = TiesName.any,
    problem: Any = None,
    target: opt.Target = None,
    who: Who = None,
    time_limit: opt.TimeLimit = None,
    reading: Any = None,
    worlds: Worlds = False,
    witness: Witness = None,
    work: Any = None,
    as_json: opt.Json = False,
    output: parts.OutputOfBounds = None,
    csv_literal: opt.CsvLiteral = False,
) -> Job:
    """Prove bounds on P(class | quasi-identifier) over all data consistent with a release.

    With --level closed, --memory, --jobs, --dask and -o FOLDER/ take people in parts.
    """
    options = {
        **problem,
        "level": (level or opt.LevelName.auto).value,
        "ties": ties.value,
        "target": target,
        "time_limit": time_limit,
        "reading": reading,
        "worlds": worlds,
        "who": who,
    }
    return partial(_run, qi, options, witness, as_json, output, csv_literal, work)


def _run(
    files: list[str],
    options: dict[str, Any],
    witness: str | None,
    as_json: bool,
    output: str | None,
    csv_literal: bool,
    work: parts.Work,
) -> int:
    trees, tables = split_files(files)
    from maxent.models.files.output import check_outputs
    from maxent.models.files.result_files import POSTERIOR
    from maxent.text.bounds import print_bounds
    from maxent.text.terminal import print_json

    inputs, in_parts = [*files, *opt.inputs(options)], work.in_parts(output)
    check_outputs({"-o": (None if in_parts else output, POSTERIOR), "--witness": (witness, POSTERIOR)}, inputs)
    if in_parts:
        found = _in_parts(trees, tables, {**options, "witness": witness is not None}, work, work.where(output, inputs))
    else:
        found = _whole(trees, tables, {**options, "witness": witness is not None})
    with finishing(found.status):
        tell_noticed(found.noticed)
        if output is not None and not in_parts:
            found.save(output, csv_literal=csv_literal)
        if witness is not None and found.witness is not None:
            from maxent.results.witnesses import save_witness

            save_witness(found.program, found.witness, witness, csv_literal=csv_literal)
        if as_json:
            print_json(found.summary)
        else:
            print_bounds(found)
    if found.reliable:
        if found.unwitnessed is None:
            return DONE
        tell(found.unwitnessed)
        return UNRELIABLE
    tell(not_reliable(found.status))
    return UNRELIABLE


def _whole(trees: list[str], tables: list[str], options: dict[str, Any]) -> ProvedBounds:
    from maxent.api.adversary.bounds import bounds
    from maxent.solvers.clock import hearing

    with hearing(lambda text: tell(f"note: {text}; with --time-limit SECONDS bounds are what is proved by then")):
        return bounds(trees, tables, **options, interruptible=True)


def _in_parts(
    trees: list[str], tables: list[str], options: dict[str, Any], work: parts.Work, where: InParts
) -> ProvedBounds:
    """The bounds of people in parts."""
    from maxent.api.adversary.estimate import Solving
    from maxent.api.adversary.proving import Proving
    from maxent.api.case import Tables, taken
    from maxent.api.compile import Knowledge
    from maxent.api.parts.by_leaf.bounds import bounds_tables

    people, known = taken(Tables, {**options, "qi": tables}), taken(Knowledge, options)
    how, by = taken(Proving, options), Solving(jobs=work.jobs, dask=work.dask)
    with progress() as told:
        return bounds_tables(trees, people, known, how, by, where, target=options["target"], progress=told)
