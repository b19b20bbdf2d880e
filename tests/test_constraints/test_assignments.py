"""Which row may be whose, against every assignment there is."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.generalised import assignments
from support.strategies import thorough

from maxent.constraints.records import assign_rows


@st.composite
def problems(draw):
    """A few individuals, rows, and who is covered by which, with a complete assignment or without."""
    n = draw(st.integers(1, 6))
    who = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    which = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    pairs = draw(st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=9))
    if draw(st.booleans()):
        pairs |= set(zip(who, which, strict=True))
    else:
        which = which[draw(st.integers(0, 1)) :]
    people, rows = (np.bincount(codes, minlength=4) for codes in (who, which))
    left = np.flatnonzero(people), np.flatnonzero(rows)
    number = [{int(code): i for i, code in enumerate(codes)} for codes in left]
    pairs = sorted((number[0][q], number[1][b]) for q, b in pairs if q in number[0] and b in number[1])
    owner, group = np.array(pairs, np.int64).reshape(-1, 2).T
    return owner, group, people[left[0]], rows[left[1]]


@thorough(100)
@given(problem=problems())
def test_pairs_are_possible_that_some_assignment_uses(problem):
    owner, group, people, rows = problem
    found = assign_rows(*problem)
    who = np.repeat(np.arange(len(people)), people)
    complete = list(assignments(people, owner, group, rows))
    assert bool(complete) == (not found.shortages)
    if complete:
        used = {pair for order in complete for pair in zip(who.tolist(), order.tolist(), strict=True)}
        possible = {(int(q), int(b)) for q, b in zip(owner[found.possible], group[found.possible], strict=True)}
        assert possible == used
        assert found.sizes.tolist() == rows.tolist()


@thorough(100)
@given(problem=problems())
def test_shortages_are_what_they_say(problem):
    owner, group, people, rows = problem
    found = assign_rows(*problem)
    for short in found.shortages:
        assert short.excess == people[short.people].sum() - rows[short.groups].sum() != 0
        beyond = np.isin(owner, short.people) & ~np.isin(group, short.groups)
        without = np.isin(group, short.groups) & ~np.isin(owner, short.people)
        assert not (beyond if short.excess > 0 else without).any()
    excess = [short.excess for short in found.shortages]
    assert sum(excess) == (people.sum() - rows.sum() if excess else 0)
    covered = np.isin(np.arange(len(people)), owner)
    assert found.sizes.sum() == people[covered].sum()
