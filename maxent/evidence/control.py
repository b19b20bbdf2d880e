"""Members against control people: what a release gives away about its people beyond what it teaches about others."""

from __future__ import annotations

import numpy as np

from maxent.constraints.program import Program
from maxent.disclosure.checked_arrays import TOLERANCE, mean
from maxent.disclosure.divergence import individual_divergence
from maxent.evidence.baseline import Way
from maxent.evidence.control_people import Believed, Controls, believed
from maxent.evidence.intervals import newcombe, welch
from maxent.evidence.truth import InTruth, right_by
from maxent.evidence.two_groups import Control, Two
from maxent.models.arrays import FloatArray, IntArray


def compared(
    program: Program,
    masses: FloatArray,
    posterior: FloatArray,
    truth: IntArray,
    controls: Controls,
    confidence: float,
    held: InTruth,
    frequent: int | None = None,
) -> Control:
    """Apply the adversary of a release to its people, and to people who were not in its data.

    Parameters
    ----------
    program : Program
    masses : shape (n_cells, n_classes)
        The answer to it, individuals.
    posterior, truth : shape (n_qi, n_classes)
        Of members: probabilities, and individuals of each class.
    controls : Controls
    confidence : float
        Probability of each interval.
    held : InTruth
        Guesses of members: control people are guessed in the way that is right about most of these.
    frequent : int, optional
        The most frequent class of members, where the adversary knows it.

    References
    ----------
    Jayaraman and Evans, "Are Attribute Inference Attacks Just Imputation?", CCS 2022; Giomi et al., "A Unified
    Framework for Quantifying Privacy Risk in Synthetic Data" (Anonymeter), PoPETs 2023.
    """
    others = believed(program, masses, posterior, controls)
    counts, their_counts = program.table.counts, controls.table.counts
    people = int(counts.sum()), int(their_counts.sum())
    right = held.right.sum(), _theirs(held.way, others, controls.truth, frequent).sum()
    weights = counts.astype(np.float64), their_counts.astype(np.float64)
    surest = posterior.max(axis=1), others.posterior.max(axis=1)
    divergence = individual_divergence(truth, posterior), individual_divergence(controls.truth, others.posterior)
    return Control(
        hits=Two(*(float(r / n) for r, n in zip(right, people, strict=True))),
        interval=newcombe((float(right[0]), float(right[1])), people, confidence),
        vulnerability=Two(*(mean(s, w) for s, w in zip(surest, weights, strict=True))),
        vulnerability_interval=welch(surest, weights, confidence),
        divergence=Two(*(mean(d, w) for d, w in zip(divergence, weights, strict=True))),
        people=people,
        known=others.known,
        confidence=confidence,
    )


def _theirs(way: Way, others: Believed, truth: IntArray, frequent: int | None) -> FloatArray:
    """Control people of each quasi-identifier whose class is guessed right, in a way."""
    if way == "estimate":
        return right_by(others.posterior, truth)
    guess = others.predicted if way == "predicted" else np.full(len(truth), frequent, np.int64)
    return truth[np.arange(len(truth)), guess].astype(np.float64)


def guesses(posterior: FloatArray, predicted: IntArray | None) -> IntArray:
    """The guessed class of each quasi-identifier, shape (n_qi,): the likeliest; of several alike the predicted one."""
    likeliest = posterior >= posterior.max(axis=1, keepdims=True) - TOLERANCE
    first: IntArray = np.asarray(likeliest.argmax(axis=1), np.int64)
    if predicted is None:
        return first
    return np.where(likeliest[np.arange(len(first)), predicted], predicted, first)
