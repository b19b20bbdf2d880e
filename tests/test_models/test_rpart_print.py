"""Text of rpart: tests, levels and labels with any signs in them, what its numbers prove, and what is refused."""

from pathlib import Path

import pandas as pd
import pytest
from support.models import reads

from maxent.models.errors import InvalidInput
from maxent.models.formats.outline import levels_in
from maxent.models.trees.predict import predict

HEAD = "n= 9 \n\nnode), split, n, loss, yval, (yprob)\n      * denotes terminal node\n\n"
TWO = (
    HEAD
    + """1) root 9 3 1 no (0.6666667 0.3333333)  
  2) a < b=level 4 4 1 yes (0.2500000 0.7500000)  
    4) x>=2.5 3 0 yes (0.0000000 1.0000000) *
    5) x< 2.5 1 0 1 no (1.0000000 0.0000000) *
  3) a < b=level 1,p, q 5 0 1 no (1.0000000 0.0000000) *
"""
)
FRAME = pd.DataFrame(
    {
        "a < b": ["level 4"] * 4 + ["level 1"] * 3 + ["p, q"] * 2,
        "x": [3, 4, 5, 2, 1, 2, 3, 4, 5],
        "Y": ["yes"] * 3 + ["1 no"] * 6,
    }
)
THREE = HEAD + "1) root 9 5 b (0.333333 0.444444 0.222222)  \n  2) x< 3 5 2 a (0.600000 0.200000 0.200000) *\n"
THREE += "  3) x>=3 4 1 b (0.000000 0.750000 0.250000) *\n"


read = reads("model.txt")


def test_tests_levels_and_labels_with_signs_are_told_by_numbers_and_the_table(tmp_path: Path) -> None:
    found = read(tmp_path, TWO, train=FRAME, target="Y")
    release = found.release
    assert (found.format, found.tool, found.exact) == ("rpart-print", "R rpart", True)
    assert release.target.classes == ("1 no", "yes")
    assert predict(release, FRAME).tolist() == FRAME["Y"].tolist()
    leaves = {leaf.id: leaf.counts for leaf in release.trees[0].leaves}
    assert leaves == {"4": {"1 no": 0, "yes": 3}, "5": {"1 no": 1, "yes": 0}, "3": {"1 no": 5, "yes": 0}}
    assert {a.name: a.values for a in release.attributes} == {"a < b": ("level 4", "level 1", "p, q"), "x": None}
    assert release.trees[0].nodes[1].branches[0].gt == 2.4999999999999996


def test_of_three_classes_sizes_labels_and_rates_are_printed(tmp_path: Path) -> None:
    found = read(tmp_path, THREE, classes=("a", "b", "c"))
    first, second = found.release.trees[0].leaves
    assert (first.label, first.n, first.counts) == ("a", 5, None)
    assert second.rates == {"a": 0.0, "b": 0.75, "c": 0.25}
    assert not found.exact
    with pytest.raises(InvalidInput, match="names of 3 classes"):
        read(tmp_path, THREE)


def test_classes_are_in_the_order_of_the_shares_whatever_the_locale_sorts(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1, 2, 3], "Y": ["a", "a", "B"]})
    text = HEAD + "1) root 3 1 a (0.6667 0.3333)\n  2) x< 2.5 2 0 a (1 0) *\n  3) x>=2.5 1 0 B (0 1) *\n"
    found = read(tmp_path, text, train=frame, target="Y")
    assert found.release.target.classes == ("a", "B")


def test_losses_under_priors_are_no_counts(tmp_path: Path) -> None:
    text = HEAD + "1) root 9 4.5 a (0.5 0.5)\n  2) x< 2.5 4 0.9 b (0.2 0.8) *\n  3) x>=2.5 5 1.5 a (0.75 0.25) *\n"
    found = read(tmp_path, text)
    assert found.release.labels == "decided"
    assert found.states == {"counts": False, "n": True, "rates": False, "labels": True, "linear": False}
    assert any("priors" in sentence for sentence in found.lost)


def test_losses_that_were_rounded_for_print_are_no_counts(tmp_path: Path) -> None:
    text = HEAD + "1) root 9000 3000 a (0.667 0.333)\n  2) x< 2.5 4500 1230 a (0.726 0.274) *\n"
    found = read(tmp_path, text + "  3) x>=2.5 4500 1770 a (0.606 0.394) *\n", classes=("a", "b"))
    assert not found.states["counts"]
    assert found.states["rates"]


def test_of_five_classes_large_losses_are_rates(tmp_path: Path) -> None:
    shares = "(0.60 0.10 0.10 0.10 0.10)"
    text = HEAD + f"1) root 6000 2400 a {shares}\n  2) x< 2.5 3000 1200 a {shares} *\n"
    text += f"  3) x>=2.5 3000 1201 a {shares} *\n"
    found = read(tmp_path, text, classes=tuple("abcde"))
    assert [leaf.error_rate for leaf in found.release.trees[0].leaves] == [None, 1201 / 3000]


def test_a_value_that_no_record_of_a_node_has_goes_with_the_majority(tmp_path: Path) -> None:
    text = HEAD + "1) root 6 2 a (0.6667 0.3333)\n  2) v=p,q 4 1 a (0.7500 0.2500)\n    4) w=s 3 0 a (1 0) *\n"
    text += "    5) w=t 1 0 b (0 1) *\n  3) v=r 2 1 a (0.5000 0.5000) *\n"
    frame = pd.DataFrame({"v": list("pppqrr"), "w": list("ssstut"), "Y": list("aaabab")})
    found = read(tmp_path, text, train=frame, target="Y")
    assert predict(found.release, pd.DataFrame({"v": ["p"], "w": ["u"]})).tolist() == ["a"]
    assert any("surrogate" in sentence for sentence in found.lost)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("n, loss, yval, (yprob)", "n, deviance, yval", "classification tree"),
        ("level 4 4", "lv4 4", "levels printed whole"),
        ("level 1,p, q", "level 1,level 4,p, q", "levels printed whole"),
        ("x< 2.5", "x< 2", "the other branch"),
        ("x< 2.5 1 0", "x< 2.5 2 0", "usesurrogate"),
        ("    5) x", "    7) x", "nodes 4 and 5"),
        (" (1.0000000 0.0000000) *\n  3)", " *\n  3)", "a node, such as"),
        ("(0.0000000 1.0000000)", "(0.0000000 1.5)", "a share of each class"),
        ("2.5 3 0 yes", "2.5 3 0 maybe", "a label that|n, loss, yval"),
        ("1) root 9 3 1 no (0.6666667 0.3333333)", "1) root 9 3", "a node, such as"),
        ("x>=2.5 3 0 yes", "x>=2.5 3.5 0 yes", "n, loss, yval"),
    ],
)
def test_what_is_no_whole_tree_is_refused(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in TWO
    with pytest.raises(InvalidInput, match=words):
        read(tmp_path, TWO.replace(old, new, 1), train=FRAME, target="Y")


def test_a_tree_of_another_table_or_one_with_gaps_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="training table"):
        read(tmp_path, TWO, train=FRAME.iloc[:8], target="Y")
    frame = FRAME.copy()
    frame.loc[0, "a < b"] = None
    with pytest.raises(InvalidInput, match="surrogate splits, which are not printed"):
        read(tmp_path, TWO, train=frame, target="Y")


def test_levels_are_parted_where_that_has_one_meaning() -> None:
    assert levels_in("a,b, c", ["a", "b, c", "b"]) == ("a", "b, c")
    assert levels_in("a,b", ["a", "b", "a,b"]) is None
    assert levels_in("a,x", ["a", "b"]) is None
    assert levels_in("a,b", None) == ("a", "b")
    assert levels_in("a, b", None) is None
