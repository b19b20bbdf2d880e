"""Counts with noise: reading, intervals that hold, and the likelihood beside the entropy."""

import math
import warnings
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from support.calls import refused
from support.search import cases

import maxent
from maxent.attacks.linking import NO_CLASS
from maxent.constraints.compiler import compile_program
from maxent.constraints.kinds.noise import slopes
from maxent.constraints.program.program import NoiseLoss, Program
from maxent.constraints.program.residuals import Evaluator
from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.formats.maxent_json.write import release_to_document
from maxent.models.release import AddedNoise, Attribute, Branch, Mechanism, Node, Release, Target, Tree
from maxent.models.tables.qi_table import read_qi
from maxent.solvers.backend import Options
from maxent.solvers.backends.registry import load_backend
from maxent.solvers.solve.driver import solve_program

MECHANISMS: tuple[Mechanism, ...] = get_args(Mechanism)


def drawn(noise: AddedNoise, rng: np.random.Generator, size: int) -> np.ndarray[Any, Any]:
    """Noise as the mechanism draws it."""
    if noise.mechanism == "gaussian":
        return rng.normal(0, noise.scale, size)
    if noise.mechanism == "geometric":
        p = 1 - math.exp(-1 / noise.scale)
        return (rng.geometric(p, size) - rng.geometric(p, size)).astype(float)
    found = rng.laplace(0, noise.scale, size)
    return np.trunc(found) if noise.mechanism == "truncated-laplace" else found


def noisy_release(seed: int, mechanism: Mechanism, scale: float = 1.5, n: int = 30) -> tuple[Release, pd.DataFrame]:
    """Two trees over two attributes with noisy counts of their leaves, and the people with their classes ``t``."""
    rng = np.random.default_rng(seed)
    people = pd.DataFrame({"a": rng.choice(["x", "y", "z"], n), "b": rng.choice(["u", "v"], n)})
    classes = ("no", "yes", "maybe")[: 2 + seed % 2]
    people["t"] = rng.choice(classes, n)
    noise = AddedNoise(mechanism, scale)
    trees = []
    for first, second in (("a", "b"), ("b", "a")):
        nodes: list[Node] = []
        below = []
        for value in sorted(people[first].unique()):
            inner = f"{first}{value}"
            leaves = []
            for other in sorted(people[second].unique()):
                inside = people[(people[first] == value) & (people[second] == other)]["t"]
                z = drawn(noise, rng, len(classes))
                told = {c: float((inside == c).sum() + z[x]) for x, c in enumerate(classes)}
                nodes.append(Node(f"{inner}{other}", label=classes[0], noisy=told))
                leaves.append(Branch(f"{inner}{other}", (other,)))
            nodes.append(Node(inner, second, tuple(leaves)))
            below.append(Branch(inner, (value,)))
        trees.append(Tree((Node("root", first, tuple(below)), *nodes)))
    attributes = tuple(Attribute(c, "categorical", tuple(sorted(people[c].unique()))) for c in ("a", "b"))
    return Release(Target("t", classes), attributes, tuple(trees), noise=noise), people


def program_of(release: Release, people: pd.DataFrame, noise: Any, **more: Any) -> Program:
    return compile_program(release, read_qi(people[["a", "b"]], release), noise=noise, **more)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_release_with_noise_is_read_as_it_was_written(mechanism: Mechanism) -> None:
    release, _ = noisy_release(3, mechanism)
    document = release_to_document(release)
    assert document["release"] == {"noise": {"mechanism": mechanism, "scale": 1.5}}
    assert parse_release(document, "x") == release
    assert any(c < 0 for node in document["trees"][0]["nodes"] for c in node.get("counts", {}).values())


@pytest.mark.parametrize(
    ("noise", "node", "words"),
    [
        ({"mechanism": "cauchy", "scale": 1}, {}, "expected one of laplace, geometric, gaussian, truncated-laplace"),
        ({"mechanism": "laplace", "scale": 0}, {}, "expected a number of records above 0, found 0"),
        ({"mechanism": "laplace"}, {}, "scale: expected a number of records above 0"),
        ({"mechanism": "geometric", "scale": 1}, {"counts": {"no": 0.5}}, "a whole number"),
        ({"mechanism": "laplace", "scale": 1}, {"counts": {"no": "1"}}, "counts of 'no'|counts of no"),
        ({"mechanism": "laplace", "scale": 1}, {"counts": {"other": 1}}, "classes of the target"),
        ({"mechanism": "laplace", "scale": 1}, {"n": 3}, "no such key beside release.noise"),
        ({"mechanism": "laplace", "scale": 1}, {"label": "no", "error_rate": 0.1}, "no such key beside release.noise"),
    ],
)
def test_what_is_wrong_about_noise_is_refused_at_its_place(noise: Any, node: dict[str, Any], words: str) -> None:
    document = {
        "format": "maxent/1",
        "target": {"name": "t", "classes": ["no", "yes"]},
        "attributes": [],
        "release": {"noise": noise},
        "trees": [{"nodes": [{"id": "L1", **node}]}],
    }
    with pytest.raises(maxent.InvalidInput, match=words):
        parse_release(document, "x")


@pytest.mark.parametrize("key", [{"suppressed_below": 5}, {"sampling_rate": 0.5}, {"resampled": 9}])
def test_noise_is_in_the_counts_of_all_records(key: dict[str, Any]) -> None:
    release, _ = noisy_release(0, "laplace")
    document = release_to_document(release)
    document["release"] |= key
    with pytest.raises(maxent.InvalidInput, match="no such key beside noise"):
        parse_release(document, "x")


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("scale", [0.3, 1.0, 7.5])
@pytest.mark.parametrize("miss", [0.2, 0.01, 1e-5])
def test_noise_exceeds_its_distance_as_seldom_as_is_said(mechanism: Mechanism, scale: float, miss: float) -> None:
    noise = AddedNoise(mechanism, scale)
    far = noise.within(miss)
    beyond = math.exp(-far / scale)  # Laplace
    if mechanism == "gaussian":
        beyond = math.erfc(far / scale / math.sqrt(2))
    elif mechanism != "laplace":
        numbers = np.arange(far + 1, far + 2000)
        each = np.exp(-numbers / scale) - np.exp(-(numbers + 1) / scale)
        if mechanism == "geometric":
            a = math.exp(-1 / scale)
            each = 2 * (1 - a) / (1 + a) * a**numbers
        beyond = float(each.sum())
        if far > 0:  # it is the smallest whole number
            before = (
                2 * (1 - a) / (1 + a) * a**far
                if mechanism == "geometric"
                else math.exp(-far / scale) * (1 - math.exp(-1 / scale))
            )
            assert beyond + before > miss * (1 - 1e-6)
    assert beyond <= miss * (1 + 1e-9)
    assert mechanism in {"geometric", "truncated-laplace"} or beyond >= 0.99 * miss


@pytest.mark.search
@pytest.mark.parametrize("seed", cases(400, 40))
def test_the_truth_is_in_the_intervals_unless_noise_is_beyond_what_was_said(seed: int) -> None:
    release, people = noisy_release(seed, MECHANISMS[seed % 4], scale=0.2 + seed % 5)
    program = program_of(release, people, "intervals", confidence=0.9)
    truth = true_masses(program, people)
    far = release.noise.within(0.1 / sum(len(n.noisy or ()) for t in release.trees for n in t.nodes))  # type: ignore[union-attr]
    within = all(
        abs(noise) <= far for tree, at in ((0, "ab"), (1, "ba")) for noise in noises(release, people, tree, at)
    )
    missed = [
        said
        for said in program.linear
        if said.kind == "noise"
        for value in [said.coef @ truth[program.regions[said.region]].sum(axis=0)]
        if ((value < said.lower) | (value > said.upper)).any()
    ]
    assert not within or not missed
    assert program.likelihood is None
    assert all(said.kind == "noise" for said in program.linear)


def noises(release: Release, people: pd.DataFrame, tree: int, order: str) -> list[float]:
    """The noise that was added to the counts of a tree."""
    found = []
    for node in release.trees[tree].nodes:
        for name, told in (node.noisy or {}).items():
            first, second = node.id[1], node.id[2]
            inside = people[(people[order[0]] == first) & (people[order[1]] == second)]["t"]
            found.append(told - float((inside == name).sum()))
    return found


def true_masses(program: Program, people: pd.DataFrame) -> np.ndarray[Any, Any]:
    """The people of each cell and class."""
    table, classes = program.table, program.release.target.classes
    found = np.zeros((len(program.cells), len(classes)))
    for _, row in people.iterrows():
        codes = [list(levels).index(row[a.name]) for a, levels in zip(table.attributes, table.levels, strict=True)]
        owner = int(np.flatnonzero((table.codes == codes).all(axis=1))[0])
        found[np.flatnonzero(program.cells.owner == owner)[0], classes.index(row["t"])] += 1
    return found


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_slopes_are_those_of_the_least_concave_function_above_the_likelihood(mechanism: Mechanism) -> None:
    noise = AddedNoise(mechanism, 1.7)
    for published in (-2.0, 0.0, 1.0, 4.0, 7.0, 9.0):
        counts = np.arange(8.0)
        loss = NoiseLoss(
            *(np.full(8, v[0]) for v in ([published], *slopes(noise, np.array([published]), np.array([7.0]))))
        )
        above, exact = -loss.at(counts), noise.log(published - counts)
        exact = exact - (exact - above).max()  # constants do not matter
        assert (exact <= above + 1e-12).all()
        assert (np.diff(above, 2) <= 1e-12).all()
        if mechanism != "truncated-laplace":
            assert np.allclose(exact, above)
        else:  # it touches at the ends of each line
            assert np.isclose(exact, above)[[0, -1]].all()
            assert not 0 < published < 7 or np.isclose(exact, above)[int(published)]


def by_cvxpy(program: Program) -> tuple[float, np.ndarray[Any, Any]]:
    """The optimum of entropy and likelihood by a generic convex solver: its value, and the masses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import cvxpy as cp

    likely = program.likelihood
    assert likely is not None
    assert likely.noise is not None
    weight = np.repeat(program.weight[:, None], program.n_classes, axis=1)
    masses = cp.Variable(weight.shape, nonneg=True)
    objective = -cp.sum(cp.rel_entr(masses, weight))
    for i, (t, place) in enumerate(zip(likely.tree.tolist(), likely.place.tolist(), strict=True)):
        held = program.cells.trees[t].at(place)
        of = likely.noise[i]
        off = of.published - cp.sum(masses[held], axis=0)
        objective -= cp.sum(cp.multiply(of.below, cp.pos(off)) + cp.multiply(of.above, cp.pos(-off)))
        if (of.variance > 0).all():
            objective -= cp.sum(cp.multiply(0.5 / of.variance, cp.square(off)))
    owner = program.cells.owner
    totals = [cp.sum(masses[np.flatnonzero(owner == o)]) == w for o, w in enumerate(program.table.counts)]
    problem = cp.Problem(cp.Maximize(objective), totals)
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(problem.value), np.asarray(masses.value)


@pytest.mark.search
@pytest.mark.parametrize("seed", cases(200, 12))
def test_the_optimum_is_that_of_a_generic_convex_solver(seed: int) -> None:
    release, people = noisy_release(seed, MECHANISMS[seed % 4], scale=(0.4, 1.5, 6.0)[seed % 3], n=10 + seed % 90)
    program = program_of(release, people, "likelihood")
    outcome = solve_program(program, load_backend("auto"), Options())
    assert outcome.status == "optimal"
    assert outcome.duality_gap <= 1e-8
    _best, masses = by_cvxpy(program)
    people_ = program.table.individuals
    ours = program.entropy(outcome.masses) * people_ + program.log_likelihood(outcome.masses)
    theirs = program.entropy(masses) * people_ + program.log_likelihood(masses)
    assert abs(ours - theirs) <= 1e-6 * people_
    assert np.abs(outcome.masses - masses).max() <= 1e-3


def test_estimates_take_the_likelihood_by_default_and_bounds_the_intervals() -> None:
    release, people = noisy_release(1, "truncated-laplace", scale=0.3)
    found = maxent.estimate(release, people[["a", "b"]])
    assert found.program.likelihood is not None
    assert found.certificate == "global"
    assert any("the least concave function above it" in note for note in found.notes)
    proved = maxent.bounds(release, people[["a", "b"]], level="linear")
    assert any("hold together with a probability of at least 0.99" in note for note in proved.program.notes)
    told = maxent.estimate(release, people[["a", "b"]], noise="intervals")
    assert told.program.likelihood is None


@pytest.mark.search
@pytest.mark.parametrize("seed", cases(200, 20))
def test_an_audit_by_intervals_says_only_what_is_true_while_they_hold(seed: int) -> None:
    """Of noise and of draws, where the truth is within all intervals."""
    release, people = noisy_release(seed, MECHANISMS[seed % 4], scale=0.1 + 0.1 * (seed % 4), n=20)
    if seed % 3 == 0:
        rows = np.random.default_rng(seed).integers(0, 3, (60, 2)).astype(float)
        people = pd.DataFrame(rows, columns=["a", "b"]).assign(t=np.where(rows[:, 0] > 1, "no", "yes"))
        model = RandomForestClassifier(8, max_depth=2, random_state=seed).fit(people[["a", "b"]], people["t"])
        release = maxent.from_sklearn(model, target="t")
    program = program_of(release, people, "intervals", confidence=0.9)
    truth = true_masses(program, people)
    found = maxent.audit_release(release, people[["a", "b"]], noise="intervals", confidence=0.9)
    shown = np.flatnonzero(found.span_classes != NO_CLASS)
    if Evaluator(program).max_violation(truth) < 1e-9:
        truth = truth[np.argsort(program.cells.owner)]
        assert not found.contradictions
        assert (truth[shown, found.span_classes[shown]] == found.people.counts[shown]).all()
        for tree, place in zip(found.trees, found.links.place.T, strict=True):
            inside = np.array([truth[place == at].sum(axis=0) for at in tree.leaves])
            attacked = tree.background
            at = np.flatnonzero(attacked.leaves)
            assert (inside[at, attacked.disclosed[at]] >= attacked.individuals[at]).all()
    kept = maxent.audit_release(release, people[["a", "b"]])
    assert not any(kept.summary["exposed"].values())
    assert maxent.audit(release, people[["a", "b"]], noise="likelihood") == kept.summary


def test_an_audit_by_intervals_finds_the_leaves_that_little_noise_shows() -> None:
    people = pd.DataFrame({"a": ["x"] * 6 + ["y"] * 6, "t": ["no"] * 9 + ["yes"] * 3})
    leaves = (Node("l", noisy={"no": 6.2, "yes": -0.4}), Node("r", noisy={"no": 2.9, "yes": 3.3}))
    root = Node("root", "a", (Branch("l", ("x",)), Branch("r", ("y",))))
    attributes = (Attribute("a", "categorical", ("x", "y")),)
    release = Release(
        Target("t", ("no", "yes")), attributes, (Tree((root, *leaves)),), noise=AddedNoise("laplace", 0.1)
    )
    found = maxent.audit(release, people[["a"]], noise="intervals")
    assert found["homogeneity"]["leaves"] == 1
    assert found["exposed_classes"] == {"no": 6, "yes": 0}
    assert any("hold together with a probability of at least 0.99" in note for note in found["notes"])
    assert any("--noise intervals" in note for note in maxent.audit(release, people[["a"]])["notes"])
    refused("the adversary's table", maxent.audit, release, noise="intervals")
    refused("noise: expected one of intervals, likelihood", maxent.audit, release, noise="some")
    exact = replace(release, noise=None)
    refused("noise: expected intervals, since the release has no counts", maxent.audit, exact, noise="likelihood")


def test_more_noise_brings_an_estimate_nearer_to_the_base() -> None:
    entropies = []
    for scale in (0.3, 3.0, 300.0):
        release, people = noisy_release(2, "laplace")
        release = replace(release, noise=AddedNoise("laplace", scale))
        found = maxent.estimate(release, people[["a", "b"]])
        entropies.append(found.program.entropy(found.outcome.masses))
    assert entropies == sorted(entropies)
    assert entropies[-1] == pytest.approx(math.log(2), abs=1e-4)


def test_labels_beside_noisy_counts_are_unread_unless_these_tell_them() -> None:
    release, people = noisy_release(4, "laplace")
    program = program_of(release, people, "likelihood")
    named = sum(
        max(node.noisy, key=node.noisy.__getitem__) != node.label  # type: ignore[arg-type]
        for tree in release.trees
        for node in tree.leaves
        if node.noisy
    )
    assert named > 0
    assert sum(unread.leaves for unread in program.unread) == named
    refused("no counts of a bootstrap", program_of, replace(release, noise=None), people, "likelihood")
