"""Standard output and error where they are closed, cannot be written, or have nobody who reads them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, suppress
from typing import IO, Any, cast


def open_closed() -> None:
    """Give standard streams that are closed a place of their own: else the next file that is opened would be one.

    ``sys.stdout`` stays None, so that results are not lost silently; messages to a closed ``sys.stderr`` are.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free, which is this one
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (for as long as the process runs)


def silence(stream: Any) -> None:
    """Let what a stream still holds go nowhere: it must not fail again when the interpreter ends."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


@contextmanager
def messages_may_be_lost() -> Iterator[None]:
    """Let nothing end because a message could not be written to standard error."""
    with redirect_stderr(cast("IO[str]", _Forgiving(sys.stderr))):
        yield


class _Forgiving:
    """A stream that goes on in silence once it cannot be written."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError:
            silence(self._stream)
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            silence(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
