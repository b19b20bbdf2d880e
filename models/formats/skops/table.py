"""The training table as ``fit`` was given it: numbers as such, and as text what encoders of a pipeline take as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.models.formats.scikit_learn.pipelines.undo import is_pipeline
from maxent.models.formats.training_columns import TrainingColumns
from maxent.models.tables.columns.cell_values import numbers
from maxent.models.tables.columns.column_kinds import holds_numbers

if TYPE_CHECKING:
    from pandas import DataFrame


def table_of(training: TrainingColumns, names: Sequence[str], texts: Mapping[str, object]) -> DataFrame:
    """Columns of a training table.

    ``texts``: columns that are text also where they hold numbers, with what stands for a missing value.
    """
    from pandas import DataFrame, Series

    columns: dict[str, Any] = {}
    for name in names:
        column = training.frame.columns[name]
        if name not in texts and holds_numbers(column):
            columns[name] = np.append(numbers(column), np.nan)[column.codes]
            continue
        values = np.empty(len(column.values) + 1, object)
        values[:-1] = column.texts()
        values[-1] = texts.get(name, np.nan)
        columns[name] = Series(values[column.codes], dtype=object)
    return DataFrame(columns)


def texts_of(steps: Sequence[Any], names: Sequence[str]) -> dict[str, object]:
    """The columns that encoders with categories of text are given, and what is missing in them: None, or NaN."""
    found: dict[str, object] = {}
    chain = [*_flat(steps)]
    absent = None if any(getattr(step, "missing_values", np.nan) is None for step in chain) else np.nan
    for step in chain:
        if hasattr(step, "transformers_"):
            for _, inner, chosen in step.transformers_:
                here = [chosen] if isinstance(chosen, str) else _chosen(chosen, names)
                found |= texts_of([inner], here)
            break
        if hasattr(step, "categories_"):
            pairs = zip(names, step.categories_, strict=True)
            found |= {
                name: absent for name, known in pairs if any(isinstance(v, str) for v in np.asarray(known).tolist())
            }
            break
    return found


def _flat(steps: Sequence[Any]) -> list[Any]:
    """Steps, those of pipelines among them one by one."""
    found: list[Any] = []
    for step in steps:
        found += _flat([inner for _, inner in step.steps]) if is_pipeline(step) else [step]
    return found


def kinds_of(steps: Sequence[Any]) -> set[str]:
    """The names of the classes of steps, those inside of others too."""
    found = set()
    for step in _flat(steps):
        found.add(type(step).__name__)
        found |= kinds_of([inner for _, inner, _ in getattr(step, "transformers_", ())])
    return found


def _chosen(chosen: Any, names: Sequence[str]) -> list[str]:
    """The names of columns that are chosen by name, by number, by a mask or a slice."""
    if isinstance(chosen, slice):
        return list(names[chosen])
    given = np.asarray(chosen)
    if given.dtype.kind in "bui":
        return [str(name) for name in np.asarray(names, object)[given].tolist()]
    return [str(name) for name in given.ravel().tolist()]
