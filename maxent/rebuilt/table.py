"""A whole table of people that was rebuilt, and which of its cells are proved."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.constraints.patterns.atoms import ANYTHING, Atoms
from maxent.models.arrays import BoolArray, IntArray
from maxent.models.reading import NOTHING, Noticed
from maxent.models.release import Release
from maxent.models.tables.known_columns import KnownColumns
from maxent.rebuilt.recount import Missed
from maxent.solvers.tables.rebuild import Status

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False)
class RebuiltTable:
    """A whole table of the people behind a release, and which of its cells every such table has.

    Attributes
    ----------
    release : Release
    status : {"likeliest", "consistent", "partial", "inconsistent"}
        The table agrees with everything that is stated, and no other one that does is likelier; it agrees, and there
        was no time to look for likelier ones; it does not agree with the statements of `missed`, as none that does was
        found in time; there is none that does.
    settled : bool
        Whether all cells that can be proved are: else there was no time.
    missed : tuple of Missed
        What is stated and not true of the table, by a recount of its rows.
    statements : int
        Numbers of people that are stated.
    patterns : int
        Kinds of people, by class and leaves, that were looked at: all that are possible, unless ``sampled``.
    seconds : dict
        Of ``read`` and ``rebuild``.
    noticed : Noticed
        What was noticed while the release and the table were read.
    atoms, value, klass, shared : Atoms and arrays
        The table as numbers: of each row the values, shape (n, n_attributes), and the class, shape (n,); and whether
        every cell is proved, the class last, shape (n, n_attributes + 1).
    known : KnownColumns, optional
        What was known of each person.
    notes : tuple of str
        What is stated and was not used.
    """

    release: Release
    atoms: Atoms
    value: IntArray
    klass: IntArray
    shared: BoolArray
    status: Status
    settled: bool
    missed: tuple[Missed, ...]
    statements: int
    patterns: int
    sampled: bool
    seconds: dict[str, float]
    known: KnownColumns | None = None
    notes: tuple[str, ...] = ()
    noticed: Noticed = NOTHING

    @property
    def reliable(self) -> bool:
        """Whether the table agrees with everything that is stated."""
        return self.status in {"likeliest", "consistent"}

    @property
    def columns(self) -> list[str]:
        """The attributes in the order of the release, then the target."""
        return [*(attribute.name for attribute in self.release.attributes), self.release.target.name]

    @property
    def is_known(self) -> BoolArray:
        """Whether each column was known, the class last, shape (n_attributes + 1,)."""
        known = np.zeros(len(self.atoms.of) + 1, bool)
        known[list(self.known.attributes if self.known is not None else ())] = True
        return known

    @property
    def table(self) -> DataFrame:
        """A row for each person: the attributes, then the target.

        Known values are as they were read, others are values, sets ``A|B`` of values that nothing in the release tells
        apart, or intervals ``(0.5, 1.5]`` between its thresholds; ``*`` where it tests nothing. With a table of what is
        known, rows are in its order.
        """
        return self._table.copy()

    @cached_property
    def _table(self) -> DataFrame:
        import pandas as pd

        columns: list[Any] = []
        known = {} if self.known is None else dict(zip(self.known.attributes, range(len(self.value[0])), strict=False))
        for j, of in enumerate(self.atoms.of):
            if self.known is not None and j in known:
                columns.append(self.known.levels[known[j]][self.known.codes[:, known[j]]])
                continue
            words = [atom.words() for atom in of] if self.atoms.tested[j] else [ANYTHING]
            columns.append(np.array(words, object)[self.value[:, j]])
        columns.append(np.array(self.release.target.classes, object)[self.klass])
        frame = pd.concat([pd.Series(column) for column in columns], axis=1)
        frame.columns = pd.Index(self.columns)
        return frame

    @property
    def proved(self) -> DataFrame:
        """Which cells are proved, a table of the same shape: true where all tables that agree have the value.

        That is, any such table can be matched with this one, row by row, such that all cells that are proved agree.
        """
        import pandas as pd

        return pd.DataFrame(self.shared, columns=self.columns)

    @property
    def summary(self) -> dict[str, Any]:
        """The JSON summary: plain numbers, strings, lists, dictionaries; a copy."""
        known = self.is_known
        unknown = self.shared[:, ~known]
        return {
            "individuals": len(self.value),
            "attributes": len(self.atoms.of),
            "known": [name for name, is_known in zip(self.columns, known, strict=True) if is_known],
            "cells": int(unknown.size),
            "cells_proved": int(unknown.sum()),
            "rows_proved": int(self.shared.all(axis=1).sum()),
            "status": self.status,
            "settled": self.settled,
            "statements": self.statements,
            "missed": len(self.missed),
            "patterns": self.patterns,
            "sampled": self.sampled,
            "seconds": dict(self.seconds),
            "notes": list(self.notes),
            **self.noticed.summary,
        }

    def save(self, path: str | PathLike[str], *, csv_literal: bool = False) -> None:
        """Write `table` (.csv, .parquet) or the summary with it as ``rows`` (.json), by suffix, atomically.

        Raises
        ------
        InvalidInput
            For another suffix, or a place that cannot be written.
        """
        from maxent.models.files.kinds import TABLE
        from maxent.models.files.result_files import save_frame

        save_frame(path, self._table, lambda rows: {**self.summary, "rows": rows}, TABLE, csv_literal=csv_literal)

    def save_proved(self, path: str | PathLike[str], *, csv_literal: bool = False) -> None:
        """Write `proved` as `save` writes the table.

        Raises
        ------
        InvalidInput
            As there.
        """
        from maxent.models.files.kinds import PROVED
        from maxent.models.files.result_files import save_frame

        save_frame(path, self.proved, lambda rows: {**self.summary, "rows": rows}, PROVED, csv_literal=csv_literal)

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write `table` as CSV, whatever the file is called; text that a spreadsheet would run is written as it is."""
        from maxent.models.files.output import write_atomically

        write_atomically(path, lambda name: self._table.to_csv(name, index=False, lineterminator="\n"))
