"""Proved bounds on the people of a table, in individuals and as probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from maxent.constraints.kinds.registry import QI, kinds_of
from maxent.constraints.program.program import Program
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.reading import NOTHING, Noticed
from maxent.solvers.certainty.bounds import Bounds
from maxent.solvers.certainty.levels import level_names

# Status of bounds -> what it means.
STATUS = {
    "proved": "every level was asked all that was open",
    "time_limit": "time, or the work for it, ended: all bounds hold, those that were not asked may be loose",
    "interrupted": "interrupted: all bounds hold, those that were not asked may be loose",
    "solver_ended": "the solver ended, as it crashed or was killed: all bounds hold, those not asked may be loose",
    "inconsistent": "the statements contradict each other or the table: no bound says anything",
}


@dataclass(frozen=True, eq=False)
class Proof:
    """Smallest and largest P(class | quasi-identifier) over all data consistent with a release, proved.

    ``program``: Everything that the release and the table state. ``bounds``: Bounds in individuals, with the level that
    proved each; rows are in the order of ``program.table``. ``status``: whether every level was asked all that was
    open. Bounds hold in any case, and are loose where there was no time; where statements contradict each other no data
    are consistent, and bounds say nothing. ``level``: the last level that was to be asked. ``seconds``: of ``compile``
    and ``prove``. ``noticed``: what was noticed while the release and the tables were read.
    """

    program: Program
    bounds: Bounds
    status: str
    level: str
    seconds: dict[str, float]
    noticed: Noticed = NOTHING

    @property
    def reliable(self) -> bool:
        """Whether the bounds can be relied on: some data are consistent with all statements."""
        return self.status != "inconsistent"

    @cached_property
    def low(self) -> FloatArray:
        """Smallest P(class | quasi-identifier), shape (n_quasi_identifiers, n_classes), rounded down."""
        return self._share(self.bounds.low, 0.0)

    @cached_property
    def high(self) -> FloatArray:
        """Largest P(class | quasi-identifier), shape (n_quasi_identifiers, n_classes), rounded up."""
        return self._share(self.bounds.high, 1.0)

    def _share(self, individuals: FloatArray, outward: float) -> FloatArray:
        counts = self.program.table.counts[:, None]
        share = individuals / counts
        return np.where(share * counts == individuals, share, np.nextafter(share, outward))

    @property
    def certain(self) -> BoolArray:
        """Quasi-identifiers whose individuals are proved to have one and the same class, (n_quasi_identifiers,)."""
        return np.asarray((self.bounds.low >= self.program.table.counts[:, None]).any(axis=1))

    @cached_property
    def codes(self) -> IntArray:
        """The class that is proved of each quasi-identifier, -1 where none is, shape (n_quasi_identifiers,)."""
        alone, all_of = self.bounds.high > 0, self.bounds.low >= self.program.table.counts[:, None]
        only = np.where(alone.sum(axis=1) == 1, alone.argmax(axis=1), -1)
        return np.where(all_of.any(axis=1), all_of.argmax(axis=1), only).astype(np.int64)

    @property
    def listed(self) -> bool:
        """Whether rows of the table are quasi-identifiers to list."""
        return True

    @property
    def times(self) -> IntArray:
        """How many quasi-identifiers each row of the table stands for, all alike, shape (n_quasi_identifiers,)."""
        return np.ones(len(self.program.table), np.int64)

    @property
    def distinct(self) -> int:
        """Number of distinct quasi-identifiers."""
        table = self.program.table
        return table.distinct if table.ordered else int(self.times.sum())

    @property
    def individuals(self) -> int:
        """Number of individuals."""
        return int(self._people.sum())

    @property
    def _people(self) -> IntArray:
        return self.program.table.counts * self.times

    @property
    def constraints(self) -> dict[str, int]:
        """Number of constraints of each kind."""
        return {**kinds_of(self.program), QI.name: int(self.times.sum())}

    @property
    def certain_proved(self) -> int:
        """Number of individuals whose class is proved."""
        return int(self._people[self.certain].sum())

    @property
    def individuals_open(self) -> int:
        """Number of individuals with a quasi-identifier of which the number of some class is not proved."""
        return int(self._people[self.bounds.open.any(axis=1)].sum())

    @property
    def proved_by(self) -> IntArray:
        """Level that proved the bounds of each pair, the later one of its two ends; an index into the levels."""
        return np.maximum(self.bounds.low_by, self.bounds.high_by).astype(np.int64)

    @property
    def order(self) -> IntArray:
        """Rows of the table in the order in which they were first read."""
        return np.argsort(self.program.table.lines, kind="stable").astype(np.int64)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes in words on the reading of the release and the tables, and on the levels."""
        return (*self.noticed.notes, *self.program.notes, *self.bounds.notes)

    @property
    def lines(self) -> list[str]:
        """What else is said, for people to read."""
        return []

    @property
    def levels(self) -> dict[str, int]:
        """Pairs of a quasi-identifier and a class by the level that proved their bounds, of all that were asked."""
        names = level_names()
        by = np.bincount(self.proved_by.ravel(), np.repeat(self.times, self.program.n_classes), len(names))
        return {name: int(by[i]) for i, name in enumerate(names[: names.index(self.level) + 1])}

    @cached_property
    def complete(self) -> bool:
        """Whether the last level was asked, with all comparisons of splits: it leaves out those of large nodes."""
        if self.level != level_names()[-1]:
            return False
        if self.bounds.compared or not self.bounds.open.any():
            return True
        from maxent.constraints.program.residuals import InternalRows
        from maxent.solvers.worlds.part import affordable

        rows = InternalRows(self.program)
        return len(affordable(self.program, rows)) == rows.n_rows

    @property
    def certain_at_most(self) -> int:
        """Individuals whose class is proved, or might be by what was not asked for: want of time, a later level."""
        unknown = self.bounds.unasked if self.complete else self.bounds.open
        return int(self._people[self.certain | unknown.any(axis=1)].sum())

    def as_dict(self) -> dict[str, Any]:
        """How far everything is proved, as plain numbers, strings and dictionaries."""
        return {
            "status": self.status,
            "individuals_open": self.individuals_open,
            "levels": self.levels,
            "pairs_not_asked": int(self.bounds.unasked.sum()),
            "seconds": {name: round(value, 4) for name, value in self.seconds.items()},
        }
