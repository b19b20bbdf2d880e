"""Stand-ins for the people of leaves, who are few: by them a release with choices of splits is solved in parts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from maxent.api.compile import Knowledge
from maxent.api.estimate import Solving, estimate_case
from maxent.api.out_of_core.folder import fits, needed, splits_compared
from maxent.api.out_of_core.opened import ByLeaf, FoundLeaves, Opened
from maxent.api.out_of_core.scan import Resources, Scanned
from maxent.constraints.presolve.merge import by_constraint
from maxent.constraints.program.program import Program
from maxent.constraints.program.residuals import InternalRows
from maxent.models.arrays import BoolArray, IntArray
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.out_of_core.runs import LeafGroup, Packing, Rows, positions
from maxent.models.reading import size_text
from maxent.models.tables.qi_table import QITable, row_keys
from maxent.results.estimate import Estimate
from maxent.results.reliability import not_reliable, unwarned, warn_unreliable
from maxent.solvers.control import Clock, OutOfTime
from maxent.solvers.solve.driver import solve_program

# Codes that comparisons of splits name, by column and form, see `maxent.constraints.program.program.Internal`.
Named = dict[tuple[int, str], npt.NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Looks:
    """What choices of splits that matter look at: people of a leaf who are alike there have one posterior.

    ``of_leaf``, shape (n_leaves,), is the number of the set of each leaf, -1 for none. Of each attribute that it looks
    at, one of the ``sets`` has the code that stands for each code, shape (n_codes,).
    """

    of_leaf: IntArray
    sets: tuple[dict[int, IntArray], ...] = ()

    def standing(self, leaf: npt.NDArray[Any], codes: IntArray) -> IntArray:
        """The codes that stand for those of people, shape (n_people, n_attributes): 0 where nothing looks."""
        found, own = np.zeros_like(codes), self.of_leaf[leaf]
        for number in np.unique(own[own >= 0]).tolist():
            rows = np.flatnonzero(own == number)
            for column, standing in self.sets[number].items():
                found[rows, column] = standing[codes[rows, column]]
        return found

    def refined(self, program: Program, active: IntArray, leaf: IntArray) -> tuple[Looks, BoolArray]:
        """The same with what rows of comparisons look at, and the leaves where that tells more people apart."""
        looks: dict[tuple[int, int], Named] = {}
        for number, offsets in by_constraint(InternalRows(program), active) if len(active) else ():
            compared = program.internal[number]
            here, look = looks.setdefault((compared.tree, compared.place), {}), (compared.column, compared.form)
            here[look] = np.union1d(here.get(look, []), compared.codes[offsets]).astype(np.int64)
        of_leaf, sets, more = self.of_leaf.copy(), list(self.sets), np.zeros(len(self.of_leaf), bool)
        sizes = [len(level) for level in program.table.levels]
        for (tree, place), named in looks.items():
            below = np.unique(leaf[program.cells.owner[program.cells.trees[tree].at(place)]])
            for number in np.unique(of_leaf[below]).tolist():
                before = sets[number] if number >= 0 else {}
                if after := _finer(before, named, sizes):
                    here = below[of_leaf[below] == number]
                    of_leaf[here], more[here] = len(sets), True
                    sets.append(after)
        return Looks(of_leaf, tuple(sets)), more


def _finer(before: dict[int, IntArray], named: Named, sizes: Sequence[int]) -> dict[int, IntArray] | None:
    """A set that looks at more, None where it tells nobody else apart."""
    after = dict(before)
    for (column, form), given in named.items():
        codes = label = np.arange(sizes[column])
        if form == "cuts":
            label = np.searchsorted(given, codes)
        elif form == "each":
            label = np.where(np.isin(codes, given), codes + 1, 0)
        own = after.get(column, np.zeros_like(codes))
        _, first, inverse = np.unique(own * (sizes[column] + 1) + label, return_index=True, return_inverse=True)
        after[column] = first[inverse]
    same = all(np.array_equal(each, before.get(column, np.zeros_like(each))) for column, each in after.items())
    return None if same else after


# Stand-ins for the people of leaves, with as many people of each value of each attribute, and far fewer of them.
#
# Choices of splits compare sums over a node by the value of an attribute at a time. So where the people of a leaf have
# one posterior, any people with the same numbers of each value will do. They are made as one fills a table of
# transportation from its north-west corner: the people of the leaf stand in a row for each attribute, sorted by its
# value, and wherever any of these rows comes to another value, the next stand-in begins.


@dataclass(frozen=True, slots=True, eq=False)
class StandIns:
    """Stand-ins of a group: leaf, codes and people of each; and the leaves whose own people stand there."""

    leaf: IntArray
    codes: IntArray
    count: IntArray
    real: IntArray
    classes: IntArray | None


def stand_ins(how: tuple[Packing, Looks, bool], rows: Rows, group: LeafGroup) -> StandIns:
    """Stand-ins of a group, by what tells people of leaves apart; or all of its people."""
    packing, looks, whole = how
    leaf, codes = rows.leaf.astype(np.int64), packing.unpack(rows.words)
    if whole:
        return StandIns(leaf, codes, rows.count, np.unique(leaf), rows.classes)
    alike, first = Rows(leaf, packing.pack(looks.standing(leaf, codes)), rows.count).numbered()
    made = _made(alike, codes, rows)
    made_leaf = leaf[first][made.leaf]
    own, theirs = (np.bincount(each, minlength=len(looks.of_leaf)) for each in (leaf, made_leaf))
    real = (own <= theirs) & (group.parts == 1)
    kept, stands = real[leaf], ~real[made_leaf]
    classes = None
    if rows.classes is not None and made.classes is not None:
        classes = np.concatenate([made.classes[stands], rows.classes[kept]])
    return StandIns(
        np.concatenate([made_leaf[stands], leaf[kept]]),
        np.concatenate([made.codes[stands], codes[kept]]),
        np.concatenate([made.count[stands], rows.count[kept]]),
        np.flatnonzero(real & (own > 0)),
        classes,
    )


def _made(leaf: IntArray, codes: IntArray, rows: Rows) -> StandIns:
    """Stand-ins for the rows of several leaves, or of those who are alike."""
    standing = [_runs(leaf, column, rows.count) for column in codes.T]
    if rows.classes is not None:
        row, klass = np.nonzero(rows.classes)
        standing.append(_runs(leaf[row], klass, rows.classes[row, klass]))
    leaf_ends, leaves = _runs(leaf, leaf, rows.count)
    ends = np.unique(np.concatenate([leaf_ends, *(end for end, _ in standing)]))
    values = [value[np.searchsorted(end, ends)] for end, value in standing]
    count, classes = np.diff(ends, prepend=0), None
    if rows.classes is not None:
        classes = np.zeros((len(ends), rows.classes.shape[1]), np.int64)
        classes[np.arange(len(ends)), values.pop()] = count
    found = np.column_stack([np.zeros((len(ends), 0), np.int64), *values])
    return StandIns(leaves[np.searchsorted(leaf_ends, ends)], found, count, leaves[:0], classes)


def _runs(leaf: IntArray, value: IntArray, count: IntArray) -> tuple[IntArray, IntArray]:
    """The people of leaves in a row, by value: where each run of one value ends, counted in people, and its value."""
    order = np.lexsort((value, leaf))
    leaf, value, end = leaf[order], value[order], np.cumsum(count[order])
    last = np.ones(len(order), bool)
    last[:-1] = (leaf[1:] != leaf[:-1]) | (value[1:] != value[:-1])
    return end[last], value[last]


# Posteriors of leaves, whose people are represented by a few; of nodes whose splits matter by all of them.


@dataclass(frozen=True, slots=True, eq=False)
class BySight:
    """The row of each leaf and, of people told apart by ``looks``, the ``own`` one of those like them, ``rows``."""

    leaf: ByLeaf
    packing: Packing
    looks: Looks
    rows: Rows
    own: IntArray

    def __call__(self, rows: Rows, codes: IntArray) -> IntArray:
        found = self.leaf(rows, codes)
        standing = self.packing.pack(self.looks.standing(rows.leaf, codes))
        at, known = positions(self.rows, Rows(rows.leaf, standing, rows.count))
        found[known] = self.own[at[known]]
        return found


def solve_leaves(
    opened: Opened, known: Knowledge, how: Solving, scanned: Scanned, with_: Resources
) -> tuple[Estimate, FoundLeaves]:
    """The posteriors of all leaves, with the estimate of people who represent all.

    A quasi-identifier stands for a leaf; with choices of splits stand-ins do, told apart below nodes whose choices
    matter, until no other does.
    """
    release, packing = opened.release, scanned.runs.packing
    people = replace(opened, tables=replace(opened.tables, truth=None))

    def estimated(table: QITable, classes: IntArray | None, **more: Any) -> Estimate:
        with unwarned():
            return estimate_case(replace(people.case(table), truth=classes), known, replace(how, dask=None), **more)

    if not splits_compared(release, known.kinds):
        table, leaf = scanned.table()
        found = estimated(table, None if scanned.classes is None else scanned.classes[leaf])
        return _warned(found, scanned, leaf, None)
    whole, looks = fits(scanned.runs.rows, release, opened.where.memory), Looks(np.full(len(scanned.people), -1))
    while True:
        told = opened.told("standing in for people")
        made = with_.people(stand_ins, (packing, looks, whole), scanned, told)
        table, leaf, classes, real = _table(scanned, made, len(release.trees), opened.where.memory)
        try:  # at first nearly always
            early = {} if whole or looks.sets else {"before": _Foreseen(how, leaf, real, looks)}
            found = estimated(table, classes, **early)
        except _MoreWanted as more:
            looks = more.looks
            continue
        finer, more_told = looks.refined(found.program, found.outcome.active, leaf)
        if not (more_told & ~real).any():
            return _warned(found, scanned, leaf, finer)
        looks = finer


def _warned(found: Estimate, scanned: Scanned, leaf: IntArray, looks: Looks | None) -> tuple[Estimate, FoundLeaves]:
    """The posteriors, with a warning where they are not to be relied on; ``leaf`` is that of each row of the table."""
    if not found.reliable:
        warn_unreliable(f"{not_reliable(found.outcome.status)}; see notes and contradictions of the result")
    posterior = found.probabilities
    by_leaf = ByLeaf(leaf, len(scanned.people))
    if looks is None or not looks.sets:
        return found, FoundLeaves(posterior, by_leaf)
    table, packing = found.program.table, scanned.runs.packing
    own = np.flatnonzero(looks.of_leaf[leaf] >= 0)
    words = packing.pack(looks.standing(leaf[own], table.codes[own]))
    rows = Rows(leaf[own].astype(np.int32), words, table.counts[own])
    _, first = rows.numbered()
    return found, FoundLeaves(posterior, BySight(by_leaf, packing, looks, rows.some(first), own[first]))


def _table(
    scanned: Scanned, made: Sequence[StandIns], trees: int, memory: int
) -> tuple[QITable, IntArray, IntArray | None, BoolArray]:
    """The table of all stand-ins, the leaf of each row, its people of each class; and the leaves that have none."""
    codes, leaf, count = (np.concatenate([getattr(each, name) for each in made]) for name in ("codes", "leaf", "count"))
    if (need := needed(len(leaf), trees)) > memory:
        linked = f"{len(leaf):,} of them, estimated together as choices of splits (internal constraints) link them"
        linked += "; knowledge label,rate,counts does without"
        raise invalid("options", ARGUMENT, "memory", f"about {size_text(need)} for {linked}", size_text(memory))
    keys = row_keys(codes, scanned.runs.packing.sizes)
    order = np.argsort(keys)
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    first = np.minimum.reduceat(order, starts)
    classes = None
    if scanned.classes is not None:
        parts = np.concatenate([each.classes for each in made if each.classes is not None])
        classes = np.add.reduceat(parts[order], starts)
    table = scanned.ordered(leaf[first], codes[first], np.add.reduceat(count[order], starts))
    real = np.zeros(len(scanned.people), bool)
    real[np.concatenate([each.real for each in made])] = True
    return table, leaf[first], classes, real


@dataclass(frozen=True, slots=True, eq=False)
class _Foreseen:
    """Stops where choices of splits matter that tell apart people who have stand-ins, before anything is proved."""

    how: Solving
    leaf: IntArray
    real: BoolArray
    looks: Looks

    def __call__(self, program: Program, clock: Clock) -> None:
        with suppress(OutOfTime):  # which the estimate then says
            first = solve_program(program, self.how.solver, replace(self.how.settings(clock), proved=False))
            finer, more = self.looks.refined(program, first.active, self.leaf)
            if (more & ~self.real).any():
                raise _MoreWanted(finer)


class _MoreWanted(Exception):
    """Stand-ins for people whom choices of splits tell apart: what these look at."""

    def __init__(self, looks: Looks) -> None:
        self.looks = looks
