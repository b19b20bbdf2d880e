"""What a number or statement of a paper is of ours: the words for it that all pages use."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from math import sqrt

GROUPS = {
    "exact": ("exact", "cut off", "twice", "holds"),
    "within noise": ("tied", "near", "1 sd", "2 sd"),
    "off": ("off", "wrong digit", "does not hold"),
}
"""What the verdicts of cells come to; ``1 sd``: as far away as the deviation of a single run, where one is printed."""

VERDICTS = ("exact", "cut off", "twice", "tied", "near", "off")
"""Those of numbers, from the best to the worst."""


def of(printed: str, mean: float, error: float = 0.0, ties: tuple[float, float] | None = None) -> str:
    """What a printed number is of our mean, one of `VERDICTS`.

    It is our mean, rounded (``exact``), cut off, or rounded twice, first to one more digit (``twice``); or between the
    least and the largest mean of answers that are equally good (``tied``); or less than the standard ``error`` of our
    mean away from it (``near``); or further away (``off``).
    """
    number, exact = Decimal(printed), Decimal(f"{mean:.12g}")
    unit = Decimal(1).scaleb(int(number.as_tuple().exponent))
    if number in (exact.quantize(unit, ROUND_HALF_UP), exact.quantize(unit, ROUND_HALF_EVEN)):
        return "exact"
    if number == exact.quantize(unit, ROUND_DOWN):
        return "cut off"
    if number == exact.quantize(unit / 10, ROUND_HALF_UP).quantize(unit, ROUND_HALF_UP):
        return "twice"
    if ties is not None and ties[0] - 1e-9 <= float(number) <= ties[1] + 1e-9:
        return "tied"
    return "near" if abs(float(number) - mean) < error else "off"


def of_runs(printed: str, runs: Sequence[float]) -> str:
    """`of` the mean of runs, with the standard error that their deviation gives it."""
    mean = sum(runs) / len(runs)
    variance = sum((run - mean) ** 2 for run in runs) / (len(runs) - 1)
    return of(printed, mean, sqrt(variance / len(runs)))


def difference(value: float, digits: int) -> str:
    """A difference as the pages show it."""
    text = f"{value:+.{digits}f}"
    return "0" if not float(text) else text


def holds(condition: bool) -> str:
    """The verdict on a statement."""
    return "holds" if condition else "does not hold"


def read(cell: str, metrics: Sequence[str] = ()) -> list[tuple[str, str]]:
    """The verdicts of a cell of a page, each with its metric.

    ``U, H_u exact; ACC off`` names those of ``metrics`` that it means; a verdict alone is that of all of them, or of
    the row where there are none. What follows a colon explains: ``off: other trees``.

    Raises
    ------
    ValueError
        When it is no verdict, or not one of every metric.
    """
    metrics = metrics or [""]
    words = [word for group in GROUPS.values() for word in group]
    found: dict[str, str] = {}
    for part in cell.partition(":")[0].split("; "):
        verdict = next((word for word in words if part == word or part.endswith(f" {word}")), "")
        named = part.removesuffix(verdict).strip()
        found |= dict.fromkeys(named.split(", ") if named else metrics, verdict)
    if "" in found.values() or sorted(found) != sorted(metrics):
        raise ValueError(f"no verdict on {', '.join(metrics) or 'the row'}: {cell!r}")
    return [(metric, found[metric]) for metric in metrics]
