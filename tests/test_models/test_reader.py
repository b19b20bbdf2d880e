"""Reading and writing releases: what is saved comes back equal, and every documented form is read."""

import copy
import json
import math
import os
import pickle
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from support.calls import refusal, refused
from support.documents import DOCUMENTED, REMOVE, changed, release_document

from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.read import parse_release, release_schema, validate_release
from maxent.models.formats.maxent_json.typed import read_typed
from maxent.models.formats.maxent_json.write import release_to_document, save_release
from maxent.models.formats.registry import load_release
from maxent.models.reading import Reading
from maxent.models.release import Attribute, Branch, Defense, Induction, Node, Release, Target, Tree


def test_the_documented_example_is_read_as_it_says():
    release = parse_release(json.loads(DOCUMENTED), "tree.json")
    assert release == Release(
        target=Target("Salary", ("<=50K", ">50K")),
        attributes=(
            Attribute("Education", "categorical", ("Masters", "Doctorate")),
            Attribute("Age", "numeric"),
            Attribute("SportsCar", "categorical", ("yes", "no"), "private"),
        ),
        trees=(
            Tree(
                (
                    Node("N1", "Education", (Branch("N2", ("Masters",)), Branch("L1", ("Doctorate",)))),
                    Node("N2", "Age", (Branch("L2", le=37.5), Branch("L3", gt=37.5))),
                    Node("L1", label=">50K", error_rate=0.25, n=4),
                    Node("L2", counts={"<=50K": 3, ">50K": 1}),
                    Node("L3", label="<=50K"),
                ),
                Induction("id3", "entropy", "unused"),
            ),
        ),
        sampling_rate=0.1,
        suppressed_below=5,
    )
    assert pickle.loads(pickle.dumps(release)) == release


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)


@st.composite
def releases(draw):
    """Valid releases: built from records per leaf, so that every stated number is true of some table."""
    title, *titles = draw(st.lists(NAMES, min_size=2, max_size=4, unique=True))
    classes = tuple(draw(st.lists(NAMES, min_size=1, max_size=3, unique=True)))
    attributes = tuple(
        Attribute(
            name,
            "categorical" if values else "numeric",
            tuple(values) or None,
            draw(st.sampled_from(["public", "private"])),
        )
        for name in titles
        for values in [draw(st.lists(NAMES, max_size=4, unique=True))]
    )
    sampling_rate = draw(st.sampled_from([1.0, 0.5, 1 / 3]))
    below = draw(st.sampled_from([0, 1, 4]))
    number = draw(st.integers(1, 3))
    same_records = number > 1 and sampling_rate == 1 and below < 2  # their counts would have to agree: labels only
    trees = tuple(draw(grown(attributes, classes, below, labels_only=same_records)) for _ in range(number))
    return Release(Target(title, classes), attributes, trees, sampling_rate, below)


@st.composite
def grown(draw, attributes, classes, below, *, labels_only):
    nodes = []

    def published(counts):
        return {label: count if count >= below else 0 for label, count in zip(classes, counts, strict=True)}

    def stated(counts, *, leaf):
        said = {"n": sum(counts)} if draw(st.booleans()) else {}
        said |= {"counts": published(counts)} if draw(st.booleans()) else {}
        if leaf and sum(counts) and draw(st.booleans()):
            label = classes[counts.index(max(counts))]
            rate = 1 - max(counts) / sum(counts)
            said |= {"label": label, **({"error_rate": rate} if draw(st.booleans()) else {})}
        return {key: value for key, value in said.items() if not labels_only or key == "label"}

    def grow(depth):
        """Append the subtree and return its id and its records per class."""
        position, name = len(nodes), f"n{len(nodes)}"
        nodes.append(None)
        if depth == 0 or not attributes or draw(st.booleans()):
            counts = draw(st.lists(st.integers(0, 20), min_size=len(classes), max_size=len(classes)))
            nodes[position] = Node(name, **stated(counts, leaf=True))
            return name, counts
        attribute = draw(st.sampled_from(attributes))
        if attribute.values is None:
            cuts = draw(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=2, unique=True, min_size=1))
            tests = [{"gt": low, "le": high} for low, high in pairwise([None, *sorted(cuts), None])]
        else:
            sides = [draw(st.integers(0, 2)) for _ in attribute.values]
            parts = [[v for v, at in zip(attribute.values, sides, strict=True) if at == side] for side in range(3)]
            tests = [{"values": tuple(part)} for part in parts if part]
        branches, total = [], [0] * len(classes)
        for test in tests:
            removed = draw(st.integers(0, 5)) == 0
            child, counts = (None, [0] * len(classes)) if removed else grow(depth - 1)
            branches.append(Branch(child, **test))
            total = [a + b for a, b in zip(total, counts, strict=True)]
        nodes[position] = Node(name, attribute.name, tuple(branches), **stated(total, leaf=False))
        return name, total

    grow(3)
    induction = Induction(
        draw(st.none() | NAMES),
        draw(st.sampled_from([None, "gini", "entropy", "gain_ratio"])),
        draw(st.sampled_from(["unused", "thresholds", "none"])),
        draw(st.integers(1, 50)),
        draw(st.integers(1, 50)),
        draw(st.sampled_from(["ordinal", "onehot"])),
    )
    return Tree(tuple(nodes), induction)


@settings(max_examples=80, deadline=None)
@given(release=releases())
def test_what_is_saved_comes_back_equal(release, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "round-trip.json"
    save_release(release, path)
    assert load_release(path, Reading(text="exact")) == release
    assert read_typed(path.read_bytes()) is not None  # so that it was read into arrays
    assert parse_release(release_to_document(release), "document") == release


def chain(depth):
    """A tree that peels off one value per level."""
    nodes = []
    for level in range(depth):
        nodes.append(
            {
                "id": f"N{level}",
                "attribute": "Age",
                "branches": [{"le": level, "child": f"L{level}"}, {"gt": level, "child": f"N{level + 1}"}],
                "n": 2 * (depth - level) + 2,
                "counts": {"a": 2 * (depth - level) + 2},
            }
        )
        nodes.append({"id": f"L{level}", "counts": {"a": 2}, "label": "a", "error_rate": 0})
    nodes.append({"id": f"N{depth}", "counts": {"a": 2}})
    return release_document("T", ["a", "b"], {"Age": None}, nodes)


def test_a_tree_of_depth_ten_thousand_is_read_checked_and_saved(tmp_path):
    document = chain(10_000)
    release = parse_release(document, "deep")
    assert len(release.trees[0].nodes) == 20_001
    save_release(release, tmp_path / "deep.json")
    assert load_release(tmp_path / "deep.json") == release
    document["trees"][0]["nodes"][0]["counts"]["a"] += 1
    document["trees"][0]["nodes"][-1]["n"] = 3
    caught = refusal(parse_release, document, "deep")
    assert [(p.where, p.field) for p in caught.problems] == [
        ("node N0", "n"),
        ("node N10000", "n"),
        ("node N0", "counts of a"),
    ]


def test_a_deep_categorical_chain_keeps_only_the_values_that_can_reach():
    """Each level tests the same attribute again and names only what is left: coverage follows the path."""
    values = [f"v{i}" for i in range(60)]
    nodes = []
    for level in range(59):
        tests = ([values[level]], values[level + 1 :])
        children = (f"L{level}", f"N{level + 1}")
        branches = [{"in": test, "child": child} for test, child in zip(tests, children, strict=True)]
        nodes += [{"id": f"N{level}", "attribute": "C", "branches": branches}, {"id": f"L{level}"}]
    document = chain(1) | {
        "attributes": [{"name": "C", "type": "categorical", "values": values}],
        "trees": [{"nodes": [*nodes, {"id": "N59"}]}],
    }
    assert len(parse_release(document, "chain").trees[0].nodes) == 119
    # The reach of a branch ends with it: a sibling subtree sees what its own path leaves.
    document["trees"][0]["nodes"][2]["branches"][1]["in"] = values[3:]
    refused(r"node N1: branches: expected .* every value of C .* no branch for 'v2'", parse_release, document, "chain")


THREE_WAYS = [{"le": 1, "gt": -1, "child": "L2"}, {"le": -1, "child": "L3"}, {"gt": 1, "child": None}]


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("trees", 0, "nodes", 4), {"id": "L3"}),
        (("trees", 0, "nodes", 4), {"id": "L3", "label": "<=50K", "error_rate": 0}),
        (("trees", 0, "nodes", 3, "counts"), {"<=50K": 7}),
        (("trees", 0, "nodes", 3, "counts"), {}),
        (("trees", 0, "nodes", 1, "branches", 0, "child"), None),
        (("trees", 0, "induction"), {"impurity": None}),
        (("trees", 0, "induction"), {}),
        (("release",), {}),
        (("trees", 0, "nodes", 1, "branches"), THREE_WAYS),
    ],
)
def test_the_optional_forms_are_accepted(where, value):
    document = json.loads(DOCUMENTED)
    at = document
    for key in where[:-1]:
        at = at[key]
    at[where[-1]] = value
    if value is None:  # the removed leaf is no longer in the document either
        del document["trees"][0]["nodes"][3]
    release = parse_release(document, "variant")
    assert parse_release(release_to_document(release), "again") == release


def test_missing_classes_count_zero_and_classes_keep_their_order():
    document = json.loads(DOCUMENTED)
    document["trees"][0]["nodes"][3]["counts"] = {">50K": 9}
    assert list(parse_release(document, "tree").trees[0].nodes[3].counts.items()) == [("<=50K", 0), (">50K", 9)]


def test_rates_agree_with_counts_within_the_rounding_of_their_digits():
    document = json.loads(DOCUMENTED) | {"release": {}}
    leaf = document["trees"][0]["nodes"][3]
    leaf.update(label="<=50K", counts={"<=50K": 2, ">50K": 1})
    for rate in (0.3, 0.33, 0.333, 1 / 3, 1 - 2 / 3):
        leaf["error_rate"] = rate
        assert parse_release(document, "tree").trees[0].nodes[3].error_rate == rate
    leaf["error_rate"] = 0.34
    refused(r"node L2: error_rate: expected the share .* 0\.333333, found 0\.34", parse_release, document, "tree")


def test_a_file_with_a_byte_order_mark_is_read(tmp_path):
    (tmp_path / "bom.json").write_bytes(b"\xef\xbb\xbf" + DOCUMENTED.encode())
    assert load_release(tmp_path / "bom.json") == parse_release(json.loads(DOCUMENTED), "documented")


def test_a_saved_file_has_one_line_per_node_and_keeps_names_readable(tmp_path):
    document = json.loads(DOCUMENTED.replace("Masters", "Maîtrise"))
    save_release(parse_release(document, "tree"), str(tmp_path / "tree.json"))
    text = (tmp_path / "tree.json").read_text(encoding="utf-8")
    assert json.loads(text) == document
    lines = text.splitlines()
    for node in document["trees"][0]["nodes"]:
        assert sum(f'{{"id": "{node["id"]}"' in line for line in lines) == 1
    assert [line for line in lines if '"id": "L1"' in line] == [
        '        {"id": "L1", "label": ">50K", "error_rate": 0.25, "n": 4},'
    ]
    assert "Maîtrise" in text


def test_an_invalid_release_is_not_written_and_nothing_is_left_behind(tmp_path):
    good = parse_release(json.loads(DOCUMENTED), "tree")
    path = tmp_path / "tree.json"
    good.save(path)
    before = path.read_bytes()
    refused(r"tree\.json: release: sampling_rate: .* found 1\.5", replace(good, sampling_rate=1.5).save, path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["tree.json"]


def test_releases_built_in_memory_are_checked_and_may_hold_numpy_numbers(tmp_path):
    leaf = Node(
        "L", label="a", error_rate=np.float64(0.25), n=np.int64(4), counts=MappingProxyType({"a": np.int64(3), "b": 1})
    )
    release = Release(Target("T", ("a", "b")), (Attribute("Age", "numeric"),), (Tree((leaf,)),))  # fmt: skip
    validate_release(release)
    save_release(release, tmp_path / "leaf.json")
    assert load_release(tmp_path / "leaf.json") == release
    wrong = replace(release, trees=(Tree((replace(leaf, n=5, branches=(Branch("L"),)),)),), suppressed_below=-1)
    caught = refusal(validate_release, wrong, "grown")
    assert {(p.where, p.field) for p in caught.problems} >= {
        ("release", "suppressed_below"),
        ("node L", "attribute"),
    }
    assert str(caught).startswith("grown: ")


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_no_change_of_a_document_ends_in_another_error_than_invalid_input(data):
    """Put any JSON value anywhere: it is read, or refused with a place."""
    document = copy.deepcopy(json.loads(DOCUMENTED))
    scalars = (
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(max_size=3)
        | st.sampled_from(["N1", "L1", "Age"])
    )
    values = st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3)
    )
    at, key = {"document": document}, "document"
    while isinstance(at[key], dict | list) and at[key] and data.draw(st.integers(0, 4)):
        at = at[key]
        key = data.draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at))))
    at[key] = data.draw(values)
    try:
        release = parse_release(document, "tree.json")
    except InvalidInput as error:
        complaint = [(p.where, p.field, p.expected, p.found) for p in error.problems]
        release = None
    if release is None:
        assert complaint
        assert all(part for problem in complaint for part in problem)
    else:
        assert math.isfinite(release.sampling_rate)
        assert parse_release(release_to_document(release), "again") == release


def test_what_was_done_before_publication_is_kept(tmp_path):
    release = replace(
        parse_release(json.loads(DOCUMENTED), "d"), defense=Defense("prune-leaf", {"k": 5, "l": 1.5, "how": "all"})
    )
    release.save(tmp_path / "tree.json")
    assert load_release(tmp_path / "tree.json") == release


@pytest.mark.parametrize(
    ("defense", "field"),
    [({}, "method"), ({"method": ""}, "method"), ({"method": "erp", "k": None}, "k"), (5, "defense")],
)
def test_a_defense_without_a_method_or_with_other_parameters_is_refused(defense, field):
    document = json.loads(DOCUMENTED)
    document["release"] = {"defense": defense}
    assert [problem.field for problem in refusal(parse_release, document, "d").problems] == [field]


DOCUMENT = json.loads(DOCUMENTED)
INDUCTION = ("trees", 0, "induction")
N1, _, L1, _, L3 = (("trees", 0, "nodes", i) for i in range(5))
# Beside what test_malformed_releases.py tries of both.
STRUCTURAL = [
    (("target", "classes"), []),
    (("target", "classes"), ["a", "a"]),
    (("target", "name"), ""),
    (("attributes",), {}),
    (("release", "sampling_rate"), True),
    (("release", "rounded"), 5),
    (("release", "rounded"), {"base": 5}),
    (("release", "rounded"), {"base": 1, "method": "nearest"}),
    (("release", "rounded"), {"base": 5, "method": "up"}),
    (("release", "rounded"), {"base": 5, "method": "down", "seed": 1}),
    (("release", "extra"), 1),
    (("trees", 0, "extra"), 1),
    ((*INDUCTION, "min_samples_leaf"), "1"),
    ((*N1, "branches", 0, "child"), 3),
    ((*L1, "id"), REMOVE),
    ((*L1, "n"), 1.5),
    ((*L1, "n"), 2**60),
    ((*L3, "part_of"), ""),
    ((*L1, "part_of"), "L"),
]


@pytest.fixture(scope="module")
def validator():
    return Draft202012Validator(release_schema())


def test_checking_the_schema_itself_raises_nothing():
    Draft202012Validator.check_schema(release_schema())


def test_the_documented_example_and_its_saved_form_are_valid(validator):
    for document in (DOCUMENT, release_to_document(parse_release(DOCUMENT, "tree.json"))):
        assert [error.message for error in validator.iter_errors(document)] == []


def test_optional_parts_are_valid(validator):
    document = copy.deepcopy(DOCUMENT)
    del document["release"]
    document["trees"][0]["induction"] = {"impurity": None, "min_samples_leaf": 8, "k": 5, "encoding": "onehot"}
    document["trees"][0]["nodes"][1]["branches"] = [
        {"le": 1, "gt": 0, "child": "L2"},
        {"le": 0, "child": "L3"},
        {"gt": 1, "child": None},
    ]
    assert list(validator.iter_errors(document)) == []
    assert parse_release(document, "tree.json").trees[0].induction.k == 5


@pytest.mark.parametrize(("path", "value"), STRUCTURAL)
def test_structural_errors_fail_the_schema_and_the_reader(path, value, validator):
    document = changed(DOCUMENT, (path, value))
    assert not validator.is_valid(document)
    with pytest.raises(InvalidInput):
        parse_release(document, "tree.json")


def test_the_schema_is_a_fresh_copy_each_time():
    release_schema()["properties"].clear()
    assert "trees" in release_schema()["properties"]
