"""Generalised records and the adversary's table as a `Program`, with the complete matchings of rows and people.

The groups of equal boxes are the leaves below a single split, on which group a person's row is in: an attribute that
the adversary does not have. The cells of a quasi-identifier, its span, are the groups that cover it, without those in
which no complete assignment of rows to people puts it: its mass there is 0 in every distribution that agrees with the
rows. What is stated are the counts of each group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from maxent.constraints.kinds.context import Context
from maxent.constraints.kinds.counts import counts
from maxent.constraints.kinds.facts import facts
from maxent.constraints.kinds.sampling import Counting
from maxent.constraints.program.cells import Cells, CellSums, TreeCells
from maxent.constraints.program.program import Contradiction, Program, Regions, Scaling, components
from maxent.models.arrays import BoolArray, IntArray
from maxent.models.errors import Check, Origin, unchecked
from maxent.models.release import Attribute, Branch, Node, Release, Tree
from maxent.models.tables.generalized_records import covering_pairs
from maxent.models.tables.qi_table import QITable
from maxent.models.trees.places import number_places
from maxent.models.trees.printed_rates import RateReader

if TYPE_CHECKING:
    from maxent.models.formats.published_records import PublishedRecords
    from maxent.models.tables.truth_and_facts import Fact

# Complete matchings of published rows with people: each row belongs to one person.
#
# People are counted by quasi-identifier, rows by group of equal boxes; a pair of the two can be used when the box holds
# the values. A complete assignment is a flow, and so is every fractional one: how many of a quasi-identifier have their
# row in a group is what maximum entropy distributes, and as the constraints are those of transportation, a pair that no
# complete assignment of whole people uses is 0 in every fractional one, too. Given one complete assignment, a pair is
# used by some other exactly if both of its ends are in the same strongly connected component of the residual graph,
# where an arc goes from people to every group that covers them, and back where the assignment uses the pair: whoever
# moves to another group displaces somebody, who moves on, until somebody takes the place that became free first.
#
# Where there is no complete assignment the largest one shows why: from the people who are left over, the residual graph
# reaches those who altogether have fewer rows than they are (Hall's condition); and so it is with rows that are left.


@dataclass(frozen=True, slots=True, eq=False)
class Shortage:
    """How many more people there are than rows that cover any of them, or, below 0, more rows than people."""

    people: IntArray
    groups: IntArray
    excess: int


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """Properties of all complete assignments; if there is none, of assignments with changed group sizes.

    ``possible``, shape (n_pairs,): Pairs that some assignment uses; without a complete one, that some assignment does
    in which groups have ``sizes`` rows. ``sizes``, shape (n_groups,): rows of each group, by which everybody whom one
    covers has a row: as published, if that is possible. ``shortages``: why there is no complete assignment; empty if
    there is one.
    """

    possible: BoolArray
    sizes: IntArray
    shortages: tuple[Shortage, ...]


def assign_rows(
    person: IntArray, group: IntArray, people: IntArray, rows: IntArray, check: Check = unchecked
) -> Assignment:
    """Find the pairs, of a person and a group that covers them, that some complete assignment uses."""
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


# Lines that are named of a contradiction; of more, the number.
NAMED = 5


def records_release(records: PublishedRecords, *, nowhere: bool = False) -> Release:
    """Groups of rows as leaves, called by the line of their first row; ``nowhere`` adds a branch without a leaf."""
    table = records.table
    names = tuple(map(str, records.first.tolist()))
    attribute = Attribute("published row", values=(*names, "none"), role="private")
    branches = [Branch(name, values=(name,)) for name in names]
    if nowhere:
        branches.append(Branch(None, values=("none",)))
    leaves = [
        Node(name, n=sum(held), counts=dict(zip(table.target.classes, held, strict=True)))
        for name, held in zip(names, records.counts.tolist(), strict=True)
    ]
    root = Node("rows", attribute.name, tuple(branches))
    return Release(table.target, (*table.attributes, attribute), (Tree((root, *leaves)),))


@dataclass(frozen=True, slots=True, eq=False)
class Covering:
    """Groups of rows, each with a quasi-identifier that it covers; ``assignment`` says which pairs are possible."""

    owner: IntArray
    group: IntArray
    assignment: Assignment


def cover(records: PublishedRecords, people: QITable, check: Check = unchecked) -> Covering:
    """Find the groups of rows that cover each quasi-identifier, from `read_published`; ``check`` is told how far."""
    check("it was not known yet which rows cover whom")
    owner, group = covering_pairs(records.table.boxes, people, check)
    check(
        f"{len(owner):,} pairs of a quasi-identifier and rows that cover it were found, and nobody was assigned to rows"
    )
    return Covering(owner, group, assign_rows(owner, group, people.counts, records.counts.sum(axis=1), check))


def compile_records(
    records: PublishedRecords, people: QITable, known: tuple[Fact, ...] = (), covering: Covering | None = None
) -> Program:
    """Everything that published records tell an adversary who holds the table."""
    covering = covering or cover(records, people)
    owner, group, found = covering.owner, covering.group, covering.assignment
    contradictions = tuple(row_contradictions(records, people, found.shortages))
    kept = found.possible if not contradictions else np.ones(len(owner), bool)
    lost = np.flatnonzero(np.bincount(owner, minlength=len(people)) == 0)
    release = records_release(records, nowhere=len(lost) > 0)
    cells = _cells(release, np.append(owner[kept], lost), np.append(group[kept], np.full(len(lost), len(records))))
    sums = CellSums(cells, people.codes, tuple(map(len, people.levels)))
    exact = Counting(1.0, 0, 0.0)
    context = Context(release, people, cells, frozenset(), RateReader(), None, known, exact, sums, ())
    unit = f"rows like {records.unit}"  # a statement is named by its kind
    linear = [replace(each, origin=Origin(unit, each.origin.node)) for each in counts(context)] + list(facts(context))
    parts = context.regions.cells
    scaling = Scaling(
        np.concatenate([[0], found.sizes, [int(people.counts[lost].sum())]]),
        np.append(found.possible[kept], np.ones(len(lost), bool)),
    )
    return Program(
        release,
        people,
        cells,
        sums,
        Regions(
            np.cumsum([0, *map(len, parts)]),
            np.concatenate([np.zeros(0, np.int64), *parts]),
            tuple(context.regions.places),
        ),
        tuple(linear),
        (),
        contradictions,
        (*left_out(records, people), *_notes(owner, found, people)),
        scaling,
    )


def _cells(release: Release, owner: IntArray, group: IntArray) -> Cells:
    """Cells sorted by group, then by quasi-identifier, as the pairs are."""
    places = number_places(release.trees[0])
    leaf = group + 1
    start = np.searchsorted(leaf, np.arange(len(places.first)))
    stop = np.searchsorted(leaf, np.arange(len(places.first)), side="right")
    start[0], stop[0] = 0, len(leaf)
    return Cells(owner, leaf[:, None], (TreeCells(places, np.arange(len(leaf)), start, stop),))


def row_contradictions(
    records: PublishedRecords, people: QITable, shortages: tuple[Shortage, ...]
) -> Iterator[Contradiction]:
    """Reasons why rows are not those of the people: their numbers, too few rows for people, too few people for rows."""
    n_rows, n_people = len(records.lines), people.individuals
    if n_rows != n_people:
        says = f"{n_rows} rows, but {n_people} individuals in {people.source}"
        yield Contradiction(Origin(records.source), says, float(abs(n_rows - n_people)))
    for short in shortages:
        n = int(people.counts[short.people].sum())
        who = f"{n} individual" if n == 1 else f"{n} individuals"
        where = _listed(f"{people.unit}", people.lines[short.people])
        n = int(records.counts[short.groups].sum())
        which = f"{n} row" if n == 1 else f"{n} rows"
        lines = records.first[short.groups]
        if not len(short.groups):
            yield Contradiction(Origin(people.source), f"no row covers {who} ({where})", float(short.excess))
        elif not len(short.people):
            origin = Origin(_listed(f"rows like {records.unit}", lines))
            yield Contradiction(origin, f"{which} that cover nobody of {people.source}", float(-short.excess))
        elif short.excess > 0:
            origin = Origin(people.source, None)
            says = f"{who} ({where}) can only have {which}, those like {_listed(records.unit, lines)}"
            yield Contradiction(origin, says, float(short.excess))
        else:
            origin = Origin(_listed(f"rows like {records.unit}", lines))
            yield Contradiction(origin, f"{which} cover only {who} of {people.source} ({where})", float(-short.excess))


def _listed(unit: str, lines: IntArray) -> str:
    """``lines 3, 8, ...``."""
    some = np.sort(lines)[:NAMED].tolist()
    more = f", ... ({len(lines)} in all)" if len(lines) > NAMED else ""
    return f"{unit}{'s' if len(lines) > 1 else ''} {', '.join(map(str, some))}{more}"


def left_out(records: PublishedRecords, people: QITable) -> Iterator[str]:
    """Columns of the records that the adversary's table does not have."""
    if records.private:
        names = ", ".join(map(repr, records.private))
        yield f"{people.source} has no {names}: taken for what an adversary does not know"


def _notes(owner: IntArray, found: Assignment, people: QITable) -> Iterator[str]:
    """Notes on how the rows were read."""
    ruled_out = int((~found.possible).sum())
    if found.shortages:
        yield "no assignment of the rows to the people is complete: the result is about one that is as near as can be"
    elif ruled_out:
        who = int(people.counts[np.unique(owner[~found.possible])].sum())
        yield (
            f"every row is one person's, which rules out {ruled_out} of the {len(owner)} pairs of a quasi-identifier "
            f"and a group of rows that covers it, for {who} individuals"
        )
