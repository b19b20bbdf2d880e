"""Auditing several releases about overlapping people: the nodes of each, and how it prints error rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from maxent.api.case import Case
from maxent.models.arrays import FloatArray
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.trees.printed_rates import RateReader, Rounding, release_rates


def published_nodes(case: Case) -> list[int]:
    """The nodes of each tree that were published: the leaf of those who are not in its release is its last one."""
    joined = case.joined
    if joined is None:
        return [len(tree.nodes) for tree in case.release.trees]
    parts = enumerate(joined.parts)
    return [len(tree.nodes) - joined.partial(i) for i, part in parts for tree in part.trees]


def rates_of(case: Case, sizes: Sequence[FloatArray] | None, rounding: Rounding) -> RateReader:
    """How error rates were printed; of several releases each in the same way.

    Raises
    ------
    InvalidInput
        Where one release prints them otherwise than another.
    """
    if case.joined is None:
        return release_rates(case.release, sizes, rounding)
    found = []
    for part, first in zip(case.joined.parts, case.joined.first, strict=True):
        own = None if sizes is None else sizes[first : first + len(part.trees)]
        found.append(release_rates(part, own, rounding))
    plain = [replace(r, note="", of_classes=r.of_classes and replace(r.of_classes, note="")) for r in found]
    stating = [i for i, r in enumerate(found) if r.note or r.of_classes is not None] or [0]
    if any(plain[i] != plain[stating[0]] for i in stating):
        expected = "releases whose error rates are printed in the same way, or an audit of each (estimate takes both)"
        raise invalid("releases", ARGUMENT, "rounding", expected, "different ways")
    return found[stating[0]]
