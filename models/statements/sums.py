"""Sums over people of a class: weighted sums, counts and shares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from maxent.models.statements.statement import COMPUTED, Keys, LinearStatement, Number, People, between

if TYPE_CHECKING:
    from typing import Self


@dataclass(frozen=True, slots=True)
class LinearSum:
    """``linear``: the sum over people of a class of a column, or their number, lies between two sides.

    Sound as stated: the sides are what was published. A sum that a program computed in double precision may be off by
    its rounding error, which is added.
    """

    weight: str | float
    klass: int | None
    low: float
    high: float

    @classmethod
    def parse(cls, keys: Keys) -> Self:
        weight = keys.raw("weight")
        if isinstance(weight, str):
            keys.use(weight, numbers=True)
        else:
            weight = keys.number("weight", 1.0)
        klass = keys.klass(optional=True)
        if "equals" in keys:
            if "at_least" in keys or "at_most" in keys:
                keys.refuse("equals", "equals, or at_least and at_most", "both")
            value, within = keys.printed(), keys.number("within", 0.0, 0.0) if "within" in keys else None
            half = Fraction(within) if within is not None else value.half if "digits" in keys else Fraction(0)
            low, high = between(value.value - half, value.value + half)
        elif "at_least" in keys or "at_most" in keys:
            low = keys.number("at_least") if "at_least" in keys else -np.inf
            high = keys.number("at_most") if "at_most" in keys else np.inf
            if low > high:
                keys.refuse("at_most", f"a number from at_least on, {low:g}")
        else:
            keys.refuse("equals", "a number, or at_least or at_most")
        return cls(weight, klass, low, high)

    def rows(self, people: People) -> Iterator[LinearStatement]:
        """One row."""
        if isinstance(self.weight, str):
            weight, of = people.numbers(self.weight), f"sum of {self.weight}"
        else:
            weight, of = (
                np.full(len(people), self.weight),
                "number" if self.weight == 1 else f"{self.weight:g} for each",
            )
        off = COMPUTED * float(np.abs(weight) @ people.counts) if isinstance(self.weight, str) else 0.0
        about = "people" if self.klass is None else people.classes[self.klass]
        says = f"{of} of {about}: {sides(self.low, self.high)}"
        if self.klass is None:
            weight = np.repeat(weight[:, None], len(people.classes), axis=1)
        yield LinearStatement(weight, self.low - off, self.high + off, says, self.klass)


@dataclass(frozen=True, slots=True)
class ClassCount:
    """``count``: the number of people of a class, as printed.

    Whole people: of the numbers that round to what was printed only whole ones are left. With ``n`` the statement is
    about so many people.
    """

    klass: int
    value: Number
    n: int | None

    @classmethod
    def parse(cls, keys: Keys) -> Self:
        return cls(some(keys), keys.printed(), keys.whole("n", None, 1))

    def rows(self, people: People) -> Iterator[LinearStatement]:
        """The number, and that of all people where it is stated."""
        low, high = whole_between(self.value.low, self.value.high)
        yield count_row(people, self.klass, low, high, f"{people.classes[self.klass]} {self.value}")
        yield from stated_people(people, self.n)


@dataclass(frozen=True, slots=True)
class ClassShare:
    """``share``: the share of people who have a class, as printed.

    The number of people is that of the table, so the number of the class is a whole number whose share rounds to what
    was printed: all that do are left.
    """

    klass: int
    value: Number
    n: int | None
    per: int = 1

    @classmethod
    def parse(cls, keys: Keys) -> Self:
        found = cls(some(keys), keys.printed(), keys.whole("n", None, 1))
        if not found.value.high >= 0 or found.value.low > 1:
            keys.refuse("equals", "a share, from 0 to 1")
        return found

    def rows(self, people: People) -> Iterator[LinearStatement]:
        """The number of the class, and that of all people where it is stated."""
        n = round(float(people.counts.sum()))
        slack = Fraction(COMPUTED) * n
        low, high = whole_between(self.value.low * n / self.per - slack, self.value.high * n / self.per + slack)
        of = "share" if self.per == 1 else f"rate per {self.per:,}"
        says = f"{of} of {people.classes[self.klass]} {self.value} of {n:,}"
        yield count_row(people, self.klass, low, high, says)
        yield from stated_people(people, self.n)


def some(keys: Keys) -> int:
    """The class that a statement is about."""
    found = keys.klass()
    assert found is not None
    return found


def sides(low: float, high: float) -> str:
    """Sides of a sum in words."""
    if low == high:
        return f"{low:,.10g}"
    if low == -np.inf:
        return f"at most {high:,.10g}"
    return f"at least {low:,.10g}" if high == np.inf else f"{low:,.10g} to {high:,.10g}"


def whole_between(low: Fraction, high: Fraction) -> tuple[float, float]:
    """The smallest and the largest whole number between two sides; a contradiction where there is none."""
    return float(-(-low.numerator // low.denominator)), float(high.numerator // high.denominator)


def count_row(people: People, klass: int, low: float, high: float, says: str) -> LinearStatement:
    """A row about the number of people of a class."""
    return LinearStatement((people.counts > 0).astype(np.float64), low, high, says, klass)


def stated_people(people: People, n: int | None) -> Iterator[LinearStatement]:
    """A row that says how many people there are, of whatever class: the table contradicts it, or it says nothing."""
    if n is not None:
        ones = np.repeat((people.counts > 0).astype(np.float64)[:, None], len(people.classes), axis=1)
        yield LinearStatement(ones, float(n), float(n), f"{n:,} people")
