"""The least and the largest sums over masses, by linear programs over all linear statements of a program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from maxent.solvers.certainty.bounds import WHOLE

if TYPE_CHECKING:
    from maxent.constraints.program.program import Program
    from maxent.models.arrays import BoolArray, FloatArray, IntArray
    from maxent.solvers.control import Clock

# Rows times cells up to which linear programs are asked.
SIZE = 20_000_000
# Those up to which the numbers of everybody are asked for, too.
QUICK = 200_000
# Seconds that a search for statements that contradict each other may take, and what they miss by, people, at least.
SEARCH, LEAST = 10.0, 1e-6


def sum_ends(
    program: Program,
    aims: FloatArray,
    hear: Callable[[IntArray], None] | None = None,
    clock: Clock | None = None,
) -> Iterator[tuple[float, float]]:
    """The least and the largest of sums over masses by linear programs; infinite where these end without an answer.

    ``hear`` is told answers that are whole people, shape (n_cells, n_classes), unless splits are compared.
    """
    from scipy.optimize import linprog

    found, lower, upper, _ = sparse_rows(program)
    n_classes, n = program.n_classes, len(program.cells)
    # People with all their cells and classes alike in every row are one: masses add up.
    columns = np.concatenate([found.toarray().reshape(-1, n, n_classes), aims]).transpose(1, 0, 2).reshape(n, -1)
    if program.single:
        kinds, kind = np.unique(columns, axis=0, return_inverse=True)
        size = np.bincount(kind.ravel(), program.weight, len(kinds))
        of, totals = np.arange(len(kinds)), size
    else:
        kinds, kind = columns, np.arange(n)
        of, totals = program.cells.owner, program.table.counts.astype(np.float64)
    rows = kinds.reshape(len(kinds), -1, n_classes).transpose(1, 0, 2).reshape(-1, len(kinds) * n_classes)
    rows, wanted = rows[: len(lower)], rows[len(lower) :]
    each = sparse.csr_matrix(
        (np.ones(len(kinds) * n_classes), (np.repeat(of, n_classes), np.arange(len(kinds) * n_classes))),
        shape=(len(totals), len(kinds) * n_classes),
    )
    bounded = np.isfinite(upper), np.isfinite(lower)
    a_ub = np.concatenate([rows[bounded[0]], -rows[bounded[1]]])
    b_ub = np.concatenate([upper[bounded[0]], -lower[bounded[1]]])
    for aim in wanted:
        ends = []
        for sign in (1.0, -1.0):
            left = None if clock is None else clock.left()
            options = {} if left is None else {"time_limit": left}
            answer = linprog(sign * aim, a_ub, b_ub, each, totals, method="highs", options=options)
            if hear is not None and answer.status == 0 and not program.internal:
                masses = np.rint(answer.x).astype(np.int64)
                if np.abs(masses - answer.x).max() <= WHOLE:
                    hear(_handed(program, kind.ravel(), masses.reshape(-1, n_classes)))
            ends.append(sign * answer.fun if answer.status == 0 else -sign * np.inf)
        yield ends[0], ends[1]


def is_quick(program: Program) -> bool:
    """Whether a program is small enough to ask about everybody."""
    return sum(said.rows for said in program.linear) * len(program.cells) <= QUICK


def class_ends(program: Program, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The fewest and the most people of each class among everybody, as statements say or, of few people, imply.

    ``low`` and ``high``, shape (n_classes,), are what is known already.
    """
    people, n_classes, low, high = float(program.individuals), program.n_classes, low.copy(), high.copy()
    if program.contradictions or not program.linear:
        return low, high
    for said in program.linear:
        if said.weights is not None or len(program.regions[said.region]) < len(program.cells):
            continue
        for coef, *sides in zip(said.coef, said.lower, said.upper, strict=True):
            klass = np.flatnonzero(coef)
            if len(klass) == 1:
                ends = sorted(side / coef[klass[0]] for side in sides)
                low[klass], high[klass] = np.maximum(low[klass], ends[0]), np.minimum(high[klass], ends[1])
    if (low < high).any() and is_quick(program):
        aims = np.zeros((n_classes, len(program.cells), n_classes))
        aims[np.arange(n_classes), :, np.arange(n_classes)] = 1.0
        least, most = np.array(list(sum_ends(program, aims))).T
        low, high = np.maximum(low, least), np.minimum(high, most)
    low, high = np.ceil(low - WHOLE), np.floor(high + WHOLE)
    return np.maximum(low, people - (high.sum() - high)), np.minimum(high, people - (low.sum() - low))


def _handed(program: Program, kind: IntArray, masses: IntArray) -> IntArray:
    """Masses of kinds, shape (n_kinds, n_classes), handed out to their cells in turn; shape (n_cells, n_classes)."""
    if not program.single:
        return masses
    weight = np.rint(program.weight).astype(np.int64)
    order = np.argsort(kind, kind="stable")
    of, each = kind[order], weight[order]
    end = each.cumsum()
    before = np.bincount(kind, weight, len(masses)).astype(np.int64)
    end = (end - (before.cumsum() - before)[of])[:, None]
    ends = masses.cumsum(axis=1)[of]
    got = np.empty((len(kind), masses.shape[1]), np.int64)
    got[order] = np.maximum(np.minimum(ends, end) - np.maximum(ends - masses[of], end - each[:, None]), 0)
    return got


def sparse_rows(program: Program) -> tuple[Any, FloatArray, FloatArray, IntArray]:
    """All linear rows over masses, their sides, loosened by rounding, and the statement of each."""
    none, lower, upper, of = np.empty(0, np.int64), list[float](), list[float](), list[int]()
    entries: list[tuple[Any, Any, Any]] = [(none, none, np.empty(0))]
    classes = np.arange(program.n_classes)
    for i, said in enumerate(program.linear):
        cells = program.regions[said.region]
        for r in range(said.rows):
            row = np.broadcast_to(
                said.coef[r] if said.weights is None else said.coef[r] * said.weights, (len(cells), len(classes))
            )
            loose = 1e-9 * max(1.0, float(np.abs(row).max(axis=1) @ program.weight[cells]))
            column = (cells[:, None] * len(classes) + classes).ravel()
            entries.append((np.full(len(column), len(of)), column, row.ravel()))
            lower.append(float(said.lower[r]) - loose)
            upper.append(float(said.upper[r]) + loose)
            of.append(i)
    at, column, value = (np.concatenate(part) for part in zip(*entries, strict=True))
    shape = (len(of), len(program.cells) * len(classes))
    return (
        sparse.csr_matrix((value, (at, column)), shape=shape),
        np.array(lower),
        np.array(upper),
        np.array(of, np.int64),
    )


class Misses:
    """What shares of people miss linear statements of a program by, at least, by linear programs."""

    def __init__(self, program: Program, clock: Clock) -> None:
        self._clock, self._rows = clock, sparse_rows(program)
        people, cells = program.table.counts.astype(np.float64), program.cells
        self._n = len(cells) * program.n_classes
        inside = np.arange(self._n) // program.n_classes
        owner = inside if program.single else cells.owner[inside]
        self._each = sparse.csr_matrix((np.ones(self._n), (owner, np.arange(self._n))))
        self._totals = program.weight if program.single else people

    def contradict(self, kept: BoolArray) -> tuple[bool | None, IntArray]:
        """Whether some statements, shape (n_linear,), cannot hold together, None without time to tell; which cannot."""
        from scipy.optimize import linprog

        (matrix, lower, upper, of), none = self._rows, np.empty(0, np.int64)
        chosen = kept[of]
        above, below = np.flatnonzero(chosen & np.isfinite(upper)), np.flatnonzero(chosen & np.isfinite(lower))
        left = self._clock.left()
        if self._clock.stop() is not None:
            return None, none
        if not len(above) + len(below):
            return False, none
        rows = sparse.vstack([matrix[above], -matrix[below]]).tocsr()
        size = np.maximum(np.abs(rows).max(axis=1).toarray().ravel(), 1e-300)
        sides = np.concatenate([upper[above], -lower[below]]) / size
        slack = -sparse.identity(len(sides), format="csr")
        found = linprog(
            np.concatenate([np.zeros(self._n), np.ones(len(sides))]),
            sparse.hstack([sparse.diags(1 / size) @ rows, slack]).tocsr(),
            sides,
            sparse.hstack([self._each, sparse.csr_matrix((len(self._totals), len(sides)))]).tocsr(),
            self._totals,
            method="highs",
            options={"time_limit": SEARCH if left is None else max(left, 0.1)},
        )
        if found.status != 0:
            return None, none
        if found.fun <= LEAST * max(len(sides), 1):
            return False, none
        binding = np.abs(found.ineqlin.marginals) > LEAST
        return True, np.unique(of[np.concatenate([above, below])[binding]])
