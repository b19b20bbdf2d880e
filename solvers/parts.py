"""Solve one part: starting points, retries, and the elastic program when its statements contradict each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from maxent.constraints.lift import LiftedPart
from maxent.constraints.lifted import LiftedProgram
from maxent.solvers.backend import FEW, Backend, Options
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.elastic import relax_internal, relax_linear
from maxent.solvers.interior import restrict
from maxent.solvers.solution import Solution, Stop

FloatArray = npt.NDArray[np.float64]


MANY_STARTS = 5
"""Starting points that a small part gets by default when it is not convex."""

RETRIES = 4
"""Further starting points when none was solved; one for large parts, where each takes minutes."""

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
    attempt = _attempt(part, program, start, backend, options)
    if attempt.solved:
        return attempt.answer(part, False)
    return _reconcile(part, loosely, start, attempt, backend, options)


@dataclass(frozen=True, slots=True, eq=False)
class _Attempt:
    """The best feasible solution found (None: none), the iterations spent, and whether the linear rows can be met."""

    best: Solution | None
    iterations: int
    possible: bool = True

    @property
    def solved(self) -> bool:
        return self.best is not None and self.best.stop is Stop.CONVERGED

    def answer(self, part: LiftedPart, inconsistent: bool, *trouble: str, before: int = 0) -> PartAnswer:
        """The masses found; call only when there are some."""
        assert self.best is not None
        assert self.best.point is not None
        return PartAnswer(part.masses(self.best.point), inconsistent, trouble, before + self.iterations)


def _attempt(
    part: LiftedPart, program: LiftedProgram, start: FloatArray, backend: Backend, options: Options
) -> _Attempt:
    """Solve from several starts; failing that, with the equalities that the inequalities imply made explicit."""
    best, iterations = _several_starts(part, program, start, backend, options)
    if best is not None and best.stop is Stop.CONVERGED:
        return _Attempt(best, iterations)
    restricted = restrict(program)
    if restricted is None:
        return _Attempt(best, iterations, possible=False)
    if restricted.single:
        violation = Derivatives(program).violation(restricted.point)
        if violation <= options.tolerance:
            return _Attempt(Solution(restricted.point, Stop.CONVERGED, violation, 0), iterations)
        return _Attempt(best, iterations)
    if not restricted.changed:
        return _Attempt(best, iterations)
    # Fixed masses may be 0, which the program's own derivatives allow.
    again, more = _several_starts(part, restricted.program, start, backend, replace(options, form="own"))
    return _Attempt(again or best, iterations + more)


def _several_starts(
    part: LiftedPart, program: LiftedProgram, start: FloatArray, backend: Backend, options: Options
) -> tuple[Solution | None, int]:
    """The best feasible solution over several starts, None when none was feasible; and the iterations spent."""
    rng = np.random.default_rng(options.seed)
    wanted = 1 if program.convex else options.starts or (MANY_STARTS if program.n <= FEW else 1)
    best: Solution | None = None
    value = Derivatives(program)
    iterations = 0
    base = start
    for attempt in range(wanted + (RETRIES if program.n <= FEW else 1)):
        noise = 0.0 if program.convex and attempt == 0 else NOISE * (1 + attempt // wanted)
        solution = backend.solve(program, part.point(_perturb(part, base, noise, rng)), options)
        iterations += solution.iterations
        base = start
        if solution.point is not None and solution.violation <= options.tolerance:
            if _better(solution, best, value):
                best = solution
            if solution.stop is not Stop.CONVERGED:
                base = part.masses(solution.point)  # feasible, but stuck on the way: go on from near there
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
    free[part.program.group, part.program.klass] = True
    jolted = np.where(free, start * np.exp(noise * rng.standard_normal(start.shape)), 0.0)
    total, wanted = jolted.sum(axis=1, keepdims=True), np.where(free, start, 0.0).sum(axis=1, keepdims=True)
    scaled: FloatArray = jolted * np.divide(wanted, total, out=np.ones_like(total), where=total > 0)
    return scaled


def _reconcile(
    part: LiftedPart,
    loosely: Callable[[], LiftedPart],
    start: FloatArray,
    attempt: _Attempt,
    backend: Backend,
    options: Options,
) -> PartAnswer:
    """The nearest answer when no start was solved: relax linear statements, then internal ones."""
    program, spent, inconsistent = part.program, attempt.iterations, False
    if not attempt.possible:
        part = loosely()
        program, inconsistent = relax_linear(part.program), True
        attempt = _attempt(part, program, start, backend, options)
        if attempt.solved:
            return attempt.answer(part, True, before=spent)
        spent += attempt.iterations
    where = _shorten(", ".join(dict.fromkeys(str(o) for o in (*program.origins, *program.nl_origins) if o)))
    if program.terms and attempt.best is None:
        rng = np.random.default_rng(options.seed)
        for noise in (0.0, *(NOISE * (1 + i) for i in range(RETRIES))):
            loose, point, gave = relax_internal(program, part.point(_perturb(part, start, noise, rng)), options)
            if not gave or program.convex or program.n > FEW:
                break
        solution = backend.solve(loose, point, options)
        if solution.point is not None and solution.violation <= options.tolerance:
            attempt = _Attempt(solution, solution.iterations)
            if gave and program.convex:
                return attempt.answer(part, True, before=spent)
            if gave:
                return attempt.answer(
                    part, inconsistent, f"internal constraints not met together: {where}", before=spent
                )
            if attempt.solved:
                return attempt.answer(part, inconsistent, before=spent)
    if attempt.best is not None:
        text = f"stopped before the optimum, {attempt.best.stop.value}: {where}"
        return attempt.answer(part, inconsistent, text, before=spent)
    return PartAnswer(start, inconsistent, (f"no feasible point found: {where}",), spent)


def _shorten(text: str, length: int = 160) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."
