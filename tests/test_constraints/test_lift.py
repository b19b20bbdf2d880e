"""Lifted programs say what the release says: no more, so that the truth satisfies them, and no less."""

import json
from dataclasses import fields, replace
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from conformance.answers import random_problem
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import vstack
from support.calls import printed_by
from support.documents import release_document
from support.programs import private, public
from support.strategies import SURE, Case, cases, populations, thorough, true_facts, true_masses
from support.symmetric import by_value, grown, renamed

import maxent
from maxent.__main__ import main
from maxent.api.estimate import compile_release
from maxent.constraints import symmetry
from maxent.constraints.compiler import compile_program
from maxent.constraints.lifting import LiftedPart, LiftedProgram, lift
from maxent.constraints.presolve.merge import (
    Merged,
    Part,
    everything_about,
    known_totals,
    merge,
    needed,
    parts,
    unmerged,
)
from maxent.constraints.program.program import Likelihood, Program
from maxent.constraints.program.residuals import Evaluator
from maxent.constraints.symmetry import Exchangeable, Permuted, Pieces, breakable, few_rows
from maxent.constraints.textbook import beyond, textbook_model
from maxent.disclosure.measures import conditional_entropy
from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.formats.maxent_json.write import save_release
from maxent.models.tables.qi_table import read_qi
from maxent.models.tables.truth_and_facts import read_facts
from maxent.results.text.estimate import summary_lines
from maxent.solvers.backend import Options
from maxent.solvers.backends.registry import backend_names, usable_backends
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.solve.symmetrised import averaged

FloatArray = npt.NDArray[np.float64]

KNOWLEDGE = (None, None, ("rate",), ("label", "rate", "internal"), ("counts",), ("internal", "counts", "marginal"))


def compiled(case: Case, knowledge: Any, data: st.DataObject) -> Program:
    table = read_qi(case.people.qi, case.release)
    frame = data.draw(true_facts(case.people), "facts")
    marginal = case.people.counts(np.arange(len(case.people))).astype(float)
    return compile_program(
        case.release,
        table,
        knowledge=knowledge,
        facts=() if frame is None else read_facts(frame, case.release, table),
        marginal=marginal,
        rounding=case.roundings[0],
        confidence=SURE,
    )


def lifted(program: Program, rng: np.random.Generator, *, whole: bool) -> tuple[Merged, list[tuple[Part, LiftedPart]]]:
    """The whole program in one piece, or the parts of what presolve makes of it with half of the comparisons."""
    evaluator, totals = Evaluator(program), known_totals(program)
    keep, active = needed(program, totals, evaluator.linear), np.arange(evaluator.internal.n_rows)
    if whole:
        merged = unmerged(program)
        pieces = [Part(np.arange(len(merged.owner)), keep, active)]
    else:
        active = active[rng.random(len(active)) < 0.5]
        merged = merge(program, evaluator.internal, active)
        pieces = parts(program, merged, keep, evaluator.internal, active, np.ones(len(merged.owner), bool))
    return merged, [(piece, lift(program, merged, piece, evaluator.internal, totals)) for piece in pieces]


random_cases = st.one_of(
    cases(),
    cases(trees=(2, 3)),
    cases(populations(rows=(10, 40), public=(2, 3), private=(0, 0), classes=(2, 4)), kinds=("greedy",)),
)


@thorough(50)
@given(case=random_cases, knowledge=st.sampled_from(KNOWLEDGE), whole=st.booleans(), data=st.data())
def test_the_truth_satisfies_the_lifted_program(case: Case, knowledge: Any, whole: bool, data: st.DataObject) -> None:
    program = compiled(case, knowledge, data)
    truth, evaluator = true_masses(case, program), Evaluator(program)
    merged, pieces = lifted(program, np.random.default_rng(0), whole=whole)
    assert sorted(np.concatenate([piece.groups for piece, _ in pieces])) == list(range(len(merged.owner)))
    for piece, part in pieces:
        inside = merged.pool(truth)[piece.groups]
        z = part.point(inside)
        values = Derivatives(part.program)
        assert values.violation(z) <= 1e-9
        np.testing.assert_allclose(part.masses(z), inside, atol=1e-9)  # no mass is fixed at what it is not
        check_terms(part.program)
        # A nonlinear row is the slack of an active comparison, per individual who can be in the node.
        people = evaluator.internal.slack(truth)[piece.internal] * individuals_in_node(program, evaluator, truth, piece)
        rows = values.constraints(z)[values.n_linear :] + part.program.nl_const
        far = np.abs((rows * part.program.nl_size)[:, None] - people[None, :]).min(axis=1, initial=np.inf)
        assert far.max(initial=0.0) <= 1e-8


def individuals_in_node(program: Program, evaluator: Evaluator, masses: FloatArray, piece: Part) -> FloatArray:
    constraints = [program.internal[k] for k in evaluator.internal.constraint_of(piece.internal)]
    return np.array([masses[program.cells.trees[c.tree].at(c.place)].sum() for c in constraints])


def check_terms(program: LiftedProgram) -> None:
    """Terms of a block have one size, and one factor in each row; aggregates are defined before they are used."""
    for terms in program.terms:
        for column in (terms.size, terms.size_var):
            assert len(np.unique(np.column_stack([terms.block, column]), axis=0)) == len(np.unique(terms.block))
        pairs = np.column_stack([terms.row, terms.block])
        assert len(np.unique(np.column_stack([pairs, terms.coef]), axis=0)) == len(np.unique(pairs, axis=0))
    n_rows = program.matrix.shape[0] - program.n_aggregates
    for i, row in enumerate(program.matrix[n_rows:]):
        assert row.indices.max() == program.n_masses + i
    assert all(origin is None for origin in program.origins[n_rows:])
    assert (program.total[np.bincount(program.owner, program.mass_weight > 0, len(program.total)) > 0] > 0).all()


@thorough(50)
@given(case=random_cases, knowledge=st.sampled_from(KNOWLEDGE), whole=st.booleans(), data=st.data())
def test_nothing_that_is_said_gets_lost(case: Case, knowledge: Any, whole: bool, data: st.DataObject) -> None:
    """However far a point of the lifted linear rows is from the truth, it satisfies all statements of the release."""
    program = compiled(case, knowledge, data)
    rng = np.random.default_rng(1)
    merged, pieces = lifted(program, rng, whole=whole)
    pooled = np.zeros((len(merged.owner), program.n_classes))
    for piece, part in pieces:
        pooled[piece.groups] = part.masses(somewhere(part.program, rng))
    masses, evaluator = merged.expand(pooled, program.weight), Evaluator(program)
    assert evaluator.qi_violation(masses) <= 1e-7
    assert evaluator.linear.violation(masses).max(initial=0.0) <= 1e-7


def somewhere(program: LiftedProgram, rng: np.random.Generator) -> FloatArray:
    """A vertex of the linear rows."""
    if not program.n:
        return np.empty(0)
    low, high = np.isfinite(program.row_lower), np.isfinite(program.row_upper)
    found = linprog(
        rng.standard_normal(program.n),
        A_ub=vstack([program.matrix[high], -program.matrix[low]]),
        b_ub=np.concatenate([program.row_upper[high], -program.row_lower[low]]),
        bounds=np.column_stack([program.lower, program.upper]),
        method="highs",
    )
    assert found.x is not None
    return np.asarray(found.x)


@thorough(25)
@given(case=random_cases, knowledge=st.sampled_from(KNOWLEDGE), data=st.data())
def test_without_trust_every_statement_can_give_way(case: Case, knowledge: Any, data: st.DataObject) -> None:
    program = compiled(case, knowledge, data)
    evaluator, merged = Evaluator(program), unmerged(program)
    whole = Part(np.arange(len(merged.owner)), np.empty(0, np.int64), np.empty(0, np.int64))
    everything = everything_about(program, merged, whole)
    part = lift(program, merged, everything, evaluator.internal, known_totals(program), trusting=False)
    assert part.program.n == part.known.size  # nothing is fixed
    rng = np.random.default_rng(2)
    masses = rng.random(part.known.shape) ** 3
    total = np.bincount(program.cells.owner, masses.sum(axis=1))[program.cells.owner]
    masses *= (program.weight / total)[:, None]
    value = part.program.matrix @ part.point(masses)
    missed = np.maximum(part.program.row_lower - value, value - part.program.row_upper)
    by_origin: dict[Any, float] = {}
    for origin, amount in zip(part.program.origins, missed, strict=True):
        by_origin[origin] = max(by_origin.get(origin, 0.0), float(amount))
    off = evaluator.linear.violation(masses) * evaluator.linear.scale
    for constraint, amount in zip(evaluator.linear.constraint, off, strict=True):
        assert amount <= by_origin.get(program.linear[constraint].origin, 0.0) + 1e-9


@pytest.mark.parametrize("publish", ["counts", "rates"])
def test_statements_that_cannot_hold_fix_nothing(publish: Any) -> None:
    release, frame = public("gini", publish)
    program = compile_release(release, frame)
    first = next(i for i, c in enumerate(program.linear) if c.kind != "label")
    said = program.linear[first]
    wrong = replace(said, lower=said.lower + 1000.0, upper=said.upper + 1000.0)
    program = replace(program, linear=(*program.linear[:first], wrong, *program.linear[first + 1 :]))
    _, [(_, part)] = lifted(program, np.random.default_rng(0), whole=True)
    assert not part.known.any()
    assert part.program.n_masses == part.known.size
    assert wrong.origin in part.program.origins


def test_cuts_of_a_number_are_sums_of_one_another() -> None:
    """Many cuts of one attribute take room in proportion to the values, not to values times cuts."""
    n = 120
    document = release_document(
        "X",
        ["a", "b"],
        {"A": None, "B": ["0", "1"]},
        {
            "induction": {"impurity": "gini", "candidates": "thresholds"},
            "nodes": [
                {"id": "N", "attribute": "B", "branches": [{"in": ["0"], "child": "L0"}, {"in": ["1"], "child": "L1"}]},
                {"id": "L0", "label": "a", "error_rate": 0.25},
                {"id": "L1", "label": "b", "error_rate": 0.25},
            ],
        },
    )
    frame = pd.DataFrame({"A": np.arange(float(n)), "B": np.where(np.arange(n) % 3 == 0, "0", "1")})
    program = compile_release(parse_release(document, "test"), frame)
    _, [(_, part)] = lifted(program, np.random.default_rng(0), whole=True)
    assert len(part.program.nl_const) == n - 1
    # Both sides, both classes: a group and the cut before; branches.
    assert part.elimination.definitions.nnz <= 2 * 2 * (2 * n + n)


PEOPLE = pd.DataFrame({"A": list("000111222")})


@cache
def estimated(seed: int, single_optimum: bool = False):
    """A tree that is grown, who its people are, and the estimate, which is the same for many tests."""
    release, people = grown(seed)
    return release, people, maxent.estimate(release, people, single_optimum=single_optimum)


def leaves(*statements, classes="wxyz"):
    """A tree that tests A (three people for each value), and its leaves."""
    return parse_release(
        release_document(
            "X",
            classes,
            {"A": ["0", "1", "2"]},
            [
                {"id": "N", "attribute": "A", "branches": [{"in": [v], "child": f"L{v}"} for v in "012"]},
                *({"id": f"L{i}", **statement} for i, statement in enumerate(statements)),
            ],
        ),
        "test",
    )


@pytest.mark.parametrize(
    ("statements", "facts", "blocks"),
    [
        ([{"label": "w"}, {"label": "w", "error_rate": 1 / 3}, {}], {}, ["w", "xyz"]),
        ([{"label": "w"}, {"label": "x", "error_rate": 1 / 3}, {}], {}, ["w", "x", "yz"]),
        ([{"label": "w", "error_rate": 0.0}, {"label": "w"}, {}], {}, ["w", "xyz"]),
        ([{"counts": {"w": 1, "x": 1, "y": 1}}, {}, {}], {}, ["wxy", "z"]),
        ([{"counts": {"w": 2, "x": 1}}, {"counts": {"y": 2, "z": 1}}, {}], {}, ["w", "x", "y", "z"]),
        ([{}, {}, {"label": "z"}], {"A": ["0"], "X": ["w"], "count": [1]}, ["w", "xy", "z"]),
        ([{}, {}, {}], {}, ["wxyz"]),
    ],
)
def test_classes_that_statements_treat_alike(statements, facts, blocks):
    known = pd.DataFrame(facts) if facts else None
    program = compile_release(leaves(*statements), PEOPLE, facts=known)
    found = Exchangeable(program).blocks(np.arange(len(program.linear)))
    assert ["".join(np.array(list("wxyz"))[found == i]) for i in range(found.max() + 1)] == blocks


def test_a_label_that_says_that_all_classes_are_equally_many_treats_them_alike():
    program = compile_release(leaves({"label": "w", "error_rate": 2 / 3}, {}, {}, classes="wxy"), PEOPLE)
    assert (Exchangeable(program).blocks(np.arange(len(program.linear))) == 0).all()


@pytest.mark.parametrize("seed", range(6))
def test_no_permutation_breaks_what_the_bound_clears(seed):
    """Every permutation of two pieces, for masses at random: what some break is never missed."""
    release, people = grown(seed, classes=3)
    program = compile_release(release, people)
    rng, rows, n = np.random.default_rng(seed), Evaluator(program).internal, program.n_classes
    held = program.cells.trees[0]
    masses = rng.dirichlet(np.ones(n), len(program.cells)) * program.weight[:, None]
    of = np.full(len(program.cells), -1)
    for piece, place in enumerate(held.places.children[0]):
        of[held.at(place)] = piece
    pieces = Pieces(of, np.zeros((of.max() + 1, n), np.int64))
    least = np.full(rows.n_rows, np.inf)
    for first in permutations(range(n)):
        for second in permutations(range(n)):
            world = masses.copy()
            world[of == 0], world[of == 1] = masses[of == 0][:, first], masses[of == 1][:, second]
            np.minimum(least, rows.slack(world), out=least)
    among = np.ones(rows.n_rows, bool)
    for tolerance in (0.0, *(-least[least < 0] * (1 - 1e-9))):
        broken = np.flatnonzero(least < -tolerance)
        above = broken[[program.internal[k].place == 0 for k in rows.constraint_of(broken)]]
        assert set(above) <= set(breakable(program, rows, pieces, masses, among, tolerance))
    inside = [
        program.internal[k].place != 0
        for k in rows.constraint_of(breakable(program, rows, pieces, masses, among, -9.0))
    ]
    assert not any(inside), "a piece alone in a node changes nothing there"


@pytest.mark.parametrize("measure", ["gini", "gain_ratio"])
def test_comparisons_after_permutations_are_those_of_the_permuted_masses(measure):
    release, people = grown(3, classes=3)
    program = compile_release(release, people, impurity=measure)
    rng, rows, n = np.random.default_rng(0), Evaluator(program).internal, program.n_classes
    masses = rng.dirichlet(np.ones(n), len(program.cells)) * program.weight[:, None]
    pieces = Pieces(rng.integers(-1, 4, len(program.cells)), np.zeros((4, n), np.int64))
    order, some = pieces.drawn(rng), np.arange(0, len(program.internal), 2)
    numbers = np.concatenate([np.arange(*rows.first_row[k : k + 2]) for k in some])
    few = few_rows(program, some)
    world = np.take_along_axis(masses, order[pieces.of], axis=1)
    assert (order[-1] == np.arange(n)).all()
    np.testing.assert_allclose(few.slack(masses), rows.slack(masses)[numbers], atol=1e-12)
    np.testing.assert_allclose(Permuted(few, pieces, masses).slack(order), rows.slack(world)[numbers], atol=1e-12)


@pytest.mark.parametrize(("seed", "arrangements", "optima"), [(11, 3, 3), (25, 6, 6), (21, 3, 2)])
def test_the_mean_is_over_the_swaps_that_keep_every_comparison(seed, arrangements, optima):
    """Of the three arrangements of the second tree's classes one breaks a comparison of the root."""
    found, single = (estimated(seed, alone)[2] for alone in (False, True))
    assert (found.optima, single.optima) == (optima, 1)
    evaluator = Evaluator(found.program)
    worlds = {}
    for order in permutations(range(4)):
        world = np.where(_in_piece(found)[:, None], single.outcome.masses[:, order], single.outcome.masses)
        if evaluator.linear.violation(world).max() <= 1e-8:
            worlds[np.round(world, 3).tobytes()] = world
    assert len(worlds) == arrangements
    kept = [world for world in worlds.values() if evaluator.max_violation(world) <= 1e-8]
    assert len(kept) == optima
    assert found.probabilities == pytest.approx(found.program.posterior(np.mean(kept, axis=0)), abs=1e-6)
    assert np.abs(found.probabilities - single.probabilities).max() > 0.01


def _in_piece(found):
    """The cells that the mean changed."""
    return (
        np.abs(found.probabilities - found.program.posterior(found.outcome.masses)).max(axis=1)[
            found.program.cells.owner
        ]
        > 1e-5
    )


@pytest.mark.parametrize("seed", [11, 21, 25])
def test_where_arrangements_are_many_the_mean_is_over_draws_that_are_kept(monkeypatch, seed):
    """Over a subgroup: never over more than the arrangements that are tried one by one."""
    release, people, exact = estimated(seed)
    monkeypatch.setattr(symmetry, "ARRANGEMENTS", 0)
    drawn = maxent.estimate(release, people)
    assert drawn.optima in ((exact.optima,) if seed != 21 else (1, 2))
    if drawn.optima == exact.optima:
        assert drawn.probabilities == pytest.approx(exact.probabilities, abs=1e-6)


@pytest.mark.parametrize("seed", [11, 21])
def test_names_and_order_are_nothing_to_the_mean(seed):
    release, people, found = estimated(seed)
    other, table, read = renamed(release, people, seed)
    assert read(maxent.estimate(other, table)) == pytest.approx(by_value(found, people), abs=1e-6)


def test_the_summary_says_over_how_many_optima_and_the_rest_is_of_one_of_them():
    found, single = (estimated(11, alone)[2] for alone in (False, True))
    mean, one = found.summary, single.summary
    assert (mean["symmetric"], mean["optima"]) == (True, 3)
    assert (one["symmetric"], one["optima"]) == (False, 1)
    assert {key: mean[key] for key in ("entropy", "max_violation", "certificate", "duality_gap")} == {
        key: one[key] for key in ("entropy", "max_violation", "certificate", "duality_gap")
    }
    assert found.disclosure.measures["entropy"] == found.disclosure.entropy == mean["entropy"]
    doubt = [conditional_entropy(result.probabilities, result.program.table.counts) for result in (found, single)]
    assert doubt[0] > doubt[1] == pytest.approx(one["entropy"])
    assert "the mean of 3 optima" in "\n".join(summary_lines(found))
    assert "the mean of" not in "\n".join(summary_lines(single))


def test_draws_tell_classes_apart():
    found = estimated(11)[2]
    assert averaged(found.program, found.outcome, Options()).optima == 3
    likely = replace(found.program, likelihood=Likelihood(*[np.empty(0)] * len(fields(Likelihood))))
    assert averaged(likely, found.outcome, Options()) is None


def test_more_optima_than_json_can_count_are_a_decimal_number():
    assert replace(estimated(11)[2], optima=10**400).summary["optima"] == 1e308


def test_one_optimum_on_the_command_line(tmp_path, capsys):
    release, people = grown(25)
    release.save(tmp_path / "tree.json")
    people.to_csv(tmp_path / "qi.csv", index=False)
    call = ["estimate", str(tmp_path / "tree.json"), str(tmp_path / "qi.csv"), "--json"]
    assert json.loads(printed_by(capsys, call).out)["symmetric"] is True
    assert json.loads(printed_by(capsys, [*call, "--single-optimum"]).out)["symmetric"] is False


EXAMPLES = Path(__file__).parents[2] / "examples"
D1, D2 = ([str(EXAMPLES / name / file) for file in ("tree.json", "qi.csv")] for name in ("d1", "d2"))
PRINTED = ("label", "rate", "internal")


def agree(release, people, **options):
    """The same entropy, as printed, presolved in parts and lifted in one piece."""
    options = {"knowledge": PRINTED, **options}
    printed = maxent.estimate(release, people, backend="textbook", starts=2, **options)
    assert printed.summary["status"] == "optimal", printed.notes
    assert printed.summary["max_violation"] <= 1e-8
    for presolve in (True, False):
        found = maxent.estimate(release, people, presolve=presolve, **options)
        assert found.summary["status"] == "optimal"
        assert found.summary["entropy"] == pytest.approx(printed.summary["entropy"], abs=1e-6)


@pytest.mark.parametrize("impurity", ["gini", "entropy"])
@pytest.mark.parametrize("files", [D1, D2], ids=["d1", "d2"])
def test_the_examples_of_the_paper(files, impurity):
    agree(*files, impurity=impurity)


@pytest.mark.parametrize("number", [0, 1, 6, 7, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 9, 20, 21))])
def test_random_releases(number):
    agree(*random_problem(number))


@pytest.mark.parametrize("knowledge", [("label",), ("rate",), ("label", "rate")])
def test_less_knowledge(knowledge):
    release, people = random_problem(3)
    agree(release, people, knowledge=knowledge)


@pytest.mark.parametrize("impurity", ["gini", "entropy"])
def test_private_attributes_leave_sizes_open(impurity):
    release, frame = private(impurity)
    agree(release, frame[(frame["B"] != "2") & (frame["C"] == "0")][["B", "C"]])


@pytest.mark.parametrize("impurity", ["gini", "entropy"])
@pytest.mark.parametrize("make", [public, private])
def test_rows_have_the_values_of_the_compiled_statements(make, impurity):
    import pyomo.environ as pyo

    release, frame = make(impurity)
    program = compile_release(release, frame[["A", "B", "C"] if make is public else ["B", "C"]], knowledge=PRINTED)
    assert not beyond(program)
    share = np.random.default_rng(3).dirichlet(np.ones(program.n_classes), len(program.cells))
    share /= np.bincount(program.cells.owner)[program.cells.owner][:, None]
    masses, model, evaluator = share * program.weight[:, None], textbook_model(program), Evaluator(program)
    for (cell, klass), variable in model.p.items():
        variable.set_value(share[cell, klass])
    assert pyo.value(model.entropy) == pytest.approx(program.entropy(masses), abs=1e-12)
    assert all(pyo.value(row.body) == pytest.approx(1.0) for row in model.qi.values())
    worst = [max(-row.lslack(), -row.uslack(), 0.0) for row in (*model.label.values(), *model.rate.values())]
    assert max(worst) > 0
    assert max(worst) == pytest.approx(evaluator.linear.violation(masses).max())
    slack = evaluator.internal.slack(masses)
    assert len(slack) == len(model.internal) > 0
    # The paper divides by all people in the node; where a private attribute was tested above it, by all who may be.
    assert [pyo.value(row.body) for row in model.internal.values()] == pytest.approx(slack.tolist(), abs=1e-12)


def counted():
    release, frame = public("gini", publish="counts")
    return release, frame[["A", "B", "C"]]


def by_ratio():
    release, frame = public("gain_ratio")
    return release, frame[["A", "B", "C"]]


def drawn():
    release, frame = public("gini", publish="counts")
    return replace(release, sampling_rate=0.5), frame[["A", "B", "C"]]


@pytest.mark.parametrize(
    ("make", "name"), [(counted, "counts"), (by_ratio, "internal (gain_ratio)"), (drawn, "samples")]
)
def test_what_is_beyond_the_paper_is_refused_by_name(make, name):
    release, people = make()
    with pytest.warns(maxent.UnreliableResult):
        found = maxent.estimate(release, people, backend="textbook")
    [said] = [note for note in found.notes if note.startswith("textbook refuses: ")]
    assert name in said
    assert found.summary["status"] == "not_converged"


def test_facts_are_refused_by_name(tmp_path):
    facts = tmp_path / "facts.csv"
    people = pd.read_csv(D1[1])
    facts.write_text(
        pd.DataFrame([{**people.iloc[0].drop("count", errors="ignore"), "Salary": ">50K"}]).to_csv(index=False)
    )
    assert beyond(compile_release(*D1, facts=facts)) == ("facts",)


def test_it_has_to_be_named():
    assert "textbook" in backend_names()
    assert "textbook" not in usable_backends()


def test_the_model_as_text(tmp_path):
    file = tmp_path / "model.txt"
    assert main(["explain", *D1, "--textbook", "--pyomo", str(file)]) == 0
    text = file.read_text(encoding="utf-8")
    assert "# p[0,1]: Salary=>50K | Education=Masters, Country=USA, Gender=Female (leaf L1)" in text
    assert "5 : 0.5 : p[6,1] : 0.5 : True" in text  # the last leaf's rate
    assert "aggregate" not in text


def test_the_model_is_not_written_where_it_would_say_less(tmp_path, capsys):
    release, people = counted()
    tree, qi, file = tmp_path / "tree.json", tmp_path / "qi.csv", tmp_path / "model.txt"
    save_release(release, tree)
    people.to_csv(qi, index=False)
    assert main(["explain", str(tree), str(qi), "--textbook", "--pyomo", str(file)]) == 2
    assert "this release states counts" in capsys.readouterr().err
    assert not file.exists()


def test_textbook_needs_a_file(capsys):
    assert "--textbook: expected --pyomo or --nl" in printed_by(capsys, ["explain", *D1, "--textbook"], 2).err
