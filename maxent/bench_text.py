"""Back ends, and what became of a comparison of them, as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from maxent.report import printable

if TYPE_CHECKING:
    from maxent.benching import BenchResult
    from maxent.solvers.registry import Description

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


def print_bench(result: BenchResult) -> None:
    """Print a row per back end, why some have no answer to rely on, and which is the best."""
    keys = [key for key in _COLUMNS if key in result.rows[0]]
    cells = [["-" if row[key] is None else _COLUMNS[key][1](row[key]) for key in keys] for row in result.rows]
    for line in aligned([_COLUMNS[key][0] for key in keys], cells, left=_TEXTS):
        print(line)
    print()
    for row in result.rows:
        if row["reason"] is not None:
            print(printable(f"{row['backend']}: {row['status'].replace('_', ' ')}: {row['reason']}"))
    if result.best is None:
        print("no back end has an answer to rely on")
        return
    best = next(row for row in result.rows if row["backend"] == result.best)
    print(
        f"best: {printable(result.best)}, entropy {best['entropy']:.6f} nats; distance and variation are the largest "
        "difference from its posterior, of a probability and of a quasi-identifier's distribution"
    )


def print_backends(described: Sequence[Description]) -> None:
    """Print the back ends with their versions and what each can solve, and what is missing for the others."""
    rows = [[d.name, (d.version or "-") if d.installed else "not installed", d.solves or "-"] for d in described]
    for line in aligned(["backend", "version", "solves"], rows, left=3):
        print(line)
    missing = [f"{found.name}: {found.missing}" for found in described if not found.installed]
    for line in ["", *missing] if missing else []:
        print(printable(line))


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Lines of a table with two spaces between columns; the first ``left`` of them are texts, the others numbers."""
    table = [list(header), *([printable(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]
