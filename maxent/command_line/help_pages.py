"""The help of a command: how it is called, its options in panels, as wide as the terminal, and examples at the end."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from typing import Any

from maxent.command_line.panels import FIRST, MOST, OUTPUT, PANELS, RARE, REQUIRED, USED_MOST

ARGUMENTS = "Arguments"
ALL = "maxent.command_line.help_pages.all"
"""Key of a context's ``meta`` where a help shows every option."""

WIDEST_NAME = 28
"""Characters of an option and its values that are shown beside its help; longer ones get a line of their own."""

LEAST = 40
"""Columns of the narrowest terminal that is written for."""


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
    """The panels of a command, in order: the spelling and the help of each argument and option in it.

    Required options come first, then the most used. Rare options are shown only with ``everything``.
    """
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
