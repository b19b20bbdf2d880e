"""Evaluation of every constraint at once agrees with a direct one, constraint by constraint."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.documents import release_document
from support.strategies import Case, badness, cases, populations, thorough, true_facts

from maxent.api.estimate import compile_release
from maxent.constraints.compiler import compile_program
from maxent.constraints.program import residuals as evaluate
from maxent.constraints.program.program import Internal, Program
from maxent.constraints.program.residuals import Evaluator
from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.tables.qi_table import read_qi
from maxent.models.tables.truth_and_facts import read_facts


def inside(program: Program, tree: int, place: int) -> Any:
    """Which cells are below a place, found by walking down to its leaves."""
    children = program.cells.trees[tree].places.children
    leaves, stack = [], [place]
    while stack:
        at = stack.pop()
        stack.extend(children[at])
        if not children[at]:
            leaves.append(at)
    return np.isin(program.cells.leaf[:, tree], leaves)


def slack(program: Program, constraint: Internal, masses: Any) -> list[float]:
    """How much worse the candidate's splits are than the chosen one, straight from the definition of the impurity."""
    cells = inside(program, constraint.tree, constraint.place)
    branches = program.cells.trees[constraint.tree].places.children[constraint.place]
    chosen = [masses[inside(program, constraint.tree, child)].sum(axis=0) for child in branches]
    code = program.table.codes[program.cells.owner, constraint.column]
    if constraint.form == "values":
        parts = [[cells & (code == v) for v in np.unique(code[cells])]]
    elif constraint.form == "cuts":
        parts = [[cells & (code <= c), cells & (code > c)] for c in constraint.codes]
    else:
        parts = [[cells & (code == c), cells & (code != c)] for c in constraint.codes]
    ours = badness([table for table in chosen if table.sum()], constraint.measure)
    tables = [[masses[part].sum(axis=0) for part in split] for split in parts]
    return [badness(split, constraint.measure) - ours for split in tables]


def agrees(program: Program, masses: Any) -> None:
    evaluator = Evaluator(program)
    expected = [s for constraint in program.internal for s in slack(program, constraint, masses)]
    found = evaluator.internal.slack(masses)
    assert found == pytest.approx(np.array(expected), abs=1e-10)
    assert evaluator.internal.violation(masses) == pytest.approx(np.maximum(-found, 0.0))
    numbers = [i for i, constraint in enumerate(program.internal) for _ in range(constraint.rows)]
    assert evaluator.internal.constraint_of(np.arange(evaluator.internal.n_rows)).tolist() == numbers

    values, missed = [], []
    for constraint in program.linear:
        cells = program.regions[constraint.region]
        people = program.table.counts[np.unique(program.cells.owner[cells])].sum()
        value = constraint.coef @ masses[cells].sum(axis=0)
        values += value.tolist()
        miss = np.maximum(np.maximum(constraint.lower - value, value - constraint.upper), 0.0)
        missed += (miss / max(people, 1.0)).tolist()
    assert evaluator.linear.values(masses) == pytest.approx(np.array(values), abs=1e-10)
    assert evaluator.linear.violation(masses) == pytest.approx(np.array(missed), abs=1e-10)

    rows = [masses[program.cells.owner == q].sum() / n - 1 for q, n in enumerate(program.table.counts)]
    worst = max(np.abs(rows))
    assert evaluator.qi_violation(masses) == pytest.approx(worst, abs=1e-12)
    assert evaluator.max_violation(masses) == pytest.approx(
        max(worst, max(missed, default=0.0), max((-s for s in expected), default=0.0)), abs=1e-10
    )


@thorough(120)
@given(
    case=cases(populations(rows=(2, 30)), trees=(1, 2)),
    measure=st.sampled_from((None, "gini", "entropy", "gain_ratio")),
    seed=st.integers(0, 2**32 - 1),
    chunk=st.sampled_from((1, 3, 1 << 16)),
    data=st.data(),
)
def test_everything_at_once_is_one_by_one(case: Case, measure: Any, seed: int, chunk: int, data: st.DataObject) -> None:
    table = read_qi(case.people.qi, case.release)
    frame = data.draw(true_facts(case.people), "facts")
    facts = () if frame is None else read_facts(frame, case.release, table)
    program = compile_program(case.release, table, impurity=measure, facts=facts)
    rng = np.random.default_rng(seed)
    masses = rng.exponential(size=(len(program.cells), program.n_classes))
    masses[:, 1:] *= rng.random(masses[:, 1:].shape) < 0.7  # some classes absent, no cell empty
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluate, "CHUNK", chunk)
        agrees(program, masses)


@pytest.mark.parametrize("impurity", ["gini", "entropy", "gain_ratio"])
def test_a_chain_of_a_hundred_splits(impurity: Any) -> None:
    """Every node holds one value less than the one above: sums rise through a hundred levels."""
    nodes: list[dict[str, Any]] = []
    for i in range(100):
        branches = [{"le": i, "child": f"L{i}"}, {"gt": i, "child": f"N{i + 1}" if i < 99 else "L100"}]
        nodes.append({"id": f"N{i}", "attribute": "A", "branches": branches})
    nodes += [{"id": f"L{i}", "label": "y"} for i in range(101)]
    document = release_document(
        "X",
        ["y", "n"],
        {"A": None, "B": ["0", "1", "2"]},
        {"induction": {"impurity": impurity, "candidates": "thresholds"}, "nodes": nodes},
    )
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"A": np.repeat(np.arange(101.0), 2), "B": rng.integers(0, 3, 202).astype(str)})
    program = compile_release(parse_release(document, "test"), people)
    assert {c.form for c in program.internal} == {"cuts"}
    agrees(program, rng.random((len(program.cells), 2)))
