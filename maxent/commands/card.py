"""``maxent card``: a section for a model card, from a record."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from maxent.command_line import options as opt
from maxent.command_line import panels
from maxent.command_line.progress import DONE, Job
from maxent.models.files.output import CARD, check_outputs, write_text
from maxent.results.text.terminal import print_json, print_lines

# Calls that its help ends with.
EXAMPLES = ("maxent card record.json", "maxent card record.json -o card.md --heading 3")
SUFFIXES = (".md", ".txt")


def command(
    record: Annotated[
        str, typer.Argument(metavar="RECORD", help="The record of a check, as 'maxent check --record' writes it.")
    ],
    output: Annotated[
        str | None,
        panels.written(CARD, names=opt.OUTPUT, help="Write the result; default: to standard output."),
    ] = None,
    heading: Annotated[int, panels.output(metavar="N", min=1, max=6, help="Level of the heading.")] = 2,
    as_json: opt.Json = False,
) -> Job:
    """Write a section for a model card, such as that of the Hugging Face Hub, from the record of a check."""
    return partial(_run, record, output, heading, as_json)


def _run(record: str, output: str | None, level: int, as_json: bool) -> int:
    from maxent.policy.model_card import model_card

    check_outputs({"-o": (output, SUFFIXES)}, [record])
    text = model_card(record, level=level)
    if output is not None:
        write_text(output, text)
    if as_json:
        print_json({"file": output} if output is not None else {"file": None, "text": text})
    else:
        print_lines(text.splitlines() if output is None else [f"{output}: a section for a model card"])
    return DONE
