"""Draw the figures of docs/plots.md: python examples/plots.py [OUT_DIR].

The tree of 442 diabetes patients that examples/diabetes.py publishes, and what is left of it when it is pruned until
no leaf has fewer than k patients, in two ways.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import maxent
from maxent.models.defenses.pruning import prune_leaf, prune_parent
from maxent.plotting.comparisons import save_comparison_plot
from maxent.plotting.figures import save_estimate_plot

sys.path.append(str(Path(__file__).parent))

import diabetes

KS = (8, 10, 20, 50)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", nargs="?", type=Path, default=Path("docs/figures"), metavar="OUT_DIR")
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as folder:
        diabetes.publish(Path(folder))
        draw(Path(folder), out)


def draw(data: Path, out: Path) -> None:
    """Draw the tree in the folder ``data``, and pruned trees."""
    qi, truth = data / "qi.csv", data / "truth.csv"
    tree = maxent.load_release(data / "tree.json")
    releases = {"before": tree}
    for method in (prune_leaf, prune_parent):
        releases |= {f"{method.__name__} k={k}": method(tree, k) for k in KS}
    result = maxent.estimate(tree, qi, truth)
    comparison = maxent.compare(releases, qi, truth)
    before_and_after = maxent.compare({name: releases[name] for name in ("before", "prune_parent k=10")}, qi, truth)

    out.mkdir(parents=True, exist_ok=True)
    for kind in ("leaves", "posterior"):
        save_estimate_plot(result, out / f"plots_{kind}.svg", kind)
    save_comparison_plot(comparison, out / "plots_tradeoff.svg", "tradeoff")
    for kind in ("bars", "divergence"):
        save_comparison_plot(before_and_after, out / f"plots_{kind}.svg", kind)


if __name__ == "__main__":
    main()
