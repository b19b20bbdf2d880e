"""The frontier as a picture: an SVG without anything else, for the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from maxent.advice.standing import gained
from maxent.advice.text import amount, number_words
from maxent.disclosure.limits import NAMES, SHARES
from maxent.models.text.printable import printable

Row = Mapping[str, Any]

WIDTH, HEIGHT = 640, 320
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 20, 50
"""Margins of the plot."""

TICKS = 5


def picture(frontier: Row, rows: Sequence[Row]) -> str:
    """Accuracy, or cost, against what a limit is about: candidates that were tested, the frontier, and the limit."""
    limit, stated = frontier["limit"], frontier["stated"]
    dots = [
        (check["found"], row["level"], row["candidate"], check["status"] == "pass")
        for row in rows
        for check in row["checks"]
        if check["key"] == limit and check["found"] is not None and row["level"] is not None
    ]
    by_cost = any(row["cost"] is not None for row in rows)
    steps = [(point["found"], abs(gained(point))) for point in frontier["points"]]
    if not dots:
        return ""
    logged = limit not in SHARES
    across = _Axis([x for x, *_ in dots] + [stated], LEFT, WIDTH - RIGHT, logged=logged)
    up = _Axis([y for _, y, *_ in dots], HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{_title(limit, by_cost)}">',
        *_grid(across, up, limit, by_cost),
        f'<line class="stated" x1="{across(stated):.1f}" x2="{across(stated):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>',
    ]
    if len(steps) > 1:
        path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in steps)
        parts.append(f'<polyline class="frontier" points="{path}"/>')
    for x, y, name, within in dots:
        words = f"{name}: {amount(y, by_cost)}, {number_words(limit, x)}"
        parts.append(
            f'<circle class="{"within" if within else "beyond"}" cx="{across(x):.1f}" cy="{up(y):.1f}" r="4">'
            f"<title>{escape(printable(words))}</title></circle>"
        )
    return "\n".join([*parts, "</svg>"])


def _title(limit: str, by_cost: bool) -> str:
    return f"{'Cost' if by_cost else 'Accuracy'} against {NAMES[limit]}"


class _Axis:
    """Numbers to places, from ``begin`` to ``end``; ``logged`` numbers are log(1 + x)."""

    def __init__(self, values: Sequence[float], begin: float, end: float, *, logged: bool = False) -> None:
        self.form = np.log1p if logged else np.asarray
        self.back = np.expm1 if logged else np.asarray
        low, high = float(self.form(min(values))), float(self.form(max(values)))
        room = 0.04 * (high - low) or 0.01
        self.low, self.high, self.begin, self.end = low - room, high + room, begin, end

    def __call__(self, value: float) -> float:
        share = (float(self.form(value)) - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)

    def ticks(self) -> list[float]:
        places = np.linspace(self.low, self.high, TICKS + 2)[1:-1]
        return [float(self.back(place)) for place in places]


def _grid(across: _Axis, up: _Axis, limit: str, by_cost: bool) -> list[str]:
    """Lines, numbers and the names of both axes."""
    foot, end = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = [f'<line class="axis" x1="{LEFT}" x2="{end}" y1="{foot}" y2="{foot}"/>']
    for value in up.ticks():
        y, shown = up(value), f"{value:.3g}" if by_cost else f"{100 * value:.1f} %"
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{end}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="y" x="{LEFT - 6}" y="{y + 4:.1f}">{shown}</text>')
    seen = dict.fromkeys(value if limit in SHARES else float(max(round(value), 0)) for value in across.ticks())
    for value in seen:
        x = across(value)
        parts.append(f'<text class="x" x="{x:.1f}" y="{foot + 18}">{number_words(limit, value)}</text>')
    parts.append(f'<text class="x" x="{(LEFT + end) / 2}" y="{HEIGHT - 8}">{NAMES[limit]}</text>')
    return parts
