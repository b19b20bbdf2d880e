"""The limit on the memory that the cells of a table take, kept while they are read."""

from __future__ import annotations

from dataclasses import dataclass

from maxent.models.errors import InvalidInput, invalid
from maxent.models.text.sizes import size_text

# Bytes that every cell takes at least, as a code, and every row, for its place and what it stands for
_CELL, _ROW = 8, 16


def cells_size(rows: int, columns: int) -> int:
    """Bytes that a table takes, whatever is in its cells."""
    return rows * (_CELL * columns + _ROW)


@dataclass(slots=True)
class Memory:
    """Memory that reading a table has taken so far.

    ``source``: the table, as messages call it. ``most``: bytes that it may take. ``taken``: bytes that it has taken.
    """

    source: str
    most: int
    taken: int = 0

    def take(self, size: int) -> None:
        """Count bytes that are kept."""
        self.taken += size
        if self.taken > self.most:
            raise too_large(self.source, self.most, "more")


def too_large(source: str, most: int, found: str) -> InvalidInput:
    """The `InvalidInput` for a table that takes more memory than it may."""
    return invalid(source, "file", "memory", f"at most {size_text(most)} for what is read (max_memory=)", found)
