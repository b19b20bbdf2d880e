"""Several sensitive columns as one target: names of combinations, tables, documents."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import maxent
from maxent.api.estimate import compile_release
from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.typed import read_typed
from maxent.models.release import Target
from maxent.models.tables.classes import joined_name, marginal, part_codes, product_classes, product_target
from maxent.models.tables.training import read_training
from maxent.models.trees.restate import of_target

PEOPLE = pd.DataFrame(
    {
        "job": ["clerk", "clerk", "clerk", "baker", "baker", "baker"],
        "pay": ["R&D", "low", "low", "low", "R&D", "R&D"],
        "ill": ["no", "no", "yes", "no", "yes", "no"],
    }
)
CLASSES = ("R\\&D & no", "R\\&D & yes", "low & no", "low & yes")


def defended(**options: Any) -> Any:
    return maxent.defend(PEOPLE, "none", target=["pay", "ill"], qi=["job"], **options)


def test_no_two_combinations_have_one_name():
    parts = [["a", "a & b", "a\\", "\\& b"], ["b & c", "c", "& c", "\\"]]
    names = product_classes(parts)
    assert len(set(names)) == 16
    assert joined_name(["a & b", "c\\"]) == "a \\& b & c\\\\"


def test_classes_are_all_combinations_and_the_last_column_changes_first():
    training = read_training(PEOPLE, target=["pay", "ill"], qi=["job"])
    assert training.target.classes == CLASSES
    assert training.target.name == "pay & ill"
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
    with pytest.raises(InvalidInput, match=says):
        maxent.defend(PEOPLE, "none", target=target, qi=["job"])


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
    with pytest.raises(InvalidInput, match=says):
        maxent.load_release(path)
    assert read_typed(path.read_bytes()) is None


def test_an_attribute_has_the_name_of_no_sensitive_column(tmp_path):
    path = tmp_path / "tree.json"
    defended().release.save(path)
    path.write_text(path.read_text().replace('"job"', '"ill"'))
    with pytest.raises(InvalidInput, match="a name other than the target's"):
        maxent.load_release(path)


def test_tables_have_the_columns_apart(tmp_path):
    release = defended().release
    facts = pd.DataFrame({"job": ["baker"], "pay": ["R&D"], "ill": ["yes"]})
    (fact,) = (c for c in compile_release(release, PEOPLE[["job"]], facts=facts).linear if "facts" in str(c.origin))
    assert (fact.lower.max(), fact.coef.sum(axis=0).argmax()) == (1, 1)
    marginals = pd.DataFrame({"pay": ["R&D", "low"], "ill": ["no", "no"], "probability": [0.75, 0.25]})
    found = maxent.estimate(release, PEOPLE[["job"]], knowledge="marginal", marginal=marginals)
    assert found.probabilities.tolist() == pytest.approx(np.array([[0.75, 0, 0.25, 0]] * 2), abs=1e-6)
    with pytest.raises(InvalidInput, match="ill: expected a column of this name"):
        maxent.estimate(release, PEOPLE[["job"]], PEOPLE.drop(columns="ill"))
    with pytest.raises(InvalidInput, match="found 'low & perhaps'"):
        maxent.estimate(release, PEOPLE[["job"]], PEOPLE.replace({"ill": {"no": "perhaps"}}))


def test_labels_of_combinations_say_nothing_alone_of_one_column():
    release = of_target(defended(publish="labels").release, 0)
    assert release.labels == "decided"
    assert all(leaf.label is not None and leaf.counts is None for leaf in release.trees[0].leaves)
    counted = of_target(defended().release, 0)
    assert [dict(leaf.counts) for leaf in counted.trees[0].leaves] == [{"R&D": 2, "low": 1}, {"R&D": 1, "low": 2}]
