"""``maxent convert``: a model that another tool wrote, as a release."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxent.api.decision_options import Converting
from maxent.command_line import options as opt
from maxent.command_line import panels
from maxent.command_line.options import reads_files, stated
from maxent.command_line.progress import DONE, Job, tell
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.files.output import RELEASE, check_outputs
from maxent.results.text.terminal import print_json, print_lines

if TYPE_CHECKING:
    from maxent.models.formats.release_reader import Converted

# Kind of statement -> how it is called in a list.
WORDS = {"counts": "counts", "n": "sizes", "rates": "rates", "labels": "labels", "linear": "scores", "means": "means"}
WORDS["statements"] = "statements about people beside trees"
# Calls that its help ends with.
EXAMPLES = (
    "maxent convert model.txt --target Salary -o tree.json",
    "maxent convert model.txt --train truth.csv --target Salary --qi Education,Country,Gender -o tree.json",
)


@reads_files(options=stated(Converting))
def command(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="The model, a file or a folder that a tool wrote (docs/models.md)."),
    ],
    output: Annotated[
        str,
        panels.written(RELEASE, names=opt.OUTPUT, help="Write the result: the release, a .json file."),
    ],
    options: Any = None,
    reading: Any = None,
    as_json: opt.Json = False,
) -> Job:
    """Write a model of another tool as a release, and list what is kept and what is lost."""
    return partial(_run, model, output, options, reading, as_json)


def _run(model: str, output: str, said: dict[str, Any], reading: Any, as_json: bool) -> int:

    check_outputs({"-o": (output, (".json",))}, [model, said["train"]])
    from maxent.api.convert import converted, wanted_of

    numeric = [f"{name}={text}" for name in ("bins", "values") if (text := said.pop(name)) is not None]
    said["parameters"] = read_parameters([*(said["parameters"] or []), *numeric])
    found = converted(model, wanted_of(**said), reading)
    found.release.save(output)
    if found.release.draws is not None:
        tell(
            f"note: {output}: kept {found.tells_draws}, by which who knows the rows in training order may know classes"
        )
    if as_json:
        print_json(found.summary)
    else:
        print_conversion(found, output)
    return DONE


def print_conversion(found: Converted, output: str) -> None:
    """Print what a model became: what survived, and what is lost."""
    from maxent.models.display import counted

    leaves = sum(tree.n_leaves for tree in found.release.trees)
    many = f"{counted(len(found.release.trees), 'tree')} with {counted(leaves, 'leaf', 'leaves')}"
    if found.release.statements:
        many = counted(sum(len(each.statements) for each in found.release.statements), "statement")
    stated = [WORDS[name] for name, there in found.states.items() if there]
    print_lines(
        [
            f"{output}: {many}, written by {found.tool} (format {found.format})",
            f"stated: {', '.join(stated) or 'nothing but the splits'}",
            *found.losses,
        ]
    )


def read_parameters(given: list[str]) -> dict[str, str]:
    """What ``--param`` says, by name."""
    parameters = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise invalid("options", ARGUMENT, "parameters", "NAME=VALUE", repr(text))
        parameters[name] = value
    return parameters
