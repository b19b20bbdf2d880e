"""Proved bounds on what an adversary can infer: over all data that are consistent with a release."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from math import inf

from maxent.api.case import Case, Tables, read_case
from maxent.api.compile import Knowledge, compile_in_time
from maxent.constraints.kinds.context import Noise
from maxent.constraints.program import TIES, Program, Ties
from maxent.models.errors import ARGUMENT, InvalidInput, Problem
from maxent.models.formats.release_reader import Records
from maxent.models.reading import Reading
from maxent.models.release import Impurity, Release
from maxent.models.tables.frame import Source, shorten
from maxent.models.text.arguments import check_flags, is_number, is_one_of
from maxent.models.trees.printed_rates import Rounding
from maxent.results.bounds import ProvedBounds
from maxent.results.proof import Proof
from maxent.results.reliability import not_reliable, warn_unreliable
from maxent.solvers.certainty.levels import last_level, level_names
from maxent.solvers.certainty.prove import prove
from maxent.solvers.clock import Clock

AUTO = "auto"
"""All levels that can be asked here."""


@dataclass(frozen=True, slots=True)
class Proving:
    """Parameters of `bounds` for proving.

    Raises
    ------
    InvalidInput
        Naming every parameter that is out of its range.
    """

    level: str = AUTO
    ties: Ties = "any"
    time_limit: float | None = None

    def __post_init__(self) -> None:
        problems = _wrong_level("level", self.level)
        if not is_one_of(self.ties, TIES):
            problems.append(Problem(ARGUMENT, "ties", "one of " + ", ".join(TIES), shorten(self.ties)))
        limit = self.time_limit
        if limit is not None and not (is_number(limit) and 0 < limit < inf):
            problems.append(Problem(ARGUMENT, "time_limit", "a positive number of seconds", shorten(limit)))
        if problems:
            raise InvalidInput("options", problems)

    @property
    def last(self) -> str:
        """The last level to ask."""
        return _last(self.level)


def check_level(name: str, level: object) -> None:
    """Refuse what is no level of proof, with an InvalidInput that calls the parameter by its name."""
    if problems := _wrong_level(name, level):
        raise InvalidInput("options", problems)


def _wrong_level(name: str, level: object) -> list[Problem]:
    levels = (*level_names(), AUTO)
    if is_one_of(level, levels):
        return []
    return [Problem(ARGUMENT, name, "one of " + ", ".join(levels), shorten(level))]


def _last(level: str) -> str:
    return last_level() if level == AUTO else level


def proof_of(program: Program, level: str, clock: Clock) -> Proof:
    """What is proved of a program, in the time that is left."""
    begin = time.perf_counter()
    proved = prove(program, _last(level), clock)
    return Proof(program, proved.bounds, proved.status, _last(level), {"prove": time.perf_counter() - begin})


def bounds(
    release: Release | Records,
    qi: Source,
    *,
    level: str = AUTO,
    ties: Ties = "any",
    knowledge: str | Iterable[str] | None = None,
    impurity: Impurity | None = None,
    marginal: Source | None = None,
    facts: Source | None = None,
    count: str | None = None,
    rounding: Rounding = "auto",
    confidence: float = 0.99,
    noise: Noise = "intervals",
    time_limit: float | None = None,
    interruptible: bool = False,
    target: str | None = None,
    reading: Reading | None = None,
) -> ProvedBounds:
    """The smallest and the largest P(class | quasi-identifier) over all data consistent with a release, proved.

    Parameters
    ----------
    release, qi, knowledge, impurity, marginal, facts, count, rounding, confidence, noise, target, reading
        As for `maxent.estimate`.
    level : {"closed", "linear", "convex", "integer", "auto"}
        The last level of proof that is asked; each is asked only about what those before it left open. ``closed``:
        closed forms of single regions (exact for one tree whose splits are public, without internal constraints);
        ``linear``: linear programs over all linear statements together; ``convex``: also choices of splits that are
        convex comparisons; ``integer``: whole people, choices of splits included, which needs OR-Tools; ``auto``: all
        of them, without ``integer`` where OR-Tools is not installed.
    ties : {"any", "first"}
        Which of equally good attributes the inducer chose: any, which is sound for all inducers, or the first.
    time_limit : float, optional
        Seconds that everything after the inputs are read may take. What is not proved by then keeps the looser bound.
        Without it the level ``integer`` takes a minute at most.
    interruptible : bool
        Whether Ctrl-C while proving returns what is proved so far, with the status ``interrupted``.

    Returns
    -------
    ProvedBounds
        Frozen; ``.frame()`` is a DataFrame, ``.summary`` the JSON summary.

    Warns
    -----
    UnreliableResult
        When the statements contradict each other or the table: no data are consistent with them.

    Raises
    ------
    InvalidInput
        For anything wrong with the inputs, naming every problem and its place.
    MissingExtra
        For the level ``integer`` where OR-Tools is not installed.
    """
    check_flags(interruptible=interruptible)
    how = Proving(level, ties, time_limit)
    tables = Tables(qi, facts=facts, marginal=marginal, count=count, reading=reading)
    case = read_case(release, tables, target, knowledge=knowledge, impurity=impurity, marginal=marginal)
    known = Knowledge(knowledge, impurity, rounding, confidence, noise)
    return bounds_case(case, known, how, interruptible=interruptible)


def bounds_case(case: Case, known: Knowledge, how: Proving, *, interruptible: bool = False) -> ProvedBounds:
    """The bounds of a case; the parameters, the result and a warning are those of `bounds`.

    Raises
    ------
    InvalidInput
        For knowledge that the release does not give.
    """
    begin, clock = time.perf_counter(), Clock(how.time_limit)
    program = replace(compile_in_time(case, known, clock), ties=how.ties)
    compiled = time.perf_counter()
    with clock.listening() if interruptible else nullcontext():
        proved = prove(program, how.last, clock)
    seconds = {"compile": case.seconds + compiled - begin, "prove": time.perf_counter() - compiled}
    result = ProvedBounds(program, proved.bounds, proved.status, how.last, seconds, case.noticed)
    if not result.reliable:
        warn_unreliable(f"{not_reliable(result.status)}; see notes and contradictions of the result")
    return result
