"""``maxent serve``: reviews in a browser on this machine, for people who do not program."""

from __future__ import annotations

import os
from functools import partial
from typing import Annotated

from maxent.command_line import panels
from maxent.command_line.progress import DONE, Job
from maxent.models.files.output import SHORTCUT, check_outputs
from maxent.models.packages import need

# Calls that its help ends with.
EXAMPLES = ("maxent serve", "maxent serve --folder reviews --shortcut maxent.desktop")


def command(
    port: Annotated[int, panels.run(metavar="N", min=0, max=65535, help="Port; default: one that is free.")] = 0,
    folder: Annotated[
        str | None,
        panels.output(metavar="DIR", help="Keep judged reviews here, to open them again; default: nothing is kept."),
    ] = None,
    no_browser: Annotated[bool, panels.run("--no-browser", help="Print the address, and open no browser.")] = False,
    shortcut: Annotated[
        str | None,
        panels.written(
            SHORTCUT,
            help="Write a file that starts this call by a double click, and end: .bat (Windows), .command (macOS) or "
            ".desktop (Linux).",
        ),
    ] = None,
) -> Job:
    """Open a page on this machine: drop a model and its training table, read the verdict, decide.

    It needs the extra serve. Nobody else can reach the page, and nothing leaves this machine.
    """
    return partial(_run, port, folder, not no_browser, shortcut)


def _run(port: int, folder: str | None, browser: bool, shortcut: str | None) -> int:

    from maxent.results.text.terminal import print_lines
    from maxent.serve import app

    for module in ("starlette", "uvicorn"):
        need(module, f"the page needs {module}")

    if shortcut is None:
        app.serve(port, folder, browser=browser)
        return DONE
    check_outputs({"--shortcut": (shortcut, app.SHORTCUTS)})
    said = [] if folder is None else ["--folder", os.path.abspath(folder)]
    said += [] if not port else ["--port", str(port)]
    app.write_shortcut(shortcut, [*said, *([] if browser else ["--no-browser"])])
    print_lines([f"{shortcut}: a double click starts the page"])
    return DONE
