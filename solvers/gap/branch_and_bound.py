"""Branch and bound over boxes of sums and of the directions of largest curvature, many boxes together.

In a box the convex terms of comparisons are below chords, which leaves concave rows. With these, and with the
comparisons themselves as far as they may be missed for what keeps the Lagrangian concave, the largest entropy is
bounded without more ado. Near an optimum boxes would have to be tiny: there squares between the ends make a Lagrangian
flat enough for relative entropies. Either bound leaves a ball, too, which makes the box smaller. The boxes with the
largest bounds are looked at together, and cut in two where a chord or a square is off by most.

Without boxes 5 of 145 tests of bounds lose a proof, two of them that an answer of few people is the optimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from maxent.constraints.lifting import LiftedProgram
from maxent.models.arrays import TINY, BoolArray, FloatArray, IntArray
from maxent.solvers.control import Clock
from maxent.solvers.gap.divergence import BENT, CLEAR, LARGE, POSITIVE, Answer, Ball, answer, ball, bennett
from maxent.solvers.gap.divergence import LEAST as LEAST_LACK
from maxent.solvers.gap.divergence import STEEP as STEEP_MULTIPLIER
from maxent.solvers.gap.lagrangian import affordable

# Data shared by all boxes of one answer.

# Distinct quasi-identifiers and classes up to which boxes are looked at.
OWNERS, CLASSES = 60, 4
# What a box may have above the answer, nats per individual.
EXCEEDS = 5e-7
# Least eigenvalue of what comparisons bend, of relative entropies, whose direction has ends; and how many have.
STEEP, DIRECTIONS = 0.3, 6
# Added to the equations' products, which may be singular, as a share of their mean.
RIDGE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """An answer, and the linear functions ``along``, shape (n_functions, n), whose ends make boxes.

    The first ``n_sums`` are the sums, each once, ``of`` being the number of each term's; the others are directions in
    which comparisons bend most. ``coef``, ``const`` and ``mu`` belong to the comparisons that have multipliers, and
    ``price``, shape (n_rows,), is what these may be missed for so that the Lagrangian is concave. ``by_owner`` sorts
    masses by owner: where owners begin, and their totals, are ``begin`` and ``total``. ``whole`` is the ball of all
    that may have more entropy.
    """

    at: Answer
    whole: Ball
    along: FloatArray
    n_sums: int
    of: IntArray
    coef: FloatArray
    const: FloatArray
    mu: FloatArray
    price: FloatArray
    by_owner: IntArray
    begin: IntArray
    total: FloatArray

    @classmethod
    def of_answer(cls, at: Answer, priced: FloatArray, whole: Ball) -> Setting:
        """Of an answer; at the multipliers ``priced``, shape (n_rows,), the Lagrangian is concave."""
        curves, linear = at.curves, at.rows.linear
        sums, of = np.unique(curves.sums, axis=0, return_inverse=True)
        by_z = curves.sums @ at.across
        bent = (at.mu @ curves.coef) * curves.bent(at.a, np.zeros(len(at.a)))
        size, turned = np.linalg.eigh(2.0 * (by_z.T * bent) @ by_z)
        steep = np.flatnonzero(size > STEEP)[::-1][:DIRECTIONS]
        along = np.vstack([sums, ((at.across @ turned[:, steep]) / at.masses[:, None]).T])
        order = np.argsort(linear.owner, kind="stable")
        begin = np.flatnonzero(np.diff(linear.owner[order], prepend=-1))
        total, use = linear.total[linear.owner[order][begin]], np.flatnonzero(at.mu > 0)
        rows = curves.coef[use], curves.const[use], at.mu[use], priced[use]
        return cls(at, whole, along, len(sums), of.ravel(), *rows, order, begin, total)

    @property
    def enough(self) -> float:
        """Largest allowed excess of a box over the answer, nats."""
        return EXCEEDS * self.at.people

    def ends(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The least and the most that the terms' sums are between ends, shape (n_boxes, n_terms)."""
        shift = self.at.curves.shift
        return np.maximum(low[:, self.of] + shift, 0.0), np.maximum(high[:, self.of] + shift, 0.0)

    def of_owners(self, values: FloatArray) -> FloatArray:
        """The largest value of each owner, shape (n_boxes, n_owners)."""
        found: FloatArray = np.maximum.reduceat(values[:, self.by_owner], self.begin, axis=1)
        return found

    def of_masses(self, by_owner: FloatArray) -> FloatArray:
        """Totals of the owners, repeated for each of their masses, shape (n_boxes, n)."""
        found = np.empty((len(by_owner), len(self.by_owner)))
        found[:, self.by_owner] = np.repeat(by_owner, np.diff(np.append(self.begin, len(self.by_owner))), axis=1)
        return found

    def by_equations(self, m: FloatArray, right: FloatArray) -> FloatArray:
        """Solutions by the equations' products at masses m; ``right`` has the shape (n_boxes, n_equations, n_sides)."""
        equal = self.at.rows.equal
        products = (equal * m[:, None]) @ equal.T
        ridge = RIDGE / len(equal) * np.trace(products, axis1=1, axis2=2)
        found: FloatArray = np.linalg.solve(products + ridge[:, None, None] * np.eye(len(equal)), right)
        return found


def sized(program: LiftedProgram, point: FloatArray) -> tuple[Answer, FloatArray] | None:
    """An answer, and multipliers at which the Lagrangian is concave, where it is small."""
    few = len(np.unique(program.owner)) <= OWNERS and len(np.unique(program.klass)) <= CLASSES
    at = answer(program, point) if few else None
    return None if at is None or not at.mu.any() else (at, affordable(program, at.mu))


# Lagrangians in boxes, made concave by quadratic terms that vanish at the ends of a box.
#
# Between two ends ``l <= v <= h`` of a function ``(v - l)(h - v) >= 0``, and the convex terms of a comparison are below
# their chords. So every feasible m of a box has, with multipliers mu of the comparisons c, nu of the same with chords,
# and any weights kappa, all of them at least 0,
#
#     H(m) <= F(m) = H(m) + mu'c(m) + nu'c_chords(m) + sum_j kappa_j / 2 (v_j - l_j)(h_j - v_j),
#
# also with multipliers of the ends and of other linear rows. Rows are in the order: comparisons, those with chords,
# what functions are above and below their ends, and inequalities.


@dataclass(frozen=True, slots=True, eq=False)
class BoxRows:
    """Left sides of rows >= 0, shape (n_boxes, n_rows), the sums ``a``, and gradients of the curved rows by these."""

    left: FloatArray
    a: FloatArray
    by_sums: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Lagrangians:
    """F in boxes with ``low`` and ``high`` ends, ``flat`` the weights kappa, None without squares."""

    setting: Setting
    low: FloatArray
    high: FloatArray
    flat: FloatArray | None
    chord: FloatArray
    const: FloatArray
    straight: FloatArray
    straight_z: FloatArray
    sums_z: FloatArray

    @classmethod
    def of(cls, setting: Setting, low: FloatArray, high: FloatArray, flat: FloatArray | None) -> Lagrangians:
        """With the chords of boxes."""
        curves, across = setting.at.curves, setting.at.across
        least, most = setting.ends(low, high)
        begin = curves.phi(least)
        chord = (curves.phi(most) - begin) / np.maximum(most - least, TINY)
        const = setting.const + (begin - chord * least) @ np.maximum(setting.coef, 0.0).T
        straight = np.vstack([setting.along, -setting.along, setting.at.rows.unequal])
        return cls(setting, low, high, flat, chord, const, straight, straight @ across, curves.sums @ across)

    def take(self, some: IntArray | BoolArray) -> Lagrangians:
        """In some of the boxes."""
        low, high, chord, const = (each[some] for each in (self.low, self.high, self.chord, self.const))
        flat = None if self.flat is None else self.flat[some]
        return replace(self, low=low, high=high, chord=chord, const=const, flat=flat)

    def rows(self, m: FloatArray) -> BoxRows:
        """The rows at masses, shape (n_boxes, n)."""
        s, curves = self.setting, self.setting.at.curves
        a, v = np.maximum(m @ curves.sums.T + curves.shift, TINY), m @ s.along.T
        up, down = np.maximum(s.coef, 0.0), np.minimum(s.coef, 0.0)
        value, slope = curves.phi(a), curves.slopes(a)[:, None]
        between = self.const + (self.chord * a) @ up.T + value @ down.T
        beside = m @ s.at.rows.unequal.T - s.at.rows.least
        left = np.concatenate([s.const + value @ s.coef.T, between, v - self.low, self.high - v, beside], axis=1)
        return BoxRows(left, a, np.concatenate([s.coef * slope, up * self.chord[:, None] + down * slope], axis=1))

    def value(self, m: FloatArray, rows: BoxRows, multipliers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """F, shape (n_boxes,), and its gradient but for the rows' part, shape (n_boxes, n)."""
        logs, along = np.log(m / self.setting.at.rows.linear.weight), self.setting.along
        value, gradient = (multipliers * rows.left).sum(axis=1) - (m * logs).sum(axis=1), -logs - 1.0
        if self.flat is not None:
            v = m @ along.T
            value = value + 0.5 * (self.flat * (v - self.low) * (self.high - v)).sum(axis=1)
            gradient = gradient + (self.flat * (0.5 * (self.low + self.high) - v)) @ along
        return value, gradient

    def slope(self, gradient: FloatArray, rows: BoxRows, multipliers: FloatArray) -> FloatArray:
        """The gradient with the rows' part."""
        curved = 2 * len(self.setting.mu)
        by_sums = (multipliers[:, None, :curved] @ rows.by_sums)[:, 0]
        found: FloatArray = gradient + by_sums @ self.setting.at.curves.sums + multipliers[:, curved:] @ self.straight
        return found

    def tangent(self, m: FloatArray, slope: FloatArray) -> FloatArray:
        """What tangents gain from masses at most, over all masses of owners, and what these may miss."""
        s, rows = self.setting, self.setting.at.rows
        y = s.by_equations(m, ((m * slope) @ rows.equal.T)[:, :, None])[:, :, 0]
        rest, off = slope - y @ rows.equal, np.abs(m @ rows.equal.T - rows.value).sum(axis=1)
        missed = STEEP_MULTIPLIER * (1.0 + np.abs(y).max(axis=1, initial=0.0)) * off
        found: FloatArray = s.of_owners(rest) @ s.total - (rest * m).sum(axis=1) + missed
        return found

    def hessian(self, m: FloatArray, rows: BoxRows, multipliers: FloatArray) -> FloatArray:
        """Negative curvature of F along the directions of the answer."""
        s, curves, across, k = self.setting, self.setting.at.curves, self.setting.at.across, len(self.setting.mu)
        gamma = multipliers[:, :k] @ s.coef + multipliers[:, k : 2 * k] @ np.minimum(s.coef, 0.0)
        by_sums = gamma * np.where(curves.entropy, 1.0 / rows.a, 2.0 / curves.size)
        found: FloatArray = (across.T / m[:, None]) @ across - (self.sums_z.T * by_sums[:, None]) @ self.sums_z
        if self.flat is not None:
            along = s.along @ across
            found = found + (along.T * self.flat[:, None]) @ along
        return found


# Dual bounds of many boxes, computed together by one interior-point method.
#
# Where F is below its tangents, by that at any masses m0 every feasible m of a box has, over all masses of owners,
#
#     H(m) <= F(m0) + sum_o t_o max_x rest_ox - rest'm0.
#
# The multipliers come from a primal-dual method in which comparisons may be missed at a price: that keeps the
# multipliers from being larger than what relative entropies make up for (see below).

# Newton steps, at most.
STEPS = 30
# What complementarity is aimed at, as a share of its mean, and in the first step; share of the way to a bound.
CENTRED, FIRST, BOUNDS_INSIDE = 0.1, 0.3, 0.95
# What products of slacks and multipliers and the tangent's gain are where it ends: as a share of what the bound is too
# high, after that many steps, or of what is enough.
CLOSE, EXACT, SOON = 0.05, 0.01, 4
# Multipliers at the start, as a share of the answer's, and of their prices at least and at most.
BEGIN, ABOVE, BELOW = 0.7, 0.01, 0.8
# Slacks at the start, at least, their products with multipliers, these at most, and what rows may miss there.
SLACK, PRODUCT, MOST, MISSED = 0.05, 0.02, 0.3, 0.2
# Share of its owner's total that a mass at the start has at least; and nats that a bound is higher for rounding, per
# individual.
SMALLEST, ROUNDING = 1e-12, 1e-12
# Smallest eigenvalue of a Newton system that is taken as it is.
CURVED = 1e-3


@dataclass(slots=True, eq=False)
class BoxBounds:
    """Bounds in boxes, nats, infinite where there is none, by tangents at masses, with their multipliers."""

    most: FloatArray
    masses: FloatArray
    mu: FloatArray
    nu: FloatArray
    below: FloatArray
    above: FloatArray

    @classmethod
    def none(cls, setting: Setting, masses: FloatArray) -> BoxBounds:
        """Without a bound yet."""
        n, k, ends = len(masses), len(setting.mu), len(setting.along)
        return cls(np.full(n, np.inf), masses.copy(), *(np.zeros((n, each)) for each in (k, k, ends, ends)))

    def put(self, some: IntArray, most: FloatArray, masses: FloatArray, multipliers: FloatArray) -> None:
        """Replace some of them."""
        k, ends = self.mu.shape[1], self.below.shape[1]
        parts = np.split(multipliers, [k, 2 * k, 2 * k + ends, 2 * k + 2 * ends], axis=1)[:4]
        for field, value in zip(fields(self), (most, masses, *parts), strict=True):
            getattr(self, field.name)[some] = value


@dataclass(slots=True, eq=False)
class _BoxState:
    """Masses, slacks of rows, misses of comparisons, multipliers, and the room of these below their prices."""

    m: FloatArray
    slack: FloatArray
    missed: FloatArray
    multipliers: FloatArray
    spare: FloatArray

    @classmethod
    def start(cls, setting: Setting, rows: BoxRows, m: FloatArray, price: FloatArray) -> _BoxState:
        k = len(price)
        slack, missed = np.maximum(rows.left, SLACK), np.full((len(m), k), MISSED)
        multipliers = np.minimum(MOST, PRODUCT / slack)
        slack[:, :k] = np.maximum(rows.left[:, :k] + missed, SLACK)
        multipliers[:, :k] = np.clip(BEGIN * setting.mu, ABOVE * price, BELOW * price)
        return cls(m, slack, missed, multipliers, price - multipliers[:, :k])

    def take(self, some: BoolArray) -> _BoxState:
        return _BoxState(*(getattr(self, field.name)[some] for field in fields(self)))

    @property
    def products(self) -> FloatArray:
        """Slacks times multipliers, shape (n_boxes,)."""
        found: FloatArray = (self.slack * self.multipliers).sum(axis=1) + (self.missed * self.spare).sum(axis=1)
        return found


def bounded(
    setting: Setting,
    low: FloatArray,
    high: FloatArray,
    flat: FloatArray | None,
    price: FloatArray,
    near: FloatArray,
) -> BoxBounds:
    """The least bounds in boxes that come up, or the first that are enough.

    ``flat`` are the weights kappa, ``price`` what comparisons may be missed for, nats per individual; ``near`` may miss
    the equations a little.
    """
    form, m = Lagrangians.of(setting, low, high, flat), _met(setting, near)
    rows, best, live = form.rows(m), BoxBounds.none(setting, m), np.arange(len(m))
    state, k = _BoxState.start(setting, rows, m, price), len(price)
    target = setting.at.entropy + setting.enough
    for step in range(STEPS):
        held = state.multipliers.copy()
        held[:, :k] = np.minimum(held[:, :k], price)
        value, gradient = form.value(state.m, rows, held)
        gained = form.tangent(state.m, form.slope(gradient, rows, held))
        most = value + gained + ROUNDING * setting.at.people
        fine = np.isfinite(most)
        better = fine & (most < best.most[live])
        best.put(live[better], most[better], state.m[better], held[better])
        off = state.products + gained
        near_enough = off < EXACT * setting.enough
        if step >= SOON:
            near_enough |= off < CLOSE * (best.most[live] - target)
        go = fine & ~near_enough & ~((most <= target) & (held[:, :k] <= setting.mu).all(axis=1))
        if not go.any() or step == STEPS - 1:
            break
        if not go.all():
            form, state, live, gradient = form.take(go), state.take(go), live[go], gradient[go]
            rows = BoxRows(rows.left[go], rows.a[go], rows.by_sums[go])
        state = _stepped(form, state, rows, gradient, price, CENTRED if step else FIRST)
        rows = form.rows(state.m)
    return best


def _stepped(
    form: Lagrangians, state: _BoxState, rows: BoxRows, gradient: FloatArray, price: FloatArray, centred: float
) -> _BoxState:
    """Newton step; the misses of the comparisons are eliminated first."""
    across, k, slack, lam = form.setting.at.across, len(price), state.slack, state.multipliers
    aim = (centred * state.products / (slack.shape[1] + k))[:, None]
    missing = rows.left - slack
    missing[:, :k] += state.missed
    weight = lam / slack
    to, eased = aim / slack - weight * missing, weight.copy()
    by_missed = weight[:, :k] + state.spare / state.missed
    to_missed = aim / state.missed + aim / slack[:, :k] - weight[:, :k] * missing[:, :k] - price
    eased[:, :k] -= weight[:, :k] ** 2 / by_missed
    to[:, :k] -= weight[:, :k] * to_missed / by_missed
    by_z, straight = rows.by_sums @ form.sums_z, form.straight_z
    system = form.hessian(state.m, rows, lam) + (straight.T * eased[:, None, 2 * k :]) @ straight
    system += (by_z.transpose(0, 2, 1) * eased[:, None, : 2 * k]) @ by_z
    right = gradient @ across + (to[:, None, : 2 * k] @ by_z)[:, 0] + to[:, 2 * k :] @ straight
    dz = _solved(system, right)
    dm, along = dz @ across.T, np.concatenate([(by_z @ dz[:, :, None])[:, :, 0], dz @ straight.T], axis=1)
    d_missed = (to_missed - weight[:, :k] * along[:, :k]) / by_missed
    d_slack = missing + along
    d_slack[:, :k] += d_missed
    d_lam = aim / slack - lam - weight * d_slack
    d_spare = aim / state.missed - state.spare - state.spare / state.missed * d_missed
    primal = _longest((state.m, dm), (slack, d_slack), (state.missed, d_missed))
    dual = _longest((lam, d_lam), (state.spare, d_spare))
    return _BoxState(
        state.m + primal * dm,
        slack + primal * d_slack,
        state.missed + primal * d_missed,
        lam + dual * d_lam,
        state.spare + dual * d_spare,
    )


def _met(setting: Setting, near: FloatArray) -> FloatArray:
    """Masses that meet the equations, near some, or the answer's."""
    rows, linear = setting.at.rows, setting.at.rows.linear
    m = np.maximum(near, SMALLEST * linear.total[linear.owner])
    by = setting.by_equations(m, (rows.value - m @ rows.equal.T)[:, :, None])[:, :, 0]
    found = m + m * (by @ rows.equal)
    positive: BoolArray = np.all(found > 0, axis=1)
    return np.where(positive[:, None], found, setting.at.masses)


def _solved(system: FloatArray, right: FloatArray) -> FloatArray:
    """Steps that go up, whether systems are definite or not; not a number where they have lost all meaning."""
    fine = np.isfinite(system).all(axis=(1, 2)) & np.isfinite(right).all(axis=1)
    found, system, right = np.full(right.shape, np.nan), system[fine], right[fine]
    try:
        np.linalg.cholesky(system)
        found[fine] = np.linalg.solve(system, right[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        size, turned = np.linalg.eigh(system)
        by = (right[:, None] @ turned)[:, 0] / np.maximum(np.abs(size), CURVED)
        found[fine] = (turned @ by[:, :, None])[:, :, 0]
    return found


def _longest(*pairs: tuple[FloatArray, FloatArray]) -> FloatArray:
    """The longest steps, at most 1, that leave positive values positive; shape (n_boxes, 1)."""
    most = np.max([(-change / value).max(axis=1, initial=0.0) for value, change in pairs], axis=0)
    found: FloatArray = np.minimum(1.0, BOUNDS_INSIDE / np.maximum(most, TINY))[:, None]
    return found


# Frontier of the search: the boxes to bound next, and the boxes that wait.


@dataclass(slots=True, eq=False)
class Boxes:
    """Feasible masses between ends of a setting's functions, shape (n_boxes, n_functions), each in one more ball."""

    low: FloatArray
    high: FloatArray
    centre: FloatArray
    radius: FloatArray
    near: FloatArray
    more: FloatArray

    @classmethod
    def first(cls, setting: Setting) -> Boxes:
        """One box, with all masses in it."""
        linear, whole = setting.at.rows.linear, setting.whole
        total = linear.total[linear.owner]
        ends = (np.minimum(setting.along, 0.0) @ total, np.maximum(setting.along, 0.0) @ total)
        near = 0.5 * (setting.at.masses + whole.centre)
        return cls(*(np.array([each]) for each in (*ends, whole.centre, whole.radius, near, np.inf)))

    def __len__(self) -> int:
        return len(self.more)

    @property
    def empty(self) -> BoolArray:
        """Where there are no masses between the ends."""
        found: BoolArray = np.any(self.low > self.high, axis=1)
        return found

    @property
    def width(self) -> FloatArray:
        """How far ends are apart."""
        return self.high - self.low

    def take(self, some: IntArray | BoolArray | slice) -> Boxes:
        """Some of the boxes."""
        return Boxes(*(getattr(self, field.name)[some].copy() for field in fields(self)))

    def put(self, some: IntArray, others: Boxes) -> None:
        """Replace some of the boxes."""
        for field in fields(self):
            getattr(self, field.name)[some] = getattr(others, field.name)

    @classmethod
    def joined(cls, parts: Sequence[Boxes]) -> Boxes:
        """All boxes of several."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))


# Range of linear functions in boxes, and in the balls around an answer.

# Widths count as no smaller than this share of a box's largest; added to systems, as a share of their mean.
REACH_NARROW, SINGULAR = 1e-6, 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class _Balls:
    """Balls of one or of all boxes: ``reduced`` takes equations and owners' means from functions, (n_boxes, n, n)."""

    centre: FloatArray
    radius: FloatArray
    reduced: FloatArray
    off: FloatArray

    @classmethod
    def of(cls, setting: Setting, centre: FloatArray, radius: FloatArray) -> _Balls:
        rows, n = setting.at.rows, centre.shape[1]
        missed = (rows.value - centre @ rows.equal.T)[:, :, None]
        right = np.concatenate([np.broadcast_to(rows.equal, (len(centre), *rows.equal.shape)), missed], axis=2)
        found = (rows.equal * centre[:, None]).transpose(0, 2, 1) @ setting.by_equations(centre, right)
        reduced, owner = np.eye(n) - found[:, :, :-1], rows.linear.owner
        of = (owner[:, None] == np.arange(len(rows.linear.total))).astype(np.float64)
        mean = (reduced * centre[:, None]) @ of / np.maximum(centre @ of, TINY)[:, None]
        return cls(centre, radius, reduced - mean[:, :, owner], found[:, :, -1])

    def furthest(self, functions: FloatArray, start: FloatArray) -> tuple[FloatArray, FloatArray]:
        """As `maxent.solvers.gap.divergence.Ball.furthest`, above and below."""
        p = functions @ self.reduced
        moved = (functions @ (self.centre - start + self.off)[:, :, None])[:, :, 0]
        varies = np.sqrt(2.0 * self.radius[:, None] * ((p * p) @ self.centre[:, :, None])[:, :, 0])
        third = self.radius[:, None] / 3.0
        above = moved + varies + np.maximum(p.max(axis=2), 0.0) * third
        return above, varies - moved + np.maximum(-p.min(axis=2), 0.0) * third


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """How far functions go in boxes; ``coordinates`` are what they have of those with ends, above all of near ones."""

    setting: Setting
    boxes: Boxes
    whole: _Balls
    own: _Balls
    coordinates: FloatArray

    @classmethod
    def of(cls, setting: Setting, boxes: Boxes) -> Reach:
        """In boxes that are not empty."""
        by_z = setting.along @ setting.at.across
        width = np.maximum(boxes.width, REACH_NARROW * boxes.width.max(axis=1, keepdims=True))
        weighed = by_z.T / np.maximum(width, REACH_NARROW**2)[:, None] ** 2
        system, n = weighed @ by_z, by_z.shape[1]
        ridge = SINGULAR / n * np.trace(system, axis1=1, axis2=2)
        coordinates = np.linalg.solve(system + ridge[:, None, None] * np.eye(n), weighed)
        whole = _Balls.of(setting, setting.whole.centre[None], np.array([setting.whole.radius]))
        return cls(setting, boxes, whole, _Balls.of(setting, boxes.centre, boxes.radius), coordinates)

    def take(self, some: IntArray | BoolArray) -> Reach:
        """In some of the boxes."""
        own = _Balls(*(each[some] for each in (self.own.centre, self.own.radius, self.own.reduced, self.own.off)))
        return replace(self, boxes=self.boxes.take(some), own=own, coordinates=self.coordinates[some])

    def furthest(self, functions: FloatArray, start: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The most that functions are above, and below, what they are at some masses, shape (n_boxes, n_functions)."""
        s = self.setting
        along = (functions @ s.at.across) @ self.coordinates
        rest, v = functions - along @ s.along, start @ s.along.T
        low, high = (self.boxes.low - v)[:, :, None], (self.boxes.high - v)[:, :, None]
        up, down = np.maximum(along, 0.0), np.minimum(along, 0.0)
        between = (up @ high + down @ low)[:, :, 0], -(up @ low + down @ high)[:, :, 0]
        direct, beside = self._in_balls(functions, start), self._in_balls(rest, start)
        above, below = (np.minimum(direct[side], between[side] + beside[side]) for side in (0, 1))
        return above, below

    def _in_balls(self, functions: FloatArray, start: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The same, by balls alone."""
        whole, own = self.whole.furthest(functions, start), self.own.furthest(functions, start)
        return np.minimum(whole[0], own[0]), np.minimum(whole[1], own[1])


def narrowed(setting: Setting, boxes: Boxes) -> Boxes:
    """The same with ends as near as balls and the other ends tell."""
    found, some = boxes.take(slice(None)), np.flatnonzero(~boxes.empty)
    if not len(some):
        return found
    here = boxes.take(some)
    above, below = Reach.of(setting, here).furthest(setting.along[None], here.near)
    v = here.near @ setting.along.T
    here.low, here.high = np.maximum(here.low, v - below), np.minimum(here.high, v + above)
    found.put(some, here)
    return found


# Tests for many boxes whether relative entropy outweighs the curvature of the Lagrangian.
#
# As in `maxent.solvers.gap.divergence`, at masses and multipliers that each box has, and with squares.

# By how much directions may miss being orthonormal.
ORTHONORMAL = 1e-7
# Times that weights of squares are raised, at most, by how much more than is missing; directions that count.
WEIGHTS, OVER, STEEPEST = 16, 1.1, 10
# The least width of a function, and square of what it has of a direction; the most that a weight is raised from.
NARROW, ALONG, HEAVY = 1e-6, 1e-6, 1e9
# Entries of matrices from which eigenvalues are not asked for.
FINITE = 1e100


def bending(
    setting: Setting, boxes: Boxes, masses: FloatArray, mu: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Directions from masses, orthonormal in the metric ``sum d^2 / masses``, and what comparisons bend along them.

    The last answer says in which boxes both are known.
    """
    base, curves = setting.at.across, setting.at.curves
    least, most = setting.ends(boxes.low, boxes.high)
    with np.errstate(over="ignore", invalid="ignore"):  # where masses are nearly 0
        size, turned, fine = _eigen((base.T / masses[:, None]) @ base)
        fine &= size[:, 0] > 0
        across = base @ (turned / np.sqrt(np.maximum(size, TINY))[:, None])
        again = (across.transpose(0, 2, 1) / masses[:, None]) @ across
        fine &= np.abs(again - np.eye(size.shape[1])).max(axis=(1, 2), initial=0.0) < ORTHONORMAL
        a, gamma = masses @ curves.sums.T + curves.shift, mu @ setting.coef
        bent = gamma * curves.bent(np.maximum(a, TINY), np.where(gamma > 0, least, most) - a)
        by_z = curves.sums @ across
        form = 2.0 * (by_z.transpose(0, 2, 1) * bent[:, None]) @ by_z
    fine &= np.isfinite(form).all(axis=(1, 2))
    known = fine[:, None, None]
    return np.where(known, across, 0.0), np.where(known, form, 0.0), fine


def flat_enough(setting: Setting, boxes: Boxes, masses: FloatArray, mu: FloatArray, left: FloatArray) -> FloatArray:
    """Weights of squares, shape (n_boxes, n_functions), that leave so much of what comparisons bend, or nearly."""
    across, form, _ = bending(setting, boxes, masses, mu)
    turned = _eigen(form)[1][:, :, -STEEPEST:]
    form, along = turned.transpose(0, 2, 1) @ form @ turned, setting.along @ across @ turned
    flat, width = np.zeros(boxes.low.shape), np.maximum(boxes.width, NARROW) ** 2
    for _ in range(WEIGHTS):
        size, turned, fine = _eigen(form - (along.transpose(0, 2, 1) * flat[:, None]) @ along)
        off = np.where(fine, size[:, -1] - left, 0.0)
        if (off <= 0).all():
            break
        length = (along @ turned[:, :, -1:])[:, :, 0] ** 2
        worth = length / width
        worth = (worth / np.maximum(worth.max(axis=1, keepdims=True), TINY)) ** 2
        worth /= np.maximum(worth.sum(axis=1, keepdims=True), TINY)
        raised = OVER * np.maximum(off, 0.0)[:, None] * worth / np.maximum(length, ALONG)
        flat = np.minimum(flat, HEAVY) + raised
    return flat


def shares_left(
    reach: Reach, masses: FloatArray, mu: FloatArray, flat: FloatArray, shares: tuple[float, ...]
) -> FloatArray:
    """The first of some shares of relative entropies that is left when the others make up for what comparisons bend.

    Not a number in boxes where none is; ``mu`` has the shape (n_boxes, n_comparisons), ``flat`` are weights of squares.
    """
    setting = reach.setting
    across, form, fine = bending(setting, reach.boxes, masses, mu)
    along = setting.along @ across
    form = form - (along.transpose(0, 2, 1) * flat[:, None]) @ along
    size, turned, known = _eigen(form)
    fine &= known
    found = np.where(fine & (size[:, -1] <= POSITIVE), shares[0], np.nan)
    functions = across @ turned / masses[:, :, None]
    for share in shares:
        for b in BENT:
            some = np.flatnonzero(fine & np.isnan(found) & (size[:, -1] / (1.0 - share) <= 1.0 / b))
            if len(some):
                bent = size[some] / (1.0 - share)
                found[some[_make_up(reach.take(some), masses[some], functions[some], bent, b)]] = share
    return found


def _make_up(reach: Reach, masses: FloatArray, functions: FloatArray, size: FloatArray, b: float) -> BoolArray:
    """Whether relative entropy is at least as curved as the given functions."""
    first = size.shape[1] - int((size > POSITIVE).sum(axis=1).max())
    functions, size = functions[:, :, first:], size[:, first:]
    some = size > POSITIVE
    k = np.where(some, np.maximum((1.0 - np.sqrt(np.maximum(1.0 - b * size, 0.0))) / b, LEAST_LACK), 0.0)
    chosen = (functions * k[:, None]) @ functions.transpose(0, 2, 1)
    rho = np.maximum(reach.setting.of_owners(reach.furthest(chosen, masses)[0]), 0.0)
    near = rho.max(axis=1) <= LARGE
    by_mass = masses * reach.setting.of_masses(bennett(np.where(near[:, None], rho, 0.0)))
    m = (functions.transpose(0, 2, 1) * by_mass[:, None]) @ functions
    form = np.where(some, size - 2.0 * k, -1.0)[:, :, None] * np.eye(size.shape[1]) + k[:, :, None] * m * k[:, None]
    size, _, fine = _eigen(form)
    found: BoolArray = near & fine & (size[:, -1] <= -CLEAR)
    return found


def _eigen(matrices: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Eigenvalues and vectors of symmetric matrices, and of which of them they are known."""
    with np.errstate(invalid="ignore"):
        fine: BoolArray = np.all(np.abs(matrices) < FINITE, axis=(1, 2))
    size, turned = np.linalg.eigh(np.where(fine[:, None, None], matrices, 0.0))
    return size, turned, fine


# Bounds many boxes at once: each box is discarded, proved, or made smaller.

# Share of relative entropies that concave Lagrangians leave for a ball.
SHARE = 0.05
# Concave Lagrangians, and flattened ones, that are looked at in a box, at most, as long as they make it smaller: the
# sum of its squared widths is less than this share.
TRIES, AGAIN, SHRUNK = 4, 4, 0.5
# What comparisons may be missed for beside squares, as a share of the answer's multipliers.
PRICE = 1.2
# Largest eigenvalue that squares leave of what comparisons bend: less where ranges are long.
LEFT = np.array([0.93, 0.8, 0.6, 0.35])
# Shares of relative entropies that are left for a ball, the first that is proved.
SHARES = (0.4, 0.15, 0.05)


@dataclass(slots=True, eq=False)
class Looked:
    """Boxes, the multipliers of chords and weights of squares last looked at, and which of them are ``done``."""

    setting: Setting
    boxes: Boxes
    nu: FloatArray
    flat: FloatArray
    done: BoolArray
    most: float


def looked_at(setting: Setting, boxes: Boxes, near: float = np.inf) -> Looked:
    """The boxes after bounding; flattened Lagrangians are for boxes with at most ``near`` nats per person to gain."""
    n, k = len(boxes), len(setting.mu)
    looked = Looked(setting, boxes, np.zeros((n, k)), np.zeros(boxes.low.shape), np.zeros(n, bool), 0.0)
    _by_concave_ones(looked)
    _by_flattened_ones(looked, near * setting.at.people)
    return looked


def _by_concave_ones(looked: Looked) -> None:
    """By Lagrangians that are concave, as comparisons may be missed at their price."""
    s, todo = looked.setting, np.arange(len(looked.boxes))
    price = (1.0 - SHARE) * s.price
    for _ in range(TRIES):
        boxes = looked.boxes.take(todo)
        found, width = bounded(s, boxes.low, boxes.high, None, price, boxes.near), boxes.width
        lacks = np.maximum(found.most - s.at.entropy, 0.0)
        fine = np.isfinite(lacks)
        done = lacks <= s.enough
        looked.most = max(looked.most, float(lacks[done].max(initial=0.0)))
        some = np.flatnonzero(fine & ~done)
        here = boxes.take(some)
        here.more, here.near, here.centre = np.minimum(here.more, lacks[some]), found.masses[some], found.masses[some]
        here.radius = lacks[some] / SHARE
        _between_multipliers(here, lacks[some], found, some)
        boxes.put(some, narrowed(s, here))
        looked.nu[todo] = found.nu
        looked.boxes.put(todo, boxes)
        looked.done[todo] = done | boxes.empty
        todo = todo[fine & ~looked.done[todo] & _shrunk(boxes, width)]
        if not len(todo):
            break


def _between_multipliers(boxes: Boxes, lacks: FloatArray, found: BoxBounds, some: IntArray) -> None:
    """Tighten the ends of boxes: a row with multiplier lam is at most the gap divided by lam."""
    low, high = boxes.low, boxes.high
    far = lacks[:, None] / np.maximum(found.above[some], TINY), lacks[:, None] / np.maximum(found.below[some], TINY)
    boxes.low, boxes.high = np.maximum(low, high - far[0]), np.minimum(high, low + far[1])


def _by_flattened_ones(looked: Looked, most: float) -> None:
    """By Lagrangians that squares make flat enough for relative entropies, in boxes that lack at most so much, nats."""
    s, todo = looked.setting, np.flatnonzero(~looked.done & (looked.boxes.more <= most))
    near, mu = looked.boxes.near.copy(), np.tile(s.mu, (len(looked.boxes), 1))
    level = np.zeros(len(looked.boxes), np.int64)
    for _ in range(AGAIN):
        if not len(todo):
            break
        boxes = looked.boxes.take(todo)
        width, flat = boxes.width, flat_enough(s, boxes, near[todo], mu[todo], LEFT[level[todo]])
        found = bounded(s, boxes.low, boxes.high, flat, PRICE * s.mu, near[todo])
        lacks = np.maximum(found.most - s.at.entropy, 0.0)
        fine, good = np.isfinite(lacks), lacks <= s.enough
        share = _shares(Reach.of(s, boxes), found, flat, fine, good)
        proved = ~np.isnan(share)
        done = proved & good
        looked.most = max(looked.most, float(lacks[done].max(initial=0.0)))
        some = np.flatnonzero(proved & ~good)
        here = boxes.take(some)
        here.more, here.near, here.centre = np.minimum(here.more, lacks[some]), found.masses[some], found.masses[some]
        here.radius = lacks[some] / share[some]
        boxes.put(some, narrowed(s, here))
        looked.boxes.put(todo, boxes)
        looked.done[todo] = done | boxes.empty
        for kept, now in ((looked.nu, found.nu), (looked.flat, flat), (near, found.masses), (mu, found.mu)):
            kept[todo[fine]] = now[fine]
        level[todo] += np.where(proved, -1, 1)
        todo = todo[fine & ~looked.done[todo] & (level[todo] < len(LEFT)) & (~proved | _shrunk(boxes, width))]
        level = np.maximum(level, 0)


def _shares(reach: Reach, found: BoxBounds, flat: FloatArray, fine: BoolArray, good: BoolArray) -> FloatArray:
    """Share of relative entropy left after the curvature is covered, NaN where it does not suffice."""
    share = np.full(len(fine), np.nan)
    for which, shares in ((good, (0.0,)), (fine & ~good, SHARES)):
        some = np.flatnonzero(which)
        if len(some):
            share[some] = shares_left(reach.take(some), found.masses[some], found.mu[some], flat[some], shares)
    return share


def _shrunk(boxes: Boxes, width: FloatArray) -> BoolArray:
    """Which boxes are much smaller than they were."""
    found: BoolArray = (boxes.width**2).sum(axis=1) < SHRUNK * (width**2).sum(axis=1)
    return found


# Individuals, per individual, with which the masses without comparisons meet their rows.
MET = 1e-7
# Boxes that are looked at together, at most, and at least if there are so many, and ends times masses of them all.
TOGETHER, FEW, NUMBERS = 64, 8, 300_000


@dataclass(frozen=True, slots=True)
class Pass:
    """A search from the whole on: what squares of the steepest directions count for where boxes are cut.

    So many ``boxes`` are looked at, and fewer of them where a box is large: half of them at ``size`` ends times masses.
    Relative entropies are asked where at most ``near`` nats per individual are lacking.
    Then the same number again, up to ``times``, as long as the bound ``falls`` to that share of what it was. As many
    follow, too, where few boxes are open (`OPEN`).
    """

    steep: float
    boxes: int
    size: float
    times: int
    falls: float = 0.8
    near: float = np.inf


# Many proofs need few boxes if these are cut in the steepest directions first; others need chords to be near, and some
# a great many boxes, which take a quarter of the time without relative entropies.
PASSES = (Pass(1.0, 110, 9000.0, 4), Pass(0.0, 300, 1000.0, 10), Pass(0.0, 300, 1000.0, 20, 0.98, 3e-3))
# Few boxes are open where they are at most this share of those that were looked at.
OPEN = 0.25
# How far from its ends a function is cut at least, as a share; what a chord or a square is off half way counts for
# beside what it is off at the optimum; what the answer's multipliers count for beside the chords'; and what a square is
# off half way, of its width and weight.
INSIDE, WIDE, ALL, EIGHTH = 0.3, 0.1, 0.02, 0.125
# The least weight of a square of a steep direction where boxes are cut.
LEAST = 0.1


def lacking_in_boxes(program: LiftedProgram, point: FloatArray, clock: Clock) -> float:
    """Optimality gap of an answer, nats: the largest bound of the boxes at the end."""
    found = sized(program, point)
    if found is None:
        return np.inf
    at, priced = found
    try:
        whole = ball(at.rows, at.rows.linear, at.entropy, MET * at.people, clock)
        if whole is None:
            return np.inf
        setting = Setting.of_answer(at, priced, replace(whole, radius=max(whole.radius, 0.0)))
        least = np.inf
        for how in PASSES:
            least = min(least, _search(setting, how, clock))
            if least <= setting.enough or clock.stop() is not None:
                break
    except np.linalg.LinAlgError:  # an eigenvalue did not come out: nothing is known
        return np.inf
    return least


def _search(setting: Setting, how: Pass, clock: Clock) -> float:
    """The largest bound of the boxes at the end of a pass."""
    numbers = setting.along.size
    together = int(np.clip(NUMBERS // numbers, 1, TOGETHER))
    unit = max(1, int(how.boxes / (1.0 + numbers / how.size)))
    boxes, most, count, limit, before = narrowed(setting, Boxes.first(setting)), 0.0, 0, unit, np.inf
    while len(boxes):
        worst = float(boxes.more.max())
        if count >= limit:
            if (worst > how.falls * before and len(boxes) > OPEN * count) or count >= how.times * unit:
                return max(most, worst)
            limit, before = limit + unit, worst
        if clock.stop() is not None:
            return max(most, worst)
        order = np.argsort(-boxes.more, kind="stable")
        first = min(together, max(limit - count, FEW))
        looked = looked_at(setting, boxes.take(order[:first]), how.near)
        count += len(looked.done)
        if count == len(looked.done):
            before = float(looked.boxes.more.max())
        most = max(most, looked.most)
        boxes = Boxes.joined([boxes.take(order[first:]), *_parts(setting, looked, how.steep)])
        boxes = boxes.take(~boxes.empty)
    return most


def _parts(setting: Setting, looked: Looked, steep: float) -> tuple[Boxes, Boxes]:
    """The boxes that are not done in two, cut where a chord or a square is off by most."""
    curves, left = setting.at.curves, ~looked.done
    boxes, nu, flat = looked.boxes.take(left), looked.nu[left], looked.flat[left]
    least, most = setting.ends(boxes.low, boxes.high)
    a = np.clip(boxes.near @ curves.sums.T + curves.shift, least, most)
    low, high = curves.phi(least), curves.phi(most)
    off = low + (a - least) / np.maximum(most - least, TINY) * (high - low) - curves.phi(a)
    half = 0.5 * (low + high) - curves.phi(0.5 * (least + most))
    worth = ((nu + ALL * setting.mu) @ np.maximum(setting.coef, 0.0)) * (np.maximum(off, 0.0) + WIDE * half)
    v, square = np.clip(boxes.near @ setting.along.T, boxes.low, boxes.high), EIGHTH * boxes.width**2
    score = flat * (0.5 * (boxes.high - v) * (v - boxes.low) + WIDE * square)
    np.add.at(score.T, setting.of, worth.T)
    score[:, setting.n_sums :] += steep * (np.maximum(flat, LEAST) * square)[:, setting.n_sums :]
    row, j = np.arange(len(boxes)), np.argmax(score, axis=1)
    margin = INSIDE * boxes.width[row, j]
    place = np.clip(v[row, j], boxes.low[row, j] + margin, boxes.high[row, j] - margin)
    below, above = boxes.take(row), boxes.take(row)
    below.high[row, j] = place
    above.low[row, j] = place
    return below, above
