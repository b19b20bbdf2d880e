"""The review of a model of several sensitive columns: of each by itself, and of what is inferred of all together.

The nodes of such a model state the classes of each column by itself, so every statement is about one of them. Entropy
is subadditive: the joint distribution of the largest entropy has the separate posteriors, of each quasi-identifier
independent of one another, and its entropy is the sum of theirs. That takes for granted that quasi-identifiers say in
which leaves people are: where private attributes do, whoever is in a leaf has classes of that leaf in all columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from os import PathLike
from typing import Any

import numpy as np

from maxent.api.adversary.estimate import Progress, Solving
from maxent.api.compile import Knowledge
from maxent.api.decisions.frames import with_column
from maxent.api.decisions.reviewing import review_subject
from maxent.api.decisions.subjects import Subject
from maxent.disclosure.inference import Inference
from maxent.disclosure.limits import Limits, Verdict
from maxent.disclosure.summary import measure
from maxent.evidence.baseline import baseline_of
from maxent.evidence.truth import right_by
from maxent.models.arrays import FloatArray, IntArray
from maxent.models.reading import reader_of
from maxent.models.release import Release
from maxent.models.tables.columns.product_classes import MOST, product_target
from maxent.models.tables.qi_table import QITable
from maxent.models.tables.truth_and_facts import read_truth
from maxent.results.estimate import Estimate
from maxent.results.review import Asked
from maxent.results.several import SeveralReviews
from maxent.text.estimate import target_line


def review_several(
    subjects: Sequence[Subject],
    known: Knowledge,
    solving: Solving,
    limits: Limits,
    asked: Asked,
    interruptible: bool = False,
    progress: Progress | None = None,
    ahead: Callable[[Verdict], object] = lambda verdict: None,
) -> SeveralReviews:
    """The reviews of a model of several sensitive columns, which share the time; see `maxent.review`."""
    each = solving
    if solving.time_limit is not None:
        each = replace(solving, time_limit=solving.time_limit / len(subjects))
    found = {
        subject.target: review_subject(subject, known, each, limits, asked, interruptible, progress, ahead)
        for subject in subjects
    }
    estimates = {name: review.estimate for name, review in found.items() if review.estimate is not None}
    size = prod(len(review.release.target.classes) for review in found.values())
    joint, left_out = None, ""
    if size > MOST:
        left_out = f"they have {size:,} combinations of classes, more than {MOST}"
    elif not all(estimate.program.single for estimate in estimates.values()):
        left_out = "private attributes decide who is in which leaf, and leaves link the columns"
    elif len(estimates) < len(found):
        left_out = f"there is no estimate of {next(name for name in found if name not in estimates)}"
    else:
        joint = _joint(estimates, subjects, solving.top)
    if joint is not None:
        beside = target_line(joint, "together")
        found = {name: replace(review, beside=beside) for name, review in found.items()}
    return SeveralReviews(found, joint, left_out)


def _joint(estimates: Mapping[str, Estimate], subjects: Sequence[Subject], top: int) -> Inference:
    """What is inferred of all columns together."""
    first, *others = estimates.values()
    p: FloatArray = first.probabilities
    for other in others:
        assert np.array_equal(other.program.table.codes, first.program.table.codes)  # the same people, read alike
        p = (p[:, :, None] * other.probabilities[:, None, :]).reshape(len(p), -1)
    program = first.program
    targets = [estimate.program.release.target for estimate in estimates.values()]
    release = replace(program.release, target=product_target("review", targets))
    program = replace(program, release=release, linear=(), internal=(), likelihood=None)
    truth = _truth(subjects, program.release, program.table)
    counts = program.table.counts
    allowed = min(e.disclosure.possible.max_posterior for e in estimates.values())
    disclosure = measure(
        p,
        counts,
        truth,
        top=top,
        # No combination is more likely than a class that it has.
        possible=np.maximum(np.full(len(p), allowed), p.max(axis=1)),
        tolerance=max(e.disclosure.tolerance for e in estimates.values()),
        right=right_by(p, truth),
        baseline=baseline_of(p.shape[1], int(counts.sum()), truth=truth),
    )
    return Inference(program, p, disclosure)


def _truth(subjects: Sequence[Subject], release: Release, table: QITable) -> IntArray:
    """People of each quasi-identifier and combination of classes, shape (n_qi, n_classes)."""
    first, *others = subjects
    source: Any = first.tables.truth
    assert source is not None
    if not isinstance(source, (str, PathLike)):
        for other in others:
            truth: Any = other.tables.truth
            source = with_column(source, other.target, truth[other.target])
    return read_truth(source, release, table, reader=reader_of(first.tables.reading))
