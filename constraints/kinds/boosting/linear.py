"""Values of leaves as statements with a coefficient for each quasi-identifier: classes or people have weights."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from maxent.constraints.kinds.boosting.class_weights import SAYS
from maxent.constraints.kinds.context import Context, Kind
from maxent.constraints.program import Linear


def statements(context: Context) -> Iterator[Linear]:
    """A weighted sum over the people of a leaf equals a number stated by the leaf."""
    classes = context.release.target.classes
    for said in context.scored.sums:
        origin = context.origin(said.tree, context.release.trees[said.tree].nodes[said.place])
        about = ", ".join(name for name, coef in zip(classes, said.coef.tolist(), strict=True) if coef)
        ends = f"{said.low:,.6g}" if said.low == said.high else f"{said.low:,.6g} to {said.high:,.6g}"
        says = f"{SAYS[said.of]} of the leaf: weighted sum of {about} {ends}"
        low, high = np.array([said.low]), np.array([said.high])
        region = context.region(said.tree, said.place)
        yield Linear("linear", origin, region, said.coef[None], low, high, says, said.weights)


KIND = Kind(
    "linear",
    "weighted scores: a sum over a leaf's people, each with a coefficient, is what a number in the leaf says",
    r"\sum_{c \in \Lambda} \sum_x a_{c,x}\, m_{c,x} = b_\Lambda \quad \text{within what rounding leaves of it, with }"
    r" a_{c,x} = w_x \Bigl(p_c - [x = k] + \frac{v_\Lambda}{\eta}\, h\, p_c (1 - p_c)\Bigr), \;"
    r" b_\Lambda = -\frac{v_\Lambda}{\eta}\, \lambda",
    statements,
    "counts",
)
