"""Threads of linear algebra."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep linear algebra to one thread, so that it makes sums in the same order everywhere."""
    import scipy.linalg  # noqa: F401  (what is not loaded yet cannot be limited)
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield
