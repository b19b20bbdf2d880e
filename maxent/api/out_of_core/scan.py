"""A table of people as the leaves that they reach: read in pieces, by several workers, and kept in sorted runs."""

from __future__ import annotations

import os
import pickle
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from maxent.models.arguments import shorten
from maxent.models.arrays import IntArray
from maxent.models.errors import ARGUMENT, InvalidInput, Problem, invalid
from maxent.models.files.input_files import FilePath, is_standard_input
from maxent.models.out_of_core.coding import Coded, ColumnCodes, KeptRows, coded, distinct_cells, open_people
from maxent.models.out_of_core.descent import Descent, Numbered, descent_of, numbered
from maxent.models.out_of_core.runs import (
    Different,
    LeafGroup,
    Packing,
    Plan,
    Routed,
    Rows,
    Runs,
    packing_of,
    route_rows,
)
from maxent.models.reading import Reader, keep_memory
from maxent.models.release import Release
from maxent.models.tables.frame import listed
from maxent.models.tables.out_of_core import pieces_of, rows_for
from maxent.models.tables.qi_table import QITable, describe_codes, row_keys
from maxent.models.tables.table_files import files_of
from maxent.models.tables.truth_and_facts import level_index
from maxent.models.trees.places import number_places
from maxent.solvers.workers import nothing

if TYPE_CHECKING:
    from maxent.api.case import Tables
    from maxent.solvers.solve.parallel import Told, Workers

T = TypeVar("T")

# Rows of a group where memory allows: few enough for all workers to have some, whatever their number.
GROUP = 1 << 17


@dataclass(frozen=True, slots=True)
class Resources:
    """What the work is done with: workers, a folder for what does not fit into memory, and rows that do, at a time."""

    workers: Workers
    folder: Path
    rows: int

    def each(self, function: Callable[[Any, StepJob], T], job: object, items: Iterable[Any], told: Told) -> list[T]:
        """The results of a function for some items, with what all need."""
        shared = StepJob(job, self.folder / secrets.token_hex(8))
        return self.workers.map(function, [(item, shared) for item in items], told)

    def people(
        self, function: Callable[[Any, Rows, LeafGroup], T], job: object, scanned: Scanned, told: Told
    ) -> list[T]:
        """What a function makes of each group of people, where there are any; refuse a truth about others."""
        groups = scanned.runs.groups(len(scanned.people), min(self.rows, GROUP))
        found = self.each(_of_group, (function, job, scanned.runs), groups, told)
        if wrong := [each for each in found if isinstance(each, Different)]:
            raise _different(scanned, wrong)
        return [each for each in found if each is not None and not isinstance(each, Different)]


@dataclass(slots=True, eq=False)
class StepJob:
    """What all calls of a step need: copies of this process have it, others read it from a file, once each."""

    value: Any
    path: Path
    written: bool = False

    def __reduce__(self) -> tuple[Callable[[Path], StepJob], tuple[Path]]:
        if not self.written:
            self.path.write_bytes(pickle.dumps(self.value))
            self.written = True
        return _read_job, (self.path,)


@lru_cache(maxsize=2)
def _read_job(path: Path) -> StepJob:
    return StepJob(pickle.loads(path.read_bytes()), path, written=True)


def _of_group(group: LeafGroup, job: StepJob) -> Any:
    function, own, runs = job.value
    rows = runs.read(group)
    return function(own, rows, group) if isinstance(rows, Rows) and len(rows) else rows if rows else None


@dataclass(frozen=True, slots=True, eq=False)
class Scanned:
    """People of a table by leaf, depth-first, with the first row (-1 for none) and quasi-identifier of each.

    With a truth ``classes`` are the people of each class, shape (n_leaves, n_classes). With ``cells`` leaves are cells
    of several trees (`maxent.api.out_of_core.forests`), of which no row is known.
    """

    coded: Coded
    descent: Descent
    runs: Runs
    people: IntArray
    first: IntArray
    example: IntArray
    truth: str = ""
    classes: IntArray | None = None
    cells: bool = False

    @property
    def unit(self) -> Any:
        """What `lines` are."""
        return "cell" if self.cells else self.coded.opened.unit

    @property
    def there(self) -> IntArray:
        """The leaves that have people."""
        return np.flatnonzero(self.people > 0)

    def lines(self) -> IntArray:
        """Where each leaf begins in the table, as `QITable.lines` has it; the numbers of cells, from 1."""
        if self.cells:
            return np.arange(len(self.people)) + 1
        lines = np.zeros(len(self.people), np.int64)
        by_place = self.there[np.argsort(self.first[self.there], kind="stable")]
        lines[by_place] = self.coded.lines(self.first[by_place])
        return lines

    def qi_table(self, leaf: IntArray, codes: IntArray, people: IntArray) -> tuple[QITable, IntArray]:
        """Quasi-identifiers that stand for people of leaves, as a table; and which of them each row is."""
        order = np.argsort(row_keys(codes, self.runs.packing.sizes), kind="stable")
        return self.ordered(leaf[order], codes[order], people[order]), order

    def ordered(self, leaf: IntArray, codes: IntArray, people: IntArray) -> QITable:
        """The same of quasi-identifiers that are in their order."""
        own = self.coded
        return QITable(own.attributes, codes, own.levels, people, self.lines()[leaf], own.source, self.unit)

    def table(self) -> tuple[QITable, IntArray]:
        """One quasi-identifier of each leaf, standing for all people in it, as a table; and the leaf of each row."""
        leaves = self.there
        table, order = self.qi_table(leaves, self.runs.packing.unpack(self.example[:, leaves]), self.people[leaves])
        return table, leaves[order]


def scan_table(tables: Tables, release: Release, reader: Reader, with_: Resources, told: Told) -> Scanned:
    """Read the adversary's table, and route its people to the leaves of a release of one tree."""

    @cache
    def tree() -> Numbered:
        return numbered(release.trees[0], number_places(release.trees[0]))

    keep_memory()
    found = _coded("qi", tables, release, reader, with_, told, tree)
    descent = descent_of(tree(), found.attributes, found.levels)
    packing = packing_of([len(level) for level in found.levels], len(release.target.classes))
    routed, starts = _routed(found.kept, found.codes, descent, packing, with_, told)
    _check_lost(found, release, starts, routed)
    runs = Runs(_paths(routed), None, packing)
    people = np.sum([each.people for each in routed], axis=0)
    return Scanned(found, descent, runs, people, _first(starts, routed), runs.smallest(descent.leaves))


def scan_truth(tables: Tables, release: Release, reader: Reader, of: Scanned, with_: Resources, told: Told) -> Scanned:
    """The people of a table with their true classes."""
    found = _coded("truth", tables, release, reader, with_, told, nothing)
    own, packing = of.coded, of.runs.packing
    indices = [level_index(theirs, ours) for theirs, ours in zip(found.levels, own.levels, strict=True)]
    codes = tuple(_recoded(each, index) for each, index in zip(found.codes, indices, strict=False))
    routed, _ = _routed(found.kept, (*codes, found.codes[-1]), of.descent, packing, with_, told)
    strangers = sum(each.unknown[0] for each in routed if each.unknown is not None)
    strangers += sum(each.lost is not None for each in routed)
    if strangers:
        expected = f"quasi-identifiers of {own.source} only"
        what = "individual has" if strangers == 1 else "individuals have"
        raise InvalidInput(found.source, [Problem("rows", "quasi-identifier", expected, f"{strangers} {what} others")])
    classes = np.sum([each.people for each in routed], axis=0)
    different = np.flatnonzero(classes.sum(axis=1) != of.people).tolist()
    if different:
        described = _described(own, packing.unpack(of.example[:, different[:11]]))
        problems = (
            Problem(
                "rows of a leaf" + (f" (such as {text})" if of.people[leaf] else ""),
                "individuals",
                f"{of.people[leaf]}, as in {own.source}",
                str(classes[leaf].sum()),
            )
            for leaf, text in zip(different, described, strict=False)
        )
        raise InvalidInput(found.source, listed(problems, len(different), "leaves"))
    runs = replace(of.runs, truth=_paths(routed))
    return replace(of, runs=runs, classes=classes, truth=str(tables.truth))


def files_given(name: str, source: object) -> tuple[FilePath, ...]:
    """The files of the table of an argument, which is read in parts."""
    if not isinstance(source, (str, PathLike)) or is_standard_input(Path(source)):
        expected = "the path of a file, or a pattern: it is read more than once"
        raise invalid("options", ARGUMENT, name, expected, shorten(source))
    return files_of(source)


def only(given: Any) -> Any:
    """What is given alone, or as a list of one."""
    return given[0] if isinstance(given, (list, tuple)) and len(given) == 1 else given


def _different(scanned: Scanned, wrong: Sequence[Different]) -> InvalidInput:
    """The error for a truth that has other numbers of people of some quasi-identifiers than the table."""
    some = [one for each in wrong for one in each.first][:11]
    texts = _described(scanned.coded, np.array([codes for codes, _, _ in some], np.int64))
    problems = (
        Problem(f"rows with {text}", "individuals", f"{here}, as in {scanned.coded.source}", str(there))
        for text, (_, here, there) in zip(texts, some, strict=True)
    )
    total = sum(each.number for each in wrong)
    return InvalidInput(scanned.truth, listed(problems, total, "quasi-identifiers"))


def _described(own: Coded, codes: IntArray) -> list[str]:
    return [describe_codes(own.attributes, own.levels, row) for row in codes]


def _coded(
    name: str,
    tables: Tables,
    release: Release,
    reader: Reader,
    with_: Resources,
    told: Told,
    first: Callable[[], object],
) -> Coded:
    """The meaning of the cells of the table ``qi`` or ``truth``, and its rows as they are kept."""
    given, target = only(getattr(tables, name)), name == "truth"
    files = files_given(name, given)
    opened = open_people(files, str(given), release, tables.count, reader, target=target)
    pieces = pieces_of(opened, with_.workers.number)
    calls = [(piece, opened.wanted, with_.folder) for piece in pieces]
    found = with_.workers.map(distinct_cells, calls, told, first)
    return coded(opened, pieces, found, release, reader, target=target)


def _routed(
    rows: Sequence[KeptRows],
    codes: Sequence[ColumnCodes],
    descent: Descent,
    packing: Packing,
    with_: Resources,
    told: Told,
) -> tuple[list[Routed], list[int]]:
    """What became of all rows, some at a time, and the number of the first of these; nothing is kept of them."""
    plan = Plan(tuple(codes), descent, packing, with_.folder, with_.rows)
    workers = with_.workers.number
    # In smaller shares than pieces: where two processes have five shares, one of them waits.
    most = rows_for(sum(map(len, rows)), workers if workers == 1 else 2 * workers)
    shares = [share for each in rows for share in each.shares(most)]
    found = with_.each(_route, plan, shares, told)
    for each in rows:
        os.unlink(each.path)
    return found, [share.first for share in shares]


def _route(rows: KeptRows, job: StepJob) -> Routed:
    return route_rows(rows, job.value)


def _paths(routed: Sequence[Routed]) -> tuple[str, ...]:
    return tuple(run for each in routed for run in each.runs)


def _recoded(codes: ColumnCodes, index: IntArray) -> ColumnCodes:
    """Codes of the same cells by the levels of another table, -1 for what it has not."""
    moved = np.append(index, -1)
    return ColumnCodes(codes.cells, moved[codes.codes], int(moved[codes.missing]))


def _check_lost(found: Coded, release: Release, starts: Sequence[int], routed: Sequence[Routed]) -> None:
    """Refuse the first quasi-identifier that reaches no leaf."""
    gone = [(start + each.lost[0], *each.lost[1:]) for start, each in zip(starts, routed, strict=True) if each.lost]
    if not gone:
        return
    row, place, codes = min(gone)
    name = release.trees[0].nodes[place].attribute or ""
    j = [attribute.name for attribute in found.attributes].index(name)
    value: npt.NDArray[Any] = found.levels[j][codes[j]]
    raise invalid(
        found.source,
        f"line {int(found.lines(np.array([row]))[0])}",
        name,
        "a value that some branch of every node it reaches takes",
        f"{value!r}, which reaches no leaf",
    )


def _first(starts: Sequence[int], routed: Sequence[Routed]) -> IntArray:
    """The first row of each leaf in the whole table, -1 for none."""
    first = np.full(len(routed[0].first), -1)
    for start, each in zip(starts, routed, strict=True):
        at = each.first + start
        new = (each.first >= 0) & ((first < 0) | (at < first))
        first[new] = at[new]
    return first
