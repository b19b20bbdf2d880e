"""skops files of scikit-learn models: archive, trusted types, objects, and the training table.

The file is read here, and not by the library: that can load trees only of the version that is installed, and has no
bound for what an archive holds.
"""

from __future__ import annotations

import inspect
import io
import json
import math
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from maxent.models.arguments import shorten
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.errors import ARGUMENT, InvalidInput, invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import bytes_of, json_object, uncollected
from maxent.models.formats.assemble import check_tree
from maxent.models.formats.proof import TrainingColumns, check_leaves, read_training
from maxent.models.formats.release_reader import NUMERIC, UNNAMED, Converted, Wanted, model_reader
from maxent.models.formats.scikit_learn.ensemble import hyperparameters_of, unweighed
from maxent.models.formats.scikit_learn.models import SEARCHES, n_outputs, outputs_of
from maxent.models.formats.scikit_learn.pipelines import aside_in, is_pipeline, release_of
from maxent.models.formats.scikit_learn.tree import from_sklearn
from maxent.models.hints import close_to
from maxent.models.reading import Reader
from maxent.models.release import Release
from maxent.models.tables.cells import holds_numbers, numbers
from maxent.models.tables.frame import missing_columns

if TYPE_CHECKING:
    from pandas import DataFrame


# The archive of a skops file: its description and its arrays, read in bounded memory; nothing is unpacked to disk.

SCHEMA = "schema.json"

_MOST_TIMES = 20
# Bytes that may be in an archive, for each byte of it and beside these: a bomb has more, compressed models have 7
_MOST_MORE = 2**20

_UNREADABLE = (zipfile.BadZipFile, zlib.error, OSError, ValueError, EOFError, NotImplementedError, RuntimeError)


class Archive:
    """The members of a skops file."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.source = source = shown_path(path)
        data = bytes_of(os.fspath(path))
        self.size = len(data)
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            members = self._zip.infolist()
        except _UNREADABLE as error:
            raise self._wrong("file", "a zip archive, as skops saves it", error) from None
        self._sizes = {member.filename: member.file_size for member in members}
        unpacked, most = sum(member.file_size for member in members), _MOST_TIMES * self.size + _MOST_MORE
        if unpacked > most:
            expected = f"at most {most:,} bytes in the archive: save the model without compression"
            raise invalid(source, "file", "size", expected, f"{unpacked:,}")
        self._arrays: dict[str, npt.NDArray[Any]] = {}

    def schema(self) -> Mapping[str, Any]:
        """The description of the model."""
        return json_object(self._bytes(SCHEMA), f"{self.source}, {SCHEMA}")

    def array(self, name: object) -> npt.NDArray[Any]:
        """An array, which each name has only one of."""
        if not isinstance(name, str):
            raise invalid(self.source, SCHEMA, "file", "the name of an array", "something else")
        if name not in self._arrays:
            self._arrays[name] = self._read(name)
        return self._arrays[name]

    def _bytes(self, name: str) -> bytes:
        if name not in self._sizes:
            raise invalid(self.source, "file", name[:80], "a member of the archive", "none of that name")
        try:
            with self._zip.open(name) as member:
                found = member.read(self._sizes[name] + 1)
        except (*_UNREADABLE, KeyError) as error:
            raise self._wrong(name[:80], "a member that can be read", error) from None
        if len(found) != self._sizes[name]:
            raise invalid(self.source, "file", name[:80], f"{self._sizes[name]} bytes", f"{len(found)}")
        return found

    def _read(self, name: str) -> npt.NDArray[Any]:
        """An array in NumPy's format, with nothing in it that is an object."""
        content = io.BytesIO(self._bytes(name))
        try:
            version = np.lib.format.read_magic(content)
            header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, by_column, kind = header(content)
        except Exception as error:  # NumPy parses the header as Python: its errors are of many kinds
            raise self._wrong(name[:80], "an array of NumPy", error) from None
        data = content.read()
        if kind.hasobject or len(shape) > 8 or math.prod(shape) * kind.itemsize != len(data):
            raise invalid(self.source, "file", name[:80], "an array of NumPy without objects, whole", "something else")
        found = np.frombuffer(data, kind) if kind.itemsize else np.zeros(0, kind)
        return found.reshape(shape, order="F" if by_column else "C")

    def _wrong(self, where: str, expected: str, error: Exception) -> InvalidInput:
        words = str(error).split("\n")[0][:100] or type(error).__name__
        return invalid(self.source, "file", where, expected, words)


# The training table as ``fit`` was given it: numbers as such, and as text what encoders of a pipeline take as text.


def table_of(training: TrainingColumns, names: Sequence[str], texts: Mapping[str, object]) -> DataFrame:
    """Columns of a training table."""
    from pandas import DataFrame, Series

    columns: dict[str, Any] = {}
    for name in names:
        column = training.frame.columns[name]
        if name not in texts and holds_numbers(column):
            columns[name] = np.append(numbers(column), np.nan)[column.codes]
            continue
        values = np.empty(len(column.values) + 1, object)
        values[:-1] = column.texts()
        values[-1] = texts.get(name, np.nan)
        columns[name] = Series(values[column.codes], dtype=object)
    return DataFrame(columns)


def texts_of(steps: Sequence[Any], names: Sequence[str]) -> dict[str, object]:
    """The columns that encoders with categories of text are given, and what is missing in them: None, or NaN."""
    found: dict[str, object] = {}
    chain = [*_flat(steps)]
    absent = None if any(getattr(step, "missing_values", np.nan) is None for step in chain) else np.nan
    for step in chain:
        if hasattr(step, "transformers_"):
            for _, inner, chosen in step.transformers_:
                here = [chosen] if isinstance(chosen, str) else _chosen(chosen, names)
                found |= texts_of([inner], here)
            break
        if hasattr(step, "categories_"):
            pairs = zip(names, step.categories_, strict=True)
            found |= {
                name: absent for name, known in pairs if any(isinstance(v, str) for v in np.asarray(known).tolist())
            }
            break
    return found


def _flat(steps: Sequence[Any]) -> list[Any]:
    """Steps, those of pipelines among them one by one."""
    found: list[Any] = []
    for step in steps:
        found += _flat([inner for _, inner in step.steps]) if is_pipeline(step) else [step]
    return found


def kinds_of(steps: Sequence[Any]) -> set[str]:
    """The names of the classes of steps, those inside of others too."""
    found = set()
    for step in _flat(steps):
        found.add(type(step).__name__)
        found |= kinds_of([inner for _, inner, _ in getattr(step, "transformers_", ())])
    return found


def _chosen(chosen: Any, names: Sequence[str]) -> list[str]:
    """The names of columns that are chosen by name, by number, by a mask or a slice."""
    if isinstance(chosen, slice):
        return list(names[chosen])
    given = np.asarray(chosen)
    if given.dtype.kind in "bui":
        return [str(name) for name in np.asarray(names, object)[given].tolist()]
    return [str(name) for name in given.ravel().tolist()]


# The only types of scikit-learn that are made of a file, and those whose place is kept empty.
#
# None of them runs code of the file when it is made: instances get the attributes that the file states, and neither
# ``__init__`` nor ``__setstate__`` is called.

_MODELS = "sklearn.ensemble._hist_gradient_boosting"

# Classes by module
TRUSTED = {
    "sklearn.compose._column_transformer": ("ColumnTransformer", "make_column_selector"),
    "sklearn.dummy": ("DummyClassifier",),
    "sklearn.ensemble._bagging": ("BaggingClassifier",),
    "sklearn.ensemble._forest": ("ExtraTreesClassifier", "RandomForestClassifier"),
    "sklearn.ensemble._gb": ("GradientBoostingClassifier",),
    f"{_MODELS}.binning": ("_BinMapper",),
    f"{_MODELS}.gradient_boosting": ("HistGradientBoostingClassifier",),
    f"{_MODELS}.predictor": ("TreePredictor",),
    "sklearn.ensemble._weight_boosting": ("AdaBoostClassifier",),
    "sklearn.feature_selection._univariate_selection": ("SelectKBest", "SelectPercentile"),
    "sklearn.feature_selection._variance_threshold": ("VarianceThreshold",),
    "sklearn.impute._base": ("MissingIndicator", "SimpleImputer"),
    "sklearn.linear_model._base": ("LinearRegression",),
    "sklearn.linear_model._coordinate_descent": ("ElasticNet", "ElasticNetCV", "Lasso", "LassoCV"),
    "sklearn.linear_model._glm.glm": ("PoissonRegressor",),
    "sklearn.linear_model._logistic": ("LogisticRegression",),
    "sklearn.linear_model._ridge": ("Ridge",),
    "sklearn.pipeline": ("FeatureUnion", "Pipeline"),
    "sklearn.preprocessing._data": (
        *("Binarizer", "MaxAbsScaler", "MinMaxScaler", "PowerTransformer", "QuantileTransformer", "RobustScaler"),
        "StandardScaler",
    ),
    "sklearn.preprocessing._discretization": ("KBinsDiscretizer",),
    "sklearn.preprocessing._encoders": ("OneHotEncoder", "OrdinalEncoder"),
    "sklearn.preprocessing._function_transformer": ("FunctionTransformer",),
    "sklearn.preprocessing._label": ("LabelEncoder",),
    "sklearn.tree._classes": (
        *("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor"),
    ),
}

# Models that are known, and refused as what they are
REGRESSORS = {
    "sklearn.ensemble._bagging": ("BaggingRegressor",),
    "sklearn.ensemble._forest": ("ExtraTreesRegressor", "RandomForestRegressor"),
    "sklearn.ensemble._gb": ("GradientBoostingRegressor",),
    f"{_MODELS}.gradient_boosting": ("HistGradientBoostingRegressor",),
    "sklearn.ensemble._weight_boosting": ("AdaBoostRegressor",),
}

# Starts of the modules of objects and functions that a model keeps from its training, and that are left out
EMPTY = (
    "sklearn._loss.",
    "sklearn.ensemble._gb_losses.",
    "sklearn.feature_selection._mutual_info.",
    "sklearn.feature_selection._univariate_selection.",
    "sklearn.metrics.",
    "sklearn.utils.",
    "numpy.random.",
    "functools.",
)


def class_of(module: object, name: object) -> type | None:
    """A trusted class, None for any other."""
    for listed in (TRUSTED, REGRESSORS):
        if isinstance(module, str) and isinstance(name, str) and name in listed.get(module, ()):
            found = getattr(import_module(module), name, None)
            return found if isinstance(found, type) else None
    return None


def is_left_out(module: object) -> bool:
    """Whether what is of a module is left out."""
    return isinstance(module, str) and f"{module}.".startswith(EMPTY)


# Objects of scikit-learn from the description of a skops file: trusted types alone, all else is refused by name.

# Types of the keys of dictionaries; those of NumPy are taken for the ones of Python that they equal
_KEYS: Mapping[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": lambda text: text == "True",
    "NoneType": lambda text: None,
}

_TYPES: Mapping[str, type] = {"int": int, "float": float, "str": str, "bool": bool, "object": object}


# Fields of a node of a tree that say how many records it has, and what they weigh
_WEIGHED = ("n_node_samples", "weighted_n_node_samples")


class LeftOut:
    """In the place of an object that is not made."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredTree:
    """A ``tree_`` of scikit-learn as its arrays, of whichever version."""

    children_left: IntArray
    children_right: IntArray
    feature: IntArray
    threshold: FloatArray
    n_node_samples: IntArray
    weighted_n_node_samples: FloatArray
    missing_go_to_left: BoolArray | None
    value: FloatArray
    impurity: FloatArray

    def decision_path(self, X: Any) -> Any:
        """The nodes that rows reach, a sparse matrix of shape (n_rows, n_nodes), as scikit-learn has it."""
        from scipy.sparse import csr_matrix

        rows = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float32)
        at, here = np.zeros(len(rows), np.int64), np.arange(len(rows))
        found = []
        while len(here):
            found.append((here, at))
            inner = self.children_left[at] >= 0
            here, at = here[inner], at[inner]
            values = rows[here, self.feature[at]]
            left = values <= self.threshold[at]
            if self.missing_go_to_left is not None:
                left |= np.isnan(values) & self.missing_go_to_left[at]
            at = np.where(left, self.children_left[at], self.children_right[at])
        row, node = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return csr_matrix((np.ones(len(row)), (row, node)), shape=(len(rows), len(self.feature)))


class Objects:
    """Makes the objects of one archive; every method raises `InvalidInput` for what is not as it should be."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._loaders: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
            "JsonNode": self._json,
            "ListNode": lambda state: [self.made(item) for item in self._list(state)],
            "TupleNode": self._tuple,
            "DictNode": self._dict,
            "SliceNode": self._slice,
            "NdArrayNode": self._array,
            "DTypeNode": lambda state: np.asarray(self.made(state.get("content"))).dtype,
            "TypeNode": self._type,
            "ObjectNode": self._object,
            "TreeNode": self._tree,
        }

    def made(self, state: Any) -> Any:
        """The value that a part of the description stands for."""
        if not isinstance(state, dict):
            raise self._wrong("content", "a description of an object", "something else")
        loader = self._loaders.get(str(state.get("__loader__")))
        if loader is not None:
            return loader(state)
        if is_left_out(state.get("__module__")):
            return LeftOut()
        raise self._untrusted(state)

    def _json(self, state: Mapping[str, Any]) -> Any:
        text = state.get("content")
        if not isinstance(text, str):
            raise self._wrong("content", "JSON", "something else")
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise self._wrong("content", "JSON", repr(text[:40])) from None

    def _list(self, state: Mapping[str, Any]) -> list[Any]:
        found = state.get("content")
        if not isinstance(found, list):
            raise self._wrong("content", "a list", "something else")
        return found

    def _tuple(self, state: Mapping[str, Any]) -> Any:
        if state.get("__class__") != "tuple" and not is_left_out(state.get("__module__")):
            raise self._untrusted(state)
        return tuple(self.made(item) for item in self._list(state))

    def _dict(self, state: Mapping[str, Any]) -> dict[Any, Any]:
        content, types = state.get("content"), state.get("key_types")
        if not isinstance(content, dict) or not isinstance(types, dict):
            raise self._wrong("content", "a dictionary", "something else")
        names = [str(item.get("__class__")) if isinstance(item, dict) else "" for item in self._list(types)]
        if len(names) != len(content):
            raise self._wrong("key_types", f"a type for each of {len(content)} keys", str(len(names)))
        found = {}
        for (key, value), name in zip(content.items(), names, strict=True):
            plain = name.rstrip("_0123456789")
            try:
                typed = _KEYS.get(plain, str)(key)
            except ValueError:
                raise self._wrong("key_types", f"a key that is {name[:40]}", repr(key[:40])) from None
            found[typed] = self.made(value)
        return found

    def _slice(self, state: Mapping[str, Any]) -> slice:
        content = state.get("content")
        ends = [content.get(key) for key in ("start", "stop", "step")] if isinstance(content, dict) else [""]
        if not all(end is None or type(end) is int for end in ends):
            raise self._wrong("content", "a slice", "something else")
        return slice(*ends)

    def _array(self, state: Mapping[str, Any]) -> Any:
        if state.get("type") == "json":
            return self._objects(state)
        found = self._archive.array(state.get("file"))
        return found if state.get("__class__") == "ndarray" or found.ndim else found[()]

    def _objects(self, state: Mapping[str, Any]) -> npt.NDArray[Any]:
        """An array of objects, of one or two dimensions."""
        shape = self.made(state.get("shape"))
        items = [self.made(item) for item in self._list(state)]
        if isinstance(shape, tuple) and len(shape) == 2 and all(isinstance(row, list) for row in items):
            items = [item for row in items for item in row]
        elif not isinstance(shape, tuple) or len(shape) != 1:
            raise self._wrong("shape", "one dimension, or two", repr(shape)[:40])
        if not all(type(n) is int and n >= 0 for n in shape) or int(np.prod([float(n) for n in shape])) != len(items):
            raise self._wrong("shape", f"that of {len(items)} objects", repr(shape)[:40])
        found = np.empty(len(items), object)
        found[:] = items
        return found.reshape(shape)

    def _type(self, state: Mapping[str, Any]) -> Any:
        module, name = state.get("__module__"), str(state.get("__class__"))
        if module == "builtins" and name in _TYPES:
            return _TYPES[name]
        if module == "numpy" and name.rstrip("_0123456789") in {"float", "int", "uint", "bool", "str", "object"}:
            return getattr(np, name, LeftOut())
        if is_left_out(module) or class_of(module, name) is not None:
            return LeftOut()
        raise self._untrusted(state)

    def _object(self, state: Mapping[str, Any]) -> Any:
        """An instance of a trusted class: parameters that its version did not have yet are those by default."""
        kind = class_of(state.get("__module__"), state.get("__class__"))
        if kind is None:
            if is_left_out(state.get("__module__")):
                return LeftOut()
            raise self._untrusted(state)
        content = self.made(state["content"]) if "content" in state else {}
        if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
            raise self._wrong("content", f"the attributes of a {kind.__name__}", "something else")
        made: Any = object.__new__(kind)
        parameters = inspect.signature(kind).parameters.values()
        vars(made).update({p.name: p.default for p in parameters if p.default is not p.empty})
        vars(made).update(content)
        # No folders are written, and no processes started, whatever the file asks for.
        vars(made).update({name: None for name in ("memory", "n_jobs") if name in vars(made)})
        if kind.__name__ == "ColumnTransformer":
            _pass_through(made)
        return made

    def _tree(self, state: Mapping[str, Any]) -> StoredTree:
        """The arrays of a ``tree_``, which lead from the root to each node in one way."""
        if (state.get("__module__"), state.get("__class__")) != ("sklearn.tree._tree", "Tree"):
            raise self._untrusted(state)
        content = self.made(state.get("content"))
        found = content if isinstance(content, dict) else {}
        nodes: Any = found.get("nodes")
        value: Any = found.get("values")
        fields = nodes.dtype.fields or {} if isinstance(nodes, np.ndarray) and nodes.ndim == 1 else {}
        names = ("left_child", "right_child", "feature", "threshold", "impurity", *_WEIGHED)
        if not isinstance(value, np.ndarray) or not all(
            name in fields and fields[name][0].kind in "iuf" for name in names
        ):
            raise self._wrong("nodes", "the nodes of a tree", "something else")
        columns = {name: np.ascontiguousarray(nodes[name]) for name in names}
        if value.ndim != 3 or len(value) != len(nodes) or value.dtype.kind != "f" or not np.isfinite(value).all():
            raise self._wrong("values", "finite numbers for each node", f"an array of shape {value.shape}")
        left, right = (columns[name].astype(np.int64) for name in names[:2])
        check_links(self._archive.source, left, right)
        gone = "missing_go_to_left"
        missing = nodes[gone] != 0 if gone in fields and fields[gone][0].kind in "iub" else None
        return StoredTree(
            np.where(left < 0, -1, left),
            np.where(left < 0, -1, right),
            columns["feature"].astype(np.int64),
            columns["threshold"].astype(np.float64),
            columns["n_node_samples"].astype(np.int64),
            columns["weighted_n_node_samples"].astype(np.float64),
            missing,
            np.ascontiguousarray(value, np.float64),
            columns["impurity"].astype(np.float64),
        )

    def _wrong(self, field: str, expected: str, found: str) -> InvalidInput:
        return invalid(self._archive.source, "schema.json", field, expected, found)

    def _untrusted(self, state: Mapping[str, Any]) -> InvalidInput:
        name = f"{state.get('__module__')}.{state.get('__class__')}"[:100]
        expected = "trees, ensembles, regressions and preprocessing of scikit-learn alone: give the model without it"
        if again := SEARCHES.get(str(state.get("__class__"))):
            expected += f"; fit {again}, which is read"
        return self._wrong("type", expected, f"{name}, which is not trusted")


def _pass_through(transformer: Any) -> None:
    """Let columns pass as scikit-learn does since 1.5; before, a word stood for that."""
    from sklearn.preprocessing import FunctionTransformer

    passing = FunctionTransformer(accept_sparse=True, check_inverse=False)
    stored = vars(transformer).get("transformers_")
    if isinstance(stored, list) and all(isinstance(each, tuple) and len(each) == 3 for each in stored):
        transformer.transformers_ = [
            (name, passing if isinstance(step, str) and step == "passthrough" else step, chosen)
            for name, step, chosen in stored
        ]


def check_links(source: str, left: IntArray, right: IntArray) -> None:
    """Refuse nodes that are not a tree in which each is below one other, the first excepted."""
    at = np.flatnonzero(left >= 0)
    check_tree(source, np.concatenate([at, at]), np.concatenate([left[at], right[at]]), range(len(left)))


_MOST_CELLS = 2**20  # nodes times classes, or columns, that a file may state, beside one for each byte of it

# Errors of models whose attributes are not those of a model
_WRONG = (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


_ADVICE = "the table that the model was fitted on, whole; with sample weights of 0, without their rows"


@model_reader(
    "skops",
    "a model of scikit-learn that skops saved",
    lambda head: re.match(rb"PK\x03\x04.{26}[0-9]+\.npy", head.start, re.DOTALL) is not None,
    suffixes=(".skops",),
    parameters=(*NUMERIC, "output"),
)
@uncollected()
def _convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    source = shown_path(path)
    archive = Archive(path)
    training = read_training(wanted, reader)
    try:
        model = Objects(archive).made(archive.schema())
        model = _about_one(source, model, wanted)
        final = _final(model)
        if type(final).__name__.endswith("Regressor") and not any(wanted.numeric().values()):
            expected = "a classifier; or of a regression bins of the target, or its values: bins= or values="
            raise invalid(source, "document", "model", expected, type(final).__name__)
        _check_size(source, final, archive.size)
        release, aside, alike = _release(source, model, wanted, training), aside_in(model), unweighed(final)
        if training is not None and training.classes and hasattr(final, "estimator_weights_"):
            release = _counted(source, model, wanted, training) or release
    except InvalidInput:
        raise
    except _WRONG as error:
        expected = "a model as scikit-learn and skops save it"
        raise invalid(source, "document", "content", expected, f"{type(error).__name__}: {str(error)[:100]}") from None
    if training is not None and release.resampled is None:
        stated = any(leaf.n is not None for tree in release.trees for leaf in tree.leaves)
        check_leaves(source, release, training, _ADVICE, empty=not stated)
    version = getattr(final, "_sklearn_version", None)
    known = isinstance(version, str) and re.fullmatch(r"[0-9][0-9a-z.]{0,20}", version)
    tool = f"scikit-learn {version}" if known else "scikit-learn"
    settings = hyperparameters_of(final)
    return Converted(release, tool, tuple(_lost(release)), aside=aside, alike=alike, hyperparameters=settings)


def _counted(source: str, model: Any, wanted: Wanted, training: TrainingColumns) -> Release | None:
    """AdaBoost as a release that counts the records of its first tree; None where these are others in the table.

    The model does not tell whether its records weighed alike, so its shares alone are no counts.
    """
    release = _release(source, model, wanted, training, np.ones(1))
    try:
        check_leaves(source, release, training, _ADVICE)
    except InvalidInput:
        return None
    return release


def _final(model: Any) -> Any:
    """The last step of pipelines."""
    while is_pipeline(model):
        model = model.steps[-1][1]
    return model


def outputs_in(path: str | PathLike[str]) -> int:
    """How many columns the model of a file states each by itself."""
    archive = Archive(path)
    try:
        return n_outputs(Objects(archive).made(archive.schema()))
    except _WRONG:  # told by `convert`
        return 1


def _about_one(source: str, model: Any, wanted: Wanted) -> Any:
    """A model of several outputs as that of one, which the parameter ``output`` is: 1, or of three 1/3."""
    outputs, asked = n_outputs(model), wanted.parameters.get("output")
    if outputs == 1 and asked is None:
        return model
    stated = re.fullmatch(r"([0-9]{1,3})(?:/([0-9]{1,3}))?", asked or "")
    if stated is None or int(stated[1]) >= outputs or int(stated[2] or outputs) != outputs:
        several = (
            f"the output of one of {outputs} sensitive columns, from 0 to {outputs - 1} (maxent review takes all where "
            "the target names a column for each)"
        )
        expected = several if outputs > 1 else "no output: the model is about one sensitive column"
        raise invalid(source, ARGUMENT, "parameters", expected, "nothing" if asked is None else f"output={asked}")
    return next(islice(outputs_of(model), int(stated[1]), None))


def _steps(model: Any) -> list[Any]:
    """The steps of pipelines that do something before the last."""
    found: list[Any] = []
    while is_pipeline(model):
        found += [step for _, step in model.steps[:-1] if step is not None and step != "passthrough"]
        model = model.steps[-1][1]
    return found


def _check_size(source: str, model: Any, size: int) -> None:
    """Refuse what would take far more memory than the file, and trees with columns or values that are not there."""
    width = model.n_features_in_
    trees = list(_trees(model))
    classes = max(1, *(len(getattr(each, "classes_", ())) for each in (model, *_members(model))))
    cells = sum(len(tree.value) for tree in trees) * classes
    if type(width) is not int or not 0 < width <= _MOST_CELLS or cells > _MOST_CELLS + size:
        found = f"{cells:,} numbers, of {shorten(width)} columns"
        raise invalid(source, "document", "size", f"at most {_MOST_CELLS + size:,} numbers in nodes", found)
    for member in _members(model) or (model,):
        if isinstance(getattr(member, "tree_", None), StoredTree):
            _check_tree(source, member)
    for predictor in _predictors(model):
        _check_predictor(source, predictor, width)


def _members(model: Any) -> tuple[Any, ...]:
    """The trees of an ensemble that are models themselves."""
    found = getattr(model, "estimators_", ())
    return tuple(np.asarray(found, object).ravel().tolist()) if isinstance(found, (list, np.ndarray)) else ()


def _trees(model: Any) -> Iterator[StoredTree]:
    for member in (model, *_members(model)):
        if isinstance(getattr(member, "tree_", None), StoredTree):
            yield member.tree_


def _check_tree(source: str, member: Any) -> None:
    """Refuse a tree that tests columns, or has numbers of classes, that its model has not."""
    tree = member.tree_
    inner = tree.children_left >= 0
    tested = tree.feature[inner]
    classes = len(member.classes_) if hasattr(member, "classes_") else 1
    outputs = tree.value.shape[1] if getattr(member, "n_outputs_", 1) == 1 else 1
    if len(tested) and not 0 <= tested.min() <= tested.max() < member.n_features_in_:
        raise invalid(source, "document", "feature", f"columns below {member.n_features_in_}", str(tested.max()))
    if outputs != 1 or tree.value.shape[2] != classes or (tree.n_node_samples < 0).any():
        raise invalid(source, "document", "values", f"numbers of {classes} classes", f"shape {tree.value.shape}")


def _predictors(model: Any) -> Iterator[Any]:
    for iteration in getattr(model, "_predictors", ()):
        yield from iteration


def _check_predictor(source: str, predictor: Any, width: int) -> None:
    """Refuse a tree of histogram boosting whose nodes are none."""
    nodes = predictor.nodes
    leaf = nodes["is_leaf"] != 0
    left, right = (np.where(leaf, -1, nodes[side].astype(np.int64)) for side in ("left", "right"))
    check_links(source, left, right)
    tested = nodes["feature_idx"].astype(np.int64)
    if not np.isfinite(nodes["value"]).all() or not ((tested >= 0) & (tested < width)).all():
        raise invalid(source, "document", "nodes", f"finite values, and columns below {width}", "others")


def _release(
    source: str, model: Any, wanted: Wanted, training: TrainingColumns | None, weights: FloatArray | None = None
) -> Release:
    """The model as a release: about the columns that it was given, or those before the steps of its pipeline."""
    final, steps = _final(model), _steps(model)
    target = wanted.target or UNNAMED
    if training is not None:
        names = _names(steps[0] if steps else final, wanted, training)
        if lacking := missing_columns(training.frame, names):
            raise InvalidInput(training.frame.source, lacking)
        more = [name for name in wanted.qi or () if name not in names and training.named(name) is not None]
        texts = texts_of(steps, names)
        table = table_of(training, (*names, *more), texts)
        named: dict[str, Any] = {"target": target, "classes": wanted.classes, "qi": wanted.qi, **wanted.numeric()}
        release = release_of(model, table, **named, sample_weight=weights)
        _check_named(source, release, {a.name for a in training.attributes if a.values is None} - {*texts}, steps)
        return release
    if steps:
        expected = "the training table, which train= gives: only its values tell what steps before the model do"
        raise invalid(source, "document", "steps", expected, shorten(", ".join(type(step).__name__ for step in steps)))
    columns = _names(final, wanted, None)
    if unknown := [name for name in wanted.qi or () if name not in columns]:
        found = f"{unknown[0]}{close_to(unknown[0], columns)}"
        raise invalid("options", ARGUMENT, "qi", "attributes of the model", found)
    private = () if wanted.qi is None else [name for name in columns if name not in wanted.qi]
    said: dict[str, Any] = {"classes": wanted.classes, **wanted.numeric()}
    return from_sklearn(final, target=target, features=columns, private=private, **said)


def _check_named(source: str, release: Release, numeric: Set[str], steps: Sequence[Any]) -> None:
    """Refuse bins as indicators: where other numbers than those of the training table go would not be known."""
    names = [attribute.name for attribute in release.attributes if attribute.values is not None]
    if "KBinsDiscretizer" in kinds_of(steps) and (lost := [name for name in names if name in numeric]):
        expected = "bins in their order: fit again with KBinsDiscretizer(encode='ordinal')"
        raise invalid(source, f"column {lost[0]}", "steps", expected, "an indicator of each bin")


def _names(first: Any, wanted: Wanted, training: TrainingColumns | None) -> tuple[str, ...]:
    """The names of the columns that a model or its first step was given."""
    stored = getattr(first, "feature_names_in_", None)
    if stored is not None:
        return tuple(map(str, stored))
    if wanted.features is not None:
        return wanted.features
    if training is None or len(training.attributes) != first.n_features_in_:
        expected = "the names of the columns, which features= gives: the model was fitted without"
        raise invalid("options", ARGUMENT, "features", expected, "none")
    return tuple(attribute.name for attribute in training.attributes)


def _lost(release: Release) -> Iterator[str]:
    """What the release does not state of the records."""
    leaves = [leaf for tree in release.trees for leaf in tree.leaves]
    if release.target.numbers is None and all(leaf.counts is None for leaf in leaves):
        yield "counts and labels of leaves: the model has scores, or shares of records that weigh differently"
    if all(leaf.n is None for leaf in leaves):
        yield "sizes of leaves: they are not surely those of all records; --train may prove them"
    if all(tree.induction.candidates == "none" for tree in release.trees):
        yield "which splits competed"
