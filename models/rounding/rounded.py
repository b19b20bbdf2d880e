"""Counts rounded to a base: how far a true number can be from the one that is published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from maxent.models.arrays import IntArray

RoundingMethod = Literal["nearest", "random", "down"]

ROUNDING_METHODS: tuple[RoundingMethod, ...] = get_args(RoundingMethod)


@dataclass(frozen=True, slots=True)
class Rounded:
    """Rounding of every published number of records, each for itself, to a multiple of a base.

    ``base``: records, at least 2. ``method``: ``nearest``: the nearest multiple, of two that are as near either.
    ``random``: one of the two neighbouring multiples; a multiple stays what it is. ``down``: the next multiple below,
    or the number itself.
    """

    base: int
    method: RoundingMethod = "nearest"

    @property
    def below(self) -> int:
        """By how many records the true number can be smaller than the published one."""
        return {"nearest": self.base // 2, "random": self.base - 1, "down": 0}[self.method]

    @property
    def above(self) -> int:
        """By how many records the true number can be larger than the published one."""
        return self.base // 2 if self.method == "nearest" else self.base - 1

    def behind(self, published: IntArray) -> tuple[IntArray, IntArray]:
        """Fewest and most records that published numbers stand for, never fewer than none; shapes as given."""
        low = published - self.below
        return low * (low > 0), published + self.above

    @property
    def in_words(self) -> str:
        """What a published number says, in a sentence."""
        how = {
            "nearest": "to the nearest multiple",
            "random": "at random to a neighbouring multiple",
            "down": "down to a multiple",
        }[self.method]
        sides = [f"up to {self.below} fewer"] * bool(self.below) + [f"up to {self.above} more"]
        return f"numbers of records are rounded {how} of {self.base}: the true one may be {' or '.join(sides)}"

    def __str__(self) -> str:
        return f"{self.method}, base {self.base}"
