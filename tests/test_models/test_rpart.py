"""Trees of rpart and partykit, as text and summaries: what their numbers prove, and what is refused."""

from pathlib import Path
from typing import Any

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
    assert read(tmp_path, text, train=frame, target="Y").release.target.classes == ("a", "B")


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


SUMMARY = """Call:
rpart(formula = Y ~ ., data = d)
  n= 9

Node number 1: 9 observations,    complexity param=0.5
  predicted class=no   expected loss=0.3333333  P(node) =1
    class counts:     3     6
   probabilities: 0.333 0.667
  left son=2 (4 obs) right son=3 (5 obs)
  Primary splits:
      a < b splits as  LR-R, improve=2.5, (0 missing)
      x     < 2.5 to the left,  improve=1.5, (0 missing)

Node number 2: 4 observations,    complexity param=0.1
  predicted class=Yes  expected loss=0.25  P(node) =0.4444444
    class counts:     3     1
   probabilities: 0.750 0.250
  left son=4 (3 obs) right son=5 (1 obs)
  Primary splits:
      x < 2.5 to the right, improve=1.5, (0 missing)
  Surrogate splits:
      a < b splits as  L---, agree=0.9, adj=0.1, (0 split)

Node number 3: 5 observations
  predicted class=no   expected loss=0  P(node) =0.5555556
    class counts:     0     5
   probabilities: 0.000 1.000

Node number 4: 3 observations
  predicted class=Yes  expected loss=0  P(node) =0.3333333
    class counts:     3     0
   probabilities: 1.000 0.000

Node number 5: 1 observations
  predicted class=no   expected loss=0  P(node) =0.1111111
    class counts:     0     1
   probabilities: 0.000 1.000
"""
SUMMARY_FRAME = pd.DataFrame(
    {"a < b": ["an"] * 4 + ["Be"] * 3 + ["Da"] * 2, "x": [3, 4, 5, 2, 1, 2, 3, 4, 5], "Y": ["Yes"] * 3 + ["no"] * 6}
)
SUMMARY_THREE = SUMMARY.replace("LR-R", "LRR").replace(
    "L---", "L--"
)  # With as many letters as there are values in the table


def test_counts_prove_the_order_of_the_levels_which_the_locale_sorts(tmp_path: Path) -> None:
    found = read(
        tmp_path, SUMMARY_THREE, train=SUMMARY_FRAME, target="Y"
    )  # an is before Be, as in English, not as in ASCII
    assert (found.format, found.exact) == ("rpart-summary", True)
    assert {a.name: a.values for a in found.release.attributes} == {"a < b": ("an", "Be", "Da"), "x": None}
    assert predict(found.release, SUMMARY_FRAME).tolist() == SUMMARY_FRAME["Y"].tolist()
    assert [leaf.counts for leaf in found.release.trees[0].leaves] == [
        {"Yes": 3, "no": 0},
        {"Yes": 0, "no": 1},
        {"Yes": 0, "no": 5},
    ]


def test_numbers_alone_need_no_table(tmp_path: Path) -> None:
    found = read(tmp_path, SUMMARY.replace("a < b splits as  LR-R,", "z < -0.5 to the left,"))
    assert found.release.target.classes == ("Yes", "no")
    assert found.states["counts"]
    assert not found.exact
    with pytest.raises(InvalidInput, match="names of levels"):
        read(tmp_path, SUMMARY)


def test_labels_under_priors_stay_with_true_counts(tmp_path: Path) -> None:
    text = SUMMARY.replace("a < b splits as  LR-R,", "z < -0.5 to the left,")
    text = text.replace("class=no   expected loss=0  P(node) =0.5", "class=Yes  expected loss=0  P(node) =0.5")
    found = read(tmp_path, text, classes=("Yes", "no"))
    assert found.release.labels == "decided"
    assert found.states["counts"]
    with pytest.raises(InvalidInput, match="names of the classes"):
        read(tmp_path, text)


def test_counts_of_case_weights_are_left_out(tmp_path: Path) -> None:
    text = SUMMARY.replace("a < b splits as  LR-R,", "z < -0.5 to the left,").replace(":     0     5", ":     0   5.5")
    found = read(tmp_path, text)
    assert found.release.labels == "decided"
    assert found.states == {"counts": False, "n": True, "rates": False, "labels": True, "linear": False}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("LRR", "LR-R", "as many values in the training table as levels"),
        ("LRR", "RLR", "training table"),
        ("(0 split)", "(0 spilt)", "a split, such as"),
        ("splits as  LRR", "was split", "a split, such as"),
        ("  left son=2 (4 obs) right son=3 (5 obs)\n", "", "primary splits of a node with children"),
        ("  predicted class=no   expected loss=0.3333333  P(node) =1\n", "  mean=3, MSE=2\n", "classification tree"),
        ("Node number 5", "Node number 4", "each node once"),
        ("5: 1 obs", "5: 2 obs", "usesurrogate"),
        ("counts:     0     1\n", "counts:     0     1    0\n", "as many in every node"),
    ],
)
def test_what_is_no_whole_tree_is_refused_of_summary(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in SUMMARY_THREE
    with pytest.raises(InvalidInput, match=words):
        read(tmp_path, SUMMARY_THREE.replace(old, new, 1), train=SUMMARY_FRAME, target="Y")


def test_orders_that_all_count_right_are_refused(tmp_path: Path) -> None:
    frame = pd.DataFrame({"v": ["a", "a", "B", "B"], "Y": ["n", "y", "n", "y"]})
    node = "  predicted class=n  expected loss=0.5  P(node) =1\n    class counts:  {0}  {0}\n"
    text = "Node number 1: 4 observations\n" + node.format(2) + "  left son=2 (2 obs) right son=3 (2 obs)\n"
    text += "  Primary splits:\n      v splits as  LR, improve=0, (0 missing)\n"
    text += "".join(f"\nNode number {k}: 2 observations\n" + node.format(1) for k in (2, 3))
    with pytest.raises(InvalidInput, match="one order of levels"):
        read(tmp_path, text, train=frame, target="Y")


PARTY_HEAD = '\nModel formula:\n`Y, "class"` ~ x + `a < b`\n\nFitted party:\n'
TREE = """[1] root
|   [2] a < b <= p, q, r
|   |   [3] x < 2.5: no: 1 (n = 2, err = 50.0%)
|   |   [4] x >= 2.5: yes (n = 3, err = 0.0%)
|   [5] a < b in s: t, u: no: 1 (n = 3, err = 33.3%)

Number of inner nodes:    2
Number of terminal nodes: 3
"""
PARTY_FRAME = pd.DataFrame(
    {
        "x": [1, 2, 3, 4, 5, 1, 2, 3],
        "a < b": ["<= p, q", "r", "<= p, q", "r", "r", "s: t", "s: t", "u"],
        'Y, "class"': ["no: 1", "yes", "yes", "yes", "yes", "no: 1", "no: 1", "yes"],
    }
)
TOLD = {"train": PARTY_FRAME, "target": 'Y, "class"'}


def test_levels_and_labels_with_signs_are_told_by_the_table(tmp_path: Path) -> None:
    found = read(tmp_path, PARTY_HEAD + TREE, **TOLD)
    release = found.release
    assert (found.format, found.tool, found.exact) == ("partykit-print", "R partykit", True)
    assert {a.name: a.values for a in release.attributes} == {"x": None, "a < b": ("<= p, q", "r", "s: t", "u")}
    leaves = {leaf.id: leaf.counts for leaf in release.trees[0].leaves}
    assert leaves == {"3": {"no: 1": 1, "yes": 1}, "4": {"no: 1": 0, "yes": 3}, "5": {"no: 1": 2, "yes": 1}}
    assert release.trees[0].nodes[1].branches[0].le == 2.4999999999999996
    assert predict(release, PARTY_FRAME).tolist() == ["no: 1", "no: 1", "yes", "yes", "yes", "no: 1", "no: 1", "no: 1"]
    with pytest.raises(InvalidInput, match="with train= and target=, which tell levels and labels"):
        read(tmp_path, PARTY_HEAD + TREE)


def test_the_formula_names_the_target(tmp_path: Path) -> None:
    text = "[1] root\n|   [2] x <= 2: a (n = 2, err = 0%)\n|   [3] x > 2: b (n = 2, err = 50%)\n"
    found = read(tmp_path, PARTY_HEAD + text)
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

    gaps = PARTY_FRAME.assign(x=[None, 2, 3, 4, 5, 1, 2, 3])
    refused(PARTY_HEAD + TREE, "no missing values in the columns of the tree", target=TOLD["target"], train=gaps)
    refused(PARTY_HEAD + TREE.replace("50.0", "0.0"), "the errors of the training table, 1 of 2|counts 2, 0", **TOLD)
    refused(PARTY_HEAD + TREE.replace("n = 2", "n = 4"), "counts 2, 2, as the model says", **TOLD)
    two = "[1] root\n|   [2] x {}: a (n = 2, err = 0%)\n|   [3] x {}: b (n = 2, err = 0%)\n"
    refused(two.format("<= low", "> low"), "levels of an ordered factor are not printed: fit it as a number")
    refused(two.format("<= 2", "> 3"), "a test")
    refused(two.format("in p, q", "in q"), "a test")
    refused("[1] root\n|   [2] x <= 2: 3.5 (n = 2, err = 1.5)\n|   [3] x > 2: 1 (n = 2, err = 0.5)\n", "classification")
    refused("[1] root: a (n = 3, err = 33.3%)\n", "names of the classes")
    refused("[1] root\n|   [2] x <= 2: a (n = 2, err = 0%)\n", "two branches")
    refused("[1] root\n|   [2] x <= 2\n|   |   |   [3] y <= 1: a (n = 2, err = 0%)\n", "at most one deeper")
