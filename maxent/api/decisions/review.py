"""A model, its training table and quasi-identifiers -> audit, estimate, verdict and report, in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from maxent.api import options
from maxent.api.adversary.estimate import Solving
from maxent.api.calling import takes_limits
from maxent.api.compile import Knowledge
from maxent.api.decisions.reviewing import noise_of, review_subject
from maxent.api.decisions.several import review_several
from maxent.api.decisions.subjects import subject_of, subjects_of
from maxent.disclosure.limits import limits_of
from maxent.models.tables.columns.product_classes import named_targets
from maxent.results.review import Asked, Review
from maxent.results.several import SeveralReviews

TIME = options.TIME


@overload
def review(
    model: Any, X: Any, y: Any = None, *, qi: Sequence[str], target: str | None = None, **options: Any
) -> Review: ...


@overload
def review(
    model: Any, X: Any, y: Any = None, *, qi: Sequence[str], target: list[str] | tuple[str, ...], **options: Any
) -> Review | SeveralReviews: ...


@takes_limits(options.Reviewing)
def review(call: options.Reviewing, limits: dict[str, Any]) -> Review | SeveralReviews:
    """Review a model before it is published: what it would disclose about the people that it was trained on.

    **limits
        Limits that the verdict is about: ``max_posterior``, ``min_k``, ``max_certain``, ``max_right_guesses``,
        ``max_lift``.

    Returns
    -------
    Review
        ``.release``, ``.audit``, ``.estimate``, ``.verdict()`` against the limits of the call or others,
        ``.report(path)``, ``.save(path)`` and ``.to_dict()``.
    SeveralReviews
        Of a model with several outputs: ``.reviews`` has one of each by its name, ``.joint`` what is inferred of all
        together; the rest is alike.

    Warns
    -----
    UnreliableResult
        When the estimate or the audit is not to be relied on.

    Raises
    ------
    InvalidInput
        For a model that cannot be read soundly, with the reason and the way out, and for anything wrong with the table.
    """
    solving, reading, qi = options.of(Solving, call), call.reading, call.qi
    wanted = {name: getattr(call, name) for name in ("target", "classes", "features", "qi", "parameters")}
    numbers = {"bins": call.bins, "values": call.values}
    if call.progress is not None:
        call.progress("reading the model", 0, 1)
    targets = () if call.target is None else named_targets("options", call.target)
    if len(targets) > 1:
        subjects = subjects_of(call.model, call.X, call.y, targets, wanted, reading, **numbers)
    else:
        wanted["target"] = targets[0] if targets else None
        subjects = (subject_of(call.model, call.X, call.y, wanted, reading, **numbers),)
    evidence = {"control": call.control, "sensitive": call.sensitive, "gain": call.gain}
    subjects = tuple(each.beside(**evidence).weighed(call.sample_weight, call.X, reading) for each in subjects)
    subject = subjects[0]
    known = options.of(Knowledge, call, noise=call.noise or noise_of(subject.converted.release))
    told: dict[str, Any] = {"knowledge": call.knowledge, "impurity": call.impurity, "noise": known.noise}
    told |= {"time_limit": call.time_limit, "top": call.top}
    told |= {"no_marginal": True} if call.no_marginal else {}
    named = repr(list(targets)) if len(targets) > 1 else repr(subject.target)
    words = f"maxent.review({subject.name}, X, y, qi=[{', '.join(map(repr, qi))}], target={named})"
    early = call.early or (lambda verdict: None)
    how = (known, solving, limits_of(limits), Asked(words, told), call.interruptible, call.progress, early)
    return review_subject(subject, *how) if len(subjects) == 1 else review_several(subjects, *how)
