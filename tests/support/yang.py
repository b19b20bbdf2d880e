"""The worked example of Yang et al. (2019): the tree of Figure 1 and the records of Table 1."""

import pandas as pd

from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree

RANGES = {"Age": (22.0, 80.0)}

# By leaf. Those of leaves 4 and 5 are printed in Table 1, in this order; the others obey the tree and its range.
AGES = {4: [57, 61], 5: [42, 29, 38], 7: [30, 33, 36, 39], 8: [22, 65], 9: [66, 70, 80]}


def figure_1() -> Release:
    """The tree of Figure 1; the ids are the paper's numbers."""

    def leaf(number: int, yes: int, no: int) -> Node:
        label = "Yes" if yes >= no else "No"
        return Node(str(number), label=label, n=yes + no, counts={"Yes": yes, "No": no})

    def split(number: int, attribute: str, *branches: Branch) -> Node:
        return Node(str(number), attribute, branches)

    def values(child: int, value: str) -> Branch:
        return Branch(str(child), values=(value,))

    return Release(
        Target("Bought", ("Yes", "No")),
        (
            Attribute("Age", "numeric"),
            Attribute("Gender", values=("Female", "Male")),
            Attribute("Marital Status", values=("Married", "Not Married")),
        ),
        (
            Tree(
                (
                    split(1, "Gender", values(2, "Female"), values(3, "Male")),
                    split(2, "Marital Status", values(4, "Married"), values(5, "Not Married")),
                    split(3, "Marital Status", values(6, "Married"), values(7, "Not Married")),
                    leaf(4, 2, 0),
                    leaf(5, 0, 3),
                    split(6, "Age", Branch("8", le=65.0), Branch("9", gt=65.0)),
                    leaf(7, 3, 1),
                    leaf(8, 2, 0),
                    leaf(9, 0, 3),
                )
            ),
        ),
    )


def records() -> pd.DataFrame:
    """The 14 records, those of Table 1 first; the column ``leaf`` says where they are."""
    rows = []
    for leaf, ages in AGES.items():
        gender = "Female" if leaf < 6 else "Male"
        marital = "Married" if leaf in (4, 8, 9) else "Not Married"
        bought = ["No"] * len(ages) if leaf in (5, 9) else ["Yes"] * 3 + ["No"]
        rows += [(age, gender, marital, answer, leaf) for age, answer in zip(ages, bought, strict=False)]
    return pd.DataFrame(rows, columns=["Age", "Gender", "Marital Status", "Bought", "leaf"])


WIDE = (-3.0, 10.0)


def wide_ranges(release):
    return {a.name: WIDE for a in release.attributes if a.values is None}


def chain(depth):
    """A tree that cuts off one record after the other."""
    nodes = []
    for i in range(depth):
        nodes.append(Node(f"N{i}", "q", (Branch(f"L{i}", le=float(i)), Branch(f"N{i + 1}", gt=float(i)))))
        nodes.append(Node(f"L{i}", counts={"x": i % 2, "z": (i + 1) % 2}))
    nodes.append(Node(f"N{depth}", counts={"x": 1, "z": 0}))
    return Release(Target("y", ("x", "z")), (Attribute("q", "numeric"),), (Tree(tuple(nodes)),))
