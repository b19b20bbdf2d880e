"""Proportional fitting as anyone would write it: python benchmarks/proportional_fitting.py FOREST TABLE SECONDS.

A dense array of masses, people by class; each leaf of each tree in turn is scaled to its counts, then everybody to 1.
Prints, as JSON, how far it comes in so many processor seconds, of which reading is a part.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd


def leaves(nodes: list[dict[str, Any]], table: pd.DataFrame, classes: list[str]) -> list[tuple[np.ndarray, np.ndarray]]:
    """The rows of the table in each leaf of a tree, and its counts."""
    by_id, found = {node["id"]: node for node in nodes}, []

    def walk(node: dict[str, Any], rows: np.ndarray) -> None:
        if "branches" not in node:
            found.append((rows, np.array([node["counts"].get(c, 0) for c in classes], float)))
            return
        values = table[node["attribute"]].iloc[rows]
        for branch in node["branches"]:
            if "in" in branch:
                inside = values.isin(branch["in"])
            else:
                inside = values <= branch["le"] if "le" in branch else values > branch["gt"]
            walk(by_id[branch["child"]], rows[inside.to_numpy()])

    walk(nodes[0], np.arange(len(table)))
    return [(rows, counts) for rows, counts in found if len(rows)]


def main() -> int:
    release, people, seconds = json.loads(Path(sys.argv[1]).read_text()), pd.read_csv(sys.argv[2]), float(sys.argv[3])
    classes, names = release["target"]["classes"], list(people)
    table = people.groupby(names, sort=False).size().rename("w").reset_index()
    w = table["w"].to_numpy(float)
    trees = [leaves(tree["nodes"], table, classes) for tree in release["trees"]]
    masses, sweeps = np.repeat(w[:, None] / len(classes), len(classes), axis=1), 0
    while time.process_time() < seconds:
        for tree in trees:
            for rows, counts in tree:
                sums = masses[rows].sum(axis=0)
                masses[rows] *= np.divide(counts, sums, out=np.zeros(len(counts)), where=sums > 0)
        masses *= (w / masses.sum(axis=1))[:, None]
        sweeps += 1
    missed = max(np.abs(masses[r].sum(axis=0) - c).max() / c.sum() for tree in trees for r, c in tree)
    p = masses / w[:, None]
    entropy = -(masses * np.log(np.where(p > 0, p, 1.0))).sum() / w.sum()
    print(json.dumps({"sweeps": sweeps, "entropy": entropy, "max_violation": missed}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
