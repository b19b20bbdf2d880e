"""Standard output: no other module writes there, and no text gets there that could steer a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from maxent.models.files.json_text import as_json_text
from maxent.models.text.printable import printable

if TYPE_CHECKING:
    from rich.console import Console


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
