"""Information that re-identifying the people of each node takes (Yang et al. 2019), in bits, as rows of an audit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from maxent.models.errors import InvalidInput, Problem
from maxent.models.nodes import attributes_of
from maxent.models.release import Release
from maxent.models.tables.qi_table import QITable
from maxent.models.trees.reidentification import Risk, measure_risk, ranges_of


def audit_risk(release: Release, people: QITable | None) -> tuple[Risk, ...]:
    """Measure the nodes of every tree; numbers lie between the smallest and the largest of the adversary's table.

    Raises
    ------
    InvalidInput
        Naming every numeric attribute that is split and whose values are not known, or else what
        `maxent.models.trees.reidentification.measure_risk` refuses.
    """
    ranges = {} if people is None else ranges_of(people.attributes, people.levels)
    split = set().union(*(attributes_of(tree.nodes) for tree in release.trees))
    unknown = [a for a in release.attributes if a.values is None and a.name in split and a.name not in ranges]
    problems = []
    for attribute in unknown:
        where, known = f"attribute {attribute.name!r}", "the smallest and the largest of its values are needed"
        if attribute.role == "private":
            problems.append(Problem(where, "role", f"public in a tree whose risk is measured: {known}", "private"))
        else:
            problems.append(Problem(where, "range", f"the adversary's table (qi=): {known}", "none"))
    if problems:
        raise InvalidInput("risk", problems)
    return tuple(measure_risk(release, ranges, tree=number) for number in range(len(release.trees)))


def bits_to_identify(release: Release, people: QITable) -> tuple[float | None, float | None]:
    """Bits that it takes to re-identify somebody, R(t) of leaves: the fewest, and the mean over records.

    Of several trees those of the one that makes it easiest; None where leaves or ranges do not say enough.
    """
    try:
        risks = audit_risk(release, people)
    except InvalidInput:
        return None, None
    fewest, mean = [], []
    for risk in risks:
        held = ~risk.inner & (risk.n > 0)
        if held.any():
            fewest.append(float(risk.total[held].min()))
            mean.append(float(np.average(risk.total[held], weights=risk.n[held])))
    return min(fewest, default=None), min(mean, default=None)


def risk_rows(risks: Sequence[Risk]) -> Iterator[dict[str, Any]]:
    """A row per node: ``tree`` (from 1), and the columns of `Risk.frame`; None for what is none or not known."""
    for number, risk in enumerate(risks, 1):
        for row in risk.frame().to_dict("records"):
            yield {"tree": number, **{str(name): None if value != value else value for name, value in row.items()}}
