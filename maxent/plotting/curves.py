"""Curves over the individuals: how many are known how well, and how far the best known are from the truth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.disclosure.inference import Individuals
from maxent.disclosure.measures import MEASURES
from maxent.models.defenses.method import CERTAIN
from maxent.plotting.figures import COLORS, legend_beside, name_of, people_axis, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DASHES = ("-", "--", ":", "-.")


def draw_posteriors(axes: Axes, people: Mapping[str, Individuals]) -> None:
    """Number of individuals with a class of at least a probability; a curve per release, named where there are several.

    It starts at the least that the largest probability can be, 1 / number of classes.
    """
    for i, (name, found) in enumerate(people.items()):
        probability, at_least = found.known_with()
        x, y = np.r_[1 / found.classes, probability, 1.0], np.r_[len(found), at_least, 0]
        label = f"{name_of(name)} ({found.certain:,} certain)"
        axes.plot(x, y, drawstyle="steps-pre", **_line(i), label=label)
    lowest, highest = axes.get_xlim()[0], max(len(found) for found in people.values())
    axes.set_xlim(min(lowest, 0.99), 1.01)
    axes.set_ylim(0, highest * 1.05)
    axes.set_xlabel("probability of the most likely class, at least")
    axes.set_ylabel(MEASURES["certain"].unit)
    people_axis(axes.yaxis)
    if len(people) > 1:
        legend_beside(axes, f"certain: {CERTAIN} or more")
    else:
        (only,) = people.values()
        if only.certain:
            axes.plot(1.0, only.certain, "o", color=COLORS[1], clip_on=False, zorder=3)
        axes.set_title(f"{only.certain:,} of {len(only):,} individuals are certain", loc="left", fontsize="medium")
    tidy(axes)


def draw_divergences(axes: Axes, people: Mapping[str, Individuals]) -> None:
    """Mean divergence of the K most disclosed individuals against K; a curve per release, which need a truth."""
    measure = MEASURES["divergence"]
    for i, (name, found) in enumerate(people.items()):
        k, mean = found.mean_of_top()
        known = np.isfinite(mean)
        overall = f"{measure.text(mean[-1])} {measure.unit}" if known[-1] else "infinite"
        axes.plot(k[known], mean[known], **_line(i), label=f"{name_of(name)} ({overall})")
        axes.plot(k[known][-1:], mean[known][-1:], "o", color=_line(i)["color"], markersize=5)
        if len(people) == 1:
            axes.set_title(f"overall divergence: {overall}", loc="left", fontsize="medium")
    axes.set_xscale("log")
    axes.set_xlim(0.8, 1.25 * max(len(found) for found in people.values()))
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.minorticks_off()
    people_axis(axes.xaxis)
    axes.set_xlabel("K (individuals)")
    axes.set_ylabel(f"mean divergence of the K most disclosed, {measure.unit}")
    if len(people) > 1:
        legend_beside(axes, "overall divergence")
    tidy(axes)


def _line(i: int) -> dict[str, Any]:
    """The look of the i-th line: colors first, then also dashes, so that many can be told apart."""
    return {"color": COLORS[i % len(COLORS)], "linestyle": _DASHES[i // len(COLORS) % len(_DASHES)]}
