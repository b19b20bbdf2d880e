"""Membership: who of a register is in the data, and what is inferred of members.

A posterior has C + 1 outcomes for each quasi-identifier, the last of which is to be out of the data. What is certain is
about both: that somebody is a member, and of one class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxent.constraints.program.program import Program
from maxent.disclosure.baseline import baseline_of
from maxent.disclosure.inference import shares
from maxent.disclosure.ladder import as_badly_off
from maxent.disclosure.measures import TOLERANCE, at_most, conditional_entropy
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.defenses.method import CERTAIN
from maxent.solvers.certainty.bounds import Bounds
from maxent.solvers.certainty.sums import class_ends

# The largest change of log odds by which P(member) is moved, and how often the interval of changes is halved.
LARGEST_CHANGE, ROUNDS = 40.0, 60


@dataclass(frozen=True, eq=False)
class ProvedMembers:
    """Of whom in a register membership, or membership and class, is proved; masks of shape (n_qi,)."""

    counts: IntArray
    member: BoolArray
    out: BoolArray
    known: BoolArray
    least: FloatArray

    @property
    def people(self) -> dict[str, int]:
        """How many people are proved to be members, and not to be."""
        of = self.counts
        return {"proved_members": int(of[self.member].sum()), "proved_non_members": int(of[self.out].sum())}

    @property
    def certain(self) -> int:
        """People who are proved to be members of one class."""
        return int(self.counts[self.known].sum())


def proved_members(program: Program, bounds: Bounds) -> ProvedMembers:
    """Who is proved to be a member: all people of a quasi-identifier, as nobody tells them apart."""
    counts, (low, high) = program.table.counts, (bounds.low, bounds.high)
    least = np.maximum(counts - high[:, -1], low[:, :-1].sum(axis=1))
    share = np.where(least == counts, 1.0, np.nextafter(least / counts, 0.0))
    known = np.asarray((low[:, :-1] >= counts[:, None]).any(axis=1))
    return ProvedMembers(counts, np.asarray(least >= counts), np.asarray(low[:, -1] >= counts), known, share)


@dataclass(frozen=True, eq=False)
class Membership:
    """What an adversary with a register infers.

    * ``counts`` (n_qi,): people of each quasi-identifier in the register.
    * ``members``: how many people of the register are in the data.
    * ``member`` (n_qi,): P(member), a probability.
    * ``joint`` (n_qi, n_classes): P(member, and of the class), a probability.
    * ``possible`` (n_qi, n_classes): the same for leaves as uneven as what is published allows.
    * ``possible_member`` (n_qi,): P(member) for leaves with as many members as what is published allows.
    * ``moved``: people whose probabilities were outside of what is proved, and are moved into it.
    * ``sensitive``: classes that whoever is worst off has; empty: all.
    * ``left`` (n_qi, n_classes): of which classes of people proofs that were not asked may prove more.
    """

    counts: IntArray
    members: int
    member: FloatArray
    joint: FloatArray
    possible: FloatArray
    possible_member: FloatArray
    proved: ProvedMembers
    tolerance: float = TOLERANCE
    moved: int = 0
    sensitive: tuple[int, ...] = ()
    left: BoolArray | None = None

    @property
    def of_members(self) -> FloatArray:
        """P(class | member), shape (n_qi, n_classes); NaN where nobody is a member."""
        inside = self.member > 0
        found = np.full(self.joint.shape, np.nan)
        found[inside] = self.joint[inside] / self.joint[inside].sum(axis=1, keepdims=True)
        return found

    @property
    def largest(self) -> float:
        """The largest P(member)."""
        return float(self.member.max())

    @property
    def codes(self) -> IntArray:
        """The class of which people are proved to be members, or -1, shape (n_qi,)."""
        return np.where(self.proved.known, self.joint.argmax(axis=1), -1)

    def proved_most(self, classes: Sequence[int]) -> int:
        """The most people who may be proved to be members of one of these classes."""
        found = np.isin(self.codes, classes)
        found |= False if self.left is None else self.left[:, list(classes)].any(axis=1)
        return min(int(self.counts[found].sum()), self.members)

    @property
    def worst(self) -> tuple[int, int, bool]:
        """The quasi-identifier and class whose membership is proved, or most probable, the first of several alike.

        The third is whether it is proved.
        """
        p, proved = self._inferred
        q = int(np.where(proved, np.inf, p.max(axis=1)).argmax())
        return q, int(p[q].argmax()), bool(proved[q])

    @property
    def alike(self) -> int:
        """How many people of the register are as badly off as these, with them."""
        p, proved = self._inferred
        return as_badly_off(self.worst[0], p.max(axis=1), proved, self.counts)

    @property
    def _inferred(self) -> tuple[FloatArray, BoolArray]:
        """Probabilities of sensitive classes alone, and of whom one is proved."""
        every = np.arange(self.joint.shape[1])
        mine = np.isin(every, self.sensitive) if self.sensitive else every >= 0
        return np.where(mine, self.joint, -1.0), np.isin(self.codes, every[mine])

    @property
    def right_guesses(self) -> float:
        """Expected share of the members whose class is guessed right, where the likeliest one is guessed of each."""
        return min(float((self.joint.max(axis=1) * self.counts).sum() / self.members), 1.0)

    def as_dict(self) -> dict[str, Any]:
        """The key ``membership`` of a summary; None where nobody is proved, and not all proofs were asked."""
        own = {"people": int(self.counts.sum()), "members": self.members}
        unasked = self.left is not None and self.left.any()
        proved = {key: many or (None if unasked else 0) for key, many in self.proved.people.items()}
        return {**own, **proved, "largest": self.largest}

    @property
    def measures(self) -> dict[str, Any]:
        """The numbers of a row, by the keys of `maxent.disclosure.measures`: of being a member and of a class."""
        surest = at_most(self.joint.max(axis=1), self.tolerance)
        possible = np.maximum(surest, self.possible.max(axis=1))
        right = float(min((possible * self.counts).sum() / self.members, 1.0))
        outcomes = np.column_stack([self.joint, np.maximum(1.0 - self.joint.sum(axis=1), 0.0)])
        return {
            "individuals": int(self.counts.sum()),
            "entropy": conditional_entropy(outcomes, self.counts),
            "bayes_vulnerability": self.right_guesses,
            "max_posterior": float(self.joint.max()),
            "certain": int(self.counts[surest >= CERTAIN].sum()),
            "surest": float(surest.max()),
            "possible_posterior": float(possible.max()),
            "possible_certain": min(int(self.counts[possible >= CERTAIN].sum()), self.members),
            "possible_right": right,
            "exposed": self.proved.certain,
            "proved_most": self.proved_most(range(self.joint.shape[1])),
            "member": self.largest,
            "possible_member": float(at_most(self.possible_member.max(), self.tolerance)),
            "proved_members": self.proved.people["proved_members"],
        }


def membership_of(
    program: Program,
    masses: FloatArray,
    members: int,
    bounds: Bounds,
    tolerance: float = TOLERANCE,
    first: FloatArray | None = None,
    left: BoolArray | None = None,
) -> tuple[Membership, Mapping[str, float]]:
    """What is inferred of a register, and what is known of how frequent classes are among its members.

    ``program``: from `maxent.constraints.membership.compile_population`. ``masses`` (n_cells, n_classes + 1): the
    answer to it, individuals. ``bounds``: what is proved, by any level. No probability is outside: shares of people may
    be where whole people cannot, and so may an answer that misses statements. ``tolerance``: by how much probabilities
    may be off. ``first`` (n_cells, n_classes + 1): the answer without what is proved as constraints; ``masses`` by
    default. ``left`` (n_qi, n_classes + 1): of which outcomes proofs that were not asked may prove more.

    Returns
    -------
    Membership
    mapping
        ``base_rate``, the share of the most frequent class, or ``base_most``, what it is at most.
    """
    estimated, counts = program.posterior(masses), program.table.counts
    alone = estimated if first is None else program.posterior(first)
    least, most = (side / counts[:, None] for side in (bounds.low, bounds.high))
    posterior = _within(estimated, least, most, counts, members)
    found = shares(program, masses, posterior, tolerance)
    # Not by how many are proved of several people: in parts these are all of a leaf, some of whom may be more probable.
    possible = np.asarray(np.where(most > 0, found.possible_each, 0.0)[:, :-1])
    member = np.where(posterior[:, -1] > 0, 1.0 - posterior[:, -1], 1.0)
    possible_member = np.where(least[:, -1] < 1, _possible_members(program, masses, members), 0.0)
    left = np.zeros(most.shape, bool) if left is None else left & (most > 0)
    if left.any():
        possible_member = np.where(left[:, -1] & (least[:, -1] < 1), 1.0, possible_member)
    known = Membership(
        counts,
        members,
        member,
        posterior[:, :-1],
        possible,
        np.maximum(possible_member, member),
        proved_members(program, bounds),
        tolerance,
        int(counts[(np.abs(posterior - alone) > TOLERANCE).any(axis=1)].sum()),
        left=left[:, :-1],
    )
    low, high = (
        np.maximum(found.class_low, bounds.low.sum(axis=0)),
        np.minimum(found.class_high, bounds.high.sum(axis=0)),
    )
    high[:-1] = np.minimum(high[:-1], members)
    low, high = (ends[:-1] for ends in class_ends(program, low, high))
    base = baseline_of(len(low), members, low=low, high=high)
    return known, {"base_most": base.most or 1.0} if base.base_rate is None else {"base_rate": base.base_rate}


def _within(posterior: FloatArray, low: FloatArray, high: FloatArray, counts: IntArray, members: int) -> FloatArray:
    """Probabilities moved to what is proved of them: first of being a member, then of classes, in proportion.

    All have the same change of their odds of being a member, so that these still add up to the ``members``.
    """
    if not ((posterior < low - TOLERANCE) | (posterior > high + TOLERANCE)).any():
        return np.clip(posterior, low, high)
    inside = 1.0 - posterior[:, -1:]
    fewest = np.maximum(1.0 - high[:, -1:], low[:, :-1].sum(axis=1, keepdims=True))
    most = np.minimum(1.0 - low[:, -1:], high[:, :-1].sum(axis=1, keepdims=True))

    def at(change: float) -> FloatArray:
        odds = inside * np.exp(change)
        return np.asarray(np.clip(odds / (odds + posterior[:, -1:]), fewest, most))

    below, above = -LARGEST_CHANGE, LARGEST_CHANGE
    for _ in range(ROUNDS):
        middle = (below + above) / 2
        below, above = (middle, above) if (at(middle)[:, 0] @ counts) < members else (below, middle)
    out = 1.0 - at((below + above) / 2)
    low, high, held = low[:, :-1], high[:, :-1], np.clip(posterior[:, :-1], low[:, :-1], high[:, :-1])
    total = held.sum(axis=1, keepdims=True)
    held = np.clip(held * np.divide(1.0 - out, total, out=np.ones_like(out), where=total > 0), low, high)
    rest = 1.0 - out - held.sum(axis=1, keepdims=True)
    room = np.where(rest > 0, high - held, held - low)
    wide = room.sum(axis=1, keepdims=True)
    return np.column_stack([held + np.divide(room, wide, out=np.zeros_like(room), where=wide > 0) * rest, out])


def _possible_members(program: Program, masses: FloatArray, members: int) -> FloatArray:
    """P(member) where each leaf has as many members as numbers of people allow, shape (n_qi,)."""
    inside, most = (
        masses[:, :-1].sum(axis=1),
        [np.full(len(held.start), float(members)) for held in program.cells.trees],
    )
    for said in program.linear:
        place, own = program.regions.places[said.region], said.coef[:, :-1]
        if said.weights is not None or place is None:
            continue
        if len(own) == 1 and (own == 1).all():
            upper = float(said.upper[0])
        elif ((own != 0).sum(axis=1) <= 1).all() and (own.sum(axis=0) == 1).all():
            upper = float(said.upper[own.any(axis=1)].sum())
        else:
            continue
        most[place[0]][place[1]] = min(most[place[0]][place[1]], upper)
    found, room = np.zeros(len(program.weight)), program.weight
    for t, (held, upper_of) in enumerate(zip(program.cells.trees, most, strict=True)):
        for level in held.places.levels[1:]:  # a place has no more than those above it
            upper_of[level] = np.minimum(upper_of[level], upper_of[held.places.parent[level]])
        leaf = program.cells.leaf[:, t]
        here = np.bincount(leaf, inside, len(upper_of))
        factor = np.divide(upper_of, here, out=np.zeros(len(here)), where=here > 0)
        alone = np.where(upper_of[leaf] > 0, program.weight, 0.0)  # nobody is here by the estimate
        # One tree leaves open what another does not: people of a leaf may be divided unevenly among leaves of others.
        found = np.maximum(found, np.where(inside > 0, inside * factor[leaf], alone))
        room = np.minimum(room, upper_of[leaf])
    found = np.minimum(found, room)
    out = masses[:, -1] if not program.single else 0.0
    found = np.where((inside == 0) & (out > 0), 0.0, found)
    total = np.bincount(program.cells.owner, found, len(program.table))
    return np.asarray(np.minimum(total / program.table.counts, 1.0))
