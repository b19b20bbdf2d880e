"""Proved bounds on what an adversary can infer: over all data that are consistent with a release."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from maxent.api import options
from maxent.api.calling import takes
from maxent.api.compile import Knowledge, compile_beside, compile_in_time, system_of
from maxent.api.estimate import Solving, case_of, estimate_case
from maxent.api.proving import Drawing, Proving, proving_seconds
from maxent.constraints.compiler import unread_beside_draws
from maxent.constraints.kinds.registry import knowledge as choices_of_knowledge
from maxent.models.errors import ARGUMENT, check_unused, invalid
from maxent.results.bounds import ProvedBounds
from maxent.results.reliability import not_reliable, warn_unreliable
from maxent.solvers.certainty.levels import Proved, prove
from maxent.solvers.control import Clock

if TYPE_CHECKING:
    from maxent.api.case import Case
    from maxent.constraints.program.program import Program


@takes(options.Bounding)
def bounds(call: options.Bounding) -> ProvedBounds:
    """The smallest and the largest P(class | quasi-identifier) over all data consistent with a release, proved.

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
    MissingExtra
        For the level ``integer``, worlds and witnesses where OR-Tools is not installed.
    """
    how, known = (
        options.of(Proving, call),
        options.of(Knowledge, call, noise="intervals" if call.noise is None else call.noise),
    )
    return bounds_case(case_of(call), known, how, interruptible=call.interruptible)


def bounds_case(case: Case, known: Knowledge, how: Proving, *, interruptible: bool = False) -> ProvedBounds:
    """The bounds of a case; the parameters, the result and a warning are those of `bounds`."""
    if how.ties == "first" and case.joined is not None and case.joined.reordered:
        expected = "any, as the releases do not have their attributes in one order"
        raise invalid("options", ARGUMENT, "ties", expected, how.ties)
    begin, clock = time.perf_counter(), Clock(how.time_limit)
    with clock.listening() if interruptible else nullcontext():
        if case.rows:
            check_unused("people whose order is not known", worlds=how.worlds or None, witness=how.witness or None)
            program, proved = _of_rows(case, known, how, clock)
            compiled = begin
        else:
            program = replace(compile_in_time(case, known, clock), ties=how.ties)
            compiled = time.perf_counter()
            proved = prove(program, how.last, clock)
        more = _more(case, known, how, program, proved, clock) if proved.status != "inconsistent" else {}
    seconds = {"compile": case.seconds + compiled - begin, "prove": time.perf_counter() - compiled}
    more |= {"drawing": Drawing(case, proving_seconds(clock.left()), program)}
    result = ProvedBounds(program, proved.bounds, proved.status, how.last, seconds, case.noticed, **more)
    if not result.reliable:
        warn_unreliable(f"{not_reliable(result.status)}; see notes and contradictions of the result")
    return result


def _of_rows(case: Case, known: Knowledge, how: Proving, clock: Clock) -> tuple[Program, Proved]:
    """The program of single rows, with what is proved of them."""
    from maxent.constraints.rows import row_program
    from maxent.solvers.certainty.rows import prove as prove_rows

    told = [case.release.draws] if case.joined is None else [part.draws for part in case.joined.parts]
    system = system_of(case, known)
    beside = None if None not in told else replace(compile_beside(case, known), ties=how.ties)
    found = prove_rows(system, how.last, clock, beside)
    program = row_program(system, found.low, found.high, beside, found.numbers)
    wrong = program.contradictions if found.consistent else found.contradictions
    notes = (*program.notes, found.in_words())
    program = replace(program, contradictions=wrong, notes=notes, row_equations=found.as_dict(), ties=how.ties)
    if beside is None:  # it has no trees: what these tell beside equations, and of draws, is still theirs
        kinds = frozenset(choices_of_knowledge() if known.kinds is None else known.kinds)
        parts = [case.release] if case.joined is None else [*case.joined.parts]
        unread = tuple(each for part in parts for each in unread_beside_draws(part, kinds))
        program = replace(program, release=replace(program.release, draws=told[0]), unread=unread)
    return program, Proved(found.bounds, found.status)


def _more(case: Case, known: Knowledge, how: Proving, program: Program, proved: Proved, clock: Clock) -> dict[str, Any]:
    """Worlds and witnesses, where they are asked for."""
    from maxent.results.bounds import Worlds
    from maxent.solvers.certainty.weighing import weigh
    from maxent.solvers.certainty.witness import NoWitness, witness
    from maxent.solvers.worlds.settle import Patience

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
