"""Inference on each of several sensitive columns by itself, as sums over the inferred combinations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from maxent.constraints.program.program import Program
from maxent.disclosure.baseline import baseline_of
from maxent.disclosure.inference import Inference, measure, shares
from maxent.models.arrays import FloatArray
from maxent.models.tables.classes import marginal, part_codes
from maxent.models.trees.restate import of_target

if TYPE_CHECKING:
    from maxent.api.case import Case


def inferences(
    case: Case, program: Program, masses: FloatArray, posterior: FloatArray, *, top: int, error: float
) -> Mapping[str, Inference]:
    """The posterior of each sensitive column and what it discloses, by its name; empty where there is only one."""
    target = program.release.target
    found = {}
    for i, part in enumerate(target.of):
        own, size = marginal(posterior, target, i), len(part.classes)
        truth = None if case.truth is None else marginal(case.truth, target, i)
        alone = replace(program, release=of_target(program.release, i), linear=(), internal=(), likelihood=None)
        shared = shares(program, masses, own, error, part=i)
        held = None
        if truth is not None:
            from maxent.disclosure.truth import in_truth

            held = in_truth(alone, marginal(masses, target, i), own, truth)
        disclosure = measure(
            own,
            program.table.counts,
            truth,
            top=top,
            surest=shared.surest,
            possible=shared.possible,
            tolerance=error,
            right=None if held is None else held.right,
            pure=None if held is None else held.pure,
            baseline=baseline_of(
                size,
                program.individuals,
                marginal=None if case.marginal is None else marginal(case.marginal, target, i),
                low=shared.class_low,
                high=shared.class_high,
                truth=truth,
            ),
        )
        found[part.name] = Inference(alone, own, disclosure)
    return found


def case_of(case: Case, part: int) -> Case:
    """A case about one of several sensitive columns: its release, facts and true classes."""
    target = case.release.target
    codes = part_codes(target, part)
    facts = case.facts
    if facts is not None:
        facts = tuple(replace(fact, class_index=int(codes[fact.class_index])) for fact in facts)
    truth = None if case.truth is None else marginal(case.truth, target, part)
    of = of_target(case.release, part)
    return replace(case, release=of, facts=facts, marginal=None, truth=truth, weighed=None, controls=None)
