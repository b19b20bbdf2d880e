"""Statements with a coefficient for each quasi-identifier: answers that are known in closed form."""

import numpy as np
import pandas as pd
import pytest
from conformance.answers import estimate
from conformance.test_degenerate import tree
from scipy.optimize import brentq

from maxent.constraints.kinds import registry
from maxent.constraints.kinds.context import Context, Kind
from maxent.constraints.program.program import Linear
from maxent.models.errors import Origin

PLACES = [(a, b) for a in "01" for b in "01"]
# Of the cells, in the order of `PLACES`: no statement of the tree tells those with the same A apart.
WEIGHTS = np.array([1.0, -0.5, 1.0, 0.25])
PEOPLE = (30, 50, 20, 40)


def weighted(total: float, wide: float) -> Kind:
    """The weighted sum of the people of class b, of all quasi-identifiers, is ``total``."""

    def statement(context: Context):
        table = context.table
        rows = [PLACES.index(tuple(table.levels[j][code] for j, code in enumerate(row))) for row in table.codes]
        weights = WEIGHTS[np.array(rows)[context.cells.owner]]
        region = context.region(0, 0)
        inside = weights[context.regions.cells[region]]
        low, high = np.array([total - wide]), np.array([total + wide])
        yield Linear(
            "toy", Origin("toy"), region, np.array([[0.0, 1.0]]), low, high, "a sum", np.stack([inside, inside]).T
        )

    return Kind("toy", "toys: a weighted sum", "1", statement)


@pytest.mark.parametrize("wide", [0.0, 1e-4])
def test_a_weighted_sum_tilts_each_quasi_identifier_by_its_weight(backend, monkeypatch, wide):
    monkeypatch.setitem(registry.KINDS, "toy", weighted(30.0, wide))
    qi = pd.DataFrame([place for place, n in zip(PLACES, PEOPLE, strict=True) for _ in range(n)], columns=["A", "B"])
    found = estimate(tree([{}, {}], classes="ab"), qi, backend)
    share = brentq(lambda t: (WEIGHTS * PEOPLE / (1 + np.exp(-t * WEIGHTS))).sum() - 30.0 + wide, -9, 9)
    expected = dict(zip(PLACES, 1 / (1 + np.exp(-share * WEIGHTS)), strict=True))
    posterior = found.posterior.set_index(["A", "B"])["P(b)"]
    assert found.summary["status"] == "optimal"
    assert found.summary["constraints"]["toy"] == 1
    assert {key: posterior[key] for key in expected} == pytest.approx(expected, abs=2e-6)
