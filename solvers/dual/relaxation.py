"""The convex relaxation of a program, and its maximum of entropy plus log-likelihood of draws and of noise.

Fixed variables are replaced by their values and aggregates by what defines them, so that only the free masses, those
with room between their bounds, are left. Every feasible point of the program satisfies all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from scipy import sparse

from maxent.constraints.lifting import Elimination, LiftedProgram, LiftedTerms, eliminate, tangents
from maxent.constraints.program.impurity_numpy import PHI
from maxent.constraints.program.program import NoiseLoss
from maxent.models.arrays import INVERTIBLE, TINY, BoolArray, FloatArray, IntArray
from maxent.solvers.control import Clock
from maxent.solvers.derivatives import cholesky, cholesky_in_place
from maxent.solvers.dual.linear_entropy import OVERLAPPING_FACTOR, EntropyByClass, LinearEntropy
from maxent.solvers.dual.newton import ARMIJO, RIDGES, Conjugate, cg, minimise

# The linear entropy problem with the likelihood of draws, and its dual.
#
# To the problem of `maxent.solvers.dual.linear_entropy` come rows that were drawn: ``d_r ln(a_r + s_r)`` is added to
# what is maximised, with ``a = C m``, within ``l_r <= a_r <= u_r``. Such a row has a multiplier of either sign, and
# adds
#
#     phi_r(y_r) = max over l_r <= a <= u_r of  d_r ln(a + s_r) - y_r a
#
# to the dual function, in place of what a row without draws adds, the same with d = 0. The maximum is where
# ``a = d_r / y_r - s_r``, or at an end. ``D(y)`` bounds the maximum whatever y is, by weak duality.
#
# Rows with noise are equations ``a_r = t_r`` that may be missed: for each individual that a lacks ``b_r`` is lost, and
# ``c_r`` for each beyond, so that their multipliers are from ``-c_r`` to ``b_r``; or ``(a - t)^2 / (2 v)``, which adds
# ``v y^2 / 2`` to the dual function.


@dataclass(frozen=True, eq=False)
class LikelyEntropy:
    """Maximise the entropy and ``sum draws ln(C m + shift)``, drawn rows within ``low <= C m <= high``.

    ``linear`` has all rows; both sides of drawn ones are 0 in it. Arrays have the shape of its sides, (n_rows,) or,
    with the classes as columns, (n_rows, n_classes), and are only looked at for rows with draws, where ``low + shift``
    is not negative and ``high`` finite. ``shares`` are the draws as shares of those of all classes of the same leaf.
    The last rows have ``noise``: equations that are missed at its loss.
    """

    linear: LinearEntropy | EntropyByClass
    draws: FloatArray
    shift: FloatArray
    low: FloatArray
    high: FloatArray
    shares: FloatArray
    noise: NoiseLoss | None = None

    @cached_property
    def noisy(self) -> IntArray:
        """The rows with noise."""
        n = len(self.draws)
        return np.arange(n - (0 if self.noise is None else len(self.noise)), n)

    @cached_property
    def variance(self) -> FloatArray:
        """The variance of Gaussian noise in rows, 0 of others."""
        found = np.zeros_like(self.draws)
        if self.noise is not None:
            found[self.noisy] = self.noise.variance
        return found

    @cached_property
    def caps(self) -> tuple[FloatArray, FloatArray]:
        """The least and the largest multiplier of each row, infinite but where noise has a kink."""
        least, most = np.full_like(self.draws, -np.inf), np.full_like(self.draws, np.inf)
        if self.noise is not None:
            kink = self.noise.variance <= 0
            least[self.noisy[kink]], most[self.noisy[kink]] = -self.noise.above[kink], self.noise.below[kink]
        return least, most

    def loose(self, price: FloatArray) -> BoolArray:
        """Rows with noise that need not be met at these multipliers, shape (n_rows,)."""
        found, (least, most) = np.zeros(price.shape, bool), self.caps
        found[self.noisy] = ((price <= least) | (price >= most) | (self.variance > 0))[self.noisy]
        return found

    @cached_property
    def drawn(self) -> BoolArray:
        """Which rows were drawn."""
        return self.draws > 0

    @cached_property
    def transposed(self) -> sparse.csr_matrix:
        """The matrix of all rows, transposed."""
        return sparse.csr_matrix(self.linear.matrix.T)

    @cached_property
    def squares(self) -> sparse.csr_matrix:
        """The same with its coefficients squared."""
        ones = bool((self.transposed.data == 1).all())
        return self.transposed if ones else sparse.csr_matrix(self.transposed.multiply(self.transposed))

    @cached_property
    def ends(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of all rows, infinite where there are none."""
        low = np.where(self.drawn, np.where(self.low + self.shift > 0, self.low, -np.inf), self.linear.lower)
        return low, np.where(self.drawn, self.high, self.linear.upper)

    def allowed(self, y: FloatArray) -> FloatArray:
        """Multipliers with 0 for those that price a side that is not there, or a row that says nothing."""
        missing = np.where(y > 0, np.isinf(self.linear.lower), np.isinf(self.linear.upper))
        return np.clip(np.where((missing & ~self.drawn) | self.linear.empty, 0.0, y), *self.caps)

    def sums(self, y: FloatArray) -> FloatArray:
        """The sum at which each drawn row's maximum is, shape (n_rows,), individuals; 0 for other rows."""
        positive = np.maximum(y, TINY)
        best = np.where(y > 0, self.draws / positive, np.inf) - self.shift
        return np.where(self.drawn, np.clip(best, self.low, self.high), 0.0)

    def value(self, y: FloatArray) -> float:
        """``D(y)``, nats: an upper bound of the maximum for every y of shape (n_rows,), up to ``rounding(y)``."""
        return self.linear.value(y) + float(self._phi(y).sum()) + 0.5 * float(np.vdot(self.variance, y**2))

    def rounding(self, y: FloatArray) -> float:
        """How far ``value(y)`` can be off because of floating-point arithmetic, nats."""
        extra = np.abs(self._phi(y)).sum() + np.vdot(self.variance, y**2)
        return self.linear.rounding(y) + float(8 * np.finfo(float).eps * extra)

    def objective(self, masses: FloatArray) -> float:
        """The objective, which is maximised, nats."""
        lost = 0.0
        if self.noise is not None:
            lost = float(self.noise.at(self.linear.matrix[self.noisy] @ masses).sum())
        return self.without_noise(masses) - lost

    def without_noise(self, masses: FloatArray) -> float:
        """The entropy and the likelihood of draws, nats."""
        sums = (self.linear.matrix @ masses + self.shift)[self.drawn]
        return self.linear.entropy(masses) + float(self.draws[self.drawn] @ np.log(np.maximum(sums, TINY)))

    def _phi(self, y: FloatArray) -> FloatArray:
        sums, drawn = self.sums(y), self.drawn
        logarithm = np.log(np.maximum(sums + self.shift, TINY))
        return np.where(drawn, self.draws * logarithm - y * sums, 0.0)


# Share of its size that an aggregate has at least in a tangent, so that the slope of a logarithm is finite.
FLOOR = 1e-10
# Times as much as it can be that a sum with a logarithm may be: its multiplier does not get there.
FAR = 4.0


@dataclass(frozen=True, slots=True, eq=False)
class ConvexRows:
    """Rows ``const + sum of terms >= 0`` that are concave in ``z = expand m + shift``, with m the free masses.

    They are rows of a program times the individuals that these are about, ``size``.
    """

    expand: sparse.csr_matrix
    shift: FloatArray
    terms: tuple[LiftedTerms, ...]
    const: FloatArray
    size: FloatArray

    @property
    def n_rows(self) -> int:
        return len(self.const)

    def values(self, masses: FloatArray) -> FloatArray:
        """The left sides at some free masses, shape (n_rows,), impurity times individuals."""
        out = self.const.copy()
        for terms, a, w in self._arguments(masses):
            out += np.bincount(terms.row, terms.coef * PHI[terms.phi].value(a, w), len(out))
        return out

    def cuts(self, masses: FloatArray, rows: IntArray) -> tuple[sparse.csr_matrix, FloatArray]:
        """Linear rows ``matrix m >= lower`` that follow from some of the rows: their tangents at some free masses.

        A concave function lies below its tangents, so that ``0 <= c(z)`` implies ``0 <= c(z0) + c'(z0) (z - z0)``.
        """
        shape = (self.n_rows, len(self.shift))
        slope, at_zero = sparse.csr_matrix(shape), self.const.copy()
        for terms, a, w in self._arguments(masses):
            sized = terms.size_var >= 0
            by_a, by_w, const = (terms.coef * part for part in tangents(terms.phi, a, w, sized))
            at_zero += np.bincount(terms.row, const, self.n_rows)
            slope += sparse.csr_matrix((by_a, (terms.row, terms.var)), shape=shape)
            slope += sparse.csr_matrix((by_w[sized], (terms.row[sized], terms.size_var[sized])), shape=shape)
        slope = slope[rows]
        return sparse.csr_matrix(slope @ self.expand), -(at_zero[rows] + slope @ self.shift)

    def _arguments(self, masses: FloatArray) -> Iterator[tuple[LiftedTerms, FloatArray, FloatArray]]:
        """The terms of each phi with their ``a`` and ``w``, kept off 0: tangents are valid wherever they touch."""
        z = self.expand @ masses + self.shift
        for terms in self.terms:
            w = np.maximum(np.where(terms.size_var >= 0, z[terms.size_var], terms.size), FLOOR)
            yield terms, np.maximum(z[terms.var], FLOOR * w), w


@dataclass(frozen=True, slots=True, eq=False)
class Relaxation:
    """Every linear row of a program, bounds included, and every convex one, over its free masses."""

    linear: LinearEntropy
    convex: ConvexRows
    constant: float
    elimination: Elimination


def relax(program: LiftedProgram) -> Relaxation:
    """The relaxation of a program; it has all of a program that is convex.

    Only a program some of whose definitions were left out as redundant can lose more than its non-convex rows: those
    over the aggregates that nothing defines any more.
    """
    fixed = program.lower >= program.upper
    held = np.flatnonzero(fixed[: program.n_masses])
    known, weight = program.lower[held], program.mass_weight[held]
    total = program.total - np.bincount(program.owner[held], known, len(program.total))
    elimination, defining = eliminate(program, fixed)
    constant = -(known * np.log(np.where(known > 0, known / weight, 1.0))).sum()
    linear = _linear(program, elimination, defining, np.maximum(total, 0.0))
    return Relaxation(linear, _convex(program, elimination), float(constant), elimination)


@lru_cache(maxsize=1)
def relaxed_once(program: LiftedProgram) -> Relaxation:
    """`relax`, once for a small program that several proofs look at."""
    return relax(program)


def likely(program: LiftedProgram, relaxed: Relaxation) -> tuple[LikelyEntropy, float]:
    """The linear rows with the draws of a program, and what its draws of fixed variables add to the objective, nats.

    A drawn sum that a linear row bounds, too, is one row.
    """
    linear, n = relaxed.linear, program.n
    of_each = np.zeros(n) if program.draws is None else program.draws
    drawn = np.flatnonzero(of_each)
    pick = sparse.csr_matrix((np.ones(len(drawn)), (np.arange(len(drawn)), drawn)), shape=(len(drawn), n))
    matrix, shift = relaxed.elimination.over_free(pick)
    draws, free = of_each[drawn], np.diff(matrix.indptr) > 0
    constant = float(draws[~free] @ np.log(np.maximum(shift[~free], TINY)))
    matrix, draws, shift, drawn = matrix[free], draws[free], shift[free], drawn[free]
    low = np.maximum(program.lower[drawn] - shift, -shift)
    whole, together = _people(linear, matrix)
    high = np.full(len(draws), np.inf)  # what the variables of a sum imply is none of its ends: it would be a kink
    among = np.bincount(together, draws)[together]
    number = {_support(matrix, r): r for r in range(len(draws) - 1, -1, -1)}
    beside = np.ones(len(linear.lower), bool)
    for r in range(len(linear.lower)):
        at = number.get(_support(linear.matrix, r))
        if at is not None and linear.lower[r] < linear.upper[r]:
            low[at], beside[r] = max(low[at], linear.lower[r]), False
            if linear.upper[r] < whole[at]:
                high[at] = min(high[at], linear.upper[r])
    high = np.where(np.isinf(high), FAR * (whole + np.abs(shift)), np.maximum(high, low))
    rest, none = np.flatnonzero(beside), np.zeros(len(draws))
    missable, noise, lost = _noisy_rows(program, relaxed)
    near = np.empty(0) if noise is None else noise.published
    rows = replace(
        linear,
        matrix=sparse.csr_matrix(sparse.vstack([matrix, linear.matrix[rest], missable])),
        lower=np.concatenate([none, linear.lower[rest], near]),
        upper=np.concatenate([none, linear.upper[rest], near]),
    )
    more = np.zeros(len(rest) + len(near))
    draws, shift, low, high, shares = (np.concatenate([v, more]) for v in (draws, shift, low, high, draws / among))
    return LikelyEntropy(rows, draws, shift, low, high, shares, noise), constant - lost


def _noisy_rows(program: LiftedProgram, relaxed: Relaxation) -> tuple[sparse.csr_matrix, NoiseLoss | None, float]:
    """Rows with noise over the free masses, their loss, and what those lose that are known, nats."""
    noise, at = program.noise, program.noisy
    if noise is None or at is None:
        return sparse.csr_matrix((0, relaxed.linear.matrix.shape[1])), None, 0.0
    pick = sparse.csr_matrix((np.ones(len(at)), (np.arange(len(at)), at)), shape=(len(at), program.n))
    matrix, shift = relaxed.elimination.over_free(pick)
    free = np.diff(matrix.indptr) > 0
    lost = float(noise[~free].at(shift[~free]).sum())
    return matrix[free], replace(noise[free], published=(noise.published - shift)[free]), lost


def _people(linear: LinearEntropy, matrix: sparse.csr_matrix) -> tuple[FloatArray, IntArray]:
    """The individuals that each row is about, and a number that rows about the same ones share, shapes (n_rows,)."""
    n = len(linear.owner)
    owners = sparse.csr_matrix((np.ones(n), (np.arange(n), linear.owner)), shape=(n, len(linear.total)))
    held = sparse.csr_matrix((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape) @ owners
    held.data[:] = 1.0
    number: dict[tuple[bytes, bytes], int] = {}
    together = [number.setdefault(_support(held, r), len(number)) for r in range(held.shape[0])]
    return np.asarray(held @ linear.total), np.array(together, np.int64)


def _support(matrix: sparse.csr_matrix, row: int) -> tuple[bytes, bytes]:
    """Key of equal rows: the columns, increasing, and the coefficients."""
    start, stop = matrix.indptr[row : row + 2]
    columns, values = matrix.indices[start:stop], matrix.data[start:stop]
    order = np.argsort(columns, kind="stable")
    return columns[order].astype(np.int64).tobytes(), values[order].tobytes()


def _linear(program: LiftedProgram, elimination: Elimination, defining: IntArray, total: FloatArray) -> LinearEntropy:
    """The statements, and the bounds of single masses that do not follow from their owner's total."""
    free, n = elimination.free, program.n_masses
    statement = np.array([origin is not None for origin in program.origins], bool)
    statement |= np.diff(program.matrix[:, n:].indptr) > 0  # of the others, totals of quasi-identifiers are left out
    statement[defining] = False
    rows = np.flatnonzero(statement)
    matrix, moved = elimination.over_free(program.matrix[rows])
    told = (np.diff(matrix.indptr) > 0) & ~np.isnan(moved)
    owner = program.owner[free]
    low = np.where(program.lower[free] > 0, program.lower[free], -np.inf)
    high = np.where(program.upper[free] < total[owner], program.upper[free], np.inf)
    boxed = np.isfinite(low) | np.isfinite(high)
    return LinearEntropy(
        owner,
        total,
        program.mass_weight[free],
        sparse.csr_matrix(sparse.vstack([matrix[told], sparse.identity(len(free), format="csr")[boxed]])),
        np.concatenate([(program.row_lower[rows] - moved)[told], low[boxed]]),
        np.concatenate([(program.row_upper[rows] - moved)[told], high[boxed]]),
    )


def _convex(program: LiftedProgram, elimination: Elimination) -> ConvexRows:
    """The convex rows over variables that are known in terms of the free masses."""
    take = program.convex_rows.copy()
    used = [terms.var[take[terms.row]] for terms in program.terms]
    used += [terms.size_var[take[terms.row] & (terms.size_var >= 0)] for terms in program.terms]
    names = np.unique(np.concatenate([np.empty(0, np.int64), *used]))
    pick = sparse.csr_matrix((np.ones(len(names)), (names, names)), shape=(program.n, program.n))
    expand, shift = elimination.over_free(pick)
    for terms in program.terms:
        sizes = np.where(terms.size_var >= 0, shift[terms.size_var], 0.0)
        take[terms.row[np.isnan(shift[terms.var] + sizes)]] = False
    number = np.cumsum(take) - 1
    chosen = []
    for terms in program.terms:
        mine = take[terms.row]
        coef = terms.coef * program.nl_size[terms.row]
        chosen.append(
            LiftedTerms(
                terms.phi,
                number[terms.row[mine]],
                terms.var[mine],
                coef[mine],
                terms.size[mine],
                terms.size_var[mine],
                terms.block[mine],
            )
        )
    size = program.nl_size[take]
    return ConvexRows(expand, np.nan_to_num(shift), tuple(chosen), program.nl_const[take] * size, size)


# Maximises entropy plus log-likelihood: Newton's method on the masses, augmented Lagrangian for the rows.
#
# The masses stay a softmax of scores for each owner, so that totals are exact. With ``v`` a change of logarithms,
# centred by owner, and ``h_r = d_r / a_r^2`` the curvature of the likelihood, Newton's system is
#
#     v + centred(C' h C m v) = centred(-ln(m / w) + C' d / a).
#
# In the inner product ``sum m v v`` its first term is the identity, and its second a sum of near projections, one for
# each tree: the condition number is that of the number of trees, and conjugate gradients end after some tens of
# products. Penalties of rows add to it; its diagonal, inverted among changes that are centred, takes most of that away,
# and rows whose penalties have grown far beyond it are solved with as a whole, by a small dense factor. What is proved
# of sums is met by an augmented Lagrangian (Nocedal & Wright, "Numerical Optimization", 2006, section 17.3), and in the
# end exactly, by the least change of the masses. There the prices of the few rows that bind are found exactly
# (`_priced`), and the Lagrangian goes on from these. Multipliers ``y = d / a`` and the prices give the bound.
#
# Where thousands of rows bind, many of them on masses that nearly vanish, their prices are not found exactly. The
# Lagrangian's rows then end a little within what is proved (`_inside`), and what it misses of that the proved ends
# mostly do not notice. The few that do are mended (`_nearest`).

# Newton steps for the same multipliers, products in each, and shorter steps to try.
NEWTON_STEPS, PRODUCTS, HALVINGS = 60, 500, 30
# How often multipliers are changed; steps onto the rows afterwards, and how many of them onto all with a price.
OUTER, MOVES, PRICED = 30, 60, 8
# Shares of the right side that are left by conjugate gradients, at least and at most, of small problems and of others.
ACCURACY = (1e-3, 0.1), (0.05, 0.3)
# The least penalty of a row, by its sum, with which the preconditioner has the row as a whole, and most such rows.
STIFF, FACTORED = 1_000.0, 2_500
# How much the logarithm of a mass may rise and fall in a step.
RISE, FALL = 5.0, 50.0
# Penalty of a missed row by its own curvature, the factor by which it grows, and the share that has to be left of a
# small problem, and of another.
FIRM, FIRMER, SLOW = 10.0, 4.0, (0.25, 0.5)
# Newton steps, at most, for the multipliers of rows that an answer is at an end of.
PRICING = 60
# Individuals that rows may miss before the masses are moved onto them, of a small problem and of another, and
# afterwards, with the classes as columns, too; the share of what they miss that conjugate gradients leave.
NEAR, MET, MET_BY_CLASS, NEARLY = (1e-3, 0.05), 1e-11, 1e-9, 0.03
# Gap, nats per individual, with which an answer to a small problem, and to another, is left as it is.
CLOSE = (1e-14, 9e-7)
# Norm of the gradient with which Newton's method is at its end, by the root of the individuals, and by how much rows
# were missed before, if that is more.
STILL, STILLER = 1e-10, (1e-3, 0.1)
# Share of the gap that is left by a change of multipliers that is not worth another, once it is that small.
LITTLE, MOST_LIKELY_FAR = 0.85, 5e-5
# Times the last change of multipliers that they are changed by further, at most.
FURTHEST = 1024.0
# Nats per individual that ends within what is proved may cost, where many rows bind, and individuals that they are
# within at most; by how much rows may be missed that are mended, and the gap with which that answer is left.
COST, MARGIN, MENDED, FAIR = 2.5e-5, 1e-3, 1e-3, 9e-5
# Masses up to which the optimum is found as exactly as rounding allows.
SMALL = 5_000
# Draws of each class, by those of its leaf, that everybody is taken to have beside those of the trees at the start.
MIXED = 1e-2


@dataclass(frozen=True, slots=True, eq=False)
class MostLikely:
    """Masses of an answer, and multipliers with the ``bound`` that they give, nats; ``iterations`` are Newton steps."""

    multipliers: FloatArray
    masses: FloatArray
    bound: float
    iterations: int


@dataclass(frozen=True, slots=True, eq=False)
class _Lagrangian:
    """The problem with multipliers ``price`` and penalties ``firmness`` of its rows, shapes (n_rows,)."""

    problem: LikelyEntropy
    price: FloatArray
    firmness: FloatArray

    def priced(self, sums: FloatArray) -> FloatArray:
        """The multipliers at some sums of the rows: those of rows met with slack are 0."""
        low, high = self.problem.ends
        below = np.maximum(self.price + self.firmness * (low - sums), 0.0)
        above = np.minimum(self.price + self.firmness * (high - sums), 0.0)
        met = np.clip(self.price + self.firmness * (low - sums), *self.problem.caps)
        return np.where(low == high, met, below + above)

    def curvature(self, price: FloatArray) -> FloatArray:
        """How fast multipliers change with the sums, shape (n_rows,): not at all at 0, or where noise has its slope."""
        least, most = self.problem.caps
        moves = (price != 0) | (self.problem.ends[0] == self.problem.ends[1])
        return np.where(moves & (price > least) & (price < most), self.firmness, 0.0)

    def value(self, masses: FloatArray) -> float:
        sums, problem = self.problem.linear.matrix @ masses, self.problem
        price, lost = self.priced(sums), np.zeros_like(sums)
        noisy, rest = problem.noisy, slice(0, len(sums) - len(problem.noisy))
        lost[rest] = price[rest] ** 2 / (2 * self.firmness[rest])
        change = price[noisy] - self.price[noisy]
        missed = problem.linear.lower[noisy] - sums[noisy]
        lost[noisy] = price[noisy] * missed - change**2 / (2 * self.firmness[noisy])
        return problem.without_noise(masses) - float(lost.sum())


def most_likely(
    problem: LikelyEntropy, clock: Clock, keep: Callable[[MostLikely], None] = lambda found: None
) -> MostLikely:
    """The masses of the largest entropy and likelihood, and the bound that proves it.

    ``keep`` is given the best so far, before each step that may not look at the clock for long.
    """
    linear, (low, high) = problem.linear, problem.ends
    masses = linear.softmax(np.log(problem.transposed @ problem.shares + MIXED) + np.log(linear.weight))
    size = np.where(np.isfinite(low), low + problem.shift, np.where(np.isfinite(high), high, 1.0))
    scale = 1.0 / np.maximum(np.where(problem.drawn, problem.draws, size), 1.0)
    scale = np.where(problem.variance > 0, 1 / np.maximum(FIRM * problem.variance, TINY), scale)
    now, within = _Lagrangian(problem, np.zeros_like(low), FIRM * scale), problem
    tried = False
    people, gap, large = max(1.0, float(linear.total.sum())), np.inf, masses.size > SMALL
    enough = CLOSE[large] * people
    bound, multipliers, answer, value = np.inf, now.price, masses, -np.inf
    y, before, missed, steps = now.price, np.full_like(low, np.inf), 0.0, 0
    for outer in range(OUTER):
        exact = None
        masses, more = _maximum(now, masses, missed, clock)
        steps, sums = steps + more, linear.matrix @ masses
        price, left = now.priced(sums), np.abs(np.clip(sums, *within.ends) - sums)
        left[problem.loose(price)] = 0.0
        likely = np.where(problem.drawn, problem.draws / np.maximum(sums + problem.shift, TINY), 0.0)
        last, y, missed = y, problem.allowed(likely + price), float(left.max(initial=0.0))
        times = _further(problem, y, y - last) if outer else 0.0
        y, price = problem.allowed(y + times * (y - last)), price + times * (price - now.price)
        price = np.clip(price, *problem.caps)
        if (here := problem.value(y) + problem.rounding(y)) < bound:
            bound, multipliers = here, y
        keep(MostLikely(multipliers, answer if np.isfinite(value) else masses, bound, steps))
        stopped = outer + 1 == OUTER or clock.stop() is not None
        bind = masses.ndim > 1 and np.count_nonzero(price) > OVERLAPPING_FACTOR
        if within is problem and missed <= NEAR[large] and bind and not tried:
            within = _inside(problem, min(COST * people / float(np.abs(price).sum()), MARGIN))
        many = within is not problem
        if stopped or (_missed(problem, masses) <= MENDED if many else missed <= NEAR[large]):
            if many:
                met = _nearest(problem, masses, np.zeros_like(price), clock, within.ends)
            elif masses.ndim == 1:
                met = _onto(problem, masses, price, clock)
            else:
                met, exact, price = _priced(problem, masses, price, clock)
                met = _nearest(problem, met, price, clock)
            feasible = masses.ndim == 1 or _missed(problem, met) <= MET_BY_CLASS
            if many and not feasible:  # rows without room within what is proved: prices are found exactly
                within, tried = problem, True
            if feasible and problem.objective(met) > value:
                answer, value = met, problem.objective(met)
            elif not np.isfinite(value):
                answer = met
            if masses.ndim == 1 and bound - value > enough and large:  # else its own multipliers end nearer
                exact, price = _priced(problem, met, price, clock)[1:]
            if exact is not None and (here := problem.value(exact) + problem.rounding(exact)) < bound:
                bound, multipliers = here, exact
        last_gap, gap = gap, bound - value
        slowly = large and masses.ndim == 1 and LITTLE * last_gap < gap <= MOST_LIKELY_FAR * people
        if stopped or gap <= (FAIR * people if many else enough) or slowly:
            break
        slow, before = left > SLOW[large] * before, left
        # The curvature of Gaussian noise is its own, not a penalty's.
        price = np.where(problem.variance > 0, 0.0, price)
        now = _Lagrangian(within, price, np.where(slow & (problem.variance <= 0), FIRMER, 1.0) * now.firmness)
    return MostLikely(multipliers, answer, bound, steps)


def _priced(
    problem: LikelyEntropy, masses: FloatArray, price: FloatArray, clock: Clock
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Masses on the rows that have a price, multipliers near the optimum there, and what of them are prices."""
    # Where rows leave a mass next to nothing, prices are large, and the Lagrangian's approach them slowly. Here all
    # rows have the multipliers that the likelihood gives them at these sums. What the ends of the rows with a price
    # need beside that is the minimum of the dual of these rows alone, as in `maxent.solvers.dual.linear_entropy`, with
    # the masses that the other multipliers make for weights.
    linear, (low, high) = problem.linear, problem.ends
    sums, loose = linear.matrix @ masses, problem.loose(price)
    fixed = np.where(loose, price, 0.0)
    if problem.noise is not None:
        curved = problem.variance[problem.noisy] > 0
        slope = np.where(curved, -problem.noise.slope(sums[problem.noisy]), fixed[problem.noisy])
        fixed[problem.noisy] = slope
    held = (price != 0) & ~loose
    sums = np.where(held, np.where(price > 0, low, high), sums)
    y = fixed + np.where(problem.drawn, problem.draws / np.maximum(sums + problem.shift, TINY), 0.0)
    weight = np.maximum(linear.softmax(np.log(linear.weight) + problem.transposed @ y), TINY)
    least = np.where((price > 0) | (low == high), low, -np.inf)
    most = np.where((price < 0) | (low == high), high, np.inf)
    found = minimise(linear.few(held, weight, least, most), price[held], MET, PRICING, clock)
    exact = np.zeros_like(y)
    exact[held] = found.multipliers
    return found.masses.reshape(masses.shape), problem.allowed(y + exact), exact + fixed


def _missed(problem: LikelyEntropy, masses: FloatArray) -> float:
    """By how many individuals masses miss a row at most."""
    sums, (low, high) = problem.linear.matrix @ masses, problem.ends
    return float(np.maximum(low - sums, sums - high).max(initial=0.0))


def _missed_by_many(problem: LikelyEntropy, sums: FloatArray) -> float:
    """By how many individuals sums miss a row at most, where so many miss one that prices are not found exactly."""
    low, high = problem.ends
    missed = np.maximum(low - sums, sums - high)
    many = sums.ndim > 1 and np.count_nonzero(missed > 0) > OVERLAPPING_FACTOR
    return float(missed.max(initial=0.0)) if many else 0.0


def _inside(problem: LikelyEntropy, margin: float) -> LikelyEntropy:
    """The problem with the ends of rows moved within by a margin, but of those that have no room for it."""
    linear, (low, high) = problem.linear, problem.ends
    move = np.where(np.isfinite(low) & (high - low <= 2 * margin), 0.0, margin)
    low, high = low + move, high - move
    drawn = problem.drawn
    linear = replace(linear, lower=np.where(drawn, linear.lower, low), upper=np.where(drawn, linear.upper, high))
    least = np.where(drawn & np.isfinite(low), low, problem.low)
    return replace(problem, linear=linear, low=least, high=np.where(drawn, high, problem.high))


def _nearest(
    problem: LikelyEntropy,
    masses: FloatArray,
    price: FloatArray,
    clock: Clock,
    within: tuple[FloatArray, FloatArray] | None = None,
) -> FloatArray:
    """The nearest masses by divergence that meet all rows: of those with a price, and then of all that are missed."""
    linear, (low, high) = problem.linear, problem.ends
    least, most = (low, high) if within is None else ((low + within[0]) / 2, (high + within[1]) / 2)
    weight, held, y = np.maximum(masses, TINY), price != 0, np.zeros_like(price)
    for _ in range(PRICED):
        sums = linear.matrix @ masses
        missed = np.maximum(low - sums, sums - high) > MET_BY_CLASS
        if not missed.any() or clock.stop() is not None:
            break
        held |= missed
        found = minimise(linear.few(held, weight, least, most), y[held], NEARLY * MET_BY_CLASS, PRICING, clock)
        y[held] = found.multipliers
        masses = linear.restored(np.maximum(found.masses.reshape(masses.shape), TINY))
    return masses


def _further(problem: LikelyEntropy, y: FloatArray, change: FloatArray) -> float:
    """How far the bound falls along the last change of multipliers: those of masses that vanish are infinite."""
    best, chosen, times = problem.value(y), 0.0, 1.0
    while times <= FURTHEST and (here := problem.value(problem.allowed(y + times * change))) < best:
        best, chosen, times = here, times, 2 * times
    return chosen


def _maximum(now: _Lagrangian, masses: FloatArray, missed: float, clock: Clock) -> tuple[FloatArray, int]:
    """The masses of the largest Lagrangian, as nearly as rows were ``missed`` before, and the Newton steps to there."""
    problem, linear = now.problem, now.problem.linear
    value = now.value(masses)
    stiller = STILLER[masses.size > SMALL]
    small = max(STILL * np.sqrt(max(1.0, float(linear.total.sum()))), stiller * missed)
    for step in range(NEWTON_STEPS):
        if clock.stop() is not None:
            return masses, step
        sums = linear.matrix @ masses
        positive, price = np.maximum(sums + problem.shift, INVERTIBLE), now.priced(sums)
        slope = np.where(problem.drawn, problem.draws / positive, 0.0) + price
        logarithm = np.log(np.maximum(masses, TINY))
        right = linear.centred(np.log(linear.weight) - logarithm + problem.transposed @ slope, masses)
        left = float(np.vdot(masses, right**2))
        if left <= small**2 or (not missed and left <= (stiller * _missed_by_many(problem, sums)) ** 2):
            return masses, step
        penalties = now.curvature(price)
        curvature = np.where(problem.drawn, problem.draws / positive**2, 0.0) + penalties
        stiff = _stiff(penalties * sums * (masses.ndim > 1))
        change = np.clip(_newton(problem, masses, curvature, stiff, right, clock), -FALL, RISE)
        promised, length = float(np.vdot(masses, right * change)), 1.0
        for _ in range(HALVINGS):
            moved = linear.softmax(logarithm + length * change)
            reached = now.value(moved)
            if reached - value >= ARMIJO * length * promised > 0:
                break
            length *= 0.5
        else:
            return masses, step
        masses, value = moved, reached
    return masses, NEWTON_STEPS


def _stiff(steep: FloatArray) -> BoolArray:
    """The rows with penalties that conjugate gradients see most of, no more than are factored."""
    least = STIFF if steep.size <= FACTORED else max(STIFF, float(np.partition(steep.ravel(), -FACTORED)[-FACTORED]))
    found: BoolArray = steep > least
    return found


def _newton(
    problem: LikelyEntropy,
    masses: FloatArray,
    curvature: FloatArray,
    stiff: BoolArray,
    right: FloatArray,
    clock: Clock,
) -> FloatArray:
    """Solve Newton's system nearly, by conjugate gradients in the inner product of the masses."""
    linear, matrix, transposed = problem.linear, problem.linear.matrix, problem.transposed

    def product(direction: FloatArray) -> FloatArray:
        return direction + linear.centred(transposed @ (curvature * (matrix @ (masses * direction))), masses)

    def of_two_classes(direction: FloatArray) -> FloatArray:
        """One class gains what the other loses, and only the difference of what they gain by counts."""
        gained = np.where(masses[:, 0] < masses[:, 1], masses[:, 0] * direction[:, 0], -masses[:, 1] * direction[:, 1])
        found = np.zeros_like(direction)
        found[:, 0] = transposed @ (curvature.sum(axis=1) * (matrix @ gained))
        return direction + linear.centred(found, masses)

    two = masses.ndim > 1 and masses.shape[1] == 2 and len(linear.owner) == len(linear.total)
    precondition = _preconditioner(problem, masses, curvature, stiff)
    apply = of_two_classes if two else product
    system = Conjugate(apply, right, precondition, lambda a, b: float(np.vdot(masses, a * b)))
    size = float(np.vdot(masses, right**2)) / max(1.0, float(masses.sum()))
    accuracy = float(np.clip(np.sqrt(size), *ACCURACY[masses.size > SMALL]))
    return cg(system, accuracy, PRODUCTS, lambda: clock.stop() is not None)


def _preconditioner(
    problem: LikelyEntropy, masses: FloatArray, curvature: FloatArray, stiff: BoolArray
) -> Callable[[FloatArray], FloatArray]:
    """Newton's system solved with its diagonal and, by the Woodbury identity, all of what the ``stiff`` rows add."""
    linear = problem.linear
    diagonal = 1.0 + masses * (problem.squares @ np.where(stiff, 0.0, curvature))
    spread = masses / diagonal
    share = linear.restored(spread)

    def eased(left: FloatArray) -> FloatArray:
        found: FloatArray = linear.centred(left, share) / diagonal
        return found

    if not stiff.any():
        return eased
    rows = linear.few(stiff, spread, curvature, curvature)
    over, root = sparse.csr_matrix(rows.matrix.T), np.sqrt(curvature[stiff])
    added = rows.gram(rows.weight, np.arange(len(root)), rows.membership.T @ rows.weight).toarray()
    added *= root[:, None]
    added *= root
    added[np.diag_indices_from(added)] += 1.0
    solve = cholesky_in_place(added, RIDGES)
    if solve is None:
        return eased

    def priced(left: FloatArray) -> FloatArray:
        first = eased(left)
        price = root * solve(root * (rows.matrix @ (masses * first).ravel()))
        return first - eased((over @ price).reshape(first.shape))

    return priced


def _onto(problem: LikelyEntropy, masses: FloatArray, price: FloatArray, clock: Clock) -> FloatArray:
    """The masses moved onto the rows that have a price, then onto those that are missed yet, as little as possible."""
    linear, (low, high), loose = problem.linear, problem.ends, problem.loose(price)
    low, high = np.where(loose, -np.inf, low), np.where(loose, np.inf, high)
    price = np.where(loose, 0.0, price)
    held: BoolArray = price != 0
    for move in range(MOVES):
        sums = linear.matrix @ masses
        missing = np.clip(sums, low, high) - sums
        worst = float(np.abs(missing).max(initial=0.0))
        if worst <= MET or clock.stop() is not None:
            break
        if move < PRICED:
            missing = np.where(price > 0, low - sums, np.where(price < 0, high - sums, missing))
        held = (np.abs(missing) > MET) | (held & (move != PRICED))
        change = _least_change(problem, masses, held, np.where(held, missing, 0.0))
        if change is None:
            break
        masses = linear.softmax(np.log(np.maximum(masses, TINY)) + np.clip(change, -FALL, RISE))
    return masses


def _least_change(
    problem: LikelyEntropy, masses: FloatArray, held: BoolArray, missing: FloatArray
) -> FloatArray | None:
    """The least change of logarithms that makes up for what some rows miss, to first order; None without one."""
    linear, rows = problem.linear, np.flatnonzero(held)
    assert isinstance(linear, LinearEntropy)
    system = linear.hessian(masses, rows)
    dense: FloatArray = system if isinstance(system, np.ndarray) else system.toarray()
    scale = 1 / np.sqrt(np.maximum(np.diag(dense), max(RIDGES[0] * np.diag(dense).max(), INVERTIBLE)))
    solve = cholesky(dense * scale[:, None] * scale, RIDGES)
    return None if solve is None else problem.transposed[:, rows] @ (scale * solve(scale * missing[rows]))
