"""The command line: arguments -> engine, errors -> exit status.

Typer only parses: a command returns what is to be done, and `run` does it. So ``--help`` and a mistyped option are
answered without NumPy, and errors, Ctrl-C and closed pipes of the work itself do not pass through Typer.
``python -m maxent.cli`` renders the help of the whole program into ``help.txt``, which `maxent.__main__` prints.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from maxent.commands.audit import audit_command
from maxent.commands.bench import backends_command, bench_command
from maxent.commands.compare import compare_command
from maxent.commands.defend import defend_command
from maxent.commands.estimate import estimate_command
from maxent.commands.explain import explain_command
from maxent.commands.jobs import DONE, WRONG, Job, tell
from maxent.commands.sweep import sweep_command
from maxent.models.errors import InvalidInput, MaxentError

LISTED = 50
"""Problems that are printed; of more, the number."""

COMMANDS: Mapping[str, tuple[Callable[..., Job], str]] = {
    "estimate": (estimate_command, "What an adversary infers about each person, and how much that is."),
    "audit": (audit_command, "Whom the leaves of a release single out or give away."),
    "defend": (defend_command, "Grow a tree, prune it so that no leaf singles people out, write it."),
    "compare": (compare_command, "Releases side by side: disclosure, attacks and accuracy."),
    "sweep": (sweep_command, "A study: a grid of data, defenses and adversaries, a row for each."),
    "explain": (explain_command, "Every constraint a release implies, with the node it comes from."),
    "bench": (bench_command, "The same problem on several solver back ends, side by side."),
    "backends": (backends_command, "Which solver back ends are installed, and what each can solve."),
}
"""Name -> the command, and what the help of the program says about it."""

# Newer versions of Typer bring their own copy of Click: this is the class in either.
_UsageError: Any = typer.BadParameter.__bases__[0]

_HELP = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(
    name="maxent", context_settings=_HELP, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
)
for name, (command, text) in COMMANDS.items():
    app.command(name, short_help=text)(command)


def _print_version(asked: bool) -> None:
    if asked:
        from maxent import __version__

        print(f"maxent {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """What a published decision tree discloses about the people behind it.

    Exit status: 0 done, 1 there is a result but it is not to be relied on, 2 the input or the call is wrong.
    """


def run(args: list[str]) -> int:
    """Parse arguments and do what they say; the exit status. Messages go to standard error."""
    try:
        job = app(args, prog_name="maxent", standalone_mode=False)
    except _UsageError as error:
        error.show()
        return WRONG
    if not callable(job):  # help or the version was printed
        return DONE
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal without UTF-8 is no reason to fail
            stream.reconfigure(errors="backslashreplace")
    try:
        return int(job())
    except InvalidInput as error:
        _print_problems([f"{error.source}: {problem}" for problem in error.problems])
    except MaxentError as error:
        _print_problems([str(error)])
    except MemoryError:
        _print_problems(["the problem does not fit into memory"])
    return WRONG


def _print_problems(lines: list[str]) -> None:
    for line in lines[:LISTED]:
        tell(line)
    if len(lines) > LISTED:
        tell(f"and {len(lines) - LISTED} more problems, {len(lines)} in all")
    elif len(lines) > 1:
        tell(f"{len(lines)} problems")


def help_text() -> str:
    """The help of the whole program as plain text, 80 columns wide."""
    from typer.main import get_command

    command = get_command(app)
    context = command.context_class(command, info_name="maxent", terminal_width=80, **_HELP)  # type: ignore[arg-type]
    lines = command.get_help(context).splitlines()
    return (
        "\n".join([*(line.rstrip() for line in lines), "", "'maxent COMMAND --help' lists the options of a command."])
        + "\n"
    )


if __name__ == "__main__":
    Path(__file__).with_name("help.txt").write_text(help_text(), encoding="utf-8")
