"""Accuracy of a release: the share of records with a correctly predicted class, on any records."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import IntArray
from maxent.models.errors import InvalidInput, Problem
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Release, Target
from maxent.models.tables.columns.numeric_classes import class_names
from maxent.models.tables.frame import Source
from maxent.models.tables.qi_table import declared_values, read_counted
from maxent.models.tables.training import Training
from maxent.models.trees.predict import predict_columns, read_codes, read_column, tested_attributes


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """Records with their classes, to predict.

    ``columns`` has one array per attribute, shape (n,): int64 codes into `Attribute.values`, -1 for a value outside of
    the domain, or float64 numbers; ``y`` are codes of the target's classes, -1 for another one; ``counts`` is how many
    records each row stands for.
    """

    attributes: tuple[Attribute, ...]
    columns: tuple[npt.NDArray[Any], ...]
    y: IntArray
    counts: IntArray


@dataclass(frozen=True, slots=True)
class Score:
    """Accuracy of a release.

    ``accuracy`` is the share of the ``records`` whose class is predicted right. ``unseen`` records have a value that
    the release does not know, in an attribute that it tests; ``unknown`` ones a class that it does not know, which
    counts as predicted wrong.
    """

    accuracy: float
    records: int
    unseen: int = 0
    unknown: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on records with values or classes outside the training data."""
        notes = []
        if self.unseen:
            notes.append(f"{self.unseen} of {self.records} records have a value that the release does not know")
        if self.unknown:
            notes.append(f"{self.unknown} of {self.records} records have a class that the release does not know")
        return tuple(notes)


def cases_of(training: Training) -> Cases:
    """The records that a tree was grown from, as cases."""
    return Cases(training.attributes, training.columns, training.y, np.ones(len(training), np.int64))


def read_cases(
    source: Source,
    name: str,
    target: Target,
    attributes: Sequence[Attribute],
    *,
    count: str | None = None,
    optional: Collection[str] = (),
    reader: Reader | None = None,
) -> Cases:
    """Read records with values and classes that the release need not have.

    ``source``: a row per record, with a column for the target and for each of the attributes. ``name``: what to call a
    DataFrame in messages. ``count``: the column with the number of records that a row stands for, if there is one of
    this name. ``optional``: attributes that are left out of the cases when there is no such column. ``reader``: how to
    read.
    """
    names = [attribute.name for attribute in attributes]
    problems: list[Problem] = []
    needed = [*names, *target.columns]
    frame, counts = read_counted(
        source,
        name,
        needed,
        count,
        problems,
        count_optional=True,
        merge=True,
        reader=reader,
        declared=declared_values(attributes, target),
    )
    problems = [problem for problem in problems if problem.field not in optional or problem.field in frame.header]
    present = [attribute for attribute in attributes if attribute.name in frame.columns]
    columns = tuple(read_column(frame, attribute, problems) for attribute in present)
    y = np.zeros(0, np.int64)
    named = class_names(frame, target)
    if target.name in named.columns:
        y = read_codes(named, target.name, target.classes, problems, key="classes")
    if problems:
        raise InvalidInput(frame.source, problems)
    return Cases(tuple(present), columns, y, counts)


def score(release: Release, cases: Cases, predict: Callable[..., IntArray] = predict_columns) -> Score:
    """Predict the class of every case, and compare; the cases need no attributes that no tree tests.

    ``predict`` has the arguments of `maxent.models.trees.predict.predict_columns`.
    """
    column = {attribute.name: values for attribute, values in zip(cases.attributes, cases.columns, strict=True)}
    unseen = np.zeros(len(cases.y), bool)
    for attribute in tested_attributes(release):
        if attribute.values is not None:
            unseen |= column[attribute.name] < 0
    right = predict(release, cases.attributes, cases.columns, len(cases.y)) == cases.y

    def records(rows: npt.NDArray[np.bool_]) -> int:
        return int(cases.counts[rows].sum())

    total = int(cases.counts.sum())
    return Score(records(right) / total, total, records(unseen), records(cases.y < 0))
