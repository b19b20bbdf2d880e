"""Trees that only say what they test become a release: domains, the rest of a domain, roles, names."""

from typing import Any

import pandas as pd
import pytest

from maxent.models.errors import InvalidInput
from maxent.models.formats.assemble import assemble, rest
from maxent.models.formats.maxent_json.read import validate_release
from maxent.models.formats.proof import read_training
from maxent.models.formats.release_reader import Wanted
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Branch, Node, Release, Tree

TREE = Tree(
    (
        Node("N", "colour", (Branch("M", values=("red",)), rest("L0"))),
        Node("M", "age", (Branch("L1", le=3.0), Branch("L2", gt=3.0))),
        *(Node(f"L{i}", label="a") for i in range(3)),
    )
)
FRAME = pd.DataFrame({"age": [1, 2], "colour": ["blue", "red"], "town": ["x", None], "Y": ["b", "a"]})


def made(tree: Tree = TREE, known: Any = None, **said: Any) -> Release:
    wanted = Wanted(**said)
    found = assemble("model", [tree], ("a", "b"), wanted, read_training(wanted, Reader()), known=known)
    validate_release(found)
    return found


def values(release: Release) -> dict[str, tuple[str, ...] | None]:
    return {attribute.name: attribute.values for attribute in release.attributes}


def test_the_rest_of_a_domain_comes_from_the_training_table_or_the_file() -> None:
    found = made(train=FRAME, target="Y")
    assert values(found) == {"age": None, "colour": ("blue", "red")}
    assert found.trees[0].root.branches[1].values == ("blue",)
    assert found.target.name == "Y"
    declared = {"colour": Attribute("colour", "categorical", ("red", "green", "(missing)"))}
    assert made(known=declared).trees[0].root.branches[1].values == ("green", "(missing)")
    assert made().trees[0].root.branches[1].values == ("(other)",)
    assert made(known={"colour": Attribute("colour", "categorical", ("red",))}).attributes[0].values == (
        "red",
        "(other)",
    )
    assert made().target.name == "class"


def test_empty_cells_of_what_no_tree_tests_are_values() -> None:
    frame = FRAME.assign(age=[1, None], wage=[None, 2.5])
    found = {a.name: a for a in made(train=frame, target="Y", qi=("town", "wage", "age")).attributes}
    assert found["town"].values == ("x", "(missing)")
    assert found["wage"].missing
    assert not found["age"].missing  # the tree tests it, and does not say where missing ones go
    assert (
        Attribute("wage", "numeric", missing=True)
        in made(train=frame, target="Y", known={"wage": Attribute("wage", "numeric")}).attributes
    )


def test_what_is_no_quasi_identifier_is_private() -> None:
    roles = {a.name: a.role for a in made(train=FRAME, target="Y", qi=("age", "town")).attributes}
    assert roles == {"age": "public", "colour": "private", "town": "public"}
    for qi in (("Y",), ("ages",)):
        with pytest.raises(InvalidInput, match="attributes of the model"):
            made(train=FRAME, target="Y", qi=qi)


def test_missing_numbers_are_a_value_where_a_branch_takes_them() -> None:
    third = Tree((Node("N", "age", (Branch("A", le=3.0), Branch("B", gt=3.0), rest("C"))), *(Node(c) for c in "ABC")))
    found = made(third)
    assert found.attributes == (Attribute("age", "numeric", missing=True),)
    assert found.trees[0].root.branches[2] == Branch("C", missing=True)


def test_an_attribute_is_of_numbers_or_of_names() -> None:
    both = Tree((Node("N", "age", (Branch("A", le=3.0), Branch("B", values=("x",)))), Node("A"), Node("B")))
    with pytest.raises(InvalidInput, match="tests of numbers, or of names"):
        made(both)
    with pytest.raises(InvalidInput, match="a name that no attribute has"):
        made(target="age")


def test_labels_are_decided_where_one_is_no_majority() -> None:
    leaf = Node("L", label="a", n=4, counts={"a": 1, "b": 3})
    assert made(Tree((leaf,))).labels == "decided"
    assert made(Tree((Node("L", label="a", n=4, error_rate=0.75),))).labels == "decided"
    assert made(Tree((Node("L", label="a", n=4, error_rate=0.5),))).labels == "majority"
