"""The tables of this folder's README.md: what is printed beside what comes out, and the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import sqrt

from papers.verdicts import VERDICTS, difference, of
from papers.wakabayashi_2024.protocol import SPLITS, Found, Summary
from papers.wakabayashi_2024.published import METRICS, Rows

SYMBOL = {"unique": "U", "people": "H_u", "leaves": "H_leaf", "accuracy": "ACC"}
DECIMALS = {"unique": 1, "people": 1, "leaves": 1, "accuracy": 5}


def verdict(printed: str, found: Found) -> str:
    """What a printed number is of ours, see examples/papers/verdicts.py."""
    return of(printed, found.mean, found.deviation / sqrt(len(SPLITS)), (found.low, found.high))


def verdicts(printed: Rows, ours: Mapping[str, Summary]) -> list[str]:
    """The verdict of each cell that is ours as well."""
    return [
        verdict(cell, ours[row][metric])
        for row, cells in printed.items()
        if row in ours
        for metric, cell in cells.items()
        if metric in ours[row]
    ]


def compared(first: str, printed: Rows, ours: Mapping[str, Summary]) -> str:
    """Rows of a paper's table with ours beside it; rows of ours such as ``8*`` are another version of row ``8``."""
    metrics = [m for m in METRICS if any(m in cells for cells in printed.values())]
    metrics = [m for m in metrics if all(m in summary for summary in ours.values())]
    head = [first, *(label for m in metrics for label in (SYMBOL[m], "ours", "diff", "sd")), "verdict"]
    body = []
    for row, summary in ours.items():
        cells = printed[row.rstrip("*")]
        found = {m: verdict(cells[m], summary[m]) for m in metrics}
        line = [row]
        for m in metrics:
            (mean, deviation, *_), digits = summary[m], DECIMALS[m]
            line += [
                cells[m],
                f"{mean:.{digits}f}",
                difference(mean - float(cells[m]), digits),
                f"{deviation:.{digits}f}",
            ]
        line.append(
            "; ".join(
                _said(label, [m for m in metrics if found[m] == label], metrics)
                for label in VERDICTS
                if label in found.values()
            )
        )
        body.append(line)
    return aligned([head, *body])


def _said(label: str, found: Sequence[str], metrics: Sequence[str]) -> str:
    return label if len(found) == len(metrics) else f"{', '.join(SYMBOL[m] for m in found)} {label}"


def counted(parts: Mapping[str, Sequence[str]]) -> str:
    """How many cells of each part of the page have which verdict."""
    body = [[name, str(len(found)), *(str(found.count(v)) for v in VERDICTS)] for name, found in parts.items()]
    return aligned([["", "cells", *VERDICTS], *body], left={0})


def aligned(lines: Iterable[Sequence[str]], left: Iterable[int] = (-1,)) -> str:
    """A table as lines of text; columns named in ``left`` are not aligned to the right."""
    table = list(lines)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    flush = {column % len(widths) for column in left}
    return "\n".join(
        "  ".join(
            c.ljust(w) if i in flush else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in table
    )
