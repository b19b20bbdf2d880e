"""Trees over a model's input as trees over the table: every split in its columns and values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from operator import attrgetter

import numpy as np

from maxent.models.arrays import FloatArray
from maxent.models.errors import invalid
from maxent.models.formats.scikit_learn.pipelines.attributes import Named, Numeric, Undone
from maxent.models.formats.scikit_learn.pipelines.sides import Test
from maxent.models.release import Attribute, Branch, Encoding, Induction, Node, Tree
from maxent.models.tables.columns.missing_values import MISSING

GAP = 2.0**-23
"""Numbers closer than this are taken for one by a split of scikit-learn, see `split_choice.FEATURE_GAP`."""

_Reach = dict[str, int]

_statements = attrgetter(*(each.name for each in fields(Node) if each.name not in ("id", "attribute", "branches")))
"""What a node states, in the order of the fields of `Node`, whose first three are its test."""


def input_name(j: int) -> str:
    """The name of a column of a model's input."""
    return f"z{j}"


def input_number(name: str | None) -> int:
    """The column of a model's input that has a name."""
    return int((name or "z")[1:])


def test_of(node: Node) -> tuple[Test, bool | None]:
    """The test of an inner node of a tree over a model's input, and whether what is missing goes left, if it says."""
    left, right = node.branches
    if left.values is not None:
        return (input_number(node.attribute), frozenset(left.values)), MISSING in left.values
    goes = True if left.missing else False if right.missing else None
    if left.le is None:  # the left one has no numbers, or all
        return (input_number(node.attribute), np.inf if left.missing is False else -np.inf), goes
    return (input_number(node.attribute), left.le), goes


def tests_of(trees: Sequence[Tree]) -> set[Test]:
    """All tests of trees over a model's input."""
    return {test_of(node)[0] for tree in trees for node in tree.nodes if node.attribute is not None}


def rewritten(source: str, tree: Tree, undone: Mapping[int, Undone]) -> tuple[Node, ...]:
    """The nodes of a tree, parents first, with their tests in columns of the table.

    Parameters
    ----------
    source : str
        What problems call the model.
    tree : Tree
    undone : mapping of column of the model's input to Undone

    Raises
    ------
    InvalidInput
        For a split that no value of the table divides.
    """
    everything = {u.attribute.name: u.everything for u in undone.values() if isinstance(u, Named)}
    reach: dict[str | None, _Reach] = {tree.root.id: everything}
    nodes = []
    for node in tree.nodes:
        if node.attribute is None:
            nodes.append(node)
            continue
        here = reach.pop(node.id)
        test, missing_left = test_of(node)
        column = undone[test[0]]
        name = column.attribute.name
        left, right = (branch.child for branch in node.branches)
        if missing_left is None and column.stays_missing(test[0]):
            expected = "a model that says where missing values go: fill them with SimpleImputer, and fit again"
            raise invalid(source, f"node {node.id}", name, expected, "missing values in its input")
        if isinstance(column, Numeric):
            one, other = column.branches(test, missing_left)
            below = (here, here)
        else:
            bits = column.left(test, missing_left)
            low, high = here[name] & bits, here[name] & ~bits
            if not low or not high:
                raise _one_sided(source, node, name)
            one, other = Branch(None, column.texts(low)), Branch(None, column.texts(high))
            below = (here | {name: low}, here | {name: high})
        reach[left], reach[right] = below
        # Not by `replace`, which takes three times as long: forests have millions of nodes.
        branches = (
            Branch(left, one.values, one.le, one.gt, one.missing),
            Branch(right, other.values, other.le, other.gt, other.missing),
        )
        nodes.append(Node(node.id, name, branches, *_statements(node)))
    return tuple(nodes)


def _one_sided(source: str, node: Node, name: str) -> Exception:
    expected = "the table that fit was given, in which every split divides the values that reach it"
    return invalid(source, f"node {node.id}", "X", expected, f"none with both of its sides in {name}")


def induction_of(tree: Tree, undone: Mapping[int, Undone], attributes: Sequence[Attribute]) -> Induction:
    """What is known of the choice of the splits: attributes whose every split in the table competed, no others."""
    stated = tree.induction
    if stated.impurity is None or stated.candidates != "thresholds":
        return stated
    names = [*map(input_name, undone)] if stated.compared is None else stated.compared
    competed = {input_number(name) for name in names}
    columns = {u.attribute.name: u for u in undone.values()}
    known = {name: _encodings(u, competed) for name, u in columns.items()}
    best: Encoding = "onehot" if _many(known, "onehot") > _many(known, "ordinal") else "ordinal"
    compared = tuple(name for name in columns if best in known[name])
    if not compared:
        return Induction(stated.algorithm)
    every = {attribute.name for attribute in attributes} <= {*compared}  # a quasi-identifier need not be in the model
    return replace(stated, encoding=best, compared=None if every else compared)


def _many(known: Mapping[str, frozenset[Encoding]], encoding: Encoding) -> int:
    return sum(encoding in each for each in known.values())


def _encodings(column: Undone, competed: set[int]) -> frozenset[Encoding]:
    """Encodings of an attribute in which all splits of its values in the table competed."""
    made = [made for j, made in column.made.items() if j in competed]
    both: frozenset[Encoding] = frozenset(("ordinal", "onehot"))
    if isinstance(column, Numeric):
        whole = column.values.missing < 0 and any(each.same or _apart(each.numbers) for each in made)  # type: ignore[union-attr]
        return both if whole else frozenset()
    values = column.attribute.values or ()
    there = {*column.values.texts, *[v for v in values if v == MISSING]}
    rows = np.array([i for i, value in enumerate(values) if value in there], np.int64)
    found: set[Encoding] = set()
    arrays = [np.asarray(each, np.float64)[rows] for each in made]
    if any(_apart(each) for each in arrays):
        found.add("ordinal")
    alone = {int(np.flatnonzero(mask)[0]) for each in arrays for mask in _alone(each)}
    if len(alone) == len(rows) or (len(rows) == 2 and alone):
        found.add("onehot")
    return both if found and len(rows) <= 2 else frozenset(found)


def _apart(numbers: FloatArray) -> bool:
    """Whether numbers are sorted, and so far apart that every cut between two of them competes."""
    steps = np.diff(numbers)
    return bool((steps > GAP).all() or (steps < -GAP).all())


def _alone(numbers: FloatArray) -> Iterator[np.typing.NDArray[np.bool_]]:
    """Masks of the only value with a number, where all others have another one."""
    found = np.unique(numbers)
    if len(found) == 2 and found[1] - found[0] > GAP:
        yield from (numbers == each for each in found if (numbers == each).sum() == 1)
