"""What the leaves of a tree may state, and whether its criterion is stated: what ``--choose`` chooses among."""

from __future__ import annotations

from dataclasses import replace
from math import isclose
from typing import Any

from maxent.models.defenses.optimal.best_first import BestFirst
from maxent.models.errors import InvalidInput
from maxent.models.release import Release
from maxent.models.tables.training import Training

BASES = (3, 5, 10)
"""Bases that counts are rounded to, where none is asked for: those that statistical offices use."""

OTHERS = ("max_posterior", "sensitive", "l", "alpha", "max_certain", "min_divergence", "max_right_guesses", "max_lift")
"""Limits besides the size of leaves, which all that is stated has in common."""


def statements(method: Any, n_classes: int, criterion: bool = True) -> list[dict[str, Any]]:
    """Parameters of the method ``optimal`` for all that may be stated, what says the most first.

    Counts come before rounded ones, those of a smaller base first, then rates, then labels; each with the criterion
    before it comes without. Rates of two classes say the same as counts. Counts are not rounded where decisions are
    made from them or they answer for removed leaves. ``criterion`` is whether it is known what splits were chosen by.
    """
    bases: tuple[int | None, ...] = BASES if method.round_counts is None else (method.round_counts,)
    bases = () if method.cost is not None or method.remove else bases
    said = [("counts", base) for base in (None, *bases)]
    said += [("rates", None)] * (n_classes != 2) + [("labels", None)]
    return [
        {"publish": publish, "round_counts": base, "criterion": told}
        for publish, base in said
        for told in (*["stated"] * criterion, "unstated")
    ]


def reached_without_limits(method: Any, training: Training, grown: Release) -> float | None:
    """What the best subtree reaches whose leaves are large enough, whatever it discloses; None of decisions.

    Nothing that is stated lets another reach more. Decisions depend on what is stated.
    """
    if method.cost is not None:
        return None
    limits = replace(method.limits, **dict.fromkeys(OTHERS))
    try:
        found = BestFirst(grown, limits, training, remove=method.remove, hierarchies=method.hierarchies).next()
    except InvalidInput:
        return None
    return None if found is None else found.reached


def reaches_all(reached: float, most: float | None) -> bool:
    """Whether nothing can be better."""
    return most is not None and isclose(reached, most, rel_tol=1e-12, abs_tol=1e-12)
