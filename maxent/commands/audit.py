"""``maxent audit``: the structural attacks on a release."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import Annotated, Any

from maxent.api.decision_options import Auditing
from maxent.command_line import options as opt
from maxent.command_line import panels
from maxent.command_line.options import FilesPerhapsOfPeople, named, reads_files, split_files, stated
from maxent.command_line.progress import UNRELIABLE, Job, progress, tell, tell_noticed
from maxent.command_line.verdict import AskedVerdict
from maxent.models.files.output import GROUPS, check_outputs
from maxent.results.reliability import NOT_ABOUT_THEM
from maxent.results.text.terminal import print_json, print_lines

# Calls that its help ends with.
EXAMPLES = (
    "maxent audit tree.json",
    "maxent audit tree.json qi.csv --background 2 -o people.csv",
)


LIMITS = stated(AskedVerdict, without=("report", "title", "purpose"), made=lambda given: AskedVerdict(**given))


@reads_files(options=stated(Auditing), asked=LIMITS)
def command(
    qi: FilesPerhapsOfPeople,
    options: Any = None,
    as_table: Annotated[
        str | None,
        panels.written(
            GROUPS,
            help="Write the release as an anonymised table, a row per leaf, by suffix: .csv, .parquet or .json.",
        ),
    ] = None,
    reading: Any = None,
    as_json: opt.Json = False,
    output: opt.OutputOfPeople = None,
    csv_literal: opt.CsvLiteral = False,
    asked: Any = None,
) -> Job:
    """Find the people whom single leaves of a release expose.

    QI links people to leaves. --facts, --control and --count need it, and --risk for trees that split numbers. Of the
    limits, the attacks alone judge --min-k; of the others they can only tell which are not kept: estimate judges these.
    --memory, --jobs, --dask and -o FOLDER/ take people in parts.
    """
    options["reading"] = reading
    return partial(_run, qi, options, as_json, {"-o": output, "--as-table": as_table}, asked, csv_literal)


def _run(
    files: list[str],
    options: dict[str, Any],
    as_json: bool,
    outputs: dict[str, str | None],
    asked: AskedVerdict,
    csv_literal: bool,
) -> int:
    trees, tables = split_files(files, needed=False)
    from maxent.models.files.result_files import POSTERIOR

    inputs, written = [*files, options["facts"], options["control"]], outputs["-o"]
    in_parts = opt.in_parts(written, options["memory"], options["jobs"], options["dask"])
    if in_parts:
        outputs = {**outputs, "-o": None}
    check_outputs({name: (path, POSTERIOR) for name, path in outputs.items()}, inputs)
    limits = asked.limits()
    from maxent.results.audit import Audit

    if in_parts:
        options["folder"] = opt.folder_of(written, inputs)
    from maxent.api.audit import audit_release

    with progress() if in_parts else nullcontext() as told:
        found = audit_release(trees, tables or None, **options, progress=told)
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
        known = {f"note: {note}" for note in found.noticed.notes}
        print_lines([*(line for line in found.lines if line not in known), *verdict.lines()])
    status = asked.status(verdict)
    if found.reliable:
        return status
    tell(NOT_ABOUT_THEM)
    return UNRELIABLE
