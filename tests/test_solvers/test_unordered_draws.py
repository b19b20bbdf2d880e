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


def program_of(release, frame, **known):
    table = read_qi(frame, release)
    return compile_program(release, table, cells=build_cells(release, table), **known)


def truth_of(program, frame, y):
    """Individuals of each quasi-identifier and class."""
    people = program.table.frame()
    at = {tuple(row): i for i, row in enumerate(people[list(frame)].astype(float).itertuples(index=False))}
    found = np.zeros((len(people), program.n_classes), int)
    for row, klass in zip(frame.itertuples(index=False), y, strict=True):
        found[at[tuple(row)], klass] += 1
    return found


def every_world(program, marginal=None):
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
        if marginal is not None:
            fine = np.all([(labels == x).sum(axis=1) == marginal[x] for x in range(k)], axis=0)
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


@pytest.mark.parametrize("seed", range(2))
def test_what_else_is_stated_is_joined(seed):
    release, frame, y = forest(7, 2, 2, seed, max_depth=1, max_samples=4)
    marginal = np.bincount(y).astype(float)
    program = program_of(release, frame, marginal=marginal)
    low, high = every_world(program, marginal)
    alone = settle_unordered(program_of(release, frame), Clock(), run=here)
    found = settle_unordered(program, Clock(), run=here)
    assert found.ended
    np.testing.assert_array_equal(found.low, low)
    np.testing.assert_array_equal(found.high, high)
    assert (found.high - found.low).sum() < (alone.high - alone.low).sum()


@pytest.mark.parametrize(("people", "depth", "classes"), [(100, 2, 2), (500, None, 2), (100, 2, 3)])
def test_a_hundred_trees_tell_everything(people, depth, classes):
    release, frame, y = forest(people, 3, 100, 1, classes, max_depth=depth)
    found = settle_unordered(program := program_of(release, frame), Clock())
    truth = truth_of(program, frame, y)
    np.testing.assert_array_equal(found.low, truth)
    np.testing.assert_array_equal(found.high, truth)
    assert found.ended
    assert f"who holds {people} of the rows is proved" in found.sentence


def test_bounds_use_draws_and_say_so():
    release, frame, y = forest(40, 4, 60, 3, max_depth=2)
    proved = maxent.bounds(release, frame, level="integer")
    truth = truth_of(proved.program, frame, y)
    np.testing.assert_array_equal(proved.bounds.low, truth)
    np.testing.assert_array_equal(proved.bounds.high, truth)
    whole = (truth == proved.program.table.counts[:, None]).any(axis=1)
    assert proved.certain_proved == proved.program.table.counts[whole].sum() > 0
    assert maxent.bounds(replace(release, draws=None), frame, level="linear").certain_proved < proved.certain_proved
    assert proved.levels["integer"] > 0
    said = "draws of the file were used: 40 rows in unknown order, 60 trees, 15 groups of people"
    assert proved.summary["notes"][-1].startswith(said)


@pytest.mark.parametrize("seconds", [0.0, 0.3])
def test_what_is_proved_when_time_is_up_holds(seconds):
    release, frame, y = forest(150, 3, 12, 5, max_depth=2)
    found = settle_unordered(program := program_of(release, frame), Clock(seconds))
    truth = truth_of(program, frame, y)
    assert (found.low <= truth).all()
    assert (truth <= found.high).all()
    assert not found.ended
    assert found.certain + found.open == 150
    assert "not all is settled" in found.sentence


def test_what_is_out_of_reach_is_named(monkeypatch):
    monkeypatch.setattr("maxent.solvers.certainty.unordered.REACH", 100)
    release, frame, _ = forest(20, 2, 5, 1)
    found = settle_unordered(program_of(release, frame), Clock())
    assert (found.ended, found.open) == (False, 20)
    assert "20 rows in unknown order, 5 trees are beyond reach (" in found.sentence


def edited(release, seeds):
    return replace(release, draws=replace(release.draws, seeds=tuple(seeds)))


def test_edited_seeds_are_named():
    release, frame, _ = forest(60, 3, 20, 2)
    seeds = list(release.draws.seeds)
    sizes = (release.draws.matrix() > 0).sum(axis=1).tolist()
    first, second = next((a, b) for b in range(20) for a in range(b) if sizes[a] == sizes[b])
    swapped = list(seeds)
    swapped[first], swapped[second] = seeds[second], seeds[first]
    other = [seeds[0] + 1, *seeds[1:]]
    found = [settle_unordered(program_of(edited(release, s), frame), Clock()) for s in (swapped, other)]
    assert [each.contradicted for each in found] == [True, True]
    assert found[0].sentence.startswith("the draws do not fit the counts: nobody could sit where these rows were drawn")
    assert found[1].sentence.startswith("the draws do not fit the counts: tree 1 states ")
    with pytest.warns(maxent.UnreliableResult):
        proved = maxent.bounds(edited(release, swapped), frame, level="integer")
    assert proved.status == "inconsistent"
    assert found[0].sentence in proved.notes


def test_a_table_of_other_people_is_named():
    release, frame, _ = forest(60, 3, 20, 2)
    draws = replace(release.draws, n=61)
    found = settle_unordered(program_of(replace(release, draws=draws), frame), Clock())
    assert found.sentence == "the draws do not fit the counts: draws are of 61 rows, the table has 60 people"


def test_each_seat_is_drawn_as_often_by_counts_as_by_seeds():
    release, frame, _ = forest(30, 3, 15, 4, max_depth=2)
    stated = replace(release.draws, seeds=(), generator="", counts=tuple(map(tuple, release.draws.matrix().tolist())))
    by_seeds, by_counts = (
        settle_unordered(program_of(replace(release, draws=draws), frame), Clock()) for draws in (release.draws, stated)
    )
    np.testing.assert_array_equal(by_seeds.low, by_counts.low)
    np.testing.assert_array_equal(by_seeds.high, by_counts.high)


def test_draws_say_nothing_without_counts():
    release, frame, _ = forest(30, 3, 15, 4, max_depth=2)
    by_label, by_counts = (maxent.bounds(release, frame, knowledge=known).notes for known in ("label", "counts"))
    assert not any("draws of the file" in note for note in by_label)
    assert any("draws of the file" in note for note in by_counts)
