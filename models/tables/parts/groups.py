"""Groups of leaves that are evaluated together, each as large as memory allows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import BoolArray, IntArray
from maxent.models.tables.parts.runs import Rows, joined, slices


@dataclass(frozen=True, slots=True)
class Group:
    """The leaves ``low`` to ``high - 1``; of a single large one only some rows, ``part`` of so many ``parts``."""

    low: int
    high: int
    part: int = 0
    parts: int = 1


def groups_of(rows: IntArray, most: int) -> tuple[Group, ...]:
    """Consecutive leaves in groups of up to ``most`` rows; leaves that have more are divided.

    ``rows``, shape (n_leaves,), are those of each leaf. Leaves without any are in no group of their own.
    """
    return tuple(_groups(rows.tolist(), most))


def _groups(rows: Sequence[int], most: int) -> Iterator[Group]:
    low, held = 0, 0
    for leaf, size in enumerate(rows):
        if held and held + size > most:
            yield Group(low, leaf)
            low, held = leaf, 0
        if size > most:
            parts = -(-size // most)
            yield from (Group(leaf, leaf + 1, part, parts) for part in range(parts))
            low = leaf + 1
        else:
            held += size
    if held:
        yield Group(low, len(rows))


def read_group(runs: Sequence[str], group: Group, room: int = 1) -> Rows | None:
    """The rows of a group, sorted by leaf and quasi-identifier, equal ones merged; None where there are none.

    ``room`` is that of the last word, for what is no part of the quasi-identifier: rows that differ in it alone are in
    the same part of a group.
    """
    parts = list(slices(runs, group.low, group.high))
    if group.parts > 1:
        parts = [_some(rows, _in_part(rows, group, room)) for rows in parts]
    return joined(parts).merged() if parts else None


def _some(rows: Rows, keep: BoolArray) -> Rows:
    return Rows(rows.leaf[keep], rows.words[:, keep], rows.count[keep])


def _in_part(rows: Rows, group: Group, room: int) -> BoolArray:
    """Whether rows belong to a part of their leaf: quasi-identifiers that are alike in some columns are spread."""
    mixed = np.zeros(len(rows), np.uint64)
    for i, word in enumerate(rows.words):
        own = word // room if i == len(rows.words) - 1 else word
        mixed = (mixed ^ own.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    return np.asarray(mixed % np.uint64(group.parts) == group.part)


def positions(of: Rows, wanted: Rows) -> tuple[IntArray, BoolArray]:
    """Where rows are among sorted ones that differ, shape (n_wanted,), and whether they are there."""
    both = np.concatenate([of.words, wanted.words], axis=1)
    order = np.lexsort((*both[::-1], np.concatenate([of.leaf, wanted.leaf])))
    leaf = np.concatenate([of.leaf, wanted.leaf])[order]
    new = np.ones(len(order), bool)
    new[1:] = (leaf[1:] != leaf[:-1]) | (both[:, order][:, 1:] != both[:, order][:, :-1]).any(axis=0)
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(new) - 1
    where = np.full(int(new.sum()), -1)
    where[number[: len(of)]] = np.arange(len(of))
    at = where[number[len(of) :]]
    return at, at >= 0
