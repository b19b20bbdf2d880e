"""The training table of a model that is reviewed, as a DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxent.models.errors import ARGUMENT, invalid
from maxent.models.reading import Reading, reader_of
from maxent.models.tables.frame import shorten
from maxent.models.tables.sources.csv_dialect import DELIMITERS

if TYPE_CHECKING:
    from pandas import DataFrame


def frame_of(X: Any) -> DataFrame:
    """A table as a DataFrame; columns of an array are called as scikit-learn calls them."""
    import numpy as np
    import pandas as pd

    if isinstance(X, pd.DataFrame):
        return X.reset_index(drop=True)
    array = np.asarray(X)
    if array.ndim != 2 or array.dtype.kind not in "biufOUS":
        expected = "the training table: a DataFrame, or an array of two dimensions"
        raise invalid("options", ARGUMENT, "X", expected, shorten(X))
    return pd.DataFrame(array, columns=[f"x{i}" for i in range(array.shape[1])])


def frame_at(source: Any, reading: Reading | None) -> DataFrame:
    """A table, or the one at a path, as a DataFrame with the types that pandas gives its columns."""
    import os

    import pandas as pd

    if not isinstance(source, (str, os.PathLike)):
        return frame_of(source)
    reader = reader_of(reading)
    try:
        if os.fspath(source).lower().endswith(".parquet"):
            return pd.read_parquet(source)
        mark = DELIMITERS.get(reader.reading.csv_delimiter or "comma", ",")
        decimal = "," if reader.reading.csv_decimal == "comma" else "."
        how: dict[str, Any] = {"na_values": list(reader.reading.na), "keep_default_na": False}
        found: DataFrame = pd.read_csv(source, sep=mark, decimal=decimal, encoding=reader.reading.csv_encoding, **how)
        return found
    except (OSError, ValueError) as error:
        raise invalid(str(source), "file", "X", "a table, .csv or .parquet", str(error)) from None


def check_no_name(y: object) -> None:
    """Refuse the name of a column in the place of the classes."""
    if isinstance(y, str):
        expected = f"the classes, one for each row; a column of the table is named by target={y!r} in place of y"
        raise invalid("options", ARGUMENT, "y", expected, repr(y))


def with_column(table: DataFrame, name: str, cells: Any) -> DataFrame:
    """A table with a column, in the place of one of its name."""
    import numpy as np
    import pandas as pd

    kept = table.loc[:, [str(label) != name for label in table.columns]]
    check_no_name(cells)
    values = np.asarray(cells, object)
    if values.shape != (len(kept),):
        expected = f"{len(kept):,} classes, one for each row of X"
        raise invalid("options", ARGUMENT, "y", expected, f"an array of shape {values.shape}")
    return pd.concat([kept.reset_index(drop=True), pd.Series(values, name=name)], axis=1)
