"""Information that re-identifying the people of a tree's node takes (Yang et al. 2019), in bits.

A node is a box: of each attribute the values with which its path can be followed. Who wants to re-identify its people
has to find out who is in the box (the finer the box, the more information), and then who is who among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite, log2
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from maxent.models.arguments import shorten
from maxent.models.arrays import FloatArray, IntArray
from maxent.models.errors import InvalidInput, Problem
from maxent.models.release import Attribute, Release, Tree
from maxent.models.tables.frame import listed
from maxent.models.trees.places import Interval, Places, interval_of, number_places
from maxent.models.trees.restate import counts_reader, node_place

if TYPE_CHECKING:
    from pandas import DataFrame

    from maxent.models.tables.domains import Ranges


@dataclass(frozen=True, slots=True, eq=False)
class Risk:
    """The measures of Yang et al. (2019) for every node of a tree, in the order of its nodes; shapes (n_nodes,).

    Attributes
    ----------
    nodes : tuple of str
        Their ids.
    n : int64
        Records.
    granularity : float64, bits
        Background information granularity, BIG(t) (1): to find out who is in the node. Infinite for a box without
        extent.
    branch_total : float64, bits
        R(B_t) (6): the smallest ``total`` of the leaves below the node.
    errors, branch_errors : float64, records
        E(t) and E(B_t) (8, 9): records that are not of the most frequent class of the node, and of their leaves.
        NaN unless every leaf states its counts, or what implies them.
    inner : bool
        Whether the node is split.
    """

    nodes: tuple[str, ...]
    n: IntArray
    granularity: FloatArray
    branch_total: FloatArray
    errors: FloatArray
    branch_errors: FloatArray
    inner: npt.NDArray[np.bool_]

    @property
    def conditional(self) -> FloatArray:
        """Information for conditional re-identification, ICR(t) = log2 n (3); infinite where nobody is."""
        return _conditional(self.n)

    @property
    def total(self) -> FloatArray:
        """Total information for disclosing individuals (TIDI), R(t) = BIG(t) + ICR(t) (5)."""
        return self.granularity + self.conditional

    @property
    def ratio(self) -> FloatArray:
        """Error-risk ratio, bits per record (10), see `error_risk_ratio`; NaN for leaves."""
        columns = (self.total, self.branch_total, self.errors, self.branch_errors)
        ratios = [error_risk_ratio(*of) for of in zip(*(column.tolist() for column in columns), strict=True)]
        return np.where(self.inner, ratios, np.nan)

    def frame(self) -> DataFrame:
        """One row per node, with the paper's names: node, n, BIG, ICR, R, R_branch, E, E_branch, omega."""
        import pandas as pd

        return pd.DataFrame(
            {
                "node": np.array(self.nodes, dtype=object),
                "n": self.n,
                "BIG": self.granularity,
                "ICR": self.conditional,
                "R": self.total,
                "R_branch": self.branch_total,
                "E": self.errors,
                "E_branch": self.branch_errors,
                "omega": self.ratio,
            }
        )


def error_risk_ratio(total: float, branch_total: float, errors: float, branch_errors: float) -> float:
    """Bits gained by pruning a branch, for each record that is then misclassified (10)."""
    gain = 0.0 if total == branch_total else total - branch_total  # both may be infinite
    cost = errors - branch_errors
    return inf if cost == 0 else gain / cost


def ranges_of(attributes: Sequence[Attribute], columns: Sequence[npt.NDArray[Any]]) -> dict[str, Interval]:
    """The range of every numeric attribute, of which there is at least one value."""
    pairs = zip(attributes, columns, strict=True)
    numeric = ((a.name, values[~np.isnan(values)]) for a, values in pairs if a.values is None)
    return {name: (float(values.min()), float(values.max())) for name, values in numeric if len(values)}


def measure_risk(release: Release, ranges: Ranges | None = None, *, tree: int = 0) -> Risk:
    """Measure the disclosure risk of every node of a tree (Yang et al.

    2019, Definitions 1-7). Records of removed leaves count nowhere; a leaf without records has an infinite total.
    """
    model, ranges = release.trees[tree], ranges or {}
    places, size = number_places(model), len(model.nodes)
    problems: list[Problem] = []
    n, errors, branch_errors = _records(release, tree, places, problems)
    problems = _range_problems(model, release.attributes, ranges) + listed(problems, len(problems), "nodes")
    if problems:
        raise InvalidInput("risk", problems)
    granularity = _granularity(model, places, release.attributes, ranges)
    branch_total = (granularity + _conditional(n)).tolist()
    for place in reversed(places.top_down):
        if below := places.children[place]:
            branch_total[place] = min([branch_total[child] for child in below])
    return Risk(
        tuple(node.id for node in model.nodes),
        n[:size],
        granularity[:size],
        np.array(branch_total[:size]),
        errors[:size],
        branch_errors[:size],
        np.array([not node.is_leaf for node in model.nodes]),
    )


def _conditional(n: IntArray) -> FloatArray:
    """ICR (3); infinite where there are no records."""
    return np.log2(n, out=np.full(len(n), inf), where=n > 0)


def _range_problems(tree: Tree, attributes: Sequence[Attribute], ranges: Ranges) -> list[Problem]:
    """Numeric attributes that are split but whose range is missing or none."""
    split = {node.attribute for node in tree.nodes}
    problems = []
    for name in (a.name for a in attributes if a.values is None and a.name in split):
        low, high = ranges.get(name, (inf, -inf))
        if not (isfinite(low) and isfinite(high) and low <= high):
            expected = "the smallest and the largest value of this numeric attribute"
            problems.append(Problem("ranges", name, expected, shorten(ranges.get(name))))
    return problems


def _records(
    release: Release, t: int, places: Places, problems: list[Problem]
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Records, errors and branch errors of every place; records of removed leaves are taken to be none."""
    nodes, implied = release.trees[t].nodes, counts_reader(release)
    nobody = (0,) * len(release.target.classes)
    n, counts = [], []
    for place in (place for place in places.top_down if not places.children[place]):
        here = implied(nodes[place]) if place < len(nodes) else nobody
        rounded = here is None and release.rounded is not None
        size = None if rounded else nodes[place].n if here is None else sum(here)
        if size is None:
            expected = "n or counts: the risk depends on how many records are alike"
            found = "rounded numbers" if rounded else "neither"
            problems.append(Problem(node_place(release, t, nodes[place]), "n", expected, found))
        n.append(size or 0)
        counts.append(here)
    records = _below(np.array(n, np.int64), places)
    stated = [here for here in counts if here is not None]
    if len(stated) < len(counts):
        unknown = np.full(len(records), np.nan)
        return records, unknown, unknown
    table = np.array(stated, np.int64)
    errors = records - _below(table, places).max(axis=1)
    branch_errors = records - _below(table.max(axis=1), places)
    return records, errors.astype(np.float64), branch_errors.astype(np.float64)


def _below(leaves: IntArray, places: Places) -> IntArray:
    """Sums over the leaves below every place, of rows that are in depth-first order."""
    up_to = np.concatenate([np.zeros_like(leaves[:1]), np.cumsum(leaves, axis=0)])
    return np.asarray(up_to[places.last] - up_to[places.first])


def _granularity(tree: Tree, places: Places, attributes: Sequence[Attribute], ranges: Ranges) -> FloatArray:
    """BIG of every place (1), from the values that are still possible on the way to it."""
    bits = np.zeros(len(places.children))
    box: dict[str, frozenset[str] | Interval] = {
        a.name: ranges.get(a.name, (-inf, inf)) if a.values is None else frozenset(a.values) for a in attributes
    }
    # Either go on from a place, whose box has these values of an attribute, or (-1) restore them.
    stack: list[tuple[int, str, frozenset[str] | Interval]] = [(0, "", frozenset())]
    while stack:
        place, name, values = stack.pop()
        box[name] = values
        if place < 0 or not places.children[place]:
            continue
        node = tree.nodes[place]
        name = node.attribute or ""
        whole = box[name]
        stack.append((-1, name, whole))
        for child, branch in zip(places.children[place], node.branches, strict=True):
            part: frozenset[str] | Interval
            if isinstance(whole, tuple):
                low, high = interval_of(branch)
                part = (max(low, whole[0]), min(high, whole[1]))
                bits[child] = bits[place] + _bits(part[1] - part[0], whole[1] - whole[0])
            else:
                part = whole.intersection(branch.values or ())
                bits[child] = bits[place] + _bits(len(part), len(whole))
            stack.append((child, name, part))
    return bits


def _bits(part: float, whole: float) -> float:
    """Information in knowing which part of a whole; a whole without extent has nothing left to tell."""
    if whole <= 0:
        return 0.0
    return log2(whole / part) if part > 0 else inf
