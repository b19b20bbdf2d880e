"""Proof of a global optimum: relative entropy grows faster than the split comparisons bend.

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
how `maxent.solvers.gap.branch_and_bound` bounds the Lagrangian in a part of the ball.

As a proof of its own it leaves gaps below 1e-9 nats per individual, where the next bound leaves 2e-9 to 4e-9 in the
same time; nothing else is lost without it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from maxent.constraints.lifting import Elimination, LiftedProgram
from maxent.constraints.program.impurity_numpy import PHI
from maxent.models.arrays import TINY, BoolArray, FloatArray
from maxent.solvers.control import Clock
from maxent.solvers.dual.linear_entropy import LinearEntropy
from maxent.solvers.dual.newton import minimise
from maxent.solvers.dual.relaxation import relaxed_once

# Split comparisons with nonzero multipliers, as curves of sums of free masses.

# Changes below this share of a sum are small: what an entropy bends is then that of a cubic.
STRAIGHT = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Curved:
    """Rows ``const + sum_t coef[r, t] phi(a_t, size_t)`` in individuals, with ``a = sums m + shift``.

    ``entropy`` are the terms with ``phi = a ln(a / size)``; of the others it is ``a^2 / size``.
    """

    sums: FloatArray
    shift: FloatArray
    size: FloatArray
    entropy: BoolArray
    coef: FloatArray
    const: FloatArray

    def a(self, masses: FloatArray) -> FloatArray:
        """The sums at some masses."""
        found: FloatArray = self.sums @ masses + self.shift
        return found

    def rows(self, a: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The rows at some sums, and their gradients by the masses."""
        value, slope = np.zeros(len(a)), np.zeros(len(a))
        for name, some in (("entropy", self.entropy), ("gini", ~self.entropy)):
            value[some] = PHI[name].value(a[some], self.size[some])
            slope[some] = PHI[name].d_a(a[some], self.size[some])
        return self.const + self.coef @ value, (self.coef * slope) @ self.sums

    def phi(self, a: FloatArray) -> FloatArray:
        """The terms at some sums, 0 included, shape (..., n_terms)."""
        value = {name: PHI[name].value(np.maximum(a, TINY), self.size) for name in ("entropy", "gini")}
        found: FloatArray = np.where(self.entropy, value["entropy"], value["gini"])
        return found

    def slopes(self, a: FloatArray) -> FloatArray:
        """The slopes of the terms at some sums, which are positive, shape (..., n_terms)."""
        by_a = {name: PHI[name].d_a(a, self.size) for name in ("entropy", "gini")}
        found: FloatArray = np.where(self.entropy, by_a["entropy"], by_a["gini"])
        return found

    def bent(self, a: FloatArray, change: FloatArray) -> FloatArray:
        """Curvature bound: phi minus its tangent at a, divided by the squared change; it falls with the change."""
        x = np.maximum(change / a, -1.0)
        small = np.abs(x) < STRAIGHT
        far = np.where(small, 1.0, x)
        left = np.maximum(1.0 + far, np.finfo(float).tiny)
        cubic = 0.5 - x / 6.0 + x * x / 12.0
        found: FloatArray = np.where(small, cubic, (left * np.log(left) - far) / far**2) / a
        return np.where(self.entropy, found, 1.0 / self.size)


def curved(program: LiftedProgram, elimination: Elimination) -> Curved:
    """The comparisons of a program whose sizes of branches are known."""
    names = ["entropy" if terms.phi == "entropy" else "gini" for terms in program.terms]
    row, var, size = (
        np.concatenate([getattr(terms, name) for terms in program.terms]) for name in ("row", "var", "size")
    )
    coef = np.concatenate([terms.coef for terms in program.terms]) * program.nl_size[row]
    entropy = np.repeat([name == "entropy" for name in names], [len(terms.row) for terms in program.terms])
    key, of = np.unique(np.column_stack([var, entropy, size]), axis=0, return_inverse=True)
    of = of.ravel()
    n_rows, n_terms = len(program.nl_const), len(key)
    every = sparse.csr_matrix((coef, (row, of)), shape=(n_rows, n_terms)).toarray()
    pick = (np.ones(n_terms), (np.arange(n_terms), key[:, 0].astype(np.int64)))
    sums, shift = elimination.over_free(sparse.csr_matrix(pick, shape=(n_terms, program.n)))
    dense, is_entropy = sums.toarray(), key[:, 1] > 0
    # What is known is a constant.
    known = np.flatnonzero(~dense.any(axis=1) & (shift > 0))
    const = program.nl_const * program.nl_size
    for t in known.tolist():
        phi = PHI["entropy" if is_entropy[t] else "gini"]
        const = const + every[:, t] * phi.value(shift[t], key[t, 2])
    varies = dense.any(axis=1)
    return Curved(dense[varies], shift[varies], key[varies, 2], is_entropy[varies], every[:, varies], const)


# Nonnegative least squares.

# Times that a variable may be let go, on average, before the search ends where it is.
NONNEGATIVE_STEPS = 3


def nonnegative(matrix: FloatArray, value: FloatArray) -> FloatArray:
    """The ``x >= 0`` with the least ``|matrix x - value|`` by Lawson and Hanson's active sets, for a few variables.

    SciPy has it, too, in a package that each process takes 0.15 s to load.
    """
    n = matrix.shape[1]
    x, free = np.zeros(n), np.zeros(n, bool)
    small = 10 * max(matrix.shape) * np.finfo(np.float64).eps * float(np.abs(matrix).sum(axis=0).max(initial=0.0))
    for _ in range(NONNEGATIVE_STEPS * n):
        pull = np.where(free, -np.inf, matrix.T @ (value - matrix @ x))
        if not n or pull.max() <= small:
            break
        free[int(pull.argmax())] = True
        best = _best(matrix, value, free)
        while (free & (best <= 0)).any():
            out = np.flatnonzero(free & (best <= 0))
            share = x[out] / np.maximum(x[out] - best[out], TINY)
            x += float(share.min()) * (best - x)
            free[out[share.argmin()]] = False
            x = np.where(free, np.maximum(x, 0.0), 0.0)
            best = _best(matrix, value, free)
        x = best
    return x


def _best(matrix: FloatArray, value: FloatArray, free: BoolArray) -> FloatArray:
    """Least squares over the free variables, 0 for the others."""
    found = np.zeros(len(free))
    found[free] = np.linalg.lstsq(matrix[:, free], value, rcond=None)[0]
    return found


# Multipliers at a point, and the largest first-order gain from there.

# Distance from a bound, individuals, within which a row may hold with equality.
TOUCHED = 1e-4
# Nats that an individual by which an equation is missed is taken to cost, per nat of the largest multiplier.
STEEP = 10.0


@dataclass(frozen=True, slots=True, eq=False)
class BallRows:
    """The linear rows over free masses: ``equal m = value``, totals among them, and ``unequal m >= least``."""

    equal: FloatArray
    value: FloatArray
    unequal: FloatArray
    least: FloatArray
    linear: LinearEntropy

    @classmethod
    def of_linear(cls, linear: LinearEntropy) -> BallRows:
        """The rows of a relaxation, dense."""
        n, matrix, same = len(linear.owner), linear.matrix.toarray(), linear.lower == linear.upper
        totals = np.zeros((len(linear.total), n))
        totals[linear.owner, np.arange(n)] = 1.0
        low, high = ~same & np.isfinite(linear.lower), ~same & np.isfinite(linear.upper)
        return cls(
            np.vstack([totals, matrix[same]]),
            np.concatenate([linear.total, linear.lower[same]]),
            np.vstack([matrix[low], -matrix[high]]),
            np.concatenate([linear.lower[low], -linear.upper[high]]),
            linear,
        )

    def across(self, masses: FloatArray) -> FloatArray:
        """Directions that keep the equations, orthonormal in the metric ``sum d^2 / m``, shape (n, n_directions)."""
        from scipy.linalg import null_space

        root = np.sqrt(masses)
        found: FloatArray = root[:, None] * null_space(self.equal * root)
        return found


def balanced(
    rows: BallRows, masses: FloatArray, across: FloatArray, slopes: FloatArray, left: FloatArray
) -> tuple[FloatArray, float]:
    """Multipliers of further rows, and how much more ``entropy + multipliers'left`` can be by its tangent, nats.

    ``slopes`` are the gradients of the rows ``left >= 0`` at the masses, ``across`` those of `Rows.across`.
    """
    gradient = -(np.log(masses / rows.linear.weight) + 1.0)
    room = rows.unequal @ masses - rows.least
    touched = np.flatnonzero(room <= TOUCHED)
    every = np.vstack([slopes, rows.unequal[touched]])
    found = np.zeros(len(every))
    if len(every) and across.shape[1]:
        found = nonnegative(across.T @ every.T, -across.T @ gradient)
    of_rows, of_unequal = np.split(found, [len(slopes)])
    slope, root = gradient + found @ every, np.sqrt(masses)
    y = np.linalg.lstsq((rows.equal * root).T, slope * root, rcond=1e-12)[0]
    rest, off = slope - y @ rows.equal, np.abs(rows.equal @ masses - rows.value).sum()
    gained = rows.linear.total @ rows.linear.largest(rest) - rest @ masses
    missed = STEEP * (1.0 + np.abs(y).max(initial=0.0)) * off
    return of_rows, float(gained + of_rows @ left + of_unequal @ room[touched] + missed)


# An answer with multipliers of its split comparisons, on masses with finite relative entropy.

# Free masses up to which a proof is tried.
FEW = 250
# Share of its owner's total that a mass of an answer has at least: elsewhere relative entropies are not finite.
SMALLEST = 1e-9
# What rounding adds at most, nats per individual.
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """Free ``masses`` of an answer, the sums ``a`` there, and the multipliers ``mu`` of the comparisons.

    ``more`` is what the Lagrangian's tangent gains from there, ``entropy`` that of the free masses, nats; ``across``
    are directions that keep the equations.
    """

    rows: BallRows
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


def answer(program: LiftedProgram, point: FloatArray) -> Answer | None:
    """A point with its multipliers, None where it has none, or is too large."""
    sized = any((terms.size_var >= 0).any() for terms in program.terms)
    open_ = program.lower[: program.n_masses] < program.upper[: program.n_masses]
    if program.likely or sized or np.count_nonzero(open_) > FEW:
        return None
    relaxed = relaxed_once(program)
    linear, elimination = relaxed.linear, relaxed.elimination
    masses = point[elimination.free]
    least = SMALLEST * linear.total[linear.owner]
    if not len(masses) or np.isnan(elimination.shift).any() or (masses <= least).any():
        return None
    rows, curves = BallRows.of_linear(linear), curved(program, elimination)
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


# Range of linear functions over masses within a given relative entropy.
#
# With ``sum_x P_ox m0_ox = 0`` for each owner o, ``V = sum P^2 m0``, b the largest entry of P, and any share s < 3 / b,
#
#     P'(m - m0) <= (D + sum_o t_o ln sum_x (m0_ox / t_o) exp(s P_ox)) / s <= D / s + s V / (2 - 2 s b / 3),
#
# where D is the relative entropy of m to m0 (Donsker and Varadhan; Bernstein). The best s gives ``sqrt(2 V D) + b D /
# 3`` (Boucheron, Lugosi and Massart, "Concentration Inequalities", 2013, section 2.4).

# Added to the equations' products, which may be singular, as a share of their mean.
RIDGE = 1e-12
# How far a bound is below an entropy that nothing has, nats per individual.
CLEARLY = 1e-6
# Newton steps towards a centre, at most.
STEPS = 30


@dataclass(frozen=True, eq=False)
class Ball:
    """Masses that meet linear rows, with a relative entropy to the ``centre`` of at most a ``radius``, nats."""

    rows: BallRows
    centre: FloatArray
    radius: float

    def furthest(self, functions: FloatArray, start: FloatArray) -> FloatArray:
        """Largest increase of linear functions, shape (n_functions, n), over the ball."""
        reduced, corrected = self._reduced
        p = functions @ reduced
        varies = np.sqrt(2.0 * self.radius * ((p * p) @ self.centre))
        moved = functions @ (self.centre - start + corrected)
        found: FloatArray = moved + varies + np.maximum(p.max(axis=1), 0.0) * self.radius / 3.0
        return found

    @cached_property
    def _reduced(self) -> tuple[FloatArray, FloatArray]:
        """Projection that removes equations and owners' means, shape (n, n), and the miss of the centre."""
        owner, equal, n = self.rows.linear.owner, self.rows.equal, len(self.centre)
        weighed = equal * self.centre
        products = weighed @ equal.T
        products += RIDGE * np.trace(products) / len(products) * np.eye(len(products))
        by_equal = np.linalg.solve(products, np.column_stack([equal, self.rows.value - equal @ self.centre]))
        reduced = np.eye(n) - weighed.T @ by_equal[:, :-1]
        of = np.zeros((n, len(self.rows.linear.total)))
        of[np.arange(n), owner] = 1.0
        mean = (reduced * self.centre) @ of / np.maximum(self.centre @ of, TINY)
        return reduced - mean[:, owner], weighed.T @ by_equal[:, -1]


def ball(rows: BallRows, linear: LinearEntropy, entropy: float, tolerance: float, clock: Clock) -> Ball | None:
    """All masses that meet linear rows and have at least some entropy, nats; None without a centre.

    ``rows`` are those equations by which functions are reduced. By the multipliers y of the rows that come with the
    centre, and their bound D(y), ``H(m) <= H(m) + y'(C m - l) = D(y) - D(m | centre)``.
    """
    found = minimise(linear, tolerance=tolerance, max_iterations=STEPS, clock=clock)
    # Where there are no such masses a bound says so, whether there is a centre or not.
    none = found.bound < entropy - CLEARLY * float(linear.total.sum())
    if not np.isfinite(found.bound) or ((found.masses <= 0).any() and not none):
        return None
    return Ball(rows, found.masses, found.bound - entropy)


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
    """Optimality gap of an answer of a program that is not convex, nats; infinite where nothing is proved."""
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
