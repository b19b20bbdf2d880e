"""What a writer of releases is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from maxent.models.release import Release


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a written file is to say that no release does.

    ``table``: the table that a query reads.
    """

    table: str = "data"


@dataclass(frozen=True, slots=True)
class Writer:
    """A form in which releases are written for others to use.

    ``name``: as ``--to`` takes it. ``suffix``: of its files. ``words``: what it is, in a few words. ``write``: release
    and `Wanted` -> the text of the file. Raises `InvalidInput` for what it cannot say.
    """

    name: str
    suffix: str
    words: str
    write: Callable[[Release, Wanted], str]
