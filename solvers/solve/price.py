"""The price of a member: what takes the place of the number of members of a register where splits are compared.

How many of a register are members is one statement about everybody, which would make one part of all: comparisons of
splits that are not convex, in a piece too large for them. Instead every member costs so much (the multiplier of that
statement), and parts are independent again. Leaves that no comparison is about have the closed form ``odds of being a
member = e^price`` times a constant, as whatever rates and labels say of members they say of any number of them. So they
take up what is left of the members when the other parts are solved at a price: the sum is met exactly, and the price is
changed until it is the leaves' own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from maxent.models.errors import Origin

if TYPE_CHECKING:
    from maxent.constraints.lifting import LiftedPart, LiftedProgram
    from maxent.constraints.presolve.merge import Merged, Part
    from maxent.constraints.program.program import Program
    from maxent.models.arrays import FloatArray, IntArray

# Difference of prices up to which an answer of an earlier round stands for the other one.
NEAR = 3e-4
# Nats per individual that may be lost where leaves have a price and the other parts another one.
LOST = 1e-7
# Prices tried, at most; the longest step between two.
TRIES, FARTHEST = 12, 1.0
# How much an expected change of the members of parts may differ from that of leaves alike, as a factor.
STEEPEST = 4.0


def members_row(program: Program, keep: IntArray) -> int | None:
    """The constraint that states how many of a register with people apart are members, None where there is none."""
    if program.single or not program.internal:
        return None
    for i in keep.tolist():
        constraint = program.linear[i]
        if constraint.origin == Origin("members") and program.regions.places[constraint.region] == (0, 0):
            return int(i)
    return None


@dataclass(frozen=True, eq=False)
class FreeLeaves:
    """Parts with any number of members, each of one pooled quasi-identifier: their groups, and what they are now.

    ``inside`` are the members, ``whole`` the people of each part, shape (n_parts,); ``price`` is the price of a member
    at which the masses are the optimum.
    """

    groups: tuple[IntArray, ...]
    inside: FloatArray
    whole: FloatArray
    price: float

    def members(self, price: float) -> FloatArray:
        """Members of each part at a price."""
        from scipy.special import expit, logit

        with np.errstate(divide="ignore"):
            odds = logit(self.inside / self.whole)
        return np.asarray(self.whole * expit(odds + (price - self.price)))

    def price_for(self, number: float, steep: float = 0.0, at: float = 0.0) -> float | None:
        """The price at which these have so many members, less ``steep`` for each unit that it is above ``at``."""
        from scipy.optimize import brentq

        def left(price: float) -> float:
            return float(self.members(price).sum()) + steep * (price - at) - number

        low, high = self.price - 40.0, self.price + 40.0
        return float(brentq(left, low, high, xtol=1e-13)) if left(low) < 0 < left(high) else None

    def changed(self, masses: FloatArray, price: float) -> FloatArray:
        """Masses of all groups with those of these parts at a price."""
        found = masses.copy()
        for groups, before, now, whole in zip(
            self.groups, self.inside.tolist(), self.members(price).tolist(), self.whole.tolist(), strict=True
        ):
            if 0.0 < before < whole:
                found[groups, :-1] *= now / before
                found[groups, -1] *= (whole - now) / (whole - before)
        return found


def free_leaves(
    program: Program, merged: Merged, pieces: Sequence[Part], masses: FloatArray
) -> tuple[FreeLeaves | None, list[int]]:
    """Parts of which nothing is stated but what holds of any number of members, and the numbers of the others."""
    free, prices, weights, tied = [], [], [], []
    for i, piece in enumerate(pieces):
        here = masses[piece.groups]
        inside, outside = here[:, :-1].sum(axis=0), float(here[:, -1].sum())
        alone = len(np.unique(merged.owner[piece.groups])) == 1
        if len(piece.internal) or len(piece.likely) or not alone or not _homogeneous(program, piece):
            tied.append(i)
            continue
        free.append((piece.groups, float(inside.sum()), float(here.sum())))
        if inside.sum() > 0 and outside > 0:
            share = inside[inside > 0] / inside.sum()
            prices.append(float(share @ np.log(inside[inside > 0] / outside)))
            weights.append(float(inside.sum()) * outside / float(here.sum()))
    if not prices:
        return None, list(range(len(pieces)))
    groups, members, whole = zip(*free, strict=True)
    price = float(np.average(prices, weights=weights))
    return FreeLeaves(groups, np.array(members), np.array(whole), price), tied


def _homogeneous(program: Program, piece: Part) -> bool:
    """Whether every statement about a part holds of any multiple of its members."""
    return all(
        not np.any(bound[np.isfinite(bound)])
        for i in piece.linear.tolist()
        for bound in (program.linear[i].lower, program.linear[i].upper)
    )


def at_price(part: LiftedPart, price: float, out: int) -> LiftedPart:
    """A part whose objective has the price of a member, the entropy aside; class ``out`` is of those who are none."""
    program: LiftedProgram = part.program
    weight = np.where(program.klass == out, program.mass_weight, program.mass_weight * np.exp(price))
    return replace(part, program=replace(program, mass_weight=weight))


def balanced(
    leaves: FreeLeaves, members: float, price: float, solve: Callable[[float], tuple[float, float] | None]
) -> tuple[float, bool] | None:
    """The price at which leaves have the members that are left to them, and whether other parts were solved at it.

    ``price`` is tried first. ``solve`` solves the other parts at a price, and says how many members they then have, and
    about how many more each unit of price would add; None where it is stopped. None where leaves cannot have the
    members that are left.
    """
    before: tuple[float, float] | None = None
    last = price
    for _ in range(TRIES):
        found = solve(price)
        if found is None:
            return None
        number, steep = found
        own = leaves.price_for(members - number)
        if own is None:
            return None
        last = own
        more = float((leaves.members(own) * (1.0 - leaves.members(own) / leaves.whole)).sum())
        if 0.5 * more * (own - price) ** 2 <= LOST * members:
            return own, True
        if before is not None and before[0] != price:
            measured = (number - before[1]) / (price - before[0])
            steep = float(np.clip(measured, 0.0, STEEPEST * steep))
        before = price, number
        new = leaves.price_for(members - number, steep, price)
        price += float(np.clip((own if new is None else new) - price, -FARTHEST, FARTHEST))
    return last, False
