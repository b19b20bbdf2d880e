"""Whole people under rows with real weights: every labelling, against all that there are."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import maxent
from maxent.api.estimate import compile_release
from maxent.models.statements.read import parse_statements
from maxent.solvers.certainty.integer import likely, whole_bounds
from maxent.solvers.control import Clock
from maxent.solvers.worlds import halves
from maxent.solvers.worlds.halves import labelling_of, settle_halves
from maxent.solvers.worlds.part import whole_program
from maxent.solvers.worlds.settle import Patience, extremes
from tests.support.search import cases


def as_printed(model: Any, x: pd.DataFrame, digits: int, **fitted: float) -> maxent.Release:
    """A regression as statements: its coefficients with so many digits, and how it was ``fitted``."""
    coefficients = {"intercept": model.intercept_[0], **dict(zip(x, model.coef_[0], strict=True))}
    terms = [
        {**({"intercept": True} if name == "intercept" else {"column": name}), "value": f"{b:.{digits}f}"}
        for name, b in coefficients.items()
    ]
    said = {"kind": "glm", "family": "logistic", "of": "1", "terms": terms, **fitted}
    target = {"name": "y", "classes": ["0", "1"]}
    return parse_statements({"format": "maxent-statements/1", "target": target, "statements": [said]}, "r").release


def fitted(seed: int, most: int = 14) -> tuple[pd.DataFrame, Any, maxent.Release]:
    """Up to 20 people with covariates of two decimals, their classes, and a printed regression of them."""
    random = np.random.default_rng(seed)
    n, width, digits = (int(random.integers(a, b)) for a, b in ((6, most + 1), (1, 5), (0, 4)))
    x = pd.DataFrame({f"x{j}": np.round(random.normal(size=n), 2) for j in range(width)})
    y = random.integers(0, 2, n)
    y[:2] = 0, 1
    model = LogisticRegression(tol=1e-8, max_iter=10_000).fit(x, y)
    return x, y, as_printed(model, x, digits, l2=1, mean_tolerance=1e-6)


def agreeing(said: Any) -> np.ndarray:
    """All labellings that satisfy every row, one by one; the first eight people in turn, as there may be a million."""
    choices = [np.arange(a, b + 1) for a, b in zip(said.low.tolist(), said.high.tolist(), strict=True)]
    first, last = (
        np.stack(np.meshgrid(*part, indexing="ij"), axis=-1).reshape(-1, len(part)) if part else np.zeros((1, 0), int)
        for part in (choices[:8], choices[8:])
    )
    rest, found = last @ said.matrix[:, 8:].T, [np.empty((0, len(choices)), np.int64)]
    for each in first:
        sums = said.matrix[:, :8] @ each + rest
        good = last[((said.lower <= sums) & (sums <= said.upper)).all(axis=1)]
        found.append(np.column_stack([np.repeat(each[None], len(good), axis=0), good]))
    return np.concatenate(found)


@pytest.mark.search
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", cases(0, 30, hunted=200))
def test_every_labelling_is_found_once(seed: int) -> None:
    x, _, release = fitted(seed, 20)
    program = compile_release(release, x)
    whole = whole_program(program)
    for number in range(len(whole.pieces)):
        part = whole.part(number)
        if not len(part.rows):
            continue
        n = len(part.owners)
        nothing = np.zeros((n, 2), np.int64)
        state = extremes(part, nothing, nothing + part.weight[:, None], part.weight)
        said = labelling_of(part, state)
        assert said is not None
        right = agreeing(said)
        found = np.concatenate([np.empty((0, n), np.int64), *said.found()])
        assert sorted(map(tuple, found.tolist())) == sorted(map(tuple, right.tolist()))
        random = np.random.default_rng(seed)
        for share in (random.random(n), random.integers(0, 2, n) * 1.0, np.full(n, 0.5)):  # true shares or others
            if (likelier := said.by_likelihood(share)) is not None:
                found = np.concatenate([np.empty((0, n), np.int64), *likelier.found(1 << 22)])
                assert sorted(map(tuple, found.tolist())) == sorted(map(tuple, right.tolist()))
        if settle_halves(part, state, np.ones((n, 2), bool), Patience(Clock()), None):
            second = right[:, np.argsort(part.owner)]
            assert state.low[:, 1].tolist() == second.min(axis=0).tolist()
            assert state.high[:, 1].tolist() == second.max(axis=0).tolist()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", [3, 8])
def test_bounds_of_whole_people_are_those_of_all_labellings(seed: int) -> None:
    x, y, release = fitted(seed)
    program = compile_release(release, x)
    codes = np.stack([x[a.name].to_numpy() for a in program.table.attributes], axis=1)
    table = program.table.frame()[[a.name for a in program.table.attributes]].to_numpy(float)
    place = [int(np.flatnonzero((table == row).all(axis=1))[0]) for row in codes.astype(float)]
    n = len(table)
    every = np.stack(np.meshgrid(*[np.arange(c + 1) for c in program.table.counts], indexing="ij"), -1).reshape(-1, n)
    good = np.ones(len(every), bool)
    for row in (row for row in program.linear if row.kind == "statements"):
        cells = program.regions[row.region]
        owner, weights = program.cells.owner[cells], row.coef[0] * (1.0 if row.weights is None else row.weights)
        weights = np.broadcast_to(weights, (len(cells), 2))
        value = every[:, owner] @ weights[:, 1] + (program.table.counts[owner] - every[:, owner]) @ weights[:, 0]
        good &= (value >= row.lower[0] - 1e-8) & (value <= row.upper[0] + 1e-8)
    found = maxent.bounds(release, x, level="integer").frame()
    found = found[found["class"].astype(str) == "1"]
    truth = np.bincount(place, y, n)
    assert good[(every == truth).all(axis=1)].all()
    key = {tuple(row): i for i, row in enumerate(table.tolist())}
    names = [a.name for a in program.table.attributes]
    for row in found.to_dict("records"):
        i = key[tuple(float(row[name]) for name in names)]
        count = program.table.counts[i]
        assert row["low"] * count == pytest.approx(every[good][:, i].min())
        assert row["high"] * count == pytest.approx(every[good][:, i].max())


def printed(seed: int, n: int, digits: int) -> tuple[pd.DataFrame, maxent.Release]:
    """People with four covariates of two decimals, and a regression of their classes, printed to so many digits."""
    random = np.random.default_rng(seed)
    x = pd.DataFrame({f"x{j}": np.round(random.normal(size=n), 2) for j in range(4)})
    odds = x.to_numpy() @ random.normal(0, 0.7, 4)
    y = (random.random(n) < 1 / (1 + np.exp(-odds))).astype(int)
    y[:2] = 0, 1
    model = LogisticRegression(C=np.inf, tol=1e-10, solver="newton-cholesky", max_iter=1000).fit(x, y)
    return x, as_printed(model, x, digits, mean_tolerance=1e-10)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("digits", [0, 1, 2, 3, 6])
def test_twenty_people_are_settled_at_any_digits(digits: int) -> None:
    """Against all million labellings."""
    x, release = printed(0, 20, digits)
    program = compile_release(release, x)
    part = whole_program(program).part(0)
    nothing = np.zeros((20, 2), np.int64)
    state = extremes(part, nothing, nothing + part.weight[:, None], part.weight)
    said = labelling_of(part, state)
    assert said is not None
    right = agreeing(said)[:, np.argsort(part.owner)]
    assert settle_halves(part, state, np.ones((20, 2), bool), Patience(Clock()), None) or not state.open().any()
    assert (state.least[:, 1].tolist(), state.most[:, 1].tolist()) == (
        right.min(axis=0).tolist(),
        right.max(axis=0).tolist(),
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_sixty_people_at_two_decimals_are_settled() -> None:
    """Everybody can have either class, which worlds show that satisfy every row."""
    x, release = printed(0, 60, 2)
    part = whole_program(compile_release(release, x)).part(0)
    nothing = np.zeros((60, 2), np.int64)
    state = extremes(part, nothing, nothing + part.weight[:, None], part.weight)
    settle_halves(part, state, np.ones((60, 2), bool), Patience(Clock()), None)
    assert not state.open().any()
    assert all(part.rows.hold(masses) for masses in state.worlds)
    worlds = np.stack([part.totals(masses) for masses in state.worlds])
    assert (worlds.min(axis=0) == 0).all()
    assert (worlds.max(axis=0) == 1).all()


@pytest.mark.parametrize(("n", "drawn"), [(20, False), (60, True)])
def test_people_are_drawn_as_the_estimate_has_them(n: int, drawn: bool) -> None:
    """Drawn evenly, hardly any world of 60 people agrees with a regression of more than chance."""
    x, release = printed(0, n, 2)
    program = compile_release(release, x)
    tasks: list[Any] = []
    low = np.zeros((n, 2))
    guess = partial(likely, program, Clock())
    keep = partial(_keep, tasks)
    whole_bounds(program, low, low + 1, np.ones((n, 2), bool), Patience(Clock()), run=keep, guess=guess)
    assert [task.likely is not None for task in tasks] == [drawn]


def _keep(kept: list[Any], tasks: Any, *_: Any) -> None:
    kept.extend(tasks)


@pytest.mark.filterwarnings("ignore")
def test_worlds_of_more_people_are_all_listed_where_few_are_likely() -> None:
    """Against all labellings of halves of 19 people, of which those that are likely enough are listed."""
    x, release = printed(2, 38, 3)
    program = compile_release(release, x)
    part = whole_program(program).part(0)
    nothing = np.zeros((38, 2), np.int64)
    state = extremes(part, nothing, nothing + part.weight[:, None], part.weight)
    said, shares = labelling_of(part, state), likely(program, Clock())
    assert said is not None
    assert shares is not None
    assert max(2.0 ** len(half) for half in said.halves()) > halves.COMPLETE
    right = np.concatenate(list(said.found()))[:, np.argsort(part.owner)]
    guess = np.zeros((38, 2))
    guess[np.searchsorted(part.owners, whole_program(program).like)] = shares
    assert settle_halves(part, state, np.ones((38, 2), bool), Patience(Clock()), guess)
    assert state.low[:, 1].tolist() == right.min(axis=0).tolist()
    assert state.high[:, 1].tolist() == right.max(axis=0).tolist()
    assert (state.low[:, 1] == state.high[:, 1]).sum() > 0


def test_a_question_that_a_world_answers_is_asked_no_further(monkeypatch: Any) -> None:
    """Under wide rows a hundred thousand worlds answer a question; some thousands are looked at for all questions."""
    x, release = printed(0, 60, 1)
    part = whole_program(compile_release(release, x)).part(0)
    nothing = np.zeros((60, 2), np.int64)
    state, looked = extremes(part, nothing, nothing + part.weight[:, None], part.weight), []
    add = halves._add
    monkeypatch.setattr(halves, "_add", lambda part, state, found: (looked.append(len(found)), add(part, state, found)))
    settle_halves(part, state, np.ones((60, 2), bool), Patience(Clock()), None)
    assert not state.open().any()
    assert sum(looked) < 20_000
