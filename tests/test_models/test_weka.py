"""Text of Weka: trees whose names, values and labels have any signs in them, their numbers, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from maxent.models.errors import InvalidInput
from maxent.models.formats.conversion import Converted, Wanted
from maxent.models.formats.registry import convert_model
from maxent.models.reading import Reader
from maxent.models.trees.predict import predict

J48 = """
J48 pruned tree
------------------

how much <= 40? <= 2.5
|   what: a = x: y: yes (3.0/1.0)
|   what: a = b: no (2.0)
how much <= 40? > 2.5: no: never (4.0)

Number of Leaves  : 	3
"""
FRAME = pd.DataFrame(
    {
        "how much <= 40?": [1, 2, 2, 1, 1, 3, 4, 5, 6],
        "what: a": ["x: y"] * 3 + ["b"] * 2 + ["b"] * 4,
        "Y": ["yes", "yes", "no", "no", "no", *["no: never"] * 4],
    }
)


def read(folder: Path, text: str, **said: Any) -> Converted:
    (folder / "model.txt").write_text(text, encoding="utf-8")
    return convert_model(folder / "model.txt", Wanted(**said), Reader())


def test_names_values_and_labels_with_signs_are_told_by_siblings_and_classes(tmp_path: Path) -> None:
    found = read(tmp_path, J48, train=FRAME, target="Y")
    release = found.release
    assert [attribute.name for attribute in release.attributes] == ["how much <= 40?", "what: a"]
    assert release.target.classes == ("no", "no: never", "yes")
    assert predict(release, FRAME).tolist() == ["yes"] * 3 + ["no"] * 2 + ["no: never"] * 4
    first, second, third = release.trees[0].leaves
    assert (first.label, first.n, first.error_rate, first.counts) == ("yes", 3, 1 / 3, None)
    assert second.counts == {"no": 2, "no: never": 0, "yes": 0}
    assert third.label == "no: never"
    assert found.exact
    with pytest.raises(InvalidInput, match="a label that is clear"):
        read(tmp_path, J48)


def test_errors_of_two_classes_are_counts_and_held_out_ones_are_added(tmp_path: Path) -> None:
    text = "REPTree\n============\n\nage < 3.5 : a (4/1) [2/1]\nage >= 3.5 : b (3/0) [0/0]\n\nSize of the tree : 3\n"
    found = read(tmp_path, text)
    assert [leaf.counts for leaf in found.release.trees[0].leaves] == [{"a": 4, "b": 2}, {"a": 0, "b": 3}]
    assert not found.exact
    people = pd.DataFrame({"age": [3.499999, 3.5]})
    assert predict(found.release, people).tolist() == ["a", "b"]


def test_the_rest_of_a_binary_split_is_what_the_table_has(tmp_path: Path) -> None:
    text = "J48 pruned tree\n------------------\n\nwhat = b: no (2.0)\nwhat != b: yes (1.0)\n"
    frame = pd.DataFrame({"what": ["b", "b", "c"], "Y": ["no", "no", "yes"]})
    assert read(tmp_path, text, train=frame, target="Y").release.attributes[0].values == ("b", "c")
    assert read(tmp_path, text).release.attributes[0].values == ("b", "(other)")


def test_a_forest_counts_draws_and_predicts_by_the_mean(tmp_path: Path) -> None:
    tree = "RandomTree\n==========\n\nage < 3.5 : a (4/1)\nage >= 3.5 : b (3/0)\n\nSize of the tree : 3\n\n\n"
    found = read(tmp_path, f"RandomForest\n\nBagging with 2 iterations and base learner\n\n\n{tree}{tree}")
    assert (found.release.resampled, found.release.predicts, len(found.release.trees)) == (7, "mean", 2)
    assert found.tool == "Weka RandomForest"
    with pytest.raises(InvalidInput, match="one tree, or a forest"):
        read(tmp_path, tree + tree)
    with pytest.raises(InvalidInput, match="as many records in every tree"):
        read(tmp_path, f"RandomForest\n\n{tree}{tree.replace('3/0', '2/0')}")


def test_numbers_of_some_of_the_records_are_left_out(tmp_path: Path) -> None:
    found = read(tmp_path, f"Options: -R -N 3\n{J48}", train=FRAME, target="Y")
    assert found.states == {"counts": False, "n": False, "rates": False, "labels": True, "linear": False}
    assert any("-R" in sentence for sentence in found.lost)
    with pytest.raises(InvalidInput, match="training table"):
        read(tmp_path, J48, train=FRAME.iloc[:8], target="Y")


def test_a_label_that_is_a_minority_is_one_that_costs_decided(tmp_path: Path) -> None:
    found = read(tmp_path, "J48 pruned tree\n------------------\n: a (5.0/4.0)\n\n", classes=("a", "b"))
    assert found.release.labels == "decided"
    assert any("under costs" in sentence for sentence in found.lost)


def test_a_leaf_alone_is_a_tree(tmp_path: Path) -> None:
    found = read(tmp_path, "J48 pruned tree\n------------------\n: a (5.0/1.0)\n\n", classes=("a", "b"))
    assert found.release.trees[0].root.counts == {"a": 4, "b": 1}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("(2.0)", "(2.5)", "missing values go down several branches"),
        ("(2.0)", "(2.0/3.0)", "no more errors than records"),
        ("(2.0)", "(2.0.0)", "numbers of records"),
        ("|   what: a = b: no (2.0)\n", "", "training table: expected a branch for every row"),
        ("what: a = b", "what: a = x: y", "a test"),
        ("> 2.5", "> 3.5", "a test"),
        ("|   what: a = b", "|   |   what: a = b", "training table"),
        ("how much <= 40? > 2.5: no: never (4.0)\n", "", "a test"),
        ("how much <= 40? <= 2.5\n", "", "one deeper"),
    ],
)
def test_what_is_no_whole_tree_is_refused(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in J48
    with pytest.raises(InvalidInput, match=words):
        read(tmp_path, J48.replace(old, new, 1), train=FRAME, target="Y")


def test_a_table_with_gaps_is_refused(tmp_path: Path) -> None:
    frame = FRAME.copy()
    frame.loc[0, "what: a"] = None
    with pytest.raises(InvalidInput, match="without missing values"):
        read(tmp_path, J48, train=frame, target="Y")


def test_a_text_without_a_tree_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.txt").write_text("J48 pruned tree\n", encoding="utf-8")
    from maxent.models.reading import Reading

    with pytest.raises(InvalidInput, match="a tree of Weka"):
        convert_model(tmp_path / "model.txt", Wanted(), Reader(Reading(format="weka")))
