"""Small releases against a dense solve of the textbook formulation, written here from the papers alone.

Unknowns are the masses m[q, b, x] of class x among the individuals with quasi-identifier q in bin b, one leaf per tree
that some values of the private attributes lead to. Zhu & Du (2010): maximise the entropy relative to the individuals of
q, subject to labels, rates and counts of the leaves and to the comparisons that the chosen splits have won.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from hypothesis import assume
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

import maxent
from maxent.models.release import Node, Release, Tree
from support.strategies import Case, Recipe, Style, cases, leaves_of, owners_of, populations

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Dense:
    """``A m = b``, ``G m >= 0`` and ``advantage(m) >= 0``; ``w`` are the individuals behind each mass."""

    q: pd.DataFrame
    owner: npt.NDArray[np.int64]
    place: npt.NDArray[np.int64]
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

    def advantage(self, m: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Advantage of the chosen split over each candidate, shape (n_comparisons,), and its derivatives."""
        value, slope = np.zeros(len(self.splits)), np.zeros((len(self.splits), len(m)))
        for i, (measure, chosen, candidate) in enumerate(self.splits):
            for sign, sides in ((-1.0, chosen), (1.0, candidate)):
                found, slopes = _expected(measure, [self.branch(m, side) for side in sides])
                value[i] += sign * found
                for side, by_class in zip(sides, slopes, strict=True):
                    slope[i, side] += sign * by_class[self.klass[side]]
        return value, slope


def _expected(measure: str, tables: list[FloatArray]) -> tuple[float, list[FloatArray]]:
    """Equations (2) to (4) of Zhu & Du (for the gain ratio minus the ratio), and its derivatives by the tables."""
    sizes = np.array([t.sum() for t in tables])
    total, everyone = sizes.sum(), np.sum(tables, axis=0)
    parts = [_sized_impurity(t, measure) for t in tables]
    value = sum(v for v, _ in parts) / total
    if measure != "gain_ratio":
        return value, [(slope - value) / total for _, slope in parts]
    whole, slope_whole = _sized_impurity(everyone, measure)
    split = -(sizes / total) @ np.log(sizes / total)  # sizes are known wherever the gain ratio is compared
    return -(whole / total - value) / split, [-(slope_whole - slope) / total / split for _, slope in parts]


def _sized_impurity(t: FloatArray, measure: str) -> tuple[float, FloatArray]:
    """Individuals times impurity, and its derivatives."""
    w, t = max(t.sum(), 1e-300), np.maximum(t, 1e-300)
    if measure == "gini":
        square = (t / w) @ (t / w)
        return float(w - w * square), 1 - 2 * t / w + square
    return float(-(t * np.log(t / w)).sum()), -np.log(t / w)


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
    return Dense(q, owner, place, klass, w, np.array(rows), np.array(sides), G, tuple(splits), n_classes)


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


def solve_densely(problem: Dense, starts: int, *, convex: bool) -> tuple[float, FloatArray] | None:
    """The best feasible point of several local solves, in the null space of the equations; None when none is feasible.

    Of a convex problem the first feasible one will do.
    """
    n = len(problem.w)
    free = _can_be_positive(problem)
    A, G, w = problem.A[:, free], problem.G[:, free], problem.w[free]
    center = np.linalg.lstsq(A, problem.b, rcond=None)[0]
    _, s, vt = np.linalg.svd(A)
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
        constraints.append({"type": "ineq", "fun": lambda z: problem.advantage(full(z))[0],
                            "jac": lambda z: problem.advantage(full(z))[1][:, free] @ null})  # fmt: skip
    rng = np.random.default_rng(n)
    best: tuple[float, FloatArray] | None = None
    for k in range(starts):
        guess = (w / problem.n_classes) * np.exp((0.0 if k == 0 else 0.7) * rng.standard_normal(len(w)))
        z = null.T @ (guess - center)
        if null.shape[1]:
            z = minimize(objective, z, jac=True, method="SLSQP", constraints=constraints,
                         options={"ftol": 1e-13, "maxiter": 150}).x  # fmt: skip
        m = np.maximum(full(z), 0.0)
        value = problem.negative_entropy(m)
        if _miss(problem, m) <= 1e-9 and (best is None or value < best[0]):
            best = value, m
        if convex and best is not None:
            break
    return best


def _can_be_positive(problem: Dense) -> BoolArray:
    """Mask of the masses that linear statements do not force to 0 (a linear program: Freund, Roundy and Todd 1985)."""
    n, k = len(problem.w), len(problem.G)
    at_least = np.block([[problem.G, np.zeros((k, n + 1))], [np.eye(n), -np.eye(n), np.zeros((n, 1))]])
    found = linprog(
        np.r_[np.zeros(n), -np.ones(n), 0.0],
        A_ub=-at_least,
        b_ub=np.zeros(k + n),
        A_eq=np.column_stack([problem.A, np.zeros((len(problem.A), n)), -problem.b]),
        b_eq=np.zeros(len(problem.A)),
        bounds=[(0, None)] * n + [(0, 1)] * n + [(1, None)],
    )
    positive: BoolArray = found.x[n : 2 * n] > 0.5
    return positive


def _miss(problem: Dense, m: FloatArray) -> float:
    """The largest miss of any statement at a point."""
    advantage, labels = problem.advantage(m)[0], problem.G @ m
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


def compare(case: Case, starts: int, backend: str = "auto") -> None:
    """The answer is feasible, and has at least the entropy of the dense solve's; where convex, it is the same."""
    problem = dense(case)
    assume(len(problem.w) <= 36)
    found = maxent.estimate(case.release, case.people.qi, rounding="exact", backend=backend)
    assume(not refusal(found))
    assert found.summary["status"] == "optimal", found.notes
    rows, mine = _answer(problem, found)
    assert _miss(problem, mine) <= 1e-7, "the answer breaks a statement"
    best = solve_densely(problem, starts, convex=found.summary["convex"])
    if best is None:
        return
    value, masses = best
    gap = value - problem.negative_entropy(mine)
    assert gap >= (-1e-8 if found.summary["convex"] else -1e-6), "less entropy than the dense solve"
    if found.summary["convex"]:
        # The entropy is strongly concave: where the dense solve falls short of ours, it is at most so far off.
        far = 1e-6 + np.sqrt(2 * max(gap, 0.0))
        np.testing.assert_allclose(found.probabilities[rows], problem.posterior(masses), atol=far, rtol=0)


def refusal(found: Any) -> str | None:
    """Reason why the back end refused a program, None when it did not."""
    return next((text for text in found.notes if text.startswith(f"{found.backend} refuses: ")), None)


def _answer(problem: Dense, found: Any) -> tuple[list[int], FloatArray]:
    """The rows of the answer for each quasi-identifier of the dense problem, and its masses in that one's order."""
    rows, cells = owners_of(found.program, problem.q), found.program.cells
    cell = {(int(o), *map(int, leaf)): i for i, (o, leaf) in enumerate(zip(cells.owner, cells.leaf, strict=True))}
    assert len(cell) * problem.n_classes == len(problem.w)
    at = [cell[rows[q], *map(int, place)] for q, place in zip(problem.owner, problem.place, strict=True)]
    return rows, found.outcome.masses[at, problem.klass]
