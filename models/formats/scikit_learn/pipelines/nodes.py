"""Trees over a model's input as trees over the table: every split in its columns and values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from maxent.models.arrays import FloatArray
from maxent.models.columns import NOTHING, Columns
from maxent.models.errors import invalid
from maxent.models.formats.scikit_learn.nodes.reach import Taken, ends_of, reached
from maxent.models.formats.scikit_learn.pipelines.attributes import Named, Numeric, Undone
from maxent.models.formats.scikit_learn.pipelines.sides import Test
from maxent.models.nodes import Nodes
from maxent.models.release import Attribute, Branch, Encoding, Induction, Tree
from maxent.models.tables.columns.missing_values import MISSING

GAP = 2.0**-23  # numbers closer than this are taken for one by a split of scikit-learn, see `split_choice.FEATURE_GAP`

# A test of a model's input, and whether what is missing there goes left; None where the model does not say
Asked = tuple[Test, bool | None]


def input_name(j: int) -> str:
    """The name of a column of a model's input."""
    return f"z{j}"


def input_number(name: str | None) -> int:
    """The column of a model's input that has a name."""
    return int((name or "z")[1:])


def _asked(nodes: Columns) -> list[Asked]:
    """The test of each inner node over a model's input, and whether what is missing goes left, if it says."""
    inner = nodes.inner
    first = nodes.branch_ends[inner]
    attribute, low = nodes.attribute[inner], nodes.le[first]
    left, right = nodes.missing[first], nodes.missing[first + 1]
    # Where the left one has no bound it has no numbers, or all.
    limit = np.where(np.isnan(low), np.where(left == 0, np.inf, -np.inf), low)
    goes = np.where(left == 1, 1, np.where(right == 1, 0, NOTHING))
    number = [input_number(each.name) for each in nodes.attributes]
    taken = (False, True, None)
    rows = zip(attribute.tolist(), limit.tolist(), goes.tolist(), strict=True)
    found: list[Asked] = [((number[j], most), taken[where]) for j, most, where in rows]
    domains = [attribute.values for attribute in nodes.attributes]
    for row in np.flatnonzero([domains[j] is not None for j in attribute.tolist()]).tolist():
        j, held = int(attribute[row]), slice(*nodes.value_ends[first[row] : first[row] + 2].tolist())
        values = frozenset(map((domains[j] or ()).__getitem__, nodes.values[held].tolist()))
        found[row] = (number[j], values), MISSING in values
    return found


def tests_of(trees: Sequence[Nodes]) -> set[Test]:
    """All tests of trees over a model's input."""
    return {test for nodes in trees for test, _ in _asked(nodes.columns)}


def rewritten(source: str, nodes: Nodes, undone: Mapping[int, Undone], attributes: Sequence[Attribute]) -> Nodes:
    """The nodes of a tree, in depth-first order, with their tests in columns of the table.

    ``source``: what problems call the model. ``attributes``: those of ``undone``, and perhaps others.
    """
    held = nodes.columns
    inner = held.inner
    tests = _asked(held)
    columns = [undone[test[0]] for test, _ in tests]
    for at, (test, where), column in zip(inner.tolist(), tests, columns, strict=True):
        if where is None and column.stays_missing(test[0]):
            expected = "a model that says where missing values go: fill them with SimpleImputer, and fit again"
            raise invalid(source, f"node {held.ids[at]}", column.attribute.name, expected, "missing values there")
    index = {attribute.name: j for j, attribute in enumerate(attributes)}
    attribute = np.full(len(held), NOTHING)
    attribute[inner] = [index[column.attribute.name] for column in columns]
    nothing = (Branch(None), Branch(None))
    pairs = [
        column.branches(test, where) if isinstance(column, Numeric) else nothing
        for column, (test, where) in zip(columns, tests, strict=True)
    ]
    branches = list(chain.from_iterable(pairs))
    taken = Taken(len(inner))
    named = {index[u.attribute.name]: u for u in undone.values() if isinstance(u, Named)}
    right = held.child[held.branch_ends[inner] + 1]
    end = ends_of(len(held), inner.tolist(), right.tolist()) if named else []
    for j, column in named.items():
        rows = np.flatnonzero(attribute[inner] == j)
        chosen = [column.left(*tests[row]) for row in rows.tolist()]
        sides = reached(column.everything, inner[rows].tolist(), right[rows].tolist(), chosen, end)
        for at, (low, high) in zip(inner[rows].tolist(), sides, strict=True):
            if not low or not high:
                raise _one_sided(source, held.ids[at], column.attribute.name)
        taken.take(rows, sides)
    value_ends, values = taken.arrays()
    return Nodes(
        replace(
            held,
            attributes=tuple(attributes),
            attribute=attribute,
            le=np.array([np.nan if each.le is None else each.le for each in branches]),
            gt=np.array([np.nan if each.gt is None else each.gt for each in branches]),
            missing=np.array([NOTHING if each.missing is None else each.missing for each in branches], np.int64),
            value_ends=value_ends,
            values=values,
        )
    )


def _one_sided(source: str, node: str, name: str) -> Exception:
    expected = (
        "the table that fit was given, in which every split divides the values that reach it (CatBoost's do not behind "
        "encoders: give it the categories themselves, cat_features=)"
    )
    return invalid(source, f"node {node}", "X", expected, f"none with both of its sides in {name}")


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
