"""Input files: regular files, standard input within a size limit, and addresses (``s3://bucket/people.parquet``)."""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path as Path_pathlib
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from maxent.models.errors import invalid
from maxent.models.packages import need

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


# Tables in object stores and on the web, by their addresses (``s3://bucket/people.parquet``): fsspec opens them.
#
# Credentials are those of fsspec's own configuration; an address that has some is refused, and messages show none.

# How addresses begin, also after `pathlib` made one slash of two; no drive of Windows
_ADDRESS = re.compile("([A-Za-z][A-Za-z0-9+.-]+):/")

_QUERY = re.compile(r"\?[^\s'\"<>]+")  # what addresses of the web may be signed with

# The same elsewhere, where a question mark may stand for any letter of a name: only with keys, such as ``token=``
_KEYS = re.compile(r"\?(?=[^/?]*=)[^\s'\"<>]+")

# What stands before the host, anywhere in a text
_CREDENTIALS = re.compile(r"(?<=://)(?:[^/\s'\"<>]*|[^/@\s'\"<>]*:(?!\d+/)[^@\s'\"<>]*)@")

# A name and a password before a host or a bucket; what follows a colon may be a port
_PASSWORD = re.compile(r"[^/@]*:(?!\d+(?:/|$))[^@]*@")

# The same of the web, a name alone included: where there is one the rest may be secret, too
_WEB_PASSWORD = re.compile(rf"[^/?]*@|{_PASSWORD.pattern}")

_WEB = {"http", "https"}


@dataclass(frozen=True, slots=True)
class Address:
    """A file that fsspec opens. It takes the place of a `Path`; as text it is without what may be secret."""

    text: str = field(repr=False)

    def __str__(self) -> str:
        return without_secrets(self.text)

    def __fspath__(self) -> str:
        return str(self)

    @property
    def suffix(self) -> str:
        """The ending of its name, with the point."""
        return self._name.suffix

    @property
    def stem(self) -> str:
        """Its name without that."""
        return self._name.stem

    @property
    def _name(self) -> PurePosixPath:
        return PurePosixPath(self.text.partition("?")[0] if _protocol(self.text) in _WEB else self.text)

    def absolute(self) -> Address:
        """Itself: it is the same everywhere."""
        return self

    @property
    def is_pattern(self) -> bool:
        """Whether it may stand for several files; of the web it is one."""
        return _protocol(self.text) not in _WEB and any(mark in self.text for mark in "*?[")


FilePath: TypeAlias = Path_pathlib | Address  # where a table is


def is_address(path: object) -> bool:
    """Whether the name of a file looks like an address."""
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    return isinstance(text, str) and _ADDRESS.match(text) is not None


def without_secrets(name: str) -> str:
    """The name of a file for messages: an address has no password and, on the web, nothing after a question mark."""
    if (found := _ADDRESS.match(name)) is None:
        return name
    rest = name[found.end() :].lstrip("/")
    start, web = name[: len(name) - len(rest)], found[1] in _WEB
    if password := (_WEB_PASSWORD if web else _PASSWORD).match(rest):
        rest = f"...@{rest[password.end() :]}"
    return start + (_without_query(rest) if web else _KEYS.sub("?...", rest))


def has_password(address: str) -> bool:
    """Whether there is a name and a password before the host, or a name alone on the web."""
    protocol, _, rest = address.partition("://")
    return (_WEB_PASSWORD if protocol in _WEB else _PASSWORD).match(rest) is not None


def redacted(text: str) -> str:
    """A text of others in which addresses have lost names, passwords and what follows a question mark."""
    return _without_query(_CREDENTIALS.sub("...@", text))


def file_path(path: str | os.PathLike[str]) -> FilePath:
    """A file of this machine, unless it is an `Address` already: what looks like one is not opened by itself."""
    return path if isinstance(path, Address) else Path_pathlib(path)


def located(source: Any) -> Any:
    """What looks like an address and is no file here as an `Address`; anything else as it is."""
    if isinstance(source, Address) or not is_address(source) or os.path.exists(source):
        return source
    text, where = os.fspath(source), f"{_protocol(os.fspath(source))}://"
    if not text.startswith(where):
        raise invalid(where, "file", "path", "an address as a string", "a path, of which a slash is lost")
    rest = text[len(where) :]
    if has_password(text):
        expected = "an address without a password: credentials are settings of fsspec (docs/scale.md)"
        raise invalid(where, "file", "path", expected, "one with a password")
    if "::" in rest:
        raise invalid(where, "file", "path", "one address", "a chain of several (::)")
    need("fsspec", "an address needs fsspec")
    return Address(text)


def _protocol(text: str) -> str:
    return text.partition(":")[0]


def matching(pattern: Address) -> tuple[Address, ...]:
    """The files that a pattern stands for, in the order of their names; the file of this name, if there is one."""
    with _translated():
        store, name = _store(pattern)
        if store.exists(name):
            return (pattern,)
        return tuple(Address(store.unstrip_protocol(each)) for each in sorted(store.glob(name)) if store.isfile(each))


def open_address(address: Address) -> BinaryIO:
    """Open a file of a store; only what is read of it is fetched."""
    with _translated():
        store, name = _store(address)
        return io.BufferedReader(_Stored(store.open(name, "rb")))


def _store(address: Address) -> tuple[Any, str]:
    """The store of a file, and its name there."""
    from fsspec.core import url_to_fs

    found: tuple[Any, str] = url_to_fs(address.text)
    return found


class _Stored(io.RawIOBase):
    """The bytes of a file in a store, whatever errors it has."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return int(self._file.tell())

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with _translated():
            return int(self._file.seek(offset, whence))

    def readinto(self, buffer: WriteableBuffer) -> int:
        room = memoryview(buffer).cast("B")
        with _translated():
            data = self._file.read(len(room))
        room[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


@contextmanager
def _translated() -> Iterator[None]:
    """Say in words, and without secrets, what a store does not do; what it had to say is not told any further."""
    try:
        yield
    except ImportError as error:
        raise OSError(f"an address of a store whose package is not installed ({_first_line(error)})") from None
    except Exception as error:
        raise _in_words(_cause(error)) from None


def _cause(error: Exception) -> Exception:
    """What is behind an error: fsspec has files of the web that are refused, or out of reach, as not there."""
    cause = error.__cause__
    if not isinstance(error, FileNotFoundError) or not isinstance(cause, Exception):
        return error
    unreached = isinstance(cause, OSError) and not isinstance(cause, FileNotFoundError)
    return cause if unreached or getattr(cause, "status", 404) != 404 else error


def _in_words(error: Exception) -> OSError:
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError(errno.ENOENT, "no such file")
    said = _first_line(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {_first_line(error)}"
    denied = getattr(error, "status", None) in (401, 403) or "Credential" in type(error).__name__
    if denied or isinstance(error, PermissionError):
        return OSError(f"refused ({said}); credentials are settings of fsspec (docs/scale.md)")
    return OSError(said)


def _first_line(error: Exception) -> str:
    return _without_query(str(error).strip().partition("\n")[0])[:300]


def _without_query(text: str) -> str:
    """A text in which addresses have lost what follows a question mark."""
    return _QUERY.sub("?...", text)


STANDARD_INPUT = "-"  # in place of the name of a file
_PIECE = 2**20  # bytes that are read at a time
Path = str | os.PathLike[str]


class TooLarge(ValueError):
    """Standard input is larger than it may be."""


def not_opened(path: Path) -> str:
    """What to add where there is no such file: that addresses are not opened, for what is one (``s3://...``)."""
    if isinstance(path, Address) or not is_address(path):
        return ""
    return " (addresses are not opened: mount the store, or copy the file here)"


def table_not_opened(path: Path) -> str:
    """The same for a table."""
    said = "addresses are opened where people are taken in parts: docs/scale.md; else mount the store, or copy the file"
    return f" ({said})" if not_opened(path) else ""


def is_standard_input(path: Path) -> bool:
    """Whether a name stands for standard input."""
    return os.fspath(path) == STANDARD_INPUT


def shown_path(path: Path) -> str:
    """Name of a file in messages."""
    if is_standard_input(path):
        return "standard input"
    name = without_secrets(os.fspath(path))
    return redacted(name) if is_address(name) and not os.path.exists(path) else name


def open_input(path: Path, most: int) -> BinaryIO:
    """Open a regular file, standard input (``-``, kept for whoever opens it again), or a file of a store.

    Raises `OSError` for what is no regular file, `TooLarge` when standard input has more than ``most`` bytes.
    """
    if isinstance(path, Address):
        return open_address(path)
    if is_standard_input(path):
        return io.BytesIO(_standard_input(most))
    _check_regular(os.stat(path))

    def opened(name: str, flags: int) -> int:
        # What was a file may have become a pipe by now, and must not be waited for.
        return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))

    file = open(path, "rb", opener=opened)  # noqa: SIM115 (closed by the caller)
    try:
        _check_regular(os.fstat(file.fileno()))
    except OSError:
        file.close()
        raise
    return file


def read_input(path: Path, most: int) -> bytes | None:
    """Read a file or standard input whole, None when it has more than ``most`` bytes; errors as in `open_input`."""
    try:
        with open_input(path, most) as file:
            return _at_most(file, most)
    except TooLarge:
        return None


def _at_most(file: BinaryIO, most: int) -> bytes | None:
    """The rest of a file, None when that is more; asked for all at once, it would be given room for ``most``."""
    parts, size = [], 0
    # As a rule all of a file is in the first piece, and is not copied again.
    known = 0 if isinstance(file, io.BytesIO) else min(os.fstat(file.fileno()).st_size, most)
    while part := file.read(_PIECE if size else max(known + 1, _PIECE)):
        size += len(part)
        if size > most:
            return None
        parts.append(part)
    return b"".join(parts)


def _check_regular(found: os.stat_result) -> None:
    """Refuse what has no content of its own."""
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, f"a device, pipe or socket (give {STANDARD_INPUT} to read standard input)")


_kept: list[bytes | None] = []  # standard input, once it was read; None when it was too large


def _standard_input(most: int) -> bytes:
    """The content of standard input."""
    if not _kept:
        data = b"" if sys.stdin is None else sys.stdin.buffer.read(most + 1)
        _kept.append(data if len(data) <= most else None)
    found = _kept[0]
    if found is None or len(found) > most:
        raise TooLarge
    return found
