"""Joint disclosure of two successive releases about the people who joined, left or stayed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from maxent.api import decision_options, options
from maxent.api.calling import takes
from maxent.api.case import no_table
from maxent.api.compile import Knowledge
from maxent.api.estimate import Solving, case_of, estimate_case
from maxent.api.proving import check_level, proof_of
from maxent.constraints.kinds.statements import KIND as STATEMENTS
from maxent.constraints.program.program import Linear, Program
from maxent.models.errors import ARGUMENT, invalid
from maxent.results.difference import ReleaseDifference
from maxent.results.reliability import unwarned, warn_unreliable
from maxent.solvers.control import Clock

if TYPE_CHECKING:
    from maxent.models.successive.releases import Joined


@takes(decision_options.Differing)
def compare_releases(call: decision_options.Differing) -> ReleaseDifference:
    """What the difference of two successive releases tells of those who joined or left, proved and estimated.

    Returns
    -------
    ReleaseDifference
        Frozen; ``.frame()`` is a DataFrame with a row per person, ``.summary`` the JSON summary.

    Warns
    -----
    UnreliableResult
        When the releases contradict each other or the tables, or the estimate is not solved.
    """
    level, releases = call.level, call.releases
    check_level("level", level)
    if not isinstance(releases, (list, tuple)) or len(releases) != 2:
        found = str(len(releases)) if isinstance(releases, (list, tuple)) else "one"
        raise invalid("options", ARGUMENT, "releases", "two releases, the first and its successor", found)
    how, known = options.of(Solving, call, bounds=level), options.of(Knowledge, call, noise=call.noise or "intervals")
    clock = Clock(call.time_limit)
    case = case_of(call, releases)
    if case.linked is None:
        raise no_table()
    with unwarned():
        estimate = estimate_case(case, known, how, interruptible=call.interruptible, progress=call.progress)
    proof = estimate.proof
    assert proof is not None
    alone = np.zeros(len(case.people), bool)
    if proof.reliable and proof.certain.any():
        for i in range(len(releases)):
            one = proof_of(of_one(estimate.program, case.linked.joined, i), level, clock)
            alone |= one.certain & one.reliable
    named = call.who if case.linked.keys is not None else None
    result = ReleaseDifference(case.linked, named, estimate, proof, alone)
    if not result.reliable:
        warn_unreliable(
            f"not to be relied on: bounds {proof.status}, estimate {estimate.outcome.status}; see notes and "
            "contradictions of the result"
        )
    return result


def of_one(program: Program, joined: Joined, i: int) -> Program:
    """What one release, and the tables, state of everybody."""
    first = joined.first[i]
    trees = range(first, first + len(joined.parts[i].trees))

    def stated(constraint: Linear) -> bool:
        place = program.regions.places[constraint.region]
        if constraint.kind == STATEMENTS.name:
            return any(constraint.origin.place.startswith(f"{each.name}, ") for each in joined.parts[i].statements)
        return constraint.kind in ("facts", "marginal") or (place is not None and place[0] in trees)

    return replace(
        program,
        linear=tuple(each for each in program.linear if stated(each)),
        internal=tuple(each for each in program.internal if each.tree in trees),
        contradictions=(),
        likelihood=None,
    )
