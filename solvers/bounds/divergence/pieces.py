"""The proof in pieces, where a whole ball is too large: between ends of the sums that comparisons bend by most.

In a piece the convex terms of a comparison are below chords between the ends, the others below tangents, so that it is
a linear row. With these rows the entropy's largest value is smaller, and so are the balls of what may exceed the
answer. A piece is done where that value is not above the answer's, or `outgrown` holds; else it is cut in two.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from maxent.constraints.impurity_numpy import PHI
from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.models.arrays import TINY, BoolArray, FloatArray
from maxent.solvers.bounds.divergence.ball import Ball, ball
from maxent.solvers.bounds.divergence.curvature import Curved
from maxent.solvers.bounds.divergence.proof import Answer, answer, outgrown
from maxent.solvers.clock import Clock
from maxent.solvers.dual.linear_entropy import LinearEntropy

PIECES, EARLY, SOME = 240, 48, 3
"""Pieces that are looked at, at most; and up to the second at least the third number of them have to be done."""

OWNERS, CLASSES = 60, 4
"""Distinct quasi-identifiers and classes up to which it is tried."""

EXCEEDS, MET = 1e-8, 1e-7
"""What a piece may have above the answer, and individuals with which its rows are met, both per individual."""

INSIDE, LITTLE = 0.25, 1e-3
"""How far from its ends a piece is cut at least, as a share; what its width counts for beside what chords are off."""

BALLS = 3
"""Of the balls that a piece is in, the last so many are used."""


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Masses in balls whose sums are between two ends, each of shape (n_sums,)."""

    low: FloatArray
    high: FloatArray
    balls: tuple[Ball, ...]


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
    if at is None:
        return np.inf
    curves, linear, enough = at.curves, at.rows.linear, EXCEEDS * at.people
    gamma, count, done = at.mu @ curves.coef, 0, 0
    widest = Piece(curves.shift, curves.sums @ linear.total[linear.owner] + curves.shift, ())
    heap: list[tuple[float, int, Piece]] = [(-np.inf, 0, widest)]
    while heap:
        _, _, piece = heapq.heappop(heap)
        if count >= PIECES or (count == EARLY and done < SOME) or clock.stop() is not None:
            return np.inf
        count += 1
        found = ball(at.rows, _with_rows(at, piece, widest, gamma), at.entropy, MET * at.people, clock)
        if found is None:
            return np.inf
        if found.radius <= enough:
            done += 1
            continue
        balls = (*piece.balls, found)[-BALLS:]
        low, high = at.ends(balls)
        low, high = np.maximum(low, piece.low), np.minimum(high, piece.high)
        if (low > high).any() or outgrown(at, balls, low, high):
            done += 1
            continue
        t, cut = _cut(at, gamma, curves.a(found.centre), low, high)
        for side in (0, 1):
            ends = (low.copy(), high.copy())
            ends[side][t] = cut
            heapq.heappush(heap, (-found.radius, 2 * count + side, Piece(*ends, balls)))
    return max(at.more, enough)


def _cut(at: Answer, gamma: FloatArray, a: FloatArray, low: FloatArray, high: FloatArray) -> tuple[int, float]:
    """The sum whose chord is off by most, and where to cut its range."""
    width = high - low
    value = _phi(at.curves, np.clip(a, low, high))
    ends = _phi(at.curves, low), _phi(at.curves, high)
    chord = ends[0] + (ends[1] - ends[0]) * np.clip((a - low) / np.maximum(width, TINY), 0.0, 1.0)
    bends = np.where(at.curves.entropy, 1.0 / at.a, 1.0 / at.curves.size)
    t = int(np.argmax(np.maximum(gamma, 0.0) * np.maximum(chord - value, LITTLE * width**2 * bends)))
    return t, float(np.clip(a[t], low[t] + INSIDE * width[t], high[t] - INSIDE * width[t]))


def _with_rows(at: Answer, piece: Piece, widest: Piece, gamma: FloatArray) -> LinearEntropy:
    """The linear rows with a piece's ends, and comparisons as the rows that they are there."""
    curves, linear = at.curves, at.rows.linear
    if not piece.balls:
        return linear
    some = np.flatnonzero((gamma > 0) & ((piece.low > widest.low) | (piece.high < widest.high)))
    rows = [curves.sums[some], -curves.sums[some]]
    least = [(piece.low - curves.shift)[some], (curves.shift - piece.high)[some]]
    for near in (curves.a(piece.balls[-1].centre), at.a):
        more, below = _straight(curves, at.mu > 0, piece, np.clip(near, piece.low, piece.high))
        rows.append(more)
        least.append(below)
    matrix, low = np.vstack(rows), np.concatenate(least)
    return replace(
        linear,
        matrix=sparse.csr_matrix(sparse.vstack([linear.matrix, sparse.csr_matrix(matrix)])),
        lower=np.concatenate([linear.lower, low]),
        upper=np.concatenate([linear.upper, np.full(len(low), np.inf)]),
    )


def _straight(curves: Curved, use: BoolArray, piece: Piece, near: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rows ``matrix m >= least`` that follow from comparisons in a piece: chords, and tangents near some sums."""
    low, high, near = piece.low, piece.high, np.maximum(near, TINY)
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
