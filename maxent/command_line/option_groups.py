"""Options that several commands have, stated once by a dataclass or as the parameters of a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable
from enum import StrEnum
from functools import wraps
from typing import Annotated, Any, Optional

import typer

from maxent.command_line import panels
from maxent.command_line.parsing import split_names
from maxent.command_line.progress import Job
from maxent.models.parameters import Parameter, parameters_of

PANELS = {
    "known": panels.KNOWN,
    "read": panels.READ,
    "grown": panels.GROWN,
    "defended": panels.DEFENDED,
    "measured": panels.MEASURED,
    "solved": panels.SOLVED,
    "run": panels.RUN,
    "limits": panels.LIMITS,
    "output": panels.OUTPUT,
}


def completed_backend(incomplete: str) -> list[str]:
    """Back ends that a shell offers."""
    from maxent.solvers.registry import backend_names

    return completed(incomplete, backend_names())


def completed_knowledge(incomplete: str) -> list[str]:
    """Kinds of knowledge that a shell offers."""
    from maxent.constraints.kinds.registry import knowledge

    return completed(incomplete, knowledge())


def completed_policy(incomplete: str) -> list[str]:
    """Policies that a shell offers."""
    from maxent.policy.policy import presets

    return list(presets())


def completed(incomplete: str, names: Iterable[str]) -> list[str]:
    """Names for the end of a list with commas between."""
    before, comma, _ = incomplete.rpartition(",")
    return [before + comma + name for name in names]


COMPLETED = {"backend": completed_backend, "backends": completed_backend, "knowledge": completed_knowledge}
"""Parameter -> what a shell offers for it."""


def stated(kind: type, *, without: Collection[str] = (), **defaults: Any) -> Callable[..., dict[str, Any]]:
    """The options of a dataclass, but those ``without``, as a group for `takes`, with other ``defaults``.

    The command gets a dictionary of arguments, as the function that takes the dataclass has them.
    """
    own = [each for each in parameters_of(kind).values() if each.about.group != "call" and each.name not in without]

    def group(**values: Any) -> dict[str, Any]:
        return {each.name: _argument(each, values[each.name]) for each in own}

    options = [option(each, defaults.get(each.name, each.default)) for each in own]
    group.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    return group


def _argument(each: Parameter, value: Any) -> Any:
    """The value of an option as a function takes it."""
    if each.kind is list:
        return split_names(each.name, value) if value else None
    if each.kind is bool and each.about.option.startswith("--no-"):
        return not value
    return value.value if isinstance(value, StrEnum) else value


def option(each: Parameter, default: Any, *, hidden: bool = False, repeated: bool = False) -> inspect.Parameter:
    """A parameter as one of a command; one that is ``repeated`` may be given several times."""
    about = each.about
    hint: Any = {list: list[str], dict: list[str], object: str}.get(each.kind, each.kind)
    metavar = about.metavar or {int: "N", float: "X"}.get(each.kind) or (about.files.upper() or None)
    if each.choices:
        make: Any = StrEnum
        hint = make(each.name, {choice: choice for choice in each.choices})
        default = None if default is None else hint(default)
    if each.kind is bool and about.option.startswith("--no-"):
        default = not default
    if repeated:
        hint, default = list[hint], [default]
    told = typer.Option(
        *([about.option] if about.option else ["--" + each.name.replace("_", "-")]),
        *(["--" + about.alias.replace("_", "-")] if about.alias else []),
        metavar=metavar,
        help=f"{about.help[:-1]}; may be repeated: a release for each." if repeated else about.help,
        rich_help_panel=PANELS[about.group],
        hidden=hidden,
        autocompletion=COMPLETED.get(each.name),
    )
    return inspect.Parameter(
        each.name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=None if hidden else default,
        annotation=Annotated[hint if hint is bool else Optional[hint], told],  # noqa: UP045 (made when it runs)
    )


def takes(
    *, without: Collection[str] = (), **groups: Callable[..., Any]
) -> Callable[[Callable[..., Job]], Callable[..., Job]]:
    """Give a command the options of functions, each in the place of the command's parameter of its name.

    The command gets what the functions return. Options ``without`` are left out, and have their defaults.
    """
    options = {
        name: [each for each in inspect.signature(group, eval_str=True).parameters.values() if each.name not in without]
        for name, group in groups.items()
    }

    def decorated(command: Callable[..., Job]) -> Callable[..., Job]:
        @wraps(command)
        def called(*arguments: Any, **values: Any) -> Job:
            for name, group in groups.items():
                values[name] = group(**{each.name: values.pop(each.name, each.default) for each in options[name]})
            return command(*arguments, **values)

        own = inspect.signature(command, eval_str=True).parameters.values()
        merged = [each for one in own for each in options.get(one.name, [one])]
        called.__signature__ = inspect.Signature(merged)  # type: ignore[attr-defined]
        called.__annotations__ = {each.name: each.annotation for each in merged}
        return called

    return decorated
