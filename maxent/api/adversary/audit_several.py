"""Auditing several releases about overlapping people: the nodes of each, and how it prints error rates."""

from __future__ import annotations

from collections.abc import Sequence

from maxent.api.case import Case
from maxent.models.arrays import FloatArray
from maxent.models.trees.printed_rates import RateReader, Rounding, release_rates


def published_nodes(case: Case) -> list[int]:
    """The nodes of each tree that were published: the leaf of those who are not in its release is its last one."""
    joined = case.joined
    if joined is None:
        return [len(tree.nodes) for tree in case.release.trees]
    parts = enumerate(joined.parts)
    return [len(tree.nodes) - joined.partial(i) for i, part in parts for tree in part.trees]


def rates_of(case: Case, sizes: Sequence[FloatArray] | None, rounding: Rounding) -> list[RateReader]:
    """How the error rates of each tree were printed: those of a release in one way, of several each in its own."""
    if case.joined is None:
        return [release_rates(case.release, sizes, rounding)] * len(case.release.trees)
    found = []
    for part, first in zip(case.joined.parts, case.joined.first, strict=True):
        own = None if sizes is None else sizes[first : first + len(part.trees)]
        found += [release_rates(part, own, rounding)] * len(part.trees)
    return found
