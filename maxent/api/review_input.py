"""The input of a review: the model as a release, and the tables of its people."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.api.case import Tables
from maxent.api.convert import (
    as_published,
    converted,
    converted_live,
    is_boosted_elsewhere,
    piped,
    wanted_of,
    with_numbers,
)
from maxent.models.arguments import shorten, shorten_list
from maxent.models.arrays import FloatArray
from maxent.models.errors import ARGUMENT, InvalidInput, invalid
from maxent.models.formats.registry import reader_for
from maxent.models.formats.release_reader import DECIDED, UNNAMED, UNPROVEN, Converted
from maxent.models.formats.scikit_learn.ensemble import grown_from, hyperparameters_of, weighed_alike
from maxent.models.formats.scikit_learn.models import (
    SHARED,
    check_classes,
    class_names,
    is_shared,
    n_outputs,
    outputs_of,
    searched,
)
from maxent.models.formats.scikit_learn.pipelines import aside_in, final_of, joined
from maxent.models.hints import close_to
from maxent.models.reading import Reading, reader_of
from maxent.models.release import Attribute, Release
from maxent.models.statements.read import documents_beside
from maxent.models.statements.rule_models import fitted_statements, is_statement
from maxent.models.successive.releases import with_statements
from maxent.models.tables.classes import named_targets
from maxent.models.tables.frame import DELIMITERS, Source

if TYPE_CHECKING:
    from pandas import DataFrame

# Of AdaBoost, whose first tree seems to count rows that weighed alike, beside classes that it would not count so
UNLIKE = (
    "counts of the first tree: the classes of the table are others, so rows weighed differently in training (then give "
    "sample_weight), or X and y are not as fit was given them"
)

# The training table of a model that is reviewed, as a DataFrame.


def frame_of(X: Any) -> DataFrame:
    """A table as a DataFrame; columns of an array are called as scikit-learn calls them."""
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
    import pandas as pd

    kept = table.loc[:, [str(label) != name for label in table.columns]]
    check_no_name(cells)
    values = np.asarray(cells, object)
    if values.shape != (len(kept),):
        expected = f"{len(kept):,} classes, one for each row of X"
        raise invalid("options", ARGUMENT, "y", expected, f"an array of shape {values.shape}")
    return pd.concat([kept.reset_index(drop=True), pd.Series(values, name=name)], axis=1)


def named_classes(model: Any, y: Any, target: object) -> tuple[tuple[str, ...], Any]:
    """The sensitive columns of a call, and their classes: without ``target`` those that ``y`` names.

    Of several columns a name stands for its own; without names they are ``class_1``, ``class_2``... One column of a
    table is as good as a list.
    """
    asked = () if target is None else named_targets("options", target)
    cells = np.asarray(y, object) if isinstance(y, list) else y
    shape: tuple[int, ...] = getattr(cells, "shape", ())
    if len(shape) != 2:
        return asked, y
    named = hasattr(y, "columns")
    names = [str(label) for label in y.columns] if named else []
    if isinstance(model, Release) and not asked:
        asked = model.target.columns
    if len(asked) == 1 and asked[0] in names:
        return asked, y.iloc[:, names.index(asked[0])]
    if shape[1] == 1:
        return asked, y.iloc[:, 0] if named else cells[:, 0]
    if asked or not shape[1]:
        return asked, y
    stated = named and all(isinstance(label, str) for label in y.columns)
    given = names if stated else [f"{UNNAMED}_{i + 1}" for i in range(shape[1])]
    return named_targets("options", given), y


def read_weights(weights: Any, X: Any, reading: Reading | None) -> FloatArray:
    """The weights that people had in training, or those in the column of ``X`` of that name; shape (n_rows,)."""
    expected = "a weight of at least 0 for each row of X, or the column of X that has them"
    given = weights
    if isinstance(weights, str):
        frame = frame_at(X, reading)
        if weights not in frame.columns:
            raise invalid("options", ARGUMENT, "sample_weight", expected, shorten(weights))
        given = frame[weights]
    try:
        found = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise invalid("options", ARGUMENT, "sample_weight", expected, shorten(weights)) from None
    if found.ndim != 1 or not (np.isfinite(found) & (found >= 0)).all():
        raise invalid("options", ARGUMENT, "sample_weight", expected, shorten(weights))
    return found


def trained_rows(model: Any, X: Any, y: Any, weights: Any, reading: Reading | None) -> tuple[Any, Any, Any, int]:
    """The rows that trees of scikit-learn were grown from, with ``y`` and weights, and how many weighed nothing.

    Everything stays as it is where no row weighs nothing, and of models that count or draw such rows, too.
    """
    unchanged = X, y, weights, 0
    if weights is None or isinstance(model, (str, PathLike, Release)) or is_boosted_elsewhere(model):
        return unchanged
    found = read_weights(weights, X, reading)
    kept = found > 0
    if kept.all() or not grown_from(searched(model), int(kept.sum())):
        return unchanged
    table = frame_at(X, reading)
    if len(table) != len(kept) or (y is not None and len(y) != len(kept)):
        return unchanged
    if y is not None:
        check_no_name(y)
        y = y[kept] if hasattr(y, "iloc") else [each for each, here in zip(y, kept.tolist(), strict=True) if here]
    return table[kept].reset_index(drop=True), y, found[kept], int((~kept).sum())


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """What is reviewed: a model as a release, and the tables of its people."""

    name: str
    converted: Converted
    tables: Tables

    @property
    def target(self) -> str:
        """The name of the sensitive attribute."""
        return self.converted.release.target.name

    def weighed(self, weights: Any, X: Any, reading: Reading | None) -> Subject:
        """The same with the weights that people had in training, or the name of the column of ``X`` that has them."""
        if weights is None:
            return self
        found = read_weights(weights, X, reading)
        return replace(self, tables=replace(self.tables, weights=found, unweighed=False))

    def keeping(self, aside: str) -> Subject:
        """The same with what the model keeps beside its trees."""
        return replace(self, converted=replace(self.converted, aside=joined(aside, self.converted.aside)))

    def published(self, format: str | None) -> Subject:
        """The same as what is published of it in a format, if not that of the model."""
        return replace(self, converted=as_published(self.converted, format))

    def without(self, rows: int) -> Subject:
        """The same, which says that so many rows of the table are left out, as they weighed nothing."""
        told = f"{rows:,} rows of the table that weigh 0: the model was not trained on them"
        return replace(self, converted=replace(self.converted, lost=(*self.converted.lost, told)))

    def beside(self, **evidence: Any) -> Subject:
        """The same with control people, sensitive classes and a gain matrix: fields of `Tables`."""
        return replace(self, tables=replace(self.tables, **evidence))


def subject_of(
    model: Any,
    X: Any,
    y: Any,
    wanted: Mapping[str, Any],
    reading: Reading | None,
    **numeric: Sequence[float] | None,
) -> Subject:
    """Read what is to be reviewed.

    ``model``, ``X``, ``y``: as for `review`. ``wanted``: ``target``, ``classes``, ``features``, ``qi`` and
    ``parameters`` of `review`. ``reading``: how files are read. ``**numeric``: ``bins`` and ``values`` of `review`.
    """
    if isinstance(wanted["qi"], str) or any(not isinstance(each, str) for each in _listed(wanted["qi"])):
        raise invalid("options", ARGUMENT, "qi", "a list of columns, such as ['age', 'sex']", shorten(wanted["qi"]))
    main, *others = apart(model)
    found = _subject(main, X, y, wanted, reading, numeric)
    if found.converted.format == "scikit-learn" and not others:
        return found  # which has the roles of the table that fit was given
    own = found.converted.release
    train = found.tables.qi if found.tables.truth is None else found.tables.truth
    release, lost = with_others(found.converted, found.name, others, train, reading)
    release = replace(release, attributes=tuple(_roles(release, wanted["qi"])))
    declared = own.attributes if others and not own.statements else None
    converted = replace(found.converted, release=release, lost=(*found.converted.lost, *lost))
    return replace(found, converted=converted, tables=replace(found.tables, declared=declared))


def apart(model: Any) -> list[Any]:
    """The model of a call, and what was published beside it: of a list the first that has trees comes first."""
    if not isinstance(model, (list, tuple)):
        return [model]
    given = list(model)
    if not given:
        raise invalid("options", ARGUMENT, "model", "a model, or a list of one and of statements beside it", "none")
    of_trees = [i for i, each in enumerate(given) if not _states(each)]
    first = of_trees[0] if of_trees else 0
    return [given[first], *given[:first], *given[first + 1 :]]


def files_of(model: Any) -> tuple[str, ...]:
    """The files of what is published, the model first; none where any of it is no file."""
    given = apart(model)
    if not all(isinstance(each, (str, PathLike)) for each in given):
        return ()
    return tuple(dict.fromkeys([*map(os.fspath, given), *named_by_statements(given)]))


def named_by_statements(given: Iterable[Any]) -> list[str]:
    """The files of releases that statements name, by whose answers they are."""
    return [
        file for each in given if isinstance(each, (str, PathLike)) and _states(each) for file in documents_beside(each)
    ]


def _states(model: Any) -> bool:
    """Whether a file, a release or a model is one of statements, as far as its format shows."""
    if isinstance(model, (str, PathLike)):
        return reader_for(model).states
    return bool(model.statements) if isinstance(model, Release) else is_statement(model)


def with_others(
    found: Converted, name: str, others: Sequence[Any], table: Any, reading: Reading | None
) -> tuple[Release, tuple[str, ...]]:
    """A model with the statements that were published beside it, and what of these was lost."""
    documents, lost, names = [], list[str](), [name]
    plain = None if reading is None else replace(reading, format=None)
    for i, each in enumerate(others, 2):
        wanted = wanted_of(found.release.target.name, train=table)
        if isinstance(each, Release):
            said = Converted(each, "maxent")
        elif isinstance(each, (str, PathLike)):
            said = converted(each, wanted, plain)
        elif is_statement(each):
            said = fitted_statements(each, wanted, reader_of(plain), type(each).__name__)
        else:
            raise invalid("options", ARGUMENT, "model", "statements beside a model", shorten(type(each).__name__))
        names.append(Path(each).name if isinstance(each, (str, PathLike)) else f"release {i}")
        if not said.release.statements:
            expected = "statements beside one model of trees (maxent compare has several side by side)"
            raise invalid(names[-1], "file", "release", expected, "trees")
        documents.append(said.release)
        lost += [f"{names[-1]}: {sentence}" for sentence in said.lost]
    return with_statements(found.release, documents, names), tuple(lost)


def _subject(
    model: Any,
    X: Any,
    y: Any,
    wanted: Mapping[str, Any],
    reading: Reading | None,
    numeric: Mapping[str, Sequence[float] | None],
) -> Subject:
    """The subject of a model without what was published beside it; attributes of files have no roles yet."""
    if isinstance(model, Release):
        return _of_release(model, X, y, wanted, reading)
    given, model = model, searched(model)
    if not isinstance(model, (str, PathLike)) and (many := n_outputs(model)) > 1:
        expected = f"a list with a name for each of the {many} outputs of the model, in their order"
        raise invalid("options", ARGUMENT, "target", expected, shorten(wanted["target"]))
    if isinstance(X, (str, PathLike)) and not isinstance(model, (str, PathLike)) and not is_boosted_elsewhere(model):
        X = frame_at(X, reading)
    if isinstance(model, (str, PathLike)) or is_boosted_elsewhere(model) or is_statement(model):
        stated = {**wanted, "parameters": with_numbers(wanted["parameters"], numeric) or None}
        found = _of_file(model, X, y, stated, reading)
        return found if isinstance(model, (str, PathLike)) else found.keeping(aside_in(given))
    for name in ("features", "parameters"):
        if wanted[name] is not None:
            expected = "None: a model that is there has what it needs"
            raise invalid("options", ARGUMENT, name, expected, shorten(wanted[name]))
    return _of_model(model, X, y, wanted, reading, numeric).keeping(aside_in(given))


def _listed(value: Any) -> list[Any]:
    """The items of a list, or the value itself, which is none."""
    return list(value) if isinstance(value, Iterable) else [value]


def _of_release(model: Release, X: Any, y: Any, wanted: Mapping[str, Any], reading: Reading | None) -> Subject:
    """A release, and a table that has a column of the class."""
    for name in ("classes", "features", "parameters"):
        if wanted[name] is not None:
            raise invalid("options", ARGUMENT, name, "None: a release has what it needs", shorten(wanted[name]))
    target = model.target.name
    table: Source = X if isinstance(X, (str, PathLike)) else frame_of(X)
    if y is not None:
        table = with_column(frame_at(table, reading), target, y)
    if wanted["target"] not in (None, target):
        raise invalid("options", ARGUMENT, "target", f"{target}, that of the release", shorten(wanted["target"]))
    found = Converted(model, "maxent", format="maxent/1")
    return Subject("release", found, Tables(table, table, reading=reading))


def subjects_of(
    model: Any,
    X: Any,
    y: Any,
    targets: Sequence[str],
    wanted: Mapping[str, Any],
    reading: Reading | None,
    **numeric: Sequence[float] | None,
) -> tuple[Subject, ...]:
    """Read what is to be reviewed about several sensitive columns: a subject for each, or one of their combinations.

    Parameters and errors are those of `subject_of`; ``y`` has a column for each of ``targets``, in their order.
    """
    told = {"classes": wanted["classes"], **numeric}
    if isinstance(model, (list, tuple)):
        raise invalid(
            "options", ARGUMENT, "target", "one column, with statements beside a model", shorten_list(targets)
        )
    for name in (name for name, value in told.items() if value is not None):
        raise invalid("options", ARGUMENT, name, "None, of several sensitive columns", shorten(told[name]))
    if isinstance(model, (str, PathLike)) and isinstance(X, (str, PathLike)):
        if y is not None:
            expected = "None, as the table is a file: name its columns of the classes in target="
            raise invalid("options", ARGUMENT, "y", expected, shorten(y))
        return tuple(_of_each_in_file(model, X, targets, wanted, reading))
    table = _with_columns(frame_of(X), targets, y)
    if isinstance(model, (str, PathLike)):
        return tuple(_of_each_in_file(model, table, targets, wanted, reading))
    if isinstance(model, Release):
        if (of := model.target.columns) != tuple(targets):
            raise _states_others(len(of), targets, of)
        return (_of_release(model, table, None, {**wanted, "target": None}, reading),)
    found = n_outputs(model)
    if found != len(targets) or not hasattr(final_of(model), "classes_"):
        raise _states_others(found if hasattr(final_of(model), "classes_") else 1, targets)
    people = table.loc[:, [str(label) not in targets for label in table.columns]]
    subjects, aside = [], aside_in(model)
    for single, target in zip(outputs_of(model), targets, strict=True):
        y = table.iloc[:, [str(label) for label in table.columns].index(target)]
        subject = subject_of(single, people, y, {**wanted, "target": target}, reading)
        lost = (*subject.converted.lost, *[SHARED] * is_shared(model))
        named = f"{type(final_of(model)).__name__}: {target}"
        subjects.append(replace(subject, name=named, converted=replace(subject.converted, lost=lost)).keeping(aside))
    return tuple(subjects)


def _of_each_in_file(
    path: str | PathLike[str], table: Source, targets: Sequence[str], wanted: Mapping[str, Any], reading: Reading | None
) -> Iterator[Subject]:
    """What a file has of several sensitive columns: combinations in a release, each by itself in a model of skops."""
    chosen = reader_for(path, reader_of(reading).reading.format)
    if "output" in chosen.parameters:
        for i, target in enumerate(targets):
            parameters = {**(wanted["parameters"] or {}), "output": f"{i}/{len(targets)}"}
            subject = _of_file(path, table, None, {**wanted, "target": target, "parameters": parameters}, reading)
            yield replace(subject, name=f"{subject.name}: {target}")
        return
    if chosen.convert is not None:
        raise _states_others(1, targets)
    subject = _of_file(path, table, None, {**wanted, "target": None}, reading)
    of = subject.converted.release.target
    if of.columns != tuple(targets):
        raise _states_others(len(of.columns), targets, of.columns)
    yield subject


def _states_others(found: int, targets: Sequence[str], named: Sequence[str] = ()) -> InvalidInput:
    """The error of a model about other sensitive columns: nothing follows about a column that it does not state."""
    which = f" ({shorten_list(named)})" if named else ""
    columns = "one sensitive column" if found == 1 else f"{found} sensitive columns, in their order"
    expected = f"the columns whose classes the model states, {columns}{which}: of others nothing follows from it"
    return invalid("options", ARGUMENT, "target", expected, shorten_list(targets))


def _with_columns(table: DataFrame, targets: Sequence[str], y: Any) -> DataFrame:
    """A table with a column for each target: the columns of ``y``, in their order; without ``y``, its own."""
    import pandas as pd

    header = [str(label) for label in table.columns]
    if y is None:
        if absent := [name for name in targets if name not in header]:
            expected = "the classes of each record, a column for each target, or such columns of X"
            raise invalid("options", ARGUMENT, "y", expected, f"None, and no column {shorten(absent[0])}")
        return table
    cells = y if isinstance(y, pd.DataFrame) else np.asarray(y, object)
    if np.ndim(cells) != 2 or np.shape(cells) != (len(table), len(targets)):
        expected = f"a column for each of {shorten_list(targets)}, and {len(table):,} rows, as in X"
        raise invalid("options", ARGUMENT, "y", expected, f"an array of shape {np.shape(cells)}")
    names = [str(label) for label in y.columns] if isinstance(y, pd.DataFrame) else list(targets)
    if names != list(targets) and set(names) & set(targets):
        raise invalid(
            "options", ARGUMENT, "y", f"the columns {shorten_list(targets)}, in this order", shorten_list(names)
        )
    for i, name in enumerate(targets):
        table = with_column(table, name, cells.iloc[:, i] if isinstance(cells, pd.DataFrame) else cells[:, i])
    return table


def _of_file(model: Any, X: Any, y: Any, wanted: Mapping[str, Any], reading: Reading | None) -> Subject:
    """A model in a file, or one that its tool saves as such, and a table that has a column of the class."""
    is_file = isinstance(model, (str, PathLike))
    target = wanted["target"] or getattr(y, "name", None)
    table: Source = X if isinstance(X, (str, PathLike)) else frame_of(X)
    if not is_file and not isinstance(X, (str, PathLike)) and not hasattr(X, "columns") and wanted["features"] is None:
        wanted = {**wanted, "features": list(frame_of(X).columns)}  # tools number the columns of an array otherwise
    if y is not None:
        if isinstance(table, (str, PathLike)):
            expected = "None, as the table is a file: name its column of the class in target="
            raise invalid("options", ARGUMENT, "y", expected, shorten(y))
        table = with_column(table, str(target or UNNAMED), y)
    named = target or (None if y is None else UNNAMED)
    asked = wanted_of(**{**wanted, "target": named}, train=table)
    name = Path(model).stem if is_file else type(model).__name__
    if is_file:
        found = converted(model, asked, reading)
    elif is_statement(model):
        found = fitted_statements(model, asked, reader_of(reading), name)
    else:
        found = converted_live(model, asked, reading)
    tables = Tables(table, table, reading=reading, weights=np.ones(1) if found.alike else None)
    return Subject(name, found, tables)


def _roles(release: Release, qi: Sequence[str]) -> Iterator[Attribute]:
    """The attributes of a release, each public where it is a quasi-identifier, else private.

    Beside statements there may be more, whose values are those of the table; what statements are about has to be
    among them.
    """
    names = [attribute.name for attribute in release.attributes]
    for column in (column for said in release.statements for column in said.columns):
        if column not in qi:
            expected = f"{column}, too: a statement is about it, and says something to whoever knows it"
            raise invalid("options", ARGUMENT, "qi", expected, shorten(", ".join(qi)))
    for name in qi:
        if name not in names and not release.statements:
            expected = f"attributes of the model ({shorten(', '.join(names))})"
            raise invalid("options", ARGUMENT, "qi", expected, f"{name}{close_to(name, names)}")
    for attribute in release.attributes:
        yield replace(attribute, role="public" if attribute.name in qi else "private")
    yield from (Attribute(name, "categorical", ()) for name in qi if name not in names)


def _of_model(
    model: Any,
    X: Any,
    y: Any,
    wanted: Mapping[str, Any],
    reading: Reading | None,
    numeric: Mapping[str, Sequence[float] | None],
) -> Subject:
    """A model that is there, and the table that it was fitted on."""
    table = frame_of(X)
    target = wanted["target"] or getattr(y, "name", None) or UNNAMED
    checked = wanted_of(**{**wanted, "target": str(target)}, train=None)
    if y is None:
        header = [str(label) for label in table.columns]
        if target not in header:
            expected = "the class of each record, or the name of its column of X in target="
            raise invalid("options", ARGUMENT, "y", expected, "None")
        y = table.iloc[:, header.index(str(target))]
    check_no_name(y)
    if len(y) != len(table):
        raise invalid("options", ARGUMENT, "y", f"{len(table):,} classes, one for each row of X", f"{len(y):,}")
    named: dict[str, Any] = {"target": str(target), "classes": checked.classes, "qi": checked.qi, **numeric}
    release, saved = piped(model, table, **named)
    people = table.loc[:, [str(label) in (checked.qi or ()) for label in table.columns]]
    labels = y if release.target.numbers else class_names(final_of(model), y, checked.classes)
    if not release.target.numbers and (saved is None or UNPROVEN not in saved.aside):
        check_classes(release, table, list(labels))
    alike = (
        True if saved is not None and saved.alike else weighed_alike(final_of(model), y) if np.ndim(y) == 1 else None
    )
    unlike: tuple[str, ...] = ()
    if hasattr(final_of(model), "estimator_weights_") and alike:
        # AdaBoost does not tell whether rows weighed alike: the classes do.
        counted, _ = piped(model, table, **named, sample_weight=np.ones(len(table)))
        try:
            check_classes(counted, table, list(labels))
            release = counted
        except InvalidInput:  # weighted sums can be whole numbers, too
            alike, unlike = False, (UNLIKE,)
    truth = with_column(people, str(target), labels)
    lost = (*(() if release.labels == "majority" else (DECIDED,)), *unlike)
    tool = f"scikit-learn {version('scikit-learn')}"
    settings = hyperparameters_of(final_of(model))
    found = Converted(release, tool, lost, format="scikit-learn", hyperparameters=settings)
    if saved is not None:
        tool = f"{saved.tool} behind steps of {tool}"
        found = replace(saved, release=release, tool=tool, format=found.format, hyperparameters=settings)
    tables = Tables(people, truth, reading=reading, weights=np.ones(1) if alike else None, unweighed=alike is False)
    return Subject(type(final_of(model)).__name__, found, tables)
