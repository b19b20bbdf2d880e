"""The shared state of calls in parts: the release, its people by leaf, and the output files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from maxent.api.case import Case, Published, Tables, no_table, open_published, read_case, strangers_left_out
from maxent.api.out_of_core.folder import POSTERIORS, InParts, PartFile, check_fits, made, moved, rows_at_a_time
from maxent.api.out_of_core.forests import by_cell
from maxent.api.out_of_core.posteriors import ROWS, unpickled
from maxent.api.out_of_core.scan import Resources, Scanned, only, scan_table, scan_truth
from maxent.models.errors import check_unused
from maxent.models.files.output import scratch, write_atomically
from maxent.models.out_of_core.runs import LeafGroup, Packing, Rows, groups_of, read_group, sizes_of
from maxent.models.reading import Reader, reader_of
from maxent.models.release import Release
from maxent.solvers.solve.parallel import Told, workers_of

if TYPE_CHECKING:
    from pandas import DataFrame

    from maxent.api.estimate import Progress, Solving
    from maxent.models.arrays import IntArray
    from maxent.models.tables.qi_table import QITable


# Rows about people that follow from their leaves: written group by group.


@dataclass(frozen=True, slots=True, eq=False)
class FoundLeaves:
    """What is found of people, as columns after those of their attributes: the ``count``, and rows of a pyarrow Table.

    Of a quasi-identifier these are the ``each`` rows with the number ``at(leaf, count)``; pickled, for workers.
    """

    table: Any
    at: Callable[[IntArray, IntArray], IntArray]
    each: int = 1

    def kinds(self) -> list[Any]:
        """The pyarrow types of the columns."""
        import pyarrow as pa

        return [pa.int64(), *self.table.schema.types]

    def columns(self, rows: Rows) -> list[Any]:
        """The columns of some quasi-identifiers, all rows of one after the other."""
        import pyarrow as pa

        number = self.at(rows.leaf.astype(np.int64), rows.count)[:, None] * self.each + np.arange(self.each)
        return [np.repeat(rows.count, self.each), *self.table.take(pa.array(number.ravel())).columns]


@dataclass(frozen=True, slots=True, eq=False)
class Writing:
    """What is written of every group: names of all columns, what the codes of attributes mean, and the folder."""

    runs: tuple[str, ...]
    packing: Packing
    levels: tuple[npt.NDArray[Any], ...]
    names: tuple[str, ...]
    found: FoundLeaves
    folder: Path


def write_group(group: LeafGroup, path: Path) -> str | None:
    """Write a group as the `Writing` in a file says: the path of the file, None for a group without people."""
    how: Writing = unpickled(path)
    rows = read_group(how.runs, group)
    if rows is None or not len(rows):
        return None
    each = how.found.each
    file = PartFile(how.folder, how.names, how.levels, how.found.kinds())
    for block in _blocks(rows, max(ROWS // each, 1)):
        file.add(np.repeat(how.packing.unpack(block.words), each, axis=0), how.found.columns(block))
    return file.closed()


def _blocks(rows: Rows, most: int) -> Iterator[Rows]:
    """Rows in blocks, each of which becomes a row group of a file."""
    for begin in range(0, len(rows), most):
        here = slice(begin, begin + most)
        yield Rows(rows.leaf[here], rows.words[:, here], rows.count[here])


def table_of(columns: Iterable[tuple[Iterable[Any], str]]) -> Any:
    """A pyarrow Table of some columns, each with the name of its type; None is missing."""
    import pyarrow as pa

    arrays = [pa.array(list(values), pa.type_for_alias(kind), from_pandas=True) for values, kind in columns]
    return pa.table(arrays, names=[str(i) for i in range(len(arrays))])


@dataclass(frozen=True, slots=True, eq=False)
class ByLeaf:
    """The row of each leaf of so many, given the ``leaf`` of each row."""

    leaf: IntArray
    leaves: int

    def __call__(self, leaf: IntArray, count: IntArray) -> IntArray:
        at = np.zeros(self.leaves, np.int64)
        at[self.leaf] = np.arange(len(self.leaf))
        return at[leaf]


# Rows of a group where memory allows: few enough for all workers to have some, whatever their number.
GROUP = 1 << 17


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """What was published, and its people, before they are read; ``linked`` says why their leaves alone will not do."""

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
        """Read what was published."""
        reader, tables = reader_of(tables.reading), tables.located()
        if tables.qi is None and tables.population is None:
            raise no_table()
        several = isinstance(published, (list, tuple)) and len(published) != 1
        opened = published if several else open_published(only(published), reader)
        if isinstance(opened, Release):
            linked = [*links(opened), *["statements beside trees"] * bool(opened.statements)]
            check_unused("records, and this is a tree", target=target)
            check_unused("several releases, each with a table of its own", who=tables.who)
        else:
            linked = ["several releases about overlapping people" if several else "generalised records"]
        linked += ["known classes of some people"] * (tables.facts is not None)
        if tables.population is not None and isinstance(opened, Release):
            tables.check_register(opened)
            tables = tables if linked else replace(tables, qi=tables.population)
        return cls(opened, tables, reader, tuple(linked), target, where, progress or (lambda text, done, total: None))

    @property
    def of_register(self) -> bool:
        """Whether the people are those of a register, of whom some are in the data."""
        return self.tables.population is not None

    def together(self, **options: Any) -> Case:
        """All people as one case, because something links them; ``options`` are those of trees alone."""
        case = read_case(self.release, self.tables, self.target, **options)
        check_fits(case, self.linked, self.where.memory)
        return replace(case, noticed=self.reader.noticed.joined(case.noticed))

    def case(self, table: QITable) -> Case:
        """A case of quasi-identifiers that stand for all people, or for all of a register."""
        if self.of_register:
            return self.tables.with_members(self.release, table, self.reader, stands_in=True)
        return self.tables.with_companions(Case(self.release, table, stands_in=True), self.reader)

    @contextmanager
    def resources(self, how: Solving) -> Iterator[Resources]:
        """Workers, rows at a time, and a folder for what does not fit into memory, which is gone at the end."""
        others = workers_of(how.jobs, how.dask, how.time_limit, copied=not self.tables.at_addresses)
        with made(self.where.folder) as folder, scratch(folder) as kept, others as workers:
            yield Resources(workers, kept.absolute(), rows_at_a_time(self.where.memory, workers.number))

    def scanned(self, with_: Resources) -> tuple[Scanned, tuple[str, ...] | None, IntArray | None]:
        """The people of the adversary's table by leaf, of several trees by cell, the leaves of all."""
        given = self.tables, self.release, self.reader
        with strangers_left_out() if self.of_register else nullcontext():
            found = scan_table(*given, with_, self.told("reading the table"))
        known: Any = (None, None)
        if self.tables.truth is not None:
            known = scan_truth(*given, found, with_, self.told("reading the truth"))
        if len(self.release.trees) == 1:
            return found, *known
        groups, source = groups_for(found, with_), str(self.tables.truth)
        return by_cell(self.release, found, known[0], groups, source, self.where.memory, with_, self.told)

    def written(
        self,
        what: str,
        names: Sequence[str],
        found: FoundLeaves,
        scanned: Scanned,
        groups: Iterable[LeafGroup],
        with_: Resources,
    ) -> tuple[Path, ...]:
        """Write what was found of everybody, group by group; ``names`` are those of all columns."""
        job = Writing(scanned.runs, scanned.packing, scanned.coded.levels, tuple(names), found, with_.folder)
        paths = with_.each(write_group, job, groups, self.told(f"writing {what}"))
        return moved([path for path in paths if path is not None], self.where.folder)

    def write_whole(self, rows: Callable[[], DataFrame | None]) -> None:
        """Write rows about people who were taken together as the only file of the folder, if there is to be one."""
        if self.where.folder is None or (frame := rows()) is None:
            return
        with made(self.where.folder) as folder:
            assert folder is not None
            write_atomically(folder / POSTERIORS.format(0), lambda name: frame.to_parquet(name, index=False))

    def told(self, what: str) -> Told:
        """Progress of one step."""
        return partial(self.tell, what)


def groups_for(scanned: Scanned, with_: Resources) -> tuple[LeafGroup, ...]:
    """Groups of leaves that are evaluated one at a time."""
    return groups_of(sizes_of(scanned.runs, len(scanned.people)), min(with_.rows, GROUP))
