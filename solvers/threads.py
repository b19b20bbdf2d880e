"""Threads of linear algebra, and processors to run on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep linear algebra to one thread, so that it makes sums in the same order everywhere."""
    import scipy.linalg  # noqa: F401  (what is not loaded yet cannot be limited)
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


def keep_to_one_thread() -> None:
    """Keep linear algebra to one thread until this process ends, that of libraries not loaded yet included."""
    from threadpoolctl import threadpool_limits

    os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1"))
    threadpool_limits(1)
