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
from maxent.api.out_of_core.scan import Resources, Scanned, only, scan_table, scan_truth
from maxent.models.arrays import FloatArray, IntArray
from maxent.models.errors import check_unused
from maxent.models.files.output import scratch, write_atomically
from maxent.models.out_of_core.runs import LeafGroup, Packing, Rows
from maxent.models.reading import Reader, reader_of
from maxent.models.release import Release
from maxent.models.tables.frame import arrow_numbers, taken
from maxent.models.tables.qi_table import QITable
from maxent.solvers.solve.parallel import Told, workers_of

if TYPE_CHECKING:
    from pandas import DataFrame

    from maxent.api.estimate import Progress, Solving


# Rows about people that follow from their leaves: written and measured group by group.

# Quasi-identifiers whose probabilities are in memory at the same time, and of a row group.
ROWS = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class FoundLeaves:
    """What is found of people, as columns after those of their attributes: the ``count``, and rows of a ``table``.

    That is a pyarrow Table or, for probabilities of classes, an array. Of quasi-identifiers these are the ``each`` rows
    with the numbers ``at(rows, codes)``; pickled, for workers.
    """

    table: Any
    at: Callable[[Rows, IntArray], IntArray]
    each: int = 1

    @property
    def kinds(self) -> list[Any]:
        """The pyarrow types of the columns."""
        import pyarrow as pa

        found = self.table
        return [pa.int64(), *([pa.float64()] * found.shape[1] if isinstance(found, np.ndarray) else found.schema.types)]

    def of(self, rows: Rows, codes: IntArray) -> Any:
        """The rows of some quasi-identifiers, all of one after the other."""
        number = (self.at(rows, codes)[:, None] * self.each + np.arange(self.each)).ravel()
        return self.table[number] if isinstance(self.table, np.ndarray) else taken(self.table, arrow_numbers(number))


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

    def __call__(self, rows: Rows, codes: IntArray) -> IntArray:
        at = np.zeros(self.leaves, np.int64)
        at[self.leaf] = np.arange(len(self.leaf))
        return np.asarray(at[rows.leaf])


@dataclass(frozen=True, slots=True, eq=False)
class Writing:
    """What is written of every group: names of all columns, what the codes of attributes mean, and the folder, if any.

    Of ``top`` quasi-identifiers divergences are named; ``surest`` is how many are that an adversary is surest of.
    """

    packing: Packing
    levels: tuple[npt.NDArray[Any], ...]
    names: tuple[str, ...]
    found: FoundLeaves
    folder: Path | None
    top: int = 0
    surest: int = 0


# Minus the divergence of a quasi-identifier, nats, and its codes. Sorted, the farthest quasi-identifiers come first.
Far = tuple[float, tuple[int, ...]]
# Somebody whom an adversary is sure of and, with a truth, right about: nats that are hidden, minus people, codes,
# likeliest class, its probability, divergence. Sorted, the least hidden come first.
Surest = tuple[float, int, tuple[int, ...], int, float, float]


@dataclass(frozen=True, slots=True)
class Written:
    """A group that was written: its rows, the file, the surest and, with a truth, divergences, nats.

    ``total`` is the sum of the finite ones over people, ``infinite`` how many are not, ``far`` are the largest.
    """

    rows: int
    path: str | None
    surest: tuple[Surest, ...]
    far: tuple[Far, ...]
    total: float
    infinite: int
    least: float


def write_group(how: Writing, rows: Rows, group: LeafGroup) -> Written:
    """Write a group, and measure it."""
    import pyarrow as pa

    each, file = how.found.each, None
    surest, far, told = list[Surest](), list[Far](), []
    if how.folder is not None:
        kinds = [*how.found.kinds, *[pa.float64()] * (rows.classes is not None)]
        file = PartFile(how.folder, how.names, how.levels, kinds)
    used = len(rows) * (file is not None or how.surest > 0 or rows.classes is not None)
    for begin in range(0, used, most := max(ROWS // each, 1)):
        block = rows.some(slice(begin, begin + most))
        codes = how.packing.unpack(block.words)
        found = how.found.of(block, codes)
        columns = [*found.T] if isinstance(found, np.ndarray) else [*found.columns]
        away = np.zeros(len(block))
        if block.classes is not None:
            away = _divergence(block.classes, found)
            told.append(away)
            columns.append(away)
            here = _foremost([-away], codes, how.top)
            far = sorted([*far, *((-float(away[i]), tuple(codes[i].tolist())) for i in here)])[: how.top]
        if how.surest:
            surest = sorted([*surest, *_surest(block, codes, found, away, how.surest)])[: how.surest]
        if file is not None:
            if each > 1:
                codes = np.repeat(codes, each, axis=0)
            file.add(codes, [np.repeat(block.count, each), *columns])
    every = np.concatenate(told) if told else np.zeros(0)
    finite = np.isfinite(every)
    total = float(every[finite] @ rows.count[finite]) if told else 0.0
    path, least = None if file is None else file.closed(), float(every.min(initial=np.inf))
    return Written(len(rows), path, tuple(surest), tuple(far), total, int((~finite).sum()), least)


def _divergence(people: IntArray, posterior: FloatArray) -> FloatArray:
    from maxent.disclosure.measures import individual_divergence  # with a truth only

    return individual_divergence(people, posterior)


def _foremost(keys: Sequence[npt.NDArray[Any]], codes: IntArray, most: int) -> list[int]:
    """The rows that come first by some keys, then by codes, up to ``most``."""
    last = min(most, len(codes)) - 1
    here = np.flatnonzero(keys[0] <= np.partition(keys[0], last)[last])
    order = np.lexsort((*codes[here].T[::-1], *(key[here] for key in keys[::-1])))
    return list(here[order[:most]].tolist())


def _surest(rows: Rows, codes: IntArray, p: FloatArray, away: FloatArray, most: int) -> Iterator[Surest]:
    """Yield those of a block that an adversary is surest of; ``away`` are divergences, 0 without a truth."""
    largest, klass = p.max(axis=1), p.argmax(axis=1)
    hidden = away - np.log(largest)
    for i in _foremost([hidden, -rows.count], codes, most):
        own = tuple(codes[i].tolist())
        yield float(hidden[i]), -int(rows.count[i]), own, int(klass[i]), float(largest[i]), float(away[i])


BESIDE = "statements beside trees"


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
            linked = [*links(opened), *[BESIDE] * bool(opened.statements)]
            check_unused("records, and this is a tree", target=target)
            check_unused("several releases, each with a table of its own", who=tables.who)
        else:
            of_people = "several releases about overlapping people" if tables.population is None else BESIDE
            linked = [of_people if several else "generalised records"]
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

    def scanned(self, with_: Resources) -> Scanned:
        """The people of the adversary's table by leaf, of several trees by cell, the leaves of all."""
        given = self.tables, self.release, self.reader
        with strangers_left_out() if self.of_register else nullcontext():
            found = scan_table(*given, with_, self.told("reading the table"))
        if self.tables.truth is not None:
            found = scan_truth(*given, found, with_, self.told("reading the truth"))
        if len(self.release.trees) == 1:
            return found
        return by_cell(self.release, found, self.where.memory, with_, self.told)

    def written(
        self,
        told: str,
        names: Sequence[str],
        found: FoundLeaves,
        scanned: Scanned,
        with_: Resources,
        **most: int,
    ) -> tuple[list[Written], tuple[Path, ...]]:
        """Write what was found of everybody, group by group, and the files; ``names`` are those of all columns."""
        folder = None if self.where.folder is None else with_.folder
        job = Writing(scanned.runs.packing, scanned.coded.levels, tuple(names), found, folder, **most)
        groups = with_.people(write_group, job, scanned, self.told(told))
        return groups, moved([each.path for each in groups if each.path is not None], self.where.folder)

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
