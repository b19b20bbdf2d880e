"""The protocol of a solver back end, and the options that every back end understands."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from maxent.models.arrays import FloatArray
from maxent.solvers.control import Clock
from maxent.solvers.solution import Solution

if TYPE_CHECKING:
    from maxent.constraints.lifting import LiftedProgram
    from maxent.constraints.program.program import Program

# Variables up to which a program counts as small: it gets more starting points and fewer iterations each.
FEW = 400
# Variables up to which an answer is made exact that is not of a convex program, which takes 0.1 s there.
EXACT = 1000


class Workers(Protocol):
    """Other machines that make calls, see `maxent.solvers.solve.dask_cluster.Cluster`."""

    def run(
        self, calls: Mapping[int, tuple[Callable[..., Any], tuple[Any, ...]]], give_up: Callable[[], bool] = ...
    ) -> Generator[tuple[int, Callable[[], Any]], None, None]:
        """Make calls, and yield their keys as they are done, with functions that return or raise what they did."""
        ...


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a solve.

    ``tolerance`` is the largest violation of any constraint (probability units) that counts as solved. ``starts`` is
    the number of starting points of a part that is not convex, None for the default (5 while it is small, else 1).
    ``seed`` makes starting points repeatable. ``max_iterations`` of one solve is by default 500 while a program is
    small, else 1500. ``floor`` is the smallest probability that `newton` leaves in a part where the optimum of an
    entropy would make it vanish. ``jobs`` is the number of processes that solve independent parts, counted as joblib
    does (-1: all cores), None for as many as pay; a ``cluster`` solves them instead. Every back end asks ``clock``
    between iterations whether to stop, and then returns the best point so far. ``proved`` is whether bounds are found
    of what answers lack that need not be optima, ``near`` whether a start is near an optimum with fewer comparisons.
    """

    tolerance: float = 1e-8
    starts: int | None = None
    seed: int = 0
    presolve: bool = True
    max_iterations: int | None = None
    floor: float = 1e-6
    jobs: int | None = 1
    cluster: Workers | None = None
    clock: Clock = field(default_factory=Clock)
    proved: bool = True
    near: bool = False

    def iterations_for(self, program: LiftedProgram) -> int:
        """The iteration limit of one solve of a program."""
        return self.iterations(program.n)

    def iterations(self, variables: int) -> int:
        """The iteration limit of one solve with so many variables."""
        return self.max_iterations or (500 if variables <= FEW else 1500)


@runtime_checkable
class Backend(Protocol):
    """A solver: one file, found by name through the entry points ``maxent.backends``.

    It must pickle, to solve parts in other processes. What it returns is checked, and what it raises counts as a
    failure of that part. For ``maxent backends`` it may have ``solves``, a line on the programs that it takes,
    ``version()``, and a static method ``available()`` with the arguments after a colon that would work here. An
    attribute ``finds_global = True`` says that one start is as good as several.
    """

    name: str

    def refuses(self, program: LiftedProgram) -> str | None:
        """The reason why this back end cannot solve a program, None when it can."""
        ...

    def solve(self, program: LiftedProgram, start: FloatArray, options: Options) -> Solution:
        """Solve from a starting point of shape (program.n,)."""
        ...


@runtime_checkable
class Keeps(Backend, Protocol):
    """A back end that keeps what it makes of a program for further starts: `solve` is `init`, then `solve_from`."""

    def init(self, program: LiftedProgram, options: Options) -> Any:
        """Shared work of all solves of a program."""
        ...

    def solve_from(self, state: Any, start: FloatArray, options: Options) -> Solution:
        """Solve from a starting point of shape (program.n,)."""
        ...


@runtime_checkable
class Stacks(Backend, Protocol):
    """A back end that solves many small programs together, each from several starts."""

    def stackable(self, program: LiftedProgram) -> bool:
        """Whether a program can be one of them; together are those whose comparisons are of the same measure."""
        ...

    def stack(
        self,
        programs: Sequence[LiftedProgram],
        starts: Sequence[Sequence[FloatArray]],
        near: FloatArray,
        options: Options,
    ) -> list[Solution]:
        """The best solution of each program, from points of all of them for every start.

        Entropies nearer than ``near`` of a program, nats times individuals, are those of the same optimum: a program
        whose best one came twice needs no further starts.
        """
        ...


@runtime_checkable
class WholeBackend(Backend, Protocol):
    """A back end that solves a program as it was compiled: presolve and lifting are skipped."""

    def refuses_whole(self, program: Program) -> str | None:
        """The reason why this back end cannot solve a program, None when it can."""
        ...

    def solve_whole(self, program: Program, start: FloatArray, options: Options) -> Solution:
        """Solve from masses, shape (n_cells, n_classes); the point has the same shape."""
        ...
