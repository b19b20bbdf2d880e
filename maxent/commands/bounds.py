"""``maxent bounds``: proved bounds on the class of each person."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import Annotated, Any

from maxent.api.decision_options import Bounding
from maxent.command_line import options as opt
from maxent.command_line import panels
from maxent.command_line.options import FilesPerhapsOfPeople, reads_files, split_files, stated
from maxent.command_line.progress import DONE, UNRELIABLE, Job, finishing, progress, tell, tell_noticed
from maxent.models.files.output import WITNESSES, check_outputs
from maxent.results.reliability import not_reliable
from maxent.results.text.terminal import print_json

# Calls that its help ends with.
EXAMPLES = (
    "maxent bounds tree.json qi.csv",
    "maxent bounds tree.json qi.csv --time-limit 60 --worlds --witness people.csv -o bounds.csv",
)


Witness = Annotated[
    str | None,
    panels.written(WITNESSES, names=("--witness",), help="Write two tables of people that agree with everything."),
]


@reads_files(options=stated(Bounding))
def command(
    qi: FilesPerhapsOfPeople,
    level: opt.Level = None,
    options: Any = None,
    reading: Any = None,
    witness: Witness = None,
    as_json: opt.Json = False,
    output: opt.OutputOfBounds = None,
    csv_literal: opt.CsvLiteral = False,
) -> Job:
    """Prove bounds on P(class | quasi-identifier) over all data consistent with a release.

    With --level closed, --memory, --jobs, --dask and -o FOLDER/ take people in parts.
    """
    options |= {"level": (level or opt.LevelName.auto).value, "reading": reading}
    return partial(_run, qi, options, witness, as_json, output, csv_literal)


def _run(
    files: list[str],
    options: dict[str, Any],
    witness: str | None,
    as_json: bool,
    output: str | None,
    csv_literal: bool,
) -> int:
    trees, tables = split_files(files, needed=options["population"] is None)
    from maxent.models.files.result_files import POSTERIOR
    from maxent.results.bounds import print_bounds

    inputs = [*files, *opt.inputs(options)]
    in_parts = opt.in_parts(output, options["memory"], options["jobs"], options["dask"])
    check_outputs({"-o": (None if in_parts else output, POSTERIOR), "--witness": (witness, POSTERIOR)}, inputs)
    options["witness"] = witness is not None
    if in_parts:
        options["folder"] = opt.folder_of(output, inputs)
    from maxent.api.bounds import bounds
    from maxent.solvers.control import hearing

    late = "with --time-limit SECONDS bounds are what is proved by then"
    with progress() if in_parts else nullcontext() as told, hearing(lambda text: tell(f"note: {text}; {late}")):
        found = bounds(trees, tables or None, **options, progress=told, interruptible=True)
    with finishing(found.status):
        tell_noticed(found.noticed)
        if output is not None and not in_parts:
            found.save(output, csv_literal=csv_literal)
        if witness is not None and found.witness is not None:
            from maxent.results.bounds import save_witness

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
