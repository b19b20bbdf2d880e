"""Map from scores to masses: softmax per quasi-identifier, with disjoint linear equations met exactly.

``m = total * softmax(theta + equal' lam)`` over the masses of a quasi-identifier; the multipliers lam are the minimum
of the convex function ``sum_q total_q logsumexp(theta + equal' lam) - lam . value``, whose gradient is ``equal m -
value``. For rates this is one multiplier per leaf, which raises or lowers the score of its label.

Moving the scores by b moves the masses by ``J b = m * centre(b)``: centre takes from b its mean over each
quasi-identifier and the multiples of the equations' gradients that would break them. J is the inverse of the Fisher
metric on the masses that satisfy the equations, and ``sum m a b`` the inner product of two centred directions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from maxent.models.arrays import TINY, FloatArray, IntArray, ranges, run_ends
from maxent.solvers.control import SOON, Clock
from maxent.solvers.derivatives import Solve, cholesky, exponentials
from maxent.solvers.newton.block_form import Form, fast

# Linear equations with disjoint quasi-identifiers, such as the rates of one tree.
#
# Each is met by a multiplier of its own, and each is centred on its own: all together cost no more than a pass over the
# masses. Where an equation looks at one mass of a quasi-identifier, whose probability is p, the multiplier lam makes
# that ``p e^lam / (1 - p + p e^lam)``, which takes exponentials of the other masses once for all multipliers.

# Individuals, relative to the equation's size, up to which equations are met.
ACCURACY = 1e-11
# Logarithm of the smallest probability: below, its reciprocal would overflow.
SMALLEST = -600.0
# Multipliers are between minus and plus the first; the longest step of one, and steps at most.
WIDEST, FARTHEST, STEPS = 1e3, 20.0, 100
Centre = Callable[[FloatArray], FloatArray]
CentreTotals = Callable[[FloatArray, FloatArray], FloatArray]
# What equations miss at some multipliers, and the derivatives of that by the multipliers.
At = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


class SeparateEquations:
    """The equations of a form, at least one, in which a quasi-identifier is in one of them at most."""

    def __init__(self, form: Form, row_of: IntArray, owner_of: IntArray, clock: Clock) -> None:
        self.form, self.clock, self.row_of, self.owner_of = form, clock, row_of, owner_of
        equal = form.equal.matrix
        self.coefficient, self.place = equal.data, equal.indices
        self.touched, first = np.unique(owner_of, return_index=True)
        self.row_of_touched = row_of[first]
        gradient = np.zeros(form.free.size)  # of each mass's own equation
        gradient[self.place] = self.coefficient
        self.gradient = gradient.reshape(form.free.shape)
        row = np.full(len(form.start), len(form.equal))  # one more, for quasi-identifiers that are in none
        row[self.touched] = self.row_of_touched
        self.row = row[form.owner]
        self.group = self.place // form.free.shape[1]
        # One mass of a quasi-identifier, which is in one place only.
        self.one_mass = len(form.start) == len(form.owner) and len(self.touched) == len(self.place)

    def multipliers(self, at: At) -> FloatArray:
        """The multipliers that meet the equations, by Newton's method, each in its own bracket."""
        size = ACCURACY * self.form.equal.size
        found = np.zeros(len(size))
        low, high = np.full(len(size), -WIDEST), np.full(len(size), WIDEST)
        for _ in range(STEPS):
            miss, slope = at(found)
            open_ = np.abs(miss) > size
            if not open_.any() or self.clock.late() > SOON:
                break
            low, high = np.where(miss < 0, found, low), np.where(miss > 0, found, high)
            new = found + np.clip(-miss / np.maximum(slope, TINY), -FARTHEST, FARTHEST)
            new = np.where((new <= low) | (new >= high), 0.5 * (low + high), new)
            found = np.where(open_, new, found)
        return found

    def probabilities(self, theta: FloatArray) -> FloatArray:
        """Logarithms of the probabilities of some scores, -inf where fixed, of equations with one mass each.

        A multiplier changes two numbers of a quasi-identifier: the logarithm of its equation's mass, and of all others.
        """
        n, total = len(self.form.equal), self.form.total[self.group]
        own, others = theta.ravel()[self.place], theta.copy()
        others.ravel()[self.place] = -np.inf
        top = others.max(axis=1, keepdims=True)
        top[top == -np.inf] = 0.0
        others -= top
        with np.errstate(divide="ignore"):  # where no other is free
            beside = np.log(np.exp(others).sum(axis=1))
        rest = beside[self.group] + top[self.group, 0]

        def at(multipliers: FloatArray) -> tuple[FloatArray, FloatArray]:
            raised = own + self.coefficient * multipliers[self.row_of]
            both = np.logaddexp(raised, rest)
            pull = self.coefficient * total * np.exp(raised - both)
            steep = self.coefficient * pull * np.exp(rest - both)
            slope = np.asarray(np.bincount(self.row_of, steep, n), np.float64)
            return np.bincount(self.row_of, pull, n) - self.form.equal.value, slope

        raised = own + self.coefficient * self.multipliers(at)[self.row_of]
        both = np.logaddexp(raised, rest)
        beside[self.group] = both - top[self.group, 0]
        others -= beside[:, None]
        others.ravel()[self.place] = raised - both
        return others

    @cached_property
    def squared(self) -> Any:
        """The coefficients' squares; a form whose equations look at one mass each does without."""
        equal = self.form.equal.matrix
        return fast(equal.multiply(equal).tocsr())

    def slopes(self, m: FloatArray) -> FloatArray:
        """The derivatives of the equations by their own multipliers, at the masses m."""
        share = self.coefficient * m.ravel()[self.place]
        of_owner = np.bincount(self.owner_of, share, len(self.form.start))[self.touched]
        lost = np.bincount(self.row_of_touched, of_owner**2 / self.form.total[self.touched], len(self.form.equal))
        slope: FloatArray = self.squared @ m.ravel() - lost
        return slope

    def own(self, m: FloatArray, centre_totals: CentreTotals) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Centred gradients of the equations, the same times the masses, and one over the square of each's length."""
        gradient = centre_totals(m, self.gradient)
        weight, n_rows = m * gradient, len(self.form.equal) + 1
        length = np.bincount(self.row, np.einsum("gx,gx->g", weight, gradient), n_rows)
        return gradient, weight, np.divide(1.0, length, out=np.zeros(n_rows), where=length > 1e-12)

    @cached_property
    def members(self) -> tuple[IntArray, IntArray]:
        """The groups by their equation, and where those of each begin and end; the groups of none are the last."""
        return np.argsort(self.row, kind="stable"), run_ends(np.bincount(self.row, minlength=len(self.form.equal) + 1))

    def centring(self, m: FloatArray, centre_totals: CentreTotals) -> Centre:
        """The projection of directions onto those that keep totals (``centre_totals`` does that) and equations."""
        n_rows, n_groups = len(self.form.equal) + 1, len(m)
        gradient, weight, inverse = self.own(m, centre_totals)

        def centre(b: FloatArray) -> FloatArray:
            u = centre_totals(m, b)
            along = np.einsum("gx,...gx->...g", weight, u)
            place = self.row if u.ndim == 2 else (n_rows * np.arange(len(u))[:, None] + self.row).ravel()
            sums = np.bincount(place, along.ravel(), n_rows * (along.size // n_groups)).reshape(-1, n_rows)
            u -= ((sums * inverse)[:, self.row]).reshape(along.shape)[..., None] * gradient
            return u

        return centre


# Factors of the ridge on the equations' system, the first that makes it definite.
LARGER = 100.0 ** np.arange(1, 9)
# Steps that may bring coupled equations no closer, before they count as impossible to meet.
PATIENCE = 6


# Equations of a block up to which all blocks are solved together, densely.
SMALL = 8


@dataclass(frozen=True, slots=True, eq=False)
class EquationBlocks:
    """Equations in ``n`` blocks that share no quasi-identifier: ``of`` is the block of each.

    ``place`` is its place there, where no block has more than `SMALL`: as rates and numbers of the leaves of one tree.
    """

    n: int
    of: IntArray
    place: IntArray | None

    @classmethod
    def of_shared(cls, shared: sparse.csr_matrix) -> EquationBlocks:
        """The blocks of equations, by how many quasi-identifiers each two share."""
        from scipy.sparse.csgraph import connected_components

        n, of = connected_components(shared, directed=False)
        order = np.argsort(of, kind="stable")
        length = np.bincount(of, minlength=n)
        if length.max(initial=0) > SMALL:
            return cls(n, of.astype(np.int64), None)
        place = np.empty(len(of), np.int64)
        place[order] = np.arange(len(of)) - np.repeat(np.cumsum(length) - length, length)
        return cls(n, of.astype(np.int64), place)

    def solver(self, gram: sparse.csr_matrix, ridge: float) -> Solve:
        """Solves ``(gram + ridge I) y = r``, block by block."""
        assert self.place is not None
        of, place, entries = self.of, self.place, sparse.coo_matrix(gram)
        size = int(place.max()) + 1
        dense = np.zeros((self.n, size, size))
        dense[of[entries.row], place[entries.row], place[entries.col]] = entries.data
        dense[:, np.arange(size), np.arange(size)] += ridge
        inverse = np.linalg.inv(dense)

        def solve(right: FloatArray) -> FloatArray:
            columns = right.reshape(len(of), -1)
            laid = np.zeros((self.n, size, columns.shape[1]))
            laid[of, place] = columns
            solved: FloatArray = (inverse @ laid)[of, place].reshape(right.shape)
            return solved

        return solve


@dataclass(frozen=True, slots=True, eq=False)
class Masses:
    """Masses, and the logarithms of their probabilities (0 where fixed)."""

    m: FloatArray  # (n_groups, n_classes)
    log_p: FloatArray  # (n_groups, n_classes)


class Manifold:
    """The masses that satisfy the quasi-identifiers' totals and the equations, and directions along them."""

    def __init__(self, form: Form, clock: Clock) -> None:
        self.form, self.clock = form, clock
        self.single = len(form.start) == len(form.owner)
        self.total = form.total[form.owner][:, None]
        self.every = bool(form.free.all())
        equal = form.equal.matrix
        n_classes = form.free.shape[1]
        owner_of = form.owner[equal.indices // n_classes] if equal.nnz else np.empty(0, np.int64)
        row_of = np.repeat(np.arange(equal.shape[0]), np.diff(equal.indptr))
        pairs = np.unique(row_of * len(form.start) + owner_of)
        self.row_of, self.owner_of = row_of, owner_of
        alone = len(pairs) and len(np.unique(pairs % len(form.start))) == len(pairs)
        self.separate = SeparateEquations(form, row_of, owner_of, clock) if alone else None

    @cached_property
    def equal(self) -> Any:
        """The equations' coefficients, shape (n_equations, n_groups * n_classes), for forms that multiply with them."""
        return fast(self.form.equal.matrix)

    @cached_property
    def equal_transposed(self) -> Any:
        """The same, transposed."""
        return fast(self.form.equal.matrix.T.tocsr())

    def masses(self, theta: FloatArray) -> Masses:
        """The masses of some scores, -inf where fixed."""
        if not len(self.form.equal):
            return self._softmax(theta, np.empty(0))
        if self.separate is None:
            return self._together(theta)
        if self.separate.one_mass:
            return self._of(self.separate.probabilities(theta))
        return self._each(theta, self.separate)

    @cached_property
    def blocks(self) -> EquationBlocks:
        """The equations in blocks that share no quasi-identifier."""
        n = len(self.form.equal)
        shape = (n, len(self.form.start))
        touched = sparse.csr_matrix((np.ones(len(self.row_of)), (self.row_of, self.owner_of)), shape=shape)
        return EquationBlocks.of_shared(sparse.csr_matrix(touched @ touched.T))

    def _of(self, log_p: FloatArray) -> Masses:
        """The masses of some logarithms of probabilities, -inf where fixed."""
        log_p = np.maximum(log_p, SMALLEST)
        m = self.total * np.exp(log_p)
        if not self.every:
            log_p, m = np.where(self.form.free, log_p, 0.0), np.where(self.form.free, m, 0.0)
        return Masses(m, log_p)

    def _softmax(self, theta: FloatArray, multipliers: FloatArray) -> Masses:
        scores = theta
        if len(multipliers):
            scores = theta + (self.equal_transposed @ multipliers).reshape(theta.shape)
        found = exponentials(scores, self._largest, self._summed, self._spread)
        return self._of(found.shifted - self._spread(np.log(found.sums)))

    def _largest(self, values: FloatArray) -> FloatArray:
        top: FloatArray = values.max(axis=1)
        return top if self.single else np.maximum.reduceat(top, self.form.start)

    def _summed(self, values: FloatArray) -> FloatArray:
        sums: FloatArray = values.sum(axis=1)
        return sums if self.single else np.add.reduceat(sums, self.form.start)

    def _spread(self, values: FloatArray) -> FloatArray:
        """The value of its quasi-identifier for each mass."""
        return (values if self.single else values[self.form.owner])[:, None]

    def _each(self, theta: FloatArray, equations: SeparateEquations) -> Masses:
        """Newton's method on each equation's own multiplier."""

        def at(multipliers: FloatArray) -> tuple[FloatArray, FloatArray]:
            found = self._softmax(theta, multipliers)
            return self._miss(found), equations.slopes(found.m)

        return self._softmax(theta, equations.multipliers(at))

    def _together(self, theta: FloatArray) -> Masses:
        """Newton's method on the convex function of all multipliers, halving steps that do not lower it."""
        multipliers, of, n = np.zeros(len(self.form.equal)), self.blocks.of, self.blocks.n
        found = self._softmax(theta, multipliers)
        miss, patience = self._miss(found), PATIENCE
        for _ in range(50):
            if (np.abs(miss) <= ACCURACY * self.form.equal.size).all() or not patience or self.clock.late() > SOON:
                break
            step = -self.equations(found.m)(miss)
            size, enough = np.ones(n), 0.1 * np.abs(np.bincount(of, miss * step, n))
            for _ in range(20):
                # The slope along the step, from negative towards 0, says how far to go: no cancellation near the end.
                new = self._softmax(theta, multipliers + size[of] * step)
                new_miss = self._miss(new)
                far = np.bincount(of, new_miss * step, n) > enough
                if not far.any() or self.clock.late() > SOON:
                    break
                size[far] *= 0.5
            patience -= int(np.abs(new_miss).max() > 0.7 * np.abs(miss).max())
            multipliers, found, miss = multipliers + size[of] * step, new, new_miss
        return found

    def _miss(self, found: Masses) -> FloatArray:
        miss: FloatArray = self.equal @ found.m.ravel() - self.form.equal.value
        return miss

    def equations(self, m: FloatArray) -> Solve:
        """Solves ``(equal J0 equal') y = r`` at the masses m, for r of shape (n_equations,) or (n_equations, k).

        J0 keeps the quasi-identifiers' totals only. Equations that others imply, or without freedom, get no multiplier.
        """
        equal = self.form.equal.matrix
        share = sparse.csr_matrix((equal.data * m.ravel()[equal.indices], equal.indices, equal.indptr), equal.shape)
        pooled = sparse.csr_matrix((share.data, (self.row_of, self.owner_of)), (share.shape[0], len(self.form.start)))
        gram = share @ equal.T - (pooled @ sparse.diags(1.0 / self.form.total)) @ pooled.T
        ridge = 1e-13 * max(float(gram.diagonal().max(initial=0.0)), 1e-12)
        if self.blocks.place is not None:
            return self.blocks.solver(gram, ridge)
        gram = sparse.csc_matrix(gram + ridge * sparse.identity(gram.shape[0]))
        if gram.shape[0] <= 300:
            solve = cholesky(gram.toarray(), ridge * LARGER)
            if solve is None:
                raise ArithmeticError("the equations' system is not finite")
            return solve
        from scipy.sparse.linalg import splu

        return splu(gram).solve  # type: ignore[no-any-return]

    def centring(self, m: FloatArray) -> Centre:
        """Projection of directions, shape (..., n_groups, n_classes), onto those that keep totals and equations."""
        if not len(self.form.equal):
            return lambda b: self._centre_totals(m, b)
        if self.separate is not None:
            return self.separate.centring(m, self._centre_totals)
        solve = self.equations(m)

        def centre(b: FloatArray) -> FloatArray:
            u = self._centre_totals(m, b)
            kappa = solve(self.equal @ (m * u).reshape(-1, m.size).T)
            u -= self._centre_totals(m, (self.equal_transposed @ kappa).T.reshape(b.shape))
            return u

        return centre

    @property
    def local(self) -> bool:
        """Whether `centring` changes a group only where its own equation, or the group itself, is touched."""
        return self.single and (self.separate is not None or not len(self.form.equal))

    def centred(
        self, m: FloatArray, row: IntArray, group: IntArray, b: FloatArray
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """`centring` of directions that are `local`, and 0 but in some pairs of a direction (``row``) and a group.

        Pairs go on with all groups of the equations that are touched, and are in the order of directions and groups.
        """
        n_groups, n_rows, keys, equations = len(m), len(self.form.equal) + 1, row * len(m) + group, self.separate
        if equations is not None:
            of, touched = np.divmod(np.unique(row * n_rows + equations.row[group]), n_rows)
            of, touched = of[touched < n_rows - 1], touched[touched < n_rows - 1]
            order, ends = equations.members
            beside = order[ranges(ends[touched], ends[touched + 1])]
            more = np.repeat(of, ends[touched + 1] - ends[touched]) * n_groups + beside
            keys = np.concatenate([keys, more])
        every = np.unique(keys)
        u = np.zeros((len(every), m.shape[1]))
        u[np.searchsorted(every, row * n_groups + group)] = b
        row, group = np.divmod(every, n_groups)
        u -= (np.einsum("px,px->p", m[group], u) / self.total[group, 0])[:, None]
        if equations is not None:
            gradient, weight, inverse = equations.own(m, self._centre_totals)
            _, place = np.unique(row * n_rows + equations.row[group], return_inverse=True)
            sums = np.bincount(place, np.einsum("px,px->p", weight[group], u))
            u -= (sums[place] * inverse[equations.row[group]])[:, None] * gradient[group]
        return row, group, u

    def _centre_totals(self, m: FloatArray, b: FloatArray) -> FloatArray:
        mean = np.einsum("gx,...gx->...g", m, b)
        if not self.single:
            mean = np.add.reduceat(mean, self.form.start, axis=-1)[..., self.form.owner]
        centred: FloatArray = b - (mean / self.total[:, 0])[..., None]
        return centred
