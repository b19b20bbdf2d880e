"""The whole flow: read, compile, solve, certify, measure."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from math import isfinite
from os import PathLike
from typing import Any, cast

import numpy as np

from maxent.constraints.compiler import compile_program
from maxent.constraints.program import Program
from maxent.constraints.records import compile_records, records_release
from maxent.constraints.rounding import Rounding
from maxent.disclosure import measure
from maxent.models.companions import read_facts, read_marginal, read_truth
from maxent.models.errors import InvalidInput, Problem, check_unused
from maxent.models.frames import Source
from maxent.models.published_records import Published, is_records, read_published
from maxent.models.reader import load_release
from maxent.models.release import Impurity, Release
from maxent.models.table import read_qi
from maxent.result import Estimate
from maxent.solvers.backend import Options
from maxent.solvers.clock import Clock
from maxent.solvers.cluster import connected
from maxent.solvers.parts import PRESOLVE
from maxent.solvers.registry import load_backend
from maxent.solvers.solve import Outcome, solve_program

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many pieces of it are done, and how many there are."""


def compile_release(
    release: Release | Published,
    qi: Source,
    *,
    knowledge: str | Iterable[str] | None = None,
    impurity: Impurity | None = None,
    marginal: Source | None = None,
    facts: Source | None = None,
    count: str | None = None,
    rounding: Rounding = "auto",
    confidence: float = 0.99,
    target: str | None = None,
) -> Program:
    """Everything that a release tells an adversary who holds the table ``qi``, as a `Program`.

    The parameters are those of `estimate`, which solves it.
    """
    if is_records(release):
        check_unused("trees, and these are records", knowledge=knowledge, impurity=impurity, marginal=marginal)
        records, people = read_published(release, qi, target=target, count=count)
        told = () if facts is None else read_facts(facts, records_release(records), people)
        return compile_records(records, people, told)
    check_unused("records, and this is a tree", target=target)
    release = release if isinstance(release, Release) else load_release(cast("str | PathLike[str]", release))
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
    release: Release | Published,
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
    time_limit: float | None = None,
    jobs: int = 1,
    dask: str | None = None,
    floor: float = 1e-6,
    top: int = 10,
    interruptible: bool = False,
    progress: Progress | None = None,
    target: str | None = None,
) -> Estimate:
    """What an adversary who holds the quasi-identifiers infers from a release: P(class | quasi-identifier).

    The maximum-entropy estimate of Zhu & Du (2010, Definition 1): of all distributions that agree with everything
    the release says, the one that claims least beyond it.

    Parameters
    ----------
    release : Release, path of a ``maxent/1`` document, or generalised records
        Records are a `GeneralizedTable`, a DataFrame like its ``frame()``, or the path of a file with that, CSV or
        Parquet by its suffix: every row stands for one individual of ``qi``, whose values lie in its ranges and sets.
    qi : DataFrame, path or pattern
        The adversary's table: a row per individual of the training data, a column per public attribute. CSV or Parquet;
        large files and patterns (``part-*.parquet``) are merged out of core.
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
    time_limit : float, optional
        Seconds that solving may take, reading and compiling not counted. Then the best answer so far is returned, with
        the status ``time_limit``.
    jobs : int
        Processes that solve independent parts, -1 for one on each core; the result is the same bit for bit.
    dask : str, optional
        The address of the scheduler of a Dask cluster, such as ``tcp://host:8786``, whose workers solve independent
        parts instead; see `maxent.solvers.cluster`.
    floor : float
        Smallest probability, from 0 to 0.01, that the back end ``newton`` leaves where a choice of split compared by
        entropy would push it to 0: the optimum does not rule out a class that the truth may have.
    top : int
        How many of the most disclosed quasi-identifiers the summary names.
    interruptible : bool
        Whether Ctrl-C while solving returns the best answer so far, with the status ``interrupted``; a second one, and
        otherwise the first, raises KeyboardInterrupt.
    progress : callable, optional
        Told ``(what, done, total)`` while solving.
    target : str, optional
        Of records, the column of the class; by default the only one that ``qi`` lacks. What trees alone state
        (``knowledge``, ``impurity``, ``marginal``) cannot be given for them.

    Returns
    -------
    Estimate
        Frozen; ``.posterior`` is a DataFrame, ``.summary`` the JSON summary.

    Raises
    ------
    InvalidInput
        For anything wrong with the inputs, naming every problem and its place.
    """
    _check_numbers(
        tolerance=tolerance, starts=starts, seed=seed, top=top, time_limit=time_limit, jobs=jobs, floor=floor
    )
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
        target=target,
    )
    people = None if truth is None else read_truth(truth, program.release, program.table, count=count)
    compiled = time.perf_counter()
    clock = Clock(time_limit)
    with connected(dask) if dask is not None else nullcontext() as cluster:
        options = Options(
            tolerance=tolerance,
            starts=starts,
            seed=seed,
            presolve=presolve,
            floor=floor,
            jobs=jobs,
            cluster=cluster,
            clock=clock,
        )
        with clock.listening() if interruptible else nullcontext():
            outcome = solve_program(program, solver, options, progress or (lambda text, done, total: None))
    solved = time.perf_counter()
    posterior = program.posterior(outcome.masses)
    return Estimate(
        program=program,
        outcome=outcome,
        probabilities=posterior,
        disclosure=measure(posterior, program.table.counts, people, top=top),
        backend=_used(outcome) if backend == "auto" else solver.name,
        tolerance=tolerance,
        seconds={"compile": compiled - begin, "solve": solved - compiled},
    )


def _used(outcome: Outcome) -> str:
    """The back ends that ``auto`` gave parts to, ``closed_form`` where there was nothing to give."""
    closed = outcome.parts == outcome.backends.get(PRESOLVE, 0)
    return "closed_form" if closed else "+".join(name for name in outcome.backends if name != PRESOLVE) or "auto"


def _check_numbers(**options: object) -> None:
    problems = []
    for name, value in options.items():
        expected, fits = _NUMBERS[name]
        if value is None and name in ("starts", "time_limit"):
            continue
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        number = whole or isinstance(value, (float, np.floating))
        if not (whole if expected.startswith("a whole") else number) or not fits(value):
            problems.append(Problem("option", name, expected, repr(value)))
    if problems:
        raise InvalidInput("options", problems)


_NUMBERS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "tolerance": ("a number between 0 and 1", lambda x: 0 < x < 1),
    "starts": ("a whole number of at least 1", lambda x: x >= 1),
    "seed": ("a whole number of at least 0", lambda x: x >= 0),
    "top": ("a whole number of at least 1", lambda x: x >= 1),
    "time_limit": ("a positive number of seconds", lambda x: x > 0 and isfinite(x)),
    "jobs": ("a whole number other than 0", lambda x: x != 0),
    "floor": ("a probability from 0 to 0.01", lambda x: 0 <= x <= 0.01),
}
"""Options that are numbers: what is expected, and whether a number is that."""
