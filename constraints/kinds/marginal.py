"""Marginals: the individuals of each class in the whole table."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from maxent.constraints.kinds.context import Context, Kind
from maxent.constraints.program.program import Linear
from maxent.models.errors import Origin


def marginal(context: Context) -> Iterator[Linear]:
    """The number of individuals of each class in the whole table (the SA constraint of Zhu & Du 2010, section 4.3)."""
    if context.marginal is None:
        return
    region = context.region(0, 0)
    says = "marginal " + ", ".join(
        f"{c}: {n:,.10g}" for c, n in zip(context.release.target.classes, context.marginal, strict=True)
    )
    yield Linear(
        "marginal", Origin("marginal"), region, np.eye(context.n_classes), context.marginal, context.marginal, says
    )


KIND = Kind(
    "marginal",
    "marginals: so many people in the whole table have this class",
    r"\sum_c m_{c,x} = n_x",
    marginal,
    "marginal",
)
