"""Everything that is measured of an answer: what it discloses, and the evidence on what that is worth."""

from __future__ import annotations

from typing import Any

from maxent.api.case import Case
from maxent.constraints.program import Program
from maxent.disclosure.group_shares import shares
from maxent.disclosure.summary import measure
from maxent.evidence.baseline import baseline_of
from maxent.evidence.leakage import channel_of, leakage, min_capacity
from maxent.models.arrays import FloatArray


def measured(
    case: Case,
    program: Program,
    masses: FloatArray,
    posterior: FloatArray,
    confidence: float,
    *,
    top: int,
    error: float,
    no_marginal: bool = False,
) -> dict[str, Any]:
    """The disclosure and the evidence of an answer, by their names in `maxent.results.solved.Solved`.

    Parameters
    ----------
    case : Case
    program : Program
    masses, posterior : float64, shapes (n_cells, n_classes) and (n_qi, n_classes)
        The answer to it, individuals and probabilities.
    confidence : float
        Probability of intervals.
    top : int
        How many of the largest divergences are named.
    error : float
        By how much probabilities may be off.
    no_marginal : bool
        Whether the adversary does not know the base rate.
    """
    counts, truth = program.table.counts, case.truth
    shared = shares(program, masses, posterior, error)
    baseline = baseline_of(
        program.n_classes,
        program.table.individuals,
        marginal=case.marginal,
        low=shared.class_low,
        high=shared.class_high,
        truth=truth,
    )
    held, control, frequent = None, None, None if no_marginal else baseline.code
    if truth is not None:
        from maxent.evidence.truth import in_truth

        held = in_truth(program, masses, posterior, truth, frequent)
        if case.controls is not None:
            from maxent.evidence.control import compared

            control = compared(program, masses, posterior, truth, case.controls, confidence, held, frequent)
    disclosure = measure(
        posterior,
        counts,
        truth,
        top=top,
        surest=shared.surest,
        possible=shared.possible,
        tolerance=error,
        right=None if held is None else held.right,
        pure=None if held is None else held.pure,
        baseline=baseline,
        control=control,
    )
    found: dict[str, Any] = {"disclosure": disclosure, "baseline": baseline, "held": held, "control": control}
    if truth is not None and held is not None:
        from maxent.evidence.wp216 import risks

        right = float(held.right.sum() / truth.sum())
        found["wp216"] = risks(program, right, case.controls, control, confidence)
    found["min_capacity"] = min_capacity(channel_of(posterior, counts)[1])
    if case.gain is not None:
        found["leakage"] = leakage(case.gain, posterior, counts, truth)
    if case.sensitive:
        from maxent.evidence.sensitive import sensitive_of

        compare_with = (case.controls, confidence, baseline.shares)
        alone = sensitive_of(case.sensitive, program, masses, posterior, shared, truth, held, *compare_with)
        found["sensitive"] = alone
    return found
