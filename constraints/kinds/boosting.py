"""Leaf values of a boosted model as statements about classes, with or without weights."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from maxent.constraints.kinds.boosted_leaves import SAYS
from maxent.constraints.kinds.context import Context, Kind
from maxent.constraints.program.program import Linear


def count_statements(context: Context) -> Iterator[Linear]:
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


COUNTS = Kind(
    "boosting",
    "scores: so many of a leaf's people have the class of its tree, as the leaf's value proves",
    r"m_{\Lambda,x} = \sum_{c \in \Lambda} w_c\, p_c + \frac{v_\Lambda}{\eta} \Bigl(h \sum_{c \in \Lambda} w_c\, p_c"
    r" (1 - p_c) + \lambda\Bigr) \quad \text{or within what rounding leaves of it}",
    count_statements,
    "counts",
)


# Values of leaves as statements with a coefficient for each quasi-identifier: classes or people have weights.


def sum_statements(context: Context) -> Iterator[Linear]:
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


SUMS = Kind(
    "linear",
    "weighted scores: a sum over a leaf's people, each with a coefficient, is what a number in the leaf says",
    r"\sum_{c \in \Lambda} \sum_x a_{c,x}\, m_{c,x} = b_\Lambda \quad \text{within what rounding leaves of it, with }"
    r" a_{c,x} = w_x \Bigl(p_c - [x = k] + \frac{v_\Lambda}{\eta}\, h\, p_c (1 - p_c)\Bigr), \;"
    r" b_\Lambda = -\frac{v_\Lambda}{\eta}\, \lambda",
    sum_statements,
    "counts",
)
