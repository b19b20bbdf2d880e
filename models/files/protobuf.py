"""Messages of protocol buffers (protobuf.dev, Encoding) read strictly, by the numbers of their fields."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from maxent.models.arrays import FloatArray
from maxent.models.errors import invalid

_VARINT, _DOUBLE, _BYTES, _FLOAT = 0, 1, 2, 5
_LONGEST = 10
"""Bytes of the longest whole number."""

_MOST_FIELDS = 2**22

Value = int | bytes


@dataclass(frozen=True, slots=True)
class Message:
    """A message: the values of each field as they come, whole numbers or bytes, with their wire types.

    Every method raises `maxent.InvalidInput` for what is not as asked for, naming ``where``.
    """

    source: str
    where: str
    fields: Mapping[int, Sequence[tuple[int, Value]]]

    def refuse(self, field: str, expected: str, found: str = "something else") -> NoReturn:
        """Raise the error of a field."""
        raise invalid(self.source, self.where, field, expected, found)

    def has(self, number: int) -> bool:
        """Whether a field is there."""
        return number in self.fields

    def whole(self, number: int, default: int = 0) -> int:
        """A whole number of up to 64 bits, negative ones in two's complement; the last one counts."""
        if number not in self.fields:
            return default
        kind, value = self.fields[number][-1]
        if kind != _VARINT or isinstance(value, bytes):
            self.refuse(f"field {number}", "a whole number")
        return value - 2**64 if value >= 2**63 else value

    def data(self, number: int) -> bytes:
        """Bytes, none where there is no such field."""
        if number not in self.fields:
            return b""
        kind, value = self.fields[number][-1]
        if kind != _BYTES or not isinstance(value, bytes):
            self.refuse(f"field {number}", "bytes")
        return value

    def text(self, number: int) -> str:
        """Text in UTF-8."""
        try:
            return self.data(number).decode("utf-8")
        except UnicodeDecodeError:
            self.refuse(f"field {number}", "text in UTF-8")

    def message(self, number: int, where: str = "") -> Message:
        """A message in a message, without fields where there is none."""
        return message_of(self.data(number), self.source, where or self.where)

    def messages(self, number: int, where: str) -> list[Message]:
        """All messages of a field, their places counted from 1."""
        found = []
        for i, (kind, value) in enumerate(self.fields.get(number, ()), 1):
            if kind != _BYTES or not isinstance(value, bytes):
                self.refuse(f"field {number}", "messages")
            found.append(message_of(value, self.source, f"{where} {i}"))
        return found

    def number(self, number: int, default: float = 0.0) -> float:
        """A number of single or double precision."""
        found = self.numbers(number)
        return float(found[-1]) if len(found) else default

    def numbers(self, number: int) -> FloatArray:
        """Finite numbers of single or double precision, one by one."""
        parts = []
        for kind, value in self.fields.get(number, ()):
            if kind not in (_DOUBLE, _FLOAT) or not isinstance(value, bytes):
                self.refuse(f"field {number}", "numbers")
            parts.append(float(np.frombuffer(value, "<f8" if kind == _DOUBLE else "<f4")[0]))
        found = np.array(parts, np.float64)
        if not np.isfinite(found).all():
            self.refuse(f"field {number}", "finite numbers")
        return found

    def packed(self, number: int, kind: str) -> FloatArray:
        """Finite numbers of a kind, ``<f8`` or ``<f4``, packed into bytes or one by one."""
        if all(each == _BYTES for each, _ in self.fields.get(number, ())):
            data = b"".join(value for _, value in self.fields.get(number, ()) if isinstance(value, bytes))
            if len(data) % np.dtype(kind).itemsize:
                self.refuse(f"field {number}", "whole numbers of bytes for each number")
            found = np.frombuffer(data, kind).astype(np.float64)
            if not np.isfinite(found).all():
                self.refuse(f"field {number}", "finite numbers")
            return found
        return self.numbers(number)

    def wholes(self, number: int) -> list[int]:
        """Whole numbers, packed into bytes or one by one."""
        found: list[int] = []
        for _, value in self.fields.get(number, ()):
            if isinstance(value, bytes):
                at = 0
                while at < len(value):
                    each, at = _varint(value, at, self)
                    found.append(each)
            else:
                found.append(value)
        return found


def message_of(data: bytes, source: str, where: str) -> Message:
    """The fields of a message.

    Raises
    ------
    InvalidInput
        For what is no message, or has very many fields.
    """
    fields: dict[int, list[tuple[int, Value]]] = {}
    found = Message(source, where, fields)
    at, n = 0, 0
    while at < len(data):
        key, at = _varint(data, at, found)
        number, kind = key >> 3, key & 7
        value: Value
        if kind == _VARINT:
            value, at = _varint(data, at, found)
        else:
            size = {_DOUBLE: 8, _FLOAT: 4}.get(kind, -1)
            if kind == _BYTES:
                size, at = _varint(data, at, found)
            if size < 0 or size > len(data) - at or not number:
                found.refuse("content", "a message of protocol buffers")
            value, at = bytes(data[at : at + size]), at + size
        fields.setdefault(number, []).append((kind, value))
        n += 1
        if n > _MOST_FIELDS:
            found.refuse("content", f"at most {_MOST_FIELDS} fields")
    return found


def _varint(data: bytes, at: int, place: Message) -> tuple[int, int]:
    """A whole number, and the place behind it."""
    found = 0
    for i, byte in enumerate(data[at : at + _LONGEST]):
        found |= (byte & 127) << (7 * i)
        if byte < 128:
            return found & (2**64 - 1), at + i + 1
    place.refuse("content", "a message of protocol buffers")


def records_of(data: bytes, source: str, where: str) -> list[bytes]:
    """The records of a blob sequence: each after its size, of 32 bits."""
    found, at = [], 0
    while at < len(data):
        size = struct.unpack_from("<I", data, at)[0] if at + 4 <= len(data) else len(data)
        if size > len(data) - at - 4:
            raise invalid(source, where, "content", "records, each after its size", "the end of the file")
        found.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return found
