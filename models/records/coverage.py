"""Coverage of published boxes: the people whose values lie in each."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import IntArray
from maxent.models.looking import Check, unchecked
from maxent.models.records.generalized_table import Boxes, holds
from maxent.models.tables.qi_table import QITable

_BITS = 1 << 29  # values times boxes, and people times boxes, that are looked at together


def covering_pairs(boxes: Boxes, people: QITable, check: Check = unchecked) -> tuple[IntArray, IntArray]:
    """Every quasi-identifier with every box that holds all of its values.

    ``boxes``: over the attributes of ``people``, categorical ones over the same domain. ``check``: called for each
    block of them; it may raise. Returns ``quasi_identifier``, ``box``: sorted by box, then by quasi-identifier. A bit
    per value and box decides, so that the work grows with people times boxes, 64 at once, and with the pairs.
    """
    n_boxes = len(boxes[0])
    longest = max(map(len, people.levels))
    at_once = min(n_boxes, max(64, _BITS // 8 // longest))
    found = [
        _covered_by(tuple(of[begin : begin + at_once] for of in boxes), begin, people, check)
        for begin in range(0, n_boxes, at_once)
    ]
    owner, box = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(box, kind="stable")
    return owner[order], box[order]


def _covered_by(boxes: Boxes, begin: int, people: QITable, check: Check) -> tuple[IntArray, IntArray]:
    """The pairs of some boxes, whose numbers start at ``begin``, sorted by quasi-identifier."""
    n_boxes = len(boxes[0])
    bits = [_bits(of, levels) for of, levels in zip(boxes, people.levels, strict=True)]
    rows = max(1, _BITS // 8 // n_boxes)
    owners, found = [], []
    for first in range(0, len(people), rows):
        check()
        codes = people.codes[first : first + rows]
        held = bits[0][codes[:, 0]]
        for j in range(1, len(bits)):
            held &= bits[j][codes[:, j]]
        owner, box = np.divmod(np.flatnonzero(np.unpackbits(held.view(np.uint8), axis=1, count=n_boxes)), n_boxes)
        owners.append(owner + first)
        found.append(box + begin)
    return np.concatenate(owners), np.concatenate(found)


def _bits(
    boxes: npt.NDArray[np.bool_] | npt.NDArray[np.float64], levels: npt.NDArray[np.generic]
) -> npt.NDArray[np.uint64]:
    """Whether each value of an attribute lies in each box, 64 boxes in a number, shape (n_levels, n_boxes / 64)."""
    inside = holds(boxes, np.arange(len(levels)) if boxes.dtype == bool else levels)
    packed = np.packbits(inside, axis=1)
    return np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64)
