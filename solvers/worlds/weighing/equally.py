"""Posterior with all worlds equally likely: counted for small parts, sampled for others."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from maxent.constraints.program import Program
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.solvers.copies import WorkerLost
from maxent.solvers.worlds.cp_sat import need_cp_sat
from maxent.solvers.worlds.elsewhere import Run, two_elsewhere
from maxent.solvers.worlds.integer import task_of, whole_numbers
from maxent.solvers.worlds.part import WholeProgram, whole_program
from maxent.solvers.worlds.settle import Patience
from maxent.solvers.worlds.weighing.counting import MOST, counted
from maxent.solvers.worlds.weighing.sampling import DRAWS, sampled
from maxent.solvers.worlds.witness import worlds_of

# Seconds for chains where there is no limit.
WHOLE = 60.0


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """P(class | quasi-identifier) where each world is equally likely.

    Attributes
    ----------
    posterior : shape (n_quasi_identifiers, n_classes), NaN where there was no time, or the solver ended
    counted : shape (n_quasi_identifiers,), whether the worlds of its part were counted: the posterior is exact
    r_hat, effective : shape (n_quasi_identifiers, n_classes), of what was sampled (see `sampled`), NaN elsewhere
    log_number : natural logarithm of the number of worlds, None where not all parts were counted
    left_out : comparisons of splits that were not looked at
    """

    posterior: FloatArray
    counted: BoolArray
    r_hat: FloatArray
    effective: FloatArray
    log_number: float | None
    left_out: int


def weigh(
    program: Program,
    low: FloatArray,
    high: FloatArray,
    patience: Patience,
    *,
    seed: int = 0,
    most: int = MOST,
    draws: int = DRAWS,
    run: Run = two_elsewhere,
) -> Weighed:
    """Weigh all worlds of a program equally.

    Parameters
    ----------
    low, high : shape (n_quasi_identifiers, n_classes), individuals, proved bounds
    patience : when to stop; parts that are sampled share what is left
    seed : of the chains
    most : steps up to which a part is counted
    draws : worlds that are kept of each chain
    run : how worlds to start from are looked for

    Raises
    ------
    MissingExtra
        Where OR-Tools is not installed.
    """
    need_cp_sat()
    whole, (least, greatest) = whole_program(program), whole_numbers(low, high)
    found = _empty(whole, least.shape)
    log_number: float | None = 0.0
    large = []
    for number in range(len(whole.pieces)):
        members, task = task_of(whole, number, least, greatest, np.zeros(least.shape, bool))
        exact = counted(task.part, task.state.low, task.state.high, most)
        if exact is None or not exact.number:
            large.append(number)
            log_number = None
            continue
        at = np.searchsorted(task.part.owners, whole.like[members])
        found.posterior[members] = exact.mean[at] / task.part.weight[at][:, None]
        found.counted[members] = True
        log_number = None if log_number is None else log_number + math.log(exact.number)
    if large:
        _sample(whole, least, greatest, np.array(large), patience, seed, draws, run, found)
    return replace(found, log_number=log_number)


def _empty(whole: WholeProgram, shape: tuple[int, ...]) -> Weighed:
    nothing = np.full(shape, np.nan)
    return Weighed(nothing, np.zeros(shape[0], bool), nothing.copy(), nothing.copy(), None, whole.left_out)


def _sample(
    whole: WholeProgram,
    low: IntArray,
    high: IntArray,
    parts: IntArray,
    patience: Patience,
    seed: int,
    draws: int,
    run: Run,
    found: Weighed,
) -> None:
    """Fill in what is sampled."""
    try:
        tasks, states = worlds_of(whole, low, high, patience, run, parts)
    except WorkerLost:  # what was counted stands
        return
    for done, (number, task, state) in enumerate(zip(parts.tolist(), tasks, states, strict=True)):
        if not state.worlds:
            continue
        several = np.bincount(task.part.owner, minlength=len(task.part.owners)) > 1
        free = (state.low < state.high).any(axis=1) | several
        seconds = patience.left(WHOLE) / (len(parts) - done)
        chains = sampled(task.part, state.worlds, free, seconds, seed + number, draws)
        if chains is None:
            continue
        members = np.flatnonzero(np.isin(whole.like, task.part.owners))
        at = np.searchsorted(task.part.owners, whole.like[members])
        found.posterior[members] = chains.mean[at] / task.part.weight[at][:, None]
        found.r_hat[members], found.effective[members] = chains.r_hat[at], chains.effective[at]
