"""Room for SciPy, which is looked for before it is loaded, and parts of NumPy that it loads for nobody."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

# SciPy's, and scikit-learn's, copy of all that NumPy has a name for: modules for tests and for Fortran, too, which
# NumPy itself loads when they are asked for. They take half of the time in which SciPy is loaded.
COPY = "array_api_compat.numpy"

# Bytes that SciPy and scikit-learn take when they are loaded, and OpenBLAS for each thread, of at most so many.
LIBRARIES, BUFFER, MOST_THREADS = 500_000_000, 50_000_000, 64


class NoRoom(MemoryError):
    """The process may not have the memory that libraries take."""


class BeforeSciPy:
    """A finder of modules that looks for room when SciPy is about to be loaded, and keeps copies of NumPy short."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        if name == "scipy":
            check_room()
        return short_copy(name, path) if name.endswith(COPY) else None


def short_copy(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    """A copy of NumPy, made while NumPy tells of no module that is not loaded."""
    from importlib.machinery import PathFinder

    import numpy as np

    found = PathFinder.find_spec(name, path)
    if found is None or found.loader is None:
        return found
    run = found.loader.exec_module

    def copied(module: ModuleType) -> None:
        names, listed = np.__dir__, np.__all__
        np.__dir__ = lambda: [each for each in names() if each in np.__dict__]  # type: ignore[method-assign]
        np.__all__ = [each for each in listed if each in np.__dict__]
        try:
            run(module)
        finally:
            np.__dir__, np.__all__ = names, listed  # type: ignore[method-assign]

    found.loader.exec_module = copied  # type: ignore[method-assign]
    return found


def check_room() -> None:
    """Refuse to load SciPy where memory is limited to less than it takes (``ulimit -v``): `NoRoom` says how much.

    Its OpenBLAS asks again, for ever, where it gets no buffer for a thread.
    """
    if sys.platform == "win32":
        return
    import mmap
    import resource

    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return
    asked = os.environ.get("OPENBLAS_NUM_THREADS", "")
    threads = min(int(asked) if asked.isdecimal() and int(asked) else os.cpu_count() or 1, MOST_THREADS)
    needed = LIBRARIES + threads * BUFFER
    try:
        mmap.mmap(-1, needed, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError:
        expected = f"{needed // 10**6} MB more for SciPy with {threads} threads (OPENBLAS_NUM_THREADS=1 takes less)"
        raise NoRoom(
            f"memory: expected {expected}, found a limit of the process (ulimit -v) that leaves less"
        ) from None
