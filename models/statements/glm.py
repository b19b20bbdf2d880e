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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from maxent.models.arrays import FloatArray

Family = Literal["logistic", "multinomial", "poisson", "linear"]
FAMILIES: tuple[Family, ...] = get_args(Family)

EPS = float(np.finfo(np.float64).eps)
# People that are looked at together.
CHUNK = 1 << 15
# Distinct people up to which combinations of the sums are stated, too: they are what settles small data.
COMBINED = 100_000
# What of the distance to its least loss a solver that stops where the loss hardly falls has closed in its last step.
CLOSED = 1e-4
# Error of least squares by orthogonal factors, relative to the numbers that go in; 4 million units in the last place.
ORTHOGONAL = 1e-9


@dataclass(frozen=True, slots=True)
class Stopping:
    """Where the fit stopped, as far as it is known; each bounds the gradient, and the smallest bound holds.

    ``gradient``: largest entry of the gradient of the loss, a sum over people. ``mean``: the same of the mean loss.
    ``loss``: the fit may also have stopped where one step changed the mean loss by less than this, relative to the loss
    or 1 (L-BFGS). ``deviance``: the last Newton step changed the deviance by less than this, relative to the deviance
    or 1 (iteratively reweighted least squares).
    """

    gradient: float | None = None
    mean: float | None = None
    loss: float | None = None
    deviance: float | None = None

    @property
    def known(self) -> bool:
        return not (self.gradient is None and self.mean is None and self.deviance is None)


@dataclass(frozen=True, slots=True, eq=False)
class Regression:
    """Coefficients as printed, and what was minimised.

    ``value``, ``half``: coefficients and half a unit of their last digit, shape (n_terms, n_responses); one response,
    but of a multinomial one for each class. ``free``, shape (n_terms, n_responses): coefficients that were fitted; that
    of a reference class is 0 and was not. ``response``, shape (n_classes, n_responses): what each class is to the fit.
    ``l2``, ``l1``: penalties of each coefficient, for a loss that sums over people, shape (n_terms, n_responses);
    ``mean_l2``: the same for the mean of the loss. ``class_weight``: shape (n_classes,). ``residual``: the residual
    standard error and half a unit of its last digit.
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
    class_weight: FloatArray
    residual: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Bounds on sums: ``low[r] <= sum_i n_i sum_c weight[r, i, c] share_ic <= high[r]``, with n_i people like i.

    ``weight[r, i, c] = combination[r, i, :] @ response[c, :]``, times a class weight, see `weights`. ``of``: the term
    and response that a row is about, -1 for the sum of squares. ``combined``: whether a row is a combination of sums.
    """

    low: FloatArray
    high: FloatArray
    of: tuple[tuple[int, int], ...]
    combined: tuple[bool, ...]
    weights: FloatArray


def half_unit(text: str) -> float:
    """Half a unit of the last digit of a printed number, ``-1.25e-3`` for example: 0.5e-5; rounded up."""
    mantissa, _, exponent = text.strip().lower().partition("e")
    _, _, decimals = mantissa.partition(".")
    return float(np.nextafter(0.5 * 10.0 ** (int(exponent or 0) - len(decimals)), np.inf))


# The mean of a response given its linear predictor, and ranges of it.


@dataclass(frozen=True, slots=True, eq=False)
class _Means:
    """Means at the printed coefficients, with bounds over the box; shapes (n, n_responses).

    ``slope(d, e)``: derivative of mean d by predictor e and the largest distance of it from that anywhere in the box.
    """

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


def sums_of(fit: Regression, design: FloatArray, people: FloatArray, sample_weight: FloatArray | None = None) -> Sums:
    """Bounds on the sums that a regression states of people with a design, and on combinations of them.

    ``design``: shape (n, n_terms), a row for people who are alike; ``people``: how many, shape (n,);
    ``sample_weight``: how much each of them counted in the fit, shape (n,).
    """
    n, terms = design.shape
    weight = np.ones(n) if sample_weight is None else sample_weight
    cases = people * weight
    which = [(j, d) for j in range(terms) for d in range(fit.value.shape[1]) if fit.free[j, d]]
    plain = np.zeros((len(which), *fit.value.shape))
    for r, (j, d) in enumerate(which):
        plain[r, j, d] = 1.0
    rows, combined, of = plain, [False] * len(which), list(which)
    if n <= COMBINED and len(which) > 1 and (found := _inverse(fit, design, cases, which)) is not None:
        rows = np.concatenate([plain, found])
        combined, of = [*combined, *([True] * len(which))], [*of, *which]
    low, high, _centre = _ends(fit, design, cases, rows)
    weights = np.einsum("rjd,ij,xd->rix", rows, design, fit.response, optimize=True) * weight[:, None]
    if (fit.class_weight != 1).any():
        # Of people of class c the sum has w_c (y - mu): the means stay with the people.
        means = _means(fit.family, design @ fit.value, np.zeros((n, fit.value.shape[1]))).mean
        weights -= np.einsum("rjd,ij,id->ri", rows, design, means, optimize=True)[:, :, None] * weight[:, None]
        weights *= fit.class_weight
    if fit.residual is not None:
        square, ends = _squares(fit, design, people, cases, weight)
        weights = np.concatenate([weights, square[None]])
        low, high = np.append(low, ends[0]), np.append(high, ends[1])
        of, combined = [*of, (-1, -1)], [*combined, False]
    # What the weights themselves lost to rounding, for at most all people.
    lost = 8 * (terms + 4) * EPS * np.einsum("rix,i->r", np.abs(weights), people)
    return Sums(low - lost, high + lost, tuple(of), tuple(combined), weights)


def _blocks(n: int) -> Iterator[slice]:
    return (slice(begin, begin + CHUNK) for begin in range(0, n, CHUNK))


def _predictor(fit: Regression, design: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Linear predictors at the printed coefficients, and how far off they can be anywhere in the box."""
    size = np.abs(design)
    error = (2 * design.shape[1] + 4) * EPS * (size @ np.abs(fit.value))
    return design @ fit.value, (size @ fit.half) * (1 + 1e-12) + error


def _ends(
    fit: Regression, design: FloatArray, cases: FloatArray, rows: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Least and greatest of sums for every b in the box, and their values at the printed b, shapes (n_rows,)."""
    n_rows, terms, responses = rows.shape
    least_weight, most_weight = float(fit.class_weight.min()), float(fit.class_weight.max())
    middle, spread = (least_weight + most_weight) / 2, (most_weight - least_weight) / 2
    plain = most_weight == least_weight == 1
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
    shift = (rows * l2 * fit.value).sum(axis=(1, 2)) + (rows * fit.l1 * (sign_low + sign_high) / 2).sum(axis=(1, 2))
    subgradient = (np.abs(rows) * fit.l1 * (sign_high - sign_low) / 2).sum(axis=(1, 2))
    box = fit.half * (1 + 1e-12)
    slack = ((np.abs(gradient) + off) * box).sum(axis=(1, 2))
    stop = (np.abs(rows) * _tolerance(fit, design, cases, gross)).sum(axis=(1, 2))
    lost = (len(design) + 4 * terms + 40) * EPS * most_weight * (size + np.abs(shift) + slack) + blur
    extra = subgradient + stop + lost
    if not plain:  # the means stand on the side of the people
        return shift - slack - extra, shift + slack + extra, shift
    moved = (np.abs(rows) * l2 * box).sum(axis=(1, 2))
    least = np.maximum(centre - slack, low - moved) + shift - extra
    most = np.minimum(centre + slack, high + moved) + shift + extra
    return least, most, centre + shift


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
            mean = np.maximum(mean, np.sqrt(2 * bend * stop.loss * max(_start(fit), 1.0) / CLOSED))
        found = np.minimum(found, mean * max(total * max(heaviest, 1.0), 1.0))
    if stop.gradient is not None:
        found = np.minimum(found, stop.gradient)
    return found


def _start(fit: Regression) -> float:
    """Largest deviance of a person before anything is fitted but, of counts, their mean."""
    if fit.family == "poisson":
        return 2 * max(float(fit.response.max()), 1.0)
    if fit.family == "linear":
        return float(np.square(fit.response).max())
    return 2 * float(np.log(max(2, len(fit.response))))


def _inverse(
    fit: Regression, design: FloatArray, cases: FloatArray, which: Sequence[tuple[int, int]]
) -> FloatArray | None:
    """Combinations of sums that move with one coefficient each, shape (n_rows, n_terms, n_responses)."""
    terms, responses = fit.value.shape
    means = _means(fit.family, design @ fit.value, np.zeros((len(design), responses)))
    matrix = np.zeros((terms, responses, terms, responses))
    for d in range(responses):
        for e in range(responses):
            if d == e or fit.family == "multinomial":
                at, _ = means.slope(d, e)
                matrix[:, d, :, e] = (design * (cases * at)[:, None]).T @ design
    flat = [j * responses + d for j, d in which]
    square = matrix.reshape(terms * responses, -1)[np.ix_(flat, flat)]
    square[np.diag_indices_from(square)] += (fit.l2 + fit.mean_l2 * cases.sum()).reshape(-1)[flat]
    if not np.isfinite(square).all():
        return None
    inverse = np.linalg.pinv(square, rcond=1e-10, hermitian=True)
    rows = np.zeros((len(which), terms * responses))
    rows[:, flat] = inverse
    rows = rows.reshape(-1, terms, responses)
    largest = np.max([np.abs(design @ rows[:, :, d].T).max(axis=0) for d in range(responses)], axis=0)
    kept = np.isfinite(largest) & (largest > 0)
    return np.asarray(rows[kept] / largest[kept, None, None]) if kept.all() else None


def _squares(
    fit: Regression, design: FloatArray, people: FloatArray, cases: FloatArray, weight: FloatArray
) -> tuple[FloatArray, tuple[float, float]]:
    """The sum of squares that a residual standard error states, by weight of each person and class, and its bounds.

    It is least at the fit, and greater by a quadratic form at the printed coefficients.
    """
    assert fit.residual is not None
    printed, half = fit.residual
    freedom = float(people.sum()) - float(np.linalg.matrix_rank(design))
    weights = np.square(fit.response[:, 0][None, :] - (design @ fit.value)[:, [0]]) * weight[:, None]
    box = fit.half[:, 0] * (1 + 1e-12)
    form = np.abs((design * cases[:, None]).T @ design)
    beyond = float(box @ form @ box)
    slope = float((_tolerance(fit, design, cases, np.abs(design).T @ cases[:, None])[:, 0] * box).sum()) * 2
    low, high = max(printed - half, 0.0) ** 2 * freedom, (printed + half) ** 2 * freedom + beyond
    slack = slope + 64 * len(design) * EPS * (high + 1.0)
    return weights, (low - slack, high + slack)


def class_weights(classes: Sequence[str], given: Mapping[str, float]) -> FloatArray:
    """Weights of classes in their order, 1 where none is given."""
    return np.array([float(given.get(name, 1.0)) for name in classes])
