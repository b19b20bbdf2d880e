"""What calls in parts share: a release, what links its people, their leaves, and the files of what is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from maxent.api.adversary.estimate import Progress, Solving
from maxent.api.case import Case, Published, Tables, no_table, read_case
from maxent.api.opening import open_published
from maxent.api.parts.by_leaf.rows import Found, Writing, write_group
from maxent.api.parts.folder import POSTERIORS, InParts, made, moved
from maxent.api.parts.forests.cells import by_cell
from maxent.api.parts.linked import check_fits
from maxent.api.parts.memory import rows_at_a_time
from maxent.api.parts.posteriors import pickled
from maxent.api.parts.scan import Resources, Scanned, files_given, only, scan_table
from maxent.api.parts.workers import Told, workers_of
from maxent.models.errors import check_unused
from maxent.models.files.output import write_atomically
from maxent.models.files.scratch import scratch
from maxent.models.reading import Reader, reader_of
from maxent.models.release import Release
from maxent.models.tables.parts.groups import Group, groups_of
from maxent.models.tables.parts.runs import sizes_of, smallest_of
from maxent.models.tables.qi_table import QITable

if TYPE_CHECKING:
    from pathlib import Path

    from pandas import DataFrame

GROUP = 1 << 18
"""Rows of a group where memory allows: few enough for all workers to have some, whatever their number."""


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """What was published, and its people, before they are read.

    ``linked`` says what links these, so that their leaves alone will not do; nothing where they will. Results go
    ``where`` the call says, and it is told of progress.
    """

    release: Any
    tables: Tables
    reader: Reader
    linked: tuple[str, ...]
    target: str | None
    where: InParts
    tell: Progress

    @classmethod
    def of(
        cls,
        published: Published,
        tables: Tables,
        links: Callable[[Release], Iterable[str]],
        target: str | None,
        where: InParts,
        progress: Progress | None,
    ) -> Opened:
        """Read what was published.

        Raises
        ------
        InvalidInput
            For a release that cannot be read, without a table, and for options that it does not have.
        """
        reader, tables = reader_of(tables.reading), tables.located()
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
        linked += ["known classes of some people"] * (tables.facts is not None)
        return cls(opened, tables, reader, tuple(linked), target, where, progress or (lambda text, done, total: None))

    def together(self, **options: Any) -> Case:
        """All people as one case, because something links them; ``options`` are those of trees alone.

        Raises
        ------
        InvalidInput
            As `maxent.api.case.read_case`, and where they do not fit into memory.
        """
        case = read_case(self.release, self.tables, self.target, **options)
        check_fits(case, self.linked, self.where.memory)
        return case

    def case(self, table: QITable) -> Case:
        """A case of quasi-identifiers that stand for all people."""
        return self.tables.with_companions(Case(self.release, table), self.reader)

    @contextmanager
    def resources(self, how: Solving) -> Iterator[Resources]:
        """Workers, rows at a time, and a folder for what does not fit into memory, which is gone at the end."""
        others = workers_of(how.jobs, how.dask, how.time_limit, copied=not self.tables.at_addresses)
        with made(self.where.folder) as folder, scratch(folder) as kept, others as workers:
            yield Resources(workers, kept.absolute(), rows_at_a_time(self.where.memory, workers.number))

    def scanned(self, with_: Resources) -> Scanned:
        """The people of the adversary's table by leaf; the example of each leaf is its first quasi-identifier by codes.

        Of several trees by cell, the leaves of all.

        So whatever is numbered in the order of quasi-identifiers has the numbers that it has in one piece.

        Raises
        ------
        InvalidInput
            As `maxent.api.parts.scan.scan_table` and `maxent.api.parts.forests.cells.by_cell`.
        """
        people, told = only(self.tables.qi), self.told("reading the table")
        files, count = files_given("qi", people), self.tables.count
        found = scan_table(files, str(people), self.release, count, self.reader, with_, told)
        if len(self.release.trees) > 1:
            groups = groups_for(found, with_)
            return by_cell(self.release, found, None, groups, "", self.where.memory, with_, self.told)[0]
        return replace(found, example=smallest_of(found.runs, *found.example.shape))

    def written(
        self, what: str, names: Sequence[str], found: Found, scanned: Scanned, groups: Iterable[Group], with_: Resources
    ) -> tuple[Path, ...]:
        """Write what was found of everybody, group by group; ``names`` are those of all columns."""
        job = Writing(scanned.runs, scanned.packing, scanned.coded.levels, tuple(names), found, with_.folder)
        path = pickled(job, with_.folder / "found")
        paths = with_.workers.map(write_group, [(group, path) for group in groups], self.told(f"writing {what}"))
        return moved([path for path in paths if path is not None], self.where.folder)

    def write_whole(self, frame: DataFrame) -> None:
        """Write rows about people who were taken together as the only file of the folder, if there is to be one."""
        if self.where.folder is None:
            return
        with made(self.where.folder) as folder:
            assert folder is not None
            write_atomically(folder / POSTERIORS.format(0), lambda name: frame.to_parquet(name, index=False))

    def told(self, what: str) -> Told:
        """Progress of one step."""
        return partial(self.tell, what)


def groups_for(scanned: Scanned, with_: Resources) -> tuple[Group, ...]:
    """Groups of leaves that are written one at a time."""
    return groups_of(sizes_of(scanned.runs, len(scanned.people)), min(with_.rows, GROUP))
