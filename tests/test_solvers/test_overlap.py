"""Counts that overlap: the method for very many of them gives what the usual one gives for few."""

import re
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from support.contested import contested
from test_solvers.test_small_forests import forest

import maxent
from maxent.__main__ import main
from maxent.api import compile as compile_module
from maxent.api import estimate as engine
from maxent.models.defenses.random_trees import RandomTrees, random_trees
from maxent.models.tables.training import read_training
from maxent.solvers import control
from maxent.solvers.backends.newton_ import NewtonBackend
from maxent.solvers.control import Clock, hearing
from maxent.solvers.dual import linear_entropy, overlapping
from maxent.solvers.dual import overlapping as face_module
from maxent.solvers.dual.linear_entropy import LinearEntropy
from maxent.solvers.dual.newton import minimise
from maxent.solvers.dual.overlapping import find_face, fitted, minimise_overlapping
from maxent.solvers.solution import Stop
from maxent.solvers.solve import attempt

CLASSES = 3


def counted(seed: int, trees: int, owners: int = 60, blur: int = 0) -> tuple[LinearEntropy, np.ndarray]:
    """Owners in random leaves of some trees, whose classes are counted up to ``blur``; and the true masses."""
    rng = np.random.default_rng(seed)
    truth = rng.multinomial(1, [0.7, 0.25, 0.05], (owners, 5)).sum(axis=1) * 1.0
    masses = owners * CLASSES
    owner, klass = np.arange(masses) // CLASSES, np.arange(masses) % CLASSES
    rows = []
    for _ in range(trees):
        row = (rng.integers(0, owners // 4, owners)[owner]) * CLASSES + klass
        rows.append(sparse.csr_matrix((np.ones(masses), (row, np.arange(masses))), shape=(row.max() + 1, masses)))
    matrix = sparse.csr_matrix(sparse.vstack(rows))
    matrix = matrix[np.flatnonzero(np.diff(matrix.indptr))]
    counts = matrix @ truth.ravel()
    lower = np.where(counts - blur > 0, counts - blur, -np.inf) if blur else counts
    total = truth.sum(axis=1)
    return LinearEntropy(owner, total, total[owner], matrix, lower, counts + blur), truth.ravel()


@pytest.mark.parametrize("blur", [0, 1])
@pytest.mark.parametrize("seed", range(4))
def test_the_answer_is_that_of_the_usual_method(seed: int, blur: int) -> None:
    problem, truth = counted(seed, trees=3, blur=blur)
    usual = minimise(problem, tolerance=1e-10, max_iterations=500)
    found = minimise_overlapping(problem, 1e-10, Clock())
    assert found.residual <= 1e-8
    assert found.bound == pytest.approx(usual.bound, abs=1e-6 * problem.total.sum())
    np.testing.assert_allclose(found.masses, usual.masses, atol=1e-3)
    entropy = -(truth * np.log(np.maximum(truth, 1e-300) / problem.weight)).sum()
    assert found.bound >= entropy - 1e-6  # the truth is feasible


def test_nobody_is_ruled_out_whom_counts_leave_a_choice() -> None:
    problem, truth = counted(0, trees=8)
    face = find_face(problem, Clock())
    assert face is not None
    found = minimise_overlapping(problem, 1e-10, Clock())
    np.testing.assert_array_equal(found.masses > 0, face.alive)
    assert (found.masses[truth > 0] > 0).all()
    assert 1e-10 > found.bound + (found.masses * np.log(found.masses.clip(1e-300) / problem.weight)).sum() > -1e-9
    assert np.abs(problem.matrix @ found.masses - problem.lower).max() <= 1e-8
    np.testing.assert_allclose(np.bincount(problem.owner, found.masses), problem.total)


def test_the_search_for_a_face_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    assert find_face(counted(0, trees=8)[0], Clock()) is not None
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("blur", [0, 2])
def test_fitting_lowers_the_bound_with_every_round(blur: int) -> None:
    problem, _ = counted(1, trees=4, blur=blur)
    bounds = [problem.value(fitted(problem, rounds, Clock(), np.zeros(len(problem.lower)))) for rounds in range(8)]
    assert (np.diff(bounds) <= 1e-9).all()
    assert bounds[-1] < bounds[0] - 1


def test_a_clock_that_has_run_out_ends_it_with_a_bound() -> None:
    problem, _ = counted(2, trees=4)
    found = minimise_overlapping(problem, 1e-10, Clock(0.0))
    assert np.isfinite(found.bound)


def thousands(beta: float, k: int) -> tuple[maxent.Release, pd.DataFrame]:
    """Random trees with thousands of counts, and their people."""
    rng = np.random.default_rng(5)
    people = pd.DataFrame(
        {name: rng.choice(list("abcdef"), 2_000, p=[0.4, 0.2, 0.2, 0.1, 0.05, 0.05]) for name in "PQRS"}
    )
    people["class"] = np.where(rng.random(2_000) < 0.3, people["P"], rng.choice(list("xyz"), 2_000))
    training = read_training(people, target="class", qi=list("PQRS"))
    return random_trees(training, RandomTrees(4, 2, beta, k, seed=1)), people


@pytest.mark.parametrize(("beta", "k"), [(1.0, 0), (1.0, 3), (0.4, 0)])
def test_a_forest_with_thousands_of_counts_is_solved(beta: float, k: int) -> None:
    forest, people = thousands(beta, k)
    found = maxent.estimate(forest, people[list("PQRS")], people)
    assert found.reliable
    assert found.certificate == "global"
    assert np.isfinite(found.summary["divergence"]["overall"])


class Counting(Clock):
    """Stops the so-manieth time that somebody asks."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.asked, self.most = 0, most

    def stop(self) -> Stop | None:
        self.asked += 1
        return Stop.INTERRUPTED if self.asked > self.most else None

    @property
    def runs(self) -> bool:
        return True


@pytest.mark.parametrize("trees", [4, 8])
def test_an_answer_cut_short_is_as_good_as_a_few_rounds_of_fitting(trees: int) -> None:
    problem, _ = counted(3, trees, owners=120)
    few, whole = Counting(10**9), Counting(10**9)
    masses = problem.masses(fitted(problem, 5, few, np.zeros(len(problem.lower))))
    off = np.abs(problem.matrix @ masses - problem.lower).max()
    optimum = minimise_overlapping(problem, 1e-10, whole)
    assert optimum.residual <= 1e-8 < off
    for asked in np.linspace(few.asked + 1, whole.asked, 25, dtype=int).tolist():
        found = minimise_overlapping(problem, 1e-10, Counting(asked))
        assert np.abs(problem.matrix @ found.masses - problem.lower).max() <= off
        assert found.bound >= optimum.bound - 1e-8


def test_what_will_take_minutes_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlapping, "PER_FITTING", 1e9)
    problem, _ = counted(0, trees=3)
    heard: list[str] = []
    with hearing(heard.append):
        minimise_overlapping(problem, 1e-10, Clock())
        minimise_overlapping(problem, 1e-10, Clock())
    assert len(heard) == 1
    assert re.fullmatch(
        r"solving will take about \d+ hours: 180 unknowns in \d+ sums that overlap; fewer trees take less", heard[0]
    )
    with hearing(heard.append):
        minimise_overlapping(problem, 1e-10, Clock(30.0))  # which ends it soon
    minimise_overlapping(problem, 1e-10, Clock())
    assert len(heard) == 1


def test_the_steps_to_the_face_foretell_it_where_fitting_did_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(face_module, "SEEN", 1)
    monkeypatch.setattr(face_module, "WORTH", 1e9)
    heard: list[str] = []
    with hearing(heard.append):
        minimise_overlapping(counted(0, trees=3)[0], 1e-10, Clock(1e6))
    assert [re.sub(r"\d+", "N", text) for text in heard] == [
        "solving will take about N hours: N unknowns in N sums that overlap; fewer trees take less"
    ]


def test_what_nobody_foretold_says_so_once_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "PATIENCE", 0.0)
    heard, said = list[str](), threading.Event()

    def hear(text: str) -> None:
        heard.append(text)
        said.set()

    with hearing(hear):
        for _ in range(2):
            with control.watched("waiting", lambda: "for this", "less is shorter", Clock()):
                assert said.wait(60.0)
    assert heard == ["waiting has taken 0 s, and may take minutes: for this; less is shorter"]


@pytest.mark.parametrize(("name", "or_auto"), [("newton", ""), ("other", ", or the back end auto,")])
def test_compiling_and_solving_are_watched(monkeypatch: pytest.MonkeyPatch, name: str, or_auto: str) -> None:
    seen: list[str] = []

    def watching(doing: str, what: Callable[[], str], shorter: str, clock: Clock) -> AbstractContextManager[None]:
        seen.append(re.sub(r"\d[\d,]*", "N", f"{doing}: {what()}; {shorter}"))
        return nullcontext()

    for module in (attempt, compile_module):
        monkeypatch.setattr(module, "watched", watching)
    monkeypatch.setattr(attempt, "may_be_ended", lambda program, clock: True)
    monkeypatch.setattr(engine, "load_backend", lambda name: backend)
    backend = NewtonBackend()
    backend.name = name
    release, people, known = forest(28)
    assert not known
    maxent.estimate(release, people)
    assert seen == [
        "compiling: nobody was placed yet; fewer trees, or less --knowledge, take less",
        f"solving: N unknowns in N statements, by {name}; fewer trees or private attributes{or_auto} take less",
    ]


def test_of_a_single_tree_no_trees_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def watching(doing: str, what: Callable[[], str], shorter: str, clock: Clock) -> AbstractContextManager[None]:
        seen.append(shorter)
        return nullcontext()

    monkeypatch.setattr(attempt, "watched", watching)
    monkeypatch.setattr(attempt, "may_be_ended", lambda program, clock: True)
    release, people = contested("gini")
    maxent.estimate(release, people.drop(columns="X"), backend="ipopt", jobs=1)
    assert set(seen) == {"less --knowledge, or the back end auto, takes less"}


def test_the_command_says_so_on_standard_error_and_how_far_it_came(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overlapping, "PER_FITTING", 1e9)
    monkeypatch.setattr(linear_entropy, "DENSE_FACTOR", 0)
    monkeypatch.setattr(overlapping, "find_face", lambda problem, clock, start: clock.interrupt())
    forest, people = thousands(1.0, 0)
    forest.save(tmp_path / "forest.json")
    people.drop(columns="class").to_csv(tmp_path / "qi.csv", index=False)
    assert main(["estimate", str(tmp_path / "forest.json"), str(tmp_path / "qi.csv")]) == 1
    printed = capsys.readouterr()
    assert re.search(r"note: solving will take about \d+ hours: .*; --time-limit SECONDS gives the best", printed.err)
    assert re.search(r"interrupted, not to be relied on; 0 steps; the optimum has at most \d\.\d+ nats", printed.out)


@pytest.mark.filterwarnings("ignore::maxent.models.errors.UnreliableResult")
def test_work_that_does_not_look_at_the_clock_leaves_the_fitted_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_entropy, "DENSE_FACTOR", 0)
    over = threading.Event()

    def deaf(problem: LinearEntropy, clock: Clock, start: np.ndarray | None) -> None:
        clock.interrupt()
        over.wait(60.0)

    monkeypatch.setattr(overlapping, "find_face", deaf)
    forest, people = thousands(1.0, 0)
    found = maxent.estimate(forest, people[list("PQRS")], time_limit=300)
    over.set()
    assert found.summary["status"] == "interrupted"
    assert found.summary["max_violation"] < 0.05  # uniform it would be near 1
    assert np.isfinite(found.summary["entropy_upper_bound"])
