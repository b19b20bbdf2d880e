"""Accuracy against what is disclosed: a point per release, a line where one method has several k."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from maxent.disclosure.registry import MEASURES
from maxent.plotting.figures import color_of, legend_beside, missing, name_of, tidy
from maxent.plotting.labels import Label, label_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Row = Mapping[str, Any]
_MARKS = "osD^vPX"


@dataclass(frozen=True, slots=True)
class Point:
    """A release: what is disclosed (nats), accuracy, what was done to it, and for which k, if for any."""

    name: str
    divergence: float
    accuracy: float
    method: str | None
    k: float | None


def accuracy_of(rows: Sequence[Row]) -> str:
    """The accuracy on the test data, without them that on the training data.

    Raises
    ------
    InvalidInput
        When no release has one, naming what is missing.
    """
    for key in ("test_accuracy", "train_accuracy"):
        if any(row.get(key) is not None for row in rows):
            return key
    raise missing("test", "a test, or a truth with every attribute that the trees test", "no accuracy of any release")


def draw_tradeoff(axes: Axes, rows: Sequence[Row]) -> None:
    """Accuracy against the overall divergence of every release; those of infinite divergence are named above.

    Raises
    ------
    InvalidInput
        When no release has an accuracy.
    """
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


def _point(row: Row, key: str) -> Point:
    """Read back from what was done, ``prune-leaf k=5``, the method and its k."""
    words = (row["defense"] or "").split(" ")
    k = next((word[2:] for word in words if word.startswith("k=")), "")
    method = " ".join(word for word in words if not word.startswith("k="))
    number = float(k) if k.replace(".", "", 1).isdecimal() else None
    return Point(row["release"], row["divergence"], row[key], method or None, number)


def _lines(points: Sequence[Point]) -> dict[str, list[Point]]:
    """Points by the name of their line: of one method by ascending k, all others each by itself."""
    by_method: dict[str, list[Point]] = {}
    for point in points:
        if point.method is not None and point.k is not None:
            by_method.setdefault(point.method, []).append(point)
    lines: dict[str, list[Point]] = {}
    for point in points:
        series = by_method.get(point.method or "", [])
        if point.k is not None and len({p.k for p in series}) == len(series) > 1:
            lines.setdefault(name_of(point.method), sorted(series, key=lambda p: p.k or 0.0))
        else:
            lines[name_of(point.name)] = [point]
    return lines
