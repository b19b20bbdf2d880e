"""The kind ``glm`` of statements: from a document to bounds."""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import LinearConstraint, milp, minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

import maxent
from maxent.api.estimate import compile_release
from maxent.models.arrays import FloatArray
from maxent.models.errors import InvalidInput
from maxent.models.statements.glm import Coefficients, prints
from maxent.models.statements.read import parse_statements
from maxent.solvers.certainty import refits
from maxent.solvers.certainty.sums import sparse_rows
from tests.support.search import cases

CLASSES = ["no", "yes"]
# Seeds, people, decimals and penalties of regressions on columns in raw units.
RAW = [(1, 12, 1, 1.0), (2, 12, 1, 0.0), (3, 12, 2, 1.0), (4, 12, 3, 0.0)]


def document(*statements: Any, classes: list[str] = CLASSES) -> dict[str, Any]:
    return {
        "format": "maxent-statements/1",
        "target": {"name": "y", "classes": classes},
        "statements": [{"kind": "glm", **each} for each in statements],
    }


def people(random: np.random.Generator, n: int) -> pd.DataFrame:
    """People with an age, a region, and a class that depends on both."""
    frame = pd.DataFrame({"age": random.integers(20, 80, n), "region": random.choice(["a", "b", "c"], n)})
    odds = 0.05 * (frame.age - 50) + (frame.region == "b") + random.normal(size=n)
    return frame.assign(y=np.where(odds > 0, "yes", "no"))


def logistic(frame: pd.DataFrame, digits: int, **options: Any) -> dict[str, Any]:
    """The statement of a logistic regression of scikit-learn, its age centred."""
    levels = sorted(set(frame.region))[1:]
    x = np.c_[(frame.age - 50) / 10, *[frame.region == level for level in levels]].astype(float)
    model = LogisticRegression(max_iter=10_000, **options).fit(x, frame.y)
    age, *rest = [f"{b:.{digits}f}" for b in model.coef_[0]]
    terms = [
        {"intercept": True, "value": f"{model.intercept_[0]:.{digits}f}"},
        {"column": "age", "center": 50, "scale": 10, "value": age},
        *({"column": "region", "level": level, "value": b} for level, b in zip(levels, rest, strict=True)),
    ]
    said = {"l2": 1 / model.C, "mean_tolerance": model.tol, "loss_tolerance": 1.5e-14}
    return {"family": "logistic", "of": "yes", "source": "Table 2", "terms": terms, **said}


@pytest.mark.search
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", cases(0, 6, hunted=60))
def test_bounds_hold_the_truth(seed: int) -> None:
    random = np.random.default_rng(seed)
    frame = people(random, int(random.integers(8, 40)))
    frame.loc[:1, "y"] = CLASSES
    said = logistic(frame, int(random.integers(1, 5)), C=float(random.choice([1.0, 0.1, np.inf])))
    release = parse_statements(document(said), "paper.json").release
    found = maxent.bounds(release, frame.drop(columns="y"), level="linear").frame()
    truth = frame.assign(one=1).pivot_table(index=["age", "region"], columns="y", values="one", aggfunc="sum")
    for (age, region), row in truth.fillna(0).iterrows():
        mine = found[(found.age.astype(float) == float(age)) & (found.region == region)].set_index("class")
        for name in CLASSES:
            share = row[name] / row.sum()
            assert mine.low[name] - 1e-9 <= share <= mine.high[name] + 1e-9


@pytest.mark.filterwarnings("ignore")
def test_a_category_is_counted_exactly() -> None:
    frame = people(np.random.default_rng(1), 300)
    release = parse_statements(document(logistic(frame, 4, tol=1e-6)), "paper.json").release
    program = compile_release(release, frame.drop(columns="y"))
    for region in ("b", "c"):
        number = int(((frame.region == region) & (frame.y == "yes")).sum())
        row = next(row for row in program.linear if f"region={region}" in str(row.origin) and "number" in row.says)
        assert row.says.startswith(f"number of people with region={region} of yes: {number}")
        assert "Table 2, coefficient of region=" in str(row.origin)


def test_counts_and_numbers_of_classes() -> None:
    # Six people, y = 0, 1, 2: their mean is the only coefficient; least squares state the sum 6, Poisson log 1 = 0
    for family, value in (("linear", "1.00"), ("poisson", "0.00")):
        terms = [{"intercept": True, "value": value}]
        said = {"family": family, "terms": terms, **({"tolerance": 1e-6} if family == "poisson" else {})}
        release = parse_statements(document(said, classes=["0", "1", "2"]), "paper.json").release
        program = compile_release(release, pd.DataFrame({"a": ["x", "x", "y", "y", "z", "z"]}))
        (row,) = [row for row in program.linear if row.kind == "statements"]
        low, high = (row.lower[0] * row.unit, row.upper[0] * row.unit)
        assert low == pytest.approx(6, abs=0.05)
        assert high == pytest.approx(6, abs=0.05)
        assert low <= 6 <= high


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"family": "probit"}, "family"),
        ({"of": "maybe"}, "a class"),
        ({"mean_tolerance": None, "loss_tolerance": None}, "tolerance"),
        ({"l2": -1}, "l2"),
        ({"terms": [{"intercept": True, "value": "1.0"}, {"intercept": True, "value": "1.0"}]}, "several times"),
        ({"terms": [{"column": "age", "value": "1.0", "scale": 0}]}, "scale"),
        ({"terms": [{"column": "age", "value": "1.0x"}]}, "value"),
        ({"family": "linear", "of": None}, "classes are no numbers"),
        ({"residual_se": {"value": "1.0"}}, "residual"),
        ({"solver": "lbfgs"}, "residual_se, source, terms, tolerance, weights, where, found an unknown key"),
        ({"class_weights": {}}, "an unknown key; did you mean 'class_weight'"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_is_wrong_is_named(change: dict[str, Any], says: str) -> None:
    said = {**logistic(people(np.random.default_rng(2), 20), 2), **change}
    with pytest.raises(InvalidInput, match=r"Table 2") as error:
        parse_statements(document({k: v for k, v in said.items() if v is not None}), "paper.json")
    assert says in str(error.value)


@pytest.mark.filterwarnings("ignore")
def test_a_value_without_a_coefficient_is_listed_once_beside_a_table() -> None:
    frame = people(np.random.default_rng(1), 60)
    hidden = [{"at": ["a"], "class": "yes", "count": None}]
    cells = {"kind": "table", "by": ["region"], "secondary": True, "cells": hidden, "source": "Table 1"}
    release = parse_statements(document(cells, logistic(frame, 6, tol=1e-9)), "paper.json").release
    told = maxent.audit(release, frame.drop(columns="y"))["statements"]
    number = int(((frame.region == "a") & (frame.y == "yes")).sum())
    mine = [(each["source"], each["number"]) for each in told["unprinted"] if each["who"] == "region a"]
    assert mine == [("paper.json, Table 1, cell region a", number)]


@pytest.mark.filterwarnings("ignore")
def test_values_without_a_term_are_refused() -> None:
    frame = people(np.random.default_rng(2), 30)
    said = logistic(frame, 2)
    del said["terms"][-1]
    with pytest.raises(InvalidInput, match="reference"):
        compile_release(parse_statements(document(said), "paper.json").release, frame)
    said["reference"] = {"region": ["a", "c"]}
    compile_release(parse_statements(document(said), "paper.json").release, frame)


def test_a_coefficient_with_too_few_digits_for_its_column_is_named() -> None:
    """An income in full and a coefficient that is printed as 0."""
    frame = pd.DataFrame({"age": [30.0, 40.0, 50.0], "income": [1e5, 2e5, 3e5]})
    terms = [
        {"intercept": True, "value": "0.1"},
        {"column": "age", "value": "0.02"},
        {"column": "income", "value": "0"},
    ]
    said = {"family": "poisson", "terms": terms, "tolerance": 1e-6}
    release = parse_statements(document(said, classes=["0", "1"]), "paper.json").release
    with pytest.raises(InvalidInput, match=r"terms: income: expected more digits: half .*, 0\.5, .* found 0$"):
        maxent.bounds(release, frame, level="closed")


def test_coefficients_to_which_no_number_of_people_rounds_are_refused() -> None:
    """Six people with log odds 0.50: 3.73 of them, give or take 0.01."""
    told = {"family": "logistic", "of": "yes", "tolerance": 1e-6, "source": "Table 2"}
    said = document({**told, "terms": [{"intercept": True, "value": "0.50"}]})
    frame = pd.DataFrame({"a": list("xxyyzz")})
    for level in ("closed", "integer"):
        with pytest.raises(InvalidInput, match=r"Table 2, coefficient of intercept.*no whole number, between 3 and 4"):
            maxent.bounds(parse_statements(said, "paper.json").release, frame, level=level)


SMALL = (
    # Of all 64 tables few print these.
    ({"l2": 0.3}, {"age": [30, 30, 22, 22, 22, 37], "region": list("NWNNNW")}, [-0.4, 0.0, -0.1], "W"),
    # One table does.
    ({"l1": 1.0}, {"age": [57, 45, 57, 37, 31, 53], "dose": [1, 6, 4, 0, 0, 4]}, [4.2, -0.1, 0.3], None),
)


@pytest.mark.parametrize("judged", [0, refits.JUDGED])
@pytest.mark.parametrize(("penalty", "columns", "printed", "level"), SMALL)
def test_classes_that_only_refits_settle_are_not_passed(
    penalty: dict[str, float],
    columns: dict[str, list[Any]],
    printed: list[float],
    level: str | None,
    judged: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sums leave more classes of six people open than the digits do."""
    monkeypatch.setattr(refits, "JUDGED", judged)
    monkeypatch.setattr(refits, "ATTEMPTS", 0)
    frame = pd.DataFrame(columns)
    intercept, age, other = map(str, printed)
    of_level = {} if level is None else {"level": level}
    terms = [
        {"intercept": True, "value": intercept},
        {"column": "age", "value": age},
        {"column": frame.columns[1], "value": other, **of_level},
    ]
    said = document({"family": "logistic", "of": "yes", "terms": terms, "tolerance": 1e-6, **penalty})
    release = parse_statements(said, "paper.json").release
    limits = {"max_certain": 0, "max_certain_proved": 0, "max_stated_zeros": 0}
    rows = {row.check.key: row.status for row in maxent.check(release, frame, {"limits": limits}).rows}
    found = maxent.bounds(release, frame, level="integer")
    assert rows["max_certain"] == rows["max_certain_proved"] == ("fail" if judged else "cannot_tell")
    assert rows["max_stated_zeros"] == "cannot_tell"
    assert (found.summary["status"], bool(found.summary["pairs_not_asked"])) == (
        ("proved", False) if judged else ("time_limit", True)
    )
    for said in ("regression", "not the time limit of the call"):
        assert any(said in note for note in found.summary.get("notes", [])) is not bool(judged)


def fits(z: Any, tables: Any, ridge: float) -> Any:
    """Coefficients of a logistic regression of many tables of classes by Newton steps; large where they diverge."""
    b, ridges = np.zeros((len(tables), z.shape[1])), ridge * np.r_[0.0, np.ones(z.shape[1] - 1)]
    for _ in range(60):
        mean = 1 / (1 + np.exp(-np.clip(b @ z.T, -50, 50)))
        bend = np.einsum("ki,ia,ib->kab", mean * (1 - mean), z, z) + np.diag(ridges + 1e-12)
        step = np.linalg.solve(bend, ((tables - mean) @ z - ridges * b)[:, :, None])[:, :, 0]
        b += step * np.minimum(1, 4 / np.maximum(np.abs(step @ z.T).max(axis=1), 1e-9))[:, None]
    return np.column_stack([b[:, 0] - 5 * b[:, 1:].sum(axis=1), b[:, 1:] / 10])  # of columns about 50 +- 10


def raw_units(seed: int, n: int, digits: int, l2: float) -> tuple[pd.DataFrame, Any, Any, dict[str, Any]]:
    """Four columns about 50 +- 10, the same about 0 +- 1, classes (0, 1), and the regression of these on the first."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({f"x{i}": np.round(random.normal(50, 10, n), 1) for i in range(4)})
    y = (random.random(n) < 1 / (1 + np.exp((50 - frame.x0) / 10))).to_numpy(np.float64)
    z = np.c_[np.ones(n), (frame - 50) / 10]
    names: list[dict[str, Any]] = [{"intercept": True}, *({"column": name} for name in frame)]
    printed = [f"{b:.{digits}f}" for b in fits(z, y[None], l2 / 100)[0]]
    terms = [{**name, "value": value} for name, value in zip(names, printed, strict=True)]
    said = {"family": "logistic", "of": "yes", "terms": terms, "tolerance": 1e-7, "source": "Table 2", "l2": l2}
    return frame, z, y, document(said)


@pytest.mark.parametrize(("seed", "n", "digits", "l2"), RAW)
def test_few_people_in_raw_units_are_settled_as_refits_of_all_tables_do(
    seed: int, n: int, digits: int, l2: float
) -> None:
    """The box of printed coefficients is wide in raw units, so that sums leave most classes open."""
    frame, z, y, said = raw_units(seed, n, digits, l2)
    tables = (np.arange(1 << n)[:, None] >> np.arange(n) & 1).astype(float)
    printed = np.array([float(term["value"]) for term in said["statements"][0]["terms"]])
    tables = tables[(np.abs(fits(z, tables, l2 / 100) - printed) <= 0.5 * 10.0**-digits).all(axis=1)]
    assert (tables == y).all(axis=1).any()
    found = maxent.bounds(parse_statements(said, "paper.json").release, frame, level="integer")
    yes = found.frame().query("`class` == 'yes'").astype({name: float for name in frame})
    both = frame.assign(least=tables.min(axis=0), most=tables.max(axis=0)).merge(yes)
    assert len(both) == n
    assert (both.least.tolist(), both.most.tolist()) == (both.low.tolist(), both.high.tolist())
    assert (found.summary["status"], found.summary["pairs_not_asked"]) == ("proved", 0)


@pytest.mark.parametrize("seed", [pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_sixty_people_in_raw_units_are_settled(seed: int) -> None:
    frame, _, _, said = raw_units(seed, 60, 2, 0.0)
    found = maxent.bounds(parse_statements(said, "paper.json").release, frame, level="integer")
    assert (found.summary["status"], found.summary["pairs_not_asked"], found.certain_proved) == ("proved", 0, 0)


def test_classes_that_tables_print_both_ways_are_open() -> None:
    """Three of six have log odds of 0, whoever they are."""
    terms = [{"intercept": True, "value": "0.0"}]
    said = document({"family": "logistic", "of": "yes", "terms": terms, "tolerance": 1e-6})
    release = parse_statements(said, "paper.json").release
    rows = maxent.check(release, pd.DataFrame({"a": list("uvwxyz")}), {"limits": {"max_certain": 0}}).rows
    assert [row.status for row in rows if row.check.key == "max_certain"] == ["pass"]


@pytest.mark.search
@pytest.mark.parametrize("seed", cases(3, 10, hunted=1000))
def test_what_prints_a_fit_with_an_absolute_penalty_is_told(seed: int) -> None:
    """Of all labellings those whose fits round to the printed digits are not refuted, and none is found that is far."""
    random = np.random.default_rng(seed)
    n, digits, l1 = int(random.integers(4, 7)), int(random.integers(1, 4)), float(random.choice([0.3, 1.0]))
    design = np.c_[np.ones(n), random.integers(-3, 4, n), random.integers(20, 60, n) / 10]
    labellings = [np.array(each) for each in product([0.0, 1.0], repeat=n) if 0 < sum(each) < n]
    told = [absolute_fit(design, labels, l1) for labels in labellings]
    printed = told[int(random.integers(len(told)))].round(digits)
    terms = [
        {"intercept": True, "value": f"{printed[0]:.{digits}f}"},
        *({"column": f"x{i}", "value": f"{printed[i]:.{digits}f}"} for i in (1, 2)),
    ]
    said = document({"family": "logistic", "of": "yes", "terms": terms, "tolerance": 1e-6, "l1": l1})
    content = parse_statements(said, "paper.json").release.statements[0].statements[0].content
    assert isinstance(content, Coefficients)
    for labels, fitted in zip(labellings, told, strict=True):
        found = prints(content.fit, design, np.c_[1 - labels, labels])
        off = float(np.abs(fitted - printed).max())
        assert off > 0.5 * 10**-digits - 1e-5 or found is not False
        assert off < 0.5 * 10**-digits + 1e-3 or found is not True


def absolute_fit(design: FloatArray, labels: FloatArray, l1: float) -> FloatArray:
    """Coefficients of least loss with an absolute penalty, each a positive less a negative part."""
    terms = design.shape[1]
    penalty = np.r_[0.0, np.full(terms - 1, l1)]

    def loss(parts: FloatArray) -> tuple[float, FloatArray]:
        predictor = design @ (parts[:terms] - parts[terms:])
        slope = design.T @ (expit(predictor) - labels)
        value = np.logaddexp(0, predictor).sum() - labels @ predictor + penalty @ (parts[:terms] + parts[terms:])
        return float(value), np.r_[slope + penalty, penalty - slope]

    limits, options = [(0, None)] * (2 * terms), {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 5000}
    parts = minimize(loss, np.zeros(2 * terms), jac=True, bounds=limits, method="L-BFGS-B", options=options).x
    return np.asarray(parts[:terms] - parts[terms:])


@pytest.mark.search
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", cases(0, 6, hunted=200))
def test_regressions_that_shares_of_people_contradict_are_refused_by_linear_programs(seed: int) -> None:
    """Of the same people with other labels: proved is only what shares of people, by another solver, can be."""
    random = np.random.default_rng(seed)
    table = pd.DataFrame(random.normal(size=(int(random.integers(12, 20)), 2)).round(2), columns=["a", "b"])
    classes, digits, said = np.resize(CLASSES, len(table)), int(random.integers(1, 4)), list[dict[str, Any]]()
    for labels in (random.permutation(classes), random.permutation(classes)):
        model = LogisticRegression(tol=1e-8, max_iter=10_000).fit(table, labels)
        values = [f"{b:.{digits}f}" for b in (*model.intercept_, *model.coef_[0])]
        terms = [
            {"intercept": True, "value": values[0]},
            *({"column": c, "value": b} for c, b in zip("ab", values[1:], strict=True)),
        ]
        said.append({"family": "logistic", "of": "yes", "terms": terms, "l2": 1.0, "tolerance": 1e-4})
    release = parse_statements(document(*said), "paper.json").release
    matrix, low, high, _ = sparse_rows(program := compile_release(release, table))
    shares = np.kron(np.eye(len(program.cells)), np.ones(2)), np.zeros((len(program.cells), 2 * len(low)))
    rows = np.hstack(shares), np.hstack([matrix.toarray(), np.eye(len(low)), -np.eye(len(low))])
    each = LinearConstraint(rows[0], program.weight, program.weight), LinearConstraint(rows[1], low, high)
    missed = milp(np.repeat([0.0, 1.0], [matrix.shape[1], 2 * len(low)]), constraints=each).fun
    refused = False
    try:
        assert maxent.bounds(release, table, level="linear").status == "proved"
    except InvalidInput:
        refused = True
    assert refused is bool(missed > 1e-6 * len(table))


@pytest.mark.search
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", cases(2, 4, hunted=200))
def test_the_rows_of_regressions_that_contradict_each_other_are_named(seed: int) -> None:
    """Regressions of two labellings: rows of one coefficient are told apart, and none that is named can be left out."""
    random = np.random.default_rng(seed)
    frame = people(random, int(random.integers(5, 9)))
    frame.loc[:1, "y"] = CLASSES
    digits = int(random.integers(1, 4))
    said = [logistic(each, digits) for each in (frame, frame.assign(y=np.roll(frame.y, 1)))]
    release, table = parse_statements(document(*said), "paper.json").release, frame.drop(columns="y")
    named, whole = set[tuple[str, str]](), True
    try:
        maxent.bounds(release, table)
    except InvalidInput as refused:
        named = {(problem.where, problem.found) for problem in refused.problems}
        whole = "whole people" in str(refused)
    program = compile_release(release, table)
    matrix, low, high, of = sparse_rows(program)
    rows = [(str(program.linear[i].origin), program.linear[i].says) for i in of]
    each = LinearConstraint(np.kron(np.eye(len(program.cells)), np.ones(2)), program.weight, program.weight)

    def possible(kept: set[tuple[str, str]]) -> bool:
        """Whether shares of people, or whole people, satisfy some rows."""
        mask = np.array([row in kept for row in rows])
        said = [LinearConstraint(matrix[mask], low[mask], high[mask])] if mask.any() else []
        none = np.zeros(matrix.shape[1])
        return bool(milp(none, integrality=none + whole, constraints=[each, *said]).status == 0)

    assert named <= set(rows)
    assert possible(named or set(rows)) is not bool(named)
    for row in named:
        assert possible(named - {row}), (row, named)
