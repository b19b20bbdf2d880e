"""Temporary folders that do not outlive their process: removed at its end, on signals, and by the next process.

A process that is killed with no chance to clean up leaves its folder behind. The system gave back the lock that it held
on it, so that the next process that starts can tell it from those of processes that are alive.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from maxent.models.files.locks import locked

PREFIX = "maxent-scratch-"

_NAME = re.compile(re.escape(PREFIX) + r"[a-z0-9_]{8}")
_POSIX = os.name == "posix"
_SIGNALS = ("SIGTERM", "SIGHUP")


class _Ended(BaseException):
    """A signal that ends the process arrived: what is open is closed first."""


@contextmanager
def scratch(within: Path | None = None) -> Iterator[Path]:
    """A temporary folder for this user alone, which is gone at the end, also at that by SIGTERM or SIGHUP.

    It is in the folder for temporary files, or ``within`` another one.

    These signals then end the process as they would have, once whatever was opened meanwhile is closed. That takes the
    main thread; handlers that somebody else has set are left alone.
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


def remove_dead(within: Path | None = None) -> None:
    """Remove the folders of processes of this user that are no more."""
    if not _POSIX:
        return
    with suppress(OSError), os.scandir(tempfile.gettempdir() if within is None else within) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name):
                with suppress(OSError):
                    _remove_if_dead(entry.path)


def _remove_if_dead(path: str) -> None:
    """Remove a folder, unless it is none of this user's, or a process that is alive has it locked."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        found = os.fstat(handle)
        if found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) == 0o700 and locked(handle):
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(handle)


def _locked_folder(within: Path | None) -> tuple[Path, int | None]:
    """A new folder, and what holds its lock."""
    while True:
        path = tempfile.mkdtemp(prefix=PREFIX, dir=within)
        if not _POSIX:
            return Path(path), None
        try:
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:  # another process took it for a leftover before it was locked
            continue
        with suppress(OSError):  # without locks there is nobody who would take it
            if not locked(handle):
                os.close(handle)
                continue
        if os.path.exists(path):
            return Path(path), handle
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
