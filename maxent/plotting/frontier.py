"""Accuracy against what a limit is about: the candidates of an advice, and the frontier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from maxent.plotting.figures import COLORS, axes_or_new, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Row = Mapping[str, Any]


def draw_frontier(ax: Axes | None, frontier: Row, rows: Sequence[Row], names: Mapping[str, str]) -> Axes:
    """Draw the accuracy, or cost, of candidates that were tested, the frontier and the limit."""
    axes = axes_or_new(ax)
    limit = frontier["limit"]
    for within, label in ((True, "within the limit"), (False, "beyond the limit")):
        dots = [
            (check["found"], row["level"])
            for row in rows
            for check in row["checks"]
            if check["key"] == limit and check["found"] is not None and row["level"] is not None
            if (check["status"] == "pass") == within
        ]
        face = COLORS[0] if within else "none"
        axes.scatter([x for x, _ in dots], [y for _, y in dots], s=18, color=COLORS[0], facecolors=face, label=label)
    points, measure = frontier["points"], "accuracy" if all(row["cost"] is None for row in rows) else "cost"
    axes.plot([p["found"] for p in points], [p[measure] for p in points], color=COLORS[1], label="frontier")
    axes.axvline(frontier["stated"], color="0.5", linestyle="--", label="limit")
    axes.set_xlabel(names[limit])
    axes.set_ylabel(f"{measure} on people not seen")
    tidy(axes, "both")
    axes.legend(frameon=False, fontsize="small")
    return axes
