"""JSON files, read and written strictly, and text files read whole."""

from __future__ import annotations

import gc
import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import isfinite

from maxent.models.errors import InvalidInput, Unreadable, invalid
from maxent.models.files.input_files import is_address, not_opened, read_input, redacted, shown_path

MAX_BYTES = 256 * 2**20
MAX_DIGITS = 1000


class RepeatedKeys(dict[str, object]):
    """An object in which keys occur more than once; ``repeated`` tells how often, the last value is kept."""

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        super().__init__(pairs)
        times: dict[str, int] = {}
        for key, _ in pairs:
            times[key] = times.get(key, 0) + 1
        self.repeated = {key: number for key, number in times.items() if number > 1}


@contextmanager
def uncollected() -> Iterator[None]:
    """Do without the search for cycles among objects: over millions of new ones, all alive, it is much of the work.

    They count as old at the end: as new ones, the next search would go through all of them in one step, for seconds.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if gc.get_freeze_count() == 0:  # what others froze stays frozen
            gc.freeze()
            gc.unfreeze()
        gc.enable()


def read_json_object(path: str | os.PathLike[str]) -> dict[str, object]:
    """Read the one JSON object that a UTF-8 file of at most `MAX_BYTES` holds.

    Literals without a usable value come back as `Unreadable`, objects with repeated keys as `RepeatedKeys`.
    """
    source = os.fspath(path)
    return json_object(bytes_of(source), source)


@uncollected()
def json_object(data: bytes, source: str) -> dict[str, object]:
    """The one JSON object that bytes of a file hold; as `read_json_object`."""
    text = _decoded(data, source)
    start = re.compile(r"[ \t\n\r]*").match(text)
    first = start.end() if start else 0
    if first == len(text):
        raise invalid(source, "file", "content", "a JSON object", "an empty file")
    if text[first] != "{":
        # Decided on the first character: a huge list or string need not be decoded to be refused.
        raise invalid(source, "document", "content", "a JSON object, {...}", _kind(text[first]))
    try:
        document: dict[str, object] = json.loads(
            text, parse_constant=Unreadable, parse_float=finite_float, parse_int=_int, object_pairs_hook=_object
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        reason = error.msg[:1].lower() + error.msg[1:].partition(": ")[0]
        found = "other text" if error.pos < len(text) else "the end of the file"
        raise invalid(source, place, "JSON", f"well-formed JSON ({reason})", found) from None
    except RecursionError:
        raise invalid(
            source, "document", "nesting", "at most 8 levels of objects and lists", "far too many levels"
        ) from None
    return document


def bytes_of(source: str, times: int = 1) -> bytes:
    """The content of a file, at most so many times `MAX_BYTES`."""
    try:
        data = read_input(source, times * MAX_BYTES)
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        raise unusable_file(source, "a file that can be read", error) from None
    if data is None:
        raise too_large(source, times * MAX_BYTES)
    return data


def too_large(source: str, most: int, unless: str = "") -> InvalidInput:
    """The `InvalidInput` for a file of more bytes than ``most``."""
    return invalid(source, "file", "size", f"at most {most // 2**20} MiB{unless}", "a larger file")


def unusable_file(source: str, expected: str, error: OSError | ValueError) -> InvalidInput:
    """The `InvalidInput` for a file that the operating system refuses."""
    if isinstance(error, IsADirectoryError):
        found = "a directory"
    elif isinstance(error, FileNotFoundError):
        found = f"no such file or directory{not_opened(source)}"
    else:
        found = getattr(error, "strerror", None) or str(error)
    return invalid(redacted(source) if is_address(source) else source, "file", "path", expected, found)


def _decoded(data: bytes, source: str) -> str:
    """The text of UTF-8 bytes, without a byte order mark."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found = f"byte 0x{data[error.start]:02x} at position {error.start}"
        raise invalid(source, f"line {line}", "encoding", "text in UTF-8", found) from None


def _kind(first: str) -> str:
    """Kind of a text that is no object, by its first character; its content is not shown: it may be any file."""
    return {"[": "a list", '"': "a string"}.get(first, "other text")


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A decoded object, marked when it repeats a key."""
    content = dict(pairs)
    return content if len(content) == len(pairs) else RepeatedKeys(pairs)


class Scientific(float):
    """A float as it was written, with an exponent: 1.1e2 was rounded to tens, 110.0 to tenths."""

    text: str


def finite_float(text: str) -> float | Unreadable:
    """A finite float; a literal beyond the largest float stays as written."""
    value = float(text)
    if not math.isfinite(value):
        return Unreadable(text)
    if "e" in text or "E" in text:
        value = Scientific(value)
        value.text = text.replace("_", "")  # of TOML
    return value


def _int(text: str) -> int | Unreadable:
    """An int; one of absurd length stays as written (Python itself refuses to convert such)."""
    return int(text) if len(text) <= MAX_DIGITS else Unreadable(text)


# Results as strict JSON.


def strict(value: object) -> object:
    """A summary as strict JSON has it: NumPy scalars as numbers, NaN and infinities as None."""
    if isinstance(value, Mapping):
        return {str(key): strict(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict(item) for item in value]
    if hasattr(value, "tolist"):  # NumPy scalars and arrays
        return strict(value.tolist())
    return None if isinstance(value, float) and not isfinite(value) else value


def as_json_text(value: object) -> str:
    """One JSON object as ASCII text without control characters, fit for any output encoding and for a terminal."""
    return json.dumps(strict(value), allow_nan=False, indent=2).replace("\x7f", r"\u007f")


# Text files read whole: UTF-8, of a size that fits.


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file without a byte order mark, its lines ended as on Unix."""
    source = shown_path(path)
    try:
        data = read_input(path, MAX_BYTES)
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        raise unusable_file(source, "a file that can be read", error) from None
    if data is None:
        raise invalid(source, "file", "size", f"at most {MAX_BYTES // 2**20} MiB", "a larger file")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise invalid(source, f"line {line}", "encoding", "text in UTF-8", f"byte 0x{data[error.start]:02x}") from None
