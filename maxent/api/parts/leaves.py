"""Posteriors of leaves, whose people are represented by a few; of nodes whose splits matter by all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from maxent.api.adversary.estimate import Solving, estimate_case
from maxent.api.case import Case, Tables
from maxent.api.compile import Knowledge
from maxent.api.parts.linked import splits_compared
from maxent.api.parts.memory import needed
from maxent.api.parts.posteriors import Evaluated, Evaluation, Single, pickled
from maxent.api.parts.scan import Resources, Scanned, check_same
from maxent.api.parts.stand_ins import StandIns, stand_ins
from maxent.api.parts.workers import Told
from maxent.constraints.residuals import Evaluator
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.reading import Reader
from maxent.models.release import Release
from maxent.models.tables.parts.groups import Group
from maxent.models.tables.parts.runs import Rows
from maxent.models.tables.qi_table import QITable, row_keys
from maxent.models.text.sizes import size_text
from maxent.results.estimate import Estimate
from maxent.results.reliability import not_reliable, unwarned, warn_unreliable


@dataclass(frozen=True, slots=True, eq=False)
class Leaves:
    """The estimate of people who represent all, and the ``posterior`` of each leaf, shape (n_leaves, n_classes).

    ``single`` are people whose posteriors are their own, because choices of splits above their leaves matter.
    """

    found: Estimate
    posterior: FloatArray
    single: Single | None


def solve_leaves(
    release: Release,
    tables: Tables,
    reader: Reader,
    known: Knowledge,
    how: Solving,
    memory: int,
    scanned: Scanned,
    truth: IntArray | None,
    job: Evaluation,
    groups: Sequence[Group],
    with_: Resources,
    told: Callable[[str], Told],
) -> Leaves:
    """The posteriors of all leaves.

    Without choices of splits a quasi-identifier stands for all people of its leaf. With them, stand-ins do where none
    of these choices matters; where one does, below its node, everybody is estimated, and all this again until there is
    no other.

    Raises
    ------
    InvalidInput
        Where people that have to be estimated together are too many for the ``memory``.
    """

    def estimated(table: QITable, classes: IntArray | None) -> Estimate:
        case = replace(tables, truth=None).with_companions(Case(release, table), reader)
        with unwarned():
            return estimate_case(replace(case, truth=classes), known, replace(how, dask=None))

    if not splits_compared(release, known.kinds):
        table, leaf = scanned.table()
        found = estimated(table, None if truth is None else truth[leaf])
        return _warned(found, scanned, leaf, None)
    path = pickled(job, with_.folder / "standing")
    wanted = np.zeros(len(scanned.people), bool)
    while True:
        marks = with_.folder / f"wanted-{int(wanted.sum())}.npy"
        np.save(marks, wanted)
        made = with_.workers.map(stand_ins, [(group, path, marks) for group in groups], told("standing in for people"))
        check_same(scanned.coded, str(tables.truth), [each for each in made if isinstance(each, Evaluated)])
        standing = [each for each in made if isinstance(each, StandIns)]
        table, leaf, classes, real = _table(scanned, standing, len(release.trees), memory)
        found = estimated(table, classes)
        active = _below_active(found, leaf, len(wanted))
        if not (active & ~real).any():
            return _warned(found, scanned, leaf, active)
        wanted = wanted | active | real


def _warned(found: Estimate, scanned: Scanned, leaf: IntArray, active: BoolArray | None) -> Leaves:
    """The posteriors, with a warning where they are not to be relied on; ``leaf`` is that of each row of the table."""
    if not found.reliable:
        warn_unreliable(f"{not_reliable(found.outcome.status)}; see notes and contradictions of the result")
    posterior = np.full((len(scanned.people), found.program.n_classes), np.nan)
    posterior[leaf] = found.probabilities
    if active is None or not active.any():
        return Leaves(found, posterior, None)
    table = found.program.table
    own = np.flatnonzero(active[leaf])
    words = scanned.packing.pack(table.codes[own])
    order = np.lexsort((*words[::-1], leaf[own]))
    rows = Rows(leaf[own][order].astype(np.int32), words[:, order], table.counts[own][order])
    return Leaves(found, posterior, Single(rows, found.probabilities[own][order]))


def _table(
    scanned: Scanned, made: Sequence[StandIns], trees: int, memory: int
) -> tuple[QITable, IntArray, IntArray | None, BoolArray]:
    """The table of all stand-ins, the leaf of each row, its people of each class; and the leaves that have none."""
    codes, leaf = np.concatenate([each.codes for each in made]), np.concatenate([each.leaf for each in made])
    count = np.concatenate([each.count for each in made])
    if (need := needed(len(leaf), trees)) > memory:
        linked = f"{len(leaf):,} of them, estimated together as choices of splits (internal constraints) link them"
        linked += "; knowledge label,rate,counts does without"
        raise invalid("options", ARGUMENT, "memory", f"about {size_text(need)} for {linked}", size_text(memory))
    keys = row_keys(codes, scanned.packing.sizes)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    classes = None
    if all(each.classes is not None for each in made):
        parts = np.concatenate([each.classes for each in made if each.classes is not None])
        classes = np.zeros((len(first), parts.shape[1]), np.int64)
        np.add.at(classes, inverse, parts)
    own = scanned.coded
    starts = np.flatnonzero(scanned.people > 0)
    lines = np.zeros(len(scanned.people), np.int64)
    lines[starts] = scanned.lines(starts)
    people = np.bincount(inverse, count).astype(np.int64)
    table = QITable(own.attributes, codes[first], own.levels, people, lines[leaf[first]], own.source, scanned.unit)
    real = np.zeros(len(scanned.people), bool)
    real[np.concatenate([each.real for each in made])] = True
    return table, leaf[first], classes, real


def _below_active(found: Estimate, leaf: IntArray, leaves: int) -> BoolArray:
    """The leaves with people below nodes whose choices of splits matter, shape (n_leaves,).

    ``leaf`` is that of each row of the table that the estimate is of.
    """
    program, below = found.program, np.zeros(leaves, bool)
    if len(found.outcome.active):
        cells = program.cells
        for i in np.unique(Evaluator(program).internal.constraint_of(found.outcome.active)).tolist():
            compared = program.internal[i]
            below[leaf[cells.owner[cells.trees[compared.tree].at(compared.place)]]] = True
    return below
