"""Our own solver, NumPy and SciPy only: Newton's method in the metric of the masses (`maxent.solvers.newton`).

Convex programs are solved on the dual, with tangents in place of internal constraints. For others an augmented
Lagrangian is minimised, up to an accuracy from which a projection reaches the constraints at no cost in entropy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from maxent import __version__
from maxent.models.arrays import FloatArray
from maxent.solvers.backend import FEW, Options
from maxent.solvers.control import Clock
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.solution import Solution, Stop

if TYPE_CHECKING:  # what only programs that are not convex need
    from maxent.constraints.lifting import LiftedProgram
    from maxent.solvers.newton.augmented_lagrangian import Accuracy
    from maxent.solvers.newton.quadratic_model import NewtonProblem

# How often masses that comparisons force to be 0 are looked for; a face can be one of a face.
FACES = 3
# Individuals, per individual that an equation is about, by which no masses meet it.
IMPOSSIBLE = 1e-6


@dataclass(frozen=True, eq=False)
class KeptStart:
    """A program, and the form of it that is solved."""

    program: LiftedProgram
    clock: Clock

    @cached_property
    def problem(self) -> NewtonProblem:
        from maxent.solvers.newton.block_form import form_of
        from maxent.solvers.newton.quadratic_model import NewtonProblem

        return NewtonProblem(form_of(self.program), self.clock)


class NewtonBackend:
    """Newton's method in the metric of the masses."""

    name = "newton"
    solves = "every program; best where parts are large"

    def version(self) -> str:
        """The version of maxent: the solver is its own."""
        return __version__

    def refuses(self, program: LiftedProgram) -> str | None:
        """Newton's method takes every program."""
        return None

    def solve(self, program: LiftedProgram, start: FloatArray, options: Options) -> Solution:
        """Solve from ``start``; see `maxent.solvers.backend.Backend`."""
        return self.solve_from(self.init(program, options), start, options)

    def init(self, program: LiftedProgram, options: Options) -> KeptStart:
        """The program, to be brought to its own form once it is needed; see `maxent.solvers.backend.Keeps`."""
        return KeptStart(program, options.clock)

    def solve_from(self, state: KeptStart, start: FloatArray, options: Options) -> Solution:
        """Solve from ``start``; see `maxent.solvers.backend.Keeps`."""
        program = state.program
        if program.convex:
            solution = _by_duality(program, start, options)
            if solution.stop is Stop.CONVERGED or not program.terms:
                return solution
        return _on_faces(program, _by_scores(state, start, options), options)

    def stackable(self, program: LiftedProgram) -> bool:
        """Whether a program can be solved together with others; see `maxent.solvers.backend.Stacks`."""
        if program.convex:  # nothing is loaded for the most common kind
            return False
        from maxent.solvers.newton.stacked import stackable

        return stackable(program)

    def stack(
        self,
        programs: Sequence[LiftedProgram],
        starts: Sequence[Sequence[FloatArray]],
        near: FloatArray,
        options: Options,
    ) -> list[Solution]:
        """Solve programs together; see `maxent.solvers.backend.Stacks`."""
        from maxent.solvers.newton.stacked import Together

        together = Together(programs, options.clock)
        found = together.best(starts, accuracy_for(programs[0]), near, options.seed, options.floor)
        stop = options.clock.stop() or Stop.NUMERICAL
        return [
            Solution(point, Stop.CONVERGED if converged else stop, np.inf, steps, by=self.name)
            for point, converged, steps in zip(
                found.points, found.converged.tolist(), found.steps.tolist(), strict=True
            )
        ]


def _by_scores(state: KeptStart, start: FloatArray, options: Options) -> Solution:
    """By Newton's method on the scores of masses, and a projection to the constraints."""
    from maxent.solvers.newton.augmented_lagrangian import solve
    from maxent.solvers.newton.quadratic_model import project

    program, problem = state.program, state.problem
    form, rng = problem.form, np.random.default_rng(options.seed)
    if problem.unmet(problem.at(form.scores(start))) > IMPOSSIBLE:
        return Solution(start, Stop.INFEASIBLE, Derivatives(program).violation(start), 0, "equations contradict")
    accuracy, most = accuracy_for(program), options.max_iterations
    found = solve(problem, form.scores(start), accuracy, rng, convex=program.convex, most=most, near=options.near)
    near = project(problem, found.state, found.pull, 0.0 if program.convex else options.floor)
    point = form.point(near.m)
    violation = Derivatives(program).violation(point)
    stop = options.clock.stop()
    if stop is None or found.converged:
        limited = most is not None and found.steps >= most
        stop = Stop.ITERATION_LIMIT if limited else Stop.NUMERICAL
        stop = Stop.CONVERGED if found.converged and violation <= options.tolerance else stop
    return Solution(point, stop, violation, found.steps)


def _on_faces(program: LiftedProgram, found: Solution, options: Options) -> Solution:
    """The solution, or one on the face that it is near to where comparisons hold nowhere else."""
    for _ in range(FACES):
        if found.stop is not Stop.NUMERICAL or found.point is None or found.violation <= options.tolerance:
            break
        from maxent.solvers.newton.forced_zeros import with_forced_zeros

        face = with_forced_zeros(program, found.point, options.tolerance, options.clock.left())
        if face is None or not face.possible:
            break
        program = face.program
        if face.single:
            violation = Derivatives(program).violation(face.point)
            stop = Stop.CONVERGED if violation <= options.tolerance else Stop.NUMERICAL
            again = Solution(face.point, stop, violation, 0)
        else:
            start = np.clip(found.point, program.lower, program.upper)
            again = _by_scores(KeptStart(program, options.clock), start, options)
        if again.violation > found.violation:
            break
        found = replace(again, iterations=found.iterations + again.iterations)
    return found


def _by_duality(program: LiftedProgram, start: FloatArray, options: Options) -> Solution:
    """A convex program: the dual of its linear rows and of tangents to the others, see `maxent.solvers.dual.bound`."""
    from maxent.solvers.dual.bound import relaxed_optimum

    found = relaxed_optimum(program, start, options.clock)
    violation = Derivatives(program).violation(found.point)
    if found.contradiction:
        why = "linear rows contradict"
        return Solution(found.point, Stop.INFEASIBLE, violation, found.iterations, why, contradiction=True)
    stop = Stop.CONVERGED if violation <= options.tolerance else options.clock.stop() or Stop.NUMERICAL
    return Solution(found.point, stop, violation, found.iterations, multipliers=found.multipliers)


def accuracy_for(program: LiftedProgram) -> Accuracy:
    """Accuracy of the solution of a program before the projection."""
    from maxent.solvers.newton.augmented_lagrangian import CLOSE, FINE, LOOSE

    if program.convex:
        return FINE
    phi = "entropy" if any(terms.phi == "entropy" for terms in program.terms) else "gini"
    return (CLOSE if program.n <= FEW else LOOSE)[phi]
