"""Facts: background knowledge of the classes of some people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from maxent.constraints.kinds.context import Context, Kind
from maxent.constraints.program.program import Linear
from maxent.models.errors import Origin

if TYPE_CHECKING:
    from maxent.models.tables.truth_and_facts import Fact


def facts(context: Context) -> Iterator[Linear]:
    """Background knowledge: at least so many of the individuals with these quasi-identifiers have this class."""
    merged: dict[tuple[bytes, int], list[Fact]] = {}
    for fact in context.facts:
        merged.setdefault((fact.rows.tobytes(), fact.class_index), []).append(fact)
    for (rows, x), group in merged.items():
        inside = np.flatnonzero(np.isin(context.cells.owner, group[0].rows))
        known = float(sum(fact.count for fact in group))
        lines = ", ".join(str(fact.line) for fact in group)
        yield Linear(
            "facts",
            Origin(f"{group[0].source}, line {lines}"),
            context.regions.add(("facts", rows), inside),
            np.eye(context.n_classes)[[x]],
            np.array([known]),
            np.array([np.inf]),
            f"at least {known:,.0f} with {context.release.target.classes[x]}",
        )


KIND = Kind(
    "facts",
    "background knowledge: at least so many of some people have this class",
    r"\sum_{c \in F} m_{c,x} \ge k_F",
    facts,
)
