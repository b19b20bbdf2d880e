"""A model, its training table and quasi-identifiers -> audit, estimate, verdict and report, in one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, overload

from maxent.api.adversary.estimate import Progress, Solving
from maxent.api.calling import called
from maxent.api.compile import Knowledge
from maxent.api.decisions.reviewing import noise_of, review_subject
from maxent.api.decisions.several import review_several
from maxent.api.decisions.subjects import subject_of, subjects_of
from maxent.constraints.kinds.context import Noise
from maxent.disclosure.limits import limits_of
from maxent.models.reading import Reading
from maxent.models.release import Impurity
from maxent.models.tables.columns.product_classes import named_targets
from maxent.models.tables.frame import Source
from maxent.models.text.arguments import check_flags, check_functions
from maxent.models.trees.printed_rates import Rounding
from maxent.results.review import Asked, Review
from maxent.results.several import SeveralReviews

TIME = 120.0
"""Seconds that compiling and solving may take unless the call says otherwise: a review is to end."""


@overload
def review(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    qi: Sequence[str],
    target: str | None = None,
    classes: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    parameters: Mapping[str, Any] | None = None,
    bins: Sequence[float] | None = None,
    values: Sequence[float] | None = None,
    knowledge: str | Iterable[str] | None = None,
    impurity: Impurity | None = None,
    rounding: Rounding = "auto",
    confidence: float = 0.99,
    noise: Noise | None = None,
    backend: str = "auto",
    tolerance: float = 1e-8,
    time_limit: float | None = TIME,
    jobs: int | None = None,
    dask: str | None = None,
    seed: int = 0,
    top: int = 10,
    interruptible: bool = False,
    progress: Progress | None = None,
    reading: Reading | None = None,
    control: Source | None = None,
    sensitive: str | Iterable[str] | None = None,
    gain: Source | None = None,
    sample_weight: Any = None,
    no_marginal: bool = False,
    **limits: Any,
) -> Review: ...


@overload
def review(
    model: Any, X: Any, y: Any = None, *, qi: Sequence[str], target: list[str] | tuple[str, ...], **options: Any
) -> Review | SeveralReviews: ...


@called
def review(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    qi: Sequence[str],
    target: str | Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    parameters: Mapping[str, Any] | None = None,
    bins: Sequence[float] | None = None,
    values: Sequence[float] | None = None,
    knowledge: str | Iterable[str] | None = None,
    impurity: Impurity | None = None,
    rounding: Rounding = "auto",
    confidence: float = 0.99,
    noise: Noise | None = None,
    backend: str = "auto",
    tolerance: float = 1e-8,
    time_limit: float | None = TIME,
    jobs: int | None = None,
    dask: str | None = None,
    seed: int = 0,
    top: int = 10,
    interruptible: bool = False,
    progress: Progress | None = None,
    reading: Reading | None = None,
    control: Source | None = None,
    sensitive: str | Iterable[str] | None = None,
    gain: Source | None = None,
    sample_weight: Any = None,
    no_marginal: bool = False,
    **limits: Any,
) -> Review | SeveralReviews:
    """Review a model before it is published: what it would disclose about the people that it was trained on.

    Parameters
    ----------
    model : fitted model, or path
        A model of scikit-learn as `maxent.from_sklearn` takes it, a ``Pipeline`` that ends in one, whose steps are
        undone (docs/models.md); a model of XGBoost, LightGBM or CatBoost, read as its tool saves it; or a file or
        folder that a tool wrote, as `maxent.convert` takes it.
    X : DataFrame, array or path
        The training table, as ``fit`` was given it: strings, categories, numbers, missing values. More columns may be
        there. Columns of an array are called ``x0``, ``x1``...
    y : array-like, shape (n_rows,), optional
        The class of each record; by default the column ``target`` of ``X``. Of several targets a column for each.
    qi : sequence of str
        The quasi-identifiers: columns of ``X`` that an adversary knows of the people. All other attributes are private.
    target : str or list of str, optional
        The name of the sensitive attribute; default: that of ``y``, else ``class``. Several, in their order, of a model
        with as many outputs, or of a release about their combinations: see docs/several.md.
    classes, features, parameters
        What a file lacks, as for `maxent.convert`; ``classes`` are also names for those of a fitted model.
    bins, values : sequence of numbers, optional
        Of a regression: edges of intervals of the target, or every number that it can be.
    knowledge, impurity, rounding, confidence, backend, tolerance, jobs, dask, seed, top, interruptible, progress
        As for `maxent.estimate`.
    noise : {"intervals", "likelihood"}, optional
        As for `maxent.estimate`; of a bootstrap the likelihood by default, which tells more, and of forests sooner.
    time_limit : float, optional
        Seconds that compiling and solving may take, 120 by default; None for no limit. Then the answer is the best so
        far, with a bound on the optimum where there is one, and is not to be relied on. Where private splits let people
        be in too many leaves, the estimate leaves these splits out.
    reading : Reading, optional
        How files and tables are read.
    control : DataFrame or path, optional
        Control people, who were not in the data: columns of the quasi-identifiers and the class.
    sensitive, gain
        As for `maxent.estimate`.
    sample_weight : array-like, shape (n_rows,), or str; optional
        The weights that ``fit`` was given, or the column of ``X`` that has them. The worst case of what is not read
        tells people apart by them; where people with one quasi-identifier weigh alike, weighted shares are read.
    no_marginal : bool
        Whether the adversary is taken not to know the base rate. By default they know how many people have each class,
        unless ``knowledge`` says what they know.
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
    check_functions(progress=progress)
    check_flags(interruptible=interruptible, no_marginal=no_marginal)
    solving = Solving(backend, tolerance, seed=seed, time_limit=time_limit, jobs=jobs, dask=dask, top=top)
    wanted = {"target": target, "classes": classes, "features": features, "qi": qi, "parameters": parameters}
    if progress is not None:
        progress("reading the model", 0, 1)
    targets = () if target is None else named_targets("options", target)
    if len(targets) > 1:
        subjects = subjects_of(model, X, y, targets, wanted, reading, bins=bins, values=values)
    else:
        wanted["target"] = targets[0] if targets else None
        subjects = (subject_of(model, X, y, wanted, reading, bins=bins, values=values),)
    subjects = tuple(subject.beside(control=control, sensitive=sensitive, gain=gain) for subject in subjects)
    subjects = tuple(subject.weighed(sample_weight, X, reading) for subject in subjects)
    subject = subjects[0]
    noise = noise or noise_of(subject.converted.release)
    known = Knowledge(knowledge, impurity, rounding, confidence, noise, no_marginal)
    told = {"knowledge": knowledge, "impurity": impurity, "noise": noise, "time_limit": time_limit, "top": top}
    told |= {"no_marginal": True} if no_marginal else {}
    named = repr(list(targets)) if len(targets) > 1 else repr(subject.target)
    words = f"maxent.review({subject.name}, X, y, qi=[{', '.join(map(repr, qi))}], target={named})"
    how = (known, solving, limits_of(limits), Asked(words, told), interruptible, progress)
    return review_subject(subject, *how) if len(subjects) == 1 else review_several(subjects, *how)
