"""Guesses which answers are certain, from an estimate: only the order of questions depends on it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from maxent.constraints.program import Program
from maxent.models.arrays import FloatArray
from maxent.solvers.backend import Options
from maxent.solvers.clock import Clock, OutOfTime, in_time
from maxent.solvers.registry import load_backend
from maxent.solvers.solve.driver import solve_program

# Of the time that is left, what the estimate may take, and seconds that it may take at most.
SHARE, LONGEST = 0.1, 20.0


def likely(program: Program, clock: Clock) -> FloatArray | None:
    """Shares of classes by maximum entropy under the linear statements, shape (n_quasi_identifiers, n_classes).

    None where there was no time for them. Nothing is concluded from it.
    """
    left = clock.left()
    seconds = LONGEST if left is None else min(LONGEST, SHARE * left)
    linear = replace(program, internal=(), unfinished=False)
    options = Options(clock=Clock(seconds))
    try:
        found = in_time(clock, lambda: solve_program(linear, load_backend("auto"), options))
    except OutOfTime:
        return None
    if found is None:
        return None
    people = np.zeros((len(program.table), program.n_classes))
    np.add.at(people, program.cells.owner, found.masses)
    return np.asarray(people / program.table.counts[:, None], np.float64)
