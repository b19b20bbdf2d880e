"""Plots of several releases side by side."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from maxent.plotting.bars import WRITTEN, draw_bars, shown_measures
from maxent.plotting.curves import draw_divergences, draw_posteriors
from maxent.plotting.figures import SIZE, check_kind, missing, save_plot
from maxent.plotting.tradeoff import accuracy_of, draw_tradeoff

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from maxent.disclosure.individuals import Individuals


class Compared(Protocol):
    """The rows of a comparison, and the individuals behind each of them; see `maxent.Comparison`."""

    @property
    def rows(self) -> Sequence[Mapping[str, Any]]: ...

    @property
    def people(self) -> Sequence[Individuals]: ...


KINDS = ("bars", "tradeoff", "posterior", "divergence")
"""The first is the default; ``tradeoff`` and ``divergence`` need a truth."""

_BAR = 0.2
"""Inches that a bar with its number takes."""

_NAMES = 2.2
"""Inches that the names of lines take."""


def check_comparison_kind(kind: str, *, truth: bool) -> None:
    """Refuse an unknown kind of plot, and a kind that needs a truth where there is none.

    Raises
    ------
    InvalidInput
        Naming what there is, or what is missing.
    """
    check_kind(kind, KINDS)
    if kind in ("tradeoff", "divergence") and not truth:
        raise missing("truth", "the confidential data, which divergences need", "none")


def check_comparison_plot(kind: str, comparison: Compared) -> None:
    """Refuse, besides, what some comparison has not: an accuracy to trade off, the individuals for curves of them.

    Raises
    ------
    InvalidInput
        Naming what is missing.
    """
    check_comparison_kind(kind, truth="divergence" in comparison.rows[0])
    if kind == "tradeoff":
        accuracy_of(comparison.rows)
    elif kind != "bars" and len(comparison.people) != len(comparison.rows):
        raise missing("people", "the individuals of every release, as `maxent.compare` keeps them", "none")
    elif kind == "divergence" and any(people.divergence is None for people in comparison.people):
        raise missing("people", "the divergence of every individual, which is not kept of people in parts", "none")


def draw_comparison(axes: Axes, comparison: Compared, kind: str = KINDS[0]) -> None:
    """Draw one of `KINDS`; errors as in `check_comparison_plot`."""
    check_comparison_plot(kind, comparison)
    if kind == "bars":
        draw_bars(axes, comparison.rows)
    elif kind == "tradeoff":
        draw_tradeoff(axes, comparison.rows)
    else:
        people = dict(zip((row["release"] for row in comparison.rows), comparison.people, strict=True))
        (draw_posteriors if kind == "posterior" else draw_divergences)(axes, people)


def size_of(comparison: Compared, kind: str) -> tuple[float, float]:
    """Width and height (inches) that a plot takes: bars as many as there are, lines with their names beside them."""
    if kind != "bars":
        return SIZE[0] + _NAMES, SIZE[1]
    n = len(comparison.rows)
    bars = _BAR if n <= WRITTEN else _BAR / 2
    return SIZE[0], max(SIZE[1], 1.2 + bars * n * len(shown_measures(comparison.rows)) + 0.1 * n)


def save_comparison_plot(comparison: Compared, path: str | os.PathLike[str], kind: str = KINDS[0]) -> None:
    """Write the plot to a file, by suffix; errors as in `check_comparison_plot` and `save_plot`."""
    check_comparison_plot(kind, comparison)
    save_plot(lambda figure: draw_comparison(figure.add_subplot(), comparison, kind), path, size_of(comparison, kind))
