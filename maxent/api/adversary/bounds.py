"""Proved bounds on what an adversary can infer: over all data that are consistent with a release."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from maxent.api.adversary.estimate import Solving, estimate_case
from maxent.api.adversary.proving import AUTO, Proving
from maxent.api.calling import called
from maxent.api.case import Case, Published, Tables, read_case
from maxent.api.compile import Knowledge, compile_in_time
from maxent.constraints.kinds.context import Noise
from maxent.constraints.program import Program, Ties
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.reading import Reading
from maxent.models.release import Impurity
from maxent.models.tables.frame import Source
from maxent.models.text.arguments import check_flags
from maxent.models.trees.printed_rates import Rounding
from maxent.results.bounds import ProvedBounds
from maxent.results.reliability import not_reliable, warn_unreliable
from maxent.solvers.certainty.prove import Proved, prove
from maxent.solvers.clock import Clock


@called
def bounds(
    release: Published,
    qi: Source | Sequence[Source],
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
    worlds: bool = False,
    witness: bool = False,
    time_limit: float | None = None,
    interruptible: bool = False,
    target: str | None = None,
    reading: Reading | None = None,
    who: str | None = None,
) -> ProvedBounds:
    """The smallest and the largest P(class | quasi-identifier) over all data consistent with a release, proved.

    Parameters
    ----------
    release, qi, knowledge, impurity, marginal, facts, count, rounding, confidence, noise, target, reading, who
        As for `maxent.estimate`.
    level : {"closed", "linear", "convex", "integer", "auto"}
        The last level of proof that is asked; each is asked only about what those before it left open. ``closed``:
        closed forms of single regions (exact for one tree whose splits are public, without internal constraints);
        ``linear``: linear programs over all linear statements together; ``convex``: also choices of splits that are
        convex comparisons; ``integer``: whole people, choices of splits included, which needs OR-Tools; ``auto``: all
        of them, without ``integer`` where OR-Tools is not installed.
    ties : {"any", "first"}
        Which of equally good attributes the inducer chose: any, which is sound for all inducers, or the first.
    worlds : bool
        Whether to weigh each world (a class for every individual) equally too, and estimate: exactly where there are
        few, by sampling elsewhere. Needs OR-Tools, as ``witness``.
    witness : bool
        Whether to find two complete tables of people that are consistent with everything.
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
        For the level ``integer``, worlds and witnesses where OR-Tools is not installed.
    """
    check_flags(interruptible=interruptible, worlds=worlds, witness=witness)
    how = Proving(level, ties, time_limit, worlds, witness)
    tables = Tables(qi, facts=facts, marginal=marginal, count=count, reading=reading, who=who)
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
    if how.ties == "first" and case.joined is not None and case.joined.reordered:
        expected = "any, as the releases do not have their attributes in one order"
        raise invalid("options", ARGUMENT, "ties", expected, how.ties)
    begin, clock = time.perf_counter(), Clock(how.time_limit)
    with clock.listening() if interruptible else nullcontext():
        program = replace(compile_in_time(case, known, clock), ties=how.ties)
        compiled = time.perf_counter()
        proved = prove(program, how.last, clock)
        more = _more(case, known, how, program, proved, clock) if proved.status != "inconsistent" else {}
    seconds = {"compile": case.seconds + compiled - begin, "prove": time.perf_counter() - compiled}
    result = ProvedBounds(program, proved.bounds, proved.status, how.last, seconds, case.noticed, **more)
    if not result.reliable:
        warn_unreliable(f"{not_reliable(result.status)}; see notes and contradictions of the result")
    return result


def _more(case: Case, known: Knowledge, how: Proving, program: Program, proved: Proved, clock: Clock) -> dict[str, Any]:
    """Worlds and witnesses, where they are asked for."""
    from maxent.results.worlds import Worlds
    from maxent.solvers.worlds.settle import Patience
    from maxent.solvers.worlds.weighing.equally import weigh
    from maxent.solvers.worlds.witness import NoWitness, witness

    low, high = proved.bounds.low, proved.bounds.high
    found: dict[str, Any] = {}
    if how.witness:
        try:
            found["witness"] = witness(program, low, high, Patience.of(clock))
        except NoWitness as error:
            found["unwitnessed"] = str(error)
    if how.worlds:
        weighed = weigh(program, low, high, Patience.of(clock))
        left = clock.left()
        how_long = Solving(time_limit=None if left is None else max(left, 0.01))
        estimate = estimate_case(case, known, how_long).probabilities
        found["worlds"] = Worlds(weighed, estimate, program.table.counts)
    return found
