"""Boosted models of XGBoost, LightGBM and CatBoost that are there, as the files that these tools write of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from maxent.models.errors import ARGUMENT, InvalidInput, invalid
from maxent.models.tables.frame import shorten

_TOOLS = ("xgboost", "lightgbm", "catboost")


def is_boosted_elsewhere(model: object) -> bool:
    """Whether an object is a model of XGBoost, LightGBM or CatBoost, which are read as their tools save them."""
    return _tool(model) in _TOOLS and (hasattr(model, "save_model") or hasattr(type(model), "booster_"))


def names_in(model: Any, header: Iterable[str]) -> list[str] | None:
    """The names that the columns of a table have in a model of LightGBM, which writes blanks as underscores.

    None where the names of the model are those of the table, or are not told by them.
    """
    if _tool(model) != "lightgbm":
        return None
    booster = model.booster_ if hasattr(type(model), "booster_") else model
    named = [str(name) for name in booster.feature_name()]
    told: dict[str, list[str]] = {}
    for name in header:
        told.setdefault(name.replace(" ", "_"), []).append(name)
    found = [told.get(name, []) for name in named]
    names = [each[0] for each in found if len(each) == 1]
    return None if names == named or len(names) < len(named) else names


def classes_of(model: Any) -> tuple[str, ...] | None:
    """Names of the classes that LightGBM keeps beside its trees; the files of the others have what there is."""
    known = getattr(model, "classes_", None) if _tool(model) == "lightgbm" else None
    return None if known is None else tuple(str(name) for name in known)


def class_weight_of(model: Any) -> dict[str, str]:
    """The parameter ``class_weight`` of a model of LightGBM, which its file does not have; empty where it has none."""
    asked = getattr(model, "_class_weight", None) if _tool(model) == "lightgbm" else None
    if not isinstance(asked, Mapping):
        return {"class_weight": asked} if asked == "balanced" else {}
    return {"class_weight": ",".join(repr(float(asked.get(x, 1.0))) for x in range(len(model.classes_)))}


@contextmanager
def saved(model: Any) -> Iterator[Path]:
    """A model as its own tool saves it, in a folder that is removed afterwards.

    Raises
    ------
    InvalidInput
        For a model that its tool does not save, such as one that is not fitted, with the tool's reason; and what is
        raised meanwhile about the file, which then names the model in its place.
    """
    name = type(model).__name__
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.{'txt' if _tool(model) == 'lightgbm' else 'json'}"
        try:
            _save(model, path)
        except Exception as error:  # each tool raises errors of its own
            expected = "a fitted model that its tool saves as JSON or text; else save it, and give the path"
            raise invalid("options", ARGUMENT, "model", expected, f"{name}: {shorten(str(error))}") from error
        try:
            yield path
        except InvalidInput as error:
            if error.source != str(path):
                raise
            raise InvalidInput(name, error.problems) from error


def _save(model: Any, path: Path) -> None:
    if _tool(model) == "lightgbm":
        (model.booster_ if hasattr(type(model), "booster_") else model).save_model(str(path))
    elif _tool(model) == "catboost":
        model.save_model(str(path), format="json")
    else:
        model.save_model(str(path))


def _tool(model: object) -> str:
    return type(model).__module__.split(".")[0]
