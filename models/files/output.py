"""Files that are written: which places are refused, and how content gets there, all of it or nothing."""

from __future__ import annotations

import errno
import os
import re
import stat
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from glob import glob

from maxent.models.errors import InvalidInput, Problem
from maxent.models.files.addresses import is_address, redacted
from maxent.models.files.input_files import not_opened
from maxent.models.files.json_files import unusable_file
from maxent.models.files.kinds import Kind
from maxent.models.files.locks import locked

SOURCE = "output"

Path = str | os.PathLike[str]

_EXPECTED = "a file that can be written"
_LEFTOVER = re.compile(r"\.maxent-[0-9a-f]{1,16}\.tmp")
_POSIX = os.name == "posix"

# --- Places --------------------------------------------------------------------------------------------------------


def check_outputs(outputs: Mapping[str, tuple[Path | None, Sequence[str]]], inputs: Iterable[Path | None] = ()) -> None:
    """Refuse files that cannot be written, before any work is done.

    ``outputs``: option -> (file or None, the suffixes it may have; none stands for any). ``inputs``: files and patterns
    of files that are read, which an output must not replace: by no spelling of its name, in whatever case, and by no
    link. A file that only comes to match a pattern would be read the next time.
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
    """What a call may replace.

    ``kinds``: option -> the kinds of files that its command writes there: only these are replaced. ``force``: whether
    anything else is, too. ``tell``: told of each file that was replaced.
    """

    kinds: Mapping[str, Sequence[Kind]]
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
            expected = "a new file, one that the same command wrote before, or --force"
            yield Problem("argument", option, expected, f"{_short(path)}, {reasons[-1]}")


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

    A file that is replaced keeps its permissions. A new one is for its owner alone, mode 0600, unless it is ``public``,
    which leaves that to the umask. What processes that were killed left of their own is removed from the folder.

    ``path``: through a symbolic link, so that the link stays one. ``write``: given the name of a file that is there,
    and empty; it opens and fills it. ``public``: whether the content is meant to be published.
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
    if not _POSIX:
        return
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _LEFTOVER.fullmatch(entry.name):
                with suppress(OSError):
                    _remove_dead(entry.path)


def _remove_dead(path: str) -> None:
    """Remove a file, unless it is no file of this user, or locked by a process that is alive."""
    handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        found = os.fstat(handle)
        ours = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_nlink == 1
        if ours and locked(handle):
            os.unlink(path)
    finally:
        os.close(handle)


@cache
def _remove_leftovers_once(folder: str) -> None:
    """The same, the first time that this process writes there: a folder may have very many files."""
    remove_leftovers(folder)
