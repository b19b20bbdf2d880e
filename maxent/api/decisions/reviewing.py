"""The work of a review: attacks and an estimate of what was read, in the time that there is."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from maxent.api.adversary.attack import audit_case
from maxent.api.adversary.estimate import Progress, Solving, estimate_case
from maxent.api.adversary.proving import Certainty
from maxent.api.case import Case
from maxent.api.compile import Knowledge
from maxent.api.decisions.public_splits import without_private_splits
from maxent.api.decisions.subjects import Subject
from maxent.attacks.audit import Audit
from maxent.constraints.kinds.context import Noise
from maxent.constraints.program import Program
from maxent.disclosure.limits import Limits, Verdict
from maxent.evidence.truth import predicted_classes, pure_people
from maxent.models.errors import InvalidInput, NoAnswerInTime
from maxent.models.files.json_files import uncollected
from maxent.models.release import Release
from maxent.results.reliability import warn_unreliable
from maxent.results.review import INTERRUPTED, NOT_ENDED, WITHOUT_PRIVATE, Asked, Review
from maxent.results.solved import exposed_people
from maxent.solvers.clock import LAST, Clock, OutOfTime, Watch, in_time


def noise_of(release: Release) -> Noise:
    """How a review reads counts unless the call says it: draws by their likelihood."""
    return "intervals" if release.resampled is None or release.target.numbers is not None else "likelihood"


def review_subject(
    subject: Subject,
    known: Knowledge,
    solving: Solving,
    limits: Limits,
    asked: Asked,
    interruptible: bool = False,
    progress: Progress | None = None,
    ahead: Callable[[Verdict], object] = lambda verdict: None,
) -> Review:
    """The review of what was read; parameters, result and warnings are those of `maxent.review`.

    What settles a verdict without an estimate comes first; ``ahead`` is told of a limit that is broken, where there are
    so many cells that solving takes a while.
    """
    case = known.of_verdict(_case_of(subject))
    begin, limit = time.monotonic(), solving.time_limit
    private = bool(case.release.private)
    if limit is not None and private and progress is not None:
        progress("placing people in leaves", 0, 1)
    placed = _placed(case, None if limit is None else limit * (PLACING if private else 1 - LEAST))
    weaker = private and not placed
    # Attacks link people to leaves, which takes as long as placing them: where there was no time, leaves are looked at.
    audit = audit_case(case if placed else replace(case, table=None, truth=None), rounding=known.rounding)
    assert isinstance(audit, Audit)  # of trees
    found = Review(
        subject.converted, subject.name, case.people.individuals, audit, None, NOT_ENDED, limits, asked, case.noticed
    )
    if case.sensitive:
        names = [case.release.target.classes[code] for code in case.sensitive]
        exposed = exposed_people(audit.summary.get("exposed_classes"), names)
        found = replace(found, early={"sensitive": {"exposed": exposed}})
    failed = found.verdict().status == "fail"
    told = ahead if placed and len(case.cells()) >= MANY else lambda verdict: None
    if failed:
        told(found.verdict())

    def before(program: Program, clock: Clock) -> None:
        nonlocal found
        found = replace(found, early=_early(case, program, clock, found))
        if not failed and found.verdict().status == "fail":
            told(found.verdict())

    judged, left = case, solving
    if weaker:
        judged = replace(case, release=without_private_splits(case.release))
    if limit is not None:
        left = replace(solving, time_limit=max(limit - (time.monotonic() - begin), limit * LEAST))
    estimate, why = None, ""
    try:
        how: Any = {"interruptible": interruptible, "progress": progress, "before": before}
        estimate = estimate_case(judged, known, left, **how)
    except NoAnswerInTime as error:
        why = f"{error}: fewer trees, or fewer attributes that are no quasi-identifiers, take less"
        warn_unreliable(why)
    except KeyboardInterrupt:
        if not interruptible:
            raise
        why = INTERRUPTED
        warn_unreliable(why)
    if weaker and estimate is not None:
        warn_unreliable(WITHOUT_PRIVATE)
    return replace(found, estimate=estimate, unsolved=why, weaker=weaker and estimate is not None)


def _early(case: Case, program: Program, clock: Clock, found: Review) -> dict[str, Any]:
    """What limits that are not known to be broken can be judged by before a program is solved, as keys of a row.

    Whose class is proved by the totals of single leaves, whose leaf is pure in truth, and how many people the release
    itself guesses right, where it predicts by quasi-identifiers alone.
    """
    [only] = found.verdict().releases
    left = {check.limit for check in only.checks if check.status != "fail"}
    early = dict(found.early)
    truth, people = case.truth, program.table.individuals
    if left & {"max_posterior", "max_certain"}:
        proved = Certainty(program, truth, case.sensitive).early(clock)
        alone = {key: {**early[key], **proved[key]} for key in ("sensitive",) if key in proved}
        early |= {**proved, **alone}
        if truth is not None:
            early["pure"] = int(program.table.counts[pure_people(program, truth)].sum())
    if truth is not None and left & {"max_right_guesses", "max_lift"} and program.single and not case.sensitive:
        guess = predicted_classes(program, np.ones((len(program.cells), 1)))
        if guess is not None:
            early["right_guesses"] = float(truth[np.arange(len(truth)), guess].sum() / people)
        early["base_rate"] = float(truth.sum(axis=0).max() / people)
    return early


def _case_of(subject: Subject) -> Case:
    """The case of what was read; where its table has other classes than a file, with the way to name these."""
    try:
        return subject.tables.case(subject.converted.release)
    except InvalidInput as error:
        if subject.converted.format in ("maxent/1", "scikit-learn"):
            raise
        advice = " (classes= names those of the model, in its order)"
        other = [p.field == subject.target and p.expected.startswith("one of ") for p in error.problems]
        told = [replace(p, expected=p.expected + advice * said) for p, said in zip(error.problems, other, strict=True)]
        raise InvalidInput(error.source, told) from None


MANY = 100_000
"""Cells of people from which on an estimate takes seconds."""

LEAST = 0.1
"""The share of the time that an estimate has in any case."""

PLACING = 1 / 3
"""The share of the time in which people have to be placed in leaves for the estimate to know of private splits."""


def _placed(case: Case, seconds: float | None) -> bool:
    """Whether people can be placed in the leaves of a case in time: private splits let each be in very many."""
    clock = Clock(seconds)
    watch = Watch(clock, "nobody was placed yet")

    @uncollected()
    def place() -> object:
        return case.cells(watch)

    with suppress(OutOfTime):
        in_time(clock, place, LAST)
    return case.placed
