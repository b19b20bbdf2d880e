"""Threads of linear algebra, and processors to run on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
"""What libraries of linear algebra read their number of threads from, as they are loaded."""


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
