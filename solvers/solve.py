"""Solve a compiled program: closed forms, lazily activated internal constraints, independent parts (ENGINE, section 4).

The flow: answer without internal constraints, check them all at once, activate the violated ones, merge and split again,
solve the parts that changed, and repeat until none is violated. The first answer bounds the entropy from above.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from maxent.constraints.evaluate import Evaluator
from maxent.constraints.leafwise import solve_leafwise
from maxent.constraints.lift import lift
from maxent.constraints.program import Program
from maxent.constraints.reduce import Merged, Part, convex_rows, known_totals, merge, needed, parts, unmerged
from maxent.solvers.backend import Backend, Options
from maxent.solvers.parts import PartAnswer, solve_part

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Progress = Callable[[str, int, int], None]

ACTIVATE = 0.1
"""Internal rows violated by more than this share of the tolerance are activated."""

MAX_ROUNDS = 50


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The answer to a program, in its cells, and how it was reached.

    ``status``: ``optimal``, ``inconsistent`` (statements contradict each other; the nearest point to them) or
    ``not_converged`` (``trouble`` says where). ``unique`` is whether the answer is known to be the only optimum,
    ``convex`` whether what was solved is convex. ``entropy_upper_bound`` is the objective without internal constraints.
    """

    masses: FloatArray  # (n_cells, n_classes), individuals
    status: str
    convex: bool
    entropy_upper_bound: float
    violation: float
    trouble: tuple[str, ...]
    iterations: int
    rounds: int
    parts: int
    active: int


@dataclass(slots=True)
class _Run:
    """What the rounds of one solve share."""

    program: Program
    backend: Backend
    options: Options
    progress: Progress
    evaluator: Evaluator
    cache: dict[tuple[bytes, bytes, int], tuple[IntArray, FloatArray, PartAnswer]] = field(default_factory=dict)
    iterations: int = 0


def solve_program(
    program: Program, backend: Backend, options: Options, progress: Progress = lambda text, done, total: None
) -> Outcome:
    """The maximum-entropy point of a program.

    ``options.presolve`` False solves the whole program, every cell and constraint, in one piece.
    """
    evaluator = Evaluator(program)
    run = _Run(program, backend, options, progress, evaluator)
    uniform = _uniform(program)
    if options.presolve and evaluator.max_violation(uniform) <= 1e-12:
        return _outcome(run, uniform, [], np.empty(0, np.int64), 0, program.entropy(uniform), np.ones(0, bool))
    totals = known_totals(program)
    convex = convex_rows(program, totals)
    keep = needed(program, totals)
    if not options.presolve:
        active = np.arange(evaluator.internal.n_rows)
        merged = unmerged(program)
        part = Part(np.arange(len(merged.owner)), keep, active)
        start, bound = _without_internal(run, keep, totals, convex)
        answer = solve_part(
            lift(program, merged, part, evaluator.internal, totals, convex), merged.pool(start), backend, options
        )
        masses = merged.expand(answer.masses, program.weight)
        return _outcome(run, masses, [answer], active, 1, bound, convex)
    active = np.empty(0, np.int64)
    masses, bound = uniform, np.inf
    answers: list[PartAnswer] = []
    for rounds in range(1, MAX_ROUNDS + 1):
        masses, answers = _solve_round(run, masses, keep, active, totals, convex)
        if rounds == 1:
            bound = program.entropy(masses)
        missed = evaluator.internal.violation(masses) > ACTIVATE * options.tolerance
        new = np.setdiff1d(np.flatnonzero(missed), active)
        if not len(new):
            break
        active = np.union1d(active, new)
    return _outcome(run, masses, answers, active, rounds, bound, convex)


def _uniform(program: Program) -> FloatArray:
    """Every bin of a quasi-identifier alike: the maximum of the entropy when nothing is stated."""
    bins = np.bincount(program.cells.owner, minlength=len(program.table))[program.cells.owner] * program.n_classes
    return np.repeat((program.weight / bins)[:, None], program.n_classes, axis=1)


def _without_internal(run: _Run, keep: IntArray, totals, convex: BoolArray) -> tuple[FloatArray, float]:  # type: ignore[no-untyped-def]
    masses, _ = _solve_round(run, _uniform(run.program), keep, np.empty(0, np.int64), totals, convex)
    return masses, run.program.entropy(masses)


def _solve_round(  # type: ignore[no-untyped-def]
    run: _Run, before: FloatArray, keep: IntArray, active: IntArray, totals, convex: BoolArray
) -> tuple[FloatArray, list[PartAnswer]]:
    """The answer with some internal rows active, starting from the answer before; unchanged parts are not solved again."""
    program, rows = run.program, run.evaluator.internal
    merged = merge(program, rows, active)
    pooled, simple = solve_leafwise(program, merged, keep)
    linked = _linked(program, merged, rows, active)
    simple &= ~linked
    pieces = parts(program, merged, keep, rows, active, ~simple) if not simple.all() else []
    start = merged.pool(before)
    masses = merged.expand(pooled, program.weight)
    order = np.argsort(merged.group, kind="stable")
    first = np.searchsorted(merged.group[order], np.arange(len(merged.owner) + 1))
    answers = []
    for i, part in enumerate(pieces):
        run.progress(f"solving {len(pieces)} parts, {len(active)} internal constraints active", i, len(pieces))
        cells = np.concatenate([order[first[g] : first[g + 1]] for g in part.groups])
        key = (part.linear.tobytes(), part.internal.tobytes(), int(cells[0]))
        if key not in run.cache:
            lifted = lift(program, merged, part, rows, totals, convex)
            answer = solve_part(lifted, start[part.groups], run.backend, run.options)
            run.iterations += answer.iterations
            pooled[part.groups] = answer.masses
            run.cache[key] = (cells, merged.expand(pooled, program.weight)[cells], answer)
        cells, held, answer = run.cache[key]
        masses[cells] = held
        answers.append(answer)
    run.progress("done", len(pieces), len(pieces))
    return masses, answers


def _linked(program: Program, merged: Merged, rows, active: IntArray) -> BoolArray:  # type: ignore[no-untyped-def]
    """Groups in the node of an active internal row."""
    linked = np.zeros(len(merged.owner), bool)
    for k in np.unique(rows.constraint_of(active)):
        comparison = program.internal[k]
        linked[merged.group[program.cells.trees[comparison.tree].at(comparison.place)]] = True
    return linked


def _outcome(
    run: _Run,
    masses: FloatArray,
    answers: list[PartAnswer],
    active: IntArray,
    rounds: int,
    bound: float,
    convex: BoolArray,
) -> Outcome:
    violation = run.evaluator.max_violation(masses)
    trouble = tuple(dict.fromkeys(text for answer in answers for text in answer.trouble))
    inconsistent = any(answer.inconsistent for answer in answers) or bool(run.program.contradictions)
    missed_linear = run.evaluator.linear.violation(masses).max(initial=0.0) > run.options.tolerance
    if inconsistent or (missed_linear and not trouble):
        status = "inconsistent"
    elif trouble or violation > run.options.tolerance:
        status = "not_converged"
    else:
        status = "optimal"
    solved_convex = bool(convex[run.evaluator.internal.constraint_of(active)].all()) if len(active) else True
    return Outcome(
        np.maximum(masses, 0.0),
        status,
        solved_convex,
        bound,
        violation,
        trouble,
        run.iterations,
        rounds,
        len(answers),
        len(active),
    )
