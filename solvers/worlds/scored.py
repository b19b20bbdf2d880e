"""Whole tables behind boosted models: their leaves state real numbers, which few tables have.

Trees are taken one after the other. After each, CP-SAT finds the groups, combinations of leaves, that have people in
some table, and proves that no other group has: so there are never many more groups than people, whereas combinations of
leaves are without number. A sum to six digits leaves few ways to divide people with known scores among leaves, mostly
one. Where there is no time for the proof the groups of tables that were found are gone on with, and what is proved
follows from the trees before.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.constraints.patterns import (
    MOST,
    Atoms,
    Bits,
    LeafGroups,
    Patterns,
    TreeCounts,
    log_share,
    patterns_of,
    system_of,
)
from maxent.models.packages import need
from maxent.solvers.workers import apart
from maxent.solvers.worlds.plausible import learner
from maxent.solvers.worlds.tables import (
    WHOLE,
    Ask,
    Found,
    Likely,
    Rebuilt,
    Run,
    Status,
    TablePart,
    Tell,
    base_of,
    codes_of,
    described,
    elsewhere,
    parts_of,
    rounded,
    settled,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from maxent.models.arrays import BoolArray, IntArray
    from maxent.models.release import Release
    from maxent.solvers.control import Clock

# Shares of the time: for all trees together, and, of what is left of that, for one of them.
FOR_TREES, FOR_TREE = 0.8, 0.4


@dataclass(frozen=True, slots=True, eq=False)
class Staged:
    """People in the leaves of the first trees.

    ``people``, shape (n_patterns,), have everything that the trees of ``patterns`` state; None: none was found.
    ``sure``: all patterns that are possible, behind as many trees as there was time for. ``possible`` is False where
    these have no table.
    """

    patterns: Patterns
    people: IntArray | None
    sure: Patterns | None
    possible: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Boosted:
    """A boosted model, what is known of people, and their numbers; see `maxent.solvers.worlds.tables.rebuild`."""

    release: Release
    atoms: Atoms
    trees: tuple[TreeCounts, ...]
    start: Bits
    weight: IntArray

    def part(self, patterns: Patterns, people: IntArray | None = None) -> TablePart:
        """The rows of the trees that patterns are behind."""
        trees = self.trees[: patterns.leaf.shape[1]]
        system = system_of(patterns, trees, self.weight, self.release)
        hint, numbers = np.zeros(len(patterns), np.int64) if people is None else people, np.arange(len(patterns))
        codes = codes_of(self.atoms, patterns)
        return TablePart(numbers, system, np.zeros(len(hint)), hint, base_of(patterns, trees, self.weight), codes)


def stage(boosted: Boosted, seed: int, end: float, most: int, clock: Clock, tell: Callable[[Staged], None]) -> None:
    """Take one tree after the other, and tell how far that came; ``end`` is a time of `time.monotonic`."""
    groups, proving, sure = LeafGroups.first(boosted.start), True, None
    for t in range(len(boosted.trees)):
        trees = boosted.trees[: t + 1]
        groups = groups.down(boosted.atoms, trees[-1])
        patterns, group = groups.patterns(trees, proving)
        if len(patterns) > most or clock.stop() is not None:
            return
        now = time.monotonic()
        part = boosted.part(patterns)
        if not (np.diff(part.system.matrix.indptr) > 0).all():
            held, people, proved = np.zeros(len(groups), bool), None, True
        else:
            ask = Ask(part, seed, clock, now + FOR_TREE * max(end - now, 0.0))
            held, people, proved = ask.peopled(group)
            held = np.append(held, np.zeros(len(groups) - len(held), bool))
        if people is None and not proved and proving:
            continue  # there was no time: all groups are gone on with, and more of them may be told apart later
        if people is None:
            if proving:
                tell(Staged(patterns, None, patterns, False))
            return
        if proved or not proving:
            keep = held[group]
            each = (patterns.owner[keep], patterns.klass[keep], patterns.leaf[keep], patterns.box[keep])
            patterns, people = Patterns(*each, proving), people[keep]
        sure = patterns if proving else sure
        proving &= proved
        tell(Staged(patterns, people, sure))
        groups = groups.of(held)


def rebuild_scored(boosted: Boosted, *, seed: int, clock: Clock, most: int = MOST, run: Run = elsewhere) -> Rebuilt:
    """A whole table with the leaf values of a boosted model; the rest is as for `maxent.solvers.worlds.tables.rebuild`.

    Raises `MissingExtra` where OR-Tools is not installed. Raises `WorkerLost` when a process did not survive.
    """
    need("ortools", "whole tables need OR-Tools")
    left, begin = clock.left(), time.monotonic()
    seconds = WHOLE if left is None else left
    end, found = begin + seconds, [_nobody(boosted, seed)]
    asked = boosted, seed, begin + FOR_TREES * seconds, most, clock
    if run is elsewhere:
        apart(stage, asked[:-1], clock, found.append)
    else:
        stage(*asked, found.append)
    last = next(each for each in reversed(found) if each.people is not None)
    sure, possible, patterns = found[-1].sure, found[-1].possible, last.patterns
    assert last.people is not None
    whole, n_attributes = patterns.leaf.shape[1] == len(boosted.trees) and possible, len(boosted.atoms.of)
    learn, seen = learner(boosted.atoms, patterns, len(boosted.release.target.classes)), last.people.astype(np.float64)
    near = Likely(seen, -learn(seen), learn.values(seen, n_attributes))
    part = boosted.part(patterns, last.people)
    if whole and patterns.complete:
        given: Any = {"seed": seed, "end": end, "clock": clock, "run": run}
        return settled(boosted.atoms, patterns, part.system, near, part.base, **given)
    whole &= not part.system.missed(last.people).any()
    proved, done = np.zeros((len(patterns), n_attributes + 1), bool), False
    if possible and sure is not None:
        proved, done = _shared(
            boosted, sure, patterns, last.people, lambda parts, hear: run(parts, seed, end, clock, hear)
        )
    status: Status = "inconsistent" if not possible else "consistent" if whole else "partial"
    return Rebuilt(patterns, last.people, near.value, proved, status, done and sure is patterns and whole)


def _nobody(boosted: Boosted, seed: int) -> Staged:
    """People anywhere, where no tree was looked at yet."""
    rng = np.random.default_rng(seed)
    patterns = patterns_of(boosted.atoms, (boosted.trees[0].unlimited,), boosted.start, rng)
    size = np.exp(log_share(boosted.atoms, patterns.box))
    return Staged(patterns, rounded(size, patterns.owner, boosted.weight, rng), None)


def _shared(
    boosted: Boosted,
    sure: Patterns,
    patterns: Patterns,
    people: IntArray,
    run: Callable[[list[TablePart], Tell], None],
) -> tuple[BoolArray, bool]:
    """What all tables share that have what the first trees state, and whether that is all of it.

    ``sure`` are the patterns of these tables, ``patterns`` those of a table that is one of them.
    """
    n = sure.leaf.shape[1]
    keys = [np.column_stack([each.owner, each.klass, each.leaf[:, :n]]) for each in (sure, patterns)]
    number = np.unique(np.concatenate(keys), axis=0, return_inverse=True)[1].ravel()
    at = np.zeros(int(number.max()) + 1, np.int64)
    at[number[: len(sure)]] = np.arange(len(sure))
    of = at[number[len(sure) :]]
    part = boosted.part(sure, np.bincount(of, people, len(sure)).astype(np.int64))
    proved = np.zeros((part.codes.shape[0], len(sure)), bool)
    if part.system.missed(part.hint).any():
        return proved[:-1].T[of], False
    parts = list(parts_of(part.system, part.cost, part.hint, part.base, part.codes, given=True))
    found = [Found(each.hint, each.base) for each in parts]

    def hear(message: tuple[int, Found]) -> None:
        found[message[0]] = message[1]

    run(parts, hear)
    for each, of_part in zip(parts, found, strict=True):
        proved[:, each.patterns] = described(of_part.group, each.codes)
    return proved[:-1].T[of], all(each.settled for each in found)
