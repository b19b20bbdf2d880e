"""A model without what tells who was drawn for its training."""

from __future__ import annotations

from os import PathLike
from typing import Any

from maxent.models.errors import ARGUMENT, invalid
from maxent.models.formats.stripping import strip_file, strip_fitted
from maxent.models.reading import Reading


def strip(model: Any, path: str | PathLike[str] | None = None, *, reading: Reading | None = None) -> Any:
    """Take seeds, and arrays with an entry for each row of training, out of a model; its predictions stay the same.

    Parameters
    ----------
    model : path or fitted model
        A file or a folder of its tool (skops, text of LightGBM, JSON of CatBoost or XGBoost, a folder of Spark, or
        ``maxent/1``), or a fitted model of scikit-learn, also inside of pipelines and searches.
    path : path, optional
        Of a file: where the result is written, in the same format. The file itself is never changed.
    reading : Reading, optional
        How a file is read: its ``format``.

    Returns
    -------
    Stripped or model
        Of a file what was removed, and what could not be. Of a fitted model a copy without it, which predicts the same.
    """
    if isinstance(model, (str, PathLike)):
        if path is None:
            raise invalid("options", ARGUMENT, "path", "the file to write", "nothing")
        return strip_file(model, path, reading)
    if path is not None:
        raise invalid("options", ARGUMENT, "path", "none beside a fitted model: save the copy yourself", repr(path))
    if not hasattr(model, "__dict__"):
        raise invalid("model", ARGUMENT, "type", "a path, or a fitted model of scikit-learn", type(model).__name__)
    return strip_fitted(model)[0]
