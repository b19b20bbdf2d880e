"""Releases side by side, as bars: what is disclosed, and how well each predicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from maxent.plotting.figures import color_of, name_of, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Row = Mapping[str, Any]

MEASURES: Mapping[str, tuple[str, Callable[[Row], float | None]]] = {
    "certain": ("certain individuals", lambda row: _share(row, "certain")),
    "exposed": ("exposed individuals", lambda row: _share(row, "exposed")),
    "bayes_vulnerability": ("Bayes vulnerability", lambda row: row["bayes_vulnerability"]),
    "max_posterior": ("largest posterior", lambda row: row["max_posterior"]),
    "train_accuracy": ("train accuracy", lambda row: row["train_accuracy"]),
    "test_accuracy": ("test accuracy", lambda row: row["test_accuracy"]),
}
"""Key of a row -> what its bars are called, and how high they are: shares and probabilities, so that one axis does."""

WRITTEN = 8
"""Releases up to which there is room for numbers beside the bars."""


def shown_measures(rows: Sequence[Row]) -> list[str]:
    """Those of `MEASURES` that at least one release has."""
    return [key for key in MEASURES if any(row.get(key) is not None for row in rows)]


def draw_bars(axes: Axes, rows: Sequence[Row]) -> None:
    """A group of bars for each measure, in it a bar for each release, the first on top."""
    measures, n = shown_measures(rows), len(rows)
    thick = 0.8 / n
    for i, row in enumerate(rows):
        values = [MEASURES[key][1](row) for key in measures]
        places = [m - 0.4 + (i + 0.5) * thick for m in range(len(measures))]
        widths = [value or 0.0 for value in values]
        bars = axes.barh(places, widths, thick * 0.92, color=color_of(i, n), label=name_of(row["release"]))
        if n <= WRITTEN:
            texts = ["not known" if value is None else f"{value:.3f}" for value in values]
            axes.bar_label(bars, texts, padding=3, fontsize="small")
    axes.set_yticks(range(len(measures)), [MEASURES[key][0] for key in measures])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(measures) - 0.5, -0.5)
    axes.set_xlim(0, 1.12)
    axes.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1])
    axes.set_xlabel("share or probability")
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False, fontsize="small")
    tidy(axes, "x")


def _share(row: Row, key: str) -> float | None:
    """A number of individuals as their share."""
    return None if row[key] is None else row[key] / row["individuals"]
