"""Statements against the people that they were made from."""

import numpy as np
import pandas as pd

import maxent
from maxent.api.estimate import compile_release


def satisfied(release: maxent.Release, people: pd.DataFrame, target: str) -> int:
    """How many rows the statements of a release are, all of which its people satisfy."""
    program = compile_release(release, people.drop(columns=target))
    names = [a.name for a in program.table.attributes]
    where = {
        tuple(str(v) if isinstance(v, str) else float(v) for v in row): i
        for i, row in enumerate(program.table.frame()[names].itertuples(index=False))
    }
    masses = np.zeros((len(program.table), program.n_classes))
    for row, klass in zip(people[names].itertuples(index=False), people[target].astype(str), strict=True):
        key = tuple(str(v) if isinstance(v, str) else float(v) for v in row)
        masses[where[key], release.target.classes.index(klass)] += 1
    rows = [row for row in program.linear if row.kind == "statements"]
    for row in rows:
        inside = masses[program.cells.owner][program.regions[row.region]]
        value = (inside * (1.0 if row.weights is None else row.weights) * row.coef[0]).sum()
        assert row.lower[0] - 1e-9 * len(people) <= value <= row.upper[0] + 1e-9 * len(people), row.says
    assert not program.contradictions
    return len(rows)
