"""Structural attacks on control people: how often a class that an attack shows is theirs, too."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from maxent.attacks.findings import ATTACKS, CERTAIN, Findings
from maxent.attacks.leaves import NO_CLASS
from maxent.attacks.linking import link
from maxent.constraints.cells import build_cells
from maxent.evidence.control_people import Controls
from maxent.evidence.intervals import newcombe
from maxent.evidence.two_groups import Two
from maxent.models.arrays import IntArray


def attacked_controls(
    found: Findings, controls: Controls, confidence: float, classes: Iterable[int] | None = None
) -> dict[str, Any]:
    """The attacks on the people of a release, and the same conclusions drawn about control people.

    Somebody in a leaf (or a span) that shows a class is said to have it. About members that is proved. Control people
    would be in the same leaf; how many of them have the class says how much of it the release teaches about everybody.

    Parameters
    ----------
    found : Findings
        Of a release with an adversary's table.
    controls : Controls
    confidence : float
        Probability of the interval.
    classes : iterable of int, optional
        Count only what is shown of these; all classes by default.

    Returns
    -------
    dict
        ``members`` and ``controls``, the shares of all of them whose class is shown and is theirs; the ``difference``,
        its ``interval`` and ``confidence``; ``individuals``, and those of whom a class is ``shown``, of each.
    """
    assert found.people is not None
    assert found.links is not None
    nodes = [len(tree.places.tree.nodes) for tree in found.trees]
    links = link(build_cells(found.release, controls.table), controls.table.counts, nodes)
    theirs = _shown(replace(found, people=controls.table, links=links, contradictions=()))
    mine = _shown(found)
    right = np.where(theirs != NO_CLASS, controls.truth[np.arange(len(theirs)), np.maximum(theirs, 0)], 0)
    counted = list(range(len(found.release.target.classes)) if classes is None else classes)
    members, others = found.people.counts, controls.table.counts
    people = int(members.sum()), int(others.sum())
    shown = int(members[np.isin(mine, counted)].sum()), int(others[np.isin(theirs, counted)].sum())
    hits = shown[0], int(right[np.isin(theirs, counted)].sum())
    shares = Two(*(hit / many for hit, many in zip(hits, people, strict=True)))
    return {
        **shares.as_dict(newcombe(hits, people, confidence)),
        "confidence": confidence,
        "individuals": {"members": people[0], "controls": people[1]},
        "shown": {"members": shown[0], "controls": shown[1]},
    }


def _shown(found: Findings) -> IntArray:
    """The class that an attack shows of everybody whom it works on, `NO_CLASS` where none does; shape (n_qi,)."""
    exposure = found.exposure
    sure = np.isin(exposure.attack, [ATTACKS.index(name) for name in CERTAIN])
    return np.where(sure, exposure.disclosed, NO_CLASS).astype(np.int64)
