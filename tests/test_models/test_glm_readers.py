"""Regressions of scikit-learn, R, statsmodels and PMML as statements: the people they were fitted on satisfy them.

`regressions/` has 60 people and what R 4.2 and statsmodels 0.15 print of regressions of them.
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.linear_model import (
    ElasticNet,
    ElasticNetCV,
    Lars,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    PoissonRegressor,
    Ridge,
    RidgeCV,
    SGDClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

import maxent
from maxent.api.convert import wanted_of
from maxent.api.estimate import compile_release
from maxent.commands.main import run
from maxent.models.errors import InvalidInput
from maxent.models.formats.registry import convert_model
from maxent.models.reading import Reading, reader_of
from maxent.models.statements.rule_models import fitted_statements
from maxent.solvers.certainty.stated import stated_cells
from tests.support.satisfied import satisfied
from tests.support.search import cases

FOLDER = Path(__file__).parent / "regressions"
PEOPLE = pd.read_csv(FOLDER / "people.csv")


PRINTED = [
    ("r_coef.csv", "glm-r", "y", {"family": "logistic"}, 8),
    ("r_poisson_coef.csv", "glm-r", "k", {"family": "poisson"}, 8),
    ("r_multinom_coef.csv", "glm-r", "k", {"family": "multinomial"}, 16),
    ("r_print.txt", None, "y", {}, 8),
    ("r_summary.txt", None, "y", {}, 8),
    ("r_lm_summary.txt", None, "k", {}, 9),
    ("r_poisson_print.txt", None, "k", {}, 8),
    ("statsmodels_params.csv", "glm-statsmodels", "y", {"family": "logistic"}, 8),
    ("statsmodels_logit.csv", None, "y", {"of": "yes"}, 8),
    ("statsmodels_glm.csv", None, "y", {"of": "yes"}, 8),
    ("statsmodels_ols.csv", None, "k", {}, 8),
    ("statsmodels_poisson.csv", None, "k", {}, 8),
    ("statsmodels_mnlogit.csv", None, "k", {}, 16),
    ("regression.pmml", None, "y", {"tolerance": "1e-4"}, 8),
    ("general.pmml", None, "y", {"tolerance": "1e-4"}, 8),
]


@pytest.mark.parametrize(("file", "format", "target", "parameters", "rows"), PRINTED)
def test_what_is_printed_holds_of_the_people(
    file: str, format: str | None, target: str, parameters: dict[str, str], rows: int
) -> None:
    release = maxent.convert(
        FOLDER / file, train=PEOPLE, target=target, parameters=parameters, reading=Reading(format=format)
    )
    assert satisfied(release, PEOPLE[["age", "region", target]], target) >= rows


def drawn(random: np.random.Generator) -> pd.DataFrame:
    n = int(random.integers(30, 300))
    people = pd.DataFrame(
        {
            "age": random.integers(20, 80, n),
            "income": random.integers(1, 100, n) * 1000,
            "region": random.choice(list("abc"), n),
        }
    )
    score = 0.05 * (people.age - 50) + (people.region == "b") + random.normal(size=n)
    return people.assign(y=np.where(score > 0, "yes", "no"), k=np.clip(np.round(score + 1), 0, 2).astype(int))


@pytest.mark.search
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", cases(0, 12, hunted=120))
def test_pipelines_hold_of_the_people(seed: int) -> None:
    random = np.random.default_rng(seed)
    people = drawn(random)
    scaler = [StandardScaler(), MinMaxScaler(), make_pipeline(MinMaxScaler(), StandardScaler())][random.integers(3)]
    encoder = OneHotEncoder(drop=[None, "first"][random.integers(2)], sparse_output=False)
    if random.random() < 0.3:
        encoder = make_pipeline(encoder, StandardScaler())
    steps = make_column_transformer((scaler, ["age", "income"]), (encoder, ["region"]))
    c = float(random.choice([1.0, 0.1, np.inf]))
    last, target = [
        (LogisticRegression(C=c, max_iter=5000), "y"),
        (LogisticRegression(C=c, max_iter=5000, class_weight={"yes": 2.0, "no": 0.5}), "y"),
        (LogisticRegression(C=c, max_iter=5000), "k"),
        (PoissonRegressor(max_iter=5000), "k"),
        (LinearRegression(), "k"),
        (Ridge(3.0), "k"),
        (Lasso(float(random.choice([1e-3, 0.05]))), "k"),
        (ElasticNet(0.01, l1_ratio=0.3, tol=1e-8), "k"),
        (LassoCV(cv=3), "k"),
        (ElasticNetCV(cv=3, l1_ratio=[0.2, 0.8]), "k"),
    ][seed % 10]
    x = people[["age", "income", "region"]]
    model = make_pipeline(steps, last).fit(x, people[target])
    classes = None if target == "y" else ["0", "1", "2"]
    people = people[["age", "income", "region", target]]
    for train in (None, people):
        release = maxent.convert(model, target=target, classes=classes, train=train)
        assert satisfied(release, people, target)


@pytest.mark.filterwarnings("ignore")
def test_a_file_of_skops_is_the_fitted_model(tmp_path: Path) -> None:
    x, path = PEOPLE[["age"]], tmp_path / "model.skops"
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(x, PEOPLE.y)
    skops.io.dump(model, path)
    release = maxent.convert(path, target="y", reading=Reading(format="glm"))
    assert release.statements[0].document == maxent.convert(model, target="y").statements[0].document
    release.save(tmp_path / "statements.json")
    again = maxent.load_release(tmp_path / "statements.json")
    assert satisfied(again, PEOPLE[["age", "y"]], "y") == 4


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("stated", [{"classes": ["yes", "no"]}, {"features": ["weight", "age"]}])
def test_names_of_the_model_in_another_order_are_refused(stated: dict[str, list[str]]) -> None:
    """They would swap what its coefficients are about."""
    x = PEOPLE[["age"]].assign(weight=PEOPLE.age**2)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(x, PEOPLE.y)
    ((name, given),) = stated.items()
    with pytest.raises(InvalidInput, match=f"{name}: expected the order of model"):
        maxent.convert(model, target="y", **stated)
    (said,) = maxent.convert(model, target="y", **{name: given[::-1]}).statements[0].document["statements"]
    assert [term.get("column") for term in said["terms"]] == [None, "age", "weight"]


def test_a_fit_that_does_not_show_weights_of_rows_is_assumed_to_have_none() -> None:
    x, y = PEOPLE[["age"]], (PEOPLE.y == "yes").astype(int)
    model = LinearRegression().fit(x, y, sample_weight=PEOPLE.age**2)
    known = {"target": "y", "classes": ["0", "1"]}
    (said,) = maxent.convert(model, **known).statements[0].document["statements"]
    assert said["assumed"] is True
    people = x.assign(y=y)
    plain = maxent.convert(LinearRegression().fit(x, y), train=people, **known)
    assert "assumed" not in plain.statements[0].document["statements"][0]
    assert satisfied(plain, people, "y")


@pytest.mark.filterwarnings("ignore")
def test_a_lasso_tells_its_intercept_and_what_its_penalty_leaves(tmp_path: Path) -> None:
    """The intercept is solved for: the number of cases is exact, and weights of rows are noticed in the table."""
    x, y, path = PEOPLE[["age"]], (PEOPLE.y == "yes").astype(int), tmp_path / "model.skops"
    model = make_pipeline(StandardScaler(), Lasso(0.01)).fit(x, y)
    skops.io.dump(model, path)
    people = x.assign(y=y)
    release = maxent.convert(path, target="y", classes=["0", "1"], reading=Reading(format="glm"))
    said = release.statements[0].document["statements"][0]
    assert (said["mean_l1"], said["mean_gap"]) == (0.01, max(model[-1].dual_gap_, 0.0))
    assert satisfied(release, people, "y")
    intercept = next(row for row in compile_release(release, x).linear if row.says.startswith("number of people"))
    assert np.rint([intercept.lower[0], intercept.upper[0]]).tolist() == [y.sum(), y.sum()]
    weighed = make_pipeline(StandardScaler(), Lasso(0.01)).fit(x, y, lasso__sample_weight=PEOPLE.age**3)
    found = fitted_statements(weighed, wanted_of("y", train=people, classes=["0", "1"]), reader_of(None), "model")
    assert any("rows with weights" in each for each in found.lost)
    assert satisfied(found.release, people, "y")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("model", "says"),
    [
        (LogisticRegression(max_iter=1), "converged"),
        (LogisticRegression(solver="saga", max_iter=50_000), "solver"),
        (LogisticRegression(solver="liblinear"), "solver"),
        (LogisticRegression(solver="newton-cholesky"), "solver: expected one of lbfgs, newton-cg;"),
        (LogisticRegression(class_weight="balanced"), "balanced"),
        (LinearRegression(positive=True), "positive"),
        (Lasso(positive=True), "positive"),
        (ElasticNet(0.1, l1_ratio=0.0), "an absolute penalty"),
        (Ridge(solver="lsqr"), "svd or cholesky"),
    ],
)
def test_fits_of_which_too_little_is_known_are_refused(model: Any, says: str) -> None:
    numbers = type(model) in (LinearRegression, Lasso, ElasticNet, Ridge)
    scaled = make_pipeline(StandardScaler(), model).fit(PEOPLE[["age"]], PEOPLE.k if numbers else PEOPLE.y)
    with pytest.raises(InvalidInput, match=says):
        maxent.convert(scaled, target="y", classes=["0", "1", "2"] if numbers else None)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("last", "says"), [(Ridge(), "auto is neither"), (LinearRegression(), "not sparse")])
def test_sparse_columns_are_solved_step_by_step_and_need_the_table(last: Any, says: str) -> None:
    random = np.random.default_rng(0)
    people = pd.DataFrame({"a": random.choice(list("abcdefghij"), 3000), "b": random.choice(list("uvwxyz"), 3000)})
    k = (people.a > "d") * 1 + (people.b > "w") * 1 + random.integers(0, 2, 3000)
    model = make_pipeline(OneHotEncoder(drop="first"), last).fit(people, k)
    with pytest.raises(InvalidInput, match=rf"{says}.*training table .*parameters={{'tolerance'"):
        maxent.convert(model, target="k", classes=["0", "1", "2", "3"])
    train = people.assign(k=k)
    assert satisfied(maxent.convert(model, target="k", train=train), train, "k")
    said = maxent.convert(model, target="k", train=train, parameters={"tolerance": "2"}).statements[0].document
    assert [said["statements"][0].get(key) for key in ("tolerance", "mean_tolerance")] == [2.0, None]


@pytest.mark.filterwarnings("ignore")
def test_a_step_of_counts_that_overflows_is_no_fit() -> None:
    """It ends without a warning, far from the optimum."""
    x = PEOPLE[["age"]] * 1000.0
    model = PoissonRegressor().fit(x, PEOPLE.k)
    assert np.abs(x.age @ (PEOPLE.k - model.predict(x))) > model.tol * len(x) * 100
    with pytest.raises(InvalidInput, match="overflow leaves"):
        maxent.convert(model, target="k", classes=["0", "1", "2"])
    assert satisfied(maxent.convert(model, target="k", train=x.assign(k=PEOPLE.k)), x.assign(k=PEOPLE.k), "k")


@pytest.mark.filterwarnings("ignore")
def test_a_width_that_is_assumed_is_not_passed(tmp_path: Path, capsys: Any) -> None:
    """A file does not say by which rule L-BFGS, reweighted least squares or statsmodels stopped."""
    x, people = PEOPLE[["age"]], PEOPLE[["age", "y"]]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(x, PEOPLE.y)
    known = [{"train": people}, {"parameters": {"tolerance": "0.1"}}]
    for options, assumed in [({}, 1), *((each, 0) for each in known)]:
        release = maxent.convert(model, target="y", **options)
        release.save(tmp_path / "told.json")
        for found in (release, maxent.load_release(tmp_path / "told.json")):
            assert len(maxent.bounds(found, x, level="closed").summary["unread"]) == assumed
            estimate = maxent.estimate(found, x)
            assert len(estimate.summary["unread"]) == assumed
            assert estimate.verdict(max_certain=60).status == ("cannot_tell" if assumed else "pass")
            assert len(maxent.audit(found, x).get("unread", [])) == assumed
    for file, format, target, said, _ in PRINTED:
        classes = ["no", "yes"] if target == "y" else ["0", "1", "2"]
        reading = Reading(format=format)
        alone = {"features": ["age", "region"], "classes": classes}
        for more, assumed in ((alone, "_lm" not in file and "_ols" not in file), ({"train": PEOPLE}, False)):
            parameters = said if more is alone else {k: v for k, v in said.items() if k != "tolerance"}
            release = maxent.convert(FOLDER / file, target=target, parameters=parameters, reading=reading, **more)
            words = " ".join(each.what for each in compile_release(release, PEOPLE[["age", "region"]]).unread)
            assert ("where the fit stopped" in words) == (assumed and "tolerance" not in parameters)
            assert satisfied(release, PEOPLE[["age", "region", target]], target)
    maxent.convert(model, target="y").save(tmp_path / "told.json")
    x.to_csv(tmp_path / "qi.csv", index=False)
    capsys.readouterr()
    for command in ("bounds", "audit"):
        level = ["--level", "closed"] * (command == "bounds")
        assert run([command, str(tmp_path / "told.json"), str(tmp_path / "qi.csv"), *level]) == 0
        assert "not read: where the fit stopped (told.json, LogisticRegression), which" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("weights", "says"),
    [("no:1,no:2", "each class once, found 'no:1,no:2'"), ("no:1,mayb:2", "one of no, yes, found an unknown key")],
)
def test_weights_of_classes_that_are_wrong_are_named(weights: str, says: str) -> None:
    model = LogisticRegression().fit(PEOPLE[["age"]], PEOPLE.y)
    with pytest.raises(InvalidInput, match=f"class_weight.*{says}"):
        maxent.convert(model, target="y", parameters={"class_weight": weights})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_default_regression_gives_the_cases_of_every_category(tmp_path: Path, capsys: Any) -> None:
    """5,000 people, 26 dummies: all 26 numbers at 3 and 4 decimals, and never a wrong one at 2, by the commands."""
    rng = np.random.default_rng(3)
    job = rng.integers(0, 12, 5000), rng.choice(15, 5000, p=np.arange(1, 16) / 120), rng.integers(0, 2, 5000)
    x = pd.DataFrame(dict(zip(("region", "job", "sex"), job, strict=True))).astype(str)
    dummies = pd.get_dummies(x, drop_first=True).to_numpy(float)
    chance, weights = rng.random(5000), rng.normal(size=dummies.shape[1]) * 0.8
    people = x.assign(y=np.where(chance < 1 / (1 + np.exp(2.5 - dummies @ weights)), "ill", "well"))
    model = make_pipeline(OneHotEncoder(drop="first", sparse_output=False), LogisticRegression(max_iter=5000))
    skops.io.dump(model.fit(x, people.y == "ill"), tmp_path / "model.skops")
    people.to_csv(tmp_path / "people.csv", index=False)
    x.to_csv(tmp_path / "qi.csv", index=False)
    told, out = str(tmp_path / "told.json"), str(tmp_path / "printed.json")
    call = ["--from", "glm", "--target", "y", "--classes", "well,ill", "-o", told]
    assert run(["convert", str(tmp_path / "model.skops"), *call]) == 0
    document = json.loads(Path(told).read_text(encoding="utf-8"))
    truth = {f"{c}={v}": int(n) for c in x for v, n in people[people.y == "ill"][c].value_counts().items()}
    for digits, right in ((4, 26), (3, 26), (2, 0)):
        for term in document["statements"][0]["terms"]:
            term |= {"value": f"{float(term['value']):.{digits}f}", "digits": digits}
        Path(out).write_text(json.dumps(document), encoding="utf-8")
        program = compile_release(maxent.load_release(out), x)
        found = [cell for cell in stated_cells(program)[0] if "=" in cell.source]
        numbers = {cell.source.partition("coefficient of ")[2]: (cell.low, cell.high) for cell in found}
        assert sum(low == high for name, (low, high) in numbers.items() if "reference" not in name) >= right
        for name, (low, high) in numbers.items():
            column, _, value = name.partition("=")
            first = value if value != "(reference)" else min(set(x[column]))
            assert low <= truth[f"{column}={first}"] <= high
        capsys.readouterr()
        assert run(["audit", out, str(tmp_path / "qi.csv"), "--json"]) == 0
        said = json.loads(capsys.readouterr().out)["statements"]
        assert said["exact"] == {4: 30, 3: 26}.get(digits, said["exact"])
        if digits == 4:  # the number without a coefficient, too
            least = min(n for name, n in truth.items() if name.startswith("region"))
            words = f"gives the number of ill in every region, 1 of which follows from others: the smallest is {least}"
            assert any(words in each for each in said["words"])
            assert said["smallest"] == min(truth.values())
        document = json.loads(Path(told).read_text(encoding="utf-8"))


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler((-1, 1)), MinMaxScaler((0, 5))])
def test_scaled_marks_are_counts_as_they_are_without_scales(scaler: Any) -> None:
    """Of values of text and of numbers, such as a sex of 1 or 2."""
    x = PEOPLE[["region"]].assign(sex=1 + PEOPLE.index % 2)
    people, marked = x.assign(y=PEOPLE.y), OneHotEncoder(drop="first", sparse_output=False)
    encoder = make_column_transformer((marked, ["region"]), remainder="passthrough")
    told = []
    for steps in ([encoder], [encoder, scaler]):
        model = make_pipeline(*steps, LogisticRegression(tol=1e-8)).fit(x, PEOPLE.y)
        release = maxent.convert(model, target="y", train=people)
        assert satisfied(release, people, "y")
        program = compile_release(release, x)
        assert sum(row.weights is None for row in program.linear) == 4  # everybody, two regions and a sex
        cells, complete = stated_cells(program)
        told.append(({(c.people, c.klass, c.low, c.high) for c in cells}, complete))
        assert all(c.exact for c in cells)
    assert told[0] == told[1]
    assert len(told[0][0]) >= 6


def largest_gradient(model: Any, x: pd.DataFrame, y: pd.Series) -> float:
    """The largest entry of the gradient of the loss of a logistic regression, a sum over people."""
    design, ones = np.c_[np.ones(len(x)), x], (y.to_numpy()[:, None] == model.classes_).astype(float)
    slope = design.T @ (ones - model.predict_proba(x))
    b = np.c_[model.intercept_, model.coef_].T
    slope = slope[:, -b.shape[1] :] - np.r_[np.zeros((1, b.shape[1])), b[1:]] / model.C
    return float(np.abs(slope).max())


@pytest.mark.search
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", cases(0, 12, hunted=200))
def test_where_a_fit_stopped_the_training_table_proves(seed: int) -> None:
    """By its gradient, by a loss that hardly falls, by too few steps, or by coefficients that hardly move."""
    random = np.random.default_rng([seed, 17])
    people = drawn(random)
    x, target = people[["age", "income"]] / [1, 10.0 ** random.integers(0, 4)], "yk"[seed % 2]
    how: dict[str, Any] = [
        {"tol": 1e-4},
        {"tol": 1e-13},
        {"max_iter": int(random.integers(1, 6))},
        {"solver": "saga", "max_iter": 200},
    ][seed // 2 % 4]
    model = LogisticRegression(**{"max_iter": 5000, "C": float(random.choice([1.0, 0.1, np.inf])), **how})
    model.fit(x, people[target])
    train = x.assign(**{target: people[target]})
    found = fitted_statements(model, wanted_of(target, train=train), reader_of(None), "model")
    said = found.release.statements[0].document["statements"][0]
    true, allowed = largest_gradient(model, x, people[target]), model.tol * len(people)
    stated = said.get("tolerance", said.get("mean_tolerance", 0.0) * len(people))
    assert true <= stated * (1 + 1e-9)
    assert "loss_tolerance" not in said
    assert ("tolerance" in said) == any("converged" in each for each in found.lost)
    if "tolerance" in said:  # no wider than it has to be
        rounding = 1e-6 + 1e-11 * len(people) * float(np.abs(x).max(axis=None))
        assert allowed <= true * (1 + 1e-6) + rounding
        assert stated <= 2 * true + rounding
    else:
        assert said["mean_tolerance"] == model.tol
    assert satisfied(found.release, train, target)


PENALTIES: list[dict[str, Any]] = [
    {"solver": "saga", "l1_ratio": 1.0},
    {"solver": "saga", "l1_ratio": 0.5},
    {"solver": "saga", "penalty": "elasticnet", "l1_ratio": 0.3},
    {"solver": "saga", "penalty": "l1"},
    {"solver": "saga", "penalty": None},
    {"solver": "sag"},
    {"solver": "newton-cg"},
    {"solver": "newton-cholesky"},
    {"solver": "liblinear", "l1_ratio": 1.0, "intercept_scaling": 3.0},
    {"solver": "liblinear", "intercept_scaling": 0.5},
    {"solver": "liblinear", "dual": True},
]


@pytest.mark.search
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("weights", [None, "balanced"])
@pytest.mark.parametrize("number", range(len(PENALTIES)))
@pytest.mark.parametrize("seed", cases(0, 1, hunted=20))
def test_all_penalties_and_balanced_classes_hold_with_the_table(number: int, weights: Any, seed: int) -> None:
    """The intercept that liblinear penalises, and softmax models, too; a fit that converged is not called another."""
    random, said = np.random.default_rng([seed, number]), PENALTIES[number]
    people = drawn(random)
    target = "k" if number % 2 and said["solver"] != "liblinear" else "y"
    x = people[["age", "income"]].assign(income=people.income / 1000)
    last = LogisticRegression(C=float(random.choice([1.0, 0.1])), class_weight=weights, max_iter=100_000, tol=1e-8)
    model = make_pipeline(StandardScaler(), last.set_params(**said)).fit(x, people[target])
    train = x.assign(**{target: people[target]})
    found = fitted_statements(model, wanted_of(target, train=train), reader_of(None), "model")
    assert satisfied(found.release, train, target)
    [content] = found.release.statements[0].document["statements"]
    assert content.get("tolerance", 0.0) <= 1e-2
    assert any("how many have each class" in each for each in found.lost) == (weights == "balanced")
    if weights == "balanced":
        many = people[target].astype(str).value_counts()
        assert content["class_weight"] == pytest.approx({c: len(x) / (len(many) * n) for c, n in many.items()})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("weight", [{"yes": 2.0, "no": 1.0}, "balanced"])
def test_weights_of_classes_have_the_names_that_are_asked_for(weight: Any) -> None:
    x, train = PEOPLE[["age"]], PEOPLE[["age"]].assign(y=PEOPLE.y.map({"yes": "ill", "no": "well"}))
    model = LogisticRegression(class_weight=weight, max_iter=5000).fit(x, PEOPLE.y)
    assert satisfied(maxent.convert(model, target="y", classes=["well", "ill"], train=train), train, "y")


@pytest.mark.filterwarnings("ignore")
def test_a_fit_that_stops_where_its_loss_hardly_falls_has_no_proof_without_the_table() -> None:
    x = PEOPLE[["age"]] * 1000.0
    model = LogisticRegression(tol=1e-15, C=np.inf, max_iter=5000).fit(x, PEOPLE.y)
    assert largest_gradient(model, x, PEOPLE.y) > model.tol * len(x)
    told = [
        fitted_statements(model, wanted_of("y", train=train), reader_of(None), "model").lost
        for train in (None, x, x.assign(y=PEOPLE.y), x.assign(y="no class"), x.assign(y=PEOPLE.y).where(x.age > 2e4))
    ]
    proofs = ["no proof" not in " ".join(lost) for lost in told]
    assert proofs == [False, False, True, False, False]
    weighed = LogisticRegression().fit(x / 1000, PEOPLE.y, PEOPLE.age)
    asked = wanted_of("y", train=PEOPLE[["age", "y"]])
    found = fitted_statements(weighed, asked, reader_of(None), "model")
    assert any("rows with weights" in each for each in found.lost)
    assert satisfied(found.release, PEOPLE[["age", "y"]], "y")
    least = LinearRegression().fit(x, PEOPLE.k, PEOPLE.age)
    asked = wanted_of("k", train=x.assign(k=PEOPLE.k))
    found = fitted_statements(least, asked, reader_of(None), "model")
    assert any("rows with weights" in each for each in found.lost)
    assert satisfied(found.release, x.assign(k=PEOPLE.k), "k")
    found = fitted_statements(LinearRegression().fit(x, PEOPLE.k), asked, reader_of(None), "model")
    assert not found.lost
    assert satisfied(found.release, x.assign(k=PEOPLE.k), "k")
    asked = wanted_of("y", train=PEOPLE[["age", "y"]], parameters={"weights": "age"})
    said = fitted_statements(weighed, asked, reader_of(None), "model").release.statements[0].document
    assert said["statements"][0]["mean_tolerance"] == weighed.tol


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("family = binomial", 'family = binomial(link = "probit")', "family"),
        ("age + region", "age * region", "columns"),
        ("data = d", "data = d, subset = age > 3", "subset"),
        ("iterations: 5", "iterations: 25", "converged"),
        ("data = d", "data = d, control = list(maxit = 2)", "control"),
        ("data = d", "data = d, weights = age^2", "weights: .*'age\\^2'"),
        ("factor(y)", 'I(y == "no")', "no expression"),
    ],
)
def test_texts_that_say_something_else_are_refused(tmp_path: Path, old: str, new: str, says: str) -> None:
    text = (FOLDER / "r_summary.txt").read_text(encoding="utf-8")
    path = tmp_path / "summary.txt"
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(InvalidInput, match=says):
        maxent.convert(path, classes=["no", "yes"])


@pytest.mark.parametrize("model", [Lars(), SGDClassifier(loss="log_loss")], ids=lambda model: type(model).__name__)
def test_regressions_that_are_not_read_are_refused_with_those_that_are(model: Any) -> None:
    model.fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    with pytest.raises(
        InvalidInput, match=f"Lasso, ElasticNet, LassoCV, ElasticNetCV are read, .* found {type(model).__name__}"
    ):
        maxent.convert(model, target="y")


@pytest.mark.parametrize(
    ("model", "says"),
    [(LogisticRegressionCV(cv=2), "LogisticRegression with the C_"), (RidgeCV(), "Ridge with the alpha_")],
    ids=["logistic", "ridge"],
)
@pytest.mark.filterwarnings("ignore")
def test_searches_of_regressions_are_refused_with_what_to_fit(model: Any, says: str, tmp_path: Path) -> None:
    for last in (model, make_pipeline(StandardScaler(), model)):
        fit = last.fit(PEOPLE[["age"]], PEOPLE.y == "yes")
        with pytest.raises(InvalidInput, match=f"fit {says} that the search chose, which is read"):
            maxent.convert(fit, target="y")
        skops.io.dump(fit, tmp_path / "model.skops")
        with pytest.raises(InvalidInput, match=f"fit {says} that the search chose, which is read"):
            maxent.convert(tmp_path / "model.skops", target="y", reading=Reading(format="glm"))


def test_a_training_table_that_does_not_fit_says_what_it_lacks() -> None:
    x = PEOPLE[["age"]]
    model = LogisticRegression().fit(x, PEOPLE.y)
    people = x.assign(y=PEOPLE.y)
    for table, target, why in (
        (people.rename(columns={"age": "years"}), "y", "it has no column 'age'"),
        (people, "z", "it has no column 'z'"),
        (people.assign(age="old"), "y", "its column age has other values, or none for somebody"),
        (people.assign(y="maybe"), "y", "its column y has other classes than "),
    ):
        found = fitted_statements(model, wanted_of(target, train=table), reader_of(None), "model")
        assert any(f"what the training table tells of the fit: {why}" in each for each in found.lost)
        assert not any("--train counts it" in each for each in found.lost)
    assert not fitted_statements(model, wanted_of("y", train=people), reader_of(None), "model").lost


def test_coefficients_of_r_as_csv_are_recognised(tmp_path: Path) -> None:
    (tmp_path / "coef.csv").write_text('"","Estimate","Std. Error"\n"(Intercept)",0.5,0.1\n', encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"parameters={'family': 'logistic or"):
        maxent.convert(tmp_path / "coef.csv", target="y", classes=["0", "1"])


def told(path: Path, text: str, target: str = "y", **parameters: str) -> Any:
    """What is read of a text, and what of it is lost."""
    path.write_text(text, encoding="utf-8")
    found = convert_model(path, wanted_of(target, train=PEOPLE, parameters=parameters), reader_of(None))
    return found.release.statements[0].document["statements"][0], " ".join(found.lost)


def test_a_response_that_is_not_the_target_is_refused(tmp_path: Path) -> None:
    path, text = tmp_path / "summary", (FOLDER / "statsmodels_logit.csv").read_text(encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"response: expected 'y', the target, .*'of'.*found 'b'"):
        told(path, text)
    assert told(path, text, of="no")[0]["of"] == "no"
    with pytest.raises(InvalidInput, match="response: expected 'age', the target, found 'k'"):
        told(path, (FOLDER / "r_lm_summary.txt").read_text(encoding="utf-8"), "age")


@pytest.mark.parametrize("name", ["regression", "general"])
def test_where_a_fit_of_pmml_stopped_is_asked_for_by_its_option(name: str, tmp_path: Path, capsys: Any) -> None:
    assert run(["convert", str(FOLDER / f"{name}.pmml"), "-o", str(tmp_path / "s.json")]) == 2
    assert "tolerance: expected --param tolerance=x, the largest gradient" in capsys.readouterr().err


GENERAL = [
    (' targetCategory="yes"', "", None, "targetCategory: expected one class of all, or parameters={'of': CLASS}"),
    ('Category="yes" parameterName="p3"', 'Category="no" parameterName="p3"', None, "expected one class of all"),
    (' targetCategory="yes"', "", {"of": "yes"}, None),
    ('"p2" df', '"p9" df', None, "a parameter of ParameterList"),
    ('name="region"/></FactorList>', 'name="region" contrastMatrixType="x"/></FactorList>', None, "is 1 for its value"),
    ('<MiningField name="age"', '<MiningField name="age" outliers="asExtremeValues"', None, "outliers: expected asIs"),
    ('<MiningField name="age"', '<MiningField name="age" missingValueReplacement="4"', None, "expected none: values"),
    (
        "<FactorList>",
        '<Targets><Target rescaleFactor="2"/></Targets><FactorList>',
        None,
        "rescaleFactor: expected nothing",
    ),
    ("<FactorList>", '<Targets><Target rescaleFactor="1"/></Targets><FactorList>', {"of": "yes"}, None),
]


@pytest.mark.parametrize(("old", "new", "said", "says"), GENERAL)
def test_a_general_model_of_pmml_is_of_the_class_that_it_names(
    tmp_path: Path, old: str, new: str, said: Any, says: str | None
) -> None:
    text = (FOLDER / "general.pmml").read_text(encoding="utf-8")
    assert old in text
    text = text.replace('<Value value="no"/><Value value="yes"/>', '<Value value="yes"/><Value value="no"/>')
    path, people = tmp_path / "model.pmml", PEOPLE[["age", "region", "y"]]
    parameters = {"tolerance": "1e-4", **(said or {})}
    reference = text.replace(' targetCategory="yes"', "").replace(
        "linkFunction", 'targetReferenceCategory="no" linkFunction'
    )
    for each in (reference, text.replace(old, new)):
        path.write_text(each, encoding="utf-8")
        if each is not reference and says is not None:
            with pytest.raises(InvalidInput, match=re.escape(says)):
                maxent.convert(path, target="y", parameters=parameters)
        else:
            assert satisfied(maxent.convert(path, target="y", parameters=parameters), people, "y") == 8


def test_a_table_in_toml_has_suppressed_cells_and_each_class_once(tmp_path: Path) -> None:
    path = tmp_path / "table.toml"
    cells = "".join(
        f'[[statements.cells]]\nat = ["{region}"]\nclass = "yes"\ncount = {count}\n'
        for region, count in (("a", 2), ("b", '"suppressed"'))
    )
    said = '[[statements]]\nkind = "table"\nby = ["region"]\nsuppressed_below = 3\n'
    begin = 'format = "maxent-statements/1"\n[target]\nname = "y"\nclasses = ["no", "yes"]\n'
    path.write_text(begin + said + cells, encoding="utf-8")
    rows = compile_release(maxent.load_release(path), pd.DataFrame({"region": list("aaabbbb")})).linear
    assert [(row.lower[0], row.upper[0]) for row in rows if row.kind == "statements"] == [(2, 2), (0, 2)]
    path.write_text((begin + said + cells).replace('"no", "yes"', '"yes", "yes"'), encoding="utf-8")
    with pytest.raises(InvalidInput, match="classes: expected each class once, found 'yes' again"):
        maxent.load_release(path)


def test_a_response_of_statsmodels_without_a_name_is_the_target(tmp_path: Path) -> None:
    """It calls it y."""
    path = tmp_path / "summary"
    for name in ("logit", "poisson", "ols"):
        text = (FOLDER / f"statsmodels_{name}.csv").read_text(encoding="utf-8")
        text = re.sub(r"(Dep\. Variable: *,)\w+ *,", r"\1y,", text)
        path.write_text(text, encoding="utf-8")
        wanted = wanted_of("ill", features=["age", "region"], classes=["0", "1"])
        lost = " ".join(convert_model(path, wanted, reader_of(None)).lost)
        assert "statsmodels calls one without a name y, 'ill' is read" in lost
        with pytest.raises(InvalidInput, match="response: expected 'age', the target"):
            told(path, text, "age")


def test_what_a_print_does_not_show_is_lost(tmp_path: Path) -> None:
    path, summary = tmp_path / "summary", (FOLDER / "r_summary.txt").read_text(encoding="utf-8")
    fine = summary.replace("data = d", "data = d, control = list(epsilon = 1e-10, maxit = 50)")
    said, lost = told(path, fine)
    assert said["of"] == "yes"
    assert "P(y = yes)" in lost
    assert "--param of=" in lost
    assert "--param of=" not in told(path, summary, of="no")[1]
    assert "print(model)" not in lost
    assert "print(model)" in told(path, (FOLDER / "r_print.txt").read_text(encoding="utf-8"))[1]
    for data in ("subset(d, age > 3)", 'd[d$region == "a", ]'):
        assert f"data = {data}" in told(path, summary.replace("data = d", f"data = {data}"))[1].replace("'", "")
    assert "data =" not in lost
    logit = (FOLDER / "statsmodels_logit.csv").read_text(encoding="utf-8")
    assert "fit_regularized" in told(path, logit, of="yes")[1]


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("statsmodels_logit.csv", " 3.1390,", " 2.0000,"),
        ("r_lm_summary.txt", "0.033889", "0.043889"),
        ("regression.pmml", '"3.1389739880329"', '"2.1389739880329"'),
    ],
)
def test_a_print_that_is_no_optimum_of_the_table_is_wider(tmp_path: Path, file: str, old: str, new: str) -> None:
    """As with a penalty, rows with weights, or few steps, which no print shows."""
    path, text = tmp_path / "model", (FOLDER / file).read_text(encoding="utf-8")
    assert old in text
    target, said = ("k", {}) if "lm" in file else ("y", {"of": "yes"} if "logit" in file else {})
    for each, fine in ((text, True), (text.replace(old, new), False)):
        path.write_text(each, encoding="utf-8")
        found = convert_model(path, wanted_of(target, train=PEOPLE, parameters=said), reader_of(None))
        assert ("up to" not in " ".join(found.lost)) == fine
        assert found.release.statements[0].document["statements"][0].get("tolerance", 0) < 1e-5 or not fine
        assert satisfied(found.release, PEOPLE[["age", "region", target]], target)
    if "lm" in file:
        assert "which the training table does not have" in " ".join(found.lost)


def test_parameters_of_a_multinomial_have_a_column_for_each_class_but_the_first(tmp_path: Path) -> None:
    values = [[-5.3419, -96.8242], [2.8978, 13.6430], [0.9377, 8.9063], [0.1153, 1.4718]]
    names = ["Intercept", "region[T.b]", "region[T.c]", "age"]
    path = tmp_path / "params.csv"
    pd.DataFrame(values, names).to_csv(path)
    path.write_text(path.read_text(encoding="utf-8").replace("13.643", "13.6430"), encoding="utf-8")
    options = {"train": PEOPLE, "target": "k", "parameters": {"family": "multinomial"}}
    printed = maxent.convert(FOLDER / "statsmodels_mnlogit.csv", train=PEOPLE, target="k")
    found = maxent.convert(path, reading=Reading(format="glm-statsmodels"), **options)
    said = [each.statements[0].document["statements"][0]["terms"] for each in (found, printed)]
    assert [(t["class"], float(t["value"])) for t in said[0]] == [(t["class"], float(t["value"])) for t in said[1]]
    assert satisfied(found, PEOPLE[["age", "region", "k"]], "k") == 16
    for wrong, says in ((",2,1\nage,1,2\n", "columns 0, 1"), (",0,1\nage,1,x\n", "line 2: value: expected 2 numbers")):
        path.write_text(wrong, encoding="utf-8")
        with pytest.raises(InvalidInput, match=says):
            maxent.convert(path, reading=Reading(format="glm-statsmodels"), **options)


def test_no_line_of_a_summary_is_skipped(tmp_path: Path) -> None:
    path, text = tmp_path / "summary", (FOLDER / "statsmodels_glm.csv").read_text(encoding="utf-8")
    named = text.replace("region[T", 'C(region, Treatment("a"))[T')
    assert told(path, named, of="yes")[0]["terms"] == told(path, text, of="yes")[0]["terms"]
    with pytest.raises(InvalidInput, match=r"Treatment, .* found 'Sum'"):
        told(path, text.replace("region[T", "C(region, Sum)[S"), of="yes")
    with pytest.raises(InvalidInput, match="line 13: coef: expected a name and numbers"):
        told(path, text.replace("    3.1390,", "       x,"), of="yes")


# What makes a regression of classes one of numbers.
NUMBERS = {
    "classification": "regression",
    '"logit"': '"none"',
    '"y"': '"k"',
    '<Value value="no"/><Value value="yes"/>': "",
    '<RegressionTable intercept="0" targetCategory="no"/>': "",
}


@pytest.mark.parametrize(
    ("file", "format", "changes", "parameters"),
    [
        ("r_coef.csv", "glm-r", {}, {"family": "linear"}),
        ("statsmodels_params.csv", "glm-statsmodels", {}, {"family": "linear"}),
        ("statsmodels_glm.csv", None, {"Binomial": "Gaussian", "Logit": "Identity", ",b ": ",k "}, {}),
        ("regression.pmml", None, NUMBERS, {}),
    ],
)
def test_a_linear_fit_that_nothing_shows_to_be_plain_is_assumed(
    file: str, format: str | None, changes: dict[str, str], parameters: dict[str, str], tmp_path: Path
) -> None:
    """Weights, an offset and penalties are not in the file; these coefficients are of another fit, as such ones are."""
    text, people = (FOLDER / file).read_text(encoding="utf-8"), PEOPLE[["age", "region", "k"]]
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    path, alone = tmp_path / file, {"features": ["age", "region"], "classes": ["0", "1", "2"]}
    path.write_text(text, encoding="utf-8")
    for more, assumed in ((alone, True), ({"train": PEOPLE}, False)):
        reading = Reading(format=format)
        release = maxent.convert(path, target="k", parameters=parameters, reading=reading, **more)
        unread = compile_release(release, people[["age", "region"]]).unread
        assert any("where the fit stopped" in each.what for each in unread) == assumed
    assert satisfied(release, people, "k")


def test_weights_of_rows_are_seen_in_the_degrees_of_freedom(tmp_path: Path) -> None:
    path, text = tmp_path / "summary", (FOLDER / "statsmodels_glm.csv").read_text(encoding="utf-8")
    weighted = text.replace("Df Residuals:      ,    56", "Df Residuals:      ,   146")
    assert weighted != text
    with pytest.raises(InvalidInput, match=r"Df Residuals: expected those of 60 rows .*'weights'.*found those of 150"):
        told(path, weighted, of="yes")
    assert told(path, weighted, of="yes", weights="age")[0]["weights"] == "age"


@pytest.mark.parametrize("stated", [{}, {"tolerance": "0.5"}, {"mean_tolerance": "1e-3"}])
def test_a_width_that_the_caller_states_is_said_to_be_on_its_word(tmp_path: Path, stated: dict[str, str]) -> None:
    text = (FOLDER / "statsmodels_logit.csv").read_text(encoding="utf-8")
    _, lost = told(tmp_path / "summary", text, of="yes", **stated)
    assert ("on the word of who converts it" in lost) == bool(stated)


@pytest.mark.parametrize("name", ["nosuch.pmml", "nosuch.csv"])
def test_a_file_that_is_not_there_is_named_whatever_parameters_are_given(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{name}: file: path: .* no such file or directory$"):
        maxent.convert(name, parameters={"tolerance": 1e-3})
