"""Plots of several releases side by side: bars of disclosure, and accuracy against disclosure."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from maxent.disclosure.inference import Individuals
from maxent.disclosure.measures import MEASURES, Measure
from maxent.plotting.figures import (
    SIZE,
    check_kind,
    color_of,
    draw_divergences,
    draw_posteriors,
    legend_beside,
    missing,
    name_of,
    save_plot,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox


# Releases side by side, as bars: what is disclosed, and how well each predicts.

Row = Mapping[str, Any]
# Releases up to which there is room for numbers beside the bars.
WRITTEN = 8


def shown_measures(rows: Sequence[Row]) -> list[Measure]:
    """The measures that have bars, and that at least one release has."""
    known = (m for m in MEASURES.values() if m.bar and any(row.get(m.key) is not None for row in rows))
    return sorted(known, key=lambda m: m.bar)


def draw_bars(axes: Axes, rows: Sequence[Row]) -> None:
    """A group of bars for each measure, in it a bar for each release, the first on top."""
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


# Names beside points, each where it covers neither a point, nor a line, nor another name.

_SIDES = ((1, 1), (1, -1), (-1, 1), (-1, -1), (0, 1), (0, -1), (1, 0), (-1, 0))
# Points (1/72 inch) from a mark to its name.
_DISTANCES = (5, 12, 20, 30)
_ALIGN = {1: ("left", "bottom"), 0: ("center", "center"), -1: ("right", "top")}
# Points around a mark, and on either side of a line, that a name must not cover.
_MARK, _LINE = 4.0, 1.0
# Places on each piece of a line that are kept free.
_STEPS = 40


@dataclass(frozen=True, slots=True)
class Label:
    """A name, the point that it belongs to (in the units of the axes), and its color."""

    x: float
    y: float
    name: str
    color: Any


def label_points(axes: Axes, labels: Sequence[Label]) -> None:
    """Write names beside points, the nearest place that is free; names for which there is none are left out."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()  # only now is it known where on the figure the axes are
    inside = axes.get_window_extent()
    taken = [_around(axes, (label.x, label.y), _MARK) for label in labels] + list(_label_lines(axes))
    for label in labels:
        at = (label.x, label.y)
        text = axes.annotate(label.name, at, (0, 0), textcoords="offset points", fontsize="small", color=label.color)
        for distance, (right, up) in ((distance, side) for distance in _DISTANCES for side in _SIDES):
            text.set(position=(distance * right, distance * up), ha=_ALIGN[right][0], va=_ALIGN[up][1])
            box = text.get_window_extent()
            fits = inside.x0 <= box.x0 and box.x1 <= inside.x1 and inside.y0 <= box.y0 and box.y1 <= inside.y1
            if fits and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
        else:
            text.remove()


def _label_lines(axes: Axes) -> Iterator[Bbox]:
    """Positions of the lines, place by place."""
    for line in axes.lines:
        points = np.asarray(line.get_xydata())
        for begin, end in pairwise(points):
            for share in np.linspace(0, 1, _STEPS):
                yield _around(axes, tuple(begin + share * (end - begin)), _LINE)


def _around(axes: Axes, point: tuple[float, ...], radius: float) -> Bbox:
    """A box around a point, pixels."""
    from matplotlib.transforms import Bbox

    x, y = axes.transData.transform(point)
    radius *= axes.figure.dpi / 72
    return Bbox.from_extents(x - radius, y - radius, x + radius, y + radius)


# Accuracy against what is disclosed: a point per release, a line where one method has several k.

TradeoffRow = Mapping[str, Any]
_MARKS = "osD^vPX"


@dataclass(frozen=True, slots=True)
class PlottedPoint:
    """A release: what is disclosed (nats), accuracy, what was done to it, and for which k, if for any."""

    name: str
    divergence: float
    accuracy: float
    method: str | None
    k: float | None


def accuracy_of(rows: Sequence[TradeoffRow]) -> str:
    """The accuracy on the test data, without them that on the training data."""
    for key in ("test_accuracy", "train_accuracy"):
        if any(row.get(key) is not None for row in rows):
            return key
    raise missing("test", "a test, or a truth with every attribute that the trees test", "no accuracy of any release")


def draw_tradeoff(axes: Axes, rows: Sequence[TradeoffRow]) -> None:
    """Accuracy against the overall divergence of every release; those of infinite divergence are named above."""
    key = accuracy_of(rows)
    points = [_point(row, key) for row in rows if row[key] is not None and isfinite(row["divergence"])]
    lines = _lines(points)
    for i, (label, line) in enumerate(lines.items()):
        x, y = [p.divergence for p in line], [p.accuracy for p in line]
        style = "-" if len(line) > 1 else ""
        axes.plot(x, y, linestyle=style, marker=_MARKS[i % len(_MARKS)], color=color_of(i, len(lines)), label=label)
    left_out = [name_of(row["release"]) for row in rows if row[key] is None or not isfinite(row["divergence"])]
    if left_out:
        axes.set_title(_left_out(left_out), loc="left", fontsize="small")
    axes.margins(0.12)
    disclosed = MEASURES["divergence"]
    axes.set_xlabel(f"{disclosed.axis} ({'more' if disclosed.better == 'high' else 'less'}: less is disclosed)")
    axes.set_ylabel(MEASURES[key].title)
    tidy(axes, "both")
    if any(len(line) > 1 for line in lines.values()):
        legend_beside(axes)
    label_points(
        axes,
        [
            Label(p.divergence, p.accuracy, f"k={p.k:g}" if len(line) > 1 else label, color_of(i, len(lines)))
            for i, (label, line) in enumerate(lines.items())
            for p in line
        ],
    )


def _left_out(names: Sequence[str], shown: int = 2) -> str:
    """Releases without a point, with the reason."""
    others = f" and {len(names) - shown} more" if len(names) > shown else ""
    return f"infinite divergence, or no accuracy: {', '.join(names[:shown])}{others}"


def _point(row: TradeoffRow, key: str) -> PlottedPoint:
    """Read back from what was done, ``prune-leaf k=5``, the method and its k."""
    words = (row["defense"] or "").split(" ")
    k = next((word[2:] for word in words if word.startswith("k=")), "")
    method = " ".join(word for word in words if not word.startswith("k="))
    number = float(k) if k.replace(".", "", 1).isdecimal() else None
    return PlottedPoint(row["release"], row["divergence"], row[key], method or None, number)


def _lines(points: Sequence[PlottedPoint]) -> dict[str, list[PlottedPoint]]:
    """Points by the name of their line: of one method by ascending k, all others each by itself."""
    by_method: dict[str, list[PlottedPoint]] = {}
    for point in points:
        if point.method is not None and point.k is not None:
            by_method.setdefault(point.method, []).append(point)
    lines: dict[str, list[PlottedPoint]] = {}
    for point in points:
        series = by_method.get(point.method or "", [])
        if point.k is not None and len({p.k for p in series}) == len(series) > 1:
            lines.setdefault(name_of(point.method), sorted(series, key=lambda p: p.k or 0.0))
        else:
            lines[name_of(point.name)] = [point]
    return lines


class ComparedRelease(Protocol):
    """The rows of a comparison, and the individuals behind each of them; see `maxent.Comparison`."""

    @property
    def rows(self) -> Sequence[Mapping[str, Any]]: ...

    @property
    def people(self) -> Sequence[Individuals]: ...


# The first is the default; ``tradeoff`` and ``divergence`` need a truth.
KINDS = ("bars", "tradeoff", "posterior", "divergence")
# Inches that a bar with its number takes.
_BAR = 0.2
# Inches that the names of lines take.
_NAMES = 2.2


def check_comparison_kind(kind: str, *, truth: bool) -> None:
    """Refuse an unknown kind of plot, and a kind that needs a truth where there is none."""
    check_kind(kind, KINDS)
    if kind in ("tradeoff", "divergence") and not truth:
        raise missing("truth", "the confidential data, which divergences need", "none")


def check_comparison_plot(kind: str, comparison: ComparedRelease) -> None:
    """Refuse, besides, what some comparison has not: an accuracy to trade off, the individuals for curves of them."""
    check_comparison_kind(kind, truth="divergence" in comparison.rows[0])
    if kind == "tradeoff":
        accuracy_of(comparison.rows)
    elif kind != "bars" and len(comparison.people) != len(comparison.rows):
        raise missing("people", "the individuals of every release, as `maxent.compare` keeps them", "none")
    elif kind == "divergence" and any(people.divergence is None for people in comparison.people):
        raise missing("people", "the divergence of every individual, which is not kept of people in parts", "none")


def draw_comparison(axes: Axes, comparison: ComparedRelease, kind: str = KINDS[0]) -> None:
    """Draw one of `KINDS`; errors as in `check_comparison_plot`."""
    check_comparison_plot(kind, comparison)
    if kind == "bars":
        draw_bars(axes, comparison.rows)
    elif kind == "tradeoff":
        draw_tradeoff(axes, comparison.rows)
    else:
        people = dict(zip((row["release"] for row in comparison.rows), comparison.people, strict=True))
        (draw_posteriors if kind == "posterior" else draw_divergences)(axes, people)


def size_of(comparison: ComparedRelease, kind: str) -> tuple[float, float]:
    """Width and height (inches) that a plot takes: bars as many as there are, lines with their names beside them."""
    if kind != "bars":
        return SIZE[0] + _NAMES, SIZE[1]
    n = len(comparison.rows)
    bars = _BAR if n <= WRITTEN else _BAR / 2
    return SIZE[0], max(SIZE[1], 1.2 + bars * n * len(shown_measures(comparison.rows)) + 0.1 * n)


def save_comparison_plot(comparison: ComparedRelease, path: str | os.PathLike[str], kind: str = KINDS[0]) -> None:
    """Write the plot to a file, by suffix; errors as in `check_comparison_plot` and `save_plot`."""
    check_comparison_plot(kind, comparison)
    save_plot(lambda figure: draw_comparison(figure.add_subplot(), comparison, kind), path, size_of(comparison, kind))
