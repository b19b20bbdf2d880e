"""What calls in parts begin with: a release, what links its people, workers and the folders that they use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from maxent.api.adversary.estimate import Progress, Solving
from maxent.api.case import Case, Published, Tables, no_table
from maxent.api.opening import open_published
from maxent.api.parts.folder import POSTERIORS, InParts, made, moved
from maxent.api.parts.forests.cells import by_cell
from maxent.api.parts.memory import rows_at_a_time
from maxent.api.parts.scan import Resources, Scanned, files_given, only, scan_table
from maxent.api.parts.workers import Told, workers_of
from maxent.models.errors import check_unused
from maxent.models.files.output import write_atomically
from maxent.models.files.scratch import scratch
from maxent.models.reading import Reader
from maxent.models.release import Release
from maxent.models.tables.parts.groups import Group, groups_of
from maxent.models.tables.parts.runs import sizes_of, smallest_of

if TYPE_CHECKING:
    from pathlib import Path

    from pandas import DataFrame

GROUP = 1 << 18
"""Rows of a group where memory allows: few enough for all workers to have some, whatever their number."""


def opened_and_linked(
    published: Published, tables: Tables, links: Callable[[Release], Iterable[str]], target: str | None, reader: Reader
) -> tuple[Any, list[str]]:
    """What was published, and what links its people, so that their leaves alone will not do; nothing where they will.

    Raises
    ------
    InvalidInput
        For a release that cannot be read, without a table, and for options that it does not have.
    """
    if tables.qi is None:
        raise no_table()
    several = isinstance(published, (list, tuple)) and len(published) != 1
    opened = published if several else open_published(only(published), reader)
    if isinstance(opened, Release):
        linked = list(links(opened))
        check_unused("records, and this is a tree", target=target)
        check_unused("several releases, each with a table of its own", who=tables.who)
    else:
        linked = ["several releases about overlapping people" if several else "generalised records"]
    return opened, linked + ["known classes of some people"] * (tables.facts is not None)


@contextmanager
def resources_of(where: InParts, how: Solving) -> Iterator[Resources]:
    """Workers, rows at a time, and a folder for what does not fit into memory, which is gone at the end."""
    with made(where.folder) as folder, scratch(folder) as kept, workers_of(how.jobs, how.dask) as workers:
        yield Resources(workers, kept.absolute(), rows_at_a_time(where.memory, workers.number))


def scanned_people(
    release: Release, tables: Tables, reader: Reader, with_: Resources, memory: int, tell: Progress
) -> Scanned:
    """The people of the adversary's table by leaf; the example of each leaf is its first quasi-identifier by codes.

    Of several trees by cell, the leaves of all.

    So whatever is numbered in the order of quasi-identifiers has the numbers that it has in one piece.

    Raises
    ------
    InvalidInput
        As `maxent.api.parts.scan.scan_table` and `maxent.api.parts.forests.cells.by_cell`.
    """
    people = only(tables.qi)
    found = scan_table(
        files_given("qi", people), str(people), release, tables.count, reader, with_, told(tell, "reading the table")
    )
    if len(release.trees) > 1:
        groups = groups_for(found, with_)
        return by_cell(release, found, None, groups, "", memory, with_, partial(told, tell))[0]
    return replace(found, example=smallest_of(found.runs, *found.example.shape))


def case_of_leaves(release: Release, tables: Tables, reader: Reader, scanned: Scanned) -> tuple[Case, Any]:
    """A case with one quasi-identifier for each leaf, standing for all its people; and the leaf of each of its rows."""
    table, leaf = scanned.table()
    return tables.with_companions(Case(release, table), reader), leaf


def groups_for(scanned: Scanned, with_: Resources) -> tuple[Group, ...]:
    """Groups of leaves that are written one at a time."""
    return groups_of(sizes_of(scanned.runs, len(scanned.people)), min(with_.rows, GROUP))


def named(paths: Iterable[str | None], where: InParts) -> tuple[Path, ...]:
    """Give files their names in the folder of results."""
    return moved([path for path in paths if path is not None], where.folder)


def written_whole(frame: DataFrame, where: InParts) -> tuple[Path, ...]:
    """Write rows about people who were taken together as the only file of the folder, if there is to be one."""
    if where.folder is None:
        return ()
    with made(where.folder) as folder:
        assert folder is not None
        write_atomically(folder / POSTERIORS.format(0), lambda name: frame.to_parquet(name, index=False))
        return (folder / POSTERIORS.format(0),)


def told(tell: Progress, what: str) -> Told:
    """Progress of one step."""
    return lambda done, total: tell(what, done, total)
