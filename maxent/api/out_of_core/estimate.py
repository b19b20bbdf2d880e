"""Estimates leaf by leaf, in files and with several workers, for more people than memory holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any, cast

import numpy as np

from maxent.api.case import Published, Tables
from maxent.api.compile import Knowledge
from maxent.api.estimate import Progress, Solving, estimate_case
from maxent.api.out_of_core.folder import InParts, links_of, splits_compared
from maxent.api.out_of_core.opened import ByLeaf, FoundLeaves, Opened, Surest, Written, table_of
from maxent.api.out_of_core.scan import Resources, Scanned
from maxent.api.out_of_core.stand_ins import solve_leaves
from maxent.api.population import population_estimate
from maxent.disclosure.inference import Disclosure
from maxent.models.release import Release
from maxent.models.tables.cells import own_names
from maxent.results.estimate import Estimate
from maxent.results.parts import Parts
from maxent.results.population import PopulationEstimate


def estimate_tables(
    published: Published,
    tables: Tables,
    known: Knowledge,
    how: Solving,
    where: InParts,
    *,
    target: str | None = None,
    progress: Progress | None = None,
    surest: bool = False,
) -> Estimate:
    """The estimate of more people than memory holds; posteriors go to files in a folder as they come.

    People are routed to leaves, or to cells of several trees, each of which is one person; where something links them,
    all are estimated together, without ``parts``.
    """

    def links(release: Release) -> Iterator[str]:
        yield from links_of(release, truth=tables.truth is not None)
        if tables.control is not None:
            yield "control people"
        if tables.population is not None and tables.truth is not None:
            yield "the people of the register who are in the data"
        if tables.population is not None and splits_compared(release, known.kinds):
            yield "choices of splits about members of the register"

    opened = Opened.of(published, tables, links, target, where, progress)
    if opened.linked:
        of_trees = {"knowledge": known.knowledge, "impurity": known.impurity}
        case = opened.together(**of_trees, marginal=tables.marginal, control=tables.control)
        if case.members is not None:
            of_register = population_estimate(case, known, how, progress=opened.tell)
            opened.write_whole(lambda: of_register.posterior)
            return cast("Estimate", of_register)
        found = estimate_case(case, known, how, progress=opened.tell)
        opened.write_whole(lambda: found.posterior)
        return found
    with opened.resources(how) as with_:
        if opened.of_register:
            return cast("Estimate", _register_in_parts(opened, known, how, with_))
        return _in_parts(opened, known, how, with_, surest=surest)


def _register_in_parts(opened: Opened, known: Knowledge, how: Solving, with_: Resources) -> PopulationEstimate:
    """The estimate of a register by its leaves, of several trees by cells: all in one are as probably members."""
    scanned = opened.scanned(with_)
    table, leaf = scanned.table()
    found = population_estimate(opened.case(table), known, how, progress=opened.tell)
    inferred = [found.membership.member, *found.membership.of_members.T]
    rows = FoundLeaves(table_of([(each, "double") for each in inferred]), ByLeaf(leaf, len(scanned.people)))
    told = "counting quasi-identifiers" if opened.where.folder is None else "writing members"
    groups, files = opened.written(told, found.columns, rows, scanned, with_)
    return replace(found, parts=_parts(opened, scanned, groups, what="members", files=files))


def _in_parts(opened: Opened, known: Knowledge, how: Solving, with_: Resources, *, surest: bool) -> Estimate:
    """The estimate of a release of one tree by its leaves, of several by their cells."""
    release, scanned = opened.release, opened.scanned(with_)
    found, leaves = solve_leaves(opened, known, how, scanned, with_)
    names = _columns(release, scanned.coded.attributes, divergence=scanned.classes is not None)
    most = {"top": how.top, "surest": surest * how.top}
    groups, files = opened.written("evaluating leaves", names, leaves, scanned, with_, **most)
    far, least = (None, 0.0) if scanned.classes is None else _far(scanned, groups, how.top)
    parts = _parts(opened, scanned, groups, what="posteriors", files=files, far=far)
    if surest:
        (table, leaf), first = scanned.table(), sorted(one for each in groups for one in each.surest)[: how.top]
        disclosed = tuple(_entry(each, scanned, release.target.classes) for each in first)
        truth = None if scanned.classes is None else scanned.classes[leaf]
        parts = replace(parts, most_disclosed=disclosed, table=table, truth=truth)
    return replace(found, parts=parts, disclosure=_disclosure(found.disclosure, far, least))


def _parts(opened: Opened, scanned: Scanned, groups: Iterable[Written], **more: Any) -> Parts:
    trees, leaves, folder = len(opened.release.trees), len(scanned.there), opened.where.folder
    return Parts(trees=trees, leaves=leaves, folder=folder, distinct=sum(each.rows for each in groups), **more)


def _entry(found: Surest, scanned: Scanned, classes: tuple[str, ...]) -> dict[str, Any]:
    """An item of ``most_disclosed`` of a comparison."""
    _, minus, codes, klass, probability, away = found
    entry = {"qi": scanned.coded.named(codes), "count": -minus, "class": classes[klass], "probability": probability}
    return entry if scanned.classes is None else {**entry, "divergence": away}


def _disclosure(found: Disclosure, far: Mapping[str, Any] | None, least: float) -> Disclosure:
    """The disclosure of leaves as that of their people, whose divergences are ``far``, from the ``least`` on."""
    measures = dict(found.measures)
    for key in ("divergence", "divergence_max", "divergence_top", "divergence_min", "infinite"):
        measures.pop(key, None)  # those of leaves
    if far is not None:
        keys = {"divergence": "overall", "divergence_max": "max", "divergence_top": "top_k_average"}
        whole = {key: np.inf if far[name] is None else far[name] for key, name in keys.items()}
        measures = {**whole, "divergence_min": least, "infinite": far.get("infinite", 0), **measures}
    return replace(found, measures=measures, divergence=None, individual=None)


def _columns(release: Release, attributes: Iterable[Any], *, divergence: bool) -> tuple[str, ...]:
    """The names of the columns of posteriors, as `maxent.disclosure.inference.Inference.columns` has them."""
    names = [attribute.name for attribute in attributes]
    ours = ["count", *(f"P({name})" for name in release.target.classes), *["divergence"] * divergence]
    return (*names, *own_names(ours, names))


def _far(scanned: Scanned, groups: Sequence[Written], top: int) -> tuple[dict[str, Any], float]:
    """The divergences of all groups together, as in a summary, and the least."""
    infinite = sum(each.infinite for each in groups)
    worst = sorted(far for each in groups for far in each.far)[:top]
    far = {
        "overall": None if infinite else sum(each.total for each in groups) / float(scanned.people.sum()),
        "max": _finite(-worst[0][0]),
        "top": [{"qi": scanned.coded.named(codes), "divergence": _finite(-below)} for below, codes in worst],
        "top_k_average": _finite(float(np.mean([-below for below, _ in worst]))),
    }
    return {**far, "infinite": infinite} if infinite else far, min(each.least for each in groups)


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None
