"""Conversion of other tools' models into releases: from files, and from Python objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from maxent.models.arguments import is_one_of, shorten
from maxent.models.draws import tells_draws
from maxent.models.errors import ARGUMENT, InvalidInput, Problem, invalid
from maxent.models.formats.registry import convert_model, reader_names
from maxent.models.formats.release_reader import UNNAMED, UNPROVEN, Converted, Wanted
from maxent.models.formats.scikit_learn.models import check_model, searched
from maxent.models.formats.scikit_learn.pipelines import aside_in, final_of, is_pipeline, joined, release_of
from maxent.models.formats.scikit_learn.tree import from_sklearn
from maxent.models.hints import close_to
from maxent.models.reading import Reading, reader_of
from maxent.models.release import Release
from maxent.models.statements.rule_models import fitted_statements, is_statement
from maxent.models.tables.frame import Source, missing_columns
from maxent.models.tables.table_files import read_frame
from maxent.models.trees.predict import tested_attributes

# Boosted models of XGBoost, LightGBM and CatBoost that are there, as the files that these tools write of them.

_TOOLS = ("xgboost", "lightgbm", "catboost")


def is_boosted_elsewhere(model: object) -> bool:
    """Whether an object is a model of XGBoost, LightGBM or CatBoost, which are read as their tools save them."""
    return _tool(model) in _TOOLS and (hasattr(model, "save_model") or hasattr(type(model), "booster_"))


def names_in(model: Any, header: Iterable[str]) -> list[str] | None:
    """The names that the columns of a table have in a model of LightGBM, which writes blanks as underscores."""
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
    """A model as its own tool saves it, in a folder that is removed afterwards."""
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


def convert(
    model: Any,
    *,
    target: str | None = None,
    classes: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    qi: Sequence[str] | None = None,
    train: Source | None = None,
    parameters: Mapping[str, Any] | None = None,
    bins: Sequence[float] | None = None,
    values: Sequence[float] | None = None,
    reading: Reading | None = None,
) -> Release:
    """A model of another tool as a release.

    Parameters
    ----------
    model : path or fitted model
        A file or a folder that a tool wrote, in a format of docs/models.md; or a tree, a forest or a boosted model of
        scikit-learn, as `maxent.from_sklearn` takes it, which has more arguments; or a ``Pipeline`` that ends in one,
        which needs ``train``; or a model of XGBoost, LightGBM or CatBoost, read as the file that its tool saves.
    target : str, optional
        The name of the sensitive attribute; by default what the file says, else ``class``.
    classes : sequence of str, optional
        Its classes, in the order in which the model has them.
    features : sequence of str, optional
        The columns of the model's input, in its order, where the file has no names for them.
    qi : sequence of str, optional
        The quasi-identifiers; all other attributes are private. By default all are public.
    train : DataFrame or path, optional
        The training table, for domains of attributes that the file lacks. Nothing that it states of the records
        becomes part of the release. Of a model that is there, the DataFrame that ``fit`` was given: scalers, encoders,
        imputers, binners and selection of columns are undone, so that splits are in its columns and values.
    parameters : mapping, optional
        What else the file lacks, by name, as its format asks for it.
    bins, values : sequence of numbers, optional
        Of a regression: edges of intervals of the target, or every number that it can be.
    reading : Reading, optional
        How the files are read; ``Reading(format=...)`` names the format.

    Returns
    -------
    Release
        What was lost on the way `maxent convert` says.
    """
    named: dict[str, Any] = {"target": target, "classes": classes, "features": features, "qi": qi, "train": train}
    return with_kept(model, **named, parameters=parameters, bins=bins, values=values, reading=reading)[0]


def with_kept(model: Any, *, reading: Reading | None = None, **said: Any) -> tuple[Release, str]:
    """What `convert` makes of a model, and what the model itself keeps beside it, in words; ``said`` is as there."""
    numeric: dict[str, Any] = {name: said.pop(name, None) for name in ("bins", "values")}
    of_file = {**said, "parameters": with_numbers(said.get("parameters"), numeric)}
    kept, model = aside_in(model) if not isinstance(model, (str, PathLike)) else "", searched(model)
    if isinstance(model, (str, PathLike)):
        found = converted(model, wanted_of(**of_file), reading)
        return found.release, found.aside
    if is_statement(model):
        wanted = wanted_of(**of_file)
        return fitted_statements(model, wanted, reader_of(reading), type(model).__name__).release, kept
    if is_boosted_elsewhere(model):
        found = converted_live(model, wanted_of(**of_file), reading)
        return found.release, joined(kept, found.aside)
    wanted = wanted_of(**said)
    if wanted.parameters:
        expected = "None: a model that is there has what it needs"
        raise InvalidInput("options", [Problem(ARGUMENT, "parameters", expected, "a value")])
    if wanted.train is None and not is_pipeline(model):
        return _without_table(model, wanted, numeric), kept
    if type(final := final_of(model)).__module__.startswith("sklearn.linear_model."):
        check_model("convert", final)  # no table helps
    if wanted.train is None or isinstance(wanted.train, (str, PathLike)) or not hasattr(wanted.train, "columns"):
        expected = "the DataFrame that fit was given: with it the steps of a pipeline are undone"
        raise InvalidInput("options", [Problem(ARGUMENT, "train", expected, shorten(wanted.train))])
    if wanted.features is not None:
        expected = "None: the columns of train= are those of the release"
        raise InvalidInput("options", [Problem(ARGUMENT, "features", expected, shorten(wanted.features))])
    named: dict[str, Any] = {"target": wanted.target or UNNAMED, "classes": wanted.classes, "qi": wanted.qi}
    release, last = piped(model, wanted.train, **named, **numeric)
    return release, kept if last is None else joined(kept, last.aside)


def piped(model: Any, table: Any, **said: Any) -> tuple[Release, Converted | None]:
    """A model of scikit-learn, or what a pipeline ends in, over the columns of its table; see `release_of`."""
    final, found = final_of(model), []

    def read(last: Any, *, target: str, features: Sequence[str], rows: Any, **told: Any) -> Release:
        numeric = {name: told.pop(name) for name in ("bins", "values")}
        wanted = wanted_of(target, told["classes"], features, parameters=with_numbers(None, numeric))
        found.append(converted_live(last, wanted))
        if UNPROVEN in found[0].aside:
            found[0] = replace(found[0], aside=_aside_beside(last, wanted, rows, found[0].aside))
        return found[0].release

    release = release_of(model, table, **said, read=read if is_boosted_elsewhere(final) else None)
    return release, found[0] if found else None


def _aside_beside(model: Any, wanted: Wanted, rows: Any, aside: str) -> str:
    """What a model keeps beside its trees, where the rows of its input may prove that each tree has them all."""
    from pandas import DataFrame

    table = DataFrame(rows.toarray() if hasattr(rows, "toarray") else rows, columns=list(wanted.features or ()))
    try:
        return converted_live(model, replace(wanted, target=None, train=table)).aside
    except InvalidInput:
        return aside


def converted_live(model: Any, wanted: Wanted, reading: Reading | None = None) -> Converted:
    """A model of another tool that is there, as the file that its tool saves."""
    features = wanted.features
    if features is None and wanted.train is not None:
        frame = read_frame(wanted.train, "train", [], reader_of(reading))
        named = names_in(model, frame.header)
        features = None if named is None else tuple(named)
    classes = wanted.classes or classes_of(model)
    parameters = {**class_weight_of(model), **wanted.parameters}
    with saved(model) as path:
        return converted(path, replace(wanted, features=features, classes=classes, parameters=parameters), reading)


def _without_table(model: Any, wanted: Wanted, numeric: Mapping[str, Any]) -> Release:
    """A model of scikit-learn as a release of what it holds."""
    given = {"target": wanted.target or UNNAMED, "classes": wanted.classes, "features": wanted.features, **numeric}
    release = from_sklearn(model, **given)
    if wanted.qi is None:
        return release
    names = [attribute.name for attribute in release.attributes]
    if unknown := [name for name in wanted.qi if name not in names]:
        raise InvalidInput("options", [Problem(ARGUMENT, "qi", f"attributes ({', '.join(names)})", shorten(unknown))])
    private = [name for name in names if name not in wanted.qi]
    return from_sklearn(model, **given, private=private)


def with_numbers(parameters: Mapping[str, Any] | None, numeric: Mapping[str, Sequence[float] | None]) -> dict[str, Any]:
    """Parameters of a file, with lists of numbers among them, such as ``bins``."""
    stated = {name: ",".join(map(repr, map(float, each))) for name, each in numeric.items() if each is not None}
    return {**(parameters or {}), **stated}


def converted(model: str | PathLike[str], wanted: Wanted, reading: Reading | None = None) -> Converted:
    """A file or a folder as a release, with what was lost; see `convert`."""
    found = convert_model(model, wanted, reader_of(reading))
    if wanted.train is not None and found.format != "maxent/1":
        _check_columns(found.release, wanted.train, reading)
    return found


def _check_columns(release: Release, table: Source, reading: Reading | None) -> None:
    """Refuse a table without the columns that a model tests: it is another, or the model only numbers its columns."""
    frame = read_frame(table, "train", [], reader_of(reading))
    advice = " (features= names the columns of the model's input)"
    lacking = missing_columns(frame, [attribute.name for attribute in tested_attributes(release)])
    if lacking:
        raise InvalidInput(frame.source, [replace(each, expected=each.expected + advice) for each in lacking])


# Formats that have no place for what models keep beside their trees; of the second kind, for draws alone.
_BARE = ("onnx", "pmml", "treelite-json", "export-text")
_UNDRAWN = ("graphviz",)
# What models keep that no such format has; what a step learned from the classes may be in an ONNX file, too.
_KEPT = ("seeds", "draws of rows, which", "answers to single rows", "weights of the rows", "impurities", "scores of")


def as_published(found: Converted, format: str | None) -> Converted:
    """A model as what is published of it in another format: without what that has no place for, all else as it is."""
    if format is None:
        return found
    names = reader_names()
    if not is_one_of(format, names):
        expected = f"one of {', '.join(names)}"
        raise invalid("options", ARGUMENT, "published_as", expected, f"{shorten(format)}{close_to(str(format), names)}")
    words = found.aside.split("; ")
    if format in _UNDRAWN:
        told = tells_draws(None, found.aside).split("; ")
        return replace(undrawn(found), aside="; ".join(each for each in words if each not in told))
    left = "; ".join(each for each in words if not each.startswith(_KEPT))
    if format == "maxent/1":  # which has a place for draws that are followed
        return replace(found, aside=left)
    return replace(undrawn(found), aside=left) if format in _BARE else found


def undrawn(found: Converted) -> Converted:
    """A model without the draws that its release states."""
    return replace(found, release=replace(found.release, draws=None))


def wanted_of(
    target: str | None = None,
    classes: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    qi: Sequence[str] | None = None,
    train: Source | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Wanted:
    """Statements of a caller about a model, checked."""
    problems: list[Problem] = []
    lists: dict[str, tuple[str, ...] | None] = {}
    for name, given in (("classes", classes), ("features", features), ("qi", qi)):
        if given is None:
            lists[name] = None
            continue
        names = () if isinstance(given, str) else tuple(map(str, given))
        if not names:
            problems.append(Problem(ARGUMENT, name, "a list of names", shorten(given)))
        elif repeated := [each for i, each in enumerate(names) if each in names[:i]]:
            problems.append(Problem(ARGUMENT, name, "each name once", f"{shorten(repeated[0])} again"))
        lists[name] = names
    if target is not None and (not isinstance(target, str) or not target):
        problems.append(Problem(ARGUMENT, "target", "a name", shorten(target)))
    if parameters is not None and not isinstance(parameters, Mapping):
        problems.append(Problem(ARGUMENT, "parameters", "a mapping of names to values", shorten(parameters)))
    if problems:
        raise InvalidInput("options", problems)
    stated = {str(name): str(value) for name, value in (parameters or {}).items()}
    return Wanted(target, lists["classes"], lists["features"], lists["qi"], train, stated)
