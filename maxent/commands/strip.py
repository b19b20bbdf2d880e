"""``maxent strip``: a model's own file without what tells who was drawn for its training."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from maxent.command_line import options as opt
from maxent.command_line import panels
from maxent.command_line.options import reads_files
from maxent.command_line.progress import DONE, Job
from maxent.models.files.output import MODEL
from maxent.results.text.terminal import print_json, print_lines

# Calls that its help ends with.
EXAMPLES = ("maxent strip tree.json -o published.json", "maxent strip tree.json -o stripped.json --json")


@reads_files()
def command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The model, a file or a folder of its tool.")],
    output: Annotated[
        str, panels.written(MODEL, names=opt.OUTPUT, help="Write the result, in the same format: a new file or folder.")
    ],
    reading: Any = None,
    as_json: opt.Json = False,
) -> Job:
    """Write a model's own file without seeds, from which follows who was drawn; predictions stay the same."""
    return partial(_run, model, output, reading, as_json)


def _run(model: str, output: str, reading: Any, as_json: bool) -> int:
    from maxent.api.strip import strip

    found = strip(model, output, reading=reading)
    if as_json:
        print_json(found.summary)
    else:
        removed = ", ".join(found.removed) or "nothing: no seed stands in it"
        print_lines([f"removed: {removed}", *(f"cannot be removed: {what}" for what in found.kept)])
        print_lines([f"{output}: reads as before, and predicts the same"])
    return DONE
