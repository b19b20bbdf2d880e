"""The proof in pieces, where a whole ball is too large: between ends of the directions in which comparisons bend most.

In a piece squares along these directions are at most linear, so that a Lagrangian without them bounds the entropy
(`maxent.solvers.bounds.divergence.flattened`) where relative entropies make up for the rest. A piece is done if that
bound is not above the answer's entropy. Else the share of relative entropies that is left makes a smaller ball of it,
and it is cut in two. Beside that, the convex terms of a comparison are below chords between ends of their sums, the
others below tangents: with these linear rows the entropy's largest value is smaller, and so is another ball.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from maxent.constraints.impurity_numpy import PHI
from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.models.arrays import TINY, BoolArray, FloatArray
from maxent.solvers.bounds.divergence.answer import Answer, answer
from maxent.solvers.bounds.divergence.ball import Ball, ball
from maxent.solvers.bounds.divergence.curvature import Curved
from maxent.solvers.bounds.divergence.flattened import Flattened, flattened
from maxent.solvers.bounds.divergence.proof import bending, proved_there, share_left
from maxent.solvers.bounds.divergence.region import Region
from maxent.solvers.bounds.prices import affordable
from maxent.solvers.clock import Clock
from maxent.solvers.dual.linear_entropy import LinearEntropy

PIECES = 112
"""Pieces that are looked at, at most."""

DONE = {24: 3, 56: 14}
"""How many have to be done of the first so many."""

OWNERS, CLASSES = 60, 4
"""Distinct quasi-identifiers and classes up to which it is tried."""

EXCEEDS, MET = 5e-7, 1e-7
"""What a piece may have above the answer, nats, and individuals with which its rows are met, both per individual."""

DIRECTIONS, MORE, STEEP = 8, 10, 0.3
"""Directions at the start and in all, at most; and the least eigenvalue of what comparisons bend, of relative
entropies, with which one is cut from the start."""

PRICE = 1.2
"""What comparisons may be missed for, as a share of the answer's multipliers."""

LEFT = (0.93, 0.8, 0.6, 0.35)
"""Largest eigenvalue that squares leave of what comparisons bend: less where ranges are long."""

SHARES, STRONG = (0.4, 0.15, 0.05), (0.02, 0.1, 0.3)
"""Shares of relative entropies that are left for a ball, the first that is proved; and those of the first balls."""

WEIGHTS, OVER, OWN = 8, 1.1, 0.5
"""Times that weights of squares are raised, at most, and by how much more than is missing; the share of a direction
that others have to have, or else it is one of its own."""

TRIES, SHRUNK = 7, 0.5
"""Bounds that are looked for in a piece, at most; the share of its squared width that a ball has to leave less than
where another follows."""

INSIDE, LITTLE, LEAST = 0.3, 0.05, 0.01
"""How far from its ends a piece is cut at least, as a share; what its width counts for beside what a square is off,
and the least weight with which it does."""


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A region, masses and multipliers near its optimum, and which of `LEFT` did there."""

    region: Region
    near: FloatArray
    mu: FloatArray
    left: int


def lacking_in_pieces(program: LiftedProgram, point: FloatArray, clock: Clock) -> float:
    """What an answer can lack to the largest entropy, nats, where some pieces tell; else infinite.

    Parameters
    ----------
    program : LiftedProgram
        Not convex.
    point : shape (program.n,)
    clock : Clock
    """
    few = len(np.unique(program.owner)) <= OWNERS and len(np.unique(program.klass)) <= CLASSES
    at = answer(program, point) if few else None
    if at is None or not at.mu.any():
        return np.inf
    try:
        return _search(at, affordable(program, at.mu), clock)
    except np.linalg.LinAlgError:  # an eigenvalue did not come out: nothing is known
        return np.inf


def _search(at: Answer, priced: FloatArray, clock: Clock) -> float:
    """The same; ``priced`` are multipliers, shape (n_rows,), at which the Lagrangian is concave."""
    first, enough = _first(at, priced, clock), EXCEEDS * at.people
    most, count, done = at.more, 0, 0
    heap: list[tuple[float, int, Piece]] = [] if first is None else [(-np.inf, 0, first)]
    while heap:
        if count >= PIECES or done < DONE.get(count, 0) or clock.stop() is not None:
            return np.inf
        piece, count = heapq.heappop(heap)[2], count + 1
        radius, more, parts = _looked_at(piece, enough, clock)
        if parts is None:
            return np.inf
        most, done = max(most, more), done + (not parts)
        for side, part in enumerate(parts):
            heapq.heappush(heap, (-radius, 2 * count + side, part))
    return np.inf if first is None else most


def _first(at: Answer, priced: FloatArray, clock: Clock) -> Piece | None:
    """All that may have more entropy than the answer, with the directions in which comparisons bend most."""
    whole = ball(at.rows, at.rows.linear, at.entropy, MET * at.people, clock)
    if whole is None:
        return None
    region = Region.of_ball(at, replace(whole, radius=max(whole.radius, 0.0)))
    for share in STRONG:
        # With this share of the multipliers less, the same share of relative entropies is left.
        near = 0.5 * (at.masses + whole.centre)
        found = flattened(region, region.low, (1.0 - share) * priced, near, at.entropy, EXCEEDS * at.people)
        if found is not None:
            region = region.in_ball(Ball(at.rows, found.masses, max(found.bound - at.entropy, 0.0) / share))
    curves, gamma = at.curves, at.mu @ at.curves.coef
    by_z = curves.sums @ at.across
    size, turned = np.linalg.eigh(2.0 * (by_z.T * (gamma * curves.bent(at.a, np.zeros(len(at.a))))) @ by_z)
    steep = np.flatnonzero(size > STEEP)[::-1][:DIRECTIONS]
    return Piece(region.along(((at.across @ turned[:, steep]) / at.masses[:, None]).T), at.masses, at.mu, 0)


def _looked_at(piece: Piece, enough: float, clock: Clock) -> tuple[float, float, tuple[Piece, ...] | None]:
    """The radius of a ball that a piece is in, what it has more than the answer at most, and its parts.

    There are none of them where it is done. They are None where nothing can be told.
    """
    region, at = piece.region, piece.region.at
    by_rows = ball(at.rows, _with_rows(region), at.entropy, MET * at.people, clock)
    if by_rows is None:
        return 0.0, np.inf, None
    if by_rows.radius <= 0.0:
        return 0.0, 0.0, ()
    region = region.in_ball(by_rows)
    if region.empty or (region.has_answer and proved_there(region)):
        return by_rows.radius, 0.0, ()
    found, flat, near, mu, left, unclear = None, np.empty(0), piece.near, piece.mu, piece.left, True
    for _ in range(TRIES):
        region, flat = _flat(region, near, mu, LEFT[left])
        price, target = PRICE * at.mu, at.entropy + enough
        found = flattened(region, flat, price, by_rows.centre, target, enough)
        if found is None:
            return 0.0, np.inf, None
        near, mu, good = found.masses, found.mu, found.bound <= target
        share = share_left(region, near, mu, flat, (0.0,) if good else SHARES)
        unclear = share is None
        if share is None:
            if left == len(LEFT) - 1:
                break
            left += 1
        elif good:
            return by_rows.radius, max(found.bound - at.entropy, 0.0), ()
        else:
            smaller = region.in_ball(Ball(at.rows, near, (found.bound - at.entropy) / share))
            if smaller.empty:
                return by_rows.radius, 0.0, ()
            shrunk, region = _has_shrunk(region, smaller), smaller
            if not shrunk:
                break
            left = max(left - 1, 0)
    if found is None or not len(region.directions):
        return 0.0, np.inf, None
    parts = region.cut(*_cut(region, found, flat, unclear or found.bound <= at.entropy + enough))
    return by_rows.radius, 0.0, tuple(Piece(part, near, mu, max(left - 1, 0)) for part in parts)


def _has_shrunk(region: Region, smaller: Region) -> bool:
    """Whether a ball left much less of a region."""
    widths = ((region.width, smaller.width), (region.most - region.least, smaller.most - smaller.least))
    return any(float(now @ now) <= SHRUNK * float(before @ before) for before, now in widths)


def _flat(region: Region, masses: FloatArray, mu: FloatArray, left: float) -> tuple[Region, FloatArray]:
    """Weights of squares that leave so much of what comparisons bend, perhaps along further directions."""
    across, form = bending(region, masses, mu)
    flat = np.zeros(len(region.directions))
    for _ in range(WEIGHTS):
        along = region.directions @ across
        size, turned = np.linalg.eigh(form - (along.T * flat) @ along)
        length = np.maximum((along**2).sum(axis=1), TINY)
        for i in np.flatnonzero(size > left)[::-1].tolist():
            shares = (along @ turned[:, i]) ** 2 / length
            if shares.sum() >= OWN:
                flat = flat + OVER * (size[i] - left) * shares / shares.sum() ** 2 / length
            elif len(flat) < MORE:
                region = region.along((across @ turned[:, i] / masses)[None, :])
                flat = np.append(flat, OVER * (size[i] - left))
                break
        if size[-1] <= left:
            break
    return region, flat


def _cut(region: Region, found: Flattened, flat: FloatArray, unclear: bool) -> tuple[int, float]:
    """The direction whose square is off by most, and where to cut it; the widest where no bound is proved."""
    v = np.clip(region.directions @ (found.masses - region.at.masses), region.low, region.high)
    square = region.width**2
    off = flat * (region.high - v) * (v - region.low) + LITTLE * np.maximum(flat, LEAST) * square
    j = int(np.argmax(np.maximum(flat, STEEP / 3) * square if unclear else off))
    margin = INSIDE * region.width[j]
    return j, float(np.clip(v[j], region.low[j] + margin, region.high[j] - margin))


def _with_rows(region: Region) -> LinearEntropy:
    """The linear rows with a region's ends, and comparisons as the rows that they are there."""
    at, linear = region.at, region.at.rows.linear
    origin = region.directions @ at.masses
    rows, least = [region.directions, -region.directions], [region.low + origin, -region.high - origin]
    for more, below in _straight_twice(region):
        rows.append(more)
        least.append(below)
    matrix, low = np.vstack(rows), np.concatenate(least)
    return replace(
        linear,
        matrix=sparse.csr_matrix(sparse.vstack([linear.matrix, sparse.csr_matrix(matrix)])),
        lower=np.concatenate([linear.lower, low]),
        upper=np.concatenate([linear.upper, np.full(len(low), np.inf)]),
    )


def _straight_twice(region: Region) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Rows of comparisons with tangents near the centre of the last ball, and near the answer."""
    at = region.at
    least, most = np.maximum(region.least, 0.0), np.maximum(region.most, 0.0)
    for near in (at.curves.a(region.balls[-1].centre), at.a):
        yield _straight(at.curves, at.mu > 0, least, most, np.clip(near, least, most))


def _straight(
    curves: Curved, use: BoolArray, low: FloatArray, high: FloatArray, near: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Rows ``matrix m >= least`` that follow from comparisons: chords between ends of sums, and tangents near some."""
    near = np.maximum(near, TINY)
    width = np.maximum(high - low, TINY)
    chord = (_phi(curves, high) - _phi(curves, low)) / width
    entropy = curves.entropy
    tangent = np.where(entropy, PHI["entropy"].d_a(near, curves.size), PHI["gini"].d_a(near, curves.size))
    above = _phi(curves, low) - chord * low
    below = _phi(curves, near) - tangent * near
    coef = curves.coef[use]
    up, down = np.maximum(coef, 0.0), np.minimum(coef, 0.0)
    slope = up * chord + down * tangent
    const = curves.const[use] + slope @ curves.shift + up @ above + down @ below
    return slope @ curves.sums, -const


def _phi(curves: Curved, a: FloatArray) -> FloatArray:
    """The terms at some sums, 0 included."""
    at = np.maximum(a, TINY)
    value = {name: PHI[name].value(at, curves.size) for name in ("entropy", "gini")}
    found: FloatArray = np.where(curves.entropy, value["entropy"], value["gini"])
    return found
