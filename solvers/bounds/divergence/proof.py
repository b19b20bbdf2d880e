r"""Proof that no feasible point has more entropy than an answer, where relative entropies outgrow comparisons.

With the multipliers mu of the comparisons c at the answer a, D the relative entropy to it, and B_t >= 0 what the term
phi of a sum s_t is above its tangent there, every feasible m has, as the gradient of the Lagrangian vanishes,

    H(m) <= H(m) + mu'c(m) = H(a) - D(m | a) + sum_t gamma_t B_t(s_t),    gamma = coef'mu.

So it is enough that ``D(m | a) >= sum_t gamma_t B_t`` wherever H may be at least H(a). That is in a ball: where the
entropy is largest without comparisons, at m0, ``H(m) <= H(m0) - D(m | m0)``. There

* ``B_t <= q_t s_t^2``, with q_t from the least s_t (the largest where gamma_t < 0), which leaves a quadratic form
  ``z'Q z / 2`` in directions z of the masses, orthonormal in the metric ``sum d^2 / a``;
* for any function f of the masses whose mean ``sum_x a_ox f_ox`` is 0 for each owner o, and of at most rho_o there
  (Donsker and Varadhan, "Asymptotic evaluation of certain Markov process expectations for large time", Communications
  on Pure and Applied Mathematics 28, 1975; Bennett, "Probability inequalities for the sum of independent random
  variables", Journal of the American Statistical Association 57, 1962),

      D(m | a) >= f'(m - a) - sum_o b(rho_o) / 2 sum_x a_ox f_ox^2,    b(rho) = 2 (e^rho - 1 - rho) / rho^2;

  with f the functions ``k_j z_j`` of m this is a quadratic form, too, ``z'(2 K - K M K) z / 2``, M = 1 where rho = 0.

f has to be as large only as Q asks for in each direction, so that rho is small: where Q has few large eigenvalues the
proof succeeds in large balls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.models.arrays import FloatArray
from maxent.solvers.bounds.divergence.ball import Ball, ball
from maxent.solvers.bounds.divergence.curvature import Curved, curved
from maxent.solvers.bounds.divergence.multipliers import TOUCHED, Rows, balanced
from maxent.solvers.clock import Clock
from maxent.solvers.dual.relaxation import relaxed_once

FEW = 250
"""Free masses up to which a proof is tried."""

SMALLEST = 1e-9
"""Share of its owner's total that a mass of an answer has at least: elsewhere relative entropies are not finite."""

MET = 1e-12
"""Individuals, per individual, with which the masses without comparisons meet the equations."""

RANK = 1e-9
"""Singular values below this share of the largest one are none."""

BENT, LEAST = (1.04, 1.1, 1.25, 1.6), 0.02
"""What b is taken to be where functions are chosen, one after the other; and the least factor k."""

LARGE, FLAT = 20.0, 1e-4
"""The largest values of a function of use, and those below which b counts as what it is there."""

ROUNDING = 1e-12
"""What rounding adds at most, nats per individual."""

CLEAR = 1e-9
"""By how much one form has to be above the other."""


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """Free ``masses`` of an answer, the sums ``a`` there, and the multipliers ``mu`` of the comparisons.

    ``more`` is what the Lagrangian's tangent gains from there, ``entropy`` that of the free masses, nats; ``across``
    are directions that keep the equations.
    """

    rows: Rows
    curves: Curved
    masses: FloatArray
    across: FloatArray
    a: FloatArray
    mu: FloatArray
    entropy: float
    more: float

    @property
    def people(self) -> float:
        """Individuals whose class is open."""
        return float(self.rows.linear.total.sum())

    def ends(self, balls: Sequence[Ball]) -> tuple[FloatArray, FloatArray]:
        """The least and the most that the sums are in balls."""
        sums = self.curves.sums
        far = furthest(balls, np.vstack([sums, -sums]), self.masses)
        return np.maximum(self.a - far[len(sums) :], self.curves.shift), self.a + far[: len(sums)]


def furthest(balls: Sequence[Ball], functions: FloatArray, start: FloatArray) -> FloatArray:
    """The most that linear functions can be above what they are at some masses, where balls meet."""
    found: FloatArray = np.min([ball.furthest(functions, start) for ball in balls], axis=0)
    return found


def lacking(program: LiftedProgram, point: FloatArray, clock: Clock) -> float:
    """What an answer can lack to the largest entropy, nats, where that can be told; else infinite.

    Where it is finite it is what the answer itself is away from its optimality conditions.

    Parameters
    ----------
    program : LiftedProgram
        Not convex.
    point : shape (program.n,)
    clock : Clock
    """
    at = answer(program, point)
    if at is None:
        return np.inf
    whole = ball(at.rows, at.rows.linear, at.entropy, MET * at.people, clock)
    if whole is None or clock.stop() is not None:
        return np.inf
    whole = replace(whole, radius=max(whole.radius, 0.0))
    return at.more if outgrown(at, [whole], *at.ends([whole])) else np.inf


def answer(program: LiftedProgram, point: FloatArray) -> Answer | None:
    """A point with its multipliers, None where it has none, or is too large."""
    sized = any((terms.size_var >= 0).any() for terms in program.terms)
    open_ = program.lower[: program.n_masses] < program.upper[: program.n_masses]
    if program.draws is not None or sized or np.count_nonzero(open_) > FEW:
        return None
    relaxed = relaxed_once(program)
    linear, elimination = relaxed.linear, relaxed.elimination
    masses = point[elimination.free]
    least = SMALLEST * linear.total[linear.owner]
    if not len(masses) or np.isnan(elimination.shift).any() or (masses <= least).any():
        return None
    rows, curves = Rows.of_linear(linear), curved(program, elimination)
    a, across = curves.a(masses), rows.across(masses)
    if (a <= 0).any() or not across.shape[1]:
        return None
    left, slopes = curves.rows(a)
    bound = np.flatnonzero(left <= TOUCHED)
    found, more = balanced(rows, masses, across, slopes[bound], left[bound])
    mu = np.zeros(len(left))
    mu[bound] = found
    more = max(more, 0.0) + ROUNDING * float(linear.total.sum())
    entropy = -float(masses @ np.log(masses / linear.weight))
    return Answer(rows, curves, masses, across, a, mu, entropy, more)


def outgrown(at: Answer, balls: Sequence[Ball], low: FloatArray, high: FloatArray) -> bool:
    """Whether relative entropies to an answer are at least what comparisons bend, all over where balls meet.

    There the sums are between two ends.
    """
    curves, a, masses = at.curves, at.a, at.masses
    gamma = at.mu @ curves.coef
    some = np.flatnonzero(gamma)
    sums = curves.sums[some]
    by_direction = sums @ at.across
    _, size, found = np.linalg.svd(by_direction, full_matrices=False)
    found = found[size > RANK * size.max(initial=0.0)].T
    if not found.shape[1]:
        return True
    bent = (gamma * curves.bent(a, np.where(gamma > 0, low, high) - a))[some]
    by_z = by_direction @ found
    size, turned = np.linalg.eigh(2.0 * (by_z.T * bent) @ by_z)
    functions = (at.across @ found @ turned) / masses[:, None]
    owner, n_owners = at.rows.linear.owner, len(at.rows.linear.total)
    for b in BENT:
        if size[-1] > 1.0 / b:
            break
        k = np.maximum((1.0 - np.sqrt(1.0 - b * np.maximum(size, 0.0))) / b, LEAST)
        rho = np.zeros(n_owners)
        np.maximum.at(rho, owner, furthest(balls, (functions * k) @ functions.T, masses))
        if rho.max() > LARGE:
            continue
        m = (functions.T * (masses * _bennett(rho)[owner])) @ functions
        form = np.diag(size - 2.0 * k) + k[:, None] * m * k
        if np.linalg.eigvalsh(form)[-1] <= -CLEAR:
            return True
    return False


def _bennett(rho: FloatArray) -> FloatArray:
    """``2 (e^rho - 1 - rho) / rho^2``."""
    x = np.maximum(rho, FLAT)
    found: FloatArray = 2.0 * (np.expm1(x) - x) / x**2
    return found
