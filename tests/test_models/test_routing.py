"""Records reach the place that following the branches one by one leads to."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import Case, cases, leaves_of, populations, thorough

from maxent.models.release import Attribute, Branch, Node, Tree
from maxent.models.trees.places import assign, divided, number_places


@thorough(60)
@given(case=cases(trees=(1, 2)))
def test_everybody_reaches_the_leaf_that_has_their_values(case: Case) -> None:
    people = case.people
    columns = [people.columns[a.name] for a in people.attributes]
    found = [assign(tree, people.attributes, columns) for tree in case.release.trees]
    np.testing.assert_array_equal(np.column_stack(found), leaves_of(case.release, people.frame))


def walk(tree: Tree, attributes: Any, record: Any) -> int:
    """One record's way down, branch by branch."""
    values = dict(zip([a.name for a in attributes], record, strict=True))
    place, children = 0, number_places(tree).children
    while children[place]:
        for branch, child in zip(tree.nodes[place].branches, children[place], strict=True):
            value = values[tree.nodes[place].attribute]
            if branch.values is not None:
                took = value in branch.values
            else:
                took = (branch.gt is None or value > branch.gt) and (branch.le is None or value <= branch.le)
            if took and value == value:
                place = child
                break
        else:
            return place
    return place


@thorough(60)
@given(case=cases(populations(rows=(5, 30))), data=st.data())
def test_a_record_stays_where_no_branch_takes_its_value(case: Case, data: st.DataObject) -> None:
    attributes, tree = case.people.attributes, case.release.trees[0]
    unknown = data.draw(st.lists(st.booleans(), min_size=len(case.people) * len(attributes)))
    gaps = np.resize(unknown, (len(attributes), len(case.people)))
    columns = [
        np.where(gap, np.nan if a.values is None else -1, case.people.columns[a.name])
        for a, gap in zip(attributes, gaps, strict=True)
    ]
    columns = [
        column if a.values is None else column.astype(int) for a, column in zip(attributes, columns, strict=True)
    ]
    names = [
        column if a.values is None else np.array([*a.values, "elsewhere"], object)[column]
        for a, column in zip(attributes, columns, strict=True)
    ]
    expected = [walk(tree, attributes, record) for record in zip(*names, strict=True)]
    assert assign(tree, attributes, columns).tolist() == expected


def test_a_tree_may_be_very_deep() -> None:
    depth = 20_000
    nodes = []
    for i in range(depth):
        nodes.append(Node(f"N{i}", "A", (Branch(f"L{i}", le=float(i)), Branch(f"N{i + 1}", gt=float(i)))))
        nodes.append(Node(f"L{i}"))
    tree = Tree((*nodes, Node(f"N{depth}")))
    values = np.array([-1.0, 0.0, 0.5, 9_999.5, 1e6])
    assert assign(tree, [Attribute("A", "numeric")], [values]).tolist() == [1, 1, 3, 20_001, 40_000]


def test_many_branches_divide_as_few_do() -> None:
    went = np.array([40_000, 3, -1, 40_000, 0])
    parts = [part.tolist() for part in divided(went, 40_001)]
    assert (parts[0], parts[3], parts[40_000], sum(map(len, parts))) == ([4], [1], [0, 3], 4)
