"""Proved bounds on the individuals of each quasi-identifier and class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from maxent.constraints.program.program import Linear, Program
    from maxent.models.arrays import BoolArray, FloatArray, IntArray

# Individuals by which a bound may miss a whole number and still prove it: people are whole. Errors of computing that a
# bound was rounded outward by end there.
WHOLE = 1e-6
# Individuals by which a lower bound exceeds an upper one where statements contradict each other.
BROKEN = 1e-3
LevelNumbers = npt.NDArray[np.int8]
# Where statements stand, and their kind; of a single row what it says, too.
Source = tuple[str, ...]


def source_of(said: Linear) -> Source:
    """The source of a linear statement of a program."""
    return str(said.origin), said.kind


def row_of(said: Linear) -> Source:
    """The same, of this row alone."""
    return *source_of(said), said.says


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """Smallest and largest individuals of each quasi-identifier and class over all data consistent with a program.

    ``low``, ``high``, shape (n_quasi_identifiers, n_classes): individuals, rounded outward by the error of computing;
    ``P(class | QI)`` is this divided by the individuals of the quasi-identifier. ``low_by``, ``high_by``, shape
    (n_quasi_identifiers, n_classes): the level that proved each, an index into
    `maxent.solvers.certainty.levels.LEVELS`. ``unasked``, shape (n_quasi_identifiers, n_classes): Pairs about which a
    level could not be asked, as time or its solver ended: their bounds hold, and may be loose. ``ended``: whether the
    solver of a level ended before it had answered. ``notes``: what levels say of what they used. ``compared``: whether
    every end that is open was shown by data that agree with all comparisons of splits, though these are many.
    """

    low: FloatArray
    high: FloatArray
    low_by: LevelNumbers
    high_by: LevelNumbers
    unasked: BoolArray
    ended: bool = False
    notes: tuple[str, ...] = ()
    compared: bool = False

    @property
    def open(self) -> BoolArray:
        """Pairs of a quasi-identifier and a class whose bounds differ, shape (n_quasi_identifiers, n_classes)."""
        result: BoolArray = self.low < self.high
        return result

    @property
    def contradicted(self) -> bool:
        """Whether no data are consistent with the program."""
        return bool((self.low > self.high + BROKEN).any())

    def narrowed(self, low: FloatArray, high: FloatArray) -> Bounds:
        """The tighter of two bounds; numbers within `WHOLE` of an integer are rounded to it."""
        low, high = whole(low), whole(high)
        return replace(self, low=np.maximum(self.low, low), high=np.minimum(self.high, high), compared=False)

    def stamped(self, before: Bounds, level: int) -> Bounds:
        """With the number of a level where it proved more than was known before."""
        return replace(
            self,
            low_by=np.where(self.low > before.low, level, before.low_by).astype(np.int8),
            high_by=np.where(self.high < before.high, level, before.high_by).astype(np.int8),
        )


def whole(values: FloatArray) -> FloatArray:
    """Numbers of people: rounded if within `WHOLE` of an integer."""
    near = np.rint(values)
    with np.errstate(invalid="ignore"):  # of infinite bounds
        close = np.abs(values - near) <= WHOLE
    result: FloatArray = np.where(close, near, values) + 0.0  # which makes 0 of -0
    return result


def whole_numbers(low: FloatArray, high: FloatArray) -> tuple[IntArray, IntArray]:
    """Proved bounds, rounded to whole numbers inward."""
    return np.ceil(low - WHOLE).astype(np.int64), np.floor(high + WHOLE).astype(np.int64)


def unbounded(program: Program) -> Bounds:
    """Trivial bounds: at least 0 people, at most all with the quasi-identifier."""
    shape = len(program.table), program.n_classes
    high = np.repeat(program.table.counts.astype(np.float64)[:, None], program.n_classes, axis=1)
    by = np.zeros(shape, np.int8)
    return Bounds(np.zeros(shape), high, by, by, np.zeros(shape, bool))


# ``proved``: every level was asked all that was open; ``time_limit``, ``interrupted``, ``solver_ended``: it was not,
# and bounds may be loose; ``inconsistent``: no data agree with all statements, and no bound says anything.
Status = Literal["proved", "time_limit", "interrupted", "solver_ended", "inconsistent"]


@dataclass(frozen=True, slots=True, eq=False)
class Proved:
    """Bounds, and whether everything was asked."""

    bounds: Bounds
    status: Status
