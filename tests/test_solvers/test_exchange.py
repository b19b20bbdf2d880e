"""Whoever can change places in the truth is certain in no world: the exchange against every world there is."""

from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from support.brute_force import _recipe, dense
from support.enumerated import enumerated
from support.libraries import stated
from support.programs import public
from support.strategies import SURE, Case, Style, cases, populations, thorough, true_facts, true_masses

import maxent
from maxent.api.estimate import compile_release
from maxent.constraints.program.program import Program
from maxent.solvers.certainty.exchange import perhaps_certain
from maxent.solvers.certainty.levels import prove
from maxent.solvers.control import Clock

IntArray = npt.NDArray[np.int64]

FEW = cases(
    populations(rows=(2, 8), public=(1, 3), private=(0, 0), classes=(2, 3)),
    kinds=("greedy", "greedy", "anyhow"),
    trees=(1, 2),
    style=st.builds(Style, leaf=st.sampled_from(("rate", "label", "counts", "mixture"))),
    recipe=_recipe,
)


def truth_of(program: Program, case: Case) -> IntArray:
    """People of each quasi-identifier and class."""
    people = np.zeros((len(program.table), program.n_classes))
    np.add.at(people, program.cells.owner, true_masses(case, program))
    return people.astype(np.int64)


def left(program: Program, truth: IntArray, *views: Any) -> Any:
    """Who may be certain."""
    found = perhaps_certain(program, truth, [np.arange(program.n_classes), *views], Clock())
    assert found is not None
    return found if views else found[0]


@thorough(200)
@given(FEW)
def test_nobody_is_cleared_whose_class_is_the_same_in_every_world(case: Case) -> None:
    problem = dense(case)
    worlds = enumerated(problem)
    assume(worlds is not None)
    assert worlds is not None
    program = compile_release(case.release, case.people.qi, rounding="exact")
    names = [c for c in problem.q.columns if c != "w"]
    rows = list(program.table.frame()[names].itertuples(index=False, name=None))
    there = [rows.index(row) for row in problem.q[names].itertuples(index=False, name=None)]
    certain = ((worlds.people > 0).sum(axis=2) == 1).all(axis=0) & ((worlds.people > 0).any(axis=0).sum(axis=1) == 1)
    truth = truth_of(program, case)
    assert left(program, truth)[there][certain].all()
    if program.n_classes == 3:  # two classes that are one value
        view = np.array([0, 0, 1])
        alike = np.stack([worlds.people[:, :, :2].sum(axis=2), worlds.people[:, :, 2]], axis=2) > 0
        assert left(program, truth, view)[1][there][alike.any(axis=0).sum(axis=1) == 1].all()


@thorough(100)
@given(FEW, st.data())
def test_nobody_is_cleared_whose_class_is_proved_of_linear_statements_and_facts(case: Case, data: Any) -> None:
    facts = data.draw(true_facts(case.people))
    options = {"rounding": case.roundings[0], "confidence": SURE, "facts": facts}
    program = compile_release(case.release, case.people.qi, **options)
    proved = prove(program, "linear", Clock()).bounds
    certain = (proved.low >= program.table.counts[:, None]).any(axis=1)
    assert left(program, truth_of(program, case))[certain].all()


def test_people_of_a_leaf_with_two_classes_are_cleared_though_splits_were_compared() -> None:
    release, frame = public("gini", publish="counts")
    program = compile_release(release, frame[["A", "B", "C"]])
    truth = np.zeros((len(program.table), 3), np.int64)
    rows = list(program.table.frame()[["A", "B", "C"]].itertuples(index=False, name=None))
    for row, y in zip(frame[["A", "B", "C"]].itertuples(index=False, name=None), frame["X"], strict=True):
        truth[rows.index(row), "abc".index(y)] += 1
    assert program.internal
    masses = np.zeros((len(program.cells), 3))
    masses[:] = truth[program.cells.owner]
    leaves = program.cells.trees[0].places.leaves
    pure = [p for p in leaves.tolist() if (masses[program.cells.trees[0].at(p)].sum(axis=0) > 0).sum() == 1]
    expected = np.zeros(len(truth), bool)
    for place in pure:
        expected[program.cells.owner[program.cells.trees[0].at(place)]] = True
    assert not expected.all()
    assert left(program, truth).tolist() == expected.tolist()


def test_of_a_truth_that_misses_a_statement_nothing_is_concluded() -> None:
    release, frame = public("gini", publish="counts")
    program = compile_release(release, frame[["A", "B", "C"]])
    truth = np.zeros((len(program.table), 3), np.int64)
    truth[:, 0] = program.table.counts
    assert perhaps_certain(program, truth, [np.arange(3)], Clock()) is None


@pytest.mark.parametrize("seed", range(6))
def test_whoever_is_cleared_beside_choices_has_two_classes_in_models_of_one_file(seed: int) -> None:
    """Forests that draw attributes, grown again of all labellings of eight people whom an id tells apart."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.integers(0, 4, 8), "b": rng.integers(0, 3, 8)}).astype(float)
    y = np.arange(8) % 2
    kind = (RandomForestClassifier, ExtraTreesClassifier)[seed % 2]
    model = kind(2, max_depth=2, max_features=1, bootstrap=False, random_state=seed).fit(X, y)
    people = X.assign(id=np.arange(8.0))
    program = maxent.review(model, people, y, qi=["a", "b", "id"], target="Y").estimate.program
    there = program.table.frame()["id"].astype(float).astype(int).to_numpy()
    found = perhaps_certain(program, np.eye(2, dtype=np.int64)[y[there]], [np.arange(2)], Clock(), choices=True)
    assert found is not None
    labels = [np.isin(np.arange(8), ones).astype(int) for ones in combinations(range(8), 4)]
    told = stated(model)
    alike = np.array([each for each in labels if stated(clone(model).fit(X, each)) == told])
    assert not ((alike == alike[0]).all(axis=0)[there] & ~found[0]).any()


def test_some_are_cleared_beside_choices() -> None:
    X = pd.DataFrame({"a": np.repeat([0.0, 1.0, 2.0, 3.0], 6), "b": np.tile([0.0, 1.0, 2.0], 8)})
    y = np.array([0, 0, 0, 0, 0, 1] * 2 + [1, 1, 1, 1, 1, 0] * 2)
    model = RandomForestClassifier(1, max_depth=1, max_features=1, bootstrap=False, random_state=0).fit(X, y)
    people = X.assign(id=np.arange(24.0))
    found = maxent.review(model, people, y, qi=["a", "b", "id"], target="Y", max_certain=0)
    assert found.estimate.program.release.trees[0].induction.among == ("a", "b")
    assert found.summary["worst_case"]["max_posterior"] == 1.0
    assert found.summary["worst_case"]["certain"] == 0
    assert found.verdict().status == "pass"
