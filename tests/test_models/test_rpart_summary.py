"""The summary of rpart: counts of every node, levels that are letters, and what is refused."""

from pathlib import Path

import pandas as pd
import pytest
from support.models import reads

from maxent.models.errors import InvalidInput
from maxent.models.trees.predict import predict

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
FRAME = pd.DataFrame(
    {"a < b": ["an"] * 4 + ["Be"] * 3 + ["Da"] * 2, "x": [3, 4, 5, 2, 1, 2, 3, 4, 5], "Y": ["Yes"] * 3 + ["no"] * 6}
)
THREE = SUMMARY.replace("LR-R", "LRR").replace("L---", "L--")  # With as many letters as there are values in the table


read = reads("model.txt")


def test_counts_prove_the_order_of_the_levels_which_the_locale_sorts(tmp_path: Path) -> None:
    found = read(tmp_path, THREE, train=FRAME, target="Y")  # an is before Be, as in English, not as in ASCII
    assert (found.format, found.exact) == ("rpart-summary", True)
    assert {a.name: a.values for a in found.release.attributes} == {"a < b": ("an", "Be", "Da"), "x": None}
    assert predict(found.release, FRAME).tolist() == FRAME["Y"].tolist()
    assert [leaf.counts for leaf in found.release.trees[0].leaves] == [
        {"Yes": 3, "no": 0},
        {"Yes": 0, "no": 1},
        {"Yes": 0, "no": 5},
    ]


def test_numbers_alone_need_no_table(tmp_path: Path) -> None:
    text = SUMMARY.replace("a < b splits as  LR-R,", "z < -0.5 to the left,")
    found = read(tmp_path, text)
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
def test_what_is_no_whole_tree_is_refused(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in THREE
    with pytest.raises(InvalidInput, match=words):
        read(tmp_path, THREE.replace(old, new, 1), train=FRAME, target="Y")


def test_orders_that_all_count_right_are_refused(tmp_path: Path) -> None:
    frame = pd.DataFrame({"v": ["a", "a", "B", "B"], "Y": ["n", "y", "n", "y"]})
    node = "  predicted class=n  expected loss=0.5  P(node) =1\n    class counts:  {0}  {0}\n"
    text = "Node number 1: 4 observations\n" + node.format(2) + "  left son=2 (2 obs) right son=3 (2 obs)\n"
    text += "  Primary splits:\n      v splits as  LR, improve=0, (0 missing)\n"
    text += "".join(f"\nNode number {k}: 2 observations\n" + node.format(1) for k in (2, 3))
    with pytest.raises(InvalidInput, match="one order of levels"):
        read(tmp_path, text, train=frame, target="Y")
