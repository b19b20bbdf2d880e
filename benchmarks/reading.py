"""How time and memory of reading a release grow with its nodes: python benchmarks/reading.py.

Releases are forests of full trees of 1,001 nodes with binary splits, and single trees of as many nodes. All nodes
state how many records of each class they have, those of a forest about the same records. Seconds are those of the
processor: for a process that reads the release and does nothing else, and for `maxent audit` as a whole. With
--carefully they are read as a release is that has anything wrong in it.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

from audit import CLASSES, nodes_of
from scale import aligned, exponents, spawn

TREE = 1_001
"""Nodes of a tree of a forest."""

COLUMNS = {"shape": "shape", "trees": "trees", "nodes": "nodes", "file": "file MB"} | {
    "read": "read s",
    "read_mb": "peak MB",
    "audit": "audit s",
    "audit_mb": "peak MB",
}
FORMATS = {"file": ".0f", "read": ".2f", "read_mb": ".0f", "audit": ".2f", "audit_mb": ".0f"}

GROWING = ("read", "read_mb", "audit", "audit_mb")

READ = """
import sys
from maxent.models.formats.maxent_json import read
from maxent.models.formats.registry import load_release
if sys.argv[2:]:
    read.LARGE = float("inf")
load_release(sys.argv[1])
"""


def write_forest(path: Path, trees: int, nodes: int, seed: int) -> int:
    """Full trees of about so many nodes each, about the same records; how many nodes they have together."""
    import numpy as np

    rng = np.random.default_rng(seed)
    inner = max(1, nodes // 2)
    records = rng.geometric(0.2, (inner + 1, len(CLASSES))) - 1
    names = [f"x{d}" for d in range(math.ceil(math.log2(inner + 1)) + 1)]
    attributes = [{"name": name, "type": "numeric"} for name in names]
    head = {"format": "maxent/1", "target": {"name": "y", "classes": CLASSES}, "attributes": attributes}
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(head)[:-1] + ', "trees": [')
        for tree in range(trees):
            counts = np.zeros((2 * inner + 1, len(CLASSES)), np.int64)
            counts[inner:] = records[rng.permutation(inner + 1)]
            for i in range(inner - 1, -1, -1):
                counts[i] = counts[2 * i + 1] + counts[2 * i + 2]
            lines = nodes_of(counts.tolist(), [False] * len(counts), inner, 2, True)
            file.write(",\n" * (tree > 0) + '{"nodes": [\n' + ",\n".join(lines) + "\n]}")
        file.write("\n]}\n")
    return trees * (2 * inner + 1)


def run(shape: str, nodes: int, call: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """One release, read and audited."""
    trees = max(1, round(nodes / TREE)) if shape == "forest" else 1
    print(f"{nodes} nodes, {shape} ...", file=sys.stderr, flush=True)
    path = folder / f"{nodes}.{shape}.json"
    made = write_forest(path, trees, nodes // trees, call.seed)
    _, read = spawn([sys.executable, "-c", READ, str(path), *["carefully"] * call.carefully])
    row = {"shape": shape, "trees": trees, "nodes": made, "file": path.stat().st_size / 1e6}
    row |= {"read": read["seconds"], "read_mb": read["mb"]}
    if not call.carefully:
        _, audit = spawn([sys.executable, "-m", "maxent", "audit", str(path), "--json"])
        row |= {"audit": audit["seconds"], "audit_mb": audit["mb"]}
    path.unlink()
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000], metavar="N", help="nodes")
    parser.add_argument("--shapes", nargs="+", choices=["forest", "tree"], default=["forest", "tree"])
    parser.add_argument("--carefully", action="store_true", help="as releases with something wrong in them are read")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    call = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sizes = sorted(set(call.sizes))
        series = [[run(shape, n, call, Path(folder)) for n in sizes] for shape in call.shapes]
    titles = {key: title for key, title in COLUMNS.items() if key in series[0][0]}
    growing = [key for key in GROWING if key in titles]
    if call.json:
        runs = [
            {"runs": rows, "exponents": exponents(rows, "nodes", growing) if len(rows) > 1 else None} for rows in series
        ]
        print(json.dumps({"series": runs}))
    else:
        print(aligned(series, titles, FORMATS, "nodes", growing))
    return 0


if __name__ == "__main__":
    sys.exit(main())
