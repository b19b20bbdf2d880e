"""Estimates of more people than memory holds: leaf by leaf, in files, by several workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from maxent.api import options
from maxent.api.calling import takes
from maxent.api.case import Published, Tables
from maxent.api.opening import open_published
from maxent.api.parts.folder import POSTERIORS, InParts, made, moved
from maxent.api.parts.foreseen import evaluated, evaluated_ahead, look_ahead
from maxent.api.parts.linked import check_fits, links_of
from maxent.api.parts.memory import rows_at_a_time
from maxent.api.parts.posteriors import Evaluated, Evaluation, farthest, pickled
from maxent.api.parts.scan import Resources, Scanned, check_same, files_given, only, scan_table, scan_truth
from maxent.api.parts.surest import first_of
from maxent.api.parts.workers import Told, workers_of
from maxent.models.errors import check_unused
from maxent.models.files.output import write_atomically
from maxent.models.files.scratch import scratch
from maxent.models.reading import Reader, reader_of
from maxent.models.release import Release
from maxent.models.tables.columns.column_names import own_names
from maxent.models.tables.parts.groups import Group, groups_of
from maxent.models.tables.parts.runs import sizes_of

if TYPE_CHECKING:
    from maxent.api.adversary.estimate import Progress, Solving
    from maxent.api.compile import Knowledge
    from maxent.api.parts.leaves import Leaves
    from maxent.api.parts.result import FarFrom
    from maxent.models.arrays import FloatArray
    from maxent.results.estimate import Estimate

Settings = Callable[[], "tuple[Knowledge, Solving]"]
"""Makes the parameters of what follows when the people are being read, as what solves takes time to load."""

GROUP = 1 << 17
"""Rows of a group where memory allows: few enough for all workers to have some, whatever their number."""


@takes(options.EstimatingInParts)
def estimate_in_parts(call: options.EstimatingInParts) -> Estimate:
    """The estimate of more people than memory holds; posteriors go to files in a folder as they come.

    The people of a tree whose splits are public meet in sums alone. So they are routed to leaves once, by all workers,
    and kept on disk in the order of the leaves; the leaves are estimated, each as one person; and groups of leaves are
    read back one at a time, for their quasi-identifiers and divergences. The numbers are those of `maxent.estimate`. Of
    several trees, people who are in the same leaf of each, a cell, are what those of a leaf are of one.

    Where choices of splits are published, people below those that matter are estimated together, and stand-ins for the
    others. Where something else links people of different leaves (`maxent.api.parts.linked`), all of them are estimated
    together in one process, as `maxent.estimate` does, if they fit into memory.

    Returns
    -------
    Estimate
        An `EstimateInParts`, or where people are linked a plain one.

    Warns
    -----
    UnreliableResult
        When the status of the result is not ``optimal``.

    Raises
    ------
    InvalidInput
        For anything wrong with the inputs, naming every problem and its place; and where people are linked and too many
        for memory, saying what links them.
    """
    where, tables = InParts.of(call.folder, call.memory), options.of(Tables, call)

    def settings() -> tuple[Knowledge, Solving]:
        from maxent.api.adversary.estimate import Solving
        from maxent.api.compile import Knowledge

        known = options.of(Knowledge, call)
        known.check()
        return known, options.of(Solving, call)

    return estimate_tables(
        call.release,
        tables,
        settings,
        call.jobs,
        call.dask,
        where,
        target=call.target,
        progress=call.progress,
        limit=call.time_limit,
    )


def estimate_tables(
    published: Published,
    tables: Tables,
    settings: Settings,
    jobs: int | None,
    dask: str | None,
    where: InParts,
    *,
    target: str | None = None,
    interruptible: bool = False,
    progress: Progress | None = None,
    surest: bool = False,
    limit: float | None = None,
) -> Estimate:
    """The estimate of tables in parts; the parameters, the result and a warning are those of `estimate_in_parts`.

    ``surest`` is whether the quasi-identifiers that the adversary is surest of are found, too; ``limit`` is the time
    limit, which connecting to a cluster keeps, too.

    Raises
    ------
    InvalidInput
        As there, and as ``settings``.
    """
    settings = cache(settings)
    reader, tables = reader_of(tables.reading), tables.located()
    several = isinstance(published, (list, tuple)) and len(published) != 1
    opened = published if several else open_published(only(published), reader)
    if isinstance(opened, Release):
        linked = list(links_of(opened, truth=tables.truth is not None))
    else:
        linked = ["several releases about overlapping people" if several else "generalised records"]
    linked += ["known classes of some people"] * (tables.facts is not None)
    linked += ["control people"] * (tables.control is not None)
    tell = progress or (lambda text, done, total: None)
    if linked:
        return _together(opened, tables, *settings(), where, linked, target, tell, interruptible=interruptible)
    check_unused("records, and this is a tree", target=target)
    check_unused("several releases, each with a table of its own", who=tables.who)
    others = workers_of(jobs, dask, limit, copied=not tables.at_addresses)
    with made(where.folder) as folder, scratch(folder) as kept, others as workers:
        with_ = Resources(workers, kept.absolute(), rows_at_a_time(where.memory, workers.number))
        return _in_parts(cast("Release", opened), tables, reader, settings, where, with_, tell, surest=surest)


def _in_parts(
    release: Release,
    tables: Tables,
    reader: Reader,
    settings: Settings,
    where: InParts,
    with_: Resources,
    tell: Progress,
    *,
    surest: bool,
) -> Estimate:
    """The estimate of a release of one tree by its leaves, of several by their cells."""

    def told(what: str) -> Told:
        return lambda done, total: tell(what, done, total)

    people = only(tables.qi)
    files, reading = files_given("qi", people), told("reading the table")

    def ready() -> None:
        settings()
        if with_.workers.others:
            look_ahead(release)

    scanned = scan_table(files, str(people), release, tables.count, reader, with_, reading, ready)
    known, how = settings()
    from maxent.api.parts.leaves import solve_leaves
    from maxent.api.parts.result import EstimateInParts

    truth_runs, truth = None, None
    if tables.truth is not None:
        truth_files, name = files_given("truth", tables.truth), str(tables.truth)
        truth_runs, truth = scan_truth(
            truth_files, name, release, tables.count, reader, scanned, with_, told("reading the truth")
        )
    groups = _groups(scanned, with_)
    if len(release.trees) > 1:
        from maxent.api.parts.forests.cells import by_cell

        name = str(tables.truth)
        scanned, truth_runs, truth = by_cell(release, scanned, truth_runs, groups, name, where.memory, with_, told)
        groups = _groups(scanned, with_)
    columns = _columns(release, scanned.coded.attributes, divergence=truth is not None)
    posterior, out = with_.folder / "posterior.npy", None if where.folder is None else with_.folder
    packing, levels = scanned.packing, scanned.coded.levels
    np.save(posterior, np.zeros((len(scanned.people), len(release.target.classes))))
    job = Evaluation(scanned.runs, truth_runs, packing, levels, posterior, None, columns, out, how.top)
    job = replace(job, surest=surest * how.top)

    @cache
    def solved() -> Leaves:
        return solve_leaves(release, tables, reader, known, how, where.memory, scanned, truth, job, groups, with_, told)

    evaluating = told("evaluating leaves")
    results = evaluated_ahead(release, tables, known, how, scanned, job, groups, with_, evaluating, solved)
    found = solved().found
    if results is None:
        np.save(posterior, solved().posterior)
        single = solved().single
        job = replace(job, single=None if single is None else pickled(single, with_.folder / "single"))
        results = evaluated(job, "evaluation", groups, with_, evaluating)
    check_same(scanned.coded, str(tables.truth), results)
    written = moved([each.path for each in results if each.path is not None], where.folder)
    distinct = sum(each.rows for each in results)
    far = None if truth is None else _far(scanned, results, how.top)
    leaves = int((scanned.people > 0).sum())
    result = EstimateInParts.of(found, distinct, leaves, where.folder, written, far)
    if not surest:
        return result
    first = first_of([one for each in results for one in each.surest], job.surest)
    named = tuple(each.entry(scanned.coded, release.target.classes) for each in first)
    table, leaf = scanned.table()
    return replace(result, most_disclosed=named, table=table, truth=None if truth is None else truth[leaf])


def _groups(scanned: Scanned, with_: Resources) -> tuple[Group, ...]:
    return groups_of(sizes_of(scanned.runs, len(scanned.people)), min(with_.rows, GROUP))


def _columns(release: Release, attributes: Iterable[Any], *, divergence: bool) -> tuple[str, ...]:
    """The names of the columns of posteriors, as `maxent.disclosure.inference.Inference.columns` has them."""
    names = [attribute.name for attribute in attributes]
    ours = ["count", *(f"P({name})" for name in release.target.classes), *["divergence"] * divergence]
    return (*names, *own_names(ours, names))


def _far(scanned: Scanned, results: Iterable[Evaluated], top: int) -> FarFrom:
    """The divergences of all groups together: sums over leaves, in their order, whatever the groups were."""
    from maxent.api.parts.result import FarFrom

    total: FloatArray = np.zeros(len(scanned.people))
    found = [each.divergences for each in results if each.divergences is not None]
    for each in found:
        total[each.leaves] += each.total
    infinite = sum(each.infinite for each in found)
    worst = farthest([far for each in found for far in each.top], top)
    table = scanned.coded
    named = []
    for far in worst:
        values = [level[code] for level, code in zip(table.levels, far.codes, strict=True)]
        plain = [value if isinstance(value, str) else float(value) for value in values]
        names = (attribute.name for attribute in table.attributes)
        named.append((dict(zip(names, plain, strict=True)), _finite(far.divergence)))
    return FarFrom(
        overall=None if infinite else float(total.sum() / scanned.people.sum()),
        max=_finite(worst[0].divergence),
        min=min(each.least for each in found),
        top=tuple(named),
        top_k_average=_finite(float(np.mean([far.divergence for far in worst]))),
        infinite=infinite,
    )


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def _together(
    published: Published,
    tables: Tables,
    known: Knowledge,
    how: Solving,
    where: InParts,
    linked: list[str],
    target: str | None,
    tell: Progress,
    *,
    interruptible: bool,
) -> Estimate:
    """The estimate of all people together, where they fit into memory."""
    from maxent.api.adversary.estimate import TREES_ONLY, estimate_case
    from maxent.api.case import read_case

    given = {"knowledge": known.knowledge, "impurity": known.impurity, "marginal": tables.marginal}
    case = read_case(published, tables, target, **{name: given.get(name) for name in TREES_ONLY})
    check_fits(case, linked, where.memory)
    found = estimate_case(case, known, how, interruptible=interruptible, progress=tell)
    if where.folder is not None:
        with made(where.folder) as folder:
            assert folder is not None
            write_atomically(folder / POSTERIORS.format(0), lambda name: found.posterior.to_parquet(name, index=False))
    return found
