"""Text of partykit: tests, levels and labels with any signs in them, what its numbers prove, and what is refused."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.models import reads

from maxent.models.errors import InvalidInput
from maxent.models.trees.predict import predict

HEAD = '\nModel formula:\n`Y, "class"` ~ x + `a < b`\n\nFitted party:\n'
TREE = """[1] root
|   [2] a < b <= p, q, r
|   |   [3] x < 2.5: no: 1 (n = 2, err = 50.0%)
|   |   [4] x >= 2.5: yes (n = 3, err = 0.0%)
|   [5] a < b in s: t, u: no: 1 (n = 3, err = 33.3%)

Number of inner nodes:    2
Number of terminal nodes: 3
"""
FRAME = pd.DataFrame(
    {
        "x": [1, 2, 3, 4, 5, 1, 2, 3],
        "a < b": ["<= p, q", "r", "<= p, q", "r", "r", "s: t", "s: t", "u"],
        'Y, "class"': ["no: 1", "yes", "yes", "yes", "yes", "no: 1", "no: 1", "yes"],
    }
)
TOLD = {"train": FRAME, "target": 'Y, "class"'}


read = reads("model.txt")


def test_levels_and_labels_with_signs_are_told_by_the_table(tmp_path: Path) -> None:
    found = read(tmp_path, HEAD + TREE, **TOLD)
    release = found.release
    assert (found.format, found.tool, found.exact) == ("partykit-print", "R partykit", True)
    assert {a.name: a.values for a in release.attributes} == {"x": None, "a < b": ("<= p, q", "r", "s: t", "u")}
    leaves = {leaf.id: leaf.counts for leaf in release.trees[0].leaves}
    assert leaves == {"3": {"no: 1": 1, "yes": 1}, "4": {"no: 1": 0, "yes": 3}, "5": {"no: 1": 2, "yes": 1}}
    assert release.trees[0].nodes[1].branches[0].le == 2.4999999999999996
    assert predict(release, FRAME).tolist() == ["no: 1", "no: 1", "yes", "yes", "yes", "no: 1", "no: 1", "no: 1"]
    with pytest.raises(InvalidInput, match="with train= and target=, which tell levels and labels"):
        read(tmp_path, HEAD + TREE)


def test_the_formula_names_the_target(tmp_path: Path) -> None:
    text = "[1] root\n|   [2] x <= 2: a (n = 2, err = 0%)\n|   [3] x > 2: b (n = 2, err = 50%)\n"
    found = read(tmp_path, HEAD + text)
    assert found.release.target.name == 'Y, "class"'
    assert any("without a value" in sentence for sentence in found.lost)
    assert read(tmp_path, text).release.target.name == "class"


def test_shares_of_errors_are_counts_where_only_one_number_is_so_rounded(tmp_path: Path) -> None:
    text = "[1] root\n|   [2] x <= 2: a (n = 314, err = 38.9%)\n|   [3] x > 2: b (n = 4020, err = 47.8%)\n"
    small, large = read(tmp_path, text, classes=("a", "b")).release.trees[0].leaves
    assert small.counts == {"a": 192, "b": 122}
    assert (large.n, large.counts, large.error_rate) == (4020, None, 0.478)
    small, large = read(tmp_path, text, classes=("a", "b", "c")).release.trees[0].leaves
    assert (small.counts, small.error_rate) == (None, 122 / 314)
    assert [leaf.counts for leaf in read(tmp_path, text).release.trees[0].leaves] == [None, None]  # of c, perhaps
    root = read(tmp_path, "[1] root: a (n = 3, err = 33.3%)\n", classes=("a", "b")).release.trees[0].root
    assert root.counts == {"a": 2, "b": 1}


def test_what_is_of_case_weights_is_no_count(tmp_path: Path) -> None:
    found = read(
        tmp_path, "[1] root\n|   [2] x <= 2: a (w = 3.5, err = 0.0%)\n|   [3] x > 2: b (w = 2.0, err = 25.0%)\n"
    )
    assert found.states == {"counts": False, "n": False, "rates": False, "labels": True, "linear": False}
    assert found.release.labels == "decided"


def test_a_level_that_no_branch_names_goes_with_the_majority(tmp_path: Path) -> None:
    text = "[1] root\n|   [2] v in p: a (n = 2, err = 0%)\n|   [3] v in q\n|   |   [4] w in s: a (n = 1, err = 0%)\n"
    text += "|   |   [5] w in t: b (n = 3, err = 0%)\n"
    frame = pd.DataFrame({"v": list("ppqqqq"), "w": list("uusttt"), "Y": list("aaabbb")})
    found = read(tmp_path, text, train=frame, target="Y")
    assert [branch.values for branch in found.release.trees[0].nodes[2].branches] == [("s",), ("t", "u")]
    assert any("majority" in sentence for sentence in found.lost)


def test_thresholds_are_exact_where_no_digit_can_be_lacking(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [0.5, 1.4, 2.25, 3.75], "Y": list("aabb")})
    text = "[1] root\n|   [2] x {}: a (n = 2, err = 0%)\n|   [3] x {}: b (n = 2, err = 0%)\n"
    for low, high, exact in [("<= 1.4", "> 1.4", False), ("<= 1.41", "> 1.41", True), ("< 1.75", ">= 1.75", False)]:
        assert read(tmp_path, text.format(low, high), train=frame, target="Y").exact is exact


def test_what_cannot_be_read_soundly_is_refused(tmp_path: Path) -> None:
    def refused(text: str, reason: str, **said: Any) -> None:
        with pytest.raises(InvalidInput, match=reason):
            read(tmp_path, text, **said)

    gaps = FRAME.assign(x=[None, 2, 3, 4, 5, 1, 2, 3])
    refused(HEAD + TREE, "no missing values in the columns of the tree", target=TOLD["target"], train=gaps)
    refused(HEAD + TREE.replace("50.0", "0.0"), "the errors of the training table, 1 of 2|counts 2, 0", **TOLD)
    refused(HEAD + TREE.replace("n = 2", "n = 4"), "counts 2, 2, as the model says", **TOLD)
    two = "[1] root\n|   [2] x {}: a (n = 2, err = 0%)\n|   [3] x {}: b (n = 2, err = 0%)\n"
    refused(two.format("<= low", "> low"), "levels of an ordered factor are not printed: fit it as a number")
    refused(two.format("<= 2", "> 3"), "a test")
    refused(two.format("in p, q", "in q"), "a test")
    refused("[1] root\n|   [2] x <= 2: 3.5 (n = 2, err = 1.5)\n|   [3] x > 2: 1 (n = 2, err = 0.5)\n", "classification")
    refused("[1] root: a (n = 3, err = 33.3%)\n", "names of the classes")
    refused("[1] root\n|   [2] x <= 2: a (n = 2, err = 0%)\n", "two branches")
    refused("[1] root\n|   [2] x <= 2\n|   |   |   [3] y <= 1: a (n = 2, err = 0%)\n", "at most one deeper")
