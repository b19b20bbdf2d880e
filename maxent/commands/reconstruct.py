"""``maxent reconstruct``: a whole table of the people behind a release."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from maxent.api.decision_options import Reconstructing
from maxent.command_line import options as opt
from maxent.command_line import panels
from maxent.command_line.options import reads_files, stated
from maxent.command_line.progress import DONE, UNRELIABLE, Job, tell, tell_noticed
from maxent.models.files.output import PROVED, SHARES, TABLE, check_outputs
from maxent.results.text.terminal import print_json

# Calls that its help ends with.
EXAMPLES = (
    "maxent reconstruct tree.json qi.csv --time-limit 20 -o table.csv --proved proved.csv",
    "maxent reconstruct tree.json --time-limit 20",
)

Known = Annotated[
    str | None,
    typer.Argument(
        metavar="[QI]", help="Table of what is known: a row for each person, and any of the public attributes."
    ),
]
Proved = Annotated[
    str | None,
    panels.written(PROVED, names=("--proved",), help="Write which cells are proved: a table of the same shape."),
]
Probabilities = Annotated[
    str | None,
    panels.written(
        SHARES,
        names=("--probabilities",),
        help="Write of each cell the share of plausible tables that have it: a table of the same shape.",
    ),
]


@reads_files(options=stated(Reconstructing))
def command(
    tree: opt.Tree,
    qi: Known = None,
    options: Any = None,
    reading: Any = None,
    proved: Proved = None,
    probabilities: Probabilities = None,
    as_json: opt.Json = False,
    output: Annotated[str | None, opt.result(TABLE)] = None,
    csv_literal: opt.CsvLiteral = False,
) -> Job:
    """Rebuild the likeliest whole table of people that agrees with a release, and say which cells are proved."""
    options["reading"] = reading
    files = {"-o": output, "--proved": proved, "--probabilities": probabilities}
    return partial(_run, tree, qi, options, files, as_json, csv_literal)


def _run(
    tree: str,
    qi: str | None,
    options: dict[str, Any],
    files: dict[str, str | None],
    as_json: bool,
    csv_literal: bool,
) -> int:
    from maxent.models.files.result_files import POSTERIOR

    read = [tree, qi, *(options[name] for name in ("others", "truth", "control"))]
    check_outputs({name: (path, POSTERIOR) for name, path in files.items()}, read)
    from maxent.api.reconstruct import reconstruct
    from maxent.results.reconstruction import STATUS, print_reconstruction

    found = reconstruct(tree, qi, **options)
    tell_noticed(found.noticed)
    saves = (found.save, found.save_proved, found.save_probabilities)
    for save, path in zip(saves, files.values(), strict=True):
        if path is not None:
            save(path, csv_literal=csv_literal)
    if as_json:
        print_json(found.summary)
    else:
        print_reconstruction(found)
    if found.reliable:
        return DONE
    tell(f"not to be relied on: {STATUS[found.status]} (status {found.status})")
    return UNRELIABLE
