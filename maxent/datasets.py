"""Public data sets by name, for examples and measurements: `load`, `fetch`, `NAMES`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from maxent.models.tables.datasets import DATA_SETS, fetched

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["NAMES", "fetch", "load"]

NAMES = tuple(DATA_SETS)
"""The names that `load` and `fetch` take."""


def fetch(name: str) -> Path:
    """The file of a data set, CSV with a header: of the folder in MAXENT_DATA, of the cache, or fetched into it."""
    from maxent.command_line.progress import progress

    with progress() as told:
        return fetched(name, told)


def load(name: str) -> DataFrame:
    """A data set as a table, with cells as its source writes them: ``?`` stays what it is."""
    import pandas as pd

    return pd.read_csv(fetch(name), keep_default_na=False, na_values=[])
