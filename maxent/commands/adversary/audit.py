"""``maxent audit``: the structural attacks on a release."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from maxent.command_line import options as opt
from maxent.command_line import panels
from maxent.command_line import part_options as parts
from maxent.command_line.progress import UNRELIABLE, Job, progress, tell, tell_noticed
from maxent.command_line.reading_options import reads_files
from maxent.command_line.release_files import FilesPerhapsOfPeople, Who, named, split_files
from maxent.command_line.verdict import Asked, asked
from maxent.models.files.kinds import GROUPS
from maxent.results.reliability import NOT_ABOUT_THEM

if TYPE_CHECKING:
    from maxent.attacks.audit import Audit
    from maxent.attacks.records import RecordsAudit

EXAMPLES = (
    "maxent audit tree.json",
    "maxent audit tree.json qi.csv --background 2 -o people.csv",
)
"""Calls that its help ends with."""

ControlPeople = Annotated[
    str | None,
    panels.measured(
        "--control",
        metavar="FILE",
        help="People who were not in the data, with their classes: how often what attacks show is true of them.",
    ),
]


@reads_files(without=["report", "title", "purpose"], asked=asked, work=parts.work)
def command(
    qi: FilesPerhapsOfPeople,
    min_size: opt.MinSize = 1,
    background: opt.Background = 1,
    facts: opt.Facts = None,
    count: opt.Count = None,
    target: opt.Target = None,
    who: Who = None,
    rounding: opt.Rounding = opt.RoundingMode.auto,
    risk: Annotated[
        bool,
        panels.measured(
            "--risk", help="Add the information that re-identifying the people of each node takes, in bits."
        ),
    ] = False,
    as_table: Annotated[
        str | None,
        panels.written(
            GROUPS,
            help="Write the release as an anonymised table, a row per leaf, by suffix: .csv, .parquet or .json.",
        ),
    ] = None,
    control: ControlPeople = None,
    confidence: opt.Confidence = 0.99,
    sensitive: opt.Sensitive = None,
    reading: Any = None,
    work: Any = None,
    as_json: opt.Json = False,
    output: parts.OutputOfPeople = None,
    csv_literal: opt.CsvLiteral = False,
    asked: Any = None,
) -> Job:
    """Find the people whom single leaves of a release expose.

    QI links people to leaves. --facts, --control and --count need it, and --risk for trees that split numbers. Of the
    limits, the attacks alone judge --min-k; of the others they can only tell which are not kept: estimate judges these.
    --memory, --jobs, --dask and -o FOLDER/ take people in parts.
    """
    options = {
        "min_size": min_size,
        "background": background,
        "facts": facts,
        "count": count,
        "rounding": rounding.value,
        "risk": risk,
        "target": target,
        "reading": reading,
        "control": control,
        "sensitive": sensitive,
        "confidence": confidence,
        "who": who,
    }
    return partial(_run, qi, options, as_json, {"-o": output, "--as-table": as_table}, asked, csv_literal, work)


def _run(
    files: list[str],
    options: dict[str, Any],
    as_json: bool,
    outputs: dict[str, str | None],
    asked: Asked,
    csv_literal: bool,
    work: parts.Work,
) -> int:
    trees, tables = split_files(files, needed=False)
    from maxent.models.files.output import check_outputs
    from maxent.models.files.result_files import POSTERIOR
    from maxent.text.terminal import print_json, print_lines

    inputs, written = [*files, options["facts"], options["control"]], outputs["-o"]
    in_parts = work.in_parts(written)
    if in_parts:
        outputs = {**outputs, "-o": None}
    check_outputs({name: (path, POSTERIOR) for name, path in outputs.items()}, inputs)
    limits = asked.limits()
    from maxent.attacks.audit import Audit
    from maxent.text.audit import print_audit

    found = _in_parts(trees, tables, options, work, written, inputs) if in_parts else _whole(trees, tables, options)
    tell_noticed(found.noticed)
    if isinstance(found, Audit):
        verdict = found.judged(limits, named(trees))
    else:
        alone = {} if options["sensitive"] is None else {"sensitive": {"exposed": None}}
        verdict = found.judged(limits, named(trees), **alone)
    if outputs["-o"] is not None:
        found.save(outputs["-o"], csv_literal=csv_literal)
    if outputs["--as-table"] is not None:
        found.save_table(outputs["--as-table"], csv_literal=csv_literal)
    if as_json:
        print_json({**found.summary, **verdict.summary})
    else:
        print_audit(found)
        print_lines(verdict.lines())
    status = asked.status(verdict)
    if found.reliable:
        return status
    tell(NOT_ABOUT_THEM)
    return UNRELIABLE


def _whole(trees: list[str], tables: list[str], options: dict[str, Any]) -> Audit | RecordsAudit:
    from maxent.api.adversary.audit import audit_release

    return audit_release(trees, tables or None, **options)


def _in_parts(
    trees: list[str],
    tables: list[str],
    options: dict[str, Any],
    work: parts.Work,
    output: str | None,
    inputs: list[str | None],
) -> Audit | RecordsAudit:
    """The audit of people in parts."""
    from maxent.api.adversary.audit import Attacking
    from maxent.api.adversary.estimate import Solving
    from maxent.api.case import Tables, taken
    from maxent.api.parts.by_leaf.audit import audit_tables

    where, how = work.where(output, inputs), Solving(jobs=work.jobs, dask=work.dask)
    people = taken(Tables, {**options, "qi": tables or None, "proved": True})
    with progress() as told:
        return audit_tables(
            trees, people, taken(Attacking, options), how, where, target=options["target"], progress=told
        )
