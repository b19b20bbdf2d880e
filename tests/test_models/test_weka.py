"""Text of Weka: trees whose names, values and labels have any signs in them, their numbers, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.models import read_model, reads

from maxent.models.errors import InvalidInput
from maxent.models.formats.c50 import read_names
from maxent.models.formats.registry import convert_model
from maxent.models.formats.release_reader import Converted, Wanted
from maxent.models.reading import Reader, Reading
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
    assert predict(found.release, pd.DataFrame({"age": [3.499999, 3.5]})).tolist() == ["a", "b"]


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
    assert any("weighted" in sentence for sentence in read(tmp_path, PARTS, train=LACKING.dropna(), target="Y").lost)


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
    assert read(tmp_path, CART.replace("how =(x)", "how")).release.attributes[0].values == ("p, q", "r", "(other)")


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
    with pytest.raises(InvalidInput, match="a tree of Weka"):
        convert_model(tmp_path / "model.txt", Wanted(), Reader(Reading(format="weka")))


NAMES = """| made for a test
Y.                            | the target

Y: no, "yes\\, surely"\\..
x: continuous.
a\\: b: p q, r\\, s, t.
c: [ordered] low, mid, high.
"""
TREE = """id="See5/C5.0 2.07 GPL Edition 2026-11-22"
entries="1"
type="2" class="no" freq="5,4" att="x" forks="3" cut="3.5999999"
type="0" class="no"
type="1" class="no" freq="4,1" att="a: b" forks="4"
type="0" class="no"
type="0" class="no" freq="3,0"
type="0" class="no" freq="1,1"
type="0" class="no"
type="3" class="\\"yes, surely\\"." freq="1,3" att="c" forks="2" elts="low","mid" elts="high"
type="0" class="no" freq="1,0"
type="0" class="\\"yes, surely\\"." freq="0,3"
"""
NO, YES = "no", '"yes, surely".'
C50_FRAME = pd.DataFrame(
    {
        "x": [3.6, 1, 2, 3, 3.5, 4, 5, 6, 7],
        "a: b": ["p q", "p q", "p q", "r, s", "r, s", "t", "p q", "t", "t"],
        "c": ["low", "mid", "high", "low", "mid", "low", "high", "high", "high"],
        "Y": [NO, NO, NO, NO, YES, NO, YES, YES, YES],
    }
)


def c50_read(folder: Path, tree: str = TREE, names: str = NAMES, **said: Any) -> Converted:
    (folder / "model.tree").write_text(tree, encoding="utf-8")
    if names:
        (folder / "model.names").write_text(names, encoding="utf-8")
    return read_model(folder / "model.tree", **said)


def test_the_names_file_has_the_target_the_classes_and_the_values(tmp_path: Path) -> None:
    (tmp_path / "m.names").write_text(NAMES, encoding="utf-8")
    names = read_names(tmp_path / "m.names")
    assert (names.target, names.classes) == ("Y", (NO, YES))
    assert names.attributes == {"x": None, "a: b": ("p q", "r, s", "t"), "c": ("low", "mid", "high")}
    (tmp_path / "m.names").write_text("a, b.\nSepal.Length: continuous. z: discrete 10.\n", encoding="utf-8")
    names = read_names(tmp_path / "m.names")
    assert (names.target, names.classes, names.attributes) == (None, ("a", "b"), {"Sepal.Length": None, "z": None})
    (tmp_path / "m.names").write_text("y: 10, 20.\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="classes that are listed"):
        read_names(tmp_path / "m.names")


def test_counts_of_every_leaf_and_cuts_in_single_precision(tmp_path: Path) -> None:
    found = c50_read(tmp_path)
    release = found.release
    assert (found.format, found.tool, found.exact) == ("c50-tree", "C5.0 2.07", True)
    assert (release.target.name, release.target.classes, release.labels) == ("Y", (NO, YES), "majority")
    assert [leaf.counts for leaf in release.trees[0].leaves] == [
        {NO: 3, YES: 0},
        {NO: 1, YES: 1},
        {NO: 0, YES: 0},
        {NO: 1, YES: 0},
        {NO: 0, YES: 3},
    ]
    le = release.trees[0].nodes[0].branches[0].le
    assert le is not None
    assert np.float32(3.6) <= np.float32(le) < np.float32(3.7)
    assert predict(release, C50_FRAME).tolist() == [NO, NO, NO, NO, NO, NO, YES, YES, YES]
    assert c50_read(tmp_path, train=C50_FRAME, target="Y").release == release
    with pytest.raises(InvalidInput, match="as the model says"):
        c50_read(tmp_path, train=C50_FRAME.iloc[:8], target="Y")


def test_a_record_without_a_value_goes_down_all_branches_in_parts_of_c50(tmp_path: Path) -> None:
    lacking = pd.DataFrame({"x": [None, None, 1.0, 9.0, None], "a: b": ["t", "r, s", None, None, None]})
    frame = pd.concat([C50_FRAME, lacking.assign(c=["high", "low", "low", "mid", None], Y=NO)], ignore_index=True)
    tree = TREE.replace('freq="3,0"', 'freq="3.5,0.25"').replace('freq="0,3"', 'freq="0.5,3"')
    found = c50_read(tmp_path, tree, train=frame, target="Y")
    # Of 9 cases, 5 took the first branch of x, and 3.75 of 5.75 there that of p q.
    said = predict(found.release, lacking.assign(c=["high", "low", "low", "mid", None])).tolist()
    assert said == [NO, NO, NO, NO, NO]
    assert predict(found.release, C50_FRAME).tolist() == [NO, NO, NO, NO, NO, NO, YES, YES, YES]
    assert found.release.labels == "decided"
    assert all(leaf.counts is None for leaf in found.release.trees[0].leaves)
    assert any("in parts" in sentence for sentence in found.lost)
    some = frame.assign(x=frame["x"].fillna(1.0), c=frame["c"].fillna("low"))
    with pytest.raises(InvalidInput, match="counts 1, 0, as the model says"):
        c50_read(tmp_path, tree, train=some, target="Y")


def test_a_leaf_of_cases_that_are_all_0_is_as_likely_as_the_node_above(tmp_path: Path) -> None:
    rows = ('type="0" class="no"\n', 'type="0" class="no" freq="0,0"\n')
    tree = TREE.replace('freq="3,0"', 'freq="3.5,0.25"')
    one, other = (c50_read(tmp_path, tree.replace(rows[0], row)).release.trees[0] for row in rows)
    assert [node.label for node in one.nodes] == [node.label for node in other.nodes]


def test_counts_stand_where_no_record_above_lacks_a_value(tmp_path: Path) -> None:
    frame = C50_FRAME.assign(c=["low", "mid", "high", "low", "mid", "low", "high", "high", None])
    tree = TREE.replace('freq="1,0"', 'freq="1,0.25"').replace('freq="0,3"', 'freq="0,2.75"')
    leaves = c50_read(tmp_path, tree, train=frame, target="Y").release.trees[0].leaves
    assert [leaf.counts and sum(leaf.counts.values()) for leaf in leaves] == [3, 2, 0, None, None, None]
    assert [leaf.label for leaf in leaves] == [NO, NO, NO, NO, YES, YES]
    weighted = c50_read(tmp_path, tree, train=C50_FRAME, target="Y")
    assert not weighted.states["counts"]
    assert any("weighted" in sentence for sentence in weighted.lost)


def test_a_value_that_no_subset_has_ends_at_the_node(tmp_path: Path) -> None:
    last = c50_read(tmp_path, TREE.replace('elts="low","mid"', 'elts="low"')).release.trees[0].nodes[-1]
    assert (last.label, last.counts) == (YES, None)


def test_what_cannot_be_read_soundly_is_refused(tmp_path: Path) -> None:
    def refused(old: str, new: str, reason: str, **said: Any) -> None:
        assert old in TREE
        with pytest.raises(InvalidInput, match=reason):
            c50_read(tmp_path, TREE.replace(old, new), **said)

    with pytest.raises(InvalidInput, match=r"model\.names beside it, or classes="):
        c50_read(tmp_path, names="")
    refused('entries="1"', 'entries="3"', "one tree: grow it without -b")
    refused('entries="1"\n', 'entries="1"\nrules="2" default="no"\n', "at least one rule")
    refused('cut="3.5999999"', 'cut="3.6" low="3" high="4"', "grow the tree without -p")
    refused('type="0" class="no"\ntype="1"', 'type="0" class="no" freq="1,0"\ntype="1"', "not applicable")
    refused('forks="4"', 'forks="4"', "3 values of 'a: b' in the names file", names=NAMES.replace(", t.", "."))
    refused('freq="0,3"\n', 'freq="0,3"\ntype="0" class="no"\n', "as the tree is complete")
    refused('type="0" class="\\"yes, surely\\"." freq="0,3"\n', "", "all nodes of the tree")
    refused('freq="3,0"', 'freq="3,0,1"', "cases of each")
    refused('freq="3,0"', 'freq="3,x"', "numbers")
    refused('entries="1"', 'entries="1"', "the names file", classes=("a", "b"))


TEXT = """
C5.0 [Release 2.07 GPL Edition]  \tSun Nov 22 00:49:44 2026
-------------------------------

Class specified by attribute `Y'

Read 9 cases (4 attributes) from model.data

Decision tree:

x > 3.6: [S1]
x <= 3.6:
:...a: b = p q: no (3)
    a: b in {r, s,
    :        t}: no (2/1)

SubTree [S1]

c in {low,mid}: no (1)
c = high: "yes, surely". (3)


Evaluation on training data (9 cases):

\t   (a)   (b)    <-classified as
\t  ----  ----
\t     5     1    (a): class no
\t           3    (b): class "yes, surely".
"""


def text(folder: Path, printed: str = TEXT, **said: Any) -> Converted:
    (folder / "model.txt").write_text(printed, encoding="utf-8")
    return read_model(folder / "model.txt", **said)


def test_the_text_has_sets_on_several_lines_and_subtrees_apart(tmp_path: Path) -> None:
    found = text(tmp_path, train=C50_FRAME, target="Y")
    assert (found.format, found.tool, found.exact) == ("c50-text", "C5.0 2.07", True)
    assert [leaf.counts for leaf in found.release.trees[0].leaves] == [
        {YES: 0, NO: 1},
        {YES: 3, NO: 0},
        {YES: 0, NO: 3},
        {YES: 1, NO: 1},
    ]
    assert predict(found.release, C50_FRAME).tolist() == [NO, NO, NO, NO, NO, NO, YES, YES, YES]
    plain = text(tmp_path, TEXT.replace("a: b", "a").replace("r, s", "r"))
    assert (plain.release.target.name, plain.release.target.classes) == ("Y", (NO, YES))
    assert {a.name: a.values for a in plain.release.attributes}["a"] == ("p q", "r", "t")
    bare = text(tmp_path, TEXT.partition("Evaluation")[0].replace("a: b", "a").replace("r, s", "r"))
    assert bare.release.trees[0].leaves[3].counts is None  # of a third class, perhaps


def test_fractions_of_a_text_are_parts_of_records(tmp_path: Path) -> None:
    frame = C50_FRAME.astype({"a: b": object})
    frame.loc[2, "a: b"] = None
    found = text(tmp_path, TEXT.replace("no (3)", "no (2.5)").replace("(2/1)", "(2.5/1)"), train=frame, target="Y")
    assert predict(found.release, frame).tolist() == [NO, NO, NO, NO, NO, NO, YES, YES, YES]
    assert [leaf.n for leaf in found.release.trees[0].leaves] == [1, 3, None, None, None]
    long = text(tmp_path, TEXT.replace("x > 3.6", "x > 3.600001").replace("x <= 3.6", "x <= 3.600001"), train=C50_FRAME)
    assert not long.exact


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("Decision tree:", "Rules:", "ends before"),
        ("Decision tree:", "-----  Trial 0:  -----\n\nDecision tree:", "grow it without -r and -b"),
        ("SubTree [S1]", "SubTree [S2]", "a subtree that is printed below"),
        ("no (2/1)", "no (3/1)", "as the model says"),
        ("(1)\n", "\n", "a test, or a leaf"),
        ("    :        t}", "    :        u}", "values that part at commas"),
        ("{low,mid}: no", "{low,mid: no", "values in brackets"),
    ],
)
def test_texts_that_are_of_no_tree_are_refused(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in TEXT
    with pytest.raises(InvalidInput, match=words):
        text(tmp_path, TEXT.replace(old, new, 1), train=C50_FRAME, target="Y")
