"""The work of a review: attacks and an estimate of what was read, in the time that there is."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace

from maxent.api.adversary.attack import audit_case
from maxent.api.adversary.estimate import Progress, Solving, estimate_case
from maxent.api.case import Case
from maxent.api.compile import Knowledge
from maxent.api.decisions.public_splits import without_private_splits
from maxent.api.decisions.subjects import Subject
from maxent.attacks.audit import Audit
from maxent.constraints.kinds.context import Noise
from maxent.disclosure.limits import Limits
from maxent.models.errors import InvalidInput, NoAnswerInTime
from maxent.models.files.json_files import uncollected
from maxent.models.release import Release
from maxent.results.reliability import warn_unreliable
from maxent.results.review import WITHOUT_PRIVATE, Asked, Review
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
) -> Review:
    """The review of what was read; parameters, result and warnings are those of `maxent.review`."""
    case = known.of_verdict(_case_of(subject))
    begin, limit = time.monotonic(), solving.time_limit
    placing = limit is not None and bool(case.release.private)
    if placing and progress is not None:
        progress("placing people in leaves", 0, 1)
    weaker = limit is not None and placing and not _placed(case, limit * PLACING)
    estimate, why = None, ""
    try:
        judged, left = case, solving
        if limit is not None and weaker:
            judged = replace(case, release=without_private_splits(case.release))
        if limit is not None:
            left = replace(solving, time_limit=max(limit - (time.monotonic() - begin), limit / 10))
        estimate = estimate_case(judged, known, left, interruptible=interruptible, progress=progress)
    except NoAnswerInTime as error:
        why = f"{error}: fewer trees, or fewer attributes that are no quasi-identifiers, take less"
        warn_unreliable(why)
    if weaker and estimate is not None:
        warn_unreliable(WITHOUT_PRIVATE)
    # Attacks link people to leaves, which takes as long as placing them: where there was no time, leaves are looked at.
    audit = audit_case(case if case.placed else replace(case, table=None, truth=None), rounding=known.rounding)
    assert isinstance(audit, Audit)  # of trees
    people = case.people.individuals
    found = Review(subject.converted, subject.name, people, audit, estimate, why, limits, asked, case.noticed)
    return replace(found, weaker=weaker and estimate is not None)


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


PLACING = 1 / 3
"""The share of the time in which people have to be placed in leaves for the estimate to know of private splits."""


def _placed(case: Case, seconds: float) -> bool:
    """Whether people can be placed in the leaves of a case in time: private splits let each be in very many."""
    clock = Clock(seconds)
    watch = Watch(clock, "nobody was placed yet")

    @uncollected()
    def place() -> object:
        return case.cells(watch)

    with suppress(OutOfTime):
        in_time(clock, place, LAST)
    return case.placed
