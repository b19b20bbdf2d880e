"""Solve a compiled program: closed forms, lazily activated internal constraints, independent parts.

The flow: answer without internal constraints, check them all at once, activate the violated ones, merge and split
again, solve the parts that changed, and repeat until none is violated. The first answer bounds the entropy from above.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from maxent.constraints.evaluate import Evaluator, InternalRows
from maxent.constraints.leafwise import solve_leafwise
from maxent.constraints.lift import LiftedPart, lift
from maxent.constraints.program import Program
from maxent.constraints.reduce import (
    Merged,
    Part,
    Totals,
    convex_rows,
    everything_about,
    known_totals,
    merge,
    needed,
    parts,
    unmerged,
)
from maxent.solvers.backend import Backend, Options
from maxent.solvers.parts import PartAnswer, solve_part

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Progress = Callable[[str, int, int], None]

ACTIVATE = 0.1
"""Internal rows violated by more than this share of the tolerance are activated."""

MAX_ROUNDS = 50

SMALL, SMALL_PROGRAM = 200, 5_000
"""Variables left by presolve, and unknowns before it, up to which ``form="auto"`` goes through the Pyomo model.

Beyond, its overhead rules; where the program is large, the second it takes to load would be most of the whole run.
"""


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
    keep = needed(program, totals, evaluator.linear)
    solve = _solve_lazily if options.presolve else _solve_whole
    return solve(run, uniform, keep, totals, convex_rows(program, totals))


def _solve_whole(
    run: _Run, uniform: FloatArray, keep: IntArray, totals: tuple[Totals, ...], convex: BoolArray
) -> Outcome:
    """The whole program in one piece, started from the answer without internal constraints."""
    program, rows = run.program, run.evaluator.internal
    start, _ = _solve_round(run, uniform, keep, np.empty(0, np.int64), totals, convex)
    active, merged = np.arange(rows.n_rows), unmerged(program)
    part = Part(np.arange(len(merged.owner)), keep, active)
    lifting = partial(lift, program, merged, rows=rows, totals=totals)
    loosely = partial(_loosely, lifting, program, merged, part)
    lifted = lifting(part)
    answer = solve_part(lifted, loosely, merged.pool(start), run.backend, _with_form(run, lifted.program.n))
    run.iterations += answer.iterations
    masses = merged.expand(answer.masses, program.weight)
    return _outcome(run, masses, [answer], active, 1, program.entropy(start), convex)


def _solve_lazily(
    run: _Run, uniform: FloatArray, keep: IntArray, totals: tuple[Totals, ...], convex: BoolArray
) -> Outcome:
    """Activate internal constraints as they are found violated, until none is."""
    active = np.empty(0, np.int64)
    masses, first, bound = uniform, uniform, np.inf
    answers: list[PartAnswer] = []
    for rounds in range(1, MAX_ROUNDS + 1):
        # Every round starts from the answer without internal constraints: the last one lies at the boundary.
        masses, answers = _solve_round(run, first, keep, active, totals, convex)
        if rounds == 1:
            first, bound = masses, run.program.entropy(masses)
        missed = run.evaluator.internal.violation(masses) > ACTIVATE * run.options.tolerance
        new = np.setdiff1d(np.flatnonzero(missed), active)
        if not len(new):
            break
        active = np.union1d(active, new)
    else:
        rounds = MAX_ROUNDS + 1
    return _outcome(run, masses, answers, active, rounds, bound, convex)


def _uniform(program: Program) -> FloatArray:
    """Every bin of a quasi-identifier alike: the maximum of the entropy when nothing is stated."""
    bins = np.bincount(program.cells.owner, minlength=len(program.table))[program.cells.owner] * program.n_classes
    return np.repeat((program.weight / bins)[:, None], program.n_classes, axis=1)


def _solve_round(
    run: _Run, first: FloatArray, keep: IntArray, active: IntArray, totals: tuple[Totals, ...], convex: BoolArray
) -> tuple[FloatArray, list[PartAnswer]]:
    """The answer with some internal rows active, started from a ``first`` one; unchanged parts are not solved again."""
    program, rows = run.program, run.evaluator.internal
    merged = merge(program, rows, active)
    pooled, simple = solve_leafwise(program, merged, keep)
    simple &= ~_linked(program, merged, rows, active)
    pieces = parts(program, merged, keep, rows, active, ~simple) if not simple.all() else []
    start = merged.pool(first)
    masses = merged.expand(pooled, program.weight)
    order = np.argsort(merged.group, kind="stable")
    begin = np.searchsorted(merged.group[order], np.arange(len(merged.owner) + 1))
    cells = [np.concatenate([order[begin[g] : begin[g + 1]] for g in piece.groups]) for piece in pieces]
    keys = [_key(piece, held) for piece, held in zip(pieces, cells, strict=True)]
    lifting = partial(lift, program, merged, rows=rows, totals=totals)
    lifted = {key: lifting(piece) for key, piece in zip(keys, pieces, strict=True) if key not in run.cache}
    options = _with_form(run, sum(part.program.n for part in lifted.values()))
    answers = []
    for i, (key, piece, held) in enumerate(zip(keys, pieces, cells, strict=True)):
        run.progress(f"{len(pieces)} parts, {len(active)} internal constraints active", i, len(pieces))
        if key not in run.cache:
            loosely = partial(_loosely, lifting, program, merged, piece)
            answer = solve_part(lifted[key], loosely, start[piece.groups], run.backend, options)
            run.iterations += answer.iterations
            pooled[piece.groups] = answer.masses
            run.cache[key] = (held, merged.expand(pooled, program.weight)[held], answer)
        held, solved, answer = run.cache[key]
        masses[held] = solved
        answers.append(answer)
    run.progress("parts solved", len(pieces), len(pieces))
    return masses, answers


def _with_form(run: _Run, size: int) -> Options:
    """The options, with the form of programs of ``size`` variables in all chosen."""
    if run.options.form != "auto":
        return run.options
    small = size <= SMALL and run.program.n_classes * len(run.program.cells) <= SMALL_PROGRAM
    return replace(run.options, form="pyomo" if small else "own")


def _loosely(lifting: Callable[..., LiftedPart], program: Program, merged: Merged, part: Part) -> LiftedPart:
    """The part again, with every statement about it free to give way."""
    return lifting(everything_about(program, merged, part), trusting=False)


def _key(part: Part, cells: IntArray) -> tuple[bytes, bytes, int]:
    """What makes a part the same as one of an earlier round."""
    return part.linear.tobytes(), part.internal.tobytes(), int(cells[0])


def _linked(program: Program, merged: Merged, rows: InternalRows, active: IntArray) -> BoolArray:
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
    if trouble or rounds > MAX_ROUNDS:  # parts unsolved, or internal constraints still to be activated
        status = "inconsistent" if inconsistent else "not_converged"
    elif inconsistent or violation > run.options.tolerance:
        status = "inconsistent"  # everything was solved, and yet a statement without a free unknown is missed
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
