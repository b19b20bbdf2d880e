"""Children lead down: links that are no tree are refused before anybody walks along them."""

from pathlib import Path

import numpy as np
import pytest
from test_models.test_r_forests import FRAME, GBM, LEVELS, LISTS, MASKS, TOLD

from maxent.models.errors import InvalidInput
from maxent.models.formats.assemble import check_tree
from maxent.models.formats.registry import convert_model
from maxent.models.formats.release_reader import Wanted
from maxent.models.reading import Reader

FILES = {
    "gbm, to the root": (GBM.replace("1,2.5,3,4,5", "1,2.5,0,4,5"), {"csplits.csv": "-1,1,1\n"}),
    "gbm, to itself": (GBM.replace("1,2.5,3,4,5", "1,2.5,2,4,5"), {"csplits.csv": "-1,1,1\n"}),
    "gbm, shared": (GBM.replace("1,2.5,3,4,5", "1,2.5,1,4,5"), {"csplits.csv": "-1,1,1\n"}),
    "ranger, to the root": (LISTS.replace("2,3,4,1", "2,0,4,1"), {}),
    "ranger, to itself": (LISTS.replace("2,3,4,1", "2,2,4,1"), {}),
    "randomForest, to the root": (MASKS.replace('4,5,"x"', '1,5,"x"'), {}),
    "randomForest, to itself": (MASKS.replace('4,5,"x"', '2,5,"x"'), {}),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("known", [TOLD, {"train": FRAME.drop(columns="Y")}, {}], ids=["train", "columns", "nothing"])
def test_a_table_whose_children_do_not_lead_down_is_refused(tmp_path: Path, name: str, known: dict) -> None:
    text, beside = FILES[name]
    for file, content in {"tree1.csv": text, "levels.csv": LEVELS, **beside}.items():
        (tmp_path / file).write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInput):
        convert_model(tmp_path, Wanted(**known, parameters={"base": "0.5", "rate": "0.1"}), Reader())


@pytest.mark.parametrize(
    ("parent", "child", "wrong", "found"),
    [
        ([0, 1], [1, 0], "n0", "2 of them"),
        ([0, 0], [1, 1], "n1", "2 of them"),
        ([0, 2], [1, 2], "n2", "a cycle"),
        ([0, 2, 3], [1, 3, 2], "n2", "a cycle"),
        ([0], [2], "n1", "none"),
    ],
)
def test_what_is_wrong_with_links_is_named(parent: list[int], child: list[int], wrong: str, found: str) -> None:
    ids = [f"n{i}" for i in range(max(parent + child) + 1)]
    with pytest.raises(InvalidInput, match=f"node '?{wrong}'?.*{found}"):
        check_tree("it", np.array(parent), np.array(child), ids)


def test_a_path_of_a_million_nodes_is_a_tree() -> None:
    n = 10**6
    order = np.random.default_rng(0).permutation(np.arange(1, n))
    path = np.concatenate([[0], order])
    check_tree("it", path[:-1], path[1:], range(n))  # type: ignore[arg-type]
