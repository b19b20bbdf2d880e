"""Trees of C5.0: its file, the names beside it, values that are missing, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.models import read_model

from maxent.models.errors import InvalidInput
from maxent.models.formats.c50_tree_file import read_names
from maxent.models.formats.release_reader import Converted
from maxent.models.trees.predict import predict

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
FRAME = pd.DataFrame(
    {
        "x": [3.6, 1, 2, 3, 3.5, 4, 5, 6, 7],
        "a: b": ["p q", "p q", "p q", "r, s", "r, s", "t", "p q", "t", "t"],
        "c": ["low", "mid", "high", "low", "mid", "low", "high", "high", "high"],
        "Y": [NO, NO, NO, NO, YES, NO, YES, YES, YES],
    }
)


def read(folder: Path, tree: str = TREE, names: str = NAMES, **said: Any) -> Converted:
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
    found = read(tmp_path)
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
    assert predict(release, FRAME).tolist() == [NO, NO, NO, NO, NO, NO, YES, YES, YES]
    assert read(tmp_path, train=FRAME, target="Y").release == release
    with pytest.raises(InvalidInput, match="as the model says"):
        read(tmp_path, train=FRAME.iloc[:8], target="Y")


def test_a_record_without_a_value_goes_down_all_branches_in_parts(tmp_path: Path) -> None:
    lacking = pd.DataFrame({"x": [None, None, 1.0, 9.0, None], "a: b": ["t", "r, s", None, None, None]})
    frame = pd.concat([FRAME, lacking.assign(c=["high", "low", "low", "mid", None], Y=NO)], ignore_index=True)
    tree = TREE.replace('freq="3,0"', 'freq="3.5,0.25"').replace('freq="0,3"', 'freq="0.5,3"')
    found = read(tmp_path, tree, train=frame, target="Y")
    # Of 9 cases, 5 took the first branch of x, and 3.75 of 5.75 there that of p q.
    said = predict(found.release, lacking.assign(c=["high", "low", "low", "mid", None])).tolist()
    assert said == [NO, NO, NO, NO, NO]
    assert predict(found.release, FRAME).tolist() == [NO, NO, NO, NO, NO, NO, YES, YES, YES]
    assert found.release.labels == "decided"
    assert all(leaf.counts is None for leaf in found.release.trees[0].leaves)
    assert any("in parts" in sentence for sentence in found.lost)
    some = frame.assign(x=frame["x"].fillna(1.0), c=frame["c"].fillna("low"))
    with pytest.raises(InvalidInput, match="counts 1, 0, as the model says"):
        read(tmp_path, tree, train=some, target="Y")


def test_a_leaf_of_cases_that_are_all_0_is_as_likely_as_the_node_above(tmp_path: Path) -> None:
    rows = ('type="0" class="no"\n', 'type="0" class="no" freq="0,0"\n')
    tree = TREE.replace('freq="3,0"', 'freq="3.5,0.25"')
    one, other = (read(tmp_path, tree.replace(rows[0], row)).release.trees[0] for row in rows)
    assert [node.label for node in one.nodes] == [node.label for node in other.nodes]


def test_counts_stand_where_no_record_above_lacks_a_value(tmp_path: Path) -> None:
    frame = FRAME.assign(c=["low", "mid", "high", "low", "mid", "low", "high", "high", None])
    tree = TREE.replace('freq="1,0"', 'freq="1,0.25"').replace('freq="0,3"', 'freq="0,2.75"')
    leaves = read(tmp_path, tree, train=frame, target="Y").release.trees[0].leaves
    assert [leaf.counts and sum(leaf.counts.values()) for leaf in leaves] == [3, 2, 0, None, None, None]
    assert [leaf.label for leaf in leaves] == [NO, NO, NO, NO, YES, YES]
    weighted = read(tmp_path, tree, train=FRAME, target="Y")
    assert not weighted.states["counts"]
    assert any("weighted" in sentence for sentence in weighted.lost)


def test_a_value_that_no_subset_has_ends_at_the_node(tmp_path: Path) -> None:
    tree = TREE.replace('elts="low","mid"', 'elts="low"')
    last = read(tmp_path, tree).release.trees[0].nodes[-1]
    assert (last.label, last.counts) == (YES, None)


def test_what_cannot_be_read_soundly_is_refused(tmp_path: Path) -> None:
    def refused(old: str, new: str, reason: str, **said: Any) -> None:
        assert old in TREE
        with pytest.raises(InvalidInput, match=reason):
            read(tmp_path, TREE.replace(old, new), **said)

    with pytest.raises(InvalidInput, match=r"model\.names beside it, or classes="):
        read(tmp_path, names="")
    refused('entries="1"', 'entries="3"', "one tree: grow it without -b")
    refused('entries="1"\n', 'entries="1"\nrules="2" default="no"\n', "grow it without -r")
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
    found = text(tmp_path, train=FRAME, target="Y")
    assert (found.format, found.tool, found.exact) == ("c50-text", "C5.0 2.07", True)
    assert [leaf.counts for leaf in found.release.trees[0].leaves] == [
        {YES: 0, NO: 1},
        {YES: 3, NO: 0},
        {YES: 0, NO: 3},
        {YES: 1, NO: 1},
    ]
    assert predict(found.release, FRAME).tolist() == [NO, NO, NO, NO, NO, NO, YES, YES, YES]
    plain = text(tmp_path, TEXT.replace("a: b", "a").replace("r, s", "r"))
    assert (plain.release.target.name, plain.release.target.classes) == ("Y", (NO, YES))
    assert {a.name: a.values for a in plain.release.attributes}["a"] == ("p q", "r", "t")
    bare = text(tmp_path, TEXT.partition("Evaluation")[0].replace("a: b", "a").replace("r, s", "r"))
    assert bare.release.trees[0].leaves[3].counts is None  # of a third class, perhaps


def test_fractions_of_a_text_are_parts_of_records(tmp_path: Path) -> None:
    frame = FRAME.astype({"a: b": object})
    frame.loc[2, "a: b"] = None
    printed = TEXT.replace("no (3)", "no (2.5)").replace("(2/1)", "(2.5/1)")
    found = text(tmp_path, printed, train=frame, target="Y")
    assert predict(found.release, frame).tolist() == [NO, NO, NO, NO, NO, NO, YES, YES, YES]
    assert [leaf.n for leaf in found.release.trees[0].leaves] == [1, 3, None, None, None]
    long = text(tmp_path, TEXT.replace("x > 3.6", "x > 3.600001").replace("x <= 3.6", "x <= 3.600001"), train=FRAME)
    assert not long.exact


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("Decision tree:", "Rules:", "grow it without -r and -b"),
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
        text(tmp_path, TEXT.replace(old, new, 1), train=FRAME, target="Y")
