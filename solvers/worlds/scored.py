"""Whole tables behind boosted models: their leaves state real numbers, which few tables have.

Trees are taken one after the other. After each, CP-SAT finds the groups, combinations of leaves, that have people in
some table, and proves that no other group has: so there are never many more groups than people, whereas combinations of
leaves are without number. A sum to six digits leaves few ways to divide people with known scores among leaves, mostly
one. Where there is no time for the proof all groups are gone on with, as more trees may tell more of them apart.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

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
from maxent.models.arrays import IntArray
from maxent.models.packages import need
from maxent.models.release import Release
from maxent.solvers.control import Clock
from maxent.solvers.workers import apart
from maxent.solvers.worlds.plausible import learner
from maxent.solvers.worlds.tables import (
    WHOLE,
    Ask,
    Likely,
    Rebuilt,
    Run,
    TablePart,
    base_of,
    codes_of,
    elsewhere,
    rounded,
    settled,
)

# Shares of the time: for all trees together, and, of what is left of that, for one of them.
FOR_TREES, FOR_TREE = 0.8, 0.4


@dataclass(frozen=True, slots=True, eq=False)
class Staged:
    """All patterns that are possible behind the first trees."""

    patterns: Patterns
    people: IntArray | None


@dataclass(frozen=True, slots=True, eq=False)
class Boosted:
    """A boosted model, what is known of people, and their numbers; see `maxent.solvers.worlds.tables.rebuild`."""

    release: Release
    atoms: Atoms
    trees: tuple[TreeCounts, ...]
    start: Bits
    weight: IntArray

    def part(self, patterns: Patterns) -> TablePart:
        """The rows of the trees that patterns are behind."""
        trees = self.trees[: patterns.leaf.shape[1]]
        system = system_of(patterns, trees, self.weight, self.release)
        numbers, base, codes = (
            np.arange(len(patterns)),
            base_of(patterns, trees, self.weight),
            codes_of(self.atoms, patterns),
        )
        return TablePart(numbers, system, np.zeros(len(numbers)), np.zeros_like(numbers), base, codes)


def stage(boosted: Boosted, seed: int, end: float, most: int, clock: Clock, tell: Callable[[Staged], None]) -> None:
    """Take one tree after the other, and tell how far that came; ``end`` is a time of `time.monotonic`."""
    groups = LeafGroups.first(boosted.start)
    for t in range(len(boosted.trees)):
        trees = boosted.trees[: t + 1]
        groups = groups.down(boosted.atoms, trees[-1])
        # Trees that tell nobody further apart are taken together: the more equations, the sooner people are found.
        if t + 1 < len(boosted.trees) and len(groups.down(boosted.atoms, boosted.trees[t + 1])) == len(groups):
            continue
        patterns, group = groups.patterns(trees)
        now = time.monotonic()
        if len(patterns) > most or now >= end or clock.stop() is not None:
            return
        part, people, proved = boosted.part(patterns), None, True
        held = np.zeros(len(groups), bool)
        if (np.diff(part.system.matrix.indptr) > 0).all():
            found, people, proved = Ask(part, seed, clock, now + FOR_TREE * (end - now)).peopled(group)
            held[: len(found)] = found
        if proved and people is not None:
            keep = held[group]
            each = (patterns.owner[keep], patterns.klass[keep], patterns.leaf[keep], patterns.box[keep])
            patterns, people, groups = Patterns(*each, True), people[keep], groups.of(held)
        if proved or people is not None:
            tell(Staged(patterns, people))
        if proved and people is None:
            return


def rebuild_scored(boosted: Boosted, *, seed: int, clock: Clock, most: int = MOST, run: Run = elsewhere) -> Rebuilt:
    """A whole table with the leaf values of a boosted model; see `maxent.solvers.worlds.tables.rebuild`."""
    need("ortools", "whole tables need OR-Tools")
    left, begin = clock.left(), time.monotonic()
    seconds = WHOLE if left is None else left
    found = [_nobody(boosted, seed)]
    asked = boosted, seed, begin + FOR_TREES * seconds, most, clock
    if run is elsewhere:
        apart(stage, asked[:-1], clock, found.append)
    else:
        stage(*asked, found.append)
    last = next(each for each in reversed(found) if each.people is not None)
    patterns, people, n_attributes = last.patterns, last.people, len(boosted.atoms.of)
    assert people is not None
    learn, seen = learner(boosted.atoms, patterns, len(boosted.release.target.classes)), people.astype(np.float64)
    near = Likely(seen, -learn(seen), learn.values(seen, n_attributes))
    part = boosted.part(patterns)
    given: Any = {"seed": seed, "end": begin + seconds, "clock": clock, "run": run}
    rebuilt = settled(boosted.atoms, patterns, part.system, near, part.base, **given)
    if found[-1].people is None:
        return replace(rebuilt, status="inconsistent", proved=np.zeros_like(rebuilt.proved), settled=False)
    if patterns.leaf.shape[1] < len(boosted.trees):  # what the first trees state proves what it does
        return replace(rebuilt, status="partial", settled=False)
    return rebuilt


def _nobody(boosted: Boosted, seed: int) -> Staged:
    """People anywhere, where no tree was looked at yet."""
    rng = np.random.default_rng(seed)
    patterns = patterns_of(boosted.atoms, (boosted.trees[0].unlimited,), boosted.start, rng)
    size = np.exp(log_share(boosted.atoms, patterns.box))
    return Staged(patterns, rounded(size, patterns.owner, boosted.weight, rng))
