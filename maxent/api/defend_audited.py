"""The best subtree that passes its own audit: what the engine finds beyond limits is cut off, and the next one tried.

What leaves state is not all that an adversary may know: what splits were chosen by is stated, or private attributes
hide who is in which leaf, and then leaves are coupled. The search (`maxent.models.defenses.optimal.best_first`) knows
only what leaves state; so each subtree that it finds is estimated and attacked as any release is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isclose
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.api.case import Case
from maxent.api.compile import Knowledge
from maxent.api.estimate import Progress as EstimateProgress
from maxent.api.estimate import Solving, estimate_case
from maxent.disclosure.limits import LimitCheck, Limits, judge_rows
from maxent.models.arrays import BoolArray
from maxent.models.defenses.method import CERTAIN
from maxent.models.defenses.optimal.best_first import BestFirst, SearchedTree, members, together, tried
from maxent.models.defenses.optimal.places import sensitive_classes
from maxent.models.defenses.optimal.subtree import Searched
from maxent.models.errors import ARGUMENT, InvalidInput, NoAnswerInTime, Problem
from maxent.models.release import Release
from maxent.models.tables.qi_table import people_of
from maxent.models.tables.training import Training
from maxent.models.trees.places import number_places
from maxent.models.trees.restate import restate
from maxent.results.estimate import Estimate
from maxent.results.reliability import unwarned
from maxent.solvers.control import Clock
from maxent.solvers.solution import Stop

if TYPE_CHECKING:
    from maxent.models.defenses.optimal import limits as optimal

# Bases that counts are rounded to, where none is asked for: those that statistical offices use.
BASES = (3, 5, 10)


# Limits besides the size of leaves, which all that is stated has in common.
OTHERS = ("max_posterior", "sensitive", "l", "alpha", "max_certain", "min_divergence", "max_right_guesses", "max_lift")


def statements(method: Any, n_classes: int, criterion: bool = True) -> list[dict[str, Any]]:
    """Parameters of the method ``optimal`` for all that may be stated, what says the most first.

    Counts come before rounded ones, then rates, then labels, each with the criterion first; some are never rounded.
    """
    bases: tuple[int | None, ...] = BASES if method.round_counts is None else (method.round_counts,)
    bases = () if method.cost is not None or method.remove else bases
    said = [("counts", base) for base in (None, *bases)]
    said += [("rates", None)] * (n_classes != 2) + [("labels", None)]
    return [
        {"publish": publish, "round_counts": base, "criterion": told}
        for publish, base in said
        for told in (*["stated"] * criterion, "unstated")
    ]


def reached_without_limits(method: Any, training: Training, grown: Release) -> float | None:
    """What the best subtree reaches whose leaves are large enough, whatever it discloses; None of decisions."""
    if method.cost is not None:
        return None
    limits = replace(method.limits, **dict.fromkeys(OTHERS))
    try:
        found = BestFirst(grown, limits, training, remove=method.remove, hierarchies=method.hierarchies).next()
    except InvalidInput:
        return None
    return None if found is None else found.reached


def reaches_all(reached: float, most: float | None) -> bool:
    """Whether nothing can be better."""
    return most is not None and isclose(reached, most, rel_tol=1e-12, abs_tol=1e-12)


@dataclass(frozen=True, slots=True)
class Broken:
    """What an audit finds beyond limits, in words, and the ``leaves`` of those about whom too much is inferred.

    ``enough`` of them tell by themselves, None: all; ``unknown`` is not known either way, ``unfinished`` for want of
    time.
    """

    told: str
    leaves: frozenset[str]
    enough: frozenset[str] | None = None
    unknown: bool = False
    unfinished: bool = False


# From a release to what it discloses beyond limits, None for nothing.
Audit = Callable[[Release], Broken | None]


@dataclass(frozen=True, slots=True)
class Passed:
    """The subtree that passes its audit, and how many were audited and cut off."""

    found: Searched
    audits: int
    cut_off: int
    unfinished: int | None = None


def audit_of(training: Training, limits: optimal.SubtreeLimits, clock: Clock | None = None) -> Audit:
    """The audit of releases about these records: estimate and attacks, with the truth, against the limits."""
    table, truth = people_of(training)
    named = sensitive_classes(training.target, limits)
    sensitive = tuple(named.tolist()) if limits.sensitive is not None else ()
    stated = Limits(limits.max_posterior, limits.k, limits.max_certain, limits.max_right_guesses, limits.max_lift)

    def audit(release: Release) -> Broken | None:
        case = Case(release, table, truth=truth, sensitive=sensitive, informed=True)
        left = None if clock is None else clock.left()
        try:
            with unwarned():
                result = estimate_case(case, Knowledge(), Solving(time_limit=None if left is None else left / 2))
                checks = _open(result.numbers, stated) or _open(result.proved(result.numbers, stated), stated)
        except NoAnswerInTime:
            return _unfinished(release)
        if limits.min_divergence is not None:
            checks += _divergence(result, limits.min_divergence)
        if result.outcome.status == Stop.TIME_LIMIT.value and checks and not any(map(_is_proved, checks)):
            return _unfinished(release)
        if not checks:
            return None
        unknown = all(check.status == "cannot_tell" for check in checks)
        found = replace(_broken(case, result, checks, named), unknown=unknown)
        return found if result.reliable else replace(found, enough=None)  # by whom it is broken is not known

    return audit


def best_audited(
    search: BestFirst,
    audit: Audit,
    method: Any,
    most_audits: int,
    progress: EstimateProgress | None = None,
    clock: Clock | None = None,
) -> Passed:
    """The first of the best subtrees that passes an audit as it is to be published; others are cut off.

    When many failed, or half of the time is over, leaves are taken back one by one; raises `NoAnswerInTime` if none
    passes in time.
    """
    clock = clock or Clock()
    half = Clock(None if clock.limit is None else clock.limit / 2)
    first: Broken | None = None
    last: Broken | None = None
    audits, cut_off, bound = 0, 0, search.open
    while audits < most_audits and half.stop() is None:
        found = search.next()
        if found is None:
            raise _none_passes(last)
        if progress is not None:
            progress("auditing subtrees", audits, most_audits)
        audits, bound = audits + 1, found.most
        last = audit(method.stating(found.release))
        if last is None:
            return Passed(found, audits, cut_off)
        if last.unknown and method.publish == "labels" and not last.unfinished:  # no number is stated, of whatever tree
            raise _none_passes(last)
        first = last if last.unfinished else first or last
        if last.unfinished:
            break
        complete = search.cut(last.enough, half.stop)
        cut_off, bound = cut_off + 1, search.open if complete else bound
    if first is None and (found := search.next()) is not None:
        first = _unfinished(found.release)
    unfinished, last, late = int(audits > cut_off), first, audits > cut_off or audits < most_audits
    while clock.stop() is None and last is not None and (found := search.without(last.leaves)) is not None:
        audits, last = audits + 1, audit(method.stating(found.release))
        if last is None:
            return Passed(search.bounded(found, bound), audits, cut_off, unfinished if late else None)
        unfinished += last.unfinished
    if clock.stop() is not None or (last is not None and last.unfinished):
        raise not_in_time(clock, audits)
    raise _none_passes(last)


def not_in_time(clock: Clock, audits: int) -> NoAnswerInTime:
    """The error of a search whose time is over before anything has passed its audit."""
    return NoAnswerInTime(clock.limit or 0.0, f"of {audits} that were audited none is known to keep the limits")


def _none_passes(last: Broken | None) -> InvalidInput:
    told = "" if last is None else f": {last.told}"
    return InvalidInput("options", [Problem("limits", "audit", "a subtree that passes", f"none does{told}")])


def publish_audited(
    method: Any, training: Training, grown: Release, progress: EstimateProgress | None = None
) -> tuple[Release, dict[str, Any]]:
    """The publication of the method ``optimal`` and its row, see `maxent.models.defenses.method.Method`."""
    method, complexity = method.settled(training, progress)
    method = method.settled_chance()
    clock = Clock(method.time_limit)
    if method.choose:
        release, row = _publish_chosen(method, training, grown, clock, progress)
        return release, {**row, **complexity}
    passed = _passed(method, training, _search(method, training, grown), clock, progress)
    release, row = method.row_of(training, grown, passed.found)
    return release, {**row, **complexity, **_counted([passed])}


def _passed(
    method: Any, training: Training, search: BestFirst, clock: Clock, progress: EstimateProgress | None
) -> Passed:
    """The best subtree of a method's search that passes its audit: see `best_audited`."""
    audit = audit_of(training, method.limits, clock)
    return best_audited(search, audit, method, method.most_audits, progress, clock)


def _counted(passed: Sequence[Passed], unanswered: int = 0) -> dict[str, int]:
    """How much was audited, as rows have it; what was ``unanswered`` in time counts as one audit each."""
    found = {"audits": sum(each.audits for each in passed), "cut_off": sum(each.cut_off for each in passed)}
    late = [each.unfinished for each in passed if each.unfinished is not None]
    return {**found, **({"unfinished": sum(late) + unanswered} if late or unanswered else {})}


def _publish_chosen(
    method: Any, training: Training, grown: Release, clock: Clock, progress: EstimateProgress | None
) -> tuple[Release, dict[str, Any]]:
    """The same for what is stated so that the tree is the best, and of equal trees the one that states the most."""
    best: tuple[Any, Searched] | None = None
    refused: list[InvalidInput] = []
    left: list[float] = []
    passed: list[Passed] = []
    at_most = reached_without_limits(method, training, grown)
    tried = statements(method, len(training.target.classes), grown.trees[0].induction.impurity is not None)
    for number, said in enumerate(tried):
        if best is not None and reaches_all(best[1].reached, at_most):
            break
        stated = said["criterion"] == "stated"
        hierarchies = None if stated else method.hierarchies  # a split that is merged was not chosen so
        one = replace(method, **said, hierarchies=hierarchies)
        time_left = clock.left()
        own = Clock(None if time_left is None else time_left / (len(tried) - number))
        search: BestFirst | None = None
        most: float | None = None
        try:
            search = _search(one, training, grown)
            most = search.open
            passed.append(_passed(one, training, search, own, progress))
        except InvalidInput as error:
            refused.append(error)
            if search is not None and not isinstance(error, NoAnswerInTime):
                most = search.open if one.publish != "labels" else None
            left += [] if most is None else [most]
            continue
        found = passed[-1].found
        left.append(found.most)
        if best is None or search.better(best[1].reached, found.reached) != best[1].reached:
            best = one, found
    late = [error for error in refused if isinstance(error, NoAnswerInTime)]
    if best is None:
        raise (late or refused)[0]
    chosen, found = best
    better = max if method.objective == "accuracy" and method.cost is None else min
    most = better([found.reached, *left])
    release, row = chosen.row_of(training, grown, replace(found, most=most))
    if release.defense is not None:
        kept = {**release.defense.parameters, **method.limits.as_dict()}  # those that only the audit looked at, too
        release = replace(release, defense=replace(release.defense, parameters=kept))
    states = {name: getattr(chosen, name) for name in said}
    return release, {**row, **_counted(passed, len(late)), **states, "stated_more": states != tried[0]}


def _search(method: Any, training: Training, grown: Release) -> BestFirst:
    """The subtrees of a tree; by less than counts more people may diverge, which only an audit knows."""
    limits = method.limits if method.publish == "counts" else replace(method.limits, min_divergence=None)
    return BestFirst(grown, limits, training, **method.asked)


def _open(numbers: Mapping[str, Any], limits: Limits) -> list[LimitCheck]:
    """The limits that numbers are not known to keep."""
    return [check for check in judge_rows(limits, [numbers]).releases[0].checks if check.status != "pass"]


def _divergence(result: Estimate, least: float) -> list[LimitCheck]:
    """The check of the least divergence."""
    found = result.disclosure.divergence
    overall = None if found is None else found.overall  # None is infinite
    kept = overall is None or overall >= least - 1e-9
    if not result.reliable:
        return [LimitCheck("min_divergence", least, overall, "cannot_tell", "truth")]
    return [] if kept else [LimitCheck("min_divergence", least, overall, "fail", "truth")]


def _is_proved(check: LimitCheck) -> bool:
    """Whether a limit is broken whatever an estimate would find in the end."""
    of_groups = check.limit in ("max_posterior", "max_certain") and check.origin != "estimate"
    return check.status == "fail" and (of_groups or check.limit == "min_k")


def _unfinished(release: Release) -> Broken:
    """An audit that did not end in time, to blame on the lower half of the tree."""
    (tree,) = release.trees
    levels = number_places(tree).levels
    lower = np.concatenate(levels[(len(levels) + 1) // 2 :] or levels)
    return Broken("cannot be told in time", frozenset(_ids(release, lower)), unknown=True, unfinished=True)


def _broken(case: Case, result: Estimate, checks: Sequence[LimitCheck], named: Any) -> Broken:
    """What is broken, and by which leaves."""
    release = case.release
    told = ", ".join(f"{c.limit} {_number(c.found)} where {c.stated:g} is stated" for c in checks)
    probable = result.probabilities[:, named].max(axis=1)
    beyond = np.zeros(len(probable), bool)
    for check in checks:
        if check.limit == "max_posterior":
            beyond |= probable > check.stated + 1e-9
        if check.limit == "max_certain" and check.stated == 0:
            beyond |= probable >= CERTAIN
    places = number_places(release.trees[0])
    if not beyond.any():
        deepest = [release.trees[0].nodes[p].id for p in places.levels[-1].tolist() if p < places.n_nodes]
        shown = deepest or [leaf.id for leaf in release.trees[0].leaves]
        return Broken(told, frozenset(shown))
    cells = case.cells()
    leaf = cells.leaf[:, 0]
    own = frozenset(_ids(release, np.unique(leaf[beyond[cells.owner]])))
    induction = release.trees[0].induction
    if induction.impurity is not None:
        return Broken(told, own)
    return Broken(told, own, frozenset(_ids(release, _coupled(cells.owner, leaf, beyond))))


def _coupled(owner: Any, leaf: Any, people: BoolArray) -> Any:
    """The places that these people may be in, the places of those who may be there too, and so on."""
    while True:
        there = np.unique(leaf[people[owner]])
        more = people.copy()
        more[owner[np.isin(leaf, there)]] = True
        if (more == people).all():
            return there
        people = more


def _ids(release: Release, places: Any) -> list[str]:
    nodes = release.trees[0].nodes
    return [nodes[place].id for place in places.tolist() if place < len(nodes)]


def _number(found: float | None) -> str:
    return "cannot be told" if found is None else f"{found:.6g}"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The trees that were chosen, the share of records that they predict right, and how many audits that took."""

    members: tuple[SearchedTree, ...]
    reached: float
    audits: int
    unfinished: int = 0


def greedy_forest(
    options: Sequence[SearchedTree],
    audit: Audit,
    training: Training,
    most_audits: int,
    progress: EstimateProgress | None = None,
    clock: Clock | None = None,
) -> Chosen:
    """Trees of a forest, one after the other, as long as all of them together pass an audit; as many as predict best.

    Next comes the one that predicts most right, even if no more than before; raises `NoAnswerInTime` if none passes in
    time.
    """
    left, chosen, audits, unfinished, told = list(options), list[SearchedTree](), 0, 0, ""
    clock = clock or Clock()
    best = Chosen((), -1.0, 0)
    while audits < most_audits and clock.stop() is None and (ranked := tried(left, chosen, training)):
        right, _, option = ranked[0]
        if progress is not None:
            progress("auditing trees", audits, most_audits)
        audits += 1
        broken = audit(together([*chosen, option]))
        if broken is not None:
            left = [each for each in left if each.number != option.number or each.depth < option.depth]
            told, unfinished = f": {broken.told}", unfinished + broken.unfinished
            continue
        chosen.append(option)
        if right / len(training) > best.reached:
            best = Chosen(tuple(chosen), right / len(training), audits)
    if not best.members and (unfinished or clock.stop() is not None):
        raise not_in_time(clock, audits)
    if not best.members:
        found = f"none does{told}"
        raise InvalidInput("options", [Problem("limits", "audit", "a tree of the forest that passes", found)])
    return replace(best, audits=audits, unfinished=unfinished)


def publish_forest(
    method: Any, training: Training, forest: Release, progress: EstimateProgress | None = None
) -> tuple[Release, dict[str, Any]]:
    """The publication of the method ``optimal`` of several trees, and its row."""
    if method.objective != "accuracy" or method.cost is not None:
        other = "impurity" if method.objective == "impurity" else "cost"
        raise InvalidInput("options", [Problem(ARGUMENT, "objective", "accuracy, for several trees", other)])
    if method.complexity:
        raise InvalidInput(
            "options", [Problem(ARGUMENT, "complexity", "none, for several trees", f"{method.complexity}")]
        )
    for name in ("choose", "hierarchies", "round_counts", "cautious"):
        if getattr(method, name):
            raise InvalidInput("options", [Problem(ARGUMENT, name, "none for several trees", "one")])
    asked: dict[str, Any] = {"criterion": method.criterion, "remove": method.remove, "publish": method.publish}
    options = members(forest, method.limits, training, **asked)
    clock = Clock(method.time_limit)
    audit = audit_of(training, method.limits, clock)

    def judged(release: Release) -> Broken | None:
        return audit(restate(release, method.publish))

    found = greedy_forest(options, judged, training, method.most_audits, progress, clock)
    release = together(found.members)
    published, row = method.row_of(training, forest, Searched(release, found.reached, 1.0))
    own = {"trees": len(found.members), "trees_before": len(forest.trees), "audits": found.audits}
    late = {"unfinished": found.unfinished} if found.unfinished or clock.stop() is not None else {}
    return published, {**row, **own, **late}
