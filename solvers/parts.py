"""Solve one part: starting points, retries, and the elastic program when its statements contradict each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from maxent.constraints.lift import LiftedPart
from maxent.constraints.lifted import LiftedProgram
from maxent.solvers.backend import Backend, Options
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.elastic import relax_internal, relax_linear
from maxent.solvers.solution import Solution, Stop

FloatArray = npt.NDArray[np.float64]

FEW = 400
"""Variables up to which a part that is not convex gets `MANY_STARTS` starting points by default."""

MANY_STARTS = 5

RETRIES = 4
"""Further starting points when none was solved; half as many for large parts, where each takes long."""

NOISE = 0.1
"""Standard deviation of the logarithmic noise on starting points; the exact closed form can be a saddle."""


@dataclass(frozen=True, slots=True, eq=False)
class PartAnswer:
    """The masses of a part's groups, whether its statements had to give way, and what went wrong, in words."""

    masses: FloatArray
    inconsistent: bool
    trouble: tuple[str, ...]
    iterations: int


def solve_part(
    part: LiftedPart, loosely: Callable[[], LiftedPart], start: FloatArray, backend: Backend, options: Options
) -> PartAnswer:
    """Solve from ``start`` (masses of the part's groups) and from noisy copies of it where optima may be several.

    ``loosely`` lifts the part again with every statement free to give way, for when they contradict each other.
    """
    program = part.program
    if not program.n:
        return PartAnswer(part.known, False, (), 0)
    reason = backend.refuses(program)
    if reason is not None:
        return PartAnswer(start, False, (f"{backend.name} refuses: {reason}",), 0)
    best, iterations = _several_starts(part, program, start, backend, options)
    if best is not None and best.stop is Stop.CONVERGED and best.point is not None:
        return PartAnswer(part.masses(best.point), False, (), iterations)
    return _reconcile(part, loosely, start, best, iterations, backend, options)


def _several_starts(
    part: LiftedPart, program: LiftedProgram, start: FloatArray, backend: Backend, options: Options
) -> tuple[Solution | None, int]:
    """The best feasible solution over several starts, None when none was feasible; and the iterations spent."""
    rng = np.random.default_rng(options.seed)
    wanted = 1 if program.convex else options.starts or (MANY_STARTS if program.n <= FEW else 1)
    best: Solution | None = None
    value = Derivatives(program)
    iterations = 0
    for attempt in range(wanted + (RETRIES if program.n <= FEW else RETRIES // 2)):
        noise = 0.0 if program.convex and attempt == 0 else NOISE * (1 + attempt // wanted)
        solution = backend.solve(program, part.point(_perturb(part, start, noise, rng)), options)
        iterations += solution.iterations
        if solution.point is not None and solution.violation <= options.tolerance and _better(solution, best, value):
            best = solution
        if attempt + 1 >= wanted and best is not None and best.stop is Stop.CONVERGED:
            break
        if not program.terms:
            break  # linear statements only: another start changes nothing
    return best, iterations


def _better(solution: Solution, best: Solution | None, value: Derivatives) -> bool:
    if best is None or best.point is None or solution.point is None:
        return True
    if (solution.stop is Stop.CONVERGED) != (best.stop is Stop.CONVERGED):
        return solution.stop is Stop.CONVERGED
    return value.objective(solution.point) < value.objective(best.point)


def _perturb(part: LiftedPart, start: FloatArray, noise: float, rng: np.random.Generator) -> FloatArray:
    """Multiply the free masses by log-normal noise, keeping every group's total."""
    free = np.zeros(start.shape, bool)
    free[part.group, part.klass] = True
    jolted = np.where(free, start * np.exp(noise * rng.standard_normal(start.shape)), 0.0)
    total, wanted = jolted.sum(axis=1, keepdims=True), np.where(free, start, 0.0).sum(axis=1, keepdims=True)
    scaled: FloatArray = jolted * np.divide(wanted, total, out=np.ones_like(total), where=total > 0)
    return scaled


def _reconcile(
    part: LiftedPart,
    loosely: Callable[[], LiftedPart],
    start: FloatArray,
    best: Solution | None,
    iterations: int,
    backend: Backend,
    options: Options,
) -> PartAnswer:
    """The nearest answer when no start was solved: relax linear statements, then internal ones."""
    program, inconsistent = part.program, False
    loose_part = loosely() if best is None else part
    relaxed = relax_linear(loose_part.program) if best is None else None
    if relaxed is not None:
        part, program, inconsistent = loose_part, relaxed, True
        best, more = _several_starts(part, program, start, backend, options)
        iterations += more
        if best is not None and best.stop is Stop.CONVERGED and best.point is not None:
            return PartAnswer(part.masses(best.point), True, (), iterations)
    where = ", ".join(dict.fromkeys(str(origin) for origin in (*program.origins, *program.nl_origins) if origin))
    if program.terms and best is None:
        loose, point, gave = relax_internal(program, part.point(start), options)
        solution = backend.solve(loose, point, options)
        iterations += solution.iterations
        if solution.point is not None and solution.violation <= options.tolerance:
            if gave and program.convex:
                return PartAnswer(part.masses(solution.point), True, (), iterations)
            if gave:
                text = f"{len(program.nl_origins)} internal constraints not met together ({_shorten(where)})"
                return PartAnswer(part.masses(solution.point), inconsistent, (text,), iterations)
            if solution.stop is Stop.CONVERGED:
                return PartAnswer(part.masses(solution.point), inconsistent, (), iterations)
            best = replace(solution, message="after restoring feasibility: " + solution.message)
    if best is not None and best.point is not None:
        text = f"stopped before the optimum, {best.stop.value} ({_shorten(where)})"
        return PartAnswer(part.masses(best.point), inconsistent, (text,), iterations)
    return PartAnswer(start, inconsistent, (f"no feasible point found ({_shorten(where)})",), iterations)


def _shorten(text: str, length: int = 160) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."
