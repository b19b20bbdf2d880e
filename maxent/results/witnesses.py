"""Two complete tables of people that are consistent with everything published, as one table."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from maxent.constraints.program import Program
from maxent.models.arrays import IntArray
from maxent.models.tables.columns.column_names import own_names
from maxent.solvers.worlds.witness import Witness

if TYPE_CHECKING:
    from pandas import DataFrame


def witness_frame(program: Program, found: Witness) -> DataFrame:
    """A row for each individual: the public attributes, the class in one world, and that in the other.

    The two columns are called as the target, and that with ``_other``.
    """
    import pandas as pd

    table = program.table
    attributes = [a.name for a in table.attributes]
    order = np.argsort(table.lines, kind="stable")
    people = table.frame()[attributes].iloc[np.repeat(order, table.counts[order])].reset_index(drop=True)
    classes = np.array(program.release.target.classes, object)
    columns = [people.iloc[:, i] for i in range(people.shape[1])]
    for masses in (found.one, found.other):
        by_class = np.zeros((len(table), program.n_classes), np.int64)
        np.add.at(by_class, program.cells.owner, masses)
        columns.append(pd.Series(classes[_each(by_class[order])], dtype=object))
    frame = pd.concat(columns, axis=1)
    target = program.release.target.name
    frame.columns = pd.Index([*attributes, *own_names((target, f"{target}_other"), attributes)])
    return frame


def _each(by_class: IntArray) -> IntArray:
    """The class of each individual, those of a quasi-identifier together."""
    flat = by_class.ravel()
    return np.repeat(np.tile(np.arange(by_class.shape[1]), len(by_class)), flat)


def save_witness(program: Program, found: Witness, path: str | PathLike[str], *, csv_literal: bool = False) -> None:
    """Write `witness_frame` (.csv or .parquet; .json as ``rows``), atomically."""
    from maxent.models.files.kinds import WITNESSES
    from maxent.models.files.result_files import save_frame

    frame = witness_frame(program, found)
    save_frame(path, frame, lambda rows: {"rows": rows}, WITNESSES, csv_literal=csv_literal)
