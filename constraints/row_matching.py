"""Complete matchings of published rows with people: each row belongs to one person.

People are counted by quasi-identifier, rows by group of equal boxes; a pair of the two can be used when the box holds
the values. A complete assignment is a flow, and so is every fractional one: how many of a quasi-identifier have their
row in a group is what maximum entropy distributes, and as the constraints are those of transportation, a pair that no
complete assignment of whole people uses is 0 in every fractional one, too. Given one complete assignment, a pair is
used by some other exactly if both of its ends are in the same strongly connected component of the residual graph, where
an arc goes from people to every group that covers them, and back where the assignment uses the pair: whoever moves to
another group displaces somebody, who moves on, until somebody takes the place that became free first.

Where there is no complete assignment the largest one shows why: from the people who are left over, the residual graph
reaches those who altogether have fewer rows than they are (Hall's condition); and so it is with rows that are left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from maxent.constraints.components import components
from maxent.models.arrays import BoolArray, IntArray
from maxent.models.looking import Check, unchecked


@dataclass(frozen=True, slots=True, eq=False)
class Shortage:
    """People and groups of rows that cannot all be matched, although each of them may be.

    ``excess`` is how many more people there are than rows that cover any of them; below 0 how many more rows there are
    than people that any of them cover.
    """

    people: IntArray
    groups: IntArray
    excess: int


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """Properties of all complete assignments; if there is none, of assignments with changed group sizes.

    Attributes
    ----------
    possible : bool, shape (n_pairs,)
        Pairs that some assignment uses; without a complete one, that some assignment does in which groups have
        ``sizes`` rows.
    sizes : int64, shape (n_groups,)
        Rows of each group, by which everybody whom one covers has a row: as published, if that is possible.
    shortages : tuple of Shortage
        Why there is no complete assignment; empty if there is one.
    """

    possible: BoolArray
    sizes: IntArray
    shortages: tuple[Shortage, ...]


def assign_rows(
    person: IntArray, group: IntArray, people: IntArray, rows: IntArray, check: Check = unchecked
) -> Assignment:
    """Find all pairs of people and groups that complete assignments use.

    Parameters
    ----------
    person, group : int64, shape (n_pairs,)
        Which groups cover whom, each pair once.
    people : int64, shape (n_people,)
        Individuals of each quasi-identifier.
    rows : int64, shape (n_groups,)
        Published rows of each group.
    check : Check
        Called between the steps; it may raise.
    """
    flow = _largest(person, group, people, rows)
    check()
    short = people - np.bincount(person, flow, len(people)).astype(np.int64)
    left = rows - np.bincount(group, flow, len(rows)).astype(np.int64)
    shortages = _shortages(person, group, flow, people, rows, short, left)
    check()
    # Who is left over takes a row more of the first group that covers them.
    first = np.unique(person, return_index=True)[1]
    flow = flow.copy()
    flow[first] += short[person[first]]
    label = _components(person, group, flow > 0, len(people), len(rows))
    possible: BoolArray = label[person] == label[len(people) + group]
    return Assignment(possible, np.bincount(group, flow, len(rows)).astype(np.int64), shortages)


def _largest(person: IntArray, group: IntArray, people: IntArray, rows: IntArray) -> IntArray:
    """A largest assignment: individuals of each pair, shape (n_pairs,)."""
    if not len(person):
        return np.zeros(0, np.int64)
    from scipy.sparse.csgraph import maximum_flow

    n_people, n_groups = len(people), len(rows)
    source, sink = n_people + n_groups, n_people + n_groups + 1
    start = np.concatenate([person, np.full(n_people, source), n_people + np.arange(n_groups)])
    end = np.concatenate([n_people + group, np.arange(n_people), np.full(n_groups, sink)])
    most = np.concatenate([people[person], people, rows]).astype(np.int32)
    network = sparse.csr_matrix((most, (start, end)), shape=(sink + 1, sink + 1))
    flow = maximum_flow(network, source, sink).flow
    found: IntArray = np.asarray(flow[person, n_people + group]).ravel().astype(np.int64)
    return found


def _components(person: IntArray, group: IntArray, used: BoolArray, n_people: int, n_groups: int) -> IntArray:
    """The strongly connected component of people, then of groups, in the residual graph of an assignment."""
    from scipy.sparse.csgraph import connected_components

    label: IntArray = connected_components(_residual(person, group, used, n_people, n_groups), connection="strong")[1]
    return label


def _residual(person: IntArray, group: IntArray, used: BoolArray, n_people: int, n_groups: int) -> sparse.csr_matrix:
    """Arcs from people to the groups that cover them, and back where the assignment uses the pair."""
    start = np.concatenate([person, n_people + group[used]])
    end = np.concatenate([n_people + group, person[used]])
    n = n_people + n_groups
    return sparse.csr_matrix((np.ones(len(start), np.int8), (start, end)), shape=(n, n))


def _shortages(
    person: IntArray,
    group: IntArray,
    flow: IntArray,
    people: IntArray,
    rows: IntArray,
    short: IntArray,
    left: IntArray,
) -> tuple[Shortage, ...]:
    """The shortages because of which a largest assignment is not complete."""
    residual = _residual(person, group, flow > 0, len(people), len(rows))
    found: list[Shortage] = []
    for graph, begin in ((residual, np.append(short, 0 * rows)), (residual.T.tocsr(), np.append(0 * people, left))):
        if begin.any():
            inside = _reached(graph, begin > 0)
            among = inside[person] & inside[len(people) + group]
            found += _divided(person[among], group[among], inside, people, rows)
    return tuple(found)


def _reached(graph: sparse.csr_matrix, begin: BoolArray) -> BoolArray:
    """Mask of the nodes that arcs lead to from some nodes, these included."""
    reached, new = begin, np.flatnonzero(begin)
    while len(new):
        next_to = np.zeros(len(begin), bool)
        next_to[graph[new].indices] = True
        new = np.flatnonzero(next_to & ~reached)
        reached = reached | next_to
    return reached


def _divided(person: IntArray, group: IntArray, inside: BoolArray, people: IntArray, rows: IntArray) -> list[Shortage]:
    """People and groups that are short of one another, apart where no pair connects them; all without one together."""
    n_people = len(people)
    label = components(len(inside), person, n_people + group)
    nodes = np.flatnonzero(inside)
    nodes = nodes[np.argsort(label[nodes], kind="stable")]
    parts = np.split(nodes, np.flatnonzero(np.diff(label[nodes])) + 1)
    alone = [part for part in parts if len(part) == 1]
    parts = [part for part in parts if len(part) > 1]
    if alone:
        parts.append(np.concatenate(alone))
    found = []
    for part in parts:
        who, which = part[part < n_people], part[part >= n_people] - n_people
        found.append(Shortage(who, which, int(people[who].sum() - rows[which].sum())))
    return found
