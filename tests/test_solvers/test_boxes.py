"""Boxes of sums: bounds above whatever is feasible in them, the same for many boxes at once as for each of them."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.programs import public, whole
from support.symmetric import grown
from test_solvers.test_divergence_proof import solved
from test_solvers.test_priced_bound import IMPURITIES, random_masses

from maxent.solvers.control import Clock
from maxent.solvers.gap import branch_and_bound
from maxent.solvers.gap.branch_and_bound import (
    Boxes,
    Lagrangians,
    Looked,
    Reach,
    Setting,
    _parts,
    _search,
    bending,
    bounded,
    flat_enough,
    lacking_in_boxes,
    looked_at,
    narrowed,
    shares_left,
)
from maxent.solvers.gap.divergence import Ball, answer
from maxent.solvers.gap.lagrangian import affordable


@cache
def corners(impurity):
    """A program, its answer, and some of its masses."""
    program, rng = whole(*public(impurity, seed=28))[1].program, np.random.default_rng(5)
    return program, answer(program, solved(program, 1)[0][1]), [random_masses(program, rng) for _ in range(6)]


def masses_in_boxes(impurity, rng, size, n=6):
    """Masses about an answer, shape (60, n_masses), boxes that they are in, and which are in which, (n_boxes, 60)."""
    program, at, found = corners(impurity)
    at = replace(at, mu=np.maximum(at.mu, 1e-3))
    every = (1 - size) * at.masses + size * rng.dirichlet(np.full(len(found), 0.3), 60) @ np.array(found)
    centre = every.mean(axis=0)
    apart = (every * np.log(every / centre)).sum(axis=1).max()
    setting = Setting.of_answer(at, affordable(program, at.mu), Ball(at.rows, centre, float(apart)))
    boxes = Boxes.first(setting)
    boxes.near = at.masses[None].copy()
    boxes = narrowed(setting, boxes)
    for _ in range(n):  # a cut through some masses in each of some functions
        j = int(rng.integers(len(setting.along)))
        place, below, above = float(np.median(every @ setting.along[j])), boxes.take([-1]), boxes.take([-1])
        below.high[0, j], above.low[0, j] = place, place
        boxes = Boxes.joined([boxes, narrowed(setting, below), narrowed(setting, above)])
    boxes = boxes.take(~boxes.empty)
    v = every @ setting.along.T
    return setting, boxes, every, ((v >= boxes.low[:, None]) & (v <= boxes.high[:, None])).all(axis=2)


def entropy(setting, masses):
    return -(masses * np.log(masses / setting.at.rows.linear.weight)).sum(axis=-1)


@pytest.mark.parametrize("impurity", IMPURITIES)
def test_functions_stay_within_their_reach_in_every_box(impurity):
    rng = np.random.default_rng(1)
    setting, boxes, every, inside = masses_in_boxes(impurity, rng, 0.5)
    assert inside[0].all()
    functions = np.vstack([rng.standard_normal((20, every.shape[1])), setting.along])
    above, below = Reach.of(setting, boxes).furthest(functions[None], boxes.near)
    for i, some in enumerate(inside):
        far = (every[some] - boxes.near[i]) @ functions.T
        assert (far <= above[i] + 1e-9).all()
        assert (-far <= below[i] + 1e-9).all()
    assert inside[1:].any()


@pytest.mark.parametrize("impurity", IMPURITIES)
def test_between_ends_comparisons_are_below_those_with_chords(impurity):
    setting, boxes, every, inside = masses_in_boxes(impurity, np.random.default_rng(4), 1.0)
    k = len(setting.mu)
    for i, some in enumerate(inside):
        ends = np.tile(boxes.low[i], (some.sum(), 1)), np.tile(boxes.high[i], (some.sum(), 1))
        rows = Lagrangians.of(setting, *ends, None).rows(every[some]).left
        assert (rows[:, k : 2 * k] >= rows[:, :k] - 1e-9).all()
        assert (rows[:, 2 * k : 2 * k + 2 * len(setting.along)] >= -1e-9).all()


@pytest.mark.parametrize("impurity", IMPURITIES)
def test_a_bound_in_a_box_is_above_whatever_is_feasible(impurity):
    setting, boxes, every, inside = masses_in_boxes(impurity, np.random.default_rng(5), 1.0)
    every = np.vstack([every, setting.at.masses])
    inside = np.hstack([inside, boxes.has(setting, setting.at.masses)[:, None]])
    rows = setting.at.curves.rows
    feasible = np.array([(rows(setting.at.curves.a(m))[0] >= -1e-9).all() for m in every])
    found = bounded(setting, boxes.low, boxes.high, None, setting.price, boxes.near)
    told = 0
    for most, some in zip(found.most, inside & feasible, strict=True):
        told += some.sum()
        assert (entropy(setting, every[some]) <= most + 1e-9).all()
    assert told > 1


@pytest.mark.parametrize("impurity", IMPURITIES)
def test_a_lagrangian_is_below_its_bound_wherever_relative_entropies_make_up_for_it(impurity):
    rng, told = np.random.default_rng(2), 0
    for size in (0.03, 0.1):
        setting, boxes, every, inside = masses_in_boxes(impurity, rng, size)
        mu, price = np.tile(setting.mu, (len(boxes), 1)), 1.5 * np.maximum(setting.mu, 0.05)
        for flat in (flat_enough(setting, boxes, boxes.near, mu, np.full(len(boxes), 0.35)), np.zeros_like(boxes.low)):
            found = bounded(setting, boxes.low, boxes.high, flat, price, boxes.near)
            share = shares_left(Reach.of(setting, boxes), found.masses, found.mu, flat, (0.5, 0.2, 0.0))
            for i in np.flatnonzero(~np.isnan(share)).tolist():
                m = every[inside[i]]
                told += len(m)
                ends = np.tile(boxes.low[i], (len(m), 1)), np.tile(boxes.high[i], (len(m), 1))
                rows = Lagrangians.of(setting, *ends, None).rows(m).left[:, : len(setting.mu)]
                apart = (m * np.log(m / found.masses[i])).sum(axis=1)
                assert (rows @ found.mu[i] + entropy(setting, m) <= found.most[i] - share[i] * apart + 1e-9).all()
    assert told


@pytest.mark.parametrize("impurity", IMPURITIES)
def test_squares_leave_what_they_are_to_leave(impurity):
    setting, boxes, _, _ = masses_in_boxes(impurity, np.random.default_rng(3), 0.1)
    mu = np.full((len(boxes), len(setting.mu)), 3.0)
    across = setting.at.across
    flat = flat_enough(setting, boxes, np.tile(setting.at.masses, (len(boxes), 1)), mu, np.full(len(boxes), 0.6))
    curves, along = setting.at.curves, setting.along @ across
    least, most = setting.ends(boxes.low, boxes.high)
    gamma = mu @ setting.coef
    bent = 2.0 * gamma * curves.bent(setting.at.a, np.where(gamma > 0, least, most) - setting.at.a)
    by_z = curves.sums @ across
    before = (by_z.T * bent[:, None]) @ by_z
    after = before - (along.T * flat[:, None]) @ along
    assert (np.linalg.eigvalsh(before)[:, -1] > 0.6).any()
    # Of the steepest directions, whose mix with others may bend a little more.
    assert np.median(np.linalg.eigvalsh(after)[:, -1]) <= 0.8


@pytest.mark.parametrize("impurity", IMPURITIES)
def test_many_boxes_at_once_have_the_bounds_of_each(impurity):
    setting, boxes, _, _ = masses_in_boxes(impurity, np.random.default_rng(6), 0.5)
    mu, left = np.tile(setting.mu, (len(boxes), 1)), np.full(len(boxes), 0.6)
    flat = flat_enough(setting, boxes, boxes.near, mu, left)
    for squares, price in ((None, setting.price), (flat, 1.2 * setting.mu)):
        every = bounded(setting, boxes.low, boxes.high, squares, price, boxes.near)
        for i in range(len(boxes)):
            one, own = boxes.take([i]), None if squares is None else squares[i : i + 1]
            alone = bounded(setting, one.low, one.high, own, price, one.near)
            np.testing.assert_allclose(alone.most, every.most[i], rtol=1e-6)
    # What is looked at with others is done, or left with the same bound, as alone.
    every = looked_at(setting, boxes.take(slice(None)))
    for i in range(len(boxes)):
        alone = looked_at(setting, boxes.take([i]))
        assert alone.done[0] == every.done[i]
        assert alone.boxes.more[0] == pytest.approx(every.boxes.more[i], abs=1e-5)


def test_both_parts_of_a_box_have_all_of_it():
    setting, boxes, every, inside = masses_in_boxes("gini", np.random.default_rng(7), 1.0)
    n = len(boxes)
    looked = Looked(setting, boxes, np.ones((n, len(setting.mu))), np.zeros_like(boxes.low), np.zeros(n, bool), 0.0)
    v = every @ setting.along.T
    parts = [
        ((v >= part.low[:, None]) & (v <= part.high[:, None])).all(axis=2) for part in _parts(setting, looked, 1.0)
    ]
    assert (parts[0] | parts[1] == inside).all()
    assert (parts[0] != inside).any()


def test_a_search_that_ends_early_says_what_its_worst_box_lacks():
    program = whole(*grown(11))[1].program
    point = solved(program, 1)[0][1]
    lacks = []
    for most in (1, 60, 200):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(branch_and_bound, "PASSES", (branch_and_bound.Pass(0.0, most, 1e9, 1),))
            lacks.append(lacking_in_boxes(program, point, Clock()))
    assert lacks[0] >= lacks[1] > lacks[2] > 0
    assert lacking_in_boxes(program, point, Clock(0.0)) == np.inf


def test_what_has_no_number_has_no_bound(monkeypatch):
    setting, boxes, _, _ = masses_in_boxes("gini", np.random.default_rng(8), 0.5)
    monkeypatch.setattr(branch_and_bound, "_solved", lambda system, right: np.full_like(right, np.nan))
    found = bounded(setting, boxes.low, boxes.high, None, setting.price, boxes.near)
    assert (np.isfinite(found.most)).all()  # of the start alone
    assert _search(setting, branch_and_bound.Pass(0.0, 3, 1e9, 1), Clock()) > 0


@pytest.mark.parametrize("impurity", IMPURITIES)
def test_what_masses_of_nearly_0_bend_is_not_known_and_no_warning(impurity):
    rng = np.random.default_rng(4)
    setting, boxes, _, _ = masses_in_boxes(impurity, rng, 0.5)
    masses, mu = np.tile(setting.at.masses, (len(boxes), 1)), np.tile(setting.mu, (len(boxes), 1))
    masses[0] = 1e-320
    form, fine = bending(setting, boxes, masses, mu)[1:]
    assert not fine[0]
    assert np.isfinite(form).all()
    assert np.isnan(shares_left(Reach.of(setting, boxes), masses, mu, None, (0.0,))[0])
    assert bending(setting, boxes, np.tile(setting.at.masses, (len(boxes), 1)), mu)[2].all()
