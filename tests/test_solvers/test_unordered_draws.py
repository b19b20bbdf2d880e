"""Draws of a file, the order of rows unknown: bounds against all placements and labellings, and what is proved."""

from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.ensemble import RandomForestClassifier

import maxent
from maxent.constraints.compiler import compile_program
from maxent.constraints.program.cells import build_cells
from maxent.models.draws import Draws
from maxent.models.tables.qi_table import read_qi
from maxent.solvers.certainty.unordered import settle_unordered
from maxent.solvers.control import Clock
from maxent.solvers.worlds.settle import here


def forest(n, columns, trees, seed, classes=2, **how):
    """A forest over binary attributes, its release with draws, the table and the classes."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, columns)).astype(float)
    y = np.minimum((rng.random(n) < 0.2 + 0.2 * X[:, :3].sum(axis=1)) * rng.integers(1, classes, n), classes - 1)
    y[:classes] = range(classes)
    fitted = RandomForestClassifier(trees, random_state=seed, **how).fit(X, y)
    names = [f"a{i}" for i in range(columns)]
    seeds = tuple(tree.random_state for tree in fitted.estimators_)
    draws = Draws(n, how.get("max_samples", n), True, "scikit-learn-forest", sklearn.__version__, seeds)
    release = replace(maxent.from_sklearn(fitted, target="y", features=names), draws=draws)
    return release, pd.DataFrame(X, columns=names), y


def program_of(release, frame):
    table = read_qi(frame, release)
    return compile_program(release, table, cells=build_cells(release, table))


def truth_of(program, frame, y):
    """Individuals of each quasi-identifier and class."""
    people = program.table.frame()
    at = {tuple(row): i for i, row in enumerate(people[list(frame)].astype(float).itertuples(index=False))}
    found = np.zeros((len(people), program.n_classes), int)
    for row, klass in zip(frame.itertuples(index=False), y, strict=True):
        found[at[tuple(row)], klass] += 1
    return found


def every_world(program):
    """The fewest and the most people of each quasi-identifier and class, over all placements and labellings."""
    table, release = program.table, program.release
    drawn = release.draws.matrix()
    n, k, trees = drawn.shape[1], program.n_classes, len(release.trees)
    people = np.repeat(np.arange(len(table)), table.counts)
    labels = np.array(list(product(range(k), repeat=n)))
    leaf = program.cells.leaf[np.argsort(program.cells.owner)]
    low, high = np.full((len(table), k), n), np.full((len(table), k), -1)
    for placed in {tuple(people[list(order)]) for order in permutations(range(n))}:
        seat = np.array(placed)
        fine = np.ones(len(labels), bool)
        for t in range(trees):
            for place in np.unique(leaf[:, t]):
                node, inside = release.trees[t].nodes[place], leaf[seat, t] == place
                fine &= (drawn[t][inside] > 0).sum() == node.distinct
                for x, name in enumerate(release.target.classes):
                    fine &= (labels == x) @ (drawn[t] * inside) == node.counts.get(name, 0)
        for x in range(k):
            for q in range(len(table)):
                numbers = ((labels == x) & (seat == q))[fine].sum(axis=1)
                if len(numbers):
                    low[q, x], high[q, x] = min(low[q, x], numbers.min()), max(high[q, x], numbers.max())
    return low, high


@pytest.mark.parametrize("seed", range(8))
def test_bounds_are_those_of_all_placements_and_labellings(seed):
    shape = [(6, 2, 1), (7, 2, 2), (6, 2, 3), (7, 2, 3)][seed % 4]
    release, frame, y = forest(*shape, seed, classes=2 + seed // 6, max_depth=2 - seed % 2)
    program = program_of(release, frame)
    low, high = every_world(program)
    found = settle_unordered(program, Clock(), run=here)
    assert found.ended
    assert not found.contradicted
    assert not found.late.any()
    np.testing.assert_array_equal(found.low, low)
    np.testing.assert_array_equal(found.high, high)
    truth = truth_of(program, frame, y)
    assert (low <= truth).all()
    assert (truth <= high).all()
