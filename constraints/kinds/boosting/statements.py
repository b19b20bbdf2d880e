"""Leaf values of a boosted model as statements: the number of people of a class in a leaf."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from maxent.constraints.kinds.context import Context, Kind
from maxent.constraints.program import Linear


def statements(context: Context) -> Iterator[Linear]:
    """The mass of a class in a leaf equals the count that the value of the leaf proves."""
    found, classes = context.scored, context.release.target.classes
    each = np.eye(len(classes))
    rows = zip(*(a.tolist() for a in (found.tree, found.place, found.klass, found.slope)), strict=True)
    for i, (t, place, klass, slope) in enumerate(rows):
        low, high = found.low[i : i + 1], found.high[i : i + 1]
        if slope:
            says = f"value of the leaf: {classes[klass]} less {slope:.6g} of all, {low[0]:.6g} to {high[0]:.6g}"
        elif low[0] == high[0]:
            says = f"value of the leaf: {classes[klass]} {low[0]:,.0f}"
        else:
            says = f"value of the leaf: {classes[klass]} {low[0]:,.0f} to {high[0]:,.0f}"
        coef = each[klass : klass + 1] - slope
        origin = context.origin(t, context.release.trees[t].nodes[place])
        yield Linear("boosting", origin, context.region(t, place), coef, low, high, says)


KIND = Kind(
    "boosting",
    "scores: so many of a leaf's people have the class of its tree, as the leaf's value proves",
    r"m_{\Lambda,x} = \sum_{c \in \Lambda} w_c\, p_c + \frac{v_\Lambda}{\eta} \Bigl(h \sum_{c \in \Lambda} w_c\, p_c"
    r" (1 - p_c) + \lambda\Bigr) \quad \text{or within what rounding leaves of it}",
    statements,
    "counts",
)
