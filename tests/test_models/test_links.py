"""Links between nodes that are no tree: every reader of files that can have them refuses, and names the node."""

import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
from support.calls import refusal, refused
from support.paths import SEEDS
from test_models.test_onnx import STUMP, given, model, trees
from test_models.test_r_forests import FRAME, GBM, LEVELS, LISTS, MASKS, TOLD
from test_models.test_spark import rewrite, stage

from maxent.models.errors import InvalidInput
from maxent.models.formats.assemble import check_tree
from maxent.models.formats.registry import OWN, convert_model
from maxent.models.formats.release_reader import Wanted
from maxent.models.reading import Reader, Reading

Edit = Callable[[bytes], bytes]


def swap(*changes: tuple[str, str]) -> Edit:
    """Replace texts, each of which is there."""

    def edit(content: bytes) -> bytes:
        for old, new in changes:
            assert old.encode() in content
            content = content.replace(old.encode(), new.encode(), 1)
        return content

    return edit


def document(change: Callable[[Any], object]) -> Edit:
    """Change a document of JSON."""

    def edit(content: bytes) -> bytes:
        found = json.loads(content)
        change(found)
        return json.dumps(found).encode()

    return edit


def xgboost(**children: list[int]) -> Edit:
    return document(lambda found: found["learner"]["gradient_booster"]["model"]["trees"][0].update(children))


def ubjson(left: list[int], right: list[int]) -> Edit:
    def edit(content: bytes) -> bytes:
        for key, numbers in (("left_children", left), ("right_children", right)):
            at = content.index(key.encode()) + len(key) + len(b"[$l#L") + 8
            data = np.array(numbers, ">i4").tobytes()
            content = content[:at] + data + content[at + len(data) :]
        return content

    return edit


def dump(number: int) -> Edit:
    """Give another number to a node below the first one below the root of a nested dump of XGBoost."""

    def change(found: Any) -> None:
        above = found[0]["children"][0]
        above["yes"] = above["children"][1]["nodeid"] = number

    return document(change)


def treelite(node: int, child: int) -> Edit:
    return document(lambda found: found["trees"][0]["nodes"][node].update(left_child=child))


def skops(node: int, child: int) -> Edit:
    """Change the first child of a node in the one tree of a model."""

    def edit(content: bytes) -> bytes:
        made = BytesIO()
        with ZipFile(BytesIO(content)) as old, ZipFile(made, "w") as new:
            for name in old.namelist():
                data = old.read(name)
                if name.endswith(".npy"):
                    array = np.load(BytesIO(data), allow_pickle=False)
                    if array.dtype.names and "left_child" in array.dtype.names:
                        array = array.copy()
                        array["left_child"][node] = child
                        buffer = BytesIO()
                        np.save(buffer, array)
                        data = buffer.getvalue()
                new.writestr(name, data)
        assert made.getvalue() != content
        return made.getvalue()

    return edit


def onnx(true: list[int], false: list[int]) -> Edit:
    """A tree of two tests."""
    modes = ["BRANCH_LEQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF"]
    more = {key: [STUMP[key][0]] * 5 for key in ("nodes_treeids", "nodes_featureids", "nodes_values")}
    said = {**more, "nodes_nodeids": [0, 1, 2, 3, 4], "nodes_modes": modes}
    tree = trees(**said, nodes_truenodeids=true, nodes_falsenodeids=false)
    return lambda content: model([tree], [given("X", 1, 1)])


def spark(node: int, child: int) -> Callable[[Path], None]:
    return lambda folder: rewrite(stage(folder, 4), lambda rows: rows[node].update(leftChild=child))


def release(below: str, other: str) -> Edit:
    """A release of two tests, the second of which has these children; what nothing leads to is left out."""

    def split(name: str, *children: str) -> dict[str, Any]:
        branches = [{"values": [value], "child": child} for value, child in zip("01", children, strict=True)]
        return {"id": name, "attribute": "ab"[name == "n1"], "branches": branches}

    nodes = [split("n0", "n1", "n2"), split("n1", below, other), {"id": "n2"}, {"id": "n4"}]
    attributes = [{"name": name, "values": ["0", "1"]} for name in "ab"]
    target = {"name": "y", "classes": ["p", "q"]}
    found = {"format": "maxent/1", "target": target, "attributes": attributes, "trees": [{"nodes": nodes}]}
    return lambda content: json.dumps(found).encode()


# By reader: a seed, what makes of it a circle, a node below itself, and one below two others; which node is named.
LINKS: dict[str, tuple[str, Mapping[str, tuple[Callable[[Any], Any], str]]]] = {
    "maxent/1": ("xgboost-json.json", {"a circle": (release("n0", "n4"), "n[01]"),
        "itself": (release("n1", "n4"), "n1"), "shared": (release("n2", "n4"), "n[012]")}),
    "xgboost-json": ("xgboost-json.json", {"a circle": (xgboost(left_children=[1, 0, -1, -1, -1]), "0|1"),
        "itself": (xgboost(left_children=[1, 1, -1, -1, -1]), "1"),
        "shared": (xgboost(left_children=[1, 2, -1, -1, -1]), "2")}),
    "xgboost-ubj": ("xgboost-ubj.ubj", {"a circle": (ubjson([1, 0, -1, -1, -1], [2, 4, -1, -1, -1]), "0|1"),
        "itself": (ubjson([1, 1, -1, -1, -1], [2, 4, -1, -1, -1]), "1"),
        "shared": (ubjson([1, 2, -1, -1, -1], [2, 4, -1, -1, -1]), "2")}),
    "xgboost-dump": ("xgboost-dump.txt", {"a circle": (swap(("yes=4,no=3,missing=3", "yes=0,no=3,missing=3")), "0|1"),
        "itself": (swap(("yes=4,no=3,missing=3", "yes=1,no=3,missing=3")), "1"),
        "shared": (swap(("yes=4,no=3,missing=3", "yes=2,no=3,missing=3")), "2")}),
    "xgboost-dump-json": ("xgboost-dump-json.json",
        {"a circle": (dump(0), "0|1"), "itself": (dump(1), "1"), "shared": (dump(2), "2")}),
    "xgboost-table": ("xgboost-table.csv", {"a circle": (swap(("0-4,0-3,0-3", "0-0,0-3,0-3")), "0|1"),
        "itself": (swap(("0-4,0-3,0-3", "0-1,0-3,0-3")), "1"), "shared": (swap(("0-4,0-3,0-3", "0-2,0-3,0-3")), "2")}),
    "lightgbm-text": ("lightgbm-text.txt", {"a circle": (swap(("left_child=2 -2 -1", "left_child=2 0 -1")), "0|1"),
        "itself": (swap(("left_child=2 -2 -1", "left_child=2 1 -1")), "1"),
        "shared": (swap(("left_child=2 -2 -1", "left_child=2 2 -1")), "2")}),
    "lightgbm-table": ("lightgbm-table.csv", {"a circle": (swap(("0-L1,0-L2,0-S0", "0-S0,0-L2,0-S0")), "0-S[01]"),
        "itself": (swap(("0-L1,0-L2,0-S0", "0-S1,0-L2,0-S0")), "0-S1"),
        "shared": (swap(("0-L1,0-L2,0-S0", "0-L0,0-L2,0-S0")), "0-L0")}),
    "treelite-json": ("treelite-json.json",
        {"a circle": (treelite(1, 0), "0|1"), "itself": (treelite(1, 1), "1"), "shared": (treelite(1, 4), "4")}),
    "spark": ("spark", {"a circle": (spark(2, 0), "0|2"), "itself": (spark(2, 2), "2"), "shared": (spark(2, 1), "1")}),
    "graphviz": ("graphviz.dot", {"a circle": (swap(("1 -> 2 ;", "1 -> 0 ;")), "0|1"),
        "itself": (swap(("1 -> 2 ;", "1 -> 1 ;")), "1"), "shared": (swap(("1 -> 2 ;", "1 -> 4 ;")), "4")}),
    "skops": ("skops.skops",
        {"a circle": (skops(1, 0), "0|1"), "itself": (skops(1, 1), "1"), "shared": (skops(1, 4), "4")}),
    "onnx": ("onnx.onnx", {"a circle": (onnx([1, 0, 0, 0, 0], [2, 4, 0, 0, 0]), "0|1"),
        "itself": (onnx([1, 1, 0, 0, 0], [2, 4, 0, 0, 0]), "1"),
        "shared": (onnx([1, 2, 0, 0, 0], [2, 4, 0, 0, 0]), "2")}),
    "weka": ("weka.5.txt", {"a circle": (swap(("N1->N2", "N1->N0")), "N[01]"),
        "itself": (swap(("N1->N2", "N1->N1")), "N1"), "shared": (swap(("N1->N2", "N1->N4")), "N4")}),
    "r-forest": ("r-forest.csv", {"a circle": (swap(('"2",4,5', '"2",1,5')), "1|2"),
        "itself": (swap(('"2",4,5', '"2",2,5')), "2"), "shared": (swap(('"2",4,5', '"2",3,5')), "3")}),
}  # fmt: skip

TRAINED = Wanted(train=SEEDS / "train.csv", target="Salary")
WANTED = {
    "r-forest": replace(TRAINED, parameters={"levels": "sorted"}),
    "lightgbm-table": replace(TRAINED, parameters={"objective": "binary"}),
}

# Readers of files that cannot say that a node is below two others, or itself, and why.
NO_LINKS: dict[str, str] = {
    "lightgbm-json": "nested JSON",
    "catboost-json": "nested JSON, or a list of the tests of all depths",
    "pmml": "nested XML",
    "sacro-ml": "the file of another reader",
    "ydf": "depth first, each node says whether it is a leaf",
    "spark-text": "indented text",
    "export-text": "indented text",
    "c50-tree": "depth first, each node says how many are below it",
    "c50-text": "indented text",
    "rpart-frame": "node k is below k // 2",
    "rpart-print": "node k is below k // 2",
    "rpart-summary": "node k is below k // 2: which are its sons is said, too, but not read",
    "partykit-print": "indented text",
    "records": "a table without nodes",
    **dict.fromkeys(("maxent-statements/1", "glm", "glm-r", "glm-statsmodels"), "statements without nodes"),
    **dict.fromkeys(("weka-rules", "c50-rules", "corels", "imodels"), "rules without nodes"),
}


def test_every_reader_has_a_case_or_a_reason() -> None:
    assert sorted([*LINKS, *NO_LINKS]) == sorted(OWN)


@pytest.mark.parametrize("wrong", ["a circle", "itself", "shared"])
@pytest.mark.parametrize("name", LINKS)
def test_links_that_are_no_tree_are_refused_with_the_node(tmp_path: Path, name: str, wrong: str) -> None:
    seed, cases = LINKS[name]
    edit, node = cases[wrong]
    path = tmp_path / seed
    if (SEEDS / seed).is_dir():
        shutil.copytree(SEEDS / seed, path)
        edit(path)
    else:
        path.write_bytes(edit((SEEDS / seed).read_bytes()))
    said = str(refusal(convert_model, path, WANTED.get(name, Wanted()), Reader(Reading(format=name))))
    assert re.search(rf"node '?({node})'?\b", said), said


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
    refused(f"node '?{wrong}'?.*{found}", check_tree, "it", np.array(parent), np.array(child), ids)


def test_a_path_of_a_million_nodes_is_a_tree() -> None:
    n = 10**6
    path = np.concatenate([[0], np.random.default_rng(0).permutation(np.arange(1, n))])
    check_tree("it", path[:-1], path[1:], range(n))  # type: ignore[arg-type]
