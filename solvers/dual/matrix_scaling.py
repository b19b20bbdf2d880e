r"""Matrix scaling: maximum entropy where only class counts of leaves are stated.

Let ``n_b`` be the individuals of leaf b and ``s_bx`` the share of them that are of class x. The masses of the cells

    maximise  -sum m[q,b,x] ln(m[q,b,x] / w_q)   subject to   sum_bx m[q,b,x] = w_q,   sum_q m[q,b,x] = n_b s_bx.

At the optimum ``m[q,b,x] = u_q v_bx`` (the gradient is a sum of multipliers), so that given b everybody has the leaf's
classes, and what is left are the masses ``m[q,b] = u_q v_b`` of transportation: a 0/1 matrix, of who can be where, the
rows of which are scaled by u and the columns by v until they add up to w and n (Sinkhorn and Knopp 1967). The entropy
is that of these masses plus ``sum_b n_b H(s_b)``. Cells that no point can use have been left out, so the optimum is
positive, and the multipliers finite; the components of the matrix are independent.

Scaling columns and rows in turn is cheap, and fast while people have many leaves in common. Components that are not
done after some sweeps go on by Newton's method on the dual (`maxent.solvers.dual.newton`), whose value bounds the
entropy.

Adult's tiered records (k = 10) take 2.5 processor seconds with eight attributes and 5.5 with 14; without scaling they
had no answer after two minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from maxent.constraints.program.program import Program, components
from maxent.models.arrays import FloatArray, IntArray
from maxent.solvers.control import Clock, in_time
from maxent.solvers.dual.linear_entropy import LinearEntropy
from maxent.solvers.dual.newton import minimise
from maxent.solvers.workers import one_thread

if TYPE_CHECKING:
    from maxent.solvers.backend import Options

# Times that all columns and rows are scaled before Newton's method takes over, and when time is up before that.
SWEEPS, FEW = 200, 3
# Individuals by which the sum of a column may miss what it has to be.
CLOSE = 1e-10
NAME = "scaling"


@dataclass(frozen=True, eq=False)
class Transport:
    """A transportation problem: entry i says that ``row[i]`` can be in ``column[i]``.

    ``total`` are the individuals of each row, ``size`` those of each column; positive, and those of each component of
    the matrix that the entries make add up to the same. Every entry is positive at some point that meets them.
    """

    row: IntArray
    column: IntArray
    total: FloatArray
    size: FloatArray

    @cached_property
    def matrix(self) -> sparse.csr_matrix:
        """The entries as ones, shape (n_rows, n_columns)."""
        shape = len(self.total), len(self.size)
        return sparse.csr_matrix((np.ones(len(self.row)), (self.row, self.column)), shape=shape)

    @cached_property
    def component(self) -> IntArray:
        """The component of each column, shape (n_columns,)."""
        n_rows = len(self.total)
        label = components(n_rows + len(self.size), self.row, n_rows + self.column)[n_rows:]
        return np.unique(label, return_inverse=True)[1].astype(np.int64)

    def masses(self, log_v: FloatArray) -> FloatArray:
        """Masses of the entries, the rows of which add up, at logarithms of the columns' factors; individuals."""
        return self._dual(np.arange(len(self.row))).masses(log_v)

    def missed(self, masses: FloatArray) -> FloatArray:
        """Excess of each column over its size."""
        sums: FloatArray = np.bincount(self.column, masses, len(self.size)) - self.size
        return sums

    def scaled(
        self, options: Options, told: Callable[[int, int], None], sweeps: int = SWEEPS
    ) -> tuple[FloatArray, int]:
        """Logarithms of the columns' factors at which the masses meet the sizes, and the steps of Newton's method."""
        log_v = np.log(self._swept(options.clock, sweeps))
        off = np.abs(self.missed(self.masses(log_v)))
        left = np.unique(self.component[off > CLOSE])
        by_component = np.argsort(self.component[self.column], kind="stable")
        ends = np.searchsorted(self.component[self.column][by_component], [left, left + 1])
        steps = 0
        for done, (start, stop) in enumerate(ends.T.tolist()):
            told(done, len(left))
            if options.clock.stop() is not None:
                break
            entries = by_component[start:stop]
            columns = np.unique(self.column[entries])
            problem, begin = self._dual(entries), log_v[columns]
            point = in_time(options.clock, partial(minimise, problem, begin, CLOSE, clock=options.clock))
            if point is None:
                break
            steps += point.iterations
            if point.residual <= off[columns].max():  # else it was stopped on a way around
                log_v[columns] = point.multipliers
        return log_v, steps

    def _swept(self, clock: Clock, sweeps: int) -> FloatArray:
        """The columns' factors after some sweeps of scaling rows and columns, shape (n_columns,)."""
        down, across = self.matrix, self.matrix.T.tocsr()
        v = self.size.copy()
        for done in range(sweeps):
            sums = across @ (self.total / (down @ v))
            if np.abs(v * sums - self.size).max() <= CLOSE or (done >= FEW and clock.stop() is not None):
                break
            v = self.size / sums
        return v

    def _dual(self, entries: IntArray) -> LinearEntropy:
        """The program of some entries, with the rows and columns that they have."""
        rows, row = np.unique(self.row[entries], return_inverse=True)
        columns, column = np.unique(self.column[entries], return_inverse=True)
        total, size, n = self.total[rows], self.size[columns], len(entries)
        matrix = sparse.csr_matrix((np.ones(n), (column, np.arange(n))), shape=(len(columns), n))
        return LinearEntropy(row.astype(np.int64), total, total[row], matrix, size, size)


@dataclass(frozen=True, slots=True, eq=False)
class Scaled:
    """The masses of a program's cells, shape (n_cells, n_classes), and how they were found.

    ``gap`` is how far their entropy can be from the maximum, nats times individuals. ``several`` of the independent
    ``components`` have several leaves; the others need no solving.
    """

    masses: FloatArray
    gap: float
    components: int
    several: int
    steps: int


def scale(program: Program, options: Options, progress: Callable[[str, int, int], None]) -> Scaled:
    """The maximum-entropy point of a program that has a `Scaling`."""
    scaling = program.scaling
    assert scaling is not None
    cells = np.flatnonzero(scaling.possible)
    rows, row = np.unique(program.cells.owner[cells], return_inverse=True)
    columns, column = np.unique(program.cells.leaf[cells, 0], return_inverse=True)
    counts = program.table.counts[rows].astype(np.float64)
    transport = Transport(row.astype(np.int64), column.astype(np.int64), counts, scaling.sizes[columns].astype(float))
    component = transport.component
    text = f"{component.max() + 1} components"
    with one_thread():
        log_v, steps = transport.scaled(options, lambda done, total: progress(text, done, total))
    found = transport.masses(log_v)
    masses = np.zeros((len(program.cells), program.n_classes))
    masses[cells] = found[:, None] * _shares(program)[columns][column]
    gap = max(float(log_v @ transport.missed(found)), 0.0)
    return Scaled(masses, gap, int(component.max()) + 1, int((np.bincount(component) > 1).sum()), steps)


def _shares(program: Program) -> FloatArray:
    """The classes of each place, shape (n_places, n_classes): as its counts say, without any all alike."""
    places = program.cells.trees[0].places.first
    shares = np.full((len(places), program.n_classes), 1 / program.n_classes)
    for place, node in enumerate(program.release.trees[0].nodes):
        if node.counts is not None:
            counts = np.array([node.counts[name] for name in program.release.target.classes], np.float64)
            shares[place] = counts / counts.sum()
    return shares
