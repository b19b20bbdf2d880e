"""Plots of the pages, as SVG files that are the same whenever the numbers are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STYLE: Any = {"svg.fonttype": "none", "svg.hashsalt": "maxent", "font.size": 9.0, "lines.markersize": 4.0}
COLORS = ("#1f5fa8", "#c8553d", "#588157", "#9aa5b1")


@dataclass(frozen=True)
class Line:
    """A series of a plot: numbers by k or by confidence limit; one number only is a level, drawn across."""

    label: str
    points: Mapping[float, float]


@contextmanager
def panels(path: Path, n: int) -> Iterator[Sequence[Any]]:
    """``n`` plots side by side, which are saved when all is drawn."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=(4.2 * n, 3.4), layout="constrained")
        yield figure.subplots(1, n, squeeze=False)[0]
        figure.savefig(path, format="svg", metadata={"Date": None})


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
