"""``maxent verify``: whether a record of a check or a review is still true."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from maxent.command_line import options as opt
from maxent.command_line import panels
from maxent.command_line.progress import Job, progress, tell
from maxent.results.text.terminal import print_json, print_lines

# Calls that its help ends with.
EXAMPLES = ("maxent verify record.json", "maxent verify record.json --folder . --json")


def command(
    record: Annotated[
        str, typer.Argument(metavar="RECORD", help="The record that maxent check or review wrote, a .json file.")
    ],
    folder: Annotated[
        str | None,
        panels.read(metavar="FOLDER", help="Folder where the paths of the record begin; default: its own."),
    ] = None,
    as_json: opt.Json = False,
) -> Job:
    """Verify a record: hash its files, compute checks, ladder and dossier again, and say whether it is still true.

    Exit status: 0 still true, 3 no longer, 4 where that cannot be told, as files are missing.
    """
    return partial(_run, record, folder, as_json)


def _run(record: str, folder: str | None, as_json: bool) -> int:
    from maxent.api.verify import verify
    from maxent.policy.verified import WORDS

    with progress() as told:
        found = verify(record, folder, progress=told)
    if as_json:
        print_json(found.summary)
    else:
        print_lines([found.title, *(f"  {line}" for line in found.lines)])
    if found.checked is not None and not found.checked.reliable:
        tell(found.checked.review.trouble)
    if found.status != "pass":
        tell(WORDS[found.status])
    return found.exit_status
