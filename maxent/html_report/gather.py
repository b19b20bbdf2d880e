"""The content of a report on one release, from its estimate and the attacks on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite, log
from typing import Any

import numpy as np

from maxent.constraints.kinds.registry import KINDS, kinds_of
from maxent.html_report.measures import blind_words, numbers, risk_numbers, sensitive_numbers, stakes_numbers
from maxent.html_report.trees import DRAWN, drawn_trees, tree_views
from maxent.html_report.view import Person, ReleaseView
from maxent.html_report.words import WORTH, number, shown
from maxent.models.arrays import IntArray
from maxent.models.nodes import parts_in_words
from maxent.results.solved import Solved
from maxent.text.estimate import target_line

SHOWN_CONTRADICTIONS = 50

MISLED = log(2)
"""Nats from the truth from which on an estimate is mostly wrong: it gives one person's true class at most one half."""


def release_view(result: Solved, row: Mapping[str, Any], top: int = 10, budget: int = DRAWN) -> ReleaseView:
    """One release, ready to be rendered.

    Parameters
    ----------
    result : Solved
    row : mapping
        What `maxent.results.comparison.comparison_row` says of it.
    top : int
        How many of the most exposed quasi-identifiers are listed.
    budget : int
        How many nodes are drawn at most, the first tree not counted.
    """
    program, found, held = result.program, result.disclosure, result.held
    release, table = program.release, program.table
    exposure = _exposure(result)
    pool: dict[int, int] = {}
    trees = drawn_trees(result, budget)
    views = tree_views(result, exposure, lambda q: pool.setdefault(q, len(pool)), trees)
    target = shown(release.target.name)
    blind = blind_words(None if result.baseline is None else result.baseline.base_rate, program.n_classes)
    return ReleaseView(
        name=shown(row["release"]),
        defense=shown(row["defense"] or ""),
        target=target,
        classes=tuple(map(shown, release.target.classes)),
        attributes=tuple(shown(attribute.name) for attribute in table.attributes),
        individuals=table.individuals,
        quasi_identifiers=len(table),
        baseline=found.gain.vulnerability_before if result.baseline is None else result.baseline.best,
        row=row,
        measures=numbers(row, target, program.n_classes, result.baseline, "estimate" if held is None else held.way),
        risks=() if result.wp216 is None else risk_numbers(result.wp216, target, blind),
        sensitive=sensitive_numbers(row, target, program.n_classes),
        stakes=stakes_numbers(result.leakage, result.min_capacity),
        blind=blind,
        exposed=tuple(_person(result, int(q)) for q in exposure[:top]),
        people=tuple(_person(result, q) for q in pool),
        trees=views,
        undrawn=len(release.trees) - trees,
        records=program.scaling is not None,
        uncertain=not program.single,
        constraints=tuple((kind, count, KINDS[kind].words) for kind, count in kinds_of(program).items() if count),
        reliable=result.reliable,
        worth=WORTH[result.certificate],
        solver=tuple(_solver(result)),
        notes=tuple(
            map(shown, (*map(target_line, result.targets.values()), *parts_in_words(release.trees), *result.notes))
        ),
        contradictions=tuple(shown(c) for c in result.contradictions[:SHOWN_CONTRADICTIONS]),
    )


def _exposure(result: Solved) -> IntArray:
    """Quasi-identifiers, rows of the table: the surest first, those about whom the estimate is mostly wrong last."""
    table, individual = result.program.table, result.disclosure.individual
    surest = result.probabilities.max(axis=1)
    misled = np.zeros(len(table), bool) if individual is None else individual >= MISLED
    return np.lexsort((table.lines, -table.counts, -surest, misled)).astype(np.int64)


def _person(result: Solved, q: int) -> Person:
    """A quasi-identifier, a row of the table."""
    program, p, proof = result.program, result.probabilities[q], result.proof
    likeliest = int(p.argmax())
    known = None if proof is None or not proof.reliable else (proof.low[q, likeliest], proof.high[q, likeliest])
    attributes = program.table.attributes
    values = result.row(q)[: len(attributes)]
    individual = result.disclosure.individual
    return Person(
        values=tuple(
            (shown(attribute.name), shown(value) if isinstance(value, str) else number(value))
            for attribute, value in zip(attributes, values, strict=True)
        ),
        count=int(program.table.counts[q]),
        label=shown(program.release.target.classes[likeliest]),
        probability=float(p.max()),
        divergence=None if individual is None else float(individual[q]),
        proved=None if known is None else (float(known[0]), float(known[1])),
    )


def _solver(result: Solved) -> Iterator[tuple[str, str]]:
    """Solver, status and certificate of the answer."""
    outcome = result.outcome
    yield "Status", outcome.status
    yield "Certificate", result.certificate
    yield "Back end", result.backend
    yield "Convex problem", "yes" if outcome.convex else "no"
    yield "Only optimum", "yes" if result.unique else "not known"
    yield "Largest violation of a constraint", f"{outcome.violation:.1e} (tolerance {result.tolerance:g})"
    if isfinite(outcome.duality_gap):
        yield "Proved gap", f"at most {max(outcome.duality_gap, 0.0):.1e} nats per person"
    yield "Independent parts", f"{outcome.parts:,}"
    yield "Iterations", f"{outcome.iterations:,}"
    yield "Seconds", ", ".join(f"{name} {value:.2f}" for name, value in result.seconds.items())
