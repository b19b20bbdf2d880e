"""Readers of models take memory in proportion to the file."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from maxent.models.formats.conversion import Wanted
from maxent.models.formats.registry import convert_model
from maxent.models.reading import Reader

DEPTH = 13
MOST = 20.0
"""Bytes for each byte of the file."""


def text(folder: Path) -> Path:
    """A complete tree of scikit-learn's text."""
    lines = []

    def node(depth: int, number: int) -> None:
        mark = "|   " * depth + "|--- "
        if depth == DEPTH:
            lines.append(
                f"{mark}weights: [{number % 7}.0000, {number % 5}.0000] class: {'ab'[number % 7 < number % 5]}"
            )
            return
        for sign in ("<= ", ">  "):
            lines.append(f"{mark}column_{depth} {sign}{number}.5000000000")
            node(depth + 1, 2 * number + (sign == ">  "))

    node(0, 1)
    (folder / "model.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "model.txt"


def scores(folder: Path) -> Path:
    """Complete trees of XGBoost, with all arrays that it writes."""
    n = 2 ** (DEPTH + 1) - 1
    inner = np.arange(n) < n // 2
    numbers = np.random.default_rng(0).normal(size=n).astype(np.float32).astype(str).astype(float)
    tree = {
        "left_children": np.where(inner, 2 * np.arange(n) + 1, -1).tolist(),
        "right_children": np.where(inner, 2 * np.arange(n) + 2, -1).tolist(),
        "parents": ((np.arange(n) - 1) // 2).tolist(),
        "split_indices": np.where(inner, np.arange(n) % 5, 0).tolist(),
        "split_conditions": numbers.tolist(),
        "split_type": [0] * n,
        "default_left": [1] * n,
        "tree_param": {"size_leaf_vector": "1"},
        **{key: numbers.tolist() for key in ("base_weights", "loss_changes", "sum_hessian")},
    }
    learner = {
        "attributes": {},
        "feature_names": [f"column_{i}" for i in range(5)],
        "feature_types": ["float"] * 5,
        "gradient_booster": {"name": "gbtree", "model": {"tree_info": [0, 0], "trees": [tree, tree]}},
        "learner_model_param": {"base_score": "5E-1", "num_class": "0", "num_feature": "5"},
        "objective": {"name": "binary:logistic"},
    }
    document = {"learner": learner, "version": [3, 2, 0]}
    (folder / "model.json").write_text(json.dumps(document, separators=(",", ":")), encoding="utf-8")
    return folder / "model.json"


@pytest.mark.slow
@pytest.mark.parametrize("write", [text, scores])
def test_memory_is_in_proportion_to_the_file(write: Callable[[Path], Path], tmp_path: Path) -> None:
    path = write(tmp_path)
    convert_model(path, Wanted(), Reader())  # what is imported stays
    tracemalloc.start()
    try:
        found = convert_model(path, Wanted(), Reader())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sum(len(tree.leaves) for tree in found.release.trees) >= 2**DEPTH
    assert peak < MOST * path.stat().st_size, peak / path.stat().st_size
