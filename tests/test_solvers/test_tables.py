"""Whole tables against every table that there is: small releases, made up of people, with all tables enumerated."""

from collections import Counter
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from support.strategies import thorough

from maxent.api.reconstruct import Rebuilding, reconstruct_release
from maxent.models.release import Attribute, Branch, Node, Release, Rounded, Target, Tree
from maxent.models.tables.truth_and_facts import read_known
from maxent.results.reconstruction import Reconstruction
from maxent.solvers.worlds.tables import (
    Dependence,
    dependence,
    described,
    independent,
    likeliest_values,
    rebuild_here,
    shared_groups,
)

CLASSES = ("no", "yes")
ATTRIBUTES = (Attribute("A", values=("a", "b")), Attribute("B", values=("p", "q", "r")), Attribute("C", "numeric"))
VALUES = {"A": ("a", "b"), "B": ("p", "q", "r"), "C": (1.0, 2.0, 3.0)}
STATES = ("counts", "rates", "labels", "suppressed", "sizes", "rounded")

Row = tuple[Any, ...]  # values, then the class


@dataclass(frozen=True)
class Case:
    """A release about some people, and the names of what is known of them."""

    release: Release
    people: list[Row]
    known: tuple[str, ...]
    states: str

    def known_table(self) -> pd.DataFrame | None:
        names = [a.name for a in self.release.attributes]
        return pd.DataFrame([row[:-1] for row in self.people], columns=names)[list(self.known)] if self.known else None


def made_up(seed: int) -> Case:
    """Two attributes, three or four people, up to three random trees that say what is true of them."""
    rng = np.random.default_rng(seed)
    attributes = tuple(ATTRIBUTES[j] for j in sorted(rng.choice(3, 2, replace=False)))
    people = [
        (*(VALUES[a.name][rng.integers(len(VALUES[a.name]))] for a in attributes), CLASSES[rng.integers(2)])
        for _ in range(rng.integers(3, 5))
    ]
    states = STATES[rng.integers(len(STATES))]
    trees = tuple(_tree(rng, attributes, people, states) for _ in range(rng.integers(1, 4)))
    blurred: dict[str, Any] = {"suppressed": {"suppressed_below": 2}, "rounded": {"rounded": Rounded(3)}}
    release = Release(Target("X", CLASSES), attributes, trees, **blurred.get(states, {}))
    known = tuple(a.name for a in attributes if rng.random() < 0.3)
    return Case(release, people, known, states)


def _tree(rng: np.random.Generator, attributes: tuple[Attribute, ...], people: list[Row], states: str) -> Tree:
    nodes: list[Node] = []

    def grow(name: str, rows: list[Row], depth: int) -> None:
        number = len(nodes)
        nodes.append(_leaf(name, rows, states))
        if depth == 2 or rng.random() < 0.2:
            return
        j = int(rng.integers(len(attributes)))
        attribute = attributes[j]
        if attribute.values is None:
            cut = float(rng.choice([1.5, 2.5]))
            left = [row for row in rows if row[j] <= cut]
            branches = (Branch(name + "l", le=cut), Branch(name + "r", gt=cut))
        else:
            size = int(rng.integers(1, len(attribute.values)))
            left = [row for row in rows if row[j] in attribute.values[:size]]
            some, others = attribute.values[:size], attribute.values[size:]
            branches = (Branch(name + "l", values=some), Branch(name + "r", values=others))
        nodes[number] = Node(name, attribute.name, branches)
        grow(name + "l", left, depth + 1)
        grow(name + "r", [row for row in rows if row not in left], depth + 1)

    grow("N", people, 0)
    return Tree(tuple(nodes))


def _leaf(name: str, rows: list[Row], states: str) -> Node:
    counts = Counter(row[-1] for row in rows)
    label = max(CLASSES, key=lambda c: counts[c])
    if states == "counts":
        return Node(name, counts={c: counts[c] for c in CLASSES})
    if states == "suppressed":
        return Node(name, counts={c: counts[c] if counts[c] >= 2 else 0 for c in CLASSES})
    if states == "rounded":
        return Node(name, counts={c: 3 * round(counts[c] / 3) for c in CLASSES})
    if states == "sizes":
        return Node(name, n=len(rows))
    rate = (len(rows) - counts[label]) / len(rows) if rows and states == "rates" else None
    return Node(name, label=label, n=len(rows), error_rate=rate)


def _split(attribute: Attribute, people: list[Row], j: int) -> Tree:
    """A tree that splits on an attribute, value by value, with its counts."""
    leaves = [_leaf(value, [row for row in people if row[j] == value], "counts") for value in attribute.values or ()]
    return Tree((Node("N", attribute.name, tuple(Branch(leaf.id, values=(leaf.id,)) for leaf in leaves)), *leaves))


def leaf_of(release: Release, tree: Tree, row: Row) -> Node:
    """The leaf that somebody reaches, by going down."""
    node = {n.id: n for n in tree.nodes}
    at = tree.nodes[0]
    while at.branches:
        value = row[[a.name for a in release.attributes].index(at.attribute)]
        for branch in at.branches:
            if branch.values is not None:
                goes = value in branch.values
            else:
                goes = (branch.gt is None or value > branch.gt) and (branch.le is None or value <= branch.le)
            if goes:
                at = node[branch.child or ""]
                break
    return at


def agrees(case: Case, table: list[Row]) -> bool:
    """Whether a table agrees with what is known, and with every leaf."""
    names = [a.name for a in case.release.attributes]
    known = [names.index(name) for name in case.known]
    if Counter(tuple(r[j] for j in known) for r in table) != Counter(tuple(r[j] for j in known) for r in case.people):
        return False
    for tree in case.release.trees:
        leaf = [leaf_of(case.release, tree, row) for row in table]
        for node in tree.nodes:
            if node.branches:
                continue
            rows = [row for row, at in zip(table, leaf, strict=True) if at is node]
            now = _leaf(node.id, rows, case.states)
            if case.states in ("labels", "rates"):
                counts = Counter(row[-1] for row in rows)
                error = None if node.error_rate is None else (len(rows) - counts[node.label]) / max(len(rows), 1)
                if len(rows) != node.n or counts[node.label] < max(counts.values(), default=0):
                    return False
                if error is not None and abs(error - node.error_rate) > 1e-9:
                    return False
            elif (now.counts, now.n) != (node.counts, node.n):
                return False
    return True


def all_tables(case: Case) -> list[list[Row]]:
    """Every table, as a multiset of rows, that agrees."""
    kinds = list(product(*(VALUES[a.name] for a in case.release.attributes), CLASSES))
    tables = combinations_with_replacement(kinds, len(case.people))
    return [list(table) for table in tables if agrees(case, list(table))]


def there(case: Case) -> Reconstruction:
    """The table that is rebuilt, in the same process."""
    table = case.known_table()
    known = None if table is None else read_known(table, case.release)
    how = Rebuilding(None if case.states not in ("suppressed", "rounded") or known is not None else len(case.people))
    return reconstruct_release(case.release, known, how, run=rebuild_here)


def cells(found: Reconstruction) -> list[list[set[Any]]]:
    """The values that each cell of the table stands for; the class is last."""
    of = []
    for j, attribute in enumerate(found.release.attributes):
        values = VALUES[attribute.name]
        code = found.atoms.code(j, np.array(values, object if attribute.values else np.float64)).tolist()
        of.append(
            [{v for v, a in zip(values, code, strict=True) if a == atom} for atom in range(len(found.atoms.of[j]))]
        )
    rows = zip(found.value.tolist(), found.klass.tolist(), strict=True)
    return [[*(of[j][a] for j, a in enumerate(row)), {CLASSES[x]}] for row, x in rows]


def check(found: Reconstruction, case: Case) -> None:
    """The table is one of those that there are, and each of these can be matched with it on all proved cells."""
    tables = all_tables(case)
    assert found.status == "likeliest"
    assert found.settled
    assert found.missed == ()
    rows = cells(found)
    proved = found.shared
    same = [[[v in cell for v, cell in zip(r, row, strict=True)] for row in rows] for r in case.people]
    assert np.array(same).shape == (len(rows), len(rows), proved.shape[1])
    matches = []
    for table in tables:
        agree = np.array([[[v in cell for v, cell in zip(r, row, strict=True)] for row in rows] for r in table])
        wrong = (~agree & proved).any(axis=2)
        pairs = linear_sum_assignment(wrong)
        assert not wrong[pairs].any()
        matches.append(agree.all(axis=2)[linear_sum_assignment(~agree.all(axis=2))].all())
    assert any(matches)  # the table itself is among them
    for j in range(proved.shape[1]):
        everybody = {r[j] for table in tables for r in table}
        if any(everybody <= row[j] for row in rows) and (j == proved.shape[1] - 1 or found.atoms.tested[j]):
            assert case.known or proved[:, j].all()
    # Of people whom known columns tell apart and the release does not, only what holds for every assignment is proved.
    if all(matches) and found.atoms.tested.all():
        assert case.known or proved.all()
    if case.known:
        kept = found.table[list(case.known)]
        assert kept.values.tolist() == case.known_table().values.tolist()


@thorough(2)
@given(seed=st.integers(0, 2**32 - 1))
def test_tables_are_those_that_there_are_and_what_all_share_is_proved(other: Executor, seed: int) -> None:
    case = made_up(seed)
    check(other.submit(there, case).result(), case)


@pytest.mark.slow
def test_many_tables_are_those_that_there_are(other: Executor) -> None:
    for seed in range(200):
        case = made_up(seed)
        check(other.submit(there, case).result(), case)


def test_that_there_is_no_table_is_proved(other: Executor) -> None:
    """Two trees count two of class no, and the third one."""
    people = [("a", "p", "no"), ("a", "q", "yes"), ("b", "p", "yes"), ("b", "q", "no")]
    attributes = ATTRIBUTES[:2]
    by_a, by_b = (_split(attribute, people, j) for j, attribute in enumerate(attributes))
    wrong = Tree((Node("N", counts={"no": 1, "yes": 3}),))
    case = Case(Release(Target("X", CLASSES), attributes, (by_a, by_b, wrong)), people, (), "counts")
    found = other.submit(there, case).result()
    assert found.status == "inconsistent"
    assert not found.reliable
    assert not found.shared.any()
    assert len(found.missed) > 0


@pytest.mark.parametrize(
    "rows",
    [
        [("a", "p"), ("a", "q"), ("b", "p")],  # of four people
        [("a", "p")] * 4,  # two of whom no leaf has room for
        [("a", "p"), ("a", "q"), ("b", "p"), ("b", "r")],  # nobody has r
    ],
)
def test_that_a_table_is_of_others_is_proved(other: Executor, rows: list[tuple[str, str]]) -> None:
    people = [("a", "p", "no"), ("a", "q", "yes"), ("b", "p", "yes"), ("b", "q", "no")]
    by_a, by_b = (_split(attribute, people, j) for j, attribute in enumerate(ATTRIBUTES[:2]))
    release = Release(Target("X", CLASSES), ATTRIBUTES[:2], (by_a, by_b))
    found = other.submit(there, Case(release, [(*row, "no") for row in rows], ("A", "B"), "counts")).result()
    assert found.status == "inconsistent"
    assert found.table[["A", "B"]].values.tolist() == [list(row) for row in rows]
    assert found.missed


def test_groups_that_tables_share() -> None:
    # Patterns: a and b of class 0, a and b of class 1. Both tables have two of class 0, one a and one b.
    codes = np.array([[0, 1, 0, 1], [0, 0, 1, 1]])
    tables = np.array([[1, 1, 1, 0], [1, 1, 0, 1]])
    group = shared_groups(np.zeros(4, np.int64), codes, tables)
    assert group[0] != group[1]
    assert group[2] == group[3]  # of class 1 there is an a or a b
    assert described(group, codes).tolist() == [[True, True, False, False], [True, True, True, True]]


def test_the_likeliest_values_are_those_of_all_combinations() -> None:
    rng = np.random.default_rng(0)
    sizes = (2, 3, 2, 2)
    held = [rng.random((40, size)) < 0.6 for size in sizes[:-1]]
    for has in held:
        has[~has.any(axis=1), 0] = True
    held.append(np.eye(2, dtype=bool)[rng.integers(0, 2, 40)])
    shares = [has / has.sum(axis=1, keepdims=True) for has in held]
    for known in (dependence, independent):
        depends = known(shares, rng.random(40))
        found, value = likeliest_values(held, depends)
        for i in range(40):
            every = [range(size) for size in sizes]
            possible = [v for v in product(*every) if all(has[i, a] for has, a in zip(held, v, strict=True))]
            logs = {v: _log_likelihood(depends, v) for v in possible}
            assert found[i] == pytest.approx(max(logs.values()))
            assert logs[tuple(value[i].tolist())] == pytest.approx(found[i])


def _log_likelihood(depends: Dependence, value: tuple[int, ...]) -> float:
    given = (each.log[value[each.attribute], value[each.parent]] for each in depends.given)
    return float(depends.of_class[value[-1]] + sum(given))


def test_attributes_depend_on_those_that_tell_most_of_them() -> None:
    """The second attribute is the class, the first the second but for a few."""
    values = np.array([[0, 0, 0]] * 40 + [[1, 1, 1]] * 40 + [[1, 0, 0]] * 5)
    shares = [np.eye(2)[values[:, j]] for j in range(3)]
    found = dependence(shares, np.ones(len(values)))
    assert {each.attribute: each.parent for each in found.given} in ({0: 1, 1: 2}, {0: 2, 1: 2})
    for each in found.given:
        assert np.exp(each.log).sum(axis=0) == pytest.approx(1)
