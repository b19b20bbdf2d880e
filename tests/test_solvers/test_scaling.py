"""Matrix scaling: by sweeps, by Newton's method, and what either has to meet."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import thorough

from maxent.constraints.records import assign_rows
from maxent.solvers.backend import Options
from maxent.solvers.control import Clock
from maxent.solvers.dual.matrix_scaling import Transport


def transport(owner, group, people, rows):
    """The entries that some assignment uses; there is a complete one."""
    found = assign_rows(owner, group, people, rows)
    assert not found.shortages
    kept = found.possible
    return Transport(owner[kept], group[kept], people.astype(float), rows.astype(float))


@st.composite
def transports(draw):
    """People with rows, each covered by their own and a few others."""
    n = draw(st.integers(2, 30))
    who, which = (np.array(draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))) for _ in range(2))
    more = draw(st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40))
    (_, owner), (_, group) = np.unique(who, return_inverse=True), np.unique(which, return_inverse=True)
    people, rows = np.bincount(owner), np.bincount(group)
    pairs = {
        *zip(owner.tolist(), group.tolist(), strict=True),
        *((q, b) for q, b in more if q < len(people) and b < len(rows)),
    }
    first, second = np.array(sorted(pairs)).T
    return transport(first, second, people, rows)


def solved(problem, sweeps):
    log_v, steps = problem.scaled(Options(), lambda done, total: None, sweeps)
    masses = problem.masses(log_v)
    assert np.abs(problem.missed(masses)).max() <= 1e-8
    np.testing.assert_allclose(np.bincount(problem.row, masses), problem.total)
    assert masses.min() > 0
    return masses, steps


@thorough(60)
@given(problem=transports())
def test_sweeps_and_newton_agree(problem):
    swept, _ = solved(problem, 20_000)
    stepped, _ = solved(problem, 0)
    np.testing.assert_allclose(swept, stepped, atol=1e-6)
    # At the maximum m = u v: the logarithm of a mass is a number of its row and one of its column.
    design = np.hstack([np.eye(len(problem.total))[problem.row], np.eye(len(problem.size))[problem.column]])
    logs = np.log(stepped)
    assert np.abs(design @ np.linalg.lstsq(design, logs, rcond=None)[0] - logs).max() <= 1e-6


def ladder(n):
    """Everybody may have the row of the next: what one moves, all have to."""
    owner, group = np.repeat(np.arange(n), 2), np.repeat(np.arange(n), 2)
    group[1::2] = np.minimum(group[1::2] + 1, n - 1)
    owner, group = np.append(owner[:-1], n - 1), np.append(group[:-1], 0)
    return transport(owner, group, np.full(n, 3), np.full(n, 3))


def test_newton_ends_what_sweeps_would_take_long_for():
    problem = ladder(60)
    problem.size[:30] += 0.05
    problem.size[30:] -= 0.05
    masses, steps = solved(problem, 5)
    assert steps > 0
    assert len(masses) == 120


def test_the_clock_ends_newton():
    problem = ladder(40)
    problem.size[:20] += 0.05
    problem.size[20:] -= 0.05
    clock = Clock()
    clock.interrupt()
    log_v, steps = problem.scaled(Options(clock=clock), lambda done, total: None, sweeps=1)
    assert steps == 0
    assert np.abs(problem.missed(problem.masses(log_v))).max() > 1e-3
