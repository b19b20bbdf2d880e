"""Rounding error of printed means and variances."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from maxent.models.release_content import Node

# Significant digits of a number that was not rounded for print.
FULL = 15


@dataclass(frozen=True, slots=True)
class Printed:
    """How all numbers of one kind were printed: with this many significant digits at least, or decimals.

    A program prints them alike, and leaves out zeros at the end. Where 151 and 310 stand side by side, 310 was not
    rounded to tens.
    """

    whole: bool
    digits: int
    decimals: int

    def off(self, number: float) -> float:
        """Largest distance of a number from its printed form."""
        if self.whole:
            return 0.0
        digits, last = _digits(number)
        first = last + digits - 1
        return float(0.5 * 10.0 ** min(last, max(first + 1 - self.digits, -self.decimals)))


def printed_moments(nodes: Iterable[Node]) -> tuple[Printed, Printed]:
    """How the means of nodes were printed, and how their variances.

    If some number has so many digits that it was not rounded, none of them was.
    """
    means, variances = set(), set()
    for node in nodes:
        if node.mean is not None:
            means.add(node.mean)
        if node.variance is not None:
            variances.add(node.variance)
    shapes = [[_digits(number) for number in numbers if number] for numbers in (means, variances)]
    whole = any(digits >= FULL for shape in shapes for digits, _ in shape)
    first, second = (
        Printed(whole, max((digits for digits, _ in shape), default=1), max((-last for _, last in shape), default=0))
        for shape in shapes
    )
    return first, second


def _digits(number: float) -> tuple[int, int]:
    """Significant digits of a number as it is printed, and the power of ten of the last one."""
    shown = Decimal(repr(float(number))).normalize().as_tuple()
    return len(shown.digits), shown.exponent if isinstance(shown.exponent, int) else 0
