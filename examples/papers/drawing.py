"""Figures of the pages: small SVG files, the same for the same numbers. The settings of all of them are here."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

STYLE: Any = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "maxent",  # names of markers do not change with each run
    "font.sans-serif": ["DejaVu Sans", "sans-serif"],  # repeated at each text: a short list
    "font.size": 9.0,
    "lines.markersize": 4.0,
}
COLORS = ("#1f5fa8", "#c8553d", "#588157", "#9aa5b1")
_DECIMALS = re.compile(r"-?\d+\.\d{3,}")


@dataclass(frozen=True)
class Line:
    """A series of a plot: numbers by k or by confidence limit; one number only is a level, drawn across."""

    label: str
    points: Mapping[float, float]


@contextmanager
def panels(path: Path, n: int) -> Iterator[Sequence[Any]]:
    """``n`` plots side by side, saved at the end."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=(4.2 * n, 3.4), layout="constrained")
        yield figure.subplots(1, n, squeeze=False)[0]
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    path.write_text(compact(drawn.getvalue()), encoding="utf-8")


def compact(svg: str) -> str:
    """The same drawing, coordinates to a hundredth of a point, each style once, an element a line."""
    svg = re.sub(r"<!DOCTYPE[^>]*>\n|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r' transform="rotate\(-0 [^"]*"', "", svg)
    svg = re.sub(r'="[^"]*"', lambda value: _DECIMALS.sub(_rounded, " ".join(value[0].split())), svg)
    styles = {style: f"s{place}" for place, style in enumerate(dict.fromkeys(re.findall(r' style="([^"]*)"', svg)))}
    svg = re.sub(r' style="([^"]*)"', lambda style: f' class="{styles[style[1]]}"', svg)
    rules = "".join(f"\n.{name} {{{style}}}" for style, name in styles.items())
    svg = svg.replace("</style>", f"{rules}\n</style>", 1)
    svg = re.sub(r' id="([^"]*)"', lambda name: name[0] if f"#{name[1]}" in svg else "", svg)
    return re.sub(r"\n\s*(</?g>)?", lambda line: line[1] or "\n", svg)


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}"


def draw(axes: Any, lines: Sequence[Line], x: str, y: str, *, log: bool = True, zero: bool = True) -> None:
    """Draw lines over x, which may be logarithmic, and above 0 or only as far as they go."""
    for line, color, marker in zip(lines, COLORS, "os^d", strict=False):
        if len(line.points) == 1:
            axes.axhline(*line.points.values(), color=color, linestyle="--", linewidth=1, label=line.label)
        else:
            axes.plot(list(line.points), list(line.points.values()), color=color, marker=marker, label=line.label)
    if log:
        axes.set_xscale("log")
        axes.set_xticks([2, 5, 10, 20, 50, 100, 200, 500, 1000])
        axes.minorticks_off()
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    finish(axes, x, y, zero=zero)


def finish(axes: Any, x: str, y: str, *, zero: bool = True, legend: str = "small") -> None:
    """Titles, a grid and a legend; from 0 on when asked for."""
    axes.set_xlabel(x)
    axes.set_title(y, loc="left", fontsize="medium")
    axes.grid(axis="y", color="0.93")
    axes.set_axisbelow(True)
    if zero:
        axes.set_ylim(bottom=0)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False, fontsize=legend)


def same_drawing(one: Path, other: Path) -> bool:
    """Whether two figures are the same but for what another processor does to the last digits of coordinates."""
    number = re.compile(r"-?\d+\.\d+")
    texts = [path.read_text(encoding="utf-8") for path in (one, other)]
    if number.sub("#", texts[0]) != number.sub("#", texts[1]):
        return False
    ours, theirs = (np.array(number.findall(text), np.float64) for text in texts)
    return bool(np.abs(ours - theirs).max(initial=0.0) <= 0.0201)
