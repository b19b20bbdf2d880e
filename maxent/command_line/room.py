"""Room for SciPy, which is looked for before it is loaded."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

# Bytes that SciPy and scikit-learn take when they are loaded, and OpenBLAS for each thread, of at most so many.
LIBRARIES, BUFFER, MOST_THREADS = 500_000_000, 50_000_000, 64


class NoRoom(MemoryError):
    """The process may not have the memory that libraries take."""


class BeforeSciPy:
    """A finder of modules that finds none: when SciPy is about to be loaded it looks for room, and is gone."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        if name == "scipy" and self in sys.meta_path:
            sys.meta_path.remove(self)
            check_room()


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
