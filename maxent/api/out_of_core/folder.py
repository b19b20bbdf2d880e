"""The folder of results of a call in parts: its files, the memory limit, and the links between leaves."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from maxent.models.arguments import shorten
from maxent.models.arrays import IntArray
from maxent.models.columns import NOTHING, largest
from maxent.models.errors import ARGUMENT, InvalidInput, Problem, invalid
from maxent.models.files.input_files import not_opened
from maxent.models.files.output import PREFIX, locked
from maxent.models.nodes import attributes_of
from maxent.models.nodes import links_of as node_links
from maxent.models.reading import parse_size, size_text
from maxent.models.release import Release
from maxent.models.tables.frame import arrow_numbers, arrow_texts, taken

if TYPE_CHECKING:
    from maxent.api.case import Case


# Memory: how much a machine has, and how many rows of a table fit into it at a time.

# Bytes that a row takes while rows are sorted and merged, at the most.
ROW = 256
# Bytes of a process before it holds any rows: Python, libraries, and what the leaves of a tree take.
PROCESS = 400_000_000
# Rows at a time: fewer take more time for each, and more save none.
FEWEST, MOST = 1 << 16, 1 << 21
# Bytes for each distinct quasi-identifier where everything is solved together in one process.
SINGLE = 2_000
# Further bytes for each of these and each tree but the first: the leaf there, and what is added up in it.
MEMBER = 40
# Share of a machine's memory that is used unless something else is asked for.
USABLE = 0.8
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def memory_of(asked: object) -> int:
    """Bytes that all processes together may take: those asked for, or most of what the machine has."""
    if asked is None:
        return int(USABLE * machine_memory())
    if (size := parse_size(asked)) is None:
        raise invalid("options", ARGUMENT, "memory", "a size, such as 500MB or 4GB", shorten(asked))
    return size


def machine_memory() -> int:
    """Bytes of memory of this machine, or of the container that it is; 4 GB where the system does not say."""
    found = 4_000_000_000
    with suppress(AttributeError, ValueError, OSError):  # Windows has no sysconf
        found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in _LIMITS:
        with suppress(OSError, ValueError):
            found = min(found, int(Path(limit).read_text(encoding="ascii")))
    return found


def rows_at_a_time(memory: int, workers: int) -> int:
    """Rows that each of some workers holds."""
    return int(min(max((memory / workers - PROCESS) / ROW, FEWEST), MOST))


def needed(people: int, trees: int = 1) -> int:
    """Bytes that so many distinct quasi-identifiers take where they are solved together."""
    return (SINGLE + MEMBER * (trees - 1)) * people


def fits(people: int, release: Release, memory: int) -> bool:
    """Whether so many distinct quasi-identifiers can be solved together."""
    numbers = people * len(release.target.classes)
    return numbers <= largest() and needed(people, len(release.trees)) <= memory


# Names of the files of results in a folder.
POSTERIORS = "part-{:05d}.parquet"


@dataclass(frozen=True, slots=True)
class InParts:
    """Where results in parts go, and what they may take: parameters of `estimate_in_parts`."""

    folder: Path | None
    memory: int

    @classmethod
    def of(cls, folder: str | PathLike[str] | None, memory: object) -> InParts:
        """The parameters, checked."""
        most = memory_of(memory)
        return cls(None if folder is None else checked_folder(folder), most)


def checked_folder(given: str | PathLike[str]) -> Path:
    """A folder for results, which need not exist."""
    if not isinstance(given, (str, PathLike)):
        raise InvalidInput("output", [Problem(ARGUMENT, "folder", "a new or empty folder", shorten(given))])
    path = Path(given)
    found = None
    try:
        if path.exists() and not path.is_dir():
            found = "which is no folder"
        elif path.is_dir() and any(not name.startswith(PREFIX) for name in os.listdir(path)):
            found = "which is not empty"
        elif not os.access(path if path.is_dir() else path.absolute().parent, os.W_OK):
            found = f"where you may not write, or whose folder does not exist{not_opened(path)}"
    except (OSError, ValueError) as error:
        found = str(error)
    if found is not None:
        problem = Problem(ARGUMENT, "folder", "a new or empty folder", f"{shorten(str(given))}, {found}")
        raise InvalidInput("output", [problem])
    return path


@contextmanager
def made(folder: Path | None) -> Iterator[Path | None]:
    """A folder, for its owner alone when it is new; one that was made is gone again where there is no result."""
    if folder is None:
        yield folder
        return
    new = True
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        new = False
    with _taken(folder):
        try:
            yield folder
        except BaseException:
            if new:
                with suppress(OSError):
                    folder.rmdir()
            raise


@contextmanager
def _taken(folder: Path) -> Iterator[None]:
    """Keep other runs from a folder; the system gives the lock back when the process ends, however it does."""
    handle = None
    if os.name == "posix":  # elsewhere folders cannot be locked
        with suppress(OSError):  # one that may be written to, but not be read
            handle = os.open(folder, os.O_RDONLY)
    try:
        free = True
        if handle is not None:
            with suppress(OSError):  # a file system without locks
                free = locked(handle)
        if not free:
            found = f"{shorten(str(folder))}, which is in use by another run"
            raise InvalidInput("output", [Problem(ARGUMENT, "folder", "a new or empty folder", found)])
        checked_folder(folder)  # again: another run may have ended here meanwhile
        yield
    finally:
        if handle is not None:
            os.close(handle)


def moved(paths: Iterable[str], folder: Path | None) -> tuple[Path, ...]:
    """Give finished files their names, all of them at the end: there are either none or all."""
    if folder is None:
        return ()
    found = []
    for number, path in enumerate(paths):
        found.append(folder / POSTERIORS.format(number))
        os.replace(path, found[-1])
    return tuple(found)


class PartFile:
    """A Parquet file of the people of a group that is being written; nobody reads it before it has its name."""

    def __init__(self, folder: Path, names: Sequence[str], levels: Sequence[npt.NDArray[Any]], kinds: Sequence[Any]):
        import pyarrow as pa
        from pyarrow import parquet

        self._levels, self._path = levels, folder / f"{secrets.token_hex(8)}.parquet"
        types = [*(pa.string() if level.dtype == object else pa.float64() for level in levels), *kinds]
        self._schema = pa.schema(list(zip(names, types, strict=True)))
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._file = os.fdopen(handle, "wb")
        self._writer = parquet.ParquetWriter(self._file, self._schema)
        self._texts = [arrow_texts(level.tolist()) if level.dtype == object else None for level in levels]

    def add(self, codes: IntArray, others: Iterable[Any]) -> None:
        """Write some rows, as a row group: codes of shape (n_rows, n_attributes), and arrays of the other columns."""
        import pyarrow as pa

        columns = [
            arrow_numbers(level[code]) if texts is None else taken(texts, arrow_numbers(code))
            for texts, level, code in zip(self._texts, self._levels, codes.T, strict=True)
        ]
        columns += [each if isinstance(each, (pa.Array, pa.ChunkedArray)) else arrow_numbers(each) for each in others]
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema))

    def closed(self) -> str:
        """Finish the file; its path."""
        self._writer.close()
        self._file.close()
        return str(self._path)


# What links the people of different leaves, so that leaves alone do not show what is inferred about them.


def links_of(release: Release, *, truth: bool = False) -> Iterator[str]:
    """What of a release needs more of its people than their cells, in words; nothing where cells will do."""
    yield from links_of_attacks(release)
    if release.target.of and truth:
        yield "the true classes of several sensitive columns"
    if release.sampled and any((node_links(tree.nodes)[1] == NOTHING).any() for tree in release.trees):
        yield "counts of samples with parts of trees left out"


def links_of_attacks(release: Release) -> Iterator[str]:
    """The same for attacks alone."""
    tested = set[str]().union(*(attributes_of(tree.nodes) for tree in release.trees))
    if any(attribute.name in tested for attribute in release.private):
        yield "splits on private attributes"
    if release.boosting is not None:
        yield "scores of boosted trees"


def splits_compared(release: Release, knowledge: Iterable[str] | None) -> bool:
    """Whether choices of splits (internal constraints) are used."""
    used = knowledge is None or "internal" in set(knowledge)
    return used and any(tree.induction.candidates != "none" for tree in release.trees)


def check_fits(case: Case, linked: Iterable[str], memory: int) -> None:
    """Refuse people who are linked, and therefore taken together, and do not fit into memory."""
    if (need := needed(len(case.people), len(case.release.trees))) > memory:
        people = f"{len(case.people):,} distinct quasi-identifiers"
        expected = f"about {size_text(need)} for {people}, taken together as these link them: {', '.join(linked)}"
        raise invalid("options", ARGUMENT, "memory", expected, size_text(memory))
