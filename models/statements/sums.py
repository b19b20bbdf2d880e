"""Sums over people of a class: weighted sums, counts, shares and rates, means and standard deviations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from maxent.models.statements.statement import (
    COMPUTED,
    Axis,
    Box,
    ClassSum,
    Keys,
    LinearStatement,
    PrintedNumber,
    StatementPeople,
    between,
)

if TYPE_CHECKING:
    from typing import Self

    from maxent.models.arrays import BoolArray, FloatArray
    from maxent.models.statements.statement import StatementKeys


@dataclass(frozen=True, slots=True)
class LinearSum:
    """``linear``: the sum over people of a class of a column, or their number, lies between two sides.

    Sound as stated: the sides are what was published, a printed number is all that round to it, or are ``within`` of
    it. A sum that a program computed in double precision may be off by its rounding error, which is added.
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
            if "within" in keys and "digits" in keys:
                keys.refuse("digits", "digits or within", "both")
            value = keys.printed()
            if "within" in keys:
                value = replace(value, half=Fraction(keys.number("within", least=0.0)))
            low, high = between(value.low, value.high)
        elif "at_least" in keys or "at_most" in keys:
            low = keys.number("at_least") if "at_least" in keys else -np.inf
            high = keys.number("at_most") if "at_most" in keys else np.inf
            if low > high:
                keys.refuse("at_most", f"a number from at_least on, {low:g}")
        else:
            keys.refuse("equals", "a number, or at_least or at_most")
        return cls(weight, klass, low, high)

    def rows(self, people: StatementPeople) -> Iterator[LinearStatement]:
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
class _Counted:
    """A statement on the number of people of a class, among ``n`` people where that is stated."""

    klass: int
    value: PrintedNumber
    n: int | None

    @property
    def counted(self) -> tuple[int]:
        """Its class."""
        return (self.klass,)

    def axes(self, people: StatementPeople) -> Iterator[Axis]:
        """None: its cell is that of the people whom it is about."""
        yield from ()


@dataclass(frozen=True, slots=True)
class ClassCount(_Counted):
    """``count``: the number of people of a class, as printed.

    Whole people: of the numbers that round to what was printed only whole ones are left. With ``n`` the statement is
    about so many people.
    """

    @classmethod
    def parse(cls, keys: Keys) -> Self:
        found = cls(some(keys), keys.printed(), keys.whole("n", None, 1))
        if found.value.value < 0 or found.value.value.denominator > 1:
            keys.refuse("equals", "a whole number of people")
        return found

    @property
    def numbers(self) -> Iterator[tuple[int | None, float, float, tuple[float, ...]]]:
        """The numbers of people that are printed, see `CrossTable.numbers`."""
        yield self.klass, *whole_between(self.value.low, self.value.high), (float(self.value.value),)
        if self.n is not None:
            yield None, self.n, self.n, (self.n,)

    def rows(self, people: StatementPeople) -> Iterator[LinearStatement]:
        """The number, and that of all people where it is stated."""
        low, high = whole_between(self.value.low, self.value.high)
        yield count_row(people, self.klass, low, high, f"{people.classes[self.klass]} {self.value}")
        yield from stated_people(people, self.n)


@dataclass(frozen=True, slots=True)
class ClassShare(_Counted):
    """``share``: the share of people who have a class, as printed.

    The number of people is that of the table, so the number of the class is a whole number whose share rounds to what
    was printed: all that do are left. Of members of a register, see `mean_rows`.
    """

    per: int = 1

    @classmethod
    def parse(cls, keys: Keys) -> Self:
        found = cls(some(keys), keys.printed(), keys.whole("n", None, 1))
        if not found.value.high >= 0 or found.value.low > 1:
            keys.refuse("equals", "a share, from 0 to 1")
        return found

    def rows(self, people: StatementPeople) -> Iterator[LinearStatement]:
        """The number of the class, and that of all people where it is stated."""
        n = self.n if people.number is None else people.number
        of = "share" if self.per == 1 else f"rate per {self.per:,}"
        says = f"{of} of {people.classes[self.klass]} {self.value}" + (f" of {n:,}" if n else "")
        have = np.zeros((len(people), len(people.classes)))
        have[:, self.klass] = people.counts > 0
        ends = self.value.low / self.per, self.value.high / self.per
        yield from mean_rows(people, have, have, ends, n, says, grain=Fraction(1))
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


def count_row(people: StatementPeople, klass: int, low: float, high: float, says: str) -> LinearStatement:
    """A row about the number of people of a class."""
    return LinearStatement((people.counts > 0).astype(np.float64), low, high, says, klass)


def stated_people(people: StatementPeople, n: int | None) -> Iterator[LinearStatement]:
    """A row that says how many people there are, of whatever class: the table contradicts it, or it says nothing."""
    if n is not None:
        ones = np.repeat((people.counts > 0).astype(np.float64)[:, None], len(people.classes), axis=1)
        yield LinearStatement(ones, float(n), float(n), f"{n:,} people")


@dataclass(frozen=True, slots=True)
class ClassMean:
    """``mean``: the mean of a column over people of a class, or over all, as printed.

    With the mean in ``[a, b]`` the sum of ``(v - a)`` is at least 0 and that of ``(v - b)`` at most 0, whatever the
    number of people; somebody has the class, else there is no mean. Where the number is stated, the sum of a column of
    multiples of a grain is itself one of those that lie between ``n a`` and ``n b`` (GRIM: Brown & Heathers 2017).
    """

    of: str
    klass: int | None
    value: PrintedNumber
    n: int | None

    @classmethod
    def parse(cls, keys: Keys) -> Self:
        return cls(keys.column("of"), keys.klass(optional=True), keys.printed(), keys.whole("n", None, 1))

    def figure(self, people: StatementPeople, masses: FloatArray) -> float:
        """The mean of the people."""
        return moments(people.numbers(self.of), masses, self.klass)[0]

    def rows(self, people: StatementPeople) -> Iterator[LinearStatement]:
        """Two rows, the number of people, and their sum where the number is stated: see `mean_rows`."""
        v, ends = people.numbers(self.of), (self.value.low, self.value.high)
        about = "all" if self.klass is None else people.classes[self.klass]
        says = f"mean {self.of} of {about} {self.value}"
        weights = v if self.klass is not None else np.repeat(v[:, None], len(people.classes), axis=1)
        yield from mean_rows(people, weights, weights, ends, None, says, self.klass)
        everybody = (people.counts > 0).astype(np.float64)
        if self.n is None:
            yield _weighed(people, everybody, 1.0, np.inf, f"at least one {about}", self.klass)
            return
        yield _weighed(people, everybody, float(self.n), float(self.n), f"{self.n:,} {about}", self.klass)
        grain = grain_of(v[people.counts > 0])
        yield from mean_rows(people, weights, weights, ends, self.n, f"{says}, of {self.n:,}", self.klass, grain)


def moments(values: FloatArray, masses: FloatArray, klass: int | None, ddof: int = 0) -> tuple[float, float]:
    """The mean of people of a class, or of all, and their standard deviation; NaN of too few."""
    who = masses.sum(axis=1) if klass is None else masses[:, klass]
    n = float(who.sum())
    if n <= ddof:
        return np.nan, np.nan
    mean = float(who @ np.where(who > 0, values, 0.0)) / n
    return mean, float(np.sqrt(who @ np.where(who > 0, values - mean, 0.0) ** 2 / (n - ddof)))


def mean_rows(
    people: StatementPeople,
    small: FloatArray,
    large: FloatArray,
    ends: tuple[Fraction, Fraction],
    n: int | None,
    says: str,
    klass: int | None = None,
    grain: Fraction | None = None,
) -> Iterator[LinearStatement]:
    """Rows for a mean between two ends, of what lies between two numbers for each person, a multiple of a grain.

    The mean is over people of the class, shape (n_qi,), or over all, shape (n_qi, n_classes). With ``n`` of them their
    sum lies between ``n`` times each end; of multiples of a grain it is itself one. Without, the sum of distances from
    the lower end is at least 0 and that from the upper one at most 0, whatever the number of people; a mean that
    cannot be 0 is of somebody, so that ``n`` is not 0.
    """
    inside, (low, high) = people.counts > 0, between(*ends)
    most = np.abs(large).reshape(len(people), -1).max(axis=1, initial=0.0) + 1.0 + abs(low) + abs(high)
    off = COMPUTED * float(most @ people.counts)
    if not n:
        if klass is None and low > 0:  # of nobody some print 0
            yield _weighed(people, inside.astype(np.float64), 1.0, np.inf, f"{says}: somebody", None)
        yield LinearStatement(large - low, -off, np.inf, f"{says}, lower side", klass)
        yield LinearStatement(small - high, -np.inf, off, f"{says}, upper side", klass)
        return
    least, most_of = ends[0] * n - Fraction(off), ends[1] * n + Fraction(off)
    if grain is not None:
        whole = whole_between(least / grain, most_of / grain)
        rest = Fraction(0) if grain == 1 and (large[inside] == np.rint(large[inside])).all() else Fraction(off)
        least, most_of = Fraction(whole[0]) * grain - rest, Fraction(whole[1]) * grain + rest
    if large.ndim == 2 and np.count_nonzero(large.any(axis=0)) == 1:
        klass = int(np.flatnonzero(large.any(axis=0))[0])
        small, large = small[:, klass], large[:, klass]
    yield from about_between(small, large, *between(least, most_of), says, klass)


def about_between(
    small: FloatArray | BoolArray,
    large: FloatArray | BoolArray,
    low: float,
    high: float,
    says: str,
    klass: int | None = None,
) -> Iterator[LinearStatement]:
    """Rows for a sum of weights that lie between two: one, or one for each side."""
    small, large = small.astype(np.float64), large.astype(np.float64)
    if (small == large).all():
        yield LinearStatement(large, low, high, says, klass)
    else:
        yield LinearStatement(large, low, np.inf, f"{says}, lower side", klass)
        yield LinearStatement(small, -np.inf, high, f"{says}, upper side", klass)


@dataclass(frozen=True, slots=True)
class ClassDeviation:
    """``sd``: the standard deviation of a column over people of a class, or over all, as printed.

    With the squared deviations ``S`` from the mean, ``(n - ddof) s_low^2 <= S <= (n - ddof) s_high^2``. About any other
    centre c they add up to ``S + n (mean - c)^2``, so about the centre of the printed mean, which is off by h at most,
    to ``(n - ddof) s_low^2`` at least and ``(n - ddof) s_high^2 + n h^2`` at most. The number of people n is itself a
    sum over them, so that both are linear in who has the class. The mean is ``mean`` (``mean_digits``), or that of a
    statement ``mean`` about the same people; without one only the lower side holds, about the middle of the values.
    The mean of everybody in a table is known, whatever was printed.

    With the sum D of distances from c, ``n (mean - c)^2`` is ``D^2 / n``: where n and D are known both sides are exact.
    Between ends of them it is at most the chord of ``D^2`` over the least n, and at least ``2 r D - r^2 n`` for any r.
    """

    of: str
    klass: int | None
    value: PrintedNumber
    n: int | None
    ddof: int
    mean: PrintedNumber | None
    beside: str = ""

    @classmethod
    def parse(cls, keys: Keys) -> Self:
        ddof = keys.whole("ddof", 1)
        if ddof not in (0, 1):
            keys.refuse("ddof", "0 or 1")
        mean = keys.printed("mean", "mean_digits") if "mean" in keys else None
        value = keys.printed()
        if value.value < 0:
            keys.refuse("equals", "a standard deviation, at least 0")
        return cls(keys.column("of"), keys.klass(optional=True), value, keys.whole("n", None, 1), ddof or 0, mean)

    def paired(self, others: Mapping[str, StatementKeys]) -> ClassDeviation:
        """With the mean that another statement has of the same people."""
        if self.mean is not None:
            return self
        for source, mean in others.items():
            if isinstance(mean, ClassMean) and (mean.of, mean.klass) == (self.of, self.klass):
                # Cases, over which people of a class are taken, name the statements themselves.
                beside = f"with {source}" if self.klass is None else ""
                return replace(self, mean=mean.value, n=mean.n if self.n is None else self.n, beside=beside)
        return self

    def figure(self, people: StatementPeople, masses: FloatArray) -> float:
        """The standard deviation of the people."""
        return moments(people.numbers(self.of), masses, self.klass, self.ddof)[1]

    def rows(self, people: StatementPeople) -> Iterator[LinearStatement]:
        """One or two rows, those of the printed mean, and the number of people."""
        v, centre, half = self._centred(people)
        low, high = self._ends
        about = "all" if self.klass is None else people.classes[self.klass]
        says = f"standard deviation of {self.of} of {about} {self.value}"
        squares, wide, off = v**2, high**2 + half**2, self._off(people, v, centre)
        if known := self.klass is None and not people.of_register and bool(people.counts.any()):
            squares, wide = (v - np.average(v, weights=people.counts)) ** 2, high**2
        lower, upper = (f"{says}, {side} side" for side in ("lower", "upper"))
        yield _weighed(people, squares - low**2, -self.ddof * low**2 - off, np.inf, lower, self.klass)
        if self.mean is not None or known:
            row = _weighed(people, squares - wide, -np.inf, -self.ddof * high**2 + off, upper, self.klass)
            yield replace(row, source="" if known else self.beside)
        if self.mean is not None and not (known and self.beside):
            near = f"mean {self.of} of {about} {self.mean}"
            for row in (
                _weighed(people, v + half, -off, np.inf, f"{near}, lower side", self.klass),
                _weighed(people, v - half, -np.inf, off, f"{near}, upper side", self.klass),
            ):
                yield replace(row, source=self.beside)
        everybody = (people.counts > 0).astype(np.float64)
        least, most = (1.0 + self.ddof, np.inf) if self.n is None else (float(self.n), float(self.n))
        number = f"at least {1 + self.ddof} {about}" if self.n is None else f"{self.n:,} {about}"
        yield _weighed(people, everybody, least, most, number, self.klass)

    @property
    def _ends(self) -> tuple[float, float]:
        return between(max(self.value.low, Fraction(0)), self.value.high)

    def _centred(self, people: StatementPeople) -> tuple[FloatArray, float, float]:
        """Distances of the values from a centre, the centre, and how far the mean can be from it."""
        v = people.numbers(self.of)
        here = v[people.counts > 0]
        middle = (here.min() + here.max()) / 2 if len(here) else 0.0
        centre = middle if self.mean is None else float(self.mean.value)
        half = np.inf if self.mean is None else float(self.mean.half) + COMPUTED * abs(centre)
        return v - centre, centre, half

    def _off(self, people: StatementPeople, v: FloatArray, centre: float) -> float:
        return COMPUTED * float((v**2 + self._ends[1] ** 2 + centre**2 + 1.0) @ people.counts) * 10

    def measures(self, people: StatementPeople) -> tuple[ClassSum, ...]:
        """The number of people of the class, and the sum of the distances of their values from a value of the grain."""
        if self.klass is None or not (people.counts > 0).any():
            return ()
        away, centre, grain = self._on_grain(people)
        everybody = float(people.counts.sum())
        least, most = (1.0 + self.ddof, everybody) if self.n is None else (float(self.n), float(self.n))
        inside = (people.counts > 0).astype(np.float64)
        below, above = float(np.minimum(away, 0) @ people.counts), float(np.maximum(away, 0) @ people.counts)
        if self.mean is not None:
            middle, half = float(self.mean.value) - centre, self._centred(people)[2]
            below = max(below, min(least * (middle - half), most * (middle - half)))
            above = min(above, max(least * (middle + half), most * (middle + half)))
        size = 1e-9 * (1 + abs(below) + abs(above))
        number = ClassSum(inside, self.klass, least, most, 1.0)
        return number, ClassSum(away * inside, self.klass, below - size, above + size, grain)

    def _on_grain(self, people: StatementPeople) -> tuple[FloatArray, float, float | None]:
        """Distances from a multiple of the grain of the values, that number, and the grain, if it is known."""
        v, centre, _ = self._centred(people)
        grain = grain_of((v + centre)[people.counts > 0])
        if grain is None:
            return v, centre, None
        at = float(round(Fraction(centre) / grain) * grain)
        scaled = np.rint((people.numbers(self.of) - at) / float(grain))
        return np.asarray(scaled * float(grain)), at, float(grain)

    def given(self, people: StatementPeople, box: Box) -> Iterator[LinearStatement]:
        """Both sides for numbers of people, and sums of distances, between two ends each."""
        assert self.klass is not None
        away, centre, _ = self._on_grain(people)
        (fewest, most), (below, above) = box
        low, high = self._ends
        off = self._off(people, away, centre)
        says = f"standard deviation of {self.of} of {people.classes[self.klass]} {self.value}"
        inside = (people.counts > 0).astype(np.float64)
        squares, known = away**2, fewest == most and below == above
        if known:
            mean = below**2 / fewest
            sides = (fewest - self.ddof) * low**2 + mean - off, (fewest - self.ddof) * high**2 + mean + off
            yield LinearStatement(squares * inside, *sides, says, self.klass)
            return
        chord = (squares - high**2 - (below + above) * away / fewest) * inside
        gross = abs(below * above) + (abs(below) + abs(above)) * float(np.abs(away) @ people.counts)
        side = -self.ddof * high**2 - below * above / fewest + off + COMPUTED * gross / fewest
        yield LinearStatement(chord, -np.inf, side, says, self.klass)
        for r in np.unique([below / fewest, below / most, above / fewest, above / most, (below + above) / 2 / fewest]):
            tangent = (squares - low**2 - 2 * r * away + r**2) * inside
            yield LinearStatement(tangent, -self.ddof * low**2 - off * (1 + r**2), np.inf, says, self.klass)


@dataclass(frozen=True, slots=True)
class ClassRate(ClassShare):
    """``rate``: the number of people of a class per so many, as printed; sound as a share is."""

    @classmethod
    def parse(cls, keys: Keys) -> Self:
        per = keys.whole("per", 1000, 1) or 1
        found = cls(some(keys), keys.printed(), keys.whole("n", None, 1), per)
        if found.value.high < 0 or found.value.low > per:
            keys.refuse("equals", f"a rate from 0 to {per:,}")
        return found


def _weighed(
    people: StatementPeople, weight: FloatArray, low: float, high: float, says: str, klass: int | None
) -> LinearStatement:
    """A row about the people of a class, or about all."""
    if klass is None:
        return LinearStatement(np.repeat(weight[:, None], len(people.classes), axis=1), low, high, says)
    return LinearStatement(weight, low, high, says, klass)


# Decimals up to which numbers are multiples of a grain.
GRAINS = 6


def grain_of(values: FloatArray) -> Fraction | None:
    """The power of ten that all values are multiples of; None where they have too many decimals."""
    for digits in range(GRAINS + 1):
        scaled = values * 10**digits
        if np.abs(scaled - np.rint(scaled)).max(initial=0.0) <= 1e-6 and np.abs(scaled).max(initial=0.0) < 2**52:
            return Fraction(1, 10**digits)
    return None
