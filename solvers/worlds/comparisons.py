"""Comparisons of splits over whole numbers: class totals of branches, and sums of functions of these.

``E_T <= E_U`` reads ``sum_T phi - sum_U phi >= 0`` (`maxent.constraints.impurity`): a sum of terms, each a factor
times ``a^2 / W`` (Gini), ``a ln a`` or ``-W ln W`` (entropy and gain ratio), with a the people of a class in a branch
and W all of its people. For the gain ratio each side is divided by its split information, which the sizes of the
branches tell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from maxent.constraints.presolve.part_view import PartView
from maxent.constraints.program import Internal, Program
from maxent.constraints.residuals import InternalRows
from maxent.models.arrays import FloatArray, IntArray

# Impurities that are closer may have been compared either way: inducers compare what they computed with rounding.
TIED = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """People who go one way: the groups of a part, and how many they are, None where private attributes decide that.

    ``most`` is how many they can be.
    """

    groups: IntArray
    size: int | None
    most: int


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """One comparison that a chosen split won; ``strict`` where a tie would have gone to the candidate.

    ``node`` are all people of the node.
    """

    measure: str
    chosen: tuple[Branch, ...]
    candidate: tuple[Branch, ...]
    node: Branch
    strict: bool

    @property
    def branches(self) -> tuple[Branch, ...]:
        return (*self.chosen, *self.candidate, self.node)

    def advantage(self, totals: list[FloatArray]) -> float:
        """``E_U - E_T`` from the class totals of `branches`, or the chosen ratio minus the candidate's."""
        chosen, rest = totals[: len(self.chosen)], totals[len(self.chosen) : -1]
        node = totals[-1]
        n = max(float(node.sum()), 1.0)
        t, u = (sum(_phi(self.measure, a) for a in sides) for sides in (chosen, rest))
        if self.measure != "gain_ratio":
            return (t - u) / n
        whole = _phi(self.measure, node)
        split = [_plogp(np.array([a.sum() for a in sides])) for sides in (chosen, rest)]
        undivided = _plogp(np.array([node.sum()]))
        return (t - whole) / (undivided - split[0]) - (u - whole) / (undivided - split[1])

    def holds(self, totals: list[FloatArray]) -> bool:
        """Whether the comparison is won, ties as `strict` has them."""
        advantage = self.advantage(totals)
        return advantage > TIED if self.strict and tells_ties(self) else advantage >= -TIED


def tells_ties(comparison: Comparison) -> bool:
    """Whether an exact tie can be told from what rounding makes of a difference: Gini, few people."""
    scale = gini_scale(comparison)
    return scale is not None and TIED * scale * comparison.node.most < 0.5


def gini_scale(comparison: Comparison) -> int | None:
    """What makes the comparison one of integers, the least common multiple of all sizes; None where there is none."""
    if comparison.measure != "gini":
        return None
    sizes = [branch.size for branch in (*comparison.chosen, *comparison.candidate)]
    if any(size is None for size in sizes):
        return None
    scale = math.lcm(*(size for size in sizes if size))
    return scale if scale * comparison.node.most < 2**50 else None


def _plogp(a: FloatArray) -> float:
    a = a[a > 0]
    return float((a * np.log(a)).sum())


def _phi(measure: str, a: FloatArray) -> float:
    size = float(a.sum())
    if not size:
        return 0.0
    return float((a * a).sum()) / size if measure == "gini" else _plogp(a) - size * math.log(size)


def comparisons_of(program: Program, view: PartView, rows: InternalRows) -> list[Comparison]:
    """The comparisons of a part; ``rows`` are all of the program's."""
    order = {attribute.name: i for i, attribute in enumerate(program.release.attributes)}
    known: dict[bytes, Branch] = {}

    def branch(cells: IntArray) -> Branch:
        groups = np.searchsorted(view.part.groups, np.unique(view.merged.group[cells]))
        key = groups.tobytes()
        if key not in known:
            size = view.size(groups)
            known[key] = Branch(groups, None if size is None else round(size), round(view.people(groups)))
        return known[key]

    found = []
    which = rows.constraint_of(view.part.internal)
    for row, k in zip(view.part.internal.tolist(), which.tolist(), strict=True):
        internal = program.internal[k]
        held = program.cells.trees[internal.tree]
        children = held.places.children[internal.place]
        chosen = tuple(branch(held.at(child)) for child in children if held.stop[child] > held.start[child])
        code = int(internal.codes[row - rows.first_row[k]])
        candidate = tuple(branch(cells) for cells in _sides(program, internal, code))
        strict = program.ties == "first" and order[internal.candidate] < order[internal.chosen]
        found.append(Comparison(internal.measure, chosen, candidate, branch(held.at(internal.place)), strict))
    return found


def _sides(program: Program, internal: Internal, code: int) -> list[IntArray]:
    """The cells of each branch that a candidate would have had."""
    cells = program.cells.trees[internal.tree].at(internal.place)
    codes = program.table.codes[program.cells.owner[cells], internal.column]
    if internal.form == "values":
        return [cells[codes == value] for value in np.unique(codes).tolist()]
    left = codes <= code if internal.form == "cuts" else codes == code
    return [cells[left], cells[~left]]
