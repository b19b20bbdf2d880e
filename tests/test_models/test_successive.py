"""Several releases as one: attributes and classes that agree, and who is in which release."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import maxent
from maxent.models.errors import InvalidInput
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Boosting, Branch, Induction, Node, Release, Target, Tree
from maxent.models.successive.people import read_classes, read_people
from maxent.models.successive.releases import group_name, join_releases, merged

A, B = Attribute("A", values=("x", "y")), Attribute("B", "numeric")
SPLIT = Node("N", "A", (Branch("L", ("x",)), Branch("R", ("y",))))


def release(*attributes: Attribute, classes: tuple[str, ...] = ("a", "b")) -> Release:
    tree = Tree((SPLIT, Node("L", label="a"), Node("R", label="b")), Induction("cart", "gini", "thresholds"))
    return Release(Target("Y", classes), attributes or (A,), (tree,))


OLD, NEW = release(A), release(B, A, classes=("b", "a"))
PEOPLE = pd.DataFrame({"id": [1, 2, 3, 4], "A": ["x", "x", "y", "y"], "B": [1.0, 2.0, 2.0, 3.0]})


def joined(old=PEOPLE.iloc[:3], new=PEOPLE.iloc[1:], who="id", releases=(OLD, NEW), **options):
    return read_people([old, new], join_releases(releases, ["old", "new"]), who=who, reader=Reader(), **options)


def test_new_items_come_after_those_that_they_follow():
    assert merged([["a", "b"], ["a", "x", "b", "z"], ["w"]]) == ["w", "a", "x", "b", "z"]
    assert group_name((True, False, True)) == "1+3"


def test_the_attributes_and_trees_of_all():
    found = join_releases([OLD, NEW], ["old", "new"])
    assert [a.name for a in found.release.attributes] == ["B", "A"]
    assert found.release.target == OLD.target
    assert [tree.nodes for tree in found.release.trees] == [OLD.trees[0].nodes, NEW.trees[0].nodes]
    assert found.parts[0].trees[0].induction.compared == ("A",)
    assert found.parts[1].trees[0].induction.compared is None
    assert found.first == (0, 1)
    assert found.membership is None
    assert not found.reordered
    assert found.notes == ("all releases hold together; trees are numbered through: 1 of old, 2 of new",)


def test_public_wins_and_another_order_of_values_ends_comparisons():
    secret = replace(A, role="private", values=("y", "x"))
    found = join_releases([release(replace(secret, role="public"), B), release(B, A)], ["old", "new"])
    assert found.reordered
    assert found.parts[0].trees[0].induction.compared == ("B",) or found.parts[1].trees[0].induction.compared == ("B",)
    assert any("in different orders" in note for note in found.notes)
    found = join_releases([release(secret), release(A)], ["old", "new"])
    assert [a.role for a in found.release.attributes] == ["public"]
    assert "A is private in old, and taken as public, as in new" in found.notes


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (replace(OLD, target=Target("Z", ("a", "b"))), "new: target: expected 'Y', as in old, found 'Z'"),
        (release(A, classes=("a", "c")), "new: classes: expected the same classes as in old"),
        (release(Attribute("A", "numeric")), "new: A: expected a categorical attribute, as in old, found numeric"),
        (replace(OLD, boosting=Boosting("logit")), "new: boosting: expected trees that state classes"),
    ],
)
def test_releases_that_cannot_be_joined(other, says):
    with pytest.raises(InvalidInput, match=says):
        join_releases([OLD, other], ["old", "new"])


def test_people_are_linked_by_their_keys():
    found = joined()
    table = found.table.frame()
    assert table["releases"].tolist() == ["1", "1+2", "1+2", "2"]
    assert table["A"].tolist() == ["x", "x", "y", "y"]
    assert found.keys is not None
    assert found.keys.tolist() == ["1", "2", "3", "4"]
    root, *others = found.joined.parts[0].trees[0].nodes
    assert root.branches == (Branch("N", values=("1", "1+2")), Branch("(others)", values=("2",)))
    assert others[-1] == Node("(others)")
    truth = PEOPLE.assign(Y=list("abab"))
    assert read_classes(truth, found, "id", Reader()).tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]


def test_keys_of_numbers_are_the_same_beside_missing_ones():
    found = joined(PEOPLE.iloc[:3].astype({"id": float}), PEOPLE.iloc[1:].astype({"id": str}))
    assert found.table.frame()["releases"].tolist() == ["1", "1+2", "1+2", "2"]


def test_without_a_key_one_table_is_within_the_other():
    found = joined(PEOPLE.iloc[1:3], PEOPLE, None)
    assert found.table.frame()["releases"].tolist() == ["2", "1+2", "1+2", "2"]
    assert joined(PEOPLE, PEOPLE, None).joined.membership is None
    with pytest.raises(
        InvalidInput, match=r"who=, the column that names each person, found 1 with B=3, A=y in qi 2, and 0 in qi 1"
    ):
        joined(who=None)


def test_three_tables_each_within_the_next():
    three = join_releases([OLD, NEW, OLD], ["a", "b", "c"])
    found = read_people([PEOPLE.iloc[:2], PEOPLE, PEOPLE.iloc[:3]], three, reader=Reader())
    assert found.table.frame()["releases"].tolist() == ["1+2+3", "1+2+3", "2+3", "2"]


@pytest.mark.parametrize(("old", "says"), [
    (PEOPLE.iloc[[0, 0]], "row 2: id: expected the key of a person, another one on each row, found '1' again"),
    (PEOPLE.assign(id=[1, None, 3, 4]), "row 2: id: expected the key of a person, another one on each row, found none"),
    (PEOPLE.drop(columns="id"), "id: expected a column"),
])  # fmt: skip
def test_keys_that_are_none(old, says):
    with pytest.raises(InvalidInput, match=says):
        joined(old)


def test_people_who_changed_are_named():
    with pytest.raises(InvalidInput, match=r"row 1: B: expected 2 for 2, as on row 2 of qi 1, found 9"):
        joined(new=PEOPLE.iloc[1:].assign(B=[9.0, 2.0, 3.0]))


def test_values_that_a_release_of_theirs_does_not_know():
    wide = release(Attribute("A", values=("x", "y", "z")))
    wide = replace(wide, trees=(Tree((Node("N", label="a"),)),))
    people = PEOPLE.assign(A=["x", "x", "y", "z"])
    assert joined(people.iloc[:3], people, releases=(OLD, wide)).joined.membership is not None
    with pytest.raises(InvalidInput, match=r"A: expected a value that old knows: 'x', 'y', found 'z'"):
        joined(people, people, releases=(OLD, wide))


def test_true_classes_need_the_same_people():
    truth = PEOPLE.assign(Y=list("abab"))
    with pytest.raises(InvalidInput, match="who"):
        read_classes(truth, joined(PEOPLE.iloc[:1], PEOPLE, None), None, Reader())
    with pytest.raises(InvalidInput, match="found nobody with '4'"):
        read_classes(truth.iloc[:3], joined(), "id", Reader())
    with pytest.raises(InvalidInput, match="row 1: id: expected somebody of qi 1, qi 2, found '7'"):
        read_classes(truth.assign(id=[7, 2, 3, 4]), joined(), "id", Reader())


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"who": "A"}, "who: expected a column that names people"),
        ({"who": "id", "count": "B"}, "count: expected none with who="),
    ],
)
def test_options_that_do_not_go_together(options, says):
    with pytest.raises(InvalidInput, match=says):
        joined(**options)


def test_one_table_is_of_everybody():
    found = maxent.bounds([OLD, NEW], PEOPLE, level="closed")
    assert found.frame().columns[:2].tolist() == ["B", "A"]
    with pytest.raises(InvalidInput, match="who: expected none with one table"):
        maxent.bounds([OLD, NEW], PEOPLE, who="id")
    with pytest.raises(InvalidInput, match="qi: expected one table, or 2: one for each release, found 3"):
        maxent.bounds([OLD, NEW], [PEOPLE] * 3)
    with pytest.raises(InvalidInput, match="who: expected none: it applies only to several releases"):
        maxent.bounds(OLD, PEOPLE, who="id")
    assert np.array_equal(
        maxent.bounds([OLD], [PEOPLE], level="closed").low, maxent.bounds(OLD, PEOPLE, level="closed").low
    )
