"""Several releases as one: attributes and classes that agree, and who is in which release."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.calls import refused

import maxent
from maxent.api.estimate import compile_release
from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.typed import read_typed
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Boosting, Branch, Induction, Node, Release, Target, Tree
from maxent.models.successive.people import read_classes, read_people
from maxent.models.successive.releases import group_name, join_releases, merged
from maxent.models.tables.classes import joined_name, marginal, part_codes, product_classes, product_target
from maxent.models.tables.training import read_training
from maxent.models.trees.restate import of_target

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
        (replace(OLD, target=Target("class", ("a", "b"))), r"as in old \(class is the name .*vert\(model, target=\)"),
        (release(A, classes=("a", "c")), "new: classes: expected the same classes as in old"),
        (release(Attribute("A", "numeric")), "new: A: expected a categorical attribute, as in old, found numeric"),
        (replace(OLD, boosting=Boosting("logit")), "new: boosting: expected trees that state classes"),
    ],
)
def test_releases_that_cannot_be_joined(other, says):
    refused(says, join_releases, [OLD, other], ["old", "new"])


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
    assert joined(PEOPLE.iloc[1:3], PEOPLE, None).table.frame()["releases"].tolist() == ["2", "1+2", "1+2", "2"]
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
    refused(says, joined, old)


def test_people_who_changed_are_named():
    with pytest.raises(InvalidInput, match=r"row 1: B: expected 2 for 2, as on row 2 of qi 1, found 9"):
        joined(new=PEOPLE.iloc[1:].assign(B=[9.0, 2.0, 3.0]))


def test_values_that_a_release_of_theirs_does_not_know():
    wide = release(Attribute("A", values=("x", "y", "z")))
    wide = replace(wide, trees=(Tree((Node("N", label="a"),)),))
    people = PEOPLE.assign(A=["x", "x", "y", "z"])
    assert joined(people.iloc[:3], people, releases=(OLD, wide)).joined.membership is not None
    refused(r"A: expected a value that old knows: 'x', 'y', found 'z'", joined, people, people, releases=(OLD, wide))


def test_true_classes_need_the_same_people():
    truth = PEOPLE.assign(Y=list("abab"))
    refused("who", read_classes, truth, joined(PEOPLE.iloc[:1], PEOPLE, None), None, Reader())
    refused("found nobody with '4'", read_classes, truth.iloc[:3], joined(), "id", Reader())
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
    refused(says, joined, **options)


def test_one_table_is_of_everybody():
    assert maxent.bounds([OLD, NEW], PEOPLE, level="closed").frame().columns[:2].tolist() == ["B", "A"]
    refused("who: expected none with one table", maxent.bounds, [OLD, NEW], PEOPLE, who="id")
    refused("qi: expected one table, or 2: one for each release, found 3", maxent.bounds, [OLD, NEW], [PEOPLE] * 3)
    refused("who: expected none: it applies only to several releases", maxent.bounds, OLD, PEOPLE, who="id")
    assert np.array_equal(
        maxent.bounds([OLD], [PEOPLE], level="closed").low, maxent.bounds(OLD, PEOPLE, level="closed").low
    )


PRODUCT_PEOPLE = pd.DataFrame(
    {
        "job": ["clerk", "clerk", "clerk", "baker", "baker", "baker"],
        "pay": ["R&D", "low", "low", "low", "R&D", "R&D"],
        "ill": ["no", "no", "yes", "no", "yes", "no"],
    }
)
CLASSES = ("R\\&D & no", "R\\&D & yes", "low & no", "low & yes")


def defended(**options: Any) -> Any:
    return maxent.defend(PRODUCT_PEOPLE, "none", target=["pay", "ill"], qi=["job"], **options)


def test_no_two_combinations_have_one_name():
    assert len(set(product_classes([["a", "a & b", "a\\", "\\& b"], ["b & c", "c", "& c", "\\"]]))) == 16
    assert joined_name(["a & b", "c\\"]) == "a \\& b & c\\\\"


def test_classes_are_all_combinations_and_the_last_column_changes_first():
    training = read_training(PRODUCT_PEOPLE, target=["pay", "ill"], qi=["job"])
    assert (training.target.classes, training.target.name) == (CLASSES, "pay & ill")
    assert training.target.columns == ("pay", "ill")
    assert training.y.tolist() == [0, 2, 3, 2, 1, 0]
    assert part_codes(training.target, 1).tolist() == [0, 1, 0, 1]


def test_counts_of_a_column_are_sums_of_those_of_combinations():
    target = product_target("test", [Target("a", ("x", "y")), Target("b", ("p", "q", "r")), Target("c", ("u", "v"))])
    values = np.arange(12).reshape(1, 12)
    assert marginal(values, target, 0).tolist() == [[15, 51]]
    assert marginal(values, target, 1).tolist() == [[14, 22, 30]]
    assert marginal(values, target, 2).tolist() == [[30, 36]]


@pytest.mark.parametrize(
    ("target", "says"),
    [
        (["pay", "job"], "a column that is not among qi"),
        (["pay", "pay"], "each column once"),
        ([], "the name of a column, or a list of the names of several"),
        (["pay", 3], "the name of a column, or a list of the names of several"),
        (["pay", "size"], "size: expected a column of this name"),
    ],
)
def test_wrong_targets_are_refused(target, says):
    refused(says, maxent.defend, PRODUCT_PEOPLE, "none", target=target, qi=["job"])


def test_many_combinations_are_refused():
    people = pd.DataFrame({"q": "a", "s": [f"s{i}" for i in range(13)], "t": [f"t{i % 5}" for i in range(13)]})
    with pytest.raises(InvalidInput, match=r"at most 64 combinations of classes.*13 x 5 = 65"):
        maxent.defend(people, "none", target=["s", "t"], qi=["q"])


def test_a_document_names_the_columns_and_both_readers_read_it(tmp_path):
    release = defended().release
    path = tmp_path / "tree.json"
    release.save(path)
    assert json.loads(path.read_text())["target"]["of"] == [
        {"name": "pay", "classes": ["R&D", "low"]},
        {"name": "ill", "classes": ["no", "yes"]},
    ]
    assert maxent.load_release(path) == release
    assert read_typed(path.read_bytes()).target == release.target


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"of": [{"name": "pay", "classes": ["R&D", "low"]}]}, "two or more sensitive columns"),
        ({"of": [{"name": "ill", "classes": ["no", "yes"]}] * 2}, "two or more sensitive columns of different names"),
        ({"name": "both"}, "'pay & ill', the names in `of`"),
        ({"classes": [*CLASSES[::-1]]}, "the combinations of those in `of`"),
        ({"numbers": [1, 2, 3, 4]}, "none, of several sensitive columns"),
        ({"of": []}, "a non-empty list of sensitive columns"),
        ({"of": [{"name": "pay"}, {"name": "ill", "classes": ["no", "yes"]}]}, "column 1: classes"),
        ({"of": [{"name": c, "classes": [*map(str, range(9))]} for c in "ab"]}, "at most 64 combinations"),
    ],
)
def test_documents_that_contradict_themselves_are_refused(tmp_path, change, says):
    path = tmp_path / "tree.json"
    defended().release.save(path)
    document = json.loads(path.read_text())
    document["target"] |= change
    path.write_text(json.dumps(document))
    refused(says, maxent.load_release, path)
    assert read_typed(path.read_bytes()) is None


def test_an_attribute_has_the_name_of_no_sensitive_column(tmp_path):
    path = tmp_path / "tree.json"
    defended().release.save(path)
    path.write_text(path.read_text().replace('"job"', '"ill"'))
    refused("a name other than the target's", maxent.load_release, path)


def test_tables_have_the_columns_apart(tmp_path):
    release = defended().release
    facts = pd.DataFrame({"job": ["baker"], "pay": ["R&D"], "ill": ["yes"]})
    (fact,) = (
        c for c in compile_release(release, PRODUCT_PEOPLE[["job"]], facts=facts).linear if "facts" in str(c.origin)
    )
    assert (fact.lower.max(), fact.coef.sum(axis=0).argmax()) == (1, 1)
    marginals = pd.DataFrame({"pay": ["R&D", "low"], "ill": ["no", "no"], "probability": [0.75, 0.25]})
    found = maxent.estimate(release, PRODUCT_PEOPLE[["job"]], knowledge="marginal", marginal=marginals)
    assert found.probabilities.tolist() == pytest.approx(np.array([[0.75, 0, 0.25, 0]] * 2), abs=1e-6)
    with pytest.raises(InvalidInput, match="ill: expected a column of this name"):
        maxent.estimate(release, PRODUCT_PEOPLE[["job"]], PRODUCT_PEOPLE.drop(columns="ill"))
    with pytest.raises(InvalidInput, match="found 'low & perhaps'"):
        maxent.estimate(release, PRODUCT_PEOPLE[["job"]], PRODUCT_PEOPLE.replace({"ill": {"no": "perhaps"}}))


def test_labels_of_combinations_say_nothing_alone_of_one_column():
    release = of_target(defended(publish="labels").release, 0)
    assert release.labels == "decided"
    assert all(leaf.label is not None and leaf.counts is None for leaf in release.trees[0].leaves)
    counted = of_target(defended().release, 0)
    assert [dict(leaf.counts) for leaf in counted.trees[0].leaves] == [{"R&D": 2, "low": 1}, {"R&D": 1, "low": 2}]
