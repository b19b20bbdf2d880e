"""The parts of an ONNX file that models of trees have: nodes with their attributes, constants, inputs.

Numbers of fields are those of onnx.proto, which do not change. What is of no interest here is passed over.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.files.protobuf import Malformed, fields, packed, signed

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
    """The model that bytes hold.

    Raises
    ------
    Malformed
        When they hold none.
    """
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
