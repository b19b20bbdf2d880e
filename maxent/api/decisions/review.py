"""A model, its training table and quasi-identifiers -> audit, estimate, verdict and report, in one call."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from maxent.api.adversary.audit import audit_case
from maxent.api.adversary.estimate import Progress, Solving, estimate_case
from maxent.api.case import Case, Tables
from maxent.api.compile import Knowledge
from maxent.api.decisions.frames import frame_of, with_column
from maxent.api.decisions.public_splits import without_private_splits
from maxent.api.releases.convert import converted, wanted_of, with_numbers
from maxent.attacks.audit import Audit
from maxent.constraints.kinds.context import Noise
from maxent.disclosure.limits import Limits
from maxent.models.errors import ARGUMENT, InvalidInput, NoAnswerInTime, invalid
from maxent.models.files.json_files import uncollected
from maxent.models.formats.conversion import DECIDED, UNNAMED, Converted
from maxent.models.formats.scikit_learn.pipelines.undo import check_classes, class_names, final_of, release_of
from maxent.models.reading import Reading, reader_of
from maxent.models.release import Attribute, Impurity, Release
from maxent.models.tables.frame import Source, missing_columns, shorten
from maxent.models.tables.table_files import read_frame
from maxent.models.text.arguments import check_flags, check_functions
from maxent.models.text.hints import close_to
from maxent.models.trees.predict import tested_attributes
from maxent.models.trees.printed_rates import Rounding
from maxent.results.reliability import warn_unreliable
from maxent.results.review import WITHOUT_PRIVATE, Asked, Review, limits_of
from maxent.solvers.clock import LAST, Clock, OutOfTime, Watch, in_time

TIME = 120.0
"""Seconds that compiling and solving may take unless the call says otherwise: a review is to end."""


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
    jobs: int = 1,
    seed: int = 0,
    top: int = 10,
    interruptible: bool = False,
    progress: Progress | None = None,
    reading: Reading | None = None,
    control: Source | None = None,
    **limits: Any,
) -> Review:
    """Review a model before it is published: what it would disclose about the people that it was trained on.

    Parameters
    ----------
    model : fitted model, or path
        A model of scikit-learn as `maxent.from_sklearn` takes it, a ``Pipeline`` that ends in one, whose steps are
        undone (docs/models.md), or a file or folder that a tool wrote, as `maxent.convert` takes it.
    X : DataFrame, array or path
        The training table, as ``fit`` was given it: strings, categories, numbers, missing values. More columns may be
        there. Columns of an array are called ``x0``, ``x1``...
    y : array-like, shape (n_rows,), optional
        The class of each record; by default the column ``target`` of ``X``.
    qi : sequence of str
        The quasi-identifiers: columns of ``X`` that an adversary knows of the people. All other attributes are private.
    target : str, optional
        The name of the sensitive attribute; default: that of ``y``, else ``class``.
    classes, features, parameters
        What a file lacks, as for `maxent.convert`; ``classes`` are also names for those of a fitted model.
    bins, values : sequence of numbers, optional
        Of a regression: edges of intervals of the target, or every number that it can be.
    knowledge, impurity, rounding, confidence, backend, tolerance, jobs, seed, top, interruptible, progress
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
    **limits
        Limits that the verdict is about: ``max_posterior``, ``min_k``, ``max_certain``, ``max_right_guesses``,
        ``max_lift``.

    Returns
    -------
    Review
        ``.release``, ``.audit``, ``.estimate``, ``.verdict()`` against the limits of the call or others,
        ``.report(path)``, ``.save(path)`` and ``.to_dict()``.

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
    check_flags(interruptible=interruptible)
    solving = Solving(backend, tolerance, seed=seed, time_limit=time_limit, jobs=jobs, top=top)
    wanted = {"target": target, "classes": classes, "features": features, "qi": qi, "parameters": parameters}
    subject = subject_of(model, X, y, wanted, reading, bins=bins, values=values).beside(control)
    known = Knowledge(knowledge, impurity, rounding, confidence, noise or noise_of(subject.converted.release))
    told = {"knowledge": knowledge, "impurity": impurity, "noise": noise, "time_limit": time_limit, "top": top}
    words = f"maxent.review({subject.name}, X, y, qi=[{', '.join(map(repr, qi))}], target={subject.target!r})"
    asked = Asked(words, told)
    return review_subject(subject, known, solving, limits_of(limits), asked, interruptible, progress)


def noise_of(release: Release) -> Noise:
    """How a review reads counts unless the call says it: draws by their likelihood."""
    return "intervals" if release.resampled is None else "likelihood"


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """What is reviewed: a model as a release, and the tables of its people."""

    name: str
    converted: Converted
    tables: Tables

    @property
    def target(self) -> str:
        """The name of the sensitive attribute."""
        return self.converted.release.target.name

    def beside(self, control: Source | None) -> Subject:
        """The same with control people."""
        return self if control is None else replace(self, tables=replace(self.tables, control=control))


def subject_of(
    model: Any, X: Any, y: Any, wanted: Mapping[str, Any], reading: Reading | None, **numeric: Sequence[float] | None
) -> Subject:
    """Read what is to be reviewed.

    Parameters
    ----------
    model, X, y
        As for `review`.
    wanted : mapping
        ``target``, ``classes``, ``features``, ``qi`` and ``parameters`` of `review`.
    reading : Reading, optional
        How files are read.
    **numeric
        ``bins`` and ``values`` of `review`.

    Raises
    ------
    InvalidInput
        As `review`.
    """
    if wanted["qi"] is None or isinstance(wanted["qi"], str):
        expected = "a list of columns, such as ['age', 'sex']"
        raise invalid("options", ARGUMENT, "qi", expected, shorten(wanted["qi"]))
    if isinstance(model, (str, PathLike)):
        stated = {**wanted, "parameters": with_numbers(wanted["parameters"], numeric) or None}
        return _of_file(model, X, y, stated, reading)
    for name in ("features", "parameters"):
        if wanted[name] is not None:
            expected = "None: a model that is there has what it needs"
            raise invalid("options", ARGUMENT, name, expected, shorten(wanted[name]))
    return _of_model(model, X, y, wanted, reading, numeric)


def _of_file(path: str | PathLike[str], X: Any, y: Any, wanted: Mapping[str, Any], reading: Reading | None) -> Subject:
    """A model that a tool wrote to a file, and a table that has a column of the class."""
    target = wanted["target"] or getattr(y, "name", None)
    table: Source = X if isinstance(X, (str, PathLike)) else frame_of(X)
    if y is not None:
        if isinstance(table, (str, PathLike)):
            expected = "None, as the table is a file: name its column of the class in target="
            raise invalid("options", ARGUMENT, "y", expected, shorten(y))
        table = with_column(table, str(target or UNNAMED), y)
    named = target or (None if y is None else UNNAMED)
    found = converted(path, wanted_of(**{**wanted, "target": named}, train=table), reading)
    if found.format != "maxent/1":
        _check_columns(found.release, table, reading)
    release = replace(found.release, attributes=tuple(_roles(found.release, wanted["qi"])))
    return Subject(Path(path).stem, replace(found, release=release), Tables(table, table, reading=reading))


def _check_columns(release: Release, table: Source, reading: Reading | None) -> None:
    """Refuse a table without the columns that a model tests: they would be private, and the verdict too good."""
    frame = read_frame(table, "X", [], reader_of(reading))
    advice = " (features= names the columns of the model's input)"
    lacking = missing_columns(frame, [attribute.name for attribute in tested_attributes(release)])
    if lacking:
        raise InvalidInput(frame.source, [replace(each, expected=each.expected + advice) for each in lacking])


def _roles(release: Release, qi: Sequence[str]) -> Iterator[Attribute]:
    """The attributes of a release, each public where it is a quasi-identifier, else private."""
    names = [attribute.name for attribute in release.attributes]
    for name in qi:
        if name not in names:
            expected = f"attributes of the model ({shorten(', '.join(names))})"
            raise invalid("options", ARGUMENT, "qi", expected, f"{name}{close_to(name, names)}")
    for attribute in release.attributes:
        yield replace(attribute, role="public" if attribute.name in qi else "private")


def _of_model(
    model: Any,
    X: Any,
    y: Any,
    wanted: Mapping[str, Any],
    reading: Reading | None,
    numeric: Mapping[str, Sequence[float] | None],
) -> Subject:
    """A model that is there, and the table that it was fitted on."""
    table = frame_of(X)
    target = wanted["target"] or getattr(y, "name", None) or UNNAMED
    checked = wanted_of(**{**wanted, "target": str(target)}, train=None)
    if y is None:
        header = [str(label) for label in table.columns]
        if target not in header:
            expected = "the class of each record, or the name of its column of X in target="
            raise invalid("options", ARGUMENT, "y", expected, "None")
        y = table.iloc[:, header.index(str(target))]
    if len(y) != len(table):
        raise invalid("options", ARGUMENT, "y", f"{len(table):,} classes, one for each row of X", f"{len(y):,}")
    named: dict[str, Any] = {"target": str(target), "classes": checked.classes, "qi": checked.qi, **numeric}
    release = release_of(model, table, **named)
    people = table.loc[:, [str(label) in (checked.qi or ()) for label in table.columns]]
    labels = y if release.target.numbers else class_names(final_of(model), y, checked.classes)
    if not release.target.numbers:
        check_classes(model, table, str(target), list(labels), release.target.classes)
    truth = with_column(people, str(target), labels)
    from importlib.metadata import version

    lost = () if release.labels == "majority" else (DECIDED,)
    found = Converted(release, f"scikit-learn {version('scikit-learn')}", lost, format="scikit-learn")
    return Subject(type(final_of(model)).__name__, found, Tables(people, truth, reading=reading))


def review_subject(
    subject: Subject,
    known: Knowledge,
    solving: Solving,
    limits: Limits,
    asked: Asked,
    interruptible: bool = False,
    progress: Progress | None = None,
) -> Review:
    """The review of what was read; parameters, result and warnings are those of `review`."""
    case = _case_of(subject)
    begin, limit = time.monotonic(), solving.time_limit
    weaker = limit is not None and bool(case.release.private) and not _placed(case, limit * PLACING)
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
