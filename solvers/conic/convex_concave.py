"""Convex-concave procedure: replaces nonconvex terms by tangents, solves, and repeats.

All points of the procedure meet the nonlinear rows once one does, and their entropies increase. While none does, the
rows have a slack whose price grows (Lipp & Boyd, "Variations and extension of the convex-concave procedure",
Optimization and Engineering 17, 2016).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from maxent.models.arrays import FloatArray
from maxent.solvers.conic.model import Answer, ConicModel

# Nats that an individual of slack costs, step by step while there is some.
PRICES = (1.0, 10.0, 100.0, 1e3, 1e4)
# Individuals of slack in a sum of impurities that are the solver's rounding.
NO_SLACK = 1e-6
# At the highest price, slack has to shrink to this share in every step, else there is no way to a feasible point.
FEWER = 0.99


def convex_concave(
    model: ConicModel, start: FloatArray, feasible: bool, solve: Callable[[ConicModel], Answer]
) -> Iterator[Answer]:
    """Steps from a point of shape (n,), without end unless one fails or slack cannot be removed.

    ``feasible`` is whether the start meets the nonlinear rows, which is then never given up for a better objective.
    """
    level = 2 if feasible else 0
    point, slack = start, np.inf
    while True:
        model.linearise(point, PRICES[level])
        answer = solve(model)
        yield answer
        stuck = answer.slack > max(NO_SLACK, FEWER * slack) and level == len(PRICES) - 1
        if answer.point is None or stuck:
            return
        if answer.slack > NO_SLACK:
            if level == len(PRICES) - 1:
                slack = answer.slack
            level = min(level + 1, len(PRICES) - 1)
        point = answer.point
