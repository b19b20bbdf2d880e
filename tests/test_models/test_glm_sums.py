"""What printed coefficients state: the truth is inside, whatever was fitted, and however the fit stopped."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import ElasticNet, LogisticRegression, PoissonRegressor, Ridge

from maxent.models.arrays import FloatArray
from maxent.models.statements.glm import EPS, Regression, RegressionSums, Stopping, _tolerance, prints, sums_of
from tests.support.search import cases

LBFGS = 64 * EPS


def regression(family: Any, b: FloatArray, response: FloatArray, stopping: Stopping, **more: Any) -> Regression:
    """A regression without penalties, with all coefficients in full."""
    none = np.zeros(b.shape)
    said = {"free": none == 0, "class_weight": np.ones(len(response))}
    said |= dict.fromkeys(("l2", "l1", "mean_l2", "mean_l1"), none)
    return Regression(family, b, none, response, stopping, **{**said, **more})


def printed(fit: Regression, digits: int) -> Regression:
    """The same with coefficients of so many decimals."""
    return replace(fit, value=fit.value.round(digits), half=np.where(fit.free, 0.5 * 10.0**-digits, 0.0))


def drawn(random: np.random.Generator) -> tuple[FloatArray, Any]:
    """A design with an intercept, columns of any size and dummies, and how much each person counts."""
    n, width = int(random.integers(8, 200)), int(random.integers(1, 5))
    x = random.normal(size=(n, width)) * 10.0 ** random.integers(-2, 5, size=width)
    dummy = random.random(width) < 0.5
    x[:, dummy] = x[:, dummy] > 0
    return np.c_[np.ones(n), x], random.integers(1, 4, n).astype(float) if random.random() < 0.3 else None


def fitted(random: np.random.Generator, design: FloatArray, weight: Any) -> tuple[Regression, Any]:
    """A fit of scikit-learn with any of its options, and the classes of people."""
    x, n = design[:, 1:], len(design)
    kind = random.choice(["logistic", "multinomial", "poisson", "linear", "ridge"])
    if kind in ("logistic", "multinomial"):
        k = 2 if kind == "logistic" else 3
        y = random.integers(0, k, n)
        y[:k] = range(k)
        of_class = random.integers(1, 5, k).astype(float) if random.random() < 0.4 else np.ones(k)
        c, tol = random.choice([np.inf, 1.0, 0.1, 10.0]), 10.0 ** -random.integers(3, 8)
        model = LogisticRegression(C=c, tol=tol, max_iter=20_000, class_weight=dict(enumerate(of_class)))
        model.fit(x, y, weight)
        b = np.c_[model.intercept_, model.coef_].T
        response = np.eye(3) if k == 3 else np.array([[0.0], [1.0]])
        l2 = np.full(b.shape, 1 / c) * (np.arange(len(b)) > 0)[:, None]
        return regression(kind, b, response, Stopping(mean=tol, loss=LBFGS), l2=l2, class_weight=of_class), y
    y, response = random.integers(0, 4, n), np.arange(4.0)[:, None]
    if kind == "poisson":
        alpha = float(random.choice([0.0, 1.0]))
        model = PoissonRegressor(alpha=alpha, tol=1e-5, max_iter=20_000).fit(x, y, weight)
        stopping = Stopping(mean=1e-5, loss=LBFGS)
    else:
        alpha = 2.0 if kind == "ridge" else 0.0
        if not alpha:
            root = np.ones(n) if weight is None else np.sqrt(weight)
            b = np.linalg.lstsq(design * root[:, None], y * root, rcond=None)[0][:, None]
            return regression("linear", b, response, Stopping(deviance=0.0)), y
        model = Ridge(alpha=alpha).fit(x, y, weight)
        stopping = Stopping(deviance=0.0)
    b = np.r_[model.intercept_, model.coef_][:, None]
    penalty = np.full(b.shape, alpha) * (np.arange(len(b)) > 0)[:, None]
    key = "mean_l2" if kind == "poisson" else "l2"
    return regression("poisson" if kind == "poisson" else "linear", b, response, stopping, **{key: penalty}), y


def off(found: RegressionSums, y: Any) -> FloatArray:
    """By how much the truth is outside of each row, 0 where it is inside."""
    truth = np.array([found.weights(r)[np.arange(len(y)), y].sum() for r in range(len(found.low))])
    return np.asarray(np.maximum(found.low - truth, truth - found.high).clip(0))


@pytest.mark.search
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", cases(0, 40, hunted=400))
def test_the_truth_is_inside(seed: int) -> None:
    random = np.random.default_rng(seed)
    design, weight = drawn(random)
    fit, y = fitted(random, design, weight)
    n = len(design)
    for digits in (1, 3, 6):
        said = printed(fit, digits)
        if fit.family == "linear" and not fit.l2.any() and n > design.shape[1]:
            rest = y - design @ fit.value[:, 0]
            error = float(np.sqrt((rest**2 * (1 if weight is None else weight)).sum() / (n - _rank(design))))
            said = replace(said, residual=(round(error, digits), 0.5 * 10.0**-digits))
        assert not off(sums_of(said, design, np.ones(n), weight), y).any()
        assert prints(said, design, np.eye(len(fit.response))[y] * (1.0 if weight is None else weight[:, None]))


@pytest.mark.parametrize("digits", [0, 1])
def test_an_exact_fit_is_printed_by_its_people_and_by_no_others_that_rule_it_out(digits: int) -> None:
    told = []
    for seed in range(12):
        random = np.random.default_rng(seed)
        design = np.c_[np.ones(8), random.random(8) < 0.5, random.choice([0, 2, 3.5, 20, 45], 8)]
        y = np.r_[0, 1, random.integers(0, 2, 6)]
        model = LogisticRegression(C=1.0, tol=1e-10, max_iter=5000).fit(design[:, 1:], y)
        b = np.c_[model.intercept_, model.coef_].T
        l2 = np.array([[0.0], [1.0], [1.0]])
        said = printed(regression("logistic", b, np.array([[0.0], [1.0]]), Stopping(mean=1e-6), l2=l2), digits)
        assert prints(said, design, np.eye(2)[y]) is True
        told.append(prints(said, design, np.eye(2)[1 - y]))
    assert False in told


def test_degrees_of_freedom_are_of_people_who_weigh_something() -> None:
    """R: `lm(y ~ 1, weights = c(0, 1, 1, 1))` of 3, 0, 1, 2 has a residual standard error of 1, on 2 degrees."""
    fit = regression("linear", np.ones((1, 1)), np.arange(4.0)[:, None], Stopping(deviance=0.0))
    said = replace(printed(fit, 3), residual=(1.0, 0.0005))
    found = sums_of(said, np.ones((4, 1)), np.ones(4), np.array([0.0, 1.0, 1.0, 1.0]))
    assert not off(found, np.array([3, 0, 1, 2])).any()


def _rank(design: FloatArray) -> int:
    return int(np.linalg.matrix_rank(design))


@pytest.mark.search
@pytest.mark.parametrize("seed", cases(100, 20, hunted=200))
def test_absolute_penalties_are_followed_by_their_subgradients(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(10, 60))
    design = np.c_[np.ones(n), random.normal(size=(n, 3))]
    y = (random.random(n) < 0.5).astype(int)
    l1, l2 = np.array([0.0, *[float(random.choice([0.5, 3.0, 40.0]))] * 3]), np.array([0, 1.0, 1.0, 1.0])
    b = np.zeros(4)
    step = 1 / (np.linalg.norm(design, 2) ** 2 / 4 + 1)
    for _ in range(4000):  # proximal gradient steps
        b = b - step * (design.T @ (1 / (1 + np.exp(-design @ b)) - y) + l2 * b)
        b = np.sign(b) * np.maximum(np.abs(b) - step * l1, 0)
    slope = design.T @ (y - 1 / (1 + np.exp(-design @ b))) - l2 * b
    gradient = float(np.where(b == 0, np.maximum(np.abs(slope) - l1, 0), np.abs(slope - l1 * np.sign(b))).max())
    more = {"l1": l1[:, None], "l2": l2[:, None]}
    two = np.array([[0.0], [1.0]])
    fit = regression("logistic", b[:, None], two, Stopping(gradient=gradient + 1e-12), **more)
    for digits in (1, 3):
        assert not off(sums_of(printed(fit, digits), design, np.ones(n)), y).any()
    none = (b == 0) & (l1 > 0)  # an intercept without a penalty can be 0 as well: of as many of both classes
    if none.any():  # what a coefficient of 0 leaves open is as wide as its penalty
        found = sums_of(fit, design, np.ones(n))
        assert (found.high - found.low)[:4][none].min() >= 2 * 0.5


@pytest.mark.search
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", cases(300, 30, hunted=600))
def test_a_lasso_is_as_near_as_its_duality_gap(seed: int) -> None:
    """Also one that did not converge, whose coefficients are small but of another sign than at the optimum, or 0."""
    random = np.random.default_rng(seed)
    design, weight = drawn(random)
    if random.random() < 0.8:  # columns that are alike, with which it takes long
        like = random.normal(size=(len(design), 1)) + 0.3 * random.normal(size=(len(design), 4))
        design = np.c_[design[:, :1], like * random.choice([0.1, 1.0, 5.0], size=4)]
    design[:, 1:] += random.choice([0.0, 3.0])
    y = np.clip(np.rint(1.5 + random.normal(size=len(design)) + design[:, -1]), 0, 3).astype(int)
    alpha, ratio = 10.0 ** random.integers(-4, 0), float(random.choice([1.0, 0.5, 0.05]))
    how = {"tol": 10.0 ** -random.integers(1, 11), "max_iter": int(random.choice([1, 2, 3, 10_000]))}
    how |= {"precompute": bool(random.random() < 0.3), "selection": random.choice(["cyclic", "random"])}
    bare = int(random.random() < 0.7)  # whether there is an intercept
    model = ElasticNet(alpha=alpha, l1_ratio=ratio, fit_intercept=bool(bare), **how).fit(design[:, 1:], y, weight)
    b = np.r_[[model.intercept_] * bare, model.coef_][:, None]
    own = np.r_[[0.0] * bare, np.ones(len(model.coef_))][:, None] * alpha
    more = {"mean_l1": own * ratio, "mean_l2": own * (1 - ratio)}
    fit = regression("linear", b, np.arange(4.0)[:, None], Stopping(gap=float(model.dual_gap_)), **more)
    design = design[:, 1 - bare :]
    people = np.ones(len(design))
    assert not off(sums_of(fit, design, people, weight), y).any()
    for digits in (1, 3, 6):
        assert not off(sums_of(printed(fit, digits), design, people, weight), y).any()


@pytest.mark.parametrize("family", ["logistic", "multinomial", "poisson", "linear"])
@pytest.mark.parametrize("seed", range(4))
def test_no_coefficients_in_the_box_are_outside(family: Any, seed: int) -> None:
    random = np.random.default_rng(seed)
    design, _ = drawn(random)
    design[:, 1:] /= np.abs(design[:, 1:]).max(axis=0)
    k = 3 if family == "multinomial" else 1
    b = random.normal(size=(design.shape[1], k))
    response = np.eye(3) if k == 3 else np.array([[0.0], [1.0]])
    for half in (0.5, 0.05):
        fit = replace(regression(family, b, response, Stopping(gradient=0.0), l2=np.full(b.shape, 0.3)))
        fit = replace(fit, half=np.full(b.shape, half))
        people = random.integers(1, 4, len(design)).astype(float)
        found = sums_of(fit, design, people)
        plain = [r for r, combined in enumerate(found.combined) if not combined]
        for _ in range(200):
            other = b + half * np.sign(random.normal(size=b.shape)) * random.choice([1.0, random.random()])
            eta = design @ other
            if family == "multinomial":
                mean = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
            else:
                mean = {"logistic": 1 / (1 + np.exp(-eta)), "poisson": np.exp(eta), "linear": eta}[family]
            sums = (design.T @ (mean * people[:, None]) + 0.3 * other).reshape(-1)
            assert (found.low[plain] <= sums).all()
            assert (sums <= found.high[plain]).all()


def test_an_intercept_alone_is_a_count() -> None:
    # 100 people, log odds printed as -1.10: from 100 / (1 + e^1.105) = 24.88 to 100 / (1 + e^1.095) = 25.06
    fit = regression("logistic", np.array([[-1.10]]), np.array([[0.0], [1.0]]), Stopping(gradient=0.0))
    found = sums_of(replace(fit, half=np.array([[0.005]])), np.ones((1, 1)), np.array([100.0]))
    assert found.low[0] == pytest.approx(100 / (1 + np.exp(1.105)), abs=1e-9)
    assert found.high[0] == pytest.approx(100 / (1 + np.exp(1.095)), abs=1e-9)
    assert found.low[0] <= 25 <= found.high[0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("digits", "right"), [(4, 26), (3, 26)])
def test_default_coefficients_are_the_cases_of_every_category(digits: int, right: int) -> None:
    random = np.random.default_rng(3)
    n = 5000
    job = random.choice(15, n, p=np.arange(1, 16) / 120)
    people = pd.DataFrame({"region": random.integers(0, 12, n), "job": job, "sex": random.integers(0, 2, n)})
    x = pd.get_dummies(people.astype(str), drop_first=True).to_numpy(float)
    y = (random.random(n) < 1 / (1 + np.exp(2.5 - x @ (random.normal(size=x.shape[1]) * 0.8)))).astype(int)
    model = LogisticRegression(max_iter=5000).fit(x, y)
    b = np.r_[model.intercept_, model.coef_[0]][:, None]
    l2 = (np.arange(27) > 0)[:, None].astype(float)
    two = np.array([[0.0], [1.0]])
    fit = printed(regression("logistic", b, two, Stopping(mean=1e-4, loss=LBFGS), l2=l2), digits)
    found = sums_of(fit, np.c_[np.ones(n), x], np.ones(n))
    low, high = np.ceil(found.low[1:27]), np.floor(found.high[1:27])
    assert (low == high).sum() == right
    assert (low == x.T @ y).all()


@pytest.mark.search
@pytest.mark.parametrize("seed", cases(200, 30, hunted=1000))
def test_reweighted_least_squares_stop_as_near_as_is_said(seed: int) -> None:
    random = np.random.default_rng(seed)
    design, _ = drawn(random)
    design[:, 1:] /= np.abs(design[:, 1:]).max(axis=0)
    n = len(design)
    y = (random.random(n) < 1 / (1 + np.exp(-design @ random.normal(size=design.shape[1])))).astype(float)
    if y.min() == y.max():
        y[0] = 1 - y[0]
    for epsilon in (1e-4, 1e-8):
        b, deviance = np.zeros(design.shape[1]), np.inf
        for _ in range(25):
            p = 1 / (1 + np.exp(-design @ b))
            b = b + np.linalg.lstsq((design.T * (p * (1 - p))) @ design, design.T @ (y - p), rcond=1e-12)[0]
            eta = design @ b
            before, deviance = deviance, float(2 * (np.logaddexp(0, eta) - y * eta).sum())
            if abs(before - deviance) < epsilon * (abs(deviance) + 0.1):
                break
        else:
            return  # did not converge: nothing is read of such a fit
        fit = regression("logistic", b[:, None], np.array([[0.0], [1.0]]), Stopping(deviance=epsilon))
        gradient = np.abs(design.T @ (y - 1 / (1 + np.exp(-design @ b))))
        assert (gradient <= _tolerance(fit, design, np.ones(n), np.abs(design).T @ np.ones((n, 1)))[:, 0]).all()
