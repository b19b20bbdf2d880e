"""Command parsing with Typer: help in panels, and mistakes in a call reported as problems.

Typer words a mistake as it, or what it parses with, likes, and stops at the first. `Command` looks at the arguments
again where Typer refuses them, and states every mistake as all other errors are: field, expected, found.
"""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, partial
from typing import Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from maxent.command_line.messages import CALL
from maxent.command_line.panels import FIRST, MOST, OUTPUT, PANELS, RARE, REQUIRED, USED_MOST
from maxent.command_line.progress import Job, tell
from maxent.models.errors import ARGUMENT, InvalidInput, Problem, invalid
from maxent.models.files.output import Overwriting
from maxent.models.hints import close_to

# The help of a command: how it is called, its options in panels, as wide as the terminal, and examples at the end.

ARGUMENTS = "Arguments"
# Key of a context's ``meta`` where a help shows every option.
ALL = "maxent.command_line.parsing.all"
# Characters of an option and its values that are shown beside its help; longer ones get a line of their own.
WIDEST_NAME = 28
# Columns of the narrowest terminal that is written for.
LEAST = 40


def fit_to_terminal(context: Any) -> None:
    """Let texts be as wide as the terminal: Click knows widths from 50 to 80 columns."""
    if context.terminal_width is None:
        context.terminal_width = max(shutil.get_terminal_size().columns, LEAST)


def usage_pieces(params: Iterable[Any]) -> list[str]:
    """Usage after the name of a command: arguments, required options, and [OPTIONS]."""
    pieces = []
    for param in params:
        if param.hidden:
            continue
        if param.param_type_name == "argument":
            pieces.append(param.metavar if param.required else f"[{param.metavar.strip('[]')}]")
        elif param.required:
            pieces.append(f"{param.opts[0]} {param.metavar}")
    return [*pieces, "[OPTIONS]"]


def is_rare(param: Any) -> bool:
    """Whether only ``--help-all`` shows a parameter."""
    return not param.required and not param.hidden and not RARE.isdisjoint(param.opts)


def by_panel(params: Iterable[Any], context: Any, *, everything: bool = True) -> dict[str, list[tuple[str, str]]]:
    """The panels of a command, in order: the spelling and the help of each argument and option in it."""
    panels: dict[str, list[tuple[str, str]]] = {name: [] for name in (ARGUMENTS, REQUIRED, FIRST, *PANELS)}
    shown = [param for param in params if param.get_help_record(context) is not None]
    first = _used_most(shown, context)
    for param in first:
        panels[FIRST].append(param.get_help_record(context))
    for param in shown:
        if param.param_type_name == "argument":
            panels[ARGUMENTS].append((param.metavar, param.help))
        elif param.required:
            panels[REQUIRED].append(param.get_help_record(context))
        elif param not in first and (everything or not is_rare(param)):
            panel = getattr(param, "rich_help_panel", None) or OUTPUT
            panels.setdefault(panel, []).append(param.get_help_record(context))
    return panels


def _used_most(params: Iterable[Any], context: Any) -> list[Any]:
    """The options of a command that most people give, in their order."""
    by_name = {name: param for param in params if not param.required for name in param.opts}
    names = USED_MOST.get("".join(context.command_path.split()[1:2]), ())
    return [by_name[name] for name in names if name in by_name][:MOST]


def write_panels(params: Iterable[Any], context: Any, formatter: Any) -> None:
    """Write arguments, and options by the panels that they are in, all aligned; rare ones for ``--help-all``."""
    panels = by_panel(params, context, everything=ALL in context.meta)
    names = [len(name) for records in panels.values() for name, _ in records]
    most = min(WIDEST_NAME, formatter.width // 3)
    width = max((length for length in names if length <= most), default=0)
    for panel, records in panels.items():
        if records:
            with formatter.section(panel):
                formatter.write_dl([(name.ljust(width), text) for name, text in records], col_max=width)


def write_examples(text: str | None, formatter: Any) -> None:
    """Write examples as they are: a command that is wrapped cannot be copied."""
    if text:
        with formatter.section("Examples"):
            for line in text.splitlines():
                formatter.write(" " * formatter.current_indent + line + "\n")


# Newer versions of Typer bring their own copy of Click: this is the class in either.
UsageError: Any = typer.BadParameter.__bases__[0]


# Key of a context's ``meta`` where any file is to be replaced.
FORCE = "maxent.command_line.parsing.force"


class WrongCall(InvalidInput):
    """Arguments that are no call of the command; ``usage`` says how it is called."""

    def __init__(self, problems: Sequence[Problem], usage: str) -> None:
        super().__init__(CALL, problems)
        self.usage = usage


@dataclass(frozen=True, slots=True)
class Call:
    """The job of a call, the spelling of its parameters (see `spellings`), and its arguments as they were given."""

    job: Job
    names: Mapping[str, str]
    arguments: tuple[str, tuple[str, ...]] = ("", ())


class Command(TyperCommand):
    """A command, which returns a `Call`."""

    all_shown: Any = None
    """The option ``--help-all``, once it was made; it is shown where there are rare options."""

    def get_help(self, ctx: Any) -> str:
        fit_to_terminal(ctx)
        return str(super().get_help(ctx))

    force: Any = None
    """The option ``--force``, once it was made; only commands that write files have it."""

    def get_params(self, ctx: Any) -> list[Any]:
        params = super().get_params(ctx)
        if self.all_shown is None:
            self.force = forced(params[-1])
            self.all_shown = help_all(params[-1], sum(map(is_rare, self.params)) + bool(self.kinds))
        return [*params[:-1], *([self.force] if self.kinds else []), params[-1], self.all_shown]

    @cached_property
    def kinds(self) -> dict[str, tuple[Any, ...]]:
        """Spellings of the options that name files to write, see `panels.written` -> the kinds of these files."""
        hints = get_type_hints(_function(self), include_extras=True) if self.callback else {}
        found = {name: about for name, hint in hints.items() for about in getattr(hint, "__metadata__", ())}
        return {
            option: found[param.name].kinds
            for param in self.params
            if hasattr(found.get(param.name), "kinds")
            for option in param.opts
        }

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return usage_pieces(self.get_params(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        write_panels(self.get_params(ctx), ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        write_examples(self.epilog, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given = list(args)
        _process_quickly(self, ctx)
        try:
            rest: list[str] = super().parse_args(ctx, args)
        except UsageError as error:
            problems = [*self.problems(ctx, given, getattr(error, "param", None))] or [_problem(error, self, ctx)]
            raise WrongCall(problems, usage(self, ctx)) from None
        return rest

    def invoke(self, ctx: Any) -> Call:
        names = spellings(self.get_params(ctx))
        try:
            job = partial(_overwriting, self.kinds, FORCE in ctx.meta, super().invoke(ctx))
            return Call(job, names, _arguments(self.get_params(ctx), ctx.params))
        except InvalidInput as error:  # a value that has no type of its own, such as a size
            return Call(partial(_refuse, error), names)

    def problems(self, ctx: Any, args: list[str], blamed: Any = None) -> Iterator[Problem]:
        """Everything that is wrong with arguments, as far as they can be told apart."""
        try:
            given, rest, _ = self.make_parser(ctx).parse_args(args=args)
        except UsageError:  # which is all that is known
            return
        kinds = _kinds(self)
        for param in self.get_params(ctx):
            value = given.get(param.name)
            values = [value] if isinstance(value, str) else value if isinstance(value, (list, tuple)) else []
            if param.required and not values:
                yield Problem(ARGUMENT, spelled(param), "a value", "nothing")
            kind = kinds.get(param.name, str)
            wrong = [found for text in values if isinstance(text, str) and (found := _mistake(text, kind)) is not None]
            if not wrong and values and blamed is not None and param.name == blamed.name and kind in _NUMBERS:
                wrong = [(f"{_NUMBERS[kind]} in digits, such as 10", ", ".join(map(repr, values)))]
            yield from (Problem(ARGUMENT, spelled(param), *found) for found in wrong)
        if rest:
            yield Problem(
                ARGUMENT, "command line", f"no more arguments of {ctx.command_path!r}", ", ".join(map(repr, rest))
            )


class CommandGroup(TyperGroup):
    """A command with subcommands: the program itself, or one of its commands."""

    noun = "COMMAND"

    def get_help(self, ctx: Any) -> str:
        fit_to_terminal(ctx)
        return str(super().get_help(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return ["COMMAND", "..."]

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        write_examples(self.epilog, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _process_quickly(self, ctx)
        try:
            rest: list[str] = super().parse_args(ctx, args)
        except UsageError as error:
            raise WrongCall([_problem(error, self, ctx)], usage(self, ctx)) from None
        return rest

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except UsageError:  # commands refuse in their own way: there was none
            raise self.unknown(ctx, None, ()) from None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except UsageError:
            raise self.unknown(ctx, args[0], args[1:]) from None

    def unknown(self, ctx: Any, name: str | None, args: Sequence[str]) -> WrongCall:
        """The refusal of a call without a command that there is; ``args`` are those of the command."""
        known = self.list_commands(ctx)
        found = "nothing" if name is None else f"{name!r}{close_to(name, known)}"
        return WrongCall([Problem(ARGUMENT, self.noun, f"one of {', '.join(known)}", found)], usage(self, ctx))


def _arguments(params: Sequence[Any], given: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """The names of a command's arguments, and their values."""
    own = [param for param in params if param.param_type_name == "argument"]
    values = [given.get(param.name) for param in own]
    each = [text for value in values for text in (value if isinstance(value, (list, tuple)) else [value])]
    return " ".join(map(spelled, own)), tuple(str(text) for text in each if text is not None)


def _refuse(error: InvalidInput) -> int:
    """The job of a call that is refused before its work begins."""
    raise error


def _overwriting(kinds: Mapping[str, tuple[Any, ...]], force: bool, job: Job) -> int:
    """Do a job, with what it may replace."""
    with Overwriting(kinds, force, tell).applied():
        return job()


def forced(option: Any) -> Any:
    """The option ``--force`` of commands that write files, made of their option ``--help``."""

    def keep(ctx: Any, param: Any, value: bool) -> None:
        if value:
            ctx.meta[FORCE] = True

    force = copy(option)
    force.name, force.opts, force.callback, force.is_eager = "force", ["--force"], keep, False
    force.rich_help_panel = OUTPUT
    force.help = "Replace any file that is there; default: only what the same command wrote before (docs/options.md)."
    return force


def help_all(option: Any, rare: int) -> Any:
    """The option that shows all options of a command, rare ones too, made of its option ``--help``."""

    def show(ctx: Any, param: Any, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            ctx.meta[ALL] = True
            typer.echo(ctx.get_help())
            ctx.exit()

    every = copy(option)  # versions of Typer have other ways to make one
    every.name, every.opts, every.callback = "help_all", ["--help-all"], show
    every.hidden = not rare
    every.help = f"Show {rare} more option{'' if rare == 1 else 's'} that few people need, too, and exit."
    return every


def usage(command: Any, context: Any) -> str:
    """Usage of a command, and a hint at its help."""
    return f"{command.get_usage(context)}\n'{context.command_path} --help' lists its options."


def spelled(param: Any) -> str:
    """An argument or option as it is named on the command line: ``QI``, ``--k``."""
    return str(param.metavar if param.param_type_name == "argument" else param.opts[0])


def spellings(params: Sequence[Any]) -> dict[str, str]:
    """Name of a parameter in Python -> what the command line calls it; ``presolve`` is ``--no-presolve`` there."""
    names: dict[str, str] = {}
    for param in (each for each in params if not each.hidden):
        options = [option for option in param.opts if option.startswith("--")]
        word = spelled(param).split()[-1].strip("[]")
        for name in (param.name, *(option[2:].replace("-", "_") for option in options)):
            names[name] = word
            names.setdefault(name.removeprefix("no_"), word)
    return names


def _process_quickly(command: Any, ctx: Any) -> None:
    """Let Typer convert only what has not its type yet: it loads Pydantic for that, which takes 0.1 s."""
    kinds = _kinds(command)
    for param in command.get_params(ctx):
        param.process_value = partial(_processed, param, kinds.get(param.name))


def _processed(param: Any, kind: Any, ctx: Any, value: Any) -> Any:
    absent = not param.required and (value is None or value == ())
    words = kind is str and param.nargs == -1 and value
    if isinstance(value, str):
        value = _quick(value, kind)
    each = value if words and isinstance(value, (list, tuple)) else (value,)
    if not absent and not (isinstance(kind, type) and all(isinstance(one, kind) for one in each)):
        return type(param).process_value(param, ctx, value)
    return value if absent or value is False or param.callback is None else param.callback(ctx, param, value)


def _quick(text: str, kind: Any) -> Any:
    """A choice, or a number in plain digits, as what it stands for; anything else as it is."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next((choice for choice in kind if choice.value == text), text)
    if kind in _NUMBERS and re.fullmatch(_PLAIN[kind], text, re.ASCII):
        return kind(text)
    return text


def _kinds(command: Any) -> dict[str, Any]:
    """Name of a parameter in Python -> the type of a single value."""
    if command.callback is None:
        return {}
    hints = get_type_hints(_function(command))
    return {name: _kind(hint) for name, hint in hints.items()}


def _function(command: Any) -> Any:
    """What a command was made of."""
    return getattr(command.callback, "__wrapped__", command.callback)


def _kind(hint: Any) -> Any:
    """The type of a single value: ``int`` of ``list[int] | None``."""
    inner = [each for each in get_args(hint) if each is not type(None)]
    return _kind(inner[0]) if inner else hint


_NUMBERS: Mapping[Any, str] = {int: "a whole number", float: "a number"}
_PLAIN: Mapping[Any, str] = {int: r"-?\d{1,18}", float: r"-?\d{1,15}(\.\d{1,15})?"}


def _mistake(text: str, kind: Any) -> tuple[str, str] | None:
    """Expected and found, for a text that is no value of a type."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        known = [str(choice.value) for choice in kind]
        return None if text in known else (f"one of {', '.join(known)}", f"{text!r}{close_to(text, known)}")
    read: Callable[[str], object] = kind if kind in _NUMBERS else str
    try:
        read(text)
    except ValueError:
        return _NUMBERS[kind], repr(text) + _as_number(text, kind)
    return None


def _as_number(text: str, kind: Any) -> str:
    """``; did you mean ...?`` with the number that a text with a percent sign, or a decimal comma, stands for."""
    found = re.fullmatch(r"(\d{1,3})([.,]\d{1,9})?( ?%)?", text, re.ASCII)
    if kind is not float or found is None:
        return ""
    number = float(f"{found[1]}{(found[2] or '').replace(',', '.')}")
    return f"; did you mean {number / 100 if found[3] else number:.12g}?"


def _problem(error: Any, command: Any, context: Any) -> Problem:
    """The problem that Click found, where arguments cannot be parsed, or Click knows more."""
    known = [option for param in command.get_params(context) for option in param.opts if option.startswith("-")]
    option: str | None = getattr(error, "option_name", None)
    if option is not None and option in known:
        flag = any(option in param.opts and param.is_flag for param in command.get_params(context))
        return Problem(ARGUMENT, option, "no value" if flag else "a value", "one" if flag else "nothing")
    if option is not None:
        from maxent.api.decision_options import UNTAKEN

        why = UNTAKEN.get(context.info_name or "", {}).get(option.lstrip("-").replace("-", "_"))
        found = f"none of this name{close_to(option, known) if why is None else f': {why}'}"
        return Problem(ARGUMENT, option, f"an option of {context.command_path!r}", found)
    if getattr(error, "param", None) is not None:
        return Problem(ARGUMENT, spelled(error.param), "a value that it takes", error.message)
    return Problem(ARGUMENT, "COMMAND", "a command", "nothing" if not context.args else error.message)


def one_or_several(target: str) -> str | list[str]:
    """The name of the sensitive column, or a list of several; errors are those of `split_names`."""
    names = split_names("target", [target])
    return names[0] if len(names) == 1 else names


def joined_names(names: Iterable[object]) -> str:
    """A list of names that `split_names` reads, those with a comma or a quote in quotes."""
    plain = map(str, names)
    return ",".join('"' + each.replace('"', '""') + '"' if set(each) & set(',"\n') else each for each in plain)


def split_names(parameter: str, lists: Iterable[str]) -> list[str]:
    """Names from the lists of them that a parameter has; a name with a comma in it is quoted, as in CSV."""
    try:
        return [name for row in csv.reader(lists, skipinitialspace=True) for name in row if name]
    except csv.Error:
        expected = "names with commas between; in quotes where they have a comma, a quote or a line break"
        raise invalid("options", ARGUMENT, parameter, expected, "text that cannot be read as such a list") from None
