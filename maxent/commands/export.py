"""``maxent export``: a release in a form that others use."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from maxent.command_line import options as opt
from maxent.command_line import panels
from maxent.command_line.options import reads_files
from maxent.command_line.progress import DONE, Job
from maxent.models.files.output import EXPORT, check_outputs
from maxent.results.text.terminal import print_json, print_lines

# Calls that its help ends with.
EXAMPLES = (
    "maxent export tree.json -o tree.sql --table patients",
    "maxent export tree.json --to rules",
)


@reads_files()
def command(
    tree: opt.Tree,
    output: Annotated[
        str | None,
        panels.written(EXPORT, names=opt.OUTPUT, help="Write the result; default: to standard output."),
    ] = None,
    to: Annotated[
        str | None,
        panels.output(metavar="FORM", help="sql, pmml, rules, csv, dot or svg; default: by the name of FILE."),
    ] = None,
    table: Annotated[str, panels.output(metavar="NAME", help="The table that an SQL query reads.")] = "data",
    reading: Any = None,
    as_json: opt.Json = False,
) -> Job:
    """Write a release as an SQL query that predicts, PMML, rules, a table of them, a graph or a drawing."""
    return partial(_run, tree, output, to, table, reading, as_json)


def _run(tree: str, output: str | None, to: str | None, table: str, reading: Any, as_json: bool) -> int:
    from maxent.models.formats.writers.registry import writer_for

    writer = writer_for(output, to)
    check_outputs({"-o": (output, (writer.suffix,))}, [tree])
    from maxent.api.export import export
    from maxent.models.display import counted
    from maxent.models.formats.registry import load_release

    release = load_release(tree, reading)
    text = export(release, output, to=writer.name, table=table)
    leaves = sum(one.n_leaves for one in release.trees)
    if as_json:
        told = {"to": writer.name, "file": output, "trees": len(release.trees), "leaves": leaves}
        print_json(told if output is not None else {**told, "text": text})
    elif output is None:
        print_lines(text.splitlines())
    else:
        sizes = f"{counted(len(release.trees), 'tree')}, {counted(leaves, 'leaf', 'leaves')}"
        print_lines([f"{output}: {writer.words}; {sizes}"])
    return DONE
