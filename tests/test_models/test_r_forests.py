"""Tables of ranger, randomForest and gbm: levels by their numbers, exchanged classes, and what is refused."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.models import read_model

from maxent.models.draws import Draws
from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.read import validate_release
from maxent.models.formats.registry import convert_model
from maxent.models.formats.release_reader import Converted, Wanted
from maxent.models.reading import Reader, Reading
from maxent.models.trees.predict import predict, predict_proba

FRAME = pd.DataFrame(
    {
        "c": ["blue", "green", "red", "red", "blue", "green"],
        "x": [1.5, 2.5, 3.5, 4.5, 5.5, 6.5],
        "Y": ["yes", "no", "no", "no", "yes", "yes"],
    }
)
TOLD = {"train": FRAME, "target": "Y"}
LEVELS = "values,ind\nred,c\ngreen,c\nblue,c\n"
RANGER = "nodeID,leftChild,rightChild,splitvarID,splitvarName,splitval,terminal,prediction\n"
LISTS = RANGER + '0,1,2,0,c,"2,3",FALSE,NA\n1,,,,,,TRUE,no\n2,3,4,1,x,5,FALSE,NA\n3,,,,,,TRUE,no\n4,,,,,,TRUE,yes\n'
MASKS = """"left daughter","right daughter","split var","split point","status","prediction"
2,3,"c",5,1,NA
4,5,"x",2.5,1,NA
0,0,NA,0,-1,"no"
0,0,NA,0,-1,"yes"
0,0,NA,0,-1,"no"
"""
GBM = """"SplitVar","SplitCodePred","LeftNode","RightNode","MissingNode","ErrorReduction","Weight","Prediction"
0,0,1,2,6,9.5,6,0
-1,-1.5,-1,-1,-1,0,2,-1.5
1,2.5,3,4,5,1.5,4,0.1
-1,0.75,-1,-1,-1,0,1,0.75
-1,0.25,-1,-1,-1,0,3,0.25
-1,0.1,-1,-1,-1,0,4,0.1
-1,-0.5,-1,-1,-1,0,6,-0.5
"""


def read(folder: Path, files: dict[str, str], name: str = "", **said: Any) -> Converted:
    for file, text in files.items():
        (folder / file).write_text(text, encoding="utf-8")
    return read_model(folder / name, **said)


def test_the_target_may_be_among_the_factors(tmp_path: Path) -> None:
    files = {"tree1.csv": LISTS, "levels.csv": LEVELS + "yes,Y\nno,Y\n"}
    found = read(tmp_path, files, "tree1.csv", **TOLD)
    assert [attribute.name for attribute in found.release.attributes] == ["c", "x"]
    assert found.release.target.classes == ("no", "yes")
    assert "costs" not in " ".join(found.lost)


def test_levels_that_ranger_lists_go_right(tmp_path: Path) -> None:
    found = read(tmp_path, {"tree1.csv": LISTS, "levels.csv": LEVELS}, "tree1.csv", **TOLD)
    assert (found.format, found.tool, found.exact) == ("r-forest", "R ranger", True)
    root, *_ = found.release.trees[0].nodes
    assert [(branch.child, branch.values) for branch in root.branches] == [("1", ("red",)), ("2", ("green", "blue"))]
    assert predict(found.release, FRAME).tolist() == ["no", "no", "no", "no", "yes", "yes"]
    assert found.release.labels == "decided"
    assert any("the other trees" in sentence for sentence in found.lost)


def test_a_folder_or_a_column_of_trees_is_a_forest_that_votes(tmp_path: Path) -> None:
    stump = RANGER + "0,,,,,,TRUE,yes\n"
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    files = {"tree1.csv": LISTS, "tree2.csv": stump, "tree10.csv": stump, "levels.csv": LEVELS}
    with pytest.raises(InvalidInput, match=r"tree1.csv, tree2.csv, ..., each once, found \[1, 2, 10\]"):
        read(tmp_path / "a", files, **TOLD)
    (tmp_path / "a" / "tree10.csv").rename(tmp_path / "a" / "tree3.csv")
    release = read(tmp_path / "a", {}, **TOLD).release
    assert (len(release.trees), release.predicts) == (3, "vote")
    assert predict(release, FRAME).tolist() == ["yes"] * 6
    rows = [f"{tree},{row}" for tree, text in enumerate([LISTS, stump, stump]) for row in text.splitlines()[1:]]
    one = "\n".join([f"tree,{RANGER.strip()}", *rows])
    assert read(tmp_path / "b", {"all.csv": one, "levels.csv": LEVELS}, "all.csv", **TOLD).release == release


def test_classes_that_ranger_exchanged_are_told_by_the_training_table(tmp_path: Path) -> None:
    frame = FRAME.assign(Y=["yes", "yes", "no", "no", "yes", "yes"])
    for label, other in (("yes", "no"), ("no", "yes")):
        text = RANGER + f'0,1,2,0,c,"2,3",FALSE,NA\n1,,,,,,TRUE,{label}\n2,,,,,,TRUE,{other}\n'
        found = read(tmp_path, {"t.csv": text, "levels.csv": LEVELS}, "t.csv", train=frame, target="Y")
        assert predict(found.release, frame).tolist() == frame["Y"].tolist()
    with pytest.raises(InvalidInput, match=r"up to 0\.14\.1 exchanges classes"):
        read(tmp_path, {}, "t.csv", classes=("no", "yes"))
    unclear = FRAME.assign(Y=["yes", "no", "no", "yes", "yes", "no"])
    with pytest.raises(InvalidInput, match="classes that fit the training table"):
        read(tmp_path, {"t.csv": RANGER + "0,,,,,,TRUE,yes\n"}, "t.csv", train=unclear, target="Y")


def test_probabilities_are_what_leaves_add(tmp_path: Path) -> None:
    header = RANGER.replace("prediction", "pred...no.,pred.y.es")
    text = header + "0,1,2,1,x,2.25,FALSE,NA,NA\n1,,,,,,TRUE,0.25,0.75\n2,,,,,,TRUE,0.875,0.125\n"
    frame = FRAME.assign(Y=FRAME["Y"].map({"no": "<-no>", "yes": "y es"}))
    found = read(tmp_path, {"t.csv": text}, "t.csv", train=frame, target="Y")
    assert found.release.trees[0].nodes[1].value == {"<-no>": 0.25, "y es": 0.75}
    assert predict(found.release, frame).tolist() == ["y es"] + ["<-no>"] * 5


def test_numbers_of_levels_that_ranger_takes_for_numbers(tmp_path: Path) -> None:
    text = RANGER + "0,1,2,0,c,1.5,FALSE,NA\n1,,,,,,TRUE,no\n2,,,,,,TRUE,yes\n"
    found = read(tmp_path, {"t.csv": text, "levels.csv": LEVELS}, "t.csv", **TOLD)
    assert found.release.trees[0].nodes[0].branches[0].values == ("red",)


def test_a_bit_that_is_set_goes_left_in_random_forest(tmp_path: Path) -> None:
    found = read(tmp_path, {"t.csv": MASKS, "levels.csv": LEVELS}, "t.csv", classes=("no", "yes"))
    root, below, *_ = found.release.trees[0].nodes
    assert [branch.values for branch in root.branches] == [("red", "blue"), ("green",)]
    assert (below.attribute, below.branches[0].le) == ("x", 2.5)
    assert predict(found.release, FRAME).tolist() == ["yes", "no", "no", "no", "no", "no"]
    (tmp_path / "levels.csv").unlink()
    sorted_ = read(tmp_path, {}, "t.csv", parameters={"levels": "sorted"}, **TOLD)
    assert sorted_.release.trees[0].nodes[0].branches[0].values == ("blue", "red")
    with pytest.raises(InvalidInput, match=r"names of levels in their order: write\.csv"):
        read(tmp_path, {}, "t.csv", **TOLD)


def test_logical_columns_count_as_zero_and_one(tmp_path: Path) -> None:
    frame = FRAME.assign(c=[True, False, False, False, True, True])
    found = read(tmp_path, {"t.csv": MASKS.replace('"c",5', '"c",0.5')}, "t.csv", train=frame, target="Y")
    assert found.release.trees[0].nodes[0].branches[0].values == ("False",)


def test_a_tree_of_gbm_has_scores_and_a_child_for_missing_values(tmp_path: Path) -> None:
    files = {"tree1.csv": GBM, "csplits.json": "[[-1, 1, 1]]", "levels.csv": LEVELS}
    found = read(tmp_path, files, parameters={"base": "0.5", "rate": "0.1"}, **TOLD)
    tree = found.release.trees[0]
    root, _, inner, *_ = tree.nodes
    assert [branch.values for branch in root.branches] == [("red",), ("green", "blue"), ("(missing)",)]
    assert (inner.branches[0].le, inner.branches[2].missing) == (2.4999999999999996, True)
    assert [leaf.n for leaf in tree.leaves] == [2, 1, 3, None, None]
    rows = pd.DataFrame({"c": ["red", "blue", "green", None, "blue"], "x": [9.0, 2.0, 3.0, 1.0, None]})
    scores = predict_proba(found.release, rows)[:, 1]
    assert scores == pytest.approx([1 / (1 + 2.718281828459045 ** -(0.5 + s)) for s in (-1.5, 0.75, 0.25, -0.5, 0.1)])
    files = {"tree1.csv": GBM.replace(",0,2,-1.5", ",0,1,-1.5"), "csplits.csv": "-1,1,1\n"}
    (tmp_path / "csplits.json").unlink()
    bag = read(tmp_path, files, **TOLD)
    assert not bag.states["n"]
    assert any("bag" in sentence for sentence in bag.lost)
    assert any("--param base" in sentence for sentence in bag.lost)


def test_what_cannot_be_read_soundly_is_refused(tmp_path: Path) -> None:
    def refused(text: str, reason: str, **said: Any) -> None:
        with pytest.raises(InvalidInput, match=reason):
            read(tmp_path, {"t.csv": text}, "t.csv", **said)

    numbers = FRAME.assign(c=[1, 2, 3, 3, 1, 2])
    refused(MASKS, "found whole numbers, of levels or not", train=numbers, target="Y")
    refused(MASKS.replace('"c"', "1"), r"getTree\(model, k, labelVar = TRUE\)")
    refused(MASKS.replace('"no"', "0.25").replace('"c",5', '"c",5.5'), "of a regression")
    refused(
        MASKS.replace("5,1,NA", "1125899906842624,1,NA"), "a bit mask of levels below 1e", **TOLD | {"train": FRAME}
    )
    two = {"train": FRAME.replace("blue", "red"), "target": "Y", "parameters": {"levels": "sorted"}}
    refused(LISTS.replace(",5,", ",4.5,"), "numbers of the 2 levels", **two)
    refused(LISTS, "found whole numbers, of levels or not", **two)
    refused(LISTS, "no missing values in the columns of the forest", train=FRAME.assign(x=None), target="Y")
    refused(GBM, "names of the model's columns", classes=("no", "yes"))
    refused(GBM, "model.c.splits beside the tables", parameters={"levels": "sorted"}, **TOLD)
    refused(GBM.replace("0,0,1,2", "0,1.5,1,2").replace("0.75\n", "\n"), "expected a number", features=("x", "x"))
    refused(RANGER, "a row for each node")
    refused(MASKS, "levels=sorted, found levels='up'", parameters={"levels": "up"})


def test_a_folder_without_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="files: expected the tables of the trees"):
        convert_model(tmp_path, Wanted(), Reader(Reading(format="r-forest")))


INBAG = [(2, 1), (0, 1), (0, 0), (1, 2), (3, 1), (0, 1)]


def test_draws_beside_the_tables_are_kept(tmp_path: Path) -> None:
    plain = "".join(f"{a},{b}\n" for a, b in [("V1", "V2"), *INBAG])
    named = "".join(f'"{name}",{line}\n' for name, line in zip(["", *"123456"], plain.splitlines(), strict=True))
    stump = RANGER + "0,,,,,,TRUE,yes\n"
    for text in (plain, named):
        files = {"tree1.csv": LISTS, "tree2.csv": stump, "levels.csv": LEVELS, "inbag.csv": text}
        found = read(tmp_path, files, **TOLD)
        draws = found.release.draws
        assert draws is not None
        assert found.tells_draws == "counts of the draws of each tree"
        assert (draws.n, draws.drawn, draws.replace, found.release.resampled) == (6, 6, True, 6)
        assert draws.matrix().T.tolist() == [list(row) for row in INBAG]
        validate_release(found.release)
    wrong = {
        "how often the row was drawn": plain.replace("2,1\n", "2,x\n"),
        "as many draws for each tree, at least 1": plain.replace("2,1\n", "1,1\n"),
        "a column for each of 2 trees": "V1\n1\n",
        "0 lines": "V1,V2\n",
        "cells: expected 2": plain + "1\n",
    }
    for message, text in wrong.items():
        with pytest.raises(InvalidInput, match=message):
            read(tmp_path, {"inbag.csv": text}, **TOLD)


def test_draws_without_replacement_of_random_forest_are_kept(tmp_path: Path) -> None:
    files = {
        "tree1.csv": MASKS,
        "levels.csv": LEVELS,
        "inbag.csv": '"","1"\n' + "".join(f'"{i}",{i % 2}\n' for i in range(1, 7)),
    }
    found = read(tmp_path, files, **TOLD)
    assert found.tool == "R randomForest"
    assert found.release.draws == Draws(6, 3, replace=False, counts=((1, 0, 1, 0, 1, 0),))
