"""The quasi-identifiers that an adversary is surest of and, with a truth, right about: the first ones of all groups."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.tables.parts.coding import Coded


@dataclass(frozen=True, slots=True)
class Surest:
    """A quasi-identifier, as codes, with its people and the likeliest class.

    ``hidden`` are nats of doubt, and with a truth of error, too: those with the fewest come first, of equal ones that
    with the most people, as in `maxent.results.comparison.exposure_order`.
    """

    hidden: float
    count: int
    codes: tuple[int, ...]
    klass: int
    probability: float
    divergence: float | None

    def entry(self, table: Coded, classes: tuple[str, ...]) -> dict[str, Any]:
        """An item of ``most_disclosed`` of a comparison."""
        values = [level[code] for level, code in zip(table.levels, self.codes, strict=True)]
        plain = [value if isinstance(value, str) else float(value) for value in values]
        found: dict[str, Any] = {
            "qi": dict(zip((attribute.name for attribute in table.attributes), plain, strict=True)),
            "count": self.count,
            "class": classes[self.klass],
            "probability": self.probability,
        }
        return found if self.divergence is None else {**found, "divergence": self.divergence}


def surest_of(
    codes: IntArray, count: IntArray, p: FloatArray, divergence: FloatArray | None, most: int
) -> list[Surest]:
    """The first of some quasi-identifiers, up to ``most``; shapes (n, n_attributes), (n,), (n, n_classes) and (n,)."""
    if not most or not len(p):
        return []
    largest = p.max(axis=1)
    hidden = -np.log(largest) if divergence is None else divergence - np.log(largest)
    last = min(most, len(hidden)) - 1
    here = np.flatnonzero(hidden <= np.partition(hidden, last)[last])
    order = here[np.lexsort((*codes[here].T[::-1], -count[here], hidden[here]))][:most]
    return [
        Surest(
            float(hidden[i]),
            int(count[i]),
            tuple(codes[i].tolist()),
            int(p[i].argmax()),
            float(largest[i]),
            None if divergence is None else float(divergence[i]),
        )
        for i in order.tolist()
    ]


def first_of(found: Iterable[Surest], most: int) -> list[Surest]:
    """The first of those of several blocks or groups."""
    return sorted(found, key=lambda each: (each.hidden, -each.count, each.codes))[:most]
