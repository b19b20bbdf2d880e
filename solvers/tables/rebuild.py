"""Rebuilds a whole table of people: the most likely one, and the facts that all consistent tables share."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from maxent.constraints.patterns.atoms import Atoms, Bits
from maxent.constraints.patterns.join import MOST, Patterns, patterns_of
from maxent.constraints.patterns.stated import TreeCounts
from maxent.constraints.patterns.system import System, system_of
from maxent.models.arrays import BoolArray, IntArray
from maxent.models.packages import need
from maxent.solvers.apart import apart
from maxent.solvers.clock import Clock
from maxent.solvers.tables.likely import likely_patterns
from maxent.solvers.tables.near import nearer, rounded
from maxent.solvers.tables.parts import TablePart, parts_of
from maxent.solvers.tables.shared import described
from maxent.solvers.tables.whole import Found, Tell, rebuild_here

Status = Literal["likeliest", "consistent", "partial", "inconsistent"]
# Seconds for everything where there is no time limit, and the shares of them for patterns and for a near table.
WHOLE, FOR_PATTERNS, FOR_NEAR = 60.0, 0.3, 0.1
# How parts are solved: `rebuild_here`, or `elsewhere`.
Run = Callable[[list[TablePart], int, float, Clock, Tell], None]


@dataclass(frozen=True, slots=True, eq=False)
class Rebuilt:
    """A table of people, as numbers of people of each pattern.

    Attributes
    ----------
    patterns : Patterns
    people : shape (n_patterns,), individuals
    value : shape (n_patterns, n_attributes), the atom of each attribute
    proved : shape (n_patterns, n_attributes + 1), whether all tables share the value; the class comes last
    status : {"likeliest", "consistent", "partial", "inconsistent"}
        Whether the table agrees with everything, and none of greater likelihood does; it agrees with everything; it
        does not, as none was found in time; or there is none.
    settled : bool
        Whether there was time to prove all that is shared.
    """

    patterns: Patterns
    people: IntArray
    value: IntArray
    proved: BoolArray
    status: Status
    settled: bool


def elsewhere(parts: list[TablePart], seed: int, end: float, clock: Clock, tell: Tell) -> None:
    """`rebuild_here`, in another process, which ends when it is late."""
    apart(_there, (parts, seed, end), clock, tell)


def _there(parts: list[TablePart], seed: int, end: float, clock: Clock, tell: Tell) -> None:
    rebuild_here(parts, seed, end, clock, tell)


def rebuild(
    atoms: Atoms,
    trees: tuple[TreeCounts, ...],
    start: Bits,
    weight: IntArray,
    *,
    seed: int,
    clock: Clock,
    most: int = MOST,
    run: Run = elsewhere,
) -> Rebuilt:
    """A whole table of people that agrees with what trees state.

    Parameters
    ----------
    start, weight : shapes (n_owners, n_words) and (n_owners,)
        The box of values that is possible for each owner, people of whom the same is known, and their number.
    seed : int
        Of random choices.
    clock : Clock
        When to stop; without a limit after `WHOLE` seconds.
    most : int
        Patterns of a class that are looked at.
    run : callable
        How parts are solved.

    Raises
    ------
    MissingExtra
        Where OR-Tools is not installed.
    WorkerLost
        When a process did not survive.
    """
    need("ortools", "whole tables need OR-Tools")
    rng = np.random.default_rng(seed)
    left = clock.left()
    seconds = WHOLE if left is None else left
    end = time.monotonic() + seconds
    late = _after(clock, time.monotonic() + FOR_PATTERNS * seconds)
    patterns = patterns_of(atoms, trees, start, rng, most=most, late=late)
    system = system_of(patterns, trees, weight)
    likely = likely_patterns(atoms, patterns, trees, weight, late)
    people = rounded(likely.people, patterns.owner, weight, rng)
    enough = _after(clock, min(end, time.monotonic() + FOR_NEAR * seconds))
    people = nearer(system, patterns.owner, people, rng, enough)
    codes = _codes(atoms, patterns)
    parts = list(parts_of(system, likely.cost, people, _base(patterns, trees, weight), codes))
    found = [Found(part.hint if not part.system.missed(part.hint).any() else None, part.base) for part in parts]

    def hear(message: tuple[int, Found]) -> None:
        found[message[0]] = message[1]

    if (np.diff(system.matrix.indptr) > 0).all():
        run(parts, seed, end, clock, hear)
    proved = np.zeros((len(patterns), codes.shape[0]), bool)
    for part, of_part in zip(parts, found, strict=True):
        if of_part.people is not None:
            people[part.patterns] = of_part.people
            if patterns.complete:
                proved[part.patterns] = described(of_part.group, part.codes).T
    status = _status(patterns, system, people, found)
    if status == "inconsistent":
        proved[:] = False
    return Rebuilt(
        patterns,
        people,
        likely.value,
        proved[:, :-1],
        status,
        patterns.complete and all(each.settled for each in found) and status in {"likeliest", "consistent"},
    )


def _after(clock: Clock, end: float) -> Callable[[], bool]:
    """Whether it is later than ``end``, a time of `time.monotonic`, or the clock says to stop."""
    return lambda: time.monotonic() >= end or clock.stop() is not None


def _status(patterns: Patterns, system: System, people: IntArray, found: list[Found]) -> Status:
    """How the people that were found agree with everything."""
    impossible = not all(each.possible for each in found) or (np.diff(system.matrix.indptr) == 0).any()
    if patterns.complete and impossible:
        return "inconsistent"
    if system.missed(people).any():
        return "partial"
    return "likeliest" if patterns.complete and all(each.likeliest for each in found) else "consistent"


def _base(patterns: Patterns, trees: tuple[TreeCounts, ...], weight: IntArray) -> IntArray:
    """Groups of patterns with numbers of people that are stated: owners, or the leaves of the finest tree by class."""
    finest = _finest(trees)
    if len(weight) > 1 or finest is None:
        return patterns.owner
    return np.asarray(patterns.leaf[:, finest].astype(np.int64) * trees[0].low.shape[1] + patterns.klass)


def _finest(trees: tuple[TreeCounts, ...]) -> int | None:
    """The tree with the most leaves and classes that have people, of those that state exact counts."""
    exact = [t for t, tree in enumerate(trees) if tree.exact]
    return max(exact, key=lambda t: int((trees[t].low[trees[t].places.leaves] > 0).sum())) if exact else None


def _codes(atoms: Atoms, patterns: Patterns) -> IntArray:
    """Columns that divide groups: the atom of each attribute, then the class, then the leaf in the first tree."""
    found = np.full((len(atoms.of) + 2, len(patterns)), -1)
    for j, of in enumerate(atoms.of):
        if len(of) > 1:
            held = atoms.held(patterns.box, j)
            found[j] = np.where(held.sum(axis=1) == 1, held.argmax(axis=1), -1)
    found[-2], found[-1] = patterns.klass, patterns.leaf[:, 0]
    return found
