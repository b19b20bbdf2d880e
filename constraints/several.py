"""Compiles several releases about overlapping people into one program.

The unknowns are those of all trees together (`maxent.models.successive.releases`). Each release is compiled with its
own settings, over the same cells, by a table where people who are not in it count for nobody; of these it states
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxent.constraints.cells import Cells, build_cells
from maxent.constraints.compiler import (
    Settings,
    check_options,
    context_of,
    emitted,
    implied_marginal,
    notes_of,
    regions_of,
)
from maxent.constraints.kinds import facts as facts_of
from maxent.constraints.kinds import marginal as marginal_of
from maxent.constraints.kinds.bootstrap.likelihood import likelihood_of
from maxent.constraints.kinds.context import Context, Noise, RegionBook
from maxent.constraints.kinds.registry import knowledge as choices_of_knowledge
from maxent.constraints.kinds.sampling import n_countable
from maxent.constraints.kinds.size import table_contradictions
from maxent.constraints.place_sums import CellSums
from maxent.constraints.program import Contradiction, Internal, Likelihood, Linear, Program
from maxent.constraints.unread import unread_of
from maxent.models.arrays import FloatArray, IntArray
from maxent.models.errors import ARGUMENT, InvalidInput, Origin, invalid
from maxent.models.looking import Check, unchecked
from maxent.models.release import Impurity
from maxent.models.sparse_counts import check_size
from maxent.models.successive.releases import Joined
from maxent.models.tables.qi_table import QITable
from maxent.models.tables.truth_and_facts import Fact
from maxent.models.trees.printed_rates import Rounding


def compile_several(
    joined: Joined,
    table: QITable,
    *,
    knowledge: Iterable[str] | None = None,
    impurity: Impurity | None = None,
    marginal: FloatArray | None = None,
    facts: tuple[Fact, ...] = (),
    rounding: Rounding = "auto",
    confidence: float = 0.99,
    noise: Noise = "intervals",
    enough: Callable[[], bool] = lambda: False,
    cells: Cells | None = None,
    check: Check = unchecked,
) -> Program:
    """Everything that several releases tell an adversary who holds a table of all their people.

    Parameters
    ----------
    joined : Joined
    table : QITable
        Everybody who is in some release, with the public attributes of all releases and the one that says in which
        releases somebody is.
    knowledge, impurity, rounding, noise
        As for `maxent.constraints.compiler.compile_program`, of each release.
    marginal, facts
        Of everybody in the table.
    confidence : in (0, 1)
        Probability that all intervals of all releases hold together.
    enough, cells, check
        As for `maxent.constraints.compiler.compile_program`.
    """
    known = frozenset(choices_of_knowledge() if knowledge is None else knowledge)
    check_options(known, impurity, rounding, confidence, noise)
    resampled = any(part.resampled is not None for part in joined.parts)
    if noise == "likelihood" and (not resampled or joined.release.target.numbers is not None):
        expected = "intervals, since no release has counts of a bootstrap (release.resampled)"
        raise invalid("options", ARGUMENT, "noise", expected, noise)
    if knowledge is not None and "marginal" in known and marginal is None:
        marginal = _implied(joined)
    release = joined.release
    cells = build_cells(release, table, check) if cells is None else cells
    check_size("cells of distinct quasi-identifiers", len(cells), len(release.target.classes))
    sums = CellSums(cells, table.codes, tuple(map(len, table.levels)))
    check(f"people were placed, which made {len(cells):,} cells, and nothing was stated about these yet")
    miss = (1.0 - confidence) / max(sum(part.sampled for part in joined.parts), 1)
    settings = Settings(known, None, (), impurity, rounding, noise, miss, enough, check)
    book = RegionBook()
    found = [_of_release(joined, i, table, cells, sums, book, settings, confidence) for i in range(len(joined.parts))]
    said = [constraint for one in found for constraint in one.said]
    of_all: dict[str, Any] = {"release": release, "table": table, "cells": cells, "sums": sums, "regions": book}
    everybody = replace(found[0].context, **of_all, facts=facts, marginal=marginal)
    said += marginal_of.marginal(everybody) if "marginal" in known else ()
    said += facts_of.facts(everybody)
    unfinished = settings.unfinished
    notes = [*joined.notes, *(note for one in found for note in one.notes)]
    if unfinished:
        notes.append("the time limit ended the comparison of splits: internal constraints are missing")
    return Program(
        release,
        table,
        cells,
        sums,
        regions_of(book.cells, book.places),
        tuple(constraint for constraint in said if isinstance(constraint, Linear)),
        tuple(constraint for constraint in said if isinstance(constraint, Internal)),
        tuple(wrong for one in found for wrong in one.contradictions),
        tuple(notes),
        unfinished=unfinished,
        likelihood=_together([one.likelihood for one in found if one.likelihood is not None]),
        unread=tuple(
            replace(each, of=tuple((first + t, many) for t, many in each.of))
            for one, first in zip(found, joined.first, strict=True)
            for each in unread_of(one.context.release, one.context.scored)
        )
        if "counts" in known
        else (),
    )


class _Shifted(RegionBook):
    """The regions of a release in the book of all, where its trees have other numbers."""

    def __init__(self, book: RegionBook, first: int) -> None:
        super().__init__()
        self._book, self._first = book, first

    def add(self, key: Hashable, cells: IntArray, place: tuple[int, int] | None = None) -> int:
        if place is not None:
            key = place = (place[0] + self._first, place[1])
        return self._book.add(key, cells, place)


@dataclass(frozen=True, slots=True, eq=False)
class _OfRelease:
    """Statements of one release, with the numbers of its trees among all."""

    context: Context
    said: list[Linear | Internal]
    contradictions: list[Contradiction]
    likelihood: Likelihood | None
    notes: list[str]


def _of_release(
    joined: Joined,
    i: int,
    table: QITable,
    cells: Cells,
    sums: CellSums,
    book: RegionBook,
    settings: Settings,
    confidence: float,
) -> _OfRelease:
    """Statements of a release about its people."""
    part, first, partial = joined.parts[i], joined.first[i], joined.partial(i)
    trees = slice(first, first + len(part.trees))
    view = Cells(cells.owner, cells.leaf[:, trees], cells.trees[trees])
    own = _own_table(joined, table, i)
    countable = n_countable(part, own, view) if part.sampling_rate < 1.0 else 1
    settings = replace(settings, alpha=settings.alpha / countable)
    context = context_of(part, own, view, sums.of_trees(view, first), settings)
    context = replace(context, regions=_Shifted(book, first))
    said = emitted(context, settings)
    wrong = list(table_contradictions(context)) if settings.known & {"rate", "counts"} else []
    likelihood = likelihood_of(context) if settings.noise == "likelihood" else None
    if partial:  # nothing is stated of the others, nor was the node that tells them apart chosen
        others = {(t, len(tree.nodes) - 1) for t, tree in enumerate(part.trees, first)}
        ids = {(t, tree.nodes[-1].id) for t, tree in enumerate(part.trees)}
        said = [s for s in said if (s.place > 0 if isinstance(s, Internal) else book.places[s.region] not in others)]
        wrong = [found for found in wrong if (found.origin.tree or 0, found.origin.node) not in ids]
    notes = notes_of(context, settings, confidence, countable, unfinished=False)
    return _OfRelease(
        context,
        [_numbered(constraint, first) for constraint in said],
        [replace(found, origin=_of_tree(found.origin, first)) for found in wrong],
        None if likelihood is None else replace(likelihood, tree=likelihood.tree + first),
        [f"{joined.names[i]}: {note}" for note in notes],
    )


def _own_table(joined: Joined, table: QITable, i: int) -> QITable:
    """The table in which those who are not in a release count for nobody."""
    if not joined.partial(i):
        return table
    inside = np.array([row[i] for row in joined.members])
    return replace(table, counts=np.where(inside[table.codes[:, -1]], table.counts, 0))


def _numbered(said: Linear | Internal, first: int) -> Linear | Internal:
    """A constraint with the number that its tree has among all."""
    origin = _of_tree(said.origin, first)
    if isinstance(said, Internal):
        return replace(said, origin=origin, tree=said.tree + first)
    return replace(said, origin=origin)


def _of_tree(origin: Origin, first: int) -> Origin:
    """An origin with the number that its tree has among all."""
    return origin if origin.node is None else replace(origin, tree=(origin.tree or 0) + first)


def _implied(joined: Joined) -> FloatArray:
    """Individuals of each class in the whole table, from the counts of a release that has everybody."""
    whole = [part for i, part in enumerate(joined.parts) if not joined.partial(i)]
    error = None
    for part in whole:
        try:
            return implied_marginal(part)
        except InvalidInput as refused:
            error = refused
    expected = "a file with the number of individuals of each class (marginal=), as no release has all people"
    raise error or invalid("options", ARGUMENT, "marginal", expected, "none")


def _together(found: list[Likelihood]) -> Likelihood | None:
    """The likelihood of the draws of several releases."""
    if not found:
        return None
    return Likelihood(
        np.concatenate([one.tree for one in found]),
        np.concatenate([one.place for one in found]),
        np.concatenate([one.draws for one in found]),
        np.concatenate([one.size for one in found]),
    )
