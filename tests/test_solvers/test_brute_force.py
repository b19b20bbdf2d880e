"""Small releases against a dense solve of the textbook formulation, written here from the papers alone.

Unknowns are the masses m[q, b, x] of class x among the individuals with quasi-identifier q in bin b, one leaf per tree that
some values of the private attributes lead to. Zhu & Du (2010): maximise the entropy relative to the individuals of q,
subject to labels, rates and counts of the leaves and to the comparisons that the chosen splits have won.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from strategies import Case, Recipe, Style, cases, leaves_of, populations, thorough

import maxent
from maxent.models.release import Node, Release, Tree

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Dense:
    """``A m = b``, ``G m >= 0`` and ``slack(m) >= 0`` for each comparison; ``w`` are the individuals behind each mass."""

    q: pd.DataFrame
    owner: npt.NDArray[np.int64]
    klass: npt.NDArray[np.int64]
    w: FloatArray
    A: FloatArray
    b: FloatArray
    G: FloatArray
    splits: tuple[tuple[str, list[BoolArray], list[BoolArray]], ...]  # measure, chosen branches, candidate's branches
    n_classes: int

    def negative_entropy(self, m: FloatArray) -> float:
        safe = np.maximum(m, 1e-300)
        return float((m * np.log(safe / self.w)).sum())

    def posterior(self, m: FloatArray) -> FloatArray:
        p = np.zeros((len(self.q), self.n_classes))
        np.add.at(p, (self.owner, self.klass), m)
        return p / p.sum(axis=1, keepdims=True)

    def branch(self, m: FloatArray, inside: BoolArray) -> FloatArray:
        return np.bincount(self.klass[inside], m[inside], self.n_classes)

    def advantage(self, m: FloatArray) -> FloatArray:
        """How much worse each candidate is than the chosen split, shape (n_comparisons,)."""
        return np.array(
            [
                _expected(measure, [self.branch(m, s) for s in candidate])
                - _expected(measure, [self.branch(m, s) for s in chosen])
                for measure, chosen, candidate in self.splits
            ]
        )


def _expected(measure: str, tables: list[FloatArray]) -> float:
    """Equations (2) to (4) of Zhu & Du; for the gain ratio minus the ratio."""
    sizes = np.array([t.sum() for t in tables])
    total = sizes.sum()
    value = sum(w / total * _impurity(t / w, measure) for t, w in zip(tables, sizes, strict=True) if w > 1e-12)
    if measure != "gain_ratio":
        return float(value)
    everyone = np.sum(tables, axis=0) / total
    return float(-(_impurity(everyone, measure) - value) / _impurity(sizes / total, "entropy"))


def _impurity(p: FloatArray, measure: str) -> float:
    p = np.maximum(p, 1e-300)
    return float(1 - (p**2).sum()) if measure == "gini" else float(-(p * np.log(p)).sum())


def dense(case: Case) -> Dense:
    """The textbook program of a release."""
    release, people = case.release, case.people
    q = people.qi.value_counts(sort=False).rename("w").reset_index()
    names = [c for c in q.columns if c != "w"]
    records = q[names].merge(_private_worlds(release), how="cross").reset_index(drop=True)
    records["q"] = np.repeat(np.arange(len(q)), len(records) // len(q))
    leaf = leaves_of(release, records)
    bins = np.unique(np.column_stack([records["q"], leaf]), axis=0)
    n_classes = len(release.target.classes)
    owner, klass = np.repeat(bins[:, 0], n_classes), np.tile(np.arange(n_classes), len(bins))
    place = np.repeat(bins[:, 1:], n_classes, axis=0)
    w = q["w"].to_numpy(float)[owner]
    rows = [(owner == i).astype(float) for i in range(len(q))]
    sides = q["w"].to_numpy(float).tolist()
    at_least = []
    splits = []
    for t, tree in enumerate(release.trees):
        below = _below(tree)
        for i, node in enumerate(tree.nodes):
            inside = np.isin(place[:, t], below[i])
            if not inside.any():
                continue
            for row, side in _equations(node, release, inside, klass):
                rows.append(row)
                sides.append(side)
            if node.label is not None:
                label = release.target.classes.index(node.label)
                at_least += [
                    (inside & (klass == label)) * 1.0 - (inside & (klass == x)) * 1.0
                    for x in range(n_classes)
                    if x != label
                ]
            splits += list(_comparisons(release, tree, i, q.iloc[owner], place[:, t], below))
    G = np.array(at_least).reshape(-1, len(w))
    return Dense(q, owner, klass, w, np.array(rows), np.array(sides), G, tuple(splits), n_classes)


def _private_worlds(release: Release) -> pd.DataFrame:
    """One record for every combination of values of the private attributes that the trees can tell apart."""
    values: dict[str, list[Any]] = {}
    for a in release.private:
        cuts = sorted({c for t in release.trees for n in t.nodes if n.attribute == a.name for b in n.branches
                       for c in (b.le, b.gt) if c is not None})  # fmt: skip
        values[a.name] = list(a.values) if a.values is not None else [*cuts, (cuts[-1] if cuts else 0.0) + 1.0]
    return pd.DataFrame(list(itertools.product(*values.values())), columns=list(values))


def _below(tree: Tree) -> list[list[int]]:
    """For each node the positions of the leaves at or below it."""
    index = {n.id: i for i, n in enumerate(tree.nodes)}

    def leaves(i: int) -> list[int]:
        node = tree.nodes[i]
        return [i] if node.is_leaf else [leaf for b in node.branches for leaf in leaves(index[b.child or ""])]

    return [leaves(i) for i in range(len(tree.nodes))]


def _equations(node: Node, release: Release, inside: BoolArray, klass: Any) -> Iterator[tuple[FloatArray, float]]:
    if node.label is not None and node.error_rate is not None:
        hit = klass == release.target.classes.index(node.label)
        yield (inside & hit) - (1 - node.error_rate) * inside, 0.0
    if node.counts is not None:
        for x, c in enumerate(release.target.classes):
            yield (inside & (klass == x)) * 1.0, float(node.counts[c])
    if node.n is not None:
        yield inside * 1.0, float(node.n)


def _comparisons(
    release: Release, tree: Tree, i: int, q: pd.DataFrame, place: Any, below: list[list[int]]
) -> Iterator[tuple[str, list[BoolArray], list[BoolArray]]]:
    """The chosen split of node i against every public competitor that was possible there."""
    node, induction = tree.nodes[i], tree.induction
    if node.is_leaf or induction.impurity is None:
        return
    index = {n.id: j for j, n in enumerate(tree.nodes)}
    inside = np.isin(place, below[i])
    chosen = [np.isin(place, below[index[b.child or ""]]) for b in node.branches]
    chosen = [c for c in chosen if c.any()]
    used = {node.attribute}
    child = node.id
    while child != tree.root.id:
        parent = next(n for n in tree.nodes if any(b.child == child for b in n.branches))
        used.add(parent.attribute)
        child = parent.id
    persons = q[inside].drop_duplicates()
    for a in release.public:
        if induction.candidates == "unused" and (a.name in used or a.type == "numeric"):
            continue
        present = sorted(persons[a.name].unique(), key=a.values.index if a.values else float)
        if len(present) < 2:
            continue
        if induction.candidates == "unused":
            options = [[{v} for v in present]]
        elif a.values is not None and induction.encoding == "onehot":
            options = [[{v}, set(present) - {v}] for v in present]
        else:
            pairs = [p for p in range(1, len(present)) if a.values or present[p] - present[p - 1] > 1e-7]
            options = [[set(present[:p]), set(present[p:])] for p in pairs]
        for option in options:
            sides = [inside & q[a.name].isin(list(values)).to_numpy() for values in option]
            sizes = [persons["w"][persons[a.name].isin(list(values))].sum() for values in option]
            if min(sizes) >= max(induction.min_samples_leaf, induction.k):
                yield str(induction.impurity), chosen, sides


def solve_densely(problem: Dense, starts: int, seed: int) -> tuple[float, FloatArray] | None:
    """The best feasible point of several local solves, in the null space of the equations; None when none is feasible."""
    n = len(problem.w)
    bounds = [(0.0, float(w)) for w in problem.w]
    most = np.array(
        [linprog(-np.eye(n)[i], A_ub=-problem.G, b_ub=np.zeros(len(problem.G)), A_eq=problem.A, b_eq=problem.b,
                 bounds=bounds).fun for i in range(n)]  # fmt: skip
    )
    free = -most > 1e-9
    A, G, w = problem.A[:, free], problem.G[:, free], problem.w[free]
    center = np.linalg.lstsq(A, problem.b, rcond=None)[0]
    u, s, vt = np.linalg.svd(A)
    null = vt[(s > 1e-10).sum() :].T

    def masses(z: FloatArray) -> FloatArray:
        return center + null @ z

    def full(z: FloatArray) -> FloatArray:
        m = np.zeros(n)
        m[free] = masses(z)
        return m

    def objective(z: FloatArray) -> tuple[float, FloatArray]:
        m = np.maximum(masses(z), 1e-14)
        return float((m * np.log(m / w)).sum()), null.T @ (np.log(m / w) + 1)

    constraints = [{"type": "ineq", "fun": lambda z: masses(z) - 1e-13, "jac": lambda z: null}]
    if len(G):
        constraints.append({"type": "ineq", "fun": lambda z: G @ masses(z), "jac": lambda z: G @ null})
    if problem.splits:
        constraints.append({"type": "ineq", "fun": lambda z: problem.advantage(full(z))})
    rng = np.random.default_rng(seed)
    best: tuple[float, FloatArray] | None = None
    for k in range(starts):
        guess = (w / problem.n_classes) * np.exp((0.0 if k == 0 else 0.7) * rng.standard_normal(len(w)))
        z = null.T @ (guess - center)
        if null.shape[1]:
            z = minimize(objective, z, jac=True, method="SLSQP", constraints=constraints,
                         options={"ftol": 1e-15, "maxiter": 500}).x  # fmt: skip
        m = np.maximum(full(z), 0.0)
        value = problem.negative_entropy(m)
        if _miss(problem, m) <= 1e-9 and (best is None or value < best[0]):
            best = value, m
    return best


def _miss(problem: Dense, m: FloatArray) -> float:
    advantage, labels = problem.advantage(m), problem.G @ m
    equations = np.abs(problem.A @ m - problem.b)
    return float(max(equations.max(), -labels.min(initial=0.0), -advantage.min(initial=0.0)))


def _recipe(people: Any, private: bool) -> st.SearchStrategy[Recipe]:
    # What private attributes leave open decides sizes, and with them who competes: then nothing depends on sizes.
    open_ = any(a.role == "private" for a in people.attributes)
    return st.builds(
        Recipe,
        form=st.sampled_from(("multiway", "binary")),
        measure=st.sampled_from(("gini", "entropy") if open_ else ("gini", "entropy", "gain_ratio")),
        names=st.just(tuple(a.name for a in people.attributes)),
        encoding=st.sampled_from(("ordinal", "onehot")),
        min_samples_leaf=st.sampled_from((1,) if open_ else (1, 1, 2)),
        max_depth=st.integers(1, 2),
        salt=st.integers(0, 3),
    )


def releases(private: bool, classes: tuple[int, int], leaves: tuple[str, ...]) -> st.SearchStrategy[Case]:
    return cases(
        populations(rows=(6, 24), public=(1, 2), private=(1, 1) if private else (0, 0), classes=classes),
        kinds=("private", "private", "anyhow"),
        style=st.builds(Style, leaf=st.sampled_from(leaves), inner=st.sampled_from(("nothing", "nothing", "counts"))),
        recipe=_recipe,
    ).filter(lambda case: len(case.people.qi.drop_duplicates()) <= 6 and len(case.release.trees[0].nodes) > 1)


def compare(case: Case, starts: int) -> None:
    problem = dense(case)
    assume(len(problem.w) <= 40)
    found = maxent.estimate(case.release, case.people.qi, rounding="exact")
    assert found.summary["status"] == "optimal", found.notes
    order = _rows(problem, found)
    entropy = -found.program.entropy(found.outcome.masses) * found.program.table.individuals
    best = solve_densely(problem, starts, seed=len(problem.w))
    assert best is not None, "the dense solve found no feasible point"
    value, masses = best
    assert entropy <= value + 1e-6 * len(case.people), "less entropy than the dense solve"
    if found.summary["convex"]:
        np.testing.assert_allclose(found.probabilities[order], problem.posterior(masses), atol=2e-6)
        assert entropy == pytest.approx(value, abs=1e-6 * len(case.people))


def _rows(problem: Dense, found: Any) -> list[int]:
    """The rows of the answer for each quasi-identifier of the dense problem."""
    frame = found.program.table.frame()
    names = [c for c in problem.q.columns if c != "w"]
    index = {row: i for i, row in enumerate(frame[names].itertuples(index=False, name=None))}
    assert len(index) == len(problem.q)
    return [index[row] for row in problem.q[names].itertuples(index=False, name=None)]


@thorough(30)
@given(case=releases(False, (2, 2), ("rate", "counts", "all", "mixture")))
def test_two_classes_and_public_splits(case: Case) -> None:
    compare(case, starts=2)


@thorough(30)
@given(case=releases(False, (3, 3), ("rate", "label", "counts", "mixture")))
def test_three_classes_and_public_splits(case: Case) -> None:
    compare(case, starts=4)


@thorough(40)
@given(case=releases(True, (2, 3), ("rate", "rate and n", "counts", "mixture")))
def test_private_splits(case: Case) -> None:
    compare(case, starts=4)
