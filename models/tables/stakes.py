"""Tables of what decisions are worth, or cost: a row for each decision, a column for each class."""

from __future__ import annotations

import numpy as np

from maxent.models.arrays import FloatArray
from maxent.models.errors import InvalidInput, Problem
from maxent.models.reading import Reader
from maxent.models.release import Target
from maxent.models.tables.columns.cell_values import finite
from maxent.models.tables.frame import Source, missing_columns, other_columns
from maxent.models.tables.table_files import read_frame


def read_stakes(
    source: Source, name: str, target: Target, reader: Reader | None = None, *, decision: str, unit: str
) -> FloatArray:
    """Read a matrix with a row for each decision, and a column for each class with what the decision then is worth.

    ``decision`` and ``unit`` are the words for these in messages, such as a guess and a gain.
    """
    frame = read_frame(source, name, list(target.classes), reader)
    problems = [*frame.problems, *missing_columns(frame, list(target.classes))]
    if not problems and not len(frame.lines):
        expected = f"a row for each {decision}"
        problems.append(Problem("rows", decision, expected, f"none among {other_columns(frame.header)}"))
    advice = f"0 where there is none: each {decision} needs one for each class"
    columns = [
        np.append(finite(frame, each, problems, expected=f"a {unit} of at least 0", low=0.0, advice=advice), np.nan)[
            frame.columns[each].codes
        ]
        for each in target.classes
        if each in frame.columns
    ]
    if problems:
        raise InvalidInput(frame.source, problems)
    return np.column_stack(columns)
