"""The plot of ``maxent bench``: how long each back end took, and how good its answer is."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any

from maxent.models.errors import printable
from maxent.plotting.figures import check_matplotlib, save_plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Differences of entropies (nats) below which the axis is linear.
NOISE = 1e-10
_TICKS = 5
_BUILD, _SOLVE = "#9aa5b1", "#1f5fa8"


def save_bench_plot(rows: Sequence[Mapping[str, Any]], path: str | os.PathLike[str]) -> None:
    """Write the plot of `draw_bench` to a file, by suffix, atomically."""
    save_plot(lambda figure: draw_bench(rows, *figure.subplots(1, 2, sharey=True)), path, (9.0, 1.6 + 0.36 * len(rows)))


def draw_bench(rows: Sequence[Mapping[str, Any]], seconds: Axes, gap: Axes) -> None:
    """Draw a line per back end: its seconds and its gap to the best entropy, hollow where not to be relied on."""
    check_matplotlib()
    lines = range(len(rows))
    for axes in (seconds, gap):
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_yticks(lines, [printable(row["backend"]) for row in rows])
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", color="0.93")
        axes.set_axisbelow(True)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
    _draw_seconds(rows, seconds)
    _draw_gap(rows, gap)


def _draw_seconds(rows: Sequence[Mapping[str, Any]], axes: Axes) -> None:
    from matplotlib.lines import Line2D

    taken = [row[key] for row in rows for key in ("build_seconds", "solve_seconds") if row[key]]
    for i, row in enumerate(rows):
        for key, color, marker in (("build_seconds", _BUILD, "s"), ("solve_seconds", _SOLVE, "o")):
            if row[key]:
                axes.plot(row[key], i, marker, color=color, markerfacecolor=_fill(row, color))
    if taken:
        low, high = floor(log10(min(taken))), ceil(log10(max(taken)))
        high = max(high, low + 1)
        step = ceil((high - low) / _TICKS)
        axes.set_xscale("log")
        axes.set_xlim(10.0**low / 1.5, 10.0**high * 1.5)
        axes.set_xticks([10.0**k for k in range(low, high + 1, step)])
        axes.minorticks_off()
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    else:
        axes.set_xticks([])
    axes.set_xlabel("seconds")
    marks = [
        Line2D([], [], linestyle="", marker="s", color=_BUILD, label="build"),
        Line2D([], [], linestyle="", marker="o", color=_SOLVE, label="solve"),
        Line2D([], [], linestyle="", marker="o", color="0.3", markerfacecolor="white", label="not reliable"),
    ]
    axes.legend(handles=marks, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, frameon=False, borderaxespad=0.2)


def _draw_gap(rows: Sequence[Mapping[str, Any]], axes: Axes) -> None:
    """Gaps as marks, and as numbers to the right, where nothing overlaps; there is also said who has none."""
    solved = [row["entropy"] for row in rows if row["status"] == "optimal"]
    found = solved or [row["entropy"] for row in rows if row["entropy"] is not None]
    best = max(found, default=0.0)
    gaps = [None if row["entropy"] is None else best - row["entropy"] for row in rows]
    for i, (row, gap) in enumerate(zip(rows, gaps, strict=True)):
        if gap is not None:
            axes.plot(gap, i, "o", color=_SOLVE, markerfacecolor=_fill(row, _SOLVE))
    known = [gap for gap in gaps if gap is not None]
    if known:
        ticks = _decades(min(known), max(known))
        axes.axvline(0.0, color="0.8", linewidth=1, zorder=0)
        axes.set_xscale("symlog", linthresh=NOISE)
        axes.set_xlim((ticks[0] or -NOISE) * 3, (ticks[-1] or NOISE) * 3)
        axes.set_xticks(ticks)
        axes.minorticks_off()
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0e}" if value else "0")
    else:
        axes.set_xticks([])
    axes.set_xlabel("entropy below the best, nats" if solved else "entropy below the highest, nats; none is reliable")
    said = axes.secondary_yaxis("right")
    said.set_yticks(range(len(rows)), [_said(row, gap) for row, gap in zip(rows, gaps, strict=True)])
    said.tick_params(axis="y", length=0)
    said.spines["right"].set_visible(False)


def _fill(row: Mapping[str, Any], color: str) -> str:
    return color if row["status"] == "optimal" else "white"


def _said(row: Mapping[str, Any], gap: float | None) -> str:
    """The gap as a number; the status of what is not to be relied on."""
    status = row["status"].replace("_", " ")
    if gap is None:
        return printable(status)
    number = f"{gap:.1e}" if gap else "0"
    return number if row["status"] == "optimal" else printable(f"{number}, {status}")


def _decades(low: float, high: float) -> list[float]:
    """Ticks of a symmetric logarithmic axis: 0, and a few powers of ten up to the extremes on either side."""
    first = round(log10(NOISE))
    sides = [(sign, extreme) for sign, extreme in ((-1.0, -low), (1.0, high)) if extreme > NOISE]
    ticks = [0.0]
    for sign, extreme in sides:
        last = ceil(log10(extreme))
        step = ceil((last - first) * len(sides) / (_TICKS - 1))
        ticks += [sign * 10.0**k for k in range(last, first, -step)]
    return sorted(ticks)
