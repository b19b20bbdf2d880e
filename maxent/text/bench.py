"""Back ends, and what became of a comparison of them, as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from maxent.models.text.display import Display, counted
from maxent.models.text.printable import printable
from maxent.text.terminal import print_lines

if TYPE_CHECKING:
    from maxent.solvers.registry import Description

CLOSED_FORM = "closed forms of presolve answer the whole problem"
"""Why no back end was used."""

SINGLE = "what is stated leaves a single answer, and nothing to any back end"
"""The same without presolve, which no option changes."""

_COLUMNS: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "backend": ("backend", str),
    "status": ("status", str),
    "certificate": ("certificate", str),
    "entropy": ("entropy", "{:.6f}".format),
    "max_violation": ("violation", "{:.1e}".format),
    "max_distance": ("distance", "{:.1e}".format),
    "total_variation": ("variation", "{:.1e}".format),
    "build_seconds": ("build s", "{:.3f}".format),
    "solve_seconds": ("solve s", "{:.3f}".format),
    "processor_seconds": ("CPU s", "{:.3f}".format),
    "peak_memory_mb": ("peak MB", "{:.0f}".format),
    "iterations": ("iterations", str),
    "divergence": ("divergence", "{:.4f}".format),
}
_TEXTS = 3


class BenchResult(Protocol):
    """The printed parts of `maxent.BenchResult`."""

    @property
    def rows(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def best(self) -> str | None: ...
    @property
    def closed_form(self) -> bool: ...


def print_bench(result: BenchResult) -> None:
    """Print a row per back end, why some have no answer to rely on, and which is the best."""
    header, cells = _table(result)
    print_lines([*aligned(header, cells, left=_TEXTS), "", *_reasons(result)])


def bench_display(result: BenchResult) -> Display:
    """A comparison of back ends in a console and in a notebook."""
    header, cells = _table(result)
    title = f"Comparison of {counted(len(cells), 'back end')}, best: {result.best or 'none'}"
    reasons = _reasons(result)
    return Display(title, [*aligned(header, cells, left=_TEXTS), *reasons], header, cells, reasons)


def _table(result: BenchResult) -> tuple[list[str], list[list[str]]]:
    """The header, and a row of texts per back end."""
    keys = [key for key in _COLUMNS if key in result.rows[0]]
    cells = [["-" if row[key] is None else _COLUMNS[key][1](row[key]) for key in keys] for row in result.rows]
    return [_COLUMNS[key][0] for key in keys], cells


def _reasons(result: BenchResult) -> list[str]:
    """Reasons not to rely on the answers of some back ends, and the name of the best."""
    lines = [
        f"{row['backend']}: {row['status'].replace('_', ' ')}: {row['reason']}"
        for row in result.rows
        if row["reason"] is not None
    ]
    if result.best is None and result.closed_form:
        way = ": --no-presolve (in Python presolve=False) gives each the program"
        presolved = any(row["reason"] == CLOSED_FORM for row in result.rows)
        return [*lines, f"no back end was used, and none is best{way if presolved else ''}"]
    if result.best is None:
        return [*lines, "no back end has an answer to rely on"]
    best = next(row for row in result.rows if row["backend"] == result.best)
    return [
        *lines,
        f"best: {result.best}, entropy {best['entropy']:.6f} nats; distance and variation are the largest "
        "difference from its posterior, of a probability and of a quasi-identifier's distribution",
    ]


def print_backends(described: Sequence[Description]) -> None:
    """Print the back ends with their versions and what each can solve, and what is missing for the others."""
    rows = [[d.name, (d.version or "-") if d.installed else "not installed", d.solves or "-"] for d in described]
    missing = [f"{found.name}: {found.missing}" for found in described if not found.installed]
    print_lines([*aligned(["backend", "version", "solves"], rows, left=3), *(["", *missing] if missing else [])])


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Lines of a table with two spaces between columns; the first ``left`` of them are texts, the others numbers."""
    table = [[printable(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]
