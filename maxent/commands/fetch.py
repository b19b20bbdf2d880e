"""``maxent fetch``: a public data set by name."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from maxent.command_line import options as opt
from maxent.command_line import panels
from maxent.command_line.progress import DONE, Job, progress
from maxent.models.errors import invalid
from maxent.models.files.output import TABLE, check_outputs, write_text
from maxent.results.text.terminal import print_json, print_lines

# Calls that its help ends with.
EXAMPLES = ("maxent fetch", "maxent fetch adult -o people.csv")


def command(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The data set; without it all are listed.")] = None,
    as_json: opt.Json = False,
    output: Annotated[
        str | None,
        panels.written(
            TABLE,
            names=opt.OUTPUT,
            help="Write the result: the table as a .csv file, beside the one that is kept in the cache.",
        ),
    ] = None,
) -> Job:
    """Fetch a public data set, unless MAXENT_DATA or the cache has it, and print where it is.

    Its files are compared with their checksums, and kept in the cache.
    """
    return partial(_run, name, as_json, output)


def _run(name: str | None, as_json: bool, output: str | None) -> int:

    if name is None and output is not None:
        raise invalid("fetch", "argument", "name", "a data set to write", "none")
    from maxent.models.tables.datasets import DATA_SETS, data_set

    if name is None:
        if as_json:
            keys = ("name", "rows", "target", "words", "source")
            print_json({"data_sets": [{key: getattr(each, key) for key in keys} for each in DATA_SETS.values()]})
        else:
            print_lines(f"{each.name:15}{each.rows:6} rows  {each.words}" for each in DATA_SETS.values())
        return DONE
    wanted = data_set(name)
    check_outputs({"-o": (output, (".csv",))})
    from maxent.models.tables.datasets import fetched

    with progress() as shown:
        path = fetched(name, shown)
    if output is not None:
        check_outputs({"-o": (output, (".csv",))}, [path])
        write_text(output, path.read_text(encoding="utf-8"), public=True)
    if as_json:
        told = {"name": name, "file": output or str(path), "rows": wanted.rows, "target": wanted.target}
        print_json({**told, "source": wanted.source})
    else:
        print_lines([output or str(path)])
        print_lines([f"{wanted.rows:,} rows, class column {wanted.target!r}; {wanted.source}"])
    return DONE
