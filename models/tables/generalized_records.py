"""Generalised records: the published box of values of each, and the people whose values lie in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.errors import Check, InvalidInput, Problem, unchecked
from maxent.models.release import Attribute, Target
from maxent.models.tables.qi_table import QITable
from maxent.models.tables.training import Training

if TYPE_CHECKING:
    from pandas import DataFrame

# Boxes side by side, an array per attribute. Numeric: the smallest and the largest value, shape (n_boxes, 2).
# Categorical: which values of the domain, shape (n_boxes, n_values).
Boxes = tuple[npt.NDArray[Any], ...]

_AT_ONCE = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class GeneralizedTable:
    """Records in their original order, with their classes as they were and a box in place of the other values.

    Attributes
    ----------
    target : Target
    attributes : tuple of Attribute
    boxes : tuple of arrays, one per attribute
        The boxes, see `Boxes`; different ones may be alike.
    box : int64, shape (n,)
        The box of each record.
    y : int64, shape (n,)
        Codes of ``target.classes``.
    """

    target: Target
    attributes: tuple[Attribute, ...]
    boxes: Boxes
    box: IntArray
    y: IntArray

    def __len__(self) -> int:
        return len(self.box)

    def frame(self, *, in_order: bool = False) -> DataFrame:
        """The rows to publish, as text, sorted so that their order tells nothing, unless wanted ``in_order``.

        Numbers are written ``42-61``, sets ``A|B``, with a backslash before each ``|`` or backslash in a value.
        """
        import pandas as pd

        columns = {
            attribute.name: np.array(_texts(attribute, boxes), dtype=object)[self.box]
            for attribute, boxes in zip(self.attributes, self.boxes, strict=True)
        }
        columns[self.target.name] = np.array(self.target.classes, dtype=object)[self.y]
        rows = pd.DataFrame(columns)
        return rows if in_order else rows.sort_values(list(columns), ignore_index=True)

    def ncp(self) -> FloatArray:
        """Normalized certainty penalty of every box (Xu et al. 2006), shape (n_boxes, n_attributes), 0..1.

        The width of the box as a share of all boxes together: for numbers of the largest minus the smallest, for
        categories of how many there are, where a single one counts as 0 (Yang et al. 2019, (11)).
        """
        return np.column_stack([_penalty(boxes) for boxes in self.boxes])

    def gcp(self) -> float:
        """Global certainty penalty (Ghinita et al. 2007): the mean of `ncp` over records and attributes, 0..1."""
        return float(self.ncp()[self.box].mean())

    def fewest_alike(self) -> int:
        """Rows of the smallest group of rows that differ only in the class: the k of the k-anonymous table."""
        names = [attribute.name for attribute in self.attributes]
        return int(self.frame(in_order=True).groupby(names, sort=False).size().min())


def hulls(training: Training, members: IntArray, group: IntArray, n_groups: int) -> Boxes:
    """The smallest box around each group of records; of none without any. A record may be in several groups."""
    return tuple(
        _hull(attribute, column[members], group, n_groups)
        for attribute, column in zip(training.attributes, training.columns, strict=True)
    )


def _hull(attribute: Attribute, values: npt.NDArray[Any], group: IntArray, n_groups: int) -> npt.NDArray[Any]:
    """The smallest and largest value, or the set of values, of each group."""
    if attribute.values is not None:
        present = np.zeros((n_groups, len(attribute.values)), bool)
        present[group, values] = True
        return present
    bounds = np.tile([np.inf, -np.inf], (n_groups, 1))
    np.minimum.at(bounds[:, 0], group, values)
    np.maximum.at(bounds[:, 1], group, values)
    return bounds


def united(boxes: Boxes, members: IntArray, starts: IntArray) -> Boxes:
    """The smallest boxes around others: box i around ``members[starts[i]:starts[i + 1]]``, at least one each."""

    def around(of_attribute: npt.NDArray[Any]) -> npt.NDArray[Any]:
        parts = of_attribute[members]
        if parts.dtype == bool:
            return np.logical_or.reduceat(parts, starts)
        lowest, highest = np.minimum.reduceat(parts[:, 0], starts), np.maximum.reduceat(parts[:, 1], starts)
        return np.column_stack([lowest, highest])

    return tuple(around(of_attribute) for of_attribute in boxes)


def stacked(first: Boxes, second: Boxes) -> Boxes:
    """The boxes of both, one after the other."""
    return tuple(np.concatenate(pair) for pair in zip(first, second, strict=True))


def covering(
    table: GeneralizedTable, training: Training, members: IntArray, group: IntArray
) -> tuple[IntArray, IntArray]:
    """The most rows that cover each record, and records that each row covers, of any group; shapes (n,)."""
    rows, records = np.zeros(len(table), np.int64), np.zeros(len(table), np.int64)
    order = np.argsort(group, kind="stable")
    for here in np.split(members[order], np.flatnonzero(np.diff(group[order])) + 1):
        box, index, copies = np.unique(table.box[here], return_inverse=True, return_counts=True)
        held = np.zeros(len(box), np.int64)
        for some in np.array_split(here, 1 + len(here) * len(box) // _AT_ONCE):
            inside = np.ones((len(some), len(box)), bool)
            for boxes, column in zip(table.boxes, training.columns, strict=True):
                inside &= holds(boxes[box], column[some])
            rows[some] = np.maximum(rows[some], inside @ copies)
            held += inside.sum(axis=0)
        records[here] = np.maximum(records[here], held[index])
    return rows, records


def check_covering(table: GeneralizedTable, training: Training, members: IntArray, group: IntArray, k: int) -> None:
    """Refuse a table that is not (k, k)-anonymous within groups; the other parameters are those of `covering`."""
    rows, records = covering(table, training, members, group)
    problems = [
        Problem("table", field, f"at least k = {k}", f"{counts.min()} for record {counts.argmin() + 1}")
        for field, counts in (("rows that cover a record", rows), ("records that a row covers", records))
        if counts.min() < k
    ]
    if problems:
        raise InvalidInput("generalized records", problems)


def holds(boxes: npt.NDArray[Any], values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Whether each value lies in each box of its attribute, shape (n_values, n_boxes)."""
    if boxes.dtype == bool:
        return np.asarray(boxes.T[values])
    return np.asarray((boxes[:, 0] <= values[:, None]) & (values[:, None] <= boxes[:, 1]))


def _penalty(boxes: npt.NDArray[Any]) -> FloatArray:
    """NCP of the boxes of one attribute (11)."""
    if boxes.dtype == bool:
        sizes = boxes.sum(axis=1)
        return np.where(sizes > 1, sizes / boxes.any(axis=0).sum(), 0.0)
    widths = boxes[:, 1] - boxes[:, 0]
    whole = boxes[:, 1].max() - boxes[:, 0].min()
    return widths / whole if whole > 0 else np.zeros(len(boxes))


def _texts(attribute: Attribute, boxes: npt.NDArray[Any]) -> Iterable[str]:
    """The boxes of one attribute as they are published."""
    if attribute.values is None:
        bounds = [[repr(value).removesuffix(".0") for value in pair] for pair in boxes.tolist()]
        return [low if low == high else f"{low}-{high}" for low, high in bounds]
    names = [value.replace("\\", "\\\\").replace("|", "\\|") for value in attribute.values]
    return ["|".join(name for name, held in zip(names, which, strict=True) if held) for which in boxes.tolist()]


# Coverage of published boxes: the people whose values lie in each.

_BITS = 1 << 29  # values times boxes, and people times boxes, that are looked at together


def covering_pairs(boxes: Boxes, people: QITable, check: Check = unchecked) -> tuple[IntArray, IntArray]:
    """Every quasi-identifier with every box that holds all of its values, sorted by box, then by quasi-identifier.

    A bit per value and box decides, so that the work grows with people times boxes, 64 at once.
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
