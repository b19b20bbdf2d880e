"""Releases for the attacks: those of the papers, and small ones; and what is true of the leaves of a release."""

import numpy as np
import pandas as pd

from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree
from support.strategies import Case, Style


def true_counts(case: Case, place: np.ndarray) -> dict[int, np.ndarray]:
    """Records of each class in each place of a tree that has any."""
    return {int(at): np.bincount(case.people.y[place == at], minlength=len(case.people.classes)) for at in set(place)}


def sampled(case: Case, style: Style, number: int) -> np.ndarray:
    """Whether each individual entered the counts of a tree, as `strategies.publish` decides it."""
    return np.random.default_rng((style.seed, number)).random(len(case.people)) < style.sampling_rate


def place_of(tree, row):
    """The place that a row of `recovered` is about."""
    if row["node"] is None:
        return 0
    above = [node.id for node in tree.places.tree.nodes].index(row["node"])
    below = np.flatnonzero((tree.places.parent == above) & (tree.places.branch == row["branch"] - 1))
    return int(below[0])


def numeric_split(at: str, attribute: str, cut: float, low: str | None, high: str | None, **stated) -> Node:
    return Node(at, attribute, (Branch(low, le=cut), Branch(high, gt=cut)), **stated)


# The tree of Wakabayashi et al. (2024), Figure 3.
DISEASE = Release(
    Target("Disease", ("yes", "no")),
    tuple(Attribute(name, "numeric") for name in ("height", "weight", "age")),
    (
        Tree(
            (
                numeric_split("N1", "height", 169.5, "N2", "N3"),
                numeric_split("N2", "weight", 59.5, "L1", "L2"),
                numeric_split("N3", "age", 14.5, "L3", "L4"),
                Node("L1", counts={"yes": 2, "no": 1}),
                Node("L2", counts={"yes": 0, "no": 2}),
                Node("L3", counts={"yes": 1, "no": 0}),
                Node("L4", counts={"yes": 1, "no": 2}),
            )
        ),
    ),
)


LOANS = pd.DataFrame(
    [
        ["Unmarried", "Yes", "good"],
        ["Married", "Yes", "good"],
        ["Married", "No", "bad"],
        ["Married", "No", "bad"],
        ["Unmarried", "Yes", "bad"],
        ["Unmarried", "No", "bad"],
    ],
    columns=["Marital Status", "Sports Car", "Loan Risk"],
)
# Friedman et al. (2006), Table 1 and Fig. 1.
LOAN_TREE = Release(
    Target("Loan Risk", ("good", "bad")),
    (
        Attribute("Marital Status", values=("Married", "Unmarried")),
        Attribute("Sports Car", values=("Yes", "No"), role="private"),
    ),
    (
        Tree(
            (
                Node("car", "Sports Car", (Branch("status", ("Yes",)), Branch("l_No", ("No",)))),
                Node("status", "Marital Status", (Branch("l_M", ("Married",)), Branch("l_U", ("Unmarried",)))),
                Node("l_M", counts={"good": 1, "bad": 0}),
                Node("l_U", counts={"good": 1, "bad": 1}),
                Node("l_No", counts={"good": 0, "bad": 3}),
            )
        ),
    ),
)


def pair(*leaves: Node, classes=("a", "b"), **options) -> Release:
    """A tree of one split on A, with a leaf for each of its values."""
    values = tuple("xyzuvw"[: len(leaves)])
    root = Node("root", "A", tuple(Branch(leaf.id, (v,)) for v, leaf in zip(values, leaves, strict=True)))
    return Release(Target("Y", classes), (Attribute("A", values=values),), (Tree((root, *leaves)),), **options)


def people(**counts: int) -> pd.DataFrame:
    return pd.DataFrame({"A": [value for value, n in counts.items() for _ in range(n)]})
