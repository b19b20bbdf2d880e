"""Files that are read: regular ones, as devices and pipes have no end; standard input, which is bounded; addresses."""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
from typing import BinaryIO

from maxent.models.files.addresses import Address, is_address, open_address, redacted, without_secrets

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
    """Open a regular file, standard input, or a file of a store.

    ``path``: a file, an `Address`, or ``-`` for standard input, which is read once, and kept for whoever opens it
    again. ``most``: the bytes that standard input may have. Files are as large as they are.

    Raises
    ------
    OSError
        When there is no such file, or it is a device, a pipe or a socket, which is never opened or waited for.
    TooLarge
        When standard input has more bytes.
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
