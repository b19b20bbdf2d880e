"""ONNX models with one ensemble of trees, as skl2onnx, onnxmltools, LightGBM and CatBoost write them."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, isnan
from os import PathLike
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from maxent.models.arguments import listing
from maxent.models.arrays import FloatArray, IntArray
from maxent.models.columns import NOTHING
from maxent.models.errors import InvalidInput, invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import bytes_of, uncollected
from maxent.models.files.protobuf import Malformed, fields, packed, signed
from maxent.models.formats.assemble import assemble, check_tree
from maxent.models.formats.proof import TrainingColumns, counts_in_leaves, read_training
from maxent.models.formats.release_reader import Converted, Head, Wanted, model_reader
from maxent.models.formats.scikit_learn.columns import Feature
from maxent.models.formats.scikit_learn.ensemble import Splits, exact
from maxent.models.formats.scikit_learn.nodes import bare
from maxent.models.nodes import Nodes
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Boosting, Node, Release, Tree
from maxent.models.tables.cells import MISSING, OTHER
from maxent.models.trees.places import less_than, single_at_most

# The parts of an ONNX file that models of trees have: nodes with their attributes, constants, inputs.
#
# Numbers of fields are those of onnx.proto, which do not change. What is of no interest here is passed over.

Tensor: TypeAlias = "npt.NDArray[Any]"
Value: TypeAlias = "float | int | bytes | Tensor | FloatArray | IntArray | list[bytes] | None"

FLOAT, INT32, INT64, STRING, DOUBLE = 1, 6, 7, 8, 11  # types of the elements of tensors
_KINDS: Mapping[int, str] = {FLOAT: "<f4", 2: "u1", 3: "i1", INT32: "<i4", INT64: "<i8", 9: "?", DOUBLE: "<f8"}


@dataclass(frozen=True, slots=True)
class Input:
    """An input of a graph: type of its elements, and its columns, None where their number is not stated."""

    name: str
    kind: int
    width: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Operator:
    """A node of a graph."""

    name: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Value]


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A model: its operators in their order, constants and inputs; ``producer`` is the program that wrote it."""

    producer: str
    operators: tuple[Operator, ...]
    constants: Mapping[str, Tensor]
    inputs: tuple[Input, ...]


def read_document(data: bytes) -> Document:
    """The model that bytes hold."""
    producer, version, graphs = "", "", []
    for number, _, content in fields(memoryview(data)):
        if number == 2:
            producer = _text(content)
        elif number == 3:
            version = _text(content)
        elif number == 7:
            graphs.append(_bytes(content))
    if len(graphs) != 1:
        raise Malformed(f"{len(graphs)} graphs")
    operators, constants, inputs = [], {}, []
    for number, _, content in fields(graphs[0]):
        if number == 1:
            operators.append(_operator(_bytes(content)))
        elif number == 5:
            name, tensor = _tensor(_bytes(content))
            constants[name] = tensor
        elif number == 11:
            inputs.append(_input(_bytes(content)))
    named = tuple(each for each in inputs if each.name not in constants)
    return Document(f"{producer} {version}".strip(), tuple(operators), constants, named)


def _bytes(content: int | memoryview) -> memoryview:
    if isinstance(content, int):
        raise Malformed("a number in the place of a message")
    return content


def _text(content: int | memoryview) -> str:
    try:
        return bytes(_bytes(content)).decode("utf-8")
    except UnicodeDecodeError:
        raise Malformed("a name that is not UTF-8") from None


def _operator(message: memoryview) -> Operator:
    name = domain = ""
    inputs, outputs, attributes = [], [], {}
    for number, _, content in fields(message):
        if number == 1:
            inputs.append(_text(content))
        elif number == 2:
            outputs.append(_text(content))
        elif number == 4:
            name = _text(content)
        elif number == 5:
            key, value = _attribute(_bytes(content))
            attributes[key] = value
        elif number == 7:
            domain = _text(content)
    return Operator(name, domain, tuple(inputs), tuple(outputs), attributes)


def _attribute(message: memoryview) -> tuple[str, Value]:
    """The name and the value of an attribute; repeated numbers come one by one, or packed."""
    name, kind = "", 0
    single: dict[int, Value] = {}
    floats, wholes, strings = array("f"), array("q"), []
    for number, _, content in fields(message):
        if number == 1:
            name = _text(content)
        elif number == 20 and isinstance(content, int):
            kind = content
        elif number == 2:
            single[1] = float(_floats(content)[0])
        elif number == 3 and isinstance(content, int):
            single[2] = signed(content)
        elif number == 4:
            single[3] = bytes(_bytes(content))
        elif number == 5:
            single[4] = _tensor(_bytes(content))[1]
        elif number == 7:
            floats.frombytes(_floats(content).tobytes())
        elif number == 8 and isinstance(content, int):
            wholes.append(signed(content))
        elif number == 8:
            wholes.frombytes(packed(_bytes(content)).tobytes())
        elif number == 9:
            strings.append(bytes(_bytes(content)))
    lists: dict[int, Value] = {
        6: np.array(floats, np.float64),
        7: np.array(wholes, np.int64),
        8: strings,
    }
    nothing: dict[int, Value] = {1: 0.0, 2: 0, 3: b""}
    return name, (nothing | single | lists).get(kind)


def _floats(content: int | memoryview) -> npt.NDArray[np.float32]:
    """Numbers of single precision, at least one."""
    found = _bytes(content)
    if not len(found) or len(found) % 4:
        raise Malformed("a number that is not of four bytes")
    numbers = np.frombuffer(found, "<f4")
    no_number = np.isnan(numbers)  # some of which NumPy warns of where it makes them doubles
    return np.where(no_number, np.float32(np.nan), numbers) if no_number.any() else numbers


def _tensor(message: memoryview) -> tuple[str, Tensor]:
    """The name and the content of a tensor: one of raw bytes, or of numbers of its type."""
    name, kind, raw = "", 0, None
    shape: list[int] = []
    floats, wholes, doubles = array("f"), array("q"), array("d")
    strings: list[bytes] = []
    for number, _, content in fields(message):
        if number == 1:
            shape += [signed(content)] if isinstance(content, int) else packed(content)[:9].tolist()
            if len(shape) > 8:
                raise Malformed("a tensor of more than 8 dimensions")
        elif number == 2 and isinstance(content, int):
            kind = content
        elif number == 4:
            floats.frombytes(_floats(content).tobytes())
        elif number in (5, 7) and isinstance(content, int):
            wholes.append(signed(content))
        elif number in (5, 7):
            wholes.frombytes(packed(_bytes(content)).tobytes())
        elif number == 6:
            strings.append(bytes(_bytes(content)))
        elif number == 8:
            name = _text(content)
        elif number == 9:
            raw = _bytes(content)
        elif number == 10:
            found = _bytes(content)
            if len(found) % 8:
                raise Malformed("a number that is not of eight bytes")
            doubles.frombytes(found)
        elif number in (13, 14):
            raise Malformed("a tensor that is in another file")
    if kind == STRING:
        found_strings = np.empty(len(strings), object)
        found_strings[:] = strings
        return name, _shaped(found_strings, shape)
    if kind not in _KINDS:
        raise Malformed(f"a tensor of type {kind}")
    if raw is not None:
        size = np.dtype(_KINDS[kind]).itemsize
        if len(raw) % size:
            raise Malformed("a tensor that is not whole")
        return name, _shaped(np.frombuffer(raw, _KINDS[kind]), shape)
    stated = [np.array(each, each.typecode) for each in (floats, wholes, doubles) if each]
    return name, _shaped(np.concatenate([np.zeros(0, _KINDS[kind]), *stated]), shape)


def _shaped(content: Tensor, shape: list[int]) -> Tensor:
    total = 1
    for size in shape:
        total *= size
    if total != content.size or any(size < 0 for size in shape):
        raise Malformed(f"a tensor of {content.size} elements and another shape")
    return content.reshape(shape)


def _input(message: memoryview) -> Input:
    """A tensor that a graph is given, of rows and columns."""
    name, kind, width = "", 0, None
    for number, _, content in fields(message):
        if number == 1:
            name = _text(content)
        elif number == 2:
            for inner, _, of_type in fields(_bytes(content)):
                if inner == 1:
                    kind, width = _tensor_type(_bytes(of_type))
    return Input(name, kind, width)


def _tensor_type(message: memoryview) -> tuple[int, int | None]:
    """The type of the elements, and the columns."""
    kind, sizes = 0, []
    for number, _, content in fields(message):
        if number == 1 and isinstance(content, int):
            kind = content
        elif number == 2:
            for inner, _, dimension in fields(_bytes(content)):
                if inner == 1:
                    found = [size for n, _, size in fields(_bytes(dimension)) if n == 1]
                    sizes.append(found[0] if found and isinstance(found[0], int) else None)
    return kind, sizes[1] if len(sizes) == 2 else None


# What the operators before an ensemble do to the columns of the input, as far as that can be undone exactly.

MOST_COLUMNS = 2**16


@dataclass(frozen=True, slots=True)
class OnnxColumn:
    """A column of a tensor: ``values`` of text, by code, or numbers, of which it holds ``(x - offset) * scale``.

    ``indicates`` is the value that an indicator is of, and ``unseen`` says that other texts are none; ``filled`` stands
    for a missing number.
    """

    name: str
    text: bool = False
    values: tuple[str, ...] | None = None
    indicates: str | None = None
    unseen: bool = False
    filled: float | None = None
    scaled: tuple[tuple[float, float], ...] = ()
    single: bool = True

    def threshold(self, most: float) -> float:
        """The largest number of the table that becomes at most this."""
        if not self.single or not isfinite(most):
            return most
        return most if not self.scaled else single_at_most(self._unscaled(most))

    def becomes(self, number: float) -> float:
        """What a number of single precision becomes."""
        found = np.float32(number)
        with np.errstate(all="ignore"):
            for offset, scale in self.scaled:
                found = np.float32((found - np.float32(offset)) * np.float32(scale))
        return float(found)

    def _unscaled(self, most: float) -> float:
        """The largest number of single precision that becomes at most this, by halving all of them."""
        low, high = _place(-float(np.finfo(np.float32).max)), _place(float(np.finfo(np.float32).max))
        if not self.becomes(_number(low)) <= most:
            return -inf
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.becomes(_number(middle)) <= most else (low, middle)
        return _number(high) if self.becomes(_number(high)) <= most else _number(low)


def _place(number: float) -> int:
    """The place of a number of single precision among all of them."""
    bits = int(np.float32(number).view(np.int32))
    return bits if bits >= 0 else -(bits & 0x7FFFFFFF)


def _number(place: int) -> float:
    return float(np.array(abs(place), np.int32).view(np.float32)) * (1 if place >= 0 else -1)


class OnnxColumns:
    """The columns of each tensor of a graph, as its operators make them."""

    def __init__(self, source: str, document: Document, features: tuple[str, ...] | None) -> None:
        self._source, self._document = source, document
        self._tensors: dict[str, tuple[OnnxColumn, ...]] = {}
        self._input(features)
        self._known: Mapping[str, Callable[[Operator], tuple[OnnxColumn, ...]]] = {
            "Identity": self._same,
            "Reshape": self._same,
            "Flatten": self._same,
            "Cast": self._cast,
            "Concat": self._joined,
            "FeatureVectorizer": self._joined,
            "Imputer": self._filled,
            "Scaler": self._scaled,
            "OneHotEncoder": self._indicated,
            "LabelEncoder": self._coded,
            "CategoryMapper": self._refused,
            "Gather": self._chosen,
            "ArrayFeatureExtractor": self._chosen,
        }

    def of(self, tensor: str) -> tuple[OnnxColumn, ...]:
        """The columns of a tensor."""
        makers = {output: each for each in self._document.operators for output in each.outputs}
        stack = [tensor]
        opened: set[str] = set()
        while stack:
            name = stack[-1]
            operator = makers.get(name)
            if name in self._tensors:
                stack.pop()
            elif operator is None or (name in opened and any(self._lacks(i) for i in operator.inputs)):
                raise self._wrong("input", "a tensor that an operator makes, or the caller gives", name[:40])
            elif waiting := [each for each in operator.inputs if name not in opened and self._lacks(each)]:
                opened.add(name)
                stack += waiting
            else:
                made = self._known.get(operator.name, self._refused)(operator)
                if len(made) > MOST_COLUMNS:
                    raise self._wrong(operator.name, f"at most {MOST_COLUMNS:,} columns", f"{len(made):,}")
                self._tensors[name] = made
        return self._tensors[tensor]

    def _lacks(self, tensor: str) -> bool:
        return tensor not in self._tensors and tensor not in self._document.constants and bool(tensor)

    def _input(self, features: tuple[str, ...] | None) -> None:
        """The columns of the input: one of many columns has no names for them."""
        given = self._document.inputs
        widths = [1 if each.width is None and len(given) > 1 else each.width for each in given]
        if None in widths and features is not None and len(given) == 1:
            widths = [len(features)]
        if not given or None in widths or any(not 0 < (w or 0) <= MOST_COLUMNS for w in widths):
            raise self._wrong("input", "a number of columns of each input", listing(str(w) for w in widths))
        n = sum(width or 0 for width in widths)
        own = len(given) == n
        names = tuple(each.name for each in given) if own else features or ()
        if features is not None and own and len(features) == n:
            names = features  # names of tensors have no blanks and no signs
        if len(names) != n or len(set(names)) < n or not all(names):
            expected = f"{n} different names of columns, which features= gives: the model has one tensor of them"
            raise invalid("options", "argument", "features", expected, f"{len(names)}")
        at = 0
        for each, width in zip(given, widths, strict=True):
            last = at + (width or 0)
            text, single = each.kind == STRING, each.kind == FLOAT
            if not (text or single or each.kind in (DOUBLE, 6, 7)):
                raise self._wrong("input", "numbers or text", f"type {each.kind}")
            self._tensors[each.name] = tuple(OnnxColumn(name, text, single=single) for name in names[at:last])
            at = last

    def _inputs(self, operator: Operator) -> tuple[OnnxColumn, ...]:
        return tuple(column for name in operator.inputs if name in self._tensors for column in self._tensors[name])

    def _same(self, operator: Operator) -> tuple[OnnxColumn, ...]:
        return self._inputs(operator)

    _joined = _same

    def _cast(self, operator: Operator) -> tuple[OnnxColumn, ...]:
        to = operator.attributes.get("to")
        columns = self._inputs(operator)
        if to not in (FLOAT, DOUBLE) or any(column.text for column in columns):
            raise self._wrong("Cast", "numbers to floating point", f"type {to!r}")
        # Of whole numbers and codes nothing is lost; doubles of which single ones were made stay single.
        if to == FLOAT:
            return tuple(replace(column, single=True) for column in columns)
        return columns

    def _filled(self, operator: Operator) -> tuple[OnnxColumn, ...]:
        columns = self._inputs(operator)
        values, replaced = (
            operator.attributes.get("imputed_value_floats"),
            operator.attributes.get("replaced_value_float"),
        )
        if not isinstance(values, np.ndarray) or not isinstance(replaced, float) or not isnan(replaced):
            raise self._wrong("Imputer", "numbers in the place of missing ones", "other values")
        each = values.tolist() * (len(columns) if len(values) == 1 else 1)
        if len(each) != len(columns) or any(c.text or c.values or c.scaled or c.filled is not None for c in columns):
            raise self._wrong("Imputer", "a number for each column of numbers", f"{len(each)}")
        return tuple(replace(column, filled=value) for column, value in zip(columns, each, strict=True))

    def _scaled(self, operator: Operator) -> tuple[OnnxColumn, ...]:
        columns = self._inputs(operator)
        found = []
        for key in ("offset", "scale"):
            values = operator.attributes.get(key)
            numbers = values.tolist() if isinstance(values, np.ndarray) and values.dtype.kind == "f" else []
            found.append(numbers * (len(columns) if len(numbers) == 1 else 1))
        if any(len(numbers) != len(columns) for numbers in found) or any(c.text or c.values for c in columns):
            raise self._wrong("Scaler", "an offset and a scale for each column of numbers", "others")
        if not all(isfinite(o) and isfinite(s) and s > 0 for o, s in zip(*found, strict=True)):
            raise self._wrong("Scaler", "scales above 0", "others")
        return tuple(
            replace(column, scaled=(*column.scaled, pair), single=True)
            for column, pair in zip(columns, zip(*found, strict=True), strict=True)
        )

    def _indicated(self, operator: Operator) -> tuple[OnnxColumn, ...]:
        columns = self._inputs(operator)
        values = _names(operator.attributes.get("cats_strings"))
        if not values or len(columns) != 1 or not columns[0].text or columns[0].values is not None:
            raise self._wrong("OneHotEncoder", "categories of one column of text", "others")
        seen = bool(operator.attributes.get("zeros", 1))
        return tuple(replace(columns[0], text=False, values=values, indicates=v, unseen=seen) for v in values)

    def _coded(self, operator: Operator) -> tuple[OnnxColumn, ...]:
        columns, names = self._inputs(operator), _names(operator.attributes.get("keys_strings"))
        codes = next((v for k, v in operator.attributes.items() if k in ("values_int64s", "values_floats")), None)
        order = codes.tolist() if isinstance(codes, np.ndarray) else []
        if len(columns) != 1 or not columns[0].text or not names or sorted(order) != list(range(len(names))):
            raise self._wrong("LabelEncoder", "codes 0, 1, ... of the values of a column of text", "others")
        values = tuple(name for _, name in sorted(zip(order, names, strict=True)))
        return (replace(columns[0], text=False, values=values),)

    def _chosen(self, operator: Operator) -> tuple[OnnxColumn, ...]:
        columns = self._inputs(operator)
        at = self._document.constants.get(operator.inputs[1]) if len(operator.inputs) == 2 else None
        axis = operator.attributes.get("axis", 1 if operator.name != "Gather" else 0)
        if at is None or at.dtype.kind not in "iu" or axis not in (1, -1):
            raise self._wrong(operator.name, "columns by number", "others")
        places = at.ravel().tolist()
        if not all(-len(columns) <= i < len(columns) for i in places):
            raise self._wrong(operator.name, f"columns below {len(columns)}", listing(map(str, places)))
        return tuple(columns[i] for i in places)

    def _refused(self, operator: Operator) -> tuple[OnnxColumn, ...]:
        expected = (
            "steps before the trees that can be undone: one-hot and ordinal encoders, scalers, imputers and choices of "
            "columns (convert the trees alone, or save the pipeline with skops)"
        )
        raise self._wrong("operator", expected, operator.name[:40] or "none")

    def _wrong(self, where: str, expected: str, found: str) -> InvalidInput:
        return invalid(self._source, "graph", where, expected, found)


def _names(value: Value) -> tuple[str, ...]:
    """Different names that are UTF-8, none for all else."""
    try:
        names = tuple(each.decode("utf-8") for each in value) if isinstance(value, list) else ()
    except UnicodeDecodeError:
        return ()
    return names if len(set(names)) == len(names) and all(names) else ()


# Ensembles of trees in ONNX: the operator ``TreeEnsembleClassifier`` as trees whose leaves state scores.

# Tests of numbers: whether those that pass are the low ones, and whether the value itself is among the high ones
_MODES: Mapping[bytes, tuple[bool, bool]] = {
    b"BRANCH_LEQ": (True, False),
    b"BRANCH_LT": (True, True),
    b"BRANCH_GT": (False, False),
    b"BRANCH_GTE": (False, True),
}

_LEAF = b"LEAF"


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """An ensemble: names of its classes, its trees, how their scores become probabilities, and the class of all."""

    classes: tuple[str, ...]
    trees: tuple[Nodes, ...]
    boosting: Boosting
    of_class: str | None


def trees_of(
    source: str,
    operator: Operator,
    columns: Sequence[OnnxColumn],
    wanted: Wanted,
    gaps: frozenset[str],
) -> Trees:
    """The trees of an operator over its columns; ``gaps`` are columns that are known to have missing values."""
    read = _Read(source, operator)
    names = read.classes(wanted)
    ids = read.wholes("nodes_nodeids")
    n = len(ids)
    tree_of = read.wholes("nodes_treeids", n)
    position = {pair: i for i, pair in enumerate(zip(tree_of.tolist(), ids.tolist(), strict=True))}
    if not n or len(position) < n:
        raise read.wrong("nodes_nodeids", "different numbers of the nodes of each tree", f"{n}")
    modes = read.strings("nodes_modes", n)
    tested, thresholds = read.wholes("nodes_featureids", n), read.numbers("nodes_values", n, inf)
    below = [read.wholes(f"nodes_{side}nodeids", n) for side in ("true", "false")]
    missing = read.wholes("nodes_missing_value_tracks_true", n) if read.has("nodes_missing_value_tracks_true") else None
    goes = np.zeros(n, bool) if missing is None else missing != 0
    weights = read.weights(position, len(names))
    used, boosting, of = read.scores(weights, names, len(set(tree_of.tolist())))
    # An infinite threshold sends what is missing alone.
    shown = goes | np.isinf(thresholds)
    seen = {int(f) for f, here, mode in zip(tested, shown, modes, strict=True) if here and mode != _LEAF}
    coding = [_feature(column, i in seen or column.name in gaps) for i, column in enumerate(columns)]
    domains = {feature.attribute: feature.domain for feature in coding}
    attributes = tuple(
        Attribute(name, "numeric" if domain is None else "categorical", domain) for name, domain in domains.items()
    )
    made = []
    for tree in dict.fromkeys(tree_of.tolist()):
        here = np.flatnonzero(tree_of == tree)
        place = {int(ids[i]): k for k, i in enumerate(here.tolist())}
        parts = _OnnxParts(modes, tested, thresholds, below, goes)
        splits = read.splits(here, place, parts, columns)
        nodes, order = bare(source, splits, coding, attributes, names)
        scores = np.where((nodes.attribute == NOTHING)[:, None], used[here[order.order]], np.nan)
        made.append(Nodes(replace(nodes, scores=scores) if of is None else replace(nodes, value=scores[:, -1])))
    return Trees(names, tuple(made), boosting, of)


def _feature(column: OnnxColumn, missing: bool) -> Feature:
    """The meaning of a column: other texts than those with an indicator have none."""
    number = column.values is None
    filled = number and column.filled is not None
    return Feature(
        column.name, column.name, column.values, column.indicates, number and (missing or filled), column.unseen
    )


@dataclass(frozen=True, slots=True, eq=False)
class _OnnxParts:
    """The attributes of all nodes."""

    modes: Sequence[bytes]
    tested: IntArray
    thresholds: FloatArray
    below: Sequence[IntArray]
    goes: np.typing.NDArray[np.bool_]


class _Read:
    """Reads the attributes of an operator; every method raises `InvalidInput` for what is not as it should be."""

    def __init__(self, source: str, operator: Operator) -> None:
        self._source, self._operator = source, operator

    def has(self, key: str) -> bool:
        """Whether there is an attribute with something in it."""
        value = self._operator.attributes.get(key)
        return value is not None and not (isinstance(value, (list, np.ndarray)) and len(value) == 0)

    def wrong(self, key: str, expected: str, found: str) -> InvalidInput:
        """The error of an attribute."""
        return invalid(self._source, self._operator.name, key, expected, found)

    def wholes(self, key: str, size: int | None = None) -> IntArray:
        """Whole numbers."""
        return self._array(key, size, "i").astype(np.int64)

    def numbers(self, key: str, size: int | None = None, most: float = 0.0) -> FloatArray:
        """Finite numbers, or ``most``, of single precision or, as a tensor, of double."""
        name = f"{key}_as_tensor" if self.has(f"{key}_as_tensor") else key
        found = self._array(name, size, "f").astype(np.float64)
        if not (np.isfinite(found) | (found == most)).all():
            raise self.wrong(name, "finite numbers", "others")
        return found

    def strings(self, key: str, size: int) -> list[bytes]:
        """Words."""
        found = self._operator.attributes.get(key)
        if not isinstance(found, list) or len(found) != size:
            raise self.wrong(key, f"{size} words", "others")
        return found

    def _array(self, key: str, size: int | None, kind: str) -> np.typing.NDArray[np.generic]:
        found: Value = self._operator.attributes.get(key)
        if not isinstance(found, np.ndarray) or found.ndim != 1 or (len(found) and found.dtype.kind != kind):
            raise self.wrong(key, "a list of numbers", "none")
        if size is not None and len(found) != size:
            raise self.wrong(key, f"a list of {size} numbers", f"{len(found)}")
        return found

    def classes(self, wanted: Wanted) -> tuple[str, ...]:
        """The names of the classes, at least two."""
        words, numbers = (self._operator.attributes.get(f"classlabels_{kind}") for kind in ("strings", "int64s"))
        try:
            named = [word.decode("utf-8") for word in words] if isinstance(words, list) else []
        except UnicodeDecodeError:
            raise self.wrong("classlabels_strings", "names in UTF-8", "others") from None
        if not named and isinstance(numbers, np.ndarray):
            named = [str(int(number)) for number in numbers.tolist()]
        if len(named) < 2 or len(set(named)) < len(named) or not all(named):
            raise self.wrong("classlabels", "at least two different classes", f"{len(named)}")
        return wanted.named_classes(named)

    def weights(self, position: Mapping[tuple[int, int], int], n_classes: int) -> tuple[FloatArray, list[int]]:
        """What each node adds to each class, shape (n_nodes, n_classes), and the classes that some node adds to."""
        ids = self.wholes("class_ids")
        nodes, trees = self.wholes("class_nodeids", len(ids)), self.wholes("class_treeids", len(ids))
        weights = self.numbers("class_weights", len(ids))
        at = [position.get(pair, -1) for pair in zip(trees.tolist(), nodes.tolist(), strict=True)]
        if not at or min(at) < 0 or ids.min() < 0 or ids.max() >= n_classes or len(position) * n_classes > 2**24:
            raise self.wrong("class_ids", f"classes below {n_classes} of nodes that are there", "others")
        found = np.zeros((len(position), n_classes))
        np.add.at(found, (np.array(at), ids), weights)
        return found, sorted(set(ids.tolist()))

    def scores(
        self, weights: tuple[FloatArray, list[int]], names: tuple[str, ...], n_trees: int
    ) -> tuple[FloatArray, Boosting, str | None]:
        """The scores of nodes, how they become probabilities, and the class of all of them.

        Where only one of two classes has weights these are its probability if all are at least 0, or else its score.
        """
        found, ids = weights
        after = self._operator.attributes.get("post_transform", b"NONE")
        base = self.numbers("base_values") if self.has("base_values") or self.has("base_values_as_tensor") else None
        if base is not None and len(base) not in (1, len(names)):
            raise self.wrong("base_values", f"1 or {len(names)} numbers", f"{len(base)}")
        if len(names) == 2 and len(ids) == 1:
            one = found[:, ids]
            first = 0.0 if base is None else float(base[-1])
            likely = bool((one >= 0).all())
            if likely and after == b"NONE":
                # What the trees do not give to the second class is the first one's.
                shares = np.column_stack([1 / n_trees - one, one])
                return shares, Boosting("share", base={names[0]: -first, names[1]: first}), None
            if after == b"LOGISTIC" and (not likely or (base is not None and len(base) == 2)):
                return one, Boosting("logit", base=first), names[1]
            raise self.wrong("post_transform", "probabilities, or LOGISTIC of scores of both signs", repr(after)[:40])
        each = np.zeros(len(names)) if base is None else np.broadcast_to(base, len(names))
        if after == b"LOGISTIC" and len(names) == 2 and (found[:, 0] == -found[:, 1]).all() and each[0] == -each[1]:
            return found[:, 1:], Boosting("logit", base=float(each[1])), names[1]
        by_name = dict(zip(names, each.tolist(), strict=True))
        if after == b"SOFTMAX":
            return found, Boosting("softmax", base=by_name), None
        if after == b"NONE" and (found >= 0).all() and (each >= 0).all():
            return found, Boosting("share", base=by_name), None
        expected = "SOFTMAX, LOGISTIC of two classes, or probabilities"
        raise self.wrong("post_transform", expected, repr(after)[:40])

    def splits(
        self, here: IntArray, place: Mapping[int, int], parts: _OnnxParts, columns: Sequence[OnnxColumn]
    ) -> Splits:
        """The tests of a tree, low numbers to the left, in the columns of the table."""
        n = len(here)
        left, right = np.full(n, -1), np.full(n, -1)
        threshold, to_left, feature = np.zeros(n), np.zeros(n, bool), np.zeros(n, np.int64)
        for k, i in enumerate(here.tolist()):
            if parts.modes[i] == _LEAF:
                continue
            if parts.modes[i] not in _MODES or not 0 <= parts.tested[i] < len(columns):
                expected = f"tests of numbers, {', '.join(m.decode() for m in _MODES)}, of {len(columns)} columns"
                raise self.wrong("nodes_modes", expected, f"{parts.modes[i][:40]!r} of column {parts.tested[i]}")
            low_passes, above = _MODES[parts.modes[i]]
            column = columns[int(parts.tested[i])]
            most = float(parts.thresholds[i])
            if above:
                most = float(np.nextafter(np.float32(most), np.float32(-inf))) if column.single else less_than(most)
            passes, fails = (place.get(int(side[i]), -1) for side in parts.below)
            left[k], right[k] = (passes, fails) if low_passes else (fails, passes)
            feature[k] = parts.tested[i]
            threshold[k] = column.threshold(most)
            to_left[k] = low_passes == bool(parts.goes[i])
            if column.filled is not None:
                to_left[k] = replace(column, filled=None).becomes(column.filled) <= most
            elif column.indicates is not None:
                to_left[k] = True  # other texts have no indicator
        at = np.array([k for k, i in enumerate(here.tolist()) if parts.modes[i] != _LEAF], np.int64)
        check_tree(self._source, np.concatenate([at, at]), np.concatenate([left[at], right[at]]), list(place))
        single = np.array([columns[int(f)].single and not columns[int(f)].scaled for f in feature])
        threshold[single] = exact(threshold[single])
        return Splits(left, right, feature, threshold, to_left)


# Operators after the trees that leave probabilities and labels what they are
_AFTER = frozenset({"Identity", "ZipMap", "Cast", "Reshape", "Flatten"})

_DIGITS = 6  # decimals of a rate that single precision is sure to hold


def _is_onnx(head: Head) -> bool:
    """Whether a file starts with a version of the format and then its producer or its graph, and names trees."""
    start = re.match(rb"\x08[\x03-\x20][\x12\x1a\x22\x32\x3a\x42]", head.start) is not None
    return start and (b"TreeEnsemble" in head.start or b"ai.onnx" in head.start or b"onnx" in head.start[:64].lower())


@model_reader("onnx", "a model in ONNX with an ensemble of trees", _is_onnx, suffixes=(".onnx",))
@uncollected()
def _convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    source = shown_path(path)
    try:
        document = read_document(bytes_of(os.fspath(path)))
    except Malformed as error:
        raise invalid(source, "file", "content", "a model in ONNX", str(error)) from None
    operator = _ensemble(source, document)
    training = read_training(wanted, reader)
    own = [each.name for each in document.inputs]
    features = wanted.named_features(own) if wanted.features else _features(document, training)
    columns = OnnxColumns(source, document, features).of(operator.inputs[0] if operator.inputs else "")
    found = trees_of(source, operator, columns, wanted, training.gaps if training else frozenset())
    known: dict[str, Attribute] = {}
    for column in columns:
        if column.values is not None:
            values = (*column.values, *[OTHER] * column.unseen)
            if {OTHER, MISSING} & {*column.values}:
                raise invalid(source, f"column {column.name}", "values", f"others than {OTHER} and {MISSING}", "these")
            known[column.name] = Attribute(column.name, "categorical", values)
        else:
            known.setdefault(column.name, Attribute(column.name, "numeric"))
    trees = [Tree(nodes, of_class=found.of_class) for nodes in found.trees]
    boosting = found.boosting
    release = assemble(source, trees, found.classes, wanted, training, known=known, predicts="score", boosting=boosting)
    proven = training is not None and _proves(release, found, training)
    if proven:
        release = _with_shares(release)
    return Converted(release, _producer(document), tuple(_lost(release, proven)))


def _features(document: Document, training: TrainingColumns | None) -> tuple[str, ...] | None:
    """The columns of a training table: all of them, or those of the inputs, in whose names other signs became ``_``."""
    if training is None:
        return None
    names = [attribute.name for attribute in training.attributes]
    if len(document.inputs) == 1:
        return tuple(names)
    plain = [re.sub(r"\W", "_", name) for name in names]
    found = [
        each.name if each.name in names else names[plain.index(each.name)]
        for each in document.inputs
        if each.name in names or plain.count(each.name) == 1
    ]
    return tuple(found) if len(set(found)) == len(document.inputs) else None


def _ensemble(source: str, document: Document) -> Operator:
    """The only ensemble of trees, after which nothing is done to what it says."""
    found = [each for each in document.operators if each.name.startswith("TreeEnsemble")]
    if len(found) != 1:
        expected = "one ensemble of trees (save a bag, AdaBoost or a stack with skops, or as PMML)"
        raise invalid(source, "graph", "operators", expected, f"{len(found)}")
    if found[0].name != "TreeEnsembleClassifier":
        expected = "TreeEnsembleClassifier, as classifiers are written: others do not name their classes"
        raise invalid(source, "graph", "operators", expected, found[0].name[:40])
    reached = set(found[0].outputs)
    for operator in document.operators:
        if reached & {*operator.inputs}:
            if operator.name not in _AFTER:
                expected = f"nothing done to the probabilities but {listing(sorted(_AFTER))}"
                raise invalid(source, "graph", "operators", expected, operator.name[:40])
            reached |= {*operator.outputs}
    return found[0]


def _proves(release: Release, found: Trees, training: TrainingColumns) -> bool:
    """Whether the leaves of a single tree have the shares of classes of the training table's records."""
    if len(release.trees) > 1 or not training.classes or release.boosting is None or release.boosting.link != "share":
        return False
    if {*training.classes} - {*found.classes}:
        return False
    [counts] = counts_in_leaves(release, training)
    for node, here in zip(release.trees[0].nodes, counts, strict=True):
        if node.is_leaf:
            stated = _shares(node, release)
            if not here.sum() or np.abs(here / here.sum() - stated).max() > 2e-7:
                return False
    return True


def _shares(node: Node, release: Release) -> np.typing.NDArray[np.float64]:
    value = node.value if isinstance(node.value, dict) else {}
    return np.array([value.get(c, 0.0) for c in release.target.classes])


def _with_shares(release: Release) -> Release:
    """The release of a tree whose leaves state the shares of classes, and their labels, beside their scores."""

    def stated(node: Node) -> Node:
        if not node.is_leaf:
            return node
        shares = _shares(node, release)
        rates = {c: round(float(s), _DIGITS) for c, s in zip(release.target.classes, shares, strict=True)}
        return replace(node, label=release.target.classes[int(shares.argmax())], rates=rates)

    [tree] = release.trees
    return replace(release, trees=(replace(tree, nodes=tuple(map(stated, tree.nodes))),))


def _lost(release: Release, proven: bool) -> Iterator[str]:
    yield "counts and sizes of leaves: ONNX has none"
    if not proven and release.boosting is not None and release.boosting.link == "share":
        yield "shares of classes of records: with weights or bootstraps leaves have others; --train may prove a tree's"
    yield "which splits competed"


def _producer(document: Document) -> str:
    """The program that wrote a model: CatBoost states much more of itself."""
    return document.producer.split("\n")[0].removesuffix("Git info:").strip()[:60] or "ONNX"
