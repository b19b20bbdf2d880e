"""Rows of a CSV file that a program wrote of its trees, as columns."""

from __future__ import annotations

import csv
from os import PathLike

import numpy as np

from maxent.models.arrays import FloatArray
from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.text_files import read_text


def read_rows(path: str | PathLike[str], header: tuple[str, ...], optional: str = "") -> dict[str, list[str]]:
    """The cells of each column of a header, which a file may write in any order, and beside others."""
    source = shown_path(path)
    try:
        rows = [row for row in csv.reader(read_text(path).split("\n"), strict=True) if row]
    except csv.Error as error:
        raise invalid(source, "file", "content", "CSV of trees_to_dataframe", str(error)) from None
    names = rows[0] if rows else []
    missing = [name for name in header if name not in names and name != optional]
    if missing or len({*names}) < len(names) or len(rows) < 2:
        expected = f"columns {', '.join(header)}, and a row for each node"
        raise invalid(source, "line 1", "columns", expected, f"no {missing[0]}" if missing else f"{len(rows)} rows")
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(names):
            raise invalid(source, f"row {number}", "cells", f"{len(names)}, as the header has", str(len(row)))
    found = dict(zip(names, map(list, zip(*rows[1:], strict=True)), strict=True))
    return {name: found.get(name, [""] * (len(rows) - 1)) for name in header}


def numbers(source: str, name: str, cells: list[str]) -> FloatArray:
    """The finite numbers in cells, NaN for empty ones; shape (n_rows,)."""
    try:
        found = np.array([float(cell) if cell else np.nan for cell in cells], np.float64)
    except ValueError:
        found = np.array([np.inf])
    if np.isinf(found).any():
        raise invalid(source, "document", name, "finite numbers", "something else")
    return found
