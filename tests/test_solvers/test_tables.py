"""Whole tables against every table that there is: small releases, made up of people, with all tables enumerated."""

import copy
import json
from collections import Counter
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from support.boosted import Rule, boosted
from support.documents import release_document
from support.paths import D1
from support.programs import private, public, whole
from support.search import cases
from support.strategies import People, thorough

import maxent
from maxent.api.reconstruct import Rebuilding, reconstruct_release
from maxent.constraints.lifting import LiftedProgram, single_point
from maxent.constraints.lifting import LiftedTerms as Terms
from maxent.constraints.presolve import parts
from maxent.models.draws import Draws
from maxent.models.errors import Origin
from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.release import AddedNoise, Attribute, Branch, Node, Release, Rounded, Target, Tree
from maxent.models.tables.truth_and_facts import read_known
from maxent.results.reconstruction import Reconstruction
from maxent.solvers.backend import Options
from maxent.solvers.backends.auto import AutoBackend
from maxent.solvers.backends.ipopt_ import IpoptBackend
from maxent.solvers.solution import Stop
from maxent.solvers.solve import attempt
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
STATES = ("counts", "rates", "labels", "suppressed", "sizes", "rounded", "draws", "distinct", "noise")
DRAWN = ("draws", "distinct")  # of a bootstrap, with different people among them or without

ROUNDING = 5e-6  # by how many people single precision has leaves of so few people off

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
    """One or two attributes, up to four or seven people, up to three random trees that say what is true of them."""
    rng = np.random.default_rng(seed)
    many = bool(rng.random() < 0.2)
    attributes = tuple(ATTRIBUTES[j] for j in sorted(rng.choice(3, 1 if many else 2, replace=False)))
    people = [
        (*(VALUES[a.name][rng.integers(len(VALUES[a.name]))] for a in attributes), CLASSES[rng.integers(2)])
        for _ in range(rng.integers(5, 8) if many else rng.integers(3, 5))
    ]
    states = STATES[rng.integers(len(STATES))]
    grown = [people] * int(rng.integers(1, 4))
    if states in DRAWN:
        grown = [[people[i] for i in rng.integers(0, len(people), len(people))] for _ in grown]
    trees = tuple(_tree(rng, attributes, rows, states) for rows in grown)
    blurred: dict[str, Any] = {"suppressed": {"suppressed_below": 2}, "rounded": {"rounded": Rounded(3)}}
    blurred |= {drawn: {"resampled": len(people)} for drawn in DRAWN}
    blurred["noise"] = {"noise": AddedNoise("laplace", 0.5)}
    release = Release(Target("X", CLASSES), attributes, trees, **blurred.get(states, {}))
    return Case(release, people, tuple(a.name for a in attributes if rng.random() < 0.3), states)


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
    if states in DRAWN:
        different = len({id(row) for row in rows}) if states == "distinct" else None
        return Node(name, counts={c: counts[c] for c in CLASSES}, distinct=different)
    if states == "noise":
        return Node(name, noisy={c: counts[c] - 0.75 for c in CLASSES})
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
    if case.states == "boosted":
        off = off_by(case, table)
        assert off <= ROUNDING or off >= 10 * ROUNDING
        return off <= ROUNDING
    for tree in case.release.trees:
        leaf = [leaf_of(case.release, tree, row) for row in table]
        for node in tree.nodes:
            if node.branches:
                continue
            rows = [row for row, at in zip(table, leaf, strict=True) if at is node]
            if case.states == "noise":
                continue  # it can be any
            if case.states in DRAWN:
                there, drawn = Counter(row[-1] for row in rows), node.counts or {}
                if any(drawn[c] and not there[c] for c in CLASSES):
                    return False
                if sum(min(there[c], drawn[c]) for c in CLASSES) < (node.distinct or 0):
                    return False
                continue
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


def boosted_case(seed: int) -> Case:
    """One or two attributes, up to four or seven people, and up to three rounds of a boosted model of them."""
    rng = np.random.default_rng(seed)
    many = bool(rng.random() < 0.3)
    attributes = tuple(ATTRIBUTES[j] for j in sorted(rng.choice(3, 1 if many else 2, replace=False)))
    n = int(rng.integers(5, 8) if many else rng.integers(3, 5))
    codes = [rng.integers(0, len(VALUES[a.name]), n) for a in attributes]
    y = rng.integers(0, 2, n)
    columns = {
        a.name: code if a.values else np.array(VALUES[a.name])[code] for a, code in zip(attributes, codes, strict=True)
    }
    rows = [(*(VALUES[a.name][c[i]] for a, c in zip(attributes, codes, strict=True)), CLASSES[y[i]]) for i in range(n)]
    trees = [_tree(rng, attributes, rows, "counts") for _ in range(rng.integers(1, 4))]
    rule = Rule(
        rate=float(rng.choice([0.3, 0.1])),
        l2=float(rng.choice([0.0, 1.0])),
        l1=float(rng.choice([0.0, 0.0, 0.5])),
        base=float(rng.choice([0.0, -1.25])),
        of_class=(1.0, float(rng.choice([1.0, 1.0, 2.5]))),
        hessians=bool(rng.random() < 0.7),
    )
    bare = [replace(t, nodes=tuple(Node(n.id, n.attribute, n.branches) for n in t.nodes)) for t in trees]
    release = boosted(People(attributes, columns, y, CLASSES), bare, rule)
    if rng.random() < 0.5:  # as LightGBM has it
        release = replace(release, trees=tuple(_sized(release, tree, rows) for tree in release.trees))
    return Case(release, rows, tuple(a.name for a in attributes if rng.random() < 0.3), "boosted")


def _sized(release: Release, tree: Tree, rows: list[Row]) -> Tree:
    at = Counter(leaf_of(release, tree, row).id for row in rows)
    return replace(tree, nodes=tuple(n if n.branches else replace(n, n=at[n.id]) for n in tree.nodes))


def off_by(case: Case, table: list[Row]) -> float:
    """By how many people, or units of a sum of second derivatives, a table misses a boosted leaf at most."""
    how, worst = case.release.boosting, 0.0
    weight = np.array([how.weights.get(row[-1], 1.0) for row in table])
    is_yes = np.array([row[-1] == CLASSES[1] for row in table])
    score = np.full(len(table), float(how.base))
    for tree in case.release.trees:
        leaves = [leaf_of(case.release, tree, row) for row in table]
        p = 1 / (1 + np.exp(-score))
        for node in tree.nodes:
            if node.branches or len(tree.nodes) == 1:
                continue
            there = np.array([leaf is node for leaf in leaves])
            gradient = float(((p - is_yes) * weight)[there].sum())
            hessian = float((how.hessian * p * (1 - p) * weight)[there].sum())
            wanted = -node.value * (hessian + how.l2) / how.rate
            if node.value:
                off = abs(wanted + np.sign(-node.value) * how.l1 - gradient)
            else:
                off = max(abs(gradient) - how.l1, 0.0)
            worst = max(worst, off, 0.0 if node.hessian is None else abs(node.hessian - hessian))
            worst = max(worst, 0.0 if node.n is None else float(abs(node.n - there.sum())))
        score += np.array([leaf.value for leaf in leaves])
    return worst


def all_tables(case: Case) -> list[list[Row]]:
    """Every table, as a multiset of rows, that agrees."""
    kinds = list(product(*(VALUES[a.name] for a in case.release.attributes), CLASSES))
    tables = combinations_with_replacement(kinds, len(case.people))
    return [list(table) for table in tables if agrees(case, list(table))]


def there(case: Case) -> Reconstruction:
    """The table that is rebuilt, in the same process."""
    table = case.known_table()
    known = None if table is None else read_known(table, case.release)
    unsaid = case.states in ("suppressed", "rounded", "noise", "boosted", *DRAWN)
    how = Rebuilding(None if not unsaid or known is not None else len(case.people))
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
    assert found.status == ("consistent" if case.states in ("noise", *DRAWN) else "likeliest")
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
        assert not wrong[linear_sum_assignment(wrong)].any()
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
        assert found.table[list(case.known)].values.tolist() == case.known_table().values.tolist()


@thorough(2)
@given(seed=st.integers(0, 2**32 - 1))
def test_tables_are_those_that_there_are_and_what_all_share_is_proved(other: Executor, seed: int) -> None:
    case = made_up(seed)
    check(other.submit(there, case).result(), case)


@thorough(2)
@given(seed=st.integers(0, 2**32 - 1))
def test_tables_behind_boosted_models_are_those_that_there_are(other: Executor, seed: int) -> None:
    case = boosted_case(seed)
    check(other.submit(there, case).result(), case)


def seeded(seed: int) -> Case:
    """One attribute, known or not, up to five people, and up to three trees of which it is known who was drawn."""
    rng = np.random.default_rng(seed)
    attributes = (ATTRIBUTES[int(rng.integers(3))],)
    people = [
        (VALUES[attributes[0].name][rng.integers(len(VALUES[attributes[0].name]))], CLASSES[rng.integers(2)])
        for _ in range(rng.integers(3, 6))
    ]
    n = len(people)
    times = [np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(rng.integers(1, 4))]
    trees = tuple(
        _tree(rng, attributes, [row for row, m in zip(people, often, strict=True) for _ in range(m)], "draws")
        for often in times
    )
    draws = Draws(n, n, counts=tuple(tuple(often.tolist()) for often in times))
    release = Release(Target("X", CLASSES), attributes, trees, resampled=n, draws=draws)
    return Case(release, people, tuple(a.name for a in attributes if rng.random() < 0.2), "seeded")


def counted_so(case: Case, table: list[Row]) -> bool:
    """Whether the rows of a table, drawn as they were, have the counts of every leaf."""
    for tree, often in zip(case.release.trees, case.release.draws.counts, strict=True):  # type: ignore[union-attr]
        found: Counter[tuple[str, str]] = Counter()
        for row, m in zip(table, often, strict=True):
            found[leaf_of(case.release, tree, row).id, row[-1]] += m
        for node in tree.nodes:
            if not node.branches and any(found[node.id, c] != (node.counts or {})[c] for c in CLASSES):
                return False
    return True


def rows_drawn_so(case: Case) -> list[list[Row]]:
    """All tables whose rows, drawn as they were, have all counts."""
    kinds = list(product(*(VALUES[a.name] for a in case.release.attributes), CLASSES))
    return [
        list(table)
        for table in product(kinds, repeat=len(case.people))
        if (not case.known or [r[0] for r in table] == [r[0] for r in case.people]) and counted_so(case, list(table))
    ]


def seeded_there(case: Case) -> Reconstruction:
    """The table of rows that is rebuilt, in the same process."""
    table = case.known_table()
    known = None if table is None else read_known(table, case.release)
    return reconstruct_release(case.release, known, Rebuilding(rows=True, time_limit=20), run=rebuild_here)


def check_seeded(found: Reconstruction, case: Case) -> None:
    """Proved is of each row what all tables share, no less and no more."""
    tables = rows_drawn_so(case)
    assert found.status == "consistent"
    assert found.settled
    assert found.missed == ()
    rows = cells(found)
    for i, row in enumerate(rows):
        assert {t[i][-1] for t in tables} >= row[-1]
        for j, cell in enumerate(row):
            everywhere = all(t[i][j] in cell for t in tables)
            if found.shared[i, j]:
                assert everywhere
            elif j == len(row) - 1 or (found.atoms.tested[j] and not case.known):
                assert not everywhere


@thorough(2)
@given(seed=st.integers(0, 2**32 - 1))
def test_rows_that_were_drawn_so_are_those_that_there_are(other: Executor, seed: int) -> None:
    case = seeded(seed)
    check_seeded(other.submit(seeded_there, case).result(), case)


@thorough(2)
@given(seed=st.integers(0, 2**32 - 1))
def test_that_no_rows_were_drawn_so_is_proved(other: Executor, seed: int) -> None:
    """Draws of one tree are given to other rows: now and then no table is left, and then that is what is said."""
    case = seeded(seed)
    draws = case.release.draws
    assert draws is not None
    mixed = tuple(np.random.default_rng(seed).permutation(draws.counts[0]).tolist())  # type: ignore[index]
    told = Draws(draws.n, draws.n, counts=(mixed, *draws.counts[1:]))  # type: ignore[index]
    case = replace(case, release=replace(case.release, draws=told))
    tables = rows_drawn_so(case)
    found = other.submit(seeded_there, case).result()
    assert found.status == ("consistent" if tables else "inconsistent")
    assert tables or not found.shared[:, -1].any()


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
    found = dependence([np.eye(2)[values[:, j]] for j in range(3)], np.ones(len(values)))
    assert {each.attribute: each.parent for each in found.given} in ({0: 1, 1: 2}, {0: 2, 1: 2})
    for each in found.given:
        assert np.exp(each.log).sum(axis=0) == pytest.approx(1)


SLICE = (0, 1, 2, 3, 4, 5, 6, 7)  # Those of the default suite


def forest(seed: int) -> tuple[Any, pd.DataFrame, dict[str, Any]]:
    """A release of some trees grown at random, the adversary's table, and what else the adversary knows.

    Leaves state counts; a few a rate with two digits, a label, or nothing. Some releases suppress small counts.
    """
    rng = np.random.default_rng(seed)
    n, classes = int(rng.integers(30, 150)), list("abcde")[: rng.integers(2, 6)]
    names = list("PQRS")[: rng.integers(3, 5)]
    people = pd.DataFrame({name: rng.integers(0, rng.integers(2, 6), n).astype(str) for name in names})
    score = people.astype(int).to_numpy() @ rng.integers(0, 3, len(names)) + (rng.random(n) < 0.4) * rng.integers(9)
    truth = np.array(classes)[score % len(classes)]
    suppressed = int(rng.choice([0, 0, 0, 3]))
    blurred = bool(rng.random() < 0.5) and not suppressed
    trees = [_forests_tree(people, truth, classes, rng, suppressed, blurred=blurred) for _ in range(rng.integers(2, 7))]
    document = release_document("X", classes, {a: sorted(people[a].unique()) for a in names}, *trees)
    if suppressed:
        document["release"] = {"suppressed_below": suppressed}
    known: dict[str, Any] = {}
    if rng.random() < 0.3:
        known["marginal"] = pd.DataFrame({"X": classes, "count": [(truth == name).sum() for name in classes]})
    if rng.random() < 0.3:
        known["facts"] = people.assign(X=truth).iloc[: rng.integers(1, 4)]
    return parse_release(document, f"forest {seed}"), people, known


def _forests_tree(
    people: pd.DataFrame,
    truth: np.ndarray,
    classes: list[str],
    rng: np.random.Generator,
    suppressed: int,
    *,
    blurred: bool,
) -> dict[str, Any]:
    nodes: list[dict[str, Any]] = []

    def leaf(name: str, rows: np.ndarray) -> dict[str, Any]:
        counts = np.array([(truth[rows] == c).sum() for c in classes])
        label, kind = classes[int(counts.argmax())], rng.random()
        if blurred and kind < 0.15:
            return {"id": name, "label": label, "error_rate": round(1 - counts.max() / len(rows), 2), "n": len(rows)}
        if blurred and kind < 0.25:
            return {"id": name, "label": label}
        shown = np.where(counts < suppressed, 0, counts)
        return {"id": name, "counts": dict(zip(classes, shown.tolist(), strict=True))}

    def grow(name: str, rows: np.ndarray, depth: int) -> None:
        open_to = [a for a in people if people[a].iloc[rows].nunique() > 1]
        if depth == 0 or not open_to or rng.random() < 0.15:
            nodes.append(leaf(name, rows))
            return
        attribute = str(rng.choice(open_to))
        here, values = people[attribute].iloc[rows], sorted(people[attribute].unique())
        present = sorted(here.unique())
        left = set(rng.permutation(present)[: rng.integers(1, len(present))])
        sides = ([v for v in values if v in left], [v for v in values if v not in left])
        branches = [{"in": side, "child": f"{name}{i}"} for i, side in enumerate(sides)]
        nodes.append({"id": name, "attribute": attribute, "branches": branches})
        for i, side in enumerate(sides):
            grow(f"{name}{i}", rows[here.isin(side).to_numpy()], depth - 1)

    grow("N", np.arange(len(people)), int(rng.integers(2, 6)))
    if blurred and len(nodes) > 1 and rng.random() < 0.3:
        gone = next(node for node in reversed(nodes) if "branches" not in node)
        nodes.remove(gone)
        for node in nodes:
            for branch in node.get("branches", []):
                branch["child"] = None if branch["child"] == gone["id"] else branch["child"]
    return {"nodes": nodes}


def forests_check(seed: int) -> None:
    release, people, known = forest(seed)
    ours = maxent.estimate(release, people, **known)
    assert ours.certificate == "global", seed
    assert ours.outcome.duality_gap <= 1e-9, seed
    off = []
    for backend in ("ipopt", "cvxpy"):
        other = maxent.estimate(release, people, backend=backend, presolve=False, **known)
        assert other.reliable, (seed, backend)
        assert ours.summary["entropy"] == pytest.approx(other.summary["entropy"], abs=1e-7), (seed, backend)
        off.append(float(np.abs(ours.probabilities - other.probabilities).max()))
    # Where masses vanish the entropy is flat: one that is right to 1e-11, as both are, leaves probabilities open by the
    # root of that. On four of the 300 forests one of the two is off by more than 1e-6, but never both.
    assert min(off) <= 1e-9, (seed, off)
    assert max(off) <= 1e-4, (seed, off)


@pytest.mark.parametrize("seed", SLICE)
def test_back_ends_agree(seed: int) -> None:
    forests_check(seed)


@pytest.mark.slow
@pytest.mark.search
def test_back_ends_agree_on_many() -> None:
    for seed in cases(len(SLICE), 15):
        forests_check(seed)


def test_bounds_are_the_same_however_many_masses_are_looked_at_together(monkeypatch: pytest.MonkeyPatch) -> None:
    release, people, known = forest(1)
    usual = maxent.estimate(release, people, **known)
    monkeypatch.setattr(parts, "AT_A_TIME", 1)
    again = maxent.estimate(release, people, **known)
    assert again.summary["entropy"] == usual.summary["entropy"]
    pd.testing.assert_frame_equal(again.posterior, usual.posterior)


@pytest.mark.parametrize("impurity", ["gini", "entropy", "gain_ratio"])
@pytest.mark.parametrize(("publish", "classes"), [("counts", "abc"), ("rates", "ab")])
def test_convex_programs_have_the_same_posterior(impurity, publish, classes):
    release, frame = public(impurity, publish, classes)
    quick, whole = (maxent.estimate(release, frame, presolve=presolve) for presolve in (True, False))
    assert quick.reliable
    assert whole.reliable
    assert quick.summary["certificate"] == whole.summary["certificate"] == "global"
    np.testing.assert_allclose(quick.probabilities, whole.probabilities, atol=1e-5)
    assert quick.summary["entropy"] == pytest.approx(whole.summary["entropy"], rel=1e-7)


@pytest.mark.parametrize("impurity", ["gini", "entropy", "gain_ratio"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_elsewhere_the_presolved_entropy_is_not_lower(impurity, seed):
    release, frame = public(impurity, "rates", seed=seed)
    quick, whole = (maxent.estimate(release, frame, presolve=presolve) for presolve in (True, False))
    assert quick.reliable
    assert quick.summary["max_violation"] <= 1e-8
    if whole.reliable:
        assert quick.summary["entropy"] >= whole.summary["entropy"] * (1 - 1e-7)


@pytest.mark.parametrize("impurity", ["gini", "entropy"])
def test_private_splits_are_solved_either_way(impurity):
    release, frame = private(impurity)
    quick, whole = (maxent.estimate(release, frame, presolve=presolve) for presolve in (True, False))
    assert quick.reliable
    assert whole.reliable
    bins = [run.program.entropy(run.outcome.masses) for run in (quick, whole)]
    assert bins[0] >= bins[1] - 1e-7


def test_the_order_of_rows_does_not_matter():
    release, frame = public("gini", "rates")
    shuffled = frame.sample(frac=1.0, random_state=3)
    ours, theirs = maxent.estimate(release, frame), maxent.estimate(release, shuffled)
    np.testing.assert_array_equal(ours.probabilities, theirs.probabilities)


def test_labels_alone_leave_the_uniform_distribution():
    release, frame = public("gini", "labels")
    result = maxent.estimate(release, frame)
    np.testing.assert_allclose(result.probabilities, 1 / 3, rtol=1e-15)
    assert result.summary["solver"]["iterations"] == 0


def test_a_seed_repeats_the_answer_exactly():
    release, frame = public("entropy", "rates")
    runs = [maxent.estimate(release, frame, seed=7, starts=2).probabilities for _ in range(2)]
    np.testing.assert_array_equal(*runs)


def test_interruption_is_not_swallowed():
    release, frame = public("entropy", "rates")

    def interrupt(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        maxent.estimate(release, frame, progress=interrupt)


def on_a_line(const=-0.5):
    """A person of two classes, one with the mass u, in a node with the comparison ``(1 - u^2) / 2 + const >= 0``.

    The aggregates are ``1 + m_0`` and ``3 + m_0`` people, of which only the first is in the comparison.
    """
    row, var, block = np.zeros(4, np.int64), np.array([2, 1, 0, 1]), np.array([0, 0, 1, 1])
    coef, size = np.array([1.0, 1.0, -1.0, -1.0]), np.array([4.0, 4.0, 2.0, 2.0])
    terms = Terms("gini", row, var, coef, size, row - 1, block)
    value = np.array([1.0, 1.0, 3.0])
    return LiftedProgram(
        group=np.zeros(2, np.int64),
        klass=np.arange(2),
        owner=np.zeros(2, np.int64),
        total=np.ones(1),
        mass_weight=np.ones(2),
        lower=np.zeros(4),
        upper=np.array([1.0, 1.0, 2.0, 4.0]),
        matrix=sparse.csr_matrix([[1.0, 1.0, 0.0, 0.0], [-1.0, 0.0, 1.0, 0.0], [-1.0, 0.0, 0.0, 1.0]]),
        row_lower=value,
        row_upper=value,
        terms=(terms,),
        nl_const=np.array([const]),
        nl_size=np.ones(1),
        origins=(None, None, None),
        nl_origins=(Origin("node", "N"),),
    )


def test_a_comparison_that_touches_0_leaves_a_point():
    assert single_point(on_a_line()) == pytest.approx([1.0, 0.0, 2.0, 4.0], abs=1e-12)


def test_one_that_touches_0_inside_the_line_leaves_a_point():
    program = on_a_line()
    [terms] = program.terms  # now m_0 m_1 - 1 / 4, as 1 - m_0^2 - m_1^2 = 2 m_0 m_1
    inside = replace(terms, var=np.array([0, 1]), coef=-np.ones(2), size=np.ones(2), row=np.zeros(2, np.int64))
    inside = replace(inside, size_var=np.full(2, -1), block=np.zeros(2, np.int64))
    found = single_point(replace(program, terms=(inside,), nl_const=np.array([0.5])))
    assert found == pytest.approx([0.5, 0.5, 1.5, 3.5], abs=1e-7)


@pytest.mark.parametrize("const", [-0.4, -0.49999, -0.50001, -0.6])
def test_one_that_more_points_or_none_satisfy_leaves_none(const):
    assert single_point(on_a_line(const)) is None


def test_one_that_is_0_everywhere_leaves_none():
    program = on_a_line()
    [terms] = program.terms
    level = replace(terms, var=np.array([0, 1, 0, 1]), size=np.ones(4))
    assert single_point(replace(program, terms=(level,), nl_const=np.zeros(1))) is None


def test_without_a_line_there_is_no_point():
    program = on_a_line()
    assert single_point(replace(program, upper=np.array([1.0, 0.0, 2.0, 4.0]))) is None
    assert single_point(replace(program, terms=())) is None


@pytest.fixture
def document():
    return json.loads((D1 / "tree.json").read_text(encoding="utf-8"))


@pytest.fixture
def qi():
    return pd.read_csv(D1 / "qi.csv")


def node(document, id_):
    return next(n for n in document["trees"][0]["nodes"] if n["id"] == id_)


def named(result):
    return {c.origin.node or c.origin.place for c in result.contradictions}


def test_a_table_of_other_people(document, qi):
    for n in document["trees"][0]["nodes"]:
        n.pop("n", None)
    node(document, "L1")["n"] = 5
    result = maxent.estimate(parse_release(document, "d1"), qi)
    assert result.summary["status"] == "inconsistent"
    assert result.summary["contradictions"] == [
        {
            "origin": "leaf L1",
            "says": "5 records, but 2 individuals of the table reach it",
            "amount": 3.0,
            "unit": "individuals",
        }
    ]


def test_facts_against_a_pure_leaf_name_the_line(document, qi):
    facts = pd.DataFrame({"Education": ["Masters"], "Country": ["Canada"], "Gender": ["Male"], "Salary": [">50K"]})
    result = maxent.estimate(parse_release(document, "d1"), qi, facts=facts)
    assert result.summary["status"] == "inconsistent"
    assert any("facts" in origin or origin == "L3" for origin in named(result))


def test_facts_against_the_choice_of_a_split_name_the_node(document, qi):
    # Were q1 the one above 50K, Gender would have been the better split at N2.
    facts = pd.DataFrame({"Education": ["Masters"], "Country": ["USA"], "Gender": ["Female"], "Salary": [">50K"]})
    result = maxent.estimate(parse_release(document, "d1"), qi, facts=facts)
    assert result.summary["status"] == "inconsistent"
    assert "N2" in named(result)


def test_facts_that_agree_are_used(document, qi):
    facts = pd.DataFrame({"Education": ["Masters"], "Country": ["USA"], "Gender": ["Female"], "Salary": ["<=50K"]})
    result = maxent.estimate(parse_release(document, "d1"), qi, facts=facts)
    assert result.reliable
    row = result.posterior.query("Education == 'Masters' and Country == 'USA' and Gender == 'Male'")
    assert row["P(>50K)"].item() == pytest.approx(1.0, abs=1e-6)


def test_a_wrong_marginal(document, qi):
    marginal = pd.DataFrame({"Salary": ["<=50K", ">50K"], "count": [8, 3]})
    result = maxent.estimate(parse_release(document, "d1"), qi, marginal=marginal)
    assert result.summary["status"] == "inconsistent"
    assert result.summary["contradictions"]


def test_a_marginal_that_agrees_is_used_and_counted(document, qi):
    marginal = pd.DataFrame({"Salary": ["<=50K", ">50K"], "count": [5, 6]})
    result = maxent.estimate(parse_release(document, "d1"), qi, knowledge="label,marginal", marginal=marginal)
    assert result.reliable
    assert result.summary["constraints"]["marginal"] == 2
    mean = (result.probabilities * result.program.table.counts[:, None]).sum(axis=0)
    assert mean == pytest.approx([5, 6], abs=1e-6)


def test_rates_rounded_to_three_digits_are_no_contradiction():
    document = release_document(
        "X",
        ["a", "b"],
        {"A": ["u", "v"]},
        [
            {"id": "N", "attribute": "A", "branches": [{"in": ["u"], "child": "L"}, {"in": ["v"], "child": "M"}]},
            {"id": "L", "label": "a", "error_rate": 0.333},
            {"id": "M", "label": "b", "error_rate": 0.143},
        ],
    )
    qi = pd.DataFrame({"A": ["u"] * 3 + ["v"] * 7})
    result = maxent.estimate(parse_release(document, "rounded"), qi)
    assert result.reliable
    assert result.posterior["P(a)"].tolist() == pytest.approx([2 / 3, 1 / 7], abs=1e-12)
    assert "3 digits" in result.notes[0]
    exact = maxent.estimate(parse_release(copy.deepcopy(document), "exact"), qi, rounding="exact")
    assert exact.posterior["P(a)"].tolist() == pytest.approx([0.667, 0.143], abs=1e-12)


def stump(attribute, values):
    """A tree of two leaves of 100 people, of whom 90 have the first class here, and 10 there."""
    leaves = [
        {"id": f"{attribute}{v}", "counts": {"a": n, "b": 100 - n}} for v, n in zip(values, (90, 10), strict=True)
    ]
    branches = [{"in": [v], "child": f"{attribute}{v}"} for v in values]
    return {"nodes": [{"id": attribute, "attribute": attribute, "branches": branches}, *leaves]}


def test_trees_against_each_other_are_proved_to_be_before_other_back_ends_look(monkeypatch):
    """Where both branches of 90 meet are at most 50 of them: 40 of each are left for a branch of 10, 30 too many."""
    attributes = {"A": ["u", "v"], "B": ["x", "y"]}
    forest = release_document(
        "X", ["a", "b"], {a: v for (a, v) in attributes.items()}, *(stump(a, v) for (a, v) in attributes.items())
    )
    people = pd.DataFrame([{"A": a, "B": b} for a in "uv" for b in "xy"] * 50)
    monkeypatch.setattr(IpoptBackend, "solve", None)
    release = parse_release(forest, "forest")
    program = whole(release, people)[1].program
    found = AutoBackend().solve(program, np.full(program.n, 25.0), Options())
    assert (found.stop, found.contradiction) == (Stop.INFEASIBLE, True)
    monkeypatch.setattr(attempt, "FEW", 0)  # as where programs are large
    result = maxent.estimate(release, people)
    assert result.summary["status"] == "inconsistent"
    assert sum(found["amount"] for found in result.summary["contradictions"]) == pytest.approx(60)
