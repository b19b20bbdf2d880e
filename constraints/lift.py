"""Build the `LiftedProgram` of a part: fix what is known, drop rows that repeat others, define aggregates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from maxent.constraints.aggregates import Aggregates
from maxent.constraints.comparisons import lift_comparisons
from maxent.constraints.evaluate import InternalRows
from maxent.constraints.independent import independent_rows
from maxent.constraints.lifted import LiftedProgram
from maxent.constraints.program import Program
from maxent.constraints.reduce import EXACT, Merged, Part, Totals
from maxent.models.errors import Origin

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

FIXED = 1e-12
"""Bounds closer than this share of the quasi-identifier's individuals are one value."""


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """A linear constraint within a part: its coefficients for the classes of some groups, and its bounds."""

    groups: IntArray
    coef: FloatArray
    lower: float
    upper: float
    origin: Origin | None

    @property
    def one_class(self) -> int | None:
        """The class whose mass alone it bounds, None when it is about several."""
        used = np.flatnonzero(self.coef)
        return int(used[0]) if len(used) == 1 and self.coef[used[0]] == 1 else None


class PartView:
    """A part in its own numbering: groups, pooled quasi-identifiers, and bounds on every mass."""

    def __init__(self, program: Program, merged: Merged, part: Part) -> None:
        self.program, self.merged, self.part = program, merged, part
        owners, owner = np.unique(merged.owner[part.groups], return_inverse=True)
        self.owner: IntArray = owner.reshape(-1).astype(np.int64)
        self.owner_weight = merged.weight[owners]
        self.weight = self.owner_weight[self.owner]
        self.whole = np.bincount(self.owner, minlength=len(owners))
        shape = (len(part.groups), program.n_classes)
        self.lower = np.zeros(shape)
        self.upper = np.repeat(self.weight[:, None], program.n_classes, axis=1)

    def local(self, cells: IntArray) -> IntArray:
        """The part's groups that some cells belong to, increasing."""
        found: IntArray = np.searchsorted(self.part.groups, np.unique(self.merged.group[cells]))
        return found

    def size(self, groups: IntArray) -> float | None:
        """Individuals in some groups, None when their quasi-identifiers also have cells elsewhere."""
        inside = np.bincount(self.owner[groups], minlength=len(self.owner_weight))
        if ((inside > 0) & (inside < self.whole)).any():
            return None
        return float(self.owner_weight[inside > 0].sum())


@dataclass(frozen=True, slots=True, eq=False)
class LiftedPart:
    """A part's program with the way back to the masses of its groups."""

    program: LiftedProgram
    known: FloatArray  # (n_groups, n_classes): values of the fixed masses, 0 elsewhere
    definitions: sparse.csr_matrix  # (n_aggregates, n): aggregates = definitions @ z + constants, strictly lower
    constants: FloatArray

    def masses(self, z: FloatArray) -> FloatArray:
        """Masses of the part's groups, shape (n_groups, n_classes), from a point of the program."""
        out = self.known.copy()
        out[self.program.group, self.program.klass] = z[: self.program.n_masses]
        return out

    def point(self, masses: FloatArray) -> FloatArray:
        """The point of the program with the given masses of groups, shape (n,)."""
        n = self.program.n_masses
        at = self.program.group, self.program.klass
        free = np.clip(masses[at], self.program.lower[:n], self.program.upper[:n])
        if not self.program.n_aggregates:
            return free
        nested = sparse.identity(self.program.n_aggregates, format="csr") - self.definitions[:, n:]
        known = self.definitions[:, :n] @ free + self.constants
        from scipy.sparse.linalg import spsolve_triangular

        return np.concatenate([free, spsolve_triangular(nested.tocsr(), known, lower=True, unit_diagonal=True)])


def lift(
    program: Program,
    merged: Merged,
    part: Part,
    rows: InternalRows,
    totals: tuple[Totals, ...],
    *,
    trusting: bool = True,
) -> LiftedPart:
    """The program of one part, and the way back.

    Masses that the statements fix (pure leaves, absent classes) become constants, bounds on a single mass become
    bounds of its variable, and of the class rows that repeat the quasi-identifiers' totals one is left out. All of this
    trusts the statements; with ``trusting`` False, or where bounds already show that they contradict each other, every
    statement stays a row that can give way.
    """
    view = PartView(program, merged, part)
    statements = _statements(view)
    if trusting:
        _tighten(view, statements)
        trusting = all(_possible(view, s) for s in statements)
    if not trusting:
        view = PartView(program, merged, part)
        totals = tuple(Totals(np.full_like(t.own, np.nan), np.full_like(t.below, np.nan)) for t in totals)
    fixed = view.upper - view.lower <= FIXED * view.weight[:, None]
    known = np.where(fixed, 0.5 * (view.lower + view.upper), 0.0)
    group, klass = np.nonzero(~fixed)
    index = np.full(fixed.shape, -1, np.int64)
    index[group, klass] = np.arange(len(group))
    kept = [s for s in statements if not _settled(view, s, fixed)]
    if trusting:
        kept = _without_repeats(view, kept, fixed)
    kept = [s for s in kept if ((index[s.groups] >= 0) & (s.coef != 0)).any()]
    matrix, lower, upper = _as_rows(kept, known, index, len(group))
    if trusting:
        rows_kept = independent_rows(matrix, lower, upper)
        kept = [kept[r] for r in rows_kept]
        matrix, lower, upper = matrix[rows_kept], lower[rows_kept], upper[rows_kept]
    aggregates = Aggregates(view.size, known, index)
    comparisons = lift_comparisons(program, view.local, part.internal, rows, totals, aggregates)
    definitions, constants, agg_upper = aggregates.finish(view.upper)
    n_agg = len(constants)
    defining = sparse.hstack([sparse.csr_matrix((n_agg, len(group))), sparse.identity(n_agg)]) - definitions
    matrix = sparse.csr_matrix(
        sparse.vstack([sparse.hstack([matrix, sparse.csr_matrix((matrix.shape[0], n_agg))]), defining])
    )
    matrix.sort_indices()
    lifted = LiftedProgram(
        group=group,
        klass=klass,
        owner=view.owner[group],
        total=view.owner_weight - np.bincount(view.owner, known.sum(axis=1), len(view.owner_weight)),
        mass_weight=view.weight[group],
        lower=np.concatenate([view.lower[group, klass], np.zeros(n_agg)]),
        upper=np.concatenate([view.upper[group, klass], agg_upper]),
        matrix=matrix,
        row_lower=np.concatenate([lower, constants]),
        row_upper=np.concatenate([upper, constants]),
        terms=comparisons.terms,
        nl_const=comparisons.const,
        nl_size=comparisons.size,
        origins=(*(s.origin for s in kept), *(None for _ in range(n_agg))),
        nl_origins=comparisons.origins,
    )
    return LiftedPart(lifted, known, sparse.csr_matrix(definitions), constants)


def _statements(view: PartView) -> list[Statement]:
    """Every linear constraint of the part, the quasi-identifiers' totals first."""
    n = view.program.n_classes
    order = np.argsort(view.owner, kind="stable")
    ends = np.cumsum(view.whole)
    found = [
        Statement(np.sort(order[end - size : end]), np.ones(n), weight, weight, None)
        for end, size, weight in zip(ends, view.whole, view.owner_weight.tolist(), strict=True)
    ]
    for i in view.part.linear:
        constraint = view.program.linear[i]
        groups = view.local(view.program.regions[constraint.region])
        found += [
            Statement(
                groups, constraint.coef[r], float(constraint.lower[r]), float(constraint.upper[r]), constraint.origin
            )
            for r in range(constraint.rows)
        ]
    return found


def _tighten(view: PartView, statements: list[Statement], passes: int = 4) -> None:
    """Bounds on single masses that follow from single statements (their totals are non-negative sums)."""
    lower, upper = view.lower, view.upper
    for _ in range(passes):
        before = lower.sum(), upper.sum()
        for s in statements:
            if s.origin is not None and s.one_class is None:
                _force(view, s)
                continue
            x = slice(None) if s.origin is None else s.one_class
            low, high = lower[s.groups, x], upper[s.groups, x]
            spare_low, spare_high = s.upper - low.sum(), s.lower - high.sum()
            slack = FIXED * max(1.0, abs(s.lower) if np.isfinite(s.lower) else 1.0)
            new_high = np.minimum(high, np.maximum(low + max(spare_low, 0.0), low))
            new_low = np.maximum(low, np.minimum(high + min(spare_high, 0.0), new_high))
            if abs(spare_low) <= slack:
                new_high = low
            elif abs(spare_high) <= slack:
                new_low = high
            lower[s.groups, x], upper[s.groups, x] = np.minimum(new_low, new_high), new_high
        if before == (lower.sum(), upper.sum()):
            return


def _force(view: PartView, s: Statement) -> None:
    """Fix the masses of a statement that only the extreme of its bounds satisfies, such as ``n 0``."""
    low, high = view.lower[s.groups], view.upper[s.groups]
    least, most = np.where(s.coef > 0, low, high), np.where(s.coef > 0, high, low)
    slack = FIXED * max(1.0, *(abs(bound) for bound in (s.lower, s.upper) if np.isfinite(bound)))
    for extreme, bound in ((least, s.upper), (most, s.lower)):
        if abs(float((extreme @ s.coef).sum()) - bound) <= slack:
            at = np.ix_(s.groups, np.flatnonzero(s.coef))
            view.lower[at] = view.upper[at] = extreme[:, s.coef != 0]
            return


def _range(view: PartView, s: Statement) -> tuple[float, float]:
    """Smallest and largest value a statement's left side can take within the bounds."""
    low, high = view.lower[s.groups].sum(axis=0), view.upper[s.groups].sum(axis=0)
    up, down = np.maximum(s.coef, 0.0), np.minimum(s.coef, 0.0)
    return float(up @ low + down @ high), float(up @ high + down @ low)


def _possible(view: PartView, s: Statement) -> bool:
    """Whether the bounds leave a statement any chance."""
    least, most = _range(view, s)
    slack = EXACT * max(1.0, float(view.weight[s.groups].sum()))
    return least <= s.upper + slack and most >= s.lower - slack


def _settled(view: PartView, s: Statement, fixed: BoolArray) -> bool:
    """Whether the bounds alone make a statement true."""
    least, most = _range(view, s)
    slack = EXACT if fixed[s.groups].all() else 1e-12 * max(1.0, abs(most))
    return least >= s.lower - slack and most <= s.upper + slack


def _without_repeats(view: PartView, statements: list[Statement], fixed: BoolArray) -> list[Statement]:
    """Leave out labels that known sizes settle, and one of the class totals that add up to the region's size."""
    by_region: dict[bytes, list[Statement]] = {}
    for s in statements:
        if s.origin is not None:
            by_region.setdefault(s.groups.tobytes(), []).append(s)
    drop: set[int] = set()
    for group in by_region.values():
        size = view.size(group[0].groups)
        if size is None:
            continue
        low, high = view.lower[group[0].groups].sum(axis=0), view.upper[group[0].groups].sum(axis=0)
        totals = {s.one_class: s for s in group if s.one_class is not None}
        for x, s in totals.items():
            low[x], high[x] = max(low[x], s.lower), min(high[x], s.upper)
        high = np.minimum(high, size - (low.sum() - low))
        for s in group:
            if (
                s.one_class is None
                and np.maximum(s.coef, 0.0) @ low + np.minimum(s.coef, 0.0) @ high >= s.lower - EXACT
                and np.isinf(s.upper)
            ):
                drop.add(id(s))
        settled = fixed[group[0].groups].all(axis=0)
        exact = [s for s in totals.values() if s.lower == s.upper]
        if len(exact) + int(settled.sum()) >= view.program.n_classes and exact:
            total = sum(s.lower for s in exact) + view.lower[group[0].groups][:, settled].sum()
            if abs(total - size) <= EXACT:
                drop.add(id(max(exact, key=lambda s: s.lower)))
    return [s for s in statements if id(s) not in drop]


def _as_rows(
    statements: list[Statement], known: FloatArray, index: IntArray, n_masses: int
) -> tuple[sparse.csr_matrix, FloatArray, FloatArray]:
    """The statements over the free masses; what the fixed ones contribute moves to the bounds."""
    row, column, value = [], [], []
    lower, upper = np.empty(len(statements)), np.empty(len(statements))
    for r, s in enumerate(statements):
        at = index[s.groups]
        i, x = np.nonzero((at >= 0) & (s.coef != 0))
        row.append(np.full(len(i), r))
        column.append(at[i, x])
        value.append(s.coef[x])
        moved = float(known[s.groups].sum(axis=0) @ s.coef)
        lower[r], upper[r] = s.lower - moved, s.upper - moved
    if not statements:
        return sparse.csr_matrix((0, n_masses)), lower, upper
    triples = (np.concatenate(value), (np.concatenate(row), np.concatenate(column)))
    return sparse.csr_matrix(triples, shape=(len(statements), n_masses)), lower, upper
