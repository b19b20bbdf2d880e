"""The plots of `maxent.results.estimate.Estimate`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from maxent.plotting.figures import check_kind, missing, save_plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from maxent.disclosure.inference import Inference

KINDS = ("leaves", "posterior", "divergence")
"""The first is the default; ``divergence`` needs a truth."""


def check_estimate_plot(kind: str, *, truth: bool) -> None:
    """Refuse an unknown kind of plot, and a kind that needs a truth where there is none.

    Raises
    ------
    InvalidInput
        Naming what there is, or what is missing.
    """
    check_kind(kind, KINDS)
    if kind == "divergence" and not truth:
        raise missing("truth", "the confidential data, which divergences need", "none")


def draw_estimate(axes: Axes, result: Inference, kind: str = KINDS[0], tree: int = 0) -> None:
    """Draw one of `KINDS`; errors as in `check_estimate_plot`."""
    check_estimate_plot(kind, truth=result.disclosure.individual is not None)
    if kind == "leaves":
        from maxent.plotting.leaves import draw_leaves

        draw_leaves(axes, result, tree)
        return
    from maxent.disclosure.individuals import Individuals
    from maxent.plotting.curves import draw_divergences, draw_posteriors

    if kind == "posterior":
        draw_posteriors(axes, {"": Individuals.of(result)})
    else:
        draw_divergences(axes, {"": Individuals.of(result)})


def save_estimate_plot(result: Inference, path: str | os.PathLike[str], kind: str = KINDS[0]) -> None:
    """Write the plot to a file, by suffix; errors as in `check_estimate_plot` and `save_plot`."""
    save_plot(lambda figure: draw_estimate(figure.add_subplot(), result, kind), path)
