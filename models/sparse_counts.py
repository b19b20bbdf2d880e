"""Records per class where there are very many classes: what is not 0 is held, all of them are there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from maxent.models.errors import invalid

FEW_CLASSES = 64  # up to so many classes the counts of a node are a dictionary of all of them

# Numbers of a table with a column per class, unless the environment variable `LIMIT` says otherwise: 0.4 GB each
LARGEST = 50_000_000

LIMIT = "MAXENT_LARGEST_TABLE"


class SparseCounts(Mapping[str, int]):
    """Records of every class, in the order of the classes; only counts above 0 take memory.

    ``every``: the classes in their order, shared by all nodes. ``positive``: those with records.
    """

    __slots__ = ("every", "positive")

    def __init__(self, every: Mapping[str, int], positive: dict[str, int]) -> None:
        self.every, self.positive = every, positive

    def __getitem__(self, label: str) -> int:
        found = self.positive.get(label)
        return found if found is not None else 0 * self.every[label]

    def __iter__(self) -> Iterator[str]:
        return iter(self.every)

    def __len__(self) -> int:
        return len(self.every)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SparseCounts):  # without a look at each 0
            return self.positive == other.positive and (self.every is other.every or self.every == other.every)
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment] # as of any mapping

    def __repr__(self) -> str:
        return f"{self.positive!r} of {len(self.every)} classes"


def complete_counts(every: dict[str, int], stated: dict[str, int]) -> Mapping[str, int]:
    """Counts of all classes, 0 where none is stated; ``every`` has a 0 for each class."""
    if len(every) <= FEW_CLASSES:
        return every | stated
    return SparseCounts(every, {label: count for label, count in stated.items() if count})


def positive_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """The counts that are not 0."""
    if isinstance(counts, SparseCounts):
        return counts.positive
    return {label: count for label, count in counts.items() if count}


def total_count(counts: Mapping[str, int]) -> int:
    """The records of all classes together."""
    return sum(counts.positive.values() if isinstance(counts, SparseCounts) else counts.values())


def check_size(what: str, rows: int, classes: int) -> None:
    """Refuse a table of numbers that would not fit: a row for each of ``what``, a column per class."""
    most = _largest()
    if rows * classes > most:
        raise invalid(
            "memory",
            f"{rows:,d} {what}",
            "classes",
            f"at most {most:,d} numbers, {what} times classes ({LIMIT}=N raises the limit; each takes 8 bytes or more, "
            "several times over)",
            f"{classes:,d} classes: {rows * classes:,d} numbers",
        )


def _largest() -> int:
    stated = os.environ.get(LIMIT, "")
    if not stated:
        return LARGEST
    if not stated.isdecimal():
        raise invalid("environment", "variable", LIMIT, "a whole number", repr(stated))
    return int(stated)
