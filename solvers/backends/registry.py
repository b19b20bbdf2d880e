"""Back ends by name, through entry points, and the default back end, which chooses one for each part.

A name is that of an entry point in the group ``maxent.backends``, such as ``newton``, or that and an argument for it
after a colon, such as ``pyomo:ipopt``. Beside what `Backend` asks for, a class may have, for those who choose:
``solves``, one line on the programs it takes; ``version()``, the versions of what it uses; ``available()``, a static
method with the arguments that would work here; ``reference``, True for one that is used only where it is named. Where
there is no instance without an argument, ``version`` is a static method, too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.models.arguments import close_to
from maxent.models.errors import MaxentError, MissingExtra, UnknownBackend
from maxent.models.packages import installed
from maxent.solvers.backend import FEW, Backend, Options
from maxent.solvers.backends.newton_ import KeptStart, NewtonBackend
from maxent.solvers.solution import Solution, Stop

if TYPE_CHECKING:
    from maxent.constraints.lifting import LiftedProgram
    from maxent.models.arrays import FloatArray

GROUP = "maxent.backends"
# The default back end, which is there whatever is installed.
AUTO = "auto"
Factory = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Description:
    """A back end as ``maxent backends`` shows it.

    ``installed`` is whether it can be used here; if not, ``missing`` says why and how to get it. ``version`` and
    ``solves`` are empty where it does not say.
    """

    name: str
    installed: bool
    version: str = ""
    solves: str = ""
    missing: str = ""


def backend_names() -> tuple[str, ...]:
    """Names that `load_backend` knows before a colon, ``auto`` first."""
    from importlib.metadata import entry_points  # which takes longer to load than a small release to read

    return (AUTO, *sorted({entry.name for entry in entry_points(group=GROUP)} - {AUTO}))


def load_backend(name: str) -> Backend:
    """The back end of a name; what follows the first colon is passed to its factory.

    Raises
    ------
    UnknownBackend
        When no entry point has the name, or its factory takes no argument, needs one, or does not know it.
    MissingExtra
        When the back end is registered but what it needs is not installed.
    """
    if not isinstance(name, str):
        raise UnknownBackend(f"one of {', '.join(backend_names())}", repr(name))
    kind, colon, argument = name.partition(":")
    make = _factory(kind)
    if not _takes(make, *([argument] if colon else [])):
        if colon:
            raise UnknownBackend(f"{kind!r} alone, which takes no argument", repr(name))
        here = ", ".join(_choices(make))
        raise UnknownBackend(f"{kind}:NAME{here and ', with a NAME that is here: '}{here}", repr(name))
    backend: Backend = make(argument) if colon else make()
    return backend


def describe_backends() -> tuple[Description, ...]:
    """Every registered back end, in the order of `backend_names`; solvers are not loaded where they need not be."""
    return tuple(_describe(name) for name in backend_names())


def usable_backends() -> tuple[str, ...]:
    """Names that `load_backend` takes here as they are: in place of a back end that needs a NAME, those it finds.

    References, which others are tested against, are left out: they prove nothing, and have to be named.
    """
    names: list[str] = []
    for found in describe_backends():
        make = _factory(found.name) if found.installed else None
        if make is not None and not getattr(make, "reference", False):
            names += [found.name] if _takes(make) else [f"{found.name}:{choice}" for choice in _choices(make)]
    return tuple(names)


def _factory(kind: str) -> Factory:
    """Constructor of the back ends of an entry point: its class, usually."""
    if kind == AUTO:
        return AutoBackend
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP, name=kind):
        try:
            make: Factory = entry.load()
        except (ImportError, AttributeError) as error:
            raise MissingExtra(f"backend {kind!r} cannot be loaded: {error}") from error
        return make
    names = backend_names()
    raise UnknownBackend(f"one of {', '.join(names)}", f"{kind!r}{close_to(kind, names)}")


def _takes(make: Factory, *arguments: str) -> bool:
    """Whether a factory can be called with these arguments."""
    try:
        inspect.signature(make).bind(*arguments)
    except TypeError:
        return False
    except ValueError:  # written in C, without a signature
        return True
    return True


def _choices(make: Factory) -> tuple[str, ...]:
    """Arguments of a factory that would work here, if it can tell, by a static method ``available``."""
    available = getattr(make, "available", None)
    return tuple(available()) if available is not None else ()


def _describe(name: str) -> Description:
    solves = ""
    try:
        make = _factory(name)
        solves = getattr(make, "solves", "")
        choices = _choices(make)
        if choices:
            solves = f"{solves}; here: {', '.join(f'{name}:{choice}' for choice in choices)}"
        # One that needs a NAME tells its version without, by a static method.
        subject = make() if _takes(make) else make
    except Exception as error:  # one that is broken must not hide the others
        text = str(error) if isinstance(error, MaxentError) else f"{type(error).__name__}: {error}"
        return Description(name, False, solves=solves, missing=text)
    version = ""
    with suppress(Exception):
        version = str(getattr(subject, "version", str)())
    return Description(name, True, version, solves)


# Default back end: chooses a back end for each part by the form of its program.
#
# Closed forms are taken before any back end is asked. Convex programs and large ones go to our own solver, which is
# exact on the former, needs no linear system of the latter's size, and loads nothing. For others it depends on the
# equations. Ours eliminates them, one by one where each quasi-identifier is in one, and then it is as fast as Ipopt.
# Where they overlap, because a private attribute is tested or several trees hold at once, every point that it looks at
# is a system of its own to be solved; Ipopt, which may miss them on the way, takes a tenth of the time, or less. Where
# the first does not converge, the other tries from the best point so far.

# Variables up to which Ipopt takes programs whose equations overlap, because a private attribute is tested or by
# several trees; with more it takes long. Over several trees ours takes many times as long, and often ends nowhere.
PRIVATE, SEVERAL = 1_000, 3_000
# Newton steps from where Ipopt gave up; where more are needed, they rarely lead anywhere.
STEPS = 40


class AutoBackend:
    """Ipopt where a program is not convex and equations overlap, else Newton; the other where the first gives up."""

    name = "auto"
    solves = "every program: newton, and ipopt:own where equations overlap or newton gives up"

    def __init__(self) -> None:
        self.newton = NewtonBackend()
        self._may_use_ipopt = installed("cyipopt")

    @cached_property
    def ipopt(self) -> Backend:
        """Ipopt, loaded when the first program is for it."""
        from maxent.solvers.backends.ipopt_ import OWN, IpoptBackend

        return IpoptBackend(OWN)

    def refuses(self, program: LiftedProgram) -> str | None:
        """Takes every program."""
        return None

    def solve(self, program: LiftedProgram, start: FloatArray, options: Options) -> Solution:
        """Solve from ``start``; see `maxent.solvers.backend.Backend`."""
        return self.solve_from(self.init(program, options), start, options)

    def init(self, program: LiftedProgram, options: Options) -> KeptStart:
        """The state of Newton's method; see `maxent.solvers.backend.Keeps`."""
        return self.newton.init(program, options)

    def solve_from(self, state: KeptStart, start: FloatArray, options: Options) -> Solution:
        """Solve from ``start``; see `maxent.solvers.backend.Keeps`."""
        program = state.program
        if not self._may_use_ipopt:
            return self._first(self.newton, state, start, options)
        if for_ipopt(program):
            best = self._first(self.ipopt, state, start, options)
            if best.stop is Stop.INFEASIBLE and not _feasible(best, options):
                return best  # whether statements contradict each other is found out at less cost
            return self._then(self.newton, best, state, start, replace(options, max_iterations=STEPS))
        best = self._first(self.newton, state, start, options)
        if best.stop is Stop.CONVERGED or best.contradiction or (_feasible(best, options) and program.n > FEW):
            return best  # the optimum, near one, or there is none: Ipopt would take minutes to say no more
        return self._then(self.ipopt, best, state, start, options)

    def stackable(self, program: LiftedProgram) -> bool:
        """Whether Newton's method solves a program, and many together; see `maxent.solvers.backend.Stacks`."""
        return self.newton.stackable(program) and not (self._may_use_ipopt and for_ipopt(program))

    def stack(
        self,
        programs: Sequence[LiftedProgram],
        starts: Sequence[Sequence[FloatArray]],
        near: FloatArray,
        options: Options,
    ) -> list[Solution]:
        """Solve programs together; see `maxent.solvers.backend.Stacks`."""
        return self.newton.stack(programs, starts, near, options)

    def _first(self, backend: Backend, state: KeptStart, start: FloatArray, options: Options) -> Solution:
        if isinstance(backend, NewtonBackend):
            found = backend.solve_from(state, start, options)
        else:
            found = backend.solve(state.program, start, options)
        return replace(found, by=backend.name)

    def _then(
        self, backend: Backend, best: Solution, state: KeptStart, start: FloatArray, options: Options
    ) -> Solution:
        """The answer of another back end where the first one's is not converged, from there if that is feasible."""
        if best.stop is Stop.CONVERGED or options.clock.stop() is not None:
            return best
        feasible = _feasible(best, options)
        again = best.point if feasible and best.point is not None else start
        other = self._first(backend, state, again, options)
        return other if other.stop is Stop.CONVERGED or not feasible else best


def _feasible(found: Solution, options: Options) -> bool:
    return found.point is not None and found.violation <= options.tolerance


def for_ipopt(program: LiftedProgram) -> bool:
    """Whether a program is not convex, not large, and has quasi-identifiers with several equations beside the total.

    So has each of them whose leaf depends on what is private.
    """
    if program.convex or program.n > SEVERAL:
        return False
    if len(np.unique(program.group)) > len(np.unique(program.owner)):
        return program.n <= PRIVATE
    said = np.array([origin is not None for origin in program.origins], bool)
    rows = program.matrix[said & (program.row_lower == program.row_upper)].tocoo()
    pairs = np.unique(program.owner[rows.col] * rows.shape[0] + rows.row)
    return bool(len(np.unique(pairs // max(rows.shape[0], 1))) < len(pairs))
