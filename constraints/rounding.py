"""What a printed error rate says: the number of records that are not the label, exactly or within its rounding.

A rate printed with 3 digits is an interval, half a unit of its last digit to either side. Where the number of records
is known, only whole numbers of them are possible inside it, often just one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

Rounding = Literal["auto", "digits", "exact"]
ROUNDINGS: tuple[Rounding, ...] = ("auto", "digits", "exact")

FULL_PRECISION = 10
"""Rates with this many decimals or more were not rounded for print."""

_WHOLE = 1e-9


@dataclass(frozen=True, slots=True)
class RateReader:
    """How the rates of a release are to be read; ``half`` is half a unit of the last printed digit, 0 when exact."""

    half: float

    def hits(self, rate: float, n: float) -> tuple[float, float]:
        """Smallest and largest number of the ``n`` records that can be the label, given the printed rate."""
        low, high = (1 - rate - self.half) * n, (1 - rate + self.half) * n
        slack = _WHOLE * max(1.0, n)
        first, last = math.ceil(low - slack), math.floor(high + slack)
        if first <= last:
            return float(max(first, 0)), float(min(last, n))
        return max(low, 0.0), min(high, float(n))  # no whole number fits: take the statement as it is

    def share(self, rate: float) -> tuple[float, float]:
        """Smallest and largest share of the label when the number of records is unknown."""
        return max(1 - rate - self.half, 0.0), min(1 - rate + self.half, 1.0)


def decimals(rate: float) -> int:
    """Digits after the point in the shortest decimal that reads back as ``rate``."""
    exponent = Decimal(repr(float(rate))).normalize().as_tuple().exponent
    return max(0, -int(exponent))


def rate_reader(rates: Iterable[tuple[float, float | None]], mode: Rounding) -> RateReader:
    """Decide how the rates of a release were printed.

    Parameters
    ----------
    rates : iterable of (error rate, number of records or None when unknown)
    mode : {"auto", "digits", "exact"}
        ``digits``: all rates are rounded to the largest number of decimals among them; ``exact``: none is;
        ``auto``: exact when they have full precision or every one is a whole number of its records, else ``digits``.
    """
    rates = list(rates)
    digits = max((decimals(rate) for rate, _ in rates), default=0)
    exact = RateReader(0.0)
    if mode == "exact" or digits >= FULL_PRECISION:
        return exact
    if mode == "auto" and all(
        n is not None and abs(rate * n - round(rate * n)) <= _WHOLE * max(1.0, n) for rate, n in rates
    ):
        return exact
    return RateReader(0.5 * 10.0**-digits)
