"""Parameters of defenses that say how the counts of a release are rounded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from maxent.models.errors import ARGUMENT, Problem
from maxent.models.parameters import parameter, whole
from maxent.models.rounding.rounded import Rounded, RoundingMethod


@dataclass(frozen=True, slots=True)
class Rounding:
    """Rounding of all numbers of records that a release states.

    Attributes
    ----------
    round_counts : int, optional
        The base; None leaves counts as they are.
    round_method : {"nearest", "random", "down"}
        See `maxent.models.rounding.rounded.Rounded`.
    """

    round_counts: int | None = parameter(
        None, "Base that counts are rounded to.", whole(2, "records"), metavar="BASE", group="output"
    )
    round_method: RoundingMethod = parameter(
        "nearest", "Multiple that a count is rounded to: nearest, a random neighbour, or the one below.", group="output"
    )

    @property
    def rounded(self) -> Rounded | None:
        """What a release states of it."""
        return None if self.round_counts is None else Rounded(self.round_counts, self.round_method)

    def conflicts_with(self, publish: str) -> Iterator[Problem]:
        """Rounding where leaves state no counts, and a method without a base."""
        if self.round_counts is not None and publish != "counts":
            yield Problem(ARGUMENT, "round_counts", f"None: leaves state {publish}", f"{self.round_counts}")
        named = isinstance(self.round_method, str)  # anything else is a problem of its own, and may not compare
        if self.round_counts is None and named and self.round_method != "nearest":
            expected = "'nearest': no base is given (round_counts)"
            yield Problem(ARGUMENT, "round_method", expected, repr(self.round_method))
