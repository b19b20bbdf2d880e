"""Readers of models take memory in proportion to the file."""

import json
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxent.models.formats.registry import convert_model
from maxent.models.formats.release_reader import Wanted
from maxent.models.reading import Reader

DEPTH = 13
MOST = 20.0  # Bytes for each byte of the file


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
        **{key: np.abs(numbers).tolist() for key in ("base_weights", "loss_changes", "sum_hessian")},
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


def binary(folder: Path) -> Path:
    """The same in UBJSON, whose numbers take four bytes and less."""

    def size(n: int) -> bytes:
        return b"L" + struct.pack(">q", n)

    def written(value: Any) -> bytes:
        if isinstance(value, str):
            return b"S" + size(len(value)) + value.encode()
        if isinstance(value, dict):
            return b"{" + b"".join(size(len(k)) + k.encode() + written(v) for k, v in value.items()) + b"}"
        if all(isinstance(item, (int, float)) for item in value):
            kind = ("d", ">f4") if any(isinstance(item, float) for item in value) else ("l", ">i4")
            return b"[$" + kind[0].encode() + b"#" + size(len(value)) + np.array(value).astype(kind[1]).tobytes()
        return b"[#" + size(len(value)) + b"".join(map(written, value))

    document = json.loads(scores(folder).read_text(encoding="utf-8"))
    (folder / "model.ubj").write_bytes(written({"learner": document["learner"]}))
    return folder / "model.ubj"


def lines(folder: Path) -> Path:
    """Complete trees of LightGBM, with all arrays that it writes."""
    n = 2**DEPTH
    inner = np.arange(n - 1)
    below = [np.where(2 * inner + side < n - 1, 2 * inner + side, ~(2 * inner + side - n + 1)) for side in (1, 2)]
    sizes = 2 ** (DEPTH - np.floor(np.log2(inner + 1)).astype(int))
    numbers = np.random.default_rng(0).normal(size=n).round(12)
    arrays = {
        **{"split_feature": inner % 5, "split_gain": numbers[1:], "threshold": numbers[1:]},
        **{"decision_type": np.full(n - 1, 10), "left_child": below[0], "right_child": below[1]},
        **{"leaf_value": numbers, "leaf_weight": np.abs(numbers), "leaf_count": np.ones(n, int)},
        **{"internal_value": numbers[1:], "internal_weight": np.abs(numbers[1:]), "internal_count": sizes},
    }
    tree = "\n".join(f"{key}={' '.join(map(str, value.tolist()))}" for key, value in arrays.items())
    head = (
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nobjective=binary sigmoid:1\n"
        f"feature_names={' '.join('abcde')}\nfeature_infos={' '.join(['[0:1]'] * 5)}\n"
    )
    trees = "".join(f"\nTree={i}\nnum_leaves={n}\nnum_cat=0\n{tree}\nshrinkage=0.1\n\n" for i in range(2))
    (folder / "model.txt").write_text(f"{head}{trees}\nend of trees\n", encoding="utf-8")
    return folder / "model.txt"


def levels(folder: Path) -> Path:
    """Oblivious trees of CatBoost, which indents what it writes."""
    n = 2**6
    splits = [{"border": i + 0.5, "float_feature_index": i % 5, "split_type": "FloatFeature"} for i in range(6)]
    tree = {"leaf_values": [(i + 0.1) / 7 for i in range(n)], "leaf_weights": list(range(n)), "splits": splits}
    columns = [{"feature_id": str(i), "feature_index": i, "flat_feature_index": i} for i in range(5)]
    document = {
        "features_info": {"float_features": columns},
        "model_info": {"params": {"loss_function": {"type": "Logloss"}}},
        "oblivious_trees": [tree] * 200,
    }
    (folder / "model.json").write_text(json.dumps(document, indent=2), encoding="utf-8")
    return folder / "model.json"


def table(folder: Path) -> Path:
    """A complete tree of R's randomForest, a line of which has few bytes."""
    n = 2 ** (DEPTH + 1) - 1
    cuts = np.random.default_rng(0).normal(size=n).round(6).tolist()
    rows = [
        f'"{i + 1}",{2 * i + 2},{2 * i + 3},"column{i % 5}",{cuts[i]},1,NA'
        if i < n // 2
        else f'"{i + 1}",0,0,NA,0,-1,"{"ab"[i % 2]}"'
        for i in range(n)
    ]
    head = '"","left daughter","right daughter","split var","split point","status","prediction"'
    (folder / "model.csv").write_text("\n".join([head, *rows, ""]), encoding="utf-8")
    return folder / "model.csv"


def cases(folder: Path) -> Path:
    """A complete tree of C5.0, with a leaf of missing values at each test."""
    lines = ['id="See5/C5.0 2.07 GPL Edition 2026-11-22"', 'entries="1"']

    def node(depth: int) -> None:
        if depth == DEPTH:
            lines.append('type="0" class="a" freq="1,0"')
            return
        size = 2 ** (DEPTH - depth)
        lines.append(f'type="2" class="a" freq="{size},0" att="column{depth}" forks="3" cut="{depth}.5"')
        lines.append('type="0" class="a"')
        node(depth + 1)
        node(depth + 1)

    node(0)
    (folder / "model.tree").write_text("\n".join([*lines, ""]), encoding="utf-8")
    return folder / "model.tree"


@pytest.mark.slow
@pytest.mark.parametrize("write", [text, scores, binary, lines, levels, table, cases])
def test_memory_is_in_proportion_to_the_file(write: Callable[[Path], Path], tmp_path: Path) -> None:
    path, wanted = write(tmp_path), Wanted(classes=("a", "b") if write in (table, cases) else None)
    convert_model(path, wanted, Reader())  # what is imported stays
    tracemalloc.start()
    try:
        found = convert_model(path, wanted, Reader())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sum(len(tree.leaves) for tree in found.release.trees) >= 2**DEPTH
    assert peak < MOST * path.stat().st_size, peak / path.stat().st_size
