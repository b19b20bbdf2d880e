"""Threads of linear algebra, processors to run on, and memory that a process keeps for its next array."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

# What libraries of linear algebra read their number of threads from, as they are loaded.
_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
# The variable from which the GNU C library reads, when a process starts, how many bytes it keeps for later.
KEEPING = "MALLOC_TRIM_THRESHOLD_"
# Parameters of ``mallopt``: bytes that are kept, and those from which an array is mapped by itself.
_TRIM, _MAP = -1, -3
# Bytes for these two, and for the second one otherwise, as the library has it.
_KEPT, _MAPPED, _MAPPED_BEFORE = 1 << 30, 1 << 25, 1 << 17


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep linear algebra to one thread, so that it makes sums in the same order everywhere.

    A library that is loaded meanwhile keeps to one for good: loading all of them before would take longer than much of
    what is done in here.
    """
    from threadpoolctl import threadpool_limits

    before = {name: os.environ.get(name) for name in _THREADS}
    with threadpool_limits(1):
        os.environ.update(dict.fromkeys(_THREADS, "1"))
        try:
            yield
        finally:
            for name, number in before.items():
                if number is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = number


def keep_to_one_thread() -> None:
    """Keep linear algebra to one thread until this process ends, that of libraries not loaded yet included."""
    from threadpoolctl import threadpool_limits

    os.environ.update(dict.fromkeys(_THREADS, "1"))
    threadpool_limits(1)


@cache
def _library() -> Any:
    """The GNU C library, where this process has been told to keep no memory; None elsewhere."""
    if not os.environ.get(KEEPING, "").isdecimal():
        return None
    import ctypes

    try:
        found = ctypes.CDLL(None)
    except (OSError, TypeError):  # not Linux
        return None
    return found if hasattr(found, "mallopt") and hasattr(found, "malloc_trim") else None


@contextmanager
def memory_kept() -> Iterator[None]:
    """Keep freed memory for the next arrays, and release it at the end, where the C library would release it at once.

    Dask has it do so in workers. Every array of more than 128 KB is then mapped anew, and cleared by the system page by
    page, which takes longer than much that is done with it.
    """
    library = _library()
    if library is None:
        yield
        return
    library.mallopt(_TRIM, _KEPT)
    library.mallopt(_MAP, _MAPPED)
    try:
        yield
    finally:
        library.mallopt(_TRIM, int(os.environ[KEEPING]))
        library.mallopt(_MAP, _MAPPED_BEFORE)
        library.malloc_trim(0)
