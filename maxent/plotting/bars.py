"""Releases side by side, as bars: what is disclosed, and how well each predicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    largest = [max(row.get(m.key) or 0 for row in rows) or 1 for m in measures]
    for i, row in enumerate(rows):
        places = [m - 0.4 + (i + 0.5) * thick for m in range(len(measures))]
        drawn = [_bar(m, row, most) for m, most in zip(measures, largest, strict=True)]
        widths = [width for width, _ in drawn]
        bars = axes.barh(places, widths, thick * 0.92, color=color_of(i, n), label=name_of(row["release"]))
        if n <= WRITTEN:
            axes.bar_label(bars, [text for _, text in drawn], padding=3, fontsize="small")
    _without_release(axes, measures, rows)
    names = [m.title + ("" if m.share(0, 1) is not None else ",\nshare of the largest") for m in measures]
    axes.set_yticks(range(len(measures)), names)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(measures) - 0.5, -0.5)
    axes.set_xlim(0, 1.12)
    axes.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1])
    axes.set_xlabel("share or probability")
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False, fontsize="small")
    tidy(axes, "x")


def _without_release(axes: Axes, measures: Sequence[Measure], rows: Sequence[Row]) -> None:
    """Lines through the bars of right guesses, at those of somebody without a release; each release has its own."""
    n = len(rows)
    places = [m for m, measure in enumerate(measures) if measure.key == "bayes_vulnerability"]
    for key, style in (("base_rate", "--"), ("uniform", ":")):
        known = [(i, float(row[key])) for i, row in enumerate(rows) if row.get(key) is not None]
        for m in places if known else ():
            low = [m - 0.4 + i * 0.8 / n for i, _ in known]
            levels, title = [value for _, value in known], MEASURES[key].title
            same = f" {levels[0]:.3g}" if len(set(levels)) == 1 else ""
            high = [at + 0.8 / n for at in low]
            axes.vlines(levels, low, high, color="black", linestyle=style, linewidth=1, label=title + same)


def _bar(measure: Measure, row: Row, largest: float) -> tuple[float, str]:
    """The length of a bar, from 0 to 1, and the number beside it."""
    value = row.get(measure.key)
    if value is None:
        return 0.0, "not known"
    share = measure.share(value, row["individuals"])
    return (value / largest, measure.text(value)) if share is None else (share, f"{share:.3f}")
