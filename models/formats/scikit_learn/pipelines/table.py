"""The table that a pipeline was fitted on: the values of its columns, and what the pipeline makes of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.errors import InvalidInput, invalid
from maxent.models.formats.scikit_learn.pipelines.steps import Traces
from maxent.models.tables.columns.cell_values import numbers
from maxent.models.tables.columns.column_kinds import holds_numbers
from maxent.models.tables.frame import Frame, shorten

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False)
class Values:
    """The values of a column of the table, each with a row that has it.

    ``texts``: the values as tables of people have them. ``rows`` of shape (n_values,): a row with each. ``missing``: a
    row without a value, -1 for none. ``codes`` of shape (n_rows,): indices into ``texts``, -1 for a missing value.
    ``numbers`` of shape (n_values,): the values of a column of numbers, increasing; None for other columns.
    """

    name: str
    texts: tuple[str, ...]
    rows: IntArray
    missing: int
    codes: IntArray
    numbers: FloatArray | None


def values_of(frame: Frame, name: str) -> Values:
    """The values of a column of a frame that was read from a table."""
    column = frame.columns[name]
    missing = np.flatnonzero(column.codes < 0)
    used, first, codes = np.unique(column.codes, return_index=True, return_inverse=True)
    there = used >= 0
    codes, used, first = codes - (~there).sum(), used[there], first[there]
    texts, found = column.texts(), None
    order = np.arange(len(used))
    if holds_numbers(column):
        found = numbers(column)[used]
        order = np.argsort(found, kind="stable")
        found = found[order]
    else:
        order = np.array(sorted(order.tolist(), key=lambda i: _by_size(texts[used[i]])), np.int64)
    place = np.append(np.argsort(order), -1)
    return Values(
        name,
        tuple(texts[i] for i in used[order].tolist()),
        first[order].astype(np.int64),
        int(missing[0]) if len(missing) else -1,
        place[codes].astype(np.int64),
        found,
    )


def is_numeric(frame: Frame, name: str) -> bool:
    """Whether a model takes a column of a frame as numbers: all its values are, or true and false."""
    column = frame.columns[name]
    return holds_numbers(column) or {*column.texts()} <= {"True", "False"}


def _by_size(text: str) -> tuple[float, str]:
    """Order of values: numbers by size, before other texts."""
    try:
        return float(text), text
    except ValueError:
        return np.inf, text


@dataclass(frozen=True, eq=False)
class Pipe:
    """The steps before a model, fitted, and the table that they were fitted on.

    ``source``: what problems call the model. ``table``: with the columns of the first step's input only, in its order.
    ``traces``: the column of the table that each column of the model's input comes from.
    """

    source: str
    steps: Sequence[Any]
    table: DataFrame
    traces: Traces

    def __call__(self, table: DataFrame) -> Any:
        """The model's input for a table, sparse by columns or float64, shape (n_rows, n_columns)."""
        found: Any = table
        with _quiet():
            for step in self.steps:
                found = step.transform(found)
        if hasattr(found, "tocsc"):
            return found.tocsc()
        return np.asarray(found, np.float64)

    @cached_property
    def input(self) -> Any:
        """The model's input for the table itself."""
        try:
            found = self(self.table)
        except (TypeError, ValueError) as error:
            expected = "the table that fit was given, which the steps before the model take"
            raise invalid(self.source, "argument", "X", expected, shorten(str(error), 200)) from None
        if found.shape[1] != len(self.traces.columns):
            expected = f"steps that make {len(self.traces.columns)} columns, as they say"
            raise invalid(self.source, "argument", "model", expected, str(found.shape[1]))
        return found

    def column(self, j: int) -> FloatArray:
        """A column of the model's input for the table, shape (n_rows,)."""
        return column_of(self.input, j)

    def with_columns(self, cells: Mapping[int, Any], size: int) -> DataFrame:
        """Copies of the first row of the table, with other cells in some of its columns."""
        import pandas as pd

        first = self.table.iloc[np.zeros(size, np.int64)].reset_index(drop=True)
        columns = [pd.Series(cells[i]) if i in cells else first.iloc[:, i] for i in range(first.shape[1])]
        changed = pd.concat(columns, axis=1)
        changed.columns = self.table.columns
        return changed

    def answers(self, source: int, cell: Any) -> Any:
        """The model's input where one column has another cell, shape (1, n_columns); None where steps refuse it."""
        import pandas as pd

        try:
            return self(self.with_columns({source: pd.Series([cell], dtype=object)}, 1))
        except (TypeError, ValueError, InvalidInput):
            return None


def column_of(found: Any, j: int) -> FloatArray:
    """A column of a model's input, which may be sparse."""
    return np.asarray(found[:, [j]].toarray() if hasattr(found, "tocsc") else found[:, j], np.float64).ravel()


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warnings of steps that are asked about values which nobody has."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
