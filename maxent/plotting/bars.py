"""Releases side by side, as bars: what is disclosed, and how well each predicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from maxent.disclosure.registry import MEASURES, Measure
from maxent.plotting.figures import color_of, name_of, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Row = Mapping[str, Any]

WRITTEN = 8
"""Releases up to which there is room for numbers beside the bars."""


def shown_measures(rows: Sequence[Row]) -> list[Measure]:
    """The measures that have bars, and that at least one release has."""
    known = (m for m in MEASURES.values() if m.bar and any(row.get(m.key) is not None for row in rows))
    return sorted(known, key=lambda m: m.bar)


def draw_bars(axes: Axes, rows: Sequence[Row]) -> None:
    """A group of bars for each measure, in it a bar for each release, the first on top.

    Shares and probabilities are as long as they are; other measures are drawn against the largest of the releases.
    """
    measures, n = shown_measures(rows), len(rows)
    thick = 0.8 / n
    drawn = [_group(measure, rows) for measure in measures]
    for i, row in enumerate(rows):
        places = [m - 0.4 + (i + 0.5) * thick for m in range(len(measures))]
        widths = [group[i][0] for group in drawn]
        bars = axes.barh(places, widths, thick * 0.92, color=color_of(i, n), label=name_of(row["release"]))
        if n <= WRITTEN:
            axes.bar_label(bars, [group[i][1] for group in drawn], padding=3, fontsize="small")
    axes.set_yticks(
        range(len(measures)), [m.title if _is_share(m) else f"{m.title},\nshare of the largest" for m in measures]
    )
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(measures) - 0.5, -0.5)
    axes.set_xlim(0, 1.12)
    axes.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1])
    axes.set_xlabel("share or probability")
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False, fontsize="small")
    tidy(axes, "x")


def _group(measure: Measure, rows: Sequence[Row]) -> list[tuple[float, str]]:
    """The length of each release's bar, from 0 to 1, and its number."""
    values = [row.get(measure.key) for row in rows]
    largest = max((value for value in values if value is not None and isfinite(value)), default=0) or 1
    found = []
    for value, row in zip(values, rows, strict=True):
        share = None if value is None else measure.share(value, row["individuals"])
        if value is None:
            found.append((0.0, "not known"))
        elif share is None:
            found.append((min(value / largest, 1.0), measure.text(value)))
        else:
            found.append((share, f"{share:.3f}"))
    return found


def _is_share(measure: Measure) -> bool:
    """Whether its values are shares by themselves."""
    return measure.share(0, 1) is not None
