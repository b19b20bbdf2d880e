"""Output files: permitted places, kinds, locks, temporary folders, and complete writes or none."""

from __future__ import annotations

import csv
import errno
import json
import os
import re
import shutil
import signal
import stat
import sys
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, partial
from glob import glob
from pathlib import Path as Path_pathlib
from types import FrameType
from typing import Any

from maxent.models.errors import InvalidInput, Problem
from maxent.models.files.input_files import is_address, not_opened, redacted
from maxent.models.files.json_files import unusable_file

# Kinds of files that commands write: how an earlier result is told from anything else that is in its place.

# Endings of files that are tables, where several files have to be told apart
TABLE_SUFFIXES = (".csv", ".csv.gz", ".parquet", ".pq", ".xlsx", ".xlsm")

LOOKED_AT = 1 << 16  # bytes at the beginning and at the end of a file in which its marker is

# Bytes of the largest JSON document that is read to find its ``format``, where that is not its first key
LARGEST = 1 << 28

KEY = b"maxent"  # key of a Parquet file's metadata, whose value is the name of the kind

PLOT = "maxent-plot"  # what plots say in their metadata

DRAWING = "maxent-drawing"  # what drawings of releases say in their metadata

REPORT_MARK = '<meta name="generator" content="maxent">'  # what reports say in their first lines

FOREIGN = "which is there, and which this command did not write"  # why most files are not replaced

_FORMAT = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*\{\s*"format"\s*:\s*"([^"\\]*)"')
_MARKS: Mapping[str, str] = {".html": re.escape(REPORT_MARK), **dict.fromkeys((".svg", ".png", ".pdf"), PLOT)}


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file.

    ``name``: what it states: as the key ``format`` of JSON, and in the metadata of Parquet. ``header``: the columns of
    a CSV file -> whether they are those of the kind; none where any table of people has such. ``marks``: suffix of
    other files, ``""`` for any -> a regular expression for what is in their first or last bytes. ``kept``: a document
    of JSON -> the reason why it must be kept, None for none. ``also``: other names that the same command writes.
    """

    name: str
    header: Callable[[Sequence[str]], bool] | None = None
    marks: Mapping[str, str] = field(default_factory=lambda: _MARKS)
    kept: Callable[[Mapping[str, Any]], str | None] | None = None
    also: tuple[str, ...] = ()

    def refuses(self, path: str) -> str | None:
        """The reason why a file must not be replaced, None where it is of this kind."""
        suffix = os.path.splitext(path)[1].lower()
        mark = self.marks.get(suffix, self.marks.get(""))
        try:
            if mark is not None:
                found = re.search(mark.encode(), _ends(path)) is not None
            elif suffix == ".json":
                return self._of_document(path)
            elif suffix == ".parquet":
                found = _stated_in_parquet(path) == self.name
            else:
                found = suffix == ".csv" and self.header is not None and self.header(_columns(path))
        except (OSError, ValueError, RecursionError, csv.Error) as error:
            return f"which cannot be read ({type(error).__name__})"
        return None if found else FOREIGN

    def _of_document(self, path: str) -> str | None:
        with open(path, "rb") as file:
            first = _FORMAT.match(file.read(LOOKED_AT))
        if first is not None and self.kept is None:
            return (
                None if first[1].decode() in (self.name, *self.also) else f"which has the format {first[1].decode()!r}"
            )
        if os.path.getsize(path) > LARGEST:
            return "which is too large to be looked at"
        with open(path, encoding="utf-8-sig") as file:
            document = json.load(file)
        stated = document.get("format") if isinstance(document, dict) else None
        if stated not in (self.name, *self.also):
            return FOREIGN if stated is None else f"which has the format {str(stated)[:60]!r}"
        return None if self.kept is None else self.kept(document)


def _columns(path: str) -> list[str]:
    """The header row of a CSV file."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        return [name.removeprefix("'") for name in next(csv.reader(file), [])]


def _stated_in_parquet(path: str) -> str:
    from pyarrow import parquet

    return ((parquet.read_metadata(path).metadata or {}).get(KEY) or b"").decode()


def _ends(path: str) -> bytes:
    """The first and the last bytes of a file."""
    with open(path, "rb") as file:
        first = file.read(LOOKED_AT)
        file.seek(max(os.path.getsize(path) - LOOKED_AT, len(first)))
        return first + file.read(LOOKED_AT)


def _adjacent(*patterns: str) -> Callable[[Sequence[str]], bool]:
    """Whether columns that fit patterns are beside each other, whatever is before and after them."""

    def fits(columns: Sequence[str]) -> bool:
        names = [re.sub("^(maxent_)+", "", name) for name in columns]
        starts = range(len(names) - len(patterns) + 1)
        return any(all(map(fnmatchcase, names[start:], patterns)) for start in starts)

    return fits


def _of_predictions(columns: Sequence[str]) -> bool:
    names = [re.sub("^(maxent_)+", "", name) for name in columns]
    return "predicted" in names and names[-1] == "leaf"


def _of_witnesses(columns: Sequence[str]) -> bool:
    return len(columns) > 1 and columns[-1].endswith(f"{re.sub('^(maxent_)+', '', columns[-2])}_other")


def _decided(record: Mapping[str, Any]) -> str | None:
    """Why a record is kept: somebody decided by it."""
    decision = record.get("decision")
    blank = isinstance(decision, dict) and not any(str(each or "").strip() for each in decision.values())
    return None if blank else "which is a record with a decision"


# The kinds, each of one output of a command
RELEASE = FileKind("maxent/1", also=("maxent-statements/1",))
RECORDS = FileKind("maxent-records/1")
ESTIMATE = FileKind("maxent-estimate/1", _adjacent("count", "P(*)"))
REVIEW = FileKind("maxent-review/1", _adjacent("count", "P(*)"))
BOUNDS = FileKind("maxent-bounds/1", _adjacent("count", "class", "low", "high", "proved_by"))
WITNESSES = FileKind("maxent-witnesses/1", _of_witnesses)
TABLE = FileKind("maxent-table/1")
PROVED = FileKind("maxent-proved/1")
SHARES = FileKind("maxent-shares/1")
AUDIT = FileKind("maxent-audit/1", _adjacent("attack", "disclosed"))
GROUPS = FileKind("maxent-groups/1", _adjacent("n", "count(*)"))
PREDICTIONS = FileKind("maxent-predictions/1", _of_predictions)
COMPARISON = FileKind("maxent-comparison/1", _adjacent("release", "defense", "status", "certificate"))
DIFFERENCE = FileKind("maxent-difference/1", _adjacent("proved", "proved_alone"))
BENCH = FileKind("maxent-bench/1", _adjacent("backend", "version", "status", "reason", "convex", "certificate"))
CONSTRAINTS = FileKind("maxent-constraints/1", _adjacent("kind", "origin", "tree", "node", "says"))
CHECKS = FileKind("maxent-checks/1", _adjacent("id", "key", "limit", "found", "status", "said", "off"))
RECORD = FileKind("maxent-record/1", kept=_decided)
CANDIDATES = FileKind("maxent-candidates/1", _adjacent("rank", "candidate", "method", "outcome", "why"))
REPORT = FileKind("maxent-report")
CARD = FileKind("maxent-card", marks={"": r"\A#{1,6} Disclosure of the training data\n"})
PYOMO = FileKind("maxent-pyomo", marks={"": r"\A# The maximum-entropy program of a release"})
NL = FileKind(
    "maxent-nl",
    marks={
        ".nl": r"\A[bg].*# problem maxent\n",
        ".col": r"\A(mass|aggregate)\[",
        ".row": r"\A(linear\[|internal\[|negative_entropy\n)",
    },
)
SHORTCUT = FileKind("maxent-shortcut", marks={"": "(#|rem) starts maxent serve\\r?\\n"})
MODEL = FileKind("maxent-model", marks={"": r"(?!)"})  # of other tools: replaced with --force alone
EXPORT = FileKind(
    "maxent-export",
    _adjacent("tree", "leaf", "rule"),
    {
        ".sql": r"\A-- for DuckDB and PostgreSQL; ",
        ".pmml": r'<Extension extender="maxent"',
        ".txt": r"\A.*, predicted from .*\n(.*\n)?\n(Tree|\d+ rules?)",
        ".dot": r'\Adigraph ".*" \{\n  node \[shape=box, fontname=Helvetica\];\n',
        ".svg": f"<metadata>{DRAWING}</metadata>",
    },
)


# Locks on open files and folders: the system gives them back when the process ends, however it does.


def locked(handle: int) -> bool:
    """Take the lock of an open file, or of a folder, until it is closed; False when another one has it."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(handle, 1 << 20, os.SEEK_SET)  # other processes cannot read what is locked
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


SOURCE = "output"

Path = str | os.PathLike[str]

_EXPECTED = "a file that can be written"
_LEFTOVER = re.compile(r"\.maxent-[0-9a-f]{1,16}\.tmp")
_POSIX = os.name == "posix"

# --- Places --------------------------------------------------------------------------------------------------------


def check_outputs(outputs: Mapping[str, tuple[Path | None, Sequence[str]]], inputs: Iterable[Path | None] = ()) -> None:
    """Refuse files that cannot be written, or that stand for an input by whatever name, before any work is done.

    ``outputs``: option -> (file or None, the suffixes it may have; none stands for any).
    """
    problems, fit = [], {}
    for option, (given, suffixes) in outputs.items():
        if given is None:
            continue
        path = os.fspath(given)
        if suffixes and not path.lower().endswith(tuple(suffixes)):
            expected = "a file name that ends in " + " or ".join(suffixes)
            problems.append(Problem("argument", option, expected, _short(path)))
        elif (reason := _unwritable(path)) is not None:
            problems.append(Problem("argument", option, "a file that can be written", f"{_short(path)}, {reason}"))
        else:
            fit[option] = path
    problems += _replaced(fit, inputs)
    if problems or (problems := list(_kept(fit))):
        raise InvalidInput(SOURCE, problems)


@dataclass(frozen=True, slots=True)
class Overwriting:
    """What a call may replace: per option files of these ``kinds``, anything with ``force``; ``tell`` hears of each."""

    kinds: Mapping[str, Sequence[FileKind]]
    force: bool
    tell: Callable[[str], None]

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Let it hold for the outputs of a call."""
        token = _overwriting.set(self)
        try:
            yield
        finally:
            _overwriting.reset(token)


# Of the call of a command; from Python, where there is none, every file is replaced
_overwriting: ContextVar[Overwriting | None] = ContextVar("overwriting", default=None)


def may_replace() -> bool:
    """Whether anything may be replaced: so it is from Python, and with ``--force``."""
    rule = _overwriting.get()
    return rule is None or rule.force


def _kept(outputs: Mapping[str, str]) -> Iterator[Problem]:
    """Outputs that are there, and must not be replaced; ``-o (k = 5)`` is a file of ``-o``."""
    rule = _overwriting.get()
    for option, path in outputs.items():
        kinds = () if rule is None or rule.force else rule.kinds.get(option.partition(" (")[0], ())
        if not kinds or not os.path.lexists(path):
            continue
        reasons = [kind.refuses(path) for kind in kinds]
        if None not in reasons:
            known, why = "one that the same command wrote before, ", reasons[-1]
            if kinds == (MODEL,):
                known, why = "", "which is there"
            yield Problem("argument", option, f"a new file, {known}or --force", f"{_short(path)}, {why}")


def check_apart(outputs: Mapping[str, Path], inputs: Iterable[Path | None]) -> None:
    """Refuse outputs that are an input, or another output, and nothing else; as `check_outputs` does."""
    if problems := list(_replaced(outputs, inputs)):
        raise InvalidInput(SOURCE, problems)


def _replaced(outputs: Mapping[str, Path], inputs: Iterable[Path | None]) -> Iterator[Problem]:
    """Outputs that are an input or another output."""
    taken, patterns = _Taken(), []
    for path in (os.fspath(path) for path in inputs if path is not None):
        if is_pattern(path):
            patterns.append(path)
        for file in glob(path, recursive=True) if is_pattern(path) else [path]:
            taken.add(file, "an input")
    for option, path in ((option, os.fspath(path)) for option, path in outputs.items()):
        found = taken.by(path)
        if found is None and (matched := next((p for p in patterns if _matches(path, p)), None)) is not None:
            found = f"which the pattern {_short(matched)} of an input matches"
        if found is not None:
            yield Problem("argument", option, "a file of its own", f"{_short(path)}, {found}")
        taken.add(path, f"the file of {option}")


def is_pattern(path: str) -> bool:
    """Whether a name stands for all files that match it, and is not that of a file."""
    return any(mark in path for mark in "*?[") and "\0" not in path and not os.path.exists(path)


class _Taken:
    """Files that must not be written, by everything that they can be known by."""

    def __init__(self) -> None:
        self._known: dict[tuple[int | str, ...], tuple[str, str]] = {}

    def add(self, path: str, what: str) -> None:
        for mark in _marks(path):
            self._known.setdefault(mark, (what, os.path.realpath(path)))

    def by(self, path: str) -> str | None:
        """Role that a file has already, None for none."""
        for mark in _marks(path):
            if mark in self._known:
                what, other = self._known[mark]
                itself = len(mark) == 2 or other == os.path.realpath(path)
                return f"which is {what} too" + ("" if itself else ", where systems ignore case")
        return None


def _marks(path: str) -> Iterator[tuple[int | str, ...]]:
    """Identities of a file: itself, whatever it is called, and its name, written in whatever way."""
    if "\0" in path:
        return
    real = os.path.realpath(path)
    folder, name = os.path.split(real)
    folded = unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())
    for of, more in ((real, ()), (folder, (folded,))):
        with suppress(OSError):
            found = os.stat(of)
            yield (found.st_dev, found.st_ino, *more)


def _matches(path: str, pattern: str) -> bool:
    """Whether a file that need not be there is one that a pattern stands for."""
    folder, name = os.path.split(os.path.realpath(path))
    head, tail = os.path.split(pattern)
    if tail == "**":
        head, tail = pattern, "*"
    places = glob(os.path.join(head, ""), recursive=True) if head else [os.curdir]
    return fnmatchcase(name.casefold(), tail.casefold()) and folder in map(os.path.realpath, places)


def _unwritable(path: str) -> str | None:
    """Reason why a file cannot be written, None where it seems that it can."""
    folder = os.path.dirname(os.path.realpath(path)) if "\0" not in path else ""
    if not folder or not os.path.basename(path):
        return "which is no file name"
    if os.path.isdir(path):
        return "which is a directory"
    if _is_special(path):
        return "which is no regular file"
    if not os.path.isdir(folder):
        return f"whose folder does not exist{not_opened(path)}"
    return None if os.access(folder, os.W_OK) else "in whose folder you may not write"


def _short(path: str) -> str:
    path = redacted(path) if is_address(path) else path
    return repr(path) if len(path) <= 60 else f"{path[:57]!r}..."


def _is_special(path: str) -> bool:
    """Whether something other than a file is there, say a device, which must not be replaced."""
    return os.path.exists(path) and not os.path.isfile(path)


# --- Content -------------------------------------------------------------------------------------------------------


def write_atomically(path: Path, write: Callable[[str], None], *, public: bool = False) -> None:
    """Let ``write`` fill a temporary file in the same folder, which then takes the place of ``path`` at once.

    A replaced file keeps its permissions; a new one is for its owner alone, unless it is ``public``.
    """
    source = os.fspath(path)
    try:
        if os.path.isdir(source):
            raise IsADirectoryError
        if _is_special(source):
            raise OSError(errno.EINVAL, "no regular file")
        target = os.path.realpath(source)
    except (OSError, ValueError) as error:  # ValueError: a null character
        raise unusable_file(source, _EXPECTED, error) from None
    folder = os.path.dirname(target)
    _remove_leftovers_once(folder)
    try:
        before = os.stat(target) if os.path.exists(target) else None
        with _temporary(folder, 0o666 if public and before is None else 0o600) as temporary:
            write(temporary)
            with open(temporary, "rb+") as file:
                os.fsync(file.fileno())
            if before is not None:
                _take_after(before, temporary)
            os.replace(temporary, target)
    except OSError as error:
        raise unusable_file(source, _EXPECTED, error) from None
    rule = _overwriting.get()
    told = rule is not None and (rule.force or any(rule.kinds.values()))  # a sweep goes on with its own files
    if before is not None and rule is not None and told:
        rule.tell(f"replaced: {source}")


def write_text(path: Path, text: str, *, public: bool = False) -> None:
    """Write UTF-8 text atomically; parameters and errors as in `write_atomically`."""

    def write(temporary: str) -> None:
        with open(temporary, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)

    write_atomically(path, write, public=public)


@contextmanager
def _temporary(folder: str, mode: int) -> Iterator[str]:
    """A new file, which is no longer there at the end; locked, so that others do not take it for a leftover."""
    import secrets  # loads OpenSSL

    while True:
        path = os.path.join(folder, f".maxent-{secrets.token_hex(8)}.tmp")
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        with suppress(OSError):  # without locks there is nobody who would take it
            if _POSIX and not locked(handle):
                os.close(handle)
                continue
        if os.path.exists(path):  # else it was taken before it was locked
            break
        os.close(handle)
    if not _POSIX:  # a file that is open cannot be moved there
        os.close(handle)
    try:
        yield path
    finally:
        with suppress(OSError):
            os.unlink(path)  # after a success it is no longer there
        if _POSIX:
            os.close(handle)


def _take_after(before: os.stat_result, path: str) -> None:
    """Give a file the permissions of the one that it replaces, and its owner and group as far as that is allowed."""
    mode = stat.S_IMODE(before.st_mode) & 0o777
    if _POSIX:
        for owner, group in ((-1, before.st_gid), (before.st_uid, -1)):
            with suppress(OSError):
                os.chown(path, owner, group)
        if os.stat(path).st_gid != before.st_gid:
            mode &= ~0o070  # which would be for others than those it was for
    os.chmod(path, mode)


def remove_leftovers(folder: Path) -> None:
    """Remove what processes of the same user, which are no more, left half written in a folder."""
    if _POSIX:
        _sweep(folder, _LEFTOVER, os.O_RDWR | os.O_NONBLOCK, _is_single_file, os.unlink)


def _is_single_file(found: os.stat_result) -> bool:
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1


def _sweep(
    folder: Path,
    name: re.Pattern[str],
    flags: int,
    ours: Callable[[os.stat_result], bool],
    remove: Callable[[str], object],
) -> None:
    """Remove what has such a name and is this user's, unless a process that is alive has it locked."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                if name.fullmatch(entry.name) is None:
                    continue
                handle = os.open(entry.path, flags | os.O_NOFOLLOW)
                try:
                    found = os.fstat(handle)
                    if found.st_uid == os.geteuid() and ours(found) and locked(handle):
                        remove(entry.path)
                finally:
                    os.close(handle)


@cache
def _remove_leftovers_once(folder: str) -> None:
    """The same, the first time that this process writes there: a folder may have very many files."""
    remove_leftovers(folder)


def write_folder(
    path: Path, fill: Callable[[Path_pathlib], None], refused: Callable[[Path_pathlib], str | None]
) -> None:
    """Let ``fill`` make a temporary folder beside ``path``, which then takes its place.

    One that is there has to be empty, or not ``refused``; ``--force`` overrules a decision alone.
    """
    check_folder("output", path, refused)
    target = os.path.realpath(path)
    with scratch(Path_pathlib(target).parent) as beside:
        new, old = beside / "new", beside / "old"
        new.mkdir()
        try:
            fill(new)
            if os.path.lexists(target):
                os.replace(target, old)
            os.replace(new, target)
        except OSError as error:
            if old.exists() and not os.path.lexists(target):
                os.replace(old, target)
            raise unusable_file(os.fspath(path), "a folder that can be written", error) from None


def check_folder(option: str, path: Path, refused: Callable[[Path_pathlib], str | None]) -> None:
    """Refuse a folder that cannot be written, or must not be replaced, before any work is done."""
    given = os.fspath(path)
    place = Path_pathlib(given)
    expected, found = "a folder that is new or empty", None
    if "\0" in given or not given.strip():
        found = "which is no name of a folder"
    elif place.is_symlink() or (place.exists() and not place.is_dir()):
        found = "which is no folder"
    elif place.is_dir():
        found = refused(place) if any(place.iterdir()) else None
        if found is not None and "decision" in found:
            expected = "a new folder, or --force"
            found = None if may_replace() else found
        expected = expected if found is None or "decision" in found else "a new folder, or one of the same kind"
    elif not place.absolute().parent.is_dir():
        found = "whose folder does not exist"
    elif not os.access(place.absolute().parent, os.W_OK):
        found = "in whose folder you may not write"
    if found is not None:
        raise InvalidInput(SOURCE, [Problem("argument", option, expected, f"{_short(given)}, {found}")])


# Temporary folders that do not outlive their process: removed at its end, on signals, and by the next process.
#
# A process that is killed with no chance to clean up leaves its folder behind. The system gave back the lock that it
# held on it, so that the next process that starts can tell it from those of processes that are alive.

PREFIX = "maxent-scratch-"

_NAME = re.compile(re.escape(PREFIX) + r"[a-z0-9_]{8}")
_SIGNALS = ("SIGTERM", "SIGHUP")


class _Ended(BaseException):
    """A signal that ends the process arrived: what is open is closed first."""


@contextmanager
def scratch(within: Path_pathlib | None = None) -> Iterator[Path_pathlib]:
    """A temporary folder for this user alone, which is gone at the end, also at that by SIGTERM or SIGHUP.

    These end the process once all is closed, in the main thread, where nobody else handles them.
    """
    remove_dead(within)
    with _signals() as signals:
        folder, handle = _locked_folder(within)
        try:
            yield folder
        finally:
            signals.closing = True
            shutil.rmtree(folder, ignore_errors=True)
            if handle is not None:
                os.close(handle)


def remove_dead(within: Path_pathlib | None = None) -> None:
    """Remove the folders of processes of this user that are no more."""
    if _POSIX:
        from tempfile import gettempdir

        place = within or Path_pathlib(gettempdir())
        _sweep(place, _NAME, os.O_RDONLY | os.O_DIRECTORY, _is_scratch, partial(shutil.rmtree, ignore_errors=True))


def _is_scratch(found: os.stat_result) -> bool:
    return stat.S_IMODE(found.st_mode) == 0o700


def _locked_folder(within: Path_pathlib | None) -> tuple[Path_pathlib, int | None]:
    """A new folder, and what holds its lock."""
    from tempfile import mkdtemp

    while True:
        path = mkdtemp(prefix=PREFIX, dir=within)
        if not _POSIX:
            return Path_pathlib(path), None
        try:
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:  # another process took it for a leftover before it was locked
            continue
        with suppress(OSError):  # without locks there is nobody who would take it
            if not locked(handle):
                os.close(handle)
                continue
        if os.path.exists(path):
            return Path_pathlib(path), handle
        os.close(handle)


class _Signals:
    """Handlers of signals meanwhile: the first raises an exception, unless everything is being closed already."""

    def __init__(self) -> None:
        self.arrived: int | None = None
        self.closing = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.arrived = self.arrived or number
        if not self.closing:
            self.closing = True
            raise _Ended


@contextmanager
def _signals() -> Iterator[_Signals]:
    """Let signals that end the process raise an exception; at the end, when all is closed, they do end it."""
    signals = _Signals()
    here = _POSIX and threading.current_thread() is threading.main_thread()
    numbers = [getattr(signal, name) for name in _SIGNALS if here]
    ours = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, signals)
    try:
        yield signals
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
        if signals.arrived:
            os.kill(os.getpid(), signals.arrived)
