"""The property that everything rests on: what is true of the people satisfies every constraint that is compiled."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from strategies import Case, cases, inner_places, populations, true_facts, thorough, true_masses

from maxent.constraints.compiler import compile_program, implied_marginal
from maxent.constraints.evaluate import Evaluator
from maxent.models.errors import InvalidInput
from maxent.models.from_sklearn import from_sklearn
from maxent.models.inducers import id3
from maxent.models.reader import validate_release
from maxent.models.table import read_facts, read_qi

SURE = 1 - 1e-9
"""Confidence at which an interval of a sampled count practically never misses."""

KNOWLEDGE = (
    None,
    None,
    ("label",),
    ("rate",),
    ("label", "rate", "internal"),
    ("counts",),
    ("internal", "counts", "marginal"),
)


def roundings(case: Case) -> tuple[str, ...]:
    """The ways of reading rates that are right for how they were printed."""
    if case.digits is None:
        return ("exact", "auto")
    return ("digits", "auto") if case.digits >= 3 else ("digits",)


def check(case: Case, **options: Any) -> None:
    """The true masses satisfy every constraint of the program, and nothing contradicts the table."""
    table = read_qi(case.people.qi, case.release)
    for rounding in roundings(case):
        program = compile_program(case.release, table, rounding=rounding, confidence=SURE, **options)  # type: ignore[arg-type]
        truth = true_masses(case, program)
        evaluator = Evaluator(program)
        linear = evaluator.linear.violation(truth)
        assert linear.max(initial=0.0) <= 1e-9, str(program.linear[evaluator.linear.constraint[linear.argmax()]])
        internal = evaluator.internal.violation(truth)
        worst = evaluator.internal.constraint_of(np.array([internal.argmax()]))[0] if len(internal) else 0
        assert internal.max(initial=0.0) <= 1e-9, str(program.internal[worst])
        assert evaluator.max_violation(truth) <= 1e-9
        assert program.contradictions == ()


@thorough(250)
@given(case=cases(), knowledge=st.sampled_from(KNOWLEDGE), data=st.data())
def test_the_truth_satisfies_everything_compiled_from_a_tree(case: Case, knowledge: Any, data: st.DataObject) -> None:
    validate_release(case.release)
    table = read_qi(case.people.qi, case.release)
    frame = data.draw(true_facts(case.people), "facts")
    facts = () if frame is None else read_facts(frame, case.release, table)
    marginal = case.people.counts(np.arange(len(case.people))).astype(float)
    check(case, knowledge=knowledge, facts=facts, marginal=marginal)
    with suppress(InvalidInput):
        assert implied_marginal(case.release).tolist() == marginal.tolist()


@thorough(80)
@given(case=cases(trees=(2, 3)), knowledge=st.sampled_from(KNOWLEDGE[:5]))
def test_the_truth_satisfies_everything_compiled_from_a_forest(case: Case, knowledge: Any) -> None:
    validate_release(case.release)
    check(case, knowledge=knowledge)
