"""The folder that SACRO-ML's ``Target.save`` writes: its description is read, its pickles are not.

Beside pickles of the model and of the training data it has ``target.yaml``, which names the columns and the settings of
the training. The model is read from a file of its tool that lies beside it, such as ``model.skops``.

Source: ``sacroml.attacks.target`` of SACRO-ML 2.0.1.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

from maxent.models.arguments import shorten
from maxent.models.errors import InvalidInput, MissingExtra, Problem, invalid
from maxent.models.files.input_files import open_input, shown_path
from maxent.models.formats.release_reader import Converted, Wanted, model_reader
from maxent.models.reading import Reader

DESCRIPTION = "target.yaml"
TABLE = "train.csv"
MODELS = ("model.skops", "model.json", "model.ubj", "model.onnx", "model.pmml", "model.txt")

_MOST = 2**20  # bytes of a description


def is_target(path: object) -> bool:
    """Whether a path is a folder of SACRO-ML."""
    return isinstance(path, (str, PathLike)) and os.path.isfile(os.path.join(path, DESCRIPTION))


def model_in(folder: str | PathLike[str]) -> str:
    """The file of the model in a folder; without one, the line that writes it is said."""
    found = _model(folder)
    if found is None:
        raise InvalidInput(shown_path(folder), [_no_model(folder)])
    return found


def table_in(folder: str | PathLike[str], target: Sequence[str]) -> str:
    """The training table in a folder; without one, the lines that write it, classes last, and the model are said."""
    table = os.path.join(folder, TABLE)
    problems = [] if _model(folder) else [_no_model(folder)]
    if not os.path.isfile(table):
        described = _described(folder)
        columns, x = _columns(described), f"load({_pickle(described, 'X_train')!r})"
        x = f"numpy.asarray({x}), columns={list(columns)!r}" if columns else x
        column, flat = (target[0], "ravel") if len(target) == 1 else (list(target), "asarray")
        expected = f"{TABLE} in the folder, or the training table after it. {_TRUSTED}import pickle, numpy, pandas; "
        expected += f'load = lambda name: pickle.load(open(name, "rb")); table = pandas.DataFrame({x}); '
        expected += f"table[{column!r}] = numpy.{flat}(load({_pickle(described, 'y_train')!r})); "
        expected += f'table.to_csv("{TABLE}", index=False)'
        problems.append(Problem("folder", "table", expected, f"pickles, {_RUNS}"))
    if problems:
        raise InvalidInput(shown_path(folder), problems)
    return table


_TRUSTED = "In Python in that folder, where you trust it: "
_RUNS = "which could run any code and are not loaded"


def _model(folder: str | PathLike[str]) -> str | None:
    files = (os.path.join(folder, name) for name in MODELS)
    return next((file for file in files if os.path.isfile(file)), None)


def _no_model(folder: str | PathLike[str]) -> Problem:
    pickled = _pickle(_described(folder), "model")
    line = f'import pickle, skops.io; skops.io.dump(pickle.load(open({pickled!r}, "rb")), "model.skops")'
    expected = f"model.skops, or another file of the model, in the folder. {_TRUSTED}{line}"
    return Problem("folder", "model", expected, f"{shorten(pickled)}, {_RUNS}")


def _pickle(described: Mapping[str, Any], name: str) -> str:
    """The pickle of a name, as the description states it."""
    stated = described.get(f"{name}_path")
    return stated if isinstance(stated, str) and stated else f"{name}.pkl"


def _described(folder: str | PathLike[str]) -> Mapping[str, Any]:
    """What the description states."""
    try:
        import yaml
    except ImportError:
        raise MissingExtra(
            "options", [Problem("argument", "format", "PyYAML (pip install pyyaml)", "no such module")]
        ) from None
    path = os.path.join(folder, DESCRIPTION)
    with open_input(path, _MOST) as file:
        text = file.read(_MOST + 1)
    try:
        found = yaml.safe_load(text[:_MOST])
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)  # where, from 0 on, a document is no plain YAML
        where = "file" if mark is None else f"line {mark.line + 1}"
        words = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
        expected = "plain YAML, as Target.save writes it"
        raise invalid(shown_path(path), where, "content", expected, shorten(words, 200)) from None
    if not isinstance(found, dict):
        raise invalid(shown_path(path), "file", "content", "a mapping, as Target.save writes it", shorten(found))
    return found


def _columns(described: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns of the model's input, in their order; none where they are not described whole."""
    features = described.get("features")
    if not isinstance(features, dict):
        return ()
    found: dict[int, str] = {}
    for each in features.values():
        if not isinstance(each, dict) or not isinstance(each.get("indices"), list):
            return ()
        name, indices = str(each.get("name")), each["indices"]
        if not all(isinstance(i, int) and not isinstance(i, bool) for i in indices):
            return ()
        found |= {i: name if len(indices) == 1 else f"{name}_{k}" for k, i in enumerate(indices)}
    names = tuple(found[i] for i in sorted(found))
    return names if sorted(found) == list(range(len(found))) and len(set(names)) == len(names) else ()


@model_reader(
    "sacro-ml",
    "a folder that SACRO-ML's Target.save wrote, with a file of the model beside its pickles",
    lambda head: DESCRIPTION in head.entries,
    parameters=("bins", "values", "output", "rate", "lambda", "alpha", "class_weight"),
)
def _convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    from maxent.models.formats.registry import convert_model

    described, model = _described(path), model_in(path)
    plain = replace(reader, reading=replace(reader.reading, format=None))
    columns = _columns(described)
    try:
        found = convert_model(model, wanted, plain)
    except InvalidInput as error:  # a model that only numbers its columns
        if wanted.features is not None or not columns or all(each.field != "features" for each in error.problems):
            raise
        found = convert_model(model, replace(wanted, features=columns), plain)
    settings = described.get("model_params")
    stated = {
        str(name): value
        for name, value in (settings if isinstance(settings, dict) else {}).items()
        if isinstance(value, (str, int, float, type(None)))
    }
    kind = {"model": str(described["model_name"])} if described.get("model_name") else {}
    return replace(found, hyperparameters={**kind, **stated, **found.hyperparameters})
