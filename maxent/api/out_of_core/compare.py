"""One of several releases that are compared about more people than memory holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.api.case import Case, Tables
from maxent.api.out_of_core.estimate import estimate_tables
from maxent.api.out_of_core.result import EstimateInParts
from maxent.models.trees.predict import Cases, Score, score
from maxent.results.reliability import unwarned

if TYPE_CHECKING:
    from maxent.api.compile import Knowledge
    from maxent.api.estimate import Progress, Solving
    from maxent.api.out_of_core.folder import InParts
    from maxent.models.arrays import IntArray
    from maxent.models.release import Release
    from maxent.models.tables.qi_table import QITable
    from maxent.results.estimate import Estimate


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """The estimate of a release, and the people that attacks work on: those of a leaf as one.

    ``train`` is the accuracy on the truth, None without one. ``parted`` is whether people were taken in parts: where
    they are linked all of them are in the ``case``, and their accuracy is still to be found.
    """

    result: Estimate
    case: Case
    train: Score | None = None
    parted: bool = False
    most_disclosed: tuple[Mapping[str, Any], ...] | None = None


def compare_release(
    release: Release, tables: Tables, known: Knowledge, how: Solving, where: InParts, progress: Progress
) -> Compared:
    """Estimate a release in parts, for a comparison.

    Raises
    ------
    InvalidInput
        As `maxent.estimate_in_parts`.
    """
    with unwarned():
        settings = known, how
        result = estimate_tables(
            release,
            tables,
            lambda: settings,
            how.jobs,
            how.dask,
            where,
            progress=progress,
            surest=True,
            limit=how.time_limit,
        )
    if not isinstance(result, EstimateInParts) or result.table is None:
        return Compared(result, tables.case(release))
    train = None if result.truth is None else _score(release, result.table, result.truth)
    return Compared(result, Case(release, result.table, noticed=result.noticed), train, True, result.most_disclosed)


def _score(release: Release, table: QITable, truth: IntArray) -> Score:
    """The accuracy of a release whose leaves have so many people of each class, shape (n_leaves, n_classes)."""
    leaf, klass = np.nonzero(truth)
    columns = tuple(
        code[leaf] if attribute.values is not None else level[code[leaf]]
        for attribute, level, code in zip(table.attributes, table.levels, table.codes.T, strict=True)
    )
    return score(release, Cases(table.attributes, columns, klass, truth[leaf, klass]))
