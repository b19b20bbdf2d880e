"""Plots of an `maxent.results.estimate.Estimate`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from maxent.disclosure.inference import NodeDisclosure, disclosed_by_node
from maxent.plotting.figures import check_kind, missing, name_of, people_axis, save_plot, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from maxent.disclosure.inference import Inference

# The first is the default; ``divergence`` needs a truth.
KINDS = ("leaves", "posterior", "divergence")


def check_estimate_plot(kind: str, *, truth: bool) -> None:
    """Refuse an unknown kind of plot, and a kind that needs a truth where there is none."""
    check_kind(kind, KINDS)
    if kind == "divergence" and not truth:
        raise missing("truth", "the confidential data, which divergences need", "none")


def draw_estimate(axes: Axes, result: Inference, kind: str = KINDS[0], tree: int = 0) -> None:
    """Draw one of `KINDS`; errors as in `check_estimate_plot`."""
    check_estimate_plot(kind, truth=result.disclosure.individual is not None)
    if kind == "leaves":
        draw_leaves(axes, result, tree)
        return
    from maxent.disclosure.inference import Individuals
    from maxent.plotting.curves import draw_divergences, draw_posteriors

    if kind == "posterior":
        draw_posteriors(axes, {"": Individuals.of(result)})
    else:
        draw_divergences(axes, {"": Individuals.of(result)})


def save_estimate_plot(result: Inference, path: str | os.PathLike[str], kind: str = KINDS[0]) -> None:
    """Write the plot to a file, by suffix; errors as in `check_estimate_plot` and `save_plot`."""
    save_plot(lambda figure: draw_estimate(figure.add_subplot(), result, kind), path)


# Disclosure leaf by leaf: a block for each, its width the individuals, its height their largest posterior.

# Leaves up to which lines part the blocks; more lines would cover them.
PARTED = 60
# Share of the individuals from which on a block is wide enough for the name of its leaf, turned by 90 degrees.
NAMED = 0.035
# What is known without the release, if less than this: then names stand above that line, else below.
_LOW = 0.25

# Certain individuals of a leaf -> color; certain is a class of probability 0.999 or more.
_CERTAIN = (
    ("nobody in the leaf is certain", "#0072b2"),
    ("some are certain", "#e69f00"),
    ("all are certain", "#d55e00"),
)


def draw_leaves(axes: Axes, result: Inference, tree: int = 0) -> None:
    """The leaves of a tree side by side, from the most to the least disclosed, removed ones included.

    A block is as high as the mean largest posterior of its individuals: the share of right guesses among them. Somebody
    whom private attributes may send to several leaves counts in each of them.
    """
    trees = result.program.release.trees
    if not 0 <= tree < len(trees):
        raise missing("tree", f"a number from 0 to {len(trees) - 1}", str(tree))
    nodes = trees[tree].nodes
    places = disclosed_by_node(result, tree)
    leaves = [found for found in places if found.individuals and (found.id is None or nodes[found.place].is_leaf)]
    leaves.sort(key=lambda found: (-(found.vulnerability or 0.0), -found.individuals, found.place))
    height = np.array([found.vulnerability for found in leaves], np.float64)
    edges = np.append(0, np.cumsum([found.individuals for found in leaves]))
    kind = np.array([_kind(found) for found in leaves])
    found = result.disclosure
    uniform = 1 / result.program.n_classes
    before = float(found.measures.get("base_rate", uniform))
    for i, (label, color) in enumerate(_CERTAIN):
        if (kind == i).any():
            n = int((kind == i).sum())
            text = f"{label} ({n:,} {'leaf' if n == 1 else 'leaves'})"
            axes.stairs(np.where(kind == i, height, 0.0), edges, fill=True, color=color, linewidth=0, label=text)
    if len(leaves) <= PARTED:
        axes.vlines(edges[1:-1], 0, np.maximum(height[1:], height[:-1]), color="white", linewidth=0.7)
        _name(axes, leaves, edges, 0.02 if before > _LOW else before + 0.02)
    if "base_rate" in found.measures:
        axes.axhline(before, color="black", linestyle="--", linewidth=1, label=f"base rate {before:.3g}")
    axes.axhline(uniform, color="black", linestyle=":", linewidth=1, label=f"uniform guess {uniform:.3g}")
    axes.set_xlim(0, edges[-1])
    axes.set_ylim(0, 1)
    several = edges[-1] > result.program.individuals  # where only private attributes say who is where
    who = "individuals who can be in it" if several else "individuals"
    axes.set_xlabel(f"{who}, by leaf from the most to the least disclosed")
    axes.set_ylabel("mean probability of their most likely class")
    people_axis(axes.xaxis)
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False, fontsize="small")
    tidy(axes)


def _name(axes: Axes, leaves: Sequence[NodeDisclosure], edges: npt.NDArray[np.int64], bottom: float) -> None:
    """The names of leaves in the blocks that are wide enough, from some height on."""
    for found, left, right in zip(leaves, edges, edges[1:], strict=False):
        if right - left >= NAMED * edges[-1]:
            text = "removed" if found.id is None else name_of(found.id, 20)
            place: Any = {"rotation": 90, "ha": "center", "va": "bottom"}
            axes.text((left + right) / 2, bottom, text, color="white", fontsize="small", **place)


def _kind(found: NodeDisclosure) -> int:
    """Row of `_CERTAIN`."""
    return 2 if found.certain == found.individuals else int(found.certain > 0)
