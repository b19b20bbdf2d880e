"""The tables of this folder's README.md on accuracy and disclosure: what is printed, found, and the verdict."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from papers.tables import table
from papers.verdicts import difference, holds
from papers.waseda_2025.audit import BETAS, KS, PAIRS, SIZES, TREES, Grid
from papers.waseda_2025.elsewhere import EPSILONS, RECORDED
from papers.waseda_2025.noise import RATES, Best
from papers.waseda_2025.protocol import READINGS, Found, scores
from papers.waseda_2025.published import SAID, TABLE_6, TABLE_7, Cells

READING_6 = {"nursery": "guesses", "adult": "sums", "mushroom": "trees", "loan": "sums"}
"""What predicts in Table 6: the reading that is closest, of each data set."""

READING_7 = {"nursery": ("sums", 2), "mushroom": ("trees", 3)}
"""What predicts in Table 7, and the depth, which is not printed: those that are closest."""

PREDICTS = ["all counts (Algorithm 2)", "mean of the trees' shares", "vote", "vote, silent trees guess"]
"""What the readings are called."""

VERDICTS = ("exact", "1 sd", "2 sd", "off")


@dataclass(frozen=True)
class Results:
    """All that is measured, by data set.

    ``six`` and ``seven`` are the accuracies of Tables 6 and 7, the latter by depth; ``constant`` is the accuracy of the
    most frequent class for each seed; ``noise`` are the best depths of forests with noise and of ours; ``audit`` is
    what forests disclose.
    """

    six: Mapping[str, Found]
    seven: Mapping[str, Mapping[int, Found]]
    constant: Mapping[str, Sequence[float]]
    noise: Mapping[str, Mapping[tuple[str, float], Best]]
    audit: Mapping[str, Grid]


def tables(results: Results) -> dict[str, str]:
    """All of them, by name."""
    found = {f"table-6-{name}": table_6(name, results.six[name]) for name in TABLE_6}
    found |= {f"table-7-{name}": table_7(name, results.seven[name]) for name in TABLE_7}
    found |= {f"noise-{name}": noise(name, results) for name in results.noise}
    for name, grid in results.audit.items():
        found[f"audit-{name}"] = audit([(k, beta, TREES) for k in KS for beta in BETAS], grid)
        found[f"trees-{name}"] = audit([(k, beta, trees) for k, beta in PAIRS for trees in SIZES], grid)
    return {
        **found,
        "audit-adult": adult(),
        "verdicts": verdicts(results),
        "readings": readings(results),
        "depths": depths(results),
        "claims": table(["", "printed", "here", "verdict"], claims(results)),
    }


# --- Tables 6 and 7 --------------------------------------------------------------------------------------------


def verdict(printed: str, found: Sequence[float]) -> str:
    """Whether a printed accuracy is our mean, rounded, or so many standard deviations of a forest away."""
    if f"{np.mean(found):.{len(printed.partition('.')[2])}f}" == printed:
        return "exact"
    away = abs(np.mean(found) - float(printed)) / max(np.std(found, ddof=1), 1e-9)
    return next((f"{limit} sd" for limit in (1, 2) if away <= limit), "off")


def above(printed: str, found: Sequence[float]) -> str:
    return difference(float(np.mean(found)) - float(printed), 3)


def spread(found: Sequence[float]) -> str:
    return f"{np.mean(found):.3f} ± {np.std(found, ddof=1):.3f}"


def compared(
    cells: Cells, found: Found, reading: str, rows: Iterable[tuple[float, ...]], columns: Iterable[float]
) -> list[list[str]]:
    """A line per row: what is printed in each column, ours, the difference, and the verdict."""
    return [
        [f"{x:g}" for x in row]
        + [
            said
            for column in columns
            for printed, ours in [(cells[*row, column], found[reading, (*row, column)])]
            for said in (printed, spread(ours), above(printed, ours), verdict(printed, ours))
        ]
        for row in rows
    ]


def table_6(name: str, found: Found) -> str:
    cells = TABLE_6[name]
    depths = sorted({depth for _, _, depth in cells})
    header = ["trees", "k", *(said for depth in depths for said in (f"depth {depth:g}", "ours", "diff", "verdict"))]
    rows = dict.fromkeys(cell[:2] for cell in cells)
    return table(header, compared(cells, found, READING_6[name], rows, depths))


def table_7(name: str, found: Mapping[int, Found]) -> str:
    cells, (reading, depth) = TABLE_7[name], READING_7[name]
    betas = sorted({beta for _, beta in cells})
    header = ["k", *(said for beta in betas for said in (f"beta {beta:g}", "ours", "diff", "verdict"))]
    return table(header, compared(cells, found[depth], reading, dict.fromkeys(cell[:1] for cell in cells), betas))


def verdicts(results: Results) -> str:
    """How many cells of each table have which verdict."""
    parts = {
        f"Table 6, {name}": [verdict(printed, results.six[name][READING_6[name], cell]) for cell, printed in c.items()]
        for name, c in TABLE_6.items()
    }
    for name, cells in TABLE_7.items():
        reading, depth = READING_7[name]
        ours = results.seven[name][depth]
        parts[f"Table 7, {name}"] = [verdict(printed, ours[reading, cell]) for cell, printed in cells.items()]
    rows = [[part, f"{len(found)}", *(f"{found.count(v)}" for v in VERDICTS)] for part, found in parts.items()]
    return table(["", "cells", *VERDICTS], rows)


def fit(cells: Cells, found: Found, reading: str) -> str:
    """How many cells are within two standard deviations, and how far ours are above on average."""
    gap = np.mean([np.mean(found[reading, cell]) - float(printed) for cell, printed in cells.items()])
    return f"{(np.abs(scores(cells, found, reading)) <= 2).sum()} of {len(cells)}, {gap:+.3f}"


def readings(results: Results) -> str:
    header = ["", *PREDICTS]
    rows = [
        [name, *(fit(cells, results.six[name], reading) for reading in READINGS)] for name, cells in TABLE_6.items()
    ]
    return table(header, rows)


def depths(results: Results) -> str:
    header = ["", "depth", *PREDICTS]
    rows = [
        [name, f"{depth}", *(fit(TABLE_7[name], found, reading) for reading in READINGS)]
        for name, by_depth in results.seven.items()
        for depth, found in by_depth.items()
    ]
    return table(header, rows)


def claims(results: Results) -> list[list[str]]:
    """What the text says, and what was found for the cells it speaks of."""

    def cells(name: str, *of: tuple[float, ...]) -> list[Sequence[float]]:
        return [results.six[name][READING_6[name], cell] for cell in of]

    def row(what: str, name: str, cell: tuple[float, ...], said: str = "{}") -> list[str]:
        [ours] = cells(name, cell)
        return [what, said.format(SAID[name]), spread(ours), verdict(SAID[name], ours)]

    falling = cells("nursery", *((10.0, k, 5.0) for k in (0.0, 5.0, 10.0)))
    first, *_, last = falling
    return [
        row("Nursery, depth 4, k = 5: accuracy", "nursery", (10.0, 5.0, 4.0)),
        [
            "Nursery, depth 5, 10 trees: accuracy for k = 0, 5, 10",
            "falls drastically (0.860, 0.818, 0.673)",
            ", ".join(map(spread, falling)),
            holds(float(np.mean(first) - np.mean(last)) > 2 * float(np.std(last, ddof=1))),
        ],
        row("Adult, k = 5, depth 9, 11 trees: accuracy", "adult", (11.0, 5.0, 9.0)),
        row("Mushroom, k = 5, depth 5, 9 trees: accuracy", "mushroom", (9.0, 5.0, 5.0)),
        row("Lending Club: accuracy", "loan", (10.0, 5.0, 5.0), "around {}"),
        *(
            [f"{name}: always the most frequent class", "", spread(results.constant[key]), ""]
            for name, key in {
                "Lending Club": "loan",
                "Adult": "adult",
                "Mushroom": "mushroom",
                "Nursery": "nursery",
            }.items()
        ),
    ]


# --- Noise, and disclosure -------------------------------------------------------------------------------------


def noise(name: str, results: Results) -> str:
    """The best depth of each kind of forest, for each epsilon."""
    recorded: dict[float, dict[int, list[float]]] = {}
    for of, epsilon, depth, found in json.loads(RECORDED.read_text(encoding="utf-8"))["diffprivlib"]["rows"]:
        if of == name:
            recorded.setdefault(epsilon, {})[depth] = found
    rows = []
    for epsilon in EPSILONS:
        found = [results.noise[name][what, epsilon] for what in ("noise", *(f"beta {rate}" for rate in RATES))]
        depth = max(recorded[epsilon], key=lambda d: float(np.mean(recorded[epsilon][d])))
        said = [f"{spread(b.found)} (d {b.depth}{'' if b.k is None else f', k {b.k}'})" for b in found]
        rows.append([f"{epsilon:g}", said[0], f"{spread(recorded[epsilon][depth])} (d {depth})", *said[1:]])
    return table(["epsilon", "Laplace noise", "diffprivlib", *(f"ours, beta {rate:g}" for rate in RATES)], rows)


def adult() -> str:
    """What was recorded of forests of Adult, by `rdt_disclosure`."""
    rows = json.loads(RECORDED.read_text(encoding="utf-8"))["disclosure"]["rows"]
    return table(
        ["k", "beta", "trees", "D_overall", "certain individuals", "test accuracy"],
        [
            [f"{k}", f"{beta:g}", f"{trees}", f"{far:.3f}", f"{certain:,}", f"{accuracy:.3f}"]
            for k, beta, trees, far, certain, accuracy in rows
        ],
    )


AUDIT = ["k", "beta", "trees", "D_overall", "expected right", "certain", "predicted", "test accuracy"]


def audit(cells: Iterable[tuple[int, float, int]], grid: Grid) -> str:
    rows = []
    for k, beta, trees in cells:
        told = grid[k, beta, trees]
        shares = [f"{share:.1%}" for share in (told.right, told.certain, told.predicted)]
        accuracy = f"{told.accuracy:.3f} ± {told.deviation:.3f}"
        rows.append([f"{k}", f"{beta:g}", f"{trees}", f"{told.divergence:.3f}", *shares, accuracy])
    return table(AUDIT, rows)
