"""Printed error rates: the number of records outside the label, exact or within rounding.

A rate that was printed with 3 digits is an interval. Where the number of records is known, only whole numbers of them
are possible inside it, often just one: then the digits prove it. Rates are taken to have been rounded to the nearest
number, however ties were decided, all to as many decimals or all to as many significant digits. Where whole numbers of
records show that they were not, they may have been cut off or rounded up, or each by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor
from typing import get_args

import numpy as np
import numpy.typing as npt

from maxent.models.arguments import Rounding as Rounding
from maxent.models.columns import NOTHING, Statements
from maxent.models.nodes import statements_of
from maxent.models.reading import spelled
from maxent.models.release import Content

ROUNDINGS: tuple[Rounding, ...] = get_args(Rounding)

FULL_PRECISION = 10  # rates with this many decimals or more were not rounded for print
RESOLUTION = Fraction(1, 2 * 10**7)  # rates are never read more finely: they may have been computed in single precision
NOISE = 1e-15  # by how much a float may be off the decimal that it stands for: 1 - 0.93 is 0.06999999999999995
SINGLE = 2.0**-24  # by how much a share may be off that is held in single precision
REMEMBERED = 1 << 14  # rates whose decimals, and what follows from these, are kept: they are asked for again and again
_WHOLE = 1e-9

Stated = tuple[float, float | None]  # an error rate, and the records that it is of, None when unknown


@dataclass(frozen=True, slots=True)
class RateReader:
    """Reading of the error rates of a release.

    ``rounding``: ``exact``: literally. Otherwise as rounded: ``digits`` to so many decimals, ``auto`` perhaps to so
    many significant digits instead. ``digits``, ``significant``: Decimals, and significant digits, that all rates have;
    None: each its own. ``units``: how far a rate may be from what was printed, in units of its last digit: a half when
    rounded to the nearest. ``note``: how they are read, in words; empty where there are none, or literally was asked
    for. ``of_classes``: the reading of the shares of all classes that nodes state, which may be printed differently;
    None where there are none.
    """

    rounding: Rounding = "exact"
    digits: int | None = None
    significant: int | None = None
    units: Fraction = Fraction(1, 2)
    note: str = ""
    of_classes: RateReader | None = None

    def fits(self, rate: float, n: float) -> bool:
        """Whether a whole number of ``n`` records has this rate."""
        first, last = self._whole(rate, n)
        return first <= last

    def hits(self, rate: float, n: float) -> tuple[float, float]:
        """Smallest and largest number of the ``n`` records that can be the label, given the printed rate."""
        first, last = self._whole(rate, n)
        if first <= last:
            return float(max(first, 0)), float(min(last, n))
        # No whole number fits: these are no records, or others. The statement is taken as it is.
        # Whole numbers are divided to the nearest float, as fractions are, which take much longer.
        (a, b), (c, d), (number, of) = *_between(self._printed, rate), n.as_integer_ratio()
        return max(a * number / (b * of), 0.0), min(c * number / (d * of), float(n))

    def share(self, rate: float) -> tuple[float, float]:
        """Smallest and largest share of the label when the number of records is unknown."""
        if self.rounding == "exact" or (self.digits or decimals(rate)) >= FULL_PRECISION:
            computed = self.rounding != "exact" and decimals(rate) >= FULL_PRECISION and float(np.float32(rate)) == rate
            single = SINGLE if computed else 0.0
            return max(1 - rate - single, 0.0), min(1 - rate + single, 1.0)
        (a, b), (c, d) = _between(self._printed, rate)
        return max(a / b, 0.0), min(c / d, 1.0)

    def records(self, share: float, n: float) -> tuple[float, float]:
        """Smallest and largest number of the ``n`` records that are of a class, given its printed share."""
        least, most = self.hits(share, n)
        return n - most, n - least

    def shares(self, share: float) -> tuple[float, float]:
        """Smallest and largest share of a class when the number of records is unknown."""
        least, most = self.share(share)
        return 1 - most, 1 - least

    def _whole(self, rate: float, n: float) -> tuple[int, int]:
        """The first and the last whole number of ``n`` records that can be the label; none if the last is smaller."""
        return _whole(self._printed, rate, n)

    @property
    def _printed(self) -> _Printed:
        return self.rounding, self.digits, self.significant, self.units.as_integer_ratio()


_Ratio = tuple[int, int]  # a fraction, as two whole numbers

# What a reader says of how rates were printed: `rounding`, `digits`, `significant` and `units`
_Printed = tuple[Rounding, int | None, int | None, _Ratio]


@lru_cache(maxsize=REMEMBERED)
def _whole(printed: _Printed, rate: float, n: float) -> tuple[int, int]:
    """See `RateReader._whole`: from the whole numbers of which fractions are made, which take a tenth of the time."""
    if printed[0] == "exact":
        # Floats decide wherever whole numbers are further from them than they may be off: almost always.
        hits, slack, off = (1.0 - rate) * n, _WHOLE * max(1.0, n), 4 * NOISE * max(1.0, n)
        first, last = ceil(hits - slack - off), floor(hits + slack + off)
        if first == ceil(hits - slack + off) and last == floor(hits + slack - off):
            return first, last
    # Taken literally, a rate is a float that was divided, with an error that grows with the records.
    slack, per = (_WHOLE * max(1.0, n)).as_integer_ratio() if printed[0] == "exact" else (0, 1)
    (a, b), (c, d), (number, of) = *_between(printed, rate), n.as_integer_ratio()
    first = -((slack * b * of - a * number * per) // (b * of * per))
    return first, (c * number * per + slack * d * of) // (d * of * per)


@lru_cache(maxsize=REMEMBERED)
def _between(printed: _Printed, rate: float) -> tuple[_Ratio, _Ratio]:
    """The smallest and the largest share of the label that may have been printed so."""
    if printed[0] == "exact":
        number, of = _shortest(rate).as_integer_ratio()
        return (of - number, of), (of - number, of)
    hit, half = 1 - Fraction(_shortest(rate)), _half(printed, rate)
    return (hit - half).as_integer_ratio(), (hit + half).as_integer_ratio()


def _half(printed: _Printed, rate: float) -> Fraction:
    """Largest distance of the rate from the printed number."""
    rounding, of_all, significant, units = printed
    if rounding == "exact":
        return Fraction(0)
    digits = decimals(rate) if of_all is None else of_all
    unit = Fraction(1, 10 ** max(digits, 1))
    if rounding == "auto" and significant is not None and rate > 0:
        # A rate of 0.1, of which others have three digits, may be 0.100 as well as 0.1000.
        unit = max(unit, Fraction(10) ** (_leading(rate) - significant + 1))
    return max(Fraction(*units) * unit, RESOLUTION)


def rate_reader(rates: Iterable[Stated], mode: Rounding) -> RateReader:
    """Decide how rates were printed: ``exact``, to the most decimals (``digits``), or by what records tell."""
    found = [(rate, None if n == 0 else n) for rate, n in rates]
    if mode == "exact" or not found:
        return RateReader("exact")
    readings = list(_readings(found, mode))
    known = [(rate, n) for rate, n in found if n is not None]
    agreed = (reading for reading in readings if all(reading.fits(rate, n) for rate, n in known))
    chosen = next(agreed, readings[0])
    return RateReader(mode, chosen.digits, chosen.significant, chosen.units, _note(chosen, found))


def _readings(rates: Sequence[Stated], mode: Rounding) -> Iterable[RateReader]:
    """Possible ways of printing rates, the most likely first."""
    digits = max(1, *(decimals(rate) for rate, _ in rates))
    significant = max(1, *(_significant(rate) for rate, _ in rates))
    nearest, cut = Fraction(1, 2), Fraction(1)
    if mode == "digits":
        yield RateReader(mode, digits, significant, nearest)
        return
    for of_all in (digits, None):
        for units in (nearest, cut):
            yield RateReader(mode, of_all, significant if of_all else None, units)


def _note(reader: RateReader, rates: Sequence[Stated]) -> str:
    """The reading of rates, in words."""
    other = sum(n is not None and not reader.fits(rate, n) for rate, n in rates)
    strange = f"; {other} of them are of no whole number of records" if other else ""
    if reader.digits is not None and reader.digits >= FULL_PRECISION:
        return "error rates are exact: they have full precision" + strange
    said = "each to its own digits" if reader.digits is None else _plural(reader.digits, "digit")
    how = f"rounded to {said}" if reader.units < 1 else f"cut off or rounded up to {said}"
    if reader.digits is None:
        how = f"printed differently ({how})"
    hits = [None if n is None else reader.hits(rate, n) for rate, n in rates]
    if not other and all(span is not None and span[0] == span[1] for span in hits):
        return f"error rates are exact: {how}, each is that of one whole number of records only"
    literally = spelled("rounding='exact' takes them literally")
    return f"error rates look {how} and are read as intervals ({literally}){strange}"


def release_rates(release: Content, sizes: Sequence[npt.NDArray[np.float64]] | None, rounding: Rounding) -> RateReader:
    """The reading of the error rates of a release."""
    stated: list[Stated] = []
    shares: dict[Stated, None] = {}
    for t, tree in enumerate(release.trees):
        said = statements_of(tree.nodes, release.target.classes)
        records = _records(said, release.suppressed_below > 1, None if sizes is None else sizes[t])
        rated = np.flatnonzero(~np.isnan(said.rate))
        stated += [(rate, records[i]) for i, rate in zip(rated.tolist(), said.rate[rated].tolist(), strict=True)]
        for held, n in zip(said.shares, records, strict=False):
            shares |= dict.fromkeys((share, n) for share in (held or {}).values())
    found = rate_reader(stated, rounding)
    if not shares:
        return found
    of_classes = rate_reader(shares, rounding)
    return replace(found, note=found.note or of_classes.note.replace("error rates", "rates"), of_classes=of_classes)


def _records(said: Statements, hidden: bool, sizes: npt.NDArray[np.float64] | None) -> Sequence[float | None]:
    """The records of each node, None when they are not known; those that were suppressed (``hidden``) are not."""
    if np.isnan(said.rate).all() and not said.shares:
        return ()
    found = np.full(len(said), np.nan) if sizes is None else sizes[: len(said)].astype(np.float64)
    if not hidden:
        found[said.counted] = said.total[said.counted]
    stated = (said.n != NOTHING) & ~(hidden & (said.n == 0))
    found[stated] = said.n[stated]
    return [None if n != n else n for n in found.tolist()]


def decimals(rate: float) -> int:
    """Digits after the point in the shortest decimal that a rate stands for."""
    return max(0, -int(_shortest(rate).as_tuple().exponent))


def _significant(rate: float) -> int:
    """Digits of that decimal from its first that is not 0."""
    return len(_shortest(rate).as_tuple().digits)


def _leading(rate: float) -> int:
    """The power of ten of the first digit that is not 0; a share of 1 was rounded from one below."""
    return min(_shortest(rate).adjusted(), -1)


@lru_cache(maxsize=REMEMBERED)
def _shortest(rate: float) -> Decimal:
    """The shortest decimal within the noise of a float."""
    few = abs(round(float(rate), FULL_PRECISION - 1) - rate) <= NOISE  # else no fewer digits are as near
    for digits in range(FULL_PRECISION if few else 0):
        short = round(float(rate), digits)
        if abs(short - rate) <= NOISE:
            return Decimal(repr(short)).normalize()
    return Decimal(repr(float(rate))).normalize()


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
