"""The command line: arguments -> engine, errors -> exit status.

Typer only parses: a command returns what is to be done, and `run` does it. So ``--help`` and a mistyped option are
answered without NumPy, and errors, Ctrl-C and closed pipes of the work itself do not pass through Typer.
``python -m maxent.commands.main`` renders the help of the whole program into ``help.txt``, which `maxent.__main__`
prints.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.main import get_command

from maxent.command_line.messages import CALL, Entry, as_object, entries, lines, plain
from maxent.command_line.parsing import Call, Command, CommandGroup, WrongCall, spellings
from maxent.command_line.progress import DONE, WRONG, tell
from maxent.command_line.room import NoRoom
from maxent.models.errors import InvalidInput, MaxentError
from maxent.models.files.output import remove_dead
from maxent.models.packages import absent
from maxent.models.reading import advice_spelled
from maxent.results.reliability import unwarned
from maxent.results.text.terminal import on_command_line, print_json, respell

# Name -> its line in the help. The module of this name has the ``command``, and its ``EXAMPLES``.
COMMANDS: Mapping[str, str] = {
    "estimate": "Probabilities of each person's class, and measures of disclosure.",
    "bounds": "Proved bounds on each person's class, over all data consistent with a release.",
    "reconstruct": "The likeliest whole table of people behind a release, and its proved cells.",
    "audit": "Attacks on single leaves: the people whom a release exposes.",
    "review": "A model before its publication: attacks, estimate and verdict in one call.",
    "serve": "The same in a browser on this machine, for people who do not program.",
    "check": "A release against a written policy, with a record.",
    "verify": "A record of a check: whether it is still true.",
    "advise": "The most accurate release within limits, of all defenses.",
    "card": "A section for the card of a model, from the record of a check.",
    "convert": "A model that another tool wrote, as a release.",
    "strip": "A model's own file without seeds, from which follows who was drawn.",
    "predict": "The class that a release predicts for each row of a table.",
    "export": "A release as an SQL query, rules, a table, a graph or a drawing.",
    "defend": "A tree or a forest, grown from confidential records and defended.",
    "compare": "Releases side by side: disclosure, attacks and accuracy.",
    "sweep": "A study: a row of results for each data set, defense and adversary.",
    "explain": "Every constraint of a release, with its node.",
    "bench": "One problem on several solver back ends, side by side.",
    "fetch": "A public data set by name, for examples and measurements.",
    "backends": "Installed solver back ends, and the problems that each can solve.",
}


class CommandProgram(CommandGroup):
    """The program itself."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*COMMANDS]

    def get_command(self, ctx: Any, name: str) -> Any:
        return made(name) if name in COMMANDS else None


EXAMPLES = (
    "maxent estimate tree.json qi.csv",
    "maxent defend none truth.csv --target Salary --qi Education,Country,Gender -o before.json",
)
HINT = "'maxent COMMAND --help' lists the options of a command, and has more examples; --help-all lists rare ones, too."
NO_SHELL = "completion is for bash, zsh, fish and PowerShell: call it from one of them"

SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(
    name="maxent",
    cls=CommandProgram,
    epilog="\n".join(EXAMPLES),
    context_settings=SETTINGS,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def module_of(name: str) -> ModuleType:
    """The module of a command."""
    return import_module(f"maxent.commands.{name}")


@cache
def made(name: str) -> Any:
    """A command, made by Typer when it is asked for: making all of them takes longer than a small estimate."""
    module = module_of(name)
    told: dict[str, Any] = {"short_help": COMMANDS[name], "epilog": "\n".join(module.EXAMPLES)}
    alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    if isinstance(module.command, type):
        alone.add_typer(typer.Typer(), name=name, cls=module.command, help=module.command.__doc__, **told)
        group: Any = get_command(alone)
        return group.commands[name]
    alone.command(name, cls=Command, **told)(module.command)
    return get_command(alone)


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

    Exit status: 0 done, 1 there is a result, but it is not reliable, 2 the input or the call is wrong, 3 an enforced
    limit is not kept, 4 that cannot be told.
    """


def run(args: list[str]) -> int:
    """Parse arguments and do what they say; the exit status. Messages go to standard error."""
    try:
        call = app(args, prog_name="maxent", standalone_mode=False)
    except WrongCall as error:
        status = _refuse(entries(error, {}), as_json=asks_for_json(args))
        print(error.usage, file=sys.stderr)
        return status
    if not isinstance(call, Call):  # help or the version was printed, or Typer has no completion for the shell
        return DONE if not call else _refuse([plain(NO_SHELL)], as_json=False)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal without UTF-8 is no reason to fail
            stream.reconfigure(errors="backslashreplace")
    remove_dead()
    try:
        # Commands say themselves what they warn of, and their exit status.
        with unwarned(), advice_spelled(lambda text: respell(text, on_command_line(names_of(call)))):
            return int(call.job())
    except MaxentError as error:
        from maxent.command_line.options import swapped

        change = swapped(args, *call.arguments) if isinstance(error, InvalidInput) else None
        problems = entries(error if change is None else InvalidInput(CALL, [change]), names_of(call))
    except ImportError as error:
        what = absent(error) if isinstance(error, ModuleNotFoundError) else None
        if "failed to map segment" in str(error):  # words of the system's loader
            what = (
                "memory: expected enough to load libraries, found a limit of the process (ulimit -v) that leaves less"
            )
        if what is None:
            raise
        problems = [plain(what)]
    except NoRoom as error:
        problems = [plain(str(error))]
    except MemoryError:
        problems = [plain("the problem does not fit into memory")]
    return _refuse(problems, as_json=asks_for_json(args))


def names_of(call: Call) -> Mapping[str, str]:
    """The spelling of a call's parameters, and of those that only ``maxent convert`` takes, which say what models lack.

    Several commands read models as they are, and what these lack is told by a message with a parameter's name.
    """
    from maxent.api.decision_options import Converting

    names = spellings(made("convert").params)
    return {**{each.name: f"maxent convert {names[each.name]}" for each in fields(Converting)}, **call.names}


def asks_for_json(args: Sequence[str]) -> bool:
    """Whether arguments, which may be wrong, ask for JSON."""
    return "--json" in args


def _refuse(problems: Sequence[Entry], *, as_json: bool) -> int:
    """Say why there is no result; the exit status."""
    if as_json:
        print_json(as_object(WRONG, problems))
    for line in lines(problems):
        tell(line)
    return WRONG


def help_text() -> str:
    """The help of the whole program, a line for each paragraph and entry: `maxent.__main__` breaks them."""
    command = get_command(app)
    context = command.context_class(command, info_name="maxent", terminal_width=10_000, **SETTINGS)
    text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    return f"{text}\n\n{HINT}\n"


if __name__ == "__main__":
    (Path(__file__).parents[1] / "help.txt").write_text(help_text(), encoding="utf-8")
