"""Exchangeable classes are found from the statements, and the mean is over the optima that swapping them leads to."""

import json
from dataclasses import fields, replace
from functools import cache
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from support.documents import release_document
from support.symmetric import by_value, grown, renamed

import maxent
from maxent.__main__ import main
from maxent.api.estimate import compile_release
from maxent.constraints import symmetry
from maxent.constraints.program.program import Likelihood
from maxent.constraints.program.residuals import Evaluator
from maxent.constraints.symmetry import Exchangeable, Permuted, Pieces, breakable, few_rows
from maxent.disclosure.measures import conditional_entropy
from maxent.models.formats.maxent_json.read import parse_release
from maxent.results.text.estimate import summary_lines
from maxent.solvers.backend import Options
from maxent.solvers.solve.symmetrised import averaged

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
    found = replace(estimated(11)[2], optima=10**400)
    assert found.summary["optima"] == 1e308


def test_one_optimum_on_the_command_line(tmp_path, capsys):
    release, people = grown(25)
    release.save(tmp_path / "tree.json")
    people.to_csv(tmp_path / "qi.csv", index=False)
    call = ["estimate", str(tmp_path / "tree.json"), str(tmp_path / "qi.csv"), "--json"]
    assert main(call) == 0
    assert json.loads(capsys.readouterr().out)["symmetric"] is True
    assert main([*call, "--single-optimum"]) == 0
    assert json.loads(capsys.readouterr().out)["symmetric"] is False
