"""People in parts: a few stand for all of them in memory, and what is found of each is in files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxent.models.display import counted
from maxent.models.errors import ARGUMENT, InvalidInput, invalid

if TYPE_CHECKING:
    from pandas import DataFrame

    from maxent.models.arrays import IntArray
    from maxent.models.tables.qi_table import QITable


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Parts:
    """People who are known by their leaves, of several ``trees`` by cells, the leaves of all.

    A result about them has a table with one quasi-identifier for each leaf, or a few, which stand for all people in it;
    all numbers are those of these people. They are in so many ``leaves`` (or cells), and ``what`` is found of each is
    in ``files`` of a ``folder``, if one was asked for. Of an estimate ``distinct`` are the distinct quasi-identifiers;
    ``far`` are the divergences, with a truth, as in a summary. ``table`` has one quasi-identifier of each leaf,
    ``truth`` their classes, shape (n_leaves, n_classes), and ``most_disclosed`` are those whom the adversary is surest
    of: all three for comparisons.
    """

    what: str
    trees: int
    leaves: int
    folder: Path | None = None
    files: tuple[Path, ...] = ()
    distinct: int = 0
    far: Mapping[str, Any] | None = None
    most_disclosed: tuple[Mapping[str, Any], ...] = ()
    table: QITable | None = None
    truth: IntArray | None = None

    @property
    def summary(self) -> dict[str, Any]:
        """The key ``parts`` of a summary."""
        leaves = "leaves" if self.trees == 1 else "cells"
        return {"parts": {leaves: self.leaves, "files": [path.name for path in self.files]}}

    def rows(self) -> DataFrame:
        """The rows of all files, by leaf; refused without a folder, in which they would be kept."""
        if self.folder is None:
            raise invalid("options", ARGUMENT, "folder", f"a folder, where {self.what} are kept", "none")
        import pandas as pd

        return pd.concat([pd.read_parquet(path) for path in self.files], ignore_index=True)

    @property
    def lines(self) -> list[str]:
        """Where the files are, for people to read."""
        return [f"{self.what} are in {counted(len(self.files), 'file')} of {self.folder}"] * (self.folder is not None)

    def kept(self, path: object) -> InvalidInput:
        """The error of a call that would write what is in files already."""
        return invalid("options", ARGUMENT, "path", f"none: {self.what} are in the folder of the call", str(path))
