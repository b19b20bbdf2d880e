"""The whole flow: read, compile, solve, certify, measure."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from os import PathLike

import numpy as np

from maxent.constraints.compiler import compile_program
from maxent.constraints.program import Program
from maxent.constraints.rounding import Rounding
from maxent.disclosure import measure
from maxent.models.companions import read_facts, read_marginal, read_truth
from maxent.models.errors import InvalidInput, Problem
from maxent.models.frames import Source
from maxent.models.reader import load_release
from maxent.models.release import Impurity, Release
from maxent.models.table import read_qi
from maxent.result import Estimate
from maxent.solvers.backend import Options
from maxent.solvers.registry import load_backend
from maxent.solvers.solve import solve_program

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many pieces of it are done, and how many there are."""


def compile_release(
    release: Release | str | PathLike[str],
    qi: Source,
    *,
    knowledge: str | Iterable[str] | None = None,
    impurity: Impurity | None = None,
    marginal: Source | None = None,
    facts: Source | None = None,
    count: str | None = None,
    rounding: Rounding = "auto",
    confidence: float = 0.99,
) -> Program:
    """Everything that a release tells an adversary who holds the table ``qi``, as a `Program`.

    The parameters are those of `estimate`, which solves it.
    """
    release = release if isinstance(release, Release) else load_release(release)
    table = read_qi(qi, release, count=count)
    if not (knowledge is None or isinstance(knowledge, Iterable)):
        expected = "a string or strings, such as 'label,rate'"
        raise InvalidInput("options", [Problem("option", "knowledge", expected, repr(knowledge))])
    known = [k.strip() for k in knowledge.split(",")] if isinstance(knowledge, str) else knowledge
    return compile_program(
        release,
        table,
        knowledge=known,
        impurity=impurity,
        marginal=None if marginal is None else read_marginal(marginal, release, table.individuals),
        facts=() if facts is None else read_facts(facts, release, table),
        rounding=rounding,
        confidence=confidence,
    )


def estimate(
    release: Release | str | PathLike[str],
    qi: Source,
    truth: Source | None = None,
    *,
    knowledge: str | Iterable[str] | None = None,
    impurity: Impurity | None = None,
    marginal: Source | None = None,
    facts: Source | None = None,
    count: str | None = None,
    backend: str = "auto",
    tolerance: float = 1e-8,
    rounding: Rounding = "auto",
    confidence: float = 0.99,
    presolve: bool = True,
    starts: int | None = None,
    seed: int = 0,
    top: int = 10,
    progress: Progress | None = None,
) -> Estimate:
    """What an adversary who holds the quasi-identifiers infers from a release: P(class | quasi-identifier).

    The maximum-entropy estimate of Zhu & Du (2010, Definition 1): of all distributions that agree with everything
    the release says, the one that claims least beyond it.

    Parameters
    ----------
    release : Release or path of a ``maxent/1`` document
    qi : DataFrame or path
        The adversary's table: a row per individual of the training data, a column per public attribute.
    truth : DataFrame or path, optional
        The same individuals with their classes, to compare with.
    knowledge : comma-separated string or iterable of {"label", "rate", "counts", "internal", "marginal"}, optional
        What the adversary uses; default everything the release states. Without ``counts``, the labels and rates that
        published counts imply are used in their place.
    impurity : {"gini", "entropy", "gain_ratio"}, optional
        How splits were chosen, where the release does not say or says otherwise.
    marginal, facts : DataFrame or path, optional
        The number of individuals of each class; known classes of some individuals.
    count : str, optional
        The column of ``qi`` (and of ``truth``, if it is there) with the number of individuals a row stands for.
    backend : str
        A solver back end, see `maxent.solvers.registry.backend_names`.
    tolerance : float
        Largest violation of any constraint, in probability units, that counts as solved.
    rounding : {"auto", "digits", "exact"}
        How printed error rates are read.
    confidence : float
        Probability that all intervals of sampled counts hold together.
    presolve : bool
        False gives the solver the whole program in one piece.
    starts : int, optional
        Starting points of a part that is not convex; the best answer is kept.
    seed : int
        Makes the starting points repeatable.
    top : int
        How many of the most disclosed quasi-identifiers the summary names.
    progress : callable, optional
        Told ``(what, done, total)`` while solving.

    Returns
    -------
    Estimate
        Frozen; ``.posterior`` is a DataFrame, ``.summary`` the JSON summary.

    Raises
    ------
    InvalidInput
        For anything wrong with the inputs, naming every problem and its place.
    """
    _check_numbers(tolerance=tolerance, starts=starts, seed=seed, top=top)
    solver = load_backend(backend)
    begin = time.perf_counter()
    program = compile_release(
        release,
        qi,
        knowledge=knowledge,
        impurity=impurity,
        marginal=marginal,
        facts=facts,
        count=count,
        rounding=rounding,
        confidence=confidence,
    )
    people = None if truth is None else read_truth(truth, program.release, program.table, count=count)
    compiled = time.perf_counter()
    options = Options(tolerance=tolerance, starts=starts, seed=seed, presolve=presolve)
    outcome = solve_program(program, solver, options, progress or (lambda text, done, total: None))
    solved = time.perf_counter()
    posterior = program.posterior(outcome.masses)
    return Estimate(
        program=program,
        outcome=outcome,
        probabilities=posterior,
        disclosure=measure(posterior, program.table.counts, people, top=top),
        backend=solver.name,
        tolerance=tolerance,
        seconds={"compile": compiled - begin, "solve": solved - compiled},
    )


def _check_numbers(*, tolerance: object, starts: object, seed: object, top: object) -> None:
    problems = []
    if not (isinstance(tolerance, (int, float)) and 0 < tolerance < 1):
        problems.append(Problem("option", "tolerance", "a number between 0 and 1", repr(tolerance)))
    for name, value, least in (("starts", starts, 1), ("seed", seed, 0), ("top", top, 1)):
        if (name, value) != ("starts", None) and not (isinstance(value, (int, np.integer)) and value >= least):
            problems.append(Problem("option", name, f"a whole number of at least {least}", repr(value)))
    if problems:
        raise InvalidInput("options", problems)
