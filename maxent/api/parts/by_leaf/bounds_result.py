"""The answer of `maxent.bounds_in_parts`: bounds that are in files, and not in memory."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.api.parts.folder import frame_of, parts_entry
from maxent.models.arrays import IntArray
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.text.display import Display, counted
from maxent.results.bounds import ProvedBounds
from maxent.text.bounds import bounds_lines

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False, repr=False)
class BoundsInParts(ProvedBounds):
    """Bounds on P(class | quasi-identifier) of people who are known by their leaves, and how many are alike.

    A row of ``program.table``, and of all arrays, is one of the ``times`` quasi-identifiers in the same leaf with as
    many people. All numbers are those of `maxent.bounds`. ``folder`` has the bounds in ``files``, if one was asked for.
    """

    stands_for: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    n_leaves: int = 0
    folder: Path | None = None
    files: tuple[Path, ...] = ()

    @classmethod
    def of(
        cls, found: ProvedBounds, times: IntArray, n_leaves: int, folder: Path | None, files: tuple[Path, ...]
    ) -> BoundsInParts:
        """Bounds on one of those who are alike as bounds on all of them."""
        known: dict[str, Any] = {each.name: getattr(found, each.name) for each in fields(ProvedBounds)}
        return cls(**known, stands_for=times, n_leaves=n_leaves, folder=folder, files=files)

    @property
    def listed(self) -> bool:
        """Rows of the table stand for others: they are not listed."""
        return False

    @property
    def times(self) -> IntArray:
        """How many quasi-identifiers each row of the table stands for, shape (n_rows,)."""
        return self.stands_for

    @cached_property
    def _summary(self) -> dict[str, Any]:
        return {**super()._summary, "parts": parts_entry(len(self.program.release.trees), self.n_leaves, self.files)}

    def frame(self) -> DataFrame:
        """The rows of all files, with the columns of `ProvedBounds.frame`, by leaf; read when asked for.

        Raises
        ------
        InvalidInput
            Without a folder.
        """
        return frame_of(self.folder, self.files, "bounds")

    @property
    def lines(self) -> list[str]:
        """Where the bounds are, for people to read."""
        return [f"bounds are in {counted(len(self.files), 'file')} of {self.folder}"] * (self.folder is not None)

    def _display(self) -> Display:
        title = f"Bounds on P({self.program.release.target.name} | leaf): {self.status}"
        return Display(title, [*bounds_lines(self), *self.lines])

    def save(self, path: str | PathLike[str], *, csv_literal: bool = False) -> None:
        """Refuse to write what is in files already.

        Raises
        ------
        InvalidInput
            Always.
        """
        raise invalid("options", ARGUMENT, "path", "none: bounds are in the folder of the call", str(path))
