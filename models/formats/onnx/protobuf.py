"""Messages of Protocol Buffers as their fields, read in bounded memory and without a schema."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from maxent.models.arrays import IntArray

VARINT, EIGHT, LENGTH, FOUR = 0, 1, 2, 5
"""Kinds of fields, as the wire format numbers them."""


_TOGETHER = 2**16
"""Bytes of packed numbers that are read at once: meanwhile each takes 40."""

_LONG = "a number of more than 64 bits"


class Malformed(ValueError):
    """Bytes are no message."""


def fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The number and the content of each field: a number, or the bytes of all others.

    Raises
    ------
    Malformed
        When a field does not end where the message does, or is a group, which nobody writes any more.
    """
    at, end = 0, len(message)
    while at < end:
        tag, at = _varint(message, at)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        if kind == LENGTH:
            size, at = _varint(message, at)
        else:
            size = {EIGHT: 8, FOUR: 4}.get(kind, -1)
        if number == 0 or size < 0 or at + size > end:
            raise Malformed(f"field {number} of kind {kind} at byte {at}")
        yield number, message[at : at + size]
        at += size


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first, and where it ends."""
    value = 0
    for place in range(10):
        if at + place >= len(message):
            break
        byte = message[at + place]
        value |= (byte & 127) << 7 * place
        if byte < 128:
            return value, at + place + 1
    raise Malformed(f"a number without an end at byte {at}")


def signed(value: int) -> int:
    """A number of 64 bits, of which the highest is the sign."""
    return value - 2**64 if value >= 2**63 else value


def packed(content: memoryview) -> IntArray:
    """Numbers that follow one another without tags, signed."""
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
