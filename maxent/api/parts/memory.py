"""Memory: how much a machine has, and how many rows of a table fit into it at a time."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from maxent.models.errors import ARGUMENT, invalid
from maxent.models.tables.frame import shorten
from maxent.models.text.sizes import parse_size

ROW = 256
"""Bytes that a row takes while rows are sorted and merged, at the most."""

PROCESS = 400_000_000
"""Bytes of a process before it holds any rows: Python, libraries, and what the leaves of a tree take."""

FEWEST, MOST = 1 << 16, 1 << 21
"""Rows at a time: fewer take more time for each, and more save none."""

SINGLE = 2_000
"""Bytes for each distinct quasi-identifier where everything is solved together in one process."""

MEMBER = 40
"""Further bytes for each of these and each tree but the first: the leaf there, and what is added up in it."""

USABLE = 0.8
"""Share of a machine's memory that is used unless something else is asked for."""

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def memory_of(asked: object) -> int:
    """Bytes that all processes together may take: those asked for, or most of what the machine has.

    Raises
    ------
    InvalidInput
        For what is no size.
    """
    if asked is None:
        return int(USABLE * machine_memory())
    if (size := parse_size(asked)) is None:
        raise invalid("options", ARGUMENT, "memory", "a size, such as 500MB or 4GB", shorten(asked))
    return size


def machine_memory() -> int:
    """Bytes of memory of this machine, or of the container that it is; 4 GB where the system does not say."""
    found = 4_000_000_000
    with suppress(AttributeError, ValueError, OSError):  # Windows has no sysconf
        found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in _LIMITS:
        with suppress(OSError, ValueError):
            found = min(found, int(Path(limit).read_text(encoding="ascii")))
    return found


def rows_at_a_time(memory: int, workers: int) -> int:
    """Rows that each of some workers holds."""
    return int(min(max((memory / workers - PROCESS) / ROW, FEWEST), MOST))


def needed(people: int, trees: int = 1) -> int:
    """Bytes that so many distinct quasi-identifiers take where they are solved together."""
    return (SINGLE + MEMBER * (trees - 1)) * people
