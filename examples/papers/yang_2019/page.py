"""The tables of this folder's README.md: what was measured beside what Yang et al. (2019) print."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from papers.tables import table
from papers.verdicts import difference, of_runs
from papers.yang_2019.published import ORIGINAL, RISK, TABLE_1, TABLE_2, Cell

TITLES = {
    "contraceptive": "Contraceptive",
    "adult": "Adult",
    "mondrian": "Mondrian",
    "erp": "ERP-only",
    "tiered": "Proposed",
    "tree": "unpruned tree",
    "group": "one group",
}
"""Names of data and methods as the paper and the page have them."""

Key: TypeAlias = tuple[str, str, int]
"""Data, method and k."""

Readings: TypeAlias = Mapping[Key, Mapping[str, float]]
"""What the cells of one column of Table 2 become, by how what the paper leaves open is read."""


@dataclass(frozen=True)
class Disclosed:
    """What the engine says of a publication of all records: see `maxent.disclosure`."""

    gcp: float | None
    divergence: float
    certain: int
    right: float
    most: float


def named(key: Key) -> list[str]:
    """The first cells of a row."""
    data, method, k = key
    return [TITLES[data], TITLES[method], str(k) if k else ""]


def worked_example(rows: Iterable[Mapping[str, object]]) -> str:
    """The measures of all nodes; what is printed, too, stands in brackets where it differs, and else is marked."""

    def cell(node: str, measure: str, value: object) -> str:
        if value is None or value != value:
            return ""
        printed = RISK.get((node, measure))
        text = f"{value:.0f}" if measure in ("n", "E", "E_branch") else f"{value:.3f}"
        if printed is None:
            return text
        exact = float(text) == printed
        return f"**{text}**" if exact else f"{text} ({printed})"

    body = [[str(r["node"]), *(cell(str(r["node"]), m, v) for m, v in r.items() if m != "node")] for r in rows]
    return table(["node", "n", "BIG", "ICR", "R(t)", "R(B_t)", "E(t)", "E(B_t)", "omega"], body)


def table_1(originals: Iterable[Sequence[str]], tiers: Sequence[Sequence[str]], groups: Sequence[Sequence[str]]) -> str:
    """Table 1, record by record: age and marital status as they were and as they are published."""
    body = []
    for number, original in enumerate(originals):
        found = (tuple(tiers[number][:2]), tuple(groups[number][:2]))
        verdict = "exact" if found == TABLE_1[number] else f"off: printed {TABLE_1[number]}"
        shown = [text.replace("|", "\\|") for pair in found for text in pair]
        body.append([str(number + 1), *original[:2], *shown, original[2], verdict])
    head = ["record", "age", "marital status", *(f"{how}: {what}" for how in ("tiered", "uniform") for what in _SHOWN)]
    return table([*head, "class", "verdict"], body)


_SHOWN = ("age", "marital status")


def _beside(printed: float, found: Sequence[float]) -> list[str]:
    mean = float(np.mean(found))
    numbers = [f"{printed:.4f}", f"{mean:.4f}", difference(mean - printed, 4), f"{np.std(found, ddof=1):.4f}"]
    return [*numbers, of_runs(f"{printed:.4f}", found)]


def table_2(cells: Mapping[Key, Sequence[Cell]], original: Mapping[str, Sequence[float]]) -> str:
    """Table 2: per cell what is printed, our mean over the folds, the difference, the deviation and the verdict."""
    body = []
    for data, errors in original.items():
        body.append([TITLES[data], "original", "", *[""] * 5, *_beside(ORIGINAL[data], errors)])
        for key in (key for key in cells if key[0] == data):
            gcp, error = zip(*cells[key], strict=True)
            body.append([*named(key), *_beside(TABLE_2[key].gcp, gcp), *_beside(TABLE_2[key].error, error)])
    one = ["ours", "diff", "sd", "verdict"]
    return table(["data", "method", "k", "GCP", *one, "error", *one], body)


ORDERS = (("tiered", "erp"), ("erp", "mondrian"), ("tiered", "mondrian"))


def orders(cells: Mapping[Key, Sequence[Cell]]) -> str:
    """How often one method has the smaller GCP, or error, in the same fold and for the same k."""
    body = []
    for data in dict.fromkeys(key[0] for key in cells):
        for less, more in ORDERS:
            pairs = [
                pair
                for key in cells
                if key[:2] == (data, less)
                for pair in zip(cells[key], cells[data, more, key[2]], strict=True)
            ]
            line = [TITLES[data], f"{TITLES[less]} < {TITLES[more]}"]
            for what in ("gcp", "error"):
                held = sum(getattr(a, what) < getattr(b, what) for a, b in pairs)
                line.append(f"{held} of {len(pairs)}")
            body.append(line)
    return table(["data", "printed for every k", "GCP: folds", "error: folds"], body)


def readings(found: Readings, what: str) -> str:
    """What the cells of a column of Table 2 become, and how far they are from what is printed on the average."""
    columns = list(dict.fromkeys(column for row in found.values() for column in row))
    body = []
    for key, row in found.items():
        shown = [f"{row[column]:.3f}" if column in row else "" for column in columns]
        body.append([*named(key), f"{getattr(TABLE_2[key], what):.3f}", *shown])
    for data in dict.fromkeys(key[0] for key in found):
        rows = {key: row for key, row in found.items() if key[0] == data}
        off = [
            [abs(row[column] - getattr(TABLE_2[key], what)) for key, row in rows.items() if column in row]
            for column in columns
        ]
        body.append([TITLES[data], "mean distance", "", "", *(f"{np.mean(of):.3f}" if of else "" for of in off)])
    return table(["data", "method", "k", "printed", *columns], body)


def disclosed(found: Mapping[Key, Disclosed], cells: Mapping[Key, Sequence[Cell]]) -> str:
    """What publications of all records disclose, next to GCP and the mean error of Table 2."""
    body = []
    for key, row in found.items():
        gcp = "" if row.gcp is None else f"{row.gcp:.4f}"
        error = f"{np.mean([cell.error for cell in cells[key]]):.4f}" if key in cells else ""
        numbers = [f"{row.divergence:.4f}", f"{row.certain:,}", f"{row.right:.1%}", f"{row.most:.3f}"]
        body.append([*named(key), *numbers, gcp, error])
    return table(
        ["data", "published", "k", "D_overall", "certain", "guessed right", "surest", "GCP", "error"],
        body,
    )
