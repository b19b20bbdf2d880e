"""The augmented Lagrangian in the metric of the masses: derivatives, preconditioner, and projection to feasibility.

Constraints are ``c >= 0``: internal ones, then linear inequalities, both in individuals. With multipliers mu and
penalties rho,

    L(m) = sum m ln p + sum_k (a_k^2 - mu_k^2) / (2 rho_k),     a_k = max(0, mu_k - rho_k c_k),
    r    = centre(ln p - sum_k a_k grad c_k),                   the natural gradient,
    H d  = centre(d - curvature(m d) + C' D C (m d)),           the Hessian's product with a direction d of the scores,

where ``curvature`` is the Hessian of ``sum_k a_k c_k``, C are the active constraints' gradients, centred, and D their
penalties (a part that vanishes with r is left out). The logarithm's curvature 1/A acts only through ``A d``, so small
masses do no harm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from maxent.models.arrays import TINY, FloatArray, IntArray, run_ends
from maxent.solvers.control import SOON, Clock
from maxent.solvers.dual.newton import Conjugate, cg
from maxent.solvers.newton.block_form import BlockSums, Comparisons, Form, Slopes, fast
from maxent.solvers.newton.softmax_manifold import Manifold, Masses

# Entries up to which gradients of linear rows are kept as a dense array.
DENSE = 300_000
# Entries of centred gradients above which only those that may not vanish are made: most comparisons look at few groups.
SPARSE = 3_000_000


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A point with everything that is evaluated there."""

    masses: Masses
    sums: BlockSums
    c: FloatArray  # (n_constraints,), individuals
    objective: float  # sum m ln p, nats

    @property
    def m(self) -> FloatArray:
        return self.masses.m


@dataclass(frozen=True, slots=True, eq=False)
class Penalty:
    """Multipliers and penalties of the constraints."""

    mu: FloatArray
    rho: FloatArray

    def active(self, c: FloatArray) -> FloatArray:
        """``a``: the multipliers of the augmented Lagrangian, non-negative."""
        return np.maximum(0.0, self.mu - self.rho * c)

    def value(self, state: State) -> float:
        """The augmented Lagrangian."""
        a = self.active(state.c)
        return state.objective + float(((a * a - self.mu * self.mu) / (2.0 * self.rho)).sum())


class NewtonProblem:
    """A form with its operators; ``clock`` ends iterations inside them."""

    def __init__(self, form: Form, clock: Clock) -> None:
        self.form, self.clock = form, clock
        self.manifold = Manifold(form, clock)
        self.comparisons = Comparisons(form.blocks)
        least = form.least.matrix
        self.least, self.least_transposed = fast(least), fast(least.T.tocsr())
        self.rows = least.toarray() if len(form.least) * form.free.size <= DENSE else least
        self.people = np.concatenate([form.blocks.people, form.least.size])
        self.individuals = float(form.total.sum())

    def at(self, theta: FloatArray) -> State:
        """Evaluate everything at some scores."""
        masses = self.manifold.masses(theta)
        sums = self.comparisons.at(masses.m)
        c = np.concatenate([sums.value, self.least @ masses.m.ravel() - self.form.least.value])
        return State(masses, sums, c, float((masses.m * self.slope(masses)).sum()))

    def slope(self, masses: Masses) -> FloatArray:
        """The objective's gradient by the masses, but for what is alike for all of a quasi-identifier."""
        return masses.log_p if self.form.tilt is None else masses.log_p - self.form.tilt

    def step(self, state: State, d: FloatArray) -> State:
        """The state after moving the scores by d."""
        theta = state.masses.log_p + d
        if not self.manifold.every:
            theta = np.where(self.form.free, theta, -np.inf)
        return self.at(theta)

    def unmet(self, state: State) -> float:
        """By how much the equations are missed where no multipliers meet them, per individual."""
        miss = np.abs(self.form.equal.matrix @ state.m.ravel() - self.form.equal.value) / self.form.equal.size
        return float(miss.max(initial=0.0))

    def violation(self, state: State) -> FloatArray:
        """By how much each constraint is missed, per individual that it is about."""
        missed: FloatArray = np.maximum(-state.c, 0.0) / self.people
        return missed

    def gradients(self, state: State, slopes: Slopes, active: IntArray) -> FloatArray:
        """Gradients of some constraints by the masses, not centred, shape (n_active, n_groups, n_classes)."""
        n = len(self.comparisons)
        curved, straight = active[active < n], active[active >= n] - n
        parts = []
        if len(curved):
            parts.append(self.comparisons.gradients(curved, slopes))
        if len(straight):
            chosen = self.rows[straight]
            straights = chosen if isinstance(chosen, np.ndarray) else chosen.toarray()
            parts.append(straights.reshape(-1, *state.m.shape))
        return np.concatenate(parts) if parts else np.empty((0, *state.m.shape))

    def centred(self, state: State, slopes: Slopes, active: IntArray) -> Any:
        """The same, centred, shape (n_active, n_groups * n_classes): an array, or large ones as a sparse matrix."""
        if len(active) * state.m.size <= SPARSE or not self.manifold.local or slopes.by_size is not None:
            dense = self.manifold.centring(state.m)(self.gradients(state, slopes, active))
            return dense.reshape(len(active), state.m.size)
        n_groups, n_classes = state.m.shape
        curved = active < len(self.comparisons)
        row, group, each = self.comparisons.pairs(active[curved], slopes)
        straight = sparse.coo_matrix(self.rows[active[~curved] - len(self.comparisons)])
        at, klass = np.divmod(straight.col.astype(np.int64), n_classes)
        keys, pair = np.unique((straight.row + int(curved.sum())) * n_groups + at, return_inverse=True)
        linear = np.zeros((len(keys), n_classes))
        linear[pair, klass] = straight.data
        of, groups = np.divmod(keys, n_groups)
        pairs = np.concatenate([row, of]), np.concatenate([group, groups]), np.concatenate([each, linear])
        row, group, each = self.manifold.centred(state.m, *pairs)
        ends = run_ends(n_classes * np.bincount(row, minlength=len(active)))
        columns = (group[:, None] * n_classes + np.arange(n_classes)).ravel()
        return sparse.csr_matrix((each.ravel(), columns, ends), (len(active), state.m.size))


def weighted_by(c: Any, m: FloatArray) -> Any:
    """The columns of a matrix, which may be sparse, times the masses."""
    return c * m if isinstance(c, np.ndarray) else c.multiply(m).tocsr()


def gram_of(weighted: Any, c: Any) -> FloatArray:
    """``weighted @ c.T``, an array."""
    found = weighted @ c.T
    return np.asarray(found if isinstance(found, np.ndarray) else found.toarray())


class Model:
    """The quadratic model of the augmented Lagrangian at a state: gradient and curvature in the metric."""

    def __init__(self, problem: NewtonProblem, state: State, penalty: Penalty) -> None:
        self.problem, self.state, self.penalty = problem, state, penalty
        self.a = penalty.active(state.c)
        self.centre = problem.manifold.centring(state.m)
        self.slopes = problem.comparisons.slopes(state.sums)
        n = len(problem.comparisons)
        pull = problem.comparisons.weighted(self.a[:n], self.slopes)
        if len(self.a) > n:
            pull = pull + (problem.least_transposed @ self.a[n:]).reshape(pull.shape)
        self.gradient = self.centre(problem.slope(state.masses) - pull)
        self.norm = float(np.sqrt(self.dot(self.gradient, self.gradient) / problem.individuals))
        self._prepared = False

    def dot(self, a: FloatArray, b: FloatArray) -> float:
        """The inner product ``sum m a b`` of centred directions."""
        return float(np.vdot(self.state.m * a, b))

    def prepare(self) -> None:
        """Set up the Hessian and the preconditioner; left out where only the gradient is asked for."""
        if self._prepared:
            return
        self._prepared = True
        problem, m = self.problem, self.state.m
        active = np.flatnonzero(self.a > 0)
        n = len(problem.comparisons)
        self.curvature = problem.comparisons.curvature(self.a[:n], self.state.sums)
        self.c, self.d = problem.centred(self.state, self.slopes, active), self.penalty.rho[active]
        self.cj = weighted_by(self.c, m.ravel())
        if len(active):
            # (I + C' D C J)^-1 = I - C' (D^-1 + C J C')^-1 C J (Woodbury)
            self.inner = np.linalg.inv(np.diag(1.0 / self.d) + gram_of(self.cj, self.c))

    def hessian(self, d: FloatArray) -> FloatArray:
        """The product H d."""
        change = self.state.m * d
        out = d - self.curvature(change)
        if len(self.d):
            out = out + ((self.d * (self.cj @ d.ravel())) @ self.c).reshape(d.shape)
        return self.centre(out)

    def precondition(self, v: FloatArray) -> FloatArray:
        """The inverse of ``I + C' D C J``, applied."""
        if not len(self.d):
            return v
        less: FloatArray = v - ((self.inner @ (self.cj @ v.ravel())) @ self.c).reshape(v.shape)
        return less


# Projects a nearly feasible point to a feasible one, by the shortest step in the metric.
#
# ``d = C' (C J C')^+ max(0, target - c)`` over the violated and the nearly active constraints: one or two steps take a
# violation of 1e-6 to 1e-13, at a cost in entropy that is of the violation's own size. Of few constraints the matrix is
# decomposed; of more that would take minutes, in which nothing looks at the clock, and they get conjugate gradients.

# How far inside a constraint to aim, per individual that it is about.
INSIDE = 1e-11
STEPS = 25
# Constraints up to which their matrix is decomposed, which takes a fraction of a second.
DECOMPOSED = 800
# Of conjugate gradients: products with the matrix at most, and the share of the right side that may be left.
PRODUCTS, CLOSE = 500, 1e-6
RAISES = 5


def project(problem: NewtonProblem, state: State, pull: FloatArray, floor: float) -> State:
    """The nearest point that meets all constraints; ``floor`` is the smallest probability left on the way."""
    people = problem.people
    state = _raise(problem, state, floor)
    for _ in range(STEPS):
        c = state.c
        if problem.clock.late() > SOON:
            break
        if float(problem.violation(state).max(initial=0.0)) <= 0.1 * INSIDE:
            break
        rows = np.flatnonzero((c < 0) | ((c < 1e-6 * people) & (pull > 0)) | (c < 1e-9 * people))
        slopes = problem.comparisons.slopes(state.sums)
        flat = problem.centred(state, slopes, rows)
        wanted = np.maximum(INSIDE * people[rows] - c[rows], 0.0)
        solve = _decomposed if len(rows) <= DECOMPOSED else _iterated
        d = (solve(flat, state.m.ravel(), wanted, problem.clock) @ flat).reshape(state.m.shape)
        better = _shorter(problem, state, d, floor)
        if better is None:
            break
        state = better
    return state


def _decomposed(c: Any, m: FloatArray, wanted: FloatArray, clock: Clock) -> FloatArray:
    """Weights of the rows of ``c``, shape (n_rows, n), with ``c (m * (weights c)) = wanted``, the smallest ones."""
    gram = gram_of(weighted_by(c, m), c)
    scale = 1.0 / np.sqrt(np.maximum(np.diag(gram), TINY))
    weights: FloatArray = scale * np.linalg.lstsq(gram * scale[:, None] * scale, wanted * scale, rcond=1e-10)[0]
    return weights


def _iterated(c: Any, m: FloatArray, wanted: FloatArray, clock: Clock) -> FloatArray:
    """The same by conjugate gradients, nearly, or as far as there is time."""
    scale = 1.0 / np.sqrt(np.maximum((c * c if isinstance(c, np.ndarray) else c.multiply(c)) @ m, TINY))
    system = Conjugate(lambda direction: scale * (c @ (m * ((scale * direction) @ c))), wanted * scale)
    scaled: FloatArray = scale * cg(system, CLOSE, PRODUCTS, lambda: clock.late() > SOON)
    return scaled


def _shorter(problem: NewtonProblem, state: State, d: FloatArray, floor: float) -> State | None:
    """The first of ever shorter steps that lowers the sum of violations, None when none does."""
    now, size = float(problem.violation(state).sum()), 1.0
    for _ in range(8):
        new = _raise(problem, problem.step(state, size * d), floor)
        if float(problem.violation(new).sum()) < now:
            return new
        size *= 0.4
    return None


def _raise(problem: NewtonProblem, state: State, floor: float) -> State:
    """Clip probabilities from below; the totals and equations that then have to be met again lower them a little."""
    if floor <= 0:
        return state
    lowest = np.log(floor)
    for _ in range(RAISES):
        short = lowest - state.masses.log_p
        if short.max(initial=0.0) <= 0.01:
            break
        state = problem.step(state, np.maximum(short, 0.0))
    return state
