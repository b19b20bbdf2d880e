"""How error-risk pruning grows with the nodes of a tree: python benchmarks/erp.py.

Random binary trees over numeric attributes, with random counts of two classes. ``random`` trees split a leaf picked at
random again and again, so that they are a few times as deep as the logarithm of their nodes; ``chain`` trees cut off a
leaf at every node, which is the worst for the rule ``literal``: every branch that is pruned changes the ratios of all
above it.

Seconds are those of the processor, of measuring every node and of finding out what either rule prunes (which measures,
too). The last line of each shape has the growth exponents: the slope of the logarithm of the seconds over that of the
nodes.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np

from maxent.models.defenses.error_risk import erp_cuts
from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree
from maxent.models.trees.reidentification import measure_risk

ATTRIBUTES = 6
RANGES = {f"a{j}": (0.0, 1.0) for j in range(ATTRIBUTES)}
PER_LEAF = 20


def grow(shape: str, leaves: int, seed: int) -> Release:
    """A tree with this many leaves, of `PER_LEAF` records on average, but of very different sizes."""
    rng = np.random.default_rng(seed)
    boxes: list[np.ndarray] = [np.array([[0.0, 1.0]] * ATTRIBUTES)]
    branches: dict[int, tuple[int, Branch, Branch]] = {}
    open_ends = [0]
    for _ in range(leaves - 1):
        at = int(rng.integers(len(open_ends))) if shape == "random" else -1
        open_ends[at], open_ends[-1] = open_ends[-1], open_ends[at]
        node, attribute, child = open_ends.pop(), int(rng.integers(ATTRIBUTES)), len(boxes)
        low, high = boxes[node][attribute]
        # Chains cut off a little only, or the rest would soon be too narrow for floats.
        cut = float(low + (high - low) * rng.uniform(*((0.2, 0.8) if shape == "random" else (0.0, 4 / leaves))))
        branches[node] = (attribute, Branch(f"n{child}", le=cut), Branch(f"n{child + 1}", gt=cut))
        for side in (0, 1):
            box = boxes[node].copy()
            box[attribute, 1 - side] = cut
            boxes.append(box)
        open_ends += [child, child + 1]
    sizes = rng.exponential(PER_LEAF, (len(boxes), 1))
    counts = rng.poisson(sizes * rng.dirichlet([0.5, 0.5], len(boxes))).tolist()

    def node(i: int) -> Node:
        if i in branches:
            attribute, *below = branches[i]
            return Node(f"n{i}", f"a{attribute}", tuple(below))
        return Node(f"n{i}", counts=dict(zip(("x", "z"), counts[i], strict=True)))

    attributes = tuple(Attribute(name, "numeric") for name in RANGES)
    return Release(Target("y", ("x", "z")), attributes, (Tree(tuple(map(node, range(len(boxes))))),))


def seconds(action: Callable[[], object]) -> float:
    begin = time.process_time()
    action()
    return time.process_time() - begin


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[1_000, 10_000, 100_000], metavar="M")
    parser.add_argument("--literal-chain", type=int, default=10_000, metavar="M", help="longest chain for `literal`")
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    call = parser.parse_args()
    for shape in ("random", "chain"):
        print(f"{shape:>8} {'nodes':>8} {'measure s':>10} {'twig s':>10} {'cuts':>7} {'literal s':>10} {'cuts':>7}")
        rows = []
        for nodes in sorted(call.nodes):
            release = grow(shape, (nodes + 1) // 2, call.seed)
            rules = ["twig", "literal"] if shape == "random" or nodes <= call.literal_chain else ["twig"]
            row = [seconds(lambda tree=release: measure_risk(tree, RANGES))]
            cells = [f"{row[0]:10.3f}"]
            for rule in rules:
                found: list[int] = []
                row.append(
                    seconds(lambda: found.append(len(erp_cuts(release, call.k, ranges=RANGES, rule=rule))))  # noqa: B023
                )
                cells.append(f"{row[-1]:10.3f} {found[0]:7d}")
            rows.append((len(release.trees[0].nodes), row))
            print(f"{'':8} {rows[-1][0]:8d} {' '.join(cells)}", flush=True)
        columns = [[(m, row[i]) for m, row in rows if len(row) > i] for i in range(3)]
        fits = [np.polyfit(*np.log(np.array(column).T), 1)[0] if len(column) > 1 else np.nan for column in columns]
        print(f"{'':17} {fits[0]:>9.2f}* {fits[1]:>9.2f}* {'':7} {fits[2]:>9.2f}*   * exponents of the growth")
    return 0


if __name__ == "__main__":
    sys.exit(main())
