"""All defenses side by side: the tables and the figure of docs/defenses.md, from what a sweep has found.

    MAXENT_DATA=/path/to/data maxent sweep examples/studies/defenses.toml -o results/defenses --jobs 2
    PYTHONPATH=examples python -m papers.defenses [--results results/defenses] [FOLDER]

puts its tables into the page FOLDER/defenses.md (default: docs) and draws FOLDER/figures/defenses.svg. Words outside of
the tables are left alone. Numbers are means over the seeds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxent.models.files.output import write_text
from papers.drawing import panels
from papers.study_files import ROOT
from papers.tables import fill, table

if TYPE_CHECKING:
    from pandas import DataFrame

DATA = {"adult": "Adult", "nursery": "Nursery", "mushroom": "Mushroom"}
KS = (2, 5, 10, 20, 50, 100)
MEASURES: dict[str, Callable[[float], str]] = {
    "test_accuracy": "{:.3f}".format,
    "divergence": "{:.3f}".format,
    "certain": "{:.0f}".format,
    "homogeneous_individuals": "{:.0f}".format,
    "max_posterior": "{:.3f}".format,
}
"""Column of the results -> how the page writes it. Leaves of one class are shown of Adult alone: elsewhere all who are
certain are in them."""

SERIES = {
    "prune-leaf": ("prune-leaf", "#1f5fa8", "o"),
    "prune-parent": ("prune-parent", "#c8553d", "s"),
    "kadet id3": ("kadet, ID3", "#588157", "^"),
    "kadet c45": ("kadet, C4.5", "#9aa5b1", "D"),
    "rdt 0.1": ("rdt, beta 0.1", "#8e6c8a", "v"),
    "rdt 0.4": ("rdt, beta 0.4", "#d9a441", "<"),
    "rdt 0.8": ("rdt, beta 0.8", "#4f9d9d", ">"),
}
"""Defense -> its label, colour and marker. ``erp`` publishes what ``prune-parent`` does, and is left out."""


def named(results: DataFrame) -> DataFrame:
    """The results with the column ``defense``: the method with what it was varied by."""
    which = {"kadet": results["inducer"], "none": results["inducer"], "rdt": results["beta"].astype(str)}
    defense = results["method"]
    for method, variant in which.items():
        defense = defense.where(results["method"] != method, method + " " + variant.astype(str))
    return results.assign(defense=defense)


def tables(results: DataFrame) -> dict[str, str]:
    """A table per data set and measure: a row per defense, a column per k."""
    found = {}
    for data in DATA:
        here = results[results["data"] == data]
        plain = here[here["k"].isna()].groupby("defense")
        for measure, written in MEASURES.items():
            if measure == "homogeneous_individuals" and data != "adult":
                continue
            means = here[here["k"].notna()].pivot_table(measure, "defense", "k", "mean")
            rows = [[name, *[written(value)] + [""] * (len(KS) - 1)] for name, value in plain[measure].mean().items()]
            rows += [[name, *(written(means.loc[name, k]) for k in KS)] for name in SERIES]
            if measure == "max_posterior":
                rows = [row for row in rows if {*row[1:]} - {written(1), ""}]
            found[f"{data}-{measure}"] = table(["", *(f"k = {k}" for k in KS)], rows)
    return found


def summary(results: DataFrame) -> Iterator[list[str]]:
    """For each data set and defense: the most accurate release that leaves nobody certain, and what it costs."""
    for data, title in DATA.items():
        here = results[results["data"] == data]
        before = here[here["defense"] == "none cart"]
        yield [title, "none cart", "", *(_cells(before)), ""]
        for name in SERIES:
            ours = here[here["defense"] == name]
            quiet = ours.groupby("k").filter(lambda runs: runs["certain"].max() == 0)
            if not len(quiet):
                yield [title, name, f"none up to {KS[-1]}", "", "", "", ""]
                continue
            k = quiet.groupby("k")["test_accuracy"].mean().idxmax()
            best = quiet[quiet["k"] == k]
            price = best["test_accuracy"].mean() - before["test_accuracy"].mean()
            yield [title, name, f"{k:.0f}", *_cells(best), f"{price:+.3f}"]


def _cells(runs: DataFrame) -> list[str]:
    means = runs[["test_accuracy", "divergence", "certain"]].mean()
    return [f"{means['test_accuracy']:.3f}", f"{means['divergence']:.3f}", f"{means['certain']:.0f}"]


def draw(results: DataFrame, path: Path) -> None:
    """Accuracy against D_overall, a plot for each data set, points of one defense joined by k."""
    with panels(path, len(DATA)) as plots:
        for axes, (data, title) in zip(plots, DATA.items(), strict=True):
            here = results[results["data"] == data]
            for name, (label, color, marker) in SERIES.items():
                means = here[here["defense"] == name].groupby("k")[["divergence", "test_accuracy"]].mean()
                axes.plot(means["divergence"], means["test_accuracy"], color=color, marker=marker, label=label)
            plain = here[here["defense"] == "none cart"][["divergence", "test_accuracy"]].mean()
            axes.plot(*plain, color="black", marker="*", markersize=9, linestyle="", label="none, CART")
            _label(axes, title)
        plots[0].legend(frameon=False, fontsize="x-small", loc="lower left")


def _label(axes: Any, title: str) -> None:
    axes.set_title(title, loc="left", fontsize="medium")
    axes.set_xlabel("D_overall, nats (more: less is disclosed)")
    axes.set_ylabel("test accuracy")
    axes.grid(color="0.93")
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def main() -> int:
    import pandas as pd

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "docs", metavar="FOLDER")
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "defenses", metavar="FOLDER")
    call = parser.parse_args()
    page = call.folder / "defenses.md"
    try:
        text = page.read_text(encoding="utf-8")
        results = named(pd.read_parquet(call.results / "results.parquet"))
    except OSError as error:
        print(error, file=sys.stderr)
        return 2
    head = ["data", "defense", "k", "test accuracy", "D_overall", "certain", "price"]
    unsolved = results[results["status"] != "optimal"]
    rows = [[DATA[row.data], row.defense, f"{row.k:.0f}", str(row.seed), row.status] for row in unsolved.itertuples()]
    found = {"summary": table(head, list(summary(results))), **tables(results)}
    found["unsolved"] = table(["data", "defense", "k", "seed", "status"], rows)
    write_text(page, fill(text, found), public=True)
    (call.folder / "figures").mkdir(exist_ok=True)
    draw(results, call.folder / "figures" / "defenses.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
