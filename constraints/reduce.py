"""Reversible simplifications of a program: redundant statements, merged quasi-identifiers, independent parts.

All are exact, also where the program is not convex: averaging inside a merged group keeps every sum that an active
constraint looks at, and raises the entropy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from maxent.constraints.evaluate import InternalRows, LinearRows, incidence
from maxent.constraints.program import Linear, Program

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

EXACT = 1e-9
"""Individuals by which two statements may differ and still agree."""


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """Cells pooled with their like: cell c is in ``group[c]``, whose pooled quasi-identifier is ``owner[group]``.

    ``weight[o]`` are the individuals of a pooled quasi-identifier. A pooled mass is shared out in proportion to the
    individuals of each member (`expand`), which is the way back.
    """

    group: IntArray  # (n_cells,)
    owner: IntArray  # (n_groups,)
    weight: FloatArray  # (n_owners,)

    def pool(self, masses: FloatArray) -> FloatArray:
        """Masses of the groups, shape (n_groups, n_classes)."""
        total = np.zeros((len(self.owner), masses.shape[1]))
        np.add.at(total, self.group, masses)
        return total

    def expand(self, pooled: FloatArray, cell_weight: FloatArray) -> FloatArray:
        """Masses of the cells, shape (n_cells, n_classes); ``cell_weight`` are their quasi-identifiers' individuals."""
        share = cell_weight / self.weight[self.owner[self.group]]
        result: FloatArray = pooled[self.group] * share[:, None]
        return result


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A piece of the program that shares no constraint with the rest."""

    groups: IntArray  # of `Merged`, increasing
    linear: IntArray  # indices into program.linear
    internal: IntArray  # active internal rows (numbered over all of program.internal)


def unmerged(program: Program) -> Merged:
    """Every cell on its own: the reduction that does nothing."""
    return Merged(np.arange(len(program.cells)), program.cells.owner, program.table.counts.astype(np.float64))


def merge(program: Program, rows: InternalRows, active: IntArray) -> Merged:
    """Pool the quasi-identifiers that no linear constraint and no active internal row tells apart."""
    cells = program.cells
    _, signature = np.unique(cells.leaf, axis=0, return_inverse=True)
    signature = signature.reshape(-1).astype(np.int64)
    for constraint in program.linear:
        if constraint.kind == "facts":
            inside = np.zeros(len(cells), np.int64)
            inside[program.regions[constraint.region]] = 1
            signature = _refine(signature, inside)
    for which, offsets in _by_constraint(rows, active):
        comparison = program.internal[which]
        here = cells.trees[comparison.tree].at(comparison.place)
        codes = program.table.codes[cells.owner[here], comparison.column]
        if comparison.form == "cuts":
            codes = np.searchsorted(np.sort(comparison.codes[offsets]), codes, side="left")
        elif comparison.form == "each":
            codes = np.where(np.isin(codes, comparison.codes[offsets]), codes, -1)
        label = np.full(len(cells), -1, np.int64)
        label[here] = codes
        signature = _refine(signature, label)
    if program.single:
        weight = np.bincount(signature, program.weight).astype(np.float64)
        return Merged(signature, np.arange(len(weight)), weight)
    like = _owners_alike(cells.owner, signature, len(program.table))
    weight = np.bincount(like, program.table.counts).astype(np.float64)
    keys, group = np.unique(np.column_stack([like[cells.owner], signature]), axis=0, return_inverse=True)
    return Merged(group.reshape(-1).astype(np.int64), keys[:, 0], weight)


def _refine(signature: IntArray, label: IntArray) -> IntArray:
    """Split classes of equal signature by a label."""
    low = int(label.min())
    key = signature * (int(label.max()) - low + 1) + (label - low)
    _, refined = np.unique(key, return_inverse=True)
    return np.asarray(refined, np.int64)


def _owners_alike(owner: IntArray, signature: IntArray, n_owners: int) -> IntArray:
    """Which quasi-identifiers have cells of the same signatures, shape (n_owners,): equal numbers, alike."""
    order = np.lexsort((signature, owner))
    sorted_owner, sorted_signature = owner[order], signature[order]
    start = np.searchsorted(sorted_owner, np.arange(n_owners))
    length = np.diff(np.append(start, len(owner)))
    like = length.astype(np.int64)
    for i in range(int(length.max())):
        label = np.full(n_owners, -1, np.int64)
        has = length > i
        label[has] = sorted_signature[start[has] + i]
        like = _refine(like, label)
    return like


def _by_constraint(rows: InternalRows, active: IntArray) -> list[tuple[int, IntArray]]:
    """Active rows, gathered: (index of the internal constraint, its rows' offsets)."""
    which = rows.constraint_of(active)
    return [(int(k), active[which == k] - rows.first_row[k]) for k in np.unique(which)]


def region_groups(program: Program, merged: Merged) -> sparse.csr_matrix:
    """Which groups each region is made of: boolean, shape (n_regions, n_groups)."""
    regions = program.regions
    touch = sparse.csr_matrix(
        (np.ones(len(regions.indices)), merged.group[regions.indices], regions.indptr),
        shape=(len(regions), len(merged.owner)),
    )
    touch.sum_duplicates()
    return touch


def parts(
    program: Program, merged: Merged, linear: IntArray, rows: InternalRows, active: IntArray, among: BoolArray
) -> list[Part]:
    """Pieces that share no constraint of ``linear`` and ``active``, of the groups that ``among`` marks."""
    regions = np.array([program.linear[i].region for i in linear], np.int64)
    comparisons = [program.internal[k] for k in rows.constraint_of(active)]
    held = [np.unique(merged.group[program.cells.trees[c.tree].at(c.place)]) for c in comparisons]
    touch = sparse.vstack([region_groups(program, merged)[regions], incidence(held, len(merged.owner))], format="csr")
    owner = sparse.csr_matrix(
        (np.ones(len(merged.owner)), (merged.owner, np.arange(len(merged.owner)))),
        shape=(len(merged.weight), len(merged.owner)),
    )
    links = sparse.vstack([touch, owner], format="csr")
    n_rows = touch.shape[0]
    graph = sparse.bmat([[None, links], [links.T, None]], format="csr")
    _, component = connected_components(graph, directed=False)
    of_row, of_group = component[:n_rows], component[links.shape[0] :]
    row_order, row_start = _grouped(of_row, int(component.max()) + 1)
    group_order, group_start = _grouped(of_group, int(component.max()) + 1)
    found = []
    for c in np.unique(of_group[among]):
        mine = np.sort(row_order[row_start[c] : row_start[c + 1]])
        groups = np.sort(group_order[group_start[c] : group_start[c + 1]])
        found.append(Part(groups, linear[mine[mine < len(linear)]], active[mine[mine >= len(linear)] - len(linear)]))
    return found


def everything_about(program: Program, merged: Merged, part: Part) -> Part:
    """The part with every linear constraint on its groups, also those that `needed` leaves out."""
    regions = program.regions
    first = merged.group[regions.indices[regions.indptr[:-1]]]
    inside = np.isin(first, part.groups)
    linear = [i for i, constraint in enumerate(program.linear) if inside[constraint.region]]
    return Part(part.groups, np.array(linear, np.int64), part.internal)


def _grouped(label: npt.NDArray[np.int32], n: int) -> tuple[IntArray, IntArray]:
    """Indices sorted by label, and where each of ``n`` labels starts."""
    order = np.argsort(label, kind="stable")
    return order, np.searchsorted(label[order], np.arange(n + 1))


@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """What exact statements say of the classes in each place of a tree, individuals; NaN where they say nothing.

    ``own[place, x]`` follows from every statement, ``below[place, x]`` from those about the place's branches alone;
    shapes (n_places, n_classes).
    """

    own: FloatArray
    below: FloatArray


def known_totals(program: Program) -> tuple[Totals, ...]:
    """Class totals that counts, rates and (with two classes, or pure leaves) complements fix, for every tree."""
    said: dict[tuple[int, int], list[Linear]] = {}
    for constraint in program.linear:
        place = program.regions.places[constraint.region]
        if place is not None and constraint.kind in ("counts", "rate", "marginal"):
            said.setdefault(place, []).append(constraint)
    return tuple(_known_in_tree(program, t, said) for t in range(len(program.cells.trees)))


def _known_in_tree(program: Program, t: int, said: dict[tuple[int, int], list[Linear]]) -> Totals:
    held = program.cells.trees[t]
    n_places = len(held.layout.children)
    own = np.full((n_places, program.n_classes), np.nan)
    below = np.full((n_places, program.n_classes), np.nan)
    for place in reversed(held.layout.top_down):
        if held.start[place] == held.stop[place]:
            own[place] = below[place] = 0.0
            continue
        children = held.layout.children[place]
        if children:
            own[place] = below[place] = own[list(children)].sum(axis=0)
        stated = said.get((t, place), ())
        for constraint in stated:
            exact = constraint.lower == constraint.upper
            if constraint.kind == "rate":
                exact &= (constraint.coef.sum(axis=1) == 1) & (constraint.coef.max(axis=1) == 1)
            own[place, constraint.coef[exact].argmax(axis=1)] = constraint.lower[exact]
        open_ = np.isnan(own[place])
        if stated and open_.any() and program.single:
            left = program.region_size[stated[0].region] - np.nansum(own[place])
            if open_.sum() == 1 or left <= EXACT:
                own[place, open_] = max(left, 0.0)
    return Totals(own, below)


def needed(program: Program, totals: tuple[Totals, ...], rows: LinearRows) -> IntArray:
    """Indices of the linear constraints that other exact statements do not already imply.

    A statement about a place whose branches' totals are known is left out when it agrees with them (when not, it
    stays, and shows as inconsistent); likewise a label whose classes' totals are known, and a rate beside the counts.
    """
    if not program.linear:
        return np.empty(0, np.int64)
    counted = {c.region for c in program.linear if c.kind == "counts" and (c.lower == c.upper).all()}
    nothing = np.full(program.n_classes, np.nan)
    below, beside = [], []
    for constraint in program.linear:
        place = program.regions.places[constraint.region]
        own = constraint.kind == "label" or (constraint.kind == "rate" and constraint.region in counted)
        below.append(nothing if place is None else totals[place[0]].below[place[1]])
        beside.append(totals[place[0]].own[place[1]] if own and place is not None else nothing)
    implied = _agree(rows, np.array(below)) | _agree(rows, np.array(beside))
    return np.flatnonzero(~implied)


def _agree(rows: LinearRows, totals: FloatArray) -> BoolArray:
    """Which constraints known totals imply; ``totals`` has shape (n_constraints, n_classes), NaN where unknown."""
    known = np.flatnonzero(~np.isnan(totals[rows.constraint]).all(axis=1))
    coef, told = rows.coef[known], totals[rows.constraint[known]]
    value = np.where(coef != 0, coef * told, 0.0).sum(axis=1)  # NaN where a class that counts is unknown
    holds = np.zeros(len(rows.constraint), bool)
    holds[known] = (value >= rows.lower[known] - EXACT) & (value <= rows.upper[known] + EXACT)
    missed = np.bincount(rows.constraint, ~holds, len(totals))
    return np.asarray(missed == 0)


def convex_rows(program: Program, totals: tuple[Totals, ...]) -> BoolArray:
    """Which internal constraints are convex: those whose chosen branches' totals are known."""
    return np.array(
        [
            not np.isnan(totals[c.tree].own[list(program.cells.trees[c.tree].layout.children[c.place])]).any()
            for c in program.internal
        ],
        bool,
    )
