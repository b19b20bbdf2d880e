"""The figures of this folder's README.md, as SVG files that are the same whenever the numbers are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from papers.drawing import COLORS, finish, panels
from papers.waseda_2025.audit import BETAS, KS, PAIRS, SIZES, TREES, Grid
from papers.waseda_2025.privacy import curves

BETA_STYLE = dict(zip(BETAS, COLORS, strict=True))
EPSILONS = np.round(np.arange(0.1, 9.05, 0.1), 10).tolist()
NAMES = {"nursery": "Nursery", "mushroom": "Mushroom"}


def save_figures(audits: Mapping[str, Grid], folder: Path) -> None:
    """Draw delta against epsilon, and D_overall next to accuracy, by k and beta and by the number of trees."""
    folder.mkdir(parents=True, exist_ok=True)
    with panels(folder / "rdt_delta.svg", 2) as both:
        for axes, beta in zip(both, (0.1, 0.4), strict=True):
            _deltas(axes, beta)
    for name, grid in audits.items():
        with panels(folder / f"rdt_disclosure_{name}.svg", 2) as (left, right):
            for beta in BETAS:
                told = [grid[k, beta, TREES] for k in KS]
                label, color = f"beta {beta:g}", BETA_STYLE[beta]
                left.plot(KS, [t.divergence for t in told], color=color, marker="o", label=label)
                right.errorbar(
                    KS, [t.accuracy for t in told], [t.deviation for t in told], color=color, marker="o", label=label
                )
            for axes in (left, right):
                axes.set_xticks(KS)
            finish(left, "k", f"{NAMES[name]}, {TREES} trees: D_overall, nats", legend="x-small")
            finish(right, "k", f"{NAMES[name]}, {TREES} trees: test accuracy", legend="x-small")
    with panels(folder / "rdt_trees.svg", len(audits)) as all_axes:
        for axes, (name, grid) in zip(all_axes, audits.items(), strict=True):
            for (k, beta), marker in zip(PAIRS, "os^d", strict=True):
                values = [grid[k, beta, trees].divergence for trees in SIZES]
                axes.plot(SIZES, values, color=BETA_STYLE[beta], marker=marker, label=f"k {k}, beta {beta:g}")
            axes.set_xticks(SIZES)
            finish(axes, "trees", f"{NAMES[name]}: D_overall, nats", legend="x-small")


def _deltas(axes: Any, beta: float) -> None:
    """Delta of ten trees against their epsilon, on a logarithmic scale."""
    for k, color in zip((5, 10, 20), COLORS, strict=False):
        for (how, points), style in zip(curves(k, beta, EPSILONS), ("--", "-"), strict=True):
            axes.plot(list(points), list(points.values()), style, color=color, label=f"k {k}, {how}")
    axes.set_yscale("log")
    axes.set_ylim(1e-28, 2)
    finish(axes, "epsilon of ten trees, nats", f"delta of ten trees, beta {beta:g}", zero=False, legend="x-small")
