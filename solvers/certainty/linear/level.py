"""Bounds from all linear statements together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from maxent.constraints.program import Program
from maxent.constraints.residuals import InternalRows
from maxent.models.arrays import BoolArray, FloatArray
from maxent.solvers.certainty.bounds import Bounds
from maxent.solvers.certainty.closed import left_by_others
from maxent.solvers.certainty.linear.parts import Pools, linear_parts, pooled
from maxent.solvers.certainty.linear.search import Ends, Search
from maxent.solvers.certainty.linear.warm import WarmProgram
from maxent.solvers.clock import Clock


def tighten(program: Program, bounds: Bounds, questions: BoolArray, clock: Clock) -> Bounds:
    """The level ``linear``: the best bounds that follow from all linear statements together."""
    plain = replace(program, internal=())
    merged, pools = pooled(plain, InternalRows(plain), np.empty(0, np.int64), bounds)
    asked = pools.asked(questions)
    ends, late = Ends.of(program, bounds, questions, pools), np.zeros(asked.shape, bool)
    for part in linear_parts(plain, merged, pools, asked):
        search = Search(part.questions, pools, ends, clock)
        if clock.stop() is None and not search.run(WarmProgram(part.feasible, clock)):
            return contradicted(bounds, questions)
        late[part.questions.pool] |= asked[part.questions.pool] & search.open_pools()[:, None]
    return answered(program, bounds, questions, pools, late)


def contradicted(bounds: Bounds, questions: BoolArray) -> Bounds:
    """Bounds that nobody can be in."""
    return replace(bounds, high=np.where(questions, -1.0, bounds.high))


def answered(program: Program, bounds: Bounds, questions: BoolArray, pools: Pools, late: BoolArray) -> Bounds:
    """Bounds of quasi-identifiers from those of their pools; ``late`` pairs, (n_pools, n_classes), were not asked."""

    def narrowed(found: Bounds, low: FloatArray, high: FloatArray) -> Bounds:
        return found.narrowed(np.where(questions, low, -np.inf), np.where(questions, high, np.inf))

    found = narrowed(bounds, *pools.shared(program.table.counts.astype(np.float64)))
    found = narrowed(found, *left_by_others(program, found))
    return replace(found, unasked=bounds.unasked | (late[pools.of] & questions & found.open))
