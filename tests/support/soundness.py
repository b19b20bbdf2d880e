"""Soundness: whatever was published, the truth satisfies every constraint that is compiled."""

from typing import Any

import numpy as np

from maxent.constraints.compiler import compile_program
from maxent.constraints.program.program import Program
from maxent.constraints.program.residuals import Evaluator
from maxent.models.formats.maxent_json.read import validate_release
from maxent.models.tables.qi_table import read_qi
from support.strategies import SURE, Case, true_masses


def check(case: Case, **options: Any) -> Program:
    """The true masses satisfy every constraint of the program, which is returned; nothing contradicts the table."""
    validate_release(case.release)
    table = read_qi(case.people.qi, case.release)
    for rounding in case.roundings:
        program = compile_program(case.release, table, rounding=rounding, confidence=SURE, **options)
        truth = true_masses(case, program)
        evaluator = Evaluator(program)
        linear = evaluator.linear.violation(truth)
        assert linear.max(initial=0.0) <= 1e-9, str(program.linear[evaluator.linear.constraint[linear.argmax()]])
        internal = evaluator.internal.violation(truth)
        worst = evaluator.internal.constraint_of(np.array([internal.argmax()]))[0] if len(internal) else 0
        assert internal.max(initial=0.0) <= 1e-9, str(program.internal[worst])
        assert evaluator.max_violation(truth) <= 1e-9
        assert program.contradictions == ()
    return program
