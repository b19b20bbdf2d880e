"""Standard output: safe printing for the whole program, names of options in messages, and the list of back ends."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from maxent.models.errors import ARGUMENT, Problem, printable
from maxent.models.files.json_files import as_json_text

if TYPE_CHECKING:
    from rich.console import Console

    from maxent.models.tables.qi_table import QITable
    from maxent.solvers.backends.registry import Description


def print_lines(lines: Iterable[str]) -> None:
    """Print lines of text."""
    for line in lines:
        print(printable(line))


def print_styled(lines: Iterable[tuple[str, str]]) -> None:
    """Print lines of text, each with a style of Rich's, which only terminals show: ``bold``, or nothing."""
    from rich.text import Text

    out = _console()
    for line, style in lines:
        out.print(Text(printable(line), style=style), soft_wrap=True)


def print_people(table: QITable, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print quasi-identifiers of a table, with numbers about them in the columns behind."""
    right = [i >= len(table.attributes) or table.attributes[i].type == "numeric" for i in range(len(header))]
    print_table(header, rows, right)


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[bool]) -> None:
    """Print a table, as wide as a terminal is; ``right`` says which columns are flushed right."""
    cells = [[printable(cell) for cell in row] for row in (header, *rows)]
    if not sys.stdout.isatty() and all(_is_plain(cell) for row in cells for cell in row):
        print_lines(_aligned(cells, right))
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name, flushed in zip(cells[0], right, strict=True):
        table.add_column(Text(name), justify="right" if flushed else "left", overflow="fold")
    for row in cells[1:]:
        table.add_row(*map(Text, row))
    out = _console()
    if out.is_terminal:
        out.print(table)
        return
    with out.capture() as captured:
        out.print(table)
    print_lines(line.rstrip() for line in captured.get().splitlines())


def _is_plain(cell: str) -> bool:
    """Whether a cell is as wide as it has characters: a table of such does not need Rich, which takes long to load."""
    return cell.isascii() and cell != "" and cell == cell.strip()


def _aligned(cells: Sequence[Sequence[str]], right: Sequence[bool]) -> Iterator[str]:
    """The rows of a table as lines, as Rich has them."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        parts = zip(row, widths, right, strict=True)
        yield "  ".join(cell.rjust(width) if flushed else cell.ljust(width) for cell, width, flushed in parts).rstrip()


def print_json(value: object) -> None:
    """Print a JSON object, and nothing else."""
    print(as_json_text(value))


def _console() -> Console:
    """Standard output; what is not a terminal gets plain text of any width."""
    from rich.console import Console

    class Output(Console):
        def on_broken_pipe(self) -> None:
            raise  # Rich would exit with 1, which says that the result is not to be relied on

    plain: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}
    if sys.stdout.isatty():
        return Output(**plain)
    return Output(**plain, file=sys.stdout, force_terminal=False, color_system=None, width=1 << 20)


# Parameters in messages: named as in Python where they arise, as on the command line or in a study where they show.

# A parameter in a text, see `maxent.models.errors.ARGUMENT`: ``missing=`` or ``missing='category'``.
_MENTION = re.compile(r"\b([a-z]\w*)=('[^']*'|[\w.]+)?")
_NAME = re.compile(r"[a-z]\w*")
# One of a mapping of them, ``parameters={'base_score': 0.5}``.
_ENTRY = re.compile(r"\b([a-z]\w*)=\{'(\w+)': '?([^}']*)'?\}")
# How a parameter and its value, which may be empty, are written; None for what is no parameter.
Spell = Callable[[str, str], str | None]


def respell(text: str, spell: Spell) -> str:
    """A text with its mentions of parameters, ``missing='category'``, spelled in another way, and no ``None``."""
    text = text.removeprefix("None or ")  # which is to leave an option out
    text = _ENTRY.sub(
        lambda found: f"{known} {found[2]}={found[3]}" if (known := spell(found[1], "")) else found[0], text
    )
    return _MENTION.sub(lambda found: spell(found[1], (found[2] or "").strip("'")) or found[0], text)


def respelled(problem: Problem, spell: Spell) -> Problem:
    """A problem with all of its parameters spelled in another way; what was found is quoted, and stays."""
    field = problem.field
    if problem.where == ARGUMENT and not field.startswith("-"):
        field = _NAME.sub(lambda name: spell(name[0], "") or name[0], field)
    return replace(problem, field=field, expected=respell(problem.expected, spell))


def on_command_line(names: Mapping[str, str]) -> Spell:
    """The spelling of a command, by the names that `maxent.command_line.parsing.spellings` gives its parameters."""

    def spell(name: str, value: str) -> str | None:
        if name not in names:
            return None
        # A flag takes no value, and is only mentioned where it is to be given.
        return names[name] if value in ("", "True", "False") else f"{names[name]} {value}"

    return spell


def in_study(name: str, value: str) -> str:
    """The spelling of a study file: ``missing = "category"``."""
    return f'{name} = "{value}"' if value else name


def print_backends(described: Sequence[Description]) -> None:
    """Print the back ends with their versions and what each can solve, and what is missing for the others."""
    rows = [[d.name, (d.version or "-") if d.installed else "not installed", d.solves or "-"] for d in described]
    missing = [f"{found.name}: {found.missing}" for found in described if not found.installed]
    print_lines([*aligned(["backend", "version", "solves"], rows, left=3), *(["", *missing] if missing else [])])


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Lines of a table with two spaces between columns; the first ``left`` of them are texts, the others numbers."""
    table = [[printable(cell) for cell in row] for row in (header, *rows)]
    return list(_aligned(table, [i >= left for i in range(len(header))]))
