"""Estimates leaf by leaf, in files and with several workers, for more people than memory holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from maxent.api.case import Published, Tables
from maxent.api.compile import Knowledge
from maxent.api.estimate import Progress, Solving, estimate_case
from maxent.api.out_of_core.folder import InParts, fits, links_of, moved, needed, splits_compared
from maxent.api.out_of_core.opened import ByLeaf, FoundLeaves, Opened, groups_for, table_of
from maxent.api.out_of_core.posteriors import (
    Evaluated,
    Evaluation,
    Looks,
    SingleRow,
    differences,
    evaluate_group,
    first_of,
    owner,
    unpickled,
)
from maxent.api.out_of_core.scan import Resources, Scanned, check_same
from maxent.api.population import population_estimate
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.out_of_core.runs import LeafGroup, Rows, positions, read_group, sizes_of
from maxent.models.reading import size_text
from maxent.models.release import Release
from maxent.models.tables.cells import own_names
from maxent.models.tables.qi_table import QITable, row_keys
from maxent.results.parts import Parts
from maxent.results.reliability import not_reliable, unwarned, warn_unreliable
from maxent.solvers.control import Clock, OutOfTime
from maxent.solvers.solve.driver import solve_program

if TYPE_CHECKING:
    from pathlib import Path

    from maxent.constraints.program.program import Program
    from maxent.disclosure.inference import Disclosure
    from maxent.models.arrays import BoolArray, FloatArray, IntArray
    from maxent.results.estimate import Estimate
    from maxent.results.population import PopulationEstimate


def estimate_tables(
    published: Published,
    tables: Tables,
    known: Knowledge,
    how: Solving,
    where: InParts,
    *,
    target: str | None = None,
    progress: Progress | None = None,
    surest: bool = False,
) -> Estimate:
    """The estimate of more people than memory holds; posteriors go to files in a folder as they come.

    People are routed to leaves, or to cells of several trees, each of which is one person; where something links them,
    all are estimated together, without ``parts``.
    """

    def links(release: Release) -> Iterator[str]:
        yield from links_of(release, truth=tables.truth is not None)
        if tables.control is not None:
            yield "control people"
        if tables.population is not None and splits_compared(release, known.kinds):
            yield "choices of splits about members of the register"

    opened = Opened.of(published, tables, links, target, where, progress)
    if opened.linked:
        of_trees = {"knowledge": known.knowledge, "impurity": known.impurity}
        case = opened.together(**of_trees, marginal=tables.marginal, control=tables.control)
        if case.members is not None:
            of_register = population_estimate(case, known, how, progress=opened.tell)
            opened.write_whole(lambda: of_register.posterior)
            return cast("Estimate", of_register)
        found = estimate_case(case, known, how, progress=opened.tell)
        opened.write_whole(lambda: found.posterior)
        return found
    with opened.resources(how) as with_:
        if opened.of_register:
            return cast("Estimate", _register_in_parts(opened, known, how, with_))
        return _in_parts(opened, known, how, with_, surest=surest)


def _register_in_parts(opened: Opened, known: Knowledge, how: Solving, with_: Resources) -> PopulationEstimate:
    """The estimate of a register by its leaves, of several trees by cells: all in one are as probably members."""
    scanned, *_ = opened.scanned(with_)
    groups = groups_for(scanned, with_)
    table, leaf = scanned.table()
    found = population_estimate(opened.case(table), known, how, progress=opened.tell)
    inferred = [found.membership.member, *found.membership.of_members.T]
    rows = FoundLeaves(table_of([(each, "double") for each in inferred]), ByLeaf(leaf, len(scanned.people)))
    files: tuple[Path, ...] = ()
    if opened.where.folder is not None:
        files = opened.written("members", found.columns, rows, scanned, groups, with_)
    distinct = sum(with_.each(rows_in, scanned.runs, groups, opened.told("counting quasi-identifiers")))
    leaves, trees = int((scanned.people > 0).sum()), len(opened.release.trees)
    folder = opened.where.folder
    parts = Parts(what="members", trees=trees, leaves=leaves, folder=folder, files=files, distinct=distinct)
    return replace(found, parts=parts)


def rows_in(group: LeafGroup, path: Path) -> int:
    """The distinct quasi-identifiers of a group; ``path`` is that of the names of the runs."""
    rows = read_group(unpickled(path), group)
    return 0 if rows is None else len(rows)


def _in_parts(opened: Opened, known: Knowledge, how: Solving, with_: Resources, *, surest: bool) -> Estimate:
    """The estimate of a release of one tree by its leaves, of several by their cells."""
    release = opened.release
    scanned, truth_runs, truth = opened.scanned(with_)
    groups = groups_for(scanned, with_)
    columns = _columns(release, scanned.coded.attributes, divergence=truth is not None)
    posterior, out = with_.folder / "posterior.npy", None if opened.where.folder is None else with_.folder
    packing, levels = scanned.packing, scanned.coded.levels
    job = Evaluation(scanned.runs, truth_runs, packing, levels, posterior, None, columns, out, how.top)
    job = replace(job, surest=surest * how.top)

    solved = solve_leaves(opened, known, how, scanned, truth, job, groups, with_)
    np.save(posterior, solved.posterior)
    job = replace(job, single=solved.single)
    results = with_.each(evaluate_group, job, groups, opened.told("evaluating leaves"))
    check_same(scanned.coded, str(opened.tables.truth), results)
    far, least = (None, 0.0) if truth is None else _far(scanned, results, how.top)
    first = first_of([one for each in results for one in each.surest], job.surest)
    table, leaf = scanned.table() if surest else (None, None)
    parts = Parts(
        what="posteriors",
        trees=len(release.trees),
        leaves=int((scanned.people > 0).sum()),
        folder=opened.where.folder,
        files=moved([each.path for each in results if each.path is not None], opened.where.folder),
        distinct=sum(each.rows for each in results),
        far=far,
        most_disclosed=tuple(each.entry(scanned.coded, release.target.classes) for each in first),
        table=table,
        truth=None if truth is None or leaf is None else truth[leaf],
    )
    return replace(solved.found, parts=parts, disclosure=_disclosure(solved.found.disclosure, far, least))


def _disclosure(found: Disclosure, far: Mapping[str, Any] | None, least: float) -> Disclosure:
    """The disclosure of leaves as that of their people, whose divergences are ``far``, from the ``least`` on."""
    measures = dict(found.measures)
    for key in ("divergence", "divergence_max", "divergence_top", "divergence_min", "infinite"):
        measures.pop(key, None)  # those of leaves
    if far is not None:
        keys = {"divergence": "overall", "divergence_max": "max", "divergence_top": "top_k_average"}
        whole = {key: np.inf if far[name] is None else far[name] for key, name in keys.items()}
        measures = {**whole, "divergence_min": least, "infinite": far.get("infinite", 0), **measures}
    return replace(found, measures=measures, divergence=None, individual=None)


def _columns(release: Release, attributes: Iterable[Any], *, divergence: bool) -> tuple[str, ...]:
    """The names of the columns of posteriors, as `maxent.disclosure.inference.Inference.columns` has them."""
    names = [attribute.name for attribute in attributes]
    ours = ["count", *(f"P({name})" for name in release.target.classes), *["divergence"] * divergence]
    return (*names, *own_names(ours, names))


def _far(scanned: Scanned, results: Iterable[Evaluated], top: int) -> tuple[dict[str, Any], float]:
    """The divergences of all groups together, as in a summary, and the least: sums over leaves, in their order."""
    total: FloatArray = np.zeros(len(scanned.people))
    found = [each.divergences for each in results if each.divergences is not None]
    for each in found:
        total[each.leaves] += each.total
    infinite = sum(each.infinite for each in found)
    worst = sorted(far for each in found for far in each.top)[:top]
    far = {
        "overall": None if infinite else float(total.sum() / scanned.people.sum()),
        "max": _finite(-worst[0][0]),
        "top": [{"qi": scanned.coded.named(codes), "divergence": _finite(-below)} for below, codes in worst],
        "top_k_average": _finite(float(np.mean([-below for below, _ in worst]))),
    }
    return {**far, "infinite": infinite} if infinite else far, min(each.least for each in found)


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


# Stand-ins for the people of leaves, with as many people of each value of each attribute, and far fewer of them.
#
# Choices of splits compare sums over a node by the value of an attribute at a time. So where the people of a leaf have
# one posterior, any people with the same numbers of each value will do. They are made as one fills a table of
# transportation from its north-west corner: the people of the leaf stand in a row for each attribute, sorted by its
# value, and wherever any of these rows comes to another value, the next stand-in begins.


@dataclass(frozen=True, slots=True, eq=False)
class StandIns:
    """Stand-ins of a group: leaf, codes and people of each."""

    leaf: IntArray
    codes: IntArray
    count: IntArray
    real: IntArray
    classes: IntArray | None


def stand_ins(group: LeafGroup, path: Path) -> StandIns | Evaluated | None:
    """Stand-ins of a group, by what tells people of leaves apart; None without people, words where truth differs."""
    how, looks, whole = cast("tuple[Evaluation, Looks, bool]", unpickled(path))
    rows = read_group(how.runs, group)
    if rows is None or not len(rows):
        return None
    n_classes = how.packing.room
    truth = None if how.truth is None else read_group(how.truth, group, how.packing.room)
    codes = how.packing.unpack(rows.words)
    if how.truth is not None and (wrong := differences(rows, truth, how.packing)) is not None:
        return wrong
    if whole:
        classes = None if truth is None else _classes(rows, truth, n_classes)
        leaf = rows.leaf.astype(np.int64)
        return StandIns(leaf, codes, rows.count, np.unique(leaf), classes)
    alike, first = Rows(rows.leaf, how.packing.pack(looks.standing(rows.leaf, codes)), rows.count).numbered()
    if truth is not None:
        truth_alike = Rows(alike[owner(truth, n_classes)], truth.words, truth.count)
    made = _made(Rows(alike, rows.words, rows.count), codes, None if truth is None else truth_alike, n_classes)
    made = replace(made, leaf=rows.leaf[first][made.leaf])
    own, theirs = (np.bincount(leaf, minlength=len(looks.of_leaf)) for leaf in (rows.leaf, made.leaf))
    real = (own <= theirs) & (group.parts == 1)
    kept, stands = real[rows.leaf], ~real[made.leaf]
    classes = None
    if truth is not None and made.classes is not None:
        classes = np.concatenate([made.classes[stands], _classes(rows, truth, n_classes)[kept]])
    return StandIns(
        np.concatenate([made.leaf[stands], rows.leaf[kept]]).astype(np.int64),
        np.concatenate([made.codes[stands], codes[kept]]),
        np.concatenate([made.count[stands], rows.count[kept]]),
        np.flatnonzero(real & (own > 0)),
        classes,
    )


def _made(rows: Rows, codes: IntArray, truth: Rows | None, n_classes: int) -> StandIns:
    """Stand-ins for sorted rows of several leaves."""
    standing = [_runs(rows.leaf, column, rows.count) for column in codes.T]
    if truth is not None:
        standing.append(_runs(truth.leaf, truth.words[-1] % n_classes, truth.count))
    leaf_ends, leaves = _runs(rows.leaf, rows.leaf, rows.count)
    ends = np.unique(np.concatenate([leaf_ends, *(end for end, _ in standing)]))
    values = [value[np.searchsorted(end, ends)] for end, value in standing]
    count = np.diff(ends, prepend=0)
    classes = None
    if truth is not None:
        classes = np.zeros((len(ends), n_classes), np.int64)
        classes[np.arange(len(ends)), values.pop()] = count
    found = np.column_stack([np.zeros((len(ends), 0), np.int64), *values])
    leaf = leaves[np.searchsorted(leaf_ends, ends)].astype(np.int64)
    return StandIns(leaf, found, count, leaf[:0], classes)


def _runs(leaf: IntArray, value: IntArray, count: IntArray) -> tuple[IntArray, IntArray]:
    """The people of leaves in a row, by value: where each run of one value ends, counted in people, and its value."""
    order = np.lexsort((value, leaf))
    leaf, value, end = leaf[order], value[order], np.cumsum(count[order])
    last = np.ones(len(order), bool)
    last[:-1] = (leaf[1:] != leaf[:-1]) | (value[1:] != value[:-1])
    return end[last], value[last]


def _classes(rows: Rows, truth: Rows, n_classes: int) -> IntArray:
    """People of each class of each quasi-identifier, shape (n_rows, n_classes)."""
    found = np.zeros((len(rows), n_classes), np.int64)
    words = truth.words.copy()
    words[-1] //= n_classes
    at, _ = positions(rows, Rows(truth.leaf, words, truth.count))
    found[at, truth.words[-1] % n_classes] = truth.count
    return found


# Posteriors of leaves, whose people are represented by a few; of nodes whose splits matter by all of them.


@dataclass(frozen=True, slots=True, eq=False)
class Leaves:
    """The estimate of people who represent all, and the ``posterior`` of each leaf, shape (n_leaves, n_classes)."""

    found: Estimate
    posterior: FloatArray
    single: SingleRow | None


def solve_leaves(
    opened: Opened,
    known: Knowledge,
    how: Solving,
    scanned: Scanned,
    truth: IntArray | None,
    job: Evaluation,
    groups: Sequence[LeafGroup],
    with_: Resources,
) -> Leaves:
    """The posteriors of all leaves.

    A quasi-identifier stands for a leaf; with choices of splits stand-ins do, told apart below nodes whose choices
    matter, until no other does.
    """
    release = opened.release
    people = replace(opened, tables=replace(opened.tables, truth=None))

    def estimated(table: QITable, classes: IntArray | None, **more: Any) -> Estimate:
        with unwarned():
            return estimate_case(replace(people.case(table), truth=classes), known, replace(how, dask=None), **more)

    if not splits_compared(release, known.kinds):
        table, leaf = scanned.table()
        found = estimated(table, None if truth is None else truth[leaf])
        return _warned(found, scanned, leaf, None)
    rows = int(sizes_of(scanned.runs, len(scanned.people)).sum())
    whole, looks = fits(rows, release, opened.where.memory), Looks(np.full(len(scanned.people), -1))
    while True:
        made = with_.each(stand_ins, (job, looks, whole), groups, opened.told("standing in for people"))
        check_same(scanned.coded, str(opened.tables.truth), [each for each in made if isinstance(each, Evaluated)])
        standing = [each for each in made if isinstance(each, StandIns)]
        table, leaf, classes, real = _table(scanned, standing, len(release.trees), opened.where.memory)
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


def _warned(found: Estimate, scanned: Scanned, leaf: IntArray, looks: Looks | None) -> Leaves:
    """The posteriors, with a warning where they are not to be relied on; ``leaf`` is that of each row of the table."""
    if not found.reliable:
        warn_unreliable(f"{not_reliable(found.outcome.status)}; see notes and contradictions of the result")
    posterior = np.full((len(scanned.people), found.program.n_classes), np.nan)
    posterior[leaf] = found.probabilities
    if looks is None or not looks.sets:
        return Leaves(found, posterior, None)
    table = found.program.table
    own = np.flatnonzero(looks.of_leaf[leaf] >= 0)
    words = scanned.packing.pack(looks.standing(leaf[own], table.codes[own]))
    rows = Rows(leaf[own].astype(np.int32), words, table.counts[own])
    _, first = rows.numbered()
    rows = Rows(rows.leaf[first], words[:, first], rows.count[first])
    return Leaves(found, posterior, SingleRow(looks, rows, found.probabilities[own[first]]))


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
    order = np.argsort(keys)
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    first = np.minimum.reduceat(order, starts)
    classes = None
    if all(each.classes is not None for each in made):
        parts = np.concatenate([each.classes for each in made if each.classes is not None])
        classes = np.add.reduceat(parts[order], starts)
    own = scanned.coded
    people = np.add.reduceat(count[order], starts)
    there = np.flatnonzero(scanned.people > 0)
    lines = np.zeros(len(scanned.people), np.int64)
    lines[there] = scanned.lines(there)
    table = QITable(own.attributes, codes[first], own.levels, people, lines[leaf[first]], own.source, scanned.unit)
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
