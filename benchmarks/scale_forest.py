"""A forest for scale_parts.py: trees that ask some questions each, the same ones of everybody."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from scale import CLASSES
from scale_parts import blocks, sizes


def write_forest(n: int, call: argparse.Namespace, path: Path) -> None:
    """A forest, whose counts are of all people, as a file."""
    import numpy as np

    rng, domain = np.random.default_rng((call.seed, 7)), sizes()
    names, size = list(domain), list(domain.values())
    asked = [
        [(int(j), rng.permutation(size[j])[: size[j] // 2]) for j in rng.permutation(len(size))[: call.questions]]
        for _ in range(call.trees)
    ]
    counts = np.zeros((call.trees, 2**call.questions, CLASSES), np.int64)
    for codes, people, classes in blocks(n, call.seed):
        for t, questions in enumerate(asked):
            leaf = np.zeros(len(people), np.int64)
            for j, half in questions:
                leaf = 2 * leaf + np.isin(np.arange(size[j]), half)[codes[:, j]]
            counts[t] += np.bincount(leaf * CLASSES + classes, people, counts[t].size).astype(int).reshape(-1, CLASSES)
    labels = [f"c{x:02d}" for x in range(CLASSES)]
    trees = []
    for t, questions in enumerate(asked):
        nodes: list[dict[str, Any]] = []
        for i in range(1, 2 ** len(questions)):
            j, half = questions[i.bit_length() - 1]
            values = [f"{names[j]}-{v}" for v in range(size[j])]
            yes = [values[v] for v in sorted(half.tolist())]
            no = [value for value in values if value not in set(yes)]
            branches = [{"in": no, "child": str(2 * i)}, {"in": yes, "child": str(2 * i + 1)}]
            nodes.append({"id": str(i), "attribute": names[j], "branches": branches})
        for i, each in enumerate(counts[t], 2 ** len(questions)):
            said = {"label": labels[int(each.argmax())]}
            told = {"counts": dict(zip(labels, each.tolist(), strict=True))}
            nodes.append({"id": str(i), **(told if call.publish == "counts" else said)})
        trees.append({"nodes": nodes})
    attributes = [
        {"name": name, "type": "categorical", "values": [f"{name}-{v}" for v in range(k)]} for name, k in domain.items()
    ]
    target = {"name": "class", "classes": labels}
    document = {"format": "maxent/1", "target": target, "attributes": attributes, "trees": trees}
    path.write_text(json.dumps(document), encoding="utf-8")
