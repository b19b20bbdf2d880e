"""The protocol of a solver back end, and the options that every back end understands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from maxent.constraints.lifted import LiftedProgram
from maxent.solvers.solution import Solution

FloatArray = npt.NDArray[np.float64]
Form = Literal["auto", "pyomo", "own"]


@dataclass(frozen=True, slots=True)
class Options:
    """How to solve.

    ``tolerance`` is the largest violation of any constraint (probability units) that counts as solved. ``starts`` is
    the number of starting points of a part that is not convex, None for the default (5 while it is small, else 1).
    ``form`` chooses who supplies a back end's derivatives: the Pyomo model or the program's own; ``auto`` takes the
    Pyomo model while what presolve leaves is small. ``seed`` makes starting points repeatable.
    """

    tolerance: float = 1e-8
    starts: int | None = None
    seed: int = 0
    form: Form = "auto"
    presolve: bool = True
    max_iterations: int = 1000


@runtime_checkable
class Backend(Protocol):
    """A solver: one file, found by name through the entry points ``maxent.backends``."""

    name: str

    def refuses(self, program: LiftedProgram) -> str | None:
        """The reason why this back end cannot solve a program, None when it can."""
        ...

    def solve(self, program: LiftedProgram, start: FloatArray, options: Options) -> Solution:
        """Solve from a starting point of shape (program.n,)."""
        ...
