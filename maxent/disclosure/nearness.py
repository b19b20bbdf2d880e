"""How near a rebuilt table is to the people of the data, beside tables and people that know the distribution alone.

Cells of unknown columns are compared after the matching of rows that costs least, among rows of which the same is
known. Three numbers stand beside each other: the share of cells that differ from the people of the data; the same of
tables whose columns are those of the data, each in a random order; and of the rebuilt table from people of the same
population who are not in the data. A table that knows the distribution alone is as near to these as to the former.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from maxent.models.arrays import FloatArray, IntArray

# Tables drawn from the marginals, samples of control people, and samples of rows for the interval.
TABLES, SAMPLES, RESAMPLED = 20, 10, 2_000
# People of whom the same is known that are matched at the lowest cost; more are matched in runs of so many.
MATCHED = 2_000


def matching(table: IntArray, people: IntArray, group: IntArray) -> IntArray:
    """The row of ``people`` that each row of a table is matched with, such that fewest cells differ, shape (n,)."""
    from scipy.optimize import linear_sum_assignment

    found = np.zeros(len(table), np.int64)
    for number in np.unique(group).tolist():
        mine = np.flatnonzero(group == number)
        for begin in range(0, len(mine), MATCHED):
            rows = mine[begin : begin + MATCHED]
            cost = np.zeros((len(rows), len(rows)))
            for j in range(table.shape[1]):
                cost += table[rows, j][:, None] != people[rows, j][None]
            found[rows] = rows[linear_sum_assignment(cost)[1]]
    return found


def matched(table: IntArray, people: IntArray, group: IntArray) -> FloatArray:
    """The share of cells of each row that differ from those of the row that it is matched with, shape (n,)."""
    differ = table != people[matching(table, people, group)]
    return np.asarray(differ.mean(axis=1) if table.shape[1] else np.zeros(len(table)), np.float64)


def agreement(table: IntArray, samples: list[IntArray], group: IntArray) -> FloatArray:
    """The share of some tables that have each cell of a table, each matched with it; shape (n, n_columns)."""
    return np.asarray(np.mean([table == each[matching(table, each, group)] for each in samples], axis=0), np.float64)


def null_model(
    table: IntArray, truth: IntArray, control: IntArray | None, group: IntArray, seed: int
) -> dict[str, Any]:
    """The key ``null`` of a reconstruction, from codes of unknown cells; see the module's text.

    ``difference`` is by how much the table is nearer to the data than to others, with the 95 % ``interval``.
    """
    rng = np.random.default_rng(seed)
    own = matched(table, truth, group)
    drawn = [
        matched(np.column_stack([rng.permutation(column) for column in truth.T]), truth, group).mean()
        for _ in range(TABLES)
    ]
    found: dict[str, Any] = {"error": float(own.mean()), "error_marginals": float(np.mean(drawn))}
    if control is None:
        return {**found, "error_control": None, "difference": None, "interval": None}
    n = len(table)
    samples = SAMPLES if len(control) >= 2 * n else 1
    order = rng.permutation(len(control))
    others = []
    for _ in range(samples):
        rows = rng.choice(len(control), n, replace=False) if samples > 1 else order[:n]
        others.append(matched(table, control[rows], np.zeros(n, np.int64)))
    whole = matched(table, truth, np.zeros(n, np.int64))
    nearer = np.stack(others) - whole
    picked = rng.integers(0, n, (RESAMPLED, n))
    which = rng.integers(0, samples, RESAMPLED)
    spread = nearer[which[:, None], picked].mean(axis=1)
    return {
        **found,
        "error_control": float(np.mean(others)),
        "difference": float(nearer.mean()),
        "interval": [float(end) for end in np.quantile(spread, (0.025, 0.975))],
    }
