"""The tables of this folder's README.md on what is guaranteed: Table 5 of Waseda et al. (2025), and composition."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal

import numpy as np

from maxent import privacy
from papers.tables import table
from papers.waseda_2025.elsewhere import CELLS, RECORDED, TREES
from papers.waseda_2025.published import TABLE_5

TABLE_5_KS = (5, 10, 20)
TABLE_5_BETAS = (0.01, 0.1, 0.4)
VERDICTS_5 = ("exact", "cut off", "wrong digit")
SMALL = 1e-14
"""Sums of dp-accounting, of terms up to 1, say nothing about deltas below this."""


def verdict_5(cell: tuple[float, ...], printed: str) -> tuple[float, str, bool]:
    """Our number for a cell of Table 5, what the printed one is of it, and whether the theorem covers it.

    Where it does not, ours is the same formula, which then guarantees nothing.
    """
    total, k, beta = cell
    ours = TREES * privacy.kanon_delta.__wrapped__(int(k), beta, total / TREES)
    if Decimal(printed) == rounded(ours, printed, ROUND_HALF_EVEN):
        verdict = "exact"
    else:
        verdict = "cut off" if Decimal(printed) == rounded(ours, printed, ROUND_DOWN) else "wrong digit"
    return ours, verdict, total / TREES >= privacy.smallest_valid_epsilon(beta)


def rounded(value: float, printed: str, rounding: str) -> Decimal:
    """A number with as many decimals of its mantissa as what is printed."""
    mantissa, _, exponent = printed.partition("e")
    unit = Decimal(1).scaleb(-len(mantissa.partition(".")[2]))
    return Decimal(value).scaleb(-int(exponent or 0)).quantize(unit, rounding).scaleb(int(exponent or 0))


def table_5(k: int) -> str:
    """The cells for one k, ours beside them."""
    header = ["N_t epsilon", *(name for beta in TABLE_5_BETAS for name in (f"beta {beta:g}", "ours", "verdict"))]
    rows = []
    for total in sorted({cell[0] for cell in TABLE_5}):
        row = [f"{total:g}"]
        for beta in TABLE_5_BETAS:
            cell = (total, float(k), beta)
            if cell in TABLE_5:
                ours, verdict, covered = verdict_5(cell, TABLE_5[cell])
                row += [TABLE_5[cell], f"{ours:.4g}", verdict if covered else f"{verdict}: outside"]
            else:
                row += ["-", "", ""]
        rows.append(row)
    return table(header, rows)


def count_5() -> str:
    """How many cells have which verdict."""
    found = [verdict_5(cell, printed)[1:] for cell, printed in TABLE_5.items()]
    rows = [
        [verdict, *(str(sum(v == verdict and c in which for v, c in found)) for which in ((True, False), (False,)))]
        for verdict in VERDICTS_5
    ]
    rows.append(["all", str(len(found)), str(sum(not covered for _, covered in found))])
    return table(["", "cells", "of them outside the theorem"], rows)


def optimal(k: int, beta: float, total: float) -> float:
    """The least delta that follows from what the paper guarantees of each tree, at any epsilon of theirs."""
    least = float(privacy.smallest_valid_epsilon(beta))
    each = np.concatenate([np.linspace(least, max(2 * total / TREES, 2 * least), 200), [max(total / TREES, least)]])
    return min(optimally_composed(epsilon, float(privacy.kanon_delta(k, beta, epsilon)), total) for epsilon in each)


def optimally_composed(epsilon: float, delta: float, total: float) -> float:
    """The least delta of `TREES` (epsilon, delta)-private mechanisms at ``total`` (Kairouz, Oh and Viswanath 2015)."""
    found = 0.0
    for i in range(TREES + 1):
        if (loss := (TREES - 2 * i) * epsilon) > total:
            likely = math.comb(TREES, i) * math.exp(-i * epsilon) / (1 + math.exp(-epsilon)) ** TREES
            found += likely * -math.expm1(total - loss)
    return -math.expm1(TREES * math.log1p(-delta) + math.log1p(-found)) if found < 1 else 1.0


def composition() -> str:
    """Delta of ten trees: added up, composed optimally, by dp-accounting, and from what counts can be."""
    recorded = {
        tuple(row[:3]): row[3:] for row in json.loads(RECORDED.read_text(encoding="utf-8"))["accountant"]["rows"]
    }
    rows = []
    for k, beta, total in CELLS:
        each = total / TREES
        covered = each >= privacy.smallest_valid_epsilon(beta)
        added = min(TREES * float(privacy.kanon_delta(k, beta, each)), 1.0) if covered else None
        best = optimal(k, beta, total)
        cells = [added, best, privacy.forest_delta(TREES, k, beta, total)]
        said = ["-" if cell is None else f"{cell:.3g}" for cell in cells]
        others = [f"{value:.3g}" if value > SMALL else f"below {SMALL:g}" for value in recorded[k, beta, total]]
        rows.append([f"{k}", f"{beta:g}", f"{total:g}", *said, *others])
    return table(["k", "beta", "N_t epsilon", "added up", "optimal", "ours", "dp-accounting", "at least"], rows)


def epsilons() -> str:
    """The smallest epsilon of a forest with a delta of 1e-6, added up and from what counts can be."""
    header = ["beta", "k", *(f"{how}, N_t = {trees}" for trees in (1, 10, 100) for how in ("added up", "ours"))]
    rows = []
    for beta in (0.01, 0.1, 0.4):
        for k in (5, 10, 20, 40):
            row = [f"{beta:g}", f"{k}"]
            for trees in (1, 10, 100):
                added = trees * float(privacy.smallest_epsilon(k, beta, 1e-6 / trees))
                row += [shown(added), shown(float(privacy.forest_epsilon(trees, k, beta, 1e-6)))]
            rows.append(row)
    return table(header, rows)


def shown(epsilon: float) -> str:
    return f"{epsilon:.3g}" if np.isfinite(epsilon) else "none"


def curves(k: int, beta: float, epsilons: Sequence[float]) -> Iterator[tuple[str, dict[float, float]]]:
    """Delta of ten trees against their epsilon, where the paper's theorem holds and everywhere."""
    valid = [e for e in epsilons if e / TREES >= privacy.smallest_valid_epsilon(beta)]
    yield "added up", {e: min(TREES * float(privacy.kanon_delta(k, beta, e / TREES)), 1.0) for e in valid}
    yield "ours", {e: float(privacy.forest_delta(TREES, k, beta, e)) for e in epsilons}


def tables() -> dict[str, str]:
    """All of them, by name."""
    return {
        **{f"table-5-{k}": table_5(k) for k in TABLE_5_KS},
        "table-5-count": count_5(),
        "composition": composition(),
        "epsilons": epsilons(),
    }
