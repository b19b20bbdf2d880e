"""The best subtree that passes its own audit: what the engine finds beyond limits is cut off, and the next one tried.

What leaves state is not all that an adversary may know: what splits were chosen by is stated, or private attributes
hide who is in which leaf, and then leaves are coupled. The search (`maxent.models.defenses.optimal.best_first`) knows
only what leaves state; so each subtree that it finds is estimated and attacked as any release is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxent.api.adversary.estimate import Progress, Solving, estimate_case
from maxent.api.case import Case
from maxent.api.compile import Knowledge
from maxent.api.releases.statements import reached_without_limits, reaches_all, statements
from maxent.disclosure.judging import judge_rows
from maxent.disclosure.limits import Check, Limits
from maxent.models.arrays import BoolArray
from maxent.models.defenses.certainty import CERTAIN
from maxent.models.defenses.optimal import limits as optimal
from maxent.models.defenses.optimal.best_first import BestFirst
from maxent.models.defenses.optimal.places import sensitive_classes
from maxent.models.defenses.optimal.subtree import Searched
from maxent.models.errors import InvalidInput, Problem
from maxent.models.release import Release
from maxent.models.tables.qi_table import people_of
from maxent.models.tables.training import Training
from maxent.models.trees.places import number_places
from maxent.results.estimate import Estimate
from maxent.results.reliability import unwarned


@dataclass(frozen=True, slots=True)
class Broken:
    """What an audit finds beyond limits.

    ``told`` says it. ``leaves`` are those of the people about whom too much is inferred, or the deepest where that is
    about everybody. ``enough`` are leaves by which alone it is inferred, whatever the other leaves are; None for all.
    ``unknown`` is whether nothing is known to be beyond limits, but not known to be within them either.
    """

    told: str
    leaves: frozenset[str]
    enough: frozenset[str] | None = None
    unknown: bool = False


Audit = Callable[[Release], Broken | None]
"""From a release to what it discloses beyond limits, None for nothing."""


def audit_of(training: Training, limits: optimal.Limits) -> Audit:
    """The audit of releases about these records: estimate and attacks, with the truth, against the limits."""
    table, truth = people_of(training)
    named = sensitive_classes(training.target, limits)
    sensitive = tuple(named.tolist()) if limits.sensitive is not None else ()
    stated = Limits(limits.max_posterior, limits.k, limits.max_certain, limits.max_right_guesses, limits.max_lift)

    def audit(release: Release) -> Broken | None:
        case = Case(release, table, truth=truth, sensitive=sensitive)
        with unwarned():
            result = estimate_case(case, Knowledge(), Solving())
            numbers = result.numbers
        checks = [c for c in judge_rows(stated, [numbers]).releases[0].checks if c.status != "pass"]
        if limits.min_divergence is not None:
            checks += _divergence(result, limits.min_divergence)
        unknown = all(check.status == "cannot_tell" for check in checks)
        return replace(_broken(case, result, checks, named), unknown=unknown) if checks else None

    return audit


def best_audited(
    search: BestFirst, audit: Audit, method: Any, most_audits: int, progress: Progress | None = None
) -> tuple[Searched, int, int]:
    """The best subtree that passes an audit as it is to be published.

    Subtrees come best first, and those that break a limit are cut off. The first that passes is the best. Where none
    of so many passes, the leaves of those about whom too much is inferred are taken back one after the other; then
    ``most`` says what those can reach that were not cut off. ``method`` says what is to be published of them.

    Returns
    -------
    Searched, int, int
        With how many subtrees were audited, and how many were cut off.

    Raises
    ------
    InvalidInput
        When none passes, with what the last one discloses.
    """
    first: Broken | None = None
    last: Broken | None = None
    for done in range(most_audits):
        found = search.next()
        if found is None:
            break
        if progress is not None:
            progress("auditing subtrees", done, most_audits)
        last = audit(method.stating(found.release))
        if last is None:
            return found, done + 1, done
        if last.unknown and method.publish == "labels":  # no number is stated, of whatever tree
            break
        first = first or last
        search.cut(last.enough)
    else:
        audits, last = most_audits, first
        while last is not None and (found := search.without(last.leaves)) is not None:
            audits, last = audits + 1, audit(method.stating(found.release))
            if last is None:
                return search.bounded(found), audits, most_audits
    told = "" if last is None else f": {last.told}"
    raise InvalidInput("options", [Problem("limits", "audit", "a subtree that passes", f"none does{told}")])


def publish_audited(
    method: Any, training: Training, grown: Release, progress: Progress | None = None
) -> tuple[Release, dict[str, Any]]:
    """The publication of the method ``optimal`` and its row, see `maxent.models.defenses.method.Method`."""
    method, complexity = method.settled(training, progress)
    method = method.settled_chance()
    if method.choose:
        release, row = _publish_chosen(method, training, grown, progress)
        return release, {**row, **complexity}
    search = _search(method, training, grown)
    audit = audit_of(training, method.limits)
    found, audits, cut_off = best_audited(search, audit, method, method.audits, progress)
    release, row = method.row_of(training, grown, found)
    return release, {**row, **complexity, "audits": audits, "cut_off": cut_off}


def _publish_chosen(
    method: Any, training: Training, grown: Release, progress: Progress | None
) -> tuple[Release, dict[str, Any]]:
    """The same for what is stated so that the tree is the best, and of equal trees the one that states the most."""
    best: tuple[Any, Searched] | None = None
    refused: list[InvalidInput] = []
    left: list[float] = []
    many = {"audits": 0, "cut_off": 0}
    at_most = reached_without_limits(method, training, grown)
    for said in statements(method, len(training.target.classes)):
        if best is not None and reaches_all(best[1].reached, at_most):
            break
        stated = said["criterion"] == "stated"
        hierarchies = None if stated else method.hierarchies  # a split that is merged was not chosen so
        one = replace(method, **said, hierarchies=hierarchies)
        search: BestFirst | None = None
        try:
            search = _search(one, training, grown)
            found, audits, cut_off = best_audited(search, audit_of(training, one.limits), one, one.audits, progress)
        except InvalidInput as error:
            refused.append(error)
            if search is not None and search.open is not None and one.publish != "labels":
                left.append(search.open)
            continue
        many = {"audits": many["audits"] + audits, "cut_off": many["cut_off"] + cut_off}
        left.append(found.most)
        if best is None or search.better(best[1].reached, found.reached) != best[1].reached:
            best = one, found
    if best is None:
        raise refused[0]
    chosen, found = best
    better = max if method.objective == "accuracy" and method.cost is None else min
    most = better([found.reached, *left])
    release, row = chosen.row_of(training, grown, replace(found, most=most))
    if release.defense is not None:
        kept = {**release.defense.parameters, **method.limits.as_dict()}  # those that only the audit looked at, too
        release = replace(release, defense=replace(release.defense, parameters=kept))
    return release, {**row, **many, **{name: getattr(chosen, name) for name in said}}


def _search(method: Any, training: Training, grown: Release) -> BestFirst:
    """The subtrees of a tree; by less than counts more people may diverge, which only an audit knows."""
    limits = method.limits if method.publish == "counts" else replace(method.limits, min_divergence=None)
    return BestFirst(grown, limits, training, **method.asked)


def _divergence(result: Estimate, least: float) -> list[Check]:
    """The check of the least divergence."""
    found = result.disclosure.divergence
    overall = None if found is None else found.overall  # None is infinite
    kept = overall is None or overall >= least - 1e-9
    return [] if kept else [Check("min_divergence", least, overall, "fail", "truth")]


def _broken(case: Case, result: Estimate, checks: Sequence[Check], named: Any) -> Broken:
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
