"""Frontier of the search: the boxes to bound next, and the boxes that wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.solvers.bounds.boxes.setting import Setting


@dataclass(slots=True, eq=False)
class Boxes:
    """Feasible masses between ends of a setting's functions, shape (n_boxes, n_functions), each in one more ball.

    ``near`` are masses to start from, and ``more`` is what the answer lacks there at most, nats.
    """

    low: FloatArray
    high: FloatArray
    centre: FloatArray
    radius: FloatArray
    near: FloatArray
    more: FloatArray

    @classmethod
    def first(cls, setting: Setting) -> Boxes:
        """One box, with all masses in it."""
        linear, whole = setting.at.rows.linear, setting.whole
        total = linear.total[linear.owner]
        ends = (np.minimum(setting.along, 0.0) @ total, np.maximum(setting.along, 0.0) @ total)
        near = 0.5 * (setting.at.masses + whole.centre)
        return cls(*(np.array([each]) for each in (*ends, whole.centre, whole.radius, near, np.inf)))

    def __len__(self) -> int:
        return len(self.more)

    @property
    def empty(self) -> BoolArray:
        """Where there are no masses between the ends."""
        found: BoolArray = np.any(self.low > self.high, axis=1)
        return found

    @property
    def width(self) -> FloatArray:
        """How far ends are apart."""
        return self.high - self.low

    def has(self, setting: Setting, masses: FloatArray) -> BoolArray:
        """Which boxes some masses are in."""
        v = setting.along @ masses
        found: BoolArray = np.all((self.low <= v) & (self.high >= v), axis=1)
        return found

    def take(self, some: IntArray | BoolArray | slice) -> Boxes:
        """Some of the boxes."""
        return Boxes(*(getattr(self, field.name)[some].copy() for field in fields(self)))

    def put(self, some: IntArray, others: Boxes) -> None:
        """Replace some of the boxes."""
        for field in fields(self):
            getattr(self, field.name)[some] = getattr(others, field.name)

    @classmethod
    def joined(cls, parts: Sequence[Boxes]) -> Boxes:
        """All boxes of several."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))
