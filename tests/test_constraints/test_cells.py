"""Cells: the span of a quasi-identifier over the leaves that its private values may lead to."""

import numpy as np
import pandas as pd
from support.documents import release_document

from maxent.constraints.presolve.merge import alike
from maxent.constraints.program.cells import build_cells
from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.tables.qi_table import read_qi

CITY = {"name": "City", "type": "categorical", "values": ["a", "b"]}
CAR = {"name": "Car", "type": "categorical", "values": ["yes", "no"], "role": "private"}
PAY = {"name": "Pay", "type": "numeric", "role": "private"}


def release(*trees, attributes=(CITY, CAR, PAY)):
    return parse_release(release_document("Ill", ["y", "n"], attributes, *(nodes for nodes in trees)), "test")


def split(id_, attribute, *branches):
    return {"id": id_, "attribute": attribute, "branches": [{**how, "child": child} for how, child in branches]}


def cells_of(document):
    table = read_qi(pd.DataFrame({"City": ["a", "a", "b"]}), document)
    return build_cells(document, table), table


BY_CAR = (split("N", "Car", ({"in": ["yes"]}, "Y"), ({"in": ["no"]}, "Z")), {"id": "Y"}, {"id": "Z"})


def test_a_public_split_gives_one_cell_each():
    nodes = (split("N", "City", ({"in": ["a"]}, "A"), ({"in": ["b"]}, "B")), {"id": "A"}, {"id": "B"})
    cells, table = cells_of(release(nodes))
    assert len(cells) == len(table) == 2
    assert cells.leaf[:, 0].tolist() == [1, 2]


def test_a_private_split_reaches_every_leaf():
    cells, _ = cells_of(release(BY_CAR))
    assert sorted(zip(cells.owner.tolist(), cells.leaf[:, 0].tolist(), strict=True)) == [(0, 1), (0, 2), (1, 1), (1, 2)]


def test_two_trees_that_test_the_same_private_attribute_agree_on_its_value():
    swapped = (split("N", "Car", ({"in": ["no"]}, "Z"), ({"in": ["yes"]}, "Y")), {"id": "Y"}, {"id": "Z"})
    cells, _ = cells_of(release(BY_CAR, swapped))
    assert {tuple(leaf) for leaf in cells.leaf.tolist()} == {(1, 1), (2, 2)}


def test_impossible_private_values_reach_no_leaf():
    nodes = (
        split("N", "Pay", ({"le": 5}, "M"), ({"gt": 5}, "C")),
        split("M", "Pay", ({"le": 9}, "A"), ({"gt": 9}, "B")),
        {"id": "A"},
        {"id": "B"},
        {"id": "C"},
    )
    cells, _ = cells_of(release(nodes))
    assert set(cells.leaf[:, 0].tolist()) == {2, 4}


def test_quasi_identifiers_are_alike_whose_cells_are():
    held = [(5, 3), (4,), (3, 5), (3, 300), (4,), (3,), (1, 2, 3)]
    owner = np.repeat(np.arange(len(held)), [len(cells) for cells in held])
    asked = []
    found = alike(owner, np.concatenate(held), len(held), lambda: asked.append(1))
    assert found.tolist() == [2, 1, 2, 3, 1, 0, 4]  # by the number of cells, then by their signatures
    assert len(asked) == 3


def test_removed_leaves_are_places_of_their_own():
    nodes = (split("N", "City", ({"in": ["a"]}, "A"), ({"in": ["b"]}, None)), {"id": "A"})
    cells, _ = cells_of(release(nodes))
    assert cells.leaf[:, 0].tolist() == [1, 2]


def test_the_cells_of_a_node_are_those_of_its_branches():
    nodes = (
        split("N", "City", ({"in": ["a"]}, "M"), ({"in": ["b"]}, "B")),
        split("M", "Car", ({"in": ["yes"]}, "Y"), ({"in": ["no"]}, "Z")),
        {"id": "Y"},
        {"id": "Z"},
        {"id": "B"},
    )
    cells, _ = cells_of(release(nodes))
    held = cells.trees[0]
    for place, children in enumerate(held.places.children):
        if children:
            below = np.concatenate([held.at(child) for child in children])
            np.testing.assert_array_equal(held.at(place), below)
    assert len(held.at(0)) == len(cells) == 3
