"""Spark MLlib folders of tree models: trees alone, in a pipeline, or as the best model of a search."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from math import inf, isfinite, isnan
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from maxent.models.arguments import LARGEST_COUNT, shorten
from maxent.models.draws import DRAWN
from maxent.models.errors import InvalidInput, invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import bytes_of, json_object, read_text, uncollected
from maxent.models.formats.json_values import Values
from maxent.models.formats.outline import Line, refuse
from maxent.models.formats.pmml.ensembles import PmmlEnsemble, PmmlMember
from maxent.models.formats.pmml.expressions import (
    Expr,
    Piece,
    PmmlColumn,
    Special,
    Unknown,
    Value,
    apply,
    combine,
    compare,
    constant,
    each_value,
    first_of,
    identity,
    parts_inside,
)
from maxent.models.formats.pmml.inputs import PmmlInput, Scope, without
from maxent.models.formats.pmml.release import Conversion, PmmlModel, with_target
from maxent.models.formats.pmml.xml_document import Element
from maxent.models.formats.proof import TrainingColumns, read_training
from maxent.models.formats.release_reader import UNPROVEN, Converted, Head, Wanted, model_reader
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Boosting
from maxent.models.tables.cells import MISSING, OTHER

# Folders that Spark MLlib saves: metadata as JSON, data in Parquet, stages and models in folders of their own.

_SPARK = "org.apache.spark.ml."
_MOST_FILES = 10_000
_NESTED = 3
_EXPANSION = 40  # values in a file, for each of its bytes at most, and a thousand more

# The columns of a table; those of structures have both names, with a point, but for nodes and splits
Rows = dict[str, list[Any]]


def metadata(folder: Path) -> Values:
    """The metadata of a folder, whose ``class`` is of Spark's."""
    files = list(_files(folder / "metadata", ""))
    if len(files) != 1:
        raise invalid(str(folder), "metadata", "files", "one", str(len(files)))
    found = Values(str(files[0]), "metadata", json_object(bytes_of(str(files[0])), str(files[0])))
    if not found.text("class").startswith(_SPARK):
        found.refuse("class", f"a class of {_SPARK}")
    return found


def kind(about: Values) -> str:
    """The name of the class of a folder, without its package."""
    return about.text("class").rpartition(".")[2]


def parameters(about: Values) -> Values:
    """The parameters of a folder, those that were set before those that were not."""
    found: dict[str, object] = {}
    for key in ("defaultParamMap", "paramMap"):
        if key in about.raw:
            found |= about.child(key).raw
    return Values(about.source, "parameters", found)


def stages(folder: Path, about: Values) -> list[Path]:
    """The folders of the stages of a pipeline, in their order."""
    uids = about.child("paramMap").texts("stageUids")
    there = sorted(os.listdir(folder / "stages")) if (folder / "stages").is_dir() else []
    found = []
    for number, uid in enumerate(uids):
        names = [name for name in there if name.partition("_")[2] == uid and name.partition("_")[0].isdecimal()]
        names = [name for name in names if int(name.partition("_")[0]) == number]
        if len(names) != 1:
            raise invalid(str(folder), "stages", shorten(uid), "one folder", str(len(names)))
        found.append(folder / "stages" / names[0])
    return found


def _files(folder: Path, suffix: str) -> Iterator[Path]:
    """The parts of a table, in order; marks and checksums are skipped."""
    names = sorted(os.listdir(folder)) if folder.is_dir() else []
    for name in names[:_MOST_FILES]:
        if name.startswith("part-") and name.endswith(suffix) and not name.endswith(".crc"):
            yield folder / name


def table(folder: Path) -> Rows:
    """The rows of a table in Parquet."""
    files = list(_files(folder, ".parquet"))
    if not files:
        raise invalid(str(folder), "folder", "files", "Parquet files", "none")
    found: Rows = {}
    for number, path in enumerate(files):
        part = _part(str(path))
        if number and part.keys() != found.keys():
            raise invalid(str(path), "file", "columns", shorten(list(found)), shorten(list(part)))
        for name, values in part.items():
            found.setdefault(name, []).extend(values)
    return found


def _part(source: str) -> Rows:
    import pyarrow as pa
    from pyarrow import parquet

    from maxent.models.tables.parquet_files import check_footer

    data = bytes_of(source)
    found: Rows = {}
    try:
        check_footer(io.BytesIO(data))
        file = parquet.ParquetFile(io.BytesIO(data))
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
        columns = [group.column(i) for group in groups for i in range(group.num_columns)]
        values = sum(column.num_values for column in columns)
        unpacked = sum(column.total_uncompressed_size for column in columns)
        if max(values, unpacked // 8, file.metadata.num_rows) > _EXPANSION * len(data) + 1_000:
            raise invalid(source, "file", "size", f"at most {_EXPANSION} values for each byte", "more")
        read = file.read()
        for _ in range(_NESTED):
            read = read.flatten()
        for name, column in zip(read.column_names, read.columns, strict=True):
            title = name.removeprefix("nodeData.").removeprefix("split.")
            if title in found:
                raise invalid(source, "file", "columns", "different names", f"{shorten(title)} twice")
            found[title] = column.to_pylist()
    except InvalidInput:
        raise
    except (pa.ArrowException, OSError, ValueError, LookupError, TypeError, ArithmeticError) as error:
        raise invalid(
            source, "file", "content", "a Parquet file that is whole", shorten(str(error).partition("\n")[0])
        ) from None
    return found


def column(rows: Rows, name: str, types: tuple[type, ...], source: str) -> Sequence[Any]:
    """A column whose values are all of a type."""
    found = rows.get(name)
    if found is None or not all(isinstance(value, types) and not isinstance(value, bool) for value in found):
        raise invalid(source, "table", name, f"a column of {' or '.join(each.__name__ for each in types)}", "others")
    return found


# The features of a pipeline of Spark: what each number of the vector that trees test is of one column of the table.

# A column that a stage makes: of numbers, of vectors, or why it is not known
Made: TypeAlias = "Expr | list[Expr] | str"

MOST = 100_000  # features, and categories of one


Make: TypeAlias = "Callable[[Features, Stage], Sequence[Made]]"  # the columns that a stage makes


class Features:
    """Columns by name, as the stages of a pipeline make them; those of the table are found when they are asked for."""

    def __init__(self, source: str, training: TrainingColumns | None) -> None:
        self._source, self._training = source, training
        self._made: dict[str, Made] = {}
        self._columns: dict[str, PmmlColumn] = {}
        self.attributes: dict[str, Attribute] = {}
        # The column that each indexer reads, and its labels, by the column that it makes
        self.labels: dict[str, tuple[str, tuple[str, ...]]] = {}

    def take(self, folder: Path, about: Values, make: Make | None) -> None:
        """Take a stage to the others; one that is not known makes columns that cannot be asked for."""
        name = kind(about)
        options = parameters(about)
        inputs, outputs = _columns(options, "inputCol"), _columns(options, "outputCol")
        if name == "VectorAssembler":
            inputs, outputs = options.texts("inputCols"), (options.text("outputCol"),)
        if make is None:
            self._made |= {output: f"a stage that can be undone, not {name}" for output in outputs}
            return
        try:
            found = make(self, Stage(folder, options, inputs, outputs))
            self._made |= dict(zip(outputs, found, strict=True))
        except InvalidInput:
            raise
        except Unknown as error:
            raise invalid(str(folder), name, "stage", str(error), "others") from None
        except (ValueError, TypeError, LookupError, ArithmeticError):  # its data are not as Spark writes them
            raise invalid(
                str(folder), name, "data", f"those of {name}, for each column that it reads", "others"
            ) from None

    def number(self, name: str) -> Expr:
        """A column of numbers."""
        made = self._made.get(name)
        if made is None:
            if name not in self.attributes:
                self.attributes[name] = Attribute(name, "numeric", missing=True)
            if self.attributes[name].values is not None:
                raise Unknown(f"a column that is either numbers or categories: {shorten(name)}")
            made = self._made[name] = identity(PmmlColumn(name, None))
        if isinstance(made, list):
            raise Unknown(f"a column of numbers: {shorten(name)} has vectors")
        if isinstance(made, str):
            raise Unknown(made)
        return made

    def vector(self, name: str) -> list[Expr]:
        """A column of vectors, or one of numbers as vectors of one."""
        made = self._made.get(name)
        return made if isinstance(made, list) else [self.number(name)]

    def is_vector(self, name: str) -> bool:
        return isinstance(self._made.get(name), list)

    def categories(self, name: str, labels: Sequence[str], other: float | None) -> Expr:
        """The places of the categories of a column among labels; ``other`` is that of all others."""
        if name in self._made:
            raise Unknown(f"a column of the table: {shorten(name)}")
        spelled = _spelled(labels, None if self._training is None else self._training.named(name))
        instead: Value = Special.INVALID if other is None else other
        missing = float(labels.index("")) if "" in labels else instead
        cells = [(cell, float(i)) for i, (label, cell) in enumerate(zip(labels, spelled, strict=True)) if label]
        if other is not None:
            cells.append((OTHER, other))
        values = (*(cell for cell, _ in cells), MISSING)
        if len(set(values)) < len(values):
            raise Unknown("labels that are all different")
        attribute = Attribute(name, "categorical", values)
        if self.attributes.setdefault(name, attribute) != attribute:
            raise Unknown(f"a column with the same categories wherever it is read: {shorten(name)}")
        column = self._columns.setdefault(name, PmmlColumn(name, values))
        return Expr(column, (*(place for _, place in cells), missing))


class Stage:
    """A stage: its parameters, the columns that it reads and makes, and its data."""

    def __init__(self, folder: Path, options: Values, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        self.options, self.inputs, self.outputs = options, inputs, outputs
        self._folder = folder

    def data(self) -> Rows:
        return table(self._folder / "data")

    def row(self, name: str) -> Any:
        """The value of a table with one row."""
        found = self.data().get(name)
        if found is None or len(found) != 1:
            raise Unknown(f"data with one {name}")
        return found[0]

    def vector(self, name: str) -> list[Any]:
        """A vector in a table with one row: dense, or sparse with the places of its numbers."""
        rows = self.data()
        fields = [rows.get(f"{name}.{field}", [None])[0] for field in ("type", "size", "indices", "values")]
        values = list(fields[3] or ())
        if fields[0] == 1:
            return values
        size, places = fields[1], list(fields[2] or ())
        if not isinstance(size, int) or not 0 <= size <= MOST or any(not 0 <= place < size for place in places):
            raise Unknown(f"a vector as {name}")
        known = dict(zip(places, values, strict=True))
        return [known.get(place, 0.0) for place in range(size)]

    @property
    def keeps(self) -> bool:
        """Whether values that are not valid are kept."""
        return self.options.raw.get("handleInvalid") == "keep"


def _columns(options: Values, key: str) -> tuple[str, ...]:
    """The columns that a stage reads, or makes: one, or several."""
    several = options.texts(f"{key}s")
    if several:
        return several
    return (options.text(key),) if key in options.raw else ()


def _spelled(labels: Sequence[str], trained: Attribute | None) -> list[str]:
    """Labels as the table spells them: numbers have other digits after the point."""
    known: dict[float, str] = {}
    for text in (trained.values if trained is not None else None) or ():
        number = _number(text)
        if number is not None:
            known[number] = text
    written = set((trained.values if trained is not None else None) or ())
    return [label if label in written or (n := _number(label)) is None else known.get(n, label) for label in labels]


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if isfinite(found) else None


def replaced_by(found: Expr, value: Value) -> Expr:
    """Something in the place of a missing value."""
    if found.column is not None and found.values[-1] is not None and None not in found.values:
        return found
    return each_value(found, lambda own: value if own is None else own)


# The stages of a pipeline of Spark that can be undone: the columns that each makes of others.


def _indexer(features: Features, stage: Stage) -> list[Expr]:
    rows = stage.data()
    lists = rows["labelsArray"][0] if "labelsArray" in rows else [rows.get("labels", [[]])[0]]
    if not isinstance(lists, list) or len(lists) != len(stage.inputs):
        raise Unknown("labels for each column")
    found = []
    for name, output, labels in zip(stage.inputs, stage.outputs, lists, strict=True):
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            raise Unknown("labels that are text")
        other = float(len(labels)) if stage.keeps else None
        features.labels[output] = (name, tuple(labels))
        found.append(features.categories(name, labels, other))
    return found


def _assembler(features: Features, stage: Stage) -> list[list[Expr]]:
    found = [each for name in stage.inputs for each in features.vector(name)]
    if len(found) > MOST:
        raise Unknown(f"at most {MOST:,} features")
    return [found if stage.keeps else [replaced_by(each, Special.INVALID) for each in found]]


def _one_hot(features: Features, stage: Stage) -> list[list[Expr]]:
    sizes = stage.row("categorySizes")
    if not isinstance(sizes, list) or len(sizes) != len(stage.inputs) or sum(sizes) > MOST:
        raise Unknown("a number of categories for each column")
    drops = stage.options.raw.get("dropLast") is not False
    found = []
    for name, size in zip(stage.inputs, sizes, strict=True):
        size = int(size)
        known = each_value(features.number(name), partial(_known, size=size, keeps=stage.keeps))
        places = range(size + stage.keeps - drops)
        found.append([_as_number(apply("equal", [known, constant(float(place))])) for place in places])
    return found


def _known(value: Value, size: int, keeps: bool) -> Value:
    """A code, that of all others beyond the last one where they are kept."""
    if not isinstance(value, float) or 0 <= value < size:
        return value
    return float(size) if keeps else Special.INVALID


def _as_number(found: Expr) -> Expr:
    return each_value(found, lambda value: float(value) if isinstance(value, bool) else value)


def _scaled(names: tuple[str, str], how: Callable[[Values], tuple[bool, bool]]) -> Callable[[Features, Stage], Any]:
    """A scaler: a number less one, by the inverse of another."""

    def make(features: Features, stage: Stage) -> list[list[Expr]]:
        inner = features.vector(stage.inputs[0])
        shifts, scales = (_vector(stage, name, len(inner)) for name in names)
        shifted, divided = how(stage.options)
        found = []
        for each, shift, scale in zip(inner, shifts, scales, strict=True):
            made = apply("-", [each, constant(shift)]) if shifted else each
            factor = 0.0 if scale == 0 else 1 / scale
            found.append(apply("*", [made, constant(factor)]) if divided else made)
        return [found]

    return make


def _vector(stage: Stage, name: str, size: int) -> list[float]:
    """A vector of the data with a number for each feature; zeros without a name."""
    if not name:
        return [0.0] * size
    rows = stage.vector(name)
    if len(rows) != size or not all(isinstance(value, float) and isfinite(value) for value in rows):
        raise Unknown(f"{name} with a number for each feature")
    return rows


def _min_max(features: Features, stage: Stage) -> list[list[Expr]]:
    inner = features.vector(stage.inputs[0])
    least, most = (_vector(stage, name, len(inner)) for name in ("originalMin", "originalMax"))
    low, high = stage.options.number("min"), stage.options.number("max")
    found = []
    for each, a, b in zip(inner, least, most, strict=True):
        if a == b:
            found.append(each_value(each, lambda value: value if value is None else 0.5 * (high + low)))
            continue
        by = apply("*", [apply("-", [each, constant(a)]), constant((high - low) / (b - a))])
        found.append(apply("+", [by, constant(low)]))
    return [found]


def _binarizer(features: Features, stage: Stage) -> list[Made]:
    thresholds = stage.options.raw.get("thresholds") or [stage.options.number("threshold")] * len(stage.inputs)
    if not isinstance(thresholds, list) or len(thresholds) != len(stage.inputs):
        raise Unknown("a threshold for each column")
    found: list[Made] = []
    for name, threshold in zip(stage.inputs, thresholds, strict=True):
        made = [apply("threshold", [each, constant(float(threshold))]) for each in features.vector(name)]
        found.append(made if features.is_vector(name) else made[0])
    return found


def _bucketizer(features: Features, stage: Stage) -> list[Expr]:
    lists = stage.options.raw.get("splitsArray") or [stage.options.raw.get("splits")]
    if not isinstance(lists, list) or len(lists) != len(stage.inputs):
        raise Unknown("splits for each column")
    found = []
    for name, raw in zip(stage.inputs, lists, strict=True):
        splits = [_split(value) for value in raw] if isinstance(raw, list) else []
        if len(splits) < 3 or any(not a < b for a, b in pairwise(splits)):
            raise Unknown("splits that rise")
        found.append(combine([features.number(name)], _bucket(splits, stage.keeps)))
    return found


def _split(value: object) -> float:
    known = {"-Inf": -inf, "Inf": inf, "-Infinity": -inf, "Infinity": inf}
    if isinstance(value, str) and value in known:
        return known[value]
    if isinstance(value, (int, float)) and not isnan(value):
        return float(value)
    raise Unknown("splits that are numbers")


def _bucket(splits: Sequence[float], keeps: bool) -> Callable[[Sequence[Value], float, float], list[Piece]]:
    def rule(values: Sequence[Value], low: float, high: float) -> list[Piece]:
        value = values[0]
        if value is None:
            return [(high, float(len(splits) - 1) if keeps else Special.INVALID)]
        if isinstance(value, Special):
            return [(high, value)]
        last = len(splits) - 2
        bounds = ((a, True, b, number == last) for number, (a, b) in enumerate(pairwise(splits)))
        tests = [(partial(parts_inside, value, each), float(number)) for number, each in enumerate(bounds)]
        return first_of(tests, low, high, Special.INVALID)

    return rule


def _imputer(features: Features, stage: Stage) -> list[Expr]:
    rows = stage.data()
    absent = stage.options.raw.get("missingValue", "NaN")
    found = []
    for name in stage.inputs:
        surrogate = rows.get(name, [None])[0]
        if not isinstance(surrogate, (int, float)) or not isfinite(surrogate):
            raise Unknown(f"a surrogate for {shorten(name)}")
        made = features.number(name)
        if isinstance(absent, (int, float)) and isfinite(absent):
            made = without(made, float(absent), float(surrogate))
        found.append(replaced_by(made, float(surrogate)))
    return found


def _vector_indexer(features: Features, stage: Stage) -> list[list[Expr]]:
    inner = features.vector(stage.inputs[0])
    maps = dict(stage.row("categoryMaps") or ())
    found = list(inner)
    for place, pairs in maps.items():
        if not isinstance(place, int) or not 0 <= place < len(inner):
            raise Unknown("maps of features that are there")
        known = {float(value): float(code) for value, code in dict(pairs).items()}
        other: Value = float(len(known)) if stage.keeps else Special.INVALID
        found[place] = combine([inner[place]], _coded(known, other))
    return [found]


def _coded(known: Mapping[float, float], other: Value) -> Callable[[Sequence[Value], float, float], list[Piece]]:
    def rule(values: Sequence[Value], low: float, high: float) -> list[Piece]:
        if values[0] is None or isinstance(values[0], Special):
            return [(high, Special.INVALID if values[0] is None else values[0])]
        tests = [(partial(compare, "equal", [values[0], number]), code) for number, code in known.items()]
        return first_of(tests, low, high, other)

    return rule


# Those that are known, by the names of their classes
STAGES: dict[str, Make] = {
    "StringIndexerModel": _indexer,
    "VectorAssembler": _assembler,
    "OneHotEncoderModel": _one_hot,
    "OneHotEncoderEstimatorModel": _one_hot,
    "StandardScalerModel": _scaled(
        ("mean", "std"), lambda o: (o.raw.get("withMean") is True, o.raw.get("withStd") is not False)
    ),
    "MaxAbsScalerModel": _scaled(("", "maxAbs"), lambda o: (False, True)),
    "RobustScalerModel": _scaled(
        ("median", "range"), lambda o: (o.raw.get("withCentering") is True, o.raw.get("withScaling") is not False)
    ),
    "MinMaxScalerModel": _min_max,
    "Binarizer": _binarizer,
    "Bucketizer": _bucketizer,
    "ImputerModel": _imputer,
    "VectorIndexerModel": _vector_indexer,
}


# Trees of Spark as elements of PMML: its order of children, its numbers of records, its tests.

_MOST = 1 << 26  # the largest number of a feature, and of categories


# The statements of a node: attributes of its element, and elements within it
Stated: TypeAlias = "tuple[tuple[str, ...], tuple[Element, ...]]"


@dataclass(frozen=True, slots=True, eq=False)
class SparkSplit:
    """A test: of a number, at most a threshold to the left; or of codes of categories, 0 of them where nothing says."""

    feature: int
    threshold: float | None = None
    left: tuple[float, ...] = ()
    categories: int = 0

    def predicate(self, source: str) -> Element:
        """The predicate of the left child."""
        name = f"feature {self.feature}"
        if self.threshold is not None:
            pairs: tuple[str, ...] = ("field", name, "operator", "lessOrEqual", "value", repr(self.threshold))
            return Element(source, "SimplePredicate", 0, pairs)
        # Spark keeps the smaller of the two sets, and sends codes that are in neither with the other one.
        few = not self.categories or len(self.left) <= self.categories // 2
        left = set(self.left)
        codes = self.left if few else tuple(float(i) for i in range(self.categories) if i not in left)
        array = Element(source, "Array", 0, text=" ".join(map(repr, codes)))
        pairs = ("field", name, "booleanOperator", "isIn" if few else "isNotIn")
        return Element(source, "SimpleSetPredicate", 0, pairs, (array,))


@dataclass(frozen=True, slots=True, eq=False)
class SparkNode:
    """A node: its children, its test, and its statements as attributes and elements of PMML."""

    below: tuple[int, int] | None
    split: SparkSplit | None
    pairs: tuple[str, ...]
    stated: tuple[Element, ...] = ()


def tree(source: str, nodes: Mapping[int, SparkNode], root: int, kind: str) -> Element:
    """A tree of nodes by their numbers, as a TreeModel."""
    order, stack, seen = [], [root], set()
    while stack:
        number = stack.pop()
        if number in seen or number not in nodes:
            raise invalid(source, f"node {number}", "children", "nodes that are each below one other", "others")
        seen.add(number)
        order.append(number)
        stack += reversed(nodes[number].below or ())
    made: dict[int, Element] = {}
    left = {node.below[0]: node.split for node in nodes.values() if node.below is not None}
    for number in reversed(order):
        node = nodes[number]
        split = left.get(number) if number != root else None
        test = Element(source, "True", 0) if split is None else split.predicate(source)
        below = tuple(made.pop(child) for child in node.below or ())
        pairs = ("id", str(number), *node.pairs)
        made[number] = Element(source, "Node", 0, pairs, (test, *node.stated, *below))
    return Element(source, "TreeModel", 0, ("functionName", kind), (made[root],))


def splits_in(nodes: Sequence[SparkNode]) -> list[SparkSplit]:
    """The tests of nodes."""
    return [node.split for node in nodes if node.split is not None]


def nodes_of(
    rows: Rows, source: str, state: Callable[[int], tuple[tuple[str, ...], tuple[Element, ...]]]
) -> list[SparkNode]:
    """The nodes of a table of them, one for each row; ``state`` makes the statements of a row."""
    ids = column(rows, "id", (int,), source)
    lefts, rights = column(rows, "leftChild", (int,), source), column(rows, "rightChild", (int,), source)
    features, sizes = column(rows, "featureIndex", (int,), source), column(rows, "numCategories", (int,), source)
    values = column(rows, "leftCategoriesOrThreshold", (list,), source)
    found = []
    for at, (low, high) in enumerate(zip(lefts, rights, strict=True)):
        if low < 0 and high < 0:
            found.append(SparkNode(None, None, *state(at)))
            continue
        numbers = [float(value) for value in values[at] if isinstance(value, (int, float))]
        feature, size = features[at], sizes[at]
        right = len(numbers) == len(values[at]) and all(map(isfinite, numbers)) and 0 <= feature < _MOST
        if size < 0:
            right = right and len(numbers) == 1
            split = SparkSplit(feature, threshold=numbers[0] if numbers else 0.0)
        else:
            right = right and size <= len(ids) * 64 + 10_000 and all(0 <= code < size for code in numbers)
            split = SparkSplit(feature, left=tuple(numbers), categories=size)
        if not right:
            raise invalid(source, f"node {ids[at]}", "split", "a threshold, or codes of categories", "others")
        found.append(SparkNode((low, high), split, *state(at)))
    return found


_DEEPEST = 10
_SEARCHES = ("CrossValidatorModel", "TrainValidationSplitModel")
_MODELS = {
    "DecisionTreeClassificationModel": "label",
    "RandomForestClassificationModel": "mean",
    "GBTClassificationModel": "score",
}
_REGRESSIONS = ("DecisionTreeRegressionModel", "RandomForestRegressionModel", "GBTRegressionModel")


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """The folder of a model of trees, and the stages before it."""

    folder: Path
    about: Values
    before: Sequence[tuple[Path, Values]]


def _recognise(head: Head) -> bool:
    there = frozenset(head.entries)
    return "metadata" in there and bool(there & {"stages", "data", "bestModel"})


@model_reader("spark", "a folder that Spark MLlib saved of trees", _recognise)
@uncollected()
def _convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    source = shown_path(path)
    training = read_training(wanted, reader)
    found = _found(Path(os.fspath(path)), source)
    features = Features(source, training)
    for folder, about in found.before:
        features.take(folder, about, STAGES.get(kind(about)))
    options = parameters(found.about)
    if options.raw.get("thresholds"):
        options.refuse("thresholds", "none: the class is that of the largest share")
    target, labels = features.labels.get(options.text("labelCol", "label"), (None, ()))
    features.attributes.pop(target or "", None)
    wanted, training = with_target(wanted, target, training, reader)
    n = 2 if kind(found.about) == "GBTClassificationModel" else found.about.whole("numClasses", 2)
    if n > 10_000:
        found.about.refuse("numClasses", "at most 10,000")
    classes = tuple(labels[i] if i < len(labels) else str(i) for i in range(n))
    trees = _trees(found, source, classes)
    scope, attributes = _scope(found, features, options, trees, wanted, training)
    element = Element(source, "folder", 0, (), ())
    ensemble = _ensemble(found, source, trees, scope, classes)
    given = PmmlInput(scope, attributes, target, classes)
    tool = f"Spark MLlib {found.about.text('sparkVersion', '')}".strip()
    whole = options.raw.get("bootstrap") is False and options.raw.get("subsamplingRate") == 1
    drawn = options.raw.get("bootstrap") is not False and kind(found.about) == "RandomForestClassificationModel"
    drawn |= options.raw.get("subsamplingRate", 1) != 1
    told = DRAWN if "seed" in options.raw else UNPROVEN  # `maxent strip` takes it out
    aside = told if drawn else ""
    read = Conversion(PmmlModel(element, given, ensemble, tool, draws=False, whole=whole), wanted, training).converted()
    return replace(read, aside=aside)


def _found(folder: Path, source: str, depth: int = 0) -> _Found:
    """The model in a folder: itself, the last stage of a pipeline, or the best of a search."""
    about = metadata(folder)
    name = kind(about)
    if depth > _DEEPEST:
        raise invalid(source, "stages", "depth", f"at most {_DEEPEST} pipelines within each other", "more")
    if name in _SEARCHES:
        return _found(folder / "bestModel", source, depth + 1)
    if name == "PipelineModel":
        before: list[tuple[Path, Values]] = []
        for path in stages(folder, about):
            inner = metadata(path)
            if kind(inner) in _MODELS or kind(inner) in (*_REGRESSIONS, "PipelineModel", *_SEARCHES):
                found = _found(path, source, depth + 1)
                return _Found(found.folder, found.about, [*before, *found.before])
            before.append((path, inner))
        raise invalid(source, "stages", "class", f"one of {', '.join(_MODELS)}", "others")
    if name in _REGRESSIONS:
        about.refuse("class", "a model of classes (of a regression: bin the target)")
    if name not in _MODELS:
        about.refuse("class", f"PipelineModel, or one of {', '.join(_MODELS)}")
    return _Found(folder, about, ())


_Tree = tuple[dict[int, SparkNode], float]


def _trees(found: _Found, source: str, classes: Sequence[str]) -> list[_Tree]:
    """The nodes of each tree by their numbers, and its weight."""
    rows = table(found.folder / "data")
    scored = _MODELS[kind(found.about)] == "score"
    counts = column(rows, "rawCount", (int,), source) if "rawCount" in rows else None
    stats = column(rows, "impurityStats", (list,), source)
    predictions = column(rows, "prediction", (float,), source)
    leaf = [left < 0 for left in column(rows, "leftChild", (int,), source)]

    def state(at: int) -> Stated:
        said = () if counts is None else ("recordCount", str(max(counts[at], 0)))
        if scored:
            return (*said, "score", repr(predictions[at])), ()
        numbers = stats[at]
        if len(numbers) != len(classes) or not all(
            isinstance(number, (int, float)) and 0 <= number <= LARGEST_COUNT for number in numbers
        ):
            raise invalid(source, f"row {at + 1}", "impurityStats", f"{len(classes)} sums of weights", "others")
        if not leaf[at]:
            return said, ()
        code = predictions[at]
        if not 0 <= code < len(classes) or code != int(code):
            raise invalid(source, f"row {at + 1}", "prediction", f"a code below {len(classes)}", repr(code))
        shares = tuple(
            Element(source, "ScoreDistribution", 0, ("value", name, "recordCount", repr(float(number))))
            for name, number in zip(classes, numbers, strict=True)
        )
        return (*said, "score", classes[int(code)]), shares

    nodes = nodes_of(rows, source, state)
    ids = column(rows, "id", (int,), source)
    owner = column(rows, "treeID", (int,), source) if "treeID" in rows else [0] * len(ids)
    weights = _weights(found.folder, source, max(owner, default=0) + 1 if "treeID" in rows else 1)
    trees: list[_Tree] = [({}, weight) for weight in weights]
    for number, which, node in zip(ids, owner, nodes, strict=True):
        if not 0 <= which < len(trees) or number in trees[which][0]:
            raise invalid(source, f"node {number}", "id", "a number for each node of a tree", "another")
        trees[which][0][number] = node
    return trees


def _weights(folder: Path, source: str, n: int) -> list[float]:
    """The weights of trees."""
    if not (folder / "treesMetadata").is_dir():
        return [1.0] * n
    rows = table(folder / "treesMetadata")
    columns: list[list[Any]] = list(rows.values())
    if len(columns) != 3 or not all(isinstance(value, int) for value in columns[0]):
        raise invalid(source, "treesMetadata", "columns", "number, metadata and weight of each tree", "others")
    found = dict(zip(columns[0], columns[2], strict=True))
    if sorted(found) != list(range(n)) or not all(isinstance(value, float) for value in found.values()):
        raise invalid(source, "treesMetadata", "weights", f"one for each of {n} trees", str(len(found)))
    return [float(found[i]) for i in range(n)]


def _scope(
    found: _Found,
    features: Features,
    options: Values,
    trees: Sequence[_Tree],
    wanted: Wanted,
    training: TrainingColumns | None,
) -> tuple[Scope, Mapping[str, Attribute]]:
    """The features that are tested, and the attributes of the table."""
    splits = [split for nodes, _ in trees for split in splits_in(list(nodes.values()))]
    name = options.text("featuresCol", "features")
    scope = Scope()
    if not found.before:
        return scope, alone(scope, splits, wanted, training, str(found.folder))
    try:
        vector = features.vector(name)
    except Unknown as error:
        raise invalid(str(found.folder), "stages", shorten(name), str(error), "others") from None
    for split in splits:
        if split.feature >= len(vector):
            raise invalid(str(found.folder), "split", "featureIndex", f"below {len(vector)}", str(split.feature))
        scope.found[f"feature {split.feature}"] = vector[split.feature]
        scope.kinds[f"feature {split.feature}"] = "double"
    return scope, features.attributes


def alone(
    scope: Scope, splits: Sequence[SparkSplit], wanted: Wanted, training: TrainingColumns | None, source: str
) -> Mapping[str, Attribute]:
    """Features without a pipeline: columns by their places, codes for categories."""
    attributes: dict[str, Attribute] = {}
    sizes: dict[int, int] = {}
    others: set[int] = set()
    for split in splits:
        size = max(split.categories, *(int(code) + 1 for code in split.left), 0)
        sizes[split.feature] = max(sizes.get(split.feature, 0), size)
        if split.left and not split.categories:
            others.add(split.feature)
    for feature, size in sorted(sizes.items()):
        names = wanted.features
        if names is not None and feature >= len(names):
            raise invalid("options", "argument", "features", f"a name for feature {feature}", f"{len(names)} names")
        title = f"feature {feature}" if names is None else names[feature]
        trained = None if training is None else training.named(title)
        if training is not None and (trained is None or (size and trained.values is not None)):
            expected = (
                "columns of the training table as they are, which features= names (save the whole pipeline, which has "
                "what they were made of)"
            )
            raise invalid(source, f"feature {feature}", "column", expected, shorten(title))
        if size:
            rest = [OTHER] if feature in others else []
            cells = (*map(str, range(size)), *rest, MISSING)
            values: tuple[Value, ...] = (*map(float, range(size)), *[Special.STRANGE for _ in rest], Special.INVALID)
            scope.found[f"feature {feature}"] = Expr(PmmlColumn(title, cells), values)
            attributes[title] = Attribute(title, "categorical", cells)
        else:
            scope.found[f"feature {feature}"] = replaced_by(identity(PmmlColumn(title, None)), Special.INVALID)
            attributes[title] = Attribute(title, "numeric", missing=True)
        scope.kinds[f"feature {feature}"] = "double"
    return attributes


def _ensemble(found: _Found, source: str, trees: Sequence[_Tree], scope: Scope, classes: Sequence[str]) -> PmmlEnsemble:
    """The trees, and how they predict."""
    how = _MODELS[kind(found.about)]
    members = []
    for nodes, weight in trees:
        if how == "score":
            # Of a tree's value v the probability is 1 / (1 + exp(-2 v)).
            model = tree(source, nodes, 0, "regression")
            members.append(PmmlMember(model, scope, 2 * weight, classes[1]))
        else:
            members.append(PmmlMember(tree(source, nodes, 0, "classification"), scope, weight))
    if how == "score":
        return PmmlEnsemble(tuple(members), "score", Boosting("logit"), tuple(classes))
    return PmmlEnsemble(tuple(members), "mean" if how == "mean" else "label")


# Text that ``toDebugString`` of Spark MLlib prints of trees: places of features, and codes of categories.


_HEAD = re.compile(r"(DecisionTree|RandomForest|GBT)(Classification|Regression)Model[: (][^\n]*")
_TREE = re.compile(r"Tree ([0-9]{1,6}) \(weight (-?[0-9.]{1,30}(?:E-?[0-9]{1,3})?)\):")
_FEATURE = r"\(feature ([0-9]{1,8}) "
_NUMBER = r"(-?[0-9.]{1,40}(?:E-?[0-9]{1,3})?)"
_CODES = r"\{([0-9.,]*)\}"
_LEFT = re.compile(rf"If {_FEATURE}(?:<= {_NUMBER}|in {_CODES})\)")
_RIGHT = re.compile(rf"Else {_FEATURE}(?:> {_NUMBER}|not in {_CODES})\)")
_LEAF = re.compile(rf"Predict: {_NUMBER}")
_WAY_OUT = "save the model, or the whole pipeline, into a folder: model.save(path)"
_LARGEST_CODE = 100_000
_START = Line(1, 0, "")


@model_reader(
    "spark-text",
    "text that toDebugString of Spark MLlib prints of trees",
    r"(DecisionTree|RandomForest|GBT)(Classification|Regression)Model[: (]",
)
def _convert_text(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    source = shown_path(path)
    text = enumerate(read_text(path).split("\n"), 1)
    lines = [Line(number, 0, line.strip()) for number, line in text if line.strip()]
    head = _HEAD.fullmatch(lines[0].text) if lines else None
    if head is None:
        raise invalid(source, "line 1", "text", "the name of a model of trees of Spark", "other text")
    if head[2] == "Regression":
        raise invalid(source, "line 1", "model", "a model of classes (of a regression: bin the target)", head[1])
    if head[1] == "RandomForest":
        expected = f"shares of classes at every leaf, by which a forest predicts ({_WAY_OUT})"
        raise invalid(source, "line 1", "model", expected, "a forest with labels only")
    scored = head[1] == "GBT"
    trees = _text_trees(source, lines[1:], several=scored)
    n = _n_classes(source, lines[0].text, trees, scored=scored)
    classes = tuple(map(str, range(n)))
    training = read_training(wanted, reader)
    scope = Scope()
    splits = [split for nodes, _ in trees for split in splits_in(list(nodes.values()))]
    attributes = alone(scope, splits, wanted, training, source)
    members = tuple(
        PmmlMember(tree(source, nodes, 0, "classification"), scope, 2 * weight, classes[1] if scored else None)
        for nodes, weight in trees
    )
    ensemble = PmmlEnsemble(members, "score", Boosting("logit"), classes) if scored else PmmlEnsemble(members, "label")
    given = PmmlInput(scope, attributes, None, classes)
    element = Element(source, "text", 1)
    found = Conversion(PmmlModel(element, given, ensemble, "Spark MLlib"), wanted, training).converted()
    lost = [*found.lost, f"counts and sizes of leaves ({_WAY_OUT})"]
    if wanted.features is None:
        lost.append("names of columns, which --features gives")
    if wanted.classes is None:
        lost.append("names of classes, which Spark numbers by their frequency and --classes gives")
    if any(split.left for split in splits):
        lost.append("names of categories: they are codes")
    return Converted(found.release, found.tool, tuple(lost), found.exact)


_TextTree = tuple[dict[int, SparkNode], float]


def _text_trees(source: str, lines: Sequence[Line], *, several: bool) -> list[_TextTree]:
    """The trees, and their weights."""
    if not several:
        return [(_nodes(source, lines), 1.0)]
    starts = [i for i, line in enumerate(lines) if line.text.startswith("Tree ")]
    if not starts or starts[0] != 0:
        refuse(source, lines[0] if lines else _START, "Tree 0 (weight 1.0):")
    found = []
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(lines)], strict=True)):
        match = _TREE.fullmatch(lines[start].text)
        if match is None or int(match[1]) != number:
            refuse(source, lines[start], f"Tree {number} (weight 1.0):")
        found.append((_nodes(source, lines[start + 1 : end]), _text_number(source, lines[start], match[2])))
    return found


def _nodes(source: str, lines: Sequence[Line]) -> dict[int, SparkNode]:
    """The nodes of a tree, in the order of the text."""
    splits: dict[int, SparkSplit] = {}
    texts: dict[int, str] = {}
    below: dict[int, list[int]] = {}
    leaves: dict[int, str] = {}
    stack: list[int | None] = [None]
    at = number = 0
    # Each entry is the node above the next one, and whether the words of its other branch come first.
    turned: set[int] = set()
    while stack:
        above = stack.pop()
        if at == len(lines):
            refuse(source, lines[-1] if lines else _START, "both branches of every test")
        if above is not None and above in turned:
            match = _RIGHT.fullmatch(lines[at].text)
            if match is None or match.group(1, 2, 3) != _LEFT.fullmatch(texts[above]).group(1, 2, 3):  # type: ignore[union-attr]
                refuse(source, lines[at], f"the other branch of {shorten(texts[above])}")
            at += 1
            if at == len(lines):
                refuse(source, lines[-1], "both branches of every test")
        line = lines[at]
        node, number, at = number, number + 1, at + 1
        if above is not None:
            below[above].append(node)
            turned.add(above)
        leaf, test = _LEAF.fullmatch(line.text), _LEFT.fullmatch(line.text)
        if leaf is not None:
            leaves[node] = repr(_text_number(source, line, leaf[1]))
        elif test is not None:
            splits[node], texts[node], below[node] = _text_split(source, line, test), line.text, []
            stack += [node, node]
        else:
            refuse(source, line, "If (feature 0 <= 0.5), or Predict: 0.0")
    if at < len(lines):
        refuse(source, lines[at], "the end of the tree, as it is complete")
    inner = {node: SparkNode((pair[0], pair[1]), splits[node], ()) for node, pair in below.items()}
    return inner | {node: SparkNode(None, None, ("score", value)) for node, value in leaves.items()}


def _text_split(source: str, line: Line, test: re.Match[str]) -> SparkSplit:
    if test[2] is not None:
        return SparkSplit(int(test[1]), threshold=_text_number(source, line, test[2]))
    codes = [_text_number(source, line, code) for code in test[3].split(",") if code]
    if not codes or any(code != int(code) or not 0 <= code < _LARGEST_CODE for code in codes):
        refuse(source, line, "codes of categories")
    return SparkSplit(int(test[1]), left=tuple(codes))


def _text_number(source: str, line: Line, text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = float("inf")
    if abs(found) == float("inf"):
        refuse(source, line, "a finite number")
    return found


def _n_classes(source: str, head: str, trees: Sequence[_TextTree], *, scored: bool) -> int:
    """How many classes there are; predictions become the codes of their names."""
    said = re.search(r"numClasses=([0-9]{1,5})\b", head)
    if scored:
        return 2
    largest = 1
    nodes = trees[0][0]
    for number, node in list(nodes.items()):
        if node.below is None:
            code = float(node.pairs[1])
            if code != int(code) or not 0 <= code < _LARGEST_CODE:
                raise invalid(source, f"node {number}", "Predict", "the code of a class", node.pairs[1])
            nodes[number] = SparkNode(None, None, ("score", str(int(code))))
            largest = max(largest, int(code))
    n = int(said[1]) if said is not None else largest + 1
    if not 2 <= n <= _LARGEST_CODE or largest >= n:
        raise invalid(source, "line 1", "numClasses", f"more than {largest}", str(n))
    return n
