r"""Proof that an answer is a global optimum: relative entropy grows faster than the comparisons bend.

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

All of it holds with other masses in the place of the answer, other multipliers, and with squares taken off Q: that is
how `maxent.solvers.bounds.boxes` bounds the Lagrangian in a part of the ball.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.models.arrays import FloatArray
from maxent.solvers.bounds.divergence.answer import Answer, answer
from maxent.solvers.bounds.divergence.ball import Ball, ball
from maxent.solvers.clock import Clock

# Individuals, per individual, with which the masses without comparisons meet the equations.
MET = 1e-12
# Eigenvalues of Q below this one ask for no function.
POSITIVE = 1e-9
# What b is taken to be where functions are chosen, one after the other; and the least factor k.
BENT, LEAST = (1.04, 1.1, 1.25, 1.6), 0.02
# The largest values of a function of use, and those below which b counts as what it is there.
LARGE, FLAT = 20.0, 1e-4
# By how much one form has to be above the other.
CLEAR = 1e-9


def lacking(program: LiftedProgram, point: FloatArray, clock: Clock) -> float:
    """Optimality gap of an answer, nats; infinite where nothing is proved.

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
    return at.more if _proved(at, replace(whole, radius=max(whole.radius, 0.0))) else np.inf


def _proved(at: Answer, whole: Ball) -> bool:
    """Whether no feasible masses in a ball have more entropy than the answer plus the gap."""
    curves, linear, n = at.curves, at.rows.linear, len(at.a)
    gamma, far = at.mu @ curves.coef, whole.furthest(np.vstack([curves.sums, -curves.sums]), at.masses)
    least = curves.shift + np.minimum(curves.sums, 0.0) @ linear.total[linear.owner] - at.a
    bent = gamma * curves.bent(at.a, np.where(gamma > 0, np.maximum(least, -far[n:]), far[:n]))
    by_z = curves.sums @ at.across
    size, turned = np.linalg.eigh(2.0 * (by_z.T * bent) @ by_z)
    some = size > POSITIVE
    return not some.any() or _make_up(at, whole, (at.across @ turned[:, some]) / at.masses[:, None], size[some])


def _make_up(at: Answer, whole: Ball, functions: FloatArray, size: FloatArray) -> bool:
    """Whether relative entropy to the answer is at least as curved as the given functions."""
    linear = at.rows.linear
    for b in BENT:
        if size[-1] > 1.0 / b:
            break
        k = np.maximum((1.0 - np.sqrt(1.0 - b * size)) / b, LEAST)
        rho = np.zeros(len(linear.total))
        np.maximum.at(rho, linear.owner, whole.furthest((functions * k) @ functions.T, at.masses))
        if rho.max() > LARGE:
            continue
        m = (functions.T * (at.masses * bennett(rho)[linear.owner])) @ functions
        form = np.diag(size - 2.0 * k) + k[:, None] * m * k
        if np.linalg.eigvalsh(form)[-1] <= -CLEAR:
            return True
    return False


def bennett(rho: FloatArray) -> FloatArray:
    """``2 (e^rho - 1 - rho) / rho^2``."""
    x = np.maximum(rho, FLAT)
    found: FloatArray = 2.0 * (np.expm1(x) - x) / x**2
    return found
