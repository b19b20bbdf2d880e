"""The figures of this folder's README.md, as SVG files that are the same whenever the numbers are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from papers.drawing import COLORS, panels
from papers.zhu_2010.page import Results
from papers.zhu_2010.protocol import KNOWLEDGE
from papers.zhu_2010.published import FIGURE_7

MOST = 500
"""The largest K of Figure 8."""


def save_figures(results: Results, folder: Path) -> None:
    """Draw everything: by knowledge (Figs 3, 4, 6), by size, the K largest differences (Fig. 8), and pruned trees."""
    folder.mkdir(parents=True, exist_ok=True)
    with panels(folder / "disclosure_knowledge.svg", len(results.trees)) as plots:
        for axes, tree in zip(plots, results.trees, strict=True):
            _by_knowledge(axes, results, tree)
    with panels(folder / "disclosure_size.svg", 2) as plots:
        for axes, (impurity, title) in zip(plots, {"gini": "Gini", "entropy": "information gain"}.items(), strict=True):
            _by_size(axes, results, impurity, title)
    with panels(folder / "disclosure_topk.svg", 2) as plots:
        _top_k(plots[0], results, "fall", "KL2 - KL1: nearer to the truth, nats")
        _top_k(plots[1], results, "rise", "KL1 - KL2: further away, nats")
    with panels(folder / "disclosure_defenses.svg", len(results.trees)) as plots:
        for axes, tree in zip(plots, results.trees, strict=True):
            _defended(axes, results, tree)


def _by_knowledge(axes: Any, results: Results, tree: str) -> None:
    """A bar for each kind of knowledge, what is told by the choice of splits beside what leaves state."""
    stated = [name for name in KNOWLEDGE if "splits" not in name]
    place = np.arange(len(stated))[::-1]
    for shift, color, splits in ((0.2, COLORS[0], ""), (-0.2, COLORS[1], ", splits")):
        overall = [results.found[tree, name + splits].overall for name in stated]
        label = "with the choice of splits" if splits else "leaves only"
        axes.barh(place + shift, overall, 0.36, color=color, label=label)
        for y, value in zip(place + shift, overall, strict=True):
            axes.text(value + 0.02, y, f"{value:.3f}", va="center", fontsize="small", color="0.25")
    axes.set_yticks(place, stated)
    axes.set_xlim(0, 1.9)
    axes.set_title(f"{tree}: D_overall, nats", loc="left", fontsize="medium")
    axes.grid(axis="x", color="0.93")
    _plain(axes)
    axes.legend(frameon=False, fontsize="small", loc="lower right")


def _by_size(axes: Any, results: Results, impurity: str, title: str) -> None:
    """D_overall against leaves, the trees of all sizes that were grown by one measure."""
    sizes = [found for (measure, _), found in results.by_size.items() if measure == impurity]
    leaves = [size.leaves for size, _ in sizes]
    labels = {
        "rates": "rates",
        "rates, splits": "rates, splits",
        "floor": "rates, splits, floor 0.001",
        "counts, splits": "counts, splits",
    }
    for (known, label), color, marker in zip(labels.items(), COLORS, "os^d", strict=True):
        overall = [found[known].overall for _, found in sizes]
        axes.plot(leaves, overall, color=color, marker=marker, label=label)
    axes.set_xscale("log")
    axes.set_xticks([500, 1000, 2000, 3000])
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_ylim(0, 1.2)
    axes.set_xlabel("leaves with records")
    axes.set_title(f"{title}: D_overall, nats", loc="left", fontsize="medium")
    axes.grid(axis="y", color="0.93")
    _plain(axes)
    axes.legend(frameon=False, fontsize="small", ncols=2, loc="upper right")


def _top_k(axes: Any, results: Results, side: str, title: str) -> None:
    """Means of the K largest changes, and those that follow from the paper's Figure 7."""
    ks = np.arange(1, MOST + 1)
    for tree, color, style in zip(results.trees, COLORS, ("-", "--", "-."), strict=False):
        means = [results.top(tree, int(k), side) for k in ks]
        axes.plot(ks, means, color=color, linestyle=style, label=tree)
    if side == "fall":
        published = [float(row[0]) for row in FIGURE_7]
        means = np.cumsum(published) / np.arange(1, len(published) + 1)
        axes.plot(np.arange(1, 11), means, "o", color="0.2", markersize=2.5, label="published, information gain")
    axes.set_xlabel("K")
    axes.set_ylim(bottom=0)
    axes.set_title(f"mean of the K largest {title}", loc="left", fontsize="medium")
    axes.grid(axis="y", color="0.93")
    _plain(axes)
    axes.legend(frameon=False, fontsize="small")


def _defended(axes: Any, results: Results, tree: str) -> None:
    """Test accuracy against D_overall with counts published, from the tree as it is to larger k."""
    methods = dict.fromkeys(method for _, method, _ in results.defended if method != "none")
    for method, color, marker in zip(methods, COLORS, "os", strict=False):
        chain = [
            found for (name, how, _), found in results.defended.items() if name == tree and how in ("none", method)
        ]
        overall, accuracy = [found["counts"].overall for _, found in chain], [size.test_accuracy for size, _ in chain]
        axes.plot(overall, accuracy, color=color, marker=marker, label=method)
    size, found = results.defended[tree, "none", 1]
    axes.plot(found["counts"].overall, size.test_accuracy, "D", color="0.2", markersize=6, label="as it is")
    axes.set_xlim(0, 0.8)
    axes.set_ylim(0.32, 0.42)
    axes.set_xlabel("D_overall with counts published, nats")
    axes.set_title(f"{tree}: test accuracy", loc="left", fontsize="medium")
    axes.grid(axis="y", color="0.93")
    _plain(axes)
    axes.legend(frameon=False, fontsize="small", loc="lower left")


def _plain(axes: Any) -> None:
    """No frame on the sides that carry no numbers."""
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
