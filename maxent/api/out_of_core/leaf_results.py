"""Results of calls in parts: audits and bounds whose people are in files, not in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.api.out_of_core.folder import frame_of, parts_entry
from maxent.models.display import Display, counted
from maxent.models.errors import ARGUMENT, invalid
from maxent.results.audit import Audit
from maxent.results.bounds import ProvedBounds
from maxent.results.text.bounds import bounds_lines

if TYPE_CHECKING:
    from pandas import DataFrame

    from maxent.models.arrays import IntArray


@dataclass(frozen=True, eq=False, repr=False)
class AuditInParts(Audit):
    """Structural attacks on a release about people who are known by their leaves alone.

    ``people`` has one quasi-identifier for each of the ``n_leaves`` that somebody is in, standing for all people in it.
    All numbers are those of `maxent.audit`. ``folder`` has the people in ``files``, if one was asked for.
    """

    n_leaves: int = 0
    folder: Path | None = None
    files: tuple[Path, ...] = ()

    @classmethod
    def of(cls, found: Audit, n_leaves: int, folder: Path | None, files: tuple[Path, ...]) -> AuditInParts:
        """An audit of leaves as one of the people in them."""
        known: dict[str, Any] = {each.name: getattr(found, each.name) for each in fields(Audit)}
        alone: Mapping[str, Audit] = found.targets
        known["targets"] = {name: cls.of(each, n_leaves, None, ()) for name, each in alone.items()}
        return cls(**known, n_leaves=n_leaves, folder=folder, files=files)

    @cached_property
    def _summary(self) -> dict[str, Any]:
        return {**super()._summary, "parts": parts_entry(len(self.trees), self.n_leaves, self.files)}

    @property
    def individuals(self) -> DataFrame:
        """The rows of all files, with the columns of `Audit.individuals`, by leaf; read when asked for.

        Raises
        ------
        InvalidInput
            Without a folder.
        """
        return frame_of(self.folder, self.files, "people")

    @property
    def lines(self) -> tuple[str, ...]:
        """The summary in plain language."""
        written = [f"people are in {counted(len(self.files), 'file')} of {self.folder}"] * (self.folder is not None)
        return (*super().lines, *written)

    def save(self, path: str | PathLike[str], *, csv_literal: bool = False) -> None:
        """Refuse to write what is in files already.

        Raises
        ------
        InvalidInput
            Always.
        """
        raise invalid("options", ARGUMENT, "path", "none: people are in the folder of the audit", str(path))


# The answer of `maxent.bounds_in_parts`: bounds that are in files, and not in memory.


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
