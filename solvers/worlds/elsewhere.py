"""Settles parts one after the other in a child process, as CP-SAT and highspy cannot share one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from maxent.models.arrays import BoolArray, FloatArray
from maxent.solvers.apart import apart
from maxent.solvers.clock import Clock
from maxent.solvers.worlds.part import WholePart
from maxent.solvers.worlds.settle import Extremes, Patience, settle, two_worlds

# Seconds after which what was found of a part so far is told.
TOLD = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What is asked of a part, shape (n_owners, n_classes), what is known, and, maybe, how likely each class looks."""

    part: WholePart
    state: Extremes
    asked: BoolArray
    likely: FloatArray | None = None


# Takes the number of a task, what is known of it by now, and how many comparisons its models lack.
Tell = Callable[[tuple[int, Extremes, int]], None]
# How tasks are run: `here`, `elsewhere`, or the same for two worlds.
Run = Callable[[Sequence[Task], Patience, Tell], None]


def here(tasks: Sequence[Task], patience: Patience, tell: Tell) -> None:
    """Settle tasks in this process, which must not have loaded highspy; ``tell`` hears how far it is."""
    for number, task in enumerate(tasks):
        if patience.ended():
            return
        last = time.monotonic()

        def far(state: Extremes, left_out: int, number: int = number) -> None:
            nonlocal last
            if time.monotonic() - last > TOLD:
                tell((number, state, left_out))
                last = time.monotonic()

        left_out = settle(task.part, task.state, task.asked, patience, far, task.likely)
        tell((number, task.state, left_out))
        if task.state.possible is False:
            return


def two_here(tasks: Sequence[Task], patience: Patience, tell: Tell) -> None:
    """Find two worlds of each part in this process; see `two_worlds`."""
    for number, task in enumerate(tasks):
        if patience.ended():
            return
        tell((number, task.state, two_worlds(task.part, task.state, patience)))


def elsewhere(tasks: Sequence[Task], patience: Patience, tell: Tell) -> None:
    """`here`, in another process, which ends when it is late.

    Raises
    ------
    WorkerLost
        When the process did not survive.
    """
    apart(_there, (here, tasks, patience.question, patience.end), patience.clock, tell)


def two_elsewhere(tasks: Sequence[Task], patience: Patience, tell: Tell) -> None:
    """`two_here`, in another process; errors are those of `elsewhere`."""
    apart(_there, (two_here, tasks, patience.question, patience.end), patience.clock, tell)


def _there(run: Run, tasks: Sequence[Task], question: float, end: float, clock: Clock, tell: Tell) -> None:
    run(tasks, Patience(clock, question, end), tell)
