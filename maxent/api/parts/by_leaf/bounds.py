"""Closed-form bounds on more people than memory holds: those in one leaf with as many people each share theirs."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from maxent.api.adversary.bounds import bounds_case
from maxent.api.adversary.estimate import Progress, Solving
from maxent.api.adversary.proving import Proving
from maxent.api.case import Case, Published, Tables, read_case
from maxent.api.compile import Knowledge, compile_in_time
from maxent.api.parts.by_leaf.alike import Alike, alike_of, joined
from maxent.api.parts.by_leaf.bounds_result import BoundsInParts
from maxent.api.parts.by_leaf.opened import (
    groups_for,
    named,
    opened_and_linked,
    resources_of,
    scanned_people,
    told,
    written_whole,
)
from maxent.api.parts.folder import InParts, PartFile
from maxent.api.parts.linked import check_fits, links_of
from maxent.api.parts.posteriors import ROWS, pickled, unpickled
from maxent.api.parts.scan import Resources, Scanned
from maxent.constraints.kinds.context import Noise
from maxent.constraints.kinds.registry import knowledge as choices_of_knowledge
from maxent.models.arrays import FloatArray, IntArray
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.formats.release_reader import Records
from maxent.models.reading import Reading, reader_of
from maxent.models.release import Release
from maxent.models.tables.columns.column_names import own_names
from maxent.models.tables.frame import Source
from maxent.models.tables.parts.groups import Group, read_group
from maxent.models.tables.parts.runs import Packing
from maxent.models.tables.qi_table import QITable, row_keys
from maxent.models.trees.printed_rates import Rounding
from maxent.results.bounds import ProvedBounds
from maxent.results.reliability import not_reliable, warn_unreliable
from maxent.solvers.certainty.levels import level_names
from maxent.solvers.certainty.prove import prove_alike
from maxent.solvers.clock import Clock

CLOSED = "closed"
"""The level of proof that people in parts can be asked about."""


def bounds_in_parts(
    release: Release | Records,
    qi: Source,
    folder: str | PathLike[str] | None = None,
    *,
    memory: int | str | None = None,
    knowledge: str | Iterable[str] | None = None,
    marginal: Source | None = None,
    facts: Source | None = None,
    count: str | None = None,
    rounding: Rounding = "auto",
    confidence: float = 0.99,
    noise: Noise = "intervals",
    time_limit: float | None = None,
    jobs: int = 1,
    dask: str | None = None,
    progress: Progress | None = None,
    reading: Reading | None = None,
) -> ProvedBounds:
    """Bounds of the level ``closed`` of `maxent.bounds` on more people than memory holds.

    The people of trees whose splits are public are routed to leaves, as by `maxent.estimate_in_parts`. The level
    looks at totals of leaves and of nodes above them alone, so quasi-identifiers in the same leaves with as many people
    each have the same bounds, which are proved once. Where something else links people, they are taken together.

    Parameters
    ----------
    release, knowledge, marginal, facts, count, rounding, confidence, noise, time_limit, reading
        As for `maxent.bounds`. The level makes no use of choices of splits.
    qi : path or pattern
        As for `maxent.bounds`, but files.
    folder : path, optional
        A folder for bounds, which is new or empty: Parquet files with the columns of `ProvedBounds.frame`, a row per
        distinct quasi-identifier and class, in the order of leaves.
    memory, jobs, dask, progress
        As for `maxent.estimate_in_parts`.

    Returns
    -------
    ProvedBounds
        A `BoundsInParts`, or where people are linked a plain one.

    Warns
    -----
    UnreliableResult
        When the statements contradict each other or the table: no data are consistent with them.

    Raises
    ------
    InvalidInput
        For anything wrong with the inputs, naming every problem and its place; and where people are linked and too many
        for memory, saying what links them.
    """
    where, work = InParts.of(folder, memory), Solving(jobs=jobs, dask=dask)
    tables = Tables(qi, facts=facts, marginal=marginal, count=count, reading=reading)
    known = Knowledge(knowledge, None, rounding, confidence, noise)
    how = Proving(CLOSED, time_limit=time_limit)
    return bounds_tables(release, tables, known, how, work, where, progress=progress)


def bounds_tables(
    published: Published,
    tables: Tables,
    known: Knowledge,
    how: Proving,
    work: Solving,
    where: InParts,
    *,
    target: str | None = None,
    progress: Progress | None = None,
) -> ProvedBounds:
    """The bounds of tables in parts; the parameters, the result and a warning are those of `bounds_in_parts`.

    Raises
    ------
    InvalidInput
        As there, and for a level other than ``closed``, worlds and witnesses.
    """
    if how.level != CLOSED or how.worlds or how.witness:
        found = "worlds or witnesses" if how.level == CLOSED else how.level
        raise invalid("options", ARGUMENT, "level", f"{CLOSED}, where people are taken in parts", found)
    known.check()
    tell = progress or (lambda text, done, total: None)
    reader = reader_of(tables.reading)
    opened, linked = opened_and_linked(published, tables, links_of, target, reader)
    if linked:
        options = {"knowledge": known.knowledge, "impurity": known.impurity, "marginal": tables.marginal}
        case = read_case(opened, tables, target, **options)
        check_fits(case, linked, where.memory)
        whole = bounds_case(case, known, how)
        written_whole(whole.frame(), where)
        return whole
    with resources_of(where, work) as with_:
        begin = time.perf_counter()
        scanned = scanned_people(opened, tables, reader, with_, where.memory, tell)
        groups = groups_for(scanned, with_)
        calls = [(group, scanned.runs) for group in groups]
        parts = with_.workers.map(alike_of, calls, told(tell, "counting those who are alike"))
        alike = joined([each for each in parts if each is not None])
        table, order = _table(scanned, alike)
        clock = Clock(how.time_limit)
        case = tables.with_companions(Case(opened, table), reader)
        program = replace(compile_in_time(case, _without_splits(known, tables), clock), ties=how.ties)
        compiled = time.perf_counter()
        proved = prove_alike(program, alike.times[order], clock)
        seconds = {"compile": compiled - begin, "prove": time.perf_counter() - compiled}
        program = replace(program, table=replace(table, counts=alike.people[order]))
        own = ProvedBounds(program, proved.bounds, proved.status, CLOSED, seconds, case.noticed)
        files = () if where.folder is None else _written(own, alike, order, scanned, groups, where, with_, tell)
        leaves = int((scanned.people > 0).sum())
        result = BoundsInParts.of(own, alike.times[order], leaves, where.folder, files)
    if not result.reliable:
        warn_unreliable(f"{not_reliable(result.status)}; see notes and contradictions of the result")
    return result


def _without_splits(known: Knowledge, tables: Tables) -> Knowledge:
    """The same without choices of splits: the level makes no use of them, and they would be about those alike."""
    kinds = known.kinds
    if kinds is None:
        kinds = [kind for kind in choices_of_knowledge() if kind != "marginal" or tables.marginal is not None]
    return replace(known, knowledge=[kind for kind in kinds if kind != "internal"], impurity=None)


def _table(scanned: Scanned, alike: Alike) -> tuple[QITable, IntArray]:
    """A row for those who are alike, with all their people; and which of them each row is."""
    own = scanned.coded
    codes = scanned.packing.unpack(alike.words)
    order = np.argsort(row_keys(codes, scanned.packing.sizes), kind="stable")
    leaves = np.flatnonzero(scanned.people > 0)
    lines = np.zeros(len(scanned.people), np.int64)
    lines[leaves] = scanned.lines(leaves)
    people = (alike.people * alike.times)[order]
    line = lines[alike.leaf[order]]
    return QITable(own.attributes, codes[order], own.levels, people, line, own.source, scanned.unit), order


@dataclass(frozen=True, slots=True, eq=False)
class Writing:
    """What is written of every group.

    Bounds ``low`` and ``high`` of those ``alike``, and the level ``by`` which they are proved, (n, n_classes). The
    rest is as in `maxent.api.parts.by_leaf.rows.Writing`.
    """

    runs: tuple[str, ...]
    packing: Packing
    levels: tuple[npt.NDArray[Any], ...]
    names: tuple[str, ...]
    classes: tuple[str, ...]
    alike: Alike
    low: FloatArray
    high: FloatArray
    by: IntArray
    folder: Path


def write_bounds(group: Group, path: Path) -> str | None:
    """Write the bounds of a group as the `Writing` in a file says: the path of the file, None without people."""
    import pyarrow as pa

    how: Writing = unpickled(path)
    rows = read_group(how.runs, group)
    if rows is None or not len(rows):
        return None
    kinds = [pa.int64(), pa.string(), pa.float64(), pa.float64(), pa.string()]
    file = PartFile(how.folder, how.names, how.levels, kinds)
    n_classes, classes, levels = len(how.classes), pa.array(how.classes, pa.string()), pa.array(level_names())
    many = max(ROWS // n_classes, 1)
    for begin in range(0, len(rows), many):
        here = slice(begin, begin + many)
        count = rows.count[here]
        at = how.alike.rows(rows.leaf[here].astype(np.int64), count)
        codes = np.repeat(how.packing.unpack(rows.words[:, here]), n_classes, axis=0)
        names = classes.take(pa.array(np.tile(np.arange(n_classes), len(count))))
        by = levels.take(pa.array(how.by[at].ravel()))
        file.add(codes, [np.repeat(count, n_classes), names, how.low[at].ravel(), how.high[at].ravel(), by])
    return file.closed()


def _written(
    found: ProvedBounds,
    alike: Alike,
    order: IntArray,
    scanned: Scanned,
    groups: Iterable[Group],
    where: InParts,
    with_: Resources,
    tell: Progress,
) -> tuple[Path, ...]:
    """Write the bounds of everybody; row i of ``found`` is row ``order[i]`` of those alike."""
    own = [attribute.name for attribute in scanned.coded.attributes]
    names = (*own, *own_names(["count", "class", "low", "high", "proved_by"], own))
    back = np.argsort(order)
    classes, levels = found.program.release.target.classes, scanned.coded.levels
    bounds = found.low[back], found.high[back], found.proved_by[back]
    job = Writing(scanned.runs, scanned.packing, levels, names, classes, alike, *bounds, with_.folder)
    path = pickled(job, with_.folder / "bounds")
    return named(with_.workers.map(write_bounds, [(g, path) for g in groups], told(tell, "writing bounds")), where)
