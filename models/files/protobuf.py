"""Messages of protocol buffers (protobuf.dev, Encoding) read strictly, by the numbers of their fields."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.errors import invalid

_VARINT, _DOUBLE, _BYTES, _FLOAT = 0, 1, 2, 5
_LONGEST = 10  # bytes of a whole number
_TOGETHER = 2**16  # bytes of packed numbers that are read at once: meanwhile each takes 40
_MOST_FIELDS = 2**22
_LONG = "a number of more than 64 bits"

Value = int | bytes


@dataclass(frozen=True, slots=True)
class Message:
    """A message: the values of each field as they come, whole numbers or bytes, with their wire types."""

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
        return signed(value)

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
            try:
                found += [value] if isinstance(value, int) else packed(memoryview(value)).view(np.uint64).tolist()
            except Malformed:
                self.refuse("content", "a message of protocol buffers")
        return found


class Malformed(ValueError):
    """Bytes are no message."""


def fields(message: memoryview) -> Iterator[tuple[int, int, int | memoryview]]:
    """The number, wire type and content of each field, one after the other: a whole number, or the bytes of all others.

    `Malformed` is raised where a field does not end where the message does, or is a group, which nobody writes now.
    """
    at, end = 0, len(message)
    while at < end:
        tag, at = _varint(message, at)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield number, kind, value
            continue
        if kind == _BYTES:
            size, at = _varint(message, at)
        else:
            size = {_DOUBLE: 8, _FLOAT: 4}.get(kind, -1)
        if number == 0 or size < 0 or at + size > end:
            raise Malformed(f"field {number} of kind {kind} at byte {at}")
        yield number, kind, message[at : at + size]
        at += size


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first, and where it ends."""
    value = 0
    for i, byte in enumerate(message[at : at + _LONGEST]):
        value |= (byte & 127) << 7 * i
        if byte < 128:
            return value & (2**64 - 1), at + i + 1
    raise Malformed(f"a number without an end at byte {at}")


def signed(value: int) -> int:
    """A number of 64 bits, of which the highest is the sign."""
    return value - 2**64 if value >= 2**63 else value


def packed(content: memoryview) -> IntArray:
    """Whole numbers that follow one another without tags, signed; `Malformed` is raised for what is none."""
    data = np.frombuffer(content, np.uint8)
    found = np.zeros(int(np.count_nonzero(data < 128)), np.int64)
    at = n = 0
    while at < len(data):
        some = data[at : at + _TOGETHER]
        ends = np.flatnonzero(some < 128)
        if not len(ends):
            raise Malformed("numbers without an end" if at + len(some) == len(data) else _LONG)
        some = some[: ends[-1] + 1]
        starts = np.concatenate([[0], ends[:-1] + 1])
        if (ends - starts).max() > 9:
            raise Malformed(_LONG)
        place = np.arange(len(some)) - np.repeat(starts, ends - starts + 1)
        parts = (some & 127).astype(np.uint64) << (7 * place).astype(np.uint64)
        found[n : n + len(ends)] = np.add.reduceat(parts, starts).view(np.int64)
        at, n = at + len(some), n + len(ends)
    return found


def message_of(data: bytes, source: str, where: str) -> Message:
    """The fields of a message; of what is no message, or has very many fields, an error says so."""
    found: dict[int, list[tuple[int, Value]]] = {}
    message = Message(source, where, found)
    try:
        for n, (number, kind, value) in enumerate(fields(memoryview(data)), 1):
            if n > _MOST_FIELDS:
                message.refuse("content", f"at most {_MOST_FIELDS} fields")
            found.setdefault(number, []).append((kind, value if isinstance(value, int) else bytes(value)))
    except Malformed:
        message.refuse("content", "a message of protocol buffers")
    return message


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
