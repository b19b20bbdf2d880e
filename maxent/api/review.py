"""Reviews: from a model, its training table and quasi-identifiers to audit, estimate, verdict and report."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import fields, replace
from functools import partial
from math import prod
from os import PathLike
from typing import Any, overload

import numpy as np

from maxent.api import decision_options, options
from maxent.api.attack import audit_case
from maxent.api.calling import takes_limits
from maxent.api.case import Case
from maxent.api.compile import Knowledge
from maxent.api.estimate import Progress, Solving, estimate_case
from maxent.api.ladder import NO_REGISTER, Climb
from maxent.api.population import PopulationFigures, population_figures
from maxent.api.proving import Certainty, Drawing, proving_seconds
from maxent.api.review_input import (
    Subject,
    apart,
    files_of,
    named_by_statements,
    named_classes,
    subject_of,
    subjects_of,
    trained_rows,
    with_column,
)
from maxent.constraints.program.program import Program
from maxent.disclosure.baseline import baseline_of
from maxent.disclosure.inference import Inference, measure
from maxent.disclosure.ladder import REGISTERED, about, check_adversary, told_apart
from maxent.disclosure.limits import ADVERSARY, ORDERED, Limits, Verdict, draws_of, limits_of
from maxent.disclosure.truth import predicted_guesses, pure_people, right_by
from maxent.models.arrays import FloatArray, IntArray, ranges, run_ends
from maxent.models.columns import NOTHING, Columns, Statements
from maxent.models.errors import ARGUMENT, InvalidInput, NoAnswerInTime, invalid
from maxent.models.files.json_files import uncollected
from maxent.models.formats.assemble import packed
from maxent.models.nodes import Nodes
from maxent.models.reading import reader_of
from maxent.models.release import Induction, Release, Tree
from maxent.models.tables.classes import MOST_CLASSES, product_target
from maxent.models.tables.qi_table import QITable
from maxent.models.tables.truth_and_facts import read_truth
from maxent.models.trees.places import Places, number_places
from maxent.policy.policy import read_policy
from maxent.policy.record import AskedRecord, ReviewCall, hashed
from maxent.results.audit import Audit
from maxent.results.estimate import Estimate
from maxent.results.html_report.view import InputFile, shown
from maxent.results.reliability import not_reliable, unwarned, warn_unreliable
from maxent.results.review import CUT, INTERRUPTED, NOT_ENDED, WITHOUT_PRIVATE, Asked, Review, SeveralReviews
from maxent.results.solved import draws_told, exposed_people
from maxent.results.text.estimate import target_line
from maxent.solvers.control import LAST, Clock, OutOfTime, Watch, in_time

# A release without its private splits: less than it says, of which an estimate takes much less time.


@uncollected()
def without_private_splits(release: Release) -> Release:
    """The statements of a release that remain true where private splits are left out.

    A node that tests a private attribute becomes a leaf that states the sums of the leaves below it. All statements
    follow from those of the release, so that its estimate has at least as much entropy. A person reaches one leaf of
    each tree, where private splits let them be in many.

    Notes
    -----
    Suppressed and rounded counts have no sums; scores, and comparisons of splits, are left out.
    """
    classes = release.target.classes
    arrays = [packed("release", tree.nodes, release.attributes, classes).columns for tree in release.trees]
    public = tuple(attribute.name for attribute in release.public)
    trees = tuple(
        Tree(_kept(nodes, release), Induction(tree.induction.algorithm, among=public or None), tree.weight)
        for tree, nodes in zip(release.trees, arrays, strict=True)
    )
    predicts = None if release.predicts == "score" else release.predicts
    return replace(release, trees=trees, attributes=release.public, predicts=predicts, boosting=None)


def _kept(nodes: Columns, release: Release) -> Nodes:
    """The nodes that only public splits lead to; those among them with a private split are leaves."""
    places = number_places(Tree(Nodes(nodes)))
    index = {attribute.name: j for j, attribute in enumerate(release.public)}
    public = np.array([*(index.get(attribute.name, NOTHING) for attribute in nodes.attributes), NOTHING], np.int64)
    attribute = np.full(len(places), NOTHING)
    attribute[: len(nodes)] = public[nodes.attribute]
    is_cut = np.zeros(len(places), bool)
    is_cut[: len(nodes)] = (nodes.attribute != NOTHING) & (attribute[: len(nodes)] == NOTHING)
    cut = np.full(len(places), NOTHING)  # the first private split on the way to a place
    for level in places.levels:
        above = np.where(level == 0, NOTHING, cut[places.parent[level]])
        cut[level] = np.where(above != NOTHING, above, np.where(is_cut[level], level, NOTHING))
    rows = np.flatnonzero((cut == NOTHING) | (cut == np.arange(len(places))))
    rows = rows[rows < len(nodes)]
    start, end = nodes.branch_ends[rows], nodes.branch_ends[rows + 1]
    end = np.where(attribute[rows] == NOTHING, start, end)
    below = ranges(start, end)
    low, high = nodes.value_ends[below], nodes.value_ends[below + 1]
    position = np.full(len(places) + 1, NOTHING)
    position[rows] = np.arange(len(rows))
    mean, variance = (
        None if x is None else np.where(is_cut[rows], np.nan, x[rows]) for x in (nodes.mean, nodes.variance)
    )
    return Nodes(
        Columns(
            release.public,
            nodes.classes,
            [nodes.ids[i] for i in rows.tolist()],
            attribute[rows],
            run_ends(end - start),
            position[nodes.child[below]],
            nodes.le[below],
            nodes.gt[below],
            nodes.missing[below],
            run_ends(high - low),
            nodes.values[ranges(low, high)],
            np.full(len(rows), np.nan),
            _summed(nodes.statements, places, cut, rows, known=not release.blurred),
            mean=mean,
            variance=variance,
            parts=[nodes.parts[i] for i in rows.tolist()] if nodes.parts else (),
        )
    )


def _summed(said: Statements, places: Places, cut: IntArray, rows: IntArray, *, known: bool) -> Statements:
    """What the nodes of some rows state; private splits sums of leaves, if ``known`` and all state them."""
    size = len(said)
    private = cut[rows] == rows
    leaves = np.flatnonzero((places.n_branches == 0) & (cut != NOTHING))
    here = leaves[leaves < size]
    n = np.full(len(places), NOTHING)
    n[:size] = np.where(said.counted, said.total, said.n)
    distinct = np.full(len(places), NOTHING)
    distinct[:size] = said.distinct
    counted = np.zeros(len(places), bool)
    counted[:size] = said.counted

    def together(numbers: IntArray, own: IntArray) -> IntArray:
        """Sums below private splits, and what the others state themselves."""
        sums, unknown = np.zeros(len(places), np.int64), np.zeros(len(places), bool)
        np.add.at(sums, cut[leaves], numbers[leaves])
        unknown[cut[leaves[numbers[leaves] == NOTHING]]] = True
        sums[unknown | (not known)] = NOTHING
        return np.where(private, sums[rows], own[rows])

    whole = together(np.where(counted, 0, NOTHING), np.where(said.counted, 0, NOTHING)) != NOTHING
    position, to = np.full(len(places), NOTHING), np.full(len(places), NOTHING)
    position[rows] = np.arange(len(rows))
    to[rows[~private]] = position[rows[~private]]
    to[here] = position[cut[here]]
    owner = to[said.owner]
    owner = np.where((owner != NOTHING) & whole[owner], owner, NOTHING)
    at, which, count = owner[owner != NOTHING], said.count_class[owner != NOTHING], said.count[owner != NOTHING]
    order = np.lexsort((which, at))
    at, which, count = at[order], which[order], count[order]
    first = np.flatnonzero(np.concatenate([[True], (at[1:] != at[:-1]) | (which[1:] != which[:-1])])[: len(at)])
    return Statements(
        np.where(private, NOTHING, said.label[rows]),
        np.where(private, np.nan, said.rate[rows]),
        together(n, said.n),
        together(distinct, said.distinct),
        whole,
        run_ends(np.bincount(at[first], minlength=len(rows))),
        which[first],
        np.add.reduceat(count, first) if len(first) else count,
        [None if gone else said.shares[i] for i, gone in zip(rows.tolist(), private.tolist(), strict=True)]
        if said.shares
        else (),
    )


# The work of a review: attacks and an estimate of what was read, in the time that there is.


def review_subject(
    subject: Subject,
    known: Knowledge,
    solving: Solving,
    limits: Limits,
    asked: Asked,
    interruptible: bool = False,
    progress: Progress | None = None,
    ahead: Callable[[Verdict], object] = lambda verdict: None,
    rows: bool = False,
    named: Mapping[str, Limits] | None = None,
    first: Callable[[Review], object] = lambda found: None,
) -> Review:
    """The review of what was read; parameters, result and warnings are those of `maxent.review`.

    What settles a verdict without an estimate comes first; ``ahead`` is told of a limit that is broken, where there are
    so many cells that solving takes a while. ``named``: limits on other adversaries, by their names. ``first`` is given
    the review with its first answer, before it is refined: where private splits let people be in many leaves, that
    leaves these splits out.
    """
    base = _case_of(subject)
    case = known.of_verdict(base)
    in_order = known.of_verdict(_case_of(subject, rows=True)) if rows else case
    begin, limit = time.monotonic(), solving.time_limit
    private = bool(case.release.private)
    if limit is not None and private and progress is not None:
        progress("placing people in leaves", 0, 1)
    placed = _placed(case, None if limit is None else limit * (PLACING if private else 1 - LEAST))
    # Attacks link people to leaves, which takes as long as placing them: where there was no time, leaves are looked at.
    looked_at = case if placed else replace(case, table=None, truth=None)
    audit = audit_case(looked_at, rounding=known.rounding, knowledge=known.kinds, refuse=True)
    assert isinstance(audit, Audit)  # of trees
    found = Review(
        subject.converted, subject.name, case.people.individuals, audit, None, NOT_ENDED, limits, asked, case.noticed
    )
    found = replace(found, rows_unknown=known.rows_unknown or "", named=named or {}, knowledge=known.kinds)
    if case.sensitive:
        names = [case.release.target.classes[code] for code in case.sensitive]
        exposed = exposed_people(audit.summary.get("exposed_classes"), names)
        found = replace(found, early={"sensitive": {"exposed": exposed}})
    failed = _breaks_limits(found)
    many = placed and len(case.cells()) >= MANY
    told = ahead if many else lambda verdict: None
    if failed:
        told(found.judged(found.limits, mend=False))

    proved: Certainty | None = None

    def before(program: Program, clock: Clock) -> None:
        nonlocal found, proved
        proved = Certainty(program, in_order.truth, in_order.sensitive)
        found = replace(found, early=_early(in_order, proved, clock, found))
        if not failed and _breaks_limits(found):
            told(found.judged(found.limits, mend=False))

    how: Any = {"interruptible": interruptible, "progress": progress, "before": before}
    weak = private and (not placed or len(case.cells()) >= SLOW)
    steps = [*([replace(in_order, release=without_private_splits(case.release))] if weak else ()), *[in_order] * placed]
    estimate, weaker, why = None, False, ""
    for number, judged in enumerate(steps):
        left, last = solving, number + 1 == len(steps)
        if limit is not None:
            seconds = max(limit - (time.monotonic() - begin), limit * LEAST)
            left = replace(solving, time_limit=seconds if last else min(seconds, limit * PLACING))
        try:
            with nullcontext() if last and estimate is None else unwarned():
                answer = estimate_case(judged, known, left, **how)
            if isinstance(answer.certainty, Certainty) and proved is not None:
                answer.certainty.take(proved)
                answer.certainty.shown = audit.span_classes if placed and not rows else None
        except NoAnswerInTime as error:
            why = f"{error}: fewer trees, or fewer attributes that are no quasi-identifiers, take less"
            continue
        except KeyboardInterrupt:
            if not interruptible:
                raise
            why = INTERRUPTED
            break
        if estimate is None or answer.reliable or answer.outcome.duality_gap < np.inf:
            estimate, weaker, why = answer, judged is not in_order, ""
        found = replace(found, estimate=estimate, unsolved="", weaker=weaker)
        if (many or weak) and not found.first:
            found = found.so_far()
            first(found)
        if answer.interrupted:
            why = CUT
            break
    if estimate is None or weaker:
        warn_unreliable(why or WITHOUT_PRIVATE)
    elif len(steps) > 1 and not estimate.reliable:
        warn_unreliable(f"{not_reliable(estimate.outcome.status)}; see notes and contradictions of the result")
    ended = None if limit is None else max(limit - (time.monotonic() - begin), limit * LEAST)
    drawing = None if estimate is None or weaker or rows else estimate.drawing
    found = replace(found, estimate=estimate, unsolved=why, weaker=weaker)
    interrupted = why in (INTERRUPTED, CUT)
    seconds = 0.0 if interrupted else proving_seconds(ended)
    own = drawing or Drawing(case, seconds, None, bool(known.rows_unknown))
    found = replace(found, drawing=own)
    register: PopulationFigures | str = NO_REGISTER
    numbers = case.release.target.numbers is not None
    if case.register is not None and (case.release.target.of or numbers):
        register = f"a register is not assessed with {'a target of numbers' if numbers else 'several columns together'}"
    elif case.register is not None and interrupted:
        register = f"register: {why}"
    elif case.register is not None:
        try:
            register = population_figures(
                case, known, replace(solving, time_limit=ended), asked=REGISTERED in found.named
            )
            found = replace(found, register=register)
        except NoAnswerInTime as error:
            register = f"register: {error}"
    program = None if estimate is None or weaker or rows else estimate.program
    by_rows, drawn = partial(_case_of, subject, rows=True), draws_of(found.draws_told).status != "pass"
    climb = Climb(base, known, solving, by_rows, own, drawn, program, register)
    return replace(found, climb=climb)


def _breaks_limits(found: Review) -> bool:
    """Whether a review is beyond a limit, whatever its file tells of draws."""
    return any(
        check.status == "fail" for judged in found.judged(found.limits, mend=False).releases for check in judged.checks
    )


def _early(case: Case, proved: Certainty, clock: Clock, found: Review) -> dict[str, Any]:
    """What limits that are not known to be broken can be judged by before a program is solved, as keys of a row.

    That is totals of single leaves, leaves that are pure in truth, and right guesses of the release itself.
    """
    [only] = found.judged(found.limits, mend=False).releases
    left = {check.limit for check in only.checks if check.status != "fail"}
    early = dict(found.early)
    truth, program, people = case.truth, proved.program, proved.program.individuals
    if left & {"max_posterior", "max_certain"}:
        least = proved.early(clock)
        alone = {key: {**early[key], **least[key]} for key in ("sensitive",) if key in least}
        early |= {**least, **alone}
        if truth is not None:
            early["pure"] = int(program.table.counts[pure_people(program, truth)].sum())
    if truth is not None and left & {"max_right_guesses", "max_lift"} and program.single and not case.sensitive:
        guess = predicted_guesses(program, np.ones((len(program.cells), 1)))
        if guess is not None:
            early["right_guesses"] = float((truth * guess).sum() / people)
        early["base_rate"] = float(truth.sum(axis=0).max() / people)
    return early


def _case_of(subject: Subject, *, rows: bool = False) -> Case:
    """The case of what was read, or that of its rows; where its table has other classes, with the way to name these."""
    try:
        return replace(subject.tables, rows=rows).case(subject.converted.release)
    except InvalidInput as error:
        if subject.converted.format in ("maxent/1", "scikit-learn"):
            raise
        advice = " (classes= names those of the model, in its order)"
        other = [p.field == subject.target and p.expected.startswith("one of ") for p in error.problems]
        told = [replace(p, expected=p.expected + advice * said) for p, said in zip(error.problems, other, strict=True)]
        raise InvalidInput(error.source, told) from None


# Cells of people from which on an estimate takes seconds.
MANY = 100_000
# The same where people are in many leaves, from which on it may take minutes.
SLOW = 1_000_000
# The share of the time that an estimate has in any case.
LEAST = 0.1
# The share of the time in which people have to be placed in leaves for the estimate to know of private splits.
PLACING = 1 / 3


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


# The review of a model of several sensitive columns: of each by itself, and of what is inferred of all together.
#
# The nodes of such a model state the classes of each column by itself, so every statement is about one of them. Entropy
# is subadditive: the joint distribution of the largest entropy has the separate posteriors, of each quasi-identifier
# independent of one another, and its entropy is the sum of theirs. That takes for granted that quasi-identifiers say in
# which leaves people are: where private attributes do, whoever is in a leaf has classes of that leaf in all columns.


def review_several(subjects: Sequence[Subject], known: Knowledge, solving: Solving, *how: Any) -> SeveralReviews:
    """The reviews of a model of several sensitive columns, each by `review_subject`; they share the time."""
    each = solving
    if solving.time_limit is not None:
        each = replace(solving, time_limit=solving.time_limit / len(subjects))
    found = {subject.target: review_subject(subject, known, each, *how) for subject in subjects}
    estimates = {name: review.estimate for name, review in found.items() if review.estimate is not None}
    size = prod(len(review.release.target.classes) for review in found.values())
    joint, left_out = None, ""
    if size > MOST_CLASSES:
        left_out = f"they have {size:,} combinations of classes, more than {MOST_CLASSES}"
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


TIME = decision_options.TIME


@overload
def review(
    model: Any, X: Any, y: Any = None, *, qi: Sequence[str], target: str | None = None, **options: Any
) -> Review: ...


@overload
def review(
    model: Any, X: Any, y: Any = None, *, qi: Sequence[str], target: list[str] | tuple[str, ...], **options: Any
) -> Review | SeveralReviews: ...


@takes_limits(decision_options.Reviewing)
def review(call: decision_options.Reviewing, limits: dict[str, Any]) -> Review | SeveralReviews:
    """Review a model before it is published: what it would disclose about the people that it was trained on.

    **limits
        Limits that the verdict is about: ``max_posterior``, ``min_k``, ``max_certain``, ``max_right_guesses``,
        ``max_lift``.

    Returns
    -------
    Review
        ``.release``, ``.audit``, ``.estimate``, ``.ladder``, ``.verdict()`` against the limits of the call or others,
        ``.report(path)``, ``.save(path)`` and ``.to_dict()``.
    SeveralReviews
        Of a model with several outputs: ``.reviews`` has one of each by its name, ``.joint`` what is inferred of all
        together; the rest is alike.

    Warns
    -----
    UnreliableResult
        When the estimate or the audit is not to be relied on.
    """
    solving, reading, qi = options.of(Solving, call), call.reading, call.qi
    if call.rows_unknown is not None and (call.rows or not str(call.rows_unknown).strip()):
        expected = "none with rows=True, which says that it is known" if call.rows else "the reason, a text"
        raise invalid("options", ARGUMENT, "rows_unknown", expected, repr(call.rows_unknown))
    wanted = {name: getattr(call, name) for name in ("target", "classes", "features", "qi", "parameters")}
    numbers = {"bins": call.bins, "values": call.values}
    if call.progress is not None:
        call.progress("reading the model", 0, 1)
    targets, y = named_classes(apart(call.model)[0], call.y, call.target)
    X, y, weights, dropped = trained_rows(apart(call.model)[0], call.X, y, call.sample_weight, reading)
    if len(targets) > 1:
        subjects = subjects_of(call.model, X, y, targets, wanted, reading, **numbers)
    else:
        wanted["target"] = targets[0] if targets else None
        subjects = (subject_of(call.model, X, y, wanted, reading, **numbers),)
    if dropped:
        subjects = tuple(each.without(dropped) for each in subjects)
    evidence: dict[str, Any] = {"control": call.control, "sensitive": call.sensitive, "gain": call.gain}
    evidence |= {"population": call.population, "people": call.people}
    subjects = tuple(
        each.beside(**evidence).weighed(weights, X, reading).published(call.published_as) for each in subjects
    )
    subject = subjects[0]
    told_draws = any(draws_told(each.converted.release, [each.converted.aside]) for each in subjects)
    if call.rows_unknown is not None and call.adversary == ORDERED and not told_draws:
        expected = f"none with adversary={ORDERED!r}, which is somebody who knows it, where no draws are told"
        raise invalid("options", ARGUMENT, "rows_unknown", expected, repr(call.rows_unknown))
    known = options.of(Knowledge, call)
    told: dict[str, Any] = {"knowledge": call.knowledge, "impurity": call.impurity}
    told |= {"noise": call.noise, "time_limit": call.time_limit, "top": call.top}
    named_only = ("no_marginal", "rows", "published_as", "rows_unknown")
    told |= {name: value for name in named_only if (value := getattr(call, name)) not in (None, False)}
    named = repr(list(targets)) if len(targets) > 1 else repr(subject.target)
    others = len(apart(call.model)) - 1
    beside = f" and {others} beside it" if others else ""
    more = "".join(f", {name}={_written(name, value)}" for name, value in _given(call, limits).items())
    words = f"maxent.review({subject.name}{beside}, X, y, qi=[{', '.join(map(repr, qi))}], target={named}{more})"
    early = call.early or (lambda verdict: None)
    recording = review_call(call, limits)
    stated, named_ones = told_apart(_whom(call), limits)
    model = "model" if subject.converted.release.published else "statements"
    read = (model if file.role == "release" else file.role for file in recording.inputs)
    named_files = [InputFile(r, shown(f.path), f.size, f.sha256) for r, f in zip(read, recording.inputs, strict=True)]
    asked = Asked(words, told, tuple(named_files))
    first = call.first or (lambda found: None)
    how = (known, solving, stated, asked, call.interruptible, call.progress, early, call.rows, named_ones, first)
    files = files_of(call.model)
    if len(subjects) == 1:
        return replace(review_subject(subject, *how), files=files, recording=recording)
    found = review_several(subjects, *how)
    reviews = {
        name: replace(each, files=files, recording=recording.of_column(name)) for name, each in found.reviews.items()
    }
    return replace(found, reviews=reviews)


# Options of a call that a record has no place for: what is read stands in its paths, and what is told changes nothing.
UNRECORDED = (
    *("model", "X", "y", "control", "population", "gain", "progress", "early", "first", "interruptible"),
    *("reading", "dask", "parameters", "sample_weight"),
)


def review_call(call: decision_options.Reviewing, limits: Mapping[str, Any]) -> ReviewCall:
    """The call of a review, as a record has it, with the hashes of the files that it reads."""
    check_adversary(call.adversary, limits)
    limits_of(limits)  # which has the errors
    main, *beside = apart(call.model)
    weights = None if isinstance(call.sample_weight, str) else call.sample_weight
    paths = {
        **{"release": main, **({"statements": beside} if beside else {}), "table": call.X},
        **{name: getattr(call, name) for name in ("control", "population", "gain", "y")},
        "sample_weight": weights,
    }
    inputs = [found for role, path in paths.items() for found in hashed(role, path)]
    inputs += [
        found for path in (*beside, *named_by_statements([main, *beside])) for found in hashed("statements", path)
    ]
    given = {
        each.name: _plain(getattr(call, each.name))
        for each in fields(call)
        if each.name not in UNRECORDED and (each.default or getattr(call, each.name) is not False)
    }
    given |= {
        "parameters": None if not call.parameters else {str(k): str(v) for k, v in call.parameters.items()},
        "sample_weight": call.sample_weight if weights is None else None,
        "reading": None if call.reading is None else call.reading.stated(),
    }
    kept = {name: value for name, value in given.items() if value is not None}
    stated = about(_whom(call), {name: value for name, value in limits.items() if value is not None})
    policy = read_policy(None).with_limits(stated)
    if stated:
        kept["limits"] = stated
    return ReviewCall(policy, AskedRecord(paths, kept, command="review"), tuple(inputs))


# What the words of a call say first, and what changes no number.
_APART = ("model", "X", "y", "qi", "target", "progress", "early", "first", "interruptible")


def _given(call: decision_options.Reviewing, limits: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a call that are not as by default, and its limits."""
    own = {each.name: (getattr(call, each.name), each.default) for each in fields(call) if each.name not in _APART}
    given = {name: value for name, (value, default) in own.items() if value is not None and value is not default}
    return {name: value for name, value in {**limits, **given}.items() if value is not None and value is not False}


def _written(name: str, value: Any) -> str:
    """A value as a call has it; of a table or another object the name that it is given by."""
    if isinstance(value, PathLike):
        return repr(os.fspath(value))
    several = [*value.values()] if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else [value]
    plain = all(isinstance(each, (str, bool, int, float)) for each in several)
    return repr(value) if plain else name


def _whom(call: decision_options.Reviewing) -> str:
    """Whom limits are about, unless that is the one of the verdict, as is who knows the rows in a review of these."""
    return ADVERSARY if call.rows and call.adversary == ORDERED else call.adversary


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, (str, bool, int, float)) else list(value)
