"""How time and memory of `maxent audit` grow with the number of leaves: python benchmarks/audit.py.

Releases are made up and written as they are drawn, so that making one takes less memory than reading it. Their trees
are full, ``binary`` (numeric thresholds) or ``multiway`` (attributes of 8 values), and come in two kinds:

counts   every leaf states how many records of each class it has
pruned   so does every inner node, and one leaf in ten was removed: differencing recovers it

Seconds are those of the processor for the command as a whole. The last line
of each kind has the growth exponents: slopes of the logarithm of the seconds, or the memory, over that of the leaves.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scale import aligned, exponents, spawn

CLASSES = ("no", "yes")
VALUES = 8
SHAPES = {"binary": 2, "multiway": VALUES}
KINDS = ("counts", "pruned")
COLUMNS = {"shape": "shape", "kind": "kind", "leaves": "leaves", "nodes": "nodes", "file": "file MB"} | {
    "command": "command s",
    "wall": "wall s",
    "mb": "peak MB",
    "homogeneous": "homogeneous",
    "recovered": "recovered",
}
FORMATS = {"file": ".0f", "command": ".2f", "wall": ".2f", "mb": ".0f"}
GROWING = ("command", "wall", "mb")


def write_release(path: Path, leaves: int, shape: str, kind: str, seed: int) -> int:
    """A full tree of about so many leaves, as a file; how many it has, removed ones included.

    Node i has the children ``width * i + 1`` to ``width * i + width``, so that the last nodes are the leaves.
    """
    import numpy as np

    width = SHAPES[shape]
    inner = max(1, math.ceil((leaves - 1) / (width - 1)))
    nodes = width * inner + 1
    rng = np.random.default_rng(seed)
    counts = np.zeros((nodes, len(CLASSES)), np.int64)
    counts[inner:] = rng.geometric(0.2, (nodes - inner, len(CLASSES))) - 1
    counts[inner:] *= rng.random((nodes - inner, len(CLASSES))) < 0.7
    for i in range(inner - 1, -1, -1):
        counts[i] = counts[width * i + 1 : width * i + width + 1].sum(axis=0)
    removed = np.zeros(nodes, bool)
    if kind == "pruned":
        removed[inner:] = rng.random(nodes - inner) < 0.1
        removed[-1] = False
    depth = math.ceil(math.log(nodes, width)) + 1
    if shape == "binary":
        attributes: list[dict[str, Any]] = [{"name": f"x{d}", "type": "numeric"} for d in range(depth)]
    else:
        values = [f"v{v}" for v in range(VALUES)]
        attributes = [{"name": f"x{d}", "type": "categorical", "values": values} for d in range(depth)]
    head = {"format": "maxent/1", "target": {"name": "y", "classes": CLASSES}, "attributes": attributes}
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(head)[:-1] + ', "trees": [{"nodes": [\n')
        lines = nodes_of(counts.tolist(), removed.tolist(), inner, width, kind == "pruned")
        file.write(next(lines))
        file.writelines(",\n" + line for line in lines)
        file.write("\n]}]}\n")
    return nodes - inner


def nodes_of(counts: list[list[int]], removed: list[bool], inner: int, width: int, stated: bool) -> Iterator[str]:
    """The nodes of a release, level by level."""
    depth, last = 0, 0
    for i, (no, yes) in enumerate(counts):
        if i > last:
            depth, last = depth + 1, width * last + width
        if removed[i]:
            continue
        numbers = f'"counts":{{"{CLASSES[0]}":{no},"{CLASSES[1]}":{yes}}}'
        if i >= inner:
            yield f'{{"id":"{i}",{numbers}}}'
            continue
        children = ["null" if removed[j] else f'"{j}"' for j in range(width * i + 1, width * i + width + 1)]
        cuts = [f'"le":{i % 7}.5', f'"gt":{i % 7}.5']
        tests = cuts if width == 2 else [f'"in":["v{v}"]' for v in range(width)]
        branches = ",".join(f'{{{test},"child":{child}}}' for test, child in zip(tests, children, strict=True))
        also = f",{numbers}" if stated else ""
        yield f'{{"id":"{i}","attribute":"x{depth}","branches":[{branches}]{also}}}'


def run(leaves: int, shape: str, kind: str, call: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """One release, and the command on it."""
    print(f"{leaves} leaves, {shape}, {kind} ...", file=sys.stderr, flush=True)
    path = folder / f"{leaves}.{shape}.{kind}.json"
    made = write_release(path, leaves, shape, kind, call.seed)
    options = ["--as-table", str(folder / "table.parquet")] if call.as_table else []
    said, used = spawn([sys.executable, "-m", "maxent", "audit", str(path), "--json", *options])
    found = json.loads(said)
    row = {
        "shape": shape,
        "kind": kind,
        "leaves": made,
        "nodes": made + math.ceil((made - 1) / (SHAPES[shape] - 1)),
        "file": path.stat().st_size / 1e6,
        "command": used["seconds"],
        "wall": used["wall"],
        "mb": used["mb"],
        "homogeneous": found["homogeneity"]["leaves"],
        "recovered": found["differencing"]["recovered"],
    }
    if not call.folder:
        path.unlink()
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000], metavar="N")
    parser.add_argument("--shapes", nargs="+", choices=list(SHAPES), default=list(SHAPES))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--as-table", action="store_true", help="write the anonymised table as well")
    parser.add_argument("--folder", type=Path, help="keep the releases there")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    call = parser.parse_args()
    series = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = call.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for shape in call.shapes:
            for kind in call.kinds:
                series.append([run(n, shape, kind, call, folder) for n in sorted(set(call.sizes))])
    if call.json:
        runs = [
            {"runs": rows, "exponents": exponents(rows, "leaves", GROWING) if len(rows) > 1 else None}
            for rows in series
        ]
        print(json.dumps({"series": runs}))
    else:
        print(aligned(series, COLUMNS, FORMATS, "leaves", GROWING))
    return 0


if __name__ == "__main__":
    sys.exit(main())
