"""Text of Weka: trees whose names, values and labels have any signs in them, their numbers, and what is refused."""

from pathlib import Path

import pandas as pd
import pytest
from support.models import reads

from maxent.models.errors import InvalidInput
from maxent.models.formats.registry import convert_model
from maxent.models.formats.release_reader import Wanted
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


read = reads("model.txt")


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
    found = read(tmp_path, text, classes=("a", "b"))
    assert [leaf.counts for leaf in found.release.trees[0].leaves] == [{"a": 4, "b": 2}, {"a": 0, "b": 3}]
    assert not found.exact
    assert "from a seed" in found.tells_draws
    matrix = "=== Confusion Matrix ===\n\n a b   <-- classified as\n 4 1 | a = b\n 2 5 | b = a\n\n"
    assert read(tmp_path, text + matrix).release.target.classes == ("b", "a")
    assert read(tmp_path, text).release.trees[0].leaves[0].counts is None  # of a third class, perhaps
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
    assert "from a seed" in found.tells_draws
    assert not read(tmp_path, tree).tells_draws
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
    assert any("most frequent classes" in sentence for sentence in found.lost)


def test_a_leaf_alone_is_a_tree(tmp_path: Path) -> None:
    found = read(tmp_path, "J48 pruned tree\n------------------\n: a (5.0/1.0)\n\n", classes=("a", "b"))
    assert found.release.trees[0].root.counts == {"a": 4, "b": 1}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
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


PARTS = """J48 pruned tree
------------------

x <= 2
|   c = p: a (3.5/0.5)
|   c = q: b (2.5/1.0)
|   c = r: a (0.0)
x > 2: b (4.0/1.0)
"""
LACKING = pd.DataFrame(
    {
        "x": [1, 1, 1, 2, 2, 1, 3, 4, 5, 6],
        "c": ["p", "p", "p", "q", "q", None, None, "p", "q", "r"],
        "Y": ["a", "a", "a", "b", "a", "b", "b", "b", "b", "a"],
    }
)


def test_a_record_without_a_value_goes_down_all_branches_in_parts(tmp_path: Path) -> None:
    found = read(tmp_path, PARTS, train=LACKING, target="Y")
    rows = pd.DataFrame({"x": [1, 1, 2, 1, 9], "c": ["p", "q", "r", None, None]})
    assert predict(found.release, rows).tolist() == ["a", "b", "a", "a", "b"]
    leaves = {leaf.id: (leaf.n, leaf.label) for leaf in found.release.trees[0].leaves}
    assert leaves == {"2": (None, "a"), "3": (None, "b"), "4": (None, "a"), "m1": (None, "a"), "5": (4, "b")}
    assert found.release.labels == "decided"
    assert any("in parts" in sentence for sentence in found.lost)
    assert read(tmp_path, PARTS, classes=("a", "b")).release.attributes[0].missing
    with pytest.raises(InvalidInput, match="counts 1, 3, as the model says"):
        read(tmp_path, PARTS, train=LACKING.assign(Y=list("aaababbbbb")), target="Y")
    weighted = read(tmp_path, PARTS, train=LACKING.dropna(), target="Y")
    assert any("weighted" in sentence for sentence in weighted.lost)


def test_where_printed_numbers_leave_several_classes_there_is_none(tmp_path: Path) -> None:
    text = PARTS.replace("(3.5/0.5)", "(3.5/2.0)")
    found = read(tmp_path, text, train=LACKING.assign(Y=["a", "c"] * 5), classes=("a", "b", "c"))
    assert [leaf.label for leaf in found.release.trees[0].leaves if leaf.id == "m1"] == [None]
    assert any("leave several" in sentence for sentence in found.lost)


def test_a_forest_on_a_table_with_gaps_is_refused(tmp_path: Path) -> None:
    tree = "RandomTree\n==========\n\nx < 3.5 : a (4/1)\nx >= 3.5 : b (3/0)\n\n"
    with pytest.raises(InvalidInput, match="no missing values in the columns of a forest"):
        read(
            tmp_path, f"RandomForest\n\n{tree}{tree}", train=LACKING.assign(x=LACKING["c"].map({"p": 1.0})), target="Y"
        )


CART = """
CART Decision Tree

how =(x)=(p, q)|(r): no(2.0/1.0)
how =(x)!=(p, q)|(r)
|  x < 2.5: yes(1.0/0.0)
|  x >= 2.5: no(1.0/0.0)

Number of Leaf Nodes: 3
"""


def test_sets_of_simple_cart(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"how =(x)": ["p, q", "r", "r", "s", "s"], "x": [1, 2, 3, 2, 3], "Y": ["no", "no", "yes", "yes", "no"]}
    )
    found = read(tmp_path, CART, train=frame, target="Y")
    assert (found.tool, found.exact) == ("Weka SimpleCart", True)
    assert [branch.values for branch in found.release.trees[0].root.branches] == [("p, q", "r"), ("s",)]
    assert found.release.trees[0].leaves[0].counts == {"no": 2, "yes": 1}
    plain = read(tmp_path, CART.replace("how =(x)", "how")).release
    assert plain.attributes[0].values == ("p, q", "r", "(other)")


def test_id3_states_labels_and_no_records(tmp_path: Path) -> None:
    text = "Id3\n\n\nc = p: a\nc = q\n|  d = u: null\n|  d = v: b\n\nTime taken\n"
    found = read(tmp_path, text)
    assert [(leaf.label, leaf.n) for leaf in found.release.trees[0].leaves] == [("a", None), (None, 0), ("b", None)]
    assert found.tool == "Weka Id3"
    frame = pd.DataFrame({"c": ["p", "q", "q"], "d": ["u", "v", "u"], "Y": ["a", "b", "b"]})
    with pytest.raises(InvalidInput, match="counts 0, 0, as the model says"):
        read(tmp_path, text, train=frame, target="Y")


GRAPH = """digraph J48Tree {
N0 [label="how \\"much\\" <= 40?" ]
N0->N1 [label="'<= 2.5'"]
N1 [label="what: a" ]
N1->N2 [label="'= x: 100\\%'"]
N2 [label="'yes (3.0/1.0)'" shape=box style=filled ]
N1->N3 [label="'= b'"]
N3 [label="'no (2.0)'" shape=box style=filled ]
N0->N4 [label="'> 2.5'"]
N4 [label="'no: never (4.0)'" shape=box style=filled ]
}
"""


def test_graphs_are_read_as_the_texts_are(tmp_path: Path) -> None:
    found = read(tmp_path, GRAPH, classes=("no", "no: never", "yes"))
    text = J48.replace("how much", 'how "much"').replace("x: y", "x: 100%")
    frame = FRAME.rename(columns={"how much <= 40?": 'how "much" <= 40?'}).replace("x: y", "x: 100%")
    assert found.release.trees == read(tmp_path, text, train=frame, target="Y").release.trees
    numbered = GRAPH.replace("J48Tree {", "Tree {\nedge [style=bold]").replace('label="what', 'label="2: what')
    numbered = (
        numbered.replace('label="how', 'label="1: how').replace("'no (2.0)'", "3 : no (1/0) [1/0]").replace("'", "")
    )
    assert read(tmp_path, numbered).tool == "Weka REPTree"
    for old, new, words in [
        ("N0->N4", "N1->N4", "branches of one test"),
        ("N1->N3", "N1->N2", "each node once"),
        ("> 2.5", "> 3.5", "branches of one test"),
        ('N4 [label="', "N4 [label=", "a node or an edge"),
        ("(4.0)", "(4.0", "a label that is a class"),
        ("\n}", '\nN9 [label="a (1.0)" shape=box]\n}', "one tree"),
    ]:
        with pytest.raises(InvalidInput, match=words):
            read(tmp_path, GRAPH.replace(old, new), classes=("no", "no: never", "yes"))


def test_thresholds_are_exact_where_no_digit_can_be_lacking(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [0.5, 1.25, 2.0, 3.0], "Y": list("aabb")})
    for title, exact in (("J48 pruned tree\n-----", True), ("REPTree\n=====", False)):
        text = f"{title}\n\nx <= 1.6: a (2.0)\nx > 1.6: b (2.0)\n"
        assert read(tmp_path, text, train=frame, target="Y").exact is exact


def test_a_text_without_a_tree_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.txt").write_text("J48 pruned tree\n", encoding="utf-8")
    from maxent.models.reading import Reading

    with pytest.raises(InvalidInput, match="a tree of Weka"):
        convert_model(tmp_path / "model.txt", Wanted(), Reader(Reading(format="weka")))
