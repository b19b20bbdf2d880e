"""Printed coefficients of a generalised linear model as bounds on sums over people and their classes.

With its canonical link the fit is where ``sum_i w_i x_ij (y_i - mu_i(b)) = penalty_j(b)``: the sums ``X'y`` follow from
the coefficients (McCullagh and Nelder 1989, section 2.5). What is printed is b to so many digits, and a solver stops
where the two sides differ by a tolerance. `sums_of` bounds ``X'y``, and combinations of it that the coefficients tell
best, for every b that is printed so. No step linearises:

- *Mean value.* ``f(b) - f(b0) = grad f(z) (b - b0)`` for some z between, and every entry of the gradient is a sum over
  people whose variance ``mu'`` lies in an interval, as their linear predictor does.
- *Person by person.* ``mu`` grows with the linear predictor, so every summand lies in an interval.

Both hold; the narrower end is taken. Rounding errors of the sums are bounded and added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, Self, cast, get_args

import numpy as np
from scipy.optimize import lsq_linear
from scipy.special import expit

from maxent.models.arguments import shorten_list, show
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.errors import invalid
from maxent.models.statements.statement import Keys, LinearStatement, PrintedNumber, StatementPeople, described
from maxent.models.statements.sums import sides

Family = Literal["logistic", "multinomial", "poisson", "linear"]
FAMILIES: tuple[Family, ...] = get_args(Family)

EPS = float(np.finfo(np.float64).eps)
# People that are looked at together.
CHUNK = 1 << 12
# Newton steps of `prints`, halvings of each, and a step, beside the coefficient, that is none. A gradient so many times
# as large as a solver may leave is none that it stopped at.
STEPS, HALVED, STILL, REFUTED = 60, 40, 1e-13, 1e3
# Rounds of two Newton steps in which `possible` fits many tables, each with an attempt at a proof, and how far a
# predictor may move in a step.
ROUNDS, MOVED = 6, 3.0
# Distinct people up to which combinations of the sums are stated, too: they are what settles small data.
COMBINED = 100_000
# L-BFGS that stops where the loss hardly falls is no farther from the least loss than its last step times the condition
# number times this. Of a quadratic loss this is a theorem: pairs of steps and gradients are exact, updates are
# projections, and the condition of what is left is at most that of the loss, so a step on its best length closes
# 4 c / (1 + c)^2 of the distance, and one that meets the line search (curvature 0.9) a fifth of this. Of other losses
# no useful constant is known, as each of ten updates may lose a factor: then `gradient_of` counts the gradient.
SLOWER = 10.0
# Size of a person's columns up to which no step of L-BFGS from nothing overflows an exponential.
STEEP = 100.0
# Updates of residuals by coordinate descent whose rounding errors are bounded, at most.
UPDATES = 100_000
# Error of least squares by orthogonal factors, relative to the numbers that go in; 4 million units in the last place.
ORTHOGONAL = 1e-9


@dataclass(frozen=True, slots=True)
class Stopping:
    """Where the fit stopped, as far as it is known; each bounds the gradient, and the smallest bound holds.

    ``gradient``: largest entry of the gradient of the loss, a sum over people. ``mean``: the same of the mean loss.
    ``loss``: the fit may also have stopped where one step changed the mean loss by less than this, relative to the loss
    or 1 (L-BFGS). ``deviance``: the last Newton step changed the deviance by less than this, relative to the deviance
    or 1 (iteratively reweighted least squares). ``gap``: the mean loss with its penalties is above its least by at most
    this, and an intercept is the best for the other coefficients (coordinate descent). ``assumed``: nothing proves it.
    """

    gradient: float | None = None
    mean: float | None = None
    loss: float | None = None
    deviance: float | None = None
    gap: float | None = None
    assumed: bool = False

    @property
    def known(self) -> bool:
        return any(each is not None for each in (self.gradient, self.mean, self.deviance, self.gap))


@dataclass(frozen=True, slots=True, eq=False)
class Regression:
    """Coefficients as printed, and what was minimised.

    ``value``, ``half``: coefficients and half a unit of their last digit, shape (n_terms, n_responses); one response,
    but of a multinomial one for each class. ``free``, shape (n_terms, n_responses): coefficients that were fitted; that
    of a reference class is 0 and was not. ``response``, shape (n_classes, n_responses): what each class is to the fit.
    ``l2``, ``l1``: penalties of each coefficient, for a loss that sums over people, shape (n_terms, n_responses);
    ``mean_l2``, ``mean_l1``: the same for the mean of the loss. ``class_weight``: shape (n_classes,). ``residual``: the
    residual standard error and half a unit of its last digit.
    """

    family: Family
    value: FloatArray
    half: FloatArray
    response: FloatArray
    stopping: Stopping
    free: FloatArray
    l2: FloatArray
    l1: FloatArray
    mean_l2: FloatArray
    mean_l1: FloatArray
    class_weight: FloatArray
    residual: tuple[float, float] | None = None

    @property
    def assumed(self) -> bool:
        """Whether no proof says where the fit stopped: steps may be short, or end as high as they began, anywhere."""
        stop = self.stopping
        return stop.assumed or (self.family != "linear" and (stop.loss, stop.deviance) != (None, None))

    @property
    def plain(self) -> bool:
        """Whether all classes weigh 1."""
        return bool((self.class_weight == 1).all())

    def allowed(self, total: float, size: float, bend: float) -> float:
        """The largest gradient, a sum over ``total`` people, of a fit that met its tolerance.

        ``size``: of the summands. ``bend``: largest second derivative of a linear model's loss.
        """
        if self.stopping.gap is not None:
            return ORTHOGONAL * size + float(np.sqrt(2 * bend * self.stopping.gap * total))
        if self.stopping.mean is None:  # solved by factors
            return ORTHOGONAL * size
        return self.stopping.mean * max(total * max(float(self.class_weight.max()), 1.0), 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class RegressionSums:
    """Bounds on sums: ``low[r] <= sum_i n_i sum_c weights(r)[i, c] share_ic <= high[r]``, of n_i people like i.

    ``of`` is the term and response of a row, -1 for the sum of squares; ``combined`` rows have ``rows`` as factors, and
    so have ``marked`` ones, whose people weigh 0 or, with the larger value of a term that has two, 1.
    """

    fit: Regression
    design: FloatArray
    weight: FloatArray
    rows: FloatArray
    low: FloatArray
    high: FloatArray
    of: tuple[tuple[int, int], ...]
    combined: tuple[bool, ...]
    marked: tuple[bool, ...]

    def weights(self, r: int) -> FloatArray:
        """What a person of each class adds to a row, shape (n, n_classes)."""
        fit, design = self.fit, self.design
        if self.of[r][0] < 0:
            off = fit.response[:, 0][None, :] - (design @ fit.value)[:, [0]]
            return np.asarray(np.square(off) * self.weight[:, None])
        used = np.flatnonzero(self.rows[r].any(axis=1))
        factors = (design[:, used] @ self.rows[r][used]) * self.weight[:, None]
        found = factors @ fit.response.T
        if not fit.plain:  # of people of class c the sum has w_c (y - mu): the means stay with the people
            means = _means(fit.family, design @ fit.value, np.zeros_like(factors)).mean
            found = (found - (factors * means).sum(axis=1)[:, None]) * fit.class_weight
        return np.asarray(found)


# The mean of a response given its linear predictor, and ranges of it.


@dataclass(frozen=True, slots=True, eq=False)
class _Means:
    """Means at the printed coefficients, with bounds over the box; shapes (n, n_responses)."""

    family: Family
    mean: FloatArray
    low: FloatArray
    high: FloatArray

    def slope(self, d: int, e: int) -> tuple[FloatArray, FloatArray]:
        if self.family == "linear":
            one = np.ones(len(self.mean))
            return one, np.zeros(len(self.mean))
        if self.family == "poisson":
            at, low, high = self.mean[:, d], self.low[:, d], self.high[:, d]
        elif d == e:
            at = self.mean[:, d] * (1 - self.mean[:, d])
            low, high = _variance(self.low[:, d], self.high[:, d])
        else:
            at = -self.mean[:, d] * self.mean[:, e]
            low, high = -self.high[:, d] * self.high[:, e], -self.low[:, d] * self.low[:, e]
        return at, np.maximum(high - at, at - low) + 8 * EPS * np.abs(at)


def _variance(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Range of p (1 - p) for p in [low, high]."""
    at_low, at_high = low * (1 - low), high * (1 - high)
    least = np.minimum(at_low, at_high)
    most = np.where((low <= 0.5) & (high >= 0.5), 0.25, np.maximum(at_low, at_high))
    return least, most


def _means(family: Family, predictor: FloatArray, radius: FloatArray) -> _Means:
    """Means for linear predictors, each within a radius; shapes (n, n_responses)."""
    low, high = predictor - radius, predictor + radius
    if family == "linear":
        return _Means(family, predictor, low, high)
    with np.errstate(over="ignore", under="ignore"):
        if family == "poisson":
            mean, low, high = np.exp(predictor), np.exp(low), np.exp(high)
        elif family == "logistic":
            mean, low, high = _logistic(predictor), _logistic(low), _logistic(high)
        else:
            mean = _softmax(predictor, predictor)
            low, high = _softmax(low, high), _softmax(high, low)
    slack = 16 * EPS
    ends = low * (1 - slack), high * (1 + slack)
    return _Means(family, mean, ends[0], ends[1] if family == "poisson" else np.minimum(ends[1], 1.0))


def _mean(family: Family, predictor: FloatArray) -> FloatArray:
    """Means of one response, for many fits."""
    if family == "linear":
        return predictor
    return np.asarray(np.exp(predictor) if family == "poisson" else expit(predictor))


def _logistic(x: FloatArray) -> FloatArray:
    # Both forms are accurate where they are small.
    return np.where(x < 0, np.exp(np.minimum(x, 0)) / (1 + np.exp(np.minimum(x, 0))), 1 / (1 + np.exp(-np.abs(x))))


def _softmax(own: FloatArray, others: FloatArray) -> FloatArray:
    """Share of each column where it has its own value and all other columns those of ``others``."""
    found = np.empty_like(own)
    for d in range(own.shape[1]):
        rest = np.delete(others, d, axis=1) - own[:, [d]]
        found[:, d] = 1 / (1 + np.exp(rest).sum(axis=1))
    return found


# Bounds on sums.


def sums_of(
    fit: Regression, design: FloatArray, people: FloatArray, sample_weight: FloatArray | None = None
) -> RegressionSums:
    """Bounds on the sums that a regression states of people with a design, and on combinations of them."""
    n, terms = design.shape
    weight = np.ones(n) if sample_weight is None else sample_weight
    cases = people * weight
    which = [(j, d) for j in range(terms) for d in range(fit.value.shape[1]) if fit.free[j, d]]
    plain = np.zeros((len(which), *fit.value.shape))
    for r, (j, d) in enumerate(which):
        plain[r, j, d] = 1.0
    marks = _marks(design[people > 0]) if sample_weight is None and fit.plain else {}
    marking = [(j, d) for j, d in which if j in marks]
    rows = np.concatenate([plain, np.zeros((len(marking), *fit.value.shape))])
    for r, (j, d) in enumerate(marking, len(which)):
        rows[r, :, d] = marks[j]
    of = [*which, *marking]
    combined, marked = [False] * len(of), [False] * len(which) + [True] * len(marking)
    if n <= COMBINED and len(which) > 1 and (inverse := _inverse(fit, design, cases, which)) is not None:
        rows = np.concatenate([rows, inverse])
        combined, of = [*combined, *([True] * len(which))], [*of, *which]
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = _ends(fit, design, cases, rows)
    if fit.residual is not None:
        ends = _squares(fit, design, people, cases)
        rows = np.concatenate([rows, np.zeros_like(rows[:1])])
        low, high = np.append(low, ends[0]), np.append(high, ends[1])
        of, combined = [*of, (-1, -1)], [*combined, False]
    marked += [False] * (len(of) - len(marked))
    found = RegressionSums(fit, design, weight, rows, low, high, tuple(of), tuple(combined), tuple(marked))
    # What the weights themselves lose to rounding, for at most all people.
    size = np.zeros(len(low))
    for block in _blocks(n):
        here = replace(found, design=design[block], weight=weight[block])
        size += [float(np.abs(here.weights(r)).max(axis=1) @ people[block]) for r in range(len(low))]
    lost = 8 * (terms + 4) * EPS * size
    return replace(found, low=low - lost, high=high + lost)


def _marks(design: FloatArray) -> dict[int, FloatArray]:
    """Of each column with two values other than 0 the factors of columns that make 0 and 1 of them.

    They need a constant column, an intercept.
    """
    if not len(design):
        return {}
    low, high = design.min(axis=0), design.max(axis=0)
    constant = np.flatnonzero((low == high) & (low != 0))[:1]
    found = {}
    for j in np.flatnonzero((low < high) & (low * high != 0)).tolist() if len(constant) else ():
        if ((design[:, j] == low[j]) | (design[:, j] == high[j])).all():
            found[j] = np.zeros(len(low))
            found[j][j], found[j][constant] = np.array([1.0, -low[j] / low[constant[0]]]) / (high[j] - low[j])
    return found


def _blocks(n: int) -> Iterator[slice]:
    return (slice(begin, begin + CHUNK) for begin in range(0, n, CHUNK))


def _predictor(fit: Regression, design: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Linear predictors at the printed coefficients, and how far off they can be anywhere in the box."""
    size = np.abs(design)
    error = (2 * design.shape[1] + 4) * EPS * (size @ np.abs(fit.value))
    return design @ fit.value, (size @ fit.half) * (1 + 1e-12) + error


def _ends(fit: Regression, design: FloatArray, cases: FloatArray, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Least and greatest of sums for every b in the box, shapes (n_rows,)."""
    n_rows, terms, responses = rows.shape
    least_weight, most_weight = float(fit.class_weight.min()), float(fit.class_weight.max())
    middle, spread = (least_weight + most_weight) / 2, (most_weight - least_weight) / 2
    centre, low, high, size, blur = np.zeros((5, n_rows))
    gradient, off = np.zeros((2, n_rows, terms, responses))
    gross = np.zeros((terms, responses))
    for block in _blocks(len(design)):
        x, c = design[block], cases[block]
        predictor, radius = _predictor(fit, x)
        means = _means(fit.family, predictor, radius)
        wide = np.abs(x)
        each = [x @ rows[:, :, d].T for d in range(responses)]  # (people, rows)
        for d in range(responses):
            a, up = each[d], np.maximum(each[d], 0)
            down = up - a
            centre += a.T @ (c * means.mean[:, d])
            low += up.T @ (c * means.low[:, d]) - down.T @ (c * means.high[:, d])
            high += up.T @ (c * means.high[:, d]) - down.T @ (c * means.low[:, d])
            size += np.abs(a).T @ (c * np.abs(means.high[:, d]))
            gross[:, d] += wide.T @ c
        for e in range(responses):
            error = (2 * terms + 4) * EPS * (wide @ np.abs(fit.value[:, e]))
            for d in range(responses):
                if fit.family not in ("multinomial",) and d != e:
                    continue
                at, far = means.slope(d, e)
                gradient[:, :, e] += middle * ((each[d] * (c * at)[:, None]).T @ x)
                reach = c * (spread * np.abs(at) + most_weight * far)
                off[:, :, e] += (np.abs(each[d]) * reach[:, None]).T @ wide
                blur += most_weight * (np.abs(each[d]).T @ (c * error * (np.abs(at) + far)))
    total = float(cases.sum())
    l2 = fit.l2 + fit.mean_l2 * total
    # The penalties move with b, too.
    gradient += rows * l2
    sign_low, sign_high = _signs(fit)
    l1 = fit.l1 + fit.mean_l1 * total
    shift = (rows * l2 * fit.value).sum(axis=(1, 2)) + (rows * l1 * (sign_low + sign_high) / 2).sum(axis=(1, 2))
    subgradient = (np.abs(rows) * l1 * (sign_high - sign_low) / 2).sum(axis=(1, 2))
    box = fit.half * (1 + 1e-12)
    slack = ((np.abs(gradient) + off) * box).sum(axis=(1, 2))
    stop = (np.abs(rows) * _tolerance(fit, design, cases, gross)).sum(axis=(1, 2))
    lost = (len(design) + 4 * terms + 40) * EPS * most_weight * (size + np.abs(shift) + slack) + blur
    extra = subgradient + stop + lost
    if not fit.plain:  # the means stand on the side of the people
        return _open(shift - slack - extra, shift + slack + extra)
    moved = (np.abs(rows) * l2 * box).sum(axis=(1, 2))
    least = np.maximum(centre - slack, low - moved) + shift - extra
    most = np.minimum(centre + slack, high + moved) + shift + extra
    return _open(least, most)


def _open(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bounds, none where numbers were too large for them."""
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def _signs(fit: Regression) -> tuple[FloatArray, FloatArray]:
    """Subgradients of |b| over the box."""
    return np.where(fit.value - fit.half > 0, 1.0, -1.0), np.where(fit.value + fit.half < 0, -1.0, 1.0)


def _tolerance(fit: Regression, design: FloatArray, cases: FloatArray, gross: FloatArray) -> FloatArray:
    """Largest entries of the gradient where the fit stopped, shape (n_terms, n_responses)."""
    stop, total = fit.stopping, float(cases.sum())
    heaviest = float(fit.class_weight.max())
    reach = np.abs(design).max(axis=0, initial=0.0)[:, None]
    found = np.full(fit.value.shape, np.inf)
    if fit.family == "linear":
        answers = float(np.abs(fit.response).max()) + float((np.abs(design) @ np.abs(fit.value)).max(initial=0.0))
        found = np.minimum(found, ORTHOGONAL * heaviest * gross * answers) if stop.deviance is not None else found
    elif stop.deviance is not None:
        # One Newton step more than where the decrement was as large: |x_j| times half its square times e. A step that
        # gains so little moves no predictor by more than 1 (Bach 2010, on self-concordance of logistic losses).
        start = _start(fit) * heaviest * total
        found = np.minimum(found, 2.5 * reach * stop.deviance * (start + 1))
    if stop.mean is not None:
        mean = np.full(fit.value.shape, stop.mean)
        if stop.loss is not None:
            curved = (design * design).T @ cases / max(total, 1e-300) * heaviest
            bound = float(np.exp(_predictor(fit, design)[0].max(initial=0.0))) if fit.family == "poisson" else 0.25
            bound = 1.0 if fit.family == "linear" else bound
            bend = curved[:, None] * bound + fit.l2 / max(total, 1.0) + fit.mean_l2
            left = stop.loss * max(_start(fit) * max(heaviest, 1.0), 1.0) * SLOWER * _condition(fit, design, cases)
            mean = np.maximum(mean, np.sqrt(2 * bend * left))
            if fit.family == "poisson" and float(np.sqrt((design * design).sum(axis=1)).max(initial=0.0)) > STEEP:
                mean[:] = np.inf  # the first step overflows, and the solver stops anywhere without a word
        found = np.minimum(found, mean * max(total * max(heaviest, 1.0), 1.0))
    if stop.gap is not None:
        found = np.minimum(found, _within_gap(fit, design, cases, stop.gap))
    if stop.gradient is not None:
        found = np.minimum(found, stop.gradient)
    return found


def _within_gap(fit: Regression, design: FloatArray, cases: FloatArray, gap: float) -> FloatArray:
    """Largest entries of the gradient of least squares with an absolute penalty, shape (n_terms, 1).

    No step along one coefficient gains more than the gap G. With the gradient g beside the penalty's own, and second
    derivative L, one that does not pass 0 gains g^2 / 2L. One that ends at 0 (of a coefficient b, L |b| < |g|) gains
    |g b| - L b^2 / 2; and what is gained beyond 0 limits g to twice the penalty and sqrt(2 L G).
    """
    total, heaviest = float(cases.sum()), float(fit.class_weight.max())
    l1, l2 = fit.l1 + fit.mean_l1 * total, fit.l2 + fit.mean_l2 * total
    bare = (l1 == 0)[:, 0]  # the intercept, which is solved for
    weight = cases / max(total, 1e-300)
    centred = design - weight @ design if bare.any() else design
    bend = heaviest * ((centred * centred).T @ cases)[:, None] * (1 + 1e-9) + l2
    reach = np.abs(design).max(axis=0, initial=0.0)
    largest = np.abs(fit.value) + fit.half
    answers = float(np.abs(fit.response).max()) + float((np.abs(design) @ largest).max(initial=0.0))
    # The gap was computed in doubles, of residuals R that were updated step by step: R is as exact as `unit`. A dual
    # point c R is feasible where c is l1 over the largest X'R; if that is off by e, c by s = e / l1, the dual loss is
    # by e |b| + s (1 - c) R'R + s^2 R'R at most, as R'Xb is at most that product times |b|, and (1 - c)^2 R'R twice
    # the gap.
    most = max(total * max(heaviest, 1.0), 1.0)
    unit = 4 * (8 * len(design) + 4 * UPDATES) * EPS
    error = unit * float(reach[~bare].max(initial=0.0)) * answers
    scaled = error * answers / (float(l1[~bare].min(initial=np.inf)) / most)
    flat = unit * answers**2 + error * float(largest.sum())
    left = (gap + flat + scaled * (np.sqrt(2 * (gap + flat)) + scaled)) * most
    inside = np.sqrt(2 * bend * left)
    size = np.maximum(np.abs(fit.value) - fit.half, 0.0)  # of a coefficient, at least
    with np.errstate(divide="ignore", invalid="ignore"):
        ended = np.where(size * size * bend >= 2 * left, inside, left / size + bend * size / 2)
    # Where the box holds 0 the penalty's own gradient is anything within l1, and so is what is gained beyond 0.
    found = np.where(size == 0, inside, np.minimum(np.maximum(inside, ended), 2 * l1 + inside))
    solved = ORTHOGONAL * heaviest * total * answers
    return np.where(bare[:, None], solved, found + reach[:, None] * solved * bool(bare.any()))


def gradient_of(fit: Regression, blocks: Iterable[tuple[FloatArray, FloatArray]]) -> tuple[float, float, float]:
    """The largest entry of the gradient of the loss, a sum over people, at coefficients in full; rounding is added.

    Beside it stand the largest sum of the sizes of what is added up, and the largest second derivative of squares.

    ``blocks``: of some people their design, shape (n, n_terms), and how much each counts in each class, shape
    (n, n_classes). What an absolute penalty leaves open at a coefficient of 0 is no part of it.
    """
    slope, gross, bend = np.zeros((3, *fit.value.shape))
    total, most = 0.0, 0
    for design, cases in blocks:
        weighed = cases * fit.class_weight
        means = _means(fit.family, design @ fit.value, np.zeros((len(design), fit.value.shape[1]))).mean
        many = weighed.sum(axis=1, keepdims=True)
        slope += design.T @ (weighed @ fit.response - many * means)
        gross += np.abs(design).T @ (weighed @ np.abs(fit.response) + many * np.abs(means))
        total += float(cases.sum())
        bend += (design * design).T @ many
        size = np.abs(design) @ np.abs(fit.value)  # an error of the predictor moves a mean by at most as much
        gross += np.abs(design).T @ (many * size * (np.abs(means) if fit.family == "poisson" else 1.0))
        most += len(design)
    penalty = (fit.l2 + fit.mean_l2 * total) * fit.value
    slope, l1 = slope - penalty, fit.l1 + fit.mean_l1 * total
    rest = np.where(fit.value == 0, np.maximum(np.abs(slope) - l1, 0), np.abs(slope - l1 * np.sign(fit.value)))
    lost = (most + 4 * len(fit.value) + 40) * EPS * (gross + np.abs(penalty) + l1)
    bend += fit.l2 + fit.mean_l2 * total
    largest = float(np.where(fit.free > 0, rest + lost, 0.0).max(initial=0.0))
    return largest, float(gross.max(initial=0.0)), float(bend.max(initial=0.0))


def gradient_beyond(
    fit: Regression, design: FloatArray, cases: FloatArray, sample_weight: FloatArray | None
) -> tuple[float, float, bool]:
    """What a fit's gradient is beyond its digits and where it is said to have stopped, so that its rows hold of people.

    It is the least that widens every row enough, 0 where all hold. Beside it stand what rounding leaves open, and
    whether the sum of squares holds. ``cases``: people of each class, shape (n, n_classes).
    """
    found = sums_of(fit, design, cases.sum(axis=1), sample_weight)
    beyond, lost, squares = 0.0, 0.0, True
    for r, (low, high) in enumerate(zip(found.low.tolist(), found.high.tolist(), strict=True)):
        weights = found.weights(r)
        value = float((weights * cases).sum())
        off = max(low - value, value - high, 0.0)
        if found.of[r][0] < 0:
            squares = off == 0
            continue
        share = float(np.abs(found.rows[r]).sum())
        beyond = max(beyond, off / share)
        lost = max(lost, (len(design) + 4 * len(fit.value) + 40) * EPS * float((np.abs(weights) * cases).sum()) / share)
    return beyond, lost, squares


def prints(fit: Regression, design: FloatArray, cases: FloatArray) -> bool | None:
    """Whether a fit of people, shape (n, n_classes), may have stopped at coefficients that are printed so.

    Within the box the gradient is brought as near to nothing as it can be, by Newton steps that are cut where they go
    too far. None where that does not tell. A coefficient with an absolute penalty whose box holds 0 is tried
    at 0 alone. More than `CHUNK` rows are not looked at.
    """
    if len(design) > CHUNK:
        return True
    l1, (least, most) = fit.l1 + fit.mean_l1 * cases.sum(), _signs(fit)
    at_zero = (l1 > 0) & (least < most)
    pull, free, slack = np.where(at_zero, 0.0, l1 * least), fit.free > 0, l1 * at_zero
    held = replace(
        fit, value=np.where(at_zero, 0.0, fit.value), half=np.where(at_zero, 0.0, fit.half), free=fit.free * ~at_zero
    )
    flat, many = np.flatnonzero(held.free.ravel()), cases @ fit.class_weight
    low, high = fit.value - fit.half, fit.value + fit.half + EPS * (1 + np.abs(fit.value))
    tolerance = _tolerance(fit, design, cases.sum(axis=1), np.abs(design).T @ np.repeat(many[:, None], low.shape[1], 1))
    tolerance += 1e-9 * (1 + float(np.abs(design).max(initial=0.0)) * float(many.sum()))

    def slope_at(value: FloatArray) -> FloatArray:
        means = _means(fit.family, design @ value, np.zeros((len(design), value.shape[1]))).mean
        slope = design.T @ ((cases * fit.class_weight) @ fit.response - many[:, None] * means)
        return np.asarray(slope - (fit.l2 + fit.mean_l2 * cases.sum()) * value - pull)

    fit, slope = held, slope_at(held.value)
    for _ in range(STEPS):
        if not np.isfinite(slope).all():
            return None
        off = np.maximum(np.abs(slope) - slack, 0.0)[free] / tolerance[free]
        if (off <= 1).all():
            return True
        box = [(side - fit.value).ravel()[flat] for side in (low, high)]
        moves = np.zeros(fit.value.size)
        if len(flat):
            moves[flat] = _best_step(_hessian(fit, design, many), slope.ravel()[flat], box[0], box[1])
        step: FloatArray = moves.reshape(fit.value.shape)
        if (np.abs(step) <= STILL * (1 + np.abs(fit.value))).all():
            return False if off.max() > REFUTED and not at_zero.any() else None
        for _ in range(HALVED):
            after = slope_at(fit.value + step)
            if np.isfinite(after).all() and float((after * step).sum()) >= -float((slope * step).sum()) / 4:
                break
            step = step / 2
        fit, slope = replace(fit, value=fit.value + step), after
    return None


def _best_step(hessian: FloatArray, slope: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """The step within a box that gains most by the first two derivatives."""
    scale = np.maximum(high - low, 1e-300)
    bend, axes = np.linalg.eigh(hessian * scale * scale[:, None])
    root = np.sqrt(np.maximum(bend, EPS * bend.max()) + 1e-300)
    target = (slope * scale) @ axes / root
    found = lsq_linear(root[:, None] * axes.T, target, (low / scale, high / scale), method="bvls")
    return np.where(found.active_mask < 0, low, np.where(found.active_mask > 0, high, found.x * scale))


def possible(
    fit: Regression, design: FloatArray, counts: FloatArray, second: FloatArray, weight: FloatArray
) -> BoolArray:
    """Tables of two classes that may print a fit, shape (n_tables,): False where it is proved that one does not.

    ``second``: people of the second class, shape (n_tables, n). The loss is convex: where its gradient g at a point c
    has ``g (b - c) > 0`` for all b that are printed so, none of these is stationary (tolerances are added). Looked at
    is a point between the fit of a table and the box.
    """
    tables, terms = len(second), fit.value.shape[0]
    if fit.family == "multinomial" or len(fit.response) != 2 or (fit.l1 + fit.mean_l1).any():
        return np.ones(tables, bool)
    (none, one), (rest, case) = fit.response[:, 0], fit.class_weight
    total = float(counts @ weight)
    many = (counts * rest + second * (case - rest)) * weight
    told = ((counts * rest * none + second * (case * one - rest * none)) * weight) @ design
    value, ridge = fit.value[:, 0], (fit.l2 + fit.mean_l2 * total)[:, 0]
    half = fit.half[:, 0] + EPS * (1 + np.abs(value))
    most = counts * weight * max(rest, case)
    tolerance = _tolerance(fit, design, counts * weight, np.abs(design).T @ most[:, None])[:, 0]
    tolerance += 1e-9 * (1 + float(np.abs(design).max(initial=0.0)) * float(most.sum()))
    squares = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)
    floor, diagonal = 1e-12 * (1 + np.square(design).max(axis=0, initial=0.0)), np.arange(terms)

    def slope(b: FloatArray, of: IntArray) -> tuple[FloatArray, FloatArray]:
        mean = _mean(fit.family, b @ design.T)
        return told[of] - (many[of] * mean) @ design - ridge * b, mean

    def newton(b: FloatArray, of: IntArray, fixed: IntArray | None = None) -> FloatArray:
        down, mean = slope(b, of)
        bend = {"logistic": mean * (1 - mean), "poisson": mean}.get(fit.family, np.ones_like(mean))
        square = ((many[of] * bend) @ squares).reshape(-1, terms, terms)
        square[:, diagonal, diagonal] += ridge + floor
        if fixed is not None:
            rows = np.arange(len(b))
            square[rows, fixed], square[rows, :, fixed], down[rows, fixed] = 0.0, 0.0, 0.0
            square[rows, fixed, fixed] = 1.0
        step = np.linalg.solve(square, down[:, :, None])[:, :, 0]
        moved = np.abs(step @ design.T).max(axis=1, initial=0.0)
        return np.asarray(b + step * np.minimum(1.0, MOVED / np.maximum(moved, MOVED))[:, None])

    left, at, of = np.ones(tables, bool), np.tile(value, (tables, 1)), np.arange(tables)
    with np.errstate(all="ignore"):
        for number in range(ROUNDS):
            at = newton(newton(at, of), of)
            finite = np.isfinite(at).all(axis=1)
            at, of = at[finite], of[finite]
            off = np.abs(at - value)
            out = np.flatnonzero((off > half).any(axis=1))
            j = (off[out] / half).argmax(axis=1)
            beyond = half[j] + np.minimum((off[out, j] - half[j]) / 2, 2 * half[j])
            point = value + (at[out] - value) * (beyond / off[out, j])[:, None]
            for _ in range(2 + number):
                point = newton(point, of[out], j)
            down, mean = slope(point, of[out])
            size = 1 + np.abs(point) @ np.abs(design).T
            lost = (many[of[out]] * (mean if fit.family == "poisson" else 1.0) * size) @ np.abs(design)
            off_by = tolerance + 100 * EPS * (lost + np.abs(told[of[out]]) + ridge * np.abs(point))
            reach = np.abs(value - point) + half
            gone = (down * (value - point)).sum(axis=1) + np.abs(down) @ half + (reach * off_by).sum(axis=1) < 0
            left[of[out[gone]]] = False
            at, of = np.delete(at, out[gone], axis=0), np.delete(of, out[gone])
    return left


def _start(fit: Regression) -> float:
    """Largest deviance of a person before anything is fitted but, of counts, their mean."""
    if fit.family == "poisson":
        return 2 * max(float(fit.response.max()), 1.0)
    if fit.family == "linear":
        return float(np.square(fit.response).max())
    return 2 * float(np.log(max(2, len(fit.response))))


def _hessian(fit: Regression, design: FloatArray, cases: FloatArray) -> FloatArray:
    """Second derivatives of the loss at the printed coefficients that were fitted, shape (n_fitted, n_fitted)."""
    terms, responses = fit.value.shape
    means = _means(fit.family, design @ fit.value, np.zeros((len(design), responses)))
    matrix = np.zeros((terms, responses, terms, responses))
    for d in range(responses):
        for e in range(responses):
            if d == e or fit.family == "multinomial":
                at, _ = means.slope(d, e)
                matrix[:, d, :, e] = (design * (cases * at)[:, None]).T @ design
    flat = np.flatnonzero(fit.free.ravel())
    square = matrix.reshape(terms * responses, -1)[np.ix_(flat, flat)]
    square[np.diag_indices_from(square)] += (fit.l2 + fit.mean_l2 * cases.sum()).reshape(-1)[flat]
    return square


def _condition(fit: Regression, design: FloatArray, cases: FloatArray) -> float:
    """The condition number of the second derivatives, but for directions in which the loss does not change."""
    square = _hessian(fit, design, cases)
    if not np.isfinite(square).all():
        return np.inf
    found = np.linalg.eigvalsh(square)
    return float(found[-1] / found[found > 1e-13 * found[-1]].min()) if found[-1] > 0 else np.inf


def _inverse(
    fit: Regression, design: FloatArray, cases: FloatArray, which: Sequence[tuple[int, int]]
) -> FloatArray | None:
    """Combinations of sums that move with one coefficient each, shape (n_rows, n_terms, n_responses)."""
    terms, responses = fit.value.shape
    square = _hessian(fit, design, cases)
    flat = [j * responses + d for j, d in which]
    if not np.isfinite(square).all():
        return None
    inverse = np.linalg.pinv(square, rcond=1e-10, hermitian=True)
    rows = np.zeros((len(which), terms * responses))
    rows[:, flat] = inverse
    rows = rows.reshape(-1, terms, responses)
    largest = np.max([np.abs(design @ rows[:, :, d].T).max(axis=0) for d in range(responses)], axis=0)
    kept = np.isfinite(largest) & (largest > 0)
    return np.asarray(rows[kept] / largest[kept, None, None]) if kept.all() else None


def _squares(fit: Regression, design: FloatArray, people: FloatArray, cases: FloatArray) -> tuple[float, float]:
    """Bounds on the sum of squares that a residual standard error states.

    At the printed coefficients it is greater than at the fit, where it is least, by a quadratic form.
    """
    assert fit.residual is not None
    printed, half = fit.residual
    fitted = cases > 0  # R leaves people of weight 0 out of its degrees of freedom
    freedom = float(people[fitted].sum()) - float(np.linalg.matrix_rank(design[fitted]))
    box = fit.half[:, 0] * (1 + 1e-12)
    form = np.abs((design * cases[:, None]).T @ design)
    beyond = float(box @ form @ box)
    slope = float((_tolerance(fit, design, cases, np.abs(design).T @ cases[:, None])[:, 0] * box).sum()) * 2
    low, high = max(printed - half, 0.0) ** 2 * freedom, (printed + half) ** 2 * freedom + beyond
    slack = slope + 64 * len(design) * EPS * (high + 1.0)
    return low - slack, high + slack


# The kind ``glm`` of statements.


@dataclass(frozen=True, slots=True)
class Term:
    """A column of the design: the intercept, a column of the table centred and scaled, or one of its values."""

    column: str | None = None
    level: str | float | None = None
    center: float = 0.0
    scale: float = 1.0

    def numbers(self, people: StatementPeople) -> FloatArray:
        """The column of the design, shape (n_qi,)."""
        if self.column is None:
            return np.ones(len(people))
        if self.level is not None:
            found = people.has(self.column, self.level).astype(np.float64)
        else:
            found = people.numbers(self.column)
        return np.asarray((found - self.center) / self.scale)

    def __str__(self) -> str:
        if self.column is None:
            return "intercept"
        return self.column if self.level is None else f"{self.column}={described(self.level)}"


@dataclass(frozen=True, slots=True, eq=False)
class Coefficients:
    """``glm``: coefficients of a generalised linear model with its canonical link.

    Sound, as the fit is stationary: see the module. What was minimised has to be stated: penalties, weights, and how
    far from stationary the solver may have stopped. Of each column that terms name by its values one value may be
    without a term, the reference; more only where ``reference`` names them.
    """

    terms: tuple[Term, ...]
    fit: Regression
    of: int | None
    weights: str | None
    reference: Mapping[str, tuple[str | float, ...]]

    @classmethod
    def parse(cls, keys: Keys) -> Self:
        family = cast("Family", keys.text("family", among=FAMILIES))
        of = keys.klass("of", optional=family != "logistic") if family != "multinomial" else None
        classes = len(keys.classes)
        responses = classes if family == "multinomial" else 1
        terms: dict[Term, int] = {}
        printed: dict[tuple[int, int], tuple[PrintedNumber, dict[str, float]]] = {}
        for each in keys.children("terms"):
            term = _term(each)
            klass = each.klass() if family == "multinomial" else 0
            at = terms.setdefault(term, len(terms)), klass or 0
            if at in printed:
                each.refuse("value", "each term once", f"{term} several times")
            number = each.printed("value")
            if "within" in each and "digits" in each:
                each.refuse("digits", "within or digits, as each says how far the value may be off")
            if "within" in each:
                number = replace(number, half=Fraction(each.number("within", 0.0, 0.0)))
            printed[at] = number, {key: each.number(key, 0.0, 0.0) for key in ("l2", "l1") if key in each}
            each.close()
        value, half, l2, l1, mean_l2, mean_l1, free = np.zeros((7, len(terms), responses))
        penalised = np.array([term.column is not None for term in terms], float)[:, None]
        l2 += keys.number("l2", 0.0, 0.0) * penalised
        l1 += keys.number("l1", 0.0, 0.0) * penalised
        mean_l2 += keys.number("mean_l2", 0.0, 0.0) * penalised
        mean_l1 += keys.number("mean_l1", 0.0, 0.0) * penalised
        for at, (number, own) in printed.items():
            value[at], free[at] = float(number.value), 1.0
            half[at] = float(number.half) * (1 + 4 * EPS) + EPS * abs(value[at])
            l2[at], l1[at] = own.get("l2", l2[at]), own.get("l1", l1[at])
        fitted = free.any(axis=0)
        if (family == "multinomial" and fitted.sum() < classes - 1) or not (free[:, fitted] > 0).all():
            keys.refuse("terms", "every term for all classes, or for all but one", "fewer")
        fit = Regression(
            family,
            value,
            half,
            _responses(keys, family, of),
            _stopping(keys, family),
            free,
            l2 * free,
            l1 * free,
            mean_l2 * free,
            mean_l1 * free,
            _class_weight(keys),
            _residual(keys, any(bool(each.any()) for each in (l2, l1, mean_l2, mean_l1))),
        )
        weights = keys.column("weights") if "weights" in keys else None
        return cls(tuple(terms), fit, of, weights, _references(keys, terms))

    def rows(self, people: StatementPeople) -> Iterator[LinearStatement]:
        """A row for each coefficient, one for each combination that tells it best, and one for the sum of squares."""
        self._check_levels(people)
        weight = None if self.weights is None else people.numbers(self.weights)
        if weight is not None and (weight[people.counts > 0] < 0).any():
            raise invalid(people.source, "weights", self.weights or "", "weights of at least 0", "one below")
        design = np.stack([term.numbers(people) for term in self.terms]).T
        found = sums_of(self.fit, design, people.counts, weight)
        if not (np.isfinite(found.low) | np.isfinite(found.high)).any():
            if self.fit.stopping.gradient is not None:
                at = int((self.fit.half.max(axis=1) * np.abs(design[people.counts > 0]).max(axis=0)).argmax())
                half = f"half a unit of the last one, {self.fit.half[at].max():g}"
                expected = f"more digits: {half}, times its column, leaves all sums open"
                raise invalid(people.source, "terms", str(self.terms[at]), expected, f"{self.fit.value[at, 0]:g}")
            expected = "where the fit stopped, as columns are too large or unlike to bound it: convert the model with "
            expected += "its training table (--train), or --param tolerance=LARGEST GRADIENT"
            raise invalid(people.source, "tolerance", "value", expected, "none that is known")
        for r, (low, high) in enumerate(zip(found.low.tolist(), found.high.tolist(), strict=True)):
            if not (np.isfinite(low) or np.isfinite(high)):
                continue
            weights, klass = found.weights(r), self._class(found.of[r][1], found.combined[r])
            if found.marked[r] and klass is None:
                continue
            if klass is not None:
                weights = weights[:, klass]
                if found.marked[r]:
                    exact = np.rint(weights)
                    slack = 2 * float(np.abs(weights - exact) @ people.counts)
                    weights, low, high = exact, low - slack, high + slack
                low, high = _whole(weights[people.counts > 0], low, high)
            about = "" if klass is None else f" of {people.classes[klass]}"
            told = sides(low, high) if low <= high else f"no whole number, between {high:,.0f} and {low:,.0f}"
            what = self._says(found.of[r], found.combined[r], people)
            if found.marked[r]:
                term = self.terms[found.of[r][0]]
                larger = "" if term.level is not None and term.scale > 0 else "the larger value of "
                what = f"number of people with {larger}{term}"
            says = f"{what}{about}: {told}"
            source = "residual standard error" if found.of[r][0] < 0 else f"coefficient of {self.terms[found.of[r][0]]}"
            yield LinearStatement(weights, low, high, says, klass, source)

    def prints(self, people: StatementPeople, masses: FloatArray) -> bool | None:
        """Whether a fit of people of each class, shape (n_qi, n_classes), may be printed so; None if not known."""
        weight, design = self._design(people)
        return prints(self.fit, design, masses * weight[:, None])

    def possible(self, people: StatementPeople, second: FloatArray) -> BoolArray:
        """Tables with so many people of the second of two classes that may print it; False where none can."""
        weight, design = self._design(people)
        return possible(self.fit, design, people.counts, second, weight)

    def effects(self, people: StatementPeople) -> tuple[FloatArray, FloatArray, FloatArray]:
        """How far coefficients of people of the first class are off, and what the second moves (see `Reprinted`)."""
        fit, (weight, design) = self.fit, self._design(people)
        cases, flat = people.counts * weight, np.flatnonzero(self.fit.free.ravel())
        means = _means(fit.family, design @ fit.value, np.zeros((len(design), fit.value.shape[1]))).mean
        first, second = (
            (design[:, :, None] * (weight[:, None] * w * (answer - means))[:, None, :]).reshape(len(design), -1)[
                :, flat
            ]
            for w, answer in zip(fit.class_weight, fit.response, strict=True)
        )
        turn = np.linalg.pinv(_hessian(fit, design, cases), hermitian=True) / np.maximum(fit.half.ravel()[flat], 1e-300)
        base = people.counts @ first - ((fit.l2 + fit.mean_l2 * cases.sum()) * fit.value).ravel()[flat]
        none, one = fit.response[:, -1]
        share = np.clip((means[:, -1] - none) / (one - none), 0.0, 1.0)
        return base @ turn, (second - first) @ turn, share

    def _design(self, people: StatementPeople) -> tuple[FloatArray, FloatArray]:
        """The weight of each row and its columns, shapes (n_qi,), (n_qi, n_terms)."""
        weight = np.ones(len(people)) if self.weights is None else people.numbers(self.weights)
        return weight, np.stack([term.numbers(people) for term in self.terms]).T

    def _class(self, response: int, combined: bool) -> int | None:
        """The only class that a row has weights of, if it is one."""
        if response < 0 or not self.fit.plain:
            return None
        if self.fit.family == "multinomial":
            return None if combined else response
        return self.of

    def _says(self, of: tuple[int, int], combined: bool, people: StatementPeople) -> str:
        if of[0] < 0:
            return "sum of squares"
        term = self.terms[of[0]]
        if combined:
            klass = f", {people.classes[of[1]]}," if self.fit.family == "multinomial" else ""
            return f"sum that the coefficient of {term}{klass} alone moves"
        what = "people" if term.column is None else str(term)
        what = what if term.level is None or (term.center, term.scale) != (0.0, 1.0) else f"people with {term}"
        numbers = "" if self.of is not None or self.fit.family == "multinomial" else ", times the number of the class,"
        return f"sum over people of {what}{numbers}" if not what.startswith("people") else f"number of {what}{numbers}"

    def _check_levels(self, people: StatementPeople) -> None:
        """Refuse values that have no term, but one of each column."""
        named: dict[str, list[str | float]] = {}
        for term in self.terms:
            if term.column is not None and term.level is not None:
                named.setdefault(term.column, []).append(term.level)
        for column, levels in named.items():
            known = [*levels, *self.reference.get(column, ())]
            has = [people.has(column, level) for level in known]
            rest = ~np.any(has, axis=0) & (people.counts > 0)
            numbers = [people.has(column, value) & rest for value in people.values(column)] if rest.any() else []
            if sum(bool(mask.any()) for mask in numbers) > (column not in self.reference):
                expected = f"terms for all values of {column} but one, or the others in the key reference"
                raise invalid(people.source, "terms", column, expected, f"terms for {shorten_list(levels)} only")


def _whole(weights: FloatArray, low: float, high: float) -> tuple[float, float]:
    """Sides of a sum of whole numbers, which is one; the least above the greatest where none is printed so."""
    if not (weights == np.rint(weights)).all() or np.abs(weights).sum() > 2.0**52:
        return low, high
    return float(np.ceil(low)) + 0.0, float(np.floor(high)) + 0.0


def _term(keys: Keys) -> Term:
    """The term that an entry of ``terms`` is about."""
    if "intercept" in keys:
        if not keys.flag("intercept", True) or "column" in keys:
            keys.refuse("intercept", "true, or a column in place of it")
        return Term()
    column = keys.text("column")
    level = keys.value("level", column) if "level" in keys else None
    if level is None:
        keys.use(column, numbers=True)
    scale = keys.number("scale", 1.0) if "scale" in keys else 1.0
    if scale == 0:
        keys.refuse("scale", "a number other than 0")
    return Term(column, level, keys.number("center", 0.0) if "center" in keys else 0.0, scale)


def _responses(keys: Keys, family: Family, of: int | None) -> FloatArray:
    """What each class is to the fit, shape (n_classes, n_responses)."""
    n = len(keys.classes)
    if family == "multinomial":
        return np.eye(n)
    if of is not None:
        return np.eye(n)[:, [of]]
    try:
        found = np.array([float(name) for name in keys.classes])[:, None]
    except ValueError:
        keys.refuse("of", "a class, as classes are no numbers", "nothing")
    if not np.isfinite(found).all() or (family == "poisson" and (found < 0).any()):
        keys.refuse("of", "a class, or classes that are numbers the family can have", "nothing")
    return found


def _stopping(keys: Keys, family: Family) -> Stopping:
    """How far from stationary the solver may have stopped."""
    said = {
        name: keys.number(key, 0.0, 0.0) if key in keys else None
        for name, key in (
            ("gradient", "tolerance"),
            ("mean", "mean_tolerance"),
            ("loss", "loss_tolerance"),
            ("deviance", "deviance_tolerance"),
            ("gap", "mean_gap"),
        )
    }
    if said["gradient"] is not None and said["mean"] is not None:
        keys.refuse("mean_tolerance", "tolerance or mean_tolerance, as each bounds the gradient")
    found = Stopping(**said, assumed=keys.flag("assumed", False))
    absolute = any(key in keys and keys.number(key, 0.0, 0.0) > 0 for key in ("l1", "mean_l1"))
    if found.gap is not None and not (absolute and family == "linear"):
        keys.refuse("mean_gap", "no gap, unless of a linear fit with an absolute penalty (l1, mean_l1)")
    if not found.known and family == "linear" and not absolute:
        return replace(found, deviance=0.0)  # solved by factors, not step by step
    if not found.known:
        keys.refuse("tolerance", "the largest gradient at which the fit may have stopped, or mean_tolerance")
    return found


def _class_weight(keys: Keys) -> FloatArray:
    """Weights of classes in their order, 1 where none is given."""
    if "class_weight" not in keys:
        return np.ones(len(keys.classes))
    given = keys.child("class_weight")
    found = np.array([given.number(name, 1.0, 0.0) if name in given else 1.0 for name in keys.classes])
    given.close(*keys.classes)
    return found


def _residual(keys: Keys, penalised: bool) -> tuple[float, float] | None:
    if "residual_se" not in keys:
        return None
    if penalised or "class_weight" in keys or keys.text("family") != "linear":
        keys.refuse("residual_se", "no residual standard error, unless of a linear fit without penalty")
    given = keys.child("residual_se")
    number = given.printed("value")
    given.close()
    return float(number.value), float(number.half) * (1 + 4 * EPS) + EPS * abs(float(number.value))


def _references(keys: Keys, terms: Iterable[Term]) -> Mapping[str, tuple[str | float, ...]]:
    if "reference" not in keys:
        return {}
    given = keys.raw("reference")
    if not isinstance(given, Mapping):
        keys.refuse("reference", "an object from columns to lists of values")
    found = {}
    for column, values in given.items():
        values = values if isinstance(values, list) else [values]
        named = sorted({term.column for term in terms if term.column is not None and term.level is not None})
        if column not in named:
            expected = f"columns of which values have a term: {shorten_list(named) or 'there is none'}"
            keys.refuse("reference", expected, show(column))
        keys.use(column, values=values)
        found[column] = tuple(value if isinstance(value, str) else float(value) for value in values)
    return found
