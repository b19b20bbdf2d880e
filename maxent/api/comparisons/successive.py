"""What two successive releases tell together: of those who joined, who left and who stayed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from maxent.api.adversary.estimate import Progress, Solving, estimate_case
from maxent.api.adversary.proving import AUTO, check_level, proof_of
from maxent.api.case import Tables, no_table, read_case
from maxent.api.compile import Knowledge
from maxent.constraints.kinds.context import Noise
from maxent.constraints.program import Linear, Program
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.reading import Reading
from maxent.models.release import Impurity, Release
from maxent.models.successive.releases import Joined
from maxent.models.tables.frame import Source
from maxent.models.text.arguments import check_flags, check_functions
from maxent.models.trees.printed_rates import Rounding
from maxent.results.reliability import unwarned, warn_unreliable
from maxent.solvers.clock import Clock
from maxent.successive.difference import ReleaseDifference


def compare_releases(
    releases: Sequence[Release | Source],
    qi: Source | Sequence[Source],
    *,
    who: str | None = None,
    level: str = AUTO,
    knowledge: str | Iterable[str] | None = None,
    impurity: Impurity | None = None,
    marginal: Source | None = None,
    facts: Source | None = None,
    count: str | None = None,
    rounding: Rounding = "auto",
    confidence: float = 0.99,
    noise: Noise = "intervals",
    backend: str = "auto",
    tolerance: float = 1e-8,
    presolve: bool = True,
    starts: int | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    floor: float = 1e-6,
    interruptible: bool = False,
    progress: Progress | None = None,
    reading: Reading | None = None,
) -> ReleaseDifference:
    """What the difference of two successive releases tells of those who joined or left, proved and estimated.

    Parameters
    ----------
    releases : sequence of two Release or paths
        The first one and its successor; trees, as for `maxent.estimate`.
    qi : sequence of two DataFrames or paths
        The people of each release. One table stands for both: then nobody joined or left.
    who : str, optional
        The column that names each person. Without it one table has to be within the other, and people who are alike
        are told apart only by whether they joined, left or stayed.
    level : str
        The last level of proof, as for `maxent.bounds`.
    time_limit : float, optional
        Seconds that everything after the inputs are read may take.
    knowledge, impurity, marginal, facts, count, rounding, confidence, noise, interruptible, progress, reading
        As for `maxent.estimate`.
    backend, tolerance, presolve, starts, seed, jobs, dask, floor
        As for `maxent.estimate`.

    Returns
    -------
    ReleaseDifference
        Frozen; ``.frame()`` is a DataFrame with a row per person, ``.summary`` the JSON summary.

    Warns
    -----
    UnreliableResult
        When the releases contradict each other or the tables, or the estimate is not solved.

    Raises
    ------
    InvalidInput
        For anything wrong with the inputs, naming every problem and its place.
    """
    check_functions(progress=progress)
    check_flags(interruptible=interruptible)
    check_level("level", level)
    if not isinstance(releases, (list, tuple)) or len(releases) != 2:
        found = str(len(releases)) if isinstance(releases, (list, tuple)) else "one"
        raise invalid("options", ARGUMENT, "releases", "two releases, the first and its successor", found)
    how = Solving(backend, tolerance, presolve, starts, seed, time_limit, jobs, dask, floor, bounds=level)
    clock = Clock(time_limit)
    tables = Tables(qi, facts=facts, marginal=marginal, count=count, reading=reading, who=who)
    case = read_case(releases, tables, knowledge=knowledge, impurity=impurity, marginal=marginal)
    if case.linked is None:
        raise no_table()
    known = Knowledge(knowledge, impurity, rounding, confidence, noise)
    with unwarned():
        estimate = estimate_case(case, known, how, interruptible=interruptible, progress=progress)
    proof = estimate.proof
    assert proof is not None
    alone = np.zeros(len(case.people), bool)
    if proof.reliable and proof.certain.any():
        for i in range(len(releases)):
            one = proof_of(of_one(estimate.program, case.linked.joined, i), level, clock)
            alone |= one.certain & one.reliable
    named = who if case.linked.keys is not None else None
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
        return constraint.kind in ("facts", "marginal") or (place is not None and place[0] in trees)

    return replace(
        program,
        linear=tuple(each for each in program.linear if stated(each)),
        internal=tuple(each for each in program.internal if each.tree in trees),
        contradictions=(),
        likelihood=None,
    )
