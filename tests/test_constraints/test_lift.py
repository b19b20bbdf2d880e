"""Lifted programs say what the release says: no more, so that the truth satisfies them, and no less."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import vstack
from support.documents import release_document
from support.programs import public
from support.strategies import SURE, Case, cases, populations, thorough, true_facts, true_masses

from maxent.api.estimate import compile_release
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
from maxent.constraints.program.program import Program
from maxent.constraints.program.residuals import Evaluator
from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.tables.qi_table import read_qi
from maxent.models.tables.truth_and_facts import read_facts
from maxent.solvers.derivatives import Derivatives

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
    free = np.bincount(program.owner, program.mass_weight > 0, len(program.total)) > 0
    assert (program.total[free] > 0).all()


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
