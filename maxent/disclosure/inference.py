"""Inference: the posterior of the people of a table, with the measures of what it discloses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from maxent.constraints.program import Program
from maxent.disclosure.summary import Disclosure
from maxent.models.arrays import FloatArray
from maxent.models.tables.columns.column_names import own_names

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False)
class Inference:
    """Posterior P(class | quasi-identifier) of the people of a table, and its disclosure.

    ``probabilities`` has shape (n_quasi_identifiers, n_classes), rows in the order of ``program.table``; `posterior`
    is the same as a DataFrame, in the order in which the quasi-identifiers appear in the table that was read.
    """

    program: Program
    probabilities: FloatArray
    disclosure: Disclosure

    @property
    def order(self) -> npt.NDArray[np.int64]:
        """Rows of the table in the order in which they were first read."""
        return np.argsort(self.program.table.lines, kind="stable").astype(np.int64)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of `posterior`: attributes, ``count``, ``P(class)``; ``divergence`` with a truth.

        Those that an attribute has already get the prefix ``maxent_``.
        """
        names = [a.name for a in self.program.table.attributes]
        ours = ["count", *(f"P({name})" for name in self.program.release.target.classes)]
        ours += ["divergence"] * (self.disclosure.individual is not None)
        return (*names, *own_names(ours, names))

    def row(self, quasi_identifier: int) -> tuple[str | int | float, ...]:
        """The values of `columns` for one quasi-identifier, a row number of ``program.table``."""
        table, individual = self.program.table, self.disclosure.individual
        values = [*self.values(quasi_identifier), int(table.counts[quasi_identifier])]
        values += self.probabilities[quasi_identifier].tolist()
        return tuple(values) if individual is None else (*values, float(individual[quasi_identifier]))

    @property
    def posterior(self) -> DataFrame:
        """One row per distinct quasi-identifier in the order they were read, with the columns `columns`; a copy."""
        return self._posterior.copy()

    @cached_property
    def _posterior(self) -> DataFrame:
        import pandas as pd

        frame = self.program.table.frame()
        columns = [frame.iloc[:, i] for i in range(frame.shape[1])]
        columns += [pd.Series(p) for p in self.probabilities.T]
        if self.disclosure.individual is not None:
            columns.append(pd.Series(self.disclosure.individual))
        table = pd.concat(columns, axis=1)
        table.columns = pd.Index(self.columns)
        return table.iloc[self.order].reset_index(drop=True)

    def values(self, row: int) -> list[str | float]:
        """The attributes of a quasi-identifier: strings, floats."""
        table = self.program.table
        values = (level[code] for level, code in zip(table.levels, table.codes[row], strict=True))
        return [v if isinstance(v, str) else float(v) for v in values]
