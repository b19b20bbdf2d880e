"""Names beside points, each where it covers neither a point, nor a line, nor another name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox

_SIDES = ((1, 1), (1, -1), (-1, 1), (-1, -1), (0, 1), (0, -1), (1, 0), (-1, 0))
_DISTANCES = (5, 12, 20, 30)
"""Points (1/72 inch) from a mark to its name."""

_ALIGN = {1: ("left", "bottom"), 0: ("center", "center"), -1: ("right", "top")}
_MARK, _LINE = 4.0, 1.0
"""Points around a mark, and on either side of a line, that a name must not cover."""

_STEPS = 40
"""Places on each piece of a line that are kept free."""


@dataclass(frozen=True, slots=True)
class Label:
    """A name, the point that it belongs to (in the units of the axes), and its color."""

    x: float
    y: float
    name: str
    color: Any


def label_points(axes: Axes, labels: Sequence[Label]) -> None:
    """Write names beside points, the nearest place that is free; names for which there is none are left out.

    Call it when all else is drawn and the limits are final.
    """
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()  # only now is it known where on the figure the axes are
    inside = axes.get_window_extent()
    taken = [_around(axes, (label.x, label.y), _MARK) for label in labels] + list(_lines(axes))
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


def _lines(axes: Axes) -> Iterator[Bbox]:
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
